// SPDX-License-Identifier: Apache-2.0
//
// The register map in memory: what the loader makes of the YAML and what every emitter reads.
//
//   Diagnostics diags(path);
//   std::optional<Map> map = load_map_file(path, diags);
//   if (!map) std::cerr << diags.text();
//
// Offsets and sizes are bytes, positions of fields are bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag.hpp"

namespace rnic::regs {

struct Constant {
  std::string name;
  std::uint64_t value = 0;
  std::string desc;
  SourcePos pos;
};

struct EnumValue {
  std::string name;
  std::uint64_t value = 0;
  SourcePos pos;
};

struct Enum {
  std::string name;
  std::string desc;
  unsigned width = 0;  // of the constants in SystemVerilog; given, of the fields, or the least
  bool width_given = false;
  std::vector<EnumValue> values;
  SourcePos pos;
};

// What software sees.
enum class Access {
  kRw,     // read, write
  kRo,     // read only: a constant or a hardware input
  kWt,     // write-triggered: stored, and the write raises one pulse
  kPulse,  // a written 1 is a pulse of one cycle; reads 0
  kW1c,    // hardware sets, software clears with 1; set wins per bit
};

// What hardware sees.
enum class Hw {
  kOut,    // value out
  kIn,     // value in, live
  kSet,    // set pulses in, value out
  kInOut,  // written value and write pulse out, current value in
  kConst,  // nothing: a constant
};

struct Field {
  std::string name;
  std::string desc;
  unsigned lsb = 0;
  unsigned width = 1;
  Access access = Access::kRw;
  Hw hw = Hw::kOut;
  std::uint64_t reset = 0;   // also the value of a constant
  bool is_map_hash = false;  // the constant is the hash of this map
  std::optional<std::size_t> enum_index;
  std::string unit;
  SourcePos pos;

  [[nodiscard]] unsigned msb() const { return lsb + width - 1; }
  [[nodiscard]] bool writable() const { return access != Access::kRo; }
};

struct Register {
  std::string name;
  std::string desc;
  std::uint64_t offset = 0;
  unsigned width = 32;  // 32 or 64
  std::uint64_t count = 1;
  bool is_array = false;
  std::uint64_t stride = 0;
  std::vector<Field> fields;
  SourcePos pos;

  [[nodiscard]] std::uint64_t element_offset(std::uint64_t i) const { return offset + i * stride; }
  [[nodiscard]] std::uint64_t reset_value() const;
  [[nodiscard]] bool writable() const;
};

struct Window {
  std::string name;
  std::string desc;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool writable = true;
  bool holds_counters = false;
  std::string decoded_by;  // empty: a port of the generated register file
  SourcePos pos;
};

enum class BadAccess { kAllOnes, kSlverr };

struct Block {
  std::string name;
  std::string desc;
  unsigned bar = 0;
  std::uint64_t size = 0;
  std::uint64_t stride = 0;  // of repeated blocks, 0 when there is one
  bool generated = false;    // a register file is generated
  std::string decoded_by;    // who decodes it otherwise
  BadAccess bad_access = BadAccess::kAllOnes;
  std::optional<std::size_t> capture;  // register that holds the first bad access
  std::vector<Register> registers;
  std::vector<Window> windows;
  SourcePos pos;

  [[nodiscard]] unsigned addr_bits() const;
};

struct Counter {
  std::string name;
  std::string desc;
  SourcePos pos;
};

struct DescField {
  std::string name;
  std::string sv_name;  // name in SystemVerilog, where `name` is a keyword there
  std::string desc;
  unsigned bit = 0;  // from byte 0, bit 0
  unsigned width = 1;
  bool bytes = false;  // a byte string in wire order
  std::optional<std::size_t> enum_index;
  std::string unit;
  SourcePos pos;

  [[nodiscard]] unsigned end() const { return bit + width; }
};

struct Descriptor {
  std::string name;
  std::string desc;
  std::string head;  // descriptor whose fields come first, or empty
  std::uint64_t size = 0;
  std::size_t n_head_fields = 0;
  std::vector<DescField> fields;  // head's fields included, in order of position
  SourcePos pos;
};

struct Map {
  std::string name;
  std::string desc;
  unsigned major = 0, minor = 0, patch = 0;
  std::uint32_t hash = 0;
  std::vector<Constant> constants;
  std::vector<Enum> enums;
  std::vector<Block> blocks;
  std::vector<Counter> counters;
  std::vector<Descriptor> descriptors;
};

// Reads and checks a map. Nothing when there was an error; all problems are in `diags`.
std::optional<Map> load_map_file(const std::string& path, Diagnostics& diags);
std::optional<Map> load_map_text(const std::string& text, Diagnostics& diags);

// FNV-1a (32 bit) over what software and hardware must agree on: names, places, access, resets,
// values. Descriptions do not count.
std::uint32_t map_hash(const Map& map);

[[nodiscard]] std::string_view access_name(Access access);
[[nodiscard]] std::string_view hw_name(Hw hw);
[[nodiscard]] std::string to_upper(std::string_view s);
[[nodiscard]] std::string to_lower(std::string_view s);
// "path_mtu" or "PATH_MTU" to "PathMtu".
[[nodiscard]] std::string to_camel(std::string_view s);
[[nodiscard]] std::uint64_t ones(unsigned width);

}  // namespace rnic::regs
