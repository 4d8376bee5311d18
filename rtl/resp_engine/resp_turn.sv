// SPDX-License-Identifier: Apache-2.0
// Answers saved READs and ATOMICs: takes a QP from the work list, makes up to QUANTUM response
// packets of its first entry, and gives the QP back. Each packet of a READ is looked up in
// mr_table (a region that was invalidated meanwhile: NAK) and its payload is read into a slot of
// tx_buffer, in two pieces if a page ends inside it.
//
// Throughput: a READ or ATOMIC of one packet per 5 cycles, further packets of a READ every 3 cycles
// (mr_table answers after 2). Order: entries of a QP in ring order, that is in PSN order; an ACK
// that waits for what came before an entry goes before it. A QP with a rate asks tx_pacer before
// each packet, and gives its turn back when its bucket is empty; so does one whose class takes no
// packets.
`include "rnic_assert.svh"
module resp_turn #(
    parameter int unsigned AW = 6,
    parameter int unsigned QUANTUM = 8
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    // work list of resp_store
    input  logic                   work_valid,
    output logic                   work_ready,
    output logic                   work_drop_o,
    input  logic [AW-1:0]          work_idx,
    input  logic                   work_rdy_i,
    input  logic [3:0]             work_index_i,
    input  logic [5:0]             work_head_i,
    input  logic [3:0]             work_life_i,
    input  logic                   work_fresh_i,
    output logic                   rd_en_o,
    output logic [AW+3:0]          rd_addr_o,
    input  logic [177:0]           rd_entry_i,
    input  logic [24:0]            rd_k_i,
    input  logic [63:0]            rd_value_i,
    output logic                   turn_valid,
    input  logic                   turn_ready,
    input  logic                   turn_dead_i,
    output logic [3:0]             turn_index,
    output logic [5:0]             turn_head,
    output logic                   turn_done,
    output logic [23:0]            turn_k,
    output logic                   turn_first,
    // the QP at work; no turn of these begins
    output logic                   busy_o,
    output logic [AW-1:0]          idx_o,
    input  logic [1:0]             hold_i,
    input  logic [AW-1:0]          hold0_idx_i,
    input  logic [AW-1:0]          hold1_idx_i,
    // connection half
    output logic                   lk_valid,
    input  logic                   lk_ready,
    input  logic                   ctx_valid,
    input  rnic_pkg::qp_conn_t     ctx,
    // tx_pacer: has the QP a rate (answer a cycle later), may it send, a response is made
    output logic                   pace_chk_o,
    input  logic                   pace_limited_i,
    output logic                   pace_ask_valid,
    input  logic                   pace_ask_ready,
    input  logic                   pace_told_i,
    input  logic                   pace_ok_i,
    output logic                   pace_pkt_o,
    // the path of the packet, whether its class takes none (answer in the same cycle)
    output logic [15:0]            path_o,
    input  logic                   class_hold_i,
    // the ACK that waits
    input  logic                   peek_valid_i,
    input  logic                   peek_busy_i,
    input  logic [23:0]            peek_psn_i,
    input  logic [7:0]             peek_syndrome_i,
    output logic                   peek_take_o,
    // mr_table
    output logic                   mrq_valid,
    input  logic                   mrq_ready,
    output rnic_pkg::mr_req_t      mrq,
    input  logic                   mrs_valid,
    input  rnic_pkg::mr_rsp_t      mrs,
    // a region does not let itself be read any more
    output logic                   bad_valid,
    input  logic                   bad_ready,
    output logic [3:0]             bad_life_o,
    output logic [23:0]            bad_psn_o,
    output logic [23:0]            bad_msn_o,
    output logic                   bad_refused_o,  // this side's fault
    // tx_submit
    input  logic                   slot_valid,
    output logic                   slot_ready,
    input  logic [7:0]             slot_id,
    output logic                   txp_valid,
    input  logic                   txp_ready,
    output rnic_pkg::tx_pkt_t      txp,
    output logic [7:0]             txp_slot,
    output logic                   rdreq_valid,
    input  logic                   rdreq_ready,
    output rnic_pkg::dma_rd_req_t  rdreq,
    // a packet is on its way to tx_buffer
    output logic                   sub_valid_o,
    output logic                   sent_ack_o,
    output logic                   sent_response_o
);
  // PICK takes a QP, CTX gets context and entry, PACE asks whether its rate allows a packet, GO
  // begins a packet, ASK2 asks for the second piece of one, WAIT gets an answer of mr_table and
  // hands the packet on, BAD reports, END gives the QP back.
  typedef enum logic [2:0] {PICK, CTX, PACE, GO, WAIT, ASK2, BAD, END} state_e;
  state_e state_q, state_d;

  // -- take
  logic held, take;
  logic [AW-1:0] idx_q;
  logic [3:0] index_q, life_q;
  logic [5:0] head_q;
  assign held = (hold_i[0] && hold0_idx_i == work_idx) || (hold_i[1] && hold1_idx_i == work_idx);
  assign lk_valid = state_q == PICK && work_valid && work_rdy_i && !held;
  assign work_drop_o = !work_rdy_i;
  assign work_ready = state_q == PICK && !held && (!work_rdy_i || lk_ready);
  assign take = lk_valid && lk_ready;
  assign rd_en_o = take;
  assign rd_addr_o = {work_idx, work_index_i};
  assign busy_o = state_q != PICK;
  assign idx_o = idx_q;

  // -- entry and progress
  logic        e_waits, e_atomic, first_q, fresh_q;
  logic [23:0] e_psn, e_msn, k_q, psn_q;
  logic [63:0] e_va, va_q;
  logic [31:0] e_rkey, e_len, left_q;
  logic [36:0] off;
  logic        gone;
  rnic_pkg::qp_conn_t c_q;
  logic [3:0]  budget_q;
  assign {e_waits, e_atomic, e_psn, e_msn, e_va, e_rkey, e_len} = rd_entry_i;
  assign off = {6'd0, rd_k_i[23:0], 7'd0} << ctx.mtu;
  assign gone = !ctx.exists || ctx.state == rnic_pkg::QPS_RESET || ctx.state == rnic_pkg::QPS_INIT;

  // -- packet
  logic [12:0] mtu, plen;
  logic        last, ack_before, earlier, want_ack, s2_free, push, push_ack, final_push, have_q;
  logic        second_q, two, ok, answered, asked_q, made_q;
  logic [23:0] ack_behind;
  rnic_pkg::mr_rsp_t m, m_q;
  logic [63:0] piece1_q;
  logic [12:0] room1_q;
  assign mtu = 13'd128 << c_q.mtu;
  assign last = left_q <= {19'd0, mtu};
  assign plen = last ? left_q[12:0] : mtu;
  // An ACK that waited when the entry came goes before its first response: for all that was before
  // it. (What waits now may be for something behind it.) A NAK is out of date, since the requester
  // has sent what it asked for; but a fatal one of our own stays.
  assign ack_behind = peek_psn_i - e_psn;
  assign earlier = peek_valid_i && ack_behind[23] && !turn_dead_i;
  logic go_held;
  assign path_o = c_q.path;
  assign go_held = state_q == GO && class_hold_i;
  assign ack_before = state_q == GO && !go_held && first_q && (earlier || e_waits) && fresh_q &&
                      !peek_busy_i;
  assign want_ack = ack_before && !(earlier && peek_syndrome_i != roce_pkg::SYN_ACK);
  assign push_ack = want_ack && s2_free;
  assign peek_take_o = ack_before && earlier && (!want_ack || s2_free);

  logic go_now, direct;
  assign go_now = state_q == GO && !go_held &&
                  !(first_q && fresh_q && (earlier || e_waits || peek_busy_i));
  assign direct = e_atomic || e_len == 32'd0;   // needs no memory
  assign mrq_valid = (go_now && !direct) || state_q == ASK2;
  always_comb begin
    mrq = '0;
    if (mrq_valid) begin
      mrq.key = e_rkey;
      mrq.pd = c_q.pd;
      mrq.va = state_q == ASK2 ? va_q + {51'd0, room1_q} : va_q;
      mrq.len = {19'd0, state_q == ASK2 ? plen - room1_q : plen};
      mrq.need_rread = 1'b1;
    end
  end
  assign answered = state_q == WAIT && (mrs_valid || have_q);
  assign m = have_q ? m_q : mrs;
  assign ok = m.ok && !m.refused;
  assign two = !second_q && !m.flat && m.room < plen;
  assign push = (go_now && direct && s2_free) || (answered && ok && !two && s2_free);
  assign final_push = push && (direct || last || budget_q == 4'd1);

  assign turn_valid = final_push || state_q == END;
  assign turn_index = index_q;
  assign turn_head = head_q;
  logic done_q;
  assign turn_done = state_q == END ? done_q : direct || last;
  assign turn_k = state_q == END ? k_q : k_q + 24'd1;
  assign turn_first = state_q == END && first_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      PICK: if (take) state_d = CTX;
      CTX: if (ctx_valid) state_d = gone ? END : pace_limited_i ? PACE : GO;
      PACE: if (pace_told_i) state_d = pace_ok_i ? GO : END;
      GO: begin
        if (go_held) state_d = END;
        else if (final_push) state_d = turn_ready ? PICK : END;
        else if (mrq_valid && mrq_ready) state_d = WAIT;
      end
      WAIT: begin
        if (answered && !ok) state_d = BAD;
        else if (answered && two) state_d = ASK2;
        else if (push) state_d = !final_push ? GO : turn_ready ? PICK : END;
      end
      ASK2: if (mrq_ready) state_d = WAIT;
      BAD: if (bad_ready) state_d = END;
      END: if (turn_ready) state_d = PICK;
      default: state_d = PICK;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (take) begin
      idx_q <= work_idx;
      index_q <= work_index_i;
      head_q <= work_head_i;
      life_q <= work_life_i;
      fresh_q <= work_fresh_i;
    end
    if (state_q == CTX && ctx_valid) begin
      c_q <= ctx;
      k_q <= rd_k_i[23:0];
      first_q <= rd_k_i[24];
      va_q <= e_va + {27'd0, off};
      left_q <= e_len - off[31:0];
      psn_q <= e_psn + rd_k_i[23:0];
      budget_q <= pace_limited_i ? 4'd1 : 4'(QUANTUM);
      done_q <= 1'b1;
    end
    if (state_q == PACE && pace_told_i && !pace_ok_i) done_q <= 1'b0;
    if (go_held) done_q <= 1'b0;
    asked_q <= state_q == PACE && (asked_q || pace_ask_ready);
    made_q <= push;
    if (state_q == WAIT) begin
      if (mrs_valid) m_q <= mrs;
      have_q <= answered && ok && !two && !push;
      if (answered && two) begin
        piece1_q <= m.iova;
        room1_q <= m.room;
      end
    end
    if (push) begin
      k_q <= k_q + 24'd1;
      first_q <= 1'b0;
      va_q <= va_q + {51'd0, plen};
      left_q <= left_q - {19'd0, plen};
      psn_q <= psn_q + 24'd1;
      budget_q <= budget_q - 4'd1;
      done_q <= direct || last;
    end
    if (push_ack || (ack_before && !want_ack)) fresh_q <= 1'b0;   // once
    if (state_q == GO) second_q <= 1'b0;
    if (state_q == ASK2) second_q <= 1'b1;
    if (rst_i) begin
      state_q <= PICK;
      have_q <= 1'b0;
      made_q <= 1'b0;
    end
  end
  assign pace_chk_o = take;
  assign pace_ask_valid = state_q == PACE && !asked_q;
  assign pace_pkt_o = made_q;

  assign bad_valid = state_q == BAD;
  assign bad_life_o = life_q;
  assign bad_psn_o = psn_q;
  assign bad_msn_o = e_msn;
  assign bad_refused_o = m_q.refused;

  // -- a packet on its way: slot, description, reads
  logic        s2_valid_q, slot_have_q, txp_done_q, s2_done, slot_fire, rd_last;
  logic [1:0]  s2_reads_q;
  logic [63:0] s2_addr_q, s2_addr2_q;
  logic [12:0] s2_len_q, s2_len2_q, s2_dst_q;
  logic [7:0]  slot_q;
  assign rd_last = rdreq_valid && rdreq_ready && s2_reads_q == 2'd1;
  assign s2_done = s2_valid_q && (txp_done_q || (txp_valid && txp_ready)) &&
                   (s2_reads_q == 2'd0 || rd_last);
  assign s2_free = !s2_valid_q || s2_done;
  assign sub_valid_o = push || push_ack;
  assign txp_valid = s2_valid_q && slot_have_q && !txp_done_q;
  assign txp_slot = slot_q;
  assign slot_ready = !slot_have_q && (state_q != PICK || s2_valid_q);
  assign slot_fire = slot_valid && slot_ready;

  assign rdreq_valid = s2_valid_q && slot_have_q && s2_reads_q != 2'd0;
  always_comb begin
    rdreq = '0;
    if (rdreq_valid) begin
      rdreq.addr = s2_addr_q;
      rdreq.len = s2_len_q;
      rdreq.slot = slot_q;
      rdreq.dst_off = s2_dst_q;
      rdreq.first = s2_dst_q == 13'd0;
      rdreq.qpn = txp.qpn;
      rdreq.sampled = txp.sampled;
    end
  end

  logic [7:0] opcode;
  assign opcode = push_ack ? roce_pkg::OP_ACKNOWLEDGE : e_atomic ? roce_pkg::OP_ATOMIC_ACK :
                  first_q && last ? roce_pkg::OP_READ_RESP_ONLY :
                  first_q ? roce_pkg::OP_READ_RESP_FIRST :
                  last ? roce_pkg::OP_READ_RESP_LAST : roce_pkg::OP_READ_RESP_MIDDLE;

  always_ff @(posedge clk_i) begin
    if (slot_fire) begin
      slot_have_q <= 1'b1;
      slot_q <= slot_id;
    end else if (s2_done) begin
      slot_have_q <= 1'b0;
    end
    if (txp_valid && txp_ready) txp_done_q <= 1'b1;
    if (rdreq_valid && rdreq_ready) begin
      s2_reads_q <= s2_reads_q - 2'd1;
      s2_addr_q <= s2_addr2_q;
      s2_len_q <= s2_len2_q;
      s2_dst_q <= s2_len_q;
    end
    if (s2_done) s2_valid_q <= 1'b0;
    if (push || push_ack) begin
      s2_valid_q <= 1'b1;
      txp_done_q <= 1'b0;
      s2_reads_q <= (push_ack || direct) ? 2'd0 : second_q ? 2'd2 : 2'd1;
      s2_addr_q <= second_q ? piece1_q : m.iova;
      s2_len_q <= second_q ? room1_q : plen;
      s2_addr2_q <= m.iova;
      s2_len2_q <= plen - room1_q;
      s2_dst_q <= 13'd0;
      txp <= '0;
      txp.qpn <= 24'(idx_q);
      txp.response <= 1'b1;
      txp.notify <= 1'b1;
      txp.sampled <= 1'b1;
      txp.path <= c_q.path;
      txp.pkey <= c_q.pkey;
      txp.dest_qpn <= c_q.dest_qpn;
      txp.opcode <= opcode;
      txp.psn <= push_ack ? e_psn - 24'd1 : psn_q;
      txp.payload_len <= (push_ack || direct) ? 13'd0 : plen;
      txp.syndrome <= roce_pkg::SYN_ACK;
      txp.msn <= push_ack ? e_msn - 24'd1 : e_msn;
      txp.op0 <= rd_value_i;
    end
    sent_ack_o <= txp_valid && txp_ready && txp.opcode == roce_pkg::OP_ACKNOWLEDGE;
    sent_response_o <= txp_valid && txp_ready && txp.opcode != roce_pkg::OP_ACKNOWLEDGE;
    if (rst_i) begin
      s2_valid_q <= 1'b0;
      slot_have_q <= 1'b0;
      sent_ack_o <= 1'b0;
      sent_response_o <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{ctx, c_q, m_q, m, ack_behind, off};

  `RNIC_STREAM_HOLD(txp_valid, txp_ready, {txp, txp_slot})
  `RNIC_STREAM_HOLD(rdreq_valid, rdreq_ready, rdreq)
  `RNIC_ASSERT(two_pieces_at_most, !(push && second_q && !direct) || m.flat ||
               {1'b0, m.room} + {1'b0, room1_q} >= {1'b0, plen})
endmodule
