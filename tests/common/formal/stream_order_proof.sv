// SPDX-License-Identifier: Apache-2.0
//
// Proof bench for cells with one stream in and one out: the n-th beat out is the n-th beat in, for
// every n at once (n is chosen by the solver), none is lost or made up, and at most DEPTH are
// inside. The cell is named by the macro DUT.

`include "rnic_assert.svh"

module stream_order_proof #(
  parameter int unsigned W = 2,
  parameter int unsigned DEPTH = 3,
  parameter int unsigned OPTION = 0,  // OUT_REG or LATENCY
  parameter int unsigned THROUGH = 0  // a beat may leave in the cycle in which it comes
) (
  input logic         clk_i,
  input logic         rst_i,
  input logic         in_valid,
  input logic [W-1:0] in_data,
  input logic         out_ready
);

  logic         in_ready, out_valid;
  logic [W-1:0] out_data;

`ifdef SKID
  skid_buffer #(.W(W)) u_dut (
    .clk_i, .rst_i, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data
  );
`elsif SMALL
  logic [$clog2(DEPTH+1)-1:0] level;
  stream_fifo_small #(.W(W), .DEPTH(DEPTH), .LATENCY(OPTION)) u_dut (
    .clk_i, .rst_i, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data,
    .level_o(level)
  );
`else
  logic [$clog2(DEPTH+1)-1:0] level;
  stream_fifo #(.W(W), .DEPTH(DEPTH), .OUT_REG(OPTION)) u_dut (
    .clk_i, .rst_i, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data,
    .level_o(level)
  );
`endif

  // A source that keeps its promise.
  logic         stall_q;
  logic [W-1:0] stall_data_q;
  always_ff @(posedge clk_i) begin
    stall_q      <= in_valid && !in_ready && !rst_i;
    stall_data_q <= in_data;
    if (!rst_i && stall_q) assume (in_valid && in_data == stall_data_q);
  end

  localparam int unsigned CW = 5;
  (* anyconst *) logic [CW-1:0] chosen;
  logic [CW-1:0] in_count_q, out_count_q;
  logic [W-1:0]  chosen_data_q;
  logic in_fire, out_fire;
  assign in_fire  = in_valid && in_ready;
  assign out_fire = out_valid && out_ready;

  always_ff @(posedge clk_i) begin
    if (in_fire) in_count_q <= in_count_q + 1'b1;
    if (out_fire) out_count_q <= out_count_q + 1'b1;
    if (in_fire && in_count_q == chosen) chosen_data_q <= in_data;
    if (rst_i) begin
      in_count_q  <= '0;
      out_count_q <= '0;
    end
  end

  logic [CW-1:0] inside;
  assign inside = in_count_q - out_count_q;
  `RNIC_ASSERT(capacity, inside <= CW'(DEPTH))
  `RNIC_ASSERT(nothing_made_up, !out_valid || inside != '0 || (THROUGH != 0 && in_valid))
  `RNIC_ASSERT(nothing_lost, out_valid || inside == '0)
  `RNIC_ASSERT(order, !out_fire || out_count_q != chosen ||
               out_data == ((inside == '0) ? in_data : chosen_data_q))
  `RNIC_COVER(chosen_leaves, out_fire && out_count_q == chosen && chosen == CW'(DEPTH + 2))

`ifndef SKID
  `RNIC_ASSERT(level_is_inside, level == inside[$clog2(DEPTH+1)-1:0])
`endif

endmodule
