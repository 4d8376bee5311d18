// SPDX-License-Identifier: Apache-2.0
// Wire constants of RoCEv2: opcodes, syndromes, ports. Facts: roce.md sections 1 to 4.
/* verilator lint_off UNUSEDPARAM */
package roce_pkg;
  localparam logic [15:0] UDP_PORT = 16'd4791;
  localparam logic [15:0] ETHERTYPE_IPV4 = 16'h0800;
  localparam logic [15:0] ETHERTYPE_IPV6 = 16'h86DD;
  localparam logic [15:0] ETHERTYPE_VLAN = 16'h8100;

  // RC opcodes (BTH byte 0); UC is +0x20, UD SEND_ONLY is 0x64.
  localparam logic [7:0] OP_SEND_FIRST = 8'h00;
  localparam logic [7:0] OP_SEND_MIDDLE = 8'h01;
  localparam logic [7:0] OP_SEND_LAST = 8'h02;
  localparam logic [7:0] OP_SEND_LAST_IMM = 8'h03;
  localparam logic [7:0] OP_SEND_ONLY = 8'h04;
  localparam logic [7:0] OP_SEND_ONLY_IMM = 8'h05;
  localparam logic [7:0] OP_WRITE_FIRST = 8'h06;
  localparam logic [7:0] OP_WRITE_MIDDLE = 8'h07;
  localparam logic [7:0] OP_WRITE_LAST = 8'h08;
  localparam logic [7:0] OP_WRITE_LAST_IMM = 8'h09;
  localparam logic [7:0] OP_WRITE_ONLY = 8'h0A;
  localparam logic [7:0] OP_WRITE_ONLY_IMM = 8'h0B;
  localparam logic [7:0] OP_READ_REQUEST = 8'h0C;
  localparam logic [7:0] OP_READ_RESP_FIRST = 8'h0D;
  localparam logic [7:0] OP_READ_RESP_MIDDLE = 8'h0E;
  localparam logic [7:0] OP_READ_RESP_LAST = 8'h0F;
  localparam logic [7:0] OP_READ_RESP_ONLY = 8'h10;
  localparam logic [7:0] OP_ACKNOWLEDGE = 8'h11;
  localparam logic [7:0] OP_ATOMIC_ACK = 8'h12;
  localparam logic [7:0] OP_COMPARE_SWAP = 8'h13;
  localparam logic [7:0] OP_FETCH_ADD = 8'h14;
  localparam logic [7:0] OP_SEND_LAST_INV = 8'h16;
  localparam logic [7:0] OP_SEND_ONLY_INV = 8'h17;
  localparam logic [7:0] OP_UD_SEND_ONLY = 8'h64;
  localparam logic [7:0] OP_UD_SEND_ONLY_IMM = 8'h65;
  localparam logic [7:0] OP_CNP = 8'h81;

  localparam logic [1:0] ECN_CE = 2'b11;

  // INT trailer (harness/roce/README.md)
  localparam logic [15:0] INT_MAGIC = 16'h4E49;   // first byte in the low bits
  localparam logic [3:0] INT_VERSION = 4'd1;
  localparam int unsigned INT_BYTES = 48;

  // SEND and WRITE of RC in all their forms; nobody returns the telemetry of others.
  function automatic logic carries_int(input logic [7:0] opcode);
    carries_int = opcode <= OP_WRITE_ONLY_IMM || opcode == OP_SEND_LAST_INV ||
                  opcode == OP_SEND_ONLY_INV;
  endfunction

  // AETH syndrome
  localparam logic [7:0] SYN_ACK = 8'h1F;
  localparam logic [7:0] SYN_RNR = 8'h20;  // | timer code
  localparam logic [7:0] SYN_NAK_SEQ = 8'h60;
  localparam logic [7:0] SYN_NAK_INV = 8'h61;
  localparam logic [7:0] SYN_NAK_ACCESS = 8'h62;
  localparam logic [7:0] SYN_NAK_OP = 8'h63;

  // Extension headers by opcode[4:0] of RC/UC: bit 0 RETH, 1 ImmDt, 2 IETH, 3 AETH, 4 AtomicETH, 5
  // AtomicAckETH. Returned as one vector; unknown opcodes return 6'h3F, which no legal opcode has.
  function automatic logic [5:0] ext_headers(input logic [4:0] op);
    case (op)
      5'h00, 5'h01, 5'h02, 5'h04, 5'h07, 5'h08, 5'h0E: ext_headers = 6'h00;
      5'h03, 5'h05, 5'h09: ext_headers = 6'h02;
      5'h06, 5'h0A, 5'h0C: ext_headers = 6'h01;
      5'h0B: ext_headers = 6'h03;
      5'h0D, 5'h0F, 5'h10, 5'h11: ext_headers = 6'h08;
      5'h12: ext_headers = 6'h28;
      5'h13, 5'h14: ext_headers = 6'h10;
      5'h16, 5'h17: ext_headers = 6'h04;
      default: ext_headers = 6'h3F;
    endcase
  endfunction

  // Bytes of the extension headers for the vector above.
  function automatic logic [5:0] ext_bytes(input logic [5:0] ext);
    ext_bytes = (ext[0] ? 6'd16 : 6'd0) + (ext[1] ? 6'd4 : 6'd0) + (ext[2] ? 6'd4 : 6'd0) +
                (ext[3] ? 6'd4 : 6'd0) + (ext[4] ? 6'd28 : 6'd0) + (ext[5] ? 6'd8 : 6'd0);
  endfunction
endpackage
/* verilator lint_on UNUSEDPARAM */
