// SPDX-License-Identifier: Apache-2.0
//
// Looks at the first 16 bytes of a WQE: how many blocks it covers and whether it is well formed.
// Combinational. Layout: regs/rnic.yaml, descriptor wqe.
module wqe_check (
    input  logic [127:0] head_i,
    input  logic [15:0]  index_i,    // block index where it stands
    output logic [6:0]   blocks_o,   // 1 if the index is wrong
    output logic         link_o,     // next names the block that follows it
    output logic         bad_o,
    output logic         len_err_o   // bad because of its length; else because of its form
);
  logic         inlined, long_form, index_ok;
  logic [11:0]  inline_len;
  logic [3:0]   segs;
  logic [6:0]   inline_blocks, form_blocks;
  logic [12:0]  inline_end;
  assign inlined    = head_i[75];
  assign long_form  = head_i[76];
  assign inline_len = head_i[91:80];
  assign segs       = head_i[95:92];
  assign index_ok   = head_i[111:96] == index_i;

  assign inline_end    = 13'd95 + {1'b0, inline_len};  // 32 bytes in front, rounded up to blocks
  assign inline_blocks = inline_end[12:6];
  assign form_blocks   = long_form ? 7'd2 : 7'd1;

  always_comb begin
    blocks_o = form_blocks;
    if (inlined && inline_blocks > form_blocks) blocks_o = inline_blocks;
    len_err_o = index_ok && inlined && inline_len > 12'd4064;
    bad_o = len_err_o || !index_ok || head_i[1];
    if (!inlined && segs > (long_form ? 4'd6 : 4'd2)) bad_o = 1'b1;
    if (!index_ok) blocks_o = 7'd1;
  end
  assign link_o = head_i[0] && !bad_o;

  logic unused;
  assign unused = ^{head_i, inline_end};
endmodule
