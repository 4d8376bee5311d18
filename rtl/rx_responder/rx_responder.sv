// SPDX-License-Identifier: Apache-2.0
// The responder half of RC for WRITE and WRITE with immediate: checks each request against the
// connection, its PSN, its order, its length and its memory key, and decides about payload,
// acknowledgement, completion and failure. Owner of the receive half of the context and of the
// receive queue's indices.
// Throughput: one request per 3 cycles. Latency: 3 cycles from request to decision when nothing
// waits. Order: decisions leave in packet order; flushed receive WQEs go the same way, behind the
// completions before them. Doorbells and packets take turns. Dropped in silence and counted:
// unknown QP, wrong P_Key, wrong addresses, what follows a gap, duplicates that cannot be answered.
// The rules: facts roce.md section 4; README.md names the test of each.
`include "rnic_assert.svh"
module rx_responder #(
    parameter int unsigned N_QP = 64
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    output logic                  init_done_o,
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
    // receive queue doorbells
    input  logic                  rqdb_valid,
    output logic                  rqdb_ready,
    input  logic [23:0]           rqdb_qpn,
    input  logic [15:0]           rqdb_index,
    // QP orders
    input  logic                  qpi_valid,
    output logic                  qpi_ready,
    input  rnic_pkg::qp_init_t    qpi,
    // RQ producer of the QP that a query asks for
    input  logic [23:0]           q_rq_qpn_i,
    output logic [15:0]           q_rq_prod_o,
    // decisions
    output logic                  place_valid,
    input  logic                  place_ready,
    output rnic_pkg::rx_place_t   place,
    output rnic_pkg::cqe_req_t    place_cqe,
    output logic                  ackq_valid,
    input  logic                  ackq_ready,
    output rnic_pkg::ack_req_t    ackq,
    output logic                  fail_valid,
    input  logic                  fail_ready,
    output rnic_pkg::qp_fail_t    fail,
    // counters
    output logic                  cnt_rx_unknown_qp_o,
    output logic                  cnt_rx_pkey_errors_o,
    output logic                  cnt_rx_addr_errors_o,
    output logic                  cnt_rx_requests_o,
    output logic                  cnt_rx_duplicates_o,
    output logic                  cnt_rx_out_of_order_o,
    output logic                  cnt_doorbell_refused_o,
    output logic                  cnt_msgs_flushed_o,
    output logic                  trc_valid_o,
    output logic [63:0]           trc_o,
    output logic                  trc_sampled_o,
    output logic lop_valid,
    input  logic lop_ready,
    output rnic_pkg::mr_lop_t lop,
    input  logic lop_done_valid,
    input  logic lop_done_ok,
    output logic ev_valid,
    input  logic ev_ready,
    output rnic_pkg::event_t ev,
    output logic cnt_rx_sends_o,
    output logic cnt_rx_qkey_errors_o,
    output logic cnt_rx_uc_drops_o
);
  localparam int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1;

  // LOOK takes work and starts its lookups, CHECK has the context, ASK repeats the question for key
  // and path, WAIT gets their answers and hands out the decision in the same cycle.
  typedef enum logic [2:0] {LOOK, CHECK, ASK, WAIT, DB, ORDER, FLUSH} state_e;
  state_e state_q, state_d;

  // -- receive queue producer
  logic [AW:0] clear_q;
  logic clearing;
  assign clearing = clear_q < (AW + 1)'(N_QP);
  assign init_done_o = !clearing;
  logic prod_we;
  logic [AW-1:0] prod_waddr;
  logic [15:0] prod_wdata, prod_rd_q;
  logic [15:0] prod_mem[N_QP];
  logic [15:0] prod_query_mem[N_QP];
  always_ff @(posedge clk_i) begin
    if (prod_we) begin
      prod_mem[prod_waddr] <= prod_wdata;
      prod_query_mem[prod_waddr] <= prod_wdata;
    end
    if (rs_lk_valid && rs_lk_ready) prod_rd_q <= prod_mem[rs_lk_qpn[AW-1:0]];
    q_rq_prod_o <= prod_query_mem[q_rq_qpn_i[AW-1:0]];
    if (clearing) clear_q <= clear_q + 1'b1;
    if (rst_i) clear_q <= '0;
  end

  // -- taking work
  typedef enum logic [1:0] {NONE, PACKET, DOORBELL, QP_ORDER} work_e;
  work_e work_d, work_q;
  logic looking, take;
  logic [23:0] look_qpn;
  logic decision_out;  // a decision is complete in this cycle
  logic db_last_q;     // the last work was a doorbell: a packet goes first now
  assign looking = init_done_o && (state_q == LOOK || decision_out);
  always_comb begin
    work_d = NONE;
    look_qpn = req.dest_qpn;
    if (qpi_valid && state_q == LOOK) begin
      work_d = QP_ORDER;
      look_qpn = qpi.qpn;
    end else if (rqdb_valid && !(db_last_q && req_valid && !qpi_valid)) begin
      work_d = DOORBELL;
      look_qpn = rqdb_qpn;
    end else if (req_valid && !qpi_valid) begin
      work_d = PACKET;
    end
  end
  assign take = looking && work_d != NONE && rs_lk_ready && rcv_lk_ready;
  assign req_ready = take && work_d == PACKET;
  assign rqdb_ready = take && work_d == DOORBELL;
  assign rs_lk_valid = looking && work_d != NONE && rcv_lk_ready;
  assign rcv_lk_valid = looking && work_d != NONE && rs_lk_ready;
  assign rs_lk_qpn = look_qpn;
  assign rcv_lk_qpn = look_qpn;

  rnic_pkg::rx_meta_t m_q;
  logic [23:0] qpn_q;
  logic [15:0] db_index_q;
  always_ff @(posedge clk_i) begin
    if (take) begin
      work_q <= work_d;
      qpn_q <= look_qpn;
      db_index_q <= rqdb_index;
      if (work_d == PACKET) m_q <= req;
    end
    if (take) db_last_q <= work_d == DOORBELL;
    if (rst_i) db_last_q <= 1'b0;
  end

  // -- context, newest value of the half
  logic fwd_valid_q;
  logic [23:0] fwd_qpn_q;
  rnic_pkg::qp_recv_t fwd_q, r_now, r_q, r_next;
  rnic_pkg::qp_conn_t c_now, c_q;
  logic have_ctx, asked, have_rs_q, have_rcv_q;  // the halves may come one after the other
  assign asked = state_q == CHECK || state_q == DB || state_q == ORDER;
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
      flush_prod_q <= (state_q == DB) ? db_index_q : prod_rd_q;
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
  logic k_bad_qp, k_bad_pkey, k_ahead, k_dup, k_exp, k_inv, k_rnr, k_first, k_last, k_imm, k_again;
  rx_check u_check (
      .m_i(m_q),
      .c_i(c_now),
      .r_i(r_now),
      .rq_prod_i(prod_rd_q),
      .bad_qp_o(k_bad_qp),
      .bad_pkey_o(k_bad_pkey),
      .ahead_o(k_ahead),
      .duplicate_o(k_dup),
      .expected_o(k_exp),
      .invalid_o(k_inv),
      .rnr_o(k_rnr),
      .first_o(k_first),
      .last_o(k_last),
      .imm_o(k_imm),
      .again_o(k_again)
  );

  logic bad_qp_q, bad_pkey_q, ahead_q, dup_q, exp_q, inv_q, rnr_q, first_q, last_q, imm_q, again_q;
  logic [63:0] va_q;
  logic [31:0] key_q, span_q;  // key, and what of the region is checked
  always_ff @(posedge clk_i) begin
    if (state_q == CHECK && have_ctx && work_q == PACKET) begin
      {bad_qp_q, bad_pkey_q, ahead_q, dup_q, exp_q} <=
          {k_bad_qp, k_bad_pkey, k_ahead, k_dup, k_exp};
      {inv_q, rnr_q, first_q, last_q, imm_q, again_q} <=
          {k_inv, k_rnr, k_first, k_last, k_imm, k_again};
      va_q <= mrq.va;
      key_q <= mrq.key;
      span_q <= mrq.len;
    end
  end

  // The key is asked for with every expected packet; a packet that is refused for another reason
  // ignores the answer.
  logic in_check;
  assign in_check = state_q == CHECK && have_ctx && work_q == PACKET;
  always_comb begin
    mrq = '0;
    if (in_check || state_q == ASK) begin
      mrq.key = in_check ? (k_first ? m_q.rkey : r_now.rkey) : key_q;
      mrq.va = in_check ? (k_first ? m_q.va : r_now.va) : va_q;
      mrq.len = in_check ? (k_first ? m_q.dmalen : {19'd0, m_q.payload_len}) : span_q;
      mrq.pd = in_check ? c_now.pd : c_q.pd;
      mrq.need_rwrite = 1'b1;
    end
  end
  // Both questions go out in one cycle, their answers may come in different ones.
  assign mrq_valid = (in_check || state_q == ASK) && rp_lk_ready;
  assign rp_lk_valid = (in_check || state_q == ASK) && mrq_ready;
  assign rp_lk_index = in_check ? c_now.path : c_q.path;

  rnic_pkg::mr_rsp_t mrs_q;
  rnic_pkg::path_t path_q;
  logic mrs_have_q, path_have_q, answered;
  assign answered = (mrs_valid || mrs_have_q) && (rp_valid || path_have_q);
  always_ff @(posedge clk_i) begin
    if (mrs_valid) mrs_q <= mrs;
    if (rp_valid) path_q <= rp;
    if (mrs_valid) mrs_have_q <= 1'b1;
    if (rp_valid) path_have_q <= 1'b1;
    if (decision_out || rst_i) begin
      mrs_have_q <= 1'b0;
      path_have_q <= 1'b0;
    end
  end

  // -- decision
  rnic_pkg::mr_rsp_t mr;
  rnic_pkg::path_t path;
  assign mr = mrs_have_q ? mrs_q : mrs;
  assign path = path_have_q ? path_q : rp;

  logic bad_addr, seen, execute, nak_seq, nak_rnr, nak_inv, nak_acc, nak_op;
  assign bad_addr = !(path.valid && path.ipv6 == m_q.ipv6 && path.sip == m_q.dip && path.dip ==
      m_q.sip);
  // seen: the packet belongs to this connection.
  assign seen = !bad_qp_q && !bad_addr && !bad_pkey_q;
  assign nak_seq = seen && ahead_q && !r_q.nak_sent;
  assign nak_rnr = seen && exp_q && rnr_q;
  assign nak_inv = seen && exp_q && !rnr_q && inv_q;
  // A good region whose target is refused is this side's fault: remote operational error.
  assign nak_acc = seen && exp_q && !rnr_q && !inv_q && !mr.ok && !mr.refused;
  assign nak_op = seen && exp_q && !rnr_q && !inv_q && mr.refused;
  assign execute = seen && exp_q && !rnr_q && !inv_q && mr.ok && !mr.refused;

  logic deciding;
  assign deciding = state_q == WAIT && answered;

  // The three outputs of a decision are taken each in its own time; it is complete when the last
  // one is.
  logic fatal, wants_ack, off_host, out_valid, out_ready, placed_q, acked_q, failed_q;
  rnic_pkg::rx_place_t out_place;
  rnic_pkg::cqe_req_t out_cqe;
  assign fatal = nak_inv || nak_acc || nak_op;
  assign wants_ack = nak_seq || nak_rnr || fatal || (seen && dup_q && again_q) ||
      (execute && m_q.ack_req);
  assign off_host = mr.target != rnic_pkg::TGT_HOST;
  assign decision_out = deciding && (placed_q || out_ready) &&
      (!wants_ack || acked_q || ackq_ready) &&
                        (!fatal || failed_q || fail_ready);
  assign ackq_valid = deciding && wants_ack && !acked_q;
  assign fail_valid = deciding && fatal && !failed_q;
  always_ff @(posedge clk_i) begin
    if (deciding) begin
      placed_q <= placed_q || out_ready;
      acked_q <= acked_q || ackq_ready;
      failed_q <= failed_q || fail_ready;
    end
    if (decision_out || rst_i) begin
      placed_q <= 1'b0;
      acked_q <= 1'b0;
      failed_q <= 1'b0;
    end
  end

  logic [15:0] rq_cons_next;
  logic [31:0] total;
  assign rq_cons_next = r_q.rq_cons + 16'd1;
  assign total = first_q ? m_q.dmalen : r_q.dmalen;

  always_comb begin
    out_place = '0;
    out_cqe = '0;
    ackq = '0;
    fail = '0;
    if (deciding) begin
      out_place.write = execute && m_q.payload_len != 13'd0;
      out_place.len = m_q.payload_len;
      out_place.addr = mr.iova;
      out_place.target = mr.target;
      out_place.gpu = mr.gpu;
      out_place.qpn = qpn_q;
      out_place.psn = m_q.psn;
      out_place.has_cqe = execute && imm_q;
      out_place.sampled = 1'b1;
      out_cqe.cqn = c_q.recv_cqn;
      out_cqe.qpn = qpn_q;
      out_cqe.opcode = rnic_desc_pkg::CQE_OPCODE_RECV_WRITE_IMM;
      out_cqe.status = rnic_desc_pkg::CQE_STATUS_SUCCESS;
      out_cqe.wqe_index = r_q.rq_cons;
      out_cqe.byte_count = total;
      out_cqe.imm = {m_q.imm[7:0], m_q.imm[15:8], m_q.imm[23:16], m_q.imm[31:24]};
      out_cqe.imm_valid = 1'b1;
      out_cqe.ipv6 = m_q.ipv6;
      out_cqe.solicited = m_q.se;
      out_cqe.fence = (off_host && m_q.payload_len != 13'd0) || (!first_q && r_q.off_host);
      out_cqe.sampled = 1'b1;
      ackq.qpn = qpn_q;
      // NAKs name the expected PSN, which is the packet's own unless there is a gap
      ackq.psn = r_q.epsn;
      ackq.msn = (execute && last_q) ? r_q.msn + 24'd1 : r_q.msn;
      ackq.syndrome = roce_pkg::SYN_ACK;
      ackq.ack_req = m_q.ack_req;
      ackq.urgent = !execute;
      ackq.sampled = 1'b1;
      if (dup_q) ackq.psn = r_q.epsn - 24'd1;
      if (nak_seq) ackq.syndrome = roce_pkg::SYN_NAK_SEQ;
      if (nak_rnr) ackq.syndrome = roce_pkg::SYN_RNR | {3'd0, c_q.min_rnr_timer};
      if (nak_inv) ackq.syndrome = roce_pkg::SYN_NAK_INV;
      if (nak_acc) ackq.syndrome = roce_pkg::SYN_NAK_ACCESS;
      if (nak_op) ackq.syndrome = roce_pkg::SYN_NAK_OP;

      fail.qpn = qpn_q;
      fail.cause = nak_inv ? rnic_desc_pkg::CQE_STATUS_REM_INV_REQ_ERR :
                   nak_acc ? rnic_desc_pkg::CQE_STATUS_REM_ACCESS_ERR :
                   rnic_desc_pkg::CQE_STATUS_REM_OP_ERR;
      fail.event_type = nak_acc ? rnic_desc_pkg::EQE_TYPE_QP_ACCESS_ERR :
                        rnic_desc_pkg::EQE_TYPE_QP_FATAL;
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
  assign out_valid = (deciding && !placed_q) || (state_q == FLUSH && flush_more);
  assign flush_fire = state_q == FLUSH && flush_more && out_ready;

  // Decisions wait here for rx_placer; out_ready depends on state only.
  localparam int unsigned PLACE_W = $bits(out_place) + $bits(out_cqe);
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
      .in_data({out_place, out_cqe}),
      .out_valid(place_valid),
      .out_ready(place_ready),
      .out_data({place, place_cqe}),
      .level_o(out_level)
  );

  // -- receive half, next
  always_comb begin
    r_next = r_q;
    // One NAK per gap. After a fatal one the QP hears nothing more, also before cmd_unit has
    // written ERR.
    if (nak_seq || nak_rnr) r_next.nak_sent = 1'b1;
    if (fatal) r_next.failed = 1'b1;
    if (execute) begin
      r_next.nak_sent = 1'b0;
      r_next.epsn = r_q.epsn + 24'd1;
      r_next.in_write = !last_q;
      if (last_q) r_next.msn = r_q.msn + 24'd1;
      if (imm_q) r_next.rq_cons = rq_cons_next;
      if (first_q) begin
        r_next.rkey = m_q.rkey;
        r_next.dmalen = m_q.dmalen;
        r_next.va = m_q.va + {51'd0, m_q.payload_len};
        r_next.left = m_q.dmalen - {19'd0, m_q.payload_len};
        r_next.off_host = off_host && m_q.payload_len != 13'd0;
      end else begin
        r_next.va = r_q.va + {51'd0, m_q.payload_len};
        r_next.left = r_q.left - {19'd0, m_q.payload_len};
        r_next.off_host = r_q.off_host || off_host;
      end
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

  // -- doorbells, QP orders and the flush
  logic [15:0] db_ahead, db_have, flush_left, flush_prod_q;
  logic db_good, order_now, flush_more, flush_fire, apply;
  assign db_ahead = db_index_q - r_now.rq_cons;
  assign db_have = prod_rd_q - r_now.rq_cons;
  // Not more than the ring holds, and never backwards.
  assign db_good = c_now.exists && c_now.state != rnic_pkg::QPS_RESET && db_ahead <=
      (16'd1 << c_now.log_rq) &&
                   db_ahead >= db_have;
  assign flush_left = flush_prod_q - r_q.rq_cons;
  assign flush_more = flush_left != 16'd0;
  assign order_now = state_q == ORDER && have_ctx;
  assign qpi_ready = (order_now && qpi.op != rnic_pkg::QPI_ERR) ||
                     (state_q == FLUSH && !flush_more && work_q == QP_ORDER);
  assign apply = order_now && (qpi.op == rnic_pkg::QPI_CLEAR || qpi.op == rnic_pkg::QPI_RTR);

  assign prod_we = clearing || (state_q == DB && have_ctx && db_good) ||
                   (order_now && qpi.op == rnic_pkg::QPI_CLEAR && qpi.qpn < 24'(N_QP));
  assign prod_waddr = clearing ? clear_q[AW-1:0] : qpn_q[AW-1:0];
  assign prod_wdata = (clearing || state_q == ORDER) ? '0 : db_index_q;

  assign rcv_wr_qpn = qpn_q;
  assign rcv_wr = r_next;
  assign rcv_wr_valid = (decision_out && (execute || nak_seq || nak_rnr || fatal)) || apply ||
                        flush_fire;

  // A doorbell to a QP in ERR flushes at once what it announces.
  logic db_flush;
  assign db_flush = db_good && c_now.state == rnic_pkg::QPS_ERR;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      LOOK: if (take) state_d = (work_d == PACKET) ? CHECK : (work_d == DOORBELL) ? DB : ORDER;
      CHECK: if (have_ctx) state_d = (mrq_ready && rp_lk_ready) ? WAIT : ASK;
      ASK: if (mrq_ready && rp_lk_ready) state_d = WAIT;
      WAIT: if (decision_out) state_d = take ? ((work_d == PACKET) ? CHECK : DB) : LOOK;
      DB: if (have_ctx) state_d = db_flush ? FLUSH : LOOK;
      ORDER: if (have_ctx) state_d = (qpi.op == rnic_pkg::QPI_ERR) ? FLUSH : LOOK;
      FLUSH: if (!flush_more) state_d = LOOK;
      default: state_d = LOOK;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    cnt_rx_unknown_qp_o <= decision_out && bad_qp_q;
    cnt_rx_addr_errors_o <= decision_out && !bad_qp_q && bad_addr;
    cnt_rx_pkey_errors_o <= decision_out && !bad_qp_q && !bad_addr && bad_pkey_q;
    cnt_rx_requests_o <= decision_out && execute;
    cnt_rx_duplicates_o <= decision_out && seen && dup_q;
    cnt_rx_out_of_order_o <= decision_out && seen && ahead_q;
    cnt_doorbell_refused_o <= state_q == DB && have_ctx && !db_good;
    cnt_msgs_flushed_o <= flush_fire;
    if (rst_i) begin
      state_q <= LOOK;
      cnt_rx_unknown_qp_o <= 1'b0;
      cnt_rx_addr_errors_o <= 1'b0;
      cnt_rx_pkey_errors_o <= 1'b0;
      cnt_rx_requests_o <= 1'b0;
      cnt_rx_duplicates_o <= 1'b0;
      cnt_rx_out_of_order_o <= 1'b0;
      cnt_doorbell_refused_o <= 1'b0;
      cnt_msgs_flushed_o <= 1'b0;
    end
  end

  assign trc_valid_o = decision_out && execute;
  assign trc_o = {rnic_pkg::TRC_RX_EXEC, qpn_q, 8'd0, m_q.psn};
  assign trc_sampled_o = 1'b1;

  logic unused;
  assign unused = ^{c_q, mr.flat, mr.room, path, m_q, q_rq_qpn_i, work_q, out_level};

  `RNIC_STREAM_HOLD(place_valid, place_ready, {place, place_cqe})
  `RNIC_STREAM_HOLD(ackq_valid, ackq_ready, ackq)
  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
  `RNIC_ASSERT(ack_is_of_a_decision, !(ackq_valid && state_q != WAIT))

  // Ports of the complete RC transport that this block does not use yet.
  assign lop_valid = '0;
  assign lop = '0;
  assign ev_valid = '0;
  assign ev = '0;
  assign cnt_rx_sends_o = '0;
  assign cnt_rx_qkey_errors_o = '0;
  assign cnt_rx_uc_drops_o = '0;
  logic unused_rc;
  assign unused_rc = ^{lop_ready, lop_done_valid, lop_done_ok, ev_ready};
endmodule
