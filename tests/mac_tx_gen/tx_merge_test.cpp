// SPDX-License-Identifier: Apache-2.0
#include <Vtx_merge.h>

#include "tests/mac_tx_gen/frames.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;

namespace {

constexpr size_t kLanes = 32, kRawBeats = 8;

struct MergeBench : Bench<Vtx_merge> {
  StreamSource<Beat> in{*this, "in", top().in_valid, top().in_ready, [this](const Beat& b) {
                          write_pin(top().in_data, b.data);
                          top().in_cnt = static_cast<CData>(b.cnt);
                          top().in_last = b.last;
                          top().in_abort = b.bad;
                          write_pin(top().in_eth, b.eth);
                        }};
  StreamSource<Beat> raw{*this, "raw_tx", top().raw_tx_valid, top().raw_tx_ready,
                         [this](const Beat& b) {
                           Bits data = b.data;  // junk behind the frame
                           for (size_t i = b.cnt; i < kLanes; ++i) data.set_byte(i, 0xEE);
                           write_pin(top().raw_tx_data, data);
                           top().raw_tx_cnt = static_cast<CData>(b.cnt);
                           top().raw_tx_last = b.last;
                         }};
  StreamSink<Beat> out{*this, "out", top().out_valid, top().out_ready, [this] {
                         return Beat{read_pin(top().out_data), top().out_cnt, top().out_last != 0,
                                     top().out_abort != 0, read_pin(top().out_eth)};
                       }};
  Collector frames{kLanes};
  uint64_t gaps = 0;  // cycles without a beat inside a raw frame
  bool raw_inside = false;

  MergeBench() {
    out.on_item([this](const Beat& b) {
      for (size_t i = b.cnt; i < kLanes; ++i) {
        if (b.data.byte(i) != 0) throw ProtocolError("lane behind out_cnt is not zero");
      }
      frames.take(b, cycle());
      raw_inside = kTxEth.get(b.eth, "raw") == 1 && !b.last;
    });
    on_sample([this] { gaps += raw_inside && top().out_valid == 0; });
  }
  void send(const std::vector<uint8_t>& bytes, uint32_t psn, bool abort) {
    for (const Beat& b :
         cut(bytes, kLanes, kTxEth.pack({{"psn", psn}, {"vlan", 1}, {"tci", psn}}), abort)) {
      in.push(b);
    }
  }
  void send_raw(const std::vector<uint8_t>& bytes) {
    for (const Beat& b : cut(bytes, kLanes, raw_eth())) raw.push(b);
  }
};

}  // namespace

TEST_CASE("tx_merge keeps frames whole, in order of each source, under stalls on every side") {
  const auto [in_stall, raw_stall, out_stall] = GENERATE(table<Stall, Stall, Stall>({
      {Stall::none(), Stall::none(), Stall::none()},
      {Stall::random(0.3), Stall::random(0.7), Stall::none()},
      {Stall::random(0.5), Stall::random(0.2), Stall::random(0.5)},
      {Stall::bursts(0.1, 8), Stall::bursts(0.1, 20), Stall::bursts(0.05, 9)},
  }));
  MergeBench bench;
  bench.in.set_stall(in_stall);
  bench.raw.set_stall(raw_stall);
  bench.out.set_stall(out_stall);
  bench.reset();
  auto random = rng("frames");
  std::vector<std::vector<uint8_t>> packets, raws;
  std::vector<bool> bad;
  for (uint32_t i = 0; i < 100; ++i) {
    packets.push_back(random.bytes(random.between(1, 200)));
    bad.push_back(random.chance(0.2));
    bench.send(packets.back(), i, bad.back());
    raws.push_back(random.bytes(random.between(14, kRawBeats * kLanes)));
    bench.send_raw(raws.back());
  }
  bench.wait(
      "frames", [&] { return bench.frames.frames.size() == 200; }, 30000);
  size_t p = 0, r = 0;
  for (const Frame& f : bench.frames.frames) {
    if (kTxEth.get(f.eth, "raw") == 1) {
      CHECK((f.bytes == raws.at(r++)));
      CHECK(!f.bad);
    } else {
      CHECK((f.bytes == packets.at(p)));
      CHECK(kTxEth.get(f.eth, "psn") == p);
      CHECK(f.bad == bad.at(p));
      ++p;
    }
  }
  CHECK(bench.gaps == 0);  // a slow raw source is waited for before its frame starts
}

TEST_CASE("tx_merge alternates when both always have frames") {
  MergeBench bench;
  bench.out.set_stall(Stall::always());
  bench.reset();
  for (uint32_t i = 0; i < 8; ++i) {
    bench.send(std::vector<uint8_t>(20, 1), i, false);
    bench.send_raw(std::vector<uint8_t>(20, 2));
  }
  bench.tick(20);
  bench.out.set_stall(Stall::none());
  bench.wait("frames", [&] { return bench.frames.frames.size() == 16; });
  for (size_t i = 0; i < 16; ++i) {
    CHECK(kTxEth.get(bench.frames.frames[i].eth, "raw") == i % 2);
  }
  CHECK(bench.frames.frames[15].last - bench.frames.frames[0].first == 15);
}

TEST_CASE("tx_merge lets a raw frame longer than its FIFO through") {
  MergeBench bench;
  bench.reset();
  const auto bytes = rng("raw").bytes(5 * kRawBeats * kLanes + 3);
  bench.send_raw(bytes);
  bench.wait("frame", [&] { return bench.frames.frames.size() == 1; });
  CHECK((bench.frames.frames[0].bytes == bytes));
}

TEST_CASE("tx_merge passes packets without latency, and is empty after a reset in mid-frame") {
  MergeBench bench;
  bench.out.set_stall(Stall::random(0.5));
  bench.reset();
  for (uint32_t i = 0; i < 8; ++i) {
    bench.send(std::vector<uint8_t>(200, 1), i, false);
    bench.send_raw(std::vector<uint8_t>(200, 2));
  }
  bench.tick(31);
  bench.reset();
  bench.frames.clear();
  bench.raw_inside = false;
  bench.out.set_stall(Stall::none());
  bench.tick(5);
  CHECK(bench->out_valid == 0);
  bench.send({1, 2, 3}, 5, false);
  bench.wait("frame", [&] { return bench.frames.frames.size() == 1; });
  CHECK((bench.frames.frames[0].bytes == std::vector<uint8_t>{1, 2, 3}));
  CHECK(bench.frames.frames[0].first == bench.in.cycles().back());
}
