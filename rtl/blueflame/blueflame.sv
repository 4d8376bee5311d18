// SPDX-License-Identifier: Apache-2.0
// BAR1, BlueFlame: a WQE that software pushes in whole 64-byte blocks is handed to sq_scheduler
// without a fetch. The WQE is in the ring as well, so whatever cannot be executed from the push
// becomes a plain doorbell behind it. Throughput: one block per cycle. Latency: 2 cycles from the
// last beat of the WQE's second or only block to bf_valid. Order: pushes leave in the order of
// their first blocks. Becomes a doorbell (bf_fallbacks): a push whose blocks do not follow one
// another or stop for IDLE_CYCLES, a WQE with links or an impossible segment count. A push begins
// at a multiple of 4 KB in its slice (of the slice, if that is smaller), so that the rest of a
// broken push is never taken for a WQE. Dropped and counted (doorbell_refused): blocks that begin
// no push, blocks outside the slices of existing QP numbers and a first block without its control
// segment.
// Blocks beyond the second (long inline data) are taken and not kept: the payload is read from the
// ring.
`include "rnic_assert.svh"
module blueflame #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_QP = 64,
    parameter int unsigned IDLE_CYCLES = 1024
) (
    input  logic                 clk_i,
    input  logic                 rst_i,
    // BAR1, AXI4, write only
    input  logic                 s_awvalid,
    output logic                 s_awready,
    input  logic [31:0]          s_awaddr,
    input  logic [7:0]           s_awlen,  // not needed: wlast ends a burst
    input  logic                 s_wvalid,
    output logic                 s_wready,
    input  logic [DATA_W-1:0]    s_wdata,
    input  logic [DATA_W/8-1:0]  s_wstrb,
    input  logic                 s_wlast,
    output logic                 s_bvalid,
    input  logic                 s_bready,
    output logic [1:0]           s_bresp,
    // WQEs, to sq_scheduler
    output logic                 bf_valid,
    input  logic                 bf_ready,
    output rnic_pkg::wqe_entry_t bf,
    // plain doorbells, to sq_scheduler
    output logic                 db_valid,
    input  logic                 db_ready,
    output logic [23:0]          db_qpn,
    output logic [15:0]          db_index,
    output logic                 cnt_bf_fallbacks_o,
    output logic                 cnt_doorbell_refused_o,
    output logic                 trc_valid_o,
    output logic [63:0]          trc_o,
    output logic                 trc_sampled_o
);
  // Slice of a QP: 16 MB / N_QP rounded down to a power of two, 16 KB at most (architecture,
  // section 4).
  localparam int unsigned LOG_QP = (N_QP > 1) ? $clog2(N_QP) : 0;
  localparam int unsigned LOG_SLICE = (24 - LOG_QP > 14) ? 14 : 24 - LOG_QP;
  localparam int unsigned LOG_START = (LOG_SLICE > 12) ? 12 : LOG_SLICE;

  if (LOG_SLICE < 7) begin : gen_bad_n
    $error("blueflame: N_QP leaves less than 128 bytes of BAR1 per QP");
  end

  logic blk_valid, blk_ready, blk_partial;
  logic [31:0] blk_addr;
  logic [511:0] blk_data;
  logic [63:0] blk_mask;
  bf_blocks #(
      .DATA_W(DATA_W),
      .IDLE_CYCLES(IDLE_CYCLES)
  ) u_blocks (
      .clk_i,
      .rst_i,
      .s_awvalid,
      .s_awready,
      .s_awaddr,
      .s_wvalid,
      .s_wready,
      .s_wdata,
      .s_wstrb,
      .s_wlast,
      .s_bvalid,
      .s_bready,
      .s_bresp,
      .blk_valid,
      .blk_ready,
      .blk_addr,
      .blk_data,
      .blk_partial,
      .blk_mask
  );

  // -- the first block
  rnic_desc_pkg::wqe_t w;
  assign w = blk_data;
  logic [31:0] qpn_wide;
  logic known, readable, simple;
  logic [12:0] bytes;
  logic [6:0] blocks;
  logic [3:0] seg_max;
  assign qpn_wide = blk_addr >> LOG_SLICE;
  assign known = qpn_wide < N_QP && blk_addr < 32'h0100_0000 && blk_addr[LOG_START-1:6] == '0;
  assign readable = &blk_mask[15:8];  // the control segment came whole
  assign bytes = 13'd32 + {1'b0, w.inline_len} + 13'd63;
  assign blocks = w.inlined ? bytes[12:6] : w.long_form ? 7'd2 : 7'd1;
  assign seg_max = w.long_form ? 4'd6 : 4'd2;
  assign simple = w.next == 64'd0 && (w.inlined || w.seg_cnt <= seg_max) && blocks <= 7'd64 &&
      !blk_partial;

  // A push in progress: blocks still to come and where the next one must be.
  logic open_q, kept_q;           // kept: handed on already, the rest is only counted
  logic [6:0] left_q;
  logic [31:0] next_q;
  logic continues, out_free, fall_free, first, break_open, fallback;
  assign continues = open_q && !blk_partial && blk_addr == next_q;
  assign out_free = !bf_valid || bf_ready;
  assign fall_free = !db_valid || db_ready;
  // The open push is broken off by a block that does not continue it; that block is looked at in
  // the next cycle.
  localparam int unsigned TW = $clog2(IDLE_CYCLES + 1);
  logic [TW-1:0] idle_q;
  logic stale;
  assign stale = idle_q == TW'(IDLE_CYCLES);
  assign break_open = open_q && (blk_valid ? !continues : stale);
  assign first = blk_valid && !open_q;
  assign fallback = first && known && readable && !simple;
  logic first_ok, single, second;
  assign first_ok = first && known && simple;
  assign single = first_ok && blocks == 7'd1;
  assign second = blk_valid && continues && !kept_q;
  always_comb begin
    blk_ready = 1'b1;
    if (break_open) blk_ready = 1'b0;
    else if (single || second) blk_ready = out_free;
    else if (fallback) blk_ready = fall_free;
    else if (first_ok) blk_ready = out_free;
  end

  logic fire;
  assign fire = blk_valid && blk_ready;
  always_ff @(posedge clk_i) begin
    if (bf_ready) bf_valid <= 1'b0;
    if (db_ready) db_valid <= 1'b0;
    cnt_bf_fallbacks_o <= 1'b0;
    cnt_doorbell_refused_o <= 1'b0;

    if (first_ok && fire) begin
      bf <= '0;
      bf.qpn <= qpn_wide[23:0];
      bf.index <= w.index;
      bf.blocks <= blocks;
      bf.next_index <= w.index + {9'd0, blocks};
      bf.sampled <= w.sampled;
      bf.wqe[511:0] <= blk_data;
      bf_valid <= single;
      open_q <= !single;
      kept_q <= 1'b0;
      left_q <= blocks - 7'd1;
      next_q <= blk_addr + 32'd64;
    end
    if (second && fire) begin
      bf.has2 <= 1'b1;
      bf.wqe[1023:512] <= blk_data;
      bf_valid <= 1'b1;
    end
    if (blk_valid && continues && fire) begin
      kept_q <= 1'b1;
      left_q <= left_q - 7'd1;
      next_q <= blk_addr + 32'd64;
      if (left_q == 7'd1) open_q <= 1'b0;
    end
    if ((fallback && fire) || (break_open && !kept_q && fall_free)) begin
      db_valid <= 1'b1;
      db_qpn <= fallback ? qpn_wide[23:0] : bf.qpn;
      db_index <= fallback ? w.index + {9'd0, blocks} : bf.next_index;
      cnt_bf_fallbacks_o <= 1'b1;
    end
    if (break_open && (kept_q || fall_free)) open_q <= 1'b0;
    if (!open_q || blk_valid) idle_q <= '0;
    else if (!stale) idle_q <= idle_q + 1'b1;
    if (first && fire && !first_ok && !fallback) cnt_doorbell_refused_o <= 1'b1;

    if (rst_i) begin
      bf_valid <= 1'b0;
      db_valid <= 1'b0;
      open_q <= 1'b0;
      idle_q <= '0;
      cnt_bf_fallbacks_o <= 1'b0;
      cnt_doorbell_refused_o <= 1'b0;
    end
  end

  assign trc_valid_o = bf_valid && bf_ready;
  assign trc_o = {rnic_pkg::TRC_BLUEFLAME, bf.qpn, 16'd0, bf.index};
  assign trc_sampled_o = 1'b1;

  logic unused;
  assign unused = ^{qpn_wide, blk_mask, w, bytes, s_awlen};

  `RNIC_STREAM_HOLD(bf_valid, bf_ready, bf)
  `RNIC_STREAM_HOLD(db_valid, db_ready, {db_qpn, db_index})
endmodule
