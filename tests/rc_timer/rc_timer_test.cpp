// SPDX-License-Identifier: Apache-2.0
//
// rc_timer against a list of deadlines: when each timer may fire and when it must have, from the
// time-outs and the RNR table of the fact sheet (sections 1 and 3).
#include <Vrc_ticks.h>
#include <Vrc_timer_1.h>
#include <Vrc_timer_1024.h>
#include <Vrc_timer_5.h>

#include <cmath>
#include <deque>
#include <map>
#include <vector>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

// Microseconds, from the facts.
double ack_us(unsigned code) { return 4.096 * static_cast<double>(uint64_t{1} << code); }
const double kRnrMs[32] = {655.36, 0.01,  0.02,  0.03,   0.04,   0.06,   0.08,   0.12,
                           0.16,   0.24,  0.32,  0.48,   0.64,   0.96,   1.28,   1.92,
                           2.56,   3.84,  5.12,  7.68,   10.24,  15.36,  20.48,  30.72,
                           40.96,  61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

struct Told {
  uint64_t qpn = 0;
  bool rnr = false;
};

// A timer as it should be: when it may fire at the earliest, when it must have at the latest.
struct Timer {
  bool rnr = false;
  double early = 0, late = 0;
};

template <class Top>
class World {
 public:
  World(unsigned n_qp, unsigned period_ps, unsigned shift, Stall stall = {})
      : bench(period_ps),
        top(bench.top()),
        n_(n_qp),
        tick_(std::ceil(1.024e6 / period_ps / (1u << shift))),  // whole cycles
        tmo(
            bench, "tmo", top.tmo_valid, top.tmo_ready,
            [this] { return uint64_t{top.tmo_qpn} | uint64_t{top.tmo_rnr} << 32; }, stall) {
    top.cfg_tick_shift_i = shift;
    bench.on_sample([this] {
      if (top.arm_valid && (top.arm & 31)) arms_.emplace_back(bench.cycle(), top.arm);
      // An arm counts 8 cycles after it came, later when others go first.
      if (top.tms_valid) {
        apply(top.tms, false);
      } else if (!arms_.empty() && bench.cycle() >= arms_.front().first + kArmDelay) {
        apply(arms_.front().second, true);
        arms_.pop_front();
      }
      for (const auto& [qpn, t] : running) {
        if (bench.cycle() > t.late + slack) {
          FAIL("QP " << qpn << " is overdue at cycle " << bench.cycle() << ", late " << t.late);
        }
      }
    });
    bench.on_drive([this] {
      top.arm_valid = top.tms_valid = 0;
      if (!arm_next.empty()) {
        top.arm_valid = 1;
        top.arm = arm_next.front();
        arm_next.pop_front();
      }
      if (!tms_next.empty()) {
        top.tms_valid = 1;
        top.tms = tms_next.front();
        tms_next.pop_front();
      }
    });
    tmo.on_item([this](uint64_t word) {
      const uint64_t qpn = word & 0xFFFFFF;
      fired.push_back({qpn, (word >> 32) != 0});
      auto it = running.find(qpn);
      if (it == running.end()) {
        // A stop or restart that met the event on its way.
        CHECK(forgotten.count(qpn));
        CHECK(bench.cycle() <= forgotten[qpn] + 6 + slack);
        return;
      }
      if (bench.cycle() < it->second.early && forgotten.count(qpn) &&
          bench.cycle() <= forgotten[qpn] + 6 + slack)
        return;  // of the time before the restart
      INFO("QP " << qpn << ", cycle " << bench.cycle());
      CHECK(it->second.rnr == ((word >> 32) != 0));
      CHECK(bench.cycle() >= it->second.early);
      running.erase(it);
      forgotten.erase(qpn);
    });
    bench.reset();
    bench.wait(
        "the timers to be cleared", [&] { return top.init_done_o != 0; }, 3000);
  }
  static uint32_t word(uint64_t qpn, bool stop, bool rnr, unsigned code) {
    return static_cast<uint32_t>(qpn << 7 | uint64_t{stop} << 6 | uint64_t{rnr} << 5 | code);
  }
  void set(uint64_t qpn, bool rnr, unsigned code) { tms_next.push_back(word(qpn, 0, rnr, code)); }
  void stop(uint64_t qpn) { tms_next.push_back(word(qpn, 1, 0, 3)); }
  void arm(uint64_t qpn, unsigned code) { arm_next.push_back(word(qpn, 0, 0, code)); }

  Bench<Top> bench;
  Top& top;
  std::map<uint64_t, Timer> running;
  std::map<uint64_t, uint64_t> forgotten;
  std::deque<uint32_t> arm_next, tms_next;
  std::vector<Told> fired;
  double slack = 0;  // for stalls of tmo and commands in a row

 private:
  static constexpr uint64_t kArmDelay = 8;
  void apply(uint32_t w, bool arm) {
    const uint64_t qpn = w >> 7;
    if (qpn >= n_) return;
    const bool rnr = w >> 5 & 1;
    const unsigned code = w & 31;
    if (arm && (running.count(qpn) || code == 0)) return;
    if (running.count(qpn)) forgotten[qpn] = bench.cycle();
    running.erase(qpn);
    if (!arm && ((w >> 6 & 1) || (!rnr && code == 0))) return;
    const double us = rnr ? kRnrMs[code] * 1000 : ack_us(code);
    const double length = us / 1.024 * tick_;
    // Whole ticks, one more that has run in part, the scan, the way out.
    running[qpn] = {rnr, static_cast<double>(bench.cycle()) + length - 1,
                    static_cast<double>(bench.cycle()) + length * 1.001 + 3 * tick_ + 3 +
                        static_cast<double>(n_) + 24};
  }
  unsigned n_;
  double tick_;
  std::deque<std::pair<uint64_t, uint32_t>> arms_;
  StreamSink<uint64_t> tmo;
};

}  // namespace

