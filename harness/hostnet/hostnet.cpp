// SPDX-License-Identifier: Apache-2.0
#include "harness/hostnet/hostnet.hpp"

#include <algorithm>
#include <utility>

namespace rnic::hostnet {

bool HostNet::mine(const IpAddr& ip) const {
  return std::find(config_.ips.begin(), config_.ips.end(), ip) != config_.ips.end();
}

std::vector<Bytes> HostNet::take_outgoing() { return std::exchange(outgoing_, {}); }

// ------------------------------------------------------------------------------------------------
// answers
void HostNet::receive(Time, std::span<const uint8_t> frame) {
  bool used = false;
  if (const auto arp = read_arp(frame)) {
    used = on_arp(*arp);
  } else if (const auto n = read_neighbour(frame)) {
    used = on_neighbour(*n);
  } else if (const auto echo = read_echo(frame)) {
    used = on_echo(*echo);
  }
  if (!used) ++counters_.ignored;
}

bool HostNet::on_arp(const Arp& a) {
  const bool for_us = mine(a.target_ip);
  if (a.reply) {
    if (!for_us && a.eth_dst != config_.mac) return false;
    ++counters_.arp_replies;
    learn(a.sender_ip, a.sender_mac, false);
    return true;
  }
  if (!for_us) return false;
  ++counters_.arp_requests;
  constexpr IpAddr kProbe = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
  if (a.sender_ip == kProbe) {
    ++counters_.duplicate_checks;
  } else {
    learn(a.sender_ip, a.sender_mac, true);
  }
  outgoing_.push_back(make_arp({.reply = true,
                                .eth_dst = a.sender_mac,
                                .sender_mac = config_.mac,
                                .target_mac = a.sender_mac,
                                .sender_ip = a.target_ip,
                                .target_ip = a.sender_ip}));
  return true;
}

bool HostNet::on_neighbour(const Neighbour& n) {
  if (n.advertisement) {
    if (!n.link_layer || !neighbours_.contains(n.target)) return false;
    ++counters_.advertisements;
    Entry& e = neighbours_[n.target];
    if (!e.mac || n.override_old) learn(n.target, *n.link_layer, false);
    return true;
  }
  if (!mine(n.target)) return false;
  ++counters_.solicitations;
  // Somebody without an address wants ours: everybody must hear that it is taken.
  const bool check = is_unspecified(n.source);
  if (check) ++counters_.duplicate_checks;
  if (!check && n.link_layer) learn(n.source, *n.link_layer, true);
  const IpAddr to = check ? all_nodes() : n.source;
  outgoing_.push_back(make_neighbour({.advertisement = true,
                                      .solicited = !check,
                                      .override_old = true,
                                      .eth_dst = check ? multicast_mac(to) : n.eth_src,
                                      .eth_src = config_.mac,
                                      .source = n.target,
                                      .destination = to,
                                      .target = n.target,
                                      .link_layer = config_.mac}));
  return true;
}

bool HostNet::on_echo(const Echo& e) {
  if (e.reply || !mine(e.destination) || e.eth_dst != config_.mac) return false;
  ++counters_.echo_requests;
  outgoing_.push_back(make_echo({.reply = true,
                                 .eth_dst = e.eth_src,
                                 .eth_src = config_.mac,
                                 .source = e.destination,
                                 .destination = e.source,
                                 .body = e.body}));
  return true;
}

// ------------------------------------------------------------------------------------------------
// our own questions
void HostNet::learn(const IpAddr& ip, const MacAddr& mac, bool keep) {
  const auto known = neighbours_.find(ip);
  if (known == neighbours_.end() && (!keep || !make_room())) return;
  Entry& e = neighbours_[ip];
  e.mac = mac;
  e.again.reset();
}

bool HostNet::make_room() {
  if (neighbours_.size() < kMaxNeighbours) return true;
  const auto spare = std::find_if(neighbours_.begin(), neighbours_.end(), [](const auto& n) {
    return !n.second.wanted || (!n.second.mac && !n.second.again);
  });
  if (spare == neighbours_.end()) return false;
  neighbours_.erase(spare);
  return true;
}

void HostNet::resolve(Time now, const IpAddr& ip) {
  if (!neighbours_.contains(ip) && !make_room()) return;
  Entry& e = neighbours_[ip];
  e.wanted = true;
  if (e.mac || e.again) return;
  e.asked = 0;
  ask(now, ip, e);
}

std::optional<MacAddr> HostNet::lookup(const IpAddr& ip) const {
  const auto e = neighbours_.find(ip);
  return e == neighbours_.end() ? std::nullopt : e->second.mac;
}

bool HostNet::unreachable(const IpAddr& ip) const {
  const auto e = neighbours_.find(ip);
  return e != neighbours_.end() && !e->second.mac && !e->second.again;
}

void HostNet::forget(const IpAddr& ip) { neighbours_.erase(ip); }

// An address of the same kind as the neighbour's: link-local ones ask for link-local ones.
const IpAddr* HostNet::own_source(const IpAddr& to) const {
  const auto local = [](const IpAddr& ip) { return ip[0] == 0xFE && (ip[1] & 0xC0) == 0x80; };
  const IpAddr* any = nullptr;
  for (const IpAddr& ip : config_.ips) {
    if (roce::is_ipv4(ip) != roce::is_ipv4(to)) continue;
    if (local(ip) == local(to)) return &ip;
    any = &ip;
  }
  return any;
}

void HostNet::ask(Time now, const IpAddr& ip, Entry& entry) {
  const IpAddr* source = own_source(ip);
  if (source == nullptr || entry.asked >= config_.tries) {
    entry.again.reset();
    return;
  }
  ++entry.asked;
  ++counters_.asked;
  entry.again = now + config_.retry;
  if (roce::is_ipv4(ip)) {
    outgoing_.push_back(make_arp(
        {.eth_dst = kBroadcast, .sender_mac = config_.mac, .sender_ip = *source, .target_ip = ip}));
    return;
  }
  const IpAddr to = solicited_node(ip);
  outgoing_.push_back(make_neighbour({.eth_dst = multicast_mac(to),
                                      .eth_src = config_.mac,
                                      .source = *source,
                                      .destination = to,
                                      .target = ip,
                                      .link_layer = config_.mac}));
}

void HostNet::advance(Time now) {
  for (auto& [ip, entry] : neighbours_) {
    if (!entry.mac && entry.again && *entry.again <= now) ask(now, ip, entry);
  }
}

std::optional<Time> HostNet::next_deadline() const {
  std::optional<Time> first;
  for (const auto& [ip, entry] : neighbours_) {
    if (!entry.mac && entry.again && (!first || *entry.again < *first)) first = entry.again;
  }
  return first;
}

}  // namespace rnic::hostnet
