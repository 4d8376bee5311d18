// SPDX-License-Identifier: Apache-2.0
// DCQCN's notification point: answers packets that came with the CE mark by CNPs, at most one per
// flow and interval. A flow is a QP, a peer address or the port. Facts: roce.md sections 6 and 8.
// Throughput: one marked packet per cycle, CNPs as tx_packetizer takes them. Latency: 2 cycles from
// the pulse to cnp_valid. Order: kept. Inputs are pulses that cannot wait, each at most
// every second cycle. A CNP that finds OUT others waiting is lost and counted; its flow then
// counts as not answered. Two addresses that share one of N_ADDR places end each other's interval:
// never fewer CNPs than asked for.
`include "rnic_assert.svh"
module cnp_gen #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_ADDR = 64,          // places for peer addresses, a power of two
    parameter int unsigned OUT = 16,             // CNPs that wait
    parameter int unsigned CYCLES_PER_US = 500   // rounded up, so that an interval is never short
) (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic                cfg_enable_i,
    input  logic [15:0]         cfg_interval_i,  // us; 0: a CNP for every marked packet
    input  logic [1:0]          cfg_scope_i,     // as DCQCN_NP.scope
    // marked packets (pulses): from rx_responder, from rx_completer
    input  logic                in_a_valid_i,
    input  rnic_pkg::marked_t   in_a_i,
    input  logic                in_b_valid_i,
    input  rnic_pkg::marked_t   in_b_i,
    // to tx_packetizer
    output logic                cnp_valid,
    input  logic                cnp_ready,
    output rnic_pkg::tx_pkt_t   cnp,
    output logic                cnt_sent_o,
    output logic                cnt_lost_o
);
  localparam int unsigned AW = (N_ADDR > 1) ? $clog2(N_ADDR) : 1;
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned KW = (AW > QW) ? AW : QW;  // number of a flow
  localparam int unsigned KEYS = 1 << KW;
  localparam int unsigned PKT_W = 24 + 24 + 16;
  localparam logic [1:0] SCOPE_QP = rnic_desc_pkg::CNP_SCOPE_QP;
  localparam logic [1:0] SCOPE_ADDRESS = rnic_desc_pkg::CNP_SCOPE_ADDRESS;

  if (N_ADDR < 2 || (N_ADDR & (N_ADDR - 1)) != 0 || OUT < 2) begin : gen_bad_size
    $error("cnp_gen: N_ADDR must be a power of two from 2 on, OUT 2 at least");
  end

  // ---------------------------------------------------------------- one marked packet at a time
  logic              valid_q, kept_q, use_a, use_b;
  rnic_pkg::marked_t m_q, b_q;
  assign use_a = in_a_valid_i && cfg_enable_i;
  assign use_b = in_b_valid_i && cfg_enable_i;
  always_ff @(posedge clk_i) begin
    valid_q <= use_a || use_b || kept_q;
    kept_q <= (use_a && (use_b || kept_q)) || (use_b && kept_q);
    if (use_a) m_q <= in_a_i;
    else if (kept_q) m_q <= b_q;
    else m_q <= in_b_i;
    if (use_b) b_q <= in_b_i;
    if (rst_i) begin
      valid_q <= 1'b0;
      kept_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------- its flow: answered lately?
  logic [KEYS-1:0] recent_q;            // a CNP was sent in the last interval
  logic [127:0]    addr_mem[N_ADDR];    // to whom
  logic [AW-1:0]   place;
  logic [KW-1:0]   flow;
  logic            by_qp, by_addr, same_addr, answered, send, out_room, log_room;
  // XOR of the address's parts, so that neighbours have places of their own.
  always_comb begin
    place = '0;
    if (valid_q) begin
      for (int unsigned i = 0; i < 128; i++) place[i%AW] = place[i%AW] ^ m_q.addr[i];
    end
  end
  assign by_qp = cfg_scope_i == SCOPE_QP;
  assign by_addr = cfg_scope_i == SCOPE_ADDRESS;
  assign flow = by_qp ? KW'(m_q.qpn) : by_addr ? KW'(place) : '0;
  assign same_addr = addr_mem[place] == m_q.addr;
  assign answered = recent_q[flow] && (!by_addr || same_addr) && cfg_interval_i != 16'd0;
  assign send = valid_q && !answered && out_room && log_room;
  always_ff @(posedge clk_i) begin
    if (send && by_addr) addr_mem[place] <= m_q.addr;
    cnt_lost_o <= valid_q && !answered && !send;
    if (rst_i) cnt_lost_o <= 1'b0;
  end

  // --------------------------------------------------------------- intervals end in order of time
  logic [31:0]   now_q, interval_q, age, log_time;
  logic [KW-1:0] log_flow;
  logic          log_valid, log_end;
  localparam int unsigned LOGW = $clog2(KEYS + 1);
  logic [LOGW-1:0] log_level;
  stream_fifo #(
      .W(KW + 32),
      .DEPTH(KEYS)
  ) u_log (
      .clk_i,
      .rst_i,
      .in_valid(send),
      .in_ready(log_room),
      .in_data({flow, now_q}),
      .out_valid(log_valid),
      .out_ready(log_end),
      .out_data({log_flow, log_time}),
      .level_o(log_level)
  );
  assign age = now_q - log_time;
  assign log_end = log_valid && age >= interval_q;
  always_ff @(posedge clk_i) begin
    now_q <= now_q + 32'd1;
    interval_q <= 32'(cfg_interval_i) * 32'(CYCLES_PER_US);
    if (log_end) recent_q[log_flow] <= 1'b0;
    if (send) recent_q[flow] <= 1'b1;
    if (rst_i) begin
      recent_q <= '0;
      now_q <= '0;
      interval_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------------- the CNP
  logic [23:0] out_qpn, out_dest;
  logic [15:0] out_path;
  localparam int unsigned OUTW = $clog2(OUT + 1);
  logic [OUTW-1:0] out_level;
  stream_fifo #(
      .W(PKT_W),
      .DEPTH(OUT)
  ) u_out (
      .clk_i,
      .rst_i,
      .in_valid(send),
      .in_ready(out_room),
      .in_data({m_q.qpn, m_q.dest_qpn, m_q.path}),
      .out_valid(cnp_valid),
      .out_ready(cnp_ready),
      .out_data({out_qpn, out_dest, out_path}),
      .level_o(out_level)
  );
  always_comb begin
    cnp = '0;
    if (cnp_valid) begin
      cnp.qpn = out_qpn;
      cnp.response = 1'b1;
      cnp.path = out_path;
      cnp.opcode = roce_pkg::OP_CNP;
      cnp.becn = 1'b1;
      cnp.pkey = 16'hFFFF;  // of every CNP, whatever the connection's is
      cnp.dest_qpn = out_dest;
    end
  end
  always_ff @(posedge clk_i) begin
    cnt_sent_o <= cnp_valid && cnp_ready;
    if (rst_i) cnt_sent_o <= 1'b0;
  end

  logic unused;
  assign unused = ^{log_level, out_level, m_q};

  `RNIC_STREAM_HOLD(cnp_valid, cnp_ready, cnp)
  `RNIC_ASSERT(second_input_pauses, !(use_b && kept_q && use_a))
  `RNIC_COVER(two_at_once, use_a && use_b)
  `RNIC_COVER(interval_ends, log_end)
endmodule
