// SPDX-License-Identifier: Apache-2.0
// Table of N_PATH path contexts: one writer (cmd_unit), four independent readers.
//
// Every port takes one request per cycle and answers in the next cycle, in order; ready is always
// 1. A lookup in the cycle of a write to the same index still gets the old path. An index of N_PATH
// or above, and a path never written since reset, reads as all zero (valid = 0).
module path_table #(
  parameter int unsigned N_PATH = 64
) (
  input  logic             clk_i,
  input  logic             rst_i,
  // cmd_unit
  input  logic             cw_valid,
  input  logic [15:0]      cw_index,
  input  rnic_pkg::path_t  cw,
  input  logic             cr_valid,
  output logic             cr_ready,
  input  logic [15:0]      cr_index,
  output logic             crs_valid,
  output rnic_pkg::path_t  crs,
  // tx_packetizer
  input  logic             tx_lk_valid,
  output logic             tx_lk_ready,
  input  logic [15:0]      tx_lk_index,
  output logic             tx_valid,
  output rnic_pkg::path_t  tx,
  // rx_responder
  input  logic             rx_lk_valid,
  output logic             rx_lk_ready,
  input  logic [15:0]      rx_lk_index,
  output logic             rx_valid,
  output rnic_pkg::path_t  rx,
  // rx_completer
  input  logic             cp_lk_valid,
  output logic             cp_lk_ready,
  input  logic [15:0]      cp_lk_index,
  output logic             cp_valid,
  output rnic_pkg::path_t  cp
);
  localparam int unsigned AW = N_PATH > 1 ? $clog2(N_PATH) : 1;
  localparam int unsigned PW = $bits(cw);

  if (N_PATH < 2 || N_PATH > 65536) begin : gen_bad_size
    $error("path_table: N_PATH must be 2 to 65536");
  end

  logic [N_PATH-1:0] written_q;
  logic              write;
  logic [3:0]        lk_valid, lk_hit, valid_q, hit_q;
  logic [4*AW-1:0]   lk_addr;
  logic [4*PW-1:0]   rd_data;

  assign write    = cw_valid && {1'b0, cw_index} < 17'(N_PATH);
  assign lk_valid = {cp_lk_valid, cr_valid, rx_lk_valid, tx_lk_valid};
  assign lk_addr  = {cp_lk_index[AW-1:0], cr_index[AW-1:0], rx_lk_index[AW-1:0],
      tx_lk_index[AW-1:0]};
  assign lk_hit   = {{1'b0, cp_lk_index} < 17'(N_PATH) && written_q[cp_lk_index[AW-1:0]],
                     {1'b0, cr_index} < 17'(N_PATH) && written_q[cr_index[AW-1:0]],
                     {1'b0, rx_lk_index} < 17'(N_PATH) && written_q[rx_lk_index[AW-1:0]],
                     {1'b0, tx_lk_index} < 17'(N_PATH) && written_q[tx_lk_index[AW-1:0]]};

  ram_1w_nr #(.W(PW), .DEPTH(N_PATH), .N_RD(4)) u_ram (
    .clk_i,
    .wr_en_i  (write),
    .wr_addr_i(cw_index[AW-1:0]),
    .wr_data_i(cw),
    .rd_en_i  (lk_valid),
    .rd_addr_i(lk_addr),
    .rd_data_o(rd_data)
  );

  always_ff @(posedge clk_i) begin
    valid_q <= lk_valid;
    hit_q   <= lk_hit;
    if (write) written_q[cw_index[AW-1:0]] <= 1'b1;
    if (rst_i) begin
      valid_q   <= '0;
      written_q <= '0;
    end
  end

  assign tx_lk_ready = 1'b1;
  assign rx_lk_ready = 1'b1;
  assign cr_ready    = 1'b1;
  assign cp_lk_ready = 1'b1;
  assign tx_valid    = valid_q[0];
  assign rx_valid    = valid_q[1];
  assign crs_valid   = valid_q[2];
  assign cp_valid    = valid_q[3];
  assign tx          = hit_q[0] ? rd_data[0*PW+:PW] : '0;
  assign rx          = hit_q[1] ? rd_data[1*PW+:PW] : '0;
  assign crs         = hit_q[2] ? rd_data[2*PW+:PW] : '0;
  assign cp          = hit_q[3] ? rd_data[3*PW+:PW] : '0;
endmodule
