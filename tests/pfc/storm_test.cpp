// SPDX-License-Identifier: Apache-2.0
// Pauses without end: when they count as such, what they stop then, what is told of them; which
// packets are dropped; how many slots a class may take.
#include <Vpfc_storm.h>
#include <Vslot_share_16.h>
#include <Vslot_share_64.h>
#include <Vstorm_drop.h>

#include <deque>
#include <map>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

const PkgStruct kEvent("event_t");
constexpr uint64_t kUs = 500;  // cycles

struct Told {
  bool begins = false;
  uint64_t levels = 0, cycle = 0;
};

struct StormBench {
  StormBench()
      : events(bench, "ev", bench.top().ev_valid, bench.top().ev_ready,
               [this] { return read_pin(bench.top().ev); }) {
    events.on_item([this](const Bits& e) {
      CHECK(kEvent.get(e, "etype") == 12);  // PAUSE_STORM
      CHECK(kEvent.get(e, "eqn") == 0);
      told.push_back({kEvent.get(e, "code") == 1, kEvent.get(e, "number"), bench.cycle()});
    });
    bench.on_sample([this] { storms += bench.top().cnt_storms_o; });
    bench.top().cfg_limit_i = 3;
    bench.top().cfg_restore_i = 2;
    bench.reset();
  }
  void pause(unsigned classes, bool link, uint64_t cycles) {
    bench.top().paused_i = static_cast<CData>(link ? 0xFF : classes);
    bench.top().link_paused_i = link;
    bench.tick(cycles);
  }

  Bench<Vpfc_storm> bench;
  StreamSink<Bits> events;
  std::vector<Told> told;
  uint64_t storms = 0;
};

}  // namespace

TEST_CASE(
    "a storm begins and ends no earlier than its times say, and at most a microsecond later") {
  StormBench b;
  auto random = rng("phases");
  for (int i = 0; i < 20; ++i) {
    b.told.clear();
    b.bench.tick(random.below(kUs));
    const uint64_t from = b.bench.cycle();
    b.pause(0x10, false, 0);
    b.bench.wait(
        "a storm", [&] { return b.bench.top().storm_o != 0; }, 5 * kUs);
    const uint64_t took = b.bench.cycle() - from;
    CHECK(took > 3 * kUs);
    CHECK(took <= 4 * kUs + 3);
    CHECK(b.bench.top().storm_o == 0x10);
    b.bench.tick(5 * kUs);
    const uint64_t free = b.bench.cycle();
    b.pause(0, false, 0);
    b.bench.wait(
        "its end", [&] { return b.bench.top().storm_o == 0; }, 5 * kUs);
    CHECK(b.bench.cycle() - free > 2 * kUs);
    CHECK(b.bench.cycle() - free <= 3 * kUs + 3);
    b.bench.tick(5);
    REQUIRE(b.told.size() == 2);
    CHECK(b.told[0].begins);
    CHECK(b.told[0].levels == 0x10);
    CHECK_FALSE(b.told[1].begins);
    CHECK(b.told[1].levels == 0x10);
  }
  CHECK(b.storms == 20);
}

TEST_CASE("a pause with an interruption is no storm, a storm with short breaks is one") {
  StormBench b;
  for (int i = 0; i < 10; ++i) {
    b.pause(0x02, false, 2 * kUs + kUs / 2);
    b.pause(0, false, 1);
  }
  CHECK(b.told.empty());
  b.pause(0x02, false, 5 * kUs);
  for (int i = 0; i < 10; ++i) {
    b.pause(0, false, kUs);
    b.pause(0x02, false, 10);
  }
  CHECK(b.told.size() == 1);
  b.bench.top().cfg_limit_i = 0;  // no limit: no storm
  b.pause(0xFF, true, 20 * kUs);
  CHECK(b.bench.top().storm_o == 0);
  REQUIRE(b.told.size() == 2);
  CHECK_FALSE(b.told[1].begins);
}

TEST_CASE("in a storm pauses are obeyed, ignored, or what they stop is dropped") {
  for (const unsigned action : {0u, 1u, 2u, 3u}) {
    INFO("action " << action);
    StormBench b;
    auto& t = b.bench.top();
    t.cfg_action_i = static_cast<CData>(action);
    b.pause(0x81, false, kUs);
    CHECK(t.paused_o == 0x81);
    b.pause(0x83, false, 3 * kUs + kUs / 2);  // class 1 is not in a storm yet
    CHECK(t.storm_o == 0x81);
    const bool ends = action == 1 || action == 2;
    CHECK(t.paused_o == (ends ? 0x02 : 0x83));
    CHECK(t.drop_o == (action == 2 ? 0x81 : 0));
    CHECK_FALSE(t.link_free_o);
    CHECK_FALSE(t.link_drop_o);
    b.pause(0, true, 5 * kUs);
    CHECK(t.storm_o == 0x1FF);
    CHECK(t.paused_o == (ends ? 0 : 0xFF));
    CHECK(t.drop_o == (action == 2 ? 0xFF : 0));
    CHECK(static_cast<bool>(t.link_free_o) == ends);
    CHECK(static_cast<bool>(t.link_drop_o) == (action == 2));
    b.pause(0, false, 4 * kUs);
    CHECK(t.storm_o == 0);
    CHECK(t.drop_o == 0);
    CHECK_FALSE(t.link_free_o);
  }
}

