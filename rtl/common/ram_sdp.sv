// SPDX-License-Identifier: Apache-2.0
//
// Memory with one write and one read port, read latency 1; rd_data_o holds while rd_en_i is low. A
// read and a write of one address at one edge: the read returns the old word, with FORWARD 1 the
// new one. Contents are not reset.

module ram_sdp #(
  parameter int unsigned W = 8,
  parameter int unsigned DEPTH = 16,
  parameter int unsigned FORWARD = 0
) (
  input  logic                     clk_i,
  input  logic                     wr_en_i,
  input  logic [$clog2(DEPTH)-1:0] wr_addr_i,
  input  logic [W-1:0]             wr_data_i,
  input  logic                     rd_en_i,
  input  logic [$clog2(DEPTH)-1:0] rd_addr_i,
  output logic [W-1:0]             rd_data_o
);

  logic [W-1:0] mem [DEPTH];
  logic [W-1:0] rd_q;

`ifdef VERILATOR
  // The same function as below, without a wide choice in every cycle.
  always_ff @(posedge clk_i) begin
    if (wr_en_i) mem[wr_addr_i] <= wr_data_i;
    if (rd_en_i && FORWARD != 0 && wr_en_i && wr_addr_i == rd_addr_i) rd_q <= wr_data_i;
    else if (rd_en_i) rd_q <= mem[rd_addr_i];
  end
  assign rd_data_o = rd_q;
`else
  always_ff @(posedge clk_i) begin
    if (wr_en_i) mem[wr_addr_i] <= wr_data_i;
    if (rd_en_i) rd_q <= mem[rd_addr_i];
  end

  if (FORWARD == 0) begin : gen_plain
    assign rd_data_o = rd_q;
  end else begin : gen_forward
    // Beside the memory, so that it stays a block RAM.
    logic         hit_q;
    logic [W-1:0] new_q;
    always_ff @(posedge clk_i) begin
      if (rd_en_i) hit_q <= wr_en_i && wr_addr_i == rd_addr_i;
      if (rd_en_i && wr_en_i) new_q <= wr_data_i;
    end
    assign rd_data_o = hit_q ? new_q : rd_q;
  end
`endif

endmodule
