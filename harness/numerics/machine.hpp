// SPDX-License-Identifier: Apache-2.0
// The same additions by the processor, many at a time: a second opinion on element.hpp and the fast
// one for long tests.
//
//   machine_add(Element::kBf16, a, b, out);   // out[i] = a[i] + b[i]
//
// FP32 is the machine's own (it must round to nearest even and keep subnormals); FP16 and BF16 are
// added in FP32 and rounded once, which for a single addition equals adding directly (facts section
// 9). FP16 is converted by the processor where it can (x86 F16C), else by integers.
#pragma once

#include <cstdint>
#include <span>

#include "harness/numerics/element.hpp"

namespace rnic::numerics {

// 16-bit types only.
void machine_add(Element type, std::span<const uint16_t> a, std::span<const uint16_t> b,
                 std::span<uint16_t> out);
// FP32 and INT32.
void machine_add(Element type, std::span<const uint32_t> a, std::span<const uint32_t> b,
                 std::span<uint32_t> out);

// Adds `more` to `to`, elements of little-endian buffers of any type.
void machine_add_to(Element type, std::span<uint8_t> to, std::span<const uint8_t> more);

// Whether the processor itself converts FP16.
bool machine_has_fp16();

}  // namespace rnic::numerics
