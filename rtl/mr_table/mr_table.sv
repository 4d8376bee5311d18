// SPDX-License-Identifier: Apache-2.0
//
// Memory regions: turns key and virtual address into a DMA address, after all checks, for four
// requesters at a time.
//
// Latency 2 cycles from a taken request to its answer, throughput one per cycle and port, in order,
// answers are not held back. After reset the table clears itself, one entry per cycle, until
// init_done_o; requests wait. A write by cmd_unit is seen by every request taken after it.
`include "rnic_assert.svh"

module mr_table #(
  parameter int unsigned N_MR = 256,             // entries, 2..65536
  parameter int unsigned DEVMEM_BYTES = 262144   // as in dma_target
) (
  input  logic                 clk_i,
  input  logic                 rst_i,
  output logic                 init_done_o,      // the table has been cleared

  input  logic                 gdr_en_i,
  input  logic [255:0]         gpu_base_i,
  input  logic [255:0]         gpu_limit_i,
  input  logic [63:0]          devmem_base_i,

  // Lookups: 0 sq_engine, 1 rx_responder, 2 resp_engine, 3 rx_completer. The answer comes 2 cycles
  // after the request was taken, in
  // order.
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

  // a lookup was not ok (one pulse each, may come later)
  output logic                 cnt_mr_errors_o,
  output logic                 cnt_gdr_refused_o, // of these, for a GPU target with gdr_en_i = 0
  input  logic lop0_valid,
  output logic lop0_ready,
  input  rnic_pkg::mr_lop_t lop0,
  output logic lop0_done_valid,
  output logic lop0_done_ok,
  input  logic lop1_valid,
  output logic lop1_ready,
  input  rnic_pkg::mr_lop_t lop1,
  output logic lop1_done_valid,
  output logic lop1_done_ok,
  input  logic mrq2_valid,
  output logic mrq2_ready,
  input  rnic_pkg::mr_req_t mrq2,
  output logic mrs2_valid,
  output rnic_pkg::mr_rsp_t mrs2,
  input  logic mrq3_valid,
  output logic mrq3_ready,
  input  rnic_pkg::mr_req_t mrq3,
  output logic mrs3_valid,
  output rnic_pkg::mr_rsp_t mrs3,
  output logic cnt_mtt_hits_o,
  output logic cnt_mtt_misses_o
);
  localparam int unsigned IW = $clog2(N_MR);
  localparam int unsigned EW = 222;  // mr_entry_t

  if (N_MR < 2 || N_MR > 65536) begin : gen_check_n
    $error("mr_table: N_MR must be 2 to 65536");
  end

  // Clearing, then writes of cmd_unit.
  logic          init_q;
  logic [IW-1:0] init_index_q;
  logic          wr_en;
  logic [IW-1:0] wr_index;
  logic [EW-1:0] wr_entry;
  assign init_done_o = !init_q;
  assign wr_en = init_q || (cw_valid && cw_index < 24'(N_MR));
  assign wr_index = init_q ? init_index_q : cw_index[IW-1:0];
  assign wr_entry = init_q ? '0 : cw;

  always_ff @(posedge clk_i) begin
    if (init_q) begin
      init_index_q <= init_index_q + 1'b1;
      if (init_index_q == IW'(N_MR - 1)) init_q <= 1'b0;
    end
    if (rst_i) begin
      init_q <= 1'b1;
      init_index_q <= '0;
    end
  end

  // Lookups: entry read, then checked, then the answer.
  logic [3:0]            error_pulse, refused_pulse;
  logic                  fire0, fire1, fire2, fire3, cr_fire, cr_range_q;
  logic [IW-1:0]         index0, index1, index2, index3;
  rnic_pkg::mr_entry_t   entry0, entry1, entry2, entry3, entry_cr;
  assign mrq0_ready = !init_q;
  assign mrq1_ready = !init_q;
  assign mrq2_ready = !init_q;
  assign mrq3_ready = !init_q;
  assign cr_ready = !init_q;
  assign fire0 = mrq0_valid && !init_q;
  assign fire1 = mrq1_valid && !init_q;
  assign fire2 = mrq2_valid && !init_q;
  assign fire3 = mrq3_valid && !init_q;
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

  assign crs = cr_range_q ? entry_cr : '0;
  always_ff @(posedge clk_i) begin
    crs_valid <= cr_fire;
    if (cr_fire) cr_range_q <= cr_index < 24'(N_MR);
    if (rst_i) crs_valid <= 1'b0;
  end

  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup0 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .fire_i(fire0),
    .req_i(mrq0), .index_o(index0), .entry_i(entry0), .mrs_valid(mrs0_valid), .mrs(mrs0),
    .error_o(error_pulse[0]), .refused_o(refused_pulse[0]));
  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup1 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .fire_i(fire1),
    .req_i(mrq1), .index_o(index1), .entry_i(entry1), .mrs_valid(mrs1_valid), .mrs(mrs1),
    .error_o(error_pulse[1]), .refused_o(refused_pulse[1]));
  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup2 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .fire_i(fire2),
    .req_i(mrq2), .index_o(index2), .entry_i(entry2), .mrs_valid(mrs2_valid), .mrs(mrs2),
    .error_o(error_pulse[2]), .refused_o(refused_pulse[2]));
  mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup3 (
    .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .fire_i(fire3),
    .req_i(mrq3), .index_o(index3), .entry_i(entry3), .mrs_valid(mrs3_valid), .mrs(mrs3),
    .error_o(error_pulse[3]), .refused_o(refused_pulse[3]));

  pulse_merge #(.N(4)) u_errors (
    .clk_i, .rst_i, .pulse_i(error_pulse), .pulse_o(cnt_mr_errors_o));
  pulse_merge #(.N(4)) u_refused (
    .clk_i, .rst_i, .pulse_i(refused_pulse), .pulse_o(cnt_gdr_refused_o));

  `RNIC_ASSERT(write_after_init, !(cw_valid && init_q))

  // Ports of the complete RC transport that this block does not use yet.
  assign lop0_ready = '0;
  assign lop0_done_valid = '0;
  assign lop0_done_ok = '0;
  assign lop1_ready = '0;
  assign lop1_done_valid = '0;
  assign lop1_done_ok = '0;
  assign cnt_mtt_hits_o = '0;
  assign cnt_mtt_misses_o = '0;
  logic unused_rc;
  assign unused_rc = ^{lop0_valid, lop0, lop1_valid, lop1};
endmodule
