// SPDX-License-Identifier: Apache-2.0
#include <Vcdc_tx.h>

#include "tests/mac_tx_gen/frames.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"

using namespace rnic::test;

namespace {

constexpr size_t kLanes = 16;

struct CdcBench : Bench<Vcdc_tx> {
  Clock& mac;
  StreamSource<Beat> in;
  StreamSink<Beat> out;
  StreamSink<uint32_t> spoil;
  struct Counted {
    uint64_t frames = 0, raw = 0, bytes = 0;
  } counted;
  std::vector<uint64_t> reports, traces;

  explicit CdcBench(uint64_t mac_period_ps)
      : mac(add_clock("mac", top().mac_clk_i, mac_period_ps, 300)),
        in(*this, "in", top().in_valid, top().in_ready,
           [this](const Beat& b) {
             write_pin(top().in_data, b.data);
             top().in_cnt = static_cast<CData>(b.cnt);
             top().in_last = b.last;
             top().in_abort = b.bad;
             write_pin(top().in_eth, b.eth);
           }),
        out(*this, mac, "out", top().out_valid, top().out_ready,
            [this] {
              return Beat{read_pin(top().out_data), top().out_cnt, top().out_last != 0,
                          top().out_abort != 0, read_pin(top().out_eth)};
            }),
        spoil(*this, "spoil", top().spoil_valid, top().spoil_ready, top().spoil_qpn) {
    on_sample([this] {
      auto& t = top();
      if (t.cnt_tx_frames_o != 0) {
        ++counted.frames;
        counted.bytes += t.cnt_tx_bytes_amount_o;
      }
      counted.raw += t.cnt_tx_raw_frames_o;
      if (t.cnt_tx_underruns_o != 0)
        reports.push_back(uint64_t{t.underrun_qpn_o} << 24 | t.underrun_psn_o);
      if (t.trc_valid_o != 0) traces.push_back(t.trc_o);
    });
  }
  void start() { reset({&top().rst_i, &top().mac_rst_i}); }
};

}  // namespace

TEST_CASE(
    "cdc_tx carries every beat at any ratio of the clocks, and counts frames as the wire sees "
    "them") {
  const uint64_t period = GENERATE(1600u, 1234u, 2000u, 3100u);
  const Stall in_stall = GENERATE(Stall::none(), Stall::random(0.5));
  const Stall out_stall = GENERATE(Stall::none(), Stall::bursts(0.05, 20));
  CdcBench bench(period);
  bench.in.set_stall(in_stall);
  bench.out.set_stall(out_stall);
  bench.start();
  auto random = rng("frames");
  std::vector<Beat> sent;
  uint64_t bytes = 0, raw = 0;
  std::vector<uint64_t> traces;
  for (int i = 0; i < 100; ++i) {
    Bits eth = Bits::random(random, kTxEth.width());
    const auto frame = random.bytes(random.between(1, 80));
    const bool is_raw = kTxEth.get(eth, "raw") == 1;
    const size_t header = is_raw ? 0 : kTxEth.get(eth, "vlan") == 1 ? 18 : 14;
    bytes += std::max<size_t>(60, frame.size() + header);
    raw += is_raw;
    if (!is_raw) {
      traces.push_back(uint64_t{10} << 56 | kTxEth.get(eth, "qpn") << 32 | kTxEth.get(eth, "psn"));
    }
    for (const Beat& b : cut(frame, kLanes, eth, random.chance(0.3))) {
      sent.push_back(b);
      bench.in.push(b);
    }
  }
  bench.out.wait(sent.size(), 20000);
  bench.tick(10);
  REQUIRE(bench.out.size() == sent.size());
  bool same = true;
  for (size_t i = 0; i < sent.size(); ++i) same = same && bench.out[i] == sent[i];
  CHECK(same);
  CHECK(bench.counted.frames == 100);
  CHECK(bench.counted.raw == raw);
  CHECK(bench.counted.bytes == bytes);
  CHECK(bench.traces == traces);
}

TEST_CASE("cdc_tx brings every report of a torn frame to the core") {
  CdcBench bench(1600);
  bench.start();
  std::vector<uint64_t> want;
  std::vector<uint32_t> spoiled;  // of these the requests, to rx_completer
  auto random = rng("reports");
  bench.spoil.set_stall(Stall::random(0.5));
  bench.on_drive(bench.mac, [&] {
    auto& t = bench.top();
    t.underrun_i = want.size() < 50 && random.chance(0.3);
    if (t.underrun_i != 0) {
      t.underrun_qpn_i = static_cast<IData>(random.bits(24));
      t.underrun_psn_i = static_cast<IData>(random.bits(24));
      t.underrun_request_i = random.chance(0.5);
      if (t.underrun_request_i != 0) spoiled.push_back(t.underrun_qpn_i);
      want.push_back(uint64_t{t.underrun_qpn_i} << 24 | t.underrun_psn_i);
    }
  });
  bench.tick(600);
  CHECK(want.size() == 50);
  CHECK(bench.reports == want);
  CHECK(bench.spoil.items() == spoiled);
}

TEST_CASE("cdc_tx is empty after a reset of both sides") {
  CdcBench bench(1600);
  bench.out.set_stall(Stall::always());
  bench.start();
  for (const Beat& b : cut(std::vector<uint8_t>(100, 1), kLanes, raw_eth())) bench.in.push(b);
  bench.tick(10);
  bench.start();
  bench.out.set_stall(Stall::none());
  bench.tick(10);
  CHECK(bench.out.size() == 0);
  for (const Beat& b : cut({5, 6}, kLanes, raw_eth())) bench.in.push(b);
  bench.out.wait(1);
  CHECK(bench.out[0].cnt == 2);
  CHECK(bench.counted.frames == 2);  // counted as they enter
}
