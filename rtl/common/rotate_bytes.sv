// SPDX-License-Identifier: Apache-2.0
//
// Rotates the bytes of a word by shift_i lanes. DOWN 0: byte i goes to lane (i + shift_i) mod
// lanes; DOWN 1: lane i gets byte (i + shift_i) mod lanes. PIPE 0: combinational; PIPE 1: output
// register that loads when en_i is high.

module rotate_bytes #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DOWN = 0,
  parameter int unsigned PIPE = 0
) (
  input  logic                        clk_i,
  input  logic                        en_i,
  input  logic [DATA_W-1:0]           data_i,
  input  logic [$clog2(DATA_W/8)-1:0] shift_i,
  output logic [DATA_W-1:0]           data_o
);

  localparam int unsigned LANES = DATA_W / 8;
  localparam int unsigned SW = $clog2(LANES);

  if (DATA_W < 64 || (DATA_W & (DATA_W - 1)) != 0) begin : gen_check_w
    $error("rotate_bytes: DATA_W must be a power of two, at least 64");
  end

  logic [SW-1:0]     up;  // lanes towards the high end
  logic [DATA_W-1:0] rotated;
  assign up = (DOWN == 0) ? shift_i : -shift_i;

`ifdef VERILATOR
  // Each 32-bit word from the two that it straddles: a third faster in simulation than wide shifts.
  localparam int unsigned WORDS = DATA_W / 32;
  localparam int unsigned WW = $clog2(WORDS);
  logic [4:0] sub;
  assign sub = {up[1:0], 3'b000};
  for (genvar w = 0; w < WORDS; w++) begin : gen_word
    logic [WW-1:0] at;
    logic [31:0] hi, lo;
    assign at = WW'(w) - up[SW-1:2];
    assign hi = data_i[{at, 5'b0} +: 32];
    assign lo = data_i[{WW'(at - 1'b1), 5'b0} +: 32];
    assign rotated[w*32 +: 32] = 32'({hi, lo} >> (6'd32 - sub));
  end
`else
  // One multiplexer stage per bit of the shift.
  logic [(SW+1)*DATA_W-1:0] stage;
  assign stage[DATA_W-1:0] = data_i;
  for (genvar s = 0; s < SW; s++) begin : gen_stage
    localparam int unsigned B = 8 << s;
    logic [DATA_W-1:0] x;
    assign x = stage[s*DATA_W +: DATA_W];
    assign stage[(s+1)*DATA_W +: DATA_W] = up[s] ? {x[DATA_W-B-1:0], x[DATA_W-1:DATA_W-B]} : x;
  end
  assign rotated = stage[SW*DATA_W +: DATA_W];
`endif

  if (PIPE == 0) begin : gen_comb
    assign data_o = rotated;
    logic unused;
    assign unused = clk_i | en_i;
  end else begin : gen_reg
    always_ff @(posedge clk_i) begin
      if (en_i) data_o <= rotated;
    end
  end

endmodule
