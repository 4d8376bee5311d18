// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rng.hpp"

#include <stdexcept>

#include "tests/support/context.hpp"

namespace rnic::test {
namespace {

uint64_t split_mix(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

uint64_t fnv1a(uint64_t hash, std::string_view text) {
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

Rng::Rng(uint64_t seed) {
  for (uint64_t& word : state_) word = split_mix(seed);
}

uint64_t Rng::u64() {
  const uint64_t result = rotate_left(state_[1] * 5, 7) * 9;
  const uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t bound) {
  if (bound == 0) throw std::invalid_argument("Rng::below: bound must not be 0");
  return static_cast<uint64_t>((static_cast<unsigned __int128>(u64()) * bound) >> 64);
}

uint64_t Rng::between(uint64_t low, uint64_t high) {
  if (low > high) throw std::invalid_argument("Rng::between: low > high");
  if (high - low == ~uint64_t{0}) return u64();
  return low + below(high - low + 1);
}

bool Rng::chance(double probability) {
  return static_cast<double>(u64() >> 11) * 0x1.0p-53 < probability;
}

uint64_t Rng::bits(unsigned width) {
  if (width == 0 || width > 64) throw std::invalid_argument("Rng::bits: width must be 1..64");
  return u64() >> (64 - width);
}

std::vector<uint8_t> Rng::bytes(size_t count) {
  std::vector<uint8_t> out(count);
  size_t i = 0;
  while (i < count) {
    uint64_t word = u64();
    for (int k = 0; k < 8 && i < count; ++k, word >>= 8) out[i++] = static_cast<uint8_t>(word);
  }
  return out;
}

Rng rng(std::string_view name) {
  const Context& context = Context::get();
  uint64_t hash = 0xCBF29CE484222325ULL ^ context.options().seed;
  hash = fnv1a(hash, context.test_case());
  hash = fnv1a(hash, "/");
  hash = fnv1a(hash, name);
  return Rng(hash);
}

}  // namespace rnic::test
