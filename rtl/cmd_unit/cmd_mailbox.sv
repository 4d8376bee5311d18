// SPDX-License-Identifier: Apache-2.0
// The 128-byte command mailbox: software writes the command through a 32-bit window and reads the
// answer of queries through another. Latency: an access is acknowledged in the next cycle. Writes
// while a command runs are dropped.
module cmd_mailbox (
    input  logic          clk_i,
    input  logic          rst_i,
    input  logic          in_req_i,
    input  logic          in_we_i,
    input  logic [6:0]    in_addr_i,
    input  logic [31:0]   in_wdata_i,
    input  logic [3:0]    in_wstrb_i,
    output logic          in_ack_o,
    output logic [31:0]   in_rdata_o,
    input  logic          out_req_i,
    input  logic [6:0]    out_addr_i,
    output logic          out_ack_o,
    output logic [31:0]   out_rdata_o,
    input  logic          busy_i,
    output logic [1023:0] cmd_o,
    input  logic          answer_valid_i,
    input  logic [1023:0] answer_i
);
  logic [1023:0] cmd_q, answer_q;
  logic [31:0] strobe, old;
  assign strobe = {{8{in_wstrb_i[3]}}, {8{in_wstrb_i[2]}}, {8{in_wstrb_i[1]}}, {8{in_wstrb_i[0]}}};
  assign old = cmd_q[in_addr_i[6:2]*32+:32];
  assign cmd_o = cmd_q;

  logic in_go, out_go;
  assign in_go = in_req_i && !in_ack_o;
  assign out_go = out_req_i && !out_ack_o;
  always_ff @(posedge clk_i) begin
    in_ack_o <= in_go;
    out_ack_o <= out_go;
    if (in_go && in_we_i && !busy_i)
      cmd_q[in_addr_i[6:2]*32+:32] <= (old & ~strobe) | (in_wdata_i & strobe);
    if (in_go) in_rdata_o <= old;
    if (out_go) out_rdata_o <= answer_q[out_addr_i[6:2]*32+:32];
    if (answer_valid_i) answer_q <= answer_i;
    if (rst_i) begin
      in_ack_o <= 1'b0;
      out_ack_o <= 1'b0;
      cmd_q <= '0;
      answer_q <= '0;
    end
  end

  logic unused;
  assign unused = ^{in_addr_i[1:0], out_addr_i[1:0]};
endmodule
