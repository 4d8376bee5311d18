// SPDX-License-Identifier: Apache-2.0
//
// What a lookup of any entry of ctx_ram hears is what was written to that entry last, and nothing
// else changes it; nothing since the reset reads as zero.
//
// With ALWAYS the reader looks at that entry in every cycle, so that what the memory holds is seen
// at once: then induction proves it for ever (lookups change no memory).

`include "rnic_assert.svh"

module ctx_ram_proof #(
  parameter int unsigned W = 2,
  parameter int unsigned N_QP = 3,
  parameter int unsigned LAT = 1
) (
  input logic         clk_i,
  input logic         rst_i,
  input logic         wr_valid,
  input logic [23:0]  wr_qpn,
  input logic [W-1:0] wr,
  input logic         look,
  input logic [23:0]  look_qpn
);
  (* anyconst *) logic [23:0] qpn;
  always_ff @(posedge clk_i) assume (qpn < 24'(N_QP));

  logic lk_valid, lk_ready, on, ctx_valid;
  logic [23:0] lk_qpn;
  logic [W-1:0] ctx;
`ifdef ALWAYS
  assign lk_valid = 1'b1;
  assign lk_qpn = qpn;
  logic unused;
  assign unused = look ^ (^look_qpn);
`else
  assign lk_valid = look;
  assign lk_qpn = look_qpn;
`endif

  ctx_ram #(.W(W), .N_QP(N_QP), .LAT(LAT)) u_dut (
    .clk_i, .rst_i,
    .init_done_o(on),
    .wr_valid, .wr_qpn, .wr,
    .lk_valid, .lk_ready, .lk_qpn, .ctx_valid, .ctx
  );

  // What was written last, and what it was LAT cycles ago, when it was asked for.
  logic [W-1:0] last_q, was_q[LAT];
  logic [LAT-1:0] due_q, any_q;
  always_ff @(posedge clk_i) begin
    if (wr_valid && wr_qpn == qpn) last_q <= wr;
    if (!on) last_q <= '0;
    was_q[0] <= last_q;
    due_q[0] <= lk_valid && lk_ready && lk_qpn == qpn;
    any_q[0] <= lk_valid && lk_ready;
    for (int unsigned i = 1; i < LAT; i++) begin
      was_q[i] <= was_q[i-1];
      due_q[i] <= due_q[i-1];
      any_q[i] <= any_q[i-1];
    end
    if (rst_i) begin
      due_q <= '0;
      any_q <= '0;
    end
  end

  `RNIC_ASSERT(ready_when_cleared, lk_ready == on)
  `RNIC_ASSERT(answered_in_time, ctx_valid == any_q[LAT-1])
  `RNIC_ASSERT(hears_the_last, !due_q[LAT-1] || ctx == was_q[LAT-1])
  `RNIC_COVER(written_while_looked_at, due_q[LAT-1] && ctx != '0 && on && wr_valid && wr_qpn == qpn)
endmodule
