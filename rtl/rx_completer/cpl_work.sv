// SPDX-License-Identifier: Apache-2.0
// What rx_completer does next: one of its sources, as kind of work and QPN. Combinational but for
// the turn. Errors, the scheduler's answer and orders go first, then timers and spoiled frames
// (rare); messages without packets, packets that left and responses take turns, so that none of
// them starves.
module cpl_work (
    input  logic        clk_i,
    input  logic        rst_i,
    // data of a READ are on the bus; while more are to come no order is taken
    input  logic        placed_valid_i,
    input  logic [23:0] placed_qpn_i,
    input  logic        placing_i,
    // what was decided before a LOCAL_INV has ended
    input  logic        settled_valid_i,
    input  logic [23:0] settled_qpn_i,
    input  logic        terr_valid_i,
    input  logic [23:0] terr_qpn_i,
    input  logic        rwg_valid_i,
    input  logic [23:0] rwg_qpn_i,
    input  logic        qpi_valid_i,
    input  logic [23:0] qpi_qpn_i,
    input  logic        tmo_valid_i,
    input  logic [23:0] tmo_qpn_i,
    input  logic        spoil_valid_i,
    input  logic [23:0] spoil_qpn_i,
    input  logic        nudge_valid_i,
    input  logic [23:0] nudge_qpn_i,
    input  logic        left_valid_i,
    input  logic [23:0] left_qpn_i,
    input  logic        resp_valid_i,
    input  logic [23:0] resp_qpn_i,
    output logic        any_o,
    output logic [3:0]  kind_o,
    output logic [23:0] qpn_o,
    input  logic        take_i
);
  // Kinds of work; rx_completer uses the same numbers.
  localparam logic [3:0] W_PACKET = 4'd0;
  localparam logic [3:0] W_LEFT = 4'd1;
  localparam logic [3:0] W_NUDGE = 4'd2;
  localparam logic [3:0] W_TERR = 4'd3;
  localparam logic [3:0] W_ORDER = 4'd4;
  localparam logic [3:0] W_TIMER = 4'd5;
  localparam logic [3:0] W_STOPPED = 4'd6;
  localparam logic [3:0] W_SPOIL = 4'd7;
  localparam logic [3:0] W_PLACED = 4'd8;
  localparam logic [3:0] W_SETTLED = 4'd9;

  logic [1:0] last_q;  // who of the three had the last turn
  logic [3:0] turn;
  always_comb begin
    turn = W_PACKET;
    unique case (last_q)
      2'd0: turn = nudge_valid_i ? W_NUDGE : left_valid_i ? W_LEFT : W_PACKET;
      2'd2: turn = left_valid_i ? W_LEFT : resp_valid_i ? W_PACKET : W_NUDGE;
      default: turn = resp_valid_i ? W_PACKET : nudge_valid_i ? W_NUDGE : W_LEFT;
    endcase
    kind_o = turn;
    unique case (turn)
      W_NUDGE: qpn_o = nudge_qpn_i;
      W_LEFT: qpn_o = left_qpn_i;
      default: qpn_o = resp_qpn_i;
    endcase
    any_o = 1'b1;
    if (terr_valid_i) begin
      kind_o = W_TERR;
      qpn_o = terr_qpn_i;
    end else if (rwg_valid_i) begin
      kind_o = W_STOPPED;
      qpn_o = rwg_qpn_i;
    end else if (placed_valid_i) begin
      kind_o = W_PLACED;
      qpn_o = placed_qpn_i;
    end else if (settled_valid_i) begin
      kind_o = W_SETTLED;
      qpn_o = settled_qpn_i;
    end else if (qpi_valid_i) begin
      // Nothing of the former life of a QP may come behind its reset.
      kind_o = W_ORDER;
      qpn_o = qpi_qpn_i;
      any_o = !placing_i;
    end else if (tmo_valid_i) begin
      kind_o = W_TIMER;
      qpn_o = tmo_qpn_i;
    end else if (spoil_valid_i) begin
      kind_o = W_SPOIL;
      qpn_o = spoil_qpn_i;
    end else begin
      any_o = resp_valid_i || nudge_valid_i || left_valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (take_i && (kind_o == W_PACKET || kind_o == W_LEFT || kind_o == W_NUDGE))
      last_q <= kind_o[1:0];
    if (rst_i) last_q <= 2'd0;
  end
endmodule
