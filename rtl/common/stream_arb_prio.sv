// SPDX-License-Identifier: Apache-2.0
//
// N streams into one; input 0 wins, then 1, and so on. Latency 0, one beat per cycle. A grant is
// kept until the beat with in_last has been taken, and while a beat waits. A high input that never
// pauses starves the lower ones. in_ready depends on in_valid and out_ready.

`include "rnic_assert.svh"

module stream_arb_prio #(
  parameter int unsigned N = 2,
  parameter int unsigned W = 8
) (
  input  logic                             clk_i,
  input  logic                             rst_i,
  input  logic [N-1:0]                     in_valid,
  output logic [N-1:0]                     in_ready,
  input  logic [N*W-1:0]                   in_data,
  input  logic [N-1:0]                     in_last,
  output logic                             out_valid,
  input  logic                             out_ready,
  output logic [W-1:0]                     out_data,
  output logic                             out_last,
  output logic [(N > 1 ? $clog2(N) : 1)-1:0] out_src
);

  localparam int unsigned IW = (N > 1) ? $clog2(N) : 1;

  logic          locked_q;
  logic [N-1:0]  lock_gnt_q, pick_gnt, gnt;
  logic          out_fire;

  assign pick_gnt  = in_valid & (~in_valid + 1'b1);
  assign gnt       = locked_q ? lock_gnt_q : pick_gnt;
  assign out_valid = |(in_valid & gnt);
  assign out_last  = |(in_last & gnt);
  assign out_data  = in_data[out_src*W +: W];
  assign in_ready  = out_ready ? gnt : '0;
  assign out_fire  = out_valid && out_ready;

  always_comb begin
    out_src = '0;
    for (int unsigned i = 0; i < N; i++) begin
      if (gnt[i]) out_src = IW'(i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (out_fire) locked_q <= !out_last;
    else if (out_valid) locked_q <= 1'b1;
    if (!locked_q) lock_gnt_q <= pick_gnt;
    if (rst_i) locked_q <= 1'b0;
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_data, out_last, out_src})
  `RNIC_ASSERT(highest_wins, locked_q || (gnt & (in_valid & (~in_valid + 1'b1))) == gnt)
  `RNIC_COVER(last_source, out_fire && out_src == IW'(N - 1))

endmodule
