// SPDX-License-Identifier: Apache-2.0
// Constant 32 x 32 matrix over GF(2): q = M d. Combinational.
//
// Two forms of the same function. TABLES = 1, for simulation: one table of 256 entries per byte of
// d, constants that all instances share. TABLES = 0, for synthesis: 32 parities.
module crc32_word #(
  parameter logic [1023:0] COLS = '0,      // column c = image of bit c, [c*32 +: 32]
  parameter bit            TABLES = 1'b0
) (
  input  logic [31:0] d_i,
  output logic [31:0] q_o
);
  if (TABLES) begin : gen_tables
    logic [31:0] q0, q1, q2, q3;
    assign q_o = q0 ^ q1 ^ q2 ^ q3;
    for (genvar n = 0; n < 4; n++) begin : gen_byte
      localparam logic [255:0] C = COLS[n*256+:256];
      // Table of k bits: the table of k-1 bits, and once more with the column of bit k-1 added.
      localparam logic [63:0] T1 = {C[31:0], 32'd0};
      localparam logic [127:0] T2 = {T1 ^ {2{C[63:32]}}, T1};
      localparam logic [255:0] T3 = {T2 ^ {4{C[95:64]}}, T2};
      localparam logic [511:0] T4 = {T3 ^ {8{C[127:96]}}, T3};
      localparam logic [1023:0] T5 = {T4 ^ {16{C[159:128]}}, T4};
      localparam logic [2047:0] T6 = {T5 ^ {32{C[191:160]}}, T5};
      localparam logic [4095:0] T7 = {T6 ^ {64{C[223:192]}}, T6};
      localparam logic [8191:0] T8 = {T7 ^ {128{C[255:224]}}, T7};
      if (n == 0) begin : gen_n0
        assign q0 = T8[{d_i[7:0], 5'd0}+:32];
      end else if (n == 1) begin : gen_n1
        assign q1 = T8[{d_i[15:8], 5'd0}+:32];
      end else if (n == 2) begin : gen_n2
        assign q2 = T8[{d_i[23:16], 5'd0}+:32];
      end else begin : gen_n3
        assign q3 = T8[{d_i[31:24], 5'd0}+:32];
      end
    end
  end else begin : gen_parity
    for (genvar r = 0; r < 32; r++) begin : gen_row
      logic [31:0] row;
      for (genvar c = 0; c < 32; c++) begin : gen_col
        assign row[c] = COLS[c*32+r];
      end
      assign q_o[r] = ^(d_i & row);
    end
  end
endmodule
