// SPDX-License-Identifier: Apache-2.0
// BAR1 writes into whole 64-byte blocks: an AXI4 write slave that merges the pieces of one block
// until all of its bytes are there. Throughput: one block per cycle (DATA_W 1024: a beat with two
// blocks takes 2 cycles). Latency: 1 cycle from the beat that completes a block to blk_valid. A
// block whose bytes do not all come before another block begins, before one of them comes again, or
// within IDLE_CYCLES, leaves with blk_partial, its missing bytes undefined. Reads are not offered:
// BAR1 is write only.
`include "rnic_assert.svh"
module bf_blocks #(
    parameter int unsigned DATA_W = 512,
    parameter int unsigned IDLE_CYCLES = 1024  // a block that gets no byte for so long is given up
) (
    input  logic                clk_i,
    input  logic                rst_i,
    input  logic                s_awvalid,
    output logic                s_awready,
    input  logic [31:0]         s_awaddr,
    input  logic                s_wvalid,
    output logic                s_wready,
    input  logic [DATA_W-1:0]   s_wdata,
    input  logic [DATA_W/8-1:0] s_wstrb,
    input  logic                s_wlast,
    output logic                s_bvalid,
    input  logic                s_bready,
    output logic [1:0]          s_bresp,
    output logic                blk_valid,
    input  logic                blk_ready,
    output logic [31:0]         blk_addr,     // of its first byte
    output logic [511:0]        blk_data,
    output logic                blk_partial,
    output logic [63:0]         blk_mask      // bytes that are there
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned LB = $clog2(B);

  // -- burst address and answer
  logic busy_q;
  logic [31:0] addr_q;
  logic beat_fire, last_part;
  assign s_awready = !busy_q && !s_bvalid;
  assign s_bresp = 2'b00;
  always_ff @(posedge clk_i) begin
    if (s_bready) s_bvalid <= 1'b0;
    if (s_awvalid && s_awready) begin
      busy_q <= 1'b1;
      addr_q <= {s_awaddr[31:LB], {LB{1'b0}}};
    end
    if (beat_fire) begin
      addr_q <= beat_addr + B;
      if (s_wlast) begin
        busy_q <= 1'b0;
        s_bvalid <= 1'b1;
      end
    end
    if (rst_i) begin
      busy_q <= 1'b0;
      s_bvalid <= 1'b0;
    end
  end
  // Address and first beat may come together: the beat then uses the address as it arrives.
  logic [31:0] beat_addr;
  logic addressed;
  assign addressed = busy_q || (s_awvalid && s_awready);
  assign beat_addr = busy_q ? addr_q : {s_awaddr[31:LB], {LB{1'b0}}};

  // -- one piece: the bytes of a beat in one block
  logic [511:0] piece_data;
  logic [63:0] piece_mask;
  logic [31:0] piece_addr;
  logic piece_valid, piece_taken;
  if (DATA_W == 1024) begin : gen_split
    logic high_q, low_empty, high_empty;
    assign low_empty = s_wstrb[63:0] == 64'd0;
    assign high_empty = s_wstrb[127:64] == 64'd0;
    logic use_high;
    assign use_high = high_q || low_empty;
    assign piece_data = use_high ? s_wdata[1023:512] : s_wdata[511:0];
    assign piece_mask = use_high ? s_wstrb[127:64] : s_wstrb[63:0];
    assign piece_addr = {beat_addr[31:7], use_high, 6'd0};
    assign last_part = use_high || high_empty;
    always_ff @(posedge clk_i) begin
      if (piece_taken) high_q <= !last_part;
      if (rst_i) high_q <= 1'b0;
    end
  end else if (DATA_W == 512) begin : gen_whole
    assign piece_data = s_wdata;
    assign piece_mask = s_wstrb;
    assign piece_addr = {beat_addr[31:6], 6'd0};
    assign last_part = 1'b1;
  end else begin : gen_narrow
    localparam int unsigned PARTS = 512 / DATA_W;
    localparam int unsigned PW = $clog2(PARTS);
    logic [PW-1:0] part;
    assign part = beat_addr[LB+:PW];
    always_comb begin
      piece_data = '0;
      piece_mask = '0;
      piece_data[part*DATA_W+:DATA_W] = s_wdata;
      piece_mask[part*B+:B] = s_wstrb;
    end
    assign piece_addr = {beat_addr[31:6], 6'd0};
    assign last_part = 1'b1;
  end
  assign piece_valid = s_wvalid && addressed;
  assign beat_fire = piece_taken && last_part;
  assign s_wready = beat_fire;

  // -- merging in a block
  logic [31:0] hold_addr_q;
  logic [511:0] hold_data_q, merged_data, wide_mask;
  logic [63:0] hold_mask_q, merged_mask;
  logic holding, same, whole, evict, out_free, merge;
  assign holding = hold_mask_q != 64'd0;
  // A byte that comes again belongs to a new push: what was held stays partial, the two never mix.
  assign same = holding && hold_addr_q == piece_addr && (hold_mask_q & piece_mask) == 64'd0;
  localparam int unsigned TW = $clog2(IDLE_CYCLES + 1);
  logic [TW-1:0] idle_q;
  logic stale;
  assign stale = idle_q == TW'(IDLE_CYCLES);
  assign evict = holding && (stale || (piece_valid && !same));  // the held block stays partial
  assign merged_mask = (same ? hold_mask_q : 64'd0) | piece_mask;
  assign whole = &merged_mask;
  always_comb begin
    wide_mask = '0;
    merged_data = '0;
    if (piece_valid) begin
      for (int i = 0; i < 64; i++) wide_mask[i*8+:8] = {8{piece_mask[i]}};
      merged_data = ((same ? hold_data_q : 512'd0) & ~wide_mask) | (piece_data & wide_mask);
    end
  end
  assign out_free = !blk_valid || blk_ready;
  assign merge = piece_valid && !evict && (!whole || out_free);
  assign piece_taken = merge;

  always_ff @(posedge clk_i) begin
    if (blk_ready) blk_valid <= 1'b0;
    if (merge) begin
      hold_addr_q <= piece_addr;
      hold_data_q <= merged_data;
      hold_mask_q <= whole ? 64'd0 : merged_mask;
      if (whole) begin
        blk_valid <= 1'b1;
        blk_addr <= piece_addr;
        blk_data <= merged_data;
        blk_mask <= '1;
        blk_partial <= 1'b0;
      end
    end
    if (!holding || merge) idle_q <= '0;
    else if (!stale) idle_q <= idle_q + 1'b1;
    if (evict && out_free) begin
      blk_valid <= 1'b1;
      blk_addr <= hold_addr_q;
      blk_data <= hold_data_q;
      blk_mask <= hold_mask_q;
      blk_partial <= 1'b1;
      hold_mask_q <= 64'd0;
    end
    if (rst_i) begin
      blk_valid <= 1'b0;
      hold_mask_q <= 64'd0;
      idle_q <= '0;
    end
  end

  `RNIC_STREAM_HOLD(blk_valid, blk_ready, {blk_addr, blk_data, blk_mask, blk_partial})

  logic unused;
  assign unused = ^{s_awaddr, beat_addr};
endmodule