TEST_CASE("rc_ticks knows every code: 4.096 us x 2^n, 0 off, and the RNR table, never too short") {
  Vrc_ticks t;
  for (unsigned code = 0; code < 32; ++code) {
    t.code_i = static_cast<uint8_t>(code);
    t.rnr_i = 0;
    t.eval();
    CHECK((t.off_o != 0) == (code == 0));
    if (code != 0) CHECK(t.ticks_o == uint64_t{4} << code);
    t.rnr_i = 1;
    t.eval();
    CHECK(t.off_o == 0);
    const double ticks = kRnrMs[code] * 1000 / 1.024;
    CHECK(static_cast<double>(t.ticks_o) >= ticks - 1e-6);
    CHECK(static_cast<double>(t.ticks_o) < ticks + 1);
  }
}

TEST_CASE("every code fires once, no earlier and little later than its length") {
  // 1 cycle per tick, so that long ones can be waited for.
  World<Vrc_timer_1> w(1, 2000, 9);
  for (unsigned rnr = 0; rnr < 2; ++rnr) {
    for (unsigned code = rnr; code < (rnr ? 24u : 14u); ++code) {
      const size_t before = w.fired.size();
      w.set(0, rnr, code);
      w.bench.tick(3);
      if (!rnr && code == 0) {
        w.bench.tick(50);
        CHECK(w.fired.size() == before);
        continue;
      }
      w.bench.wait(
          "the timer", [&] { return w.running.empty(); }, 200000);
      w.bench.tick(50);
      CHECK(w.fired.size() == before + 1);
    }
  }
}

TEST_CASE("one tick is 1.024 us unless it is shortened, with any clock") {
  for (unsigned shift : {0u, 1u, 4u, 8u}) {
    World<Vrc_timer_5> w(5, 1250, shift);
    for (unsigned qpn = 0; qpn < 5; ++qpn) w.set(qpn, qpn & 1, qpn & 1 ? 1 : 1 + qpn / 2);
    w.bench.tick(8);
    CHECK(w.running.size() == 5);
    w.bench.wait(
        "the timers", [&] { return w.running.empty(); }, 60000);
    CHECK(w.fired.size() == 5);
  }
}

TEST_CASE("an arm starts a timer that is idle and leaves one that runs as it is") {
  World<Vrc_timer_5> w(5, 1250, 6);
  w.set(1, false, 3);
  w.set(2, true, 3);
  w.bench.tick(100);
  for (unsigned qpn = 0; qpn < 5; ++qpn) w.arm(qpn, 2);
  w.arm(2, 0);
  w.bench.tick(30);
  CHECK(w.running.size() == 5);
  w.bench.wait(
      "the timers", [&] { return w.running.empty(); }, 60000);
  CHECK(w.fired.size() == 5);
}

