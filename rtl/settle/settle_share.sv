// SPDX-License-Identifier: Apache-2.0
// One settle for two that ask: cmd_unit, and sq_engine for each LOCAL_INV that it has executed
// (told to rx_completer, which lets it complete). A run answers all who asked before it began;
// those who ask later get the next one. Order: LOCAL_INVs as they came. Latency: none of its own
// when idle.
`include "rnic_assert.svh"
module settle_share (
    input  logic        clk_i,
    input  logic        rst_i,
    // LOCAL_INVs: executed; settled
    input  logic        inv_valid,
    output logic        inv_ready,      // depends on state only
    input  logic [23:0] inv_qpn,
    output logic        settled_valid,
    input  logic        settled_ready,
    output logic [23:0] settled_qpn,
    // cmd_unit
    input  logic        cmd_ask_i,      // held until done
    output logic        cmd_done_o,
    // settle
    output logic        ask_o,
    input  logic        done_i
);
  localparam int unsigned DEPTH = 8;
  logic run_q, cmd_q, start, held, pop;
  logic [3:0] level, free_q, now_q;     // free_q: the first of them have settled; now_q: will have
  assign start = !run_q && (cmd_ask_i || level != free_q);
  assign ask_o = start || run_q;
  assign cmd_done_o = done_i && cmd_q;
  assign settled_valid = held && free_q != '0;
  assign pop = settled_valid && settled_ready;
  stream_fifo_small #(
      .W(24),
      .DEPTH(DEPTH),
      .LATENCY(1)
  ) u_waiting (
      .clk_i,
      .rst_i,
      .in_valid (inv_valid),
      .in_ready (inv_ready),
      .in_data  (inv_qpn),
      .out_valid(held),
      .out_ready(pop),
      .out_data (settled_qpn),
      .level_o  (level)
  );
  always_ff @(posedge clk_i) begin
    run_q <= ask_o && !done_i;
    if (start) begin
      cmd_q <= cmd_ask_i;
      now_q <= level - free_q;
    end
    free_q <= free_q + (done_i ? now_q : 4'd0) - (pop ? 4'd1 : 4'd0);
    if (rst_i) begin
      run_q <= 1'b0;
      free_q <= '0;
    end
  end

  `RNIC_STREAM_HOLD(settled_valid, settled_ready, settled_qpn)
  `RNIC_ASSERT(done_when_asked, !done_i || run_q)
endmodule
