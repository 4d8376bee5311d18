// SPDX-License-Identifier: Apache-2.0
#include "suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rnic::regs {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diag = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diag + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diag = up;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string join(const std::vector<std::string>& words) {
  std::string s;
  for (const auto& x : words) s += (s.empty() ? "" : ", ") + x;
  return s;
}

std::string suggest(std::string_view got, const std::vector<std::string>& known) {
  constexpr std::size_t kMostShown = 12;
  if (known.empty()) return "; there is none";
  std::string best;
  std::size_t best_d = 3;
  for (const auto& k : known) {
    const std::size_t d = edit_distance(got, k);
    if (d < best_d) {
      best_d = d;
      best = k;
    }
  }
  if (!best.empty()) return fmt::format("; did you mean '{}'?", best);
  if (known.size() > kMostShown) {
    std::vector<std::string> few(known.begin(), known.begin() + kMostShown);
    few.emplace_back("...");
    return fmt::format("; known: {}", join(few));
  }
  return fmt::format("; known: {}", join(known));
}

}  // namespace rnic::regs
