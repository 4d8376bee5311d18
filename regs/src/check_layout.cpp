// SPDX-License-Identifier: Apache-2.0
//
// Overlaps, ends, and elements of register files that are larger than their stride.
#include <fmt/format.h>

#include <set>

#include "check.hpp"

namespace rnic::regs {
namespace {

struct Span {
  std::uint64_t from, to;
  const std::string* name;
  SourcePos pos;
  bool reads, writes;
};

// Of the elements of a file, each from its own offset on.
void check_files(const Block& b, Diagnostics& diags) {
  for (std::size_t k = 0; k < b.files.size(); ++k) {
    const auto& f = b.files[k];
    if (!f.is_array) continue;
    if (f.count < 1 || f.count > 65536) {
      diags.error(f.at("count"), "range", fmt::format("count of {} is 1..65536", f.name));
      continue;
    }
    std::uint64_t end = 0;
    const Register* last = nullptr;
    for (const auto& r : b.registers) {
      std::size_t depth = 0;  // dims that belong to files inside f, and its own
      bool inside = false;
      for (auto at = r.file; at; at = b.files[*at].parent) {
        if (*at == k) {
          inside = true;
          break;
        }
        depth += b.files[*at].is_array ? 1 : 0;
      }
      if (!inside) continue;
      if (r.gave("count")) ++depth;
      std::uint64_t to = r.offset + r.width / 8;
      for (std::size_t i = r.dims.size() - std::min(depth, r.dims.size()); i < r.dims.size(); ++i) {
        to += (r.dims[i].count - 1) * r.dims[i].stride;
      }
      if (to > end) {
        end = to;
        last = &r;
      }
    }
    if (end > f.offset + f.stride) {
      diags.error(f.at("stride"), "stride",
                  fmt::format("stride {:#x} of {} is smaller than an element of it: {} ends at "
                              "{:#x} in it, so write at least that",
                              f.stride, f.name, last->name, end - f.offset));
    }
  }
}

}  // namespace

void check_layout(const Block& b, Diagnostics& diags) {
  check_files(b, diags);
  std::vector<Span> spans;
  for (const auto& r : b.registers) {
    for (std::uint64_t i = 0; i < r.count_max; ++i) {
      const auto at = r.count_max == r.count ? r.element_offset(i) : r.offset + i * r.stride;
      spans.push_back({at, at + r.width / 8, &r.name, r.pos, r.readable(), r.writable()});
    }
  }
  for (const auto& w : b.windows) {
    spans.push_back({w.offset, w.offset + w.size, &w.name, w.pos, true, true});
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& x, const Span& y) { return x.from < y.from; });
  std::set<std::pair<std::string, std::string>> told;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    for (std::size_t j = i; j-- > 0;) {
      const auto& p = spans[j];
      const auto& q = spans[i];
      if (q.from >= p.to) break;
      // One that is only read beside one that is only written.
      const bool apart =
          !(p.reads && q.reads) && !(p.writes && q.writes) && p.from == q.from && p.to == q.to;
      if (apart || !told.insert({*p.name, *q.name}).second) continue;
      const bool later_is_q = q.pos.line >= p.pos.line;
      const auto& bad = later_is_q ? q : p;
      const auto& other = later_is_q ? p : q;
      diags.error(bad.pos, "overlap",
                  fmt::format("{} at {:#x} overlaps {} at {:#x} ({})", *bad.name, bad.from,
                              *other.name, other.from, diags.line_of(other.pos, bad.pos)));
    }
  }
  for (const auto& s : spans) {
    if (s.to > b.size && told.insert({*s.name, ""}).second) {
      diags.error(s.pos, "range",
                  fmt::format("{} ends at {:#x}, behind block {} of {:#x} bytes", *s.name, s.to,
                              b.name, b.size));
    }
  }
}

}  // namespace rnic::regs
