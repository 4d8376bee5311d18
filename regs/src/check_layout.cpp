// SPDX-License-Identifier: Apache-2.0
//
// Overlaps, ends, and elements of register files that are larger than their stride.
#include <fmt/format.h>

#include <algorithm>
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
  struct End {
    std::uint64_t at = 0;
    const Register* of = nullptr;
  };
  std::vector<End> ends(b.files.size());
  for (const auto& r : b.registers) {
    // The dims that belong to the register itself and to the files inside of the one looked at.
    std::size_t depth = r.gave("count") ? 1 : 0;
    for (auto at = r.file; at; at = b.files[*at].parent) {
      std::uint64_t to = r.offset + r.width / 8;
      for (std::size_t i = r.dims.size() - std::min(depth, r.dims.size()); i < r.dims.size(); ++i) {
        to += (r.dims[i].count - 1) * r.dims[i].stride;
      }
      if (to > ends[*at].at) ends[*at] = {to, &r};
      depth += b.files[*at].is_array ? 1 : 0;
    }
  }
  for (std::size_t k = 0; k < b.files.size(); ++k) {
    const auto& f = b.files[k];
    if (!f.is_array) continue;
    if (f.count < 1 || f.count > 65536) {
      diags.error(f.at("count"), "range", fmt::format("count of {} is 1..65536", f.name));
    } else if (ends[k].at > f.offset + f.stride) {
      diags.error(f.at("stride"), "stride",
                  fmt::format("stride {:#x} of {} is smaller than an element of it: {} ends at "
                              "{:#x} in it, so write at least that",
                              f.stride, f.name, ends[k].of->name, ends[k].at - f.offset));
    }
  }
}

// So far away that sums of offsets run over.
bool far_away(const Block& b, Diagnostics& diags) {
  constexpr std::uint64_t kFar = 1ULL << 40;
  bool found = false;
  const auto tell = [&](const Located& x, const std::string& name) {
    found = true;
    diags.error(x.at("offset"), "range",
                fmt::format("{} is far behind block {} of {:#x} bytes", name, b.name, b.size));
  };
  for (const auto& f : b.files) {
    const bool wraps = f.parent && f.offset < b.files[*f.parent].offset;
    if (wraps || f.offset >= kFar || f.stride >= kFar) tell(f, f.name);
  }
  for (const auto& r : b.registers) {
    const bool wraps = r.file && r.offset < b.files[*r.file].offset;
    if (wraps || r.offset >= kFar || r.stride >= kFar) tell(r, r.name);
  }
  for (const auto& w : b.windows) {
    if (w.offset >= kFar || w.size >= kFar) tell(w, w.name);
  }
  return found;
}

// More than anybody can build, or a typing error.
bool too_many(const Block& b, Diagnostics& diags) {
  constexpr std::uint64_t kMost = 1'000'000;
  std::uint64_t n = 0;
  for (const auto& r : b.registers) n += std::min(r.count_max, kMost);
  if (n <= kMost) return false;
  diags.error(b.pos, "range",
              fmt::format("block {} has {} registers with all elements of its arrays: at most {}",
                          b.name, n, kMost));
  return true;
}

}  // namespace

void check_layout(const Block& b, Diagnostics& diags) {
  if (far_away(b, diags)) return;
  check_files(b, diags);
  if (too_many(b, diags)) return;
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
  std::size_t reaches = 0;  // the span before i that ends last
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i - 1].to > spans[reaches].to) reaches = i - 1;
    for (const auto j : {i - 1, reaches}) {
      const auto& p = spans[j];
      const auto& q = spans[i];
      if (q.from >= p.to) continue;
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