TEST_CASE("a stop behind an arm goes first, an arm behind a stop starts the timer") {
  World<Vrc_timer_5> w(5, 1250, 4);
  w.set(1, false, 5);
  w.bench.tick(20);
  for (unsigned gap = 0; gap < 8; ++gap) {
    // sq_engine arms for a packet that the stop did not know of: it must run afterwards.
    w.arm(1, 5);
    w.bench.tick(gap);
    w.stop(1);
    w.bench.tick(30);
    CHECK(w.running.size() == 1);
    w.stop(1);
    w.bench.tick(30);
    CHECK(w.running.empty());
    w.stop(1);
    w.bench.tick(gap);
    w.arm(1, 5);
    w.bench.tick(30);
    CHECK(w.running.size() == 1);
  }
}

TEST_CASE("a burst of arms of one QP is one, bursts of many QPs are all kept") {
  World<Vrc_timer_1024> w(1024, 2000, 6);
  w.slack = 3000;
  for (unsigned i = 0; i < 500; ++i) w.arm(7, 1);
  w.bench.tick(520);
  CHECK(w.running.size() <= 1);
  // One packet in two cycles, restarts in between.
  for (unsigned i = 0; i < 600; ++i) {
    w.arm(100 + i, 8);
    if (i % 3 == 0) w.set(800, false, 8);
    w.bench.tick(2);
  }
  w.bench.tick(20);
  for (unsigned i = 0; i < 600; ++i) CHECK(w.running.count(100 + i));
}

TEST_CASE("1024 timers at random, with restarts, stops and stalls of the events") {
  for (double stall : {0.0, 0.5}) {
    World<Vrc_timer_1024> w(1024, 2000, 9, Stall::random(stall));
    w.slack = stall > 0 ? 1200 : 400;
    auto random = rng("timers");
    for (unsigned i = 0; i < 20000; ++i) {
      const uint64_t qpn = random.chance(0.3) ? random.below(4) : random.below(1024);
      if (random.chance(0.01)) w.arm(1024 + random.below(5000), 3);  // no such QP
      // What meets its own expiry has a test of its own, below.
      const auto it = w.running.find(qpn);
      const bool due =
          it != w.running.end() && static_cast<double>(w.bench.cycle()) + 30 > it->second.early;
      switch (due ? 8 : random.below(8)) {
        case 8:
          break;
        case 0:
          w.stop(qpn);
          break;
        case 1:
          w.set(qpn, true, static_cast<unsigned>(random.between(5, 14)));
          break;
        case 2:
        case 3:
          w.set(qpn, false, static_cast<unsigned>(random.chance(0.1) ? 0 : random.between(4, 9)));
          break;
        default:
          w.arm(qpn, static_cast<unsigned>(random.chance(0.1) ? 0 : random.between(4, 9)));
      }
      w.bench.tick(random.between(3, 6));
    }
    w.bench.wait(
        "all timers", [&] { return w.running.empty(); }, 100000);
    CHECK(w.fired.size() > 2000);
  }
}

