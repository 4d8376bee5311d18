// SPDX-License-Identifier: Apache-2.0
// What the end of a work means to the timer of its QP: progress restarts it, or stops it when
// nothing is in flight; an RNR NAK replaces it by its wait, which nothing but its end or a failure
// touches; a replay starts it anew; a QP that waits for its end always has one.
//
// A stop is decided by the send half as it is after the work: sq_engine may have sent more
// meanwhile, and what it armed then comes later than the stop (rc_timer holds it back). So the half
// is looked up once more (again_o) when what the work saw says stop.
module cpl_timer (
    input  logic                  clk_i,
    input  logic                  rst_i,
    // the work at hand, as it ends
    input  logic [23:0]           qpn_i,
    input  logic                  rc_i,
    input  logic [4:0]            timeout_i,
    input  logic [4:0]            rnr_code_i,
    input  logic                  progress_i,
    input  logic [23:0]           una_i,
    input  logic [23:0]           max_i,
    input  logic                  dead_i,      // failed, or reset by an order
    input  logic                  newly_dead_i,
    input  logic                  rnr_go_i,    // the wait begins
    input  logic                  rnr_wait_i,
    input  logic                  dying_i,
    input  logic                  terr_i,      // the work is a local error
    input  logic                  go_rws_i,    // the QP goes on
    input  logic                  empty_i,     // with nothing in flight
    input  logic                  close_i,
    // the send half once more: wanted, asked for, its answer
    input  logic                  ask_i,
    input  logic                  cps_lk_ready,
    output logic                  want_o,
    output logic                  again_o,     // asks in this cycle
    output logic                  waits_o,     // the next answer is for this block
    input  logic                  cps_ctx_valid,
    input  logic [23:0]           cps_max_i,
    output logic                  tms_valid,
    output rnic_pkg::timer_set_t  tms
);
  // A QP that fails for want of payload waits so long for the ACKs of what it has sent (67 ms) when
  // its own time-out is off.
  localparam logic [4:0] LAST_WAIT = 5'd14;
  logic is_open, set;
  logic [23:0] una_q;
  rnic_pkg::timer_set_t now, later_q;
  assign is_open = una_i != max_i;
  assign want_o = rc_i && progress_i && !is_open && !rnr_wait_i && !go_rws_i && !dead_i &&
      !dying_i;
  assign again_o = want_o && ask_i;
  always_comb begin
    set = 1'b0;
    now = '0;
    now.qpn = qpn_i;
    now.code = timeout_i;
    if (dead_i) begin
      set = newly_dead_i;
      now.stop = 1'b1;
    end else if (rnr_go_i) begin
      set = 1'b1;
      now.rnr = 1'b1;
      now.code = rnr_code_i;
    end else if (rnr_wait_i) begin
      set = 1'b0;
    end else if (dying_i) begin
      set = progress_i || terr_i;
      if (timeout_i == 5'd0) now.code = LAST_WAIT;
    end else if (go_rws_i) begin
      set = rc_i;
      now.stop = empty_i;
    end else begin
      set = rc_i && progress_i && is_open;
    end
  end
  always_ff @(posedge clk_i) begin
    tms_valid <= 1'b0;
    if (close_i && set) begin
      tms_valid <= 1'b1;
      tms <= now;
    end
    if (again_o) begin
      later_q <= now;
      una_q <= una_i;
    end
    if (waits_o && cps_ctx_valid) begin
      tms_valid <= 1'b1;
      tms <= later_q;
      tms.stop <= cps_max_i == una_q;
    end
    if (again_o) waits_o <= cps_lk_ready;
    else if (cps_ctx_valid) waits_o <= 1'b0;
    if (rst_i) begin
      tms_valid <= 1'b0;
      waits_o <= 1'b0;
    end
  end
endmodule
