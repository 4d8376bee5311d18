// SPDX-License-Identifier: Apache-2.0
// Congestion control of all QPs: the DCQCN and the HPCC reaction point behind one switch. Only the
// chosen algorithm hears events and tells rates. A change of algorithm or enable starts every QP
// anew and tells the line rate for each; without enable nothing else changes a rate.
// CNPs, telemetry and sent packets are pulses that never wait: what finds its queue full is lost
// and counted, as the next one brings news. Telemetry that waits is replaced by newer of its QP.
// Throughput: rate_dcqcn's and rate_hpcc's, 4 cycles per event.
module cc_unit #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned TICKS_PER_US = 500  // of now_i
) (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic        init_done_o,    // every QP has been told its first rate
    output logic        active_o,       // CNPs or telemetry are heard, by mode
    input  logic [31:0] now_i,
    // CC_GLOBAL_CTRL
    input  logic [1:0]  cfg_mode_i,     // 0 DCQCN, 1 HPCC formula, 2 HPCC window, 3 none
    input  logic        cfg_enable_i,
    input  logic [29:0] cfg_line_i, cfg_floor_i,
    // DCQCN_*
    input  logic        cfg_dcqcn_production_i, cfg_dcqcn_clamp_i, cfg_dcqcn_clamp_after_time_i,
    input  logic [3:0]  cfg_dcqcn_gd_i,
    input  logic [7:0]  cfg_dcqcn_f_i,
    input  logic [16:0] cfg_dcqcn_g_i, cfg_dcqcn_alpha_init_i, cfg_dcqcn_first_frac_i,
    input  logic [16:0] cfg_dcqcn_max_cut_i,
    input  logic [29:0] cfg_dcqcn_first_rate_i, cfg_dcqcn_ai_i, cfg_dcqcn_hai_i,
    input  logic [31:0] cfg_dcqcn_byte_reset_i,
    input  logic [19:0] cfg_dcqcn_alpha_us_i, cfg_dcqcn_dec_us_i, cfg_dcqcn_inc_us_i,
    // HPCC_*
    input  logic        cfg_hpcc_cut_old_i, cfg_hpcc_fast_react_i, cfg_hpcc_multi_rate_i,
    input  logic        cfg_hpcc_sample_i, cfg_hpcc_path_check_i,
    input  logic [7:0]  cfg_hpcc_max_stage_i, cfg_hpcc_int_multi_i, cfg_hpcc_tx_limit_i,
    input  logic [24:0] cfg_hpcc_eta_i,
    input  logic [19:0] cfg_hpcc_base_rtt_i,
    input  logic [29:0] cfg_hpcc_ai_i,
    input  logic [23:0] cfg_hpcc_alpha_i,
    // a QP starts anew
    input  logic        qp_reset_valid,
    output logic        qp_reset_ready,
    input  logic [23:0] qp_reset_qpn,
    // a CNP for a QP has come (pulse)
    input  logic        cnp_i,
    input  logic [23:0] cnp_qpn_i,
    // an ACK with telemetry has come (pulse): PSNs that the peer expects and that is sent next
    input  logic        ack_i,
    input  logic [23:0] ack_qpn_i, ack_psn_i, ack_next_psn_i,
    input  hpcc_pkg::stack_t ack_int_i,
    // a packet of a QP is sent (pulse)
    input  logic        tx_i,
    input  logic [23:0] tx_qpn_i,
    input  logic [15:0] tx_bytes_i,
    // the rate of a QP (pulse); window in bytes, 0: none
    output logic        rate_valid,
    output logic [23:0] rate_qpn,
    output logic [29:0] rate_kbps,
    output logic [31:0] rate_window,
    // state of a QP: asked (pulse), there (holds until the next question)
    input  logic        qry_i,
    input  logic [23:0] qry_qpn_i,
    output logic        qry_done_o,
    output logic [29:0] qry_rate_o,
    output logic [29:0] qry_target_o,   // DCQCN
    output logic [31:0] qry_window_o,   // HPCC
    output logic [31:0] qry_alpha_o,    // 2^-24: alpha of DCQCN, U of HPCC
    output logic [1:0]  qry_stage_o,    // DCQCN: the algorithm's stage
    output logic [1:0]  qry_name_o,     // DCQCN: the published state
    output logic [11:0] qry_t_stage_o, qry_b_stage_o,  // HPCC: additive steps, 0
    // pulses to count: lost for a full queue; telemetry that cannot be
    output logic        cnt_lost_o,
    output logic        cnt_int_bad_o
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned ACKW = 3 * 24 + 340;

  // ----------------------------------------------------------- the algorithm, and starting anew
  logic [1:0]    mode_q;
  logic          enable_q, sweep_q, first_q, dcqcn_sel, active;
  logic [QW-1:0] sweep_idx_q;
  logic          settled;      // mode and enable are those of the registers
  logic          reset_valid, reset_ready, dcqcn_reset_ready, hpcc_reset_ready, unit_done;
  logic          dcqcn_done, hpcc_done;
  logic [23:0]   reset_qpn;
  assign dcqcn_sel = mode_q == 2'd0;
  assign settled = mode_q == cfg_mode_i && enable_q == cfg_enable_i;
  assign active = enable_q && !sweep_q && mode_q != 2'd3;
  assign active_o = active && settled;
  // A unit that clears its memories or fills its tables hears no reset.
  assign unit_done = dcqcn_sel ? dcqcn_done : hpcc_done;
  assign reset_valid = unit_done && (qp_reset_valid || sweep_q);
  assign reset_ready = unit_done && (dcqcn_sel ? dcqcn_reset_ready : hpcc_reset_ready);
  assign reset_qpn = sweep_q ? 24'(sweep_idx_q) : qp_reset_qpn;
  // A round that has not begun serves it too: nobody waits for tables that are filled behind a
  // reset.
  assign qp_reset_ready = sweep_q ? sweep_idx_q == '0 : reset_ready;
  always_ff @(posedge clk_i) begin
    first_q <= 1'b0;
    if (sweep_q && reset_ready) begin
      sweep_idx_q <= sweep_idx_q + QW'(1);
      if (sweep_idx_q == QW'(N_QP - 1)) sweep_q <= 1'b0;
    end
    if (first_q || mode_q != cfg_mode_i || enable_q != cfg_enable_i) begin
      mode_q <= cfg_mode_i;
      enable_q <= cfg_enable_i;
      sweep_q <= 1'b1;
      sweep_idx_q <= '0;
    end
    if (rst_i) begin
      first_q <= 1'b1;
      mode_q <= 2'd0;
      enable_q <= 1'b0;
      sweep_q <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------- queues
  logic            cnp_room, cnp_valid, cnp_ready, ack_room, ack_valid, ack_ready;
  logic            tx_room, tx_valid, tx_ready, cnp_use, ack_use, tx_use;
  logic [23:0]     cnp_qpn;
  logic [ACKW-1:0] ack;
  logic [39:0]     tx;
  logic [5:0]      cnp_level;
  logic [4:0]      ack_level;
  logic [4:0]      tx_level;
  assign cnp_use = cnp_i && active && dcqcn_sel;
  assign ack_use = ack_i && active && !dcqcn_sel;
  assign tx_use = tx_i && active && dcqcn_sel;
  always_ff @(posedge clk_i) begin
    cnt_lost_o <= (cnp_use && !cnp_room) || (new_push && !ack_room) || (tx_use && !tx_room);
    if (rst_i) cnt_lost_o <= 1'b0;
  end
  stream_fifo #(
      .W(24),
      .DEPTH(32)
  ) u_cnps (
      .clk_i,
      .rst_i,
      .in_valid(cnp_use),
      .in_ready(cnp_room),
      .in_data(cnp_qpn_i),
      .out_valid(cnp_valid),
      .out_ready(cnp_ready),
      .out_data(cnp_qpn),
      .level_o(cnp_level)
  );
  // The newest stands in a place of its own; the next one of its QP replaces it there, so that many
  // ACKs of one QP never queue up. What is on offer may so become newer: ack_ready depends on state
  // only.
  logic            new_q, new_push, new_take, old_valid;
  logic [ACKW-1:0] new_data_q, old;
  assign new_take = new_q && !old_valid && ack_ready;
  assign new_push = ack_use && new_q && !new_take && new_data_q[ACKW-1-:24] != ack_qpn_i;
  always_ff @(posedge clk_i) begin
    if (ack_use) begin
      new_q <= 1'b1;
      new_data_q <= {ack_qpn_i, ack_psn_i, ack_next_psn_i, ack_int_i};
    end else if (new_take) begin
      new_q <= 1'b0;
    end
    if (rst_i) new_q <= 1'b0;
  end
  stream_fifo #(
      .W(ACKW),
      .DEPTH(16)
  ) u_acks (
      .clk_i,
      .rst_i,
      .in_valid(new_push),
      .in_ready(ack_room),
      .in_data(new_data_q),
      .out_valid(old_valid),
      .out_ready(ack_ready),
      .out_data(old),
      .level_o(ack_level)
  );
  assign ack_valid = old_valid || new_q;
  assign ack = old_valid ? old : new_data_q;
  stream_fifo #(
      .W(40),
      .DEPTH(16)
  ) u_sent (
      .clk_i,
      .rst_i,
      .in_valid(tx_use),
      .in_ready(tx_room),
      .in_data({tx_qpn_i, tx_bytes_i}),
      .out_valid(tx_valid),
      .out_ready(tx_ready),
      .out_data(tx),
      .level_o(tx_level)
  );

  // ---------------------------------------------------------------------------------------- units
  logic        dcqcn_idle, dcqcn_rate_valid, qry_ready, dcqcn_obs_valid, ask_q, told, look, look_q;
  logic [23:0] dcqcn_rate_qpn, dcqcn_obs_qpn;
  logic [29:0] dcqcn_rate, dcqcn_obs_rate, dcqcn_obs_target;
  logic [2:0]  dcqcn_obs_op;
  logic [31:0] dcqcn_obs_at;
  logic [24:0] dcqcn_obs_alpha;
  logic [11:0] dcqcn_obs_t_stage, dcqcn_obs_b_stage;
  logic [1:0]  dcqcn_obs_phase, dcqcn_obs_view;
  logic [23:0] ask_qpn_q;
  logic        dcqcn_obs_alpha_flag, dcqcn_obs_dec_flag;
  rate_dcqcn #(
      .N_QP(N_QP),
      .TICKS_PER_US(TICKS_PER_US)
  ) u_dcqcn (
      .clk_i,
      .rst_i,
      .init_done_o(dcqcn_done),
      .idle_o(dcqcn_idle),
      .now_i,
      .cfg_production_i(cfg_dcqcn_production_i),
      .cfg_clamp_i(cfg_dcqcn_clamp_i),
      .cfg_clamp_after_time_i(cfg_dcqcn_clamp_after_time_i),
      .cfg_line_i,
      .cfg_floor_i,
      .cfg_ai_i(cfg_dcqcn_ai_i),
      .cfg_hai_i(cfg_dcqcn_hai_i),
      .cfg_first_rate_i(cfg_dcqcn_first_rate_i),
      .cfg_first_frac_i(cfg_dcqcn_first_frac_i),
      .cfg_g_i(cfg_dcqcn_g_i),
      .cfg_alpha_init_i(cfg_dcqcn_alpha_init_i),
      .cfg_max_cut_i(cfg_dcqcn_max_cut_i),
      .cfg_gd_i(cfg_dcqcn_gd_i),
      .cfg_f_i(cfg_dcqcn_f_i),
      .cfg_byte_reset_i(cfg_dcqcn_byte_reset_i),
      .cfg_alpha_us_i(cfg_dcqcn_alpha_us_i),
      .cfg_dec_us_i(cfg_dcqcn_dec_us_i),
      .cfg_inc_us_i(cfg_dcqcn_inc_us_i),
      .qp_reset_valid(reset_valid && dcqcn_sel),
      .qp_reset_ready(dcqcn_reset_ready),
      .qp_reset_qpn(reset_qpn),
      .cnp_valid,
      .cnp_ready,
      .cnp_qpn,
      .tx_valid,
      .tx_ready,
      .tx_qpn(tx[39:16]),
      .tx_bytes(tx[15:0]),
      .qry_valid(ask_q && dcqcn_sel),
      .qry_ready(qry_ready),
      .qry_qpn(ask_qpn_q),
      .qry_inclusive(1'b1),
      .rate_valid(dcqcn_rate_valid),
      .rate_qpn(dcqcn_rate_qpn),
      .rate_kbps(dcqcn_rate),
      .obs_valid(dcqcn_obs_valid),
      .obs_op(dcqcn_obs_op),
      .obs_qpn(dcqcn_obs_qpn),
      .obs_at(dcqcn_obs_at),
      .obs_rate(dcqcn_obs_rate),
      .obs_target(dcqcn_obs_target),
      .obs_alpha(dcqcn_obs_alpha),
      .obs_t_stage(dcqcn_obs_t_stage),
      .obs_b_stage(dcqcn_obs_b_stage),
      .obs_phase(dcqcn_obs_phase),
      .obs_view(dcqcn_obs_view),
      .obs_alpha_flag(dcqcn_obs_alpha_flag),
      .obs_dec_flag(dcqcn_obs_dec_flag)
  );
  logic           hpcc_idle, hpcc_rate_valid, hpcc_obs_valid, hpcc_obs_loaded;
  logic [23:0]    hpcc_rate_qpn, hpcc_obs_qpn;
  logic [29:0]    hpcc_rate, hpcc_obs_rate;
  logic [31:0]    hpcc_window, hpcc_obs_window, hpcc_obs_last;
  logic [2:0]     hpcc_obs_kind;
  logic [3:0]     hpcc_obs_bad;
  logic [35:0]    hpcc_obs_u_max;
  logic [19:0]    hpcc_obs_tau;
  logic [179:0]   hpcc_obs_u;
  logic [149:0]   hpcc_obs_rc;
  logic [39:0]    hpcc_obs_stage;
  rate_hpcc #(
      .N_QP(N_QP),
      .SEQ_W(24)
  ) u_hpcc (
      .clk_i,
      .rst_i,
      .init_done_o(hpcc_done),
      .idle_o(hpcc_idle),
      .cfg_formula_i(mode_q != 2'd2),
      .cfg_cut_old_i(cfg_hpcc_cut_old_i),
      .cfg_fast_react_i(cfg_hpcc_fast_react_i),
      .cfg_multi_rate_i(cfg_hpcc_multi_rate_i),
      .cfg_sample_i(cfg_hpcc_sample_i),
      .cfg_path_check_i(cfg_hpcc_path_check_i),
      .cfg_line_i,
      .cfg_floor_i,
      .cfg_ai_i(cfg_hpcc_ai_i),
      .cfg_eta_i(cfg_hpcc_eta_i),
      .cfg_max_stage_i(cfg_hpcc_max_stage_i),
      .cfg_base_rtt_i(cfg_hpcc_base_rtt_i),
      .cfg_int_multi_i(cfg_hpcc_int_multi_i),
      .cfg_tx_limit_i(cfg_hpcc_tx_limit_i),
      .cfg_alpha_i(cfg_hpcc_alpha_i),
      .qp_reset_valid(reset_valid && !dcqcn_sel),
      .qp_reset_ready(hpcc_reset_ready),
      .qp_reset_qpn(reset_qpn),
      .ack_valid,
      .ack_ready,
      .ack_qpn(ack[ACKW-1 -: 24]),
      .ack_seq(ack[ACKW-25 -: 24]),
      .ack_snd_nxt(ack[ACKW-49 -: 24]),
      .ack_int(ack[339:0]),
      .rate_valid(hpcc_rate_valid),
      .rate_qpn(hpcc_rate_qpn),
      .rate_kbps(hpcc_rate),
      .rate_window(hpcc_window),
      .obs_valid(hpcc_obs_valid),
      .obs_kind(hpcc_obs_kind),
      .obs_qpn(hpcc_obs_qpn),
      .obs_bad(hpcc_obs_bad),
      .obs_loaded(hpcc_obs_loaded),
      .obs_u_max(hpcc_obs_u_max),
      .obs_tau(hpcc_obs_tau),
      .obs_rate(hpcc_obs_rate),
      .obs_window(hpcc_obs_window),
      .obs_last(hpcc_obs_last),
      .obs_u(hpcc_obs_u),
      .obs_rc(hpcc_obs_rc),
      .obs_stage(hpcc_obs_stage)
  );
  assign init_done_o = dcqcn_done && hpcc_done && !sweep_q && !first_q && settled;

  // ---------------------------------------------------------------------------------------- rates
  always_ff @(posedge clk_i) begin
    rate_valid <= dcqcn_sel ? dcqcn_rate_valid : hpcc_rate_valid;
    rate_qpn <= dcqcn_sel ? dcqcn_rate_qpn : hpcc_rate_qpn;
    rate_kbps <= dcqcn_sel ? dcqcn_rate : hpcc_rate;
    rate_window <= (enable_q && mode_q == 2'd2) ? hpcc_window : 32'd0;
    cnt_int_bad_o <= hpcc_obs_valid && hpcc_obs_bad != '0;
    if (rst_i) begin
      rate_valid <= 1'b0;
      cnt_int_bad_o <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------ state of one QP
  // DCQCN runs a query as a pass of its own, with the timers that are due. What HPCC's passes leave
  // is kept here.
  localparam int unsigned KEPT_W = 30 + 32 + 32 + 8;
  logic [KEPT_W-1:0] kept;
  logic              known, waits_q;
  ram_sdp #(
      .W(KEPT_W),
      .DEPTH((N_QP > 1) ? N_QP : 2),
      .FORWARD(1)
  ) u_kept (
      .clk_i,
      .wr_en_i(hpcc_obs_valid && hpcc_obs_qpn < 24'(N_QP)),
      .wr_addr_i(hpcc_obs_qpn[QW-1:0]),
      .wr_data_i({hpcc_obs_rate, hpcc_obs_window,
                  (hpcc_obs_u[35:32] != '0) ? 32'hFFFF_FFFF : hpcc_obs_u[31:0],
                  hpcc_obs_stage[7:0]}),
      .rd_en_i(look),
      .rd_addr_i(ask_qpn_q[QW-1:0]),
      .rd_data_o(kept)
  );
  assign known = ask_qpn_q < 24'(N_QP);
  assign look = ask_q && !dcqcn_sel;
  assign told = waits_q && dcqcn_obs_valid && dcqcn_obs_op == dcqcn_pkg::QUERY &&
                dcqcn_obs_qpn == ask_qpn_q;
  always_ff @(posedge clk_i) begin
    look_q <= look && known;
    if (qry_i) begin
      ask_q <= 1'b1;
      ask_qpn_q <= qry_qpn_i;
      waits_q <= 1'b0;
      qry_done_o <= 1'b0;
    end else if (ask_q && (!dcqcn_sel || !known || qry_ready)) begin
      ask_q <= 1'b0;
      waits_q <= dcqcn_sel && known;
    end else if (told) begin
      waits_q <= 1'b0;
    end
    if (ask_q && !known) begin
      qry_done_o <= !qry_i;
      {qry_rate_o, qry_target_o, qry_window_o, qry_alpha_o} <= '0;
      {qry_stage_o, qry_name_o, qry_t_stage_o, qry_b_stage_o} <= '0;
    end
    if (told) begin
      qry_done_o <= !qry_i;
      qry_rate_o <= dcqcn_obs_rate;
      qry_target_o <= dcqcn_obs_target;
      qry_window_o <= '0;
      qry_alpha_o <= {7'd0, dcqcn_obs_alpha};
      qry_stage_o <= dcqcn_obs_phase;
      qry_name_o <= dcqcn_obs_view;
      qry_t_stage_o <= dcqcn_obs_t_stage;
      qry_b_stage_o <= dcqcn_obs_b_stage;
    end
    if (look_q) begin
      qry_done_o <= !qry_i;
      {qry_rate_o, qry_window_o, qry_alpha_o, qry_t_stage_o[7:0]} <= kept;
      qry_t_stage_o[11:8] <= '0;
      {qry_target_o, qry_stage_o, qry_name_o, qry_b_stage_o} <= '0;
    end
    if (rst_i) begin
      ask_q <= 1'b0;
      waits_q <= 1'b0;
      look_q <= 1'b0;
      qry_done_o <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{dcqcn_idle, hpcc_idle, dcqcn_obs_at, dcqcn_obs_alpha_flag, dcqcn_obs_dec_flag,
      hpcc_obs_kind, hpcc_obs_loaded, hpcc_obs_u_max, hpcc_obs_tau, hpcc_obs_last, hpcc_obs_u,
      hpcc_obs_rc, hpcc_obs_stage, cnp_level, ack_level, tx_level};
endmodule
