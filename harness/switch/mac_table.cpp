// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/mac_table.hpp"

#include <bit>
#include <stdexcept>
#include <string>

#include "harness/roce/bytes.hpp"

namespace rnic::switching {
namespace {
uint64_t number(const roce::MacAddr& mac) {
  return uint64_t{roce::load_be16(mac.data())} << 32 | roce::load_be32(mac.data() + 2);
}
}  // namespace

MacTable::MacTable(unsigned entries)
    : entries_(std::bit_ceil(2ull * entries + 1)), limit_(entries) {}

size_t MacTable::slot(uint64_t mac) const {
  const size_t mask = entries_.size() - 1;
  size_t at = (mac * 0x9E3779B97F4A7C15ull >> 32) & mask;
  while (entries_[at].port >= 0 && entries_[at].mac != mac) at = (at + 1) & mask;
  return at;
}

void MacTable::add_static(const roce::MacAddr& mac, unsigned port) {
  Entry& e = entries_[slot(number(mac))];
  if (e.port < 0) {
    if (used_ == limit_)
      throw std::length_error("switch: more than " + std::to_string(limit_) + " addresses");
    ++used_;
  }
  e = {number(mac), static_cast<int16_t>(port), true};
}

MacTable::Learned MacTable::learn(const roce::MacAddr& mac, unsigned port) {
  Entry& e = entries_[slot(number(mac))];
  if (e.port < 0) {
    if (used_ == limit_) return Learned::kFull;
    ++used_;
    e = {number(mac), static_cast<int16_t>(port), false};
    return Learned::kNew;
  }
  if (e.fixed || e.port == static_cast<int16_t>(port)) return Learned::kKnown;
  e.port = static_cast<int16_t>(port);
  return Learned::kMoved;
}

int MacTable::find(const roce::MacAddr& mac) const { return entries_[slot(number(mac))].port; }

}  // namespace rnic::switching
