// SPDX-License-Identifier: Apache-2.0
// The byte counter of each QP: counts down what is sent, reports an expiry and goes on with the
// overshoot taken off. One packet per cycle; a reload (rate cut, reset) holds a packet back for one
// cycle. An expiry that nobody takes is reported with a later packet.
module dcqcn_bytes #(
    parameter int unsigned N_QP = 64
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        clear_i,   // QP clear_idx_i, while rst_i is low
    input  logic [$clog2(N_QP)-1:0] clear_idx_i,
    input  logic [31:0] now_i,
    input  logic [31:0] reset_i,   // bytes
    output logic        idle_o,
    input  logic        tx_valid,
    output logic        tx_ready,
    input  logic [$clog2(N_QP)-1:0] tx_idx,
    input  logic [15:0] tx_bytes,
    input  logic        reload_valid,  // always taken
    input  logic        reload_on,     // 0: count no more
    input  logic [$clog2(N_QP)-1:0] reload_idx,
    output logic        expire_valid,
    input  logic        expire_ready,
    output logic [$clog2(N_QP)-1:0] expire_idx,
    output logic [31:0] expire_at
);
  localparam int unsigned QW = $clog2(N_QP);
  localparam int unsigned CW = 34;            // signed
  logic          op_q, reload_q, on_q;
  logic [QW-1:0] idx_q;
  logic [15:0]   bytes_q;
  logic [31:0]   at_q;
  logic [CW:0]   word, word_d;
  logic [CW-1:0] left, more;
  logic          expired, op, wr_en;
  assign tx_ready = !reload_valid && !clear_i;
  assign op = reload_valid || (tx_valid && tx_ready);
  always_ff @(posedge clk_i) begin
    op_q <= op;
    if (op) begin
      reload_q <= reload_valid;
      on_q <= reload_on;
      idx_q <= reload_valid ? reload_idx : tx_idx;
      bytes_q <= tx_bytes;
      at_q <= now_i;
    end
    if (rst_i) op_q <= 1'b0;
  end
  assign left = word[CW-1:0] - CW'(bytes_q);
  assign more = left + CW'(reset_i);
  assign expired = word[CW] && (left[CW-1] || left == '0);
  assign expire_valid = op_q && !reload_q && expired;
  assign expire_idx = idx_q;
  assign expire_at = at_q;
  always_comb begin
    wr_en = op_q && (reload_q || word[CW]);
    word_d = {1'b1, (expired && expire_ready) ? more : left};
    if (reload_q) word_d = {on_q, CW'(reset_i)};
    if (clear_i) begin
      wr_en = 1'b1;
      word_d = '0;
    end
  end
  ram_sdp #(
      .W(CW + 1),
      .DEPTH(N_QP),
      .FORWARD(1)
  ) u_ram (
      .clk_i,
      .wr_en_i(wr_en),
      .wr_addr_i(clear_i ? clear_idx_i : idx_q),
      .wr_data_i(word_d),
      .rd_en_i(op),
      .rd_addr_i(reload_valid ? reload_idx : tx_idx),
      .rd_data_o(word)
  );
  assign idle_o = !op && !op_q;
endmodule
