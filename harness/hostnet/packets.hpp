// SPDX-License-Identifier: Apache-2.0
// ARP, ICMP and ICMPv6 packets on raw Ethernet frames: what is read of them, and how they are
// built. By byte offset, after RFC 826, 792, 4443 and 4861.
//
//   if (auto arp = read_arp(frame)) use(arp->sender_ip);
//   Bytes answer = make_arp({.reply = true, ...});
//
// The readers never throw and refuse what is cut, malformed or has a wrong checksum.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/roce/frame.hpp"

namespace rnic::hostnet {

using Bytes = std::vector<uint8_t>;
using roce::IpAddr;
using roce::MacAddr;

inline constexpr MacAddr kBroadcast = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

// fe80::/64 with the EUI-64 of the MAC.
IpAddr link_local(const MacAddr& mac);
// ff02::1:ffXX:XXXX, where the questions about this address go.
IpAddr solicited_node(const IpAddr& ip);
IpAddr all_nodes();  // ff02::1
// 33:33 and the last four bytes.
MacAddr multicast_mac(const IpAddr& ip);
bool is_unspecified(const IpAddr& ip);

struct Arp {
  bool reply = false;
  MacAddr eth_dst{};  // of the frame
  MacAddr sender_mac{}, target_mac{};
  IpAddr sender_ip{}, target_ip{};  // ::ffff:a.b.c.d
};
std::optional<Arp> read_arp(std::span<const uint8_t> frame);
Bytes make_arp(const Arp& arp);

// ICMP and ICMPv6 echo.
struct Echo {
  bool reply = false;
  MacAddr eth_dst{}, eth_src{};
  IpAddr source{}, destination{};  // both IPv4-mapped: ICMP, else ICMPv6
  Bytes body;                      // identifier, sequence number, data
};
std::optional<Echo> read_echo(std::span<const uint8_t> frame);
Bytes make_echo(const Echo& echo);

// ICMPv6 neighbour solicitation and advertisement.
struct Neighbour {
  bool advertisement = false;
  bool solicited = false, override_old = false;  // flags of an advertisement
  MacAddr eth_dst{}, eth_src{};
  IpAddr source{}, destination{}, target{};
  std::optional<MacAddr> link_layer;  // source's or target's, the option
};
std::optional<Neighbour> read_neighbour(std::span<const uint8_t> frame);
Bytes make_neighbour(const Neighbour& n);

}  // namespace rnic::hostnet
