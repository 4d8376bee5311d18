// SPDX-License-Identifier: Apache-2.0
//
// Shows descriptor fields as the packed structs of rnic_desc_pkg see them, and builds one from
// fields. Combinational.
module desc_probe (
  input  logic [511:0]  wqe_i,
  input  logic [255:0]  cqe_i,
  input  logic [127:0]  eqe_i,
  input  logic [1023:0] cmd_i,
  output logic [7:0]    wqe_opcode_o,
  output logic          wqe_sampled_o,
  output logic [11:0]   wqe_inline_len_o,
  output logic [3:0]    wqe_seg_cnt_o,
  output logic [63:0]   wqe_seg1_va_o,
  output logic [23:0]   cqe_qpn_o,
  output logic          cqe_owner_o,
  output logic [63:0]   cqe_timestamp_o,
  output logic [7:0]    eqe_type_o,
  output logic [55:0]   eqe_timestamp_o,
  output logic [47:0]   path_smac_o,
  output logic [5:0]    path_dscp_o,
  output logic [23:0]   qp_sq_psn_o,
  output logic [1:0]    qp_service_o,
  output logic [7:0]    qp_q_err_cause_o,
  output logic [255:0]  built_cqe_o
);

  /* verilator lint_off UNUSEDSIGNAL */  // a probe looks at some fields only
  rnic_desc_pkg::wqe_t wqe;
  rnic_desc_pkg::cqe_t cqe, built;
  rnic_desc_pkg::eqe_t eqe;
  rnic_desc_pkg::cmd_path_t path;
  rnic_desc_pkg::cmd_qp_t qp;
  /* verilator lint_on UNUSEDSIGNAL */

  assign wqe = wqe_i;
  assign cqe = cqe_i;
  assign eqe = eqe_i;
  assign path = cmd_i;
  assign qp = cmd_i;

  assign wqe_opcode_o = wqe.opcode;
  assign wqe_sampled_o = wqe.sampled;
  assign wqe_inline_len_o = wqe.inline_len;
  assign wqe_seg_cnt_o = wqe.seg_cnt;
  assign wqe_seg1_va_o = wqe.seg1_va;
  assign cqe_qpn_o = cqe.qpn;
  assign cqe_owner_o = cqe.owner;
  assign cqe_timestamp_o = cqe.timestamp;
  assign eqe_type_o = eqe.event_type;
  assign eqe_timestamp_o = eqe.timestamp;
  assign path_smac_o = path.smac;
  assign path_dscp_o = path.dscp;
  assign qp_sq_psn_o = qp.sq_psn;
  assign qp_service_o = qp.service;
  assign qp_q_err_cause_o = qp.q_err_cause;

  always_comb begin
    built = '0;
    built.opcode = rnic_desc_pkg::CQE_OPCODE_REQ_ERR;
    built.status = rnic_desc_pkg::CQE_STATUS_RNR_RETRY_EXC_ERR;
    built.qpn = 24'h123456;
    built.owner = 1'b1;
  end
  assign built_cqe_o = built;

endmodule
