// SPDX-License-Identifier: Apache-2.0
//
// The slots of all groups: which piece each waits for, who has been added to it, and so what
// becomes of a packet. A packet is judged as a whole before any of its payload is added, so nothing
// is ever added twice or in part.
//
// One packet per 3 cycles, answer 2 cycles after the question; answers and plans in order. Slots
// are freed in the order of their pieces.
`include "rnic_assert.svh"

module arp_window #(
  parameter int unsigned N_GROUP = 4,
  parameter int unsigned N_SLOT = 16  // per group, a power of two
) (
  input  logic                        clk_i,
  input  logic                        rst_i,

  // Who sends on which QP.
  input  logic                        peer_wr_i,
  input  logic [$clog2(N_GROUP)+3:0]  peer_i,     // {group, rank}
  input  logic [23:0]                 peer_qpn_i,
  // A group begins anew with slot number 0, or gives up all its slots.
  input  logic                        clear_valid_i,
  input  logic [$clog2(N_GROUP)-1:0]  clear_group_i,

  input  logic                        ask_valid,
  output logic                        ask_ready,
  input  arp_pkg::ask_t               ask,
  output logic                        ans_valid,
  input  logic                        ans_ready,
  output logic [2:0]                  ans,        // ANS_*
  // Accepted packets, as their answer is taken.
  output logic                        plan_valid_o,
  output arp_pkg::plan_t              plan_o,
  input  logic                        plan_room_i,  // else the answer waits

  // The group of the question.
  output logic [$clog2(N_GROUP)-1:0]  lk_group_o,
  input  arp_pkg::group_t             lk_cfg_i,
  input  logic [2:0]                  lk_state_i,
  input  logic                        lk_credit_i,  // it may send one more piece on

  // The loader describes the slot of a piece; it opens at once, or when its local data are there.
  input  logic                        desc_valid_i,
  input  logic [$clog2(N_GROUP*N_SLOT)-1:0] desc_slot_i,
  input  arp_pkg::slot_t              desc_i,
  input  logic                        open_valid_i,
  input  logic [$clog2(N_GROUP*N_SLOT)-1:0] open_slot_i,
  // The payload that completed a slot has entered the adder.
  input  logic                        freed_valid_i,
  input  logic [$clog2(N_GROUP*N_SLOT)-1:0] freed_slot_i,

  output logic                        asking_o,    // a question of lk_group_o is inside
  output logic [32*N_GROUP-1:0]       base_o,      // of each group: its oldest piece
  output logic [N_GROUP-1:0]          progress_o,  // a piece is done
  // Of one group, since it began: packets that were there already, or came too early.
  input  logic [$clog2(N_GROUP)-1:0]  query_group_i,
  output logic [31:0]                 query_duplicates_o,
  output logic [31:0]                 query_not_ready_o,
  // Pulses for counters.
  output logic                        accepted_o,
  output logic                        duplicate_o,
  output logic                        not_ready_o,
  output logic                        refused_o
);
  localparam int unsigned GW = $clog2(N_GROUP);
  localparam int unsigned SW = $clog2(N_SLOT);
  localparam int unsigned NS = N_GROUP * N_SLOT;
  localparam int unsigned IW = arp_pkg::SLOT_W;

  if (N_GROUP < 2 || N_GROUP > 16 || (N_GROUP & (N_GROUP - 1)) != 0) begin : gen_check_groups
    $error("arp_window: N_GROUP must be 2, 4, 8 or 16");
  end
  if (N_SLOT < 4 || N_SLOT > 256 || (N_SLOT & (N_SLOT - 1)) != 0) begin : gen_check_slots
    $error("arp_window: N_SLOT must be a power of two, 4..256");
  end

  typedef enum logic [1:0] {IDLE, READ, ANSWER} state_e;
  state_e state_q, state_d;

  logic [NS-1:0] open_q, fresh_q, done_q;
  logic [31:0]   base_q [N_GROUP];
  logic [31:0]   duplicates_q [N_GROUP];
  logic [31:0]   not_ready_q [N_GROUP];
  assign query_duplicates_o = duplicates_q[query_group_i];
  assign query_not_ready_o = not_ready_q[query_group_i];

  // ---------------------------------------------------------------------------------- the question
  arp_pkg::ask_t        ask_q;
  logic [GW-1:0]        group;
  logic [GW+SW-1:0]     slot;
  logic [IW-1:0]        info_bits;
  arp_pkg::slot_t       info;
  logic [23:0]          peer_qpn;
  logic [15:0]          stored_map, map;
  logic [3:0]           stored_cnt, cnt;
  logic                 take, put;
  assign group = ask_q.group[GW-1:0];
  assign slot = {group, ask_q.slot[SW-1:0]};
  assign lk_group_o = group;
  assign ask_ready = state_q == IDLE;
  assign take = ask_valid && ask_ready;

  ram_sdp #(.W(IW), .DEPTH(NS)) u_info (
    .clk_i, .wr_en_i(desc_valid_i), .wr_addr_i(desc_slot_i), .wr_data_i(desc_i),
    .rd_en_i(state_q == READ), .rd_addr_i(slot), .rd_data_o(info_bits));
  assign info = info_bits;
  ram_sdp #(.W(24), .DEPTH(N_GROUP * 16)) u_peers (
    .clk_i, .wr_en_i(peer_wr_i), .wr_addr_i(peer_i), .wr_data_i(peer_qpn_i),
    .rd_en_i(state_q == READ), .rd_addr_i({group, ask_q.contributor[3:0]}), .rd_data_o(peer_qpn));
  // Who has been added, and how many; a fresh slot has nobody.
  ram_sdp #(.W(20), .DEPTH(NS)) u_maps (
    .clk_i, .wr_en_i(put), .wr_addr_i(slot),
    .wr_data_i({map | 16'd1 << ask_q.contributor[3:0], cnt + 4'd1}),
    .rd_en_i(state_q == READ), .rd_addr_i(slot), .rd_data_o({stored_map, stored_cnt}));
  assign map = fresh_q[slot] ? 16'd0 : stored_map;
  assign cnt = fresh_q[slot] ? 4'd0 : stored_cnt;

  // --------------------------------------------------------------------------------- the judgement
  logic [31:0] ahead;
  logic [4:0]  prev, turn, need;
  logic        stranger, mismatch, here, known, last, in_turn;
  logic        opened_q;  // the slot waited for this piece when it was read
  assign ahead = ask_q.slot - base_q[group];
  assign prev = lk_cfg_i.rank == 5'd0 ? lk_cfg_i.ranks - 5'd1 : lk_cfg_i.rank - 5'd1;
  assign turn = lk_cfg_i.rank + 5'd1 + {1'b0, cnt};
  assign need = info.add && !lk_cfg_i.ring ? lk_cfg_i.ranks - 5'd1 : 5'd1;
  assign last = {1'b0, cnt} + 5'd1 == need;
  assign stranger = |(ask_q.group >> GW) || lk_state_i == arp_pkg::GRP_FREE ||
      |ask_q.contributor[7:5] || ask_q.contributor[4:0] >= lk_cfg_i.ranks ||
      ask_q.contributor[4:0] == lk_cfg_i.rank || peer_qpn != ask_q.qpn ||
      ask_q.elem != lk_cfg_i.elem || (lk_cfg_i.ring && ask_q.contributor[4:0] != prev);
  assign mismatch = info.offset != ask_q.offset || info.len != ask_q.len ||
      info.add == ask_q.result;
  assign here = lk_state_i == arp_pkg::GRP_RUN && opened_q;
  assign known = map[ask_q.contributor[3:0]];
  assign in_turn = !lk_cfg_i.fixed || lk_cfg_i.ring ||
      ask_q.contributor[4:0] == (turn >= lk_cfg_i.ranks ? turn - lk_cfg_i.ranks : turn);

  logic [2:0] verdict;
  always_comb begin
    verdict = arp_pkg::ANS_ACCEPT;
    if (stranger) verdict = arp_pkg::ANS_REFUSE;
    else if (lk_state_i == arp_pkg::GRP_ABORTING || lk_state_i == arp_pkg::GRP_ABORTED)
      verdict = arp_pkg::ANS_ABORTED;
    else if (ahead[31]) verdict = arp_pkg::ANS_DUPLICATE;
    else if (!here) verdict = arp_pkg::ANS_NOT_READY;
    else if (mismatch) verdict = arp_pkg::ANS_REFUSE;
    else if (known) verdict = arp_pkg::ANS_DUPLICATE;
    else if (!in_turn || (info.fwd && !lk_credit_i)) verdict = arp_pkg::ANS_NOT_READY;
  end

  // The verdict of the first cycle is kept while the answer waits.
  logic       kept_q;
  logic [2:0] verdict_q;
  assign ans = kept_q ? verdict_q : verdict;
  assign ans_valid = state_q == ANSWER && (ans != arp_pkg::ANS_ACCEPT || plan_room_i);
  assign put = ans_valid && ans_ready && ans == arp_pkg::ANS_ACCEPT;
  assign plan_valid_o = put;
  always_comb begin
    plan_o = '0;
    plan_o.group = 8'(group);
    plan_o.slot = 8'(ask_q.slot[SW-1:0]);
    plan_o.init = !info.add;
    plan_o.emit = last;
    plan_o.number = ask_q.slot;
    plan_o.result = ask_q.result || info.wr;
    plan_o.info = info;
  end
  assign asking_o = state_q != IDLE;
  assign accepted_o = put;
  assign duplicate_o = ans_valid && ans_ready && ans == arp_pkg::ANS_DUPLICATE;
  assign not_ready_o = ans_valid && ans_ready && ans == arp_pkg::ANS_NOT_READY;
  assign refused_o = ans_valid && ans_ready &&
      (ans == arp_pkg::ANS_REFUSE || ans == arp_pkg::ANS_ABORTED);

  always_comb begin
    state_d = state_q;
    case (state_q)
      IDLE: if (ask_valid) state_d = READ;
      READ: state_d = ANSWER;
      default: if (ans_valid && ans_ready) state_d = IDLE;
    endcase
  end

  // ------------------------------------------------------------- slots come free, group by group
  logic [GW-1:0]    visit_q;
  logic [GW+SW-1:0] oldest;
  logic             advance;
  assign oldest = {visit_q, base_q[visit_q][SW-1:0]};
  assign advance = done_q[oldest] && !(clear_valid_i && clear_group_i == visit_q);
  always_comb begin
    progress_o = '0;
    progress_o[visit_q] = advance;
  end
  for (genvar g = 0; g < N_GROUP; g++) begin : gen_base
    assign base_o[32*g +: 32] = base_q[g];
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (take) ask_q <= ask;
    if (state_q == READ) opened_q <= open_q[slot] && ahead < N_SLOT;
    kept_q <= state_q == ANSWER && !(ans_valid && ans_ready) && (kept_q || ans_valid);
    if (state_q == ANSWER && !kept_q) verdict_q <= verdict;
    visit_q <= visit_q + 1'b1;

    if (duplicate_o) duplicates_q[group] <= duplicates_q[group] + 32'd1;
    if (not_ready_o) not_ready_q[group] <= not_ready_q[group] + 32'd1;
    if (desc_valid_i) fresh_q[desc_slot_i] <= 1'b1;
    if (put) fresh_q[slot] <= 1'b0;
    if (open_valid_i) open_q[open_slot_i] <= 1'b1;
    if (freed_valid_i) done_q[freed_slot_i] <= 1'b1;
    if (advance) begin
      base_q[visit_q] <= base_q[visit_q] + 32'd1;
      done_q[oldest] <= 1'b0;
      open_q[oldest] <= 1'b0;
    end
    if (clear_valid_i) begin
      base_q[clear_group_i] <= 32'd0;
      duplicates_q[clear_group_i] <= 32'd0;
      not_ready_q[clear_group_i] <= 32'd0;
      open_q[N_SLOT*clear_group_i +: N_SLOT] <= '0;
      done_q[N_SLOT*clear_group_i +: N_SLOT] <= '0;
    end
    if (rst_i) begin
      state_q <= IDLE;
      kept_q <= 1'b0;
      visit_q <= '0;
      open_q <= '0;
      done_q <= '0;
    end
  end

  logic unused;
  assign unused = ^{lk_cfg_i, ask_q.contributor};

  `RNIC_STREAM_HOLD(ans_valid, ans_ready, ans)
  `RNIC_ASSERT(freed_was_open, !freed_valid_i || (open_q[freed_slot_i] && !done_q[freed_slot_i]))
  `RNIC_ASSERT(opened_was_closed, !open_valid_i || !open_q[open_slot_i])
endmodule
