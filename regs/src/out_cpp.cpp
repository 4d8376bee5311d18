// SPDX-License-Identifier: Apache-2.0
#include "outputs.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

constexpr const char* kPrologue = R"(
namespace detail {

template <typename Storage>
constexpr std::uint64_t get_bits(const Storage& s, std::size_t bit, std::size_t width) {
  std::uint64_t v = 0;
  const std::size_t shift = bit % 8;
  const std::size_t n = (shift + width + 7) / 8;
  for (std::size_t i = 0; i < n; ++i) v |= static_cast<std::uint64_t>(s[bit / 8 + i]) << (8 * i);
  return (v >> shift) & (width >= 64 ? ~0ULL : (1ULL << width) - 1);
}

template <typename Storage>
constexpr void set_bits(Storage& s, std::size_t bit, std::size_t width, std::uint64_t value) {
  const std::size_t shift = bit % 8;
  const std::size_t n = (shift + width + 7) / 8;
  const std::uint64_t mask = (width >= 64 ? ~0ULL : (1ULL << width) - 1) << shift;
  for (std::size_t i = 0; i < n; ++i) {
    const auto m = static_cast<std::uint8_t>(mask >> (8 * i));
    const auto v = static_cast<std::uint8_t>((value << shift) >> (8 * i));
    s[bit / 8 + i] = static_cast<std::uint8_t>((s[bit / 8 + i] & ~m) | (v & m));
  }
}

}  // namespace detail

// How decoders see a field: of a register (bit in the register) or of a descriptor (bit from byte 0).
using EnumNameFn = std::string_view (*)(std::uint64_t);
struct FieldInfo {
  std::string_view name;
  unsigned bit;
  unsigned width;
  bool bytes;
  EnumNameFn enum_name;  // nullptr: a number
};

struct RegisterInfo {
  std::string_view name;
  std::string_view block;
  unsigned bar;
  std::uint64_t offset;
  unsigned width;
  std::uint64_t count;
  std::uint64_t stride;
  const FieldInfo* fields;
  std::size_t n_fields;
};

struct DescriptorInfo {
  std::string_view name;
  std::size_t bytes;
  const FieldInfo* fields;
  std::size_t n_fields;
};

// Reads Reg through bus.read32(offset) or bus.read64(offset), lets fn change it and writes it back. Does not compile
// for a register whose fields would be hurt by a read-modify-write (w1c, pulse, write-triggered, live hardware).
template <typename Reg, typename Bus, typename Fn>
void modify(Bus& bus, Fn&& fn, std::uint64_t index = 0) {
  static_assert(Reg::kRmwSafe, "read-modify-write of this register has side effects: write it whole");
  Reg reg;
  if constexpr (Reg::kWidth == 64) {
    reg.raw = bus.read64(Reg::offset(index));
    fn(reg);
    bus.write64(Reg::offset(index), reg.raw);
  } else {
    reg.raw = bus.read32(Reg::offset(index));
    fn(reg);
    bus.write32(Reg::offset(index), reg.raw);
  }
}
)";

class CppHeader : private Lines {
 public:
  explicit CppHeader(const Map& map) : map_(map) {}

  std::string run() {
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    line("//");
    line("// Registers and descriptors in typed C++20, all constexpr, no I/O.");
    line("//");
    if (!map_.descriptors.empty()) {
      const auto cls = to_camel(map_.descriptors.front().name);
      line("//   {}::hw::{} d;                                  // owns its bytes, all zero",
           map_.name, cls);
      line(
          "//   {}::hw::{}Ref r(memory);  {}::hw::{}View v(memory);  // the same in memory of "
          "others",
          map_.name, cls, map_.name, cls);
    }
    line("#pragma once");
    line("");
    line("#include <array>");
    line("#include <cstddef>");
    line("#include <cstdint>");
    line("#include <string_view>");
    line("");
    line("namespace {}::hw {{", map_.name);
    raw(kPrologue);
    line("");
    line("inline constexpr unsigned kVersionMajor = {};", map_.major);
    line("inline constexpr unsigned kVersionMinor = {};", map_.minor);
    line("inline constexpr unsigned kVersionPatch = {};", map_.patch);
    line("inline constexpr std::uint32_t kMapHash = 0x{:08x};", map_.hash);
    line("");
    for (const auto& c : map_.constants) {
      if (!c.desc.empty()) line("// {}", c.desc);
      line("inline constexpr std::uint64_t k{} = 0x{:x};", to_camel(c.name), c.value);
    }
    for (const auto& e : map_.enums) emit_enum(e);
    for (const auto& b : map_.blocks) emit_block(b);
    emit_counters();
    for (const auto& d : map_.descriptors) emit_descriptor(d);
    emit_tables();
    line("");
    line("}}  // namespace {}::hw", map_.name);
    return take();
  }

