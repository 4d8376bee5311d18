// SPDX-License-Identifier: Apache-2.0
// Powers of 1 - g: (1-g)^n is one product of three entries, one per hexadecimal digit of n below
// 4096. A change of g fills the tables anew (ready_o low meanwhile): 3,841 powers one behind the
// other, two cycles each, with 32 fraction bits. Entries have 24 fraction bits, rounded.
module dcqcn_powers (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [16:0] g_i,       // 2^-16
    output logic        ready_o,
    input  logic [3:0]  digit0_i, digit1_i, digit2_i,
    output logic [24:0] power0_o, power1_o, power2_o
);
  localparam logic [11:0] LAST = 12'd3840;
  logic [24:0] power0_mem [16];
  logic [24:0] power1_mem [16];
  logic [24:0] power2_mem [16];
  logic [16:0] g_q;
  logic [32:0] x_q;               // (1-g)^n, 2^-32
  logic [49:0] xg_q;
  logic [11:0] n_q;
  logic        busy_q, second_q;
  logic [24:0] entry;
  logic [33:0] cut;
  assign entry = 25'((34'(x_q) + 34'd128) >> 8);
  assign cut = 34'((51'(xg_q) + 51'd32768) >> 16);
  assign ready_o = !busy_q && g_q == g_i;
  assign power0_o = power0_mem[digit0_i];
  assign power1_o = power1_mem[digit1_i];
  assign power2_o = power2_mem[digit2_i];
  always_ff @(posedge clk_i) begin
    if (busy_q && !second_q) begin
      if (n_q < 12'd16) power0_mem[n_q[3:0]] <= entry;
      if (n_q[3:0] == 4'd0 && n_q < 12'd256) power1_mem[n_q[7:4]] <= entry;
      if (n_q[7:0] == 8'd0) power2_mem[n_q[11:8]] <= entry;
      xg_q <= x_q * g_q;
    end
    if (busy_q && second_q) begin
      x_q <= x_q - cut[32:0];
      n_q <= n_q + 12'd1;
      if (n_q == LAST) busy_q <= 1'b0;
    end
    if (busy_q) second_q <= !second_q;
    if (rst_i || (!busy_q && g_q != g_i)) begin
      busy_q <= 1'b1;
      second_q <= 1'b0;
      g_q <= g_i;
      n_q <= 12'd0;
      x_q <= 33'h1_0000_0000;
    end
  end
  logic unused;
  assign unused = cut[33];
endmodule
