// SPDX-License-Identifier: Apache-2.0
//
// N 64-bit event counters behind a 32-bit read window, in one memory.
// Throughput: every counter takes one pulse and every wide slot one amount per cycle; nothing is
// ever lost. A read is acknowledged 2 cycles after its request (a held high word after 1) and shows
// exactly the increments of all cycles before the request. Reset sets all to 0.
// Pulses gather in small accumulators that a sweep adds to the memory, one counter a cycle; a read
// of a counter is a visit out of turn, so it shows the exact value of that cycle. The low word
// takes a snapshot of the high word, which the next read takes if it is the high word of the same
// counter; any other high word is live.
`include "rnic_assert.svh"

module counters #(
  parameter int unsigned N = 8,           // counters, at least 2
  parameter int unsigned N_WIDE = 1,      // slots that add more than 1, at least 1
  parameter int unsigned AMOUNT_W = 16,
  parameter logic [N_WIDE*16-1:0] WIDE_INDEX = '0,  // counter of slot w: [w*16 +: 16]
  parameter int unsigned ADDR_W = 12      // of the window, bytes
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic [N-1:0]               inc_i,     // pulse: counter i counts one
  input  logic [N_WIDE-1:0]          add_i,     // pulse: slot w adds its amount
  input  logic [N_WIDE*AMOUNT_W-1:0] amount_i,
  input  logic                       req_i,     // window: held until ack_o
  input  logic [ADDR_W-1:0]          addr_i,    // 8 * counter, + 4 for the high word
  output logic                       ack_o,
  output logic [31:0]                rdata_o    // behind the last counter: 0
);

  localparam int unsigned IDX_W = $clog2(N);
  localparam int unsigned GAP = 2 * N + 8;                // cycles between two visits, at most
  localparam int unsigned ACC_W = $clog2(GAP + 1);
  localparam int unsigned WACC_W = AMOUNT_W + $clog2(GAP + 1);
  // counters that one test in simulation skips
  localparam int unsigned GROUP = 8;
  localparam int unsigned N_GROUP = (N + GROUP - 1) / GROUP;

  if (N < 2 || N_WIDE < 1) begin : gen_bad_n
    $error("counters: N is at least 2, N_WIDE at least 1");
  end
  if ((8 * N) > (1 << ADDR_W)) begin : gen_bad_window
    $error("counters: the window is too small");
  end

  // -- Inputs, registered: they come from everywhere.
  logic [N-1:0]               inc_q;
  logic [N_WIDE-1:0]          add_q;
  logic [N_WIDE*AMOUNT_W-1:0] amount_q;
  always_ff @(posedge clk_i) begin : inputs
    inc_q <= inc_i;
    add_q <= add_i;
    for (int w = 0; w < N_WIDE; w++) begin
      if (add_i[w]) amount_q[w*AMOUNT_W +: AMOUNT_W] <= amount_i[w*AMOUNT_W +: AMOUNT_W];
    end
    if (rst_i) begin
      inc_q <= '0;
      add_q <= '0;
    end
  end

  // -- The sweep, and reads out of turn.
  logic [ADDR_W-4:0] req_index;
  logic              req_new, req_low, req_known, snap_hit, read_visit, visit_valid;
  logic [IDX_W-1:0]  sweep_q, visit_index;
  logic              s1_valid_q, s1_read_q, s1_low_q;
  logic [IDX_W-1:0]  s1_index_q;
  logic              snap_valid_q;
  logic [IDX_W-1:0]  snap_index_q;
  logic [31:0]       snap_q;
  logic              ack_q;
  logic [31:0]       rdata_q;
  logic              unused_addr;

  assign unused_addr = &{1'b0, addr_i[1:0]};
  assign req_index = addr_i[ADDR_W-1:3];
  assign req_low = !addr_i[2];
  assign req_known = 32'(req_index) < N;
  assign req_new = req_i && !ack_q && !s1_read_q;
  assign snap_hit = !req_low && snap_valid_q && 32'(req_index) == 32'(snap_index_q);
  assign read_visit = req_new && req_known && !snap_hit;
  assign visit_valid = !rst_i;
  assign visit_index = read_visit ? IDX_W'(req_index) : sweep_q;

  logic [N-1:0] live_q;  // the memory holds this counter; before its first visit it counts as 0
  always_ff @(posedge clk_i) begin : sweep
    s1_valid_q <= visit_valid;
    s1_read_q <= read_visit;
    s1_low_q <= req_low;
    s1_index_q <= visit_index;
    if (!read_visit) sweep_q <= sweep_q == IDX_W'(N - 1) ? '0 : sweep_q + 1'b1;
    if (s1_valid_q) live_q[s1_index_q] <= 1'b1;
    if (rst_i) begin
      s1_valid_q <= 1'b0;
      s1_read_q <= 1'b0;
      sweep_q <= '0;
      live_q <= '0;
    end
  end

  // -- Accumulators. A visit takes what is there and leaves what comes in this cycle.
  logic [N*ACC_W-1:0]       acc_q;
  logic [N_WIDE*WACC_W-1:0] wacc_q;
  logic [N_GROUP*GROUP-1:0] inc_groups;
  assign inc_groups = (N_GROUP * GROUP)'(inc_q);
  always_ff @(posedge clk_i) begin : accumulate
    for (int g = 0; g < N_GROUP; g++) begin
      if (|inc_groups[g*GROUP +: GROUP]) begin
        for (int j = 0; j < GROUP; j++) begin
          if (g * GROUP + j < N) begin
            if (inc_groups[g*GROUP + j]) begin
              acc_q[(g*GROUP + j)*ACC_W +: ACC_W] <= acc_q[(g*GROUP + j)*ACC_W +: ACC_W] + 1'b1;
            end
          end
        end
      end
    end
    for (int w = 0; w < N_WIDE; w++) begin
      if (add_q[w]) begin
        wacc_q[w*WACC_W +: WACC_W] <= wacc_q[w*WACC_W +: WACC_W] +
                                      WACC_W'(amount_q[w*AMOUNT_W +: AMOUNT_W]);
      end
    end
    if (s1_valid_q) begin
      acc_q[s1_index_q*ACC_W +: ACC_W] <= ACC_W'(inc_q[s1_index_q]);
      for (int w = 0; w < N_WIDE; w++) begin
        if (16'(s1_index_q) == WIDE_INDEX[w*16 +: 16]) begin
          wacc_q[w*WACC_W +: WACC_W] <=
              add_q[w] ? WACC_W'(amount_q[w*AMOUNT_W +: AMOUNT_W]) : '0;
        end
      end
    end
    if (rst_i) begin
      acc_q <= '0;
      wacc_q <= '0;
    end
  end

  // -- The memory: read, add, write back.
  logic [63:0]      mem_data, base, sum;
  logic [63:0]      gathered;
  always_comb begin : gather
    gathered = 64'(acc_q[s1_index_q*ACC_W +: ACC_W]);
    for (int w = 0; w < N_WIDE; w++) begin
      if (16'(s1_index_q) == WIDE_INDEX[w*16 +: 16]) begin
        gathered = gathered + 64'(wacc_q[w*WACC_W +: WACC_W]);
      end
    end
  end
  assign base = live_q[s1_index_q] ? mem_data : 64'd0;
  assign sum = base + gathered;

  ram_sdp #(.W(64), .DEPTH(N), .FORWARD(1)) u_mem (
    .clk_i,
    .wr_en_i(s1_valid_q),
    .wr_addr_i(s1_index_q),
    .wr_data_i(sum),
    .rd_en_i(visit_valid),
    .rd_addr_i(visit_index),
    .rd_data_o(mem_data)
  );

  // -- Answers.
  always_ff @(posedge clk_i) begin : answer
    ack_q <= 1'b0;
    if (req_new && !read_visit) begin
      ack_q <= 1'b1;
      rdata_q <= snap_hit ? snap_q : 32'd0;
      if (snap_hit) snap_valid_q <= 1'b0;
    end
    if (s1_read_q) begin
      ack_q <= req_i;  // the request may have been given up
      rdata_q <= s1_low_q ? sum[31:0] : sum[63:32];
      if (s1_low_q) begin
        snap_valid_q <= 1'b1;
        snap_index_q <= s1_index_q;
        snap_q <= sum[63:32];
      end
    end
    if (rst_i) begin
      ack_q <= 1'b0;
      snap_valid_q <= 1'b0;
    end
  end
  assign ack_o = ack_q;
  assign rdata_o = rdata_q;

  `RNIC_ASSERT(no_accumulator_wraps,
               !s1_valid_q || acc_q[s1_index_q*ACC_W +: ACC_W] <= ACC_W'(GAP))
  `RNIC_COVER(read_out_of_turn, s1_read_q && s1_index_q != sweep_q)

endmodule
