// SPDX-License-Identifier: Apache-2.0
// Sums whose bits are known (facts section 9), and numbers of each class of a format.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/numerics/element.hpp"

namespace rnic::numerics {

struct KnownSum {
  Element type;
  uint32_t a, b, sum;
};

inline const std::vector<KnownSum>& known_sums() {
  constexpr Element kH = Element::kFp16, kB = Element::kBf16, kF = Element::kFp32,
                    kI = Element::kInt32;
  static const std::vector<KnownSum> sums = {
      {kH, 0x3C00, 0x1000, 0x3C00},
      {kH, 0x3C00, 0x1001, 0x3C01},
      {kH, 0x3C01, 0x1000, 0x3C02},
      {kH, 0x7BFF, 0x4BFF, 0x7BFF},
      {kH, 0x7BFF, 0x4C00, 0x7C00},
      {kH, 0x0001, 0x0001, 0x0002},
      {kH, 0x03FF, 0x0001, 0x0400},
      {kH, 0x0400, 0x8001, 0x03FF},
      {kH, 0x8000, 0x8000, 0x8000},
      {kH, 0x8000, 0x0000, 0x0000},
      {kH, 0x3C00, 0xBC00, 0x0000},
      {kB, 0x3F80, 0x3B80, 0x3F80},
      {kB, 0x3F81, 0x3B80, 0x3F82},
      {kB, 0x3F80, 0x3B81, 0x3F81},
      {kB, 0x7F7F, 0x7B00, 0x7F80},
      {kB, 0x7F7F, 0x7AFF, 0x7F7F},
      {kB, 0x0001, 0x0001, 0x0002},
      {kB, 0x007F, 0x0001, 0x0080},
      {kH, 0x7C00, 0xFC00, 0x7E00},
      {kB, 0x7F80, 0xFF80, 0x7FC0},
      {kH, 0xFC00, 0x7BFF, 0xFC00},
      {kF, 0x3F800000, 0x33800000, 0x3F800000},  // 1 + 2^-24: halfway, even stays
      {kF, 0x3F800001, 0x33800000, 0x3F800002},
      {kF, 0x7F800000, 0xFF800000, 0x7FC00000},
      {kF, 0x00800000, 0x80000001, 0x007FFFFF},
      {kI, 0x7FFFFFFF, 0x00000001, 0x80000000},
      {kI, 0xFFFFFFFF, 0x00000001, 0x00000000},
  };
  return sums;
}

// Both signs of: zero, subnormals, the borders of normal numbers, one, odd ones, infinity, NaNs.
inline std::vector<uint32_t> specials(Element type) {
  std::vector<uint32_t> out;
  const uint32_t sign = type == Element::kFp16 || type == Element::kBf16 ? 0x8000 : 0x80000000;
  const uint32_t fraction = type == Element::kFp16 ? 10 : type == Element::kBf16 ? 7 : 23;
  const uint32_t hidden = 1u << fraction, infinity = (sign - 1) & ~(hidden - 1);
  const uint32_t one = type == Element::kFp16   ? 0x3C00
                       : type == Element::kBf16 ? 0x3F80
                                                : 0x3F800000;
  for (const uint32_t m : {0u,
                           1u,
                           2u,
                           3u,
                           hidden / 2 - 1,
                           hidden / 2,
                           hidden - 2,
                           hidden - 1,
                           hidden,
                           hidden + 1,
                           2 * hidden - 1,
                           2 * hidden,
                           2 * hidden + 1,
                           one - hidden,
                           one - 1,
                           one,
                           one + 1,
                           one + hidden / 2,
                           one + hidden - 1,
                           one + hidden,
                           infinity - hidden,
                           infinity - hidden + 1,
                           infinity - 2,
                           infinity - 1,
                           infinity,
                           infinity + 1,
                           infinity + hidden / 2 - 1,
                           infinity + hidden / 2,
                           infinity + hidden / 2 + 1,
                           infinity + hidden - 1}) {
    out.push_back(m);
    out.push_back(m | sign);
  }
  return out;
}

}  // namespace rnic::numerics
