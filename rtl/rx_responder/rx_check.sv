// SPDX-License-Identifier: Apache-2.0
// The rules of an RC responder for one request, as one combinational decision from packet,
// connection and receive state; addresses and the memory key are checked later by rx_responder.
// Facts: roce.md section 4, in its order. SEND, READ and ATOMIC are answered with NAK invalid
// request until they are built.
module rx_check (
    input  rnic_pkg::rx_meta_t m_i,
    input  rnic_pkg::qp_conn_t c_i,
    input  rnic_pkg::qp_recv_t r_i,
    input  logic [15:0]        rq_prod_i,
    // Verdict, exactly one of the first five is set.
    // drop: no such QP, wrong service, not ready to receive
    output logic               bad_qp_o,
    output logic               bad_pkey_o,   // drop
    output logic               ahead_o,      // gap: one NAK, then silence
    output logic               duplicate_o,  // acknowledge again
    output logic               expected_o,   // the next PSN
    // For an expected packet:
    output logic               invalid_o,    // NAK invalid request
    output logic               rnr_o,        // RNR NAK
    output logic               first_o,      // begins a message (FIRST or ONLY)
    output logic               last_o,       // ends a message (LAST or ONLY)
    output logic               imm_o,        // consumes a receive WQE
    // a duplicate of it is acknowledged again (SEND and WRITE)
    output logic               again_o
);
  // -- connection
  logic can_receive;
  assign can_receive = c_i.state == rnic_pkg::QPS_RTR || c_i.state == rnic_pkg::QPS_RTS ||
                       c_i.state == rnic_pkg::QPS_SQD;
  assign bad_qp_o = !(c_i.exists && can_receive && c_i.qtype == 2'd0 && m_i.opcode[7:5] ==
      3'b000) || r_i.failed;
  assign bad_pkey_o = !bad_qp_o && !(m_i.pkey[14:0] == c_i.pkey[14:0] &&
      (m_i.pkey[15] || c_i.pkey[15]));

  // -- PSN
  logic reachable;
  logic [23:0] distance;
  assign reachable = !bad_qp_o && !bad_pkey_o;
  assign distance = m_i.psn - r_i.epsn;
  assign expected_o = reachable && distance == 24'd0;
  assign duplicate_o = reachable && distance[23];
  assign ahead_o = reachable && !distance[23] && distance != 24'd0;

  // -- opcode
  logic wr_first, wr_middle, wr_last, wr_only, is_write, middle;
  assign wr_first = m_i.opcode == roce_pkg::OP_WRITE_FIRST;
  assign wr_middle = m_i.opcode == roce_pkg::OP_WRITE_MIDDLE;
  assign wr_last = m_i.opcode == roce_pkg::OP_WRITE_LAST || m_i.opcode ==
      roce_pkg::OP_WRITE_LAST_IMM;
  assign wr_only = m_i.opcode == roce_pkg::OP_WRITE_ONLY || m_i.opcode ==
      roce_pkg::OP_WRITE_ONLY_IMM;
  assign imm_o = m_i.opcode == roce_pkg::OP_WRITE_LAST_IMM || m_i.opcode ==
      roce_pkg::OP_WRITE_ONLY_IMM;
  assign is_write = wr_first || wr_middle || wr_last || wr_only;
  assign first_o = wr_first || wr_only;
  assign last_o = wr_last || wr_only;
  assign middle = wr_middle || wr_last;

  // READ and ATOMIC need what was saved of them, and nothing is; reserved opcodes mean nothing.
  assign again_o = m_i.opcode[4:0] <= roce_pkg::OP_WRITE_ONLY_IMM[4:0] ||
                   m_i.opcode[4:0] == roce_pkg::OP_SEND_LAST_INV[4:0] || m_i.opcode[4:0] ==
                       roce_pkg::OP_SEND_ONLY_INV[4:0];

  logic bad_sequence;
  assign bad_sequence = !is_write || (r_i.in_write ? !middle : middle);

  // -- length
  logic [12:0] mtu, len;
  logic [31:0] len32;
  logic bad_length;
  assign mtu = 13'd128 << c_i.mtu;
  assign len = m_i.payload_len;
  assign len32 = {19'd0, len};
  always_comb begin
    bad_length = 1'b0;
    if (wr_first) bad_length = len != mtu || m_i.dmalen > 32'h8000_0000 || len32 > m_i.dmalen;
    if (wr_middle) bad_length = len != mtu || len32 > r_i.left;
    if (wr_last) bad_length = len == 13'd0 || len > mtu || len32 != r_i.left;
    if (wr_only) bad_length = len > mtu || len32 != m_i.dmalen;
  end

  assign invalid_o = bad_sequence || !c_i.acc_write || bad_length;
  // Resources come before lengths: a packet that would fail its length check but finds no WQE is
  // RNR.
  assign rnr_o = imm_o && !bad_sequence && c_i.acc_write && r_i.rq_cons == rq_prod_i;

  logic unused;
  assign unused = ^{m_i, c_i, r_i};
endmodule
