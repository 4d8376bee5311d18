// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the comparison share (not part of the public interface): the list of changes,
// and two lists matched by name.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "diff.hpp"

namespace rnic::regs {

class DiffState {
 public:
  DiffState(const Map& before, const Map& after) : before(before), after(after) {}

  template <typename... Args>
  void here(std::string_view rule, SourcePos pos, fmt::format_string<Args...> f, Args&&... args) {
    changes.push_back({&diff_rule(rule), pos, false, fmt::format(f, std::forward<Args>(args)...)});
  }
  template <typename... Args>
  void gone(std::string_view rule, SourcePos pos, fmt::format_string<Args...> f, Args&&... args) {
    changes.push_back({&diff_rule(rule), pos, true, fmt::format(f, std::forward<Args>(args)...)});
  }
  void text(const std::string& old_text, const std::string& new_text, SourcePos pos,
            const std::string& what) {
    if (old_text != new_text) here("text", pos, "{}: the description is different", what);
  }

  const Map& before;
  const Map& after;
  std::vector<Change> changes;
};

// both(old, new), added(new) in the order of the new list, then removed(old).
template <typename List, typename Both, typename Added, typename Removed>
void match(const List& olds, const List& news, Both both, Added added, Removed removed) {
  std::unordered_map<std::string_view, const typename List::value_type*> index;
  for (const auto& o : olds) index.insert({o.name, &o});
  for (const auto& n : news) {
    const auto it = index.find(n.name);
    if (it == index.end()) {
      added(n);
    } else {
      both(*it->second, n);
      index.erase(it);
    }
  }
  for (const auto& o : olds) {
    const auto it = index.find(o.name);
    if (it != index.end() && it->second == &o) removed(o);
  }
}

// Takes pairs that stand at the same place out of `added` and `removed`: they are renamed.
template <typename T, typename Same, typename Renamed>
void match_renamed(std::vector<const T*>& removed, std::vector<const T*>& added, Same same,
                   Renamed renamed) {
  for (auto& o : removed) {
    for (auto& n : added) {
      if (n == nullptr || !same(*o, *n)) continue;
      renamed(*o, *n);
      o = nullptr;
      n = nullptr;
      break;
    }
  }
  std::erase(removed, nullptr);
  std::erase(added, nullptr);
}

void diff_registers(DiffState& d, const Block& o, const Block& n);
void diff_descriptors(DiffState& d);
// Unit and enumeration, of fields of registers and descriptors.
void diff_meaning(DiffState& d, const std::string& what, const std::string& old_unit,
                  const std::string& new_unit, const std::string& old_enum,
                  const std::string& new_enum, const Located& at);

}  // namespace rnic::regs
