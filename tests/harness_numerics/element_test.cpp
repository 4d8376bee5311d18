// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic written from the rules against known sums and against the processor's own.
#include "harness/numerics/element.hpp"

#include <bit>
#include <cmath>

#include "harness/collective/ring.hpp"
#include "harness/numerics/machine.hpp"
#include "harness/numerics/reduce.hpp"
#include "harness/numerics/sample.hpp"
#include "tests/harness_numerics/vectors.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::numerics;
using rnic::test::rng;

namespace {

constexpr Element kHalves[] = {Element::kFp16, Element::kBf16};
constexpr Element kAll[] = {Element::kFp16, Element::kBf16, Element::kFp32, Element::kInt32};

uint32_t machine(Element type, uint32_t a, uint32_t b) {
  if (element_bytes(type) == 4) {
    uint32_t out = 0;
    machine_add(type, {&a, 1}, {&b, 1}, {&out, 1});
    return out;
  }
  // Eight at once, so that the processor's conversion is used.
  std::vector<uint16_t> x(8, static_cast<uint16_t>(a)), y(8, static_cast<uint16_t>(b)), out(8);
  machine_add(type, x, y, out);
  return out[5];
}

void compare(Element type, uint32_t a, uint32_t b) {
  const uint32_t got = add(type, a, b), want = machine(type, a, b);
  if (got != want) {
    FAIL_CHECK(element_name(type) << std::hex << ": " << a << " + " << b << " = " << got
                                  << ", the machine says " << want);
  }
}

}  // namespace

TEST_CASE("known sums come out, by the rules and by the machine") {
  for (const KnownSum& k : known_sums()) {
    INFO(element_name(k.type) << std::hex << " " << k.a << " + " << k.b);
    CHECK(add(k.type, k.a, k.b) == k.sum);
    CHECK(add(k.type, k.b, k.a) == k.sum);
    CHECK(machine(k.type, k.a, k.b) == k.sum);
  }
}

TEST_CASE("the rules agree with the machine on every pair of specials") {
  for (const Element type : kAll) {
    const auto numbers = specials(type == Element::kInt32 ? Element::kFp32 : type);
    for (const uint32_t a : numbers) {
      for (const uint32_t b : numbers) compare(type, a, b);
    }
  }
}

TEST_CASE("the rules agree with the machine on random numbers, near and far apart") {
  auto random = rng("numbers");
  for (const Element type : kAll) {
    const unsigned width = 8 * element_bytes(type);
    const uint32_t sign = 1u << (width - 1);
    for (int i = 0; i < 300000; ++i) {
      const auto a = static_cast<uint32_t>(random.bits(width));
      auto b = static_cast<uint32_t>(random.bits(width));
      if (i % 3 == 0) b = (a ^ sign) + static_cast<uint32_t>(random.below(64)) - 32;
      compare(type, a, b & (2 * sign - 1));
    }
  }
}

TEST_CASE("a 16-bit number survives the way to FP32 and back, a NaN becomes the canonical one") {
  for (const Element type : kHalves) {
    for (uint32_t x = 0; x < 0x10000; ++x) {
      const uint32_t back = narrow(type, widen(type, x));
      const uint32_t want = is_nan(type, x) ? add(type, x, x) : x;
      if (back != want) FAIL_CHECK(element_name(type) << std::hex << " " << x << " -> " << back);
    }
  }
}

TEST_CASE("a sum of ones stands still in the half types and not in FP32") {
  const auto ones = [](Element type, Element sum_type, uint32_t one, int n) {
    uint32_t sum = 0;
    for (int i = 0; i < n; ++i) sum = add(sum_type, sum, sum_type == type ? one : widen(type, one));
    return sum_type == type ? sum : narrow(type, sum);
  };
  CHECK(ones(Element::kFp16, Element::kFp16, 0x3C00, 4096) == 0x6800);  // 2048
  CHECK(ones(Element::kBf16, Element::kBf16, 0x3F80, 512) == 0x4380);   // 256
  CHECK(ones(Element::kFp16, Element::kFp32, 0x3C00, 4096) == 0x6C00);  // 4096
  CHECK(ones(Element::kBf16, Element::kFp32, 0x3F80, 512) == 0x4400);   // 512
}

TEST_CASE("element names, bytes and buffers") {
  std::vector<uint8_t> bytes(16);
  for (const Element type : kAll) {
    CHECK(element_from_name(element_name(type)) == type);
    store(type, bytes, 3, 0xFFFF8001);
    CHECK(load(type, bytes, 3) == (element_bytes(type) == 2 ? 0x8001u : 0xFFFF8001u));
  }
  CHECK_THROWS_WITH(element_from_name("fp8"), rnic::test::contains_text("fp8"));
}

