// SPDX-License-Identifier: Apache-2.0
// Device reset that is safe with DMA in flight: stops new DMA, waits until nothing is outstanding
// and the transmitter is between frames, then holds the reset of both clock domains for HOLD
// cycles. Registers keep their values; tables, queues, contexts and counters start anew. Requests
// while one runs are merged into it. A bus that never becomes idle is given up after DRAIN_LIMIT
// cycles, a transmitter that never pauses after QUIET_LIMIT.
module reset_unit #(
    parameter int unsigned HOLD = 32,
    parameter int unsigned QUIET = 32,
    parameter int unsigned QUIET_LIMIT = 16384,
    parameter int unsigned DRAIN_LIMIT = 16777216
) (
    input  logic clk_i,
    input  logic rst_i,
    input  logic request_i,
    input  logic dma_idle_i,
    input  logic tx_quiet_i,
    output logic drain_o,     // dma_master: issue nothing new
    output logic core_rst_o,  // everything on core_clk but the register file
    output logic mac_rst_o,   // level, to be synchronized to mac_clk
    output logic running_o
);
  typedef enum logic [1:0] {RUN, DRAIN, PAUSE, HOLD_RST} state_e;
  state_e state_q, state_d;
  logic [24:0] count_q;
  logic [15:0] quiet_q;
  logic entered;
  assign entered = state_q != state_d;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      RUN: if (request_i) state_d = DRAIN;
      // The pacing of dma_idle_i: one cycle for the stop to take effect.
      DRAIN: if ((dma_idle_i && count_q > 25'd4) || count_q == 25'(DRAIN_LIMIT)) state_d = PAUSE;
      PAUSE: if (quiet_q == 16'(QUIET) || count_q == 25'(QUIET_LIMIT)) state_d = HOLD_RST;
      HOLD_RST: if (count_q == 25'(HOLD)) state_d = RUN;
      default: state_d = RUN;
    endcase
  end
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (state_q != RUN) count_q <= entered ? '0 : count_q + 1'b1;
    if (state_q == DRAIN || state_q == PAUSE) quiet_q <= (tx_quiet_i && state_q == PAUSE) ?
        quiet_q + 1'b1 : '0;
    core_rst_o <= state_d == HOLD_RST;
    mac_rst_o <= state_d == HOLD_RST;
    if (rst_i) begin
      state_q <= HOLD_RST;
      count_q <= '0;
      quiet_q <= '0;
      core_rst_o <= 1'b1;
      mac_rst_o <= 1'b1;
    end
  end
  assign drain_o = state_q == DRAIN || state_q == PAUSE;
  assign running_o = state_q == RUN;
endmodule
