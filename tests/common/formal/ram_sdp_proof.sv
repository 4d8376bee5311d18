// SPDX-License-Identifier: Apache-2.0
//
// The form of ram_sdp that simulates fast equals the form that is synthesized: what both have been
// told is the same, so what they answer is the same, for words that were written once.

`include "rnic_assert.svh"

module ram_sdp_proof #(
  parameter int unsigned W = 8,
  parameter int unsigned DEPTH = 4,
  parameter int unsigned FORWARD = 0
) (
  input logic                     clk_i,
  input logic                     rst_i,
  input logic                     wr_en,
  input logic [$clog2(DEPTH)-1:0] wr_addr,
  input logic [W-1:0]             wr_data,
  input logic                     rd_en,
  input logic [$clog2(DEPTH)-1:0] rd_addr
);

  logic [W-1:0] out, out_fast;

  ram_sdp #(.W(W), .DEPTH(DEPTH), .FORWARD(FORWARD)) u_dut (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_addr), .wr_data_i(wr_data),
    .rd_en_i(rd_en), .rd_addr_i(rd_addr), .rd_data_o(out)
  );
  ram_sdp_fast #(.W(W), .DEPTH(DEPTH), .FORWARD(FORWARD)) u_fast (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_addr), .wr_data_i(wr_data),
    .rd_en_i(rd_en), .rd_addr_i(rd_addr), .rd_data_o(out_fast)
  );

  logic [DEPTH-1:0] known_q;  // written since the start
  logic             compare_q;
  always_ff @(posedge clk_i) begin
    if (wr_en) known_q[wr_addr] <= 1'b1;
    if (rd_en) compare_q <= known_q[rd_addr];
    if (rst_i) begin
      known_q   <= '0;
      compare_q <= 1'b0;
    end
  end

  `RNIC_ASSERT(equal, !compare_q || out == out_fast)
  `RNIC_COVER(read_while_written, compare_q && rd_en && wr_en && wr_addr == rd_addr)

endmodule
