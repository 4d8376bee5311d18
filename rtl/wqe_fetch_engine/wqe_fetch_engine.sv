// SPDX-License-Identifier: Apache-2.0
//
// Reads posted WQEs from the send queues by DMA and decodes them in ring order. N_JOB jobs of up to
// FETCH_BLOCKS blocks run at once, one per QP; the data of a job may come in any order, WQEs leave
// as soon as all before them are there. Throughput: a job every 2 cycles, a read request per cycle,
// a WQE per cycle. Latency: 1 cycle from wqe_req to rdreq (context hit), 2 from the last byte of a
// WQE to wqe_valid. WQEs of a QP leave in ring order; QPs take turns.
// Nothing is dropped: a malformed WQE and one that could not be read leave as bad entries.
`include "rnic_assert.svh"

module wqe_fetch_engine #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_JOB = 8,
    parameter int unsigned FETCH_BLOCKS = 16
) (
    input  logic                    clk_i,
    input  logic                    rst_i,

    // from sq_scheduler; wqe_req_ready depends on wf_lk_ready
    input  logic                    wqe_req_valid,
    output logic                    wqe_req_ready,
    input  logic [23:0]             wqe_req_qpn,
    input  logic [15:0]             wqe_req_index,
    input  logic [6:0]              wqe_req_blocks,  // may run over the ring's end
    input  logic [15:0]             wqe_req_avail,   // posted blocks from index on
    // connection half
    output logic                    wf_lk_valid,
    input  logic                    wf_lk_ready,
    output logic [23:0]             wf_lk_qpn,
    input  logic                    wf_ctx_valid,
    input  rnic_pkg::qp_conn_t      wf_ctx,
    // dma_master
    output logic                    rdreq_valid,
    input  logic                    rdreq_ready,
    output rnic_pkg::dma_rd_req_t   rdreq,
    input  logic                    rdrsp_valid,
    input  rnic_pkg::dma_rd_rsp_t   rdrsp,
    input  logic [DATA_W-1:0]       rdrsp_data,
    // to wqe_store
    output logic                    wqe_valid,
    input  logic                    wqe_ready,
    output rnic_pkg::wqe_entry_t    wqe,
    // to sq_scheduler: the first WQE of a job is in the store, or the job is over
    output logic                    fetch_done_valid,
    input  logic                    fetch_done_ready,
    output logic [23:0]             fetch_done_qpn,
    output logic                    fetch_done_last,
    output logic [15:0]             fetch_done_next,
    output logic [4:0]              fetch_done_pushed,
    // trace_sampler: smp_hit_i answers in the same cycle and holds until smp_take_o
    output logic                    smp_valid_o,
    output logic                    smp_take_o,
    output logic [23:0]             smp_qpn_o,
    input  logic                    smp_hit_i,

    output logic                    cnt_wqe_fetched_o,
    output logic                    cnt_wqe_errors_o,
    output logic                    trc_valid_o,
    output logic [63:0]             trc_o,
    output logic                    trc_sampled_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned U = (B < 64) ? B : 64;     // bytes of a unit: what a beat fills at least
  localparam int unsigned UPB = 64 / U;              // units per block
  localparam int unsigned LANES = B / U;             // units per beat
  localparam int unsigned FB = FETCH_BLOCKS;
  localparam int unsigned JW = (N_JOB > 1) ? $clog2(N_JOB) : 1;
  localparam int unsigned KW = $clog2(FB);           // block in a job
  localparam int unsigned ROWS = N_JOB * FB / 2;     // of each bank: even blocks, odd blocks
  localparam int unsigned RW = $clog2(ROWS);
  localparam int unsigned META_W = 10;               // {blocks 7, link, bad, len_err}
  localparam int unsigned SW = $clog2(UPB);          // bits of the unit in a block
  localparam int unsigned UW = (SW > 0) ? SW : 1;
  localparam int unsigned AW = KW + SW;              // bits of a unit in a slot
  localparam int unsigned RDREQ_W = $bits(rdreq);

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("wqe_fetch_engine: DATA_W must be 128, 256, 512 or 1024");
  end
  if (FB < 4 || FB > 16 || (FB & (FB - 1)) != 0 || N_JOB < 1 || N_JOB > 256) begin : gen_bad_jobs
    $error("wqe_fetch_engine: FETCH_BLOCKS must be 4, 8 or 16, N_JOB 1 to 256");
  end

  // -- jobs
  logic [N_JOB-1:0]   j_valid_q;
  logic [N_JOB-1:0]   j_over_q;             // decoded; stays until all its data came
  logic [N_JOB-1:0]   j_none_q;             // the QP is gone: nothing was read
  logic [23:0]        j_qpn_q[N_JOB];
  logic [15:0]        j_index_q[N_JOB];     // of its first block
  logic [4:0]         j_blocks_q[N_JOB];
  logic [15:0]        j_avail_q[N_JOB];
  logic [63:0]        j_base_q[N_JOB];
  logic [3:0]         j_log_q[N_JOB];
  logic [10:0]        j_left_q[N_JOB];      // bytes still to come
  logic [7:0]         j_status_q[N_JOB];    // of a failed read
  logic [4:0]         j_at_q[N_JOB];        // block to decode next
  logic [4:0]         j_pushed_q[N_JOB];
  logic [FB*UPB-1:0]  j_here_q[N_JOB];      // units that came

  logic [N_JOB-1:0]   j_free;
  logic [JW-1:0]      new_job;
  logic               some_free;
  assign j_free = ~j_valid_q;
  assign some_free = |j_free;
  always_comb begin
    new_job = '0;
    for (int i = N_JOB - 1; i >= 0; i--) begin
      if (j_free[i]) new_job = JW'(i);
    end
  end

  // -- a job in: context, read requests
  logic          i_busy_q, i_have_q, i_first_q;
  logic [JW-1:0] i_job_q;
  logic [63:0]   i_base_q;
  logic [3:0]    i_log_q;
  logic [15:0]   i_index_q;
  logic [4:0]    i_done_q, i_left_q;         // blocks asked for, still to ask for
  logic          accept, i_ctx, i_gone, i_last;
  logic [63:0]   i_base;
  logic [3:0]    i_log;
  logic [15:0]   i_mask, i_pos, i_to_end;
  logic [4:0]    i_part;

  assign wf_lk_valid = wqe_req_valid && !i_busy_q && some_free;
  assign wf_lk_qpn = wqe_req_qpn;
  assign wqe_req_ready = !i_busy_q && some_free && wf_lk_ready;
  assign accept = wqe_req_valid && wqe_req_ready;

  assign i_ctx = i_busy_q && (i_have_q || wf_ctx_valid);
  assign i_base = i_have_q ? i_base_q : wf_ctx.sq_base;
  assign i_log = i_have_q ? i_log_q : wf_ctx.log_sq;
  assign i_gone = i_busy_q && !i_have_q && wf_ctx_valid && !wf_ctx.exists;
  assign i_mask = (16'd1 << i_log) - 16'd1;
  assign i_pos = i_index_q & i_mask;
  assign i_to_end = i_mask - i_pos + 16'd1;
  assign i_part = ({11'd0, i_left_q} > i_to_end) ? i_to_end[4:0] : i_left_q;
  assign i_last = i_part == i_left_q;

  assign rdreq_valid = i_ctx && !i_gone;
  always_comb begin
    rdreq = '0;
    if (rdreq_valid) begin
      rdreq.addr = i_base + {42'd0, i_pos, 6'd0};
      rdreq.len = {2'd0, i_part, 6'd0};
      rdreq.slot = 8'(i_job_q);
      rdreq.dst_off = {2'd0, i_done_q, 6'd0};
      rdreq.first = i_first_q;
      rdreq.qpn = j_qpn_q[i_job_q];
      rdreq.wqe_index = i_index_q;
    end
  end
  logic rdreq_fire;
  assign rdreq_fire = rdreq_valid && rdreq_ready;

  always_ff @(posedge clk_i) begin
    if (accept) begin
      i_busy_q <= 1'b1;
      i_have_q <= 1'b0;
      i_first_q <= 1'b1;
      i_job_q <= new_job;
      i_index_q <= wqe_req_index;
      i_done_q <= '0;
      i_left_q <= wqe_req_blocks[4:0];
    end else begin
      if (i_busy_q && wf_ctx_valid) begin
        i_have_q <= 1'b1;
        i_base_q <= wf_ctx.sq_base;
        i_log_q <= wf_ctx.log_sq;
      end
      if (rdreq_fire) begin
        i_first_q <= 1'b0;
        i_index_q <= i_index_q + {11'd0, i_part};
        i_done_q <= i_done_q + i_part;
        i_left_q <= i_left_q - i_part;
      end
      if (i_gone || (rdreq_fire && i_last)) i_busy_q <= 1'b0;
    end
    if (rst_i) i_busy_q <= 1'b0;
  end

  // -- data arrives
  // Unit u of a slot is in lane u mod LANES of a beat (dma_rd_rsp_t). Block k is in bank k mod 2,
  // row k / 2.
  logic                 mine, a_data;
  logic [JW-1:0]        a_job;
  logic [10:0]          a_bytes;
  logic [LANES-1:0]     a_lane;             // lanes of this beat that are filled
  logic [LANES*AW-1:0]  a_unit;             // unit of the slot that is in the lane
  logic [FB*UPB-1:0]    a_here;
  logic [LANES-1:0]     a_begins;           // the lane begins a block
  logic [LANES*META_W-1:0] a_meta;
  logic [AW-1:0]        a_first;
  assign mine = rdrsp_valid && rdrsp.client == rnic_pkg::RD_WQE;
  assign a_data = mine && !rdrsp.err && rdrsp.cnt != 8'd0;
  assign a_job = rdrsp.slot[JW-1:0];
  assign a_bytes = {3'd0, rdrsp.cnt} + rdrsp.lost[10:0];
  assign a_first = rdrsp.dst_off[$clog2(U) +: AW];

  if (LANES == 1) begin : gen_lanes
    assign a_lane = a_data;
    assign a_unit = a_first;
  end else begin : gen_lanes
    // A beat of one unit fills the lane it begins in; a full beat may wrap into the next row.
    logic both;
    assign both = rdrsp.cnt > 8'(U);
    assign a_lane = {a_data && (both || a_first[0]), a_data && (both || !a_first[0])};
    assign a_unit[0 +: AW] = a_first[0] ? a_first + 1'b1 : a_first;
    assign a_unit[AW +: AW] = a_first[0] ? a_first : a_first + 1'b1;
  end

  for (genvar l = 0; l < LANES; l++) begin : gen_lane
    logic [6:0] blocks;
    logic       link, bad, len_err;
    if (UPB == 1) begin : gen_begins
      assign a_begins[l] = a_lane[l];
    end else begin : gen_begins
      assign a_begins[l] = a_lane[l] && a_unit[l*AW +: UW] == '0;
    end
    wqe_check u_check (
        .head_i   (rdrsp_data[l*U*8 +: 128]),
        .index_i  (j_index_q[a_job] + 16'(a_unit[l*AW+SW +: KW])),
        .blocks_o (blocks),
        .link_o   (link),
        .bad_o    (bad),
        .len_err_o(len_err)
    );
    assign a_meta[l*META_W +: META_W] = {blocks, link, bad, len_err};
  end
  always_comb begin
    a_here = '0;
    for (int l = 0; l < LANES; l++) begin
      if (a_lane[l]) a_here[a_unit[l*AW +: AW]] = 1'b1;
    end
  end

  // -- stage 0: which WQE is decoded next
  logic [N_JOB-1:0]  cand, unused_gnt;
  logic              cand_any, s0_go, s0_take;
  logic              r_valid_q, r_go;       // stage 1 is full, moves on
  logic [JW-1:0]     sel;
  logic [4:0]        at;
  logic [KW-1:0]     blk, blk2;
  logic              here1, here2, all_in, two, cut, broken, emit, over;
  logic [META_W-1:0] meta, meta_even, meta_odd;
  logic [6:0]        m_blocks;
  logic              m_link, m_bad, m_len;
  logic [15:0]       upto;
  logic [FB-1:0]     sel_blocks;
  logic [N_JOB*FB-1:0] blocks_here;

  for (genvar j = 0; j < N_JOB; j++) begin : gen_job
    if (UPB == 1) begin : gen_blocks
      assign blocks_here[j*FB +: FB] = j_here_q[j];
    end else begin : gen_blocks
      for (genvar k = 0; k < FB; k++) begin : gen_block
        assign blocks_here[j*FB+k] = &j_here_q[j][k*UPB +: UPB];
      end
    end
    assign cand[j] = j_valid_q[j] && !j_over_q[j] &&
                     (blocks_here[j*FB + 32'(j_at_q[j][KW-1:0])] || j_left_q[j] == '0);
  end
  rr_select #(.N(N_JOB)) u_pick (
      .clk_i,
      .rst_i,
      .req_i    (cand),
      .advance_i(s0_go),
      .gnt_o    (unused_gnt),
      .idx_o    (sel),
      .any_o    (cand_any)
  );
  assign at = j_at_q[sel];
  assign blk = at[KW-1:0];
  assign blk2 = at[KW-1:0] + 1'b1;
  assign sel_blocks = blocks_here[sel*FB +: FB];
  assign all_in = j_left_q[sel] == '0;
  assign here1 = sel_blocks[blk];
  assign here2 = sel_blocks[blk2];
  assign meta = blk[0] ? meta_odd : meta_even;
  assign {m_blocks, m_link, m_bad, m_len} = meta;
  assign two = here1 && m_blocks > 7'd1;
  // first block after it, counted from the job's first
  assign upto = {11'd0, at} + {9'd0, m_blocks};
  // The rest of it is not in this job, or not yet posted: the next job has it.
  assign cut = two && (at + 5'd1 == j_blocks_q[sel] || upto > j_avail_q[sel]);
  assign broken = !here1 || (two && !cut && !here2);  // it did not come
  assign emit = !j_none_q[sel] && !cut && (!broken || all_in);
  assign over = j_none_q[sel] || cut || broken || m_link || upto >= {11'd0, j_blocks_q[sel]};
  assign s0_go = cand_any && (!r_valid_q || r_go);
  assign s0_take = s0_go && (emit || cut || j_none_q[sel]);

  // -- stage 1: the WQE
  logic         r_emit_q, r_first_q, r_last_q, r_odd_q, r_two_q, r_link_q, r_bad_q;
  logic [7:0]   r_status_q;
  logic [23:0]  r_qpn_q;
  logic [15:0]  r_index_q;
  logic [6:0]   r_blocks_q;
  logic [4:0]   r_pushed_q;
  logic [63:0]  r_base_q;
  logic [3:0]   r_log_q;
  logic [511:0] bank_even, bank_odd;
  logic [77:0]  bank_head;             // its first bytes
  logic         ev_valid, ev_room;

  logic [63:0]  link_off;
  logic [15:0]  r_end, ring_mask, link_skip, r_next;
  logic         link_in, entry_bad;
  assign r_end = r_index_q + {9'd0, r_blocks_q};
  assign link_off = {bank_head[63:6], 6'd0} - r_base_q;
  assign ring_mask = (16'd1 << r_log_q) - 16'd1;
  assign link_in = link_off[63:22] == '0 && (link_off[21:6] & ~ring_mask) == '0;
  assign link_skip = (link_off[21:6] - r_end) & ring_mask;
  assign r_next = (r_link_q && link_in) ? r_end + link_skip : r_end;
  assign entry_bad = r_bad_q || (r_link_q && !link_in);

  assign bank_head = r_odd_q ? bank_odd[77:0] : bank_even[77:0];
  always_comb begin
    wqe = '0;
    if (r_valid_q && r_emit_q) begin
      wqe.qpn = r_qpn_q;
      wqe.index = r_index_q;
      wqe.blocks = r_blocks_q;
      wqe.next_index = r_next;
      wqe.bad = entry_bad;
      wqe.status = r_bad_q ? r_status_q : entry_bad ? rnic_desc_pkg::CQE_STATUS_LOC_QP_OP_ERR :
          8'd0;
      wqe.sampled = smp_hit_i || (!r_bad_q && bank_head[77]);
      wqe.has2 = r_two_q;
      wqe.wqe[511:0] = r_odd_q ? bank_odd : bank_even;
      wqe.wqe[1023:512] = r_odd_q ? bank_even : bank_odd;
    end
  end
  assign wqe_valid = r_valid_q && r_emit_q && ev_room;
  assign r_go = r_valid_q && ev_room && (!r_emit_q || wqe_ready);
  assign ev_valid = r_go && (r_last_q || (r_first_q && r_emit_q));

  logic [2:0] unused_level;
  stream_fifo_small #(.W(46), .DEPTH(4), .LATENCY(0)) u_events (
      .clk_i,
      .rst_i,
      .in_valid (ev_valid),
      .in_ready (ev_room),
      .in_data  ({r_qpn_q, r_last_q, r_emit_q ? r_next : r_index_q, r_pushed_q}),
      .out_valid(fetch_done_valid),
      .out_ready(fetch_done_ready),
      .out_data ({fetch_done_qpn, fetch_done_last, fetch_done_next, fetch_done_pushed}),
      .level_o  (unused_level)
  );

  always_ff @(posedge clk_i) begin
    if (s0_take) begin
      r_valid_q <= 1'b1;
      r_emit_q <= emit;
      r_first_q <= j_pushed_q[sel] == '0;
      r_last_q <= over;
      r_odd_q <= blk[0];
      r_two_q <= two && !broken;
      r_link_q <= m_link && !broken;
      r_bad_q <= broken || m_bad;
      r_status_q <= rnic_desc_pkg::CQE_STATUS_LOC_QP_OP_ERR;
      if (m_len) r_status_q <= rnic_desc_pkg::CQE_STATUS_LOC_LEN_ERR;
      if (broken) r_status_q <= j_status_q[sel];
      r_qpn_q <= j_qpn_q[sel];
      r_index_q <= j_index_q[sel] + {11'd0, at};
      r_blocks_q <= here1 ? m_blocks : 7'd1;
      r_pushed_q <= j_pushed_q[sel] + {4'd0, emit};
      r_base_q <= j_base_q[sel];
      r_log_q <= j_log_q[sel];
    end else if (r_go) begin
      r_valid_q <= 1'b0;
    end
    if (rst_i) r_valid_q <= 1'b0;
  end

  // -- memories
  logic [RW-1:0] rd_row_even, rd_row_odd;
  assign rd_row_odd = RW'({sel, blk[KW-1:1]});
  assign rd_row_even = RW'({sel, blk[0] ? blk2[KW-1:1] : blk[KW-1:1]});
  for (genvar p = 0; p < 2; p++) begin : gen_bank
    localparam int unsigned L = (LANES == 2) ? p : 0;  // the lane that feeds this bank
    logic           hit;
    logic [RW-1:0]  wr_row;
    logic [511:0]   rd;
    logic [META_W-1:0] meta_mem[ROWS];
    logic [META_W-1:0] meta_rd;
    assign hit = a_lane[L] && a_unit[L*AW+SW] == p[0];
    assign wr_row = RW'({a_job, a_unit[L*AW+SW+1 +: KW-1]});
    always_ff @(posedge clk_i) begin
      if (hit && a_begins[L]) meta_mem[wr_row] <= a_meta[L*META_W +: META_W];
    end
    assign meta_rd = meta_mem[(p == 0) ? rd_row_even : rd_row_odd];
    for (genvar u = 0; u < UPB; u++) begin : gen_unit
      logic mine_u;
      if (UPB == 1) begin : gen_all
        assign mine_u = hit;
      end else begin : gen_some
        assign mine_u = hit && a_unit[L*AW +: UW] == UW'(u);
      end
      ram_sdp #(.W(U * 8), .DEPTH(ROWS)) u_ram (
          .clk_i,
          .wr_en_i  (mine_u),
          .wr_addr_i(wr_row),
          .wr_data_i(rdrsp_data[L*U*8 +: U*8]),
          .rd_en_i  (s0_take),
          .rd_addr_i((p == 0) ? rd_row_even : rd_row_odd),
          .rd_data_o(rd[u*U*8 +: U*8])
      );
    end
    if (p == 0) begin : gen_even
      assign bank_even = rd;
      assign meta_even = meta_rd;
    end else begin : gen_odd
      assign bank_odd = rd;
      assign meta_odd = meta_rd;
    end
  end

  // -- jobs, written last
  // Different events never meet at one job: a free job has nothing to come, one that starts has
  // nothing to decode.
  logic [4:0] past;
  assign past = at + ((m_blocks > 7'd16) ? 5'd16 : m_blocks[4:0]);
  always_ff @(posedge clk_i) begin
    if (accept) begin
      j_qpn_q[new_job] <= wqe_req_qpn;
      j_index_q[new_job] <= wqe_req_index;
      j_blocks_q[new_job] <= wqe_req_blocks[4:0];
      j_avail_q[new_job] <= wqe_req_avail;
      j_left_q[new_job] <= {wqe_req_blocks[4:0], 6'd0};
      j_at_q[new_job] <= '0;
      j_pushed_q[new_job] <= '0;
      j_here_q[new_job] <= '0;
      j_valid_q[new_job] <= 1'b1;
      j_over_q[new_job] <= 1'b0;
      j_none_q[new_job] <= 1'b0;
    end
    if (i_busy_q && wf_ctx_valid && !i_have_q) begin
      j_base_q[i_job_q] <= wf_ctx.sq_base;
      j_log_q[i_job_q] <= wf_ctx.log_sq;
    end
    if (i_gone) begin
      j_none_q[i_job_q] <= 1'b1;
      j_left_q[i_job_q] <= '0;
    end
    if (mine) begin
      j_left_q[a_job] <= j_left_q[a_job] - a_bytes;
      j_here_q[a_job] <= j_here_q[a_job] | a_here;
      if (rdrsp.err) j_status_q[a_job] <= rdrsp.status;
    end
    if (s0_take) begin
      j_at_q[sel] <= past;
      j_pushed_q[sel] <= j_pushed_q[sel] + {4'd0, emit};
      if (over) j_over_q[sel] <= 1'b1;
    end
    for (int j = 0; j < N_JOB; j++) begin
      if (j_valid_q[j] && j_over_q[j] && j_left_q[j] == '0) j_valid_q[j] <= 1'b0;
    end
    if (rst_i) j_valid_q <= '0;
  end
  `RNIC_ASSERT(never_too_much, !mine || (j_valid_q[a_job] && a_bytes <= j_left_q[a_job]))

  // -- counters and trace
  logic handed;
  assign handed = wqe_valid && wqe_ready;
  assign smp_valid_o = wqe_valid;
  assign smp_take_o = handed;
  assign smp_qpn_o = r_qpn_q;
  assign cnt_wqe_fetched_o = handed && !entry_bad;
  assign cnt_wqe_errors_o = handed && entry_bad;
  assign trc_valid_o = handed;
  assign trc_o = {rnic_pkg::TRC_WQE_READY, r_qpn_q, 16'd0, r_index_q};
  assign trc_sampled_o = wqe.sampled;

  logic unused;
  assign unused = ^{wf_ctx, rdrsp, wqe_req_blocks, unused_level, unused_gnt, link_off, bank_head};

  logic [RDREQ_W-1:0] rdreq_flat;
  assign rdreq_flat = rdreq;
  `RNIC_STREAM_HOLD(rdreq_valid, rdreq_ready, rdreq_flat)
  `RNIC_ASSERT(blocks_in_range, !accept || (wqe_req_blocks != '0 && wqe_req_blocks <= 7'(FB)))
  `RNIC_ASSERT(beat_has_whole_units, !a_data || (rdrsp.dst_off[$clog2(U)-1:0] == '0 &&
                                                 rdrsp.cnt[$clog2(U)-1:0] == '0))
endmodule
