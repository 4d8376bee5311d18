// SPDX-License-Identifier: Apache-2.0
// Joins RoCEv2 packets and raw frames into one stream, whole frames in turn.
//
// Latency 0 for packets; one beat per cycle. Raw frames are collected first, so that a slow source
// cannot tear the wire: a raw frame goes when its last beat is there, or when RAW_BYTES of it fill
// the FIFO (it must then come without pauses). When both wait, they alternate. Nothing is dropped.
// in_ready depends on out_ready.
`include "rnic_assert.svh"
module tx_merge #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned RAW_BYTES = 4096    // power of two, at least 2 beats
) (
  input  logic               clk_i,
  input  logic               rst_i,
  // tx_packetizer
  input  logic               in_valid,
  output logic               in_ready,
  input  logic [DATA_W-1:0]  in_data,
  input  logic [7:0]         in_cnt,
  input  logic               in_last,
  input  logic               in_abort,
  input  rnic_pkg::tx_eth_t  in_eth,
  // raw frames, from the Ethernet header on, without FCS
  input  logic               raw_tx_valid,
  output logic               raw_tx_ready,
  input  logic [DATA_W-1:0]  raw_tx_data,
  input  logic [7:0]         raw_tx_cnt,
  input  logic               raw_tx_last,
  // cdc_tx
  output logic               out_valid,
  input  logic               out_ready,
  output logic [DATA_W-1:0]  out_data,       // lanes from out_cnt on are zero
  output logic [7:0]         out_cnt,
  output logic               out_last,
  output logic               out_abort,
  output rnic_pkg::tx_eth_t  out_eth
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned DEPTH = RAW_BYTES / B;
  localparam int unsigned LW = $clog2(DEPTH + 1);

  if (DEPTH < 2 || RAW_BYTES % B != 0) begin : gen_bad_depth
    $error("tx_merge: RAW_BYTES must be a multiple of the beat, at least 2 beats");
  end

  logic              raw_valid, raw_ready, raw_last, raw_in_fire, raw_out_fire, raw_go;
  logic [DATA_W-1:0] raw_data;
  logic [7:0]        raw_cnt;
  logic [LW-1:0]     raw_level, frames_q;   // whole frames in the FIFO

  stream_fifo #(.W(DATA_W + 9), .DEPTH(DEPTH), .OUT_REG(1)) u_raw (
    .clk_i,
    .rst_i,
    .in_valid (raw_tx_valid),
    .in_ready (raw_tx_ready),
    .in_data  ({raw_tx_last, raw_tx_cnt, raw_tx_data}),
    .out_valid(raw_valid),
    .out_ready(raw_ready),
    .out_data ({raw_last, raw_cnt, raw_data}),
    .level_o  (raw_level)
  );
  assign raw_in_fire  = raw_tx_valid && raw_tx_ready;
  assign raw_out_fire = raw_valid && raw_ready;
  assign raw_go       = frames_q != '0 || raw_level == LW'(DEPTH);

  // The choice stays until the frame's last beat has gone.
  logic busy_q, busy_raw_q, prefer_raw_q, pick_raw, out_fire;
  assign pick_raw  = busy_q ? busy_raw_q : raw_go && (prefer_raw_q || !in_valid);
  assign out_valid = pick_raw ? raw_valid : in_valid;
  assign in_ready  = !pick_raw && out_ready;
  assign raw_ready = pick_raw && out_ready;
  assign out_fire  = out_valid && out_ready;

  always_ff @(posedge clk_i) begin
    if ((raw_in_fire && raw_tx_last) != (raw_out_fire && raw_last)) begin
      frames_q <= raw_out_fire && raw_last ? frames_q - LW'(1) : frames_q + LW'(1);
    end
    if (out_valid) begin
      busy_q     <= !(out_fire && out_last);
      busy_raw_q <= pick_raw;
      if (out_fire && out_last) prefer_raw_q <= !pick_raw;
    end
    if (rst_i) begin
      frames_q     <= '0;
      busy_q       <= 1'b0;
      prefer_raw_q <= 1'b0;
    end
  end

  always_comb begin
    out_data  = in_data;
    out_cnt   = in_cnt;
    out_last  = in_last;
    out_abort = in_abort;
    out_eth   = in_eth;
    if (pick_raw) begin
      out_data  = raw_data;
      if (raw_last) out_data = raw_data & ~({DATA_W{1'b1}} << {raw_cnt, 3'd0});
      out_cnt   = raw_cnt;
      out_last  = raw_last;
      out_abort = 1'b0;
      out_eth   = '0;
      out_eth.raw = 1'b1;
    end
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_cnt, out_last, out_abort, out_eth})
  `RNIC_ASSERT(raw_cnt_range, !raw_tx_valid || (raw_tx_cnt != 8'd0 && raw_tx_cnt <= 8'(B) &&
                                                (raw_tx_last || raw_tx_cnt == 8'(B))))
endmodule
