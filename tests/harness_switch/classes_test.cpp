// SPDX-License-Identifier: Apache-2.0
// Which class a frame is in, and who goes first.
#include <map>

#include "tests/harness_switch/bed.hpp"
#include "tests/support/rng.hpp"

using namespace rnic;
using namespace rnic::test;
using switching::Classify;
using switching::Egress;
using switching::FramePool;
using wire::kNever;

namespace {

// A frame of a class, straight into the queues of a port.
void put(Egress& e, FramePool& pool, unsigned cls, uint32_t length, TimePs from = 0) {
  const Bytes bytes(length, 1);
  switching::Frame* f = pool.get(bytes);
  f->cls = static_cast<uint8_t>(cls);
  f->time_ps = from;
  e.push(f);
}

SwitchConfig weights(std::initializer_list<uint32_t> w) {
  SwitchConfig c;
  unsigned i = 0;
  for (uint32_t v : w) c.classes[i++].weight = v;
  return c;
}

}  // namespace

TEST_CASE("strict classes go first, the higher number before the lower") {
  const SwitchConfig c = weights({1, 0, 1, 0, 1, 0, 0, 0});
  FramePool pool(9000);
  Egress e(c);
  for (int round = 0; round < 3; ++round)
    for (unsigned k = 0; k < 8; ++k) put(e, pool, k, 500);
  std::vector<unsigned> order;
  while (e.next(0) != kNever) {
    switching::Frame* f = e.pop(0);
    order.push_back(f->cls);
    pool.put(f);
  }
  const std::vector<unsigned> strict = {7, 7, 7, 6, 6, 6, 5, 5, 5, 3, 3, 3, 1, 1, 1};
  REQUIRE(order.size() == 24);
  CHECK(std::vector<unsigned>(order.begin(), order.begin() + 15) == strict);
  for (size_t i = 15; i < 24; ++i) CHECK(order[i] % 2 == 0);
  CHECK(e.bytes() == 0);
}

TEST_CASE("weighted classes share by bytes on the wire, whatever their frames' sizes") {
  auto rng = test::rng("drr");
  for (int trial = 0; trial < 20; ++trial) {
    SwitchConfig c;
    std::array<uint32_t, 8> longest{};
    for (unsigned k = 0; k < 8; ++k) {
      c.classes[k].weight = static_cast<uint32_t>(rng.between(1, 20));
      longest[k] = static_cast<uint32_t>(rng.between(60, 9000));
    }
    FramePool pool(9000);
    Egress e(c);
    std::array<uint64_t, 8> sent{};
    uint64_t all = 0, weight = 0;
    for (const auto& k : c.classes) weight += k.weight;
    const auto fill = [&](unsigned k) {
      put(e, pool, k, static_cast<uint32_t>(rng.between(60, longest[k])));
    };
    for (unsigned k = 0; k < 8; ++k) fill(k), fill(k);
    for (int i = 0; i < 20'000; ++i) {
      switching::Frame* f = e.pop(0);
      sent[f->cls] += f->length + 24;
      all += f->length + 24;
      fill(f->cls);
      pool.put(f);
    }
    for (unsigned k = 0; k < 8; ++k) {
      // Within one frame and one round of the exact share.
      const double want =
          static_cast<double>(all) * c.classes[k].weight / static_cast<double>(weight);
      const double slack = 9024 + 2048.0 * c.classes[k].weight;
      CHECK(std::abs(static_cast<double>(sent[k]) - want) <= 2 * slack + 2048.0 * 20);
    }
  }
}

