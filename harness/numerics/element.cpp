// SPDX-License-Identifier: Apache-2.0
#include "harness/numerics/element.hpp"

#include <bit>
#include <stdexcept>
#include <string>

namespace rnic::numerics {
namespace {

struct Format {
  uint32_t exponent_bits, fraction_bits;
  uint32_t top() const { return (1u << exponent_bits) - 1; }
  uint32_t sign() const { return 1u << (exponent_bits + fraction_bits); }
  uint32_t infinity() const { return top() << fraction_bits; }
  uint32_t nan() const { return infinity() | 1u << (fraction_bits - 1); }
  uint32_t magnitude(uint32_t bits) const { return bits & (sign() - 1); }
};

Format format_of(Element type) {
  switch (type) {
    case Element::kFp16:
      return {5, 10};
    case Element::kBf16:
      return {8, 7};
    case Element::kFp32:
      return {8, 23};
    case Element::kInt32:
      break;
  }
  throw std::invalid_argument("an integer is no floating-point number");
}

// significand * 2^(scale - bias - fraction_bits): scale is 1 for subnormals too.
struct Number {
  bool negative;
  int32_t scale;
  uint64_t significand;
};

Number unpack(const Format& f, uint32_t bits) {
  const uint32_t magnitude = f.magnitude(bits);
  const uint32_t exponent = magnitude >> f.fraction_bits;
  const uint64_t fraction = magnitude & ((1u << f.fraction_bits) - 1);
  if (exponent == 0) return {(bits & f.sign()) != 0, 1, fraction};
  return {(bits & f.sign()) != 0, static_cast<int32_t>(exponent),
          fraction | 1ull << f.fraction_bits};
}

// Divides by 2^n and keeps in the last bit whether anything was lost.
uint64_t shift_right_jam(uint64_t value, uint32_t n) {
  if (n == 0) return value;
  if (n > 63) return value != 0;
  return value >> n | ((value & ((1ull << n) - 1)) != 0);
}

// Rounds significand * 2^(scale - bias - fraction_bits - extra), extra bits below the last place.
uint32_t round_pack(const Format& f, bool negative, int32_t scale, uint64_t significand,
                    uint32_t extra) {
  const uint32_t sign = negative ? f.sign() : 0;
  if (significand == 0) return sign;
  // The first one goes to the place of the hidden bit, as far as the least scale allows.
  const auto hidden = static_cast<int32_t>(f.fraction_bits + extra);
  const int32_t first = 63 - std::countl_zero(significand);
  int32_t move = first - hidden;  // positive: to the right
  if (scale + move < 1) move = 1 - scale;
  scale += move;
  significand =
      move >= 0 ? shift_right_jam(significand, static_cast<uint32_t>(move)) : significand << -move;
  const uint64_t half = 1ull << (extra - 1);
  const uint64_t tail = significand & (2 * half - 1);
  uint64_t kept = significand >> extra;
  if (tail > half || (tail == half && (kept & 1) != 0)) ++kept;
  // A one above or at the hidden bit raises the exponent by itself.
  const bool normal = kept >> f.fraction_bits != 0;
  const uint64_t packed =
      normal ? (static_cast<uint64_t>(scale - 1) << f.fraction_bits) + kept : kept;
  return sign | (packed >= f.infinity() ? f.infinity() : static_cast<uint32_t>(packed));
}

uint32_t add_floats(const Format& f, uint32_t a, uint32_t b) {
  const uint32_t infinity = f.infinity();
  if (f.magnitude(a) > infinity || f.magnitude(b) > infinity) return f.nan();
  if (f.magnitude(a) == infinity) return f.magnitude(b) == infinity && a != b ? f.nan() : a;
  if (f.magnitude(b) == infinity) return b;
  Number x = unpack(f, a), y = unpack(f, b);
  if (x.scale < y.scale) std::swap(x, y);
  constexpr uint32_t kExtra = 32;
  const uint64_t xs = x.significand << kExtra;
  const uint64_t ys =
      shift_right_jam(y.significand << kExtra, static_cast<uint32_t>(x.scale - y.scale));
  if (x.negative == y.negative) return round_pack(f, x.negative, x.scale, xs + ys, kExtra);
  if (xs == ys) return 0;
  return xs > ys ? round_pack(f, x.negative, x.scale, xs - ys, kExtra)
                 : round_pack(f, y.negative, x.scale, ys - xs, kExtra);
}

uint32_t convert(const Format& from, const Format& to, uint32_t bits) {
  const bool negative = (bits & from.sign()) != 0;
  const uint32_t sign = negative ? to.sign() : 0;
  if (from.magnitude(bits) > from.infinity()) return to.nan();
  if (from.magnitude(bits) == from.infinity()) return sign | to.infinity();
  const Number n = unpack(from, bits);
  const int32_t bias = static_cast<int32_t>(to.top() / 2) - static_cast<int32_t>(from.top() / 2);
  constexpr uint32_t kFraction = 32;  // bits behind the point while it is changed
  return round_pack(to, negative, n.scale + bias, n.significand << (kFraction - from.fraction_bits),
                    kFraction - to.fraction_bits);
}

}  // namespace

uint32_t element_bytes(Element type) {
  return type == Element::kFp16 || type == Element::kBf16 ? 2 : 4;
}

std::string_view element_name(Element type) {
  constexpr std::string_view kNames[] = {"fp16", "bf16", "fp32", "int32"};
  return kNames[static_cast<size_t>(type)];
}

Element element_from_name(std::string_view name) {
  for (const Element e : {Element::kFp16, Element::kBf16, Element::kFp32, Element::kInt32}) {
    if (element_name(e) == name) return e;
  }
  throw std::invalid_argument("element type '" + std::string(name) +
                              "': known are fp16, bf16, fp32, int32");
}

bool is_nan(Element type, uint32_t bits) {
  if (type == Element::kInt32) return false;
  const Format f = format_of(type);
  return f.magnitude(bits) > f.infinity();
}

uint32_t add(Element type, uint32_t a, uint32_t b) {
  return type == Element::kInt32 ? a + b : add_floats(format_of(type), a, b);
}

uint32_t widen(Element type, uint32_t bits) {
  if (element_bytes(type) == 4) return bits;
  return convert(format_of(type), format_of(Element::kFp32), bits);
}

uint32_t narrow(Element type, uint32_t fp32) {
  if (element_bytes(type) == 4) return fp32;
  return convert(format_of(Element::kFp32), format_of(type), fp32);
}

uint32_t load(Element type, std::span<const uint8_t> bytes, size_t index) {
  const size_t size = element_bytes(type);
  uint32_t bits = 0;
  for (size_t i = 0; i < size; ++i) bits |= uint32_t{bytes[index * size + i]} << (8 * i);
  return bits;
}

void store(Element type, std::span<uint8_t> bytes, size_t index, uint32_t bits) {
  const size_t size = element_bytes(type);
  for (size_t i = 0; i < size; ++i) bytes[index * size + i] = static_cast<uint8_t>(bits >> (8 * i));
}

}  // namespace rnic::numerics
