// SPDX-License-Identifier: Apache-2.0
//
// On-NIC memory, reached by dma_master and through the GDR window. Ports first; the body follows.
module device_memory #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DEVMEM_BYTES = 262144  // a power of two, at least 64 rows of DATA_W
) (
  input  logic                clk_i,
  input  logic                rst_i,

  // DMA port of dma_master: rows of DATA_W. Read data one cycle after the request was taken, for one cycle.
  input  logic                dm_wr_valid,
  output logic                dm_wr_ready,
  input  logic [31:0]         dm_wr_row,
  input  logic [DATA_W-1:0]   dm_wr_data,
  input  logic [DATA_W/8-1:0] dm_wr_strb,
  input  logic                dm_rd_valid,
  output logic                dm_rd_ready,
  input  logic [31:0]         dm_rd_row,
  output logic [DATA_W-1:0]   dm_rd_data,

  // GDR window: AXI4 without ids, full-width INCR bursts; addresses from 0.
  input  logic                gdr_awvalid,
  output logic                gdr_awready,
  input  logic [31:0]         gdr_awaddr,
  input  logic [7:0]          gdr_awlen,
  input  logic                gdr_wvalid,
  output logic                gdr_wready,
  input  logic [DATA_W-1:0]   gdr_wdata,
  input  logic [DATA_W/8-1:0] gdr_wstrb,
  input  logic                gdr_wlast,
  output logic                gdr_bvalid,
  input  logic                gdr_bready,
  output logic [1:0]          gdr_bresp,
  input  logic                gdr_arvalid,
  output logic                gdr_arready,
  input  logic [31:0]         gdr_araddr,
  input  logic [7:0]          gdr_arlen,
  output logic                gdr_rvalid,
  input  logic                gdr_rready,
  output logic [DATA_W-1:0]   gdr_rdata,
  output logic [1:0]          gdr_rresp,
  output logic                gdr_rlast
);
endmodule
