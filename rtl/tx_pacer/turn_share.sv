// SPDX-License-Identifier: Apache-2.0
// Deficit round robin: how many bytes a turn of a QP may take. Each turn has a quantum times the
// weight of the QP, less what its last turn took too much. A quantum is the largest packet.
// Answer a cycle after the question.
module turn_share #(
    parameter int unsigned N_QP = 64
) (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic        init_done_o,
    // weight of a QP, 0 is taken as 1 (pulse)
    input  logic        weight_i,
    input  logic [23:0] weight_qpn_i,
    input  logic [3:0]  weight_value_i,
    // sq_engine: a turn begins, a turn ends
    input  logic        lk_i,
    input  logic [23:0] lk_qpn_i,
    output logic [15:0] credit_o,      // bytes
    input  logic        debt_i,
    input  logic [23:0] debt_qpn_i,
    input  logic [12:0] debt_value_i   // bytes, below a quantum
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned NQ = (N_QP > 1) ? N_QP : 2;

  logic [QW:0] init_q;
  logic        clear;
  logic [3:0]  weight;
  logic [12:0] debt;
  assign init_done_o = init_q == (QW + 1)'(NQ);
  assign clear = !init_done_o;
  always_ff @(posedge clk_i) begin
    if (clear) init_q <= init_q + 1'b1;
    if (rst_i) init_q <= '0;
  end
  ram_sdp #(.W(4), .DEPTH(NQ), .FORWARD(1)) u_weight (
      .clk_i,
      .wr_en_i  (clear || (weight_i && weight_qpn_i < 24'(N_QP))),
      .wr_addr_i(clear ? init_q[QW-1:0] : weight_qpn_i[QW-1:0]),
      .wr_data_i(clear ? 4'd0 : weight_value_i),
      .rd_en_i  (lk_i),
      .rd_addr_i(lk_qpn_i[QW-1:0]),
      .rd_data_o(weight)
  );
  ram_sdp #(.W(13), .DEPTH(NQ), .FORWARD(1)) u_debt (
      .clk_i,
      .wr_en_i  (clear || debt_i),
      .wr_addr_i(clear ? init_q[QW-1:0] : debt_qpn_i[QW-1:0]),
      .wr_data_i(clear ? 13'd0 : debt_value_i),
      .rd_en_i  (lk_i),
      .rd_addr_i(lk_qpn_i[QW-1:0]),
      .rd_data_o(debt)
  );
  // 4194 bytes: 4096 and 98 of a WRITE around them
  assign credit_o = ((weight == 4'd0) ? 16'd4194 : {12'd0, weight} * 16'd4194) - {3'd0, debt};

  logic unused;
  assign unused = ^{lk_qpn_i, debt_qpn_i};
endmodule
