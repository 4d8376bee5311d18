// SPDX-License-Identifier: Apache-2.0
#include "c_struct.hpp"
#include "outputs.hpp"
#include "text.hpp"

namespace rnic::regs {
namespace {

// Everything that does not depend on the content of the map; @P@ is the upper-case prefix, @p@ the
// lower-case one.
constexpr const char* kPrologue = R"(#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
typedef u8 @p@_u8;
typedef u16 @p@_u16;
typedef u32 @p@_u32;
typedef u64 @p@_u64;
typedef __le16 @p@_le16;
typedef __le32 @p@_le32;
typedef __le64 @p@_le64;
#define @P@_ASSERT(c, text) static_assert(c, text)
#define @P@_GENMASK(h, l) ((@p@_u32)GENMASK(h, l))
#define @P@_GENMASK_ULL(h, l) GENMASK_ULL(h, l)
#else
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t @p@_u8;
typedef uint16_t @p@_u16;
typedef uint32_t @p@_u32;
typedef uint64_t @p@_u64;
/* Little-endian in memory: convert, or use the get and set functions. */
typedef uint16_t @p@_le16;
typedef uint32_t @p@_le32;
typedef uint64_t @p@_le64;
#ifdef __cplusplus
#define @P@_ASSERT(c, text) static_assert(c, text)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define @P@_ASSERT(c, text) _Static_assert(c, text)
#else
#define @P@_ASSERT_NAME2(line) @p@_assert_line_##line
#define @P@_ASSERT_NAME(line) @P@_ASSERT_NAME2(line)
#define @P@_ASSERT(c, text) extern char @P@_ASSERT_NAME(__LINE__)[(c) ? 1 : -1]
#endif
/* Constant masks, usable with FIELD_GET and FIELD_PREP. */
#define @P@_GENMASK(h, l) ((uint32_t)((0xFFFFFFFFu >> (31 - (h))) & (0xFFFFFFFFu << (l))))
#define @P@_GENMASK_ULL(h, l) \
	((uint64_t)((0xFFFFFFFFFFFFFFFFull >> (63 - (h))) & (0xFFFFFFFFFFFFFFFFull << (l))))
#endif

/* The lowest bit of a mask, and a field in and out of a register value, as FIELD_GET and FIELD_PREP. */
#define @P@_FIELD_LSB(mask) ((mask) & (~(mask) + 1))
#define @P@_FIELD_GET(mask, value) (((value) & (mask)) / @P@_FIELD_LSB(mask))
#define @P@_FIELD_PREP(mask, value) (((value) * @P@_FIELD_LSB(mask)) & (mask))

/* Little-endian bytes, whatever the order and alignment of this machine. */
static inline @p@_u64 @p@_get_le(const void *d, unsigned int at, unsigned int n)
{
	const @p@_u8 *p = (const @p@_u8 *)d + at;
	@p@_u64 v = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		v |= (@p@_u64)p[i] << (8 * i);
	return v;
}

static inline void @p@_put_le(void *d, unsigned int at, unsigned int n, @p@_u64 v)
{
	@p@_u8 *p = (@p@_u8 *)d + at;
	unsigned int i;

	for (i = 0; i < n; i++)
		p[i] = (@p@_u8)(v >> (8 * i));
}
)";

std::string expand(std::string_view tmpl, const std::string& upper, const std::string& lower) {
  std::string r;
  for (std::size_t i = 0; i < tmpl.size(); ++i) {
    if (tmpl.substr(i, 3) == "@P@") {
      r += upper;
      i += 2;
    } else if (tmpl.substr(i, 3) == "@p@") {
      r += lower;
      i += 2;
    } else {
      r += tmpl[i];
    }
  }
  return r;
}

class CHeader : private Lines {
 public:
  explicit CHeader(const Map& map) : map_(map), up_(to_upper(map.name)), lo_(map.name) {}

  std::string run() {
    line("/* SPDX-License-Identifier: Apache-2.0 */");
    line("/* {}", generated_note(map_));
    line(" *");
    line(
        " * Offsets, masks and descriptors in plain C99, for user space and the Linux kernel. "
        "Reads and");
    line(
        " * writes of a device are the driver's: of a 64-bit register read the low word first (it "
        "takes a");
    line(" * snapshot of the high one) and write the high word last (it commits both).");
    line(" */");
    line("#ifndef {}_REGS_H", up_);
    line("#define {}_REGS_H", up_);
    line("");
    raw(expand(kPrologue, up_, lo_));
    line("");
    line("#define {}_VERSION_MAJOR {}", up_, map_.major);
    line("#define {}_VERSION_MINOR {}", up_, map_.minor);
    line("#define {}_VERSION_PATCH {}", up_, map_.patch);
    line("#define {}_MAP_HASH 0x{:08x}u", up_, map_.hash);
    if (!map_.constants.empty()) line("");
    for (const auto& c : map_.constants) {
      line("#define {}_{} {} /* {} */", up_, c.name, literal(c.value), comment(c.desc));
    }
    for (const auto& e : map_.enums) emit_enum(e);
    for (const auto& b : map_.blocks) emit_block(b);
    emit_counters();
    for (const auto& d : map_.descriptors) emit_descriptor(d);
    line("");
    line("#endif /* {}_REGS_H */", up_);
    return take();
  }

