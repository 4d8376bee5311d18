// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/frame.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"

namespace rnic::roce {
namespace {

constexpr size_t kEth = 14;
constexpr size_t kVlan = 4;
constexpr size_t kIpv4 = 20;
constexpr size_t kIpv6 = 40;
constexpr size_t kUdp = 8;
constexpr size_t kBth = 12;
constexpr uint8_t kProtoUdp = 17;

IpAddr mapped(const uint8_t* v4) { return ipv4_address(v4[0], v4[1], v4[2], v4[3]); }

// Offset of the network header, and the EtherType in front of it; 0 when the frame is too short.
size_t find_l3(std::span<const uint8_t> f, uint16_t& ethertype, uint8_t& tags,
               std::array<uint16_t, 2>& tci) {
  if (f.size() < kEth) return 0;
  size_t at = 12;
  ethertype = load_be16(&f[at]);
  tags = 0;
  while ((ethertype == kEtherVlan || ethertype == kEtherQinQ) && tags < 2) {
    if (f.size() < at + kVlan + 2) return 0;
    tci[tags++] = load_be16(&f[at + 2]);
    at += kVlan;
    ethertype = load_be16(&f[at]);
  }
  return at + 2;
}

}  // namespace

IpAddr ipv4_address(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return IpAddr{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d};
}

bool is_ipv4(const IpAddr& ip) {
  static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::memcmp(ip.data(), kPrefix, sizeof kPrefix) == 0;
}

std::string to_string(const MacAddr& m) {
  char b[18];
  std::snprintf(b, sizeof b, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
  return b;
}

std::string to_string(const IpAddr& ip) {
  char b[48];
  if (is_ipv4(ip)) {
    std::snprintf(b, sizeof b, "%u.%u.%u.%u", ip[12], ip[13], ip[14], ip[15]);
  } else {
    int n = 0;
    for (size_t i = 0; i < 16; i += 2) {
      n += std::snprintf(b + n, sizeof b - static_cast<size_t>(n), "%s%x", i ? ":" : "",
                         static_cast<unsigned>(load_be16(&ip[i])));
    }
  }
  return b;
}

const char* to_string(ParseStatus s) {
  switch (s) {
    case ParseStatus::kOk:
      return "ok";
    case ParseStatus::kNotRoce:
      return "not RoCEv2";
    case ParseStatus::kTruncated:
      return "truncated";
    case ParseStatus::kBadIpHeader:
      return "bad IP header";
    case ParseStatus::kBadLength:
      return "bad length";
    case ParseStatus::kUnknownOpcode:
      return "unknown opcode";
  }
  return "?";
}

bool pkeys_match(uint16_t a, uint16_t b) {
  constexpr uint16_t kFullMember = 0x8000;
  return ((a ^ b) & 0x7FFF) == 0 && ((a | b) & kFullMember) != 0;
}

uint16_t ipv4_checksum(std::span<const uint8_t> header) {
  uint32_t sum = 0;
  for (size_t i = 0; i + 1 < header.size(); i += 2) {
    if (i != 10) sum += load_be16(&header[i]);
  }
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

ParseStatus parse_frame(std::span<const uint8_t> f, FrameView& v) {
  v = FrameView{};
  v.bytes = f;
  const size_t l3 = find_l3(f, v.ethertype, v.vlan_count, v.vlan_tci);
  if (f.size() >= kEth) {
    std::copy_n(f.begin(), 6, v.eth_dst.begin());
    std::copy_n(f.begin() + 6, 6, v.eth_src.begin());
  }
  if (l3 == 0) return ParseStatus::kTruncated;
  size_t udp = 0;
  if (v.ethertype == kEtherIpv4) {
    if (f.size() < l3 + kIpv4) return ParseStatus::kTruncated;
    const uint8_t* ip = &f[l3];
    v.l3_offset = static_cast<uint16_t>(l3);
    v.tos = ip[1];
    v.ip_length = load_be16(ip + 2);
    v.ip_id = load_be16(ip + 4);
    v.ip_dont_fragment = (ip[6] & 0x40) != 0;
    v.ttl = ip[8];
    v.protocol = ip[9];
    v.ip_checksum = load_be16(ip + 10);
    v.ip_src = mapped(ip + 12);
    v.ip_dst = mapped(ip + 16);
    if (v.protocol != kProtoUdp) return ParseStatus::kNotRoce;
    // An unreadable header that would carry UDP is reported, so that a checker can tell it from
    // ARP.
    if (ip[0] != 0x45 || (load_be16(ip + 6) & 0x3FFF) != 0) return ParseStatus::kBadIpHeader;
    udp = l3 + kIpv4;
  } else if (v.ethertype == kEtherIpv6) {
    if (f.size() < l3 + kIpv6) return ParseStatus::kTruncated;
    const uint8_t* ip = &f[l3];
    v.l3_offset = static_cast<uint16_t>(l3);
    v.ipv6 = true;
    v.tos = static_cast<uint8_t>(((ip[0] & 0x0F) << 4) | (ip[1] >> 4));
    v.flow_label = load_be24(ip + 1) & 0xFFFFF;
    v.ip_length = static_cast<uint16_t>(load_be16(ip + 4) + kIpv6);
    v.protocol = ip[6];
    v.ttl = ip[7];
    std::copy_n(ip + 8, 16, v.ip_src.begin());
    std::copy_n(ip + 24, 16, v.ip_dst.begin());
    if (v.protocol != kProtoUdp) return ParseStatus::kNotRoce;
    if ((ip[0] >> 4) != 6) return ParseStatus::kBadIpHeader;
    udp = l3 + kIpv6;
  } else {
    return ParseStatus::kNotRoce;
  }
  if (f.size() < udp + kUdp) return ParseStatus::kTruncated;
  v.udp_offset = static_cast<uint16_t>(udp);
  v.udp_src = load_be16(&f[udp]);
  v.udp_dst = load_be16(&f[udp + 2]);
  v.udp_length = load_be16(&f[udp + 4]);
  v.udp_checksum = load_be16(&f[udp + 6]);
  if (v.udp_dst != kUdpPort) return ParseStatus::kNotRoce;

  const size_t end = l3 + v.ip_length;
  if (end > f.size()) return ParseStatus::kTruncated;
  if (udp + v.udp_length != end || v.udp_length < kUdp + kBth + kIcrcBytes) {
    return ParseStatus::kBadLength;
  }
  const size_t bth = udp + kUdp;
  const uint8_t* b = &f[bth];
  v.bth_offset = static_cast<uint16_t>(bth);
  v.icrc_offset = static_cast<uint16_t>(end - kIcrcBytes);
  v.icrc = load_le32(&f[v.icrc_offset]);
  v.opcode = b[0];
  v.solicited = (b[1] & 0x80) != 0;
  v.mig_req = (b[1] & 0x40) != 0;
  v.pad = (b[1] >> 4) & 3;
  v.tver = b[1] & 0x0F;
  v.pkey = load_be16(b + 2);
  v.fecn = (b[4] & 0x80) != 0;
  v.becn = (b[4] & 0x40) != 0;
  v.resv6 = b[4] & 0x3F;
  v.dest_qp = load_be24(b + 5);
  v.ack_req = (b[8] & 0x80) != 0;
  v.resv7 = b[8] & 0x7F;
  v.psn = load_be24(b + 9);
  size_t at = bth + kBth;
  v.ext_offset = static_cast<uint16_t>(at);
  v.payload_offset = v.ext_offset;
  const OpcodeInfo& info = opcode_info(v.opcode);
  if (!info.known) return ParseStatus::kUnknownOpcode;
  if (at + info.ext_bytes + v.pad > v.icrc_offset) return ParseStatus::kBadLength;
  if (info.ext & kExtDeth) {
    v.qkey = load_be32(&f[at]);
    v.src_qp = load_be24(&f[at + 5]);
    at += 8;
  }
  if (info.ext & kExtReth) {
    v.va = load_be64(&f[at]);
    v.rkey = load_be32(&f[at + 8]);
    v.dma_len = load_be32(&f[at + 12]);
    at += 16;
  }
  if (info.ext & kExtAeth) {
    v.syndrome = f[at];
    v.msn = load_be24(&f[at + 1]);
    at += 4;
  }
  if (info.ext & kExtAtomic) {
    v.va = load_be64(&f[at]);
    v.rkey = load_be32(&f[at + 8]);
    v.swap_add = load_be64(&f[at + 12]);
    v.compare = load_be64(&f[at + 20]);
    at += 28;
  }
  if (info.ext & kExtAtomicAck) {
    v.atomic_orig = load_be64(&f[at]);
    at += 8;
  }
  if (info.ext & kExtImm) {
    v.imm = load_be32(&f[at]);
    at += 4;
  }
  if (info.ext & kExtIeth) {
    v.inv_rkey = load_be32(&f[at]);
    at += 4;
  }
  if (info.ext & kExtCnp) at += 16;
  v.payload_offset = static_cast<uint16_t>(at);
  v.payload_len = static_cast<uint32_t>(v.icrc_offset - v.pad - at);
  return ParseStatus::kOk;
}

uint32_t expected_icrc(const FrameView& v) {
  return icrc_of(v.bytes.subspan(v.l3_offset, v.icrc_offset - v.l3_offset));
}

std::string describe(const FrameView& v) {
  char b[256];
  const OpcodeInfo& info = v.info();
  int n = std::snprintf(b, sizeof b, "%s qp=0x%x psn=0x%06x len=%u", opcode_short_name(v.opcode),
                        v.dest_qp, v.psn, v.payload_len);
  const auto add = [&](const char* format, auto... args) {
    if (n >= 0 && static_cast<size_t>(n) < sizeof b) {
      n += std::snprintf(b + n, sizeof b - static_cast<size_t>(n), format, args...);
    }
  };
  if (v.pad) add(" pad=%u", v.pad);
  if (v.ack_req) add("%s", " ack_req");
  if (v.solicited) add("%s", " se");
  if (info.ext & (kExtReth | kExtAtomic)) {
    add(" va=0x%llx rkey=0x%08x", static_cast<unsigned long long>(v.va), v.rkey);
  }
  if (info.ext & kExtReth) add(" dmalen=%u", v.dma_len);
  if (info.ext & kExtAeth) add(" syndrome=0x%02x msn=%u", v.syndrome, v.msn);
  if (info.ext & kExtImm) add(" imm=0x%08x", v.imm);
  if (info.ext & kExtIeth) add(" inv_rkey=0x%08x", v.inv_rkey);
  return b;
}

size_t frame_size(const FrameSpec& s, size_t payload, const BuildOptions& o) {
  const size_t l3 = kEth + kVlan * s.vlan_count;
  const size_t ip = is_ipv4(s.ip_src) && is_ipv4(s.ip_dst) ? kIpv4 : kIpv6;
  size_t n = l3 + ip + kUdp + kBth + opcode_info(s.opcode).ext_bytes + payload +
             pad_of(static_cast<uint32_t>(payload)) + kIcrcBytes;
  if (o.pad_to_min) n = std::max(n, kMinFrame);
  return n + (o.append_fcs ? kFcsBytes : 0);
}

size_t build_frame(const FrameSpec& s, std::span<const uint8_t> payload, std::span<uint8_t> out,
                   const BuildOptions& o) {
  const size_t total = frame_size(s, payload.size(), o);
  if (out.size() < total) return 0;
  const size_t body = total - (o.append_fcs ? kFcsBytes : 0);
  const bool v4 = is_ipv4(s.ip_src) && is_ipv4(s.ip_dst);
  const OpcodeInfo& info = opcode_info(s.opcode);
  const uint8_t pad = pad_of(static_cast<uint32_t>(payload.size()));
  const size_t udp_len = kUdp + kBth + info.ext_bytes + payload.size() + pad + kIcrcBytes;

  uint8_t* p = out.data();
  std::copy(s.eth_dst.begin(), s.eth_dst.end(), p);
  std::copy(s.eth_src.begin(), s.eth_src.end(), p + 6);
  size_t at = 12;
  for (uint8_t t = 0; t < s.vlan_count; ++t) {
    store_be16(p + at, s.vlan_count == 2 && t == 0 ? kEtherQinQ : kEtherVlan);
    store_be16(p + at + 2, s.vlan_tci[t]);
    at += kVlan;
  }
  store_be16(p + at, v4 ? kEtherIpv4 : kEtherIpv6);
  at += 2;
  const size_t l3 = at;
  uint8_t* ip = p + l3;
  if (v4) {
    ip[0] = 0x45;
    ip[1] = s.tos;
    store_be16(ip + 2, static_cast<uint16_t>(kIpv4 + udp_len));
    store_be16(ip + 4, s.ip_id);
    store_be16(ip + 6, s.dont_fragment ? 0x4000 : 0);
    ip[8] = s.ttl;
    ip[9] = kProtoUdp;
    std::copy_n(s.ip_src.begin() + 12, 4, ip + 12);
    std::copy_n(s.ip_dst.begin() + 12, 4, ip + 16);
    store_be16(ip + 10, ipv4_checksum({ip, kIpv4}));
    at += kIpv4;
  } else {
    store_be32(ip, (6u << 28) | (uint32_t{s.tos} << 20) | (s.flow_label & 0xFFFFF));
    store_be16(ip + 4, static_cast<uint16_t>(udp_len));
    ip[6] = kProtoUdp;
    ip[7] = s.ttl;
    std::copy(s.ip_src.begin(), s.ip_src.end(), ip + 8);
    std::copy(s.ip_dst.begin(), s.ip_dst.end(), ip + 24);
    at += kIpv6;
  }
  store_be16(p + at, s.udp_src);
  store_be16(p + at + 2, kUdpPort);
  store_be16(p + at + 4, static_cast<uint16_t>(udp_len));
  store_be16(p + at + 6, 0);
  at += kUdp;
  uint8_t* b = p + at;
  b[0] = s.opcode;
  b[1] = static_cast<uint8_t>((s.solicited ? 0x80 : 0) | (s.mig_req ? 0x40 : 0) | (pad << 4));
  store_be16(b + 2, s.pkey);
  b[4] = static_cast<uint8_t>((s.fecn ? 0x80 : 0) | (s.becn ? 0x40 : 0));
  store_be24(b + 5, s.dest_qp);
  b[8] = s.ack_req ? 0x80 : 0;
  store_be24(b + 9, s.psn);
  at += kBth;
  if (info.ext & kExtDeth) {
    store_be32(p + at, s.qkey);
    p[at + 4] = 0;
    store_be24(p + at + 5, s.src_qp);
    at += 8;
  }
  if (info.ext & kExtReth) {
    store_be64(p + at, s.va);
    store_be32(p + at + 8, s.rkey);
    store_be32(p + at + 12, s.dma_len);
    at += 16;
  }
  if (info.ext & kExtAeth) {
    p[at] = s.syndrome;
    store_be24(p + at + 1, s.msn);
    at += 4;
  }
  if (info.ext & kExtAtomic) {
    store_be64(p + at, s.va);
    store_be32(p + at + 8, s.rkey);
    store_be64(p + at + 12, s.swap_add);
    store_be64(p + at + 20, s.compare);
    at += 28;
  }
  if (info.ext & kExtAtomicAck) {
    store_be64(p + at, s.atomic_orig);
    at += 8;
  }
  if (info.ext & kExtImm) {
    store_be32(p + at, s.imm);
    at += 4;
  }
  if (info.ext & kExtIeth) {
    store_be32(p + at, s.inv_rkey);
    at += 4;
  }
  if (info.ext & kExtCnp) {
    std::memset(p + at, 0, 16);
    at += 16;
  }
  if (!payload.empty()) std::memcpy(p + at, payload.data(), payload.size());
  at += payload.size();
  std::memset(p + at, 0, pad);
  at += pad;
  store_le32(p + at, icrc_of({ip, at - l3}));
  at += kIcrcBytes;
  if (at < body) std::memset(p + at, 0, body - at);
  if (o.append_fcs) store_le32(p + body, crc32({p, body}));
  return total;
}

void fix_ipv4_checksum(std::span<uint8_t> f) {
  uint16_t type = 0;
  uint8_t tags = 0;
  std::array<uint16_t, 2> tci{};
  const size_t l3 = find_l3(f, type, tags, tci);
  if (l3 == 0 || type != kEtherIpv4 || f.size() < l3 + kIpv4) return;
  store_be16(&f[l3 + 10], ipv4_checksum({&f[l3], kIpv4}));
}

void fix_icrc(std::span<uint8_t> f) {
  uint16_t type = 0;
  uint8_t tags = 0;
  std::array<uint16_t, 2> tci{};
  const size_t l3 = find_l3(f, type, tags, tci);
  if (l3 == 0) return;
  size_t len = 0;
  if (type == kEtherIpv4 && f.size() >= l3 + kIpv4) len = load_be16(&f[l3 + 2]);
  if (type == kEtherIpv6 && f.size() >= l3 + kIpv6) len = load_be16(&f[l3 + 4]) + kIpv6;
  if (len < kIcrcBytes || l3 + len > f.size()) return;
  store_le32(&f[l3 + len - kIcrcBytes], icrc_of(f.subspan(l3, len - kIcrcBytes)));
}

bool mark_congestion(std::span<uint8_t> f) {
  uint16_t type = 0;
  uint8_t tags = 0;
  std::array<uint16_t, 2> tci{};
  const size_t l3 = find_l3(f, type, tags, tci);
  if (l3 == 0) return false;
  if (type == kEtherIpv4 && f.size() >= l3 + kIpv4) {
    if ((f[l3 + 1] & 3) == 0) return false;
    f[l3 + 1] |= 3;
    store_be16(&f[l3 + 10], ipv4_checksum({&f[l3], kIpv4}));
    return true;
  }
  if (type == kEtherIpv6 && f.size() >= l3 + kIpv6) {
    if ((f[l3 + 1] & 0x30) == 0) return false;
    f[l3 + 1] |= 0x30;
    return true;
  }
  return false;
}

uint16_t udp_source_port(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn) {
  uint32_t f = flow_label & 0xFFFFF;
  if (f == 0) {
    uint64_t v = uint64_t{local_qpn} * remote_qpn;
    v ^= v >> 20;
    v ^= v >> 40;
    f = static_cast<uint32_t>(v & 0xFFFFF);
  }
  return static_cast<uint16_t>(((f & 0x3FFF) ^ (f >> 14)) | 0xC000);
}

}  // namespace rnic::roce
