// SPDX-License-Identifier: Apache-2.0
//
// A Python module: the classes of runtime/reg_py.py, then the map as tables that they work on.
#include "outputs.hpp"
#include "runtime.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

std::string_view write_word(OnWrite w) {
  switch (w) {
    case OnWrite::kNone:
      return "none";
    case OnWrite::kStore:
      return "store";
    case OnWrite::kOneClear:
      return "one_clear";
    case OnWrite::kOneSet:
      return "one_set";
    case OnWrite::kOneToggle:
      return "one_toggle";
    case OnWrite::kZeroClear:
      return "zero_clear";
    case OnWrite::kZeroSet:
      return "zero_set";
    case OnWrite::kZeroToggle:
      return "zero_toggle";
    case OnWrite::kClear:
      return "clear";
    case OnWrite::kSet:
      return "set";
    case OnWrite::kPulse:
      break;
  }
  return "pulse";
}

std::string_view read_word(OnRead r) {
  return r == OnRead::kClear ? "clear" : r == OnRead::kSet ? "set" : "none";
}

std::string py_text(std::string_view s) {
  std::string r = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') r += '\\';
    r += c;
  }
  return r + "\"";
}

class Python : private Lines {
 public:
  explicit Python(const Map& map) : map_(map) {}

  std::string run() {
    line("# SPDX-License-Identifier: Apache-2.0");
    line("# {}", generated_note(map_));
    raw(std::string(kRegPyText.substr(kRegPyText.find('\n') + 1)));
    line("");
    line("");
    access_table();
    line("");
    line("MAP_NAME = \"{}\"", map_.name);
    line("MAP_VERSION = ({}, {}, {})", map_.major, map_.minor, map_.patch);
    line("MAP_HASH = {:#010x}", map_.hash);
    constants();
    for (const auto& e : map_.enums) enumeration(e);
    counters();
    for (const auto& b : map_.blocks) block(b);
    for (const auto& d : map_.descriptors) descriptor(d);
    return take();
  }

 private:
  void access_table() {
    line("_ACCESS = {  # a read shows the value, what a write does, what a read does");
    for (const auto& a : all_access()) {
      line("    \"{}\": ({}, \"{}\", \"{}\"),", a.name, a.readable ? "True" : "False",
           write_word(a.on_write), read_word(a.on_read));
    }
    line("}");
  }

  void constants() {
    if (map_.constants.empty()) return;
    line("");
    line("");
    line("class Constants:");
    line("    \"Constants and parameters of the map.\"");
    line("");
    for (const auto& c : map_.constants) {
      line("    {} = {:#x}{}", c.name, c.value, c.desc.empty() ? "" : "  # " + c.desc);
    }
  }

  // What the map says, or the name, is the docstring.
  template <typename Named>
  void class_head(const std::string& name, std::string_view base, const Named& x) {
    line("");
    line("");
    line("class {}({}):", name, base);
    line("    {}", py_text(x.desc.empty() ? x.name : x.desc));
    line("");
  }

  static std::string enum_class(const Enum& e) { return to_camel(e.name) + "Enum"; }
  [[nodiscard]] std::string enum_ref(const std::optional<std::size_t>& index) const {
    return index ? enum_class(map_.enums[*index]) : "None";
  }

  void enumeration(const Enum& e) {
    class_head(enum_class(e), "enum.IntEnum", e);
    for (const auto& v : e.values) line("    {} = {:#x}", v.name, v.value);
  }

  void counters() {
    if (map_.counters.empty()) return;
    line("");
    line("COUNTERS = (");
    for (const auto& c : map_.counters) line("    \"{}\",", c.name);
    line(")");
  }

  void block(const Block& b) {
    class_head(to_camel(b.name) + "Block", "Block", b);
    line("    NAME, BAR, SIZE, STRIDE = \"{}\", {}, {:#x}, {:#x}", b.name, b.bar, b.size, b.stride);
    line(
        "    # name, offset, width, dims, fields (name, lsb, width, access, reset, enum, flags; u: "
        "a");
    line("    # write of what was read before could undo something)");
    line("    _REGISTERS = (");
    for (const auto& r : b.registers) reg(r);
    line("    )");
    line("    _WINDOWS = (  # name, offset, size, writable");
    for (const auto& w : b.windows) {
      line("        (\"{}\", {:#x}, {:#x}, {}),", w.name, w.offset, w.size,
           w.writable ? "True" : "False");
    }
    line("    )");
    special(b);
  }

  void special(const Block& b) {
    for (const auto& r : b.registers) {
      for (const auto& f : r.fields) {
        if (f.is_map_hash && r.dims.empty()) {
          line("    _HASH = (\"{}\", \"{}\")", r.name, f.name);
        }
      }
    }
    for (const auto& w : b.windows) {
      if (w.holds_counters) line("    _COUNTERS = \"{}\"", w.name);
    }
  }

  void reg(const Register& r) {
    std::string dims;
    for (const auto& d : r.dims) dims += fmt::format("({}, {:#x}), ", d.count, d.stride);
    line("        (\"{}\", {:#x}, {}, ({}), (", r.name, r.offset, r.width, dims);
    for (const auto& f : r.fields) {
      const bool undo = access_info(f.access).on_write == OnWrite::kStore && f.rmw_hurts();
      line("            (\"{}\", {}, {}, \"{}\", {:#x}, {}, \"{}\"),", f.name, f.lsb, f.width,
           access_name(f.access), f.reset, enum_ref(f.enum_index), undo ? "u" : "");
    }
    line("        )),");
  }

  void desc_fields(const std::vector<DescField>& fields, const char* indent) {
    for (const auto& f : fields) {
      line("{}(\"{}\", {}, {}, {}, {}),", indent, f.name, f.bit, f.width,
           f.bytes ? "True" : "False", enum_ref(f.enum_index));
    }
  }

  void descriptor(const Descriptor& d) {
    class_head(to_camel(d.name) + "Desc", "Descriptor", d);
    line("    NAME, SIZE = \"{}\", {}", d.name, d.size);
    line("    _FIELDS = (  # name, first bit, width, byte string, enum");
    desc_fields(d.fields, "        ");
    line("    )");
    if (d.unions.empty()) return;
    line("    _UNIONS = (");
    for (const auto& u : d.unions) {
      line("        (\"{}\", (", u.by);
      for (const auto& v : u.variants) {
        std::string when;
        for (const auto w : v.when) when += fmt::format("{:#x}, ", w);
        line("            (\"{}\", ({}), (", v.name, when);
        desc_fields(v.fields, "                ");
        line("            )),");
      }
      line("        )),");
    }
    line("    )");
  }

  const Map& map_;
};

}  // namespace

void out_py(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.py", Python(map).run()});
}

}  // namespace rnic::regs
