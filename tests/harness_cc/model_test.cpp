// SPDX-License-Identifier: Apache-2.0
//
// The double-precision models against the golden numbers of the facts (roce.md sections 6 and 7)
// and against every recorded trace.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "harness/cc/trace_compare.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::cc;

namespace {

const std::string kTraces = RNIC_SOURCE_DIR "/tests/cc_traces";

std::vector<std::string> traces(const std::string& start) {
  std::vector<std::string> found;
  for (const auto& e : std::filesystem::directory_iterator(kTraces)) {
    const std::string name = e.path().stem().string();
    if (e.path().extension() == ".csv" && name.rfind(start, 0) == 0)
      found.push_back(e.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool close(double got, double want, double relative = 1e-9) {
  return std::abs(got - want) <= relative * std::abs(want);
}

}  // namespace

TEST_CASE("DCQCN model: the golden numbers of the facts") {
  DcqcnParams p = DcqcnParams::paper(100e9);
  DcqcnModel m(p);
  m.cnp(0);
  CHECK(close(m.state().rate_bps, 50e9));
  CHECK(close(m.state().target_bps, 100e9));
  CHECK(close(m.state().alpha, 1.0));
  const double recovery[] = {75e9, 87.5e9, 93.75e9, 96.875e9};
  for (unsigned i = 0; i < 4; ++i) {
    m.advance(55'000 * (i + 1), true);
    CHECK(close(m.state().rate_bps, recovery[i]));
  }
  // Ten quiet alpha periods, without further increases.
  p.inc_ns = 1'000'000'000;
  DcqcnModel quiet(p);
  quiet.cnp(0);
  quiet.advance(550'000, true);
  CHECK(close(quiet.state().alpha, 0.961617, 1e-6));
  unsigned periods = 0;
  DcqcnModel half(p);
  half.cnp(0);
  while (half.state().alpha > 0.5) half.advance(55'000ull * ++periods, true);
  CHECK(periods == 178);  // 177 reach 0.5002
}

TEST_CASE("DCQCN model: production alpha as the adapters' 10-bit series") {
  DcqcnModel m(DcqcnParams::production_defaults(100e9));
  m.cnp(0);
  for (const unsigned want : {1018, 1013, 1008, 1003, 998}) {
    static uint64_t now = 0;
    m.advance(now += 1000, true);
    CHECK(static_cast<unsigned>(m.state().alpha * 1024) == want);
  }
}

TEST_CASE("HPCC model: the golden numbers of the facts") {
  HpccParams p;
  p.base_rtt_ns = 10'000;
  p.ai_bps = 80 * 8e9 / 10'000;  // 80 bytes per round trip
  p.min_bps = 0;
  const auto after = [&](std::vector<HpccHop> old, std::vector<HpccHop> now) {
    HpccModel m(p);
    const auto n = static_cast<unsigned>(old.size());
    m.ack({1, 10, old, n});
    m.ack({11, 20, now, n});
    return m;
  };
  const auto window = [&](const HpccModel& m) { return m.rate_bps() * 10e-6 / 8; };
  // 125000 bytes are not whole units of 128; the units cost 1e-4.
  const HpccModel one = after({{0, 0, 0, 2}}, {{10'000, 977, 0, 2}});
  CHECK(close(one.u(), 1.0, 1e-3));
  CHECK(close(window(one), 118'830, 1e-3));
  const HpccModel queue = after({{0, 0, 157, 2}}, {{10'000, 977, 157, 2}});
  CHECK(close(queue.u(), 1.1, 1e-3));
  CHECK(close(window(queue), 108'034.5, 1e-3));
  const HpccModel less = after({{0, 0, 0, 2}}, {{2'000, 98, 0, 2}});
  CHECK(close(less.u(), 0.9, 1e-3));
  CHECK(close(window(less), 125'000));
  CHECK(less.stage() == 1);
}

TEST_CASE("HPCC formula: the golden numbers of the facts") {
  CHECK(close(hpcc_formula(100e9, 1e9, 0.5, 0, 400e3), 100e9));
  CHECK(close(hpcc_formula(100e9, 1e9, 0.5, 200e3, 400e3), 75e9));
  CHECK(close(hpcc_formula(100e9, 1e9, 0.5, 400e3, 400e3), 50e9));
  CHECK(close(hpcc_formula(100e9, 1e9, 0.5, 800e3, 400e3), 1e9));
}

TEST_CASE("the DCQCN model follows every trace of both forms") {
  for (const char* start : {"dcqcn_mlx_", "dcqcn_paper_"}) {
    const auto files = traces(start);
    CHECK(files.size() >= 10);
    for (const std::string& file : files) {
      const Trace t = Trace::load(file);
      DcqcnModelUnit unit;
      const Comparison c = compare(*t.dcqcn, unit);
      INFO(t.name << ": " << c.summary()
                  << (c.differences.empty() ? "" : "\n" + c.differences.front()));
      CHECK(c.good());
      CHECK(c.worst.at("rate").value < 1e-6);
      CHECK(c.worst.at("target").value < 1e-6);
      CHECK(c.worst.at("alpha").value < 1e-9);
    }
  }
}

TEST_CASE("the HPCC model follows every trace without a defect") {
  const auto files = traces("hpcc_");
  CHECK(files.size() == 22);
  for (const std::string& file : files) {
    const Trace t = Trace::load(file);
    HpccModelUnit unit;
    const Comparison c = compare(*t.hpcc, unit);
    INFO(t.name << ": " << c.summary()
                << (c.differences.empty() ? "" : "\n" + c.differences.front()));
    if (t.hpcc->do_not_match) {
      CHECK(!c.note.empty());
    } else {
      CHECK(c.good());
      CHECK(c.worst.at("rate").value < 1e-6);
    }
  }
}

TEST_CASE("the HPCC model is sound where the simulator is not") {
  HpccParams p;
  p.path_check = true;
  SECTION("another number of hops or another path: telemetry is only stored") {
    HpccModel m(p);
    m.ack({1, 100, {{1000, 10, 0, 2}}, 1});
    m.ack({2, 100, {{2000, 90, 9, 2}}, 1});
    const double rate = m.rate_bps();
    CHECK(m.ack({3, 100, {{9, 9, 900, 2}, {9, 9, 900, 2}}, 2}).kind == HpccKind::kNewPath);
    CHECK(m.rate_bps() == rate);
    HpccAck other{4, 100, {{99, 9, 900, 2}, {99, 9, 900, 2}}, 2, 7};
    CHECK(m.ack(other).kind == HpccKind::kNewPath);
    CHECK(m.rate_bps() == rate);
  }
  SECTION("a hop whose clock stood still says nothing") {
    HpccModel m(p);
    m.ack({1, 100, {{1000, 10, 0, 2}}, 1});
    const double u = m.u();
    CHECK(m.ack({2, 100, {{1000, 50, 0, 2}}, 1}).u_max == 0);
    CHECK(m.u() == u);
  }
  SECTION("sequence numbers wrap") {
    HpccModel m(p);
    m.ack({0xFFFFFF00, 0xFFFFFFF0, {{1000, 10, 0, 2}}, 1});
    CHECK(m.ack({0xFFFFFFF0, 0x10, {{2000, 20, 0, 2}}, 1}).kind == HpccKind::kFast);
    CHECK(m.ack({0xFFFFFFF8, 0x10, {{3000, 30, 0, 2}}, 1}).kind == HpccKind::kUpdate);
    CHECK(m.last_update_seq() == 0x10);
    CHECK(m.ack({0x8, 0x20, {{4000, 40, 0, 2}}, 1}).kind == HpccKind::kFast);
    CHECK(m.ack({0x18, 0x30, {{5000, 50, 0, 2}}, 1}).kind == HpccKind::kUpdate);
  }
  SECTION("an idle path means the largest rate") {
    p.max_stage = 0;
    HpccModel m(p);
    m.ack({1, 100, {{1000, 10, 0, 2}}, 1});
    p.multi_rate = true;
    HpccModel idle(p);
    idle.ack({1, 100, {{1000, 10, 0, 2}}, 1});
    idle.ack({101, 200, {{21000, 10, 0, 2}}, 1});
    CHECK(idle.hop_u(0) == 0);
    CHECK(idle.rate_bps() == p.line_bps);
  }
}
