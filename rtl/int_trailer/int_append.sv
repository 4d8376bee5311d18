// SPDX-License-Identifier: Apache-2.0
// Puts the INT trailer of 48 bytes behind the iCRC of packets that are to carry one. Format:
// harness/roce/README.md.
// Throughput: one beat per cycle; the trailer takes what its packet's last beat has left, and up to
// one beat more (128 bit: three, 256 bit: two). Latency: 0, everything is combinational from in_*.
// Packets without a trailer pass unchanged. Order is kept, nothing is dropped. in_ready depends on
// out_ready and state.
`include "rnic_assert.svh"
module int_append #(
    parameter int unsigned DATA_W = 512
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    // packets, IP header to iCRC; lanes from in_cnt on are zero
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [DATA_W-1:0]      in_data,
    input  logic [7:0]             in_cnt,     // with in_last a multiple of 4
    input  logic                   in_last,
    input  logic                   in_abort,   // with in_last
    input  rnic_pkg::tx_eth_t      in_eth,     // with every beat of the packet
    input  logic                   in_add,     // this packet gets a trailer; with in_last
    input  logic                   in_echo,    // of in_int: returned by a receiver
    input  rnic_pkg::telemetry_t   in_int,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [DATA_W-1:0]      out_data,
    output logic [7:0]             out_cnt,
    output logic                   out_last,
    output logic                   out_abort,
    output rnic_pkg::tx_eth_t      out_eth
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned T = roce_pkg::INT_BYTES;
  localparam int unsigned WIDE = DATA_W + 8 * T;

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("int_append: DATA_W must be 128, 256, 512 or 1024");
  end

  // What is left of a trailer, and of which packet.
  logic [8*T-1:0]    rest_q;
  logic [7:0]        left_q;             // bytes; 0: none
  logic              abort_q;
  rnic_pkg::tx_eth_t eth_q;

  logic [8*T-1:0]  trailer;
  logic [WIDE-1:0] joined;
  logic [8:0]      total;
  logic            adds, spills, out_fire, in_rest;
  assign in_rest = left_q != 8'd0;
  assign adds = in_valid && !in_rest && in_last && in_add;
  always_comb begin
    trailer = '0;
    joined = '0;
    if (adds) begin
      trailer[15:0] = roce_pkg::INT_MAGIC;
      trailer[19:16] = roce_pkg::INT_VERSION;
      trailer[23:20] = in_int.unit;
      trailer[24] = in_echo;
      trailer[43:32] = in_int.path;
      trailer[47:44] = in_int.hops;
      trailer[383:64] = in_int.hop;
      joined = WIDE'(trailer) << {in_cnt, 3'd0};
    end
  end
  assign total = 9'(in_cnt) + 9'(T);
  assign spills = adds && total > 9'(B);

  assign out_valid = in_rest || in_valid;
  assign in_ready = !in_rest && out_ready;
  assign out_fire = out_valid && out_ready;
  assign out_eth = in_rest ? eth_q : in_eth;
  assign out_abort = in_rest ? abort_q && out_last : in_abort && !spills;
  always_comb begin
    out_data = in_data;
    out_cnt = in_cnt;
    out_last = in_last;
    if (in_rest) begin
      out_data = DATA_W'(rest_q);
      out_cnt = left_q < 8'(B) ? left_q : 8'(B);
      out_last = left_q <= 8'(B);
    end else if (adds) begin
      out_data = in_data | joined[DATA_W-1:0];
      out_cnt = spills ? 8'(B) : total[7:0];
      out_last = !spills;
    end
  end

  always_ff @(posedge clk_i) begin
    if (out_fire && in_rest) begin
      rest_q <= rest_q >> DATA_W;
      left_q <= out_last ? 8'd0 : left_q - 8'(B);
    end else if (out_fire && spills) begin
      rest_q <= joined[WIDE-1:DATA_W];
      left_q <= 8'(total - 9'(B));
      abort_q <= in_abort;
      eth_q <= in_eth;
    end
    if (rst_i) left_q <= 8'd0;
  end

  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_data, out_cnt, out_last, out_abort})
  `RNIC_ASSERT(whole_words, !adds || in_cnt[1:0] == 2'd0)
  `RNIC_COVER(trailer_spills, out_fire && spills)
endmodule
