// SPDX-License-Identifier: Apache-2.0
//
// The top level of a map, blocks, windows, ports.
#include "diff.hpp"

#include <algorithm>
#include <tuple>

#include "diff_state.hpp"
#include "ports.hpp"

namespace rnic::regs {
namespace {

std::string version(const Map& m) { return fmt::format("{}.{}.{}", m.major, m.minor, m.patch); }

void diff_version(DiffState& d) {
  const auto& o = d.before;
  const auto& n = d.after;
  const auto a = std::tie(o.major, o.minor, o.patch);
  const auto b = std::tie(n.major, n.minor, n.patch);
  if (a == b) return;
  const char* rule = b < a ? "version-down" : n.major > o.major ? "version-major" : "version-up";
  d.here(rule, n.at("version"), "version {} became {}", version(o), version(n));
}

void diff_range(DiffState& d, const Constant& o, const Constant& n) {
  const auto low = [](const Constant& c) { return c.min.value_or(0); };
  const auto high = [](const Constant& c) { return c.max.value_or(~std::uint64_t{0}); };
  const auto text = [](const Constant& c) {
    return fmt::format("{}..{}", c.min.value_or(0), c.max ? fmt::format("{}", *c.max) : "");
  };
  if (low(n) > low(o) || high(n) < high(o)) {
    d.here("parameter-narrower", n.pos, "parameter {}: {} became {}", n.name, text(o), text(n));
  } else if (low(n) < low(o) || high(n) > high(o)) {
    d.here("parameter-wider", n.pos, "parameter {}: {} became {}", n.name, text(o), text(n));
  }
}

void diff_constants(DiffState& d) {
  match(
      d.before.constants, d.after.constants,
      [&](const Constant& o, const Constant& n) {
        if (o.value != n.value) {
          d.here("constant-value", n.pos, "constant {}: {:#x} became {:#x}", n.name, o.value,
                 n.value);
        }
        if (o.is_parameter != n.is_parameter) {
          d.here("parameter-kind", n.pos, "{} became a {}", n.name,
                 n.is_parameter ? "parameter" : "constant");
        } else {
          diff_range(d, o, n);
        }
        d.text(o.desc, n.desc, n.pos, "constant " + n.name);
      },
      [&](const Constant& n) { d.here("constant-added", n.pos, "constant {} is new", n.name); },
      [&](const Constant& o) { d.gone("constant-removed", o.pos, "constant {} is gone", o.name); });
}

void diff_enum(DiffState& d, const Enum& o, const Enum& n) {
  match(
      o.values, n.values,
      [&](const EnumValue& a, const EnumValue& b) {
        if (a.value != b.value) {
          d.here("enum-value", b.pos, "{}.{}: {:#x} became {:#x}", n.name, b.name, a.value,
                 b.value);
        }
        d.text(a.desc, b.desc, b.pos, n.name + "." + b.name);
      },
      [&](const EnumValue& b) {
        d.here("enum-value-added", b.pos, "{}.{} = {:#x} is new", n.name, b.name, b.value);
      },
      [&](const EnumValue& a) {
        d.gone("enum-value-removed", a.pos, "{}.{} is gone", n.name, a.name);
      });
  if (o.width != n.width) {
    d.here("enum-width", n.pos, "enum {}: {} bits became {}", n.name, o.width, n.width);
  }
  d.text(o.desc, n.desc, n.pos, "enum " + n.name);
}

void diff_enums(DiffState& d) {
  match(
      d.before.enums, d.after.enums, [&](const Enum& o, const Enum& n) { diff_enum(d, o, n); },
      [&](const Enum& n) { d.here("enum-added", n.pos, "enum {} is new", n.name); },
      [&](const Enum& o) { d.gone("enum-removed", o.pos, "enum {} is gone", o.name); });
}

void diff_window(DiffState& d, const std::string& block, const Window& o, const Window& n) {
  const auto what = fmt::format("window {}.{}", block, n.name);
  if (o.offset != n.offset) {
    d.here("window-moved", n.at("offset"), "{}: {:#x} became {:#x}", what, o.offset, n.offset);
  }
  if (o.size != n.size) {
    d.here(n.size > o.size ? "window-grown" : "window-shrunk", n.at("size"),
           "{}: {:#x} bytes became {:#x}", what, o.size, n.size);
  }
  if (o.writable != n.writable) {
    d.here(n.writable ? "window-writable" : "window-read-only", n.at("access"), "{} is {} now",
           what, n.writable ? "rw" : "ro");
  }
  if (o.decoded_by != n.decoded_by) {
    d.here("window-decoder", n.at("decoded_by"), "{}: decoded_by '{}' became '{}'", what,
           o.decoded_by, n.decoded_by);
  }
  if (o.holds_counters != n.holds_counters) {
    d.here("window-holds", n.at("holds"), "{} {} the counters", what,
           n.holds_counters ? "holds" : "no longer holds");
  }
  d.text(o.desc, n.desc, n.pos, what);
}

void diff_irq_kinds(DiffState& d, const std::string& block, const Interrupt& o,
                    const Interrupt& n) {
  // Sources that came or went are fields of the group's registers.
  match(
      o.sources, n.sources,
      [&](const IrqSource& a, const IrqSource& b) {
        if (a.kind == b.kind) return;
        d.here("irq-kind", b.pos, "{}.{}.{}: {} became {}", block, n.name, b.name,
               irq_kind_name(a.kind), irq_kind_name(b.kind));
      },
      [](const IrqSource&) {}, [](const IrqSource&) {});
}

std::string names(const std::vector<const Port*>& ports) {
  constexpr std::size_t kMostShown = 6;
  std::string s;
  for (std::size_t i = 0; i < ports.size() && i < kMostShown; ++i) {
    s += (s.empty() ? "" : ", ") + ports[i]->name;
  }
  return ports.size() > kMostShown ? fmt::format("{}, ... ({} in all)", s, ports.size()) : s;
}

// The list of ports as the RTL has it, whatever made it different.
void diff_ports(DiffState& d, const Block& o, const Block& n) {
  if (!o.generated || !n.generated) return;
  const auto before = ports_of(o);
  const auto after = ports_of(n);
  std::vector<const Port*> outputs, inputs, removed, changed;
  match(
      before, after,
      [&](const Port& a, const Port& b) {
        if (std::tie(a.output, a.width, a.count) != std::tie(b.output, b.width, b.count)) {
          changed.push_back(&b);
        }
      },
      [&](const Port& b) { (b.output ? outputs : inputs).push_back(&b); },
      [&](const Port& a) { removed.push_back(&a); });
  const auto tell = [&](const char* rule, const char* text, const std::vector<const Port*>& list) {
    if (!list.empty()) d.here(rule, n.pos, "block {}: {}: {}", n.name, text, names(list));
  };
  tell("ports-added", "new outputs", outputs);
  tell("ports-needed", "new inputs", inputs);
  tell("ports-removed", "ports that are gone", removed);
  tell("ports-changed", "ports of another direction or width", changed);
}

void diff_block_frame(DiffState& d, const Block& o, const Block& n) {
  if (o.bar != n.bar) {
    d.here("block-bar", n.at("bar"), "block {}: BAR{} became BAR{}", n.name, o.bar, n.bar);
  }
  if (o.size != n.size) {
    d.here(n.size > o.size ? "block-grown" : "block-shrunk", n.at("size"),
           "block {}: {:#x} bytes became {:#x}", n.name, o.size, n.size);
  }
  if (o.stride != n.stride) {
    d.here("block-stride", n.at("stride"), "block {}: stride {:#x} became {:#x}", n.name, o.stride,
           n.stride);
  }
  if (o.generated != n.generated || (!n.generated && o.decoded_by != n.decoded_by)) {
    d.here("block-decoder", n.at("decoded_by"), "block {}: decoded_by '{}' became '{}'", n.name,
           o.decoded_by, n.decoded_by);
  }
  if (o.bad_access != n.bad_access) {
    d.here("block-bad-access", n.at("bad_access"), "block {}: bad accesses answer {} now", n.name,
           n.bad_access == BadAccess::kSlverr ? "slverr" : "all_ones");
  }
  if (o.capture_name != n.capture_name) {
    d.here("block-capture", n.at("bad_access_capture"),
           "block {}: bad_access_capture '{}' became '{}'", n.name, o.capture_name, n.capture_name);
  }
  if (o.pipelined != n.pipelined) {
    d.here("block-pipelined", n.at("pipelined"), "block {} is {}pipelined now", n.name,
           n.pipelined ? "" : "not ");
  }
  d.text(o.desc, n.desc, n.pos, "block " + n.name);
}

void diff_block(DiffState& d, const Block& o, const Block& n) {
  diff_block_frame(d, o, n);
  diff_registers(d, o, n);
  match(
      o.windows, n.windows, [&](const Window& a, const Window& b) { diff_window(d, n.name, a, b); },
      [&](const Window& b) {
        d.here("window-added", b.pos, "window {}.{} is new", n.name, b.name);
      },
      [&](const Window& a) {
        d.gone("window-removed", a.pos, "window {}.{} is gone", n.name, a.name);
      });
  match(
      o.interrupts, n.interrupts,
      [&](const Interrupt& a, const Interrupt& b) { diff_irq_kinds(d, n.name, a, b); },
      [](const Interrupt&) {}, [](const Interrupt&) {});
  diff_ports(d, o, n);
}

void diff_counters(DiffState& d) {
  const auto& olds = d.before.counters;
  const auto& news = d.after.counters;
  match(
      olds, news,
      [&](const Counter& o, const Counter& n) {
        const auto a = &o - olds.data();
        const auto b = &n - news.data();
        if (a != b) {
          d.here("counter-index", n.pos, "counter {}: index {} became {}", n.name, a, b);
        }
        d.text(o.desc, n.desc, n.pos, "counter " + n.name);
      },
      [&](const Counter& n) { d.here("counter-added", n.pos, "counter {} is new", n.name); },
      [&](const Counter& o) { d.gone("counter-removed", o.pos, "counter {} is gone", o.name); });
}

}  // namespace

void diff_meaning(DiffState& d, const std::string& what, const std::string& old_unit,
                  const std::string& new_unit, const std::string& old_enum,
                  const std::string& new_enum, const Located& at) {
  if (old_unit != new_unit) {
    // A unit where none was said makes nothing different.
    d.here(old_unit.empty() ? "text" : "field-unit", at.at("unit"), "{}: unit '{}' became '{}'",
           what, old_unit, new_unit);
  }
  if (old_enum != new_enum) {
    d.here(old_enum.empty() ? "field-enum-added" : "field-enum", at.at("enum"),
           "{}: enum '{}' became '{}'", what, old_enum, new_enum);
  }
}

std::vector<Change> diff_maps(const Map& before, const Map& after) {
  DiffState d(before, after);
  if (before.name != after.name) {
    d.here("map-name", after.at("name"), "map {} became {}", before.name, after.name);
  }
  diff_version(d);
  d.text(before.desc, after.desc, after.at("description"), "the map");
  diff_constants(d);
  diff_enums(d);
  match(
      before.blocks, after.blocks, [&](const Block& o, const Block& n) { diff_block(d, o, n); },
      [&](const Block& n) { d.here("block-added", n.pos, "block {} is new", n.name); },
      [&](const Block& o) { d.gone("block-removed", o.pos, "block {} is gone", o.name); });
  diff_counters(d);
  diff_descriptors(d);
  return std::move(d.changes);
}

}  // namespace rnic::regs
