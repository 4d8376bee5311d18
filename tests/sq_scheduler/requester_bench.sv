// SPDX-License-Identifier: Apache-2.0
//
// The sending side up to the TX buffer, wired as rnic_top does, with the real contexts: for tests
// only.
/* verilator lint_off PINCONNECTEMPTY */  // outputs nobody needs here
/* verilator lint_off UNUSEDSIGNAL */  // answers of ports that are tied off
module requester_bench #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_WQE = 256,
    parameter int unsigned N_MSG = 512,
    parameter int unsigned QP_CAP = 32,
    parameter int unsigned CTX_LAT = 1
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    output logic                   init_done_o,
    input  logic                   cw_valid,
    input  logic [23:0]            cw_qpn,
    input  rnic_pkg::qp_conn_t     cw,
    input  logic                   db_valid,
    output logic                   db_ready,
    input  logic [23:0]            db_qpn,
    input  logic [15:0]            db_index,
    input  logic                   bf_valid,
    output logic                   bf_ready,
    input  rnic_pkg::wqe_entry_t   bf,
    input  logic [2:0]             qpi_valid,  // sq_scheduler, sq_engine, msg_pool
    output logic [2:0]             qpi_ready,
    input  rnic_pkg::qp_init_t     qpi,
    input  logic                   kick_valid,
    output logic                   kick_ready,
    input  logic [23:0]            kick_qpn,
    input  logic                   qry_lk_valid,
    output logic                   qry_lk_ready,
    input  logic [23:0]            qry_lk_qpn,
    output logic                   qry_valid,
    output logic [15:0]            qry_prod,
    output logic [15:0]            qry_fetch,
    input  logic [7:0]             cfg_ack_req_every_i,
    output logic                   rd0_valid,
    input  logic                   rd0_ready,
    output rnic_pkg::dma_rd_req_t  rd0,
    output logic                   rd1_valid,
    input  logic                   rd1_ready,
    output rnic_pkg::dma_rd_req_t  rd1,
    input  logic                   rdrsp_valid,
    input  rnic_pkg::dma_rd_rsp_t  rdrsp,
    input  logic [DATA_W-1:0]      rdrsp_data,
    output logic                   mrq_valid,
    input  logic                   mrq_ready,
    output rnic_pkg::mr_req_t      mrq,
    input  logic                   mrs_valid,
    input  rnic_pkg::mr_rsp_t      mrs,
    input  logic                   slot_valid,
    output logic                   slot_ready,
    input  logic [7:0]             slot_id,
    output logic                   txp_valid,
    input  logic                   txp_ready,
    output rnic_pkg::tx_pkt_t      txp,
    output logic [7:0]             txp_slot,
    output logic                   inl_valid,
    input  logic                   inl_ready,
    output logic [7:0]             inl_slot,
    output logic [767:0]           inl_data,
    output logic [6:0]             inl_len,
    input  logic                   hd_lk_valid,
    output logic                   hd_lk_ready,
    input  logic [23:0]            hd_lk_qpn,
    output logic                   hd_valid,
    output logic                   hd_empty,
    output rnic_pkg::msg_t         hd,
    input  logic                   pop_valid,
    input  logic [23:0]            pop_qpn,
    output logic                   nudge_valid,
    input  logic                   nudge_ready,
    output logic [23:0]            nudge_qpn,
    output logic                   lerr_valid,
    input  logic                   lerr_ready,
    output logic [23:0]            lerr_qpn,
    output logic [15:0]            lerr_index,
    output logic [7:0]             lerr_status,
    // what rx_completer, rc_timer and mr_table see
    output logic                   snd_wr_valid,
    output logic [23:0]            snd_wr_qpn,
    output rnic_pkg::qp_send_t     snd_wr,
    input  logic                   ack_wr_valid,
    input  logic [23:0]            ack_wr_qpn,
    input  rnic_pkg::qp_ack_t      ack_wr,
    input  logic                   rwq_valid,
    output logic                   rwq_ready,
    input  logic [23:0]            rwq_qpn,
    output logic                   rwg_valid,
    input  logic                   rwg_ready,
    output logic [23:0]            rwg_qpn,
    input  logic                   rws_valid,
    output logic                   rws_ready,
    input  rnic_pkg::rewind_t      rws,
    output logic                   arm_valid,
    output rnic_pkg::timer_set_t   arm,
    output logic [767:0]           hd_list,
    output logic                   lop_valid,
    input  logic                   lop_ready,
    output rnic_pkg::mr_lop_t      lop,
    input  logic                   lop_done_valid,
    input  logic                   lop_done_ok,
    output logic                   inv_valid,
    input  logic                   inv_ready,
    output logic [23:0]            inv_qpn,
    output logic                   cnt_tx_resent_o,
    output logic                   cnt_tx_rd_requests_o,
    output logic                   cnt_doorbells_o,
    output logic                   cnt_doorbell_refused_o,
    output logic                   cnt_bf_pushes_o,
    output logic                   cnt_bf_fallbacks_o,
    output logic                   cnt_wqe_fetched_o,
    output logic                   cnt_wqe_errors_o,
    output logic                   cnt_msgs_posted_o,
    output logic                   cnt_tx_requests_o
);
  logic [5:0] done;
  assign init_done_o = &done;

  logic sch_lk_valid, sch_lk_ready, sch_ctx_valid, wf_lk_valid, wf_lk_ready, wf_ctx_valid;
  logic sq_lk_valid, sq_lk_ready, sq_ctx_valid, snd_lk_valid, snd_lk_ready, snd_ctx_valid,
      sqa_lk_valid, sqa_lk_ready, sqa_ctx_valid;
  logic [23:0] sch_lk_qpn, wf_lk_qpn, sq_lk_qpn, snd_lk_qpn, sqa_lk_qpn;
  rnic_pkg::qp_conn_t sch_ctx, wf_ctx, sq_ctx, unused_c0, unused_c1, unused_c2, unused_c3,
      unused_c4, unused_c5;
  rnic_pkg::qp_send_t snd_ctx, unused_s0, unused_s1;
  rnic_pkg::qp_ack_t  sqa_ctx, unused_a0, unused_a1;
  rnic_pkg::qp_recv_t unused_r0, unused_r1, no_recv;
  logic [31:0] nc;
  assign no_recv = '0;

  qp_context_mgr #(.N_QP(N_QP), .CTX_LAT(CTX_LAT)) u_ctx (
      .clk_i, .rst_i, .init_done_o(done[0]), .cw_valid, .cw_qpn, .cw,
      .db_lk_valid(1'b0), .db_lk_ready(nc[0]), .db_lk_qpn('0), .db_ctx_valid(nc[1]),
      .db_ctx(unused_c0),
      .sch_lk_valid, .sch_lk_ready, .sch_lk_qpn, .sch_ctx_valid, .sch_ctx,
      .wf_lk_valid, .wf_lk_ready, .wf_lk_qpn, .wf_ctx_valid, .wf_ctx,
      .sq_lk_valid, .sq_lk_ready, .sq_lk_qpn, .sq_ctx_valid, .sq_ctx,
      .rs_lk_valid(1'b0), .rs_lk_ready(nc[2]), .rs_lk_qpn('0), .rs_ctx_valid(nc[3]),
      .rs_ctx(unused_c1),
      .re_lk_valid(1'b0), .re_lk_ready(nc[4]), .re_lk_qpn('0), .re_ctx_valid(nc[5]),
      .re_ctx(unused_c2),
      .cp_lk_valid(1'b0), .cp_lk_ready(nc[6]), .cp_lk_qpn('0), .cp_ctx_valid(nc[7]),
      .cp_ctx(unused_c3),
      .snd_wr_valid, .snd_wr_qpn, .snd_wr, .snd_lk_valid, .snd_lk_ready, .snd_lk_qpn,
      .snd_ctx_valid, .snd_ctx,
      .ack_wr_valid, .ack_wr_qpn, .ack_wr,
      .ack_lk_valid(1'b0), .ack_lk_ready(nc[8]), .ack_lk_qpn('0), .ack_ctx_valid(nc[9]),
      .ack_ctx(unused_a0),
      .rcv_wr_valid(1'b0), .rcv_wr_qpn('0), .rcv_wr(no_recv),
      .rcv_lk_valid(1'b0), .rcv_lk_ready(nc[10]), .rcv_lk_qpn('0), .rcv_ctx_valid(nc[11]),
      .rcv_ctx(unused_r0),
      .cps_lk_valid(1'b0), .cps_lk_ready(nc[12]), .cps_lk_qpn('0), .cps_ctx_valid(nc[13]),
      .cps_ctx(unused_s0),
      .sqa_lk_valid, .sqa_lk_ready, .sqa_lk_qpn, .sqa_ctx_valid, .sqa_ctx,
      .rq_lk_valid(1'b0), .rq_lk_ready(nc[27]), .rq_lk_qpn('0), .rq_ctx_valid(nc[28]),
      .rq_ctx(unused_c5),
      .q_lk_valid(1'b0), .q_lk_ready(nc[14]), .q_lk_qpn('0), .q_ctx_valid(nc[15]),
      .q_conn(unused_c4),
      .q_snd(unused_s1), .q_ack(unused_a1), .q_rcv(unused_r1));

  logic wqe_req_valid, wqe_req_ready, fetch_done_valid, fetch_done_ready, fetch_done_last,
      bfw_valid;
  logic flush_valid, flush_ready, turn_valid, turn_ready, turn_done_valid, turn_done_ready,
      turn_done_more;
  logic [23:0] wqe_req_qpn, fetch_done_qpn, flush_qpn, turn_qpn, turn_done_qpn;
  logic [15:0] wqe_req_index, wqe_req_avail, fetch_done_next;
  logic [6:0]  wqe_req_blocks;
  logic [4:0]  fetch_done_pushed;
  logic [1:0]  turn_done_blocked;
  logic [15:0] turn_done_index;
  logic [5:0]  turn_done_popped;
  logic        msg_room, wqe_valid, wqe_ready, rwd_valid, rwd_ready, passed_valid, passed_ready;
  logic [23:0] rwd_qpn, passed_qpn;
  logic [15:0] rwd_index;
  logic [767:0] mp_list;
  rnic_pkg::wqe_entry_t bfw, wqe, walk;
  // The rate and the weight of a QP are those of its connection half; no path has VLAN or IPv6.
  logic pace_chk, pace_limited, pace_want, pace_want_idle, pace_want_window, hurry_valid,
      hurry_ready, go_valid, go_ready, turn_done_window, share_lk, debt_valid, txp_held_q;
  logic [23:0] pace_chk_qpn, pace_want_qpn, hurry_qpn, go_qpn, share_lk_qpn, debt_qpn;
  logic [15:0] share_credit;
  logic [12:0] debt_value;
  logic [31:0] now_q;
  rnic_pkg::pace_t pace;
  always_ff @(posedge clk_i) begin
    now_q <= rst_i ? 32'd0 : now_q + 32'd1;
    txp_held_q <= txp_valid && !txp_ready && !rst_i;
  end
  tx_pacer #(.N_QP(N_QP), .N_PATH(2)) u_pacer (
      .clk_i, .rst_i, .init_done_o(done[4]), .now_i(now_q), .cfg_line_i(30'd400_000_000),
      .cfg_cc_i(1'b0), .cfg_burst_i('0), .cfg_late_log2_i(4'd10),
      .limit_i(cw_valid), .limit_qpn_i(cw_qpn), .limit_mbps_i(cw.rate),
      .rate_i(1'b0), .rate_qpn_i('0), .rate_kbps_i('0), .rate_window_i('0),
      .clear_valid(1'b0), .clear_ready(nc[29]), .clear_qpn('0),
      .path_i(1'b0), .path_index_i('0), .path_ipv6_i(1'b0), .path_vlan_i(1'b0),
      .pkt_i(txp_valid && !txp_held_q), .pkt_qpn_i(txp.qpn), .pkt_path_i('0),
      .pkt_opcode_i(txp.opcode), .pkt_len_i(txp.payload_len),
      .rsp_i(1'b0), .rsp_qpn_i('0), .rsp_path_i('0), .rsp_opcode_i('0), .rsp_len_i('0),
      .rchk_i(1'b0), .rchk_qpn_i('0), .rchk_limited_o(), .ask_valid(1'b0), .ask_ready(),
      .ask_qpn('0), .told_o(), .told_ok_o(),
      .chk_i(pace_chk), .chk_qpn_i(pace_chk_qpn), .chk_limited_o(pace_limited),
      .want_i(pace_want), .want_qpn_i(pace_want_qpn), .want_idle_i(pace_want_idle),
      .want_window_i(pace_want_window), .hurry_valid, .hurry_ready, .hurry_qpn,
      .go_valid, .go_ready, .go_qpn,
      .pace_lk_i(share_lk), .pace_lk_qpn_i(share_lk_qpn), .pace_o(pace), .cnt_paced_o(nc[30]));
  turn_share #(.N_QP(N_QP)) u_share (
      .clk_i, .rst_i, .init_done_o(done[5]), .weight_i(cw_valid), .weight_qpn_i(cw_qpn),
      .weight_value_i(cw.weight), .lk_i(share_lk), .lk_qpn_i(share_lk_qpn),
      .credit_o(share_credit), .debt_i(debt_valid), .debt_qpn_i(debt_qpn),
      .debt_value_i(debt_value));

  sq_scheduler #(.N_QP(N_QP), .N_WQE(N_WQE), .QP_CAP(QP_CAP)) u_sched (
      .clk_i, .rst_i, .init_done_o(done[1]), .db_valid, .db_ready, .db_qpn, .db_index, .bf_valid,
      .bf_ready, .bf,
      .sch_lk_valid, .sch_lk_ready, .sch_lk_qpn, .sch_ctx_valid, .sch_ctx,
      .qpi_valid(qpi_valid[0]), .qpi_ready(qpi_ready[0]), .qpi,
      .wqe_req_valid, .wqe_req_ready, .wqe_req_qpn, .wqe_req_index, .wqe_req_blocks, .wqe_req_avail,
      .fetch_done_valid, .fetch_done_ready, .fetch_done_qpn, .fetch_done_last, .fetch_done_next,
      .fetch_done_pushed,
      .bfw_valid, .bfw, .flush_valid, .flush_ready, .flush_qpn, .turn_valid, .turn_ready, .turn_qpn,
      .turn_done_valid, .turn_done_ready, .turn_done_qpn, .turn_done_more, .turn_done_blocked,
      .turn_done_popped, .turn_done_index, .turn_done_window,
      .pace_chk_o(pace_chk), .pace_chk_qpn_o(pace_chk_qpn), .pace_limited_i(pace_limited),
      .pace_want_o(pace_want), .pace_want_qpn_o(pace_want_qpn), .pace_want_idle_o(pace_want_idle),
      .pace_want_window_o(pace_want_window), .hurry_valid, .hurry_ready, .hurry_qpn,
      .go_valid, .go_ready, .go_qpn,
      .kick_valid, .kick_ready, .kick_qpn, .msg_room_i(msg_room),
      .qry_lk_valid, .qry_lk_ready, .qry_lk_qpn, .qry_valid, .qry_prod, .qry_fetch,
      .smp_valid_o(nc[16]), .smp_qpn_o(), .smp_hit_i(1'b0),
      .cnt_doorbells_o, .cnt_doorbell_refused_o, .cnt_bf_pushes_o, .cnt_bf_fallbacks_o,
      .trc_valid_o(nc[17]), .trc_o(), .trc_sampled_o(nc[18]),
      .rwq_valid, .rwq_ready, .rwq_qpn, .rwg_valid, .rwg_ready, .rwg_qpn, .rwd_valid, .rwd_ready,
      .rwd_qpn, .rwd_index);

  wqe_fetch_engine #(.DATA_W(DATA_W)) u_fetch (
      .clk_i, .rst_i, .wqe_req_valid, .wqe_req_ready, .wqe_req_qpn, .wqe_req_index,
      .wqe_req_blocks, .wqe_req_avail,
      .wf_lk_valid, .wf_lk_ready, .wf_lk_qpn, .wf_ctx_valid, .wf_ctx,
      .rdreq_valid(rd0_valid), .rdreq_ready(rd0_ready), .rdreq(rd0), .rdrsp_valid, .rdrsp,
      .rdrsp_data,
      .wqe_valid, .wqe_ready, .wqe,
      .fetch_done_valid, .fetch_done_ready, .fetch_done_qpn, .fetch_done_last, .fetch_done_next,
      .fetch_done_pushed,
      .smp_valid_o(nc[19]), .smp_take_o(nc[20]), .smp_qpn_o(), .smp_hit_i(1'b0),
      .cnt_wqe_fetched_o, .cnt_wqe_errors_o, .trc_valid_o(nc[21]), .trc_o(),
      .trc_sampled_o(nc[22]));

  logic        sh_lk_valid, sh_lk_ready, sh_valid, sh_ready, sh_empty, sh_last, sh_stop, sp_valid;
  logic [23:0] sh_lk_qpn, sp_qpn;
  wqe_store #(.N_QP(N_QP), .N_WQE(N_WQE)) u_store (
      .clk_i, .rst_i, .init_done_o(done[2]), .wqe_valid, .wqe_ready, .wqe, .bfw_valid, .bfw,
      .flush_valid, .flush_ready, .flush_qpn,
      .hd_lk_valid(sh_lk_valid), .hd_lk_ready(sh_lk_ready), .hd_lk_qpn(sh_lk_qpn),
      .hd_valid(sh_valid), .hd_ready(sh_ready), .hd_empty(sh_empty), .hd_last(sh_last), .hd(walk),
      .hd_stop_i(sh_stop),
      .pop_valid(sp_valid), .pop_qpn(sp_qpn));

  logic           mp_valid, mp_ready;
  logic [23:0]    mp_qpn;
  rnic_pkg::msg_t mp;
  sq_engine u_engine (
      .clk_i, .rst_i, .cfg_ack_req_every_i, .turn_valid, .turn_ready, .turn_qpn,
      .turn_done_valid, .turn_done_ready, .turn_done_qpn, .turn_done_more, .turn_done_blocked,
      .turn_done_popped, .turn_done_index, .turn_done_window,
      .share_lk_o(share_lk), .share_lk_qpn_o(share_lk_qpn), .pace_i(pace), .credit_i(share_credit),
      .pkt_o(), .pkt_qpn_o(), .pkt_path_o(), .hold_i(1'b0),
      .debt_o(debt_valid), .debt_qpn_o(debt_qpn), .debt_value_o(debt_value),
      .sq_lk_valid, .sq_lk_ready, .sq_lk_qpn, .sq_ctx_valid, .sq_ctx,
      .snd_lk_valid, .snd_lk_ready, .snd_lk_qpn, .snd_ctx_valid, .snd_ctx, .snd_wr_valid,
      .snd_wr_qpn, .snd_wr,
      .qpi_valid(qpi_valid[1]), .qpi_ready(qpi_ready[1]), .qpi,
      .hd_lk_valid(sh_lk_valid), .hd_lk_ready(sh_lk_ready), .hd_lk_qpn(sh_lk_qpn),
      .hd_valid(sh_valid), .hd_ready(sh_ready), .hd_empty(sh_empty), .hd_last(sh_last), .hd(walk),
      .hd_stop_o(sh_stop),
      .pop_valid(sp_valid), .pop_qpn(sp_qpn), .mrq_valid, .mrq_ready, .mrq, .mrs_valid, .mrs,
      .slot_valid, .slot_ready, .slot_id, .txp_valid, .txp_ready, .txp, .txp_slot,
      .inl_valid, .inl_ready, .inl_slot, .inl_data, .inl_len,
      .rdreq_valid(rd1_valid), .rdreq_ready(rd1_ready), .rdreq(rd1),
      .msg_push_valid(mp_valid), .msg_push_ready(mp_ready), .msg_push_qpn(mp_qpn), .msg_push(mp),
      .lerr_valid, .lerr_ready, .lerr_qpn, .lerr_index,
      .lerr_status,
      .cnt_msgs_posted_o, .cnt_tx_requests_o, .trc_valid_o(nc[23]), .trc_o(),
      .trc_sampled_o(nc[24]),
      .trc2_valid_o(nc[25]), .trc2_o(), .trc2_sampled_o(nc[26]),
      .rws_valid, .rws_ready, .rws, .rwd_valid, .rwd_ready, .rwd_qpn, .rwd_index, .arm_valid, .arm,
      .sqa_lk_valid, .sqa_lk_ready, .sqa_lk_qpn, .sqa_ctx_valid, .sqa_ctx, .msg_push_list(mp_list),
      .passed_valid, .passed_ready, .passed_qpn,
      .lop_valid, .lop_ready, .lop, .lop_done_valid, .lop_done_ok,
      .inv_valid, .inv_ready, .inv_qpn,
      .cnt_tx_resent_o, .cnt_tx_rd_requests_o, .pin_o(), .pin_qpn_o());

  msg_pool #(.N_QP(N_QP), .N_MSG(N_MSG)) u_pool (
      .clk_i, .rst_i, .init_done_o(done[3]), .msg_push_valid(mp_valid), .msg_push_ready(mp_ready),
      .msg_push_qpn(mp_qpn), .msg_push(mp), .msg_push_list(mp_list), .msg_room_o(msg_room),
      .passed_valid, .passed_ready, .passed_qpn, .hd_list,
      .hd_lk_valid, .hd_lk_ready, .hd_lk_qpn, .hd_valid, .hd_empty, .hd, .pop_valid, .pop_qpn,
      .nudge_valid, .nudge_ready, .nudge_qpn, .qpi_valid(qpi_valid[2]), .qpi_ready(qpi_ready[2]),
      .qpi);
endmodule
