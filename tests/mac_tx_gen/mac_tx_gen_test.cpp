// SPDX-License-Identifier: Apache-2.0
#include <Vmac_tx_gen_w1024_fcs.h>
#include <Vmac_tx_gen_w128.h>
#include <Vmac_tx_gen_w128_fcs.h>
#include <Vmac_tx_gen_w256_fcs.h>
#include <Vmac_tx_gen_w512.h>

#include "harness/roce/crc.hpp"
#include "tests/mac_tx_gen/frames.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;
namespace roce = rnic::roce;

namespace {

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (const uint8_t b : bytes) {
    char text[3];
    snprintf(text, sizeof text, "%02x", b);
    out += text;
  }
  return out;
}

template <class Top>
constexpr bool kFcs =
    !std::is_same_v<Top, Vmac_tx_gen_w128> && !std::is_same_v<Top, Vmac_tx_gen_w512>;

// CRC-32 of the frame, bit by bit, least significant byte first.
std::vector<uint8_t> with_fcs(std::vector<uint8_t> frame, bool bad) {
  uint32_t reg = 0xFFFFFFFFu;
  for (const uint8_t byte : frame) {
    reg ^= byte;
    for (int i = 0; i < 8; ++i) reg = (reg >> 1) ^ ((reg & 1u) != 0u ? 0xEDB88320u : 0u);
  }
  if (!bad) reg = ~reg;
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<uint8_t>(reg >> (8 * i)));
  return frame;
}

template <class Top>
class MacBench : public Bench<Top> {
 public:
  static constexpr size_t kBytes = sizeof(Top::in_data);

  MacBench()
      : in_(*this, "in", this->top().in_valid, this->top().in_ready,
            [this](const Beat& b) {
              auto& t = this->top();
              write_pin(t.in_data, b.data);
              t.in_cnt = static_cast<CData>(b.cnt);
              t.in_last = b.last;
              t.in_abort = b.bad;
              write_pin(t.in_eth, b.eth);
            }),
        out_(*this, "mac_tx", this->top().mac_tx_valid, this->top().mac_tx_ready, [this] {
          auto& t = this->top();
          return Beat{read_pin(t.mac_tx_data), t.mac_tx_cnt, t.mac_tx_last != 0, t.mac_tx_err != 0,
                      Bits(1)};
        }) {
    this->on_sample([this] {
      auto& t = this->top();
      if (frames.inside() && t.mac_tx_ready != 0 && t.mac_tx_valid == 0) {
        throw ProtocolError("a gap inside a frame");
      }
      if (t.underrun_o != 0)
        underruns.push_back(uint64_t{t.underrun_request_o} << 48 |
                            uint64_t{t.underrun_qpn_o} << 24 | t.underrun_psn_o);
    });
    out_.on_item([this](const Beat& b) { frames.take(b, this->cycle()); });
    this->on_drive([this] {
      this->top().in_level_i = static_cast<CData>(std::min<size_t>(in_.pending(), 200));
    });
  }

  void send(const std::vector<uint8_t>& bytes, const Bits& eth, bool abort = false) {
    for (const Beat& b : cut(bytes, kBytes, eth, abort)) in_.push(b);
  }
  void send(const TxPacket& p) { send(p.expected(77), p.eth(), p.abort); }
  void wait_frames(size_t n, uint64_t limit = 30000) {
    this->wait(
        "frames", [&] { return frames.frames.size() >= n; }, limit);
  }

  StreamSource<Beat> in_;
  StreamSink<Beat> out_;
  Collector frames{kBytes};
  std::vector<uint64_t> underruns;
};

std::vector<uint8_t> random_raw(Rng& random) {
  return random.bytes(random.chance(0.5) ? random.between(14, 70) : random.between(60, 400));
}

// What goes in and the frame that must come out.
struct Item {
  std::vector<uint8_t> want;
  uint64_t who = 0;
};

