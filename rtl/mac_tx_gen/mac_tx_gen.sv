// SPDX-License-Identifier: Apache-2.0
// Makes Ethernet frames: header, VLAN tag, padding to 60 bytes and, with GEN_FCS = 1, the FCS. Runs
// on the MAC's clock.
//
// One beat per cycle, plus one where header or FCS make the frame longer by a beat. Latency: a beat
// offered in cycle c is on the MAC's pins in cycle c + 1 (GEN_FCS = 1: c + 6). The first beat of a
// frame of several beats waits up to START_DELAY cycles, unless more beats than that are there. Raw
// frames pass without a header.
//
// Inside a frame there is a beat for every cycle with mac_tx_ready. If the next beat is not there,
// the frame ends with a beat with mac_tx_err, the rest of it is discarded and underrun_o tells
// whose it was. in_abort also becomes mac_tx_err.
`include "rnic_assert.svh"
module mac_tx_gen #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned GEN_FCS = 0,        // 0: the MAC behind us adds the FCS
  parameter int unsigned START_DELAY = 2     // cycles, 0 to 100
) (
  input  logic               clk_i,          // of the MAC
  input  logic               rst_i,
  // cdc_tx
  input  logic               in_valid,
  output logic               in_ready,
  input  logic [DATA_W-1:0]  in_data,        // lanes from in_cnt on are zero
  input  logic [7:0]         in_cnt,
  input  logic               in_last,
  input  logic               in_abort,
  input  rnic_pkg::tx_eth_t  in_eth,
  input  logic [7:0]         in_level_i,     // beats that wait
  // MAC
  output logic               mac_tx_valid,
  input  logic               mac_tx_ready,
  output logic [DATA_W-1:0]  mac_tx_data,
  output logic [7:0]         mac_tx_cnt,
  output logic               mac_tx_last,
  output logic               mac_tx_err,     // with mac_tx_last: the frame is not good
  output logic               underrun_o,
  output logic               underrun_request_o,  // a RoCE request, not a response or a raw frame
  output logic [23:0]        underrun_qpn_o,
  output logic [23:0]        underrun_psn_o
);
  localparam int unsigned B = DATA_W / 8;
  // A tagged header of 18 bytes is longer than a beat of 16: then it gives a beat of its own, and 2
  // bytes.
  localparam bit SPLIT = DATA_W == 128;
  localparam int unsigned S_TAG = SPLIT ? 2 : 18;

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("mac_tx_gen: DATA_W must be 128, 256, 512 or 1024");
  end
  if (GEN_FCS > 1 || START_DELAY > 100) begin : gen_bad_rest
    $error("mac_tx_gen: GEN_FCS must be 0 or 1, START_DELAY at most 100");
  end

  // ------------------------------------------------------------------------------- header, padding
  logic              body_q;        // the frame's first beat is out
  logic              tag_out_q;     // SPLIT: the beat with the tagged header is out
  logic              flush_q;       // only carry_q is left
  logic              pad_q;         // only padding is left
  logic              err_q;
  logic [DATA_W-1:0] carry_q;
  logic [7:0]        flush_cnt_q, wait_q;
  logic [6:0]        sent_q;        // bytes of the frame that are out, at most 64
  logic              go, head, tag_beat, take, b_valid, b_ready, b_fire, b_last, b_err, ends, over;
  logic [DATA_W-1:0] b_data;
  logic [7:0]        b_cnt, cnt;
  logic [4:0]        shift;
  logic [8:0]        total;
  logic [143:0]      hdr_tag;       // first wire byte in bits 7:0
  logic [111:0]      hdr_plain;
  logic [15:0]       ethertype;

  assign ethertype = in_eth.ipv6 ? roce_pkg::ETHERTYPE_IPV6 : roce_pkg::ETHERTYPE_IPV4;

  function automatic logic [47:0] swap6(input logic [47:0] x);
    swap6 = {x[7:0], x[15:8], x[23:16], x[31:24], x[39:32], x[47:40]};
  endfunction
  always_comb begin
    hdr_plain = '0;
    hdr_tag   = '0;
    if (in_valid && !body_q) begin
      hdr_plain = {ethertype[7:0], ethertype[15:8], swap6(in_eth.smac), swap6(in_eth.dmac)};
      hdr_tag   = {ethertype[7:0], ethertype[15:8], in_eth.tci[7:0], in_eth.tci[15:8], 16'h0081,
                   swap6(in_eth.smac), swap6(in_eth.dmac)};
    end
  end

  assign go       = body_q || tag_out_q || in_last || START_DELAY == 0 ||
                    in_level_i > 8'(START_DELAY) || wait_q == 8'(START_DELAY);
  assign head     = !body_q;
  assign tag_beat = SPLIT && head && !tag_out_q && in_eth.vlan && !in_eth.raw && !flush_q && !pad_q;
  assign shift    = in_eth.raw ? 5'd0 : in_eth.vlan ? 5'(S_TAG) : 5'd14;
  assign b_valid  = flush_q || pad_q || (in_valid && go);
  assign b_fire   = b_valid && b_ready;
  assign take     = b_fire && !flush_q && !pad_q && !tag_beat;
  assign in_ready = b_ready && go && !flush_q && !pad_q && !tag_beat;
  assign total    = 9'(in_cnt) + 9'(shift);
  assign over     = total > 9'(B);

  always_comb begin
    b_data = '0;
    if (flush_q) begin
      b_data = carry_q;
    end else if (!pad_q && b_fire) begin
      if (tag_beat) b_data = DATA_W'(hdr_tag);
      else if (in_eth.raw) b_data = in_data;
      else if (in_eth.vlan) b_data = {in_data[DATA_W-S_TAG*8-1:0],
                                      head ? hdr_tag[143-:S_TAG*8] : carry_q[S_TAG*8-1:0]};
      else b_data = {in_data[DATA_W-113:0], head ? hdr_plain : carry_q[111:0]};
    end
  end

  // cnt: bytes of this beat without padding; ends: nothing but padding follows.
  assign cnt  = pad_q ? 8'd0 : flush_q ? flush_cnt_q : tag_beat || over ? 8'(B) : total[7:0];
  assign ends = pad_q || flush_q || (!tag_beat && in_last && !over);
  always_comb begin
    b_cnt  = cnt;
    b_last = ends;
    if (ends && 9'(sent_q) + 9'(cnt) < 9'd60) begin
      b_last = 9'd60 - 9'(sent_q) <= 9'(B);
      b_cnt  = b_last ? 8'd60 - 8'(sent_q) : 8'(B);
    end
  end
  assign b_err = b_last && (flush_q || pad_q ? err_q : in_abort);

  always_ff @(posedge clk_i) begin
    if (in_valid && !go) wait_q <= wait_q + 8'd1;
    if (b_fire) begin
      wait_q    <= 8'd0;
      tag_out_q <= tag_beat;
      sent_q    <= b_last ? 7'd0 : 9'(sent_q) + 9'(b_cnt) >= 9'd64 ? 7'd64 : sent_q + b_cnt[6:0];
      pad_q     <= ends && !b_last;
      flush_q   <= take && in_last && over;
      if (take) begin
        body_q      <= !in_last;
        err_q       <= in_abort;
        flush_cnt_q <= 8'(total - 9'(B));
        if (!in_eth.raw) begin
          carry_q <= in_eth.vlan ? DATA_W'(in_data[DATA_W-1-:S_TAG*8]) :
                                   DATA_W'(in_data[DATA_W-1-:112]);
        end
      end
    end
    if (rst_i) begin
      wait_q    <= 8'd0;
      body_q    <= 1'b0;
      tag_out_q <= 1'b0;
      flush_q   <= 1'b0;
      pad_q     <= 1'b0;
      sent_q    <= 7'd0;
    end
  end

  // Whose frame it is, for the report of a torn one.
  logic [48:0] who_b, who_f, who_q;   // request, QPN, PSN
  assign who_b = in_eth.raw ? 49'd0 : {!in_eth.response, in_eth.qpn, in_eth.psn};

  // ------------------------------------------------------------------------------------------- FCS
  logic              f_valid, f_ready, f_last, f_err;
  logic [DATA_W-1:0] f_data;
  logic [7:0]        f_cnt;
  if (GEN_FCS == 0) begin : gen_no_fcs
    assign f_valid = b_valid;
    assign b_ready = f_ready;
    assign f_data  = b_data;
    assign f_cnt   = b_cnt;
    assign f_last  = b_last;
    assign f_err   = b_err;
    assign who_f   = who_b;
  end else begin : gen_fcs
    mac_fcs #(.DATA_W(DATA_W)) u_fcs (
      .clk_i,
      .rst_i,
      .in_valid (b_valid),
      .in_ready (b_ready),
      .in_data  (b_data),
      .in_cnt   (b_cnt),
      .in_last  (b_last),
      .in_err   (b_err),
      .in_user  (who_b),
      .out_valid(f_valid),
      .out_ready(f_ready),
      .out_data (f_data),
      .out_cnt  (f_cnt),
      .out_last (f_last),
      .out_err  (f_err),
      .out_user (who_f)
    );
  end

  // --------------------------------------------------------------------- output, no gap in a frame
  logic              q_valid_q, q_last_q, q_err_q;
  logic [DATA_W-1:0] q_data_q;
  logic [7:0]        q_cnt_q;
  logic              inside_q;     // the beat in q (or the one before) is not the frame's last
  logic              discard_q;    // up to its last beat
  logic              q_room, q_take, torn;

  assign q_room  = !q_valid_q || mac_tx_ready;
  assign f_ready = q_room || discard_q;
  assign q_take  = f_valid && q_room && !discard_q;
  assign torn    = inside_q && q_room && !f_valid;

  always_ff @(posedge clk_i) begin
    if (q_room) q_valid_q <= q_take || torn;
    if (q_take) begin
      q_data_q <= f_data;
      q_cnt_q  <= f_cnt;
      q_last_q <= f_last;
      q_err_q  <= f_err;
      inside_q <= !f_last;
      if (!inside_q) who_q <= who_f;
    end
    if (torn) begin
      q_data_q  <= '0;
      q_cnt_q   <= 8'd1;
      q_last_q  <= 1'b1;
      q_err_q   <= 1'b1;
      inside_q  <= 1'b0;
      discard_q <= 1'b1;
    end
    if (discard_q && f_valid && f_last) discard_q <= 1'b0;
    if (rst_i) begin
      q_valid_q <= 1'b0;
      inside_q  <= 1'b0;
      discard_q <= 1'b0;
    end
  end

  assign mac_tx_valid = q_valid_q;
  assign mac_tx_data  = q_data_q;
  assign mac_tx_cnt   = q_cnt_q;
  assign mac_tx_last  = q_last_q;
  assign mac_tx_err   = q_err_q && q_last_q;
  assign underrun_o     = torn;
  assign underrun_request_o = who_q[48];
  assign underrun_qpn_o = who_q[47:24];
  assign underrun_psn_o = who_q[23:0];

  logic unused;
  assign unused = in_eth.sampled ^ in_eth.paced;

  // ---------------------------------------------------------------------------------------- checks
  `RNIC_STREAM_HOLD(mac_tx_valid, mac_tx_ready, {mac_tx_data, mac_tx_cnt, mac_tx_last, mac_tx_err})
  `RNIC_ASSERT(no_gap, !inside_q || q_valid_q)
  `RNIC_ASSERT(full_before_last, !mac_tx_valid || mac_tx_last || mac_tx_cnt == 8'(B))
endmodule
