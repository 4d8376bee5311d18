// SPDX-License-Identifier: Apache-2.0
#include "harness/numerics/sample.hpp"

namespace rnic::numerics {

Buffer near_numbers(Element type, Buffer random) {
  if (type == Element::kInt32) return random;
  const uint32_t fraction = type == Element::kFp16 ? 10 : type == Element::kBf16 ? 7 : 23;
  const uint32_t least = type == Element::kFp16 ? 12 : 124;  // of the exponents, 2^-3
  const uint32_t sign = 1u << (8 * element_bytes(type) - 1);
  for (size_t i = 0; i < random.size() / element_bytes(type); ++i) {
    const uint32_t x = load(type, random, i);
    const uint32_t exponent = least + (x >> fraction & 7);
    store(type, random, i, (x & (sign | ((1u << fraction) - 1))) | exponent << fraction);
  }
  return random;
}

}  // namespace rnic::numerics
