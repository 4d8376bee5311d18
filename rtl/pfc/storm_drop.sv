// SPDX-License-Identifier: Apache-2.0
//
// Drops packets of classes in a pause storm, whole, behind tx_buffer: for everything before, they
// have left. The others pass in the same cycle.

module storm_drop (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic [7:0] drop_i,
  // tx_buffer
  input  logic       in_valid,
  output logic       in_ready,     // depends on out_ready
  input  logic       in_last,
  input  logic [2:0] in_class,
  // tx_packetizer; the rest of a beat goes past this module
  output logic       out_valid,
  input  logic       out_ready,
  output logic       cnt_dropped_o
);
  logic inside_q, drops_q, offered_q, drops;   // a packet is under way; it is dropped; it is not
  assign drops = inside_q ? drops_q : !offered_q && drop_i[in_class];
  assign out_valid = in_valid && !drops;
  assign in_ready = drops || out_ready;
  assign cnt_dropped_o = in_valid && in_last && drops;
  always_ff @(posedge clk_i) begin
    if (in_valid && in_ready) begin
      inside_q <= !in_last;
      drops_q <= drops;
    end
    offered_q <= out_valid && !out_ready;
    if (rst_i) begin
      inside_q <= 1'b0;
      offered_q <= 1'b0;
    end
  end
endmodule
