// SPDX-License-Identifier: Apache-2.0
// What others hear of a work when it has ended: the QP fails, is to stop (rwq), goes on (rws), the
// send queue is drained, a payload is to be discarded. All at once; each holds until it was taken;
// told_o says that nothing is left. The acknowledged half was written in the cycle before, so that
// nobody who hears reads an old one.
module cpl_tell (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               go_i,       // one cycle, takes what follows
    input  logic               do_fail_i,
    input  logic               do_rwq_i,
    input  logic               do_rws_i,
    input  logic               do_ev_i,
    input  logic               do_discard_i,
    input  logic [23:0]        qpn_i,      // held until told
    input  logic [7:0]         cause_i,
    input  logic               quiet_i,    // no event: the CQE says it
    input  rnic_pkg::rewind_t  rewind_i,
    output logic               fail_valid,
    input  logic               fail_ready,
    output rnic_pkg::qp_fail_t fail,
    output logic               rwq_valid,
    input  logic               rwq_ready,
    output logic [23:0]        rwq_qpn,
    output logic               rws_valid,
    input  logic               rws_ready,
    output rnic_pkg::rewind_t  rws,
    output logic               ev_valid,
    input  logic               ev_ready,
    output rnic_pkg::event_t   ev,
    output logic               discard_valid,
    input  logic               discard_ready,
    output logic               told_o
);
  logic [7:0] cause_q, event_q;
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      fail_valid <= do_fail_i;
      rwq_valid <= do_rwq_i;
      rws_valid <= do_rws_i;
      ev_valid <= do_ev_i;
      discard_valid <= do_discard_i;
      cause_q <= cause_i;
      event_q <= quiet_i ? 8'd0 : rnic_desc_pkg::EQE_TYPE_QP_FATAL;
      rws <= rewind_i;
    end else begin
      if (fail_ready) fail_valid <= 1'b0;
      if (rwq_ready) rwq_valid <= 1'b0;
      if (rws_ready) rws_valid <= 1'b0;
      if (ev_ready) ev_valid <= 1'b0;
      if (discard_ready) discard_valid <= 1'b0;
    end
    if (rst_i) begin
      fail_valid <= 1'b0;
      rwq_valid <= 1'b0;
      rws_valid <= 1'b0;
      ev_valid <= 1'b0;
      discard_valid <= 1'b0;
    end
  end
  assign fail = {qpn_i, cause_q, event_q};
  assign rwq_qpn = qpn_i;
  assign ev = {8'd0, rnic_desc_pkg::EQE_TYPE_SQ_DRAINED, 8'd0, qpn_i};
  assign told_o = (!fail_valid || fail_ready) && (!rwq_valid || rwq_ready) &&
      (!rws_valid || rws_ready) && (!ev_valid || ev_ready) && (!discard_valid || discard_ready);
endmodule
