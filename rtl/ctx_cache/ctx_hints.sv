// SPDX-License-Identifier: Apache-2.0
// Which contexts will be wanted soon: of received packets, of QPs whose WQEs are fetched. Names the
// QP of a packet when its BTH is there, and again when the packet is stored; but of the packets
// that wait only the first AHEAD, each as it gets there: a context that is fetched too early is
// gone again before its packet is looked at.
// One name per cycle at most; those of stored packets wait for room, others are forgotten when
// there is none. Latency: 0 cycles from a BTH, 1 from a stored packet, when nothing waits.
`include "rnic_assert.svh"
module ctx_hints #(
    parameter int unsigned N_PKT = 2048,  // packets that wait, at most
    parameter int unsigned AHEAD = 8
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        on_i,
    // a packet to this QP arrives
    input  logic        bth_i,
    input  logic [23:0] bth_qpn_i,
    // it is whole and good, and waits from now on; the oldest that waits goes on (perhaps in the
    // same cycle)
    input  logic        stored_i,
    input  logic [23:0] stored_qpn_i,
    input  logic        taken_i,
    // WQEs of this QP are fetched, and few turns wait
    input  logic        wqe_i,
    input  logic [23:0] wqe_qpn_i,
    output logic        hint_valid,
    input  logic        hint_ready,
    output logic [23:0] hint_qpn
);
  localparam int unsigned DEPTH = N_PKT + 4;  // with those that are passed over below
  localparam int unsigned LW = $clog2(DEPTH + 1);
  localparam int unsigned NW = $clog2(AHEAD + 1);

  // Packets that are not named yet. The first passed_q of them have gone on all the same.
  logic          far_valid, far_ready, far_room, far_pass;
  logic [23:0]   far_qpn;
  logic [LW-1:0] far_level, passed_q;
  stream_fifo #(.W(24), .DEPTH(DEPTH), .OUT_REG(1)) u_far (
      .clk_i,
      .rst_i,
      .in_valid (stored_i),
      .in_ready (far_room),
      .in_data  (stored_qpn_i),
      .out_valid(far_valid),
      .out_ready(far_ready),
      .out_data (far_qpn),
      .level_o  (far_level)
  );

  // Packets that are named and wait.
  logic [NW-1:0] near_q;
  logic          near, name, early, none_named;
  assign near = near_q != NW'(AHEAD);
  assign far_pass = passed_q != '0;
  assign none_named = near_q == '0 && !name;
  assign far_ready = far_pass || name;
  always_ff @(posedge clk_i) begin
    near_q <= near_q + NW'(name) - NW'(taken_i && !none_named);
    passed_q <= passed_q + LW'(taken_i && none_named) - LW'(far_valid && far_pass);
    if (rst_i) begin
      near_q <= '0;
      passed_q <= '0;
    end
  end

  logic        put, room, wqe_q;
  logic [23:0] put_qpn, wqe_qpn_q;
  logic [3:0]  level;
  // At the BTH only if the packet will be among the first.
  assign early = bth_i && near && far_level == '0;
  assign name = far_valid && !far_pass && near && !early && room && on_i;
  assign put = early || name || wqe_q;
  assign put_qpn = early ? bth_qpn_i : name ? far_qpn : wqe_qpn_q;
  stream_fifo_small #(.W(24), .DEPTH(8), .LATENCY(0)) u_hints (
      .clk_i,
      .rst_i,
      .in_valid (put && on_i),
      .in_ready (room),
      .in_data  (put_qpn),
      .out_valid(hint_valid),
      .out_ready(hint_ready),
      .out_data (hint_qpn),
      .level_o  (level)
  );
  always_ff @(posedge clk_i) begin
    if (wqe_i) begin
      wqe_q <= 1'b1;
      wqe_qpn_q <= wqe_qpn_i;
    end else if (!early && !name) begin
      wqe_q <= 1'b0;
    end
    if (rst_i) wqe_q <= 1'b0;
  end

  logic unused;
  assign unused = ^level;

  `RNIC_ASSERT(every_packet_has_room, !stored_i || far_room)
  `RNIC_ASSERT(taken_was_stored, !taken_i || near_q != '0 || stored_i || far_level > passed_q)
endmodule
