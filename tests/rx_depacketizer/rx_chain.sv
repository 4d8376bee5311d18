// SPDX-License-Identifier: Apache-2.0
// Test top: rx_parser, rx_buffer and rx_depacketizer as in the NIC.
module rx_chain #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned RX_BUF_BYTES = 131072,
  parameter int unsigned RAW_BUF_BYTES = 16384,
  parameter int unsigned N_META = 512
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               in_valid,
  input  logic [DATA_W-1:0]  in_data,
  input  logic [7:0]         in_cnt,
  input  logic               in_last,
  input  logic               in_err,
  input  logic               in_ovf,
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
  // buffer_drops, raw_frames, raw_drops, filtered, roce, header, icrc, runts, crc, frames
  output logic [9:0]         cnt_o
);
  logic               bt_valid, bt_last, vd_valid;
  logic [DATA_W-1:0]  bt_data;
  logic [7:0]         bt_cnt;
  logic [1:0]         vd_kind;
  rnic_pkg::rx_meta_t vd_meta, pk_meta;
  logic               pk_valid, pk_ready, row_valid, row_ready, row_first, row_last;
  logic [DATA_W-1:0]  row_data;
  logic [6:0]         row_off;
  logic [12:0]        row_len;
  logic               unused_vlan, unused_keep, unused_past, unused_gone;
  logic [2:0]         unused_pcp;
  logic [15:0]        unused_rows;
  logic               unused_early, unused_t0, unused_t1, unused_s0, unused_s1;
  logic [23:0]        unused_qpn;
  logic [15:0]        unused_bytes;
  logic [63:0]        unused_trc0, unused_trc1;

  rx_parser #(.DATA_W(DATA_W)) u_parser (
    .clk_i, .rst_i,
    .cfg_promisc_raw_i(1'b1), .cfg_port_mac_i(48'd0), .cfg_int_i(1'b1),
    .in_valid, .in_data, .in_cnt, .in_last, .in_err, .in_ovf,
    .bt_valid, .bt_data, .bt_cnt, .bt_last,
    .vd_valid, .vd_kind, .vd_meta, .vd_vlan(unused_vlan), .vd_pcp(unused_pcp),
    .early_valid_o(unused_early), .early_qpn_o(unused_qpn),
    .cnt_rx_frames_o(cnt_o[0]), .cnt_rx_bytes_amount_o(unused_bytes),
    .cnt_rx_crc_errors_o(cnt_o[1]),
    .cnt_rx_runts_o(cnt_o[2]), .cnt_rx_icrc_errors_o(cnt_o[3]), .cnt_rx_header_errors_o(cnt_o[4]),
    .cnt_rx_roce_packets_o(cnt_o[5]), .cnt_rx_raw_filtered_o(cnt_o[6]),
    .trc_valid_o(unused_t0), .trc_o(unused_trc0), .trc_sampled_o(unused_s0)
  );

  rx_buffer #(
    .DATA_W(DATA_W), .RX_BUF_BYTES(RX_BUF_BYTES), .RAW_BUF_BYTES(RAW_BUF_BYTES), .N_META(N_META)
  ) u_buffer (
    .clk_i, .rst_i,
    .cfg_reserve_i(16'd0),
    .bt_valid, .bt_data, .bt_cnt, .bt_last, .vd_valid, .vd_kind, .vd_meta,
    .pk_valid, .pk_ready, .pk_meta,
    .row_valid, .row_ready, .row_data, .row_first, .row_last, .row_off, .row_len,
    .raw_rx_valid, .raw_rx_ready, .raw_rx_data, .raw_rx_cnt, .raw_rx_last,
    .cnt_rx_buffer_drops_o(cnt_o[9]), .cnt_rx_raw_frames_o(cnt_o[8]), .cnt_rx_raw_drops_o(cnt_o[7]),
    .level_rows_o,
    .keep_o(unused_keep), .keep_past_o(unused_past), .keep_rows_o(unused_rows),
    .gone_o(unused_gone),
    .stored_o(), .stored_qpn_o(),
    .trc_valid_o(unused_t1), .trc_o(unused_trc1), .trc_sampled_o(unused_s1)
  );

  rx_depacketizer #(.DATA_W(DATA_W)) u_depacketizer (
    .clk_i, .rst_i,
    .pk_valid, .pk_ready, .pk_meta,
    .row_valid, .row_ready, .row_data, .row_first, .row_last, .row_off, .row_len,
    .rxm_valid, .rxm_ready, .rxm, .rxd_valid, .rxd_ready, .rxd_data, .rxd_cnt, .rxd_last
  );
endmodule
