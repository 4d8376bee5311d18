// SPDX-License-Identifier: Apache-2.0
// Event queues: writes a 16-byte EQE for each event into the ring of its EQ and raises the EQ's
// MSI-X vector behind it. Throughput: one event per 3 cycles. Latency: 2 cycles from event to
// wrreq. Order: events of one input stay in order; the MSI-X write follows its EQE. Lost and
// counted: an event for a full or missing EQ (eq_overrun). A consumer index that is not between the
// old one and the producer, or is of a missing EQ, is not taken and counted (doorbell_refused).
`include "rnic_assert.svh"
module event_queue #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned N_EQ = 8,
    parameter int unsigned N_MSIX = 32
) (
    input  logic                  clk_i,
    input  logic                  rst_i,
    input  logic [63:0]           timestamp_i,
    // events: 0 cqe_gen, 1 cmd_unit, 2 others
    input  logic                  ev0_valid,
    output logic                  ev0_ready,
    input  rnic_pkg::event_t      ev0,
    input  logic                  ev1_valid,
    output logic                  ev1_ready,
    input  rnic_pkg::event_t      ev1,
    input  logic                  ev2_valid,
    output logic                  ev2_ready,
    input  rnic_pkg::event_t      ev2,
    // consumer indices, window of the register file: EQ n at 8 * n
    input  logic                  eqw_req_i,
    input  logic                  eqw_we_i,
    input  logic [10:0]           eqw_addr_i,
    input  logic [31:0]           eqw_wdata_i,
    input  logic [3:0]            eqw_wstrb_i,
    output logic                  eqw_ack_o,
    output logic [31:0]           eqw_rdata_o,
    // cmd_unit: create or destroy (always taken), query
    input  logic                  cw_valid,
    input  logic [7:0]            cw_index,
    input  rnic_pkg::eq_entry_t   cw,
    input  logic                  cr_valid,
    input  logic [7:0]            cr_index,
    output logic                  cr_rsp_valid,
    output rnic_pkg::eq_entry_t   cr,
    output logic [15:0]           cr_prod,
    // MSI-X table and pending bits, from the register file
    input  logic                  msix_req_i,
    input  logic                  msix_we_i,
    input  logic [9:0]            msix_addr_i,
    input  logic [31:0]           msix_wdata_i,
    input  logic [3:0]            msix_wstrb_i,
    output logic                  msix_ack_o,
    output logic [31:0]           msix_rdata_o,
    input  logic                  pba_req_i,
    input  logic [3:0]            pba_addr_i,
    output logic                  pba_ack_o,
    output logic [31:0]           pba_rdata_o,
    // to dma_master
    output logic                  wrreq_valid,
    input  logic                  wrreq_ready,
    output rnic_pkg::dma_wr_req_t wrreq,
    output logic                  wrdat_valid,
    input  logic                  wrdat_ready,
    output logic [DATA_W-1:0]     wrdat_data,
    output logic [7:0]            wrdat_cnt,
    output logic                  wrdat_last,
    output logic                  cnt_eqe_written_o,
    output logic                  cnt_eq_overrun_o,
    output logic                  cnt_msix_sent_o,
    output logic                  cnt_doorbell_refused_o
);
  localparam int unsigned AW = (N_EQ > 1) ? $clog2(N_EQ) : 1;

  if (N_EQ < 1 || N_EQ > 256) begin : gen_bad_n
    $error("event_queue: N_EQ must be 1 to 256");
  end

  typedef enum logic [1:0] {PICK, FORM, SEND} state_e;
  state_e state_q, state_d;

  // -- EQ contexts
  // Few and small: registers, so that nothing needs clearing after reset.
  rnic_pkg::eq_entry_t ctx_mem[N_EQ];
  logic [15:0] prod_mem[N_EQ];
  logic [15:0] cons_mem[N_EQ];
  logic [N_EQ-1:0] valid_q;

  logic [2:0] ev_valid, gnt;
  logic [1:0] gnt_idx;
  logic any, take;
  rnic_pkg::event_t pick_ev, e_q;
  assign ev_valid = {ev2_valid, ev1_valid, ev0_valid};
  rr_select #(
      .N(3)
  ) u_select (
      .clk_i,
      .rst_i,
      .req_i(ev_valid),
      .advance_i(take),
      .gnt_o(gnt),
      .idx_o(gnt_idx),
      .any_o(any)
  );
  assign take = state_q == PICK && any && !cw_valid;
  assign {ev2_ready, ev1_ready, ev0_ready} = take ? gnt : 3'b000;
  assign pick_ev = gnt[0] ? ev0 : gnt[1] ? ev1 : ev2;

  // FORM reads the EQ as it is then: a create or a consumer index of the cycle before counts.
  rnic_pkg::eq_entry_t ctx;
  logic [7:0] vector_q;
  logic [15:0] prod, cons;
  logic exists, msg_busy;
  logic [AW-1:0] idx;
  assign idx = e_q.eqn[AW-1:0];
  assign ctx = ctx_mem[idx];
  assign prod = prod_mem[idx];
  assign cons = cons_mem[idx];
  assign exists = {1'b0, e_q.eqn} < 9'(N_EQ) && valid_q[idx];

  logic full, write_it, lose_it, cw_known;
  logic [15:0] size, used, slot, pass;
  assign size = 16'd1 << ctx.log_size;
  assign used = prod - cons;
  assign slot = prod & (size - 16'd1);
  assign pass = prod >> ctx.log_size;
  assign full = used >= size;
  // A message on offer, or whose data are, keeps the port: request and data of the two must not be
  // mixed up.
  assign write_it = state_q == FORM && exists && !full && !cw_valid && !msg_busy;
  assign lose_it = state_q == FORM && (!exists || full) && !cw_valid;
  assign cw_known = {1'b0, cw_index} < 9'(N_EQ);

  // -- consumer indices
  logic [7:0] eqw_eqn;
  logic eqw_go, eqw_known, eqw_write;
  assign eqw_eqn = eqw_addr_i[10:3];
  assign eqw_known = {1'b0, eqw_eqn} < 9'(N_EQ) && !eqw_addr_i[2];
  assign eqw_go = eqw_req_i && !eqw_ack_o;
  logic [15:0] eqw_step, eqw_used;
  logic [AW-1:0] eqw_idx;
  assign eqw_idx = eqw_eqn[AW-1:0];
  assign eqw_step = eqw_wdata_i[15:0] - cons_mem[eqw_idx];
  assign eqw_used = prod_mem[eqw_idx] - cons_mem[eqw_idx];
  assign eqw_write = eqw_go && eqw_we_i && eqw_known && (&eqw_wstrb_i[1:0]) && valid_q[eqw_idx] &&
                     eqw_step <= eqw_used;

  rnic_desc_pkg::eqe_t entry;
  always_comb begin
    entry = '0;
    entry.event_type = e_q.etype;
    entry.code = e_q.code;
    entry.number = e_q.number;
    entry.timestamp = timestamp_i[55:0];
    entry.owner = !pass[0];
  end

  // -- EQE and MSI-X message share one write port
  logic fence_q, msg_valid, msg_ready, eqe_req_q, eqe_dat_q, msg_dat_q, msg_req, eqe_done, raise;
  logic [63:0] msg_addr, eqe_addr_q;
  logic [31:0] msg_data, msg_data_q;
  logic [127:0] entry_q;
  logic handed;  // request and data of the EQE are with dma_master after this cycle
  assign eqe_done = !eqe_req_q && !eqe_dat_q;
  assign handed = (!eqe_req_q || wrreq_ready) && (!eqe_dat_q || wrdat_ready);
  assign raise = state_q == SEND && handed;
  // An EQE goes first; a message starts only between two EQEs, and its data follow it at once.
  assign msg_req = msg_valid && eqe_done && !msg_dat_q && state_q != SEND;
  assign msg_ready = msg_req && wrreq_ready;
  assign msg_busy = msg_req || msg_dat_q;
  assign wrreq_valid = eqe_req_q || msg_req;
  always_comb begin
    wrreq = '0;
    wrreq.addr = eqe_req_q ? eqe_addr_q : msg_addr;
    wrreq.len = eqe_req_q ? 13'd16 : 13'd4;
    // Sums of an AllReduce are visible before their event, also in a GPU.
    wrreq.fence = eqe_req_q && fence_q;
    wrreq.qpn = 24'hFF_FFFF;  // no QP: a fault here is the device's
    wrreq.is_queue = 1'b1;
  end
  assign wrdat_valid = eqe_dat_q || msg_dat_q;
  assign wrdat_data = eqe_dat_q ? DATA_W'(entry_q) : DATA_W'(msg_data_q);
  assign wrdat_cnt = eqe_dat_q ? 8'd16 : 8'd4;
  assign wrdat_last = 1'b1;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      PICK: if (take) state_d = FORM;
      FORM: if (write_it) state_d = SEND; else if (lose_it) state_d = PICK;
      SEND: if (handed) state_d = PICK;
      default: state_d = PICK;
    endcase
  end

  always_ff @(posedge clk_i) begin
    state_q <= state_d;
    if (take) begin
      e_q <= pick_ev;
    end
    if (wrreq_ready) eqe_req_q <= 1'b0;
    if (eqe_dat_q && wrdat_ready) eqe_dat_q <= 1'b0;
    if (!eqe_dat_q && wrdat_ready) msg_dat_q <= 1'b0;
    if (msg_ready) begin
      msg_dat_q <= 1'b1;
      msg_data_q <= msg_data;
    end
    if (write_it) begin
      eqe_req_q <= 1'b1;
      eqe_dat_q <= 1'b1;
      eqe_addr_q <= ctx.base + {44'd0, slot, 4'd0};
      entry_q <= entry;
      vector_q <= ctx.msix;
      fence_q <= e_q.etype == rnic_desc_pkg::EQE_TYPE_ARP_DONE ||
                 e_q.etype == rnic_desc_pkg::EQE_TYPE_ARP_ABORTED;
      prod_mem[idx] <= prod + 16'd1;
    end
    eqw_ack_o <= eqw_go;
    if (eqw_go) eqw_rdata_o <= eqw_known ? {16'd0, cons_mem[eqw_idx]} : 32'hFFFF_FFFF;
    if (eqw_write) cons_mem[eqw_idx] <= eqw_wdata_i[15:0];
    if (cw_valid && cw_known) begin
      ctx_mem[cw_index[AW-1:0]] <= cw;
      prod_mem[cw_index[AW-1:0]] <= '0;
      cons_mem[cw_index[AW-1:0]] <= '0;
      valid_q[cw_index[AW-1:0]] <= cw.valid;
    end
    cnt_eqe_written_o <= write_it;
    cnt_eq_overrun_o <= lose_it;
    cnt_msix_sent_o <= msg_ready;
    cnt_doorbell_refused_o <= eqw_go && eqw_we_i && !eqw_write;
    if (rst_i) begin
      state_q <= PICK;
      eqe_req_q <= 1'b0;
      eqe_dat_q <= 1'b0;
      msg_dat_q <= 1'b0;
      eqw_ack_o <= 1'b0;
      valid_q <= '0;
      cnt_eqe_written_o <= 1'b0;
      cnt_eq_overrun_o <= 1'b0;
      cnt_msix_sent_o <= 1'b0;
      cnt_doorbell_refused_o <= 1'b0;
    end
  end

  // -- query
  always_ff @(posedge clk_i) begin
    cr_rsp_valid <= cr_valid;
    if (cr_valid) begin
      cr <= ctx_mem[cr_index[AW-1:0]];
      if ({1'b0, cr_index} >= 9'(N_EQ) || !valid_q[cr_index[AW-1:0]]) cr <= '0;
      cr_prod <= prod_mem[cr_index[AW-1:0]];
    end
    if (rst_i) cr_rsp_valid <= 1'b0;
  end

  msix_table #(
      .N_MSIX(N_MSIX)
  ) u_msix (
      .clk_i,
      .rst_i,
      .raise_i(raise),
      .raise_vector_i(vector_q),
      .win_req_i(msix_req_i),
      .win_we_i(msix_we_i),
      .win_addr_i(msix_addr_i),
      .win_wdata_i(msix_wdata_i),
      .win_wstrb_i(msix_wstrb_i),
      .win_ack_o(msix_ack_o),
      .win_rdata_o(msix_rdata_o),
      .pba_req_i,
      .pba_addr_i,
      .pba_ack_o,
      .pba_rdata_o,
      .msg_valid,
      .msg_ready,
      .msg_addr,
      .msg_data
  );

  logic unused;
  assign unused = ^{gnt_idx, timestamp_i, pass, e_q, ctx, eqw_wdata_i, eqw_wstrb_i, eqw_addr_i};

  `RNIC_STREAM_HOLD(wrreq_valid, wrreq_ready, wrreq)
  `RNIC_STREAM_HOLD(wrdat_valid, wrdat_ready, {wrdat_data, wrdat_cnt})
  `RNIC_ASSERT(one_data_at_a_time, !(eqe_dat_q && msg_dat_q))
endmodule
