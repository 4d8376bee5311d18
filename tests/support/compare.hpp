// SPDX-License-Identifier: Apache-2.0
//
// Compares sequences and says only where they part:
//
//   CHECK(difference(out.items(), expected) == "");
//   // "3 of 5 items; item 2: got 0x12, expected 0x13"
#pragma once

#include <algorithm>
#include <string>

#include "tests/support/stream.hpp"

namespace rnic::test {

template <class Got, class Expected>
std::string difference(const Got& got, const Expected& expected) {
  const size_t common = std::min(got.size(), expected.size());
  for (size_t i = 0; i < common; ++i) {
    if (!(got[i] == expected[i])) {
      return std::to_string(got.size()) + " of " + std::to_string(expected.size()) +
             " items; item " + std::to_string(i) + ": got " + detail::show(got[i]) + ", expected " +
             detail::show(expected[i]);
    }
  }
  if (got.size() == expected.size()) return "";
  return "got " + std::to_string(got.size()) + " items, expected " +
         std::to_string(expected.size()) + "; the first " + std::to_string(common) + " agree";
}

}  // namespace rnic::test
