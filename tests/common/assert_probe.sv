// SPDX-License-Identifier: Apache-2.0
//
// Breaks a rule on command, so that the tests see that a broken rule is noticed.

`include "rnic_assert.svh"

module assert_probe (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic       fail_i,
  input  logic       out_valid,
  input  logic       out_ready,
  input  logic [7:0] out_data,
  output logic       seen_o
);

  always_ff @(posedge clk_i) begin
    seen_o <= out_valid && out_ready && out_data != '0;
    if (rst_i) seen_o <= 1'b0;
  end

  `RNIC_ASSERT(told_to_fail, !fail_i)
  `RNIC_STREAM_HOLD(out_valid, out_ready, out_data)

endmodule
