// SPDX-License-Identifier: Apache-2.0
#include <Vtrace_unit.h>
#include <Vtrace_unit_one.h>

#include <deque>
#include <map>
#include <optional>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

struct Event {
  uint64_t time;
  uint32_t info;
  uint32_t qpn;
  uint8_t id;
};

inline void set_lane(WData* pin, unsigned lane, uint64_t v) {
  pin[2 * lane] = static_cast<uint32_t>(v);
  pin[2 * lane + 1] = static_cast<uint32_t>(v >> 32);
}
inline void set_lane(QData& pin, unsigned, uint64_t v) { pin = v; }

// Drives random events, each with its own info, and remembers when each was on the pins.
template <class Top, unsigned kSources>
struct TraceBench : Bench<Top> {
  Top& t = this->top();
  double p_event = 0, p_sampled = 1;
  uint32_t next_info = 1;
  uint64_t clock = 0;              // what clk_o must be
  std::map<uint32_t, Event> sent;  // wanted ones, by info
  std::map<uint32_t, unsigned> source_of;
  uint64_t lost = 0;  // by the pulses
  Rng random = rng("events");

  TraceBench() {
    t.req_i = 0;
    t.enable_i = 1;
    t.all_i = 0;
    t.clear_i = 0;
    t.clk_set_i = 0;
    t.trc_valid_i = 0;
    this->on_sample([this] {
      if (t.clk_o != clock) throw ProtocolError("clk_o");
      for (unsigned s = 0; s < kSources; ++s) {
        if ((t.trc_valid_i >> s & 1) == 0 || t.enable_i == 0) continue;
        if (t.all_i == 0 && (t.trc_sampled_i >> s & 1) == 0) continue;
        auto e = lanes[s];
        e.time = clock;
        sent[e.info] = e;
        source_of[e.info] = s;
      }
      if (t.lost_pulse_o != (t.lost_amount_o != 0)) throw ProtocolError("lost_pulse_o");
      lost += t.lost_amount_o;
      clock = t.clk_set_i != 0 ? t.clk_value_i : clock + 1;
    });
    this->on_drive([this] { choose(); });
    this->reset();
  }

  void choose() {
    unsigned valid = 0, sampled = 0;
    for (unsigned s = 0; s < kSources; ++s) {
      if (random.chance(p_sampled)) sampled |= 1U << s;
      if (!random.chance(p_event)) continue;
      valid |= 1U << s;
      lanes[s] = {0, next_info++, static_cast<uint32_t>(random.bits(24)),
                  static_cast<uint8_t>(random.between(1, 255))};
      set_lane(t.trc_i, s,
               static_cast<uint64_t>(lanes[s].id) << 56 |
                   static_cast<uint64_t>(lanes[s].qpn) << 32 | lanes[s].info);
    }
    t.trc_valid_i = static_cast<CData>(valid);
    t.trc_sampled_i = static_cast<CData>(sampled);
  }
  void run(double p, uint64_t cycles) {
    p_event = p;
    choose();
    this->tick(cycles);
    p_event = 0;
    choose();
  }

  uint32_t word(unsigned i) {
    t.addr_i = static_cast<CData>(4 * i);
    t.req_i = 1;
    unsigned n = 0;
    do {
      this->tick();
      if (++n > 4) throw Timeout("no acknowledge");
    } while (t.ack_o == 0);
    const uint32_t v = t.rdata_o;
    this->tick();
    t.req_i = 0;
    if (t.ack_o != 0) throw ProtocolError("acknowledged twice");
    return v;
  }
  std::optional<Event> pop() {
    Event e{};
    e.time = word(0);
    e.time |= static_cast<uint64_t>(word(1)) << 32;
    e.info = word(2);
    const uint32_t top_word = word(3);
    e.qpn = top_word & 0xFFFFFF;
    e.id = static_cast<uint8_t>(top_word >> 24);
    if (e.id == 0) return std::nullopt;
    return e;
  }

  // Takes everything out: each event is one that was sent, once, with its time, and in order per
  // source.
  size_t drain() {
    this->tick(50);
    std::map<unsigned, uint32_t> last;
    size_t n = 0;
    while (auto e = pop()) {
      ++n;
      CAPTURE(e->info);
      const auto it = sent.find(e->info);
      REQUIRE(it != sent.end());
      CHECK(e->time == it->second.time);
      CHECK(e->qpn == it->second.qpn);
      CHECK(e->id == it->second.id);
      auto& before = last[source_of[e->info]];
      CHECK(e->info > before);
      before = e->info;
      sent.erase(it);
    }
    return n;
  }

  Event lanes[kSources];
};

using Five = TraceBench<Vtrace_unit, 5>;
using One = TraceBench<Vtrace_unit_one, 1>;

}  // namespace

