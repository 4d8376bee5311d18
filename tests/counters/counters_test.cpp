// SPDX-License-Identifier: Apache-2.0
#include <Vcounters.h>
#include <Vcounters_two.h>

#include <array>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

// Counts what it drives; a read must show exactly the increments of the cycles before its request.
template <class Top, unsigned kN, unsigned kSlot0, unsigned kSlot1>
struct CounterBench : Bench<Top> {
  std::array<uint64_t, kN> total{};  // of all edges so far
  double p_inc = 0, p_add = 0;
  unsigned only = kN;  // a counter that alone gets pulses, kN: all
  Rng random = rng("pulses");

  CounterBench() {
    (*this)->req_i = 0;
    this->on_sample([this] {
      auto& t = this->top();
      for (unsigned i = 0; i < kN; ++i) total[i] += t.inc_i >> i & 1;
      if ((t.add_i & 1) != 0) total[kSlot0] += t.amount_i & 0xFFFF;
      if ((t.add_i & 2) != 0) total[kSlot1] += t.amount_i >> 16;
    });
    this->on_drive([this] { choose(); });
    this->reset();
    quiet();
  }

  void choose() {
    auto& t = this->top();
    uint32_t inc = 0;
    for (unsigned i = 0; i < kN; ++i) {
      if ((only == kN || only == i) && random.chance(p_inc)) inc |= 1U << i;
    }
    t.inc_i = static_cast<std::remove_reference_t<decltype(t.inc_i)>>(inc);
    t.add_i = static_cast<CData>((random.chance(p_add) ? 1 : 0) | (random.chance(p_add) ? 2 : 0));
    t.amount_i = random.chance(0.1) ? 0xFFFFFFFF : random.u32();
  }
  void quiet() {
    p_inc = p_add = 0;
    this->tick();
  }

  // Reads one word; `before` is what all counters were when the request rose.
  uint32_t read(unsigned addr, std::array<uint64_t, kN>* before = nullptr,
                unsigned* cycles = nullptr) {
    auto& t = this->top();
    t.addr_i = static_cast<SData>(addr);
    t.req_i = 1;
    if (before != nullptr) *before = total;
    unsigned n = 0;
    do {
      this->tick();
      if (++n > 4) throw Timeout("no acknowledge");
    } while (t.ack_o == 0);
    if (cycles != nullptr) *cycles = n;
    const uint32_t data = t.rdata_o;
    this->tick();
    t.req_i = 0;
    if (t.ack_o != 0) throw ProtocolError("acknowledged twice");
    return data;
  }
  uint64_t read64(unsigned i, std::array<uint64_t, kN>* before) {
    const uint64_t lo = read(8 * i, before);
    return lo | static_cast<uint64_t>(read(8 * i + 4)) << 32;
  }
};

using Main = CounterBench<Vcounters, 11, 2, 5>;
using Two = CounterBench<Vcounters_two, 2, 1, 1>;

template <class B, unsigned kN>
void random_reads(double p_inc, double p_add, unsigned rounds) {
  B bench;
  auto random = rng("reads");
  bench.p_inc = p_inc;
  bench.p_add = p_add;
  for (unsigned round = 0; round < rounds; ++round) {
    const auto i = static_cast<unsigned>(random.below(kN));
    std::array<uint64_t, kN> before{};
    const uint64_t got = bench.read64(i, &before);
    if (got != before[i]) {
      CAPTURE(round, i);
      REQUIRE(got == before[i]);
    }
    if (random.chance(0.3)) bench.tick(random.below(40));
  }
}

}  // namespace

TEST_CASE("counters read zero after reset, even those not yet visited") {
  Main bench;
  for (unsigned i = 0; i < 11; ++i) CHECK(bench.read(8 * i) == 0);
  CHECK(bench.read(8 * 11) == 0);  // behind the last
  CHECK(bench.read(0xFFC) == 0);
}

TEST_CASE(
    "counters lose nothing with every pulse and amount in every cycle, and show the exact value") {
  random_reads<Main, 11>(1.0, 1.0, 2000);
  random_reads<Two, 2>(1.0, 1.0, 2000);
}

TEST_CASE("counters show the exact value under random pulses") {
  const double p = GENERATE(0.5, 0.02);
  random_reads<Main, 11>(p, p, 2000);
  random_reads<Two, 2>(p, p, 1000);
}

TEST_CASE("back-to-back reads of one counter while it counts are exact") {
  Main bench;
  bench.p_inc = 1;
  bench.only = 7;
  for (int i = 0; i < 200; ++i) {
    std::array<uint64_t, 11> before{};
    const uint32_t got = bench.read(8 * 7, &before);
    if (got != before[7]) REQUIRE(got == before[7]);
  }
  bench.quiet();
  bench.tick(3);
  for (unsigned i = 0; i < 11; ++i) CHECK(bench.read(8 * i) == bench.total[i]);
}

TEST_CASE("the high word belongs to the low word read before it") {
  Main bench;
  // Counter 2 counts in steps of up to 65535: past 2^32 within some 70000 cycles.
  bench.p_add = 1;
  std::array<uint64_t, 11> before{};
  bool crossed = false;
  while (!crossed) {
    bench.tick(20);
    const uint64_t lo = bench.read(8 * 2, &before);
    const uint64_t at_low = before[2];
    bench.tick(30);  // the counter may pass 2^32 here
    unsigned cycles = 0;
    std::array<uint64_t, 11> later{};
    const uint64_t hi = bench.read(8 * 2 + 4, &later, &cycles);
    if ((lo | hi << 32) != at_low) REQUIRE((lo | hi << 32) == at_low);
    CHECK(cycles == 1);
    crossed = (at_low >> 32) != (later[2] >> 32);
    if (later[2] > (3ULL << 32)) FAIL("never crossed");
    // Used up: a second read of the high word is live.
    std::array<uint64_t, 11> live{};
    const uint64_t again = bench.read(8 * 2 + 4, &live);
    if (again != live[2] >> 32) REQUIRE(again == live[2] >> 32);
  }
  // The high word of another counter is not the snapshot.
  bench.read(8 * 2);
  CHECK(bench.read(8 * 3 + 4) == 0);
}

TEST_CASE("a read is acknowledged after two cycles and a reset clears everything") {
  Main bench;
  bench.p_inc = 1;
  bench.tick(100);
  unsigned cycles = 0;
  bench.read(8, nullptr, &cycles);
  CHECK(cycles == 2);
  bench.reset();
  bench.total.fill(0);
  bench.quiet();
  bench.quiet();
  bench.tick(3);
  for (unsigned i = 0; i < 11; ++i) CHECK(bench.read(8 * i) == bench.total[i]);
}

TEST_CASE("a request that is given up does no harm") {
  Main bench;
  bench.p_inc = 0.5;
  for (int i = 0; i < 50; ++i) {
    bench->addr_i = 8;
    bench->req_i = 1;
    bench.tick(1);
    bench->req_i = 0;
    bench.tick(1 + i % 3);
    std::array<uint64_t, 11> before{};
    const uint64_t got = bench.read(8 * 4, &before);  // sets before
    CHECK(got == before[4]);
  }
}
