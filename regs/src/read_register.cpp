// SPDX-License-Identifier: Apache-2.0
//
// Registers and register files, made flat: a register in CHAN[4] is CHAN_CTRL with four elements.
#include <fmt/format.h>

#include <algorithm>

#include "yaml_keys.hpp"

namespace rnic::regs {

void YamlReader::read_registers(Block& b, const YamlNode& n, const Scope& scope) {
  if (!is_list(n, "registers")) return;
  for (const auto* x : n.items) {
    bool is_file = false;
    if (x->is_map()) {
      for (std::size_t i = 0; i + 1 < x->items.size(); i += 2) {
        is_file |= x->items[i]->text == "registers";
      }
    }
    if (is_file) {
      read_register_file(b, *x, scope);
    } else {
      read_register(b, *x, scope);
    }
  }
}

std::optional<Lock> YamlReader::read_lock(Keys& k) {
  const auto locked = k.text("locked_by");
  const auto enabled = k.text("enabled_by");
  if (!locked.empty() && !enabled.empty()) {
    diags_.error(k.at("enabled_by"), "lock",
                 fmt::format("{} has locked_by and enabled_by: keep one", k.what()));
  }
  if (locked.empty() && enabled.empty()) return std::nullopt;
  Lock lock;
  lock.by = locked.empty() ? enabled : locked;
  lock.when = !locked.empty();
  return lock;
}

void YamlReader::read_register(Block& b, const YamlNode& n, const Scope& scope) {
  Register r;
  Keys k(*this, n, Element::kRegister, "a register", &r);
  if (!k.ok()) return;
  r.local_name = k.text("name");
  r.name = scope.prefix + r.local_name;
  r.desc = k.text("desc");
  r.offset = scope.base + k.number("offset").value_or(0);
  r.width = static_cast<unsigned>(std::min<std::uint64_t>(k.number("width").value_or(32), 4096));
  r.dims = scope.dims;
  r.file = scope.file;
  r.buffered = k.flag("buffered", true);
  r.external = k.flag("external");
  r.lock = read_lock(k);
  if (const auto* count = k.get("count")) {
    r.dims.push_back({k.number("count").value_or(1), k.number("stride").value_or(r.width / 8)});
    if (scope.dims.empty()) r.count_param = parameter_of(*count);
  }
  if (const auto* fields = k.get("fields"); fields != nullptr && is_list(*fields, "fields")) {
    for (const auto* x : fields->items) read_field(r, *x);
    if (fields->items.empty()) {
      diags_.error(fields->pos, "empty", fmt::format("{} has no fields", r.name));
    }
  }
  b.registers.push_back(std::move(r));
}

void YamlReader::read_register_file(Block& b, const YamlNode& n, const Scope& scope) {
  constexpr int kMostDeep = 8;
  RegFile f;
  Keys k(*this, n, Element::kRegisterFile, "a register file", &f);
  if (!k.ok()) return;
  if (scope.depth == kMostDeep) {
    diags_.error(
        f.pos, "nesting",
        fmt::format("register files are nested deeper than {}: make it flatter", kMostDeep));
    return;
  }
  f.local_name = k.text("name");
  f.name = scope.prefix + f.local_name;
  f.desc = k.text("desc");
  f.offset = scope.base + k.number("offset").value_or(0);
  f.is_array = k.has("count");
  f.count = k.number("count").value_or(1);
  if (f.is_array) k.require("stride");
  f.stride = k.number("stride").value_or(0);
  f.parent = scope.file;
  Scope inner = scope;
  inner.prefix = f.name + "_";
  inner.base = f.offset;
  if (f.is_array) inner.dims.push_back({f.count, f.stride});
  inner.file = b.files.size();
  ++inner.depth;
  b.files.push_back(std::move(f));
  if (const auto* list = k.get("registers")) read_registers(b, *list, inner);
}

}  // namespace rnic::regs
