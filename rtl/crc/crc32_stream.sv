// SPDX-License-Identifier: Apache-2.0
// CRC-32 (IEEE 802.3) of packets that arrive as beats of DATA_W bits.
//
// One beat per cycle, packets back to back. A last beat taken in cycle c gives crc_valid_o in cycle
// c + 3 + UNDO_STAGES. Results come in the order of the packets. Nothing is dropped; en_i = 0 holds
// every stage.
//
// Stage 1 multiplies each 32-bit word of the beat by its part of the matrix, stage 2 adds the words
// up, stage 3 is the only loop: register' = A^B register + beat. The last beat counts as full,
// filled up with zero bytes; the last UNDO_STAGES stages take these back with inverse matrices of
// 1, 2, 4, ... zero bytes.
`include "rnic_assert.svh"
module crc32_stream #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned UNDO_STAGES = 1,  // 0, 1, 2
`ifdef VERILATOR
  parameter bit TABLES = 1'b1
`else
  parameter bit TABLES = 1'b0
`endif
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic              en_i,
  input  logic              valid_i,
  input  logic [DATA_W-1:0] data_i,        // lanes from cnt_i on are zero
  input  logic [7:0]        cnt_i,
  input  logic              first_i,
  input  logic              last_i,
  input  logic [31:0]       init_i,        // register before the first beat
  output logic              crc_valid_o,
  output logic [31:0]       crc_reg_o,     // register after the last byte, before the final XOR
  output logic [7:0]        crc_zeros_o    // B - cnt of the last beat
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned WORDS = DATA_W / 32;
  // A^B of the register equals the first word's matrix: the register is added to the first four
  // bytes.
  localparam logic [1023:0] HEAD = crc32_pkg::COLS[(B-4)*256+:1024];

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("crc32_stream: DATA_W must be 128, 256, 512 or 1024");
  end
  if (UNDO_STAGES > 2) begin : gen_bad_undo
    $error("crc32_stream: UNDO_STAGES must be 0, 1 or 2");
  end

  // ---------------------------------------------------------------------------- stage 1: words
  logic [DATA_W-1:0] words;
  logic              v1_q, first1_q, last1_q;
  logic [7:0]        zeros1_q;
  logic [31:0]       init1_q;

  for (genvar w = 0; w < WORDS; w++) begin : gen_word
    // Columns of a 32-bit word stand byte by byte with falling distance from the end.
    localparam int unsigned D = B - 4 - 4 * w;  // distance of its last byte
    localparam logic [1023:0] M = {crc32_pkg::COLS[D*256+:256], crc32_pkg::COLS[(D+1)*256+:256],
                                   crc32_pkg::COLS[(D+2)*256+:256],
                                   crc32_pkg::COLS[(D+3)*256+:256]};
    logic [31:0] product, product_q;
    crc32_word #(.COLS(M), .TABLES(TABLES)) u_word (.d_i(data_i[w*32+:32]), .q_o(product));
    always_ff @(posedge clk_i) begin
      if (en_i && valid_i) product_q <= product;
    end
    assign words[w*32+:32] = product_q;
  end

  always_ff @(posedge clk_i) begin
    if (en_i && valid_i) begin
      first1_q <= first_i;
      last1_q  <= last_i;
      zeros1_q <= 8'(B) - cnt_i;
      if (first_i) init1_q <= init_i;
    end
    if (en_i) v1_q <= valid_i;
    if (rst_i) v1_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------ stage 2: sum
  logic [31:0] sum;
  logic [31:0] sum_q, init2_q;
  logic        v2_q, first2_q, last2_q;
  logic [7:0]  zeros2_q;

  always_comb begin
    sum = 32'd0;
    if (v1_q) begin
      for (int unsigned w = 0; w < WORDS; w++) sum = sum ^ words[w*32+:32];
    end
  end

  always_ff @(posedge clk_i) begin
    if (en_i && v1_q) begin
      sum_q    <= sum;
      init2_q  <= init1_q;
      first2_q <= first1_q;
      last2_q  <= last1_q;
      zeros2_q <= zeros1_q;
    end
    if (en_i) v2_q <= v1_q;
    if (rst_i) v2_q <= 1'b0;
  end

  // -------------------------------------------------------------------------- stage 3: register
  logic [31:0] reg_q, prior, after_zeros;
  logic        v3_q;  // a packet's register is complete
  logic [7:0]  zeros3_q;

  assign prior = first2_q ? init2_q : reg_q;
  crc32_word #(.COLS({HEAD[255:0], HEAD[511:256], HEAD[767:512], HEAD[1023:768]}), .TABLES(TABLES))
      u_loop (.d_i(prior), .q_o(after_zeros));

  always_ff @(posedge clk_i) begin
    if (en_i && v2_q) begin
      reg_q    <= after_zeros ^ sum_q;
      zeros3_q <= zeros2_q;
    end
    if (en_i) v3_q <= v2_q && last2_q;
    if (rst_i) v3_q <= 1'b0;
  end

  // ----------------------------------------------------------------- stages 4, 5: undo the zeros
  if (UNDO_STAGES == 0) begin : gen_no_undo
    assign crc_valid_o = v3_q;
    assign crc_reg_o   = reg_q;
    assign crc_zeros_o = zeros3_q;
  end else begin : gen_undo
    localparam int unsigned CUT = UNDO_STAGES == 2 ? 4 : 0;  // register in front of step CUT
    logic [31:0] u0, u1, u2, u3, u4, u5, u6, u7;
    logic [31:0] m0, m1, m2, m3, m4, m5, m6;
    logic [31:0] mid;
    logic [7:0]  mid_zeros;
    logic        mid_valid;
    logic [3:0]  za;  // steps to take in the first part
    logic [2:0]  zb;  // and in the second

    assign za = v3_q ? zeros3_q[3:0] : 4'd0;
    assign zb = mid_valid ? mid_zeros[6:4] : 3'd0;

    crc32_word #(.COLS(crc32_pkg::UNDO[0*1024+:1024]), .TABLES(TABLES)) u_m0 (.d_i(u0), .q_o(m0));
    crc32_word #(.COLS(crc32_pkg::UNDO[1*1024+:1024]), .TABLES(TABLES)) u_m1 (.d_i(u1), .q_o(m1));
    crc32_word #(.COLS(crc32_pkg::UNDO[2*1024+:1024]), .TABLES(TABLES)) u_m2 (.d_i(u2), .q_o(m2));
    crc32_word #(.COLS(crc32_pkg::UNDO[3*1024+:1024]), .TABLES(TABLES)) u_m3 (.d_i(u3), .q_o(m3));
    crc32_word #(.COLS(crc32_pkg::UNDO[4*1024+:1024]), .TABLES(TABLES)) u_m4 (.d_i(u4), .q_o(m4));
    crc32_word #(.COLS(crc32_pkg::UNDO[5*1024+:1024]), .TABLES(TABLES)) u_m5 (.d_i(u5), .q_o(m5));
    crc32_word #(.COLS(crc32_pkg::UNDO[6*1024+:1024]), .TABLES(TABLES)) u_m6 (.d_i(u6), .q_o(m6));

    assign u1 = za[0] ? m0 : u0;
    assign u2 = za[1] ? m1 : u1;
    assign u3 = za[2] ? m2 : u2;
    assign mid = za[3] ? m3 : u3;
    assign u5 = zb[0] ? m4 : u4;
    assign u6 = zb[1] ? m5 : u5;
    assign u7 = zb[2] ? m6 : u6;
    assign u0 = reg_q;

    if (CUT == 0) begin : gen_one
      assign u4 = mid;
      assign mid_zeros = zeros3_q;
      assign mid_valid = v3_q;
    end else begin : gen_two
      logic [31:0] mid_q;
      logic [7:0]  mid_zeros_q;
      logic        mid_valid_q;
      always_ff @(posedge clk_i) begin
        if (en_i && v3_q) begin
          mid_q       <= mid;
          mid_zeros_q <= zeros3_q;
        end
        if (en_i) mid_valid_q <= v3_q;
        if (rst_i) mid_valid_q <= 1'b0;
      end
      assign u4 = mid_q;
      assign mid_zeros = mid_zeros_q;
      assign mid_valid = mid_valid_q;
    end

    logic [31:0] out_q;
    logic [7:0]  zeros_q;
    logic        valid_q;
    always_ff @(posedge clk_i) begin
      if (en_i && mid_valid) begin
        out_q   <= u7;
        zeros_q <= mid_zeros;
      end
      if (en_i) valid_q <= mid_valid;
      if (rst_i) valid_q <= 1'b0;
    end
    assign crc_valid_o = valid_q;
    assign crc_reg_o   = out_q;
    assign crc_zeros_o = zeros_q;
  end

  // ------------------------------------------------------------------------------------- checks
  `RNIC_ASSERT(cnt_range, !valid_i || (cnt_i != 8'd0 && cnt_i <= 8'(B)))
  `RNIC_ASSERT(full_before_last, !valid_i || last_i || cnt_i == 8'(B))
endmodule
