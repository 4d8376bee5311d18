// SPDX-License-Identifier: Apache-2.0
//
// Carries single-cycle pulses from one clock to another. A toggle crosses and comes back; while
// src_busy_o is high further pulses are remembered as one, which follows. Latency: the
// SYNC_STAGES-th dst edge after the src edge.

module cdc_pulse #(
  parameter int unsigned SYNC_STAGES = 2
) (
  input  logic src_clk_i,
  input  logic src_rst_i,
  input  logic src_pulse_i,
  output logic src_busy_o,
  input  logic dst_clk_i,
  input  logic dst_rst_i,
  output logic dst_pulse_o
);

  logic toggle_q, pending_q;  // src
  logic seen_q;               // dst
  logic toggle_dst, seen_src;

  assign src_busy_o = (toggle_q != seen_src) || pending_q;

  always_ff @(posedge src_clk_i) begin
    if (toggle_q == seen_src) begin
      if (src_pulse_i || pending_q) toggle_q <= !toggle_q;
      pending_q <= 1'b0;
    end else if (src_pulse_i) begin
      pending_q <= 1'b1;
    end
    if (src_rst_i) begin
      toggle_q  <= 1'b0;
      pending_q <= 1'b0;
    end
  end

  cdc_sync #(.STAGES(SYNC_STAGES)) u_to_dst (
    .clk_i(dst_clk_i),
    .rst_i(dst_rst_i),
    .d_i  (toggle_q),
    .q_o  (toggle_dst)
  );
  cdc_sync #(.STAGES(SYNC_STAGES)) u_to_src (
    .clk_i(src_clk_i),
    .rst_i(src_rst_i),
    .d_i  (seen_q),
    .q_o  (seen_src)
  );

  assign dst_pulse_o = (toggle_dst != seen_q);

  always_ff @(posedge dst_clk_i) begin
    seen_q <= toggle_dst;
    if (dst_rst_i) seen_q <= 1'b0;
  end

endmodule
