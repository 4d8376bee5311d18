// SPDX-License-Identifier: Apache-2.0
// Which port an Ethernet address is behind: told once for all, or learned from source addresses.
//
//   MacTable t(1024);
//   t.add_static(mac, 3);
//   t.learn(source, 5);
//   int port = t.find(destination);        // below 0: unknown
#pragma once

#include <cstdint>
#include <vector>

#include "harness/roce/frame.hpp"

namespace rnic::switching {

class MacTable {
 public:
  enum class Learned : uint8_t { kKnown, kNew, kMoved, kFull };

  // Room for `entries` addresses; nothing is allocated later.
  explicit MacTable(unsigned entries);
  // Throws std::length_error when the table is full.
  void add_static(const roce::MacAddr& mac, unsigned port);
  // A static entry stays where it is (kKnown).
  Learned learn(const roce::MacAddr& mac, unsigned port);
  int find(const roce::MacAddr& mac) const;
  unsigned size() const { return used_; }

 private:
  struct Entry {
    uint64_t mac = 0;
    int16_t port = -1;  // below 0: empty
    bool fixed = false;
  };
  size_t slot(uint64_t mac) const;  // its entry, or the empty one where it belongs

  std::vector<Entry> entries_;
  unsigned used_ = 0, limit_;
};

}  // namespace rnic::switching
