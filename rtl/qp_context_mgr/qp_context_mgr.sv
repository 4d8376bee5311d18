// SPDX-License-Identifier: Apache-2.0
// The QP contexts, split by owner: each half is a memory of its own with one writer and its
// readers. Throughput: one lookup per reader and cycle; latency CTX_LAT cycles (1 to 3), answers in
// order, lookups are never refused once init_done_o is up (N_QP cycles after reset). A QPN beyond
// N_QP reads as a QP that does not exist.
module qp_context_mgr #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned CTX_LAT = 1
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic init_done_o,

    // Connection half: written by cmd_unit.
    input  logic cw_valid,
    input  logic [23:0] cw_qpn,
    input  rnic_pkg::qp_conn_t cw,
    // Reader doorbell.
    input  logic db_lk_valid,
    output logic db_lk_ready,
    input  logic [23:0] db_lk_qpn,
    output logic db_ctx_valid,
    output rnic_pkg::qp_conn_t db_ctx,
    // Reader sq_scheduler.
    input  logic sch_lk_valid,
    output logic sch_lk_ready,
    input  logic [23:0] sch_lk_qpn,
    output logic sch_ctx_valid,
    output rnic_pkg::qp_conn_t sch_ctx,
    // Reader wqe_fetch_engine.
    input  logic wf_lk_valid,
    output logic wf_lk_ready,
    input  logic [23:0] wf_lk_qpn,
    output logic wf_ctx_valid,
    output rnic_pkg::qp_conn_t wf_ctx,
    // Reader sq_engine.
    input  logic sq_lk_valid,
    output logic sq_lk_ready,
    input  logic [23:0] sq_lk_qpn,
    output logic sq_ctx_valid,
    output rnic_pkg::qp_conn_t sq_ctx,
    // Reader rx_responder.
    input  logic rs_lk_valid,
    output logic rs_lk_ready,
    input  logic [23:0] rs_lk_qpn,
    output logic rs_ctx_valid,
    output rnic_pkg::qp_conn_t rs_ctx,
    // Reader resp_engine.
    input  logic re_lk_valid,
    output logic re_lk_ready,
    input  logic [23:0] re_lk_qpn,
    output logic re_ctx_valid,
    output rnic_pkg::qp_conn_t re_ctx,
    // Reader rx_completer.
    input  logic cp_lk_valid,
    output logic cp_lk_ready,
    input  logic [23:0] cp_lk_qpn,
    output logic cp_ctx_valid,
    output rnic_pkg::qp_conn_t cp_ctx,
    // snd: written and read by sq_engine.
    input  logic snd_wr_valid,
    input  logic [23:0] snd_wr_qpn,
    input  rnic_pkg::qp_send_t snd_wr,
    input  logic snd_lk_valid,
    output logic snd_lk_ready,
    input  logic [23:0] snd_lk_qpn,
    output logic snd_ctx_valid,
    output rnic_pkg::qp_send_t snd_ctx,
    // ack: written and read by rx_completer.
    input  logic ack_wr_valid,
    input  logic [23:0] ack_wr_qpn,
    input  rnic_pkg::qp_ack_t ack_wr,
    input  logic ack_lk_valid,
    output logic ack_lk_ready,
    input  logic [23:0] ack_lk_qpn,
    output logic ack_ctx_valid,
    output rnic_pkg::qp_ack_t ack_ctx,
    // rcv: written and read by rx_responder.
    input  logic rcv_wr_valid,
    input  logic [23:0] rcv_wr_qpn,
    input  rnic_pkg::qp_recv_t rcv_wr,
    input  logic rcv_lk_valid,
    output logic rcv_lk_ready,
    input  logic [23:0] rcv_lk_qpn,
    output logic rcv_ctx_valid,
    output rnic_pkg::qp_recv_t rcv_ctx,
    // snd, read by rx_completer.
    input  logic cps_lk_valid,
    output logic cps_lk_ready,
    input  logic [23:0] cps_lk_qpn,
    output logic cps_ctx_valid,
    output rnic_pkg::qp_send_t cps_ctx,
    // ack, read by sq_engine.
    input  logic sqa_lk_valid,
    output logic sqa_lk_ready,
    input  logic [23:0] sqa_lk_qpn,
    output logic sqa_ctx_valid,
    output rnic_pkg::qp_ack_t sqa_ctx,
    // Reader rq_store.
    input  logic rq_lk_valid,
    output logic rq_lk_ready,
    input  logic [23:0] rq_lk_qpn,
    output logic rq_ctx_valid,
    output rnic_pkg::qp_conn_t rq_ctx,
    // Query by cmd_unit: all halves at once.
    input  logic q_lk_valid,
    output logic q_lk_ready,
    input  logic [23:0] q_lk_qpn,
    output logic q_ctx_valid,
    output rnic_pkg::qp_conn_t q_conn,
    output rnic_pkg::qp_send_t q_snd,
    output rnic_pkg::qp_ack_t q_ack,
    output rnic_pkg::qp_recv_t q_rcv
);
  localparam int unsigned CONN_W = $bits(cw);
  localparam int unsigned SEND_W = $bits(snd_wr);
  localparam int unsigned ACK_W = $bits(ack_wr);
  localparam int unsigned RECV_W = $bits(rcv_wr);

  logic [16:0] done;
  assign init_done_o = &done;

  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_db (
      .clk_i,
      .rst_i,
      .init_done_o(done[0]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(db_lk_valid),
      .lk_ready(db_lk_ready),
      .lk_qpn(db_lk_qpn),
      .ctx_valid(db_ctx_valid),
      .ctx(db_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_sch (
      .clk_i,
      .rst_i,
      .init_done_o(done[1]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(sch_lk_valid),
      .lk_ready(sch_lk_ready),
      .lk_qpn(sch_lk_qpn),
      .ctx_valid(sch_ctx_valid),
      .ctx(sch_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_wf (
      .clk_i,
      .rst_i,
      .init_done_o(done[2]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(wf_lk_valid),
      .lk_ready(wf_lk_ready),
      .lk_qpn(wf_lk_qpn),
      .ctx_valid(wf_ctx_valid),
      .ctx(wf_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_sq (
      .clk_i,
      .rst_i,
      .init_done_o(done[3]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(sq_lk_valid),
      .lk_ready(sq_lk_ready),
      .lk_qpn(sq_lk_qpn),
      .ctx_valid(sq_ctx_valid),
      .ctx(sq_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_rs (
      .clk_i,
      .rst_i,
      .init_done_o(done[4]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(rs_lk_valid),
      .lk_ready(rs_lk_ready),
      .lk_qpn(rs_lk_qpn),
      .ctx_valid(rs_ctx_valid),
      .ctx(rs_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_re (
      .clk_i,
      .rst_i,
      .init_done_o(done[5]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(re_lk_valid),
      .lk_ready(re_lk_ready),
      .lk_qpn(re_lk_qpn),
      .ctx_valid(re_ctx_valid),
      .ctx(re_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_cp (
      .clk_i,
      .rst_i,
      .init_done_o(done[6]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(cp_lk_valid),
      .lk_ready(cp_lk_ready),
      .lk_qpn(cp_lk_qpn),
      .ctx_valid(cp_ctx_valid),
      .ctx(cp_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_q (
      .clk_i,
      .rst_i,
      .init_done_o(done[7]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(q_lk_valid),
      .lk_ready(q_lk_ready),
      .lk_qpn(q_lk_qpn),
      .ctx_valid(q_ctx_valid),
      .ctx(q_conn)
  );
  ctx_ram #(
      .W(SEND_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_snd (
      .clk_i,
      .rst_i,
      .init_done_o(done[8]),
      .wr_valid(snd_wr_valid),
      .wr_qpn(snd_wr_qpn),
      .wr(snd_wr),
      .lk_valid(snd_lk_valid),
      .lk_ready(snd_lk_ready),
      .lk_qpn(snd_lk_qpn),
      .ctx_valid(snd_ctx_valid),
      .ctx(snd_ctx)
  );
  ctx_ram #(
      .W(ACK_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_ack (
      .clk_i,
      .rst_i,
      .init_done_o(done[9]),
      .wr_valid(ack_wr_valid),
      .wr_qpn(ack_wr_qpn),
      .wr(ack_wr),
      .lk_valid(ack_lk_valid),
      .lk_ready(ack_lk_ready),
      .lk_qpn(ack_lk_qpn),
      .ctx_valid(ack_ctx_valid),
      .ctx(ack_ctx)
  );
  ctx_ram #(
      .W(RECV_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_rcv (
      .clk_i,
      .rst_i,
      .init_done_o(done[10]),
      .wr_valid(rcv_wr_valid),
      .wr_qpn(rcv_wr_qpn),
      .wr(rcv_wr),
      .lk_valid(rcv_lk_valid),
      .lk_ready(rcv_lk_ready),
      .lk_qpn(rcv_lk_qpn),
      .ctx_valid(rcv_ctx_valid),
      .ctx(rcv_ctx)
  );
  ctx_ram #(
      .W(SEND_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_cps (
      .clk_i,
      .rst_i,
      .init_done_o(done[11]),
      .wr_valid(snd_wr_valid),
      .wr_qpn(snd_wr_qpn),
      .wr(snd_wr),
      .lk_valid(cps_lk_valid),
      .lk_ready(cps_lk_ready),
      .lk_qpn(cps_lk_qpn),
      .ctx_valid(cps_ctx_valid),
      .ctx(cps_ctx)
  );
  ctx_ram #(
      .W(ACK_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_sqa (
      .clk_i,
      .rst_i,
      .init_done_o(done[15]),
      .wr_valid(ack_wr_valid),
      .wr_qpn(ack_wr_qpn),
      .wr(ack_wr),
      .lk_valid(sqa_lk_valid),
      .lk_ready(sqa_lk_ready),
      .lk_qpn(sqa_lk_qpn),
      .ctx_valid(sqa_ctx_valid),
      .ctx(sqa_ctx)
  );
  ctx_ram #(
      .W(CONN_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_conn_rq (
      .clk_i,
      .rst_i,
      .init_done_o(done[16]),
      .wr_valid(cw_valid),
      .wr_qpn(cw_qpn),
      .wr(cw),
      .lk_valid(rq_lk_valid),
      .lk_ready(rq_lk_ready),
      .lk_qpn(rq_lk_qpn),
      .ctx_valid(rq_ctx_valid),
      .ctx(rq_ctx)
  );

  // Query copies of the halves; they answer together with the connection.
  logic [5:0] unused_q;
  ctx_ram #(
      .W(SEND_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_q_snd (
      .clk_i,
      .rst_i,
      .init_done_o(done[12]),
      .wr_valid(snd_wr_valid),
      .wr_qpn(snd_wr_qpn),
      .wr(snd_wr),
      .lk_valid(q_lk_valid),
      .lk_ready(unused_q[0]),
      .lk_qpn(q_lk_qpn),
      .ctx_valid(unused_q[1]),
      .ctx(q_snd)
  );
  ctx_ram #(
      .W(ACK_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_q_ack (
      .clk_i,
      .rst_i,
      .init_done_o(done[13]),
      .wr_valid(ack_wr_valid),
      .wr_qpn(ack_wr_qpn),
      .wr(ack_wr),
      .lk_valid(q_lk_valid),
      .lk_ready(unused_q[2]),
      .lk_qpn(q_lk_qpn),
      .ctx_valid(unused_q[3]),
      .ctx(q_ack)
  );
  ctx_ram #(
      .W(RECV_W),
      .N_QP(N_QP),
      .LAT(CTX_LAT)
  ) u_q_rcv (
      .clk_i,
      .rst_i,
      .init_done_o(done[14]),
      .wr_valid(rcv_wr_valid),
      .wr_qpn(rcv_wr_qpn),
      .wr(rcv_wr),
      .lk_valid(q_lk_valid),
      .lk_ready(unused_q[4]),
      .lk_qpn(q_lk_qpn),
      .ctx_valid(unused_q[5]),
      .ctx(q_rcv)
  );

  logic unused;
  assign unused = ^unused_q;
endmodule
