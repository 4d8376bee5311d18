// SPDX-License-Identifier: Apache-2.0
//
// One linked list per QP over a shared pool of N_NODE nodes: append, take the oldest, empty a list,
// look at one.
// One change (push, pop or a step of an emptying) per cycle; a pop is always taken, a push waits
// for it. The node of a push is push_node in the cycle in which it is taken; whoever owns the
// nodes' contents writes them then. A lookup is answered one cycle later and sees every change
// taken in an earlier cycle. What a node is followed by is readable at once (nx_*). Nothing is
// dropped. After reset the list heads are cleared, N_QP cycles, until init_done_o.
`include "rnic_assert.svh"

module qp_lists #(
    parameter int unsigned N_QP = 64,
    parameter int unsigned N_NODE = 256
) (
    input  logic                          clk_i,
    input  logic                          rst_i,
    output logic                          init_done_o,
    // append; push_ready depends on pop_valid
    input  logic                          push_valid,
    output logic                          push_ready,
    input  logic [23:0]                   push_qpn,
    output logic [$clog2(N_NODE)-1:0]     push_node,
    // take the oldest: always taken; from an empty list (just cleared, say) it changes nothing
    input  logic                          pop_valid,
    input  logic [23:0]                   pop_qpn,
    // empty a list: held until clear_ready, which says that it is empty
    input  logic                          clear_valid,
    output logic                          clear_ready,
    input  logic [23:0]                   clear_qpn,
    // look at a list: answer in the next cycle
    input  logic                          lk_valid,
    input  logic [23:0]                   lk_qpn,
    output logic [$clog2(N_NODE)-1:0]     lk_head_o,
    output logic [$clog2(N_NODE+1)-1:0]   lk_count_o,
    input  logic [$clog2(N_NODE)-1:0]     nx_node_i,
    output logic [$clog2(N_NODE)-1:0]     nx_next_o,
    output logic [$clog2(N_NODE+1)-1:0]   free_o
);
  localparam int unsigned QW = (N_QP > 1) ? $clog2(N_QP) : 1;
  localparam int unsigned NQ = (N_QP > 1) ? N_QP : 2;
  localparam int unsigned NW = $clog2(N_NODE);
  localparam int unsigned CW = $clog2(N_NODE + 1);
  localparam int unsigned DW = 2 * NW + CW;

  // ------------------------------------------------------------------------- what is done, stage 0
  logic [QW:0] init_q;
  assign init_done_o = init_q[QW] || (init_q == (QW + 1)'(NQ));

  logic          alloc_valid, push_fire, clear_go;
  logic          op_push_q, op_pop_q, op_clear_q;
  logic [QW-1:0] op_qp_d, op_qp_q;
  logic [NW-1:0] op_node_q;

  assign push_ready = init_done_o && alloc_valid && !pop_valid;
  assign push_fire  = push_valid && push_ready;
  assign clear_go   = init_done_o && clear_valid && !pop_valid && !push_fire && !op_clear_q;
  always_comb begin
    op_qp_d = clear_qpn[QW-1:0];
    if (pop_valid) op_qp_d = pop_qpn[QW-1:0];
    else if (push_fire) op_qp_d = push_qpn[QW-1:0];
  end

  // ------------------------------------------------------------------- stage 1: change, write back
  logic [DW-1:0] desc, desc_new, desc_wr;
  logic [NW-1:0] head, tail, head_new, tail_new, head_next;
  logic [CW-1:0] count, count_new;
  logic          take, wr_en;
  logic [QW-1:0] wr_qp;
  assign head      = desc[CW+NW +: NW];
  assign tail      = desc[CW +: NW];
  assign count     = desc[CW-1:0];
  assign take      = (op_pop_q || op_clear_q) && count != '0;
  assign head_new  = take ? head_next : (op_push_q && count == '0) ? op_node_q : head;
  assign tail_new  = op_push_q ? op_node_q : tail;
  assign count_new = take ? count - 1'b1 : op_push_q ? count + 1'b1 : count;
  assign desc_new  = {head_new, tail_new, count_new};
  assign wr_en     = !init_done_o || take || op_push_q;
  assign wr_qp     = init_done_o ? op_qp_q : init_q[QW-1:0];
  assign desc_wr   = init_done_o ? desc_new : '0;
  assign clear_ready = op_clear_q && count == '0;

  logic [NW-1:0] next_mem[N_NODE];
  assign head_next = next_mem[head];
  assign nx_next_o = next_mem[nx_node_i];
  always_ff @(posedge clk_i) begin
    if (op_push_q && count != '0) next_mem[tail] <= op_node_q;
  end

  logic [2*DW-1:0] rd;
  assign desc = rd[DW-1:0];
  ram_1w_nr #(.W(DW), .DEPTH(NQ), .N_RD(2), .FORWARD(1)) u_desc (
      .clk_i,
      .wr_en_i  (wr_en),
      .wr_addr_i(wr_qp),
      .wr_data_i(desc_wr),
      .rd_en_i  ({lk_valid, pop_valid || push_fire || clear_go}),
      .rd_addr_i({lk_qpn[QW-1:0], op_qp_d}),
      .rd_data_o(rd)
  );
  assign lk_head_o  = rd[DW+CW+NW +: NW];
  assign lk_count_o = rd[DW +: CW];

  free_list #(.N(N_NODE)) u_free (
      .clk_i,
      .rst_i,
      .alloc_valid (alloc_valid),
      .alloc_ready (push_fire),
      .alloc_id    (push_node),
      .free_valid_i(take),
      .free_id_i   (head),
      .count_o     (free_o)
  );

  always_ff @(posedge clk_i) begin
    op_push_q  <= push_fire;
    op_pop_q   <= pop_valid;
    op_clear_q <= clear_go;
    if (pop_valid || push_fire || clear_go) op_qp_q <= op_qp_d;
    if (push_fire) op_node_q <= push_node;
    if (!init_done_o) init_q <= init_q + 1'b1;
    if (rst_i) begin
      op_push_q  <= 1'b0;
      op_pop_q   <= 1'b0;
      op_clear_q <= 1'b0;
      init_q     <= '0;
    end
  end

  logic unused;
  assign unused = ^{pop_qpn, push_qpn, clear_qpn, lk_qpn, rd};

  `RNIC_ASSERT(qpn_in_range, !(push_fire && push_qpn >= 24'(N_QP)))
endmodule
