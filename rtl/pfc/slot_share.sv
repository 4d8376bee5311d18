// SPDX-License-Identifier: Apache-2.0
//
// Which classes may take no further slot of tx_buffer: those that are paused, and those of which
// pauses are obeyed and that hold their share already. So what waits for the end of a pause never
// takes the slots of the others.
//
// With k classes that may be paused each has (N_TXSLOT - N_TXSLOT / 8) / k - 4 slots, at least one;
// N_TXSLOT / 8 stay for the rest. hold_o follows in 2 cycles; up to 4 packets may be on their way.
// Classes that are never paused have no limit.
`include "rnic_assert.svh"

module slot_share #(
  parameter int unsigned N_TXSLOT = 64
) (
  input  logic       clk_i,
  input  logic       rst_i,
  input  logic [7:0] cfg_classes_i,   // pauses of these are obeyed
  input  logic [7:0] paused_i,
  input  logic       in_valid,        // a packet is in its slot
  input  logic [2:0] in_class,
  input  logic       out_valid,       // a slot is free again
  input  logic [2:0] out_class,
  output logic [7:0] hold_o
);
  localparam int unsigned CW = $clog2(N_TXSLOT + 1);
  localparam int unsigned ALL = N_TXSLOT - N_TXSLOT / 8;
  localparam int unsigned ON_WAY = 4;

  logic [3:0]    classes;
  logic [CW-1:0] limit_q;
  always_comb begin
    classes = '0;
    for (int unsigned i = 0; i < 8; i++) classes = classes + {3'd0, cfg_classes_i[i]};
  end
  always_ff @(posedge clk_i) begin
    limit_q <= CW'(1);
    for (int unsigned k = 1; k <= 8; k++) begin
      if (classes == 4'(k) && ALL / k > ON_WAY) limit_q <= CW'(ALL / k - ON_WAY);
    end
  end

  generate
    for (genvar i = 0; i < 8; i++) begin : gen_class
      logic [CW-1:0] held_q;
      logic          more, less;
      assign more = in_valid && in_class == 3'(i);
      assign less = out_valid && out_class == 3'(i);
      always_ff @(posedge clk_i) begin
        if (more && !less) held_q <= held_q + 1'b1;
        if (less && !more) held_q <= held_q - 1'b1;
        hold_o[i] <= paused_i[i] || (cfg_classes_i[i] && held_q >= limit_q);
        if (rst_i) begin
          held_q <= '0;
          hold_o[i] <= 1'b0;
        end
      end
      `RNIC_ASSERT(bound, !(more && !less) || 32'(held_q) < N_TXSLOT)
      `RNIC_ASSERT(was_here, !(less && !more) || held_q != '0)
    end
  endgenerate
endmodule
