// SPDX-License-Identifier: Apache-2.0
//
// Address blocks, their windows and interrupt groups.
#include <fmt/format.h>

#include <algorithm>

#include "yaml_keys.hpp"

namespace rnic::regs {

void YamlReader::read_block(const YamlNode& n) {
  Block b;
  Keys k(*this, n, Element::kBlock, "a block", &b);
  if (!k.ok()) return;
  b.name = k.text("name");
  b.desc = k.text("desc");
  b.bar = static_cast<unsigned>(std::min<std::uint64_t>(k.number("bar").value_or(0), 1000));
  b.size = k.number("size").value_or(0);
  b.stride = k.number("stride").value_or(0);
  b.decoded_by = k.text("decoded_by");
  b.generated = b.decoded_by.empty() || b.decoded_by == "generated";
  if (k.word("bad_access") == 1) b.bad_access = BadAccess::kSlverr;
  b.pipelined = k.flag("pipelined");
  b.capture_name = k.text("bad_access_capture");
  if (const auto* x = k.get("registers")) read_registers(b, *x, {});
  if (const auto* x = k.get("windows"); x != nullptr && is_list(*x, "windows")) {
    for (const auto* w : x->items) read_window(b, *w);
  }
  if (const auto* x = k.get("interrupts"); x != nullptr && is_list(*x, "interrupts")) {
    for (const auto* i : x->items) read_interrupt(b, *i);
  }
  map_.blocks.push_back(std::move(b));
}

void YamlReader::read_window(Block& b, const YamlNode& n) {
  Window w;
  Keys k(*this, n, Element::kWindow, "a window", &w);
  if (!k.ok()) return;
  w.name = k.text("name");
  w.desc = k.text("desc");
  w.offset = k.number("offset").value_or(0);
  w.size = k.number("size").value_or(0);
  w.writable = k.word("access") == 0;
  w.decoded_by = k.text("decoded_by");
  w.holds_counters = k.word("holds") == 0;
  b.windows.push_back(std::move(w));
}

void YamlReader::read_interrupt(Block& b, const YamlNode& n) {
  Interrupt i;
  Keys k(*this, n, Element::kInterrupt, "an interrupt group", &i);
  if (!k.ok()) return;
  i.name = k.text("name");
  i.desc = k.text("desc");
  i.offset = k.number("offset").value_or(0);
  if (const auto* list = k.get("sources"); list != nullptr && is_list(*list, "sources")) {
    for (const auto* x : list->items) {
      IrqSource s;
      Keys sk(*this, *x, Element::kSource, fmt::format("a source of {}", i.name), &s);
      if (!sk.ok()) continue;
      s.name = sk.text("name");
      s.desc = sk.text("desc");
      s.kind = static_cast<IrqKind>(sk.word("kind").value_or(0));
      i.sources.push_back(std::move(s));
    }
  }
  b.interrupts.push_back(std::move(i));
}

}  // namespace rnic::regs
