// SPDX-License-Identifier: Apache-2.0
//
// The register map in memory: what a reader (YAML) fills, what check_map() checks and
// completes, and what every output reads.
//
//   Diagnostics diags(path);
//   std::optional<Map> map = load_map_file(path, diags);
//   if (!map) std::cerr << diags.text();
//
// Offsets and sizes are bytes, positions of fields are bits. Members marked (check) are filled by
// check_map(); a reader leaves them alone. Where something holds an index into a vector of its
// owner, the vector is named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access.hpp"
#include "diag.hpp"

namespace rnic::regs {

// Something with a place in the input, and the places of its keys, for exact messages.
struct Located {
  SourcePos pos;
  std::vector<std::pair<std::string_view, SourcePos>> keys;  // key: a string literal

  // Where `key` was given; the element itself when it was not.
  [[nodiscard]] SourcePos at(std::string_view key) const;
  [[nodiscard]] bool gave(std::string_view key) const;
};

// A number with a name. A parameter may be given from outside (`-D NAME=VALUE`), and stays a
// parameter of the SystemVerilog module where a reset value or a count is just its name.
struct Constant : Located {
  std::string name;  // UPPER_CASE
  std::uint64_t value = 0;
  std::string desc;
  bool is_parameter = false;
  std::optional<std::uint64_t> min, max;
};

struct EnumValue : Located {
  std::string name;  // UPPER_CASE
  std::uint64_t value = 0;
  std::string desc;
};

struct Enum : Located {
  std::string name;  // lower_case
  std::string desc;
  unsigned width = 0;  // of the constants in SystemVerilog: given, or (check) of its fields
  bool width_given = false;
  std::vector<EnumValue> values;
};

// What hardware sees of a field. Ports are <register>_<field> with these endings.
struct HwPorts {
  bool out = false;    // _o: the stored value
  bool in = false;     // _i: read live; nothing is stored
  bool write = false;  // _i with _we_i: hardware writes the whole field
  bool set = false;    // _i (_set_i beside `write` or `clear`): a 1 sets the bit
  bool clear = false;  // _clr_i: a 1 clears the bit
  bool inout = false;  // _o with _we_o: what was written; _i: what is read
  bool wr_pulse =
      false;  // _wr_o: one cycle, as a software write has changed or may have changed it
  bool rd_pulse = false;  // _rd_o: one cycle, as software reads it
};

// Who wins when software and hardware act on a bit in the same cycle. Either way both act where
// they touch different bits.
enum class Collision : std::uint8_t {
  kHardware,  // software first, hardware on top: an event is never lost
  kSoftware,  // hardware first, software on top
};

// A field that counts: ports _incr_i, _decr_i (amounts per cycle), _reached_o (with a threshold).
struct CounterSpec {
  unsigned incr_width = 1;  // 0: it does not count up
  unsigned decr_width = 0;  // 0: it does not count down
  bool saturate = false;    // else it wraps
  std::uint64_t max = 0;    // where it saturates; (check) all ones unless given
  std::optional<std::uint64_t> threshold;
};

// "Writes are ignored while that bit is 1" (locked_by) or "while it is 0" (enabled_by).
struct Lock {
  std::string by;  // "REGISTER.field"; in a register file, of the same element first
  bool when = true;
  std::size_t reg = 0, field = 0;  // (check) in Block::registers, Register::fields
  bool same_element = false;       // (check) bit i locks element i; else one bit locks all
};

struct Field : Located {
  std::string name;  // lower_case
  std::string desc;
  unsigned lsb = 0;
  unsigned width = 1;
  Access access = Access::kRw;
  HwPorts hw;
  Collision collision = Collision::kHardware;
  bool is_const = false;     // reads `reset`
  bool is_map_hash = false;  // the constant is the hash of this map
  std::uint64_t reset = 0;   // also the value of a constant
  std::string reset_param;   // the reset value is this parameter of the module
  std::optional<CounterSpec> counter;
  std::optional<Lock> lock;               // (check) that of the register, where the field has none
  std::string enum_name;                  // or empty
  std::optional<std::size_t> enum_index;  // (check) in Map::enums
  std::string unit;

