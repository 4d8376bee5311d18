// SPDX-License-Identifier: Apache-2.0
//
// FP16 or BF16 elements to FP32, exactly (NaN stays NaN with its payload).
//
// Combinational. Element i is bits 16 i of half_i and 32 i of wide_o.
module fp_widen #(
  parameter int unsigned N = 16  // elements
) (
  input  logic            bf16_i,
  input  logic [16*N-1:0] half_i,
  output logic [32*N-1:0] wide_o
);
  for (genvar i = 0; i < N; i++) begin : gen_element
    logic [15:0] h, find;
    logic [3:0]  zeros;
    logic [31:0] single;
    assign h = half_i[16*i +: 16];
    // A subnormal FP16 is a normal FP32: its first one is looked for.
    always_comb begin
      find = {h[9:0], 6'd0};
      zeros = 4'd0;
      for (int k = 3; k >= 0; k--) begin
        if (find >> (16 - (1 << k)) == 16'd0) begin
          zeros[k] = 1'b1;
          find = find << (1 << k);
        end
      end
      single = {h[15], {3'd0, h[14:10]} + 8'd112, h[9:0], 13'd0};
      if (h[14:10] == 5'd31) single = {h[15], 8'hFF, h[9:0], 13'd0};
      if (h[14:10] == 5'd0) single = {h[15], 8'd112 - {4'd0, zeros}, find[14:0], 8'd0};
      if (h[14:0] == 15'd0) single = {h[15], 31'd0};
      if (bf16_i) single = {h, 16'd0};
    end
    assign wide_o[32*i +: 32] = single;
  end
endmodule
