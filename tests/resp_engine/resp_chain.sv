// SPDX-License-Identifier: Apache-2.0
// resp_engine with the blocks that it works with: atomic_unit, tx_submit, tx_buffer, dma_master.
// Ports of rx_responder, mr_table, qp_context_mgr, rx_placer (one write client), tx_packetizer and
// AXI stay open.
module resp_chain #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_QP = 8,
  parameter int unsigned N_TXSLOT = 64
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic [7:0]            cfg_pacing_i,
  input  logic [2:0]            cfg_mrrs_i,
  input  logic                  ackq_valid,
  output logic                  ackq_ready,
  input  rnic_pkg::ack_req_t    ackq,
  output logic                  re_lk_valid,
  input  logic                  re_lk_ready,
  output logic [23:0]           re_lk_qpn,
  input  logic                  re_ctx_valid,
  input  rnic_pkg::qp_conn_t    re_ctx,
  output logic                  mrq_valid,
  input  logic                  mrq_ready,
  output rnic_pkg::mr_req_t     mrq,
  input  logic                  mrs_valid,
  input  rnic_pkg::mr_rsp_t     mrs,
  output logic                  rsp_valid,
  input  logic                  rsp_ready,
  output rnic_pkg::tx_pkt_t     rsp,
  output logic                  out_valid,
  input  logic                  out_ready,
  output logic [DATA_W-1:0]     out_data,
  output logic [7:0]            out_cnt,
  output logic                  out_last,
  output rnic_pkg::tx_pkt_t     out_pkt,
  output logic                  fail_valid,
  output rnic_pkg::qp_fail_t    fail,
  // rx_placer
  input  logic                  wr_req_valid,
  output logic                  wr_req_ready,
  input  rnic_pkg::dma_wr_req_t wr_req,
  input  logic                  wr_dat_valid,
  output logic                  wr_dat_ready,
  input  logic [DATA_W-1:0]     wr_dat_data,
  input  logic [7:0]            wr_dat_cnt,
  input  logic                  wr_dat_last,
  // AXI
  output logic                  awvalid,
  input  logic                  awready,
  output logic [63:0]           awaddr,
  output logic                  wvalid,
  input  logic                  wready,
  output logic [DATA_W-1:0]     wdata,
  output logic [DATA_W/8-1:0]   wstrb,
  output logic                  wlast,
  input  logic                  bvalid,
  output logic                  bready,
  output logic                  arvalid,
  input  logic                  arready,
  output logic [7:0]            arid,
  output logic [63:0]           araddr,
  output logic [7:0]            arlen,
  input  logic                  rvalid,
  output logic                  rready,
  input  logic [7:0]            rid,
  input  logic [DATA_W-1:0]     rdata,
  input  logic [1:0]            rresp,
  input  logic                  rlast
);
  logic slot_valid, slot_ready, txp_valid, txp_ready, b_slot_valid, b_slot_ready, b_txp_valid;
  logic b_txp_ready, rd2_valid, rd2_ready, rd4_valid, rd4_ready, rdrsp_valid, rleft_valid;
  logic rterr_valid, rterr_ready, at_valid, at_ready, at_swap, at_sampled, ar_valid, ar_ready;
  logic ar_err, w3r_valid, w3r_ready, w3d_valid, w3d_ready, w3d_last, placed;
  logic [4:0] w_placed;
  logic [7:0] slot_id, b_slot_id, txp_slot, b_txp_slot, w3d_cnt;
  logic [23:0] rleft_qpn, rterr_qpn, rterr_psn, rterr_msn, at_qpn, at_psn;
  logic [63:0] at_addr, at_op0, at_op1, ar_value;
  logic [79:0] at_tag, ar_tag;
  logic [DATA_W-1:0] rdrsp_data, w3d_data;
  rnic_pkg::tx_pkt_t txp, b_txp;
  rnic_pkg::dma_rd_req_t rd2_req, rd4_req;
  rnic_pkg::dma_rd_rsp_t rdrsp;
  rnic_pkg::dma_wr_req_t w3r;

  resp_engine #(.N_QP(N_QP)) u_resp (
    .clk_i, .rst_i, .cfg_count_i(8'd16), .cfg_cycles_i(16'd64), .ackq_valid, .ackq_ready, .ackq,
    .re_lk_valid, .re_lk_ready, .re_lk_qpn, .re_ctx_valid, .re_ctx, .answer_o(), .answer_qpn_o(),
    .answered_o(), .qpi_valid(1'b0), .qpi_ready(),
    .qpi('0), .rsp_valid, .rsp_ready, .rsp, .mrq_valid, .mrq_ready, .mrq, .mrs_valid, .mrs,
    .slot_valid(b_slot_valid), .slot_ready(b_slot_ready), .slot_id(b_slot_id),
    .txp_valid(b_txp_valid), .txp_ready(b_txp_ready), .txp(b_txp), .txp_slot(b_txp_slot),
    .rdreq_valid(rd2_valid), .rdreq_ready(rd2_ready), .rdreq(rd2_req), .rleft_valid, .rleft_qpn,
    .rterr_valid, .rterr_ready, .rterr_qpn, .rterr_psn, .rterr_msn, .placed_i(placed), .at_valid,
    .at_ready, .at_addr, .at_swap, .at_op0, .at_op1, .at_qpn, .at_psn, .at_sampled, .at_tag,
    .ar_valid, .ar_ready, .ar_tag, .ar_value, .ar_err,
    .pace_chk_o(), .pace_chk_qpn_o(), .pace_limited_i(1'b0), .pace_ask_valid(),
    .pace_ask_ready(1'b0), .pace_ask_qpn(), .pace_told_i(1'b0), .pace_ok_i(1'b0), .pace_pkt_o(),
    .work_hold_i(1'b0), .pkt_path_o(), .pkt_hold_i(1'b0),
    .fail_valid, .fail_ready(1'b1), .fail,
    .cnt_tx_acks_o(), .cnt_tx_nak_seq_o(), .cnt_tx_nak_inv_o(), .cnt_tx_nak_access_o(),
    .cnt_tx_nak_op_o(), .cnt_tx_rnr_nak_o(), .cnt_tx_rd_responses_o(), .cnt_rx_rd_dropped_o(),
    .trc_valid_o(), .trc_o(), .trc_sampled_o(), .trc2_valid_o(), .trc2_o(), .trc2_sampled_o());

  atomic_unit #(.DATA_W(DATA_W), .TAG_W(80)) u_atomic (
    .clk_i, .rst_i, .at_valid, .at_ready, .at_addr, .at_swap, .at_op0, .at_op1, .at_qpn, .at_psn,
    .at_sampled, .at_tag, .res_valid(ar_valid), .res_ready(ar_ready), .res_tag(ar_tag),
    .res_value(ar_value), .res_err(ar_err), .rdreq_valid(rd4_valid), .rdreq_ready(rd4_ready),
    .rdreq(rd4_req), .rdrsp_valid, .rdrsp, .rdrsp_data(rdrsp_data[63:0]), .wrreq_valid(w3r_valid),
    .wrreq_ready(w3r_ready), .wrreq(w3r), .wrdat_valid(w3d_valid), .wrdat_ready(w3d_ready),
    .wrdat_data(w3d_data), .wrdat_cnt(w3d_cnt), .wrdat_last(w3d_last), .placed_i(w_placed[3]),
    .cnt_atomics_o());

  tx_submit u_submit (
    .clk_i, .rst_i, .a_slot_valid(), .a_slot_ready(1'b0), .a_slot_id(), .a_txp_valid(1'b0),
    .a_txp_ready(), .a_txp('0), .a_txp_slot('0), .b_slot_valid, .b_slot_ready, .b_slot_id,
    .b_txp_valid, .b_txp_ready, .b_txp, .b_txp_slot, .slot_valid, .slot_ready, .slot_id, .txp_valid,
    .txp_ready, .txp, .txp_slot);

  tx_buffer #(.DATA_W(DATA_W), .N_TXSLOT(N_TXSLOT), .N_QP(N_QP)) u_buffer (
    .clk_i, .rst_i, .cfg_threshold_i('0), .paused_i('0), .txp_class('0), .gone_o(), .gone_class_o(),
    .slot_valid, .slot_ready, .slot_id, .txp_valid,
    .txp_ready, .txp, .txp_slot, .inl_valid(1'b0), .inl_ready(), .inl_slot('0), .inl_data('0),
    .inl_len('0), .rdrsp_valid, .rdrsp, .rdrsp_data, .qpi_valid(1'b0), .qpi_ready(), .qpi('0),
    .out_valid, .out_ready, .out_data, .out_cnt, .out_last, .out_abort(), .out_pkt, .terr_valid(),
    .terr_ready(1'b1), .terr_qpn(), .terr_index(), .terr_status(), .trc_valid_o(), .trc_o(),
    .trc_sampled_o(), .trc2_valid_o(), .trc2_o(), .trc2_sampled_o(), .left_valid(),
    .left_ready(1'b1), .left_qpn(), .left_psn(), .rleft_valid, .rleft_qpn, .rterr_valid,
    .rterr_ready, .rterr_qpn, .rterr_psn, .rterr_msn);

  dma_master #(.DATA_W(DATA_W), .DEVMEM_BYTES(0)) u_dma (
    .clk_i, .rst_i, .cfg_mps_i(3'd2), .cfg_mrrs_i, .cfg_pacing_i, .cfg_timeout_us_i('0),
    .cfg_relaxed_i(1'b0), .gdr_en_i(1'b0), .gpu_base_i('0), .gpu_limit_i('0), .devmem_base_i('1),
    .drain_i(1'b0), .idle_o(),
    .rd0_valid(1'b0), .rd0_ready(), .rd0_req('0), .rd1_valid(1'b0), .rd1_ready(), .rd1_req('0),
    .rd2_valid, .rd2_ready, .rd2_req, .rd3_valid(1'b0), .rd3_ready(), .rd3_req('0), .rd4_valid,
    .rd4_ready, .rd4_req, .rd5_valid(1'b0), .rd5_ready(), .rd5_req('0), .rd6_valid(1'b0),
    .rd6_ready(), .rd6_req('0), .rdrsp_valid, .rdrsp, .rdrsp_data,
    .wr0_req_valid(wr_req_valid), .wr0_req_ready(wr_req_ready), .wr0_req(wr_req),
    .wr0_dat_valid(wr_dat_valid), .wr0_dat_ready(wr_dat_ready), .wr0_dat_data(wr_dat_data),
    .wr0_dat_cnt(wr_dat_cnt), .wr0_dat_last(wr_dat_last),
    .wr1_req_valid(1'b0), .wr1_req_ready(), .wr1_req('0), .wr1_dat_valid(1'b0), .wr1_dat_ready(),
    .wr1_dat_data('0), .wr1_dat_cnt('0), .wr1_dat_last(1'b0),
    .wr2_req_valid(1'b0), .wr2_req_ready(), .wr2_req('0), .wr2_dat_valid(1'b0), .wr2_dat_ready(),
    .wr2_dat_data('0), .wr2_dat_cnt('0), .wr2_dat_last(1'b0),
    .wr3_req_valid(w3r_valid), .wr3_req_ready(w3r_ready), .wr3_req(w3r), .wr3_dat_valid(w3d_valid),
    .wr3_dat_ready(w3d_ready), .wr3_dat_data(w3d_data), .wr3_dat_cnt(w3d_cnt),
    .wr3_dat_last(w3d_last),
    .wr4_req_valid(1'b0), .wr4_req_ready(), .wr4_req('0), .wr4_dat_valid(1'b0), .wr4_dat_ready(),
    .wr4_dat_data('0), .wr4_dat_cnt('0), .wr4_dat_last(1'b0),
    .placed_o(placed), .rd_placed_o(), .wr_placed_o(w_placed), .fault_valid(),
    .fault_ready(1'b1), .fault(),
    .dm_wr_valid(), .dm_wr_ready(1'b1), .dm_wr_row(), .dm_wr_data(), .dm_wr_strb(), .dm_rd_valid(),
    .dm_rd_ready(1'b1), .dm_rd_row(), .dm_rd_data('0), .m_axi_awvalid(awvalid),
    .m_axi_awready(awready), .m_axi_awid(), .m_axi_awaddr(awaddr), .m_axi_awlen(), .m_axi_awuser(),
    .m_axi_wvalid(wvalid), .m_axi_wready(wready), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb),
    .m_axi_wlast(wlast), .m_axi_bvalid(bvalid), .m_axi_bready(bready), .m_axi_bid('0),
    .m_axi_bresp('0), .m_axi_arvalid(arvalid), .m_axi_arready(arready), .m_axi_arid(arid),
    .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_aruser(), .m_axi_rvalid(rvalid),
    .m_axi_rready(rready), .m_axi_rid(rid), .m_axi_rdata(rdata), .m_axi_rresp(rresp),
    .m_axi_rlast(rlast), .m_axi_ruser(1'b0), .gpu_accepted_o(), .gpu_done_o(), .dev_accepted_o(),
    .dev_done_o(), .cnt_dma_reads_o(), .cnt_dma_writes_o(), .cnt_dma_read_bytes_amount_o(),
    .cnt_dma_write_bytes_amount_o(), .cnt_dma_read_errors_o(), .cnt_dma_page_fault_o(),
    .cnt_dma_timeouts_o(), .cnt_gdr_refused_o(), .trc_valid_o(), .trc_o(), .trc_sampled_o(),
    .trc2_valid_o(), .trc2_o(), .trc2_sampled_o());
endmodule