TEST_CASE("a class that is empty or paused takes nothing from the others and saves nothing up") {
  const SwitchConfig c = weights({1, 1, 5, 1, 1, 1, 1, 1});
  FramePool pool(9000);
  Egress e(c);
  e.pause(2, 0, 1'000);
  put(e, pool, 2, 1000);
  for (int i = 0; i < 50; ++i) put(e, pool, 0, 1000), put(e, pool, 1, 1000);
  int zero = 0, one = 0;
  for (int i = 0; i < 40; ++i) {
    switching::Frame* f = e.pop(0);
    REQUIRE(f->cls != 2);
    ++(f->cls == 0 ? zero : one);
    pool.put(f);
  }
  CHECK(std::abs(zero - one) <= 2);
  // Free again: in a round it gets five shares of 2048 bytes, not what it missed.
  for (int i = 0; i < 200; ++i) put(e, pool, 2, 1000), put(e, pool, 0, 1000), put(e, pool, 1, 1000);
  int two = 0;
  for (int i = 0; i < 70; ++i) {
    switching::Frame* f = e.pop(1'000);
    two += f->cls == 2 ? 1 : 0;
    pool.put(f);
  }
  CHECK(two >= 45);
  CHECK(two <= 60);
}

TEST_CASE("a frame waits for its time, a pause for its end") {
  const SwitchConfig c = weights({1, 1, 1, 1, 1, 1, 1, 1});
  FramePool pool(9000);
  Egress e(c);
  CHECK(e.next(0) == kNever);
  put(e, pool, 3, 100, 5'000);
  CHECK(e.next(0) == 5'000);
  CHECK(e.next(7'000) == 7'000);
  e.pause(3, 6'000, 9'000);
  CHECK(e.next(7'000) == 9'000);
  e.pause(switching::kClasses, 6'500, 12'000);
  CHECK(e.next(7'000) == 12'000);
  put(e, pool, 4, 100, 8'000);
  CHECK(e.next(7'000) == 12'000);
  e.pause(switching::kClasses, 8'500, 8'500);  // resume
  CHECK(e.next(8'500) == 8'500);
  CHECK(e.pop(8'500)->cls == 4);
  CHECK(e.paused_ps(3, 8'600) == 2'600);
  CHECK(e.paused_ps(3, 20'000) == 3'000);
  CHECK(e.paused_ps(switching::kClasses, 20'000) == 2'000);
}

TEST_CASE("classes come from DSCP or from the tag") {
  const auto class_seen = [](SwitchConfig c, const Bytes& frame) {
    c.ports = 2;
    Bed bed(c);
    bed.host(0).at(0, frame);
    bed.run(5'000'000);
    REQUIRE(bed.host(1).got.size() == 1);
    int cls = -1;
    for (unsigned k = 0; k < 8; ++k) {
      const auto in = bed.sw.counters(0).classes[k], out = bed.sw.counters(1).classes[k];
      CHECK(in.rx_frames == out.tx_frames);
      CHECK(in.rx_bytes == in.rx_frames * (frame.size() + 4));
      if (in.rx_frames == 1) cls = static_cast<int>(k);
    }
    return cls;
  };
  SwitchConfig by_dscp;
  by_dscp.class_of_dscp[10] = 6;
  for (const bool ipv6 : {false, true}) {
    for (const int pcp : {-1, 5}) {
      CHECK(class_seen(by_dscp, packet(0, 1, 64, {.dscp = 48, .pcp = pcp, .ipv6 = ipv6})) == 6);
      CHECK(class_seen(by_dscp, packet(0, 1, 64, {.dscp = 26, .pcp = pcp, .ipv6 = ipv6})) == 3);
      CHECK(class_seen(by_dscp, packet(0, 1, 64, {.dscp = 63, .pcp = pcp, .ipv6 = ipv6})) == 7);
      CHECK(class_seen(by_dscp, packet(0, 1, 64, {.dscp = 10, .pcp = pcp, .ipv6 = ipv6})) == 6);
    }
  }
  SwitchConfig by_pcp;
  by_pcp.classify = Classify::kPcp;
  by_pcp.default_class = 2;
  for (int pcp = 0; pcp < 8; ++pcp)
    CHECK(class_seen(by_pcp, packet(0, 1, 64, {.dscp = 48, .pcp = pcp})) == pcp);
  CHECK(class_seen(by_pcp, packet(0, 1, 64, {.dscp = 48})) == 2);
  CHECK(class_seen(by_pcp, plain(0, 1, 64)) == 2);
  // What is not IP: the tag, or the default.
  by_dscp.default_class = 4;
  CHECK(class_seen(by_dscp, plain(0, 1, 64)) == 4);
  Bytes tagged = plain(0, 1, 68);
  const uint8_t tag[] = {0x81, 0x00, 0xA0, 0x01, 0x88, 0xB5};
  std::copy(std::begin(tag), std::end(tag), tagged.begin() + 12);
  CHECK(class_seen(by_dscp, tagged) == 5);
}

TEST_CASE("through the switch: a strict class waits for at most one frame") {
  SwitchConfig c;
  c.ports = 3;
  c.classes[6].weight = 0;
  for (auto& k : c.classes) k.queue_bytes = 1ull << 30;
  Bed bed(c);
  for (int i = 0; i < 400; ++i) bed.host(0).at(0, plain(0, 2, 9000));
  for (int i = 0; i < 400; ++i) bed.host(1).at(0, packet(1, 2, 4096));
  // Small and urgent, when the queue is deep.
  Bytes urgent = packet(1, 2, 0, {.dscp = 48});
  bed.host(1).at(200'000'000, urgent);
  bed.run(1'000'000'000);
  const auto& got = bed.host(2).got;
  REQUIRE(got.size() == 801);
  const auto it =
      std::find_if(got.begin(), got.end(), [&](const Got& g) { return g.bytes == urgent; });
  REQUIRE(it != got.end());
  const TimePs in = 200'000'000 + (8 + 60 + 4) * 80 + 200'000;
  CHECK(it->first_ps >= in + 300'000 + 8 * 80 + 200'000);
  CHECK(it->first_ps <= in + 300'000 + 8 * 80 + 200'000 + 9024 * 80);
}
