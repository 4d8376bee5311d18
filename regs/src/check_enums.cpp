// SPDX-License-Identifier: Apache-2.0
//
// Enumerations: values, and which field uses which.
#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "check.hpp"
#include "suggest.hpp"

namespace rnic::regs {
namespace {

class EnumLinks {
 public:
  EnumLinks(Map& map, Diagnostics& diags) : map_(map), diags_(diags), widths_(map.enums.size()) {
    for (std::size_t i = 0; i < map.enums.size(); ++i) index_.insert({map.enums[i].name, i});
  }

  void values(Enum& e) {
    if (e.width_given && (e.width < 1 || e.width > 32)) {
      diags_.error(e.at("width"), "range", "the width of an enum is 1..32");
      e.width = 32;
    }
    std::unordered_map<std::uint64_t, std::string> seen;
    for (const auto& v : e.values) {
      const auto [it, fresh] = seen.insert({v.value, v.name});
      if (!fresh) {
        diags_.error(v.pos, "enum-value",
                     fmt::format("{} and {} have the same value {}", it->second, v.name, v.value));
      }
      if (const auto bits = e.width_given ? e.width : 32; v.value > ones(bits)) {
        diags_.error(v.pos, "enum-width",
                     fmt::format("{} = {} is too wide: at most {} bits", v.name, v.value, bits));
      }
    }
  }

  template <typename F>
  void link(F& f) {
    if (f.enum_name.empty()) return;
    const auto it = index_.find(f.enum_name);
    if (it == index_.end()) {
      diags_.error(f.at("enum"), "unknown-enum",
                   fmt::format("unknown enum '{}'{}", f.enum_name,
                               suggest(f.enum_name, names_of(map_.enums))));
      return;
    }
    f.enum_index = it->second;
    const auto& e = map_.enums[it->second];
    for (const auto& v : e.values) {
      if (v.value > ones(f.width)) {
        diags_.error(f.at("enum"), "enum-width",
                     fmt::format("{}.{} = {} does not fit in a field of {} bits", e.name, v.name,
                                 v.value, f.width));
        break;
      }
    }
    widths_[it->second].insert(f.width);
  }

  // Without a given width: that of the fields if they agree, else the least.
  void finish() {
    for (std::size_t i = 0; i < map_.enums.size(); ++i) {
      auto& e = map_.enums[i];
      if (e.width_given) continue;
      unsigned least = 1;
      for (const auto& v : e.values) {
        while (v.value > ones(least)) ++least;
      }
      e.width = widths_[i].size() == 1 ? *widths_[i].begin() : least;
    }
  }

 private:
  Map& map_;
  Diagnostics& diags_;
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::set<unsigned>> widths_;
};

}  // namespace

void resolve_enums(Map& map, Diagnostics& diags) {
  EnumLinks links(map, diags);
  for (auto& e : map.enums) links.values(e);
  for (auto& b : map.blocks) {
    for (auto& r : b.registers) {
      for (auto& f : r.fields) links.link(f);
    }
  }
  for (auto& d : map.descriptors) {
    for (auto& f : d.fields) {
      if (!f.bytes) links.link(f);
    }
    for (auto& u : d.unions) {
      for (auto& v : u.variants) {
        for (auto& f : v.fields) {
          if (!f.bytes) links.link(f);
        }
      }
    }
  }
  links.finish();
}

}  // namespace rnic::regs
