// SPDX-License-Identifier: Apache-2.0
// Turns on their way from sq_scheduler to sq_engine: the context of each is asked for when it
// enters, and it goes on when the context is on chip. Those that have it pass those that wait, the
// oldest first; each QP has one turn at most, so order within a QP stays. The contexts of all that
// are here stay on chip if they can (pin_o). A context that left all the same is asked for again;
// in the output register it is not looked at any more, sq_engine waits itself then.
// Throughput: one turn per cycle. Latency: 1 cycle when nothing waits and the context is on chip.
`include "rnic_assert.svh"
module ctx_turns #(
    parameter int unsigned DEPTH = 8
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [23:0]           in_qpn,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [23:0]           out_qpn,
    // directory, asked about the turn that enters
    output logic [23:0]           find_qpn_o,
    input  logic                  find_hit_i,
    // controller
    output logic                  ask_o,
    output logic [23:0]           ask_qpn_o,
    input  logic                  taken_i,     // the answer to an earlier ask; asks meanwhile wait
    input  logic                  taken_here_i,
    input  logic [23:0]           taken_qpn_i,
    input  logic                  here_i,
    input  logic [23:0]           here_qpn_i,
    input  logic                  gone_i,
    input  logic [23:0]           gone_qpn_i,
    // the contexts that are wanted: entries, then the output register
    output logic [DEPTH:0]        pin_o,
    output logic [(DEPTH+1)*24-1:0] pin_qpn_o,
    output logic                  calm_o       // few wait: work ahead makes sense
);
  logic [DEPTH-1:0] v_q, here_q, asked_q;
  logic [DEPTH*24-1:0] qpn_q;
  logic out_q;
  logic [23:0] out_qpn_q;

  // The oldest that has its context, the oldest that has not asked.
  logic [DEPTH-1:0] may, sel, want, ask_sel;
  logic [23:0] sel_qpn;
  logic go, pass, enter, out_free;
  assign may = v_q & here_q;
  assign sel = may & (~may + 1'b1);
  assign want = v_q & ~here_q & ~asked_q;
  assign ask_sel = want & (~want + 1'b1);
  always_comb begin
    sel_qpn = '0;
    ask_qpn_o = '0;
    for (int i = 0; i < DEPTH; i++) begin
      if (sel[i]) sel_qpn = sel_qpn | qpn_q[i*24+:24];
      if (ask_sel[i]) ask_qpn_o = ask_qpn_o | qpn_q[i*24+:24];
    end
  end
  assign ask_o = want != '0;
  assign out_free = !out_q || out_ready;
  assign go = may != '0 && out_free;
  assign in_ready = !v_q[DEPTH-1];
  assign find_qpn_o = in_qpn;
  // Past an empty stage.
  assign pass = in_valid && in_ready && v_q == '0 && find_hit_i && out_free;
  assign enter = in_valid && in_ready && !pass;
  assign out_valid = out_q;
  assign out_qpn = out_qpn_q;

  // Entries stand one after the other from 0 on; those behind the one that goes move up.
  logic [DEPTH:0] v_s, here_s, asked_s;  // with what enters behind the last
  logic [(DEPTH+1)*24-1:0] qpn_s;
  always_comb begin
    v_s = {1'b0, v_q};
    here_s = {1'b0, here_q};
    asked_s = {1'b0, asked_q};
    qpn_s = {24'd0, qpn_q};
    for (int i = 0; i <= DEPTH; i++) begin
      if (enter && !v_s[i] && (i == 0 || v_q[(i == 0) ? 0 : i-1])) begin
        qpn_s[i*24+:24] = in_qpn;
        here_s[i] = find_hit_i;
        asked_s[i] = 1'b0;
      end
    end
    if (enter) v_s = {v_q, 1'b1};
    for (int i = 0; i <= DEPTH; i++) begin
      if (taken_i && qpn_s[i*24+:24] == taken_qpn_i) begin
        asked_s[i] = 1'b1;
        if (taken_here_i) here_s[i] = 1'b1;
      end
      if (here_i && qpn_s[i*24+:24] == here_qpn_i) here_s[i] = 1'b1;
      if (gone_i && qpn_s[i*24+:24] == gone_qpn_i) begin
        here_s[i] = 1'b0;
        asked_s[i] = 1'b0;
      end
    end
  end

  logic [DEPTH:0] past;  // this entry or an older one goes
  always_comb begin
    past = '0;
    for (int i = 0; i < DEPTH; i++) past[i] = go && (sel & (({{(DEPTH-1){1'b0}}, 1'b1} << (i + 1)) -
                                                            1'b1)) != '0;
    past[DEPTH] = go;
  end
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < DEPTH; i++) begin
      v_q[i] <= past[i] ? v_s[i+1] : v_s[i];
      here_q[i] <= past[i] ? here_s[i+1] : here_s[i];
      asked_q[i] <= past[i] ? asked_s[i+1] : asked_s[i];
      qpn_q[i*24+:24] <= past[i] ? qpn_s[(i+1)*24+:24] : qpn_s[i*24+:24];
    end
    if (out_free) out_q <= go || pass;
    if (go) out_qpn_q <= sel_qpn;
    else if (pass) out_qpn_q <= in_qpn;
    if (rst_i) begin
      v_q <= '0;
      out_q <= 1'b0;
    end
  end

  assign pin_o = {out_q, v_q};
  assign pin_qpn_o = {out_qpn_q, qpn_q};
  assign calm_o = !v_q[DEPTH/2-1];

  `RNIC_ASSERT(entries_stand_together, (v_q & (v_q + 1'b1)) == '0)
  `RNIC_STREAM_HOLD(out_valid, out_ready, out_qpn)
endmodule
