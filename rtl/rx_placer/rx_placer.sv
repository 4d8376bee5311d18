// SPDX-License-Identifier: Apache-2.0
// Joins the payload of each received packet with what rx_responder decided about it: writes it through dma_master or
// discards it, then passes the completion on, so that a CQE follows its data into dma_master.
// Throughput: one beat per cycle, two cycles for a packet of one beat. Latency: 1 cycle from decision and first beat to
// wrreq, 2 to the first beat on wrdat. Order: packet order. ready of the payload depends on wrdat_ready.
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
    output rnic_pkg::cqe_req_t    cqe
);
  typedef enum logic [1:0] {IDLE, WRITE, DROP, CQE} state_e;
  state_e state_q, state_d;

  // Decision of the packet at hand: the responder's, or a drop that rx_dispatch ordered.
  logic have, dropped, take, last_beat;
  assign dropped = ord.src == rnic_pkg::ORD_DROP;
  assign have = ord_valid && (dropped || place_valid);
  assign last_beat = rxd_valid && rxd_ready && rxd_last;

  logic has_cqe_q, has_cqe;
  assign has_cqe = place.has_cqe && !dropped;

  assign wrreq_valid = state_q == IDLE && have && !dropped && place.write;
  assign wrreq = {place.addr, place.len, 1'b1, 1'b0, place.qpn, 1'b0, place.psn, place.sampled};
  assign take = state_q == IDLE && have && (!wrreq_valid || wrreq_ready);
  assign ord_ready = take;
  assign place_ready = take && !dropped;

  assign rxd_ready = (state_q == WRITE && wrdat_ready) || state_q == DROP;
  assign wrdat_valid = state_q == WRITE && rxd_valid;
  assign wrdat_data = rxd_data;
  assign wrdat_cnt = rxd_cnt;
  assign wrdat_last = rxd_last;
  assign cqe_valid = state_q == CQE;

  logic is_write;
  assign is_write = place.write && !dropped;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:
      if (take) begin
        if (is_write) state_d = WRITE;
        else if (ord.len != 13'd0) state_d = DROP;
        else if (has_cqe) state_d = CQE;
      end
      WRITE, DROP: if (last_beat) state_d = has_cqe_q ? CQE : IDLE;
      CQE: if (cqe_ready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (take) begin
      has_cqe_q <= has_cqe;
      if (has_cqe) cqe <= place_cqe;
    end
    if (rst_i) state_q <= IDLE;
  end

  logic unused;
  assign unused = ^{place.target, place.gpu, place.has_cqe};
endmodule
