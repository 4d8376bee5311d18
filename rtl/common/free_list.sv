// SPDX-License-Identifier: Apache-2.0
//
// Pool of N ids. After reset all are free; the first N are handed out by a counter, so that
// nothing has to be filled, later ones in the order in which they came back. One id out and one in
// per cycle; an id freed at an edge can be allocated after it. A freed id is always taken; freeing
// more than was allocated is an error and asserted.

`include "rnic_assert.svh"

module free_list #(
  parameter int unsigned N = 16
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  output logic                   alloc_valid,
  input  logic                   alloc_ready,
  output logic [$clog2(N)-1:0]   alloc_id,
  input  logic                   free_valid_i,
  input  logic [$clog2(N)-1:0]   free_id_i,
  output logic [$clog2(N+1)-1:0] count_o
);

  localparam int unsigned IW = $clog2(N);
  localparam int unsigned CW = $clog2(N + 1);
  localparam logic [IW-1:0] LAST = IW'(N - 1);

  if (N < 2) begin : gen_check_n
    $error("free_list: N must be at least 2");
  end

  logic [IW-1:0] mem [N];
  logic [IW-1:0] wr_q, rd_q, fresh_q;
  logic          fresh_done_q;  // every id has been handed out once
  logic [CW-1:0] count_q;

  logic alloc_fire;
  assign alloc_valid = (count_q != '0);
  assign alloc_fire  = alloc_valid && alloc_ready;
  assign alloc_id    = fresh_done_q ? mem[rd_q] : fresh_q;
  assign count_o     = count_q;

  always_ff @(posedge clk_i) begin
    if (free_valid_i) begin
      mem[wr_q] <= free_id_i;
      wr_q      <= (wr_q == LAST) ? '0 : wr_q + 1'b1;
    end
    if (alloc_fire) begin
      if (!fresh_done_q) begin
        fresh_q      <= (fresh_q == LAST) ? '0 : fresh_q + 1'b1;
        fresh_done_q <= (fresh_q == LAST);
      end else begin
        rd_q <= (rd_q == LAST) ? '0 : rd_q + 1'b1;
      end
    end
    if (alloc_fire != free_valid_i) count_q <= free_valid_i ? count_q + 1'b1 : count_q - 1'b1;
    if (rst_i) begin
      wr_q         <= '0;
      rd_q         <= '0;
      fresh_q      <= '0;
      fresh_done_q <= 1'b0;
      count_q      <= CW'(N);
    end
  end

  `RNIC_STREAM_HOLD(alloc_valid, alloc_ready, alloc_id)
  if ((N & (N - 1)) != 0) begin : gen_range
    `RNIC_ASSERT(free_in_range, !free_valid_i || free_id_i <= LAST)
  end
  `RNIC_ASSERT(not_freed_twice, !(free_valid_i && count_q == CW'(N)))
  `RNIC_COVER(empty, count_q == '0)

`ifdef RNIC_ASSERT_ON
  // One bit per id: a free of an id that is not out, or an allocation of one that is.
  logic [N-1:0] out_q;
  always_ff @(posedge clk_i) begin
    if (alloc_fire) out_q[alloc_id] <= 1'b1;
    if (free_valid_i) out_q[free_id_i] <= 1'b0;
    if (rst_i) out_q <= '0;
  end
  `RNIC_ASSERT(freed_was_out, !free_valid_i || out_q[free_id_i])
  `RNIC_ASSERT(allocated_was_free, !alloc_fire || !out_q[alloc_id])
`endif

endmodule
