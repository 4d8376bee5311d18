// SPDX-License-Identifier: Apache-2.0
//
// Notices pauses without end. A class, or the link, that is paused for longer than cfg_limit_i
// without interruption is in a storm until it has been free for longer than cfg_restore_i.
//
// Times in us, up to one us longer. cfg_limit_i 0: no storms. cfg_action_i says what becomes of
// pauses in a storm: 0 they are obeyed, 1 they are ignored, 2 what they would stop is dropped. Each
// beginning and each end is told in an event: bits 7:0 of its number are classes, bit 8 the link;
// what begins or ends while an event waits shares the next one. From paused_i to paused_o no delay.
`include "rnic_assert.svh"

module pfc_storm #(
  parameter int unsigned CORE_PS = 2000
) (
  input  logic              clk_i,
  input  logic              rst_i,
  input  logic [19:0]       cfg_limit_i,
  input  logic [19:0]       cfg_restore_i,
  input  logic [1:0]        cfg_action_i,
  input  logic [7:0]        paused_i,      // classes, all of them if the link is
  input  logic              link_paused_i,

  output logic [7:0]        paused_o,      // pauses to obey
  output logic [7:0]        drop_o,        // classes of which packets are dropped
  output logic              link_free_o,   // the pause of the link counts for nothing
  output logic              link_drop_o,   // frames that it would stop are dropped
  output logic [8:0]        storm_o,
  output logic              ev_valid,
  input  logic              ev_ready,
  output rnic_pkg::event_t  ev,
  output logic              cnt_storms_o   // with each event of a beginning
);
  localparam logic [1:0] IGNORE = 2'd1;
  localparam logic [1:0] DROP = 2'd2;
  localparam int unsigned US = (1000000 + CORE_PS - 1) / CORE_PS;   // cycles

  logic [15:0] sub_q;
  logic        tick;
  assign tick = 32'(sub_q) == US - 1;
  always_ff @(posedge clk_i) begin
    sub_q <= tick ? 16'd0 : sub_q + 16'd1;
    if (rst_i) sub_q <= '0;
  end

  logic [8:0] level, storm_q;
  assign level = {link_paused_i, paused_i};
  generate
    for (genvar i = 0; i < 9; i++) begin : gen_level
      logic [19:0] count_q, limit;         // whole us for which the level has differed
      logic        differs;
      assign differs = level[i] != storm_q[i] && (storm_q[i] || cfg_limit_i != '0);
      assign limit = storm_q[i] ? cfg_restore_i : cfg_limit_i;
      always_ff @(posedge clk_i) begin
        if (!differs) count_q <= '0;
        else if (tick && count_q < limit) count_q <= count_q + 20'd1;
        else if (tick) begin
          storm_q[i] <= !storm_q[i];
          count_q <= '0;
        end
        if (cfg_limit_i == '0) storm_q[i] <= 1'b0;
        if (rst_i) begin
          count_q <= '0;
          storm_q[i] <= 1'b0;
        end
      end
    end
  endgenerate

  logic ignores, drops;
  assign ignores = cfg_action_i == IGNORE || cfg_action_i == DROP;
  assign drops = cfg_action_i == DROP;
  assign paused_o = paused_i & ~(storm_q[7:0] & {8{ignores}});
  assign drop_o = storm_q[7:0] & {8{drops}};
  assign link_free_o = storm_q[8] && ignores;
  assign link_drop_o = storm_q[8] && drops;
  assign storm_o = storm_q;

  // ------------------------------------------------------------------------------------ the events
  logic [8:0] told_q, begun, ended;
  logic       next;
  assign begun = storm_q & ~told_q;
  assign ended = told_q & ~storm_q;
  assign next = !ev_valid && storm_q != told_q;
  assign cnt_storms_o = next && begun != '0;
  always_ff @(posedge clk_i) begin
    if (ev_ready) ev_valid <= 1'b0;
    if (next) begin
      ev_valid <= 1'b1;
      ev.eqn <= '0;
      ev.etype <= rnic_desc_pkg::EQE_TYPE_PAUSE_STORM;
      ev.code <= {7'd0, begun != '0};
      ev.number <= {15'd0, begun != '0 ? begun : ended};
      told_q <= begun != '0 ? storm_q | told_q : storm_q;
    end
    if (rst_i) begin
      ev_valid <= 1'b0;
      told_q <= '0;
    end
  end

  `RNIC_STREAM_HOLD(ev_valid, ev_ready, ev)
endmodule
