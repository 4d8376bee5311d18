// SPDX-License-Identifier: Apache-2.0
//
// Adds two beats element by element: FP16, BF16 (DATA_W/16 lanes), FP32, INT32 (DATA_W/32 lanes).
//
// One beat per cycle, each of its own type, result two cycles later; no stalls, order kept. Element
// 0 is in the lowest bits. INT32 wraps. In each 32 bits one adder serves FP32 and the lower 16-bit
// element, a smaller one the upper element.
module fp_add #(
  parameter int unsigned DATA_W = 512
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              valid_i,
  input  logic [1:0]        elem_i,   // arp_pkg::ELEM_*
  input  logic [DATA_W-1:0] a_i,
  input  logic [DATA_W-1:0] b_i,
  output logic              valid_o,
  output logic [DATA_W-1:0] sum_o
);
  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_check_width
    $error("fp_add: DATA_W must be 128, 256, 512 or 1024");
  end

  logic       valid1_q, valid2_q;
  logic [1:0] elem1_q, elem2_q;
  always_ff @(posedge clk_i) begin
    valid1_q <= valid_i;
    valid2_q <= valid1_q;
    if (valid_i) elem1_q <= elem_i;
    if (valid1_q) elem2_q <= elem1_q;
    if (rst_i) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
    end
  end
  assign valid_o = valid2_q;

  for (genvar i = 0; i < DATA_W / 32; i++) begin : gen_lane
    logic [31:0] a, b, low, int1_q, int2_q;
    logic [15:0] high;
    assign a = a_i[32*i +: 32];
    assign b = b_i[32*i +: 32];
    fp_add_lane #(.FRAC(23)) u_low (
      .clk_i, .valid_i(valid_i && elem_i != arp_pkg::ELEM_INT32), .elem_i, .a_i(a), .b_i(b),
      .sum_o(low));
    fp_add_lane #(.FRAC(10)) u_high (
      .clk_i, .valid_i(valid_i && !elem_i[1]), .elem_i, .a_i(a[31:16]), .b_i(b[31:16]),
      .sum_o(high));
    always_ff @(posedge clk_i) begin
      if (valid_i && elem_i == arp_pkg::ELEM_INT32) int1_q <= a + b;
      if (valid1_q && elem1_q == arp_pkg::ELEM_INT32) int2_q <= int1_q;
    end
    always_comb begin
      sum_o[32*i +: 32] = {high, low[15:0]};
      if (elem2_q == arp_pkg::ELEM_FP32) sum_o[32*i +: 32] = low;
      if (elem2_q == arp_pkg::ELEM_INT32) sum_o[32*i +: 32] = int2_q;
    end
  end
endmodule
