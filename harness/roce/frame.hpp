// SPDX-License-Identifier: Apache-2.0
// RoCEv2 frames: a parser by byte offset and a builder from a plain struct. Neither allocates.
//
//   FrameView v;
//   if (parse_frame(bytes, v) == ParseStatus::kOk && icrc_good(v)) use(v.opcode, v.payload());
//   FrameSpec s;  s.opcode = kRcSendOnly;  s.dest_qp = 0x11;  s.psn = 0x10;
//   size_t n = build_frame(s, payload, buffer);  // Ethernet header .. iCRC, padded to 60 bytes
//
// A frame here is an Ethernet frame without preamble; without FCS unless stated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/roce/opcode.hpp"
#include "harness/roce/psn.hpp"

namespace rnic::roce {

inline constexpr uint16_t kUdpPort = 4791;
inline constexpr uint16_t kEtherIpv4 = 0x0800;
inline constexpr uint16_t kEtherIpv6 = 0x86DD;
inline constexpr uint16_t kEtherVlan = 0x8100;
inline constexpr uint16_t kEtherQinQ = 0x88A8;
inline constexpr size_t kMinFrame = 60;  // without FCS
inline constexpr size_t kIcrcBytes = 4;
inline constexpr size_t kFcsBytes = 4;

using MacAddr = std::array<uint8_t, 6>;
// IPv6 address, or IPv4 as ::ffff:a.b.c.d: the form of a GID.
using IpAddr = std::array<uint8_t, 16>;

IpAddr ipv4_address(uint8_t a, uint8_t b, uint8_t c, uint8_t d);
bool is_ipv4(const IpAddr& ip);
std::string to_string(const MacAddr& mac);
std::string to_string(const IpAddr& ip);

enum class ParseStatus : uint8_t {
  kOk,
  kNotRoce,        // a raw frame: other EtherType, other protocol, other UDP port
  kTruncated,      // shorter than its headers or than its IP length says
  kBadIpHeader,    // version, IHL or fragment
  kBadLength,      // IP and UDP lengths disagree, or leave no room for BTH, headers, pad and iCRC
  kUnknownOpcode,  // BTH is valid, nothing behind it was read
};
const char* to_string(ParseStatus s);

struct FrameView {
  std::span<const uint8_t> bytes;  // the whole frame, borrowed

  // Ethernet
  MacAddr eth_dst{}, eth_src{};
  uint8_t vlan_count = 0;  // 0..2
  std::array<uint16_t, 2> vlan_tci{};
  uint16_t ethertype = 0;  // after the tags
  // Byte offsets in the frame; 0 when that layer was not reached
  uint16_t l3_offset = 0, udp_offset = 0, bth_offset = 0, ext_offset = 0, payload_offset = 0,
           icrc_offset = 0;
  // IP
  bool ipv6 = false;
  uint8_t tos = 0;  // DSCP << 2 | ECN; traffic class for IPv6
  uint8_t ttl = 0;
  uint8_t protocol = 0;
  bool ip_dont_fragment = false;
  uint16_t ip_length = 0;  // IPv4 total length; IPv6 payload length + 40
  uint16_t ip_id = 0;
  uint16_t ip_checksum = 0;
  uint32_t flow_label = 0;
  IpAddr ip_src{}, ip_dst{};
  // UDP
  uint16_t udp_src = 0, udp_dst = 0, udp_length = 0, udp_checksum = 0;
  // BTH
  uint8_t opcode = 0;
  bool solicited = false, mig_req = false, fecn = false, becn = false, ack_req = false;
  uint8_t pad = 0, tver = 0, resv6 = 0, resv7 = 0;
  uint16_t pkey = 0;
  uint32_t dest_qp = 0, psn = 0;
  // Extended headers, valid as opcode_info(opcode).ext says
  uint64_t va = 0;  // RETH or AtomicETH
  uint32_t rkey = 0;
  uint32_t dma_len = 0;
  uint8_t syndrome = 0;
  uint32_t msn = 0;
  uint32_t imm = 0;  // the four bytes as a big-endian number
  uint32_t inv_rkey = 0;
  uint64_t swap_add = 0, compare = 0;
  uint64_t atomic_orig = 0;
  uint32_t qkey = 0, src_qp = 0;
  // Payload without pad, and the iCRC as a number (least significant byte first on the wire)
  uint32_t payload_len = 0;
  uint32_t icrc = 0;

