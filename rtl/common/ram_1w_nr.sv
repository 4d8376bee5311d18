// SPDX-License-Identifier: Apache-2.0
//
// Memory with one write port and N_RD read ports, read latency 1; each output holds while its
// rd_en_i is low. Collision: the old word, with FORWARD 1 the new one. In hardware one copy of the
// memory per read port. Contents are not reset.

module ram_1w_nr #(
  parameter int unsigned W = 8,
  parameter int unsigned DEPTH = 16,
  parameter int unsigned N_RD = 2,
  parameter int unsigned FORWARD = 0
) (
  input  logic                          clk_i,
  input  logic                          wr_en_i,
  input  logic [$clog2(DEPTH)-1:0]      wr_addr_i,
  input  logic [W-1:0]                  wr_data_i,
  input  logic [N_RD-1:0]               rd_en_i,
  input  logic [N_RD*$clog2(DEPTH)-1:0] rd_addr_i,
  output logic [N_RD*W-1:0]             rd_data_o
);

  localparam int unsigned AW = $clog2(DEPTH);

  for (genvar r = 0; r < N_RD; r++) begin : gen_copy
    ram_sdp #(.W(W), .DEPTH(DEPTH), .FORWARD(FORWARD)) u_ram (
      .clk_i,
      .wr_en_i,
      .wr_addr_i,
      .wr_data_i,
      .rd_en_i  (rd_en_i[r]),
      .rd_addr_i(rd_addr_i[r*AW +: AW]),
      .rd_data_o(rd_data_o[r*W +: W])
    );
  end

endmodule
