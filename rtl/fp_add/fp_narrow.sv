// SPDX-License-Identifier: Apache-2.0
//
// FP32 elements to FP16 or BF16, rounded to nearest even; any NaN becomes the quiet canonical one.
//
// Combinational. Element i is bits 32 i of wide_i and 16 i of half_o.
module fp_narrow #(
  parameter int unsigned N = 16  // elements
) (
  input  logic            bf16_i,
  input  logic [32*N-1:0] wide_i,
  output logic [16*N-1:0] half_o
);
  for (genvar i = 0; i < N; i++) begin : gen_element
    logic [31:0] w;
    logic [7:0]  exponent, below;
    logic [4:0]  shift;
    logic [46:0] moved;
    logic [14:0] kept;
    logic        guard, rest;
    logic [15:0] half;
    assign w = wide_i[32*i +: 32];
    assign exponent = w[30:23];
    assign below = 8'd113 - exponent;  // FP16: steps under the least normal number
    always_comb begin
      shift = 5'd0;
      if (exponent < 8'd113) shift = below > 8'd24 ? 5'd24 : below[4:0];
      moved = 47'({exponent != 8'd0, w[22:0], 24'd0} >> shift);
      kept = {exponent < 8'd113 ? 5'd0 : 5'(exponent - 8'd112), moved[46:37]};
      guard = moved[36];
      rest = |moved[35:0];
      if (bf16_i) begin
        kept = w[30:16];
        guard = w[15];
        rest = |w[14:0];
      end
      half = {w[31], kept + {14'd0, guard && (rest || kept[0])}};
      if (!bf16_i && exponent >= 8'd143) half = {w[31], 15'h7C00};  // 65536 and more
      if (exponent == 8'd255 && w[22:0] != 23'd0) half = bf16_i ? 16'h7FC0 : 16'h7E00;
    end
    assign half_o[16*i +: 16] = half;
  end
endmodule
