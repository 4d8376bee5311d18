// SPDX-License-Identifier: Apache-2.0
// Waits until whatever was under way in the receive path when it was asked has ended: decisions,
// payload writes, ATOMICs, completions, event entries. cmd_unit asks before it answers a command
// that takes memory away from the NIC, so that software may free that memory. New work does not
// hold it up. Latency: ROUNDS * MIN_CYCLES cycles when nothing is under way.
`include "rnic_assert.svh"
module settle #(
    parameter int unsigned N = 10,          // counted stages
    parameter int unsigned M = 4,           // FIFOs
    parameter int unsigned DEPTH = 8,       // entries of the deepest of them, at most
    parameter int unsigned ROUNDS = 4,      // stages in a row, at least
    parameter int unsigned MIN_CYCLES = 16  // a round lasts so long: steps between stages
) (
    input  logic         clk_i,
    input  logic         rst_i,
    input  logic         ask_i,         // held until done_o
    output logic         done_o,        // one cycle
    // A stage: what enters it and what leaves it, in the same order.
    input  logic [N-1:0] enters_i,
    input  logic [N-1:0] leaves_i,
    // A FIFO, seen from its output.
    input  logic [M-1:0] fifo_valid_i,
    input  logic [M-1:0] fifo_ready_i
);
  localparam int unsigned CW = 12;      // more than any stage holds
  localparam int unsigned DW = $clog2(DEPTH + 1);
  localparam int unsigned RW = $clog2(ROUNDS + 1);
  localparam int unsigned TW = $clog2(MIN_CYCLES + 1);

  logic run_q, first, over;
  logic [RW-1:0] round_q;
  logic [TW-1:0] time_q;
  logic [N-1:0] reached;
  logic [M-1:0] passed;
  assign first = ask_i && !run_q;
  assign over = run_q && time_q == '0 && (&reached) && (&passed);
  assign done_o = over && round_q == RW'(ROUNDS - 1);

  // -- stages: those inside at the beginning of the round have left
  for (genvar i = 0; i < N; i++) begin : gen_stage
    logic [CW-1:0] entered_q, left_q, target_q, behind;
    assign behind = left_q - target_q;
    assign reached[i] = !behind[CW-1];
    always_ff @(posedge clk_i) begin
      if (enters_i[i]) entered_q <= entered_q + 1'b1;
      if (leaves_i[i]) left_q <= left_q + 1'b1;
      if (first || over) target_q <= entered_q + CW'(enters_i[i]);
      if (rst_i) begin
        entered_q <= '0;
        left_q <= '0;
        target_q <= '0;
      end
    end
    `RNIC_ASSERT(leaves_after_entry, !leaves_i[i] || entered_q != left_q)
  end

  // -- FIFOs: empty once, or as many have left as it holds
  for (genvar i = 0; i < M; i++) begin : gen_fifo
    logic [DW-1:0] more_q;
    assign passed[i] = more_q == '0;
    always_ff @(posedge clk_i) begin
      if (first || over) more_q <= DW'(DEPTH);
      else if (!fifo_valid_i[i]) more_q <= '0;
      else if (fifo_ready_i[i] && !passed[i]) more_q <= more_q - 1'b1;
      if (rst_i) more_q <= '0;
    end
  end

  always_ff @(posedge clk_i) begin
    run_q <= (run_q || ask_i) && !done_o;
    if (first || over) time_q <= TW'(MIN_CYCLES - 1);
    else if (time_q != '0) time_q <= time_q - 1'b1;
    if (first) round_q <= '0;
    else if (over) round_q <= round_q + 1'b1;
    if (rst_i) run_q <= 1'b0;
  end
endmodule
