// SPDX-License-Identifier: Apache-2.0
// Token bucket of every QP: keeps its rate (the lower of its own limit and of what congestion
// control says), takes from its bucket what each of its packets has on the wire, and holds the QP
// between two turns until the bucket is not empty. QPs without a limit never come here.
// Buckets are filled when they are looked at, from a time stamp; QPs that wait stand in a timing
// wheel. An operation per cycle (4 cycles apart for one QP). A QP whose bucket is full enough goes
// on 6 cycles after it asked; one that waits, up to 16 cycles and the wheel's own few after its
// time, never before; being late is made good (cfg_late_log2_i).
`include "rnic_assert.svh"
module tx_pacer #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_PATH = 64,
    parameter int unsigned CORE_PS = 2000
) (
    input  logic              clk_i,
    input  logic              rst_i,
    output logic              init_done_o,
    input  logic [31:0]       now_i,            // core cycles, wraps
    input  logic [29:0]       cfg_line_i,       // kb/s; rates from here on are no limit
    input  logic              cfg_cc_i,         // congestion control is enabled
    input  logic [19:0]       cfg_burst_i,      // bytes that a QP at rest may save up
    input  logic [3:0]        cfg_late_log2_i,  // of core cycles that are made good
    input  logic              cfg_int_i,        // SEND and WRITE packets of RC get an INT trailer
    // a QP's own limit, Mb/s; 0 and all ones: none (pulse)
    input  logic              limit_i,
    input  logic [23:0]       limit_qpn_i,
    input  logic [19:0]       limit_mbps_i,
    // what congestion control says: rate, and bytes in flight, 0: any (pulse)
    input  logic              rate_i,
    input  logic [23:0]       rate_qpn_i,
    input  logic [29:0]       rate_kbps_i,
    input  logic [31:0]       rate_window_i,
    // a QP starts anew
    input  logic              clear_valid,
    output logic              clear_ready,
    input  logic [23:0]       clear_qpn,
    // what paths put in front of packets (pulse)
    input  logic              path_i,
    input  logic [15:0]       path_index_i,
    input  logic              path_ipv6_i,
    input  logic              path_vlan_i,
    // a packet is made (pulse)
    input  logic              pkt_i,
    input  logic [23:0]       pkt_qpn_i,
    input  logic [15:0]       pkt_path_i,
    input  logic [7:0]        pkt_opcode_i,
    input  logic [12:0]       pkt_len_i,
    // a response is made (pulse, every other cycle at most for long)
    input  logic              rsp_i,
    input  logic [23:0]       rsp_qpn_i,
    input  logic [15:0]       rsp_path_i,
    input  logic [7:0]        rsp_opcode_i,
    input  logic [12:0]       rsp_len_i,
    // resp_engine: has this QP a limit (answer a cycle later); may it send a response now
    input  logic              rchk_i,
    input  logic [23:0]       rchk_qpn_i,
    output logic              rchk_limited_o,
    input  logic              ask_valid,
    output logic              ask_ready,
    input  logic [23:0]       ask_qpn,
    output logic              told_o,
    output logic              told_ok_o,
    // sq_scheduler: has this QP a limit? Answer a cycle later, holds until the next question
    input  logic              chk_i,
    input  logic [23:0]       chk_qpn_i,
    output logic              chk_limited_o,
    // it wants a turn (pulse): after a rest; because its window was full
    input  logic              want_i,
    input  logic [23:0]       want_qpn_i,
    input  logic              want_idle_i,
    input  logic              want_window_i,
    // it must not wait (an order or a replay)
    input  logic              hurry_valid,
    output logic              hurry_ready,
    input  logic [23:0]       hurry_qpn,
    // it may have a turn
    output logic              go_valid,
    input  logic              go_ready,
    output logic [23:0]       go_qpn,
    // sq_engine: how far a turn may go; answer a cycle later
    input  logic              pace_lk_i,
    input  logic [23:0]       pace_lk_qpn_i,
    output rnic_pkg::pace_t   pace_o,
    output logic              cnt_paced_o       // a QP waits
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned NQ = (N_QP > 1) ? N_QP : 2;
  // Half a turn of the wheel is the longest wait before a QP is looked at again.
  localparam int unsigned N_SLOT = (QW < 8) ? 512 : (1 << (QW + 1));
  localparam logic [31:0] FAR = 32'(8 * N_SLOT - 64);
  // Tokens: kb/s times core cycles. A byte has 8e9 / CORE_PS of them.
  localparam int unsigned TW = 48;
  localparam logic [63:0] PS = {32'd0, CORE_PS};
  localparam logic [39:0] BYTE = 40'((64'd8_000_000_000 + PS / 64'd2) / PS);
  localparam int unsigned BYTE_LOG = (CORE_PS > 30517) ? 18 : (CORE_PS > 15258) ? 19 :
      (CORE_PS > 7629) ? 20 : (CORE_PS > 3814) ? 21 : (CORE_PS > 1907) ? 22 :
      (CORE_PS > 953) ? 23 : (CORE_PS > 476) ? 24 : (CORE_PS > 238) ? 25 :
      (CORE_PS > 119) ? 26 : 27;
  localparam logic [TW-1:0] MOST = {2'b00, {(TW - 2){1'b1}}};
  localparam logic [13:0] FIRST_BYTES = 14'd1024;  // a QP's packets, as long as none was seen
  // A QP whose window is full looks again after this long, or when its rate or window changes.
  localparam logic [31:0] LOOK = 32'd256;

  localparam logic [3:0] OP_DEBIT = 4'd0;
  localparam logic [3:0] OP_RATE = 4'd1;
  localparam logic [3:0] OP_LIMIT = 4'd2;
  localparam logic [3:0] OP_CLEAR = 4'd3;
  localparam logic [3:0] OP_HURRY = 4'd4;
  localparam logic [3:0] OP_DUE = 4'd5;
  localparam logic [3:0] OP_WANT = 4'd6;
  localparam logic [3:0] OP_REST = 4'd7;   // stamps do not grow old
  localparam logic [3:0] OP_ASK = 4'd8;    // a response

  typedef struct packed {
    logic [29:0]   cc;       // kb/s
    logic [19:0]   own;      // Mb/s
    logic [31:0]   window;
    logic [13:0]   bytes;    // of a packet, about
    logic [TW-1:0] tokens;   // signed
    logic [31:0]   stamp;
    logic          waits;    // is here
    logic          full;     // its window was
    logic          hurry;
    logic          refused;  // a response, when it was asked for
    logic          rsp_last; // a response went after the last turn
  } state_t;
  localparam int unsigned ST_W = 30 + 20 + 32 + 14 + TW + 32 + 5;

  // --------------------------------------------------------------------------- what has to be done
  logic        debit_valid, debit_ready, rate_valid, rate_ready, own_valid, own_ready;
  logic        due_valid, due_ready, want_valid, want_ready, wheel_done, room_in, room_out, go_few;
  logic [23:0] debit_qpn, rate_qpn, own_qpn, due_qpn, want_qpn;
  logic [17:0] debit_bytes;
  logic [13:0] debit_last;
  logic [29:0] rate_kbps;
  logic [31:0] rate_window;
  logic [19:0] own_mbps;
  logic        rsp_valid, rsp_room, any_pkt, debit_busy;
  logic [23:0] rsp_qpn, any_qpn;
  logic [15:0] rsp_path;
  logic [7:0]  rsp_opcode;
  logic [12:0] rsp_len;
  logic [3:0]  rsp_level;
  logic        want_idle, want_window, rate_room, own_room, want_room, pkt_limited;
  logic [6:0]  rate_level;
  logic [2:0]  own_level;
  logic [$clog2(NQ+1)-1:0] want_level;
  pace_debit #(.N_QP(N_QP), .N_PATH(N_PATH)) u_debit (
      .clk_i,
      .rst_i,
      .cfg_int_i,
      .path_i,
      .path_index_i,
      .path_ipv6_i,
      .path_vlan_i,
      .pkt_i(any_pkt),
      .pkt_qpn_i(any_qpn),
      .pkt_path_i(pkt_i ? pkt_path_i : rsp_path),
      .pkt_opcode_i(pkt_i ? pkt_opcode_i : rsp_opcode),
      .pkt_len_i(pkt_i ? pkt_len_i : rsp_len),
      .limited_i(pkt_limited),
      .debit_valid,
      .debit_ready,
      .debit_qpn,
      .debit_bytes,
      .debit_last,
      .busy_o(debit_busy)
  );
  // Responses go into the gaps of what sq_engine makes.
  stream_fifo_small #(.W(61), .DEPTH(8)) u_responses (
      .clk_i,
      .rst_i,
      .in_valid (rsp_i),
      .in_ready (rsp_room),
      .in_data  ({rsp_qpn_i, rsp_path_i, rsp_opcode_i, rsp_len_i}),
      .out_valid(rsp_valid),
      .out_ready(!pkt_i),
      .out_data ({rsp_qpn, rsp_path, rsp_opcode, rsp_len}),
      .level_o  (rsp_level)
  );
  assign any_pkt = pkt_i || rsp_valid;
  assign any_qpn = pkt_i ? pkt_qpn_i : rsp_qpn;
  stream_fifo #(.W(86), .DEPTH(64)) u_rates (
      .clk_i,
      .rst_i,
      .in_valid (rate_i && rate_qpn_i < 24'(N_QP)),
      .in_ready (rate_room),
      .in_data  ({rate_qpn_i, rate_kbps_i, rate_window_i}),
      .out_valid(rate_valid),
      .out_ready(rate_ready),
      .out_data ({rate_qpn, rate_kbps, rate_window}),
      .level_o  (rate_level)
  );
  stream_fifo_small #(.W(44), .DEPTH(4)) u_limits (
      .clk_i,
      .rst_i,
      .in_valid (limit_i && limit_qpn_i < 24'(N_QP)),
      .in_ready (own_room),
      .in_data  ({limit_qpn_i, limit_mbps_i}),
      .out_valid(own_valid),
      .out_ready(own_ready),
      .out_data ({own_qpn, own_mbps}),
      .level_o  (own_level)
  );
  logic [QW-1:0] want_qp;
  stream_fifo #(.W(QW + 2), .DEPTH(NQ)) u_wants (
      .clk_i,
      .rst_i,
      .in_valid (want_i),
      .in_ready (want_room),
      .in_data  ({want_qpn_i[QW-1:0], want_idle_i, want_window_i}),
      .out_valid(want_valid),
      .out_ready(want_ready),
      .out_data ({want_qp, want_idle, want_window}),
      .level_o  (want_level)
  );
  assign want_qpn = 24'(want_qp);

  // Every bucket is looked at once in 2^31 cycles, so that a stamp's age is never mistaken.
  localparam int unsigned REST_W = 31 - QW;
  logic          rest_q, rest_take;
  logic [QW-1:0] rest_qp_q;
  always_ff @(posedge clk_i) begin
    if (now_i[REST_W-1:0] == '0) rest_q <= 1'b1;
    else if (rest_take) rest_q <= 1'b0;
    if (rest_take) rest_qp_q <= rest_qp_q + 1'b1;
    if (rst_i) begin
      rest_q <= 1'b0;
      rest_qp_q <= '0;
    end
  end

  // ------------------------------------------------------------------ P0: one operation, its state
  typedef struct packed {
    logic [3:0]    op;
    logic [QW-1:0] qp;
    logic [61:0]   arg;
  } op_t;
  logic        p0_pick, p0_go, p0_busy, v1_q, v2_q, v3_q;
  logic [3:0]  p0_op;
  logic [23:0] p0_qpn;
  logic [61:0] p0_arg;
  op_t         op1_q, op2_q, op3_q;
  logic [QW:0] init_q;
  logic        ready;
  assign init_done_o = wheel_done && init_q == (QW + 1)'(NQ);
  assign ready = init_done_o;
  always_comb begin
    p0_pick = ready;
    p0_op = OP_REST;
    p0_qpn = 24'(rest_qp_q);
    p0_arg = '0;
    if (debit_valid) begin
      p0_op = OP_DEBIT;
      p0_qpn = debit_qpn;
      p0_arg = {30'd0, debit_bytes, debit_last};
    end else if (rate_valid && room_out) begin
      p0_op = OP_RATE;
      p0_qpn = rate_qpn;
      p0_arg = {rate_kbps, rate_window};
    end else if (own_valid && room_out) begin
      p0_op = OP_LIMIT;
      p0_qpn = own_qpn;
      p0_arg = {42'd0, own_mbps};
    end else if (clear_valid) begin
      p0_op = OP_CLEAR;
      p0_qpn = clear_qpn;
    end else if (hurry_valid && room_out) begin
      p0_op = OP_HURRY;
      p0_qpn = hurry_qpn;
    end else if (due_valid && room_in && go_few) begin
      p0_op = OP_DUE;
      p0_qpn = due_qpn;
    end else if (want_valid && room_in && go_few) begin
      p0_op = OP_WANT;
      p0_qpn = want_qpn;
      p0_arg = {60'd0, want_idle, want_window};
    end else if (ask_valid && !debit_busy && !rsp_valid) begin
      // When nothing that it has sent is still to be taken from its bucket.
      p0_op = OP_ASK;
      p0_qpn = ask_qpn;
    end else begin
      p0_pick = ready && rest_q;
    end
  end
  assign p0_busy = (v1_q && op1_q.qp == p0_qpn[QW-1:0]) || (v2_q && op2_q.qp == p0_qpn[QW-1:0]) ||
                   (v3_q && op3_q.qp == p0_qpn[QW-1:0]);
  assign p0_go = p0_pick && !p0_busy;
  assign debit_ready = p0_go && p0_op == OP_DEBIT;
  assign rate_ready = p0_go && p0_op == OP_RATE;
  assign own_ready = p0_go && p0_op == OP_LIMIT;
  assign clear_ready = p0_go && p0_op == OP_CLEAR;
  assign hurry_ready = p0_go && p0_op == OP_HURRY;
  assign due_ready = p0_go && p0_op == OP_DUE;
  assign want_ready = p0_go && p0_op == OP_WANT;
  assign ask_ready = p0_go && p0_op == OP_ASK;
  assign rest_take = p0_go && p0_op == OP_REST;

  logic   s_wr;
  state_t st1, st2_q, st3_q, nx;
  ram_sdp #(.W(ST_W), .DEPTH(NQ)) u_state (
      .clk_i,
      .wr_en_i  (s_wr),
      .wr_addr_i(ready ? op3_q.qp : init_q[QW-1:0]),
      .wr_data_i(nx),
      .rd_en_i  (p0_go),
      .rd_addr_i(p0_qpn[QW-1:0]),
      .rd_data_o(st1)
  );

  // ----------------------------------------------------- P1: its rate before and after, its time
  logic [29:0] cc_new1, old1, new1;
  logic [19:0] own_new1;
  logic [31:0] win_new1, dt2_q, age1;
  logic        lim_old1, lim_new1;
  // The rate in force, kb/s: 1 at least, the line's at most.
  function automatic logic [29:0] in_force(input logic [29:0] cc, input logic [19:0] own,
                                           input logic [29:0] line);
    in_force = ({own, 10'd0} - {6'd0, own, 4'd0}) - {7'd0, own, 3'd0};
    if (own == 20'd0 || own == 20'hFFFFF) in_force = 30'h3FFF_FFFF;
    if (cc < in_force) in_force = cc;
    if (line < in_force) in_force = line;
    if (in_force == 30'd0) in_force = 30'd1;
  endfunction
  assign cc_new1 = (op1_q.op == OP_RATE) ? op1_q.arg[61:32] : st1.cc;
  assign win_new1 = (op1_q.op == OP_RATE) ? op1_q.arg[31:0] : st1.window;
  assign own_new1 = (op1_q.op == OP_LIMIT) ? op1_q.arg[19:0] : st1.own;
  assign old1 = in_force(cfg_cc_i ? st1.cc : 30'h3FFF_FFFF, st1.own, cfg_line_i);
  assign new1 = in_force(cfg_cc_i ? cc_new1 : 30'h3FFF_FFFF, own_new1, cfg_line_i);
  assign lim_old1 = old1 < cfg_line_i || (cfg_cc_i && st1.window != 32'd0);
  assign lim_new1 = new1 < cfg_line_i || (cfg_cc_i && win_new1 != 32'd0);
  assign age1 = now_i - st1.stamp;

  // --------------------------------------------------- P2: what has come in, what is taken out
  logic [29:0]   old2_q, new2_q, new3_q;
  logic          lim_old2_q, lim_new2_q, lim_old3_q, lim_new3_q, up3_q;
  logic [31:0]   now2_q, now3_q;
  logic [61:0]   in2;
  logic [57:0]   out2;
  logic [TW-1:0] in3_q, out3_q, most3_q;
  logic [TW-1:0] burst_q;
  logic [TW-1:0] late2;
  assign in2 = old2_q * dt2_q;
  assign out2 = op2_q.arg[31:14] * BYTE;
  assign late2 = {18'd0, old2_q} << cfg_late_log2_i;
  always_ff @(posedge clk_i) begin
    v1_q <= p0_go;
    v2_q <= v1_q;
    v3_q <= v2_q;
    if (p0_go) op1_q <= {p0_op, p0_qpn[QW-1:0], p0_arg};
    if (v1_q) begin
      op2_q <= op1_q;
      st2_q <= st1;
      old2_q <= old1;
      new2_q <= new1;
      lim_old2_q <= lim_old1;
      lim_new2_q <= lim_new1;
      dt2_q <= age1;
      now2_q <= now_i;
    end
    if (v2_q) begin
      op3_q <= op2_q;
      st3_q <= st2_q;
      new3_q <= new2_q;
      up3_q <= new2_q > old2_q;
      lim_old3_q <= lim_old2_q;
      lim_new3_q <= lim_new2_q;
      now3_q <= now2_q;
      in3_q <= (in2[61:TW-2] != '0) ? MOST : in2[TW-1:0];
      out3_q <= (op2_q.op != OP_DEBIT) ? '0 : (out2[57:TW-2] != '0) ? MOST : out2[TW-1:0];
      most3_q <= ((op2_q.op == OP_WANT && op2_q.arg[1]) || (op2_q.op == OP_ASK && !st2_q.refused)) ?
          burst_q : burst_q + late2;
    end
    burst_q <= {28'd0, cfg_burst_i} * BYTE;
    if (!init_done_o && init_q != (QW + 1)'(NQ)) init_q <= init_q + 1'b1;
    if (rst_i) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
      init_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------- P3: the bucket
  logic [TW:0]   sum3, level3;
  logic [TW-1:0] tokens3;
  logic          asks3, release3, wait3, out3;
  logic [13:0]   last3;
  assign sum3 = {st3_q.tokens[TW-1], st3_q.tokens} + {1'b0, in3_q};
  always_comb begin
    level3 = sum3;
    if (!sum3[TW] && sum3[TW-1:0] > most3_q) level3 = {1'b0, most3_q};
    if (!lim_old3_q || op3_q.op == OP_CLEAR) level3 = '0;
    else level3 = level3 - {1'b0, out3_q};
    // As low as it can be written.
    if (level3[TW] && !level3[TW-1]) level3 = {2'b11, {(TW - 1){1'b0}}};
    tokens3 = level3[TW-1:0];
  end
  assign asks3 = v3_q && (op3_q.op == OP_DUE || op3_q.op == OP_WANT);
  assign release3 = asks3 && (!lim_new3_q || st3_q.hurry ||
      (!tokens3[TW-1] && !(op3_q.op == OP_WANT && op3_q.arg[0])));
  assign wait3 = asks3 && !release3;
  // Requests and responses of a QP take turns when both wait for its tokens.
  assign told_o = v3_q && op3_q.op == OP_ASK;
  assign told_ok_o = !lim_new3_q ||
      (!tokens3[TW-1] && !(st3_q.waits && !st3_q.full && st3_q.rsp_last));
  assign last3 = op3_q.arg[13:0];
  always_comb begin
    nx = st3_q;
    out3 = 1'b0;
    nx.tokens = lim_new3_q ? tokens3 : '0;
    nx.stamp = now3_q;
    unique case (op3_q.op)
      // A quarter of the way towards the latest packet.
      OP_DEBIT:
      nx.bytes = st3_q.bytes - {2'd0, st3_q.bytes[13:2]} + {2'd0, last3[13:2]};
      OP_RATE: begin
        nx.cc = op3_q.arg[61:32];
        nx.window = op3_q.arg[31:0];
        out3 = st3_q.waits && (up3_q || st3_q.full || !lim_new3_q);
      end
      OP_LIMIT: begin
        nx.own = op3_q.arg[19:0];
        out3 = st3_q.waits && (up3_q || !lim_new3_q);
      end
      OP_CLEAR: begin
        nx.bytes = FIRST_BYTES;
        nx.hurry = 1'b0;
      end
      OP_HURRY: begin
        nx.hurry = 1'b1;
        out3 = st3_q.waits;
      end
      OP_DUE, OP_WANT: begin
        nx.waits = wait3;
        nx.hurry = 1'b0;
        nx.full = wait3 && (op3_q.op == OP_WANT) && op3_q.arg[0];
        if (release3) nx.rsp_last = 1'b0;
      end
      OP_ASK: begin
        nx.refused = !told_ok_o;
        nx.rsp_last = st3_q.rsp_last || told_ok_o;
      end
      default: ;
    endcase
    if (!ready) begin
      nx = '0;
      nx.cc = 30'h3FFF_FFFF;
      nx.own = 20'hFFFFF;
      nx.bytes = FIRST_BYTES;
    end
  end
  assign s_wr = !ready || v3_q;

  // Has it a limit; and what its next turn may be.
  logic            g_wr;
  rnic_pkg::pace_t g_new;
  localparam int unsigned G_W = $bits(g_new);
  logic [QW-1:0]   wr_qp;
  logic [TW-1:0]   spare3;
  assign wr_qp = ready ? op3_q.qp : init_q[QW-1:0];
  assign spare3 = tokens3 >> BYTE_LOG;
  assign g_wr = !ready || (v3_q && (release3 || op3_q.op == OP_RATE || op3_q.op == OP_LIMIT ||
                                    op3_q.op == OP_CLEAR));
  always_comb begin
    g_new = '0;
    if (ready) begin
      g_new.limited = lim_new3_q;
      g_new.window = cfg_cc_i ? nx.window : '0;
      g_new.bytes = nx.bytes;
      if (release3 && !tokens3[TW-1])
        g_new.budget = (spare3[TW-1:16] != '0) ? 16'hFFFF : spare3[15:0];
    end
  end
  ram_1w_nr #(.W(1), .DEPTH(NQ), .N_RD(3), .FORWARD(1)) u_limited (
      .clk_i,
      .wr_en_i  (g_wr),
      .wr_addr_i(wr_qp),
      .wr_data_i(ready && lim_new3_q),
      .rd_en_i  ({rchk_i, any_pkt, chk_i}),
      .rd_addr_i({rchk_qpn_i[QW-1:0], any_qpn[QW-1:0], chk_qpn_i[QW-1:0]}),
      .rd_data_o({rchk_limited_o, pkt_limited, chk_limited_o})
  );
  ram_sdp #(.W(G_W), .DEPTH(NQ), .FORWARD(1)) u_pace (
      .clk_i,
      .wr_en_i  (g_wr),
      .wr_addr_i(wr_qp),
      .wr_data_i(g_new),
      .rd_en_i  (pace_lk_i),
      .rd_addr_i(pace_lk_qpn_i[QW-1:0]),
      .rd_data_o(pace_o)
  );

  // --------------------------------------- P4, P5: how long until the bucket is not empty any more
  // Debt / rate with 8 bits of the rate, rounded up: a little late, and being late is made good.
  logic [8:0] parts [128];
  for (genvar i = 0; i < 128; i++) begin : gen_part
    assign parts[i] = 9'((32768 + 127 + i) / (128 + i));
  end
  logic          out4_q, out5_q, full4_q, full5_q, wait4_q, wait5_q;
  logic [QW-1:0] qp4_q, qp5_q;
  logic [TW-1:0] debt4_q;
  logic [29:0]   rate4_q;
  logic [31:0]   now4_q, now5_q;
  logic [4:0]    exp4, exp5_q;
  logic [29:0]   norm4;
  logic [56:0]   prod5_q, cycles5;
  logic [31:0]   wait5, due5;
  always_comb begin
    exp4 = '0;
    for (int i = 0; i < 30; i++) if (rate4_q[i]) exp4 = 5'(i);
  end
  assign norm4 = rate4_q << (5'd29 - exp4);  // bit 29 is set
  assign cycles5 = prod5_q >> (6'd8 + {1'b0, exp5_q});
  always_comb begin
    wait5 = FAR;
    if (cycles5[56:32] == '0 && cycles5[31:0] < FAR) wait5 = cycles5[31:0];
    if (full5_q && wait5 < LOOK) wait5 = LOOK;
  end
  assign due5 = now5_q + wait5 + 32'd15;
  always_ff @(posedge clk_i) begin
    wait4_q <= wait3;
    out4_q <= v3_q && out3;
    full4_q <= nx.full;
    if (v3_q) begin
      qp4_q <= op3_q.qp;
      debt4_q <= tokens3[TW-1] ? -tokens3 : '0;
      rate4_q <= new3_q;
      now4_q <= now3_q;
    end
    wait5_q <= wait4_q;
    out5_q <= out4_q;
    full5_q <= full4_q;
    if (wait4_q || out4_q) begin
      qp5_q <= qp4_q;
      prod5_q <= {9'd0, debt4_q} * {48'd0, parts[norm4[28:22]]};
      exp5_q <= exp4;
      now5_q <= now4_q;
    end
    if (rst_i) begin
      wait4_q <= 1'b0;
      out4_q <= 1'b0;
      wait5_q <= 1'b0;
      out5_q <= 1'b0;
    end
  end
  assign cnt_paced_o = wait3 && op3_q.op == OP_WANT;
  pace_wheel #(.N_QP(N_QP), .N_SLOT(N_SLOT)) u_wheel (
      .clk_i,
      .rst_i,
      .init_done_o (wheel_done),
      .now_i,
      .cmd_i       (wait5_q || out5_q),
      .cmd_insert_i(wait5_q),
      .cmd_qpn_i   (24'(qp5_q)),
      .cmd_slot_i  (due5[31:4]),
      .room_out_o  (room_out),
      .room_in_o   (room_in),
      .due_valid,
      .due_ready,
      .due_qpn
  );

  // ------------------------------------------------------------------------------------ may go on
  logic [QW-1:0] go_qp;
  logic [3:0]    go_level;
  logic          go_room;
  stream_fifo_small #(.W(QW), .DEPTH(8)) u_go (
      .clk_i,
      .rst_i,
      .in_valid (release3),
      .in_ready (go_room),
      .in_data  (op3_q.qp),
      .out_valid(go_valid),
      .out_ready(go_ready),
      .out_data (go_qp),
      .level_o  (go_level)
  );
  assign go_qpn = 24'(go_qp);
  assign go_few = go_level < 4'd5;

  logic unused;
  assign unused = ^{rate_level, own_level, want_level, want_qpn_i, chk_qpn_i, pkt_qpn_i, hurry_qpn,
      rchk_qpn_i, any_qpn, rsp_level, ask_qpn, clear_qpn, p0_qpn, pace_lk_qpn_i, last3, norm4,
      due5};

  `RNIC_ASSERT(rates_fit, !rate_i || rate_room || rate_qpn_i >= 24'(N_QP))
  `RNIC_ASSERT(limits_fit, !limit_i || own_room || limit_qpn_i >= 24'(N_QP))
  `RNIC_ASSERT(responses_fit, !rsp_i || rsp_room)
  `RNIC_ASSERT(wants_fit, !want_i || want_room)
  `RNIC_ASSERT(asks_once, !(v3_q && op3_q.op == OP_WANT && st3_q.waits))
  `RNIC_ASSERT(comes_back_once, !(v3_q && op3_q.op == OP_DUE && !st3_q.waits))
  `RNIC_ASSERT(go_fits, !release3 || go_room)
  `RNIC_STREAM_HOLD(go_valid, go_ready, go_qpn)
endmodule
