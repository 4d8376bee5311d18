// SPDX-License-Identifier: Apache-2.0
// The responder's answers: ACKs and NAKs (ack_coalesce), and the responses to READs and ATOMICs,
// which are saved for duplicates (resp_store), let through when earlier writes are done
// (resp_gate), answered (resp_turn), found again (resp_dup), and given up (resp_fail). Owner of the
// response state of every QP. README.md has the theory.
//
// Throughput: one request per 2 cycles in; one ACK per 3 cycles; one READ or ATOMIC response of one
// packet per 5 cycles, one further packet of a READ per 3. Latency: 4 cycles from an urgent ACK to
// rsp_valid. Order: everything of a QP leaves in PSN order: while a READ or ATOMIC of it is not yet
// out of tx_buffer, its ACKs wait, or go through tx_buffer in front of the next one. Dropped and
// counted: duplicates that match no saved request.
`include "rnic_assert.svh"
module resp_engine #(
    parameter int unsigned N_QP = 64
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    input  logic [7:0]             cfg_count_i,
    input  logic [15:0]            cfg_cycles_i,
    // rx_responder
    input  logic                   ackq_valid,
    output logic                   ackq_ready,
    input  rnic_pkg::ack_req_t     ackq,
    // connection half
    output logic                   re_lk_valid,
    input  logic                   re_lk_ready,
    output logic [23:0]            re_lk_qpn,
    input  logic                   re_ctx_valid,
    input  rnic_pkg::qp_conn_t     re_ctx,
    // ACKs and NAKs that leave at once: one enters their list, the first is looked at (pulses)
    output logic                   answer_o,
    output logic [23:0]            answer_qpn_o,
    output logic                   answered_o,
    // QP orders
    input  logic                   qpi_valid,
    output logic                   qpi_ready,
    input  rnic_pkg::qp_init_t     qpi,
    // ACKs and NAKs straight to tx_packetizer
    output logic                   rsp_valid,
    input  logic                   rsp_ready,
    output rnic_pkg::tx_pkt_t      rsp,
    // memory regions
    output logic                   mrq_valid,
    input  logic                   mrq_ready,
    output rnic_pkg::mr_req_t      mrq,
    input  logic                   mrs_valid,
    input  rnic_pkg::mr_rsp_t      mrs,
    // responses to tx_buffer, by tx_submit
    output logic                   slot_ready,
    input  logic                   slot_valid,
    input  logic [7:0]             slot_id,
    output logic                   txp_valid,
    input  logic                   txp_ready,
    output rnic_pkg::tx_pkt_t      txp,
    output logic [7:0]             txp_slot,
    output logic                   rdreq_valid,
    input  logic                   rdreq_ready,
    output rnic_pkg::dma_rd_req_t  rdreq,
    input  logic                   rleft_valid,
    input  logic [23:0]            rleft_qpn,
    input  logic                   rterr_valid,
    output logic                   rterr_ready,
    input  logic [23:0]            rterr_qpn,
    input  logic [23:0]            rterr_psn,
    input  logic [23:0]            rterr_msn,
    // dma_master: one more payload write of rx_placer is on the bus
    input  logic                   placed_i,
    // atomic_unit
    output logic                   at_valid,
    input  logic                   at_ready,
    output logic [63:0]            at_addr,
    output logic                   at_swap,
    output logic [63:0]            at_op0,
    output logic [63:0]            at_op1,
    output logic [23:0]            at_qpn,
    output logic [23:0]            at_psn,
    output logic                   at_sampled,
    output logic [79:0]            at_tag,
    input  logic                   ar_valid,
    output logic                   ar_ready,
    input  logic [79:0]            ar_tag,
    input  logic [63:0]            ar_value,
    input  logic                   ar_err,
    // tx_pacer: has this QP a rate (answer a cycle later), may it send, a response (txp) is made
    output logic                   pace_chk_o,
    output logic [23:0]            pace_chk_qpn_o,
    input  logic                   pace_limited_i,
    output logic                   pace_ask_valid,
    input  logic                   pace_ask_ready,
    output logic [23:0]            pace_ask_qpn,
    input  logic                   pace_told_i,
    input  logic                   pace_ok_i,
    output logic                   pace_pkt_o,
    // classes: does the class of that QP take no packets; the path of the next packet, does its
    // class take none (answers in the same cycle)
    input  logic                   work_hold_i,
    output logic [15:0]            pkt_path_o,
    input  logic                   pkt_hold_i,
    // cmd_unit
    output logic                   fail_valid,
    input  logic                   fail_ready,
    output rnic_pkg::qp_fail_t     fail,
    output logic                   cnt_tx_acks_o,
    output logic                   cnt_tx_nak_seq_o,
    output logic                   cnt_tx_nak_inv_o,
    output logic                   cnt_tx_nak_access_o,
    output logic                   cnt_tx_nak_op_o,
    output logic                   cnt_tx_rnr_nak_o,
    output logic                   cnt_tx_rd_responses_o,
    output logic                   cnt_rx_rd_dropped_o,
    output logic                   trc_valid_o,
    output logic [63:0]            trc_o,
    output logic                   trc_sampled_o,
    output logic                   trc2_valid_o,
    output logic [63:0]            trc2_o,
    output logic                   trc2_sampled_o
);
  localparam int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1;
  if (N_QP > 65536) begin : gen_bad_n
    $error("resp_engine: N_QP must be at most 65536");
  end

  // -- QP orders
  // CLEAR and RTR forget everything of the QP; an ERR does not: the NAK that caused it must still
  // leave, and the responses before it. What is in flight for the QP meanwhile carries the number
  // of its life.
  logic clear, clear_go, clear_now, item_valid, turn_busy, fail_idle;
  logic [AW-1:0] order_idx, turn_idx, work_idx;
  assign order_idx = qpi.qpn[AW-1:0];
  assign clear = qpi_valid && (qpi.op == rnic_pkg::QPI_CLEAR || qpi.op == rnic_pkg::QPI_RTR) &&
                 qpi.qpn < 24'(N_QP);
  assign clear_go = clear && !item_valid && !(turn_busy && turn_idx == order_idx) && fail_idle &&
                    !rterr_valid;
  assign qpi_ready = qpi_valid && (clear ? clear_now : !item_valid);

  assign pace_chk_qpn_o = 24'(work_idx);
  assign pace_ask_qpn = 24'(turn_idx);

  // -- connection half: ACKs first, then answers, then the gate, then duplicates
  logic [3:0] lk_valid, lk_ready, lk_ctx;
  logic [AW-1:0] lk_idx, lk_idx0, lk_idx2, lk_idx3;
  logic lk_fire;
  logic [1:0] lk_who, ctx_who;
  logic who_ready, who_valid;
  logic [2:0] who_level;
  assign lk_who = lk_valid[0] ? 2'd0 : lk_valid[1] ? 2'd1 : lk_valid[2] ? 2'd2 : 2'd3;
  assign re_lk_valid = lk_valid != 4'd0;
  assign lk_idx = lk_valid[0] ? lk_idx0 : lk_valid[1] ? work_idx : lk_valid[2] ? lk_idx2 : lk_idx3;
  assign re_lk_qpn = 24'(lk_idx);
  logic [AW-1:0] answer_idx;
  assign answer_qpn_o = 24'(answer_idx);
  assign lk_ready = {4{re_lk_ready}} & (4'd1 << lk_who);
  assign lk_fire = re_lk_valid && re_lk_ready;
  // Each asks for one thing at a time, so four places are enough.
  stream_fifo_small #(.W(2), .DEPTH(4)) u_who (
      .clk_i,
      .rst_i,
      .in_valid(lk_fire),
      .in_ready(who_ready),
      .in_data(lk_who),
      .out_valid(who_valid),
      .out_ready(re_ctx_valid),
      .out_data(ctx_who),
      .level_o(who_level)
  );
  assign lk_ctx = {4{re_ctx_valid}} & (4'd1 << ctx_who);

  // -- ACKs
  rnic_pkg::ack_req_t item;
  logic refuse, dead, fresh, dup, gate_room, refused_waits, item_waits, work_fresh;
  logic [N_QP-1:0] open;
  logic freed_valid;
  logic [AW-1:0] freed_idx, inj_idx;
  logic inj_valid, inj_ready, ack_clear_ready;
  logic [23:0] inj_psn, inj_msn;
  logic [7:0] inj_syndrome;
  logic peek_valid, peek_busy, peek_take;
  logic [23:0] peek_psn;
  logic [7:0] peek_syndrome;
  ack_coalesce #(.N_QP(N_QP)) u_acks (
      .clk_i,
      .rst_i,
      .cfg_count_i,
      .cfg_cycles_i,
      .ackq_valid,
      .ackq_ready,
      .ackq,
      .hold_i(!gate_room || refused_waits),
      .item_valid_o(item_valid),
      .item_o(item),
      .item_waits_o(item_waits),
      .refuse_i(refuse),
      .dead_i(dead),
      .open_i(open),
      .freed_valid_i(freed_valid),
      .freed_idx_i(freed_idx),
      .inj_valid,
      .inj_ready,
      .inj_idx,
      .inj_psn,
      .inj_msn,
      .inj_syndrome,
      .peek_idx_i(turn_idx),
      .peek_valid_o(peek_valid),
      .peek_busy_o(peek_busy),
      .peek_psn_o(peek_psn),
      .peek_syndrome_o(peek_syndrome),
      .peek_take_i(peek_take),
      .clear_valid(clear_now),
      .clear_ready(ack_clear_ready),
      .clear_idx(order_idx),
      .lk_valid(lk_valid[0]),
      .lk_ready(lk_ready[0]),
      .lk_idx(lk_idx0),
      .ctx_valid(lk_ctx[0]),
      .ctx(re_ctx),
      .list_in_o(answer_o),
      .list_idx_o(answer_idx),
      .list_out_o(answered_o),
      .rsp_valid,
      .rsp_ready,
      .rsp
  );

  // -- saved READs and ATOMICs
  logic [3:0] item_index, item_life, kill_index, kill_life, turn_index, rel_index, rel_life;
  logic [3:0] again_index, again_life, work_index, work_life, gate_life;
  logic [4:0] item_depth, dup_saved;
  logic kill_valid, kill_ready, kill_all, kill_live, turn_valid, turn_ready, turn_done;
  logic [AW-1:0] kill_idx, rel_idx, again_idx, dup_idx, gate_idx;
  logic [5:0] turn_head, again_head, work_head, dup_head;
  logic [23:0] turn_k, again_k;
  logic turn_first;
  logic rel_valid, rel_ready, again_valid, again_ready, work_valid, work_ready, work_drop, work_rdy;
  logic [1:0] rd_en;
  logic [AW+3:0] rd_addr0, rd_addr1;
  logic [177:0] rd_entry0, rd_entry1;
  logic [24:0] rd_k0, rd_k1;
  logic [63:0] rd_value;
  logic [15:0] dup_pend;
  logic gate_current, sub_valid, result, turn_dead;
  logic [3:0] gate_index;
  resp_store #(.N_QP(N_QP)) u_store (
      .clk_i,
      .rst_i,
      .item_valid_i(item_valid),
      .item_i(item),
      .item_waits_i(item_waits),
      .refuse_o(refuse),
      .dead_o(dead),
      .fresh_o(fresh),
      .dup_o(dup),
      .index_o(item_index),
      .life_o(item_life),
      .depth_o(item_depth),
      .clear_valid(clear_go),
      .clear_ready(clear_now),
      .clear_idx(order_idx),
      .kill_valid,
      .kill_ready,
      .kill_idx,
      .kill_index,
      .kill_life,
      .kill_all,
      .kill_live_o(kill_live),
      .turn_valid,
      .turn_ready,
      .turn_idx,
      .turn_dead_o(turn_dead),
      .turn_index,
      .turn_head,
      .turn_done,
      .turn_k,
      .turn_first,
      .rel_valid,
      .rel_ready,
      .rel_idx,
      .rel_index,
      .rel_life,
      .rel_result(result),
      .rel_value(ar_value),
      .again_valid,
      .again_ready,
      .again_idx,
      .again_index,
      .again_life,
      .again_head,
      .again_k,
      .work_valid,
      .work_ready,
      .work_drop_i(work_drop),
      .work_idx,
      .work_hold_i,
      .work_rdy_o(work_rdy),
      .work_index_o(work_index),
      .work_head_o(work_head),
      .work_life_o(work_life),
      .work_fresh_o(work_fresh),
      .rd_en_i(rd_en),
      .rd_addr0_i(rd_addr0),
      .rd_addr1_i(rd_addr1),
      .rd_entry0_o(rd_entry0),
      .rd_entry1_o(rd_entry1),
      .rd_k0_o(rd_k0),
      .rd_k1_o(rd_k1),
      .rd_value_o(rd_value),
      .dup_idx_i(dup_idx),
      .dup_head_o(dup_head),
      .dup_saved_o(dup_saved),
      .dup_pend_o(dup_pend),
      .gate_idx_i(gate_idx),
      .gate_index_i(gate_index),
      .gate_life_i(gate_life),
      .gate_current_o(gate_current),
      .sub_valid_i(sub_valid),
      .sub_idx_i(turn_idx),
      .left_valid_i(rleft_valid),
      .left_idx_i(rleft_qpn[AW-1:0]),
      .open_o(open),
      .freed_valid_o(freed_valid),
      .freed_idx_o(freed_idx)
  );

  // -- writes before reads; ATOMICs to their unit
  logic go_valid, go_ready, over_valid, over_ready;
  logic [AW-1:0] go_idx, over_idx;
  logic [3:0] go_index, go_life, over_index, over_life;
  logic [23:0] over_psn, over_msn;
  logic [AW+55:0] gate_tag;
  resp_gate #(.AW(AW)) u_gate (
      .clk_i,
      .rst_i,
      .in_valid(fresh),
      .room_o(gate_room),
      .in_req(item),
      .in_index(item_index),
      .in_life(item_life),
      .in_depth(item_depth),
      .placed_i,
      .lk_valid(lk_valid[2]),
      .lk_ready(lk_ready[2]),
      .lk_idx(lk_idx2),
      .ctx_valid(lk_ctx[2]),
      .ctx(re_ctx),
      .gate_idx_o(gate_idx),
      .gate_index_o(gate_index),
      .gate_life_o(gate_life),
      .gate_current_i(gate_current),
      .rel_valid(go_valid),
      .rel_ready(go_ready),
      .rel_idx(go_idx),
      .rel_index(go_index),
      .rel_life(go_life),
      .at_valid,
      .at_ready,
      .at_addr,
      .at_swap,
      .at_op0,
      .at_op1,
      .at_qpn,
      .at_psn,
      .at_sampled,
      .at_tag(gate_tag),
      .over_valid,
      .over_ready,
      .over_idx,
      .over_index,
      .over_life,
      .over_psn,
      .over_msn
  );
  assign at_tag = 80'(gate_tag);

  // Results of ATOMICs go before READs from the gate.
  logic [3:0] ar_life, ar_index;
  logic [AW-1:0] ar_idx;
  logic [23:0] ar_psn, ar_msn;
  logic aerr_valid, aerr_ready;
  assign {ar_life, ar_index, ar_idx, ar_psn, ar_msn} = ar_tag[AW+55:0];
  assign result = ar_valid && !ar_err;
  assign aerr_valid = ar_valid && ar_err;
  assign rel_valid = result || go_valid;
  assign rel_idx = result ? ar_idx : go_idx;
  assign rel_index = result ? ar_index : go_index;
  assign rel_life = result ? ar_life : go_life;
  assign ar_ready = ar_err ? aerr_ready : rel_ready;
  assign go_ready = rel_ready && !result;

  // -- duplicates
  logic dup_hold;
  logic [AW-1:0] dup_hold_idx;
  resp_dup #(.AW(AW)) u_dup (
      .clk_i,
      .rst_i,
      .in_valid(dup),
      .in_req(item),
      .in_life(item_life),
      .lk_valid(lk_valid[3]),
      .lk_ready(lk_ready[3]),
      .lk_idx(lk_idx3),
      .ctx_valid(lk_ctx[3]),
      .ctx(re_ctx),
      .dup_idx_o(dup_idx),
      .dup_head_i(dup_head),
      .dup_saved_i(dup_saved),
      .dup_pend_i(dup_pend),
      .rd_en_o(rd_en[1]),
      .rd_addr_o(rd_addr1),
      .rd_entry_i(rd_entry1),
      .rd_k_i(rd_k1),
      .again_valid,
      .again_ready,
      .again_idx,
      .again_index,
      .again_life,
      .again_head,
      .again_k,
      .turn_busy_i(turn_busy),
      .turn_idx_i(turn_idx),
      .hold_o(dup_hold),
      .hold_idx_o(dup_hold_idx),
      .cnt_dropped_o(cnt_rx_rd_dropped_o)
  );

  // -- answers
  logic bad_valid, bad_ready, bad_refused, sent_ack;
  logic [3:0] bad_life;
  logic [23:0] bad_psn, bad_msn;
  resp_turn #(.AW(AW)) u_turn (
      .clk_i,
      .rst_i,
      .work_valid,
      .work_ready,
      .work_drop_o(work_drop),
      .work_idx,
      .work_rdy_i(work_rdy),
      .work_index_i(work_index),
      .work_head_i(work_head),
      .work_life_i(work_life),
      .work_fresh_i(work_fresh),
      .rd_en_o(rd_en[0]),
      .rd_addr_o(rd_addr0),
      .rd_entry_i(rd_entry0),
      .rd_k_i(rd_k0),
      .rd_value_i(rd_value),
      .turn_valid,
      .turn_ready,
      .turn_dead_i(turn_dead),
      .turn_index,
      .turn_head,
      .turn_done,
      .turn_k,
      .turn_first,
      .busy_o(turn_busy),
      .idx_o(turn_idx),
      .hold_i({clear, dup_hold}),
      .hold0_idx_i(dup_hold_idx),
      .hold1_idx_i(order_idx),
      .lk_valid(lk_valid[1]),
      .lk_ready(lk_ready[1]),
      .ctx_valid(lk_ctx[1]),
      .ctx(re_ctx),
      .pace_chk_o,
      .pace_limited_i,
      .pace_ask_valid,
      .pace_ask_ready,
      .pace_told_i,
      .pace_ok_i,
      .pace_pkt_o,
      .path_o(pkt_path_o),
      .class_hold_i(pkt_hold_i),
      .peek_valid_i(peek_valid),
      .peek_busy_i(peek_busy),
      .peek_psn_i(peek_psn),
      .peek_syndrome_i(peek_syndrome),
      .peek_take_o(peek_take),
      .mrq_valid,
      .mrq_ready,
      .mrq,
      .mrs_valid,
      .mrs,
      .bad_valid,
      .bad_ready,
      .bad_life_o(bad_life),
      .bad_psn_o(bad_psn),
      .bad_msn_o(bad_msn),
      .bad_refused_o(bad_refused),
      .slot_valid,
      .slot_ready,
      .slot_id,
      .txp_valid,
      .txp_ready,
      .txp,
      .txp_slot,
      .rdreq_valid,
      .rdreq_ready,
      .rdreq,
      .sub_valid_o(sub_valid),
      .sent_ack_o(sent_ack),
      .sent_response_o(cnt_tx_rd_responses_o)
  );

  // -- fatal NAKs
  resp_fail #(.AW(AW)) u_fail (
      .clk_i,
      .rst_i,
      .idle_o(fail_idle),
      .refused_o(refused_waits),
      .refused_i(refuse),
      .refused_idx_i(item.qpn[AW-1:0]),
      .over_valid,
      .over_ready,
      .over_idx,
      .over_index,
      .over_life,
      .over_psn,
      .over_msn,
      .aerr_valid,
      .aerr_ready,
      .aerr_idx(ar_idx),
      .aerr_index(ar_index),
      .aerr_life(ar_life),
      .aerr_psn(ar_psn),
      .aerr_msn(ar_msn),
      .bad_valid,
      .bad_ready,
      .bad_idx(turn_idx),
      .bad_index(turn_index),
      .bad_life,
      .bad_psn,
      .bad_msn,
      .bad_refused,
      .rterr_valid,
      .rterr_ready,
      .rterr_idx(rterr_qpn[AW-1:0]),
      .rterr_psn,
      .rterr_msn,
      .kill_valid,
      .kill_ready,
      .kill_idx,
      .kill_index,
      .kill_life,
      .kill_all,
      .kill_live_i(kill_live),
      .inj_valid,
      .inj_ready,
      .inj_idx,
      .inj_psn,
      .inj_msn,
      .inj_syndrome,
      .fail_valid,
      .fail_ready,
      .fail
  );

  // -- counters and trace
  logic sent, rsp_ack_q;
  assign sent = rsp_valid && rsp_ready;
  always_ff @(posedge clk_i) begin
    rsp_ack_q <= sent && rsp.syndrome[6:5] == 2'b00;
    cnt_tx_rnr_nak_o <= sent && rsp.syndrome[6:5] == 2'b01;
    cnt_tx_nak_seq_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_SEQ;
    cnt_tx_nak_inv_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_INV;
    cnt_tx_nak_access_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_ACCESS;
    cnt_tx_nak_op_o <= sent && rsp.syndrome == roce_pkg::SYN_NAK_OP;
    if (rst_i) begin
      rsp_ack_q <= 1'b0;
      cnt_tx_nak_seq_o <= 1'b0;
      cnt_tx_nak_inv_o <= 1'b0;
      cnt_tx_nak_access_o <= 1'b0;
      cnt_tx_nak_op_o <= 1'b0;
      cnt_tx_rnr_nak_o <= 1'b0;
    end
  end
  pulse_merge #(.N(2)) u_ack_count (
      .clk_i, .rst_i, .pulse_i({sent_ack, rsp_ack_q}), .pulse_o(cnt_tx_acks_o));
  assign trc_valid_o = ackq_valid && ackq_ready;
  assign trc_o = {rnic_pkg::TRC_ACK_REQ, ackq.qpn, 8'd0, ackq.psn};
  assign trc_sampled_o = ackq.sampled;
  assign trc2_valid_o = sent;
  assign trc2_o = {rnic_pkg::TRC_ACK_TX, rsp.qpn, 8'd0, rsp.psn};
  assign trc2_sampled_o = rsp.sampled;

  logic unused;
  assign unused = ^{qpi, rleft_qpn, rterr_qpn, ar_tag, who_level, who_valid, ack_clear_ready};

  `RNIC_ASSERT(one_question_each, !lk_fire || who_ready)
  `RNIC_ASSERT(cleared_together, !clear_now || ack_clear_ready)
endmodule
