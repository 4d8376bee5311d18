// SPDX-License-Identifier: Apache-2.0
// Waits for the payload of each packet and sends packets on, whole payloads in order, lane 0 first.
//
// N_TXSLOT slots of 4096 bytes. Throughput: one beat per cycle, one packet of one beat per cycle.
// Latency: the last event a packet waits for (txp, inl, rdrsp) in cycle c gives out_valid in cycle
// c + 3. Packets of one flow leave in the order of txp; different flows overtake each other.
// A packet may start when its payload is complete, or when cfg_threshold_i bytes (0: never) are
// there in order; a started packet waits for data with out_valid low. A packet of a paused class
// does not start: the pause counts 2 cycles later, 3 at the output.
//
// Requests and responses of a QP (txp.response) are two flows: order and failure of one do not
// concern the other.
//
// A packet one of whose reads failed is not sent, or, if it has started, ends with out_abort. It is
// reported on terr (a response: rterr), and later packets of its flow are dropped until qpi says
// CLEAR (requests: or ERR). qpi CLEAR drops every packet of the QP that has not started, ERR and
// purge_i every request. A slot is free again when its last row has been read, or, dropped, when
// all its reads have returned.
//
// A packet with txp.notify is reported when its last beat was taken: a request on left, and only
// then; a response on rleft, also if it was dropped, exactly once.
`include "rnic_assert.svh"
module tx_buffer #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_TXSLOT = 64,    // power of two, 4 to 256
  parameter int unsigned N_QP = 1024
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  input  logic [12:0]            cfg_threshold_i,
  input  logic [7:0]             paused_i,      // classes of which no packet may start
  output logic                   gone_o,        // the slot of a packet is free again
  output logic [2:0]             gone_class_o,
  // tx_submit: a free slot (taken when slot_ready), then the packet; sq_engine: inline payload; in
  // any order
  output logic                   slot_valid,
  input  logic                   slot_ready,
  output logic [7:0]             slot_id,
  input  logic                   txp_valid,
  output logic                   txp_ready,     // always 1
  input  rnic_pkg::tx_pkt_t      txp,
  input  logic [2:0]             txp_class,
  input  logic [7:0]             txp_slot,
  input  logic                   inl_valid,
  output logic                   inl_ready,     // always 1
  input  logic [7:0]             inl_slot,
  input  logic [767:0]           inl_data,
  input  logic [6:0]             inl_len,       // the packet's whole payload
  // dma_master; responses of other clients are ignored
  input  logic                   rdrsp_valid,
  input  rnic_pkg::dma_rd_rsp_t  rdrsp,
  input  logic [DATA_W-1:0]      rdrsp_data,
  // cmd_unit
  input  logic                   qpi_valid,
  output logic                   qpi_ready,     // at once, but for a cycle in which a packet fails
  input  rnic_pkg::qp_init_t     qpi,
  // sq_engine: the QP is set back to where nothing after it has been acknowledged; all its requests
  // are here, and will be sent again
  input  logic                   purge_i,
  input  logic [23:0]            purge_qpn_i,
  // tx_packetizer
  output logic                   out_valid,
  input  logic                   out_ready,
  output logic [DATA_W-1:0]      out_data,      // lanes from out_cnt on are undefined
  output logic [7:0]             out_cnt,       // 0 only for a packet without payload
  output logic                   out_last,
  output logic                   out_abort,     // with out_last
  output rnic_pkg::tx_pkt_t      out_pkt,       // with every beat of the packet
  // rx_completer: a packet failed
  output logic                   terr_valid,
  input  logic                   terr_ready,
  output logic [23:0]            terr_qpn,
  output logic [15:0]            terr_index,
  output logic [7:0]             terr_status,
  output logic                   cnt_tx_dropped_o,
  // PAY_FIRST: first payload byte from DMA (left out if two come at once); TX_START: first beat on
  // its way; TX_DROP: it will not be sent
  output logic                   trc_valid_o,
  output logic [63:0]            trc_o,
  output logic                   trc_sampled_o,
  output logic                   trc2_valid_o,
  output logic [63:0]            trc2_o,
  output logic                   trc2_sampled_o,
  // rx_completer: a request with notify has left
  output logic                   left_valid,
  input  logic                   left_ready,
  output logic [23:0]            left_qpn,
  output logic [23:0]            left_psn,
  // resp_engine: a response with notify has left or was dropped; a response failed
  output logic                   rleft_valid,     // no ready
  output logic [23:0]            rleft_qpn,
  output logic                   rterr_valid,
  input  logic                   rterr_ready,
  output logic [23:0]            rterr_qpn,
  output logic [23:0]            rterr_psn,
  output logic [23:0]            rterr_msn
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned ROWS = 4096 / B;              // per slot
  localparam int unsigned RW = $clog2(ROWS);
  localparam int unsigned SW = $clog2(N_TXSLOT);
  localparam int unsigned QW = N_QP > 1 ? $clog2(N_QP) : 1;
  localparam int unsigned INL_ROWS = (96 + B - 1) / B;  // beats of the longest inline payload
  localparam int unsigned PKT_W = $bits(txp);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("tx_buffer: DATA_W must be 128, 256, 512 or 1024");
  end
  if (N_TXSLOT < 4 || N_TXSLOT > 256 || (N_TXSLOT & (N_TXSLOT - 1)) != 0) begin : gen_bad_slots
    $error("tx_buffer: N_TXSLOT must be a power of two, 4 to 256");
  end

  // ------------------------------------------------------------------------------- state of a slot
  logic [N_TXSLOT-1:0] submitted_q;  // txp came, the packet has not started
  logic [N_TXSLOT-1:0] known_q;      // txp came since the slot was handed out
  logic [N_TXSLOT-1:0] blocked_q;    // an earlier packet of its QP has not started
  logic [N_TXSLOT-1:0] has_succ_q;   // succ_mem is its successor in the QP
  logic [N_TXSLOT-1:0] complete_q;   // txp came, and all its reads have returned
  logic [N_TXSLOT-1:0] enough_q;     // txp came, and enough is there to start
  logic [N_TXSLOT-1:0] failed_q;     // a read failed
  logic [N_TXSLOT-1:0] kill_q;       // drop it silently
  logic [N_TXSLOT-1:0] inline_q;     // payload is in the inline memory
  // a TLP came before its turn: look behind the next that completes
  logic [N_TXSLOT-1:0] far_q;
  logic [N_TXSLOT-1:0] pend_q;       // the walker shall look
  logic [N_TXSLOT-1:0] paid_q;       // PAY_FIRST is out
  logic [N_TXSLOT-1:0] sampled_q;
  logic [N_TXSLOT-1:0] resp_q;       // a response
  logic [N_TXSLOT-1:0] notify_q;
  logic [N_TXSLOT-1:0] held_q;       // its class is paused
  logic [2:0]          class_mem [N_TXSLOT];
  logic [12:0]         len_mem   [N_TXSLOT];
  logic [12:0]         recv_mem  [N_TXSLOT];  // bytes that came or were reported lost
  logic [12:0]         ino_mem   [N_TXSLOT];  // bytes there in order
  logic [5:0]          next_mem  [N_TXSLOT];  // the TLP that continues them
  logic [63:0]         seen_mem  [N_TXSLOT];  // TLPs of which prog_mem tells
  logic [23:0]         qpn_mem   [N_TXSLOT];
  logic [15:0]         index_mem [N_TXSLOT];
  logic [23:0]         psn_mem   [N_TXSLOT];
  logic [23:0]         msn_mem   [N_TXSLOT];
  logic [7:0]          status_mem[N_TXSLOT];
  logic [SW-1:0]       succ_mem  [N_TXSLOT];
  logic [13:0]         prog_mem  [N_TXSLOT*64];  // per slot and TLP: complete, end of what came
  // per flow {response, QP}: slot of its latest packet (checked before use)
  logic [SW-1:0]       last_mem  [2**(QW+1)];
  logic [2**QW-1:0]    dead_req_q;            // a packet failed, CLEAR or ERR has not come yet
  logic [2**QW-1:0]    dead_rsp_q;            // likewise, CLEAR

  // ------------------------------------------------------------------------------- cycle 0: events
  logic          slot_fire, txp_fire, inl_fire, rsp_fire, rsp_next, rsp_keep;
  logic [SW-1:0] new_s, txp_s, inl_s, rsp_s;
  logic [12:0]   rsp_end;

  assign new_s     = slot_id[SW-1:0];
  assign txp_s     = txp_slot[SW-1:0];
  assign inl_s     = inl_slot[SW-1:0];
  assign rsp_s     = rdrsp.slot[SW-1:0];
  assign txp_ready = 1'b1;
  assign inl_ready = 1'b1;
  assign slot_fire = slot_valid && slot_ready;
  assign txp_fire  = txp_valid;
  assign inl_fire  = inl_valid;
  assign rsp_fire  = rdrsp_valid && rdrsp.client == rnic_pkg::RD_PAYLOAD;
  assign rsp_next  = rsp_fire && !rdrsp.err && rdrsp.tlp == next_mem[rsp_s];
  assign rsp_keep  = rsp_fire && !rdrsp.err && rdrsp.tlp != next_mem[rsp_s];
  assign rsp_end   = rdrsp.dst_off + 13'(rdrsp.cnt);

  // Order within a flow: the latest packet of the flow, if it is still here.
  logic [QW:0]   txp_q;
  logic [SW-1:0] prev_s;
  logic          prev_here, fail_fire, drop_qp, sel_fire, order_fire;
  logic [SW-1:0] sel;
  logic [23:0]   fail_qpn, drop_qpn;
  logic          fail_resp, order_clear, drop_resp;

  assign txp_q      = {txp.response, txp.qpn[QW-1:0]};
  assign prev_s     = last_mem[txp_q];
  assign prev_here  = submitted_q[prev_s] && qpn_mem[prev_s] == txp.qpn &&
                      resp_q[prev_s] == txp.response && !(sel_fire && sel == prev_s);
  assign qpi_ready  = !fail_fire;
  assign order_fire = qpi_valid && qpi_ready &&
                      (qpi.op == rnic_pkg::QPI_CLEAR || qpi.op == rnic_pkg::QPI_ERR);
  assign order_clear = order_fire && qpi.op == rnic_pkg::QPI_CLEAR;
  assign drop_resp  = fail_fire && fail_resp;
  assign drop_qp    = fail_fire || order_fire;
  assign drop_qpn   = fail_fire ? fail_qpn : qpi.qpn;

  // The walker follows TLPs that came before their turn.
  logic [N_TXSLOT-1:0] walk_gnt;
  logic [SW-1:0]       walk_s;
  logic                walk_any, walk_fire, walk_seen;
  logic [13:0]         walk_prog;
  assign walk_gnt  = pend_q & (~pend_q + 1'b1);
  assign walk_any  = pend_q != '0;
  assign walk_fire = walk_any && !(rsp_fire && rsp_s == walk_s);
  assign walk_seen = seen_mem[walk_s][next_mem[walk_s]];
  assign walk_prog = prog_mem[{walk_s, next_mem[walk_s]}];
  for (genvar b = 0; b < SW; b++) begin : gen_walk_index
    localparam logic [N_TXSLOT-1:0] M = N_TXSLOT'({(512 >> (b + 1)) {{(1 << b) {1'b1}},
        {(1 << b) {1'b0}}}});
    assign walk_s[b] = (walk_gnt & M) != '0;
  end

  always_ff @(posedge clk_i) begin
    if (txp_fire) begin
      len_mem[txp_s]   <= txp.payload_len;
      qpn_mem[txp_s]   <= txp.qpn;
      index_mem[txp_s] <= txp.wqe_index;
      psn_mem[txp_s]   <= txp.psn;
      msn_mem[txp_s]   <= txp.msn;
      class_mem[txp_s] <= txp_class;
      last_mem[txp_q]  <= txp_s;
      if (prev_here) succ_mem[prev_s] <= txp_s;
    end
    if (rsp_fire) begin
      recv_mem[rsp_s] <= recv_mem[rsp_s] + 13'(rdrsp.cnt) + rdrsp.lost;
      if (rdrsp.err && !failed_q[rsp_s]) status_mem[rsp_s] <= rdrsp.status;
    end
    if (rsp_next) begin
      ino_mem[rsp_s] <= rsp_end;
      if (rdrsp.tlp_last) next_mem[rsp_s] <= rdrsp.tlp + 6'd1;
    end
    if (rsp_keep) begin
      prog_mem[{rsp_s, rdrsp.tlp}] <= {rdrsp.tlp_last, rsp_end};
      seen_mem[rsp_s][rdrsp.tlp]   <= 1'b1;
    end
    if (walk_fire && walk_seen) begin
      if (walk_prog[12:0] > ino_mem[walk_s]) ino_mem[walk_s] <= walk_prog[12:0];
      if (walk_prog[13]) next_mem[walk_s] <= next_mem[walk_s] + 6'd1;
    end
    // Behind them, so that the walker cannot touch a slot that is handed out.
    if (slot_fire) begin
      recv_mem[new_s] <= 13'd0;
      ino_mem[new_s]  <= 13'd0;
      next_mem[new_s] <= 6'd0;
      seen_mem[new_s] <= 64'd0;
    end
    // The slot may have been handed out in this very cycle.
    if (inl_fire) recv_mem[inl_s] <= {6'd0, inl_len};
  end

  // ------------------------------------------------------------------- cycle 1: is it complete now
  // One check for each kind of event; the order of the events does not matter.
  logic          chk_txp_q, chk_inl_q, chk_rsp_q, chk_walk_q;
  logic [SW-1:0] chk_txp_s_q, chk_inl_s_q, chk_rsp_s_q, chk_walk_s_q;
  logic [12:0]   threshold_q;     // 0: off; else at least one beat
  logic          pay_rsp, pay_txp;
  logic [SW-1:0] pay_s;           // of which PAY_FIRST tells
  logic          all_txp, all_inl, all_rsp, thr_txp, thr_rsp, thr_walk;

  assign all_txp  = chk_txp_q && recv_mem[chk_txp_s_q] == len_mem[chk_txp_s_q];
  assign all_inl  = chk_inl_q && known_q[chk_inl_s_q];
  assign all_rsp  = chk_rsp_q && known_q[chk_rsp_s_q] &&
      recv_mem[chk_rsp_s_q] == len_mem[chk_rsp_s_q];
  assign thr_txp  = chk_txp_q && threshold_q != 13'd0 && ino_mem[chk_txp_s_q] >= threshold_q;
  assign thr_rsp  = chk_rsp_q && known_q[chk_rsp_s_q] && threshold_q != 13'd0 &&
                    ino_mem[chk_rsp_s_q] >= threshold_q;
  assign thr_walk = chk_walk_q && known_q[chk_walk_s_q] && threshold_q != 13'd0 &&
                    ino_mem[chk_walk_s_q] >= threshold_q;

  always_ff @(posedge clk_i) begin
    threshold_q  <= cfg_threshold_i == 13'd0 ? 13'd0 : cfg_threshold_i < 13'(B) ? 13'(B) :
        cfg_threshold_i;
    chk_txp_q    <= txp_fire;
    chk_inl_q    <= inl_fire;
    chk_rsp_q    <= rsp_fire;
    chk_walk_q   <= walk_fire && walk_seen;
    chk_txp_s_q  <= txp_s;
    chk_inl_s_q  <= inl_s;
    chk_rsp_s_q  <= rsp_s;
    chk_walk_s_q <= walk_s;
    if (rst_i) begin
      chk_txp_q  <= 1'b0;
      chk_inl_q  <= 1'b0;
      chk_rsp_q  <= 1'b0;
      chk_walk_q <= 1'b0;
    end
  end

  // ----------------------------------------------------------- cycle 2: choose, read the first row
  // Round robin over packets that may start, and over those to drop whose reads have all returned.
  logic [N_TXSLOT-1:0] able, ahead, from, gnt, mask_q;
  logic                cur_valid_q;      // a packet is being read
  logic [SW-1:0]       cur_s_q;
  logic [RW-1:0]       cur_row_q;        // next row to read
  logic [12:0]         cur_len_q;
  logic                cur_inline_q;
  logic                cur_quiet_q;      // CLEAR or ERR came since it started: report no failure
  logic                out_room, sel_any, sel_drop, start, more, drop, one_row, last_row, cur_here,
      rd, finish;
  logic [SW-1:0]       rd_s;
  logic [RW-1:0]       rd_row;
  logic [12:0]         rd_len, rd_left, row_start;
  logic                rd_inline, rd_last, rd_fail;
  logic                gone_q;      // a dropped response waits for its turn on rleft
  logic                left_room;   // for the notice of a request

  assign able  = submitted_q & ~blocked_q &
                 ((complete_q & (failed_q | kill_q)) |
                  ((complete_q | enough_q) & ~failed_q & ~kill_q & ~held_q));
  assign ahead = able & mask_q;
  assign from  = ahead != '0 ? ahead : able;
  assign gnt   = from & (~from + 1'b1);
  for (genvar b = 0; b < SW; b++) begin : gen_sel_index
    localparam logic [N_TXSLOT-1:0] M = N_TXSLOT'({(512 >> (b + 1)) {{(1 << b) {1'b1}},
        {(1 << b) {1'b0}}}});
    assign sel[b] = (gnt & M) != '0;
  end

  assign sel_any  = able != '0 && !cur_valid_q;
  assign sel_drop = failed_q[sel] || kill_q[sel];
  assign out_room = !out_valid || out_ready;
  assign start    = sel_any && !sel_drop && out_room &&
                    (left_room || !notify_q[sel] || resp_q[sel]);
  // One report at a time; a packet that fails silently needs none. A dropped response waits for the
  // notice of the one before it.
  assign drop     = sel_any && sel_drop && !(resp_q[sel] && gone_q) &&
                    (kill_q[sel] || !(resp_q[sel] ? rterr_valid : terr_valid));
  assign sel_fire = start || drop;

  assign rd_s      = cur_valid_q ? cur_s_q : sel;
  assign rd_row    = cur_valid_q ? cur_row_q : '0;
  assign rd_len    = cur_valid_q ? cur_len_q : len_mem[sel];
  assign rd_inline = cur_valid_q ? cur_inline_q : inline_q[sel];
  assign rd_left   = rd_len - {1'b0, rd_row, {LB{1'b0}}};
  assign one_row   = rd_len <= 13'(B);
  assign last_row  = rd_left <= 13'(B);
  assign rd_last   = cur_valid_q ? last_row : one_row;
  assign row_start = {1'b0, cur_row_q, {LB{1'b0}}};
  assign cur_here  = complete_q[cur_s_q] ||
                     (!last_row && ino_mem[cur_s_q] >= row_start + 13'(B));
  assign more      = cur_valid_q && out_room && cur_here &&
                     !(last_row && failed_q[cur_s_q] && !cur_quiet_q &&
                       (resp_q[cur_s_q] ? rterr_valid : terr_valid));
  assign rd        = start || more;
  assign finish    = rd && rd_last;
  assign rd_fail   = more && last_row && failed_q[cur_s_q];
  assign fail_fire = (rd_fail && !cur_quiet_q) || (drop && !kill_q[sel]);
  assign fail_qpn  = qpn_mem[rd_s];
  assign fail_resp = resp_q[rd_s];

  logic [$clog2(N_TXSLOT+1)-1:0] unused_count;
  free_list #(.N(N_TXSLOT)) u_free (
    .clk_i,
    .rst_i,
    .alloc_valid (slot_valid),
    .alloc_ready (slot_ready),
    .alloc_id    (slot_id[SW-1:0]),
    .free_valid_i(finish || drop),
    .free_id_i   (rd_s),
    .count_o     (unused_count)
  );
  if (SW < 8) begin : gen_slot_id
    assign slot_id[7:SW] = '0;
  end

  always_ff @(posedge clk_i) begin
    if (sel_fire) mask_q <= ~(gnt | (gnt - 1'b1));
    if (start) begin
      cur_valid_q  <= !one_row;
      cur_s_q      <= sel;
      cur_len_q    <= rd_len;
      cur_inline_q <= rd_inline;
      cur_row_q    <= RW'(1);
    end
    if (order_fire && qpi.qpn == qpn_mem[rd_s] && (order_clear || !resp_q[rd_s])) begin
      cur_quiet_q <= 1'b1;
    end else if (start) cur_quiet_q <= 1'b0;
    if (more) begin
      cur_row_q <= cur_row_q + RW'(1);
      if (last_row) cur_valid_q <= 1'b0;
    end
    if (rst_i) begin
      cur_valid_q <= 1'b0;
      mask_q      <= '1;
    end
  end

  assign gone_o = finish || drop;
  assign gone_class_o = class_mem[rd_s];
  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < N_TXSLOT; s++) held_q[s] <= paused_i[class_mem[s]];
  end

  // Bits per slot. Later statements win: a slot that is handed out has no past.
  always_ff @(posedge clk_i) begin
    if (all_txp) complete_q[chk_txp_s_q] <= 1'b1;
    if (all_inl) complete_q[chk_inl_s_q] <= 1'b1;
    if (all_rsp) complete_q[chk_rsp_s_q] <= 1'b1;
    if (thr_txp) enough_q[chk_txp_s_q] <= 1'b1;
    if (thr_rsp) enough_q[chk_rsp_s_q] <= 1'b1;
    if (thr_walk) enough_q[chk_walk_s_q] <= 1'b1;

    if (rsp_fire && rdrsp.err) failed_q[rsp_s] <= 1'b1;
    if (rsp_keep) far_q[rsp_s] <= 1'b1;
    if (walk_fire && !(walk_seen && walk_prog[13])) pend_q[walk_s] <= 1'b0;
    if (rsp_next && rdrsp.tlp_last && far_q[rsp_s]) pend_q[rsp_s] <= 1'b1;
    if (trc_valid_o) paid_q[pay_s] <= 1'b1;

    if (sel_fire) begin
      submitted_q[sel] <= 1'b0;
      if (has_succ_q[sel]) blocked_q[succ_mem[sel]] <= 1'b0;
    end
    if (drop_qp) begin
      for (int unsigned s = 0; s < N_TXSLOT; s++) begin
        if (submitted_q[s] && qpn_mem[s] == drop_qpn &&
            (order_clear || resp_q[s] == drop_resp)) begin
          kill_q[s] <= 1'b1;
        end
      end
    end
    if (purge_i) begin
      for (int unsigned s = 0; s < N_TXSLOT; s++) begin
        if (submitted_q[s] && qpn_mem[s] == purge_qpn_i && !resp_q[s]) kill_q[s] <= 1'b1;
      end
    end
    if (slot_fire) begin
      known_q[new_s]     <= 1'b0;
      complete_q[new_s]  <= 1'b0;
      enough_q[new_s]    <= 1'b0;
      failed_q[new_s]    <= 1'b0;
      inline_q[new_s]    <= 1'b0;
      far_q[new_s]       <= 1'b0;
      pend_q[new_s]      <= 1'b0;
      paid_q[new_s]      <= 1'b0;
    end
    // The slot may have been handed out in this very cycle.
    if (inl_fire) inline_q[inl_s] <= 1'b1;
    if (txp_fire) begin
      submitted_q[txp_s] <= 1'b1;
      known_q[txp_s]     <= 1'b1;
      blocked_q[txp_s]   <= prev_here;
      has_succ_q[txp_s]  <= 1'b0;
      sampled_q[txp_s]   <= txp.sampled;
      resp_q[txp_s]      <= txp.response;
      notify_q[txp_s]    <= txp.notify;
      kill_q[txp_s]      <= (txp.response ? dead_rsp_q[txp_q[QW-1:0]] :
                             dead_req_q[txp_q[QW-1:0]]) ||
                            (drop_qp && drop_qpn == txp.qpn &&
                             (order_clear || txp.response == drop_resp));
      if (prev_here) has_succ_q[prev_s] <= 1'b1;
    end
    if (fail_fire && !fail_resp) dead_req_q[fail_qpn[QW-1:0]] <= 1'b1;
    if (fail_fire && fail_resp) dead_rsp_q[fail_qpn[QW-1:0]] <= 1'b1;
    if (order_fire) dead_req_q[qpi.qpn[QW-1:0]] <= 1'b0;
    if (order_clear) dead_rsp_q[qpi.qpn[QW-1:0]] <= 1'b0;
    if (rst_i) begin
      submitted_q <= '0;
      known_q     <= '0;
      complete_q  <= '0;
      enough_q    <= '0;
      pend_q      <= '0;
      dead_req_q  <= '0;
      dead_rsp_q  <= '0;
    end
  end

  // -------------------------------------------------------------------------------------- memories
  logic [DATA_W-1:0] bank0, bank1;
  logic [767:0]      inl_row;
  logic [PKT_W-1:0]  pkt_row;
  logic [RW-1:0]     wr_row;
  logic [RW:0]       wr_row_up;
  logic [8:0]        wr_end;      // behind the last byte, counted from lane 0 of the first row
  logic              wr_good, wr_wraps;
  logic [7:0]        head_from, head_to, tail_to;
  logic              rd_bank;

  assign wr_good   = rsp_fire && !rdrsp.err;
  assign wr_row    = rdrsp.dst_off[LB+:RW];
  assign wr_row_up = {1'b0, wr_row} + (RW + 1)'(1);
  assign head_from = {{(8 - LB) {1'b0}}, rdrsp.dst_off[LB-1:0]};
  assign wr_end    = {1'b0, head_from} + {1'b0, rdrsp.cnt};
  assign wr_wraps  = wr_end > 9'(B);
  assign head_to   = wr_wraps ? 8'(B) : wr_end[7:0];
  assign tail_to   = 8'(wr_end - 9'(B));
  assign rd_bank   = rd_row[0];

  // Even rows in bank 0, odd rows in bank 1: the two rows that a beat touches are in different
  // banks.
  tx_bank #(.DATA_W(DATA_W), .DEPTH(N_TXSLOT * ROWS / 2)) u_bank0 (
    .clk_i,
    .wr_en_i  (wr_good && (!wr_row[0] || wr_wraps)),
    .wr_addr_i({rsp_s, wr_row[0] ? wr_row_up[RW-1:1] : wr_row[RW-1:1]}),
    .wr_data_i(rdrsp_data),
    .wr_from_i(wr_row[0] ? 8'd0 : head_from),
    .wr_to_i  (wr_row[0] ? tail_to : head_to),
    .rd_en_i  (rd && !rd_inline && !rd_bank),
    .rd_addr_i({rd_s, rd_row[RW-1:1]}),
    .rd_data_o(bank0)
  );
  tx_bank #(.DATA_W(DATA_W), .DEPTH(N_TXSLOT * ROWS / 2)) u_bank1 (
    .clk_i,
    .wr_en_i  (wr_good && (wr_row[0] || wr_wraps)),
    .wr_addr_i({rsp_s, wr_row[RW-1:1]}),
    .wr_data_i(rdrsp_data),
    .wr_from_i(wr_row[0] ? head_from : 8'd0),
    .wr_to_i  (wr_row[0] ? head_to : tail_to),
    .rd_en_i  (rd && !rd_inline && rd_bank),
    .rd_addr_i({rd_s, rd_row[RW-1:1]}),
    .rd_data_o(bank1)
  );
  ram_sdp #(.W(768), .DEPTH(N_TXSLOT)) u_inline (
    .clk_i,
    .wr_en_i  (inl_fire),
    .wr_addr_i(inl_s),
    .wr_data_i(inl_data),
    .rd_en_i  (start && rd_inline),
    .rd_addr_i(sel),
    .rd_data_o(inl_row)
  );
  ram_sdp #(.W(PKT_W), .DEPTH(N_TXSLOT)) u_packets (
    .clk_i,
    .wr_en_i  (txp_fire),
    .wr_addr_i(txp_s),
    .wr_data_i(txp),
    .rd_en_i  (start),
    .rd_addr_i(sel),
    .rd_data_o(pkt_row)
  );

  // ------------------------------------------------------------------------------- cycle 3: output
  logic       out_valid_q, out_inline_q, out_bank_q, out_last_q, out_abort_q;
  logic [7:0] out_cnt_q;
  logic [2:0] out_row_q;
  logic [INL_ROWS*DATA_W-1:0] inl_beats;
  logic [DATA_W-1:0]          inl_beat;

  always_ff @(posedge clk_i) begin
    if (rd) begin
      out_inline_q <= rd_inline;
      out_bank_q   <= rd_bank;
      out_last_q   <= rd_last;
      out_abort_q  <= rd_fail;
      out_cnt_q    <= rd_last ? 8'(rd_left) : 8'(B);
      out_row_q    <= 3'(rd_row);
    end
    if (out_room) out_valid_q <= rd;
    if (rst_i) out_valid_q <= 1'b0;
  end

  assign inl_beats = (INL_ROWS * DATA_W)'(inl_row);
  if (INL_ROWS == 1) begin : gen_one_inline_beat
    assign inl_beat = inl_beats;
  end else begin : gen_inline_beats
    assign inl_beat = inl_beats[out_row_q*DATA_W+:DATA_W];
  end
  always_comb begin
    out_data = '0;
    if (out_valid_q) out_data = out_inline_q ? inl_beat : out_bank_q ? bank1 : bank0;
  end
  assign out_valid = out_valid_q;
  assign out_cnt   = out_cnt_q;
  assign out_last  = out_last_q;
  assign out_abort = out_abort_q;
  assign out_pkt   = pkt_row;

  // --------------------------------------------------------------------------------- report, trace
  always_ff @(posedge clk_i) begin
    if (fail_fire && !fail_resp) begin
      terr_valid  <= 1'b1;
      terr_qpn    <= fail_qpn;
      terr_index  <= index_mem[rd_s];
      terr_status <= status_mem[rd_s];
    end else if (terr_ready) begin
      terr_valid <= 1'b0;
    end
    if (fail_fire && fail_resp) begin
      rterr_valid <= 1'b1;
      rterr_qpn   <= fail_qpn;
      rterr_psn   <= psn_mem[rd_s];
      rterr_msn   <= msn_mem[rd_s];
    end else if (rterr_ready) begin
      rterr_valid <= 1'b0;
    end
    if (rst_i) begin
      terr_valid  <= 1'b0;
      rterr_valid <= 1'b0;
    end
  end

  // Notices.
  logic        out_end, left_put, left_in_ready;
  logic [23:0] gone_qpn_q;
  logic [4:0]  left_level;
  assign out_end   = out_valid && out_ready && out_last && out_pkt.notify;
  assign left_put  = out_end && !out_pkt.response && !out_abort;
  // One packet in the output and one that starts now come on top of those that wait.
  assign left_room = left_level < 5'd14;
  stream_fifo #(.W(48), .DEPTH(16), .OUT_REG(0)) u_left (
    .clk_i,
    .rst_i,
    .in_valid (left_put),
    .in_ready (left_in_ready),
    .in_data  ({out_pkt.qpn, out_pkt.psn}),
    .out_valid(left_valid),
    .out_ready(left_ready),
    .out_data ({left_qpn, left_psn}),
    .level_o  (left_level)
  );
  always_ff @(posedge clk_i) begin
    rleft_valid <= (out_end && out_pkt.response) || gone_q;
    rleft_qpn   <= (out_end && out_pkt.response) ? out_pkt.qpn : gone_qpn_q;
    if (drop && resp_q[sel] && notify_q[sel]) begin
      gone_q     <= 1'b1;
      gone_qpn_q <= qpn_mem[sel];
    end else if (!(out_end && out_pkt.response)) begin
      gone_q <= 1'b0;
    end
    if (rst_i) begin
      rleft_valid <= 1'b0;
      gone_q      <= 1'b0;
    end
  end

  assign cnt_tx_dropped_o = drop;

  // The packet's description may come after its first data.
  assign pay_rsp        = chk_rsp_q && known_q[chk_rsp_s_q] && !paid_q[chk_rsp_s_q];
  assign pay_txp        = chk_txp_q && !inline_q[chk_txp_s_q] && recv_mem[chk_txp_s_q] != 13'd0;
  assign pay_s          = pay_rsp ? chk_rsp_s_q : chk_txp_s_q;
  assign trc_valid_o    = pay_rsp || pay_txp;
  assign trc_o          = {rnic_pkg::TRC_PAY_FIRST, qpn_mem[pay_s], 8'd0, psn_mem[pay_s]};
  assign trc_sampled_o  = sampled_q[pay_s];
  assign trc2_valid_o   = sel_fire;
  assign trc2_o         = {start ? rnic_pkg::TRC_TX_START : rnic_pkg::TRC_TX_DROP, qpn_mem[sel],
                           8'd0, psn_mem[sel]};
  assign trc2_sampled_o = sampled_q[sel];

  logic unused;
  assign unused = ^{txp_slot, inl_slot, rdrsp.slot, qpi, unused_count, wr_row_up, out_row_q};

  // ---------------------------------------------------------------------------------------- checks
  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_cnt, out_last, out_abort, out_pkt})
  `RNIC_STREAM_HOLD(terr_valid, terr_ready, {terr_qpn, terr_index, terr_status})
  `RNIC_STREAM_HOLD(rterr_valid, rterr_ready, {rterr_qpn, rterr_psn, rterr_msn})
  `RNIC_ASSERT(notice_room, !left_put || left_in_ready)
  `RNIC_ASSERT(purge_after_submit, !(purge_i && txp_fire && !txp.response &&
                                     txp.qpn == purge_qpn_i))
  `RNIC_ASSERT(submitted_once, !(txp_fire && submitted_q[txp_s]))
  `RNIC_ASSERT(read_in_range, !rsp_fire || rdrsp.err || (rsp_end <= 13'd4096 && rdrsp.cnt <= 8'(B)))
  `RNIC_ASSERT(payload_in_range, !txp_fire || txp.payload_len <= 13'd4096)
endmodule
