// SPDX-License-Identifier: Apache-2.0
// The pieces of a packet that passed their checks and wait for the rest of it: up to 8, in order.
// One in or out per cycle, readable in the next cycle; clear_i forgets all.
`include "rnic_assert.svh"
module rx_pieces #(
    parameter int unsigned W = 8
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         clear_i,
    input  logic         put_i,
    input  logic [W-1:0] put_data_i,
    output logic         any_o,
    input  logic         take_i,
    output logic [W-1:0] data_o
);
  logic [W-1:0] mem[8];
  logic [3:0] wr_q, rd_q;
  assign any_o = wr_q != rd_q;
  assign data_o = mem[rd_q[2:0]];
  always_ff @(posedge clk_i) begin
    if (put_i) begin
      mem[wr_q[2:0]] <= put_data_i;
      wr_q <= wr_q + 4'd1;
    end
    if (take_i) rd_q <= rd_q + 4'd1;
    if (clear_i || rst_i) begin
      wr_q <= '0;
      rd_q <= '0;
    end
  end
  `RNIC_ASSERT(has_room, !put_i || wr_q - rd_q < 4'd8)
  `RNIC_ASSERT(has_one, !take_i || any_o)
endmodule
