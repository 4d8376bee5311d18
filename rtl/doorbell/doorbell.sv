// SPDX-License-Identifier: Apache-2.0
// BAR0: decodes writes to the user pages into doorbells of the send queue, the receive queue and
// the two completion queues of a QP, and reads back the last value of each index.
// Throughput: one write per cycle to SQ and RQ, one per four cycles to a CQ. Latency: db_valid one
// cycle after address and data are both there. Order: writes leave in order per kind.
// awready and wready depend on the other channel's valid: a write is taken whole.
// Refused and counted, nothing else happens: a QPN beyond N_QP, an unknown offset, a write without
// both index bytes, a CQ index of a QP that does not exist. The other checks belong to those who
// own the queues.
`include "rnic_assert.svh"
module doorbell #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned UAR_STRIDE = 4096
) (
    input  logic        clk_i,
    input  logic        rst_i,
    output logic        init_done_o,
    // AXI4-Lite slave, 32 bit
    input  logic        s_awvalid,
    output logic        s_awready,
    input  logic [31:0] s_awaddr,
    input  logic        s_wvalid,
    output logic        s_wready,
    input  logic [31:0] s_wdata,
    input  logic [3:0]  s_wstrb,
    output logic        s_bvalid,
    input  logic        s_bready,
    output logic [1:0]  s_bresp,
    input  logic        s_arvalid,
    output logic        s_arready,
    input  logic [31:0] s_araddr,
    output logic        s_rvalid,
    input  logic        s_rready,
    output logic [31:0] s_rdata,
    output logic [1:0]  s_rresp,
    // to sq_scheduler
    output logic        db_valid,
    input  logic        db_ready,
    output logic [23:0] db_qpn,
    output logic [15:0] db_index,
    // to rx_responder
    output logic        rqdb_valid,
    input  logic        rqdb_ready,
    output logic [23:0] rqdb_qpn,
    output logic [15:0] rqdb_index,
    // to cqe_gen
    output logic        cqdb_valid,
    input  logic        cqdb_ready,
    output logic [15:0] cqdb_cqn,
    output logic [15:0] cqdb_index,
    output logic        cqdb_arm,
    output logic        cqdb_arm_sol,
    // context lookup, for the CQ numbers
    output logic        db_lk_valid,
    input  logic        db_lk_ready,
    output logic [23:0] db_lk_qpn,
    input  logic        db_ctx_valid,
    input  rnic_pkg::qp_conn_t db_ctx,
    // QP orders: QPI_CLEAR zeroes what is read back
    input  logic        qpi_valid,
    output logic        qpi_ready,
    input  rnic_pkg::qp_init_t qpi,
    output logic        cnt_doorbell_refused_o,
    output logic        trc_valid_o,
    output logic [63:0] trc_o,
    output logic        trc_sampled_o
);
  localparam int unsigned AW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned SHIFT = $clog2(UAR_STRIDE);

  if (UAR_STRIDE != 256 && UAR_STRIDE != 4096) begin : gen_bad_stride
    $error("doorbell: UAR_STRIDE must be 0x100 or 0x1000");
  end

  // Offsets of the page (regs/rnic.yaml, block page).
  localparam logic [SHIFT-1:0] OFF_SQ = 'h10;
  localparam logic [SHIFT-1:0] OFF_RCQ = 'h20;
  localparam logic [SHIFT-1:0] OFF_SCQ = 'h28;
  localparam logic [SHIFT-1:0] OFF_RQ = 'h30;

  // One-hot kind of an offset: 0 SQ, 1 RQ, 2 receive CQ, 3 send CQ; none is an unknown offset.
  function automatic logic [3:0] kind_of(input logic [SHIFT-1:0] off);
    kind_of = {off == OFF_SCQ, off == OFF_RCQ, off == OFF_RQ, off == OFF_SQ};
  endfunction

  // -- write
  logic [31:0] wr_page, rd_page;
  logic [3:0] wr_kind, rd_kind;
  logic wr_known, cq_busy, wr_fire, wr_good;
  logic [3:0] take;
  assign wr_page = s_awaddr >> SHIFT;
  assign wr_kind = kind_of(s_awaddr[SHIFT-1:0]);
  assign wr_known = wr_page < N_QP;
  assign wr_good = wr_known && (|wr_kind) && (&s_wstrb[1:0]);

  logic room, cq_refused;
  // An order has the memories' write port for its cycle, so that no flood of doorbells holds up
  // cmd_unit.
  assign room = init_done_o && !qpi_valid && !cq_refused && (!s_bvalid || s_bready) &&
      (!db_valid || db_ready) &&
                (!rqdb_valid || rqdb_ready) && !(cq_busy && (wr_kind[2] || wr_kind[3]));
  assign s_awready = room && s_awvalid && s_wvalid;
  assign s_wready = s_awready;
  assign wr_fire = s_awready;
  assign take = (wr_fire && wr_good) ? wr_kind : 4'd0;
  assign s_bresp = 2'b00;

  // A CQ doorbell waits here for the number of its CQ.
  // REFUSE counts one that has no QP; no write is taken beside it, so that none goes uncounted.
  typedef enum logic [2:0] {CQ_IDLE, CQ_ASK, CQ_WAIT, CQ_OUT, CQ_REFUSE} cq_state_e;
  cq_state_e cq_state_q, cq_state_d;
  logic cq_recv_q;
  assign cq_refused = (cq_state_q == CQ_REFUSE);
  assign cq_busy = (cq_state_q != CQ_IDLE);
  assign db_lk_valid = (cq_state_q == CQ_ASK);
  assign cqdb_valid = (cq_state_q == CQ_OUT);
  always_comb begin
    cq_state_d = cq_state_q;
    unique case (cq_state_q)
      CQ_IDLE: if (take[2] || take[3]) cq_state_d = CQ_ASK;
      CQ_ASK:  if (db_lk_ready) cq_state_d = CQ_WAIT;
      CQ_WAIT: if (db_ctx_valid) cq_state_d = db_ctx.exists ? CQ_OUT : CQ_REFUSE;
      CQ_OUT:  if (cqdb_ready) cq_state_d = CQ_IDLE;
      default: cq_state_d = CQ_IDLE;
    endcase
  end

  always_ff @(posedge clk_i) begin
    cq_state_q <= cq_state_d;
    if (take[2] || take[3]) begin
      db_lk_qpn <= wr_page[23:0];
      cq_recv_q <= take[2];
      cqdb_index <= s_wdata[15:0];
      cqdb_arm <= s_wdata[31] && s_wstrb[3];
      cqdb_arm_sol <= s_wdata[30] && s_wstrb[3];
    end
    if (cq_state_q == CQ_WAIT && db_ctx_valid)
      cqdb_cqn <= cq_recv_q ? db_ctx.recv_cqn : db_ctx.send_cqn;

    if (db_ready) db_valid <= 1'b0;
    if (take[0]) begin
      db_valid <= 1'b1;
      db_qpn <= wr_page[23:0];
      db_index <= s_wdata[15:0];
    end
    if (rqdb_ready) rqdb_valid <= 1'b0;
    if (take[1]) begin
      rqdb_valid <= 1'b1;
      rqdb_qpn <= wr_page[23:0];
      rqdb_index <= s_wdata[15:0];
    end
    if (s_bready) s_bvalid <= 1'b0;
    if (wr_fire) s_bvalid <= 1'b1;
    cnt_doorbell_refused_o <= (wr_fire && !wr_good) || cq_refused;

    if (rst_i) begin
      cq_state_q <= CQ_IDLE;
      db_valid <= 1'b0;
      rqdb_valid <= 1'b0;
      s_bvalid <= 1'b0;
      cnt_doorbell_refused_o <= 1'b0;
    end
  end

  // -- read back, 4 copies
  logic [AW:0] clear_q;
  logic clearing, qpi_known, clear_one, rd_fire;
  logic [3:0] rd_hit_q;
  logic [63:0] rd_last;
  assign clearing = clear_q < (AW + 1)'(N_QP);
  assign init_done_o = !clearing;
  assign qpi_known = qpi.qpn < 24'(N_QP);
  assign qpi_ready = !clearing && qpi_valid;
  assign clear_one = qpi_ready && qpi_known && qpi.op == rnic_pkg::QPI_CLEAR;
  assign rd_page = s_araddr >> SHIFT;
  assign rd_kind = kind_of(s_araddr[SHIFT-1:0]);
  assign s_arready = init_done_o && (!s_rvalid || s_rready);
  assign rd_fire = s_arvalid && s_arready;
  assign s_rresp = 2'b00;
  always_ff @(posedge clk_i) begin
    if (clearing) clear_q <= clear_q + 1'b1;
    if (s_rready) s_rvalid <= 1'b0;
    if (rd_fire) begin
      s_rvalid <= 1'b1;
      rd_hit_q <= (rd_page < N_QP) ? rd_kind : 4'd0;
    end
    if (rst_i) begin
      clear_q <= '0;
      s_rvalid <= 1'b0;
    end
  end

  for (genvar k = 0; k < 4; k++) begin : gen_last
    logic [15:0] mem[N_QP];
    logic [15:0] out_q;
    always_ff @(posedge clk_i) begin
      if (clearing) mem[clear_q[AW-1:0]] <= '0;
      else if (clear_one) mem[qpi.qpn[AW-1:0]] <= '0;
      else if (take[k]) mem[wr_page[AW-1:0]] <= s_wdata[15:0];
      if (rd_fire) out_q <= mem[rd_page[AW-1:0]];
    end
    assign rd_last[k*16+:16] = out_q;
  end
  always_comb begin
    s_rdata = 32'hFFFF_FFFF;  // holes read all ones
    for (int k = 0; k < 4; k++) if (rd_hit_q[k]) s_rdata = {16'd0, rd_last[k*16+:16]};
  end

  assign trc_valid_o = take[0];
  assign trc_o = {rnic_pkg::TRC_DOORBELL, wr_page[23:0], 16'd0, s_wdata[15:0]};
  assign trc_sampled_o = 1'b1;

  logic unused;
  assign unused = ^{db_ctx, qpi, s_wdata[29:16], s_wstrb[2]};

  `RNIC_STREAM_HOLD(db_valid, db_ready, {db_qpn, db_index})
  `RNIC_STREAM_HOLD(rqdb_valid, rqdb_ready, {rqdb_qpn, rqdb_index})
  `RNIC_STREAM_HOLD(cqdb_valid, cqdb_ready, {cqdb_cqn, cqdb_index, cqdb_arm, cqdb_arm_sol})
  `RNIC_STREAM_HOLD(s_rvalid, s_rready, s_rdata)
endmodule
