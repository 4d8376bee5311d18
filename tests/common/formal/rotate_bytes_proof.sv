// SPDX-License-Identifier: Apache-2.0
//
// The form of rotate_bytes that simulates fast equals the form that is synthesized.

`include "rnic_assert.svh"

module rotate_bytes_proof #(
  parameter int unsigned DATA_W = 64,
  parameter int unsigned DOWN = 0
) (
  input logic                        clk_i,
  input logic                        rst_i,
  input logic [DATA_W-1:0]           data,
  input logic [$clog2(DATA_W/8)-1:0] shift
);

  logic [DATA_W-1:0] out, out_fast;

  rotate_bytes #(.DATA_W(DATA_W), .DOWN(DOWN)) u_dut (
    .clk_i, .en_i(1'b1), .data_i(data), .shift_i(shift), .data_o(out)
  );
  rotate_bytes_fast #(.DATA_W(DATA_W), .DOWN(DOWN)) u_fast (
    .clk_i, .en_i(1'b1), .data_i(data), .shift_i(shift), .data_o(out_fast)
  );

  `RNIC_ASSERT(equal, out == out_fast)
  `RNIC_COVER(moves, shift == '1 && out[7:0] == 8'h5A && data != '0)

endmodule
