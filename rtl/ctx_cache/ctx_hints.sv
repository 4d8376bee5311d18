// SPDX-License-Identifier: Apache-2.0
// Which contexts will be wanted soon: of received packets (when their BTH is there, and as they
// come near in rx_buffer), of answers that wait to be sent, of QPs whose WQEs are fetched.
// One name per cycle at most, in this order. Those of a BTH are forgotten when there is no room.
// Latency: 0 cycles from a BTH, 1 from the others, when nothing waits.
`include "rnic_assert.svh"
module ctx_hints #(
    parameter int unsigned N_QP = 1024,
    parameter int unsigned N_PKT = 2048  // packets that wait, at most
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        on_i,
    // a packet to this QP arrives
    input  logic        bth_i,
    input  logic [23:0] bth_qpn_i,
    // it is whole and good, and waits from now on; the oldest that waits goes on
    input  logic        stored_i,
    input  logic [23:0] stored_qpn_i,
    input  logic        taken_i,
    // an answer of this QP waits in a list; the first of the list is looked at
    input  logic        answer_i,
    input  logic [23:0] answer_qpn_i,
    input  logic        answered_i,
    // WQEs of this QP are fetched, and few turns wait
    input  logic        wqe_i,
    input  logic [23:0] wqe_qpn_i,
    output logic        hint_valid,
    input  logic        hint_ready,
    output logic [23:0] hint_qpn
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;

  logic          pkt_near, pkt_valid, pkt_ready, ans_near, ans_valid, ans_ready;
  logic [23:0]   pkt_qpn;
  logic [QW-1:0] ans_qpn;
  ctx_ahead #(.W(24), .N(N_PKT)) u_packets (
      .clk_i,
      .rst_i,
      .in_i      (stored_i),
      .in_data_i (stored_qpn_i),
      .out_i     (taken_i),
      .near_o    (pkt_near),
      .name_valid(pkt_valid),
      .name_ready(pkt_ready),
      .name      (pkt_qpn)
  );
  ctx_ahead #(.W(QW), .N(N_QP)) u_answers (
      .clk_i,
      .rst_i,
      .in_i      (answer_i),
      .in_data_i (answer_qpn_i[QW-1:0]),
      .out_i     (answered_i),
      .near_o    (ans_near),
      .name_valid(ans_valid),
      .name_ready(ans_ready),
      .name      (ans_qpn)
  );

  // At the BTH only a packet that will be among the first.
  logic        early, put, room, wqe_q, wqe_ready;
  logic [23:0] put_qpn, wqe_qpn_q;
  logic [3:0]  level;
  assign early = bth_i && pkt_near;
  assign pkt_ready = on_i && room && !early;
  assign ans_ready = pkt_ready && !pkt_valid;
  assign wqe_ready = ans_ready && !ans_valid;
  assign put = early || pkt_valid || ans_valid || wqe_q;
  always_comb begin
    put_qpn = wqe_qpn_q;
    if (early) put_qpn = bth_qpn_i;
    else if (pkt_valid) put_qpn = pkt_qpn;
    else if (ans_valid) put_qpn = 24'(ans_qpn);
  end
  stream_fifo_small #(.W(24), .DEPTH(8), .LATENCY(0)) u_hints (
      .clk_i,
      .rst_i,
      .in_valid (put && on_i),
      .in_ready (room),
      .in_data  (put_qpn),
      .out_valid(hint_valid),
      .out_ready(hint_ready),
      .out_data (hint_qpn),
      .level_o  (level)
  );
  always_ff @(posedge clk_i) begin
    if (wqe_i) begin
      wqe_q <= 1'b1;
      wqe_qpn_q <= wqe_qpn_i;
    end else if (wqe_ready) begin
      wqe_q <= 1'b0;
    end
    if (rst_i) wqe_q <= 1'b0;
  end

  logic unused;
  assign unused = ^{level, ans_near, answer_qpn_i};
endmodule
