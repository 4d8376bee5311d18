// SPDX-License-Identifier: Apache-2.0
//
// The register file with its hardware side in packed structs: <map>_<block>_ports_pkg.sv, the
// module <map>_<block>_st around the flat one, and its pins for the bench.
#include <map>

#include "keywords.hpp"
#include "outputs.hpp"
#include "ports.hpp"
#include "sv_header.hpp"
#include "text.hpp"
#include "wrap.hpp"

namespace rnic::regs {
namespace {

std::string safe(const std::string& name, const char* tail) {
  return is_sv_keyword(name) ? name + tail : name;
}

// A port of the flat module as a member of a struct.
struct Member {
  const Port* port;
  std::size_t number;  // of the port
  std::string name;
  std::uint64_t width;    // of all elements
  std::uint64_t lsb = 0;  // in the outer struct
};

// The struct of a register, an interrupt group, a window.
struct Group {
  std::string name;  // member of the outer struct
  std::vector<Member> members;
};

// One direction.
struct Side {
  const char* type;  // hw2reg
  bool output;
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;  // of their names

  [[nodiscard]] std::string port() const { return fmt::format("{}_{}", type, output ? "o" : "i"); }
};

// Whose ports depend on a parameter of the module: no struct can hold them.
bool is_flat(const Port& p) {
  return p.reg != nullptr && !p.reg->external && !p.reg->count_param.empty();
}

class Structs {
 public:
  Structs(const Map& map, const Block& b)
      : map_(map), b_(b), name_(fmt::format("{}_{}", map.name, b.name)), ports_(ports_of(b)) {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (!is_flat(ports_[i])) add(ports_[i], i);
    }
    for (auto& s : sides_) place(s);
  }

  void run(OutFiles& files) {
    if (!sides_[0].groups.empty() || !sides_[1].groups.empty()) {
      files.push_back({OutDir::kRtl, name_ + "_ports_pkg.sv", wrap_sv(package())});
    }
    files.push_back({OutDir::kRtl, name_ + "_st.sv", wrap_sv(module())});
    files.push_back({OutDir::kSoftware, name_ + "_st_pins.hpp", pins()});
  }

 private:
  static std::string stem_of(const Port& p) {
    if (p.interrupt != nullptr) return to_lower(p.interrupt->name);
    return to_lower(p.window != nullptr ? p.window->name : p.reg->name);
  }

  void add(const Port& p, std::size_t number) {
    auto& side = sides_[p.output ? 1 : 0];
    const auto stem = stem_of(p);
    const auto group = safe(stem, "_reg");
    const auto [it, fresh] = side.index.try_emplace(group, side.groups.size());
    if (fresh) side.groups.push_back({group, {}});
    // Without the register in front and _i or _o behind.
    const auto member = p.name.substr(stem.size() + 1, p.name.size() - stem.size() - 3);
    side.groups[it->second].members.push_back(
        {&p, number, safe(member, "_val"), p.width * p.count});
  }

  // The first member of a packed struct is its most significant.
  static void place(Side& s) {
    std::uint64_t lsb = 0;
    for (auto g = s.groups.rbegin(); g != s.groups.rend(); ++g) {
      for (auto m = g->members.rbegin(); m != g->members.rend(); ++m) {
        m->lsb = lsb;
        lsb += m->width;
      }
    }
  }

  std::string package() {
    Lines t;
    t.line("// SPDX-License-Identifier: Apache-2.0");
    t.line("// {}", generated_note(map_));
    t.line("//");
    t.line(
        "// The hardware side of {} in structs: hw2reg_t goes into the register file, reg2hw_t "
        "comes out. An array is one vector; element i of W bits is [i*W +: W].",
        name_);
    t.line("package {}_ports_pkg;", name_);
    for (const auto& s : sides_) side_types(s, t);
    t.line("");
    t.line("endpackage");
    return t.take();
  }

  static void side_types(const Side& s, Lines& t) {
    for (const auto& g : s.groups) {
      t.line("");
      t.line("  typedef struct packed {");
      for (const auto& m : g.members) {
        t.line("    logic {}{};{}", sv_range(m.width), m.name,
               m.port->count == 1 ? "" : fmt::format("  // {} elements", m.port->count));
      }
      t.line("  }} {}_{}_t;", g.name, s.type);
    }
    if (s.groups.empty()) return;
    t.line("");
    t.line("  typedef struct packed {");
    for (const auto& g : s.groups) t.line("    {}_{}_t {};", g.name, s.type, g.name);
    t.line("  }} {}_t;", s.type);
  }

  static std::string flat_range(const Port& p) {
    const auto& n = p.reg->count_param;
    return p.width == 1 ? fmt::format("[{}-1:0] ", n) : fmt::format("[{}*{}-1:0] ", n, p.width);
  }

