// SPDX-License-Identifier: Apache-2.0
#include <Vmac_rx_1024.h>
#include <Vmac_rx_128.h>
#include <Vmac_rx_fcs_1024.h>
#include <Vmac_rx_fcs_128.h>
#include <Vmac_rx_fcs_256.h>
#include <Vmac_rx_fcs_512.h>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "tests/rx_parser/frame_collector.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::rx;

namespace {

constexpr uint64_t kMacPeriodPs = 1600;

Bytes with_fcs(Bytes frame) {
  const uint32_t fcs = roce::crc32(frame);
  frame.resize(frame.size() + 4);
  roce::store_le32(&frame[frame.size() - 4], fcs);
  return frame;
}

template <class Top>
struct MacBench {
  using Data = std::remove_reference_t<decltype(std::declval<Top>().mac_rx_data)>;
  static constexpr size_t kBeat = sizeof(Data);

  MacBench()
      : bench(kMacPeriodPs),
        driver(bench, "mac_rx",
               {top().mac_rx_valid, top().mac_rx_data, top().mac_rx_cnt, top().mac_rx_last,
                &top().mac_rx_err}),
        out(bench,
            {top().out_valid, top().out_data, top().out_cnt, top().out_last, &top().out_err}) {
    bench.reset();
  }
  Top& top() { return bench.top(); }
  void run() {
    bench.wait(
        "frames to be driven", [this] { return driver.idle(); }, 1000000);
    bench.tick(8);
  }

  test::Bench<Top> bench;
  FrameDriver<Data> driver;
  FrameCollector<Data> out;
};

}  // namespace

#define PLAIN_WIDTHS Vmac_rx_128, Vmac_rx_1024
#define FCS_WIDTHS Vmac_rx_fcs_128, Vmac_rx_fcs_256, Vmac_rx_fcs_512, Vmac_rx_fcs_1024

TEMPLATE_TEST_CASE("without FCS frames pass in one cycle, errors with them", "", PLAIN_WIDTHS) {
  MacBench<TestType> b;
  auto rng = test::rng("frames");
  std::vector<WireFrame> frames;
  for (size_t n = 1; n <= 300; ++n) frames.push_back({rng.bytes(n), rng.chance(0.2)});
  for (const auto& f : frames) b.driver.push(f);
  if (rng.chance(0.5)) b.driver.set_gaps(test::Stall::random(0.3));
  b.run();
  REQUIRE(b.out.frames().size() == frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    REQUIRE(b.out.frames()[i].bytes == frames[i].bytes);
    REQUIRE(b.out.frames()[i].err == frames[i].err);
    REQUIRE(b.out.last_cycles()[i] == b.driver.last_cycles()[i] + 1);
  }
}

TEMPLATE_TEST_CASE("the FCS is checked and stripped at every frame length", "", FCS_WIDTHS) {
  for (const bool gaps : {false, true}) {
    MacBench<TestType> b;
    auto rng = test::rng("frames");
    std::vector<WireFrame> sent, want;
    auto add = [&](size_t n) {
      Bytes data = rng.bytes(n);
      WireFrame f{with_fcs(data)};
      bool bad = rng.chance(0.3);
      if (bad && rng.chance(0.3)) {
        f.err = true;
      } else if (bad) {
        f.bytes[rng.below(f.bytes.size())] ^= static_cast<uint8_t>(1 << rng.below(8));
        data.assign(f.bytes.begin(), f.bytes.end() - 4);
      }
      sent.push_back(f);
      want.push_back({data, bad});
    };
    for (size_t n = 1; n <= 3 * MacBench<TestType>::kBeat; ++n) add(n);
    for (int i = 0; i < 300; ++i) add(rng.between(1, 600));
    if (gaps) b.driver.set_gaps(test::Stall::bursts(0.3, 4));
    for (const auto& f : sent) b.driver.push(f);
    b.run();
    REQUIRE(b.out.frames().size() == want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      INFO("frame " << i << ", " << want[i].bytes.size() << " bytes");
      REQUIRE(b.out.frames()[i].bytes == want[i].bytes);
      REQUIRE(b.out.frames()[i].err == want[i].err);
      // Four cycles behind its last beat, three when that held nothing but FCS.
      const size_t tail = (sent[i].bytes.size() - 1) % MacBench<TestType>::kBeat + 1;
      REQUIRE(b.out.last_cycles()[i] == b.driver.last_cycles()[i] + (tail <= 4 ? 3 : 4));
    }
  }
}

