// SPDX-License-Identifier: Apache-2.0
// What stays on chip of every QP, whether its context does or not: what its creation gave and its
// state (rings, queues, PD), so that doorbells and fetches of WQEs never wait for host memory; and
// the few indices without which a QP whose context is lost could not end in good order.
// Latency: readers as ctx_ram; control (c, l) 1 cycle. After reset everything is cleared.
module ctx_front #(
    parameter int unsigned N_QP = 1024
) (
    input  logic clk_i,
    input  logic rst_i,
    output logic init_done_o,
    // owners
    input  logic cw_valid,
    input  logic [23:0] cw_qpn,
    input  rnic_pkg::qp_conn_t cw,
    input  logic snd_wr_valid,
    input  logic [23:0] snd_wr_qpn,
    input  rnic_pkg::qp_send_t snd_wr,
    input  logic ack_wr_valid,
    input  logic [23:0] ack_wr_qpn,
    input  rnic_pkg::qp_ack_t ack_wr,
    input  logic rcv_wr_valid,
    input  logic [23:0] rcv_wr_qpn,
    input  rnic_pkg::qp_recv_t rcv_wr,
    // readers: doorbell, sq_scheduler, wqe_fetch_engine, rq_store
    input  logic [3:0] lk_valid,
    output logic [3:0] lk_ready,
    input  logic [4*24-1:0] lk_qpn,
    output logic [3:0] ctx_valid,
    output rnic_pkg::qp_conn_t db_ctx,
    output rnic_pkg::qp_conn_t sch_ctx,
    output rnic_pkg::qp_conn_t wf_ctx,
    output rnic_pkg::qp_conn_t rq_ctx,
    // control: of a miss; does the QP exist, how often was it written to host memory
    input  logic c_lk_i,
    input  logic [23:0] c_qpn_i,
    output logic c_exists_o,
    output logic [7:0] c_gen_o,
    input  logic gen_wr_i,
    input  logic [23:0] gen_qpn_i,
    input  logic [7:0] gen_i,
    // control: what takes the place of a context that is lost
    input  logic l_lk_i,
    input  logic [23:0] l_qpn_i,
    output rnic_pkg::qp_conn_t l_conn_o,
    output rnic_pkg::qp_send_t l_snd_o,
    output rnic_pkg::qp_ack_t l_ack_o,
    output rnic_pkg::qp_recv_t l_rcv_o
);
  rnic_pkg::qp_front_t front;
  localparam int unsigned FRONT_W = $bits(front);
  assign front = {cw.exists, cw.has_path, cw.state, cw.qtype, cw.sq_sig_all, cw.pd, cw.path,
                  cw.send_cqn, cw.recv_cqn, cw.log_sq, cw.log_rq, cw.sq_base, cw.rq_base, cw.rate,
                  cw.weight};

  // Readers 0 to 3, then control: 4 of a miss, 5 of one that is lost.
  logic [5:0] done, r_valid, r_ready, r_answer;
  logic [6*24-1:0] r_qpn;
  logic [6*FRONT_W-1:0] r_front;
  assign r_valid = {l_lk_i, c_lk_i, lk_valid};
  assign r_qpn = {l_qpn_i, c_qpn_i, lk_qpn};
  assign lk_ready = r_ready[3:0];
  assign ctx_valid = r_answer[3:0];
  for (genvar i = 0; i < 6; i++) begin : gen_reader
    ctx_ram #(
        .W(FRONT_W),
        .N_QP(N_QP),
        .LAT(1)
    ) u_ram (
        .clk_i,
        .rst_i,
        .init_done_o(done[i]),
        .wr_valid(cw_valid),
        .wr_qpn(cw_qpn),
        .wr(front),
        .lk_valid(r_valid[i]),
        .lk_ready(r_ready[i]),
        .lk_qpn(r_qpn[i*24+:24]),
        .ctx_valid(r_answer[i]),
        .ctx(r_front[i*FRONT_W+:FRONT_W])
    );
  end

  rnic_pkg::qp_front_t f0, f1, f2, f3, f4, f5;
  assign {f5, f4, f3, f2, f1, f0} = r_front;
  ctx_widen u_db (.front_i(f0), .conn_o(db_ctx));
  ctx_widen u_sch (.front_i(f1), .conn_o(sch_ctx));
  ctx_widen u_wf (.front_i(f2), .conn_o(wf_ctx));
  ctx_widen u_rq (.front_i(f3), .conn_o(rq_ctx));
  ctx_widen u_lost (.front_i(f5), .conn_o(l_conn_o));
  assign c_exists_o = f4.exists;

  // Indices, as their owners write them.
  logic [3:0] d_done, d_answer, d_ready;
  logic [15:0] l_pool, l_cons;
  logic l_rewinding, l_stopped;
  ctx_ram #(.W(16), .N_QP(N_QP), .LAT(1)) u_pool_index (
      .clk_i, .rst_i, .init_done_o(d_done[0]),
      .wr_valid(snd_wr_valid), .wr_qpn(snd_wr_qpn), .wr(snd_wr.pool_index),
      .lk_valid(l_lk_i), .lk_ready(d_ready[0]), .lk_qpn(l_qpn_i),
      .ctx_valid(d_answer[0]), .ctx(l_pool)
  );
  ctx_ram #(.W(2), .N_QP(N_QP), .LAT(1)) u_replay (
      .clk_i, .rst_i, .init_done_o(d_done[1]),
      .wr_valid(ack_wr_valid), .wr_qpn(ack_wr_qpn), .wr({ack_wr.rewinding, ack_wr.stopped}),
      .lk_valid(l_lk_i), .lk_ready(d_ready[1]), .lk_qpn(l_qpn_i),
      .ctx_valid(d_answer[1]), .ctx({l_rewinding, l_stopped})
  );
  ctx_ram #(.W(16), .N_QP(N_QP), .LAT(1)) u_rq_cons (
      .clk_i, .rst_i, .init_done_o(d_done[2]),
      .wr_valid(rcv_wr_valid), .wr_qpn(rcv_wr_qpn), .wr(rcv_wr.rq_cons),
      .lk_valid(l_lk_i), .lk_ready(d_ready[2]), .lk_qpn(l_qpn_i),
      .ctx_valid(d_answer[2]), .ctx(l_cons)
  );
  ctx_ram #(.W(8), .N_QP(N_QP), .LAT(1)) u_gen (
      .clk_i, .rst_i, .init_done_o(d_done[3]),
      .wr_valid(gen_wr_i), .wr_qpn(gen_qpn_i), .wr(gen_i),
      .lk_valid(c_lk_i), .lk_ready(d_ready[3]), .lk_qpn(c_qpn_i),
      .ctx_valid(d_answer[3]), .ctx(c_gen_o)
  );
  assign init_done_o = (&done) && (&d_done);

  // Lost: nothing is executed or sent any more, what was posted is flushed.
  always_comb begin
    l_snd_o = '0;
    l_snd_o.pool_index = l_pool;
    l_snd_o.at_index = l_pool;
    l_snd_o.failed = 1'b1;
    l_ack_o = '0;
    l_ack_o.failed = 1'b1;
    l_ack_o.rewinding = l_rewinding;
    l_ack_o.stopped = l_stopped;
    l_rcv_o = '0;
    l_rcv_o.rq_cons = l_cons;
    l_rcv_o.failed = 1'b1;
  end

  logic unused;
  assign unused = ^{cw, snd_wr, ack_wr, rcv_wr, r_ready[5:4], r_answer[5:4], d_answer, d_ready, f4};
endmodule
