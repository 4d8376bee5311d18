// SPDX-License-Identifier: Apache-2.0
//
// Receive queues: takes RQ doorbells, reads posted receive WQEs ahead of their use and shows
// rx_responder the oldest of a QP.
// A look is answered in the next cycle (is anything posted, has its WQE been read), the WQE itself
// one cycle later. A doorbell takes 3 cycles, a fetch 3 cycles and one more per WQE. The place of a
// WQE follows from QPN and index (README), so that nothing is ever full: a WQE that was pushed out
// is read again. Refused and counted: doorbells of unknown QPs, in RESET, of more than the ring,
// backwards.
`include "rnic_assert.svh"
module rq_store #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_RQE = 1024  // receive WQEs on chip; a power of two
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    output logic                  init_done_o,

    // doorbells
    input  logic                  rqdb_valid,
    output logic                  rqdb_ready,
    input  logic [23:0]           rqdb_qpn,
    input  logic [15:0]           rqdb_index,

    // connection half
    output logic                  rq_lk_valid,
    input  logic                  rq_lk_ready,
    output logic [23:0]           rq_lk_qpn,
    input  logic                  rq_ctx_valid,
    input  rnic_pkg::qp_conn_t    rq_ctx,

    // reads (RD_RQ)
    output logic                  rdreq_valid,
    input  logic                  rdreq_ready,
    output rnic_pkg::dma_rd_req_t rdreq,
    input  logic                  rdrsp_valid,
    input  rnic_pkg::dma_rd_rsp_t rdrsp,
    input  logic [DATA_W-1:0]     rdrsp_data,

    // rx_responder looks at the oldest receive of a QP: rqh_posted_o and rqh_prod_o from the cycle
    // after rqh_lk_valid on. rqh_get_i then asks for the WQE: rqh_valid one cycle later if it was
    // here; if not it is read now, whatever it pushes out: look and ask again.
    input  logic                  rqh_lk_valid,
    input  logic [23:0]           rqh_lk_qpn,
    output logic                  rqh_posted_o,
    output logic [15:0]           rqh_prod_o,
    input  logic                  rqh_get_i,
    output logic                  rqh_valid,
    output rnic_pkg::rq_entry_t   rqh,
    // the ring is used up to rqp_index: always taken
    input  logic                  rqp_valid,
    input  logic [23:0]           rqp_qpn,
    input  logic [15:0]           rqp_index,
    // receives of a QP in ERR were posted: flush it
    output logic                  rqf_valid,
    input  logic                  rqf_ready,
    output logic [23:0]           rqf_qpn,

    // QP orders: rx_responder has them first, so that it uses no receive afterwards
    input  logic                  qpi_valid,
    output logic                  qpi_ready,
    input  rnic_pkg::qp_init_t    qpi,
    output logic                  qpo_valid,
    input  logic                  qpo_ready,

    // RQ producer of the QP that a query asks for
    input  logic [23:0]           q_rq_qpn_i,
    output logic [15:0]           q_rq_prod_o,

    output logic                  cnt_doorbell_refused_o,
    output logic                  cnt_rq_fetched_o
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned NQ = (N_QP > 1) ? N_QP : 2;
  localparam int unsigned SHARE = N_RQE / N_QP;
  localparam int unsigned AHEAD = (SHARE >= 16) ? 16 : (SHARE >= 8) ? 8 : 4;
  localparam int unsigned N_JOB = 32;

  // PICK takes work, CTX has the connection half, READ starts reads.
  typedef enum logic [1:0] {PICK, CTX, READ, CLEAR} state_e;
  state_e state_q, state_d;

  // -- indices of each ring: posted up to prod, used up to cons, read up to fetch
  logic [QW:0] init_q;
  logic clearing, prod_we, cons_we, fetch_we, work_get, look_get;
  logic [QW-1:0] idx_waddr, cons_waddr;
  logic [15:0] prod_wdata, cons_wdata, fetch_wdata;
  logic [23:0] work_qpn, qpn_q, look_qpn_q;
  logic [3*16-1:0] prod_rd;
  logic [2*16-1:0] cons_rd, fetch_rd;
  assign clearing = init_q != (QW + 1)'(NQ);
  assign init_done_o = !clearing;
  assign look_get = rqh_lk_valid;
  ram_1w_nr #(.W(16), .DEPTH(NQ), .N_RD(3), .FORWARD(1)) u_prod (
      .clk_i,
      .wr_en_i  (prod_we),
      .wr_addr_i(idx_waddr),
      .wr_data_i(prod_wdata),
      .rd_en_i  ({1'b1, look_get, work_get}),
      .rd_addr_i({q_rq_qpn_i[QW-1:0], rqh_lk_qpn[QW-1:0], work_qpn[QW-1:0]}),
      .rd_data_o(prod_rd)
  );
  ram_1w_nr #(.W(16), .DEPTH(NQ), .N_RD(2), .FORWARD(1)) u_cons (
      .clk_i,
      .wr_en_i  (cons_we),
      .wr_addr_i(cons_waddr),
      .wr_data_i(cons_wdata),
      .rd_en_i  ({look_get, work_get}),
      .rd_addr_i({rqh_lk_qpn[QW-1:0], work_qpn[QW-1:0]}),
      .rd_data_o(cons_rd)
  );
  ram_1w_nr #(.W(16), .DEPTH(NQ), .N_RD(2), .FORWARD(1)) u_fetch (
      .clk_i,
      .wr_en_i  (fetch_we),
      .wr_addr_i(idx_waddr),
      .wr_data_i(fetch_wdata),
      .rd_en_i  ({look_get, work_get}),
      .rd_addr_i({rqh_lk_qpn[QW-1:0], work_qpn[QW-1:0]}),
      .rd_data_o(fetch_rd)
  );
  assign q_rq_prod_o = prod_rd[47:32];

  // -- work: an order, a doorbell, or a QP that may have something to read
  typedef enum logic [1:0] {NONE, DOORBELL, PREFETCH, QP_ORDER} work_e;
  work_e work_d, work_q;
  logic todo_valid, todo_ready, kick, push_now, take, last_db_q;
  logic [23:0] todo_qpn;
  logic start_ok, rd_room, can_start, look_again, look_here;
  logic passed_q;  // rx_responder has applied the order
  logic cons_busy, clear_now, clear_qp, clear_go;
  logic [15:0] db_index_q;
  assign can_start = start_ok && rd_room;
  always_comb begin
    work_d = NONE;
    work_qpn = todo_qpn;
    if (qpi_valid && passed_q) begin
      work_d = QP_ORDER;
      work_qpn = qpi.qpn;
    end else if (rqdb_valid && !(last_db_q && todo_valid && can_start)) begin
      work_d = DOORBELL;
      work_qpn = rqdb_qpn;
    end else if (todo_valid && can_start) begin
      work_d = PREFETCH;
    end
  end
  assign take = state_q == PICK && init_done_o && work_d != NONE &&
                (work_d == QP_ORDER || rq_lk_ready);
  assign work_get = take;
  assign rq_lk_valid = state_q == PICK && init_done_o && (work_d == DOORBELL || work_d == PREFETCH);
  assign rq_lk_qpn = work_qpn;
  assign rqdb_ready = take && work_d == DOORBELL;
  assign todo_ready = take && work_d == PREFETCH;

  // -- CTX
  logic have_ctx, db_good, db_refused, db_flush, may_read;
  logic [15:0] db_ahead, db_have, prod_now, ahead, first_read;
  logic started;  // the oldest receive is here or on its way
  assign have_ctx = state_q == CTX && rq_ctx_valid;
  assign db_ahead = db_index_q - cons_rd[15:0];
  assign db_have = prod_rd[15:0] - cons_rd[15:0];
  // Not more than the ring holds, and never backwards.
  assign db_good = work_q == DOORBELL && rq_ctx.exists && rq_ctx.state != rnic_pkg::QPS_RESET &&
                   db_ahead <= (16'd1 << rq_ctx.log_rq) && db_ahead >= db_have;
  assign db_refused = work_q == DOORBELL && !db_good;
  assign db_flush = db_good && rq_ctx.state == rnic_pkg::QPS_ERR;
  // Also in ERR: rx_responder may wait for it.
  assign may_read = !db_refused && rq_ctx.exists && rq_ctx.state != rnic_pkg::QPS_RESET;
  assign prod_now = db_good ? db_index_q : prod_rd[15:0];
  // Reading goes on where it stopped, unless the oldest was pushed out or receives were used
  // without being read.
  assign ahead = fetch_rd[15:0] - cons_rd[15:0];
  assign first_read = (ahead != '0 && ahead <= 16'(AHEAD) && started) ? fetch_rd[15:0] :
                      cons_rd[15:0];

  // -- READ
  logic [15:0] prod_q, cons_q, fetch_q, ring_mask;
  logic [63:0] base_q;
  logic [3:0] log_q;
  logic more, start;
  logic [$clog2(N_JOB)-1:0] start_job;
  rnic_pkg::dma_rd_req_t request;
  logic [15:0] rd_off, read_ahead;
  assign read_ahead = fetch_q - cons_q;
  // A WQE that is waited for is not pushed out: others do without being read ahead.
  localparam int unsigned IW = $clog2(AHEAD);
  localparam int unsigned SW = $clog2(N_RQE) - IW;
  logic wanted_q, taken_place;
  logic [15:0] want_index_q;
  assign taken_place = wanted_q && qpn_q != look_qpn_q && qpn_q[SW-1:0] == look_qpn_q[SW-1:0] &&
                       fetch_q[IW-1:0] == want_index_q[IW-1:0];
  assign more = prod_q != fetch_q && read_ahead < 16'(AHEAD) && !taken_place;
  assign start = state_q == READ && more && can_start;
  assign ring_mask = (16'd1 << log_q) - 16'd1;
  assign rd_off = fetch_q & ring_mask;
  always_comb begin
    request = '0;
    if (start) begin
      request.addr = base_q + {42'd0, rd_off, 6'd0};
      request.len = 13'd64;
      request.slot = 8'(start_job);
      request.first = 1'b1;
      request.qpn = qpn_q;
      request.wqe_index = fetch_q;
    end
  end
  localparam int unsigned RDREQ_W = $bits(request);
  logic [2:0] rd_level;
  stream_fifo_small #(.W(RDREQ_W), .DEPTH(4), .LATENCY(0)) u_requests (
      .clk_i,
      .rst_i,
      .in_valid (start),
      .in_ready (rd_room),
      .in_data  (request),
      .out_valid(rdreq_valid),
      .out_ready(rdreq_ready),
      .out_data (rdreq),
      .level_o  (rd_level)
  );

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      PICK: if (take) state_d = (work_d == QP_ORDER) ? CLEAR : CTX;
      CTX: if (have_ctx) state_d = may_read ? READ : PICK;
      READ: if (!start && !(push_now && (rqp_valid || look_again))) state_d = PICK;
      CLEAR: if (!cons_busy) state_d = PICK;
      default: state_d = PICK;
    endcase
  end

  // -- writes of the indices
  assign cons_busy = rqp_valid && clear_qp;
  assign clear_qp = qpi.op == rnic_pkg::QPI_CLEAR && qpi.qpn < 24'(N_QP);
  assign clear_go = state_q == CLEAR && !cons_busy;
  assign clear_now = clear_go && clear_qp;
  assign qpo_valid = qpi_valid && !passed_q;
  assign qpi_ready = clear_go;
  assign idx_waddr = clearing ? init_q[QW-1:0] : qpn_q[QW-1:0];
  assign prod_we = clearing || (have_ctx && db_good) || clear_now;
  assign prod_wdata = (clearing || clear_now) ? '0 : db_index_q;
  assign fetch_we = clearing || clear_now || (state_q == READ && !start);
  assign fetch_wdata = (clearing || clear_now) ? '0 : fetch_q;
  assign cons_we = clearing || rqp_valid || clear_now;
  assign cons_waddr = clearing ? init_q[QW-1:0] : rqp_valid ? rqp_qpn[QW-1:0] : qpn_q[QW-1:0];
  assign cons_wdata = (clearing || !rqp_valid) ? '0 : rqp_index;

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (take) begin
      work_q <= work_d;
      qpn_q <= work_qpn;
      db_index_q <= rqdb_index;
      last_db_q <= work_d == DOORBELL;
    end
    if (have_ctx) begin
      prod_q <= prod_now;
      cons_q <= cons_rd[15:0];
      fetch_q <= first_read;
      base_q <= rq_ctx.rq_base;
      log_q <= rq_ctx.log_rq;
    end
    if (start) fetch_q <= fetch_q + 16'd1;
    if (qpo_valid && qpo_ready) passed_q <= 1'b1;
    if (clear_go) passed_q <= 1'b0;
    if (clearing) init_q <= init_q + 1'b1;
    cnt_doorbell_refused_o <= have_ctx && db_refused;
    cnt_rq_fetched_o <= start;
    if (rst_i) begin
      state_q <= PICK;
      last_db_q <= 1'b0;
      passed_q <= 1'b0;
      init_q <= '0;
      cnt_doorbell_refused_o <= 1'b0;
      cnt_rq_fetched_o <= 1'b0;
    end
  end

  // -- the oldest receive of a QP
  logic here, get_q;
  logic [15:0] look_cons, look_ahead;
  logic [511:0] wqe;
  logic failed, malformed;
  logic [7:0] status;
  assign rqh_prod_o = prod_rd[31:16];
  assign look_cons = cons_rd[31:16];
  assign look_ahead = fetch_rd[31:16] - look_cons;
  assign rqh_posted_o = rqh_prod_o != look_cons;
  assign look_here = here && look_ahead != '0 && look_ahead <= 16'(AHEAD);
  rq_cache #(.DATA_W(DATA_W), .N_RQE(N_RQE), .AHEAD(AHEAD), .N_JOB(N_JOB)) u_cache (
      .clk_i,
      .rst_i,
      .start_ok_o   (start_ok),
      .start_job_o  (start_job),
      .start_i      (start),
      .start_qpn_i  (qpn_q),
      .start_index_i(fetch_q),
      .a_qpn_i      (qpn_q),
      .a_index_i    (cons_rd[15:0]),
      .a_started_o  (started),
      .b_qpn_i      (look_qpn_q),
      .b_index_i    (look_cons),
      .b_here_o     (here),
      .get_i        (rqh_get_i),
      .wqe_o        (wqe),
      .failed_o     (failed),
      .status_o     (status),
      .kill_i       (clear_now),
      .kill_qpn_i   (qpn_q),
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data
  );
  always_ff @(posedge clk_i) begin
    if (rqh_lk_valid) look_qpn_q <= rqh_lk_qpn;
    get_q <= rqh_get_i && look_here;
    if (look_again) wanted_q <= 1'b1;
    else if (rqh_get_i || (rqh_lk_valid && rqh_lk_qpn != look_qpn_q)) wanted_q <= 1'b0;
    if (rqh_get_i) want_index_q <= look_cons;
    if (rst_i) begin
      get_q <= 1'b0;
      wanted_q <= 1'b0;
    end
  end

  // Block layout: regs/rnic.yaml, descriptor rq_wqe.
  rnic_desc_pkg::rq_wqe_t w;
  assign w = wqe;
  assign rqh_valid = get_q;
  assign malformed = w.index != want_index_q || w.next != '0 || w.seg_cnt > 4'd3;
  always_comb begin
    rqh = '0;
    if (get_q) begin
      rqh.bad = failed || malformed;
      rqh.status = failed ? status : rnic_desc_pkg::CQE_STATUS_LOC_QP_OP_ERR;
      if (w.seg_cnt > 4'd0) rqh.seg0 = {w.seg0_va, w.seg0_len, w.seg0_lkey};
      if (w.seg_cnt > 4'd1) rqh.seg1 = {w.seg1_va, w.seg1_len, w.seg1_lkey};
      if (w.seg_cnt > 4'd2) rqh.seg2 = {w.seg2_va, w.seg2_len, w.seg2_lkey};
    end
  end

  // -- lists of QPs
  // Looked at again: a receive was used, one is missing, or reading had to stop.
  logic [23:0] kick_qpn;
  assign look_again = rqh_get_i && !look_here;
  assign push_now = state_q == READ && more && !can_start;
  assign kick = rqp_valid || look_again || push_now;
  assign kick_qpn = rqp_valid ? rqp_qpn : look_again ? look_qpn_q : qpn_q;
  qp_queue #(.N_QP(N_QP)) u_todo (
      .clk_i,
      .rst_i,
      .push_valid_i(kick),
      .push_qpn_i  (kick_qpn),
      .out_valid   (todo_valid),
      .out_ready   (todo_ready),
      .out_qpn     (todo_qpn)
  );
  qp_queue #(.N_QP(N_QP)) u_flush (
      .clk_i,
      .rst_i,
      .push_valid_i(have_ctx && db_flush),
      .push_qpn_i  (qpn_q),
      .out_valid   (rqf_valid),
      .out_ready   (rqf_ready),
      .out_qpn     (rqf_qpn)
  );

  logic unused;
  assign unused = ^{rq_ctx, rqh_lk_qpn, q_rq_qpn_i, rd_level, qpi, w};

  `RNIC_STREAM_HOLD(rdreq_valid, rdreq_ready, rdreq)
  `RNIC_STREAM_HOLD(rqf_valid, rqf_ready, rqf_qpn)
  `RNIC_ASSERT(never_more_than_the_ring, state_q != READ || prod_q - cons_q <= 16'd32768)
  `RNIC_ASSERT(used_is_posted, !rqp_valid || rqp_qpn < 24'(N_QP))
endmodule
