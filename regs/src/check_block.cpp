// SPDX-License-Identifier: Apache-2.0
//
// Blocks, windows, and the register that captures bad accesses.
#include <fmt/format.h>

#include "check.hpp"
#include "suggest.hpp"

namespace rnic::regs {
namespace {

void link_capture(Block& b, Diagnostics& diags) {
  const auto pos = b.at("bad_access_capture");
  for (std::size_t i = 0; i < b.registers.size(); ++i) {
    const auto& r = b.registers[i];
    if (r.name != b.capture_name) continue;
    const auto has = [&](const char* name, Access access, unsigned width) {
      return std::any_of(r.fields.begin(), r.fields.end(), [&](const Field& f) {
        const bool hw = access == Access::kRo ? f.hw.in : f.hw.set;
        return f.name == name && f.access == access && hw && f.width >= width;
      });
    };
    if (r.width != 32 || r.is_array || r.fields.size() != 3 ||
        !has("addr", Access::kRo, b.addr_bits()) || !has("write", Access::kRo, 1) ||
        !has("valid", Access::kW1c, 1)) {
      diags.error(pos, "capture",
                  fmt::format("{} must be a single 32-bit register of the fields addr (ro, hw in, "
                              "at least {} bits), write (ro, hw in) and valid (w1c, hw set)",
                              b.capture_name, b.addr_bits()));
      return;
    }
    b.capture = i;
    return;
  }
  diags.error(pos, "capture",
              fmt::format("no register '{}'{}", b.capture_name,
                          suggest(b.capture_name, names_of(b.registers))));
}

void check_window(const Map& map, Window& w, Diagnostics& diags) {
  if (w.size < 4 || (w.size & (w.size - 1)) != 0) {
    diags.error(w.at("size"), "range",
                fmt::format("the size of window {} is a power of two, at least 4", w.name));
    w.size = 4;
  }
  if (w.offset % w.size != 0) {
    diags.error(w.at("offset"), "alignment",
                fmt::format("window {} at {:#x} is not aligned to its size {:#x}", w.name, w.offset,
                            w.size));
  }
  if (w.holds_counters && map.counters.size() * 8 > w.size) {
    diags.error(w.pos, "range",
                fmt::format("{} counters of 8 bytes do not fit in window {} of {:#x} bytes",
                            map.counters.size(), w.name, w.size));
  }
}

}  // namespace

void check_block(const Map& map, Block& b, Diagnostics& diags) {
  if (b.bar > 5) diags.error(b.at("bar"), "range", "a BAR is 0..5");
  if (b.size < 8 || b.size > (1ULL << 32) || (b.size & (b.size - 1)) != 0) {
    diags.error(b.at("size"), "range", "the size of a block is a power of two, 8 bytes to 4 GB");
    b.size = 1ULL << 32;
  }
  if (b.stride != 0 && b.stride < b.size) {
    diags.error(b.at("stride"), "stride",
                fmt::format("stride {:#x} is smaller than the block ({:#x})", b.stride, b.size));
  }
  for (auto& w : b.windows) check_window(map, w, diags);
  if (!b.capture_name.empty()) link_capture(b, diags);
}

}  // namespace rnic::regs
