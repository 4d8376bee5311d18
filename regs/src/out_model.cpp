// SPDX-License-Identifier: Apache-2.0
//
// The C++ reference of each generated register file: tables of the block for the engine in
// reg_model.hpp, which is written beside them.
#include "outputs.hpp"
#include "ports.hpp"
#include "runtime.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

class ModelTables : private Lines {
 public:
  ModelTables(const Map& map, const Block& b) : map_(map), b_(b), remotes_(remotes_of(b)) {}

  std::string run() {
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    line("//");
    line("// Tables of block {} for the reference model: {}", b_.name, b_.desc);
    line("#pragma once");
    line("");
    line("#include \"reg_model.hpp\"");
    line("");
    line("namespace regmodel {");
    line("");
    line("inline BlockInfo {}_{}() {{", map_.name, b_.name);
    line("  BlockInfo b{{\"{}\", {}, {}, {}, {{}}, {{}}, {{}}, {{}}}};", b_.name, b_.addr_bits(),
         b_.bad_access == BadAccess::kSlverr, b_.pipelined);
    line(
        "  [[maybe_unused]] const auto grid = [](std::uint64_t at, "
        "std::vector<std::pair<std::uint64_t, "
        "std::uint64_t>> dims) {");
    line("    std::vector<std::uint64_t> list = {at};");
    line("    for (const auto& [count, stride] : dims) {");
    line("      std::vector<std::uint64_t> more;");
    line("      for (const auto a : list) {");
    line("        for (std::uint64_t i = 0; i < count; ++i) more.push_back(a + i * stride);");
    line("      }");
    line("      list = more;");
    line("    }");
    line("    return list;");
    line("  };");
    for (const auto& r : b_.registers) reg(r);
    for (const auto& r : remotes_) {
      line("  b.remotes.push_back({{\"{}\", {}, {}, 0x{:x}, 0x{:x}, {}, {}}});", r.name, r.readable,
           r.writable, r.offset, r.span, r.addr_width, r.window != nullptr);
    }
    for (const auto& g : b_.interrupts) group(g);
    for (const auto& p : ports_of(b_)) port(p);
    line("  return b;");
    line("}");
    line("");
    line("}  // namespace regmodel");
    return take();
  }

 private:
  int remote_of(const Register& r) const {
    for (std::size_t k = 0; k < remotes_.size(); ++k) {
      if (remotes_[k].reg == &r) return static_cast<int>(k);
    }
    return -1;
  }

  void reg(const Register& r) {
    static constexpr const char* kRoles[] = {"kNone", "kState", "kEnable", "kTest"};
    std::string dims;
    for (const auto& d : r.dims) {
      dims += fmt::format("{}{{{}, 0x{:x}}}", dims.empty() ? "" : ", ", d.count, d.stride);
    }
    line("  b.regs.push_back({{\"{}\", {}, {}, {}, Role::{}, {}, grid(0x{:x}, {{{}}}), {{", r.name,
         r.width, r.buffered, remote_of(r),
         is_capture(b_, r) ? "kCapture" : kRoles[static_cast<std::size_t>(r.irq_role)], r.irq,
         r.offset, dims);
    for (const auto& f : r.fields) field(f);
    line("  }});");
  }

  static std::string letters(const Field& f) {
    std::string s;
    const auto add = [&](bool has, char c) {
      if (has) s += c;
    };
    add(f.hw.out, 'o');
    add(f.hw.in, 'i');
    add(f.hw.write, 'l');
    add(f.hw.set, 's');
    add(f.hw.clear, 'c');
    add(f.hw.inout, 'h');
    add(f.hw.wr_pulse, 'w');
    add(f.hw.rd_pulse, 'r');
    return s;
  }

  void field(const Field& f) {
    CounterSpec none;
    none.incr_width = 0;
    const auto& c = f.counter ? *f.counter : none;
    std::string lock = "{}";
    if (f.lock) {
      lock = fmt::format("{{{}, {}, {}, {}}}", f.lock->reg, f.lock->field, f.lock->when,
                         f.lock->same_element);
    }
    line(
        "      {{\"{}\", {}, {}, Access::k{}, \"{}\", {}, {}, 0x{:x}, {{{}, {}, {}, 0x{:x}, "
        "0x{:x}}}, "
        "{}}},",
        f.name, f.lsb, f.width, to_camel(access_name(f.access)), letters(f),
        f.collision == Collision::kSoftware, f.is_const, f.reset, c.incr_width, c.decr_width,
        c.saturate, c.max, c.threshold.value_or(0), lock);
  }

  void group(const Interrupt& g) {
    std::string kinds;
    for (const auto& s : g.sources) {
      kinds +=
          fmt::format("{}IrqKind::k{}", kinds.empty() ? "" : ", ", to_camel(irq_kind_name(s.kind)));
    }
    line("  b.groups.push_back({{\"{}\", {{{}}}, {}, {}, {}}});", g.name, kinds, g.state, g.enable,
         g.test);
  }

