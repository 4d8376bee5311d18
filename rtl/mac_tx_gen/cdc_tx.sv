// SPDX-License-Identifier: Apache-2.0
// Carries frames from the core's clock to the MAC's, and the MAC's report of a torn frame back.
//
// One beat per cycle; latency as cdc_fifo (a beat taken at a core edge is out_valid after the
// SYNC_STAGES-th MAC edge that follows). Order is kept, nothing is dropped. Counts frames and bytes
// as they enter.
`include "rnic_assert.svh"
module cdc_tx #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DEPTH = 16,         // beats, power of two, at least 8
  parameter int unsigned SYNC_STAGES = 2
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic               in_valid,
  output logic               in_ready,
  input  logic [DATA_W-1:0]  in_data,
  input  logic [7:0]         in_cnt,
  input  logic               in_last,
  input  logic               in_abort,
  input  rnic_pkg::tx_eth_t  in_eth,
  output logic               cnt_tx_frames_o,
  output logic               cnt_tx_raw_frames_o,
  // with cnt_tx_frames_o; Ethernet header and padding, not FCS
  output logic [15:0]        cnt_tx_bytes_amount_o,
  // a frame ran dry on the wire; qpn and psn are its own
  output logic               cnt_tx_underruns_o,
  output logic [23:0]        underrun_qpn_o,
  output logic [23:0]        underrun_psn_o,
  output logic               trc_valid_o,            // TX_CDC
  output logic [63:0]        trc_o,
  output logic               trc_sampled_o,

  input  logic               mac_clk_i,
  input  logic               mac_rst_i,
  output logic               out_valid,
  input  logic               out_ready,
  output logic [DATA_W-1:0]  out_data,
  output logic [7:0]         out_cnt,
  output logic               out_last,
  output logic               out_abort,
  output rnic_pkg::tx_eth_t  out_eth,
  output logic [7:0]         out_level_o,            // beats here, not more than there are
  input  logic               underrun_i,             // from mac_tx_gen
  input  logic [23:0]        underrun_qpn_i,
  input  logic [23:0]        underrun_psn_i,
  input  logic               underrun_request_i,
  // core's clock, to rx_completer: the torn frame was a request of this QP
  output logic               spoil_valid,
  input  logic               spoil_ready,
  output logic [23:0]        spoil_qpn
);
  localparam int unsigned EW = $bits(in_eth);
  localparam int unsigned W = DATA_W + 10 + EW;
  localparam int unsigned LW = $clog2(DEPTH + 1);

  if (DEPTH < 8 || DEPTH > 128) begin : gen_bad_depth
    $error("cdc_tx: DEPTH must be 8 to 128");
  end

  logic [LW-1:0] unused_wr_level, rd_level;
  cdc_fifo #(.W(W), .DEPTH(DEPTH), .SYNC_STAGES(SYNC_STAGES), .OUT_REG(0)) u_fifo (
    .wr_clk_i  (clk_i),
    .wr_rst_i  (rst_i),
    .in_valid,
    .in_ready,
    .in_data   ({in_eth, in_abort, in_last, in_cnt, in_data}),
    .wr_level_o(unused_wr_level),
    .rd_clk_i  (mac_clk_i),
    .rd_rst_i  (mac_rst_i),
    .out_valid,
    .out_ready,
    .out_data  ({out_eth, out_abort, out_last, out_cnt, out_data}),
    .rd_level_o(rd_level)
  );
  assign out_level_o = 8'(rd_level);

  // Torn frames: rare, but each one counts. The count waits only when nobody takes the reports.
  logic       unused_room, rep_valid, rep_request, spoil_room;
  logic [3:0] unused_level_wr, unused_level_rd;
  logic [4:0] unused_spoil_level;
  cdc_fifo #(.W(49), .DEPTH(8), .SYNC_STAGES(SYNC_STAGES), .OUT_REG(0)) u_reports (
    .wr_clk_i  (mac_clk_i),
    .wr_rst_i  (mac_rst_i),
    .in_valid  (underrun_i),
    .in_ready  (unused_room),
    .in_data   ({underrun_request_i, underrun_qpn_i, underrun_psn_i}),
    .wr_level_o(unused_level_wr),
    .rd_clk_i  (clk_i),
    .rd_rst_i  (rst_i),
    .out_valid (rep_valid),
    .out_ready (spoil_room),
    .out_data  ({rep_request, underrun_qpn_o, underrun_psn_o}),
    .rd_level_o(unused_level_rd)
  );
  assign cnt_tx_underruns_o = rep_valid && spoil_room;
  stream_fifo #(.W(24), .DEPTH(16), .OUT_REG(0)) u_spoiled (
    .clk_i,
    .rst_i,
    .in_valid (rep_valid && rep_request),
    .in_ready (spoil_room),
    .in_data  (underrun_qpn_o),
    .out_valid(spoil_valid),
    .out_ready(spoil_ready),
    .out_data (spoil_qpn),
    .level_o  (unused_spoil_level)
  );

  // -------------------------------------------------------------------------------------- counting
  logic        fire, first_q;
  logic [15:0] bytes_q, base, total;
  assign fire  = in_valid && in_ready;
  assign base  = !first_q ? bytes_q : in_eth.raw ? 16'd0 : in_eth.vlan ? 16'd18 : 16'd14;
  assign total = base + 16'(in_cnt);

  always_ff @(posedge clk_i) begin
    cnt_tx_frames_o     <= fire && in_last;
    cnt_tx_raw_frames_o <= fire && in_last && in_eth.raw;
    if (fire) begin
      first_q <= in_last;
      bytes_q <= total;
      if (in_last) cnt_tx_bytes_amount_o <= total < 16'd60 ? 16'd60 : total;
    end
    if (rst_i) begin
      cnt_tx_frames_o     <= 1'b0;
      cnt_tx_raw_frames_o <= 1'b0;
      first_q             <= 1'b1;
    end
  end

  assign trc_valid_o   = fire && first_q && !in_eth.raw;
  assign trc_o         = {rnic_pkg::TRC_TX_CDC, in_eth.qpn, 8'd0, in_eth.psn};
  assign trc_sampled_o = in_eth.sampled;

  logic unused;
  assign unused = ^{unused_wr_level, unused_level_wr, unused_level_rd, unused_room,
      unused_spoil_level};

  `RNIC_STREAM_HOLD(spoil_valid, spoil_ready, spoil_qpn)
  `RNIC_ASSERT_CLK(report_room, mac_clk_i, mac_rst_i, !underrun_i || unused_room)
endmodule
