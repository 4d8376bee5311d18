// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL 2.0: one root addrmap, a bridge to an addrmap for each block. What the language cannot
// say stands in properties regs_*, so that `rnic-regs import` gives the same map again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "hierarchy.hpp"
#include "outputs.hpp"
#include "rdl_field.hpp"
#include "rdl_property.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

std::string id(const std::string& name) { return is_rdl_keyword(name) ? "\\" + name : name; }

std::string quoted(std::string_view s) {
  std::string q = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    q += c;
  }
  return q + '"';
}

class Rdl : private Lines {
 public:
  explicit Rdl(const Map& map) : map_(map) {}

  std::string run() {
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    raw(rdl_property_definitions());
    for (const auto& e : map_.enums) enumeration(e);
    for (const auto& d : map_.descriptors) descriptor(d);
    counters_alone();
    line("");
    line("addrmap {}{} {{", id(map_.name), parameters());
    desc("  ", map_.desc);
    line("  regs_version = \"{}.{}.{}\";", map_.major, map_.minor, map_.patch);
    line("  regs_hash = 0x{:08x};", map_.hash);
    lists();
    if (map_.blocks.size() > 1) line("  bridge;");
    for (const auto& b : map_.blocks) block(b);
    line("};");
    return take();
  }

 private:
  void desc(const std::string& pad, const std::string& text) {
    if (!text.empty()) line("{}desc = {};", pad, quoted(text));
  }
  void text_property(const std::string& pad, const char* name, const std::string& value) {
    if (!value.empty()) line("{}{} = {};", pad, name, quoted(value));
  }

  std::string parameters() const {
    std::string s;
    for (const auto& c : map_.constants) {
      if (!c.is_parameter) continue;
      s += fmt::format("{}longint unsigned {} = {:#x}", s.empty() ? "" : ", ", c.name, c.value);
    }
    return s.empty() ? s : fmt::format(" #({})", s);
  }

