// SPDX-License-Identifier: Apache-2.0
// The rules of a responder for one request, as one combinational decision from packet, connection
// and receive state; addresses, keys and the receive WQE's contents are checked later by
// rx_responder. Facts: roce.md section 4, in its order. RC answers; UC and UD drop in silence.
module rx_check #(
    parameter int unsigned ARP = 0             // 1: as rx_opcode
) (
    input  rnic_pkg::rx_meta_t m_i,
    input  rnic_pkg::qp_conn_t c_i,
    input  rnic_pkg::qp_recv_t r_i,
    input  logic               posted_i,     // a receive WQE is posted
    // Verdict, exactly one of these six is set.
    // drop: no such QP, wrong service, not ready to receive
    output logic               bad_qp_o,
    output logic               bad_pkey_o,   // drop
    output logic               bad_qkey_o,   // drop
    output logic               ahead_o,      // RC, gap: one NAK, then silence
    output logic               duplicate_o,  // RC: answer again
    output logic               expected_o,   // the next PSN; UC and UD take any
    // For an expected packet, at most one of these three:
    output logic               invalid_o,    // RC: NAK invalid request
    output logic               rnr_o,        // RC: RNR NAK
    output logic               uc_drop_o,    // UC, UD: it and its message are dropped
    // it is none of them: to be executed, unless addresses, keys or the receive WQE forbid
    output logic               good_o,
    // What the packet is.
    output logic               arp_o,
    output logic               send_o,
    output logic               write_o,
    output logic               read_o,
    output logic               atomic_o,
    output logic               first_o,
    output logic               last_o,
    output logic               imm_o,
    output logic               inv_o,
    output logic               uses_rq_o,    // its message ends a receive WQE with this packet
    // a duplicate of it may be answered: SEND and WRITE; READ and ATOMIC if well formed
    output logic               again_o
);

  logic [1:0] service;
  logic known;
  rx_opcode #(
      .ARP(ARP)
  ) u_opcode (
      .opcode_i (m_i.opcode),
      .service_o(service),
      .known_o  (known),
      .arp_o,
      .send_o,
      .write_o,
      .read_o,
      .atomic_o,
      .first_o,
      .last_o,
      .imm_o,
      .inv_o
  );

  // -- connection
  logic can_receive, is_rc, is_uc, is_ud;
  assign is_rc = c_i.qtype == rnic_desc_pkg::QP_TYPE_RC;
  assign is_uc = c_i.qtype == rnic_desc_pkg::QP_TYPE_UC;
  assign is_ud = c_i.qtype == rnic_desc_pkg::QP_TYPE_UD;
  assign can_receive = c_i.state == rnic_pkg::QPS_RTR || c_i.state == rnic_pkg::QPS_RTS ||
                       c_i.state == rnic_pkg::QPS_SQD || c_i.state == rnic_pkg::QPS_SQE;
  assign bad_qp_o = !(c_i.exists && can_receive && service == c_i.qtype) || r_i.failed;
  assign bad_pkey_o = !bad_qp_o && !(m_i.pkey[14:0] == c_i.pkey[14:0] &&
      (m_i.pkey[15] || c_i.pkey[15]));
  assign bad_qkey_o = !bad_qp_o && !bad_pkey_o && is_ud && m_i.qkey != c_i.qkey;

  // -- PSN
  logic reachable, gap;
  logic [23:0] distance;
  assign reachable = !bad_qp_o && !bad_pkey_o && !bad_qkey_o;
  assign distance = m_i.psn - r_i.epsn;
  assign gap = distance != 24'd0;
  assign expected_o = reachable && (!is_rc || !gap);
  assign duplicate_o = reachable && is_rc && distance[23];
  assign ahead_o = reachable && is_rc && !distance[23] && gap;

  // -- opcode sequence; UC: a packet that begins a message is always taken, the old one forgotten
  logic in_message, bad_sequence;
  assign in_message = send_o ? r_i.in_send : (write_o && r_i.in_write);
  always_comb begin
    if (first_o) bad_sequence = is_rc && (r_i.in_send || r_i.in_write);
    else bad_sequence = !in_message || (is_uc && gap);
    if (!known) bad_sequence = 1'b1;
  end

  // -- what the QP allows, and resources
  logic no_access, no_rq, no_depth;
  assign no_access = (write_o && !c_i.acc_write) || (read_o && !c_i.acc_read) ||
                     (atomic_o && !c_i.acc_atomic);
  assign no_rq = ((send_o && first_o) || (write_o && imm_o)) && !posted_i;
  assign no_depth = (read_o || atomic_o) && c_i.max_dest_rd == 8'd0;

  // -- length
  logic [12:0] mtu, len;
  logic [31:0] len32, left;
  logic bad_length, bad_request;
  assign mtu = 13'd128 << c_i.mtu;
  assign len = m_i.payload_len;
  assign len32 = {19'd0, len};
  assign left = first_o ? m_i.dmalen : r_i.left;
  // of READ and ATOMIC
  assign bad_request = len != 13'd0 || (read_o && m_i.dmalen > 32'h8000_0000) ||
                       (atomic_o && m_i.va[2:0] != 3'd0);
  always_comb begin
    bad_length = 1'b0;
    if (send_o || write_o) begin
      // FIRST and MIDDLE are full, LAST is not empty.
      if (!last_o) bad_length = len != mtu;
      else bad_length = len > mtu || (!first_o && len == 13'd0);
    end
    if (write_o) begin
      if (len32 > left || (last_o && len32 != left)) bad_length = 1'b1;
      if (first_o && m_i.dmalen > 32'h8000_0000) bad_length = 1'b1;
    end
    if (read_o || atomic_o) bad_length = bad_request;
    if (arp_o) bad_length = len == 13'd0 || len > mtu || len32 != m_i.dmalen;
  end

  // Resources come before lengths: a packet that would fail its length check but finds no WQE is
  // RNR.
  logic refused, not_ready;
  assign not_ready = !bad_sequence && !no_access && no_rq;
  assign refused = bad_sequence || no_access || no_depth || bad_length;
  assign rnr_o = is_rc && not_ready;
  assign invalid_o = is_rc && refused && !not_ready;
  assign uc_drop_o = !is_rc && (refused || not_ready);
  assign good_o = expected_o && !refused && !not_ready;
  assign uses_rq_o = last_o && (send_o || (write_o && imm_o));
  assign again_o = known && (arp_o || send_o || write_o ||
                             (read_o && c_i.acc_read && !bad_request) ||
                             (atomic_o && c_i.acc_atomic && !bad_request));

  logic unused;
  assign unused = ^{m_i, c_i, r_i};
endmodule
