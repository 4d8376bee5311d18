// SPDX-License-Identifier: Apache-2.0
// The acknowledged side of the requester: takes ACKs, NAKs, READ and ATOMIC responses, completes
// the messages they cover in posting order, decides what is sent again and when (go-back-N, RNR
// wait, time-outs, retry counters), places READ data, fails the QP and flushes what a failed QP has
// in flight. Owner of the acknowledged half of the context; reads the messages from msg_pool.
// Throughput: 4 cycles per ACK, 3 more per further message that it covers; a READ response of one
// piece 9 cycles, a whole READ of one packet 12, of different QPs in turns 10. Latency: 4 cycles
// from resp to the first completion. Order: completions of a QP leave in posting order, that of a
// READ behind its data.
// Local errors, answers of the scheduler, QP orders and timers go before responses; nudges, left
// packets and responses take turns. Ignored and counted: responses outside [oldest unacknowledged,
// first never sent), responses of QPs that do not send (rx_ghost_acks, rx_unknown_qp), wrong P_Key
// or addresses; their payload is discarded. Facts: roce.md section 3.
`include "rnic_assert.svh"
module rx_completer (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic                cfg_dcqcn_i,  // DCQCN is enabled: CNPs count
    input  logic [3:0]          cfg_int_unit_i,  // telemetry in other units is not used
    // responses and CNPs, from rx_dispatch
    input  logic                resp_valid,
    output logic                resp_ready,
    input  rnic_pkg::rx_meta_t  resp,
    // local errors, from tx_buffer and sq_engine
    input  logic                terr_valid,
    output logic                terr_ready,
    input  logic [23:0]         terr_qpn,
    input  logic [15:0]         terr_index,
    input  logic [7:0]          terr_status,
    // a message that needs no packet entered the pool
    input  logic                nudge_valid,
    output logic                nudge_ready,
    input  logic [23:0]         nudge_qpn,
    // QP orders
    input  logic                qpi_valid,
    output logic                qpi_ready,
    input  rnic_pkg::qp_init_t  qpi,
    // connection half
    output logic                cp_lk_valid,
    input  logic                cp_lk_ready,
    output logic [23:0]         cp_lk_qpn,
    input  logic                cp_ctx_valid,
    input  rnic_pkg::qp_conn_t  cp_ctx,
    // send half, to read only
    output logic                cps_lk_valid,
    input  logic                cps_lk_ready,
    output logic [23:0]         cps_lk_qpn,
    input  logic                cps_ctx_valid,
    input  rnic_pkg::qp_send_t  cps_ctx,
    // acknowledged half
    output logic                ack_lk_valid,
    input  logic                ack_lk_ready,
    output logic [23:0]         ack_lk_qpn,
    input  logic                ack_ctx_valid,
    input  rnic_pkg::qp_ack_t   ack_ctx,
    output logic                ack_wr_valid,
    output logic [23:0]         ack_wr_qpn,
    output rnic_pkg::qp_ack_t   ack_wr,
    // path, for the address check
    output logic                cpp_lk_valid,
    input  logic                cpp_lk_ready,
    output logic [15:0]         cpp_lk_index,
    input  logic                cpp_valid,
    input  rnic_pkg::path_t     cpp,
    // messages in flight
    output logic                hd_lk_valid,
    input  logic                hd_lk_ready,
    output logic [23:0]         hd_lk_qpn,
    input  logic                hd_valid,
    input  logic                hd_empty,
    input  rnic_pkg::msg_t      hd,
    input  logic [767:0]        hd_list,      // its local segments
    output logic                pop_valid,
    output logic [23:0]         pop_qpn,
    // completions, to cqe_gen
    output logic                cqe_valid,
    input  logic                cqe_ready,
    output rnic_pkg::cqe_req_t  cqe,
    output logic                fail_valid,
    input  logic                fail_ready,
    output rnic_pkg::qp_fail_t  fail,
    output logic                cnt_rx_ack_o,
    output logic                cnt_rx_nak_o,
    output logic                cnt_rx_ghost_acks_o,
    output logic                cnt_rx_unknown_qp_o,
    output logic                cnt_rx_pkey_errors_o,
    output logic                cnt_rx_addr_errors_o,
    output logic                cnt_msgs_completed_o,  // with it the message's, for arp_fsm
    output logic [23:0]         done_qpn_o,
    output logic [15:0]         done_index_o,          // first block behind its WQE
    output logic                cnt_msgs_flushed_o,
    output logic                trc_valid_o,
    output logic [63:0]         trc_o,
    output logic                trc_sampled_o,
    output logic                trc2_valid_o,
    output logic [63:0]         trc2_o,
    output logic                trc2_sampled_o,
    // rewind: stop the QP, it has stopped, go on from here
    output logic                rwq_valid,
    input  logic                rwq_ready,
    output logic [23:0]         rwq_qpn,
    input  logic                rwg_valid,
    output logic                rwg_ready,
    input  logic [23:0]         rwg_qpn,
    output logic                rws_valid,
    input  logic                rws_ready,
    output rnic_pkg::rewind_t   rws,
    // timers, to and from rc_timer
    output logic                tms_valid,
    output rnic_pkg::timer_set_t tms,
    input  logic                tmo_valid,
    output logic                tmo_ready,
    input  logic [23:0]         tmo_qpn,
    input  logic                tmo_rnr,
    // a LOCAL_INV has settled, from settle_share
    input  logic                settled_valid,
    output logic                settled_ready,
    input  logic [23:0]         settled_qpn,
    // a QP that waits for its READs or its LOCAL_INV may go on
    output logic                kick_valid,
    output logic [23:0]         kick_qpn,
    input  logic                kick_ready,
    // the last packet of a UC or UD message has left, from tx_buffer
    input  logic                left_valid,
    output logic                left_ready,
    input  logic [23:0]         left_qpn,
    input  logic [23:0]         left_psn,
    // a frame was spoiled on its way out
    input  logic                spoil_valid,
    output logic                spoil_ready,
    input  logic [23:0]         spoil_qpn,
    // READ and ATOMIC responses, to rx_placer
    output logic                cplace_valid,
    input  logic                cplace_ready,
    output rnic_pkg::rx_place_t cplace,
    output rnic_pkg::cqe_req_t  cplace_cqe,
    input  logic                rd_placed_i,  // a piece of it is on the bus
    output logic                mrq_valid,
    input  logic                mrq_ready,
    output rnic_pkg::mr_req_t   mrq,
    input  logic                mrs_valid,
    input  rnic_pkg::mr_rsp_t   mrs,
    // SQ_DRAINED, to event_queue
    output logic                ev_valid,
    input  logic                ev_ready,
    output rnic_pkg::event_t    ev,
    // a CNP for a QP has come, to cc_unit (pulse)
    output logic                cnp_valid_o,
    output logic [23:0]         cnp_qpn_o,
    // an ACK or NAK that counts brought telemetry, to cc_unit (pulse): PSNs that the peer expects
    // and that is sent next
    output logic                tele_valid_o,
    output logic [23:0]         tele_qpn_o, tele_psn_o, tele_next_psn_o,
    output rnic_pkg::telemetry_t tele_o,
    output logic                cnt_int_unused_o,
    // a READ or ATOMIC response of a connection came with the CE mark, to cnp_gen (pulse)
    output logic                marked_valid_o,
    output rnic_pkg::marked_t   marked_o,
    output logic                cnt_cnp_handled_o,
    output logic                cnt_cnp_ignored_o,
    output logic                cnt_rx_rd_responses_o,
    output logic                cnt_rx_rd_bad_o,
    output logic                cnt_rewinds_o,
    output logic                cnt_ack_timeouts_o,
    output logic                cnt_rnr_waits_o,
    output logic                cnt_implied_naks_o,
    output logic                cnt_tx_spoiled_o,
    // the QP whose context is in use
    output logic                pin_o,
    output logic [23:0]         pin_qpn_o
);
  typedef enum logic [3:0] {
    LOOK, CONTEXT, PATH, EVAL, HEAD, ACT, PLACE, CLOSE, TELL, SETTLE
  } state_e;
  state_e state_q, state_d;
  // as in cpl_work
  localparam logic [3:0] W_PACKET = 4'd0;
  localparam logic [3:0] W_LEFT = 4'd1;
  localparam logic [3:0] W_NUDGE = 4'd2;
  localparam logic [3:0] W_TERR = 4'd3;
  localparam logic [3:0] W_ORDER = 4'd4;
  localparam logic [3:0] W_TIMER = 4'd5;
  localparam logic [3:0] W_STOPPED = 4'd6;
  localparam logic [3:0] W_SPOIL = 4'd7;
  localparam logic [3:0] W_PLACED = 4'd8;
  localparam logic [3:0] W_SETTLED = 4'd9;
  // as in cpl_judge, and one more
  localparam logic [2:0] A_NONE = 3'd0;
  localparam logic [2:0] A_SEQ = 3'd1;
  localparam logic [2:0] A_RNR = 3'd2;
  localparam logic [2:0] A_FATAL = 3'd3;
  localparam logic [2:0] A_DATA = 3'd4;
  localparam logic [2:0] A_TIMEOUT = 3'd5;
  localparam logic [2:0] A_SPOIL = 3'd6;
  // Cycles after rws in which sq_engine applies it: no new lookup of the send half meanwhile.
  localparam logic [3:0] SETTLE_CYCLES = 4'd8;

  // -- taking work
  logic any, take, lk_ready, look;
  logic [3:0] work_d, work_q;
  logic placed_valid, placing, done_room;
  logic [23:0] placed_qpn;
  logic [23:0] look_qpn, qpn_q;
  cpl_work u_work (
      .clk_i,
      .rst_i,
      .placed_valid_i(placed_valid),
      .placed_qpn_i(placed_qpn),
      .placing_i(placing),
      .settled_valid_i(settled_valid),
      .settled_qpn_i(settled_qpn),
      .terr_valid_i(terr_valid),
      .terr_qpn_i(terr_qpn),
      .rwg_valid_i(rwg_valid),
      .rwg_qpn_i(rwg_qpn),
      .qpi_valid_i(qpi_valid),
      .qpi_qpn_i(qpi.qpn),
      .tmo_valid_i(tmo_valid),
      .tmo_qpn_i(tmo_qpn),
      .spoil_valid_i(spoil_valid),
      .spoil_qpn_i(spoil_qpn),
      .nudge_valid_i(nudge_valid),
      .nudge_qpn_i(nudge_qpn),
      .left_valid_i(left_valid),
      .left_qpn_i(left_qpn),
      // A READ that ends needs a place among those whose data are on the way.
      .resp_valid_i(resp_valid && done_room),
      .resp_qpn_i(resp.dest_qpn),
      .any_o(any),
      .kind_o(work_d),
      .qpn_o(look_qpn),
      .take_i(take)
  );
  // A work that ends quietly gives its last cycle to the lookups of the next one, of another QP.
  logic last_cycle, note_go, passes_on;
  assign passes_on = last_cycle && look_qpn != qpn_q;
  assign look = (state_q == LOOK || passes_on) && any;
  assign lk_ready = cp_lk_ready && cps_lk_ready && ack_lk_ready && hd_lk_ready;
  assign take = look && lk_ready;
  assign resp_ready = take && work_d == W_PACKET;
  assign left_ready = take && work_d == W_LEFT;
  assign terr_ready = take && work_d == W_TERR;
  assign nudge_ready = take && work_d == W_NUDGE;
  assign tmo_ready = take && work_d == W_TIMER;
  assign rwg_ready = take && work_d == W_STOPPED;
  assign spoil_ready = take && work_d == W_SPOIL;
  assign settled_ready = take && work_d == W_SETTLED;
  // Lookups go out together; each waits for the others' ready, never for its own.
  logic again;  // the send half once more, see the timer
  assign cp_lk_valid = look && cps_lk_ready && ack_lk_ready && hd_lk_ready;
  assign cps_lk_valid = (look && cp_lk_ready && ack_lk_ready && hd_lk_ready) || again;
  assign ack_lk_valid = look && cp_lk_ready && cps_lk_ready && hd_lk_ready;
  // A note needs no message: an answer for it would come after its end.
  assign hd_lk_valid = (look && cp_lk_ready && cps_lk_ready && ack_lk_ready &&
      work_d != W_PLACED && work_d != W_SETTLED) || state_q == HEAD;
  assign cp_lk_qpn = look_qpn;
  assign cps_lk_qpn = again ? qpn_q : look_qpn;
  assign ack_lk_qpn = look_qpn;
  assign hd_lk_qpn = (state_q == HEAD) ? qpn_q : look_qpn;

  rnic_pkg::rx_meta_t m_q;
  logic [15:0] terr_index_q;
  logic [7:0] terr_status_q;
  logic [23:0] left_psn_q;
  logic tmo_rnr_q;
  always_ff @(posedge clk_i) begin
    if (take) begin
      work_q <= work_d;
      qpn_q <= look_qpn;
      if (work_d == W_TERR) begin
        terr_index_q <= terr_index;
        terr_status_q <= terr_status;
      end
      if (work_d == W_LEFT) left_psn_q <= left_psn;
      if (work_d == W_TIMER) tmo_rnr_q <= tmo_rnr;
      if (work_d == W_PACKET) m_q <= resp;
    end
  end

  // -- contexts as they come in
  rnic_pkg::qp_conn_t c_q;
  rnic_pkg::qp_ack_t a_q;
  rnic_pkg::qp_ack_t a_now;
  rnic_pkg::msg_t h_q;
  logic [767:0] list_q;
  logic [23:0] next_psn_q, max_psn_q;
  logic [15:0] at_index_q;
  logic in_msg_q, send_failed_q, again_q, send_valid;
  logic have_c_q, have_a_q, have_s_q, have_h_q, empty_q, have_ctx;
  assign send_valid = cps_ctx_valid && !again_q;  // answers come in order
  assign have_ctx = (cp_ctx_valid || have_c_q) && (ack_ctx_valid || have_a_q) &&
      (send_valid || have_s_q);
  assign cpp_lk_valid = state_q == CONTEXT && have_ctx && work_q == W_PACKET;
  assign cpp_lk_index = cp_ctx_valid ? cp_ctx.path : c_q.path;

  // -- what the work says
  logic bad_qp, bad_pkey, bad_addr, good, is_nak, sending, order_clear, order_rts, order_err;
  logic order_kick, order_resume, at_path, is_data, left_good, is_cnp;
  logic [23:0] j_cover, j_reach, left_past, left_to;
  logic [2:0] j_act;
  logic [7:0] j_status;
  cpl_judge u_judge (
      .m_i(m_q),
      .c_i(c_q),
      .failed_i(a_q.failed),
      .una_i(a_q.una_psn),
      .next_i(next_psn_q),
      .max_i(max_psn_q),
      .path_i(cpp),
      .bad_qp_o(bad_qp),
      .bad_addr_o(bad_addr),
      .bad_pkey_o(bad_pkey),
      .cnp_o(is_cnp),
      .good_o(good),
      .is_nak_o(is_nak),
      .cover_o(j_cover),
      .reach_o(j_reach),
      .act_o(j_act),
      .status_o(j_status)
  );
  assign at_path = state_q == PATH && (cpp_valid || work_q != W_PACKET);
  assign sending = c_q.exists && (c_q.state == rnic_pkg::QPS_RTS ||
      c_q.state == rnic_pkg::QPS_SQD);
  assign order_clear = work_q == W_ORDER && qpi.op == rnic_pkg::QPI_CLEAR;
  assign order_rts = work_q == W_ORDER && qpi.op == rnic_pkg::QPI_RTS;
  assign order_err = work_q == W_ORDER && qpi.op == rnic_pkg::QPI_ERR;
  assign order_kick = work_q == W_ORDER && qpi.op == rnic_pkg::QPI_KICK;
  assign order_resume = work_q == W_ORDER && qpi.op == rnic_pkg::QPI_RESUME;
  // Responses for which rx_dispatch told rx_placer that we decide.
  assign is_data = (m_q.opcode >= roce_pkg::OP_READ_RESP_FIRST && m_q.opcode <=
      roce_pkg::OP_READ_RESP_ONLY) || m_q.opcode == roce_pkg::OP_ATOMIC_ACK;
  assign left_past = left_psn_q - a_q.una_psn;
  assign left_to = max_psn_q - left_psn_q;
  assign left_good = c_q.qtype != 2'd0 && sending && !a_q.failed && !left_past[23] &&
      !left_to[23] && left_to != 24'd0;

  // A local error of a QP that has not failed: what was sent before it may still complete. Not in a
  // rewind: nothing can be sent again.
  logic new_terr, none_open;
  assign new_terr = work_q == W_TERR && sending && !a_q.failed && !a_q.dying;
  assign none_open = a_q.una_psn == max_psn_q;

  // -- working state of the QP at hand
  logic cover_q, failed_q, fail_q, write_q, walk_q, force_q, rd_ok_q, blamed_q, dying_q;
  logic rewinding_q, stopped_q, rnr_wait_q, restart_q, resumed_q, off_host_q, long_q;
  logic rwq_q, rnr_go_q, discard_q, local_waits_q, from_aeth_q, sqd_q, drained_q, fail_quiet_q;
  logic implied_q, progress_q, d_last_q, pass_q, soft_q, rd_moved_q;
  logic [2:0] act_q, retry_used_q, rnr_used_q, rd_seg_q;
  logic [7:0] force_status_q, fail_status_q, rd_comp_q, err_status_q;
  logic [15:0] err_index_q;
  logic [23:0] cover_psn_q, reach_q, una_q;
  logic [31:0] rd_off_q;

  // -- the walk
  logic h_have, h_empty, in_eval, covered, stop, retire, ok, room, put_ready, last_covered;
  logic is_local, is_wire, is_rd, is_err, passed, over, lost, quick, implied, progress;
  rnic_pkg::msg_t h;
  logic [23:0] beyond, first_gap, limit, cover_next, past_limit, una_d, reach_gap;
  logic [15:0] err_gap, at_gap;
  logic [7:0] h_status;
  assign h_have = hd_valid || have_h_q;
  assign h = hd_valid ? hd : h_q;
  assign h_empty = hd_valid ? hd_empty : empty_q;
  assign in_eval = state_q == EVAL && h_have;
  assign is_local = h.kind == rnic_pkg::MSG_LOCAL || h.kind == rnic_pkg::MSG_FAILED;
  assign is_rd = h.kind == rnic_pkg::MSG_READ || h.kind == rnic_pkg::MSG_ATOMIC;
  assign is_wire = !is_local && !is_rd;
  assign beyond = cover_psn_q - h.last_psn;
  assign covered = cover_q && is_wire && !beyond[23];
  assign last_covered = covered && beyond == 24'd0;
  assign is_err = dying_q && h.wqe_index == err_index_q && !covered && !rd_ok_q && !is_local;
  assign err_gap = h.wqe_index - err_index_q;
  // The message that failed is not in the pool any more: it was acknowledged after all.
  assign lost = dying_q && (h_empty || (!err_gap[15] && err_gap != 16'd0));
  assign ok = !failed_q && !force_q && !is_err &&
      (covered || rd_ok_q || h.kind == rnic_pkg::MSG_LOCAL);
  always_comb begin
    h_status = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    if (ok) h_status = rnic_desc_pkg::CQE_STATUS_SUCCESS;
    else if (blamed_q) h_status = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    else if (force_q) h_status = force_status_q;
    else if (h.kind == rnic_pkg::MSG_FAILED) h_status = h.status;
    else if (is_err) h_status = err_status_q;
  end
  // A message without packets waits until a replay has passed it: its WQE may still be fetched. Not
  // when the QP has stopped or fails.
  assign at_gap = at_index_q - h.wqe_index;
  assign passed = pass_q || (!at_gap[15] && at_gap != 16'd0);
  // The head's time has come.
  assign over = walk_q && (failed_q || covered || rd_ok_q || force_q || is_err ||
      h.kind == rnic_pkg::MSG_FAILED || (h.kind == rnic_pkg::MSG_LOCAL && passed));
  assign room = put_ready || (ok && (rd_ok_q || !h.signaled));
  assign retire = in_eval && !h_empty && over && room;
  assign stop = in_eval && (h_empty || !over);
  assign pop_valid = retire;
  assign pop_qpn = qpn_q;

  // How far the packet acknowledges: a READ or ATOMIC ends it at its first missing response.
  assign cover_next = cover_psn_q + 24'd1;
  assign first_gap = una_q - h.first_psn;
  assign limit = first_gap[23] ? h.first_psn : una_q;
  assign past_limit = cover_next - limit;
  always_comb begin
    una_d = cover_q ? cover_next : una_q;
    if (cover_q && stop && !h_empty && is_rd && !past_limit[23]) una_d = limit;
  end
  assign reach_gap = h.last_psn - reach_q;
  // Responses of a READ or ATOMIC were lost.
  assign implied = cover_q && work_q == W_PACKET && !h_empty && is_rd && reach_gap[23];
  assign progress = una_d != a_q.una_psn;

  // quick: the message ends exactly at the ACK and is the last, unless one without packets may
  // stand behind it. finish: the work ends at once, nothing else is to be done or said.
  logic finish, finish_try, go_rws, close, close_ready;
  assign quick = retire && ok && (last_covered || rd_ok_q) && act_q == A_NONE && !local_waits_q &&
      !sqd_q && !dying_q;
  assign go_rws = rewinding_q && stopped_q && (!rnr_wait_q || failed_q);
  assign finish_try = !fail_q && !sqd_q && !dying_q && !discard_q && !rd_moved_q &&
      ((quick && !is_rd) || (stop && !failed_q && act_q == A_NONE && !implied)) &&
      (work_q == W_PACKET || work_q == W_LEFT || work_q == W_NUDGE);
  assign finish = finish_try && close_ready;
  // A message without packets stays behind one that waits for its ACK.
  logic local_waits_d;
  assign local_waits_d = stop ? !h_empty && (local_waits_q || work_q == W_NUDGE) : local_waits_q;

  // -- the decision at the oldest message not covered
  logic r_ignore, r_exhausted, r_die, r_rewind, r_wait, acting, r_rnr;
  logic [2:0] r_retry_used, r_rnr_used;
  assign acting = state_q == ACT;
  assign r_rnr = act_q == A_RNR && !implied_q;
  cpl_retry u_retry (
      .rnr_i(r_rnr),
      .implied_i(implied_act),
      .spoil_i(act_q == A_SPOIL),
      .timeout_i(act_q == A_TIMEOUT),
      .progress_i(progress_q),
      .rewinding_i(rewinding_q),
      .rnr_wait_i(rnr_wait_q),
      .restart_i(restart_q),
      .dying_i(dying_q),
      .soft_i(soft_q),
      .retry_used_i(retry_used_q),
      .rnr_used_i(rnr_used_q),
      .retry_cnt_i(c_q.retry_cnt),
      .rnr_retry_i(c_q.rnr_retry),
      .ignore_o(r_ignore),
      .exhausted_o(r_exhausted),
      .die_o(r_die),
      .rewind_o(r_rewind),
      .wait_o(r_wait),
      .retry_used_o(r_retry_used),
      .rnr_used_o(r_rnr_used)
  );

  // A response of the READ or ATOMIC at the head.
  logic d_here, d_first, d_last, d_read, d_ahead, d_wrong, d_bad, d_place;
  logic act_retry, act_fatal, implied_act;
  logic [7:0] d_status;
  cpl_data u_data (
      .opcode_i(m_q.opcode),
      .psn_i(reach_q),
      .len_i(m_q.payload_len),
      .kind_i(h_q.kind),
      .first_i(h_q.first_psn),
      .last_i(h_q.last_psn),
      .bytes_i(h_q.bytes),
      .una_i(una_q),
      .mtu_i(c_q.mtu),
      .resumed_i(resumed_q),
      .read_o(d_read),
      .is_first_o(d_first),
      .is_last_o(d_last),
      .ahead_o(d_ahead),
      .bad_o(d_wrong),
      .status_o(d_status)
  );
  assign d_here = act_q == A_DATA && !implied_q && !empty_q;
  assign d_bad = d_here && d_wrong;
  assign d_place = acting && d_here && !d_wrong && !d_ahead;
  assign implied_act = implied_q || (d_here && !d_wrong && d_ahead);
  assign act_fatal = acting && !implied_q && !empty_q && (act_q == A_FATAL || d_bad);
  assign act_retry = acting && !empty_q && (implied_act || act_q == A_SEQ || act_q == A_RNR ||
      act_q == A_TIMEOUT || act_q == A_SPOIL);

  // -- placement
  logic rd_done, rd_ok, rd_off_host, piece_valid, piece_ready, piece_last, piece_write, last_piece;
  logic [2:0] rd_seg;
  logic [31:0] rd_off;
  logic [12:0] piece_len;
  logic [63:0] piece_addr, piece_data;
  logic [1:0] piece_target, piece_gpu;
  cpl_read u_read (
      .clk_i,
      .rst_i,
      .start_i(d_place),
      .list_i(list_q),
      .seg_cnt_i(h_q.seg_cnt),
      .seg_i(d_first ? 3'd0 : rd_seg_q),
      .off_i(d_first ? 32'd0 : rd_off_q),
      .len_i(d_read ? m_q.payload_len : 13'd8),
      .atomic_i(!d_read),
      .op_i(m_q.op0),
      .pd_i(c_q.pd),
      .done_o(rd_done),
      .ok_o(rd_ok),
      .off_host_o(rd_off_host),
      .seg_o(rd_seg),
      .off_o(rd_off),
      .mrq_valid,
      .mrq_ready,
      .mrq,
      .mrs_valid,
      .mrs,
      .piece_valid,
      .piece_ready,
      .piece_last,
      .piece_write,
      .piece_len,
      .piece_addr,
      .piece_target,
      .piece_gpu,
      .piece_data
  );
  assign last_piece = piece_last && rd_ok && d_last_q && h_q.signaled;

  always_ff @(posedge clk_i) begin
    if (cp_ctx_valid) c_q <= cp_ctx;
    if (ack_ctx_valid) a_q <= ack_ctx;
    if (send_valid) begin
      next_psn_q <= cps_ctx.next_psn;
      max_psn_q <= cps_ctx.max_psn;
      in_msg_q <= cps_ctx.in_msg;
      at_index_q <= cps_ctx.at_index;
      send_failed_q <= cps_ctx.failed;
    end
    if (hd_valid) begin
      h_q <= hd;
      empty_q <= hd_empty;
      if (!hd_empty && (hd.kind == rnic_pkg::MSG_READ || hd.kind == rnic_pkg::MSG_ATOMIC))
        list_q <= hd_list;
    end
    have_c_q <= (have_c_q || cp_ctx_valid) && state_q != LOOK && !take;
    have_a_q <= (have_a_q || ack_ctx_valid) && state_q != LOOK && !take;
    have_s_q <= (have_s_q || send_valid) && state_q != LOOK && !take;
    have_h_q <= (have_h_q || hd_valid) && state_q != LOOK && !take && state_q != HEAD && !retire;

    if (at_path) begin
      cover_q <= (work_q == W_PACKET && good) || (work_q == W_LEFT && left_good);
      cover_psn_q <= (work_q == W_LEFT) ? left_psn_q : j_cover;
      reach_q <= j_reach;
      una_q <= a_q.una_psn;
      act_q <= A_NONE;
      if (work_q == W_PACKET && good) act_q <= j_act;
      // A time-out means nothing when everything is acknowledged, unless the QP waits for its end.
      if (work_q == W_TIMER && !tmo_rnr_q && sending && !a_q.failed &&
          ((c_q.qtype == 2'd0 && !none_open) || a_q.dying))
        act_q <= A_TIMEOUT;
      if (work_q == W_SPOIL && sending && c_q.qtype == 2'd0 && !a_q.failed && !none_open)
        act_q <= A_SPOIL;
      force_q <= 1'b0;
      force_status_q <= j_status;
      from_aeth_q <= work_q == W_PACKET;
      rd_ok_q <= 1'b0;
      // CLEAR, RTR and RTS only set the half; msg_pool forgets the messages of a QP
      // that is reset by itself.
      walk_q <= work_q != W_ORDER || order_err || order_kick || order_resume;
      failed_q <= a_q.failed || (new_terr && a_q.rewinding) || order_err;
      fail_q <= new_terr && a_q.rewinding;
      fail_quiet_q <= 1'b0;
      fail_status_q <= terr_status_q;
      dying_q <= a_q.dying || new_terr;
      soft_q <= send_failed_q && !a_q.failed;
      err_index_q <= new_terr ? terr_index_q : a_q.err_index;
      err_status_q <= new_terr ? terr_status_q : a_q.err_status;
      blamed_q <= a_q.blamed;
      rewinding_q <= a_q.rewinding;
      stopped_q <= a_q.stopped || (work_q == W_STOPPED && a_q.rewinding);
      rnr_wait_q <= a_q.rnr_wait && !(work_q == W_TIMER && tmo_rnr_q);
      restart_q <= a_q.restart;
      resumed_q <= a_q.resumed;
      off_host_q <= a_q.off_host;
      long_q <= a_q.long_way;
      retry_used_q <= a_q.retry_used;
      rnr_used_q <= a_q.rnr_used;
      rd_seg_q <= a_q.rd_seg;
      rd_off_q <= a_q.rd_off;
      rd_comp_q <= a_q.rd_comp;
      local_waits_q <= a_q.local_waits;
      sqd_q <= c_q.state == rnic_pkg::QPS_SQD;
      drained_q <= a_q.drained && c_q.state == rnic_pkg::QPS_SQD;
      rwq_q <= 1'b0;
      rnr_go_q <= 1'b0;
      discard_q <= work_q == W_PACKET && is_data;
      write_q <= (work_q == W_PACKET && good) || (work_q == W_LEFT && left_good) ||
          (work_q != W_PACKET && work_q != W_LEFT && work_q != W_NUDGE);
      implied_q <= 1'b0;
      progress_q <= 1'b0;
      rd_moved_q <= 1'b0;
      pass_q <= (work_q == W_PACKET && good && j_act == A_FATAL) || (a_q.rewinding &&
          (work_q == W_STOPPED ? !a_q.rnr_wait : work_q == W_TIMER && tmo_rnr_q && a_q.stopped));
    end
    if (retire) begin
      if (!ok) begin
        // The first failure fails the QP.
        failed_q <= 1'b1;
        write_q <= 1'b1;
        if (!failed_q && h_status != rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR) begin
          fail_q <= 1'b1;
          fail_status_q <= h_status;
          fail_quiet_q <= h.kind == rnic_pkg::MSG_FAILED;
        end
        if (h_status != rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR) begin
          blamed_q <= 1'b1;
          if (fail_q) fail_status_q <= h_status;
        end
      end
      force_q <= 1'b0;
      if (is_rd) begin
        rd_ok_q <= 1'b0;
        rd_comp_q <= rd_comp_q + 8'd1;
        write_q <= 1'b1;
        resumed_q <= 1'b0;
        off_host_q <= 1'b0;
      end
    end
    if (stop || (quick && retire)) begin
      local_waits_q <= local_waits_d;
      if (local_waits_d != a_q.local_waits) write_q <= 1'b1;
      una_q <= una_d;
      cover_q <= 1'b0;
      progress_q <= progress;
      if (progress) begin
        retry_used_q <= 3'd0;
        rnr_used_q <= 3'd0;
        restart_q <= 1'b0;
      end
      implied_q <= implied;
    end
    if (stop && act_q == A_NONE && !implied && !failed_q && lost) begin
      failed_q <= 1'b1;
      fail_q <= 1'b1;
      fail_status_q <= err_status_q;
    end
    if (acting) begin
      act_q <= A_NONE;
      implied_q <= 1'b0;
      if (act_fatal) begin
        force_q <= 1'b1;
        if (d_bad) begin
          from_aeth_q <= 1'b0;
          force_status_q <= d_status;
        end
      end else if (act_retry) begin
        if (r_exhausted && h_q.kind == rnic_pkg::MSG_LOCAL) begin
          pass_q <= 1'b1;  // complete, the message behind it fails
          act_q <= act_q;
        end else if (r_exhausted) begin
          force_q <= 1'b1;
          force_status_q <= r_rnr ? rnic_desc_pkg::CQE_STATUS_RNR_RETRY_EXC_ERR :
              rnic_desc_pkg::CQE_STATUS_RETRY_EXC_ERR;
          if (implied_act) from_aeth_q <= 1'b0;
        end else if (r_die) begin
          failed_q <= 1'b1;
          fail_q <= 1'b1;
          fail_status_q <= dying_q ? err_status_q : rnic_desc_pkg::CQE_STATUS_RETRY_EXC_ERR;
        end else begin
          retry_used_q <= r_retry_used;
          rnr_used_q <= r_rnr_used;
        end
        if (r_rewind) begin
          rwq_q <= 1'b1;
          rewinding_q <= 1'b1;
          stopped_q <= 1'b0;
          if (implied_act) restart_q <= 1'b1;
        end
        if (r_wait) begin
          rnr_wait_q <= 1'b1;
          rnr_go_q <= 1'b1;
        end
      end
      d_last_q <= d_last;
    end
    if (rd_done) begin
      discard_q <= 1'b0;
      rd_moved_q <= 1'b1;
      if (rd_ok) begin
        una_q <= una_q + 24'd1;
        progress_q <= 1'b1;
        retry_used_q <= 3'd0;
        rnr_used_q <= 3'd0;
        restart_q <= 1'b0;
        rd_seg_q <= rd_seg;
        rd_off_q <= rd_off;
        rd_ok_q <= d_last_q;
        off_host_q <= off_host_q || rd_off_host;
        long_q <= 1'b1;
      end else begin
        force_q <= 1'b1;
        force_status_q <= rnic_desc_pkg::CQE_STATUS_LOC_PROT_ERR;
        from_aeth_q <= 1'b0;
      end
    end
    if (state_q == CLOSE && close) begin
      fail_q <= 1'b0;
      rwq_q <= 1'b0;
    end
  end

  // -- a note: a count of the half and a kick, nothing else
  logic is_note, kick_room;
  logic [1:0] kick_level;
  assign is_note = work_q == W_PLACED || work_q == W_SETTLED;
  assign note_go = state_q == CONTEXT && is_note && have_ctx && kick_room;
  assign a_now = ack_ctx_valid ? ack_ctx : a_q;
  stream_fifo_small #(.W(24), .DEPTH(2), .LATENCY(1)) u_kick (
      .clk_i,
      .rst_i,
      .in_valid(note_go),
      .in_ready(kick_room),
      .in_data(qpn_q),
      .out_valid(kick_valid),
      .out_ready(kick_ready),
      .out_data(kick_qpn),
      .level_o(kick_level)
  );

  // -- the end of a work: half, timer, messages to others
  logic drained, dead;
  assign dead = failed_q || order_clear || order_rts;
  assign drained = sqd_q && !failed_q && walk_q && empty_q && !in_msg_q && !drained_q && una_q ==
      max_psn_q;
  assign close = finish || (state_q == CLOSE && close_ready);
  assign ack_wr_valid = note_go || (close && (write_q || drained || (finish && local_waits_d !=
      a_q.local_waits)));
  assign ack_wr_qpn = qpn_q;
  always_comb begin
    ack_wr = a_q;
    if (note_go) begin
      ack_wr = a_now;
      if (work_q == W_PLACED) ack_wr.rd_done = a_now.rd_done + 8'd1;
      else ack_wr.inv_done = !a_now.inv_done;
    end else if (finish) begin
      ack_wr.local_waits = local_waits_d;
      ack_wr.una_psn = una_d;
      if (progress) begin
        ack_wr.retry_used = 3'd0;
        ack_wr.rnr_used = 3'd0;
        ack_wr.restart = 1'b0;
      end
    end else begin
      ack_wr.local_waits = local_waits_q && !failed_q;
      ack_wr.una_psn = una_q;
      ack_wr.failed = failed_q;
      ack_wr.rd_comp = rd_comp_q;
      ack_wr.rewinding = rewinding_q && !go_rws;
      ack_wr.stopped = stopped_q && !go_rws;
      ack_wr.rnr_wait = rnr_wait_q && !failed_q;
      ack_wr.retry_used = retry_used_q;
      ack_wr.rnr_used = rnr_used_q;
      ack_wr.rd_seg = rd_seg_q;
      ack_wr.rd_off = rd_off_q;
      ack_wr.off_host = off_host_q;
      ack_wr.long_way = long_q;
      ack_wr.restart = restart_q;
      // A READ that is asked for again in its middle may be answered with other opcodes.
      ack_wr.resumed = resumed_q || (go_rws && !failed_q && !empty_q && h_q.kind ==
          rnic_pkg::MSG_READ && una_q != h_q.first_psn);
      ack_wr.blamed = blamed_q;
      ack_wr.dying = dying_q;
      ack_wr.err_index = err_index_q;
      ack_wr.err_status = err_status_q;
      ack_wr.drained = drained_q || drained;
      // SQE to RTS: everything was flushed, what comes now is new.
      if (order_resume) begin
        ack_wr.una_psn = max_psn_q;
        ack_wr.failed = 1'b0;
        ack_wr.blamed = 1'b0;
        ack_wr.dying = 1'b0;
      end
      if (order_clear || order_rts) begin
        ack_wr = '0;
        if (order_rts) ack_wr.una_psn = qpi.psn;
      end
    end
  end
  assign qpi_ready = close && work_q == W_ORDER;

  logic want_again;
  assign close_ready = !want_again || cps_lk_ready;
  cpl_timer u_timer (
      .clk_i,
      .rst_i,
      .qpn_i(qpn_q),
      .rc_i(c_q.qtype == 2'd0),
      .timeout_i(c_q.timeout),
      .rnr_code_i(m_q.syndrome[4:0]),
      .progress_i((state_q == EVAL) ? progress : progress_q),
      .una_i((state_q == EVAL) ? una_d : una_q),
      .max_i(max_psn_q),
      .dead_i(dead),
      .newly_dead_i(write_q && (failed_q != a_q.failed || work_q == W_ORDER)),
      .rnr_go_i(rnr_go_q),
      .rnr_wait_i(rnr_wait_q),
      .dying_i(dying_q || (soft_q && c_q.timeout == 5'd0)),
      .terr_i(work_q == W_TERR || (work_q == W_NUDGE && soft_q && !dying_q)),
      .go_rws_i(go_rws),
      .empty_i(empty_q),
      .close_i(close),
      .ask_i(finish_try || state_q == CLOSE),
      .cps_lk_ready,
      .want_o(want_again),
      .again_o(again),
      .waits_o(again_q),
      .cps_ctx_valid,
      .cps_max_i(cps_ctx.max_psn),
      .tms_valid,
      .tms
  );

  // What others hear.
  logic quiet, told, rws_said_q, discard_valid, discard_fire;
  logic [3:0] settle_q;
  rnic_pkg::rewind_t rewind;
  assign rewind = {qpn_q, empty_q || failed_q, h_q.wqe_index, una_q, una_q - h_q.first_psn,
      rd_comp_q};
  assign quiet = !fail_q && !(rwq_q && !failed_q) && !go_rws && !drained && !discard_q;
  assign last_cycle = note_go || (state_q == CLOSE && quiet && !want_again && work_q != W_ORDER);
  cpl_tell u_tell (
      .clk_i,
      .rst_i,
      .go_i(close && !finish),
      .do_fail_i(fail_q),
      .do_rwq_i(rwq_q && !failed_q),
      .do_rws_i(go_rws && !order_clear && !order_rts),
      .do_ev_i(drained),
      .do_discard_i(discard_q),
      .qpn_i(qpn_q),
      .cause_i(fail_status_q),
      .quiet_i(fail_quiet_q),
      .rewind_i(rewind),
      .fail_valid,
      .fail_ready,
      .fail,
      .rwq_valid,
      .rwq_ready,
      .rwq_qpn,
      .rws_valid,
      .rws_ready,
      .rws,
      .ev_valid,
      .ev_ready,
      .ev,
      .discard_valid,
      .discard_ready(discard_fire),
      .told_o(told)
  );
  always_ff @(posedge clk_i) begin
    if (close && !finish) rws_said_q <= go_rws;
    settle_q <= (state_q == SETTLE) ? settle_q - 4'd1 : SETTLE_CYCLES;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      LOOK: state_d = LOOK;
      CONTEXT:
      if (is_note) state_d = note_go ? LOOK : CONTEXT;
      else if (have_ctx && (cpp_lk_ready || work_q != W_PACKET)) state_d = PATH;
      PATH: if (at_path) state_d = EVAL;
      EVAL:
      if (finish) state_d = LOOK;
      else if (quick) state_d = CLOSE;
      else if (stop) begin
        if (!failed_q && (act_q != A_NONE || implied)) state_d = ACT;
        else if (!failed_q && lost) state_d = EVAL;
        else state_d = CLOSE;
      end else if (retire) state_d = HEAD;
      HEAD: if (hd_lk_ready) state_d = EVAL;
      ACT:
      if (d_place) state_d = PLACE;
      else if (act_fatal || (act_retry && (r_exhausted || r_die))) state_d = EVAL;
      else state_d = CLOSE;
      PLACE: if (rd_done) state_d = (rd_ok && !d_last_q) ? CLOSE : EVAL;
      CLOSE: if (close) state_d = quiet ? LOOK : TELL;
      TELL: if (told) state_d = rws_said_q ? SETTLE : LOOK;
      SETTLE: if (settle_q == 4'd0) state_d = LOOK;
      default: state_d = LOOK;
    endcase
    if (take) state_d = CONTEXT;
  end

  // -- completions
  rnic_pkg::cqe_req_t cqe_in;
  rnic_pkg::msg_t e;  // the message that completes
  logic put_valid, in_tell, out_piece_ready, piece_any;
  assign e = (state_q == PLACE) ? h_q : h;
  // The completion of a READ or ATOMIC went with its last piece.
  assign put_valid = retire && (h.signaled || !ok) && !(ok && rd_ok_q);
  always_comb begin
    cqe_in = '0;
    cqe_in.cqn = c_q.send_cqn;
    cqe_in.qpn = qpn_q;
    cqe_in.opcode = rnic_desc_pkg::CQE_OPCODE_REQ;
    cqe_in.status = rnic_desc_pkg::CQE_STATUS_SUCCESS;
    if (state_q == EVAL && !ok) begin
      cqe_in.opcode = rnic_desc_pkg::CQE_OPCODE_REQ_ERR;
      cqe_in.status = h_status;
      if (force_q && from_aeth_q && !blamed_q) cqe_in.syndrome = m_q.syndrome;
    end
    cqe_in.wqe_index = e.wqe_index;
    cqe_in.byte_count = e.bytes;
    cqe_in.fence = state_q == PLACE && (off_host_q || rd_off_host);
    cqe_in.sampled = e.sampled;
  end
  assign in_tell = state_q == TELL;
  assign piece_any = in_tell ? discard_valid : piece_valid;
  assign piece_ready = out_piece_ready && !in_tell;
  assign discard_fire = in_tell && out_piece_ready;
  cpl_out u_out (
      .clk_i,
      .rst_i,
      .put_valid(put_valid),
      .put_long(long_q),
      .put_ready(put_ready),
      .piece_valid(piece_any),
      .piece_ready(out_piece_ready),
      .piece_has_cqe(!in_tell && last_piece),
      .piece_more(!in_tell && !piece_last),
      .piece_write(!in_tell && piece_write),
      .piece_inl(!in_tell && piece_write && !d_read),
      .piece_len(in_tell ? m_q.payload_len : piece_len),
      .piece_addr(piece_addr),
      .piece_target(piece_target),
      .piece_gpu(piece_gpu),
      .piece_data(piece_data),
      .psn(m_q.psn),
      .cqe_in(cqe_in),
      .cqe_valid,
      .cqe_ready,
      .cqe,
      .cplace_valid,
      .cplace_ready,
      .cplace,
      .cplace_cqe
  );

  // -- when READ data are on the bus
  cpl_placed u_placed (
      .clk_i,
      .rst_i,
      .sent_i(piece_valid && piece_ready && piece_write),
      .placed_i(rd_placed_i),
      .done_i(retire && is_rd && ok),
      .qpn_i(qpn_q),
      .room_o(done_room),
      .any_o(placing),
      .out_valid(placed_valid),
      .out_ready(take && work_d == W_PLACED),
      .out_qpn(placed_qpn)
  );

  // -- counters, trace, reset
  logic judged, ours, cnp_counts, marked, brings_int, int_counts;
  assign judged = at_path && work_q == W_PACKET;
  assign ours = judged && !bad_qp && !bad_addr;
  assign cnp_counts = ours && is_cnp && cfg_dcqcn_i;
  assign brings_int = judged && good && m_q.opcode == roce_pkg::OP_ACKNOWLEDGE && m_q.has_int &&
      m_q.int_echo;
  assign int_counts = brings_int && m_q.tele.unit == cfg_int_unit_i;
  assign marked = ours && !bad_pkey && is_data && m_q.ecn == roce_pkg::ECN_CE;
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    cnt_rx_ack_o <= judged && good && m_q.opcode == roce_pkg::OP_ACKNOWLEDGE && !is_nak;
    cnt_rx_nak_o <= judged && good && is_nak;
    cnt_rx_unknown_qp_o <= judged && bad_qp;
    cnt_rx_addr_errors_o <= judged && !bad_qp && bad_addr;
    cnt_rx_pkey_errors_o <= ours && bad_pkey && !is_cnp;
    cnt_rx_ghost_acks_o <= ours && !bad_pkey && !good && !is_cnp;
    cnp_valid_o <= cnp_counts;
    if (cnp_counts) cnp_qpn_o <= qpn_q;
    marked_valid_o <= marked;
    if (marked) marked_o <= {qpn_q, c_q.dest_qpn, c_q.path, m_q.sip};
    tele_valid_o <= int_counts;
    if (int_counts) begin
      tele_qpn_o <= qpn_q;
      tele_psn_o <= j_cover + 24'd1;
      tele_next_psn_o <= next_psn_q;
      tele_o <= m_q.tele;
    end
    cnt_int_unused_o <= brings_int && !int_counts;
    cnt_cnp_handled_o <= cnp_counts;
    cnt_cnp_ignored_o <= judged && is_cnp && !cnp_counts;
    cnt_msgs_completed_o <= retire && ok;
    done_qpn_o <= qpn_q;
    done_index_o <= h.next_index;
    cnt_msgs_flushed_o <= retire && h_status == rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    cnt_rx_rd_responses_o <= rd_done && rd_ok;
    cnt_rx_rd_bad_o <= (acting && d_bad && act_fatal) || (rd_done && !rd_ok);
    cnt_rewinds_o <= acting && act_retry && r_rewind;
    cnt_ack_timeouts_o <= acting && act_retry && act_q == A_TIMEOUT && !r_ignore;
    cnt_rnr_waits_o <= acting && act_retry && r_wait;
    cnt_implied_naks_o <= acting && act_retry && implied_act && !r_ignore;
    cnt_tx_spoiled_o <= at_path && work_q == W_SPOIL;
    if (rst_i) begin
      state_q <= LOOK;
      cnt_rx_ack_o <= 1'b0;
      cnt_rx_nak_o <= 1'b0;
      cnt_rx_unknown_qp_o <= 1'b0;
      cnt_rx_addr_errors_o <= 1'b0;
      cnt_rx_pkey_errors_o <= 1'b0;
      cnt_rx_ghost_acks_o <= 1'b0;
      cnp_valid_o <= 1'b0;
      marked_valid_o <= 1'b0;
      tele_valid_o <= 1'b0;
      cnt_int_unused_o <= 1'b0;
      cnt_cnp_handled_o <= 1'b0;
      cnt_cnp_ignored_o <= 1'b0;
      cnt_msgs_completed_o <= 1'b0;
      cnt_msgs_flushed_o <= 1'b0;
      cnt_rx_rd_responses_o <= 1'b0;
      cnt_rx_rd_bad_o <= 1'b0;
      cnt_rewinds_o <= 1'b0;
      cnt_ack_timeouts_o <= 1'b0;
      cnt_rnr_waits_o <= 1'b0;
      cnt_implied_naks_o <= 1'b0;
      cnt_tx_spoiled_o <= 1'b0;
    end
  end
  assign trc_valid_o = judged && good;
  assign trc_o = {rnic_pkg::TRC_ACK_RX, qpn_q, 8'd0, m_q.psn};
  assign trc_sampled_o = 1'b1;
  assign trc2_valid_o = retire;
  assign trc2_o = {rnic_pkg::TRC_COMPLETE, qpn_q, 16'd0, h.wqe_index};
  assign trc2_sampled_o = h.sampled;

  assign pin_o = state_q != LOOK;
  assign pin_qpn_o = qpn_q;

  logic unused;
  assign unused = ^{m_q, c_q, a_q, cps_ctx, h, cp_ctx, beyond, err_gap, at_gap, first_gap,
      left_past, past_limit, reach_gap, e, kick_level};

  `RNIC_STREAM_HOLD(cqe_valid, cqe_ready, cqe)
  `RNIC_STREAM_HOLD(cplace_valid, cplace_ready, {cplace, cplace_cqe})
  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
  `RNIC_STREAM_HOLD(rws_valid, rws_ready, rws)
  `RNIC_ASSERT(no_pop_of_nothing, !(pop_valid && h_empty))
endmodule
