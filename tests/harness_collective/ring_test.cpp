// SPDX-License-Identifier: Apache-2.0
// The ring's plan against the facts' formulas, played through with buffers; its sum against double
// precision.
#include "harness/collective/ring.hpp"

#include <bit>
#include <cmath>
#include <map>

#include "harness/numerics/machine.hpp"
#include "harness/numerics/sample.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::collective;
using namespace rnic::numerics;
using rnic::test::contains_text;

TEST_CASE("chunks go as the facts say") {
  for (uint32_t n = 2; n <= 16; ++n) {
    const RingPlan ring(n, 1000, 64);
    CHECK(ring.steps() == 2 * (n - 1));
    const auto mod = [n](int64_t v) { return static_cast<uint32_t>(((v % n) + n) % n); };
    for (int64_t r = 0; r < n; ++r) {
      const auto rank = static_cast<uint32_t>(r);
      for (uint32_t s = 0; s + 1 < n; ++s) {
        CHECK(ring.adds(s));
        CHECK(ring.sent(rank, s) == mod(r - s));
        CHECK(ring.received(rank, s) == mod(r - s - 1));
        const uint32_t gather = s + n - 1;
        CHECK_FALSE(ring.adds(gather));
        CHECK(ring.sent(rank, gather) == mod(r + 1 - s));
        CHECK(ring.received(rank, gather) == mod(r - s));
      }
      // What came in one step goes on in the next; the first one sent is one's own.
      CHECK(ring.sent(rank, 0) == rank);
      for (uint32_t s = 1; s < ring.steps(); ++s)
        CHECK(ring.sent(rank, s) == ring.received(rank, s - 1));
    }
  }
}

TEST_CASE("chunks and pieces cover the buffer once, and differ by one element at most") {
  auto rng = rnic::test::rng("sizes");
  for (int trial = 0; trial < 200; ++trial) {
    const auto ranks = static_cast<uint32_t>(rng.between(2, 16));
    const uint64_t elements = rng.between(ranks, 5000);
    const uint32_t width = rng.chance(0.5) ? 2 : 4;
    const uint64_t piece = width * rng.between(1, 400);
    const RingPlan ring(ranks, elements, piece, width);
    uint64_t at = 0, least = UINT64_MAX, most = 0;
    for (uint32_t c = 0; c < ranks; ++c) {
      const Chunk chunk = ring.chunk(c);
      CHECK(chunk.offset == at);
      least = std::min(least, chunk.bytes);
      most = std::max(most, chunk.bytes);
      for (uint32_t p = 0; p < ring.pieces(c); ++p) {
        const Chunk one = ring.piece(c, p);
        CHECK(one.offset == at);
        CHECK(one.bytes > 0);
        CHECK(one.bytes <= piece);
        CHECK(one.bytes % width == 0);
        at += one.bytes;
      }
      CHECK(at == chunk.offset + chunk.bytes);
    }
    CHECK(at == elements * width);
    CHECK(most - least <= width);
    CHECK(ring.longest_chunk() == most);
  }
}

TEST_CASE("played through with buffers, every rank has the sum, bit for bit as ring_sum") {
  auto rng = rnic::test::rng("values");
  for (const Element type : {Element::kFp16, Element::kBf16, Element::kFp32, Element::kInt32}) {
    const uint32_t width = element_bytes(type);
    for (uint32_t n = 2; n <= 9; ++n) {
      const uint64_t elements = rng.between(n, 300);
      const RingPlan ring(n, elements, 32, width);
      std::vector<Buffer> in;
      for (uint32_t r = 0; r < n; ++r)
        in.push_back(near_numbers(type, rng.bytes(elements * width)));
      auto work = in;
      std::vector<uint64_t> sent(n);
      for (uint32_t s = 0; s < ring.steps(); ++s) {
        const auto before = work;  // all send at once
        for (uint32_t r = 0; r < n; ++r) {
          const uint32_t left = (r + n - 1) % n;
          const Chunk chunk = ring.chunk(ring.received(r, s));
          sent[left] += chunk.bytes;
          const auto mine = std::span(work[r]).subspan(chunk.offset, chunk.bytes);
          const auto theirs = std::span(before[left]).subspan(chunk.offset, chunk.bytes);
          if (ring.adds(s)) {
            machine_add_to(type, mine, theirs);
          } else {
            std::copy(theirs.begin(), theirs.end(), mine.begin());
          }
        }
      }
      const Buffer want = ring_sum(ring, type, in);
      for (uint32_t r = 0; r < n; ++r) {
        CHECK(sent[r] == ring.bytes_sent(r));
        CHECK(work[r] == want);
      }
      if (type == Element::kInt32) continue;
      const double ulp = type == Element::kFp16   ? 0x1p-11
                         : type == Element::kBf16 ? 0x1p-8
                                                  : 0x1p-24;
      const auto value = [&](const Buffer& b, size_t i) {
        return static_cast<double>(std::bit_cast<float>(widen(type, load(type, b, i))));
      };
      for (uint64_t i = 0; i < elements; ++i) {
        double sum = 0, size = 0;
        for (const auto& rank : in) {
          sum += value(rank, i);
          size += std::abs(value(rank, i));
        }
        CHECK(std::abs(value(want, i) - sum) <= (n - 1) * ulp * size * 1.001);
      }
    }
  }
}

