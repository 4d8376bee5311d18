// SPDX-License-Identifier: Apache-2.0
// Reciprocal: x = m * 2^e with 1 <= m < 2 gives r = 1/m and e. A table of 64 entries and two steps
// of Newton; relative error below 2^-25. One operand per cycle, latency 12 cycles of en_i. x = 0
// gives nonsense.
module hpcc_recip (
    input  logic        clk_i,
    input  logic        en_i,
    input  logic [35:0] x_i,
    output logic [5:0]  e_pre_o,  // one cycle ahead of r_o
    output logic [27:0] r_o       // 2^-27
);
  localparam int unsigned LATENCY = 12;
  // 2^9 / middle of the interval of m, rounded.
  logic [639:0] rom;
  for (genvar i = 0; i < 64; i++) begin : gen_rom
    assign rom[10*i +: 10] = 10'((65536 + (129 + 2 * i) / 2) / (129 + 2 * i));
  end

  logic [5:0]  first_one;
  logic [5:0]  e_q [LATENCY];
  logic [35:0] x_q;
  logic [35:0] norm;
  logic [26:0] m_q [5];          // stages 2 to 6, 2^-26
  logic [9:0]  r0_q [3];         // stages 3 to 5, 2^-9
  logic [36:0] t0_q;
  logic [21:0] d0_q;             // 2^-20
  logic [20:0] r1_q [4];         // stages 6 to 9, 2^-20
  logic [47:0] t1_q, t1_d_q;
  logic [31:0] d1_q;             // 2^-30
  logic [52:0] p_q, p_d_q;
  logic [36:0] d0;
  logic [31:0] r1;
  logic [47:0] d1;
  logic [52:0] rounded;
  always_comb begin
    first_one = 6'd0;
    for (int i = 0; i < 36; i++) begin
      if (x_i[i]) first_one = 6'(i);
    end
  end
  assign norm = x_q << (6'd35 - e_q[0]);
  assign d0 = 37'h10_0000_0000 - t0_q;
  assign r1 = 32'(r0_q[2]) * 32'(d0_q);
  assign d1 = 48'h8000_0000_0000 - t1_d_q;
  assign rounded = p_d_q + 53'h40_0000;
  assign e_pre_o = e_q[LATENCY-2];
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      e_q[0] <= first_one;
      for (int n = 1; n < LATENCY; n++) e_q[n] <= e_q[n-1];
      x_q <= x_i;
      m_q[0] <= norm[35:9];
      for (int n = 1; n < 5; n++) m_q[n] <= m_q[n-1];
      r0_q[0] <= rom[10 * 10'(m_q[0][25:20]) +: 10];
      for (int n = 1; n < 3; n++) r0_q[n] <= r0_q[n-1];
      t0_q <= 37'(m_q[1]) * 37'(r0_q[0]);
      d0_q <= d0[36:15];
      r1_q[0] <= r1[29:9];
      for (int n = 1; n < 4; n++) r1_q[n] <= r1_q[n-1];
      t1_q <= 48'(m_q[4]) * 48'(r1_q[0]);
      t1_d_q <= t1_q;
      d1_q <= d1[47:16];
      p_q <= 53'(r1_q[3]) * 53'(d1_q);
      p_d_q <= p_q;
      r_o <= rounded[50:23];
    end
  end
  logic unused;
  assign unused = ^{norm[8:0], d0[14:0], r1[31:30], r1[8:0], d1[15:0], rounded[52:51],
      rounded[22:0], e_q[LATENCY-1]};
endmodule