 private:
  static std::string literal(std::uint64_t v) {
    return v > 0xFFFFFFFFULL ? fmt::format("0x{:x}ull", v) : fmt::format("0x{:x}u", v);
  }

  static std::string comment(std::string s) {
    for (std::size_t p; (p = s.find("*/")) != std::string::npos;) s.replace(p, 2, "* /");
    for (std::size_t p; (p = s.find("/*")) != std::string::npos;) s.replace(p, 2, "/ *");
    return s;
  }

  void emit_enum(const Enum& e) {
    line("");
    line("/* {} */", comment(e.desc));
    line("enum {}_{} {{", lo_, e.name);
    for (const auto& v : e.values) {
      line("\t{}_{}_{} = 0x{:x},", up_, to_upper(e.name), v.name, v.value);
    }
    line("};");
  }

  void emit_block(const Block& b) {
    const auto bu = fmt::format("{}_{}", up_, to_upper(b.name));
    line("");
    line("/* Block {}: {} */", b.name, comment(b.desc));
    line("#define {}_BAR {}", bu, b.bar);
    line("#define {}_SIZE 0x{:x}u", bu, b.size);
    if (b.stride != 0) line("#define {}_STRIDE 0x{:x}u", bu, b.stride);
    for (const auto& r : b.registers) emit_register(bu, r);
    for (const auto& w : b.windows) {
      line("");
      line("/* {} */", comment(w.desc));
      line("#define {}_{} 0x{:x}u", bu, w.name, w.offset);
      line("#define {}_{}_SIZE 0x{:x}u", bu, w.name, w.size);
    }
  }

  void emit_register(const std::string& bu, const Register& r) {
    const auto ru = fmt::format("{}_{}", bu, r.name);
    line("");
    line("/* {}{} */", comment(r.desc), r.width == 64 ? " 64 bits." : "");
    if (r.is_array) {
      static constexpr const char* kIndex[] = {"i", "j", "k", "l", "m", "n", "o", "p", "q"};
      std::string args, sum;
      for (std::size_t d = 0; d < r.dims.size(); ++d) {
        args += fmt::format("{}{}", d == 0 ? "" : ", ", kIndex[d]);
        sum += fmt::format(" + 0x{:x}u * ({})", r.dims[d].stride, kIndex[d]);
      }
      line("#define {}({}) (0x{:x}u{})", ru, args, r.offset, sum);
      line("#define {}_COUNT {}u", ru, r.count);
      for (std::size_t d = 0; r.dims.size() > 1 && d < r.dims.size(); ++d) {
        line("#define {}_COUNT_{} {}u", ru, to_upper(kIndex[d]), r.dims[d].count);
      }
    } else {
      line("#define {} 0x{:x}u", ru, r.offset);
    }
    line("#define {}_RESET_VALUE {}", ru, literal(r.reset_value()));
    if (r.writable() && r.rmw_hurts()) rmw_masks(ru, r);
    for (const auto& f : r.fields) {
      line("#define {}_{}_MASK {}_GENMASK{}({}, {}) /* {}: {} */", ru, to_upper(f.name), up_,
           r.width == 64 ? "_ULL" : "", f.msb(), f.lsb, access_name(f.access), comment(f.desc));
      line("#define {}_{}_SHIFT {}", ru, to_upper(f.name), f.lsb);
    }
  }

  // Bits that may be written back as they were read, and those that must be written as 1.
  void rmw_masks(const std::string& ru, const Register& r) {
    std::uint64_t keep = 0, one = 0;
    for (const auto& f : r.fields) {
      const auto w = access_info(f.access).on_write;
      const auto bits = ones(f.width) << f.lsb;
      const bool ones_act = w == OnWrite::kOneClear || w == OnWrite::kOneSet ||
                            w == OnWrite::kOneToggle || w == OnWrite::kPulse;
      const bool zeros_act =
          w == OnWrite::kZeroClear || w == OnWrite::kZeroSet || w == OnWrite::kZeroToggle;
      if (zeros_act) one |= bits;
      if (f.writable() && f.readable() && !ones_act && !zeros_act) keep |= bits;
    }
    line("/* Writing back what was read would act: and with this first, if at all. */");
    line("#define {}_RMW_MASK {}", ru, literal(keep));
    if (one == 0) return;
    line("/* And these act where they are 0: or with this as well. */");
    line("#define {}_RMW_ONES {}", ru, literal(one));
  }

