// SPDX-License-Identifier: Apache-2.0
//
// Turns messages into packets: on each turn of a QP it takes WQEs from wqe_store and gives every
// packet its PSN, opcode, address, TX slot and payload (inline, or read requests per segment and
// packet). Owner of the send half.
// Throughput: 2 cycles per inline message and 3 per turn with one message; 1 cycle per packet
// inside a message, 1 more per further segment that it touches. Latency: 3 cycles from turn to txp
// (inline), 4 to rdreq (one segment). Packets of a QP leave in PSN order. A turn ends after
// BURST_PKTS packets or BURST_BYTES bytes, when the list is empty, or when msg_pool is full.
// Nothing is dropped: a WQE that cannot be sent enters msg_pool as MSG_FAILED.
`include "rnic_assert.svh"

module sq_engine #(
    parameter int unsigned BURST_PKTS = 8,
    parameter int unsigned BURST_BYTES = 4096
) (
    input  logic                    clk_i,
    input  logic                    rst_i,
    input  logic [7:0]              cfg_ack_req_every_i,

    // sq_scheduler; turn_ready depends on the readies of the lookups
    input  logic                    turn_valid,
    output logic                    turn_ready,
    input  logic [23:0]             turn_qpn,
    output logic                    turn_done_valid,
    input  logic                    turn_done_ready,
    output logic [23:0]             turn_done_qpn,
    output logic                    turn_done_more,
    output logic [1:0]              turn_done_blocked,  // 0 no, 1 msg_pool full, 2 until kicked
    output logic [5:0]              turn_done_popped,

    // context: connection half, send half
    output logic                    sq_lk_valid,
    input  logic                    sq_lk_ready,
    output logic [23:0]             sq_lk_qpn,
    input  logic                    sq_ctx_valid,
    input  rnic_pkg::qp_conn_t      sq_ctx,
    output logic                    snd_lk_valid,
    input  logic                    snd_lk_ready,
    output logic [23:0]             snd_lk_qpn,
    input  logic                    snd_ctx_valid,
    input  rnic_pkg::qp_send_t      snd_ctx,
    output logic                    snd_wr_valid,
    output logic [23:0]             snd_wr_qpn,
    output rnic_pkg::qp_send_t      snd_wr,
    input  logic                    qpi_valid,
    output logic                    qpi_ready,
    input  rnic_pkg::qp_init_t      qpi,

    // wqe_store
    output logic                    hd_lk_valid,
    input  logic                    hd_lk_ready,
    output logic [23:0]             hd_lk_qpn,
    input  logic                    hd_valid,
    output logic                    hd_ready,
    input  logic                    hd_empty,
    input  logic                    hd_last,
    input  rnic_pkg::wqe_entry_t    hd,
    output logic                    hd_stop_o,
    output logic                    pop_valid,
    output logic [23:0]             pop_qpn,

    // mr_table port 0
    output logic                    mrq_valid,
    input  logic                    mrq_ready,
    output rnic_pkg::mr_req_t       mrq,
    input  logic                    mrs_valid,
    input  rnic_pkg::mr_rsp_t       mrs,

    // tx_buffer. The packet of a slot is offered no later than its first read or its inline data.
    // slot_ready and msg_push_valid depend on slot_valid, msg_push_ready (a packet takes all it
    // needs at once or nothing).
    input  logic                    slot_valid,
    output logic                    slot_ready,
    input  logic [7:0]              slot_id,
    output logic                    txp_valid,
    input  logic                    txp_ready,
    output rnic_pkg::tx_pkt_t       txp,
    output logic [7:0]              txp_slot,
    output logic                    inl_valid,
    input  logic                    inl_ready,
    output logic [7:0]              inl_slot,
    output logic [767:0]            inl_data,
    output logic [6:0]              inl_len,
    // dma_master
    output logic                    rdreq_valid,
    input  logic                    rdreq_ready,
    output rnic_pkg::dma_rd_req_t   rdreq,

    // msg_pool
    output logic                    msg_push_valid,
    input  logic                    msg_push_ready,
    output logic [23:0]             msg_push_qpn,
    output rnic_pkg::msg_t          msg_push,

    // the QP asks to fail; a message already in msg_pool failed in its middle
    output logic                    fail_valid,
    input  logic                    fail_ready,
    output rnic_pkg::qp_fail_t      fail,
    output logic                    lerr_valid,
    input  logic                    lerr_ready,
    output logic [23:0]             lerr_qpn,
    output logic [15:0]             lerr_index,
    output logic [7:0]              lerr_status,

    output logic                    cnt_msgs_posted_o,
    output logic                    cnt_tx_requests_o,
    output logic                    trc_valid_o,
    output logic [63:0]             trc_o,
    output logic                    trc_sampled_o,
    output logic                    trc2_valid_o,
    output logic [63:0]             trc2_o,
    output logic                    trc2_sampled_o,
    input  logic rws_valid,
    output logic rws_ready,
    input  rnic_pkg::rewind_t rws,
    output logic rwd_valid,
    input  logic rwd_ready,
    output logic [23:0] rwd_qpn,
    output logic [15:0] rwd_index,
    output logic arm_valid,
    output rnic_pkg::timer_set_t arm,
    output logic sqa_lk_valid,
    input  logic sqa_lk_ready,
    output logic [23:0] sqa_lk_qpn,
    input  logic sqa_ctx_valid,
    input  rnic_pkg::qp_ack_t sqa_ctx,
    output logic [767:0] msg_push_list,
    output logic lop_valid,
    input  logic lop_ready,
    output rnic_pkg::mr_lop_t lop,
    input  logic lop_done_valid,
    input  logic lop_done_ok,
    output logic cnt_tx_resent_o,
    output logic cnt_tx_rd_requests_o
);
  localparam int unsigned PKT_W = $bits(txp);
  localparam int unsigned RDREQ_W = $bits(rdreq);
  localparam int unsigned FAIL_W = $bits(fail);
  localparam logic [1:0] GO = 2'd0;
  localparam logic [1:0] POOL = 2'd1;
  localparam logic [1:0] KICK = 2'd2;

  if (BURST_PKTS < 1 || BURST_PKTS > 8 || BURST_BYTES < 1 ||
      BURST_BYTES > 4096) begin : gen_bad_burst
    $error("sq_engine: BURST_PKTS must be 1 to 8, BURST_BYTES 1 to 4096");
  end

  // --------------------------------------------------------------------------------- the next turn
  // Its lookups go out while the turn before it is at work.
  logic               f_full_q, sent_c_q, sent_s_q, sent_h_q, got_c_q, got_s_q;
  logic               t_load, t_free, hold;
  logic [23:0]        f_qpn_q;
  rnic_pkg::qp_conn_t f_conn_q, f_conn;
  rnic_pkg::qp_send_t f_send_q, f_send;
  logic               fire_c, fire_s, fire_h, begun, look;
  assign begun = sent_c_q || sent_s_q || sent_h_q;
  assign look = turn_valid && !f_full_q && (!hold || begun);
  assign sq_lk_valid = look && !sent_c_q;
  assign snd_lk_valid = look && !sent_s_q;
  assign hd_lk_valid = look && !sent_h_q;
  assign sq_lk_qpn = turn_qpn;
  assign snd_lk_qpn = turn_qpn;
  assign hd_lk_qpn = turn_qpn;
  assign fire_c = sq_lk_valid && sq_lk_ready;
  assign fire_s = snd_lk_valid && snd_lk_ready;
  assign fire_h = hd_lk_valid && hd_lk_ready;
  assign turn_ready = look && (sent_c_q || sq_lk_ready) && (sent_s_q || snd_lk_ready) &&
      (sent_h_q || hd_lk_ready);
  assign f_conn = got_c_q ? f_conn_q : sq_ctx;
  assign f_send = got_s_q ? f_send_q : snd_ctx;
  assign t_load = f_full_q && t_free && (got_c_q || sq_ctx_valid) && (got_s_q || snd_ctx_valid);

  always_ff @(posedge clk_i) begin
    if (turn_ready) begin
      f_full_q <= 1'b1;
      f_qpn_q <= turn_qpn;
      sent_c_q <= 1'b0;
      sent_s_q <= 1'b0;
      sent_h_q <= 1'b0;
    end else begin
      if (fire_c) sent_c_q <= 1'b1;
      if (fire_s) sent_s_q <= 1'b1;
      if (fire_h) sent_h_q <= 1'b1;
      if (t_load) f_full_q <= 1'b0;
    end
    if (sq_ctx_valid) f_conn_q <= sq_ctx;
    if (snd_ctx_valid) f_send_q <= snd_ctx;
    got_c_q <= (got_c_q || sq_ctx_valid) && !t_load;
    got_s_q <= (got_s_q || snd_ctx_valid) && !t_load;
    if (rst_i) begin
      f_full_q <= 1'b0;
      sent_c_q <= 1'b0;
      sent_s_q <= 1'b0;
      sent_h_q <= 1'b0;
      got_c_q <= 1'b0;
      got_s_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------ the states
  typedef enum logic [2:0] {
    S_NEXT,   // take the next WQE of the turn
    S_KEYS,   // check the keys of its segments
    S_RING,   // inline data that is read from the ring: where it stands
    S_PKT,    // a packet: header, and its inline data or first read
    S_PIECE,  // further reads of the packet
    S_LOCAL,  // no packet: failed, flushed, NOP
    S_END     // the turn is over
  } state_e;
  state_e s_q, s_d;

  // The turn.
  // t_taken_q: the last WQE of the list is taken
  logic               t_valid_q, t_taken_q, t_begun_q;
  logic [23:0]        t_qpn_q;
  rnic_pkg::qp_conn_t c_q;
  rnic_pkg::qp_send_t w_q;                       // the send half while it changes
  logic [3:0]         t_pkts_q;
  logic [12:0]        t_bytes_q;
  logic [5:0]         t_popped_q;
  logic               t_more_q;
  logic [1:0]         t_block_q;

  // The WQE.
  logic [15:0]        x_index_q, x_next_q;
  logic               x_sig_q, x_sol_q, x_smp_q, x_imm_q, x_inl_q, x_nop_q;
  logic [7:0]         x_status_q;
  logic [31:0]        x_rkey_q, x_immd_q;
  logic [34:0]        x_total_q;
  logic [2:0]         x_segs_q;
  logic [767:0]       x_body_q;                  // segments or inline data
  logic [6*32-1:0]    x_len_q;
  logic [6*64-1:0]    x_iova_q;
  logic [2:0]         k_req_q, k_rsp_q;          // keys asked for, answered
  logic               k_bad_q;
  logic               i_wait_q;                  // inline data are not taken yet
  logic [6:0]         i_len_q;

  // --------------------------------------------------------------------------- a WQE from the list
  logic         running, sqd_stop, take, fresh, is_write, long_inl, e_inl, e_imm, flush, refuse;
  logic [7:0]   e_op;
  logic [2:0]   e_segs;
  logic [34:0]  e_total;
  logic [6*32-1:0] e_len;
  logic [11:0]  e_inl_len;
  assign running = c_q.exists &&
                   (c_q.state == rnic_pkg::QPS_RTS || c_q.state == rnic_pkg::QPS_SQD ||
                                  c_q.state == rnic_pkg::QPS_SQE || c_q.state == rnic_pkg::QPS_ERR);
  assign sqd_stop = c_q.state == rnic_pkg::QPS_SQD && !w_q.in_msg;
  assign flush = w_q.failed || c_q.state == rnic_pkg::QPS_ERR || c_q.state == rnic_pkg::QPS_SQE;
  assign take = s_q == S_NEXT && t_valid_q && hd_valid && !hd_empty && running && !sqd_stop &&
                !i_wait_q;
  assign fresh = !w_q.in_msg;
  assign e_op = hd.wqe[71:64];
  assign e_inl = hd.wqe[75];
  assign e_inl_len = hd.wqe[91:80];
  assign e_imm = e_op == rnic_desc_pkg::WQE_OPCODE_WRITE_IMM;
  assign is_write = e_op == rnic_desc_pkg::WQE_OPCODE_WRITE || e_imm;
  assign long_inl = e_inl && e_inl_len > 12'd96;
  assign e_segs = e_inl ? 3'd0 : hd.wqe[94:92];
  for (genvar i = 0; i < 6; i++) begin : gen_len
    assign e_len[i*32 +: 32] = (3'(i) < e_segs) ? hd.wqe[256+128*i+32 +: 32] : 32'd0;
  end
  always_comb begin
    e_total = {23'd0, e_inl_len};
    if (!e_inl) begin
      e_total = ({3'd0, e_len[31:0]} + {3'd0, e_len[63:32]}) +
                ({3'd0, e_len[95:64]} + {3'd0, e_len[127:96]}) +
                ({3'd0, e_len[159:128]} + {3'd0, e_len[191:160]});
    end
  end
  // What is refused without asking for keys.
  logic [7:0] e_status;
  always_comb begin
    refuse = 1'b1;
    e_status = rnic_desc_pkg::CQE_STATUS_LOC_QP_OP_ERR;
    if (flush) e_status = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    else if (hd.bad) e_status = hd.status;
    else if (e_op == rnic_desc_pkg::WQE_OPCODE_NOP) refuse = 1'b0;
    else if (is_write && c_q.qtype == rnic_desc_pkg::QP_TYPE_RC) begin
      refuse = e_total > 35'h0_8000_0000;
      e_status = rnic_desc_pkg::CQE_STATUS_LOC_LEN_ERR;
    end
  end

  // The key of the first segment is asked for at once.
  logic early;
  assign early = take && fresh && !refuse && is_write && e_segs != 3'd0;

  // ------------------------------------------------------------------------------------------ keys
  logic [2:0]  k_at;
  logic        k_fire, k_all, k_any_bad;
  logic [127:0] k_seg;
  assign k_at = k_req_q;
  assign k_seg = early ? hd.wqe[383:256] : x_body_q[k_at*128 +: 128];
  assign mrq_valid = early || (s_q == S_KEYS && k_req_q < x_segs_q);
  always_comb begin
    mrq = '0;
    if (mrq_valid) begin
      mrq.key = k_seg[31:0];
      mrq.pd = c_q.pd;
      mrq.va = k_seg[127:64];
      mrq.len = k_seg[63:32];
    end
  end
  assign k_fire = mrq_valid && mrq_ready;
  assign k_any_bad = k_bad_q || !mrs.ok || mrs.refused;
  assign k_all = mrs_valid && k_rsp_q + 3'd1 == x_segs_q;

  // -------------------------------------------------------------------------------------- a packet
  logic [12:0] mtu, pay, piece, p_rest_q, p_off_q;
  logic [7:0]  p_slot_q;
  logic [31:0] seg_len, seg_rest;
  logic        first, last, seg_done, pkt_ok, pkt_go, pkt_blocked, pkt_need_read, ack;
  logic        pkt_ends, msg_ends;
  logic        txp_room, rd_room, td_room, fail_room, lerr_room;
  logic        piece_go, read_go, skip;
  logic [31:0] left_after;
  logic [2:0]  mtu_code;
  assign mtu_code = (c_q.mtu == 3'd0 || c_q.mtu > 3'd5) ? 3'd1 : c_q.mtu;
  assign mtu = 13'd128 << mtu_code;
  assign pay = (w_q.msg_left > {19'd0, mtu}) ? mtu : w_q.msg_left[12:0];
  assign first = !w_q.in_msg;
  assign last = w_q.msg_left <= {19'd0, mtu};
  assign left_after = w_q.msg_left - {19'd0, pay};
  assign seg_len = x_len_q[w_q.seg*32 +: 32];
  assign seg_rest = seg_len - w_q.seg_off;
  assign seg_done = seg_rest == 32'd0;
  always_comb begin
    piece = (s_q == S_PKT) ? pay : p_rest_q;
    if (seg_rest < {19'd0, piece}) piece = seg_rest[12:0];
  end
  assign pkt_need_read = !x_inl_q && pay != 13'd0;
  assign skip = (s_q == S_PKT && pkt_need_read && seg_done) || (s_q == S_PIECE && seg_done);
  assign pkt_blocked = s_q == S_PKT && first && !msg_push_ready;
  assign pkt_ok = s_q == S_PKT && !skip && txp_room &&
                  (!pkt_need_read || rd_room) &&
                  (!first || msg_push_ready);
  assign pkt_go = pkt_ok && slot_valid;
  assign slot_ready = pkt_ok;
  assign piece_go = s_q == S_PIECE && !skip && rd_room;
  assign read_go = (pkt_go && pkt_need_read) || piece_go;
  assign pkt_ends = (pkt_go && (!pkt_need_read || piece == pay)) || (piece_go && piece == p_rest_q);
  assign msg_ends = pkt_ends && ((s_q == S_PKT) ? last : w_q.msg_left == 32'd0);
  assign ack = last || (cfg_ack_req_every_i != 8'd0 && w_q.pkts + 8'd1 >= cfg_ack_req_every_i);

  // The quantum.
  logic [3:0]  pkts_now;
  logic [13:0] bytes_now;
  logic        spent, local_go, local_msg, local_fails, wqe_ends, list_ends;
  assign pkts_now = t_pkts_q + ((s_q == S_PKT || s_q == S_LOCAL) ? 4'd1 : 4'd0);
  assign bytes_now = {1'b0, t_bytes_q} + ((s_q == S_PKT) ? {1'b0, pay} : 14'd0);
  assign spent = pkts_now >= 4'(BURST_PKTS) || bytes_now >= 14'(BURST_BYTES);

  // -------------------------------------------------------------------------- WQEs without packets
  // In the middle of a message msg_pool has it already: rx_completer flushes it, or hears why it
  // fails.
  assign local_msg = !w_q.in_msg;
  assign local_fails = !x_nop_q && x_status_q != rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
  assign local_go = s_q == S_LOCAL && (!local_msg || msg_push_ready) &&
                    (!local_fails || (fail_room && (local_msg || lerr_room)));
  assign wqe_ends = msg_ends || local_go;
  assign list_ends = t_taken_q;

  always_comb begin
    s_d = s_q;
    unique case (s_q)
      S_NEXT:
      if (t_valid_q && hd_valid && !i_wait_q) begin
        if (!take) s_d = S_END;
        else if (refuse || (fresh && e_op == rnic_desc_pkg::WQE_OPCODE_NOP)) s_d = S_LOCAL;
        else if (long_inl) s_d = S_RING;
        else if (e_segs == 3'd0) s_d = S_PKT;
        else s_d = S_KEYS;
      end
      S_KEYS: if (k_all) s_d = k_any_bad ? S_LOCAL : S_PKT;
      S_RING: s_d = S_PKT;
      S_PKT:
      if (pkt_blocked) s_d = S_END;
      else if (msg_ends) s_d = (spent || list_ends) ? S_END : S_NEXT;
      else if (pkt_ends) s_d = spent ? S_END : S_PKT;
      else if (pkt_go) s_d = S_PIECE;
      S_PIECE:
      if (msg_ends) s_d = (spent || list_ends) ? S_END : S_NEXT;
      else if (pkt_ends) s_d = spent ? S_END : S_PKT;
      S_LOCAL:
      if (local_go) s_d = (spent || list_ends) ? S_END : S_NEXT;
      else s_d = S_END;
      default: if (td_room) s_d = S_NEXT;
    endcase
  end

  assign t_free = !t_valid_q || (s_q == S_END && td_room);
  assign hd_ready = take || (s_q == S_NEXT && t_valid_q && hd_valid && hd_empty && !i_wait_q);
  assign hd_stop_o = s_q == S_END && td_room && !t_taken_q;
  assign pop_valid = wqe_ends;
  assign pop_qpn = t_qpn_q;

  // ------------------------------------------------------------------------------------- registers
  always_ff @(posedge clk_i) begin
    s_q <= s_d;
    if (t_load) begin
      t_valid_q <= 1'b1;
      t_qpn_q <= f_qpn_q;
      c_q <= f_conn;
      w_q <= f_send;
      t_taken_q <= 1'b0;
      t_begun_q <= 1'b0;
      t_pkts_q <= '0;
      t_bytes_q <= '0;
      t_popped_q <= '0;
    end else begin
      if (s_q == S_END && td_room) t_valid_q <= 1'b0;
      if (s_q == S_NEXT && t_valid_q && hd_valid && !i_wait_q) begin
        t_begun_q <= 1'b1;
        t_more_q <= !hd_empty;                // unless the WQE is done
        t_block_q <= (!hd_empty && !take) ? KICK : GO;
        if (take) t_taken_q <= hd_last;
        else if (hd_empty) t_taken_q <= 1'b1;
      end
      if (pkt_blocked || (s_q == S_LOCAL && local_msg && !msg_push_ready)) t_block_q <= POOL;
      if (wqe_ends) begin
        t_popped_q <= t_popped_q + 1'b1;
        t_more_q <= !t_taken_q;
      end
      if (pkt_go || local_go) t_pkts_q <= pkts_now;
      if (pkt_go) t_bytes_q <= bytes_now[12:0];

      // The message.
      if (take && fresh) begin
        w_q.msg_left <= e_total[31:0];
        w_q.seg <= '0;
        w_q.seg_off <= '0;
        w_q.va <= hd.wqe[191:128];
      end
      if (pkt_go) begin
        w_q.next_psn <= w_q.next_psn + 24'd1;
        w_q.in_msg <= !last;
        w_q.msg_left <= left_after;
        w_q.va <= w_q.va + {51'd0, pay};
        w_q.pkts <= ack ? 8'd0 : w_q.pkts + 8'd1;
      end
      if (skip) begin
        w_q.seg <= w_q.seg + 3'd1;
        w_q.seg_off <= '0;
      end else if (read_go) begin
        w_q.seg_off <= w_q.seg_off + {19'd0, piece};
      end
      if (local_go) begin
        w_q.in_msg <= 1'b0;
        if (local_fails) w_q.failed <= 1'b1;
      end
    end
    if (rst_i) begin
      s_q <= S_NEXT;
      t_valid_q <= 1'b0;
    end
  end

  logic [21:0] ring_bytes, ring_pos, ring_room;
  logic        ring_wraps;
  assign ring_bytes = 22'd64 << c_q.log_sq;
  assign ring_pos = ({x_index_q, 6'd0} + 22'd32) & (ring_bytes - 22'd1);
  assign ring_room = ring_bytes - ring_pos;
  assign ring_wraps = x_total_q[31:0] > {10'd0, ring_room};

  always_ff @(posedge clk_i) begin
    if (take) begin
      x_index_q <= hd.index;
      x_next_q <= hd.next_index;
      x_sig_q <= hd.wqe[72] || c_q.sq_sig_all;
      x_sol_q <= hd.wqe[73];
      x_smp_q <= hd.sampled;
      x_imm_q <= e_imm;
      x_inl_q <= e_inl && !long_inl;
      x_nop_q <= !refuse && e_op == rnic_desc_pkg::WQE_OPCODE_NOP;
      x_status_q <= e_status;
      x_rkey_q <= hd.wqe[223:192];
      x_immd_q <= {hd.wqe[231:224], hd.wqe[239:232], hd.wqe[247:240], hd.wqe[255:248]};
      x_total_q <= e_total;
      x_segs_q <= e_segs;
      x_body_q <= hd.wqe[1023:256];
      x_len_q <= e_len;
      k_req_q <= (early && mrq_ready) ? 3'd1 : fresh ? 3'd0 : w_q.seg;
      k_rsp_q <= fresh ? 3'd0 : w_q.seg;
      k_bad_q <= 1'b0;
    end else if (s_q == S_KEYS) begin
      if (k_fire) k_req_q <= k_req_q + 3'd1;
      if (mrs_valid) begin
        k_rsp_q <= k_rsp_q + 3'd1;
        k_bad_q <= k_any_bad;
        x_iova_q[k_rsp_q*64 +: 64] <= mrs.iova;
        if (k_all && k_any_bad) x_status_q <= rnic_desc_pkg::CQE_STATUS_LOC_PROT_ERR;
      end
    end else if (s_q == S_RING) begin
      // Two pieces, if it wraps.
      x_iova_q[63:0] <= c_q.sq_base + {42'd0, ring_pos};
      x_iova_q[127:64] <= c_q.sq_base;
      x_len_q[31:0] <= ring_wraps ? {10'd0, ring_room} : x_total_q[31:0];
      x_len_q[63:32] <= ring_wraps ? x_total_q[31:0] - {10'd0, ring_room} : 32'd0;
    end
    if (pkt_go) begin
      p_slot_q <= slot_id;
      p_rest_q <= pay - piece;
      p_off_q <= piece;
    end else if (piece_go) begin
      p_rest_q <= p_rest_q - piece;
      p_off_q <= p_off_q + piece;
    end
  end

  // --------------------------------------------------------------------------------------- outputs
  rnic_pkg::tx_pkt_t pkt;
  logic [1:0] pos;
  assign pos = {first, last};
  always_comb begin
    pkt = '0;
    if (s_q == S_PKT) begin  // quiet otherwise
      pkt.qpn = t_qpn_q;
      pkt.wqe_index = x_index_q;
      pkt.sampled = x_smp_q;
      pkt.path = c_q.path;
      unique case (pos)
        2'b11: pkt.opcode = x_imm_q ? roce_pkg::OP_WRITE_ONLY_IMM : roce_pkg::OP_WRITE_ONLY;
        2'b10: pkt.opcode = roce_pkg::OP_WRITE_FIRST;
        2'b01: pkt.opcode = x_imm_q ? roce_pkg::OP_WRITE_LAST_IMM : roce_pkg::OP_WRITE_LAST;
        default: pkt.opcode = roce_pkg::OP_WRITE_MIDDLE;
      endcase
      pkt.se = last && x_imm_q && x_sol_q;  // it means nothing on a WRITE without immediate
      pkt.ack_req = ack;
      pkt.pkey = c_q.pkey;
      pkt.dest_qpn = c_q.dest_qpn;
      pkt.psn = w_q.next_psn;
      pkt.payload_len = pay;
      pkt.va = w_q.va;
      pkt.rkey = x_rkey_q;
      pkt.dmalen = w_q.msg_left;
      pkt.imm = x_immd_q;
      pkt.qkey = c_q.qkey;
    end
  end
  logic [1:0] rd_level;
  logic       txp_level;
  stream_fifo_small #(.W(PKT_W + 8), .DEPTH(1), .LATENCY(0)) u_txp (
      .clk_i,
      .rst_i,
      .in_valid (pkt_go),
      .in_ready (txp_room),
      .in_data  ({slot_id, pkt}),
      .out_valid(txp_valid),
      .out_ready(txp_ready),
      .out_data ({txp_slot, txp}),
      .level_o  (txp_level)
  );
  // Inline data stay in x_body_q until they are taken; no further WQE is taken before.
  assign inl_valid = (pkt_go && x_inl_q && pay != 13'd0) || i_wait_q;
  assign inl_slot = i_wait_q ? p_slot_q : slot_id;
  assign inl_len = i_wait_q ? i_len_q : pay[6:0];
  assign inl_data = x_body_q;
  always_ff @(posedge clk_i) begin
    i_wait_q <= inl_valid && !inl_ready;
    i_len_q <= inl_len;
    if (rst_i) i_wait_q <= 1'b0;
  end

  rnic_pkg::dma_rd_req_t rd;
  always_comb begin
    rd = '0;
    if (s_q == S_PKT || s_q == S_PIECE) begin
      rd.addr = x_iova_q[w_q.seg*64 +: 64] + {32'd0, w_q.seg_off};
      rd.len = piece;
      rd.slot = (s_q == S_PKT) ? slot_id : p_slot_q;
      rd.dst_off = (s_q == S_PKT) ? 13'd0 : p_off_q;
      rd.first = s_q == S_PKT;
      rd.qpn = t_qpn_q;
      rd.wqe_index = x_index_q;
      rd.sampled = x_smp_q;
    end
  end
  stream_fifo_small #(.W(RDREQ_W), .DEPTH(2), .LATENCY(0)) u_rd (
      .clk_i,
      .rst_i,
      .in_valid (read_go),
      .in_ready (rd_room),
      .in_data  (rd),
      .out_valid(rdreq_valid),
      .out_ready(rdreq_ready),
      .out_data (rdreq),
      .level_o  (rd_level)
  );

  // The message enters the pool with its first packet.
  logic [31:0] more_pkts;
  assign more_pkts = (w_q.msg_left - 32'd1) >> (4'd7 + {1'b0, mtu_code});
  assign msg_push_valid = (pkt_go && first) || (local_go && local_msg);
  assign msg_push_qpn = t_qpn_q;
  always_comb begin
    msg_push = '0;
    if (s_q == S_PKT || s_q == S_LOCAL) begin
      msg_push.kind = rnic_pkg::MSG_WRITE;
      msg_push.signaled = x_sig_q;
      msg_push.sampled = x_smp_q;
      msg_push.wqe_index = x_index_q;
      msg_push.next_index = x_next_q;
      msg_push.first_psn = w_q.next_psn;
      msg_push.last_psn = w_q.next_psn + ((w_q.msg_left == 32'd0) ? 24'd0 : more_pkts[23:0]);
      msg_push.bytes = w_q.msg_left;
    end
    if (s_q == S_LOCAL) begin
      msg_push.kind = x_nop_q ? rnic_pkg::MSG_LOCAL : rnic_pkg::MSG_FAILED;
      msg_push.status = x_nop_q ? 8'd0 : x_status_q;
      msg_push.last_psn = w_q.next_psn;
      msg_push.bytes = 32'd0;
    end
  end

  logic [1:0] fail_level;
  logic       td_level, lerr_level;
  stream_fifo_small #(.W(33), .DEPTH(1), .LATENCY(0)) u_turn_done (
      .clk_i,
      .rst_i,
      .in_valid (s_q == S_END),
      .in_ready (td_room),
      .in_data  ({t_qpn_q, t_more_q, t_block_q, t_popped_q}),
      .out_valid(turn_done_valid),
      .out_ready(turn_done_ready),
      .out_data ({turn_done_qpn, turn_done_more, turn_done_blocked, turn_done_popped}),
      .level_o  (td_level)
  );
  rnic_pkg::qp_fail_t fail_in;
  assign fail_in = {t_qpn_q, x_status_q, 8'd0};  // no event: the CQE says it
  stream_fifo_small #(.W(FAIL_W), .DEPTH(2), .LATENCY(1)) u_fail (
      .clk_i,
      .rst_i,
      .in_valid (local_go && local_fails),
      .in_ready (fail_room),
      .in_data  (fail_in),
      .out_valid(fail_valid),
      .out_ready(fail_ready),
      .out_data (fail),
      .level_o  (fail_level)
  );
  stream_fifo_small #(.W(48), .DEPTH(1), .LATENCY(1)) u_lerr (
      .clk_i,
      .rst_i,
      .in_valid (local_go && local_fails && !local_msg),
      .in_ready (lerr_room),
      .in_data  ({t_qpn_q, x_index_q, x_status_q}),
      .out_valid(lerr_valid),
      .out_ready(lerr_ready),
      .out_data ({lerr_qpn, lerr_index, lerr_status}),
      .level_o  (lerr_level)
  );

  // ---------------------------------------------------------------------- the send half, QP orders
  // An order waits until no turn is at work, so that ERR and CLEAR are the last word.
  // The half is written after each packet: the ACK of one may be back before a turn that waits for
  // slots is over, and rx_completer ignores what is not before next_psn.
  logic order_go, went_q;
  always_ff @(posedge clk_i) begin
    went_q <= pkt_go;
    if (rst_i) went_q <= 1'b0;
  end
  assign hold = qpi_valid;
  assign order_go = qpi_valid && !t_valid_q && !f_full_q && !begun;
  assign qpi_ready = order_go;
  always_comb begin
    snd_wr_valid = (s_q == S_END && td_room) || went_q;
    snd_wr_qpn = t_qpn_q;
    snd_wr = w_q;
    if (order_go) begin
      snd_wr_valid = qpi.op == rnic_pkg::QPI_CLEAR || qpi.op == rnic_pkg::QPI_RTS;
      snd_wr_qpn = qpi.qpn;
      snd_wr = '0;
      if (qpi.op == rnic_pkg::QPI_RTS) snd_wr.next_psn = qpi.psn;
    end
  end

  // ---------------------------------------------------------------------------- counters and trace
  assign cnt_msgs_posted_o = pkt_go && first;
  assign cnt_tx_requests_o = pkt_go;
  assign trc_valid_o = take && !t_begun_q;
  assign trc_o = {rnic_pkg::TRC_TURN, t_qpn_q, 16'd0, hd.index};
  assign trc_sampled_o = hd.sampled;
  assign trc2_valid_o = pkt_go && pkt_need_read;
  assign trc2_o = {rnic_pkg::TRC_PAY_READ, t_qpn_q, 8'd0, w_q.next_psn};
  assign trc2_sampled_o = x_smp_q;

  logic unused;
  assign unused = ^{c_q, hd, txp_level, rd_level, td_level, fail_level, lerr_level,
                    more_pkts, mrs,
                    x_total_q, e_total, bytes_now};

  `RNIC_ASSERT(first_piece_is_something, !read_go || piece != 13'd0)
  `RNIC_ASSERT(segments_cover_message, !skip || w_q.seg < 3'd5)

  // Ports of the complete RC transport that this block does not use yet.
  assign rws_ready = '0;
  assign rwd_valid = '0;
  assign rwd_qpn = '0;
  assign rwd_index = '0;
  assign arm_valid = '0;
  assign arm = '0;
  assign sqa_lk_valid = '0;
  assign sqa_lk_qpn = '0;
  assign msg_push_list = '0;
  assign lop_valid = '0;
  assign lop = '0;
  assign cnt_tx_resent_o = '0;
  assign cnt_tx_rd_requests_o = '0;
  logic unused_rc;
  assign unused_rc = ^{rws_valid, rws, rwd_ready, sqa_lk_ready, sqa_ctx_valid, sqa_ctx,
      lop_ready, lop_done_valid, lop_done_ok};
endmodule
