// SPDX-License-Identifier: Apache-2.0
//
// How much of the receive buffer each class holds, and which classes the peer shall pause.
//
// One frame in and one out per cycle, in order; xoff_o follows in 2 cycles. A frame counts its
// rows, and not less than its share of the list of frames, so that the list does not fill up first.
// A class is asked to pause when it holds cfg_xoff_i bytes or more, until it holds cfg_xon_i or
// fewer.
`include "rnic_assert.svh"

module pfc_fill #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned RX_BUF_BYTES = 131072,
  parameter int unsigned N_META = 512
) (
  input  logic         clk_i,
  input  logic         rst_i,
  input  logic [7:0]   cfg_classes_i,   // those that pauses are asked for
  input  logic [191:0] cfg_xoff_i,      // bytes, 24 bits per class
  input  logic [191:0] cfg_xon_i,
  // rx_buffer
  input  logic         in_valid,        // a frame is kept
  input  logic         in_past_i,       // and has gone in this cycle, nothing before it is here
  input  logic [2:0]   in_class,
  input  logic [15:0]  in_rows,
  input  logic         free_i,          // the oldest has gone

  output logic [7:0]   xoff_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned SHARE = RX_BUF_BYTES / N_META / B;   // rows per entry of the list
  localparam int unsigned ROWS = RX_BUF_BYTES / B;
  localparam int unsigned RW = $clog2(2 * ROWS + 1);

  logic          keep, unused_ready, out_valid;
  logic [RW-1:0] rows, gone_rows;
  logic [2:0]    gone_class;
  logic [$clog2(N_META+1)-1:0] unused_level;
  assign rows = 32'(in_rows) < SHARE ? RW'(SHARE) : RW'(in_rows);
  assign keep = in_valid && !in_past_i;
  stream_fifo #(.W(RW + 3), .DEPTH(N_META), .OUT_REG(1)) u_frames (
    .clk_i, .rst_i,
    .in_valid(keep), .in_ready(unused_ready), .in_data({in_class, rows}),
    .out_valid, .out_ready(free_i), .out_data({gone_class, gone_rows}),
    .level_o(unused_level)
  );

  generate
    for (genvar i = 0; i < 8; i++) begin : gen_class
      logic [RW-1:0] fill_q, fill;
      logic [31:0]   bytes;
      always_comb begin
        fill = fill_q;
        if (keep && in_class == 3'(i)) fill = fill + rows;
        if (free_i && gone_class == 3'(i)) fill = fill - gone_rows;
      end
      assign bytes = 32'(fill_q) * B;
      always_ff @(posedge clk_i) begin
        fill_q <= fill;
        if (bytes >= 32'(cfg_xoff_i[i*24 +: 24])) xoff_o[i] <= 1'b1;
        else if (bytes <= 32'(cfg_xon_i[i*24 +: 24])) xoff_o[i] <= 1'b0;
        if (rst_i || !cfg_classes_i[i]) xoff_o[i] <= 1'b0;
        if (rst_i) fill_q <= '0;
      end
      `RNIC_ASSERT(bound, fill_q <= RW'(2 * ROWS))
    end
  endgenerate

  `RNIC_ASSERT(no_overflow, !keep || unused_ready)
  `RNIC_ASSERT(gone_was_here, !free_i || out_valid)
endmodule
