// SPDX-License-Identifier: Apache-2.0
// One reader of one half of the contexts on chip: its own copy of them, and the lookup that waits
// for a context in host memory.
// Throughput: one lookup per cycle while they hit; one that misses holds up those behind it, no
// other reader. Latency: 1 cycle from lk_valid to ctx_valid when the context is on chip. Order:
// answers in order. A lookup that meets a write of the same context in the same cycle returns the
// old value. A QP that does not exist reads as zero.
module ctx_port #(
    parameter int unsigned W = 32,
    parameter int unsigned N_CTX = 64,
    parameter int unsigned N_QP = 1024,
    // Fixed by the above.
    parameter int unsigned SW = $clog2(N_CTX)
) (
    input  logic          clk_i,
    input  logic          rst_i,
    input  logic          on_i,          // lookups may be taken; state only
    // what is written on chip, already resolved to a place
    input  logic          wr_i,
    input  logic [SW-1:0] wr_slot_i,
    input  logic [W-1:0]  wr_data_i,
    // the reader
    input  logic          lk_valid,
    output logic          lk_ready,
    input  logic [23:0]   lk_qpn,
    output logic          ctx_valid,
    output logic [W-1:0]  ctx,
    // where the QP is: asked and answered in one cycle
    output logic          look_o,        // a lookup is taken or waits
    output logic [23:0]   look_qpn_o,
    input  logic          hit_i,
    input  logic [SW-1:0] slot_i,
    output logic          hit_o,         // a lookup was taken and hits
    // it is not: ask once
    output logic          ask_o,
    input  logic          taken_i,
    input  logic          none_valid_i,  // this QP does not exist
    input  logic [23:0]   none_qpn_i,
    // the copy for somebody else, not while on_i; data in ctx one cycle later
    input  logic          steal_i,
    input  logic [SW-1:0] steal_slot_i
);
  logic wait_q, asked_q, valid_q, zero_q;
  logic [23:0] qpn_q;
  logic fire, known, read, zero;
  assign lk_ready = on_i && !wait_q;
  assign fire = lk_valid && lk_ready;
  assign look_o = fire || wait_q;
  assign look_qpn_o = wait_q ? qpn_q : lk_qpn;
  assign known = look_qpn_o < 24'(N_QP);
  assign read = look_o && on_i && known && hit_i;
  assign zero = look_o && on_i && !read && (!known || (none_valid_i && none_qpn_i == look_qpn_o));
  assign hit_o = fire && read;
  assign ask_o = wait_q && !asked_q;

  logic [W-1:0] mem[N_CTX];
  logic [W-1:0] rd_q;
  always_ff @(posedge clk_i) begin
    if (wr_i) mem[wr_slot_i] <= wr_data_i;
    if (read || steal_i) rd_q <= mem[steal_i ? steal_slot_i : slot_i];
    if (look_o) qpn_q <= look_qpn_o;
    wait_q <= look_o && !read && !zero;
    asked_q <= wait_q && (asked_q || taken_i) && !read && !zero;
    valid_q <= read || zero;
    if (read || steal_i) zero_q <= 1'b0;
    else if (zero) zero_q <= 1'b1;
    if (rst_i) begin
      wait_q <= 1'b0;
      asked_q <= 1'b0;
      valid_q <= 1'b0;
    end
  end
  assign ctx_valid = valid_q;
  assign ctx = zero_q ? '0 : rd_q;
endmodule
