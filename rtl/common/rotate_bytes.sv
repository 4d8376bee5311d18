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

  if (DATA_W < 16 || (DATA_W & (DATA_W - 1)) != 0) begin : gen_check_w
    $error("rotate_bytes: DATA_W must be a power of two, at least 16");
  end

  logic [SW-1:0]     up;  // lanes towards the high end
  logic [DATA_W-1:0] rotated;
  assign up = (DOWN == 0) ? shift_i : -shift_i;

`ifdef VERILATOR
  // Two wide shifts, a third of the word operations of the stages below.
  localparam int unsigned BW = $clog2(DATA_W) + 1;
  logic [BW-1:0] up_bits;
  assign up_bits = BW'({up, 3'b000});
  assign rotated = (data_i << up_bits) | (data_i >> (BW'(DATA_W) - up_bits));
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
