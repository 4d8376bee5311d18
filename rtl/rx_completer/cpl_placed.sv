// SPDX-License-Identifier: Apache-2.0
// Holds back the news that a READ or ATOMIC is done until its data are on the bus: what waits for
// it (a fence) may read them from memory, and reads must not pass those writes. Pieces are counted
// as they leave for rx_placer and as dma_master reports them, both in order.
`include "rnic_assert.svh"
module cpl_placed (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        sent_i,      // a piece with data leaves
    input  logic        placed_i,    // one is on the bus
    input  logic        done_i,      // the message whose pieces have all left is done
    input  logic [23:0] qpn_i,
    output logic        room_o,      // for done_i
    output logic        any_o,       // some are held back
    output logic        out_valid,
    input  logic        out_ready,
    output logic [23:0] out_qpn
);
  logic [15:0] sent_q, placed_q, target, behind;
  logic held;
  logic [3:0] level;
  assign behind = placed_q - target;
  assign out_valid = held && !behind[15];
  assign any_o = level != 4'd0;
  stream_fifo_small #(
      .W(40),
      .DEPTH(8),
      .LATENCY(1)
  ) u_held (
      .clk_i,
      .rst_i,
      .in_valid(done_i),
      .in_ready(room_o),
      .in_data({qpn_i, sent_q}),
      .out_valid(held),
      .out_ready(out_valid && out_ready),
      .out_data({out_qpn, target}),
      .level_o(level)
  );
  always_ff @(posedge clk_i) begin
    if (sent_i) sent_q <= sent_q + 16'd1;
    if (placed_i) placed_q <= placed_q + 16'd1;
    if (rst_i) begin
      sent_q <= 16'd0;
      placed_q <= 16'd0;
    end
  end

  logic unused;
  assign unused = ^{behind};

  `RNIC_ASSERT(room, !done_i || room_o)
  `RNIC_ASSERT(sent_before_placed, !placed_i || placed_q != sent_q)
endmodule
