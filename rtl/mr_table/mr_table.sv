// SPDX-License-Identifier: Apache-2.0
//
// Memory regions: keys to DMA addresses, with all checks. Ports first; the body follows.
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

  // Lookups: 0 sq_engine, 1 rx_responder. The answer comes 2 cycles after the request was taken, in order.
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

  // cmd_unit. A write is always taken (not before init_done_o); indices of N_MR and above are ignored. A read is
  // answered one cycle after it was taken; indices of N_MR and above read as zero.
  input  logic                 cw_valid,
  input  logic [23:0]          cw_index,
  input  rnic_pkg::mr_entry_t  cw,
  input  logic                 cr_valid,
  output logic                 cr_ready,
  input  logic [23:0]          cr_index,
  output logic                 crs_valid,
  output rnic_pkg::mr_entry_t  crs,

  output logic                 cnt_mr_errors_o,   // a lookup was not ok (one pulse each, may come later)
  output logic                 cnt_gdr_refused_o  // of these, for a GPU target with gdr_en_i = 0
);
endmodule
