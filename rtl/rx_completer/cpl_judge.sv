// SPDX-License-Identifier: Apache-2.0
// What a response means to its QP, before any message is looked at: is it for us, up to which PSN
// does it acknowledge, what else does it ask for. Combinational. Facts: roce.md section 3.
//
// In a replay (next_psn behind max_psn) an ACK of what has not been sent again yet counts up to
// there only, so that no message completes whose WQE may still be fetched; a NAK likewise, and it
// asks for nothing more; a READ or ATOMIC response from there on is ignored. A NAK that is fatal
// counts as it is: nothing is sent again after it.
module cpl_judge (
    input  rnic_pkg::rx_meta_t m_i,
    input  rnic_pkg::qp_conn_t c_i,
    input  logic               failed_i,
    input  logic [23:0]        una_i,
    input  logic [23:0]        next_i,
    input  logic [23:0]        max_i,
    input  rnic_pkg::path_t    path_i,
    output logic               bad_qp_o,
    output logic               bad_addr_o,
    output logic               bad_pkey_o,
    output logic               cnp_o,     // a CNP; its P_Key is not looked at
    output logic               good_o,
    output logic               is_nak_o,
    output logic [23:0]        cover_o,   // SEND and WRITE up to here are acknowledged
    output logic [23:0]        reach_o,   // a READ or ATOMIC wholly before this has lost responses
    output logic [2:0]         act_o,     // A_*: what to do at the oldest message not covered
    output logic [7:0]         status_o   // A_FATAL
);
  // The same numbers in rx_completer.
  localparam logic [2:0] A_NONE = 3'd0;
  localparam logic [2:0] A_SEQ = 3'd1;    // NAK sequence error: send again
  localparam logic [2:0] A_RNR = 3'd2;    // wait, then send again
  localparam logic [2:0] A_FATAL = 3'd3;  // fail with status
  localparam logic [2:0] A_DATA = 3'd4;   // READ or ATOMIC response: place it

  logic sending, receiving, is_aeth, is_ack, is_resp, in_window, in_reach, known;
  logic [23:0] past_una, to_max, to_next;
  assign sending = c_i.state == rnic_pkg::QPS_RTS || c_i.state == rnic_pkg::QPS_SQD;
  // A CNP is for whoever sends, READ responses too.
  assign receiving = sending || c_i.state == rnic_pkg::QPS_RTR;
  assign cnp_o = m_i.opcode == roce_pkg::OP_CNP;
  assign bad_qp_o = failed_i || !c_i.exists || (cnp_o ?
      c_i.qtype == rnic_desc_pkg::QP_TYPE_UD || !receiving :
      c_i.qtype != rnic_desc_pkg::QP_TYPE_RC || !sending);
  assign bad_pkey_o = !(m_i.pkey[14:0] == c_i.pkey[14:0] && (m_i.pkey[15] || c_i.pkey[15]));
  assign bad_addr_o = !(path_i.valid && path_i.ipv6 == m_i.ipv6 && path_i.sip == m_i.dip &&
      path_i.dip == m_i.sip);

  assign past_una = m_i.psn - una_i;
  assign to_max = max_i - m_i.psn;
  assign to_next = next_i - m_i.psn;
  assign in_window = !past_una[23] && !to_max[23] && to_max != 24'd0;
  assign in_reach = !to_next[23] && to_next != 24'd0;

  assign is_aeth = m_i.opcode == roce_pkg::OP_ACKNOWLEDGE;
  assign is_ack = is_aeth && m_i.syndrome[6:5] == 2'b00;
  // READ_RESP_MIDDLE has no AETH; in the others it must be an ACK.
  assign is_resp = m_i.opcode == roce_pkg::OP_READ_RESP_MIDDLE ||
      ((m_i.opcode == roce_pkg::OP_READ_RESP_FIRST || m_i.opcode == roce_pkg::OP_READ_RESP_LAST ||
        m_i.opcode == roce_pkg::OP_READ_RESP_ONLY || m_i.opcode == roce_pkg::OP_ATOMIC_ACK) &&
       m_i.syndrome[6:5] == 2'b00);

  always_comb begin
    act_o = A_NONE;
    known = 1'b0;
    status_o = rnic_desc_pkg::CQE_STATUS_REM_OP_ERR;
    if (is_aeth) begin
      known = 1'b1;
      unique casez (m_i.syndrome[6:0])
        7'b00?????: ;
        7'b01?????: act_o = in_reach ? A_RNR : A_NONE;
        7'h60: act_o = in_reach ? A_SEQ : A_NONE;
        7'h61: begin
          act_o = A_FATAL;
          status_o = rnic_desc_pkg::CQE_STATUS_REM_INV_REQ_ERR;
        end
        7'h62: begin
          act_o = A_FATAL;
          status_o = rnic_desc_pkg::CQE_STATUS_REM_ACCESS_ERR;
        end
        7'h63: act_o = A_FATAL;
        default: known = 1'b0;  // reserved codes are ignored
      endcase
    end else if (is_resp) begin
      known = in_reach;
      act_o = A_DATA;
    end
  end
  assign is_nak_o = is_aeth && !is_ack;
  assign good_o = !bad_qp_o && !bad_addr_o && !bad_pkey_o && in_window && known;
  always_comb begin
    cover_o = m_i.psn - 24'd1;
    reach_o = m_i.psn;
    if (!in_reach && act_o != A_FATAL) begin
      cover_o = next_i - 24'd1;
      reach_o = next_i - 24'd1;
    end else if (is_ack) begin
      cover_o = m_i.psn;
    end
  end

  logic unused;
  assign unused = ^{m_i, c_i, path_i, past_una};
endmodule
