// SPDX-License-Identifier: Apache-2.0
// ACKs and NAKs, coalesced. Each QP has at most one answer waiting; a newer one replaces it, except
// that an ACK for what came before a waiting NAK does not hide the NAK. An answer leaves at once
// when it is urgent, when the QP has sent none for cfg_cycles_i cycles, or when cfg_count_i
// requests asked for it; else when it has waited cfg_cycles_i cycles. While the QP is open (open_i:
// READs or ATOMICs of it are not answered) its answer stays, until freed_valid_i; resp_turn may
// take it to send it between two of them.
//
// Throughput: one request per 2 cycles in, one answer per 3 cycles out, side by side. Latency: 4
// cycles from an urgent request to rsp_valid. Dropped: answers of a QP that is reset, dead or gone.
`include "rnic_assert.svh"
module ack_coalesce #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1
) (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic [7:0]          cfg_count_i,
    input  logic [15:0]         cfg_cycles_i,
    // requests of all kinds; each stands at item_o in the cycle after it was taken
    input  logic                ackq_valid,
    output logic                ackq_ready,
    input  rnic_pkg::ack_req_t  ackq,
    input  logic                hold_i,          // take no further request
    output logic                item_valid_o,
    output rnic_pkg::ack_req_t  item_o,
    output logic                item_waits_o,    // an ACK of its QP waits
    input  logic                refuse_i,        // of the item: too many READs; becomes a NAK
    input  logic                dead_i,          // of the item: a fatal NAK was decided, drop it
    // QPs with READs and ATOMICs to answer
    input  logic [N_QP-1:0]     open_i,
    input  logic                freed_valid_i,   // open_i of this QP has just fallen
    input  logic [AW-1:0]       freed_idx_i,
    // a NAK that replaces what waits
    input  logic                inj_valid,
    output logic                inj_ready,
    input  logic [AW-1:0]       inj_idx,
    input  logic [23:0]         inj_psn,
    input  logic [23:0]         inj_msn,
    input  logic [7:0]          inj_syndrome,
    // what waits of a QP; peek_take_i removes it (not while peek_busy_o)
    input  logic [AW-1:0]       peek_idx_i,
    output logic                peek_valid_o,
    output logic                peek_busy_o,
    output logic [23:0]         peek_psn_o,
    output logic [7:0]          peek_syndrome_o,
    input  logic                peek_take_i,
    // a QP starts anew; taken when clear_ready
    input  logic                clear_valid,
    output logic                clear_ready,
    input  logic [AW-1:0]       clear_idx,
    // connection half
    output logic                lk_valid,
    input  logic                lk_ready,
    output logic [AW-1:0]       lk_idx,
    input  logic                ctx_valid,
    input  rnic_pkg::qp_conn_t  ctx,
    // the list of answers that leave at once: one enters, the first is looked at (pulses)
    output logic                list_in_o,
    output logic [AW-1:0]       list_idx_o,
    output logic                list_out_o,
    // the answer, straight to tx_packetizer
    output logic                rsp_valid,
    input  logic                rsp_ready,
    output rnic_pkg::tx_pkt_t   rsp
);
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
  localparam int unsigned PEEK_W = 32;
  logic [PEEK_W-1:0] peek_mem[N_QP]; // PSN and syndrome, for resp_turn
  logic [31:0] sent_mem[N_QP];       // when the QP sent its last answer, modulo 2^32 cycles
  logic [N_QP-1:0] waiting_q, in_slow_q, in_fast_q;
  logic [N_QP-1:0] parked_q;         // waits for freed_valid_i, in no list
  logic [31:0] last_sent_q, quiet, now_q;

  // -- update: READ the old answer, MERGE, write
  logic up_q, up_fire, put, merge;
  rnic_pkg::ack_req_t a_q;
  logic [AW-1:0] a_idx, up_idx;
  wait_t old_q, merged, wr;
  logic old_waits, keep_old, hot, new_slow, new_fast, inj_fire, wr_en;
  logic [AW-1:0] wr_idx;
  assign up_idx = ackq.qpn[AW-1:0];
  assign a_idx = a_q.qpn[AW-1:0];
  assign ackq_ready = !up_q && !hold_i;
  assign up_fire = ackq_valid && ackq_ready;
  assign item_valid_o = up_q;
  assign item_o = a_q;
  assign item_waits_o = waiting_q[a_idx];
  assign put = up_q && !dead_i && (a_q.kind == rnic_pkg::ACKR_ACK || refuse_i);
  assign merge = put && !refuse_i;

  logic send_clear, clear_fire;
  logic [AW-1:0] send_idx;
  assign old_waits = waiting_q[a_idx] && !(send_clear && send_idx == a_idx);
  logic [23:0] behind;
  assign behind = a_q.psn - old_q.psn;  // negative: the new answer is for something earlier
  assign keep_old = merge && old_waits && old_q.syndrome != roce_pkg::SYN_ACK && a_q.syndrome ==
      roce_pkg::SYN_ACK && behind[23];
  always_comb begin
    merged = '0;
    if (put) begin
      merged.psn = keep_old ? old_q.psn : a_q.psn;
      merged.msn = keep_old ? old_q.msn : a_q.msn;
      merged.syndrome = keep_old ? old_q.syndrome : a_q.syndrome;
      merged.count = old_waits ? old_q.count + {7'd0, old_q.count != 8'hFF} : 8'd1;
      merged.sampled = a_q.sampled || (old_waits && old_q.sampled);
    end
    if (refuse_i && put) begin
      // the message does not count
      merged.msn = a_q.msn - 24'd1;
      merged.syndrome = roce_pkg::SYN_NAK_INV;
    end
  end
  assign quiet = now_q - last_sent_q;
  assign hot = a_q.urgent || quiet >= {16'd0, cfg_cycles_i} || cfg_cycles_i == 16'd0 ||
               merged.syndrome != roce_pkg::SYN_ACK || merged.count >= cfg_count_i;

  // A NAK of our own uses the cycles between.
  assign inj_ready = !up_q;
  assign inj_fire = inj_valid && inj_ready;
  assign wr_en = put || inj_fire;
  assign wr_idx = put ? a_idx : inj_idx;
  assign wr = put ? merged : {inj_psn, inj_msn, inj_syndrome, 8'd1, 1'b0};
  assign new_fast = wr_en && (hot || !put) && !in_fast_q[wr_idx] && !parked_q[wr_idx];
  assign new_slow = put && !hot && !in_slow_q[a_idx] && !in_fast_q[a_idx] && !parked_q[a_idx];

  always_ff @(posedge clk_i) begin
    up_q <= up_fire;
    if (up_fire) begin
      a_q <= ackq;
      old_q <= up_mem[up_idx];
      last_sent_q <= (send_clear && send_idx == up_idx) ? now_q : sent_mem[up_idx];
    end
    if (wr_en) begin
      up_mem[wr_idx] <= wr;
      out_mem[wr_idx] <= wr;
      peek_mem[wr_idx] <= {wr.psn, wr.syndrome};
    end
    if (rst_i) up_q <= 1'b0;
  end

  // -- lists of QPs: to send now, to send when time is up, to send because nothing is open any more
  logic fast_valid, fast_ready, slow_valid, slow_ready, fast_in_ready, slow_in_ready;
  logic freed_valid, freed_ready, freed_in_ready, new_freed;
  logic [AW-1:0] fast_idx, slow_idx, freed_idx;
  logic [31:0] slow_stamp;
  logic unused_level;
  localparam int unsigned LIST_DEPTH = (N_QP < 2) ? 2 : N_QP;
  localparam int unsigned LW = $clog2(LIST_DEPTH + 1);
  logic [LW-1:0] fast_level, slow_level, freed_level;
  stream_fifo #(
      .W(AW),
      .DEPTH(LIST_DEPTH),
      .OUT_REG(0)
  ) u_fast (
      .clk_i,
      .rst_i,
      .in_valid(new_fast),
      .in_ready(fast_in_ready),
      .in_data(wr_idx),
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
  // This list is picked from first, so that no QP is parked while it stands here.
  assign new_freed = freed_valid_i && parked_q[freed_idx_i];
  stream_fifo #(
      .W(AW),
      .DEPTH(LIST_DEPTH),
      .OUT_REG(0)
  ) u_freed (
      .clk_i,
      .rst_i,
      .in_valid(new_freed),
      .in_ready(freed_in_ready),
      .in_data(freed_idx_i),
      .out_valid(freed_valid),
      .out_ready(freed_ready),
      .out_data(freed_idx),
      .level_o(freed_level)
  );
  assign unused_level = ^{fast_level, slow_level, freed_level};

  // -- sender
  typedef enum logic [1:0] {PICK, FORM, OUT} send_state_e;
  send_state_e send_q, send_d;
  logic [31:0] waited;
  logic slow_due, any, pick, pick_freed, pick_fast, send_conflict, to_send, park;
  assign waited = now_q - slow_stamp;
  assign slow_due = slow_valid && (waited >= {16'd0, cfg_cycles_i} || !waiting_q[slow_idx]);
  assign pick_freed = freed_valid;
  assign pick_fast = fast_valid && !freed_valid;
  assign any = freed_valid || fast_valid || slow_due;
  assign send_idx = pick_freed ? freed_idx : pick_fast ? fast_idx : slow_idx;
  // The answer being merged in this cycle is read in the next one.
  assign send_conflict = (wr_en && wr_idx == send_idx) || clear_fire || (up_q && a_idx == send_idx);
  assign to_send = waiting_q[send_idx] && !open_i[send_idx];
  assign pick = send_q == PICK && any && (lk_ready || !to_send) && !send_conflict;
  assign freed_ready = pick && pick_freed;
  assign fast_ready = pick && pick_fast;
  assign slow_ready = pick && !pick_freed && !pick_fast;
  assign list_in_o = new_fast;
  assign list_idx_o = wr_idx;
  assign list_out_o = fast_ready;
  assign send_clear = pick && to_send;
  assign park = pick && waiting_q[send_idx] && open_i[send_idx];
  assign lk_valid = send_q == PICK && any && !send_conflict && to_send;
  assign lk_idx = send_idx;

  wait_t out_q;
  logic [AW-1:0] form_idx_q;
  always_comb begin
    send_d = send_q;
    unique case (send_q)
      PICK: if (send_clear) send_d = FORM;
      FORM: if (ctx_valid) send_d = ctx.exists ? OUT : PICK;
      OUT: if (rsp_ready) send_d = PICK;
      default: send_d = PICK;
    endcase
  end
  assign rsp_valid = send_q == OUT;

  assign peek_valid_o = waiting_q[peek_idx_i];
  assign peek_busy_o = (up_q && a_idx == peek_idx_i) || (wr_en && wr_idx == peek_idx_i);
  logic [PEEK_W-1:0] peek;
  assign peek = peek_mem[peek_idx_i];
  assign {peek_psn_o, peek_syndrome_o} = peek;

  assign clear_ready = !up_q;
  assign clear_fire = clear_valid && clear_ready;

  always_ff @(posedge clk_i) begin
    send_q <= send_d;
    now_q <= now_q + 32'd1;
    if (send_clear) begin
      out_q <= out_mem[send_idx];
      sent_mem[send_idx] <= now_q;
      form_idx_q <= send_idx;
    end
    if (send_q == FORM && ctx_valid) begin
      rsp <= '0;
      rsp.qpn <= 24'(form_idx_q);
      rsp.sampled <= out_q.sampled;
      rsp.response <= 1'b1;
      rsp.path <= ctx.path;
      rsp.opcode <= roce_pkg::OP_ACKNOWLEDGE;
      rsp.pkey <= ctx.pkey;
      rsp.dest_qpn <= ctx.dest_qpn;
      rsp.psn <= out_q.psn;
      rsp.syndrome <= out_q.syndrome;
      rsp.msn <= out_q.msn;
    end

    // A set meets a clear of the same QP: the set wins, nothing is lost.
    if (send_clear) waiting_q[send_idx] <= 1'b0;
    if (peek_take_i) waiting_q[peek_idx_i] <= 1'b0;
    if (fast_ready) in_fast_q[fast_idx] <= 1'b0;
    if (slow_ready) in_slow_q[slow_idx] <= 1'b0;
    if (freed_valid_i) parked_q[freed_idx_i] <= 1'b0;
    if (park) parked_q[send_idx] <= 1'b1;
    if (clear_fire) begin
      waiting_q[clear_idx] <= 1'b0;
      parked_q[clear_idx] <= 1'b0;
    end
    if (wr_en) waiting_q[wr_idx] <= 1'b1;
    if (new_fast) in_fast_q[wr_idx] <= 1'b1;
    if (new_slow) in_slow_q[a_idx] <= 1'b1;
    if (rst_i) begin
      send_q <= PICK;
      waiting_q <= '0;
      in_fast_q <= '0;
      in_slow_q <= '0;
      parked_q <= '0;
      now_q <= '0;
    end
  end

  logic unused;
  assign unused = ^{ctx, a_q, old_q, behind, out_q, unused_level};

  `RNIC_STREAM_HOLD(rsp_valid, rsp_ready, rsp)
  `RNIC_ASSERT(lists_have_room, (!new_fast || fast_in_ready) && (!new_slow || slow_in_ready) &&
               (!new_freed || freed_in_ready))
  `RNIC_ASSERT(take_what_waits, !peek_take_i || (peek_valid_o && !peek_busy_o))
endmodule
