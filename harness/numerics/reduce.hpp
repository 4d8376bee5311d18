// SPDX-License-Identifier: Apache-2.0
// Sums of many buffers in a given order, bit by bit.
//
//   sum_in_order(Element::kBf16, Sum::kFp32, {a, b, c})     // ((a + b) + c), rounded once
//   ring_allreduce(Element::kFp16, inputs, chunk_bytes)     // the order of a ring
//
// Native sums round at every addition; sums in FP32 widen 16-bit elements and round at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/numerics/element.hpp"

namespace rnic::numerics {

enum class Sum : uint8_t { kNative, kFp32 };

using Buffer = std::vector<uint8_t>;

// The first one, then the others one after the other. Throws std::invalid_argument for none, or for
// lengths that differ or hold no whole elements.
Buffer sum_in_order(Element type, Sum sum, const std::vector<std::span<const uint8_t>>& inputs);

// What every rank has after reduce-scatter and all-gather around a ring: the buffers lie in chunks,
// chunk n of them in round n / ranks, and the sum of chunk c begins with rank c mod ranks and goes
// on with the next ones (facts section 9). Each rank's addition rounds: the packets carry elements
// of the type. Throws unless the buffers hold whole rounds.
Buffer ring_allreduce(Element type, const std::vector<Buffer>& inputs, uint64_t chunk_bytes);

}  // namespace rnic::numerics
