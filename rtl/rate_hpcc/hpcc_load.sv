// SPDX-License-Identifier: Apache-2.0
// The load of a hop between two telemetries: bytes moved / (time * B) + least queue / (B * T), and
// the part of T that the time is. One hop per cycle, latency 16 cycles of en_i. Bytes faster than
// tx_limit_i times the link count as that (over_o), a load from 4096 up as just below it.
module hpcc_load (
    input  logic             clk_i,
    input  logic             en_i,
    input  hpcc_pkg::constants_t constants_i,
    input  logic [7:0]       tx_limit_i,  // 0: none
    input  logic             on_i,        // 0: no load and no time
    input  hpcc_pkg::hop_t   now_i,
    input  hpcc_pkg::hop_t   old_i,
    output logic [35:0]      u_o,         // 2^-24
    output logic [28:0]      part_o,      // min(time, T) / T, 2^-28
    output logic [19:0]      tau_o,       // min(time, T), ns
    output logic             over_o
);
  localparam int unsigned SIDE = 15;
  localparam int unsigned SW = 65;
  localparam logic [28:0] ONE = 29'h1000_0000;
  // Stage n is side_q[n]: on, time, bytes, queue, link.
  logic [SW-1:0] side_q [1:SIDE];
  logic [SW-1:0] s10, s12, s14, s15;
  logic [23:0]   dt;
  logic [19:0]   dtx;
  assign dt = now_i.ts - old_i.ts;
  assign dtx = now_i.tx - old_i.tx;
  assign s10 = side_q[10];
  assign s12 = side_q[12];
  assign s14 = side_q[14];
  assign s15 = side_q[15];

  logic [SW-1:0] s1;
  logic [5:0]  e_pre;
  logic [27:0] r;
  assign s1 = side_q[1];
  hpcc_recip u_recip (
      .clk_i,
      .en_i,
      .x_i(36'(s1[63:40])),
      .e_pre_o(e_pre),
      .r_o(r)
  );

  // Bytes: product at 11, 12; shifted at 13; times 1/m at 14, 15.
  logic [53:0] num_q, num_d_q;
  logic [57:0] num_shift;
  logic [36:0] num_s_q;
  logic [64:0] prod_q, prod_d_q;
  logic [37:0] moved, moved_most;
  logic        fast;
  assign num_shift = {num_d_q, 4'd0} >> (6'(e_pre) + 6'(s12[2:0]));
  assign moved = prod_d_q[64:27];
  assign fast = tx_limit_i != '0 && moved > {6'd0, tx_limit_i, 24'd0};
  // Queue: product at 13, 14; shifted at 15.
  logic [52:0] queue_q, queue_d_q;
  logic [44:0] queue_shift;
  logic [35:0] queue_s_q;
  assign queue_shift = queue_d_q[52:8] >> s14[2:0];
  // Time: product at 13, 14; rounded at 15.
  logic [51:0] part_q, part_d_q;
  logic [28:0] part_s_q;
  logic        whole15;
  logic [37:0] sum;
  assign whole15 = s15[63:40] >= 24'(constants_i.t);
  assign moved_most = fast ? {6'd0, tx_limit_i, 24'd0} : moved;
  assign sum = moved_most + 38'(queue_s_q);
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      side_q[1] <= {on_i, on_i ? dt : 24'd1, dtx, (now_i.q < old_i.q) ? now_i.q : old_i.q, now_i.b};
      for (int n = 2; n <= SIDE; n++) side_q[n] <= side_q[n-1];
      num_q <= 54'(s10[39:20]) * 54'(constants_i.k_tx);
      num_d_q <= num_q;
      num_s_q <= (num_shift[57:37] != '0) ? '1 : num_shift[36:0];
      prod_q <= 65'(num_s_q) * 65'(r);
      prod_d_q <= prod_q;
      queue_q <= 53'(s12[19:3]) * 53'(constants_i.k_q);
      queue_d_q <= queue_q;
      queue_s_q <= (queue_shift[44:36] != '0) ? '1 : queue_shift[35:0];
      part_q <= 52'(s12[59:40]) * 52'(constants_i.inv_t);
      part_d_q <= part_q;
      part_s_q <= 29'((part_d_q + 52'd2048) >> 12);
      u_o <= !s15[64] ? '0 : sum[37:36] != '0 ? '1 : sum[35:0];
      part_o <= !s15[64] ? '0 : whole15 ? ONE : part_s_q;
      tau_o <= !s15[64] ? '0 : whole15 ? constants_i.t : s15[59:40];
      over_o <= s15[64] && fast;
    end
  end
  logic unused;
  assign unused = ^{old_i.b, s1, s10, s12, s14, s15, prod_d_q[26:0], queue_d_q[7:0],
      constants_i.k_win};
endmodule
