// SPDX-License-Identifier: Apache-2.0
//
// rate_dcqcn: golden numbers, the published states, throughput, time that runs by itself, and
// random streams beside the double-precision model.
#include <Vrate_dcqcn_1.h>
#include <Vrate_dcqcn_16.h>

#include <cmath>
#include <deque>

#include "harness/cc/dcqcn_port.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;
using namespace rnic::cc;

namespace {

constexpr unsigned kQps = 16;

struct World {
  World() : unit(bench.top(), [this] { bench.tick(); }) { bench.reset(); }
  explicit World(const DcqcnParams& p) : World() { unit.configure(p); }
  DcqcnPortReport state(unsigned qpn, uint64_t now, bool inclusive = true) {
    unit.take_all();
    unit.at(now);
    unit.start_query(qpn, inclusive);
    unit.wait_idle();
    for (const DcqcnPortReport& r : unit.take_all()) {
      if (r.op == 0 && r.qpn == qpn) return r;
    }
    throw std::runtime_error("the query is not answered");
  }
  void cnp(unsigned qpn, uint64_t now) {
    unit.at(now);
    unit.start_cnp(qpn);
    unit.wait_idle();
  }
  Bench<Vrate_dcqcn_16> bench;
  DcqcnPort<Vrate_dcqcn_16> unit;
};

bool close(double got, double want, double relative) {
  return std::abs(got - want) <= relative * std::abs(want);
}

DcqcnParams random_params(Rng& random, bool production) {
  DcqcnParams p = production ? DcqcnParams::production_defaults(100e9) : DcqcnParams::paper(100e9);
  p.line_bps = random.between(25, 800) * 1e9;
  p.min_bps = random.between(10, 1000) * 1e6;
  p.ai_bps = random.between(5, 400) * 1e6;
  p.hai_bps = random.between(50, 4000) * 1e6;
  p.g = static_cast<double>(random.between(64, 8192)) / 65536;
  p.f = static_cast<unsigned>(random.between(1, 6));
  p.alpha_ns = random.between(1, 60) * 1000;
  p.dec_ns = random.between(2, 60) * 1000;
  p.inc_ns = random.between(20, 400) * 1000;
  p.byte_reset = random.chance(0.3) && production ? 0 : random.between(100'000, 2'000'000);
  p.clamp = random.chance(0.3);
  p.clamp_after_time = random.chance(0.7);
  return p;
}

// The model of one QP and what it did that the unit has not reported yet.
struct Twin {
  explicit Twin(const DcqcnParams& p) : model(p) {}
  DcqcnModel::Observer observer() {
    return [this](const DcqcnModel& m, DcqcnOp op, uint64_t t) {
      if (op != DcqcnOp::kAlpha)
        expected.push_back({op == DcqcnOp::kDec ? DcqcnSeen::kDec : DcqcnSeen::kInc, t, m.state()});
    };
  }
  void report(DcqcnSeen op, uint64_t t) { expected.push_back({op, t, model.state()}); }
  DcqcnModel model;
  std::deque<DcqcnReport> expected;
};

struct Worst {
  double rate = 0, alpha = 0;
};

void compare_reports(const std::vector<DcqcnPortReport>& seen, std::vector<Twin>& twins,
                     uint64_t now, Worst& worst) {
  for (const DcqcnPortReport& got : seen) {
    if (!DcqcnPort<Vrate_dcqcn_16>::is_event(got.op)) continue;
    Twin& twin = twins.at(got.qpn);
    if (twin.expected.empty()) twin.model.advance(now, false, twin.observer());
    const DcqcnReport& r = got.report;
    INFO("QP " << got.qpn << ", op " << got.op << " at " << r.time_ns << " ns");
    REQUIRE(!twin.expected.empty());
    const DcqcnReport want = twin.expected.front();
    twin.expected.pop_front();
    REQUIRE(r.op == want.op);
    REQUIRE(r.time_ns == want.time_ns);
    const double rate = std::abs(r.state.rate_bps / want.state.rate_bps - 1);
    const double target = std::abs(r.state.target_bps / want.state.target_bps - 1);
    worst.rate = std::max({worst.rate, rate, target});
    if (r.op != DcqcnSeen::kInc && r.op != DcqcnSeen::kByte)  // those need no alpha
      worst.alpha = std::max(worst.alpha, std::abs(r.state.alpha - want.state.alpha));
    if (!(worst.rate < 0.01 && worst.alpha < 0.001)) {
      FAIL("rate " << r.state.rate_bps << ", model " << want.state.rate_bps << "; target "
                   << r.state.target_bps << ", " << want.state.target_bps << "; alpha "
                   << r.state.alpha << ", " << want.state.alpha);
    }
    if (r.state.t_stage != want.state.t_stage || r.state.b_stage != want.state.b_stage ||
        r.state.phase != want.state.phase || r.state.dec_flag != want.state.dec_flag) {
      FAIL("stages " << r.state.t_stage << " " << r.state.b_stage << " " << name(r.state.phase)
                     << ", model " << want.state.t_stage << " " << want.state.b_stage << " "
                     << name(want.state.phase));
    }
  }
}

// Streams of random events of all QPs, several at one time, beside the models.
void random_stream(uint64_t events, bool production) {
  Rng random = rng(production ? "production" : "paper");
  World w;
  Worst worst;
  uint64_t done = 0;
  while (done < events) {
    const DcqcnParams p = random_params(random, production);
    w.unit.configure(p);
    for (unsigned q = 1; q < kQps; ++q) w.unit.start_reset(q);
    w.unit.wait_idle();
    w.unit.take_all();
    std::vector<Twin> twins(kQps, Twin(p));
    uint64_t now = 0;
    for (uint64_t round = 0; round < 3000 && done < events; ++round) {
      now += random.chance(0.002) ? random.between(1, 20'000'000) : random.between(1, 30'000);
      w.unit.at(now);
      // Time jumps here: cuts that are due reload their byte counters before packets count.
      for (unsigned i = 0; p.byte_reset != 0 && i < 2 * kQps; ++i) w.unit.step();
      w.unit.wait_idle();
      const unsigned first = static_cast<unsigned>(random.below(kQps));
      const unsigned many = static_cast<unsigned>(random.between(1, 8));
      for (unsigned k = 0; k < many; ++k) {
        const unsigned q = (first + k) % kQps;
        Twin& twin = twins[q];
        if (random.chance(p.byte_reset ? 0.5 : 0.05)) {
          const uint64_t bytes = random.between(64, 65'535);
          w.unit.start_sent(q, bytes);
          if (twin.model.sent(now, bytes, twin.observer())) twin.report(DcqcnSeen::kByte, now);
        } else if (random.chance(0.2)) {
          w.unit.start_cnp(q);
          twin.model.cnp(now, twin.observer());
          twin.report(DcqcnSeen::kCnp, now);
        } else {
          w.unit.start_query(q, true);
          twin.model.advance(now, true, twin.observer());
          twin.report(DcqcnSeen::kQuery, now);
          ++now;  // nothing else comes at a time that was run to its end
          w.unit.at(now);
        }
      }
      done += many;
      w.unit.wait_idle();
      compare_reports(w.unit.take_all(), twins, now, worst);
    }
  }
  CHECK(worst.rate < 1e-4);
  CHECK(worst.alpha < 1e-5);
  if (events >= 1'000'000)
    WARN(done << " events: rates within " << worst.rate << ", alpha within " << worst.alpha);
}

}  // namespace

TEST_CASE("the golden numbers of the facts") {
  DcqcnParams p = DcqcnParams::paper(100e9);
  World w(p);
  w.cnp(3, 0);
  DcqcnState s = w.state(3, 0).report.state;
  CHECK(s.rate_bps == 50e9);
  CHECK(s.target_bps == 100e9);
  CHECK(s.alpha == 1.0);
  CHECK(w.state(3, 55'000).report.state.rate_bps == 75e9);
  CHECK(w.state(3, 110'000).report.state.rate_bps == 87.5e9);
  CHECK(w.state(3, 165'000).report.state.rate_bps == 93.75e9);
  CHECK(w.state(3, 220'000).report.state.rate_bps == 96.875e9);

  // 96.875 Gb/s, ten quiet periods of alpha, the next CNP: with the increase timer out of the way.
  p.inc_ns = 139'000;  // four expiries in 556 us
  World quiet(p);
  quiet.cnp(0, 0);
  s = quiet.state(0, 556'000).report.state;
  CHECK(s.rate_bps == 96.875e9);
  CHECK(std::abs(s.alpha - 0.961617) < 1e-6);
  quiet.cnp(0, 557'000);
  s = quiet.state(0, 557'000, false).report.state;
  CHECK(close(s.rate_bps, 50.2967e9, 1e-5));
  CHECK(s.target_bps == 96.875e9);
  CHECK(std::abs(s.alpha - 0.961767) < 1e-6);
}

TEST_CASE("production alpha falls as the adapters' 10-bit series, and rises within its steps") {
  DcqcnParams p = DcqcnParams::production_defaults(100e9);
  World w(p);
  w.cnp(0, 0);
  const unsigned series[] = {1018, 1013, 1008, 1003, 998};
  for (unsigned i = 0; i < 5; ++i)
    CHECK(static_cast<unsigned>(w.state(0, 1000 * (i + 1)).report.state.alpha * 1024) == series[i]);
  // From nearly 0 upwards, a CNP in every period: 5, 9, 13, 17, 21 of 1024, each cut to whole ones.
  uint64_t now = 4'000'000;
  CHECK(w.state(0, now).report.state.alpha < 1e-6);
  for (unsigned i = 0; i < 5; ++i) {
    w.cnp(0, now + 500);
    now += 1000;
    const double steps = w.state(0, now).report.state.alpha * 1024;
    CHECK(steps > 4 * i + 4);
    CHECK(steps < 5 * i + 5.01);
  }
}

TEST_CASE("alpha over more periods than one pass counts") {
  DcqcnParams p = DcqcnParams::production_defaults(100e9);
  p.g = 1.0 / 16384;
  p.inc_ns = 500'000'000;
  World w(p);
  w.cnp(0, 0);
  const DcqcnState s = w.state(0, 20'000'000).report.state;
  CHECK(std::abs(s.alpha - 1023.0 / 1024 * std::pow(1 - p.g, 20'000)) < 1e-5);
  // The grid of rate checks has been counted too: the next cut comes on it.
  w.cnp(0, 20'000'100);
  w.unit.at(20'003'999);
  CHECK(w.state(0, 20'004'000).report.state.t_stage == 0);
  CHECK(w.state(0, 20'004'000).report.state.dec_flag);
  CHECK(!w.state(0, 20'004'001).report.state.dec_flag);
}

TEST_CASE("the states of the published table") {
  DcqcnParams p = DcqcnParams::paper(100e9);
  p.f = 3;
  World w(p);
  CHECK(w.state(0, 0).view == DcqcnView::kActive);
  w.cnp(0, 10);
  CHECK(w.state(0, 10).view == DcqcnView::kFastRecovery);
  w.cnp(0, 30'000);
  CHECK(w.state(0, 30'000).view == DcqcnView::kRecovery);
  CHECK(w.state(0, 30'000 + 2 * 55'000).view == DcqcnView::kRecovery);
  CHECK(w.state(0, 30'000 + 3 * 55'000).view == DcqcnView::kHyperIncrease);
  DcqcnPortReport r = w.state(0, 200'000'000);
  CHECK(r.report.state.rate_bps == 100e9);
  CHECK(r.view == DcqcnView::kActive);
  w.cnp(0, 200'000'001);
  CHECK(w.state(0, 200'000'001).view == DcqcnView::kFastRecovery);
}

TEST_CASE("production: first rate, largest cut, floor and clamp are registers") {
  DcqcnParams p = DcqcnParams::production_defaults(100e9);
  World w(p);
  SECTION("an absolute rate at the first CNP") {
    w.bench->cfg_first_rate_i = 20'000'000;
    w.cnp(0, 0);
    CHECK(w.state(0, 10).report.state.rate_bps == 20e9);
  }
  SECTION("a cut of a quarter at most") {
    w.bench->cfg_max_cut_i = 0x4000;
    w.cnp(0, 0);
    CHECK(w.state(0, 4'001).report.state.rate_bps == 75e9);
  }
  SECTION("alpha / 8") {
    w.bench->cfg_gd_i = 3;
    w.bench->cfg_alpha_us_i = 10;
    w.cnp(0, 0);
    CHECK(close(w.state(0, 4'001).report.state.rate_bps, 100e9 * (1 - 1023.0 / 8192), 1e-6));
  }
  SECTION("the floor") {
    w.bench->cfg_floor_i = 60'000'000;
    w.cnp(0, 0);
    CHECK(w.state(0, 4'001).report.state.rate_bps == 60e9);
  }
}

TEST_CASE("a pass takes 4 cycles, events of one QP stay in order") {
  World w(DcqcnParams::paper(100e9));
  w.unit.at(5);
  for (unsigned i = 0; i < 200; ++i) w.unit.start_cnp(i % kQps);
  w.unit.wait_idle();
  const auto seen = w.unit.take_all();
  REQUIRE(seen.size() == 200);
  CHECK(seen.back().cycle - seen.front().cycle == 4 * 199);
  for (unsigned i = 0; i < 200; ++i) CHECK(seen[i].qpn == i % kQps);

  // One QP alone: the latency of a pass.
  for (unsigned i = 0; i < 10; ++i) w.unit.start_cnp(7);
  w.unit.wait_idle();
  const auto alone = w.unit.take_all();
  REQUIRE(alone.size() == 10);
  CHECK(alone[9].cycle - alone[8].cycle == 44);
}

TEST_CASE("timers run by themselves, and the rate is told") {
  DcqcnParams p = DcqcnParams::paper(100e9);
  World w(p);
  std::vector<std::pair<uint64_t, uint32_t>> told;
  uint64_t now = 0;
  const auto run = [&](uint64_t until) {
    for (; now < until; now += 2) {
      w.unit.at(now);
      w.unit.step();
      if (w.bench->rate_valid && w.bench->rate_qpn == 5) told.push_back({now, w.bench->rate_kbps});
    }
  };
  run(100);
  w.unit.start_cnp(5);
  run(250'000);
  REQUIRE(told.size() == 5);
  const uint32_t rates[] = {50'000'000, 75'000'000, 87'500'000, 93'750'000, 96'875'000};
  for (unsigned i = 0; i < 5; ++i) {
    CHECK(told[i].second == rates[i]);
    // 2 ns per cycle: the scan of 16 QPs, a pass.
    CHECK(told[i].first >= 100 + 55'000 * i);
    CHECK(told[i].first <= 100 + 55'000 * i + 2 * (kQps + 60));
  }
}

TEST_CASE("QPs that do not exist are ignored, a reset of a QP or of all starts anew") {
  World w(DcqcnParams::paper(100e9));
  w.unit.at(10);
  w.unit.start_cnp(kQps);
  w.unit.start_sent(kQps + 1, 1000);
  w.unit.start_query(0xFFFFFF, false);
  w.unit.wait_idle();
  CHECK(w.unit.take_all().empty());
  w.cnp(1, 20);
  w.cnp(2, 20);
  w.unit.start_reset(1);
  w.unit.wait_idle();
  CHECK(w.state(1, 30).report.state.rate_bps == 100e9);
  CHECK(w.state(1, 30).report.state.phase == DcqcnPhase::kNone);
  CHECK(w.state(2, 30).report.state.rate_bps == 50e9);
  w.unit.start_cnp(2);
  w.bench.reset();
  w.unit.configure(DcqcnParams::paper(100e9));
  CHECK(w.state(2, 40).report.state.rate_bps == 100e9);
}

TEST_CASE("the byte counter: a packet per cycle, an expiry counts once, overshoot stays") {
  DcqcnParams p = DcqcnParams::paper(100e9);
  p.byte_reset = 10'000;
  World w(p);
  w.cnp(4, 10);
  w.unit.take_all();
  w.unit.at(20);
  for (unsigned i = 0; i < 95; ++i) w.unit.start_sent(4, 1'100);  // 104'500 bytes
  w.unit.wait_idle();
  CHECK(w.state(4, 30).report.state.b_stage == 10);
  w.unit.start_sent(4, 5'400);  // 109'900
  w.unit.wait_idle();
  CHECK(w.state(4, 31).report.state.b_stage == 10);
  w.unit.start_sent(4, 100);
  w.unit.wait_idle();
  CHECK(w.state(4, 32).report.state.b_stage == 11);
}

TEST_CASE("one QP with another time base") {
  Bench<Vrate_dcqcn_1> bench;
  bench.reset();
  DcqcnPort<Vrate_dcqcn_1> unit(bench.top(), [&] { bench.tick(); });
  unit.configure(DcqcnParams::paper(100e9));
  unit.at(8);  // ticks of 125 ns
  unit.start_cnp(0);
  unit.wait_idle();
  unit.at(8 + 55 * 8);
  unit.start_query(0, true);
  unit.wait_idle();
  CHECK(unit.take_all().back().report.state.rate_bps == 75e9);
}

TEST_CASE("random streams of the paper's form stay beside the model") { random_stream(60'000, 0); }
TEST_CASE("random streams of the production form stay beside the model") {
  random_stream(60'000, 1);
}
TEST_CASE("a million random events, paper", "[.soak]") { random_stream(1'000'000, 0); }
TEST_CASE("a million random events, production", "[.soak]") { random_stream(1'000'000, 1); }
