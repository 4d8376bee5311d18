// SPDX-License-Identifier: Apache-2.0
// The consumer indices of all CQs in BAR2, and the merge of these writes with those of the doorbell
// pages. Throughput: one index per cycle; doorbell pages first, but an index that is offered stays
// until it is taken. A window access is acknowledged when its index was taken. Reading gives the
// last index written through the window, 0 before the first.
`include "rnic_assert.svh"
module cq_window #(
    parameter int unsigned N_CQ = 64
) (
    input  logic        clk_i,
    input  logic        rst_i,
    // window of the register file: CQ n at 8 * n
    input  logic        win_req_i,
    input  logic        win_we_i,
    input  logic [14:0] win_addr_i,
    input  logic [31:0] win_wdata_i,
    input  logic [3:0]  win_wstrb_i,
    output logic        win_ack_o,
    output logic [31:0] win_rdata_o,
    // from doorbell
    input  logic        in_valid,
    output logic        in_ready,
    input  logic [15:0] in_cqn,
    input  logic [15:0] in_index,
    input  logic        in_arm,
    input  logic        in_arm_sol,
    // to cqe_gen
    output logic        cqdb_valid,
    input  logic        cqdb_ready,
    output logic [15:0] cqdb_cqn,
    output logic [15:0] cqdb_index,
    output logic        cqdb_arm,
    output logic        cqdb_arm_sol
);
  localparam int unsigned AW = (N_CQ > 1) ? $clog2(N_CQ) : 1;
  logic [15:0] mem[N_CQ];
  logic [N_CQ-1:0] written_q;
  logic [15:0] cqn;
  logic [AW-1:0] idx;
  logic known, wants, write_fire, go;
  assign cqn = {4'd0, win_addr_i[14:3]};
  assign idx = cqn[AW-1:0];
  assign known = cqn < 16'(N_CQ) && !win_addr_i[2];
  assign go = win_req_i && !win_ack_o;
  assign wants = go && win_we_i && known && (&win_wstrb_i[1:0]);

  logic page, held_q;  // a doorbell page has the output; the window offered its index before
  assign page = in_valid && !held_q;
  assign cqdb_valid = in_valid || wants;
  assign in_ready = page && cqdb_ready;
  assign write_fire = wants && !page && cqdb_ready;
  assign cqdb_cqn = page ? in_cqn : cqn;
  assign cqdb_index = page ? in_index : win_wdata_i[15:0];
  assign cqdb_arm = page ? in_arm : win_wdata_i[31] && win_wstrb_i[3];
  assign cqdb_arm_sol = page ? in_arm_sol : win_wdata_i[30] && win_wstrb_i[3];

  always_ff @(posedge clk_i) begin
    win_ack_o <= write_fire || (go && !wants);
    if (go) win_rdata_o <= !known ? 32'hFFFF_FFFF : written_q[idx] ? {16'd0, mem[idx]} : 32'd0;
    if (write_fire) begin
      mem[idx] <= win_wdata_i[15:0];
      written_q[idx] <= 1'b1;
    end
    held_q <= wants && !page && !cqdb_ready;
    if (rst_i) begin
      held_q <= 1'b0;
      win_ack_o <= 1'b0;
      written_q <= '0;
    end
  end

  `RNIC_STREAM_HOLD(cqdb_valid, cqdb_ready, {cqdb_cqn, cqdb_index, cqdb_arm, cqdb_arm_sol})

  logic unused;
  assign unused = ^{win_wdata_i[29:16], win_addr_i[1:0], win_wstrb_i[2]};
endmodule
