// SPDX-License-Identifier: Apache-2.0
//
// Write side of dma_master: takes requests of five clients one after another, moves their data to
// the lanes of the address, cuts them into write TLPs and follows their responses.
//
// Latency: request and first data taken to awvalid and wvalid 2 cycles. Throughput: one request per
// cycle, one row of the bus per cycle. Order: requests are accepted round robin, and leave AXI in
// the order of acceptance. A request with fence is not accepted before all GPU and device_memory
// writes accepted before it was first offered have been answered; the other clients go on. Data of
// a refused request are swallowed. The ready of a request depends on the valid of the others
// (arbitration); all other readys depend on state only.
`include "rnic_assert.svh"

module dma_write #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DEVMEM_BYTES = 262144,
  parameter int unsigned N_WR = 128
) (
  input  logic                  clk_i,
  input  logic                  rst_i,
  input  logic [2:0]            cfg_mps_i,
  input  logic                  cfg_relaxed_i,
  input  logic                  gdr_en_i,
  input  logic [255:0]          gpu_base_i,
  input  logic [255:0]          gpu_limit_i,
  input  logic [63:0]           devmem_base_i,
  input  logic                  drain_i,
  output logic                  idle_o,

  input  logic [4:0]            req_valid,
  output logic [4:0]            req_ready,
  input  rnic_pkg::dma_wr_req_t req0,
  input  rnic_pkg::dma_wr_req_t req1,
  input  rnic_pkg::dma_wr_req_t req2,
  input  rnic_pkg::dma_wr_req_t req3,
  input  rnic_pkg::dma_wr_req_t req4,
  input  logic [4:0]            dat_valid,
  output logic [4:0]            dat_ready,
  input  logic [DATA_W-1:0]     dat0_data,
  input  logic [DATA_W-1:0]     dat1_data,
  input  logic [DATA_W-1:0]     dat2_data,
  input  logic [DATA_W-1:0]     dat3_data,
  input  logic [DATA_W-1:0]     dat4_data,
  input  logic [39:0]           dat_cnt,    // client c: [c*8 +: 8]
  input  logic [4:0]            dat_last,
  output logic                  fault_valid,
  input  logic                  fault_ready,
  output rnic_pkg::dma_fault_t  fault,

  output logic                  dm_wr_valid,
  input  logic                  dm_wr_ready,
  output logic [31:0]           dm_wr_row,
  output logic [DATA_W-1:0]     dm_wr_data,
  output logic [DATA_W/8-1:0]   dm_wr_strb,

  output logic                  m_axi_awvalid,
  input  logic                  m_axi_awready,
  output logic [7:0]            m_axi_awid,
  output logic [63:0]           m_axi_awaddr,
  output logic [7:0]            m_axi_awlen,
  output logic [31:0]           m_axi_awuser,
  output logic                  m_axi_wvalid,
  input  logic                  m_axi_wready,
  output logic [DATA_W-1:0]     m_axi_wdata,
  output logic [DATA_W/8-1:0]   m_axi_wstrb,
  output logic                  m_axi_wlast,
  input  logic                  m_axi_bvalid,
  output logic                  m_axi_bready,
  input  logic [7:0]            m_axi_bid,
  input  logic [1:0]            m_axi_bresp,

  output logic                  cnt_writes_o,
  output logic [15:0]           cnt_bytes_amount_o,
  output logic                  cnt_page_fault_o,
  output logic                  cnt_gdr_refused_o,

  // Requests to GPU and device_memory, accepted and answered, modulo 2^10.
  output logic [9:0]            gpu_accepted_o,
  output logic [9:0]            gpu_done_o,
  output logic [9:0]            dev_accepted_o,
  output logic [9:0]            dev_done_o,

  // The last row of a request is on the bus (a refused one: was swallowed); one pulse each, in the
  // order of acceptance: requests with ticket, with rd_ticket, and those of client 3.
  output logic                  placed_o,
  output logic                  rd_placed_o,
  output logic [4:0]            wr_placed_o,

  output logic                  trc_valid_o,
  output logic [63:0]           trc_o,
  output logic                  trc_sampled_o,
  output logic                  trc2_valid_o,
  output logic [63:0]           trc2_o,
  output logic                  trc2_sampled_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned FW = 10;     // far counters: more than all writes that can be in flight
  localparam logic [7:0] LOC_PROT_ERR = 8'h04;

  if (N_WR < 2 || N_WR > 256) begin : gen_check_n
    $error("dma_write: N_WR must be 2 to 256");
  end

  // A request that has been accepted.
  typedef struct packed {
    logic [2:0]  client;
    logic [63:0] addr;
    logic [12:0] len;
    logic [1:0]  target;
    logic [1:0]  gpu;
    logic        discard;  // no legal target: swallow the data, report
    logic        refused;  // because of gdr_en_i
    logic        relaxed;
    logic        is_queue;
    logic [23:0] qpn;
    logic [23:0] psn;
    logic        sampled;
    logic        ticket;
    logic        rd_ticket;
  } head_t;
  localparam int unsigned HW = 139;

  // ------------------------------------------------------------------------------------ acceptance
  logic [4:0]            fenced, fence_ok, acc_gnt;
  logic [2:0]            acc_idx;
  logic                  acc_any, acc_fire, hq_ready, head_valid, head_pop;
  logic                  acc_ok;
  logic [1:0]            acc_target, acc_gpu;
  rnic_pkg::dma_wr_req_t acc_req;
  head_t                 acc_head, head;
  logic [1:0]            hq_level;

  rr_select #(.N(5)) u_rr (
    .clk_i, .rst_i, .req_i(req_valid & (~fenced | fence_ok)), .advance_i(acc_fire), .gnt_o(acc_gnt),
    .idx_o(acc_idx), .any_o(acc_any));
  always_comb begin
    case (acc_idx)
      3'd0: acc_req = req0;
      3'd1: acc_req = req1;
      3'd2: acc_req = req2;
      3'd3: acc_req = req3;
      default: acc_req = req4;
    endcase
  end
  assign acc_fire = acc_any && hq_ready && !drain_i;
  assign req_ready = drain_i ? 5'h1F : hq_ready ? acc_gnt : 5'h0;

  dma_target #(.DEVMEM_BYTES(DEVMEM_BYTES)) u_target (
    .valid_i(acc_any), .addr_i(acc_req.addr), .len_i({19'd0, acc_req.len}), .gdr_en_i, .gpu_base_i,
    .gpu_limit_i, .devmem_base_i, .ok_o(acc_ok), .target_o(acc_target), .gpu_o(acc_gpu));

  logic acc_refused;
  assign acc_refused = acc_ok && acc_target == rnic_pkg::TGT_REFUSED;
  assign acc_head = {acc_idx, acc_req.addr, acc_req.len, acc_target, acc_gpu,
                     !acc_ok || acc_refused, acc_refused,
                     acc_req.relaxed && cfg_relaxed_i && !acc_req.is_queue, acc_req.is_queue,
                     acc_req.qpn, acc_req.psn, acc_req.sampled, acc_req.ticket,
                     acc_req.rd_ticket};

  stream_fifo_small #(.W(HW), .DEPTH(2)) u_heads (
    .clk_i, .rst_i, .in_valid(acc_fire), .in_ready(hq_ready), .in_data(acc_head),
    .out_valid(head_valid), .out_ready(head_pop), .out_data(head), .level_o(hq_level));

  // Fence: requests to GPU and device_memory are counted when accepted and when answered; a fenced
  // request remembers how far acceptance was.
  logic [FW-1:0] gpu_acc_q, gpu_done_q, dev_acc_q, dev_done_q, gpu_acc_d, dev_acc_d;
  logic          gpu_done, dev_done, far_none;
  assign gpu_acc_d = gpu_acc_q + FW'(acc_fire && acc_ok && acc_target == rnic_pkg::TGT_GPU);
  assign dev_acc_d = dev_acc_q + FW'(acc_fire && acc_ok && acc_target == rnic_pkg::TGT_DEVICE);
  assign gpu_accepted_o = gpu_acc_q;
  assign gpu_done_o = gpu_done_q;
  assign dev_accepted_o = dev_acc_q;
  assign dev_done_o = dev_done_q;
  assign far_none = gpu_acc_q == gpu_done_q && dev_acc_q == dev_done_q;

  assign fenced = {req4.fence, req3.fence, req2.fence, req1.fence, req0.fence};
  for (genvar c = 0; c < 5; c++) begin : gen_fence
    logic          snap_q;
    logic [FW-1:0] gpu_snap_q, dev_snap_q, gpu_ahead, dev_ahead;
    assign gpu_ahead = gpu_done_q - gpu_snap_q;
    assign dev_ahead = dev_done_q - dev_snap_q;
    assign fence_ok[c] = far_none || (snap_q && !gpu_ahead[FW-1] && !dev_ahead[FW-1]);
    always_ff @(posedge clk_i) begin
      if (req_valid[c] && fenced[c] && !snap_q) begin
        gpu_snap_q <= gpu_acc_d;
        dev_snap_q <= dev_acc_d;
      end
      snap_q <= req_valid[c] && fenced[c] && !req_ready[c];
      if (rst_i) snap_q <= 1'b0;
    end
  end
  `RNIC_ASSERT(len_legal, !acc_fire || (acc_req.len >= 13'd1 && acc_req.len <= 13'd4096))

  // ------------------------------------------------------------------------------------------ rows
  // MPS counts from the first row of a request to its last.
  logic [2:0]  mps_q;
  logic [11:0] mask;
  assign mask = 12'((13'd128 << mps_q) - 13'd1);
  always_ff @(posedge clk_i) begin
    if (rst_i || !head_valid) mps_q <= (cfg_mps_i > 3'd5) ? 3'd5 : cfg_mps_i;
  end

  logic [8:0]      row_q;          // row of the request; a discarded one counts source beats
  logic [LB-1:0]   lane;           // of its first byte
  logic [12:0]     done, left, room, tlp_room, tlp_bytes;
  logic [LB-1:0]   lo;
  logic [7:0]      cnt;
  logic [11:0]     row_off, tlp_off;   // in the 4 KB page
  logic [63:LB]    row_addr;
  logic            last_row, need_src, tlp_first, tlp_last, on_bus;
  logic [12:0]     tlp_end;
  always_comb begin
    lane = head.discard ? '0 : head.addr[LB-1:0];
    lo = (row_q == 9'd0) ? lane : '0;
    done = (row_q == 9'd0) ? 13'd0 : 13'({row_q, {LB{1'b0}}}) - 13'(lane);
    left = head.len - done;
    room = 13'(B) - 13'(lo);
    last_row = left <= room;
    cnt = last_row ? 8'(left) : 8'(room);
    need_src = 14'({row_q, {LB{1'b0}}}) < {1'b0, head.len};
    row_addr = head.addr[63:LB] + (64-LB)'(row_q);
    row_off = {row_addr[11:LB], {LB{1'b0}}};
    tlp_off = row_off | 12'(lo);
    on_bus = !head.discard && head.target != rnic_pkg::TGT_DEVICE;
    tlp_first = row_q == 9'd0 || (row_off & mask) == 12'd0;
    tlp_room = {1'b0, mask} + 13'd1 - {1'b0, tlp_off & mask};
    tlp_bytes = (left < tlp_room) ? left : tlp_room;
    tlp_last = last_row || ((row_off + 12'(B)) & mask) == 12'd0;
    tlp_end = 13'(lo) + tlp_bytes - 13'd1;
  end

  logic [4:0] head_client;
  logic       head_dat_valid, aw_ready, bq_ready, out_ready, report_ready;
  logic       can_step, step, drop, fill_q;
  logic [7:0] fill_cnt_q;
  assign head_client = 5'd1 << head.client;
  assign head_dat_valid = (dat_valid & head_client) != 5'd0;

  // A discarded request ends when the rows before it are out, so that placed_o counts in order.
  // Drain: whole TLPs that have begun are finished; if their data do not come for 256 cycles, with
  // empty strobes.
  assign drop = drain_i && head_valid && (!on_bus || tlp_first);
  assign can_step = head_valid && !drop && (head.discard || out_ready) &&
                    (!on_bus || !tlp_first || (aw_ready && bq_ready)) &&
                    (!(head.discard && last_row) || (report_ready && !out_valid_q));
  assign step = can_step && (!need_src || head_dat_valid || fill_q);
  assign head_pop = (step && last_row) || drop;
  assign dat_ready = ({5{can_step && need_src && !fill_q}} & head_client) |
                     ({5{drain_i}} & ~({5{head_valid && !drop && !fill_q}} & head_client));

  always_ff @(posedge clk_i) begin
    if (head_pop) row_q <= 9'd0;
    else if (step) row_q <= row_q + 9'd1;
    if (!drain_i || head_pop) begin
      fill_q <= 1'b0;
      fill_cnt_q <= 8'd0;
    end else if (can_step && need_src && !head_dat_valid) begin
      fill_cnt_q <= fill_cnt_q + 8'd1;
      if (fill_cnt_q == 8'hFF) fill_q <= 1'b1;
    end else begin
      fill_cnt_q <= 8'd0;
    end
    if (rst_i) begin
      row_q <= 9'd0;
      fill_q <= 1'b0;
      fill_cnt_q <= 8'd0;
    end
  end

  // Lanes: a row takes the low bytes of this source beat above the lane, and the rest of the one
  // before below it.
  logic [DATA_W-1:0] src, prev_q;
  always_comb begin
    case (head.client)
      3'd0: src = dat0_data;
      3'd1: src = dat1_data;
      3'd2: src = dat2_data;
      3'd3: src = dat3_data;
      default: src = dat4_data;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (step && need_src && lane != '0) prev_q <= src;
  end

  // ----------------------------------------------------------------------------------- output rows
  // Two entries, so that out_ready depends on state only; as skid_buffer, but the shift stands
  // inside the process, so that the simulator does it only when a row comes.
  typedef struct packed {
    logic         dev;
    logic         first;     // row of the request
    logic         last;
    logic         wlast;
    logic         ticket;
    logic         rd_ticket;
    logic [2:0]   client;
    logic         is_queue;
    logic         sampled;
    logic [23:0]  qpn;
    logic [23:0]  psn;
    logic [31:0]  row;       // device_memory
    logic [B-1:0] strb;
  } row_t;
  row_t              new_row, out_q, skid_q;
  logic [DATA_W-1:0] out_data_q, skid_data_q;
  logic              out_valid_q, skid_valid_q, out_take, out_free, new_valid;

  logic [B-1:0] row_strb;
  logic [31:0]  dev_row;
  always_comb begin
    row_strb = '0;
    dev_row = 32'd0;
    new_row = '0;
    if (step) begin
      if (!fill_q) row_strb = ({B{1'b1}} >> (8'(B) - cnt)) << lo;
      dev_row = 32'(({row_addr, {LB{1'b0}}} & (64'(DEVMEM_BYTES) - 64'd1)) >> LB);
      new_row = {!on_bus, row_q == 9'd0, last_row, tlp_last, head.ticket,
                 head.rd_ticket, head.client, head.is_queue, head.sampled, head.qpn, head.psn,
                 dev_row, row_strb};
    end
  end

  logic [LB:0] lane_up;
  assign lane_up = (LB + 1)'(B) - {1'b0, lane};
  assign new_valid = step && !head.discard;
  assign out_ready = !skid_valid_q;
  assign out_take = out_valid_q && (out_q.dev ? dm_wr_ready : m_axi_wready);
  assign out_free = !out_valid_q || out_take;
  logic to_out, to_skid;
  assign to_out = new_valid && out_free;      // out_ready: the skid entry is empty
  assign to_skid = new_valid && !out_free;
  always_ff @(posedge clk_i) begin
    if (out_free) begin
      out_valid_q <= skid_valid_q || new_valid;
      skid_valid_q <= 1'b0;
      if (skid_valid_q) begin
        out_q <= skid_q;
        out_data_q <= skid_data_q;
      end else if (new_valid) begin
        out_q <= new_row;
      end
    end
    if (to_skid) begin
      skid_valid_q <= 1'b1;
      skid_q <= new_row;
    end
    // Separate conditions, so that the simulator shifts only what is shifted.
    if (to_out && lane == '0) out_data_q <= src;
    if (to_out && lane != '0) out_data_q <= DATA_W'({src, prev_q} >> {lane_up, 3'b000});
    if (to_skid && lane == '0) skid_data_q <= src;
    if (to_skid && lane != '0) skid_data_q <= DATA_W'({src, prev_q} >> {lane_up, 3'b000});
    if (rst_i) begin
      out_valid_q <= 1'b0;
      skid_valid_q <= 1'b0;
    end
  end

  assign m_axi_wvalid = out_valid_q && !out_q.dev;
  assign m_axi_wdata = out_data_q;
  assign m_axi_wstrb = out_q.strb;
  assign m_axi_wlast = out_q.wlast;
  assign dm_wr_valid = out_valid_q && out_q.dev;
  assign dm_wr_row = out_q.row;
  assign dm_wr_data = out_data_q;
  assign dm_wr_strb = out_q.strb;
  assign dev_done = out_take && out_q.dev && out_q.last;

  // -------------------------------------------------------------------------- addresses, responses
  logic       aw_fire, to_gpu;
  logic [7:0] aw_len;
  logic [31:0] aw_user;
  logic [1:0] aw_level;
  assign to_gpu = head.target == rnic_pkg::TGT_GPU;
  assign aw_len = 8'(tlp_end >> LB);
  assign aw_user = {12'd0, head.relaxed, 2'd0, head.gpu, head.target, tlp_bytes};
  assign aw_fire = step && on_bus && tlp_first;
  stream_fifo_small #(.W(112), .DEPTH(2)) u_aw (
    .clk_i, .rst_i, .in_valid(aw_fire), .in_ready(aw_ready),
    .in_data(aw_fire ? {7'd0, to_gpu, row_addr, lo, aw_len, aw_user} : 112'd0),
    .out_valid(m_axi_awvalid), .out_ready(m_axi_awready),
    .out_data({m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awuser}), .level_o(aw_level));

  // Whom each response concerns: one queue per AXI id, as responses of one id come in order.
  logic [25:0] bq_in, bh_data, bg_data, b_data;
  logic        bh_ready, bg_ready, bh_valid, bg_valid, b_fire, b_gpu, fq_ready;
  logic [$clog2(N_WR+1)-1:0] bh_level, bg_level;
  assign bq_in = {tlp_bytes == left, head.is_queue, head.qpn};
  assign bq_ready = to_gpu ? bg_ready : bh_ready;
  stream_fifo #(.W(26), .DEPTH(N_WR), .OUT_REG(0)) u_b_host (
    .clk_i, .rst_i, .in_valid(aw_fire && !to_gpu), .in_ready(bh_ready), .in_data(bq_in),
    .out_valid(bh_valid), .out_ready(b_fire && !b_gpu), .out_data(bh_data), .level_o(bh_level));
  stream_fifo #(.W(26), .DEPTH(N_WR), .OUT_REG(0)) u_b_gpu (
    .clk_i, .rst_i, .in_valid(aw_fire && to_gpu), .in_ready(bg_ready), .in_data(bq_in),
    .out_valid(bg_valid), .out_ready(b_fire && b_gpu), .out_data(bg_data), .level_o(bg_level));
  assign b_gpu = m_axi_bid[0];
  assign m_axi_bready = fq_ready || drain_i;
  assign b_fire = m_axi_bvalid && m_axi_bready;
  assign b_data = b_gpu ? bg_data : bh_data;
  assign gpu_done = b_fire && b_gpu && b_data[25];

  always_ff @(posedge clk_i) begin
    gpu_acc_q <= gpu_acc_d;
    dev_acc_q <= dev_acc_d;
    if (gpu_done) gpu_done_q <= gpu_done_q + 1'b1;
    if (dev_done) dev_done_q <= dev_done_q + 1'b1;
    if (rst_i) begin
      gpu_acc_q <= '0;
      gpu_done_q <= '0;
      dev_acc_q <= '0;
      dev_done_q <= '0;
    end
  end

  // ---------------------------------------------------------------------------------------- faults
  // Error responses first; a refused request waits one step behind. A fault that only repeats the
  // last one in the queue is left out.
  logic        rep_valid_q, rep_refused_q, rep_take, b_bad, fq_push, same, fq_valid;
  logic [24:0] rep_q, fq_who, last_who_q;
  logic [32:0] fq_out;
  logic [4:0]  fq_level;
  assign report_ready = !rep_valid_q;
  assign b_bad = b_fire && m_axi_bresp[1];
  assign rep_take = rep_valid_q && !b_bad && fq_ready;
  assign fq_who = b_bad ? b_data[24:0] : rep_q;
  assign same = fq_who == last_who_q && fq_level > 5'(fq_valid && fault_ready);
  assign fq_push = (b_bad || rep_take) && !same && !drain_i;
  stream_fifo #(.W(33), .DEPTH(16), .OUT_REG(0)) u_faults (
    .clk_i, .rst_i, .in_valid(fq_push), .in_ready(fq_ready), .in_data({fq_who, LOC_PROT_ERR}),
    .out_valid(fq_valid), .out_ready(fault_ready), .out_data(fq_out), .level_o(fq_level));
  assign fault_valid = fq_valid;
  assign fault = fq_out;

  always_ff @(posedge clk_i) begin
    if (fq_push) last_who_q <= fq_who;
    if (step && head.discard && last_row) begin
      rep_valid_q <= 1'b1;
      rep_refused_q <= head.refused;
      rep_q <= {head.is_queue, head.qpn};
    end else if (rep_take) begin
      rep_valid_q <= 1'b0;
    end
    cnt_writes_o <= aw_fire;
    cnt_bytes_amount_o <= aw_fire ? {3'd0, tlp_bytes} : 16'd0;
    cnt_page_fault_o <= b_bad || (rep_take && !rep_refused_q);
    cnt_gdr_refused_o <= rep_take && rep_refused_q;
    if (rst_i) begin
      rep_valid_q <= 1'b0;
      cnt_writes_o <= 1'b0;
      cnt_bytes_amount_o <= 16'd0;
      cnt_page_fault_o <= 1'b0;
      cnt_gdr_refused_o <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------- placed
  logic gone;   // a discarded request in this cycle
  assign gone = step && head.discard && last_row;
  pulse_merge #(.N(2)) u_placed (
    .clk_i, .rst_i,
    .pulse_i({out_take && out_q.last && out_q.ticket, gone && head.ticket}), .pulse_o(placed_o));
  pulse_merge #(.N(2)) u_rd_placed (
    .clk_i, .rst_i,
    .pulse_i({out_take && out_q.last && out_q.rd_ticket, gone && head.rd_ticket}),
    .pulse_o(rd_placed_o));
  for (genvar c = 0; c < 5; c++) begin : gen_wr_placed
    pulse_merge #(.N(2)) u_wr_placed (
      .clk_i, .rst_i,
      .pulse_i({out_take && out_q.last && out_q.client == 3'(c), gone && head.client == 3'(c)}),
      .pulse_o(wr_placed_o[c]));
  end

  // ----------------------------------------------------------------------------------------- trace
  logic is_cqe;
  assign is_cqe = out_q.client == 3'd1;
  always_ff @(posedge clk_i) begin
    trc_valid_o <= out_take && ((out_q.first && !out_q.is_queue) || (out_q.last && is_cqe));
    trc2_valid_o <= out_take && out_q.last && !out_q.is_queue && !is_cqe;
    if (out_take) begin
      trc_o <= {is_cqe ? rnic_pkg::TRC_CQE_WR : rnic_pkg::TRC_DMA_WR_FIRST, out_q.qpn, 8'd0,
                is_cqe ? 24'd0 : out_q.psn};
      trc_sampled_o <= out_q.sampled;
      trc2_o <= {rnic_pkg::TRC_DMA_WR_LAST, out_q.qpn, 8'd0, out_q.psn};
      trc2_sampled_o <= out_q.sampled;
    end
    if (rst_i) begin
      trc_valid_o <= 1'b0;
      trc2_valid_o <= 1'b0;
    end
  end

  assign idle_o = hq_level == 2'd0 && aw_level == 2'd0 && !out_valid_q && bh_level == '0 &&
                  bg_level == '0;

  logic unused;
  assign unused = ^{m_axi_bresp[0], m_axi_bid[7:1], acc_req.fence};

  logic [7:0] head_dat_cnt;
  logic       head_dat_last, src_last;
  assign head_dat_cnt = dat_cnt[head.client*8 +: 8];
  assign head_dat_last = dat_last[head.client];
  assign src_last = 14'({row_q, {LB{1'b0}}}) + 14'(B) >= {1'b0, head.len};
  `RNIC_ASSERT(data_last, !(step && need_src && !fill_q) || head_dat_last == src_last)
  `RNIC_ASSERT(data_cnt, !(step && need_src && !fill_q) ||
               14'(head_dat_cnt) == (src_last ? {1'b0, head.len} - 14'({row_q, {LB{1'b0}}}) :
                   14'(B)))
  `RNIC_ASSERT(response_expected, !b_fire || (b_gpu ? bg_valid : bh_valid))
  `RNIC_ASSERT(skid_behind_out, !(skid_valid_q && !out_valid_q))
  `RNIC_STREAM_HOLD(m_axi_awvalid, m_axi_awready, {m_axi_awid, m_axi_awaddr, m_axi_awlen,
      m_axi_awuser})
  `RNIC_STREAM_HOLD(m_axi_wvalid, m_axi_wready, {m_axi_wlast, m_axi_wstrb, m_axi_wdata})
  `RNIC_STREAM_HOLD(dm_wr_valid, dm_wr_ready, {dm_wr_row, dm_wr_strb, dm_wr_data})
endmodule
