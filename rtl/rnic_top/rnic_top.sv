// SPDX-License-Identifier: Apache-2.0
// The NIC: every block and how they are joined. rtl/README.md walks a WRITE through it; each
// block's README says what it promises. Nothing is decided here but the merging of failures,
// doorbells and local errors, and the lists of counters, trace sources and borders.
// Clocks: core_clk_i (everything) and mac_clk_i (mac_tx_gen, mac_rx). The resets of both must
// overlap.
module rnic_top #(
    parameter int unsigned DATA_W = 512,            // 128, 256, 512, 1024
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_CQ = 64,
    parameter int unsigned N_EQ = 8,
    parameter int unsigned N_MR = 256,
    parameter int unsigned N_PD = 64,
    parameter int unsigned N_PATH = 64,
    parameter int unsigned N_MSIX = 32,
    parameter int unsigned N_WQE = 256,             // WQEs on chip
    parameter int unsigned N_MSG = 512,             // messages in flight
    // receive WQEs on chip: 16 ahead of each of 256 QPs at most
    parameter int unsigned N_RQE = (N_QP > 128) ? 4096 : (N_QP > 64) ? 2048 : 1024,
    parameter int unsigned N_TXSLOT = 64,           // packets being filled
    parameter int unsigned N_TAG = 128,             // read TLPs in flight
    parameter int unsigned DEVMEM_BYTES = 262144,
    parameter int unsigned RX_BUF_BYTES = 524288,   // received packets that wait: bytes
    parameter int unsigned N_RXPKT = 2048,          // and packets
    parameter int unsigned UAR_STRIDE = 4096,       // 256 or 4096
    parameter int unsigned CTX_LAT = 1,             // context read latency, 1 to 3
    parameter int unsigned N_CTX = N_QP,            // contexts on chip
    parameter int unsigned GEN_FCS = 0,             // 1: frames carry their FCS
    // AllReduce: groups, 0 leaves arp_fsm out; per group slots, staging buffers, blocks of a ring
    parameter int unsigned N_GROUP = 0,
    parameter int unsigned N_SLOT = 16,
    parameter int unsigned N_STAGE = 64,
    parameter int unsigned N_RING = 64,
    parameter int unsigned CORE_PS = 2000,          // clock periods
    parameter int unsigned MAC_PS = 1600,
    // Fixed by the lists below; not to be set.
    parameter int unsigned N_TRC = 23,
    parameter int unsigned N_BORDER = 27
) (
    input  logic core_clk_i,
    input  logic core_rst_i,
    input  logic mac_clk_i,
    input  logic mac_rst_i,

    // DMA master
    output logic m_axi_awvalid,
    input  logic m_axi_awready,
    output logic [7:0] m_axi_awid,
    output logic [63:0] m_axi_awaddr,
    output logic [7:0] m_axi_awlen,
    output logic [31:0] m_axi_awuser,
    output logic m_axi_wvalid,
    input  logic m_axi_wready,
    output logic [DATA_W-1:0] m_axi_wdata,
    output logic [DATA_W/8-1:0] m_axi_wstrb,
    output logic m_axi_wlast,
    input  logic m_axi_bvalid,
    output logic m_axi_bready,
    input  logic [7:0] m_axi_bid,
    input  logic [1:0] m_axi_bresp,
    output logic m_axi_arvalid,
    input  logic m_axi_arready,
    output logic [7:0] m_axi_arid,
    output logic [63:0] m_axi_araddr,
    output logic [7:0] m_axi_arlen,
    output logic [31:0] m_axi_aruser,
    input  logic m_axi_rvalid,
    output logic m_axi_rready,
    input  logic [7:0] m_axi_rid,
    input  logic [DATA_W-1:0] m_axi_rdata,
    input  logic [1:0] m_axi_rresp,
    input  logic m_axi_rlast,
    input  logic m_axi_ruser,
    // BAR0, doorbells
    input  logic bar0_awvalid,
    output logic bar0_awready,
    input  logic [31:0] bar0_awaddr,
    input  logic bar0_wvalid,
    output logic bar0_wready,
    input  logic [31:0] bar0_wdata,
    input  logic [3:0] bar0_wstrb,
    output logic bar0_bvalid,
    input  logic bar0_bready,
    output logic [1:0] bar0_bresp,
    input  logic bar0_arvalid,
    output logic bar0_arready,
    input  logic [31:0] bar0_araddr,
    output logic bar0_rvalid,
    input  logic bar0_rready,
    output logic [31:0] bar0_rdata,
    output logic [1:0] bar0_rresp,
    // BAR1, BlueFlame
    input  logic bar1_awvalid,
    output logic bar1_awready,
    input  logic [31:0] bar1_awaddr,
    input  logic [7:0] bar1_awlen,
    input  logic bar1_wvalid,
    output logic bar1_wready,
    input  logic [DATA_W-1:0] bar1_wdata,
    input  logic [DATA_W/8-1:0] bar1_wstrb,
    input  logic bar1_wlast,
    output logic bar1_bvalid,
    input  logic bar1_bready,
    output logic [1:0] bar1_bresp,
    // BAR2, registers
    input  logic [31:0] bar2_awaddr,
    input  logic bar2_awvalid,
    output logic bar2_awready,
    input  logic [31:0] bar2_wdata,
    input  logic [3:0] bar2_wstrb,
    input  logic bar2_wvalid,
    output logic bar2_wready,
    output logic [1:0] bar2_bresp,
    output logic bar2_bvalid,
    input  logic bar2_bready,
    input  logic [31:0] bar2_araddr,
    input  logic bar2_arvalid,
    output logic bar2_arready,
    output logic [31:0] bar2_rdata,
    output logic [1:0] bar2_rresp,
    output logic bar2_rvalid,
    input  logic bar2_rready,
    // GDR window
    input  logic gdr_awvalid,
    output logic gdr_awready,
    input  logic [31:0] gdr_awaddr,
    input  logic [7:0] gdr_awlen,
    input  logic gdr_wvalid,
    output logic gdr_wready,
    input  logic [DATA_W-1:0] gdr_wdata,
    input  logic [DATA_W/8-1:0] gdr_wstrb,
    input  logic gdr_wlast,
    output logic gdr_bvalid,
    input  logic gdr_bready,
    output logic [1:0] gdr_bresp,
    input  logic gdr_arvalid,
    output logic gdr_arready,
    input  logic [31:0] gdr_araddr,
    input  logic [7:0] gdr_arlen,
    output logic gdr_rvalid,
    input  logic gdr_rready,
    output logic [DATA_W-1:0] gdr_rdata,
    output logic [1:0] gdr_rresp,
    output logic gdr_rlast,
    // To the MAC (mac_clk)
    output logic mac_tx_valid,
    input  logic mac_tx_ready,
    output logic [DATA_W-1:0] mac_tx_data,
    output logic [7:0] mac_tx_cnt,
    output logic mac_tx_last,
    output logic mac_tx_err,
    // From the MAC (mac_clk)
    input  logic mac_rx_valid,
    input  logic [DATA_W-1:0] mac_rx_data,
    input  logic [7:0] mac_rx_cnt,
    input  logic mac_rx_last,
    input  logic mac_rx_err,
    // Raw frames (core_clk)
    input  logic raw_tx_valid,
    output logic raw_tx_ready,
    input  logic [DATA_W-1:0] raw_tx_data,
    input  logic [7:0] raw_tx_cnt,
    input  logic raw_tx_last,
    output logic raw_rx_valid,
    input  logic raw_rx_ready,
    output logic [DATA_W-1:0] raw_rx_data,
    output logic [7:0] raw_rx_cnt,
    output logic raw_rx_last,
    // Trace bus: one lane per source, {event, qpn, info}
    output logic [N_TRC-1:0] trc_valid_o,
    output logic [N_TRC*64-1:0] trc_o,
    output logic [N_TRC-1:0] trc_sampled_o,
    // Stream borders, in the order of the list below
    output logic [N_BORDER-1:0] border_valid_o,
    output logic [N_BORDER-1:0] border_ready_o
);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_data_w
    $error("rnic_top: DATA_W must be 128, 256, 512 or 1024");
  end
  // What the identity registers can say and the windows of the register file hold.
  if (N_QP < 1 || N_QP > 16384 || (UAR_STRIDE != 256 && UAR_STRIDE != 4096)) begin : gen_bad_qp
    $error("rnic_top: N_QP must be 1 to 16384, UAR_STRIDE 256 or 4096");
  end
  if (N_CQ < 2 || N_CQ > 4096 || N_EQ < 1 || N_EQ > 256 || N_MSIX < 1 ||
      N_MSIX > 64) begin : gen_bad_queues
    $error("rnic_top: N_CQ must be 2 to 4096, N_EQ 1 to 256, N_MSIX 1 to 64");
  end
  if (N_MR < 2 || N_MR > 65535 || N_PD < 2 || N_PD > 65535 || N_PATH < 2 ||
      N_PATH > 65535) begin : gen_bad_tables
    $error("rnic_top: N_MR, N_PD and N_PATH must be 2 to 65535");
  end
  if (DEVMEM_BYTES < 4096 || DEVMEM_BYTES > rnic_regs_pkg::CSR_GDR_WINDOW_SIZE ||
      (DEVMEM_BYTES & (DEVMEM_BYTES - 1)) != 0) begin : gen_bad_devmem
    $error("rnic_top: DEVMEM_BYTES must be a power of two, 4 KiB to 2 MiB");
  end
  if (N_TXSLOT < 4 || N_TXSLOT > 256 || (N_TXSLOT & (N_TXSLOT - 1)) != 0 || N_TAG < 8 ||
      N_TAG > 256 || (N_TAG & (N_TAG - 1)) != 0) begin : gen_bad_slots
    $error("rnic_top: N_TXSLOT must be a power of two, 4 to 256, N_TAG a power of two, 8 to 256");
  end
  if (CTX_LAT < 1 || CTX_LAT > 3 || GEN_FCS > 1) begin : gen_bad_options
    $error("rnic_top: CTX_LAT must be 1 to 3, GEN_FCS 0 or 1");
  end
  if (N_CTX != N_QP && (N_CTX > N_QP || N_CTX < 8 || (N_CTX & (N_CTX - 1)) != 0 ||
                        CTX_LAT != 1)) begin : gen_bad_ctx
    $error("rnic_top: N_CTX must be N_QP, or a power of two from 8 below it with CTX_LAT 1");
  end
  // arp_fsm has the DMA ports that ctx_cache would have.
  if (N_GROUP != 0 && (N_CTX != N_QP ||
                       N_STAGE * 4096 + N_RING * 64 > DEVMEM_BYTES)) begin : gen_bad_arp
    $error("rnic_top: N_GROUP needs N_CTX = N_QP, and DEVMEM_BYTES for the buffers of a group");
  end
  if (CORE_PS < 100 || CORE_PS > 65535 || MAC_PS < 100 || MAC_PS > 65535) begin : gen_bad_clocks
    $error("rnic_top: CORE_PS and MAC_PS must be 100 to 65535");
  end

  logic core_rst, mac_rst;
  logic running, ready, tx_quiet;
  logic [9:0] gpu_accepted, gpu_done, dev_accepted, dev_done;
  logic pcq_valid, pcq_ready;
  rnic_pkg::cqe_req_t pcq;
  logic [rnic_regs_pkg::N_COUNTERS-1:0] cnt_inc;
  logic [5:0] cnt_add;
  logic [95:0] cnt_amount;
  logic [12:0] init_done;
  logic [7:0] qpi_valid, qpi_ready;

  // Nets: posted work
  logic db_page_valid;
  logic db_page_ready;
  logic [23:0] db_page_qpn;
  logic [15:0] db_page_index;
  logic rqdb_valid;
  logic rqdb_ready;
  logic [23:0] rqdb_qpn;
  logic [15:0] rqdb_index;
  logic cqw_valid;
  logic cqw_ready;
  logic [15:0] cqw_cqn;
  logic [15:0] cqw_index;
  logic cqw_arm;
  logic cqw_arm_sol;
  logic ctx_db_lk_valid;
  logic ctx_db_lk_ready;
  logic [23:0] ctx_db_lk_qpn;
  logic ctx_db_ctx_valid;
  rnic_pkg::qp_conn_t ctx_db_ctx;
  rnic_pkg::qp_init_t qpi;
  logic cnt_doorbell_refused__doorbell;
  logic bf_valid;
  logic bf_ready;
  rnic_pkg::wqe_entry_t bf;
  logic db_bf_valid;
  logic db_bf_ready;
  logic [23:0] db_bf_qpn;
  logic [15:0] db_bf_index;
  logic cnt_bf_fallbacks__blueflame;
  logic cnt_doorbell_refused__blueflame;
  logic db_valid;
  logic db_ready;
  logic [23:0] db_qpn;
  logic [15:0] db_index;
  logic ctx_sch_lk_valid;
  logic ctx_sch_lk_ready;
  logic [23:0] ctx_sch_lk_qpn;
  logic ctx_sch_ctx_valid;
  rnic_pkg::qp_conn_t ctx_sch_ctx;
  logic wqe_req_valid;
  logic wqe_req_ready;
  logic [23:0] wqe_req_qpn;
  logic [15:0] wqe_req_index;
  logic [6:0] wqe_req_blocks;
  logic [15:0] wqe_req_avail;
  logic fetch_done_valid;
  logic fetch_done_ready;
  logic [23:0] fetch_done_qpn;
  logic fetch_done_last;
  logic [15:0] fetch_done_next;
  logic [4:0] fetch_done_pushed;
  logic bfw_valid;
  rnic_pkg::wqe_entry_t bfw;
  logic store_flush_valid;
  logic store_flush_ready;
  logic [23:0] store_flush_qpn;
  logic work_turn_valid;
  logic work_turn_ready;
  logic [23:0] work_turn_qpn;
  logic sched_turn_valid;
  logic sched_turn_ready;
  logic [23:0] sched_turn_qpn;
  logic turn_valid;
  logic turn_ready;
  logic [23:0] turn_qpn;
  logic turn_done_valid;
  logic turn_done_ready;
  logic [23:0] turn_done_qpn;
  logic turn_done_more;
  logic [1:0] turn_done_blocked;
  logic [5:0] turn_done_popped;
  logic [15:0] turn_done_index;
  logic msg_room;
  logic qry_lk_valid;
  logic qry_lk_ready;
  logic [23:0] qry_lk_qpn;
  logic qry_valid;
  logic [15:0] qry_prod;
  logic [15:0] qry_fetch;
  logic bf_smp_valid;
  logic [23:0] bf_smp_qpn;
  logic bf_smp_hit;
  logic cnt_doorbells__sq_scheduler;
  logic cnt_doorbell_refused__sq_scheduler;
  logic cnt_bf_pushes__sq_scheduler;
  logic cnt_bf_fallbacks__sq_scheduler;
  logic ctx_wf_lk_valid;
  logic ctx_wf_lk_ready;
  logic [23:0] ctx_wf_lk_qpn;
  logic ctx_wf_ctx_valid;
  rnic_pkg::qp_conn_t ctx_wf_ctx;
  logic rd0_valid;
  logic rd0_ready;
  rnic_pkg::dma_rd_req_t rd0_req;
  logic rdrsp_valid;
  rnic_pkg::dma_rd_rsp_t rdrsp;
  logic [DATA_W-1:0] rdrsp_data;
  logic wqe_valid;
  logic wqe_ready;
  rnic_pkg::wqe_entry_t wqe;
  logic wf_smp_valid;
  logic wf_smp_take;
  logic [23:0] wf_smp_qpn;
  logic wf_smp_hit;
  logic cnt_wqe_fetched__wqe_fetch_engine;
  logic cnt_wqe_errors__wqe_fetch_engine;
  logic whd_lk_valid;
  logic whd_lk_ready;
  logic [23:0] whd_lk_qpn;
  logic whd_valid;
  logic whd_ready;
  logic whd_empty;
  logic whd_last;
  rnic_pkg::wqe_entry_t whd;
  logic whd_stop;
  logic wpop_valid;
  logic [23:0] wpop_qpn;

  // Nets: requester
  logic [7:0] cfg_mac_cfg_ack_req_every;
  logic ctx_sq_lk_valid;
  logic ctx_sq_lk_ready;
  logic [23:0] ctx_sq_lk_qpn;
  logic ctx_sq_ctx_valid;
  rnic_pkg::qp_conn_t ctx_sq_ctx;
  logic half_snd_lk_valid;
  logic half_snd_lk_ready;
  logic [23:0] half_snd_lk_qpn;
  logic half_snd_ctx_valid;
  rnic_pkg::qp_send_t half_snd_ctx;
  logic half_snd_wr_valid;
  logic [23:0] half_snd_wr_qpn;
  rnic_pkg::qp_send_t half_snd_wr;
  logic mrq0_valid;
  logic mrq0_ready;
  rnic_pkg::mr_req_t mrq0;
  logic mrs0_valid;
  rnic_pkg::mr_rsp_t mrs0;
  logic slot_valid;
  logic slot_ready;
  logic [7:0] slot_id;
  logic txp_valid;
  logic txp_ready;
  rnic_pkg::tx_pkt_t txp;
  logic [7:0] txp_slot;
  logic inl_valid;
  logic inl_ready;
  logic [7:0] inl_slot;
  logic [767:0] inl_data;
  logic [6:0] inl_len;
  logic rd1_valid;
  logic rd1_ready;
  rnic_pkg::dma_rd_req_t rd1_req;
  logic msg_push_valid;
  logic msg_push_ready;
  logic [23:0] msg_push_qpn;
  rnic_pkg::msg_t msg_push;
  logic terr_sq_valid;
  logic terr_sq_ready;
  logic [23:0] terr_sq_qpn;
  logic [15:0] terr_sq_index;
  logic [7:0] terr_sq_status;
  logic cnt_msgs_posted__sq_engine;
  logic cnt_tx_requests__sq_engine;
  logic mhd_lk_valid;
  logic mhd_lk_ready;
  logic [23:0] mhd_lk_qpn;
  logic mhd_valid;
  logic mhd_empty;
  rnic_pkg::msg_t mhd;
  logic mpop_valid;
  logic [23:0] mpop_qpn;
  logic nudge_valid;
  logic nudge_ready;
  logic [23:0] nudge_qpn;

  // Nets: transmit path
  logic [12:0] cfg_tx_start_threshold_bytes;
  logic txb_valid;
  logic txb_ready;
  logic [DATA_W-1:0] txb_data;
  logic [7:0] txb_cnt;
  logic txb_last;
  logic txb_abort;
  rnic_pkg::tx_pkt_t txb_pkt;
  logic terr_tx_valid;
  logic terr_tx_ready;
  logic [23:0] terr_tx_qpn;
  logic [15:0] terr_tx_index;
  logic [7:0] terr_tx_status;
  logic rsp_valid;
  logic rsp_ready;
  rnic_pkg::tx_pkt_t rsp;
  logic path_tx_lk_valid;
  logic path_tx_lk_ready;
  logic [15:0] path_tx_lk_index;
  logic path_tx_valid;
  rnic_pkg::path_t path_tx;
  logic pkt_valid;
  logic pkt_ready;
  logic [DATA_W-1:0] pkt_data;
  logic [7:0] pkt_cnt;
  logic pkt_last;
  logic pkt_abort;
  rnic_pkg::tx_eth_t pkt_eth;
  logic cnt_tx_no_path__tx_packetizer;

  // Nets: congestion
  logic dcqcn_on;
  logic marked_rs_valid;
  rnic_pkg::marked_t marked_rs;
  logic marked_cp_valid;
  rnic_pkg::marked_t marked_cp;
  logic cnp_valid;
  logic cnp_ready;
  rnic_pkg::tx_pkt_t cnp;
  logic hdr_valid;
  logic hdr_ready;
  rnic_pkg::tx_pkt_t hdr;
  logic int_on;
  logic [3:0] int_unit;
  logic echo_get;
  logic [23:0] echo_get_qpn;
  logic echo_valid;
  rnic_pkg::telemetry_t echo;
  logic put_int_valid;
  logic [23:0] put_int_qpn;
  rnic_pkg::telemetry_t put_int;
  logic bare_valid;
  logic bare_ready;
  logic [DATA_W-1:0] bare_data;
  logic [7:0] bare_cnt;
  logic bare_last;
  logic bare_abort;
  rnic_pkg::tx_eth_t bare_eth;
  logic bare_add;
  logic bare_echo;
  rnic_pkg::telemetry_t bare_int;
  rnic_pkg::telemetry_t cc_ack_tele;
  logic cnt_int_unused__rx_completer;
  logic cnt_sent__cnp_gen;
  logic cnt_lost__cnp_gen;
  logic cnt_cnp_handled__rx_completer;
  logic cnt_cnp_ignored__rx_completer;
  logic mrg_valid;
  logic mrg_ready;
  logic [DATA_W-1:0] mrg_data;
  logic [7:0] mrg_cnt;
  logic mrg_last;
  logic mrg_abort;
  rnic_pkg::tx_eth_t mrg_eth;
  logic cnt_tx_frames__cdc_tx;
  logic cnt_tx_raw_frames__cdc_tx;
  logic [15:0] cnt_tx_bytes_amount__cdc_tx;
  logic cnt_tx_underruns__cdc_tx;
  logic [23:0] underrun_qpn;
  logic [23:0] underrun_psn;
  logic txc_valid;
  logic txc_ready;
  logic [DATA_W-1:0] txc_data;
  logic [7:0] txc_cnt;
  logic txc_last;
  logic txc_abort;
  rnic_pkg::tx_eth_t txc_eth;
  logic [7:0] txc_level;
  logic mac_underrun;
  logic mac_underrun_request;
  logic [23:0] mac_underrun_qpn;
  logic [23:0] mac_underrun_psn;

  // Nets: receive path
  logic mrx_valid;
  logic [DATA_W-1:0] mrx_data;
  logic [7:0] mrx_cnt;
  logic mrx_last;
  logic mrx_err;
  logic rxc_valid;
  logic [DATA_W-1:0] rxc_data;
  logic [7:0] rxc_cnt;
  logic rxc_last;
  logic rxc_err;
  logic rxc_ovf;
  logic cnt_rx_cdc_drops__cdc_rx;
  logic cfg_mac_cfg_promisc_raw;
  logic cfg_mac_cfg_mig_req;
  logic [47:0] cfg_port_mac_addr;
  logic bt_valid;
  logic [DATA_W-1:0] bt_data;
  logic [7:0] bt_cnt;
  logic bt_last;
  logic vd_valid;
  logic [1:0] vd_kind;
  rnic_pkg::rx_meta_t vd_meta;
  logic early_valid, stored_valid, answer_valid, answered;
  logic [23:0] early_qpn, stored_qpn, answer_qpn;
  logic cnt_tx_dropped__tx_buffer;
  logic cnt_rx_frames__rx_parser;
  logic [15:0] cnt_rx_bytes_amount__rx_parser;
  logic cnt_rx_crc_errors__rx_parser;
  logic cnt_rx_runts__rx_parser;
  logic cnt_rx_icrc_errors__rx_parser;
  logic cnt_rx_header_errors__rx_parser;
  logic cnt_rx_roce_packets__rx_parser;
  logic cnt_rx_raw_filtered__rx_parser;
  logic [15:0] cfg_rx_buf_drop_reserve;
  logic pk_valid;
  logic pk_ready;
  rnic_pkg::rx_meta_t pk_meta;
  logic row_valid;
  logic row_ready;
  logic [DATA_W-1:0] row_data;
  logic row_first;
  logic row_last;
  logic [6:0] row_off;
  logic [12:0] row_len;
  logic cnt_rx_buffer_drops__rx_buffer;
  logic cnt_rx_raw_frames__rx_buffer;
  logic cnt_rx_raw_drops__rx_buffer;
  logic [15:0] rx_level_rows;

  // Nets: pauses
  logic cfg_pfc_ctrl_rx_link;
  logic cfg_pfc_ctrl_tx_link;
  logic cfg_pfc_ctrl_by_pcp;
  logic [7:0] cfg_pfc_ctrl_rx_classes;
  logic [7:0] cfg_pfc_ctrl_tx_classes;
  logic [2:0] cfg_pfc_ctrl_default_class;
  logic [15:0] cfg_pfc_quanta_quanta;
  logic [255:0] cfg_pfc_dscp_map_map;
  logic [191:0] cfg_pfc_xoff_bytes;
  logic [191:0] cfg_pfc_xon_bytes;
  logic vd_vlan;
  logic [2:0] vd_pcp;
  logic rx_keep;
  logic rx_keep_past;
  logic [15:0] rx_keep_rows;
  logic rx_gone;
  logic [2:0] rx_class;
  logic [7:0] rx_xoff;
  // Paused as the peer says, as it is obeyed; classes that may take no slot of tx_buffer; {known,
  // class} of a parked turn, a turn, a response's turn, a timer.
  logic [7:0] rx_paused, tx_paused, tx_hold, tx_storm;
  logic rx_link_paused;
  logic [8:0] pfc_storm;
  logic [2:0] tx_class_of_txp, tx_class_of_sq, tx_class_of_re, tx_class_of_txb;
  logic [15:0] qp_class_of;
  logic [23:0] park_qpn, timer_qpn, sq_pkt_qpn;
  logic [15:0] sq_pkt_path, re_pkt_path;
  logic sq_pkt, txb_gone, txd_valid, txd_ready;
  logic [2:0] txb_gone_class;
  logic [19:0] cfg_pfc_storm_limit_us, cfg_pfc_restore_us;
  logic [1:0] cfg_pfc_storm_action;
  logic link_free, link_drop, pfc_link_free, pfc_link_drop;
  logic ev_pfc_valid, ev_pfc_ready;
  rnic_pkg::event_t ev_pfc;
  logic pfc_cnt_dropped, cnt_storms__pfc_storm, cnt_dropped__storm_drop, cnt_dropped__cdc_pfc;
  logic pfc_link_paused;
  logic [35:0] pfc_bits;
  logic [7:0] pfc_rx_classes;
  logic pfc_rx_link;
  logic pfc_tx_link;
  logic [15:0] pfc_quanta;
  logic [47:0] pfc_mac;
  logic [7:0] pfc_xoff;
  logic [7:0] pfc_mac_paused;
  logic pfc_cnt_rx_pause;
  logic pfc_cnt_rx_bad;
  logic [7:0] pfc_cnt_rx_prio;
  logic pfc_cnt_tx_pause;
  logic [7:0] pfc_cnt_tx_prio;
  logic cnt_rx_pause__cdc_pfc;
  logic cnt_rx_mac_ctrl_bad__cdc_pfc;
  logic [7:0] cnt_rx_prio_pause__cdc_pfc;
  logic cnt_tx_pause__cdc_pfc;
  logic [7:0] cnt_tx_prio_pause__cdc_pfc;
  logic rxm_valid;
  logic rxm_ready;
  rnic_pkg::rx_meta_t rxm;
  logic rxd_valid;
  logic rxd_ready;
  logic [DATA_W-1:0] rxd_data;
  logic [7:0] rxd_cnt;
  logic rxd_last;
  logic req_valid;
  logic req_ready;
  rnic_pkg::rx_meta_t req;
  logic resp_valid;
  logic resp_ready;
  rnic_pkg::rx_meta_t resp;
  logic ord_valid;
  logic ord_ready;
  rnic_pkg::rx_ord_t ord;
  logic cnt_rx_cnp__rx_dispatch;
  logic cnt_ecn_marked__rx_dispatch;

  // Nets: responder
  logic ctx_rs_lk_valid;
  logic ctx_rs_lk_ready;
  logic [23:0] ctx_rs_lk_qpn;
  logic ctx_rs_ctx_valid;
  rnic_pkg::qp_conn_t ctx_rs_ctx;
  logic half_rcv_lk_valid;
  logic half_rcv_lk_ready;
  logic [23:0] half_rcv_lk_qpn;
  logic half_rcv_ctx_valid;
  rnic_pkg::qp_recv_t half_rcv_ctx;
  logic half_rcv_wr_valid;
  logic [23:0] half_rcv_wr_qpn;
  rnic_pkg::qp_recv_t half_rcv_wr;
  logic path_rp_lk_valid;
  logic path_rp_lk_ready;
  logic [15:0] path_rp_lk_index;
  logic path_rp_valid;
  rnic_pkg::path_t path_rp;
  logic mrq1_valid;
  logic mrq1_ready;
  rnic_pkg::mr_req_t mrq1;
  logic mrs1_valid;
  rnic_pkg::mr_rsp_t mrs1;
  logic [23:0] q_rq_qpn;
  logic [15:0] q_rq_prod;
  logic place_valid;
  logic place_ready;
  rnic_pkg::rx_place_t place;
  rnic_pkg::cqe_req_t place_cqe;
  logic ackq_valid;
  logic ackq_ready;
  rnic_pkg::ack_req_t ackq;
  logic fail_rs_valid;
  logic fail_rs_ready;
  rnic_pkg::qp_fail_t fail_rs;
  logic cnt_rx_unknown_qp__rx_responder;
  logic cnt_rx_pkey_errors__rx_responder;
  logic cnt_rx_addr_errors__rx_responder;
  logic cnt_rx_requests__rx_responder;
  logic cnt_rx_duplicates__rx_responder;
  logic cnt_rx_out_of_order__rx_responder;
  logic cnt_doorbell_refused__rq_store;
  logic cnt_msgs_flushed__rx_responder;
  logic wr0_req_valid;
  logic wr0_req_ready;
  rnic_pkg::dma_wr_req_t wr0_req;
  logic wr0_dat_valid;
  logic wr0_dat_ready;
  logic [DATA_W-1:0] wr0_dat_data;
  logic [7:0] wr0_dat_cnt;
  logic wr0_dat_last;
  logic cq0_valid;
  logic cq0_ready;
  rnic_pkg::cqe_req_t cq0;
  logic [7:0] cfg_ack_coalesce_count;
  logic [15:0] cfg_ack_coalesce_cycles;
  logic ctx_re_lk_valid;
  logic ctx_re_lk_ready;
  logic [23:0] ctx_re_lk_qpn;
  logic ctx_re_ctx_valid;
  rnic_pkg::qp_conn_t ctx_re_ctx;
  logic cnt_tx_acks__resp_engine;
  logic cnt_tx_nak_seq__resp_engine;
  logic cnt_tx_nak_inv__resp_engine;
  logic cnt_tx_nak_access__resp_engine;
  logic cnt_tx_nak_op__resp_engine;
  logic cnt_tx_rnr_nak__resp_engine;

  // Nets: acknowledged side of the requester
  logic terr_valid;
  logic terr_ready;
  logic [23:0] terr_qpn;
  logic [15:0] terr_index;
  logic [7:0] terr_status;
  logic ctx_cp_lk_valid;
  logic ctx_cp_lk_ready;
  logic [23:0] ctx_cp_lk_qpn;
  logic ctx_cp_ctx_valid;
  rnic_pkg::qp_conn_t ctx_cp_ctx;
  logic half_cps_lk_valid;
  logic half_cps_lk_ready;
  logic [23:0] half_cps_lk_qpn;
  logic half_cps_ctx_valid;
  rnic_pkg::qp_send_t half_cps_ctx;
  logic half_ack_lk_valid;
  logic half_ack_lk_ready;
  logic [23:0] half_ack_lk_qpn;
  logic half_ack_ctx_valid;
  rnic_pkg::qp_ack_t half_ack_ctx;
  logic half_ack_wr_valid;
  logic [23:0] half_ack_wr_qpn;
  rnic_pkg::qp_ack_t half_ack_wr;
  logic path_cp_lk_valid;
  logic path_cp_lk_ready;
  logic [15:0] path_cp_lk_index;
  logic path_cp_valid;
  rnic_pkg::path_t path_cp;
  logic cq1_valid;
  logic cq1_ready;
  rnic_pkg::cqe_req_t cq1;
  logic fail_cp_valid;
  logic fail_cp_ready;
  rnic_pkg::qp_fail_t fail_cp;
  logic cnt_rx_ack__rx_completer;
  logic cnt_rx_nak__rx_completer;
  logic cnt_rx_ghost_acks__rx_completer;
  logic cnt_rx_unknown_qp__rx_completer;
  logic cnt_rx_pkey_errors__rx_completer;
  logic cnt_rx_addr_errors__rx_completer;
  logic cnt_msgs_completed__rx_completer;
  logic cnt_msgs_flushed__rx_completer;

  // Nets: completions and events
  logic cq_cons_req;
  logic cq_cons_we;
  logic [14:0] cq_cons_addr;
  logic [31:0] cq_cons_wdata;
  logic [3:0] cq_cons_wstrb;
  logic cq_cons_ack;
  logic [31:0] cq_cons_rdata;
  logic cqdb_valid;
  logic cqdb_ready;
  logic [15:0] cqdb_cqn;
  logic [15:0] cqdb_index;
  logic cqdb_arm;
  logic cqdb_arm_sol;
  logic [63:0] trace_clock;
  logic cq_cw_valid;
  logic [15:0] cq_cw_index;
  rnic_pkg::cq_entry_t cq_cw;
  logic cq_cr_valid;
  logic [15:0] cq_cr_index;
  logic cq_crs_valid;
  rnic_pkg::cq_entry_t cq_crs;
  logic [15:0] cq_crs_prod;
  logic [15:0] cq_crs_cons;
  logic wr1_req_valid;
  logic wr1_req_ready;
  rnic_pkg::dma_wr_req_t wr1_req;
  logic wr1_dat_valid;
  logic wr1_dat_ready;
  logic [DATA_W-1:0] wr1_dat_data;
  logic [7:0] wr1_dat_cnt;
  logic wr1_dat_last;
  logic ev0_valid;
  logic ev0_ready;
  rnic_pkg::event_t ev0;
  logic fail_cg_valid;
  logic fail_cg_ready;
  rnic_pkg::qp_fail_t fail_cg;
  logic cnt_cqe_written__cqe_gen;
  logic cnt_cq_overrun__cqe_gen;
  logic cnt_doorbell_refused__cqe_gen;
  logic ev1_valid;
  logic ev1_ready;
  rnic_pkg::event_t ev1;
  logic eq_cons_req;
  logic eq_cons_we;
  logic [10:0] eq_cons_addr;
  logic [31:0] eq_cons_wdata;
  logic [3:0] eq_cons_wstrb;
  logic eq_cons_ack;
  logic [31:0] eq_cons_rdata;
  logic eq_cw_valid;
  logic [7:0] eq_cw_index;
  rnic_pkg::eq_entry_t eq_cw;
  logic eq_cr_valid;
  logic [7:0] eq_cr_index;
  logic eq_crs_valid;
  rnic_pkg::eq_entry_t eq_crs;
  logic [15:0] eq_crs_prod;
  logic msix_table_req;
  logic msix_table_we;
  logic [9:0] msix_table_addr;
  logic [31:0] msix_table_wdata;
  logic [3:0] msix_table_wstrb;
  logic msix_table_ack;
  logic [31:0] msix_table_rdata;
  logic msix_pba_req;
  logic [3:0] msix_pba_addr;
  logic msix_pba_ack;
  logic [31:0] msix_pba_rdata;
  logic wr2_req_valid;
  logic wr2_req_ready;
  rnic_pkg::dma_wr_req_t wr2_req;
  logic wr2_dat_valid;
  logic wr2_dat_ready;
  logic [DATA_W-1:0] wr2_dat_data;
  logic [7:0] wr2_dat_cnt;
  logic wr2_dat_last;
  logic cnt_eqe_written__event_queue;
  logic cnt_eq_overrun__event_queue;
  logic cnt_msix_sent__event_queue;
  logic cnt_doorbell_refused__event_queue;

  // Nets: complete RC
  logic rwq_valid;
  logic rwq_ready;
  logic [23:0] rwq_qpn;
  logic rwg_valid;
  logic rwg_ready;
  logic [23:0] rwg_qpn;
  logic inv_valid;
  logic inv_ready;
  logic [23:0] inv_qpn;
  logic settled_valid;
  logic settled_ready;
  logic [23:0] settled_qpn;
  logic rws_valid;
  logic rws_ready;
  rnic_pkg::rewind_t rws;
  logic rwd_valid;
  logic rwd_ready;
  logic [23:0] rwd_qpn;
  logic [15:0] rwd_index;
  logic arm_valid;
  rnic_pkg::timer_set_t arm;
  logic tms_valid;
  rnic_pkg::timer_set_t tms;
  logic tmo_valid;
  logic tmo_ready;
  logic [23:0] tmo_qpn;
  logic tmo_rnr;
  logic kick_valid;
  logic [23:0] kick_qpn;
  logic kick_ready;
  logic ctx_sqa_lk_valid;
  logic ctx_sqa_lk_ready;
  logic [23:0] ctx_sqa_lk_qpn;
  logic ctx_sqa_ctx_valid;
  rnic_pkg::qp_ack_t ctx_sqa_ctx;
  logic [767:0] msg_push_list;
  logic passed_valid;
  logic passed_ready;
  logic [23:0] passed_qpn;
  logic [767:0] msg_hd_list;
  logic lop0_valid;
  logic lop0_ready;
  rnic_pkg::mr_lop_t lop0;
  logic lop0_done_valid;
  logic lop0_done_ok;
  logic lop1_valid;
  logic lop1_ready;
  rnic_pkg::mr_lop_t lop1;
  logic lop1_done_valid;
  logic lop1_done_ok;
  logic left_valid;
  logic left_ready;
  logic [23:0] left_qpn;
  logic [23:0] left_psn;
  logic spoil_valid;
  logic spoil_ready;
  logic [23:0] spoil_qpn;
  logic cplace_valid;
  logic cplace_ready;
  rnic_pkg::rx_place_t cplace;
  rnic_pkg::cqe_req_t cplace_cqe;
  logic mrq2_valid;
  logic mrq2_ready;
  rnic_pkg::mr_req_t mrq2;
  logic mrs2_valid;
  rnic_pkg::mr_rsp_t mrs2;
  logic mrq3_valid;
  logic mrq3_ready;
  rnic_pkg::mr_req_t mrq3;
  logic mrs3_valid;
  rnic_pkg::mr_rsp_t mrs3;
  logic ev_cp_valid;
  logic ev_cp_ready;
  rnic_pkg::event_t ev_cp;
  logic ev_rs_valid;
  logic ev_rs_ready;
  rnic_pkg::event_t ev_rs;
  logic fail_re_valid;
  logic fail_re_ready;
  rnic_pkg::qp_fail_t fail_re;
  logic placed;
  logic rd_placed;
  logic rd2_valid;
  logic rd2_ready;
  rnic_pkg::dma_rd_req_t rd2_req;
  logic rd3_valid;
  logic rd3_ready;
  rnic_pkg::dma_rd_req_t rd3_req;
  logic rd4_valid;
  logic rd4_ready;
  rnic_pkg::dma_rd_req_t rd4_req;
  logic rd5_valid;
  logic rd5_ready;
  rnic_pkg::dma_rd_req_t rd5_req;
  logic rd6_valid;
  logic rd6_ready;
  rnic_pkg::dma_rd_req_t rd6_req;
  logic wr4_req_valid;
  logic wr4_req_ready;
  rnic_pkg::dma_wr_req_t wr4_req;
  logic wr4_dat_valid;
  logic wr4_dat_ready;
  logic [DATA_W-1:0] wr4_dat_data;
  logic [7:0] wr4_dat_cnt;
  logic wr4_dat_last;
  logic [6:0] pin;
  logic [167:0] pin_qpn;
  logic ctx_room;
  logic fail_cx_valid;
  logic fail_cx_ready;
  rnic_pkg::qp_fail_t fail_cx;
  logic [2:0] cnt_ctx_hits;
  logic cnt_ctx_misses;
  logic sq_slot_valid;
  logic sq_slot_ready;
  logic [7:0] sq_slot_id;
  logic sq_txp_valid;
  logic sq_txp_ready;
  rnic_pkg::tx_pkt_t sq_txp;
  logic [7:0] sq_txp_slot;
  logic re_slot_valid;
  logic re_slot_ready;
  logic [7:0] re_slot_id;
  logic re_txp_valid;
  logic re_txp_ready;
  rnic_pkg::tx_pkt_t re_txp;
  logic [7:0] re_txp_slot;
  logic rleft_valid;
  logic [23:0] rleft_qpn;
  logic rterr_valid;
  logic rterr_ready;
  logic [23:0] rterr_qpn;
  logic [23:0] rterr_psn;
  logic [23:0] rterr_msn;
  logic at_valid;
  logic at_ready;
  logic [63:0] at_addr;
  logic at_swap;
  logic [63:0] at_op0;
  logic [63:0] at_op1;
  logic [23:0] at_qpn;
  logic [23:0] at_psn;
  logic at_sampled;
  logic [79:0] at_tag;
  logic ar_valid;
  logic ar_ready;
  logic [79:0] ar_tag;
  logic [63:0] ar_value;
  logic ar_err;
  logic wr3_req_valid;
  logic wr3_req_ready;
  rnic_pkg::dma_wr_req_t wr3_req;
  logic wr3_dat_valid;
  logic wr3_dat_ready;
  logic [DATA_W-1:0] wr3_dat_data;
  logic [7:0] wr3_dat_cnt;
  logic wr3_dat_last;
  logic [4:0] wr_placed;
  logic cnt_atomics__atomic_unit;
  logic cnt_tx_resent__sq_engine;
  logic cnt_tx_rd_requests__sq_engine;
  logic cnt_rx_rd_responses__rx_completer;
  logic cnt_rx_rd_bad__rx_completer;
  logic cnt_rewinds__rx_completer;
  logic cnt_ack_timeouts__rx_completer;
  logic cnt_rnr_waits__rx_completer;
  logic cnt_implied_naks__rx_completer;
  logic cnt_tx_spoiled__rx_completer;
  logic cnt_rx_sends__rx_responder;
  logic cnt_rx_qkey_errors__rx_responder;
  logic cnt_rx_uc_drops__rx_responder;
  logic cnt_tx_rd_responses__resp_engine;
  logic cnt_rx_rd_dropped__resp_engine;
  logic cnt_mtt_hits__mr_table;
  logic cnt_mtt_misses__mr_table;
  logic qpr_valid;
  logic qpr_ready;
  logic rqh_lk_valid;
  logic [23:0] rqh_lk_qpn;
  logic rqh_posted;
  logic [15:0] rqh_prod;
  logic rqh_get;
  logic rqh_valid;
  rnic_pkg::rq_entry_t rqh;
  logic rqp_valid;
  logic [23:0] rqp_qpn;
  logic [15:0] rqp_index;
  logic rqf_valid;
  logic rqf_ready;
  logic [23:0] rqf_qpn;
  logic cnt_rq_fetched__rq_store;
  logic ctx_rq_lk_valid;
  logic ctx_rq_lk_ready;
  logic [23:0] ctx_rq_lk_qpn;
  logic ctx_rq_ctx_valid;
  rnic_pkg::qp_conn_t ctx_rq_ctx;
  logic ev_valid;
  logic ev_ready;
  rnic_pkg::event_t ev;
  logic [1:0] unused_ev_src;
  logic unused_ev_last;
  logic [3:0] cfg_timer_cfg_tick_shift;
  logic [2:0] fail_src;

  // Nets: dma and memory regions
  logic [2:0] cfg_dma_cfg_mps;
  logic [2:0] cfg_dma_cfg_mrrs;
  logic [7:0] cfg_dma_pacing_ctrl_max_reads;
  logic [19:0] cfg_dma_timeout_us;
  logic cfg_dma_cfg_relaxed;
  logic cfg_gdr_bar_en_enable;
  logic [255:0] cfg_gpu_base_addr;
  logic [255:0] cfg_gpu_limit_addr;
  logic [63:0] cfg_devmem_base_addr;
  logic drain;
  logic dma_idle;
  logic fault_valid;
  logic fault_ready;
  rnic_pkg::dma_fault_t fault;
  logic dm_wr_valid;
  logic dm_wr_ready;
  logic [31:0] dm_wr_row;
  logic [DATA_W-1:0] dm_wr_data;
  logic [DATA_W/8-1:0] dm_wr_strb;
  logic dm_rd_valid;
  logic dm_rd_ready;
  logic [31:0] dm_rd_row;
  logic [DATA_W-1:0] dm_rd_data;
  logic cnt_dma_reads__dma_master;
  logic cnt_dma_writes__dma_master;
  logic [15:0] cnt_dma_read_bytes_amount__dma_master;
  logic [15:0] cnt_dma_write_bytes_amount__dma_master;
  logic cnt_dma_read_errors__dma_master;
  logic cnt_dma_page_fault__dma_master;
  logic cnt_dma_timeouts__dma_master;
  logic cnt_gdr_refused__dma_master;
  logic mr_cw_valid;
  logic [23:0] mr_cw_index;
  rnic_pkg::mr_entry_t mr_cw;
  logic mr_cr_valid;
  logic mr_cr_ready;
  logic [23:0] mr_cr_index;
  logic mr_crs_valid;
  rnic_pkg::mr_entry_t mr_crs;
  logic cnt_mr_errors__mr_table;
  logic cnt_gdr_refused__mr_table;

  // Nets: contexts and tables
  logic ctx_cw_valid;
  logic [23:0] ctx_cw_qpn;
  rnic_pkg::qp_conn_t ctx_cw;
  logic q_lk_valid;
  logic q_lk_ready;
  logic [23:0] q_lk_qpn;
  logic q_ctx_valid;
  rnic_pkg::qp_conn_t q_conn;
  rnic_pkg::qp_send_t q_snd;
  rnic_pkg::qp_ack_t q_ack;
  rnic_pkg::qp_recv_t q_rcv;
  logic path_cw_valid;
  logic [15:0] path_cw_index;
  rnic_pkg::path_t path_cw;
  logic path_cr_valid;
  logic path_cr_ready;
  logic [15:0] path_cr_index;
  logic path_crs_valid;
  rnic_pkg::path_t path_crs;
  logic mbox_in_req;
  logic mbox_in_we;
  logic [6:0] mbox_in_addr;
  logic [31:0] mbox_in_wdata;
  logic [3:0] mbox_in_wstrb;
  logic mbox_in_ack;
  logic [31:0] mbox_in_rdata;
  logic mbox_out_req;
  logic [6:0] mbox_out_addr;
  logic mbox_out_ack;
  logic [31:0] mbox_out_rdata;
  logic cfg_cmd_ctrl_go;
  logic cmd_busy;
  logic [7:0] cmd_status;
  logic [15:0] cmd_token;
  logic [19:0] cfg_qp_rate_limit_mbps;
  logic fatal;
  logic fail_valid;
  logic fail_ready;
  rnic_pkg::qp_fail_t fail;
  logic cnt_cmd_done__cmd_unit;
  logic cnt_cmd_errors__cmd_unit;

  // Nets: registers, reset
  logic [63:0] cfg_qp_ctx_base_addr;
  logic [31:0] cfg_mrc_path_mask_mask;
  logic cfg_reset_device;
  logic cfg_trace_ctrl_enable;
  logic cfg_trace_ctrl_all;
  logic cfg_trace_ctrl_qp_filter;
  logic cfg_trace_ctrl_clear;
  logic [3:0] cfg_trace_ctrl_one_in_log2;
  logic [23:0] cfg_trace_qpn_qpn;
  logic [63:0] cfg_trace_clk_count;
  logic cfg_trace_clk_count_we;
  logic [15:0] trace_level;
  logic [15:0] trace_lost;
  logic [1:0] cfg_cc_global_ctrl_mode;
  logic cfg_cc_global_ctrl_enable;
  logic [28:0] cfg_cc_global_ctrl_reserved;
  logic [29:0] cfg_cc_line_rate_kbps;
  logic [29:0] cfg_cc_min_rate_kbps;
  logic cfg_dcqcn_ctrl_production;
  logic cfg_dcqcn_ctrl_clamp;
  logic cfg_dcqcn_ctrl_clamp_after_time;
  logic [3:0] cfg_dcqcn_ctrl_gd;
  logic [7:0] cfg_dcqcn_ctrl_f;
  logic [16:0] cfg_dcqcn_g_value;
  logic [16:0] cfg_dcqcn_alpha_init_value;
  logic [16:0] cfg_dcqcn_first_frac_value;
  logic [16:0] cfg_dcqcn_max_cut_value;
  logic [29:0] cfg_dcqcn_first_rate_kbps;
  logic [29:0] cfg_dcqcn_ai_rate_kbps;
  logic [29:0] cfg_dcqcn_hai_rate_kbps;
  logic [31:0] cfg_dcqcn_byte_reset_bytes;
  logic [19:0] cfg_dcqcn_alpha_time_us;
  logic [19:0] cfg_dcqcn_dec_time_us;
  logic [19:0] cfg_dcqcn_inc_time_us;
  logic [15:0] cfg_dcqcn_np_interval;
  logic [1:0] cfg_dcqcn_np_scope;
  logic [5:0] cfg_cnp_class_dscp;
  logic [2:0] cfg_cnp_class_pcp;
  logic cfg_hpcc_ctrl_cut_old;
  logic cfg_hpcc_ctrl_fast_react;
  logic cfg_hpcc_ctrl_multi_rate;
  logic cfg_hpcc_ctrl_sample;
  logic cfg_hpcc_ctrl_path_check;
  logic [7:0] cfg_hpcc_ctrl_max_stage;
  logic [7:0] cfg_hpcc_ctrl_int_multi;
  logic [7:0] cfg_hpcc_ctrl_tx_limit;
  logic [24:0] cfg_hpcc_eta_value;
  logic [19:0] cfg_hpcc_base_rtt_ns;
  logic [29:0] cfg_hpcc_ai_rate_kbps;
  logic [23:0] cfg_hpcc_alpha_value;
  logic counters_req;
  logic [11:0] counters_addr;
  logic counters_ack;
  logic [31:0] counters_rdata;
  logic trace_ring_req;
  logic [4:0] trace_ring_addr;
  logic trace_ring_ack;
  logic [31:0] trace_ring_rdata;
  logic borders_req;
  logic [10:0] borders_addr;
  logic borders_ack;
  logic [31:0] borders_rdata;
  logic cnt_bad_register_access__csr;
  logic mac_rst_req;
  logic trace_lost_pulse;
  logic [15:0] trace_lost_amount;

  // Nets: AllReduce
  localparam int unsigned ARP = (N_GROUP == 0) ? 0 : 1;
  logic arp_cmd_valid;
  logic [1023:0] arp_cmd;
  logic arp_cmd_done;
  logic [7:0] arp_cmd_status;
  logic [1023:0] arp_cmd_answer;
  logic ask_valid;
  logic ask_ready;
  arp_pkg::ask_t ask;
  logic ans_valid;
  logic ans_ready;
  logic [2:0] ans;
  logic place_arp;
  logic pay_valid;
  logic pay_ready;
  logic [DATA_W-1:0] pay_data;
  logic pay_last;
  logic arp_rd_valid;
  rnic_pkg::dma_rd_req_t arp_rd_req;
  logic arp_wr_req_valid;
  rnic_pkg::dma_wr_req_t arp_wr_req;
  logic arp_wr_dat_valid;
  logic [DATA_W-1:0] arp_wr_dat_data;
  logic [7:0] arp_wr_dat_cnt;
  logic arp_wr_dat_last;
  logic push_valid;
  logic push_ready;
  rnic_pkg::wqe_entry_t push;
  logic mem_wr_valid;
  logic mem_wr_ready;
  logic [31:0] mem_wr_row;
  logic [DATA_W-1:0] mem_wr_data;
  logic [DATA_W/8-1:0] mem_wr_strb;
  logic [23:0] done_qpn;
  logic [15:0] done_index;
  logic ev_arp_valid;
  logic ev_arp_ready;
  rnic_pkg::event_t ev_arp;
  logic [6:0] cnt_arp;

  // Nets: congestion control
  logic cc_ready, cc_active;
  logic [31:0] now_q;
  logic cc_reset_valid, cc_reset_ready, cc_reset_done_q, qpi_db_ready;
  logic cc_cnp_valid;
  logic [23:0] cc_cnp_qpn;
  logic cc_ack_valid;
  logic [23:0] cc_ack_qpn, cc_ack_psn, cc_ack_next_psn;
  hpcc_pkg::stack_t cc_ack_int;
  logic cc_tx_valid_q;
  logic [23:0] cc_tx_qpn_q;
  logic [15:0] cc_tx_bytes_q;
  logic cc_rate_valid;
  logic [23:0] cc_rate_qpn;
  logic [29:0] cc_rate_kbps;
  logic [31:0] cc_rate_window;
  logic pace_chk, pace_limited, pace_want, pace_want_idle, pace_want_window;
  logic [23:0] pace_chk_qpn, pace_want_qpn;
  logic hurry_valid, hurry_ready, go_valid, go_ready, turn_done_window;
  logic [23:0] hurry_qpn, go_qpn;
  logic share_lk, debt_valid;
  logic rchk, rchk_limited, rask_valid, rask_ready, rtold, rtold_ok, rsp_made;
  logic [23:0] rchk_qpn, rask_qpn;
  logic [23:0] share_lk_qpn, debt_qpn;
  rnic_pkg::pace_t pace;
  logic [15:0] share_credit;
  logic [12:0] debt_value;
  logic pace_clear_valid, pace_clear_ready, pace_clear_done_q, sq_txp_held_q;
  logic [19:0] cfg_qp_rate_burst_bytes;
  logic [3:0] cfg_qp_rate_burst_late_log2;
  logic cnt_tx_paced__tx_pacer;
  logic cfg_cc_query_go, cc_qry_done;
  logic [23:0] cfg_cc_query_qpn;
  logic [29:0] cc_qry_rate, cc_qry_target;
  logic [31:0] cc_qry_window, cc_qry_alpha;
  logic [1:0] cc_qry_stage, cc_qry_name;
  logic [11:0] cc_qry_t_stage, cc_qry_b_stage;
  logic cnt_cc_lost__cc_unit;
  logic cnt_int_bad__cc_unit;

  // -- Posted work
  doorbell #(
      .N_QP(N_QP),
      .UAR_STRIDE(UAR_STRIDE)
  ) u_doorbell (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[0]),
      .s_awvalid(bar0_awvalid),
      .s_awready(bar0_awready),
      .s_awaddr(bar0_awaddr),
      .s_wvalid(bar0_wvalid),
      .s_wready(bar0_wready),
      .s_wdata(bar0_wdata),
      .s_wstrb(bar0_wstrb),
      .s_bvalid(bar0_bvalid),
      .s_bready(bar0_bready),
      .s_bresp(bar0_bresp),
      .s_arvalid(bar0_arvalid),
      .s_arready(bar0_arready),
      .s_araddr(bar0_araddr),
      .s_rvalid(bar0_rvalid),
      .s_rready(bar0_rready),
      .s_rdata(bar0_rdata),
      .s_rresp(bar0_rresp),
      .db_valid(db_page_valid),
      .db_ready(db_page_ready),
      .db_qpn(db_page_qpn),
      .db_index(db_page_index),
      .rqdb_valid,
      .rqdb_ready,
      .rqdb_qpn,
      .rqdb_index,
      .cqdb_valid(cqw_valid),
      .cqdb_ready(cqw_ready),
      .cqdb_cqn(cqw_cqn),
      .cqdb_index(cqw_index),
      .cqdb_arm(cqw_arm),
      .cqdb_arm_sol(cqw_arm_sol),
      .db_lk_valid(ctx_db_lk_valid),
      .db_lk_ready(ctx_db_lk_ready),
      .db_lk_qpn(ctx_db_lk_qpn),
      .db_ctx_valid(ctx_db_ctx_valid),
      .db_ctx(ctx_db_ctx),
      .qpi_valid(qpi_valid[7] && !cc_reset_valid && !pace_clear_valid),
      .qpi_ready(qpi_db_ready),
      .qpi,
      .cnt_doorbell_refused_o(cnt_doorbell_refused__doorbell),
      .trc_valid_o(trc_valid_o[0]),
      .trc_o(trc_o[0+:64]),
      .trc_sampled_o(trc_sampled_o[0])
  );
  blueflame #(
      .DATA_W(DATA_W),
      .N_QP(N_QP)
  ) u_blueflame (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .s_awvalid(bar1_awvalid),
      .s_awready(bar1_awready),
      .s_awaddr(bar1_awaddr),
      .s_awlen(bar1_awlen),
      .s_wvalid(bar1_wvalid),
      .s_wready(bar1_wready),
      .s_wdata(bar1_wdata),
      .s_wstrb(bar1_wstrb),
      .s_wlast(bar1_wlast),
      .s_bvalid(bar1_bvalid),
      .s_bready(bar1_bready),
      .s_bresp(bar1_bresp),
      .bf_valid,
      .bf_ready,
      .bf,
      .db_valid(db_bf_valid),
      .db_ready(db_bf_ready),
      .db_qpn(db_bf_qpn),
      .db_index(db_bf_index),
      .cnt_bf_fallbacks_o(cnt_bf_fallbacks__blueflame),
      .cnt_doorbell_refused_o(cnt_doorbell_refused__blueflame),
      .trc_valid_o(trc_valid_o[1]),
      .trc_o(trc_o[64+:64]),
      .trc_sampled_o(trc_sampled_o[1])
  );
  sq_scheduler #(
      .N_QP(N_QP),
      .N_WQE(N_WQE)
  ) u_sq_scheduler (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[1]),
      .db_valid,
      .db_ready,
      .db_qpn,
      .db_index,
      .bf_valid(push_valid),
      .bf_ready(push_ready),
      .bf(push),
      .sch_lk_valid(ctx_sch_lk_valid),
      .sch_lk_ready(ctx_sch_lk_ready),
      .sch_lk_qpn(ctx_sch_lk_qpn),
      .sch_ctx_valid(ctx_sch_ctx_valid),
      .sch_ctx(ctx_sch_ctx),
      .qpi_valid(qpi_valid[0]),
      .qpi_ready(qpi_ready[0]),
      .qpi,
      .wqe_req_valid,
      .wqe_req_ready,
      .wqe_req_qpn,
      .wqe_req_index,
      .wqe_req_blocks,
      .wqe_req_avail,
      .fetch_done_valid,
      .fetch_done_ready,
      .fetch_done_qpn,
      .fetch_done_last,
      .fetch_done_next,
      .fetch_done_pushed,
      .bfw_valid,
      .bfw,
      .flush_valid(store_flush_valid),
      .flush_ready(store_flush_ready),
      .flush_qpn(store_flush_qpn),
      .turn_valid(work_turn_valid),
      .turn_ready(work_turn_ready),
      .turn_qpn(work_turn_qpn),
      .turn_done_valid,
      .turn_done_ready,
      .turn_done_qpn,
      .turn_done_more,
      .turn_done_blocked,
      .turn_done_popped,
      .turn_done_window,
      .pace_chk_o(pace_chk),
      .pace_chk_qpn_o(pace_chk_qpn),
      .pace_limited_i(pace_limited),
      .pace_want_o(pace_want),
      .pace_want_qpn_o(pace_want_qpn),
      .pace_want_idle_o(pace_want_idle),
      .pace_want_window_o(pace_want_window),
      .hurry_valid,
      .hurry_ready,
      .hurry_qpn,
      .go_valid,
      .go_ready,
      .go_qpn,
      .turn_done_index,
      .kick_valid,
      .kick_ready,
      .kick_qpn,
      .msg_room_i(msg_room),
      .qry_lk_valid,
      .qry_lk_ready,
      .qry_lk_qpn,
      .qry_valid,
      .qry_prod,
      .qry_fetch,
      .smp_valid_o(bf_smp_valid),
      .smp_qpn_o(bf_smp_qpn),
      .smp_hit_i(bf_smp_hit),
      .cnt_doorbells_o(cnt_doorbells__sq_scheduler),
      .cnt_doorbell_refused_o(cnt_doorbell_refused__sq_scheduler),
      .cnt_bf_pushes_o(cnt_bf_pushes__sq_scheduler),
      .cnt_bf_fallbacks_o(cnt_bf_fallbacks__sq_scheduler),
      .trc_valid_o(trc_valid_o[2]),
      .trc_o(trc_o[128+:64]),
      .trc_sampled_o(trc_sampled_o[2]),
      .rwq_valid,
      .rwq_ready,
      .rwq_qpn,
      .rwg_valid,
      .rwg_ready,
      .rwg_qpn,
      .rwd_valid,
      .rwd_ready,
      .rwd_qpn,
      .rwd_index
  );
  wqe_fetch_engine #(
      .DATA_W(DATA_W)
  ) u_wqe_fetch_engine (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .wqe_req_valid,
      .wqe_req_ready,
      .wqe_req_qpn,
      .wqe_req_index,
      .wqe_req_blocks,
      .wqe_req_avail,
      .wf_lk_valid(ctx_wf_lk_valid),
      .wf_lk_ready(ctx_wf_lk_ready),
      .wf_lk_qpn(ctx_wf_lk_qpn),
      .wf_ctx_valid(ctx_wf_ctx_valid),
      .wf_ctx(ctx_wf_ctx),
      .rdreq_valid(rd0_valid),
      .rdreq_ready(rd0_ready),
      .rdreq(rd0_req),
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data,
      .wqe_valid,
      .wqe_ready,
      .wqe,
      .fetch_done_valid,
      .fetch_done_ready,
      .fetch_done_qpn,
      .fetch_done_last,
      .fetch_done_next,
      .fetch_done_pushed,
      .smp_valid_o(wf_smp_valid),
      .smp_take_o(wf_smp_take),
      .smp_qpn_o(wf_smp_qpn),
      .smp_hit_i(wf_smp_hit),
      .cnt_wqe_fetched_o(cnt_wqe_fetched__wqe_fetch_engine),
      .cnt_wqe_errors_o(cnt_wqe_errors__wqe_fetch_engine),
      .trc_valid_o(trc_valid_o[3]),
      .trc_o(trc_o[192+:64]),
      .trc_sampled_o(trc_sampled_o[3])
  );
  wqe_store #(
      .N_QP(N_QP),
      .N_WQE(N_WQE)
  ) u_wqe_store (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[2]),
      .wqe_valid,
      .wqe_ready,
      .wqe,
      .bfw_valid,
      .bfw,
      .flush_valid(store_flush_valid),
      .flush_ready(store_flush_ready),
      .flush_qpn(store_flush_qpn),
      .hd_lk_valid(whd_lk_valid),
      .hd_lk_ready(whd_lk_ready),
      .hd_lk_qpn(whd_lk_qpn),
      .hd_valid(whd_valid),
      .hd_ready(whd_ready),
      .hd_empty(whd_empty),
      .hd_last(whd_last),
      .hd(whd),
      .hd_stop_i(whd_stop),
      .pop_valid(wpop_valid),
      .pop_qpn(wpop_qpn)
  );

  // -- Requester
  sq_engine #(
      .ARP(ARP)
  ) u_sq_engine (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_ack_req_every_i(cfg_mac_cfg_ack_req_every),
      .turn_valid,
      .turn_ready,
      .turn_qpn,
      .turn_done_valid,
      .turn_done_ready,
      .turn_done_qpn,
      .turn_done_more,
      .turn_done_blocked,
      .turn_done_popped,
      .turn_done_window,
      .share_lk_o(share_lk),
      .share_lk_qpn_o(share_lk_qpn),
      .pace_i(pace),
      .credit_i(share_credit),
      .pkt_o(sq_pkt),
      .pkt_qpn_o(sq_pkt_qpn),
      .pkt_path_o(sq_pkt_path),
      .hold_i(tx_hold[tx_class_of_sq]),
      .debt_o(debt_valid),
      .debt_qpn_o(debt_qpn),
      .debt_value_o(debt_value),
      .turn_done_index,
      .sq_lk_valid(ctx_sq_lk_valid),
      .sq_lk_ready(ctx_sq_lk_ready),
      .sq_lk_qpn(ctx_sq_lk_qpn),
      .sq_ctx_valid(ctx_sq_ctx_valid),
      .sq_ctx(ctx_sq_ctx),
      .snd_lk_valid(half_snd_lk_valid),
      .snd_lk_ready(half_snd_lk_ready),
      .snd_lk_qpn(half_snd_lk_qpn),
      .snd_ctx_valid(half_snd_ctx_valid),
      .snd_ctx(half_snd_ctx),
      .snd_wr_valid(half_snd_wr_valid),
      .snd_wr_qpn(half_snd_wr_qpn),
      .snd_wr(half_snd_wr),
      .qpi_valid(qpi_valid[1]),
      .qpi_ready(qpi_ready[1]),
      .qpi,
      .hd_lk_valid(whd_lk_valid),
      .hd_lk_ready(whd_lk_ready),
      .hd_lk_qpn(whd_lk_qpn),
      .hd_valid(whd_valid),
      .hd_ready(whd_ready),
      .hd_empty(whd_empty),
      .hd_last(whd_last),
      .hd(whd),
      .hd_stop_o(whd_stop),
      .pop_valid(wpop_valid),
      .pop_qpn(wpop_qpn),
      .mrq_valid(mrq0_valid),
      .mrq_ready(mrq0_ready),
      .mrq(mrq0),
      .mrs_valid(mrs0_valid),
      .mrs(mrs0),
      .slot_valid(sq_slot_valid),
      .slot_ready(sq_slot_ready),
      .slot_id(sq_slot_id),
      .txp_valid(sq_txp_valid),
      .txp_ready(sq_txp_ready),
      .txp(sq_txp),
      .txp_slot(sq_txp_slot),
      .inl_valid,
      .inl_ready,
      .inl_slot,
      .inl_data,
      .inl_len,
      .rdreq_valid(rd1_valid),
      .rdreq_ready(rd1_ready),
      .rdreq(rd1_req),
      .msg_push_valid,
      .msg_push_ready,
      .msg_push_qpn,
      .msg_push,
      .lerr_valid(terr_sq_valid),
      .lerr_ready(terr_sq_ready),
      .lerr_qpn(terr_sq_qpn),
      .lerr_index(terr_sq_index),
      .lerr_status(terr_sq_status),
      .cnt_msgs_posted_o(cnt_msgs_posted__sq_engine),
      .cnt_tx_requests_o(cnt_tx_requests__sq_engine),
      .trc_valid_o(trc_valid_o[4]),
      .trc_o(trc_o[256+:64]),
      .trc_sampled_o(trc_sampled_o[4]),
      .trc2_valid_o(trc_valid_o[5]),
      .trc2_o(trc_o[320+:64]),
      .trc2_sampled_o(trc_sampled_o[5]),
      .rws_valid,
      .rws_ready,
      .rws,
      .rwd_valid,
      .rwd_ready,
      .rwd_qpn,
      .rwd_index,
      .arm_valid,
      .arm,
      .sqa_lk_valid(ctx_sqa_lk_valid),
      .sqa_lk_ready(ctx_sqa_lk_ready),
      .sqa_lk_qpn(ctx_sqa_lk_qpn),
      .sqa_ctx_valid(ctx_sqa_ctx_valid),
      .sqa_ctx(ctx_sqa_ctx),
      .msg_push_list,
      .passed_valid,
      .passed_ready,
      .passed_qpn,
      .lop_valid(lop0_valid),
      .lop_ready(lop0_ready),
      .lop(lop0),
      .lop_done_valid(lop0_done_valid),
      .lop_done_ok(lop0_done_ok),
      .inv_valid,
      .inv_ready,
      .inv_qpn,
      .cnt_tx_resent_o(cnt_tx_resent__sq_engine),
      .cnt_tx_rd_requests_o(cnt_tx_rd_requests__sq_engine),
      .pin_o(pin[3:0]),
      .pin_qpn_o(pin_qpn[95:0])
  );
  msg_pool #(
      .N_QP(N_QP),
      .N_MSG(N_MSG)
  ) u_msg_pool (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[3]),
      .msg_push_valid,
      .msg_push_ready,
      .msg_push_qpn,
      .msg_push,
      .msg_room_o(msg_room),
      .hd_lk_valid(mhd_lk_valid),
      .hd_lk_ready(mhd_lk_ready),
      .hd_lk_qpn(mhd_lk_qpn),
      .hd_valid(mhd_valid),
      .hd_empty(mhd_empty),
      .hd(mhd),
      .pop_valid(mpop_valid),
      .pop_qpn(mpop_qpn),
      .nudge_valid,
      .nudge_ready,
      .nudge_qpn,
      .qpi_valid(qpi_valid[3]),
      .qpi_ready(qpi_ready[3]),
      .qpi,
      .msg_push_list,
      .passed_valid,
      .passed_ready,
      .passed_qpn,
      .hd_list(msg_hd_list)
  );

  // -- Transmit path
  tx_submit u_tx_submit (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .a_slot_valid(sq_slot_valid),
      .a_slot_ready(sq_slot_ready),
      .a_slot_id(sq_slot_id),
      .a_txp_valid(sq_txp_valid),
      .a_txp_ready(sq_txp_ready),
      .a_txp(sq_txp),
      .a_txp_slot(sq_txp_slot),
      .b_slot_valid(re_slot_valid),
      .b_slot_ready(re_slot_ready),
      .b_slot_id(re_slot_id),
      .b_txp_valid(re_txp_valid),
      .b_txp_ready(re_txp_ready),
      .b_txp(re_txp),
      .b_txp_slot(re_txp_slot),
      .slot_valid,
      .slot_ready,
      .slot_id,
      .txp_valid,
      .txp_ready,
      .txp,
      .txp_slot
  );
  tx_buffer #(
      .DATA_W(DATA_W),
      .N_QP(N_QP),
      .N_TXSLOT(N_TXSLOT)
  ) u_tx_buffer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_threshold_i(cfg_tx_start_threshold_bytes),
      .paused_i(tx_paused),
      .slot_valid,
      .slot_ready,
      .slot_id,
      .txp_valid,
      .txp_ready,
      .txp,
      .txp_class(tx_class_of_txp),
      .txp_slot,
      .inl_valid,
      .inl_ready,
      .inl_slot,
      .inl_data,
      .inl_len,
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data,
      .qpi_valid(qpi_valid[2]),
      .qpi_ready(qpi_ready[2]),
      .qpi,
      .gone_o(txb_gone),
      .gone_class_o(txb_gone_class),
      .purge_i(rws_valid && rws_ready && !rws.none),
      .purge_qpn_i(rws.qpn),
      .out_valid(txb_valid),
      .out_ready(txb_ready),
      .out_data(txb_data),
      .out_cnt(txb_cnt),
      .out_last(txb_last),
      .out_abort(txb_abort),
      .out_pkt(txb_pkt),
      .terr_valid(terr_tx_valid),
      .terr_ready(terr_tx_ready),
      .terr_qpn(terr_tx_qpn),
      .terr_index(terr_tx_index),
      .terr_status(terr_tx_status),
      .cnt_tx_dropped_o(cnt_tx_dropped__tx_buffer),
      .trc_valid_o(trc_valid_o[6]),
      .trc_o(trc_o[384+:64]),
      .trc_sampled_o(trc_sampled_o[6]),
      .trc2_valid_o(trc_valid_o[7]),
      .trc2_o(trc_o[448+:64]),
      .trc2_sampled_o(trc_sampled_o[7]),
      .left_valid,
      .left_ready,
      .left_qpn,
      .left_psn,
      .rleft_valid,
      .rleft_qpn,
      .rterr_valid,
      .rterr_ready,
      .rterr_qpn,
      .rterr_psn,
      .rterr_msn
  );
  storm_drop u_storm_drop (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .drop_i(tx_storm),
      .in_valid(txb_valid),
      .in_ready(txb_ready),
      .in_last(txb_last),
      .in_class(tx_class_of_txb),
      .out_valid(txd_valid),
      .out_ready(txd_ready),
      .cnt_dropped_o(cnt_dropped__storm_drop)
  );
  // CNPs and ACKs take turns; both go before data.
  localparam int unsigned HDR_W = $bits(hdr);
  logic unused_hdr_last, unused_hdr_src;
  stream_arb_rr #(
      .N(2),
      .W(HDR_W)
  ) u_hdr_arb (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid({cnp_valid, rsp_valid}),
      .in_ready({cnp_ready, rsp_ready}),
      .in_data({cnp, rsp}),
      .in_last('1),
      .out_valid(hdr_valid),
      .out_ready(hdr_ready),
      .out_data(hdr),
      .out_last(unused_hdr_last),
      .out_src(unused_hdr_src)
  );
  tx_packetizer #(
      .DATA_W(DATA_W)
  ) u_tx_packetizer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .ip_id_i(16'd0),
      .cfg_cnp_dscp_i(cfg_cnp_class_dscp),
      .cfg_cnp_pcp_i(cfg_cnp_class_pcp),
      .rsp_valid(hdr_valid),
      .rsp_ready(hdr_ready),
      .rsp(hdr),
      .req_valid(txd_valid),
      .req_ready(txd_ready),
      .req_data(txb_data),
      .req_cnt(txb_cnt),
      .req_last(txb_last),
      .req_abort(txb_abort),
      .req_pkt(txb_pkt),
      .path_lk_valid(path_tx_lk_valid),
      .path_lk_ready(path_tx_lk_ready),
      .path_lk_index(path_tx_lk_index),
      .path_valid(path_tx_valid),
      .path(path_tx),
      .cfg_int_i(int_on),
      .cfg_int_unit_i(int_unit),
      .echo_get_o(echo_get),
      .echo_qpn_o(echo_get_qpn),
      .echo_valid_i(echo_valid),
      .echo_i(echo),
      .out_valid(bare_valid),
      .out_ready(bare_ready),
      .out_data(bare_data),
      .out_cnt(bare_cnt),
      .out_last(bare_last),
      .out_abort(bare_abort),
      .out_eth(bare_eth),
      .out_add(bare_add),
      .out_echo(bare_echo),
      .out_int(bare_int),
      .cnt_tx_no_path_o(cnt_tx_no_path__tx_packetizer),
      .trc_valid_o(trc_valid_o[8]),
      .trc_o(trc_o[512+:64]),
      .trc_sampled_o(trc_sampled_o[8]),
      .cfg_mig_req_i(cfg_mac_cfg_mig_req)
  );
  int_append #(
      .DATA_W(DATA_W)
  ) u_int_append (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid(bare_valid),
      .in_ready(bare_ready),
      .in_data(bare_data),
      .in_cnt(bare_cnt),
      .in_last(bare_last),
      .in_abort(bare_abort),
      .in_eth(bare_eth),
      .in_add(bare_add),
      .in_echo(bare_echo),
      .in_int(bare_int),
      .out_valid(pkt_valid),
      .out_ready(pkt_ready),
      .out_data(pkt_data),
      .out_cnt(pkt_cnt),
      .out_last(pkt_last),
      .out_abort(pkt_abort),
      .out_eth(pkt_eth)
  );
  tx_merge #(
      .DATA_W(DATA_W)
  ) u_tx_merge (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid(pkt_valid),
      .in_ready(pkt_ready),
      .in_data(pkt_data),
      .in_cnt(pkt_cnt),
      .in_last(pkt_last),
      .in_abort(pkt_abort),
      .in_eth(pkt_eth),
      .raw_tx_valid,
      .raw_tx_ready,
      .raw_tx_data,
      .raw_tx_cnt,
      .raw_tx_last,
      .out_valid(mrg_valid),
      .out_ready(mrg_ready),
      .out_data(mrg_data),
      .out_cnt(mrg_cnt),
      .out_last(mrg_last),
      .out_abort(mrg_abort),
      .out_eth(mrg_eth)
  );
  cdc_tx #(
      .DATA_W(DATA_W)
  ) u_cdc_tx (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid(mrg_valid),
      .in_ready(mrg_ready),
      .in_data(mrg_data),
      .in_cnt(mrg_cnt),
      .in_last(mrg_last),
      .in_abort(mrg_abort),
      .in_eth(mrg_eth),
      .cnt_tx_frames_o(cnt_tx_frames__cdc_tx),
      .cnt_tx_raw_frames_o(cnt_tx_raw_frames__cdc_tx),
      .cnt_tx_bytes_amount_o(cnt_tx_bytes_amount__cdc_tx),
      .cnt_tx_underruns_o(cnt_tx_underruns__cdc_tx),
      .underrun_qpn_o(underrun_qpn),
      .underrun_psn_o(underrun_psn),
      .trc_valid_o(trc_valid_o[9]),
      .trc_o(trc_o[576+:64]),
      .trc_sampled_o(trc_sampled_o[9]),
      .mac_clk_i,
      .mac_rst_i(mac_rst),
      .out_valid(txc_valid),
      .out_ready(txc_ready),
      .out_data(txc_data),
      .out_cnt(txc_cnt),
      .out_last(txc_last),
      .out_abort(txc_abort),
      .out_eth(txc_eth),
      .out_level_o(txc_level),
      .underrun_i(mac_underrun),
      .underrun_request_i(mac_underrun_request),
      .underrun_qpn_i(mac_underrun_qpn),
      .underrun_psn_i(mac_underrun_psn),
      .spoil_valid,
      .spoil_ready,
      .spoil_qpn
  );
  logic ptx_valid, ptx_ready, ptx_last, ptx_abort;
  logic [DATA_W-1:0] ptx_data;
  logic [7:0] ptx_cnt, ptx_level;
  rnic_pkg::tx_eth_t ptx_eth;
  pfc_tx #(
      .DATA_W(DATA_W)
  ) u_pfc_tx (
      .clk_i(mac_clk_i),
      .rst_i(mac_rst),
      .cfg_link_i(pfc_tx_link),
      .cfg_quanta_i(pfc_quanta),
      .cfg_bits_i(pfc_bits),
      .cfg_mac_i(pfc_mac),
      .xoff_i(pfc_xoff),
      .stop_i(pfc_link_paused && !pfc_link_free),
      .drop_i(pfc_link_drop),
      .in_valid(txc_valid),
      .in_ready(txc_ready),
      .in_data(txc_data),
      .in_cnt(txc_cnt),
      .in_last(txc_last),
      .in_abort(txc_abort),
      .in_eth(txc_eth),
      .in_level_i(txc_level),
      .out_valid(ptx_valid),
      .out_ready(ptx_ready),
      .out_data(ptx_data),
      .out_cnt(ptx_cnt),
      .out_last(ptx_last),
      .out_abort(ptx_abort),
      .out_eth(ptx_eth),
      .out_level_o(ptx_level),
      .cnt_tx_pause_o(pfc_cnt_tx_pause),
      .cnt_tx_prio_pause_o(pfc_cnt_tx_prio),
      .cnt_dropped_o(pfc_cnt_dropped)
  );
  mac_tx_gen #(
      .DATA_W(DATA_W),
      .GEN_FCS(GEN_FCS)
  ) u_mac_tx_gen (
      .clk_i(mac_clk_i),
      .rst_i(mac_rst),
      .in_valid(ptx_valid),
      .in_ready(ptx_ready),
      .in_data(ptx_data),
      .in_cnt(ptx_cnt),
      .in_last(ptx_last),
      .in_abort(ptx_abort),
      .in_eth(ptx_eth),
      .in_level_i(ptx_level),
      .mac_tx_valid,
      .mac_tx_ready,
      .mac_tx_data,
      .mac_tx_cnt,
      .mac_tx_last,
      .mac_tx_err,
      .underrun_o(mac_underrun),
      .underrun_request_o(mac_underrun_request),
      .underrun_qpn_o(mac_underrun_qpn),
      .underrun_psn_o(mac_underrun_psn)
  );

  // -- Pauses
  tx_class #(
      .N_PATH(N_PATH),
      .N_RD(4)
  ) u_tx_class (
      .clk_i(core_clk_i),
      .cfg_pcp_i(cfg_pfc_ctrl_by_pcp),
      .cfg_default_i(cfg_pfc_ctrl_default_class),
      .cfg_map_i(cfg_pfc_dscp_map_map),
      .cw_valid(path_cw_valid),
      .cw_index(path_cw_index),
      .cw(path_cw),
      .path_i({txb_pkt.path, re_pkt_path, sq_pkt_path, txp.path}),
      .class_o({tx_class_of_txb, tx_class_of_re, tx_class_of_sq, tx_class_of_txp})
  );
  pfc_storm #(
      .CORE_PS(CORE_PS)
  ) u_pfc_storm (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_limit_i(cfg_pfc_storm_limit_us),
      .cfg_restore_i(cfg_pfc_restore_us),
      .cfg_action_i(cfg_pfc_storm_action),
      .paused_i(rx_paused),
      .link_paused_i(rx_link_paused),
      .paused_o(tx_paused),
      .drop_o(tx_storm),
      .link_free_o(link_free),
      .link_drop_o(link_drop),
      .storm_o(pfc_storm),
      .ev_valid(ev_pfc_valid),
      .ev_ready(ev_pfc_ready),
      .ev(ev_pfc),
      .cnt_storms_o(cnt_storms__pfc_storm)
  );
  slot_share #(
      .N_TXSLOT(N_TXSLOT)
  ) u_slot_share (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_classes_i(cfg_pfc_ctrl_rx_classes),
      .paused_i(tx_paused),
      .in_valid(txp_valid && txp_ready),
      .in_class(tx_class_of_txp),
      .out_valid(txb_gone),
      .out_class(txb_gone_class),
      .hold_o(tx_hold)
  );
  qp_class #(
      .N_QP(N_QP),
      .N_RD(4)
  ) u_qp_class (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[12]),
      .req_i(sq_pkt),
      .req_qpn_i(sq_pkt_qpn),
      .req_class_i(tx_class_of_sq),
      .rsp_i(txp_valid && txp_ready && txp.response),
      .rsp_qpn_i(txp.qpn),
      .rsp_class_i(tx_class_of_txp),
      .forget_i(qpi_valid != '0 && qpi.op == rnic_pkg::QPI_CLEAR),
      .forget_qpn_i(qpi.qpn),
      .qpn_i({timer_qpn, rchk_qpn, park_qpn, work_turn_qpn}),
      .class_o(qp_class_of)
  );
  turn_park #(
      .N_QP(N_QP)
  ) u_turn_park (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .paused_i(tx_hold),
      .in_class_i(qp_class_of[3:0]),
      .head_qpn_o(park_qpn),
      .head_class_i(qp_class_of[7:4]),
      .order_i(qpi_valid[0]),
      .order(qpi),
      .in_valid(work_turn_valid),
      .in_ready(work_turn_ready),
      .in_qpn(work_turn_qpn),
      .out_valid(sched_turn_valid),
      .out_ready(sched_turn_ready),
      .out_qpn(sched_turn_qpn)
  );
  cdc_pfc #(
      .MAC_PS(MAC_PS)
  ) u_cdc_pfc (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .mac_clk_i,
      .mac_rst_i(mac_rst),
      .cfg_kbps_i(cfg_cc_line_rate_kbps),
      .cfg_rx_classes_i(cfg_pfc_ctrl_rx_classes),
      .cfg_rx_link_i(cfg_pfc_ctrl_rx_link),
      .cfg_tx_link_i(cfg_pfc_ctrl_tx_link),
      .cfg_quanta_i(cfg_pfc_quanta_quanta),
      .cfg_mac_i(cfg_port_mac_addr),
      .xoff_i(rx_xoff),
      .link_free_i(link_free),
      .link_drop_i(link_drop),
      .mac_bits_o(pfc_bits),
      .mac_rx_classes_o(pfc_rx_classes),
      .mac_rx_link_o(pfc_rx_link),
      .mac_tx_link_o(pfc_tx_link),
      .mac_quanta_o(pfc_quanta),
      .mac_mac_o(pfc_mac),
      .mac_xoff_o(pfc_xoff),
      .mac_link_free_o(pfc_link_free),
      .mac_link_drop_o(pfc_link_drop),
      .mac_paused_i(pfc_mac_paused),
      .mac_link_paused_i(pfc_link_paused),
      .mac_rx_pause_i(pfc_cnt_rx_pause),
      .mac_rx_bad_i(pfc_cnt_rx_bad),
      .mac_rx_prio_i(pfc_cnt_rx_prio),
      .mac_tx_pause_i(pfc_cnt_tx_pause),
      .mac_tx_prio_i(pfc_cnt_tx_prio),
      .mac_dropped_i(pfc_cnt_dropped),
      .paused_o(rx_paused),
      .link_paused_o(rx_link_paused),
      .cnt_rx_pause_o(cnt_rx_pause__cdc_pfc),
      .cnt_rx_mac_ctrl_bad_o(cnt_rx_mac_ctrl_bad__cdc_pfc),
      .cnt_rx_prio_pause_o(cnt_rx_prio_pause__cdc_pfc),
      .cnt_tx_pause_o(cnt_tx_pause__cdc_pfc),
      .cnt_tx_prio_pause_o(cnt_tx_prio_pause__cdc_pfc),
      .cnt_dropped_o(cnt_dropped__cdc_pfc)
  );

  // -- Receive path
  mac_rx #(
      .DATA_W(DATA_W),
      .GEN_FCS(GEN_FCS)
  ) u_mac_rx (
      .clk_i(mac_clk_i),
      .rst_i(mac_rst),
      .mac_rx_valid,
      .mac_rx_data,
      .mac_rx_cnt,
      .mac_rx_last,
      .mac_rx_err,
      .out_valid(mrx_valid),
      .out_data(mrx_data),
      .out_cnt(mrx_cnt),
      .out_last(mrx_last),
      .out_err(mrx_err)
  );
  logic prx_valid, prx_last, prx_err;
  logic [DATA_W-1:0] prx_data;
  logic [7:0] prx_cnt;
  pfc_rx #(
      .DATA_W(DATA_W)
  ) u_pfc_rx (
      .clk_i(mac_clk_i),
      .rst_i(mac_rst),
      .cfg_classes_i(pfc_rx_classes),
      .cfg_link_i(pfc_rx_link),
      .cfg_bits_i(pfc_bits),
      .in_valid(mrx_valid),
      .in_data(mrx_data),
      .in_cnt(mrx_cnt),
      .in_last(mrx_last),
      .in_err(mrx_err),
      .out_valid(prx_valid),
      .out_data(prx_data),
      .out_cnt(prx_cnt),
      .out_last(prx_last),
      .out_err(prx_err),
      .paused_o(pfc_mac_paused),
      .link_paused_o(pfc_link_paused),
      .cnt_rx_pause_o(pfc_cnt_rx_pause),
      .cnt_rx_mac_ctrl_bad_o(pfc_cnt_rx_bad),
      .cnt_rx_prio_pause_o(pfc_cnt_rx_prio)
  );
  cdc_rx #(
      .DATA_W(DATA_W)
  ) u_cdc_rx (
      .mac_clk_i,
      .mac_rst_i(mac_rst),
      .in_valid(prx_valid),
      .in_data(prx_data),
      .in_cnt(prx_cnt),
      .in_last(prx_last),
      .in_err(prx_err),
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .out_valid(rxc_valid),
      .out_data(rxc_data),
      .out_cnt(rxc_cnt),
      .out_last(rxc_last),
      .out_err(rxc_err),
      .out_ovf(rxc_ovf),
      .cnt_rx_cdc_drops_o(cnt_rx_cdc_drops__cdc_rx),
      .cnt_rx_cdc_drops_hold_i(1'b0)
  );
  rx_parser #(
      .DATA_W(DATA_W),
      .ARP(ARP)
  ) u_rx_parser (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_promisc_raw_i(cfg_mac_cfg_promisc_raw),
      .cfg_port_mac_i(cfg_port_mac_addr),
      .cfg_int_i(int_on),
      .in_valid(rxc_valid),
      .in_data(rxc_data),
      .in_cnt(rxc_cnt),
      .in_last(rxc_last),
      .in_err(rxc_err),
      .in_ovf(rxc_ovf),
      .bt_valid,
      .bt_data,
      .bt_cnt,
      .bt_last,
      .vd_valid,
      .vd_kind,
      .vd_meta,
      .vd_vlan,
      .vd_pcp,
      .early_valid_o(early_valid),
      .early_qpn_o(early_qpn),
      .cnt_rx_frames_o(cnt_rx_frames__rx_parser),
      .cnt_rx_bytes_amount_o(cnt_rx_bytes_amount__rx_parser),
      .cnt_rx_crc_errors_o(cnt_rx_crc_errors__rx_parser),
      .cnt_rx_runts_o(cnt_rx_runts__rx_parser),
      .cnt_rx_icrc_errors_o(cnt_rx_icrc_errors__rx_parser),
      .cnt_rx_header_errors_o(cnt_rx_header_errors__rx_parser),
      .cnt_rx_roce_packets_o(cnt_rx_roce_packets__rx_parser),
      .cnt_rx_raw_filtered_o(cnt_rx_raw_filtered__rx_parser),
      .trc_valid_o(trc_valid_o[10]),
      .trc_o(trc_o[640+:64]),
      .trc_sampled_o(trc_sampled_o[10])
  );
  rx_buffer #(
      .DATA_W(DATA_W),
      .RX_BUF_BYTES(RX_BUF_BYTES),
      .N_META(N_RXPKT)
  ) u_rx_buffer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_reserve_i(cfg_rx_buf_drop_reserve),
      .bt_valid,
      .bt_data,
      .bt_cnt,
      .bt_last,
      .vd_valid,
      .vd_kind,
      .vd_meta,
      .pk_valid,
      .pk_ready,
      .pk_meta,
      .row_valid,
      .row_ready,
      .row_data,
      .row_first,
      .row_last,
      .row_off,
      .row_len,
      .raw_rx_valid,
      .raw_rx_ready,
      .raw_rx_data,
      .raw_rx_cnt,
      .raw_rx_last,
      .cnt_rx_buffer_drops_o(cnt_rx_buffer_drops__rx_buffer),
      .cnt_rx_raw_frames_o(cnt_rx_raw_frames__rx_buffer),
      .cnt_rx_raw_drops_o(cnt_rx_raw_drops__rx_buffer),
      .level_rows_o(rx_level_rows),
      .keep_o(rx_keep),
      .keep_past_o(rx_keep_past),
      .keep_rows_o(rx_keep_rows),
      .gone_o(rx_gone),
      .stored_o(stored_valid),
      .stored_qpn_o(stored_qpn),
      .trc_valid_o(trc_valid_o[11]),
      .trc_o(trc_o[704+:64]),
      .trc_sampled_o(trc_sampled_o[11])
  );
  pfc_class u_rx_class (
      .cfg_pcp_i(cfg_pfc_ctrl_by_pcp),
      .cfg_default_i(cfg_pfc_ctrl_default_class),
      .cfg_map_i(cfg_pfc_dscp_map_map),
      .ip_i(vd_kind == 2'd1),
      .dscp_i(vd_meta.dscp),
      .vlan_i(vd_vlan),
      .pcp_i(vd_pcp),
      .class_o(rx_class)
  );
  pfc_fill #(
      .DATA_W(DATA_W),
      .RX_BUF_BYTES(RX_BUF_BYTES),
      .N_META(N_RXPKT)
  ) u_pfc_fill (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_classes_i(cfg_pfc_ctrl_tx_classes),
      .cfg_xoff_i(cfg_pfc_xoff_bytes),
      .cfg_xon_i(cfg_pfc_xon_bytes),
      .in_valid(rx_keep),
      .in_past_i(rx_keep_past),
      .in_class(rx_class),
      .in_rows(rx_keep_rows),
      .free_i(rx_gone),
      .xoff_o(rx_xoff)
  );
  rx_depacketizer #(
      .DATA_W(DATA_W)
  ) u_rx_depacketizer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pk_valid,
      .pk_ready,
      .pk_meta,
      .row_valid,
      .row_ready,
      .row_data,
      .row_first,
      .row_last,
      .row_off,
      .row_len,
      .rxm_valid,
      .rxm_ready,
      .rxm,
      .rxd_valid,
      .rxd_ready,
      .rxd_data,
      .rxd_cnt,
      .rxd_last
  );
  // A response may wait for a context that is away; requests then go on.
  rx_dispatch #(
      .RESP_DEPTH((N_CTX == N_QP) ? 0 : 8)
  ) u_rx_dispatch (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .rxm_valid,
      .rxm_ready,
      .rxm,
      .req_valid,
      .req_ready,
      .req,
      .resp_valid,
      .resp_ready,
      .resp,
      .ord_valid,
      .ord_ready,
      .ord,
      .cnt_rx_cnp_o(cnt_rx_cnp__rx_dispatch),
      .cnt_ecn_marked_o(cnt_ecn_marked__rx_dispatch),
      .trc_valid_o(trc_valid_o[12]),
      .trc_o(trc_o[768+:64]),
      .trc_sampled_o(trc_sampled_o[12])
  );

  // -- Congestion
  assign dcqcn_on = cfg_cc_global_ctrl_enable &&
      cfg_cc_global_ctrl_mode == rnic_desc_pkg::CC_MODE_DCQCN;
  // Telemetry travels while HPCC is enabled. Its unit is a power of two up to 32; 15: not one, and
  // nobody uses it.
  assign int_on = cfg_cc_global_ctrl_enable &&
      (cfg_cc_global_ctrl_mode == rnic_desc_pkg::CC_MODE_HPCC_FORMULA ||
       cfg_cc_global_ctrl_mode == rnic_desc_pkg::CC_MODE_HPCC_WINDOW);
  always_comb begin
    case (cfg_hpcc_ctrl_int_multi)
      8'd1: int_unit = 4'd0;
      8'd2: int_unit = 4'd1;
      8'd4: int_unit = 4'd2;
      8'd8: int_unit = 4'd3;
      8'd16: int_unit = 4'd4;
      8'd32: int_unit = 4'd5;
      default: int_unit = 4'd15;
    endcase
  end
  assign cc_ack_int = {cc_ack_tele.path, 4'd0, cc_ack_tele.hops, cc_ack_tele.hop};
  localparam int unsigned N_ECHO = (N_QP < 2) ? 2 : (N_QP > 1024) ? 1024 : 1 << $clog2(N_QP);
  int_echo #(
      .N_QP(N_QP),
      .ENTRIES(N_ECHO)
  ) u_int_echo (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_enable_i(int_on),
      .put_valid_i(put_int_valid),
      .put_qpn_i(put_int_qpn),
      .put_i(put_int),
      // As resp_engine forgets the answer that waits.
      .forget_valid_i(qpi_valid[6] && qpi_ready[6] &&
                      (qpi.op == rnic_pkg::QPI_CLEAR || qpi.op == rnic_pkg::QPI_RTR)),
      .forget_qpn_i(qpi.qpn),
      .get_valid_i(echo_get),
      .get_qpn_i(echo_get_qpn),
      .got_valid_o(echo_valid),
      .got_o(echo)
  );
  cnp_gen #(
      .N_QP(N_QP),
      .CYCLES_PER_US((1000000 + CORE_PS - 1) / CORE_PS)
  ) u_cnp_gen (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_enable_i(dcqcn_on),
      .cfg_interval_i(cfg_dcqcn_np_interval),
      .cfg_scope_i(cfg_dcqcn_np_scope),
      .in_a_valid_i(marked_rs_valid),
      .in_a_i(marked_rs),
      .in_b_valid_i(marked_cp_valid),
      .in_b_i(marked_cp),
      .cnp_valid,
      .cnp_ready,
      .cnp,
      .cnt_sent_o(cnt_sent__cnp_gen),
      .cnt_lost_o(cnt_lost__cnp_gen)
  );

  // -- Responder
  rq_store #(
      .DATA_W(DATA_W),
      .N_QP(N_QP),
      .N_RQE(N_RQE)
  ) u_rq_store (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[4]),
      .rqdb_valid,
      .rqdb_ready,
      .rqdb_qpn,
      .rqdb_index,
      .rq_lk_valid(ctx_rq_lk_valid),
      .rq_lk_ready(ctx_rq_lk_ready),
      .rq_lk_qpn(ctx_rq_lk_qpn),
      .rq_ctx_valid(ctx_rq_ctx_valid),
      .rq_ctx(ctx_rq_ctx),
      .rdreq_valid(rd3_valid),
      .rdreq_ready(rd3_ready),
      .rdreq(rd3_req),
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data,
      .rqh_lk_valid,
      .rqh_lk_qpn,
      .rqh_posted_o(rqh_posted),
      .rqh_prod_o(rqh_prod),
      .rqh_get_i(rqh_get),
      .rqh_valid,
      .rqh,
      .rqp_valid,
      .rqp_qpn,
      .rqp_index,
      .rqf_valid,
      .rqf_ready,
      .rqf_qpn,
      .qpi_valid(qpi_valid[5]),
      .qpi_ready(qpi_ready[5]),
      .qpi,
      .qpo_valid(qpr_valid),
      .qpo_ready(qpr_ready),
      .q_rq_qpn_i(q_rq_qpn),
      .q_rq_prod_o(q_rq_prod),
      .cnt_doorbell_refused_o(cnt_doorbell_refused__rq_store),
      .cnt_rq_fetched_o(cnt_rq_fetched__rq_store)
  );
  rx_responder #(
      .ARP(ARP)
  ) u_rx_responder (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .req_valid,
      .req_ready,
      .req,
      .rs_lk_valid(ctx_rs_lk_valid),
      .rs_lk_ready(ctx_rs_lk_ready),
      .rs_lk_qpn(ctx_rs_lk_qpn),
      .rs_ctx_valid(ctx_rs_ctx_valid),
      .rs_ctx(ctx_rs_ctx),
      .rcv_lk_valid(half_rcv_lk_valid),
      .rcv_lk_ready(half_rcv_lk_ready),
      .rcv_lk_qpn(half_rcv_lk_qpn),
      .rcv_ctx_valid(half_rcv_ctx_valid),
      .rcv_ctx(half_rcv_ctx),
      .rcv_wr_valid(half_rcv_wr_valid),
      .rcv_wr_qpn(half_rcv_wr_qpn),
      .rcv_wr(half_rcv_wr),
      .rp_lk_valid(path_rp_lk_valid),
      .rp_lk_ready(path_rp_lk_ready),
      .rp_lk_index(path_rp_lk_index),
      .rp_valid(path_rp_valid),
      .rp(path_rp),
      .mrq_valid(mrq1_valid),
      .mrq_ready(mrq1_ready),
      .mrq(mrq1),
      .mrs_valid(mrs1_valid),
      .mrs(mrs1),
      .rqh_lk_valid,
      .rqh_lk_qpn,
      .rqh_posted_i(rqh_posted),
      .rqh_prod_i(rqh_prod),
      .rqh_get_o(rqh_get),
      .rqh_valid,
      .rqh,
      .rqp_valid,
      .rqp_qpn,
      .rqp_index,
      .rqf_valid,
      .rqf_ready,
      .rqf_qpn,
      .qpi_valid(qpr_valid),
      .qpi_ready(qpr_ready),
      .qpi,
      .place_valid,
      .place_ready,
      .place,
      .place_cqe,
      .place_arp,
      .ask_valid,
      .ask_ready,
      .ask,
      .ans_valid,
      .ans_ready,
      .ans,
      .ackq_valid,
      .ackq_ready,
      .ackq,
      .fail_valid(fail_rs_valid),
      .fail_ready(fail_rs_ready),
      .fail(fail_rs),
      .marked_valid_o(marked_rs_valid),
      .marked_o(marked_rs),
      .tele_valid_o(put_int_valid),
      .tele_qpn_o(put_int_qpn),
      .tele_o(put_int),
      .cnt_rx_unknown_qp_o(cnt_rx_unknown_qp__rx_responder),
      .cnt_rx_pkey_errors_o(cnt_rx_pkey_errors__rx_responder),
      .cnt_rx_addr_errors_o(cnt_rx_addr_errors__rx_responder),
      .cnt_rx_requests_o(cnt_rx_requests__rx_responder),
      .cnt_rx_duplicates_o(cnt_rx_duplicates__rx_responder),
      .cnt_rx_out_of_order_o(cnt_rx_out_of_order__rx_responder),
      .cnt_msgs_flushed_o(cnt_msgs_flushed__rx_responder),
      .trc_valid_o(trc_valid_o[13]),
      .trc_o(trc_o[832+:64]),
      .trc_sampled_o(trc_sampled_o[13]),
      .lop_valid(lop1_valid),
      .lop_ready(lop1_ready),
      .lop(lop1),
      .lop_done_valid(lop1_done_valid),
      .lop_done_ok(lop1_done_ok),
      .ev_valid(ev_rs_valid),
      .ev_ready(ev_rs_ready),
      .ev(ev_rs),
      .cnt_rx_sends_o(cnt_rx_sends__rx_responder),
      .cnt_rx_qkey_errors_o(cnt_rx_qkey_errors__rx_responder),
      .cnt_rx_uc_drops_o(cnt_rx_uc_drops__rx_responder),
      .pin_o(pin[4]),
      .pin_qpn_o(pin_qpn[119:96])
  );
  rx_placer #(
      .DATA_W(DATA_W)
  ) u_rx_placer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .ord_valid,
      .ord_ready,
      .ord,
      .place_valid,
      .place_ready,
      .place,
      .place_cqe,
      .place_arp,
      .rxd_valid,
      .rxd_ready,
      .rxd_data,
      .rxd_cnt,
      .rxd_last,
      .wrreq_valid(wr0_req_valid),
      .wrreq_ready(wr0_req_ready),
      .wrreq(wr0_req),
      .wrdat_valid(wr0_dat_valid),
      .wrdat_ready(wr0_dat_ready),
      .wrdat_data(wr0_dat_data),
      .wrdat_cnt(wr0_dat_cnt),
      .wrdat_last(wr0_dat_last),
      .cqe_valid(pcq_valid),
      .cqe_ready(pcq_ready),
      .cqe(pcq),
      .cplace_valid,
      .cplace_ready,
      .cplace,
      .cplace_cqe,
      .pay_valid,
      .pay_ready,
      .pay_data,
      .pay_last
  );
  resp_engine #(
      .N_QP(N_QP)
  ) u_resp_engine (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_count_i(cfg_ack_coalesce_count),
      .cfg_cycles_i(cfg_ack_coalesce_cycles),
      .ackq_valid,
      .ackq_ready,
      .ackq,
      .re_lk_valid(ctx_re_lk_valid),
      .re_lk_ready(ctx_re_lk_ready),
      .re_lk_qpn(ctx_re_lk_qpn),
      .re_ctx_valid(ctx_re_ctx_valid),
      .re_ctx(ctx_re_ctx),
      .answer_o(answer_valid),
      .answer_qpn_o(answer_qpn),
      .answered_o(answered),
      .qpi_valid(qpi_valid[6]),
      .qpi_ready(qpi_ready[6]),
      .qpi,
      .rsp_valid,
      .rsp_ready,
      .rsp,
      .cnt_tx_acks_o(cnt_tx_acks__resp_engine),
      .cnt_tx_nak_seq_o(cnt_tx_nak_seq__resp_engine),
      .cnt_tx_nak_inv_o(cnt_tx_nak_inv__resp_engine),
      .cnt_tx_nak_access_o(cnt_tx_nak_access__resp_engine),
      .cnt_tx_nak_op_o(cnt_tx_nak_op__resp_engine),
      .cnt_tx_rnr_nak_o(cnt_tx_rnr_nak__resp_engine),
      .trc_valid_o(trc_valid_o[14]),
      .trc_o(trc_o[896+:64]),
      .trc_sampled_o(trc_sampled_o[14]),
      .trc2_valid_o(trc_valid_o[15]),
      .trc2_o(trc_o[960+:64]),
      .trc2_sampled_o(trc_sampled_o[15]),
      .mrq_valid(mrq2_valid),
      .mrq_ready(mrq2_ready),
      .mrq(mrq2),
      .mrs_valid(mrs2_valid),
      .mrs(mrs2),
      .fail_valid(fail_re_valid),
      .fail_ready(fail_re_ready),
      .fail(fail_re),
      .pace_chk_o(rchk),
      .pace_chk_qpn_o(rchk_qpn),
      .pace_limited_i(rchk_limited),
      .pace_ask_valid(rask_valid),
      .pace_ask_ready(rask_ready),
      .pace_ask_qpn(rask_qpn),
      .pace_told_i(rtold),
      .pace_ok_i(rtold_ok),
      .pace_pkt_o(rsp_made),
      .work_hold_i(qp_class_of[11] && tx_hold[qp_class_of[10:8]]),
      .pkt_path_o(re_pkt_path),
      .pkt_hold_i(tx_hold[tx_class_of_re]),
      .placed_i(placed),
      .rdreq_valid(rd2_valid),
      .rdreq_ready(rd2_ready),
      .rdreq(rd2_req),
      .slot_valid(re_slot_valid),
      .slot_ready(re_slot_ready),
      .slot_id(re_slot_id),
      .txp_valid(re_txp_valid),
      .txp_ready(re_txp_ready),
      .txp(re_txp),
      .txp_slot(re_txp_slot),
      .rleft_valid,
      .rleft_qpn,
      .rterr_valid,
      .rterr_ready,
      .rterr_qpn,
      .rterr_psn,
      .rterr_msn,
      .at_valid,
      .at_ready,
      .at_addr,
      .at_swap,
      .at_op0,
      .at_op1,
      .at_qpn,
      .at_psn,
      .at_sampled,
      .at_tag,
      .ar_valid,
      .ar_ready,
      .ar_tag,
      .ar_value,
      .ar_err,
      .cnt_tx_rd_responses_o(cnt_tx_rd_responses__resp_engine),
      .cnt_rx_rd_dropped_o(cnt_rx_rd_dropped__resp_engine)
  );
  atomic_unit #(
      .DATA_W(DATA_W),
      .TAG_W(80)
  ) u_atomic_unit (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .at_valid,
      .at_ready,
      .at_addr,
      .at_swap,
      .at_op0,
      .at_op1,
      .at_qpn,
      .at_psn,
      .at_sampled,
      .at_tag,
      .res_valid(ar_valid),
      .res_ready(ar_ready),
      .res_tag(ar_tag),
      .res_value(ar_value),
      .res_err(ar_err),
      .rdreq_valid(rd4_valid),
      .rdreq_ready(rd4_ready),
      .rdreq(rd4_req),
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data(rdrsp_data[63:0]),
      .wrreq_valid(wr3_req_valid),
      .wrreq_ready(wr3_req_ready),
      .wrreq(wr3_req),
      .wrdat_valid(wr3_dat_valid),
      .wrdat_ready(wr3_dat_ready),
      .wrdat_data(wr3_dat_data),
      .wrdat_cnt(wr3_dat_cnt),
      .wrdat_last(wr3_dat_last),
      .placed_i(wr_placed[3]),
      .cnt_atomics_o(cnt_atomics__atomic_unit)
  );

  // -- Acknowledged side of the requester
  rx_completer u_rx_completer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_dcqcn_i(dcqcn_on && cc_active),
      .cfg_int_unit_i(int_unit),
      .resp_valid,
      .resp_ready,
      .resp,
      .terr_valid,
      .terr_ready,
      .terr_qpn,
      .terr_index,
      .terr_status,
      .nudge_valid,
      .nudge_ready,
      .nudge_qpn,
      .qpi_valid(qpi_valid[4]),
      .qpi_ready(qpi_ready[4]),
      .qpi,
      .cp_lk_valid(ctx_cp_lk_valid),
      .cp_lk_ready(ctx_cp_lk_ready),
      .cp_lk_qpn(ctx_cp_lk_qpn),
      .cp_ctx_valid(ctx_cp_ctx_valid),
      .cp_ctx(ctx_cp_ctx),
      .cps_lk_valid(half_cps_lk_valid),
      .cps_lk_ready(half_cps_lk_ready),
      .cps_lk_qpn(half_cps_lk_qpn),
      .cps_ctx_valid(half_cps_ctx_valid),
      .cps_ctx(half_cps_ctx),
      .ack_lk_valid(half_ack_lk_valid),
      .ack_lk_ready(half_ack_lk_ready),
      .ack_lk_qpn(half_ack_lk_qpn),
      .ack_ctx_valid(half_ack_ctx_valid),
      .ack_ctx(half_ack_ctx),
      .ack_wr_valid(half_ack_wr_valid),
      .ack_wr_qpn(half_ack_wr_qpn),
      .ack_wr(half_ack_wr),
      .cpp_lk_valid(path_cp_lk_valid),
      .cpp_lk_ready(path_cp_lk_ready),
      .cpp_lk_index(path_cp_lk_index),
      .cpp_valid(path_cp_valid),
      .cpp(path_cp),
      .hd_lk_valid(mhd_lk_valid),
      .hd_lk_ready(mhd_lk_ready),
      .hd_lk_qpn(mhd_lk_qpn),
      .hd_valid(mhd_valid),
      .hd_empty(mhd_empty),
      .hd(mhd),
      .pop_valid(mpop_valid),
      .pop_qpn(mpop_qpn),
      .cqe_valid(cq1_valid),
      .cqe_ready(cq1_ready),
      .cqe(cq1),
      .fail_valid(fail_cp_valid),
      .fail_ready(fail_cp_ready),
      .fail(fail_cp),
      .cnt_rx_ack_o(cnt_rx_ack__rx_completer),
      .cnt_rx_nak_o(cnt_rx_nak__rx_completer),
      .cnt_rx_ghost_acks_o(cnt_rx_ghost_acks__rx_completer),
      .cnt_rx_unknown_qp_o(cnt_rx_unknown_qp__rx_completer),
      .cnt_rx_pkey_errors_o(cnt_rx_pkey_errors__rx_completer),
      .cnt_rx_addr_errors_o(cnt_rx_addr_errors__rx_completer),
      .cnt_msgs_completed_o(cnt_msgs_completed__rx_completer),
      .done_qpn_o(done_qpn),
      .done_index_o(done_index),
      .cnt_msgs_flushed_o(cnt_msgs_flushed__rx_completer),
      .trc_valid_o(trc_valid_o[16]),
      .trc_o(trc_o[1024+:64]),
      .trc_sampled_o(trc_sampled_o[16]),
      .trc2_valid_o(trc_valid_o[17]),
      .trc2_o(trc_o[1088+:64]),
      .trc2_sampled_o(trc_sampled_o[17]),
      .rd_placed_i(rd_placed),
      .rwq_valid,
      .rwq_ready,
      .rwq_qpn,
      .rwg_valid,
      .rwg_ready,
      .rwg_qpn,
      .rws_valid,
      .rws_ready,
      .rws,
      .tms_valid,
      .tms,
      .tmo_valid,
      .tmo_ready,
      .tmo_qpn,
      .tmo_rnr,
      .settled_valid,
      .settled_ready,
      .settled_qpn,
      .kick_valid,
      .kick_qpn,
      .kick_ready,
      .hd_list(msg_hd_list),
      .left_valid,
      .left_ready,
      .left_qpn,
      .left_psn,
      .spoil_valid,
      .spoil_ready,
      .spoil_qpn,
      .cplace_valid,
      .cplace_ready,
      .cplace,
      .cplace_cqe,
      .mrq_valid(mrq3_valid),
      .mrq_ready(mrq3_ready),
      .mrq(mrq3),
      .mrs_valid(mrs3_valid),
      .mrs(mrs3),
      .ev_valid(ev_cp_valid),
      .ev_ready(ev_cp_ready),
      .ev(ev_cp),
      .tele_valid_o(cc_ack_valid),
      .tele_qpn_o(cc_ack_qpn),
      .tele_psn_o(cc_ack_psn),
      .tele_next_psn_o(cc_ack_next_psn),
      .tele_o(cc_ack_tele),
      .cnt_int_unused_o(cnt_int_unused__rx_completer),
      .cnp_valid_o(cc_cnp_valid),
      .cnp_qpn_o(cc_cnp_qpn),
      .marked_valid_o(marked_cp_valid),
      .marked_o(marked_cp),
      .cnt_cnp_handled_o(cnt_cnp_handled__rx_completer),
      .cnt_cnp_ignored_o(cnt_cnp_ignored__rx_completer),
      .cnt_rx_rd_responses_o(cnt_rx_rd_responses__rx_completer),
      .cnt_rx_rd_bad_o(cnt_rx_rd_bad__rx_completer),
      .cnt_rewinds_o(cnt_rewinds__rx_completer),
      .cnt_ack_timeouts_o(cnt_ack_timeouts__rx_completer),
      .cnt_rnr_waits_o(cnt_rnr_waits__rx_completer),
      .cnt_implied_naks_o(cnt_implied_naks__rx_completer),
      .cnt_tx_spoiled_o(cnt_tx_spoiled__rx_completer),
      .pin_o(pin[5]),
      .pin_qpn_o(pin_qpn[143:120])
  );

  // -- Completions and events
  cqe_fence u_cqe_fence (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .gpu_accepted_i(gpu_accepted),
      .gpu_done_i(gpu_done),
      .dev_accepted_i(dev_accepted),
      .dev_done_i(dev_done),
      .in_valid(pcq_valid),
      .in_ready(pcq_ready),
      .in(pcq),
      .out_valid(cq0_valid),
      .out_ready(cq0_ready),
      .out(cq0)
  );
  cq_window #(
      .N_CQ(N_CQ)
  ) u_cq_window (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .win_req_i(cq_cons_req),
      .win_we_i(cq_cons_we),
      .win_addr_i(cq_cons_addr),
      .win_wdata_i(cq_cons_wdata),
      .win_wstrb_i(cq_cons_wstrb),
      .win_ack_o(cq_cons_ack),
      .win_rdata_o(cq_cons_rdata),
      .in_valid(cqw_valid),
      .in_ready(cqw_ready),
      .in_cqn(cqw_cqn),
      .in_index(cqw_index),
      .in_arm(cqw_arm),
      .in_arm_sol(cqw_arm_sol),
      .cqdb_valid,
      .cqdb_ready,
      .cqdb_cqn,
      .cqdb_index,
      .cqdb_arm,
      .cqdb_arm_sol
  );
  cqe_gen #(
      .DATA_W(DATA_W),
      .N_CQ(N_CQ)
  ) u_cqe_gen (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[5]),
      .timestamp_i(trace_clock),
      .rq0_valid(cq0_valid),
      .rq0_ready(cq0_ready),
      .rq0(cq0),
      .rq1_valid(cq1_valid),
      .rq1_ready(cq1_ready),
      .rq1(cq1),
      .cqdb_valid,
      .cqdb_ready,
      .cqdb_cqn,
      .cqdb_index,
      .cqdb_arm,
      .cqdb_arm_sol,
      .cw_valid(cq_cw_valid),
      .cw_index(cq_cw_index),
      .cw(cq_cw),
      .cr_valid(cq_cr_valid),
      .cr_index(cq_cr_index),
      .cr_rsp_valid(cq_crs_valid),
      .cr(cq_crs),
      .cr_prod(cq_crs_prod),
      .cr_cons(cq_crs_cons),
      .wrreq_valid(wr1_req_valid),
      .wrreq_ready(wr1_req_ready),
      .wrreq(wr1_req),
      .wrdat_valid(wr1_dat_valid),
      .wrdat_ready(wr1_dat_ready),
      .wrdat_data(wr1_dat_data),
      .wrdat_cnt(wr1_dat_cnt),
      .wrdat_last(wr1_dat_last),
      .event_valid(ev0_valid),
      .event_ready(ev0_ready),
      .event_o(ev0),
      .fail_valid(fail_cg_valid),
      .fail_ready(fail_cg_ready),
      .fail(fail_cg),
      .cnt_cqe_written_o(cnt_cqe_written__cqe_gen),
      .cnt_cq_overrun_o(cnt_cq_overrun__cqe_gen),
      .cnt_doorbell_refused_o(cnt_doorbell_refused__cqe_gen),
      .trc_valid_o(trc_valid_o[18]),
      .trc_o(trc_o[1152+:64]),
      .trc_sampled_o(trc_sampled_o[18])
  );
  event_queue #(
      .DATA_W(DATA_W),
      .N_EQ(N_EQ),
      .N_MSIX(N_MSIX)
  ) u_event_queue (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .timestamp_i(trace_clock),
      .ev0_valid,
      .ev0_ready,
      .ev0,
      .ev1_valid,
      .ev1_ready,
      .ev1,
      .ev2_valid(ev_valid),
      .ev2_ready(ev_ready),
      .ev2(ev),
      .eqw_req_i(eq_cons_req),
      .eqw_we_i(eq_cons_we),
      .eqw_addr_i(eq_cons_addr),
      .eqw_wdata_i(eq_cons_wdata),
      .eqw_wstrb_i(eq_cons_wstrb),
      .eqw_ack_o(eq_cons_ack),
      .eqw_rdata_o(eq_cons_rdata),
      .cw_valid(eq_cw_valid),
      .cw_index(eq_cw_index),
      .cw(eq_cw),
      .cr_valid(eq_cr_valid),
      .cr_index(eq_cr_index),
      .cr_rsp_valid(eq_crs_valid),
      .cr(eq_crs),
      .cr_prod(eq_crs_prod),
      .msix_req_i(msix_table_req),
      .msix_we_i(msix_table_we),
      .msix_addr_i(msix_table_addr),
      .msix_wdata_i(msix_table_wdata),
      .msix_wstrb_i(msix_table_wstrb),
      .msix_ack_o(msix_table_ack),
      .msix_rdata_o(msix_table_rdata),
      .pba_req_i(msix_pba_req),
      .pba_addr_i(msix_pba_addr),
      .pba_ack_o(msix_pba_ack),
      .pba_rdata_o(msix_pba_rdata),
      .wrreq_valid(wr2_req_valid),
      .wrreq_ready(wr2_req_ready),
      .wrreq(wr2_req),
      .wrdat_valid(wr2_dat_valid),
      .wrdat_ready(wr2_dat_ready),
      .wrdat_data(wr2_dat_data),
      .wrdat_cnt(wr2_dat_cnt),
      .wrdat_last(wr2_dat_last),
      .cnt_eqe_written_o(cnt_eqe_written__event_queue),
      .cnt_eq_overrun_o(cnt_eq_overrun__event_queue),
      .cnt_msix_sent_o(cnt_msix_sent__event_queue),
      .cnt_doorbell_refused_o(cnt_doorbell_refused__event_queue)
  );

  // -- DMA and memory regions
  dma_master #(
      .DATA_W(DATA_W),
      .N_TAG(N_TAG),
      .CLK_PS(CORE_PS),
      .DEVMEM_BYTES(DEVMEM_BYTES)
  ) u_dma_master (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cfg_mps_i(cfg_dma_cfg_mps),
      .cfg_mrrs_i(cfg_dma_cfg_mrrs),
      .cfg_pacing_i(cfg_dma_pacing_ctrl_max_reads),
      .cfg_timeout_us_i(cfg_dma_timeout_us),
      .cfg_relaxed_i(cfg_dma_cfg_relaxed),
      .gdr_en_i(cfg_gdr_bar_en_enable),
      .gpu_base_i(cfg_gpu_base_addr),
      .gpu_limit_i(cfg_gpu_limit_addr),
      .devmem_base_i(cfg_devmem_base_addr),
      .drain_i(drain),
      .idle_o(dma_idle),
      .rd0_valid,
      .rd0_ready,
      .rd0_req,
      .rd1_valid,
      .rd1_ready,
      .rd1_req,
      .rd2_valid,
      .rd2_ready,
      .rd2_req,
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data,
      .wr0_req_valid,
      .wr0_req_ready,
      .wr0_req,
      .wr0_dat_valid,
      .wr0_dat_ready,
      .wr0_dat_data,
      .wr0_dat_cnt,
      .wr0_dat_last,
      .wr1_req_valid,
      .wr1_req_ready,
      .wr1_req,
      .wr1_dat_valid,
      .wr1_dat_ready,
      .wr1_dat_data,
      .wr1_dat_cnt,
      .wr1_dat_last,
      .wr2_req_valid,
      .wr2_req_ready,
      .wr2_req,
      .wr2_dat_valid,
      .wr2_dat_ready,
      .wr2_dat_data,
      .wr2_dat_cnt,
      .wr2_dat_last,
      .wr3_req_valid,
      .wr3_req_ready,
      .wr3_req,
      .wr3_dat_valid,
      .wr3_dat_ready,
      .wr3_dat_data,
      .wr3_dat_cnt,
      .wr3_dat_last,
      .wr4_req_valid,
      .wr4_req_ready,
      .wr4_req,
      .wr4_dat_valid,
      .wr4_dat_ready,
      .wr4_dat_data,
      .wr4_dat_cnt,
      .wr4_dat_last,
      .wr_placed_o(wr_placed),
      .fault_valid,
      .fault_ready,
      .fault,
      .dm_wr_valid,
      .dm_wr_ready,
      .dm_wr_row,
      .dm_wr_data,
      .dm_wr_strb,
      .dm_rd_valid,
      .dm_rd_ready,
      .dm_rd_row,
      .dm_rd_data,
      .m_axi_awvalid,
      .m_axi_awready,
      .m_axi_awid,
      .m_axi_awaddr,
      .m_axi_awlen,
      .m_axi_awuser,
      .m_axi_wvalid,
      .m_axi_wready,
      .m_axi_wdata,
      .m_axi_wstrb,
      .m_axi_wlast,
      .m_axi_bvalid,
      .m_axi_bready,
      .m_axi_bid,
      .m_axi_bresp,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_aruser,
      .m_axi_rvalid,
      .m_axi_rready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_ruser,
      .gpu_accepted_o(gpu_accepted),
      .gpu_done_o(gpu_done),
      .dev_accepted_o(dev_accepted),
      .dev_done_o(dev_done),
      .cnt_dma_reads_o(cnt_dma_reads__dma_master),
      .cnt_dma_writes_o(cnt_dma_writes__dma_master),
      .cnt_dma_read_bytes_amount_o(cnt_dma_read_bytes_amount__dma_master),
      .cnt_dma_write_bytes_amount_o(cnt_dma_write_bytes_amount__dma_master),
      .cnt_dma_read_errors_o(cnt_dma_read_errors__dma_master),
      .cnt_dma_page_fault_o(cnt_dma_page_fault__dma_master),
      .cnt_dma_timeouts_o(cnt_dma_timeouts__dma_master),
      .cnt_gdr_refused_o(cnt_gdr_refused__dma_master),
      .trc_valid_o(trc_valid_o[19]),
      .trc_o(trc_o[1216+:64]),
      .trc_sampled_o(trc_sampled_o[19]),
      .trc2_valid_o(trc_valid_o[20]),
      .trc2_o(trc_o[1280+:64]),
      .trc2_sampled_o(trc_sampled_o[20]),
      .placed_o(placed),
      .rd_placed_o(rd_placed),
      .rd3_valid,
      .rd3_ready,
      .rd3_req,
      .rd4_valid,
      .rd4_ready,
      .rd4_req,
      .rd5_valid,
      .rd5_ready,
      .rd5_req,
      .rd6_valid,
      .rd6_ready,
      .rd6_req
  );
  device_memory #(
      .DATA_W(DATA_W),
      .DEVMEM_BYTES(DEVMEM_BYTES)
  ) u_device_memory (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .dm_wr_valid(mem_wr_valid),
      .dm_wr_ready(mem_wr_ready),
      .dm_wr_row(mem_wr_row),
      .dm_wr_data(mem_wr_data),
      .dm_wr_strb(mem_wr_strb),
      .dm_rd_valid,
      .dm_rd_ready,
      .dm_rd_row,
      .dm_rd_data,
      .gdr_awvalid,
      .gdr_awready,
      .gdr_awaddr,
      .gdr_awlen,
      .gdr_wvalid,
      .gdr_wready,
      .gdr_wdata,
      .gdr_wstrb,
      .gdr_wlast,
      .gdr_bvalid,
      .gdr_bready,
      .gdr_bresp,
      .gdr_arvalid,
      .gdr_arready,
      .gdr_araddr,
      .gdr_arlen,
      .gdr_rvalid,
      .gdr_rready,
      .gdr_rdata,
      .gdr_rresp,
      .gdr_rlast
  );
  mr_table #(
      .N_MR(N_MR),
      .DEVMEM_BYTES(DEVMEM_BYTES)
  ) u_mr_table (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[6]),
      .gdr_en_i(cfg_gdr_bar_en_enable),
      .gpu_base_i(cfg_gpu_base_addr),
      .gpu_limit_i(cfg_gpu_limit_addr),
      .devmem_base_i(cfg_devmem_base_addr),
      .mrq0_valid,
      .mrq0_ready,
      .mrq0,
      .mrs0_valid,
      .mrs0,
      .mrq1_valid,
      .mrq1_ready,
      .mrq1,
      .mrs1_valid,
      .mrs1,
      .cw_valid(mr_cw_valid),
      .cw_index(mr_cw_index),
      .cw(mr_cw),
      .cr_valid(mr_cr_valid),
      .cr_ready(mr_cr_ready),
      .cr_index(mr_cr_index),
      .crs_valid(mr_crs_valid),
      .crs(mr_crs),
      .cnt_mr_errors_o(cnt_mr_errors__mr_table),
      .cnt_gdr_refused_o(cnt_gdr_refused__mr_table),
      .lop0_valid,
      .lop0_ready,
      .lop0,
      .lop0_done_valid,
      .lop0_done_ok,
      .lop1_valid,
      .lop1_ready,
      .lop1,
      .lop1_done_valid,
      .lop1_done_ok,
      .mrq2_valid,
      .mrq2_ready,
      .mrq2,
      .mrs2_valid,
      .mrs2,
      .mrq3_valid,
      .mrq3_ready,
      .mrq3,
      .mrs3_valid,
      .mrs3,
      .cnt_mtt_hits_o(cnt_mtt_hits__mr_table),
      .cnt_mtt_misses_o(cnt_mtt_misses__mr_table),
      .rdreq_valid(rd5_valid),
      .rdreq_ready(rd5_ready),
      .rdreq(rd5_req),
      .rdrsp_valid,
      .rdrsp,
      .rdrsp_data(rdrsp_data[63:0])
  );

  // -- Contexts and tables
  // The contexts: all on chip, or N_CTX of them.
  if (N_CTX == N_QP) begin : gen_on_chip
    qp_context_mgr #(
        .N_QP(N_QP),
        .CTX_LAT(CTX_LAT)
    ) u_qp_context_mgr (
        .clk_i(core_clk_i),
        .rst_i(core_rst),
        .init_done_o(init_done[7]),
        .cw_valid(ctx_cw_valid),
        .cw_qpn(ctx_cw_qpn),
        .cw(ctx_cw),
        .db_lk_valid(ctx_db_lk_valid),
        .db_lk_ready(ctx_db_lk_ready),
        .db_lk_qpn(ctx_db_lk_qpn),
        .db_ctx_valid(ctx_db_ctx_valid),
        .db_ctx(ctx_db_ctx),
        .sch_lk_valid(ctx_sch_lk_valid),
        .sch_lk_ready(ctx_sch_lk_ready),
        .sch_lk_qpn(ctx_sch_lk_qpn),
        .sch_ctx_valid(ctx_sch_ctx_valid),
        .sch_ctx(ctx_sch_ctx),
        .wf_lk_valid(ctx_wf_lk_valid),
        .wf_lk_ready(ctx_wf_lk_ready),
        .wf_lk_qpn(ctx_wf_lk_qpn),
        .wf_ctx_valid(ctx_wf_ctx_valid),
        .wf_ctx(ctx_wf_ctx),
        .sq_lk_valid(ctx_sq_lk_valid),
        .sq_lk_ready(ctx_sq_lk_ready),
        .sq_lk_qpn(ctx_sq_lk_qpn),
        .sq_ctx_valid(ctx_sq_ctx_valid),
        .sq_ctx(ctx_sq_ctx),
        .rs_lk_valid(ctx_rs_lk_valid),
        .rs_lk_ready(ctx_rs_lk_ready),
        .rs_lk_qpn(ctx_rs_lk_qpn),
        .rs_ctx_valid(ctx_rs_ctx_valid),
        .rs_ctx(ctx_rs_ctx),
        .re_lk_valid(ctx_re_lk_valid),
        .re_lk_ready(ctx_re_lk_ready),
        .re_lk_qpn(ctx_re_lk_qpn),
        .re_ctx_valid(ctx_re_ctx_valid),
        .re_ctx(ctx_re_ctx),
        .cp_lk_valid(ctx_cp_lk_valid),
        .cp_lk_ready(ctx_cp_lk_ready),
        .cp_lk_qpn(ctx_cp_lk_qpn),
        .cp_ctx_valid(ctx_cp_ctx_valid),
        .cp_ctx(ctx_cp_ctx),
        .snd_wr_valid(half_snd_wr_valid),
        .snd_wr_qpn(half_snd_wr_qpn),
        .snd_wr(half_snd_wr),
        .snd_lk_valid(half_snd_lk_valid),
        .snd_lk_ready(half_snd_lk_ready),
        .snd_lk_qpn(half_snd_lk_qpn),
        .snd_ctx_valid(half_snd_ctx_valid),
        .snd_ctx(half_snd_ctx),
        .ack_wr_valid(half_ack_wr_valid),
        .ack_wr_qpn(half_ack_wr_qpn),
        .ack_wr(half_ack_wr),
        .ack_lk_valid(half_ack_lk_valid),
        .ack_lk_ready(half_ack_lk_ready),
        .ack_lk_qpn(half_ack_lk_qpn),
        .ack_ctx_valid(half_ack_ctx_valid),
        .ack_ctx(half_ack_ctx),
        .rcv_wr_valid(half_rcv_wr_valid),
        .rcv_wr_qpn(half_rcv_wr_qpn),
        .rcv_wr(half_rcv_wr),
        .rcv_lk_valid(half_rcv_lk_valid),
        .rcv_lk_ready(half_rcv_lk_ready),
        .rcv_lk_qpn(half_rcv_lk_qpn),
        .rcv_ctx_valid(half_rcv_ctx_valid),
        .rcv_ctx(half_rcv_ctx),
        .cps_lk_valid(half_cps_lk_valid),
        .cps_lk_ready(half_cps_lk_ready),
        .cps_lk_qpn(half_cps_lk_qpn),
        .cps_ctx_valid(half_cps_ctx_valid),
        .cps_ctx(half_cps_ctx),
        .q_lk_valid,
        .q_lk_ready,
        .q_lk_qpn,
        .q_ctx_valid,
        .q_conn,
        .q_snd,
        .q_ack,
        .q_rcv,
        .sqa_lk_valid(ctx_sqa_lk_valid),
        .sqa_lk_ready(ctx_sqa_lk_ready),
        .sqa_lk_qpn(ctx_sqa_lk_qpn),
        .sqa_ctx_valid(ctx_sqa_ctx_valid),
        .sqa_ctx(ctx_sqa_ctx),
        .rq_lk_valid(ctx_rq_lk_valid),
        .rq_lk_ready(ctx_rq_lk_ready),
        .rq_lk_qpn(ctx_rq_lk_qpn),
        .rq_ctx_valid(ctx_rq_ctx_valid),
        .rq_ctx(ctx_rq_ctx)
    );
    assign sched_turn_ready = turn_ready;
    assign turn_valid = sched_turn_valid;
    assign turn_qpn = sched_turn_qpn;
    assign ctx_room = 1'b1;
    assign rd6_valid = arp_rd_valid;
    assign rd6_req = arp_rd_req;
    assign wr4_req_valid = arp_wr_req_valid;
    assign wr4_req = arp_wr_req;
    assign wr4_dat_valid = arp_wr_dat_valid;
    assign wr4_dat_data = arp_wr_dat_data;
    assign wr4_dat_cnt = arp_wr_dat_cnt;
    assign wr4_dat_last = arp_wr_dat_last;
    assign fail_cx_valid = 1'b0;
    assign fail_cx = '0;
    assign cnt_ctx_hits = '0;
    assign cnt_ctx_misses = 1'b0;
    assign trc_valid_o[22:21] = '0;
    assign trc_o[1471:1344] = '0;
    assign trc_sampled_o[22:21] = '0;
    logic unused_cached;
    assign unused_cached = ^{early_valid, early_qpn, stored_valid, stored_qpn, answer_valid,
        answer_qpn, answered, pin, pin_qpn, cfg_qp_ctx_base_addr, rd6_ready, wr4_req_ready,
        wr4_dat_ready, fail_cx_ready};
  end else begin : gen_cached
    ctx_cache #(
        .DATA_W(DATA_W),
        .N_CTX(N_CTX),
        .N_QP(N_QP),
        .N_PKT(N_RXPKT + 8)
    ) u_ctx_cache (
        .clk_i(core_clk_i),
        .rst_i(core_rst),
        .init_done_o(init_done[7]),
        .cfg_base_i(cfg_qp_ctx_base_addr),
        .room_qpn_i(q_rq_qpn),
        .room_o(ctx_room),
        .cw_valid(ctx_cw_valid),
        .cw_qpn(ctx_cw_qpn),
        .cw(ctx_cw),
        .db_lk_valid(ctx_db_lk_valid),
        .db_lk_ready(ctx_db_lk_ready),
        .db_lk_qpn(ctx_db_lk_qpn),
        .db_ctx_valid(ctx_db_ctx_valid),
        .db_ctx(ctx_db_ctx),
        .sch_lk_valid(ctx_sch_lk_valid),
        .sch_lk_ready(ctx_sch_lk_ready),
        .sch_lk_qpn(ctx_sch_lk_qpn),
        .sch_ctx_valid(ctx_sch_ctx_valid),
        .sch_ctx(ctx_sch_ctx),
        .wf_lk_valid(ctx_wf_lk_valid),
        .wf_lk_ready(ctx_wf_lk_ready),
        .wf_lk_qpn(ctx_wf_lk_qpn),
        .wf_ctx_valid(ctx_wf_ctx_valid),
        .wf_ctx(ctx_wf_ctx),
        .sq_lk_valid(ctx_sq_lk_valid),
        .sq_lk_ready(ctx_sq_lk_ready),
        .sq_lk_qpn(ctx_sq_lk_qpn),
        .sq_ctx_valid(ctx_sq_ctx_valid),
        .sq_ctx(ctx_sq_ctx),
        .rs_lk_valid(ctx_rs_lk_valid),
        .rs_lk_ready(ctx_rs_lk_ready),
        .rs_lk_qpn(ctx_rs_lk_qpn),
        .rs_ctx_valid(ctx_rs_ctx_valid),
        .rs_ctx(ctx_rs_ctx),
        .re_lk_valid(ctx_re_lk_valid),
        .re_lk_ready(ctx_re_lk_ready),
        .re_lk_qpn(ctx_re_lk_qpn),
        .re_ctx_valid(ctx_re_ctx_valid),
        .re_ctx(ctx_re_ctx),
        .cp_lk_valid(ctx_cp_lk_valid),
        .cp_lk_ready(ctx_cp_lk_ready),
        .cp_lk_qpn(ctx_cp_lk_qpn),
        .cp_ctx_valid(ctx_cp_ctx_valid),
        .cp_ctx(ctx_cp_ctx),
        .snd_wr_valid(half_snd_wr_valid),
        .snd_wr_qpn(half_snd_wr_qpn),
        .snd_wr(half_snd_wr),
        .snd_lk_valid(half_snd_lk_valid),
        .snd_lk_ready(half_snd_lk_ready),
        .snd_lk_qpn(half_snd_lk_qpn),
        .snd_ctx_valid(half_snd_ctx_valid),
        .snd_ctx(half_snd_ctx),
        .ack_wr_valid(half_ack_wr_valid),
        .ack_wr_qpn(half_ack_wr_qpn),
        .ack_wr(half_ack_wr),
        .ack_lk_valid(half_ack_lk_valid),
        .ack_lk_ready(half_ack_lk_ready),
        .ack_lk_qpn(half_ack_lk_qpn),
        .ack_ctx_valid(half_ack_ctx_valid),
        .ack_ctx(half_ack_ctx),
        .rcv_wr_valid(half_rcv_wr_valid),
        .rcv_wr_qpn(half_rcv_wr_qpn),
        .rcv_wr(half_rcv_wr),
        .rcv_lk_valid(half_rcv_lk_valid),
        .rcv_lk_ready(half_rcv_lk_ready),
        .rcv_lk_qpn(half_rcv_lk_qpn),
        .rcv_ctx_valid(half_rcv_ctx_valid),
        .rcv_ctx(half_rcv_ctx),
        .cps_lk_valid(half_cps_lk_valid),
        .cps_lk_ready(half_cps_lk_ready),
        .cps_lk_qpn(half_cps_lk_qpn),
        .cps_ctx_valid(half_cps_ctx_valid),
        .cps_ctx(half_cps_ctx),
        .q_lk_valid,
        .q_lk_ready,
        .q_lk_qpn,
        .q_ctx_valid,
        .q_conn,
        .q_snd,
        .q_ack,
        .q_rcv,
        .sqa_lk_valid(ctx_sqa_lk_valid),
        .sqa_lk_ready(ctx_sqa_lk_ready),
        .sqa_lk_qpn(ctx_sqa_lk_qpn),
        .sqa_ctx_valid(ctx_sqa_ctx_valid),
        .sqa_ctx(ctx_sqa_ctx),
        .rq_lk_valid(ctx_rq_lk_valid),
        .rq_lk_ready(ctx_rq_lk_ready),
        .rq_lk_qpn(ctx_rq_lk_qpn),
        .rq_ctx_valid(ctx_rq_ctx_valid),
        .rq_ctx(ctx_rq_ctx),
        .pin_i(pin),
        .pin_qpn_i(pin_qpn),
        .turn_in_valid(sched_turn_valid),
        .turn_in_ready(sched_turn_ready),
        .turn_in_qpn(sched_turn_qpn),
        .turn_out_valid(turn_valid),
        .turn_out_ready(turn_ready),
        .turn_out_qpn(turn_qpn),
        .rx_hint_i(early_valid),
        .rx_hint_qpn_i(early_qpn),
        .rx_stored_i(stored_valid),
        .rx_stored_qpn_i(stored_qpn),
        .rx_taken_i(pk_valid && pk_ready),
        .answer_i(answer_valid),
        .answer_qpn_i(answer_qpn),
        .answered_i(answered),
        .tx_hint_i(wqe_req_valid && wqe_req_ready),
        .tx_hint_qpn_i(wqe_req_qpn),
        .rdreq_valid(rd6_valid),
        .rdreq_ready(rd6_ready),
        .rdreq(rd6_req),
        .rdrsp_valid,
        .rdrsp,
        .rdrsp_data,
        .wr_req_valid(wr4_req_valid),
        .wr_req_ready(wr4_req_ready),
        .wr_req(wr4_req),
        .wr_dat_valid(wr4_dat_valid),
        .wr_dat_ready(wr4_dat_ready),
        .wr_dat_data(wr4_dat_data),
        .wr_dat_cnt(wr4_dat_cnt),
        .wr_dat_last(wr4_dat_last),
        .wr_placed_i(wr_placed[4]),
        .fail_valid(fail_cx_valid),
        .fail_ready(fail_cx_ready),
        .fail(fail_cx),
        .cnt_hits_o(cnt_ctx_hits),
        .cnt_misses_o(cnt_ctx_misses),
        .trc_valid_o(trc_valid_o[21]),
        .trc_o(trc_o[1344+:64]),
        .trc_sampled_o(trc_sampled_o[21]),
        .trc2_valid_o(trc_valid_o[22]),
        .trc2_o(trc_o[1408+:64]),
        .trc2_sampled_o(trc_sampled_o[22])
    );
  end
  path_table #(
      .N_PATH(N_PATH)
  ) u_path_table (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .cw_valid(path_cw_valid),
      .cw_index(path_cw_index),
      .cw(path_cw),
      .cr_valid(path_cr_valid),
      .cr_ready(path_cr_ready),
      .cr_index(path_cr_index),
      .crs_valid(path_crs_valid),
      .crs(path_crs),
      .tx_lk_valid(path_tx_lk_valid),
      .tx_lk_ready(path_tx_lk_ready),
      .tx_lk_index(path_tx_lk_index),
      .tx_valid(path_tx_valid),
      .tx(path_tx),
      .rx_lk_valid(path_rp_lk_valid),
      .rx_lk_ready(path_rp_lk_ready),
      .rx_lk_index(path_rp_lk_index),
      .rx_valid(path_rp_valid),
      .rx(path_rp),
      .cp_lk_valid(path_cp_lk_valid),
      .cp_lk_ready(path_cp_lk_ready),
      .cp_lk_index(path_cp_lk_index),
      .cp_valid(path_cp_valid),
      .cp(path_cp)
  );
  // Stages and FIFOs between a decision and memory. Each request, READ response and ATOMIC ACK is
  // one decision to rx_placer; an ACK or a CNP is none.
  logic settle, settled, settle_ask, settle_over, place_take, cplace_take, completer_decides;
  logic [9:0] settle_enters, settle_leaves;
  assign place_take = place_valid && place_ready;
  assign cplace_take = cplace_valid && cplace_ready;
  assign completer_decides = resp.opcode != roce_pkg::OP_ACKNOWLEDGE &&
                             resp.opcode != roce_pkg::OP_CNP;
  assign settle_enters = {
      (cq0_valid && cq0_ready) || (cq1_valid && cq1_ready),
      (place_take && (place.has_cqe || place.alone)) ||
      (cplace_take && (cplace.has_cqe || cplace.alone)),
      at_valid && at_ready,
      wr4_req_valid && wr4_req_ready,
      wr3_req_valid && wr3_req_ready, wr2_req_valid && wr2_req_ready,
      wr1_req_valid && wr1_req_ready, wr0_req_valid && wr0_req_ready,
      resp_valid && resp_ready && completer_decides, req_valid && req_ready};
  assign settle_leaves = {
      cnt_cqe_written__cqe_gen || cnt_cq_overrun__cqe_gen, cq0_valid && cq0_ready,
      ar_valid && ar_ready, wr_placed, cplace_take && !cplace.more && !cplace.alone,
      place_take && !place.more && !place.alone};
  settle #(
      .N(10),
      .M(4)
  ) u_settle (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .ask_i(settle_ask),
      .done_o(settle_over),
      .enters_i(settle_enters),
      .leaves_i(settle_leaves),
      .fifo_valid_i({at_valid, cq1_valid, cplace_valid, place_valid}),
      .fifo_ready_i({at_ready, cq1_ready, cplace_ready, place_ready})
  );
  settle_share u_settle_share (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .inv_valid,
      .inv_ready,
      .inv_qpn,
      .settled_valid,
      .settled_ready,
      .settled_qpn,
      .cmd_ask_i(settle),
      .cmd_done_o(settled),
      .ask_o(settle_ask),
      .done_i(settle_over)
  );
  cmd_unit #(
      .N_QP(N_QP),
      .N_CQ(N_CQ),
      .N_EQ(N_EQ),
      .N_MR(N_MR),
      .N_PD(N_PD),
      .N_PATH(N_PATH),
      .N_MSIX(N_MSIX),
      .ARP(ARP)
  ) u_cmd_unit (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[8]),
      .mbox_in_req_i(mbox_in_req),
      .mbox_in_we_i(mbox_in_we),
      .mbox_in_addr_i(mbox_in_addr),
      .mbox_in_wdata_i(mbox_in_wdata),
      .mbox_in_wstrb_i(mbox_in_wstrb),
      .mbox_in_ack_o(mbox_in_ack),
      .mbox_in_rdata_o(mbox_in_rdata),
      .mbox_out_req_i(mbox_out_req),
      .mbox_out_addr_i(mbox_out_addr),
      .mbox_out_ack_o(mbox_out_ack),
      .mbox_out_rdata_o(mbox_out_rdata),
      .go_i(cfg_cmd_ctrl_go),
      .busy_o(cmd_busy),
      .status_o(cmd_status),
      .token_o(cmd_token),
      .cfg_rate_i(cfg_qp_rate_limit_mbps),
      .fatal_o(fatal),
      .cw_valid(ctx_cw_valid),
      .cw_qpn(ctx_cw_qpn),
      .cw(ctx_cw),
      .q_lk_valid,
      .q_lk_ready,
      .q_lk_qpn,
      .q_ctx_valid,
      .q_conn,
      .q_snd,
      .q_ack,
      .q_rcv,
      .qry_lk_valid,
      .qry_lk_ready,
      .qry_lk_qpn,
      .qry_valid,
      .qry_prod,
      .qry_fetch,
      .q_rq_qpn_o(q_rq_qpn),
      .q_rq_prod_i(q_rq_prod),
      .mr_cw_valid,
      .mr_cw_index,
      .mr_cw,
      .mr_cr_valid,
      .mr_cr_ready,
      .mr_cr_index,
      .mr_crs_valid,
      .mr_crs,
      .cq_cw_valid,
      .cq_cw_index,
      .cq_cw,
      .cq_cr_valid,
      .cq_cr_index,
      .cq_crs_valid,
      .cq_crs,
      .cq_crs_prod,
      .cq_crs_cons,
      .eq_cw_valid,
      .eq_cw_index,
      .eq_cw,
      .eq_cr_valid,
      .eq_cr_index,
      .eq_crs_valid,
      .eq_crs,
      .eq_crs_prod,
      .path_cw_valid,
      .path_cw_index,
      .path_cw,
      .path_cr_valid,
      .path_cr_ready,
      .path_cr_index,
      .path_crs_valid,
      .path_crs,
      .qpi_valid_o(qpi_valid),
      .qpi_ready_i(qpi_ready),
      .qpi_o(qpi),
      .settle_o(settle),
      .settled_i(settled),
      .arp_valid_o(arp_cmd_valid),
      .arp_cmd_o(arp_cmd),
      .arp_done_i(arp_cmd_done),
      .arp_status_i(arp_cmd_status),
      .arp_answer_i(arp_cmd_answer),
      .fail_valid,
      .fail_ready,
      .fail,
      .event_valid(ev1_valid),
      .event_ready(ev1_ready),
      .event_o(ev1),
      .cnt_cmd_done_o(cnt_cmd_done__cmd_unit),
      .cnt_cmd_errors_o(cnt_cmd_errors__cmd_unit),
      // of the sending side: rx_completer
      .fail_sq_i(fail_src == 3'd1),
      .ctx_room_i(ctx_room),
      .pin_o(pin[6]),
      .pin_qpn_o(pin_qpn[167:144])
  );

  // -- Registers, reset
  rnic_csr u_csr (
      .clk_i(core_clk_i),
      .rst_i(core_rst_i),
      .s_awaddr(bar2_awaddr[21:0]),
      .s_awvalid(bar2_awvalid),
      .s_awready(bar2_awready),
      .s_wdata(bar2_wdata),
      .s_wstrb(bar2_wstrb),
      .s_wvalid(bar2_wvalid),
      .s_wready(bar2_wready),
      .s_bresp(bar2_bresp),
      .s_bvalid(bar2_bvalid),
      .s_bready(bar2_bready),
      .s_araddr(bar2_araddr[21:0]),
      .s_arvalid(bar2_arvalid),
      .s_arready(bar2_arready),
      .s_rdata(bar2_rdata),
      .s_rresp(bar2_rresp),
      .s_rvalid(bar2_rvalid),
      .s_rready(bar2_rready),
      .qp_ctx_base_addr_o(cfg_qp_ctx_base_addr),
      .dma_pacing_ctrl_max_reads_o(cfg_dma_pacing_ctrl_max_reads),
      .gdr_bar_en_enable_o(cfg_gdr_bar_en_enable),
      .mrc_path_mask_mask_o(cfg_mrc_path_mask_mask),
      .cap_data_data_w_i(16'(DATA_W)),
      .cap_data_gen_fcs_i(1'(GEN_FCS)),
      .cap_qp_n_qp_i(24'(N_QP)),
      .cap_qp_page_shift_i(4'($clog2(UAR_STRIDE))),
      .cap_qp_ctx_log2_i((N_CTX == N_QP) ? 4'd0 : 4'($clog2(N_CTX))),
      .cap_cq_n_cq_i(16'(N_CQ)),
      .cap_cq_n_eq_i(16'(N_EQ)),
      .cap_mr_n_mr_i(16'(N_MR)),
      .cap_mr_n_pd_i(16'(N_PD)),
      .cap_path_n_path_i(16'(N_PATH)),
      .cap_path_n_msix_i(16'(N_MSIX)),
      .cap_devmem_bytes_i(32'(DEVMEM_BYTES)),
      .cap_arp_n_group_i(8'(N_GROUP)),
      .cap_arp_slot_log2_i(ARP != 0 ? 4'($clog2(N_SLOT)) : 4'd0),
      .cap_arp_stage_log2_i(ARP != 0 ? 4'($clog2(N_STAGE)) : 4'd0),
      .cap_arp_ring_log2_i(ARP != 0 ? 4'($clog2(N_RING)) : 4'd0),
      .clk_period_core_ps_i(16'(CORE_PS)),
      .clk_period_mac_ps_i(16'(MAC_PS)),
      .health_ready_i(ready),
      .health_fatal_i(fatal),
      .health_dma_idle_i(dma_idle),
      .heartbeat_count_i(heartbeat_q[41:10]),
      .reset_device_o(cfg_reset_device),
      .cmd_ctrl_go_o(cfg_cmd_ctrl_go),
      .cmd_status_busy_i(cmd_busy),
      .cmd_status_status_i(cmd_status),
      .cmd_status_token_i(cmd_token),
      .dma_cfg_mps_o(cfg_dma_cfg_mps),
      .dma_cfg_mrrs_o(cfg_dma_cfg_mrrs),
      .dma_cfg_relaxed_o(cfg_dma_cfg_relaxed),
      .dma_timeout_us_o(cfg_dma_timeout_us),
      .devmem_base_addr_o(cfg_devmem_base_addr),
      .gpu_base_addr_o(cfg_gpu_base_addr),
      .gpu_limit_addr_o(cfg_gpu_limit_addr),
      .tx_start_threshold_bytes_o(cfg_tx_start_threshold_bytes),
      .ack_coalesce_count_o(cfg_ack_coalesce_count),
      .ack_coalesce_cycles_o(cfg_ack_coalesce_cycles),
      .rx_buf_drop_reserve_o(cfg_rx_buf_drop_reserve),
      .timer_cfg_tick_shift_o(cfg_timer_cfg_tick_shift),
      .mac_cfg_promisc_raw_o(cfg_mac_cfg_promisc_raw),
      .mac_cfg_mig_req_o(cfg_mac_cfg_mig_req),
      .mac_cfg_ack_req_every_o(cfg_mac_cfg_ack_req_every),
      .port_mac_addr_o(cfg_port_mac_addr),
      .trace_ctrl_enable_o(cfg_trace_ctrl_enable),
      .trace_ctrl_all_o(cfg_trace_ctrl_all),
      .trace_ctrl_qp_filter_o(cfg_trace_ctrl_qp_filter),
      .trace_ctrl_clear_o(cfg_trace_ctrl_clear),
      .trace_ctrl_one_in_log2_o(cfg_trace_ctrl_one_in_log2),
      .trace_qpn_qpn_o(cfg_trace_qpn_qpn),
      .trace_clk_count_o(cfg_trace_clk_count),
      .trace_clk_count_we_o(cfg_trace_clk_count_we),
      .trace_clk_count_i(trace_clock),
      .trace_stat_level_i(trace_level),
      .trace_stat_lost_i(trace_lost),
      .cc_global_ctrl_mode_o(cfg_cc_global_ctrl_mode),
      .cc_global_ctrl_enable_o(cfg_cc_global_ctrl_enable),
      .cc_global_ctrl_reserved_o(cfg_cc_global_ctrl_reserved),
      .qp_rate_limit_mbps_o(cfg_qp_rate_limit_mbps),
      .qp_rate_burst_bytes_o(cfg_qp_rate_burst_bytes),
      .qp_rate_burst_late_log2_o(cfg_qp_rate_burst_late_log2),
      .cc_line_rate_kbps_o(cfg_cc_line_rate_kbps),
      .cc_min_rate_kbps_o(cfg_cc_min_rate_kbps),
      .dcqcn_ctrl_production_o(cfg_dcqcn_ctrl_production),
      .dcqcn_ctrl_clamp_o(cfg_dcqcn_ctrl_clamp),
      .dcqcn_ctrl_clamp_after_time_o(cfg_dcqcn_ctrl_clamp_after_time),
      .dcqcn_ctrl_gd_o(cfg_dcqcn_ctrl_gd),
      .dcqcn_ctrl_f_o(cfg_dcqcn_ctrl_f),
      .dcqcn_g_value_o(cfg_dcqcn_g_value),
      .dcqcn_alpha_init_value_o(cfg_dcqcn_alpha_init_value),
      .dcqcn_first_frac_value_o(cfg_dcqcn_first_frac_value),
      .dcqcn_max_cut_value_o(cfg_dcqcn_max_cut_value),
      .dcqcn_first_rate_kbps_o(cfg_dcqcn_first_rate_kbps),
      .dcqcn_ai_rate_kbps_o(cfg_dcqcn_ai_rate_kbps),
      .dcqcn_hai_rate_kbps_o(cfg_dcqcn_hai_rate_kbps),
      .dcqcn_byte_reset_bytes_o(cfg_dcqcn_byte_reset_bytes),
      .dcqcn_alpha_time_us_o(cfg_dcqcn_alpha_time_us),
      .dcqcn_dec_time_us_o(cfg_dcqcn_dec_time_us),
      .dcqcn_inc_time_us_o(cfg_dcqcn_inc_time_us),
      .dcqcn_np_interval_o(cfg_dcqcn_np_interval),
      .dcqcn_np_scope_o(cfg_dcqcn_np_scope),
      .cnp_class_dscp_o(cfg_cnp_class_dscp),
      .cnp_class_pcp_o(cfg_cnp_class_pcp),
      .hpcc_ctrl_cut_old_o(cfg_hpcc_ctrl_cut_old),
      .hpcc_ctrl_fast_react_o(cfg_hpcc_ctrl_fast_react),
      .hpcc_ctrl_multi_rate_o(cfg_hpcc_ctrl_multi_rate),
      .hpcc_ctrl_sample_o(cfg_hpcc_ctrl_sample),
      .hpcc_ctrl_path_check_o(cfg_hpcc_ctrl_path_check),
      .hpcc_ctrl_max_stage_o(cfg_hpcc_ctrl_max_stage),
      .hpcc_ctrl_int_multi_o(cfg_hpcc_ctrl_int_multi),
      .hpcc_ctrl_tx_limit_o(cfg_hpcc_ctrl_tx_limit),
      .hpcc_eta_value_o(cfg_hpcc_eta_value),
      .hpcc_base_rtt_ns_o(cfg_hpcc_base_rtt_ns),
      .hpcc_ai_rate_kbps_o(cfg_hpcc_ai_rate_kbps),
      .hpcc_alpha_value_o(cfg_hpcc_alpha_value),
      .cc_query_qpn_o(cfg_cc_query_qpn),
      .cc_query_go_o(cfg_cc_query_go),
      // falls with the question
      .cc_state_done_i(cc_qry_done && !cfg_cc_query_go),
      .cc_state_ready_i(cc_ready),
      .cc_state_stage_i(cc_qry_stage),
      .cc_state_name_i(cc_qry_name),
      .cc_rate_kbps_i(cc_qry_rate),
      .cc_target_kbps_i(cc_qry_target),
      .cc_window_bytes_i(cc_qry_window),
      .cc_alpha_value_i(cc_qry_alpha),
      .cc_steps_time_i(cc_qry_t_stage),
      .cc_steps_bytes_i(cc_qry_b_stage),
      .pfc_ctrl_rx_classes_o(cfg_pfc_ctrl_rx_classes),
      .pfc_ctrl_tx_classes_o(cfg_pfc_ctrl_tx_classes),
      .pfc_ctrl_rx_link_o(cfg_pfc_ctrl_rx_link),
      .pfc_ctrl_tx_link_o(cfg_pfc_ctrl_tx_link),
      .pfc_ctrl_by_pcp_o(cfg_pfc_ctrl_by_pcp),
      .pfc_ctrl_default_class_o(cfg_pfc_ctrl_default_class),
      .pfc_quanta_quanta_o(cfg_pfc_quanta_quanta),
      .pfc_storm_limit_us_o(cfg_pfc_storm_limit_us),
      .pfc_storm_action_o(cfg_pfc_storm_action),
      .pfc_restore_us_o(cfg_pfc_restore_us),
      .pfc_state_paused_i(rx_paused),
      .pfc_state_link_i(rx_link_paused),
      .pfc_state_storm_i(pfc_storm[7:0]),
      .pfc_state_link_storm_i(pfc_storm[8]),
      .pfc_dscp_map_map_o(cfg_pfc_dscp_map_map),
      .pfc_xoff_bytes_o(cfg_pfc_xoff_bytes),
      .pfc_xon_bytes_o(cfg_pfc_xon_bytes),
      .mbox_in_req_o(mbox_in_req),
      .mbox_in_we_o(mbox_in_we),
      .mbox_in_addr_o(mbox_in_addr),
      .mbox_in_wdata_o(mbox_in_wdata),
      .mbox_in_wstrb_o(mbox_in_wstrb),
      .mbox_in_ack_i(mbox_in_ack),
      .mbox_in_rdata_i(mbox_in_rdata),
      .mbox_out_req_o(mbox_out_req),
      .mbox_out_addr_o(mbox_out_addr),
      .mbox_out_ack_i(mbox_out_ack),
      .mbox_out_rdata_i(mbox_out_rdata),
      .msix_table_req_o(msix_table_req),
      .msix_table_we_o(msix_table_we),
      .msix_table_addr_o(msix_table_addr),
      .msix_table_wdata_o(msix_table_wdata),
      .msix_table_wstrb_o(msix_table_wstrb),
      .msix_table_ack_i(msix_table_ack),
      .msix_table_rdata_i(msix_table_rdata),
      .msix_pba_req_o(msix_pba_req),
      .msix_pba_addr_o(msix_pba_addr),
      .msix_pba_ack_i(msix_pba_ack),
      .msix_pba_rdata_i(msix_pba_rdata),
      .counters_req_o(counters_req),
      .counters_addr_o(counters_addr),
      .counters_ack_i(counters_ack),
      .counters_rdata_i(counters_rdata),
      .trace_ring_req_o(trace_ring_req),
      .trace_ring_addr_o(trace_ring_addr),
      .trace_ring_ack_i(trace_ring_ack),
      .trace_ring_rdata_i(trace_ring_rdata),
      .cq_cons_req_o(cq_cons_req),
      .cq_cons_we_o(cq_cons_we),
      .cq_cons_addr_o(cq_cons_addr),
      .cq_cons_wdata_o(cq_cons_wdata),
      .cq_cons_wstrb_o(cq_cons_wstrb),
      .cq_cons_ack_i(cq_cons_ack),
      .cq_cons_rdata_i(cq_cons_rdata),
      .eq_cons_req_o(eq_cons_req),
      .eq_cons_we_o(eq_cons_we),
      .eq_cons_addr_o(eq_cons_addr),
      .eq_cons_wdata_o(eq_cons_wdata),
      .eq_cons_wstrb_o(eq_cons_wstrb),
      .eq_cons_ack_i(eq_cons_ack),
      .eq_cons_rdata_i(eq_cons_rdata),
      .borders_req_o(borders_req),
      .borders_addr_o(borders_addr),
      .borders_ack_i(borders_ack),
      .borders_rdata_i(borders_rdata),
      .bad_access_pulse_o(cnt_bad_register_access__csr)
  );
  reset_unit u_reset_unit (
      .clk_i(core_clk_i),
      .rst_i(core_rst_i),
      .request_i(cfg_reset_device),
      .dma_idle_i(dma_idle),
      .tx_quiet_i(tx_quiet),
      .drain_o(drain),
      .core_rst_o(core_rst),
      .mac_rst_o(mac_rst_req),
      .running_o(running)
  );
  counters #(
      .N(rnic_regs_pkg::N_COUNTERS),
      .N_WIDE(N_WIDE),
      .WIDE_INDEX(WIDE_INDEX)
  ) u_counters (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .inc_i(cnt_inc),
      .add_i(cnt_add),
      .amount_i(cnt_amount),
      .req_i(counters_req),
      .addr_i(counters_addr),
      .ack_o(counters_ack),
      .rdata_o(counters_rdata)
  );
  trace_unit #(
      .N_SRC(N_TRC)
  ) u_trace_unit (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .trc_valid_i(trc_valid_o),
      .trc_i(trc_o),
      .trc_sampled_i(trc_sampled_o),
      .enable_i(cfg_trace_ctrl_enable),
      .all_i(cfg_trace_ctrl_all),
      .clear_i(cfg_trace_ctrl_clear),
      .clk_set_i(cfg_trace_clk_count_we),
      .clk_value_i(cfg_trace_clk_count),
      .clk_o(trace_clock),
      .req_i(trace_ring_req),
      .addr_i(trace_ring_addr),
      .ack_o(trace_ring_ack),
      .rdata_o(trace_ring_rdata),
      .level_o(trace_level),
      .lost_o(trace_lost),
      .lost_pulse_o(trace_lost_pulse),
      .lost_amount_o(trace_lost_amount)
  );

  // -- resets and clock
  // mac_clk_i leaves reset after core_clk_i's order has crossed; both resets overlap for many
  // cycles.
  logic mac_rst_sync, mac_tx_busy;
  cdc_sync #(
      .W(1),
      .RESET_VALUE(1'b1)
  ) u_mac_rst_sync (
      .clk_i(mac_clk_i),
      .rst_i(mac_rst_i),
      .d_i(mac_rst_req),
      .q_o(mac_rst_sync)
  );
  always_ff @(posedge mac_clk_i) mac_rst <= mac_rst_i || mac_rst_sync;
  cdc_sync #(
      .W(1)
  ) u_mac_tx_busy (
      .clk_i(core_clk_i),
      .rst_i(core_rst_i),
      .d_i(mac_tx_valid),  // stays up from a frame's first beat to its last
      .q_o(mac_tx_busy)
  );

  assign ready = running && (&init_done);
  // For QUIET cycles: the crossing is empty too.
  assign tx_quiet = !mrg_valid && !mac_tx_busy;

  logic [41:0] heartbeat_q;
  always_ff @(posedge core_clk_i) begin
    heartbeat_q <= heartbeat_q + 1'b1;
    if (core_rst_i) heartbeat_q <= '0;
  end

  // -- merged streams
  // QPs that ask to fail; a DMA fault is one of them.
  rnic_pkg::qp_fail_t fail_dma;
  assign fail_dma.qpn = fault.qpn;
  assign fail_dma.cause = fault.status;
  assign fail_dma.event_type = rnic_desc_pkg::EQE_TYPE_DMA_FAULT;
  localparam int unsigned FAIL_W = $bits(fail_dma);
  logic unused_fail_last;
  stream_arb_rr #(
      .N(6),
      .W(FAIL_W)
  ) u_fail_arb (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid({fail_cx_valid, fault_valid, fail_re_valid, fail_cg_valid, fail_cp_valid,
          fail_rs_valid}),
      .in_ready({fail_cx_ready, fault_ready, fail_re_ready, fail_cg_ready, fail_cp_ready,
          fail_rs_ready}),
      .in_data({fail_cx, fail_dma, fail_re, fail_cg, fail_cp, fail_rs}),
      .in_last('1),
      .out_valid(fail_valid),
      .out_ready(fail_ready),
      .out_data(fail),
      .out_last(unused_fail_last),
      .out_src(fail_src)
  );

  // Events that queue pairs and groups raise by themselves.
  localparam int unsigned EV_W = $bits(ev);
  stream_arb_rr #(
      .N(4),
      .W(EV_W)
  ) u_ev_arb (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid({ev_arp_valid, ev_pfc_valid, ev_rs_valid, ev_cp_valid}),
      .in_ready({ev_arp_ready, ev_pfc_ready, ev_rs_ready, ev_cp_ready}),
      .in_data({ev_arp, ev_pfc, ev_rs, ev_cp}),
      .in_last('1),
      .out_valid(ev_valid),
      .out_ready(ev_ready),
      .out_data(ev),
      .out_last(unused_ev_last),
      .out_src(unused_ev_src)
  );

  // Doorbells of the pages and of BlueFlame pushes that fell back to the ring.
  logic unused_db_last, unused_db_src;
  stream_arb_rr #(
      .N(2),
      .W(40)
  ) u_db_arb (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid({db_bf_valid, db_page_valid}),
      .in_ready({db_bf_ready, db_page_ready}),
      .in_data({db_bf_qpn, db_bf_index, db_page_qpn, db_page_index}),
      .in_last('1),
      .out_valid(db_valid),
      .out_ready(db_ready),
      .out_data({db_qpn, db_index}),
      .out_last(unused_db_last),
      .out_src(unused_db_src)
  );

  // Local errors of messages: payload that failed, keys that failed in mid-message.
  logic unused_terr_last, unused_terr_src;
  stream_arb_rr #(
      .N(2),
      .W(48)
  ) u_terr_arb (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .in_valid({terr_sq_valid, terr_tx_valid}),
      .in_ready({terr_sq_ready, terr_tx_ready}),
      .in_data({terr_sq_qpn, terr_sq_index, terr_sq_status, terr_tx_qpn, terr_tx_index,
          terr_tx_status}),
      .in_last('1),
      .out_valid(terr_valid),
      .out_ready(terr_ready),
      .out_data({terr_qpn, terr_index, terr_status}),
      .out_last(unused_terr_last),
      .out_src(unused_terr_src)
  );

  // -- trace
  trace_sampler u_sample_bf (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .enable_i(cfg_trace_ctrl_enable),
      .qp_filter_i(cfg_trace_ctrl_qp_filter),
      .qpn_i(cfg_trace_qpn_qpn),
      .one_in_log2_i(cfg_trace_ctrl_one_in_log2),
      .smp_valid_i(bf_smp_valid),
      .smp_qpn_i(bf_smp_qpn),
      .smp_hit_o(bf_smp_hit)
  );
  // wqe_fetch_engine shows a WQE until it is taken; the decision of its first cycle stays.
  logic wf_shown_q, wf_hit_q, wf_hit_now;
  trace_sampler u_sample_wf (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .enable_i(cfg_trace_ctrl_enable),
      .qp_filter_i(cfg_trace_ctrl_qp_filter),
      .qpn_i(cfg_trace_qpn_qpn),
      .one_in_log2_i(cfg_trace_ctrl_one_in_log2),
      .smp_valid_i(wf_smp_valid && !wf_shown_q),
      .smp_qpn_i(wf_smp_qpn),
      .smp_hit_o(wf_hit_now)
  );
  assign wf_smp_hit = wf_shown_q ? wf_hit_q : wf_hit_now;
  always_ff @(posedge core_clk_i) begin
    wf_shown_q <= wf_smp_valid && !wf_smp_take;
    wf_hit_q <= wf_smp_hit;
    if (core_rst) wf_shown_q <= 1'b0;
  end

  // -- counters
  // Counters that several blocks pulse.
  logic cnt_doorbell_refused;
  pulse_merge #(
      .N(6)
  ) u_cnt_doorbell_refused (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_doorbell_refused__doorbell, cnt_doorbell_refused__blueflame,
          cnt_doorbell_refused__sq_scheduler, cnt_doorbell_refused__rq_store,
          cnt_doorbell_refused__cqe_gen, cnt_doorbell_refused__event_queue}),
      .pulse_o(cnt_doorbell_refused)
  );
  logic cnt_tx_storm_drops;
  pulse_merge #(
      .N(2)
  ) u_cnt_tx_storm_drops (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_dropped__storm_drop, cnt_dropped__cdc_pfc}),
      .pulse_o(cnt_tx_storm_drops)
  );
  logic cnt_bf_fallbacks;
  pulse_merge #(
      .N(2)
  ) u_cnt_bf_fallbacks (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_bf_fallbacks__blueflame, cnt_bf_fallbacks__sq_scheduler}),
      .pulse_o(cnt_bf_fallbacks)
  );
  logic cnt_rx_unknown_qp;
  pulse_merge #(
      .N(2)
  ) u_cnt_rx_unknown_qp (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_rx_unknown_qp__rx_responder, cnt_rx_unknown_qp__rx_completer}),
      .pulse_o(cnt_rx_unknown_qp)
  );
  logic cnt_rx_pkey_errors;
  pulse_merge #(
      .N(2)
  ) u_cnt_rx_pkey_errors (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_rx_pkey_errors__rx_responder, cnt_rx_pkey_errors__rx_completer}),
      .pulse_o(cnt_rx_pkey_errors)
  );
  logic cnt_rx_addr_errors;
  pulse_merge #(
      .N(2)
  ) u_cnt_rx_addr_errors (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_rx_addr_errors__rx_responder, cnt_rx_addr_errors__rx_completer}),
      .pulse_o(cnt_rx_addr_errors)
  );
  logic cnt_msgs_flushed;
  pulse_merge #(
      .N(2)
  ) u_cnt_msgs_flushed (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_msgs_flushed__rx_responder, cnt_msgs_flushed__rx_completer}),
      .pulse_o(cnt_msgs_flushed)
  );
  logic cnt_gdr_refused;
  pulse_merge #(
      .N(2)
  ) u_cnt_gdr_refused (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_gdr_refused__dma_master, cnt_gdr_refused__mr_table}),
      .pulse_o(cnt_gdr_refused)
  );
  logic cnt_rx_buffer_drops;
  pulse_merge #(
      .N(2)
  ) u_cnt_rx_buffer_drops (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .pulse_i({cnt_rx_buffer_drops__rx_buffer, cnt_rx_cdc_drops__cdc_rx}),
      .pulse_o(cnt_rx_buffer_drops)
  );

  localparam int unsigned N_WIDE = 6;
  localparam logic [N_WIDE*16-1:0] WIDE_INDEX = {
      16'(rnic_regs_pkg::CNT_CTX_HITS),
          16'(rnic_regs_pkg::CNT_TRACE_LOST), 16'(rnic_regs_pkg::CNT_DMA_WRITE_BYTES),
          16'(rnic_regs_pkg::CNT_DMA_READ_BYTES), 16'(rnic_regs_pkg::CNT_TX_BYTES),
          16'(rnic_regs_pkg::CNT_RX_BYTES)};
  always_comb begin
    cnt_inc = '0;
    cnt_inc[rnic_regs_pkg::CNT_DOORBELL_REFUSED] = cnt_doorbell_refused;
    cnt_inc[rnic_regs_pkg::CNT_BF_FALLBACKS] = cnt_bf_fallbacks;
    cnt_inc[rnic_regs_pkg::CNT_RX_UNKNOWN_QP] = cnt_rx_unknown_qp;
    cnt_inc[rnic_regs_pkg::CNT_RX_PKEY_ERRORS] = cnt_rx_pkey_errors;
    cnt_inc[rnic_regs_pkg::CNT_RX_ADDR_ERRORS] = cnt_rx_addr_errors;
    cnt_inc[rnic_regs_pkg::CNT_MSGS_FLUSHED] = cnt_msgs_flushed;
    cnt_inc[rnic_regs_pkg::CNT_GDR_REFUSED] = cnt_gdr_refused;
    cnt_inc[rnic_regs_pkg::CNT_RX_BUFFER_DROPS] = cnt_rx_buffer_drops;
    cnt_inc[rnic_regs_pkg::CNT_DOORBELLS] = cnt_doorbells__sq_scheduler;
    cnt_inc[rnic_regs_pkg::CNT_BF_PUSHES] = cnt_bf_pushes__sq_scheduler;
    cnt_inc[rnic_regs_pkg::CNT_WQE_FETCHED] = cnt_wqe_fetched__wqe_fetch_engine;
    cnt_inc[rnic_regs_pkg::CNT_WQE_ERRORS] = cnt_wqe_errors__wqe_fetch_engine;
    cnt_inc[rnic_regs_pkg::CNT_MSGS_POSTED] = cnt_msgs_posted__sq_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_REQUESTS] = cnt_tx_requests__sq_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_NO_PATH] = cnt_tx_no_path__tx_packetizer;
    cnt_inc[rnic_regs_pkg::CNT_TX_FRAMES] = cnt_tx_frames__cdc_tx;
    cnt_inc[rnic_regs_pkg::CNT_TX_RAW_FRAMES] = cnt_tx_raw_frames__cdc_tx;
    cnt_inc[rnic_regs_pkg::CNT_TX_UNDERRUNS] = cnt_tx_underruns__cdc_tx;
    cnt_inc[rnic_regs_pkg::CNT_RX_FRAMES] = cnt_rx_frames__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_CRC_ERRORS] = cnt_rx_crc_errors__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_RUNTS] = cnt_rx_runts__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_ICRC_ERRORS] = cnt_rx_icrc_errors__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_HEADER_ERRORS] = cnt_rx_header_errors__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_ROCE_PACKETS] = cnt_rx_roce_packets__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_RAW_FILTERED] = cnt_rx_raw_filtered__rx_parser;
    cnt_inc[rnic_regs_pkg::CNT_RX_RAW_FRAMES] = cnt_rx_raw_frames__rx_buffer;
    cnt_inc[rnic_regs_pkg::CNT_RX_RAW_DROPS] = cnt_rx_raw_drops__rx_buffer;
    cnt_inc[rnic_regs_pkg::CNT_RX_CNP] = cnt_rx_cnp__rx_dispatch;
    cnt_inc[rnic_regs_pkg::CNT_RX_REQUESTS] = cnt_rx_requests__rx_responder;
    cnt_inc[rnic_regs_pkg::CNT_RX_DUPLICATES] = cnt_rx_duplicates__rx_responder;
    cnt_inc[rnic_regs_pkg::CNT_RX_OUT_OF_ORDER] = cnt_rx_out_of_order__rx_responder;
    cnt_inc[rnic_regs_pkg::CNT_TX_ACKS] = cnt_tx_acks__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_NAK_SEQ] = cnt_tx_nak_seq__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_NAK_INV] = cnt_tx_nak_inv__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_NAK_ACCESS] = cnt_tx_nak_access__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_NAK_OP] = cnt_tx_nak_op__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_RNR_NAK] = cnt_tx_rnr_nak__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_RX_ACK] = cnt_rx_ack__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RX_NAK] = cnt_rx_nak__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RX_GHOST_ACKS] = cnt_rx_ghost_acks__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_MSGS_COMPLETED] = cnt_msgs_completed__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_CQE_WRITTEN] = cnt_cqe_written__cqe_gen;
    cnt_inc[rnic_regs_pkg::CNT_CQ_OVERRUN] = cnt_cq_overrun__cqe_gen;
    cnt_inc[rnic_regs_pkg::CNT_EQE_WRITTEN] = cnt_eqe_written__event_queue;
    cnt_inc[rnic_regs_pkg::CNT_EQ_OVERRUN] = cnt_eq_overrun__event_queue;
    cnt_inc[rnic_regs_pkg::CNT_MSIX_SENT] = cnt_msix_sent__event_queue;
    cnt_inc[rnic_regs_pkg::CNT_DMA_READS] = cnt_dma_reads__dma_master;
    cnt_inc[rnic_regs_pkg::CNT_DMA_WRITES] = cnt_dma_writes__dma_master;
    cnt_inc[rnic_regs_pkg::CNT_DMA_READ_ERRORS] = cnt_dma_read_errors__dma_master;
    cnt_inc[rnic_regs_pkg::CNT_DMA_PAGE_FAULT] = cnt_dma_page_fault__dma_master;
    cnt_inc[rnic_regs_pkg::CNT_DMA_TIMEOUTS] = cnt_dma_timeouts__dma_master;
    cnt_inc[rnic_regs_pkg::CNT_MR_ERRORS] = cnt_mr_errors__mr_table;
    cnt_inc[rnic_regs_pkg::CNT_CMD_DONE] = cnt_cmd_done__cmd_unit;
    cnt_inc[rnic_regs_pkg::CNT_CMD_ERRORS] = cnt_cmd_errors__cmd_unit;
    cnt_inc[rnic_regs_pkg::CNT_BAD_REGISTER_ACCESS] = cnt_bad_register_access__csr;
    cnt_inc[rnic_regs_pkg::CNT_TX_RESENT] = cnt_tx_resent__sq_engine;
    cnt_inc[rnic_regs_pkg::CNT_TX_RD_REQUESTS] = cnt_tx_rd_requests__sq_engine;
    cnt_inc[rnic_regs_pkg::CNT_RX_RD_RESPONSES] = cnt_rx_rd_responses__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RX_RD_BAD] = cnt_rx_rd_bad__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_REWINDS] = cnt_rewinds__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_ACK_TIMEOUTS] = cnt_ack_timeouts__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RNR_WAITS] = cnt_rnr_waits__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_IMPLIED_NAKS] = cnt_implied_naks__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_TX_SPOILED] = cnt_tx_spoiled__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RQ_FETCHED] = cnt_rq_fetched__rq_store;
    cnt_inc[rnic_regs_pkg::CNT_RX_SENDS] = cnt_rx_sends__rx_responder;
    cnt_inc[rnic_regs_pkg::CNT_RX_QKEY_ERRORS] = cnt_rx_qkey_errors__rx_responder;
    cnt_inc[rnic_regs_pkg::CNT_RX_UC_DROPS] = cnt_rx_uc_drops__rx_responder;
    cnt_inc[rnic_regs_pkg::CNT_TX_RD_RESPONSES] = cnt_tx_rd_responses__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_RX_RD_DROPPED] = cnt_rx_rd_dropped__resp_engine;
    cnt_inc[rnic_regs_pkg::CNT_ATOMICS] = cnt_atomics__atomic_unit;
    cnt_inc[rnic_regs_pkg::CNT_MTT_HITS] = cnt_mtt_hits__mr_table;
    cnt_inc[rnic_regs_pkg::CNT_MTT_MISSES] = cnt_mtt_misses__mr_table;
    cnt_inc[rnic_regs_pkg::CNT_CTX_MISSES] = cnt_ctx_misses;
    cnt_inc[rnic_regs_pkg::CNT_TX_DROPPED] = cnt_tx_dropped__tx_buffer;
    cnt_inc[rnic_regs_pkg::CNT_CC_EVENTS_LOST] = cnt_cc_lost__cc_unit;
    cnt_inc[rnic_regs_pkg::CNT_CC_INT_BAD] = cnt_int_bad__cc_unit;
    cnt_inc[rnic_regs_pkg::CNT_NP_ECN_MARKED_ROCE_PACKETS] = cnt_ecn_marked__rx_dispatch;
    cnt_inc[rnic_regs_pkg::CNT_NP_CNP_SENT] = cnt_sent__cnp_gen;
    cnt_inc[rnic_regs_pkg::CNT_NP_CNP_LOST] = cnt_lost__cnp_gen;
    cnt_inc[rnic_regs_pkg::CNT_RX_INT_UNUSED] = cnt_int_unused__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RP_CNP_HANDLED] = cnt_cnp_handled__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_RP_CNP_IGNORED] = cnt_cnp_ignored__rx_completer;
    cnt_inc[rnic_regs_pkg::CNT_TX_PACED] = cnt_tx_paced__tx_pacer;
    cnt_inc[rnic_regs_pkg::CNT_RX_PAUSE] = cnt_rx_pause__cdc_pfc;
    cnt_inc[rnic_regs_pkg::CNT_TX_PAUSE] = cnt_tx_pause__cdc_pfc;
    cnt_inc[rnic_regs_pkg::CNT_RX_MAC_CTRL_BAD] = cnt_rx_mac_ctrl_bad__cdc_pfc;
    cnt_inc[rnic_regs_pkg::CNT_RX_PAUSE_STORMS] = cnt_storms__pfc_storm;
    cnt_inc[rnic_regs_pkg::CNT_TX_STORM_DROPS] = cnt_tx_storm_drops;
    cnt_inc[rnic_regs_pkg::CNT_RX_PRIO0_PAUSE+:8] = cnt_rx_prio_pause__cdc_pfc;
    cnt_inc[rnic_regs_pkg::CNT_TX_PRIO0_PAUSE+:8] = cnt_tx_prio_pause__cdc_pfc;
    cnt_inc[rnic_regs_pkg::CNT_ARP_ACCEPTED] = cnt_arp[0];
    cnt_inc[rnic_regs_pkg::CNT_ARP_DUPLICATES] = cnt_arp[1];
    cnt_inc[rnic_regs_pkg::CNT_ARP_NOT_READY] = cnt_arp[2];
    cnt_inc[rnic_regs_pkg::CNT_ARP_REFUSED] = cnt_arp[3];
    cnt_inc[rnic_regs_pkg::CNT_ARP_CONFLICTS] = cnt_arp[4];
    cnt_inc[rnic_regs_pkg::CNT_ARP_DONE] = cnt_arp[5];
    cnt_inc[rnic_regs_pkg::CNT_ARP_ABORTED] = cnt_arp[6];
    cnt_inc[rnic_regs_pkg::CNT_CORE_CYCLES] = 1'b1;
  end
  assign cnt_amount = {16'(cnt_ctx_hits), trace_lost_amount, cnt_dma_write_bytes_amount__dma_master,
                       cnt_dma_read_bytes_amount__dma_master, cnt_tx_bytes_amount__cdc_tx,
                       cnt_rx_bytes_amount__rx_parser};
  assign cnt_add = {cnt_ctx_hits != 3'd0, trace_lost_pulse,
                    cnt_dma_write_bytes_amount__dma_master != 16'd0,
                    cnt_dma_read_bytes_amount__dma_master != 16'd0, cnt_tx_frames__cdc_tx,
                    cnt_rx_bytes_amount__rx_parser != 16'd0};

  // -- borders
  // 0 db, 1 wqe_req, 2 wqe, 3 turn, 4 txp, 5 rd0, 6 rd1, 7 txb, 8 rsp,
  // 9 pkt, 10 mrg, 11 rxm, 12 rxd, 13 req, 14 resp, 15 place, 16 ackq, 17 wr0_req,
  // 18 wr0_dat, 19 cq0, 20 cq1, 21 wr1_req, 22 wr2_req, 23 m_axi_ar, 24 m_axi_r, 25 m_axi_aw, 26
  // m_axi_w
  assign border_valid_o = {m_axi_wvalid, m_axi_awvalid, m_axi_rvalid, m_axi_arvalid, wr2_req_valid,
      wr1_req_valid, cq1_valid, cq0_valid, wr0_dat_valid, wr0_req_valid, ackq_valid, place_valid,
      resp_valid, req_valid, rxd_valid, rxm_valid, mrg_valid, pkt_valid, rsp_valid, txb_valid,
      rd1_valid, rd0_valid, txp_valid, turn_valid, wqe_valid, wqe_req_valid, db_valid};
  assign border_ready_o = {m_axi_wready, m_axi_awready, m_axi_rready, m_axi_arready, wr2_req_ready,
      wr1_req_ready, cq1_ready, cq0_ready, wr0_dat_ready, wr0_req_ready, ackq_ready, place_ready,
      resp_ready, req_ready, rxd_ready, rxm_ready, mrg_ready, pkt_ready, rsp_ready, txb_ready,
      rd1_ready, rd0_ready, txp_ready, turn_ready, wqe_ready, wqe_req_ready, db_ready};
  border_stats #(
      .N(N_BORDER)
  ) u_border_stats (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .valid_i(border_valid_o),
      .ready_i(border_ready_o),
      .win_req_i(borders_req),
      .win_addr_i(borders_addr),
      .win_ack_o(borders_ack),
      .win_rdata_o(borders_rdata)
  );

  rc_timer #(
      .N_QP(N_QP),
      .PERIOD_PS(CORE_PS)
  ) u_rc_timer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[9]),
      .cfg_tick_shift_i(cfg_timer_cfg_tick_shift),
      .arm_valid,
      .arm,
      .tms_valid,
      .tms,
      .tmo_valid,
      .tmo_ready,
      .tmo_qpn,
      .tmo_rnr,
      .paused_i(tx_paused),
      .set_qpn_o(timer_qpn),
      .set_class_i(qp_class_of[15:12])
  );

  // -- Congestion control
  // Time of the rate units: one tick is a core cycle.
  always_ff @(posedge core_clk_i) begin
    now_q <= now_q + 32'd1;
    if (core_rst_i) now_q <= '0;
  end
  // A QP that is cleared starts anew before the last owner of orders hears of it.
  assign cc_reset_valid = qpi_valid[7] && qpi.op == rnic_pkg::QPI_CLEAR && !cc_reset_done_q;
  assign pace_clear_valid = qpi_valid[7] && qpi.op == rnic_pkg::QPI_CLEAR && !pace_clear_done_q;
  assign qpi_ready[7] = qpi_db_ready && !cc_reset_valid && !pace_clear_valid;
  always_ff @(posedge core_clk_i) begin
    if (cc_reset_valid && cc_reset_ready) cc_reset_done_q <= 1'b1;
    else if (qpi_valid[7] && qpi_ready[7]) cc_reset_done_q <= 1'b0;
    if (pace_clear_valid && pace_clear_ready) pace_clear_done_q <= 1'b1;
    else if (qpi_valid[7] && qpi_ready[7]) pace_clear_done_q <= 1'b0;
    if (core_rst) begin
      cc_reset_done_q <= 1'b0;
      pace_clear_done_q <= 1'b0;
    end
  end
  // What counts for its QP's rate has left tx_packetizer: its frame with FCS, preamble and gap.
  logic [15:0] sent_q, sent_frame;
  assign sent_frame = sent_q + {8'd0, pkt_cnt} + (pkt_eth.vlan ? 16'd18 : 16'd14);
  always_ff @(posedge core_clk_i) begin
    cc_tx_valid_q <= pkt_valid && pkt_ready && pkt_last && pkt_eth.paced;
    if (pkt_valid && pkt_ready) begin
      sent_q <= pkt_last ? 16'd0 : sent_q + {8'd0, pkt_cnt};
      cc_tx_qpn_q <= pkt_eth.qpn;
      cc_tx_bytes_q <= ((sent_frame < 16'd60) ? 16'd60 : sent_frame) + 16'd24;
    end
    if (core_rst) begin
      cc_tx_valid_q <= 1'b0;
      sent_q <= '0;
    end
  end
  cc_unit #(
      .N_QP(N_QP),
      .TICKS_PER_US((1_000_000 + CORE_PS / 2) / CORE_PS)
  ) u_cc_unit (
      .clk_i(core_clk_i),
      .rst_i(core_rst || !init_done[10]),  // its first rates find tx_pacer ready
      .init_done_o(cc_ready),
      .active_o(cc_active),
      .now_i(now_q),
      .cfg_mode_i(cfg_cc_global_ctrl_mode),
      .cfg_enable_i(cfg_cc_global_ctrl_enable),
      .cfg_line_i(cfg_cc_line_rate_kbps),
      .cfg_floor_i(cfg_cc_min_rate_kbps),
      .cfg_dcqcn_production_i(cfg_dcqcn_ctrl_production),
      .cfg_dcqcn_clamp_i(cfg_dcqcn_ctrl_clamp),
      .cfg_dcqcn_clamp_after_time_i(cfg_dcqcn_ctrl_clamp_after_time),
      .cfg_dcqcn_gd_i(cfg_dcqcn_ctrl_gd),
      .cfg_dcqcn_f_i(cfg_dcqcn_ctrl_f),
      .cfg_dcqcn_g_i(cfg_dcqcn_g_value),
      .cfg_dcqcn_alpha_init_i(cfg_dcqcn_alpha_init_value),
      .cfg_dcqcn_first_frac_i(cfg_dcqcn_first_frac_value),
      .cfg_dcqcn_max_cut_i(cfg_dcqcn_max_cut_value),
      .cfg_dcqcn_first_rate_i(cfg_dcqcn_first_rate_kbps),
      .cfg_dcqcn_ai_i(cfg_dcqcn_ai_rate_kbps),
      .cfg_dcqcn_hai_i(cfg_dcqcn_hai_rate_kbps),
      .cfg_dcqcn_byte_reset_i(cfg_dcqcn_byte_reset_bytes),
      .cfg_dcqcn_alpha_us_i(cfg_dcqcn_alpha_time_us),
      .cfg_dcqcn_dec_us_i(cfg_dcqcn_dec_time_us),
      .cfg_dcqcn_inc_us_i(cfg_dcqcn_inc_time_us),
      .cfg_hpcc_cut_old_i(cfg_hpcc_ctrl_cut_old),
      .cfg_hpcc_fast_react_i(cfg_hpcc_ctrl_fast_react),
      .cfg_hpcc_multi_rate_i(cfg_hpcc_ctrl_multi_rate),
      .cfg_hpcc_sample_i(cfg_hpcc_ctrl_sample),
      .cfg_hpcc_path_check_i(cfg_hpcc_ctrl_path_check),
      .cfg_hpcc_max_stage_i(cfg_hpcc_ctrl_max_stage),
      .cfg_hpcc_int_multi_i(cfg_hpcc_ctrl_int_multi),
      .cfg_hpcc_tx_limit_i(cfg_hpcc_ctrl_tx_limit),
      .cfg_hpcc_eta_i(cfg_hpcc_eta_value),
      .cfg_hpcc_base_rtt_i(cfg_hpcc_base_rtt_ns),
      .cfg_hpcc_ai_i(cfg_hpcc_ai_rate_kbps),
      .cfg_hpcc_alpha_i(cfg_hpcc_alpha_value),
      .qp_reset_valid(cc_reset_valid),
      .qp_reset_ready(cc_reset_ready),
      .qp_reset_qpn(qpi.qpn),
      .cnp_i(cc_cnp_valid),
      .cnp_qpn_i(cc_cnp_qpn),
      .ack_i(cc_ack_valid),
      .ack_qpn_i(cc_ack_qpn),
      .ack_psn_i(cc_ack_psn),
      .ack_next_psn_i(cc_ack_next_psn),
      .ack_int_i(cc_ack_int),
      .tx_i(cc_tx_valid_q),
      .tx_qpn_i(cc_tx_qpn_q),
      .tx_bytes_i(cc_tx_bytes_q),
      .rate_valid(cc_rate_valid),
      .rate_qpn(cc_rate_qpn),
      .rate_kbps(cc_rate_kbps),
      .rate_window(cc_rate_window),
      .qry_i(cfg_cc_query_go),
      .qry_qpn_i(cfg_cc_query_qpn),
      .qry_done_o(cc_qry_done),
      .qry_rate_o(cc_qry_rate),
      .qry_target_o(cc_qry_target),
      .qry_window_o(cc_qry_window),
      .qry_alpha_o(cc_qry_alpha),
      .qry_stage_o(cc_qry_stage),
      .qry_name_o(cc_qry_name),
      .qry_t_stage_o(cc_qry_t_stage),
      .qry_b_stage_o(cc_qry_b_stage),
      .cnt_lost_o(cnt_cc_lost__cc_unit),
      .cnt_int_bad_o(cnt_int_bad__cc_unit)
  );
  // Request packets as sq_engine makes them, each once.
  always_ff @(posedge core_clk_i) begin
    sq_txp_held_q <= sq_txp_valid && !sq_txp_ready;
    if (core_rst) sq_txp_held_q <= 1'b0;
  end
  tx_pacer #(
      .N_QP(N_QP),
      .N_PATH(N_PATH),
      .CORE_PS(CORE_PS)
  ) u_tx_pacer (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[10]),
      .now_i(now_q),
      .cfg_line_i(cfg_cc_line_rate_kbps),
      .cfg_cc_i(cfg_cc_global_ctrl_enable),
      .cfg_burst_i(cfg_qp_rate_burst_bytes),
      .cfg_late_log2_i(cfg_qp_rate_burst_late_log2),
      .cfg_int_i(int_on),
      .limit_i(ctx_cw_valid),
      .limit_qpn_i(ctx_cw_qpn),
      .limit_mbps_i(ctx_cw.rate),
      .rate_i(cc_rate_valid),
      .rate_qpn_i(cc_rate_qpn),
      .rate_kbps_i(cc_rate_kbps),
      .rate_window_i(cc_rate_window),
      .clear_valid(pace_clear_valid),
      .clear_ready(pace_clear_ready),
      .clear_qpn(qpi.qpn),
      .path_i(path_cw_valid),
      .path_index_i(path_cw_index),
      .path_ipv6_i(path_cw.ipv6),
      .path_vlan_i(path_cw.vlan),
      .pkt_i(sq_txp_valid && !sq_txp_held_q),
      .pkt_qpn_i(sq_txp.qpn),
      .pkt_path_i(sq_txp.path),
      .pkt_opcode_i(sq_txp.opcode),
      .pkt_len_i(sq_txp.payload_len),
      .rsp_i(rsp_made),
      .rsp_qpn_i(re_txp.qpn),
      .rsp_path_i(re_txp.path),
      .rsp_opcode_i(re_txp.opcode),
      .rsp_len_i(re_txp.payload_len),
      .rchk_i(rchk),
      .rchk_qpn_i(rchk_qpn),
      .rchk_limited_o(rchk_limited),
      .ask_valid(rask_valid),
      .ask_ready(rask_ready),
      .ask_qpn(rask_qpn),
      .told_o(rtold),
      .told_ok_o(rtold_ok),
      .chk_i(pace_chk),
      .chk_qpn_i(pace_chk_qpn),
      .chk_limited_o(pace_limited),
      .want_i(pace_want),
      .want_qpn_i(pace_want_qpn),
      .want_idle_i(pace_want_idle),
      .want_window_i(pace_want_window),
      .hurry_valid,
      .hurry_ready,
      .hurry_qpn,
      .go_valid,
      .go_ready,
      .go_qpn,
      .pace_lk_i(share_lk),
      .pace_lk_qpn_i(share_lk_qpn),
      .pace_o(pace),
      .cnt_paced_o(cnt_tx_paced__tx_pacer)
  );
  turn_share #(
      .N_QP(N_QP)
  ) u_turn_share (
      .clk_i(core_clk_i),
      .rst_i(core_rst),
      .init_done_o(init_done[11]),
      .weight_i(ctx_cw_valid),
      .weight_qpn_i(ctx_cw_qpn),
      .weight_value_i(ctx_cw.weight),
      .lk_i(share_lk),
      .lk_qpn_i(share_lk_qpn),
      .credit_o(share_credit),
      .debt_i(debt_valid),
      .debt_qpn_i(debt_qpn),
      .debt_value_i(debt_value)
  );

  // -- AllReduce
  // It writes device_memory and pushes WQEs beside those who always do.
  if (N_GROUP == 0) begin : gen_no_arp
    assign arp_cmd_done = 1'b1;
    assign arp_cmd_status = rnic_desc_pkg::CMD_STATUS_BAD_OPCODE;
    assign arp_cmd_answer = '0;
    assign ask_ready = 1'b1;
    assign ans_valid = 1'b1;
    assign ans = arp_pkg::ANS_REFUSE;
    assign pay_ready = 1'b1;
    assign arp_rd_valid = 1'b0;
    assign arp_rd_req = '0;
    assign arp_wr_req_valid = 1'b0;
    assign arp_wr_req = '0;
    assign arp_wr_dat_valid = 1'b0;
    assign arp_wr_dat_data = '0;
    assign arp_wr_dat_cnt = '0;
    assign arp_wr_dat_last = 1'b0;
    assign push_valid = bf_valid;
    assign bf_ready = push_ready;
    assign push = bf;
    assign mem_wr_valid = dm_wr_valid;
    assign dm_wr_ready = mem_wr_ready;
    assign mem_wr_row = dm_wr_row;
    assign mem_wr_data = dm_wr_data;
    assign mem_wr_strb = dm_wr_strb;
    assign ev_arp_valid = 1'b0;
    assign ev_arp = '0;
    assign cnt_arp = '0;
    logic unused_arp;
    assign unused_arp = ^{arp_cmd_valid, arp_cmd, ask_valid, ask, ans_ready, pay_valid, pay_data,
        pay_last, done_qpn, done_index, ev_arp_ready, arp_rd_valid, arp_rd_req, arp_wr_req_valid,
        arp_wr_req, arp_wr_dat_valid, arp_wr_dat_data, arp_wr_dat_cnt, arp_wr_dat_last};
  end else begin : gen_arp
    logic dw_valid, dw_ready, arp_bf_valid, arp_bf_ready;
    logic [31:0] dw_row;
    logic [DATA_W-1:0] dw_data;
    logic [DATA_W/8-1:0] dw_strb;
    rnic_pkg::wqe_entry_t arp_bf;
    logic push_last, push_src, mem_last, mem_src;
    arp_unit #(
        .DATA_W(DATA_W),
        .N_GROUP(N_GROUP),
        .N_SLOT(N_SLOT),
        .N_STAGE(N_STAGE),
        .N_RING(N_RING),
        .DEVMEM_BYTES(DEVMEM_BYTES),
        .CORE_PS(CORE_PS)
    ) u_arp_unit (
        .clk_i(core_clk_i),
        .rst_i(core_rst),
        .cmd_valid_i(arp_cmd_valid),
        .cmd_i(arp_cmd),
        .cmd_done_o(arp_cmd_done),
        .cmd_status_o(arp_cmd_status),
        .cmd_answer_o(arp_cmd_answer),
        .ask_valid,
        .ask_ready,
        .ask,
        .ans_valid,
        .ans_ready,
        .ans,
        .pay_valid,
        .pay_ready,
        .pay_data,
        .pay_last,
        .rdreq_valid(arp_rd_valid),
        .rdreq_ready(rd6_ready),
        .rdreq(arp_rd_req),
        .rdrsp_valid,
        .rdrsp,
        .rdrsp_data,
        .wr_req_valid(arp_wr_req_valid),
        .wr_req_ready(wr4_req_ready),
        .wr_req(arp_wr_req),
        .wr_dat_valid(arp_wr_dat_valid),
        .wr_dat_ready(wr4_dat_ready),
        .wr_dat_data(arp_wr_dat_data),
        .wr_dat_cnt(arp_wr_dat_cnt),
        .wr_dat_last(arp_wr_dat_last),
        .wr_placed_i(wr_placed[4]),
        .dw_valid,
        .dw_ready,
        .dw_row,
        .dw_data,
        .dw_strb,
        .bf_valid(arp_bf_valid),
        .bf_ready(arp_bf_ready),
        .bf(arp_bf),
        .done_i(cnt_msgs_completed__rx_completer),
        .done_qpn_i(done_qpn),
        .done_index_i(done_index),
        .qpi_i(qpi_valid[0] && qpi_ready[0]),
        .qpi_op_i(qpi.op),
        .qpi_qpn_i(qpi.qpn),
        .ev_valid(ev_arp_valid),
        .ev_ready(ev_arp_ready),
        .ev(ev_arp),
        .cnt_accepted_o(cnt_arp[0]),
        .cnt_duplicate_o(cnt_arp[1]),
        .cnt_not_ready_o(cnt_arp[2]),
        .cnt_refused_o(cnt_arp[3]),
        .cnt_conflict_o(cnt_arp[4]),
        .cnt_done_o(cnt_arp[5]),
        .cnt_aborted_o(cnt_arp[6])
    );
    localparam int unsigned PUSH_W = $bits(bf);
    stream_arb_rr #(
        .N(2),
        .W(PUSH_W)
    ) u_push_arb (
        .clk_i(core_clk_i),
        .rst_i(core_rst),
        .in_valid({arp_bf_valid, bf_valid}),
        .in_ready({arp_bf_ready, bf_ready}),
        .in_data({arp_bf, bf}),
        .in_last('1),
        .out_valid(push_valid),
        .out_ready(push_ready),
        .out_data(push),
        .out_last(push_last),
        .out_src(push_src)
    );
    stream_arb_rr #(
        .N(2),
        .W(32 + DATA_W + DATA_W / 8)
    ) u_mem_arb (
        .clk_i(core_clk_i),
        .rst_i(core_rst),
        .in_valid({dw_valid, dm_wr_valid}),
        .in_ready({dw_ready, dm_wr_ready}),
        .in_data({dw_row, dw_data, dw_strb, dm_wr_row, dm_wr_data, dm_wr_strb}),
        .in_last('1),
        .out_valid(mem_wr_valid),
        .out_ready(mem_wr_ready),
        .out_data({mem_wr_row, mem_wr_data, mem_wr_strb}),
        .out_last(mem_last),
        .out_src(mem_src)
    );
    logic unused_arp;
    assign unused_arp = ^{push_last, push_src, mem_last, mem_src};
  end

  // Hints and levels that later blocks use, and settings that wait for theirs.
  logic unused;
  assign unused = ^{rx_level_rows, underrun_qpn, underrun_psn, unused_fail_last, unused_db_last,
      unused_db_src, unused_terr_last, unused_terr_src, unused_ev_last, unused_ev_src,
      cfg_mrc_path_mask_mask, cfg_cc_global_ctrl_reserved, unused_hdr_last,
      unused_hdr_src, cc_ack_tele.unit,
      bar2_awaddr[31:22], bar2_araddr[31:22], fault.is_queue};
endmodule
