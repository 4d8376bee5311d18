// SPDX-License-Identifier: Apache-2.0
// Where a byte of a received message goes: the segment of the receive WQE that holds it, and how
// much of the segment is left from there. Combinational. Segments of length 0 hold nothing.
module rx_scatter (
    input  logic [127:0] seg0_i,      // {va, len, lkey} as in memory
    input  logic [127:0] seg1_i,
    input  logic [127:0] seg2_i,
    input  logic [31:0]  pos_i,       // byte of the message
    output logic [33:0]  room_o,      // bytes that the WQE takes in all
    output logic [31:0]  key_o,
    output logic [63:0]  va_o,
    output logic [33:0]  left_o       // bytes of the segment from pos_i on
);
  logic [33:0] end0, end1, pos, base;
  logic [127:0] seg;
  assign pos = {2'b00, pos_i};
  assign end0 = {2'b00, seg0_i[63:32]};
  assign end1 = end0 + {2'b00, seg1_i[63:32]};
  assign room_o = end1 + {2'b00, seg2_i[63:32]};
  always_comb begin
    seg = seg2_i;
    base = end1;
    left_o = room_o - pos;
    if (pos < end0) begin
      seg = seg0_i;
      base = '0;
      left_o = end0 - pos;
    end else if (pos < end1) begin
      seg = seg1_i;
      base = end0;
      left_o = end1 - pos;
    end
  end
  assign key_o = seg[31:0];
  assign va_o = seg[127:64] + {30'd0, pos - base};
  logic unused;
  assign unused = ^seg[63:32];
endmodule
