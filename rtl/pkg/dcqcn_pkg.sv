// SPDX-License-Identifier: Apache-2.0
// Types of the DCQCN reaction point. Rates are in kb/s, alpha in 2^-24, times in ticks of now_i.
/* verilator lint_off UNUSEDPARAM */
package dcqcn_pkg;
  // What comes to a QP, and what a pass did. DEC, INC: a timer expired. ALPHA: only counted
  // periods, more of them than one pass can.
  localparam logic [2:0] QUERY = 3'd0, CNP = 3'd1, BYTE = 3'd2, RESET = 3'd3, TIMER = 3'd4,
      DEC = 3'd5, INC = 3'd6, ALPHA = 3'd7;
  // The algorithm's own stage.
  localparam logic [1:0] PH_NONE = 2'd0, PH_FAST = 2'd1, PH_ADD = 2'd2, PH_HYPER = 2'd3;
  // The names of the published state table.
  localparam logic [1:0] ACTIVE = 2'd0, FAST_RECOVERY = 2'd1, RECOVERY = 2'd2,
      HYPER_INCREASE = 2'd3;

  typedef struct packed {
    logic        production;        // 0: cut at the CNP (paper)
    logic        clamp, clamp_after_time;
    logic [29:0] line, floor, ai, hai, first_rate;
    logic [16:0] g, alpha_init, first_frac, max_cut;  // 2^-16
    logic [3:0]  gd;
    logic [7:0]  f;
    logic [31:0] byte_reset;
    logic [30:0] alpha_ticks, dec_ticks, inc_ticks;
  } cfg_t;

  typedef struct packed {
    logic        active;    // a CNP has come
    logic        inc_run, dec_flag;
    logic [31:0] alpha_at, dec_at, inc_at;
  } timers_t;

  typedef struct packed {
    logic        flag;      // a CNP since the last tick
    logic [24:0] alpha;
  } alpha_t;

  typedef struct packed {
    logic [29:0] rate, target;
    logic [11:0] t_stage, b_stage;
    logic [1:0]  phase;
    logic        again;     // the last cut met an open one
  } rates_t;

  typedef struct packed {
    logic [2:0]  kind;
    logic        inclusive; // timers due at this very time too
    logic [23:0] qpn;
    logic [31:0] at;
  } event_t;

  // An event on its way through one pass.
  typedef struct packed {
    logic        valid;
    event_t      ev;
    logic [2:0]  op;
    logic [31:0] at;        // of op
    logic        alpha_due, grid_due;
    logic [31:0] alpha_last, grid_last;  // last moments that count
    timers_t     tm;
  } pass_t;
endpackage
