// SPDX-License-Identifier: Apache-2.0
//
// Decides which QP fetches WQEs and which QP sends: keeps producer and fetch index of every send
// queue, asks wqe_fetch_engine for posted blocks, and gives each QP with work one turn at a time,
// round robin; a QP with a rate asks tx_pacer for it. Stops a QP for a replay and lets it go on
// where sq_engine says.
// Throughput: one event per cycle (a doorbell or BlueFlame push every 2). Latency: 1 cycle from
// db_valid to wqe_req_valid, 2 from bf_valid to turn_valid, 1 from fetch_done or turn_done to
// turn_valid. Turns and fetches are given in the order in which QPs came to need them. Dropped
// (counted): doorbells to a QP that cannot send, or with a step larger than the ring.
`include "rnic_assert.svh"

module sq_scheduler #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_WQE = 256,        // entries of wqe_store
    parameter int unsigned QP_CAP = 32,        // of them for one QP at most
    parameter int unsigned FETCH_BLOCKS = 16   // largest fetch
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    output logic                  init_done_o,

    // posted work; the readies depend on sch_lk_ready and on the other events of the cycle
    input  logic                  db_valid,
    output logic                  db_ready,
    input  logic [23:0]           db_qpn,
    input  logic [15:0]           db_index,
    input  logic                  bf_valid,
    output logic                  bf_ready,
    input  rnic_pkg::wqe_entry_t  bf,

    // connection half
    output logic                  sch_lk_valid,
    input  logic                  sch_lk_ready,
    output logic [23:0]           sch_lk_qpn,
    input  logic                  sch_ctx_valid,
    input  rnic_pkg::qp_conn_t    sch_ctx,

    input  logic                  qpi_valid,
    output logic                  qpi_ready,
    input  rnic_pkg::qp_init_t    qpi,

    // wqe_fetch_engine
    output logic                  wqe_req_valid,
    input  logic                  wqe_req_ready,
    output logic [23:0]           wqe_req_qpn,
    output logic [15:0]           wqe_req_index,
    output logic [6:0]            wqe_req_blocks,
    output logic [15:0]           wqe_req_avail,
    input  logic                  fetch_done_valid,
    output logic                  fetch_done_ready,
    input  logic [23:0]           fetch_done_qpn,
    input  logic                  fetch_done_last,
    input  logic [15:0]           fetch_done_next,
    input  logic [4:0]            fetch_done_pushed,

    // wqe_store
    output logic                  bfw_valid,
    output rnic_pkg::wqe_entry_t  bfw,
    output logic                  flush_valid,
    input  logic                  flush_ready,
    output logic [23:0]           flush_qpn,

    // sq_engine
    output logic                  turn_valid,
    input  logic                  turn_ready,
    output logic [23:0]           turn_qpn,
    input  logic                  turn_done_valid,
    output logic                  turn_done_ready,
    input  logic [23:0]           turn_done_qpn,
    input  logic                  turn_done_more,
    input  logic [1:0]            turn_done_blocked,
    input  logic [15:0]           turn_done_index,
    input  logic [5:0]            turn_done_popped,
    input  logic                  turn_done_window,

    // tx_pacer: has the QP of the event a rate (answer a cycle later); it wants a turn (pulse;
    // after a rest, or because its window was full); it must not wait; it may have a turn
    output logic                  pace_chk_o,
    output logic [23:0]           pace_chk_qpn_o,
    input  logic                  pace_limited_i,
    output logic                  pace_want_o,
    output logic [23:0]           pace_want_qpn_o,
    output logic                  pace_want_idle_o,
    output logic                  pace_want_window_o,
    output logic                  hurry_valid,
    input  logic                  hurry_ready,
    output logic [23:0]           hurry_qpn,
    input  logic                  go_valid,
    output logic                  go_ready,
    input  logic [23:0]           go_qpn,

    // a QP that was blocked until kicked may go on; msg_pool has room
    input  logic                  kick_valid,
    output logic                  kick_ready,
    input  logic [23:0]           kick_qpn,
    input  logic                  msg_room_i,

    // query by cmd_unit: answer 1 cycle after the request was taken
    input  logic                  qry_lk_valid,
    output logic                  qry_lk_ready,
    input  logic [23:0]           qry_lk_qpn,
    output logic                  qry_valid,
    output logic [15:0]           qry_prod,
    output logic [15:0]           qry_fetch,

    // trace_sampler, for BlueFlame WQEs: asked and answered in one cycle
    output logic                  smp_valid_o,
    output logic [23:0]           smp_qpn_o,
    input  logic                  smp_hit_i,

    output logic                  cnt_doorbells_o,
    output logic                  cnt_doorbell_refused_o,
    output logic                  cnt_bf_pushes_o,
    output logic                  cnt_bf_fallbacks_o,
    output logic                  trc_valid_o,
    output logic [63:0]           trc_o,
    output logic                  trc_sampled_o,

    // replay: rx_completer asks to stop a QP (rwq) and hears that nothing of it is at work and its
    // list is empty (rwg); sq_engine says where it goes on (rwd)
    input  logic                  rwq_valid,
    output logic                  rwq_ready,
    input  logic [23:0]           rwq_qpn,
    output logic                  rwg_valid,
    input  logic                  rwg_ready,
    output logic [23:0]           rwg_qpn,
    input  logic                  rwd_valid,
    output logic                  rwd_ready,
    input  logic [23:0]           rwd_qpn,
    input  logic [15:0]           rwd_index
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned NQ = (N_QP > 1) ? N_QP : 2;
  localparam int unsigned CW = $clog2(N_WQE + 1);
  localparam int unsigned FLW = $clog2(NQ + 1);
  localparam logic [15:0] CAP = 16'(QP_CAP);
  localparam logic [15:0] FB = 16'(FETCH_BLOCKS);
  localparam logic [15:0] WORTH = 16'd8;       // room for fewer blocks is not worth a fetch
  // entries whose pop is counted but may still wait in wqe_store
  localparam logic [CW-1:0] BF_SLACK = CW'(4);
  // QPs that look at once whether msg_pool has room for them
  localparam logic [1:0] RELEASES = 2'd2;

  if (QP_CAP < 16 || QP_CAP > 32 || N_WQE < QP_CAP || FETCH_BLOCKS > 16 ||
      FETCH_BLOCKS < 4) begin : gen_bad_depth
    $error("sq_scheduler: 4 <= FETCH_BLOCKS <= 16 <= QP_CAP <= 32 <= N_WQE does not hold");
  end

  typedef struct packed {
    logic [15:0] prod;      // posted up to here
    logic [15:0] fetch;     // next block to fetch
    logic [3:0]  log_sq;
    logic [5:0]  occ;       // entries in wqe_store, and blocks reserved by the fetch in flight
    logic [4:0]  job;       // blocks of the fetch in flight, 0 none
    logic        rung;      // doorbell since that fetch was asked for
    logic        part;      // the WQE at fetch is not posted in full: wait for a doorbell
    logic        fetching;  // in the fetch queue
    logic        active;    // in the turn queue or at sq_engine
    logic        again;     // something came during the turn: another one
    logic        blocked;   // until kicked
    logic        kicked;    // during the turn
    logic        waiting;   // for room in msg_pool
    logic        in_wait;   // in the queue for it (a replay leaves its entry there)
    logic        released;  // has a turn because msg_pool had room
    logic        closing;   // CLEAR is at work
    logic        halted;    // for a replay
    logic        own;       // halted because its list is of no use: goes on at fetch
    logic        emptying;  // in the queue of lists to empty
  } state_t;

  localparam logic [3:0] EV_POST = 4'd0;    // doorbell, BlueFlame
  localparam logic [3:0] EV_FETCHED = 4'd1;
  localparam logic [3:0] EV_TURNED = 4'd2;
  localparam logic [3:0] EV_KICK = 4'd3;
  localparam logic [3:0] EV_FETCH = 4'd4;   // head of the fetch queue
  localparam logic [3:0] EV_ROOM = 4'd5;    // head of the queue for room in msg_pool
  localparam logic [3:0] EV_ORDER = 4'd6;
  localparam logic [3:0] EV_QUERY = 4'd7;
  localparam logic [3:0] EV_HALT = 4'd8;    // rwq
  localparam logic [3:0] EV_EMPTIED = 4'd9; // its list is empty
  localparam logic [3:0] EV_RESUME = 4'd10; // rwd

  // --------------------------------------------------------------------------------- clearing
  logic [QW:0] init_q;
  assign init_done_o = init_q == (QW + 1)'(NQ);

  // ------------------------------------------------------------------------- posted work, in front
  // One doorbell or push at a time: its context is asked for when it is taken and used one cycle
  // later; if the answer comes later, the event is played again.
  logic                 p_new, p_replay, p_s1, p_wait_q, p_have_q, p_bf_q, p_turn_q, p_pick_bf;
  logic [23:0]          p_qpn_q;
  logic [15:0]          p_index_q;
  rnic_pkg::wqe_entry_t p_entry_q;
  rnic_pkg::qp_conn_t   p_ctx_q, p_ctx;
  logic                 p_ctx_here;
  assign p_pick_bf = bf_valid && (!db_valid || p_turn_q);
  assign p_ctx_here = p_have_q || sch_ctx_valid;
  assign p_ctx = p_have_q ? p_ctx_q : sch_ctx;

  // ------------------------------------------------------------ stage 0: one event, read its state
  logic         s0_valid, post_ok, free_slot;
  logic [3:0]   s0_event;
  logic [23:0]  s0_qpn;
  logic         fetch_head, room_head, fq_valid, rq_valid, order_go, hurry_few;
  logic [QW-1:0] fq_qpn, rq_qpn;
  logic [23:0]  post_qpn;

  assign free_slot = init_done_o;
  assign turn_done_ready = free_slot;
  assign fetch_done_ready = free_slot && !turn_done_valid;
  assign kick_ready = fetch_done_ready && !fetch_done_valid;
  // A QP that goes on comes before one that stops: it may be the same, again.
  logic emptied, emptied_ready;
  logic [QW-1:0] empty_qp_q;
  assign rwd_ready = kick_ready && !kick_valid;
  assign rwq_ready = rwd_ready && !rwd_valid && hurry_few;
  assign emptied_ready = rwq_ready && !rwq_valid;
  assign qry_lk_ready = emptied_ready && !emptied;
  assign post_ok = qry_lk_ready && !qry_lk_valid;
  assign p_replay = post_ok && p_wait_q && p_have_q && !p_s1;
  assign p_new = post_ok && !p_wait_q && !p_s1;
  assign db_ready = p_new && sch_lk_ready && !p_pick_bf;
  assign bf_ready = p_new && sch_lk_ready && p_pick_bf;
  assign sch_lk_valid = p_new && (db_valid || bf_valid);
  assign sch_lk_qpn = p_pick_bf ? bf.qpn : db_qpn;
  assign post_qpn = p_wait_q ? p_qpn_q : sch_lk_qpn;

  logic post_go, fetch_go, room_go;
  assign post_go = p_replay || (sch_lk_valid && sch_lk_ready);
  assign fetch_go = post_ok && !post_go && fetch_head;
  assign room_go = post_ok && !post_go && !fetch_head && room_head;

  always_comb begin
    s0_valid = 1'b1;
    s0_event = EV_ORDER;
    s0_qpn = qpi.qpn;
    if (!free_slot) begin
      s0_valid = 1'b0;
    end else if (turn_done_valid) begin
      s0_event = EV_TURNED;
      s0_qpn = turn_done_qpn;
    end else if (fetch_done_valid) begin
      s0_event = EV_FETCHED;
      s0_qpn = fetch_done_qpn;
    end else if (kick_valid) begin
      s0_event = EV_KICK;
      s0_qpn = kick_qpn;
    end else if (rwd_valid) begin
      s0_event = EV_RESUME;
      s0_qpn = rwd_qpn;
    end else if (rwq_valid) begin
      s0_event = EV_HALT;
      s0_qpn = rwq_qpn;
    end else if (emptied) begin
      s0_event = EV_EMPTIED;
      s0_qpn = 24'(empty_qp_q);
    end else if (qry_lk_valid) begin
      s0_event = EV_QUERY;
      s0_qpn = qry_lk_qpn;
    end else if (post_go) begin
      s0_event = EV_POST;
      s0_qpn = post_qpn;
    end else if (fetch_head) begin
      s0_event = EV_FETCH;
      s0_qpn = 24'(fq_qpn);
    end else if (room_head) begin
      s0_event = EV_ROOM;
      s0_qpn = 24'(rq_qpn);
    end else begin
      s0_valid = order_go;
    end
  end

  // ---------------------------------------------------------------------------- stage 1: registers
  logic          s1_valid_q, s1_known_q, fd_last_q, td_more_q;
  logic [3:0]    s1_event_q;
  logic [QW-1:0] s1_qp_q;
  logic [15:0]   fd_next_q, rwd_index_q;
  logic [4:0]    fd_pushed_q;
  logic [1:0]    td_blocked_q;
  logic          td_window_q;
  logic [15:0]   td_index_q;
  logic [5:0]    td_popped_q;
  assign p_s1 = s1_valid_q && s1_event_q == EV_POST;

  always_ff @(posedge clk_i) begin
    s1_valid_q <= s0_valid;
    if (s0_valid) begin
      s1_event_q <= s0_event;
      s1_qp_q <= s0_qpn[QW-1:0];
      s1_known_q <= s0_qpn < 24'(N_QP);
      fd_last_q <= fetch_done_last;
      fd_next_q <= fetch_done_next;
      rwd_index_q <= rwd_index;
      fd_pushed_q <= fetch_done_pushed;
      td_more_q <= turn_done_more;
      td_blocked_q <= turn_done_blocked;
      td_window_q <= turn_done_window;
      td_index_q <= turn_done_index;
      td_popped_q <= turn_done_popped;
    end
    if (sch_lk_valid && sch_lk_ready) begin
      p_qpn_q <= sch_lk_qpn;
      p_index_q <= db_index;
      p_bf_q <= p_pick_bf;
      p_turn_q <= !p_pick_bf;
      if (p_pick_bf) p_entry_q <= bf;
    end
    if (p_s1 && p_ctx_here) begin
      p_wait_q <= 1'b0;
      p_have_q <= 1'b0;
    end else begin
      if (p_s1) p_wait_q <= 1'b1;
      if (sch_ctx_valid) p_have_q <= 1'b1;
    end
    if (sch_ctx_valid) p_ctx_q <= sch_ctx;
    if (!init_done_o) init_q <= init_q + 1'b1;
    if (rst_i) begin
      s1_valid_q <= 1'b0;
      p_wait_q <= 1'b0;
      p_have_q <= 1'b0;
      p_turn_q <= 1'b0;
      init_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------------ the orders
  typedef enum logic [2:0] {O_IDLE, O_MARK, O_CHECK, O_FLUSH, O_ZERO, O_KICK, O_DONE} order_e;
  order_e o_q, o_d;
  logic   o_s1, o_s1_idle;
  assign o_s1 = s1_valid_q && s1_event_q == EV_ORDER;
  assign order_go = !o_s1 && hurry_few &&
                    (o_q == O_MARK || o_q == O_CHECK || o_q == O_ZERO || o_q == O_KICK);
  // -- lists to empty for a replay
  typedef enum logic [1:0] {E_IDLE, E_FLUSH, E_EVENT} empty_e;
  empty_e e_q;
  logic   eq_valid, eq_ready, eq_take, stop_push, rwg_room;
  logic [QW-1:0] eq_qp;
  assign eq_take = e_q == E_IDLE && eq_valid && o_q != O_FLUSH;
  assign emptied = e_q == E_EVENT && rwg_room;  // one at a time: it is full or not when it matters
  always_ff @(posedge clk_i) begin
    unique case (e_q)
      E_IDLE:
      if (eq_take) begin
        e_q <= E_FLUSH;
        empty_qp_q <= eq_qp;
      end
      E_FLUSH: if (flush_ready) e_q <= E_EVENT;
      default: if (emptied && emptied_ready) e_q <= E_IDLE;
    endcase
    if (rst_i) e_q <= E_IDLE;
  end
  assign flush_valid = o_q == O_FLUSH || e_q == E_FLUSH;
  assign flush_qpn = (e_q == E_FLUSH) ? 24'(empty_qp_q) : qpi.qpn;
  assign qpi_ready = o_q == O_DONE;
  always_comb begin
    o_d = o_q;
    unique case (o_q)
      O_IDLE:
      if (qpi_valid && init_done_o) begin
        o_d = O_DONE;
        if (qpi.qpn < 24'(N_QP)) begin
          if (qpi.op == rnic_pkg::QPI_CLEAR) o_d = O_MARK;
          if (qpi.op == rnic_pkg::QPI_ERR || qpi.op == rnic_pkg::QPI_KICK ||
              qpi.op == rnic_pkg::QPI_RESUME) begin
            o_d = O_KICK;
          end
        end
      end
      O_MARK: if (o_s1) o_d = O_CHECK;
      O_CHECK: if (o_s1 && o_s1_idle) o_d = O_FLUSH;
      O_FLUSH: if (flush_ready && e_q != E_FLUSH) o_d = O_ZERO;
      O_ZERO: if (o_s1) o_d = O_DONE;
      O_KICK: if (o_s1) o_d = O_DONE;
      default: o_d = O_IDLE;
    endcase
  end

  // --------------------------------------------------------------- stage 1: what becomes of the QP
  state_t        st, nx;
  localparam int unsigned ST_W = $bits(st);
  logic [CW-1:0] credits_q, credits;
  logic          post_real, state_ok, step_ok, post_old, post_fit, post_ok1;
  logic          bf_ok, bf_link, bf_bad, bf_len;
  logic [6:0]    bf_blocks;
  logic [15:0]   post_index, step, ring, avail, room, want, take;
  logic          turn_wish, turn_push, wait_push, ask, ask_now, ask_push, req_ready, fq_empty;
  logic [1:0]    rel_q;
  logic          rel_up, rel_down;

  wqe_check u_check (
      .head_i   (p_entry_q.wqe[127:0]),
      .index_i  (p_entry_q.index),
      .blocks_o (bf_blocks),
      .link_o   (bf_link),
      .bad_o    (bf_bad),
      .len_err_o(bf_len)
  );

  assign post_real = p_s1 && p_ctx_here;
  assign state_ok = p_ctx.exists && s1_known_q && !st.closing &&
                    (p_ctx.state == rnic_pkg::QPS_RTS || p_ctx.state == rnic_pkg::QPS_SQD ||
                     p_ctx.state == rnic_pkg::QPS_SQE || p_ctx.state == rnic_pkg::QPS_ERR);
  assign post_index = p_bf_q ? p_entry_q.index + {9'd0, p_entry_q.blocks} : p_index_q;
  assign step = post_index - st.prod;
  assign ring = 16'd1 << p_ctx.log_sq;
  assign step_ok = step <= ring;
  // A push that a later doorbell has overtaken changes nothing: the ring has its WQE.
  assign post_old = p_bf_q && st.prod - post_index <= ring;
  assign post_fit = post_real && state_ok && (step_ok || post_old);
  assign post_ok1 = post_real && state_ok && step_ok;
  assign bf_ok = post_ok1 && p_bf_q && p_ctx.state == rnic_pkg::QPS_RTS &&
                 p_entry_q.index == st.prod && st.prod == st.fetch && st.job == '0 &&
                 {10'd0, st.occ} < CAP && credits_q > BF_SLACK &&
                 !st.halted && !bf_bad && !bf_link && bf_blocks == p_entry_q.blocks;

  always_comb begin
    nx = st;
    credits = credits_q;
    turn_wish = 1'b0;
    wait_push = 1'b0;
    rel_up = 1'b0;
    rel_down = 1'b0;
    o_s1_idle = 1'b0;
    unique case (s1_event_q)
      EV_POST: begin
        if (post_ok1) begin
          nx.prod = post_index;
          nx.log_sq = p_ctx.log_sq;
          nx.part = 1'b0;
          nx.rung = 1'b1;
        end
        if (bf_ok) begin
          nx.fetch = post_index;
          nx.occ = st.occ + 1'b1;
          credits = credits_q - 1'b1;
          turn_wish = 1'b1;
        end
      end
      EV_FETCHED: begin
        if (fd_last_q) begin
          nx.occ = st.occ - {1'b0, st.job} + {1'b0, fd_pushed_q};
          credits = credits_q + CW'(st.job) - CW'(fd_pushed_q);
          if (!st.own) nx.fetch = fd_next_q;
          nx.part = fd_next_q == st.fetch && !st.rung;
          nx.job = '0;
          turn_wish = fd_pushed_q != '0 && (st.active || nx.occ != '0);
        end else begin
          turn_wish = 1'b1;
        end
      end
      EV_TURNED: begin
        nx.active = 1'b0;
        nx.again = 1'b0;
        nx.kicked = 1'b0;
        nx.released = 1'b0;
        rel_down = st.released;
        nx.occ = st.occ - td_popped_q;
        credits = credits_q + CW'(td_popped_q);
        if (!st.closing && !st.halted) begin
          if (td_blocked_q == 2'd1) begin
            nx.waiting = 1'b1;
            nx.in_wait = 1'b1;
            wait_push = !st.in_wait;
          end else if (td_blocked_q == 2'd3) begin
            nx.halted = 1'b1;
            nx.own = 1'b1;
            nx.fetch = td_index_q;
          end else if (td_blocked_q == 2'd2 && !st.kicked) begin
            nx.blocked = 1'b1;
          end else begin
            turn_wish = td_more_q || st.again || td_blocked_q == 2'd2;
          end
        end
      end
      EV_KICK: begin
        nx.blocked = 1'b0;
        nx.kicked = st.active;
        turn_wish = st.blocked;
      end
      EV_FETCH: nx.fetching = 1'b0;
      EV_ROOM: begin
        nx.waiting = 1'b0;
        nx.in_wait = 1'b0;
        // One that waits for its rate does not count: it would hold up the others.
        nx.released = st.waiting && !st.closing && !st.halted && !st.active && !pace_limited_i;
        rel_up = nx.released;
        turn_wish = st.waiting;
      end
      EV_ORDER: begin
        if (o_q == O_MARK) begin
          nx.closing = 1'b1;
          nx.blocked = 1'b0;
        end
        o_s1_idle = !st.active && st.job == '0 && !st.emptying;
        if (o_q == O_ZERO) begin
          credits = credits_q + CW'(st.occ);
          nx = '0;
          nx.fetching = st.fetching;
          nx.in_wait = st.in_wait;
        end
        if (o_q == O_KICK) begin
          nx.blocked = 1'b0;
          nx.kicked = st.active;
          turn_wish = st.blocked;
        end
      end
      EV_HALT: begin
        nx.halted = st.halted || !st.closing;
        nx.own = 1'b0;
        nx.blocked = 1'b0;
      end
      EV_EMPTIED: begin
        nx.emptying = 1'b0;
        nx.occ = '0;
        credits = credits_q + CW'(st.occ);
        if (st.own) begin
          nx.halted = 1'b0;
          nx.own = 1'b0;
          nx.part = 1'b0;
        end
      end
      EV_RESUME:
      if (st.halted && !st.own) begin
        nx.halted = 1'b0;
        nx.fetch = rwd_index_q;
        nx.part = 1'b0;
        nx.waiting = 1'b0;  // what msg_pool has needs no room
      end
      default: ;
    endcase

    turn_push = 1'b0;
    if (turn_wish && !nx.closing && !nx.halted) begin
      if (nx.active) begin
        nx.again = 1'b1;
      end else if (!nx.blocked && !nx.waiting) begin
        turn_push = 1'b1;
        nx.active = 1'b1;
      end
    end

    // Fetch what is posted, if the QP may have more entries. A link may have led past what is
    // posted: then avail is larger than the ring.
    avail = nx.prod - nx.fetch;
    room = CAP - {10'd0, nx.occ};
    want = (avail < FB) ? avail : FB;
    take = (want < room) ? want : room;
    ask = avail != '0 && avail <= (16'd1 << nx.log_sq) && nx.job == '0 && !nx.part &&
          !nx.fetching && !nx.closing && !nx.halted &&
          room >= ((want < WORTH) ? want : WORTH);
    ask_now = ask && req_ready && (fq_empty || s1_event_q == EV_FETCH) && 16'(credits) >= take;
    ask_push = ask && !ask_now;
    if (ask_now) begin
      nx.job = take[4:0];
      nx.rung = 1'b0;
      nx.occ = nx.occ + take[5:0];
      credits = credits - CW'(take);
    end
    if (ask_push) nx.fetching = 1'b1;

    // Nothing of a halted QP is at work any more.
    stop_push = nx.halted && !nx.closing && !nx.active && nx.job == '0 && !st.emptying &&
                ((s1_event_q == EV_HALT && !st.halted) || s1_event_q == EV_TURNED ||
                 (s1_event_q == EV_FETCHED && fd_last_q));
    if (stop_push) nx.emptying = 1'b1;
  end

  logic s1_real, wr_en;
  assign s1_real = s1_valid_q && s1_known_q && s1_event_q != EV_QUERY &&
                   (s1_event_q != EV_POST || p_ctx_here);
  assign wr_en = !init_done_o || s1_real;
  ram_sdp #(.W(ST_W), .DEPTH(NQ), .FORWARD(1)) u_state (
      .clk_i,
      .wr_en_i  (wr_en),
      .wr_addr_i(init_done_o ? s1_qp_q : init_q[QW-1:0]),
      .wr_data_i(init_done_o ? nx : '0),
      .rd_en_i  (s0_valid),
      .rd_addr_i(s0_qpn[QW-1:0]),
      .rd_data_o(st)
  );

  always_ff @(posedge clk_i) begin
    o_q <= o_d;
    if (s1_real) credits_q <= credits;
    if (s1_real && rel_up) rel_q <= rel_q + 1'b1;
    if (s1_real && rel_down) rel_q <= rel_q - 1'b1;
    if (rst_i) begin
      o_q <= O_IDLE;
      credits_q <= CW'(N_WQE);
      rel_q <= '0;
    end
  end

  // ---------------------------------------------------------------------------------------- queues
  logic [FLW-1:0] fq_level, rq_level, tq_level;
  logic [QW-1:0]  tq_qpn;
  logic           fq_ready, rq_ready, tq_ready;
  // A turn may pass an empty queue, but not that of a BlueFlame WQE, which enters the store only
  // now.
  // A QP with a rate goes to tx_pacer instead and comes back from there.
  logic tq_valid, turn_past, turn_now;
  assign turn_now = s1_real && turn_push && !pace_limited_i;
  assign turn_past = turn_now && tq_level == '0 && s1_event_q != EV_POST;
  assign pace_chk_o = s0_valid;
  assign pace_chk_qpn_o = s0_qpn;
  assign pace_want_o = s1_real && turn_push && pace_limited_i;
  assign pace_want_qpn_o = 24'(s1_qp_q);
  assign pace_want_idle_o = s1_event_q != EV_TURNED;
  assign pace_want_window_o = s1_event_q == EV_TURNED && td_window_q;
  assign go_ready = !turn_now;
  stream_fifo #(.W(QW), .DEPTH(NQ)) u_turns (
      .clk_i,
      .rst_i,
      .in_valid (turn_now ? !(turn_past && turn_ready) : go_valid),
      .in_ready (tq_ready),
      .in_data  (turn_now ? s1_qp_q : go_qpn[QW-1:0]),
      .out_valid(tq_valid),
      .out_ready(turn_ready),
      .out_data (tq_qpn),
      .level_o  (tq_level)
  );
  assign turn_valid = tq_valid || turn_past;
  assign turn_qpn = tq_valid ? 24'(tq_qpn) : 24'(s1_qp_q);

  // What must end soon does not wait for tokens: a replay, CLEAR, ERR.
  logic          hurry_push, hurry_room;
  logic [2:0]    hurry_level;
  logic [QW-1:0] hurry_qp;
  assign hurry_push = s1_real && st.active && pace_limited_i &&
      (s1_event_q == EV_HALT || (s1_event_q == EV_ORDER && (o_q == O_MARK ||
       (o_q == O_KICK && qpi.op == rnic_pkg::QPI_ERR))));
  stream_fifo_small #(.W(QW), .DEPTH(4)) u_hurry (
      .clk_i,
      .rst_i,
      .in_valid (hurry_push),
      .in_ready (hurry_room),
      .in_data  (s1_qp_q),
      .out_valid(hurry_valid),
      .out_ready(hurry_ready),
      .out_data (hurry_qp),
      .level_o  (hurry_level)
  );
  assign hurry_qpn = 24'(hurry_qp);
  assign hurry_few = hurry_level < 3'd2;

  stream_fifo #(.W(QW), .DEPTH(NQ)) u_fetches (
      .clk_i,
      .rst_i,
      .in_valid (s1_real && ask_push),
      .in_ready (fq_ready),
      .in_data  (s1_qp_q),
      .out_valid(fq_valid),
      .out_ready(fetch_go),
      .out_data (fq_qpn),
      .level_o  (fq_level)
  );
  assign fq_empty = fq_level == '0;

  stream_fifo #(.W(QW), .DEPTH(NQ)) u_waiting (
      .clk_i,
      .rst_i,
      .in_valid (s1_real && wait_push),
      .in_ready (rq_ready),
      .in_data  (s1_qp_q),
      .out_valid(rq_valid),
      .out_ready(room_go),
      .out_data (rq_qpn),
      .level_o  (rq_level)
  );
  logic [FLW-1:0] eq_level, rwg_level;
  logic [QW-1:0]  rwg_qp;
  stream_fifo #(.W(QW), .DEPTH(NQ)) u_halted (
      .clk_i,
      .rst_i,
      .in_valid (s1_real && stop_push),
      .in_ready (eq_ready),
      .in_data  (s1_qp_q),
      .out_valid(eq_valid),
      .out_ready(eq_take),
      .out_data (eq_qp),
      .level_o  (eq_level)
  );
  // Deep enough for all, so that CLEAR waits for nobody.
  logic rwg_push;
  assign rwg_push = s1_real && s1_event_q == EV_EMPTIED && st.halted && !st.own && !st.closing;
  stream_fifo #(.W(QW), .DEPTH(NQ)) u_stopped (
      .clk_i,
      .rst_i,
      .in_valid (rwg_push),
      .in_ready (rwg_room),
      .in_data  (s1_qp_q),
      .out_valid(rwg_valid),
      .out_ready(rwg_ready),
      .out_data (rwg_qp),
      .level_o  (rwg_level)
  );
  assign rwg_qpn = 24'(rwg_qp);

  // One at a time, so that its turn is counted before the next one is looked at.
  assign room_head = rq_valid && msg_room_i && rel_q < RELEASES &&
                     !(s1_valid_q && s1_event_q == EV_ROOM);

  logic [1:0] req_level;
  stream_fifo_small #(.W(63), .DEPTH(2), .LATENCY(0)) u_requests (
      .clk_i,
      .rst_i,
      .in_valid (s1_real && ask_now),
      .in_ready (req_ready),
      .in_data  ({24'(s1_qp_q), nx.fetch, take[6:0], avail}),
      .out_valid(wqe_req_valid),
      .out_ready(wqe_req_ready),
      .out_data ({wqe_req_qpn, wqe_req_index, wqe_req_blocks, wqe_req_avail}),
      .level_o  (req_level)
  );
  // The request register must be free for the head, and the largest fetch must fit.
  assign fetch_head = fq_valid && req_level == 2'd0 && !(s1_valid_q && s1_event_q == EV_FETCH) &&
                      credits_q >= CW'(FETCH_BLOCKS);

  // -------------------------------------------------------------------- BlueFlame, query, counters
  assign bfw_valid = bf_ok;
  always_comb begin
    bfw = p_entry_q;
    bfw.next_index = post_index;
    bfw.bad = 1'b0;
    bfw.status = 8'd0;
    bfw.has2 = p_entry_q.blocks > 7'd1;
    bfw.sampled = p_entry_q.sampled || p_entry_q.wqe[77] || smp_hit_i;
  end
  assign smp_valid_o = bf_ok;
  assign smp_qpn_o = p_qpn_q;

  assign qry_valid = s1_valid_q && s1_event_q == EV_QUERY;
  assign qry_prod = s1_known_q ? st.prod : '0;
  assign qry_fetch = s1_known_q ? st.fetch : '0;

  assign cnt_doorbells_o = post_ok1 && !p_bf_q;
  assign cnt_doorbell_refused_o = post_real && !post_fit;
  assign cnt_bf_pushes_o = bf_ok;
  assign cnt_bf_fallbacks_o = post_fit && p_bf_q && !bf_ok;
  assign trc_valid_o = wqe_req_valid && wqe_req_ready;
  assign trc_o = {rnic_pkg::TRC_WQE_REQ, wqe_req_qpn, 16'd0, wqe_req_index};
  assign trc_sampled_o = 1'b0;  // whether the WQEs there are sampled is not known yet

  logic unused;
  assign unused = ^{bf_len, p_ctx, qpi, p_entry_q, s0_qpn, tq_level, rq_level, eq_level, rwg_level,
                    take, p_qpn_q, go_qpn};

  `RNIC_ASSERT(turn_queue_holds_every_qp, !((turn_now || go_valid) && !tq_ready))
  `RNIC_ASSERT(hurry_fits, !hurry_push || hurry_room)
  `RNIC_ASSERT(fetch_queue_holds_every_qp, !(s1_real && ask_push && !fq_ready))
  `RNIC_ASSERT(wait_queue_holds_every_qp, !(s1_real && wait_push && !rq_ready))
  `RNIC_ASSERT(halt_queue_holds_every_qp, !(s1_real && stop_push && !eq_ready))
  `RNIC_ASSERT(halted_qp_is_at_rest, !(rwg_push && (st.active || st.job != '0)))
  `RNIC_ASSERT(stop_is_heard, !rwg_push || rwg_room)
  `RNIC_ASSERT(credits_bound, credits_q <= CW'(N_WQE))
  `RNIC_ASSERT(popped_was_there, !(s1_real && s1_event_q == EV_TURNED && td_popped_q > st.occ))
  `RNIC_ASSERT(done_was_asked, !(s1_real && s1_event_q == EV_FETCHED && st.job == '0))
  `RNIC_ASSERT(turn_was_given, !(s1_real && s1_event_q == EV_TURNED && !st.active))
endmodule
