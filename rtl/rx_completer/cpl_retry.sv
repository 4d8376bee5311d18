// SPDX-License-Identifier: Apache-2.0
// May a QP send again, and what does it cost? Combinational. A sequence NAK, an implied NAK and a
// time-out cost one of retry_cnt (7 is seven); an RNR NAK one of rnr_retry (7: endless); a frame
// that was spoiled on its way out costs nothing. Progress gives both counters back. While a rewind
// is on its way nothing new is started, except the wait that an RNR NAK asks for; after an implied
// NAK further ones are ignored until there is progress (facts, roce.md section 3: while a READ is
// restarted only the expected PSN counts). When the sending side has stopped at a WQE of its own
// that fails, nothing is sent again: only a time-out counts, and ends the QP.
module cpl_retry (
    input  logic       rnr_i,        // why
    input  logic       implied_i,
    input  logic       spoil_i,
    input  logic       timeout_i,
    input  logic       progress_i,   // this work moved una
    input  logic       rewinding_i,  // state of the QP
    input  logic       rnr_wait_i,
    input  logic       restart_i,    // an implied NAK was acted on, no progress since
    input  logic       dying_i,      // nothing can be sent again: a payload read failed
    input  logic       soft_i,       // nor here: a later WQE failed before it was sent
    input  logic [2:0] retry_used_i,
    input  logic [2:0] rnr_used_i,
    input  logic [2:0] retry_cnt_i,
    input  logic [2:0] rnr_retry_i,
    output logic       ignore_o,
    output logic       exhausted_o,  // fail the message with RETRY_EXC or RNR_RETRY_EXC
    output logic       die_o,        // fail the QP: what could still complete will not
    output logic       rewind_o,     // ask sq_scheduler to stop the QP
    output logic       wait_o,       // start the RNR wait
    output logic [2:0] retry_used_o,
    output logic [2:0] rnr_used_o
);
  logic [2:0] retry_used, rnr_used;
  logic go, end_it;
  assign retry_used = progress_i ? 3'd0 : retry_used_i;
  assign rnr_used = progress_i ? 3'd0 : rnr_used_i;
  assign end_it = dying_i || (soft_i && timeout_i);
  assign ignore_o = (soft_i && !end_it) || (rnr_i ? rnr_wait_i :
      rewinding_i || (implied_i && restart_i && !progress_i));
  assign die_o = !ignore_o && end_it;
  assign exhausted_o = !ignore_o && !end_it && (rnr_i ?
      rnr_retry_i != 3'd7 && rnr_used >= rnr_retry_i : !spoil_i && retry_used >= retry_cnt_i);
  assign go = !ignore_o && !end_it && !exhausted_o;
  assign rewind_o = go && !rewinding_i;
  assign wait_o = go && rnr_i;
  assign retry_used_o = (go && !rnr_i && !spoil_i) ? retry_used + 3'd1 : retry_used;
  assign rnr_used_o = (go && rnr_i && rnr_retry_i != 3'd7) ? rnr_used + 3'd1 : rnr_used;
endmodule
