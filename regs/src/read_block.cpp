// SPDX-License-Identifier: Apache-2.0
//
// Address blocks, their windows and interrupt groups.
#include <fmt/format.h>

#include <algorithm>

#include "yaml_keys.hpp"

namespace rnic::regs {

void YamlReader::read_block(const YamlNode& n) {
  Block b;
  Keys k(*this, n, "a block",
         {"name", "bar", "size", "stride", "decoded_by", "bad_access", "bad_access_capture",
          "pipelined", "desc", "registers", "windows", "interrupts"},
         &b);
  if (!k.ok()) return;
  b.name = k.text("name", true);
  b.desc = k.text("desc", false);
  b.bar = static_cast<unsigned>(std::min<std::uint64_t>(k.number("bar", false).value_or(0), 1000));
  b.size = k.number("size", true).value_or(0);
  b.stride = k.number("stride", false).value_or(0);
  b.decoded_by = k.text("decoded_by", false);
  b.generated = b.decoded_by.empty() || b.decoded_by == "generated";
  if (k.word("bad_access", {"all_ones", "slverr"}, false) == 1) b.bad_access = BadAccess::kSlverr;
  b.pipelined = k.flag("pipelined");
  b.capture_name = k.text("bad_access_capture", false);
  if (const auto* x = k.get("registers", false)) read_registers(b, *x, {});
  if (const auto* x = k.get("windows", false); x != nullptr && is_list(*x, "windows")) {
    for (const auto* w : x->items) read_window(b, *w);
  }
  if (const auto* x = k.get("interrupts", false); x != nullptr && is_list(*x, "interrupts")) {
    for (const auto* i : x->items) read_interrupt(b, *i);
  }
  map_.blocks.push_back(std::move(b));
}

void YamlReader::read_window(Block& b, const YamlNode& n) {
  Window w;
  Keys k(*this, n, "a window", {"name", "offset", "size", "access", "decoded_by", "holds", "desc"},
         &w);
  if (!k.ok()) return;
  w.name = k.text("name", true);
  w.desc = k.text("desc", false);
  w.offset = k.number("offset", true).value_or(0);
  w.size = k.number("size", true).value_or(0);
  const auto access = k.text("access", true);
  if (access != "rw" && access != "ro") {
    diags_.error(k.at("access"), "access",
                 fmt::format("access '{}' of window {}; known: rw, ro", access, w.name));
  }
  w.writable = access == "rw";
  w.decoded_by = k.text("decoded_by", false);
  w.holds_counters = k.word("holds", {"counters"}, false) == 0;
  b.windows.push_back(std::move(w));
}

void YamlReader::read_interrupt(Block& b, const YamlNode& n) {
  Interrupt i;
  Keys k(*this, n, "an interrupt group", {"name", "offset", "desc", "sources"}, &i);
  if (!k.ok()) return;
  i.name = k.text("name", true);
  i.desc = k.text("desc", false);
  i.offset = k.number("offset", true).value_or(0);
  if (const auto* list = k.get("sources", true); list != nullptr && is_list(*list, "sources")) {
    for (const auto* x : list->items) {
      IrqSource s;
      Keys sk(*this, *x, fmt::format("a source of {}", i.name), {"name", "kind", "desc"}, &s);
      if (!sk.ok()) continue;
      s.name = sk.text("name", true);
      s.desc = sk.text("desc", false);
      s.kind = static_cast<IrqKind>(
          sk.word("kind", {"pulse", "rising", "falling", "both", "level"}, false).value_or(0));
      i.sources.push_back(std::move(s));
    }
  }
  b.interrupts.push_back(std::move(i));
}

}  // namespace rnic::regs