TEST_CASE("a rank sends 2 S (N - 1) / N bytes when the chunks are equal") {
  for (uint32_t n = 2; n <= 16; ++n) {
    const RingPlan ring(n, 1000ull * n, 4096);
    for (uint32_t r = 0; r < n; ++r) CHECK(ring.bytes_sent(r) == 2 * 4000ull * (n - 1));
  }
}

TEST_CASE("an engine adds one piece after the other") {
  ReduceEngine gpu(1'000'000'000, 5'000'000);  // 1 ns a byte, 5 us of launch
  CHECK(gpu.finish(0, 1000) == 6'000'000);
  CHECK(gpu.finish(1'000'000, 1000) == 12'000'000);
  CHECK(gpu.finish(20'000'000, 0) == 25'000'000);
  ReduceEngine nothing(0, 0);
  CHECK(nothing.finish(7, 1 << 30) == 7);
}

TEST_CASE("copies follow each other at their rate, each is there a latency later") {
  CopyEngine copy(2'000'000'000, 400'000);  // half a ns a byte
  CHECK(copy.finish(0, 1000) == 900'000);
  CHECK(copy.finish(0, 1000) == 1'400'000);
  CHECK(copy.finish(5'000'000, 10) == 5'405'000);
  CopyEngine latency(0, 3);
  CHECK(latency.finish(7, 1 << 30) == 10);
  CHECK(latency.finish(7, 1 << 30) == 10);
}

TEST_CASE("bandwidths are those of the usual benchmark") {
  // 1 MB in 100 us: 10 GB/s; with 4 ranks the links carry 1.5 of it.
  CHECK(std::abs(algorithm_bandwidth(1'000'000, 100'000'000) - 10) < 1e-12);
  CHECK(std::abs(bus_bandwidth(4, 1'000'000, 100'000'000) - 15) < 1e-12);
  CHECK(std::abs(bus_bandwidth(2, 1'000'000, 100'000'000) - 10) < 1e-12);
}

TEST_CASE("the shortest time: what a rank sends, or the way of a piece") {
  // 4 ranks, 1 MB, 100 Gb/s, 1 us, whole chunks: 6 us and 1.5 MB at 12.5 GB/s, 120 us.
  CHECK(shortest_ps(Way::kRing, 4, 1'000'000, 1'000'000, 100'000'000'000, 1'000'000) ==
        126'000'000);
  CHECK(shortest_ps(Way::kRing, 4, 1'000'000, 250'000, 100'000'000'000, 1'000'000) == 126'000'000);
  // In pieces of 50 kB, which follow each other without a gap: 120 us and one latency.
  CHECK(shortest_ps(Way::kRing, 4, 1'000'000, 50'000, 100'000'000'000, 1'000'000) == 121'000'000);
  // Small ones wait for the wire's delay: six times 1 us and 80 ns.
  CHECK(shortest_ps(Way::kRing, 4, 8'000, 1'000, 100'000'000'000, 1'000'000) == 6'480'000);
  // In one shot a piece goes over two links: twice 1 us and 80 ns; all of it still over the wire.
  CHECK(shortest_ps(Way::kOneShot, 4, 8'000, 1'000, 100'000'000'000, 1'000'000) == 2'160'000);
  CHECK(shortest_ps(Way::kOneShot, 4, 1'000'000, 50'000, 100'000'000'000, 1'000'000) ==
        121'000'000);
}

TEST_CASE("plans that cannot be are refused") {
  CHECK_THROWS_WITH(RingPlan(1, 10, 4), contains_text("two ranks"));
  CHECK_THROWS_WITH(RingPlan(4, 3, 4), contains_text("fewer elements"));
  CHECK_THROWS_WITH(RingPlan(4, 10, 6), contains_text("whole elements"));
  CHECK_THROWS_WITH(RingPlan(4, 10, 0), contains_text("whole elements"));
  CHECK_THROWS_WITH(RingPlan(4, 10, 7, 2), contains_text("whole elements"));
}
