// SPDX-License-Identifier: Apache-2.0
//
// A_B.c and A.b_c would make one identifier in every view, and so would some names and what is made
// from others. Sharing is judged in lower case, by what SystemVerilog and the C header derive.
#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "check.hpp"
#include "ports.hpp"

namespace rnic::regs {
namespace {

class FlatNames {
 public:
  explicit FlatNames(Diagnostics& diags) : diags_(diags) {}

  void reserve(std::size_t n) { seen_.reserve(n); }

  void add(std::string flat, SourcePos pos) {
    const auto [it, fresh] = seen_.insert({std::move(flat), pos});
    const auto& other = it->second;
    if (!fresh && (other.line != pos.line || other.file != pos.file) &&
        told_.insert({other.line, pos.line}).second) {
      diags_.error(pos, "flat-name",
                   fmt::format("'{}' is the generated name of this and of {}; rename one",
                               it->first, diags_.line_of(other, pos)));
    }
  }

 private:
  Diagnostics& diags_;
  std::unordered_map<std::string, SourcePos> seen_;
  std::set<std::pair<int, int>> told_;  // one message for two lines
};

}  // namespace

void check_flat_names(const Block& b, Diagnostics& diags) {
  FlatNames names(diags);
  names.reserve(b.registers.size() * 16);
  for (const auto& r : b.registers) {
    const auto reg = to_lower(r.name);
    names.add(reg, r.pos);
    names.add(reg + "_reset_value", r.pos);
    if (r.is_array) names.add(reg + "_count", r.pos);
    for (const auto& f : r.fields) {
      const auto flat = reg + "_" + f.name;
      names.add(flat, f.pos);
      names.add(flat + "_mask", f.pos);
      names.add(flat + "_shift", f.pos);
    }
  }
  for (const auto& w : b.windows) {
    names.add(to_lower(w.name), w.pos);
    names.add(to_lower(w.name) + "_size", w.pos);
  }
  for (const auto& p : ports_of(b)) names.add(p.name, p.pos);
}

}  // namespace rnic::regs
