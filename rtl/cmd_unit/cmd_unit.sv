// SPDX-License-Identifier: Apache-2.0
// Executes the commands of the mailbox and the failures of QPs: the only writer of the connection
// half and of the tables. It checks every index and rule first; a refused command changes nothing
// and says why in its status. Throughput: one command at a time, 6 to about 30 cycles plus what the
// owners of the other context halves need to apply an order; DESTROY and RESET wait besides until
// writes that were under way have left (settle). Order: commands and failures in turn, failures
// first. A failure takes a QP in INIT, RTR, RTS, SQD or SQE to ERR, reports an event to EQ
// 0, and orders QPI_ERR; in other states it changes nothing. One of the sending side of UC or UD
// takes it to SQE.
module cmd_unit #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_CQ = 64,
    parameter int unsigned N_EQ = 8,
    parameter int unsigned N_MR = 256,
    parameter int unsigned N_PD = 64,
    parameter int unsigned N_PATH = 64,
    parameter int unsigned N_MSIX = 32,
    parameter int unsigned ARP = 0                // 1: arp_fsm is there
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    output logic                 init_done_o,
    // mailbox windows and registers
    input  logic                 mbox_in_req_i,
    input  logic                 mbox_in_we_i,
    input  logic [6:0]           mbox_in_addr_i,
    input  logic [31:0]          mbox_in_wdata_i,
    input  logic [3:0]           mbox_in_wstrb_i,
    output logic                 mbox_in_ack_o,
    output logic [31:0]          mbox_in_rdata_o,
    input  logic                 mbox_out_req_i,
    input  logic [6:0]           mbox_out_addr_i,
    output logic                 mbox_out_ack_o,
    output logic [31:0]          mbox_out_rdata_o,
    input  logic                 go_i,
    output logic                 busy_o,
    output logic [7:0]           status_o,
    output logic [15:0]          token_o,
    input  logic [19:0]          cfg_rate_i,      // rate of new QPs
    output logic                 fatal_o,         // sticky: a fault that belongs to no QP
    // connection half and query of all halves
    output logic                 cw_valid,
    output logic [23:0]          cw_qpn,
    output rnic_pkg::qp_conn_t   cw,
    output logic                 q_lk_valid,
    input  logic                 q_lk_ready,
    output logic [23:0]          q_lk_qpn,
    input  logic                 q_ctx_valid,
    input  rnic_pkg::qp_conn_t   q_conn,
    input  rnic_pkg::qp_send_t   q_snd,
    input  rnic_pkg::qp_ack_t    q_ack,
    input  rnic_pkg::qp_recv_t   q_rcv,
    output logic                 qry_lk_valid,
    input  logic                 qry_lk_ready,
    output logic [23:0]          qry_lk_qpn,
    // there is a place for the context of the QP that q_rq_qpn_o names
    input  logic                 ctx_room_i,
    // the QP whose context is in use
    output logic                 pin_o,
    output logic [23:0]          pin_qpn_o,
    input  logic                 qry_valid,
    input  logic [15:0]          qry_prod,
    input  logic [15:0]          qry_fetch,
    output logic [23:0]          q_rq_qpn_o,
    input  logic [15:0]          q_rq_prod_i,
    // memory regions
    output logic                 mr_cw_valid,
    output logic [23:0]          mr_cw_index,
    output rnic_pkg::mr_entry_t  mr_cw,
    output logic                 mr_cr_valid,
    input  logic                 mr_cr_ready,
    output logic [23:0]          mr_cr_index,
    input  logic                 mr_crs_valid,
    input  rnic_pkg::mr_entry_t  mr_crs,
    // completion queues
    output logic                 cq_cw_valid,
    output logic [15:0]          cq_cw_index,
    output rnic_pkg::cq_entry_t  cq_cw,
    output logic                 cq_cr_valid,
    output logic [15:0]          cq_cr_index,
    input  logic                 cq_crs_valid,
    input  rnic_pkg::cq_entry_t  cq_crs,
    input  logic [15:0]          cq_crs_prod,
    input  logic [15:0]          cq_crs_cons,
    // event queues
    output logic                 eq_cw_valid,
    output logic [7:0]           eq_cw_index,
    output rnic_pkg::eq_entry_t  eq_cw,
    output logic                 eq_cr_valid,
    output logic [7:0]           eq_cr_index,
    input  logic                 eq_crs_valid,
    input  rnic_pkg::eq_entry_t  eq_crs,
    input  logic [15:0]          eq_crs_prod,
    // paths
    output logic                 path_cw_valid,
    output logic [15:0]          path_cw_index,
    output rnic_pkg::path_t      path_cw,
    output logic                 path_cr_valid,
    input  logic                 path_cr_ready,
    output logic [15:0]          path_cr_index,
    input  logic                 path_crs_valid,
    input  rnic_pkg::path_t      path_crs,
    // orders, one target after the other: 0 sq_scheduler, 1 sq_engine, 2 tx_buffer, 3 msg_pool, 4
    // rx_completer, 5 rx_responder, 6 resp_engine, 7 doorbell
    output logic [7:0]           qpi_valid_o,
    input  logic [7:0]           qpi_ready_i,
    output rnic_pkg::qp_init_t   qpi_o,
    // asks that what is under way towards memory ends
    output logic                 settle_o,
    input  logic                 settled_i,
    // commands of arp_fsm: shown until it answers, with its status
    output logic                 arp_valid_o,
    output logic [1023:0]        arp_cmd_o,
    input  logic                 arp_done_i,
    input  logic [7:0]           arp_status_i,
    input  logic [1023:0]        arp_answer_i,   // of QUERY_ARP
    // QPs that ask to fail
    input  logic                 fail_valid,
    output logic                 fail_ready,
    input  rnic_pkg::qp_fail_t   fail,
    input  logic                 fail_sq_i,       // asked by the sending side
    // asynchronous events
    output logic                 event_valid,
    input  logic                 event_ready,
    output rnic_pkg::event_t     event_o,
    output logic                 cnt_cmd_done_o,
    output logic                 cnt_cmd_errors_o
);
  localparam int unsigned PD_AW = (N_PD > 1) ? $clog2(N_PD) : 1;
  localparam int unsigned N_TARGET = 8;

  // -- mailbox
  logic [1023:0] raw;
  logic answer_valid;
  logic [1023:0] answer;
  cmd_mailbox u_mailbox (
      .clk_i,
      .rst_i,
      .in_req_i(mbox_in_req_i),
      .in_we_i(mbox_in_we_i),
      .in_addr_i(mbox_in_addr_i),
      .in_wdata_i(mbox_in_wdata_i),
      .in_wstrb_i(mbox_in_wstrb_i),
      .in_ack_o(mbox_in_ack_o),
      .in_rdata_o(mbox_in_rdata_o),
      .out_req_i(mbox_out_req_i),
      .out_addr_i(mbox_out_addr_i),
      .out_ack_o(mbox_out_ack_o),
      .out_rdata_o(mbox_out_rdata_o),
      .busy_i(busy_o),
      .cmd_o(raw),
      .answer_valid_i(answer_valid),
      .answer_i(answer)
  );
  rnic_desc_pkg::cmd_t head;
  rnic_desc_pkg::cmd_mr_t c_mr;
  rnic_desc_pkg::cmd_cq_t c_cq;
  rnic_desc_pkg::cmd_eq_t c_eq;
  rnic_desc_pkg::cmd_path_t c_path;
  rnic_desc_pkg::cmd_qp_t c_qp, m_qp;
  assign head = raw;
  assign c_mr = raw;
  assign c_cq = raw;
  assign c_eq = raw;
  assign c_path = raw;
  assign c_qp = raw;

  // -- failures
  logic bad_fail, next_fail, take_fail;
  rnic_pkg::qp_fail_t f, f_q;
  logic f_sq, f_sq_q;
  fail_list #(
      .N_QP(N_QP)
  ) u_fails (
      .clk_i,
      .rst_i,
      .in_valid(fail_valid),
      .in_ready(fail_ready),
      .in(fail),
      .in_sq(fail_sq_i),
      .unknown_o(bad_fail),
      .out_valid(next_fail),
      .out_ready(take_fail),
      .out(f),
      .out_sq(f_sq)
  );

  // -- sequencer
  typedef enum logic [3:0] {IDLE, ASK, WAIT, CHECK, ORDER_FIRST, APPLY, REFS, ORDERS, SETTLE,
      GROUP, EVENT, ANSWER, DONE} state_e;
  typedef enum logic [2:0] {K_NONE, K_QP, K_SQ, K_MR, K_CQ, K_EQ, K_PATH} kind_e;
  state_e state_q, state_d;
  logic failing_q;      // this is a failure, not a command
  logic [1:0] step_q;   // which lookup
  logic [3:0] target_q; // which owner gets the order
  logic ref_step_q;
  logic go_q;

  // What an opcode is, in the shape of its work.
  logic [7:0] op;
  logic is_pd, is_mr, is_cq, is_eq, is_path, is_qp, is_arp, is_create, is_destroy, is_query,
      is_modify, known_op;
  assign op = head.opcode;
  assign is_pd = op == rnic_desc_pkg::CMD_OPCODE_CREATE_PD || op ==
      rnic_desc_pkg::CMD_OPCODE_DESTROY_PD;
  assign is_mr = op[7:4] == 4'h2;
  assign is_cq = op[7:4] == 4'h3;
  assign is_eq = op[7:4] == 4'h4;
  assign is_path = op[7:4] == 4'h5;
  assign is_qp = op[7:4] == 4'h6;
  assign is_arp = ARP != 0 && op >= rnic_desc_pkg::CMD_OPCODE_CREATE_ARP &&
      op <= rnic_desc_pkg::CMD_OPCODE_QUERY_ARP;
  assign is_create = op[3:0] == 4'h0;
  assign is_modify = op == rnic_desc_pkg::CMD_OPCODE_MODIFY_QP || op ==
      rnic_desc_pkg::CMD_OPCODE_RESET_QP;
  assign is_destroy = op[3:0] == 4'h2;
  assign is_query = op[3:0] == 4'h3;
  assign known_op = is_pd || ((is_mr || is_cq || is_eq || is_path || is_qp) &&
      (is_create || is_destroy || is_query)) ||
                    is_modify || is_arp || op == rnic_desc_pkg::CMD_OPCODE_NOP;

  logic [23:0] number;
  logic in_range;
  assign number = failing_q ? f_q.qpn : head.number;
  always_comb begin
    in_range = 1'b1;
    if (is_pd) in_range = head.number < 24'(N_PD);
    if (is_mr) in_range = head.number < 24'(N_MR);
    if (is_cq) in_range = head.number < 24'(N_CQ);
    if (is_eq) in_range = head.number < 24'(N_EQ);
    if (is_path) in_range = head.number < 24'(N_PATH);
    if (is_qp) in_range = head.number < 24'(N_QP);
    if (is_arp) in_range = head.number < 24'd256;  // arp_fsm knows how many there are
  end

  // -- lookups
  kind_e ask_kind;
  logic [23:0] ask_index;
  always_comb begin
    ask_kind = K_NONE;
    ask_index = number;
    if (failing_q) begin
      if (step_q == 2'd0) ask_kind = K_QP;
    end else begin
      unique case (step_q)
        2'd0: begin
          if (is_mr) ask_kind = K_MR;
          if (is_cq) ask_kind = K_CQ;
          if (is_eq) ask_kind = K_EQ;
          if (is_path) ask_kind = K_PATH;
          if (is_qp) ask_kind = K_QP;
        end
        2'd1: begin
          if (is_cq && is_create) begin
            ask_kind = K_EQ;
            ask_index = {16'd0, c_cq.eqn};
          end
          if (is_qp && is_create) begin
            ask_kind = K_CQ;
            ask_index = {8'd0, c_qp.send_cqn};
          end
          if (is_modify && c_qp.mask_path) begin
            ask_kind = K_PATH;
            ask_index = {8'd0, c_qp.path};
          end
          if (is_qp && is_query) ask_kind = K_SQ;
        end
        default: begin
          if (is_qp && is_create) begin
            ask_kind = K_CQ;
            ask_index = {8'd0, c_qp.recv_cqn};
          end
        end
      endcase
    end
  end
  logic asking, asked, answered;
  assign asking = state_q == ASK;
  assign q_lk_valid = asking && ask_kind == K_QP;
  assign qry_lk_valid = asking && ask_kind == K_SQ;
  assign mr_cr_valid = asking && ask_kind == K_MR;
  assign cq_cr_valid = asking && ask_kind == K_CQ;
  assign eq_cr_valid = asking && ask_kind == K_EQ;
  assign path_cr_valid = asking && ask_kind == K_PATH;
  assign q_lk_qpn = ask_index;
  assign qry_lk_qpn = ask_index;
  assign mr_cr_index = ask_index;
  assign cq_cr_index = ask_index[15:0];
  assign eq_cr_index = ask_index[7:0];
  assign path_cr_index = ask_index[15:0];
  assign q_rq_qpn_o = number;
  assign asked = (q_lk_valid && q_lk_ready) || (qry_lk_valid && qry_lk_ready) ||
      (mr_cr_valid && mr_cr_ready) ||
                 cq_cr_valid || eq_cr_valid || (path_cr_valid && path_cr_ready);
  assign answered = q_ctx_valid || qry_valid || mr_crs_valid || cq_crs_valid || eq_crs_valid ||
      path_crs_valid;

  rnic_pkg::qp_conn_t conn_q;
  rnic_pkg::qp_send_t snd_q;
  rnic_pkg::qp_ack_t ack_q;
  rnic_pkg::qp_recv_t rcv_q;
  rnic_pkg::mr_entry_t mr_q;
  rnic_pkg::cq_entry_t cq_q;
  rnic_pkg::eq_entry_t eq_q;
  rnic_pkg::path_t path_q;
  logic [15:0] prod_q, cons_q, fetch_q, eq_prod_q;
  logic cq_both_q;  // every CQ that was asked for exists
  always_ff @(posedge clk_i) begin
    if (q_ctx_valid) begin
      conn_q <= q_conn;
      snd_q <= q_snd;
      ack_q <= q_ack;
      rcv_q <= q_rcv;
    end
    if (qry_valid) begin
      prod_q <= qry_prod;
      fetch_q <= qry_fetch;
    end
    if (mr_crs_valid) mr_q <= mr_crs;
    if (cq_crs_valid) begin
      cq_q <= cq_crs;
      prod_q <= cq_crs_prod;
      cons_q <= cq_crs_cons;
      cq_both_q <= cq_crs.valid && (cq_both_q || step_q != 2'd2);
    end
    if (eq_crs_valid) begin
      eq_q <= eq_crs;
      eq_prod_q <= eq_crs_prod;
    end
    if (path_crs_valid) path_q <= path_crs;
  end

  // -- PDs and uses
  logic [N_PD-1:0] pd_q;
  logic [15:0] pd_named;
  logic pd_ok;
  assign pd_named = is_mr ? c_mr.pd : c_qp.pd;
  assign pd_ok = pd_named < 16'(N_PD) && pd_q[pd_named[PD_AW-1:0]];

  logic [23:0] pd_ref_i, cq_ref_i, eq_ref_i, path_ref_i;
  logic pd_inc, pd_dec, cq_inc, cq_dec, eq_inc, eq_dec, path_inc, path_dec;
  logic pd_used, cq_used, eq_used, path_used;
  logic [3:0] refs_done;
  ref_count #(.N(N_PD)) u_pd_refs (
      .clk_i, .rst_i, .init_done_o(refs_done[0]),
      .index_i(pd_ref_i), .inc_i(pd_inc), .dec_i(pd_dec), .used_o(pd_used)
  );
  ref_count #(.N(N_CQ)) u_cq_refs (
      .clk_i, .rst_i, .init_done_o(refs_done[1]),
      .index_i(cq_ref_i), .inc_i(cq_inc), .dec_i(cq_dec), .used_o(cq_used)
  );
  ref_count #(.N(N_EQ)) u_eq_refs (
      .clk_i, .rst_i, .init_done_o(refs_done[2]),
      .index_i(eq_ref_i), .inc_i(eq_inc), .dec_i(eq_dec), .used_o(eq_used)
  );
  ref_count #(.N(N_PATH)) u_path_refs (
      .clk_i, .rst_i, .init_done_o(refs_done[3]),
      .index_i(path_ref_i), .inc_i(path_inc), .dec_i(path_dec), .used_o(path_used)
  );
  assign init_done_o = &refs_done;

  // -- CHECK
  // RESET_QP is a MODIFY to RESET without attributes.
  always_comb begin
    m_qp = '0;
    if (go_q) m_qp = c_qp;
    if (op == rnic_desc_pkg::CMD_OPCODE_RESET_QP) begin
      m_qp = '0;
      m_qp.state = rnic_pkg::QPS_RESET;
    end
  end
  logic [7:0] modify_status;
  rnic_pkg::qp_conn_t modified;
  logic [2:0] modify_order;
  logic [23:0] modify_psn;
  qp_modify u_modify (
      .now_i(conn_q),
      .cmd_i(m_qp),
      .path_ok_i(path_q.valid && c_qp.path < 16'(N_PATH)),
      .status_o(modify_status),
      .next_o(modified),
      .order_o(modify_order),
      .psn_o(modify_psn)
  );

  logic mr_place_ok;
  mr_place u_mr_place (
      .page_i(c_mr.page),
      .first_i(c_mr.first),
      .iova_i(c_mr.iova),
      .length_i(c_mr.length),
      .ok_o(mr_place_ok)
  );

  logic exists, in_use, params_ok;
  always_comb begin
    exists = 1'b0;
    in_use = 1'b0;
    params_ok = 1'b1;
    if (is_pd) begin
      exists = pd_q[head.number[PD_AW-1:0]];
      in_use = pd_used;
    end
    if (is_mr) begin
      exists = mr_q.exists;
      // The last byte must have an address.
      params_ok = pd_ok && c_mr.length != 64'd0 && (c_mr.va + (c_mr.length - 64'd1)) >= c_mr.va &&
                  mr_place_ok;
    end
    if (is_cq) begin
      exists = cq_q.valid;
      in_use = cq_used;
      params_ok = c_cq.log_size != 4'd0 && c_cq.base[5:0] == 6'd0 && eq_q.valid &&
          {1'b0, c_cq.eqn} < 9'(N_EQ);
    end
    if (is_eq) begin
      exists = eq_q.valid;
      in_use = eq_used;
      params_ok = c_eq.log_size != 4'd0 && c_eq.base[5:0] == 6'd0 && c_eq.vector < 8'(N_MSIX);
    end
    if (is_path) begin
      exists = path_q.valid;
      in_use = path_used;
    end
    if (is_qp) begin
      exists = conn_q.exists;
      params_ok = pd_ok && cq_both_q && c_qp.service != 2'd3 && c_qp.log_sq != 4'd0 &&
          c_qp.log_rq != 4'd0 &&
                  c_qp.sq_base[5:0] == 6'd0 && c_qp.rq_base[5:0] == 6'd0 &&
                      c_qp.send_cqn < 16'(N_CQ) &&
                  c_qp.recv_cqn < 16'(N_CQ);
    end
  end

  logic [7:0] check_status;
  always_comb begin
    check_status = rnic_desc_pkg::CMD_STATUS_OK;
    if (is_create && is_qp && !ctx_room_i) check_status = rnic_desc_pkg::CMD_STATUS_NO_CONTEXT;
    if (is_create && !is_pd && !params_ok && !exists) check_status =
        rnic_desc_pkg::CMD_STATUS_BAD_PARAM;
    if (is_create && exists) check_status = rnic_desc_pkg::CMD_STATUS_IN_USE;
    if ((is_destroy || is_query) && !exists) check_status = rnic_desc_pkg::CMD_STATUS_NOT_FOUND;
    if (is_destroy && exists && in_use) check_status = rnic_desc_pkg::CMD_STATUS_IN_USE;
    if (is_modify) check_status = modify_status;
    if (is_arp || op == rnic_desc_pkg::CMD_OPCODE_NOP) check_status = rnic_desc_pkg::CMD_STATUS_OK;
  end

  // A failure of the sending side of UC or UD stops the send queue only: RTS or SQD to SQE, told by
  // the completion alone. Everything else takes the QP to ERR.
  logic fails_now, to_sqe;  // the failure changes the QP
  assign to_sqe = f_sq_q && conn_q.qtype != rnic_desc_pkg::QP_TYPE_RC;
  always_comb begin
    unique case (conn_q.state)
      rnic_pkg::QPS_RTS, rnic_pkg::QPS_SQD: fails_now = conn_q.exists;
      rnic_pkg::QPS_INIT, rnic_pkg::QPS_RTR, rnic_pkg::QPS_SQE:
      fails_now = conn_q.exists && !to_sqe;
      default: fails_now = 1'b0;
    endcase
  end

  // -- what follows
  logic [2:0] order_op;
  logic [23:0] order_psn;
  logic has_order, order_first;
  always_comb begin
    order_op = rnic_pkg::QPI_CLEAR;
    order_psn = 24'd0;
    has_order = is_qp && (is_create || is_destroy);
    if (is_modify) begin
      order_op = modify_order;
      order_psn = modify_psn;
      has_order = 1'b1;
    end
    if (failing_q) begin
      order_op = rnic_pkg::QPI_ERR;
      has_order = 1'b1;
    end
  end
  // A QP starts only when every owner knows its first PSN; it stops before they are told.
  assign order_first = !failing_q && is_modify &&
                       (order_op == rnic_pkg::QPI_RTR || order_op == rnic_pkg::QPI_RTS);
  assign qpi_o.op = order_op;
  assign qpi_o.qpn = number;
  assign qpi_o.psn = order_psn;
  logic ordering, order_taken, orders_over;
  logic [3:0] orders_end;
  // SQE concerns the sending side: the first five owners.
  assign orders_end = (failing_q && to_sqe) ? 4'd5 : 4'(N_TARGET);
  assign ordering = (state_q == ORDERS || state_q == ORDER_FIRST) && target_q < orders_end;
  assign order_taken = ordering && qpi_ready_i[target_q[2:0]];
  assign orders_over = target_q == orders_end;
  always_comb begin
    qpi_valid_o = '0;
    qpi_valid_o[target_q[2:0]] = ordering;
  end

  logic applying;
  assign applying = state_q == APPLY;
  // What takes memory away answers when no write of before is left.
  logic takes_away;
  state_e after_work;
  assign takes_away = is_destroy || (is_qp && !is_create && order_op == rnic_pkg::QPI_CLEAR);
  assign after_work = takes_away ? SETTLE : DONE;
  assign settle_o = state_q == SETTLE;
  assign arp_valid_o = state_q == GROUP;
  assign arp_cmd_o = arp_valid_o ? raw : '0;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (init_done_o && (next_fail || go_q)) state_d = ASK;
      ASK:
      if (ask_kind == K_NONE) state_d = CHECK;
      else if (asked) state_d = WAIT;
      WAIT: if (answered) state_d = (step_q == 2'd2) ? CHECK : ASK;
      CHECK:
      if (failing_q) state_d = fails_now ? APPLY : IDLE;
      else if (!known_op || !in_range || check_status != rnic_desc_pkg::CMD_STATUS_OK ||
               op == rnic_desc_pkg::CMD_OPCODE_NOP)
        state_d = DONE;
      else if (is_arp) state_d = GROUP;
      else if (is_query) state_d = ANSWER;
      else state_d = order_first ? ORDER_FIRST : APPLY;
      ORDER_FIRST: if (orders_over) state_d = APPLY;
      APPLY: state_d = failing_q ? ORDERS : REFS;
      REFS: if (ref_step_q) state_d = (has_order && !order_first) ? ORDERS : after_work;
      ORDERS: if (orders_over) state_d = !failing_q ? after_work : to_sqe ? IDLE : EVENT;
      SETTLE: if (settled_i) state_d = DONE;
      GROUP: if (arp_done_i) state_d = DONE;
      EVENT: if (!event_valid || event_ready) state_d = IDLE;
      ANSWER: state_d = DONE;
      DONE: state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end
  assign take_fail = state_q == IDLE && init_done_o && next_fail;

  // -- writes of APPLY
  assign cw_valid = applying && (failing_q || is_qp);
  assign cw_qpn = number;
  always_comb begin
    cw = conn_q;
    if (failing_q) begin
      cw.state = to_sqe ? rnic_pkg::QPS_SQE : rnic_pkg::QPS_ERR;
      cw.err_cause = f_q.cause;
    end else if (is_modify) begin
      cw = modified;
    end else begin
      cw = '0;
      if (is_create) begin
        cw.exists = 1'b1;
        cw.state = rnic_pkg::QPS_RESET;
        cw.qtype = c_qp.service;
        cw.sq_sig_all = c_qp.sq_sig_all;
        cw.pd = c_qp.pd;
        cw.send_cqn = c_qp.send_cqn;
        cw.recv_cqn = c_qp.recv_cqn;
        cw.log_sq = c_qp.log_sq;
        cw.log_rq = c_qp.log_rq;
        cw.sq_base = c_qp.sq_base;
        cw.rq_base = c_qp.rq_base;
        cw.rate = cfg_rate_i;
        // A UD message is one packet; its limit is the port's.
        if (c_qp.service == rnic_desc_pkg::QP_TYPE_UD) cw.mtu = 3'd5;
      end
    end
  end

  assign mr_cw_valid = applying && !failing_q && is_mr;
  assign mr_cw_index = number;
  always_comb begin
    mr_cw = '0;
    if (is_create) begin
      mr_cw.exists = 1'b1;
      mr_cw.valid = !c_mr.invalid;
      mr_cw.page = c_mr.page;
      mr_cw.first = c_mr.first[20:0];
      mr_cw.tag = c_mr.key_tag;
      mr_cw.lwrite = c_mr.local_write;
      mr_cw.rwrite = c_mr.remote_write;
      mr_cw.rread = c_mr.remote_read;
      mr_cw.atomic = c_mr.remote_atomic;
      mr_cw.zero_based = c_mr.zero_based;
      mr_cw.pd = c_mr.pd;
      mr_cw.va = c_mr.va;
      mr_cw.length = c_mr.length;
      mr_cw.iova = c_mr.iova;
    end
  end

  assign cq_cw_valid = applying && !failing_q && is_cq;
  assign cq_cw_index = number[15:0];
  assign eq_cw_valid = applying && !failing_q && is_eq;
  assign eq_cw_index = number[7:0];
  assign path_cw_valid = applying && !failing_q && is_path;
  assign path_cw_index = number[15:0];
  always_comb begin
    cq_cw = '0;
    eq_cw = '0;
    path_cw = '0;
    if (is_create) begin
      cq_cw.valid = 1'b1;
      cq_cw.eqn = c_cq.eqn;
      cq_cw.log_size = c_cq.log_size;
      cq_cw.base = c_cq.base;
      eq_cw.valid = 1'b1;
      eq_cw.msix = c_eq.vector;
      eq_cw.log_size = c_eq.log_size;
      eq_cw.base = c_eq.base;
      path_cw.valid = 1'b1;
      path_cw.ipv6 = c_path.ipv6;
      path_cw.vlan = c_path.vlan;
      path_cw.dei = c_path.dei;
      path_cw.pcp = c_path.pcp;
      path_cw.vlan_id = c_path.vlan_id;
      path_cw.ecn = c_path.ecn;
      path_cw.dscp = c_path.dscp;
      path_cw.ttl = c_path.ttl;
      path_cw.sport = c_path.sport;
      path_cw.flow_label = c_path.flow_label;
      // The descriptor has wire order in memory order; path_t has the first wire byte highest.
      for (int i = 0; i < 6; i++) begin
        path_cw.dmac[(5-i)*8+:8] = c_path.dmac[i*8+:8];
        path_cw.smac[(5-i)*8+:8] = c_path.smac[i*8+:8];
      end
      for (int i = 0; i < 16; i++) begin
        path_cw.sip[(15-i)*8+:8] = c_path.sip[i*8+:8];
        path_cw.dip[(15-i)*8+:8] = c_path.dip[i*8+:8];
      end
    end
  end

  // -- uses, in two steps
  logic refs, create_qp, destroy_qp, new_path;
  assign refs = state_q == REFS;
  assign create_qp = is_qp && is_create;
  assign destroy_qp = is_qp && is_destroy;
  // On the way to RESET or ERR attributes are ignored.
  assign new_path = is_modify && m_qp.mask_path && m_qp.state != rnic_pkg::QPS_RESET &&
      m_qp.state != rnic_pkg::QPS_ERR;
  always_comb begin
    pd_ref_i = is_pd ? number : {8'd0, pd_named};
    cq_ref_i = is_cq ? number : {8'd0, ref_step_q ? c_qp.recv_cqn : c_qp.send_cqn};
    eq_ref_i = is_eq ? number : {16'd0, c_cq.eqn};
    path_ref_i = is_path ? number : {8'd0, c_qp.path};
    if (is_mr && is_destroy) pd_ref_i = {8'd0, mr_q.pd};
    if (is_cq && is_destroy) eq_ref_i = {16'd0, cq_q.eqn};
    if (is_cq && refs) cq_ref_i = number;
    if (destroy_qp) begin
      pd_ref_i = {8'd0, conn_q.pd};
      cq_ref_i = {8'd0, ref_step_q ? conn_q.recv_cqn : conn_q.send_cqn};
    end
    if (destroy_qp || (new_path && ref_step_q)) path_ref_i = {8'd0, conn_q.path};

    pd_inc = refs && !ref_step_q && (create_qp || (is_mr && is_create));
    pd_dec = refs && !ref_step_q && (destroy_qp || (is_mr && is_destroy));
    cq_inc = refs && create_qp;
    cq_dec = refs && destroy_qp;
    eq_inc = refs && !ref_step_q && is_cq && is_create;
    eq_dec = refs && !ref_step_q && is_cq && is_destroy;
    path_inc = refs && !ref_step_q && new_path;
    path_dec = refs && conn_q.has_path && ((ref_step_q && new_path) || (!ref_step_q && destroy_qp));
  end

  // -- answers of QUERY
  rnic_desc_pkg::cmd_mr_t a_mr;
  rnic_desc_pkg::cmd_cq_t a_cq;
  rnic_desc_pkg::cmd_eq_t a_eq;
  rnic_desc_pkg::cmd_path_t a_path;
  rnic_desc_pkg::cmd_qp_t a_qp;
  // Only while there is an answer, which spares the simulator much.
  always_comb begin
    a_mr = '0;
    a_cq = '0;
    a_eq = '0;
    a_path = '0;
    a_qp = '0;
    if (answer_valid && is_mr) begin
      a_mr.key_tag = mr_q.tag;
      a_mr.local_write = mr_q.lwrite;
      a_mr.remote_write = mr_q.rwrite;
      a_mr.remote_read = mr_q.rread;
      a_mr.remote_atomic = mr_q.atomic;
      a_mr.zero_based = mr_q.zero_based;
      a_mr.pd = mr_q.pd;
      a_mr.va = mr_q.va;
      a_mr.length = mr_q.length;
      a_mr.iova = mr_q.iova;
      a_mr.invalid = !mr_q.valid;
      a_mr.page = mr_q.page;
      a_mr.first = {11'd0, mr_q.first};
    end
    if (answer_valid && is_cq) begin
      a_cq.log_size = cq_q.log_size;
      a_cq.eqn = cq_q.eqn;
      a_cq.base = cq_q.base;
      a_cq.prod = prod_q;
      a_cq.cons = cons_q;
    end
    if (answer_valid && is_eq) begin
      a_eq.log_size = eq_q.log_size;
      a_eq.vector = eq_q.msix;
      a_eq.base = eq_q.base;
      a_eq.cons = eq_prod_q;
    end
    if (answer_valid && is_path) begin
      a_path.ipv6 = path_q.ipv6;
      a_path.vlan = path_q.vlan;
      a_path.dei = path_q.dei;
      a_path.pcp = path_q.pcp;
      a_path.vlan_id = path_q.vlan_id;
      a_path.ecn = path_q.ecn;
      a_path.dscp = path_q.dscp;
      a_path.ttl = path_q.ttl;
      a_path.sport = path_q.sport;
      a_path.flow_label = path_q.flow_label;
      for (int i = 0; i < 6; i++) begin
        a_path.dmac[i*8+:8] = path_q.dmac[(5-i)*8+:8];
        a_path.smac[i*8+:8] = path_q.smac[(5-i)*8+:8];
      end
      for (int i = 0; i < 16; i++) begin
        a_path.sip[i*8+:8] = path_q.sip[(15-i)*8+:8];
        a_path.dip[i*8+:8] = path_q.dip[(15-i)*8+:8];
      end
    end
    if (answer_valid) begin
      a_qp.state = conn_q.state;
      a_qp.service = conn_q.qtype;
      a_qp.sq_sig_all = conn_q.sq_sig_all;
      a_qp.pd = conn_q.pd;
      a_qp.dest_qpn = conn_q.dest_qpn;
      a_qp.mtu = conn_q.mtu;
      a_qp.rq_psn = rcv_q.epsn;
      a_qp.sq_psn = snd_q.next_psn;
      a_qp.pkey = conn_q.pkey;
      a_qp.remote_write = conn_q.acc_write;
      a_qp.remote_read = conn_q.acc_read;
      a_qp.remote_atomic = conn_q.acc_atomic;
      a_qp.min_rnr_timer = conn_q.min_rnr_timer;
      a_qp.timeout = conn_q.timeout;
      a_qp.retry_cnt = conn_q.retry_cnt;
      a_qp.rnr_retry = conn_q.rnr_retry;
      a_qp.max_rd_atomic = conn_q.max_rd_atomic;
      a_qp.max_dest_rd_atomic = conn_q.max_dest_rd;
      a_qp.qkey = conn_q.qkey;
      a_qp.path = conn_q.path;
      a_qp.send_cqn = conn_q.send_cqn;
      a_qp.log_sq = conn_q.log_sq;
      a_qp.recv_cqn = conn_q.recv_cqn;
      a_qp.log_rq = conn_q.log_rq;
      a_qp.rate = conn_q.rate;
      a_qp.weight = conn_q.weight;
      a_qp.sq_base = conn_q.sq_base;
      a_qp.rq_base = conn_q.rq_base;
      a_qp.q_sq_prod = prod_q;
      a_qp.q_sq_fetch = fetch_q;
      a_qp.q_next_psn = snd_q.next_psn;
      a_qp.q_una_psn = ack_q.una_psn;
      a_qp.q_epsn = rcv_q.epsn;
      a_qp.q_msn = rcv_q.msn;
      a_qp.q_rq_prod = q_rq_prod_i;
      a_qp.q_rq_cons = rcv_q.rq_cons;
      a_qp.q_err_cause = conn_q.err_cause;
    end
  end
  assign answer_valid = state_q == ANSWER || (arp_valid_o && arp_done_i &&
      op == rnic_desc_pkg::CMD_OPCODE_QUERY_ARP && arp_status_i == rnic_desc_pkg::CMD_STATUS_OK);
  always_comb begin
    answer = '0;
    if (answer_valid) begin
      answer = is_arp ? arp_answer_i : is_mr ? a_mr : is_cq ? a_cq : is_eq ? a_eq :
          is_path ? a_path : a_qp;
      answer[63:0] = raw[63:0];  // opcode, token and number come back
    end
  end

  assign event_valid = state_q == EVENT && f_q.event_type != 8'd0;
  assign event_o.eqn = 8'd0;
  assign event_o.etype = f_q.event_type;
  assign event_o.code = f_q.cause;
  assign event_o.number = f_q.qpn;

  // -- registers
  assign busy_o = go_q;
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (go_i && !go_q) begin
      go_q <= 1'b1;
      status_o <= rnic_desc_pkg::CMD_STATUS_OK;
    end
    if (state_q == IDLE) begin
      step_q <= 2'd0;
      failing_q <= next_fail;
      if (take_fail) begin
        f_q <= f;
        f_sq_q <= f_sq;
      end
    end
    if (state_q == WAIT && answered) step_q <= step_q + 2'd1;
    if (state_q == CHECK) begin
      target_q <= 4'd0;
      ref_step_q <= 1'b0;
      if (!failing_q) begin
        status_o <= !known_op ? rnic_desc_pkg::CMD_STATUS_BAD_OPCODE :
                    !in_range ? rnic_desc_pkg::CMD_STATUS_BAD_INDEX : check_status;
      end
    end
    if (state_q == GROUP && arp_done_i) status_o <= arp_status_i;
    if (order_taken) target_q <= target_q + 4'd1;
    if (refs) ref_step_q <= 1'b1;
    if (applying && !failing_q && is_pd) pd_q[head.number[PD_AW-1:0]] <= is_create;
    if (state_q == DONE) begin
      go_q <= 1'b0;
      token_o <= head.token;
    end
    if (bad_fail) fatal_o <= 1'b1;
    cnt_cmd_done_o <= state_q == DONE && status_o == rnic_desc_pkg::CMD_STATUS_OK;
    cnt_cmd_errors_o <= (state_q == DONE && status_o != rnic_desc_pkg::CMD_STATUS_OK) ||
        (go_i && go_q);
    if (rst_i) begin
      state_q <= IDLE;
      go_q <= 1'b0;
      pd_q <= '0;
      status_o <= 8'd0;
      token_o <= 16'd0;
      fatal_o <= 1'b0;
      failing_q <= 1'b0;
      cnt_cmd_done_o <= 1'b0;
      cnt_cmd_errors_o <= 1'b0;
    end
  end

  assign pin_o = state_q != IDLE && (is_qp || failing_q);
  assign pin_qpn_o = number;

  logic unused;
  assign unused = ^{head, c_mr, c_cq, c_eq, c_path, c_qp, snd_q, ack_q, rcv_q, f_q, mr_q,
      answer[1023:0]};
endmodule
