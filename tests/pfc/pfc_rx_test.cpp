// SPDX-License-Identifier: Apache-2.0
// Pause frames as the facts draw them, the frame builder of harness/switch, damaged and foreign
// control frames; times against quanta of 512 bit times.
#include <Vpfc_class.h>
#include <Vpfc_rx_1024.h>
#include <Vpfc_rx_128.h>
#include <Vpfc_rx_256.h>
#include <Vpfc_rx_512.h>

#include <cmath>

#include "harness/switch/pause_frame.hpp"
#include "tests/rx_parser/frame_collector.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::rx;
using switching::PauseFrame;

namespace {

constexpr uint64_t kMacPs = 1600;
constexpr roce::MacAddr kPeer = {2, 0, 0, 0, 0, 1};

Bytes bytes_of(const PauseFrame& p) {
  const auto frame = switching::build_pause(p, kPeer);
  return {frame.begin(), frame.end()};
}
PauseFrame pfc(uint8_t mask, uint16_t quanta) {
  PauseFrame p;
  p.mask = mask;
  for (unsigned i = 0; i < 8; ++i) p.quanta[i] = (mask >> i & 1) != 0 ? quanta : 0;
  return p;
}
PauseFrame link_pause(uint16_t quanta) {
  PauseFrame p;
  p.legacy = true;
  p.quanta[0] = quanta;
  return p;
}

template <class Top>
struct PauseBench {
  using Data = std::remove_reference_t<decltype(std::declval<Top>().in_data)>;
  static constexpr size_t kBeat = sizeof(Data);

  explicit PauseBench(double gbps = 200)
      : bench(kMacPs),
        driver(bench, "in",
               {top().in_valid, top().in_data, top().in_cnt, top().in_last, &top().in_err}),
        out(bench,
            {top().out_valid, top().out_data, top().out_cnt, top().out_last, &top().out_err}) {
    set_rate(gbps);
    top().cfg_classes_i = 0xFF;
    top().cfg_link_i = 1;
    bench.on_sample([this] {
      pauses += top().cnt_rx_pause_o;
      bad += top().cnt_rx_mac_ctrl_bad_o;
      for (unsigned i = 0; i < 8; ++i) prio[i] += top().cnt_rx_prio_pause_o >> i & 1;
      for (unsigned i = 0; i < 8; ++i) {
        const bool now = (top().paused_o >> i & 1) != 0;
        if (now && !was[i]) began[i] = bench.cycle();
        if (!now && was[i]) ended[i] = bench.cycle();
        was[i] = now;
      }
    });
    bench.reset();
  }
  Top& top() { return bench.top(); }
  void set_rate(double gbps) {
    bits_per_cycle = gbps * 1e9 * kMacPs * 1e-12;
    top().cfg_bits_i = static_cast<uint64_t>(std::floor(bits_per_cycle * 0x1p20));
  }
  // Sends it and waits until it has been looked at. The cycle of its last beat.
  uint64_t send(const Bytes& frame, bool err = false) {
    driver.push({frame, err});
    bench.wait(
        "the frame to be driven", [this] { return driver.idle(); }, 1000);
    bench.tick(4);
    return driver.last_cycles().back();
  }
  void wait_free(uint64_t limit) {
    bench.wait(
        "the end of the pause", [this] { return top().paused_o == 0 && was == none; }, limit);
  }
  double cycles_of(uint32_t quanta) const { return quanta * 512.0 / bits_per_cycle; }

  static constexpr std::array<bool, 8> none{};
  test::Bench<Top> bench;
  FrameDriver<Data> driver;
  FrameCollector<Data> out;
  double bits_per_cycle = 0;
  uint64_t pauses = 0, bad = 0;
  std::array<uint64_t, 8> prio{}, began{}, ended{};
  std::array<bool, 8> was{};
};

}  // namespace

#define WIDTHS Vpfc_rx_128, Vpfc_rx_256, Vpfc_rx_512, Vpfc_rx_1024

TEMPLATE_TEST_CASE("the facts' example pauses priority 3 and no other", "", WIDTHS) {
  PauseBench<TestType> b(400);
  Bytes frame = {0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0x01, 0x01, 0x00, 0x08};
  frame.resize(18 + 2 * 3);
  frame.insert(frame.end(), {0xFF, 0xFF});
  frame.resize(60);
  const uint64_t last = b.send(frame);
  CHECK(b.top().paused_o == 0x08);
  CHECK(b.began[3] == last + 2);
  CHECK(b.pauses == 1);
  CHECK(b.prio == std::array<uint64_t, 8>{0, 0, 0, 1, 0, 0, 0, 0});
  CHECK(b.out.frames().empty());
  // 83.9 us at 400 Gb/s.
  b.wait_free(60000);
  const double us = static_cast<double>(b.ended[3] - b.began[3]) * kMacPs * 1e-6;
  CHECK(us > 83.88);
  CHECK(us < 83.89);
}

