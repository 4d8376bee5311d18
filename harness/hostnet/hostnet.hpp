// SPDX-License-Identifier: Apache-2.0
// The little network service of a host whose NIC carries RoCEv2 only: it answers ARP, neighbour
// solicitations and echo requests, and finds the MAC of a neighbour. Owns no port and no clock.
//
//   HostNet net({.mac = mac, .ips = {roce::ipv4_address(10, 77, 0, 9), link_local(mac)}});
//   net.receive(now, frame);                                   // out of the raw port
//   net.resolve(now, peer);                                    // asks, again and again
//   while (!net.lookup(peer)) { ...; net.advance(now); }
//   for (const Bytes& f : net.take_outgoing()) send(f);        // into the raw port
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "harness/hostnet/packets.hpp"

namespace rnic::hostnet {

using Time = std::chrono::nanoseconds;

struct Config {
  MacAddr mac{};
  std::vector<IpAddr> ips;  // IPv4 as ::ffff:a.b.c.d
  Time retry = std::chrono::milliseconds(500);
  unsigned tries = 20;
};

// Entries of the table of neighbours.
inline constexpr size_t kMaxNeighbours = 1'024;

struct Counters {
  uint64_t arp_requests = 0, arp_replies = 0;      // received, about one of our addresses
  uint64_t solicitations = 0, advertisements = 0;  // likewise
  uint64_t duplicate_checks = 0;                   // somebody wants one of our addresses
  uint64_t echo_requests = 0;
  uint64_t ignored = 0;  // not for us, malformed, or of no use
  uint64_t asked = 0;    // our own questions
};

class HostNet {
 public:
  explicit HostNet(Config config) : config_(std::move(config)) {}

  void receive(Time now, std::span<const uint8_t> frame);
  // Asks for the MAC of `ip`, unless it is known or being asked for.
  void resolve(Time now, const IpAddr& ip);
  std::optional<MacAddr> lookup(const IpAddr& ip) const;
  // All tries are over without an answer.
  bool unreachable(const IpAddr& ip) const;
  void forget(const IpAddr& ip);
  void advance(Time now);
  std::optional<Time> next_deadline() const;

  bool mine(const IpAddr& ip) const;
  std::vector<Bytes> take_outgoing();
  const Counters& counters() const { return counters_; }
  const Config& config() const { return config_; }

 private:
  struct Entry {
    std::optional<MacAddr> mac;
    unsigned asked = 0;
    std::optional<Time> again;
    bool wanted = false;  // we asked for it
  };
  // Room for one more; false when all entries are wanted.
  bool make_room();
  // The sender told its address; kept when we wanted it, or when `keep`: it talks to us.
  void learn(const IpAddr& ip, const MacAddr& mac, bool keep);
  void ask(Time now, const IpAddr& ip, Entry& entry);
  const IpAddr* own_source(const IpAddr& to) const;
  bool on_arp(const Arp& arp);
  bool on_neighbour(const Neighbour& n);
  bool on_echo(const Echo& echo);

  Config config_;
  std::map<IpAddr, Entry> neighbours_;
  std::vector<Bytes> outgoing_;
  Counters counters_;
};

}  // namespace rnic::hostnet
