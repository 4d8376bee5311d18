// SPDX-License-Identifier: Apache-2.0
// Counts who refers to each of N objects, so that a destroy can be refused while one is in use.
// Throughput: one change per cycle; used_o answers in the same cycle. The counts are zero after
// reset.
module ref_count #(
    parameter int unsigned N = 64
) (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic        init_done_o,
    input  logic [23:0] index_i,
    input  logic        inc_i,
    input  logic        dec_i,
    output logic        used_o
);
  localparam int unsigned AW = (N > 1) ? $clog2(N) : 1;
  logic [AW:0] clear_q;
  logic clearing;
  logic [23:0] mem[N];
  logic [23:0] now;
  assign clearing = clear_q < (AW + 1)'(N);
  assign init_done_o = !clearing;
  assign now = (index_i < 24'(N)) ? mem[index_i[AW-1:0]] : 24'd0;
  assign used_o = now != 24'd0;
  always_ff @(posedge clk_i) begin
    if (clearing) mem[clear_q[AW-1:0]] <= '0;
    else if ((inc_i || (dec_i && used_o)) && index_i < 24'(N)) mem[index_i[AW-1:0]] <= inc_i ?
        now + 24'd1 : now - 24'd1;
    if (clearing) clear_q <= clear_q + 1'b1;
    if (rst_i) clear_q <= '0;
  end
endmodule