TEMPLATE_TEST_CASE("a pause is never shorter than its quanta and at most two cycles longer", "",
                   WIDTHS) {
  auto rng = test::rng("quanta");
  for (const double gbps : {10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0, 800.0, 37.3}) {
    PauseBench<TestType> b(gbps);
    for (int trial = 0; trial < 12; ++trial) {
      const auto quanta = static_cast<uint16_t>(trial == 0 ? 1 : rng.between(1, 3000));
      const bool link = rng.chance(0.3);
      b.bench.tick(rng.below(5));
      b.send(bytes_of(link ? link_pause(quanta) : pfc(0x24, quanta)));
      CHECK(b.top().paused_o == (b.cycles_of(quanta) < 3 ? b.top().paused_o : link ? 0xFF : 0x24));
      b.wait_free(200000);
      const auto cycles = static_cast<double>(b.ended[2] - b.began[2]);
      INFO(gbps << " Gb/s, " << quanta << " quanta");
      CHECK(cycles >= b.cycles_of(quanta));
      CHECK(cycles <= b.cycles_of(quanta) + 2);
      CHECK(b.ended[5] == b.ended[2]);
    }
  }
}

TEST_CASE("the longest pause at the slowest rate is as exact") {
  PauseBench<Vpfc_rx_512> b(10);
  b.send(bytes_of(pfc(0x01, 0xFFFF)));
  b.wait_free(3'000'000);
  const auto cycles = static_cast<double>(b.ended[0] - b.began[0]);
  CHECK(cycles >= b.cycles_of(0xFFFF));
  CHECK(cycles <= b.cycles_of(0xFFFF) + 2);
}

TEMPLATE_TEST_CASE("a later frame replaces the time of the classes it names, zero ends it", "",
                   WIDTHS) {
  PauseBench<TestType> b(100);
  b.send(bytes_of(pfc(0x81, 1000)));
  const uint64_t again = b.send(bytes_of(pfc(0x01, 50)));
  CHECK(b.top().paused_o == 0x81);
  b.bench.wait(
      "class 0", [&] { return !b.was[0]; }, 400);
  CHECK(static_cast<double>(b.ended[0] - (again + 2)) >= b.cycles_of(50));
  CHECK(static_cast<double>(b.ended[0] - (again + 2)) <= b.cycles_of(50) + 2);
  CHECK(b.top().paused_o == 0x80);
  b.send(bytes_of(pfc(0x80, 0)));
  CHECK(b.top().paused_o == 0);
  CHECK(b.prio == std::array<uint64_t, 8>{2, 0, 0, 0, 0, 0, 0, 2});
  // The link's own time runs beside those of the classes.
  b.send(bytes_of(pfc(0x10, 400)));
  CHECK(b.top().link_paused_o == 0);
  b.send(bytes_of(link_pause(40)));
  CHECK(b.top().paused_o == 0xFF);
  CHECK(b.top().link_paused_o == 1);
  b.bench.wait(
      "the link", [&] { return !b.was[0]; }, 400);
  CHECK(b.top().paused_o == 0x10);
  CHECK(b.top().link_paused_o == 0);
  b.send(bytes_of(link_pause(0)));
  CHECK(b.top().paused_o == 0x10);
}

TEMPLATE_TEST_CASE("what is not enabled is counted and not obeyed, and ends when switched off", "",
                   WIDTHS) {
  PauseBench<TestType> b;
  b.top().cfg_classes_i = 0x0F;
  b.top().cfg_link_i = 0;
  b.send(bytes_of(pfc(0xFF, 5000)));
  b.send(bytes_of(link_pause(5000)));
  CHECK(b.top().paused_o == 0x0F);
  CHECK(b.pauses == 2);
  CHECK(b.prio == std::array<uint64_t, 8>{1, 1, 1, 1, 1, 1, 1, 1});
  b.top().cfg_classes_i = 0x0E;
  b.bench.tick(2);
  CHECK(b.top().paused_o == 0x0E);
  CHECK(b.bad == 0);
}

