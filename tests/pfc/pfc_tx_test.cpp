// SPDX-License-Identifier: Apache-2.0
// Pause frames byte by byte against the builder of harness/switch, their places among other frames,
// their repetition against the time they give.
#include <Vpfc_tx_1024.h>
#include <Vpfc_tx_128.h>
#include <Vpfc_tx_256.h>

#include <cmath>

#include "harness/switch/pause_frame.hpp"
#include "tests/mac_tx_gen/frames.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;
using rnic::switching::PauseFrame;

namespace {

constexpr double kBitsPerCycle = 320;  // 200 Gb/s at 1.6 ns
const rnic::roce::MacAddr kOwn = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

template <class Top>
class PauseBench : public Bench<Top> {
 public:
  static constexpr size_t kBytes = sizeof(Top::in_data);

  PauseBench()
      : in(*this, "in", this->top().in_valid, this->top().in_ready,
           [this](const Beat& b) {
             auto& t = this->top();
             write_pin(t.in_data, b.data);
             t.in_cnt = static_cast<CData>(b.cnt);
             t.in_last = b.last;
             t.in_abort = b.bad;
             write_pin(t.in_eth, b.eth);
           }),
        out(*this, "out", this->top().out_valid, this->top().out_ready, [this] {
          auto& t = this->top();
          return Beat{read_pin(t.out_data), t.out_cnt, t.out_last != 0, t.out_abort != 0,
                      read_pin(t.out_eth)};
        }) {
    auto& t = this->top();
    t.cfg_quanta_i = 0xFFFF;
    t.cfg_bits_i = static_cast<uint64_t>(kBitsPerCycle) << 20;
    t.cfg_mac_i = 0x021122334455;
    t.in_level_i = 3;
    out.on_item([this](const Beat& b) { frames.take(b, this->cycle()); });
    this->on_sample([this] {
      auto& top = this->top();
      pauses += top.cnt_tx_pause_o;
      dropped += top.cnt_dropped_o;
      for (unsigned i = 0; i < 8; ++i) prio[i] += top.cnt_tx_prio_pause_o >> i & 1;
    });
    this->reset();
  }
  void send(const std::vector<uint8_t>& bytes) {
    for (const Beat& b : cut(bytes, kBytes, kTxEth.pack({{"qpn", 77}}))) in.push(b);
  }
  void xoff(uint8_t classes, uint64_t cycles = 12) {
    this->top().xoff_i = classes;
    this->tick(cycles);
  }
  static bool is_pause(const Frame& f) { return f.bytes.size() >= 14 && f.bytes[12] == 0x88; }
  // The frames in order, decoded; others are left out.
  std::vector<PauseFrame> told() const {
    std::vector<PauseFrame> list;
    for (const Frame& f : frames.frames) {
      if (!is_pause(f)) continue;
      PauseFrame p;
      REQUIRE(rnic::switching::parse_pause(f.bytes, p));
      list.push_back(p);
    }
    return list;
  }

  StreamSource<Beat> in;
  StreamSink<Beat> out;
  Collector frames{kBytes};
  uint64_t pauses = 0, dropped = 0;
  std::array<uint64_t, 8> prio{};
};

std::vector<uint8_t> expected(const PauseFrame& p) {
  const auto f = rnic::switching::build_pause(p, kOwn);
  return {f.begin(), f.end()};
}

}  // namespace

#define WIDTHS Vpfc_tx_128, Vpfc_tx_256, Vpfc_tx_1024

