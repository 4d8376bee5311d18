// SPDX-License-Identifier: Apache-2.0
// One bank of payload rows: writes bytes wr_from_i..wr_to_i-1 of a row, reads whole rows.
//
// Read latency 1; rd_data_o holds while rd_en_i is low. A read and a write of one row at one edge:
// the read returns the old row. Contents are not reset.
module tx_bank #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DEPTH = 64
) (
  input  logic                     clk_i,
  input  logic                     wr_en_i,
  input  logic [$clog2(DEPTH)-1:0] wr_addr_i,
  input  logic [DATA_W-1:0]        wr_data_i,
  input  logic [7:0]               wr_from_i,
  input  logic [7:0]               wr_to_i,
  input  logic                     rd_en_i,
  input  logic [$clog2(DEPTH)-1:0] rd_addr_i,
  output logic [DATA_W-1:0]        rd_data_o
);
  localparam int unsigned B = DATA_W / 8;
`ifdef VERILATOR
  // Word operations; the byte enables below cost the simulator an operation per lane.
  logic [DATA_W-1:0] mem [DEPTH];
  localparam logic [DATA_W-1:0] ONES = '1;

  always_ff @(posedge clk_i) begin
    if (wr_en_i) begin
      if (wr_from_i == 8'd0 && wr_to_i == 8'(B)) mem[wr_addr_i] <= wr_data_i;
      else mem[wr_addr_i] <= mem[wr_addr_i] ^
                             ((mem[wr_addr_i] ^ wr_data_i) & (ONES << {wr_from_i, 3'd0}) &
                              ~(ONES << {wr_to_i, 3'd0}));
    end
    if (rd_en_i) rd_data_o <= mem[rd_addr_i];
  end
`else
  logic [B-1:0] be;
  for (genvar i = 0; i < B; i++) begin : gen_be
    assign be[i] = 8'(i) >= wr_from_i && 8'(i) < wr_to_i;
  end
  ram_sdp_be #(.W(DATA_W), .DEPTH(DEPTH)) u_ram (
    .clk_i,
    .wr_en_i,
    .wr_addr_i,
    .wr_data_i,
    .wr_be_i(be),
    .rd_en_i,
    .rd_addr_i,
    .rd_data_o
  );
`endif
endmodule
