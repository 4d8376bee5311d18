// SPDX-License-Identifier: Apache-2.0
// QPs that asked to fail, each at most once a side, in the order of their first request. It always
// takes a request, so that no block ever waits for cmd_unit with work that cmd_unit waits for. The
// first cause of a QP and side is kept. Throughput: one request and one answer per cycle. Latency:
// 1 cycle. A QPN beyond N_QP raises unknown_o.
module fail_list #(
    parameter int unsigned N_QP = 64
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               in_valid,
    output logic               in_ready,
    input  rnic_pkg::qp_fail_t in,
    input  logic               in_sq,      // asked by the sending side
    output logic               unknown_o,
    output logic               out_valid,
    input  logic               out_ready,
    output rnic_pkg::qp_fail_t out,
    output logic               out_sq
);
  localparam int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned DEPTH = 2 * N_QP;
  localparam int unsigned FAIL_W = $bits(in);
  localparam int unsigned LW = $clog2(DEPTH + 1);
  logic [N_QP-1:0] listed_q, listed_sq_q;
  logic known, push;
  logic [AW-1:0] in_idx, out_idx;
  logic [LW-1:0] level;
  assign in_idx = in.qpn[AW-1:0];
  assign out_idx = out.qpn[AW-1:0];
  assign known = in.qpn < 24'(N_QP);
  assign push = in_valid && known && !(in_sq ? listed_sq_q[in_idx] : listed_q[in_idx]);
  assign unknown_o = in_valid && !known;
  logic fifo_ready;
  assign in_ready = 1'b1;
  stream_fifo #(
      .W(FAIL_W + 1),
      .DEPTH(DEPTH),
      .OUT_REG(0)
  ) u_fifo (
      .clk_i,
      .rst_i,
      .in_valid(push),
      .in_ready(fifo_ready),
      .in_data({in_sq, in}),
      .out_valid,
      .out_ready,
      .out_data({out_sq, out}),
      .level_o(level)
  );
  always_ff @(posedge clk_i) begin
    if (out_valid && out_ready && !out_sq) listed_q[out_idx] <= 1'b0;
    if (out_valid && out_ready && out_sq) listed_sq_q[out_idx] <= 1'b0;
    if (push && !in_sq) listed_q[in_idx] <= 1'b1;
    if (push && in_sq) listed_sq_q[in_idx] <= 1'b1;
    if (rst_i) begin
      listed_q <= '0;
      listed_sq_q <= '0;
    end
  end
  logic unused;
  assign unused = ^{level, fifo_ready};
endmodule