TEMPLATE_TEST_CASE("every single-bit error of a frame and its FCS is seen", "", FCS_WIDTHS) {
  MacBench<TestType> b;
  const Bytes frame = with_fcs(padded(fact_vectors()[1], 79));
  for (size_t i = 0; i < frame.size() * 8; ++i) {
    Bytes f = frame;
    f[i / 8] ^= static_cast<uint8_t>(1 << (i % 8));
    b.driver.push({f});
  }
  b.driver.push({frame});
  b.run();
  REQUIRE(b.out.frames().size() == frame.size() * 8 + 1);
  for (size_t i = 0; i < frame.size() * 8; ++i) REQUIRE(b.out.frames()[i].err);
  REQUIRE_FALSE(b.out.frames().back().err);
}

TEMPLATE_TEST_CASE("a frame of nothing but FCS bytes becomes one bad byte", "", FCS_WIDTHS) {
  MacBench<TestType> b;
  for (size_t n = 1; n <= 4; ++n) b.driver.push({Bytes(n, 0x11)});
  b.driver.push({with_fcs(Bytes(60, 0x22))});
  b.run();
  REQUIRE(b.out.frames().size() == 5);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(b.out.frames()[i].bytes.size() == 1);
    CHECK(b.out.frames()[i].err);
  }
  CHECK(b.out.frames()[4].bytes == Bytes(60, 0x22));
  CHECK_FALSE(b.out.frames()[4].err);
}

TEMPLATE_TEST_CASE("the rest of a frame that reset cut is not taken for a frame", "", PLAIN_WIDTHS,
                   FCS_WIDTHS) {
  // The wire goes on through reset: pins are driven by hand.
  test::Bench<TestType> bench(kMacPeriodPs);
  TestType& t = bench.top();
  using Data = std::remove_reference_t<decltype(t.mac_rx_data)>;
  FrameCollector<Data> out(bench, {t.out_valid, t.out_data, t.out_cnt, t.out_last, &t.out_err});
  bench.reset();
  auto beat = [&](uint8_t fill, uint8_t cnt, bool last) {
    t.mac_rx_valid = 1;
    test::write_pin(t.mac_rx_data, test::Bits::from_bytes(Bytes(sizeof(Data), fill)));
    t.mac_rx_cnt = cnt;
    t.mac_rx_last = last;
    t.mac_rx_err = 0;
    bench.settle();
    bench.tick();
    t.mac_rx_valid = 0;
  };
  const auto full = static_cast<uint8_t>(sizeof(Data));
  auto rng = test::rng("cut");
  for (int round = 0; round < 20; ++round) {
    out.clear();
    beat(1, full, false);
    beat(2, full, false);
    t.rst_i = 1;
    const bool ends_in_reset = round % 2 == 0;
    beat(3, full, false);
    if (ends_in_reset) beat(4, 9, true);
    t.rst_i = 0;
    out.clear();
    if (!ends_in_reset) {
      beat(5, full, false);
      if (rng.chance(0.5)) bench.tick(2);
      beat(6, 9, true);
    }
    beat(7, full, false);
    beat(8, 15, true);
    bench.tick(8);
    REQUIRE(out.frames().size() == 1);
    Bytes want(sizeof(Data), 7);
    want.resize(want.size() + 15, 8);
    const size_t stripped = out.frames()[0].bytes.size();
    const bool fcs = stripped == want.size() - 4;
    if (fcs) want.resize(stripped);
    CHECK(out.frames()[0].bytes == want);
  }
}
