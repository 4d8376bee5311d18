// SPDX-License-Identifier: Apache-2.0
//
// N streams into one, round robin by packet. Latency 0, one beat per cycle, also when the source
// changes. A grant is kept until the beat with in_last has been taken, so that packets stay whole,
// and while a beat waits, so that out_data holds. in_ready depends on in_valid and out_ready; put
// a skid buffer behind where that is too long.

`include "rnic_assert.svh"

module stream_arb_rr #(
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
  logic [N-1:0]  lock_gnt_q;
  logic [IW-1:0] lock_idx_q;

  logic [N-1:0]  pick_gnt, gnt;
  logic [IW-1:0] pick_idx;
  logic          pick_any, out_fire;

  rr_select #(.N(N)) u_select (
    .clk_i,
    .rst_i,
    .req_i    (in_valid),
    .advance_i(!locked_q),
    .gnt_o    (pick_gnt),
    .idx_o    (pick_idx),
    .any_o    (pick_any)
  );

  assign gnt       = locked_q ? lock_gnt_q : pick_gnt;
  assign out_src   = locked_q ? lock_idx_q : pick_idx;
  assign out_valid = locked_q ? |(in_valid & lock_gnt_q) : pick_any;
  assign out_last  = |(in_last & gnt);
  assign out_data  = in_data[out_src*W +: W];
  assign in_ready  = out_ready ? gnt : '0;
  assign out_fire  = out_valid && out_ready;

  always_ff @(posedge clk_i) begin
    if (out_fire) locked_q <= !out_last;
    else if (out_valid) locked_q <= 1'b1;
    if (!locked_q) begin
      lock_gnt_q <= pick_gnt;
      lock_idx_q <= pick_idx;
    end
    if (rst_i) locked_q <= 1'b0;
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_data, out_last, out_src})
  `RNIC_ASSERT(one_taken, ((in_valid & in_ready) & ((in_valid & in_ready) - 1'b1)) == '0)
  `RNIC_COVER(last_source, out_fire && out_src == IW'(N - 1))

endmodule
