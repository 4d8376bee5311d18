// SPDX-License-Identifier: Apache-2.0
//
// arp_fsm as a part of the NIC: commands from the mailbox, events for the event queue, time, and
// what it hears of QPs.
//
// A command is answered 2 cycles after it is shown. All else passes through.
module arp_unit #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_GROUP = 2,
  parameter int unsigned N_SLOT = 16,
  parameter int unsigned N_STAGE = 64,
  parameter int unsigned N_RING = 64,
  parameter int unsigned DEVMEM_BYTES = 262144,
  parameter int unsigned CORE_PS = 2000
) (
  input  logic                    clk_i,
  input  logic                    rst_i,

  // cmd_unit: a command is shown until cmd_done_o.
  input  logic                    cmd_valid_i,
  input  logic [1023:0]           cmd_i,
  output logic                    cmd_done_o,
  output logic [7:0]              cmd_status_o,
  output logic [1023:0]           cmd_answer_o,   // of QUERY_ARP, beside cmd_done_o

  // rx_responder, rx_placer
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

  // dma_master
  output logic                    rdreq_valid,
  input  logic                    rdreq_ready,
  output rnic_pkg::dma_rd_req_t   rdreq,
  input  logic                    rdrsp_valid,    // no ready; of all clients
  input  rnic_pkg::dma_rd_rsp_t   rdrsp,
  input  logic [DATA_W-1:0]       rdrsp_data,
  output logic                    wr_req_valid,
  input  logic                    wr_req_ready,
  output rnic_pkg::dma_wr_req_t   wr_req,
  output logic                    wr_dat_valid,
  input  logic                    wr_dat_ready,
  output logic [DATA_W-1:0]       wr_dat_data,
  output logic [7:0]              wr_dat_cnt,
  output logic                    wr_dat_last,
  input  logic                    wr_placed_i,

  // device_memory
  output logic                    dw_valid,
  input  logic                    dw_ready,
  output logic [31:0]             dw_row,
  output logic [DATA_W-1:0]       dw_data,
  output logic [DATA_W/8-1:0]     dw_strb,

  // sq_scheduler
  output logic                    bf_valid,
  input  logic                    bf_ready,
  output rnic_pkg::wqe_entry_t    bf,
  // rx_completer: a message has been acknowledged
  input  logic                    done_i,
  input  logic [23:0]             done_qpn_i,
  input  logic [15:0]             done_index_i,
  // an order of cmd_unit has been taken
  input  logic                    qpi_i,
  input  logic [2:0]              qpi_op_i,
  input  logic [23:0]             qpi_qpn_i,

  // event_queue
  output logic                    ev_valid,
  input  logic                    ev_ready,
  output rnic_pkg::event_t        ev,

  output logic                    cnt_accepted_o,
  output logic                    cnt_duplicate_o,
  output logic                    cnt_not_ready_o,
  output logic                    cnt_refused_o,
  output logic                    cnt_conflict_o,
  output logic                    cnt_done_o,
  output logic                    cnt_aborted_o
);
  localparam int unsigned LB = $clog2(DATA_W / 8);
  localparam int unsigned TICKS = (1_000_000 + CORE_PS / 2) / CORE_PS;

  // ----------------------------------------------------------------------------------- commands
  rnic_desc_pkg::cmd_t           head;
  rnic_desc_pkg::cmd_arp_t       c_group;
  rnic_desc_pkg::cmd_arp_peer_t  c_peer;
  rnic_desc_pkg::cmd_arp_start_t c_start;
  assign head = cmd_i;
  assign c_group = cmd_i;
  assign c_peer = cmd_i;
  assign c_start = cmd_i;

  arp_pkg::cmd_t cmd;
  always_comb begin
    cmd = '0;
    cmd.number = head.number[7:0];
    unique case (head.opcode)
      rnic_desc_pkg::CMD_OPCODE_CREATE_ARP: begin
        cmd.op = arp_pkg::CMD_CREATE;
        cmd.group.ring = c_group.ring;
        cmd.group.fixed = c_group.fixed;
        cmd.group.wide = c_group.wide;
        cmd.group.elem = c_group.elem;
        cmd.group.ranks = c_group.ranks;
        cmd.group.rank = c_group.rank;
        cmd.group.slot_log = c_group.slot_log;
        cmd.group.tx_qpn = c_group.tx_qpn;
        cmd.group.timeout_us = c_group.timeout;
        cmd.group.stage_row = c_group.stage_at >> LB;
        cmd.group.stage_va = c_group.stage_va;
        cmd.group.stage_key = c_group.stage_key;
        cmd.group.wqe_block = c_group.ring_at >> 6;
      end
      rnic_desc_pkg::CMD_OPCODE_PEER_ARP: begin
        cmd.op = arp_pkg::CMD_PEER;
        cmd.peer = c_peer.peer;
        cmd.peer_qpn = c_peer.qpn;
      end
      rnic_desc_pkg::CMD_OPCODE_START_ARP: begin
        cmd.op = arp_pkg::CMD_START;
        cmd.group.src = c_start.src;
        cmd.group.src_va = c_start.src_va;
        cmd.group.src_key = c_start.src_key;
        cmd.group.dst = c_start.dst;
        cmd.group.chunk_bytes = c_start.chunk;
        cmd.group.round_bytes = c_start.round;
        cmd.group.own_off = c_start.own_off;
        cmd.group.pieces = c_start.pieces;
        cmd.group.rounds = c_start.rounds;
      end
      rnic_desc_pkg::CMD_OPCODE_ABORT_ARP: cmd.op = arp_pkg::CMD_ABORT;
      rnic_desc_pkg::CMD_OPCODE_QUERY_ARP: cmd.op = arp_pkg::CMD_QUERY;
      default: cmd.op = arp_pkg::CMD_DESTROY;
    endcase
  end

  arp_pkg::report_t              report;
  rnic_desc_pkg::cmd_arp_state_t c_state;
  always_comb begin
    c_state = '0;
    c_state.state = report.state;
    c_state.cause = report.cause;
    c_state.held = report.held;
    c_state.done = report.done;
    c_state.opened = report.opened;
    c_state.sent = report.sent;
    c_state.acked = report.acked;
    c_state.idle = report.idle_us;
    c_state.duplicates = report.duplicates;
    c_state.not_ready = report.not_ready;
    cmd_answer_o = c_state;
    cmd_answer_o[63:0] = cmd_i[63:0];  // opcode, token and number come back
  end

  // A ring's staging buffers and send ring must be inside device_memory, in whole rows and blocks.
  logic        bad_place, fsm_ready, fsm_done, sent_q, refused_q;
  logic [7:0]  fsm_status;
  logic [32:0] stage_end, ring_end;
  assign stage_end = 33'(c_group.stage_at) + (33'(N_STAGE) << c_group.slot_log);
  assign ring_end = 33'(c_group.ring_at) + 33'(N_RING * 64);
  assign bad_place = head.opcode == rnic_desc_pkg::CMD_OPCODE_CREATE_ARP && c_group.ring &&
      (|c_group.stage_at[LB-1:0] || |c_group.ring_at[5:0] || stage_end > 33'(DEVMEM_BYTES) ||
       ring_end > 33'(DEVMEM_BYTES));
  assign cmd_done_o = fsm_done || refused_q;
  assign cmd_status_o = refused_q ? rnic_desc_pkg::CMD_STATUS_BAD_PARAM : fsm_status;
  always_ff @(posedge clk_i) begin
    sent_q <= cmd_valid_i && !cmd_done_o;
    refused_q <= cmd_valid_i && !sent_q && bad_place;
    if (rst_i) begin
      sent_q <= 1'b0;
      refused_q <= 1'b0;
    end
  end

  // --------------------------------------------------------------------------------------- time
  logic [15:0] tick_q;
  logic        tick;
  assign tick = 32'(tick_q) == TICKS - 1;
  always_ff @(posedge clk_i) begin
    tick_q <= tick ? 16'd0 : tick_q + 16'd1;
    if (rst_i) tick_q <= 16'd0;
  end

  logic                 mine, fails;
  logic [7:0]           ev_code, ev_number;
  logic [3*N_GROUP-1:0] state;
  assign mine = rdrsp_valid && rdrsp.client == rnic_pkg::RD_CTX;
  // A QP in ERR sends no more, and one that was cleared begins anew.
  assign fails = qpi_i && (qpi_op_i == rnic_pkg::QPI_ERR || qpi_op_i == rnic_pkg::QPI_CLEAR);
  arp_fsm #(
    .DATA_W(DATA_W), .N_GROUP(N_GROUP), .N_SLOT(N_SLOT), .N_STAGE(N_STAGE), .N_RING(N_RING)
  ) u_arp_fsm (
    .clk_i, .rst_i, .tick_us_i(tick), .cmd_valid(cmd_valid_i && !sent_q && !bad_place),
    .cmd_ready(fsm_ready), .cmd, .cmd_done_o(fsm_done), .cmd_status_o(fsm_status),
    .cmd_report_o(report), .ask_valid,
    .ask_ready, .ask, .ans_valid, .ans_ready, .ans, .pay_valid, .pay_ready, .pay_data, .pay_last,
    .rdreq_valid, .rdreq_ready, .rdreq, .rdrsp_valid_i(mine), .rdrsp_i(rdrsp),
    .rdrsp_data_i(rdrsp_data), .outreq_valid(wr_req_valid), .outreq_ready(wr_req_ready),
    .outreq(wr_req), .outdat_valid(wr_dat_valid), .outdat_ready(wr_dat_ready),
    .outdat_data(wr_dat_data), .outdat_cnt(wr_dat_cnt), .outdat_last(wr_dat_last),
    .out_placed_i(wr_placed_i), .dw_valid, .dw_ready, .dw_row, .dw_data, .dw_strb, .bf_valid,
    .bf_ready, .bf, .ack_valid_i(done_i), .ack_qpn_i(done_qpn_i), .ack_index_i(done_index_i),
    .fail_valid_i(fails), .fail_qpn_i(qpi_qpn_i), .ev_valid, .ev_ready, .ev_code, .ev_number,
    .state_o(state), .cnt_accepted_o, .cnt_duplicate_o, .cnt_not_ready_o, .cnt_refused_o,
    .cnt_conflict_o, .cnt_done_o, .cnt_aborted_o);

  always_comb begin
    ev = '0;
    ev.etype = ev_code == arp_pkg::EV_DONE ? rnic_desc_pkg::EQE_TYPE_ARP_DONE
        : rnic_desc_pkg::EQE_TYPE_ARP_ABORTED;
    ev.code = ev_code;
    ev.number = {16'd0, ev_number};
  end

  logic unused;
  assign unused = ^{head, c_group, c_peer, c_start, fsm_ready, state};
endmodule