  void list(const std::string& pad, const char* property, const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    line("{}{} = '{{", pad, property);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      line("{}  {}{}", pad, quoted(entries[i]), i + 1 == entries.size() ? "" : ",");
    }
    line("{}}};", pad);
  }

  void lists() {
    std::vector<std::string> constants, parameters, enums;
    for (const auto& c : map_.constants) {
      // In the order of the map; a parameter has its value above.
      if (c.is_parameter) {
        constants.push_back(c.name);
        parameters.push_back(fmt::format("{} {}..{}; {}", c.name,
                                         c.min ? fmt::format("{:#x}", *c.min) : "",
                                         c.max ? fmt::format("{:#x}", *c.max) : "", c.desc));
      } else {
        constants.push_back(fmt::format("{} = {:#x}; {}", c.name, c.value, c.desc));
      }
    }
    for (const auto& e : map_.enums) enums.push_back(fmt::format("{}; {}", e.name, e.desc));
    list("  ", "regs_constants", constants);
    list("  ", "regs_parameters", parameters);
    list("  ", "regs_enums", enums);
  }

  // A value with a width says that the width was given.
  void enumeration(const Enum& e) {
    line("");
    line("enum {} {{", id(e.name));
    for (const auto& v : e.values) {
      const auto value =
          e.width_given ? fmt::format("{}'h{:x}", e.width, v.value) : fmt::format("{:#x}", v.value);
      line("  {} = {}{};", v.name, value,
           v.desc.empty() ? "" : fmt::format(" {{ desc = {}; }}", quoted(v.desc)));
    }
    line("};");
  }

  void descriptor(const Descriptor& d) {
    const auto open = [&](const std::string& type) {
      std::uint64_t width = 8;
      while (width < d.size * 8) width *= 2;
      line("");
      line("reg {} {{", type);
      line("  regs_descriptor = {};", quoted(d.name));
      line("  regwidth = {};", width);
    };
    open(fmt::format("desc__{}", d.name));
    desc("  ", d.desc);
    line("  regs_size = {};", d.size);
    text_property("  ", "regs_head", d.head);
    for (const auto& f : d.fields) desc_field(f);
    line("};");
    for (std::size_t i = 0; i < d.unions.size(); ++i) {
      for (const auto& v : d.unions[i].variants) {
        open(fmt::format("desc__{}__{}__{}", d.name, i, v.name));
        desc("  ", v.desc);
        line("  regs_union = {};", i);
        line("  regs_by = {};", quoted(d.unions[i].by));
        line("  regs_variant = {};", quoted(v.name));
        line("  regs_when = {};", quoted(fmt::format("{}", fmt::join(v.when_names, ", "))));
        for (const auto& f : v.fields) desc_field(f);
        line("};");
      }
    }
  }

  void desc_field(const DescField& f) {
    std::string s;
    if (!f.desc.empty()) s += fmt::format("desc = {}; ", quoted(f.desc));
    if (!f.enum_name.empty()) s += fmt::format("encode = {}; ", id(f.enum_name));
    if (!f.unit.empty()) s += fmt::format("regs_unit = {}; ", quoted(f.unit));
    if (f.bytes) s += "regs_bytes; ";
    if (f.sv_name != f.name) s += fmt::format("regs_sv_name = {}; ", quoted(f.sv_name));
    line("  field {{ {}}} {}[{}:{}];", s, id(f.name), f.end() - 1, f.bit);
  }

  void block(const Block& b) {
    block_ = &b;
    line("");
    line("  addrmap {");
    desc("    ", b.desc);
    line("    regs_bar = {};", b.bar);
    line("    regs_size = {:#x};", b.size);
    if (b.stride != 0) line("    regs_stride = {:#x};", b.stride);
    text_property("    ", "regs_decoded_by", b.decoded_by);
    if (b.bad_access == BadAccess::kSlverr) line("    regs_bad_access = \"slverr\";");
    text_property("    ", "regs_bad_access_capture", b.capture_name);
    if (b.pipelined) line("    regs_pipelined;");
    if (!b.interrupts.empty()) {
      std::vector<std::string> groups;
      for (const auto& i : b.interrupts) groups.push_back(fmt::format("{}; {}", i.name, i.desc));
      list("    ", "regs_interrupts", groups);
    }
    scope(register_tree(b), "    ", std::nullopt);
    for (const auto& w : b.windows) window(w);
    line("  }} {} @ 0x0;", id(b.name));
  }

  void scope(const std::vector<RegNode>& list, const std::string& pad,
             std::optional<std::size_t> file) {
    for (const auto& n : list) {
      if (n.file != nullptr) {
        line("{}regfile {{", pad);
        desc(pad + "  ", n.file->desc);
        scope(n.inside, pad + "  ", static_cast<std::size_t>(n.file - block_->files.data()));
        line("{}}} {}{}", pad, id(n.name()), place(n));
      } else {
        write_register(n, pad);
      }
    }
    for (const auto& n : list) {
      if (n.reg != nullptr) references(*n.reg, pad, file);
    }
  }

  static std::string place(const RegNode& n) {
    if (!n.dim) return fmt::format(" @ {:#x};", n.offset);
    const auto count = n.reg != nullptr && !n.reg->count_param.empty()
                           ? n.reg->count_param
                           : fmt::format("{}", n.dim->count);
    return fmt::format("[{}] @ {:#x} += {:#x};", count, n.offset, n.dim->stride);
  }

  void write_register(const RegNode& n, const std::string& pad) {
    const auto& r = *n.reg;
    line("{}{}reg {{", pad, r.external ? "external " : "");
    const auto in = pad + "  ";
    desc(in, r.desc);
    if (r.width != 32) line("{}regwidth = {}; accesswidth = 32;", in, r.width);
    if (r.width == 64 && !r.buffered) line("{}regs_buffered = false;", in);
    if (r.irq_role != IrqRole::kNone) {
      line("{}regs_interrupt = {};", in, quoted(block_->interrupts[r.irq].name));
    }
    for (std::size_t i = 0; i < r.fields.size(); ++i) {
      if (r.irq_role == IrqRole::kState) {
        source(block_->interrupts[r.irq].sources[i], r.fields[i], in);
      } else {
        field(r, r.fields[i], in);
      }
    }
    line("{}}} {}{}", pad, id(n.name()), place(n));
  }

  void source(const IrqSource& s, const Field& f, const std::string& pad) {
    const auto kind = [&] {
      switch (s.kind) {
        case IrqKind::kPulse:
          return "sw = rw; onwrite = woclr; level intr;";
        case IrqKind::kRising:
          return "sw = rw; onwrite = woclr; posedge intr;";
        case IrqKind::kFalling:
          return "sw = rw; onwrite = woclr; negedge intr;";
        case IrqKind::kBoth:
          return "sw = rw; onwrite = woclr; bothedge intr;";
        case IrqKind::kLevel:
          break;
      }
      return "sw = r; nonsticky intr;";
    }();
    const bool level = s.kind == IrqKind::kLevel;
    line("{}field {{ {} hw = w; {}{}}} {}[{}:{}]{};", pad, kind, level ? "" : "precedence = hw; ",
         s.desc.empty() ? "" : fmt::format("desc = {}; ", quoted(s.desc)), id(f.name), f.lsb, f.lsb,
         level ? "" : " = 0x0");
  }

  void field(const Register& r, const Field& f, const std::string& pad) {
    std::string s;
    const auto add = [&](std::string_view name, std::string_view value) {
      s.append(name).append(" = ").append(value).append("; ");
    };
    const auto flag = [&](bool on, std::string_view name) {
      if (on) s.append(name).append("; ");
    };
    const auto p = rdl_properties(r, f);
    add("sw", p.sw);
    add("hw", p.hw);
    if (!p.onwrite.empty()) add("onwrite", p.onwrite);
    if (!p.onread.empty()) add("onread", p.onread);
    flag(p.singlepulse, "singlepulse");
    flag(p.we, "we");
    flag(p.hwset, "hwset");
    flag(p.hwclr, "hwclr");
    flag(p.stickybit, "stickybit");
    flag(p.swmod, "swmod");
    flag(p.swacc, "swacc");
    if (f.hw_changes() && !r.external) add("precedence", p.hw_precedence ? "hw" : "sw");
    if (p.counter) counter(p, s);
    extension(r, f, p, s);
    if (!f.desc.empty()) add("desc", quoted(f.desc));
    if (!f.enum_name.empty()) add("encode", id(f.enum_name));
    if (!f.unit.empty()) add("regs_unit", quoted(f.unit));
    line("{}field {{ {}}} {}[{}:{}]{};", pad, s, id(f.name), f.msb(), f.lsb, reset(r, f));
  }

  static std::string reset(const Register& r, const Field& f) {
    if (f.hw.in || f.hw.inout || r.external) {
      return r.external && f.reset != 0 ? fmt::format(" = {:#x}", f.reset) : std::string();
    }
    return f.reset_param.empty() ? fmt::format(" = {:#x}", f.reset) : " = " + f.reset_param;
  }

  static void counter(const RdlField& p, std::string& s) {
    s += "counter; ";
    const auto add = [&](const char* name, const std::optional<std::uint64_t>& v) {
      if (v) s += fmt::format("{} = {:#x}; ", name, *v);
    };
    add("incrwidth", p.incrwidth);
    add("incrsaturate", p.incrsaturate);
    add("incrthreshold", p.incrthreshold);
    add("decrwidth", p.decrwidth);
    add("decrsaturate", p.decrsaturate);
  }

  // What the properties of the standard do not say.
  static void extension(const Register& r, const Field& f, const RdlField& p, std::string& s) {
    std::optional<RdlRefusal> no;
    const auto access = rdl_access(p, no);
    if (no || access != f.access) s += fmt::format("regs_access = \"{}\"; ", access_name(f.access));
    if (f.is_map_hash) s += "regs_map_hash; ";
    if (r.external) return;
    no.reset();
    const auto hw = rdl_hardware(p, f.access, f.width, no);
    if (no || hw.is_const != f.is_const || hw_text(hw.ports) != hw_text(f.hw)) {
      s += fmt::format("regs_hw = \"{}\"; ", hw_text(f.hw));
    }
    if (!f.counter) return;
    no.reset();
    const auto counts = rdl_counter(p, f.width, no);
    if (no || !counts || !same_counter(*counts, *f.counter)) {
      s += fmt::format("regs_counter = \"{}\"; ", counter_text(*f.counter));
    }
  }

  // Locks and enables, where both ends are visible.
  void references(const Register& r, const std::string& pad, std::optional<std::size_t> file) {
    if (r.irq_role == IrqRole::kState) {
      const auto& enable = block_->registers[block_->interrupts[r.irq].enable];
      for (const auto& f : r.fields) {
        line("{}{}.{}->enable = {}.{};", pad, id(r.local_name), id(f.name), id(enable.local_name),
             id(f.name));
      }
    }
    for (const auto& f : r.fields) {
      if (!f.lock || r.external) continue;
      const auto& by = block_->registers[f.lock->reg];
      const auto target = fmt::format("{}.{}", by.local_name, by.fields[f.lock->field].name);
      // The standard has no reference from element to element of two arrays.
      const bool plain = by.file == file && target == f.lock->by && own_dims(by) == 0 &&
                         (f.lock->same_element ? own_dims(r) == 0 : true);
      const auto key = id(r.local_name) + "." + id(f.name);
      if (plain) {
        line("{}{}->{} = {}.{};", pad, key, f.lock->when ? "swwel" : "swwe", id(by.local_name),
             id(by.fields[f.lock->field].name));
      } else {
        line("{}{}->{} = {};", pad, key, f.lock->when ? "regs_locked_by" : "regs_enabled_by",
             quoted(f.lock->by));
      }
    }
  }

  std::size_t own_dims(const Register& r) const {
    std::size_t n = r.dims.size();
    for (auto at = r.file; at; at = block_->files[*at].parent) {
      n -= block_->files[*at].is_array ? 1 : 0;
    }
    return n;
  }

  void window(const Window& w) {
    line("    external mem {");
    desc("      ", w.desc);
    const bool named = w.holds_counters && !counters_told_;
    const unsigned bytes = named ? 8 : 4;
    line("      mementries = {:#x}; memwidth = {}; sw = {};", w.size / bytes, bytes * 8,
         w.writable ? "rw" : "r");
    text_property("      ", "regs_decoded_by", w.decoded_by);
    if (w.holds_counters) line("      regs_counters;");
    if (named) counters("      ");
    line("    }} {} @ {:#x};", id(w.name), w.offset);
  }

  // As virtual registers.
  void counters(const std::string& pad) {
    counters_told_ = true;
    for (std::size_t i = 0; i < map_.counters.size(); ++i) {
      const auto& c = map_.counters[i];
      line("{}reg {{ regwidth = 64; {}field {{ sw = r; }} value[63:0]; }} {} @ {:#x};", pad,
           c.desc.empty() ? "" : fmt::format("desc = {}; ", quoted(c.desc)), id(c.name), 8 * i);
    }
  }

  // Counters that no window holds: a memory that is nowhere.
  void counters_alone() {
    for (const auto& b : map_.blocks) {
      for (const auto& w : b.windows) {
        if (w.holds_counters) return;
      }
    }
    if (map_.counters.empty()) return;
    line("");
    line("mem counters__alone {");
    line("  mementries = {}; memwidth = 64; sw = r;", map_.counters.size());
    line("  regs_counters;");
    counters("  ");
    line("};");
  }

  const Map& map_;
  const Block* block_ = nullptr;
  bool counters_told_ = false;
};

}  // namespace

void out_rdl(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.rdl", Rdl(map).run()});
}

}  // namespace rnic::regs
