// SPDX-License-Identifier: Apache-2.0
// The saved READs and ATOMICs of every QP: a ring of 16 per QP, what of each is still to be
// answered, how far the answer has come, the results of ATOMICs; and which QPs are open, that is,
// have answers that are not yet out of tx_buffer.
//
// One operation per cycle on the control words, in this priority: a new request, CLEAR, KILL, the
// end of a turn, RELEASE, a duplicate. A QP with something to answer stands once in the work list.
//
// pend: to be answered. rdy: may be answered (a READ whose earlier writes are done, an ATOMIC that
// was executed). fresh: not answered for the first time. Entries are answered in ring order, so an
// entry that is not rdy holds those behind it. Nothing is lost: a request that finds the ring full
// of fresh ones is refused.
`include "rnic_assert.svh"
module resp_store #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1
) (
    input  logic               clk_i,
    input  logic               rst_i,
    // a request in the cycle after it was taken
    input  logic               item_valid_i,
    input  rnic_pkg::ack_req_t item_i,
    input  logic               item_waits_i,  // an ACK of its QP waits
    output logic               refuse_o,      // the ring is full: too many outstanding
    output logic               dead_o,        // the QP failed: the request is void
    output logic               fresh_o,       // entered the ring
    output logic               dup_o,         // a duplicate to look for
    output logic [3:0]         index_o,       // its place in the ring
    output logic [3:0]         life_o,        // counts CLEARs: older things in flight are void
    output logic [4:0]         depth_o,       // fresh ones of the QP before it
    // the QP starts anew
    input  logic               clear_valid,
    output logic               clear_ready,
    input  logic [AW-1:0]      clear_idx,
    // a fatal NAK: this entry and those behind it are void, the QP is dead
    input  logic               kill_valid,
    output logic               kill_ready,
    input  logic [AW-1:0]      kill_idx,
    input  logic [3:0]         kill_index,
    input  logic [3:0]         kill_life,
    input  logic               kill_all,      // every entry, whatever life
    output logic               kill_live_o,   // with kill_ready: the entry was to be answered
    // end of a turn
    input  logic               turn_valid,
    output logic               turn_ready,
    input  logic [AW-1:0]      turn_idx,
    input  logic [3:0]         turn_index,
    input  logic [5:0]         turn_head,
    output logic               turn_dead_o,   // a fatal NAK waits
    input  logic               turn_done,     // the entry is answered; else go on at turn_k
    input  logic [23:0]        turn_k,
    input  logic               turn_first,    // nothing of it was sent since it was executed
    // an entry may be answered now
    input  logic               rel_valid,
    output logic               rel_ready,
    input  logic [AW-1:0]      rel_idx,
    input  logic [3:0]         rel_index,
    input  logic [3:0]         rel_life,
    input  logic               rel_result,    // an ATOMIC: save rel_value
    input  logic [63:0]        rel_value,
    // a duplicate was found: answer it (again) from packet again_k on
    input  logic               again_valid,
    output logic               again_ready,
    input  logic [AW-1:0]      again_idx,
    input  logic [3:0]         again_index,
    input  logic [3:0]         again_life,
    input  logic [5:0]         again_head,
    input  logic [23:0]        again_k,
    // work list: its head, and the first entry of that QP
    output logic               work_valid,
    input  logic               work_ready,    // taken, or dropped (work_drop_i)
    input  logic               work_drop_i,   // has nothing to answer now
    output logic [AW-1:0]      work_idx,
    input  logic               work_hold_i,   // its class is paused: it goes to the end of the list
    output logic               work_rdy_o,    // its first entry is rdy
    output logic [3:0]         work_index_o,
    output logic [5:0]         work_head_o,   // for turn_head
    output logic [3:0]         work_life_o,
    output logic               work_fresh_o,  // it is answered for the first time
    // entries, by resp_turn (0) and resp_dup (1): read in one cycle, there in the next
    input  logic [1:0]         rd_en_i,
    input  logic [AW+3:0]      rd_addr0_i,
    input  logic [AW+3:0]      rd_addr1_i,
    output logic [177:0]       rd_entry0_o,
    output logic [177:0]       rd_entry1_o,
    output logic [24:0]        rd_k0_o,       // {a first response is next, packet}
    output logic [24:0]        rd_k1_o,
    output logic [63:0]        rd_value_o,
    // control word of a QP, for resp_dup
    input  logic [AW-1:0]      dup_idx_i,
    output logic [5:0]         dup_head_o,
    output logic [4:0]         dup_saved_o,
    output logic [15:0]        dup_pend_o,
    // for resp_gate
    input  logic [AW-1:0]      gate_idx_i,
    input  logic [3:0]         gate_index_i,
    input  logic [3:0]         gate_life_i,
    output logic               gate_current_o, // that entry is to be answered
    // packets into and out of tx_buffer
    input  logic               sub_valid_i,
    input  logic [AW-1:0]      sub_idx_i,
    input  logic               left_valid_i,
    input  logic [AW-1:0]      left_idx_i,
    output logic [N_QP-1:0]    open_o,
    output logic               freed_valid_o,
    output logic [AW-1:0]      freed_idx_o
);
  typedef struct packed {
    logic [3:0]  life;
    logic [5:0]  head;    // requests entered, modulo 64
    logic [4:0]  saved;   // entries that mean something, 0..16
    logic [15:0] pend;
    logic [15:0] rdy;
    logic [15:0] fresh;
  } ctl_t;
  localparam int unsigned CTL_W = 63;
  logic [CTL_W-1:0] ctl_mem[N_QP];
  logic [N_QP-1:0] known_q;   // ctl_mem means something; else it reads as 0
  logic [N_QP-1:0] dead_q, in_work_q, open_q;

  // -- operation
  typedef enum logic [2:0] {OP_NONE, OP_ITEM, OP_CLEAR, OP_KILL, OP_TURN, OP_REL, OP_AGAIN} op_e;
  op_e op;
  logic [AW-1:0] op_idx, item_idx;
  logic [3:0] op_index;
  ctl_t c, n, ci;
  logic op_item, void_op, over_written, empties;
  logic [5:0] age_turn, age_again;
  logic [15:0] bit_i, from_mask;
  logic is_new, full;
  logic chk_room;

  assign item_idx = item_i.qpn[AW-1:0];
  assign op_item = item_valid_i && item_i.kind != rnic_pkg::ACKR_ACK;
  always_comb begin
    op = OP_NONE;
    op_idx = item_idx;
    op_index = 4'd0;
    if (op_item) begin
      op = OP_ITEM;
    end else if (clear_valid) begin
      op = OP_CLEAR;
      op_idx = clear_idx;
    end else if (kill_valid && chk_room) begin
      op = OP_KILL;
      op_idx = kill_idx;
      op_index = kill_index;
    end else if (turn_valid && chk_room) begin
      op = OP_TURN;
      op_idx = turn_idx;
      op_index = turn_index;
    end else if (rel_valid) begin
      op = OP_REL;
      op_idx = rel_idx;
      op_index = rel_index;
    end else if (again_valid) begin
      op = OP_AGAIN;
      op_idx = again_idx;
      op_index = again_index;
    end
  end
  assign clear_ready = op == OP_CLEAR;
  assign kill_ready = op == OP_KILL;
  assign turn_ready = op == OP_TURN;
  assign rel_ready = op == OP_REL;
  assign again_ready = op == OP_AGAIN;

  assign c = known_q[op_idx] ? ctl_mem[op_idx] : '0;
  assign is_new = op_item && !item_i.dup && !dead_o;
  assign dead_o = dead_q[item_idx];
  assign turn_dead_o = dead_q[turn_idx];
  // The request's own look at its control word, so that it waits for no arbitration.
  assign ci = known_q[item_idx] ? ctl_mem[item_idx] : '0;
  assign index_o = ci.head[3:0];
  assign life_o = ci.life;
  assign full = ci.pend[ci.head[3:0]] && ci.fresh[ci.head[3:0]];
  assign refuse_o = is_new && full;
  assign fresh_o = is_new && !full;
  assign dup_o = op_item && item_i.dup && !dead_o;
  always_comb begin
    depth_o = 5'd0;
    if (is_new) begin
      for (int unsigned i = 0; i < 16; i++) depth_o = depth_o + {4'd0, ci.pend[i] && ci.fresh[i]};
    end
  end

  // Entries from a place on, in ring order; the oldest one is at head.
  logic [3:0] kill_pos;
  assign kill_pos = kill_all ? 4'd0 : kill_index - c.head[3:0];
  for (genvar i = 0; i < 16; i++) begin : gen_from
    logic [3:0] pos;
    assign pos = 4'(i) - c.head[3:0];
    assign from_mask[i] = pos >= kill_pos;
  end
  assign bit_i = 16'd1 << op_index;
  assign age_turn = c.head - turn_head;
  assign age_again = c.head - again_head;
  assign kill_live_o = kill_all || (kill_life == c.life && (c.pend & bit_i) != 16'd0);

  always_comb begin
    n = c;
    over_written = 1'b0;
    void_op = 1'b0;
    unique case (op)
      OP_ITEM: begin
        if (fresh_o) begin
          n.head = c.head + 6'd1;
          if (c.saved != 5'd16) n.saved = c.saved + 5'd1;
          n.pend[c.head[3:0]] = 1'b1;
          n.rdy[c.head[3:0]] = 1'b0;
          n.fresh[c.head[3:0]] = 1'b1;
        end
      end
      OP_CLEAR: begin
        n = '0;
        n.life = c.life + 4'd1;
      end
      OP_KILL: begin
        if (kill_live_o) begin
          n.pend = c.pend & ~from_mask;
          n.rdy = c.rdy & ~from_mask;
          n.fresh = c.fresh & ~from_mask;
        end
      end
      OP_TURN: begin
        // A newer request took the entry's place: leave it alone.
        over_written = age_turn > 6'd16;
        if (turn_done && !over_written) begin
          n.pend = c.pend & ~bit_i;
          n.rdy = c.rdy & ~bit_i;
          n.fresh = c.fresh & ~bit_i;
        end
      end
      OP_REL: begin
        void_op = rel_life != c.life || (c.pend & bit_i) == 16'd0;
        if (!void_op) n.rdy = c.rdy | bit_i;
      end
      OP_AGAIN: begin
        over_written = age_again > 6'd16;
        void_op = again_life != c.life || over_written || dead_q[op_idx];
        if (!void_op) begin
          n.pend = c.pend | bit_i;
          n.rdy = c.rdy | bit_i;
        end
      end
      default: ;
    endcase
  end

  // First entry to be answered, in ring order.
  logic [15:0] turned_n, turned_w, first_n, first_w;
  logic [3:0] first_i;
  ctl_t w;
  logic n_rdy;
  assign turned_n = 16'({n.pend, n.pend} >> n.head[3:0]);
  assign first_n = turned_n & (~turned_n + 16'd1);
  assign n_rdy = (first_n & 16'({n.rdy, n.rdy} >> n.head[3:0])) != 16'd0;

  assign w = ctl_mem[work_idx];
  assign turned_w = 16'({w.pend, w.pend} >> w.head[3:0]);
  assign first_w = turned_w & (~turned_w + 16'd1);
  assign first_i = {|first_w[15:8], |{first_w[15:12], first_w[7:4]},
                    |{first_w[15:14], first_w[11:10], first_w[7:6], first_w[3:2]},
                    |{first_w[15], first_w[13], first_w[11], first_w[9], first_w[7], first_w[5],
                      first_w[3], first_w[1]}};
  assign work_index_o = first_i + w.head[3:0];
  assign work_life_o = w.life;
  assign work_fresh_o = (first_w & 16'({w.fresh, w.fresh} >> w.head[3:0])) != 16'd0;
  // what head was when that entry was entered
  logic [3:0] work_back;
  assign work_back = w.head[3:0] - 4'd1 - work_index_o;
  assign work_head_o = w.head - 6'd1 - {2'd0, work_back};
  assign work_rdy_o = (first_w & 16'({w.rdy, w.rdy} >> w.head[3:0])) != 16'd0;

  // -- work list
  logic list_put, list_ready, list_valid;
  localparam int unsigned LIST_DEPTH = (N_QP < 2) ? 2 : N_QP + 1;  // one may go round
  logic [$clog2(LIST_DEPTH+1)-1:0] unused_level;
  // An operation on the QP at the head is seen by the next look.
  logic head_busy, held, round;
  assign head_busy = op != OP_NONE && op_idx == work_idx;
  assign held = work_hold_i && work_rdy_o;
  assign work_valid = list_valid && !head_busy && !held;
  assign round = list_valid && !head_busy && held && !list_put;
  assign list_put = (op == OP_TURN && n_rdy) ||
                    ((op == OP_REL || op == OP_AGAIN) && !void_op && !in_work_q[op_idx]);
  stream_fifo #(
      .W(AW),
      .DEPTH(LIST_DEPTH),
      .OUT_REG(0)
  ) u_work (
      .clk_i,
      .rst_i,
      .in_valid(list_put || round),
      .in_ready(list_ready),
      .in_data(round ? work_idx : op_idx),
      .out_valid(list_valid),
      .out_ready((work_valid && work_ready) || round),
      .out_data(work_idx),
      .level_o(unused_level)
  );

  always_ff @(posedge clk_i) begin
    if (op != OP_NONE) begin
      ctl_mem[op_idx] <= n;
      known_q[op_idx] <= 1'b1;
    end
    if (work_valid && work_ready && work_drop_i) in_work_q[work_idx] <= 1'b0;
    if (op == OP_TURN) in_work_q[op_idx] <= n_rdy;
    if ((op == OP_REL || op == OP_AGAIN) && !void_op) in_work_q[op_idx] <= 1'b1;
    if (refuse_o) dead_q[op_idx] <= 1'b1;
    if (op == OP_KILL && kill_live_o) dead_q[op_idx] <= 1'b1;
    if (op == OP_CLEAR) dead_q[op_idx] <= 1'b0;
    if (rst_i) begin
      known_q <= '0;
      in_work_q <= '0;
      dead_q <= '0;
    end
  end
  ctl_t g;
  assign g = ctl_mem[gate_idx_i];
  assign gate_current_o = known_q[gate_idx_i] && g.life == gate_life_i && g.pend[gate_index_i];

  // -- entries
  ctl_t d;
  assign d = known_q[dup_idx_i] ? ctl_mem[dup_idx_i] : '0;
  assign dup_head_o = d.head;
  assign dup_saved_o = d.saved;
  assign dup_pend_o = d.pend;
  logic [177:0] entry;
  assign entry = {item_waits_i, item_i.kind == rnic_pkg::ACKR_ATOMIC, item_i.psn, item_i.msn,
                  item_i.va, item_i.rkey, item_i.len};
  ram_1w_nr #(.W(178), .DEPTH(2**AW * 16), .N_RD(2)) u_entries (
      .clk_i,
      .wr_en_i(fresh_o),
      .wr_addr_i({item_idx, index_o}),
      .wr_data_i(entry),
      .rd_en_i,
      .rd_addr_i({rd_addr1_i, rd_addr0_i}),
      .rd_data_o({rd_entry1_o, rd_entry0_o})
  );
  logic k_en;
  logic [24:0] k_new;
  logic [3:0] k_index;
  assign k_en = fresh_o || (op == OP_TURN && !turn_done && !over_written) ||
                (op == OP_AGAIN && !void_op);
  assign k_new = fresh_o ? {1'b1, 24'd0} : op == OP_TURN ? {turn_first, turn_k} : {1'b1, again_k};
  assign k_index = fresh_o ? c.head[3:0] : op_index;
  ram_1w_nr #(.W(25), .DEPTH(2**AW * 16), .N_RD(2)) u_progress (
      .clk_i,
      .wr_en_i(k_en),
      .wr_addr_i({op_idx, k_index}),
      .wr_data_i(k_new),
      .rd_en_i,
      .rd_addr_i({rd_addr1_i, rd_addr0_i}),
      .rd_data_o({rd_k1_o, rd_k0_o})
  );
  ram_sdp #(.W(64), .DEPTH(2**AW * 16)) u_values (
      .clk_i,
      .wr_en_i(op == OP_REL && !void_op && rel_result),
      .wr_addr_i({op_idx, op_index}),
      .wr_data_i(rel_value),
      .rd_en_i(rd_en_i[0]),
      .rd_addr_i(rd_addr0_i),
      .rd_data_o(rd_value_o)
  );

  // -- open: pend, or packets in tx_buffer. Looked at when a packet left and when an entry went.
  logic [8:0] sub_mem[N_QP], left_mem[N_QP];
  logic [N_QP-1:0] sub_known_q, left_known_q;
  logic [8:0] sub_now, left_now, chk_sub, chk_left;
  logic chk_q, late_q, chk_go, chk_empty;   // late_q: an operation's look waits
  logic [AW-1:0] chk_idx_q, late_idx_q, look_idx;
  ctl_t k;
  assign sub_now = sub_known_q[sub_idx_i] ? sub_mem[sub_idx_i] : 9'd0;
  assign left_now = left_known_q[left_idx_i] ? left_mem[left_idx_i] : 9'd0;
  assign empties = (op == OP_KILL || op == OP_TURN) && n.pend == 16'd0;
  assign chk_room = !late_q || !chk_q;
  assign chk_go = chk_q || late_q;
  assign look_idx = chk_q ? chk_idx_q : late_idx_q;
  assign k = known_q[look_idx] ? ctl_mem[look_idx] : '0;
  assign chk_sub = sub_known_q[look_idx] ? sub_mem[look_idx] : 9'd0;
  assign chk_left = left_known_q[look_idx] ? left_mem[look_idx] : 9'd0;
  assign chk_empty = chk_go && open_q[look_idx] && k.pend == 16'd0 && chk_sub == chk_left &&
                     !(fresh_o && op_idx == look_idx) && !(again_ready && op_idx == look_idx);

  always_ff @(posedge clk_i) begin
    if (sub_valid_i) begin
      sub_mem[sub_idx_i] <= sub_now + 9'd1;
      sub_known_q[sub_idx_i] <= 1'b1;
    end
    if (left_valid_i) begin
      left_mem[left_idx_i] <= left_now + 9'd1;
      left_known_q[left_idx_i] <= 1'b1;
    end
    chk_q <= left_valid_i;
    chk_idx_q <= left_idx_i;
    if (empties) begin
      late_q <= 1'b1;
      late_idx_q <= op_idx;
    end else if (!chk_q) begin
      late_q <= 1'b0;
    end
    freed_valid_o <= chk_empty;
    freed_idx_o <= look_idx;
    if (op == OP_CLEAR) open_q[op_idx] <= 1'b0;
    if (chk_empty) open_q[look_idx] <= 1'b0;
    if (fresh_o || (op == OP_AGAIN && !void_op)) open_q[op_idx] <= 1'b1;
    if (rst_i) begin
      sub_known_q <= '0;
      left_known_q <= '0;
      chk_q <= 1'b0;
      late_q <= 1'b0;
      freed_valid_o <= 1'b0;
      open_q <= '0;
    end
  end
  assign open_o = open_q;

  logic unused;
  assign unused = ^{item_i, c, ci, w, g, d, k, first_i, unused_level};

  `RNIC_ASSERT(list_room, !list_put || list_ready)
  `RNIC_ASSERT(released_again, !(op == OP_REL && !void_op && (c.rdy & bit_i) != 16'd0 &&
               (c.fresh & bit_i) != 16'd0))
  `RNIC_ASSERT(turn_of_listed, !(op == OP_TURN) || in_work_q[op_idx])
endmodule
