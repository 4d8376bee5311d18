// SPDX-License-Identifier: Apache-2.0
// Joins the payload of each received packet with what rx_responder or rx_completer decided about
// it: writes it through dma_master, in one piece or several, or discards it. The completion goes on
// as soon as the write request of its piece was taken: dma_master writes in the order in which it
// takes requests, so the CQE follows its data, and its own latency passes while they stream.
// Throughput: one beat per cycle and one cycle more per piece (two for a piece of one beat, one for
// a packet without payload). Latency: 0 cycles from decision to wrreq, 1 to the first beat on
// wrdat, 1 to cqe. Order: packet order. ready of the payload depends on wrdat_ready. A completion
// that waits for cqe_gen holds up only the next piece with a completion. Payload for arp_fsm passes
// by like payload that is discarded; a packet of it is one piece.
`include "rnic_assert.svh"
module rx_placer #(
    parameter int unsigned DATA_W = 512
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    // order of packets, from rx_dispatch
    input  logic                  ord_valid,
    output logic                  ord_ready,
    input  rnic_pkg::rx_ord_t     ord,
    // decisions, from rx_responder
    input  logic                  place_valid,
    output logic                  place_ready,
    input  rnic_pkg::rx_place_t   place,
    input  rnic_pkg::cqe_req_t    place_cqe,
    input  logic                  place_arp,   // its payload goes to pay, not to memory
    // payload, from rx_depacketizer
    input  logic                  rxd_valid,
    output logic                  rxd_ready,
    input  logic [DATA_W-1:0]     rxd_data,
    input  logic [7:0]            rxd_cnt,
    input  logic                  rxd_last,
    // to dma_master
    output logic                  wrreq_valid,
    input  logic                  wrreq_ready,
    output rnic_pkg::dma_wr_req_t wrreq,
    output logic                  wrdat_valid,
    input  logic                  wrdat_ready,
    output logic [DATA_W-1:0]     wrdat_data,
    output logic [7:0]            wrdat_cnt,
    output logic                  wrdat_last,
    // to cqe_gen
    output logic                  cqe_valid,
    input  logic                  cqe_ready,
    output rnic_pkg::cqe_req_t    cqe,
    // decisions, from rx_completer
    input  logic                  cplace_valid,
    output logic                  cplace_ready,
    input  rnic_pkg::rx_place_t   cplace,
    input  rnic_pkg::cqe_req_t    cplace_cqe,
    // payload for arp_fsm, in whole beats
    output logic                  pay_valid,
    input  logic                  pay_ready,
    output logic [DATA_W-1:0]     pay_data,
    output logic                  pay_last
);
  localparam int unsigned B = DATA_W / 8;

  typedef enum logic [1:0] {IDLE, WRITE, DROP, INLINE} state_e;
  state_e state_q, state_d;

  // -- the decision at hand
  // Either side's, or a drop that rx_dispatch ordered. One that stands alone belongs to no packet
  // and passes by the order, as soon as its completion can go; not while a write request waits.
  logic dropped, alone_r, alone_c, alone, from_c, mine, have, cqe_free, offered_q;
  logic is_write, is_inl, has_cqe, last_piece, take;
  logic [12:0] len, left, left_q;  // left: bytes of the packet that the stream still holds
  logic mid_q;                     // pieces of this packet were taken
  logic cqe_full_q;
  assign cqe_free = !cqe_full_q || cqe_ready;
  assign dropped = ord.src == rnic_pkg::ORD_DROP;
  assign alone_r = place_valid && place.alone && cqe_free && !offered_q;
  assign alone_c = cplace_valid && cplace.alone && cqe_free && !offered_q;
  assign alone = alone_r || alone_c;
  assign from_c = alone ? !alone_r : ord.src == rnic_pkg::ORD_COMPLETER;
  assign mine = from_c ? cplace_valid && !cplace.alone : place_valid && !place.alone;
  assign have = alone || (ord_valid && (dropped || mine));
  assign is_write = (from_c ? cplace.write : place.write) && !dropped && !alone;
  assign is_inl = from_c ? cplace.inl : place.inl;
  assign has_cqe = alone || (!dropped && (from_c ? cplace.has_cqe : place.has_cqe));
  assign last_piece = dropped || !(from_c ? cplace.more : place.more);
  assign len = from_c ? cplace.len : place.len;
  assign left = mid_q ? left_q : ord.len;

  // The completion waits in a register, from the cycle after its write request was taken. Once free
  // the register stays so for the piece that waits here: wrreq holds.
  logic may_go;
  assign cqe_valid = cqe_full_q;
  assign may_go = !has_cqe || cqe_free;

  assign wrreq_valid = state_q == IDLE && have && is_write && may_go;
  always_comb begin
    wrreq = '0;
    if (wrreq_valid) begin
      wrreq.addr = from_c ? cplace.addr : place.addr;
      wrreq.len = len;
      wrreq.relaxed = 1'b1;
      wrreq.qpn = from_c ? cplace.qpn : place.qpn;
      wrreq.psn = from_c ? cplace.psn : place.psn;
      wrreq.sampled = from_c ? cplace.sampled : place.sampled;
      wrreq.ticket = !from_c && place.ticket;
      wrreq.rd_ticket = from_c && cplace.ticket;
    end
  end
  assign take = state_q == IDLE && have && (is_write ? wrreq_valid && wrreq_ready : may_go);
  assign ord_ready = take && !alone && last_piece;
  assign place_ready = take && (alone || !dropped) && !from_c;
  assign cplace_ready = take && (alone || !dropped) && from_c;

  // -- the payload, cut at any byte
  // A beat of which a piece has used only a part waits in rest_q; what follows is shifted by off_q
  // until a piece ends with a beat.
  logic              rest_full_q, rest_last_q;
  logic [DATA_W-1:0] rest_q;
  logic [7:0]        off_q, rest_cnt_q, here, used, want, new_off;
  logic [12:0]       piece_q;  // bytes of the piece still to be written
  logic              ends, from_rest, beat_fire, drop_now;
  logic              arp_q;    // what is discarded is handed to arp_fsm
  logic [319:0]      inl_q;
  assign here = rest_cnt_q - off_q;
  assign want = (piece_q > 13'(B)) ? 8'(B) : piece_q[7:0];
  assign ends = piece_q <= 13'(B);
  assign from_rest = rest_full_q && want <= here;
  // of the beat on rxd
  assign used = rest_full_q ? want - here : want;
  assign new_off = from_rest ? off_q + want : used;
  assign drop_now = take && !is_write && !alone && last_piece && left != 13'd0;

  assign wrdat_valid = (state_q == WRITE && (rxd_valid || from_rest)) || state_q == INLINE;
  assign rxd_ready = (state_q == WRITE && wrdat_ready && !from_rest) ||
                     (state_q == DROP && (!arp_q || pay_ready));
  assign pay_valid = state_q == DROP && arp_q && rxd_valid;
  assign pay_data = rxd_data;
  assign pay_last = rxd_last;
  assign wrdat_cnt = want;
  assign wrdat_last = ends;
  assign beat_fire = wrdat_valid && wrdat_ready;
  always_comb begin
    wrdat_data = rxd_data;
    if (state_q == INLINE) wrdat_data = DATA_W'(inl_q);
    else if (from_rest) wrdat_data = rest_q >> {off_q, 3'b000};
    else if (rest_full_q) wrdat_data = DATA_W'({rxd_data, rest_q} >> {off_q, 3'b000});
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:
      if (take && is_write) state_d = is_inl ? INLINE : WRITE;
      else if (drop_now && !(rest_full_q && rest_last_q)) state_d = DROP;
      WRITE, INLINE: if (beat_fire && ends) state_d = IDLE;
      DROP: if (rxd_valid && rxd_ready && rxd_last) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    offered_q <= wrreq_valid && !wrreq_ready;
    if (cqe_valid && cqe_ready) cqe_full_q <= 1'b0;
    if (take && has_cqe) begin
      cqe <= from_c ? cplace_cqe : place_cqe;
      cqe_full_q <= 1'b1;
    end
    if (take) begin
      piece_q <= len;
      if (is_write && is_inl) inl_q <= from_c ? cplace.inl_data : place.inl_data;
      if (!alone) begin
        mid_q <= !last_piece;
        left_q <= is_inl ? left : left - len;
      end
    end
    if (drop_now) begin
      rest_full_q <= 1'b0;
      arp_q <= !from_c && !dropped && place_arp;
    end
    if (beat_fire) begin
      piece_q <= piece_q - {5'd0, want};
      if (state_q == INLINE) begin
        inl_q <= inl_q >> DATA_W;
      end else if (from_rest) begin
        off_q <= new_off;
        rest_full_q <= new_off != rest_cnt_q;
      end else begin
        rest_full_q <= used != rxd_cnt;
        if (used != rxd_cnt) begin
          rest_q <= rxd_data;
          rest_cnt_q <= rxd_cnt;
          rest_last_q <= rxd_last;
          off_q <= used;
        end
      end
    end
    if (rst_i) begin
      state_q <= IDLE;
      offered_q <= 1'b0;
      cqe_full_q <= 1'b0;
      mid_q <= 1'b0;
      rest_full_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{place.target, place.gpu, cplace.target, cplace.gpu};

  `RNIC_STREAM_HOLD(wrreq_valid, wrreq_ready, wrreq)
  `RNIC_STREAM_HOLD(wrdat_valid, wrdat_ready, {wrdat_data, wrdat_cnt, wrdat_last})
  `RNIC_STREAM_HOLD(cqe_valid, cqe_ready, cqe)
  `RNIC_STREAM_HOLD(pay_valid, pay_ready, {pay_data, pay_last})
  `RNIC_ASSERT(arp_whole_beats, !pay_valid || rxd_cnt == 8'(B))
  `RNIC_ASSERT(pieces_fit, !(take && is_write && !is_inl) || (len != '0 && len <= left))
  `RNIC_ASSERT(pieces_fill, !(take && is_write && last_piece) || left == (is_inl ? '0 : len))
  `RNIC_ASSERT(inline_fits, !(take && is_write && is_inl) || (len != '0 && len <= 13'd40))
  `RNIC_ASSERT(whole_packets, !(state_q == IDLE && have && !mid_q) || !rest_full_q)
  `RNIC_ASSERT(only_the_last_is_discarded, !(take && !alone && !is_write) || last_piece)
endmodule
