// SPDX-License-Identifier: Apache-2.0
//
// Stamps trace events of N_SRC blocks with a settable 64-bit clock and keeps them in a ring that
// software reads. Throughput: every source may give an event in the same cycle; one event a cycle
// goes into the ring, SRC_DEPTH wait per source. The time is that of the cycle in which trc_valid_i
// is high, whatever the wait. Order in the ring: per source exact, between sources by service (sort
// by time). Lost and counted: an event whose source's queue is full, and any event while the ring
// is full (the oldest stay). Nothing here ever holds up a source.
`include "rnic_assert.svh"

module trace_unit #(
  parameter int unsigned N_SRC = 4,
  parameter int unsigned DEPTH = 1024,     // events in the ring, power of two, 4..32768
  parameter int unsigned SRC_DEPTH = 4     // events waiting per source, power of two, at least 2
) (
  input  logic                clk_i,
  input  logic                rst_i,
  // Events: {event 8, qpn 24, info 32}
  input  logic [N_SRC-1:0]    trc_valid_i,
  input  logic [N_SRC*64-1:0] trc_i,
  input  logic [N_SRC-1:0]    trc_sampled_i,
  // Control
  input  logic                enable_i,    // store events
  input  logic                all_i,       // 1: sampled or not
  input  logic                clear_i,     // pulse: ring, queues and lost_o are empty
  input  logic                clk_set_i,   // pulse: the clock becomes clk_value_i
  input  logic [63:0]         clk_value_i,
  output logic [63:0]         clk_o,       // core cycles
  // Ring window, word 0 takes the oldest event: timestamp low, timestamp high, info, {event, qpn};
  // none: all 0
  input  logic                req_i,
  input  logic [4:0]          addr_i,
  output logic                ack_o,
  output logic [31:0]         rdata_o,
  // State
  output logic [15:0]         level_o,     // events in the ring
  output logic [15:0]         lost_o,      // saturates
  output logic                lost_pulse_o,   // some were lost in this cycle:
  output logic [15:0]         lost_amount_o   // so many
);

  localparam int unsigned PTR_W = $clog2(DEPTH);
  localparam int unsigned SP_W = $clog2(SRC_DEPTH);
  localparam int unsigned SC_W = SP_W + 1;
  localparam int unsigned AGE_W = $clog2(N_SRC * SRC_DEPTH + 4) + 1;
  localparam int unsigned ENTRY_W = AGE_W + 64;
  // of an entry in a vector of all: whole words simulate faster
  localparam int unsigned LANE_W = 96;

  if (DEPTH < 4 || DEPTH > 32768 || (DEPTH & (DEPTH - 1)) != 0) begin : gen_bad_depth
    $error("trace_unit: DEPTH is a power of two, 4..32768");
  end
  if (SRC_DEPTH < 2 || (SRC_DEPTH & (SRC_DEPTH - 1)) != 0) begin : gen_bad_src_depth
    $error("trace_unit: SRC_DEPTH is a power of two, at least 2");
  end
  if (AGE_W > 32) begin : gen_bad_n_src
    $error("trace_unit: too many sources");
  end

  // -- Clock.
  logic [63:0] clk_q;
  logic [AGE_W-1:0] free_q;  // measures waits; not settable
  always_ff @(posedge clk_i) begin : clock
    clk_q <= clk_set_i ? clk_value_i : clk_q + 1'b1;
    free_q <= free_q + 1'b1;
    if (rst_i) begin
      clk_q <= 64'd0;
      free_q <= '0;
    end
  end
  assign clk_o = clk_q;

  // -- A small queue per source.
  logic [N_SRC-1:0]         wanted, full, waiting, push, dropped, grant;
  logic [N_SRC*LANE_W-1:0]  heads;
  logic [ENTRY_W-1:0]       head;
  logic                     take, clear_q, active;

  assign wanted = enable_i ? trc_valid_i & (trc_sampled_i | {N_SRC{all_i}}) : '0;
  assign push = wanted & ~full;
  assign dropped = wanted & full;
  // one test skips all queues in simulation
  assign active = take || wanted != '0 || clear_q || rst_i;
  always_ff @(posedge clk_i) begin : clear
    clear_q <= clear_i && !rst_i;
  end

  for (genvar s = 0; s < N_SRC; s++) begin : gen_source
    logic [ENTRY_W-1:0] mem [SRC_DEPTH];
    logic [SP_W-1:0]    wr_q, rd_q;
    logic [SC_W-1:0]    count_q;

    assign full[s] = count_q == SC_W'(SRC_DEPTH);
    assign waiting[s] = count_q != '0;
    assign heads[s*LANE_W +: LANE_W] = take ? LANE_W'(mem[rd_q]) & {LANE_W{grant[s]}} : '0;

    always_ff @(posedge clk_i) begin : queue
      if (active) begin
        if (push[s]) begin
          mem[wr_q] <= {free_q, trc_i[s*64 +: 64]};
          wr_q <= wr_q + 1'b1;
        end
        if (grant[s]) rd_q <= rd_q + 1'b1;
        if (push[s] != grant[s]) count_q <= push[s] ? count_q + 1'b1 : count_q - 1'b1;
        if (clear_q || rst_i) begin
          wr_q <= '0;
          rd_q <= '0;
          count_q <= '0;
        end
      end
    end

    `RNIC_ASSERT(count_bound, count_q <= SC_W'(SRC_DEPTH))
  end

  // -- Round robin into the ring: those behind the last grant first.
  logic [N_SRC-1:0] ahead_q, from;
  assign take = |waiting;
  always_comb begin : pick
    from = '0;
    grant = '0;
    if (take) begin
      from = (waiting & ahead_q) != '0 ? waiting & ahead_q : waiting;
      grant = from & (~from + 1'b1);
    end
  end
  always_comb begin : select
    head = '0;
    if (take) begin
      for (int s = 0; s < N_SRC; s++) head = head | heads[s*LANE_W +: ENTRY_W];
    end
  end
  always_ff @(posedge clk_i) begin : turn
    if (take) ahead_q <= ~(grant | (grant - 1'b1));
    if (rst_i) ahead_q <= '0;
  end

  // -- Ring.
  logic [PTR_W-1:0] wr_q, rd_q;
  logic [PTR_W:0]   level_q;
  logic             ring_full, put, pop, s1_pop_q, s1_empty_q;
  logic [127:0]     put_data, got_data;
  logic [127:32]    rest_q;  // of the event taken last
  logic [AGE_W-1:0] age;

  assign ring_full = level_q == (PTR_W + 1)'(DEPTH);
  assign put = take && !ring_full && !clear_q;
  assign age = free_q - head[64 +: AGE_W];
  assign put_data = {head[63:0], clk_q - 64'(age)};

  ram_sdp #(.W(128), .DEPTH(DEPTH)) u_ring (
    .clk_i,
    .wr_en_i(put),
    .wr_addr_i(wr_q),
    .wr_data_i(put_data),
    .rd_en_i(pop),
    .rd_addr_i(rd_q),
    .rd_data_o(got_data)
  );

  always_ff @(posedge clk_i) begin : ring
    if (put) wr_q <= wr_q + 1'b1;
    if (pop) rd_q <= rd_q + 1'b1;
    if (put != pop) level_q <= put ? level_q + 1'b1 : level_q - 1'b1;
    if (clear_q || rst_i) begin
      wr_q <= '0;
      rd_q <= '0;
      level_q <= '0;
    end
  end
  assign level_o = 16'(level_q);

  // -- Window.
  logic        ack_q, new_req, first;
  logic [31:0] rdata_q;
  logic        unused_addr;
  assign unused_addr = &{1'b0, addr_i[1:0]};
  assign new_req = req_i && !ack_q && !s1_pop_q;
  assign first = new_req && addr_i[4:2] == 3'd0;
  assign pop = first && level_q != '0 && !clear_q;
  always_ff @(posedge clk_i) begin : window
    s1_pop_q <= first;
    s1_empty_q <= !pop;
    ack_q <= 1'b0;
    if (s1_pop_q) begin
      ack_q <= req_i;
      rest_q <= s1_empty_q ? 96'd0 : got_data[127:32];
      rdata_q <= s1_empty_q ? 32'd0 : got_data[31:0];
    end else if (new_req && !first) begin
      ack_q <= 1'b1;
      case (addr_i[4:2])
        3'd1: rdata_q <= rest_q[63:32];
        3'd2: rdata_q <= rest_q[95:64];
        3'd3: rdata_q <= rest_q[127:96];
        default: rdata_q <= 32'd0;
      endcase
    end
    if (clear_q || rst_i) rest_q <= 96'd0;
    if (rst_i) begin
      ack_q <= 1'b0;
      s1_pop_q <= 1'b0;
      s1_empty_q <= 1'b1;
    end
  end
  assign ack_o = ack_q;
  assign rdata_o = rdata_q;

  // -- Losses.
  logic [15:0] lost_now, lost_q, lost_amount_q;
  logic [16:0] lost_sum;
  always_comb begin : losses
    lost_now = 16'(take && ring_full && !clear_q);
    if (dropped != '0) begin
      for (int s = 0; s < N_SRC; s++) lost_now = lost_now + 16'(dropped[s]);
    end
  end
  assign lost_sum = {1'b0, lost_q} + {1'b0, lost_now};
  always_ff @(posedge clk_i) begin : lost
    lost_amount_q <= lost_now;
    if (lost_now != 16'd0) lost_q <= lost_sum[16] ? 16'hFFFF : lost_sum[15:0];
    if (clear_q) lost_q <= 16'd0;
    if (rst_i) begin
      lost_q <= 16'd0;
      lost_amount_q <= 16'd0;
    end
  end
  assign lost_o = lost_q;
  assign lost_amount_o = lost_amount_q;
  assign lost_pulse_o = lost_amount_q != 16'd0;

  `RNIC_ASSERT(level_bound, level_q <= (PTR_W + 1)'(DEPTH))
  `RNIC_ASSERT(no_read_of_empty, !pop || level_q != '0)
  `RNIC_ASSERT(wait_is_measured, !take || age <= AGE_W'(N_SRC * SRC_DEPTH + 2))
  `RNIC_COVER(ring_fills, ring_full)

endmodule