TEST_CASE("sums of buffers keep their order and round where they say") {
  const auto buffer = [](Element type, std::vector<uint32_t> values) {
    Buffer b(values.size() * element_bytes(type));
    for (size_t i = 0; i < values.size(); ++i) store(type, b, i, values[i]);
    return b;
  };
  constexpr Element kH = Element::kFp16;
  // 1 + 2^-11 + 2^-11: rounded away twice, or once up.
  const Buffer one = buffer(kH, {0x3C00, 0xBC00}), small = buffer(kH, {0x1000, 0x9000});
  CHECK(sum_in_order(kH, Sum::kNative, {one, small, small}) == one);
  CHECK(sum_in_order(kH, Sum::kFp32, {one, small, small}) == buffer(kH, {0x3C01, 0xBC01}));
  CHECK(sum_in_order(kH, Sum::kNative, {small, small, one}) == buffer(kH, {0x3C01, 0xBC01}));
  CHECK_THROWS(sum_in_order(kH, Sum::kNative, {}));
  CHECK_THROWS(sum_in_order(kH, Sum::kNative, {one, buffer(kH, {0})}));
  // Two ranks, two rounds of two chunks of one element: each chunk begins with its own rank, and a
  // third rank shows the order.
  const Buffer a = buffer(kH, {0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C00, 0x3C00});
  const Buffer b = buffer(kH, {0x1000, 0x1000, 0x1000, 0x1000, 0x1000, 0x1000});
  // Chunk 0: (1 + s) + s = 1; chunk 1: (s + s) + 1 = 1 + 2^-10; chunk 2: (s + 1) + s = 1.
  CHECK(ring_allreduce(kH, {a, b, b}, 2) ==
        buffer(kH, {0x3C00, 0x3C01, 0x3C00, 0x3C00, 0x3C01, 0x3C00}));
  CHECK_THROWS(ring_allreduce(kH, {a, b, b}, 8));
}

TEST_CASE("numbers to try sums with are finite, of both signs, and near one another") {
  auto random = rng("near");
  for (const Element type : kAll) {
    const Buffer raw = random.bytes(4096), got = near_numbers(type, raw);
    if (type == Element::kInt32) {
      CHECK(got == raw);
      continue;
    }
    size_t negative = 0, wrong = 0;
    const size_t count = got.size() / element_bytes(type);
    for (size_t i = 0; i < count; ++i) {
      const float x = std::bit_cast<float>(widen(type, load(type, got, i)));
      negative += x < 0 ? 1 : 0;
      wrong += std::abs(x) >= 0.125f && std::abs(x) < 32.0f ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(negative > count / 4);
    CHECK(negative < count * 3 / 4);
  }
}

TEST_CASE("the processor adds buffers of any type as the rules do") {
  auto random = rng("buffers");
  for (const Element type : kAll) {
    Buffer a = near_numbers(type, random.bytes(4 * 37)),
           b = near_numbers(type, random.bytes(4 * 37));
    const Buffer want = sum_in_order(type, Sum::kNative, {a, b});
    machine_add_to(type, a, b);
    CHECK(a == want);
    b.pop_back();
    CHECK_THROWS(machine_add_to(type, a, b));
  }
}

TEST_CASE("a ring of FP32 gives the bits of the machine's own floats, and of the verbs' plan") {
  auto random = rng("ring");
  for (const uint32_t ranks : {2u, 3u, 5u}) {
    const size_t elements = size_t{ranks} * 24;
    std::vector<std::vector<float>> floats(ranks);
    std::vector<Buffer> buffers;
    for (auto& f : floats) {
      Buffer b(4 * elements);
      for (size_t i = 0; i < elements; ++i) {
        f.push_back(static_cast<float>(random.below(1u << 20)) / 1048576.0f - 0.4f);
        store(Element::kFp32, b, i, std::bit_cast<uint32_t>(f.back()));
      }
      buffers.push_back(b);
    }
    const Buffer got = ring_allreduce(Element::kFp32, buffers, 4 * elements / ranks);
    for (size_t i = 0; i < elements; ++i) {
      const size_t first = i / (elements / ranks);
      float sum = floats[first][i];
      for (uint32_t k = 1; k < ranks; ++k) sum = floats[(first + k) % ranks][i] + sum;
      CHECK(load(Element::kFp32, got, i) == std::bit_cast<uint32_t>(sum));
    }
    const rnic::collective::RingPlan plan(ranks, elements, 16);
    CHECK(rnic::collective::ring_sum(plan, Element::kFp32, buffers) == got);
  }
}
