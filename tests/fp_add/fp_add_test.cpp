// SPDX-License-Identifier: Apache-2.0
//
// The adders against known sums, the rules (harness/numerics) and the machine's own arithmetic. All
// lanes of a beat work at once; the exhaustive tests drive the model by hand, without agents.
#include <Vfp_add_1024.h>
#include <Vfp_add_128.h>

#include <array>
#include <cstring>
#include <deque>

#include "harness/numerics/element.hpp"
#include "harness/numerics/machine.hpp"
#include "tests/harness_numerics/vectors.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "tests/support/soak.hpp"

using namespace rnic::test;
using namespace rnic::numerics;

namespace {

constexpr size_t kWords = 32;  // of 32 bits in a beat of 1024

// One beat in and one out per cycle; what comes out belongs to the beat of two cycles ago.
class Adder {
 public:
  using Words = std::array<uint32_t, kWords>;
  Adder() {
    top_.rst_i = 1;
    clock();
    clock();
    top_.rst_i = 0;
    top_.valid_i = 1;
  }
  void clock() {
    top_.clk_i = 0;
    top_.eval();
    top_.clk_i = 1;
    top_.eval();
  }
  // Adds and compares with the machine.
  void add(Element type, const Words& a, const Words& b) {
    std::memcpy(&top_.a_i[0], a.data(), sizeof a);
    std::memcpy(&top_.b_i[0], b.data(), sizeof b);
    top_.elem_i = static_cast<uint8_t>(type);
    Beat& beat = beats_[count_ % beats_.size()];
    beat = {type, a, b};
    clock();
    if (++count_ >= 2) check(beats_[(count_ - 2) % beats_.size()]);
  }
  void finish() {
    clock();
    check(beats_[(count_ - 1) % beats_.size()]);
    count_ = 0;
  }
  uint64_t bad() const { return bad_; }
  uint64_t sums() const { return sums_; }

 private:
  struct Beat {
    Element type;
    Words a, b;
  };
  void check(const Beat& beat) {
    Words want;
    if (element_bytes(beat.type) == 2) {
      const auto half = [](const Words& w) {
        return std::span(reinterpret_cast<const uint16_t*>(w.data()), 2 * kWords);
      };
      machine_add(beat.type, half(beat.a), half(beat.b),
                  {reinterpret_cast<uint16_t*>(want.data()), 2 * kWords});
      sums_ += 2 * kWords;
    } else {
      machine_add(beat.type, beat.a, beat.b, want);
      sums_ += kWords;
    }
    if (top_.valid_o && std::memcmp(&top_.sum_o[0], want.data(), sizeof want) == 0) return;
    if (++bad_ > 3) return;  // say the first few
    for (size_t i = 0; i < kWords; ++i) {
      if (top_.sum_o[i] == want[i]) continue;
      FAIL_CHECK(element_name(beat.type) << std::hex << " word " << i << ": " << beat.a[i] << " + "
                                         << beat.b[i] << " = " << top_.sum_o[i] << ", not "
                                         << want[i] << (top_.valid_o ? "" : ", and not valid"));
      return;
    }
    FAIL_CHECK("no valid after two cycles");
  }

  VerilatedContext context_;
  Vfp_add_1024 top_{&context_};
  std::array<Beat, 4> beats_;
  uint64_t count_ = 0, bad_ = 0, sums_ = 0;
};

Adder::Words twice(uint32_t half) {
  Adder::Words w;
  w.fill(half | half << 16);
  return w;
}
// Second operands 2 i and 2 i + 1 of a beat.
template <class Next>
Adder::Words pairs(Next next) {
  Adder::Words w;
  for (uint32_t& word : w) {
    word = next() & 0xFFFF;
    word |= next() << 16;
  }
  return w;
}

// For each first operand: 4096 second ones evenly over signs and exponents, their lower bits drawn
// anew each time, and 64 around the opposite of the first, where bits cancel.
void every_first_operand(Element type) {
  auto random = rng("lower bits");
  const uint32_t lower = type == Element::kFp16 ? 10 : 7;
  const uint32_t each = 4096 >> (16 - lower);  // of one sign and exponent
  Adder adder;
  for (uint32_t a = 0; a < 0x10000 && adder.bad() == 0; ++a) {
    const Adder::Words first = twice(a);
    const auto shift = static_cast<uint32_t>(random.u64());
    uint32_t n = 0;
    uint64_t bits = 0;
    for (uint32_t beat = 0; beat < 64; ++beat) {
      adder.add(type, first, pairs([&] {
                  const uint32_t upper = (n + shift) / each % (1u << (16 - lower));
                  if (n++ % 4 == 0) bits = random.u64();
                  bits = bits >> 16 | bits << 48;
                  return upper << lower | (static_cast<uint32_t>(bits) & ((1u << lower) - 1));
                }));
    }
    uint32_t near = (a ^ 0x8000) - 32;
    adder.add(type, first, pairs([&] { return near++ & 0xFFFF; }));
  }
  adder.finish();
  CHECK(adder.bad() == 0);
  CHECK(adder.sums() == 65536ull * 65 * 64);
}

}  // namespace

