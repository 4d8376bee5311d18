// SPDX-License-Identifier: Apache-2.0
//
// Picks one request, round robin. Combinational from req_i and a pointer register; when advance_i
// is high at the edge, the pointer moves behind the granted request, else the next pick starts at
// the same place.

`include "rnic_assert.svh"

module rr_select #(
  parameter int unsigned N = 4
) (
  input  logic                             clk_i,
  input  logic                             rst_i,
  input  logic [N-1:0]                     req_i,
  input  logic                             advance_i,
  output logic [N-1:0]                     gnt_o,
  output logic [(N > 1 ? $clog2(N) : 1)-1:0] idx_o,
  output logic                             any_o
);

  localparam int unsigned IW = (N > 1) ? $clog2(N) : 1;

  assign any_o = |req_i;

  if (N == 1) begin : gen_one
    assign gnt_o = req_i;
    assign idx_o = '0;
    logic unused;
    assign unused = clk_i | rst_i | advance_i;
  end else begin : gen_many
    // mask_q: requests behind the last grant; they come first. x & -x is the lowest set bit.
    logic [N-1:0] mask_q, ahead, from;
    assign ahead = req_i & mask_q;
    assign from  = (ahead != '0) ? ahead : req_i;
    assign gnt_o = from & (~from + 1'b1);

    always_ff @(posedge clk_i) begin
      if (advance_i && any_o) mask_q <= ~(gnt_o | (gnt_o - 1'b1));
      if (rst_i) mask_q <= '1;
    end

    // Bit b of the index: any granted request whose number has bit b.
    for (genvar b = 0; b < IW; b++) begin : gen_index
      logic [N-1:0] hit;
      for (genvar i = 0; i < N; i++) begin : gen_bit
        if (((i >> b) & 1) == 1) begin : gen_set
          assign hit[i] = gnt_o[i];
        end else begin : gen_clear
          assign hit[i] = 1'b0;
        end
      end
      assign idx_o[b] = |hit;
    end
  end

  `RNIC_ASSERT(one_hot, (gnt_o & (gnt_o - 1'b1)) == '0)
  `RNIC_ASSERT(granted_asked, (gnt_o & ~req_i) == '0)
  `RNIC_ASSERT(work_conserving, any_o == (gnt_o != '0))
  `RNIC_COVER(last_one, gnt_o[N-1])

endmodule
