// SPDX-License-Identifier: Apache-2.0
#include <Vstream_arb_prio.h>
#include <Vstream_arb_rr.h>

#include <array>
#include <memory>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

constexpr size_t kInputs = 3;

struct Beat {
  uint64_t data = 0;
  bool last = false;
  uint64_t source = 0;
  bool operator==(const Beat&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Beat& beat) {
  return out << std::hex << beat.data << (beat.last ? " last" : "") << " from " << beat.source;
}

// The ports are vectors over the inputs; each source has a bit of its own here, copied to and from
// the pins.
template <class Top>
struct ArbBench : Bench<Top> {
  std::array<CData, kInputs> valid{}, ready{};
  std::array<Beat, kInputs> beat{};
  std::vector<std::unique_ptr<StreamSource<Beat>>> in;
  std::unique_ptr<StreamSink<Beat>> out;

  ArbBench() {
    Top& top = this->top();
    this->on_sample([this, &top] {
      for (size_t i = 0; i < kInputs; ++i) ready[i] = top.in_ready >> i & 1;
    });
    for (size_t i = 0; i < kInputs; ++i) {
      in.push_back(std::make_unique<StreamSource<Beat>>(*this, "in" + std::to_string(i), valid[i],
                                                        ready[i],
                                                        [this, i](const Beat& b) { beat[i] = b; }));
    }
    this->on_drive([this, &top] {
      top.in_valid = 0;
      top.in_last = 0;
      top.in_data = 0;
      for (size_t i = 0; i < kInputs; ++i) {
        top.in_valid |= static_cast<CData>(valid[i] << i);
        top.in_last |= static_cast<CData>((beat[i].last ? 1 : 0) << i);
        top.in_data |= static_cast<QData>(beat[i].data) << (16 * i);
      }
    });
    out = std::make_unique<StreamSink<Beat>>(*this, "out", top.out_valid, top.out_ready, [&top] {
      return Beat{top.out_data, top.out_last != 0, top.out_src};
    });
  }

  // Packets of 1..5 beats; data carries input and number.
  std::array<std::vector<Beat>, kInputs> sent;
  void send(size_t input, size_t packets, size_t max_beats = 5) {
    auto random = rng("packets" + std::to_string(input));
    for (size_t p = 0; p < packets; ++p) {
      const size_t beats = random.between(1, max_beats);
      for (size_t b = 0; b < beats; ++b) {
        const Beat next{(input << 12) | (sent[input].size() & 0xFFF), b + 1 == beats, input};
        sent[input].push_back(next);
        in[input]->push(next);
      }
    }
  }
  size_t total() const {
    size_t count = 0;
    for (const auto& beats : sent) count += beats.size();
    return count;
  }
  void check_all() {
    std::array<std::vector<Beat>, kInputs> got;
    bool inside = false;
    uint64_t source = 0;
    for (const Beat& b : out->items()) {
      REQUIRE(b.source < kInputs);
      if (inside) REQUIRE(b.source == source);  // packets stay whole
      source = b.source;
      inside = !b.last;
      got[b.source].push_back(b);
    }
    for (size_t i = 0; i < kInputs; ++i) CHECK(difference(got[i], sent[i]) == "");
  }
};

}  // namespace

TEMPLATE_TEST_CASE("stream arbiters keep packets whole and in order under stalls", "",
                   Vstream_arb_rr, Vstream_arb_prio) {
  ArbBench<TestType> bench;
  for (auto& source : bench.in) source->set_stall(Stall::random(0.4));
  bench.out->set_stall(GENERATE(Stall::none(), Stall::random(0.5), Stall::bursts(0.2, 6)));
  bench.reset();
  for (size_t i = 0; i < kInputs; ++i) bench.send(i, 200);
  bench.out->wait(bench.total(), 20000);
  bench.check_all();
}

TEMPLATE_TEST_CASE("stream arbiters lose no cycle when the source changes", "", Vstream_arb_rr,
                   Vstream_arb_prio) {
  ArbBench<TestType> bench;
  bench.reset();
  for (size_t i = 0; i < kInputs; ++i) bench.send(i, 50);
  bench.out->wait(bench.total(), 2000);
  CHECK(bench.out->cycles().back() - bench.out->cycles().front() == bench.total() - 1);
  bench.check_all();
}

TEST_CASE("stream_arb_rr serves busy inputs in turn") {
  ArbBench<Vstream_arb_rr> bench;
  bench.reset();
  for (size_t i = 0; i < kInputs; ++i) bench.send(i, 30, 1);
  bench.out->wait(90, 200);
  for (size_t k = 1; k < 90; ++k) {
    REQUIRE((*bench.out)[k].source == ((*bench.out)[k - 1].source + 1) % kInputs);
  }
}

TEST_CASE("stream_arb_prio serves the lowest busy input first") {
  ArbBench<Vstream_arb_prio> bench;
  bench.reset();
  for (size_t i = 0; i < kInputs; ++i) bench.send(i, 10);
  bench.out->wait(bench.total(), 1000);
  for (size_t k = 1; k < bench.total(); ++k) {
    REQUIRE((*bench.out)[k].source >= (*bench.out)[k - 1].source);
  }
}

TEMPLATE_TEST_CASE("stream arbiters forget a packet cut by a reset", "", Vstream_arb_rr,
                   Vstream_arb_prio) {
  ArbBench<TestType> bench;
  bench.out->set_stall(Stall::random(0.5));
  bench.reset();
  bench.in[2]->push({1, false, 2});
  bench.out->wait(1);
  bench.reset();
  bench.out->clear();
  bench.send(0, 3);  // would wait for ever for the end of input 2's packet
  bench.out->wait(bench.total(), 200);
  bench.check_all();
}
