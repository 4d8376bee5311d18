// SPDX-License-Identifier: Apache-2.0
//
// Whether a region may stand where a command or a FAST_REG puts it; combinational. Flat: begins at
// iova itself and does not run over the last address. Paged: the list is 8-byte aligned and the
// first byte lies in its first page. length is not 0.
module mr_place (
  input  logic [1:0]  page_i,    // mr_page of the descriptors
  input  logic [31:0] first_i,   // offset of the first byte in its page
  input  logic [63:0] iova_i,    // of the first byte; paged: of the list
  input  logic [63:0] length_i,
  output logic        ok_o
);
  always_comb begin
    unique case (page_i)
      rnic_desc_pkg::MR_PAGE_FLAT:
      ok_o = first_i == 32'd0 && (iova_i + (length_i - 64'd1)) >= iova_i;
      rnic_desc_pkg::MR_PAGE_PAGE_4K: ok_o = iova_i[2:0] == 3'd0 && first_i < 32'h1000;
      rnic_desc_pkg::MR_PAGE_PAGE_64K: ok_o = iova_i[2:0] == 3'd0 && first_i < 32'h10000;
      default: ok_o = iova_i[2:0] == 3'd0 && first_i < 32'h200000;
    endcase
  end
endmodule
