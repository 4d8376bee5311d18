// SPDX-License-Identifier: Apache-2.0
// The two ways of a completion. The short one leads to cqe_gen at once (FIFO of 4). The long one
// goes with the pieces of READ and ATOMIC responses through rx_placer, behind the data that it
// announces; once a QP has data on that way all its later completions follow there. A completion
// goes the long way only when the short one is empty, so that it overtakes none. Latency 1 on both;
// one per cycle.
module cpl_out (
    input  logic                  clk_i,
    input  logic                  rst_i,
    // a completion by itself
    input  logic                  put_valid,
    input  logic                  put_long,
    output logic                  put_ready,
    // pieces of a packet; cqe goes with one that says so
    input  logic                  piece_valid,
    output logic                  piece_ready,
    input  logic                  piece_has_cqe,
    input  logic                  piece_more,
    input  logic                  piece_write,
    input  logic                  piece_inl,
    input  logic [12:0]           piece_len,
    input  logic [63:0]           piece_addr,
    input  logic [1:0]            piece_target,
    input  logic [1:0]            piece_gpu,
    input  logic [63:0]           piece_data,
    input  logic [23:0]           psn,
    input  rnic_pkg::cqe_req_t    cqe_in,
    output logic                  cqe_valid,
    input  logic                  cqe_ready,
    output rnic_pkg::cqe_req_t    cqe,
    output logic                  cplace_valid,
    input  logic                  cplace_ready,
    output rnic_pkg::rx_place_t   cplace,
    output rnic_pkg::cqe_req_t    cplace_cqe
);
  localparam int unsigned CQE_W = $bits(cqe_in);
  localparam int unsigned PW = 174 + CQE_W;
  logic short_ready, long_ready, is_empty, alone;
  logic [2:0] level;
  logic [1:0] long_level;
  assign is_empty = level == 3'd0;
  assign alone = !piece_valid;
  assign put_ready = put_long ? long_ready && is_empty && !piece_valid : short_ready;
  assign piece_ready = long_ready && (is_empty || !piece_has_cqe);

  stream_fifo_small #(
      .W(CQE_W),
      .DEPTH(4),
      .LATENCY(1)
  ) u_short (
      .clk_i,
      .rst_i,
      .in_valid(put_valid && !put_long),
      .in_ready(short_ready),
      .in_data(cqe_in),
      .out_valid(cqe_valid),
      .out_ready(cqe_ready),
      .out_data(cqe),
      .level_o(level)
  );

  logic long_valid;
  logic p_alone, p_has_cqe, p_more, p_write, p_inl;
  logic [12:0] p_len;
  logic [63:0] p_addr, p_data;
  logic [1:0] p_target, p_gpu;
  logic [23:0] p_psn;
  assign long_valid = (piece_valid && piece_ready) || (put_valid && put_long && put_ready);
  stream_fifo_small #(
      .W(PW),
      .DEPTH(2),
      .LATENCY(1)
  ) u_long (
      .clk_i,
      .rst_i,
      .in_valid(long_valid),
      .in_ready(long_ready),
      .in_data({alone, alone || piece_has_cqe, piece_more && !alone, piece_write && !alone,
                piece_inl && !alone, alone ? 13'd0 : piece_len, piece_addr, piece_data,
                piece_target, piece_gpu, psn, cqe_in}),
      .out_valid(cplace_valid),
      .out_ready(cplace_ready),
      .out_data({p_alone, p_has_cqe, p_more, p_write, p_inl, p_len, p_addr, p_data, p_target, p_gpu,
                 p_psn, cplace_cqe}),
      .level_o(long_level)
  );
  always_comb begin
    cplace = '0;
    cplace.write = p_write;
    cplace.len = p_len;
    cplace.addr = p_addr;
    cplace.target = p_target;
    cplace.gpu = p_gpu;
    cplace.qpn = cplace_cqe.qpn;
    cplace.psn = p_psn;
    cplace.has_cqe = p_has_cqe;
    cplace.sampled = cplace_cqe.sampled;
    cplace.alone = p_alone;
    cplace.more = p_more;
    cplace.inl = p_inl;
    cplace.inl_data[63:0] = p_data;
    cplace.ticket = p_write;
  end

  logic unused;
  assign unused = ^{long_level};
endmodule
