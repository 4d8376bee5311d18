// SPDX-License-Identifier: Apache-2.0
//
// Read side of dma_master: cuts requests into read TLPs, hands out tags, times them, and brings the
// data into the lanes of their destination.
//
// Latency: request taken to arvalid 1 cycle (GPU 2), R beat to rdrsp 1 cycle. Throughput: one TLP
// per cycle, one beat per cycle. Order: TLPs of one client and one target leave in order, one
// client's reads pass another's at TLP borders, GPU reads wait in a queue of
// their own; data come in any order. m_axi_rready is low only for a beat of device_memory or an
// error report, and depends on state only.
//
// A tag is BUSY from its cut to its last beat. DEAD: its failure was reported, beats up to its last
// are swallowed. LATE: it timed out; it stays out of use until its last beat comes or 4 more
// time-outs have passed, and in the latter case comes back with another generation in the upper
// bits of the AXI id, so that a still later completion is not taken for the new one's.
`include "rnic_assert.svh"

module dma_read #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_TAG = 64,
  parameter int unsigned CLK_PS = 2000,
  parameter int unsigned DEVMEM_BYTES = 262144,
  parameter int unsigned GPU_QUEUE = 64
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic [2:0]            cfg_mrrs_i,
  input  logic [7:0]            cfg_pacing_i,
  input  logic [19:0]           cfg_timeout_us_i,
  input  logic                  gdr_en_i,
  input  logic [255:0]          gpu_base_i,
  input  logic [255:0]          gpu_limit_i,
  input  logic [63:0]           devmem_base_i,
  input  logic                  drain_i,
  output logic                  idle_o,

  input  logic [6:0]            rd_valid,
  output logic [6:0]            rd_ready,
  input  logic [7*140-1:0]      rd_reqs,      // dma_rd_req_t of lane i: [i*140 +: 140]
  output logic                  rdrsp_valid,
  output rnic_pkg::dma_rd_rsp_t rdrsp,
  output logic [DATA_W-1:0]     rdrsp_data,

  output logic                  dm_rd_valid,
  input  logic                  dm_rd_ready,
  output logic [31:0]           dm_rd_row,
  input  logic [DATA_W-1:0]     dm_rd_data,

  output logic                  m_axi_arvalid,
  input  logic                  m_axi_arready,
  output logic [7:0]            m_axi_arid,
  output logic [63:0]           m_axi_araddr,
  output logic [7:0]            m_axi_arlen,
  output logic [31:0]           m_axi_aruser,
  input  logic                  m_axi_rvalid,
  output logic                  m_axi_rready,
  input  logic [7:0]            m_axi_rid,
  input  logic [DATA_W-1:0]     m_axi_rdata,
  input  logic [1:0]            m_axi_rresp,
  input  logic                  m_axi_rlast,
  input  logic                  m_axi_ruser,

  output logic                  cnt_reads_o,
  output logic [15:0]           cnt_bytes_amount_o,
  output logic                  cnt_errors_o,
  output logic                  cnt_page_fault_o,
  output logic                  cnt_timeouts_o,
  output logic                  cnt_gdr_refused_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned TW = $clog2(N_TAG);
  localparam int unsigned GW = (TW < 8) ? 8 - TW : 1;  // generation bits; unused with 256 tags
  localparam logic [7:0] LOC_PROT_ERR = 8'h04;
  localparam logic [7:0] FATAL_ERR = 8'h23;

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_check_w
    $error("dma_read: DATA_W must be 128, 256, 512 or 1024");
  end
  if (N_TAG < 8 || N_TAG > 256 || (N_TAG & (N_TAG - 1)) != 0) begin : gen_check_tag
    $error("dma_read: N_TAG must be a power of two, 8 to 256");
  end
  if (GPU_QUEUE < 2 || CLK_PS < 100 || CLK_PS > 100000) begin : gen_check_rest
    $error("dma_read: GPU_QUEUE must be at least 2, CLK_PS 100 to 100000");
  end

  // A request on its way to being cut; as in dma_rd_lane.
  typedef struct packed {
    logic [63:0] addr;    // next byte
    logic [12:0] left;    // bytes not cut yet
    logic [1:0]  target;
    logic [1:0]  gpu;
    logic        refused; // TGT_REFUSED because of gdr_en_i, not for its range
    logic [3:0]  client;
    logic [7:0]  slot;
    logic [5:0]  tlp;
    logic [12:0] dst;
  } job_t;
  localparam int unsigned JW = 113;
  localparam int unsigned RW = 140;   // dma_rd_req_t
  localparam int unsigned NL = 7;     // lanes

  // What a tag remembers.
  typedef struct packed {
    logic          gpu;
    logic [3:0]    client;
    logic [7:0]    slot;
    logic [5:0]    tlp;
    logic [12:0]   dst;
    logic [LB-1:0] lane;  // of the first byte on the bus
    logic [12:0]   len;
  } tag_t;

  // -------------------------------------------------------------------------------------- settings
  // MRRS counts when requests are numbered and when they are cut: take it over only when none is
  // between.
  logic [2:0]  mrrs_q;
  logic [11:0] mask;   // MRRS - 1
  logic        quiet;
  assign mask = 12'((13'd128 << mrrs_q) - 13'd1);
  always_ff @(posedge clk_i) begin
    if (rst_i || quiet) mrrs_q <= (cfg_mrrs_i > 3'd5) ? 3'd5 : cfg_mrrs_i;
  end

  logic [8:0] pace, pace_gpu;
  assign pace = (cfg_pacing_i == 8'd0) ? 9'd1 :
                ({1'b0, cfg_pacing_i} > 9'(N_TAG)) ? 9'(N_TAG) : {1'b0, cfg_pacing_i};
  // A quarter of the tags, at least one, is kept free of GPU reads.
  assign pace_gpu = (pace == 9'd1) ? 9'd1 : (pace < 9'd4) ? pace - 9'd1 : pace - {2'd0, pace[8:2]};

  // ----------------------------------------------------------------------------------------- lanes
  // One per port: holds the request at hand, its target already known. Lanes 1 and 2 (requests,
  // READ responses) read payload into slots of tx_buffer, each slot by one of them.
  logic [NL-1:0]    lane_valid, lane_leave, lane_cut;
  logic [NL-1:0]    lane_host, lane_gpu, lane_dev, lane_ref;
  logic [NL*JW-1:0] lane_jobs;
  job_t             cut_job, cut_next;
  logic             cut_fire, cut_last;
  logic [NL:0]      cut_gnt;
  logic [2:0]       cut_idx;

  assign lane_cut = {NL{cut_fire}} & cut_gnt[NL-1:0];

  for (genvar i = 0; i < NL; i++) begin : gen_lane
    localparam logic [3:0] CLIENT = i == 0 ? rnic_pkg::RD_WQE : i <= 2 ? rnic_pkg::RD_PAYLOAD :
        i == 3 ? rnic_pkg::RD_RQ : i == 4 ? rnic_pkg::RD_ATOMIC : i == 5 ? rnic_pkg::RD_MTT :
        rnic_pkg::RD_CTX;
    rnic_pkg::dma_rd_req_t req;
    assign req = rd_reqs[i*RW +: RW];
    dma_rd_lane #(.CLIENT(32'(CLIENT)), .DEVMEM_BYTES(DEVMEM_BYTES)) u_lane (
      .clk_i, .rst_i, .mrrs_i(mrrs_q), .gdr_en_i, .gpu_base_i, .gpu_limit_i, .devmem_base_i,
      .drain_i, .rd_valid(rd_valid[i]), .rd_ready(rd_ready[i]), .rd_req(req),
      .job_valid_o(lane_valid[i]), .job_o(lane_jobs[i*JW +: JW]), .is_host_o(lane_host[i]),
      .is_gpu_o(lane_gpu[i]), .is_dev_o(lane_dev[i]), .is_refused_o(lane_ref[i]),
      .leave_i(lane_leave[i]), .cut_i(lane_cut[i]), .next_i(cut_next));
  end

  // Requests that leave their lane whole: to the GPU queue, to device_memory, to the error report.
  logic [NL-1:0] gpu_gnt, dev_gnt, ref_gnt;
  logic [2:0]    gpu_idx, dev_idx, ref_idx;
  logic          gpu_any, dev_any, ref_any, gpu_move, dev_move, ref_move;
  job_t          gpu_in, dev_in, ref_in;
  rr_select #(.N(NL)) u_rr_gpu (
    .clk_i, .rst_i, .req_i(lane_gpu), .advance_i(gpu_move), .gnt_o(gpu_gnt), .idx_o(gpu_idx),
    .any_o(gpu_any));
  rr_select #(.N(NL)) u_rr_dev (
    .clk_i, .rst_i, .req_i(lane_dev), .advance_i(dev_move), .gnt_o(dev_gnt), .idx_o(dev_idx),
    .any_o(dev_any));
  rr_select #(.N(NL)) u_rr_ref (
    .clk_i, .rst_i, .req_i(lane_ref), .advance_i(ref_move), .gnt_o(ref_gnt), .idx_o(ref_idx),
    .any_o(ref_any));
  assign gpu_in = gpu_any ? lane_jobs[gpu_idx*JW +: JW] : '0;
  assign dev_in = dev_any ? lane_jobs[dev_idx*JW +: JW] : '0;
  assign ref_in = ref_any ? lane_jobs[ref_idx*JW +: JW] : '0;

  assign lane_leave = ({NL{cut_last}} & lane_cut) | ({NL{gpu_move}} & gpu_gnt) |
                      ({NL{dev_move}} & dev_gnt) | ({NL{ref_move}} & ref_gnt);

  // ------------------------------------------------------------------------------------- GPU reads
  // A queue, so that reads of host memory pass those that wait for a slow GPU; its head is in
  // g_job_q.
  logic g_valid_q, g_load, gq_in_valid, gq_in_ready, gq_valid, gq_ready;
  job_t g_job_q, gq_job;
  logic [$clog2(GPU_QUEUE+1)-1:0] gq_level;
  stream_fifo #(.W(JW), .DEPTH(GPU_QUEUE), .OUT_REG(0)) u_gpu_queue (
    .clk_i, .rst_i, .in_valid(gq_in_valid), .in_ready(gq_in_ready), .in_data(gpu_in),
    .out_valid(gq_valid), .out_ready(gq_ready), .out_data(gq_job), .level_o(gq_level));

  assign g_load = !g_valid_q || (cut_fire && cut_gnt[NL] && cut_last);
  assign gq_in_valid = gpu_any && !drain_i && (gq_valid || !g_load);
  assign gpu_move = gpu_any && !drain_i && ((g_load && !gq_valid) || gq_in_ready);
  assign gq_ready = g_load || drain_i;

  always_ff @(posedge clk_i) begin
    if (g_load) begin
      g_valid_q <= (gq_valid || gpu_any) && !drain_i;
      if (gq_valid) g_job_q <= gq_job;
      else if (gpu_any) g_job_q <= gpu_in;
    end else if (cut_fire && cut_gnt[NL]) begin
      g_job_q <= cut_next;
    end
    if (rst_i || drain_i) g_valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------------- cut
  logic [8:0]    out_q, out_gpu_q;    // tags that count for pacing
  logic          tag_valid, ar_ready;
  logic [TW-1:0] tag_new;
  logic [TW:0]   tags_free;
  logic [12:0]   cut_room, cut_size;
  logic [LB:0]   cut_lane;
  logic [7:0]    cut_id, cut_len;
  logic [111:0]  cut_ar;
  logic          cut_gpu;
  logic          cut_any;

  logic may_cut;
  assign may_cut = tag_valid && ar_ready && out_q < pace && !drain_i;
  rr_select #(.N(NL + 1)) u_rr_cut (
    .clk_i, .rst_i, .req_i({g_valid_q && out_gpu_q < pace_gpu, lane_host} & {NL + 1{may_cut}}),
    .advance_i(1'b1), .gnt_o(cut_gnt), .idx_o(cut_idx), .any_o(cut_any));
  assign cut_fire = cut_any;

  always_comb begin
    cut_job = g_job_q;
    if (cut_gnt[NL-1:0] != '0) cut_job = lane_jobs[cut_idx*JW +: JW];
  end

  // To the next multiple of MRRS: that also ends it at 4 KB, and every TLP but the first starts in
  // lane 0.
  assign cut_room = {1'b0, mask} + 13'd1 - {1'b0, cut_job.addr[11:0] & mask};
  assign cut_last = cut_job.left <= cut_room;
  assign cut_size = cut_last ? cut_job.left : cut_room;
  assign cut_lane = {1'b0, cut_job.addr[LB-1:0]};
  assign cut_gpu = cut_job.target == rnic_pkg::TGT_GPU;
  always_comb begin
    cut_next = '0;
    cut_ar = '0;
    if (cut_fire) begin
      cut_next = cut_job;
      cut_next.addr = cut_job.addr + {51'd0, cut_size};
      cut_next.left = cut_job.left - cut_size;
      cut_next.dst = cut_job.dst + cut_size;
      cut_next.tlp = cut_job.tlp + 6'd1;
      cut_ar = {cut_id, cut_job.addr, cut_len, 13'd0, 2'd0, cut_job.gpu, cut_job.target, cut_size};
    end
  end

  logic [12:0] cut_end;   // last byte counted from lane 0 of the first beat
  logic [1:0]  ar_level;
  assign cut_end = 13'(cut_lane) + cut_size - 13'd1;
  assign cut_len = 8'(cut_end >> LB);

  stream_fifo_small #(.W(112), .DEPTH(2), .LATENCY(0)) u_ar (
    .clk_i, .rst_i, .in_valid(cut_fire), .in_ready(ar_ready),
    .in_data(cut_ar),
    .out_valid(m_axi_arvalid), .out_ready(m_axi_arready),
    .out_data({m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_aruser}), .level_o(ar_level));

  // ------------------------------------------------------------------------------------------ tags
  tag_t             tag_mem [N_TAG];
  logic [8:0]       beat_mem [N_TAG];   // beats seen; not valid while first_q
  logic [22:0]      start_mem [N_TAG];  // us
  logic [GW-1:0]    gen_mem [N_TAG];
  logic [N_TAG-1:0] busy_q, dead_q, late_q, first_q, gen_old_q;
  logic             tag_free;
  logic [TW-1:0]    lk_tag;
  tag_t             lk;
  logic             lk_busy, lk_dead, lk_late, lk_gen_ok;

  free_list #(.N(N_TAG)) u_tags (
    .clk_i, .rst_i, .alloc_valid(tag_valid), .alloc_ready(cut_fire), .alloc_id(tag_new),
    .free_valid_i(tag_free), .free_id_i(lk_tag), .count_o(tags_free));

  if (TW < 8) begin : gen_id
    // gen_mem is not cleared: gen_old_q = 0 reads it as 0 after a reset.
    assign cut_id = {gen_old_q[tag_new] ? gen_mem[tag_new] : {GW{1'b0}}, tag_new};
    assign lk_gen_ok = m_axi_rid[7:TW] == (gen_old_q[lk_tag] ? gen_mem[lk_tag] : {GW{1'b0}});
  end else begin : gen_id_full
    assign cut_id = tag_new;
    assign lk_gen_ok = 1'b1;
  end

  // -------------------------------------------------------------------------------------- time-out
  localparam int unsigned US_W = 21;
  logic [US_W-1:0] ps_q;
  logic [22:0]     now_q, age;
  logic            us_tick;
  logic [TW-1:0]   scan_q;
  logic            ev_q;       // scan_q has timed out, or may come back
  logic            scan_busy, scan_late, scan_due;
  logic [19:0]     limit;
  assign us_tick = ps_q >= US_W'(1_000_000 - CLK_PS);
  // A drain must end even if time-outs are off.
  assign limit = (cfg_timeout_us_i == 20'd0 && drain_i) ? 20'd10000 : cfg_timeout_us_i;
  assign age = now_q - start_mem[scan_q];
  assign scan_busy = busy_q[scan_q];
  assign scan_late = late_q[scan_q];
  assign scan_due = scan_busy && limit != 20'd0 &&
                    (scan_late ? age > {1'b0, limit, 2'b00} + {3'd0, limit} : age > {3'd0, limit});

  // --------------------------------------------------------------------------------- device_memory
  logic          dv_valid_q, dv_fire, dv_last, dv_free, r_seen_q;
  job_t          dv_job_q;
  logic [8:0]    dv_row_q;
  logic [12:0]   dv_done, dv_left;
  logic [7:0]    dv_room, dv_cnt;
  logic          dvr_valid_q;         // its data are on dm_rd_data now
  rnic_pkg::dma_rd_rsp_t dvr_q;
  logic [LB-1:0] dvr_shift_q;

  assign dv_done = (dv_row_q == 9'd0) ? 13'd0 :
                   13'({dv_row_q, {LB{1'b0}}}) - 13'(dv_job_q.addr[LB-1:0]);
  assign dv_left = dv_job_q.left - dv_done;
  assign dv_room = 8'(B) - ((dv_row_q == 9'd0) ? 8'(dv_job_q.addr[LB-1:0]) : 8'd0);
  assign dv_last = dv_left <= 13'(dv_room);
  assign dv_cnt = dv_last ? 8'(dv_left) : dv_room;
  // Shares the response with the bus: at most every other beat while the bus has data.
  assign dm_rd_valid = dv_valid_q && !(dvr_valid_q && r_seen_q);
  assign dm_rd_row = 32'((dv_job_q.addr & (64'(DEVMEM_BYTES) - 64'd1)) >> LB) + {23'd0, dv_row_q};
  assign dv_fire = dm_rd_valid && dm_rd_ready;
  assign dv_free = !dv_valid_q || (dv_fire && dv_last);
  assign dev_move = dev_any && dv_free && !drain_i;

  always_ff @(posedge clk_i) begin
    r_seen_q <= m_axi_rvalid;
    if (dv_free) begin
      dv_valid_q <= dev_move;
      dv_row_q <= 9'd0;
      if (dev_move) dv_job_q <= dev_in;
    end else if (dv_fire) begin
      dv_row_q <= dv_row_q + 9'd1;
    end
    dvr_valid_q <= dv_fire;
    if (dv_fire) begin
      dvr_q.client <= dv_job_q.client;
      dvr_q.slot <= dv_job_q.slot;
      dvr_q.tlp <= dv_job_q.tlp;
      dvr_q.tlp_last <= dv_last;
      dvr_q.dst_off <= dv_job_q.dst + dv_done;
      dvr_q.cnt <= dv_cnt;
      dvr_q.err <= 1'b0;
      dvr_q.status <= 8'd0;
      dvr_q.lost <= 13'd0;
      dvr_shift_q <= dv_job_q.dst[LB-1:0] - dv_job_q.addr[LB-1:0];
    end
    if (rst_i || drain_i) begin
      dv_valid_q <= 1'b0;
      dv_row_q <= 9'd0;
    end
    if (rst_i) dvr_valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------- responses
  // In this order: a beat of device_memory (its data are there), a report (time-out, refusal; never
  // twice in a row), a beat of the bus.
  logic ref_valid_q, report_q, report_take, ev_take, ref_take, ev_due, r_fire, r_match;
  job_t ref_job_q;

  assign report_take = (ev_q || ref_valid_q) && !report_q && !dvr_valid_q;
  assign ev_take = report_take && ev_q;
  assign ref_take = report_take && !ev_q;
  // looked at again: its last beat may have come meanwhile
  assign ev_due = ev_take && scan_due;
  assign ref_move = ref_any && (!ref_valid_q || ref_take) && !drain_i;
  assign m_axi_rready = !dvr_valid_q && !((ev_q || ref_valid_q) && !report_q);
  assign r_fire = m_axi_rvalid && m_axi_rready;

  assign lk_tag = ev_take ? scan_q : m_axi_rid[TW-1:0];
  assign lk = tag_mem[lk_tag];
  assign lk_busy = busy_q[lk_tag];
  assign lk_dead = dead_q[lk_tag];
  assign lk_late = late_q[lk_tag];
  assign r_match = r_fire && lk_busy && lk_gen_ok;

  logic [8:0]    r_beat;
  logic [12:0]   r_done, r_left;
  logic [7:0]    r_room;
  logic          r_exp_last, r_bad, r_good;
  logic [LB-1:0] r_shift;
  always_comb begin
    r_beat = first_q[lk_tag] ? 9'd0 : beat_mem[lk_tag];
    r_done = (r_beat == 9'd0) ? 13'd0 : 13'({r_beat, {LB{1'b0}}}) - 13'(lk.lane);
    r_left = lk.len - r_done;
    r_room = 8'(B) - ((r_beat == 9'd0) ? 8'(lk.lane) : 8'd0);
    r_exp_last = r_left <= 13'(r_room);
    r_bad = m_axi_rresp[1] || m_axi_ruser || m_axi_rlast != r_exp_last;
    r_good = r_match && !lk_dead && !r_bad;
    r_shift = lk.dst[LB-1:0] - lk.lane;
  end

  logic timed_out, came_back, tag_done;
  assign timed_out = ev_due && !lk_late;
  assign came_back = ev_due && lk_late;
  assign tag_done = r_match && m_axi_rlast;
  assign tag_free = tag_done || came_back;

  rnic_pkg::dma_rd_rsp_t rsp_d;
  logic                  rsp_valid_d, data_en;
  always_comb begin
    rsp_d.client = lk.client;
    rsp_d.slot = lk.slot;
    rsp_d.tlp = lk.tlp;
    rsp_d.tlp_last = r_exp_last;
    rsp_d.dst_off = lk.dst + r_done;
    rsp_d.cnt = r_exp_last ? 8'(r_left) : r_room;
    rsp_d.err = 1'b0;
    rsp_d.status = 8'd0;
    rsp_d.lost = 13'd0;
    rsp_valid_d = r_match && !lk_dead;
    data_en = r_good || dvr_valid_q;
    if (dvr_valid_q) begin
      rsp_d = dvr_q;
      rsp_valid_d = 1'b1;
    end else if (ref_take) begin
      rsp_d.client = ref_job_q.client;
      rsp_d.slot = ref_job_q.slot;
      rsp_d.tlp = ref_job_q.tlp;
      rsp_d.dst_off = ref_job_q.dst;
      rsp_d.lost = ref_job_q.left;
      rsp_d.status = LOC_PROT_ERR;
      rsp_valid_d = 1'b1;
    end else if (ev_take) begin
      rsp_d.lost = r_left;
      rsp_d.status = FATAL_ERR;
      rsp_valid_d = timed_out && !lk_dead;
    end else if (r_bad) begin
      rsp_d.lost = r_left;
      rsp_d.status = m_axi_rresp[1] ? LOC_PROT_ERR : FATAL_ERR;
    end
    if (!dvr_valid_q && (report_take || r_bad)) begin
      rsp_d.err = 1'b1;
      rsp_d.tlp_last = 1'b1;
      rsp_d.cnt = 8'd0;
    end
  end

  // The only wide logic: bytes of the bus (or of device_memory) up by the shift, around.
  logic [LB-1:0] shift;
  assign shift = dvr_valid_q ? dvr_shift_q : r_shift;
  logic [DATA_W-1:0] src;
  assign src = dvr_valid_q ? dm_rd_data : m_axi_rdata;
  always_ff @(posedge clk_i) begin
    if (data_en && shift == '0) rdrsp_data <= src;
    if (data_en && shift != '0) begin
      rdrsp_data <= DATA_W'({src, src} >> {(LB + 1)'(B) - {1'b0, shift}, 3'b000});
    end
  end

  always_ff @(posedge clk_i) begin
    rdrsp_valid <= rsp_valid_d;
    if (rsp_valid_d) rdrsp <= rsp_d;
    if (rst_i) rdrsp_valid <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (cut_fire) begin
      tag_mem[tag_new] <= {cut_gpu, cut_job.client, cut_job.slot, cut_job.tlp, cut_job.dst,
                           cut_job.addr[LB-1:0], cut_size};
      start_mem[tag_new] <= now_q;
    end
    if (r_match) beat_mem[lk_tag] <= r_beat + 9'd1;
    if (came_back) gen_mem[lk_tag] <= gen_old_q[lk_tag] ? gen_mem[lk_tag] + 1'b1 : GW'(1);
  end

  logic out_inc, out_dec;
  assign out_inc = cut_fire;
  assign out_dec = (tag_done && !lk_late) || timed_out;

  always_ff @(posedge clk_i) begin
    if (cut_fire) begin
      busy_q[tag_new] <= 1'b1;
      dead_q[tag_new] <= 1'b0;
      late_q[tag_new] <= 1'b0;
      first_q[tag_new] <= 1'b1;
    end
    if (r_match) begin
      first_q[lk_tag] <= 1'b0;
      if (r_bad) dead_q[lk_tag] <= 1'b1;
    end
    if (timed_out) begin
      dead_q[lk_tag] <= 1'b1;
      late_q[lk_tag] <= 1'b1;
    end
    if (tag_free) busy_q[lk_tag] <= 1'b0;
    if (came_back) gen_old_q[lk_tag] <= 1'b1;

    if (out_inc != out_dec) out_q <= out_inc ? out_q + 9'd1 : out_q - 9'd1;
    if ((out_inc && cut_gpu) != (out_dec && lk.gpu)) begin
      out_gpu_q <= (out_inc && cut_gpu) ? out_gpu_q + 9'd1 : out_gpu_q - 9'd1;
    end

    ps_q <= us_tick ? ps_q - US_W'(1_000_000 - CLK_PS) : ps_q + US_W'(CLK_PS);
    if (us_tick) now_q <= now_q + 23'd1;
    if (ev_take || (!ev_q && !scan_due)) scan_q <= scan_q + 1'b1;
    ev_q <= ev_q ? !ev_take : scan_due;

    report_q <= report_take;
    if (!ref_valid_q || ref_take) begin
      ref_valid_q <= ref_move;
      if (ref_move) ref_job_q <= ref_in;
    end

    cnt_reads_o <= cut_fire;
    cnt_bytes_amount_o <= cut_fire ? {3'd0, cut_size} : 16'd0;
    cnt_errors_o <= (r_match && !lk_dead && r_bad) || (ref_take && !ref_job_q.refused);
    cnt_page_fault_o <= (r_match && !lk_dead && m_axi_rresp[1]) || (ref_take && !ref_job_q.refused);
    cnt_timeouts_o <= timed_out;
    cnt_gdr_refused_o <= ref_take && ref_job_q.refused;

    if (drain_i) ref_valid_q <= 1'b0;
    if (rst_i) begin
      busy_q <= '0;
      dead_q <= '0;
      late_q <= '0;
      gen_old_q <= '0;
      out_q <= 9'd0;
      out_gpu_q <= 9'd0;
      ps_q <= '0;
      now_q <= 23'd0;
      scan_q <= '0;
      ev_q <= 1'b0;
      report_q <= 1'b0;
      ref_valid_q <= 1'b0;
      cnt_reads_o <= 1'b0;
      cnt_bytes_amount_o <= 16'd0;
      cnt_errors_o <= 1'b0;
      cnt_page_fault_o <= 1'b0;
      cnt_timeouts_o <= 1'b0;
      cnt_gdr_refused_o <= 1'b0;
    end
  end

  logic empty;
  assign empty = lane_valid == '0 && !g_valid_q && gq_level == '0;
  assign quiet = empty && rd_valid == '0;
  assign idle_o = empty && ar_level == 2'd0 && tags_free == (TW + 1)'(N_TAG) && !dv_valid_q &&
                  !dvr_valid_q && !ref_valid_q && !rdrsp_valid;

  logic unused;
  assign unused = ^{m_axi_rresp[0], dv_job_q, ref_job_q};

  `RNIC_ASSERT(pacing_bound, out_q <= 9'(N_TAG) && out_gpu_q <= out_q)
  `RNIC_ASSERT(ar_room, !cut_fire || ar_ready)
  `RNIC_ASSERT(cut_in_page, !cut_fire || {1'b0, cut_job.addr[11:0]} + cut_size <= 13'd4096)
  `RNIC_STREAM_HOLD(m_axi_arvalid, m_axi_arready, {m_axi_arid, m_axi_araddr, m_axi_arlen,
      m_axi_aruser})
endmodule
