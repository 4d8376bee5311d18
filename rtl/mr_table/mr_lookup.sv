// SPDX-License-Identifier: Apache-2.0
//
// One lookup port of mr_table: gives the entry's address to the memory, checks the entry one cycle
// later, registers the answer. A flat region answers after 2 cycles, one request per cycle, in
// order. A paged region first asks mr_walk for its page; requests behind it wait meanwhile.
//
// ok needs: the key's index and tag name a valid entry; same protection domain; every needed
// access; the whole range inside the region (no sum may pass 2^64); and one target for all of its
// bytes (paged: for those in the first page). Length 0 is always ok. room says how many bytes are
// contiguous from iova on.
module mr_lookup #(
  parameter int unsigned N_MR = 256,
  parameter int unsigned DEVMEM_BYTES = 262144
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic                    gdr_en_i,
  input  logic [255:0]            gpu_base_i,
  input  logic [255:0]            gpu_limit_i,
  input  logic [63:0]             devmem_base_i,

  output logic                    ready_o,     // a request may be taken
  input  logic                    fire_i,
  input  rnic_pkg::mr_req_t       req_i,
  output logic [$clog2(N_MR)-1:0] index_o,
  input  rnic_pkg::mr_entry_t     entry_i,     // from the cycle after fire_i on, until the next one

  // mr_walk: the page of a byte of a registration
  output logic                    walk_valid,
  input  logic                    walk_ready,
  output logic [15:0]             walk_gen,
  output logic [51:0]             walk_page,
  output logic [63:0]             walk_addr,   // of its entry in the page list
  input  logic                    walk_done_i,
  input  logic                    walk_ok_i,
  input  logic [51:0]             walk_base_i, // DMA address of the page, bits 63:12

  output logic                    mrs_valid,
  output rnic_pkg::mr_rsp_t       mrs,
  output logic                    error_o,     // pulses with mrs_valid
  output logic                    refused_o
);
  localparam int unsigned IW = $clog2(N_MR);

  rnic_pkg::mr_req_t req_q;
  rnic_pkg::mr_rsp_t rsp_d;
  logic              valid_q, range_q, may, fits, empty, in_one, moves, paged, answers;
  logic [63:0]       offset;
  logic [64:0]       offset_end, va_end, iova;
  logic [1:0]        target, gpu;

  // The page walk of one request.
  logic              w_busy_q, w_asked_q, w_finish;
  logic [1:0]        w_page_q;
  logic [20:0]       w_off_q, w_room;          // offset in the page, bytes up to its end
  logic [31:0]       w_len_q;
  logic [63:0]       w_iova;

  assign index_o = req_i.key[8 +: IW];
  assign ready_o = !valid_q || !w_busy_q;
  assign moves = valid_q && !w_busy_q;
  assign empty = req_q.len == 32'd0;

  always_comb begin
    may = 1'b0;
    fits = 1'b0;
    offset = 64'd0;
    offset_end = 65'd0;
    va_end = 65'd0;
    iova = 65'd0;
    if (moves) begin
      may = range_q && entry_i.valid && entry_i.tag == req_q.key[7:0] && entry_i.pd == req_q.pd &&
            (entry_i.lwrite || !req_q.need_lwrite) && (entry_i.rwrite || !req_q.need_rwrite) &&
            (entry_i.rread || !req_q.need_rread) && (entry_i.atomic || !req_q.need_atomic);
      offset = entry_i.zero_based ? req_q.va : req_q.va - entry_i.va;
      offset_end = {1'b0, offset} + {33'd0, req_q.len};
      va_end = {1'b0, req_q.va} + {33'd0, req_q.len};
      fits = offset_end <= {1'b0, entry_i.length} &&
             (entry_i.zero_based || (req_q.va >= entry_i.va && va_end <= {1'b1, 64'd0}));
      iova = {1'b0, entry_i.iova} + {1'b0, offset};
    end
  end
  assign paged = moves && !empty && may && fits && entry_i.page != rnic_desc_pkg::MR_PAGE_FLAT;

  // ------------------------------------------------------------------------------------- page walk
  logic [63:0] from_list;                      // byte in the pages of the list
  logic [51:0] page_index;
  logic [20:0] page_offset;
  always_comb begin
    from_list = 64'd0;
    page_index = 52'd0;
    page_offset = 21'd0;
    if (paged) begin
      from_list = offset + {43'd0, entry_i.first};
      unique case (entry_i.page)
        rnic_desc_pkg::MR_PAGE_PAGE_4K: begin
          page_index = from_list[63:12];
          page_offset = {9'd0, from_list[11:0]};
        end
        rnic_desc_pkg::MR_PAGE_PAGE_64K: begin
          page_index = {4'd0, from_list[63:16]};
          page_offset = {5'd0, from_list[15:0]};
        end
        default: begin
          page_index = {9'd0, from_list[63:21]};
          page_offset = from_list[20:0];
        end
      endcase
    end
  end
  always_comb begin
    unique case (w_page_q)
      rnic_desc_pkg::MR_PAGE_PAGE_4K: w_room = 21'h1000 - w_off_q;
      rnic_desc_pkg::MR_PAGE_PAGE_64K: w_room = 21'h10000 - w_off_q;
      default: w_room = 21'h0 - w_off_q;       // 0 is 2 MB
    endcase
  end
  assign walk_valid = w_busy_q && !w_asked_q;
  assign w_finish = w_busy_q && walk_done_i;
  assign w_iova = {walk_base_i, 12'd0} + {43'd0, w_off_q};

  // room, and the bytes whose target counts
  logic [12:0] room;
  logic [31:0] span;
  assign room = (w_room == 21'd0 || w_room > 21'd4096) ? 13'd4096 : w_room[12:0];
  assign span = (w_len_q > {19'd0, room}) ? {19'd0, room} : w_len_q;

  dma_target #(.DEVMEM_BYTES(DEVMEM_BYTES)) u_target (
    .valid_i((may && fits && !iova[64] && !empty && !paged) || (w_finish && walk_ok_i)),
    .addr_i(w_finish ? w_iova : iova[63:0]), .len_i(w_finish ? span : req_q.len), .gdr_en_i,
    .gpu_base_i, .gpu_limit_i, .devmem_base_i, .ok_o(in_one), .target_o(target), .gpu_o(gpu));

  assign answers = (moves && !paged) || w_finish;
  always_comb begin
    rsp_d.refused = in_one && target == rnic_pkg::TGT_REFUSED;
    rsp_d.ok = (!w_finish && empty) || (in_one && target != rnic_pkg::TGT_REFUSED);
    rsp_d.iova = w_finish ? w_iova : iova[63:0];
    rsp_d.target = target;
    rsp_d.gpu = gpu;
    rsp_d.flat = !w_finish;
    rsp_d.room = w_finish ? room : 13'd4096;
  end

  always_ff @(posedge clk_i) begin
    valid_q <= fire_i || (valid_q && !moves);
    if (fire_i) begin
      req_q <= req_i;
      range_q <= req_i.key[31:8] < 24'(N_MR);
    end
    mrs_valid <= answers;
    if (answers) mrs <= rsp_d;
    if (paged) begin
      w_busy_q <= 1'b1;
      w_asked_q <= 1'b0;
      w_page_q <= entry_i.page;
      w_off_q <= page_offset;
      w_len_q <= req_q.len;
      walk_gen <= entry_i.gen;
      walk_page <= page_index;
      walk_addr <= entry_i.iova + {9'd0, page_index, 3'd0};
    end else begin
      if (walk_valid && walk_ready) w_asked_q <= 1'b1;
      if (w_finish) w_busy_q <= 1'b0;
    end
    if (rst_i) begin
      valid_q <= 1'b0;
      mrs_valid <= 1'b0;
      w_busy_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = entry_i.exists;

  assign error_o = mrs_valid && !mrs.ok;
  assign refused_o = mrs_valid && mrs.refused;
endmodule
