// SPDX-License-Identifier: Apache-2.0
//
// Accumulator of AllReduce: rows of on-chip SRAM to which beats are added; a beat may begin its row
// anew, and the one that completes it sends the sum out.
//
// One beat per cycle: read 1 cycle, add 2, write back 1. A beat that meets its own row still in the
// adder waits: one beat per 3 cycles on one row. With in_wide (16-bit elements summed in FP32) a
// beat takes two rows and two cycles. in to out: 6 cycles (wide 7). Order kept; nothing is dropped.
// Rows can also be set beside that, in cycles in which no sum is written back. in_ready depends on
// state only, set_ready also on set_row. Contents survive a reset.
`include "rnic_assert.svh"

module arp_accum #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned ROWS = 4096  // rows of DATA_W, a power of two
) (
  input  logic                    clk_i,
  input  logic                    rst_i,

  input  logic                    in_valid,
  output logic                    in_ready,
  input  logic [$clog2(ROWS)-1:0] in_row,    // wide: even; the upper elements are in the next row
  input  logic [1:0]              in_elem,   // arp_pkg::ELEM_*, of the beat
  input  logic                    in_wide,
  input  logic                    in_init,   // the row begins with this beat
  input  logic                    in_emit,   // the sum goes out and not into the row
  input  logic                    in_last,   // goes out with it
  input  logic [DATA_W-1:0]       in_data,

  // Sets a row, without the adder: one that begins, to which nothing is on its way. Ahead of what
  // comes on `in` afterwards.
  input  logic                    set_valid,
  output logic                    set_ready,
  input  logic [$clog2(ROWS)-1:0] set_row,   // as in_row
  input  logic [1:0]              set_elem,
  input  logic                    set_wide,
  input  logic [DATA_W-1:0]       set_data,

  output logic                    out_valid,
  input  logic                    out_ready,
  output logic [DATA_W-1:0]       out_data,
  output logic                    out_last,

  output logic                    idle_o,     // no beat inside
  output logic                    conflict_o  // a beat waits for its row in this cycle
);
  localparam int unsigned RW = $clog2(ROWS);
  localparam int unsigned HALF = DATA_W / 2;
  localparam int unsigned N = DATA_W / 32;
  localparam int unsigned DEPTH = 8;  // beats on their way out

  if ((ROWS & (ROWS - 1)) != 0 || ROWS < 4) begin : gen_check_rows
    $error("arp_accum: ROWS must be a power of two of at least 4");
  end

  // What goes with a beat through the adder.
  typedef struct packed {
    logic [RW-1:0] row;
    logic [1:0]    elem;  // of the addition
    logic          init;
    logic          emit;
    logic          last;
    logic          wide;
    logic          bf16;
    logic          upper;  // wide: second half
  } pass_t;

  // ------------------------------------------------------------------- the beat whose turn it is
  logic              hold_q, upper_q;  // upper_q: its lower half is on its way
  logic              h_wide_q, h_init_q, h_emit_q, h_last_q;
  logic [1:0]        h_elem_q;
  logic [RW-1:0]     h_row_q;
  logic [DATA_W-1:0] h_data_q;
  logic              go, done, conflict, room, in_fire;
  assign done = go && (upper_q || !h_wide_q);
  assign in_ready = !hold_q || done;
  assign in_fire = in_valid && in_ready;

  always_ff @(posedge clk_i) begin
    if (in_fire) begin
      h_wide_q <= in_wide && !in_elem[1];
      h_elem_q <= in_elem;
      h_init_q <= in_init;
      h_emit_q <= in_emit;
      h_last_q <= in_last;
      h_row_q <= in_row;
      h_data_q <= in_data;
    end
    if (in_ready) hold_q <= in_valid;
    if (go) upper_q <= h_wide_q && !upper_q;
    if (rst_i) begin
      hold_q <= 1'b0;
      upper_q <= 1'b0;
    end
  end

  // The addend, widened if it is summed in FP32.
  logic              h_bf16;
  logic [HALF-1:0]   h_half;
  logic [DATA_W-1:0] h_single, h_addend;
  pass_t             issue;
  assign h_bf16 = h_elem_q == arp_pkg::ELEM_BF16;
  assign h_half = upper_q ? h_data_q[DATA_W-1:HALF] : h_data_q[HALF-1:0];
  fp_widen #(.N(N)) u_widen (.bf16_i(h_bf16), .half_i(h_half), .wide_o(h_single));
  assign h_addend = h_wide_q ? h_single : h_data_q;
  assign issue.row = h_wide_q ? {h_row_q[RW-1:1], upper_q} : h_row_q;
  assign issue.elem = h_wide_q ? arp_pkg::ELEM_FP32 : h_elem_q;
  assign issue.init = h_init_q;
  assign issue.emit = h_emit_q;
  assign issue.last = h_last_q;
  assign issue.wide = h_wide_q;
  assign issue.bf16 = h_bf16;
  assign issue.upper = upper_q;

  // --------------------------------------------------------- read, add, add: one pass per register
  logic              v1_q, v2_q, v3_q;
  pass_t             p1_q, p2_q, p3_q;
  logic [DATA_W-1:0] addend_q, stored, operand, sum;
  logic              sum_valid, write;
  assign conflict = hold_q && !h_init_q && ((v1_q && p1_q.row == issue.row) ||
      (v2_q && p2_q.row == issue.row));
  assign go = hold_q && !conflict && (room || !h_emit_q || upper_q);
  assign conflict_o = conflict;

  // A row is set when the memory is not written otherwise, and not while the beat that ended the
  // row's last sum still has to read it. A wide beat takes two cycles.
  logic              set_wide_16, set_upper_q, set_free, set_fire;
  logic [HALF-1:0]   set_half;
  logic [DATA_W-1:0] set_single, wr_data;
  logic [RW-1:0]     wr_row;
  assign set_wide_16 = set_wide && !set_elem[1];
  assign set_free = !write && !(hold_q && h_row_q[RW-1:1] == set_row[RW-1:1]);
  assign set_ready = set_free && (set_upper_q || !set_wide_16);
  assign set_fire = set_valid && set_free;
  assign set_half = set_upper_q ? set_data[DATA_W-1:HALF] : set_data[HALF-1:0];
  fp_widen #(.N(N)) u_set_widen (
    .bf16_i(set_elem == arp_pkg::ELEM_BF16), .half_i(set_half), .wide_o(set_single));
  assign wr_row = write ? p3_q.row : set_wide_16 ? {set_row[RW-1:1], set_upper_q} : set_row;
  assign wr_data = write ? sum : set_wide_16 ? set_single : set_data;

  // -0 + x is x, also for x = -0: a row that begins has the addend's own bits, but a NaN becomes
  // the canonical one.
  always_comb begin
    operand = stored;
    if (p1_q.init) begin
      operand = '0;
      for (int unsigned i = 0; i < N; i++) begin
        operand[32*i+31] = p1_q.elem != arp_pkg::ELEM_INT32;
        operand[32*i+15] = !p1_q.elem[1];
      end
    end
  end
  ram_sdp #(.W(DATA_W), .DEPTH(ROWS), .FORWARD(1)) u_ram (
    .clk_i, .wr_en_i(write || set_fire), .wr_addr_i(wr_row), .wr_data_i(wr_data),
    .rd_en_i(go && !h_init_q), .rd_addr_i(issue.row), .rd_data_o(stored));
  fp_add #(.DATA_W(DATA_W)) u_add (
    .clk_i, .rst_i, .valid_i(v1_q), .elem_i(p1_q.elem), .a_i(operand), .b_i(addend_q),
    .valid_o(sum_valid), .sum_o(sum));
  assign write = v3_q && !p3_q.emit;

  always_ff @(posedge clk_i) begin
    v1_q <= go;
    v2_q <= v1_q;
    v3_q <= v2_q;
    if (set_fire) set_upper_q <= set_wide_16 && !set_upper_q;
    if (go) begin
      p1_q <= issue;
      addend_q <= h_addend;
    end
    if (v1_q) p2_q <= p1_q;
    if (v2_q) p3_q <= p2_q;
    if (rst_i) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
      set_upper_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------ on its way
  // Both halves of a wide beat are rounded and put together again.
  logic              v4_q, last_q, fifo_ready, out_fire;
  logic [HALF-1:0]   narrowed, lower_q;
  logic [DATA_W-1:0] whole_q;
  logic [3:0]        owed_q;  // beats inside and waiting at the output
  logic [$clog2(DEPTH+1)-1:0] level;
  fp_narrow #(.N(N)) u_narrow (.bf16_i(p3_q.bf16), .wide_i(sum), .half_o(narrowed));
  always_ff @(posedge clk_i) begin
    v4_q <= v3_q && p3_q.emit && (p3_q.upper || !p3_q.wide);
    if (v3_q && p3_q.emit) begin
      if (!p3_q.upper) lower_q <= narrowed;
      last_q <= p3_q.last;
      whole_q <= p3_q.wide ? {narrowed, lower_q} : sum;
    end
    if (rst_i) v4_q <= 1'b0;
  end
  stream_fifo #(.W(DATA_W + 1), .DEPTH(DEPTH), .OUT_REG(1)) u_out (
    .clk_i, .rst_i, .in_valid(v4_q), .in_ready(fifo_ready), .in_data({last_q, whole_q}), .out_valid,
    .out_ready, .out_data({out_last, out_data}), .level_o(level));

  assign room = owed_q < 4'(DEPTH);
  assign out_fire = out_valid && out_ready;
  always_ff @(posedge clk_i) begin
    owed_q <= owed_q + 4'(go && h_emit_q && !upper_q) - 4'(out_fire);
    if (rst_i) owed_q <= 4'd0;
  end
  assign idle_o = !hold_q && !v1_q && !v2_q && !v3_q && owed_q == 4'd0;

  logic unused;
  assign unused = ^{level, p3_q.elem, p3_q.init};

  `RNIC_ASSERT(adder_in_step, sum_valid == v3_q)
  `RNIC_ASSERT(output_room, !v4_q || fifo_ready)
  `RNIC_ASSERT(owed_bound, owed_q <= 4'(DEPTH) && !(out_fire && owed_q == 4'd0))
  `RNIC_ASSERT(set_alone, !set_fire || !((v1_q && !p1_q.emit && p1_q.row == wr_row) ||
      (v2_q && !p2_q.emit && p2_q.row == wr_row)))
  `RNIC_ASSERT(wide_even, !in_fire || !in_wide || in_elem[1] || !in_row[0])
  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_last, out_data})
endmodule
