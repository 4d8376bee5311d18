// SPDX-License-Identifier: Apache-2.0
//
// QPs that wait for something, in order, each at most once: a QP that is pushed while it waits
// stays where it is, also in the cycle in which it leaves. One push and one pop per cycle; a push
// is readable after it, always taken. After reset usable at once.
`include "rnic_assert.svh"
module qp_queue #(
    parameter int unsigned N_QP = 64
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        push_valid_i,
    input  logic [23:0] push_qpn_i,
    output logic        out_valid,
    input  logic        out_ready,
    output logic [23:0] out_qpn
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned DEPTH = (N_QP > 1) ? N_QP : 2;

  logic [N_QP-1:0] in_q;
  logic [QW-1:0] out_id, push_id;
  logic push, pop, room;
  logic [$clog2(DEPTH+1)-1:0] level;
  assign push_id = push_qpn_i[QW-1:0];
  // A push beside the pop of the same QP is that pop: its taker sees what it announces.
  assign push = push_valid_i && !in_q[push_id];
  assign pop = out_valid && out_ready;
  stream_fifo #(
      .W(QW),
      .DEPTH(DEPTH),
      .OUT_REG(0)
  ) u_fifo (
      .clk_i,
      .rst_i,
      .in_valid(push),
      .in_ready(room),
      .in_data(push_id),
      .out_valid,
      .out_ready,
      .out_data(out_id),
      .level_o(level)
  );
  assign out_qpn = 24'(out_id);

  always_ff @(posedge clk_i) begin
    if (pop) in_q[out_id] <= 1'b0;
    if (push) in_q[push_id] <= 1'b1;
    if (rst_i) in_q <= '0;
  end

  logic unused;
  assign unused = ^{push_qpn_i, level};
  `RNIC_ASSERT(known_qp, !push_valid_i || push_qpn_i < 24'(N_QP))
  `RNIC_ASSERT(has_room, !push || room)
endmodule
