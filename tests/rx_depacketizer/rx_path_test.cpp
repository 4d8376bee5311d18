// SPDX-License-Identifier: Apache-2.0
// From the MAC's pins to packets, at 625 and 500 MHz.
#include <Vrx_path_1024.h>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "tests/rx_depacketizer/rx_checks.hpp"
#include "tests/support/bench.hpp"

using namespace rnic;
using namespace rnic::rx;
using test::Stall;

namespace {

struct PathBench {
  using Top = Vrx_path_1024;
  using Data = std::remove_reference_t<decltype(std::declval<Top>().mac_rx_data)>;

  PathBench()
      : mac(bench.add_clock("mac", top().mac_clk_i, 1600, 700)),
        driver(bench, mac, "mac_rx",
               {top().mac_rx_valid, top().mac_rx_data, top().mac_rx_cnt, top().mac_rx_last,
                &top().mac_rx_err}),
        out(bench, top()) {
    bench.on_sample([this] { lost += top().cnt_rx_cdc_drops_o; });
    bench.reset({&top().rst_i, &top().mac_rst_i}, 6);
  }
  Top& top() { return bench.top(); }
  void run(const std::vector<WireFrame>& frames) {
    for (WireFrame f : frames) {
      const uint32_t fcs = roce::crc32(f.bytes) ^ (f.err ? 0x10u : 0u);
      f.bytes.resize(f.bytes.size() + 4);
      roce::store_le32(&f.bytes[f.bytes.size() - 4], fcs);
      f.err = false;
      driver.push(f);
    }
    bench.wait(
        "frames to be driven", [this] { return driver.idle(); }, 1000000);
    bench.tick(60);
    out.drain(bench);
    bench.tick(1000);  // counters of the crossing
  }

  test::Bench<Top> bench;
  test::Clock& mac;
  FrameDriver<Data> driver;
  Outputs<Top> out;
  uint64_t lost = 0;
};

}  // namespace

TEST_CASE("frames on the wire become packets; a bad FCS is dropped and counted") {
  PathBench b;
  FrameMaker maker(test::rng("mix"));
  std::vector<WireFrame> sent;
  for (const Bytes& f : maker.mix(600)) sent.push_back({padded(f), maker.rng().chance(0.1)});
  b.driver.set_gaps(Stall::random(0.4));
  b.run(sent);
  REQUIRE(b.lost == 0);
  b.out.check(sent, true);
  CHECK(b.out.count[kCrcErrors] > 20);
}

TEST_CASE("a line-rate flood of minimum frames loses whole frames, every one counted") {
  PathBench b;
  FrameMaker maker(test::rng("flood"));
  std::vector<WireFrame> sent;
  for (int i = 0; i < 4000; ++i) {
    sent.push_back({padded(maker.roce_frame(0, i % 2 ? 0x11 : 0x0A)), maker.rng().chance(0.02)});
    sent.back().bytes.resize(std::min<size_t>(sent.back().bytes.size(), 120));
  }
  b.run(sent);
  b.out.check(sent, false, b.lost);
  CHECK(b.lost > 300);  // 625 M frames/s are offered, the core takes 500
  CHECK(b.out.rxm.size() > 2500);
  CHECK(b.out.count[kBufferDrops] == 0);
}
