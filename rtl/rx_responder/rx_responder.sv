// SPDX-License-Identifier: Apache-2.0
// The responder: checks each request against the connection, its PSN, its order, its length, its
// receive WQE and its memory keys, and decides about payload, answer, completion, events and
// failure. Owner of the receive half of the context.
// Throughput and latency: 3 cycles per request when nothing waits (SEND: 4), 3 more for each piece
// of payload beyond the first and one to hand it on. Order: decisions leave in packet order;
// flushed receive WQEs go the same way, behind the completions before them. A SEND whose receive
// WQE is posted but not yet read waits for it, and holds up what follows. Dropped in silence and
// counted: unknown QP, wrong P_Key, Q_Key or addresses, what follows a gap, duplicates that cannot
// be answered, what UC and UD refuse. The rules: facts roce.md section 4; README.md names the test
// of each.
`include "rnic_assert.svh"
module rx_responder #(
    parameter int unsigned ARP = 0          // 1: arp_fsm is there
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    // requests, from rx_dispatch
    input  logic                  req_valid,
    output logic                  req_ready,
    input  rnic_pkg::rx_meta_t    req,
    // connection half
    output logic                  rs_lk_valid,
    input  logic                  rs_lk_ready,
    output logic [23:0]           rs_lk_qpn,
    input  logic                  rs_ctx_valid,
    input  rnic_pkg::qp_conn_t    rs_ctx,
    // receive half; read together with the connection half
    output logic                  rcv_lk_valid,
    input  logic                  rcv_lk_ready,
    output logic [23:0]           rcv_lk_qpn,
    input  logic                  rcv_ctx_valid,
    input  rnic_pkg::qp_recv_t    rcv_ctx,
    output logic                  rcv_wr_valid,
    output logic [23:0]           rcv_wr_qpn,
    output rnic_pkg::qp_recv_t    rcv_wr,
    // path of the connection, for the address check
    output logic                  rp_lk_valid,
    input  logic                  rp_lk_ready,
    output logic [15:0]           rp_lk_index,
    input  logic                  rp_valid,
    input  rnic_pkg::path_t       rp,
    // memory regions
    output logic                  mrq_valid,
    input  logic                  mrq_ready,
    output rnic_pkg::mr_req_t     mrq,
    input  logic                  mrs_valid,
    input  rnic_pkg::mr_rsp_t     mrs,
    // receive WQEs, from rq_store: a look is answered in the next cycle, rqh_get_o by rqh_valid in
    // the next one, or not at all
    output logic                  rqh_lk_valid,
    output logic [23:0]           rqh_lk_qpn,
    input  logic                  rqh_posted_i,
    input  logic [15:0]           rqh_prod_i,
    output logic                  rqh_get_o,
    input  logic                  rqh_valid,
    input  rnic_pkg::rq_entry_t   rqh,
    output logic                  rqp_valid,
    output logic [23:0]           rqp_qpn,
    output logic [15:0]           rqp_index,
    input  logic                  rqf_valid,
    output logic                  rqf_ready,
    input  logic [23:0]           rqf_qpn,
    // QP orders
    input  logic                  qpi_valid,
    output logic                  qpi_ready,
    input  rnic_pkg::qp_init_t    qpi,
    // decisions
    output logic                  place_valid,
    input  logic                  place_ready,
    output rnic_pkg::rx_place_t   place,
    output rnic_pkg::cqe_req_t    place_cqe,
    output logic                  place_arp,      // its payload is arp_fsm's
    output logic                  ackq_valid,
    input  logic                  ackq_ready,
    output rnic_pkg::ack_req_t    ackq,
    output logic                  fail_valid,
    input  logic                  fail_ready,
    output rnic_pkg::qp_fail_t    fail,
    // SEND with invalidate
    output logic                  lop_valid,
    input  logic                  lop_ready,
    output rnic_pkg::mr_lop_t     lop,
    input  logic                  lop_done_valid,
    input  logic                  lop_done_ok,
    // arp_fsm: what becomes of a packet of an AllReduce; asked when all else allows it
    output logic                  ask_valid,
    input  logic                  ask_ready,
    output arp_pkg::ask_t         ask,
    input  logic                  ans_valid,
    output logic                  ans_ready,
    input  logic [2:0]            ans,
    // COMM_EST, LAST_WQE
    output logic                  ev_valid,
    input  logic                  ev_ready,
    output rnic_pkg::event_t      ev,
    // a packet of an RC or UC connection came with the CE mark (pulse)
    output logic                  marked_valid_o,
    output rnic_pkg::marked_t     marked_o,
    // a packet of an RC connection brought telemetry (pulse)
    output logic                  tele_valid_o,
    output logic [23:0]           tele_qpn_o,
    output rnic_pkg::telemetry_t  tele_o,
    // counters
    output logic                  cnt_rx_unknown_qp_o,
    output logic                  cnt_rx_pkey_errors_o,
    output logic                  cnt_rx_qkey_errors_o,
    output logic                  cnt_rx_addr_errors_o,
    output logic                  cnt_rx_requests_o,
    output logic                  cnt_rx_duplicates_o,
    output logic                  cnt_rx_out_of_order_o,
    output logic                  cnt_rx_uc_drops_o,
    output logic                  cnt_rx_sends_o,
    output logic                  cnt_msgs_flushed_o,
    // the QP whose context is in use
    output logic                  pin_o,
    output logic [23:0]           pin_qpn_o,
    output logic                  trc_valid_o,
    output logic [63:0]           trc_o,
    output logic                  trc_sampled_o
);
  localparam logic [12:0] GRH_BYTES = 13'd40;

  // LOOK takes work and starts its lookups, CHECK has the context, HEAD waits for the receive WQE,
  // ASK puts the question for a key (and the path) again or for the next piece, WAIT gets the
  // answers and hands out the decision in the same cycle if the packet is one piece. Else INVAL
  // (SEND with invalidate), GROUP (arp_fsm is asked) and EMIT (pieces but the last) go first, and
  // DECIDE hands it out.
  typedef enum logic [3:0] {
    LOOK, CHECK, HEAD, ASK, WAIT, INVAL, GROUP, EMIT, DECIDE, ORDER, FLUSH, TELL
  } state_e;
  state_e state_q, state_d;

  // -- taking work
  typedef enum logic [1:0] {NONE, PACKET, POSTED_IN_ERR, QP_ORDER} work_e;
  work_e work_d, work_q;
  logic looking, take;
  logic [23:0] look_qpn;
  logic decision_out;  // a decision is complete in this cycle
  logic rqf_last_q;    // a flush was the last work: a packet goes first now
  assign looking = state_q == LOOK || decision_out;
  always_comb begin
    work_d = NONE;
    look_qpn = req.dest_qpn;
    if (qpi_valid && state_q == LOOK) begin
      work_d = QP_ORDER;
      look_qpn = qpi.qpn;
    end else if (qpi_valid) begin
      work_d = NONE;  // soon
    end else if (rqf_valid && !(rqf_last_q && req_valid)) begin
      if (state_q == LOOK) work_d = POSTED_IN_ERR;
      look_qpn = rqf_qpn;
    end else if (req_valid) begin
      work_d = PACKET;
    end
  end
  assign take = looking && work_d != NONE && rs_lk_ready && rcv_lk_ready;
  assign req_ready = take && work_d == PACKET;
  assign rqf_ready = take && work_d == POSTED_IN_ERR;
  assign rs_lk_valid = looking && work_d != NONE && rcv_lk_ready;
  assign rcv_lk_valid = looking && work_d != NONE && rs_lk_ready;
  assign rs_lk_qpn = look_qpn;
  assign rcv_lk_qpn = look_qpn;
  assign rqh_lk_valid = take || state_q == HEAD;
  assign rqh_lk_qpn = (state_q == HEAD) ? qpn_q : look_qpn;

  rnic_pkg::rx_meta_t m_q;
  logic [23:0] qpn_q;
  always_ff @(posedge clk_i) begin
    if (take) begin
      work_q <= work_d;
      qpn_q <= look_qpn;
      rqf_last_q <= work_d == POSTED_IN_ERR;
      if (work_d == PACKET) m_q <= req;
    end
    if (rst_i) rqf_last_q <= 1'b0;
  end

  // -- context, newest value of the half
  logic fwd_valid_q;
  logic [23:0] fwd_qpn_q;
  rnic_pkg::qp_conn_t c_now, c_q;
  rnic_pkg::qp_recv_t fwd_q, r_now, r_q, r_next;
  logic have_ctx, asked, have_rs_q, have_rcv_q;  // the halves may come one after the other
  logic flush_fire;
  logic [15:0] flush_prod_q;
  assign asked = state_q == CHECK || state_q == ORDER;
  assign have_ctx = asked && (rs_ctx_valid || have_rs_q) && (rcv_ctx_valid || have_rcv_q);
  assign c_now = rs_ctx_valid ? rs_ctx : c_q;
  assign r_now = (fwd_valid_q && fwd_qpn_q == qpn_q) ? fwd_q : rcv_ctx_valid ? rcv_ctx : r_q;
  always_ff @(posedge clk_i) begin
    have_rs_q <= asked && !have_ctx && (rs_ctx_valid || have_rs_q);
    have_rcv_q <= asked && !have_ctx && (rcv_ctx_valid || have_rcv_q);
    if (rs_ctx_valid) c_q <= rs_ctx;
    if (rcv_ctx_valid) r_q <= rcv_ctx;
    if (have_ctx) begin
      r_q <= r_now;
      flush_prod_q <= rqh_prod_i;
    end else if (flush_fire) begin
      r_q <= r_next;
    end
    if (rcv_wr_valid) begin
      fwd_valid_q <= 1'b1;
      fwd_qpn_q <= rcv_wr_qpn;
      fwd_q <= rcv_wr;
    end
    if (rst_i) fwd_valid_q <= 1'b0;
  end

  // -- CHECK
  logic k_bad_qp, k_bad_pkey, k_bad_qkey, k_ahead, k_dup, k_exp, k_inv, k_rnr, k_drop, k_good;
  logic k_arp, k_send, k_write, k_read, k_atomic, k_first, k_last, k_imm, k_invkey, k_uses, k_again;
  rx_check #(
      .ARP(ARP)
  ) u_check (
      .m_i(m_q),
      .c_i(c_now),
      .r_i(r_now),
      .posted_i(rqh_posted_i),
      .bad_qp_o(k_bad_qp),
      .bad_pkey_o(k_bad_pkey),
      .bad_qkey_o(k_bad_qkey),
      .ahead_o(k_ahead),
      .duplicate_o(k_dup),
      .expected_o(k_exp),
      .invalid_o(k_inv),
      .rnr_o(k_rnr),
      .uc_drop_o(k_drop),
      .good_o(k_good),
      .arp_o(k_arp),
      .send_o(k_send),
      .write_o(k_write),
      .read_o(k_read),
      .atomic_o(k_atomic),
      .first_o(k_first),
      .last_o(k_last),
      .imm_o(k_imm),
      .inv_o(k_invkey),
      .uses_rq_o(k_uses),
      .again_o(k_again)
  );

  logic bad_qp_q, bad_pkey_q, bad_qkey_q, ahead_q, dup_q, exp_q, inv_q, rnr_q, drop_q, good_q;
  logic arp_q, send_q, write_q, read_q, atomic_q, first_q, last_q, imm_q, invkey_q, uses_q, again_q;
  logic is_rc_q, is_ud_q;
  logic in_check, k_head;
  assign in_check = state_q == CHECK && have_ctx && work_q == PACKET;
  assign k_head = k_good && k_send;
  // The receive WQE is looked at again until it is there, or the QP goes to RESET.
  logic head_gone;
  assign head_gone = state_q == HEAD && !rqh_valid && qpi_valid &&
                     qpi.op == rnic_pkg::QPI_CLEAR && qpi.qpn == qpn_q;
  assign rqh_get_o = (in_check && k_head) || (state_q == HEAD && !rqh_valid);

  // -- the payload, piece by piece
  logic another;  // a piece passed its checks and is not the last
  // A message's next byte, of the WRITE in va, of the SEND in dmalen: how much has come.
  logic [63:0] va_q;
  logic [31:0] key_q, span_q, got, got_q;  // span: what of the region is checked at first
  logic [12:0] total, total_q, done_q, rest, want, want_q, piece;
  logic k_asks;                            // the key's answer will count
  assign k_asks = (k_good && !k_arp) || (k_dup && k_again && k_read);
  assign got = k_first ? 32'd0 : r_now.dmalen;
  assign total = (!k_good || k_arp) ? 13'd0 :
                 (c_now.qtype == rnic_desc_pkg::QP_TYPE_UD) ? m_q.payload_len + GRH_BYTES :
                 m_q.payload_len;
  assign rest = total_q - done_q;

  logic [127:0] seg0_q, seg1_q, seg2_q, seg0, seg1, seg2;
  logic [33:0] room, seg_left;
  logic [31:0] seg_key, pos;
  logic [63:0] seg_va;
  logic [12:0] seg_want, seg_limit;
  logic in_head, wqe_bad, too_long, wqe_bad_q, too_long_q;
  logic [7:0] wqe_status_q;
  assign in_head = state_q == HEAD && rqh_valid;
  assign seg0 = in_head ? rqh.seg0 : seg0_q;
  assign seg1 = in_head ? rqh.seg1 : seg1_q;
  assign seg2 = in_head ? rqh.seg2 : seg2_q;
  assign pos = got_q + {19'd0, done_q};
  rx_scatter u_scatter (
      .seg0_i(seg0),
      .seg1_i(seg1),
      .seg2_i(seg2),
      .pos_i (pos),
      .room_o(room),
      .key_o (seg_key),
      .va_o  (seg_va),
      .left_o(seg_left)
  );
  // No piece has bytes of the IP header and of the payload.
  assign seg_limit = (is_ud_q && done_q < GRH_BYTES) ? GRH_BYTES - done_q : rest;
  assign seg_want = (seg_left < {21'd0, seg_limit}) ? seg_left[12:0] : seg_limit;
  assign wqe_bad = in_head ? rqh.bad : wqe_bad_q;
  assign too_long = in_head ? !rqh.bad && {2'd0, got_q} + {21'd0, total_q} > room : too_long_q;

  // The first question goes with that for the path.
  logic asking, first_ask;
  assign asking = in_check ? !k_head : (in_head || state_q == ASK);
  assign first_ask = in_check || done_q == 13'd0;
  always_comb begin
    mrq = '0;
    want = 13'd0;
    if (asking && in_check) begin
      mrq.key = (k_first || k_dup) ? m_q.rkey : r_now.rkey;
      mrq.va = (k_first || k_dup) ? m_q.va : r_now.va;
      mrq.pd = c_now.pd;
      if (k_asks) begin
        mrq.len = k_atomic ? 32'd8 : k_first ? m_q.dmalen : r_now.left;
        mrq.need_rwrite = k_write;
        mrq.need_rread = k_read;
        mrq.need_atomic = k_atomic;
        want = total;
      end
    end else if (asking) begin
      mrq.pd = c_q.pd;
      if (send_q) begin
        mrq.key = seg_key;
        mrq.va = seg_va;
        mrq.need_lwrite = 1'b1;
        if (good_q && !wqe_bad && !too_long) want = seg_want;
        mrq.len = {19'd0, want};
      end else begin
        mrq.key = key_q;
        mrq.va = va_q + {51'd0, done_q};
        mrq.len = first_ask ? span_q : {19'd0, rest};
        mrq.need_rwrite = write_q;
        mrq.need_rread = read_q;
        mrq.need_atomic = atomic_q;
        want = rest;
      end
    end
  end
  logic ask_path, ask_fire;
  assign ask_path = asking && first_ask;
  assign mrq_valid = asking && (!ask_path || rp_lk_ready);
  assign rp_lk_valid = ask_path && mrq_ready;
  assign rp_lk_index = in_check ? c_now.path : c_q.path;
  assign ask_fire = mrq_valid && mrq_ready;

  always_ff @(posedge clk_i) begin
    if (in_check) begin
      {bad_qp_q, bad_pkey_q, bad_qkey_q, ahead_q, dup_q, exp_q} <=
          {k_bad_qp, k_bad_pkey, k_bad_qkey, k_ahead, k_dup, k_exp};
      {inv_q, rnr_q, drop_q, good_q, again_q} <= {k_inv, k_rnr, k_drop && k_exp, k_good, k_again};
      {arp_q, send_q, write_q, read_q, atomic_q} <= {k_arp, k_send, k_write, k_read, k_atomic};
      {first_q, last_q, imm_q, invkey_q, uses_q} <= {k_first, k_last, k_imm, k_invkey, k_uses};
      is_rc_q <= c_now.qtype == rnic_desc_pkg::QP_TYPE_RC;
      is_ud_q <= c_now.qtype == rnic_desc_pkg::QP_TYPE_UD;
      va_q <= mrq.va;
      key_q <= mrq.key;
      span_q <= mrq.len;
      got_q <= got;
      total_q <= total;
      done_q <= '0;
      wqe_bad_q <= 1'b0;
      too_long_q <= 1'b0;
    end
    if (in_head) begin
      seg0_q <= rqh.seg0;
      seg1_q <= rqh.seg1;
      seg2_q <= rqh.seg2;
      wqe_bad_q <= wqe_bad;
      too_long_q <= too_long;
      wqe_status_q <= rqh.status;
    end
    if (head_gone) begin
      bad_qp_q <= 1'b1;
      good_q <= 1'b0;
    end
    if (asking) want_q <= want;
    if (another) done_q <= done_q + piece;
  end

  // -- answers
  rnic_pkg::mr_rsp_t mrs_q, mr;
  rnic_pkg::path_t path_q, path;
  logic mrs_have_q, path_have_q, answered, mr_good, covers;
  assign mr = mrs_have_q ? mrs_q : mrs;
  assign path = path_have_q ? path_q : rp;
  assign answered = state_q == WAIT && (mrs_valid || mrs_have_q) && (rp_valid || path_have_q);
  assign mr_good = mr.ok && !mr.refused;
  assign piece = (mr.flat || want_q <= mr.room) ? want_q : mr.room;
  assign covers = piece == rest;
  assign another = answered && good_q && mr_good && !covers && !wqe_bad_q && !too_long_q;
  always_ff @(posedge clk_i) begin
    if (mrs_valid) mrs_q <= mrs;
    if (rp_valid) path_q <= rp;
    if (mrs_valid) mrs_have_q <= 1'b1;
    if (rp_valid) path_have_q <= 1'b1;
    if (another) mrs_have_q <= 1'b0;
    if (decision_out || rst_i) begin
      mrs_have_q <= 1'b0;
      path_have_q <= 1'b0;
    end
  end

  // Pieces that wait for the packet's last.
  localparam int unsigned PIECE_W = 13 + 13 + 64 + 2 + 2;
  logic any_piece, piece_room, emit;
  logic [3:0] piece_level;
  logic [12:0] e_done, e_len;
  logic [63:0] e_addr;
  logic [1:0] e_target, e_gpu;
  logic off_host_q;  // a piece of this packet goes to GPU or device memory
  stream_fifo #(
      .W(PIECE_W),
      .DEPTH(8),
      .OUT_REG(0)
  ) u_pieces (
      .clk_i,
      .rst_i(rst_i || decision_out),  // a packet that is refused leaves pieces behind
      .in_valid(another),
      .in_ready(piece_room),
      .in_data({done_q, piece, mr.iova, mr.target, mr.gpu}),
      .out_valid(any_piece),
      .out_ready(emit),
      .out_data({e_done, e_len, e_addr, e_target, e_gpu}),
      .level_o(piece_level)
  );
  always_ff @(posedge clk_i) begin
    if (in_check) off_host_q <= 1'b0;
    if (another && mr.target != rnic_pkg::TGT_HOST) off_host_q <= 1'b1;
  end

  // -- verdict, when the last answer is there
  logic bad_addr, seen, execute, nak_seq, nak_rnr, nak_inv, nak_acc, nak_op, uc_drop;
  logic loc_wqe, loc_len, loc_prot, loc_inv, local_error, answer_again;
  logic inv_failed_q, judged;
  logic [2:0] ans_q;
  assign judged = arp_q && state_q == DECIDE;  // arp_fsm has been asked
  assign bad_addr = !is_ud_q && !(path.valid && path.ipv6 == m_q.ipv6 && path.sip == m_q.dip &&
                                  path.dip == m_q.sip);
  // seen: the packet belongs to this connection.
  assign seen = !bad_qp_q && !bad_pkey_q && !bad_qkey_q && !bad_addr;
  // This side's own faults: the receive WQE ends with an error.
  assign loc_wqe = seen && good_q && send_q && wqe_bad_q;
  assign loc_len = seen && good_q && send_q && too_long_q && is_rc_q;
  assign loc_prot = seen && good_q && send_q && !wqe_bad_q && !too_long_q && !mr_good;
  assign loc_inv = execute && inv_failed_q;
  assign local_error = loc_wqe || loc_len || loc_prot || loc_inv;
  assign nak_seq = seen && ahead_q && !r_q.nak_sent;
  assign nak_rnr = (seen && exp_q && rnr_q) || (judged && ans_q == arp_pkg::ANS_NOT_READY);
  assign nak_inv = (seen && exp_q && inv_q) || loc_len ||
                   (judged && ans_q == arp_pkg::ANS_REFUSE);
  // A good region whose target is refused is this side's fault: remote operational error.
  assign nak_acc = seen && good_q && !send_q && is_rc_q && !mr.ok && !mr.refused;
  assign nak_op = (seen && good_q && !send_q && is_rc_q && mr.refused) || loc_wqe || loc_prot ||
                  loc_inv || (judged && ans_q == arp_pkg::ANS_ABORTED);
  assign uc_drop = seen && !is_rc_q && (drop_q || (good_q && (send_q ? too_long_q : !mr_good)));
  assign execute = seen && good_q && mr_good && !wqe_bad_q && !too_long_q &&
                   (!judged || ans_q == arp_pkg::ANS_ACCEPT || ans_q == arp_pkg::ANS_DUPLICATE);
  assign answer_again = seen && dup_q && again_q && (!read_q || mr_good);

  // -- decision
  logic [15:0] ticket_q;
  // Its four outputs are taken each in its own time; it is complete when the last one is.
  logic deciding, direct, fatal, wants_ack, announce, off_host, ends_wqe;
  logic out_valid, out_ready, ev_in_valid, ev_in_ready, placed_q, acked_q, failed_q, told_q;
  logic to_inval, to_group, to_emit;
  rnic_pkg::rx_place_t out_place;
  rnic_pkg::cqe_req_t out_cqe;
  assign to_inval = execute && invkey_q;
  assign to_group = execute && arp_q;
  assign to_emit = execute && any_piece;
  assign direct = answered && !another && !to_inval && !to_group && !to_emit;
  assign deciding = direct || state_q == DECIDE;
  assign fatal = nak_inv || nak_acc || nak_op;
  assign wants_ack = is_rc_q && (nak_seq || nak_rnr || fatal || answer_again ||
                                 (execute && (m_q.ack_req || read_q || atomic_q)));
  assign announce = execute && !loc_inv && c_q.state == rnic_pkg::QPS_RTR && !r_q.comm_est &&
                    !is_ud_q;
  assign off_host = off_host_q || (want_q != 13'd0 && mr.target != rnic_pkg::TGT_HOST);
  assign ends_wqe = local_error || (execute && uses_q);
  assign decision_out = deciding && (placed_q || out_ready) &&
                        (!wants_ack || acked_q || ackq_ready) &&
                        (!fatal || failed_q || fail_ready) &&
                        (!announce || told_q || ev_in_ready);
  assign ackq_valid = deciding && wants_ack && !acked_q;
  assign fail_valid = deciding && fatal && !failed_q;
  always_ff @(posedge clk_i) begin
    if (deciding) begin
      placed_q <= placed_q || out_ready;
      acked_q <= acked_q || ackq_ready;
      failed_q <= failed_q || fail_ready;
      told_q <= told_q || ev_in_ready;
    end
    if (decision_out || rst_i) begin
      placed_q <= 1'b0;
      acked_q <= 1'b0;
      failed_q <= 1'b0;
      told_q <= 1'b0;
    end
  end

  // -- AllReduce: arp_fsm is asked once, and its payload follows if it accepts
  logic ask_sent_q;
  assign ask_valid = state_q == GROUP && !ask_sent_q;
  assign ans_ready = state_q == GROUP;
  always_comb begin
    ask = '0;
    if (ask_valid) begin
      ask.qpn = qpn_q;
      ask.result = m_q.va[56];
      ask.elem = m_q.va[58:57];
      ask.contributor = m_q.va[55:48];
      ask.group = m_q.va[47:32];
      ask.slot = m_q.va[31:0];
      ask.offset = m_q.rkey;
      ask.len = m_q.payload_len;
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q != GROUP) ask_sent_q <= 1'b0;
    else if (ask_ready) ask_sent_q <= 1'b1;
    if (ans_valid && ans_ready) ans_q <= ans;
    if (rst_i) ask_sent_q <= 1'b0;
  end

  // -- SEND with invalidate
  logic lop_sent_q;
  assign lop_valid = state_q == INVAL && !lop_sent_q;
  always_comb begin
    lop = '0;
    if (lop_valid) begin
      lop.op = rnic_pkg::LOP_INVALIDATE;
      lop.remote = 1'b1;
      lop.key = m_q.imm;
      lop.pd = c_q.pd;
    end
  end
  always_ff @(posedge clk_i) begin
    if (lop_valid && lop_ready) lop_sent_q <= 1'b1;
    if (state_q == INVAL && lop_done_valid) begin
      lop_sent_q <= 1'b0;
      inv_failed_q <= !lop_done_ok;
    end
    if (in_check) inv_failed_q <= 1'b0;
    if (rst_i) lop_sent_q <= 1'b0;
  end

  // -- answers and completions
  rx_answer u_answer (
      .m_i(m_q),
      .r_i(r_q),
      .min_rnr_timer_i(c_q.min_rnr_timer),
      .qpn_i(qpn_q),
      .mr_i(mr),
      .ticket_i(ticket_q),
      .valid_i(deciding),
      .execute_i(execute && !loc_inv),
      .last_i(last_q),
      .read_i(read_q),
      .atomic_i(atomic_q),
      .dup_i(dup_q),
      .nak_seq_i(nak_seq),
      .nak_rnr_i(nak_rnr),
      .nak_inv_i(nak_inv),
      .nak_acc_i(nak_acc),
      .nak_op_i(nak_op),
      .ackq(ackq)
  );

  logic [7:0] local_status;
  assign local_status = loc_wqe ? wqe_status_q :
                        loc_len ? rnic_desc_pkg::CQE_STATUS_LOC_LEN_ERR :
                        loc_prot ? rnic_desc_pkg::CQE_STATUS_LOC_PROT_ERR :
                        rnic_desc_pkg::CQE_STATUS_REM_INV_REQ_ERR;
  always_comb begin
    fail = '0;
    if (fail_valid) begin
      fail.qpn = qpn_q;
      fail.cause = local_error ? local_status :
                   nak_inv ? rnic_desc_pkg::CQE_STATUS_REM_INV_REQ_ERR :
                   nak_acc ? rnic_desc_pkg::CQE_STATUS_REM_ACCESS_ERR :
                   rnic_desc_pkg::CQE_STATUS_REM_OP_ERR;
      fail.event_type = nak_acc ? rnic_desc_pkg::EQE_TYPE_QP_ACCESS_ERR :
                        rnic_desc_pkg::EQE_TYPE_QP_FATAL;
    end
  end

  // -- pieces
  logic emit_piece;
  assign emit_piece = state_q == EMIT && any_piece;
  logic [319:0] grh;
  logic [5:0] grh_at;
  logic [31:0] message_len;
  logic [15:0] rq_cons_next;
  rx_grh u_grh (
      .en_i (is_ud_q && (emit_piece || deciding)),
      .m_i  (m_q),
      .grh_o(grh)
  );
  assign grh_at = emit_piece ? e_done[5:0] : done_q[5:0];
  assign message_len = send_q ? got_q + {19'd0, total_q} : first_q ? m_q.dmalen : r_q.dmalen;
  assign rq_cons_next = r_q.rq_cons + 16'd1;

  assign emit = emit_piece && out_ready;
  always_comb begin
    out_place = '0;
    out_cqe = '0;
    if (emit_piece) begin
      out_place.write = 1'b1;
      out_place.ticket = 1'b1;
      out_place.more = 1'b1;
      out_place.len = e_len;
      out_place.addr = e_addr;
      out_place.target = e_target;
      out_place.gpu = e_gpu;
      out_place.inl = is_ud_q && e_done < GRH_BYTES;
      out_place.qpn = qpn_q;
      out_place.psn = m_q.psn;
      out_place.sampled = 1'b1;
    end
    if (deciding) begin
      out_place.write = execute && total_q != 13'd0;
      out_place.ticket = out_place.write;
      out_place.len = out_place.write ? rest : m_q.payload_len;
      out_place.addr = mr.iova;
      out_place.target = mr.target;
      out_place.gpu = mr.gpu;
      out_place.inl = out_place.write && is_ud_q && done_q < GRH_BYTES;
      out_place.qpn = qpn_q;
      out_place.psn = m_q.psn;
      out_place.has_cqe = ends_wqe;
      out_place.sampled = 1'b1;
    end
    if (out_place.inl) out_place.inl_data = grh >> {grh_at, 3'b000};
    if (deciding && ends_wqe) begin
      out_cqe.cqn = c_q.recv_cqn;
      out_cqe.qpn = qpn_q;
      out_cqe.wqe_index = r_q.rq_cons;
      out_cqe.sampled = 1'b1;
      if (local_error) begin
        out_cqe.opcode = rnic_desc_pkg::CQE_OPCODE_RECV_ERR;
        out_cqe.status = local_status;
      end else begin
        out_cqe.opcode = write_q ? rnic_desc_pkg::CQE_OPCODE_RECV_WRITE_IMM :
                         imm_q ? rnic_desc_pkg::CQE_OPCODE_RECV_IMM :
                         invkey_q ? rnic_desc_pkg::CQE_OPCODE_RECV_INV :
                         rnic_desc_pkg::CQE_OPCODE_RECV;
        out_cqe.status = rnic_desc_pkg::CQE_STATUS_SUCCESS;
        out_cqe.byte_count = message_len;
        // an immediate as it stood on the wire, a key as a number
        if (imm_q) out_cqe.imm = {m_q.imm[7:0], m_q.imm[15:8], m_q.imm[23:16], m_q.imm[31:24]};
        if (invkey_q) out_cqe.imm = m_q.imm;
        out_cqe.imm_valid = imm_q;
        out_cqe.ipv6 = m_q.ipv6;
        out_cqe.solicited = m_q.se;
        out_cqe.grh = is_ud_q;
        out_cqe.src_qpn = m_q.src_qpn;
        out_cqe.fence = off_host || (!first_q && r_q.off_host);
      end
    end
    if (state_q == FLUSH) begin
      out_place.qpn = qpn_q;
      out_place.has_cqe = 1'b1;
      out_place.alone = 1'b1;
      out_cqe.cqn = c_q.recv_cqn;
      out_cqe.qpn = qpn_q;
      out_cqe.opcode = rnic_desc_pkg::CQE_OPCODE_RECV_ERR;
      out_cqe.status = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
      out_cqe.wqe_index = r_q.rq_cons;
    end
  end
  logic flush_more;
  logic [15:0] flush_left;
  assign flush_left = flush_prod_q - r_q.rq_cons;
  assign flush_more = flush_left != 16'd0;
  assign out_valid = (deciding && !placed_q) || emit_piece || (state_q == FLUSH && flush_more);
  assign flush_fire = state_q == FLUSH && flush_more && out_ready;

  // Decisions wait here for rx_placer; out_ready depends on state only.
  localparam int unsigned PLACE_W = 1 + $bits(out_place) + $bits(out_cqe);
  logic out_arp;
  assign out_arp = execute && judged && ans_q == arp_pkg::ANS_ACCEPT;
  logic [1:0] out_level;
  stream_fifo_small #(
      .W(PLACE_W),
      .DEPTH(2),
      .LATENCY(0)
  ) u_place (
      .clk_i,
      .rst_i,
      .in_valid(out_valid),
      .in_ready(out_ready),
      .in_data({out_arp, out_place, out_cqe}),
      .out_valid(place_valid),
      .out_ready(place_ready),
      .out_data({place_arp, place, place_cqe}),
      .level_o(out_level)
  );
  // Payload writes ordered so far: a READ waits for those before it.
  always_ff @(posedge clk_i) begin
    if (out_valid && out_ready && out_place.ticket) ticket_q <= ticket_q + 16'd1;
    if (rst_i) ticket_q <= '0;
  end

  // -- events
  rnic_pkg::event_t ev_in;
  logic [1:0] ev_level;
  assign ev_in_valid = (deciding && announce && !told_q) || state_q == TELL;
  always_comb begin
    ev_in = '0;
    ev_in.etype = (state_q == TELL) ? rnic_desc_pkg::EQE_TYPE_LAST_WQE :
                  rnic_desc_pkg::EQE_TYPE_COMM_EST;
    ev_in.number = qpn_q;
  end
  localparam int unsigned EV_W = $bits(ev_in);
  stream_fifo_small #(
      .W(EV_W),
      .DEPTH(2),
      .LATENCY(1)
  ) u_events (
      .clk_i,
      .rst_i,
      .in_valid(ev_in_valid),
      .in_ready(ev_in_ready),
      .in_data(ev_in),
      .out_valid(ev_valid),
      .out_ready(ev_ready),
      .out_data(ev),
      .level_o(ev_level)
  );

  // -- receive half, next
  logic order_now, apply;
  logic [23:0] read_psns;
  logic [31:0] read_sum;
  assign read_sum = m_q.dmalen + (32'd127 << c_q.mtu) + ((32'd1 << c_q.mtu) - 32'd1);
  // ceil(length / MTU), at least 1; MTU is 128 << code
  assign read_psns = (m_q.dmalen == 32'd0) ? 24'd1 : 24'(read_sum >> ({1'b0, c_q.mtu} + 4'd7));
  always_comb begin
    r_next = r_q;
    // One NAK per gap. After a fatal one the QP hears nothing more, also before cmd_unit has
    // written ERR.
    if (nak_seq || nak_rnr) r_next.nak_sent = 1'b1;
    if (fatal) r_next.failed = 1'b1;
    if (ends_wqe) r_next.rq_cons = rq_cons_next;
    if (execute && !loc_inv) begin
      r_next.nak_sent = 1'b0;
      r_next.comm_est = 1'b1;
      if (is_rc_q) r_next.epsn = r_q.epsn + (read_q ? read_psns : 24'd1);
      else r_next.epsn = m_q.psn + 24'd1;
      if (last_q) r_next.msn = r_q.msn + 24'd1;
      r_next.in_write = write_q && !last_q;
      r_next.in_send = send_q && !last_q;
      if (write_q) begin
        r_next.va = (first_q ? m_q.va : r_q.va) + {51'd0, m_q.payload_len};
        r_next.left = (first_q ? m_q.dmalen : r_q.left) - {19'd0, m_q.payload_len};
        if (first_q) begin
          r_next.rkey = m_q.rkey;
          r_next.dmalen = m_q.dmalen;
        end
      end
      if (send_q) r_next.dmalen = message_len;
      if (write_q || send_q) r_next.off_host = off_host || (!first_q && r_q.off_host);
    end
    if (uc_drop) begin
      r_next.epsn = m_q.psn + 24'd1;
      r_next.in_write = 1'b0;
      r_next.in_send = 1'b0;
    end
    if (state_q == ORDER) begin
      r_next = r_now;
      unique case (qpi.op)
        rnic_pkg::QPI_CLEAR: r_next = '0;
        rnic_pkg::QPI_RTR: begin
          r_next = '0;
          r_next.epsn = qpi.psn;
          r_next.rq_cons = r_now.rq_cons;
        end
        default: ;
      endcase
    end
    if (state_q == FLUSH) begin
      r_next = r_q;
      r_next.rq_cons = rq_cons_next;
    end
  end

  assign order_now = state_q == ORDER && have_ctx && work_q == QP_ORDER;
  assign apply = order_now && (qpi.op == rnic_pkg::QPI_CLEAR || qpi.op == rnic_pkg::QPI_RTR);
  assign qpi_ready = (order_now && qpi.op != rnic_pkg::QPI_ERR) ||
                     (state_q == TELL && ev_in_ready);
  assign rcv_wr_qpn = qpn_q;
  assign rcv_wr = r_next;
  assign rcv_wr_valid = (decision_out && (execute || nak_seq || nak_rnr || fatal || uc_drop)) ||
                        apply || flush_fire;
  assign rqp_valid = (decision_out && ends_wqe) || flush_fire;
  assign rqp_qpn = qpn_q;
  assign rqp_index = rq_cons_next;

  // Receives posted in ERR are flushed at once.
  logic to_flush;
  assign to_flush = (work_q == QP_ORDER) ? qpi.op == rnic_pkg::QPI_ERR :
                    c_now.state == rnic_pkg::QPS_ERR;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      LOOK: if (take) state_d = (work_d == PACKET) ? CHECK : ORDER;
      CHECK: if (have_ctx) state_d = k_head ? HEAD : ask_fire ? WAIT : ASK;
      HEAD: if (rqh_valid) state_d = ask_fire ? WAIT : ASK; else if (head_gone) state_d = ASK;
      ASK: if (ask_fire) state_d = WAIT;
      WAIT:
      if (another) state_d = ASK;
      else if (answered && to_inval) state_d = INVAL;
      else if (answered && to_group) state_d = GROUP;
      else if (answered && to_emit) state_d = EMIT;
      else if (decision_out) state_d = take ? CHECK : LOOK;
      INVAL: if (lop_done_valid) state_d = any_piece ? EMIT : DECIDE;
      GROUP: if (ans_valid) state_d = DECIDE;
      EMIT: if (!any_piece) state_d = DECIDE;
      DECIDE: if (decision_out) state_d = take ? CHECK : LOOK;
      ORDER: if (have_ctx) state_d = to_flush ? FLUSH : LOOK;
      FLUSH: if (!flush_more) state_d = (work_q == QP_ORDER) ? TELL : LOOK;
      TELL: if (ev_in_ready) state_d = LOOK;
      default: state_d = LOOK;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    cnt_rx_unknown_qp_o <= decision_out && bad_qp_q;
    cnt_rx_addr_errors_o <= decision_out && !bad_qp_q && bad_addr;
    cnt_rx_pkey_errors_o <= decision_out && !bad_qp_q && !bad_addr && bad_pkey_q;
    cnt_rx_qkey_errors_o <= decision_out && bad_qkey_q;
    cnt_rx_requests_o <= decision_out && execute;
    cnt_rx_sends_o <= decision_out && execute && send_q && last_q && !loc_inv;
    cnt_rx_duplicates_o <= decision_out && seen && dup_q;
    cnt_rx_out_of_order_o <= decision_out && seen && ahead_q;
    cnt_rx_uc_drops_o <= decision_out && uc_drop;
    cnt_msgs_flushed_o <= flush_fire;
    if (rst_i) begin
      state_q <= LOOK;
      cnt_rx_unknown_qp_o <= 1'b0;
      cnt_rx_addr_errors_o <= 1'b0;
      cnt_rx_pkey_errors_o <= 1'b0;
      cnt_rx_qkey_errors_o <= 1'b0;
      cnt_rx_requests_o <= 1'b0;
      cnt_rx_sends_o <= 1'b0;
      cnt_rx_duplicates_o <= 1'b0;
      cnt_rx_out_of_order_o <= 1'b0;
      cnt_rx_uc_drops_o <= 1'b0;
      cnt_msgs_flushed_o <= 1'b0;
    end
  end

  assign trc_valid_o = decision_out && execute;
  assign trc_o = {rnic_pkg::TRC_RX_EXEC, qpn_q, 8'd0, m_q.psn};
  assign trc_sampled_o = 1'b1;

  // What counts is that the connection is the packet's, not what is decided about it.
  logic marked, told_int;
  assign told_int = decision_out && seen && is_rc_q && m_q.has_int && !m_q.int_echo;
  assign marked = decision_out && seen && !is_ud_q && m_q.ecn == roce_pkg::ECN_CE;
  always_ff @(posedge clk_i) begin
    marked_valid_o <= marked;
    if (marked) marked_o <= {qpn_q, c_q.dest_qpn, c_q.path, m_q.sip};
    tele_valid_o <= told_int;
    if (told_int) begin
      tele_qpn_o <= qpn_q;
      tele_o <= m_q.tele;
    end
    if (rst_i) begin
      marked_valid_o <= 1'b0;
      tele_valid_o <= 1'b0;
    end
  end

  assign pin_o = state_q != LOOK;
  assign pin_qpn_o = qpn_q;

  logic unused;
  assign unused = ^{c_q, path, m_q, rqh, piece_level, out_level, ev_level, seg_left, read_sum};

  `RNIC_STREAM_HOLD(place_valid, place_ready, {place_arp, place, place_cqe})
  `RNIC_STREAM_HOLD(ask_valid, ask_ready, ask)
  `RNIC_STREAM_HOLD(ackq_valid, ackq_ready, ackq)
  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
  `RNIC_STREAM_HOLD(lop_valid, lop_ready, lop)
  `RNIC_STREAM_HOLD(ev_valid, ev_ready, ev)
  `RNIC_ASSERT(ack_is_of_a_decision, !(ackq_valid && !deciding))
  `RNIC_ASSERT(pieces_have_room, !another || piece_room)
  `RNIC_ASSERT(pieces_are_whole, !(decision_out && execute) || piece == rest || total_q == '0)
  `RNIC_ASSERT(invalidation_is_asked_for, !lop_done_valid || lop_sent_q)
endmodule
