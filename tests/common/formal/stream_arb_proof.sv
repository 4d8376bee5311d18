// SPDX-License-Identifier: Apache-2.0
//
// Proof bench for the stream arbiters: packets stay whole, a beat comes from the input that out_src
// names and only that input is taken, and round robin lets at most N - 1 packets of others pass an
// input that waits. The arbiter is stream_arb_prio when PRIO is defined.

`include "rnic_assert.svh"

module stream_arb_proof #(
  parameter int unsigned N = 3,
  parameter int unsigned W = 2
) (
  input logic           clk_i,
  input logic           rst_i,
  input logic [N-1:0]   in_valid,
  input logic [N*W-1:0] in_data,
  input logic [N-1:0]   in_last,
  input logic           out_ready
);

  logic [N-1:0]         in_ready;
  logic                 out_valid, out_last;
  logic [W-1:0]         out_data;
  logic [$clog2(N)-1:0] out_src;

`ifdef PRIO
  stream_arb_prio #(.N(N), .W(W)) u_dut (
`else
  stream_arb_rr #(.N(N), .W(W)) u_dut (
`endif
    .clk_i, .rst_i, .in_valid, .in_ready, .in_data, .in_last, .out_valid, .out_ready, .out_data,
    .out_last, .out_src
  );

  // Sources that keep their promise.
  for (genvar i = 0; i < N; i++) begin : gen_source
    logic       stall_q;
    logic [W:0] beat_q;
    always_ff @(posedge clk_i) begin
      stall_q <= in_valid[i] && !in_ready[i] && !rst_i;
      beat_q  <= {in_last[i], in_data[i*W +: W]};
      if (!rst_i && stall_q) assume (in_valid[i] && beat_q == {in_last[i], in_data[i*W +: W]});
    end
  end

  logic out_fire, inside_q;
  logic [$clog2(N)-1:0] src_q;
  assign out_fire = out_valid && out_ready;

  always_ff @(posedge clk_i) begin
    if (out_fire) begin
      inside_q <= !out_last;
      src_q    <= out_src;
    end
    if (rst_i) inside_q <= 1'b0;
  end

  `RNIC_ASSERT(whole_packets, !out_valid || !inside_q || out_src == src_q)
  `RNIC_ASSERT(from_source, !out_valid || (in_valid[out_src] && out_last == in_last[out_src] &&
               out_data == in_data[out_src*W +: W]))
  `RNIC_ASSERT(takes_that_one, (in_valid & in_ready) == (out_fire ? (N'(1) << out_src) : '0))
  `RNIC_ASSERT(no_idle, inside_q || out_valid == (in_valid != '0))
  `RNIC_COVER(packet_of_two_from_last, out_fire && inside_q && out_src == 2'(N - 1))

`ifndef PRIO
  (* anyconst *) logic [$clog2(N)-1:0] waiting;
  logic [2:0] passed_q;  // packets of others that began while this one waited
  always_ff @(posedge clk_i) begin
    if (!in_valid[waiting] || in_ready[waiting]) passed_q <= '0;
    else if (out_fire && out_last) passed_q <= passed_q + 1'b1;
    if (rst_i) passed_q <= '0;
  end
  // The packet in progress when it came, and one of every other input.
  `RNIC_ASSERT(fair, waiting >= 2'(N) || passed_q <= 3'(N))
  `RNIC_COVER(both_others_pass, waiting < 2'(N) && passed_q == 3'(N - 1))
`endif

endmodule