 private:
  void emit_enum(const Enum& e) {
    const auto cls = to_camel(e.name);
    const unsigned bits = e.width <= 8 ? 8 : e.width <= 16 ? 16 : 32;
    line("");
    line("// {}", e.desc);
    line("enum class {} : std::uint{}_t {{", cls, bits);
    for (const auto& v : e.values) line("  k{} = 0x{:x},", to_camel(v.name), v.value);
    line("};");
    line("constexpr std::string_view {}_name(std::uint64_t v) {{", e.name);
    line("  switch (v) {");
    for (const auto& v : e.values) line("    case 0x{:x}: return \"{}\";", v.value, v.name);
    line("    default: return {};");
    line("  }");
    line("}");
    line("// Empty for a value that has no name.");
    line(
        "constexpr std::string_view to_string({} v) {{ return "
        "{}_name(static_cast<std::uint64_t>(v)); }}",
        cls, e.name);
  }

  static bool rmw_safe(const Register& r) { return r.writable() && !r.rmw_hurts(); }

  std::string value_type(const std::optional<std::size_t>& e, unsigned width) const {
    if (e) return to_camel(map_.enums[*e].name);
    if (width == 1) return "bool";
    return width > 32 ? "std::uint64_t" : "std::uint32_t";
  }

  std::string field_info(const std::string& name, unsigned bit, unsigned width, bool bytes,
                         const std::optional<std::size_t>& e) const {
    return fmt::format("{{\"{}\", {}, {}, {}, {}}}", name, bit, width, bytes ? "true" : "false",
                       e ? "&" + map_.enums[*e].name + "_name" : "nullptr");
  }

  void emit_block(const Block& b) {
    line("");
    line("// Block {}: {}", b.name, b.desc);
    line("namespace {} {{", b.name);
    line("inline constexpr unsigned kBar = {};", b.bar);
    line("inline constexpr std::uint64_t kSize = 0x{:x};", b.size);
    if (b.stride != 0) line("inline constexpr std::uint64_t kStride = 0x{:x};", b.stride);
    for (const auto& r : b.registers) emit_register(r);
    for (const auto& w : b.windows) {
      line("");
      line("// {}", w.desc);
      line("struct {} {{", to_camel(w.name));
      line("  static constexpr std::uint64_t kOffset = 0x{:x};", w.offset);
      line("  static constexpr std::uint64_t kSize = 0x{:x};", w.size);
      line("};");
    }
    line("}}  // namespace {}", b.name);
  }

  void emit_register(const Register& r) {
    const auto cls = to_camel(r.name);
    const auto raw = r.width == 64 ? "std::uint64_t" : "std::uint32_t";
    line("");
    line("// {}", r.desc);
    line("struct {} {{", cls);
    line("  static constexpr std::uint64_t kOffset = 0x{:x};", r.offset);
    line("  static constexpr unsigned kWidth = {};", r.width);
    line("  static constexpr std::uint64_t kCount = {};", r.count);
    line("  static constexpr std::uint64_t kStride = 0x{:x};", r.stride);
    line("  static constexpr bool kRmwSafe = {};", rmw_safe(r) ? "true" : "false");
    line("  static constexpr {} kResetValue = 0x{:x};", raw, r.reset_value());
    if (r.dims.size() < 2) {
      line(
          "  static constexpr std::uint64_t offset(std::uint64_t i = 0) { return kOffset + kStride "
          "* i; }");
    } else {
      emit_offsets(r);
    }
    line("  static constexpr FieldInfo kFields[] = {");
    for (const auto& f : r.fields) {
      line("      {},", field_info(f.name, f.lsb, f.width, false, f.enum_index));
    }
    line("  };");
    line("  {} raw = 0;", raw);
    for (const auto& f : r.fields) {
      const auto type = value_type(f.enum_index, f.width);
      const auto mask = fmt::format("0x{:x}{}", ones(f.width), r.width == 64 ? "ULL" : "U");
      line("  // {} {}", access_name(f.access), f.desc);
      line(
          "  [[nodiscard]] constexpr {} {}() const {{ return static_cast<{}>((raw >> {}) & {}); }}",
          type, f.name, type, f.lsb, mask);
      if (!f.writable()) continue;
      line("  constexpr {}& set_{}({} v) {{", cls, f.name, type);
      line("    raw = (raw & ~({} << {})) | ((static_cast<{}>(v) & {}) << {});", mask, f.lsb, raw,
           mask, f.lsb);
      line("    return *this;");
      line("  }");
    }
    line("};");
  }

  // By all indices, and by the number of the element counted row by row.
  void emit_offsets(const Register& r) {
    std::string args, sum, flat;
    std::uint64_t below = r.count;
    for (std::size_t d = 0; d < r.dims.size(); ++d) {
      below /= r.dims[d].count;
      args += fmt::format("{}std::uint64_t i{}", d == 0 ? "" : ", ", d);
      sum += fmt::format(" + 0x{:x} * i{}", r.dims[d].stride, d);
      flat += fmt::format(" + 0x{:x} * (i / {} % {})", r.dims[d].stride, below, r.dims[d].count);
    }
    line("  static constexpr std::uint64_t offset({}) {{ return kOffset{}; }}", args, sum);
    line("  static constexpr std::uint64_t offset(std::uint64_t i = 0) {{ return kOffset{}; }}",
         flat);
  }

