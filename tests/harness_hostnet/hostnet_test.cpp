// SPDX-License-Identifier: Apache-2.0
#include "harness/hostnet/hostnet.hpp"

#include <map>
#include <random>

#include "harness/pcap/pcap.hpp"
#include "harness/roce/bytes.hpp"
#include "tests/harness_hostnet/frames.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::hostnet;
using namespace std::chrono_literals;
namespace roce = rnic::roce;

namespace {

Bytes hex(const std::string& text) {
  Bytes out;
  for (size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  return out;
}

const MacAddr kMac = {2, 0, 0, 0, 0, 1}, kPeerMac = {0x52, 0x54, 0, 0x77, 0, 0x0A};
const IpAddr kIp = roce::ipv4_address(10, 77, 0, 9), kPeerIp = roce::ipv4_address(10, 77, 0, 10);
const IpAddr kLocal = link_local(kMac), kPeerLocal = link_local(kPeerMac);

HostNet make_net() {
  Config c;
  c.mac = kMac;
  c.ips = {kIp, kLocal};
  c.retry = 500ms;
  c.tries = 3;
  return HostNet(c);
}

// What comes back for one frame; at most one.
Bytes answer(HostNet& net, const Bytes& frame) {
  net.receive(0ms, frame);
  const auto out = net.take_outgoing();
  REQUIRE(out.size() <= 1);
  return out.empty() ? Bytes{} : out[0];
}

Bytes padded(Bytes frame) {
  if (frame.size() < 60) frame.resize(60);
  return frame;
}

}  // namespace

TEST_CASE("ARP: a request for us is answered, padded or not, and its sender is known then") {
  for (const bool pad : {false, true}) {
    HostNet net = make_net();
    const Bytes request = hex(frames::kArpRequest);
    CHECK(answer(net, pad ? padded(request) : request) == hex(frames::kArpReply));
    CHECK(net.lookup(kPeerIp) == kPeerMac);
    CHECK(net.counters().arp_requests == 1);
  }
}

TEST_CASE("ARP: a probe for our address is answered and teaches nothing") {
  HostNet net = make_net();
  const Bytes reply = answer(net, hex(frames::kArpProbe));
  REQUIRE(reply.size() == 42);
  const auto arp = read_arp(reply);
  REQUIRE(arp);
  CHECK(arp->reply);
  CHECK(arp->sender_ip == kIp);
  CHECK(arp->sender_mac == kMac);
  CHECK(net.counters().duplicate_checks == 1);
  CHECK_FALSE(net.lookup(roce::ipv4_address(0, 0, 0, 0)));
}

TEST_CASE("ARP: other addresses, other hardware, cut frames and group senders are ignored") {
  HostNet net = make_net();
  Bytes f = hex(frames::kArpRequest);
  Bytes other = f;
  other[41] = 77;
  CHECK(answer(net, other).empty());
  CHECK_FALSE(net.lookup(kPeerIp));
  for (const size_t at : {15u, 17u, 18u, 19u, 21u}) {
    Bytes bad = f;
    bad[at] ^= 0x40;
    CHECK(answer(net, bad).empty());
  }
  Bytes group = f;
  group[22] |= 1;
  CHECK(answer(net, group).empty());
  f.pop_back();
  CHECK(answer(net, f).empty());
}

TEST_CASE("neighbour discovery: a solicitation is answered") {
  HostNet net = make_net();
  CHECK(answer(net, hex(frames::kNs)) == hex(frames::kNa));
  CHECK(net.lookup(kPeerLocal) == kPeerMac);
}

TEST_CASE("neighbour discovery: the check for a duplicate address is told to everybody") {
  HostNet net = make_net();
  CHECK(answer(net, hex(frames::kDad)) == hex(frames::kDadNa));
  CHECK(net.counters().duplicate_checks == 1);
}

TEST_CASE("neighbour discovery: a recorded solicitation of Linux is answered as Linux did") {
  // The target of the recording is us here.
  rnic::pcap::PcapReader in(std::string(RNIC_SOURCE_DIR) +
                            "/tests/captures/write_bw_v4_mtu1024.pcap");
  rnic::pcap::PcapPacket p;
  std::map<IpAddr, Bytes> requests;
  Bytes request, reply;
  while (in.next(p) && reply.empty()) {
    const auto n = read_neighbour(p.bytes);
    if (!n) continue;
    if (!n->advertisement) {
      requests[n->target].assign(p.bytes.begin(), p.bytes.end());
    } else if (requests.contains(n->target)) {
      request = requests[n->target];
      reply.assign(p.bytes.begin(), p.bytes.end());
    }
  }
  REQUIRE(!reply.empty());
  const auto asked = read_neighbour(request), told = read_neighbour(reply);
  HostNet net({.mac = asked->eth_dst, .ips = {asked->target}});
  const Bytes out = answer(net, request);
  const auto ours = read_neighbour(out);
  REQUIRE(ours);
  CHECK(ours->eth_dst == told->eth_dst);
  CHECK(ours->source == told->source);
  CHECK(ours->destination == told->destination);
  CHECK(ours->target == told->target);
  CHECK(ours->solicited);
  CHECK(ours->link_layer == asked->eth_dst);
}

TEST_CASE("neighbour discovery: hop limit, checksum, code and options must be right") {
  const Bytes good = hex(frames::kNs);
  const auto fixed = [](Bytes f) {
    // A right checksum around the damage.
    roce::store_be16(&f[56], 0);
    uint32_t sum = 58 + (static_cast<uint32_t>(f.size()) - 54);
    for (size_t i = 22; i < f.size(); i += 2) sum += roce::load_be16(&f[i]);
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    roce::store_be16(&f[56], static_cast<uint16_t>(~sum));
    return f;
  };
  REQUIRE(fixed(good) == good);
  HostNet net = make_net();
  for (const auto& [at, mask] :
       {std::pair<size_t, int>{21, 1}, {56, 1}, {60, 4}, {78, 0}, {79, 1}}) {
    Bytes bad = good;
    bad[at] = static_cast<uint8_t>(bad[at] ^ (mask == 0 ? 0xFF : mask));
    CHECK(answer(net, bad).empty());
  }
  Bytes code = good;
  code[55] = 1;
  CHECK(answer(net, fixed(code)).empty());
  Bytes option = good;
  option[79] = 0;  // length 0
  CHECK(answer(net, fixed(option)).empty());
  option[79] = 2;  // beyond the end
  CHECK(answer(net, fixed(option)).empty());
  Bytes dad = hex(frames::kDad);
  dad[37] ^= 0;
  CHECK(!answer(net, dad).empty());
}

TEST_CASE("echo: IPv4 and IPv6 come back with their body") {
  HostNet net = make_net();
  Bytes pong = hex(frames::kPong);
  CHECK(answer(net, hex(frames::kPing)) == pong);
  CHECK(answer(net, hex(frames::kPing6)) == hex(frames::kPong6));
  CHECK(net.counters().echo_requests == 2);
}

TEST_CASE("echo: every size up to a jumbo frame") {
  HostNet net = make_net();
  for (const size_t size : {4u, 5u, 17u, 18u, 19u, 1472u, 4'172u, 8'972u}) {
    for (const bool v6 : {false, true}) {
      Bytes body(size);
      for (size_t i = 0; i < size; ++i) body[i] = static_cast<uint8_t>(i * 3);
      const Bytes request = make_echo({.eth_dst = kMac,
                                       .eth_src = kPeerMac,
                                       .source = v6 ? kPeerLocal : kPeerIp,
                                       .destination = v6 ? kLocal : kIp,
                                       .body = body});
      const auto reply = read_echo(padded(answer(net, padded(request))));
      REQUIRE(reply);
      CHECK(reply->reply);
      CHECK(reply->body == body);
    }
  }
}

TEST_CASE("echo: wrong checksums, fragments, replies and other machines are ignored") {
  HostNet net = make_net();
  const Bytes good = hex(frames::kPing);
  Bytes bad = good;
  bad.back() ^= 1;
  CHECK(answer(net, bad).empty());
  bad = good;
  bad[24] ^= 1;  // the IP header's
  CHECK(answer(net, bad).empty());
  bad = good;
  bad[20] |= 0x20;  // more fragments
  CHECK(answer(net, bad).empty());
  bad = good;
  bad[5] = 9;  // another MAC
  CHECK(answer(net, bad).empty());
  CHECK(answer(net, hex(frames::kPong)).empty());
  CHECK(net.counters().ignored == 5);
}

TEST_CASE("our own question goes out and is answered, IPv4 and IPv6") {
  HostNet net = make_net();
  net.resolve(0ms, kPeerIp);
  auto out = net.take_outgoing();
  REQUIRE(out.size() == 1);
  CHECK(out[0] == hex(frames::kOurArp));
  CHECK_FALSE(net.lookup(kPeerIp));
  net.receive(1ms, hex(frames::kTheirReply));
  CHECK(net.lookup(kPeerIp) == kPeerMac);
  CHECK_FALSE(net.next_deadline());

  net.resolve(0ms, kPeerLocal);
  out = net.take_outgoing();
  REQUIRE(out.size() == 1);
  CHECK(out[0] == hex(frames::kOurNs));
  net.receive(1ms, hex(frames::kTheirNa));
  CHECK(net.lookup(kPeerLocal) == kPeerMac);
}

TEST_CASE("our own question is repeated, and given up") {
  HostNet net = make_net();
  net.resolve(0ms, kPeerIp);
  CHECK(net.take_outgoing().size() == 1);
  REQUIRE(net.next_deadline() == Time(500ms));
  net.advance(499ms);
  CHECK(net.take_outgoing().empty());
  net.advance(500ms);
  CHECK(net.take_outgoing().size() == 1);
  net.advance(1'000ms);
  CHECK(net.take_outgoing().size() == 1);
  CHECK_FALSE(net.unreachable(kPeerIp));
  net.advance(1'500ms);
  CHECK(net.take_outgoing().empty());
  CHECK(net.unreachable(kPeerIp));
  CHECK_FALSE(net.next_deadline());
  // Asked anew.
  net.resolve(2'000ms, kPeerIp);
  CHECK(net.take_outgoing().size() == 1);
}

TEST_CASE("an answer that nobody asked for teaches nothing") {
  HostNet net = make_net();
  net.receive(0ms, hex(frames::kTheirReply));
  net.receive(0ms, hex(frames::kTheirNa));
  CHECK_FALSE(net.lookup(kPeerIp));
  CHECK_FALSE(net.lookup(kPeerLocal));
}

TEST_CASE("random and damaged frames do no harm") {
  std::mt19937 rng(1);
  HostNet net = make_net();
  for (const char* base :
       {frames::kArpRequest, frames::kNs, frames::kDad, frames::kPing, frames::kPing6}) {
    const Bytes good = hex(base);
    for (int i = 0; i < 2'000; ++i) {
      Bytes f = good;
      f.resize(rng() % (f.size() + 20));
      for (unsigned k = rng() % 4; k > 0 && !f.empty(); --k)
        f[rng() % f.size()] = static_cast<uint8_t>(rng());
      net.receive(0ms, f);
      for (const Bytes& out : net.take_outgoing()) CHECK(out.size() >= 42);
    }
  }
}

TEST_CASE("the table of neighbours is bounded; who was asked for stays in it") {
  HostNet net = make_net();
  net.resolve(0ms, kPeerIp);
  (void)net.take_outgoing();
  const auto sender = [](uint32_t i) {
    return roce::ipv4_address(10, static_cast<uint8_t>(100 + (i >> 16)),
                              static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i));
  };
  constexpr uint32_t kMany = 5'000;
  for (uint32_t i = 0; i < kMany; ++i) {
    net.receive(
        0ms,
        make_arp({.eth_dst = kMac,
                  .sender_mac = {2, 9, 9, 9, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)},
                  .sender_ip = sender(i),
                  .target_ip = kIp}));
  }
  CHECK(net.take_outgoing().size() == kMany);  // each is answered
  size_t known = 0;
  for (uint32_t i = 0; i < kMany; ++i) known += net.lookup(sender(i)) ? 1 : 0;
  CHECK(known == kMaxNeighbours - 1);
  CHECK(net.lookup(sender(kMany - 1)));
  net.receive(0ms, make_arp({.reply = true,
                             .eth_dst = kMac,
                             .sender_mac = kPeerMac,
                             .target_mac = kMac,
                             .sender_ip = kPeerIp,
                             .target_ip = kIp}));
  CHECK(net.lookup(kPeerIp) == kPeerMac);
  // Questions are bounded too.
  for (uint32_t i = 0; i < kMany; ++i) net.resolve(0ms, sender(0x10000 + i));
  CHECK(net.take_outgoing().size() < kMaxNeighbours);
}
