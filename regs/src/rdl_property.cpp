// SPDX-License-Identifier: Apache-2.0
#include "rdl_property.hpp"

#include <algorithm>
#include <array>

namespace rnic::regs {
namespace {

constexpr unsigned bit(RdlKind k) { return 1U << static_cast<unsigned>(k); }
constexpr unsigned kF = bit(RdlKind::kField), kR = bit(RdlKind::kReg), kRf = bit(RdlKind::kRegfile),
                   kA = bit(RdlKind::kAddrmap), kM = bit(RdlKind::kMem), kS = bit(RdlKind::kSignal);
constexpr unsigned kAll = kF | kR | kRf | kA | kM | kS;

using T = RdlType;
using U = RdlUse;

constexpr std::array kTable = {
    RdlPropertyInfo{"name", kAll, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"desc", kAll, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"ispresent", kAll, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"donttest", kAll, T::kAny, U::kDocument, ""},
    RdlPropertyInfo{"dontcompare", kAll, T::kAny, U::kDocument, ""},
    RdlPropertyInfo{"hdl_path", kR | kRf | kA | kM, T::kAny, U::kDocument, ""},
    RdlPropertyInfo{"hdl_path_gate", kR | kRf | kA | kM, T::kAny, U::kDocument, ""},
    RdlPropertyInfo{"hdl_path_slice", kF | kM, T::kAny, U::kDocument, ""},
    RdlPropertyInfo{"hdl_path_gate_slice", kF | kM, T::kAny, U::kDocument, ""},
    // Fields.
    RdlPropertyInfo{"sw", kF | kM, T::kWord, U::kUsed, ""},
    RdlPropertyInfo{"hw", kF, T::kWord, U::kUsed, ""},
    RdlPropertyInfo{"reset", kF, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"onread", kF, T::kWord, U::kUsed, ""},
    RdlPropertyInfo{"onwrite", kF, T::kWord, U::kUsed, ""},
    RdlPropertyInfo{"rclr", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"rset", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"woclr", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"woset", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"swmod", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"swacc", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"singlepulse", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"we", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"wel", kF, T::kBool, U::kRefused,
                    "the port is active high: write we, and invert outside"},
    RdlPropertyInfo{"hwset", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"hwclr", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"swwe", kF, T::kReference, U::kUsed, ""},
    RdlPropertyInfo{"swwel", kF, T::kReference, U::kUsed, ""},
    RdlPropertyInfo{"sticky", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"stickybit", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"intr", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"enable", kF, T::kReference, U::kUsed, ""},
    RdlPropertyInfo{"mask", kF, T::kReference, U::kRefused,
                    "an interrupt group has enables, not masks: write enable, with the bits the "
                    "other way round"},
    RdlPropertyInfo{"precedence", kF, T::kWord, U::kUsed, ""},
    RdlPropertyInfo{"counter", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"incrvalue", kF, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"decrvalue", kF, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"incrwidth", kF, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"decrwidth", kF, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"incrsaturate", kF, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"saturate", kF, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"decrsaturate", kF, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"incrthreshold", kF, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"threshold", kF, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"decrthreshold", kF, T::kAny, U::kRefused,
                    "a counter tells one threshold, from below: write incrthreshold, or compare "
                    "the value outside"},
    RdlPropertyInfo{"overflow", kF, T::kAny, U::kRefused,
                    "a counter has no such output: write incrthreshold, or saturate"},
    RdlPropertyInfo{"underflow", kF, T::kAny, U::kRefused,
                    "a counter has no such output: compare the value outside"},
    RdlPropertyInfo{"incr", kF, T::kReference, U::kRefused,
                    "events come through the port of the counter: connect them outside"},
    RdlPropertyInfo{"decr", kF, T::kReference, U::kRefused,
                    "events come through the port of the counter: connect them outside"},
    RdlPropertyInfo{"encode", kF, T::kReference, U::kUsed, ""},
    RdlPropertyInfo{"fieldwidth", kF, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"hwenable", kF, T::kReference, U::kRefused,
                    "hardware writes all bits of a field: gate its input outside"},
    RdlPropertyInfo{"hwmask", kF, T::kReference, U::kRefused,
                    "hardware writes all bits of a field: gate its input outside"},
    RdlPropertyInfo{"haltenable", kF, T::kReference, U::kRefused,
                    "there is no halt output: make a second interrupt group"},
    RdlPropertyInfo{"haltmask", kF, T::kReference, U::kRefused,
                    "there is no halt output: make a second interrupt group"},
    RdlPropertyInfo{"anded", kF, T::kBool, U::kRefused,
                    "there is no such output: write &value outside"},
    RdlPropertyInfo{"ored", kF, T::kBool, U::kRefused,
                    "there is no such output: write |value outside"},
    RdlPropertyInfo{"xored", kF, T::kBool, U::kRefused,
                    "there is no such output: write ^value outside"},
    RdlPropertyInfo{"next", kF, T::kReference, U::kRefused,
                    "a field takes its value from its port: connect it outside"},
    RdlPropertyInfo{"resetsignal", kF, T::kReference, U::kRefused,
                    "the register file has one reset, rst_i: take the field away or reset it by "
                    "hwclr"},
    RdlPropertyInfo{"paritycheck", kF, T::kBool, U::kRefused,
                    "fields have no parity: leave it out"},
    // Registers and what holds them.
    RdlPropertyInfo{"regwidth", kR, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"accesswidth", kR, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"shared", kR, T::kBool, U::kRefused,
                    "a register is in one address space: write it once in each"},
    RdlPropertyInfo{"errextbus", kR | kRf | kA, T::kBool, U::kRefused,
                    "an external register answers or times out, it has no error: leave it out"},
    RdlPropertyInfo{"sharedextbus", kRf | kA, T::kBool, U::kRefused,
                    "every external register has ports of its own: leave it out, or take a mem"},
    RdlPropertyInfo{"alignment", kRf | kA, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"addressing", kA, T::kWord, U::kUsed, ""},
    RdlPropertyInfo{"bigendian", kA, T::kBool, U::kRefused,
                    "the bus is little-endian: leave it out and look at the order of words"},
    RdlPropertyInfo{"littleendian", kA, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"rsvdset", kA, T::kBool, U::kRefused,
                    "reserved bits read 0: write constant fields (sw = r; hw = na) of all ones"},
    RdlPropertyInfo{"rsvdsetX", kA, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"msb0", kA, T::kBool, U::kRefused, "bit 0 is the least: write [high:low]"},
    RdlPropertyInfo{"lsb0", kA, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"bridge", kA, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"mementries", kM, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"memwidth", kM, T::kNumber, U::kUsed, ""},
    // Signals, which have no place at all.
    RdlPropertyInfo{"signalwidth", kS, T::kNumber, U::kNeutral, ""},
    RdlPropertyInfo{"sync", kS, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"async", kS, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"cpuif_reset", kS, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"field_reset", kS, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"activehigh", kS, T::kBool, U::kNeutral, ""},
    RdlPropertyInfo{"activelow", kS, T::kBool, U::kNeutral, ""},
    // Of the export.
    RdlPropertyInfo{"regs_version", kA, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_hash", kA, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"regs_constants", kA, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"regs_parameters", kA, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"regs_enums", kA, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"regs_bar", kA, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"regs_size", kA | kR, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"regs_stride", kA, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"regs_bad_access", kA, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_bad_access_capture", kA, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_pipelined", kA, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"regs_interrupts", kA, T::kAny, U::kUsed, ""},
    RdlPropertyInfo{"regs_decoded_by", kA | kM, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_counters", kM, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"regs_interrupt", kR, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_buffered", kR, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"regs_descriptor", kR, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_head", kR, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_union", kR, T::kNumber, U::kUsed, ""},
    RdlPropertyInfo{"regs_by", kR, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_variant", kR, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_when", kR, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_access", kF, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_hw", kF, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_counter", kF, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_map_hash", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"regs_locked_by", kF, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_enabled_by", kF, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_unit", kF, T::kText, U::kUsed, ""},
    RdlPropertyInfo{"regs_bytes", kF, T::kBool, U::kUsed, ""},
    RdlPropertyInfo{"regs_sv_name", kF, T::kText, U::kUsed, ""},
};

}  // namespace

const RdlPropertyInfo* find_rdl_property(std::string_view name) {
  const auto it = std::find_if(kTable.begin(), kTable.end(),
                               [&](const RdlPropertyInfo& p) { return p.name == name; });
  return it == kTable.end() ? nullptr : &*it;
}

bool rdl_has_property(const RdlPropertyInfo& info, RdlKind kind) {
  return (info.components & bit(kind)) != 0;
}

std::vector<std::string> rdl_property_names(RdlKind kind) {
  std::vector<std::string> names;
  for (const auto& p : kTable) {
    if (rdl_has_property(p, kind) && !is_regs_property(p.name)) names.emplace_back(p.name);
  }
  return names;
}

bool is_regs_property(std::string_view name) { return name.substr(0, 5) == "regs_"; }

std::string_view rdl_rival(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPairs = {{
      {"sticky", "stickybit"},
      {"swwe", "swwel"},
      {"we", "wel"},
      {"regs_locked_by", "regs_enabled_by"},
      {"hwenable", "hwmask"},
  }};
  for (const auto& [a, b] : kPairs) {
    if (name == a) return b;
    if (name == b) return a;
  }
  return {};
}

}  // namespace rnic::regs
