// SPDX-License-Identifier: Apache-2.0
#include "write_yaml.hpp"

#include <algorithm>
#include <cctype>

#include "hierarchy.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

std::string quoted(std::string_view s) {
  std::string q = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      q += ' ';
    } else {
      q += c;
    }
  }
  return q + '"';
}

// As people write it: small ones in decimal.
std::string num(std::uint64_t v) {
  return v < 10 ? fmt::format("{}", v) : fmt::format("0x{:X}", v);
}

// `{a: 1, b: 2}` grows by entries.
class Flow {
 public:
  void add(std::string_view key, const std::string& value) {
    if (!text_.empty()) text_ += ", ";
    text_.append(key).append(": ").append(value);
  }
  void text(std::string_view key, const std::string& value) {
    if (!value.empty()) add(key, quoted(value));
  }
  void word(std::string_view key, const std::string& value) {
    if (!value.empty()) add(key, value);
  }
  [[nodiscard]] std::string str() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

class Yaml : private Lines {
 public:
  explicit Yaml(const Map& map) : map_(map) {}

  std::string run() {
    line("name: {}", map_.name);
    line("version: {{major: {}, minor: {}, patch: {}}}", map_.major, map_.minor, map_.patch);
    if (!map_.desc.empty()) line("description: {}", quoted(map_.desc));
    constants(true);
    constants(false);
    enums();
    if (!map_.blocks.empty()) line("blocks:");
    for (const auto& b : map_.blocks) block(b);
    if (!map_.counters.empty()) line("counters:");
    for (const auto& c : map_.counters) {
      Flow f;
      f.add("name", c.name);
      f.text("desc", c.desc);
      line("  - {}", f.str());
    }
    if (!map_.descriptors.empty()) line("descriptors:");
    for (const auto& d : map_.descriptors) descriptor(d);
    return take();
  }

 private:
  void constants(bool parameters) {
    bool any = false;
    for (const auto& c : map_.constants) {
      if (c.is_parameter != parameters) continue;
      if (!any) line(parameters ? "parameters:" : "constants:");
      any = true;
      Flow f;
      f.add("value", num(c.value));
      if (c.min) f.add("min", num(*c.min));
      if (c.max) f.add("max", num(*c.max));
      f.text("desc", c.desc);
      line("  {}: {}", c.name, f.str());
    }
  }

  void enums() {
    if (!map_.enums.empty()) line("enums:");
    for (const auto& e : map_.enums) {
      line("  {}:", e.name);
      if (!e.desc.empty()) line("    desc: {}", quoted(e.desc));
      if (e.width_given) line("    width: {}", e.width);
      line("    values:");
      for (const auto& v : e.values) {
        if (v.desc.empty()) {
          line("      {}: {}", v.name, num(v.value));
        } else {
          line("      {}: {{value: {}, desc: {}}}", v.name, num(v.value), quoted(v.desc));
        }
      }
    }
  }

  void block(const Block& b) {
    line("  - name: {}", b.name);
    if (!b.desc.empty()) line("    desc: {}", quoted(b.desc));
    if (b.bar != 0) line("    bar: {}", b.bar);
    line("    size: {}", num(b.size));
    if (b.stride != 0) line("    stride: {}", num(b.stride));
    if (!b.decoded_by.empty()) line("    decoded_by: {}", scalar(b.decoded_by));
    if (b.bad_access == BadAccess::kSlverr) line("    bad_access: slverr");
    if (!b.capture_name.empty()) line("    bad_access_capture: {}", b.capture_name);
    if (b.pipelined) line("    pipelined: true");
    const auto tree = register_tree(b);
    const bool any = std::any_of(tree.begin(), tree.end(), [](const RegNode& n) {
      return n.file != nullptr || n.reg->irq_role == IrqRole::kNone;
    });
    if (any) line("    registers:");
    nodes(tree, "      ");
    windows(b);
    interrupts(b);
  }

  // Text that stands without quotes where it is a plain word.
  static std::string scalar(const std::string& s) {
    const bool plain = std::all_of(s.begin(), s.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    });
    return plain ? s : quoted(s);
  }

  void nodes(const std::vector<RegNode>& list, const std::string& pad) {
    for (const auto& n : list) {
      if (n.reg != nullptr && n.reg->irq_role != IrqRole::kNone) continue;
      line("{}- name: {}", pad, n.name());
      line("{}  offset: {}", pad, num(n.offset));
      const bool alone = n.reg != nullptr && !n.reg->count_param.empty();
      if (n.dim) {
        line("{}  count: {}", pad, alone ? n.reg->count_param : num(n.dim->count));
        line("{}  stride: {}", pad, num(n.dim->stride));
      }
      const auto& desc = n.reg != nullptr ? n.reg->desc : n.file->desc;
      if (!desc.empty()) line("{}  desc: {}", pad, quoted(desc));
      if (n.file != nullptr) {
        line("{}  registers:", pad);
        nodes(n.inside, pad + "    ");
        continue;
      }
      if (n.reg->width != 32) line("{}  width: {}", pad, n.reg->width);
      if (!n.reg->buffered) line("{}  buffered: false", pad);
      if (n.reg->external) line("{}  external: true", pad);
      line("{}  fields:", pad);
      for (const auto& f : n.reg->fields) line("{}    - {}", pad, field(*n.reg, f));
    }
  }

