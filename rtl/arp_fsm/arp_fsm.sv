// SPDX-License-Identifier: Apache-2.0
//
// AllReduce in the NIC: groups of ranks whose packets are summed in on-chip slots and sent on
// around a ring, or summed from all ranks at once, without the host.
//
// Payload: one beat per cycle (16-bit elements summed in FP32: one per two). A packet is judged in
// 2 cycles, one per 3. Packets of a slot are added in the order in which they come. What is not
// accepted is told to rx_responder (ANS_*) and leaves no trace here.
`include "rnic_assert.svh"

module arp_fsm #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_GROUP = 4,
  parameter int unsigned N_SLOT = 16,   // per group, of 4096 bytes
  parameter int unsigned N_STAGE = 64,  // staging buffers per group, in device_memory
  parameter int unsigned N_RING = 64,   // blocks of a group's send ring, in device_memory
  parameter int unsigned LD_ROWS = 256  // rows of local data on their way
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic                    tick_us_i,    // a pulse per microsecond

  // Commands; the status (cmd_status) follows one cycle after a command was taken.
  input  logic                    cmd_valid,
  output logic                    cmd_ready,
  input  arp_pkg::cmd_t           cmd,
  output logic                    cmd_done_o,
  output logic [7:0]              cmd_status_o,
  output arp_pkg::report_t        cmd_report_o, // beside it: of the group of the command

  // rx_responder: what becomes of a packet; rx_placer: payload of accepted ones, in that order.
  input  logic                    ask_valid,
  output logic                    ask_ready,
  input  arp_pkg::ask_t           ask,
  output logic                    ans_valid,
  input  logic                    ans_ready,
  output logic [2:0]              ans,
  input  logic                    pay_valid,
  output logic                    pay_ready,
  input  logic [DATA_W-1:0]       pay_data,
  input  logic                    pay_last,

  // dma_master: local data; sums.
  output logic                    rdreq_valid,
  input  logic                    rdreq_ready,
  output rnic_pkg::dma_rd_req_t   rdreq,
  input  logic                    rdrsp_valid_i,  // of these requests only; always taken
  input  rnic_pkg::dma_rd_rsp_t   rdrsp_i,
  input  logic [DATA_W-1:0]       rdrsp_data_i,
  output logic                    outreq_valid,
  input  logic                    outreq_ready,
  output rnic_pkg::dma_wr_req_t   outreq,
  output logic                    outdat_valid,
  input  logic                    outdat_ready,
  output logic [DATA_W-1:0]       outdat_data,
  output logic [7:0]              outdat_cnt,
  output logic                    outdat_last,
  input  logic                    out_placed_i,   // the oldest sum is on the bus

  // device_memory: staging buffers, send rings.
  output logic                    dw_valid,
  input  logic                    dw_ready,
  output logic [31:0]             dw_row,
  output logic [DATA_W-1:0]       dw_data,
  output logic [DATA_W/8-1:0]     dw_strb,

  // sq_scheduler: WQEs, as from blueflame; how far a send ring is acknowledged; a QP that failed.
  output logic                    bf_valid,
  input  logic                    bf_ready,
  output rnic_pkg::wqe_entry_t    bf,
  input  logic                    ack_valid_i,
  input  logic [23:0]             ack_qpn_i,
  input  logic [15:0]             ack_index_i,    // first block that is not acknowledged
  input  logic                    fail_valid_i,
  input  logic [23:0]             fail_qpn_i,

  // An operation is done (EV_DONE) or given up (code says why); number is the group's.
  output logic                    ev_valid,
  input  logic                    ev_ready,
  output logic [7:0]              ev_code,
  output logic [7:0]              ev_number,

  output logic [3*N_GROUP-1:0]    state_o,        // GRP_* of each group
  // Pulses for counters.
  output logic                    cnt_accepted_o,
  output logic                    cnt_duplicate_o,
  output logic                    cnt_not_ready_o,
  output logic                    cnt_refused_o,
  output logic                    cnt_conflict_o, // a beat waits for its row in the adder
  output logic                    cnt_done_o,
  output logic                    cnt_aborted_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned GW = $clog2(N_GROUP);
  localparam int unsigned SW = $clog2(N_SLOT);
  localparam int unsigned PW = 12 - LB;  // rows of a slot
  localparam int unsigned RW = GW + SW + PW;

  // ------------------------------------------------------------------------------------- groups
  logic [arp_pkg::GROUP_W-1:0] groups_q [N_GROUP];  // group_t
  // What is needed of all groups at once.
  logic [N_GROUP-1:0] ring_q;
  logic [2:0]         type_q [N_GROUP];    // {elem, summed in two rows per beat}
  logic [23:0]        tx_qpn_q [N_GROUP];
  logic [15:0]        timeout_q [N_GROUP];
  logic [2:0]         state_q [N_GROUP];
  logic [7:0]         cause_q [N_GROUP];
  logic [15:0]        idle_us_q [N_GROUP];
  logic [N_GROUP-1:0] event_q;
  logic [N_GROUP-1:0] lost_q;              // the send QP failed behind the end of an operation
  logic [7:0]         inside_q [N_GROUP];  // accepted packets whose work is not over
  logic [15:0]        mark_q [N_GROUP];    // number of the group's last sum
  logic [15:0]        issued_q, placed_q;  // sums for memory

  logic [GW-1:0]      w_group, l_group, e_group, s_group, g, query_q;
  arp_pkg::group_t    w_cfg, l_cfg, e_cfg, s_cfg;
  logic               start, clear, w_asking, s_working, reserve;
  logic [N_GROUP-1:0] credit, l_active, l_reading, s_sent, s_idle, w_progress, s_progress;
  logic [32*N_GROUP-1:0] base, next;
  logic [31:0]        q_duplicates, q_not_ready, q_sent, q_acked;
  logic [15:0]        q_held;
  assign w_cfg = groups_q[w_group];
  assign l_cfg = groups_q[l_group];
  assign e_cfg = groups_q[e_group];
  assign s_cfg = groups_q[s_group];

  // ----------------------------------------------------------------------------------- commands
  logic        exists, misaligned, bad_create, bad_start, cmd_fire;
  logic [7:0]  status;
  logic [31:0] most;
  arp_pkg::group_t at, started;
  assign at = groups_q[g];
  always_comb begin
    started = at;
    started.src = cmd.group.src;
    started.src_va = cmd.group.src_va;
    started.src_key = cmd.group.src_key;
    started.dst = cmd.group.dst;
    started.chunk_bytes = cmd.group.chunk_bytes;
    started.round_bytes = cmd.group.round_bytes;
    started.own_off = cmd.group.own_off;
    started.pieces = cmd.group.pieces;
    started.rounds = cmd.group.rounds;
  end
  assign g = cmd.number[GW-1:0];
  assign exists = 32'(cmd.number) < N_GROUP;
  assign misaligned = |{cmd.group.src[LB-1:0], cmd.group.dst[LB-1:0], cmd.group.chunk_bytes[LB-1:0],
      cmd.group.round_bytes[LB-1:0], cmd.group.own_off[LB-1:0]};
  // FP32 sums of 16-bit elements take twice the rows.
  assign bad_create = cmd.group.ranks < 5'd2 || cmd.group.ranks > 5'd16 ||
      cmd.group.rank >= cmd.group.ranks || 32'(cmd.group.slot_log) < LB ||
      cmd.group.slot_log > (cmd.group.wide && !cmd.group.elem[1] ? 4'd11 : 4'd12);
  assign most = 32'(cmd.group.pieces) << at.slot_log;
  assign bad_start = misaligned || cmd.group.chunk_bytes == 32'd0 || cmd.group.rounds == 16'd0 ||
      cmd.group.chunk_bytes > most ||
      cmd.group.chunk_bytes <= most - (32'd1 << at.slot_log) ||
      33'(cmd.group.own_off) + 33'(cmd.group.chunk_bytes) > 33'(cmd.group.round_bytes) ||
      (at.ring && 32'(cmd.group.pieces) >= N_STAGE);
  always_comb begin
    status = rnic_desc_pkg::CMD_STATUS_OK;
    case (cmd.op)
      arp_pkg::CMD_CREATE: begin
        if (state_q[g] != arp_pkg::GRP_FREE) status = rnic_desc_pkg::CMD_STATUS_IN_USE;
        else if (bad_create) status = rnic_desc_pkg::CMD_STATUS_BAD_PARAM;
      end
      arp_pkg::CMD_PEER: if (state_q[g] == arp_pkg::GRP_FREE)
        status = rnic_desc_pkg::CMD_STATUS_NOT_FOUND;
      arp_pkg::CMD_START: begin
        if (state_q[g] != arp_pkg::GRP_IDLE) status = rnic_desc_pkg::CMD_STATUS_BAD_STATE;
        else if (bad_start) status = rnic_desc_pkg::CMD_STATUS_BAD_PARAM;
      end
      arp_pkg::CMD_ABORT: if (state_q[g] != arp_pkg::GRP_RUN)
        status = rnic_desc_pkg::CMD_STATUS_BAD_STATE;
      arp_pkg::CMD_DESTROY: if (state_q[g] != arp_pkg::GRP_IDLE &&
          state_q[g] != arp_pkg::GRP_ABORTED) status = rnic_desc_pkg::CMD_STATUS_BAD_STATE;
      arp_pkg::CMD_QUERY: ;
      default: status = rnic_desc_pkg::CMD_STATUS_BAD_OPCODE;
    endcase
    if (!exists) status = rnic_desc_pkg::CMD_STATUS_BAD_INDEX;
  end
  logic good;
  assign cmd_ready = 1'b1;
  assign cmd_fire = cmd_valid;
  assign good = cmd_fire && status == rnic_desc_pkg::CMD_STATUS_OK;
  assign start = good && cmd.op == arp_pkg::CMD_START;
  assign clear = good && (cmd.op == arp_pkg::CMD_CREATE || cmd.op == arp_pkg::CMD_DESTROY);

  // ------------------------------------------------------------------------------------- window
  logic             plan_valid, p_in_ready, desc_valid, open_valid, freed;
  arp_pkg::plan_t   plan;
  logic [GW+SW-1:0] desc_slot, open_slot, freed_slot;
  arp_pkg::slot_t   desc;
  arp_window #(.N_GROUP(N_GROUP), .N_SLOT(N_SLOT)) u_window (
    .clk_i, .rst_i, .peer_wr_i(good && cmd.op == arp_pkg::CMD_PEER), .peer_i({g, cmd.peer}),
    .peer_qpn_i(cmd.peer_qpn), .clear_valid_i(clear), .clear_group_i(g), .ask_valid, .ask_ready,
    .ask, .ans_valid, .ans_ready, .ans, .plan_valid_o(plan_valid), .plan_o(plan),
    .plan_room_i(p_in_ready), .lk_group_o(w_group), .lk_cfg_i(w_cfg),
    .lk_state_i(state_q[w_group]), .lk_credit_i(credit[w_group]), .desc_valid_i(desc_valid),
    .desc_slot_i(desc_slot), .desc_i(desc), .open_valid_i(open_valid), .open_slot_i(open_slot),
    .freed_valid_i(freed), .freed_slot_i(freed_slot), .asking_o(w_asking), .base_o(base),
    .progress_o(w_progress), .query_group_i(query_q),
    .query_duplicates_o(q_duplicates), .query_not_ready_o(q_not_ready),
    .accepted_o(cnt_accepted_o), .duplicate_o(cnt_duplicate_o),
    .not_ready_o(cnt_not_ready_o), .refused_o(cnt_refused_o));
  assign reserve = plan_valid && plan.emit && plan.info.fwd;

  // ------------------------------------------------------------------------------------- loader
  logic              ld_valid, ld_ready, ld_failed;
  logic [GW+SW-1:0]  ld_slot;
  logic [7:0]        ld_row;
  logic [DATA_W-1:0] ld_data;
  logic [GW-1:0]     ld_failed_group;
  arp_loader #(.DATA_W(DATA_W), .N_GROUP(N_GROUP), .N_SLOT(N_SLOT), .LD_ROWS(LD_ROWS)) u_loader (
    .clk_i, .rst_i, .start_valid_i(start), .clear_valid_i(clear), .group_i(g),
    .lk_group_o(l_group), .lk_cfg_i(l_cfg), .lk_state_i(state_q[l_group]),
    .lk_base_i(base[32*l_group +: 32]), .rdreq_valid, .rdreq_ready, .rdreq, .rdrsp_valid_i,
    .rdrsp_i, .rdrsp_data_i, .ld_valid, .ld_ready, .ld_slot, .ld_row, .ld_data,
    .desc_valid_o(desc_valid), .desc_slot_o(desc_slot), .desc_o(desc), .open_valid_o(open_valid),
    .open_slot_o(open_slot), .active_o(l_active), .reading_o(l_reading), .next_o(next),
    .failed_valid_o(ld_failed), .failed_group_o(ld_failed_group));

  // ---------------------------------------------- payload into the adder, local rows beside it
  localparam int unsigned QW = arp_pkg::PLAN_W;
  logic              p_valid, p_last, e_in_ready, e_push, e_valid, e_ready, begun_q;
  arp_pkg::plan_t    p, e;
  logic [QW-1:0]     p_bits, e_bits;
  logic [PW-1:0]     beat_q;
  logic              pay_ok, pay_take, p_wide, l_wide;
  logic [1:0]        p_elem, l_elem;
  logic [3:0]        p_level;
  logic [4:0]        e_level;
  stream_fifo_small #(.W(QW), .DEPTH(8)) u_plans (
    .clk_i, .rst_i, .in_valid(plan_valid), .in_ready(p_in_ready), .in_data(plan),
    .out_valid(p_valid), .out_ready(p_last), .out_data(p_bits), .level_o(p_level));
  assign p = p_bits;
  stream_fifo #(.W(QW), .DEPTH(16), .OUT_REG(1)) u_sums (
    .clk_i, .rst_i, .in_valid(e_push), .in_ready(e_in_ready), .in_data(p_bits),
    .out_valid(e_valid), .out_ready(e_ready), .out_data(e_bits), .level_o(e_level));
  assign e = e_bits;
  assign {p_elem, p_wide} = type_q[p.group[GW-1:0]];
  assign {l_elem, l_wide} = type_q[ld_slot[GW+SW-1:SW]];

  logic              pay_go;
  logic [PW-1:0]     p_row, l_row;
  assign p_row = p_wide ? beat_q << 1 : beat_q;
  assign l_row = l_wide ? PW'(ld_row) << 1 : PW'(ld_row);
  assign pay_ok = p_valid && (!p.emit || begun_q || e_in_ready);
  assign pay_ready = pay_ok && pay_go;
  assign pay_take = pay_valid && pay_ready;
  assign p_last = pay_take && pay_last;
  assign e_push = pay_take && p.emit && !begun_q;
  assign freed = p_last && p.emit;
  assign freed_slot = {p.group[GW-1:0], p.slot[SW-1:0]};
  logic              sum_valid, sum_ready, sum_last, acc_idle;
  logic [DATA_W-1:0] sum_data;
  arp_accum #(.DATA_W(DATA_W), .ROWS(1 << RW)) u_accum (
    .clk_i, .rst_i, .in_valid(pay_valid && pay_ok), .in_ready(pay_go),
    .in_row({p.group[GW-1:0], p.slot[SW-1:0], p_row}), .in_elem(p_elem), .in_wide(p_wide),
    .in_init(p.init), .in_emit(p.emit), .in_last(pay_last), .in_data(pay_data),
    .set_valid(ld_valid), .set_ready(ld_ready), .set_row({ld_slot, l_row}), .set_elem(l_elem),
    .set_wide(l_wide), .set_data(ld_data),
    .out_valid(sum_valid), .out_ready(sum_ready), .out_data(sum_data), .out_last(sum_last),
    .idle_o(acc_idle), .conflict_o(cnt_conflict_o));

  // ------------------------------------------------------------------------------- out, and on
  logic                       stg_valid, stg_ready, staged, gone, wq_valid, wq_ready;
  logic [31:0]                stg_row, wq_row;
  logic [DATA_W-1:0]          stg_data, wq_data;
  logic [B-1:0]               wq_strb;
  logic [GW-1:0]              gone_group, staged_group;
  logic [$clog2(N_STAGE)-1:0] staged_buffer;
  logic [45:0]                staged_info;
  arp_emit #(.DATA_W(DATA_W), .N_GROUP(N_GROUP), .N_STAGE(N_STAGE)) u_emit (
    .clk_i, .rst_i, .clear_valid_i(clear), .clear_group_i(g), .plan_valid(e_valid),
    .plan_ready(e_ready), .plan(e), .lk_group_o(e_group), .lk_cfg_i(e_cfg), .sum_valid, .sum_ready,
    .sum_data, .sum_last, .outreq_valid, .outreq_ready, .outreq, .outdat_valid, .outdat_ready,
    .outdat_data, .outdat_cnt, .outdat_last, .stg_valid, .stg_ready, .stg_row, .stg_data,
    .gone_valid_o(gone), .gone_group_o(gone_group), .staged_valid_o(staged),
    .staged_group_o(staged_group), .staged_buffer_o(staged_buffer), .staged_info_o(staged_info));

  logic          ack_valid;
  logic [GW-1:0] ack_group;
  arp_sender #(.DATA_W(DATA_W), .N_GROUP(N_GROUP), .N_STAGE(N_STAGE), .N_RING(N_RING)) u_sender (
    .clk_i, .rst_i, .start_valid_i(start), .clear_valid_i(clear), .group_i(g),
    .lk_group_o(s_group), .lk_cfg_i(s_cfg), .lk_state_i(state_q[s_group]),
    .reserve_valid_i(reserve), .reserve_group_i(plan.group[GW-1:0]), .credit_o(credit),
    .staged_valid_i(staged), .staged_group_i(staged_group), .staged_buffer_i(staged_buffer),
    .staged_info_i(staged_info), .wq_valid, .wq_ready, .wq_row, .wq_data, .wq_strb, .bf_valid,
    .bf_ready, .bf, .ack_valid_i(ack_valid), .ack_group_i(ack_group), .ack_index_i,
    .working_o(s_working), .sent_o(s_sent), .idle_o(s_idle), .progress_o(s_progress),
    .query_group_i(query_q), .query_sent_o(q_sent), .query_acked_o(q_acked),
    .query_held_o(q_held));

  localparam int unsigned DW = 32 + DATA_W + B;
  logic       dw_last;
  logic [0:0] dw_src;
  stream_arb_rr #(.N(2), .W(DW)) u_dw (
    .clk_i, .rst_i, .in_valid({wq_valid, stg_valid}), .in_ready({wq_ready, stg_ready}),
    .in_data({wq_row, wq_data, wq_strb, stg_row, stg_data, {B{1'b1}}}), .in_last(2'b11),
    .out_valid(dw_valid), .out_ready(dw_ready), .out_data({dw_row, dw_data, dw_strb}),
    .out_last(dw_last), .out_src(dw_src));

  // ------------------------------------------------------------------------- life of an operation
  logic [N_GROUP-1:0] tx_match, failed, over, drained, expired;
  always_comb begin
    ack_valid = 1'b0;
    ack_group = '0;
    for (int unsigned i = 0; i < N_GROUP; i++) begin
      tx_match[i] = ring_q[i] && state_q[i] != arp_pkg::GRP_FREE;
      if (ack_valid_i && tx_match[i] && tx_qpn_q[i] == ack_qpn_i) begin
        ack_valid = 1'b1;
        ack_group = GW'(i);
      end
      failed[i] = fail_valid_i && tx_match[i] && tx_qpn_q[i] == fail_qpn_i;
      expired[i] = timeout_q[i] != 16'd0 && idle_us_q[i] >= timeout_q[i];
      drained[i] = inside_q[i] == 8'd0 && !l_reading[i] && !(w_asking && 32'(w_group) == i) &&
          !(s_working && 32'(s_group) == i) && placed_q - mark_q[i] < 16'h8000;
      over[i] = drained[i] && !l_active[i] && s_sent[i] && base[32*i +: 32] == next[32*i +: 32];
    end
  end

  always_comb begin
    cmd_report_o.state = state_q[query_q];
    cmd_report_o.cause = cause_q[query_q];
    cmd_report_o.held = q_held;
    cmd_report_o.done = base[32*query_q +: 32];
    cmd_report_o.opened = next[32*query_q +: 32];
    cmd_report_o.sent = q_sent;
    cmd_report_o.acked = q_acked;
    cmd_report_o.idle_us = idle_us_q[query_q];
    cmd_report_o.duplicates = q_duplicates;
    cmd_report_o.not_ready = q_not_ready;
  end

  logic [GW-1:0] ev_q;  // the group whose event is offered
  assign ev_valid = event_q[ev_q];
  assign ev_code = cause_q[ev_q];
  assign ev_number = 8'(ev_q);
  logic [N_GROUP-1:0] ends_well, ends_badly;
  assign cnt_done_o = |ends_well;
  assign cnt_aborted_o = |ends_badly;
  for (genvar i = 0; i < N_GROUP; i++) begin : gen_state
    assign state_o[3*i +: 3] = state_q[i];
    // One group per cycle, so that counters miss none.
    assign ends_well[i] = state_q[i] == arp_pkg::GRP_RUN && over[i] && 32'(l_group) == i;
    assign ends_badly[i] = state_q[i] == arp_pkg::GRP_ABORTING && drained[i] && 32'(l_group) == i;
  end

  logic p_done;  // a packet that completes nothing is inside the adder
  assign p_done = p_last && !p.emit;
  always_ff @(posedge clk_i) begin
    cmd_done_o <= cmd_fire;
    query_q <= g;
    cmd_status_o <= status;
    if (pay_take) begin
      begun_q <= !pay_last;
      beat_q <= pay_last ? '0 : beat_q + 1'b1;
    end
    if (outreq_valid && outreq_ready) begin
      issued_q <= issued_q + 16'd1;
      mark_q[e_group] <= issued_q + 16'd1;
    end
    if (out_placed_i) placed_q <= placed_q + 16'd1;

    if (start) groups_q[g] <= started;
    if (good && cmd.op == arp_pkg::CMD_CREATE) groups_q[g] <= cmd.group;
    for (int unsigned i = 0; i < N_GROUP; i++) begin
      inside_q[i] <= inside_q[i] + 8'(plan_valid && 32'(plan.group) == i) -
          8'(gone && 32'(gone_group) == i) - 8'(p_done && 32'(p.group) == i);
      if (w_progress[i] || s_progress[i] || state_q[i] != arp_pkg::GRP_RUN) idle_us_q[i] <= 16'd0;
      else if (tick_us_i && !expired[i]) idle_us_q[i] <= idle_us_q[i] + 16'd1;
      if (state_q[i] == arp_pkg::GRP_RUN) begin
        cause_q[i] <= arp_pkg::EV_DONE;
        if (ends_well[i]) begin
          state_q[i] <= arp_pkg::GRP_IDLE;
          event_q[i] <= 1'b1;
        end else if (failed[i] || lost_q[i] || expired[i] ||
            (ld_failed && 32'(ld_failed_group) == i)) begin
          state_q[i] <= arp_pkg::GRP_ABORTING;
          cause_q[i] <= failed[i] || lost_q[i] ? arp_pkg::EV_QP
              : expired[i] ? arp_pkg::EV_TIMEOUT : arp_pkg::EV_READ;
        end
      end
      // Done here, but what was sent last never came to the next rank.
      if (failed[i] && !s_idle[i] && (state_q[i] == arp_pkg::GRP_IDLE || ends_well[i]))
        lost_q[i] <= 1'b1;
      if (state_q[i] == arp_pkg::GRP_IDLE && lost_q[i] && !event_q[i]) begin
        state_q[i] <= arp_pkg::GRP_ABORTING;
        cause_q[i] <= arp_pkg::EV_QP;
      end
      if (ends_badly[i]) begin
        state_q[i] <= arp_pkg::GRP_ABORTED;
        event_q[i] <= 1'b1;
      end
      if (ev_valid && ev_ready && 32'(ev_q) == i) event_q[i] <= 1'b0;
      if (good && 32'(g) == i) begin
        case (cmd.op)
          arp_pkg::CMD_CREATE: begin
            state_q[i] <= arp_pkg::GRP_IDLE;
            ring_q[i] <= cmd.group.ring;
            type_q[i] <= {cmd.group.elem, cmd.group.wide && !cmd.group.elem[1]};
            tx_qpn_q[i] <= cmd.group.tx_qpn;
            timeout_q[i] <= cmd.group.timeout_us;
            cause_q[i] <= arp_pkg::EV_DONE;
            lost_q[i] <= 1'b0;
            mark_q[i] <= issued_q;
          end
          arp_pkg::CMD_START: state_q[i] <= arp_pkg::GRP_RUN;
          arp_pkg::CMD_ABORT: if (!ends_well[i]) begin
            state_q[i] <= arp_pkg::GRP_ABORTING;
            cause_q[i] <= arp_pkg::EV_ABORT;
          end
          arp_pkg::CMD_DESTROY: state_q[i] <= arp_pkg::GRP_FREE;
          default: ;
        endcase
      end
    end
    if (!ev_valid || ev_ready) ev_q <= ev_q + 1'b1;

    if (rst_i) begin
      cmd_done_o <= 1'b0;
      begun_q <= 1'b0;
      beat_q <= '0;
      issued_q <= 16'd0;
      placed_q <= 16'd0;
      event_q <= '0;
      lost_q <= '0;
      ev_q <= '0;
      for (int unsigned i = 0; i < N_GROUP; i++) begin
        state_q[i] <= arp_pkg::GRP_FREE;
        cause_q[i] <= arp_pkg::EV_DONE;
        inside_q[i] <= 8'd0;
        idle_us_q[i] <= 16'd0;
        mark_q[i] <= 16'd0;
      end
    end
  end

  logic unused;
  assign unused = ^{cmd, p_level, e_level, dw_last, dw_src, acc_idle, e, p, at,
      ld_row};

  `RNIC_ASSERT(payload_planned, !pay_take || p_valid)
  `RNIC_ASSERT(payload_length, !pay_take || pay_last == (32'(beat_q) * B + B == 32'(p.info.len)))
  `RNIC_STREAM_HOLD(ev_valid, ev_ready, {ev_code, ev_number})
  `RNIC_STREAM_HOLD(dw_valid, dw_ready, {dw_row, dw_data, dw_strb})
endmodule
