// SPDX-License-Identifier: Apache-2.0
//
// Changes of regions by work requests: LOCAL_INV, FAST_REG (lop0) and SEND with invalidate (lop1).
// One at a time, round robin; 3 cycles from lop_ready to done when cmd_unit writes nothing. A write
// by cmd_unit in between makes it look again.
//
// Invalidate needs a valid region with the key's tag, in the same PD: it loses every access, its
// index stays. FAST_REG needs a region that exists, is not valid and is in the same PD, a range
// without wrap, a page list 8-byte aligned and a first offset inside its page; it gets what the WQE
// says under the key's tag.
module mr_local #(
  parameter int unsigned N_MR = 256
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic                    run_i,
  input  logic                    lop0_valid,
  output logic                    lop0_ready,
  input  rnic_pkg::mr_lop_t       lop0,
  output logic                    lop0_done_valid,
  output logic                    lop0_done_ok,
  input  logic                    lop1_valid,
  output logic                    lop1_ready,
  input  rnic_pkg::mr_lop_t       lop1,
  output logic                    lop1_done_valid,
  output logic                    lop1_done_ok,
  // the table
  output logic                    rd_en_o,
  output logic [$clog2(N_MR)-1:0] rd_index_o,
  input  rnic_pkg::mr_entry_t     entry_i,      // one cycle after rd_en_o
  input  logic                    disturbed_i,  // somebody else writes the table in this cycle
  output logic                    wr_valid,
  input  logic                    wr_ready,
  output logic [$clog2(N_MR)-1:0] wr_index,
  output rnic_pkg::mr_entry_t     wr
);
  localparam int unsigned IW = $clog2(N_MR);
  typedef enum logic [1:0] {IDLE, READ, APPLY} state_e;
  state_e state_q, state_d;
  logic src_q, last_q, pick1, take, ok, good, fits, place_ok;
  rnic_pkg::mr_lop_t l_q;
  rnic_desc_pkg::wqe_fast_reg_t d;
  logic [64:0] va_end;
  assign d = l_q.desc;

  assign pick1 = lop1_valid && (!lop0_valid || !last_q);
  assign take = state_q == IDLE && run_i && (lop0_valid || lop1_valid);
  assign lop0_ready = take && !pick1;
  assign lop1_ready = take && pick1;

  assign rd_en_o = state_q == READ;
  assign rd_index_o = l_q.key[8 +: IW];

  mr_place u_place (
    .page_i(d.page), .first_i(d.first), .iova_i(d.iova), .length_i(d.length), .ok_o(place_ok));
  assign va_end = {1'b0, d.va} + {1'b0, d.length};
  assign fits = d.length != 64'd0 && (d.zero_based || va_end <= {1'b1, 64'd0}) && place_ok;

  assign good = l_q.key[31:8] < 24'(N_MR) && entry_i.exists && entry_i.pd == l_q.pd;
  always_comb begin
    ok = 1'b0;
    wr = entry_i;
    wr.valid = 1'b0;
    if (l_q.op == rnic_pkg::LOP_INVALIDATE) begin
      ok = good && entry_i.valid && entry_i.tag == l_q.key[7:0];
    end else if (l_q.op == rnic_pkg::LOP_FAST_REG) begin
      ok = good && !entry_i.valid && fits;
      wr.valid = 1'b1;
      wr.tag = l_q.key[7:0];
      wr.lwrite = d.local_write;
      wr.rwrite = d.remote_write;
      wr.rread = d.remote_read;
      wr.atomic = d.remote_atomic;
      wr.zero_based = d.zero_based;
      wr.va = d.va;
      wr.length = d.length;
      wr.iova = d.iova;
      wr.page = d.page;
      wr.first = d.first[20:0];
    end
  end
  assign wr_valid = state_q == APPLY && ok;
  assign wr_index = l_q.key[8 +: IW];

  logic done;
  assign done = state_q == APPLY && (wr_ready || !ok) && !disturbed_i;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (take) state_d = READ;
      READ: if (!disturbed_i) state_d = APPLY;
      APPLY: state_d = done ? IDLE : READ;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (take) begin
      src_q <= pick1;
      last_q <= pick1;
      l_q <= pick1 ? lop1 : lop0;
    end
    lop0_done_valid <= done && !src_q;
    lop1_done_valid <= done && src_q;
    lop0_done_ok <= ok;
    lop1_done_ok <= ok;
    if (rst_i) begin
      state_q <= IDLE;
      last_q <= 1'b0;
      lop0_done_valid <= 1'b0;
      lop1_done_valid <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{entry_i, d, l_q.remote};
endmodule
