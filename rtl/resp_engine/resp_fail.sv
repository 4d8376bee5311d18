// SPDX-License-Identifier: Apache-2.0
// Fatal NAKs that are found while answering: makes the entry and what follows it void, puts the NAK
// in the place of the ACK that waits, and asks cmd_unit to fail the QP. One at a time, 3 cycles
// each. A report about an entry that is void already is dropped: an earlier one comes first.
`include "rnic_assert.svh"
module resp_fail #(
    parameter int unsigned AW = 6
) (
    input  logic               clk_i,
    input  logic               rst_i,
    output logic               idle_o,
    output logic               refused_o,      // refused_i waits: not another one now
    // the ring was full: its NAK waits already
    input  logic               refused_i,
    input  logic [AW-1:0]      refused_idx_i,
    // resp_gate: too many outstanding
    input  logic               over_valid,
    output logic               over_ready,
    input  logic [AW-1:0]      over_idx,
    input  logic [3:0]         over_index,
    input  logic [3:0]         over_life,
    input  logic [23:0]        over_psn,
    input  logic [23:0]        over_msn,
    // atomic_unit could not read
    input  logic               aerr_valid,
    output logic               aerr_ready,
    input  logic [AW-1:0]      aerr_idx,
    input  logic [3:0]         aerr_index,
    input  logic [3:0]         aerr_life,
    input  logic [23:0]        aerr_psn,
    input  logic [23:0]        aerr_msn,
    // resp_turn: no access
    input  logic               bad_valid,
    output logic               bad_ready,
    input  logic [AW-1:0]      bad_idx,
    input  logic [3:0]         bad_index,
    input  logic [3:0]         bad_life,
    input  logic [23:0]        bad_psn,
    input  logic [23:0]        bad_msn,
    input  logic               bad_refused,
    // tx_buffer: payload of a response could not be read
    input  logic               rterr_valid,
    output logic               rterr_ready,
    input  logic [AW-1:0]      rterr_idx,
    input  logic [23:0]        rterr_psn,
    input  logic [23:0]        rterr_msn,
    // resp_store
    output logic               kill_valid,
    input  logic               kill_ready,
    output logic [AW-1:0]      kill_idx,
    output logic [3:0]         kill_index,
    output logic [3:0]         kill_life,
    output logic               kill_all,
    input  logic               kill_live_i,
    // ack_coalesce
    output logic               inj_valid,
    input  logic               inj_ready,
    output logic [AW-1:0]      inj_idx,
    output logic [23:0]        inj_psn,
    output logic [23:0]        inj_msn,
    output logic [7:0]         inj_syndrome,
    // cmd_unit
    output logic               fail_valid,
    input  logic               fail_ready,
    output rnic_pkg::qp_fail_t fail
);
  typedef enum logic [1:0] {IDLE, INJECT, FAIL} state_e;
  state_e state_q, state_d;
  logic refused_q;
  logic [AW-1:0] refused_idx_q, idx_q;
  logic [23:0] psn, psn_q, msn, msn_q;
  logic [7:0] syndrome, syndrome_q;

  assign kill_valid = state_q == IDLE && !refused_q &&
                      (rterr_valid || bad_valid || aerr_valid || over_valid);
  always_comb begin
    kill_idx = over_idx;
    kill_index = over_index;
    kill_life = over_life;
    kill_all = 1'b0;
    psn = over_psn;
    msn = over_msn;
    syndrome = roce_pkg::SYN_NAK_INV;
    if (rterr_valid) begin
      kill_idx = rterr_idx;
      kill_index = 4'd0;
      kill_all = 1'b1;
      psn = rterr_psn;
      msn = rterr_msn;
      syndrome = roce_pkg::SYN_NAK_OP;
    end else if (bad_valid) begin
      kill_idx = bad_idx;
      kill_index = bad_index;
      kill_life = bad_life;
      psn = bad_psn;
      msn = bad_msn;
      // A good region whose target is refused is this side's fault.
      syndrome = bad_refused ? roce_pkg::SYN_NAK_OP : roce_pkg::SYN_NAK_ACCESS;
    end else if (aerr_valid) begin
      kill_idx = aerr_idx;
      kill_index = aerr_index;
      kill_life = aerr_life;
      psn = aerr_psn;
      msn = aerr_msn;
      syndrome = roce_pkg::SYN_NAK_OP;
    end
  end
  logic killed;
  assign killed = kill_valid && kill_ready;
  assign rterr_ready = killed;
  assign bad_ready = killed && !rterr_valid;
  assign aerr_ready = killed && !rterr_valid && !bad_valid;
  assign over_ready = killed && !rterr_valid && !bad_valid && !aerr_valid;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: begin
        if (refused_q) state_d = FAIL;
        else if (killed && kill_live_i) state_d = INJECT;
      end
      INJECT: if (inj_ready) state_d = FAIL;
      FAIL: if (fail_ready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (state_q == IDLE) begin
      idx_q <= refused_q ? refused_idx_q : kill_idx;
      psn_q <= psn;
      msn_q <= msn;
      syndrome_q <= refused_q ? roce_pkg::SYN_NAK_INV : syndrome;
    end
    if (refused_i) begin
      refused_q <= 1'b1;
      refused_idx_q <= refused_idx_i;
    end else if (state_q == IDLE) begin
      refused_q <= 1'b0;
    end
    if (rst_i) begin
      state_q <= IDLE;
      refused_q <= 1'b0;
    end
  end
  assign refused_o = refused_q;
  assign idle_o = state_q == IDLE && !refused_q;

  assign inj_valid = state_q == INJECT;
  assign inj_idx = idx_q;
  assign inj_psn = psn_q;
  assign inj_msn = msn_q;
  assign inj_syndrome = syndrome_q;

  assign fail_valid = state_q == FAIL;
  always_comb begin
    fail = '0;
    if (fail_valid) begin
      fail.qpn = 24'(idx_q);
      fail.cause = rnic_desc_pkg::CQE_STATUS_REM_OP_ERR;
      if (syndrome_q == roce_pkg::SYN_NAK_INV) begin
        fail.cause = rnic_desc_pkg::CQE_STATUS_REM_INV_REQ_ERR;
      end
      if (syndrome_q == roce_pkg::SYN_NAK_ACCESS) begin
        fail.cause = rnic_desc_pkg::CQE_STATUS_REM_ACCESS_ERR;
      end
      fail.event_type = syndrome_q == roce_pkg::SYN_NAK_ACCESS ?
                        rnic_desc_pkg::EQE_TYPE_QP_ACCESS_ERR : rnic_desc_pkg::EQE_TYPE_QP_FATAL;
    end
  end

  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
  `RNIC_ASSERT(one_refusal, !refused_i || !refused_q)
endmodule