TEST_CASE("the ACK timer of a paused class stands still, others and RNR waits run on") {
  Bench<Vrc_timer_1024> bench(2000);
  auto& top = bench.top();
  using W = World<Vrc_timer_1024>;
  auto random = rng("pauses");
  std::map<uint64_t, uint64_t> at;  // QP: cycle of its event
  StreamSink<uint64_t> tmo(bench, "tmo", top.tmo_valid, top.tmo_ready,
                           [&] { return uint64_t{top.tmo_qpn}; });
  tmo.on_item([&](uint64_t qpn) { at[qpn] = bench.cycle(); });
  top.cfg_tick_shift_i = 2;  // a tick of 128 cycles
  bench.reset();
  bench.wait(
      "the timers to be cleared", [&] { return top.init_done_o != 0; }, 3000);
  for (int round = 0; round < 6; ++round) {
    at.clear();
    const uint64_t start = bench.cycle();
    for (uint64_t qpn = 0; qpn < 12; ++qpn) {
      // QP n is of class n, from 8 on of none that is known.
      top.set_class_i = static_cast<CData>(qpn < 8 ? 8 + qpn : 0);
      top.tms_valid = 1;
      top.tms = W::word(qpn, false, qpn == 3 || qpn == 11, qpn == 3 || qpn == 11 ? 5 : 3);
      bench.tick();
    }
    top.tms_valid = 0;
    std::array<uint64_t, 8> stood{};
    for (int i = 0; i < 300 && at.size() < 12; ++i) {
      top.paused_i = static_cast<CData>(random.u32());
      const uint64_t cycles = random.between(1, 200);
      for (unsigned c = 0; c < 8; ++c) {
        if ((top.paused_i >> c & 1) != 0 && at.count(c) == 0) stood[c] += cycles;
      }
      bench.tick(cycles);
    }
    top.paused_i = 0;
    bench.wait(
        "all timers", [&] { return at.size() == 12; }, 20'000);
    for (uint64_t qpn = 0; qpn < 12; ++qpn) {
      const bool rnr = qpn == 3 || qpn == 11;
      // Ticks: 4 x 2^3, and 0.06 ms; the scan of 1,024 timers on top of them, in which the class
      // may be paused.
      const uint64_t length = rnr ? 59 * 128 : 32 * 128;
      const uint64_t stop = rnr || qpn >= 8 ? 0 : stood[qpn];
      INFO("QP " << qpn << ", stood for " << stop);
      CHECK(at[qpn] - start >= length + stop - (stop == 0 ? 0 : 1300));
      CHECK(at[qpn] - start <= length + stop + 3 * 128 + 1024 + 60);
      if (stop != 0) CHECK(stop > 1400);
    }
  }
}

TEST_CASE("a reset clears all timers") {
  World<Vrc_timer_5> w(5, 1250, 8);
  for (unsigned qpn = 0; qpn < 5; ++qpn) w.set(qpn, false, 2);
  w.bench.tick(10);
  w.running.clear();
  w.bench.reset();
  w.bench.tick(3000);
  CHECK(w.fired.empty());
}

TEST_CASE("an arm that meets the expiry starts the timer anew or belongs to it, none is lost") {
  Bench<Vrc_timer_5> bench(1250);
  auto& top = bench.top();
  using W = World<Vrc_timer_5>;
  StreamSink<uint64_t> tmo(bench, "tmo", top.tmo_valid, top.tmo_ready,
                           [&] { return uint64_t{top.tmo_qpn}; });
  top.cfg_tick_shift_i = 9;
  top.arm_valid = top.tms_valid = 0;
  bench.reset();
  bench.tick(20);
  const auto pulse = [&](bool arm, uint32_t word) {
    (arm ? top.arm_valid : top.tms_valid) = 1;
    (arm ? top.arm : top.tms) = word;
    bench.tick();
    top.arm_valid = top.tms_valid = 0;
  };
  unsigned once = 0, twice = 0;
  for (unsigned gap = 0; gap < 60; ++gap) {
    tmo.clear();
    pulse(false, W::word(3, 0, 0, 2));
    bench.tick(gap);
    pulse(true, W::word(3, 0, 0, 2));
    bench.tick(200);
    CHECK((tmo.size() == 1 || tmo.size() == 2));
    (tmo.size() == 1 ? once : twice)++;
    // A packet sent after the last event arms it again.
    const size_t before = tmo.size();
    pulse(true, W::word(3, 0, 0, 2));
    bench.tick(100);
    CHECK(tmo.size() == before + 1);
    // A stop around the expiry: nothing fires any more once it has passed.
    pulse(false, W::word(3, 0, 0, 2));
    bench.tick(gap);
    pulse(false, W::word(3, 1, 0, 0));
    bench.tick(8);
    const size_t then = tmo.size();
    bench.tick(200);
    CHECK(tmo.size() == then);
  }
  CHECK(once > 10);
  CHECK(twice > 10);
}

TEST_CASE("a stop between two arms of one QP does not stop what the second is for") {
  World<Vrc_timer_5> w(5, 1250, 4);
  for (unsigned apart = 3; apart < 14; ++apart) {
    for (unsigned behind = 1; behind < 7; ++behind) {
      // The stop was decided before the second packet was sent and comes up to 5 cycles after it.
      w.arm(2, 6);
      w.bench.tick(apart);
      w.arm(2, 6);
      w.bench.tick(behind - 1);
      w.stop(2);
      w.bench.tick(20);
      INFO(apart << " apart, stop " << behind << " behind");
      CHECK(w.running.size() == 1);
      w.stop(2);
      w.bench.tick(1000);
    }
  }
  // The timers of the block did what the model says: started anew and not stopped in between.
  w.arm(2, 1);
  w.bench.tick(3);
  w.arm(2, 1);
  w.bench.tick(2);
  w.stop(2);
  w.bench.wait(
      "the timer", [&] { return w.fired.size() == 1; }, 2000);
}
