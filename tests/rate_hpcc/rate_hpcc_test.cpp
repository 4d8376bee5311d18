// SPDX-License-Identifier: Apache-2.0
//
// rate_hpcc: golden numbers, telemetry that wraps or cannot be, throughput, resets, and random
// streams beside the double-precision model.
#include <Vrate_hpcc_1.h>
#include <Vrate_hpcc_16.h>

#include <cmath>
#include <deque>

#include "harness/cc/hpcc_port.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;
using namespace rnic::cc;

namespace {

constexpr unsigned kQps = 16;
constexpr unsigned kReset = 5;
enum Bad { kNhop = 1, kLink = 2, kClock = 4, kBytes = 8 };

struct World {
  World() : unit(bench.top(), [this] { bench.tick(); }) { bench.reset(); }
  explicit World(const HpccParams& p) : World() { unit.configure(p); }
  HpccPortReport ack(unsigned qpn, const HpccAck& a) {
    unit.take_all();
    unit.start_ack(qpn, a);
    unit.wait_idle();
    const auto seen = unit.take_all();
    REQUIRE(seen.size() == 1);
    REQUIRE(seen[0].qpn == qpn);
    return seen[0];
  }
  Bench<Vrate_hpcc_16> bench;
  HpccPort<Vrate_hpcc_16> unit;
};

HpccParams golden() {
  HpccParams p;
  p.base_rtt_ns = 10'000;
  p.ai_bps = 80 * 8e9 / 10'000;  // 80 bytes per round trip
  p.min_bps = 10e6;
  return p;
}

bool close(double got, double want, double relative) {
  return std::abs(got - want) <= relative * std::abs(want);
}

HpccAck one_hop(uint32_t seq, HpccHop hop) { return {seq, seq + 1000, {hop}, 1, 0}; }

// Hops whose counters run on, at loads that go up and down.
class Path {
 public:
  Path(Rng& random, unsigned multi) : random_(random), multi_(multi) { renew(); }
  void renew() {
    nhop_ = static_cast<unsigned>(random_.between(1, HpccModel::kHops));
    id_ = static_cast<unsigned>(random_.below(4096));
    for (Hop& h : hops_) {
      h.ns = random_.below(1 << 24);
      h.bytes = static_cast<double>(random_.below(1 << 27));
      h.b = static_cast<uint32_t>(random_.below(5));
      h.queue = random_.chance(0.5) ? 0 : static_cast<double>(random_.below(2'000'000));
    }
  }
  // The telemetry after so many ns.
  void next(uint64_t ns, HpccAck& ack) {
    ack.nhop = nhop_;
    ack.path = id_;
    ack.hops.clear();
    for (unsigned i = 0; i < nhop_; ++i) {
      Hop& h = hops_[i];
      if (random_.chance(0.02)) h.load = static_cast<double>(random_.below(1050)) / 1000;
      if (random_.chance(0.02)) h.grow = random_.chance(0.5) ? 0.2 : -0.3;
      const uint64_t dt = random_.chance(0.01) ? 0 : ns;
      const double per_ns = 3.125 * (1u << h.b);
      h.ns += dt;
      h.bytes += h.load * per_ns * static_cast<double>(dt);
      h.queue = std::clamp(h.queue + h.grow * per_ns * static_cast<double>(dt), 0.0,
                           random_.chance(0.001) ? 12e6 : 3e6);
      if (random_.chance(0.2)) h.queue = 0;
      const auto unit = [&](double bytes, double size) {
        return static_cast<uint64_t>(bytes / (size * multi_));
      };
      ack.hops.push_back({static_cast<uint32_t>(h.ns & 0xFFFFFF),
                          static_cast<uint32_t>(unit(h.bytes, 128) & 0xFFFFF),
                          static_cast<uint32_t>(std::min<uint64_t>(unit(h.queue, 80), 0x1FFFF)),
                          h.b});
    }
    // Now and then what cannot be.
    if (random_.chance(0.002)) ack.hops[0].tx = static_cast<uint32_t>(random_.below(1 << 20));
    if (random_.chance(0.002)) ack.hops[0].b = static_cast<uint32_t>(random_.between(5, 7));
    if (random_.chance(0.002)) ack.nhop = static_cast<unsigned>(random_.between(6, 255));
  }

