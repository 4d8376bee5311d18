// SPDX-License-Identifier: Apache-2.0
//
// Cuts a stream's valid, data and ready with registers. One beat per cycle, latency 1, holds two
// beats. Both out_valid and in_ready come from registers: neither depends on an input in the same
// cycle.

`include "rnic_assert.svh"

module skid_buffer #(
  parameter int unsigned W = 8
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic         in_valid,
  output logic         in_ready,
  input  logic [W-1:0] in_data,
  output logic         out_valid,
  input  logic         out_ready,
  output logic [W-1:0] out_data
);

  logic         skid_valid_q;
  logic [W-1:0] skid_data_q;
  logic         out_valid_q;
  logic [W-1:0] out_data_q;

  assign in_ready  = !skid_valid_q;
  assign out_valid = out_valid_q;
  assign out_data  = out_data_q;

  // The output register loads from the skid register first, so that order is kept.
  logic out_free;
  assign out_free = !out_valid_q || out_ready;

  always_ff @(posedge clk_i) begin
    if (out_free) begin
      out_valid_q  <= skid_valid_q || in_valid;
      skid_valid_q <= 1'b0;
      if (skid_valid_q) out_data_q <= skid_data_q;
      else if (in_valid) out_data_q <= in_data;
    end else if (in_valid && !skid_valid_q) begin
      skid_valid_q <= 1'b1;
      skid_data_q  <= in_data;
    end
    if (rst_i) begin
      out_valid_q  <= 1'b0;
      skid_valid_q <= 1'b0;
    end
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, out_data)
  `RNIC_ASSERT(skid_behind_out, !(skid_valid_q && !out_valid_q))
  `RNIC_COVER(both_full, skid_valid_q && out_valid_q)

endmodule
