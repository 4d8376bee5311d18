// SPDX-License-Identifier: Apache-2.0
// The acknowledged side of the requester: takes ACKs and NAKs, completes the messages they cover in
// posting order, fails the QP on a NAK (until retransmission is built) or on a local error, and
// flushes what a failed QP still has in flight. Owner of the acknowledged half of the context;
// reads the messages from msg_pool. Throughput: 4 cycles per ACK, 3 more per further message that
// it covers. Latency: 4 cycles from resp to the first completion. Order: completions of a QP leave
// in posting order. Local errors and QP orders go before responses; nudges and responses take
// turns. Ignored and counted: responses outside
// [oldest unacknowledged, next to send), responses of QPs that do not send (rx_ghost_acks,
// rx_unknown_qp), wrong P_Key or addresses. Facts: roce.md section 3.
`include "rnic_assert.svh"
module rx_completer (
    input  logic                clk_i,
    input  logic                rst_i,
    // responses, from rx_dispatch
    input  logic                resp_valid,
    output logic                resp_ready,
    input  rnic_pkg::rx_meta_t  resp,
    // local errors, from tx_buffer
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
    output logic                cnt_msgs_completed_o,
    output logic                cnt_msgs_flushed_o,
    output logic                trc_valid_o,
    output logic [63:0]         trc_o,
    output logic                trc_sampled_o,
    output logic                trc2_valid_o,
    output logic [63:0]         trc2_o,
    output logic                trc2_sampled_o,
    output logic rwq_valid,
    input  logic rwq_ready,
    output logic [23:0] rwq_qpn,
    input  logic rwg_valid,
    output logic rwg_ready,
    input  logic [23:0] rwg_qpn,
    output logic rws_valid,
    input  logic rws_ready,
    output rnic_pkg::rewind_t rws,
    output logic tms_valid,
    output rnic_pkg::timer_set_t tms,
    input  logic tmo_valid,
    output logic tmo_ready,
    input  logic [23:0] tmo_qpn,
    input  logic tmo_rnr,
    output logic kick_valid,
    output logic [23:0] kick_qpn,
    input  logic kick_ready,
    input  logic [767:0] hd_list,
    input  logic left_valid,
    output logic left_ready,
    input  logic [23:0] left_qpn,
    input  logic [23:0] left_psn,
    input  logic spoil_valid,
    output logic spoil_ready,
    input  logic [23:0] spoil_qpn,
    output logic cplace_valid,
    input  logic cplace_ready,
    output rnic_pkg::rx_place_t cplace,
    output rnic_pkg::cqe_req_t cplace_cqe,
    output logic mrq_valid,
    input  logic mrq_ready,
    output rnic_pkg::mr_req_t mrq,
    input  logic mrs_valid,
    input  rnic_pkg::mr_rsp_t mrs,
    output logic ev_valid,
    input  logic ev_ready,
    output rnic_pkg::event_t ev,
    output logic cnt_rx_rd_responses_o,
    output logic cnt_rx_rd_bad_o,
    output logic cnt_rewinds_o,
    output logic cnt_ack_timeouts_o,
    output logic cnt_rnr_waits_o,
    output logic cnt_implied_naks_o,
    output logic cnt_tx_spoiled_o
);
  typedef enum logic [2:0] {LOOK, CONTEXT, PATH, EVAL, HEAD, FAIL} state_e;
  typedef enum logic [1:0] {PACKET, TERR, NUDGE, ORDER} work_e;
  state_e state_q, state_d;
  work_e work_d, work_q;

  // -- taking work
  logic any, take, lk_ready;
  logic nudge_last_q;  // a nudge was taken: a response goes first now
  logic [23:0] look_qpn, qpn_q;
  always_comb begin
    work_d = PACKET;
    any = resp_valid;
    look_qpn = resp.dest_qpn;
    if (terr_valid) begin
      work_d = TERR;
      any = 1'b1;
      look_qpn = terr_qpn;
    end else if (qpi_valid) begin
      work_d = ORDER;
      any = 1'b1;
      look_qpn = qpi.qpn;
    end else if (nudge_valid && !(nudge_last_q && resp_valid)) begin
      work_d = NUDGE;
      any = 1'b1;
      look_qpn = nudge_qpn;
    end
  end
  assign lk_ready = cp_lk_ready && cps_lk_ready && ack_lk_ready && hd_lk_ready;
  assign take = state_q == LOOK && any && lk_ready;
  assign resp_ready = take && work_d == PACKET;
  assign terr_ready = take && work_d == TERR;
  assign nudge_ready = take && work_d == NUDGE;
  // Lookups go out together; each waits for the others' ready, never for its own.
  assign cp_lk_valid = state_q == LOOK && any && cps_lk_ready && ack_lk_ready && hd_lk_ready;
  assign cps_lk_valid = state_q == LOOK && any && cp_lk_ready && ack_lk_ready && hd_lk_ready;
  assign ack_lk_valid = state_q == LOOK && any && cp_lk_ready && cps_lk_ready && hd_lk_ready;
  assign hd_lk_valid = (state_q == LOOK && any && cp_lk_ready && cps_lk_ready && ack_lk_ready) ||
      state_q == HEAD;
  assign cp_lk_qpn = look_qpn;
  assign cps_lk_qpn = look_qpn;
  assign ack_lk_qpn = look_qpn;
  assign hd_lk_qpn = (state_q == HEAD) ? qpn_q : look_qpn;

  rnic_pkg::rx_meta_t m_q;
  logic [15:0] terr_index_q;
  logic [7:0] terr_status_q;
  always_ff @(posedge clk_i) begin
    if (take) begin
      work_q <= work_d;
      qpn_q <= look_qpn;
      terr_index_q <= terr_index;
      terr_status_q <= terr_status;
      if (work_d == PACKET) m_q <= resp;
      if (work_d == NUDGE || work_d == PACKET) nudge_last_q <= work_d == NUDGE;
    end
    if (rst_i) nudge_last_q <= 1'b0;
  end

  // -- contexts as they come in
  rnic_pkg::qp_conn_t c_q;
  rnic_pkg::qp_ack_t a_q;
  rnic_pkg::msg_t h_q;
  logic [23:0] next_psn_q;
  logic have_c_q, have_a_q, have_s_q, have_h_q, empty_q, have_ctx;
  assign have_ctx = (cp_ctx_valid || have_c_q) && (ack_ctx_valid || have_a_q) &&
      (cps_ctx_valid || have_s_q);

  logic [15:0] path_index;
  assign path_index = cp_ctx_valid ? cp_ctx.path : c_q.path;
  assign cpp_lk_valid = state_q == CONTEXT && have_ctx && work_q == PACKET;
  assign cpp_lk_index = path_index;

  // -- what the packet says
  logic sending, bad_qp, bad_pkey, bad_addr, is_ack, in_window, is_nak, known_nak, good;
  logic [23:0] past_una, to_next;
  logic [7:0] nak_status;
  assign sending = c_q.state == rnic_pkg::QPS_RTS || c_q.state == rnic_pkg::QPS_SQD;
  assign bad_qp = !(c_q.exists && c_q.qtype == 2'd0 && sending) || a_q.failed;
  assign bad_pkey = !(m_q.pkey[14:0] == c_q.pkey[14:0] && (m_q.pkey[15] || c_q.pkey[15]));
  assign bad_addr = !(cpp.valid && cpp.ipv6 == m_q.ipv6 && cpp.sip == m_q.dip && cpp.dip ==
      m_q.sip);
  assign past_una = m_q.psn - a_q.una_psn;
  assign to_next = next_psn_q - m_q.psn;
  assign in_window = !past_una[23] && !to_next[23] && to_next != 24'd0;
  assign is_ack = m_q.opcode == roce_pkg::OP_ACKNOWLEDGE && m_q.syndrome[6:5] == 2'b00;
  always_comb begin
    known_nak = m_q.opcode == roce_pkg::OP_ACKNOWLEDGE;
    nak_status = rnic_desc_pkg::CQE_STATUS_RETRY_EXC_ERR;
    unique casez (m_q.syndrome[6:0])
      7'b01?????: nak_status = rnic_desc_pkg::CQE_STATUS_RNR_RETRY_EXC_ERR;
      7'h60: nak_status = rnic_desc_pkg::CQE_STATUS_RETRY_EXC_ERR;
      7'h61: nak_status = rnic_desc_pkg::CQE_STATUS_REM_INV_REQ_ERR;
      7'h62: nak_status = rnic_desc_pkg::CQE_STATUS_REM_ACCESS_ERR;
      7'h63: nak_status = rnic_desc_pkg::CQE_STATUS_REM_OP_ERR;
      default: known_nak = 1'b0;
    endcase
  end
  assign is_nak = known_nak && !is_ack;
  assign good = !bad_qp && !bad_pkey && !bad_addr && in_window && (is_ack || is_nak);

  // -- the walk
  logic cover_q, nak_q, failed_q, fail_q, write_q, walk_q;  // what is going on
  logic [23:0] cover_psn_q;
  logic [7:0] nak_status_q, fail_status_q;

  logic h_have, h_empty, in_eval, covered, done_walk, retire, ok, cqe_room, last_covered;
  rnic_pkg::msg_t h;
  logic [23:0] beyond;
  logic [7:0] h_status;
  assign h_have = hd_valid || have_h_q;
  assign h = hd_valid ? hd : h_q;
  assign h_empty = hd_valid ? hd_empty : empty_q;
  assign in_eval = state_q == EVAL && h_have;
  assign beyond = cover_psn_q - h.last_psn;
  assign covered = cover_q && !beyond[23] && h.kind != rnic_pkg::MSG_FAILED &&
      h.kind != rnic_pkg::MSG_LOCAL;
  assign last_covered = covered && beyond == 24'd0;
  assign ok = !failed_q && (covered || h.kind == rnic_pkg::MSG_LOCAL);
  always_comb begin
    h_status = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    if (ok) h_status = rnic_desc_pkg::CQE_STATUS_SUCCESS;
    else if (h.kind == rnic_pkg::MSG_FAILED && !(nak_q && failed_q)) h_status = h.status;
    else if (!failed_q) h_status = nak_status_q;
    else if (work_q == TERR && h.wqe_index == terr_index_q) h_status = terr_status_q;
  end
  logic is_local, over;
  assign is_local = h.kind == rnic_pkg::MSG_LOCAL || h.kind == rnic_pkg::MSG_FAILED;
  assign over = walk_q && (failed_q || covered || nak_q || is_local);  // the head's time has come
  assign retire = in_eval && !h_empty && over && cqe_room;
  assign done_walk = in_eval && (h_empty || !over);
  assign pop_valid = retire;
  assign pop_qpn = qpn_q;

  logic new_terr;  // a local error of a QP that has not failed yet; later ones change nothing
  assign new_terr = work_q == TERR && sending && !a_q.failed;
  logic at_path;  // the path is there: the packet can be judged
  assign at_path = state_q == PATH && (cpp_valid || work_q != PACKET);

  always_ff @(posedge clk_i) begin
    if (cp_ctx_valid) c_q <= cp_ctx;
    if (ack_ctx_valid) a_q <= ack_ctx;
    if (cps_ctx_valid) next_psn_q <= cps_ctx.next_psn;
    if (hd_valid) begin
      h_q <= hd;
      empty_q <= hd_empty;
    end
    have_c_q <= (have_c_q || cp_ctx_valid) && state_q != LOOK;
    have_a_q <= (have_a_q || ack_ctx_valid) && state_q != LOOK;
    have_s_q <= (have_s_q || cps_ctx_valid) && state_q != LOOK;
    have_h_q <= (have_h_q || hd_valid) && state_q != LOOK && state_q != HEAD && !retire;

    if (at_path) begin
      cover_q <= work_q == PACKET && good;
      cover_psn_q <= is_ack ? m_q.psn : m_q.psn - 24'd1;
      nak_q <= work_q == PACKET && good && is_nak;
      nak_status_q <= nak_status;
      // Orders other than ERR only set the half; msg_pool forgets the messages of a QP that is
      // reset by itself.
      walk_q <= work_q != ORDER || qpi.op == rnic_pkg::QPI_ERR;
      failed_q <= a_q.failed || new_terr || (work_q == ORDER && qpi.op == rnic_pkg::QPI_ERR);
      fail_q <= new_terr;
      fail_status_q <= terr_status_q;
      write_q <= (work_q == PACKET && good) || new_terr || work_q == ORDER;
    end else if (retire && !ok) begin
      // The first failure fails the QP; MSG_FAILED was reported by sq_engine already.
      failed_q <= 1'b1;
      write_q <= 1'b1;
      if (!failed_q && h.kind != rnic_pkg::MSG_FAILED) begin
        fail_q <= 1'b1;
        fail_status_q <= nak_status_q;
      end
    end else if (state_q == FAIL && fail_ready) begin
      fail_q <= 1'b0;
    end
  end

  // -- acknowledged half, written last
  logic finish;
  // A message that ends exactly at the ACK is the last one, unless one without packets may stand
  // behind it.
  assign finish = (done_walk || (retire && ok && last_covered && !nak_q && !a_q.local_waits)) &&
      !fail_q;
  logic local_waits;
  assign local_waits = done_walk ? !h_empty && (a_q.local_waits || work_q == NUDGE) :
      a_q.local_waits;
  logic closing;
  assign closing = finish || (state_q == FAIL && fail_ready);
  assign ack_wr_valid = closing && (write_q || local_waits != a_q.local_waits);
  assign ack_wr_qpn = qpn_q;
  always_comb begin
    ack_wr = a_q;
    ack_wr.failed = failed_q;
    ack_wr.local_waits = (state_q == EVAL) ? local_waits : 1'b0;
    if (cover_q) ack_wr.una_psn = cover_psn_q + 24'd1;
    if (work_q == ORDER) begin
      if (qpi.op == rnic_pkg::QPI_CLEAR) ack_wr = '0;
      if (qpi.op == rnic_pkg::QPI_RTS) begin
        ack_wr.una_psn = qpi.psn;
        ack_wr.failed = 1'b0;
        ack_wr.local_waits = 1'b0;
      end
    end
  end
  assign qpi_ready = closing && work_q == ORDER;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      LOOK: if (take) state_d = CONTEXT;
      CONTEXT: if (have_ctx && (cpp_lk_ready || work_q != PACKET)) state_d = PATH;
      PATH: if (at_path) state_d = EVAL;
      EVAL:
      if (finish) state_d = LOOK;
      else if (done_walk) state_d = FAIL;
      else if (retire) state_d = HEAD;
      HEAD: if (hd_lk_ready) state_d = EVAL;
      FAIL: if (fail_ready) state_d = LOOK;
      default: state_d = LOOK;
    endcase
  end

  assign fail_valid = state_q == FAIL;
  assign fail.qpn = qpn_q;
  assign fail.cause = fail_status_q;
  assign fail.event_type = rnic_desc_pkg::EQE_TYPE_QP_FATAL;

  // -- completions
  rnic_pkg::cqe_req_t cqe_in;
  localparam int unsigned CQE_W = $bits(cqe_in);
  logic cqe_in_valid;
  logic [2:0] cqe_level;
  assign cqe_in_valid = retire && (h.signaled || !ok);
  always_comb begin
    cqe_in = '0;
    cqe_in.cqn = c_q.send_cqn;
    cqe_in.qpn = qpn_q;
    cqe_in.opcode = ok ? rnic_desc_pkg::CQE_OPCODE_REQ : rnic_desc_pkg::CQE_OPCODE_REQ_ERR;
    cqe_in.status = h_status;
    cqe_in.wqe_index = h.wqe_index;
    cqe_in.byte_count = h.bytes;
    cqe_in.syndrome = (nak_q && !failed_q && !ok) ? m_q.syndrome : 8'd0;
    cqe_in.sampled = h.sampled;
  end
  stream_fifo_small #(
      .W(CQE_W),
      .DEPTH(4),
      .LATENCY(1)
  ) u_cqe (
      .clk_i,
      .rst_i,
      .in_valid(cqe_in_valid),
      .in_ready(cqe_room),
      .in_data(cqe_in),
      .out_valid(cqe_valid),
      .out_ready(cqe_ready),
      .out_data(cqe),
      .level_o(cqe_level)
  );

  // -- counters, trace, reset
  logic judged;
  assign judged = at_path && work_q == PACKET;
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    cnt_rx_ack_o <= judged && good && is_ack;
    cnt_rx_nak_o <= judged && good && is_nak;
    cnt_rx_unknown_qp_o <= judged && bad_qp;
    cnt_rx_addr_errors_o <= judged && !bad_qp && bad_addr;
    cnt_rx_pkey_errors_o <= judged && !bad_qp && !bad_addr && bad_pkey;
    cnt_rx_ghost_acks_o <= judged && !bad_qp && !bad_addr && !bad_pkey && !good;
    cnt_msgs_completed_o <= retire && ok;
    cnt_msgs_flushed_o <= retire && h_status == rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    if (rst_i) begin
      state_q <= LOOK;
      cnt_rx_ack_o <= 1'b0;
      cnt_rx_nak_o <= 1'b0;
      cnt_rx_unknown_qp_o <= 1'b0;
      cnt_rx_addr_errors_o <= 1'b0;
      cnt_rx_pkey_errors_o <= 1'b0;
      cnt_rx_ghost_acks_o <= 1'b0;
      cnt_msgs_completed_o <= 1'b0;
      cnt_msgs_flushed_o <= 1'b0;
    end
  end
  assign trc_valid_o = judged && good;
  assign trc_o = {rnic_pkg::TRC_ACK_RX, qpn_q, 8'd0, m_q.psn};
  assign trc_sampled_o = 1'b1;
  assign trc2_valid_o = retire;
  assign trc2_o = {rnic_pkg::TRC_COMPLETE, qpn_q, 16'd0, h.wqe_index};
  assign trc2_sampled_o = h.sampled;

  logic unused;
  assign unused = ^{m_q, c_q, cps_ctx, h, cpp, cqe_level, cp_ctx, past_una, beyond};

  `RNIC_STREAM_HOLD(cqe_valid, cqe_ready, cqe)
  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
  `RNIC_ASSERT(no_pop_of_nothing, !(pop_valid && h_empty))

  // Ports of the complete RC transport that this block does not use yet.
  assign rwq_valid = '0;
  assign rwq_qpn = '0;
  assign rwg_ready = '0;
  assign rws_valid = '0;
  assign rws = '0;
  assign tms_valid = '0;
  assign tms = '0;
  assign tmo_ready = '0;
  assign kick_valid = '0;
  assign kick_qpn = '0;
  assign left_ready = '0;
  assign spoil_ready = '0;
  assign cplace_valid = '0;
  assign cplace = '0;
  assign cplace_cqe = '0;
  assign mrq_valid = '0;
  assign mrq = '0;
  assign ev_valid = '0;
  assign ev = '0;
  assign cnt_rx_rd_responses_o = '0;
  assign cnt_rx_rd_bad_o = '0;
  assign cnt_rewinds_o = '0;
  assign cnt_ack_timeouts_o = '0;
  assign cnt_rnr_waits_o = '0;
  assign cnt_implied_naks_o = '0;
  assign cnt_tx_spoiled_o = '0;
  logic unused_rc;
  assign unused_rc = ^{rwq_ready, rwg_valid, rwg_qpn, rws_ready, tmo_valid, tmo_qpn, tmo_rnr,
      kick_ready, hd_list, left_valid, left_qpn, left_psn, spoil_valid, spoil_qpn,
      cplace_ready, mrq_ready, mrs_valid, mrs, ev_ready};
endmodule
