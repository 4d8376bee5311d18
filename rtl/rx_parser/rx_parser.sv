// SPDX-License-Identifier: Apache-2.0
//
// Reads every frame's headers beside the beats, checks its iCRC, and says at its end what it is: a
// good RoCEv2 packet (with all its header fields), a raw frame for somebody else, or nothing to
// keep.
//
// One beat every cycle, never stalls: there is no ready in or out. Beats pass to bt_* in the same
// cycle. vd_valid comes exactly 4 cycles after the cycle of the frame's last beat, for every frame,
// in frame order. Frames may be one beat long and back to back. Dropped: see the table of verdicts
// in README.md; each drop pulses exactly one counter.
`include "rnic_assert.svh"

module rx_parser #(
  parameter int unsigned DATA_W = 512,
  parameter int unsigned ARP = 0  // 1: packets of an AllReduce have a header of their own
) (
  input  logic                 clk_i,
  input  logic                 rst_i,

  input  logic                 cfg_promisc_raw_i,  // raw frames pass whatever their destination MAC
  input  logic [47:0]          cfg_port_mac_i,     // first wire byte in [47:40]
  input  logic                 cfg_int_i,          // look for INT trailers

  // Frames from cdc_rx, starting with the Ethernet header, without FCS.
  input  logic                 in_valid,
  input  logic [DATA_W-1:0]    in_data,
  input  logic [7:0]           in_cnt,             // 1..B; B unless in_last
  input  logic                 in_last,
  input  logic                 in_err,             // with in_last: MAC error or bad FCS
  input  logic                 in_ovf,  // with in_last: cut by cdc_rx, which has counted it

  // The same beats, to rx_buffer.
  output logic                 bt_valid,
  output logic [DATA_W-1:0]    bt_data,
  output logic [7:0]           bt_cnt,
  output logic                 bt_last,
  // One verdict per frame, 4 cycles after its last beat.
  output logic                 vd_valid,
  output logic [1:0]           vd_kind,            // 0 drop, 1 RoCEv2, 2 raw
  output rnic_pkg::rx_meta_t   vd_meta,            // with vd_kind 1
  output logic                 vd_vlan,            // the frame has a VLAN tag, of this priority
  output logic [2:0]           vd_pcp,

  // BTH of a frame that looks like RoCEv2 has arrived (iCRC not known yet): a hint to fetch the
  // QP's context.
  output logic                 early_valid_o,
  output logic [23:0]          early_qpn_o,

  output logic                 cnt_rx_frames_o,
  output logic [15:0]          cnt_rx_bytes_amount_o,
  output logic                 cnt_rx_crc_errors_o,
  output logic                 cnt_rx_runts_o,
  output logic                 cnt_rx_icrc_errors_o,
  output logic                 cnt_rx_header_errors_o,
  output logic                 cnt_rx_roce_packets_o,
  output logic                 cnt_rx_raw_filtered_o,
  output logic                 trc_valid_o,
  output logic [63:0]          trc_o,
  output logic                 trc_sampled_o
);
  localparam int unsigned B = DATA_W / 8;
  localparam int unsigned HB = 1024 / DATA_W;  // beats that can hold header bytes (128 bytes)
  localparam int unsigned KW = (HB > 1) ? $clog2(HB) : 1;
  // first byte of the beat that holds the IP length
  localparam int unsigned LOFF = (B == 16) ? 16 : 0;
  localparam logic [1:0] KIND_DROP = 2'd0;
  localparam logic [1:0] KIND_ROCE = 2'd1;
  localparam logic [1:0] KIND_RAW = 2'd2;

  generate
    if (DATA_W != 128 && DATA_W != 256 && DATA_W != 512 && DATA_W != 1024) begin : gen_bad_data_w
      $error("rx_parser: DATA_W must be 128, 256, 512 or 1024");
    end
  endgenerate

  // Big-endian fields of a little-endian byte vector.
  function automatic logic [15:0] be16(input logic [15:0] v);
    be16 = {v[7:0], v[15:8]};
  endfunction
  function automatic logic [23:0] be24(input logic [23:0] v);
    be24 = {v[7:0], v[15:8], v[23:16]};
  endfunction
  function automatic logic [31:0] be32(input logic [31:0] v);
    be32 = {v[7:0], v[15:8], v[23:16], v[31:24]};
  endfunction
  function automatic logic [63:0] be64(input logic [63:0] v);
    be64 = {v[7:0], v[15:8], v[23:16], v[31:24], v[39:32], v[47:40], v[55:48], v[63:56]};
  endfunction

  // What the iCRC reads as ones (facts, section 2), for an IP header at byte 0 of the vector.
  localparam logic [1023:0] ONES_V4 =
      (1024'hFF << (8 * 1)) |        // TOS
      (1024'hFF << (8 * 8)) |        // TTL
      (1024'hFFFF << (8 * 10)) |     // header checksum
      (1024'hFFFF << (8 * 26)) |     // UDP checksum
      (1024'hFF << (8 * 32));        // BTH byte 4
  localparam logic [1023:0] ONES_V6 =
      (1024'hFFFFFF0F << (8 * 0)) |  // traffic class and flow label
      (1024'hFF << (8 * 7)) |        // hop limit
      (1024'hFFFF << (8 * 46)) |     // UDP checksum
      (1024'hFF << (8 * 52));        // BTH byte 4
  // In the frame, without and with a VLAN tag; and the Ethernet bytes, fed as zeros.
  localparam logic [1023:0] ONES_V4_14 = ONES_V4 << (8 * 14);
  localparam logic [1023:0] ONES_V6_14 = ONES_V6 << (8 * 14);
  localparam logic [1023:0] ONES_V4_18 = ONES_V4 << (8 * 18);
  localparam logic [1023:0] ONES_V6_18 = ONES_V6 << (8 * 18);
  localparam logic [1023:0] ZERO_14 = (1024'h1 << (8 * 14)) - 1024'h1;
  localparam logic [1023:0] ZERO_18 = (1024'h1 << (8 * 18)) - 1024'h1;

  // ---------------------------------------------------------------- stage 0: the beat on the pins
  logic           first;                 // it is a frame's first
  logic [KW-1:0]  beat_q;                // its number, stays at HB-1 ...
  logic           past_q;                // ... when it is beyond the headers
  logic [16:0]    base_q;                // bytes before it; stays above 65535 once there
  logic           vlan, vlan_q, v6, v6_q, ip, ip_q;
  logic           has_len;               // it holds the IP length
  logic [15:0]    len_word;
  logic [18:0]    left_first;  // bytes from the start of this beat to the end of the iCRC, signed
  logic [18:0]    left, left_q;
  logic           done_q;                // the iCRC's end has been passed
  logic           trailer;               // the frame ends 48 bytes behind its IP packet
  logic           crc_end;
  logic [7:0]     crc_cnt;
  logic [16:0]    flen;

  assign first = (beat_q == '0) && !past_q;
  assign flen = base_q + 17'(in_cnt);

  generate
    if (B == 16) begin : gen_l3_narrow
      logic [15:0] tag_type;  // EtherType behind a VLAN tag: first bytes of the second beat
      logic        second;
      assign second = (beat_q == KW'(1)) && !past_q;
      assign tag_type = in_data[15:0];
      assign vlan = first ? in_data[8*12 +: 16] == be16(roce_pkg::ETHERTYPE_VLAN) : vlan_q;
      assign v6 = first ? in_data[8*12 +: 16] == be16(roce_pkg::ETHERTYPE_IPV6) :
                  (second && vlan_q) ? tag_type == be16(roce_pkg::ETHERTYPE_IPV6) : v6_q;
      assign ip = first ? (v6 || in_data[8*12 +: 16] == be16(roce_pkg::ETHERTYPE_IPV4)) :
                  (second && vlan_q) ? (v6 || tag_type == be16(roce_pkg::ETHERTYPE_IPV4)) : ip_q;
      assign has_len = second;
    end else begin : gen_l3_wide
      logic [15:0] ether_type;
      assign vlan = first ? in_data[8*12 +: 16] == be16(roce_pkg::ETHERTYPE_VLAN) : vlan_q;
      assign ether_type = vlan ? in_data[8*16 +: 16] : in_data[8*12 +: 16];
      assign v6 = first ? ether_type == be16(roce_pkg::ETHERTYPE_IPV6) : v6_q;
      assign ip = first ? (v6 || ether_type == be16(roce_pkg::ETHERTYPE_IPV4)) : ip_q;
      assign has_len = first;
    end
  endgenerate

  // IPv4 total length, IPv6 payload length.
  always_comb begin
    case ({vlan, v6})
      2'b00: len_word = in_data[8*(16-LOFF) +: 16];
      2'b01: len_word = in_data[8*(18-LOFF) +: 16];
      2'b10: len_word = in_data[8*(20-LOFF) +: 16];
      default: len_word = in_data[8*(22-LOFF) +: 16];
    endcase
    left_first = 19'(be16(len_word)) + (vlan ? 19'd18 : 19'd14) + (v6 ? 19'd40 : 19'd0) - 19'(LOFF);
    // A frame that is not IP has no iCRC; one whose IP length ends in front of here is refused for
    // its length later.
    if (has_len) left = ip ? left_first : 19'h3FFFF;
    else left = (first || !ip_q) ? 19'h3FFFF : left_q;
    crc_end = in_last || $signed(left) <= $signed(19'(B));
    crc_cnt = in_cnt;
    if ($signed(left) <= 0) crc_cnt = 8'd1;
    else if ($signed(left) < $signed(19'(in_cnt))) crc_cnt = left[7:0];
    trailer = cfg_int_i && in_last && ip && left + 19'(roce_pkg::INT_BYTES) == 19'(in_cnt);
  end

  // --------------------------------------------- stage 1: header bytes; beat with the iCRC's masks
  // The first 128 bytes; what the frame did not bring is old. The source MAC and what follows byte
  // 105 is not used.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [1023:0]     hdr_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic              s1_valid_q, s1_last_q, s1_past_q, s1_first_q, s1_err_q, s1_ovf_q;
  logic [KW-1:0]     s1_beat_q;
  logic [16:0]       s1_flen_q;
  logic              s1_crc_valid_q, s1_crc_first_q, s1_crc_last_q;
  logic [7:0]        s1_crc_cnt_q;
  logic [DATA_W-1:0] s1_data_q;
  logic              s1_trailer_q;
  logic [5:0]        s1_words_q;  // of the beat

  always_ff @(posedge clk_i) begin
    if (in_valid) begin
      vlan_q <= vlan;
      v6_q <= v6;
      ip_q <= ip;
      left_q <= left - 19'(B);
      s1_first_q <= first;
      s1_past_q <= past_q;
      s1_beat_q <= beat_q;
      s1_last_q <= in_last;
      s1_err_q <= in_err;
      s1_ovf_q <= in_ovf;
      s1_trailer_q <= trailer;
      s1_words_q <= in_cnt[7:2];
      s1_flen_q <= flen;
      s1_crc_first_q <= first;
      s1_crc_last_q <= crc_end;
      s1_crc_cnt_q <= crc_cnt;
      if (past_q) s1_data_q <= in_data;
      for (int unsigned k = 0; k < HB; k++) begin
        if (!past_q && beat_q == KW'(k)) begin
          hdr_q[k*DATA_W +: DATA_W] <= in_data;
          case ({vlan, v6})
            2'b00: s1_data_q <= (in_data | ONES_V4_14[k*DATA_W +: DATA_W]) &
                                ~ZERO_14[k*DATA_W +: DATA_W];
            2'b01: s1_data_q <= (in_data | ONES_V6_14[k*DATA_W +: DATA_W]) &
                                ~ZERO_14[k*DATA_W +: DATA_W];
            2'b10: s1_data_q <= (in_data | ONES_V4_18[k*DATA_W +: DATA_W]) &
                                ~ZERO_18[k*DATA_W +: DATA_W];
            default: s1_data_q <= (in_data | ONES_V6_18[k*DATA_W +: DATA_W]) &
                                  ~ZERO_18[k*DATA_W +: DATA_W];
          endcase
        end
      end
    end
    s1_valid_q <= in_valid;
    s1_crc_valid_q <= in_valid && !done_q;
    if (in_valid) begin
      done_q <= !in_last && (done_q || crc_end);
      if (in_last) begin
        beat_q <= '0;
        past_q <= 1'b0;
        base_q <= '0;
      end else begin
        if (beat_q == KW'(HB - 1)) past_q <= 1'b1;
        else beat_q <= beat_q + KW'(1);
        if (!base_q[16]) base_q <= base_q + 17'(B);
      end
    end
    if (rst_i) begin
      s1_valid_q <= 1'b0;
      s1_crc_valid_q <= 1'b0;
      done_q <= 1'b0;
      beat_q <= '0;
      past_q <= 1'b0;
      base_q <= '0;
    end
  end

  assign bt_valid = in_valid;
  assign bt_data = in_data;
  assign bt_cnt = in_cnt;
  assign bt_last = in_last;

  // ---------------------------------------------------------------- iCRC: result in stage 4
  logic              crc_valid;
  logic [31:0]       crc_reg;
  logic [7:0]        crc_zeros;
  logic [DATA_W-1:0] crc_data;
  logic              icrc_now, icrc_ok, icrc_ok_q;

  always_comb begin
    crc_data = s1_data_q;
    if (s1_crc_cnt_q != 8'(B)) crc_data = s1_data_q & ~({DATA_W{1'b1}} << {s1_crc_cnt_q, 3'b000});
  end

  // The Ethernet bytes are fed as zeros from an init that makes them disappear.
  crc32_stream #(.DATA_W(DATA_W), .UNDO_STAGES(0)) u_crc (
    .clk_i, .rst_i,
    .en_i(1'b1),
    .valid_i(s1_crc_valid_q),
    .data_i(crc_data),
    .cnt_i(s1_crc_cnt_q),
    .first_i(s1_crc_first_q),
    .last_i(s1_crc_last_q),
    .init_i(vlan_q ? crc32_pkg::ICRC_INIT_SKIP[18*32 +: 32] :
                     crc32_pkg::ICRC_INIT_SKIP[14*32 +: 32]),
    .crc_valid_o(crc_valid),
    .crc_reg_o(crc_reg),
    .crc_zeros_o(crc_zeros)
  );
  assign icrc_now = crc_reg == crc32_pkg::RESIDUE_ZEROS[32'(crc_zeros)*32 +: 32];
  // The end of the iCRC may lie before the last beat: then its result came earlier, and no later
  // frame's is here yet.
  assign icrc_ok = crc_valid ? icrc_now : icrc_ok_q;
  always_ff @(posedge clk_i) if (crc_valid) icrc_ok_q <= icrc_now;

  // ---------------------------------------------------------------- stage 1: find IP, UDP and BTH
  // BTH complete: bytes 54, 58, 74 or 78 of the frame.
  logic        bth_beat;
  logic [6:0]  bth_end;
  logic [15:0] e_dport;
  logic [7:0]  e_proto;
  logic [23:0] e_qpn;
  always_comb begin
    case ({vlan_q, v6_q})
      2'b00: begin
        bth_end = 7'd54;
        bth_beat = s1_beat_q == KW'(53 / B);
        e_proto = hdr_q[8*23 +: 8];
        e_dport = hdr_q[8*36 +: 16];
        e_qpn = hdr_q[8*47 +: 24];
      end
      2'b01: begin
        bth_end = 7'd74;
        bth_beat = s1_beat_q == KW'(73 / B);
        e_proto = hdr_q[8*20 +: 8];
        e_dport = hdr_q[8*56 +: 16];
        e_qpn = hdr_q[8*67 +: 24];
      end
      2'b10: begin
        bth_end = 7'd58;
        bth_beat = s1_beat_q == KW'(57 / B);
        e_proto = hdr_q[8*27 +: 8];
        e_dport = hdr_q[8*40 +: 16];
        e_qpn = hdr_q[8*51 +: 24];
      end
      default: begin
        bth_end = 7'd78;
        bth_beat = s1_beat_q == KW'(77 / B);
        e_proto = hdr_q[8*24 +: 8];
        e_dport = hdr_q[8*60 +: 16];
        e_qpn = hdr_q[8*71 +: 24];
      end
    endcase
  end
  logic early;
  logic [7:0] age_q;                     // cycles since the first beat of the frame in stage 1
  assign early = s1_valid_q && !s1_past_q && bth_beat && ip_q && s1_flen_q >= 17'(bth_end) &&
                 e_dport == be16(roce_pkg::UDP_PORT) && e_proto == 8'd17;
  always_ff @(posedge clk_i) begin
    if (early) early_qpn_o <= be24(e_qpn);
    early_valid_o <= early;
    if (s1_valid_q && s1_first_q) age_q <= 8'd1;
    else if (age_q != '1) age_q <= age_q + 8'd1;
    if (early) begin
      trc_o <= {rnic_pkg::TRC_RX_FIRST, be24(e_qpn), 24'd0, s1_first_q ? 8'd2 : age_q + 8'd2};
    end
    if (rst_i) begin
      early_valid_o <= 1'b0;
      age_q <= '0;
    end
  end
  assign trc_valid_o = early_valid_o;
  assign trc_sampled_o = 1'b0;

  // -------------------------------------------------------------- stage 2: headers at fixed places
  logic              s2_valid_q, s2_err_q, s2_ovf_q, s2_vlan_q, s2_v6_q, s2_l2ok_q, s2_station_q;
  logic [2:0]        s2_pcp_q;
  logic [16:0]       s2_flen_q;
  logic [8*40-1:0]   s2_l3_q;
  /* verilator lint_off UNUSEDSIGNAL */
  logic [8*48-1:0]   s2_l4_q;            // UDP checksum and reserved bits of the BTH are not used
  /* verilator lint_on UNUSEDSIGNAL */
  logic [47:0]       dmac;
  assign dmac = {be24(hdr_q[23:0]), be24(hdr_q[47:24])};

  always_ff @(posedge clk_i) begin
    if (s1_valid_q && s1_last_q) begin
      s2_err_q <= s1_err_q;
      s2_ovf_q <= s1_ovf_q;
      s2_flen_q <= s1_flen_q;
      s2_vlan_q <= vlan_q;
      s2_pcp_q <= hdr_q[8*14 + 5 +: 3];
      s2_v6_q <= v6_q;
      s2_l2ok_q <= ip_q;
      s2_station_q <= cfg_promisc_raw_i || dmac[40] || dmac == cfg_port_mac_i;
      s2_l3_q <= vlan_q ? hdr_q[8*18 +: 8*40] : hdr_q[8*14 +: 8*40];
      case ({vlan_q, v6_q})
        2'b00: s2_l4_q <= hdr_q[8*34 +: 8*48];
        2'b01: s2_l4_q <= hdr_q[8*54 +: 8*48];
        2'b10: s2_l4_q <= hdr_q[8*38 +: 8*48];
        default: s2_l4_q <= hdr_q[8*58 +: 8*48];
      endcase
    end
    s2_valid_q <= s1_valid_q && s1_last_q && !rst_i;
  end

  logic [7:0]         opcode;
  logic [5:0]         ext;               // as roce_pkg::ext_headers, 0 for an unknown opcode
  logic               rc_uc, ud, cnp;
  logic [5:0]         ext_len;
  logic [8*28-1:0]    e;
  rnic_pkg::rx_meta_t m2;
  logic [19:0]        sum2;
  logic [6:0]         l4_at;             // byte of the UDP header in the frame
  logic               id_ok;

  assign opcode = s2_l4_q[8*8 +: 8];
  assign e = s2_l4_q[8*20 +: 8*28];
  assign rc_uc = opcode[7:5] == 3'd0 || (opcode[7:5] == 3'd1 && opcode[4:0] <= 5'h0B);
  assign ud = opcode == roce_pkg::OP_UD_SEND_ONLY || opcode == roce_pkg::OP_UD_SEND_ONLY_IMM;
  assign cnp = opcode == roce_pkg::OP_CNP;
  assign l4_at = (s2_vlan_q ? 7'd18 : 7'd14) + (s2_v6_q ? 7'd40 : 7'd20);

  always_comb begin
    ext = rc_uc ? roce_pkg::ext_headers(opcode[4:0]) : 6'h00;
    if (ARP != 0 && opcode == arp_pkg::OP_ARP) ext = 6'h01;  // 16 bytes where a RETH stands
    if (ext == 6'h3F) ext = 6'h00;
    ext_len = roce_pkg::ext_bytes(ext);
    if (ud) ext_len = opcode[0] ? 6'd12 : 6'd8;
    if (cnp) ext_len = 6'd16;            // 16 reserved bytes

    m2 = '0;                             // a field that the packet does not carry is 0
    if (s2_valid_q) begin
      m2.opcode = opcode;
      m2.se = s2_l4_q[8*9 + 7];
      m2.mig_req = s2_l4_q[8*9 + 6];
      m2.pad = s2_l4_q[8*9 + 4 +: 2];
      m2.pkey = be16(s2_l4_q[8*10 +: 16]);
      m2.fecn = s2_l4_q[8*12 + 7];
      m2.becn = s2_l4_q[8*12 + 6];
      m2.dest_qpn = be24(s2_l4_q[8*13 +: 24]);
      m2.ack_req = s2_l4_q[8*16 + 7];
      m2.psn = be24(s2_l4_q[8*17 +: 24]);
      if (ext[0] || ext[4]) begin
        m2.va = be64(e[0 +: 64]);
        m2.rkey = be32(e[8*8 +: 32]);
      end
      if (ext[0]) m2.dmalen = be32(e[8*12 +: 32]);
      if (ext[1] || ext[2]) m2.imm = ext[0] ? be32(e[8*16 +: 32]) : be32(e[0 +: 32]);
      if (ud && opcode[0]) m2.imm = be32(e[8*8 +: 32]);
      if (ext[3]) begin
        m2.syndrome = e[7:0];
        m2.msn = be24(e[8 +: 24]);
      end
      if (ext[4]) begin
        m2.op0 = be64(e[8*12 +: 64]);
        m2.op1 = be64(e[8*20 +: 64]);
      end
      if (ext[5]) m2.op0 = be64(e[8*4 +: 64]);
      if (ud) begin
        m2.qkey = be32(e[0 +: 32]);
        m2.src_qpn = be24(e[8*5 +: 24]);
      end
      m2.ipv6 = s2_v6_q;
      m2.sport = be16(s2_l4_q[15:0]);
      m2.hdr_len = l4_at + 7'd20 + 7'(ext_len);
      if (s2_v6_q) begin
        // traffic class: low nibble of byte 0, high nibble of byte 1
        m2.ecn = s2_l3_q[8*1 + 4 +: 2];
        m2.dscp = {s2_l3_q[3:0], s2_l3_q[8*1 + 6 +: 2]};
        m2.ttl = s2_l3_q[8*7 +: 8];
        m2.flow_label = {s2_l3_q[8*1 +: 4], s2_l3_q[8*2 +: 8], s2_l3_q[8*3 +: 8]};
        m2.sip = {be64(s2_l3_q[8*8 +: 64]), be64(s2_l3_q[8*16 +: 64])};
        m2.dip = {be64(s2_l3_q[8*24 +: 64]), be64(s2_l3_q[8*32 +: 64])};
      end else begin
        m2.ecn = s2_l3_q[8*1 +: 2];
        m2.dscp = s2_l3_q[8*1 + 2 +: 6];
        m2.ttl = s2_l3_q[8*8 +: 8];
        m2.ip_id = be16(s2_l3_q[8*4 +: 16]);
        m2.ip_frag = be16(s2_l3_q[8*6 +: 16]);
        m2.ip_csum = be16(s2_l3_q[8*10 +: 16]);
        m2.sip = {96'd0, be32(s2_l3_q[8*12 +: 32])};
        m2.dip = {96'd0, be32(s2_l3_q[8*16 +: 32])};
      end
    end

    // The ones' complement sum does not care for byte order.
    sum2 = '0;
    for (int unsigned i = 0; i < 10; i++) sum2 = sum2 + 20'(s2_l3_q[16*i +: 16]);

    // Is it addressed to RoCEv2 at all? The IPv4 header checksum is judged one stage later.
    id_ok = s2_l2ok_q && s2_flen_q >= 17'(l4_at) + 17'd8 &&
            s2_l4_q[8*2 +: 16] == be16(roce_pkg::UDP_PORT);
    if (s2_v6_q) id_ok = id_ok && s2_l3_q[7:4] == 4'd6 && s2_l3_q[8*6 +: 8] == 8'd17;
    else id_ok = id_ok && s2_l3_q[7:0] == 8'h45 && (be16(s2_l3_q[8*6 +: 16]) & 16'h3FFF) == 16'd0 &&
                 s2_l3_q[8*9 +: 8] == 8'd17;
  end

  // ---------------------------------------------------------------- stage 3: fields
  logic               s3_valid_q, s3_err_q, s3_ovf_q, s3_id_ok_q, s3_tver_ok_q, s3_station_q;
  logic               s3_vlan_q;
  logic [2:0]         s3_pcp_q;
  logic [16:0]        s3_flen_q;
  logic [19:0]        s3_sum_q;
  logic [15:0]        s3_ip_len_q, s3_udp_len_q;  // IP length without its header
  logic [6:0]         s3_l4_at_q;
  logic [5:0]         s3_ext_len_q;
  rnic_pkg::rx_meta_t s3_meta_q;
  always_ff @(posedge clk_i) begin
    if (s2_valid_q) begin
      s3_err_q <= s2_err_q;
      s3_ovf_q <= s2_ovf_q;
      s3_vlan_q <= s2_vlan_q;
      s3_pcp_q <= s2_pcp_q;
      s3_flen_q <= s2_flen_q;
      s3_id_ok_q <= id_ok;
      s3_station_q <= s2_station_q;
      s3_sum_q <= sum2;
      s3_tver_ok_q <= s2_l4_q[8*9 +: 4] == 4'd0;
      s3_ip_len_q <= s2_v6_q ? be16(s2_l3_q[8*4 +: 16]) : be16(s2_l3_q[8*2 +: 16]) - 16'd20;
      s3_udp_len_q <= be16(s2_l4_q[8*4 +: 16]);
      s3_l4_at_q <= l4_at;
      s3_ext_len_q <= ext_len;
      if (id_ok) s3_meta_q <= m2;
    end
    s3_valid_q <= s2_valid_q && !rst_i;
  end

  logic [16:0] fold;
  logic        sum_ok, length_bad, cut, body_bad;
  logic [16:0] body;                     // payload, pad; signed
  logic [16:0] payload;                  // signed
  always_comb begin
    fold = 17'(s3_sum_q[15:0]) + 17'(s3_sum_q[19:16]);
    sum_ok = s3_meta_q.ipv6 || fold[15:0] + 16'(fold[16]) == 16'hFFFF;
    length_bad = s3_ip_len_q != s3_udp_len_q || s3_udp_len_q < 16'd24;
    cut = 17'(s3_l4_at_q) + 17'(s3_udp_len_q) > s3_flen_q;
    body = 17'(s3_udp_len_q) - 17'd24 - 17'(s3_ext_len_q);
    payload = body - 17'(s3_meta_q.pad);
    body_bad = $signed(payload) < 0 || $signed(payload) > 17'sd4096 || body[1:0] != 2'd0 ||
               !s3_tver_ok_q;
  end

  // ---------------------------------------------------------------- stage 4: verdict
  logic               s4_valid_q, s4_count_q, s4_bad_q, s4_runt_q, s4_header_q, s4_body_q;
  logic               s4_roce_q, s4_raw_q, s4_filtered_q;
  logic [15:0]        s4_flen_q;
  rnic_pkg::rx_meta_t s4_meta_q;
  logic               mac_ok, whole, is_roce;
  assign mac_ok = !s3_ovf_q && !s3_err_q;
  assign whole = mac_ok && s3_flen_q >= 17'd14 && !s3_flen_q[16];
  assign is_roce = whole && s3_id_ok_q && sum_ok;
  always_ff @(posedge clk_i) begin
    if (s3_valid_q) begin
      vd_vlan <= s3_vlan_q;
      vd_pcp <= s3_pcp_q;
      s4_count_q <= !s3_ovf_q;
      s4_bad_q <= !s3_ovf_q && s3_err_q;
      s4_runt_q <= mac_ok && (s3_flen_q < 17'd14 || (is_roce && !length_bad && cut));
      s4_header_q <= mac_ok && (s3_flen_q[16] || (is_roce && length_bad));
      s4_roce_q <= is_roce && !length_bad && !cut;
      s4_body_q <= body_bad;
      s4_raw_q <= whole && !is_roce && s3_station_q;
      s4_filtered_q <= whole && !is_roce && !s3_station_q;
      s4_flen_q <= s3_flen_q[16] ? 16'hFFFF : s3_flen_q[15:0];
      if (is_roce) begin
        s4_meta_q <= s3_meta_q;
        s4_meta_q.payload_len <= payload[12:0];
      end
    end
    s4_valid_q <= s3_valid_q && !rst_i;
  end

  // ----------------------------------------------------- stages 1 to 4: telemetry behind the iCRC
  // The last 48 bytes of the frame, of its last beat and those before it. Headers end in front of
  // them, so the iCRC's masks have not touched them. Good RoCEv2 frames end at 2 modulo 4 bytes.
  localparam int unsigned T = roce_pkg::INT_BYTES;
  logic [8*T-1:0]              before_q;   // the 48 bytes before the beat in stage 1
  logic [8*T+DATA_W-1:0]       ends;
  logic [8*T-1:0]              tail;
  logic [8*T-1:0]              s2_tail_q;
  logic                        s2_int_q, s2_int_ok, s3_int_q, s4_int_q, s3_echo_q, s4_echo_q;
  rnic_pkg::telemetry_t        s2_tele, s3_tele_q, s4_tele_q;
  assign ends = {s1_data_q, before_q};
  always_comb begin
    tail = '0;
    if (s1_valid_q && s1_trailer_q) tail = (8*T)'(ends[16 +: 8*T+DATA_W-16] >> {s1_words_q, 5'd0});
  end
  logic unused_ends;
  assign unused_ends = ^ends[15:0];
  assign s2_tele = {s2_tail_q[383:64], s2_tail_q[43:32], s2_tail_q[47:44], s2_tail_q[23:20]};
  assign s2_int_ok = s2_int_q && s2_tail_q[15:0] == roce_pkg::INT_MAGIC &&
                     s2_tail_q[19:16] == roce_pkg::INT_VERSION && s2_tail_q[31:25] == 7'd0 &&
                     s2_tail_q[63:48] == 16'd0;
  always_ff @(posedge clk_i) begin
    if (s1_valid_q && cfg_int_i) before_q <= ends[DATA_W+:8*T];
    if (s1_valid_q && s1_last_q) begin
      s2_int_q <= s1_trailer_q;
      if (s1_trailer_q) s2_tail_q <= tail;
    end
    if (s2_valid_q) begin
      s3_int_q <= s2_int_ok;
      if (s2_int_ok) begin
        s3_tele_q <= s2_tele;
        s3_echo_q <= s2_tail_q[24];
      end
    end
    if (s3_valid_q) begin
      s4_int_q <= s3_int_q;
      if (s3_int_q) begin
        s4_tele_q <= s3_tele_q;
        s4_echo_q <= s3_echo_q;
      end
    end
  end

  logic good;
  assign good = s4_roce_q && icrc_ok && !s4_body_q;
  assign vd_valid = s4_valid_q;
  assign vd_kind = good ? KIND_ROCE : s4_raw_q ? KIND_RAW : KIND_DROP;
  always_comb begin
    vd_meta = s4_meta_q;
    vd_meta.has_int = s4_int_q;
    if (s4_int_q) begin
      vd_meta.int_echo = s4_echo_q;
      vd_meta.tele = s4_tele_q;
    end
  end

  always_ff @(posedge clk_i) begin
    cnt_rx_frames_o <= s4_valid_q && s4_count_q;
    if (s4_valid_q) cnt_rx_bytes_amount_o <= s4_count_q ? s4_flen_q : '0;
    else cnt_rx_bytes_amount_o <= '0;
    cnt_rx_crc_errors_o <= s4_valid_q && s4_bad_q;
    cnt_rx_runts_o <= s4_valid_q && s4_runt_q;
    cnt_rx_header_errors_o <= s4_valid_q && (s4_header_q || (s4_roce_q && icrc_ok && s4_body_q));
    cnt_rx_icrc_errors_o <= s4_valid_q && s4_roce_q && !icrc_ok;
    cnt_rx_roce_packets_o <= s4_valid_q && good;
    cnt_rx_raw_filtered_o <= s4_valid_q && s4_filtered_q;
    if (rst_i) begin
      cnt_rx_frames_o <= 1'b0;
      cnt_rx_bytes_amount_o <= '0;
      cnt_rx_crc_errors_o <= 1'b0;
      cnt_rx_runts_o <= 1'b0;
      cnt_rx_header_errors_o <= 1'b0;
      cnt_rx_icrc_errors_o <= 1'b0;
      cnt_rx_roce_packets_o <= 1'b0;
      cnt_rx_raw_filtered_o <= 1'b0;
    end
  end

  `RNIC_ASSERT(beat_has_bytes, !in_valid || (in_cnt != 8'd0 && in_cnt <= 8'(B)))
  `RNIC_ASSERT(full_until_last, !in_valid || in_last || in_cnt == 8'(B))
`ifdef RNIC_ASSERT_ON
  logic icrc_seen_q;                     // a result that waits for its verdict
  always_ff @(posedge clk_i) begin
    if (rst_i) icrc_seen_q <= 1'b0;
    else if (s4_valid_q) icrc_seen_q <= 1'b0;
    else if (crc_valid) icrc_seen_q <= 1'b1;
  end
  // Every frame has had its own iCRC result, and only its own, by its verdict.
  `RNIC_ASSERT(icrc_known, !s4_valid_q || (crc_valid != icrc_seen_q))
  `RNIC_ASSERT(icrc_alone, !(crc_valid && icrc_seen_q))
`endif
endmodule
