// SPDX-License-Identifier: Apache-2.0
//
// Proof bench for free_list: no id is given twice, every free id can be had, the count is right.

`include "rnic_assert.svh"

module free_list_proof #(
  parameter int unsigned N = 3
) (
  input logic                 clk_i,
  input logic                 rst_i,
  input logic                 alloc_ready,
  input logic                 free_valid,
  input logic [$clog2(N)-1:0] free_id
);

  logic                   alloc_valid;
  logic [$clog2(N)-1:0]   alloc_id;
  logic [$clog2(N+1)-1:0] count;

  free_list #(.N(N)) u_dut (
    .clk_i,
    .rst_i,
    .alloc_valid,
    .alloc_ready,
    .alloc_id,
    .free_valid_i(free_valid),
    .free_id_i   (free_id),
    .count_o     (count)
  );

  logic [2**$clog2(N)-1:0] out_q;
  logic [$clog2(N+1)-1:0]  out_count;
  always_comb begin
    out_count = '0;
    for (int i = 0; i < N; i++) begin
      if (out_q[i]) out_count = out_count + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (alloc_valid && alloc_ready) out_q[alloc_id] <= 1'b1;
    if (free_valid) out_q[free_id] <= 1'b0;
    if (rst_i) out_q <= '0;
    if (!rst_i && free_valid) assume (out_q[free_id]);  // the user's side of the contract
  end

  `RNIC_ASSERT(never_twice, !alloc_valid || !out_q[alloc_id])
  `RNIC_ASSERT(in_range, !alloc_valid || 32'(alloc_id) < N)
  `RNIC_ASSERT(count_right, 32'(count) + 32'(out_count) == N)
  `RNIC_ASSERT(all_can_be_had, alloc_valid == (32'(out_count) != N))
  `RNIC_COVER(all_out_again, count == '0 && free_valid && alloc_ready)

endmodule
