// SPDX-License-Identifier: Apache-2.0
// The seeds of a soak that this process runs: all of them, or a part, so that several processes
// share one soak.
//
//   for (const uint64_t n : soak_seeds(100)) ...   // RNIC_SOAK_PART=3/20: 3, 23, 43, 63, 83
#pragma once

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnic::test {

inline std::vector<uint64_t> soak_seeds(uint64_t count) {
  uint64_t first = 0, step = 1;
  if (const char* part = std::getenv("RNIC_SOAK_PART")) {
    const std::string text = part;
    size_t slash = 0, end = 0;
    try {
      first = std::stoull(text, &slash);
      step = std::stoull(text.substr(slash + 1), &end);
    } catch (const std::exception&) {
      step = 0;
    }
    if (step == 0 || first >= step || text[slash] != '/' || slash + 1 + end != text.size())
      throw std::invalid_argument("RNIC_SOAK_PART is '" + text + "', not part/parts");
  }
  std::vector<uint64_t> seeds;
  for (uint64_t n = first; n < count; n += step) seeds.push_back(n);
  return seeds;
}

}  // namespace rnic::test
