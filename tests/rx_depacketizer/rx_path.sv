// SPDX-License-Identifier: Apache-2.0
// Test top: the whole receive path from the MAC's pins, two clocks.
module rx_path #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned GEN_FCS = 1,
  parameter int unsigned RX_BUF_BYTES = 131072
) (
  input  logic               mac_clk_i,
  input  logic               mac_rst_i,
  input  logic               mac_rx_valid,
  input  logic [DATA_W-1:0]  mac_rx_data,
  input  logic [7:0]         mac_rx_cnt,
  input  logic               mac_rx_last,
  input  logic               mac_rx_err,
  input  logic               clk_i,
  input  logic               rst_i,
  output logic               rxm_valid,
  input  logic               rxm_ready,
  output rnic_pkg::rx_meta_t rxm,
  output logic               rxd_valid,
  input  logic               rxd_ready,
  output logic [DATA_W-1:0]  rxd_data,
  output logic [7:0]         rxd_cnt,
  output logic               rxd_last,
  output logic               raw_rx_valid,
  input  logic               raw_rx_ready,
  output logic [DATA_W-1:0]  raw_rx_data,
  output logic [7:0]         raw_rx_cnt,
  output logic               raw_rx_last,
  output logic [15:0]        level_rows_o,
  output logic [9:0]         cnt_o,
  output logic               cnt_rx_cdc_drops_o
);
  logic              m_valid, m_last, m_err, in_valid, in_last, in_err, in_ovf;
  logic [DATA_W-1:0] m_data, in_data;
  logic [7:0]        m_cnt, in_cnt;

  mac_rx #(.DATA_W(DATA_W), .GEN_FCS(GEN_FCS)) u_mac (
    .clk_i(mac_clk_i), .rst_i(mac_rst_i),
    .mac_rx_valid, .mac_rx_data, .mac_rx_cnt, .mac_rx_last, .mac_rx_err,
    .out_valid(m_valid), .out_data(m_data), .out_cnt(m_cnt), .out_last(m_last), .out_err(m_err)
  );
  cdc_rx #(.DATA_W(DATA_W)) u_cdc (
    .mac_clk_i, .mac_rst_i,
    .in_valid(m_valid), .in_data(m_data), .in_cnt(m_cnt), .in_last(m_last), .in_err(m_err),
    .clk_i, .rst_i,
    .out_valid(in_valid), .out_data(in_data), .out_cnt(in_cnt), .out_last(in_last),
    .out_err(in_err), .out_ovf(in_ovf),
    .cnt_rx_cdc_drops_o, .cnt_rx_cdc_drops_hold_i(1'b0)
  );
  rx_chain #(.DATA_W(DATA_W), .RX_BUF_BYTES(RX_BUF_BYTES)) u_chain (
    .clk_i, .rst_i,
    .in_valid, .in_data, .in_cnt, .in_last, .in_err, .in_ovf,
    .rxm_valid, .rxm_ready, .rxm, .rxd_valid, .rxd_ready, .rxd_data, .rxd_cnt, .rxd_last,
    .raw_rx_valid, .raw_rx_ready, .raw_rx_data, .raw_rx_cnt, .raw_rx_last,
    .level_rows_o, .cnt_o
  );
endmodule
