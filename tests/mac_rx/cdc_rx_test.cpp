// SPDX-License-Identifier: Apache-2.0
#include <Vcdc_rx_128.h>
#include <Vcdc_rx_512.h>

#include "tests/rx_parser/frame_collector.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::rx;

namespace {

template <class Top>
struct CdcBench {
  using Data = std::remove_reference_t<decltype(std::declval<Top>().in_data)>;
  static constexpr size_t kBeat = sizeof(Data);

  explicit CdcBench(uint64_t core_ps = 2000, uint64_t mac_ps = 1600)
      : bench(core_ps),
        mac(bench.add_clock("mac", top().mac_clk_i, mac_ps, 300)),
        driver(bench, mac, "in",
               {top().in_valid, top().in_data, top().in_cnt, top().in_last, &top().in_err}),
        out(bench, {top().out_valid, top().out_data, top().out_cnt, top().out_last, &top().out_err,
                    &top().out_ovf}) {
    top().cnt_rx_cdc_drops_hold_i = 0;
    bench.on_sample([this] {
      if (top().cnt_rx_cdc_drops_o != 0 && top().cnt_rx_cdc_drops_hold_i != 0) {
        throw test::ProtocolError("drop pulse while held");
      }
      drops += top().cnt_rx_cdc_drops_o;
    });
    reset();
  }
  Top& top() { return bench.top(); }
  void reset() { bench.reset({&top().rst_i, &top().mac_rst_i}, 6); }
  void run() {
    bench.wait(
        "frames to be driven", [this] { return driver.idle(); }, 1000000);
    bench.tick(200);
  }
  // Every frame came whole, or not at all, or cut and marked; and the lost ones are counted.
  void check(const std::vector<WireFrame>& sent) {
    size_t next = 0;
    size_t whole = 0;
    for (const WireFrame& f : out.frames()) {
      if (f.ovf) continue;
      while (next < sent.size() && !(sent[next].bytes == f.bytes)) ++next;
      REQUIRE(next < sent.size());
      REQUIRE(f.err == sent[next].err);
      ++next;
      ++whole;
    }
    REQUIRE(whole + drops == sent.size());
    received = whole;
  }

  test::Bench<Top> bench;
  test::Clock& mac;
  FrameDriver<Data> driver;
  FrameCollector<Data> out;
  uint64_t drops = 0;
  size_t received = 0;
};

std::vector<WireFrame> random_frames(test::Rng& rng, size_t count, size_t low, size_t high) {
  std::vector<WireFrame> out;
  for (size_t i = 0; i < count; ++i) {
    WireFrame f{rng.bytes(rng.between(low, high)), rng.chance(0.1)};
    if (f.bytes.size() >= 8) {  // all different
      for (size_t k = 0; k < 4; ++k) f.bytes[k] = static_cast<uint8_t>(i >> (8 * k));
    }
    out.push_back(f);
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("frames that the core can take cross unchanged at any clock ratio", "",
                   Vcdc_rx_128, Vcdc_rx_512) {
  for (const auto& [core, mac] :
       {std::pair{2000, 1600}, {2000, 2500}, {1000, 3300}, {2000, 2000}}) {
    CdcBench<TestType> b(core, mac);
    auto rng = test::rng("frames");
    const auto sent = random_frames(rng, 200, 8, 400);
    // On average no more than the core takes.
    if (core > mac) b.driver.set_gaps(test::Stall::random(0.45));
    for (const auto& f : sent) b.driver.push(f);
    b.run();
    if (core <= mac) {
      CHECK(b.drops == 0);
      CHECK(b.out.frames().size() == sent.size());
    }
    b.check(sent);
    CHECK(b.received > sent.size() * 9 / 10);
  }
}

TEMPLATE_TEST_CASE("a flood of one-beat frames loses whole frames, each counted", "", Vcdc_rx_128,
                   Vcdc_rx_512) {
  CdcBench<TestType> b;
  auto rng = test::rng("flood");
  const auto sent = random_frames(rng, 3000, 8, CdcBench<TestType>::kBeat);
  for (const auto& f : sent) b.driver.push(f);
  b.run();
  b.check(sent);
  for (const auto& f : b.out.frames())
    REQUIRE_FALSE(f.ovf);  // one beat either fits or leaves nothing
  // The core takes 500 of 625.
  CHECK(b.received > sent.size() * 78 / 100);
  CHECK(b.drops > sent.size() * 15 / 100);
}

TEMPLATE_TEST_CASE("a flood of frames of all sizes tears none unmarked", "", Vcdc_rx_128,
                   Vcdc_rx_512) {
  CdcBench<TestType> b(4000, 1600);
  auto rng = test::rng("flood");
  const auto sent = random_frames(rng, 1500, 8, 500);
  for (const auto& f : sent) b.driver.push(f);
  b.top().cnt_rx_cdc_drops_hold_i = 1;
  b.bench.tick(50);
  b.top().cnt_rx_cdc_drops_hold_i = 0;
  b.run();
  b.check(sent);
  CHECK(b.drops > 100);
  size_t cut = 0;
  for (const auto& f : b.out.frames()) cut += f.ovf;
  CHECK(cut > 10);
  // Afterwards everything passes again.
  const auto more = random_frames(rng, 20, 8, 60);
  b.out.clear();
  b.drops = 0;
  b.driver.set_gaps(test::Stall::random(0.8));
  for (const auto& f : more) b.driver.push(f);
  b.run();
  b.check(more);
  CHECK(b.drops == 0);
}

TEMPLATE_TEST_CASE("a beat is out at most four core cycles after its MAC edge", "", Vcdc_rx_128,
                   Vcdc_rx_512) {
  CdcBench<TestType> b;
  auto rng = test::rng("latency");
  uint64_t taken =
      0;  // time of the edge that took the beat in, and of the one before which it was out
  uint64_t out = 0;
  b.bench.on_sample(b.mac, [&] {
    if (b.top().in_valid != 0) taken = b.bench.time_ps();
  });
  b.bench.on_sample([&] {
    if (b.top().out_valid != 0) out = b.bench.time_ps();
  });
  uint64_t worst = 0;
  for (int i = 0; i < 50; ++i) {
    b.driver.push({rng.bytes(16)});
    const size_t frames = b.out.frames().size();
    b.bench.wait("frame out", [&] { return b.out.frames().size() > frames; });
    worst = std::max(worst, out - taken);
    b.bench.tick(rng.between(1, 7));
  }
  INFO(worst << " ps");
  CHECK(worst <= 4 * 2000 + 1600);
  CHECK(worst > 3 * 2000);
}

TEMPLATE_TEST_CASE("reset in mid-frame leaves nothing in the crossing", "", Vcdc_rx_128,
                   Vcdc_rx_512) {
  CdcBench<TestType> b;
  auto rng = test::rng("reset");
  for (int round = 0; round < 10; ++round) {
    for (const auto& f : random_frames(rng, 5, 100, 500)) b.driver.push(f);
    b.bench.tick(rng.between(3, 20));
    b.reset();
    b.out.clear();
    b.drops = 0;
    const auto sent = random_frames(rng, 3, 8, 64);
    b.driver.set_gaps(test::Stall::random(0.5));
    for (const auto& f : sent) b.driver.push(f);
    b.run();
    b.check(sent);
    CHECK(b.received == sent.size());
  }
}
