// SPDX-License-Identifier: Apache-2.0
// The crossing of transmit beats from core_clk to mac_clk, and of underrun reports back.
// Throughput: one beat per cycle of the slower clock. Latency: that of cdc_fifo, 2 to 3 mac_clk edges. Nothing is dropped
// on the way out; an underrun report finds its FIFO full only after DEPTH_BACK of them in a row and is then merged.
module cdc_tx #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned DEPTH = 16,
    parameter int unsigned DEPTH_BACK = 4
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               in_valid,
    output logic               in_ready,
    input  logic [DATA_W-1:0]  in_data,
    input  logic [7:0]         in_cnt,
    input  logic               in_last,
    input  logic               in_abort,
    input  rnic_pkg::tx_eth_t  in_eth,
    output logic               empty_o,         // core side: everything was taken by mac_clk
    output logic               cnt_tx_underruns_o,
    output logic [23:0]        underrun_qpn_o,
    output logic [23:0]        underrun_psn_o,

    input  logic               mac_clk_i,
    input  logic               mac_rst_i,
    output logic               out_valid,
    input  logic               out_ready,
    output logic [DATA_W-1:0]  out_data,
    output logic [7:0]         out_cnt,
    output logic               out_last,
    output logic               out_abort,
    output rnic_pkg::tx_eth_t  out_eth,
    output logic               out_two,         // at least two beats are here
    input  logic               underrun_i,
    input  logic [23:0]        underrun_qpn_i,
    input  logic [23:0]        underrun_psn_i
);
  localparam int unsigned ETH_W = $bits(in_eth);
  localparam int unsigned W = DATA_W + 8 + 2 + ETH_W;
  localparam int unsigned LW = $clog2(DEPTH + 1);
  localparam int unsigned BW = $clog2(DEPTH_BACK + 1);

  logic [LW-1:0] wr_level, rd_level;
  cdc_fifo #(
      .W(W),
      .DEPTH(DEPTH)
  ) u_out (
      .wr_clk_i(clk_i),
      .wr_rst_i(rst_i),
      .in_valid,
      .in_ready,
      .in_data({in_eth, in_abort, in_last, in_cnt, in_data}),
      .wr_level_o(wr_level),
      .rd_clk_i(mac_clk_i),
      .rd_rst_i(mac_rst_i),
      .out_valid,
      .out_ready,
      .out_data({out_eth, out_abort, out_last, out_cnt, out_data}),
      .rd_level_o(rd_level)
  );
  assign out_two = rd_level >= LW'(2);
  assign empty_o = wr_level == '0;

  logic back_ready, back_valid;
  logic [BW-1:0] back_wr_level, back_rd_level;
  cdc_fifo #(
      .W(48),
      .DEPTH(DEPTH_BACK)
  ) u_back (
      .wr_clk_i(mac_clk_i),
      .wr_rst_i(mac_rst_i),
      .in_valid(underrun_i),
      .in_ready(back_ready),
      .in_data({underrun_qpn_i, underrun_psn_i}),
      .wr_level_o(back_wr_level),
      .rd_clk_i(clk_i),
      .rd_rst_i(rst_i),
      .out_valid(back_valid),
      .out_ready(1'b1),
      .out_data({underrun_qpn_o, underrun_psn_o}),
      .rd_level_o(back_rd_level)
  );
  assign cnt_tx_underruns_o = back_valid;

  logic unused;
  assign unused = ^{back_ready, back_wr_level, back_rd_level};
endmodule
