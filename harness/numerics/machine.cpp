// SPDX-License-Identifier: Apache-2.0
#include "harness/numerics/machine.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rnic::numerics {
namespace {

constexpr uint32_t kNan32 = 0x7FC00000;

uint32_t add_singles(uint32_t a, uint32_t b) {
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return sum != sum ? kNan32 : std::bit_cast<uint32_t>(sum);
}

uint16_t single_to_bf16(uint32_t bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

#if defined(__x86_64__)
__attribute__((target("avx,f16c"))) void add_fp16_x86(const uint16_t* a, const uint16_t* b,
                                                      uint16_t* out, size_t n) {
  for (size_t i = 0; i < n; i += 8) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i));
    const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i));
    const __m256 sum = _mm256_add_ps(_mm256_cvtph_ps(x), _mm256_cvtph_ps(y));
    const __m128i half = _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), half);
  }
  for (size_t i = 0; i < n; ++i) {
    if ((out[i] & 0x7FFF) > 0x7C00) out[i] = 0x7E00;
  }
}
#endif

}  // namespace

bool machine_has_fp16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("f16c") != 0;
#else
  return false;
#endif
}

namespace {

template <class Word>
void add_words(Element type, std::span<uint8_t> to, std::span<const uint8_t> more) {
  std::vector<Word> a(to.size() / sizeof(Word)), b(a.size());
  std::memcpy(a.data(), to.data(), to.size());
  std::memcpy(b.data(), more.data(), to.size());
  machine_add(type, a, b, a);
  std::memcpy(to.data(), a.data(), to.size());
}

}  // namespace

void machine_add_to(Element type, std::span<uint8_t> to, std::span<const uint8_t> more) {
  if (to.size() != more.size() || to.size() % element_bytes(type) != 0)
    throw std::invalid_argument("machine_add_to: lengths do not fit");
  if (element_bytes(type) == 2) return add_words<uint16_t>(type, to, more);
  add_words<uint32_t>(type, to, more);
}

void machine_add(Element type, std::span<const uint16_t> a, std::span<const uint16_t> b,
                 std::span<uint16_t> out) {
  if (a.size() != b.size() || a.size() != out.size() || element_bytes(type) != 2)
    throw std::invalid_argument("machine_add: lengths or type do not fit");
  size_t done = 0;
#if defined(__x86_64__)
  if (type == Element::kFp16 && machine_has_fp16()) {
    done = a.size() / 8 * 8;
    add_fp16_x86(a.data(), b.data(), out.data(), done);
  }
#endif
  if (type == Element::kBf16) {
    for (; done < a.size(); ++done) {
      out[done] = single_to_bf16(add_singles(uint32_t{a[done]} << 16, uint32_t{b[done]} << 16));
    }
  }
  for (; done < a.size(); ++done) {
    out[done] = static_cast<uint16_t>(
        narrow(type, add_singles(widen(type, a[done]), widen(type, b[done]))));
  }
}

void machine_add(Element type, std::span<const uint32_t> a, std::span<const uint32_t> b,
                 std::span<uint32_t> out) {
  if (a.size() != b.size() || a.size() != out.size() || element_bytes(type) != 4)
    throw std::invalid_argument("machine_add: lengths or type do not fit");
  for (size_t i = 0; i < a.size(); ++i)
    out[i] = type == Element::kInt32 ? a[i] + b[i] : add_singles(a[i], b[i]);
}

}  // namespace rnic::numerics
