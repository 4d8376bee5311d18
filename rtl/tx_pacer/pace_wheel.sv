// SPDX-License-Identifier: Apache-2.0
// A timing wheel: QPs that wait until a time, in doubly linked lists, one per slot of 16 cycles.
// A QP comes back (due) never before its slot begins, and a cycle or a few behind it; or at once
// when it is taken out. A time that has passed already is due at once.
// 3 cycles to put in, 3 to take out, 4 for one that is due. The lists are rings through their slot;
// a QP that is not in a list is a ring of its own, so taking it out again changes nothing.
`include "rnic_assert.svh"
module pace_wheel #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_SLOT = 512  // power of two
) (
    input  logic                      clk_i,
    input  logic                      rst_i,
    output logic                      init_done_o,
    input  logic [31:0]               now_i,
    // put in at a slot (time / 16, less than half a turn ahead), or take out; taken when there is
    // room
    input  logic                      cmd_i,
    input  logic                      cmd_insert_i,
    input  logic [23:0]               cmd_qpn_i,
    input  logic [27:0]               cmd_slot_i,
    output logic                      room_out_o,  // for orders to take out
    output logic                      room_in_o,   // for QPs to put in
    // a QP is due, or was taken out
    output logic                      due_valid,
    input  logic                      due_ready,
    output logic [23:0]               due_qpn
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned LS = $clog2(N_SLOT);
  localparam int unsigned NODES = (1 << QW) + N_SLOT;
  localparam int unsigned NW = $clog2(NODES);
  localparam int unsigned CMD_W = 1 + QW + LS;

  typedef enum logic [2:0] {W_IDLE, W_IN1, W_IN2, W_OUT1, W_OUT2, W_DUE1, W_DUE2, W_DUE3} state_e;
  state_e s_q, s_d;

  // --------------------------------------------------------------------------------------- orders
  logic             cmd_ready, cmd_valid, cmd_take, insert;
  logic [CMD_W-1:0] cmd;
  logic [QW-1:0]    cmd_qp;
  logic [LS-1:0]    cmd_slot;
  logic [5:0]       cmd_level, due_level;
  stream_fifo #(.W(CMD_W), .DEPTH(32)) u_orders (
      .clk_i,
      .rst_i,
      .in_valid (cmd_i),
      .in_ready (cmd_ready),
      .in_data  ({cmd_insert_i, cmd_qpn_i[QW-1:0], cmd_slot_i[LS-1:0]}),
      .out_valid(cmd_valid),
      .out_ready(cmd_take),
      .out_data (cmd),
      .level_o  (cmd_level)
  );
  assign {insert, cmd_qp, cmd_slot} = cmd;
  // What is admitted finds room in both queues, so orders never wait for what is due to be taken.
  assign room_out_o = cmd_level < 6'd20 && due_level < 6'd20;
  assign room_in_o = cmd_level < 6'd12;

  // ---------------------------------------------------------------------------------- due, turning
  logic          due_push, due_room, due_few, behind, here_q, look;
  logic [QW-1:0] due_qp, due_out;
  logic [LS-1:0] at_q, now_slot, ahead;
  assign now_slot = now_i[LS+3:4];
  assign due_few = due_level < 6'd8;
  assign ahead = cmd_slot - at_q;
  // A quarter of the turn is for times that have passed, one for being late with what is due.
  assign behind = ahead[LS-1] && ahead[LS-2];
  assign look = due_few && (here_q || at_q != now_slot);
  stream_fifo #(.W(QW), .DEPTH(48)) u_due (
      .clk_i,
      .rst_i,
      .in_valid (due_push),
      .in_ready (due_room),
      .in_data  (due_qp),
      .out_valid(due_valid),
      .out_ready(due_ready),
      .out_data (due_out),
      .level_o  (due_level)
  );
  assign due_qpn = 24'(due_out);

  // ---------------------------------------------------------------------------------------- lists
  logic          nr_en, nw_en, pr_en, pw_en;
  logic [NW-1:0] nr_at, nw_at, nw, n_rd, pr_at, pw_at, pw, p_rd;
  logic [NW-1:0] x_q, slot_q, in_slot, at_slot;
  logic [NW:0]   init_q;
  assign init_done_o = init_q == (NW + 1)'(NODES);
  assign in_slot = NW'(1 << QW) + (behind ? NW'(at_q) : NW'(cmd_slot));
  assign at_slot = NW'(1 << QW) + NW'(at_q);
  ram_sdp #(.W(NW), .DEPTH(NODES)) u_next (
      .clk_i,
      .wr_en_i  (nw_en),
      .wr_addr_i(nw_at),
      .wr_data_i(nw),
      .rd_en_i  (nr_en),
      .rd_addr_i(nr_at),
      .rd_data_o(n_rd)
  );
  ram_sdp #(.W(NW), .DEPTH(NODES)) u_prev (
      .clk_i,
      .wr_en_i  (pw_en),
      .wr_addr_i(pw_at),
      .wr_data_i(pw),
      .rd_en_i  (pr_en),
      .rd_addr_i(pr_at),
      .rd_data_o(p_rd)
  );

  logic empty;
  assign empty = n_rd == slot_q;
  always_comb begin
    s_d = s_q;
    nr_en = 1'b0;
    pr_en = 1'b0;
    nw_en = 1'b0;
    pw_en = 1'b0;
    nr_at = NW'(cmd_qp);
    pr_at = insert ? in_slot : NW'(cmd_qp);
    nw_at = x_q;
    pw_at = x_q;
    nw = x_q;
    pw = x_q;
    cmd_take = 1'b0;
    due_push = 1'b0;
    due_qp = x_q[QW-1:0];
    unique case (s_q)
      W_IDLE: begin
        if (!init_done_o) begin
          nw_en = 1'b1;
          pw_en = 1'b1;
          nw_at = init_q[NW-1:0];
          pw_at = init_q[NW-1:0];
          nw = init_q[NW-1:0];
          pw = init_q[NW-1:0];
        end else if (cmd_valid) begin
          cmd_take = 1'b1;
          nr_en = !insert;
          pr_en = 1'b1;
          s_d = insert ? W_IN1 : W_OUT1;
        end else if (look) begin
          nr_en = 1'b1;
          nr_at = at_slot;
          s_d = W_DUE1;
        end
      end
      // Behind the last of the slot.
      W_IN1: begin
        nw_en = 1'b1;
        nw_at = p_rd;
        pw_en = 1'b1;
        pw = p_rd;
        s_d = W_IN2;
      end
      W_IN2: begin
        nw_en = 1'b1;
        nw = slot_q;
        pw_en = 1'b1;
        pw_at = slot_q;
        s_d = W_IDLE;
      end
      W_OUT1: begin
        s_d = W_IDLE;
        if (n_rd != x_q) begin
          nw_en = 1'b1;
          nw_at = p_rd;
          nw = n_rd;
          pw_en = 1'b1;
          pw_at = n_rd;
          pw = p_rd;
          s_d = W_OUT2;
        end
      end
      W_OUT2: begin
        nw_en = 1'b1;
        pw_en = 1'b1;
        due_push = 1'b1;
        s_d = W_IDLE;
      end
      W_DUE1: begin
        nr_en = 1'b1;
        nr_at = n_rd;
        s_d = empty ? W_IDLE : W_DUE2;
      end
      W_DUE2: begin
        nw_en = 1'b1;
        nw_at = slot_q;
        nw = n_rd;
        pw_en = 1'b1;
        pw_at = n_rd;
        pw = slot_q;
        s_d = W_DUE3;
      end
      default: begin
        nw_en = 1'b1;
        pw_en = 1'b1;
        due_push = 1'b1;
        s_d = W_IDLE;
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    s_q <= s_d;
    if (!init_done_o) init_q <= init_q + 1'b1;
    if (s_q == W_IDLE) begin
      x_q <= NW'(cmd_qp);
      slot_q <= cmd_valid ? in_slot : at_slot;
    end
    if (s_q == W_DUE1) x_q <= n_rd;
    // A slot is left when it is empty and its time is over; here_q: it must be looked into.
    if (!init_done_o) begin
      at_q <= now_slot;
      here_q <= 1'b0;
    end else if (s_q == W_DUE1 && empty) begin
      here_q <= 1'b0;
      if (at_q != now_slot) begin
        at_q <= at_q + 1'b1;
        here_q <= 1'b1;
      end
    end else if (s_q == W_IDLE && cmd_valid && insert && (behind || ahead == '0)) begin
      here_q <= 1'b1;
    end
    if (rst_i) begin
      s_q <= W_IDLE;
      init_q <= '0;
    end
  end

  logic unused;
  assign unused = ^{now_i, cmd_slot_i, cmd_qpn_i};

  `RNIC_ASSERT(orders_fit, !cmd_i || cmd_ready)
  `RNIC_ASSERT(due_fit, !due_push || due_room)
  `RNIC_ASSERT(put_in_once, !(s_q == W_IN1 && x_q >= NW'(1 << QW)))
endmodule
