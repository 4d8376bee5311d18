// SPDX-License-Identifier: Apache-2.0
// The numbers of collectives, as bits: FP16 (1-5-10), BF16 (1-8-7), FP32, INT32. Written with
// integers from the rules of IEEE 754 (round to nearest even, subnormals, facts section 9): the
// reference for the adders of the NIC.
//
//   add(Element::kFp16, 0x3C01, 0x1000);             // 0x3C02
//   narrow(Element::kBf16, widen(Element::kBf16, x)) // x, unless x is NaN
//
// Any NaN that is made here is the quiet canonical one. INT32 wraps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rnic::numerics {

enum class Element : uint8_t { kFp16 = 0, kBf16 = 1, kFp32 = 2, kInt32 = 3 };

uint32_t element_bytes(Element type);
std::string_view element_name(Element type);
// "fp16", "bf16", "fp32", "int32"; throws std::invalid_argument that lists them.
Element element_from_name(std::string_view name);

bool is_nan(Element type, uint32_t bits);
uint32_t add(Element type, uint32_t a, uint32_t b);

// FP16 or BF16 to FP32, exact, and back, rounded; other types stay as they are.
uint32_t widen(Element type, uint32_t bits);
uint32_t narrow(Element type, uint32_t fp32);

// Elements of a little-endian buffer.
uint32_t load(Element type, std::span<const uint8_t> bytes, size_t index);
void store(Element type, std::span<uint8_t> bytes, size_t index, uint32_t bits);

}  // namespace rnic::numerics