TEST_CASE("what begins or ends while an event waits is told in the next, nothing is forgotten") {
  StormBench b;
  auto random = rng("storms");
  b.events.set_stall(Stall::random(0.995));
  b.bench.top().cfg_limit_i = 1;
  b.bench.top().cfg_restore_i = 0;
  for (int i = 0; i < 300; ++i)
    b.pause(random.chance(0.3) ? 0 : random.u32() & 0xFF, random.chance(0.2),
            random.below(3 * kUs));
  b.pause(0x24, false, 5 * kUs);
  b.events.set_stall(Stall::none());
  b.bench.tick(50);
  uint64_t state = 0;
  for (const Told& t : b.told) {
    CHECK(t.levels != 0);
    CHECK((state & t.levels) == (t.begins ? 0 : t.levels));
    state ^= t.levels;
  }
  CHECK(state == 0x24);
  CHECK(b.told.size() > 20);
}

TEST_CASE("packets of a storm's class are dropped whole, others pass in the same cycle") {
  Bench<Vstorm_drop> bench;
  auto& t = bench.top();
  auto random = rng("packets");
  struct Packet {
    unsigned number, cls, beats;
  };
  std::deque<Packet> queue;
  unsigned made = 0, beat = 0;
  std::map<unsigned, unsigned> passed, dropped;  // beats of a packet
  uint64_t counted = 0;
  bool stopped = false;
  const auto offer = [&] {
    if (queue.empty() && !stopped)
      queue.push_back({made++, static_cast<unsigned>(random.below(8)),
                       static_cast<unsigned>(random.between(1, 5))});
    t.in_valid = !queue.empty() && (beat != 0 || random.chance(0.8));
    if (queue.empty()) return;
    t.in_class = static_cast<CData>(queue.front().cls);
    t.in_last = beat + 1 == queue.front().beats;
  };
  bool held = false;
  bench.on_sample([&] {
    counted += t.cnt_dropped_o;
    if (held) REQUIRE(t.out_valid);
    held = t.out_valid && !t.out_ready;
    if (!t.in_valid || !t.in_ready) return;
    const Packet& p = queue.front();
    (t.out_valid ? passed : dropped)[p.number]++;
    if (++beat == p.beats) {
      beat = 0;
      queue.pop_front();
    }
  });
  bool waits = false;
  bench.on_drive([&] {
    if (random.chance(0.05)) t.drop_i = static_cast<CData>(random.u32());
    t.out_ready = random.chance(0.6);
    if (!waits) offer();
    waits = false;
  });
  bench.on_sample([&] { waits = t.in_valid && !t.in_ready; });
  bench.reset();
  bench.tick(20'000);
  stopped = true;
  bench.tick(100);
  CHECK(counted == dropped.size());
  CHECK(dropped.size() > 500);
  CHECK(passed.size() > 500);
  for (const auto& [number, beats] : dropped) CHECK(passed.count(number) == 0);
}

TEMPLATE_TEST_CASE("a class holds its share of slots, and the rest stay for the others", "",
                   Vslot_share_16, Vslot_share_64) {
  Bench<TestType> bench;
  auto& t = bench.top();
  const unsigned slots = std::is_same_v<TestType, Vslot_share_16> ? 16 : 64;
  const unsigned all = slots - slots / 8;
  bench.reset();
  for (unsigned classes = 0; classes <= 8; ++classes) {
    const unsigned share = classes == 0 || all / classes <= 4 ? 1 : all / classes - 4;
    t.cfg_classes_i = static_cast<CData>((1u << classes) - 1);
    bench.tick(3);
    CHECK(t.hold_o == 0);
    unsigned taken = 0;
    for (unsigned c = 0; c < std::max(1u, classes); ++c) {
      while ((t.hold_o >> c & 1) == 0 && taken < slots) {
        t.in_valid = 1;
        t.in_class = static_cast<CData>(c);
        bench.tick();
        t.in_valid = 0;
        bench.tick(3);
        ++taken;
      }
      if (classes != 0) CHECK(taken == (c + 1) * share);
    }
    if (classes == 0) {
      CHECK(t.hold_o == 0);  // no pause is obeyed, so there is nothing to keep slots for
      CHECK(taken == slots);
    }
    CHECK(t.hold_o == t.cfg_classes_i);
    if (classes != 0 && all / classes > 4) CHECK(taken + 4 * classes + slots / 8 <= slots);
    // A pause holds a class that has none, at once.
    t.paused_i = 0x80;
    bench.tick(2);
    CHECK(t.hold_o == (t.cfg_classes_i | 0x80));
    t.paused_i = 0;
    // One slot free: its class may take one again.
    while (taken > 0) {
      const unsigned c = classes == 0 ? 0 : (taken - 1) / share;
      t.out_valid = 1;
      t.out_class = static_cast<CData>(c);
      bench.tick();
      t.out_valid = 0;
      bench.tick(2);
      CHECK((t.hold_o >> c & 1) == 0);
      --taken;
    }
  }
}
