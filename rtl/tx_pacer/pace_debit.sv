// SPDX-License-Identifier: Apache-2.0
// What a packet takes from the bucket of its QP: its frame with preamble, gap and FCS, and with the
// INT trailer that int_append puts behind it. Packets of
// QPs without a limit are left out; packets of one QP in a row become one debit while others wait.
// One packet per cycle, never waits; a debit can be taken 3 cycles after its packet.
`include "rnic_assert.svh"
module pace_debit #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_PATH = 64
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        cfg_int_i,    // SEND and WRITE packets of RC get an INT trailer
    // what paths put in front of the packet (pulse)
    input  logic        path_i,
    input  logic [15:0] path_index_i,
    input  logic        path_ipv6_i,
    input  logic        path_vlan_i,
    // a packet (pulse); whether its QP has a limit: a cycle later
    input  logic        pkt_i,
    input  logic [23:0] pkt_qpn_i,
    input  logic [15:0] pkt_path_i,
    input  logic [7:0]  pkt_opcode_i,
    input  logic [12:0] pkt_len_i,
    input  logic        limited_i,
    // debits; last: bytes of the latest packet in it
    output logic        debit_valid,
    input  logic        debit_ready,
    output logic [23:0] debit_qpn,
    output logic [17:0] debit_bytes,
    output logic [13:0] debit_last,
    output logic        busy_o           // something is on its way
);
  localparam int unsigned PW = (N_PATH > 1) ? $clog2(N_PATH) : 1;
  localparam int unsigned NP = (N_PATH > 1) ? N_PATH : 2;
  localparam int unsigned DEPTH = 16;

  // Extension headers by the last five bits of the opcode, UD by the first three (facts 1).
  function automatic logic [5:0] ext_bytes(input logic [7:0] opcode);
    ext_bytes = 6'd0;
    unique case (opcode[4:0])
      5'h03, 5'h05, 5'h09, 5'h0d, 5'h0f, 5'h10, 5'h11, 5'h16, 5'h17: ext_bytes = 6'd4;
      5'h06, 5'h0a, 5'h0c: ext_bytes = 6'd16;
      5'h0b: ext_bytes = 6'd20;
      5'h12: ext_bytes = 6'd12;
      5'h13, 5'h14: ext_bytes = 6'd28;
      default: ;
    endcase
    if (opcode[7:5] == 3'd3) ext_bytes = ext_bytes + 6'd8;
    if (opcode == arp_pkg::OP_ARP) ext_bytes = 6'd16;
  endfunction

  // ------------------------------------------------------------- bytes of a packet, with its path
  logic [1:0]  path_q;
  logic        v1_q;
  logic [23:0] qpn1_q;
  logic [13:0] inner1_q;   // Ethernet and IPv4, without VLAN: to the iCRC
  ram_sdp #(.W(2), .DEPTH(NP), .FORWARD(1)) u_path (
      .clk_i,
      .wr_en_i  (path_i),
      .wr_addr_i(path_index_i[PW-1:0]),
      .wr_data_i({path_ipv6_i, path_vlan_i}),
      .rd_en_i  (pkt_i),
      .rd_addr_i(pkt_path_i[PW-1:0]),
      .rd_data_o(path_q)
  );
  logic [13:0] frame, wire_bytes;
  assign frame = inner1_q + (path_q[1] ? 14'd20 : 14'd0) + (path_q[0] ? 14'd4 : 14'd0);
  assign wire_bytes = ((frame < 14'd60) ? 14'd60 : frame) + 14'd24;
  always_ff @(posedge clk_i) begin
    v1_q <= pkt_i && pkt_qpn_i < 24'(N_QP);
    if (pkt_i) begin
      qpn1_q <= pkt_qpn_i;
      // 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 4 iCRC
      inner1_q <= 14'd58 + {8'd0, ext_bytes(pkt_opcode_i)} +
          (({1'b0, pkt_len_i} + 14'd3) & ~14'd3) +
          ((cfg_int_i && roce_pkg::carries_int(pkt_opcode_i)) ? 14'(roce_pkg::INT_BYTES) : 14'd0);
    end
    if (rst_i) v1_q <= 1'b0;
  end

  // ------------------------------------------------------------------------------------- in a row
  logic        cur_q, take, same, push, room;
  logic [23:0] cur_qpn_q;
  logic [17:0] cur_bytes_q;
  logic [13:0] cur_last_q;
  logic [4:0]  level;
  assign take = v1_q && limited_i;
  assign same = cur_q && cur_qpn_q == qpn1_q && !cur_bytes_q[17];
  assign push = cur_q && (level == 5'd0 || (take && !same));
  always_ff @(posedge clk_i) begin
    if (take) begin
      cur_q <= 1'b1;
      cur_qpn_q <= qpn1_q;
      cur_last_q <= wire_bytes;
      cur_bytes_q <= {4'd0, wire_bytes} + ((same && !push) ? cur_bytes_q : 18'd0);
    end else if (push) begin
      cur_q <= 1'b0;
    end
    if (rst_i) cur_q <= 1'b0;
  end
  stream_fifo #(.W(56), .DEPTH(DEPTH)) u_debits (
      .clk_i,
      .rst_i,
      .in_valid (push),
      .in_ready (room),
      .in_data  ({cur_qpn_q, cur_bytes_q, cur_last_q}),
      .out_valid(debit_valid),
      .out_ready(debit_ready),
      .out_data ({debit_qpn, debit_bytes, debit_last}),
      .level_o  (level)
  );

  assign busy_o = v1_q || cur_q || debit_valid;

  logic unused;
  assign unused = ^{path_index_i, pkt_path_i, pkt_opcode_i};

  `RNIC_ASSERT(no_debit_is_lost, !push || room)
endmodule
