// SPDX-License-Identifier: Apache-2.0
//
// Pauses told: sends a pause frame when a class fills up or has room again, and again before its
// time is over. Runs on the MAC's clock, in front of mac_tx_gen.
//
// Frames pass in the same cycle; a pause frame goes at the next frame boundary, ahead of all others
// but one that has been offered already. It names every class that is or was paused: with
// cfg_quanta_i those of xoff_i, with 0 the others. It is repeated after half of its time. With
// cfg_link_i a frame of 802.3x speaks for the whole link instead. While stop_i is high only pause
// frames begin. While drop_i is high frames that begin are dropped whole, but for pause frames.
// in_ready depends on out_ready.
`include "rnic_assert.svh"

module pfc_tx #(
  parameter int unsigned DATA_W = 512
) (
  input  logic               clk_i,         // of the MAC
  input  logic               rst_i,
  input  logic               cfg_link_i,
  input  logic [15:0]        cfg_quanta_i,
  input  logic [35:0]        cfg_bits_i,    // bits of the wire per cycle, 20 of them fraction
  input  logic [47:0]        cfg_mac_i,     // source address, first byte on the wire in 47:40
  input  logic [7:0]         xoff_i,        // classes that the peer shall pause
  input  logic               stop_i,        // the peer has paused the link: no frame begins
  input  logic               drop_i,        // it does so without end: frames are dropped

  // cdc_tx
  input  logic               in_valid,
  output logic               in_ready,
  input  logic [DATA_W-1:0]  in_data,
  input  logic [7:0]         in_cnt,
  input  logic               in_last,
  input  logic               in_abort,
  input  rnic_pkg::tx_eth_t  in_eth,
  input  logic [7:0]         in_level_i,
  // mac_tx_gen
  output logic               out_valid,
  input  logic               out_ready,
  output logic [DATA_W-1:0]  out_data,
  output logic [7:0]         out_cnt,
  output logic               out_last,
  output logic               out_abort,
  output rnic_pkg::tx_eth_t  out_eth,
  output logic [7:0]         out_level_o,

  output logic               cnt_tx_pause_o,
  output logic [7:0]         cnt_tx_prio_pause_o,   // a PFC frame said so of the class
  output logic               cnt_dropped_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned BYTES = 60;
  localparam int unsigned BEATS = (BYTES + B - 1) / B;
  localparam int unsigned FRAME_W = BEATS * DATA_W;
  localparam int unsigned AW = $clog2(FRAME_W);

  // ------------------------------------------------------------------------------- when, and what
  logic [7:0]  want, told_q, say_q, mask_q;  // paused: wanted, last told; this frame: paused, named
  logic        link_q, pending_q, due_q, first_fire, last_fire;
  logic [24:0] left_q;                       // bits until a repetition
  logic [19:0] fraction_q;
  logic [36:0] bits;
  assign want = cfg_link_i ? {8{xoff_i != '0}} : xoff_i;
  assign bits = 37'(cfg_bits_i) + 37'(fraction_q);

  always_ff @(posedge clk_i) begin
    fraction_q <= bits[19:0];
    // What a frame says is fixed while it is on its way.
    if (!pending_q && (want != told_q || due_q)) begin
      pending_q <= 1'b1;
      link_q <= cfg_link_i;
      say_q <= want;
      mask_q <= want | told_q;
      told_q <= want;
    end
    if (last_fire) pending_q <= 1'b0;
    if (left_q != '0) left_q <= left_q > 25'(bits[36:20]) ? left_q - 25'(bits[36:20]) : '0;
    if (first_fire) begin
      left_q <= {1'b0, cfg_quanta_i, 8'd0};    // half of 512 bits each
      due_q <= 1'b0;
    end else if (left_q == '0 && told_q != '0 && !pending_q && cfg_quanta_i != '0) begin
      due_q <= 1'b1;
    end
    if (rst_i) begin
      fraction_q <= '0;
      pending_q <= 1'b0;
      told_q <= '0;
      left_q <= '0;
      due_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------- the frame
  logic [FRAME_W-1:0] frame;
  logic [AW-1:0]      beat_data_at;
  function automatic logic [47:0] swap6(input logic [47:0] x);
    swap6 = {x[7:0], x[15:8], x[23:16], x[31:24], x[39:32], x[47:40]};
  endfunction
  always_comb begin
    frame = '0;
    frame[0 +: 48] = swap6(48'h0180C2000001);
    frame[48 +: 48] = swap6(cfg_mac_i);
    frame[96 +: 16] = 16'h0888;
    if (link_q) begin
      frame[112 +: 16] = 16'h0100;
      frame[128 +: 16] = say_q != '0 ? {cfg_quanta_i[7:0], cfg_quanta_i[15:8]} : 16'd0;
    end else begin
      frame[112 +: 16] = 16'h0101;
      frame[136 +: 8] = mask_q;
      for (int unsigned i = 0; i < 8; i++) begin
        if (say_q[i]) frame[144 + i*16 +: 16] = {cfg_quanta_i[7:0], cfg_quanta_i[15:8]};
      end
    end
  end

  // ----------------------------------------------------------------------------------- whose turn
  logic       busy_q, busy_own_q, own;   // a choice stays until its frame's last beat has gone
  logic       go, drop, dropping_q;
  logic [1:0] beat_q;
  assign own = busy_q ? busy_own_q : pending_q;
  assign drop = dropping_q || (!busy_q && !own && drop_i);
  assign go = (busy_q || !stop_i) && !drop;
  assign beat_data_at = AW'(32'(beat_q) * DATA_W);
  assign first_fire = own && out_ready && beat_q == 2'd0;
  assign last_fire = own && out_ready && 32'(beat_q) == BEATS - 1;

  always_comb begin
    out_valid = in_valid && go;
    out_data = in_data;
    out_cnt = in_cnt;
    out_last = in_last;
    out_abort = in_abort;
    out_eth = in_eth;
    out_level_o = in_level_i;
    if (own) begin
      out_valid = 1'b1;
      out_data = frame[beat_data_at +: DATA_W];
      out_last = 32'(beat_q) == BEATS - 1;
      out_cnt = out_last ? 8'(BYTES - (BEATS - 1) * B) : 8'(B);
      out_abort = 1'b0;
      out_eth = '0;
      out_eth.raw = 1'b1;
      out_level_o = '1;                  // all of it is here
    end
  end
  assign in_ready = drop || (out_ready && !own && go);

  always_ff @(posedge clk_i) begin
    if (in_valid && drop) dropping_q <= !in_last;
    cnt_dropped_o <= in_valid && drop && in_last;
    if (out_valid) begin
      busy_q <= !(out_ready && out_last);
      busy_own_q <= own;
    end
    if (own && out_ready) beat_q <= out_last ? 2'd0 : beat_q + 2'd1;
    cnt_tx_pause_o <= last_fire;
    cnt_tx_prio_pause_o <= last_fire && !link_q ? say_q : 8'd0;
    if (rst_i) begin
      busy_q <= 1'b0;
      dropping_q <= 1'b0;
      cnt_dropped_o <= 1'b0;
      beat_q <= '0;
      cnt_tx_pause_o <= 1'b0;
      cnt_tx_prio_pause_o <= '0;
    end
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_data, out_cnt, out_last, out_abort, out_eth})
endmodule
