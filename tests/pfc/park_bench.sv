// SPDX-License-Identifier: Apache-2.0
// turn_park with the classes that it asks for.
module park_bench #(
  parameter int unsigned N_QP = 12
) (
  input  logic                clk_i,
  input  logic                rst_i,
  output logic                init_done_o,
  input  logic [7:0]          paused_i,
  input  logic                learn_i,
  input  logic [23:0]         learn_qpn_i,
  input  logic [2:0]          learn_class_i,
  input  logic                rsp_i,
  input  logic [23:0]         rsp_qpn_i,
  input  logic [2:0]          rsp_class_i,
  input  logic                order_i,
  input  rnic_pkg::qp_init_t  order,
  input  logic                in_valid,
  output logic                in_ready,
  input  logic [23:0]         in_qpn,
  output logic                out_valid,
  input  logic                out_ready,
  output logic [23:0]         out_qpn,
  input  logic [23:0]         ask_qpn_i,
  output logic [3:0]          ask_class_o
);
  logic [23:0] head_qpn;
  logic [3:0]  in_class, head_class;
  qp_class #(.N_QP(N_QP), .N_RD(3)) u_class (
    .clk_i, .rst_i, .init_done_o,
    .req_i(learn_i), .req_qpn_i(learn_qpn_i), .req_class_i(learn_class_i),
    .rsp_i, .rsp_qpn_i, .rsp_class_i,
    .forget_i(order_i && order.op == rnic_pkg::QPI_CLEAR), .forget_qpn_i(order.qpn),
    .qpn_i({ask_qpn_i, head_qpn, in_qpn}),
    .class_o({ask_class_o, head_class, in_class})
  );
  turn_park #(.N_QP(N_QP)) u_park (
    .clk_i, .rst_i, .paused_i,
    .in_class_i(in_class), .head_qpn_o(head_qpn), .head_class_i(head_class),
    .order_i, .order,
    .in_valid, .in_ready, .in_qpn, .out_valid, .out_ready, .out_qpn
  );
endmodule