TEMPLATE_TEST_CASE("control frames that pause nothing do not pass either", "", WIDTHS) {
  PauseBench<TestType> b;
  const Bytes good = bytes_of(pfc(0xFF, 0xFFFF));
  const auto with = [&](size_t at, uint8_t value) {
    Bytes f = good;
    f[at] = value;
    return f;
  };
  b.send(with(5, 0x0E));   // another reserved address
  b.send(with(0, 0x00));   // a station's
  b.send(with(15, 0x02));  // opcode 0x0102
  b.send(with(14, 0x00));  // opcode 0x0001, then, which has a time of 0x00FF
  CHECK(b.top().paused_o == 0xFF);
  b.send(bytes_of(link_pause(0)));
  b.send(good, true);  // bad FCS
  b.send(Bytes(good.begin(), good.begin() + 59));
  b.send(Bytes(good.begin(), good.begin() + 14));
  b.send(Bytes(good.begin(), good.begin() + 34));
  CHECK(b.top().paused_o == 0);
  CHECK(b.bad == 7);
  CHECK(b.pauses == 2);
  CHECK(b.out.frames().empty());
  // Longer ones are good.
  Bytes longer = good;
  longer.resize(300, 0xEE);
  b.send(longer);
  CHECK(b.top().paused_o == 0xFF);
  CHECK(b.bad == 7);
}

TEMPLATE_TEST_CASE("other frames pass unchanged in the same cycle, between pauses", "", WIDTHS) {
  PauseBench<TestType> b;
  auto rng = test::rng("frames");
  std::vector<WireFrame> want;
  uint64_t pauses = 0;
  for (int i = 0; i < 400; ++i) {
    if (rng.chance(0.3)) {
      b.driver.push({bytes_of(pfc(static_cast<uint8_t>(rng.u32()), 3))});
      ++pauses;
      continue;
    }
    WireFrame f{rng.bytes(rng.between(1, 400)), rng.chance(0.2)};
    // The type behind a tag, in the payload, and a short frame that ends before its type.
    if (f.bytes.size() >= 20) {
      f.bytes[12] = 0x81;
      f.bytes[13] = 0;
      f.bytes[16] = 0x88;
      f.bytes[17] = 0x08;
    } else if (f.bytes.size() > 12) {
      f.bytes[12] = 0x88;
      if (f.bytes.size() > 13) f.bytes[13] = 0x09;
    }
    b.driver.push(f);
    want.push_back(f);
  }
  if (rng.chance(0.5)) b.driver.set_gaps(test::Stall::random(0.3));
  b.bench.wait(
      "frames to be driven", [&] { return b.driver.idle(); }, 100000);
  b.bench.tick(8);
  REQUIRE(b.out.frames().size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    REQUIRE(b.out.frames()[i].bytes == want[i].bytes);
    REQUIRE(b.out.frames()[i].err == want[i].err);
  }
  CHECK(b.pauses == pauses);
  CHECK(b.bad == 0);
}

TEMPLATE_TEST_CASE("a reset ends every pause", "", WIDTHS) {
  PauseBench<TestType> b;
  b.send(bytes_of(pfc(0xFF, 0xFFFF)));
  b.send(bytes_of(link_pause(0xFFFF)));
  b.bench.reset();
  CHECK(b.top().paused_o == 0);
  b.bench.tick(10);
  CHECK(b.top().paused_o == 0);
  b.send(bytes_of(pfc(0x02, 100)));
  CHECK(b.top().paused_o == 0x02);
}

TEST_CASE("a packet's class comes from its DSCP through the map, or from its tag") {
  test::Bench<Vpfc_class> bench;
  auto& t = bench.top();
  auto rng = test::rng("map");
  std::array<uint8_t, 64> map{};
  for (auto& m : map) m = static_cast<uint8_t>(rng.below(8));
  for (unsigned w = 0; w < 8; ++w) {
    t.cfg_map_i[w] = 0;
    for (unsigned i = 0; i < 8; ++i) t.cfg_map_i[w] |= uint32_t{map[w * 8 + i]} << (4 * i);
  }
  t.cfg_default_i = 5;
  for (unsigned dscp = 0; dscp < 64; ++dscp) {
    for (unsigned pcp = 0; pcp < 8; ++pcp) {
      for (const bool by_tag : {false, true}) {
        for (const bool ip : {false, true}) {
          for (const bool tag : {false, true}) {
            t.cfg_pcp_i = by_tag;
            t.ip_i = ip;
            t.vlan_i = tag;
            t.dscp_i = static_cast<CData>(dscp);
            t.pcp_i = static_cast<CData>(pcp);
            t.eval();
            const unsigned want = by_tag ? (tag ? pcp : 5) : (ip ? map[dscp] : 5);
            REQUIRE(t.class_o == want);
          }
        }
      }
    }
  }
}
