// SPDX-License-Identifier: Apache-2.0
//
// DMA engine between the NIC's streams and the AXI4 port of the PCIe bridge: one burst is one TLP.
// README.md has theory, latencies and rules; dma_read and dma_write do the work, dma_target tells
// host, GPU and device_memory apart.
//
// Latency: read request to arvalid 2 cycles, R beat to rdrsp 1, write request with data to awvalid
// and wvalid 2. Throughput: one beat, one TLP, one request per cycle in each direction. Order:
// writes leave in the order of acceptance; reads are answered in any order. Dropped: the data of
// writes to a refused target (fault, gdr_refused), late completions of timed-out tags, everything
// not yet on the bus while drain_i is high.
module dma_master #(
  parameter int unsigned DATA_W = 512,           // 128, 256, 512, 1024
  parameter int unsigned N_TAG = 64,             // read tags: 8..256, a power of two
  parameter int unsigned CLK_PS = 2000,          // core clock period, for the time-out
  parameter int unsigned DEVMEM_BYTES = 262144,  // size of device_memory; a power of two, 0: none
  // reads of GPU memory that may wait without holding up others
  parameter int unsigned GPU_QUEUE = 64,
  parameter int unsigned N_WR = 128              // write TLPs in flight, per target (host, GPUs)
) (
  input  logic                     clk_i,
  input  logic                     rst_i,

  // Settings; may change at any time, a request uses what it finds when it is cut.
  input  logic [2:0]               cfg_mps_i,         // 128 << n bytes, n > 5 is 5
  input  logic [2:0]               cfg_mrrs_i,
  input  logic [7:0]               cfg_pacing_i,      // read TLPs in flight, 0 is 1
  input  logic [19:0]              cfg_timeout_us_i,  // 0: off
  input  logic                     cfg_relaxed_i,
  input  logic                     gdr_en_i,
  input  logic [255:0]             gpu_base_i,
  input  logic [255:0]             gpu_limit_i,
  input  logic [63:0]              devmem_base_i,
  input  logic                     drain_i,
  output logic                     idle_o,

  // Read clients: 0 wqe_fetch_engine (RD_WQE), 1 sq_engine and 2 resp_engine (RD_PAYLOAD, into
  // slots of tx_buffer), 3 rq_store (RD_RQ), 4 atomic_unit (RD_ATOMIC), 5 mr_table (RD_MTT), 6
  // ctx_cache (RD_CTX).
  input  logic                     rd0_valid,
  output logic                     rd0_ready,
  input  rnic_pkg::dma_rd_req_t    rd0_req,
  input  logic                     rd1_valid,
  output logic                     rd1_ready,
  input  rnic_pkg::dma_rd_req_t    rd1_req,
  input  logic                     rd2_valid,
  output logic                     rd2_ready,
  input  rnic_pkg::dma_rd_req_t    rd2_req,
  input  logic                     rd3_valid,
  output logic                     rd3_ready,
  input  rnic_pkg::dma_rd_req_t    rd3_req,
  input  logic                     rd4_valid,
  output logic                     rd4_ready,
  input  rnic_pkg::dma_rd_req_t    rd4_req,
  input  logic                     rd5_valid,
  output logic                     rd5_ready,
  input  rnic_pkg::dma_rd_req_t    rd5_req,
  input  logic                     rd6_valid,
  output logic                     rd6_ready,
  input  rnic_pkg::dma_rd_req_t    rd6_req,
  output logic                     rdrsp_valid,       // no ready
  output rnic_pkg::dma_rd_rsp_t    rdrsp,
  output logic [DATA_W-1:0]        rdrsp_data,

  // Write clients: 0 rx_placer, 1 cqe_gen, 2 event_queue, 3 atomic_unit, 4 qp_context_mgr.
  input  logic                     wr0_req_valid,
  output logic                     wr0_req_ready,
  input  rnic_pkg::dma_wr_req_t    wr0_req,
  input  logic                     wr0_dat_valid,
  output logic                     wr0_dat_ready,
  input  logic [DATA_W-1:0]        wr0_dat_data,
  input  logic [7:0]               wr0_dat_cnt,
  input  logic                     wr0_dat_last,
  input  logic                     wr1_req_valid,
  output logic                     wr1_req_ready,
  input  rnic_pkg::dma_wr_req_t    wr1_req,
  input  logic                     wr1_dat_valid,
  output logic                     wr1_dat_ready,
  input  logic [DATA_W-1:0]        wr1_dat_data,
  input  logic [7:0]               wr1_dat_cnt,
  input  logic                     wr1_dat_last,
  input  logic                     wr2_req_valid,
  output logic                     wr2_req_ready,
  input  rnic_pkg::dma_wr_req_t    wr2_req,
  input  logic                     wr2_dat_valid,
  output logic                     wr2_dat_ready,
  input  logic [DATA_W-1:0]        wr2_dat_data,
  input  logic [7:0]               wr2_dat_cnt,
  input  logic                     wr2_dat_last,
  input  logic                     wr3_req_valid,
  output logic                     wr3_req_ready,
  input  rnic_pkg::dma_wr_req_t    wr3_req,
  input  logic                     wr3_dat_valid,
  output logic                     wr3_dat_ready,
  input  logic [DATA_W-1:0]        wr3_dat_data,
  input  logic [7:0]               wr3_dat_cnt,
  input  logic                     wr3_dat_last,
  input  logic                     wr4_req_valid,
  output logic                     wr4_req_ready,
  input  rnic_pkg::dma_wr_req_t    wr4_req,
  input  logic                     wr4_dat_valid,
  output logic                     wr4_dat_ready,
  input  logic [DATA_W-1:0]        wr4_dat_data,
  input  logic [7:0]               wr4_dat_cnt,
  input  logic                     wr4_dat_last,
  // One pulse per write whose last row is on the bus, in the order of acceptance: writes with
  // ticket (resp_engine), with rd_ticket (rx_completer), all writes of each client.
  output logic                     placed_o,
  output logic                     rd_placed_o,
  output logic [4:0]               wr_placed_o,
  output logic                     fault_valid,
  input  logic                     fault_ready,
  output rnic_pkg::dma_fault_t     fault,

  // device_memory
  output logic                     dm_wr_valid,
  input  logic                     dm_wr_ready,
  output logic [31:0]              dm_wr_row,
  output logic [DATA_W-1:0]        dm_wr_data,
  output logic [DATA_W/8-1:0]      dm_wr_strb,
  output logic                     dm_rd_valid,
  input  logic                     dm_rd_ready,
  output logic [31:0]              dm_rd_row,
  // in the cycle after dm_rd_valid && dm_rd_ready
  input  logic [DATA_W-1:0]        dm_rd_data,

  // AXI4 master; one burst is one TLP.
  output logic                     m_axi_awvalid,
  input  logic                     m_axi_awready,
  output logic [7:0]               m_axi_awid,        // 0 host, 1 GPU
  output logic [63:0]              m_axi_awaddr,
  output logic [7:0]               m_axi_awlen,
  output logic [31:0]              m_axi_awuser,
  output logic                     m_axi_wvalid,
  input  logic                     m_axi_wready,
  output logic [DATA_W-1:0]        m_axi_wdata,
  output logic [DATA_W/8-1:0]      m_axi_wstrb,
  output logic                     m_axi_wlast,
  input  logic                     m_axi_bvalid,
  output logic                     m_axi_bready,
  input  logic [7:0]               m_axi_bid,
  input  logic [1:0]               m_axi_bresp,
  output logic                     m_axi_arvalid,
  input  logic                     m_axi_arready,
  output logic [7:0]               m_axi_arid,
  output logic [63:0]              m_axi_araddr,
  output logic [7:0]               m_axi_arlen,
  output logic [31:0]              m_axi_aruser,
  input  logic                     m_axi_rvalid,
  output logic                     m_axi_rready,
  input  logic [7:0]               m_axi_rid,
  input  logic [DATA_W-1:0]        m_axi_rdata,
  input  logic [1:0]               m_axi_rresp,
  input  logic                     m_axi_rlast,
  input  logic                     m_axi_ruser,       // poison

  // Write requests to GPU and device_memory, accepted and answered, modulo 2^10 (cqe_fence).
  output logic [9:0]               gpu_accepted_o,
  output logic [9:0]               gpu_done_o,
  output logic [9:0]               dev_accepted_o,
  output logic [9:0]               dev_done_o,

  output logic                     cnt_dma_reads_o,
  output logic                     cnt_dma_writes_o,
  output logic [15:0]              cnt_dma_read_bytes_amount_o,
  output logic [15:0]              cnt_dma_write_bytes_amount_o,
  output logic                     cnt_dma_read_errors_o,
  output logic                     cnt_dma_page_fault_o,
  output logic                     cnt_dma_timeouts_o,
  output logic                     cnt_gdr_refused_o,

  // Writes on the bus: trc first beat of a payload (client 0, 3), CQE (client 1); trc2 last beat of
  // a payload.
  output logic                     trc_valid_o,
  output logic [63:0]              trc_o,
  output logic                     trc_sampled_o,
  output logic                     trc2_valid_o,
  output logic [63:0]              trc2_o,
  output logic                     trc2_sampled_o
);

  logic rd_idle, wr_idle;
  assign idle_o = rd_idle && wr_idle;

  logic rd_page_fault, rd_gdr_refused, wr_page_fault, wr_gdr_refused;

  dma_read #(
    .DATA_W(DATA_W), .N_TAG(N_TAG), .CLK_PS(CLK_PS), .DEVMEM_BYTES(DEVMEM_BYTES),
        .GPU_QUEUE(GPU_QUEUE)
  ) u_read (
    .clk_i, .rst_i, .cfg_mrrs_i, .cfg_pacing_i, .cfg_timeout_us_i, .gdr_en_i, .gpu_base_i,
    .gpu_limit_i, .devmem_base_i, .drain_i, .idle_o(rd_idle),
    .rd_valid({rd6_valid, rd5_valid, rd4_valid, rd3_valid, rd2_valid, rd1_valid, rd0_valid}),
    .rd_ready({rd6_ready, rd5_ready, rd4_ready, rd3_ready, rd2_ready, rd1_ready, rd0_ready}),
    .rd_reqs({rd6_req, rd5_req, rd4_req, rd3_req, rd2_req, rd1_req, rd0_req}), .rdrsp_valid,
    .rdrsp, .rdrsp_data, .dm_rd_valid, .dm_rd_ready,
    .dm_rd_row, .dm_rd_data, .m_axi_arvalid, .m_axi_arready, .m_axi_arid, .m_axi_araddr,
    .m_axi_arlen, .m_axi_aruser, .m_axi_rvalid, .m_axi_rready, .m_axi_rid, .m_axi_rdata,
    .m_axi_rresp, .m_axi_rlast, .m_axi_ruser, .cnt_reads_o(cnt_dma_reads_o),
    .cnt_bytes_amount_o(cnt_dma_read_bytes_amount_o), .cnt_errors_o(cnt_dma_read_errors_o),
    .cnt_page_fault_o(rd_page_fault), .cnt_timeouts_o(cnt_dma_timeouts_o),
    .cnt_gdr_refused_o(rd_gdr_refused));

  dma_write #(
    .DATA_W(DATA_W), .DEVMEM_BYTES(DEVMEM_BYTES), .N_WR(N_WR)
  ) u_write (
    .gpu_accepted_o, .gpu_done_o, .dev_accepted_o, .dev_done_o,
    .clk_i, .rst_i, .cfg_mps_i, .cfg_relaxed_i, .gdr_en_i, .gpu_base_i, .gpu_limit_i,
    .devmem_base_i, .drain_i, .idle_o(wr_idle),
    .req_valid({wr4_req_valid, wr3_req_valid, wr2_req_valid, wr1_req_valid, wr0_req_valid}),
    .req_ready({wr4_req_ready, wr3_req_ready, wr2_req_ready, wr1_req_ready, wr0_req_ready}),
    .req0(wr0_req), .req1(wr1_req), .req2(wr2_req), .req3(wr3_req), .req4(wr4_req),
    .dat_valid({wr4_dat_valid, wr3_dat_valid, wr2_dat_valid, wr1_dat_valid, wr0_dat_valid}),
    .dat_ready({wr4_dat_ready, wr3_dat_ready, wr2_dat_ready, wr1_dat_ready, wr0_dat_ready}),
    .dat0_data(wr0_dat_data), .dat1_data(wr1_dat_data), .dat2_data(wr2_dat_data),
    .dat3_data(wr3_dat_data), .dat4_data(wr4_dat_data), .placed_o, .rd_placed_o,
    .wr_placed_o,
    .dat_cnt({wr4_dat_cnt, wr3_dat_cnt, wr2_dat_cnt, wr1_dat_cnt, wr0_dat_cnt}),
    .dat_last({wr4_dat_last, wr3_dat_last, wr2_dat_last, wr1_dat_last, wr0_dat_last}), .fault_valid,
    .fault_ready, .fault, .dm_wr_valid, .dm_wr_ready, .dm_wr_row, .dm_wr_data, .dm_wr_strb,
    .m_axi_awvalid,
    .m_axi_awready, .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awuser, .m_axi_wvalid,
    .m_axi_wready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_bvalid, .m_axi_bready,
    .m_axi_bid, .m_axi_bresp, .cnt_writes_o(cnt_dma_writes_o),
    .cnt_bytes_amount_o(cnt_dma_write_bytes_amount_o), .cnt_page_fault_o(wr_page_fault),
    .cnt_gdr_refused_o(wr_gdr_refused), .trc_valid_o, .trc_o, .trc_sampled_o, .trc2_valid_o,
    .trc2_o, .trc2_sampled_o);

  pulse_merge #(.N(2)) u_page_fault (
    .clk_i, .rst_i, .pulse_i({wr_page_fault, rd_page_fault}), .pulse_o(cnt_dma_page_fault_o));
  pulse_merge #(.N(2)) u_gdr_refused (
    .clk_i, .rst_i, .pulse_i({wr_gdr_refused, rd_gdr_refused}), .pulse_o(cnt_gdr_refused_o));
endmodule
