// SPDX-License-Identifier: Apache-2.0
// The QP contexts when not all of them fit on chip: N_CTX here, those of the other QPs at
// QP_CTX_BASE in host memory. The readers and owners of qp_context_mgr, and the stage that turns
// pass on their way to sq_engine. What doorbells and ring reads need is on chip for every QP.
// Throughput: one lookup per reader and cycle. Latency: 1 cycle on chip; else until the context
// has come, and those behind in the same reader wait. README.md has theory, policy and rules.
`include "rnic_assert.svh"
module ctx_cache #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_CTX = 64,
    parameter int unsigned N_QP = 1024,
    parameter int unsigned N_PKT = 2048,  // stored packets, at most
    parameter int unsigned N_FETCH = 16   // a power of two
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic init_done_o,
    input  logic [63:0] cfg_base_i,
    // May a QP of this number be created?
    input  logic [23:0] room_qpn_i,
    output logic room_o,

    // Connection half: written by cmd_unit.
    input  logic cw_valid,
    input  logic [23:0] cw_qpn,
    input  rnic_pkg::qp_conn_t cw,
    // Readers of the part that is always on chip: doorbell, sq_scheduler, wqe_fetch_engine,
    // rq_store. All other fields read as zero.
    input  logic db_lk_valid,
    output logic db_lk_ready,
    input  logic [23:0] db_lk_qpn,
    output logic db_ctx_valid,
    output rnic_pkg::qp_conn_t db_ctx,
    input  logic sch_lk_valid,
    output logic sch_lk_ready,
    input  logic [23:0] sch_lk_qpn,
    output logic sch_ctx_valid,
    output rnic_pkg::qp_conn_t sch_ctx,
    input  logic wf_lk_valid,
    output logic wf_lk_ready,
    input  logic [23:0] wf_lk_qpn,
    output logic wf_ctx_valid,
    output rnic_pkg::qp_conn_t wf_ctx,
    input  logic rq_lk_valid,
    output logic rq_lk_ready,
    input  logic [23:0] rq_lk_qpn,
    output logic rq_ctx_valid,
    output rnic_pkg::qp_conn_t rq_ctx,
    // sq_engine: connection, send half (its own), acknowledged half.
    input  logic sq_lk_valid,
    output logic sq_lk_ready,
    input  logic [23:0] sq_lk_qpn,
    output logic sq_ctx_valid,
    output rnic_pkg::qp_conn_t sq_ctx,
    input  logic snd_wr_valid,
    input  logic [23:0] snd_wr_qpn,
    input  rnic_pkg::qp_send_t snd_wr,
    input  logic snd_lk_valid,
    output logic snd_lk_ready,
    input  logic [23:0] snd_lk_qpn,
    output logic snd_ctx_valid,
    output rnic_pkg::qp_send_t snd_ctx,
    input  logic sqa_lk_valid,
    output logic sqa_lk_ready,
    input  logic [23:0] sqa_lk_qpn,
    output logic sqa_ctx_valid,
    output rnic_pkg::qp_ack_t sqa_ctx,
    // rx_responder: connection, receive half (its own).
    input  logic rs_lk_valid,
    output logic rs_lk_ready,
    input  logic [23:0] rs_lk_qpn,
    output logic rs_ctx_valid,
    output rnic_pkg::qp_conn_t rs_ctx,
    input  logic rcv_wr_valid,
    input  logic [23:0] rcv_wr_qpn,
    input  rnic_pkg::qp_recv_t rcv_wr,
    input  logic rcv_lk_valid,
    output logic rcv_lk_ready,
    input  logic [23:0] rcv_lk_qpn,
    output logic rcv_ctx_valid,
    output rnic_pkg::qp_recv_t rcv_ctx,
    // resp_engine: connection.
    input  logic re_lk_valid,
    output logic re_lk_ready,
    input  logic [23:0] re_lk_qpn,
    output logic re_ctx_valid,
    output rnic_pkg::qp_conn_t re_ctx,
    // rx_completer: connection, acknowledged half (its own), send half.
    input  logic cp_lk_valid,
    output logic cp_lk_ready,
    input  logic [23:0] cp_lk_qpn,
    output logic cp_ctx_valid,
    output rnic_pkg::qp_conn_t cp_ctx,
    input  logic ack_wr_valid,
    input  logic [23:0] ack_wr_qpn,
    input  rnic_pkg::qp_ack_t ack_wr,
    input  logic ack_lk_valid,
    output logic ack_lk_ready,
    input  logic [23:0] ack_lk_qpn,
    output logic ack_ctx_valid,
    output rnic_pkg::qp_ack_t ack_ctx,
    input  logic cps_lk_valid,
    output logic cps_lk_ready,
    input  logic [23:0] cps_lk_qpn,
    output logic cps_ctx_valid,
    output rnic_pkg::qp_send_t cps_ctx,
    // Query by cmd_unit: all halves at once.
    input  logic q_lk_valid,
    output logic q_lk_ready,
    input  logic [23:0] q_lk_qpn,
    output logic q_ctx_valid,
    output rnic_pkg::qp_conn_t q_conn,
    output rnic_pkg::qp_send_t q_snd,
    output rnic_pkg::qp_ack_t q_ack,
    output rnic_pkg::qp_recv_t q_rcv,

    // Contexts in use: 3..0 sq_engine, 4 rx_responder, 5 rx_completer, 6 cmd_unit. From the cycle
    // after a lookup until the last write that follows from it.
    input  logic [6:0] pin_i,
    input  logic [7*24-1:0] pin_qpn_i,
    // Turns, from sq_scheduler to sq_engine.
    input  logic turn_in_valid,
    output logic turn_in_ready,
    input  logic [23:0] turn_in_qpn,
    output logic turn_out_valid,
    input  logic turn_out_ready,
    output logic [23:0] turn_out_qpn,
    // Hints: a packet to this QP arrives; it is stored; the oldest that is stored goes on; WQEs of
    // this QP are fetched.
    input  logic rx_hint_i,
    input  logic [23:0] rx_hint_qpn_i,
    input  logic rx_stored_i,
    input  logic [23:0] rx_stored_qpn_i,
    input  logic rx_taken_i,
    // An answer of this QP enters the list of those that are sent next; its first is looked at.
    input  logic answer_i,
    input  logic [23:0] answer_qpn_i,
    input  logic answered_i,
    input  logic tx_hint_i,
    input  logic [23:0] tx_hint_qpn_i,

    // dma_master
    output logic                   rdreq_valid,
    input  logic                   rdreq_ready,
    output rnic_pkg::dma_rd_req_t  rdreq,
    input  logic                   rdrsp_valid,
    input  rnic_pkg::dma_rd_rsp_t  rdrsp,
    input  logic [DATA_W-1:0]      rdrsp_data,
    output logic                   wr_req_valid,
    input  logic                   wr_req_ready,
    output rnic_pkg::dma_wr_req_t  wr_req,
    output logic                   wr_dat_valid,
    input  logic                   wr_dat_ready,
    output logic [DATA_W-1:0]      wr_dat_data,
    output logic [7:0]             wr_dat_cnt,
    output logic                   wr_dat_last,
    input  logic                   wr_placed_i,
    // A QP whose context could not be read.
    output logic                   fail_valid,
    input  logic                   fail_ready,
    output rnic_pkg::qp_fail_t     fail,
    output logic [2:0]             cnt_hits_o,
    output logic                   cnt_misses_o,
    output logic                   trc_valid_o,
    output logic [63:0]            trc_o,
    output logic                   trc_sampled_o,
    output logic                   trc2_valid_o,
    output logic [63:0]            trc2_o,
    output logic                   trc2_sampled_o
);
  localparam int unsigned SW = $clog2(N_CTX);
  localparam int unsigned CONN_W = $bits(cw);
  localparam int unsigned SEND_W = $bits(snd_wr);
  localparam int unsigned ACK_W = $bits(ack_wr);
  localparam int unsigned RECV_W = $bits(rcv_wr);
  localparam int unsigned IMG_W = CONN_W + SEND_W + ACK_W + RECV_W;
  localparam int unsigned N_TURN = 8;
  // Readers: 0 sq, 1 snd, 2 sqa, 3 rs, 4 rcv, 5 re, 6 cp, 7 cps, 8 ack, 9 q (four copies)
  localparam int unsigned N_PORT = 10;
  localparam int unsigned Q = 9;

  logic on;
  assign on = init_done_o;

  // ------------------------------------------------------------- directory: readers, owners, turns
  logic [N_PORT-1:0] look, port_hit, hit, ask, taken;
  logic [N_PORT*24-1:0] look_qpn;
  logic [N_PORT*SW-1:0] slot;
  logic [3:0] own_valid, own_hit, own_wr;
  logic [4*24-1:0] own_qpn;
  logic [4*SW-1:0] own_slot;
  logic [23:0] find_qpn, set_qpn, put_qpn;
  logic find_hit, drop, put;
  logic [SW-1:0] find_slot, set_first, drop_slot, put_slot;
  logic [8*24-1:0] set_qpns;
  logic [7:0] set_valid;
  assign own_valid = {cw_valid, snd_wr_valid, ack_wr_valid, rcv_wr_valid};
  assign own_qpn = {cw_qpn, snd_wr_qpn, ack_wr_qpn, rcv_wr_qpn};
  ctx_dir #(
      .N_CTX(N_CTX),
      .N_QP(N_QP),
      .N_LK(N_PORT + 5)
  ) u_dir (
      .clk_i,
      .rst_i,
      .qpn_i({find_qpn, own_qpn, look_qpn}),
      .hit_o({find_hit, own_hit, hit}),
      .slot_o({find_slot, own_slot, slot}),
      .set_qpn_i(set_qpn),
      .set_first_o(set_first),
      .set_qpns_o(set_qpns),
      .set_valid_o(set_valid),
      .drop_i(drop),
      .drop_slot_i(drop_slot),
      .put_i(put),
      .put_slot_i(put_slot),
      .put_qpn_i(put_qpn)
  );
  assign own_wr = own_valid & own_hit;

  // ------------------------------------------------------------------------------ the halves
  // Each is written by its owner or, in another cycle, by the controller.
  logic [3:0] img_wr, half_wr;
  logic [4*SW-1:0] half_slot;
  logic [SW-1:0] img_slot, steal_slot;
  logic [IMG_W-1:0] img, stolen;
  logic steal_ask, steal, none_valid, none_query;
  logic [23:0] none_qpn;
  assign half_wr = own_wr | img_wr;
  for (genvar h = 0; h < 4; h++) begin : gen_slot
    assign half_slot[h*SW+:SW] = own_wr[h] ? own_slot[h*SW+:SW] : img_slot;
  end
  logic [CONN_W-1:0] i_conn;
  logic [SEND_W-1:0] i_snd;
  logic [ACK_W-1:0] i_ack;
  logic [RECV_W-1:0] i_rcv;
  logic [IMG_W-1:0] half_data;
  assign {i_conn, i_snd, i_ack, i_rcv} = img;
  assign half_data = {own_wr[3] ? cw : i_conn, own_wr[2] ? snd_wr : i_snd,
                      own_wr[1] ? ack_wr : i_ack, own_wr[0] ? rcv_wr : i_rcv};
  assign stolen = {q_conn, q_snd, q_ack, q_rcv};

  // --------------------------------------------------------------------------------------- readers
  // One copy each. The four of the query answer together, the first of them asks; a context that
  // makes room is read from them.
  localparam int unsigned N_COPY = N_PORT + 3;
  localparam logic [2*N_COPY-1:0] HALF = {
      2'd0, 2'd1, 2'd2, 2'd3,         // q
      2'd1, 2'd2, 2'd3,               // ack, cps, cp
      2'd3, 2'd0, 2'd3,               // re, rcv, rs
      2'd1, 2'd2, 2'd3};              // sqa, snd, sq
  localparam int unsigned MAX_CS = (CONN_W > SEND_W) ? CONN_W : SEND_W;
  localparam int unsigned MAX_AR = (ACK_W > RECV_W) ? ACK_W : RECV_W;
  localparam int unsigned MAX_W = (MAX_CS > MAX_AR) ? MAX_CS : MAX_AR;
  logic [N_PORT-1:0] lk_valid;
  logic [N_PORT*24-1:0] lk_qpn;
  logic [N_COPY-1:0] c_ready, c_answer, c_look, c_hit, c_ask;
  logic [N_COPY*24-1:0] c_qpn;
  logic [N_COPY*MAX_W-1:0] c_ctx;
  assign lk_valid = {q_lk_valid, ack_lk_valid, cps_lk_valid, cp_lk_valid, re_lk_valid, rcv_lk_valid,
                     rs_lk_valid, sqa_lk_valid, snd_lk_valid, sq_lk_valid};
  assign lk_qpn = {q_lk_qpn, ack_lk_qpn, cps_lk_qpn, cp_lk_qpn, re_lk_qpn, rcv_lk_qpn,
                   rs_lk_qpn, sqa_lk_qpn, snd_lk_qpn, sq_lk_qpn};
  for (genvar c = 0; c < N_COPY; c++) begin : gen_copy
    localparam int unsigned P = (c < Q) ? c : Q;
    localparam int unsigned H = 32'(HALF[2*c+:2]);
    localparam int unsigned W = (H == 3) ? CONN_W : (H == 2) ? SEND_W : (H == 1) ? ACK_W : RECV_W;
    localparam int unsigned AT = (H == 3) ? SEND_W + ACK_W + RECV_W :
                                 (H == 2) ? ACK_W + RECV_W : (H == 1) ? RECV_W : 0;
    logic [W-1:0] ctx;
    ctx_port #(
        .W(W),
        .N_CTX(N_CTX),
        .N_QP(N_QP)
    ) u_port (
        .clk_i,
        .rst_i,
        .on_i(on && !(P == Q && steal_ask)),
        .wr_i(half_wr[H]),
        .wr_slot_i(half_slot[H*SW+:SW]),
        .wr_data_i(half_data[AT+:W]),
        .lk_valid(lk_valid[P]),
        .lk_ready(c_ready[c]),
        .lk_qpn(lk_qpn[P*24+:24]),
        .ctx_valid(c_answer[c]),
        .ctx(ctx),
        .look_o(c_look[c]),
        .look_qpn_o(c_qpn[c*24+:24]),
        .hit_i(hit[P]),
        .slot_i(slot[P*SW+:SW]),
        .hit_o(c_hit[c]),
        .ask_o(c_ask[c]),
        .taken_i(taken[P]),
        .none_valid_i((P == Q) ? none_query : none_valid),
        .none_qpn_i(none_qpn),
        .steal_i(P == Q && steal),
        .steal_slot_i(steal_slot)
    );
    assign c_ctx[c*MAX_W+:MAX_W] = MAX_W'(ctx);
  end
  assign {q_lk_ready, ack_lk_ready, cps_lk_ready, cp_lk_ready, re_lk_ready, rcv_lk_ready,
          rs_lk_ready, sqa_lk_ready, snd_lk_ready, sq_lk_ready} = c_ready[N_PORT-1:0];
  assign {q_ctx_valid, ack_ctx_valid, cps_ctx_valid, cp_ctx_valid, re_ctx_valid, rcv_ctx_valid,
          rs_ctx_valid, sqa_ctx_valid, snd_ctx_valid, sq_ctx_valid} = c_answer[N_PORT-1:0];
  assign look = c_look[N_PORT-1:0];
  assign look_qpn = c_qpn[N_PORT*24-1:0];
  assign port_hit = c_hit[N_PORT-1:0];
  assign ask = c_ask[N_PORT-1:0];
  assign sq_ctx = c_ctx[0*MAX_W+:CONN_W];
  assign snd_ctx = c_ctx[1*MAX_W+:SEND_W];
  assign sqa_ctx = c_ctx[2*MAX_W+:ACK_W];
  assign rs_ctx = c_ctx[3*MAX_W+:CONN_W];
  assign rcv_ctx = c_ctx[4*MAX_W+:RECV_W];
  assign re_ctx = c_ctx[5*MAX_W+:CONN_W];
  assign cp_ctx = c_ctx[6*MAX_W+:CONN_W];
  assign cps_ctx = c_ctx[7*MAX_W+:SEND_W];
  assign ack_ctx = c_ctx[8*MAX_W+:ACK_W];
  assign q_conn = c_ctx[9*MAX_W+:CONN_W];
  assign q_snd = c_ctx[10*MAX_W+:SEND_W];
  assign q_ack = c_ctx[11*MAX_W+:ACK_W];
  assign q_rcv = c_ctx[12*MAX_W+:RECV_W];

  // ---------------------------------------------------------------------- what is always on chip
  logic front_lk, front_exists, gen_wr, lost_lk;
  logic [23:0] front_qpn, gen_qpn, lost_qpn;
  logic [7:0] front_gen, gen;
  rnic_pkg::qp_conn_t lost_conn;
  rnic_pkg::qp_send_t lost_snd;
  rnic_pkg::qp_ack_t lost_ack;
  rnic_pkg::qp_recv_t lost_rcv;
  ctx_front #(
      .N_QP(N_QP)
  ) u_front (
      .clk_i,
      .rst_i,
      .init_done_o,
      .cw_valid,
      .cw_qpn,
      .cw,
      .snd_wr_valid,
      .snd_wr_qpn,
      .snd_wr,
      .ack_wr_valid,
      .ack_wr_qpn,
      .ack_wr,
      .rcv_wr_valid,
      .rcv_wr_qpn,
      .rcv_wr,
      .lk_valid({rq_lk_valid, wf_lk_valid, sch_lk_valid, db_lk_valid}),
      .lk_ready({rq_lk_ready, wf_lk_ready, sch_lk_ready, db_lk_ready}),
      .lk_qpn({rq_lk_qpn, wf_lk_qpn, sch_lk_qpn, db_lk_qpn}),
      .ctx_valid({rq_ctx_valid, wf_ctx_valid, sch_ctx_valid, db_ctx_valid}),
      .db_ctx,
      .sch_ctx,
      .wf_ctx,
      .rq_ctx,
      .c_lk_i(front_lk),
      .c_qpn_i(front_qpn),
      .c_exists_o(front_exists),
      .c_gen_o(front_gen),
      .gen_wr_i(gen_wr),
      .gen_qpn_i(gen_qpn),
      .gen_i(gen),
      .l_lk_i(lost_lk),
      .l_qpn_i(lost_qpn),
      .l_conn_o(lost_conn),
      .l_snd_o(lost_snd),
      .l_ack_o(lost_ack),
      .l_rcv_o(lost_rcv)
  );

  // ---------------------------------------------------------------------------------------- turns
  logic turn_ask, turn_taken, turn_here, here, gone, calm;
  logic [23:0] turn_qpn, here_qpn, gone_qpn;
  logic [N_TURN:0] kept;
  logic [(N_TURN+1)*24-1:0] kept_qpn;
  ctx_turns #(
      .DEPTH(N_TURN)
  ) u_turns (
      .clk_i,
      .rst_i,
      .in_valid(turn_in_valid),
      .in_ready(turn_in_ready),
      .in_qpn(turn_in_qpn),
      .out_valid(turn_out_valid),
      .out_ready(turn_out_ready),
      .out_qpn(turn_out_qpn),
      .find_qpn_o(find_qpn),
      .find_hit_i(find_hit),
      .ask_o(turn_ask),
      .ask_qpn_o(turn_qpn),
      .taken_i(turn_taken),
      .taken_here_i(turn_here),
      .taken_qpn_i(set_qpn),
      .here_i(here),
      .here_qpn_i(here_qpn),
      .gone_i(gone),
      .gone_qpn_i(gone_qpn),
      .pin_o(kept),
      .pin_qpn_o(kept_qpn),
      .calm_o(calm)
  );

  // ---------------------------------------------------------------------------------------- hints
  // With many turns ahead a context that is fetched with its WQEs would be gone again before its
  // turn.
  logic hint_valid, hint_ready;
  logic [23:0] hint_qpn;
  ctx_hints #(
      .N_QP(N_QP),
      .N_PKT(N_PKT)
  ) u_hints (
      .clk_i,
      .rst_i,
      .on_i(on),
      .bth_i(rx_hint_i),
      .bth_qpn_i(rx_hint_qpn_i),
      .stored_i(rx_stored_i),
      .stored_qpn_i(rx_stored_qpn_i),
      .taken_i(rx_taken_i),
      .answer_i(answer_i),
      .answer_qpn_i(answer_qpn_i),
      .answered_i(answered_i),
      .wqe_i(tx_hint_i && calm),
      .wqe_qpn_i(tx_hint_qpn_i),
      .hint_valid,
      .hint_ready,
      .hint_qpn
  );

  // ----------------------------------------------------------------------------------- controller
  ctx_control #(
      .DATA_W(DATA_W),
      .N_CTX(N_CTX),
      .N_PORT(N_PORT),
      .N_PIN(7),
      .N_SOFT(N_TURN + 1),
      .N_FETCH(N_FETCH),
      .IMG_W(IMG_W)
  ) u_control (
      .clk_i,
      .rst_i,
      .on_i(on),
      .cfg_base_i,
      .room_qpn_i,
      .room_o,
      .look_i(look),
      .look_qpn_i(look_qpn),
      .hit_i(port_hit),
      .hit_slot_i(slot),
      .ask_i(ask),
      .taken_o(taken),
      .none_valid_o(none_valid),
      .none_query_o(none_query),
      .none_qpn_o(none_qpn),
      .pin_i,
      .pin_qpn_i,
      .soft_i(kept),
      .soft_qpn_i(kept_qpn),
      .turn_ask_i(turn_ask),
      .turn_qpn_i(turn_qpn),
      .turn_taken_o(turn_taken),
      .turn_here_o(turn_here),
      .hint_valid,
      .hint_ready,
      .hint_qpn,
      .here_o(here),
      .here_qpn_o(here_qpn),
      .gone_o(gone),
      .gone_qpn_o(gone_qpn),
      .set_qpn_o(set_qpn),
      .set_first_i(set_first),
      .set_qpns_i(set_qpns),
      .set_valid_i(set_valid),
      .drop_o(drop),
      .drop_slot_o(drop_slot),
      .put_o(put),
      .put_slot_o(put_slot),
      .put_qpn_o(put_qpn),
      .front_lk_o(front_lk),
      .front_qpn_o(front_qpn),
      .front_exists_i(front_exists),
      .front_gen_i(front_gen),
      .gen_wr_o(gen_wr),
      .gen_qpn_o(gen_qpn),
      .gen_o(gen),
      .lost_lk_o(lost_lk),
      .lost_qpn_o(lost_qpn),
      .lost_img_i({lost_conn, lost_snd, lost_ack, lost_rcv}),
      .own_wr_i(own_wr),
      .own_slot_i(own_slot),
      .own_exists_i(cw.exists),
      .own_beyond_i(cw_qpn >= 24'(N_CTX)),
      .img_wr_o(img_wr),
      .img_slot_o(img_slot),
      .img_o(img),
      .steal_ask_o(steal_ask),
      .steal_o(steal),
      .steal_slot_o(steal_slot),
      .stolen_i(stolen),
      .rdreq_valid,
      .rdreq_ready,
      .rdreq,
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data,
      .wr_req_valid,
      .wr_req_ready,
      .wr_req,
      .wr_dat_valid,
      .wr_dat_ready,
      .wr_dat_data,
      .wr_dat_cnt,
      .wr_dat_last,
      .wr_placed_i,
      .fail_valid,
      .fail_ready,
      .fail,
      .cnt_misses_o,
      .trc_valid_o,
      .trc_o,
      .trc2_valid_o,
      .trc2_o
  );
  assign trc_sampled_o = 1'b1;
  assign trc2_sampled_o = 1'b1;

  // Each QP is looked up with its connection half.
  assign cnt_hits_o = (3'(port_hit[0]) + 3'(port_hit[3])) + (3'(port_hit[5]) + 3'(port_hit[6])) +
      3'(port_hit[Q]);

  logic unused;
  assign unused = ^{find_slot, c_ready, c_answer, c_look, c_hit, c_ask,
                    c_qpn, c_ctx};

  `RNIC_ASSERT(one_writer, (own_wr & img_wr) == '0)
  for (genvar h = 0; h < 4; h++) begin : gen_owner
    `RNIC_ASSERT(what_is_written_is_here, !(own_valid[h] && !own_hit[h] &&
                                            own_qpn[h*24+:24] < 24'(N_QP)))
  end
endmodule
