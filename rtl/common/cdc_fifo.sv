// SPDX-License-Identifier: Apache-2.0
//
// FIFO between two clocks; Gray-coded pointers cross through SYNC_STAGES flip-flops. One beat per
// cycle of the slower clock when DEPTH is at least 8. Latency: a beat taken at a wr edge is
// out_valid after the SYNC_STAGES-th rd edge that follows; with OUT_REG 1 one rd cycle more and
// out_data comes from a register. Order is kept, nothing is dropped. Both resets must be high
// together for SYNC_STAGES + 1 cycles of the slower clock. Levels lag what the other side does:
// wr_level_o is never too low, rd_level_o never too high.

`include "rnic_assert.svh"

module cdc_fifo #(
  parameter int unsigned W = 8,
  parameter int unsigned DEPTH = 16,
  parameter int unsigned SYNC_STAGES = 2,
  parameter int unsigned OUT_REG = 0
) (
  input  logic                       wr_clk_i,
  input  logic                       wr_rst_i,
  input  logic                       in_valid,
  output logic                       in_ready,
  input  logic [W-1:0]               in_data,
  output logic [$clog2(DEPTH+1)-1:0] wr_level_o,
  input  logic                       rd_clk_i,
  input  logic                       rd_rst_i,
  output logic                       out_valid,
  input  logic                       out_ready,
  output logic [W-1:0]               out_data,
  output logic [$clog2(DEPTH+1)-1:0] rd_level_o
);

  localparam int unsigned AW = $clog2(DEPTH);

  if (DEPTH < 4 || (DEPTH & (DEPTH - 1)) != 0) begin : gen_check_depth
    $error("cdc_fifo: DEPTH must be a power of two, at least 4");
  end

  // Pointers have one bit more than an address; equal: empty, DEPTH apart: full.
  logic [AW:0] wr_q, wr_gray_q, rd_q, rd_gray_q;
  logic [AW:0] wr_gray_rd, rd_gray_wr;  // the other side's, synchronised
  logic [AW:0] wr_seen, rd_seen;        // and in binary

  // Bit i of the binary value is the parity of the Gray bits from i up.
  for (genvar i = 0; i <= AW; i++) begin : gen_binary
    assign rd_seen[i] = ^rd_gray_wr[AW:i];
    assign wr_seen[i] = ^wr_gray_rd[AW:i];
  end

  // Write side.
  logic [W-1:0] mem [DEPTH];
  logic [AW:0]  wr_level, wr_next;
  assign wr_level   = wr_q - rd_seen;
  assign wr_next    = wr_q + 1'b1;
  assign wr_level_o = wr_level;
  assign in_ready   = (wr_level != (AW + 1)'(DEPTH));

  always_ff @(posedge wr_clk_i) begin
    if (in_valid && in_ready) begin
      mem[wr_q[AW-1:0]] <= in_data;
      wr_q              <= wr_next;
      wr_gray_q         <= wr_next ^ (wr_next >> 1);
    end
    if (wr_rst_i) begin
      wr_q      <= '0;
      wr_gray_q <= '0;
    end
  end

  cdc_sync #(.W(AW + 1), .STAGES(SYNC_STAGES)) u_rd_to_wr (
    .clk_i(wr_clk_i),
    .rst_i(wr_rst_i),
    .d_i  (rd_gray_q),
    .q_o  (rd_gray_wr)
  );

  // Read side.
  logic [AW:0] rd_level, rd_next;
  logic        rd_pop;
  assign rd_level = wr_seen - rd_q;
  assign rd_next  = rd_q + 1'b1;

  always_ff @(posedge rd_clk_i) begin
    if (rd_pop) begin
      rd_q      <= rd_next;
      rd_gray_q <= rd_next ^ (rd_next >> 1);
    end
    if (rd_rst_i) begin
      rd_q      <= '0;
      rd_gray_q <= '0;
    end
  end

  cdc_sync #(.W(AW + 1), .STAGES(SYNC_STAGES)) u_wr_to_rd (
    .clk_i(rd_clk_i),
    .rst_i(rd_rst_i),
    .d_i  (wr_gray_q),
    .q_o  (wr_gray_rd)
  );

  if (OUT_REG == 0) begin : gen_comb
    assign out_valid  = (rd_level != '0);
    assign out_data   = mem[rd_q[AW-1:0]];
    assign rd_pop     = out_valid && out_ready;
    assign rd_level_o = rd_level;
  end else begin : gen_reg
    logic         valid_q;
    logic [W-1:0] data_q;
    assign out_valid  = valid_q;
    assign out_data   = data_q;
    assign rd_pop     = (rd_level != '0) && (!valid_q || out_ready);
    // The output register is counted, up to DEPTH.
    assign rd_level_o = (rd_level == (AW + 1)'(DEPTH)) ? rd_level : rd_level + (AW + 1)'(valid_q);
    always_ff @(posedge rd_clk_i) begin
      if (rd_pop) data_q <= mem[rd_q[AW-1:0]];
      if (!valid_q || out_ready) valid_q <= rd_pop;
      if (rd_rst_i) valid_q <= 1'b0;
    end
  end

  `RNIC_STREAM_HOLD_CLK(out_valid, rd_clk_i, rd_rst_i, out_valid, out_ready, out_data)
  `RNIC_ASSERT_CLK(wr_level_bound, wr_clk_i, wr_rst_i, wr_level <= (AW + 1)'(DEPTH))
  `RNIC_ASSERT_CLK(rd_level_bound, rd_clk_i, rd_rst_i, rd_level <= (AW + 1)'(DEPTH))

endmodule
