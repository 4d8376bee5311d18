// SPDX-License-Identifier: Apache-2.0
//
// Random numbers from one root seed, in named substreams, so that a new user disturbs none of the
// others:
//
//   auto rng = rnic::test::rng("in.stall");   // depends on --seed, the test case's name and this
//   name only if (rng.chance(0.3)) ... size_t length = rng.between(1, 4096);
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rnic::test {

class Rng {  // xoshiro256**
 public:
  explicit Rng(uint64_t seed);

  uint64_t u64();
  uint32_t u32() { return static_cast<uint32_t>(u64() >> 32); }
  uint64_t below(uint64_t bound);                 // 0 .. bound-1; bound > 0
  uint64_t between(uint64_t low, uint64_t high);  // both included
  bool chance(double probability);
  uint64_t bits(unsigned width);  // width 1..64
  std::vector<uint8_t> bytes(size_t count);
  template <class Container>
  auto& pick(Container& from) {
    return from[below(from.size())];
  }

 private:
  uint64_t state_[4];
};

// A substream of the root seed, by name.
Rng rng(std::string_view name);

}  // namespace rnic::test
