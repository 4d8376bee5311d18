// SPDX-License-Identifier: Apache-2.0
//
// Registers on their own: width, alignment, repetition, places of fields.
#include <fmt/format.h>

#include "check.hpp"

namespace rnic::regs {
namespace {

void check_dims(Register& r, Diagnostics& diags) {
  constexpr std::uint64_t kMost = 65536;
  r.count = 1;
  for (std::size_t i = 0; i < r.dims.size(); ++i) {
    auto& d = r.dims[i];
    const bool own = i + 1 == r.dims.size() && (r.gave("count") || !r.file);
    if (d.count < 1 || d.count > kMost || r.count * d.count > kMost) {
      diags.error(r.at("count"), "range", fmt::format("count of {} is 1..{}", r.name, kMost));
      d.count = 1;
    }
    r.count *= d.count;
    if (own && (d.stride < r.width / 8 || d.stride % (r.width / 8) != 0)) {
      diags.error(r.at("stride"), "stride",
                  fmt::format("stride {:#x} of {} must be a multiple of {}, its size", d.stride,
                              r.name, r.width / 8));
      d.stride = r.width / 8;
    } else if (!own && d.stride % (r.width / 8) != 0) {
      diags.error(r.pos, "stride",
                  fmt::format("{} repeats every {:#x} bytes with its register file: that must be "
                              "a multiple of {}, its size",
                              r.name, d.stride, r.width / 8));
      d.stride = (d.stride / 8 + 1) * 8;
    }
  }
  if (r.gave("stride") && !r.gave("count")) {
    diags.error(r.at("stride"), "stride", fmt::format("{} has a stride but no count", r.name));
  }
  r.stride = r.dims.empty() ? r.width / 8 : r.dims.back().stride;
}

}  // namespace

void check_register(const Map& map, Register& r, Diagnostics& diags) {
  if (r.width != 32 && r.width != 64) {
    diags.error(r.at("width"), "width",
                fmt::format("width {} of {}: a register has 32 or 64 bits", r.width, r.name));
    r.width = 64;
  }
  if (r.offset % (r.width / 8) != 0) {
    diags.error(
        r.at("offset"), "alignment",
        fmt::format("offset {:#x} of {} is not a multiple of {}", r.offset, r.name, r.width / 8));
  }
  if (r.width == 32 && r.gave("buffered")) {
    diags.error(
        r.at("buffered"), "buffered",
        fmt::format("{} has 32 bits: only a register of 64 bits is buffered or not", r.name));
  }
  check_dims(r, diags);
  r.count_max = r.count;
  for (const auto& c : map.constants) {
    if (c.name != r.count_param) continue;
    if (!c.max) {
      diags.error(r.at("count"), "parameter",
                  fmt::format("parameter {} counts {}: give it a 'max', so that overlaps are seen",
                              c.name, r.name));
    }
    r.count_max = c.max.value_or(r.count);
  }
  if (r.fields.empty() && r.irq_role == IrqRole::kNone && !r.gave("fields")) {
    diags.error(r.at("fields"), "empty", fmt::format("{} has no fields", r.name));
  }
  for (std::size_t i = 0; i < r.fields.size(); ++i) {
    auto& f = r.fields[i];
    if (f.msb() >= r.width) {
      diags.error(f.at("bits"), "bits",
                  fmt::format("field {} ends at bit {} of {}, which has {} bits", f.name, f.msb(),
                              r.name, r.width));
    }
    for (std::size_t j = 0; j < i; ++j) {
      const auto& o = r.fields[j];
      if (f.lsb <= o.msb() && o.lsb <= f.msb()) {
        diags.error(f.at("bits"), "overlap",
                    fmt::format("field {} [{}:{}] overlaps {} [{}:{}] ({})", f.name, f.msb(), f.lsb,
                                o.name, o.msb(), o.lsb, diags.line_of(o.pos, f.pos)));
      }
    }
    check_field(r, f, diags);
  }
}

}  // namespace rnic::regs
