// SPDX-License-Identifier: Apache-2.0
//
// Holds back turns of QPs whose class is paused, so that their packets do not fill tx_buffer, which
// all classes share. Other turns pass in the same cycle.
//
// The class of a QP comes from qp_class; while it is not known its turn passes. Parked turns are
// looked at one per cycle, in a circle, and leave in that order when their class is free again, or
// at once when an order wants to end the QP's work.
// One turn per cycle. Every turn comes out once; a turn that has been offered stays.
`include "rnic_assert.svh"

module turn_park #(
  parameter int unsigned N_QP = 64
) (
  input  logic                clk_i,
  input  logic                rst_i,
  input  logic [7:0]          paused_i,
  // qp_class: {known, class} of in_qpn and of the parked turn at the head
  input  logic [3:0]          in_class_i,
  output logic [23:0]         head_qpn_o,
  input  logic [3:0]          head_class_i,
  // an order of cmd_unit to sq_scheduler, for as long as it lasts
  input  logic                order_i,
  input  rnic_pkg::qp_init_t  order,

  input  logic                in_valid,
  output logic                in_ready,      // depends on in_qpn and out_ready
  input  logic [23:0]         in_qpn,
  output logic                out_valid,
  input  logic                out_ready,
  output logic [23:0]         out_qpn
);
  localparam int unsigned QW = N_QP > 1 ? $clog2(N_QP) : 1;
  localparam int unsigned DEPTH = 2 ** QW + 1;  // a turn may go round when all others are parked

  logic          ends;                          // CLEAR and ERR wait for the turn of their QP
  logic [QW-1:0] head_qpn;
  logic          head_valid, in_parks, head_parks;
  assign ends = order_i && (order.op == rnic_pkg::QPI_CLEAR || order.op == rnic_pkg::QPI_ERR);
  assign head_qpn_o = 24'(head_qpn);
  assign in_parks = in_class_i[3] && paused_i[in_class_i[2:0]] &&
                    !(ends && order.qpn[QW-1:0] == in_qpn[QW-1:0]);
  assign head_parks = head_class_i[3] && paused_i[head_class_i[2:0]] &&
                      !(ends && order.qpn[QW-1:0] == head_qpn);

  // --------------------------------------------------------------------------------- who goes now
  logic offered_q, offered_head_q;                  // offered and not taken; it is the head
  logic head_goes, in_goes, park, turn_round, room;
  assign head_goes = offered_q ? offered_head_q : head_valid && !head_parks;
  assign in_goes = offered_q ? !offered_head_q : !head_goes && in_valid && !in_parks;
  assign out_valid = head_goes || in_goes;
  assign out_qpn = head_goes ? 24'(head_qpn) : in_qpn;
  assign park = in_valid && !in_goes && in_parks && !(offered_q && !offered_head_q);
  assign turn_round = head_valid && !head_goes && head_parks && !park;
  assign in_ready = (in_goes && out_ready) || (park && room);

  logic [$clog2(DEPTH+1)-1:0] unused_level;
  stream_fifo #(.W(QW), .DEPTH(DEPTH), .OUT_REG(1)) u_parked (
    .clk_i,
    .rst_i,
    .in_valid (park || turn_round),
    .in_ready (room),
    .in_data  (park ? in_qpn[QW-1:0] : head_qpn),
    .out_valid(head_valid),
    .out_ready((head_goes && out_ready) || turn_round),
    .out_data (head_qpn),
    .level_o  (unused_level)
  );

  always_ff @(posedge clk_i) begin
    offered_q <= out_valid && !out_ready;
    offered_head_q <= head_goes;
    if (rst_i) offered_q <= 1'b0;
  end

  logic unused;
  assign unused = ^{in_qpn[23:QW], order};

  `RNIC_STREAM_HOLD(out_valid, out_ready, out_qpn)
  `RNIC_ASSERT(room_for_all, !(park || turn_round) || room)
endmodule
