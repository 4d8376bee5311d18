// SPDX-License-Identifier: Apache-2.0
//
// FIFO of a stream in registers, for DEPTH 1 to 8. One beat per cycle (DEPTH 1 with LATENCY 1: one
// in two). LATENCY 1: a beat taken at an edge is out_valid after it, out_valid depends on state
// only. LATENCY 0: an empty FIFO shows its input at its output in the same cycle, and stores it
// only if it is not taken there. in_ready depends on state only in both.

`include "rnic_assert.svh"

module stream_fifo_small #(
  parameter int unsigned W = 8,
  parameter int unsigned DEPTH = 2,
  parameter int unsigned LATENCY = 1
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

  localparam int unsigned LW = $clog2(DEPTH + 1);

  if (DEPTH < 1 || DEPTH > 8 || LATENCY > 1) begin : gen_check
    $error("stream_fifo_small: DEPTH must be 1 to 8, LATENCY 0 or 1");
  end

  // Entry 0 is the oldest. Entries move towards it when it leaves, so that the output is a
  // register. An array, not one vector: the simulator then copies only an entry that is written.
  logic [W-1:0]       data_q [DEPTH];
  logic [LW-1:0]      level_q;

  logic in_fire, out_fire, store, shift;
  assign in_ready = (level_q != LW'(DEPTH));
  assign in_fire  = in_valid && in_ready;
  assign out_fire = out_valid && out_ready;
  assign level_o  = level_q;

  if (LATENCY == 0) begin : gen_through
    logic empty;
    assign empty     = (level_q == '0);
    assign out_valid = !empty || in_valid;
    assign out_data  = empty ? in_data : data_q[0];
    assign store     = in_fire && !(empty && out_ready);
    assign shift     = out_fire && !empty;
  end else begin : gen_registered
    assign out_valid = (level_q != '0);
    assign out_data  = data_q[0];
    assign store     = in_fire;
    assign shift     = out_fire;
  end

  logic [LW-1:0] slot;  // where a stored beat goes
  assign slot = shift ? level_q - 1'b1 : level_q;

  for (genvar i = 0; i < DEPTH; i++) begin : gen_entry
    always_ff @(posedge clk_i) begin
      if (store && slot == LW'(i)) data_q[i] <= in_data;
      else if (shift && i + 1 < DEPTH) data_q[i] <= data_q[(i+1)%DEPTH];
    end
  end

  always_ff @(posedge clk_i) begin
    if (store != shift) level_q <= store ? level_q + 1'b1 : level_q - 1'b1;
    if (rst_i) level_q <= '0;
  end

  `RNIC_ASSERT(level_bound, 32'(level_q) <= DEPTH)
  `RNIC_STREAM_HOLD(out_valid, out_ready, out_data)
  `RNIC_COVER(full, level_q == LW'(DEPTH))

endmodule
