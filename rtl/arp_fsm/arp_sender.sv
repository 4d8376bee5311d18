// SPDX-License-Identifier: Apache-2.0
//
// Sends to the next rank of a ring, for all groups: in each round the pieces of the own chunk from
// where they lie, then those in staging buffers. Each is a WQE that is written into the QP's send
// ring in device_memory, where a resend finds it, and pushed to sq_scheduler as by BlueFlame.
// Staging buffers stay as they are until the WQE is acknowledged. One WQE in ACK_EVERY asks for
// an acknowledgement, and in an operation the last from the own chunk and the last of all.
//
// One piece per 4 to 8 cycles. Order kept in each group; groups take turns.
`include "rnic_assert.svh"

module arp_sender #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned N_GROUP = 4,
  parameter int unsigned N_STAGE = 64,  // staging buffers per group
  parameter int unsigned N_RING = 64    // blocks of a send ring
) (
  input  logic                        clk_i,
  input  logic                        rst_i,

  input  logic                        start_valid_i,
  input  logic                        clear_valid_i,
  input  logic [$clog2(N_GROUP)-1:0]  group_i,        // of both

  output logic [$clog2(N_GROUP)-1:0]  lk_group_o,     // the group whose turn it is
  input  arp_pkg::group_t             lk_cfg_i,
  input  logic [2:0]                  lk_state_i,

  // A packet was accepted that will be sent on; which groups may have one more.
  input  logic                        reserve_valid_i,
  input  logic [$clog2(N_GROUP)-1:0]  reserve_group_i,
  output logic [N_GROUP-1:0]          credit_o,
  // A piece is in its staging buffer.
  input  logic                        staged_valid_i,
  input  logic [$clog2(N_GROUP)-1:0]  staged_group_i,
  input  logic [$clog2(N_STAGE)-1:0]  staged_buffer_i,
  input  logic [45:0]                 staged_info_i,

  // WQEs as rows of device_memory, then pushed.
  output logic                        wq_valid,
  input  logic                        wq_ready,
  output logic [31:0]                 wq_row,
  output logic [DATA_W-1:0]           wq_data,
  output logic [DATA_W/8-1:0]         wq_strb,
  output logic                        bf_valid,
  input  logic                        bf_ready,
  output rnic_pkg::wqe_entry_t        bf,
  // The send ring is acknowledged up to this index.
  input  logic                        ack_valid_i,
  input  logic [$clog2(N_GROUP)-1:0]  ack_group_i,
  input  logic [15:0]                 ack_index_i,

  output logic                        working_o,      // a WQE of lk_group_o is being made
  output logic [N_GROUP-1:0]          sent_o,         // all sent, the own chunk acknowledged
  output logic [N_GROUP-1:0]          idle_o,         // all sent and acknowledged
  output logic [N_GROUP-1:0]          progress_o,     // a piece is acknowledged
  // Of one group: pieces since it began, buffers in use.
  input  logic [$clog2(N_GROUP)-1:0]  query_group_i,
  output logic [31:0]                 query_sent_o,
  output logic [31:0]                 query_acked_o,
  output logic [15:0]                 query_held_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned GW = $clog2(N_GROUP);
  localparam int unsigned TW = $clog2(N_STAGE);
  localparam int unsigned QW = $clog2(N_RING);
  // A quarter of the buffers and of the ring: sending goes on while the answer is on its way.
  localparam int unsigned ACK_EVERY = (N_STAGE < N_RING ? N_STAGE : N_RING) / 4;
  localparam int unsigned W_ROWS = DATA_W < 512 ? 512 / DATA_W : 1;  // of a WQE

  if (N_STAGE < 4 || N_STAGE > 256 || (N_STAGE & (N_STAGE - 1)) != 0) begin : gen_check_stage
    $error("arp_sender: N_STAGE must be a power of two, 4..256");
  end
  if (N_RING < 4 || N_RING > 256 || (N_RING & (N_RING - 1)) != 0) begin : gen_check_ring
    $error("arp_sender: N_RING must be a power of two, 4..256");
  end

  // ------------------------------------------------------------------------- where each group is
  logic [N_GROUP-1:0] active_q, fresh_q;
  logic [31:0]        num_q [N_GROUP];    // running number of the next piece that is sent
  logic [31:0]        round_q [N_GROUP];  // offset of the round
  logic [31:0]        piece_q [N_GROUP];  // of the piece in the own chunk
  logic [15:0]        count_q [N_GROUP];  // pieces of this step
  logic [4:0]         step_q [N_GROUP];
  logic [15:0]        left_q [N_GROUP];   // rounds behind this one
  logic [TW:0]        staged_q [N_GROUP];   // filled and not sent
  logic [TW:0]        reserved_q [N_GROUP];
  logic [TW-1:0]      buffer_q [N_GROUP];   // next staging buffer to send
  logic [15:0]        prod_q [N_GROUP];
  logic [15:0]        own_end_q [N_GROUP];  // behind the last WQE whose data are in the own chunk
  logic [15:0]        acked_q [N_GROUP];
  logic [15:0]        target_q [N_GROUP];   // acknowledged up to here, as told
  logic [N_GROUP*N_RING-1:0] has_buffer_q;  // WQEs whose data are in a staging buffer

  typedef enum logic [1:0] {PICK, READ, WRITE, PUSH} state_e;
  state_e state_q, state_d;

  logic [GW-1:0] v_q;        // the group at hand
  logic          want, own_q, room;
  logic [4:0]    steps;
  assign lk_group_o = v_q;
  assign room = 16'(prod_q[v_q] - acked_q[v_q]) < 16'(N_RING);
  assign want = active_q[v_q] && !fresh_q[v_q] && lk_state_i == arp_pkg::GRP_RUN && room &&
      (step_q[v_q] == 5'd0 || staged_q[v_q] != '0) && !(clear_valid_i && group_i == v_q);
  assign steps = {lk_cfg_i.ranks[3:0] - 4'd1, 1'b0};

  logic [45:0] stored;
  ram_sdp #(.W(46), .DEPTH(N_GROUP * N_STAGE)) u_info (
    .clk_i, .wr_en_i(staged_valid_i), .wr_addr_i({staged_group_i, staged_buffer_i}),
    .wr_data_i(staged_info_i), .rd_en_i(state_q == PICK), .rd_addr_i({v_q, buffer_q[v_q]}),
    .rd_data_o(stored));

  // --------------------------------------------------------------------------------------- the WQE
  logic [31:0]  piece_bytes, rest, offset;
  logic [12:0]  len;
  logic         result, chunk_ends, step_ends, round_ends, asks;
  logic [511:0] wqe, wqe_q;
  assign piece_bytes = 32'd1 << lk_cfg_i.slot_log;
  assign rest = lk_cfg_i.chunk_bytes - piece_q[v_q];
  assign chunk_ends = rest <= piece_bytes;
  assign step_ends = count_q[v_q] + 16'd1 == lk_cfg_i.pieces;
  assign round_ends = step_ends && step_q[v_q] + 5'd1 == steps;
  assign asks = (32'(prod_q[v_q]) + 32'd1) % ACK_EVERY == 32'd0 ||
      (step_ends && left_q[v_q] == 16'd0 && (own_q || round_ends));
  always_comb begin
    {result, len, offset} = stored;
    if (own_q) begin
      result = 1'b0;
      len = chunk_ends ? rest[12:0] : piece_bytes[12:0];
      offset = round_q[v_q] + lk_cfg_i.own_off + piece_q[v_q];
    end
    wqe = '0;
    wqe[71:64] = arp_pkg::WQE_ARP;
    wqe[78] = !asks;
    wqe[95:92] = 4'd1;                      // segments
    wqe[111:96] = prod_q[v_q];
    wqe[191:128] = {5'd0, lk_cfg_i.elem, result, 3'd0, lk_cfg_i.rank, 16'(v_q), num_q[v_q]};
    wqe[223:192] = offset;
    wqe[287:256] = own_q ? lk_cfg_i.src_key : lk_cfg_i.stage_key;
    wqe[319:288] = 32'(len);
    wqe[383:320] = own_q ? lk_cfg_i.src_va + 64'(offset)
        : lk_cfg_i.stage_va + (64'(buffer_q[v_q]) << lk_cfg_i.slot_log);
  end

  // Into the ring: parts of a row, or several rows.
  logic [31:0] block;
  logic [1:0]  beat_q;
  logic        last_row;
  assign block = lk_cfg_i.wqe_block + 32'(prod_q[v_q][QW-1:0]);
  assign last_row = 32'(beat_q) == W_ROWS - 1;
  assign wq_valid = state_q == WRITE;
  if (DATA_W <= 512) begin : gen_rows
    assign wq_row = (block << (6 - LB)) + 32'(beat_q);
    assign wq_data = wqe_q[DATA_W*beat_q +: DATA_W];
    assign wq_strb = '1;
  end else begin : gen_half_row
    assign wq_row = block >> 1;
    assign wq_data = {2{wqe_q}};
    assign wq_strb = block[0] ? {{64{1'b1}}, 64'd0} : {64'd0, {64{1'b1}}};
  end

  assign bf_valid = state_q == PUSH;
  always_comb begin
    bf = '0;
    bf.qpn = lk_cfg_i.tx_qpn;
    bf.index = prod_q[v_q];
    bf.blocks = 7'd1;
    bf.next_index = prod_q[v_q] + 16'd1;
    bf.wqe = 1024'(wqe_q);
  end

  logic sent;
  assign working_o = state_q != PICK;
  assign sent = bf_valid && bf_ready;
  always_comb begin
    state_d = state_q;
    case (state_q)
      PICK: if (want) state_d = READ;
      READ: state_d = WRITE;
      WRITE: if (wq_ready && last_row) state_d = PUSH;
      default: if (bf_ready) state_d = PICK;
    endcase
  end

  // ------------------------------------------------------- acknowledged, one WQE after the other
  logic [GW-1:0]    a_q;
  logic [GW+QW-1:0] a_at;
  logic             pop, frees;
  assign a_at = {a_q, acked_q[a_q][QW-1:0]};
  assign pop = acked_q[a_q] != target_q[a_q];
  assign frees = pop && has_buffer_q[a_at];
  always_comb begin
    progress_o = '0;
    progress_o[a_q] = pop;
  end
  for (genvar g = 0; g < N_GROUP; g++) begin : gen_out
    assign credit_o[g] = 32'(reserved_q[g]) < N_STAGE;
    logic [15:0] own_left;
    assign own_left = own_end_q[g] - acked_q[g];
    assign sent_o[g] = !active_q[g] && (own_left == 16'd0 || own_left[15]);
    assign idle_o[g] = !active_q[g] && acked_q[g] == prod_q[g];
  end
  assign query_sent_o = num_q[query_group_i];
  assign query_acked_o = num_q[query_group_i] -
      32'(16'(prod_q[query_group_i] - acked_q[query_group_i]));
  assign query_held_o = 16'(reserved_q[query_group_i]);

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (state_q == PICK && !want) v_q <= v_q + 1'b1;
    if (sent) v_q <= v_q + 1'b1;
    if (state_q == PICK) own_q <= step_q[v_q] == 5'd0;
    if (state_q == READ) wqe_q <= wqe;
    if (state_q == READ) beat_q <= '0;
    if (wq_valid && wq_ready) beat_q <= beat_q + 2'd1;

    if (state_q == PICK && fresh_q[v_q]) begin
      fresh_q[v_q] <= 1'b0;
      round_q[v_q] <= 32'd0;
      piece_q[v_q] <= 32'd0;
      count_q[v_q] <= 16'd0;
      step_q[v_q] <= 5'd0;
      left_q[v_q] <= lk_cfg_i.rounds - 16'd1;
      if (!lk_cfg_i.ring) active_q[v_q] <= 1'b0;
    end
    if (sent) begin
      prod_q[v_q] <= prod_q[v_q] + 16'd1;
      num_q[v_q] <= num_q[v_q] + 32'd1;
      has_buffer_q[{v_q, prod_q[v_q][QW-1:0]}] <= !own_q;
      if (own_q) own_end_q[v_q] <= prod_q[v_q] + 16'd1;
      if (own_q) piece_q[v_q] <= step_ends ? 32'd0 : piece_q[v_q] + piece_bytes;
      else buffer_q[v_q] <= buffer_q[v_q] + 1'b1;
      count_q[v_q] <= step_ends ? 16'd0 : count_q[v_q] + 16'd1;
      if (step_ends) step_q[v_q] <= round_ends ? 5'd0 : step_q[v_q] + 5'd1;
      if (round_ends) begin
        round_q[v_q] <= round_q[v_q] + lk_cfg_i.round_bytes;
        left_q[v_q] <= left_q[v_q] - 16'd1;
        if (left_q[v_q] == 16'd0) active_q[v_q] <= 1'b0;
      end
    end

    a_q <= a_q + 1'b1;
    if (pop) acked_q[a_q] <= acked_q[a_q] + 16'd1;
    if (ack_valid_i) target_q[ack_group_i] <= ack_index_i;
    for (int unsigned g = 0; g < N_GROUP; g++) begin
      staged_q[g] <= staged_q[g] + (TW+1)'(staged_valid_i && 32'(staged_group_i) == g) -
          (TW+1)'(sent && !own_q && 32'(v_q) == g);
      reserved_q[g] <= reserved_q[g] + (TW+1)'(reserve_valid_i && 32'(reserve_group_i) == g) -
          (TW+1)'(frees && 32'(a_q) == g);
    end

    if (start_valid_i) begin
      active_q[group_i] <= 1'b1;
      fresh_q[group_i] <= 1'b1;
    end
    if (clear_valid_i) begin
      active_q[group_i] <= 1'b0;
      num_q[group_i] <= 32'd0;
      staged_q[group_i] <= '0;
      reserved_q[group_i] <= '0;
      buffer_q[group_i] <= '0;
      prod_q[group_i] <= 16'd0;
      own_end_q[group_i] <= 16'd0;
      acked_q[group_i] <= 16'd0;
      target_q[group_i] <= 16'd0;
    end
    if (rst_i) begin
      state_q <= PICK;
      v_q <= '0;
      a_q <= '0;
      active_q <= '0;
      fresh_q <= '0;
      for (int unsigned g = 0; g < N_GROUP; g++) begin
        staged_q[g] <= '0;
        reserved_q[g] <= '0;
        prod_q[g] <= 16'd0;
        own_end_q[g] <= 16'd0;
        acked_q[g] <= 16'd0;
        target_q[g] <= 16'd0;
      end
    end
  end

  logic unused;
  assign unused = ^{lk_cfg_i, rest, piece_bytes, block};

  `RNIC_ASSERT(staged_bound, !staged_valid_i || 32'(staged_q[staged_group_i]) < N_STAGE)
  `RNIC_ASSERT(reserve_bound, !reserve_valid_i || credit_o[reserve_group_i])
  `RNIC_STREAM_HOLD(wq_valid, wq_ready, {wq_row, wq_data})
  `RNIC_STREAM_HOLD(bf_valid, bf_ready, bf)
endmodule