  std::string module() {
    const auto parameters = sv_parameters(map_, b_);
    const auto bus = sv_bus_ports(b_.addr_bits());
    Lines t;
    t.line("// SPDX-License-Identifier: Apache-2.0");
    t.line("// {}", generated_note(map_));
    t.line("//");
    t.line(
        "// {} with its hardware side in structs of {}_ports_pkg; ports whose size depends on a "
        "parameter stay vectors. Wires only: timing and order are those of {}.",
        name_, name_, name_);
    t.raw(sv_module_head(name_ + "_st", parameters));
    for (const auto& p : bus) {
      t.line("  {} logic {}{},", p.output ? "output" : "input ", sv_range(p.width), p.name);
    }
    for (const auto& s : sides_) {
      if (s.groups.empty()) continue;
      t.line("  {} {}_ports_pkg::{}_t {},", s.output ? "output" : "input ", name_, s.type,
             s.port());
    }
    for (const auto& p : ports_) {
      if (!is_flat(p)) continue;
      t.line("  {} logic {}{},", p.output ? "output" : "input ", flat_range(p), p.name);
    }
    t.line("  output logic bad_access_pulse_o");
    t.line(");");
    instance(parameters, bus, t);
    t.line("");
    t.line("endmodule");
    return t.take();
  }

  void instance(const std::vector<SvParameter>& parameters, const std::vector<SvBusPort>& bus,
                Lines& t) {
    t.line("");
    if (parameters.empty()) {
      t.line("  {} u_regs (", name_);
    } else {
      t.line("  {} #(", name_);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        t.line("    .{}({}){}", parameters[i].name, parameters[i].name,
               i + 1 == parameters.size() ? "" : ",");
      }
      t.line("  ) u_regs (");
    }
    for (const auto& p : bus) t.line("    .{},", p.name);
    for (const auto& s : sides_) {
      for (const auto& g : s.groups) {
        for (const auto& m : g.members) {
          t.line("    .{}({}.{}.{}),", m.port->name, s.port(), g.name, m.name);
        }
      }
    }
    for (const auto& p : ports_) {
      if (is_flat(p)) t.line("    .{},", p.name);
    }
    t.line("    .bad_access_pulse_o");
    t.line("  );");
  }

  std::string pins() {
    Lines t;
    t.line("// SPDX-License-Identifier: Apache-2.0");
    t.line("// {}", generated_note(map_));
    t.line("//");
    t.line("// Pins of the Verilated {}_st by number of the port of {}, for regmodel::Bench.",
           name_, name_);
    t.line("#pragma once");
    t.line("");
    t.line("#include \"{}_model.hpp\"", name_);
    t.line("#include \"reg_bench.hpp\"");
    t.line("");
    t.line("namespace regmodel {");
    t.line("");
    t.line("template <class Top>");
    t.line("struct {}_st_pins {{", name_);
    t.line("  static BlockInfo block() {{ return {}(); }}", name_);
    t.line(
        "  static void set([[maybe_unused]] Top& t, std::size_t port, [[maybe_unused]] unsigned "
        "i,");
    t.line("                  [[maybe_unused]] std::uint64_t v) {");
    cases(sides_[0], t);
    t.line("      default: break;");
    t.line("    }");
    t.line("  }");
    t.line(
        "  static std::uint64_t get([[maybe_unused]] Top& t, std::size_t port, [[maybe_unused]] "
        "unsigned i) {");
    cases(sides_[1], t);
    t.line("      default: return 0;");
    t.line("    }");
    t.line("  }");
    t.line("};");
    t.line("");
    t.line("}  // namespace regmodel");
    return t.take();
  }

  void cases(const Side& s, Lines& t) {
    const auto one = [&](std::size_t number, const std::string& pin, std::uint64_t base,
                         unsigned width) {
      if (s.output) {
        t.line("      case {}: return get_bits(t.{}, {} + i * {}, {});", number, pin, base, width,
               width);
      } else {
        t.line("      case {}: set_bits(t.{}, {} + i * {}, {}, v); break;", number, pin, base,
               width, width);
      }
    };
    t.line("    switch (port) {");
    for (const auto& g : s.groups) {
      for (const auto& m : g.members) one(m.number, s.port(), m.lsb, m.port->width);
    }
    for (std::size_t k = 0; k < ports_.size(); ++k) {
      if (is_flat(ports_[k]) && ports_[k].output == s.output) {
        one(k, ports_[k].name, 0, ports_[k].width);
      }
    }
  }

  const Map& map_;
  const Block& b_;
  std::string name_;
  std::vector<Port> ports_;
  Side sides_[2] = {{"hw2reg", false, {}, {}}, {"reg2hw", true, {}, {}}};
};

}  // namespace

void out_structs(const Map& map, OutFiles& files) {
  for (const auto& b : map.blocks) {
    if (b.generated) Structs(map, b).run(files);
  }
}

}  // namespace rnic::regs
