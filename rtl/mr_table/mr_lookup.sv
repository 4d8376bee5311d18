// SPDX-License-Identifier: Apache-2.0
//
// One lookup port of mr_table: gives the entry's address to the memory, checks the entry one cycle
// later, registers the answer. Latency 2 cycles, one request per cycle, in order, never held back.
//
// ok needs: the key's index and tag name a valid entry; same protection domain; every needed
// access; the whole range inside the region (no sum may pass 2^64); and one target for all of its
// bytes. Length 0 is always ok.
module mr_lookup #(
  parameter int unsigned N_MR = 256,
  parameter int unsigned DEVMEM_BYTES = 262144
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic                    gdr_en_i,
  input  logic [255:0]            gpu_base_i,
  input  logic [255:0]            gpu_limit_i,
  input  logic [63:0]             devmem_base_i,

  input  logic                    fire_i,
  input  rnic_pkg::mr_req_t       req_i,
  output logic [$clog2(N_MR)-1:0] index_o,
  input  rnic_pkg::mr_entry_t     entry_i,     // one cycle after fire_i

  output logic                    mrs_valid,
  output rnic_pkg::mr_rsp_t       mrs,
  output logic                    error_o,     // pulses with mrs_valid
  output logic                    refused_o
);
  localparam int unsigned IW = $clog2(N_MR);

  rnic_pkg::mr_req_t req_q;
  rnic_pkg::mr_rsp_t rsp_d;
  logic              valid_q, range_q, may, fits, empty, in_one;
  logic [63:0]       offset;
  logic [64:0]       offset_end, va_end, iova;
  logic [1:0]        target, gpu;

  assign index_o = req_i.key[8 +: IW];
  assign empty = req_q.len == 32'd0;

  always_comb begin
    may = 1'b0;
    fits = 1'b0;
    offset = 64'd0;
    offset_end = 65'd0;
    va_end = 65'd0;
    iova = 65'd0;
    if (valid_q) begin
      may = range_q && entry_i.valid && entry_i.tag == req_q.key[7:0] && entry_i.pd == req_q.pd &&
            (entry_i.lwrite || !req_q.need_lwrite) && (entry_i.rwrite || !req_q.need_rwrite) &&
            (entry_i.rread || !req_q.need_rread) && (entry_i.atomic || !req_q.need_atomic);
      offset = entry_i.zero_based ? req_q.va : req_q.va - entry_i.va;
      offset_end = {1'b0, offset} + {33'd0, req_q.len};
      va_end = {1'b0, req_q.va} + {33'd0, req_q.len};
      fits = offset_end <= {1'b0, entry_i.length} &&
             (entry_i.zero_based || (req_q.va >= entry_i.va && va_end <= {1'b1, 64'd0}));
      iova = {1'b0, entry_i.iova} + {1'b0, offset};
    end
  end

  dma_target #(.DEVMEM_BYTES(DEVMEM_BYTES)) u_target (
    .valid_i(may && fits && !iova[64] && !empty), .addr_i(iova[63:0]), .len_i(req_q.len), .gdr_en_i,
    .gpu_base_i, .gpu_limit_i, .devmem_base_i, .ok_o(in_one), .target_o(target), .gpu_o(gpu));

  always_comb begin
    rsp_d.refused = in_one && target == rnic_pkg::TGT_REFUSED;
    rsp_d.ok = empty || (in_one && target != rnic_pkg::TGT_REFUSED);
    rsp_d.iova = iova[63:0];
    rsp_d.target = target;
    rsp_d.gpu = gpu;
    rsp_d.flat = 1'b1;
    rsp_d.room = 13'd4096;
  end

  always_ff @(posedge clk_i) begin
    valid_q <= fire_i;
    if (fire_i) begin
      req_q <= req_i;
      range_q <= req_i.key[31:8] < 24'(N_MR);
    end
    mrs_valid <= valid_q;
    if (valid_q) mrs <= rsp_d;
    if (rst_i) begin
      valid_q <= 1'b0;
      mrs_valid <= 1'b0;
    end
  end

  assign error_o = mrs_valid && !mrs.ok;
  assign refused_o = mrs_valid && mrs.refused;
endmodule