template <class Top>
std::vector<Item> send_mix(MacBench<Top>& bench, size_t count, bool aborts) {
  auto random = rng("frames");
  std::vector<Item> items;
  for (size_t i = 0; i < count; ++i) {
    if (random.chance(0.3)) {
      const auto raw = random_raw(random);
      bench.send(raw, raw_eth());
      items.push_back({padded(raw), 0});
    } else {
      TxPacket p =
          random_packet(random, random.chance(0.2) ? roce::kRcSendOnly : roce::kRcWriteOnly,
                        random.chance(0.5) ? 8 : 400);
      p.abort = aborts && random.chance(0.2);
      bench.send(p);
      auto frame = p.frame(77);
      items.push_back({frame, uint64_t{!p.response} << 48 | uint64_t{p.qpn} << 24 | p.spec.psn});
      if (p.abort) items.back().who |= uint64_t{1} << 63;
    }
  }
  return items;
}

template <class Top>
void check_mix(Stall out, size_t count = 200) {
  MacBench<Top> bench;
  bench.out_.set_stall(out);
  bench.reset();
  const auto items = send_mix(bench, count, true);
  bench.wait_frames(items.size(), 300 * count);
  bench.tick(20);
  REQUIRE(bench.frames.frames.size() == items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    INFO("frame " << i << " of " << items[i].want.size() << " bytes");
    const bool bad = items[i].who >> 63 != 0;
    CHECK(bench.frames.frames[i].bad == bad);
    const auto want = kFcs<Top> ? with_fcs(items[i].want, bad) : items[i].want;
    CHECK(hex(bench.frames.frames[i].bytes) == hex(want));
  }
  CHECK(bench.underruns.empty());
}

}  // namespace

#define MACS                                                                      \
  Vmac_tx_gen_w128, Vmac_tx_gen_w128_fcs, Vmac_tx_gen_w256_fcs, Vmac_tx_gen_w512, \
      Vmac_tx_gen_w1024_fcs

TEMPLATE_TEST_CASE("mac_tx_gen makes whole frames of packets and raw frames without stalls", "",
                   MACS) {
  check_mix<TestType>(Stall::none());
}

TEMPLATE_TEST_CASE("mac_tx_gen makes whole frames at any pace of the MAC", "", MACS) {
  check_mix<TestType>(Stall::random(0.5));
  check_mix<TestType>(Stall::bursts(0.05, 30));
}

TEMPLATE_TEST_CASE("mac_tx_gen frames every length from 14 to three beats", "", MACS) {
  MacBench<TestType> bench;
  bench.reset();
  std::vector<std::vector<uint8_t>> want;
  auto random = rng("bytes");
  const Bits plain = kTxEth.pack({{"dmac", 0x010203040506}, {"smac", 0x0708090A0B0C}, {"ipv6", 1}});
  Bits tagged = plain;
  kTxEth.set(tagged, "vlan", 1);
  kTxEth.set(tagged, "tci", 0xA123);
  const std::vector<uint8_t> macs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (size_t n = 1; n < 3 * bench.kBytes; ++n) {
    const auto bytes = random.bytes(n);
    for (int form = 0; form < 3; ++form) {
      std::vector<uint8_t> frame;
      if (form > 0) frame = macs;
      if (form == 2) frame.insert(frame.end(), {0x81, 0x00, 0xA1, 0x23});
      if (form > 0) frame.insert(frame.end(), {0x86, 0xDD});
      frame.insert(frame.end(), bytes.begin(), bytes.end());
      bench.send(bytes, form == 0 ? raw_eth() : form == 1 ? plain : tagged);
      frame = padded(frame);
      want.push_back(kFcs<TestType> ? with_fcs(frame, false) : frame);
    }
  }
  bench.wait_frames(want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    INFO("length " << i / 3 + 1 << ", form " << i % 3);
    CHECK(hex(bench.frames.frames[i].bytes) == hex(want[i]));
  }
  CHECK(bench.underruns.empty());
}

