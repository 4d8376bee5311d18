// SPDX-License-Identifier: Apache-2.0
// MSI-X table and pending bits: software reads and writes the table through a 32-bit window; a
// raised vector becomes one write (address, data), at once or, while it is masked, when it is
// unmasked.
// Throughput: one message per 2 cycles. Latency: 1 cycle from raise to msg_valid. A vector that is
// raised again before its message has left is merged with it.
module msix_table #(
    parameter int unsigned N_MSIX = 32
) (
    input  logic        clk_i,
    input  logic        rst_i,
    input  logic        raise_i,
    input  logic [7:0]  raise_vector_i,
    // table window
    input  logic        win_req_i,
    input  logic        win_we_i,
    input  logic [9:0]  win_addr_i,
    input  logic [31:0] win_wdata_i,
    input  logic [3:0]  win_wstrb_i,
    output logic        win_ack_o,
    output logic [31:0] win_rdata_o,
    // pending bits window, read only
    input  logic        pba_req_i,
    input  logic [3:0]  pba_addr_i,
    output logic        pba_ack_o,
    output logic [31:0] pba_rdata_o,
    // message to write
    output logic        msg_valid,
    input  logic        msg_ready,
    output logic [63:0] msg_addr,
    output logic [31:0] msg_data
);
  localparam int unsigned AW = (N_MSIX > 1) ? $clog2(N_MSIX) : 1;

  if (N_MSIX < 1 || N_MSIX > 64) begin : gen_bad_n
    $error("msix_table: N_MSIX must be 1 to 64");
  end

  logic [63:0] addr_mem[N_MSIX];
  logic [31:0] data_mem[N_MSIX];
  logic [N_MSIX-1:0] masked_q, pending_q;

  // -- window
  logic [5:0] row_full;
  logic [AW-1:0] row;
  logic row_known, win_go, win_write;
  logic [63:0] row_addr;
  logic [31:0] row_data, strobe;
  assign row_full = win_addr_i[9:4];
  assign row = row_full[AW-1:0];
  assign row_known = {1'b0, row_full} < 7'(N_MSIX);
  assign win_go = win_req_i && !win_ack_o;
  assign win_write = win_go && win_we_i && row_known;
  assign row_addr = addr_mem[row];
  assign row_data = data_mem[row];
  assign strobe = {{8{win_wstrb_i[3]}}, {8{win_wstrb_i[2]}}, {8{win_wstrb_i[1]}},
      {8{win_wstrb_i[0]}}};

  always_ff @(posedge clk_i) begin
    win_ack_o <= win_go;
    if (win_go) begin
      unique case (win_addr_i[3:2])
        2'd0: win_rdata_o <= row_addr[31:0];
        2'd1: win_rdata_o <= row_addr[63:32];
        2'd2: win_rdata_o <= row_data;
        default: win_rdata_o <= {31'd0, masked_q[row]};
      endcase
      if (!row_known) win_rdata_o <= 32'hFFFF_FFFF;
    end
    if (win_write) begin
      unique case (win_addr_i[3:2])
        2'd0: addr_mem[row] <= {row_addr[63:32], (row_addr[31:0] & ~strobe) |
            (win_wdata_i & strobe)};
        2'd1: addr_mem[row] <= {(row_addr[63:32] & ~strobe) | (win_wdata_i & strobe),
            row_addr[31:0]};
        2'd2: data_mem[row] <= (row_data & ~strobe) | (win_wdata_i & strobe);
        default: if (win_wstrb_i[0]) masked_q[row] <= win_wdata_i[0];
      endcase
    end
    if (rst_i) begin
      win_ack_o <= 1'b0;
      masked_q <= '1;  // as PCIe asks for after reset
    end
  end

  logic [127:0] pba;
  always_comb begin
    pba = '0;
    pba[N_MSIX-1:0] = pending_q;
  end
  always_ff @(posedge clk_i) begin
    pba_ack_o <= pba_req_i && !pba_ack_o;
    if (pba_req_i) pba_rdata_o <= pba[pba_addr_i[3:2]*32+:32];
    if (rst_i) pba_ack_o <= 1'b0;
  end

  // -- messages
  logic [N_MSIX-1:0] ready_bits, raise_bits, sent_bits;
  logic [AW-1:0] pick_idx;
  logic pick_any, pick_go, raise_known;
  logic [N_MSIX-1:0] pick_gnt;
  assign ready_bits = pending_q & ~masked_q;
  assign pick_go = pick_any && (!msg_valid || msg_ready);
  assign raise_known = raise_vector_i < 8'(N_MSIX);
  logic waits;  // a message of this vector is on offer still: it announces this event too
  logic [AW-1:0] msg_idx_q;
  assign waits = (msg_valid && !msg_ready && msg_idx_q == raise_vector_i[AW-1:0]) ||
                 (pick_go && pick_idx == raise_vector_i[AW-1:0]);
  assign raise_bits = (raise_i && raise_known && !waits) ? (N_MSIX'(1) << raise_vector_i[AW-1:0]) :
      '0;
  assign sent_bits = pick_go ? pick_gnt : '0;
  rr_select #(
      .N(N_MSIX)
  ) u_pick (
      .clk_i,
      .rst_i,
      .req_i(ready_bits),
      .advance_i(pick_go),
      .gnt_o(pick_gnt),
      .idx_o(pick_idx),
      .any_o(pick_any)
  );
  always_ff @(posedge clk_i) begin
    pending_q <= (pending_q & ~sent_bits) | raise_bits;
    if (msg_ready) msg_valid <= 1'b0;
    if (pick_go) begin
      msg_valid <= 1'b1;
      msg_idx_q <= pick_idx;
      msg_addr <= addr_mem[pick_idx];
      msg_data <= data_mem[pick_idx];
    end
    if (rst_i) begin
      pending_q <= '0;
      msg_valid <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{raise_vector_i, win_addr_i[1:0], pba_addr_i[1:0]};
endmodule
