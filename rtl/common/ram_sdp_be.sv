// SPDX-License-Identifier: Apache-2.0
//
// Memory with one write port with byte enables and one read port, read latency 1; rd_data_o holds
// while rd_en_i is low. A read and a write of one address at one edge: the read returns the old
// word. Contents are not reset.

module ram_sdp_be #(
  parameter int unsigned W = 64,
  parameter int unsigned DEPTH = 16
) (
  input  logic                     clk_i,
  input  logic                     wr_en_i,
  input  logic [$clog2(DEPTH)-1:0] wr_addr_i,
  input  logic [W-1:0]             wr_data_i,
  input  logic [W/8-1:0]           wr_be_i,
  input  logic                     rd_en_i,
  input  logic [$clog2(DEPTH)-1:0] rd_addr_i,
  output logic [W-1:0]             rd_data_o
);

  if (W % 8 != 0) begin : gen_check_w
    $error("ram_sdp_be: W must be a multiple of 8");
  end

  logic [W-1:0] mem [DEPTH];

  always_ff @(posedge clk_i) begin
    if (rd_en_i) rd_data_o <= mem[rd_addr_i];
  end

`ifdef VERILATOR
  // The same function as below, as word operations instead of one byte write per lane.
  logic [W-1:0] mask;
  always_comb begin
    mask = '0;
    if (wr_en_i && wr_be_i != '1) begin
      for (int i = 0; i < W / 8; i++) mask[i*8 +: 8] = {8{wr_be_i[i]}};
    end
  end
  always_ff @(posedge clk_i) begin
    if (wr_en_i) begin
      if (wr_be_i == '1) mem[wr_addr_i] <= wr_data_i;
      else mem[wr_addr_i] <= (mem[wr_addr_i] & ~mask) | (wr_data_i & mask);
    end
  end
`else
  // The form that synthesis maps to byte-wide write enables.
  for (genvar i = 0; i < W / 8; i++) begin : gen_lane
    always_ff @(posedge clk_i) begin
      if (wr_en_i && wr_be_i[i]) mem[wr_addr_i][i*8 +: 8] <= wr_data_i[i*8 +: 8];
    end
  end
`endif

endmodule
