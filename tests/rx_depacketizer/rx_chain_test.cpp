// SPDX-License-Identifier: Apache-2.0
// The receive pipeline in the core's clock: frames in, header fields, payload and raw frames out.
#include <Vrx_chain_1024.h>
#include <Vrx_chain_128.h>
#include <Vrx_chain_256.h>
#include <Vrx_chain_512.h>

#include <filesystem>

#include "harness/pcap/pcap.hpp"
#include "tests/rx_depacketizer/rx_checks.hpp"
#include "tests/support/bench.hpp"

using namespace rnic;
using namespace rnic::rx;
using test::Stall;

namespace {

template <class Top>
struct ChainBench {
  using Data = std::remove_reference_t<decltype(std::declval<Top>().in_data)>;
  static constexpr size_t kBeat = sizeof(Data);

  ChainBench()
      : driver(bench, "in",
               {top().in_valid, top().in_data, top().in_cnt, top().in_last, &top().in_err,
                &top().in_ovf}),
        out(bench, top()) {
    bench.reset();
  }
  Top& top() { return bench.top(); }
  void run(const std::vector<WireFrame>& frames) {
    for (const auto& f : frames) driver.push(f);
    bench.wait(
        "frames to be driven", [this] { return driver.idle(); }, 20000000);
    bench.tick(8);
    out.drain(bench);
  }

  test::Bench<Top> bench;
  FrameDriver<Data> driver;
  Outputs<Top> out;
};

std::vector<WireFrame> wire(const std::vector<Bytes>& frames) {
  std::vector<WireFrame> out;
  for (const Bytes& f : frames) out.push_back({f});
  return out;
}

}  // namespace

#define WIDTHS Vrx_chain_128, Vrx_chain_256, Vrx_chain_512, Vrx_chain_1024

TEMPLATE_TEST_CASE("the fourteen frames arrive with fields and payload", "", WIDTHS) {
  ChainBench<TestType> b;
  std::vector<Bytes> frames;
  for (const Bytes& v : fact_vectors()) {
    frames.push_back(v);
    frames.push_back(with_vlan(padded(v), 5));
  }
  b.run(wire(frames));
  b.out.check(wire(frames), true);
  CHECK(b.out.rxm.size() == 28);
}

TEMPLATE_TEST_CASE("single-bit errors change no payload and pass no packet", "", WIDTHS) {
  ChainBench<TestType> b;
  std::vector<WireFrame> sent;
  const Bytes frame = padded(fact_vectors()[1]);
  for (size_t i = 0; i < frame.size() * 8; ++i) {
    Bytes f = frame;
    f[i / 8] ^= static_cast<uint8_t>(1 << (i % 8));
    sent.push_back({f});
  }
  b.run(sent);
  b.out.check(sent, true);
}

TEMPLATE_TEST_CASE("random frames with free outputs all arrive", "", WIDTHS) {
  ChainBench<TestType> b;
  FrameMaker maker(test::rng("mix"));
  const auto sent = wire(maker.mix(1500, 1100));
  b.run(sent);
  b.out.check(sent, true);
}

TEMPLATE_TEST_CASE("random frames with slow outputs arrive whole or are counted", "", WIDTHS) {
  for (int who = 0; who < 4; ++who) {
    ChainBench<TestType> b;
    FrameMaker maker(test::rng("mix"));
    const Stall slow = Stall::bursts(0.1, 40);
    if (who == 0 || who == 3) b.out.rxm.set_stall(slow);
    if (who == 1 || who == 3) b.out.rxd.set_stall(slow);
    if (who == 2 || who == 3) b.out.raw.set_stall(slow);
    b.driver.set_gaps(Stall::random(0.2));
    const auto sent = wire(maker.mix(1000, 1100));
    b.run(sent);
    b.out.check(sent, false);
    if (who == 1) CHECK(b.out.count[kBufferDrops] > 20);
  }
}

TEMPLATE_TEST_CASE("a flood of minimum frames to a slow consumer loses whole frames, counted", "",
                   WIDTHS) {
  ChainBench<TestType> b;
  FrameMaker maker(test::rng("flood"));
  b.out.rxm.set_stall(Stall::random(0.8));
  std::vector<WireFrame> sent;
  for (int i = 0; i < 3000; ++i) {
    Bytes f = padded(maker.roce_frame(i % 3 ? 0 : maker.rng().below(9), i % 3 ? 0x11 : 0x04));
    sent.push_back({f, maker.rng().chance(0.02)});
  }
  b.run(sent);
  b.out.check(sent, false);
  if (ChainBench<TestType>::kBeat >= 64) CHECK(b.out.count[kBufferDrops] > 100);
}

