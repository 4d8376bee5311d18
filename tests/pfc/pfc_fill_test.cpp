// SPDX-License-Identifier: Apache-2.0
// Fill per class against a count of the frames that are here; watermarks.
#include <Vpfc_fill.h>

#include <deque>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kBeat = 64, kBuffer = 16384, kList = 64;
constexpr unsigned kShare = kBuffer / kList;  // bytes that a frame counts at least

struct FillBench {
  FillBench() {
    auto& t = bench.top();
    t.cfg_classes_i = 0xFF;
    for (unsigned i = 0; i < 8; ++i) marks(i, 4096 + 256 * i, 2048);
    bench.reset();
  }
  void marks(unsigned cls, uint32_t xoff, uint32_t xon) {
    set(bench.top().cfg_xoff_i, cls, xoff);
    set(bench.top().cfg_xon_i, cls, xon);
    high[cls] = xoff;
    low[cls] = xon;
  }
  // One cycle: a frame comes, one goes, both or none.
  void cycle(int cls, unsigned rows, bool free) {
    auto& t = bench.top();
    const bool past = cls >= 0 && free && here.empty();
    t.in_valid = cls >= 0;
    t.in_past_i = past;
    t.in_class = static_cast<CData>(cls < 0 ? 0 : cls);
    t.in_rows = static_cast<SData>(rows);
    t.free_i = free && !here.empty();
    bench.tick();
    if (free && !here.empty()) {
      fill[here.front().first] -= here.front().second;
      here.pop_front();
    }
    if (cls >= 0 && !past) {
      const unsigned bytes = std::max(rows * kBeat, kShare);
      here.emplace_back(cls, bytes);
      fill[static_cast<size_t>(cls)] += bytes;
    }
    t.in_valid = t.free_i = 0;
  }
  // What must be asked for now: levels that have been crossed, nothing in between.
  void follow() {
    for (unsigned i = 0; i < 8; ++i) {
      if (fill[i] >= high[i]) want |= static_cast<uint8_t>(1u << i);
      if (fill[i] <= low[i]) want &= static_cast<uint8_t>(~(1u << i));
    }
  }
  uint8_t xoff() {
    bench.tick(2);
    return bench.top().xoff_o;
  }

  Bench<Vpfc_fill> bench;
  std::deque<std::pair<unsigned, unsigned>> here;
  std::array<unsigned, 8> fill{}, high{}, low{};
  uint8_t want = 0;

 private:
  static void set(VlWide<6>& pins, unsigned cls, uint32_t value) {
    for (unsigned b = 0; b < 24; ++b) {
      const unsigned at = cls * 24 + b;
      const uint32_t bit = 1u << (at % 32);
      pins[at / 32] = (value >> b & 1) != 0 ? pins[at / 32] | bit : pins[at / 32] & ~bit;
    }
  }
};

}  // namespace

TEST_CASE("a class is asked to pause from its high mark on until its low one") {
  FillBench b;
  b.marks(2, 1024, 512);
  for (int i = 0; i < 3; ++i) b.cycle(2, 4, false);
  CHECK(b.xoff() == 0);  // 768 bytes
  b.cycle(2, 4, false);
  CHECK(b.xoff() == 0x04);  // 1024
  b.cycle(-1, 0, true);
  CHECK(b.xoff() == 0x04);  // 768
  b.cycle(-1, 0, true);
  CHECK(b.xoff() == 0);  // 512
  // One whole frame may cross both marks.
  b.cycle(2, 100, false);
  CHECK(b.xoff() == 0x04);
  while (!b.here.empty()) b.cycle(-1, 0, true);
  CHECK(b.xoff() == 0);
}

TEST_CASE("small frames count their share of the list") {
  FillBench b;
  b.marks(0, 8192, 4096);
  for (unsigned i = 0; i < 8192 / kShare - 1; ++i) b.cycle(0, 1, false);
  CHECK(b.xoff() == 0);
  b.cycle(0, 1, false);
  CHECK(b.xoff() == 0x01);
}

TEST_CASE("a class that is not enabled is never asked to pause") {
  FillBench b;
  b.cycle(3, 200, false);
  CHECK(b.xoff() == 0x08);
  b.bench.top().cfg_classes_i = 0xF7;
  CHECK(b.xoff() == 0);
}

TEST_CASE("frames of all classes, in and out in any cycle") {
  FillBench b;
  auto random = rng("frames");
  uint64_t asked = 0, passed = 0;
  for (int i = 0; i < 20000; ++i) {
    unsigned used = 0;
    for (const unsigned f : b.fill) used += f;
    const bool filling = (i / 500) % 2 == 0;
    const auto rows = static_cast<unsigned>(random.between(1, 24));
    const bool room = used + std::max(rows * kBeat, kShare) <= kBuffer && b.here.size() < kList;
    const bool in = room && random.chance(filling ? 0.7 : 0.2);
    const bool out = random.chance(filling ? 0.3 : 0.7);
    passed += in && out && b.here.empty();
    b.cycle(in ? static_cast<int>(random.below(i % 3 == 0 ? 2 : 8)) : -1, rows, out);
    b.follow();
    if (i % 7 != 0) continue;
    const uint8_t got = b.xoff();
    REQUIRE(got == b.want);
    asked += got != 0;
  }
  CHECK(asked > 200);
  CHECK(passed > 100);
  b.bench.reset();
  b.here.clear();
  b.fill = {};
  b.want = 0;
  CHECK(b.xoff() == 0);
  b.cycle(1, 80, false);
  CHECK(b.xoff() == 0x02);
}
