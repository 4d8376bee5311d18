// SPDX-License-Identifier: Apache-2.0
//
// Remembers every message in flight: one pool of N_MSG records, a list per QP in posting order.
// A push and a pop together every 2 cycles, one of them per cycle; a lookup per cycle, answered 2
// cycles later, in order, seeing every pop of an earlier cycle. Pushes wait in front of the pool (2
// cycles to be readable, more while pops go first). msg_push_ready depends on state only. Nothing
// is dropped; CLEAR forgets the messages of one QP.
`include "rnic_assert.svh"

module msg_pool #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_MSG = 512
) (
    input  logic                clk_i,
    input  logic                rst_i,
    output logic                init_done_o,

    // from sq_engine; not ready: the pool is full (or eight nudges wait)
    input  logic                msg_push_valid,
    output logic                msg_push_ready,
    input  logic [23:0]         msg_push_qpn,
    input  rnic_pkg::msg_t      msg_push,
    input  logic [767:0]        msg_push_list,   // READ, ATOMIC: its data segments
    output logic                msg_room_o,
    // a replay has passed a message that waits for no packet: nudge (never with a push; the ready
    // depends on state only)
    input  logic                passed_valid,
    output logic                passed_ready,
    input  logic [23:0]         passed_qpn,

    // rx_completer: the oldest message of a QP
    input  logic                hd_lk_valid,
    output logic                hd_lk_ready,
    input  logic [23:0]         hd_lk_qpn,
    output logic                hd_valid,
    output logic                hd_empty,
    output rnic_pkg::msg_t      hd,
    output logic [767:0]        hd_list,         // of a READ or ATOMIC
    input  logic                pop_valid,
    input  logic [23:0]         pop_qpn,

    // a message that waits for no packet came into the list of this QP
    output logic                nudge_valid,
    input  logic                nudge_ready,
    output logic [23:0]         nudge_qpn,

    input  logic                qpi_valid,
    output logic                qpi_ready,
    input  rnic_pkg::qp_init_t  qpi
);
  localparam int unsigned NW = $clog2(N_MSG);
  localparam int unsigned CW = $clog2(N_MSG + 1);
  localparam int unsigned MSG_W = $bits(msg_push);
  localparam int unsigned QUEUE = 4;    // pushes in front of the pool
  localparam int unsigned NUDGES = 8;

  // ------------------------------------------------------------------------------ pushes, in front
  logic             in_fire, in_pass, q_valid, q_ready, q_room, q_pass;
  logic [2:0]       q_level;
  logic [23:0]      q_qpn;
  rnic_pkg::msg_t   q_msg;
  logic [767:0]     q_list;
  logic [CW-1:0]    free;
  logic [3:0]       nudge_level, nudge_due;
  logic             nudge_room;
  logic             nudge_kind, nudge1_q, nudge_in_ready;
  logic [23:0]      nudge1_qpn_q;

  // Every push inside has its record, and its nudge a place.
  assign nudge_due  = nudge_level + {1'b0, q_level} + {3'd0, nudge1_q};
  assign nudge_room = nudge_due < 4'(NUDGES);
  assign msg_push_ready = init_done_o && q_room && free > CW'(q_level) && nudge_room;
  assign msg_room_o = msg_push_ready;
  assign in_fire = msg_push_valid && msg_push_ready;
  // What was passed in a replay goes the same way, but only to the nudges.
  assign passed_ready = init_done_o && q_room && nudge_room;
  assign in_pass = passed_valid && passed_ready;

  stream_fifo_small #(.W(25 + MSG_W), .DEPTH(QUEUE), .LATENCY(0)) u_queue (
      .clk_i,
      .rst_i,
      .in_valid (in_fire || in_pass),
      .in_ready (q_room),
      .in_data  ({in_pass, in_pass ? passed_qpn : msg_push_qpn, msg_push}),
      .out_valid(q_valid),
      .out_ready(q_ready),
      .out_data ({q_pass, q_qpn, q_msg}),
      .level_o  (q_level)
  );

  // The lists of READs and ATOMICs wait beside their records, in a memory; one whose record goes
  // past the empty queue does so too.
  logic         in_has, out_has, q_has, list_past, list_room, list_waits;
  logic [767:0] list_oldest;
  logic [2:0]   list_level;
  assign in_has = in_fire && (msg_push.kind == rnic_pkg::MSG_READ ||
                              msg_push.kind == rnic_pkg::MSG_ATOMIC);
  assign out_has = q_valid && q_ready && q_has && !q_pass;
  assign list_past = q_level == 3'd0 && q_ready;
  assign q_list = (q_level == 3'd0) ? msg_push_list : list_oldest;
  stream_fifo #(.W(768), .DEPTH(QUEUE), .OUT_REG(0)) u_list_queue (
      .clk_i,
      .rst_i,
      .in_valid (in_has && !list_past),
      .in_ready (list_room),
      .in_data  (msg_push_list),
      .out_valid(list_waits),
      .out_ready(out_has && !list_past),
      .out_data (list_oldest),
      .level_o  (list_level)
  );

  // ------------------------------------------------------------------------------------- the lists
  logic          list_ready, list_valid;
  logic [NW-1:0] push_node, head, unused_next;
  logic [CW-1:0] count;
  logic          clear_ready, lk1_q, lk2_q, empty_q;
  logic          push_fire, clear;
  assign list_valid = q_valid && !q_pass;
  assign q_ready = q_pass || list_ready;
  assign push_fire = list_valid && list_ready;

  qp_lists #(.N_QP(N_QP), .N_NODE(N_MSG)) u_lists (
      .clk_i,
      .rst_i,
      .init_done_o,
      .push_valid (list_valid),
      .push_ready (list_ready),
      .push_qpn   (q_qpn),
      .push_node  (push_node),
      .pop_valid,
      .pop_qpn,
      .clear_valid(qpi_valid && clear),
      .clear_ready(clear_ready),
      .clear_qpn  (qpi.qpn),
      .lk_valid   (hd_lk_valid),
      .lk_qpn     (hd_lk_qpn),
      .lk_head_o  (head),
      .lk_count_o (count),
      .nx_node_i  ('0),
      .nx_next_o  (unused_next),
      .free_o     (free)
  );
  assign hd_lk_ready = init_done_o;
  assign clear = qpi.op == rnic_pkg::QPI_CLEAR && qpi.qpn < 24'(N_QP);
  assign qpi_ready = clear ? clear_ready : qpi_valid;

  ram_sdp #(.W(MSG_W), .DEPTH(N_MSG)) u_msgs (
      .clk_i,
      .wr_en_i  (push_fire),
      .wr_addr_i(push_node),
      .wr_data_i(q_msg),
      .rd_en_i  (lk1_q),
      .rd_addr_i(head),
      .rd_data_o(hd)
  );

  // The lists of READs and ATOMICs, in a memory of their own that is left alone for others.
  logic [N_MSG-1:0] has_list_q;
  logic             list_rd;
  assign q_has = q_msg.kind == rnic_pkg::MSG_READ || q_msg.kind == rnic_pkg::MSG_ATOMIC;
  assign list_rd = lk1_q && has_list_q[head];
  always_ff @(posedge clk_i) begin
    if (push_fire) has_list_q[push_node] <= q_has;
  end
  ram_sdp #(.W(768), .DEPTH(N_MSG)) u_segments (
      .clk_i,
      .wr_en_i  (push_fire && q_has),
      .wr_addr_i(push_node),
      .wr_data_i(q_list),
      .rd_en_i  (list_rd),
      .rd_addr_i(head),
      .rd_data_o(hd_list)
  );
  assign hd_valid = lk2_q;
  assign hd_empty = empty_q;

  always_ff @(posedge clk_i) begin
    lk1_q <= hd_lk_valid && hd_lk_ready;
    lk2_q <= lk1_q;
    if (lk1_q) empty_q <= count == '0;
    if (rst_i) begin
      lk1_q <= 1'b0;
      lk2_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------------------------------- nudges
  // Two cycles after the push was taken into its list, so that a lookup made then finds it.
  assign nudge_kind = q_msg.kind == rnic_pkg::MSG_LOCAL || q_msg.kind == rnic_pkg::MSG_FAILED;
  always_ff @(posedge clk_i) begin
    nudge1_q <= q_valid && q_ready && (nudge_kind || q_pass);
    if (q_valid && q_ready) nudge1_qpn_q <= q_qpn;
    if (rst_i) nudge1_q <= 1'b0;
  end
  stream_fifo #(.W(24), .DEPTH(NUDGES), .OUT_REG(0)) u_nudges (
      .clk_i,
      .rst_i,
      .in_valid (nudge1_q),
      .in_ready (nudge_in_ready),
      .in_data  (nudge1_qpn_q),
      .out_valid(nudge_valid),
      .out_ready(nudge_ready),
      .out_data (nudge_qpn),
      .level_o  (nudge_level)
  );

  logic unused;
  assign unused = ^{qpi, unused_next, list_level};

  `RNIC_ASSERT(one_of_two, !(msg_push_valid && passed_valid))
  `RNIC_ASSERT(list_beside_record, (!in_has || list_room) && (!out_has || list_past || list_waits))
  `RNIC_ASSERT(nudge_has_room, !nudge1_q || nudge_in_ready)
  `RNIC_ASSERT(room_for_queue, !list_valid || free != '0)
endmodule
