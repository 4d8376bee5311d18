// SPDX-License-Identifier: Apache-2.0
// The 40 bytes that a UD receive begins with: the IPv6 header of the packet, or 20 zero bytes and
// its IPv4 header. Combinational, rebuilt from the packet's fields; byte 0 in the lowest lane. 0
// while en_i is 0.
module rx_grh (
    input  logic               en_i,
    input  rnic_pkg::rx_meta_t m_i,
    output logic [319:0]       grh_o
);
  logic [15:0] udp_len, ip_len;
  logic [7:0] tc;
  logic [319:0] wire_v4, wire_v6;  // first wire byte uppermost
  // UDP header, BTH, DETH, perhaps ImmDt, payload, pad, iCRC
  assign udp_len = 16'd8 + 16'd12 + 16'd8 + (m_i.opcode[0] ? 16'd4 : 16'd0) +
                   {3'd0, m_i.payload_len} + {14'd0, m_i.pad} + 16'd4;
  assign ip_len = udp_len + 16'd20;
  assign tc = {m_i.dscp, m_i.ecn};
  always_comb begin
    wire_v4 = '0;
    wire_v6 = '0;
    grh_o = '0;
    if (en_i) begin
      wire_v4 = {160'd0, 8'h45, tc, ip_len, m_i.ip_id, m_i.ip_frag, m_i.ttl, 8'd17, m_i.ip_csum,
                 m_i.sip[31:0], m_i.dip[31:0]};
      wire_v6 = {4'h6, tc, m_i.flow_label, udp_len, 8'd17, m_i.ttl, m_i.sip, m_i.dip};
      for (int i = 0; i < 40; i++) begin
        grh_o[8*i +: 8] = m_i.ipv6 ? wire_v6[8*(39-i) +: 8] : wire_v4[8*(39-i) +: 8];
      end
    end
  end
  logic unused;
  assign unused = ^m_i;
endmodule
