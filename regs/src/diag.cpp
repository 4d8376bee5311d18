// SPDX-License-Identifier: Apache-2.0
#include "diag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rnic::regs {

void Diagnostics::error(SourcePos pos, std::string rule, std::string text) {
  list_.push_back({Severity::kError, pos, std::move(rule), std::move(text)});
}

void Diagnostics::warning(SourcePos pos, std::string rule, std::string text) {
  list_.push_back({Severity::kWarning, pos, std::move(rule), std::move(text)});
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

std::string Diagnostics::text() const {
  std::vector<const Diagnostic*> sorted;
  sorted.reserve(list_.size());
  for (const auto& d : list_) sorted.push_back(&d);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->pos.line, a->pos.col) < std::tie(b->pos.line, b->pos.col);
  });
  std::string out;
  for (const auto* d : sorted) {
    const char* kind = d->severity == Severity::kError ? "error" : "warning";
    out += d->pos.line == 0 ? fmt::format("{}: {}: {} [{}]\n", file_, kind, d->text, d->rule)
                            : fmt::format("{}:{}:{}: {}: {} [{}]\n", file_, d->pos.line, d->pos.col,
                                          kind, d->text, d->rule);
  }
  return out;
}

}  // namespace rnic::regs
