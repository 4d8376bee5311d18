// SPDX-License-Identifier: Apache-2.0
// HPCC reaction point of all QPs: the window of SIGCOMM 2019 as a rate (per-hop loads, U, Rc,
// stages), or the rate formula. ACKs with telemetry in, a rate and a window per QP out.
// Throughput: an ACK every 4 cycles for different QPs, one every 48 cycles for one QP; its rate is
// out 47 cycles after its pass begins. A QP's ACKs stay in order; ack and qp_reset wait (ready
// depends on state only), nothing is dropped. Facts: roce.md section 7.
`include "rnic_assert.svh"
module rate_hpcc #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned SEQ_W = 24       // of sequence numbers, 24 (PSN) to 32
) (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic        init_done_o,
    output logic        idle_o,             // nothing waits or runs
    // parameters: ACKs behind a change follow it
    input  logic        cfg_formula_i,      // rate formula instead of the window
    input  logic        cfg_cut_old_i,      // formula: cuts the old rate and adds ai
    input  logic        cfg_fast_react_i,
    input  logic        cfg_multi_rate_i,
    input  logic        cfg_sample_i,
    input  logic        cfg_path_check_i,
    input  logic [29:0] cfg_line_i, cfg_floor_i, cfg_ai_i,  // kb/s
    input  logic [24:0] cfg_eta_i,          // 2^-24
    input  logic [7:0]  cfg_max_stage_i,
    input  logic [19:0] cfg_base_rtt_i,     // ns, 512 at least
    input  logic [7:0]  cfg_int_multi_i,    // telemetry units are 128 and 80 bytes times this
    input  logic [7:0]  cfg_tx_limit_i,     // most bytes, of what a link can; 0: no limit
    input  logic [23:0] cfg_alpha_i,        // formula: cut in 1/1024, 2^-16 per unit of q
    // a QP starts anew, at line rate
    input  logic        qp_reset_valid,
    output logic        qp_reset_ready,
    input  logic [23:0] qp_reset_qpn,
    // an ACK with telemetry
    input  logic        ack_valid,
    output logic        ack_ready,
    input  logic [23:0] ack_qpn,
    input  logic [SEQ_W-1:0] ack_seq,       // next sequence number that the peer expects
    input  logic [SEQ_W-1:0] ack_snd_nxt,   // next one to send
    input  hpcc_pkg::stack_t ack_int,
    // the rate of a QP changed (pulse)
    output logic        rate_valid,
    output logic [23:0] rate_qpn,
    output logic [29:0] rate_kbps,
    output logic [31:0] rate_window,        // bytes in a base round trip, 1 at least
    // every pass (pulse): what it was, the state behind it
    output logic        obs_valid,
    output logic [2:0]  obs_kind,
    output logic [23:0] obs_qpn,
    output logic [3:0]  obs_bad,            // hpcc_pkg::BAD_*
    output logic        obs_loaded,         // u_max and tau are there
    output logic [35:0] obs_u_max,          // 2^-24
    output logic [19:0] obs_tau,            // ns
    output logic [29:0] obs_rate,
    output logic [31:0] obs_window,
    output logic [31:0] obs_last,           // last_update_seq
    output logic [5*36-1:0] obs_u,          // per hop with multi_rate, else the first
    output logic [5*30-1:0] obs_rc,
    output logic [5*8-1:0]  obs_stage
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned DEPTH = 2 ** QW;
  localparam int unsigned STEPS = 11;       // of four cycles, in a pass
  localparam int unsigned PASSW = 181;
  localparam int unsigned EVW = 1 + 24 + 2 * SEQ_W + 340;
  localparam int unsigned HOPW = 61;        // of a stored hop: all but the link
  localparam int unsigned FRONTW = 1 + 12 + 3 + SEQ_W + 5 * HOPW;
  localparam int unsigned SLOTW = 1 + 36 + 30 + 8;
  localparam logic [35:0] ONE = 36'h100_0000;
  if (N_QP < 1 || N_QP > 2 ** 24 || SEQ_W < 24 || SEQ_W > 32) begin : gen_check
    $error("rate_hpcc: N_QP 1 to 2^24, SEQ_W 24 to 32");
  end

  // --------------------------------------------------------------------------------- parameters
  hpcc_pkg::cfg_t       cfg;
  hpcc_pkg::constants_t constants;
  logic                 constants_ready;
  always_comb begin
    cfg.formula = cfg_formula_i;
    cfg.cut_old = cfg_cut_old_i;
    cfg.fast_react = cfg_fast_react_i;
    cfg.multi_rate = cfg_multi_rate_i;
    cfg.sample = cfg_sample_i;
    cfg.path_check = cfg_path_check_i;
    cfg.line = cfg_line_i;
    cfg.floor = cfg_floor_i;
    cfg.ai = cfg_ai_i;
    cfg.eta = cfg_eta_i;
    cfg.max_stage = cfg_max_stage_i;
    cfg.alpha = cfg_alpha_i;
  end
  hpcc_constants u_constants (
      .clk_i,
      .rst_i,
      .base_rtt_i(cfg_base_rtt_i),
      .int_multi_i(cfg_int_multi_i),
      .ready_o(constants_ready),
      .constants_o(constants)
  );

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
  assign init_done_o = !clearing_q && constants_ready;

  // -------------------------------------------------------------------------------------- events
  logic             ev_in_valid, ev_in_ready, head_valid, head_take;
  logic [EVW-1:0]   ev_in, ev_head, ev_q;
  logic [1:0]       level;
  logic [23:0]      head_qpn;
  assign qp_reset_ready = ev_in_ready && !clearing_q;
  assign ack_ready = qp_reset_ready && !qp_reset_valid;
  assign ev_in_valid = !clearing_q && (qp_reset_valid ? qp_reset_qpn < 24'(N_QP) :
      ack_valid && ack_qpn < 24'(N_QP));
  assign ev_in = {qp_reset_valid, qp_reset_valid ? qp_reset_qpn : ack_qpn, ack_seq, ack_snd_nxt,
      ack_int};
  stream_fifo_small #(
      .W(EVW),
      .DEPTH(2),
      .LATENCY(1)
  ) u_events (
      .clk_i,
      .rst_i,
      .in_valid(ev_in_valid),
      .in_ready(ev_in_ready),
      .in_data(ev_in),
      .out_valid(head_valid),
      .out_ready(head_take),
      .out_data(ev_head),
      .level_o(level)
  );
  assign head_qpn = ev_head[EVW-2 -: 24];

  // --------------------------------------------------------------------------- steps of a pass
  // A pass begins in turn 3 and moves one step on after every turn 3. Step n is pass_q[n].
  logic [1:0]       turn_q;
  logic             step, enter, busy;
  logic [PASSW-1:0] pass_q [STEPS];  // of type pass_t
  logic [STEPS-1:0] same, running;
  hpcc_pkg::pass_t  pass0, pass4, pass9, pass10, decided, seen4;
  assign step = turn_q == 2'd3;
  assign enter = step && head_valid && same == '0 && !clearing_q && constants_ready;
  assign head_take = enter;
  assign busy = running != '0;
  for (genvar n = 0; n < STEPS; n++) begin : gen_same
    logic [PASSW-1:0] word;
    assign word = pass_q[n];
    assign running[n] = word[PASSW-1];
    assign same[n] = word[PASSW-1] && word[PASSW-2 -: 24] == head_qpn;
    logic unused;
    assign unused = ^word;
  end
  assign pass0 = pass_q[0];
  assign pass4 = pass_q[4];
  assign pass9 = pass_q[9];
  assign pass10 = pass_q[10];
  always_ff @(posedge clk_i) begin
    if (busy || head_valid || turn_q != 2'd0) turn_q <= turn_q + 2'd1;
    if (turn_q == 2'd0 && pass0.valid) pass_q[0] <= decided;
    if (step) begin
      for (int n = 1; n < STEPS; n++) begin
        if (running[n] || running[n-1]) pass_q[n] <= (n == 5) ? seen4 : pass_q[n-1];
      end
      if (enter || pass0.valid) pass_q[0] <= {enter, head_qpn, {(PASSW - 25){1'b0}}};
      if (enter) ev_q <= ev_head;
    end
    if (rst_i) begin
      turn_q <= 2'd0;
      for (int n = 0; n < STEPS; n++) pass_q[n] <= '0;
    end
  end

  // Step 0: the stored telemetry, what this ACK is; stored in turn 1.
  logic [FRONTW-1:0] front_word, front_new;
  logic [319:0]      hops_old, hops_new;
  logic [4:0]        on;
  logic              primed_new;
  logic [11:0]       path_new;
  logic [2:0]        nhop_new;
  logic [SEQ_W-1:0]  last_new;
  hpcc_pkg::stack_t  stack;
  logic              primed_old;
  assign stack = ev_q[339:0];
  assign primed_old = front_word[FRONTW-1];
  for (genvar i = 0; i < 5; i++) begin : gen_stored
    // Nothing stored is all zeros, as in the published simulator.
    assign hops_old[64*i +: 64] = {front_word[HOPW*i +: HOPW], 3'd0};
    assign front_new[HOPW*i +: HOPW] = hops_new[64*i+3 +: HOPW];
    logic unused;
    assign unused = ^hops_new[64*i +: 3];
  end
  hpcc_front #(
      .SEQ_W(SEQ_W)
  ) u_front (
      .cfg_i(cfg),
      .reset_i(ev_q[EVW-1]),
      .qpn_i(pass0.qpn),
      .ack_i(ev_q[340+SEQ_W +: SEQ_W]),
      .next_i(ev_q[340 +: SEQ_W]),
      .stack_i(stack),
      .primed_i(primed_old),
      .path_i(front_word[FRONTW-2 -: 12]),
      .nhop_i(front_word[FRONTW-14 -: 3]),
      .last_i(front_word[FRONTW-17 -: SEQ_W]),
      .hops_i(hops_old),
      .primed_o(primed_new),
      .path_o(path_new),
      .nhop_o(nhop_new),
      .last_o(last_new),
      .hops_o(hops_new),
      .on_o(on),
      .pass_o(decided)
  );
  assign front_new[FRONTW-1 -: 16 + SEQ_W] = {primed_new, path_new, nhop_new, last_new};
  logic front_wr, front_clear;
  assign front_wr = turn_q == 2'd1 && pass0.valid;
  assign front_clear = clearing_q || ev_q[EVW-1];
  ram_sdp #(
      .W(FRONTW),
      .DEPTH(DEPTH)
  ) u_telemetry (
      .clk_i,
      .wr_en_i(front_wr || clearing_q),
      .wr_addr_i(clearing_q ? clear_q : pass0.qpn[QW-1:0]),
      .wr_data_i(front_clear ? '0 : front_new),
      .rd_en_i(enter),
      .rd_addr_i(head_qpn[QW-1:0]),
      .rd_data_o(front_word)
  );

  // Steps 0 to 3: loads, of hops 0, 2, 4 in one pipe and 1, 3 in another; they come out in turns 0
  // to 2 of step 4.
  logic [63:0]    now_a, now_b, old_a, old_b;
  logic           on_a, on_b, over_a, over_b;
  logic [35:0]    load_a, load_b;
  logic [28:0]    part_a, part_b;
  logic [19:0]    tau_a, tau_b;
  always_comb begin
    now_a = stack.hops[63:0];
    old_a = hops_old[63:0];
    now_b = stack.hops[127:64];
    old_b = hops_old[127:64];
    on_a = on[0];
    on_b = on[1];
    if (turn_q == 2'd1) begin
      now_a = stack.hops[191:128];
      old_a = hops_old[191:128];
      now_b = stack.hops[255:192];
      old_b = hops_old[255:192];
      on_a = on[2];
      on_b = on[3];
    end
    if (turn_q[1]) begin
      now_a = stack.hops[319:256];
      old_a = hops_old[319:256];
      on_a = on[4] && !turn_q[0];
      on_b = 1'b0;
    end
    if (!pass0.valid) begin
      on_a = 1'b0;
      on_b = 1'b0;
    end
  end
  hpcc_load u_load_a (
      .clk_i,
      .en_i(busy),
      .constants_i(constants),
      .tx_limit_i(cfg_tx_limit_i),
      .on_i(on_a),
      .now_i(now_a),
      .old_i(old_a),
      .u_o(load_a),
      .part_o(part_a),
      .tau_o(tau_a),
      .over_o(over_a)
  );
  hpcc_load u_load_b (
      .clk_i,
      .en_i(busy),
      .constants_i(constants),
      .tx_limit_i(cfg_tx_limit_i),
      .on_i(on_b),
      .now_i(now_b),
      .old_i(old_b),
      .u_o(load_b),
      .part_o(part_b),
      .tau_o(tau_b),
      .over_o(over_b)
  );

  // Step 4: the largest load; of equal ones the first hop's.
  logic [64:0] hop_q [5];               // load, part
  logic [84:0] pair, best, best_q;      // load, part, time
  logic        over_q, over;
  assign pair = (load_b > load_a) ? {load_b, part_b, tau_b} : {load_a, part_a, tau_a};
  assign best = (turn_q == 2'd0 || pair[84:49] > best_q[84:49]) ? pair : best_q;
  assign over = over_a || over_b || (turn_q != 2'd0 && over_q);
  always_ff @(posedge clk_i) begin
    if (pass4.valid && !step) begin
      best_q <= (best[84:49] == '0) ? '0 : best;
      over_q <= over;
    end
    if (pass4.valid && turn_q == 2'd0) begin
      hop_q[0] <= {load_a, part_a};
      hop_q[1] <= {load_b, part_b};
    end
    if (pass4.valid && turn_q == 2'd1) begin
      hop_q[2] <= {load_a, part_a};
      hop_q[3] <= {load_b, part_b};
    end
    if (pass4.valid && turn_q == 2'd2) hop_q[4] <= {load_a, part_a};
  end

  // The state of the filter and the rate, read in turn 3 of step 4.
  logic [SLOTW-1:0] slot_word [5];
  logic [30:0]      rate_word;
  logic             rd_state;
  assign rd_state = turn_q == 2'd2 && pass4.valid;
  always_comb begin
    seen4 = pass4;
    seen4.bad[hpcc_pkg::BAD_BYTES] = over_q;
    seen4.rate = rate_word[30] ? rate_word[29:0] : cfg.line;
    if (pass4.apply && !pass4.multi) begin
      seen4.u_max = best_q[84:49];
      seen4.tau = best_q[19:0];
    end
  end

  // Steps 5 to 9: filter and rate, in turns 0 to 2 as before. One hop stands for all of them
  // without multi_rate.
  hpcc_pkg::pass_t  pass5;
  logic [SLOTW-1:0] slot_a, slot_b;
  logic [64:0]      hop_a, hop_b;
  logic             hold_a, hold_b;
  logic [35:0]      u_a, u_b;
  logic [29:0]      rc_a, rc_b, rate_a, rate_b;
  logic [7:0]       stage_a, stage_b;
  assign pass5 = pass_q[5];
  always_comb begin
    slot_a = slot_word[0];
    slot_b = slot_word[1];
    hop_a = pass5.multi ? hop_q[0] : best_q[84:20];
    hop_b = hop_q[1];
    hold_a = pass5.hold[0];
    hold_b = pass5.hold[1];
    if (turn_q == 2'd1) begin
      slot_a = slot_word[2];
      slot_b = slot_word[3];
      hop_a = hop_q[2];
      hop_b = hop_q[3];
      hold_a = pass5.hold[2];
      hold_b = pass5.hold[3];
    end
    if (turn_q[1]) begin
      slot_a = slot_word[4];
      hop_a = hop_q[4];
      hold_a = pass5.hold[4];
    end
    if (!slot_a[SLOTW-1]) slot_a = {1'b0, ONE, cfg.line, 8'd0};
    if (!slot_b[SLOTW-1]) slot_b = {1'b0, ONE, cfg.line, 8'd0};
  end
  hpcc_step u_step_a (
      .clk_i,
      .en_i(busy),
      .cfg_i(cfg),
      .hold_i(hold_a),
      .full_i(pass5.full),
      .load_i(hop_a[64:29]),
      .part_i(hop_a[28:0]),
      .u_i(slot_a[73:38]),
      .rc_i(slot_a[37:8]),
      .stage_i(slot_a[7:0]),
      .u_o(u_a),
      .rc_o(rc_a),
      .stage_o(stage_a),
      .rate_o(rate_a)
  );
  hpcc_step u_step_b (
      .clk_i,
      .en_i(busy),
      .cfg_i(cfg),
      .hold_i(hold_b),
      .full_i(pass5.full),
      .load_i(hop_b[64:29]),
      .part_i(hop_b[28:0]),
      .u_i(slot_b[73:38]),
      .rc_i(slot_b[37:8]),
      .stage_i(slot_b[7:0]),
      .u_o(u_b),
      .rc_o(rc_b),
      .stage_o(stage_b),
      .rate_o(rate_b)
  );

  // Step 9: the formula, one operation per turn.
  logic [40:0] ratio_p_q;
  logic [10:0] ratio_q;
  logic [40:0] cut_p_q;
  logic [30:0] formula_q;
  logic [29:0] formula_from, formula;
  assign formula_from = cfg.cut_old ? pass9.rate : cfg.line;
  assign formula = (formula_q > 31'(cfg.line)) ? cfg.line :
      (formula_q < 31'(cfg.floor)) ? cfg.floor : formula_q[29:0];
  always_ff @(posedge clk_i) begin
    if (pass9.valid && pass9.formula) begin
      unique case (turn_q)
        2'd0: ratio_p_q <= 41'(pass9.q_max) * 41'(cfg.alpha);
        2'd1: ratio_q <= (ratio_p_q[40:26] != '0) ? 11'd1024 : 11'(ratio_p_q[25:16]);
        2'd2: cut_p_q <= 41'(formula_from) * 41'(ratio_q);
        default: formula_q <= 31'(formula_from) - 31'(cut_p_q[40:10]) +
            (cfg.cut_old ? 31'(cfg.ai) : 31'd0);
      endcase
    end
  end

  // Step 10: the least rate of the hops, the state behind the ACK.
  logic [SLOTW-2:0] out_q [5];          // U, Rc, stage
  logic [29:0]      least_a, least_b, least_pair, least, least_q, rate_new;
  logic             use_a, use_b, finish, reset10, start_over;
  assign use_a = (turn_q == 2'd0) ? (pass10.exist[0] || !pass10.multi) :
      pass10.multi && ((turn_q == 2'd1) ? pass10.exist[2] : pass10.exist[4]);
  assign use_b = pass10.multi && !turn_q[1] && (turn_q[0] ? pass10.exist[3] : pass10.exist[1]);
  assign least_a = use_a ? rate_a : '1;
  assign least_b = use_b ? rate_b : '1;
  assign least_pair = (least_b < least_a) ? least_b : least_a;
  assign least = (turn_q == 2'd0 || least_pair < least_q) ? least_pair : least_q;
  assign finish = step && pass10.valid;
  assign reset10 = pass10.kind == hpcc_pkg::RESET;
  assign start_over = pass10.multi && pass10.kind == hpcc_pkg::NEW_PATH;
  assign rate_new = reset10 ? cfg.line : pass10.formula ? formula : pass10.apply ? least_q :
      pass10.rate;
  hpcc_pkg::pass_t  pass_w_q;
  logic [SLOTW-1:0] slot_w_q [5];
  logic [4:0]       slot_wr_q;
  logic [29:0]      rate_w_q;
  logic             w_q, v1_q, v2_q, changed_q;
  logic [67:0]      bytes_q, bytes_d_q;
  always_ff @(posedge clk_i) begin
    if (pass10.valid && !step) least_q <= least;
    if (pass10.valid && turn_q == 2'd0) begin
      out_q[0] <= {u_a, rc_a, stage_a};
      out_q[1] <= {u_b, rc_b, stage_b};
    end
    if (pass10.valid && turn_q == 2'd1) begin
      out_q[2] <= {u_a, rc_a, stage_a};
      out_q[3] <= {u_b, rc_b, stage_b};
    end
    if (pass10.valid && turn_q == 2'd2) out_q[4] <= {u_a, rc_a, stage_a};
    w_q <= finish;
    v1_q <= w_q;
    v2_q <= v1_q;
    if (finish) begin
      pass_w_q <= pass10;
      rate_w_q <= rate_new;
      changed_q <= reset10 || rate_new != pass10.rate;
      for (int i = 0; i < 5; i++) begin
        slot_w_q[i] <= reset10 ? {1'b0, ONE, cfg.line, 8'd0} :
            start_over ? {1'b1, ONE, pass10.rate, 8'd0} : {1'b1, out_q[i]};
      end
      slot_wr_q <= (reset10 || start_over) ? '1 : !pass10.apply ? '0 :
          pass10.multi ? pass10.exist & ~pass10.hold : 5'd1;
    end
    // The window, while rate_w_q holds.
    if (w_q) bytes_q <= 68'(rate_w_q) * 68'(constants.k_win);
    if (v1_q) bytes_d_q <= bytes_q;
    if (rst_i) begin
      w_q <= 1'b0;
      v1_q <= 1'b0;
      v2_q <= 1'b0;
    end
  end
  assign obs_valid = v2_q;
  assign obs_kind = pass_w_q.kind;
  assign obs_qpn = pass_w_q.qpn;
  assign obs_bad = pass_w_q.bad;
  assign obs_loaded = pass_w_q.apply && !pass_w_q.multi;
  assign obs_u_max = pass_w_q.u_max;
  assign obs_tau = pass_w_q.tau;
  assign obs_rate = rate_w_q;
  assign obs_window = (bytes_d_q[67:40] == '0) ? 32'd1 : 32'(bytes_d_q[67:40]);
  assign obs_last = pass_w_q.last;
  assign rate_valid = v2_q && changed_q;
  assign rate_qpn = obs_qpn;
  assign rate_kbps = obs_rate;
  assign rate_window = obs_window;

  // --------------------------------------------------------------------------------------- memory
  logic [QW-1:0] wr_idx;
  assign wr_idx = clearing_q ? clear_q : pass_w_q.qpn[QW-1:0];
  for (genvar i = 0; i < 5; i++) begin : gen_slot
    ram_sdp #(
        .W(SLOTW),
        .DEPTH(DEPTH)
    ) u_slot (
        .clk_i,
        .wr_en_i((w_q && slot_wr_q[i]) || clearing_q),
        .wr_addr_i(wr_idx),
        .wr_data_i(clearing_q ? '0 : slot_w_q[i]),
        .rd_en_i(rd_state),
        .rd_addr_i(pass4.qpn[QW-1:0]),
        .rd_data_o(slot_word[i])
    );
    assign obs_u[36*i +: 36] = slot_w_q[i][73:38];
    assign obs_rc[30*i +: 30] = slot_w_q[i][37:8];
    assign obs_stage[8*i +: 8] = slot_w_q[i][7:0];
  end
  ram_sdp #(
      .W(31),
      .DEPTH(DEPTH)
  ) u_rates (
      .clk_i,
      .wr_en_i(w_q || clearing_q),
      .wr_addr_i(wr_idx),
      .wr_data_i((clearing_q || pass_w_q.kind == hpcc_pkg::RESET) ? '0 : {1'b1, rate_w_q}),
      .rd_en_i(rd_state),
      .rd_addr_i(pass4.qpn[QW-1:0]),
      .rd_data_o(rate_word)
  );

  assign idle_o = !head_valid && level == '0 && !busy && !w_q && !v1_q && !v2_q && !clearing_q &&
      constants_ready;

  logic unused;
  assign unused = ^{cfg, pass0, pass4, pass5, pass9, pass10, ratio_p_q[15:0], cut_p_q[9:0],
      bytes_d_q[39:0], pass_w_q};

`ifdef RNIC_ASSERT_ON
  // A pass that was under way when the line rate changed has the old one as its bound.
  logic [29:0] line_was_q;
  logic [6:0]  line_age_q;
  always_ff @(posedge clk_i) begin
    line_was_q <= cfg_line_i;
    if (rst_i || line_was_q != cfg_line_i) line_age_q <= '0;
    else if (!line_age_q[6]) line_age_q <= line_age_q + 7'd1;
  end
  `RNIC_ASSERT(rate_is_bounded, !rate_valid || obs_rate <= cfg_line_i || !line_age_q[6] ||
                                line_was_q != cfg_line_i)
`endif
endmodule