TEMPLATE_TEST_CASE("a full class is told, and told again when it has room", "", WIDTHS) {
  PauseBench<TestType> b;
  b.xoff(0x08);
  REQUIRE(b.frames.frames.size() == 1);
  PauseFrame p;
  p.mask = 0x08;
  p.quanta[3] = 0xFFFF;
  CHECK(b.frames.frames[0].bytes == expected(p));
  CHECK(b.frames.frames[0].eth == raw_eth());
  CHECK_FALSE(b.frames.frames[0].bad);
  b.top().cfg_quanta_i = 0x1234;
  b.xoff(0x48);
  p.mask = 0x48;
  p.quanta[3] = p.quanta[6] = 0x1234;
  REQUIRE(b.frames.frames.size() == 2);
  CHECK(b.frames.frames[1].bytes == expected(p));
  b.xoff(0x40);
  p.quanta[3] = 0;
  REQUIRE(b.frames.frames.size() == 3);
  CHECK(b.frames.frames[2].bytes == expected(p));
  b.xoff(0);
  p.mask = 0x40;
  p.quanta[6] = 0;
  REQUIRE(b.frames.frames.size() == 4);
  CHECK(b.frames.frames[3].bytes == expected(p));
  b.tick(200'000);
  CHECK(b.frames.frames.size() == 4);  // nothing is paused, nothing is repeated
  CHECK(b.pauses == 4);
  CHECK(b.prio == std::array<uint64_t, 8>{0, 0, 0, 2, 0, 0, 2, 0});
}

TEMPLATE_TEST_CASE("the pause of the whole link speaks for any class", "", WIDTHS) {
  PauseBench<TestType> b;
  b.top().cfg_link_i = 1;
  b.xoff(0x01);
  b.xoff(0x81);
  b.xoff(0x80);
  b.xoff(0);
  REQUIRE(b.frames.frames.size() == 2);
  PauseFrame p;
  p.legacy = true;
  p.quanta[0] = 0xFFFF;
  CHECK(b.frames.frames[0].bytes == expected(p));
  p.quanta[0] = 0;
  CHECK(b.frames.frames[1].bytes == expected(p));
  CHECK(b.prio == std::array<uint64_t, 8>{});
}

TEMPLATE_TEST_CASE("a pause is repeated long before its time is over", "", WIDTHS) {
  for (const uint16_t quanta : {20, 1000, 60000}) {
    PauseBench<TestType> b;
    b.top().cfg_quanta_i = quanta;
    const double time = quanta * 512.0 / kBitsPerCycle;
    b.xoff(0x21, static_cast<uint64_t>(time * 5));
    const auto& f = b.frames.frames;
    REQUIRE(f.size() >= 9);
    CHECK(f.size() <= 11);
    for (size_t i = 1; i < f.size(); ++i) {
      const auto between = static_cast<double>(f[i].last - f[i - 1].last);
      CHECK(between >= time / 2);
      CHECK(between <= time / 2 + 8);
      CHECK(f[i].bytes == f[0].bytes);
    }
  }
}

TEMPLATE_TEST_CASE("pauses go between frames, which pass whole, in order, in the same cycle", "",
                   WIDTHS) {
  for (const bool stalls : {false, true}) {
    PauseBench<TestType> b;
    auto random = rng("frames");
    if (stalls) {
      b.in.set_stall(Stall::random(0.3));
      b.out.set_stall(Stall::random(0.4));
    }
    std::vector<std::vector<uint8_t>> want;
    for (int i = 0; i < 300; ++i) {
      auto bytes = random.bytes(random.between(60, 700));
      bytes[12] = 0x08;  // IPv4
      want.push_back(bytes);
      b.send(bytes);
    }
    uint8_t told = 0;
    while (b.in.pending() != 0) {
      if (random.chance(0.1)) told = static_cast<uint8_t>(random.u32());
      b.xoff(told, random.between(1, 12));
    }
    b.xoff(0, 60);
    // What was told last holds, and every class that was paused has been released.
    uint8_t paused = 0;
    const auto list = b.told();
    REQUIRE(list.size() > 10);
    for (const PauseFrame& p : list) {
      for (unsigned i = 0; i < 8; ++i) {
        if ((p.mask >> i & 1) == 0) continue;
        paused = static_cast<uint8_t>(p.quanta[i] != 0 ? paused | 1u << i : paused & ~(1u << i));
      }
    }
    CHECK(paused == 0);
    CHECK(b.pauses == list.size());
    size_t next = 0;
    for (const Frame& f : b.frames.frames) {
      if (b.is_pause(f)) continue;
      REQUIRE(next < want.size());
      REQUIRE(f.bytes == want[next++]);
      REQUIRE(f.eth == kTxEth.pack({{"qpn", 77}}));
    }
    CHECK(next == want.size());
  }
}

TEMPLATE_TEST_CASE("a pause waits for the frame on its way and for no other", "", WIDTHS) {
  PauseBench<TestType> b;
  std::vector<uint8_t> frame(1000, 0x08);
  for (int i = 0; i < 10; ++i) b.send(frame);
  b.tick(3);
  const size_t before = b.frames.frames.size();
  b.xoff(0x01, 800);
  REQUIRE(b.frames.frames.size() == 11);
  size_t at = 0;
  while (at < 11 && !b.is_pause(b.frames.frames[at])) ++at;
  // It is ready a cycle later, when the next frame may have begun.
  CHECK(at >= before);
  CHECK(at <= before + 2);
}

TEMPLATE_TEST_CASE("while the link is paused no frame begins, one on its way ends, pauses go", "",
                   WIDTHS) {
  PauseBench<TestType> b;
  std::vector<uint8_t> frame(1000, 0x08);
  for (int i = 0; i < 5; ++i) b.send(frame);
  b.tick(3);
  const bool inside = b.frames.inside();
  const size_t before = b.frames.frames.size();
  b.top().stop_i = 1;
  b.tick(300);
  const size_t stopped = b.frames.frames.size();
  CHECK(stopped <= before + 1);
  CHECK((!inside || stopped == before + 1));
  CHECK_FALSE(b.frames.inside());
  b.xoff(0x02, 20);
  REQUIRE(b.frames.frames.size() == stopped + 1);
  CHECK(b.is_pause(b.frames.frames.back()));
  b.top().stop_i = 0;
  b.tick(500);
  REQUIRE(b.frames.frames.size() == 6);
  for (const Frame& f : b.frames.frames) CHECK((b.is_pause(f) || f.bytes == frame));
}

TEMPLATE_TEST_CASE(
    "in a storm of the link whole frames are dropped, pauses go, one on its way ends", "", WIDTHS) {
  for (const bool stalls : {false, true}) {
    PauseBench<TestType> b;
    auto random = rng("frames");
    if (stalls) {
      b.in.set_stall(Stall::random(0.3));
      b.out.set_stall(Stall::random(0.4));
    }
    std::vector<std::vector<uint8_t>> sent;
    for (int i = 0; i < 200; ++i) {
      auto bytes = random.bytes(random.between(60, 500));
      bytes[12] = 0x08;
      sent.push_back(bytes);
      b.send(bytes);
    }
    uint8_t told = 0;
    while (b.in.pending() != 0) {
      if (random.chance(0.05)) b.top().drop_i = !b.top().drop_i;
      if (random.chance(0.05)) told = static_cast<uint8_t>(random.u32());
      b.xoff(told, random.between(1, 12));
    }
    b.top().drop_i = 0;
    b.xoff(0, 60);
    size_t next = 0, passed = 0;
    for (const Frame& f : b.frames.frames) {
      if (b.is_pause(f)) continue;
      while (next < sent.size() && sent[next] != f.bytes) ++next;
      REQUIRE(next < sent.size());
      ++next;
      ++passed;
    }
    CHECK(passed + b.dropped == sent.size());
    CHECK(passed > 20);
    CHECK(b.dropped > 20);
    CHECK(b.told().size() == b.pauses);
  }
}
