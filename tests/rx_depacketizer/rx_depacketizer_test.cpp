// SPDX-License-Identifier: Apache-2.0
#include <Vrx_depacketizer_1024.h>
#include <Vrx_depacketizer_128.h>
#include <Vrx_depacketizer_256.h>
#include <Vrx_depacketizer_512.h>

#include "tests/rx_parser/frame_collector.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic;
using namespace rnic::rx;
using test::Bits;
using test::Stall;

namespace {

struct Row {
  Bytes data;
  bool first, last;
  unsigned off, len;
  bool operator==(const Row&) const = default;
};

template <class Top>
struct DepacketizerBench {
  using Data = std::remove_reference_t<decltype(std::declval<Top>().row_data)>;
  static constexpr size_t kBeat = sizeof(Data);

  DepacketizerBench()
      : pk(bench, "pk", top().pk_valid, top().pk_ready,
           [this](const Bits& m) { test::write_pin(top().pk_meta, m); }),
        row(bench, "row", top().row_valid, top().row_ready,
            [this](const Row& r) {
              test::write_pin(top().row_data, Bits::from_bytes(r.data));
              top().row_first = r.first;
              top().row_last = r.last;
              top().row_off = static_cast<uint8_t>(r.off);
              top().row_len = static_cast<uint16_t>(r.len);
            }),
        rxm(bench, "rxm", top().rxm_valid, top().rxm_ready,
            [this] { return test::read_pin(top().rxm); }),
        rxd(bench, "rxd", top().rxd_valid, top().rxd_ready,
            [this] { return read_beat(top().rxd_data, top().rxd_cnt, top().rxd_last != 0); }) {
    // Payload never shows in front of its header fields.
    bench.on_sample([this] {
      if (top().rxm_valid != 0 && shown_ == rxm_taken_) {
        ++shown_;
        with_payload_ += kMeta.get(test::read_pin(top().rxm), "payload_len") != 0;
      }
      if (top().rxm_valid != 0 && top().rxm_ready != 0) ++rxm_taken_;
      if (top().rxd_valid != 0 && done_ >= with_payload_)
        throw test::ProtocolError("payload in front of its header");
      if (top().rxd_valid != 0 && top().rxd_ready != 0 && top().rxd_last != 0) ++done_;
    });
    bench.reset();
  }
  Top& top() { return bench.top(); }

  void push(size_t hdr_len, size_t len) {
    Bits meta = Bits::random(rng, kMeta.width());
    kMeta.set(meta, "payload_len", len);
    metas.push_back(meta);
    pk.push(meta);
    if (len == 0) return;
    Bytes payload = rng.bytes(len);
    payloads.push_back(payload);
    const size_t off = hdr_len % kBeat;
    const size_t rows = (off + len + kBeat - 1) / kBeat;
    Bytes all = rng.bytes(rows * kBeat);
    std::copy(payload.begin(), payload.end(), all.begin() + static_cast<std::ptrdiff_t>(off));
    for (size_t i = 0; i < rows; ++i) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(i * kBeat);
      row.push({Bytes(from, from + kBeat), i == 0, i + 1 == rows,
                static_cast<unsigned>(i ? rng.below(64) * 2 : off),
                static_cast<unsigned>(i ? rng.below(4097) : len)});
    }
  }
  void check() {
    size_t beats = 0;
    for (const Bytes& p : payloads) beats += (p.size() + kBeat - 1) / kBeat;
    rxm.wait(metas.size(), 1000000);
    rxd.wait(beats, 1000000);
    bench.tick(20);
    REQUIRE(rxm.items() == metas);
    REQUIRE(join_beats(rxd.items()) == payloads);
  }

  test::Bench<Top> bench;
  test::StreamSource<Bits> pk;
  test::StreamSource<Row> row;
  test::StreamSink<Bits> rxm;
  test::StreamSink<Beat> rxd;
  test::Rng rng = test::rng("data");
  std::vector<Bits> metas;
  std::vector<Bytes> payloads;

 private:
  size_t rxm_taken_ = 0, shown_ = 0, with_payload_ = 0, done_ = 0;
};

}  // namespace

#define WIDTHS \
  Vrx_depacketizer_128, Vrx_depacketizer_256, Vrx_depacketizer_512, Vrx_depacketizer_1024

TEMPLATE_TEST_CASE("every header length with every tail gives the payload in lane 0", "", WIDTHS) {
  DepacketizerBench<TestType> b;
  constexpr size_t kBeat = DepacketizerBench<TestType>::kBeat;
  for (size_t hdr = 54; hdr <= 118; hdr += 2) {
    for (size_t len = 0; len <= 2 * kBeat + 2; len += (kBeat > 32 && len > 4) ? 3 : 1)
      b.push(hdr, len);
    for (size_t len : {kBeat - 1, kBeat, kBeat + 1, 3 * kBeat}) b.push(hdr, len);
  }
  b.push(58, 4096);
  b.push(106, 4096);
  b.push(64, 4096);
  b.check();
}

TEMPLATE_TEST_CASE("stalls on every side change nothing", "", WIDTHS) {
  for (int who = 0; who < 5; ++who) {
    DepacketizerBench<TestType> b;
    const Stall slow = Stall::bursts(0.3, 6);
    if (who == 0 || who == 4) b.pk.set_stall(slow);
    if (who == 1 || who == 4) b.row.set_stall(slow);
    if (who == 2 || who == 4) b.rxm.set_stall(slow);
    if (who == 3 || who == 4) b.rxd.set_stall(slow);
    for (int i = 0; i < 400; ++i) {
      b.push(54 + 2 * b.rng.below(33), b.rng.chance(0.2)   ? 0
                                       : b.rng.chance(0.5) ? b.rng.below(80)
                                                           : b.rng.below(500));
    }
    b.check();
  }
}

TEMPLATE_TEST_CASE("packets of one row pass one per cycle, long ones a row per cycle", "", WIDTHS) {
  {
    DepacketizerBench<TestType> b;
    for (int i = 0; i < 200; ++i) b.push(DepacketizerBench<TestType>::kBeat * 4 + 6, 8);
    b.check();
    CHECK(b.rxd.cycles().back() - b.rxd.cycles().front() == 199);
    CHECK(b.rxd.cycles().front() == b.row.cycles().front() + 1);
    CHECK(b.rxm.cycles().front() == b.pk.cycles().front());
  }
}

TEMPLATE_TEST_CASE("packets of many rows take a cycle per row", "", WIDTHS) {
  for (const size_t hdr : {58u, 54u, 64u}) {
    DepacketizerBench<TestType> b;
    constexpr size_t kBeat = DepacketizerBench<TestType>::kBeat;
    size_t rows = 0;
    for (int i = 0; i < 10; ++i) {
      b.push(hdr, 4096);
      rows += (hdr % kBeat + 4096 + kBeat - 1) / kBeat;
    }
    b.check();
    // The last row's beat may be followed by one of what it left.
    CHECK(b.rxd.cycles().back() - b.row.cycles().front() <= rows + 1);
  }
}

TEMPLATE_TEST_CASE("reset in mid-packet leaves nothing behind", "", WIDTHS) {
  DepacketizerBench<TestType> b;
  for (int round = 0; round < 20; ++round) {
    b.rxd.set_stall(Stall::random(0.5));
    b.push(58, 600);
    b.push(60, 600);
    b.bench.tick(b.rng.between(1, 20));
    b.bench.reset(1);
    CHECK(b.top().rxd_valid == 0);
  }
}
