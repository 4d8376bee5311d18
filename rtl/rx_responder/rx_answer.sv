// SPDX-License-Identifier: Apache-2.0
// The answer to a request: ACK, NAK, or the READ or ATOMIC that resp_engine is to execute.
// Combinational; '0 while valid_i is 0. Facts: roce.md section 4.
module rx_answer (
    input  rnic_pkg::rx_meta_t m_i,
    input  rnic_pkg::qp_recv_t r_i,
    input  logic [4:0]         min_rnr_timer_i,
    input  logic [23:0]        qpn_i,
    input  rnic_pkg::mr_rsp_t  mr_i,
    input  logic [15:0]        ticket_i,     // payload writes ordered so far
    input  logic               valid_i,
    input  logic               execute_i,
    input  logic               last_i,
    input  logic               read_i,
    input  logic               atomic_i,
    input  logic               dup_i,
    input  logic               nak_seq_i,
    input  logic               nak_rnr_i,
    input  logic               nak_inv_i,
    input  logic               nak_acc_i,
    input  logic               nak_op_i,
    output rnic_pkg::ack_req_t ackq
);
  logic runs;
  assign runs = (execute_i || dup_i) && (read_i || atomic_i);
  always_comb begin
    ackq = '0;
    if (valid_i) begin
      ackq.qpn = qpn_i;
      // NAKs name the expected PSN, which is the packet's own unless there is a gap. A duplicate
      // is told how far all is well; of a READ or ATOMIC it gets its own answer again.
      ackq.psn = r_i.epsn;
      if (dup_i) ackq.psn = runs ? m_i.psn : r_i.epsn - 24'd1;
      ackq.msn = (execute_i && last_i) ? r_i.msn + 24'd1 : r_i.msn;
      ackq.syndrome = roce_pkg::SYN_ACK;
      ackq.ack_req = m_i.ack_req;
      ackq.urgent = !execute_i;
      ackq.sampled = 1'b1;
      ackq.dup = dup_i;
      if (nak_seq_i) ackq.syndrome = roce_pkg::SYN_NAK_SEQ;
      if (nak_rnr_i) ackq.syndrome = roce_pkg::SYN_RNR | {3'd0, min_rnr_timer_i};
      if (nak_inv_i) ackq.syndrome = roce_pkg::SYN_NAK_INV;
      if (nak_acc_i) ackq.syndrome = roce_pkg::SYN_NAK_ACCESS;
      if (nak_op_i) ackq.syndrome = roce_pkg::SYN_NAK_OP;
      if (runs) begin
        ackq.kind = read_i ? rnic_pkg::ACKR_READ : rnic_pkg::ACKR_ATOMIC;
        ackq.ticket = ticket_i;
        ackq.va = m_i.va;
        ackq.rkey = m_i.rkey;
        ackq.len = m_i.dmalen;
        ackq.iova = mr_i.iova;
        ackq.target = mr_i.target;
        ackq.gpu = mr_i.gpu;
        ackq.swap = m_i.opcode[4:0] == roce_pkg::OP_COMPARE_SWAP[4:0];
        ackq.op0 = m_i.op0;
        ackq.op1 = m_i.op1;
      end
    end
  end
  logic unused;
  assign unused = ^{m_i, r_i, mr_i};
endmodule