TEMPLATE_TEST_CASE("mac_tx_gen gives a beat every cycle, one or six cycles after it came", "",
                   MACS) {
  MacBench<TestType> bench;
  bench.on_drive([&] { bench->in_level_i = 100; });
  bench.reset();
  for (int i = 0; i < 50; ++i) bench.send(std::vector<uint8_t>(4 * bench.kBytes, 9), raw_eth());
  bench.wait_frames(50);
  const auto& f = bench.frames.frames;
  const size_t beats = kFcs<TestType> ? 5 : 4;
  CHECK(f[49].last - f[0].first == 50 * beats - 1);
  CHECK(f[0].first - bench.in_.cycles().front() == (kFcs<TestType> ? 6 : 1));
}

TEMPLATE_TEST_CASE(
    "mac_tx_gen ends a frame that runs dry with an error, says whose it was, and goes on", "",
    MACS) {
  MacBench<TestType> bench;
  bench.in_.set_stall(Stall::random(0.3));
  bench.out_.set_stall(Stall::random(0.2));
  bench.reset();
  const auto items = send_mix(bench, 300, false);
  bench.wait_frames(items.size());
  bench.tick(30);
  REQUIRE(bench.frames.frames.size() == items.size());
  std::vector<uint64_t> torn;
  for (size_t i = 0; i < items.size(); ++i) {
    INFO("frame " << i << " of " << items[i].want.size() << " bytes");
    const auto want = kFcs<TestType> ? with_fcs(items[i].want, false) : items[i].want;
    const Frame& got = bench.frames.frames[i];
    if (!got.bad) {
      CHECK((got.bytes == want));
      continue;
    }
    torn.push_back(items[i].who);
    // What went out is the beginning of the frame, then one byte more.
    REQUIRE(got.bytes.size() <= want.size());
    CHECK(std::equal(got.bytes.begin(), got.bytes.end() - 1, want.begin()));
    CHECK(got.bytes.size() % bench.kBytes == 1);
  }
  CHECK(torn.size() > 10);
  CHECK(bench.underruns == torn);
}

TEMPLATE_TEST_CASE("mac_tx_gen is silent after a reset in mid-frame and then works", "", MACS) {
  for (unsigned cut_at = 3; cut_at < 14; ++cut_at) {
    MacBench<TestType> bench;
    bench.out_.set_stall(Stall::random(0.3));
    bench.reset();
    bench.send(std::vector<uint8_t>(6 * bench.kBytes + 5, 1), raw_eth());
    bench.tick(cut_at);
    bench.reset();
    bench.frames.clear();
    bench.underruns.clear();
    bench.tick(10);
    CHECK(bench->mac_tx_valid == 0);
    const auto bytes = rng("x").bytes(100);
    bench.send(bytes, raw_eth());
    bench.wait_frames(1);
    CHECK((bench.frames.frames[0].bytes == (kFcs<TestType> ? with_fcs(bytes, false) : bytes)));
    CHECK(bench.underruns.empty());
  }
}

TEST_CASE(
    "mac_tx_gen waits a little with the first beat of a longer frame, but not when more is there") {
  // Alone in the crossing: two cycles for the next beats to come.
  auto latency = [](unsigned level) {
    MacBench<Vmac_tx_gen_w512> bench;
    bench.on_drive([&] { bench->in_level_i = static_cast<CData>(level); });
    bench.reset();
    bench.send(std::vector<uint8_t>(200, 1), raw_eth());
    bench.wait_frames(1);
    return bench.frames.frames[0].first;
  };
  CHECK(latency(1) - latency(3) == 2);
}

TEMPLATE_TEST_CASE("mac_tx_gen survives long random traffic", "[.soak]", MACS) {
  check_mix<TestType>(Stall::none(), 10000);
  check_mix<TestType>(Stall::random(0.4), 10000);
  check_mix<TestType>(Stall::bursts(0.02, 40), 10000);
}
