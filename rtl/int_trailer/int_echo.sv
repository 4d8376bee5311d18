// SPDX-License-Identifier: Apache-2.0
// The newest telemetry of each QP until an ACK takes it back to the sender.
// Throughput: one put, one get and one forget per cycle. Latency: the answer to a get stands from
// the next cycle until the next get. Each telemetry is given once; a newer one replaces it. QPs
// share ENTRIES places by their low bits: of two that meet the newer one has it, the other one's
// ACK goes without, as the next packet brings news.
module int_echo #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned ENTRIES = N_QP       // a power of two, 2 at least
) (
    input  logic                   clk_i,
    input  logic                   rst_i,
    input  logic                   cfg_enable_i,
    input  logic                   put_valid_i,  // a packet of the QP brought telemetry
    input  logic [23:0]            put_qpn_i,
    input  rnic_pkg::telemetry_t   put_i,
    input  logic                   forget_valid_i,  // the QP starts anew
    input  logic [23:0]            forget_qpn_i,
    input  logic                   get_valid_i,  // an ACK of the QP is being made
    input  logic [23:0]            get_qpn_i,
    output logic                   got_valid_o,
    output rnic_pkg::telemetry_t   got_o
);
  localparam int unsigned AW = (ENTRIES > 1) ? $clog2(ENTRIES) : 1;
  localparam int unsigned W = $bits(put_i);

  if (ENTRIES < 2 || (ENTRIES & (ENTRIES - 1)) != 0) begin : gen_bad_entries
    $error("int_echo: ENTRIES must be a power of two, 2 at least");
  end

  logic [ENTRIES-1:0] valid_q;
  logic [23:0]        who_mem[ENTRIES];
  logic [AW-1:0]      put_at, get_at, forget_at;
  logic               put, hit, forget;
  assign put_at = put_qpn_i[AW-1:0];
  assign get_at = get_qpn_i[AW-1:0];
  assign forget_at = forget_qpn_i[AW-1:0];
  assign put = put_valid_i && cfg_enable_i;
  assign hit = get_valid_i && cfg_enable_i && valid_q[get_at] && who_mem[get_at] == get_qpn_i;
  assign forget = forget_valid_i && who_mem[forget_at] == forget_qpn_i;

  ram_sdp #(
      .W(W),
      .DEPTH(ENTRIES)
  ) u_telemetry (
      .clk_i,
      .wr_en_i(put),
      .wr_addr_i(put_at),
      .wr_data_i(put_i),
      .rd_en_i(hit),
      .rd_addr_i(get_at),
      .rd_data_o(got_o)
  );

  always_ff @(posedge clk_i) begin
    if (put) who_mem[put_at] <= put_qpn_i;
    if (get_valid_i) got_valid_o <= hit;
    if (hit) valid_q[get_at] <= 1'b0;
    if (forget) valid_q[forget_at] <= 1'b0;
    if (put) valid_q[put_at] <= 1'b1;
    if (rst_i) begin
      valid_q <= '0;
      got_valid_o <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{put_qpn_i};
endmodule
