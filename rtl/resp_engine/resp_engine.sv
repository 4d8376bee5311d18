// SPDX-License-Identifier: Apache-2.0
// Sends ACKs and NAKs. Each QP has at most one answer waiting; a newer one replaces it (ACK
// coalescing), except that an ACK for what came before a waiting NAK does not hide the NAK. An
// answer leaves at once when it is urgent, when the QP has sent none for cfg_cycles_i cycles, or
// when cfg_count_i requests asked for it; else when it has waited cfg_cycles_i cycles. So a lone
// message is acknowledged at once and a stream of them every cfg_cycles_i. Throughput: one request
// per 2 cycles in, one answer per 3 cycles out, side by side. Latency: 4 cycles from an urgent
// request to rsp_valid. Order: answers of one QP leave in PSN order; a NAK carries the
// acknowledgement of what precedes it. Nothing is dropped, except the waiting answers of a QP that
// is reset.
`include "rnic_assert.svh"
module resp_engine #(
    parameter int unsigned N_QP = 64
) (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic [7:0]          cfg_count_i,
    input  logic [15:0]         cfg_cycles_i,
    input  logic                ackq_valid,
    output logic                ackq_ready,
    input  rnic_pkg::ack_req_t  ackq,
    output logic                re_lk_valid,
    input  logic                re_lk_ready,
    output logic [23:0]         re_lk_qpn,
    input  logic                re_ctx_valid,
    input  rnic_pkg::qp_conn_t  re_ctx,
    input  logic                qpi_valid,
    output logic                qpi_ready,
    input  rnic_pkg::qp_init_t  qpi,
    output logic                rsp_valid,
    input  logic                rsp_ready,
    output rnic_pkg::tx_pkt_t   rsp,
    output logic                cnt_tx_acks_o,
    output logic                cnt_tx_nak_seq_o,
    output logic                cnt_tx_nak_inv_o,
    output logic                cnt_tx_nak_access_o,
    output logic                cnt_tx_nak_op_o,
    output logic                cnt_tx_rnr_nak_o,
    output logic                trc_valid_o,
    output logic [63:0]         trc_o,
    output logic                trc_sampled_o,
    output logic                trc2_valid_o,
    output logic [63:0]         trc2_o,
    output logic                trc2_sampled_o,
    output logic mrq_valid,
    input  logic mrq_ready,
    output rnic_pkg::mr_req_t mrq,
    input  logic mrs_valid,
    input  rnic_pkg::mr_rsp_t mrs,
    output logic fail_valid,
    input  logic fail_ready,
    output rnic_pkg::qp_fail_t fail,
    input  logic placed_i,
    output logic rdreq_valid,
    input  logic rdreq_ready,
    output rnic_pkg::dma_rd_req_t rdreq,
    output logic cnt_tx_rd_responses_o,
    output logic cnt_rx_rd_dropped_o
);
  localparam int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1;

  // -- the answer that waits, per QP
  typedef struct packed {
    logic [23:0] psn;
    logic [23:0] msn;
    logic [7:0]  syndrome;
    logic [7:0]  count;      // requests merged into it
    logic        sampled;
  } wait_t;
  localparam int unsigned WAIT_W = 65;
  logic [WAIT_W-1:0] up_mem[N_QP];   // copy that the update reads
  logic [WAIT_W-1:0] out_mem[N_QP];  // copy that the sender reads
  logic [31:0] sent_mem[N_QP];       // when the QP sent its last answer, modulo 2^32 cycles
  logic [N_QP-1:0] waiting_q, in_slow_q, in_fast_q;
  logic [31:0] last_sent_q, quiet, now_q;

  // -- update: READ the old answer, MERGE, write
  logic up_q, up_fire;
  rnic_pkg::ack_req_t a_q;
  logic [AW-1:0] a_idx, up_idx;
  wait_t old_q, merged;
  logic old_waits, keep_old, hot, new_slow, new_fast;
  assign up_idx = ackq.qpn[AW-1:0];
  assign a_idx = a_q.qpn[AW-1:0];
  assign ackq_ready = !up_q;
  assign up_fire = ackq_valid && ackq_ready;

  logic send_clear, clear_order;
  logic [AW-1:0] send_idx, order_idx;
  assign old_waits = waiting_q[a_idx] && !(send_clear && send_idx == a_idx);
  logic [23:0] behind;
  assign behind = a_q.psn - old_q.psn;  // negative: the new answer is for something earlier
  assign keep_old = old_waits && old_q.syndrome != roce_pkg::SYN_ACK && a_q.syndrome ==
      roce_pkg::SYN_ACK && behind[23];
  always_comb begin
    merged = '0;
    if (up_q) begin
      merged.psn = keep_old ? old_q.psn : a_q.psn;
      merged.msn = keep_old ? old_q.msn : a_q.msn;
      merged.syndrome = keep_old ? old_q.syndrome : a_q.syndrome;
      merged.count = old_waits ? old_q.count + {7'd0, old_q.count != 8'hFF} : 8'd1;
      merged.sampled = a_q.sampled || (old_waits && old_q.sampled);
    end
  end
  assign quiet = now_q - last_sent_q;
  assign hot = a_q.urgent || quiet >= {16'd0, cfg_cycles_i} || a_q.syndrome != roce_pkg::SYN_ACK ||
      merged.count >= cfg_count_i ||
               cfg_cycles_i == 16'd0;
  assign new_fast = up_q && hot && !in_fast_q[a_idx];
  assign new_slow = up_q && !hot && !in_slow_q[a_idx] && !in_fast_q[a_idx];

  always_ff @(posedge clk_i) begin
    up_q <= up_fire;
    if (up_fire) begin
      a_q <= ackq;
      old_q <= up_mem[up_idx];
      last_sent_q <= (send_clear && send_idx == up_idx) ? now_q : sent_mem[up_idx];
    end
    if (up_q) begin
      up_mem[a_idx] <= merged;
      out_mem[a_idx] <= merged;
    end
    if (rst_i) up_q <= 1'b0;
  end

  // -- two lists of QPs: to send now, to send when time is up
  logic fast_valid, fast_ready, slow_valid, slow_ready, fast_in_ready, slow_in_ready;
  logic [AW-1:0] fast_idx, slow_idx;
  logic [31:0] slow_stamp;
  logic unused_level;
  localparam int unsigned LIST_DEPTH = (N_QP < 2) ? 2 : N_QP;
  localparam int unsigned LW = $clog2(LIST_DEPTH + 1);
  logic [LW-1:0] fast_level, slow_level;
  stream_fifo #(
      .W(AW),
      .DEPTH(LIST_DEPTH),
      .OUT_REG(0)
  ) u_fast (
      .clk_i,
      .rst_i,
      .in_valid(new_fast),
      .in_ready(fast_in_ready),
      .in_data(a_idx),
      .out_valid(fast_valid),
      .out_ready(fast_ready),
      .out_data(fast_idx),
      .level_o(fast_level)
  );
  stream_fifo #(
      .W(AW + 32),
      .DEPTH(LIST_DEPTH),
      .OUT_REG(0)
  ) u_slow (
      .clk_i,
      .rst_i,
      .in_valid(new_slow),
      .in_ready(slow_in_ready),
      .in_data({a_idx, now_q}),
      .out_valid(slow_valid),
      .out_ready(slow_ready),
      .out_data({slow_idx, slow_stamp}),
      .level_o(slow_level)
  );
  assign unused_level = ^{fast_level, slow_level, fast_in_ready, slow_in_ready};

  // -- sender
  typedef enum logic [1:0] {PICK, FORM, OUT} send_state_e;
  send_state_e send_q, send_d;
  logic [31:0] waited;
  logic slow_due, pick, pick_fast, send_conflict;
  assign waited = now_q - slow_stamp;
  assign slow_due = slow_valid && (waited >= {16'd0, cfg_cycles_i} || !waiting_q[slow_idx]);
  assign pick_fast = fast_valid;
  assign send_idx = pick_fast ? fast_idx : slow_idx;
  // The answer being merged in this cycle is read in the next one.
  assign send_conflict = (up_q && a_idx == send_idx) || clear_order;
  assign pick = send_q == PICK && (fast_valid || slow_due) && re_lk_ready && !send_conflict;
  assign fast_ready = pick && pick_fast;
  assign slow_ready = pick && !pick_fast;
  assign send_clear = pick && waiting_q[send_idx];
  assign re_lk_valid = send_q == PICK && (fast_valid || slow_due) && !send_conflict &&
      waiting_q[send_idx];
  assign re_lk_qpn = 24'(send_idx);

  wait_t out_q;
  logic [AW-1:0] form_idx_q;
  always_comb begin
    send_d = send_q;
    unique case (send_q)
      PICK: if (send_clear) send_d = FORM;
      FORM: if (re_ctx_valid) send_d = re_ctx.exists ? OUT : PICK;
      OUT: if (rsp_ready) send_d = PICK;
      default: send_d = PICK;
    endcase
  end
  assign rsp_valid = send_q == OUT;

  always_ff @(posedge clk_i) begin
    send_q <= send_d;
    now_q <= now_q + 32'd1;
    if (send_clear) begin
      out_q <= out_mem[send_idx];
      sent_mem[send_idx] <= now_q;
      form_idx_q <= send_idx;
    end
    if (send_q == FORM && re_ctx_valid) begin
      rsp <= '0;
      rsp.qpn <= 24'(form_idx_q);
      rsp.sampled <= out_q.sampled;
      rsp.response <= 1'b1;
      rsp.path <= re_ctx.path;
      rsp.opcode <= roce_pkg::OP_ACKNOWLEDGE;
      rsp.pkey <= re_ctx.pkey;
      rsp.dest_qpn <= re_ctx.dest_qpn;
      rsp.psn <= out_q.psn;
      rsp.syndrome <= out_q.syndrome;
      rsp.msn <= out_q.msn;
    end

    // A set meets a clear of the same QP: the set wins, nothing is lost.
    if (send_clear) waiting_q[send_idx] <= 1'b0;
    if (fast_ready) in_fast_q[fast_idx] <= 1'b0;
    if (slow_ready) in_slow_q[slow_idx] <= 1'b0;
    if (clear_order) waiting_q[order_idx] <= 1'b0;
    if (up_q) waiting_q[a_idx] <= 1'b1;
    if (new_fast) in_fast_q[a_idx] <= 1'b1;
    if (new_slow) in_slow_q[a_idx] <= 1'b1;
    if (rst_i) begin
      send_q <= PICK;
      waiting_q <= '0;
      in_fast_q <= '0;
      in_slow_q <= '0;
      now_q <= '0;
    end
  end

  // -- QP orders
  // CLEAR forgets the waiting answer; an ERR does not: the NAK that caused it must still leave.
  assign order_idx = qpi.qpn[AW-1:0];
  assign qpi_ready = qpi_valid && !up_q;
  assign clear_order = qpi_ready && qpi.op == rnic_pkg::QPI_CLEAR && qpi.qpn < 24'(N_QP);

  // -- counters and trace
  logic sent;
  assign sent = rsp_valid && rsp_ready;
  always_ff @(posedge clk_i) begin
    cnt_tx_acks_o <= sent && rsp.syndrome[6:5] == 2'b00;
    cnt_tx_rnr_nak_o <= sent && rsp.syndrome[6:5] == 2'b01;
    cnt_tx_nak_seq_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_SEQ;
    cnt_tx_nak_inv_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_INV;
    cnt_tx_nak_access_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_ACCESS;
    cnt_tx_nak_op_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_OP;
    if (rst_i) begin
      cnt_tx_acks_o <= 1'b0;
      cnt_tx_rnr_nak_o <= 1'b0;
      cnt_tx_nak_seq_o <= 1'b0;
      cnt_tx_nak_inv_o <= 1'b0;
      cnt_tx_nak_access_o <= 1'b0;
      cnt_tx_nak_op_o <= 1'b0;
    end
  end
  assign trc_valid_o = up_fire;
  assign trc_o = {rnic_pkg::TRC_ACK_REQ, ackq.qpn, 8'd0, ackq.psn};
  assign trc_sampled_o = ackq.sampled;
  assign trc2_valid_o = sent;
  assign trc2_o = {rnic_pkg::TRC_ACK_TX, rsp.qpn, 8'd0, rsp.psn};
  assign trc2_sampled_o = rsp.sampled;

  logic unused;
  assign unused = ^{re_ctx, a_q, qpi, unused_level, old_q, behind, out_q};

  `RNIC_STREAM_HOLD(rsp_valid, rsp_ready, rsp)
  `RNIC_ASSERT(lists_have_room, (!new_fast || fast_in_ready) && (!new_slow || slow_in_ready))

  // Ports of the complete RC transport that this block does not use yet.
  assign mrq_valid = '0;
  assign mrq = '0;
  assign fail_valid = '0;
  assign fail = '0;
  assign rdreq_valid = '0;
  assign rdreq = '0;
  assign cnt_tx_rd_responses_o = '0;
  assign cnt_rx_rd_dropped_o = '0;
  logic unused_rc;
  assign unused_rc = ^{mrq_ready, mrs_valid, mrs, fail_ready, placed_i, rdreq_ready};
endmodule