  static std::string field(const Register& r, const Field& f) {
    Flow o;
    o.add("name", f.name);
    o.add("bits",
          f.width == 1 ? fmt::format("\"{}\"", f.lsb) : fmt::format("\"{}:{}\"", f.msb(), f.lsb));
    o.add("access", std::string(access_name(f.access)));
    if (!r.external) hardware(f, o);
    if (f.is_map_hash) {
      o.add("const", "map_hash");
    } else if (f.is_const || f.reset != 0 || !f.reset_param.empty()) {
      o.add(f.is_const ? "const" : "reset", f.reset_param.empty() ? num(f.reset) : f.reset_param);
    }
    if (f.lock && !r.external) o.add(f.lock->when ? "locked_by" : "enabled_by", f.lock->by);
    o.word("enum", f.enum_name);
    o.text("unit", f.unit);
    o.text("desc", f.desc);
    return o.str();
  }

  static void hardware(const Field& f, Flow& o) {
    const bool usual = f.is_const || hw_text(f.hw) == "out";
    if (!usual) {
      auto words = hw_text(f.hw);
      const bool many = words.find(' ') != std::string::npos;
      for (std::size_t i = 0; (i = words.find(' ', i)) != std::string::npos; i += 2) {
        words.replace(i, 1, ", ");
      }
      o.add("hw", many ? "[" + words + "]" : words);
    }
    if (f.counter) counter(f, o);
    if (f.collision == Collision::kSoftware) o.add("collision", "software");
  }

  static void counter(const Field& f, Flow& o) {
    const auto& c = *f.counter;
    Flow k;
    k.add("incr", num(c.incr_width));
    k.add("decr", num(c.decr_width));
    if (c.saturate) k.add("saturate", c.max == ones(f.width) ? "true" : num(c.max));
    if (c.threshold) k.add("threshold", num(*c.threshold));
    o.add("counter", k.str());
  }

  void windows(const Block& b) {
    if (!b.windows.empty()) line("    windows:");
    for (const auto& w : b.windows) {
      Flow f;
      f.add("name", w.name);
      f.add("offset", num(w.offset));
      f.add("size", num(w.size));
      f.add("access", w.writable ? "rw" : "ro");
      if (!w.decoded_by.empty()) f.add("decoded_by", scalar(w.decoded_by));
      if (w.holds_counters) f.add("holds", "counters");
      f.text("desc", w.desc);
      line("      - {}", f.str());
    }
  }

  void interrupts(const Block& b) {
    if (!b.interrupts.empty()) line("    interrupts:");
    for (const auto& i : b.interrupts) {
      line("      - name: {}", i.name);
      line("        offset: {}", num(i.offset));
      if (!i.desc.empty()) line("        desc: {}", quoted(i.desc));
      line("        sources:");
      for (const auto& s : i.sources) {
        Flow f;
        f.add("name", s.name);
        f.add("kind", std::string(irq_kind_name(s.kind)));
        f.text("desc", s.desc);
        line("          - {}", f.str());
      }
    }
  }

  void descriptor(const Descriptor& d) {
    line("  - name: {}", d.name);
    line("    size: {}", num(d.size));
    if (!d.desc.empty()) line("    desc: {}", quoted(d.desc));
    if (!d.head.empty()) line("    head: {}", d.head);
    const auto* head = d.head.empty() ? nullptr : find_descriptor(map_, d.head);
    std::vector<const DescField*> own;
    for (const auto& f : d.fields) {
      const bool of_head =
          head != nullptr && std::any_of(head->fields.begin(), head->fields.end(),
                                         [&](const DescField& x) { return x.name == f.name; });
      if (!of_head) own.push_back(&f);
    }
    line(own.empty() ? "    fields: []" : "    fields:");
    for (const auto* f : own) line("      - {}", desc_field(*f));
    if (!d.unions.empty()) line("    unions:");
    for (const auto& u : d.unions) {
      line("      - by: {}", u.by);
      line("        variants:");
      for (const auto& v : u.variants) variant(v);
    }
  }

  void variant(const Variant& v) {
    line("          - name: {}", v.name);
    line("            when: [{}]", fmt::join(v.when_names, ", "));
    if (!v.desc.empty()) line("            desc: {}", quoted(v.desc));
    line(v.fields.empty() ? "            fields: []" : "            fields:");
    for (const auto& f : v.fields) line("              - {}", desc_field(f));
  }

  static std::string desc_field(const DescField& f) {
    Flow o;
    o.add("name", f.name);
    if (f.sv_name != f.name) o.add("sv_name", f.sv_name);
    o.add("at", num(f.bit / 8));
    if (f.bit % 8 != 0) o.add("bit", num(f.bit % 8));
    o.add("width", fmt::format("{}", f.width));
    if (f.bytes) o.add("bytes", "true");
    o.word("enum", f.enum_name);
    o.text("unit", f.unit);
    o.text("desc", f.desc);
    return o.str();
  }

  const Map& map_;
};

}  // namespace

std::string write_yaml(const Map& map) { return Yaml(map).run(); }

}  // namespace rnic::regs
