// SPDX-License-Identifier: Apache-2.0
// Which context is where: 8 ways per set, the set of a QP is its number modulo the number of sets.
// A place is {set, way}. Lookups are combinational, changes are seen from the next cycle on.
module ctx_dir #(
    parameter int unsigned N_CTX = 64,    // a power of two, 8 at least
    parameter int unsigned N_QP = 1024,
    parameter int unsigned N_LK = 1,
    // Fixed by the above.
    parameter int unsigned SW = $clog2(N_CTX)
) (
    input  logic               clk_i,
    input  logic               rst_i,
    input  logic [N_LK*24-1:0] qpn_i,
    output logic [N_LK-1:0]    hit_o,
    output logic [N_LK*SW-1:0] slot_o,
    // the whole set of a QP
    input  logic [23:0]        set_qpn_i,
    output logic [SW-1:0]      set_first_o,   // place of its way 0
    output logic [8*24-1:0]    set_qpns_o,
    output logic [7:0]         set_valid_o,
    // a context leaves its place, or has come to one
    input  logic               drop_i,
    input  logic [SW-1:0]      drop_slot_i,
    input  logic               put_i,
    input  logic [SW-1:0]      put_slot_i,
    input  logic [23:0]        put_qpn_i
);
  localparam int unsigned SETS = N_CTX / 8;
  localparam int unsigned SB = $clog2(SETS);            // bits that number the set
  localparam int unsigned XW = (SB > 0) ? SB : 1;
  localparam int unsigned QW = $clog2(N_QP);
  localparam int unsigned TW = QW - SB;                 // the rest of the QPN
  localparam logic [23:0] SET_MASK = 24'(SETS - 1);

  if (N_CTX < 8 || (N_CTX & (N_CTX - 1)) != 0 || N_CTX >= N_QP) begin : gen_bad_n
    $error("ctx_dir: N_CTX must be a power of two, 8 at least, below N_QP");
  end

  logic [8*TW-1:0] tag_q[SETS];
  logic [7:0] valid_q[SETS];

  for (genvar k = 0; k < N_LK; k++) begin : gen_find
    logic [23:0] qpn;
    logic [XW-1:0] set;
    logic [8*TW-1:0] row;
    logic [7:0] valid, match;
    logic [2:0] way;
    assign qpn = qpn_i[k*24+:24];
    assign set = XW'(qpn & SET_MASK);
    assign row = tag_q[set];
    assign valid = valid_q[set];
    for (genvar w = 0; w < 8; w++) begin : gen_way
      assign match[w] = valid[w] && row[w*TW+:TW] == qpn[SB+:TW];
    end
    assign way = {|match[7:4], |{match[7:6], match[3:2]},
                  |{match[7], match[5], match[3], match[1]}};
    assign hit_o[k] = match != '0 && qpn < 24'(N_QP);
    assign slot_o[k*SW+:SW] = SW'({set, way});
  end

  logic [XW-1:0] the_set;
  logic [8*TW-1:0] the_row;
  assign the_set = XW'(set_qpn_i & SET_MASK);
  assign the_row = tag_q[the_set];
  assign set_valid_o = valid_q[the_set];
  assign set_first_o = SW'({the_set, 3'd0});
  for (genvar w = 0; w < 8; w++) begin : gen_qpns
    if (SB > 0) begin : gen_sets
      assign set_qpns_o[w*24+:24] = 24'({the_row[w*TW+:TW], the_set});
    end else begin : gen_one
      assign set_qpns_o[w*24+:24] = 24'(the_row[w*TW+:TW]);
    end
  end

  logic [XW-1:0] drop_set, put_set;
  assign drop_set = XW'(drop_slot_i >> 3);
  assign put_set = XW'(put_slot_i >> 3);
  always_ff @(posedge clk_i) begin
    if (put_i) begin
      tag_q[put_set][put_slot_i[2:0]*TW+:TW] <= put_qpn_i[SB+:TW];
      valid_q[put_set][put_slot_i[2:0]] <= 1'b1;
    end
    if (drop_i) valid_q[drop_set][drop_slot_i[2:0]] <= 1'b0;
    if (rst_i) begin
      for (int unsigned i = 0; i < SETS; i++) valid_q[i] <= '0;
    end
  end

  logic unused;
  assign unused = ^{set_qpn_i, put_qpn_i};
endmodule
