// SPDX-License-Identifier: Apache-2.0
// One timer per QP: the local ACK timer of its requests, or the wait after an RNR NAK. sq_engine
// starts the ACK timer if nothing runs (arm), rx_completer restarts, replaces or stops it (tms); an
// expired timer is idle and reported (tmo). Time counts in ticks of 1.024 us >> cfg_tick_shift_i.
// While a class is paused the ACK timers that were started in it stand still.
// A timer of length T fires between T and T + 3 ticks + N_QP + 10 cycles, later by what tmo stalls
// and by commands in the cycle of the scan. Throughput: one command per cycle, rx_completer
// first; arm waits ARM_DELAY cycles at least, so that a stop that rx_completer decided without
// knowing of the packet behind it goes first. Neither is ever held back. After reset the timers
// are cleared, one per cycle, until init_done_o. Facts: roce.md section 3.
`include "rnic_assert.svh"
module rc_timer #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned PERIOD_PS = 2000  // of clk_i
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    output logic                  init_done_o,
    input  logic [3:0]            cfg_tick_shift_i,
    // always taken: start if none runs
    input  logic                  arm_valid,
    input  rnic_pkg::timer_set_t  arm,
    // always taken: set or stop
    input  logic                  tms_valid,
    input  rnic_pkg::timer_set_t  tms,
    // expired
    output logic                  tmo_valid,
    input  logic                  tmo_ready,
    output logic [23:0]           tmo_qpn,
    output logic                  tmo_rnr,
    // paused classes; of the timer that is set now: {known, class} (answer in the same cycle)
    input  logic [7:0]            paused_i,
    output logic [23:0]           set_qpn_o,
    input  logic [3:0]            set_class_i
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned DEPTH = 2 ** QW;
  localparam int unsigned TICK = (1024000 + PERIOD_PS - 1) / PERIOD_PS;  // cycles of 1.024 us
  localparam int unsigned TW = 35;        // ticks: 4.096 us * 2^31 is 2^33 of them
  localparam int unsigned EW = TW + 6;    // {running, rnr, clock, deadline}
  localparam int unsigned ARM_DELAY = 8;
  localparam int unsigned ARMS = 16;      // that wait
  localparam int unsigned MERGE = 2;
  if (N_QP < 1 || PERIOD_PS < 100 || PERIOD_PS > 16000) begin : gen_check
    $error("rc_timer: N_QP at least 1, PERIOD_PS 100 to 16000");
  end

  // ----------------------------------------------------------------------------------------- time
  // A clock per class, which stands still while that is paused, and one that always runs.
  localparam logic [3:0] ALWAYS = 4'd8;
  logic [9*TW-1:0] now;
  logic [8:0]      stands;
  logic [15:0]     tick_len;
  assign tick_len = (16'(TICK - 1) >> cfg_tick_shift_i) + 16'd1;  // rounded up
  assign stands = {1'b0, paused_i};
  generate
    for (genvar i = 0; i < 9; i++) begin : gen_clock
      logic [15:0]   sub_q;
      logic [TW-1:0] now_q;
      assign now[i*TW +: TW] = now_q;
      always_ff @(posedge clk_i) begin
        if (!stands[i]) begin
          if (sub_q + 16'd1 >= tick_len) begin
            sub_q <= 16'd0;
            now_q <= now_q + TW'(1);
          end else begin
            sub_q <= sub_q + 16'd1;
          end
        end
        if (rst_i) begin
          sub_q <= 16'd0;
          now_q <= '0;
        end
      end
    end
  endgenerate

  // ------------------------------------------------------------------------- arms, held a moment
  // Arms of one QP within MERGE cycles are one: the first starts the timer for all of them. Later
  // ones count by themselves, so that a stop between the two does not stop what the second is for.
  logic [28:0] arm_old;                   // {code, qpn} of the one that waits longest
  logic [7:0]  arm_old_at, cycle_q;
  logic        arm_any, arm_same, arm_put, arm_room, arm_due, arm_take;
  logic [28:0] arm_new_q;                 // the youngest that waits
  logic [7:0]  arm_new_at_q;
  logic [$clog2(ARMS+1)-1:0] arm_level;
  assign arm_same = arm_any && arm_new_q == {arm.code, arm.qpn} && (cycle_q - arm_new_at_q) <=
      8'(MERGE);
  assign arm_put = arm_valid && arm.code != 5'd0 && !arm_same;
  assign arm_due = arm_any && (cycle_q - arm_old_at) >= 8'(ARM_DELAY);
  assign arm_take = arm_due && !tms_valid && init_done_o;
  always_ff @(posedge clk_i) begin
    // Time stands still when nobody waits.
    if (arm_any || arm_put) cycle_q <= cycle_q + 8'd1;
    if (arm_put) begin
      arm_new_q <= {arm.code, arm.qpn};
      arm_new_at_q <= cycle_q;
    end
    if (rst_i) cycle_q <= 8'd0;
  end
  stream_fifo #(
      .W(37),
      .DEPTH(ARMS),
      .OUT_REG(0)
  ) u_arms (
      .clk_i,
      .rst_i,
      .in_valid(arm_put),
      .in_ready(arm_room),
      .in_data({cycle_q, arm.code, arm.qpn}),
      .out_valid(arm_any),
      .out_ready(arm_take),
      .out_data({arm_old_at, arm_old}),
      .level_o(arm_level)
  );

  // ------------------------------------------------------------------------------------- commands
  // Stage 0 reads the timer, stage 1 writes it.
  logic                  op_valid, op1_valid_q, op1_arm_q, op1_off_q, op1_rnr_q, op_off, off, rnr;
  logic [23:0]           op_qpn;
  logic [4:0]            code;
  logic [QW-1:0]         op1_idx_q;
  logic [TW-1:0]         ticks, op1_deadline_q;
  logic [3:0]            op_clock, op1_clock_q;
  assign op_qpn = tms_valid ? tms.qpn : arm_old[23:0];
  assign code = tms_valid ? tms.code : arm_old[28:24];
  assign rnr = tms_valid && tms.rnr;
  assign op_valid = (tms_valid || arm_take) && op_qpn < 24'(N_QP) && init_done_o;
  rc_ticks u_ticks (
      .rnr_i(rnr),
      .code_i(code),
      .off_o(off),
      .ticks_o(ticks)
  );
  assign set_qpn_o = op_qpn;
  assign op_clock = rnr || !set_class_i[3] ? ALWAYS : {1'b0, set_class_i[2:0]};
  assign op_off = off || (tms_valid && tms.stop);
  always_ff @(posedge clk_i) begin
    op1_valid_q <= op_valid;
    if (op_valid) begin
      op1_arm_q <= !tms_valid;
      op1_off_q <= op_off;
      op1_rnr_q <= rnr;
      op1_idx_q <= op_qpn[QW-1:0];
      op1_clock_q <= op_clock;
      // The tick at hand has run in part.
      op1_deadline_q <= now[32'(op_clock)*TW +: TW] + ticks + TW'(1);
    end
    if (rst_i) op1_valid_q <= 1'b0;
  end

  logic [EW-1:0] rd_op, rd_scan, wr_data;
  logic [QW-1:0] wr_idx, clear_q, scan_q, scan1_q;
  logic          wr_en, op_wr, expire, clearing_q, scan1_valid_q, room;
  assign op_wr = op1_valid_q && !(op1_arm_q && rd_op[EW-1]);

  // ----------------------------------------------------------------------------------------- scan
  logic scan_en, late;
  logic [QW:0] running_q;  // timers that run: without any the scan rests
  logic [TW-1:0] past;
  assign past = now[32'(rd_scan[TW +: 4])*TW +: TW] - rd_scan[TW-1:0];
  assign late = scan1_valid_q && rd_scan[EW-1] && !past[TW-1];
  assign expire = late && !op1_valid_q && room;
  assign scan_en = !clearing_q && running_q != '0 && !(late && !expire);
  always_ff @(posedge clk_i) begin
    scan1_valid_q <= scan_en;
    if (scan_en) begin
      scan1_q <= scan_q;
      scan_q <= (scan_q == QW'(N_QP - 1)) ? '0 : scan_q + QW'(1);
    end else if (late) begin
      scan_q <= scan1_q;  // read again: a command may have changed it
    end
    if (op_wr && !op1_off_q && !rd_op[EW-1]) running_q <= running_q + (QW + 1)'(1);
    if ((op_wr && op1_off_q && rd_op[EW-1]) || expire) running_q <= running_q - (QW + 1)'(1);
    if (clearing_q) begin
      clear_q <= clear_q + QW'(1);
      if (clear_q == QW'(DEPTH - 1)) clearing_q <= 1'b0;
    end
    if (rst_i) begin
      clearing_q <= 1'b1;
      clear_q <= '0;
      scan_q <= '0;
      scan1_valid_q <= 1'b0;
      running_q <= '0;
    end
  end
  assign init_done_o = !clearing_q;

  always_comb begin
    wr_en = clearing_q || op_wr || expire;
    wr_idx = scan1_q;
    wr_data = '0;
    if (clearing_q) begin
      wr_idx = clear_q;
    end else if (op_wr) begin
      wr_idx = op1_idx_q;
      wr_data = {!op1_off_q, op1_rnr_q, op1_clock_q, op1_deadline_q};
    end
  end
  ram_1w_nr #(
      .W(EW),
      .DEPTH(DEPTH),
      .N_RD(2),
      .FORWARD(1)
  ) u_ram (
      .clk_i,
      .wr_en_i(wr_en),
      .wr_addr_i(wr_idx),
      .wr_data_i(wr_data),
      .rd_en_i({op_valid, scan_en}),
      .rd_addr_i({op_qpn[QW-1:0], scan_q}),
      .rd_data_o({rd_op, rd_scan})
  );

  logic [1:0] level;
  stream_fifo_small #(
      .W(25),
      .DEPTH(2),
      .LATENCY(1)
  ) u_tmo (
      .clk_i,
      .rst_i,
      .in_valid(expire),
      .in_ready(room),
      .in_data({rd_scan[EW-2], 24'(scan1_q)}),
      .out_valid(tmo_valid),
      .out_ready(tmo_ready),
      .out_data({tmo_rnr, tmo_qpn}),
      .level_o(level)
  );

  logic unused;
  assign unused = ^{level, arm_level, arm.stop, arm.rnr, past};

  `RNIC_ASSERT(arm_has_room, !arm_put || arm_room)
  `RNIC_ASSERT(tms_after_init, !(tms_valid && clearing_q))
  `RNIC_STREAM_HOLD(tmo_valid, tmo_ready, {tmo_rnr, tmo_qpn})
endmodule
