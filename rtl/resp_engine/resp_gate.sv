// SPDX-License-Identifier: Apache-2.0
// Lets READs and ATOMICs go on, in packet order, when every payload write that came before them is
// on the bus (ticket), so that they read what was written. Says whether too many were outstanding.
// READs are released to be answered; ATOMICs go to atomic_unit first.
//
// Throughput: one READ per 3 cycles, one ATOMIC per 4. Latency: 3 cycles from in_valid to release
// when nothing waits. Dropped: requests of a QP that was reset, failed or destroyed meanwhile.
`include "rnic_assert.svh"
module resp_gate #(
    parameter int unsigned AW = 6,
    parameter int unsigned DEPTH = 16
) (
    input  logic               clk_i,
    input  logic               rst_i,
    // requests that entered the ring of resp_store; room_o: two more may come
    input  logic               in_valid,
    output logic               room_o,
    input  rnic_pkg::ack_req_t in_req,
    input  logic [3:0]         in_index,
    input  logic [3:0]         in_life,
    input  logic [4:0]         in_depth,
    input  logic               placed_i,
    // connection half
    output logic               lk_valid,
    input  logic               lk_ready,
    output logic [AW-1:0]      lk_idx,
    input  logic               ctx_valid,
    input  rnic_pkg::qp_conn_t ctx,
    // state of the QP in resp_store
    output logic [AW-1:0]      gate_idx_o,
    output logic [3:0]         gate_index_o,
    output logic [3:0]         gate_life_o,
    input  logic               gate_current_i,
    // READ: release the entry
    output logic               rel_valid,
    input  logic               rel_ready,
    output logic [AW-1:0]      rel_idx,
    output logic [3:0]         rel_index,
    output logic [3:0]         rel_life,
    // ATOMIC: execute
    output logic               at_valid,
    input  logic               at_ready,
    output logic [63:0]        at_addr,
    output logic               at_swap,
    output logic [63:0]        at_op0,
    output logic [63:0]        at_op1,
    output logic [23:0]        at_qpn,
    output logic [23:0]        at_psn,
    output logic               at_sampled,
    output logic [AW+55:0]     at_tag,       // {life, index, QP, PSN, MSN}
    // too many outstanding
    output logic               over_valid,
    input  logic               over_ready,
    output logic [AW-1:0]      over_idx,
    output logic [3:0]         over_index,
    output logic [3:0]         over_life,
    output logic [23:0]        over_psn,
    output logic [23:0]        over_msn      // before the refused message
);
  typedef struct packed {
    logic [3:0]    life;
    logic [3:0]    index;
    logic [4:0]    depth;
    logic          atomic;
    logic [AW-1:0] idx;
    logic [23:0]   psn;
    logic [23:0]   msn;
    logic [15:0]   ticket;
    logic          sampled;
    logic [63:0]   addr;
    logic          swap;
    logic [63:0]   op0;
    logic [63:0]   op1;
  } gate_t;
  localparam int unsigned GW = 272 + AW;

  gate_t in_e, h;
  logic q_valid, q_pop, q_in_ready;
  logic [$clog2(DEPTH+1)-1:0] level;
  logic is_atomic;
  assign is_atomic = in_req.kind == rnic_pkg::ACKR_ATOMIC;
  assign in_e = in_valid ? {in_life, in_index, in_depth, is_atomic, in_req.qpn[AW-1:0], in_req.psn,
                            in_req.msn, in_req.ticket, in_req.sampled, in_req.iova, in_req.swap,
                            in_req.op0, in_req.op1} : '0;
  stream_fifo #(.W(GW), .DEPTH(DEPTH), .OUT_REG(0)) u_queue (
      .clk_i,
      .rst_i,
      .in_valid,
      .in_ready(q_in_ready),
      .in_data(in_e),
      .out_valid(q_valid),
      .out_ready(q_pop),
      .out_data(h),
      .level_o(level)
  );
  assign room_o = 32'(level) < DEPTH - 1;

  // LOOK asks for the context, WAIT gets it, ACT waits for the writes, SEND hands an ATOMIC on.
  typedef enum logic [1:0] {LOOK, WAIT, ACT, SEND} state_e;
  state_e state_q, state_d;
  logic exists_q;
  logic [4:0] limit_q;
  logic [15:0] placed_q, ahead;
  logic current, over, due;
  assign ahead = placed_q - h.ticket;
  assign due = !ahead[15];
  assign current = exists_q && gate_current_i;
  assign over = current && h.depth >= limit_q;

  assign lk_valid = state_q == LOOK && q_valid;
  assign lk_idx = h.idx;
  assign gate_idx_o = h.idx;
  assign gate_index_o = h.index;
  assign gate_life_o = h.life;
  assign over_valid = state_q == ACT && over;
  assign rel_valid = state_q == ACT && current && !over && due && !h.atomic;
  assign at_valid = state_q == SEND;
  assign q_pop = (state_q == ACT && (!current || (over_valid && over_ready) ||
                                     (rel_valid && rel_ready))) || (at_valid && at_ready);
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      LOOK: if (lk_valid && lk_ready) state_d = WAIT;
      WAIT: if (ctx_valid) state_d = ACT;
      ACT: begin
        if (q_pop) state_d = LOOK;
        else if (current && !over && due && h.atomic) state_d = SEND;
      end
      SEND: if (at_ready) state_d = LOOK;
      default: state_d = LOOK;
    endcase
  end
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (state_q == WAIT && ctx_valid) begin
      exists_q <= ctx.exists;
      limit_q <= ctx.max_dest_rd > 8'd16 ? 5'd16 : ctx.max_dest_rd[4:0];
    end
    if (placed_i) placed_q <= placed_q + 16'd1;
    if (rst_i) begin
      state_q <= LOOK;
      placed_q <= 16'd0;
    end
  end

  assign rel_idx = h.idx;
  assign rel_index = h.index;
  assign rel_life = h.life;
  assign at_addr = h.addr;
  assign at_swap = h.swap;
  assign at_op0 = h.op0;
  assign at_op1 = h.op1;
  assign at_qpn = 24'(h.idx);
  assign at_psn = h.psn;
  assign at_sampled = h.sampled;
  assign at_tag = {h.life, h.index, h.idx, h.psn, h.msn};
  assign over_idx = h.idx;
  assign over_index = h.index;
  assign over_life = h.life;
  assign over_psn = h.psn;
  assign over_msn = h.msn - 24'd1;

  logic unused;
  assign unused = ^{in_req, ctx, ahead};

  `RNIC_STREAM_HOLD(at_valid, at_ready, {at_addr, at_op0, at_op1, at_tag})
  `RNIC_ASSERT(gate_room, !in_valid || q_in_ready)
endmodule
