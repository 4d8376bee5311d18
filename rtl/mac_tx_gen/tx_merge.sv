// SPDX-License-Identifier: Apache-2.0
// Joins RoCEv2 packets and raw frames into one stream at frame borders, round robin, and counts what leaves.
// Throughput: one beat per cycle, also when the source changes. Latency: 0. ready of an input depends on valid and on
// out_ready. Raw frames start with their Ethernet header and are at most MTU-sized; lanes beyond raw_tx_cnt are cleared.
module tx_merge #(
    parameter int unsigned DATA_W = 512
) (
    input  logic               clk_i,
    input  logic               rst_i,
    // from tx_packetizer
    input  logic               pkt_valid,
    output logic               pkt_ready,
    input  logic [DATA_W-1:0]  pkt_data,
    input  logic [7:0]         pkt_cnt,
    input  logic               pkt_last,
    input  logic               pkt_abort,
    input  rnic_pkg::tx_eth_t  pkt_eth,
    // raw frames
    input  logic               raw_tx_valid,
    output logic               raw_tx_ready,
    input  logic [DATA_W-1:0]  raw_tx_data,
    input  logic [7:0]         raw_tx_cnt,
    input  logic               raw_tx_last,
    // to cdc_tx
    output logic               out_valid,
    input  logic               out_ready,
    output logic [DATA_W-1:0]  out_data,
    output logic [7:0]         out_cnt,
    output logic               out_last,
    output logic               out_abort,
    output rnic_pkg::tx_eth_t  out_eth,
    output logic               cnt_tx_frames_o,
    output logic               cnt_tx_bytes_o,
    output logic [15:0]        cnt_tx_bytes_amount_o,
    output logic               cnt_tx_raw_frames_o,
    output logic               trc_valid_o,
    output logic [63:0]        trc_o,
    output logic               trc_sampled_o
);
  localparam int unsigned B = DATA_W / 8;

  // ------------------------------------------------------------------------------------------ choice
  logic busy_q, raw_q, prefer_raw_q;  // inside a frame; whose; whose turn it is
  logic raw, fire;
  assign raw = busy_q ? raw_q : raw_tx_valid && (prefer_raw_q || !pkt_valid);
  assign out_valid = raw ? raw_tx_valid : pkt_valid;
  assign fire = out_valid && out_ready;
  assign pkt_ready = !raw && out_ready;
  assign raw_tx_ready = raw && out_ready;

  // A waiting beat must not change: a choice that was shown stays.
  always_ff @(posedge clk_i) begin
    if (out_valid) begin
      busy_q <= !(fire && out_last);
      raw_q <= raw;
    end
    if (fire && out_last) prefer_raw_q <= !raw;
    if (rst_i) begin
      busy_q <= 1'b0;
      prefer_raw_q <= 1'b0;
    end
  end

  logic [DATA_W-1:0] lanes;
  always_comb for (int i = 0; i < B; i++) lanes[i*8+:8] = {8{8'(i) < raw_tx_cnt}};
  assign out_data = !raw ? pkt_data : raw_tx_last ? raw_tx_data & lanes : raw_tx_data;
  assign out_cnt = raw ? raw_tx_cnt : pkt_cnt;
  assign out_last = raw ? raw_tx_last : pkt_last;
  assign out_abort = !raw && pkt_abort;
  always_comb begin
    out_eth = pkt_eth;
    if (raw) begin
      out_eth = '0;
      out_eth.raw = 1'b1;
    end
  end

  // ---------------------------------------------------------------------------------------- counters
  // Bytes of the frame as it will be on the wire, without FCS: header, data, padding.
  logic first_q;
  logic [15:0] sum_q, total, head;
  assign head = raw ? 16'd0 : pkt_eth.vlan ? 16'd18 : 16'd14;
  assign total = (first_q ? head : sum_q) + {8'd0, out_cnt};
  always_ff @(posedge clk_i) begin
    if (fire) begin
      first_q <= out_last;
      sum_q <= total;
    end
    cnt_tx_frames_o <= fire && out_last;
    cnt_tx_bytes_o <= fire && out_last;
    cnt_tx_raw_frames_o <= fire && out_last && raw;
    if (fire && out_last) cnt_tx_bytes_amount_o <= (total < 16'd60) ? 16'd60 : total;
    if (rst_i) begin
      first_q <= 1'b1;
      cnt_tx_frames_o <= 1'b0;
      cnt_tx_bytes_o <= 1'b0;
      cnt_tx_raw_frames_o <= 1'b0;
    end
  end

  assign trc_valid_o = fire && first_q && !raw;
  assign trc_o = {rnic_pkg::TRC_TX_CDC, pkt_eth.qpn, 8'd0, pkt_eth.psn};
  assign trc_sampled_o = pkt_eth.sampled;
endmodule
