// SPDX-License-Identifier: Apache-2.0
// Is a READ or ATOMIC response the one that the oldest message waits for? Combinational. In order
// only; of its kind and place: FIRST, MIDDLE, LAST, ONLY by position (in a READ that was asked for
// again in its middle FIRST stands for MIDDLE and ONLY for LAST, or not); exactly as long as its
// packet must be. Facts: roce.md sections 1 and 3.
module cpl_data (
    input  logic [7:0]  opcode_i,
    input  logic [23:0] psn_i,
    input  logic [12:0] len_i,
    input  logic [2:0]  kind_i,      // of the message
    input  logic [23:0] first_i,
    input  logic [23:0] last_i,
    input  logic [31:0] bytes_i,
    input  logic [23:0] una_i,       // its first missing response
    input  logic [2:0]  mtu_i,       // 1..5 = 256..4096
    input  logic        resumed_i,
    output logic        read_o,
    output logic        is_first_o,
    output logic        is_last_o,
    output logic        ahead_o,     // a response before this one was lost
    output logic        bad_o,       // fail the message with status
    output logic [7:0]  status_o
);
  logic op_ok, place_ok, len_ok, is_send;
  logic [31:0] rest;
  assign read_o = kind_i == rnic_pkg::MSG_READ;
  // A response that names a SEND or WRITE.
  assign is_send = kind_i == rnic_pkg::MSG_WRITE || kind_i == rnic_pkg::MSG_SEND;
  assign op_ok = (read_o && opcode_i != roce_pkg::OP_ATOMIC_ACK) ||
      (kind_i == rnic_pkg::MSG_ATOMIC && opcode_i == roce_pkg::OP_ATOMIC_ACK);
  assign is_first_o = una_i == first_i;
  assign is_last_o = una_i == last_i;
  assign ahead_o = !is_send && psn_i != una_i;
  always_comb begin
    unique case (opcode_i)
      roce_pkg::OP_READ_RESP_FIRST: place_ok = !is_last_o && (is_first_o || resumed_i);
      roce_pkg::OP_READ_RESP_MIDDLE: place_ok = !is_last_o && (!is_first_o || resumed_i);
      roce_pkg::OP_READ_RESP_LAST: place_ok = is_last_o && (!is_first_o || resumed_i);
      roce_pkg::OP_READ_RESP_ONLY: place_ok = is_last_o && (is_first_o || resumed_i);
      default: place_ok = 1'b1;
    endcase
    // Bytes behind the packets before this one.
    rest = bytes_i - ({8'd0, una_i - first_i} << (4'd7 + {1'b0, mtu_i}));
    if (!read_o) len_ok = len_i == 13'd0;
    else if (is_last_o) len_ok = 32'(len_i) == rest;
    else len_ok = len_i == 13'd128 << mtu_i;
  end
  assign bad_o = is_send || (!ahead_o && (!op_ok || !place_ok || !len_ok));
  assign status_o = (is_send || !op_ok || !place_ok) ? rnic_desc_pkg::CQE_STATUS_BAD_RESP_ERR :
      rnic_desc_pkg::CQE_STATUS_LOC_LEN_ERR;
endmodule