 private:
  struct Hop {
    uint64_t ns = 0;
    double bytes = 0, queue = 0, load = 0.9, grow = 0;
    uint32_t b = 2;
  };
  Rng& random_;
  unsigned multi_, nhop_ = 1, id_ = 0;
  std::array<Hop, HpccModel::kHops> hops_;
};

HpccParams random_params(Rng& random, HpccMode mode) {
  HpccParams p;
  p.mode = mode;
  p.line_bps = static_cast<double>(random.between(25, 400)) * 1e9;
  p.min_bps = static_cast<double>(random.between(10, 1000)) * 1e6;
  p.ai_bps = static_cast<double>(random.between(5, 400)) * 1e6;
  p.eta = static_cast<double>(random.between(800, 999)) / 1000;
  p.base_rtt_ns = random.between(1000, 50'000);
  p.max_stage = static_cast<unsigned>(random.below(8));
  p.int_multi = static_cast<unsigned>(random.between(1, 16));
  p.fast_react = random.chance(0.8);
  p.multi_rate = random.chance(0.4);
  p.sample = random.chance(0.3);
  p.tx_limit = random.chance(0.8) ? 4 : 0;
  p.kmax_bytes = static_cast<double>(random.between(100, 4000)) * 1e3;
  return p;
}

struct Twin {
  Twin(const HpccParams& p, Rng& random) : model(p), path(random, p.int_multi) {}
  struct Expected {
    HpccKind kind;
    double rate, u, rc, margin;
    unsigned stage;
    bool formula_or_window;
    std::array<double, HpccModel::kHops> hop_u, hop_rc;
    std::array<unsigned, HpccModel::kHops> hop_stage;
  };
  void ack(const HpccAck& a) {
    Expected e{};
    e.kind = model.ack(a).kind;
    e.rate = model.rate_bps();
    e.u = model.u();
    e.rc = model.rc_bps();
    e.stage = model.stage();
    e.margin = model.margin();
    for (unsigned i = 0; i < HpccModel::kHops; ++i) {
      e.hop_u[i] = model.hop_u(i);
      e.hop_rc[i] = model.hop_rc(i);
      e.hop_stage[i] = model.hop_stage(i);
    }
    expected.push_back(e);
  }
  HpccModel model;
  Path path;
  uint32_t seq = 0, nxt = 1000;
  bool blurred = false;  // a decision was too near its threshold for anyone to say
  std::deque<Expected> expected;
};

struct Worst {
  double rate = 0, u = 0;
  uint64_t events = 0, near = 0;
};

void compare_report(const HpccPortReport& got, Twin& twin, const HpccParams& p, Worst& worst) {
  REQUIRE(!twin.expected.empty());
  const Twin::Expected want = twin.expected.front();
  twin.expected.pop_front();
  ++worst.events;
  // A decision between two branches that double precision itself leaves to the last bits: the QP is
  // out of the comparison until it starts anew.
  if (want.margin < 1e-6) {
    twin.blurred = true;
    ++worst.near;
  }
  if (twin.blurred) return;
  const HpccReport& r = got.report;
  INFO("QP " << got.qpn << ", event " << worst.events);
  if (static_cast<HpccKind>(got.kind) != want.kind)
    FAIL("kind " << got.kind << ", model " << static_cast<int>(want.kind));
  double rate = std::abs(r.rate_bps / want.rate - 1), u = 0;
  if (p.multi_rate) {
    for (unsigned i = 0; i < HpccModel::kHops; ++i) {
      rate = std::max(rate, std::abs(r.hop_rc[i] / want.hop_rc[i] - 1));
      u = std::max(u, std::abs(r.hop_u[i] - want.hop_u[i]));
      if (r.hop_stage[i] != want.hop_stage[i])
        FAIL("hop " << i << " stage " << r.hop_stage[i] << ", model " << want.hop_stage[i]);
    }
  } else {
    rate = std::max(rate, std::abs(r.rc_bps / want.rc - 1));
    u = std::abs(r.u - want.u);
    if (r.stage != want.stage) FAIL("stage " << r.stage << ", model " << want.stage);
  }
  worst.rate = std::max(worst.rate, rate);
  worst.u = std::max(worst.u, u);
  if (!(rate < 0.01 && u < 0.001))
    FAIL("rate " << r.rate_bps << ", model " << want.rate << "; U " << r.u << ", " << want.u);
}

// Random ACKs of all QPs, many at one time, beside the models.
void random_stream(uint64_t events) {
  Rng random = rng("hpcc");
  World w;
  Worst worst;
  while (worst.events < events) {
    const HpccParams p = random_params(random, HpccMode::kWindow);
    w.unit.set_parameters(p);
    for (unsigned q = 0; q < kQps; ++q) w.unit.start_reset(q);
    w.unit.wait_idle();
    w.unit.take_all();
    std::vector<Twin> twins;
    for (unsigned q = 0; q < kQps; ++q) twins.emplace_back(p, random);
    for (unsigned round = 0; round < 5000 && worst.events < events; ++round) {
      const auto q = static_cast<unsigned>(random.below(kQps));
      const unsigned many = random.chance(0.1) ? 4 : 1;  // of one QP, back to back
      for (unsigned k = 0; k < many; ++k) {
        Twin& twin = twins[q];
        if (random.chance(0.0005)) {
          w.unit.start_reset(q);
          twin.model = HpccModel(p);
          twin.blurred = false;
        }
        HpccAck a;
        if (random.chance(0.001)) twin.path.renew();
        twin.path.next(random.chance(0.01) ? random.between(1, 500'000) : random.between(20, 3000),
                       a);
        twin.seq += static_cast<uint32_t>(random.between(0, 4096));
        twin.nxt = twin.seq + static_cast<uint32_t>(random.between(1, 60'000));
        if (random.chance(0.0005))
          twin.seq = twin.nxt = static_cast<uint32_t>(random.below(1) - 5000);
        a.ack_seq = twin.seq;
        a.snd_nxt = twin.nxt;
        twin.ack(a);
        w.unit.start_ack(q, a);
      }
      if (random.chance(0.2)) w.unit.wait_idle();
      for (const HpccPortReport& got : w.unit.take_all()) {
        if (got.kind != kReset) compare_report(got, twins.at(got.qpn), p, worst);
      }
    }
    w.unit.wait_idle();
    for (const HpccPortReport& got : w.unit.take_all()) {
      if (got.kind != kReset) compare_report(got, twins.at(got.qpn), p, worst);
    }
    for (const Twin& twin : twins) REQUIRE(twin.expected.empty());
  }
  CHECK(worst.rate < 1e-4);
  CHECK(worst.u < 1e-4);
  CHECK(worst.near < worst.events / 1000);
  if (events >= 1'000'000)
    WARN(worst.events << " ACKs: rates within " << worst.rate << ", U within " << worst.u << ", "
                      << worst.near << " decisions at their threshold");
}

}  // namespace

TEST_CASE("the golden numbers of the facts") {
  const HpccParams p = golden();
  const auto after = [&](std::vector<HpccHop> old, std::vector<HpccHop> now) {
    World w(p);
    const auto n = static_cast<unsigned>(old.size());
    CHECK(w.ack(3, {1, 10, old, n}).kind == static_cast<unsigned>(HpccKind::kFirst));
    return w.ack(3, {11, 20, now, n}).report;
  };
  // 125000 bytes are not whole units of 128; the units cost 1e-4.
  HpccReport r = after({{0, 0, 0, 2}}, {{10'000, 977, 0, 2}});
  CHECK(close(r.u, 1.0, 1e-3));
  CHECK(close(static_cast<double>(r.window), 118'830, 1e-3));
  r = after({{0, 0, 157, 2}}, {{10'000, 977, 157, 2}});
  CHECK(close(r.u, 1.1, 1e-3));
  CHECK(close(static_cast<double>(r.window), 108'034.5, 1e-3));
  r = after({{0, 0, 0, 2}}, {{2'000, 98, 0, 2}});
  CHECK(close(r.u, 0.9, 1e-3));
  CHECK(r.window == 125'000);
  CHECK(r.stage == 1);
  // Two hops, the second with 50,000 bytes of queue both times: u 1.4 in a fifth of T.
  World w(p);
  w.ack(0, {1, 10, {{0, 0, 0, 2}, {0, 0, 0, 2}}, 2});
  w.ack(0, {11, 20, {{5'000, 391, 0, 2}, {5'000, 391, 0, 2}}, 2});  // U 1.0
  const HpccReport two = w.ack(0, {21, 30, {{7'000, 391, 0, 2}, {7'000, 587, 625, 2}}, 2}).report;
  CHECK(close(two.result.u_max, 1.0, 5e-3));  // the smaller of both queues counts: none
}

TEST_CASE("the rate formula: C (1 - alpha Q / Kmax) between the bounds, exact in its fixed point") {
  HpccParams p = golden();
  p.mode = HpccMode::kFormula;
  p.min_bps = 1e9;
  World w(p);
  const auto rate = [&](uint32_t units) {
    return w.ack(2, one_hop(1, {0, 0, units, 2})).report.rate_bps;
  };
  CHECK(rate(0) == 100e9);
  CHECK(rate(2500) == 75e9);  // 200,000 bytes
  CHECK(rate(5000) == 50e9);
  CHECK(rate(10'000) == 1e9);
  CHECK(rate(0x1FFFF) == 1e9);
  CHECK(rate(0) == 100e9);
  const uint64_t alpha = hpcc_alpha_register(p);
  for (uint32_t q = 0; q < 12'000; q += 37) {
    const uint64_t ratio = std::min<uint64_t>(alpha * q >> 16, 1024);
    const uint64_t kbps = 100'000'000 - (100'000'000 * ratio >> 10);
    CHECK(rate(q) == static_cast<double>(std::max<uint64_t>(kbps, 1'000'000)) * 1e3);
    CHECK(std::abs(rate(q) - hpcc_formula(100e9, 1e9, p.alpha, q * 80.0, p.kmax_bytes)) <
          100e9 / 1024 + 1e6);
  }
  // The longest queue of the hops counts.
  CHECK(w.ack(2, {1, 9, {{0, 0, 10, 2}, {0, 0, 2500, 2}, {0, 0, 0, 2}}, 3}).report.rate_bps ==
        75e9);
  CHECK(
      w.ack(2, {1, 9, {{0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 0, 2}, {0, 0, 5000, 2}}, 5})
          .report.rate_bps == 50e9);
}

TEST_CASE("the formula that cuts the old rate rests where cut and recovery meet, and rises again") {
  HpccParams p = golden();
  p.mode = HpccMode::kCutOld;
  p.ai_bps = 100e6;
  p.min_bps = 50e6;
  World w(p);
  CHECK(w.ack(0, one_hop(1, {0, 0, 2500, 2})).report.rate_bps == 75.1e9);
  CHECK(w.ack(0, one_hop(1, {0, 0, 2500, 2})).report.rate_bps == 56.425e9);
  double last = 0;
  for (unsigned i = 0; i < 60; ++i) last = w.ack(0, one_hop(1, {0, 0, 2500, 2})).report.rate_bps;
  CHECK(close(last, 400e6, 1e-3));  // 100 Mb/s over a quarter
  for (unsigned i = 0; i < 10; ++i) last = w.ack(0, one_hop(1, {0, 0, 0, 2})).report.rate_bps;
  CHECK(close(last, 1400e6, 1e-3));
  // Beside the model, whose ratio is not in 1/1024.
  HpccModel model(p);
  World other(p);
  Rng random = rng("cut_old");
  for (unsigned i = 0; i < 2000; ++i) {
    const HpccAck a = one_hop(1, {0, 0, static_cast<uint32_t>(random.below(2500)), 2});
    model.ack(a);
    const double got = other.ack(0, a).report.rate_bps;
    // 1/1024 of the rate per ACK; the cuts themselves keep the error from adding up.
    CHECK(std::abs(got - model.rate_bps()) < 0.04 * model.rate_bps() + 1e3);
  }
}

TEST_CASE("an ACK every 4 cycles, and every 48 for one QP, in order") {
  World w(golden());
  for (unsigned i = 0; i < 200; ++i) w.unit.start_ack(i % kQps, one_hop(i, {i * 300, i, 0, 2}));
  w.unit.wait_idle();
  auto seen = w.unit.take_all();
  REQUIRE(seen.size() == 200);
  CHECK(seen.back().cycle - seen.front().cycle == 4 * 199);
  for (unsigned i = 0; i < 200; ++i) CHECK(seen[i].qpn == i % kQps);
  // Five hops take no longer.
  for (unsigned i = 0; i < 200; ++i) {
    const HpccHop h{i * 300, i, 0, 2};
    w.unit.start_ack(i % kQps, {i, i + 1, {h, h, h, h, h}, 5});
  }
  w.unit.wait_idle();
  seen = w.unit.take_all();
  REQUIRE(seen.size() == 200);
  CHECK(seen.back().cycle - seen.front().cycle == 4 * 199);
  for (unsigned i = 0; i < 10; ++i) w.unit.start_ack(7, one_hop(i, {i * 300, i, 0, 2}));
  w.unit.wait_idle();
  seen = w.unit.take_all();
  REQUIRE(seen.size() == 10);
  CHECK(seen[9].cycle - seen[8].cycle == 48);
}

TEST_CASE("a rate that changes is told 48 cycles behind its ACK, with its window") {
  World w(golden());
  w.ack(5, one_hop(1, {0, 0, 157, 2}));
  const uint64_t from = w.unit.cycle();
  w.unit.start_ack(5, one_hop(11, {10'000, 977, 157, 2}));
  while (!w.bench->rate_valid) {
    w.unit.step();
    REQUIRE(w.unit.cycle() < from + 100);
  }
  CHECK(w.unit.cycle() - from <= 52);
  CHECK(w.bench->rate_qpn == 5);
  CHECK(close(w.bench->rate_kbps * 1e3, 108'034.5 * 8e5, 1e-3));
  CHECK(close(w.bench->rate_window, 108'034.5, 1e-3));
  // A rate that stays is not told.
  HpccParams p = golden();
  p.ai_bps = 0;
  World still(p);
  still.ack(1, one_hop(1, {0, 0, 0, 2}));
  still.unit.start_ack(1, one_hop(2, {10'000, 400, 0, 2}));
  for (unsigned i = 0; i < 80; ++i) {
    still.unit.step();
    CHECK(!still.bench->rate_valid);
  }
}

TEST_CASE("counters of hops and sequence numbers wrap") {
  World w(golden());
  w.ack(0, {0xFFFFFF00, 0xFFFFFFF0, {{0xFFFF00, 0xFFFF0, 0, 2}}, 1});
  // 2,560 ns and 250 units of 128 bytes later: all of 100 Gb/s.
  HpccReport r =
      w.ack(0,
            {0xFFFFFFF0, 0x10, {{0xFFFF00 + 2560 - 0x1000000, 0xFFFF0 + 250 - 0x100000, 0, 2}}, 1})
          .report;
  CHECK(r.result.kind == HpccKind::kFast);
  CHECK(r.result.tau_ns == 2560);
  CHECK(close(r.result.u_max, 1.0, 1e-6));
  r = w.ack(0, {0xFFFFFFF8, 0x10, {{9000, 990, 0, 2}}, 1}).report;
  CHECK(r.result.kind == HpccKind::kUpdate);
  CHECK(r.last_update_seq == 0x10);
  CHECK(w.ack(0, {0x8, 0x20, {{9500, 999, 0, 2}}, 1}).report.result.kind == HpccKind::kFast);
  CHECK(w.ack(0, {0x18, 0x30, {{9900, 1000, 0, 2}}, 1}).report.result.kind == HpccKind::kUpdate);
}

TEST_CASE("PSNs of 24 bits wrap") {
  Bench<Vrate_hpcc_1> bench;
  bench.reset();
  HpccPort<Vrate_hpcc_1> unit(bench.top(), [&] { bench.tick(); });
  unit.configure(golden());
  CHECK(unit.ack({0xFFFFF0, 0xFFFFFE, {{0, 0, 0, 2}}, 1}).result.kind == HpccKind::kFirst);
  CHECK(unit.ack({0xFFFFFE, 4, {{1000, 50, 0, 2}}, 1}).result.kind == HpccKind::kFast);
  CHECK(unit.ack({0, 6, {{2000, 99, 0, 2}}, 1}).result.kind == HpccKind::kUpdate);
  CHECK(unit.ack({5, 9, {{3000, 150, 0, 2}}, 1}).result.kind == HpccKind::kFast);
  CHECK(unit.ack({7, 9, {{4000, 200, 0, 2}}, 1}).result.kind == HpccKind::kUpdate);
}

TEST_CASE("telemetry that cannot be does no harm and is told") {
  HpccParams p = golden();
  p.tx_limit = 4;
  World w(p);
  w.ack(0, one_hop(1, {0, 0, 0, 2}));
  const HpccReport before = w.ack(0, one_hop(2, {2'000, 150, 0, 2})).report;
  SECTION("more hops than there can be, or links that nobody knows: as if there were none") {
    for (const unsigned nhop : {6u, 15u, 255u}) {
      HpccAck a = one_hop(3, {9'000, 0x80000, 0x1FFFF, 2});
      a.nhop = nhop;
      const HpccPortReport r = w.ack(0, a);
      CHECK(r.bad == kNhop);
      CHECK(r.report.rate_bps == before.rate_bps);
      CHECK(r.report.u == before.u);
    }
    for (uint32_t b = 5; b < 8; ++b) {
      const HpccPortReport r = w.ack(0, one_hop(3, {9'000, 0x80000, 0x1FFFF, b}));
      CHECK(r.bad == kLink);
      CHECK(r.report.rate_bps == before.rate_bps);
    }
    // The stored telemetry is still the old one.
    CHECK(w.ack(0, one_hop(4, {4'000, 300, 0, 2})).report.result.tau_ns == 2'000);
  }
  SECTION("no hop at all is allowed and says nothing") {
    const HpccPortReport r = w.ack(0, {9, 10, {}, 0});
    CHECK(r.bad == 0);
    CHECK(r.report.rate_bps == before.rate_bps);
  }
  SECTION("a clock that stood still while bytes moved") {
    const HpccPortReport r = w.ack(0, one_hop(3, {2'000, 900, 0, 2}));
    CHECK(r.bad == kClock);
    CHECK(r.report.result.u_max == 0);
    CHECK(r.report.u == before.u);
    CHECK(w.ack(0, one_hop(4, {4'000, 300, 0, 2})).report.result.u_max > 0.76);
  }
  SECTION("more bytes than the link can carry") {
    const HpccPortReport r = w.ack(0, one_hop(3, {2'001, 0x80000, 0, 2}));
    CHECK(r.bad == kBytes);
    CHECK(r.report.result.u_max == 4);
    CHECK(r.report.rate_bps > 0.9 * before.rate_bps);
  }
  SECTION("the longest queue in the shortest round trip ends at the floor, and it recovers") {
    HpccPortReport r = w.ack(0, one_hop(3, {4'000, 300, 0x1FFFF, 0}));
    r = w.ack(0, one_hop(2'000, {9'000, 600, 0x1FFFF, 0}));
    CHECK(r.bad == 0);
    CHECK(r.report.u > 50);
    CHECK(r.report.rate_bps < 2e9);
    for (uint32_t i = 0; i < 20; ++i)
      r = w.ack(0, one_hop(4'000 + 2'000 * i, {20'000 + 11'000 * i, 600 + i, 0, 0}));
    CHECK(r.report.rate_bps == 100e9);
  }
}

TEST_CASE("another path: telemetry is only stored, rates per hop start from the present one") {
  HpccParams p = golden();
  p.multi_rate = GENERATE(false, true);
  World w(p);
  w.ack(0, one_hop(1, {0, 0, 0, 2}));
  const HpccReport before = w.ack(0, one_hop(1'100, {10'000, 1'100, 100, 2})).report;
  CHECK(before.rate_bps < 100e9);
  HpccAck other = one_hop(2'200, {77, 5, 9'000, 2});
  other.path = 9;
  HpccPortReport r = w.ack(0, other);
  CHECK(r.kind == static_cast<unsigned>(HpccKind::kNewPath));
  CHECK(r.report.rate_bps == before.rate_bps);
  if (p.multi_rate) {
    CHECK(r.report.hop_u[4] == 1);
    CHECK(r.report.hop_rc[4] == before.rate_bps);
  } else {
    CHECK(r.report.u == before.u);
  }
  other.hops.push_back({1'000, 8, 0, 2});
  other.nhop = 2;
  CHECK(w.ack(0, other).kind == static_cast<unsigned>(HpccKind::kNewPath));
  other.hops = {{5'077, 205, 0, 2}, {6'000, 208, 0, 2}};
  r = w.ack(0, other);
  CHECK(r.kind != static_cast<unsigned>(HpccKind::kNewPath));
  if (!p.multi_rate) CHECK(r.report.result.tau_ns == 5'000);
}

TEST_CASE("QPs that do not exist are ignored, a reset of a QP or of all starts anew") {
  World w(golden());
  w.unit.start_ack(kQps, one_hop(1, {0, 0, 0, 2}));
  w.unit.start_reset(0xFFFFFF);
  w.unit.wait_idle();
  CHECK(w.unit.take_all().empty());
  for (unsigned q : {1u, 2u}) {
    w.ack(q, one_hop(1, {0, 0, 0, 2}));
    CHECK(w.ack(q, one_hop(1'100, {10'000, 1'100, 100, 2})).report.rate_bps < 100e9);
  }
  // A reset behind an ACK that is on its way.
  w.unit.start_ack(1, one_hop(1'200, {12'000, 1'200, 900, 2}));
  w.unit.start_reset(1);
  w.unit.wait_idle();
  const auto seen = w.unit.take_all();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].kind == kReset);
  CHECK(seen[1].report.rate_bps == 100e9);
  HpccPortReport r = w.ack(1, one_hop(1'300, {13'000, 1'250, 900, 2}));
  CHECK(r.kind == static_cast<unsigned>(HpccKind::kFirst));
  CHECK(r.report.u == 1);
  CHECK(w.ack(2, one_hop(1'300, {13'000, 1'250, 0, 2})).kind !=
        static_cast<unsigned>(HpccKind::kFirst));
  // Of the whole unit, with ACKs on their way.
  for (unsigned i = 0; i < 6; ++i)
    w.unit.start_ack(2, one_hop(1'400 + i, {14'000 + i, 1'300, 900, 2}));
  w.bench.reset();
  w.unit.set_parameters(golden());
  w.unit.wait_idle();
  w.unit.take_all();
  r = w.ack(2, one_hop(5, {15'000, 1'400, 900, 2}));
  CHECK(r.kind == static_cast<unsigned>(HpccKind::kFirst));
  CHECK(r.report.rate_bps == 100e9);
}

TEST_CASE("random streams stay beside the model") { random_stream(60'000); }
TEST_CASE("a million random ACKs stay beside the model", "[.soak]") { random_stream(1'000'000); }
