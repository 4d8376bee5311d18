// SPDX-License-Identifier: Apache-2.0
#include "diag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rnic::regs {

namespace {

bool same_place(const Diagnostic& a, const Diagnostic& b) {
  return a.pos.file == b.pos.file && a.pos.line == b.pos.line && a.pos.col == b.pos.col;
}

}  // namespace

void Diagnostics::error(SourcePos pos, std::string rule, std::string text) {
  list_.push_back({pos, std::move(rule), std::move(text)});
}

int Diagnostics::add_file(std::string path) {
  files_.push_back(std::move(path));
  return static_cast<int>(files_.size() - 1);
}

std::string Diagnostics::line_of(SourcePos there, SourcePos here) const {
  return there.file == here.file ? fmt::format("line {}", there.line)
                                 : fmt::format("line {} of {}", there.line, file(there.file));
}

std::string Diagnostics::text() const {
  std::vector<const Diagnostic*> sorted;
  sorted.reserve(list_.size());
  for (const auto& d : list_) sorted.push_back(&d);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic* a, const Diagnostic* b) {
    return std::tie(a->pos.file, a->pos.line, a->pos.col) <
           std::tie(b->pos.file, b->pos.line, b->pos.col);
  });
  std::string out;
  const Diagnostic* last = nullptr;
  for (const auto* d : sorted) {
    // What an alias repeats is told once.
    if (last != nullptr && same_place(*last, *d) && last->text == d->text) continue;
    last = d;
    out += d->pos.line == 0
               ? fmt::format("{}: error: {} [{}]\n", file(d->pos.file), d->text, d->rule)
               : fmt::format("{}:{}:{}: error: {} [{}]\n", file(d->pos.file), d->pos.line,
                             d->pos.col, d->text, d->rule);
  }
  return out;
}

}  // namespace rnic::regs
