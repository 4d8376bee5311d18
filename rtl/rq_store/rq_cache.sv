// SPDX-License-Identifier: Apache-2.0
//
// Receive WQEs on chip. Each ring entry has one place, which follows from QPN and index, so
// there is nothing to allocate and nothing to free: a read that is started for a place pushes out
// what was there, also a read in flight. Up to N_JOB reads in flight, whose data arrive in any
// order.
// A read may be started in every cycle with start_ok_o. a_started_o is combinational, b_here_o too,
// while get_i is high; the WQE comes one cycle after get_i.
`include "rnic_assert.svh"
module rq_cache #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_RQE = 1024,
    parameter int unsigned AHEAD = 16,  // places of a QP
    parameter int unsigned N_JOB = 16
) (
    input  logic                      clk_i,
    input  logic                      rst_i,
    // start a read
    output logic                      start_ok_o,
    output logic [$clog2(N_JOB)-1:0]  start_job_o,
    input  logic                      start_i,
    input  logic [23:0]               start_qpn_i,
    input  logic [15:0]               start_index_i,
    // is this WQE on its way, or here? two questions
    input  logic [23:0]               a_qpn_i,
    input  logic [15:0]               a_index_i,
    output logic                      a_started_o,
    input  logic [23:0]               b_qpn_i,
    input  logic [15:0]               b_index_i,
    output logic                      b_here_o,
    // WQE of question b, one cycle later
    input  logic                      get_i,
    output logic [511:0]              wqe_o,
    output logic                      failed_o,
    output logic [7:0]                status_o,
    // reads in flight of this QP are forgotten
    input  logic                      kill_i,
    input  logic [23:0]               kill_qpn_i,
    // data
    input  logic                      rdrsp_valid,
    input  rnic_pkg::dma_rd_rsp_t     rdrsp,
    input  logic [DATA_W-1:0]         rdrsp_data
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned U = (B < 64) ? B : 64;  // bytes of a WQE in one beat
  localparam int unsigned UNITS = 64 / U;
  localparam int unsigned PW = $clog2(N_RQE);
  localparam int unsigned IW = $clog2(AHEAD);
  localparam int unsigned JW = $clog2(N_JOB);

  if (N_RQE <= AHEAD || (N_RQE & (N_RQE - 1)) != 0 || (AHEAD & (AHEAD - 1)) != 0) begin : gen_bad
    $error("rq_cache: N_RQE and AHEAD must be powers of two, N_RQE the larger one");
  end

  // -- places
  logic [PW-1:0] start_at, a_at, b_at;
  logic [39:0] tag_mem[N_RQE];
  assign start_at = {start_qpn_i[PW-IW-1:0], start_index_i[IW-1:0]};
  assign a_at = {a_qpn_i[PW-IW-1:0], a_index_i[IW-1:0]};
  assign b_at = {b_qpn_i[PW-IW-1:0], b_index_i[IW-1:0]};
  always_ff @(posedge clk_i) begin
    if (start_i) tag_mem[start_at] <= {start_qpn_i, start_index_i};
  end
  assign a_started_o = tag_mem[a_at] == {a_qpn_i, a_index_i};

  // -- reads in flight
  logic [N_JOB-1:0] busy_q, live_q;  // live: its place still waits for it
  logic [23:0] qpn_q[N_JOB];
  logic [PW-1:0] at_q[N_JOB];
  logic [6:0] left_q[N_JOB];
  logic [N_JOB-1:0] awaited;
  always_comb begin
    start_job_o = '0;
    if (start_i) begin
      for (int i = N_JOB - 1; i >= 0; i--) begin
        if (!busy_q[i]) start_job_o = JW'(i);
      end
    end
    awaited = '0;
    if (get_i) begin
      for (int i = 0; i < N_JOB; i++) awaited[i] = live_q[i] && at_q[i] == b_at;
    end
  end
  assign start_ok_o = !(&busy_q);
  assign b_here_o = get_i && tag_mem[b_at] == {b_qpn_i, b_index_i} && awaited == '0;

  logic mine, ends, fill;
  logic [JW-1:0] job;
  logic [6:0] bytes;
  assign mine = rdrsp_valid && rdrsp.client == rnic_pkg::RD_RQ;
  assign job = rdrsp.slot[JW-1:0];
  assign bytes = rdrsp.cnt[6:0] + rdrsp.lost[6:0];
  assign ends = mine && left_q[job] == bytes;
  assign fill = mine && live_q[job];
  always_ff @(posedge clk_i) begin
    if (mine) left_q[job] <= left_q[job] - bytes;
    if (ends) begin
      busy_q[job] <= 1'b0;
      live_q[job] <= 1'b0;
    end
    for (int i = 0; i < N_JOB; i++) begin
      if (start_i && at_q[i] == start_at) live_q[i] <= 1'b0;
      if (kill_i && qpn_q[i] == kill_qpn_i) live_q[i] <= 1'b0;
    end
    if (start_i) begin
      busy_q[start_job_o] <= 1'b1;
      live_q[start_job_o] <= 1'b1;
      qpn_q[start_job_o] <= start_qpn_i;
      at_q[start_job_o] <= start_at;
      left_q[start_job_o] <= 7'd64;
    end
    if (rst_i) begin
      busy_q <= '0;
      live_q <= '0;
    end
  end

  // -- contents
  for (genvar u = 0; u < UNITS; u++) begin : gen_unit
    logic here;
    if (UNITS == 1) begin : gen_one
      assign here = fill && !rdrsp.err;
    end else begin : gen_some
      assign here = fill && !rdrsp.err && rdrsp.dst_off[5:$clog2(U)] == u[$clog2(UNITS)-1:0];
    end
    ram_sdp #(
        .W(U * 8),
        .DEPTH(N_RQE)
    ) u_ram (
        .clk_i,
        .wr_en_i(here),
        .wr_addr_i(at_q[job]),
        .wr_data_i(rdrsp_data[U*8-1:0]),
        .rd_en_i(get_i),
        .rd_addr_i(b_at),
        .rd_data_o(wqe_o[u*U*8 +: U*8])
    );
  end
  // A failed read ends with its failure; a good one has one TLP.
  ram_sdp #(
      .W(9),
      .DEPTH(N_RQE)
  ) u_status (
      .clk_i,
      .wr_en_i(fill),
      .wr_addr_i(at_q[job]),
      .wr_data_i({rdrsp.err, rdrsp.status}),
      .rd_en_i(get_i),
      .rd_addr_i(b_at),
      .rd_data_o({failed_o, status_o})
  );

  logic unused;
  assign unused = ^{rdrsp, rdrsp_data};
  `RNIC_ASSERT(only_what_was_asked, !mine || (busy_q[job] && bytes <= left_q[job]))
  `RNIC_ASSERT(start_has_a_job, !start_i || start_ok_o)
  `RNIC_ASSERT(whole_units, !mine || rdrsp.err || (rdrsp.cnt == 8'(U) &&
                                                 rdrsp.dst_off[$clog2(U)-1:0] == '0))
endmodule
