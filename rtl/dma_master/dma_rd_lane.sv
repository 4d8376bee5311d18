// SPDX-License-Identifier: Apache-2.0
//
// One read client's place in dma_read: takes a request, finds its target, numbers its TLPs, and
// holds it until it has been cut or moved on. Latency 1 cycle; a new request is taken in the cycle
// in which the old one leaves. rd_ready depends on state only, as far as leave_i does. While
// drain_i is high requests are taken and dropped.
`include "rnic_assert.svh"

module dma_rd_lane #(
  parameter int unsigned CLIENT = 0,          // of the answer (rnic_pkg::RD_*)
  parameter int unsigned DEVMEM_BYTES = 262144
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic [2:0]            mrrs_i,       // 128 << n; constant while requests are held
  input  logic                  gdr_en_i,
  input  logic [255:0]          gpu_base_i,
  input  logic [255:0]          gpu_limit_i,
  input  logic [63:0]           devmem_base_i,
  input  logic                  drain_i,

  input  logic                  rd_valid,
  output logic                  rd_ready,
  input  rnic_pkg::dma_rd_req_t rd_req,

  output logic                  job_valid_o,
  output logic [112:0]          job_o,        // dma_read's job_t
  output logic                  is_host_o,    // job_valid_o and its target
  output logic                  is_gpu_o,
  output logic                  is_dev_o,
  output logic                  is_refused_o,
  input  logic                  leave_i,      // the job goes
  // a TLP was cut off; next_i is the rest (unless leave_i)
  input  logic                  cut_i,
  input  logic [112:0]          next_i
);
  logic         ok, refused;
  logic [1:0]   target, gpu, target_q;
  logic [11:0]  mask;
  logic [12:0]  span;
  logic [5:0]   base, count;
  logic [5:0]   next_tlp [256];
  logic         valid_q, fire;
  logic [112:0] job_q;

  dma_target #(.DEVMEM_BYTES(DEVMEM_BYTES)) u_target (
    .valid_i(rd_valid), .addr_i(rd_req.addr), .len_i({19'd0, rd_req.len}), .gdr_en_i, .gpu_base_i,
    .gpu_limit_i, .devmem_base_i, .ok_o(ok), .target_o(target), .gpu_o(gpu));
  assign refused = ok && target == rnic_pkg::TGT_REFUSED;

  // TLPs of a slot are numbered as its requests come; each request knows how many it will be. What
  // does not become TLPs counts as one.
  assign mask = 12'((13'd128 << mrrs_i) - 13'd1);
  assign span = {1'b0, rd_req.addr[11:0] & mask} + rd_req.len - 13'd1;
  assign count = (ok && !target[1]) ? 6'(span >> (4'd7 + {1'b0, mrrs_i})) + 6'd1 : 6'd1;
  assign base = rd_req.first ? 6'd0 : next_tlp[rd_req.slot];

  assign rd_ready = drain_i || !valid_q || leave_i;
  assign fire = rd_valid && rd_ready && !drain_i;
  always_ff @(posedge clk_i) begin
    if (fire) begin
      next_tlp[rd_req.slot] <= base + count;
      target_q <= ok ? target : rnic_pkg::TGT_REFUSED;
      job_q <= {rd_req.addr, rd_req.len, ok ? target : rnic_pkg::TGT_REFUSED, gpu, refused,
                4'(CLIENT), rd_req.slot, base, rd_req.dst_off};
    end else if (cut_i) begin
      job_q <= next_i;
    end
    if (fire) valid_q <= 1'b1;
    else if (leave_i || drain_i) valid_q <= 1'b0;
    if (rst_i) valid_q <= 1'b0;
  end

  assign job_valid_o = valid_q;
  assign job_o = job_q;
  assign is_host_o = valid_q && target_q == rnic_pkg::TGT_HOST;
  assign is_gpu_o = valid_q && target_q == rnic_pkg::TGT_GPU;
  assign is_dev_o = valid_q && target_q == rnic_pkg::TGT_DEVICE;
  assign is_refused_o = valid_q && target_q == rnic_pkg::TGT_REFUSED;

  logic unused;
  assign unused = ^{rd_req.qpn, rd_req.wqe_index, rd_req.sampled};

  `RNIC_ASSERT(len_legal, !fire || (rd_req.len >= 13'd1 && rd_req.len <= 13'd4096))
endmodule
