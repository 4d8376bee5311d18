// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "outputs.hpp"
#include "suggest.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

std::string cell(const std::string& s) {
  std::string r;
  for (const char c : s) {
    if (c == '|') r += '\\';
    r += c;
  }
  return r;
}

std::string bits(unsigned msb, unsigned lsb) {
  return msb == lsb ? fmt::format("{}", lsb) : fmt::format("{}:{}", msb, lsb);
}

class Markdown : private Lines {
 public:
  explicit Markdown(const Map& map) : map_(map) {}

  std::string run() {
    line("<!-- SPDX-License-Identifier: Apache-2.0 -->");
    line("<!-- {} -->", generated_note(map_));
    line("# {} registers and descriptors", map_.name);
    line("");
    line("{} Version {}.{}.{}, map hash `0x{:08x}`.", map_.desc, map_.major, map_.minor, map_.patch,
         map_.hash);
    line("");
    line(
        "Access: `rw` read and write; `ro` read only; `wt` write-triggered (the write itself "
        "acts); `pulse` a");
    line(
        "written 1 acts once, reads 0; `w1c` hardware sets, software clears by writing 1, setting "
        "wins. A");
    line(
        "64-bit register: reading the low word takes a snapshot of the high one; a write commits "
        "with the high word.");
    other_access();
    constants();
    for (const auto& b : map_.blocks) block(b);
    counters();
    enums();
    for (const auto& d : map_.descriptors) descriptor(d);
    return take();
  }

 private:
  // The types of access that the lines above do not explain.
  void other_access() {
    std::set<Access> used;
    for (const auto& b : map_.blocks) {
      for (const auto& r : b.registers) {
        for (const auto& f : r.fields) used.insert(f.access);
      }
    }
    for (const auto a : {Access::kRw, Access::kRo, Access::kWt, Access::kPulse, Access::kW1c}) {
      used.erase(a);
    }
    if (!used.empty()) line("");
    for (const auto a : used) line("* `{}` {}", access_name(a), access_info(a).text);
  }

  void constants() {
    if (map_.constants.empty()) return;
    line("");
    line("## Constants");
    line("");
    line("| name | value | meaning |");
    line("|---|---|---|");
    for (const auto& c : map_.constants) {
      line("| {} | 0x{:x} ({}) | {} |", c.name, c.value, c.value, cell(c.desc));
    }
  }

  void block(const Block& b) {
    line("");
    line("## Block {} (BAR{}, {:#x} bytes{})", b.name, b.bar, b.size,
         b.stride != 0 ? fmt::format(", repeated every {:#x}", b.stride) : "");
    line("");
    line("{}", b.desc);
    line("");
    line("| offset | name | bits | access | reset | meaning |");
    line("|---|---|---|---|---|---|");
    for (const auto& r : b.registers) {
      line("| 0x{:05x} | **{}**{} | {} |  | 0x{:x} | {} |", r.offset, r.name, repetition(r),
           bits(r.width - 1, 0), r.reset_value(), cell(r.desc));
      for (const auto& f : r.fields) {
        line("| | {} | {} | {}{} | {} | {}{}{}{} |", f.name, bits(f.msb(), f.lsb),
             access_name(f.access), f.is_const ? ", constant" : "",
             f.hw.in || f.hw.inout ? "hardware" : fmt::format("0x{:x}", f.reset), cell(f.desc),
             f.unit.empty() ? "" : fmt::format(" Unit: {}.", f.unit),
             f.enum_index ? fmt::format(" See {}.", map_.enums[*f.enum_index].name) : "", more(f));
      }
    }
    if (b.windows.empty()) return;
    line("");
    line("| offset | window | bytes | access | meaning |");
    line("|---|---|---|---|---|");
    for (const auto& w : b.windows) {
      line("| 0x{:05x} | {} | 0x{:x} | {} | {} |", w.offset, w.name, w.size,
           w.writable ? "rw" : "ro", cell(w.desc));
    }
  }

  static std::string repetition(const Register& r) {
    std::string s;
    for (const auto& d : r.dims) s += fmt::format(" [{}], stride {:#x}", d.count, d.stride);
    if (r.external) s += ", external";
    if (r.width == 64 && !r.buffered) s += ", two words on their own";
    return s;
  }

  // What the access type does not say already.
  static std::string more(const Field& f) {
    std::string s;
    if (f.collision == Collision::kSoftware) s += " Software acts on top of hardware.";
    if (f.counter) {
      s += f.counter->saturate ? fmt::format(" Counts, saturates at {:#x}.", f.counter->max)
                               : " Counts, wraps.";
    }
    if (f.lock) {
      s += fmt::format(" Writable only while {} is {}.", f.lock->by, f.lock->when ? 0 : 1);
    }
    return s;
  }

  void counters() {
    if (map_.counters.empty()) return;
    line("");
    line("## Counters");
    line("");
    line("| index | name | meaning |");
    line("|---|---|---|");
    for (std::size_t i = 0; i < map_.counters.size(); ++i) {
      line("| {} | {} | {} |", i, map_.counters[i].name, cell(map_.counters[i].desc));
    }
  }

  void enums() {
    if (map_.enums.empty()) return;
    line("");
    line("## Enumerations");
    for (const auto& e : map_.enums) {
      line("");
      line("**{}**: {}", e.name, e.desc);
      line("");
      line("| value | name |");
      line("|---|---|");
      for (const auto& v : e.values) line("| 0x{:02x} | {} |", v.value, v.name);
    }
  }

  void descriptor(const Descriptor& d) {
    line("");
    line("## Descriptor {} ({} bytes)", d.name, d.size);
    line("");
    line("{}{} Little-endian.", d.desc,
         d.head.empty() ? "" : fmt::format(" Begins with the fields of {}.", d.head));
    line("");
    line("| byte | bit | width | field | meaning |");
    line("|---|---|---|---|---|");
    fields(d.fields);
    for (const auto& u : d.unions) {
      for (const auto& v : u.variants) {
        const auto when = join(v.when_names);
        line("");
        line("**{}** when {} is {}. {}", v.name, u.by, when, v.desc);
        line("");
        line("| byte | bit | width | field | meaning |");
        line("|---|---|---|---|---|");
        fields(v.fields);
      }
    }
  }

  void fields(const std::vector<DescField>& list) {
    for (const auto& f : list) {
      line("| {} | {} | {} | {} | {}{}{}{} |", f.bit / 8, f.bit % 8, f.width, f.name, cell(f.desc),
           f.unit.empty() ? "" : fmt::format(" Unit: {}.", f.unit),
           f.enum_index ? fmt::format(" See {}.", map_.enums[*f.enum_index].name) : "",
           f.bytes ? " Bytes in wire order." : "");
    }
  }

  const Map& map_;
};

}  // namespace

void out_md(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.md", Markdown(map).run()});
}

}  // namespace rnic::regs
