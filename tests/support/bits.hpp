// SPDX-License-Identifier: Apache-2.0
//
// Bit vectors of any width, and named fields in them, for wide and packed-struct ports:
//
//   const BitLayout kMeta({{"qpn", 24}, {"psn", 24}, {"first", 1}, {"last", 1}});  // as in the
//   struct: MSB first Bits meta = kMeta.pack({{"qpn", 7}, {"last", 1}}); write_pin(top.in_meta,
//   meta); CHECK(kMeta.get(read_pin(top.out_meta), "psn") == 0xFFFFFF);
#pragma once

#include <verilated.h>

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/support/rng.hpp"

namespace rnic::test {

class Bits {
 public:
  Bits() = default;
  explicit Bits(size_t width, uint64_t value = 0);
  static Bits random(Rng& rng, size_t width);
  // Byte 0 becomes bits 7:0, as lane 0 of a data bus.
  static Bits from_bytes(std::span<const uint8_t> bytes);
  static Bits from_bytes(std::span<const uint8_t> bytes, size_t width);  // padded or refused

  size_t width() const { return width_; }
  uint64_t get(size_t lsb, size_t width) const;  // width 1..64
  void set(size_t lsb, size_t width, uint64_t value);
  bool bit(size_t index) const { return get(index, 1) != 0; }
  Bits slice(size_t lsb, size_t width) const;
  void insert(size_t lsb, const Bits& value);
  uint8_t byte(size_t lane) const { return static_cast<uint8_t>(get(lane * 8, 8)); }
  void set_byte(size_t lane, uint8_t value) { set(lane * 8, 8, value); }
  std::vector<uint8_t> bytes() const;  // ceil(width / 8) of them
  std::string hex() const;

  std::span<const uint32_t> words() const { return words_; }
  std::span<uint32_t> words() { return words_; }  // bits above width() must stay 0

  // By value; widths may differ when the upper bits are 0 (a port knows its width in words only).
  friend bool operator==(const Bits& a, const Bits& b);

 private:
  void check(size_t lsb, size_t width) const;

  size_t width_ = 0;
  std::vector<uint32_t> words_;
};

std::ostream& operator<<(std::ostream& out, const Bits& bits);

// Ports of a Verilated model: 8 to 64-bit integers, or VlWide.
template <class Pin>
Bits read_pin(const Pin& pin) {
  if constexpr (std::is_integral_v<Pin>) {
    return Bits(sizeof(Pin) * 8, pin);
  } else {
    Bits out(sizeof(Pin) * 8);
    auto words = out.words();
    for (size_t i = 0; i < words.size(); ++i) words[i] = pin[i];
    return out;
  }
}

template <class Pin>
void write_pin(Pin& pin, const Bits& value) {
  if constexpr (std::is_integral_v<Pin>) {
    pin = value.width() == 0
              ? 0
              : static_cast<Pin>(value.get(0, value.width() < 64 ? value.width() : 64));
  } else {
    const auto words = value.words();
    for (size_t i = 0; i < sizeof(Pin) / 4; ++i) pin[i] = i < words.size() ? words[i] : 0;
  }
}

template <class Pin>
void write_pin(Pin& pin, uint64_t value) {
  if constexpr (std::is_integral_v<Pin>) {
    pin = static_cast<Pin>(value);
  } else {
    write_pin(pin, Bits(64, value));
  }
}

// A packed struct's fields in order of declaration: the first is the most significant, as in
// SystemVerilog.
class BitLayout {
 public:
  struct Field {
    std::string name;
    size_t width;
  };
  BitLayout(std::initializer_list<Field> fields);

  size_t width() const { return width_; }
  size_t lsb(std::string_view field) const;
  size_t width(std::string_view field) const;

  uint64_t get(const Bits& bits, std::string_view field) const;  // fields up to 64 bits
  Bits get_bits(const Bits& bits, std::string_view field) const;
  void set(Bits& bits, std::string_view field, uint64_t value) const;
  void set_bits(Bits& bits, std::string_view field, const Bits& value) const;
  Bits pack(std::initializer_list<std::pair<std::string_view, uint64_t>> values) const;
  std::string show(const Bits& bits) const;  // "qpn=0x7 psn=0x0 ..."

 private:
  struct Place {
    std::string name;
    size_t lsb;
    size_t width;
  };
  const Place& find(std::string_view field) const;

  std::vector<Place> fields_;
  size_t width_ = 0;
};

}  // namespace rnic::test
