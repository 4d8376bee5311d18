// SPDX-License-Identifier: Apache-2.0
//
// One writer per context field. Of any one QP every reader hears what the owner of that half wrote
// last, whatever the owners of the other halves write, to this QP or another, at the same time or
// not; nothing since the reset reads as zero.
// In every trace of a few cycles; ctx_ram_proof proves for ever that a memory keeps what its one
// write port says, and tests/rnic_top/one_writer.py reads in the netlist whose port that is.

`include "rnic_assert.svh"

module one_writer_proof #(
  parameter int unsigned N_QP = 2
) (
  input logic                clk_i,
  input logic                rst_i,
  input logic                cw_valid,
  input logic [23:0]         cw_qpn,
  input rnic_pkg::qp_conn_t  cw,
  input logic                snd_wr_valid,
  input logic [23:0]         snd_wr_qpn,
  input rnic_pkg::qp_send_t  snd_wr,
  input logic                ack_wr_valid,
  input logic [23:0]         ack_wr_qpn,
  input rnic_pkg::qp_ack_t   ack_wr,
  input logic                rcv_wr_valid,
  input logic [23:0]         rcv_wr_qpn,
  input rnic_pkg::qp_recv_t  rcv_wr,
  input logic [13:0]         look,
  input logic [14*24-1:0]    look_qpn
);
  (* anyconst *) logic [23:0] qpn;
  always_ff @(posedge clk_i) assume (qpn < 24'(N_QP));

  // Readers: 0 db, 1 sch, 2 wf, 3 sq, 4 rs, 5 re, 6 cp, 7 rq, 8 snd, 9 cps, 10 ack, 11 sqa, 12 rcv,
  // 13 query
  localparam int unsigned N = 14;
  logic [N-1:0] lk_ready, ctx_valid, due_q;
  logic on;
  rnic_pkg::qp_conn_t db, sch, wf, sq, rs, re, cp, rq, q_conn;
  rnic_pkg::qp_send_t snd, cps, q_snd;
  rnic_pkg::qp_ack_t ack, sqa, q_ack;
  rnic_pkg::qp_recv_t rcv, q_rcv;
  qp_context_mgr #(.N_QP(N_QP)) u_dut (
    .clk_i, .rst_i,
    .init_done_o(on),
    .cw_valid, .cw_qpn, .cw,
    .snd_wr_valid, .snd_wr_qpn, .snd_wr,
    .ack_wr_valid, .ack_wr_qpn, .ack_wr,
    .rcv_wr_valid, .rcv_wr_qpn, .rcv_wr,
    .db_lk_valid(look[0]), .db_lk_ready(lk_ready[0]), .db_lk_qpn(look_qpn[0*24 +: 24]),
    .db_ctx_valid(ctx_valid[0]), .db_ctx(db),
    .sch_lk_valid(look[1]), .sch_lk_ready(lk_ready[1]), .sch_lk_qpn(look_qpn[1*24 +: 24]),
    .sch_ctx_valid(ctx_valid[1]), .sch_ctx(sch),
    .wf_lk_valid(look[2]), .wf_lk_ready(lk_ready[2]), .wf_lk_qpn(look_qpn[2*24 +: 24]),
    .wf_ctx_valid(ctx_valid[2]), .wf_ctx(wf),
    .sq_lk_valid(look[3]), .sq_lk_ready(lk_ready[3]), .sq_lk_qpn(look_qpn[3*24 +: 24]),
    .sq_ctx_valid(ctx_valid[3]), .sq_ctx(sq),
    .rs_lk_valid(look[4]), .rs_lk_ready(lk_ready[4]), .rs_lk_qpn(look_qpn[4*24 +: 24]),
    .rs_ctx_valid(ctx_valid[4]), .rs_ctx(rs),
    .re_lk_valid(look[5]), .re_lk_ready(lk_ready[5]), .re_lk_qpn(look_qpn[5*24 +: 24]),
    .re_ctx_valid(ctx_valid[5]), .re_ctx(re),
    .cp_lk_valid(look[6]), .cp_lk_ready(lk_ready[6]), .cp_lk_qpn(look_qpn[6*24 +: 24]),
    .cp_ctx_valid(ctx_valid[6]), .cp_ctx(cp),
    .rq_lk_valid(look[7]), .rq_lk_ready(lk_ready[7]), .rq_lk_qpn(look_qpn[7*24 +: 24]),
    .rq_ctx_valid(ctx_valid[7]), .rq_ctx(rq),
    .snd_lk_valid(look[8]), .snd_lk_ready(lk_ready[8]), .snd_lk_qpn(look_qpn[8*24 +: 24]),
    .snd_ctx_valid(ctx_valid[8]), .snd_ctx(snd),
    .cps_lk_valid(look[9]), .cps_lk_ready(lk_ready[9]), .cps_lk_qpn(look_qpn[9*24 +: 24]),
    .cps_ctx_valid(ctx_valid[9]), .cps_ctx(cps),
    .ack_lk_valid(look[10]), .ack_lk_ready(lk_ready[10]), .ack_lk_qpn(look_qpn[10*24 +: 24]),
    .ack_ctx_valid(ctx_valid[10]), .ack_ctx(ack),
    .sqa_lk_valid(look[11]), .sqa_lk_ready(lk_ready[11]), .sqa_lk_qpn(look_qpn[11*24 +: 24]),
    .sqa_ctx_valid(ctx_valid[11]), .sqa_ctx(sqa),
    .rcv_lk_valid(look[12]), .rcv_lk_ready(lk_ready[12]), .rcv_lk_qpn(look_qpn[12*24 +: 24]),
    .rcv_ctx_valid(ctx_valid[12]), .rcv_ctx(rcv),
    .q_lk_valid(look[13]), .q_lk_ready(lk_ready[13]), .q_lk_qpn(look_qpn[13*24 +: 24]),
    .q_ctx_valid(ctx_valid[13]), .q_conn, .q_snd, .q_ack, .q_rcv
  );

  // What the owners wrote last, and what it was when it was asked for.
  rnic_pkg::qp_conn_t conn_q, conn_was_q;
  rnic_pkg::qp_send_t snd_q, snd_was_q;
  rnic_pkg::qp_ack_t ack_q, ack_was_q;
  rnic_pkg::qp_recv_t rcv_q, rcv_was_q;
  always_ff @(posedge clk_i) begin
    if (cw_valid && cw_qpn == qpn) conn_q <= cw;
    if (snd_wr_valid && snd_wr_qpn == qpn) snd_q <= snd_wr;
    if (ack_wr_valid && ack_wr_qpn == qpn) ack_q <= ack_wr;
    if (rcv_wr_valid && rcv_wr_qpn == qpn) rcv_q <= rcv_wr;
    if (!on) begin
      conn_q <= '0;
      snd_q <= '0;
      ack_q <= '0;
      rcv_q <= '0;
    end
    conn_was_q <= conn_q;
    snd_was_q <= snd_q;
    ack_was_q <= ack_q;
    rcv_was_q <= rcv_q;
    for (int unsigned i = 0; i < N; i++) begin
      due_q[i] <= look[i] && lk_ready[i] && look_qpn[i*24 +: 24] == qpn;
    end
    if (rst_i) due_q <= '0;
  end

  `RNIC_ASSERT(all_ready_together, lk_ready == {N{on}})
  `RNIC_ASSERT(every_lookup_is_answered, (due_q & ~ctx_valid) == '0)
  `RNIC_ASSERT(db_hears_the_owner, !due_q[0] || db == conn_was_q)
  `RNIC_ASSERT(sch_hears_the_owner, !due_q[1] || sch == conn_was_q)
  `RNIC_ASSERT(wf_hears_the_owner, !due_q[2] || wf == conn_was_q)
  `RNIC_ASSERT(sq_hears_the_owner, !due_q[3] || sq == conn_was_q)
  `RNIC_ASSERT(rs_hears_the_owner, !due_q[4] || rs == conn_was_q)
  `RNIC_ASSERT(re_hears_the_owner, !due_q[5] || re == conn_was_q)
  `RNIC_ASSERT(cp_hears_the_owner, !due_q[6] || cp == conn_was_q)
  `RNIC_ASSERT(rq_hears_the_owner, !due_q[7] || rq == conn_was_q)
  `RNIC_ASSERT(snd_hears_the_owner, !due_q[8] || snd == snd_was_q)
  `RNIC_ASSERT(cps_hears_the_owner, !due_q[9] || cps == snd_was_q)
  `RNIC_ASSERT(ack_hears_the_owner, !due_q[10] || ack == ack_was_q)
  `RNIC_ASSERT(sqa_hears_the_owner, !due_q[11] || sqa == ack_was_q)
  `RNIC_ASSERT(rcv_hears_the_owner, !due_q[12] || rcv == rcv_was_q)
  `RNIC_ASSERT(query_hears_the_owner_of_conn, !due_q[13] || q_conn == conn_was_q)
  `RNIC_ASSERT(query_hears_the_owner_of_snd, !due_q[13] || q_snd == snd_was_q)
  `RNIC_ASSERT(query_hears_the_owner_of_ack, !due_q[13] || q_ack == ack_was_q)
  `RNIC_ASSERT(query_hears_the_owner_of_rcv, !due_q[13] || q_rcv == rcv_was_q)

  `RNIC_COVER(all_write_at_once, on && due_q == '1 && cw_valid && snd_wr_valid && ack_wr_valid &&
              rcv_wr_valid && cw_qpn == qpn && snd_wr_qpn == qpn && ack_wr_qpn == qpn &&
              rcv_wr_qpn == qpn)
  `RNIC_COVER(halves_differ, due_q == '1 && conn_was_q != '0 && snd_was_q != '0 &&
              ack_was_q != '0 && rcv_was_q == '0)
endmodule
