// SPDX-License-Identifier: Apache-2.0
//
// rate_hpcc over the recorded traces of the public simulator.
#include <Vrate_hpcc_16.h>

#include <algorithm>
#include <filesystem>

#include "harness/cc/hpcc_port.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;
using namespace rnic::cc;

namespace {

std::vector<std::string> traces() {
  std::vector<std::string> found;
  for (const auto& e : std::filesystem::directory_iterator(RNIC_SOURCE_DIR "/tests/cc_traces")) {
    const std::string name = e.path().stem().string();
    if (e.path().extension() == ".csv" && name.rfind("hpcc_", 0) == 0)
      found.push_back(e.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct World {
  World() : unit(bench.top(), [this] { bench.tick(); }) { bench.reset(); }
  Bench<Vrate_hpcc_16> bench;
  HpccPort<Vrate_hpcc_16> unit;
};

Trace quirk(const char* name) {
  return Trace::load(std::string(RNIC_SOURCE_DIR "/tests/cc_traces/hpcc_quirk_") + name + ".csv");
}

}  // namespace

TEST_CASE("rate_hpcc follows every trace without a defect at every row") {
  World w;
  unsigned followed = 0;
  for (const std::string& file : traces()) {
    const Trace t = Trace::load(file);
    if (t.hpcc->do_not_match) continue;
    const Comparison c = compare(*t.hpcc, w.unit);
    INFO(t.name << ": " << c.summary()
                << (c.differences.empty() ? "" : "\n" + c.differences.front()));
    CHECK(c.good());
    CHECK(c.compared == c.rows);
    CHECK(c.worst.at("rate").value < 2e-5);
    ++followed;
  }
  CHECK(followed == 18);
}

// What a sound unit does instead of the documented defects: the model does it too.
TEST_CASE("rate_hpcc does not copy the simulator's defects") {
  World w;
  for (const char* which : {"qlen_alias", "same_ts_poison", "seq_wrap", "zero_U"}) {
    Trace t = quirk(which);
    HpccModelUnit model;
    model.configure(t.hpcc->params);
    for (HpccRow& row : t.hpcc->rows) {
      const HpccReport want = model.ack(row.ack);
      row.kind = name(want.result.kind);
      row.rate_bps = want.rate_bps;
      row.rc_bps = want.rc_bps;
      row.window = want.window;
      row.rc_window = want.rc_window;
      row.last_update_seq = want.last_update_seq;
      if (!t.hpcc->params.multi_rate) {
        row.u = want.u;
        row.u_max = want.result.u_max;
        row.tau_ns = want.result.tau_ns;
        row.stage = want.stage;
      }
      row.hop_u = want.hop_u;
      row.hop_rc = want.hop_rc;
      row.hop_stage = want.hop_stage;
    }
    const Comparison c = compare(*t.hpcc, w.unit);
    INFO(which << ": " << c.summary()
               << (c.differences.empty() ? "" : "\n" + c.differences.front()));
    CHECK(c.good());
  }
}
