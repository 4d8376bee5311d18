// SPDX-License-Identifier: Apache-2.0
// Names the first AHEAD of those that wait in a queue elsewhere, each once, as it gets there: a
// context that is fetched much too early is gone again before its turn.
// One name per cycle, the first a cycle after it was queued. Order is that of the queue.
`include "rnic_assert.svh"
module ctx_ahead #(
    parameter int unsigned W = 24,
    parameter int unsigned N = 64,     // may wait there
    parameter int unsigned AHEAD = 8
) (
    input  logic         clk_i,
    input  logic         rst_i,
    // one enters the queue; the oldest leaves it (perhaps in the same cycle, when none waits)
    input  logic         in_i,
    input  logic [W-1:0] in_data_i,
    input  logic         out_i,
    output logic         near_o,     // one that enters now is named at once
    output logic         name_valid,
    input  logic         name_ready,
    output logic [W-1:0] name
);
  localparam int unsigned DEPTH = N + 4;  // with those that have left unnamed, until they are seen
  localparam int unsigned LW = $clog2(DEPTH + 1);
  localparam int unsigned NW = $clog2(AHEAD + 1);

  // Not named yet; the first left_q of them have left all the same.
  logic          far_valid, far_ready, far_room, far_left;
  logic [LW-1:0] far_level, left_q;
  stream_fifo #(.W(W), .DEPTH(DEPTH), .OUT_REG(1)) u_far (
      .clk_i,
      .rst_i,
      .in_valid (in_i),
      .in_ready (far_room),
      .in_data  (in_data_i),
      .out_valid(far_valid),
      .out_ready(far_ready),
      .out_data (name),
      .level_o  (far_level)
  );

  // Named and still waiting.
  logic [NW-1:0] near_q;
  logic          near, fire, none;
  assign near = near_q != NW'(AHEAD);
  assign near_o = near && far_level == '0;
  assign far_left = left_q != '0;
  assign name_valid = far_valid && !far_left && near;
  assign fire = name_valid && name_ready;
  assign none = near_q == '0 && !fire;
  assign far_ready = far_left || fire;
  always_ff @(posedge clk_i) begin
    near_q <= near_q + NW'(fire) - NW'(out_i && !none);
    left_q <= left_q + LW'(out_i && none) - LW'(far_valid && far_left);
    if (rst_i) begin
      near_q <= '0;
      left_q <= '0;
    end
  end

  `RNIC_ASSERT(every_one_has_room, !in_i || far_room)
  `RNIC_ASSERT(what_leaves_was_there, !out_i || near_q != '0 || in_i || far_level > left_q)
endmodule
