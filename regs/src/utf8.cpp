// SPDX-License-Identifier: Apache-2.0
#include "utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace rnic::regs {
namespace {

// Bytes of the character that starts with this one; 0: none does.
std::size_t length_of(unsigned char c) {
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c < 0xE0) return 2;
  if (c >= 0xE0 && c < 0xF0) return 3;
  if (c >= 0xF0 && c < 0xF5) return 4;
  return 0;
}

bool is_text(std::uint32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  if (c >= 0x7F && c < 0xA0) return false;
  return !(c >= 0xD800 && c < 0xE000) && c != 0xFFFE && c != 0xFFFF && c < 0x110000;
}

}  // namespace

std::optional<std::size_t> first_non_text(std::string_view s) {
  static constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  for (std::size_t i = 0; i < s.size();) {
    const auto first = static_cast<unsigned char>(s[i]);
    const auto n = length_of(first);
    if (n == 0 || i + n > s.size()) return i;
    std::uint32_t c = n == 1 ? first : first & (0x7FU >> n);
    for (std::size_t k = 1; k < n; ++k) {
      const auto more = static_cast<unsigned char>(s[i + k]);
      if ((more & 0xC0) != 0x80) return i;
      c = c << 6 | (more & 0x3FU);
    }
    if (c < kSmallest[n] || !is_text(c)) return i;
    i += n;
  }
  return std::nullopt;
}

}  // namespace rnic::regs
