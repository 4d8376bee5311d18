// SPDX-License-Identifier: Apache-2.0
// Makes RoCEv2 packets, IP header to iCRC, from packet descriptions and payload.
//
// Throughput: one beat per cycle; a packet whose headers, payload, pad and iCRC fit one beat takes
// one cycle. Latency:
// a beat taken in cycle c leaves in cycle c + 5 + UNDO_STAGES, when the path table answers in one
// cycle. Beats of a packet keep their distance, so a gapless payload gives a gapless packet. rsp
// packets (no payload) go before req packets, at packet borders; otherwise order is kept. A packet
// whose path is not valid is dropped and counted. A packet that ends with req_abort leaves with a
// wrong iCRC and out_abort on its last beat.
`include "rnic_assert.svh"
module tx_packetizer #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned UNDO_STAGES = 1,   // cycles of the iCRC's last step, 1 or 2
  // identification of IPv4 packet n is ip_id_i + n * IP_ID_STEP
  parameter int unsigned IP_ID_STEP = 1
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic [15:0]        ip_id_i,
  input  logic               cfg_mig_req_i,  // MigReq of all packets but CNPs
  // DSCP of CNPs, and the priority in their VLAN tag; all else is the path's
  input  logic [5:0]         cfg_cnp_dscp_i,
  input  logic [2:0]         cfg_cnp_pcp_i,
  // INT: SEND and WRITE packets of RC get an empty trailer of this unit, ACKs the telemetry that
  // int_echo has for their QP: asked for by echo_get_o, answered from the next cycle on
  input  logic               cfg_int_i,
  input  logic [3:0]         cfg_int_unit_i,
  output logic               echo_get_o,
  output logic [23:0]        echo_qpn_o,
  input  logic               echo_valid_i,
  input  rnic_pkg::telemetry_t echo_i,
  // responses without payload
  input  logic               rsp_valid,
  output logic               rsp_ready,
  input  rnic_pkg::tx_pkt_t  rsp,
  // packets with payload (or with one beat of 0 bytes)
  input  logic               req_valid,
  output logic               req_ready,     // depends on state, rsp_valid and path_lk_ready
  input  logic [DATA_W-1:0]  req_data,
  input  logic [7:0]         req_cnt,
  input  logic               req_last,
  input  logic               req_abort,     // with req_last
  input  rnic_pkg::tx_pkt_t  req_pkt,       // with the first beat
  // path table
  output logic               path_lk_valid,
  input  logic               path_lk_ready,
  output logic [15:0]        path_lk_index,
  input  logic               path_valid,
  input  rnic_pkg::path_t    path,
  // packets
  output logic               out_valid,
  input  logic               out_ready,
  output logic [DATA_W-1:0]  out_data,      // lanes from out_cnt on are zero
  output logic [7:0]         out_cnt,
  output logic               out_last,
  output logic               out_abort,     // with out_last
  output rnic_pkg::tx_eth_t  out_eth,       // with every beat of the packet
  // to int_append, with every beat: a trailer follows, it is an echo, its telemetry
  output logic               out_add,
  output logic               out_echo,
  output rnic_pkg::telemetry_t out_int,
  output logic               cnt_tx_no_path_o,
  output logic               trc_valid_o,
  output logic [63:0]        trc_o,
  output logic               trc_sampled_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned WORDS = DATA_W / 32;
  localparam int unsigned RW = $clog2(B);                   // byte number in a beat
  localparam int unsigned HB = (88 + B - 1) / B;            // beats that the longest headers touch
  localparam int unsigned MB = HB * B > 64 ? HB : 64 / B;   // beats of the mask constants
  localparam int unsigned CRC_LAT = 3 + UNDO_STAGES;
  localparam int unsigned DEPTH = 8;                        // beats in the output FIFO

  if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_width
    $error("tx_packetizer: DATA_W must be 128, 256, 512 or 1024");
  end
  if (UNDO_STAGES < 1 || UNDO_STAGES > 2) begin : gen_bad_undo
    $error("tx_packetizer: UNDO_STAGES must be 1 or 2");
  end

  function automatic logic [31:0] swap(input logic [31:0] w);
    swap = {w[7:0], w[15:8], w[23:16], w[31:24]};
  endfunction

  // --------------------------------------------------- S0: choice, path lookup, BTH and extensions
  logic              in_pkt_q;                  // S0 stands inside a req packet
  // a lookup waits for path_lk_ready: the choice stays
  logic              locked_q, locked_rsp_q;
  logic              pick_rsp, pick_any, head, s0_fire, s1_load;
  rnic_pkg::tx_pkt_t p;
  logic [5:0]        ext;       // as roce_pkg::ext_headers
  logic              is_ud, is_cnp, deth;
  logic [5:0]        ext_len;
  logic [1:0]        pad;
  logic [15:0]       udp_len;
  logic [319:0]      bth_ext;

  assign pick_rsp      = !in_pkt_q && (locked_q ? locked_rsp_q : rsp_valid);
  assign pick_any      = pick_rsp || req_valid;
  assign head          = !in_pkt_q;
  assign path_lk_valid = pick_any && head && s1_load;
  assign path_lk_index = p.path;
  assign s0_fire       = pick_any && s1_load && (!head || path_lk_ready);
  assign rsp_ready     = pick_rsp && s1_load && path_lk_ready;
  assign req_ready     = !pick_rsp && s1_load && (in_pkt_q || path_lk_ready);

  logic is_ack, gets_int;
  assign is_ack     = p.opcode == roce_pkg::OP_ACKNOWLEDGE;
  assign gets_int   = cfg_int_i && roce_pkg::carries_int(p.opcode);
  assign echo_get_o = cfg_int_i && s0_fire && head && is_ack;
  assign echo_qpn_o = p.qpn;

  assign p       = pick_rsp ? rsp : req_pkt;
  assign is_ud   = p.opcode[7:5] == 3'b011;
  assign is_cnp  = p.opcode == roce_pkg::OP_CNP;
  assign deth    = is_ud;
  assign pad     = -p.payload_len[1:0];

  // Only of a packet that moves on: nothing to compute for the simulator otherwise.
  always_comb begin
    ext     = 6'd0;
    ext_len = 6'd0;
    udp_len = 16'd0;
    if (s0_fire && head) begin
      ext = roce_pkg::ext_headers(p.opcode[4:0]);
      if (is_ud) ext = {4'd0, p.opcode[0], 1'b0};  // ImmDt or nothing, behind the DETH
      if (p.opcode == arp_pkg::OP_ARP) ext = 6'h01;  // sq_engine decides whether there is one
      if (is_cnp || ext == 6'h3F) ext = 6'd0;
      ext_len = roce_pkg::ext_bytes(ext);
      if (deth) ext_len = ext_len + 6'd8;
      if (is_cnp) ext_len = 6'd16;
      udp_len = 16'd24 + 16'(ext_len) + 16'(p.payload_len) + 16'(pad);
    end
  end

  always_comb begin
    bth_ext = '0;
    if (s0_fire && head) begin
      bth_ext[0*32+:32] = swap({p.opcode, p.se, cfg_mig_req_i && !is_cnp, pad, 4'd0, p.pkey});
      bth_ext[1*32+:32] = swap({1'b0, p.becn, 6'd0, p.dest_qpn});
      bth_ext[2*32+:32] = swap({p.ack_req, 7'd0, p.psn});
      if (ext[0] || ext[4]) begin
        bth_ext[3*32+:32] = swap(p.va[63:32]);
        bth_ext[4*32+:32] = swap(p.va[31:0]);
        bth_ext[5*32+:32] = swap(p.rkey);
        if (ext[0]) begin
          bth_ext[6*32+:32] = swap(p.dmalen);
          if (ext[1]) bth_ext[7*32+:32] = swap(p.imm);
        end else begin
          bth_ext[6*32+:32] = swap(p.op0[63:32]);
          bth_ext[7*32+:32] = swap(p.op0[31:0]);
          bth_ext[8*32+:32] = swap(p.op1[63:32]);
          bth_ext[9*32+:32] = swap(p.op1[31:0]);
        end
      end else if (ext[3]) begin
        bth_ext[3*32+:32] = swap({p.syndrome, p.msn});
        if (ext[5]) begin
          bth_ext[4*32+:32] = swap(p.op0[63:32]);
          bth_ext[5*32+:32] = swap(p.op0[31:0]);
        end
      end else if (deth) begin
        bth_ext[3*32+:32] = swap(p.qkey);
        bth_ext[4*32+:32] = swap({8'd0, p.qpn});
        if (ext[1]) bth_ext[5*32+:32] = swap(p.imm);
      end else if (ext[1] || ext[2]) begin
        bth_ext[3*32+:32] = swap(p.imm);
      end
    end
  end

  // ------------------------------------------------------------------------ S1: one beat, its path
  logic              s1_valid_q, s1_head_q, s1_last_q, s1_abort_q;
  logic [DATA_W-1:0] s1_data_q;
  logic [7:0]        s1_cnt_q;
  logic [1:0]        s1_pad_q;
  logic [15:0]       s1_udp_len_q, s1_ip_len_q;
  logic [17:0]       s1_csum_q;
  logic [5:0]        s1_ext_len_q;
  logic              s1_cnp_q, s1_sampled_q, s1_response_q, s1_paced_q, s1_int_q, s1_ack_q;
  logic [23:0]       s1_qpn_q, s1_psn_q;
  logic [319:0]      s1_bth_ext_q;
  logic              path_have_q;
  rnic_pkg::path_t   path_q, pa;
  logic [15:0]       id_cnt_q, ip_id, s1_id_q;
  logic              s1_done;     // the beat in S1 leaves at this edge

  assign s1_load = !s1_valid_q || s1_done;
  assign ip_id   = ip_id_i + id_cnt_q;

  always_ff @(posedge clk_i) begin
    if (s0_fire) begin
      s1_head_q  <= head;
      s1_last_q  <= pick_rsp || req_last;
      s1_abort_q <= !pick_rsp && req_abort;
      s1_cnt_q   <= pick_rsp ? 8'd0 : req_cnt;
      if (!pick_rsp) s1_data_q <= req_data;
      if (head) begin
        s1_pad_q     <= pad;
        s1_udp_len_q <= udp_len;
        s1_ip_len_q  <= udp_len + 16'd20;
        s1_ext_len_q <= ext_len;
        s1_cnp_q     <= is_cnp;
        s1_int_q     <= gets_int;
        s1_ack_q     <= cfg_int_i && is_ack;
        s1_sampled_q <= p.sampled;
        s1_response_q <= p.response;
        s1_paced_q   <= !is_ack && !is_cnp;
        s1_qpn_q     <= p.qpn;
        s1_psn_q     <= p.psn;
        s1_id_q      <= ip_id;
        s1_csum_q    <= 18'h08511 + 18'(udp_len) + 18'd20 + 18'(ip_id);  // 4500 + 4000 + 0011
        id_cnt_q     <= id_cnt_q + 16'(IP_ID_STEP);
        s1_bth_ext_q <= bth_ext;
      end
      in_pkt_q <= !pick_rsp && !req_last;
    end
    if (s1_load) s1_valid_q <= s0_fire;
    locked_q     <= path_lk_valid && !path_lk_ready;
    locked_rsp_q <= pick_rsp;
    if (rst_i) begin
      in_pkt_q   <= 1'b0;
      s1_valid_q <= 1'b0;
      locked_q   <= 1'b0;
      id_cnt_q   <= 16'd0;
    end
  end

  // The answer comes while its packet stands in S1, and is kept until the packet's last beat has
  // left.
  always_ff @(posedge clk_i) begin
    if (path_valid) path_q <= path;
    if (path_valid) path_have_q <= 1'b1;
    if (s1_done && s1_last_q) path_have_q <= 1'b0;
    if (rst_i) path_have_q <= 1'b0;
  end
  assign pa = path_have_q ? path_q : path;

  // ------------------------------------------------------------------------------------- S2: align
  // Packets are cut anew: headers of H bytes, then payload rotated by H mod B. carry_q holds the
  // bytes of the last rotated beat that belong to the next one.
  logic [703:0]        hdr;
  logic [HB*DATA_W-1:0] hdr_beats;
  logic [6:0]          hdr_len;             // 40 to 88
  logic [3:0]          hdr_full;            // beats of headers only
  logic [7:0]          rem, rem_q, rem_now; // header bytes in the first beat with payload, 0..B
  logic [3:0]          hdr_idx_q;
  logic                merging;             // headers are out
  logic                flush_q, flush_abort_q;
  logic [7:0]          flush_cnt_q;
  logic [DATA_W-1:0]   carry_q, hdr_beat, pay, rotated, rot, beat;
  logic                have, drop, drop_q, space, emit, emit_hdr, emit_pay, al_first, al_last,
      al_abort;
  logic [7:0]          pay_cnt, al_cnt;
  logic [8:0]          total;
  logic                over;                // the last payload beat spills into one more

  assign have = s1_valid_q && (!s1_head_q || path_valid || path_have_q);
  assign drop = s1_head_q ? !pa.valid : drop_q;

  tx_header u_header (
    .valid_i     (have && s1_head_q),
    .ipv6_i      (pa.ipv6),
    .tos_i       ({s1_cnp_q ? cfg_cnp_dscp_i : pa.dscp, pa.ecn}),
    .ttl_i       (pa.ttl),
    .flow_label_i(pa.flow_label),
    .sip_i       (pa.sip),
    .dip_i       (pa.dip),
    .sport_i     (pa.sport),
    .udp_len_i   (s1_udp_len_q),
    .ip_len_i    (s1_ip_len_q),
    .ip_id_i     (s1_id_q),
    .csum_part_i (s1_csum_q),
    .bth_ext_i   (s1_bth_ext_q),
    .hdr_o       (hdr)
  );
  assign hdr_beats = (HB * DATA_W)'(hdr);
  if (HB == 1) begin : gen_one_header_beat
    assign hdr_beat = hdr_beats;
  end else begin : gen_header_beats
    assign hdr_beat = hdr_beats[hdr_idx_q*DATA_W+:DATA_W];
  end

  assign hdr_len = (pa.ipv6 ? 7'd60 : 7'd40) + 7'(s1_ext_len_q);
  always_comb begin
    hdr_full = 4'(hdr_len >> RW);
    rem      = {1'b0, hdr_len} & 8'(B - 1);
    // headers end with a beat and nothing follows
    if (rem == 8'd0 && s1_last_q && s1_cnt_q == 8'd0) begin
      hdr_full = hdr_full - 4'd1;
      rem      = 8'(B);
    end
  end

  logic [3:0] used_q;        // beats in the output FIFO
  assign space    = used_q != 4'(DEPTH);
  assign emit_hdr = have && !drop && s1_head_q && !flush_q && hdr_idx_q != hdr_full;
  assign emit_pay = have && !drop && !flush_q && !emit_hdr;
  assign emit     = space && (flush_q || emit_hdr || emit_pay);
  assign s1_done  = have && (drop || (space && emit_pay));

  assign merging = !s1_head_q;
  assign rem_now = flush_q || merging ? rem_q : rem;
  assign pay_cnt = s1_cnt_q + (s1_last_q ? 8'(s1_pad_q) : 8'd0);
  assign total   = 9'(rem_now) + 9'(pay_cnt);
  assign over    = total > 9'(B);

  // Payload lanes behind the last byte become zero: pad, and what the CRC needs.
  always_comb begin
    pay = '0;
    if (emit_pay) begin
      pay = s1_data_q;
      if (s1_last_q) pay = s1_data_q & ~({DATA_W{1'b1}} << {s1_cnt_q, 3'd0});
    end
  end

  rotate_bytes #(.DATA_W(DATA_W)) u_rotate (
    .clk_i,
    .en_i   (1'b1),
    .data_i (pay),
    .shift_i(rem_now[RW-1:0]),
    .data_o (rotated)
  );
  assign rot = emit_pay ? rotated : '0;

  always_comb begin
    beat = hdr_beat;
    if (flush_q || (emit_pay && merging)) begin
      for (int unsigned w = 0; w < WORDS; w++) begin
        beat[w*32+:32] = 8'(4 * w) < rem_now ? carry_q[w*32+:32] : rot[w*32+:32];
      end
    end else if (emit_pay) begin
      for (int unsigned w = 0; w < WORDS; w++) begin
        if (8'(4 * w) >= rem_now) beat[w*32+:32] = rot[w*32+:32];
      end
    end
  end

  assign al_first = !flush_q && s1_head_q && hdr_idx_q == 4'd0;
  assign al_last  = flush_q || (emit_pay && s1_last_q && !over);
  assign al_abort = flush_q ? flush_abort_q : s1_abort_q;
  assign al_cnt   = flush_q ? flush_cnt_q : emit_hdr || over ? 8'(B) : total[7:0];

  always_ff @(posedge clk_i) begin
    if (emit) begin
      if (flush_q) begin
        flush_q <= 1'b0;
      end else if (emit_hdr) begin
        hdr_idx_q <= hdr_idx_q + 4'd1;
      end else begin
        carry_q       <= rot;
        rem_q         <= rem_now;
        hdr_idx_q     <= 4'd0;
        flush_q       <= s1_last_q && over;
        flush_cnt_q   <= 8'(total - 9'(B));
        flush_abort_q <= s1_abort_q;
      end
    end
    if (s1_done) drop_q <= drop;
    if (rst_i) begin
      hdr_idx_q <= 4'd0;
      flush_q   <= 1'b0;
    end
  end
  assign cnt_tx_no_path_o = s1_done && s1_head_q && drop;

  // ------------------------------------------------------------------------------------------ iCRC
  // Of the masked beat: what a router may change counts as ones (fact sheet section 2).
  localparam logic [511:0] MASK4 = {
      128'h00000000_00000000_00000000_00000000,
      128'h00000000_00000000_00000000_000000ff,
      128'h00000000_ffff0000_00000000_00000000,
      128'h00000000_ffff00ff_00000000_0000ff00};
  localparam logic [511:0] MASK6 = {
      128'h00000000_00000000_000000ff_00000000,
      128'hffff0000_00000000_00000000_00000000,
      128'h00000000_00000000_00000000_00000000,
      128'h00000000_00000000_ff000000_ffffff0f};
  logic [MB*DATA_W-1:0] mask4, mask6;
  logic [DATA_W-1:0]    mask;
  assign mask4 = (MB * DATA_W)'(MASK4);
  assign mask6 = (MB * DATA_W)'(MASK6);
  if (MB == 1) begin : gen_one_mask
    assign mask = pa.ipv6 ? mask6 : mask4;
  end else begin : gen_masks
    assign mask = pa.ipv6 ? mask6[hdr_idx_q*DATA_W+:DATA_W] : mask4[hdr_idx_q*DATA_W+:DATA_W];
  end

  logic              crc_in_q, crc_first_q, crc_last_q;
  logic [DATA_W-1:0] crc_data_q;
  logic [7:0]        crc_cnt_q;
  logic              crc_valid;
  logic [31:0]       crc_reg;

  always_ff @(posedge clk_i) begin
    crc_in_q <= emit;
    if (emit) begin
      crc_data_q <= beat;
      if (!flush_q && s1_head_q && {1'b0, hdr_idx_q} < 5'(MB)) crc_data_q <= beat | mask;
      crc_cnt_q   <= al_cnt;
      crc_first_q <= al_first;
      crc_last_q  <= al_last;
    end
    if (rst_i) crc_in_q <= 1'b0;
  end

  logic [7:0] unused_zeros;
  crc32_stream #(.DATA_W(DATA_W), .UNDO_STAGES(UNDO_STAGES)) u_crc (
    .clk_i,
    .rst_i,
    .en_i       (1'b1),
    .valid_i    (crc_in_q),
    .data_i     (crc_data_q),
    .cnt_i      (crc_cnt_q),
    .first_i    (crc_first_q),
    .last_i     (crc_last_q),
    .init_i     (32'hDEBB20E3),  // after eight bytes of ones
    .crc_valid_o(crc_valid),
    .crc_reg_o  (crc_reg),
    .crc_zeros_o(unused_zeros)
  );

  logic        icrc_valid, icrc_take, icrc_room;
  logic [31:0] icrc_reg;
  logic [3:0]  unused_level;
  stream_fifo_small #(.W(32), .DEPTH(DEPTH), .LATENCY(0)) u_results (
    .clk_i,
    .rst_i,
    .in_valid (crc_valid),
    .in_ready (icrc_room),
    .in_data  (crc_reg),
    .out_valid(icrc_valid),
    .out_ready(icrc_take),
    .out_data (icrc_reg),
    .level_o  (unused_level)
  );

  // ---------------------------------------------------------------------- output FIFO, iCRC put in
  localparam int unsigned PW = $clog2(DEPTH);
  localparam int unsigned META_W = 10;
  logic [DATA_W-1:0]   data_mem[DEPTH];
  logic [META_W-1:0]   meta_mem[DEPTH];   // cnt, last, abort
  rnic_pkg::tx_eth_t   eth_mem [DEPTH];   // per packet
  rnic_pkg::telemetry_t int_mem[DEPTH];
  logic [DEPTH-1:0]    add_q, echo_q;
  logic                echoes;
  logic [PW-1:0]       wp_q, rp_q, eth_wp_q, eth_rp_q;
  logic [CRC_LAT-1:0]  age_q;             // emit, 1 to CRC_LAT cycles ago
  logic [3:0]          ready_q;           // beats old enough to leave
  logic                extra_q;           // only the iCRC of the packet is left
  logic                start_q;           // the next beat out is the first of a packet
  logic [META_W-1:0]   meta;
  logic                fifo_last, fits, out_fire, pop, old;
  logic [7:0]          fifo_cnt;
  logic [31:0]         icrc;
  rnic_pkg::tx_eth_t   eth;

  always_comb begin
    eth         = '0;
    eth.ipv6    = pa.ipv6;
    eth.vlan    = pa.vlan;
    eth.tci     = {s1_cnp_q && pa.vlan ? cfg_cnp_pcp_i : pa.pcp, pa.dei, pa.vlan_id};
    eth.dmac    = pa.dmac;
    eth.smac    = pa.smac;
    eth.qpn     = s1_qpn_q;
    eth.psn     = s1_psn_q;
    eth.sampled = s1_sampled_q;
    eth.response = s1_response_q;
    eth.paced    = s1_paced_q;
  end

  assign meta      = meta_mem[rp_q];
  assign fifo_cnt  = meta[9:2];
  assign fifo_last = meta[1];
  // cnt is a multiple of 4, so the iCRC fits whole or not at all
  assign fits      = fifo_cnt != 8'(B);
  assign old       = age_q[CRC_LAT-1];
  assign out_valid = ready_q != 4'd0;
  assign out_last  = fifo_last && (extra_q || fits);
  assign out_abort = out_last && meta[0];
  assign out_cnt   = extra_q ? 8'd4 : fifo_last && fits ? fifo_cnt + 8'd4 : fifo_cnt;
  assign out_eth   = eth_mem[eth_rp_q];
  assign echoes    = s1_ack_q && echo_valid_i;
  assign out_add   = add_q[eth_rp_q];
  assign out_echo  = echo_q[eth_rp_q];
  assign out_int   = int_mem[eth_rp_q];
  assign out_fire  = out_valid && out_ready;
  assign pop       = out_fire && (!fifo_last || out_last);
  assign icrc_take = out_fire && out_last;
  assign icrc      = meta[0] ? icrc_reg : ~icrc_reg;

  always_comb begin
    out_data = '0;
    if (extra_q) begin
      out_data[31:0] = icrc;
    end else if (out_valid) begin
      out_data = data_mem[rp_q];
      if (fifo_last && fits) begin
        for (int unsigned w = 0; w < WORDS; w++) begin
          if (fifo_cnt[7:2] == 6'(w)) out_data[w*32+:32] = icrc;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (emit) begin
      data_mem[wp_q] <= beat;
      meta_mem[wp_q] <= {al_cnt, al_last, al_abort};
      wp_q <= wp_q + PW'(1);
      if (al_first) begin
        eth_mem[eth_wp_q] <= eth;
        if (s1_int_q) int_mem[eth_wp_q] <= {336'd0, cfg_int_unit_i};
        if (echoes) int_mem[eth_wp_q] <= echo_i;
        add_q[eth_wp_q]  <= s1_int_q || echoes;
        echo_q[eth_wp_q] <= echoes;
        eth_wp_q <= eth_wp_q + PW'(1);
      end
    end
    if (pop) rp_q <= rp_q + PW'(1);
    if (out_fire) begin
      extra_q <= fifo_last && !out_last;
      start_q <= out_last;
      if (out_last) eth_rp_q <= eth_rp_q + PW'(1);
    end
    if (emit != pop) used_q <= emit ? used_q + 4'd1 : used_q - 4'd1;
    if (old != pop) ready_q <= old ? ready_q + 4'd1 : ready_q - 4'd1;
    age_q <= {age_q[CRC_LAT-2:0], emit};
    if (rst_i) begin
      wp_q     <= '0;
      rp_q     <= '0;
      eth_wp_q <= '0;
      eth_rp_q <= '0;
      extra_q  <= 1'b0;
      start_q  <= 1'b1;
      used_q   <= 4'd0;
      ready_q  <= 4'd0;
      age_q    <= '0;
    end
  end

  assign trc_valid_o   = out_fire && start_q;
  assign trc_o         = {rnic_pkg::TRC_PKT_OUT, out_eth.qpn, 8'd0, out_eth.psn};
  assign trc_sampled_o = out_eth.sampled;

  logic unused;
  assign unused = ^{p.notify, p.resend, p.wqe_index, unused_zeros, unused_level};

  // ---------------------------------------------------------------------------------------- checks
  `RNIC_STREAM_HOLD_N(path_lk, path_lk_valid, path_lk_ready, path_lk_index)
  `RNIC_STREAM_HOLD(out_valid, out_ready, {out_data, out_cnt, out_last, out_abort})
  `RNIC_ASSERT(results_fit, !crc_valid || icrc_room)
  `RNIC_ASSERT(result_in_time, !(out_fire && out_last) || icrc_valid)
  `RNIC_ASSERT(used_bound, used_q <= 4'(DEPTH) && ready_q <= used_q)
  `RNIC_ASSERT(full_before_last, !(req_valid && !req_last) || req_cnt == 8'(B))
endmodule
