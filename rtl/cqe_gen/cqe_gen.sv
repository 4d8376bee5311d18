// SPDX-License-Identifier: Apache-2.0
// Completion queues: writes a CQE for each request into the ring of its CQ, with the owner bit,
// keeps the indices, detects overrun, and announces armed queues to event_queue.
// Throughput: one CQE per 2 cycles (DATA_W 128: 3). Latency: 2 cycles from request to wrreq. Order:
// per request stream; a CQE leaves behind the data that rx_placer handed to dma_master before it.
// Lost and counted: a CQE for a full or missing CQ (cq_overrun); its QP is asked to fail, and a
// full CQ raises one CQ_OVERRUN event until it is read again.
`include "rnic_assert.svh"
module cqe_gen #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_CQ = 64
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    output logic                  init_done_o,
    input  logic [63:0]           timestamp_i,
    // requests: 0 rx_placer, 1 rx_completer
    input  logic                  rq0_valid,
    output logic                  rq0_ready,
    input  rnic_pkg::cqe_req_t    rq0,
    input  logic                  rq1_valid,
    output logic                  rq1_ready,
    input  rnic_pkg::cqe_req_t    rq1,
    // consumer indices
    input  logic                  cqdb_valid,
    output logic                  cqdb_ready,
    input  logic [15:0]           cqdb_cqn,
    input  logic [15:0]           cqdb_index,
    input  logic                  cqdb_arm,
    input  logic                  cqdb_arm_sol,
    // cmd_unit: create or destroy (always taken), query
    input  logic                  cw_valid,
    input  logic [15:0]           cw_index,
    input  rnic_pkg::cq_entry_t   cw,
    input  logic                  cr_valid,
    input  logic [15:0]           cr_index,
    output logic                  cr_rsp_valid,
    output rnic_pkg::cq_entry_t   cr,
    output logic [15:0]           cr_prod,
    output logic [15:0]           cr_cons,
    // to dma_master
    output logic                  wrreq_valid,
    input  logic                  wrreq_ready,
    output rnic_pkg::dma_wr_req_t wrreq,
    output logic                  wrdat_valid,
    input  logic                  wrdat_ready,
    output logic [DATA_W-1:0]     wrdat_data,
    output logic [7:0]            wrdat_cnt,
    output logic                  wrdat_last,
    // to event_queue
    output logic                  event_valid,
    input  logic                  event_ready,
    output rnic_pkg::event_t      event_o,
    output logic                  fail_valid,
    input  logic                  fail_ready,
    output rnic_pkg::qp_fail_t    fail,
    output logic                  cnt_cqe_written_o,
    output logic                  cnt_cq_overrun_o,
    output logic                  cnt_doorbell_refused_o,
    output logic                  trc_valid_o,
    output logic [63:0]           trc_o,
    output logic                  trc_sampled_o
);
  localparam int unsigned AW = (N_CQ > 1) ? $clog2(N_CQ) : 1;
  localparam int unsigned CTX_W = $bits(cw);
  localparam int unsigned BEATS = (DATA_W >= 256) ? 1 : 256 / DATA_W;

  // PICK chooses and looks up, FORM decides; a CQE then stands in the output registers while PICK
  // goes on.
  typedef enum logic [1:0] {PICK, FORM, DOORBELL, TELL} state_e;
  state_e state_q, state_d;

  // -- memories
  logic [AW:0] clear_q;
  logic clearing;
  assign clearing = clear_q < (AW + 1)'(N_CQ);
  assign init_done_o = !clearing;

  logic [CTX_W-1:0] ctx_mem[N_CQ];
  logic [CTX_W-1:0] ctx_query_mem[N_CQ];
  logic [15:0] prod_mem[N_CQ];
  logic [15:0] cons_mem[N_CQ];
  logic [15:0] prod_query_mem[N_CQ];
  logic [15:0] cons_query_mem[N_CQ];
  logic [N_CQ-1:0] arm_q, arm_sol_q, overrun_q;

  logic cw_known, cw_we, prod_we, cons_we;
  logic [AW-1:0] ctx_waddr, prod_waddr, cons_waddr;
  logic [CTX_W-1:0] ctx_wdata;
  logic [15:0] prod_wdata, cons_wdata;
  assign cw_known = cw_index < 16'(N_CQ);
  assign cw_we = cw_valid && cw_known;
  assign ctx_waddr = clearing ? clear_q[AW-1:0] : cw_index[AW-1:0];
  assign ctx_wdata = clearing ? '0 : cw;

  // -- taking work
  logic [1:0] req_valid, gnt;
  logic gnt_idx;
  logic req_any, take_db, take_req, look;
  rnic_pkg::cqe_req_t pick_req, r_q;
  logic [15:0] look_cqn, cqn_q;
  assign req_valid = {rq1_valid, rq0_valid};
  rr_select #(
      .N(2)
  ) u_select (
      .clk_i,
      .rst_i,
      .req_i(req_valid),
      .advance_i(take_req),
      .gnt_o(gnt),
      .idx_o(gnt_idx),
      .any_o(req_any)
  );
  assign pick_req = gnt[0] ? rq0 : rq1;
  // A create writes the same memories, so nothing is picked beside it.
  assign take_db = state_q == PICK && init_done_o && cqdb_valid && !cw_valid;
  assign take_req = state_q == PICK && init_done_o && req_any && !cqdb_valid && !cw_valid;
  assign cqdb_ready = take_db;
  assign {rq1_ready, rq0_ready} = take_req ? gnt : 2'b00;
  assign look = take_db || take_req;
  assign look_cqn = take_db ? cqdb_cqn : pick_req.cqn;

  logic [CTX_W-1:0] ctx_rd_q;
  logic [15:0] prod_q, cons_q, db_index_q;
  logic known_q, db_arm_q, db_sol_q;
  logic [AW-1:0] idx, look_idx;
  assign idx = cqn_q[AW-1:0];
  assign look_idx = look_cqn[AW-1:0];
  always_ff @(posedge clk_i) begin
    if (clearing || cw_we) begin
      ctx_mem[ctx_waddr] <= ctx_wdata;
      ctx_query_mem[ctx_waddr] <= ctx_wdata;
    end
    if (prod_we) begin
      prod_mem[prod_waddr] <= prod_wdata;
      prod_query_mem[prod_waddr] <= prod_wdata;
    end
    if (cons_we) begin
      cons_mem[cons_waddr] <= cons_wdata;
      cons_query_mem[cons_waddr] <= cons_wdata;
    end
    if (look) begin
      ctx_rd_q <= ctx_mem[look_idx];
      prod_q <= prod_mem[look_idx];
      cons_q <= cons_mem[look_idx];
      known_q <= look_cqn < 16'(N_CQ);
      cqn_q <= look_cqn;
    end
    // A create or destroy while a CQE waits for the bus: what was read is old.
    if (cw_we && !look && idx == cw_index[AW-1:0] && known_q) begin
      ctx_rd_q <= cw;
      prod_q <= '0;
      cons_q <= '0;
    end
    if (take_req) r_q <= pick_req;
    if (take_db) begin
      db_index_q <= cqdb_index;
      db_arm_q <= cqdb_arm;
      db_sol_q <= cqdb_arm_sol;
    end
    if (clearing) clear_q <= clear_q + 1'b1;
    if (rst_i) clear_q <= '0;
  end

  // -- FORM
  rnic_pkg::cq_entry_t ctx;
  assign ctx = ctx_rd_q;
  logic exists, full, out_free, write_it, lose_it;
  logic [15:0] size, used, slot;
  assign exists = known_q && ctx.valid;
  assign size = 16'd1 << ctx.log_size;
  assign used = prod_q - cons_q;
  assign slot = prod_q & (size - 16'd1);
  assign full = used >= size;
  // A create in the same cycle has the memories' write port.
  assign write_it = state_q == FORM && exists && !full && out_free && !cw_valid;
  assign lose_it = state_q == FORM && (!exists || full) && !cw_valid;

  rnic_desc_pkg::cqe_t entry;
  logic [15:0] pass;
  assign pass = prod_q >> ctx.log_size;
  always_comb begin
    entry = '0;
    entry.opcode = r_q.opcode;
    entry.status = r_q.status;
    entry.wqe_index = r_q.wqe_index;
    entry.qpn = r_q.qpn;
    entry.ipv6 = r_q.ipv6;
    entry.grh = r_q.grh;
    entry.imm_valid = r_q.imm_valid;
    entry.byte_count = r_q.byte_count;
    entry.imm = r_q.imm;
    entry.timestamp = timestamp_i;
    entry.src_qpn = r_q.src_qpn;
    entry.syndrome = r_q.syndrome;
    entry.owner = !pass[0];
  end

  // -- arm, events
  logic is_error, solicits, announce, db_ok, db_go, db_now, first_overrun;
  logic [15:0] db_step, db_room;
  assign is_error = r_q.status != rnic_desc_pkg::CQE_STATUS_SUCCESS;
  assign solicits = r_q.solicited || is_error;
  assign announce = write_it && (arm_q[idx] || (arm_sol_q[idx] && solicits));
  assign db_step = db_index_q - cons_q;
  assign db_room = prod_q - cons_q;
  assign db_ok = exists && db_step <= db_room;
  // Completions that software has not seen when it arms announce the queue at once.
  assign db_go = state_q == DOORBELL && db_ok && !cw_valid;
  assign db_now = db_go && (db_arm_q || db_sol_q) && prod_q != db_index_q;
  assign first_overrun = lose_it && exists && !overrun_q[idx];

  rnic_pkg::event_t told_q;
  logic fail_q, tell_q;
  assign prod_we = clearing || cw_we || write_it;
  assign prod_waddr = clearing ? clear_q[AW-1:0] : cw_we ? cw_index[AW-1:0] : idx;
  assign prod_wdata = (clearing || cw_we) ? '0 : prod_q + 16'd1;
  assign cons_we = clearing || cw_we || db_go;
  assign cons_waddr = prod_waddr;
  assign cons_wdata = (clearing || cw_we) ? '0 : db_index_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      PICK: if (take_db) state_d = DOORBELL; else if (take_req) state_d = FORM;
      FORM: if (lose_it || announce) state_d = TELL; else if (write_it) state_d = PICK;
      DOORBELL: if (!cw_valid) state_d = db_now ? TELL : PICK;
      TELL: if ((!tell_q || (event_valid && event_ready)) && (!fail_q || fail_ready)) state_d =
          PICK;
      default: state_d = PICK;
    endcase
  end
  // An event leaves only when the CQE that it announces is on its way.
  assign event_valid = state_q == TELL && tell_q && out_free;
  assign event_o = told_q;
  assign fail_valid = state_q == TELL && fail_q;
  assign fail.qpn = r_q.qpn;
  assign fail.cause = rnic_desc_pkg::CQE_STATUS_FATAL_ERR;
  assign fail.event_type = rnic_desc_pkg::EQE_TYPE_QP_FATAL;

  // -- output registers
  logic req_out_q, dat_out_q, fence_q;
  logic [255:0] entry_q;
  logic [63:0] addr_q;
  logic [23:0] qpn_q;
  logic sampled_q;
  logic [1:0] beat_q;
  assign out_free = !req_out_q && !dat_out_q;
  assign wrreq_valid = req_out_q;
  always_comb begin
    wrreq = '0;
    wrreq.addr = addr_q;
    wrreq.len = 13'd32;
    wrreq.fence = fence_q;
    wrreq.qpn = qpn_q;
    wrreq.is_queue = 1'b1;
    wrreq.sampled = sampled_q;
  end
  assign wrdat_valid = dat_out_q;
  assign wrdat_last = beat_q == 2'(BEATS - 1);
  assign wrdat_cnt = 8'(256 / BEATS / 8);
  if (DATA_W >= 256) begin : gen_wide
    assign wrdat_data = DATA_W'(entry_q);
  end else begin : gen_narrow
    assign wrdat_data = beat_q[0] ? entry_q[255:128] : entry_q[127:0];
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (wrreq_ready) req_out_q <= 1'b0;
    if (dat_out_q && wrdat_ready) begin
      beat_q <= beat_q + 2'd1;
      if (wrdat_last) dat_out_q <= 1'b0;
    end
    if (write_it) begin
      req_out_q <= 1'b1;
      dat_out_q <= 1'b1;
      beat_q <= 2'd0;
      entry_q <= entry;
      addr_q <= ctx.base + {43'd0, slot, 5'd0};
      qpn_q <= r_q.qpn;
      fence_q <= r_q.fence;
      sampled_q <= r_q.sampled;
    end

    if (announce) begin
      arm_q[idx] <= 1'b0;
      arm_sol_q[idx] <= 1'b0;
      overrun_q[idx] <= 1'b0;
    end
    if (state_q == FORM && (lose_it || announce)) begin
      tell_q <= announce || first_overrun;
      fail_q <= lose_it;
      told_q.eqn <= ctx.eqn;
      told_q.etype <= lose_it ? rnic_desc_pkg::EQE_TYPE_CQ_OVERRUN :
          rnic_desc_pkg::EQE_TYPE_COMPLETION;
      told_q.code <= 8'd0;
      told_q.number <= {8'd0, cqn_q};
      if (first_overrun) overrun_q[idx] <= 1'b1;
    end
    if (db_go) begin
      arm_q[idx] <= (arm_q[idx] || db_arm_q) && !db_now;
      arm_sol_q[idx] <= (arm_sol_q[idx] || db_sol_q) && !db_now;
      overrun_q[idx] <= 1'b0;
      if (db_now) begin
        tell_q <= 1'b1;
        fail_q <= 1'b0;
        told_q.eqn <= ctx.eqn;
        told_q.etype <= rnic_desc_pkg::EQE_TYPE_COMPLETION;
        told_q.code <= 8'd0;
        told_q.number <= {8'd0, cqn_q};
      end
    end
    if (cw_we) begin
      arm_q[cw_index[AW-1:0]] <= 1'b0;
      arm_sol_q[cw_index[AW-1:0]] <= 1'b0;
      overrun_q[cw_index[AW-1:0]] <= 1'b0;
    end
    if (state_q == TELL) begin
      if (event_valid && event_ready) tell_q <= 1'b0;
      if (fail_ready) fail_q <= 1'b0;
    end

    cnt_cqe_written_o <= write_it;
    cnt_cq_overrun_o <= lose_it;
    cnt_doorbell_refused_o <= state_q == DOORBELL && !db_ok && !cw_valid;
    if (rst_i) begin
      state_q <= PICK;
      req_out_q <= 1'b0;
      dat_out_q <= 1'b0;
      arm_q <= '0;
      arm_sol_q <= '0;
      overrun_q <= '0;
      cnt_cqe_written_o <= 1'b0;
      cnt_cq_overrun_o <= 1'b0;
      cnt_doorbell_refused_o <= 1'b0;
    end
  end

  // -- query
  always_ff @(posedge clk_i) begin
    cr_rsp_valid <= cr_valid;
    if (cr_valid) begin
      cr <= (cr_index < 16'(N_CQ)) ? ctx_query_mem[cr_index[AW-1:0]] : '0;
      cr_prod <= prod_query_mem[cr_index[AW-1:0]];
      cr_cons <= cons_query_mem[cr_index[AW-1:0]];
    end
    if (rst_i) cr_rsp_valid <= 1'b0;
  end

  assign trc_valid_o = take_req;
  assign trc_o = {rnic_pkg::TRC_CQE_REQ, pick_req.qpn, 16'd0, pick_req.wqe_index};
  assign trc_sampled_o = pick_req.sampled;

  logic unused;
  assign unused = ^{gnt_idx, pass, r_q};

  `RNIC_STREAM_HOLD(wrreq_valid, wrreq_ready, wrreq)
  `RNIC_STREAM_HOLD(wrdat_valid, wrdat_ready, {wrdat_data, wrdat_cnt, wrdat_last})
  `RNIC_STREAM_HOLD(event_valid, event_ready, event_o)
  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
  `RNIC_ASSERT(never_more_than_the_ring, !write_it || used < size)
endmodule
