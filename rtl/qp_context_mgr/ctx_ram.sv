// SPDX-License-Identifier: Apache-2.0
// One half of the QP contexts with one reader: a memory of N_QP entries, cleared after reset.
// Throughput: a lookup and a write per cycle. Latency: LAT cycles (1 to 3) from lk_valid to
// ctx_valid, in order. A lookup that meets a write of the same entry in the same cycle returns the
// old value. A QPN of N_QP or more reads as zero; writes to it are dropped.
module ctx_ram #(
    parameter int unsigned W = 32,
    parameter int unsigned N_QP = 64,
    parameter int unsigned LAT = 1
) (
    input  logic         clk_i,
    input  logic         rst_i,
    output logic         init_done_o,
    input  logic         wr_valid,
    input  logic [23:0]  wr_qpn,
    input  logic [W-1:0] wr,
    input  logic         lk_valid,
    output logic         lk_ready,
    input  logic [23:0]  lk_qpn,
    output logic         ctx_valid,
    output logic [W-1:0] ctx
);
  localparam int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1;

  if (LAT < 1 || LAT > 3) begin : gen_bad_lat
    $error("ctx_ram: LAT must be 1, 2 or 3");
  end
  if (N_QP < 1 || N_QP > (1 << 23)) begin : gen_bad_n
    $error("ctx_ram: N_QP must be 1 to 2^23");
  end

  logic [AW:0] clear_q;
  logic clearing;
  assign clearing = clear_q < (AW + 1)'(N_QP);
  assign init_done_o = !clearing;
  assign lk_ready = !clearing;
  always_ff @(posedge clk_i) begin
    if (clearing) clear_q <= clear_q + 1'b1;
    if (rst_i) clear_q <= '0;
  end

  logic lk_fire, lk_known, wr_en;
  logic [AW-1:0] wr_addr;
  logic [W-1:0] wr_data;
  assign lk_fire  = lk_valid && lk_ready;
  assign lk_known = lk_qpn < 24'(N_QP);
  assign wr_en    = clearing || (wr_valid && wr_qpn < 24'(N_QP));
  assign wr_addr  = clearing ? clear_q[AW-1:0] : wr_qpn[AW-1:0];
  assign wr_data  = clearing ? '0 : wr;

  logic [W-1:0] mem[N_QP];
  logic [W-1:0] rd_q;
  logic known_q, valid_q;
  always_ff @(posedge clk_i) begin
    if (wr_en) mem[wr_addr] <= wr_data;
    if (lk_fire) begin
      rd_q <= mem[lk_qpn[AW-1:0]];
      known_q <= lk_known;
    end
    valid_q <= lk_fire;
    if (rst_i) valid_q <= 1'b0;
  end

  logic [W-1:0] first;
  assign first = known_q ? rd_q : '0;

  if (LAT == 1) begin : gen_lat1
    assign ctx_valid = valid_q;
    assign ctx = first;
  end else begin : gen_latn
    logic [LAT-2:0] v_q;
    logic [(LAT-1)*W-1:0] d_q;
    always_ff @(posedge clk_i) begin
      v_q[0] <= valid_q;
      if (valid_q) d_q[0+:W] <= first;
      for (int unsigned i = 1; i < LAT - 1; i++) begin
        v_q[i] <= v_q[i-1];
        if (v_q[i-1]) d_q[i*W+:W] <= d_q[(i-1)*W+:W];
      end
      if (rst_i) v_q <= '0;
    end
    assign ctx_valid = v_q[LAT-2];
    assign ctx = d_q[(LAT-2)*W+:W];
  end
endmodule
