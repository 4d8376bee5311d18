// SPDX-License-Identifier: Apache-2.0
//
// Holds decoded WQEs until their QP has a turn: one pool of N_WQE entries, a list per QP in posting
// order.
// One push or pop per cycle; BlueFlame goes first, pops next (they wait in a queue), fetched WQEs
// last. A walk gives its first entry 2 cycles after hd_lk_valid, then one per cycle. The pool never
// overflows: sq_scheduler reserves room before it asks for a fetch or sends a BlueFlame WQE (with
// some slack for pops that wait here). Nothing is dropped but on flush.
`include "rnic_assert.svh"

module wqe_store #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_WQE = 256
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    output logic                  init_done_o,

    // from wqe_fetch_engine; wqe_ready depends on bfw_valid
    input  logic                  wqe_valid,
    output logic                  wqe_ready,
    input  rnic_pkg::wqe_entry_t  wqe,
    // from sq_scheduler: BlueFlame (always taken), and an order to empty the list of a QP
    input  logic                  bfw_valid,
    input  rnic_pkg::wqe_entry_t  bfw,
    input  logic                  flush_valid,
    output logic                  flush_ready,
    input  logic [23:0]           flush_qpn,

    // sq_engine. A lookup begins a walk over the entries that the list has then, oldest first;
    // hd_last marks the last of them, hd_empty comes alone and says that there is none. hd_stop_i
    // ends the walk at once. The next lookup is taken when the walk is over and all pops have been
    // applied.
    input  logic                  hd_lk_valid,
    output logic                  hd_lk_ready,
    input  logic [23:0]           hd_lk_qpn,
    output logic                  hd_valid,
    input  logic                  hd_ready,
    output logic                  hd_empty,
    output logic                  hd_last,
    output rnic_pkg::wqe_entry_t  hd,
    input  logic                  hd_stop_i,
    input  logic                  pop_valid,
    input  logic [23:0]           pop_qpn
);
  localparam int unsigned NW = $clog2(N_WQE);
  localparam int unsigned CW = $clog2(N_WQE + 1);
  localparam int unsigned WQE_W = $bits(wqe);
  localparam int unsigned POPS = 32;

  // ------------------------------------------------------------------------------ pops, in a queue
  logic        pq_in_ready, pq_valid, pq_ready;
  logic [23:0] pq_qpn;
  logic [5:0]  pq_level;
  stream_fifo #(.W(24), .DEPTH(POPS), .OUT_REG(0)) u_pops (
      .clk_i,
      .rst_i,
      .in_valid (pop_valid),
      .in_ready (pq_in_ready),
      .in_data  (pop_qpn),
      .out_valid(pq_valid),
      .out_ready(pq_ready),
      .out_data (pq_qpn),
      .level_o  (pq_level)
  );
  assign pq_ready = !bfw_valid;

  // ------------------------------------------------------------------------------------- the lists
  logic          push_ready, push_fire;
  logic [NW-1:0] push_node, head, next, ptr_q;
  logic [CW-1:0] count, free;
  logic          lk_fire;
  logic          walk1_q, valid_q, empty_q, last_q, rd_en;
  logic [CW-1:0] left_q;
  logic [NW-1:0] rd_node;
  rnic_pkg::wqe_entry_t push;
  assign push = bfw_valid ? bfw : wqe;
  assign wqe_ready = push_ready && !bfw_valid;
  assign push_fire = push_ready && (bfw_valid || wqe_valid);
  assign lk_fire = hd_lk_valid && hd_lk_ready;

  qp_lists #(.N_QP(N_QP), .N_NODE(N_WQE)) u_lists (
      .clk_i,
      .rst_i,
      .init_done_o,
      .push_valid (bfw_valid || wqe_valid),
      .push_ready (push_ready),
      .push_qpn   (push.qpn),
      .push_node  (push_node),
      .pop_valid  (pq_valid && pq_ready),
      .pop_qpn    (pq_qpn),
      .clear_valid(flush_valid && !pq_valid),
      .clear_ready(flush_ready),
      .clear_qpn  (flush_qpn),
      .lk_valid   (lk_fire),
      .lk_qpn     (hd_lk_qpn),
      .lk_head_o  (head),
      .lk_count_o (count),
      .nx_node_i  (walk1_q ? head : ptr_q),
      .nx_next_o  (next),
      .free_o     (free)
  );

  // -------------------------------------------------------------------------------------- the walk
  assign hd_lk_ready = init_done_o && pq_level == '0 && !walk1_q && !valid_q && left_q == '0;
  assign rd_node = walk1_q ? head : ptr_q;
  assign rd_en = (walk1_q && count != '0) || (left_q != '0 && (!valid_q || hd_ready));
  ram_sdp #(.W(WQE_W), .DEPTH(N_WQE)) u_wqes (
      .clk_i,
      .wr_en_i  (push_fire),
      .wr_addr_i(push_node),
      .wr_data_i(push),
      .rd_en_i  (rd_en),
      .rd_addr_i(rd_node),
      .rd_data_o(hd)
  );
  assign hd_valid = valid_q;
  assign hd_empty = empty_q;
  assign hd_last  = last_q;

  always_ff @(posedge clk_i) begin
    walk1_q <= lk_fire;
    if (walk1_q) begin
      valid_q <= 1'b1;
      empty_q <= count == '0;
      last_q  <= count <= CW'(1);
      left_q  <= (count == '0) ? '0 : count - 1'b1;
      ptr_q   <= next;
    end else if (rd_en) begin
      valid_q <= 1'b1;
      last_q  <= left_q == CW'(1);
      left_q  <= left_q - 1'b1;
      ptr_q   <= next;
    end else if (hd_ready) begin
      valid_q <= 1'b0;
    end
    if (hd_stop_i) begin
      valid_q <= 1'b0;
      left_q  <= '0;
    end
    if (rst_i) begin
      walk1_q <= 1'b0;
      valid_q <= 1'b0;
      left_q  <= '0;
    end
  end

  logic unused;
  assign unused = ^free;

  `RNIC_ASSERT(pops_fit, !pop_valid || pq_in_ready)
  `RNIC_ASSERT(bfw_taken, !bfw_valid || push_ready)
  `RNIC_ASSERT(no_stop_in_lookup, !(hd_stop_i && (walk1_q || lk_fire)))
endmodule
