// SPDX-License-Identifier: Apache-2.0
// Sends each received packet to the half of the transport that answers for it: requests to
// rx_responder, responses and CNPs to rx_completer. Tells rx_placer, in packet order, who decides
// about the payload. Throughput: one packet per cycle. Latency: 0 cycles
// (combinational from rxm to req, resp and ord). rxm_ready depends on rxm_valid (by its opcode) and
// on the receiver's ready. With RESP_DEPTH so many responses may wait for rx_completer while
// requests go on to rx_responder; one that finds none waiting still passes in the same cycle.
// READ responses and ATOMIC ACKs always leave a note: rx_completer decides about each of them.
// Dropped: the payload of CNPs and ACKs, which must have none.
module rx_dispatch #(
    parameter int unsigned RESP_DEPTH = 0  // 0 to 8
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    input  logic                 rxm_valid,
    output logic                 rxm_ready,
    input  rnic_pkg::rx_meta_t   rxm,
    output logic                 req_valid,
    input  logic                 req_ready,
    output rnic_pkg::rx_meta_t   req,
    output logic                 resp_valid,
    input  logic                 resp_ready,
    output rnic_pkg::rx_meta_t   resp,
    output logic                 ord_valid,
    input  logic                 ord_ready,
    output rnic_pkg::rx_ord_t    ord,
    output logic                 cnt_rx_cnp_o,
    output logic                 cnt_ecn_marked_o,  // any packet with the CE mark
    output logic                 trc_valid_o,
    output logic [63:0]          trc_o,
    output logic                 trc_sampled_o
);
  logic is_cnp, is_resp, is_data, is_req, to_completer, needs_ord, target_ready;
  logic resp_room, to_resp;
  assign is_cnp = rxm.opcode == roce_pkg::OP_CNP;
  assign is_resp = rxm.opcode[7:5] == 3'b000 &&
      rxm.opcode[4:0] >= roce_pkg::OP_READ_RESP_FIRST[4:0] &&
                   rxm.opcode[4:0] <= roce_pkg::OP_ATOMIC_ACK[4:0];
  assign is_req = !is_cnp && !is_resp;
  assign to_completer = is_resp || is_cnp;
  // A READ response or ATOMIC ACK: it brings something to place, or may.
  assign is_data = is_resp && rxm.opcode[4:0] != roce_pkg::OP_ACKNOWLEDGE[4:0];
  // An ACK or CNP without payload leaves nothing to place.
  assign needs_ord = is_req || is_data || rxm.payload_len != 13'd0;
  assign target_ready = is_req ? req_ready : resp_room;

  // Notes for rx_placer wait in a FIFO until it is there; note_ready depends on state only.
  rnic_pkg::rx_ord_t note;
  logic note_valid, note_ready;
  logic [3:0] note_level;
  assign rxm_ready = rxm_valid && target_ready && (note_ready || !needs_ord);
  assign req_valid = rxm_valid && is_req && note_ready;
  assign to_resp = rxm_valid && to_completer && (note_ready || !needs_ord);
  assign req = rxm;
  if (RESP_DEPTH == 0) begin : gen_direct
    assign resp_room = resp_ready;
    assign resp_valid = to_resp;
    assign resp = rxm;
  end else begin : gen_queue
    localparam int unsigned META_W = $bits(rxm);
    logic [$clog2(RESP_DEPTH+1)-1:0] level;
    stream_fifo_small #(
        .W(META_W),
        .DEPTH(RESP_DEPTH),
        .LATENCY(0)
    ) u_resp (
        .clk_i,
        .rst_i,
        .in_valid (to_resp),
        .in_ready (resp_room),
        .in_data  (rxm),
        .out_valid(resp_valid),
        .out_ready(resp_ready),
        .out_data (resp),
        .level_o  (level)
    );
    logic unused_level;
    assign unused_level = ^level;
  end

  assign note = {is_req ? rnic_pkg::ORD_RESPONDER : is_data ? rnic_pkg::ORD_COMPLETER :
                 rnic_pkg::ORD_DROP, rxm.payload_len};
  assign note_valid = rxm_valid && needs_ord && target_ready;
  stream_fifo_small #(
      .W(15),
      .DEPTH(8),
      .LATENCY(0)
  ) u_notes (
      .clk_i,
      .rst_i,
      .in_valid(note_valid),
      .in_ready(note_ready),
      .in_data(note),
      .out_valid(ord_valid),
      .out_ready(ord_ready),
      .out_data(ord),
      .level_o(note_level)
  );

  always_ff @(posedge clk_i) begin
    cnt_rx_cnp_o <= rxm_valid && rxm_ready && is_cnp;
    cnt_ecn_marked_o <= rxm_valid && rxm_ready && rxm.ecn == roce_pkg::ECN_CE;
    if (rst_i) begin
      cnt_rx_cnp_o <= 1'b0;
      cnt_ecn_marked_o <= 1'b0;
    end
  end

  assign trc_valid_o = rxm_valid && rxm_ready;
  assign trc_o = {rnic_pkg::TRC_RX_META, rxm.dest_qpn, 8'd0, rxm.psn};
  assign trc_sampled_o = 1'b1;

  logic unused;
  assign unused = ^note_level;
endmodule
