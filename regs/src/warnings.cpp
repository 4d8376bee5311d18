// SPDX-License-Identifier: Apache-2.0
#include "warnings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rnic::regs {

void Warnings::add(SourcePos pos, std::string rule, std::string text) {
  list_.push_back({pos, std::move(rule), std::move(text)});
}

std::string Warnings::text(const Diagnostics& diags) const {
  auto sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.pos.file, a.pos.line, a.pos.col) <
           std::tie(b.pos.file, b.pos.line, b.pos.col);
  });
  std::string out;
  for (const auto& d : sorted) {
    out += fmt::format("{}:{}:{}: warning: {} [{}]\n", diags.file(d.pos.file), d.pos.line,
                       d.pos.col, d.text, d.rule);
  }
  return out;
}

}  // namespace rnic::regs
