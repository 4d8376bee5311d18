// SPDX-License-Identifier: Apache-2.0
//
// Brings W independent level bits into clk_i through STAGES flip-flops each. Bits may arrive in
// different cycles: for a value whose bits belong together use cdc_fifo or Gray code.

module cdc_sync #(
  parameter int unsigned W = 1,
  parameter int unsigned STAGES = 2,
  parameter logic [W-1:0] RESET_VALUE = '0
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [W-1:0] d_i,
  output logic [W-1:0] q_o
);

  if (STAGES < 2) begin : gen_check_stages
    $error("cdc_sync: STAGES must be at least 2");
  end

  (* ASYNC_REG = "TRUE" *) logic [STAGES*W-1:0] sync_q;
  assign q_o = sync_q[(STAGES-1)*W +: W];

  always_ff @(posedge clk_i) begin
    sync_q <= {sync_q[(STAGES-1)*W-1:0], d_i};
    if (rst_i) sync_q <= {STAGES{RESET_VALUE}};
  end

endmodule
