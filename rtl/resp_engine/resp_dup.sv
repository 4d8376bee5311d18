// SPDX-License-Identifier: Apache-2.0
// Finds the saved READ or ATOMIC that a repeated request means and asks resp_store to answer it
// again: a READ from the packet on that the request begins with, if its end is the saved one's end;
// an ATOMIC with its saved result, without executing it. Newest first, one saved entry per cycle.
// Dropped and counted: what matches nothing, and what comes while DEPTH wait (the requester asks
// again). A request that is still to be answered from there on, or executed, needs nothing.
// Facts: roce.md section 4, duplicates.
`include "rnic_assert.svh"
module resp_dup #(
    parameter int unsigned AW = 6,
    parameter int unsigned DEPTH = 8
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic               in_valid,      // always taken
    input  rnic_pkg::ack_req_t in_req,
    input  logic [3:0]         in_life,
    // connection half
    output logic               lk_valid,
    input  logic               lk_ready,
    output logic [AW-1:0]      lk_idx,
    input  logic               ctx_valid,
    input  rnic_pkg::qp_conn_t ctx,
    // resp_store
    output logic [AW-1:0]      dup_idx_o,
    input  logic [5:0]         dup_head_i,
    input  logic [4:0]         dup_saved_i,
    input  logic [15:0]        dup_pend_i,
    output logic               rd_en_o,
    output logic [AW+3:0]      rd_addr_o,
    input  logic [177:0]       rd_entry_i,
    input  logic [24:0]        rd_k_i,
    output logic               again_valid,
    input  logic               again_ready,
    output logic [AW-1:0]      again_idx,
    output logic [3:0]         again_index,
    output logic [3:0]         again_life,
    output logic [5:0]         again_head,
    output logic [23:0]        again_k,
    // resp_turn: the QP it works on; it begins no turn of hold_idx_o
    input  logic               turn_busy_i,
    input  logic [AW-1:0]      turn_idx_i,
    output logic               hold_o,
    output logic [AW-1:0]      hold_idx_o,
    output logic               cnt_dropped_o
);
  typedef struct packed {
    logic [3:0]    life;
    logic          atomic;
    logic [AW-1:0] idx;
    logic [23:0]   psn;
    logic [63:0]   va;
    logic [31:0]   rkey;
    logic [31:0]   len;
  } dup_t;
  localparam int unsigned DW = 157 + AW;
  dup_t in_e, h;
  logic q_valid, q_pop, q_ready;
  logic [$clog2(DEPTH+1)-1:0] level;
  logic is_atomic;
  assign is_atomic = in_req.kind == rnic_pkg::ACKR_ATOMIC;
  assign in_e = in_valid ? {in_life, is_atomic, in_req.qpn[AW-1:0], in_req.psn, in_req.va,
                            in_req.rkey, in_req.len} : '0;
  stream_fifo #(.W(DW), .DEPTH(DEPTH), .OUT_REG(0)) u_queue (
      .clk_i,
      .rst_i,
      .in_valid,
      .in_ready(q_ready),
      .in_data(in_e),
      .out_valid(q_valid),
      .out_ready(q_pop),
      .out_data(h),
      .level_o(level)
  );

  // LOOK asks for the context, WAIT gets it, SCAN reads and compares one entry per cycle, ASK has a
  // match.
  typedef enum logic [1:0] {LOOK, WAIT, SCAN, ASK} state_e;
  state_e state_q, state_d;
  logic [2:0] mtu_q;
  logic exists_q;
  logic [5:0] head_q;
  logic [4:0] left_q;      // entries not compared
  logic [3:0] at_q;        // the entry whose data are here
  logic       here_q, e_waits, e_atomic, hit, exhausted, ready_to_scan, have_q, drop;
  logic [3:0] back;
  logic [23:0] e_psn, e_msn, k, k_q;
  logic [63:0] e_va;
  logic [31:0] e_rkey, e_len;
  logic [36:0] off;
  logic        in_range, same_end, idle_hit, nothing;
  assign {e_waits, e_atomic, e_psn, e_msn, e_va, e_rkey, e_len} = rd_entry_i;
  assign k = h.psn - e_psn;
  assign off = {6'd0, k, 7'd0} << mtu_q;   // packets of 128 << mtu bytes
  assign in_range = k == 24'd0 || (!k[23] && off < {5'd0, e_len});
  assign same_end = h.va == e_va + {27'd0, off} && {5'd0, h.len} + off == {5'd0, e_len} &&
                    h.rkey == e_rkey;
  assign hit = state_q == SCAN && here_q && h.atomic == e_atomic &&
               (h.atomic ? k == 24'd0 : in_range && same_end);
  // It will be answered from there on anyway, or is not executed yet.
  assign idle_hit = dup_pend_i[at_q] && (h.atomic || k >= rd_k_i[23:0]);
  // While resp_turn works on this QP, what has been answered changes.
  assign ready_to_scan = !(turn_busy_i && turn_idx_i == h.idx);
  assign exhausted = state_q == SCAN && here_q && !hit && left_q == 5'd0;
  assign nothing = !exists_q || dup_saved_i == 5'd0;

  assign lk_valid = state_q == LOOK && q_valid;
  assign lk_idx = h.idx;
  assign dup_idx_o = h.idx;
  assign hold_o = state_q != LOOK;
  assign hold_idx_o = h.idx;
  logic begin_scan;
  logic [3:0] next_at;
  assign begin_scan = state_q == WAIT && have_q && ready_to_scan && !nothing;
  assign next_at = state_q == WAIT ? dup_head_i[3:0] - 4'd1 : at_q - 4'd1;
  assign rd_en_o = begin_scan || (state_q == SCAN && !hit && left_q != 5'd0);
  assign rd_addr_o = {h.idx, next_at};

  assign drop = (state_q == WAIT && have_q && nothing) || exhausted;
  assign q_pop = drop || (hit && idle_hit) || (state_q == ASK && again_ready);
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      LOOK: if (lk_valid && lk_ready) state_d = WAIT;
      WAIT: if (begin_scan) state_d = SCAN;
            else if (drop) state_d = LOOK;
      SCAN: if (hit) state_d = idle_hit ? LOOK : ASK;
            else if (exhausted) state_d = LOOK;
      ASK: if (again_ready) state_d = LOOK;
      default: state_d = LOOK;
    endcase
  end
  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (state_q == LOOK) have_q <= 1'b0;
    if (state_q == WAIT && ctx_valid) begin
      have_q <= 1'b1;
      mtu_q <= ctx.mtu;
      exists_q <= ctx.exists;
    end
    here_q <= rd_en_o;
    if (rd_en_o) at_q <= next_at;
    if (begin_scan) begin
      head_q <= dup_head_i;
      left_q <= dup_saved_i - 5'd1;
    end else if (rd_en_o) begin
      left_q <= left_q - 5'd1;
    end
    if (hit) k_q <= k;
    cnt_dropped_o <= drop || (in_valid && !q_ready);
    if (rst_i) begin
      state_q <= LOOK;
      here_q <= 1'b0;
      cnt_dropped_o <= 1'b0;
    end
  end
  assign again_valid = state_q == ASK;
  assign again_idx = h.idx;
  assign again_index = at_q;
  assign again_life = h.life;
  assign again_head = head_q - 6'd1 - {2'd0, back};
  assign back = head_q[3:0] - 4'd1 - at_q;
  assign again_k = k_q;

  logic unused;
  assign unused = ^{in_req, ctx, e_waits, e_msn, level, rd_k_i};
endmodule
