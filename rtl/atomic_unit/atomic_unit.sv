// SPDX-License-Identifier: Apache-2.0
// Executes ATOMICs on 8 bytes of memory: reads them, computes, writes them back, hands out the old
// value. N_AT in flight; they take effect in the order in which they came, and their results leave
// in that order.
//
// Throughput: one per cycle taken, as fast as dma_master takes reads and writes. Latency: 1 cycle
// to rdreq, 1 from the data to the write, result when the write is on the bus (a read that is asked
// for after the result sees it). An ATOMIC on bytes of which another is in flight does not read
// them: it takes the value that the other one leaves. Not atomic against the CPU: PCIe AtomicOps
// are not used. A read that fails gives res_err, also to those that wait for its value.
`include "rnic_assert.svh"
module atomic_unit #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_AT = 32,      // in flight; a power of two, 2 to 256
  parameter int unsigned TAG_W = 32      // what the requester wants back with the result
) (
  input  logic                   clk_i,
  input  logic                   rst_i,
  // requests
  input  logic                   at_valid,
  output logic                   at_ready,
  input  logic [63:0]            at_addr,      // IOVA
  input  logic                   at_swap,      // COMPARE_SWAP, else FETCH_ADD
  input  logic [63:0]            at_op0,       // swap or add
  input  logic [63:0]            at_op1,       // compare
  input  logic [23:0]            at_qpn,
  input  logic [23:0]            at_psn,
  input  logic                   at_sampled,
  input  logic [TAG_W-1:0]       at_tag,
  // results
  output logic                   res_valid,
  input  logic                   res_ready,
  output logic [TAG_W-1:0]       res_tag,
  output logic [63:0]            res_value,    // before the operation
  output logic                   res_err,      // the memory could not be read
  // dma_master
  output logic                   rdreq_valid,
  input  logic                   rdreq_ready,
  output rnic_pkg::dma_rd_req_t  rdreq,
  input  logic                   rdrsp_valid,
  input  rnic_pkg::dma_rd_rsp_t  rdrsp,
  input  logic [63:0]            rdrsp_data,   // lanes 0 to 7
  output logic                   wrreq_valid,
  input  logic                   wrreq_ready,
  output rnic_pkg::dma_wr_req_t  wrreq,
  output logic                   wrdat_valid,
  input  logic                   wrdat_ready,
  output logic [DATA_W-1:0]      wrdat_data,
  output logic [7:0]             wrdat_cnt,
  output logic                   wrdat_last,
  input  logic                   placed_i,     // a write of ours is on the bus
  output logic                   cnt_atomics_o
);
  localparam int unsigned IW = $clog2(N_AT);

  if (N_AT < 2 || N_AT > 256 || (N_AT & (N_AT - 1)) != 0) begin : gen_bad_n
    $error("atomic_unit: N_AT must be a power of two, 2 to 256");
  end

  // A ring: [retire, compute) wait for their write, [compute, alloc) for their value.
  logic [IW:0]      alloc_q, compute_q, retire_q, used;
  logic [N_AT-1:0]  valid_q, follow_q, have_q, wrote_q;
  logic [N_AT-1:0]  err_q;              // its read failed
  logic [N_AT-1:0]  bad_q;              // it has no value; written when it is computed, as left_mem
  logic [63:0]      addr_mem  [N_AT];
  logic             swap_mem  [N_AT];
  logic [63:0]      op0_mem   [N_AT];
  logic [63:0]      op1_mem   [N_AT];
  logic [48:0]      who_mem   [N_AT];   // qpn, psn, sampled
  logic [TAG_W-1:0] tag_mem   [N_AT];
  logic [IW-1:0]    from_mem  [N_AT];   // whose value it takes
  logic [63:0]      value_mem [N_AT];   // read; then the old value
  logic [63:0]      left_mem  [N_AT];   // what it leaves in memory
  logic [3:0]       need_mem  [N_AT];   // bytes that have not come

  // -- take
  logic [IW-1:0]   a_idx, from_idx;
  logic [N_AT-1:0] same, newer;
  logic            at_fire, follow, lane_ok, full;
  logic [2:0]      lane_q;
  assign a_idx = alloc_q[IW-1:0];
  assign used = alloc_q - retire_q;
  assign full = used == (IW + 1)'(N_AT);
  // All in flight stand at the same place within 8 bytes, so that two of them are the same or
  // apart.
  assign lane_ok = used == '0 || at_addr[2:0] == lane_q;
  assign at_ready = !full && lane_ok && (!rdreq_valid || rdreq_ready);
  assign at_fire = at_valid && at_ready;
  for (genvar i = 0; i < N_AT; i++) begin : gen_same
    assign same[i] = at_valid && valid_q[i] && addr_mem[i] == at_addr;
  end
  assign follow = same != '0;
  // The youngest of them: rotated so that alloc_q - 1 is highest.
  logic [2*N_AT-1:0] twice;
  assign twice = {same, same} >> a_idx;
  assign newer = twice[N_AT-1:0];
  always_comb begin
    from_idx = '0;
    for (int unsigned i = 0; i < N_AT; i++) begin
      if (newer[i]) from_idx = a_idx + IW'(i);
    end
  end

  // -- compute, in order
  logic [IW-1:0] c_idx, c_from;
  logic          c_any, c_go, c_err, c_write, out_free;
  logic [63:0]   c_old, c_new;
  assign c_idx = compute_q[IW-1:0];
  assign c_from = from_mem[c_idx];
  assign c_any = compute_q != alloc_q;
  assign out_free = (!wrreq_valid || wrreq_ready) && (!wrdat_valid || wrdat_ready);
  assign c_go = c_any && (follow_q[c_idx] || have_q[c_idx]) && out_free;
  assign c_old = follow_q[c_idx] ? left_mem[c_from] : value_mem[c_idx];
  assign c_err = follow_q[c_idx] ? bad_q[c_from] : err_q[c_idx];
  always_comb begin
    c_new = 64'd0;
    c_write = 1'b0;
    if (c_go) begin
      c_write = !c_err && (!swap_mem[c_idx] || c_old == op1_mem[c_idx]);
      c_new = !c_write ? c_old : swap_mem[c_idx] ? op0_mem[c_idx] : c_old + op0_mem[c_idx];
    end
  end

  // -- results, in order
  logic [IW-1:0] r_idx;
  logic [IW:0]   placed_q;   // writes on the bus whose result has not left
  logic          r_fire, r_takes;
  assign r_idx = retire_q[IW-1:0];
  assign res_valid = retire_q != compute_q && (!wrote_q[r_idx] || placed_q != '0);
  assign res_tag = tag_mem[r_idx];
  assign res_value = value_mem[r_idx];
  assign res_err = bad_q[r_idx];
  assign r_fire = res_valid && res_ready;
  assign r_takes = r_fire && wrote_q[r_idx];

  // -- read data
  logic          d_fire;
  logic [IW-1:0] d_idx;
  logic [63:0]   d_mask;
  assign d_fire = rdrsp_valid && rdrsp.client == rnic_pkg::RD_ATOMIC;
  assign d_idx = rdrsp.slot[IW-1:0];
  for (genvar i = 0; i < 8; i++) begin : gen_mask
    assign d_mask[i*8 +: 8] = {8{13'(i) >= rdrsp.dst_off &&
                                 13'(i) < rdrsp.dst_off + 13'(rdrsp.cnt)}};
  end

  always_ff @(posedge clk_i) begin
    if (at_fire) begin
      addr_mem[a_idx] <= at_addr;
      swap_mem[a_idx] <= at_swap;
      op0_mem[a_idx] <= at_op0;
      op1_mem[a_idx] <= at_op1;
      who_mem[a_idx] <= {at_qpn, at_psn, at_sampled};
      tag_mem[a_idx] <= at_tag;
      from_mem[a_idx] <= from_idx;
      need_mem[a_idx] <= 4'd8;
      lane_q <= at_addr[2:0];
    end
    if (d_fire) begin
      need_mem[d_idx] <= need_mem[d_idx] - 4'(rdrsp.cnt) - rdrsp.lost[3:0];
      if (!rdrsp.err) value_mem[d_idx] <= (value_mem[d_idx] & ~d_mask) | (rdrsp_data & d_mask);
    end
    if (c_go) begin
      value_mem[c_idx] <= c_old;
      left_mem[c_idx] <= c_new;
    end
    if (d_fire && rdrsp.err) err_q[d_idx] <= 1'b1;
    if (d_fire && need_mem[d_idx] == 4'(rdrsp.cnt) + rdrsp.lost[3:0]) have_q[d_idx] <= 1'b1;
    if (c_go) begin
      bad_q[c_idx] <= c_err;
      wrote_q[c_idx] <= c_write;
      compute_q <= compute_q + 1'b1;
    end
    if (r_fire) begin
      valid_q[r_idx] <= 1'b0;
      retire_q <= retire_q + 1'b1;
    end
    if (at_fire) begin
      valid_q[a_idx] <= 1'b1;
      follow_q[a_idx] <= follow;
      have_q[a_idx] <= 1'b0;
      err_q[a_idx] <= 1'b0;
      alloc_q <= alloc_q + 1'b1;
    end
    if (placed_i != r_takes) placed_q <= placed_i ? placed_q + 1'b1 : placed_q - 1'b1;
    cnt_atomics_o <= c_go && !c_err;
    if (rst_i) begin
      valid_q <= '0;
      alloc_q <= '0;
      compute_q <= '0;
      retire_q <= '0;
      placed_q <= '0;
      cnt_atomics_o <= 1'b0;
    end
  end

  // -- outputs
  always_ff @(posedge clk_i) begin
    if (!rdreq_valid || rdreq_ready) rdreq_valid <= at_fire && !follow;
    if (at_fire && !follow) begin
      rdreq <= '0;
      rdreq.addr <= at_addr;
      rdreq.len <= 13'd8;
      rdreq.slot <= 8'(a_idx);
      rdreq.first <= 1'b1;
      rdreq.qpn <= at_qpn;
      rdreq.sampled <= at_sampled;
    end
    if (wrreq_ready) wrreq_valid <= 1'b0;
    if (wrdat_ready) wrdat_valid <= 1'b0;
    if (c_go && c_write) begin
      wrreq_valid <= 1'b1;
      wrdat_valid <= 1'b1;
      wrreq <= '0;
      wrreq.addr <= addr_mem[c_idx];
      wrreq.len <= 13'd8;
      wrreq.qpn <= who_mem[c_idx][48:25];
      wrreq.psn <= who_mem[c_idx][24:1];
      wrreq.sampled <= who_mem[c_idx][0];
      wrdat_data <= DATA_W'(c_new);
    end
    if (rst_i) begin
      rdreq_valid <= 1'b0;
      wrreq_valid <= 1'b0;
      wrdat_valid <= 1'b0;
    end
  end
  assign wrdat_cnt = 8'd8;
  assign wrdat_last = 1'b1;

  logic unused;
  assign unused = ^{rdrsp, twice[2*N_AT-1:N_AT]};

  `RNIC_STREAM_HOLD(rdreq_valid, rdreq_ready, rdreq)
  `RNIC_STREAM_HOLD(wrreq_valid, wrreq_ready, wrreq)
  `RNIC_STREAM_HOLD(wrdat_valid, wrdat_ready, wrdat_data)
  `RNIC_STREAM_HOLD(res_valid, res_ready, {res_tag, res_value, res_err})
  `RNIC_ASSERT(placed_after_write, !placed_i || placed_q < (IW + 1)'(N_AT))
  `RNIC_ASSERT(ring_bound, used <= (IW + 1)'(N_AT))
  `RNIC_ASSERT(answers_asked_for, !d_fire || valid_q[d_idx])
endmodule
