// SPDX-License-Identifier: Apache-2.0
#include "xml_extension.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rnic::regs {
namespace {

void add_if(Attributes& a, std::string_view name, std::string_view value) {
  if (!value.empty()) a.add(name, value);
}

void write_desc_fields(Xml& x, const std::vector<DescField>& fields) {
  for (const auto& f : fields) {
    Attributes a;
    a.add("name", f.name).number("bit", f.bit).number("width", f.width);
    if (f.bytes) a.add("bytes", "true");
    add_if(a, "enum", f.enum_name);
    if (f.sv_name != f.name) a.add("svName", f.sv_name);
    add_if(a, "unit", f.unit);
    add_if(a, "desc", f.desc);
    x.empty("regs:field", a);
  }
}

void write_descriptor(Xml& x, const Descriptor& d) {
  Attributes a;
  a.add("name", d.name).number("bytes", d.size);
  add_if(a, "head", d.head);
  add_if(a, "desc", d.desc);
  x.open("regs:descriptor", a);
  write_desc_fields(x, d.fields);
  for (const auto& u : d.unions) {
    x.open("regs:union", Attributes().add("by", u.by));
    for (const auto& v : u.variants) {
      Attributes va;
      va.add("name", v.name).add("when", fmt::format("{}", fmt::join(v.when, " ")));
      add_if(va, "desc", v.desc);
      x.open("regs:variant", va);
      write_desc_fields(x, v.fields);
      x.close();
    }
    x.close();
  }
  x.close();
}

void write_enum(Xml& x, const Enum& e) {
  Attributes a;
  a.add("name", e.name).number("width", e.width);
  add_if(a, "desc", e.desc);
  x.open("regs:enum", a);
  for (const auto& v : e.values) {
    Attributes va;
    va.add("name", v.name).number("value", v.value);
    add_if(va, "desc", v.desc);
    x.empty("regs:value", va);
  }
  x.close();
}

}  // namespace

Attributes block_extension(const Block& b) {
  Attributes a;
  a.number("bar", b.bar).hex("size", b.size);
  if (b.stride != 0) a.hex("stride", b.stride);
  add_if(a, "decodedBy", b.decoded_by);
  a.add("badAccess", b.bad_access == BadAccess::kAllOnes ? "all_ones" : "slverr");
  add_if(a, "badAccessCapture", b.capture_name);
  if (b.pipelined) a.add("pipelined", "true");
  return a;
}

Attributes window_extension(const Window& w) {
  Attributes a;
  a.add("name", w.name).hex("offset", w.offset).hex("size", w.size);
  a.add("access", w.writable ? "rw" : "ro");
  add_if(a, "decodedBy", w.decoded_by);
  if (w.holds_counters) a.add("holds", "counters");
  add_if(a, "desc", w.desc);
  return a;
}

Attributes register_extension(const Register& r) {
  Attributes a;
  if (r.width == 64 && !r.buffered) a.add("buffered", "false");
  if (r.external) a.add("external", "true");
  add_if(a, "countParameter", r.count_param);
  return a;
}

Attributes field_extension(const Register& r, const Field& f) {
  Attributes a;
  if (f.access == Access::kWt || f.access == Access::kPulse) a.add("access", access_name(f.access));
  if (f.is_const) {
    a.add("const", f.is_map_hash ? "map_hash" : "true");
  } else if (!r.external) {
    const auto hw = hw_text(f.hw);
    if (hw != "out") a.add("hw", hw);
  }
  if (f.hw_changes()) {
    a.add("collision", f.collision == Collision::kHardware ? "hardware" : "software");
  }
  if (f.counter) {
    const auto& c = *f.counter;
    a.number("incr", c.incr_width).number("decr", c.decr_width);
    if (c.saturate) a.hex("saturate", c.max);
    if (c.threshold) a.hex("threshold", *c.threshold);
  }
  if (f.lock) a.add(f.lock->when ? "lockedBy" : "enabledBy", f.lock->by);
  add_if(a, "resetParameter", f.reset_param);
  add_if(a, "enum", f.enum_name);
  add_if(a, "unit", f.unit);
  return a;
}

void write_interrupt_extension(Xml& x, const Interrupt& i) {
  Attributes a;
  a.add("name", i.name).hex("offset", i.offset);
  add_if(a, "desc", i.desc);
  x.open("regs:interrupt", a);
  for (const auto& s : i.sources) {
    Attributes sa;
    sa.add("name", s.name).add("kind", irq_kind_name(s.kind));
    add_if(sa, "desc", s.desc);
    x.empty("regs:source", sa);
  }
  x.close();
}

void write_map_extension(Xml& x, const Map& map) {
  Attributes a;
  a.add("name", map.name).add("version", fmt::format("{}.{}.{}", map.major, map.minor, map.patch));
  a.add("hash", fmt::format("0x{:08x}", map.hash));
  x.open("regs:map", a);
  for (const auto& c : map.constants) {
    Attributes ca;
    ca.add("name", c.name).hex("value", c.value);
    if (c.is_parameter) ca.add("parameter", "true");
    if (c.min) ca.hex("min", *c.min);
    if (c.max) ca.hex("max", *c.max);
    add_if(ca, "desc", c.desc);
    x.empty("regs:constant", ca);
  }
  for (const auto& e : map.enums) write_enum(x, e);
  for (std::size_t i = 0; i < map.counters.size(); ++i) {
    Attributes ca;
    ca.add("name", map.counters[i].name).number("index", i);
    add_if(ca, "desc", map.counters[i].desc);
    x.empty("regs:counter", ca);
  }
  for (const auto& d : map.descriptors) write_descriptor(x, d);
  x.close();
}

bool is_volatile(const Register& r, const Field& f) {
  if (f.is_const) return false;
  return r.external || f.hw.in || f.hw.inout || f.hw_changes() || f.access == Access::kPulse;
}

std::string_view access_word(Access access) {
  switch (access) {
    case Access::kRo:
    case Access::kRc:
    case Access::kRs:
      return "read-only";
    case Access::kWo:
      return "write-only";
    case Access::kRwOnce:
      return "read-writeOnce";
    default:
      return "read-write";
  }
}

std::string_view write_word(Access access) {
  switch (access_info(access).on_write) {
    case OnWrite::kNone:
    case OnWrite::kStore:
      return {};
    case OnWrite::kOneClear:
      return "oneToClear";
    case OnWrite::kOneSet:
      return "oneToSet";
    case OnWrite::kOneToggle:
      return "oneToToggle";
    case OnWrite::kZeroClear:
      return "zeroToClear";
    case OnWrite::kZeroSet:
      return "zeroToSet";
    case OnWrite::kZeroToggle:
      return "zeroToToggle";
    case OnWrite::kClear:
      return "clear";
    case OnWrite::kSet:
      return "set";
    case OnWrite::kPulse:
      return "modify";
  }
  return {};
}

std::string_view read_word(Access access) {
  switch (access_info(access).on_read) {
    case OnRead::kNone:
      return {};
    case OnRead::kClear:
      return "clear";
    case OnRead::kSet:
      return "set";
  }
  return {};
}

}  // namespace rnic::regs