  void emit_counters() {
    if (map_.counters.empty()) return;
    line("");
    line("/* Counters, 8 bytes each; the low word takes the snapshot. */");
    line("enum {}_counter {{", lo_);
    for (std::size_t i = 0; i < map_.counters.size(); ++i) {
      line("\t{}_CNT_{} = {}, /* {} */", up_, to_upper(map_.counters[i].name), i,
           comment(map_.counters[i].desc));
    }
    line("};");
    line("#define {}_N_COUNTERS {}", up_, map_.counters.size());
    line("");
    line("/* static const char *const names[{}_N_COUNTERS] = {}_COUNTER_NAMES; */", up_, up_);
    line("#define {}_COUNTER_NAMES {{ \\", up_);
    for (const auto& c : map_.counters) line("\t\"{}\", \\", c.name);
    line("}");
  }

  void emit_descriptor(const Descriptor& d) {
    line("");
    line("/* Descriptor {}: {} */", d.name, comment(d.desc));
    line("#define {}_{}_BYTES {}", up_, to_upper(d.name), d.size);
    raw(c_struct(map_, d));
    for (const auto& f : d.fields) emit_desc_field(d, f);
    for (const auto& u : d.unions) {
      for (const auto& v : u.variants) {
        for (auto f : v.fields) {  // <descriptor>_get_<variant>_<field>
          f.name = v.name + "_" + f.name;
          emit_desc_field(d, f);
        }
      }
    }
  }

  void emit_desc_field(const Descriptor& d, const DescField& f) {
    line("");
    line("/* Byte {}, bit {}, {} bits: {}{} */", f.bit / 8, f.bit % 8, f.width, comment(f.desc),
         f.enum_index ? fmt::format(" enum {}_{}", lo_, map_.enums[*f.enum_index].name) : "");
    if (f.bytes) {
      emit_bytes_field(d, f);
    } else {
      emit_value_field(d, f);
    }
  }

  void emit_bytes_field(const Descriptor& d, const DescField& f) {
    const auto fn = fmt::format("{}_{}", lo_, d.name);
    line("#define {}_{}_{}_BYTES {}", up_, to_upper(d.name), to_upper(f.name), f.width / 8);
    line("static inline void {}_get_{}(const void *d, void *to)", fn, f.name);
    line("{");
    line("\tmemcpy(to, (const {}_u8 *)d + {}, {});", lo_, f.bit / 8, f.width / 8);
    line("}");
    line("static inline void {}_set_{}(void *d, const void *from)", fn, f.name);
    line("{");
    line("\tmemcpy(({}_u8 *)d + {}, from, {});", lo_, f.bit / 8, f.width / 8);
    line("}");
  }

  void emit_value_field(const Descriptor& d, const DescField& f) {
    const auto fn = fmt::format("{}_{}", lo_, d.name);
    const auto type = fmt::format("{}_u{}", lo_, f.width > 32 ? 64 : 32);
    const unsigned at = f.bit / 8;
    const unsigned shift = f.bit % 8;
    const unsigned n = (shift + f.width + 7) / 8;
    const bool whole = shift == 0 && f.width % 8 == 0;
    const auto mask = literal64(ones(f.width));
    line("static inline {} {}_get_{}(const void *d)", type, fn, f.name);
    line("{");
    if (whole) {
      line("\treturn ({}){}_get_le(d, {}, {});", type, lo_, at, n);
    } else {
      line("\treturn ({})(({}_get_le(d, {}, {}) >> {}) & {});", type, lo_, at, n, shift, mask);
    }
    line("}");
    line("static inline void {}_set_{}(void *d, {} v)", fn, f.name, type);
    line("{");
    if (whole) {
      line("\t{}_put_le(d, {}, {}, v);", lo_, at, n);
    } else {
      line("\t{}_put_le(d, {}, {}, ({}_get_le(d, {}, {}) & ~({} << {})) |", lo_, at, n, lo_, at, n,
           mask, shift);
      line("\t\t(((({}_u64)v) & {}) << {}));", lo_, mask, shift);
    }
    line("}");
  }

  static std::string literal64(std::uint64_t v) { return fmt::format("0x{:x}ull", v); }

  const Map& map_;
  std::string up_;
  std::string lo_;
};

}  // namespace

void out_c(const Map& map, OutFiles& files) {
  files.push_back({OutDir::kSoftware, map.name + "_regs.h", CHeader(map).run()});
}

}  // namespace rnic::regs