  [[nodiscard]] unsigned msb() const { return lsb + width - 1; }
  [[nodiscard]] bool readable() const { return access_info(access).readable; }
  [[nodiscard]] bool writable() const { return access_info(access).on_write != OnWrite::kNone; }
  // It has flip-flops of its own.
  [[nodiscard]] bool stored() const { return !is_const && !hw.in; }
  // Hardware can change what is stored.
  [[nodiscard]] bool hw_changes() const {
    return hw.write || hw.set || hw.clear || counter.has_value();
  }
  // A write of what was read before would do harm, or reading alone does.
  [[nodiscard]] bool rmw_hurts() const;
};

// Repetition: element i is `stride` bytes behind element i - 1.
struct Dim {
  std::uint64_t count = 1;
  std::uint64_t stride = 0;
};

// What a register generated for an interrupt group does.
enum class IrqRole : std::uint8_t { kNone, kState, kEnable, kTest };

struct Register : Located {
  std::string name;        // UPPER_CASE, unique in the block: with those of its register files
  std::string local_name;  // as given, without them
  std::string desc;
  std::uint64_t offset = 0;         // of element 0, from the block
  unsigned width = 32;              // 32 or 64
  std::uint64_t count = 1;          // all elements: the product of dims
  bool is_array = false;            // it has dims
  std::uint64_t stride = 0;         // of the innermost dim
  std::vector<Dim> dims;            // outermost first: those of the files, then its own
  std::uint64_t count_max = 1;      // (check) the most that count_param allows, else count
  std::string count_param;          // the count is this parameter of the module (one dim)
  std::optional<std::size_t> file;  // in Block::files
  bool buffered = true;             // 64 bit: snapshot and commit; else two words on their own
  bool external = false;            // a request port instead of flip-flops
  IrqRole irq_role = IrqRole::kNone;
  std::size_t irq = 0;  // in Block::interrupts, with a role
  std::optional<Lock> lock;
  std::vector<Field> fields;

  // Element i, counted row by row over dims.
  [[nodiscard]] std::uint64_t element_offset(std::uint64_t i) const;
  [[nodiscard]] std::uint64_t reset_value() const;
  [[nodiscard]] bool readable() const;
  [[nodiscard]] bool writable() const;
  [[nodiscard]] bool rmw_hurts() const;
  // "[2]", "[1][3]" or nothing.
  [[nodiscard]] std::string element_suffix(std::uint64_t i) const;
};

// A group of registers, perhaps repeated, perhaps in another group. Its registers are in
// Block::registers, already flat; outputs with a hierarchy find it again here.
struct RegFile : Located {
  std::string name;  // with those around it
  std::string local_name;
  std::string desc;
  std::uint64_t offset = 0;  // of element 0, from the block
  std::uint64_t count = 1;
  bool is_array = false;
  std::uint64_t stride = 0;
  std::optional<std::size_t> parent;  // in Block::files
};

struct Window : Located {
  std::string name;  // UPPER_CASE
  std::string desc;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool writable = true;
  bool holds_counters = false;
  std::string decoded_by;  // empty: a port of the generated register file
};

enum class IrqKind : std::uint8_t { kPulse, kRising, kFalling, kBoth, kLevel };

struct IrqSource : Located {
  std::string name;
  std::string desc;
  IrqKind kind = IrqKind::kPulse;
};

// NAME_STATE, NAME_ENABLE and NAME_TEST, and the port <name>_irq_o.
struct Interrupt : Located {
  std::string name;  // UPPER_CASE
  std::string desc;
  std::uint64_t offset = 0;  // of the state; enable and test follow
  std::vector<IrqSource> sources;
  std::size_t state = 0, enable = 0, test = 0;  // in Block::registers
};

enum class BadAccess : std::uint8_t { kAllOnes, kSlverr };

struct Block : Located {
  std::string name;  // lower_case
  std::string desc;
  unsigned bar = 0;
  std::uint64_t size = 0;
  std::uint64_t stride = 0;  // of repeated blocks, 0 when there is one
  bool generated = false;    // a register file is generated
  std::string decoded_by;    // who decodes it otherwise
  BadAccess bad_access = BadAccess::kAllOnes;
  bool pipelined = false;              // one more cycle for every access, for large maps
  std::string capture_name;            // or empty
  std::optional<std::size_t> capture;  // (check) register that holds the first bad access
  std::vector<RegFile> files;
  std::vector<Register> registers;
  std::vector<Window> windows;
  std::vector<Interrupt> interrupts;

