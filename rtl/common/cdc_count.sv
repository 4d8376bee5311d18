// SPDX-License-Identifier: Apache-2.0
//
// Carries a number of single-cycle pulses from one clock to another: each comes out as one pulse,
// however close they are. A Gray-coded counter crosses, so it is exact as long as fewer than 2^W
// pulses wait. Latency: the SYNC_STAGES-th clk_i edge after the pulse; one pulse per cycle.

module cdc_count #(
  parameter int unsigned W = 16,
  parameter int unsigned SYNC_STAGES = 2
) (
  input  logic src_clk_i,
  input  logic src_rst_i,
  input  logic pulse_i,

  input  logic clk_i,
  input  logic rst_i,
  input  logic hold_i,   // keeps the next pulse back
  output logic pulse_o
);
  logic [W-1:0] count_q, next, gray_q;
  assign next = count_q + W'(1);
  always_ff @(posedge src_clk_i) begin
    if (pulse_i) begin
      count_q <= next;
      gray_q <= next ^ (next >> 1);
    end
    if (src_rst_i) begin
      count_q <= '0;
      gray_q <= '0;
    end
  end

  logic [W-1:0] gray, count, told_q;
  cdc_sync #(.W(W), .STAGES(SYNC_STAGES)) u_gray (
    .clk_i, .rst_i,
    .d_i(gray_q),
    .q_o(gray)
  );
  generate
    for (genvar i = 0; i < W; i++) begin : gen_count
      assign count[i] = ^gray[W-1:i];
    end
  endgenerate
  assign pulse_o = count != told_q && !hold_i;
  always_ff @(posedge clk_i) begin
    if (pulse_o) told_q <= told_q + W'(1);
    if (rst_i) told_q <= '0;
  end
endmodule
