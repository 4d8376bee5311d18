// SPDX-License-Identifier: Apache-2.0
#include "sim/run/allreduce_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/mem/random.hpp"
#include "harness/numerics/sample.hpp"

namespace rnic::sim {
namespace {

using numerics::Buffer;
using numerics::Element;

double value_of(Element type, const Buffer& b, size_t i) {
  return static_cast<double>(std::bit_cast<float>(numerics::widen(type, load(type, b, i))));
}

// Half a unit in the last place, relative: what one addition may lose.
double rounding_of(Element type) {
  return type == Element::kFp16 ? 0x1p-11 : type == Element::kBf16 ? 0x1p-8 : 0x1p-24;
}

Buffer random_bytes(mem::Random rng, size_t bytes) {
  Buffer out(bytes);
  for (uint8_t& b : out) b = static_cast<uint8_t>(rng.next() >> 56);
  return out;
}

}  // namespace

void AllReduceData::fill(uint32_t round) {
  inputs_.clear();
  for (size_t r = 0; r < work_.size(); ++r) {
    const uint64_t seed = session_.seed(fmt::format("allreduce.{}.{}.{}", name_, round, r));
    inputs_.push_back(
        numerics::near_numbers(step_.type, random_bytes(mem::Random(seed), step_.bytes)));
    work_[r]->buffer.write(0, inputs_[r].data(), step_.bytes);
  }
}

Buffer AllReduceData::result(uint32_t rank) const {
  Buffer got(step_.bytes);
  work_[rank]->buffer.read(0, got.data(), got.size());
  return got;
}

void AllReduceData::compare(const Buffer& want) {
  compare_exactly(want);
  if (step_.type != Element::kInt32) compare_doubles(want);
}

void AllReduceData::compare_exactly(const Buffer& want) {
  for (uint32_t r = 0; r < work_.size(); ++r) {
    const Buffer got = result(r);
    const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
    if (static_cast<size_t>(at) == got.size()) continue;
    const size_t i = static_cast<size_t>(at) / numerics::element_bytes(step_.type);
    session_.problem(fmt::format("{}: rank {} has {:#x} at element {}, expected {:#x}", name_, r,
                                 load(step_.type, got, i), i, load(step_.type, want, i)));
  }
}

void AllReduceData::compare_doubles(const Buffer& want) {
  const size_t ranks = inputs_.size();
  for (size_t i = 0; i < want.size() / numerics::element_bytes(step_.type); ++i) {
    double sum = 0, size = 0;
    for (const Buffer& in : inputs_) {
      sum += value_of(step_.type, in, i);
      size += std::abs(value_of(step_.type, in, i));
    }
    const double got = value_of(step_.type, want, i);
    if (std::abs(got - sum) <= static_cast<double>(ranks) * rounding_of(step_.type) * size)
      continue;
    session_.problem(
        fmt::format("{}: the sum at element {} is {}, not near {}", name_, i, got, sum));
    return;
  }
}

}  // namespace rnic::sim
