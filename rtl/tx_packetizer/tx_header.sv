// SPDX-License-Identifier: Apache-2.0
// Builds the headers from IP to the last extension header as one vector. Combinational.
//
// Byte i of the packet is hdr_o[i*8 +: 8]; bytes behind the last header are zero, or all when
// valid_i = 0. Fact sheet section 1.
module tx_header (
  input  logic         valid_i,
  input  logic         ipv6_i,
  input  logic [7:0]   tos_i,        // DSCP, ECN
  input  logic [7:0]   ttl_i,
  input  logic [19:0]  flow_label_i,
  input  logic [127:0] sip_i,
  input  logic [127:0] dip_i,
  input  logic [15:0]  sport_i,
  input  logic [15:0]  udp_len_i,    // UDP header to iCRC
  input  logic [15:0]  ip_len_i,     // IPv4 total length
  input  logic [15:0]  ip_id_i,
  // sum of the 16-bit words of the IPv4 header that do not come from the path
  input  logic [17:0]  csum_part_i,
  input  logic [319:0] bth_ext_i,    // BTH and extension headers, first wire byte in bits 7:0
  output logic [703:0] hdr_o
);
  // IPv4 header checksum: one's complement of the one's complement sum.
  logic [20:0] sum;
  logic [16:0] fold;
  logic [15:0] csum;
  assign sum = 21'(csum_part_i) + 21'(tos_i) + 21'({ttl_i, 8'd0}) + 21'(sip_i[31:16]) +
      21'(sip_i[15:0]) +
               21'(dip_i[31:16]) + 21'(dip_i[15:0]);
  assign fold = 17'(sum[15:0]) + 17'(sum[20:16]);
  assign csum = ~(fold[15:0] + 16'(fold[16]));

  // 32-bit words, first wire byte in the top bits: [0] to [9] IP, [10], [11] UDP.
  logic [31:0] w4_0, w4_1, w4_2, w6_0, w6_1, u_0, u_1;
  assign w4_0 = {8'h45, tos_i, ip_len_i};
  assign w4_1 = {ip_id_i, 16'h4000};
  assign w4_2 = {ttl_i, 8'd17, csum};
  assign w6_0 = {4'd6, tos_i, flow_label_i};
  assign w6_1 = {udp_len_i, 8'd17, ttl_i};
  assign u_0  = {sport_i, roce_pkg::UDP_PORT};
  assign u_1  = {udp_len_i, 16'd0};

  function automatic logic [31:0] swap(input logic [31:0] w);
    swap = {w[7:0], w[15:8], w[23:16], w[31:24]};
  endfunction

  always_comb begin
    hdr_o = '0;
    if (valid_i) begin
      if (ipv6_i) begin
        hdr_o = {bth_ext_i, swap(u_1), swap(u_0),
                 swap(dip_i[31:0]), swap(dip_i[63:32]), swap(dip_i[95:64]), swap(dip_i[127:96]),
                 swap(sip_i[31:0]), swap(sip_i[63:32]), swap(sip_i[95:64]), swap(sip_i[127:96]),
                 swap(w6_1), swap(w6_0)};
      end else begin
        hdr_o = {160'd0, bth_ext_i, swap(u_1), swap(u_0), swap(dip_i[31:0]), swap(sip_i[31:0]),
                 swap(w4_2), swap(w4_1), swap(w4_0)};
      end
    end
  end
endmodule
