// SPDX-License-Identifier: Apache-2.0
// Lets two makers of packets share one tx_buffer: a (sq_engine) and b (resp_engine). Slots go out
// in turns when both want one, packets likewise.
//
// Latency: none for a, one cycle from b_slot_ready to a slot of b. Throughput: one slot and one
// packet per cycle in all. a_slot_valid depends on state only; a_txp_ready and b_txp_ready depend
// on the other side's valid. A slot that b was offered is held for b.
`include "rnic_assert.svh"
module tx_submit (
  input  logic                clk_i,
  input  logic                rst_i,
  // sq_engine
  output logic                a_slot_valid,
  input  logic                a_slot_ready,
  output logic [7:0]          a_slot_id,
  input  logic                a_txp_valid,
  output logic                a_txp_ready,
  input  rnic_pkg::tx_pkt_t   a_txp,
  input  logic [7:0]          a_txp_slot,
  // resp_engine
  output logic                b_slot_valid,
  input  logic                b_slot_ready,   // also asks for the next one
  output logic [7:0]          b_slot_id,
  input  logic                b_txp_valid,
  output logic                b_txp_ready,
  input  rnic_pkg::tx_pkt_t   b_txp,
  input  logic [7:0]          b_txp_slot,
  // tx_buffer
  input  logic                slot_valid,
  output logic                slot_ready,
  input  logic [7:0]          slot_id,
  output logic                txp_valid,
  input  logic                txp_ready,
  output rnic_pkg::tx_pkt_t   txp,
  output logic [7:0]          txp_slot
);
  // -- slots
  logic held_q, b_turn_q, b_want, b_take, a_fire;
  assign b_want = b_slot_ready && !held_q;
  assign a_slot_valid = slot_valid && !b_turn_q;
  assign a_slot_id = slot_id;
  assign a_fire = a_slot_valid && a_slot_ready;
  assign b_take = slot_valid && b_want && (b_turn_q || !a_slot_ready);
  assign slot_ready = (a_slot_ready && !b_turn_q) || (b_want && (b_turn_q || !a_slot_ready));
  assign b_slot_valid = held_q;
  always_ff @(posedge clk_i) begin
    if (b_take) begin
      held_q <= 1'b1;
      b_slot_id <= slot_id;
    end else if (b_slot_ready) begin
      held_q <= 1'b0;
    end
    // b lost against a: the next slot is b's.
    if (b_take || !b_want) b_turn_q <= 1'b0;
    else if (a_fire) b_turn_q <= 1'b1;
    if (rst_i) begin
      held_q <= 1'b0;
      b_turn_q <= 1'b0;
    end
  end

  // -- packets
  logic b_first_q, take_b;
  assign take_b = b_txp_valid && (b_first_q || !a_txp_valid);
  assign txp_valid = a_txp_valid || b_txp_valid;
  assign txp = take_b ? b_txp : a_txp;
  assign txp_slot = take_b ? b_txp_slot : a_txp_slot;
  assign a_txp_ready = txp_ready && !take_b;
  assign b_txp_ready = txp_ready && take_b;
  always_ff @(posedge clk_i) begin
    if (txp_valid && txp_ready) b_first_q <= !take_b;
    if (rst_i) b_first_q <= 1'b0;
  end

  `RNIC_STREAM_HOLD(b_slot_valid, b_slot_ready, b_slot_id)
  `RNIC_ASSERT(one_owner, !(a_fire && b_take))
endmodule
