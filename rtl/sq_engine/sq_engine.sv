// SPDX-License-Identifier: Apache-2.0
//
// Turns messages into packets: on each turn of a QP it takes WQEs from wqe_store and gives every
// packet its PSN, opcode, address, TX slot and payload (inline, or read requests per segment and
// packet). Sets queues back for a replay. Owner of the send half.
// Throughput: 2 cycles per inline message and 3 per turn with one message; 1 cycle per packet
// inside a message, 1 more per further segment that it touches; paged regions cost about 4 more per
// page and packet. Latency: 3 cycles from turn to txp (inline), 4 to rdreq (one segment). Packets
// of a QP leave in PSN order. A turn ends when its credit is used up (turn_share), or what its rate
// allows (tx_pacer), when the list is empty, when msg_pool is full, or when the QP has to wait.
// Nothing is dropped: a WQE that cannot be sent enters msg_pool as MSG_FAILED.
`include "rnic_assert.svh"

module sq_engine #(
  parameter int unsigned ARP = 0  // 1: WQEs that send a packet of an AllReduce
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
    // 0 no, 1 msg_pool full, 2 until kicked, 3 the list is of no use: go on at index
    output logic [1:0]              turn_done_blocked,
    output logic [15:0]             turn_done_index,
    output logic [5:0]              turn_done_popped,
    output logic                    turn_done_window,  // bytes in flight have reached the window

    // what a turn may take: asked when it is taken, answer a cycle later; what it took too much
    output logic                    share_lk_o,
    output logic [23:0]             share_lk_qpn_o,
    input  rnic_pkg::pace_t         pace_i,
    input  logic [15:0]             credit_i,
    // the packet that is to be made, and whether its class takes none (answer in the same cycle)
    output logic                    pkt_o,
    output logic [23:0]             pkt_qpn_o,
    output logic [15:0]             pkt_path_o,
    input  logic                    hold_i,
    output logic                    debt_o,
    output logic [23:0]             debt_qpn_o,
    output logic [12:0]             debt_value_o,

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
    output logic [767:0]            msg_push_list,  // its data segments, as in the WQE

    // a message already in msg_pool failed in its middle
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

    // replay: where rx_completer wants a queue to go on (the QP has no turn); the answer is for
    // sq_scheduler
    input  logic                    rws_valid,
    output logic                    rws_ready,
    input  rnic_pkg::rewind_t       rws,
    output logic                    rwd_valid,
    input  logic                    rwd_ready,
    output logic [23:0]             rwd_qpn,
    output logic [15:0]             rwd_index,
    // rc_timer: packets of an RC QP left
    output logic                    arm_valid,
    output rnic_pkg::timer_set_t    arm,
    // acknowledged half
    output logic                    sqa_lk_valid,
    input  logic                    sqa_lk_ready,
    output logic [23:0]             sqa_lk_qpn,
    input  logic                    sqa_ctx_valid,
    input  rnic_pkg::qp_ack_t       sqa_ctx,
    // the replay has passed a message that needs no packet: to msg_pool, as its nudges
    output logic                    passed_valid,
    input  logic                    passed_ready,
    output logic [23:0]             passed_qpn,
    // mr_table: LOCAL_INV, FAST_REG; one at a time
    output logic                    lop_valid,
    input  logic                    lop_ready,
    output rnic_pkg::mr_lop_t       lop,
    input  logic                    lop_done_valid,
    input  logic                    lop_done_ok,
    // a LOCAL_INV has been executed, to settle_share: the acknowledged half and a kick tell when
    // what was decided before has ended
    output logic                    inv_valid,
    input  logic                    inv_ready,      // depends on state only
    output logic [23:0]             inv_qpn,
    output logic                    cnt_tx_resent_o,
    output logic                    cnt_tx_rd_requests_o,
    // QPs whose context is in use: looked up, the next turn, the turn, a replay or order
    output logic [3:0]              pin_o,
    output logic [95:0]             pin_qpn_o
);
  localparam int unsigned PKT_W = $bits(txp);
  localparam int unsigned RDREQ_W = $bits(rdreq);
  localparam logic [1:0] GO = 2'd0;
  localparam logic [1:0] POOL = 2'd1;
  localparam logic [1:0] KICK = 2'd2;
  localparam logic [1:0] SKIP = 2'd3;

  localparam logic [13:0] AROUND = 14'd98;   // bytes around the payload of a WRITE, with its gap
  localparam logic [5:0] OPS = 6'd56;        // most packets in a turn
  localparam logic [5:0] LOCAL_OPS = 6'd7;   // for a WQE without packets, which takes long

  // --------------------------------------------------------------------------------- the next turn
  // Its lookups go out while the turn before it is at work.
  logic               f_full_q, sent_c_q, sent_s_q, sent_h_q, sent_a_q, got_c_q, got_s_q, got_a_q;
  logic               t_load, t_free, hold, m_ask, m_wait, m_idle, s_out_q;
  logic [23:0]        f_qpn_q, m_qpn;
  rnic_pkg::qp_conn_t f_conn_q, f_conn;
  rnic_pkg::qp_send_t f_send_q, f_send;
  rnic_pkg::qp_ack_t  f_ack_q, f_ack;
  rnic_pkg::pace_t    f_pace_q, f_pace;
  logic [15:0]        f_credit_q, f_credit;
  logic               share_q;
  logic               fire_c, fire_s, fire_h, fire_a, begun, look, got_s;
  assign begun = sent_c_q || sent_s_q || sent_h_q || sent_a_q;
  assign look = turn_valid && !f_full_q && (!hold || begun);
  assign sq_lk_valid = look && !sent_c_q;
  assign snd_lk_valid = m_ask || (look && !sent_s_q && m_idle);
  assign hd_lk_valid = look && !sent_h_q;
  assign sqa_lk_valid = look && !sent_a_q;
  assign sq_lk_qpn = turn_qpn;
  assign snd_lk_qpn = m_ask ? m_qpn : turn_qpn;
  assign hd_lk_qpn = turn_qpn;
  assign sqa_lk_qpn = turn_qpn;
  assign fire_c = sq_lk_valid && sq_lk_ready;
  assign fire_s = look && !sent_s_q && m_idle && !m_ask && snd_lk_ready;
  assign fire_h = hd_lk_valid && hd_lk_ready;
  assign fire_a = sqa_lk_valid && sqa_lk_ready;
  assign turn_ready = look && (sent_c_q || sq_lk_ready) && (sent_s_q || fire_s) &&
      (sent_h_q || hd_lk_ready) && (sent_a_q || sqa_lk_ready);
  assign got_s = snd_ctx_valid && !m_wait;
  assign f_conn = got_c_q ? f_conn_q : sq_ctx;
  assign f_send = got_s_q ? f_send_q : snd_ctx;
  assign f_ack = got_a_q ? f_ack_q : sqa_ctx;
  assign share_lk_o = turn_ready;
  assign share_lk_qpn_o = turn_qpn;
  assign f_pace = share_q ? pace_i : f_pace_q;
  assign f_credit = share_q ? credit_i : f_credit_q;
  assign t_load = f_full_q && t_free && (got_c_q || sq_ctx_valid) && (got_s_q || got_s) &&
      (got_a_q || sqa_ctx_valid);

  always_ff @(posedge clk_i) begin
    if (turn_ready) begin
      f_full_q <= 1'b1;
      f_qpn_q <= turn_qpn;
      sent_c_q <= 1'b0;
      sent_s_q <= 1'b0;
      sent_h_q <= 1'b0;
      sent_a_q <= 1'b0;
    end else begin
      if (fire_c) sent_c_q <= 1'b1;
      if (fire_s) sent_s_q <= 1'b1;
      if (fire_h) sent_h_q <= 1'b1;
      if (fire_a) sent_a_q <= 1'b1;
      if (t_load) f_full_q <= 1'b0;
    end
    if (sq_ctx_valid) f_conn_q <= sq_ctx;
    if (got_s) f_send_q <= snd_ctx;
    if (sqa_ctx_valid) f_ack_q <= sqa_ctx;
    share_q <= turn_ready;
    if (share_q) begin
      f_pace_q <= pace_i;
      f_credit_q <= credit_i;
    end
    s_out_q <= (s_out_q && !got_s) || fire_s;
    got_c_q <= (got_c_q || sq_ctx_valid) && !t_load;
    got_s_q <= (got_s_q || got_s) && !t_load;
    got_a_q <= (got_a_q || sqa_ctx_valid) && !t_load;
    if (rst_i) begin
      f_full_q <= 1'b0;
      sent_c_q <= 1'b0;
      sent_s_q <= 1'b0;
      sent_h_q <= 1'b0;
      sent_a_q <= 1'b0;
      s_out_q <= 1'b0;
      got_c_q <= 1'b0;
      got_s_q <= 1'b0;
      got_a_q <= 1'b0;
      share_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------ the states
  typedef enum logic [3:0] {
    S_NEXT,   // take the next WQE of the turn
    S_KEYS,   // check the keys of its segments
    S_RING,   // inline data that is read from the ring: where it stands
    S_SEEK,   // a replay begins inside the message: find the segment
    S_PAGE,   // a packet from a paged region: where its pieces are
    S_PKT,    // a packet: header, and its inline data or first read
    S_PIECE,  // further reads of the packet
    S_LOP,    // LOCAL_INV, FAST_REG: mr_table does it
    S_LOCAL,  // no packet: failed, flushed, done locally
    S_END     // the turn is over
  } state_e;
  state_e s_q, s_d;

  // What a WQE is.
  localparam logic [2:0] K_WRITE = rnic_pkg::MSG_WRITE;
  localparam logic [2:0] K_SEND = rnic_pkg::MSG_SEND;
  localparam logic [2:0] K_READ = rnic_pkg::MSG_READ;
  localparam logic [2:0] K_ATOMIC = rnic_pkg::MSG_ATOMIC;
  localparam logic [2:0] K_LOCAL = rnic_pkg::MSG_LOCAL;

  // The turn.
  // t_taken_q: the last WQE of the list is taken
  logic               t_valid_q, t_taken_q, t_begun_q;
  logic [23:0]        t_qpn_q, t_una_q;
  logic [7:0]         t_rd_done_q;
  logic               t_inv_done_q;
  rnic_pkg::qp_conn_t c_q;
  rnic_pkg::qp_send_t w_q;                       // the send half while it changes
  logic [5:0]         t_pkts_q;
  rnic_pkg::pace_t    t_pace_q;
  logic signed [17:0] t_credit_q;                // bytes
  logic [16:0]        t_took_q;                  // bytes
  logic               t_full_q, far_q;           // the window is full; too many bytes in flight
  logic [5:0]         t_popped_q;
  logic               t_more_q;
  logic [1:0]         t_block_q;

  // The WQE.
  logic [15:0]        x_index_q, x_next_q;
  logic [2:0]         x_kind_q;
  logic               x_sig_q, x_sol_q, x_smp_q, x_imm_q, x_inv_q, x_swap_q, x_reg_q, x_inl_q;
  logic               x_arp_q;                   // a packet of an AllReduce; x_kind_q: WRITE
  logic               x_quiet_q;                 // it asks for no acknowledgement
  logic               x_ok_q;                    // without packets: it did not fail
  logic               x_pool_q;                  // msg_pool has it already
  logic               x_seek_q, x_paged_q, x_lop_q;
  logic [7:0]         x_status_q;
  logic [31:0]        x_rkey_q, x_immd_q, x_seek_off_q;
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
  logic         running, sqd_stop, rd_stop, inv_stop, win_stop, must_wait;
  logic         offered, take, fresh, pass_by;
  logic         long_inl, e_inl, flush, refuse, e_pool, e_rd, e_local, keyed;
  logic         e_write, e_send, e_read, e_atomic, e_nop, e_lop, e_imm, e_inv, e_arp;
  logic         rc, uc, ud;
  logic [7:0]   e_op, rd_out;
  logic [2:0]   e_segs, e_kind, mtu_code;
  logic [34:0]  e_total;
  logic [6*32-1:0] e_len;
  logic [11:0]  e_inl_len;
  logic [31:0]  e_skip;
  logic [23:0]  ahead;
  logic [15:0]  e_behind;
  logic [12:0]  mtu;
  assign mtu_code = (c_q.mtu == 3'd0 || c_q.mtu > 3'd5) ? 3'd1 : c_q.mtu;
  assign mtu = 13'd128 << mtu_code;
  assign rc = c_q.qtype == rnic_desc_pkg::QP_TYPE_RC;
  assign uc = c_q.qtype == rnic_desc_pkg::QP_TYPE_UC;
  assign ud = c_q.qtype == rnic_desc_pkg::QP_TYPE_UD;
  assign running = c_q.exists &&
                   (c_q.state == rnic_pkg::QPS_RTS || c_q.state == rnic_pkg::QPS_SQD ||
                                  c_q.state == rnic_pkg::QPS_SQE || c_q.state == rnic_pkg::QPS_ERR);
  assign flush = w_q.failed || c_q.state == rnic_pkg::QPS_ERR || c_q.state == rnic_pkg::QPS_SQE;
  assign fresh = !w_q.in_msg;
  // What has entered msg_pool has been started: in a replay it comes here again.
  assign e_behind = hd.index - w_q.pool_index;
  assign e_pool = e_behind[15];
  assign e_op = hd.wqe[71:64];
  assign e_inv = e_op == rnic_desc_pkg::WQE_OPCODE_SEND_INV;
  assign e_imm = e_op == rnic_desc_pkg::WQE_OPCODE_WRITE_IMM ||
                 e_op == rnic_desc_pkg::WQE_OPCODE_SEND_IMM;
  assign e_write = e_op == rnic_desc_pkg::WQE_OPCODE_WRITE ||
                   e_op == rnic_desc_pkg::WQE_OPCODE_WRITE_IMM;
  assign e_arp = ARP != 0 && e_op == rnic_desc_pkg::WQE_OPCODE_ARP;
  assign e_send = e_op == rnic_desc_pkg::WQE_OPCODE_SEND ||
                  e_op == rnic_desc_pkg::WQE_OPCODE_SEND_IMM || e_inv;
  assign e_read = e_op == rnic_desc_pkg::WQE_OPCODE_READ;
  assign e_atomic = e_op == rnic_desc_pkg::WQE_OPCODE_COMPARE_SWAP ||
                    e_op == rnic_desc_pkg::WQE_OPCODE_FETCH_ADD;
  assign e_nop = e_op == rnic_desc_pkg::WQE_OPCODE_NOP;
  assign e_lop = e_op == rnic_desc_pkg::WQE_OPCODE_LOCAL_INV ||
                 e_op == rnic_desc_pkg::WQE_OPCODE_FAST_REG;
  assign e_rd = e_read || e_atomic;
  assign e_local = e_nop || e_lop;
  always_comb begin
    e_kind = K_LOCAL;
    if (e_write || e_arp) e_kind = K_WRITE;
    if (e_send) e_kind = K_SEND;
    if (e_read) e_kind = K_READ;
    if (e_atomic) e_kind = K_ATOMIC;
  end
  assign e_inl = hd.wqe[75] && !e_rd;
  assign e_inl_len = hd.wqe[91:80];
  assign long_inl = e_inl && e_inl_len > 12'd96;
  assign e_segs = e_atomic ? 3'd1 : e_inl ? 3'd0 : hd.wqe[94:92];
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
  assign e_skip = {8'd0, w_q.skip} << (4'd7 + {1'b0, mtu_code});

  // What is refused without asking for keys.
  logic       e_known;                           // this service has the operation
  logic [7:0] e_status;
  assign e_known = e_nop || (rc && e_arp) || (e_send && (!e_inv || rc)) ||
                   (!ud && (e_write || e_lop)) ||
                   (rc && e_rd && !hd.wqe[75] && c_q.max_rd_atomic != 8'd0);
  always_comb begin
    refuse = 1'b1;
    e_status = rnic_desc_pkg::CQE_STATUS_LOC_QP_OP_ERR;
    if (flush) begin
      e_status = rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
    end else if (hd.bad) begin
      e_status = hd.status;
    end else if (e_known && !e_local) begin
      e_status = rnic_desc_pkg::CQE_STATUS_LOC_LEN_ERR;
      // A READ takes all its PSNs at once, and fewer than 2^23 may be in flight.
      refuse = e_total > 35'h0_8000_0000 || (e_atomic && e_len[31:0] != 32'd8) ||
               ((ud || e_arp) && e_total > {22'd0, mtu}) || (e_arp && e_total == 35'd0) ||
               (e_read && mtu_code == 3'd1 && e_total > 35'h0_7FFF_FF00) ||
               (fresh && w_q.skip != 24'd0 && e_total <= {3'd0, e_skip});
    end else begin
      refuse = !e_known;
    end
  end

  // What has to wait: until kicked, or (rarely) for another turn because 2^22 packets are in
  // flight.
  assign sqd_stop = c_q.state == rnic_pkg::QPS_SQD && fresh && !e_pool;
  assign rd_out = w_q.rd_issued - t_rd_done_q;
  assign rd_stop = fresh && !refuse &&
                   ((hd.wqe[74] && rd_out != 8'd0) || (e_rd && rd_out >= c_q.max_rd_atomic));
  assign inv_stop = w_q.inv_held && w_q.inv_turn != t_inv_done_q && !e_pool && !flush;
  assign must_wait = !running || sqd_stop || rd_stop || inv_stop;
  assign ahead = w_q.next_psn - t_una_q;
  assign win_stop = !flush && ahead[23:22] != 2'd0;
  // The QP failed in a replay: rx_completer flushes what msg_pool has, and its ring slots may be
  // written again. All of it is passed at once.
  assign pass_by = running && flush && e_pool &&
                   (hd.bad || hd.next_index != w_q.pool_index);
  assign offered = s_q == S_NEXT && t_valid_q && hd_valid && !i_wait_q;
  assign take = offered && !hd_empty && !must_wait && !win_stop && !pass_by;
  assign keyed = e_segs != 3'd0 && !e_local;

  // The key of the first segment is asked for at once.
  logic early;
  assign early = take && fresh && !refuse && keyed;

  // ------------------------------------------------------------------------------------------ keys
  logic [2:0]   k_at, g_seg_q;
  logic         k_fire, k_all, k_any_bad, g_ask;
  logic [31:0]  k_len, g_len;
  logic [63:0]  k_va;
  logic [127:0] k_seg;
  logic [31:0]  g_off_q;
  assign k_at = (s_q == S_PAGE) ? g_seg_q : k_req_q;
  assign k_seg = early ? hd.wqe[383:256] : x_body_q[k_at*128 +: 128];
  assign k_len = (s_q == S_PAGE) ? g_len : k_seg[63:32];
  assign k_va = (s_q == S_PAGE) ? k_seg[127:64] + {32'd0, g_off_q} : k_seg[127:64];
  assign mrq_valid = early || (s_q == S_KEYS && k_req_q < x_segs_q) || g_ask;
  always_comb begin
    mrq = '0;
    if (mrq_valid) begin
      mrq.key = k_seg[31:0];
      mrq.pd = c_q.pd;
      mrq.va = k_va;
      mrq.len = k_len;
      mrq.need_lwrite = early ? e_rd : x_kind_q == K_READ || x_kind_q == K_ATOMIC;
    end
  end
  assign k_fire = mrq_valid && mrq_ready;
  assign k_any_bad = k_bad_q || !mrs.ok || mrs.refused;
  assign k_all = mrs_valid && k_rsp_q + 3'd1 == x_segs_q;

  // -------------------------------------------------------------------------------------- a packet
  logic [12:0] pay, piece, p_rest_q, p_off_q;
  logic [7:0]  p_slot_q;
  logic [31:0] seg_len, seg_rest;
  logic        first, last, seg_done, pkt_ok, pkt_go, pkt_blocked, pkt_need_read, pkt_pages, ack;
  logic        pkt_ends, msg_ends, x_rd, known, enters, far, win_hold, class_hold;
  logic        txp_room, rd_room, td_room, lerr_room;
  logic        piece_go, read_go, seg_next;
  logic [31:0] left_after;
  logic [31:0] more_pkts;
  logic [23:0] psn_after, past_max, from_max;
  // paged: the pieces of the packet
  logic [63:0] g_addr[16];
  logic [12:0] g_size[16];
  logic        g_ready_q, g_wait_q;
  logic [3:0]  g_count_q, g_at_q, g_at;
  logic [12:0] g_left_q, g_piece;
  assign x_rd = x_kind_q == K_READ || x_kind_q == K_ATOMIC;
  assign pay = x_rd ? 13'd0 : (w_q.msg_left > {19'd0, mtu}) ? mtu : w_q.msg_left[12:0];
  assign first = !w_q.in_msg;
  assign known = x_pool_q || w_q.in_msg;
  assign enters = first && !x_pool_q;
  assign last = x_rd || w_q.msg_left <= {19'd0, mtu};
  assign left_after = x_rd ? 32'd0 : w_q.msg_left - {19'd0, pay};
  assign seg_len = x_len_q[w_q.seg*32 +: 32];
  assign seg_rest = seg_len - w_q.seg_off;
  assign seg_done = seg_rest == 32'd0;
  assign g_at = (s_q == S_PKT) ? 4'd0 : g_at_q;
  always_comb begin
    piece = (s_q == S_PKT) ? pay : p_rest_q;
    if (x_paged_q) piece = g_size[g_at];
    else if (seg_rest < {19'd0, piece}) piece = seg_rest[12:0];
  end
  assign pkt_need_read = !x_inl_q && pay != 13'd0;
  assign pkt_pages = s_q == S_PKT && x_paged_q && pkt_need_read && !g_ready_q;
  assign seg_next = !x_paged_q &&
                    ((s_q == S_PKT && pkt_need_read && seg_done) || (s_q == S_PIECE && seg_done));
  assign pkt_blocked = s_q == S_PKT && enters && !msg_push_ready;
  assign more_pkts = (w_q.msg_left - 32'd1) >> (4'd7 + {1'b0, mtu_code});
  assign far = s_q == S_PKT && x_kind_q == K_READ &&
               {1'b0, ahead} + {1'b0, more_pkts[23:0]} >= 25'h07F_FFFF && w_q.msg_left != 32'd0;
  assign win_hold = s_q == S_PKT && far_q && ahead != 24'd0;
  // Its class is paused or has its share of slots: the turn ends and comes again by itself.
  assign class_hold = s_q == S_PKT && hold_i;
  assign pkt_o = s_q == S_PKT;
  assign pkt_qpn_o = t_qpn_q;
  assign pkt_path_o = ud ? x_rkey_q[15:0] : c_q.path;
  assign pkt_ok = s_q == S_PKT && !seg_next && !pkt_pages && !far && !win_hold && !class_hold &&
                  txp_room &&
                  (!pkt_need_read || rd_room) &&
                  (!enters || msg_push_ready);
  assign pkt_go = pkt_ok && slot_valid;
  assign slot_ready = pkt_ok;
  assign piece_go = s_q == S_PIECE && !seg_next && rd_room;
  assign read_go = (pkt_go && pkt_need_read) || piece_go;
  assign pkt_ends = (pkt_go && (!pkt_need_read || piece == pay)) || (piece_go && piece == p_rest_q);
  assign msg_ends = pkt_ends && ((s_q == S_PKT) ? last : w_q.msg_left == 32'd0);
  assign ack = rc &&
      ((last && !x_quiet_q) ||
       (cfg_ack_req_every_i != 8'd0 && w_q.pkts + 8'd1 >= cfg_ack_req_every_i));
  assign psn_after = w_q.next_psn + 24'd1 +
      ((x_kind_q == K_READ && w_q.msg_left != 32'd0) ? more_pkts[23:0] : 24'd0);
  assign past_max = psn_after - w_q.max_psn;
  assign from_max = w_q.next_psn - w_q.max_psn;

  logic paged_ends;
  assign paged_ends = pkt_ends && x_paged_q && (s_q == S_PIECE || pkt_need_read);

  // The pieces of a packet from a paged region are all looked up before it takes a slot.
  logic [31:0] g_rest;
  logic        g_bad, g_got, g_next;
  assign g_rest = x_len_q[g_seg_q*32 +: 32] - g_off_q;
  assign g_len = (g_rest < {19'd0, g_left_q}) ? g_rest : {19'd0, g_left_q};
  assign g_next = s_q == S_PAGE && g_rest == 32'd0;
  assign g_ask = s_q == S_PAGE && g_rest != 32'd0 && !g_wait_q;
  assign g_piece = ({19'd0, mrs.room} < g_len) ? mrs.room : g_len[12:0];
  assign g_got = s_q == S_PAGE && g_wait_q && mrs_valid;
  assign g_bad = !mrs.ok || mrs.refused || mrs.room == 13'd0;
  always_ff @(posedge clk_i) begin
    if (s_q != S_PAGE) begin
      g_seg_q <= pkt_pages ? w_q.seg : g_seg_q;
      g_off_q <= pkt_pages ? w_q.seg_off : g_off_q;
      g_left_q <= pay;
      g_count_q <= '0;
      g_wait_q <= 1'b0;
      if (take || pkt_ends) g_ready_q <= 1'b0;
      if (read_go) g_at_q <= g_at + 4'd1;
    end else begin
      if (g_next) begin
        g_seg_q <= g_seg_q + 3'd1;
        g_off_q <= '0;
      end
      if (g_ask && k_fire) g_wait_q <= 1'b1;
      if (g_got) begin
        g_wait_q <= 1'b0;
        g_addr[g_count_q] <= mrs.iova;
        g_size[g_count_q] <= g_piece;
        g_count_q <= g_count_q + 4'd1;
        g_off_q <= g_off_q + {19'd0, g_piece};
        g_left_q <= g_left_q - g_piece;
        g_ready_q <= !g_bad && g_piece == g_left_q;
      end
    end
    if (rst_i) g_ready_q <= 1'b0;
  end

  // The quantum, and what the rate allows.
  logic [5:0]         pkts_now;
  logic [13:0]        cost;
  logic signed [17:0] credit_now;
  logic [16:0]        took_now;
  logic               spent, paced, local_go, local_msg, local_fails, wqe_ends, passes;
  assign cost = (s_q == S_PKT) ? {1'b0, pay} + AROUND : 14'd0;
  assign pkts_now = t_pkts_q + ((s_q == S_PKT) ? 6'd1 : (s_q == S_LOCAL) ? LOCAL_OPS : 6'd0);
  assign credit_now = t_credit_q - $signed({4'd0, cost});
  assign took_now = t_took_q + {3'd0, cost};
  assign paced = t_pace_q.limited && took_now >= {1'b0, t_pace_q.budget};
  assign spent = pkts_now >= OPS || credit_now <= 18'sd0 || paced;
  // Bytes in flight, counted a packet late: packets times what one of this QP has, about.
  logic [37:0] flying;
  assign flying = {16'd0, ahead[21:0]} * {24'd0, t_pace_q.bytes};
  always_ff @(posedge clk_i) begin
    far_q <= t_pace_q.limited && t_pace_q.window != 32'd0 && flying >= {6'd0, t_pace_q.window};
  end

  // -------------------------------------------------------------------------- WQEs without packets
  // In the middle of a message, and in a replay, msg_pool has it already: rx_completer flushes it,
  // or hears why it fails.
  assign local_msg = !known;
  assign local_fails = !x_ok_q && x_status_q != rnic_desc_pkg::CQE_STATUS_WR_FLUSH_ERR;
  assign passes = known && x_ok_q;
  assign local_go = s_q == S_LOCAL && (!local_msg || msg_push_ready) &&
                    (!local_fails || local_msg || lerr_room) &&
                    (!passes || passed_ready);
  assign passed_valid = local_go && passes;
  assign passed_qpn = t_qpn_q;
  assign wqe_ends = msg_ends || local_go;

  // The region is changed once, and only when the message can enter msg_pool. A LOCAL_INV enters it
  // later: its turn ends, and the QP waits until it has settled.
  logic l_sent_q, lop_room;
  assign lop_room = msg_push_ready && (x_reg_q || inv_ready);
  assign lop_valid = s_q == S_LOP && !l_sent_q && lop_room;
  assign inv_valid = s_q == S_LOP && lop_done_valid && lop_done_ok && !x_reg_q;
  assign inv_qpn = t_qpn_q;
  always_comb begin
    lop = '0;
    if (lop_valid) begin
      lop.op = x_reg_q ? rnic_pkg::LOP_FAST_REG : rnic_pkg::LOP_INVALIDATE;
      lop.key = x_reg_q ? x_rkey_q : x_immd_q;
      lop.pd = c_q.pd;
      if (x_reg_q) lop.desc = {x_body_q[255:0], x_immd_q, x_rkey_q, w_q.va, 128'd0};
    end
  end

  always_comb begin
    s_d = s_q;
    unique case (s_q)
      S_NEXT:
      if (offered) begin
        if (!take) s_d = S_END;
        else if (refuse || e_nop || (e_lop && (e_pool || w_q.inv_held))) s_d = S_LOCAL;
        else if (e_lop) s_d = S_LOP;
        else if (long_inl) s_d = S_RING;
        else if (!keyed) s_d = S_PKT;
        else s_d = S_KEYS;
      end
      S_KEYS: if (k_all) s_d = k_any_bad ? S_LOCAL : x_seek_q ? S_SEEK : S_PKT;
      S_RING: s_d = x_seek_q ? S_SEEK : S_PKT;
      S_SEEK: if (x_seek_off_q < seg_len || w_q.seg == 3'd5) s_d = S_PKT;
      S_PAGE:
      if (g_got && g_bad) s_d = S_LOCAL;
      else if (g_got && g_piece == g_left_q) s_d = S_PKT;
      S_PKT:
      if (pkt_blocked || far || win_hold || class_hold) s_d = S_END;
      else if (pkt_pages) s_d = S_PAGE;
      else if (msg_ends) s_d = (spent || t_taken_q) ? S_END : S_NEXT;
      else if (pkt_ends) s_d = spent ? S_END : S_PKT;
      else if (pkt_go) s_d = S_PIECE;
      S_PIECE:
      if (msg_ends) s_d = (spent || t_taken_q) ? S_END : S_NEXT;
      else if (pkt_ends) s_d = spent ? S_END : S_PKT;
      S_LOP:
      if (!l_sent_q && !lop_room) s_d = S_END;
      else if (lop_done_valid) s_d = inv_valid ? S_END : S_LOCAL;
      S_LOCAL:
      if (local_go) s_d = (spent || t_taken_q) ? S_END : S_NEXT;
      else if (!x_lop_q) s_d = S_END;
      default: if (td_room) s_d = S_NEXT;
    endcase
  end

  assign t_free = !t_valid_q || (s_q == S_END && td_room);
  assign hd_ready = take || (offered && hd_empty);
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
      t_una_q <= f_ack.una_psn;
      t_rd_done_q <= f_ack.rd_done;
      t_inv_done_q <= f_ack.inv_done;
      t_taken_q <= 1'b0;
      t_begun_q <= 1'b0;
      t_pkts_q <= '0;
      t_pace_q <= f_pace;
      t_credit_q <= $signed({2'd0, f_credit});
      t_took_q <= '0;
      t_full_q <= 1'b0;
      t_popped_q <= '0;
    end else begin
      if (s_q == S_END && td_room) t_valid_q <= 1'b0;
      if (offered) begin
        t_begun_q <= 1'b1;
        t_more_q <= !hd_empty;                // unless the WQE is done
        t_block_q <= (!hd_empty && must_wait) ? KICK : GO;
        if (!hd_empty && pass_by) begin
          t_block_q <= SKIP;
          w_q.in_msg <= 1'b0;
          w_q.skip <= '0;
          w_q.at_index <= w_q.pool_index;
        end
        if (take) t_taken_q <= hd_last;
        else if (hd_empty) t_taken_q <= 1'b1;
      end
      if (pkt_blocked ||
          ((s_q == S_LOCAL || s_q == S_LOP) && local_msg && !msg_push_ready)) begin
        t_block_q <= POOL;
      end
      if (inv_valid) begin
        t_block_q <= KICK;
        w_q.inv_held <= 1'b1;
        w_q.inv_turn <= !w_q.inv_turn;
      end
      if (wqe_ends) begin
        t_popped_q <= t_popped_q + 1'b1;
        t_more_q <= !t_taken_q;
        w_q.at_index <= x_next_q;
      end
      if (pkt_go || local_go) t_pkts_q <= pkts_now;
      if (pkt_go) begin
        t_credit_q <= credit_now;
        t_took_q <= took_now;
      end
      if (win_hold) t_full_q <= 1'b1;

      // The message.
      if (take && fresh) begin
        w_q.msg_left <= e_total[31:0] - e_skip;
        w_q.seg <= '0;
        w_q.seg_off <= '0;
        w_q.va <= hd.wqe[191:128] + {32'd0, e_skip};
      end
      if (s_q == S_SEEK) begin
        if (s_d == S_PKT) begin
          w_q.seg_off <= x_seek_off_q;
          w_q.in_msg <= 1'b1;
          w_q.skip <= '0;
        end else begin
          w_q.seg <= w_q.seg + 3'd1;
        end
      end
      if (pkt_go) begin
        w_q.next_psn <= psn_after;
        if (!past_max[23]) w_q.max_psn <= psn_after;
        if (enters) w_q.pool_index <= x_next_q;
        if (x_rd) w_q.rd_issued <= w_q.rd_issued + 8'd1;
        w_q.skip <= '0;
        w_q.in_msg <= !last;
        w_q.msg_left <= left_after;
        w_q.va <= w_q.va + {51'd0, pay};
        w_q.pkts <= ack ? 8'd0 : w_q.pkts + 8'd1;
      end
      if (paged_ends) begin
        w_q.seg <= g_seg_q;
        w_q.seg_off <= g_off_q;
      end else if (seg_next) begin
        w_q.seg <= w_q.seg + 3'd1;
        w_q.seg_off <= '0;
      end else if (read_go && !x_paged_q) begin
        w_q.seg_off <= w_q.seg_off + {19'd0, piece};
      end
      if (local_go) begin
        w_q.in_msg <= 1'b0;
        w_q.skip <= '0;
        if (local_msg) begin
          w_q.pool_index <= x_next_q;
          w_q.inv_held <= 1'b0;
        end
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
      x_kind_q <= e_kind;
      x_sig_q <= hd.wqe[72] || c_q.sq_sig_all;
      x_sol_q <= hd.wqe[73];
      x_smp_q <= hd.sampled;
      x_imm_q <= e_imm;
      x_arp_q <= e_arp;
      x_quiet_q <= e_arp && hd.wqe[78];
      x_inv_q <= e_inv;
      x_swap_q <= e_op == rnic_desc_pkg::WQE_OPCODE_COMPARE_SWAP;
      x_reg_q <= e_op == rnic_desc_pkg::WQE_OPCODE_FAST_REG;
      x_inl_q <= e_inl && !long_inl;
      x_ok_q <= !refuse && e_local;
      x_pool_q <= e_pool;
      x_seek_q <= fresh && w_q.skip != 24'd0 && !e_rd;
      x_seek_off_q <= e_skip;
      x_paged_q <= 1'b0;
      x_lop_q <= 1'b0;
      x_status_q <= e_status;
      x_rkey_q <= hd.wqe[223:192];
      x_immd_q <= {hd.wqe[231:224], hd.wqe[239:232], hd.wqe[247:240], hd.wqe[255:248]};
      if (e_inv || e_lop) x_immd_q <= hd.wqe[255:224];
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
        if (!mrs.flat && x_len_q[k_rsp_q*32 +: 32] != 32'd0) x_paged_q <= 1'b1;
        if (k_all && k_any_bad) x_status_q <= rnic_desc_pkg::CQE_STATUS_LOC_PROT_ERR;
      end
    end else if (s_q == S_RING) begin
      // Two pieces, if it wraps.
      x_iova_q[63:0] <= c_q.sq_base + {42'd0, ring_pos};
      x_iova_q[127:64] <= c_q.sq_base;
      x_len_q[31:0] <= ring_wraps ? {10'd0, ring_room} : x_total_q[31:0];
      x_len_q[63:32] <= ring_wraps ? x_total_q[31:0] - {10'd0, ring_room} : 32'd0;
    end else if (s_q == S_SEEK) begin
      x_seek_off_q <= x_seek_off_q - seg_len;
    end else if (g_got && g_bad) begin
      x_status_q <= rnic_desc_pkg::CQE_STATUS_LOC_PROT_ERR;
    end else if (s_q == S_LOP && lop_done_valid) begin
      x_lop_q <= 1'b1;
      x_ok_q <= lop_done_ok;
      x_status_q <= rnic_desc_pkg::CQE_STATUS_MW_BIND_ERR;
    end
    if (pkt_go) begin
      p_slot_q <= slot_id;
      p_rest_q <= pay - piece;
      p_off_q <= piece;
    end else if (piece_go) begin
      p_rest_q <= p_rest_q - piece;
      p_off_q <= p_off_q + piece;
    end
    if (s_q != S_LOP) l_sent_q <= 1'b0;
    else if (lop_valid && lop_ready) l_sent_q <= 1'b1;
  end

  // --------------------------------------------------------------------------------------- outputs
  rnic_pkg::tx_pkt_t pkt;
  logic [1:0] pos;
  logic [7:0] op_write, op_send;
  assign pos = {first, last};
  always_comb begin
    unique case (pos)
      2'b11: op_write = x_imm_q ? roce_pkg::OP_WRITE_ONLY_IMM : roce_pkg::OP_WRITE_ONLY;
      2'b10: op_write = roce_pkg::OP_WRITE_FIRST;
      2'b01: op_write = x_imm_q ? roce_pkg::OP_WRITE_LAST_IMM : roce_pkg::OP_WRITE_LAST;
      default: op_write = roce_pkg::OP_WRITE_MIDDLE;
    endcase
    unique case (pos)
      2'b11:
      op_send = x_inv_q ? roce_pkg::OP_SEND_ONLY_INV :
          x_imm_q ? roce_pkg::OP_SEND_ONLY_IMM : roce_pkg::OP_SEND_ONLY;
      2'b10: op_send = roce_pkg::OP_SEND_FIRST;
      2'b01:
      op_send = x_inv_q ? roce_pkg::OP_SEND_LAST_INV :
          x_imm_q ? roce_pkg::OP_SEND_LAST_IMM : roce_pkg::OP_SEND_LAST;
      default: op_send = roce_pkg::OP_SEND_MIDDLE;
    endcase
  end
  always_comb begin
    pkt = '0;
    if (s_q == S_PKT) begin  // quiet otherwise
      pkt.qpn = t_qpn_q;
      pkt.wqe_index = x_index_q;
      pkt.sampled = x_smp_q;
      pkt.path = c_q.path;
      unique case (x_kind_q)
        K_SEND: pkt.opcode = op_send;
        K_READ: pkt.opcode = roce_pkg::OP_READ_REQUEST;
        K_ATOMIC: pkt.opcode = x_swap_q ? roce_pkg::OP_COMPARE_SWAP : roce_pkg::OP_FETCH_ADD;
        default: pkt.opcode = op_write;
      endcase
      pkt.opcode[7:5] = ud ? 3'd3 : uc ? 3'd1 : 3'd0;
      if (x_arp_q) pkt.opcode = arp_pkg::OP_ARP;
      // It means nothing on a WRITE without immediate.
      pkt.se = last && x_sol_q && (x_kind_q == K_SEND || x_imm_q);
      pkt.ack_req = ack;
      pkt.notify = last && !rc;
      pkt.resend = from_max[23];
      pkt.pkey = c_q.pkey;
      pkt.dest_qpn = c_q.dest_qpn;
      pkt.psn = w_q.next_psn;
      pkt.payload_len = pay;
      pkt.va = w_q.va;
      pkt.rkey = x_rkey_q;
      pkt.dmalen = w_q.msg_left;
      pkt.imm = x_immd_q;
      pkt.qkey = c_q.qkey;
      if (ud) begin
        pkt.path = x_rkey_q[15:0];
        pkt.dest_qpn = w_q.va[55:32];
        if (!w_q.va[31]) pkt.qkey = w_q.va[31:0];
      end
      if (x_kind_q == K_ATOMIC) begin
        pkt.op0 = x_body_q[191:128];
        if (x_swap_q) pkt.op1 = x_body_q[255:192];
      end
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
      if (x_paged_q) rd.addr = g_addr[g_at];
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
  assign msg_push_valid = (pkt_go && enters) || (local_go && local_msg);
  assign msg_push_qpn = t_qpn_q;
  assign msg_push_list = x_body_q;
  always_comb begin
    msg_push = '0;
    if (s_q == S_PKT || s_q == S_LOCAL) begin
      msg_push.kind = x_kind_q;
      msg_push.signaled = x_sig_q;
      msg_push.sampled = x_smp_q;
      msg_push.wqe_index = x_index_q;
      msg_push.next_index = x_next_q;
      msg_push.first_psn = w_q.next_psn;
      msg_push.last_psn = w_q.next_psn + ((w_q.msg_left == 32'd0) ? 24'd0 : more_pkts[23:0]);
      msg_push.bytes = w_q.msg_left;
      msg_push.seg_cnt = x_rd ? x_segs_q : 3'd0;
    end
    if (s_q == S_LOCAL) begin
      msg_push.kind = x_ok_q ? rnic_pkg::MSG_LOCAL : rnic_pkg::MSG_FAILED;
      msg_push.status = x_ok_q ? 8'd0 : x_status_q;
      msg_push.last_psn = w_q.next_psn;
      msg_push.bytes = 32'd0;
      msg_push.seg_cnt = 3'd0;
    end
  end

  logic       td_level, lerr_level;
  stream_fifo_small #(.W(50), .DEPTH(1), .LATENCY(0)) u_turn_done (
      .clk_i,
      .rst_i,
      .in_valid (s_q == S_END),
      .in_ready (td_room),
      .in_data  ({t_qpn_q, t_more_q, t_block_q, t_popped_q, w_q.pool_index, t_full_q}),
      .out_valid(turn_done_valid),
      .out_ready(turn_done_ready),
      .out_data ({turn_done_qpn, turn_done_more, turn_done_blocked, turn_done_popped,
                  turn_done_index, turn_done_window}),
      .level_o  (td_level)
  );
  assign debt_o = s_q == S_END && td_room;
  assign debt_qpn_o = t_qpn_q;
  assign debt_value_o = (t_credit_q < 18'sd0) ? 13'(-t_credit_q) : 13'd0;
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

  // ------------------------------------------------------------- the send half, QP orders, replays
  // The half is written after each packet: the ACK of one may be back before a turn that waits for
  // slots is over, and rx_completer ignores what is not before next_psn.
  // An order waits until no turn is at work, so that ERR and CLEAR are the last word. A replay
  // waits for no turn, only for a free cycle of the ports: its own QP has none. RTS, RESUME and a
  // replay keep a part of the half, so they read it first.
  typedef enum logic [1:0] {M_IDLE, M_WAIT, M_HAVE} mend_e;
  mend_e              m_q;
  logic               m_rws_q, m_free, m_order, m_write, rwd_room, turn_wr;
  logic [23:0]        m_qpn_q;
  rnic_pkg::qp_send_t m_half_q, m_new;
  logic               order_idle, order_go, order_mend, went_q, rwd_level;
  always_ff @(posedge clk_i) begin
    went_q <= pkt_go || local_go;
    if (rst_i) went_q <= 1'b0;
  end
  assign turn_wr = (s_q == S_END && td_room) || went_q;
  assign hold = qpi_valid;
  assign order_idle = qpi_valid && !t_valid_q && !f_full_q && !begun && m_idle;
  assign order_mend = qpi.op == rnic_pkg::QPI_RTS || qpi.op == rnic_pkg::QPI_RESUME;
  assign m_idle = m_q == M_IDLE;
  assign m_free = m_idle && !s_out_q;  // no answer for a turn is under way
  assign m_order = order_idle && order_mend && !rws_valid;
  assign m_ask = (rws_valid && m_free) || m_order;
  assign m_qpn = rws_valid ? rws.qpn : qpi.qpn;
  assign m_wait = m_q == M_WAIT;
  assign m_write = m_q == M_HAVE && !turn_wr && (!m_rws_q || rwd_room);
  always_ff @(posedge clk_i) begin
    unique case (m_q)
      M_IDLE: if (m_ask && snd_lk_ready) m_q <= M_WAIT;
      M_WAIT: if (snd_ctx_valid) m_q <= M_HAVE;
      default: if (m_write) m_q <= M_IDLE;
    endcase
    if (m_q == M_IDLE) begin
      m_rws_q <= rws_valid;
      m_qpn_q <= m_qpn;
    end
    if (m_wait && snd_ctx_valid) m_half_q <= snd_ctx;
    if (rst_i) m_q <= M_IDLE;
  end
  always_comb begin
    m_new = '0;
    m_new.pool_index = m_half_q.pool_index;
    m_new.at_index = m_half_q.pool_index;
    m_new.next_psn = qpi.psn;
    m_new.max_psn = qpi.psn;
    if (!m_rws_q && qpi.op == rnic_pkg::QPI_RESUME) begin
      m_new = m_half_q;
      m_new.failed = 1'b0;
    end
    if (m_rws_q) begin
      m_new.failed = m_half_q.failed;
      m_new.max_psn = m_half_q.max_psn;
      m_new.inv_held = m_half_q.inv_held;
      m_new.inv_turn = m_half_q.inv_turn;
      m_new.rd_issued = rws.rd_done;
      m_new.next_psn = rws.none ? m_half_q.max_psn : rws.psn;
      if (!rws.none) begin
        m_new.at_index = rws.wqe_index;
        m_new.skip = rws.skip;
      end
    end
  end
  assign rws_ready = m_write && m_rws_q;
  assign order_go = order_idle && !order_mend && !rws_valid;
  assign qpi_ready = order_go || (m_write && !m_rws_q);
  always_comb begin
    snd_wr_valid = turn_wr;
    snd_wr_qpn = t_qpn_q;
    snd_wr = w_q;
    if (m_write) begin
      snd_wr_valid = 1'b1;
      snd_wr_qpn = m_qpn_q;
      snd_wr = m_new;
    end else if (order_go) begin
      snd_wr_valid = qpi.op == rnic_pkg::QPI_CLEAR;
      snd_wr_qpn = qpi.qpn;
      snd_wr = '0;
    end
  end
  stream_fifo_small #(.W(40), .DEPTH(1), .LATENCY(1)) u_rwd (
      .clk_i,
      .rst_i,
      .in_valid (rws_ready),
      .in_ready (rwd_room),
      .in_data  ({m_qpn_q, m_new.at_index}),
      .out_valid(rwd_valid),
      .out_ready(rwd_ready),
      .out_data ({rwd_qpn, rwd_index}),
      .level_o  (rwd_level)
  );

  // The ACK timer, when the half says what has been sent.
  logic [1:0]           arm_go_q;
  rnic_pkg::timer_set_t arm0_q, arm1_q;
  always_ff @(posedge clk_i) begin
    arm_go_q <= {arm_go_q[0], pkt_go && rc && c_q.timeout != 5'd0};
    if (pkt_go) arm0_q <= {t_qpn_q, 2'b00, c_q.timeout};
    if (arm_go_q[0]) arm1_q <= arm0_q;
    arm_valid <= arm_go_q[1];
    if (arm_go_q[1]) arm <= arm1_q;
    if (rst_i) begin
      arm_go_q <= '0;
      arm_valid <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------- counters and trace
  assign cnt_msgs_posted_o = pkt_go && enters;
  assign cnt_tx_requests_o = pkt_go;
  assign cnt_tx_resent_o = pkt_go && from_max[23];
  assign cnt_tx_rd_requests_o = pkt_go && x_rd;
  assign trc_valid_o = take && !t_begun_q;
  assign trc_o = {rnic_pkg::TRC_TURN, t_qpn_q, 16'd0, hd.index};
  assign trc_sampled_o = hd.sampled;
  assign trc2_valid_o = pkt_go && pkt_need_read;
  assign trc2_o = {rnic_pkg::TRC_PAY_READ, t_qpn_q, 8'd0, w_q.next_psn};
  assign trc2_sampled_o = x_smp_q;

  assign pin_o = {m_q != M_IDLE, t_valid_q, f_full_q, begun};
  assign pin_qpn_o = {m_qpn_q, t_qpn_q, f_qpn_q, turn_qpn};

  logic unused;
  assign unused = ^{c_q, hd, txp_level, rd_level, td_level, lerr_level, rwd_level,
                    more_pkts, mrs, f_ack, m_half_q, past_max, from_max, e_behind,
                    x_total_q, e_total};

  `RNIC_ASSERT(settle_has_room, !inv_valid || inv_ready)
  `RNIC_ASSERT(first_piece_is_something, !read_go || piece != 13'd0)
  `RNIC_ASSERT(segments_cover_message, !seg_next || w_q.seg < 3'd5)
  `RNIC_ASSERT(pages_cover_packet, !g_next || g_seg_q < 3'd5)
  `RNIC_ASSERT(pieces_fit, !g_got || g_count_q != 4'd15)
  `RNIC_ASSERT(replay_has_no_turn, !(rws_ready && ((t_valid_q && t_qpn_q == m_qpn_q) ||
                                                 (f_full_q && f_qpn_q == m_qpn_q))))
endmodule