  std::span<const uint8_t> payload() const { return bytes.subspan(payload_offset, payload_len); }
  const OpcodeInfo& info() const { return opcode_info(opcode); }
  uint8_t ecn() const { return tos & 3; }
  uint8_t dscp() const { return static_cast<uint8_t>(tos >> 2); }
};

// Reads a frame without FCS. Fills as much of `out` as the status allows.
ParseStatus parse_frame(std::span<const uint8_t> frame, FrameView& out);
// iCRC that the frame should carry, from a view with status kOk or kUnknownOpcode.
uint32_t expected_icrc(const FrameView& v);
inline bool icrc_good(const FrameView& v) { return expected_icrc(v) == v.icrc; }
// One line: "RC_WRITE_ONLY qp=0x11 psn=0x10 len=5 pad=3 ack_req va=... rkey=... dmalen=5".
std::string describe(const FrameView& v);

// What goes into a frame. Lengths, pad count, checksums and iCRC are computed.
struct FrameSpec {
  MacAddr eth_dst{}, eth_src{};
  uint8_t vlan_count = 0;
  std::array<uint16_t, 2> vlan_tci{};
  IpAddr ip_src{}, ip_dst{};  // both IPv4-mapped: IPv4, otherwise IPv6
  uint8_t tos = 0x02;         // ECT(0)
  uint8_t ttl = 64;
  uint16_t ip_id = 0;
  bool dont_fragment = true;
  uint32_t flow_label = 0;
  uint16_t udp_src = 0xC000;
  uint8_t opcode = 0;
  bool solicited = false, mig_req = true, fecn = false, becn = false, ack_req = false;
  uint16_t pkey = 0xFFFF;
  uint32_t dest_qp = 0, psn = 0;
  uint64_t va = 0;
  uint32_t rkey = 0, dma_len = 0;
  uint8_t syndrome = 0x1F;
  uint32_t msn = 0;
  uint32_t imm = 0, inv_rkey = 0;
  uint64_t swap_add = 0, compare = 0, atomic_orig = 0;
  uint32_t qkey = 0, src_qp = 0;
};

struct BuildOptions {
  bool pad_to_min = true;  // Ethernet padding to 60 bytes
  bool append_fcs = false;
};

// Bytes of the frame that build_frame() makes.
size_t frame_size(const FrameSpec& spec, size_t payload, const BuildOptions& options = {});
// Writes the frame; returns its length, or 0 when `out` is too small. An opcode without a table
// entry gets no extended headers.
size_t build_frame(const FrameSpec& spec, std::span<const uint8_t> payload, std::span<uint8_t> out,
                   const BuildOptions& options = {});

// After editing a frame: make its IPv4 header checksum, its iCRC (found from the IP length), or
// both right again.
void fix_ipv4_checksum(std::span<uint8_t> frame);
void fix_icrc(std::span<uint8_t> frame);
// Sets ECN to CE (11) and repairs the IPv4 header checksum, as a congested switch does; false when
// it is not IP or not ECN capable. The iCRC stays valid.
bool mark_congestion(std::span<uint8_t> frame);

uint16_t ipv4_checksum(std::span<const uint8_t> header);

// The same partition, and not both are limited members of it.
bool pkeys_match(uint16_t a, uint16_t b);

// UDP source port by the Linux flow-label convention; flow_label 0 uses the QP numbers.
uint16_t udp_source_port(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn);

}  // namespace rnic::roce
