// SPDX-License-Identifier: Apache-2.0
// Length of a local ACK time-out or of an RNR wait in ticks of 1.024 us: 4.096 us * 2^code for the
// ACK timer (code 0: off, length 0), the table of the facts (roce.md sections 1 and 3) for RNR,
// rounded up. Combinational.
module rc_ticks (
    input  logic        rnr_i,
    input  logic [4:0]  code_i,
    output logic        off_o,
    output logic [34:0] ticks_o
);
  logic [34:0] ack, wait_ticks;
  assign ack = 35'd4 << code_i;
  always_comb begin
    unique case (code_i)
      5'd0: wait_ticks = 35'd640000;   // 655.36 ms: code 0 is the longest
      5'd1: wait_ticks = 35'd10;       // 0.01 ms
      5'd2: wait_ticks = 35'd20;
      5'd3: wait_ticks = 35'd30;
      5'd4: wait_ticks = 35'd40;
      5'd5: wait_ticks = 35'd59;
      5'd6: wait_ticks = 35'd79;
      5'd7: wait_ticks = 35'd118;
      5'd8: wait_ticks = 35'd157;
      5'd9: wait_ticks = 35'd235;
      5'd10: wait_ticks = 35'd313;
      5'd11: wait_ticks = 35'd469;
      5'd12: wait_ticks = 35'd625;     // 0.64 ms
      5'd13: wait_ticks = 35'd938;
      5'd14: wait_ticks = 35'd1250;
      5'd15: wait_ticks = 35'd1875;
      5'd16: wait_ticks = 35'd2500;
      5'd17: wait_ticks = 35'd3750;
      5'd18: wait_ticks = 35'd5000;
      5'd19: wait_ticks = 35'd7500;
      5'd20: wait_ticks = 35'd10000;
      5'd21: wait_ticks = 35'd15000;
      5'd22: wait_ticks = 35'd20000;
      5'd23: wait_ticks = 35'd30000;
      5'd24: wait_ticks = 35'd40000;
      5'd25: wait_ticks = 35'd60000;   // 61.44 ms
      5'd26: wait_ticks = 35'd80000;
      5'd27: wait_ticks = 35'd120000;
      5'd28: wait_ticks = 35'd160000;
      5'd29: wait_ticks = 35'd240000;
      5'd30: wait_ticks = 35'd320000;
      default: wait_ticks = 35'd480000;  // 491.52 ms
    endcase
  end
  assign off_o = !rnr_i && code_i == 5'd0;
  assign ticks_o = rnr_i ? wait_ticks : ack;
endmodule