  void port(const Port& p) {
    const auto place = [](const auto& list, const auto* x) {
      return x == nullptr ? -1 : static_cast<int>(x - list.data());
    };
    int index = -1;
    int source = -1;
    if (p.interrupt != nullptr) {
      index = place(b_.interrupts, p.interrupt);
      source = n_source_++;
      if (p.kind == PortKind::kIrq) source = n_source_ = 0;
    }
    if (p.kind >= PortKind::kReq) {
      for (std::size_t k = 0; k < remotes_.size(); ++k) {
        if (remotes_[k].reg == p.reg && remotes_[k].window == p.window) index = static_cast<int>(k);
      }
    }
    static constexpr const char* kKinds[] = {
        "Value", "Live",    "Load",    "LoadWe",  "Set",   "Clear", "Given",   "GivenWe",
        "Held",  "Trigger", "WrPulse", "RdPulse", "Incr",  "Decr",  "Reached", "IrqInput",
        "Irq",   "Req",     "We",      "Addr",    "Wdata", "Wstrb", "Ack",     "Rdata"};
    const int reg = p.kind >= PortKind::kReq ? -1 : place(b_.registers, p.reg);
    const int field = reg < 0 || p.field == nullptr ? -1 : place(p.reg->fields, p.field);
    line("  b.ports.push_back({{\"{}\", PortKind::k{}, {}, {}, {}, {}, {}, {}, {}}});", p.name,
         kKinds[static_cast<std::size_t>(p.kind)], p.output, p.width, p.count, reg, field, index,
         source);
  }

  const Map& map_;
  const Block& b_;
  std::vector<Remote> remotes_;
  int n_source_ = 0;
};

// How the bench reaches the pins of the Verilated model, by number of the port.
class BenchPins : private Lines {
 public:
  BenchPins(const Map& map, const Block& b) : map_(map), b_(b) {}

  std::string pins() {
    const auto stem = fmt::format("{}_{}", map_.name, b_.name);
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    line("//");
    line("// Pins of the Verilated {} by number of the port, for regmodel::Bench.", stem);
    line("#pragma once");
    line("");
    line("#include \"{}_model.hpp\"", stem);
    line("#include \"reg_bench.hpp\"");
    line("");
    line("namespace regmodel {");
    line("");
    line("template <class Top>");
    line("struct {}_pins {{", stem);
    line("  static BlockInfo block() {{ return {}(); }}", stem);
    const auto ports = ports_of(b_);
    line(
        "  static void set([[maybe_unused]] Top& t, std::size_t port, [[maybe_unused]] unsigned "
        "i,");
    line("                  [[maybe_unused]] std::uint64_t v) {");
    line("    switch (port) {");
    for (std::size_t k = 0; k < ports.size(); ++k) {
      if (ports[k].output) continue;
      line("      case {}: set_element(t.{}, i, {}, v); break;", k, ports[k].name, ports[k].width);
    }
    line("      default: break;");
    line("    }");
    line("  }");
    line(
        "  static std::uint64_t get([[maybe_unused]] Top& t, std::size_t port, [[maybe_unused]] "
        "unsigned i) {");
    line("    switch (port) {");
    for (std::size_t k = 0; k < ports.size(); ++k) {
      if (!ports[k].output) continue;
      line("      case {}: return get_element(t.{}, i, {});", k, ports[k].name, ports[k].width);
    }
    line("      default: return 0;");
    line("    }");
    line("  }");
    line("};");
    line("");
    line("}  // namespace regmodel");
    return take();
  }

  std::string program() {
    const auto stem = fmt::format("{}_{}", map_.name, b_.name);
    const bool timeout = !remotes_of(b_).empty();
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    line("//");
    line("// {} in RTL against its reference, at random. Build and run:", stem);
    line("//   verilator --cc --exe --build --assert -Wall {}-CFLAGS -std=c++20 {}.sv {}_bench.cpp",
         timeout ? "-GWINDOW_TIMEOUT=40 " : "", stem, stem);
    line("//   obj_dir/V{} [seed [cycles]]", stem);
    line("#include <cstdio>");
    line("#include <cstdlib>");
    line("");
    line("#include \"V{}.h\"", stem);
    line("#include \"{}_pins.hpp\"", stem);
    line("");
    line("int main(int argc, char** argv) {");
    line("  VerilatedContext context;");
    line("  V{} top(&context);", stem);
    line("  regmodel::Bench<V{}, regmodel::{}_pins<V{}>> bench(top, 40);", stem, stem, stem);
    line("  regmodel::BenchOptions o;");
    line("  if (argc > 1) o.seed = std::strtoull(argv[1], nullptr, 0);");
    line("  if (argc > 2) o.cycles = std::strtoull(argv[2], nullptr, 0);");
    line("  const auto wrong = bench.run(o);");
    line("  const auto missed = bench.uncovered();");
    line("  if (!missed.empty()) std::printf(\"not exercised:\\n%s\", missed.c_str());");
    line("  std::printf(\"%s\\n\", wrong.empty() ? \"agreed\" : wrong.c_str());");
    line("  return wrong.empty() ? 0 : 1;");
    line("}");
    return take();
  }

 private:
  const Map& map_;
  const Block& b_;
};

}  // namespace

void out_model(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, "reg_model.hpp", std::string(kRegModelText)});
  for (const auto& b : map.blocks) {
    if (!b.generated) continue;
    files.push_back({OutDir::kSoftware, fmt::format("{}_{}_model.hpp", map.name, b.name),
                     ModelTables(map, b).run()});
  }
}

void out_bench(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, "reg_bench.hpp", std::string(kRegBenchText)});
  for (const auto& b : map.blocks) {
    if (!b.generated) continue;
    const auto stem = fmt::format("{}_{}", map.name, b.name);
    files.push_back({OutDir::kSoftware, stem + "_pins.hpp", BenchPins(map, b).pins()});
    files.push_back({OutDir::kSoftware, stem + "_bench.cpp", BenchPins(map, b).program()});
  }
}

}  // namespace rnic::regs
