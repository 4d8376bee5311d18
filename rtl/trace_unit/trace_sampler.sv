// SPDX-License-Identifier: Apache-2.0
//
// Decides which work-queue elements are traced: of those that the QP filter lets through, the first
// and then one in 2^one_in_log2_i. Combinational answer in the cycle of the question; one question
// per cycle.

module trace_sampler (
  input  logic        clk_i,
  input  logic        rst_i,
  input  logic        enable_i,
  input  logic        qp_filter_i,    // 1: only qpn_i
  input  logic [23:0] qpn_i,
  input  logic [3:0]  one_in_log2_i,  // n: one in 2^n
  input  logic        smp_valid_i,    // a new WQE
  input  logic [23:0] smp_qpn_i,
  output logic        smp_hit_o       // trace it
);

  logic [14:0] count_q, mask;
  logic        match;

  assign match = enable_i && smp_valid_i && (!qp_filter_i || smp_qpn_i == qpn_i);
  assign mask = ~(15'h7FFF << one_in_log2_i);
  assign smp_hit_o = match && (count_q & mask) == 15'd0;

  always_ff @(posedge clk_i) begin : count
    if (match) count_q <= count_q + 1'b1;
    if (rst_i || !enable_i) count_q <= 15'd0;
  end

endmodule
