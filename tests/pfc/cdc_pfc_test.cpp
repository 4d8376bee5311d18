// SPDX-License-Identifier: Apache-2.0
#include <Vcdc_pfc.h>

#include <cmath>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

struct CrossBench {
  CrossBench() : mac(bench.add_clock("mac", bench.top().mac_clk_i, 1600, 300)) {
    bench.reset({&bench.top().rst_i, &bench.top().mac_rst_i}, 6);
  }
  Vcdc_pfc& top() { return bench.top(); }
  Bench<Vcdc_pfc> bench;
  Clock& mac;
};

}  // namespace

TEST_CASE("the rate becomes bits per cycle of the MAC, never more") {
  CrossBench b;
  auto random = rng("rates");
  std::vector<uint32_t> rates = {1,           1'000'000,   10'000'000,  25'000'000, 100'000'000,
                                 200'000'000, 400'000'000, 800'000'000, 0x3FFFFFFF};
  for (int i = 0; i < 50; ++i) rates.push_back(random.u32() & 0x3FFFFFFF);
  for (const uint32_t kbps : rates) {
    b.top().cfg_kbps_i = kbps;
    b.bench.tick(8);
    const double want = kbps * 1e3 * 1600e-12;
    const double got = static_cast<double>(b.top().mac_bits_o) * 0x1p-20;
    INFO(kbps << " kb/s");
    CHECK(got <= want);
    CHECK(got >= want * (1 - 1e-7) - 0x1p-19);
  }
}

TEST_CASE("settings and levels arrive on the other side") {
  CrossBench b;
  auto random = rng("levels");
  for (int i = 0; i < 50; ++i) {
    auto& t = b.top();
    t.cfg_rx_classes_i = static_cast<CData>(random.u32());
    t.cfg_rx_link_i = random.chance(0.5);
    t.cfg_tx_link_i = random.chance(0.5);
    t.cfg_quanta_i = static_cast<SData>(random.u32());
    t.cfg_mac_i = random.u64() >> 16;
    t.xoff_i = static_cast<CData>(random.u32());
    t.mac_paused_i = static_cast<CData>(random.u32());
    t.mac_link_paused_i = random.chance(0.5);
    t.link_free_i = random.chance(0.5);
    t.link_drop_i = random.chance(0.5);
    b.bench.tick(5);
    CHECK(t.mac_rx_classes_o == t.cfg_rx_classes_i);
    CHECK(t.mac_rx_link_o == t.cfg_rx_link_i);
    CHECK(t.mac_tx_link_o == t.cfg_tx_link_i);
    CHECK(t.mac_quanta_o == t.cfg_quanta_i);
    CHECK(t.mac_mac_o == t.cfg_mac_i);
    CHECK(t.mac_xoff_o == t.xoff_i);
    CHECK(t.paused_o == t.mac_paused_i);
    CHECK(t.link_paused_o == t.mac_link_paused_i);
    CHECK(t.mac_link_free_o == t.link_free_i);
    CHECK(t.mac_link_drop_o == t.link_drop_i);
  }
}

TEST_CASE("every pulse is counted once, also when they come in every cycle") {
  CrossBench b;
  auto random = rng("pulses");
  std::array<uint64_t, 20> sent{}, got{};
  bool run = true;
  b.bench.on_drive(b.mac, [&] {
    auto& t = b.top();
    const uint32_t p = !run ? 0 : random.chance(0.1) ? 0xFFFFF : random.u32() & 0xFFFFF;
    t.mac_rx_pause_i = p & 1;
    t.mac_rx_bad_i = p >> 1 & 1;
    t.mac_tx_pause_i = p >> 2 & 1;
    t.mac_rx_prio_i = static_cast<CData>(p >> 3);
    t.mac_tx_prio_i = static_cast<CData>(p >> 11);
    t.mac_dropped_i = p >> 19 & 1;
    for (unsigned i = 0; i < 20; ++i) sent[i] += p >> i & 1;
  });
  b.bench.on_sample([&] {
    auto& t = b.top();
    const uint32_t p = t.cnt_rx_pause_o | t.cnt_rx_mac_ctrl_bad_o << 1 | t.cnt_tx_pause_o << 2 |
                       t.cnt_rx_prio_pause_o << 3 | t.cnt_tx_prio_pause_o << 11 |
                       t.cnt_dropped_o << 19;
    for (unsigned i = 0; i < 20; ++i) got[i] += p >> i & 1;
  });
  b.bench.tick(5000);
  run = false;
  b.bench.tick(2000);
  CHECK(got == sent);
  CHECK(sent[0] > 2000);
}
