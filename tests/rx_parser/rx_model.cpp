// SPDX-License-Identifier: Apache-2.0
#include "tests/rx_parser/rx_model.hpp"

#include <stdexcept>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "harness/roce/int_trailer.hpp"
#include "harness/roce/opcode.hpp"

namespace rnic::rx {

using roce::load_be16;
using roce::load_be24;
using roce::load_be32;
using roce::load_be64;

const test::BitLayout kMeta({
    {"opcode", 8},       {"se", 1},       {"mig_req", 1},     {"pad", 2},     {"pkey", 16},
    {"fecn", 1},         {"becn", 1},     {"dest_qpn", 24},   {"ack_req", 1}, {"psn", 24},
    {"va", 64},          {"rkey", 32},    {"dmalen", 32},     {"imm", 32},    {"syndrome", 8},
    {"msn", 24},         {"op0", 64},     {"op1", 64},        {"qkey", 32},   {"src_qpn", 24},
    {"payload_len", 13}, {"ipv6", 1},     {"ecn", 2},         {"dscp", 6},    {"ttl", 8},
    {"sport", 16},       {"sip", 128},    {"dip", 128},       {"hdr_len", 7}, {"ip_id", 16},
    {"ip_frag", 16},     {"ip_csum", 16}, {"flow_label", 20}, {"has_int", 1}, {"int_echo", 1},
    {"hop", 320},        {"path", 12},    {"hops", 4},        {"unit", 4},
});

namespace {

struct Layers {
  bool ip = false;
  bool ipv6 = false;
  size_t l3 = 0;   // IP header
  size_t udp = 0;  // UDP header
};

Layers find_layers(std::span<const uint8_t> f) {
  Layers l;
  size_t type_at = 12;
  if (f.size() >= 18 && load_be16(&f[12]) == 0x8100) type_at = 16;
  if (f.size() < type_at + 2) return l;
  const uint16_t type = load_be16(&f[type_at]);
  l.l3 = type_at + 2;
  l.ip = type == 0x0800 || type == 0x86DD;
  l.ipv6 = type == 0x86DD;
  l.udp = l.l3 + (l.ipv6 ? 40 : 20);
  return l;
}

bool is_roce(std::span<const uint8_t> f, const Layers& l) {
  if (!l.ip || f.size() < l.udp + 8) return false;
  const uint8_t* ip = &f[l.l3];
  if (l.ipv6) {
    if ((ip[0] >> 4) != 6 || ip[6] != 17) return false;
  } else {
    if (ip[0] != 0x45 || ip[9] != 17) return false;
    if ((load_be16(ip + 6) & 0x3FFF) != 0) return false;  // more fragments, or an offset
    uint32_t sum = 0;
    for (size_t i = 0; i < 20; i += 2) sum += load_be16(ip + i);
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    if (sum != 0xFFFF) return false;
  }
  return load_be16(&f[l.udp + 2]) == 4791;
}

void set_wide(test::Bits& meta, std::string_view field, std::span<const uint8_t> wire) {
  test::Bits value(128);
  for (size_t i = 0; i < wire.size(); ++i) value.set_byte(wire.size() - 1 - i, wire[i]);
  kMeta.set_bits(meta, field, value);
}

}  // namespace

Judgement judge(std::span<const uint8_t> f, bool mac_error, const Station& station) {
  Judgement j;
  if (mac_error) return {Kind::kDrop, "crc_errors", {}, {}};
  if (f.size() < 14) return {Kind::kDrop, "runts", {}, {}};
  if (f.size() > 65535) return {Kind::kDrop, "header_errors", {}, {}};
  const Layers l = find_layers(f);
  if (!is_roce(f, l)) {
    const bool ours = station.promiscuous || (f[0] & 1) != 0 ||
                      std::equal(station.mac.begin(), station.mac.end(), f.begin());
    if (!ours) return {Kind::kDrop, "raw_filtered", {}, {}};
    return {Kind::kRaw, "", {}, {}};
  }
  const uint8_t* ip = &f[l.l3];
  const uint8_t* udp = &f[l.udp];
  const size_t udp_len = load_be16(udp + 4);
  const int ip_payload = l.ipv6 ? load_be16(ip + 4) : load_be16(ip + 2) - 20;
  if (ip_payload != static_cast<int>(udp_len)) return {Kind::kDrop, "header_errors", {}, {}};
  if (udp_len < 8 + 12 + 4) return {Kind::kDrop, "header_errors", {}, {}};
  const size_t end = l.udp + udp_len;
  if (end > f.size()) return {Kind::kDrop, "runts", {}, {}};
  const uint32_t icrc = roce::icrc_of(f.subspan(l.l3, end - 4 - l.l3));
  if (roce::load_le32(&f[end - 4]) != icrc) return {Kind::kDrop, "icrc_errors", {}, {}};

  const uint8_t* bth = udp + 8;
  const roce::OpcodeInfo& info = roce::opcode_info(bth[0]);
  const size_t ext_bytes = info.known ? info.ext_bytes : 0;
  const uint16_t ext = info.known ? info.ext : 0;
  const unsigned pad = (bth[1] >> 4) & 3;
  const int body = static_cast<int>(udp_len) - 8 - 12 - 4 - static_cast<int>(ext_bytes);
  const int payload = body - static_cast<int>(pad);
  if (payload < 0 || payload > 4096 || body % 4 != 0) return {Kind::kDrop, "header_errors", {}, {}};
  if ((bth[1] & 15) != 0) return {Kind::kDrop, "header_errors", {}, {}};

  j.kind = Kind::kRoce;
  j.counter = "roce_packets";
  test::Bits m(kMeta.width());
  auto set = [&](std::string_view field, uint64_t value) { kMeta.set(m, field, value); };
  set("opcode", bth[0]);
  set("se", bth[1] >> 7);
  set("mig_req", (bth[1] >> 6) & 1);
  set("pad", pad);
  set("pkey", load_be16(bth + 2));
  set("fecn", bth[4] >> 7);
  set("becn", (bth[4] >> 6) & 1);
  set("dest_qpn", load_be24(bth + 5));
  set("ack_req", bth[8] >> 7);
  set("psn", load_be24(bth + 9));
  const uint8_t* e = bth + 12;
  if (ext & roce::kExtDeth) {
    set("qkey", load_be32(e));
    set("src_qpn", load_be24(e + 5));
    e += 8;
  }
  if (ext & roce::kExtReth) {
    set("va", load_be64(e));
    set("rkey", load_be32(e + 8));
    set("dmalen", load_be32(e + 12));
    e += 16;
  }
  if (ext & roce::kExtAeth) {
    set("syndrome", e[0]);
    set("msn", load_be24(e + 1));
    e += 4;
  }
  if (ext & roce::kExtAtomic) {
    set("va", load_be64(e));
    set("rkey", load_be32(e + 8));
    set("op0", load_be64(e + 12));
    set("op1", load_be64(e + 20));
    e += 28;
  }
  if (ext & roce::kExtAtomicAck) {
    set("op0", load_be64(e));
    e += 8;
  }
  if (ext & (roce::kExtImm | roce::kExtIeth)) set("imm", load_be32(e));
  set("payload_len", static_cast<uint64_t>(payload));
  set("ipv6", l.ipv6);
  const unsigned tos = l.ipv6 ? ((ip[0] & 15) << 4) | (ip[1] >> 4) : ip[1];
  set("ecn", tos & 3);
  set("dscp", tos >> 2);
  set("ttl", l.ipv6 ? ip[7] : ip[8]);
  if (l.ipv6) {
    set("flow_label", load_be32(ip) & 0xFFFFF);
  } else {
    set("ip_id", load_be16(ip + 4));
    set("ip_frag", load_be16(ip + 6));
    set("ip_csum", load_be16(ip + 10));
  }
  set("sport", load_be16(udp));
  set_wide(m, "sip", {ip + (l.ipv6 ? 8 : 12), l.ipv6 ? 16u : 4u});
  set_wide(m, "dip", {ip + (l.ipv6 ? 24 : 16), l.ipv6 ? 16u : 4u});
  const size_t at = l.udp + 8 + 12 + ext_bytes;
  set("hdr_len", at);
  // The INT trailer: harness/roce/README.md.
  if (station.telemetry && f.size() == end + 48) {
    const uint8_t* t = &f[end];
    const bool known = t[0] == 0x49 && t[1] == 0x4E && (t[2] & 15) == 1 && (t[3] >> 1) == 0 &&
                       t[6] == 0 && t[7] == 0;
    if (known) {
      set("has_int", 1);
      set("int_echo", t[3] & 1);
      set("unit", t[2] >> 4);
      set("path", t[4] | (t[5] & 15) << 8);
      set("hops", t[5] >> 4);
      test::Bits hops(320);
      for (size_t i = 0; i < 40; ++i) hops.set_byte(i, t[8 + i]);
      kMeta.set_bits(m, "hop", hops);
    }
  }
  j.meta = m;
  j.payload.assign(f.begin() + static_cast<std::ptrdiff_t>(at),
                   f.begin() + static_cast<std::ptrdiff_t>(at) + payload);
  return j;
}

Bytes ip_packet_of(const Bytes& f) {
  const Layers l = find_layers(f);
  const size_t length =
      l.ipv6 ? 40u + load_be16(&f[l.l3 + 4]) : static_cast<size_t>(load_be16(&f[l.l3 + 2]));
  return {f.begin(), f.begin() + static_cast<std::ptrdiff_t>(l.l3 + length)};
}

std::optional<uint32_t> early_qpn(std::span<const uint8_t> f) {
  const Layers l = find_layers(f);
  if (!l.ip || f.size() < l.udp + 20) return {};
  const uint8_t proto = f[l.l3 + (l.ipv6 ? 6 : 9)];
  if (proto != 17 || load_be16(&f[l.udp + 2]) != 4791) return {};
  return load_be24(&f[l.udp + 8 + 5]);
}

Bytes from_hex(const std::string& hex) {
  Bytes out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

const std::vector<Bytes>& fact_vectors() {
  static const std::vector<Bytes> vectors = [] {
    const char* hex[] = {
        "020000000002020000000001080045020034000040004011b963c0a80001c0a80002c12312b7002000000440ff"
        "ff00000011"
        "80000010deadbeef0102030480d522a6",
        "020000000002020000000001080045020044000040004011b953c0a80001c0a80002c12312b7003000000a70ff"
        "ff00000011"
        "8000001100001234567890000000123400000005a1a2a3a4a50000009730d163",
        "020000000001020000000002080045020030000040004011b967c0a80002c0a80001c12312b7001c00001140ff"
        "ff00000012"
        "000000111f00000283fc8511",
        "020000000001020000000002080045020030000040004011b967c0a80002c0a80001c12312b7001c00001140ff"
        "ff00000012"
        "0000001360000003bf2f1e2f",
        "020000000001020000000002080045020030000040004011b967c0a80002c0a80001c12312b7001c00001140ff"
        "ff00000012"
        "000000132c0000033ac8dcfe",
        "02000000000202000000000108004502003c000040004011b95bc0a80001c0a80002c12312b7002800000c40ff"
        "ff00000011"
        "8000001200001234567890000000123400001388f3e0e68b",
        "020000000001020000000002080045020034000040004011b963c0a80002c0a80001c12312b7002000001060ff"
        "ff00000012"
        "000000121f00000355aa000012bcb9c1",
        "020000000002020000000001080045020048000040004011b94fc0a80001c0a80002c12312b7003400001440ff"
        "ff00000011"
        "80ffffff000012345678900800001234000000000000000100000000000000002152f60f",
        "020000000001020000000002080045020038000040004011b95fc0a80002c0a80001c12312b7002400001240ff"
        "ff00000012"
        "00ffffff1f0000041122334455667788e46cd721",
        "020000000002020000000001080045020040000040004011b957c0a80001c0a80002c12312b7002c00000bc0ff"
        "ff00000011"
        "8000001400000000000000000000000000000000cafe000101450f2c",
        "02000000000202000000000108004502002c000040004011b96bc0a80001c0a80002c12312b7001800000440ff"
        "ff00000011"
        "8000002084110a34",
        "020000000001020000000002080045c2003c000040004011b89bc0a80002c0a80001c12312b7002800008100ff"
        "ff40000012"
        "0000000000000000000000000000000000000000cd2bff1d",
        "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ff"
        "ff40000118"
        "000000000000000000000000000000000000000082fd002a",
        "02000000000202000000000186dd6020000000201140fe800000000000000000000000000001fe800000000000"
        "0000000000"
        "00000002c12312b7002000000440ffff0000001180000010deadbeef010203048f09f2c7",
    };
    std::vector<Bytes> out;
    for (const char* h : hex) out.push_back(from_hex(h));
    return out;
  }();
  return vectors;
}

Bytes with_vlan(const Bytes& frame, uint16_t tci) {
  Bytes out = frame;
  const uint8_t tag[] = {0x81, 0x00, static_cast<uint8_t>(tci >> 8), static_cast<uint8_t>(tci)};
  out.insert(out.begin() + 12, std::begin(tag), std::end(tag));
  return out;
}

Bytes padded(Bytes frame, size_t length, uint8_t fill) {
  if (frame.size() < length) frame.resize(length, fill);
  return frame;
}

Bytes FrameMaker::roce_frame(size_t payload, std::optional<uint8_t> opcode) {
  static const uint8_t with_payload[] = {
      0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0D, 0x0E, 0x0F,
      0x10, 0x16, 0x17, 0x20, 0x25, 0x2A, 0x2B, 0x64, 0x65, 0x15, 0x1C, 0x40, 0x36, 0x2C, 0xFF};
  static const uint8_t without[] = {0x0C, 0x11, 0x12, 0x13, 0x14, 0x81};
  roce::FrameSpec s;
  auto fill = [&](auto& array) {
    for (auto& b : array) b = static_cast<uint8_t>(rng_.bits(8));
  };
  fill(s.eth_dst);
  fill(s.eth_src);
  s.vlan_count = rng_.chance(0.3) ? 1 : 0;
  s.vlan_tci[0] = static_cast<uint16_t>(rng_.bits(16));
  if (rng_.chance(0.4)) {
    fill(s.ip_src);
    fill(s.ip_dst);
    s.ip_src[0] = 0xFE;
    s.ip_dst[0] = 0xFE;
  } else {
    auto octet = [&] { return static_cast<uint8_t>(rng_.bits(8)); };
    s.ip_src = roce::ipv4_address(octet(), octet(), octet(), octet());
    s.ip_dst = roce::ipv4_address(octet(), octet(), octet(), octet());
  }
  s.tos = static_cast<uint8_t>(rng_.bits(8));
  s.ttl = static_cast<uint8_t>(rng_.bits(8));
  s.ip_id = static_cast<uint16_t>(rng_.bits(16));
  s.dont_fragment = rng_.chance(0.8);
  s.flow_label = static_cast<uint32_t>(rng_.bits(20));
  s.udp_src = static_cast<uint16_t>(rng_.bits(16));
  if (opcode) {
    s.opcode = *opcode;
  } else if (payload == 0 && rng_.chance(0.7)) {
    s.opcode = without[rng_.below(std::size(without))];
  } else {
    s.opcode = with_payload[rng_.below(std::size(with_payload))];
  }
  s.solicited = rng_.chance(0.5);
  s.mig_req = rng_.chance(0.5);
  s.fecn = rng_.chance(0.5);
  s.becn = rng_.chance(0.5);
  s.ack_req = rng_.chance(0.5);
  s.pkey = static_cast<uint16_t>(rng_.bits(16));
  s.dest_qp = static_cast<uint32_t>(rng_.bits(24));
  s.psn = static_cast<uint32_t>(rng_.bits(24));
  s.va = rng_.u64();
  s.rkey = rng_.u32();
  s.dma_len = rng_.u32();
  s.syndrome = static_cast<uint8_t>(rng_.bits(8));
  s.msn = static_cast<uint32_t>(rng_.bits(24));
  s.imm = rng_.u32();
  s.inv_rkey = rng_.u32();
  s.swap_add = rng_.u64();
  s.compare = rng_.u64();
  s.atomic_orig = rng_.u64();
  s.qkey = rng_.u32();
  s.src_qp = static_cast<uint32_t>(rng_.bits(24));
  const Bytes data = rng_.bytes(payload);
  Bytes out(roce::frame_size(s, payload, {.pad_to_min = false}));
  if (roce::build_frame(s, data, out, {.pad_to_min = false}) != out.size()) {
    throw std::logic_error("FrameMaker: build_frame failed");
  }
  if (rng_.chance(0.2)) {  // telemetry, or nearly
    Bytes t = rng_.bytes(48);
    const uint8_t head[] = {0x49, 0x4E, static_cast<uint8_t>(1 | rng_.below(7) << 4),
                            static_cast<uint8_t>(rng_.below(2))};
    std::copy(std::begin(head), std::end(head), t.begin());
    t[6] = t[7] = 0;
    if (rng_.chance(0.2)) t[rng_.below(8)] ^= static_cast<uint8_t>(1 << rng_.below(8));
    if (rng_.chance(0.1)) t.push_back(0);
    if (rng_.chance(0.1)) t.pop_back();
    out.insert(out.end(), t.begin(), t.end());
    return out;
  }
  // Ethernet padding, or bytes behind the iCRC: whatever they are, they are not looked at.
  const size_t trailer = rng_.chance(0.5) ? 0 : rng_.chance(0.5) ? rng_.below(8) : rng_.below(150);
  const size_t length = std::max(out.size() + trailer, rng_.chance(0.5) ? roce::kMinFrame : 0);
  while (out.size() < length) out.push_back(static_cast<uint8_t>(rng_.bits(8)));
  return out;
}

Bytes FrameMaker::telemetry_frame(size_t payload, std::optional<uint8_t> opcode) {
  Bytes out = ip_packet_of(roce_frame(payload, opcode));
  roce::IntTrailer t;
  t.echo = rng_.chance(0.5);
  t.unit = static_cast<uint8_t>(rng_.below(6));
  t.hops = static_cast<uint8_t>(rng_.below(16));
  t.path = static_cast<uint16_t>(rng_.bits(12));
  for (roce::IntHop& h : t.hop)
    h = {static_cast<uint8_t>(rng_.below(8)), static_cast<uint32_t>(rng_.bits(24)),
         static_cast<uint32_t>(rng_.bits(20)), static_cast<uint32_t>(rng_.bits(17))};
  out.resize(out.size() + roce::kIntBytes);
  roce::write_int(std::span(out).last(roce::kIntBytes), t);
  return out;
}

Bytes FrameMaker::raw_frame() {
  Bytes f;
  switch (rng_.below(8)) {
    case 0: {  // ARP
      f = rng_.bytes(60);
      f[12] = 0x08;
      f[13] = 0x06;
      break;
    }
    case 1: {  // TCP
      f = padded(roce_frame(rng_.below(200), 0x04));
      const size_t l3 = find_layers(f).l3;
      f[l3 + (find_layers(f).ipv6 ? 6 : 9)] = 6;
      if (!find_layers(f).ipv6) roce::fix_ipv4_checksum(f);
      break;
    }
    case 2: {  // another UDP port
      f = padded(roce_frame(rng_.below(200), 0x04));
      f[find_layers(f).udp + 2 + rng_.below(2)] ^= static_cast<uint8_t>(rng_.between(1, 255));
      break;
    }
    case 3: {  // fragment, options, wrong version, wrong checksum
      do {
        f = padded(roce_frame(rng_.below(200), 0x0A));
      } while (find_layers(f).ipv6);
      const size_t l3 = find_layers(f).l3;
      switch (rng_.below(4)) {
        case 0:
          f[l3 + 6] |= 0x20;
          break;
        case 1:
          f[l3 + 7] |= static_cast<uint8_t>(rng_.between(1, 255));
          break;
        case 2:
          f[l3] = 0x46;
          break;
        default:
          f[l3] = 0x55;
          break;
      }
      roce::fix_ipv4_checksum(f);
      break;
    }
    case 4: {  // wrong IPv4 header checksum, or IPv6 version
      f = padded(roce_frame(rng_.below(200), 0x0A));
      const Layers l = find_layers(f);
      if (l.ipv6) {
        f[l.l3] ^= static_cast<uint8_t>(rng_.between(1, 15) << 4);
      } else {
        f[l.l3 + 10 + rng_.below(2)] ^= static_cast<uint8_t>(1 << rng_.below(8));
      }
      break;
    }
    case 5: {  // two tags
      do {
        f = padded(roce_frame(rng_.below(200), 0x0A));
      } while (load_be16(&f[12]) == 0x8100);
      f = with_vlan(with_vlan(f, 7), 8);
      break;
    }
    case 6: {  // ends in front of what would make it RoCEv2
      f = roce_frame(rng_.below(200), 0x0A);
      f.resize(rng_.between(14, find_layers(f).udp + 7));
      break;
    }
    default: {  // anything
      f = rng_.bytes(rng_.between(14, 1500));
      f[12] = 0x88;
      break;
    }
  }
  return f;
}

Bytes FrameMaker::broken_frame() {
  for (;;) {
    Bytes f = roce_frame(rng_.chance(0.5) ? rng_.below(40) : rng_.below(600));
    const Layers l = find_layers(f);
    const size_t udp_len = load_be16(&f[l.udp + 4]);
    auto set_lengths = [&](size_t ip_payload, size_t udp) {
      roce::store_be16(&f[l.udp + 4], static_cast<uint16_t>(udp));
      roce::store_be16(&f[l.l3 + (l.ipv6 ? 4 : 2)],
                       static_cast<uint16_t>(ip_payload + (l.ipv6 ? 0 : 20)));
      if (!l.ipv6) roce::fix_ipv4_checksum(f);
    };
    switch (rng_.below(8)) {
      case 0:  // one bit of what the iCRC covers, or of the iCRC
        f[l.udp + 13 + rng_.below(udp_len - 13)] ^= static_cast<uint8_t>(1 << rng_.below(8));
        break;
      case 1:  // cut
        f.resize(rng_.between(l.udp + 8, l.udp + udp_len - 1));
        break;
      case 2:  // very short
        f.resize(rng_.between(1, 13));
        break;
      case 3:  // UDP and IP lengths differ
        set_lengths(udp_len, udp_len + rng_.between(1, 9) - 5);
        break;
      case 4:  // too short for a BTH
        set_lengths(udp_len, udp_len);
        {
          const size_t small = rng_.below(24);
          set_lengths(small, small);
        }
        break;
      case 5:  // wrong version, iCRC right
        f[l.udp + 9] |= static_cast<uint8_t>(rng_.between(1, 15));
        roce::fix_icrc(f);
        break;
      case 6: {  // pad count against the length, iCRC right
        const size_t shorter = udp_len - rng_.between(1, 3);
        if (shorter < 24) continue;
        set_lengths(shorter, shorter);
        roce::fix_icrc(f);
        break;
      }
      default: {  // no room for the opcode's headers and pad
        static const uint8_t longest[] = {0x13, 0x14, 0x0B, 0x0A, 0x12, 0x81, 0x65};
        f[l.udp + 8] = longest[rng_.below(std::size(longest))];
        f[l.udp + 9] |= 0x30;
        const size_t small = 24 + 4 * rng_.below(3);
        if (small > udp_len) continue;
        set_lengths(small, small);
        roce::fix_icrc(f);
        break;
      }
    }
    if (judge(f).kind == Kind::kDrop) return f;
  }
}

Bytes FrameMaker::any_frame(size_t max_payload) {
  const uint64_t dice = rng_.below(10);
  if (dice < 2) return raw_frame();
  if (dice < 4) return broken_frame();
  if (dice < 7) return roce_frame(rng_.below(80));
  return roce_frame(rng_.below(max_payload + 1));
}

std::vector<Bytes> FrameMaker::mix(size_t count, size_t max_payload) {
  std::vector<Bytes> out;
  while (out.size() < count) out.push_back(any_frame(max_payload));
  return out;
}

}  // namespace rnic::rx
