// SPDX-License-Identifier: Apache-2.0
//
// Memory regions: turns key and virtual address into a DMA address, after all checks, for two
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

  // Lookups: 0 sq_engine, 1 rx_responder. The answer comes 2 cycles after the request was taken, in
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
  output logic                 cnt_gdr_refused_o  // of these, for a GPU target with gdr_en_i = 0
);
  localparam int unsigned IW = $clog2(N_MR);
  localparam int unsigned EW = 222;  // mr_entry_t
  localparam int unsigned QW = 148;  // mr_req_t
  localparam int unsigned SW = 70;   // mr_rsp_t

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
  logic [2*QW-1:0] mrq;
  logic [1:0]      mrq_valid, fire, mrs_valid;
  logic [2*SW-1:0] mrs;
  logic [1:0]      error_pulse, refused_pulse;
  assign mrq = {mrq1, mrq0};
  assign mrq_valid = {mrq1_valid, mrq0_valid};
  assign mrq0_ready = !init_q;
  assign mrq1_ready = !init_q;
  assign fire = mrq_valid & {2{!init_q}};
  assign {mrs1_valid, mrs0_valid} = mrs_valid;
  assign {mrs1, mrs0} = mrs;

  logic [3*EW-1:0] rd_entry;
  logic [3*IW-1:0] rd_index;
  logic            cr_fire;
  assign cr_ready = !init_q;
  assign cr_fire = cr_valid && !init_q;
  assign rd_index[2*IW +: IW] = cr_index[IW-1:0];
  ram_1w_nr #(.W(EW), .DEPTH(N_MR), .N_RD(3)) u_ram (
    .clk_i, .wr_en_i(wr_en), .wr_addr_i(wr_index), .wr_data_i(wr_entry), .rd_en_i({cr_fire, fire}),
    .rd_addr_i(rd_index), .rd_data_o(rd_entry));

  logic cr_range_q;
  assign crs = cr_range_q ? rd_entry[2*EW +: EW] : '0;
  always_ff @(posedge clk_i) begin
    crs_valid <= cr_fire;
    if (cr_fire) cr_range_q <= cr_index < 24'(N_MR);
    if (rst_i) crs_valid <= 1'b0;
  end

  for (genvar p = 0; p < 2; p++) begin : gen_port
    mr_lookup #(.N_MR(N_MR), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lookup (
      .clk_i, .rst_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i, .fire_i(fire[p]),
      .req_i(mrq[p*QW +: QW]), .index_o(rd_index[p*IW +: IW]), .entry_i(rd_entry[p*EW +: EW]),
      .mrs_valid(mrs_valid[p]), .mrs(mrs[p*SW +: SW]), .error_o(error_pulse[p]),
      .refused_o(refused_pulse[p]));
  end

  pulse_merge #(.N(2)) u_errors (
    .clk_i, .rst_i, .pulse_i(error_pulse), .pulse_o(cnt_mr_errors_o));
  pulse_merge #(.N(2)) u_refused (
    .clk_i, .rst_i, .pulse_i(refused_pulse), .pulse_o(cnt_gdr_refused_o));

  `RNIC_ASSERT(write_after_init, !(cw_valid && init_q))
endmodule
