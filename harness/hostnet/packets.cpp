// SPDX-License-Identifier: Apache-2.0
#include "harness/hostnet/packets.hpp"

#include <algorithm>

#include "harness/roce/bytes.hpp"

namespace rnic::hostnet {
namespace {

using roce::load_be16;
using roce::store_be16;

constexpr size_t kEth = 14;
constexpr uint16_t kEtherArp = 0x0806;
constexpr size_t kArpBytes = 28;
constexpr size_t kIpv4Bytes = 20, kIpv6Bytes = 40;
constexpr uint8_t kIcmp = 1, kIcmpv6 = 58;
constexpr uint8_t kEchoReply4 = 0, kEchoRequest4 = 8;
constexpr uint8_t kEchoRequest6 = 128, kEchoReply6 = 129, kSolicitation = 135, kAdvertisement = 136;
constexpr uint8_t kNdHopLimit = 255;  // nothing that a router has passed on
constexpr uint8_t kSourceLinkLayer = 1, kTargetLinkLayer = 2;
constexpr uint8_t kFlagSolicited = 0x40, kFlagOverride = 0x20;
constexpr size_t kNdBytes = 24;  // ICMPv6 header and target
constexpr size_t kMappedSkip = 12;

uint32_t add_words(std::span<const uint8_t> bytes, uint32_t sum = 0) {
  for (size_t i = 0; i < bytes.size(); i += 2)
    sum += (uint32_t{bytes[i]} << 8) | (i + 1 < bytes.size() ? bytes[i + 1] : 0u);
  return sum;
}

uint16_t fold(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// Sum of the IPv6 pseudo header and the message; 0xFFFF when its checksum is right.
uint16_t icmpv6_sum(const IpAddr& source, const IpAddr& destination,
                    std::span<const uint8_t> message) {
  uint32_t sum = add_words(source);
  sum = add_words(destination, sum);
  sum += static_cast<uint32_t>(message.size()) + kIcmpv6;
  return fold(add_words(message, sum));
}

template <size_t N>
void put(Bytes& out, const std::array<uint8_t, N>& bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put16(Bytes& out, uint16_t v) {
  out.push_back(static_cast<uint8_t>(v >> 8));
  out.push_back(static_cast<uint8_t>(v));
}

void put_ipv4_address(Bytes& out, const IpAddr& ip) {
  out.insert(out.end(), ip.begin() + kMappedSkip, ip.end());
}

Bytes ethernet(const MacAddr& to, const MacAddr& from, uint16_t type) {
  Bytes out;
  put(out, to);
  put(out, from);
  put16(out, type);
  return out;
}

template <size_t N>
std::array<uint8_t, N> take(std::span<const uint8_t> from, size_t at) {
  std::array<uint8_t, N> out;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), N, out.begin());
  return out;
}

IpAddr take_ipv4(std::span<const uint8_t> from, size_t at) {
  return roce::ipv4_address(from[at], from[at + 1], from[at + 2], from[at + 3]);
}

// An IP packet with its message, when everything around it is right.
struct Packet {
  MacAddr eth_dst{}, eth_src{};
  IpAddr source{}, destination{};
  uint8_t protocol = 0, hop_limit = 0;
  std::span<const uint8_t> message;
};

std::optional<Packet> read_ipv4(std::span<const uint8_t> frame) {
  if (frame.size() < kEth + kIpv4Bytes) return std::nullopt;
  const auto ip = frame.subspan(kEth);
  const size_t header = size_t{ip[0] & 0x0Fu} * 4, total = load_be16(&ip[2]);
  if (ip[0] >> 4 != 4 || header < kIpv4Bytes || total < header || total > ip.size())
    return std::nullopt;
  if ((load_be16(&ip[6]) & 0x3FFF) != 0) return std::nullopt;  // a fragment
  if (fold(add_words(ip.first(header))) != 0xFFFF) return std::nullopt;
  Packet p;
  p.source = take_ipv4(ip, 12);
  p.destination = take_ipv4(ip, 16);
  p.protocol = ip[9];
  p.hop_limit = ip[8];
  p.message = ip.subspan(header, total - header);
  return p;
}

std::optional<Packet> read_ipv6(std::span<const uint8_t> frame) {
  if (frame.size() < kEth + kIpv6Bytes) return std::nullopt;
  const auto ip = frame.subspan(kEth);
  const size_t payload = load_be16(&ip[4]);
  if (ip[0] >> 4 != 6 || kIpv6Bytes + payload > ip.size()) return std::nullopt;
  Packet p;
  p.source = take<16>(ip, 8);
  p.destination = take<16>(ip, 24);
  p.protocol = ip[6];
  p.hop_limit = ip[7];
  p.message = ip.subspan(kIpv6Bytes, payload);
  return p;
}

std::optional<Packet> read_ip(std::span<const uint8_t> frame) {
  if (frame.size() < kEth) return std::nullopt;
  std::optional<Packet> p;
  switch (load_be16(&frame[12])) {
    case roce::kEtherIpv4:
      p = read_ipv4(frame);
      break;
    case roce::kEtherIpv6:
      p = read_ipv6(frame);
      break;
    default:
      break;
  }
  if (p) {
    p->eth_dst = take<6>(frame, 0);
    p->eth_src = take<6>(frame, 6);
  }
  return p;
}

Bytes make_ipv4(const Packet& p) {
  Bytes out = ethernet(p.eth_dst, p.eth_src, roce::kEtherIpv4);
  const size_t at = out.size();
  out.insert(out.end(), {0x45, 0});
  put16(out, static_cast<uint16_t>(kIpv4Bytes + p.message.size()));
  out.insert(out.end(), {0, 0, 0x40, 0, p.hop_limit, p.protocol, 0, 0});
  put_ipv4_address(out, p.source);
  put_ipv4_address(out, p.destination);
  const uint16_t sum = fold(add_words(std::span(out).subspan(at)));
  store_be16(&out[at + 10], static_cast<uint16_t>(~sum));
  out.insert(out.end(), p.message.begin(), p.message.end());
  return out;
}

Bytes make_ipv6(const Packet& p) {
  Bytes out = ethernet(p.eth_dst, p.eth_src, roce::kEtherIpv6);
  out.insert(out.end(), {0x60, 0, 0, 0});
  put16(out, static_cast<uint16_t>(p.message.size()));
  out.push_back(p.protocol);
  out.push_back(p.hop_limit);
  put(out, p.source);
  put(out, p.destination);
  out.insert(out.end(), p.message.begin(), p.message.end());
  return out;
}

// The option of this type; false when the options are malformed.
bool read_options(std::span<const uint8_t> options, uint8_t wanted, std::optional<MacAddr>& out) {
  while (!options.empty()) {
    if (options.size() < 8) return false;
    const size_t length = size_t{options[1]} * 8;
    if (length == 0 || length > options.size()) return false;
    if (options[0] == wanted && length == 8) out = take<6>(options, 2);
    options = options.subspan(length);
  }
  return true;
}

// Who sent it to whom.
template <typename T>
T with_ends(const Packet& p) {
  T t;
  t.eth_dst = p.eth_dst;
  t.eth_src = p.eth_src;
  t.source = p.source;
  t.destination = p.destination;
  return t;
}

bool is_multicast(const IpAddr& ip) { return ip[0] == 0xFF; }

}  // namespace

IpAddr link_local(const MacAddr& mac) {
  return {0xFE,   0x80,   0,    0,    0,      0,      0,     0, static_cast<uint8_t>(mac[0] ^ 2),
          mac[1], mac[2], 0xFF, 0xFE, mac[3], mac[4], mac[5]};
}

IpAddr solicited_node(const IpAddr& ip) {
  return {0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, ip[13], ip[14], ip[15]};
}

IpAddr all_nodes() { return {0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}; }

MacAddr multicast_mac(const IpAddr& ip) { return {0x33, 0x33, ip[12], ip[13], ip[14], ip[15]}; }

bool is_unspecified(const IpAddr& ip) {
  return std::all_of(ip.begin(), ip.end(), [](uint8_t b) { return b == 0; });
}

// ------------------------------------------------------------------------------------------------
// ARP
std::optional<Arp> read_arp(std::span<const uint8_t> frame) {
  if (frame.size() < kEth + kArpBytes || load_be16(&frame[12]) != kEtherArp) return std::nullopt;
  const auto p = frame.subspan(kEth);
  // Ethernet, IPv4, six and four bytes
  if (load_be16(&p[0]) != 1 || load_be16(&p[2]) != roce::kEtherIpv4 || p[4] != 6 || p[5] != 4)
    return std::nullopt;
  const uint16_t operation = load_be16(&p[6]);
  if (operation != 1 && operation != 2) return std::nullopt;
  Arp a;
  a.reply = operation == 2;
  a.eth_dst = take<6>(frame, 0);
  a.sender_mac = take<6>(p, 8);
  a.sender_ip = take_ipv4(p, 14);
  a.target_mac = take<6>(p, 18);
  a.target_ip = take_ipv4(p, 24);
  if ((a.sender_mac[0] & 1) != 0) return std::nullopt;  // nobody has a group address
  return a;
}

Bytes make_arp(const Arp& a) {
  Bytes out = ethernet(a.eth_dst, a.sender_mac, kEtherArp);
  put16(out, 1);
  put16(out, roce::kEtherIpv4);
  out.insert(out.end(), {6, 4, 0, static_cast<uint8_t>(a.reply ? 2 : 1)});
  put(out, a.sender_mac);
  put_ipv4_address(out, a.sender_ip);
  put(out, a.target_mac);
  put_ipv4_address(out, a.target_ip);
  return out;
}

// ------------------------------------------------------------------------------------------------
// echo
std::optional<Echo> read_echo(std::span<const uint8_t> frame) {
  const auto p = read_ip(frame);
  if (!p || p->message.size() < 8) return std::nullopt;
  const bool v4 = roce::is_ipv4(p->destination);
  if (p->protocol != (v4 ? kIcmp : kIcmpv6)) return std::nullopt;
  const uint8_t type = p->message[0], request = v4 ? kEchoRequest4 : kEchoRequest6,
                reply = v4 ? kEchoReply4 : kEchoReply6;
  if ((type != request && type != reply) || p->message[1] != 0) return std::nullopt;
  const uint16_t sum =
      v4 ? fold(add_words(p->message)) : icmpv6_sum(p->source, p->destination, p->message);
  if (sum != 0xFFFF) return std::nullopt;
  auto e = with_ends<Echo>(*p);
  e.reply = type == reply;
  e.body.assign(p->message.begin() + 4, p->message.end());
  return e;
}

Bytes make_echo(const Echo& e) {
  const bool v4 = roce::is_ipv4(e.destination);
  const uint8_t type =
      v4 ? (e.reply ? kEchoReply4 : kEchoRequest4) : (e.reply ? kEchoReply6 : kEchoRequest6);
  Bytes message = {type, 0, 0, 0};
  message.insert(message.end(), e.body.begin(), e.body.end());
  const uint16_t sum = v4 ? fold(add_words(message)) : icmpv6_sum(e.source, e.destination, message);
  store_be16(&message[2], static_cast<uint16_t>(~sum));
  const Packet p{.eth_dst = e.eth_dst,
                 .eth_src = e.eth_src,
                 .source = e.source,
                 .destination = e.destination,
                 .protocol = v4 ? kIcmp : kIcmpv6,
                 .hop_limit = 64,
                 .message = message};
  return v4 ? make_ipv4(p) : make_ipv6(p);
}

// ------------------------------------------------------------------------------------------------
// neighbour discovery
std::optional<Neighbour> read_neighbour(std::span<const uint8_t> frame) {
  const auto p = read_ip(frame);
  if (!p || p->protocol != kIcmpv6 || roce::is_ipv4(p->destination) ||
      p->hop_limit != kNdHopLimit || p->message.size() < kNdBytes)
    return std::nullopt;
  const uint8_t type = p->message[0];
  if ((type != kSolicitation && type != kAdvertisement) || p->message[1] != 0) return std::nullopt;
  if (icmpv6_sum(p->source, p->destination, p->message) != 0xFFFF) return std::nullopt;
  auto n = with_ends<Neighbour>(*p);
  n.advertisement = type == kAdvertisement;
  n.target = take<16>(p->message, 8);
  if (is_multicast(n.target)) return std::nullopt;
  if (n.advertisement) {
    n.solicited = (p->message[4] & kFlagSolicited) != 0;
    n.override_old = (p->message[4] & kFlagOverride) != 0;
    // An answer to a group was not asked for.
    if (n.solicited && is_multicast(n.destination)) return std::nullopt;
  }
  const uint8_t option = n.advertisement ? kTargetLinkLayer : kSourceLinkLayer;
  if (!read_options(p->message.subspan(kNdBytes), option, n.link_layer)) return std::nullopt;
  // Who looks whether an address is free has none yet, and asks the group.
  if (!n.advertisement && is_unspecified(n.source) &&
      (n.link_layer || n.destination != solicited_node(n.target)))
    return std::nullopt;
  return n;
}

Bytes make_neighbour(const Neighbour& n) {
  Bytes message = {n.advertisement ? kAdvertisement : kSolicitation, 0, 0, 0, 0, 0, 0, 0};
  if (n.advertisement)
    message[4] = static_cast<uint8_t>((n.solicited ? kFlagSolicited : 0) |
                                      (n.override_old ? kFlagOverride : 0));
  put(message, n.target);
  if (n.link_layer) {
    message.insert(message.end(), {n.advertisement ? kTargetLinkLayer : kSourceLinkLayer, 1});
    put(message, *n.link_layer);
  }
  const uint16_t sum = icmpv6_sum(n.source, n.destination, message);
  store_be16(&message[2], static_cast<uint16_t>(~sum));
  return make_ipv6({.eth_dst = n.eth_dst,
                    .eth_src = n.eth_src,
                    .source = n.source,
                    .destination = n.destination,
                    .protocol = kIcmpv6,
                    .hop_limit = kNdHopLimit,
                    .message = message});
}

}  // namespace rnic::hostnet
