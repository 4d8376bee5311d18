// SPDX-License-Identifier: Apache-2.0
//
// Memory regions: turns key and virtual address into a DMA address, after all checks, for four
// requesters at a time. A region is one piece, or a list of pages in host memory (mr_walk). Work
// requests may take a region's access away and register it anew (mr_local).
//
// Flat regions: latency 2 cycles from a taken request to its answer, throughput one per cycle and
// port; paged ones 5 cycles or more. In order, answers are not held back. After reset the table
// clears itself, one entry per cycle, until init_done_o; requests wait. A write is seen by every
// request taken after it.
`include "rnic_assert.svh"

module mr_table #(
  parameter int unsigned N_MR = 256,             // entries, 2..65536
  parameter int unsigned N_TLB = 128,            // page translations kept on chip
  parameter int unsigned DEVMEM_BYTES = 262144   // as in dma_target
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  output logic                 init_done_o,      // the table has been cleared

  input  logic                 gdr_en_i,
  input  logic [255:0]         gpu_base_i,
  input  logic [255:0]         gpu_limit_i,
  input  logic [63:0]          devmem_base_i,

  // Lookups: 0 sq_engine, 1 rx_responder, 2 resp_engine, 3 rx_completer. Answers come in order.
  input  logic                 mrq0_valid,
  output logic                 mrq0_ready,
  input  rnic_pkg::mr_req_t    mrq0,
  output logic                 mrs0_valid,
  output rnic_pkg::mr_rsp_t    mrs0,
  input  logic                 mrq1_valid,
  output logic                 mrq1_ready,
  input  rnic_pkg::mr_req_t    mrq1,
  output logic                 mrs1_valid,
  output rnic_pkg::mr_rsp_t    mrs1,
  input  logic                 mrq2_valid,
  output logic                 mrq2_ready,
  input  rnic_pkg::mr_req_t    mrq2,
  output logic                 mrs2_valid,
  output rnic_pkg::mr_rsp_t    mrs2,
  input  logic                 mrq3_valid,
  output logic                 mrq3_ready,
  input  rnic_pkg::mr_req_t    mrq3,
  output logic                 mrs3_valid,
  output rnic_pkg::mr_rsp_t    mrs3,

  // Work requests that change a region: 0 sq_engine, 1 rx_responder. One at a time each; done comes
  // when the change is in the table.
  input  logic                 lop0_valid,
  output logic                 lop0_ready,
  input  rnic_pkg::mr_lop_t    lop0,
  output logic                 lop0_done_valid,
  output logic                 lop0_done_ok,
  input  logic                 lop1_valid,
  output logic                 lop1_ready,
  input  rnic_pkg::mr_lop_t    lop1,
  output logic                 lop1_done_valid,
  output logic                 lop1_done_ok,

  // cmd_unit. A write is always taken (not before init_done_o); indices of N_MR and above are
  // ignored. A read is answered one cycle after it was taken; indices of N_MR and above read as
  // zero.
  input  logic                 cw_valid,
  input  logic [23:0]          cw_index,
  input  rnic_pkg::mr_entry_t  cw,
  input  logic                 cr_valid,
  output logic                 cr_ready,
  input  logic [23:0]          cr_index,
  output logic                 crs_valid,
  output rnic_pkg::mr_entry_t  crs,

  // dma_master, client RD_MTT: page lists
  output logic                 rdreq_valid,
  input  logic                 rdreq_ready,
  output rnic_pkg::dma_rd_req_t rdreq,
  input  logic                 rdrsp_valid,
  input  rnic_pkg::dma_rd_rsp_t rdrsp,
  input  logic [63:0]          rdrsp_data,       // lanes 0 to 7

  // a lookup was not ok (one pulse each, may come later)
  output logic                 cnt_mr_errors_o,
  output logic                 cnt_gdr_refused_o,  // of these, for a GPU target with gdr_en_i = 0
  output logic                 cnt_mtt_hits_o,
  output logic                 cnt_mtt_misses_o
);
  localparam int unsigned IW = $clog2(N_MR);
  localparam int unsigned EW = $bits(cw);

  if (N_MR < 2 || N_MR > 65536) begin : gen_check_n
    $error("mr_table: N_MR must be 2 to 65536");
  end
  if (N_TLB < 2 || (N_TLB & (N_TLB - 1)) != 0 || N_TLB > 65536) begin : gen_check_tlb
    $error("mr_table: N_TLB must be a power of two, 2 to 65536");
  end

  // Clearing, then writes of cmd_unit, then those of work requests.
  logic                init_q, wr_en, lw_valid, lw_taken, flush;
  logic [IW-1:0]       init_index_q, wr_index, lw_index;
  rnic_pkg::mr_entry_t wr_entry, lw;
  logic [15:0]         gen_q;                    // number of the next registration
  assign init_done_o = !init_q;
  assign lw_taken = lw_valid && !init_q && !cw_valid;
  assign wr_en = init_q || (cw_valid && cw_index < 24'(N_MR)) || lw_taken;
  assign wr_index = init_q ? init_index_q : cw_valid ? cw_index[IW-1:0] : lw_index;
  always_comb begin
    wr_entry = '0;
    if (!init_q && wr_en) begin
      wr_entry = cw_valid ? cw : lw;
      wr_entry.gen = gen_q;
    end
  end
  assign flush = wr_en && !init_q && gen_q == 16'hFFFF;

  always_ff @(posedge clk_i) begin
    if (init_q) begin
      init_index_q <= init_index_q + 1'b1;
      if (init_index_q == IW'(N_MR - 1)) init_q <= 1'b0;
    end else if (wr_en) begin
      gen_q <= gen_q + 16'd1;
    end
    if (rst_i) begin
      init_q <= 1'b1;
      init_index_q <= '0;
      gen_q <= '0;
    end
  end

  // Lookups: entry read, then checked, then the answer.
  logic [3:0]            error_pulse, refused_pulse, can;
  logic                  fire0, fire1, fire2, fire3, cr_fire, cr_range_q, lr_en;
  logic [IW-1:0]         index0, index1, index2, index3, lr_index;
  rnic_pkg::mr_entry_t   entry0, entry1, entry2, entry3, entry_cr, entry_lop;
  logic [3:0]            walk_valid, walk_ready, walk_done;
  logic [4*16-1:0]       walk_gen;
  logic [4*52-1:0]       walk_page;
  logic [4*64-1:0]       walk_addr;
  logic                  walk_ok;
  logic [51:0]           walk_base;
  assign mrq0_ready = !init_q && can[0];
  assign mrq1_ready = !init_q && can[1];
  assign mrq2_ready = !init_q && can[2];
  assign mrq3_ready = !init_q && can[3];
  assign cr_ready = !init_q;
  assign fire0 = mrq0_valid && mrq0_ready;
  assign fire1 = mrq1_valid && mrq1_ready;
  assign fire2 = mrq2_valid && mrq2_ready;
  assign fire3 = mrq3_valid && mrq3_ready;
  assign cr_fire = cr_valid && !init_q;

  ram_sdp #(.W(EW), .DEPTH(N_MR)) u_ram0 (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i(fire0),
    .rd_addr_i(index0), .rd_data_o(entry0));
  ram_sdp #(.W(EW), .DEPTH(N_MR)) u_ram1 (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i(fire1),
    .rd_addr_i(index1), .rd_data_o(entry1));
  ram_sdp #(.W(EW), .DEPTH(N_MR)) u_ram2 (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i(fire2),
    .rd_addr_i(index2), .rd_data_o(entry2));
  ram_sdp #(.W(EW), .DEPTH(N_MR)) u_ram3 (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i(fire3),
    .rd_addr_i(index3), .rd_data_o(entry3));
  ram_sdp #(.W(EW), .DEPTH(N_MR)) u_ram_cmd (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i(cr_fire),
    .rd_addr_i(cr_index[IW-1:0]), .rd_data_o(entry_cr));
  ram_sdp #(.W(EW), .DEPTH(N_MR)) u_ram_lop (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i(lr_en),
    .rd_addr_i(lr_index), .rd_data_o(entry_lop));

  assign crs = cr_range_q ? entry_cr : '0;
  always_ff @(posedge clk_i) begin
    crs_valid <= cr_fire;
    if (cr_fire) cr_range_q <= cr_index < 24'(N_MR);
    if (rst_i) crs_valid <= 1'b0;
  end

  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup0 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .ready_o(can[0]),
    .fire_i(fire0), .req_i(mrq0), .index_o(index0), .entry_i(entry0),
    .walk_valid(walk_valid[0]), .walk_ready(walk_ready[0]), .walk_gen(walk_gen[0*16 +: 16]),
    .walk_page(walk_page[0*52 +: 52]), .walk_addr(walk_addr[0*64 +: 64]),
    .walk_done_i(walk_done[0]), .walk_ok_i(walk_ok), .walk_base_i(walk_base),
    .mrs_valid(mrs0_valid), .mrs(mrs0), .error_o(error_pulse[0]),
    .refused_o(refused_pulse[0]));
  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup1 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .ready_o(can[1]),
    .fire_i(fire1), .req_i(mrq1), .index_o(index1), .entry_i(entry1),
    .walk_valid(walk_valid[1]), .walk_ready(walk_ready[1]), .walk_gen(walk_gen[1*16 +: 16]),
    .walk_page(walk_page[1*52 +: 52]), .walk_addr(walk_addr[1*64 +: 64]),
    .walk_done_i(walk_done[1]), .walk_ok_i(walk_ok), .walk_base_i(walk_base),
    .mrs_valid(mrs1_valid), .mrs(mrs1), .error_o(error_pulse[1]),
    .refused_o(refused_pulse[1]));
  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup2 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .ready_o(can[2]),
    .fire_i(fire2), .req_i(mrq2), .index_o(index2), .entry_i(entry2),
    .walk_valid(walk_valid[2]), .walk_ready(walk_ready[2]), .walk_gen(walk_gen[2*16 +: 16]),
    .walk_page(walk_page[2*52 +: 52]), .walk_addr(walk_addr[2*64 +: 64]),
    .walk_done_i(walk_done[2]), .walk_ok_i(walk_ok), .walk_base_i(walk_base),
    .mrs_valid(mrs2_valid), .mrs(mrs2), .error_o(error_pulse[2]),
    .refused_o(refused_pulse[2]));
  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup3 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .ready_o(can[3]),
    .fire_i(fire3), .req_i(mrq3), .index_o(index3), .entry_i(entry3),
    .walk_valid(walk_valid[3]), .walk_ready(walk_ready[3]), .walk_gen(walk_gen[3*16 +: 16]),
    .walk_page(walk_page[3*52 +: 52]), .walk_addr(walk_addr[3*64 +: 64]),
    .walk_done_i(walk_done[3]), .walk_ok_i(walk_ok), .walk_base_i(walk_base),
    .mrs_valid(mrs3_valid), .mrs(mrs3), .error_o(error_pulse[3]),
    .refused_o(refused_pulse[3]));

  mr_walk #(.N_PORT(4), .N_TLB(N_TLB)) u_walk (
    .clk_i, .rst_i, .flush_i(flush), .walk_valid, .walk_ready, .walk_gen, .walk_page, .walk_addr,
    .walk_done_o(walk_done), .walk_ok_o(walk_ok), .walk_base_o(walk_base), .rdreq_valid,
    .rdreq_ready, .rdreq, .rdrsp_valid, .rdrsp, .rdrsp_data, .cnt_mtt_hits_o, .cnt_mtt_misses_o);

  mr_local #(.N_MR(N_MR)) u_local (
    .clk_i, .rst_i, .run_i(!init_q), .lop0_valid, .lop0_ready, .lop0, .lop0_done_valid,
    .lop0_done_ok, .lop1_valid, .lop1_ready, .lop1, .lop1_done_valid, .lop1_done_ok,
    .rd_en_o(lr_en), .rd_index_o(lr_index), .entry_i(entry_lop), .disturbed_i(cw_valid),
    .wr_valid(lw_valid), .wr_ready(lw_taken), .wr_index(lw_index), .wr(lw));

  pulse_merge #(.N(4)) u_errors (
    .clk_i, .rst_i, .pulse_i(error_pulse), .pulse_o(cnt_mr_errors_o));
  pulse_merge #(.N(4)) u_refused (
    .clk_i, .rst_i, .pulse_i(refused_pulse), .pulse_o(cnt_gdr_refused_o));

  `RNIC_ASSERT(write_after_init, !(cw_valid && init_q))
endmodule
