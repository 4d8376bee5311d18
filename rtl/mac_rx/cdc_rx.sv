// SPDX-License-Identifier: Apache-2.0
//
// Carries received frames from the MAC's clock to the core's. The wire cannot wait: what does not
// fit is dropped as a whole frame and counted, never torn.
//
// One beat per cycle in; one beat per core cycle out, no ready on either side (rx_parser takes
// everything). Latency as cdc_fifo with OUT_REG 1. A frame that finds no room at its start leaves
// nothing; one that runs out of room later is ended by a beat with out_last and out_ovf, for which
// one place is always kept free, and the rest of it is discarded. Reset together with mac_rx, which
// gives only whole frames after it.
`include "rnic_assert.svh"

module cdc_rx #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DEPTH = 32,        // beats, power of two >= 8
  parameter int unsigned SYNC_STAGES = 2
) (
  input  logic              mac_clk_i,
  input  logic              mac_rst_i,
  input  logic              in_valid,
  input  logic [DATA_W-1:0] in_data,
  input  logic [7:0]        in_cnt,
  input  logic              in_last,
  input  logic              in_err,

  input  logic              clk_i,
  input  logic              rst_i,
  output logic              out_valid,
  output logic [DATA_W-1:0] out_data,
  output logic [7:0]        out_cnt,
  output logic              out_last,
  output logic              out_err,
  output logic              out_ovf,  // with out_last: the frame was cut here; already counted

  output logic              cnt_rx_cdc_drops_o,
  // 1: keep the next pulse back (so that it can share a counter)
  input  logic              cnt_rx_cdc_drops_hold_i
);
  localparam int unsigned W = DATA_W + 11;
  localparam int unsigned LW = $clog2(DEPTH + 1);

  // ---------------------------------------------------------------- MAC clock
  logic          begun_q;                   // part of the frame is in the FIFO
  logic          lose_q;                    // discard up to its last beat
  logic          fits, write, cut;
  logic          fifo_ready;
  logic [LW-1:0] level;
  logic [W-1:0]  fifo_in, fifo_out;

  // One place stays free for the beat that ends a frame.
  assign fits = in_last ? fifo_ready : level < LW'(DEPTH - 1);
  assign cut = in_valid && !lose_q && !fits;
  assign write = in_valid && !lose_q && (fits || begun_q);
  assign fifo_in = cut ? {1'b1, 1'b0, 1'b1, 8'd1, in_data} :
                         {1'b0, in_err, in_last, in_cnt, in_data};

  always_ff @(posedge mac_clk_i) begin
    if (in_valid) begin
      begun_q <= write && !cut && !in_last;
      lose_q <= (lose_q || cut) && !in_last;
    end
    if (mac_rst_i) begin
      begun_q <= 1'b0;
      lose_q <= 1'b0;
    end
  end

  logic [LW-1:0] unused_rd_level;
  cdc_fifo #(.W(W), .DEPTH(DEPTH), .SYNC_STAGES(SYNC_STAGES), .OUT_REG(1)) u_fifo (
    .wr_clk_i(mac_clk_i), .wr_rst_i(mac_rst_i),
    .in_valid(write), .in_ready(fifo_ready), .in_data(fifo_in),
    .wr_level_o(level),
    .rd_clk_i(clk_i), .rd_rst_i(rst_i),
    .out_valid(out_valid), .out_ready(1'b1), .out_data(fifo_out),
    .rd_level_o(unused_rd_level)
  );

  // ---------------------------------------------------------------- core clock
  assign {out_ovf, out_err, out_last, out_cnt, out_data} = fifo_out;

  cdc_count #(.SYNC_STAGES(SYNC_STAGES)) u_lost (
    .src_clk_i(mac_clk_i),
    .src_rst_i(mac_rst_i),
    .pulse_i(cut),
    .clk_i, .rst_i,
    .hold_i(cnt_rx_cdc_drops_hold_i),
    .pulse_o(cnt_rx_cdc_drops_o)
  );

  `RNIC_ASSERT_CLK(no_overflow, mac_clk_i, mac_rst_i, !write || fifo_ready)
endmodule
