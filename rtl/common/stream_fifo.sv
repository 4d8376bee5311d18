// SPDX-License-Identifier: Apache-2.0
//
// FIFO of a stream in a memory; holds exactly DEPTH beats. One beat per cycle, latency 1 (a beat
// taken at an edge is out_valid after it). OUT_REG 0: the memory is read combinationally. OUT_REG
// 1: out_data comes from registers, and the memory has a synchronous read port (block RAM); a beat
// that finds the memory empty goes round it. in_ready depends on state only, also when a full FIFO
// is being read.

`include "rnic_assert.svh"

module stream_fifo #(
  parameter int unsigned W = 8,
  parameter int unsigned DEPTH = 16,
  parameter int unsigned OUT_REG = 1
) (
  input  logic                       clk_i,
  input  logic                       rst_i,
  input  logic                       in_valid,
  output logic                       in_ready,
  input  logic [W-1:0]               in_data,
  output logic                       out_valid,
  input  logic                       out_ready,
  output logic [W-1:0]               out_data,
  output logic [$clog2(DEPTH+1)-1:0] level_o
);

  localparam int unsigned AW = $clog2(DEPTH);
  localparam int unsigned LW = $clog2(DEPTH + 1);
  localparam logic [AW-1:0] LAST = AW'(DEPTH - 1);

  if (DEPTH < 2) begin : gen_check_depth
    $error("stream_fifo: DEPTH must be at least 2");
  end

  logic [W-1:0]  mem [DEPTH];
  logic [AW-1:0] wr_q, rd_q;
  logic [LW-1:0] level_q;

  logic in_fire, out_fire;
  assign in_ready = (level_q != LW'(DEPTH));
  assign in_fire  = in_valid && in_ready;
  assign out_fire = out_valid && out_ready;
  assign level_o  = level_q;

  logic push, pop;  // of the memory

  always_ff @(posedge clk_i) begin
    if (push) begin
      mem[wr_q] <= in_data;
      wr_q      <= (wr_q == LAST) ? '0 : wr_q + 1'b1;
    end
    if (pop) rd_q <= (rd_q == LAST) ? '0 : rd_q + 1'b1;
    if (in_fire != out_fire) level_q <= in_fire ? level_q + 1'b1 : level_q - 1'b1;
    if (rst_i) begin
      wr_q    <= '0;
      rd_q    <= '0;
      level_q <= '0;
    end
  end

  if (OUT_REG == 0) begin : gen_comb
    assign push      = in_fire;
    assign pop       = out_fire;
    assign out_valid = (level_q != '0);
    assign out_data  = mem[rd_q];
  end else begin : gen_reg
    // One beat waits in a register: byp_q when it came past an empty memory, mem_q when it was
    // read.
    logic valid_q;

    logic out_free, mem_empty;
    assign out_free  = !valid_q || out_ready;
    assign mem_empty = (level_q == LW'(valid_q));
    assign push      = in_fire && !(out_free && mem_empty);
    assign pop       = out_free && !mem_empty;
    assign out_valid = valid_q;
    always_ff @(posedge clk_i) begin
      if (out_free) valid_q <= in_fire || !mem_empty;
      if (rst_i) valid_q <= 1'b0;
    end

`ifdef VERILATOR
    // The same function as below, without a wide choice in every cycle.
    always_ff @(posedge clk_i) begin
      if (pop) out_data <= mem[rd_q];
      else if (in_fire && out_free && mem_empty) out_data <= in_data;
    end
`else
    // The form that synthesis maps to a block RAM.
    logic         from_mem_q;
    logic [W-1:0] byp_q, mem_q;
    assign out_data = from_mem_q ? mem_q : byp_q;
    always_ff @(posedge clk_i) begin
      if (pop) mem_q <= mem[rd_q];
      if (in_fire && out_free && mem_empty) byp_q <= in_data;
      if (out_free) from_mem_q <= !mem_empty;
    end
`endif
    `RNIC_ASSERT(level_counts_register, !(valid_q && level_q == '0))
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, out_data)
  `RNIC_ASSERT(level_bound, 32'(level_q) <= DEPTH)
  `RNIC_ASSERT(no_underflow, !(out_fire && level_q == '0))
  `RNIC_COVER(full, level_q == LW'(DEPTH))

endmodule
