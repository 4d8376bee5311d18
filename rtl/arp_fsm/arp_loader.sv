// SPDX-License-Identifier: Apache-2.0
//
// Walks through the pieces that a rank receives, in order, for all groups: describes the slot of
// each, and reads the local data with which a sum begins.
//
// One piece per N_GROUP cycles and group, as long as slots are free; reads are asked for only while
// the FIFO has room for all of their data. Local rows are handed on in the order in which they
// come; a slot opens when all of its rows have been taken.
`include "rnic_assert.svh"

module arp_loader #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_GROUP = 4,
  parameter int unsigned N_SLOT = 16,
  parameter int unsigned LD_ROWS = 256  // rows of local data on their way, at least 4096 bytes
) (
  input  logic                        clk_i,
  input  logic                        rst_i,

  input  logic                        start_valid_i,  // an operation begins
  input  logic                        clear_valid_i,  // the group begins anew with piece 0
  input  logic [$clog2(N_GROUP)-1:0]  group_i,        // of both

  output logic [$clog2(N_GROUP)-1:0]  lk_group_o,     // the group whose turn it is
  input  arp_pkg::group_t             lk_cfg_i,
  input  logic [2:0]                  lk_state_i,
  input  logic [31:0]                 lk_base_i,

  output logic                        rdreq_valid,
  input  logic                        rdreq_ready,
  output rnic_pkg::dma_rd_req_t       rdreq,
  input  logic                        rdrsp_valid_i,  // of these requests only; always taken
  input  rnic_pkg::dma_rd_rsp_t       rdrsp_i,
  input  logic [DATA_W-1:0]           rdrsp_data_i,

  // Rows of local data, with which their row of the accumulator begins.
  output logic                        ld_valid,
  input  logic                        ld_ready,
  output logic [$clog2(N_GROUP*N_SLOT)-1:0] ld_slot,
  output logic [7:0]                  ld_row,         // in the slot
  output logic [DATA_W-1:0]           ld_data,

  output logic                        desc_valid_o,
  output logic [$clog2(N_GROUP*N_SLOT)-1:0] desc_slot_o,
  output arp_pkg::slot_t              desc_o,
  output logic                        open_valid_o,
  output logic [$clog2(N_GROUP*N_SLOT)-1:0] open_slot_o,

  output logic [N_GROUP-1:0]          active_o,       // pieces are left
  output logic [N_GROUP-1:0]          reading_o,      // local data are on their way
  output logic [32*N_GROUP-1:0]       next_o,         // running number of the next piece
  output logic                        failed_valid_o, // local data could not be read
  output logic [$clog2(N_GROUP)-1:0]  failed_group_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned GW = $clog2(N_GROUP);
  localparam int unsigned SW = $clog2(N_SLOT);
  localparam int unsigned NS = N_GROUP * N_SLOT;
  localparam int unsigned CW = $clog2(LD_ROWS + 1);

  if (LD_ROWS * B < 4096) begin : gen_check_rows
    $error("arp_loader: LD_ROWS must hold a piece of 4096 bytes");
  end
  if (NS > 256) begin : gen_check_slots
    $error("arp_loader: N_GROUP * N_SLOT must be at most 256");
  end

  // ------------------------------------------------------------------------------- the next piece
  logic [N_GROUP-1:0] active_q, fresh_q;
  logic [31:0]        num_q [N_GROUP];
  logic [31:0]        round_q [N_GROUP];  // offsets: of the round, of the chunk, of the piece
  logic [31:0]        chunk_q [N_GROUP];
  logic [31:0]        piece_q [N_GROUP];
  logic [4:0]         step_q [N_GROUP];
  logic [15:0]        left_q [N_GROUP];   // rounds behind this one
  logic [GW-1:0]      v_q;

  logic [31:0] piece_bytes, rest, first_off, prev_off;
  logic [12:0] len;
  logic [4:0]  steps;
  logic        chunk_ends, round_ends, can, go;
  assign lk_group_o = v_q;
  assign piece_bytes = 32'd1 << lk_cfg_i.slot_log;
  assign rest = lk_cfg_i.chunk_bytes - piece_q[v_q];
  assign chunk_ends = rest <= piece_bytes;
  assign len = chunk_ends ? rest[12:0] : piece_bytes[12:0];
  assign steps = lk_cfg_i.ring ? {lk_cfg_i.ranks[3:0] - 4'd1, 1'b0} : 5'd1;
  assign round_ends = chunk_ends && step_q[v_q] + 5'd1 == steps;
  // A step later it is the chunk before, in the ring.
  assign prev_off = chunk_q[v_q] == 32'd0 ? lk_cfg_i.round_bytes - lk_cfg_i.chunk_bytes
                                          : chunk_q[v_q] - lk_cfg_i.chunk_bytes;
  assign first_off = !lk_cfg_i.ring ? lk_cfg_i.own_off
      : lk_cfg_i.own_off == 32'd0 ? lk_cfg_i.round_bytes - lk_cfg_i.chunk_bytes
                                  : lk_cfg_i.own_off - lk_cfg_i.chunk_bytes;

  logic [GW+SW-1:0] slot;
  logic [31:0]      offset;
  assign slot = {v_q, num_q[v_q][SW-1:0]};
  assign offset = round_q[v_q] + chunk_q[v_q] + piece_q[v_q];
  always_comb begin
    desc_o.offset = offset;
    desc_o.len = len;
    desc_o.add = !lk_cfg_i.ring || step_q[v_q] < lk_cfg_i.ranks - 5'd1;
    desc_o.wr = !lk_cfg_i.ring || step_q[v_q] >= lk_cfg_i.ranks - 5'd2;
    desc_o.fwd = lk_cfg_i.ring && step_q[v_q] + 5'd1 != steps;
  end

  // ---------------------------------------------------------------------------------------- reads
  logic          rd_room, loaded;
  logic [CW-1:0] owed_q;  // rows asked for and not yet handed on
  logic [8:0]    rows;
  rnic_pkg::dma_rd_req_t rdreq_q;
  logic          rdreq_valid_q;
  assign rows = 9'(len >> LB);
  assign rd_room = !rdreq_valid_q && 32'(owed_q) + 32'(rows) <= LD_ROWS;
  assign can = active_q[v_q] && !fresh_q[v_q] && lk_state_i == arp_pkg::GRP_RUN &&
      num_q[v_q] - lk_base_i < N_SLOT && !(clear_valid_i && group_i == v_q);
  assign go = can && (desc_o.add ? rd_room : !loaded);
  assign desc_valid_o = go;
  assign desc_slot_o = slot;
  assign rdreq_valid = rdreq_valid_q;
  assign rdreq = rdreq_q;

  // ------------------------------------------------------------------------------------ what comes
  // {rows that will not come, slot, row, data}
  localparam int unsigned FW = 9 + GW + SW + 8 + DATA_W;
  logic          f_valid, f_ready, f_in_ready, f_fire;
  logic [8:0]    f_lost, gone;
  logic [FW-1:0] f_in;
  logic [CW-1:0] f_level;
  assign f_in = {9'(rdrsp_i.lost >> LB), rdrsp_i.slot[GW+SW-1:0], 8'(rdrsp_i.dst_off >> LB),
      rdrsp_data_i};
  stream_fifo #(.W(FW), .DEPTH(LD_ROWS), .OUT_REG(1)) u_rows (
    .clk_i, .rst_i, .in_valid(rdrsp_valid_i), .in_ready(f_in_ready), .in_data(f_in),
    .out_valid(f_valid), .out_ready(f_ready), .out_data({f_lost, ld_slot, ld_row, ld_data}),
    .level_o(f_level));
  assign ld_valid = f_valid && f_lost == 9'd0;
  assign f_ready = ld_ready || f_lost != 9'd0;
  assign f_fire = f_valid && f_ready;
  assign gone = f_lost == 9'd0 ? 9'd1 : f_lost;
  assign failed_valid_o = f_valid && f_lost != 9'd0;
  assign failed_group_o = ld_slot[GW+SW-1:SW];

  logic [8:0]    rows_q [NS];  // still to come
  logic [NS-1:0] bad_q;
  logic [SW:0]   reads_q [N_GROUP];
  logic          slot_ends;
  assign slot_ends = f_fire && rows_q[ld_slot] == gone;
  assign loaded = slot_ends && f_lost == 9'd0 && !bad_q[ld_slot];
  assign open_valid_o = loaded || (go && !desc_o.add);
  assign open_slot_o = loaded ? ld_slot : slot;

  always_ff @(posedge clk_i) begin
    v_q <= v_q + 1'b1;
    if (fresh_q[v_q]) begin
      fresh_q[v_q] <= 1'b0;
      round_q[v_q] <= 32'd0;
      chunk_q[v_q] <= first_off;
      piece_q[v_q] <= 32'd0;
      step_q[v_q] <= 5'd0;
      left_q[v_q] <= lk_cfg_i.rounds - 16'd1;
    end
    if (go) begin
      num_q[v_q] <= num_q[v_q] + 32'd1;
      piece_q[v_q] <= chunk_ends ? 32'd0 : piece_q[v_q] + piece_bytes;
      if (chunk_ends) begin
        step_q[v_q] <= round_ends ? 5'd0 : step_q[v_q] + 5'd1;
        chunk_q[v_q] <= round_ends ? first_off : prev_off;
      end
      if (round_ends) begin
        round_q[v_q] <= round_q[v_q] + lk_cfg_i.round_bytes;
        left_q[v_q] <= left_q[v_q] - 16'd1;
        if (left_q[v_q] == 16'd0) active_q[v_q] <= 1'b0;
      end
    end

    if (rdreq_ready) rdreq_valid_q <= 1'b0;
    if (go && desc_o.add) begin
      rdreq_valid_q <= 1'b1;
      rdreq_q <= '0;
      rdreq_q.addr <= lk_cfg_i.src + 64'(offset);
      rdreq_q.len <= len;
      rdreq_q.slot <= 8'(slot);
      rdreq_q.first <= 1'b1;
      rdreq_q.qpn <= lk_cfg_i.tx_qpn;
      rows_q[slot] <= rows;
      bad_q[slot] <= 1'b0;
    end
    owed_q <= owed_q + (go && desc_o.add ? CW'(rows) : '0) - (f_fire ? CW'(gone) : '0);
    if (f_fire) begin
      rows_q[ld_slot] <= rows_q[ld_slot] - gone;
      if (f_lost != 9'd0) bad_q[ld_slot] <= 1'b1;
    end
    for (int unsigned g = 0; g < N_GROUP; g++) begin
      reads_q[g] <= reads_q[g] + (SW+1)'(go && desc_o.add && 32'(v_q) == g) -
          (SW+1)'(slot_ends && 32'(ld_slot[GW+SW-1:SW]) == g);
    end

    if (start_valid_i) begin
      active_q[group_i] <= 1'b1;
      fresh_q[group_i] <= 1'b1;
    end
    if (clear_valid_i) begin
      active_q[group_i] <= 1'b0;
      num_q[group_i] <= 32'd0;
    end
    if (rst_i) begin
      v_q <= '0;
      active_q <= '0;
      fresh_q <= '0;
      rdreq_valid_q <= 1'b0;
      owed_q <= '0;
      for (int unsigned g = 0; g < N_GROUP; g++) reads_q[g] <= '0;
    end
  end

  for (genvar g = 0; g < N_GROUP; g++) begin : gen_out
    assign next_o[32*g +: 32] = num_q[g];
    assign reading_o[g] = reads_q[g] != '0;
  end
  assign active_o = active_q;

  logic unused;
  assign unused = ^{lk_cfg_i, rdrsp_i, f_level, piece_bytes};

  `RNIC_ASSERT(rows_reserved, !rdrsp_valid_i || f_in_ready)
  `RNIC_ASSERT(whole_rows, !rdrsp_valid_i || rdrsp_i.err || 32'(rdrsp_i.cnt) == B)
  `RNIC_STREAM_HOLD(rdreq_valid, rdreq_ready, rdreq)
endmodule
