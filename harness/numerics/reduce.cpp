// SPDX-License-Identifier: Apache-2.0
#include "harness/numerics/reduce.hpp"

#include <algorithm>
#include <stdexcept>

namespace rnic::numerics {

Buffer sum_in_order(Element type, Sum sum, const std::vector<std::span<const uint8_t>>& inputs) {
  if (inputs.empty()) throw std::invalid_argument("sum_in_order: nothing to add");
  const size_t bytes = inputs[0].size();
  for (const auto& input : inputs) {
    if (input.size() != bytes || bytes % element_bytes(type) != 0)
      throw std::invalid_argument("sum_in_order: lengths do not fit");
  }
  Buffer out(bytes);
  const bool wide = sum == Sum::kFp32 && element_bytes(type) == 2;
  for (size_t i = 0; i < bytes / element_bytes(type); ++i) {
    uint32_t value = load(type, inputs[0], i);
    if (wide) value = widen(type, value);
    for (size_t k = 1; k < inputs.size(); ++k) {
      const uint32_t more = load(type, inputs[k], i);
      value = wide ? add(Element::kFp32, value, widen(type, more)) : add(type, value, more);
    }
    store(type, out, i, wide ? narrow(type, value) : value);
  }
  return out;
}

Buffer ring_allreduce(Element type, const std::vector<Buffer>& inputs, uint64_t chunk_bytes) {
  const size_t ranks = inputs.size();
  if (ranks < 2 || chunk_bytes == 0 || inputs[0].size() % (ranks * chunk_bytes) != 0)
    throw std::invalid_argument("ring_allreduce: no whole rounds of chunks");
  Buffer out;
  for (uint64_t at = 0; at < inputs[0].size(); at += chunk_bytes) {
    std::vector<std::span<const uint8_t>> order;
    for (size_t k = 0; k < ranks; ++k) {
      const auto& input = inputs[(at / chunk_bytes + k) % ranks];
      if (input.size() != inputs[0].size())
        throw std::invalid_argument("ring_allreduce: lengths differ");
      order.push_back(std::span(input).subspan(at, chunk_bytes));
    }
    const Buffer chunk = sum_in_order(type, Sum::kNative, order);
    out.insert(out.end(), chunk.begin(), chunk.end());
  }
  return out;
}

}  // namespace rnic::numerics
