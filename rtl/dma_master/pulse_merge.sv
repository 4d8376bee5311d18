// SPDX-License-Identifier: Apache-2.0
//
// Several pulses that may come in one cycle into one pulse per event: none is lost until 2^W - 1
// wait. Latency 1 cycle.
`include "rnic_assert.svh"

module pulse_merge #(
  parameter int unsigned N = 2,  // sources
  parameter int unsigned W = 8   // bits of the count of waiting pulses
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [N-1:0] pulse_i,
  output logic         pulse_o
);
  logic [W-1:0] wait_q;
  logic [W:0]   sum;

  always_comb begin
    sum = {1'b0, wait_q};
    for (int i = 0; i < N; i++) sum = sum + {{W{1'b0}}, pulse_i[i]};
    if (pulse_o) sum = sum - {{W{1'b0}}, 1'b1};
  end

  assign pulse_o = (wait_q != '0);

  always_ff @(posedge clk_i) begin
    wait_q <= sum[W] ? '1 : sum[W-1:0];
    if (rst_i) wait_q <= '0;
  end

  `RNIC_ASSERT(none_lost, !sum[W])
endmodule