  [[nodiscard]] unsigned addr_bits() const;
};

// One of the 64-bit counters in the window that holds them.
struct Counter : Located {
  std::string name;
  std::string desc;
};

struct DescField : Located {
  std::string name;
  std::string sv_name;  // name in SystemVerilog, where `name` is a keyword there
  std::string desc;
  unsigned bit = 0;  // from byte 0, bit 0
  unsigned width = 1;
  bool bytes = false;  // a byte string in wire order
  std::string enum_name;
  std::optional<std::size_t> enum_index;  // (check) in Map::enums
  std::string unit;

  [[nodiscard]] unsigned end() const { return bit + width; }
};

// Fields that are there when the tag field of the union has one of the values.
struct Variant : Located {
  std::string name;
  std::string desc;
  std::vector<std::string> when_names;  // as given: names of the tag's enumeration, or numbers
  std::vector<std::uint64_t> when;      // (check)
  std::vector<DescField> fields;        // in order of position
};

struct Union : Located {
  std::string by;       // the tag, a field of the descriptor
  std::size_t tag = 0;  // (check) in Descriptor::fields
  std::vector<Variant> variants;
};

struct Descriptor : Located {
  std::string name;
  std::string desc;
  std::string head;  // descriptor whose fields come first, or empty
  std::uint64_t size = 0;
  std::vector<DescField> fields;  // head's fields included, in order of position
  std::vector<Union> unions;
};

struct Map : Located {
  std::string name;
  std::string desc;
  std::string source;  // name of the file, for the first line of outputs
  unsigned major = 0, minor = 0, patch = 0;
  std::uint32_t hash = 0;  // (check)
  std::vector<Constant> constants;
  std::vector<Enum> enums;
  std::vector<Block> blocks;
  std::vector<Counter> counters;
  std::vector<Descriptor> descriptors;
};

// Values for parameters, from the command line.
using ParameterValues = std::vector<std::pair<std::string, std::uint64_t>>;

// Reads and checks a map. Nothing when there was an error; all problems are in `diags`. Includes
// are looked for beside the file that names them.
std::optional<Map> load_map_file(const std::string& path, Diagnostics& diags,
                                 const ParameterValues& values = {});
std::optional<Map> load_map_text(const std::string& text, Diagnostics& diags,
                                 const ParameterValues& values = {});

// Every rule that does not depend on the language of the input; fills the members marked (check).
// False when there are errors, its own or earlier ones in `diags`.
bool check_map(Map& map, Diagnostics& diags);

// FNV-1a (32 bit) over what software and hardware must agree on: names, places, access, resets,
// values. Descriptions do not count.
std::uint32_t map_hash(const Map& map);

[[nodiscard]] const Block* find_block(const Map& map, std::string_view name);
[[nodiscard]] const Descriptor* find_descriptor(const Map& map, std::string_view name);
[[nodiscard]] std::string hw_text(const HwPorts& hw);
[[nodiscard]] std::string_view irq_kind_name(IrqKind kind);
[[nodiscard]] std::string to_upper(std::string_view s);
[[nodiscard]] std::string to_lower(std::string_view s);
// "path_mtu" or "PATH_MTU" to "PathMtu".
[[nodiscard]] std::string to_camel(std::string_view s);
[[nodiscard]] std::uint64_t ones(unsigned width);

}  // namespace rnic::regs
