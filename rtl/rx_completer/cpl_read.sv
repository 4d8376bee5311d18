// SPDX-License-Identifier: Apache-2.0
// Where the payload of one READ response goes: the bytes from a cursor in the list of local
// segments on, cut at segments and at the room of mr_table's answers. All pieces are checked before
// the first is placed; if one is refused the payload is discarded. The result of an ATOMIC is one
// such packet whose 8 bytes come from its header. Latency: one piece leaves in the cycle of its
// answer (2 cycles after start with mr_table as it is); n pieces take 3 n cycles for the checks
// and n for the pieces. busy from start to done_o; the request must hold meanwhile.
`include "rnic_assert.svh"
module cpl_read (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic                  start_i,     // one cycle
    input  logic [767:0]          list_i,      // segments as in the WQE: {va, len, lkey}, 0 lowest
    input  logic [2:0]            seg_cnt_i,
    input  logic [2:0]            seg_i,       // cursor
    input  logic [31:0]           off_i,
    input  logic [12:0]           len_i,       // bytes to place
    input  logic                  atomic_i,    // they are in op_i
    input  logic [63:0]           op_i,
    input  logic [15:0]           pd_i,
    // in the cycle in which the last piece is taken, or the discard
    output logic                  done_o,
    output logic                  ok_o,
    output logic                  off_host_o,  // a piece goes to GPU or device memory
    output logic [2:0]            seg_o,       // cursor behind the packet
    output logic [31:0]           off_o,
    // checks
    output logic                  mrq_valid,
    input  logic                  mrq_ready,
    output rnic_pkg::mr_req_t     mrq,
    input  logic                  mrs_valid,
    input  rnic_pkg::mr_rsp_t     mrs,
    // pieces
    output logic                  piece_valid,
    input  logic                  piece_ready,
    output logic                  piece_last,
    output logic                  piece_write,
    output logic [12:0]           piece_len,
    output logic [63:0]           piece_addr,
    output logic [1:0]            piece_target,
    output logic [1:0]            piece_gpu,
    output logic [63:0]           piece_data   // ATOMIC, lane 0 first
);
  localparam int unsigned N_PIECE = 16;  // 6 segments, each over one page border at most
  localparam int unsigned PW = 81;       // {len, addr, target, gpu}
  typedef enum logic [2:0] {IDLE, ASK, WAIT, OUT, DISCARD} state_e;
  state_e state_q, state_d;

  logic [2:0]  seg_q;
  logic [31:0] off_q;
  logic [12:0] left_q, take, got, offered_q;
  logic [3:0]  count_q, out_q;
  logic        off_host_q, seg_end, no_seg, whole, first_out;
  logic [63:0] op_q;
  logic [31:0] seg_left;
  logic [127:0] seg;
  assign seg = list_i[seg_q*128 +: 128];
  // The result of an ATOMIC takes 8 bytes whatever its segment says.
  assign seg_left = atomic_i ? 32'(left_q) : seg[63:32] - off_q;
  assign no_seg = seg_q >= seg_cnt_i;
  assign seg_end = seg_left == 32'd0;
  assign take = (seg_left < 32'(left_q)) ? seg_left[12:0] : left_q;
  assign mrq_valid = state_q == ASK && !no_seg && !seg_end;
  always_comb begin
    mrq = '0;
    mrq.key = seg[31:0];
    mrq.pd = pd_i;
    mrq.va = seg[127:64] + 64'(off_q);
    mrq.len = 32'(take);
    mrq.need_lwrite = 1'b1;
  end

  // An answer: so many bytes are settled.
  assign got = (mrs.flat || mrs.room >= offered_q) ? offered_q : mrs.room;
  assign whole = got == left_q;  // nothing is left to ask for
  assign first_out = state_q == WAIT && mrs_valid && mrs.ok && whole && count_q == 4'd0;

  logic [PW-1:0] piece_mem [N_PIECE];
  logic [PW-1:0] piece;
  assign piece = (state_q == OUT) ? piece_mem[out_q] : {got, mrs.iova, mrs.target, mrs.gpu};
  assign piece_valid = first_out || state_q == OUT || state_q == DISCARD;
  assign piece_last = state_q != OUT || out_q + 4'd1 == count_q || count_q == 4'd0;
  assign piece_write = first_out || (state_q == OUT && count_q != 4'd0);
  assign piece_len = (state_q == DISCARD) ? (atomic_i ? 13'd0 : len_i) :
      (state_q == OUT && count_q == 4'd0) ? 13'd0 : piece[80:68];
  assign piece_addr = piece[67:4];
  assign piece_target = piece[3:2];
  assign piece_gpu = piece[1:0];
  assign piece_data = op_q;
  assign done_o = piece_valid && piece_ready && piece_last;
  assign ok_o = state_q != DISCARD;
  assign off_host_o = off_host_q || (first_out && mrs.target != rnic_pkg::TGT_HOST);
  assign seg_o = seg_q;
  assign off_o = first_out ? off_q + 32'(got) : off_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (start_i) state_d = (len_i == 13'd0) ? OUT : ASK;
      ASK:
      if (no_seg) state_d = DISCARD;
      else if (mrq_valid && mrq_ready) state_d = WAIT;
      WAIT:
      if (mrs_valid) begin
        if (!mrs.ok) state_d = DISCARD;
        else if (!whole) state_d = ASK;
        else state_d = (first_out && piece_ready) ? IDLE : OUT;
      end
      OUT, DISCARD: if (done_o) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (state_q == IDLE && start_i) begin
      seg_q <= seg_i;
      off_q <= off_i;
      left_q <= len_i;
      op_q <= op_i;
      count_q <= 4'd0;
      out_q <= 4'd0;
      off_host_q <= 1'b0;
    end
    if (state_q == ASK) begin
      offered_q <= take;
      if (!no_seg && seg_end) begin
        seg_q <= seg_q + 3'd1;
        off_q <= 32'd0;
      end
    end
    if (state_q == WAIT && mrs_valid) begin
      off_q <= off_q + 32'(got);
      left_q <= left_q - got;
      if (mrs.target != rnic_pkg::TGT_HOST) off_host_q <= 1'b1;
      piece_mem[count_q] <= {got, mrs.iova, mrs.target, mrs.gpu};
      if (!(first_out && piece_ready)) count_q <= count_q + 4'd1;
    end
    if (state_q == OUT && piece_ready) begin
      out_q <= out_q + 4'd1;
      op_q <= op_q >> {piece[71:68], 3'd0};
    end
    if (rst_i) state_q <= IDLE;
  end

  logic unused;
  assign unused = ^{mrs.refused};

  `RNIC_ASSERT(pieces_fit, !(state_q == WAIT && mrs_valid) || count_q != 4'd15)
  `RNIC_ASSERT(start_when_idle, !start_i || state_q == IDLE)
endmodule
