// SPDX-License-Identifier: Apache-2.0
//
// Translates pages of paged regions: a direct-mapped cache of N_TLB translations in front of the
// page lists in host memory (8 bytes a page: its DMA address, low 12 bits ignored). Each port has
// one walk at a time; a miss of one port does not hold up the others. A hit answers 2 cycles after
// the request was taken, a miss when the read has returned. One request per cycle, round robin.
//
// A translation belongs to a registration (gen), not to a key: a region that is registered anew
// finds nothing of its past here. When the numbers start again (flush_i) everything is forgotten.
module mr_walk #(
  parameter int unsigned N_PORT = 4,
  parameter int unsigned N_TLB = 128           // a power of two, at least 2
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic                    flush_i,
  input  logic [N_PORT-1:0]       walk_valid,
  output logic [N_PORT-1:0]       walk_ready,
  input  logic [N_PORT*16-1:0]    walk_gen,
  input  logic [N_PORT*52-1:0]    walk_page,
  input  logic [N_PORT*64-1:0]    walk_addr,
  output logic [N_PORT-1:0]       walk_done_o,
  output logic                    walk_ok_o,    // with any of walk_done_o
  output logic [51:0]             walk_base_o,
  // dma_master, client RD_MTT; slot is the port
  output logic                    rdreq_valid,
  input  logic                    rdreq_ready,
  output rnic_pkg::dma_rd_req_t   rdreq,
  input  logic                    rdrsp_valid,
  input  rnic_pkg::dma_rd_rsp_t   rdrsp,
  input  logic [63:0]             rdrsp_data,   // lanes 0 to 7
  output logic                    cnt_mtt_hits_o,
  output logic                    cnt_mtt_misses_o
);
  localparam int unsigned TW = $clog2(N_TLB);
  localparam int unsigned PW = (N_PORT > 1) ? $clog2(N_PORT) : 1;
  localparam int unsigned LINE_W = 16 + 52 + 52;

  // A request: chosen, then its line is read, then compared.
  logic [N_PORT-1:0] gnt, behind_q;             // behind_q: its read is on the way
  logic              any, ask_q, taken, rsp_mine, hit, line_ok;
  logic [PW-1:0]     idx, port_q, rsp_port;
  logic [15:0]       gen_q;
  logic [51:0]       page_q;
  logic [63:0]       addr_q;
  logic [LINE_W-1:0] line;
  logic [TW-1:0]     row;
  logic              room, miss, row_valid_q;
  logic [N_TLB-1:0]  valid_q;
  logic              out_level, fill;
  logic [TW-1:0]     fill_row;

  // Registration and page of the walks on the way to memory.
  logic [N_PORT-1:0] stale_q;                   // flushed meanwhile: do not keep it
  logic [15:0]       p_gen_q [N_PORT];
  logic [51:0]       p_page_q[N_PORT];

  rr_select #(.N(N_PORT)) u_pick (
    .clk_i, .rst_i, .req_i(walk_valid), .advance_i(taken), .gnt_o(gnt), .idx_o(idx), .any_o(any));
  // A request is taken when a miss of it would find the read port free.
  assign taken = any && room && !ask_q;
  assign walk_ready = taken ? gnt : '0;
  assign row = walk_page[idx*52 +: TW] ^ walk_gen[idx*16 +: TW];

  ram_sdp #(.W(LINE_W), .DEPTH(N_TLB)) u_lines (
    .clk_i, .wr_en_i(fill), .wr_addr_i(fill_row),
    .wr_data_i({p_gen_q[rsp_port], p_page_q[rsp_port], rdrsp_data[63:12]}), .rd_en_i(taken),
    .rd_addr_i(row), .rd_data_o(line));

  assign rsp_mine = rdrsp_valid && rdrsp.client == rnic_pkg::RD_MTT;
  assign rsp_port = rdrsp.slot[PW-1:0];
  assign fill = rsp_mine && !rdrsp.err && !stale_q[rsp_port] && !flush_i;
  assign fill_row = p_page_q[rsp_port][TW-1:0] ^ p_gen_q[rsp_port][TW-1:0];

  assign line_ok = row_valid_q && line[119:104] == gen_q && line[103:52] == page_q;
  // A read that returns is answered first; the comparison waits for the next cycle.
  assign hit = ask_q && line_ok && !rsp_mine;
  assign miss = ask_q && !line_ok;

  always_comb begin
    walk_done_o = '0;
    walk_ok_o = 1'b0;
    walk_base_o = line[51:0];
    if (rsp_mine) begin
      walk_done_o[rsp_port] = 1'b1;
      walk_ok_o = !rdrsp.err;
      walk_base_o = rdrsp_data[63:12];
    end else if (hit) begin
      walk_done_o[port_q] = 1'b1;
      walk_ok_o = 1'b1;
    end
  end

  rnic_pkg::dma_rd_req_t rd;
  localparam int unsigned RD_W = $bits(rd);
  always_comb begin
    rd = '0;
    if (miss) begin
      rd.addr = addr_q;
      rd.len = 13'd8;
      rd.slot = 8'(port_q);
      rd.first = 1'b1;
    end
  end
  stream_fifo_small #(.W(RD_W), .DEPTH(1), .LATENCY(1)) u_rd (
    .clk_i, .rst_i, .in_valid(miss), .in_ready(room), .in_data(rd), .out_valid(rdreq_valid),
    .out_ready(rdreq_ready), .out_data(rdreq), .level_o(out_level));

  always_ff @(posedge clk_i) begin
    ask_q <= taken || (ask_q && line_ok && rsp_mine);
    if (taken) begin
      port_q <= idx;
      row_valid_q <= valid_q[row] && !flush_i;
      gen_q <= walk_gen[idx*16 +: 16];
      page_q <= walk_page[idx*52 +: 52];
      addr_q <= walk_addr[idx*64 +: 64];
    end else if (flush_i) begin
      row_valid_q <= 1'b0;
    end
    if (miss) begin
      p_gen_q[port_q] <= gen_q;
      p_page_q[port_q] <= page_q;
      behind_q[port_q] <= 1'b1;
      stale_q[port_q] <= flush_i;
    end
    if (rsp_mine) behind_q[rsp_port] <= 1'b0;
    if (flush_i) stale_q <= stale_q | behind_q;
    if (fill) valid_q[fill_row] <= 1'b1;
    if (flush_i) valid_q <= '0;
    cnt_mtt_hits_o <= hit;
    cnt_mtt_misses_o <= miss;
    if (rst_i) begin
      ask_q <= 1'b0;
      valid_q <= '0;
      behind_q <= '0;
      cnt_mtt_hits_o <= 1'b0;
      cnt_mtt_misses_o <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{rdrsp, rdrsp_data[11:0], out_level};
endmodule
