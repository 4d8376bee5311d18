// SPDX-License-Identifier: Apache-2.0
// Joins the payload of each received packet with what rx_responder decided about it: writes it
// through dma_master or discards it. The completion goes on as soon as the write request was taken:
// dma_master writes in the order in which it takes requests, so the CQE follows its data, and its
// own latency passes while they stream. Throughput: one beat per cycle and one cycle more per
// packet (two for a packet of one beat, one for one without payload). Latency: 0 cycles from
// decision to wrreq, 1 to the first beat on wrdat, 1 to cqe. Order: packet order. ready of the
// payload depends on wrdat_ready. A completion that waits for cqe_gen holds up only the next packet
// with a completion.
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
    input  logic cplace_valid,
    output logic cplace_ready,
    input  rnic_pkg::rx_place_t cplace,
    input  rnic_pkg::cqe_req_t cplace_cqe
);
  typedef enum logic [1:0] {IDLE, WRITE, DROP} state_e;
  state_e state_q, state_d;

  // Decision of the packet at hand: the responder's, or a drop that rx_dispatch ordered. A decision
  // that stands alone belongs to no packet and passes by the order.
  logic alone, have, dropped, take, last_beat, is_write, has_cqe, has_payload;
  assign alone = place_valid && place.alone;
  assign dropped = ord.src == rnic_pkg::ORD_DROP;
  assign have = alone || (ord_valid && (dropped || place_valid));
  assign is_write = place.write && !dropped && !alone;
  assign has_payload = !alone && ord.len != 13'd0;
  assign has_cqe = place.has_cqe && (alone || !dropped);
  assign last_beat = rxd_valid && rxd_ready && rxd_last;

  // The completion waits in a register, from the cycle after its write request was taken.
  logic cqe_full_q;
  assign cqe_valid = cqe_full_q;
  // once free, the register stays so for the packet that waits here: wrreq holds
  logic may_go;
  assign may_go = !has_cqe || !cqe_full_q || (cqe_valid && cqe_ready);

  assign wrreq_valid = state_q == IDLE && have && is_write && may_go;
  assign wrreq = {place.addr, place.len, 1'b1, 1'b0, place.qpn, 1'b0, place.psn, place.sampled,
                  place.ticket};
  assign take = state_q == IDLE && have && (is_write ? wrreq_valid && wrreq_ready : may_go);
  assign ord_ready = take && !alone;
  assign place_ready = take && (alone || !dropped);

  assign rxd_ready = (state_q == WRITE && wrdat_ready) || state_q == DROP;
  assign wrdat_valid = state_q == WRITE && rxd_valid;
  assign wrdat_data = rxd_data;
  assign wrdat_cnt = rxd_cnt;
  assign wrdat_last = rxd_last;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (take) state_d = is_write ? WRITE : has_payload ? DROP : IDLE;
      WRITE, DROP: if (last_beat) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (cqe_valid && cqe_ready) cqe_full_q <= 1'b0;
    if (take && has_cqe) begin
      cqe <= place_cqe;
      cqe_full_q <= 1'b1;
    end
    if (rst_i) begin
      state_q <= IDLE;
      cqe_full_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{place.target, place.gpu, place.more, place.inl, place.inl_data};

  `RNIC_STREAM_HOLD(wrreq_valid, wrreq_ready, wrreq)
  `RNIC_STREAM_HOLD(wrdat_valid, wrdat_ready, {wrdat_data, wrdat_cnt, wrdat_last})
  `RNIC_STREAM_HOLD(cqe_valid, cqe_ready, cqe)
  `RNIC_ASSERT(lengths_agree, !(take && is_write) || place.len == ord.len)

  // Ports of the complete RC transport that this block does not use yet.
  assign cplace_ready = '0;
  logic unused_rc;
  assign unused_rc = ^{cplace_valid, cplace, cplace_cqe};
endmodule
