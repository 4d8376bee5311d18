// SPDX-License-Identifier: Apache-2.0
//
// "; did you mean 'width'?" or "; known: a, b", for messages about a word that nobody knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rnic::regs {

[[nodiscard]] std::string suggest(std::string_view got, const std::vector<std::string>& known);
[[nodiscard]] std::string join(const std::vector<std::string>& words);

// The names of a list of things that have one.
template <typename List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& x : list) names.emplace_back(x.name);
  return names;
}

}  // namespace rnic::regs
