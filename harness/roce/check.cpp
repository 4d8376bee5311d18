// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/check.hpp"

#include <algorithm>
#include <cstdio>

#include "harness/roce/aeth.hpp"
#include "harness/roce/arp_packet.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "harness/roce/int_trailer.hpp"

namespace rnic::roce {
namespace {

// UDP checksum over pseudo header, header and data (RFC 768, RFC 8200).
uint16_t udp_checksum(const FrameView& v) {
  uint32_t sum = 0;
  const size_t first = v.ipv6 ? 0 : 12;  // IPv4 addresses sit in the last four bytes
  for (size_t i = first; i < 16; i += 2) sum += load_be16(&v.ip_src[i]) + load_be16(&v.ip_dst[i]);
  sum += v.udp_length;
  sum += 17;
  const auto d = v.bytes.subspan(v.udp_offset, v.udp_length);
  for (size_t i = 0; i < d.size(); i += 2) {
    if (i == 6) continue;
    sum += (uint32_t{d[i]} << 8) | (i + 1 < d.size() ? d[i + 1] : 0u);
  }
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  const auto c = static_cast<uint16_t>(~sum);
  return c == 0 ? 0xFFFF : c;
}

void check_lengths(const FrameView& v, const CheckOptions& o, ViolationList& out) {
  const OpcodeInfo& info = v.info();
  const uint32_t n = v.payload_len;
  const uint32_t limit = o.pmtu ? o.pmtu : 4096;
  switch (info.payload) {
    case PayloadRule::kNone:
      if (n != 0) out.add(Rule::kPayloadLength, n, 0);
      break;
    case PayloadRule::kPmtu:
      if (o.pmtu ? n != o.pmtu : !valid_pmtu(n)) out.add(Rule::kPayloadLength, n, limit);
      break;
    case PayloadRule::kOneToPmtu:
      if (n == 0 || n > limit) out.add(Rule::kPayloadLength, n, n == 0 ? 1 : limit);
      break;
    case PayloadRule::kZeroToPmtu:
      if (n > limit) out.add(Rule::kPayloadLength, n, limit);
      break;
  }
  if (v.pad != pad_of(n)) out.add(Rule::kPadCount, v.pad, pad_of(n));
  if ((info.ext & kExtReth) == 0) return;
  if (v.dma_len > kMaxMessage) out.add(Rule::kDmaLength, v.dma_len, kMaxMessage);
  if (info.kind == MsgKind::kReadRequest) return;
  // FIRST announces more than it carries, ONLY exactly that.
  if (info.is_last ? v.dma_len != n : v.dma_len <= n) out.add(Rule::kDmaLength, v.dma_len, n);
}

void check_bth(const FrameView& v, ViolationList& out) {
  const OpcodeInfo& info = v.info();
  if (v.tver != 0) out.add(Rule::kTver, v.tver, 0);
  if (v.resv6 != 0) out.add(Rule::kReservedBits, v.resv6, 0);
  if (v.resv7 != 0) out.add(Rule::kReservedBits, v.resv7, 0);
  if (v.solicited) {
    // Meaningful on the last packet of a SEND and of a WRITE with immediate only.
    if (!(info.is_last && (is_send(info.kind) || info.kind == MsgKind::kWriteImm))) {
      out.add(Rule::kSolicited, 1, 0);
    }
  }
  if (v.ack_req && !info.is_request) out.add(Rule::kAckReqOnResponse, 1, 0);
  if (info.kind == MsgKind::kCnp) {
    const auto zeros = v.bytes.subspan(v.ext_offset, 16);
    const bool clear = std::all_of(zeros.begin(), zeros.end(), [](uint8_t b) { return b == 0; });
    const bool good = clear && v.becn && !v.fecn && !v.mig_req && v.psn == 0 && v.pad == 0;
    if (!good) out.add(Rule::kCnpFields, v.psn, 0);
  }
  if (info.ext & kExtAeth) {
    const AethKind kind = aeth_kind(v.syndrome);
    const bool bad = (v.syndrome & 0x80) != 0 || kind == AethKind::kReserved ||
                     (kind == AethKind::kNak && aeth_code(v.syndrome) > kNakRemoteOperational);
    // READ and ATOMIC responses acknowledge, they cannot refuse.
    if (bad || (info.kind != MsgKind::kAck && kind != AethKind::kAck)) {
      out.add(Rule::kSyndrome, v.syndrome, kSyndromeAckNoCredit);
    }
  }
  if ((info.ext & kExtAtomic) && (v.va & 7) != 0) out.add(Rule::kAtomicAlign, v.va, v.va & ~7ull);
}

constexpr uint8_t kMostRanks = 16;

// One packet is one message, and says its length. It need not ask for its ACK: one behind it does.
void check_arp(const FrameView& v, const CheckOptions& o, ViolationList& out) {
  const std::optional<ArpPacket> p = read_arp(v);
  if (!p) return out.add(Rule::kPayloadLength, 0, kArpHeaderBytes);
  if (v.tver != 0) out.add(Rule::kTver, v.tver, 0);
  if (v.resv6 != 0 || v.resv7 != 0) out.add(Rule::kReservedBits, v.resv6 | v.resv7, 0);
  if (v.pad != 0) out.add(Rule::kPadCount, v.pad, 0);
  if (v.solicited) out.add(Rule::kSolicited, 1, 0);
  if (p->reserved != 0) out.add(Rule::kArp, p->reserved, 0);
  if (p->contributor >= kMostRanks) out.add(Rule::kArp, p->contributor, kMostRanks - 1);
  if (p->length != p->payload_len) out.add(Rule::kDmaLength, p->length, p->payload_len);
  const uint32_t most = o.pmtu != 0 ? o.pmtu : 4096;
  if (p->payload_len == 0 || p->payload_len > most)
    out.add(Rule::kPayloadLength, p->payload_len, most);
}

}  // namespace

const char* to_string(Rule r) {
  switch (r) {
    case Rule::kFrameTooShort:
      return "frame shorter than the minimum";
    case Rule::kFrameTruncated:
      return "frame truncated";
    case Rule::kTrailingBytes:
      return "bytes behind the packet";
    case Rule::kEthPadNotZero:
      return "Ethernet padding not zero";
    case Rule::kVlanUnexpected:
      return "VLAN tag";
    case Rule::kVlanTpid:
      return "VLAN tag type";
    case Rule::kIpHeader:
      return "IP header";
    case Rule::kIpChecksum:
      return "IPv4 header checksum";
    case Rule::kIpTtlZero:
      return "TTL";
    case Rule::kIpLength:
      return "IP length";
    case Rule::kUdpLength:
      return "UDP length";
    case Rule::kUdpChecksumBad:
      return "UDP checksum";
    case Rule::kTver:
      return "BTH version";
    case Rule::kReservedBits:
      return "BTH reserved bits";
    case Rule::kOpcode:
      return "opcode";
    case Rule::kPadCount:
      return "pad count";
    case Rule::kPadNotZero:
      return "pad bytes not zero";
    case Rule::kPayloadLength:
      return "payload length for this opcode";
    case Rule::kDmaLength:
      return "RETH DMA length";
    case Rule::kAtomicAlign:
      return "atomic address alignment";
    case Rule::kSyndrome:
      return "AETH syndrome";
    case Rule::kCnpFields:
      return "CNP fields";
    case Rule::kSolicited:
      return "solicited event";
    case Rule::kAckReqOnResponse:
      return "AckReq on a response";
    case Rule::kIcrc:
      return "iCRC";
    case Rule::kInt:
      return "telemetry (INT) fields";
    case Rule::kArp:
      return "AllReduce fields";
    case Rule::kFcs:
      return "FCS";
  }
  return "?";
}

bool ViolationList::has(Rule rule) const {
  return std::any_of(begin(), end(), [&](const Violation& v) { return v.rule == rule; });
}

ViolationList check_frame(std::span<const uint8_t> frame, const CheckOptions& o) {
  ViolationList out;
  if (o.has_fcs) {
    if (frame.size() < kFcsBytes) {
      out.add(Rule::kFrameTruncated, frame.size(), kMinFrame + kFcsBytes);
      return out;
    }
    const auto body = frame.first(frame.size() - kFcsBytes);
    const uint32_t got = load_le32(&frame[body.size()]);
    const uint32_t want = crc32(body);
    if (got != want) out.add(Rule::kFcs, got, want);
    frame = body;
  }
  if (o.padded_to_min && frame.size() < kMinFrame) {
    out.add(Rule::kFrameTooShort, frame.size(), kMinFrame);
  }
  FrameView v;
  const ParseStatus status = parse_frame(frame, v);
  out.status = status;
  if (v.vlan_count > 0 && !o.allow_vlan) out.add(Rule::kVlanUnexpected, v.vlan_tci[0], 0);
  if (o.vlan_tci >= 0 && (v.vlan_count != 1 || v.vlan_tci[0] != o.vlan_tci)) {
    out.add(Rule::kVlanUnexpected, v.vlan_count ? v.vlan_tci[0] : 0xFFFFF,
            static_cast<uint64_t>(o.vlan_tci));
  }
  if (v.vlan_count == 2 && load_be16(&frame[16]) == kEtherQinQ) {
    out.add(Rule::kVlanTpid, kEtherQinQ, kEtherVlan);
  }
  if (v.l3_offset != 0 && !v.ipv6) {
    // Options, which IGMP has, are part of it; before UDP they make the header unreadable anyway.
    const bool whole = status == ParseStatus::kNotRoce;
    const size_t words = whole ? std::max<size_t>(5, frame[v.l3_offset] & 0x0F) : 5;
    const size_t header = std::min(4 * words, frame.size() - v.l3_offset);
    const uint16_t want = ipv4_checksum(frame.subspan(v.l3_offset, header));
    if (v.ip_checksum != want) out.add(Rule::kIpChecksum, v.ip_checksum, want);
  }
  switch (status) {
    case ParseStatus::kNotRoce:
      return out;
    case ParseStatus::kTruncated:
      out.add(Rule::kFrameTruncated, frame.size(),
              v.l3_offset ? v.l3_offset + uint64_t{v.ip_length} : kMinFrame);
      return out;
    case ParseStatus::kBadIpHeader:
      out.add(Rule::kIpHeader, frame[v.l3_offset], v.ipv6 ? 0x60 : 0x45);
      return out;
    case ParseStatus::kBadLength: {
      out.is_roce = true;
      const uint64_t ip_rest = v.ip_length - uint64_t{v.ipv6 ? 40u : 20u};
      if (v.udp_length != ip_rest) {
        out.add(Rule::kUdpLength, v.udp_length, ip_rest);
      } else {
        out.add(Rule::kIpLength, v.ip_length,
                uint64_t{v.ipv6 ? 40u : 20u} + 8 + 12 + v.info().ext_bytes + v.pad + kIcrcBytes);
      }
      return out;
    }
    case ParseStatus::kUnknownOpcode:
    case ParseStatus::kOk:
      break;
  }
  out.is_roce = true;
  if (v.ttl == 0) out.add(Rule::kIpTtlZero, 0, 64);
  if (v.udp_checksum != 0) {
    const uint16_t want = udp_checksum(v);
    if (v.udp_checksum != want) out.add(Rule::kUdpChecksumBad, v.udp_checksum, want);
  }
  const size_t end = size_t{v.icrc_offset} + kIcrcBytes;
  if (!o.allow_trailer && frame.size() > std::max(end, kMinFrame)) {
    out.add(Rule::kTrailingBytes, frame.size(), std::max(end, kMinFrame));
  }
  IntTrailer telemetry;
  if (o.allow_trailer && find_int(frame) != 0 && !read_int(frame.subspan(end), telemetry)) {
    out.add(Rule::kInt, load_le32(&frame[end + 2]), 0);
  }
  if (o.require_eth_pad_zero && frame.size() > end && frame.size() <= kMinFrame) {
    const auto rest = frame.subspan(end);
    if (std::any_of(rest.begin(), rest.end(), [](uint8_t b) { return b != 0; })) {
      out.add(Rule::kEthPadNotZero, 1, 0);
    }
  }
  const uint32_t want = expected_icrc(v);
  if (v.icrc != want) out.add(Rule::kIcrc, v.icrc, want);
  if (status == ParseStatus::kUnknownOpcode) {
    if (o.allow_arp && v.opcode == kOpcodeArp)
      check_arp(v, o, out);
    else
      out.add(Rule::kOpcode, v.opcode, 0);
    return out;
  }
  check_bth(v, out);
  check_lengths(v, o, out);
  for (uint32_t i = 0; i < v.pad; ++i) {
    const uint8_t b = frame[v.payload_offset + v.payload_len + i];
    if (b != 0) {
      out.add(Rule::kPadNotZero, b, 0);
      break;
    }
  }
  return out;
}

std::string describe(const ViolationList& list) {
  std::string s;
  for (const Violation& v : list) {
    char b[128];
    std::snprintf(b, sizeof b, "%s%s: got 0x%llx, expected 0x%llx", s.empty() ? "" : "; ",
                  to_string(v.rule), static_cast<unsigned long long>(v.got),
                  static_cast<unsigned long long>(v.expected));
    s += b;
  }
  return s;
}

}  // namespace rnic::roce
