// SPDX-License-Identifier: Apache-2.0
// U and the rate behind a load: U <- U + (u - U) * part; from eta up, or at the last stage, Rc *
// eta / U + ai, else Rc + ai, between the bounds. Without full only U is new, with hold nothing,
// and the rate is Rc. One step per cycle, latency 20 cycles of en_i.
module hpcc_step (
    input  logic             clk_i,
    input  logic             en_i,
    input  hpcc_pkg::cfg_t   cfg_i,
    input  logic             hold_i,
    input  logic             full_i,
    input  logic [35:0]      load_i,     // 2^-24
    input  logic [28:0]      part_i,     // 2^-28
    input  logic [35:0]      u_i,
    input  logic [29:0]      rc_i,
    input  logic [7:0]       stage_i,
    output logic [35:0]      u_o,
    output logic [29:0]      rc_o,
    output logic [7:0]       stage_o,
    output logic [29:0]      rate_o
);
  localparam int unsigned SW = 76;
  // Stages 1 to 3: hold, full, U, Rc, stage; from 4 with the new U.
  logic [SW-1:0] side_q [1:19];
  logic [SW-1:0] s3, s4, s14, s19;
  assign s3 = side_q[3];
  assign s4 = side_q[4];
  assign s14 = side_q[14];
  assign s19 = side_q[19];

  logic signed [36:0] gap_q;
  logic signed [29:0] part_q;
  logic signed [66:0] move_q, move_d_q;
  logic signed [66:0] move_r;
  logic [37:0]        u_new;
  assign move_r = move_d_q + 67'sh800_0000;
  assign u_new = 38'(s3[73:38]) + move_r[65:28];

  logic [5:0]  e_pre;
  logic [5:0]  e_q [3];
  logic [27:0] r;
  hpcc_recip u_recip (
      .clk_i,
      .en_i,
      .x_i(s4[73:38]),
      .e_pre_o(e_pre),
      .r_o(r)
  );
  logic [53:0] goal_q;
  logic [35:0] goal_d_q;       // Rc * eta, 2^-6 kb/s
  logic [63:0] quot_q, quot_d_q, quot_shift;
  logic [29:0] less_q;
  logic [35:0] u19;
  logic [29:0] rc19, base, limited;
  logic [30:0] raised;
  logic        divide;
  assign quot_shift = quot_d_q >> (7'd9 + 7'(e_q[2]));
  assign u19 = s19[73:38];
  assign rc19 = s19[37:8];
  assign divide = u19 >= 36'(cfg_i.eta) || s19[7:0] >= cfg_i.max_stage;
  assign base = !divide ? rc19 : (u19 == '0) ? cfg_i.line : less_q;
  assign raised = 31'(base) + 31'(cfg_i.ai);
  assign limited = (raised > 31'(cfg_i.line)) ? cfg_i.line :
      (raised < 31'(cfg_i.floor)) ? cfg_i.floor : raised[29:0];
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      side_q[1] <= {hold_i, full_i, u_i, rc_i, stage_i};
      side_q[2] <= side_q[1];
      side_q[3] <= side_q[2];
      side_q[4] <= {s3[75:74], u_new[35:0], s3[37:0]};
      for (int n = 5; n < 20; n++) side_q[n] <= side_q[n-1];
      gap_q <= $signed({1'b0, load_i}) - $signed({1'b0, u_i});
      part_q <= hold_i ? '0 : $signed({1'b0, part_i});
      move_q <= 67'(gap_q) * 67'(part_q);
      move_d_q <= move_q;
      goal_q <= 54'(s14[37:8]) * 54'(cfg_i.eta);
      goal_d_q <= goal_q[53:18];
      e_q[0] <= e_pre;
      e_q[1] <= e_q[0];
      e_q[2] <= e_q[1];
      quot_q <= 64'(goal_d_q) * 64'(r);
      quot_d_q <= quot_q;
      less_q <= (quot_shift[63:30] != '0) ? '1 : quot_shift[29:0];
      u_o <= u19;
      rc_o <= (s19[75] || !s19[74]) ? rc19 : limited;
      stage_o <= (s19[75] || !s19[74]) ? s19[7:0] : divide ? 8'd0 : s19[7:0] + 8'd1;
      rate_o <= s19[75] ? rc19 : limited;
    end
  end
  logic unused;
  assign unused = ^{cfg_i, s3, s4, s14, goal_q[17:0], move_r[66], move_r[27:0],
      u_new[37:36]};
endmodule