  void emit_counters() {
    if (map_.counters.empty()) return;
    line("");
    line("enum class Counter : std::uint32_t {");
    for (std::size_t i = 0; i < map_.counters.size(); ++i) {
      line("  k{} = {},  // {}", to_camel(map_.counters[i].name), i, map_.counters[i].desc);
    }
    line("};");
    line("inline constexpr std::size_t kNumCounters = {};", map_.counters.size());
    line("inline constexpr std::array<std::string_view, kNumCounters> kCounterNames = {");
    for (const auto& c : map_.counters) line("    \"{}\",", c.name);
    line("};");
  }

  void emit_descriptor(const Descriptor& d) {
    const auto cls = to_camel(d.name);
    line("");
    line("// {}", d.desc);
    line("inline constexpr std::size_t k{}Bytes = {};", cls, d.size);
    line("inline constexpr FieldInfo k{}Fields[] = {{", cls);
    for (const auto& f : d.fields) {
      line("    {},", field_info(f.name, f.bit, f.width, f.bytes, f.enum_index));
    }
    line("};");
    line("template <typename Storage>");
    line("class Basic{} {{", cls);
    line(" public:");
    line("  static constexpr std::size_t kBytes = {};", d.size);
    line("  constexpr Basic{}() = default;", cls);
    line("  constexpr explicit Basic{}(Storage s) : storage_(s) {{}}", cls);
    line("  // The bytes: a std::array, or the pointer given.");
    line("  constexpr Storage& storage() { return storage_; }");
    line("  [[nodiscard]] constexpr const Storage& storage() const { return storage_; }");
    for (const auto& f : d.fields) emit_desc_field(cls, f);
    for (const auto& u : d.unions) {
      for (const auto& v : u.variants) {
        for (auto f : v.fields) {
          f.name = v.name + "_" + f.name;
          emit_desc_field(cls, f);
        }
      }
    }
    line("");
    line(" private:");
    line("  Storage storage_{};");
    line("};");
    line("using {} = Basic{}<std::array<std::uint8_t, k{}Bytes>>;", cls, cls, cls);
    line("using {}Ref = Basic{}<std::uint8_t*>;", cls, cls);
    line("using {}View = Basic{}<const std::uint8_t*>;", cls, cls);
  }

  void emit_desc_field(const std::string& cls, const DescField& f) {
    line("");
    line("  // Byte {}, bit {}, {} bits: {}", f.bit / 8, f.bit % 8, f.width, f.desc);
    if (f.bytes) {
      const unsigned n = f.width / 8;
      line("  [[nodiscard]] constexpr std::array<std::uint8_t, {}> {}() const {{", n, f.name);
      line("    std::array<std::uint8_t, {}> r{{}};", n);
      line("    for (std::size_t i = 0; i < {}; ++i) r[i] = storage_[{} + i];", n, f.bit / 8);
      line("    return r;");
      line("  }");
      line("  constexpr Basic{}& set_{}(const std::array<std::uint8_t, {}>& v) {{", cls, f.name, n);
      line("    for (std::size_t i = 0; i < {}; ++i) storage_[{} + i] = v[i];", n, f.bit / 8);
      line("    return *this;");
      line("  }");
      return;
    }
    const auto type = value_type(f.enum_index, f.width);
    line("  [[nodiscard]] constexpr {} {}() const {{", type, f.name);
    line("    return static_cast<{}>(detail::get_bits(storage_, {}, {}));", type, f.bit, f.width);
    line("  }");
    line("  constexpr Basic{}& set_{}({} v) {{", cls, f.name, type);
    line("    detail::set_bits(storage_, {}, {}, static_cast<std::uint64_t>(v));", f.bit, f.width);
    line("    return *this;");
    line("  }");
  }

  void emit_tables() {
    line("");
    line("inline constexpr RegisterInfo kRegisters[] = {");
    for (const auto& b : map_.blocks) {
      for (const auto& r : b.registers) {
        line("    {{\"{}\", \"{}\", {}, 0x{:x}, {}, {}, 0x{:x}, {}::{}::kFields, {}}},", r.name,
             b.name, b.bar, r.offset, r.width, r.count, r.stride, b.name, to_camel(r.name),
             r.fields.size());
      }
    }
    if (n_registers() == 0) line("    {},");
    line("};");
    line("inline constexpr std::size_t kNumRegisters = {};", n_registers());
    line("inline constexpr DescriptorInfo kDescriptors[] = {");
    for (const auto& d : map_.descriptors) {
      const auto cls = to_camel(d.name);
      line("    {{\"{}\", k{}Bytes, k{}Fields, {}}},", d.name, cls, cls, d.fields.size());
    }
    if (map_.descriptors.empty()) line("    {},");
    line("};");
    line("inline constexpr std::size_t kNumDescriptors = {};", map_.descriptors.size());
  }

  [[nodiscard]] std::size_t n_registers() const {
    std::size_t n = 0;
    for (const auto& b : map_.blocks) n += b.registers.size();
    return n;
  }

  const Map& map_;
};

}  // namespace

void out_cpp(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.hpp", CppHeader(map).run()});
}

}  // namespace rnic::regs
