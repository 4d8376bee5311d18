// SPDX-License-Identifier: Apache-2.0
// The controller: decides which context is fetched, which one makes room, and puts all halves of a
// context in their place together. One decision at a time, 3 cycles each; up to N_FETCH contexts
// under way, and up to N_WB write backs. A miss is asked for at rd 4 cycles after its lookup; its
// context is on chip 3 cycles after its last data came. A request that cannot be served now (all of
// its set in use, no free fetch, its write back under way) steps back for the others and comes
// again.
`include "rnic_assert.svh"
module ctx_control #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_CTX = 64,
    parameter int unsigned N_PORT = 10,
    parameter int unsigned N_PIN = 7,
    parameter int unsigned N_SOFT = 9,
    parameter int unsigned N_FETCH = 8,
    parameter int unsigned N_WB = 8,          // write backs under way, a power of two
    parameter int unsigned IMG_W = 1024,      // all halves
    // Fixed by the above.
    parameter int unsigned SW = $clog2(N_CTX)
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    input  logic                   on_i,
    input  logic [63:0]            cfg_base_i,
    // may a QP of this number be created
    input  logic [23:0]            room_qpn_i,
    output logic                   room_o,

    // lookups: what is looked for in this cycle stays on chip; those that miss ask
    input  logic [N_PORT-1:0]      look_i,
    input  logic [N_PORT*24-1:0]   look_qpn_i,
    input  logic [N_PORT-1:0]      hit_i,
    input  logic [N_PORT*SW-1:0]   hit_slot_i,
    input  logic [N_PORT-1:0]      ask_i,
    output logic [N_PORT-1:0]      taken_o,
    output logic                   none_valid_o,
    output logic                   none_query_o,  // with it: asked by the query, which gets a place
                                                  // else
    output logic [23:0]            none_qpn_o,
    // contexts in use (owners), contexts that will be used soon (turns)
    input  logic [N_PIN-1:0]       pin_i,
    input  logic [N_PIN*24-1:0]    pin_qpn_i,
    input  logic [N_SOFT-1:0]      soft_i,
    input  logic [N_SOFT*24-1:0]   soft_qpn_i,
    // a turn wants its context; a QP will be named soon
    input  logic                   turn_ask_i,
    input  logic [23:0]            turn_qpn_i,
    output logic                   turn_taken_o,
    output logic                   turn_here_o,   // with taken: it is, or its QP does not exist
    input  logic                   hint_valid,
    output logic                   hint_ready,
    input  logic [23:0]            hint_qpn,
    // a context has come, is on chip from the next cycle on; or leaves
    output logic                   here_o,
    output logic [23:0]            here_qpn_o,
    output logic                   gone_o,
    output logic [23:0]            gone_qpn_o,

    // directory
    output logic [23:0]            set_qpn_o,
    input  logic [SW-1:0]          set_first_i,
    input  logic [8*24-1:0]        set_qpns_i,
    input  logic [7:0]             set_valid_i,
    output logic                   drop_o,
    output logic [SW-1:0]          drop_slot_o,
    output logic                   put_o,
    output logic [SW-1:0]          put_slot_o,
    output logic [23:0]            put_qpn_o,

    // what stays on chip
    output logic                   front_lk_o,
    output logic [23:0]            front_qpn_o,
    input  logic                   front_exists_i,
    input  logic [7:0]             front_gen_i,
    output logic                   gen_wr_o,
    output logic [23:0]            gen_qpn_o,
    output logic [7:0]             gen_o,
    output logic                   lost_lk_o,
    output logic [23:0]            lost_qpn_o,
    input  logic [IMG_W-1:0]       lost_img_i,

    // halves on chip: owners write 3 connection, 2 send, 1 acknowledged, 0 receive; img is what is
    // put in a place, in the cycles in which the owners leave its half alone
    input  logic [3:0]             own_wr_i,
    input  logic [4*SW-1:0]        own_slot_i,
    input  logic                   own_exists_i,  // with 3
    input  logic                   own_beyond_i,  // with 3: a QPN from N_CTX up
    output logic [3:0]             img_wr_o,
    output logic [SW-1:0]          img_slot_o,
    output logic [IMG_W-1:0]       img_o,
    // the copy of a context that makes room: read, there in the next cycle
    output logic                   steal_ask_o,   // the cycle may be taken
    output logic                   steal_o,
    output logic [SW-1:0]          steal_slot_o,
    input  logic [IMG_W-1:0]       stolen_i,

    // host memory
    output logic                   rdreq_valid,
    input  logic                   rdreq_ready,
    output rnic_pkg::dma_rd_req_t  rdreq,
    input  logic                   rdrsp_valid,
    input  rnic_pkg::dma_rd_rsp_t  rdrsp,
    input  logic [DATA_W-1:0]      rdrsp_data,
    output logic                   wr_req_valid,
    input  logic                   wr_req_ready,
    output rnic_pkg::dma_wr_req_t  wr_req,
    output logic                   wr_dat_valid,
    input  logic                   wr_dat_ready,
    output logic [DATA_W-1:0]      wr_dat_data,
    output logic [7:0]             wr_dat_cnt,
    output logic                   wr_dat_last,
    input  logic                   wr_placed_i,

    output logic                   fail_valid,
    input  logic                   fail_ready,
    output rnic_pkg::qp_fail_t     fail,
    output logic                   cnt_misses_o,
    output logic                   trc_valid_o,
    output logic [63:0]            trc_o,
    output logic                   trc2_valid_o,
    output logic [63:0]            trc2_o
);
  // In host memory: the halves, then the QPN, how often it was written, and a mark.
  localparam int unsigned MARK_W = 48;
  localparam logic [15:0] MARK = 16'h5143;
  localparam int unsigned BYTES = 32 * ((IMG_W + MARK_W + 255) / 256);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned ROWS = (BYTES + B - 1) / B;
  localparam int unsigned RW = (ROWS > 1) ? $clog2(ROWS) : 1;
  localparam int unsigned FW = $clog2(N_FETCH);
  localparam int unsigned WW = $clog2(N_WB);
  localparam int unsigned PW = $clog2(N_PORT);
  localparam int unsigned LAST = BYTES - (ROWS - 1) * B;
  if (BYTES > rnic_regs_pkg::CTX_STRIDE) begin : gen_bad_image
    $error("ctx_control: a context has more bytes than its place in host memory");
  end

  // ------------------------------------------------------------------------- the state of a place
  logic [N_CTX-1:0] fill_q;    // a context is on its way to it
  logic [N_CTX-1:0] dirty_q;   // host memory has not what is here
  logic [N_CTX-1:0] dead_q;    // its QP does not exist
  logic [N_CTX-1:0] used_q;    // looked up lately
  logic [N_CTX-1:0] fresh_q;   // fetched ahead, not looked up yet
  logic [7:0] gen_q[N_CTX];

  // -------------------------------------------------------------------- host memory: base, counts
  // Contexts that are or may have to go there; without any the base may change.
  logic [63:0] base_q;
  logic [23:0] beyond_q, away_q;
  logic new_beyond, old_beyond, goes, comes, has_base;
  logic [SW-1:0] conn_slot;
  assign conn_slot = own_slot_i[3*SW+:SW];
  assign new_beyond = own_wr_i[3] && own_beyond_i && own_exists_i && dead_q[conn_slot];
  assign old_beyond = own_wr_i[3] && own_beyond_i && !own_exists_i && !dead_q[conn_slot];
  assign has_base = base_q != '0;
  assign room_o = has_base || room_qpn_i < 24'(N_CTX);
  always_ff @(posedge clk_i) begin
    if (new_beyond) beyond_q <= beyond_q + 24'd1;
    if (old_beyond) beyond_q <= beyond_q - 24'd1;
    if (goes && !comes) away_q <= away_q + 24'd1;
    if (comes && !goes) away_q <= away_q - 24'd1;
    if (beyond_q == '0 && away_q == '0 && !new_beyond && !goes)
      base_q <= {cfg_base_i[63:12], 12'd0};
    if (rst_i) begin
      beyond_q <= '0;
      away_q <= '0;
      base_q <= '0;
    end
  end

  // ------------------------------------------------------------------------------------- requests
  typedef enum logic [1:0] {S_PICK, S_CHECK, S_EVICT} state_e;
  localparam logic [1:0] WHY_LOOKUP = 2'd0;
  localparam logic [1:0] WHY_TURN = 2'd1;
  localparam logic [1:0] WHY_HINT = 2'd2;
  state_e s_q;
  logic [1:0] r_why_q;
  logic [23:0] r_qpn_q, pick_qpn;
  logic [PW-1:0] r_port_q, port_idx;
  logic [N_PORT-1:0] port_gnt;
  logic port_any, picking, pick, turn_last_q;
  logic hint_may;  // there is a fetch and a write back for a hint
  logic [1:0] pick_why;
  // A turn waits for one lookup at most.
  logic turn_first;
  assign turn_first = turn_ask_i && !turn_last_q;
  assign picking = s_q == S_PICK && on_i;
  rr_select #(.N(N_PORT)) u_pick (
      .clk_i,
      .rst_i,
      .req_i    (ask_i),
      .advance_i(picking && pick_why == WHY_LOOKUP),
      .gnt_o    (port_gnt),
      .idx_o    (port_idx),
      .any_o    (port_any)
  );
  assign pick = picking && (port_any || turn_ask_i || (hint_valid && hint_may));
  always_comb begin
    pick_why = WHY_HINT;
    pick_qpn = hint_qpn;
    if (port_any && !turn_first) begin
      pick_why = WHY_LOOKUP;
      pick_qpn = look_qpn_i[port_idx*24+:24];
    end else if (turn_ask_i) begin
      pick_why = WHY_TURN;
      pick_qpn = turn_qpn_i;
    end
  end
  assign hint_ready = pick && pick_why == WHY_HINT;
  assign front_lk_o = pick;
  assign front_qpn_o = pick_qpn;

  // ------------------------------------------------------------------- CHECK: is it here, who goes
  logic [N_FETCH-1:0] f_busy_q, f_zero_q, f_err_q, f_hint_q, f_free;
  logic [23:0] f_qpn_q[N_FETCH];
  logic [SW-1:0] f_slot_q[N_FETCH];
  logic [8:0] f_left_q[N_FETCH];
  logic [7:0] f_gen_q[N_FETCH];
  logic [FW-1:0] f_new;
  logic coming, here, waits_wb, some_fetch;
  logic wb_full, rd_room;
  logic [N_WB-1:0] wb_busy_q;
  logic [23:0] wb_qpn_q[N_WB];
  assign f_free = ~f_busy_q;
  // The last two are for those that are waited for.
  logic [FW:0] f_level;
  assign hint_may = f_level < (FW + 1)'(N_FETCH - 2) && !wb_full;
  assign some_fetch = (r_why_q == WHY_HINT) ? f_level < (FW + 1)'(N_FETCH - 2) :
                                              f_level < (FW + 1)'(N_FETCH);
  always_comb begin
    f_new = '0;
    f_level = '0;
    coming = 1'b0;
    for (int i = N_FETCH - 1; i >= 0; i--) begin
      if (f_free[i]) f_new = FW'(i);
      if (f_busy_q[i]) f_level = f_level + 1'b1;
      if (f_busy_q[i] && f_qpn_q[i] == r_qpn_q) coming = 1'b1;
    end
  end

  logic checking, evicting, deciding;
  logic [7:0] valid, hard, kept, fill, used, fresh, dead, dirty, cand, from, pick_way, same;
  logic [7:0] c_free, c_dead, c_old, c_calm, c_fresh, c_any;
  logic [SW-1:0] first;
  assign checking = s_q == S_CHECK;
  assign evicting = s_q == S_EVICT;
  assign deciding = checking || evicting;
  assign set_qpn_o = r_qpn_q;
  assign first = set_first_i;
  assign valid = set_valid_i;
  assign fill = fill_q[first+:8];
  assign used = used_q[first+:8];
  assign fresh = fresh_q[first+:8];
  assign dead = dead_q[first+:8];
  assign dirty = dirty_q[first+:8];
  always_comb begin
    hard = '0;
    kept = '0;
    same = '0;
    if (deciding) begin  // quiet otherwise
      for (int w = 0; w < 8; w++) begin
        for (int i = 0; i < N_PORT; i++) begin
          if (look_i[i] && look_qpn_i[i*24+:24] == set_qpns_i[w*24+:24]) hard[w] = 1'b1;
        end
        for (int i = 0; i < N_PIN; i++) begin
          if (pin_i[i] && pin_qpn_i[i*24+:24] == set_qpns_i[w*24+:24]) hard[w] = 1'b1;
        end
        for (int i = 0; i < N_SOFT; i++) begin
          if (soft_i[i] && soft_qpn_i[i*24+:24] == set_qpns_i[w*24+:24]) kept[w] = 1'b1;
        end
        same[w] = valid[w] && set_qpns_i[w*24+:24] == r_qpn_q;
      end
    end
  end
  assign here = same != '0;
  assign c_free = ~valid & ~fill;
  assign c_dead = valid & ~hard & dead;
  assign c_calm = valid & ~hard & ~kept & ~fresh;
  assign c_old = c_calm & ~used;
  assign c_fresh = valid & ~hard & ~kept;
  assign c_any = valid & ~hard;
  always_comb begin
    cand = c_free;
    if (cand == '0) cand = c_dead;
    // Without a base nothing goes to host memory.
    if (has_base) begin
      if (cand == '0) cand = c_old;
      if (cand == '0) cand = c_calm;
      if (cand == '0 && r_why_q != WHY_HINT) cand = c_fresh;
      if (cand == '0 && r_why_q == WHY_LOOKUP) cand = c_any;
    end
  end
  // The first from a place that moves on.
  logic [2:0] rot_q;
  logic [7:0] ahead;
  assign ahead = cand & (8'hFF << rot_q);
  assign from = (ahead != '0) ? ahead : cand;
  assign pick_way = from & (~from + 8'd1);

  // A query is what goes before CREATE: it gets a place for a QP that does not exist.
  logic is_query, none, place, may_evict, commit, zero, r_zero_q, live;
  logic [7:0] way_q, r_gen_q;
  logic [2:0] way_idx;
  logic [SW-1:0] way_slot;
  assign is_query = r_why_q == WHY_LOOKUP && r_port_q == PW'(N_PORT - 1);
  assign zero = !front_exists_i;
  assign none = checking && !here && !coming && zero &&
                !(is_query && (has_base || r_qpn_q < 24'(N_CTX)));
  assign place = checking && !here && !coming && !none && !waits_wb && some_fetch && cand != '0;
  assign way_idx = {|way_q[7:4], |{way_q[7:6], way_q[3:2]},
                    |{way_q[7], way_q[5], way_q[3], way_q[1]}};
  assign way_slot = first | SW'(way_idx);
  assign live = (way_q & valid & ~dead) != '0;
  assign may_evict = (way_q & hard & valid) == '0;
  assign commit = evicting && may_evict && (!live || (way_q & dirty) == '0 || !wb_full) &&
      (rd_room || r_zero_q);

  logic done;  // the request at hand is served or will be; else it steps back
  assign done = (checking && (here || coming || none)) || commit;
  assign none_valid_o = none;
  assign none_query_o = none && is_query;
  assign none_qpn_o = r_qpn_q;
  always_comb begin
    taken_o = '0;
    taken_o[r_port_q] = done && r_why_q == WHY_LOOKUP;
  end
  assign turn_taken_o = done && r_why_q == WHY_TURN;
  assign turn_here_o = turn_taken_o && checking && (here || none);
  assign drop_o = commit && (way_q & valid) != '0;
  assign drop_slot_o = way_slot;
  assign steal_ask_o = evicting;
  assign steal_o = commit;
  assign steal_slot_o = way_slot;
  assign gone_o = drop_o;
  always_comb begin
    gone_qpn_o = '0;
    for (int w = 0; w < 8; w++) begin
      if (way_q[w]) gone_qpn_o = gone_qpn_o | set_qpns_i[w*24+:24];
    end
  end
  assign goes = commit && live;
  assign comes = commit && !r_zero_q;

  always_ff @(posedge clk_i) begin
    rot_q <= rot_q + 3'd1;
    unique case (s_q)
      S_PICK: if (pick) s_q <= S_CHECK;
      S_CHECK: s_q <= place ? S_EVICT : S_PICK;
      default: s_q <= S_PICK;
    endcase
    if (pick) begin
      r_qpn_q <= pick_qpn;
      r_why_q <= pick_why;
      r_port_q <= port_idx;
    end
    if (pick) turn_last_q <= pick_why == WHY_TURN;
    if (checking) begin
      way_q <= pick_way;
      r_zero_q <= zero;
      r_gen_q <= front_gen_i;
    end
    if (rst_i) begin
      s_q <= S_PICK;
      rot_q <= '0;
      turn_last_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------ the fetch
  localparam int unsigned RD_DEPTH = (N_FETCH < 8) ? N_FETCH : 8;
  logic [$clog2(RD_DEPTH+1)-1:0] rd_level;
  rnic_pkg::dma_rd_req_t rd_new;
  localparam int unsigned RDREQ_W = $bits(rd_new);
  always_comb begin
    rd_new = '0;
    rd_new.addr = base_q + 64'(r_qpn_q) * 64'(rnic_regs_pkg::CTX_STRIDE);
    rd_new.len = 13'(BYTES);
    rd_new.slot = 8'(f_new);
    rd_new.first = 1'b1;
    rd_new.qpn = r_qpn_q;
  end
  stream_fifo_small #(.W(RDREQ_W), .DEPTH(RD_DEPTH), .LATENCY(0)) u_rd (
      .clk_i,
      .rst_i,
      .in_valid (commit && !r_zero_q),
      .in_ready (rd_room),
      .in_data  (rd_new),
      .out_valid(rdreq_valid),
      .out_ready(rdreq_ready),
      .out_data (rdreq),
      .level_o  (rd_level)
  );

  logic mine;
  logic [FW-1:0] a_fetch;
  logic [8:0] a_bytes;
  logic [RW-1:0] a_row;
  logic [ROWS*DATA_W-1:0] rows;
  logic i_read;
  logic [FW-1:0] i_pick, i_fetch_q;
  assign mine = rdrsp_valid && rdrsp.client == rnic_pkg::RD_CTX;
  assign a_fetch = rdrsp.slot[FW-1:0];
  assign a_bytes = {1'b0, rdrsp.cnt} + rdrsp.lost[8:0];
  assign a_row = RW'(rdrsp.dst_off >> $clog2(B));
  for (genvar r = 0; r < ROWS; r++) begin : gen_row
    ram_sdp #(.W(DATA_W), .DEPTH(N_FETCH)) u_ram (
        .clk_i,
        .wr_en_i  (mine && !rdrsp.err && a_row == RW'(r)),
        .wr_addr_i(a_fetch),
        .wr_data_i(rdrsp_data),
        .rd_en_i  (i_read),
        .rd_addr_i(i_pick),
        .rd_data_o(rows[r*DATA_W+:DATA_W])
    );
  end

  // --------------------------------------------------------------- it has come: put in its place
  logic i_busy_q, i_over, i_any, i_lost, i_bad;
  logic [3:0] i_done_q, i_go;
  logic [SW-1:0] i_slot;
  logic [23:0] i_qpn;
  logic i_zero, fail_wait_q;
  logic [MARK_W-1:0] mark;
  always_comb begin
    i_pick = '0;
    i_any = 1'b0;
    for (int i = N_FETCH - 1; i >= 0; i--) begin
      if (f_busy_q[i] && f_left_q[i] == '0) begin
        i_pick = FW'(i);
        i_any = 1'b1;
      end
    end
  end
  assign i_read = i_any && !i_busy_q;
  assign lost_lk_o = i_read;
  assign lost_qpn_o = f_qpn_q[i_pick];
  assign i_slot = f_slot_q[i_fetch_q];
  assign i_qpn = f_qpn_q[i_fetch_q];
  assign i_zero = f_zero_q[i_fetch_q];
  assign mark = rows[IMG_W+:MARK_W];
  assign i_bad = f_err_q[i_fetch_q] || mark != {MARK, f_gen_q[i_fetch_q], i_qpn};
  assign i_lost = !i_zero && i_bad;
  assign img_o = i_zero ? '0 : i_lost ? lost_img_i : rows[IMG_W-1:0];
  assign img_slot_o = i_slot;
  assign i_go = ~i_done_q & ~own_wr_i;
  assign img_wr_o = i_busy_q ? i_go : 4'd0;
  assign i_over = i_busy_q && (i_done_q | i_go) == 4'hF && !fail_wait_q;
  assign put_o = i_over;
  assign put_slot_o = i_slot;
  assign put_qpn_o = i_qpn;
  assign here_o = i_over;
  assign here_qpn_o = i_qpn;

  always_ff @(posedge clk_i) begin
    if (i_read) begin
      i_busy_q <= 1'b1;
      i_done_q <= '0;
      i_fetch_q <= i_pick;
    end else if (i_busy_q) begin
      i_done_q <= i_done_q | i_go;
      if (i_over) i_busy_q <= 1'b0;
    end
    if (fail_ready) fail_wait_q <= 1'b0;
    if (i_over && i_lost) begin
      fail_wait_q <= 1'b1;
      fail <= {i_qpn, rnic_desc_pkg::CQE_STATUS_FATAL_ERR, rnic_desc_pkg::EQE_TYPE_DMA_FAULT};
    end
    if (rst_i) begin
      i_busy_q <= 1'b0;
      fail_wait_q <= 1'b0;
    end
  end
  assign fail_valid = fail_wait_q;

  always_ff @(posedge clk_i) begin
    if (commit) begin
      f_busy_q[f_new] <= 1'b1;
      f_zero_q[f_new] <= r_zero_q;
      f_err_q[f_new] <= 1'b0;
      f_hint_q[f_new] <= r_why_q == WHY_HINT;
      f_qpn_q[f_new] <= r_qpn_q;
      f_slot_q[f_new] <= way_slot;
      f_left_q[f_new] <= r_zero_q ? 9'd0 : 9'(BYTES);
      f_gen_q[f_new] <= r_gen_q;
    end
    if (mine) begin
      f_left_q[a_fetch] <= f_left_q[a_fetch] - a_bytes;
      if (rdrsp.err) f_err_q[a_fetch] <= 1'b1;
    end
    if (i_over) f_busy_q[i_fetch_q] <= 1'b0;
    if (rst_i) f_busy_q <= '0;
  end

  // ---------------------------------------------------------------------- the state of the places
  always_ff @(posedge clk_i) begin
    if (commit && !r_zero_q && c_free == '0 && c_old == '0 && c_dead == '0) begin
      // All of the set were looked up lately: they are equal again.
      for (int w = 0; w < 8; w++) used_q[first | SW'(w)] <= 1'b0;
    end
    if (i_over) begin
      fill_q[i_slot] <= 1'b0;
      used_q[i_slot] <= 1'b1;
      fresh_q[i_slot] <= f_hint_q[i_fetch_q];
      dead_q[i_slot] <= i_zero;
      dirty_q[i_slot] <= i_lost;
      gen_q[i_slot] <= f_gen_q[i_fetch_q];
    end
    for (int i = 0; i < N_PORT; i++) begin
      if (hit_i[i]) begin
        used_q[hit_slot_i[i*SW+:SW]] <= 1'b1;
        fresh_q[hit_slot_i[i*SW+:SW]] <= 1'b0;
      end
    end
    for (int h = 0; h < 4; h++) begin
      if (own_wr_i[h]) dirty_q[own_slot_i[h*SW+:SW]] <= 1'b1;
    end
    if (own_wr_i[3]) dead_q[conn_slot] <= !own_exists_i;
    if (commit) fill_q[way_slot] <= 1'b1;
    if (rst_i) fill_q <= '0;
  end

  // ------------------------------------------------------------------------------ the write backs
  // A copy is kept in the cycle after its commit and leaves in the order of commits: behind a
  // packet's payload it waits long. The context is asked for again only when its last row is on the
  // bus.
  typedef enum logic [1:0] {W_IDLE, W_REQ, W_DATA} wb_e;
  wb_e w_q;
  logic [WW-1:0] wb_in_q, wb_out_q, wb_old_q;  // the next to keep, to send, to be placed
  logic [WW:0] wb_level_q, wb_unsent_q;
  logic [WW-1:0] l_at_q;
  logic [23:0] l_qpn_q;
  logic [7:0] l_gen_q;
  logic [ROWS*DATA_W-1:0] w_image, w_data_q;
  logic [RW-1:0] w_row_q;
  logic [23:0] w_qpn;
  logic wb_go, wb_kept_q, w_start, w_last;
  assign wb_full = wb_level_q == (WW + 1)'(N_WB);
  assign wb_go = commit && live && (way_q & dirty) != '0;
  assign w_start = w_q == W_IDLE && wb_unsent_q != '0;
  assign w_last = w_row_q == RW'(ROWS - 1);
  assign gen_wr_o = wb_kept_q;
  assign gen_qpn_o = l_qpn_q;
  assign gen_o = l_gen_q;
  always_comb begin
    waits_wb = 1'b0;
    for (int i = 0; i < N_WB; i++) begin
      if (wb_busy_q[i] && wb_qpn_q[i] == r_qpn_q) waits_wb = 1'b1;
    end
  end
  ram_sdp #(.W(ROWS * DATA_W), .DEPTH(N_WB)) u_images (
      .clk_i,
      .wr_en_i  (wb_kept_q),
      .wr_addr_i(l_at_q),
      .wr_data_i((ROWS * DATA_W)'({MARK, l_gen_q, l_qpn_q, stolen_i})),
      .rd_en_i  (w_start),
      .rd_addr_i(wb_out_q),
      .rd_data_o(w_image)
  );
  assign w_qpn = wb_qpn_q[wb_out_q];
  always_comb begin
    wr_req = '0;
    wr_req.addr = base_q + 64'(w_qpn) * 64'(rnic_regs_pkg::CTX_STRIDE);
    wr_req.len = 13'(BYTES);
    wr_req.qpn = w_qpn;
  end
  assign wr_req_valid = w_q == W_REQ;
  assign wr_dat_valid = w_q == W_DATA;
  assign wr_dat_data = w_data_q[DATA_W-1:0];
  assign wr_dat_cnt = w_last ? 8'(LAST) : 8'(B);
  assign wr_dat_last = w_last;
  always_ff @(posedge clk_i) begin
    wb_kept_q <= wb_go;
    if (wb_go) begin
      l_at_q <= wb_in_q;
      l_qpn_q <= gone_qpn_o;
      l_gen_q <= gen_q[way_slot] + 8'd1;
      wb_qpn_q[wb_in_q] <= gone_qpn_o;
      wb_busy_q[wb_in_q] <= 1'b1;
      wb_in_q <= wb_in_q + 1'b1;
    end
    if (wr_placed_i) begin
      wb_busy_q[wb_old_q] <= 1'b0;
      wb_old_q <= wb_old_q + 1'b1;
    end
    wb_level_q <= wb_level_q + (WW + 1)'(wb_go) - (WW + 1)'(wr_placed_i);
    wb_unsent_q <= wb_unsent_q + (WW + 1)'(wb_kept_q) - (WW + 1)'(w_start);
    unique case (w_q)
      W_IDLE: if (w_start) w_q <= W_REQ;
      W_REQ: begin
        w_data_q <= w_image;
        w_row_q <= '0;
        if (wr_req_ready) w_q <= W_DATA;
      end
      default:
      if (wr_dat_ready) begin
        if (ROWS > 1) w_data_q <= w_data_q >> DATA_W;
        w_row_q <= w_row_q + 1'b1;
        if (w_last) begin
          w_q <= W_IDLE;
          wb_out_q <= wb_out_q + 1'b1;
        end
      end
    endcase
    if (rst_i) begin
      w_q <= W_IDLE;
      wb_kept_q <= 1'b0;
      wb_busy_q <= '0;
      wb_in_q <= '0;
      wb_out_q <= '0;
      wb_old_q <= '0;
      wb_level_q <= '0;
      wb_unsent_q <= '0;
    end
  end

  // ---------------------------------------------------------------------------- counters and trace
  assign cnt_misses_o = commit && !r_zero_q;
  assign trc_valid_o = cnt_misses_o;
  assign trc_o = {rnic_pkg::TRC_CTX_MISS, r_qpn_q, 30'd0, r_why_q};
  assign trc2_valid_o = i_over && !i_zero;
  assign trc2_o = {rnic_pkg::TRC_CTX_HERE, i_qpn, 31'd0, i_lost};

  logic unused;
  assign unused = ^{cfg_base_i[11:0], port_gnt, rd_level, rdrsp, rows};

  `RNIC_ASSERT(fetch_has_room, !commit || (f_free[f_new] && (rd_room || r_zero_q)))
  `RNIC_ASSERT(placed_was_written, !wr_placed_i || wb_level_q > wb_unsent_q)
  `RNIC_ASSERT(data_was_asked_for, !mine || (f_busy_q[a_fetch] && a_bytes <= f_left_q[a_fetch]))
  `RNIC_ASSERT(data_is_aligned, !mine || rdrsp.err || 32'(rdrsp.dst_off) % B == 0)
  for (genvar h = 0; h < 4; h++) begin : gen_kept
    `RNIC_ASSERT(no_write_when_it_goes, !(commit && live && own_wr_i[h] &&
                                          own_slot_i[h*SW+:SW] == way_slot))
  end
  `RNIC_ASSERT(nothing_comes_twice, !put_o || (valid & same) == '0 || i_qpn != r_qpn_q)
  `RNIC_STREAM_HOLD(rdreq_valid, rdreq_ready, rdreq)
  `RNIC_STREAM_HOLD(fail_valid, fail_ready, fail)
endmodule
