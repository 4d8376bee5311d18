// SPDX-License-Identifier: Apache-2.0
// What follows from the base round trip and the telemetry's units: 1/T and the load of one unit of
// queue by a divider of one bit per cycle (100 cycles after a change, ready_o low meanwhile), the
// rest by products. T below 512 ns is taken as 512 ns, a multi of 0 as 1.
module hpcc_constants (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic [19:0] base_rtt_i,  // ns
    input  logic [7:0]  int_multi_i,
    output logic        ready_o,
    output hpcc_pkg::constants_t constants_o
);
  localparam int unsigned BITS = 48;
  // 25 Gb/s are 3.125 bytes per ns: 128 and 80 bytes are 40.96 and 25.6 ns. 1 kb/s is 1.25e-7.
  localparam logic [25:0] NS_PER_TX = 26'd42949673;   // 2^-20
  localparam logic [29:0] BYTES = 30'd562949954;      // per ns at 1 kb/s, 2^-52, rounded up
  logic [19:0] t_q;
  logic [7:0]  multi_q;
  logic        busy_q, second_q;
  logic [5:0]  left_q;
  logic [BITS-1:0] num_q;        // the numerator, then the quotient
  logic [22:0] rest_q;
  logic [31:0] inv_t_q;
  logic [35:0] k_q_q;
  logic [33:0] k_tx_q;
  logic [49:0] k_win_q;
  logic [22:0] den;
  logic [23:0] part, less;
  logic [19:0] t_now;
  logic        fits, changed;
  logic [BITS-1:0] num_d;
  assign den = second_q ? 23'(t_q) * 23'd5 : 23'(t_q);
  assign part = {rest_q, num_q[BITS-1]};
  assign fits = part >= 24'(den);
  assign less = part - 24'(den);
  assign num_d = {num_q[BITS-2:0], fits};
  assign t_now = (base_rtt_i < 20'd512) ? 20'd512 : base_rtt_i;
  assign changed = t_q != t_now ||
      multi_q != ((int_multi_i == 8'd0) ? 8'd1 : int_multi_i);
  assign ready_o = !busy_q && !changed;
  always_ff @(posedge clk_i) begin
    if (busy_q) begin
      num_q <= num_d;
      rest_q <= fits ? less[22:0] : part[22:0];
      left_q <= left_q - 6'd1;
      if (left_q == 6'd0) begin
        left_q <= 6'(BITS - 1);
        rest_q <= '0;
        second_q <= 1'b1;
        num_q <= {1'b0, multi_q, 39'd0} + BITS'(t_q * 2);
        if (second_q) begin
          k_q_q <= num_d[35:0];
          busy_q <= 1'b0;
        end else begin
          inv_t_q <= num_d[31:0];
        end
      end
      k_tx_q <= 34'(multi_q) * 34'(NS_PER_TX);
      k_win_q <= 50'(t_q) * 50'(BYTES) + 50'd4095;
    end
    if (rst_i || (!busy_q && changed)) begin
      busy_q <= 1'b1;
      second_q <= 1'b0;
      left_q <= 6'(BITS - 1);
      t_q <= t_now;
      multi_q <= (int_multi_i == 8'd0) ? 8'd1 : int_multi_i;
      num_q <= 48'h100_0000_0000 + BITS'(t_now[19:1]);
      rest_q <= '0;
    end
  end
  always_comb begin
    constants_o.t = t_q;
    constants_o.inv_t = inv_t_q;
    constants_o.k_q = k_q_q;
    constants_o.k_tx = k_tx_q;
    constants_o.k_win = k_win_q[49:12];
  end
  logic unused;
  assign unused = ^{k_win_q[11:0], less[23]};
endmodule
