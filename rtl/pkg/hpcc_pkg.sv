// SPDX-License-Identifier: Apache-2.0
// Types of the HPCC reaction point. Rates are in kb/s, U and loads in 2^-24.
/* verilator lint_off UNUSEDPARAM */
package hpcc_pkg;
  localparam int unsigned HOPS = 5;
  // What a pass did: the first telemetry of a QP is only stored; the full update once per round
  // trip; the fast reaction between; not looked at (fast reaction off); another path: only stored.
  localparam logic [2:0] FIRST = 3'd0, UPDATE = 3'd1, FAST = 3'd2, IGNORED = 3'd3, NEW_PATH = 3'd4,
      RESET = 3'd5;
  // What was wrong with a telemetry: more than five hops; a link rate that nobody knows; a clock
  // that stood still while bytes moved; bytes faster than the limit.
  localparam int unsigned BAD_NHOP = 0, BAD_LINK = 1, BAD_CLOCK = 2, BAD_BYTES = 3;

  // One hop as it is carried.
  typedef struct packed {
    logic [16:0] q;   // 80 bytes * int_multi
    logic [19:0] tx;  // 128 bytes * int_multi, wraps
    logic [23:0] ts;  // ns, wraps
    logic [2:0]  b;   // 25, 50, 100, 200, 400 Gb/s
  } hop_t;

  // The telemetry that an ACK echoes. Hop n is hops[64 * n +: 64], of type hop_t.
  typedef struct packed {
    logic [11:0]  path;
    logic [7:0]   nhop;
    logic [319:0] hops;
  } stack_t;

  typedef struct packed {
    logic        formula;     // rate formula instead of the window
    logic        cut_old;     // formula: cuts the old rate, adds ai at every ACK
    logic        fast_react, multi_rate, sample, path_check;
    logic [29:0] line, floor, ai;
    logic [24:0] eta;         // 2^-24
    logic [7:0]  max_stage;
    logic [23:0] alpha;       // formula: cut in 1/1024, 2^-16 per unit of q
  } cfg_t;

  // Constants of the base round trip T and the telemetry's units.
  typedef struct packed {
    logic [19:0] t;           // ns
    logic [31:0] inv_t;       // 2^40 / T
    logic [35:0] k_q;         // load of one unit of q at 25 Gb/s, 2^-32
    logic [33:0] k_tx;        // load of one unit of tx in 1 ns at 25 Gb/s, 2^-20
    logic [37:0] k_win;       // bytes in T at 1 kb/s, 2^-40
  } constants_t;

  // An ACK on its way.
  typedef struct packed {
    logic        valid;
    logic [23:0] qpn;
    logic [2:0]  kind;
    logic        apply, full;          // apply: loads change U and the rate
    logic        formula;              // the rate is the formula's
    logic        multi;
    logic [4:0]  exist, hold;          // hops that are there; that keep their state
    logic [3:0]  bad;
    logic [16:0] q_max;
    logic [31:0] last;                 // last_update_seq
    logic [29:0] rate;                 // before this ACK
    logic [35:0] u_max;
    logic [19:0] tau;
  } pass_t;
endpackage