TEST_CASE("trace_unit stores every event with the time of its pins") {
  Five bench;
  for (int round = 0; round < 20; ++round) {
    bench.run(0.15, 60);
    CHECK(bench.t.lost_o == 0);
    const size_t want = bench.sent.size();
    bench.tick(30);
    CHECK(bench.t.level_o == want);
    CHECK(bench.drain() == want);
    CHECK(bench.sent.empty());
  }
}

TEST_CASE("trace_unit takes a burst from all sources at once") {
  {
    Five bench;
    bench.run(1.0, 4);  // 20 events in 4 cycles
    CHECK(bench.drain() == 20);
    CHECK(bench.lost == 0);
  }
  One one;
  one.run(1.0, 4);
  CHECK(one.drain() == 4);
  CHECK(one.lost == 0);
}

TEST_CASE("what trace_unit stores and what it counts as lost is everything") {
  Five bench;
  const double p = GENERATE(1.0, 0.5, 0.25);
  for (int round = 0; round < 10; ++round) {
    const size_t before = bench.sent.size();
    const uint64_t lost_before = bench.lost;
    bench.run(p, 100);
    const size_t sent = bench.sent.size() - before;
    const size_t got = bench.drain();
    CHECK(got <= 64);
    CHECK(got + (bench.lost - lost_before) == sent);
  }
  CHECK(bench.t.lost_o == bench.lost);
}

TEST_CASE("a full ring keeps the oldest events, and the count of lost ones saturates") {
  {
    One bench;
    bench.run(1.0, 10);
    bench.tick(5);
    CHECK(bench.t.level_o == 4);
    CHECK(bench.lost == 6);
    CHECK(bench.pop()->info == 1);
    CHECK(bench.pop()->info == 2);
    CHECK(bench.t.level_o == 2);
    bench.run(1.0, 1);
    bench.tick(5);
    CHECK(bench.t.level_o == 3);
  }
  Five many;
  many.run(1.0, 20000);
  CHECK(many.lost > 70000);
  CHECK(many.t.lost_o == 0xFFFF);
}

TEST_CASE("trace_unit stores sampled events only, all events, or none") {
  Five bench;
  bench.p_sampled = 0.3;
  bench.run(0.15, 100);
  const size_t sampled = bench.sent.size();
  CHECK(sampled > 0);
  CHECK(bench.drain() == sampled);
  bench.t.all_i = 1;
  bench.run(0.1, 80);
  const size_t all = bench.sent.size();
  CHECK(all > sampled);
  CHECK(bench.drain() == all);
  bench.t.enable_i = 0;
  bench.run(0.5, 100);
  CHECK(bench.sent.empty());
  CHECK(bench.drain() == 0);
  CHECK(bench.lost == 0);
}

TEST_CASE("clear empties ring, queues and the count of lost events") {
  Five bench;
  bench.run(1.0, 50);
  bench.t.clear_i = 1;
  bench.tick();
  bench.t.clear_i = 0;
  bench.tick(2);
  CHECK(bench.t.level_o == 0);
  CHECK(bench.t.lost_o == 0);
  CHECK(!bench.pop());
  bench.sent.clear();
  bench.run(0.1, 30);
  const size_t want = bench.sent.size();
  CHECK(bench.drain() == want);
}

TEST_CASE("the clock can be set and events carry the new time") {
  Five bench;
  bench.tick(10);
  bench.t.clk_value_i = 0x00000001FFFFFFF8;
  bench.t.clk_set_i = 1;
  bench.tick();
  bench.t.clk_set_i = 0;
  bench.run(0.2, 30);  // across a carry into the high word
  const size_t want = bench.sent.size();
  CHECK(want > 5);
  CHECK(bench.drain() == want);
}

TEST_CASE(
    "the words of an event stay together while others arrive, and an empty ring reads as event 0") {
  Five bench;
  CHECK(!bench.pop());
  CHECK(bench.word(4) == 0);
  CHECK(bench.word(7) == 0);
  bench.run(1.0, 1);
  bench.tick(10);
  const auto first = bench.pop();
  REQUIRE(first);
  bench.run(1.0, 2);
  CHECK(bench.word(2) == first->info);  // reading again takes nothing
  CHECK(bench.word(3) == (static_cast<uint32_t>(first->id) << 24 | first->qpn));
  bench.tick(20);
  CHECK(bench.t.level_o == 14);
}

TEST_CASE("trace_unit is empty after a reset in mid-stream") {
  Five bench;
  bench.run(1.0, 7);
  bench.reset();
  bench.sent.clear();
  bench.clock = 0;
  bench.lost = 0;
  CHECK(bench.t.level_o == 0);
  CHECK(bench.drain() == 0);
  bench.run(0.1, 50);
  const size_t want = bench.sent.size();
  CHECK(bench.drain() == want);
}
