// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bits.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>

namespace rnic::test {

Bits::Bits(size_t width, uint64_t value) : width_(width), words_((width + 31) / 32) {
  if (width > 0) set(0, std::min<size_t>(width, 64), value);
}

Bits Bits::random(Rng& rng, size_t width) {
  Bits out(width);
  for (size_t lsb = 0; lsb < width; lsb += 64) {
    const size_t count = std::min<size_t>(64, width - lsb);
    out.set(lsb, count, rng.bits(static_cast<unsigned>(count)));
  }
  return out;
}

Bits Bits::from_bytes(std::span<const uint8_t> bytes) {
  Bits out(bytes.size() * 8);
  for (size_t i = 0; i < bytes.size(); ++i) {
    out.words_[i / 4] |= static_cast<uint32_t>(bytes[i]) << (i % 4 * 8);
  }
  return out;
}

Bits Bits::from_bytes(std::span<const uint8_t> bytes, size_t width) {
  if (bytes.size() * 8 > width) {
    throw std::invalid_argument("Bits::from_bytes: " + std::to_string(bytes.size()) +
                                " bytes do not fit into " + std::to_string(width) + " bits");
  }
  Bits out(width);
  for (size_t i = 0; i < bytes.size(); ++i) {
    out.words_[i / 4] |= static_cast<uint32_t>(bytes[i]) << (i % 4 * 8);
  }
  return out;
}

void Bits::check(size_t lsb, size_t width) const {
  if (lsb + width > width_) {
    throw std::out_of_range("Bits: bits " + std::to_string(lsb + width - 1) + ":" +
                            std::to_string(lsb) + " of a vector of " + std::to_string(width_));
  }
}

uint64_t Bits::get(size_t lsb, size_t width) const {
  if (width == 0 || width > 64) throw std::out_of_range("Bits::get: width must be 1..64");
  check(lsb, width);
  uint64_t out = 0;
  for (size_t done = 0; done < width;) {
    const size_t at = (lsb + done) % 32;
    const size_t count = std::min(width - done, 32 - at);
    const uint64_t part = (words_[(lsb + done) / 32] >> at) & (~uint64_t{0} >> (64 - count));
    out |= part << done;
    done += count;
  }
  return out;
}

void Bits::set(size_t lsb, size_t width, uint64_t value) {
  if (width == 0 || width > 64) throw std::out_of_range("Bits::set: width must be 1..64");
  check(lsb, width);
  if (width < 64 && (value >> width) != 0) {
    throw std::out_of_range("Bits: value " + std::to_string(value) + " needs more than " +
                            std::to_string(width) + " bits");
  }
  for (size_t done = 0; done < width;) {
    const size_t at = (lsb + done) % 32;
    const size_t count = std::min(width - done, 32 - at);
    const uint32_t mask = static_cast<uint32_t>(~uint64_t{0} >> (64 - count)) << at;
    uint32_t& word = words_[(lsb + done) / 32];
    word = (word & ~mask) | ((static_cast<uint32_t>(value >> done) << at) & mask);
    done += count;
  }
}

Bits Bits::slice(size_t lsb, size_t width) const {
  check(lsb, width);
  Bits out(width);
  for (size_t done = 0; done < width; done += 64) {
    const size_t count = std::min<size_t>(64, width - done);
    out.set(done, count, get(lsb + done, count));
  }
  return out;
}

void Bits::insert(size_t lsb, const Bits& value) {
  check(lsb, value.width_);
  for (size_t done = 0; done < value.width_; done += 64) {
    const size_t count = std::min<size_t>(64, value.width_ - done);
    set(lsb + done, count, value.get(done, count));
  }
}

std::vector<uint8_t> Bits::bytes() const {
  std::vector<uint8_t> out((width_ + 7) / 8);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<uint8_t>(words_[i / 4] >> (i % 4 * 8));
  }
  return out;
}

std::string Bits::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "0x";
  const size_t digits = std::max<size_t>(1, (width_ + 3) / 4);
  for (size_t i = digits; i-- > 0;) {
    const size_t word = i / 8;
    out += word < words_.size() ? kDigits[(words_[word] >> (i % 8 * 4)) & 15] : '0';
  }
  return out;
}

bool operator==(const Bits& a, const Bits& b) {
  const size_t words = std::max(a.words_.size(), b.words_.size());
  for (size_t i = 0; i < words; ++i) {
    const uint32_t x = i < a.words_.size() ? a.words_[i] : 0;
    const uint32_t y = i < b.words_.size() ? b.words_[i] : 0;
    if (x != y) return false;
  }
  return true;
}

std::ostream& operator<<(std::ostream& out, const Bits& bits) { return out << bits.hex(); }

BitLayout::BitLayout(std::initializer_list<Field> fields) {
  for (const Field& field : fields) width_ += field.width;
  size_t lsb = width_;
  for (const Field& field : fields) {
    lsb -= field.width;
    fields_.push_back({field.name, lsb, field.width});
  }
}

const BitLayout::Place& BitLayout::find(std::string_view field) const {
  for (const Place& place : fields_) {
    if (place.name == field) return place;
  }
  throw std::invalid_argument("BitLayout: no field '" + std::string(field) + "'");
}

size_t BitLayout::lsb(std::string_view field) const { return find(field).lsb; }
size_t BitLayout::width(std::string_view field) const { return find(field).width; }

uint64_t BitLayout::get(const Bits& bits, std::string_view field) const {
  const Place& place = find(field);
  return bits.get(place.lsb, place.width);
}

Bits BitLayout::get_bits(const Bits& bits, std::string_view field) const {
  const Place& place = find(field);
  return bits.slice(place.lsb, place.width);
}

void BitLayout::set(Bits& bits, std::string_view field, uint64_t value) const {
  const Place& place = find(field);
  bits.set(place.lsb, std::min<size_t>(place.width, 64), value);
  for (size_t done = 64; done < place.width; done += 64) {
    bits.set(place.lsb + done, std::min<size_t>(64, place.width - done), 0);
  }
}

void BitLayout::set_bits(Bits& bits, std::string_view field, const Bits& value) const {
  const Place& place = find(field);
  if (value.width() != place.width) {
    throw std::invalid_argument("BitLayout: field '" + place.name + "' has " +
                                std::to_string(place.width) + " bits, value has " +
                                std::to_string(value.width()));
  }
  bits.insert(place.lsb, value);
}

Bits BitLayout::pack(std::initializer_list<std::pair<std::string_view, uint64_t>> values) const {
  Bits out(width_);
  for (const auto& [field, value] : values) set(out, field, value);
  return out;
}

std::string BitLayout::show(const Bits& bits) const {
  std::string out;
  for (const Place& place : fields_) {
    if (!out.empty()) out += ' ';
    out += place.name + "=" + bits.slice(place.lsb, place.width).hex();
  }
  return out;
}

}  // namespace rnic::test
