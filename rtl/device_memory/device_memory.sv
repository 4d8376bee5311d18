// SPDX-License-Identifier: Apache-2.0
//
// On-NIC memory: rows of DATA_W in SRAM, for dma_master and, as the GDR window, for the host and
// GPUs.
//
// Throughput: one row written and one row read per cycle in all; when both ports want the same
// direction they take turns. Latency: DMA read data 1 cycle after the request; GDR read address to
// first data 3 cycles. Order: the bursts of each GDR direction one after another; a GDR read sees
// every write that was answered before it. Beyond DEVMEM_BYTES the window reads 0 and swallows
// writes, both with SLVERR. gdr_wready depends on dm_wr_valid, all else on state only.
`include "rnic_assert.svh"

module device_memory #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned DEVMEM_BYTES = 262144  // a power of two, at least 64 rows of DATA_W
) (
  input  logic                clk_i,
  input  logic                rst_i,

  // DMA port of dma_master: rows of DATA_W. Read data one cycle after the request was taken, for
  // one cycle.
  input  logic                dm_wr_valid,
  output logic                dm_wr_ready,
  input  logic [31:0]         dm_wr_row,
  input  logic [DATA_W-1:0]   dm_wr_data,
  input  logic [DATA_W/8-1:0] dm_wr_strb,
  input  logic                dm_rd_valid,
  output logic                dm_rd_ready,
  input  logic [31:0]         dm_rd_row,
  output logic [DATA_W-1:0]   dm_rd_data,

  // GDR window: AXI4 without ids, full-width INCR bursts; addresses from 0.
  input  logic                gdr_awvalid,
  output logic                gdr_awready,
  input  logic [31:0]         gdr_awaddr,
  input  logic [7:0]          gdr_awlen,
  input  logic                gdr_wvalid,
  output logic                gdr_wready,
  input  logic [DATA_W-1:0]   gdr_wdata,
  input  logic [DATA_W/8-1:0] gdr_wstrb,
  input  logic                gdr_wlast,
  output logic                gdr_bvalid,
  input  logic                gdr_bready,
  output logic [1:0]          gdr_bresp,
  input  logic                gdr_arvalid,
  output logic                gdr_arready,
  input  logic [31:0]         gdr_araddr,
  input  logic [7:0]          gdr_arlen,
  output logic                gdr_rvalid,
  input  logic                gdr_rready,
  output logic [DATA_W-1:0]   gdr_rdata,
  output logic [1:0]          gdr_rresp,
  output logic                gdr_rlast
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);
  localparam int unsigned ROWS = DEVMEM_BYTES / B;
  localparam int unsigned RW = $clog2(ROWS);
  localparam logic [1:0] OKAY = 2'b00;
  localparam logic [1:0] SLVERR = 2'b10;

  if ((DEVMEM_BYTES & (DEVMEM_BYTES - 1)) != 0 || DEVMEM_BYTES < 64 * B) begin : gen_check_size
    $error("device_memory: DEVMEM_BYTES must be a power of two of at least 64 rows");
  end

  // ------------------------------------------------------------------------------------ GDR writes
  logic           w_valid, w_bad_q, w_bad, w_take, w_grant, w_turn_q, b_ready;
  logic [31-LB:0] w_base, w_row;
  logic [7:0]     w_len, w_beat_q;
  logic [1:0]     aw_level, b_level;
  stream_fifo_small #(.W(40 - LB), .DEPTH(2)) u_aw (
    .clk_i, .rst_i, .in_valid(gdr_awvalid), .in_ready(gdr_awready),
    .in_data({gdr_awaddr[31:LB], gdr_awlen}), .out_valid(w_valid), .out_ready(w_take && gdr_wlast),
    .out_data({w_base, w_len}), .level_o(aw_level));
  assign w_row = w_base + (32 - LB)'(w_beat_q);
  assign w_bad = |(w_row >> RW);
  assign gdr_wready = w_valid && w_grant && b_ready;
  assign w_take = gdr_wvalid && gdr_wready;
  stream_fifo_small #(.W(2), .DEPTH(2)) u_b (
    .clk_i, .rst_i, .in_valid(w_take && gdr_wlast), .in_ready(b_ready),
    .in_data((w_bad_q || w_bad) ? SLVERR : OKAY), .out_valid(gdr_bvalid), .out_ready(gdr_bready),
    .out_data(gdr_bresp), .level_o(b_level));

  // ------------------------------------------------------------------------------------- GDR reads
  // A row is asked for only while the output FIFO has room for it.
  logic           r_valid, r_go, r_go_q, r_last, r_last_q, r_bad, r_bad_q, r_turn_q, r_grant,
      rf_in_ready;
  logic [31-LB:0] r_base, r_row;
  logic [7:0]     r_len, r_beat_q;
  logic [1:0]     ar_level;
  logic [2:0]     rf_level;
  stream_fifo_small #(.W(40 - LB), .DEPTH(2)) u_ar (
    .clk_i, .rst_i, .in_valid(gdr_arvalid), .in_ready(gdr_arready),
    .in_data({gdr_araddr[31:LB], gdr_arlen}), .out_valid(r_valid), .out_ready(r_go && r_last),
    .out_data({r_base, r_len}), .level_o(ar_level));
  assign r_row = r_base + (32 - LB)'(r_beat_q);
  assign r_last = r_beat_q == r_len;
  assign r_bad = |(r_row >> RW);
  assign r_go = r_valid && r_grant && {1'b0, rf_level} + {3'd0, r_go_q} < 4'd4;

  // --------------------------------------------------------------------------------------- sharing
  // The DMA port goes first; after it had a turn while the window had an address, the window gets
  // the next cycle.
  assign w_grant = w_turn_q || !dm_wr_valid;
  assign dm_wr_ready = !w_turn_q;
  assign r_grant = r_turn_q || !dm_rd_valid;
  assign dm_rd_ready = !r_turn_q;

  logic [DATA_W-1:0] ram_data;
  logic              ram_wr, ram_rd, dm_wr_take, dm_rd_take;
  assign dm_wr_take = dm_wr_valid && dm_wr_ready;
  assign dm_rd_take = dm_rd_valid && dm_rd_ready;
  assign ram_wr = dm_wr_take || (w_take && !w_bad);
  assign ram_rd = dm_rd_take || r_go;
  assign dm_rd_data = ram_data;

  logic [DATA_W-1:0] ram_wr_data;
  logic [B-1:0]      ram_wr_be;
  assign ram_wr_data = dm_wr_take ? dm_wr_data : gdr_wdata;
  assign ram_wr_be = dm_wr_take ? dm_wr_strb : gdr_wstrb;
  ram_sdp_be #(.W(DATA_W), .DEPTH(ROWS)) u_ram (
    .clk_i, .wr_en_i(ram_wr), .wr_addr_i(dm_wr_take ? dm_wr_row[RW-1:0] : w_row[RW-1:0]),
    .wr_data_i(ram_wr_data), .wr_be_i(ram_wr_be), .rd_en_i(ram_rd),
    .rd_addr_i(dm_rd_take ? dm_rd_row[RW-1:0] : r_row[RW-1:0]), .rd_data_o(ram_data));

  logic [DATA_W-1:0] r_data;
  assign r_data = r_bad_q ? '0 : ram_data;
  stream_fifo #(.W(DATA_W + 3), .DEPTH(4), .OUT_REG(1)) u_rdata (
    .clk_i, .rst_i, .in_valid(r_go_q), .in_ready(rf_in_ready),
    .in_data({r_bad_q ? SLVERR : OKAY, r_last_q, r_data}), .out_valid(gdr_rvalid),
    .out_ready(gdr_rready), .out_data({gdr_rresp, gdr_rlast, gdr_rdata}), .level_o(rf_level));

  always_ff @(posedge clk_i) begin
    if (w_take) begin
      w_beat_q <= gdr_wlast ? 8'd0 : w_beat_q + 8'd1;
      w_bad_q <= !gdr_wlast && (w_bad_q || w_bad);
    end
    if (r_go) begin
      r_beat_q <= r_last ? 8'd0 : r_beat_q + 8'd1;
      r_last_q <= r_last;
      r_bad_q <= r_bad;
    end
    r_go_q <= r_go;
    w_turn_q <= dm_wr_take && w_valid;
    r_turn_q <= dm_rd_take && r_valid;
    if (rst_i) begin
      w_beat_q <= 8'd0;
      w_bad_q <= 1'b0;
      r_beat_q <= 8'd0;
      r_go_q <= 1'b0;
      w_turn_q <= 1'b0;
      r_turn_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{dm_wr_row, dm_rd_row, gdr_awaddr, gdr_araddr, rf_in_ready, aw_level, ar_level,
      b_level};

  `RNIC_ASSERT(wlast_right, !w_take || gdr_wlast == (w_beat_q == w_len))
  `RNIC_ASSERT(rows_in_range, !(dm_wr_take && |(dm_wr_row >> RW)) && !(dm_rd_take &&
      |(dm_rd_row >> RW)))
  `RNIC_ASSERT(one_writer, !(dm_wr_take && w_take))
  `RNIC_ASSERT(one_reader, !(dm_rd_take && r_go))
  `RNIC_ASSERT(fifo_room, !r_go_q || rf_in_ready)
endmodule
