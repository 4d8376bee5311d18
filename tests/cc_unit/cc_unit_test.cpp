// SPDX-License-Identifier: Apache-2.0
//
// cc_unit: one switch between the algorithms, parameters as the driver writes them into registers,
// rates of every QP; and the driver's presets.
#include <Vcc_unit.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/cc/dcqcn_model.hpp"
#include "harness/driver/bus.hpp"
#include "harness/driver/congestion.hpp"
#include "regs/gen/rnic_regs.h"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::test;
using driver::CcMode;
using driver::CcPreset;
using driver::CcSettings;

namespace {

constexpr unsigned kQps = 16;
constexpr unsigned kTicksPerUs = 500;

#define FIELD(reg, field) \
  ((value & RNIC_CSR_##reg##_##field##_MASK) >> RNIC_CSR_##reg##_##field##_SHIFT)

struct Told {
  uint64_t cycle = 0;
  unsigned qpn = 0;
  double bps = 0;
  uint32_t window = 0;
};

struct World {
  World() { bench.reset(); }
  explicit World(const CcSettings& s) : World() {
    apply(s);
    settle();
    told.clear();
  }
  // The register file in one function: what the driver writes reaches the pins.
  void write(uint32_t offset, uint32_t value) {
    Vcc_unit& t = bench.top();
    switch (offset) {
      case RNIC_CSR_CC_GLOBAL_CTRL:
        t.cfg_mode_i = FIELD(CC_GLOBAL_CTRL, MODE);
        t.cfg_enable_i = FIELD(CC_GLOBAL_CTRL, ENABLE);
        break;
      case RNIC_CSR_DCQCN_CTRL:
        t.cfg_dcqcn_production_i = FIELD(DCQCN_CTRL, PRODUCTION);
        t.cfg_dcqcn_clamp_i = FIELD(DCQCN_CTRL, CLAMP);
        t.cfg_dcqcn_clamp_after_time_i = FIELD(DCQCN_CTRL, CLAMP_AFTER_TIME);
        t.cfg_dcqcn_gd_i = FIELD(DCQCN_CTRL, GD);
        t.cfg_dcqcn_f_i = FIELD(DCQCN_CTRL, F);
        break;
      case RNIC_CSR_HPCC_CTRL:
        t.cfg_hpcc_cut_old_i = FIELD(HPCC_CTRL, CUT_OLD);
        t.cfg_hpcc_fast_react_i = FIELD(HPCC_CTRL, FAST_REACT);
        t.cfg_hpcc_multi_rate_i = FIELD(HPCC_CTRL, MULTI_RATE);
        t.cfg_hpcc_sample_i = FIELD(HPCC_CTRL, SAMPLE);
        t.cfg_hpcc_path_check_i = FIELD(HPCC_CTRL, PATH_CHECK);
        t.cfg_hpcc_max_stage_i = FIELD(HPCC_CTRL, MAX_STAGE);
        t.cfg_hpcc_int_multi_i = FIELD(HPCC_CTRL, INT_MULTI);
        t.cfg_hpcc_tx_limit_i = FIELD(HPCC_CTRL, TX_LIMIT);
        break;
      case RNIC_CSR_DCQCN_NP:  // of cnp_gen and tx_packetizer
      case RNIC_CSR_CNP_CLASS:
        break;
      default: {
        const std::map<uint32_t, IData*> whole = {
            {RNIC_CSR_CC_LINE_RATE, &t.cfg_line_i},
            {RNIC_CSR_CC_MIN_RATE, &t.cfg_floor_i},
            {RNIC_CSR_DCQCN_G, &t.cfg_dcqcn_g_i},
            {RNIC_CSR_DCQCN_ALPHA_INIT, &t.cfg_dcqcn_alpha_init_i},
            {RNIC_CSR_DCQCN_FIRST_FRAC, &t.cfg_dcqcn_first_frac_i},
            {RNIC_CSR_DCQCN_MAX_CUT, &t.cfg_dcqcn_max_cut_i},
            {RNIC_CSR_DCQCN_FIRST_RATE, &t.cfg_dcqcn_first_rate_i},
            {RNIC_CSR_DCQCN_AI_RATE, &t.cfg_dcqcn_ai_i},
            {RNIC_CSR_DCQCN_HAI_RATE, &t.cfg_dcqcn_hai_i},
            {RNIC_CSR_DCQCN_BYTE_RESET, &t.cfg_dcqcn_byte_reset_i},
            {RNIC_CSR_DCQCN_ALPHA_TIME, &t.cfg_dcqcn_alpha_us_i},
            {RNIC_CSR_DCQCN_DEC_TIME, &t.cfg_dcqcn_dec_us_i},
            {RNIC_CSR_DCQCN_INC_TIME, &t.cfg_dcqcn_inc_us_i},
            {RNIC_CSR_HPCC_ETA, &t.cfg_hpcc_eta_i},
            {RNIC_CSR_HPCC_BASE_RTT, &t.cfg_hpcc_base_rtt_i},
            {RNIC_CSR_HPCC_AI_RATE, &t.cfg_hpcc_ai_i},
            {RNIC_CSR_HPCC_ALPHA, &t.cfg_hpcc_alpha_i}};
        *whole.at(offset) = value;
      }
    }
  }
  void apply(const CcSettings& s) {
    for (const driver::CcRegister& r : driver::cc_registers(s)) write(r.offset, r.value);
  }
  // Tables of both units, the round over all QPs, what is on its way.
  void settle() {
    tick(2);
    for (unsigned n = 0; !bench->init_done_o; ++n) {
      REQUIRE(n < 20'000);
      tick();
    }
    tick(300);
  }
  void tick(unsigned n = 1) {
    for (; n > 0; --n) {
      bench->now_i = static_cast<uint32_t>(++now);
      bench.tick();
      if (bench->rate_valid) {
        told.push_back(
            {bench.cycle(), bench->rate_qpn, bench->rate_kbps * 1e3, bench->rate_window});
      }
      lost += bench->cnt_lost_o;
      bad += bench->cnt_int_bad_o;
    }
  }
  void cnp(unsigned qpn) {
    bench->cnp_i = 1;
    bench->cnp_qpn_i = qpn;
    tick();
    bench->cnp_i = 0;
  }
  void sent(unsigned qpn, unsigned bytes) {
    bench->tx_i = 1;
    bench->tx_qpn_i = qpn;
    bench->tx_bytes_i = static_cast<uint16_t>(bytes);
    tick();
    bench->tx_i = 0;
    tick();
  }
  // One hop of 100 Gb/s.
  void ack(unsigned qpn, uint32_t psn, uint64_t ts, uint64_t tx, uint64_t q, unsigned nhop = 1) {
    bench->ack_i = 1;
    bench->ack_qpn_i = qpn;
    bench->ack_psn_i = psn;
    bench->ack_next_psn_i = psn + 10;
    for (unsigned i = 0; i < 11; ++i) bench->ack_int_i[i] = 0;
    const uint64_t word = 2 | ts << 3 | tx << 27 | q << 47;
    bench->ack_int_i[0] = static_cast<uint32_t>(word);
    bench->ack_int_i[1] = static_cast<uint32_t>(word >> 32);
    bench->ack_int_i[10] = nhop;
    tick();
    bench->ack_i = 0;
  }
  std::vector<Told> take() { return std::exchange(told, {}); }

  Bench<Vcc_unit> bench;
  uint64_t now = 0;
  unsigned lost = 0, bad = 0;
  std::vector<Told> told;
};

CcSettings golden(CcMode mode) {
  CcSettings s = CcSettings::preset(mode, CcPreset::kPaper, 100e9, 10'000);
  s.hpcc.int_multi = 1;
  s.hpcc.ai_bps = 80 * 8e9 / 10'000;
  return s;
}

bool all_at_line(const std::vector<Told>& told) {
  std::map<unsigned, double> last;
  for (const Told& t : told) last[t.qpn] = t.bps;
  for (unsigned q = 0; q < kQps; ++q) {
    if (last.count(q) == 0 || last[q] != 100e9) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every QP is told the line rate after a reset and after each turn of the switch") {
  World w;
  CcSettings s = golden(CcMode::kDcqcn);
  s.enable = false;
  w.apply(s);
  w.settle();
  auto told = w.take();
  CHECK(all_at_line(told));
  for (const CcMode mode :
       {CcMode::kDcqcn, CcMode::kHpccWindow, CcMode::kHpccFormula, CcMode::kDcqcn}) {
    s = golden(mode);
    w.apply(s);
    w.settle();
    told = w.take();
    CHECK(told.size() == kQps);
    CHECK(all_at_line(told));
  }
}

TEST_CASE("DCQCN: a CNP cuts, the timer raises") {
  World w(golden(CcMode::kDcqcn));
  w.cnp(3);
  w.tick(100);
  auto told = w.take();
  REQUIRE(told.size() == 1);
  CHECK(told[0].qpn == 3);
  CHECK(told[0].bps == 50e9);
  CHECK(told[0].window == 0);
  w.tick(2 * 55 * kTicksPerUs);
  told = w.take();
  REQUIRE(told.size() == 2);
  CHECK(told[0].bps == 75e9);
  CHECK(told[1].bps == 87.5e9);
  // Sent bytes count too.
  CcSettings s = golden(CcMode::kDcqcn);
  s.dcqcn.byte_reset = 10'000;
  World bytes(s);
  bytes.cnp(5);
  bytes.tick(100);
  for (unsigned i = 0; i < 10; ++i) bytes.sent(5, 1000);
  bytes.tick(100);
  told = bytes.take();
  REQUIRE(told.size() == 2);
  CHECK(told[1].bps == 75e9);
}

TEST_CASE("HPCC window: rate and window of the golden numbers") {
  World w(golden(CcMode::kHpccWindow));
  w.ack(9, 1, 0, 0, 157);
  w.tick(100);
  CHECK(w.take().empty());
  const uint64_t from = w.bench.cycle();
  w.ack(9, 12, 10'000, 977, 157);
  w.tick(100);
  const auto told = w.take();
  REQUIRE(told.size() == 1);
  CHECK(told[0].qpn == 9);
  CHECK(std::abs(told[0].bps / (108'034.5 * 8e5) - 1) < 1e-3);
  CHECK(std::abs(told[0].window / 108'034.5 - 1) < 1e-3);
  CHECK(told[0].cycle - from <= 55);
}

TEST_CASE("HPCC formula, of the line and of the old rate") {
  CcSettings s = golden(CcMode::kHpccFormula);
  SECTION("of the line") {
    World w(s);
    w.ack(2, 1, 0, 0, 2500);
    w.tick(100);
    w.ack(2, 2, 0, 0, 5000);
    w.tick(100);
    const auto told = w.take();
    REQUIRE(told.size() == 2);
    CHECK(told[0].bps == 75e9);
    CHECK(told[0].window == 0);
    CHECK(told[1].bps == 50e9);
  }
  SECTION("of the old rate") {
    s.hpcc.mode = cc::HpccMode::kCutOld;
    s.hpcc.ai_bps = 100e6;
    World w(s);
    w.ack(2, 1, 0, 0, 2500);
    w.tick(100);
    w.ack(2, 2, 0, 0, 2500);
    w.tick(100);
    const auto told = w.take();
    REQUIRE(told.size() == 2);
    CHECK(told[0].bps == 75.1e9);
    CHECK(told[1].bps == 56.425e9);
  }
}

TEST_CASE("an algorithm hears only its own events, and none without enable") {
  CcSettings s = golden(CcMode::kDcqcn);
  const auto both = [](World& w) {
    w.cnp(1);
    w.ack(2, 1, 0, 0, 5000);
    w.tick(100);
    return w.take();
  };
  World dcqcn(s);
  auto told = both(dcqcn);
  REQUIRE(told.size() == 1);
  CHECK(told[0].qpn == 1);
  World hpcc(golden(CcMode::kHpccFormula));
  told = both(hpcc);
  REQUIRE(told.size() == 1);
  CHECK(told[0].qpn == 2);
  World none(s);
  none.write(RNIC_CSR_CC_GLOBAL_CTRL, 7);  // no such algorithm
  none.settle();
  none.take();
  CHECK(both(none).empty());
  s.enable = false;
  World off(s);
  CHECK(both(off).empty());
}

TEST_CASE("a switch under load ends with the line rate for all, and nothing of the old one after") {
  World w(golden(CcMode::kDcqcn));
  for (unsigned q = 0; q < kQps; ++q) w.cnp(q);
  w.tick(20);
  w.apply(golden(CcMode::kHpccWindow));
  w.settle();
  CHECK(all_at_line(w.take()));
  w.tick(60 * kTicksPerUs);  // DCQCN's timers would have expired
  CHECK(w.take().empty());
  // Off in the middle of ACKs.
  for (unsigned i = 0; i < 10; ++i) w.ack(i, 1 + i, 1000 * i, 10 * i, 900);
  w.write(RNIC_CSR_CC_GLOBAL_CTRL, 2);
  w.settle();
  CHECK(all_at_line(w.take()));
}

TEST_CASE(
    "the state of a QP can be asked for: DCQCN's stages and published states, HPCC's window") {
  const auto ask = [](World& w, unsigned qpn) {
    w.bench->qry_i = 1;
    w.bench->qry_qpn_i = qpn;
    w.tick();
    w.bench->qry_i = 0;
    CHECK(w.bench->qry_done_o == 0);
    for (unsigned n = 0; !w.bench->qry_done_o; ++n) {
      REQUIRE(n < 200);
      w.tick();
    }
  };
  World w(golden(CcMode::kDcqcn));
  const auto check = [&](double bps, double target, double alpha, unsigned stage, unsigned name) {
    ask(w, 3);
    CHECK(w.bench->qry_rate_o * 1e3 == bps);
    CHECK(w.bench->qry_target_o * 1e3 == target);
    CHECK(std::abs(w.bench->qry_alpha_o / 16777216.0 - alpha) < 1e-3);
    CHECK(w.bench->qry_stage_o == stage);
    CHECK(w.bench->qry_name_o == name);
  };
  check(100e9, 100e9, 1, RNIC_CC_STAGE_NONE, RNIC_CC_STATE_ACTIVE);
  w.cnp(3);
  check(50e9, 100e9, 1, RNIC_CC_STAGE_FAST_RECOVERY, RNIC_CC_STATE_FAST_RECOVERY);
  w.cnp(3);
  check(25e9, 50e9, 1, RNIC_CC_STAGE_FAST_RECOVERY, RNIC_CC_STATE_RECOVERY);
  // Five steps of fast recovery, then additive ones.
  w.tick(5 * 55 * kTicksPerUs + 100);
  ask(w, 3);
  CHECK(w.bench->qry_stage_o == RNIC_CC_STAGE_ADDITIVE);
  CHECK(w.bench->qry_name_o == RNIC_CC_STATE_HYPER_INCREASE);
  CHECK(w.bench->qry_t_stage_o == 5);
  // Another QP is as it was; one that does not exist has nothing, and the next answer comes.
  ask(w, 4);
  CHECK(w.bench->qry_rate_o * 1e3 == 100e9);
  ask(w, 4000);
  CHECK(w.bench->qry_rate_o == 0);
  ask(w, 4);
  CHECK(w.bench->qry_rate_o * 1e3 == 100e9);

  World h(golden(CcMode::kHpccWindow));
  ask(h, 9);
  CHECK(h.bench->qry_rate_o * 1e3 == 100e9);
  CHECK(h.bench->qry_window_o == 125'000);
  h.ack(9, 1, 0, 0, 157);
  h.ack(9, 12, 10'000, 977, 157);
  h.tick(200);
  ask(h, 9);
  CHECK(std::abs(h.bench->qry_window_o / 108'034.5 - 1) < 1e-3);
  CHECK(std::abs(h.bench->qry_alpha_o / 16777216.0 - 1.1) < 1e-2);
}

TEST_CASE("a QP that starts anew has the line rate") {
  World w(golden(CcMode::kDcqcn));
  w.cnp(6);
  w.tick(100);
  w.take();
  w.bench->qp_reset_qpn = 6;
  w.bench->qp_reset_valid = 1;
  while (!w.bench->qp_reset_ready) w.tick();
  w.tick();
  w.bench->qp_reset_valid = 0;
  w.tick(100);
  const auto told = w.take();
  REQUIRE(told.size() == 1);
  CHECK(told[0].qpn == 6);
  CHECK(told[0].bps == 100e9);
}

TEST_CASE("bursts: what does not fit is lost and counted, the rest is served every 4 cycles") {
  World w(golden(CcMode::kHpccFormula));
  for (unsigned i = 0; i < 100; ++i) w.ack(i % kQps, i, 0, 0, 100 + i * 20);
  w.tick(600);
  CHECK(w.lost > 0);
  CHECK(w.lost + w.take().size() == 100);
  World cnps(golden(CcMode::kDcqcn));
  for (unsigned i = 0; i < 100; ++i) cnps.cnp(i % kQps);
  cnps.tick(2000);
  CHECK(cnps.lost > 0);
  const auto told = cnps.take();
  CHECK(cnps.lost + told.size() == 100);
  // With a pause that a unit needs, none is.
  World slow(golden(CcMode::kHpccFormula));
  for (unsigned i = 0; i < 100; ++i) {
    slow.ack(i % kQps, i, 0, 0, 100 + i * 20);
    slow.tick(3);
  }
  slow.tick(200);
  CHECK(slow.lost == 0);
  CHECK(slow.take().size() == 100);
}

TEST_CASE("ACKs of one QP without end: none is lost, and the newest counts at once") {
  World w(golden(CcMode::kHpccFormula)), alone(golden(CcMode::kHpccFormula));
  for (unsigned i = 0; i < 400; ++i) {
    w.ack(3, i, 0, 0, 100 + i);
    if (i % 50 == 0) w.ack(5, i, 0, 0, 2000 + i);  // others go between
  }
  w.tick(3 * 48 + 60);
  alone.ack(3, 1, 0, 0, 499);
  alone.tick(200);
  CHECK(w.lost == 0);
  const auto told = w.take(), want = alone.take();
  REQUIRE(want.size() == 1);
  CHECK(told.size() < 100);
  const auto last =
      std::find_if(told.rbegin(), told.rend(), [](const auto& t) { return t.qpn == 3; });
  REQUIRE(last != told.rend());
  CHECK(last->bps == want[0].bps);
}

TEST_CASE("telemetry that cannot be is counted") {
  World w(golden(CcMode::kHpccWindow));
  w.ack(1, 1, 0, 0, 0);
  w.tick(100);
  CHECK(w.bad == 0);
  w.ack(1, 2, 0, 0, 0, 6);
  w.tick(100);
  CHECK(w.bad == 1);
  CHECK(w.take().empty());
  w.ack(1, 3, 0, 9, 0);  // bytes without time
  w.tick(100);
  CHECK(w.bad == 2);
}

TEST_CASE("presets: production is what the registers have after a reset, paper is the papers'") {
  const auto value = [](const CcSettings& s, uint32_t offset) {
    for (const driver::CcRegister& r : driver::cc_registers(s)) {
      if (r.offset == offset) return r.value;
    }
    throw std::runtime_error("not written");
  };
  const CcSettings p = CcSettings::preset(CcMode::kDcqcn, driver::cc_preset("production"), 400e9);
#define SAME(reg) CHECK(value(p, RNIC_CSR_##reg) == RNIC_CSR_##reg##_RESET_VALUE)
  SAME(CC_LINE_RATE);
  SAME(CC_MIN_RATE);
  SAME(DCQCN_CTRL);
  SAME(DCQCN_G);
  SAME(DCQCN_ALPHA_INIT);
  SAME(DCQCN_FIRST_FRAC);
  SAME(DCQCN_MAX_CUT);
  SAME(DCQCN_FIRST_RATE);
  SAME(DCQCN_AI_RATE);
  SAME(DCQCN_HAI_RATE);
  SAME(DCQCN_BYTE_RESET);
  SAME(DCQCN_ALPHA_TIME);
  SAME(DCQCN_DEC_TIME);
  SAME(DCQCN_INC_TIME);
  SAME(DCQCN_NP);
  SAME(CNP_CLASS);
  // HPCC has no defaults of adapters: registers begin with the paper's.
  const CcSettings h = CcSettings::preset(CcMode::kHpccWindow, driver::cc_preset("paper"), 400e9);
#define SAME_PAPER(reg) CHECK(value(h, RNIC_CSR_##reg) == RNIC_CSR_##reg##_RESET_VALUE)
  SAME_PAPER(HPCC_CTRL);
  SAME_PAPER(HPCC_ETA);
  SAME_PAPER(HPCC_BASE_RTT);
  SAME_PAPER(HPCC_AI_RATE);
  SAME_PAPER(HPCC_ALPHA);
  CHECK(value(h, RNIC_CSR_CC_GLOBAL_CTRL) == 6);
  CHECK(value(h, RNIC_CSR_DCQCN_G) == 256);  // 1/256
  CHECK(value(h, RNIC_CSR_DCQCN_AI_RATE) == 40'000);
  CHECK(value(h, RNIC_CSR_DCQCN_BYTE_RESET) == 10'000'000);
  CHECK(value(h, RNIC_CSR_DCQCN_INC_TIME) == 55);
  CHECK(value(h, RNIC_CSR_DCQCN_NP) == 50);
}

TEST_CASE("what a register cannot hold is refused by name") {
  const auto complaint = [](const CcSettings& s) -> std::string {
    try {
      driver::cc_registers(s);
    } catch (const driver::Error& e) {
      return e.what();
    }
    return "";
  };
  CcSettings s = golden(CcMode::kDcqcn);
  CHECK(complaint(s).empty());
  SECTION("a time") {
    s.dcqcn.inc_ns = 55'500;
    CHECK(complaint(s).find("increase timer 55500 ns") != std::string::npos);
  }
  SECTION("a rate") {
    s.dcqcn.line_bps = 2e12;
    CHECK(complaint(s).find("line rate") != std::string::npos);
  }
  SECTION("a time between CNPs") {
    s.cnp.interval_ns = 4'100;
    CHECK(complaint(s).find("time between CNPs 4100 ns") != std::string::npos);
  }
  SECTION("a DSCP") {
    s.cnp.dscp = 64;
    CHECK(complaint(s).find("DSCP of CNPs 64") != std::string::npos);
  }
  SECTION("a round trip") {
    s.hpcc.base_rtt_ns = 100;
    CHECK(complaint(s).find("base RTT 100 ns") != std::string::npos);
  }
  SECTION("a preset") { CHECK_THROWS_AS(driver::cc_preset("fast"), driver::Error); }
}