TEST_CASE("fp_add makes the known sums in every lane") {
  Adder adder;
  for (const KnownSum& k : known_sums()) {
    Adder::Words a, b;
    a.fill(element_bytes(k.type) == 2 ? k.a | k.a << 16 : k.a);
    b.fill(element_bytes(k.type) == 2 ? k.b | k.b << 16 : k.b);
    REQUIRE(add(k.type, k.a, k.b) == k.sum);
    adder.add(k.type, a, b);
    adder.add(k.type, b, a);
  }
  adder.finish();
  CHECK(adder.bad() == 0);
}

TEST_CASE("fp_add: FP16, every first operand with 4096 second ones over all exponents") {
  every_first_operand(Element::kFp16);
}

TEST_CASE("fp_add: BF16, every first operand with 4096 second ones over all exponents") {
  every_first_operand(Element::kBf16);
}

TEST_CASE("fp_add: every pair of special numbers, in both kinds of lanes") {
  Adder adder;
  for (const Element type : {Element::kFp16, Element::kBf16, Element::kFp32}) {
    const auto numbers = specials(type);
    for (const uint32_t a : numbers) {
      for (const uint32_t b : numbers) {
        Adder::Words x, y;
        x.fill(element_bytes(type) == 2 ? a | a << 16 : a);
        y.fill(element_bytes(type) == 2 ? b | b << 16 : b);
        adder.add(type, x, y);
      }
    }
  }
  adder.finish();
  CHECK(adder.bad() == 0);
}

TEST_CASE("fp_add: FP32 and INT32 on random numbers, near and far apart, agree with the machine") {
  auto random = rng("numbers");
  Adder adder;
  for (int i = 0; i < 60000; ++i) {
    Adder::Words a, b;
    for (size_t k = 0; k < kWords; ++k) {
      a[k] = random.u32();
      b[k] = random.u32();
      const auto kind = random.below(8);
      if (kind == 0) b[k] = (a[k] ^ 0x80000000) + static_cast<uint32_t>(random.below(64)) - 32;
      // Exponents at most 27 apart, where rounding has work to do.
      if (kind >= 3) {
        const uint32_t near = (a[k] >> 23 & 0xFF) + static_cast<uint32_t>(random.below(55)) - 27;
        b[k] = (b[k] & 0x807FFFFF) | (near & 0xFF) << 23;
      }
      if (kind == 1) a[k] &= 0x80FFFFFF, b[k] &= 0x80FFFFFF;  // subnormal and just above
      // Halves: the fraction ends in few ones.
      if (kind == 4) b[k] &= ~0u << random.below(24);
    }
    adder.add(i % 8 == 0 ? Element::kInt32 : Element::kFp32, a, b);
  }
  adder.finish();
  CHECK(adder.bad() == 0);
}

TEMPLATE_TEST_CASE("fp_add takes beats of any type back to back and with holes, two cycles each",
                   "", Vfp_add_128, Vfp_add_1024) {
  constexpr size_t kLanes = sizeof(TestType::sum_o) / 4;
  Bench<TestType> bench;
  auto random = rng("beats");
  auto& t = bench.top();
  bench.reset({&t.rst_i});
  struct Expected {
    uint64_t cycle;
    Bits sum;
  };
  std::deque<Expected> expected;
  uint64_t seen = 0, wrong = 0;
  bench.on_sample([&] {
    const bool due = !expected.empty() && expected.front().cycle == bench.cycle();
    if (due != (t.valid_o != 0)) ++wrong;
    if (due) {
      if (!(read_pin(t.sum_o) == expected.front().sum)) ++wrong;
      expected.pop_front();
      ++seen;
    }
  });
  bench.on_drive([&] {
    t.valid_i = random.chance(seen < 500 ? 1 : 0.5);
    const auto type = static_cast<Element>(random.below(4));
    t.elem_i = static_cast<uint8_t>(type);
    const Bits a = Bits::random(random, kLanes * 32), b = Bits::random(random, kLanes * 32);
    write_pin(t.a_i, a);
    write_pin(t.b_i, b);
    if (!t.valid_i) return;
    Bits sum(kLanes * 32);
    const uint32_t width = 8 * element_bytes(type);
    for (size_t at = 0; at < kLanes * 32; at += width) {
      sum.set(at, width,
              add(type, static_cast<uint32_t>(a.get(at, width)),
                  static_cast<uint32_t>(b.get(at, width))));
    }
    // Taken at the next edge, out two edges later.
    expected.push_back({bench.cycle() + 2, sum});
  });
  bench.tick(2000);
  CHECK(wrong == 0);
  CHECK(seen > 1000);
}

// RNIC_SOAK_PART=3/20 runs every twentieth part.
TEST_CASE("fp_add: all pairs of 16-bit numbers", "[.soak]") {
  Adder adder;
  for (const uint64_t part : soak_seeds(256)) {
    for (const Element type : {Element::kFp16, Element::kBf16}) {
      for (uint32_t k = 0; k < 256; ++k) {
        const Adder::Words first = twice(static_cast<uint32_t>(part) << 8 | k);
        uint32_t b = 0;
        for (uint32_t beat = 0; beat < 1024; ++beat)
          adder.add(type, first, pairs([&] { return b++; }));
      }
    }
    REQUIRE(adder.bad() == 0);
  }
  adder.finish();
  CHECK(adder.bad() == 0);
}
