// SPDX-License-Identifier: Apache-2.0
// DCQCN reaction point of all QPs: alpha, rate cuts, fast recovery, additive and hyper increase,
// from CNPs, time and bytes sent. State is exact by time stamps: an event first runs the timers of
// its QP that expired before it, in their order, however late they are served, one pass each.
// Throughput: a pass every 4 cycles for different QPs, one every 44 cycles for one QP; a timer or
// an event is in the rate 41 to 44 cycles after its pass begins. A QP's events stay in order.
// cnp, qp_reset and qry wait (ready depends on state only); tx waits one cycle behind a rate cut.
// Facts: roce.md section 6.
`include "rnic_assert.svh"
module rate_dcqcn #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned TICKS_PER_US = 1000  // of now_i
) (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic        init_done_o,
    output logic        idle_o,        // nothing waits or runs
    input  logic [31:0] now_i,         // time; never runs backwards, wraps
    // parameters: events behind a change follow it
    input  logic        cfg_production_i,
    input  logic        cfg_clamp_i,
    input  logic        cfg_clamp_after_time_i,
    input  logic [29:0] cfg_line_i, cfg_floor_i, cfg_ai_i, cfg_hai_i,  // kb/s
    input  logic [29:0] cfg_first_rate_i,  // kb/s, 0: none
    input  logic [16:0] cfg_first_frac_i,  // 2^-16, 0: all of it
    input  logic [16:0] cfg_g_i, cfg_alpha_init_i, cfg_max_cut_i,  // 2^-16
    input  logic [3:0]  cfg_gd_i,          // a cut takes alpha >> gd
    input  logic [7:0]  cfg_f_i,
    input  logic [31:0] cfg_byte_reset_i,  // bytes, 0: no byte counter
    input  logic [19:0] cfg_alpha_us_i, cfg_dec_us_i, cfg_inc_us_i,  // 0 is taken as 1
    // a QP starts anew, at line rate
    input  logic        qp_reset_valid,
    output logic        qp_reset_ready,
    input  logic [23:0] qp_reset_qpn,
    // a CNP for a QP has come
    input  logic        cnp_valid,
    output logic        cnp_ready,
    input  logic [23:0] cnp_qpn,
    // a packet of a QP is sent
    input  logic        tx_valid,
    output logic        tx_ready,
    input  logic [23:0] tx_qpn,
    input  logic [15:0] tx_bytes,
    // reports the state of a QP, as an event of its own
    input  logic        qry_valid,
    output logic        qry_ready,
    input  logic [23:0] qry_qpn,
    input  logic        qry_inclusive,   // with the timers due at now_i itself
    // the rate of a QP changed (pulse)
    output logic        rate_valid,
    output logic [23:0] rate_qpn,
    output logic [29:0] rate_kbps,
    // every pass (pulse): what it did, when that was due, the state behind it
    output logic        obs_valid,
    output logic [2:0]  obs_op,
    output logic [23:0] obs_qpn,
    output logic [31:0] obs_at,
    output logic [29:0] obs_rate, obs_target,
    output logic [24:0] obs_alpha,       // 2^-24
    output logic [11:0] obs_t_stage, obs_b_stage,
    output logic [1:0]  obs_phase,       // the algorithm's stage
    output logic [1:0]  obs_view,        // the published state's name
    output logic        obs_alpha_flag, obs_dec_flag
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned DEPTH = 2 ** QW;
  localparam int unsigned STEPS = 10;      // of four cycles, in a pass
  localparam int unsigned TMW = 99, ALW = 26, RTW = 87, EVW = 60, PASSW = 261;
  localparam logic [56:0] HALF = 57'd1 << 23;
  if (N_QP < 1 || N_QP > 2 ** 24 || TICKS_PER_US < 1 || TICKS_PER_US > 1000) begin : gen_check
    $error("rate_dcqcn: N_QP 1 to 2^24, TICKS_PER_US 1 to 1000");
  end

  // --------------------------------------------------------------------------------- parameters
  dcqcn_pkg::cfg_t cfg;
  logic            powers_ready;
  logic [30:0]     alpha_ticks_q, dec_ticks_q, inc_ticks_q;
  always_comb begin
    cfg.production = cfg_production_i;
    cfg.clamp = cfg_clamp_i;
    cfg.clamp_after_time = cfg_clamp_after_time_i;
    cfg.line = cfg_line_i;
    cfg.floor = cfg_floor_i;
    cfg.ai = cfg_ai_i;
    cfg.hai = cfg_hai_i;
    cfg.first_rate = cfg_first_rate_i;
    cfg.g = cfg_g_i;
    cfg.alpha_init = cfg_alpha_init_i;
    cfg.first_frac = (cfg_first_frac_i == '0) ? 17'h10000 : cfg_first_frac_i;
    cfg.max_cut = cfg_max_cut_i;
    cfg.gd = cfg_gd_i;
    cfg.f = cfg_f_i;
    cfg.byte_reset = cfg_byte_reset_i;
    cfg.alpha_ticks = alpha_ticks_q;
    cfg.dec_ticks = dec_ticks_q;
    cfg.inc_ticks = inc_ticks_q;
  end
  // Products of registers and a constant, registered.
  logic [19:0] alpha_us, dec_us, inc_us;
  assign alpha_us = (cfg_alpha_us_i == '0) ? 20'd1 : cfg_alpha_us_i;
  assign dec_us = (cfg_dec_us_i == '0) ? 20'd1 : cfg_dec_us_i;
  assign inc_us = (cfg_inc_us_i == '0) ? 20'd1 : cfg_inc_us_i;
  always_ff @(posedge clk_i) begin
    alpha_ticks_q <= 31'(alpha_us) * 31'(TICKS_PER_US);
    dec_ticks_q <= 31'(dec_us) * 31'(TICKS_PER_US);
    inc_ticks_q <= 31'(inc_us) * 31'(TICKS_PER_US);
  end

  // ------------------------------------------------------------------------------- after a reset
  logic          clearing_q;
  logic [QW-1:0] clear_q;
  always_ff @(posedge clk_i) begin
    if (clearing_q) clear_q <= clear_q + QW'(1);
    if (clearing_q && clear_q == QW'(DEPTH - 1)) clearing_q <= 1'b0;
    if (rst_i) begin
      clearing_q <= 1'b1;
      clear_q <= '0;
    end
  end
  assign init_done_o = !clearing_q && powers_ready;

  // -------------------------------------------------------------------------------------- events
  dcqcn_pkg::event_t ev_in, ev_head, ev;
  logic          byte_valid, due_valid, due_ready, ev_in_valid, ev_in_ready, head_valid, head_take;
  logic [QW-1:0] byte_idx, due_idx;
  logic [31:0]   byte_at;
  logic          bytes_idle;
  logic [3:0]    level;
  always_comb begin
    qp_reset_ready = ev_in_ready && !byte_valid;
    cnp_ready = qp_reset_ready && !qp_reset_valid;
    qry_ready = cnp_ready && !cnp_valid;
    due_ready = qry_ready && !qry_valid;
    ev_in.inclusive = 1'b0;
    ev_in.at = now_i;
    ev_in_valid = 1'b1;
    ev_in.kind = dcqcn_pkg::TIMER;
    ev_in.qpn = 24'(due_idx);
    if (byte_valid) begin
      ev_in.kind = dcqcn_pkg::BYTE;
      ev_in.qpn = 24'(byte_idx);
      ev_in.at = byte_at;
    end else if (qp_reset_valid) begin
      ev_in_valid = qp_reset_qpn < 24'(N_QP);
      ev_in.kind = dcqcn_pkg::RESET;
      ev_in.qpn = qp_reset_qpn;
    end else if (cnp_valid) begin
      ev_in_valid = cnp_qpn < 24'(N_QP);
      ev_in.kind = dcqcn_pkg::CNP;
      ev_in.qpn = cnp_qpn;
    end else if (qry_valid) begin
      ev_in_valid = qry_qpn < 24'(N_QP);
      ev_in.kind = dcqcn_pkg::QUERY;
      ev_in.qpn = qry_qpn;
      ev_in.inclusive = qry_inclusive;
    end else begin
      ev_in_valid = due_valid;
    end
  end
  stream_fifo_small #(
      .W(EVW),
      .DEPTH(8),
      .LATENCY(1)
  ) u_events (
      .clk_i,
      .rst_i,
      .in_valid(ev_in_valid && !clearing_q),
      .in_ready(ev_in_ready),
      .in_data(ev_in),
      .out_valid(head_valid),
      .out_ready(head_take),
      .out_data(ev_head),
      .level_o(level)
  );

  // --------------------------------------------------------------------------- steps of a pass
  // A pass begins in turn 3 and moves one step on after every turn 3. Step n is pass_q[n].
  logic [1:0]         turn_q;
  logic               step, enter, head_free, loop_valid_q;
  dcqcn_pkg::event_t  loop_q;
  logic [PASSW-1:0]   pass_q [STEPS];  // of type pass_t
  logic [STEPS-1:0]   same, running;
  assign step = turn_q == 2'd3;
  assign ev = loop_valid_q ? loop_q : ev_head;
  assign head_free = head_valid && same == '0 && !clearing_q && powers_ready;
  assign head_take = step && !loop_valid_q && head_free;
  assign enter = step && (loop_valid_q || head_free);
  for (genvar n = 0; n < STEPS; n++) begin : gen_same
    logic [PASSW-1:0] word;
    assign word = pass_q[n];
    assign running[n] = word[PASSW-1];
    assign same[n] = word[PASSW-1] && word[PASSW-6 -: 24] == ev_head.qpn;
    logic unused;
    assign unused = ^word;
  end

  // Step 0: the timers, what to do.
  dcqcn_pkg::timers_t tm_read, tm_w_q;
  dcqcn_pkg::pass_t   decided, pass0;
  logic [23:0]        qpn_w_q;
  logic               w_q;
  logic [TMW-1:0]     tm_word;
  assign tm_read = tm_word;
  assign pass0 = pass_q[0];
  dcqcn_decide u_decide (
      .cfg_i(cfg),
      .ev_i(pass0.ev),
      .tm_i(tm_read),
      .pass_o(decided)
  );

  // Steps 1 to 3: periods of alpha, and of the rate check, that have passed.
  logic [31:0] alpha_rest, grid_rest;
  logic [11:0] alpha_count, grid_count;
  logic        alpha_over, grid_over;
  dcqcn_periods u_alpha_periods (
      .clk_i,
      .rst_i,
      .turn_i(turn_q),
      .valid_i(pass0.valid && pass0.alpha_due),
      .interval_i(pass0.alpha_last - pass0.tm.alpha_at),
      .period_i(cfg.alpha_ticks),
      .over_o(alpha_over),
      .count_o(alpha_count),
      .rest_o(alpha_rest)
  );
  dcqcn_periods u_grid_periods (
      .clk_i,
      .rst_i,
      .turn_i(turn_q),
      .valid_i(pass0.valid && pass0.grid_due),
      .interval_i(pass0.grid_last - pass0.tm.dec_at),
      .period_i(cfg.dec_ticks),
      .over_o(grid_over),
      .count_o(grid_count),
      .rest_o(grid_rest)
  );

  // Step 4: the timers with these periods counted; more periods than one pass can: only that.
  dcqcn_pkg::pass_t pass4, counted;
  assign pass4 = pass_q[4];
  always_comb begin
    counted = pass4;
    if (pass4.alpha_due) begin
      counted.tm.alpha_at = pass4.alpha_last - alpha_rest + 32'(cfg.alpha_ticks);
      if (alpha_over) begin
        counted.tm.alpha_at = pass4.tm.alpha_at + {cfg.alpha_ticks[19:0], 12'd0};
        counted.op = dcqcn_pkg::ALPHA;
      end
    end
    if (pass4.grid_due) begin
      counted.tm.dec_at = pass4.grid_last - grid_rest + 32'(cfg.dec_ticks);
      if (grid_over) begin
        counted.tm.dec_at = pass4.tm.dec_at + {cfg.dec_ticks[19:0], 12'd0};
        counted.op = dcqcn_pkg::ALPHA;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (running != '0 || head_valid || loop_valid_q || turn_q != 2'd0) turn_q <= turn_q + 2'd1;
    if (turn_q == 2'd0 && pass0.valid) pass_q[0] <= decided;
    if (turn_q == 2'd0 && pass4.valid) pass_q[4] <= counted;
    if (step) begin
      for (int n = 1; n < STEPS; n++) begin
        if (running[n] || running[n-1]) pass_q[n] <= pass_q[n-1];
      end
      if (enter || pass0.valid) pass_q[0] <= {enter, ev, {(PASSW - EVW - 1){1'b0}}};
    end
    if (rst_i) begin
      turn_q <= 2'd0;
      for (int n = 0; n < STEPS; n++) pass_q[n] <= '0;
    end
  end

  // ---------------------------------------------------------------- steps 4 to 8: alpha's periods
  // Two multipliers, each used once per step by every pass on its way. The narrow one ticks alpha
  // (turn 0 of step 4; turn 2 of step 8 for the paper's CNP) and answers 3 cycles later. The wide
  // one answers 5 cycles later: three powers of 1 - g (turn 3 of step 4, 0 of 6, 1 of 7), then
  // what the rate needs (turn 2 of step 8).
  dcqcn_pkg::alpha_t alpha_read, alpha_w_q;
  dcqcn_pkg::pass_t  pass6, pass7, pass8, pass9;
  logic [ALW-1:0]    alpha_word;
  logic [24:0]       alpha_old, alpha_first, alpha_now, alpha_now_q, alpha_end_q;
  logic [24:0]       power0, power1, power2;
  logic [3:0]        digit1_q [3];     // steps 5, 6, 7
  logic [3:0]        digit2_q [3];
  logic              flag_q [5];       // steps 5 to 9: the flag behind the ticks
  assign alpha_read = alpha_word;
  assign pass6 = pass_q[6];
  assign pass7 = pass_q[7];
  assign pass8 = pass_q[8];
  assign pass9 = pass_q[9];
  logic [11:0] ticks;                 // behind the first one
  assign ticks = !pass4.alpha_due ? 12'd0 : alpha_over ? 12'hFFF : alpha_count;

  dcqcn_powers u_powers (
      .clk_i,
      .rst_i,
      .g_i(cfg.g),
      .ready_o(powers_ready),
      .digit0_i(ticks[3:0]),
      .digit1_i(digit1_q[1]),
      .digit2_i(digit2_q[2]),
      .power0_o(power0),
      .power1_o(power1),
      .power2_o(power2)
  );

  // Tick: alpha - g alpha + g, the latter with a CNP.
  logic [24:0] tick_q, tick_from;
  logic [41:0] tick_p_q, tick_r_q;
  logic [25:0] tick_loss, tick_base;
  logic        tick_gain;
  logic [26:0] ticked;
  assign alpha_old = pass4.tm.active ? alpha_read.alpha : {cfg.alpha_init, 8'd0};
  assign tick_loss = tick_r_q[41:16];
  assign tick_base = (turn_q == 2'd3) ? 26'(alpha_old) : 26'(alpha_now_q);
  assign tick_gain = (turn_q == 2'd3) ? alpha_read.flag : 1'b1;
  assign ticked = 27'(tick_base) - 27'(tick_loss) + (tick_gain ? 27'({cfg.g, 8'd0}) : 27'd0);
  assign alpha_first = pass4.alpha_due ? ticked[24:0] : alpha_old;
  assign tick_from = (turn_q == 2'd0) ? alpha_old : alpha_now;

  logic [29:0] mul_a, mul_a_q, rate_old;
  logic [24:0] mul_b, mul_b_q, cut_part, rate_part;
  logic [56:0] mul_p1_q, mul_p2_q, mul_p3_q, mul_r_q;
  logic        mul_use;
  assign alpha_now = mul_r_q[48:24];
  dcqcn_pkg::rates_t rates_read, rates_q, rates_w_q;
  logic [RTW-1:0]    rates_word;
  assign rates_read = rates_word;
  assign rate_old = pass8.tm.active ? rates_read.rate : cfg.line;

  // What the rate is multiplied with; of a hyper step of the paper the number of steps.
  logic [24:0] alpha_shifted, cut_most;
  logic [12:0] t_seen, b_seen, least, hyper_steps;
  logic        hyper;
  assign alpha_shifted = alpha_now >> cfg.gd;
  assign cut_most = {cfg.max_cut, 8'd0};
  assign cut_part = (alpha_shifted < cut_most) ? alpha_shifted : cut_most;
  assign t_seen = 13'(rates_read.t_stage) + 13'(pass8.op == dcqcn_pkg::INC);
  assign b_seen = 13'(rates_read.b_stage) + 13'(pass8.op == dcqcn_pkg::BYTE);
  assign least = (cfg.byte_reset == '0 || t_seen < b_seen) ? t_seen : b_seen;
  assign hyper_steps = (least > 13'(cfg.f)) ? least - 13'(cfg.f) : 13'd0;
  assign hyper = pass8.op == dcqcn_pkg::INC || pass8.op == dcqcn_pkg::BYTE;
  assign rate_part = hyper ? 25'(hyper_steps) :
      (cfg.production && pass8.op == dcqcn_pkg::CNP) ? {cfg.first_frac, 8'd0} : cut_part;
  always_comb begin
    unique case (turn_q)
      2'd3: begin
        mul_use = pass4.valid;
        mul_a = 30'(alpha_first);
        mul_b = power0;
      end
      2'd0: begin
        mul_use = pass6.valid;
        mul_a = 30'(alpha_now);
        mul_b = power1;
      end
      2'd1: begin
        mul_use = pass7.valid;
        mul_a = 30'(alpha_now);
        mul_b = power2;
      end
      default: begin
        mul_use = pass8.valid;
        mul_a = hyper ? cfg.hai : rate_old;
        mul_b = rate_part;
      end
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (running != '0) begin
      if ((turn_q == 2'd0 && pass4.valid) || (turn_q == 2'd2 && pass8.valid)) tick_q <= tick_from;
      tick_p_q <= tick_q * cfg.g;
      tick_r_q <= tick_p_q + 42'd32768;
      if (mul_use) begin
        mul_a_q <= mul_a;
        mul_b_q <= mul_b;
      end
      mul_p1_q <= 57'(mul_a_q) * 57'(mul_b_q);
      mul_p2_q <= mul_p1_q;
      mul_p3_q <= mul_p2_q;
      mul_r_q <= mul_p3_q + HALF;
      if (turn_q == 2'd2 && pass8.valid) alpha_now_q <= alpha_now;
      if (turn_q == 2'd1 && pass9.valid) begin
        alpha_end_q <= (!cfg.production && pass9.op == dcqcn_pkg::CNP) ? ticked[24:0] : alpha_now_q;
      end
      if (step) begin
        digit1_q[0] <= ticks[7:4];
        digit2_q[0] <= ticks[11:8];
        flag_q[0] <= pass4.tm.active && alpha_read.flag && !pass4.alpha_due;
        for (int n = 1; n < 3; n++) begin
          digit1_q[n] <= digit1_q[n-1];
          digit2_q[n] <= digit2_q[n-1];
        end
        for (int n = 1; n < 5; n++) flag_q[n] <= flag_q[n-1];
        rates_q <= rates_read;
      end
    end
  end

  // ------------------------------------------------------------------------- step 9: what is next
  dcqcn_pkg::rates_t  rates_old, rates_new;
  dcqcn_pkg::timers_t tm_new;
  dcqcn_pkg::alpha_t  alpha_in, alpha_new;
  logic               reload, reload_on, reload_q, reload_on_q, again, more_due, finish;
  logic [56:0]        product;
  logic               hyper9;
  logic [31:0]        dec_late, inc_late;
  assign finish = step && pass9.valid;
  assign product = hyper9 ? mul_r_q - HALF : mul_r_q;
  assign hyper9 = pass9.op == dcqcn_pkg::INC || pass9.op == dcqcn_pkg::BYTE;
  always_comb begin
    rates_old = rates_q;
    if (!pass9.tm.active) begin
      rates_old.rate = cfg.line;
      rates_old.target = cfg.line;
      rates_old.t_stage = '0;
      rates_old.b_stage = '0;
      rates_old.phase = dcqcn_pkg::PH_NONE;
      rates_old.again = 1'b0;
    end
    alpha_in.flag = flag_q[4];
    alpha_in.alpha = alpha_end_q;
  end
  dcqcn_next u_next (
      .cfg_i(cfg),
      .op_i(pass9.op),
      .at_i(pass9.at),
      .tm_i(pass9.tm),
      .alpha_i(alpha_in),
      .rates_i(rates_old),
      .product_i(product[54:0]),
      .tm_o(tm_new),
      .alpha_o(alpha_new),
      .rates_o(rates_new),
      .reload_o(reload),
      .reload_on_o(reload_on)
  );
  // A timer or counting came first: the event itself is still to come, a TIMER only if it finds
  // another one.
  assign dec_late = tm_new.dec_at - pass9.ev.at;
  assign inc_late = tm_new.inc_at - pass9.ev.at;
  assign more_due = (tm_new.dec_flag && dec_late[31]) || (tm_new.inc_run && inc_late[31]);
  assign again = pass9.op == dcqcn_pkg::ALPHA || ((pass9.op == dcqcn_pkg::DEC ||
      pass9.op == dcqcn_pkg::INC) && (pass9.ev.kind != dcqcn_pkg::TIMER || more_due));

  logic          armed_old, armed_new, inc_first;
  logic [31:0]   wake_gap, wake_q;
  logic          wake_run_q;
  logic [QW:0]   armed_q;
  assign armed_old = pass9.tm.active && (pass9.tm.inc_run || pass9.tm.dec_flag);
  assign armed_new = tm_new.inc_run || tm_new.dec_flag;
  assign wake_gap = tm_new.inc_at - tm_new.dec_at;
  assign inc_first = tm_new.inc_run && (!tm_new.dec_flag || wake_gap[31]);
  always_ff @(posedge clk_i) begin
    w_q <= finish;
    obs_valid <= finish;
    rate_valid <= finish && (rates_new.rate != rates_old.rate || pass9.op == dcqcn_pkg::RESET);
    reload_q <= finish && reload;
    if (finish) begin
      qpn_w_q <= pass9.ev.qpn;
      tm_w_q <= tm_new;
      alpha_w_q <= alpha_new;
      rates_w_q <= rates_new;
      reload_on_q <= reload_on;
      wake_q <= inc_first ? tm_new.inc_at : tm_new.dec_at;
      wake_run_q <= armed_new;
      armed_q <= armed_q + (QW + 1)'(armed_new) - (QW + 1)'(armed_old);
      obs_op <= pass9.op;
      obs_at <= pass9.at;
      loop_q <= pass9.ev;
    end
    if (step) loop_valid_q <= finish && again;
    if (rst_i) begin
      w_q <= 1'b0;
      obs_valid <= 1'b0;
      rate_valid <= 1'b0;
      reload_q <= 1'b0;
      loop_valid_q <= 1'b0;
      armed_q <= '0;
    end
  end
  assign rate_qpn = qpn_w_q;
  assign rate_kbps = rates_w_q.rate;
  assign obs_qpn = qpn_w_q;
  assign obs_rate = rates_w_q.rate;
  assign obs_target = rates_w_q.target;
  assign obs_alpha = alpha_w_q.alpha;
  assign obs_alpha_flag = alpha_w_q.flag;
  assign obs_dec_flag = tm_w_q.dec_flag;
  assign obs_t_stage = rates_w_q.t_stage;
  assign obs_b_stage = rates_w_q.b_stage;
  assign obs_phase = rates_w_q.phase;
  always_comb begin
    obs_view = dcqcn_pkg::ACTIVE;
    if (rates_w_q.phase == dcqcn_pkg::PH_FAST) begin
      obs_view = rates_w_q.again ? dcqcn_pkg::RECOVERY : dcqcn_pkg::FAST_RECOVERY;
    end else if (rates_w_q.phase != dcqcn_pkg::PH_NONE && rates_w_q.rate < rates_w_q.target) begin
      obs_view = dcqcn_pkg::HYPER_INCREASE;
    end
  end

  // --------------------------------------------------------------------------------------- memory
  // Read one step before use; written in turn 0 behind step 9, before a next pass of the QP reads.
  logic          wr_en;
  logic [QW-1:0] wr_idx;
  dcqcn_pkg::pass_t pass3;
  assign pass3 = pass_q[3];
  assign wr_en = w_q || clearing_q;
  assign wr_idx = clearing_q ? clear_q : qpn_w_q[QW-1:0];
  ram_sdp #(
      .W(TMW),
      .DEPTH(DEPTH)
  ) u_timers (
      .clk_i,
      .wr_en_i(wr_en),
      .wr_addr_i(wr_idx),
      .wr_data_i(clearing_q ? '0 : tm_w_q),
      .rd_en_i(enter),
      .rd_addr_i(ev.qpn[QW-1:0]),
      .rd_data_o(tm_word)
  );
  ram_sdp #(
      .W(ALW),
      .DEPTH(DEPTH)
  ) u_alpha (
      .clk_i,
      .wr_en_i(wr_en),
      .wr_addr_i(wr_idx),
      .wr_data_i(clearing_q ? '0 : alpha_w_q),
      .rd_en_i(step && pass3.valid),
      .rd_addr_i(pass3.ev.qpn[QW-1:0]),
      .rd_data_o(alpha_word)
  );
  ram_sdp #(
      .W(RTW),
      .DEPTH(DEPTH)
  ) u_rates (
      .clk_i,
      .wr_en_i(wr_en),
      .wr_addr_i(wr_idx),
      .wr_data_i(clearing_q ? '0 : rates_w_q),
      .rd_en_i(turn_q == 2'd1 && pass8.valid),
      .rd_addr_i(pass8.ev.qpn[QW-1:0]),
      .rd_data_o(rates_word)
  );

  dcqcn_wake #(
      .N_QP(DEPTH)
  ) u_wake (
      .clk_i,
      .rst_i,
      .now_i,
      .any_i(armed_q != '0 && !clearing_q),
      .wr_en_i(wr_en),
      .wr_idx_i(wr_idx),
      .wr_run_i(wake_run_q && !clearing_q),
      .wr_at_i(wake_q),
      .due_valid(due_valid),
      .due_ready(due_ready),
      .due_idx(due_idx)
  );

  dcqcn_bytes #(
      .N_QP(DEPTH)
  ) u_bytes (
      .clk_i,
      .rst_i,
      .clear_i(clearing_q),
      .clear_idx_i(clear_q),
      .now_i,
      .reset_i(cfg.byte_reset),
      .idle_o(bytes_idle),
      .tx_valid(tx_valid && tx_qpn < 24'(N_QP)),
      .tx_ready,
      .tx_idx(tx_qpn[QW-1:0]),
      .tx_bytes,
      .reload_valid(reload_q),
      .reload_on(reload_on_q),
      .reload_idx(qpn_w_q[QW-1:0]),
      .expire_valid(byte_valid),
      .expire_ready(ev_in_ready),
      .expire_idx(byte_idx),
      .expire_at(byte_at)
  );

  assign idle_o = !head_valid && level == '0 && running == '0 && !loop_valid_q && !w_q &&
      bytes_idle && !clearing_q && powers_ready;

  logic unused;
  assign unused = ^{alpha_count, grid_count, ticked[26:25], mul_r_q[56:55], product[56:55],
      dec_late[30:0], inc_late[30:0], wake_gap[30:0], tick_r_q[15:0], pass0, pass3,
      pass6, pass7, pass8, pass9};

  `RNIC_ASSERT(alpha_is_a_fraction, !obs_valid || obs_alpha <= 25'h1000000)
  `RNIC_ASSERT(rate_is_bounded, !obs_valid || obs_rate <= cfg_line_i || obs_op == 3'd0 ||
      obs_op == 3'd4 || obs_op == 3'd7 || obs_op == 3'd1)
endmodule
