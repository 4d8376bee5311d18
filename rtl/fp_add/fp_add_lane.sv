// SPDX-License-Identifier: Apache-2.0
//
// One floating-point adder: FP16 and BF16, and with FRAC 23 also FP32; IEEE 754, round to nearest
// even, subnormals kept, any NaN becomes the quiet canonical one (facts section 9).
//
// One addition per cycle, result two cycles after the operands; no stalls. A 16-bit number lies in
// the low half of the word. Fractions are kept left-aligned: formats differ in where they round and
// in the exponent that means infinity.
module fp_add_lane #(
  parameter int unsigned FRAC = 23  // fraction bits: 10 or 23
) (
  input  logic                            clk_i,
  input  logic                            valid_i,
  input  logic [1:0]                      elem_i,
  input  logic [(FRAC == 23 ? 32 : 16)-1:0] a_i,
  input  logic [(FRAC == 23 ? 32 : 16)-1:0] b_i,
  output logic [(FRAC == 23 ? 32 : 16)-1:0] sum_o
);
  localparam int unsigned W = FRAC == 23 ? 32 : 16;
  localparam int unsigned S = FRAC + 4;       // significand, guard, round, sticky
  localparam int unsigned ALIGN = FRAC + 3;   // the shift that leaves only the sticky bit
  localparam int unsigned AW = $clog2(ALIGN + 1);
  localparam int unsigned P16 = FRAC - 10 + 3;  // last kept bit of FP16 in S bits
  localparam int unsigned P_BF = FRAC - 7 + 3;

  if (FRAC != 10 && FRAC != 23) begin : gen_check_frac
    $error("fp_add_lane: FRAC must be 10 or 23");
  end

  // ------------------------------------------------------------------------------------ stage 1
  logic            a_sign, b_sign;
  logic [7:0]      a_exp, b_exp, top_exp;
  logic [FRAC-1:0] a_frac, b_frac;
  if (FRAC == 23) begin : gen_unpack_32
    always_comb begin
      {a_sign, a_exp, a_frac} = a_i;
      {b_sign, b_exp, b_frac} = b_i;
      top_exp = 8'd255;
      if (elem_i == arp_pkg::ELEM_FP16) begin
        {a_sign, a_exp, a_frac} = {a_i[15], 3'd0, a_i[14:0], 13'd0};
        {b_sign, b_exp, b_frac} = {b_i[15], 3'd0, b_i[14:0], 13'd0};
        top_exp = 8'd31;
      end
      if (elem_i == arp_pkg::ELEM_BF16) begin
        {a_sign, a_exp, a_frac} = {a_i[15:0], 16'd0};
        {b_sign, b_exp, b_frac} = {b_i[15:0], 16'd0};
      end
    end
  end else begin : gen_unpack_16
    always_comb begin
      {a_sign, a_exp, a_frac} = {a_i, 3'd0};
      {b_sign, b_exp, b_frac} = {b_i, 3'd0};
      top_exp = 8'd255;
      if (elem_i == arp_pkg::ELEM_FP16) begin
        {a_sign, a_exp, a_frac} = {a_i[15], 3'd0, a_i[14:0]};
        {b_sign, b_exp, b_frac} = {b_i[15], 3'd0, b_i[14:0]};
        top_exp = 8'd31;
      end
    end
  end

  // x is the larger magnitude. The exponent of a subnormal is that of the least normal number.
  logic            a_larger, x_sign, differ, x_top, y_top, nan;
  logic [7:0]      x_exp, y_exp, x_scale, y_scale, distance;
  logic [FRAC-1:0] x_frac, y_frac;
  logic [AW-1:0]   shift;
  logic [2*ALIGN-1:0] y_wide;
  logic [S-1:0]    y_aligned;
  assign a_larger = {a_exp, a_frac} >= {b_exp, b_frac};
  assign {x_sign, x_exp, x_frac} = a_larger ? {a_sign, a_exp, a_frac} : {b_sign, b_exp, b_frac};
  assign {y_exp, y_frac} = a_larger ? {b_exp, b_frac} : {a_exp, a_frac};
  assign differ = a_sign != b_sign;
  assign x_scale = x_exp == 8'd0 ? 8'd1 : x_exp;
  assign y_scale = y_exp == 8'd0 ? 8'd1 : y_exp;
  assign distance = x_scale - y_scale;
  assign shift = distance > 8'(ALIGN) ? AW'(ALIGN) : distance[AW-1:0];
  assign y_wide = {y_exp != 8'd0, y_frac, 2'd0, ALIGN'(0)} >> shift;
  assign y_aligned = {y_wide[2*ALIGN-1:ALIGN], |y_wide[ALIGN-1:0]};
  assign x_top = x_exp == top_exp;
  assign y_top = y_exp == top_exp;
  assign nan = (x_top && x_frac != '0) || (y_top && (y_frac != '0 || differ));

  logic          sign_q, differ_q, inf_q, nan_q;
  logic [1:0]    elem_q;
  logic [7:0]    scale_q;
  logic [FRAC:0] x_sig_q;
  logic [S-1:0]  y_sig_q;
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      elem_q <= elem_i;
      sign_q <= x_sign;
      differ_q <= differ;
      inf_q <= x_top && !nan;
      nan_q <= nan;
      scale_q <= x_scale;
      x_sig_q <= {x_exp != 8'd0, x_frac};
      y_sig_q <= y_aligned;
    end
  end

  // ------------------------------------------------------------------------------------ stage 2
  // The sum is moved until its first one is at the top, but never below the scale of subnormals:
  // a one at that place stops the search.
  logic [S:0]    total;
  logic [S-1:0]  stop, normal;
  logic [7:0]    low_scale;
  logic [31:0]   find;
  logic [4:0]    zeros;
  logic [8:0]    exponent;
  assign total = differ_q ? {1'b0, x_sig_q, 3'd0} - {1'b0, y_sig_q}
                          : {1'b0, x_sig_q, 3'd0} + {1'b0, y_sig_q};
  assign low_scale = scale_q - 8'd1;
  assign stop = low_scale < 8'(S) ? {1'b1, {(S-1){1'b0}}} >> low_scale[4:0] : '0;
  always_comb begin
    find = {total[S-1:0] | stop, {(32-S){1'b0}}};
    zeros = 5'd0;
    for (int k = 4; k >= 0; k--) begin
      if (find >> (32 - (1 << k)) == 32'd0) begin
        zeros[k] = 1'b1;
        find = find << (1 << k);
      end
    end
  end

  always_comb begin
    normal = total[S-1:0] << zeros;
    exponent = {1'b0, scale_q} - {4'd0, zeros};
    if (!normal[S-1]) exponent = 9'd0;  // subnormal or zero
    if (total[S]) begin
      normal = {total[S:2], total[1] | total[0]};
      exponent = {1'b0, scale_q} + 9'd1;
    end
  end

  // Rounding adds one at the last kept bit; a carry goes on into the exponent.
  logic              last, guard, rest, overflow, sign;
  logic [FRAC+8:0]   rounded;
  logic [FRAC-1:0]   frac;
  logic [FRAC+8:0]   unit;
  always_comb begin
    last = normal[3];
    guard = normal[2];
    rest = |normal[1:0];
    unit = (FRAC+9)'(1);
    if (elem_q == arp_pkg::ELEM_FP16) begin
      last = normal[P16];
      guard = normal[P16-1];
      rest = |normal[P16-2:0];
      unit = (FRAC+9)'(1) << (P16 - 3);
    end
    if (elem_q == arp_pkg::ELEM_BF16) begin
      last = normal[P_BF];
      guard = normal[P_BF-1];
      rest = |normal[P_BF-2:0];
      unit = (FRAC+9)'(1) << (P_BF - 3);
    end
    rounded = {exponent, normal[S-2:3]};
    if (guard && (last || rest)) rounded = rounded + unit;
    overflow = rounded[FRAC+8:FRAC] >= (elem_q == arp_pkg::ELEM_FP16 ? 9'd31 : 9'd255);
    frac = nan_q ? {1'b1, {(FRAC-1){1'b0}}} : (inf_q || overflow) ? '0 : rounded[FRAC-1:0];
    sign = sign_q && !nan_q && !(differ_q && total == '0 && !inf_q);
  end

  logic       special;
  logic [7:0] exp_out;
  assign special = nan_q || inf_q || overflow;
  assign exp_out = special ? 8'hFF : rounded[FRAC+7:FRAC];

  logic         valid_q;
  logic [W-1:0] word;
  if (FRAC == 23) begin : gen_pack_32
    always_comb begin
      word = {sign, exp_out, frac};
      if (elem_q == arp_pkg::ELEM_FP16) word = {16'd0, sign, exp_out[4:0], frac[22:13]};
      if (elem_q == arp_pkg::ELEM_BF16) word = {16'd0, sign, exp_out, frac[22:16]};
    end
  end else begin : gen_pack_16
    always_comb begin
      word = {sign, exp_out, frac[9:3]};
      if (elem_q == arp_pkg::ELEM_FP16) word = {sign, exp_out[4:0], frac};
    end
  end
  always_ff @(posedge clk_i) begin
    valid_q <= valid_i;
    if (valid_q) sum_o <= word;
  end
endmodule