TEMPLATE_TEST_CASE("latency of a lone 64 B WRITE, last beat in to fields and payload out", "",
                   WIDTHS) {
  ChainBench<TestType> b;
  FrameMaker maker(test::rng("latency"));
  Bytes f;
  do {
    f = maker.roce_frame(64, 0x0A);
  } while (f.size() > 14 + 20 + 8 + 12 + 16 + 64 + 4 || f.size() < 138 || f[12] == 0x81);
  b.run({{f}});
  REQUIRE(b.out.rxm.size() == 1);
  CHECK(b.out.rxm.cycles()[0] - b.driver.last_cycles()[0] == 4);
  CHECK(b.out.rxd.cycles()[0] - b.driver.last_cycles()[0] <= 7);
  if (ChainBench<TestType>::kBeat >= 128) {
    CHECK(b.out.rxd.cycles()[0] - b.driver.last_cycles()[0] == 7);  // payload in two rows
  }
}

TEMPLATE_TEST_CASE("latency and rate of frames of one beat", "", Vrx_chain_1024) {
  ChainBench<TestType> b;
  std::vector<WireFrame> sent(2000, WireFrame{padded(fact_vectors()[1])});
  b.run(sent);
  b.out.check(sent, true);
  CHECK(b.out.rxm.cycles()[0] - b.driver.last_cycles()[0] == 4);
  CHECK(b.out.rxd.cycles()[0] - b.driver.last_cycles()[0] == 6);
  CHECK(b.out.rxm.cycles().back() - b.out.rxm.cycles().front() == 1999);
  CHECK(b.out.rxd.cycles().back() - b.out.rxd.cycles().front() == 1999);
}

TEMPLATE_TEST_CASE("4 KB packets back to back at line rate all arrive", "", WIDTHS) {
  ChainBench<TestType> b;
  FrameMaker maker(test::rng("long"));
  std::vector<WireFrame> sent;
  for (int i = 0; i < 60; ++i)
    sent.push_back({maker.roce_frame(4096, static_cast<uint8_t>(i % 2 ? 0x07 : 0x06))});
  b.run(sent);
  b.out.check(sent, true);
}

TEMPLATE_TEST_CASE("reset in the middle of everything, then all is as new", "", WIDTHS) {
  ChainBench<TestType> b;
  FrameMaker maker(test::rng("reset"));
  for (int round = 0; round < 10; ++round) {
    for (const auto& f : maker.mix(30)) b.driver.push({f});
    b.out.rxd.set_stall(Stall::random(0.5));
    b.bench.tick(maker.rng().between(5, 200));
    b.bench.reset(1);
    b.out.rxm.clear();
    b.out.rxd.clear();
    b.out.raw.clear();
    b.out.count = {};
    const auto sent = wire(maker.mix(20, 200));
    b.run(sent);
    b.out.check(sent, true);
  }
}

TEMPLATE_TEST_CASE("every frame that a software stack sent arrives with fields and payload", "",
                   Vrx_chain_128, Vrx_chain_1024) {
  size_t packets = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RNIC_SOURCE_DIR "/tests/captures")) {
    if (entry.path().extension() != ".pcap") continue;
    INFO(entry.path().string());
    pcap::PcapReader reader(entry.path().string());
    std::vector<WireFrame> sent;
    for (pcap::PcapPacket p; sent.size() < 400 && reader.next(p);)
      sent.push_back({Bytes(p.bytes.begin(), p.bytes.end())});
    REQUIRE(!sent.empty());
    ChainBench<TestType> b;
    b.run(sent);
    b.out.check(sent, true);
    CHECK(b.out.count[kIcrcErrors] == 0);
    CHECK(b.out.count[kHeaderErrors] == 0);
    packets += b.out.rxm.size();
  }
  CHECK(packets > 2500);
}

TEMPLATE_TEST_CASE("random frames under many patterns of stalls arrive whole or are counted",
                   "[.soak]", WIDTHS) {
  auto rng = test::rng("soak");
  for (int round = 0; round < 30; ++round) {
    ChainBench<TestType> b;
    FrameMaker maker(rng);
    auto any = [&] {
      return rng.chance(0.4)   ? Stall::none()
             : rng.chance(0.5) ? Stall::random(0.1 * static_cast<double>(rng.below(9)))
                               : Stall::bursts(0.1, static_cast<unsigned>(rng.between(1, 80)));
    };
    b.out.rxm.set_stall(any());
    b.out.rxd.set_stall(any());
    b.out.raw.set_stall(any());
    b.driver.set_gaps(any());
    rng = test::Rng(rng.u64());
    const auto sent = wire(maker.mix(3000, round % 2 ? 4096 : 300));
    b.run(sent);
    b.out.check(sent, false);
  }
}
