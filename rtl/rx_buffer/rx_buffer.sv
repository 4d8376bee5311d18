// SPDX-License-Identifier: Apache-2.0
//
// Stores whole frames until their verdict, gives RoCEv2 packets on in order, moves raw frames to a
// small store of their own, forgets the rest. The only place where good frames are dropped: as a
// whole, counted, when there is no room.
//
// Takes one beat every cycle, never stalls. From a verdict in cycle v: pk_valid in v, first
// row_valid in v + 1 when nothing is queued in front. One row per cycle out; a packet without
// payload and a frame that is given up take one cycle, none when nothing is queued in front. Only
// rows that hold payload are read. Order of packets is kept; raw frames keep theirs.
`include "rnic_assert.svh"

module rx_buffer #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned RX_BUF_BYTES = 131072,  // power of two
  parameter int unsigned RAW_BUF_BYTES = 16384,  // store of raw frames
  parameter int unsigned N_META = 512  // RoCEv2 packets, and frames in all, that wait to be read
) (
  input  logic               clk_i,
  input  logic               rst_i,

  input  logic [15:0]        cfg_reserve_i,      // bytes that must stay free beside a frame

  // From rx_parser.
  input  logic               bt_valid,
  input  logic [DATA_W-1:0]  bt_data,
  input  logic [7:0]         bt_cnt,
  input  logic               bt_last,
  input  logic               vd_valid,  // in frame order, at least one cycle after the last beat
  input  logic [1:0]         vd_kind,            // 0 drop, 1 RoCEv2, 2 raw
  input  rnic_pkg::rx_meta_t vd_meta,

  // Header fields of committed packets.
  output logic               pk_valid,
  input  logic               pk_ready,
  output rnic_pkg::rx_meta_t pk_meta,
  // Rows of the ring that hold payload, of the same packets in the same order.
  output logic               row_valid,
  input  logic               row_ready,          // may depend on row_first and row_last
  output logic [DATA_W-1:0]  row_data,
  output logic               row_first,
  output logic               row_last,
  output logic [6:0]         row_off,            // lane of the first payload byte in the first row
  output logic [12:0]        row_len,            // payload bytes of the packet

  output logic               raw_rx_valid,
  input  logic               raw_rx_ready,
  output logic [DATA_W-1:0]  raw_rx_data,
  output logic [7:0]         raw_rx_cnt,
  output logic               raw_rx_last,

  output logic               cnt_rx_buffer_drops_o,
  output logic               cnt_rx_raw_frames_o,
  output logic               cnt_rx_raw_drops_o,
  output logic [15:0]        level_rows_o,       // rows in use
  // For the fill of each class: a frame is kept, its rows; it has gone at once, nothing before it
  // is here; the oldest has gone.
  output logic               keep_o,
  output logic               keep_past_o,
  output logic [15:0]        keep_rows_o,
  output logic               gone_o,
  output logic               stored_o,           // a RoCEv2 packet is committed
  output logic [23:0]        stored_qpn_o,
  output logic               trc_valid_o,
  output logic [63:0]        trc_o,
  output logic               trc_sampled_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned ROWS = RX_BUF_BYTES / B;
  localparam int unsigned AW = $clog2(ROWS);
  localparam int unsigned PW = AW + 1;                       // row pointer with a wrap bit
  localparam int unsigned RAW_ROWS = RAW_BUF_BYTES / B;
  localparam int unsigned RW = $clog2(RAW_ROWS + 1);
  localparam int unsigned CW = $clog2(N_META + 1);
  localparam int unsigned N_WAIT = 8;                        // frames between last beat and verdict
  localparam logic [1:0] KIND_ROCE = 2'd1;
  localparam logic [1:0] KIND_RAW = 2'd2;

  generate
    if (RX_BUF_BYTES != (B << AW) || ROWS < 16) begin : gen_bad_ring
      $error("rx_buffer: RX_BUF_BYTES must be a power of two of at least 16 beats");
    end
    if (RAW_ROWS < 4 || RAW_ROWS * B != RAW_BUF_BYTES) begin : gen_bad_raw
      $error("rx_buffer: RAW_BUF_BYTES must be a multiple of a beat, at least 4 beats");
    end
  endgenerate

  // Frame that waits for its verdict.
  typedef struct packed {
    logic          ovf;                                      // did not fit
    logic [PW-1:0] first;
    logic [PW-1:0] stop;                                     // row after it
    logic [7:0]    cnt;                                      // bytes in its last row
  } wait_t;
  // Frame to read.
  typedef struct packed {
    logic          raw;
    logic [PW-1:0] first;                                    // first row to read
    logic [PW-1:0] rows;                                     // rows to read
    logic [PW-1:0] stop;                                     // what becomes free with it
    logic [7:0]    cnt;                                      // raw: bytes in its last row
    logic [6:0]    off;
    logic [12:0]   len;
  } desc_t;
  localparam int unsigned DW = 1 + 3 * PW + 8 + 7 + 13;

  // ---------------------------------------------------------------- write side
  // next row; oldest row in use; row after the last committed
  logic [PW-1:0] wr_q, free_q, commit_q;
  logic [PW-1:0] start_q;  // first row of the frame that is arriving
  logic          busy_q;                                     // a frame is arriving ...
  logic          ovf_q;                                      // ... and is lost
  logic [PW-1:0] used, limit;
  logic          room, wr_en;
  logic [PW-1:0] start;
  wait_t         wait_in, waiting;
  logic          wait_valid, wait_ready;
  logic [3:0]    wait_level;

  assign used = wr_q - free_q;
  // Rows that may be used; rounded down.
  assign limit = (32'(cfg_reserve_i) >= RX_BUF_BYTES) ? '0 :
                 PW'((RX_BUF_BYTES - 32'(cfg_reserve_i)) >> LB);
  assign room = used < limit;
  assign wr_en = bt_valid && room && !(busy_q && ovf_q);
  assign start = busy_q ? start_q : wr_q;

  assign level_rows_o = 16'(used);

  always_comb begin
    wait_in.ovf = !wr_en;
    wait_in.first = start;
    wait_in.stop = wr_en ? wr_q + PW'(1) : start;
    wait_in.cnt = bt_cnt;
  end

  stream_fifo_small #(.W(9 + 2 * PW), .DEPTH(N_WAIT), .LATENCY(1)) u_wait (
    .clk_i, .rst_i,
    .in_valid(bt_valid && bt_last), .in_ready(wait_ready), .in_data(wait_in),
    .out_valid(wait_valid), .out_ready(vd_valid), .out_data(waiting),
    .level_o(wait_level)
  );

  // ---------------------------------------------------------------- verdict
  logic          commit, newest, drop;
  logic          desc_ready, meta_ready, desc_valid;
  logic [CW-1:0] level_q;                                    // committed frames not yet read
  desc_t         desc_new, desc_head, desc;
  logic          bypass_done;                                // the new one was read at once
  logic [PW-1:0] kept;                                       // rows of the frame in the list
  logic          free_it;                                    // desc is read to its end or given up
  logic [CW-1:0] unused_desc_level, unused_meta_level;
  logic          new_pk, old_pk;                             // a good packet now; some wait
  rnic_pkg::rx_meta_t old_meta;
  logic [12:0]   span;                                       // lanes up to the last payload byte

  assign span = 13'(vd_meta.hdr_len[LB-1:0]) + vd_meta.payload_len;
  always_comb begin
    desc_new.raw = vd_kind == KIND_RAW;
    desc_new.first = waiting.first;
    desc_new.rows = waiting.stop - waiting.first;
    desc_new.stop = waiting.stop;
    desc_new.cnt = waiting.cnt;
    desc_new.off = 7'(vd_meta.hdr_len[LB-1:0]);
    desc_new.len = vd_meta.payload_len;
    if (vd_kind == KIND_ROCE) begin
      desc_new.first = waiting.first + (PW'(vd_meta.hdr_len) >> LB);
      desc_new.rows = (vd_meta.payload_len == '0) ? '0 : PW'((32'(span) + B - 1) >> LB);
    end
  end
  assign commit = vd_valid && (vd_kind == KIND_ROCE || vd_kind == KIND_RAW) && !waiting.ovf &&
                  desc_ready && meta_ready;
  assign drop = vd_valid && !commit;
  // Nothing behind it, not even in this cycle: its rows, and those of others that were dropped, can
  // be taken back.
  assign newest = wait_level == 4'd1 && !busy_q && !bt_valid;

  stream_fifo #(.W(DW), .DEPTH(N_META), .OUT_REG(1)) u_desc (
    .clk_i, .rst_i,
    .in_valid(commit && !bypass_done), .in_ready(desc_ready), .in_data(desc_new),
    .out_valid(desc_valid), .out_ready(free_it), .out_data(desc_head),
    .level_o(unused_desc_level)
  );
  stream_fifo #(.W($bits(vd_meta)), .DEPTH(N_META), .OUT_REG(1)) u_meta (
    .clk_i, .rst_i,
    .in_valid(new_pk && !(pk_ready && !old_pk)), .in_ready(meta_ready), .in_data(vd_meta),
    .out_valid(old_pk), .out_ready(pk_ready), .out_data(old_meta),
    .level_o(unused_meta_level)
  );
  // Header fields go round an empty queue in the verdict's own cycle.
  assign new_pk = commit && vd_kind == KIND_ROCE;
  assign pk_valid = old_pk || new_pk;
  assign pk_meta = old_pk ? old_meta : vd_meta;

  always_ff @(posedge clk_i) begin
    if (wr_en) wr_q <= wr_q + PW'(1);
    if (bt_valid) begin
      if (!busy_q) start_q <= wr_q;
      busy_q <= !bt_last;
      ovf_q <= !wr_en;
      if (!wr_en) wr_q <= start;                             // give back what was written of it
    end
    if (free_it) free_q <= desc.stop;
    if (commit) begin
      commit_q <= waiting.stop;
    end else if (drop) begin
      if (newest) begin
        wr_q <= commit_q;
      end else if (level_q == '0) begin
        free_q <= waiting.stop;
        commit_q <= waiting.stop;
      end
    end
    level_q <= level_q + CW'(commit) - CW'(free_it);
    cnt_rx_buffer_drops_o <= drop && (vd_kind == KIND_ROCE || vd_kind == KIND_RAW);
    if (rst_i) begin
      wr_q <= '0;
      free_q <= '0;
      commit_q <= '0;
      busy_q <= 1'b0;
      ovf_q <= 1'b0;
      level_q <= '0;
      cnt_rx_buffer_drops_o <= 1'b0;
    end
  end
  assign stored_o = new_pk;
  assign stored_qpn_o = vd_meta.dest_qpn;
  assign trc_valid_o = new_pk;
  assign trc_o = {rnic_pkg::TRC_RX_VERDICT, vd_meta.dest_qpn, 8'd0, vd_meta.psn};
  assign trc_sampled_o = 1'b0;

  // ---------------------------------------------------------------- read side
  logic          have;                                       // a frame to read
  logic          active_q;                                   // part of it is read
  logic [PW-1:0] row_q, left_q;                              // next row, rows left, when active
  logic [PW-1:0] row, left;
  logic          slot, rd_en, last_row, first_row;
  logic          raw_room, raw_give_up;
  logic [RW-1:0] raw_free_q;                                 // rows of the raw store not promised
  logic          raw_pop;

  assign have = desc_valid || commit;
  assign desc = desc_valid ? desc_head : desc_new;
  assign row = active_q ? row_q : desc.first;
  assign left = active_q ? left_q : desc.rows;
  assign first_row = !active_q;
  assign last_row = left == PW'(1);
  assign raw_room = 32'(desc.rows) <= 32'(raw_free_q);
  assign raw_give_up = have && desc.raw && !active_q && !raw_room;

  // Row in the memory's output register.
  logic              out_valid_q, out_raw_q;
  logic [7:0]        out_cnt_q;
  logic [DATA_W-1:0] out_data;
  assign slot = !out_valid_q || out_raw_q || row_ready;
  assign rd_en = have && slot && left != '0 && !raw_give_up;
  assign free_it = have && ((rd_en && last_row) || left == '0 || raw_give_up);
  assign bypass_done = free_it && !desc_valid;
  assign keep_o = commit;
  assign keep_past_o = bypass_done;
  assign kept = waiting.stop - waiting.first;
  assign keep_rows_o = 16'(kept);
  assign gone_o = free_it && desc_valid;

  ram_sdp #(.W(DATA_W), .DEPTH(ROWS)) u_ring (
    .clk_i,
    .wr_en_i(wr_en), .wr_addr_i(wr_q[AW-1:0]), .wr_data_i(bt_data),
    .rd_en_i(rd_en), .rd_addr_i(row[AW-1:0]), .rd_data_o(out_data)
  );

  always_ff @(posedge clk_i) begin
    if (rd_en) begin
      active_q <= !last_row;
      row_q <= row + PW'(1);
      left_q <= left - PW'(1);
      out_raw_q <= desc.raw;
      out_cnt_q <= desc.cnt;
      row_first <= first_row;
      row_last <= last_row;
      row_off <= desc.off;
      row_len <= desc.len;
    end
    if (slot) out_valid_q <= rd_en;
    raw_free_q <= raw_free_q + RW'(raw_pop) -
                  ((rd_en && desc.raw && first_row) ? RW'(desc.rows) : '0);
    cnt_rx_raw_frames_o <= rd_en && desc.raw && last_row;
    cnt_rx_raw_drops_o <= raw_give_up;
    if (rst_i) begin
      active_q <= 1'b0;
      out_valid_q <= 1'b0;
      raw_free_q <= RW'(RAW_ROWS);
      cnt_rx_raw_frames_o <= 1'b0;
      cnt_rx_raw_drops_o <= 1'b0;
    end
  end
  assign row_valid = out_valid_q && !out_raw_q;
  assign row_data = out_data;

  // ---------------------------------------------------------------- raw frames
  logic              raw_in_ready;
  logic [RW-1:0]     unused_raw_level;
  logic [DATA_W+8:0] raw_out;
  stream_fifo #(.W(DATA_W + 9), .DEPTH(RAW_ROWS), .OUT_REG(1)) u_raw (
    .clk_i, .rst_i,
    .in_valid(out_valid_q && out_raw_q), .in_ready(raw_in_ready),
    .in_data({row_last, row_last ? out_cnt_q : 8'(B), out_data}),
    .out_valid(raw_rx_valid), .out_ready(raw_rx_ready), .out_data(raw_out),
    .level_o(unused_raw_level)
  );
  assign {raw_rx_last, raw_rx_cnt, raw_rx_data} = raw_out;
  assign raw_pop = raw_rx_valid && raw_rx_ready;

  `RNIC_ASSERT(verdict_has_frame, !vd_valid || wait_valid)
  `RNIC_ASSERT(wait_no_overflow, !(bt_valid && bt_last) || wait_ready)
  `RNIC_ASSERT(ring_bound, used <= PW'(ROWS))
  `RNIC_ASSERT(raw_no_overflow, !(out_valid_q && out_raw_q) || raw_in_ready)
  `RNIC_ASSERT(raw_bound, raw_free_q <= RW'(RAW_ROWS))
  `RNIC_STREAM_HOLD(pk_valid, pk_ready, pk_meta)
  `RNIC_STREAM_HOLD_N(row, row_valid, row_ready, {row_data, row_first, row_last, row_off, row_len})
  `RNIC_STREAM_HOLD_N(raw_rx, raw_rx_valid, raw_rx_ready, {raw_rx_data, raw_rx_cnt, raw_rx_last})
endmodule
