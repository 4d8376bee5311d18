// SPDX-License-Identifier: Apache-2.0
//
// Sums on their way: to memory, to a staging buffer in device_memory, or to both.
//
// One beat per cycle and one cycle more per piece; order kept. A piece is told when its last beat
// has been taken on both sides.
`include "rnic_assert.svh"

module arp_emit #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_GROUP = 4,
  parameter int unsigned N_STAGE = 64  // staging buffers per group, a power of two
) (
  input  logic                        clk_i,
  input  logic                        rst_i,

  input  logic                        clear_valid_i,
  input  logic [$clog2(N_GROUP)-1:0]  clear_group_i,

  // What is to come out of the accumulator, in order, and its beats.
  input  logic                        plan_valid,
  output logic                        plan_ready,
  input  arp_pkg::plan_t              plan,
  output logic [$clog2(N_GROUP)-1:0]  lk_group_o,  // of the plan
  input  arp_pkg::group_t             lk_cfg_i,
  input  logic                        sum_valid,
  output logic                        sum_ready,
  input  logic [DATA_W-1:0]           sum_data,
  input  logic                        sum_last,

  // Memory, through dma_master.
  output logic                        outreq_valid,
  input  logic                        outreq_ready,
  output rnic_pkg::dma_wr_req_t       outreq,
  output logic                        outdat_valid,
  input  logic                        outdat_ready,
  output logic [DATA_W-1:0]           outdat_data,
  output logic [7:0]                  outdat_cnt,
  output logic                        outdat_last,
  // Rows of device_memory.
  output logic                        stg_valid,
  input  logic                        stg_ready,
  output logic [31:0]                 stg_row,
  output logic [DATA_W-1:0]           stg_data,

  // A piece has left; a piece is in its staging buffer.
  output logic                        gone_valid_o,
  output logic [$clog2(N_GROUP)-1:0]  gone_group_o,
  output logic                        staged_valid_o,
  output logic [$clog2(N_GROUP)-1:0]  staged_group_o,
  output logic [$clog2(N_STAGE)-1:0]  staged_buffer_o,
  output logic [45:0]                 staged_info_o   // {result, len, offset}
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned GW = $clog2(N_GROUP);
  localparam int unsigned TW = $clog2(N_STAGE);

  typedef enum logic [0:0] {REQUEST, BEATS} state_e;
  state_e state_q;

  logic [TW-1:0] fill_q [N_GROUP];  // next staging buffer of each group
  logic [GW-1:0] group;
  logic          start, load, free;
  assign group = plan.group[GW-1:0];
  assign lk_group_o = group;

  // The beat at hand; each side takes it when it can.
  logic              to_out_q, to_stg_q, last_q;
  logic [31:0]       row_q;
  logic [DATA_W-1:0] data_q;
  logic              out_done, stg_done;
  assign out_done = !to_out_q || outdat_ready;
  assign stg_done = !to_stg_q || stg_ready;
  assign free = out_done && stg_done;

  assign outreq_valid = state_q == REQUEST && plan_valid && plan.info.wr;
  always_comb begin
    outreq = '0;
    if (outreq_valid) begin
      outreq.addr = lk_cfg_i.dst + 64'(plan.info.offset);
      outreq.len = plan.info.len;
      outreq.relaxed = 1'b1;
      outreq.qpn = lk_cfg_i.tx_qpn;
    end
  end
  assign start = state_q == REQUEST && plan_valid && (!plan.info.wr || outreq_ready);
  assign sum_ready = state_q == BEATS && free;
  assign load = sum_valid && sum_ready;
  assign plan_ready = load && sum_last;

  assign outdat_valid = to_out_q;
  assign outdat_data = data_q;
  assign outdat_cnt = 8'(B);
  assign outdat_last = last_q;
  assign stg_valid = to_stg_q;
  assign stg_row = row_q;
  assign stg_data = data_q;

  logic          last_out_q;  // the last beat of a piece is at hand
  logic [GW-1:0] group_q;
  logic          fwd_q;
  logic [31:0]   next_row_q;
  assign gone_valid_o = last_out_q && free;
  assign gone_group_o = group_q;
  assign staged_valid_o = gone_valid_o && fwd_q;
  assign staged_group_o = group_q;

  always_ff @(posedge clk_i) begin
    if (start) begin
      state_q <= BEATS;
      next_row_q <= lk_cfg_i.stage_row + (32'(fill_q[group]) << (lk_cfg_i.slot_log - 4'(LB)));
    end
    if (outdat_ready) to_out_q <= 1'b0;
    if (stg_ready) to_stg_q <= 1'b0;
    if (free) last_out_q <= 1'b0;
    if (load) begin
      to_out_q <= plan.info.wr;
      to_stg_q <= plan.info.fwd;
      last_out_q <= sum_last;
      last_q <= sum_last;
      data_q <= sum_data;
      row_q <= next_row_q;
      next_row_q <= next_row_q + 32'd1;
    end
    if (plan_ready) begin
      state_q <= REQUEST;
      group_q <= group;
      fwd_q <= plan.info.fwd;
      staged_buffer_o <= fill_q[group];
      staged_info_o <= {plan.result, plan.info.len, plan.info.offset};
      if (plan.info.fwd) fill_q[group] <= fill_q[group] + 1'b1;
    end
    if (clear_valid_i) fill_q[clear_group_i] <= '0;
    if (rst_i) begin
      state_q <= REQUEST;
      to_out_q <= 1'b0;
      to_stg_q <= 1'b0;
      last_out_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{plan, lk_cfg_i};

  `RNIC_ASSERT(slot_of_rows, !plan_valid || 32'(lk_cfg_i.slot_log) >= LB)
  `RNIC_STREAM_HOLD(outreq_valid, outreq_ready, outreq)
  `RNIC_STREAM_HOLD(outdat_valid, outdat_ready, {outdat_last, outdat_data})
  `RNIC_STREAM_HOLD(stg_valid, stg_ready, {stg_row, stg_data})
endmodule
