// SPDX-License-Identifier: Apache-2.0
// What a request opcode says: verb, place in its message, what it carries. Combinational. Facts:
// roce.md section 1. An opcode that no service has, or not this one, is known_o = 0.
module rx_opcode #(
    parameter int unsigned ARP = 0  // 1: packets of an AllReduce are requests of RC
) (
    input  logic [7:0] opcode_i,
    output logic [1:0] service_o,   // as qp_conn_t.qtype; 3: none of them
    output logic       known_o,
    output logic       arp_o,       // exactly one of the five when known
    output logic       send_o,
    output logic       write_o,
    output logic       read_o,
    output logic       atomic_o,
    output logic       first_o,     // begins a message (FIRST or ONLY, READ, ATOMIC)
    output logic       last_o,      // ends it
    output logic       imm_o,
    output logic       inv_o
);
  logic [4:0] op;
  logic [7:0] rc_op;
  logic ud, uc_has;
  assign op = opcode_i[4:0];
  assign rc_op = {3'b000, op};
  assign ud = opcode_i == roce_pkg::OP_UD_SEND_ONLY || opcode_i == roce_pkg::OP_UD_SEND_ONLY_IMM;
  assign uc_has = op <= roce_pkg::OP_WRITE_ONLY_IMM[4:0];
  always_comb begin
    service_o = 2'd3;
    if (opcode_i[7:5] == 3'b000) service_o = rnic_desc_pkg::QP_TYPE_RC;
    if (opcode_i[7:5] == 3'b001) service_o = rnic_desc_pkg::QP_TYPE_UC;
    if (opcode_i[7:5] == 3'b011) service_o = rnic_desc_pkg::QP_TYPE_UD;
    if (arp_o) service_o = rnic_desc_pkg::QP_TYPE_RC;
    send_o = 1'b0;
    write_o = 1'b0;
    read_o = 1'b0;
    atomic_o = 1'b0;
    first_o = 1'b0;
    last_o = 1'b0;
    imm_o = 1'b0;
    inv_o = 1'b0;
    case (rc_op)
      roce_pkg::OP_SEND_FIRST: {send_o, first_o} = 2'b11;
      roce_pkg::OP_SEND_MIDDLE: send_o = 1'b1;
      roce_pkg::OP_SEND_LAST: {send_o, last_o} = 2'b11;
      roce_pkg::OP_SEND_LAST_IMM: {send_o, last_o, imm_o} = 3'b111;
      roce_pkg::OP_SEND_ONLY: {send_o, first_o, last_o} = 3'b111;
      roce_pkg::OP_SEND_ONLY_IMM: {send_o, first_o, last_o, imm_o} = 4'b1111;
      roce_pkg::OP_WRITE_FIRST: {write_o, first_o} = 2'b11;
      roce_pkg::OP_WRITE_MIDDLE: write_o = 1'b1;
      roce_pkg::OP_WRITE_LAST: {write_o, last_o} = 2'b11;
      roce_pkg::OP_WRITE_LAST_IMM: {write_o, last_o, imm_o} = 3'b111;
      roce_pkg::OP_WRITE_ONLY: {write_o, first_o, last_o} = 3'b111;
      roce_pkg::OP_WRITE_ONLY_IMM: {write_o, first_o, last_o, imm_o} = 4'b1111;
      roce_pkg::OP_READ_REQUEST: {read_o, first_o, last_o} = 3'b111;
      roce_pkg::OP_COMPARE_SWAP, roce_pkg::OP_FETCH_ADD: {atomic_o, first_o, last_o} = 3'b111;
      roce_pkg::OP_SEND_LAST_INV: {send_o, last_o, inv_o} = 3'b111;
      roce_pkg::OP_SEND_ONLY_INV: {send_o, first_o, last_o, inv_o} = 4'b1111;
      default: ;
    endcase
    if (arp_o) {send_o, first_o, last_o} = 3'b011;
  end
  assign arp_o = ARP != 0 && opcode_i == arp_pkg::OP_ARP;
  assign known_o = (arp_o || send_o || write_o || read_o || atomic_o) &&
                   (service_o == rnic_desc_pkg::QP_TYPE_RC ||
                    (service_o == rnic_desc_pkg::QP_TYPE_UC && uc_has) ||
                    (service_o == rnic_desc_pkg::QP_TYPE_UD && ud));
endmodule
