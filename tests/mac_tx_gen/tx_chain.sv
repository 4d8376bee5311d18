// SPDX-License-Identifier: Apache-2.0
// Test only: tx_buffer to the MAC's pins as the top connects them, with the path table.
module tx_chain #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned GEN_FCS = 0
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic                   mac_clk_i,
  input  logic                   mac_rst_i,
  input  logic [15:0]            ip_id_i,
  input  logic [5:0]             cfg_cnp_dscp_i,
  output logic                   slot_valid,
  input  logic                   slot_ready,
  output logic [7:0]             slot_id,
  input  logic                   txp_valid,
  output logic                   txp_ready,
  input  rnic_pkg::tx_pkt_t      txp,
  input  logic [7:0]             txp_slot,
  input  logic                   inl_valid,
  output logic                   inl_ready,
  input  logic [7:0]             inl_slot,
  input  logic [767:0]           inl_data,
  input  logic [6:0]             inl_len,
  input  logic                   rdrsp_valid,
  input  rnic_pkg::dma_rd_rsp_t  rdrsp,
  input  logic [DATA_W-1:0]      rdrsp_data,
  input  logic                   rsp_valid,
  output logic                   rsp_ready,
  input  rnic_pkg::tx_pkt_t      rsp,
  input  logic                   cw_valid,
  input  logic [15:0]            cw_index,
  input  rnic_pkg::path_t        cw,
  input  logic                   raw_tx_valid,
  output logic                   raw_tx_ready,
  input  logic [DATA_W-1:0]      raw_tx_data,
  input  logic [7:0]             raw_tx_cnt,
  input  logic                   raw_tx_last,
  output logic                   cdc_write_o,
  output logic                   cnt_tx_frames_o,
  output logic [15:0]            cnt_tx_bytes_amount_o,
  output logic                   mac_tx_valid,
  input  logic                   mac_tx_ready,
  output logic [DATA_W-1:0]      mac_tx_data,
  output logic [7:0]             mac_tx_cnt,
  output logic                   mac_tx_last,
  output logic                   mac_tx_err
);
  /* verilator lint_off PINCONNECTEMPTY */  // outputs nobody needs here
  logic               req_valid, req_ready, req_last, req_abort;
  logic [DATA_W-1:0]  req_data;
  logic [7:0]         req_cnt;
  rnic_pkg::tx_pkt_t  req_pkt;
  logic               pk_valid, pk_ready, pk_last, pk_abort, mg_valid, mg_ready, mg_last, mg_abort;
  logic [DATA_W-1:0]  pk_data, mg_data, cx_data;
  logic [7:0]         pk_cnt, mg_cnt, cx_cnt, cx_level;
  rnic_pkg::tx_eth_t  pk_eth, mg_eth, cx_eth;
  logic               cx_valid, cx_ready, cx_last, cx_abort;
  logic               path_lk_valid, path_lk_ready, path_valid;
  logic [15:0]        path_lk_index;
  rnic_pkg::path_t    path;
  logic               underrun, underrun_request;
  logic [23:0]        underrun_qpn, underrun_psn;

  tx_buffer #(.DATA_W(DATA_W), .N_TXSLOT(16), .N_QP(16)) u_buffer (
    .clk_i, .rst_i, .cfg_threshold_i(13'd0), .paused_i('0), .txp_class('0), .gone_o(),
    .gone_class_o(), .slot_valid, .slot_ready, .slot_id, .txp_valid,
        .txp_ready, .txp, .txp_slot,
    .inl_valid, .inl_ready, .inl_slot, .inl_data, .inl_len, .rdrsp_valid, .rdrsp, .rdrsp_data,
    .qpi_valid(1'b0), .qpi_ready(), .qpi('0),
    .out_valid(req_valid), .out_ready(req_ready), .out_data(req_data), .out_cnt(req_cnt),
        .out_last(req_last),
    .out_abort(req_abort), .out_pkt(req_pkt),
    .terr_valid(), .terr_ready(1'b1), .terr_qpn(), .terr_index(), .terr_status(),
    .trc_valid_o(), .trc_o(), .trc_sampled_o(), .trc2_valid_o(), .trc2_o(), .trc2_sampled_o());

  path_table #(.N_PATH(32)) u_paths (
    .clk_i, .rst_i, .cw_valid, .cw_index, .cw, .cr_valid(1'b0), .cr_ready(), .cr_index('0),
        .crs_valid(), .crs(),
    .tx_lk_valid(path_lk_valid), .tx_lk_ready(path_lk_ready), .tx_lk_index(path_lk_index),
        .tx_valid(path_valid),
    .tx(path), .rx_lk_valid(1'b0), .rx_lk_ready(), .rx_lk_index('0), .rx_valid(), .rx(),
    .cp_lk_valid(1'b0), .cp_lk_ready(), .cp_lk_index('0), .cp_valid(), .cp());

  tx_packetizer #(.DATA_W(DATA_W)) u_packetizer (
    .clk_i, .rst_i, .ip_id_i, .cfg_mig_req_i(1'b1), .cfg_cnp_dscp_i, .cfg_cnp_pcp_i(3'd0),
    .cfg_int_i(1'b0), .cfg_int_unit_i(4'd0), .echo_get_o(), .echo_qpn_o(), .echo_valid_i(1'b0),
    .echo_i('0), .out_add(), .out_echo(), .out_int(),
    .rsp_valid, .rsp_ready, .rsp, .req_valid,
    .req_ready, .req_data, .req_cnt, .req_last, .req_abort, .req_pkt, .path_lk_valid,
    .path_lk_ready, .path_lk_index, .path_valid, .path,
    .out_valid(pk_valid), .out_ready(pk_ready), .out_data(pk_data), .out_cnt(pk_cnt),
        .out_last(pk_last),
    .out_abort(pk_abort), .out_eth(pk_eth), .cnt_tx_no_path_o(), .trc_valid_o(), .trc_o(),
        .trc_sampled_o());

  tx_merge #(.DATA_W(DATA_W)) u_merge (
    .clk_i, .rst_i, .in_valid(pk_valid), .in_ready(pk_ready), .in_data(pk_data), .in_cnt(pk_cnt),
        .in_last(pk_last),
    .in_abort(pk_abort), .in_eth(pk_eth), .raw_tx_valid, .raw_tx_ready, .raw_tx_data, .raw_tx_cnt,
        .raw_tx_last,
    .out_valid(mg_valid), .out_ready(mg_ready), .out_data(mg_data), .out_cnt(mg_cnt),
        .out_last(mg_last),
    .out_abort(mg_abort), .out_eth(mg_eth));
  assign cdc_write_o = mg_valid && mg_ready;

  cdc_tx #(.DATA_W(DATA_W)) u_cdc (
    .clk_i, .rst_i, .in_valid(mg_valid), .in_ready(mg_ready), .in_data(mg_data), .in_cnt(mg_cnt),
        .in_last(mg_last),
    .in_abort(mg_abort), .in_eth(mg_eth), .cnt_tx_frames_o, .cnt_tx_raw_frames_o(),
        .cnt_tx_bytes_amount_o,
    .cnt_tx_underruns_o(), .underrun_qpn_o(), .underrun_psn_o(), .trc_valid_o(), .trc_o(),
        .trc_sampled_o(),
    .mac_clk_i, .mac_rst_i, .out_valid(cx_valid), .out_ready(cx_ready), .out_data(cx_data),
        .out_cnt(cx_cnt),
    .out_last(cx_last), .out_abort(cx_abort), .out_eth(cx_eth), .out_level_o(cx_level),
        .underrun_i(underrun), .underrun_request_i(underrun_request),
    .underrun_qpn_i(underrun_qpn), .underrun_psn_i(underrun_psn));

  mac_tx_gen #(.DATA_W(DATA_W), .GEN_FCS(GEN_FCS)) u_mac (
    .clk_i(mac_clk_i), .rst_i(mac_rst_i), .in_valid(cx_valid), .in_ready(cx_ready),
        .in_data(cx_data), .in_cnt(cx_cnt),
    .in_last(cx_last), .in_abort(cx_abort), .in_eth(cx_eth), .in_level_i(cx_level), .mac_tx_valid,
        .mac_tx_ready,
    .mac_tx_data, .mac_tx_cnt, .mac_tx_last, .mac_tx_err, .underrun_o(underrun),
        .underrun_request_o(underrun_request), .underrun_qpn_o(underrun_qpn),
    .underrun_psn_o(underrun_psn));
endmodule
