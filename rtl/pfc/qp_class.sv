// SPDX-License-Identifier: Apache-2.0
//
// The class of every QP, as far as it is known: that of the last packet it wanted to send. After
// CLEAR, and before its first packet, it is not known.
//
// N_RD lookups, answered in the same cycle: {known, class}. Requests are noted at once; a response
// waits one place while the memory is busy, a newer one takes that place. Only turns and timers
// depend on it, never whether a packet may leave.

module qp_class #(
  parameter int unsigned N_QP = 64,
  parameter int unsigned N_RD = 4
) (
  input  logic               clk_i,
  input  logic               rst_i,
  output logic               init_done_o,    // 2^n cycles after reset, n bits of QPN
  input  logic               req_i,          // a request
  input  logic [23:0]        req_qpn_i,
  input  logic [2:0]         req_class_i,
  input  logic               rsp_i,          // a response
  input  logic [23:0]        rsp_qpn_i,
  input  logic [2:0]         rsp_class_i,
  input  logic               forget_i,       // an order CLEAR; for several cycles
  input  logic [23:0]        forget_qpn_i,
  input  logic [N_RD*24-1:0] qpn_i,
  output logic [N_RD*4-1:0]  class_o
);
  localparam int unsigned QW = N_QP > 1 ? $clog2(N_QP) : 1;

  logic [3:0]    class_mem [2**QW];
  logic [QW:0]   init_q;
  logic          rsp_waits_q, rsp_goes;
  logic [23:0]   rsp_qpn_q;
  logic [2:0]    rsp_class_q;
  assign init_done_o = init_q[QW];
  assign rsp_goes = rsp_waits_q && !req_i && !forget_i;

  always_ff @(posedge clk_i) begin
    if (!init_done_o) init_q <= init_q + 1'b1;
    if (!init_done_o) class_mem[init_q[QW-1:0]] <= '0;
    else if (forget_i) class_mem[forget_qpn_i[QW-1:0]] <= '0;
    else if (req_i) class_mem[req_qpn_i[QW-1:0]] <= {1'b1, req_class_i};
    else if (rsp_waits_q) class_mem[rsp_qpn_q[QW-1:0]] <= {1'b1, rsp_class_q};
    if (rsp_goes) rsp_waits_q <= 1'b0;
    if (rsp_i) begin
      rsp_waits_q <= 1'b1;
      rsp_qpn_q <= rsp_qpn_i;
      rsp_class_q <= rsp_class_i;
    end
    if (forget_i && rsp_qpn_q == forget_qpn_i && !rsp_i) rsp_waits_q <= 1'b0;
    if (rst_i) begin
      init_q <= '0;
      rsp_waits_q <= 1'b0;
    end
  end

  generate
    for (genvar i = 0; i < N_RD; i++) begin : gen_read
      assign class_o[i*4 +: 4] = class_mem[qpn_i[i*24 +: QW]];
    end
  endgenerate

  logic unused;
  assign unused = ^{req_qpn_i, rsp_qpn_q, forget_qpn_i, qpn_i};
endmodule
