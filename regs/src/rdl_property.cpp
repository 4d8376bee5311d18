// SPDX-License-Identifier: Apache-2.0
#include "rdl_property.hpp"

#include <fmt/format.h>

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
    RdlPropertyInfo{"name", kAll, T::kText},
    RdlPropertyInfo{"desc", kAll, T::kText},
    RdlPropertyInfo{"ispresent", kAll, T::kBool},
    RdlPropertyInfo{"donttest", kAll, T::kAny, U::kDocument},
    RdlPropertyInfo{"dontcompare", kAll, T::kAny, U::kDocument},
    RdlPropertyInfo{"hdl_path", kR | kRf | kA | kM, T::kAny, U::kDocument},
    RdlPropertyInfo{"hdl_path_gate", kR | kRf | kA | kM, T::kAny, U::kDocument},
    RdlPropertyInfo{"hdl_path_slice", kF | kM, T::kAny, U::kDocument},
    RdlPropertyInfo{"hdl_path_gate_slice", kF | kM, T::kAny, U::kDocument},
    // Fields.
    RdlPropertyInfo{"sw", kF | kM, T::kWord},
    RdlPropertyInfo{"hw", kF, T::kWord},
    RdlPropertyInfo{"reset", kF, T::kNumber},
    RdlPropertyInfo{"onread", kF, T::kWord},
    RdlPropertyInfo{"onwrite", kF, T::kWord},
    RdlPropertyInfo{"rclr", kF, T::kBool},
    RdlPropertyInfo{"rset", kF, T::kBool},
    RdlPropertyInfo{"woclr", kF, T::kBool},
    RdlPropertyInfo{"woset", kF, T::kBool},
    RdlPropertyInfo{"swmod", kF, T::kBool},
    RdlPropertyInfo{"swacc", kF, T::kBool},
    RdlPropertyInfo{"singlepulse", kF, T::kBool},
    RdlPropertyInfo{"we", kF, T::kBool},
    RdlPropertyInfo{"wel", kF, T::kBool, U::kRefused,
                    "the port is active high: write we, and invert outside"},
    RdlPropertyInfo{"hwset", kF, T::kBool},
    RdlPropertyInfo{"hwclr", kF, T::kBool},
    RdlPropertyInfo{"swwe", kF, T::kReference},
    RdlPropertyInfo{"swwel", kF, T::kReference},
    RdlPropertyInfo{"sticky", kF, T::kBool},
    RdlPropertyInfo{"stickybit", kF, T::kBool},
    RdlPropertyInfo{"intr", kF, T::kBool},
    RdlPropertyInfo{"enable", kF, T::kReference},
    RdlPropertyInfo{"mask", kF, T::kReference, U::kRefused,
                    "an interrupt group has enables, not masks: write enable, with the bits the "
                    "other way round"},
    RdlPropertyInfo{"precedence", kF, T::kWord},
    RdlPropertyInfo{"counter", kF, T::kBool},
    RdlPropertyInfo{"incrvalue", kF, T::kNumber},
    RdlPropertyInfo{"decrvalue", kF, T::kNumber},
    RdlPropertyInfo{"incrwidth", kF, T::kNumber},
    RdlPropertyInfo{"decrwidth", kF, T::kNumber},
    RdlPropertyInfo{"incrsaturate", kF, T::kAny},
    RdlPropertyInfo{"saturate", kF, T::kAny},
    RdlPropertyInfo{"decrsaturate", kF, T::kAny},
    RdlPropertyInfo{"incrthreshold", kF, T::kAny},
    RdlPropertyInfo{"threshold", kF, T::kAny},
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
    RdlPropertyInfo{"encode", kF, T::kReference},
    RdlPropertyInfo{"fieldwidth", kF, T::kNumber},
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
    RdlPropertyInfo{"regwidth", kR, T::kNumber},
    RdlPropertyInfo{"accesswidth", kR, T::kNumber},
    RdlPropertyInfo{"shared", kR, T::kBool, U::kRefused,
                    "a register is in one address space: write it once in each"},
    RdlPropertyInfo{"errextbus", kR | kRf | kA, T::kBool, U::kRefused,
                    "an external register answers or times out, it has no error: leave it out"},
    RdlPropertyInfo{"sharedextbus", kRf | kA, T::kBool, U::kRefused,
                    "every external register has ports of its own: leave it out, or take a mem"},
    RdlPropertyInfo{"alignment", kRf | kA, T::kNumber},
    RdlPropertyInfo{"addressing", kA, T::kWord},
    RdlPropertyInfo{"bigendian", kA, T::kBool, U::kRefused,
                    "the bus is little-endian: leave it out and look at the order of words"},
    RdlPropertyInfo{"littleendian", kA, T::kBool, U::kNeutral},
    RdlPropertyInfo{"rsvdset", kA, T::kBool, U::kRefused,
                    "reserved bits read 0: write constant fields (sw = r; hw = na) of all ones"},
    RdlPropertyInfo{"rsvdsetX", kA, T::kBool, U::kNeutral},
    RdlPropertyInfo{"msb0", kA, T::kBool, U::kRefused, "bit 0 is the least: write [high:low]"},
    RdlPropertyInfo{"lsb0", kA, T::kBool, U::kNeutral},
    RdlPropertyInfo{"bridge", kA, T::kBool},
    RdlPropertyInfo{"mementries", kM, T::kNumber},
    RdlPropertyInfo{"memwidth", kM, T::kNumber},
    // Signals, which have no place at all.
    RdlPropertyInfo{"signalwidth", kS, T::kNumber, U::kNeutral},
    RdlPropertyInfo{"sync", kS, T::kBool, U::kNeutral},
    RdlPropertyInfo{"async", kS, T::kBool, U::kNeutral},
    RdlPropertyInfo{"cpuif_reset", kS, T::kBool, U::kNeutral},
    RdlPropertyInfo{"field_reset", kS, T::kBool, U::kNeutral},
    RdlPropertyInfo{"activehigh", kS, T::kBool, U::kNeutral},
    RdlPropertyInfo{"activelow", kS, T::kBool, U::kNeutral},
    // Of the export; kAny: a list of strings.
    RdlPropertyInfo{"regs_version", kA, T::kText},
    RdlPropertyInfo{"regs_hash", kA, T::kNumber},
    RdlPropertyInfo{"regs_constants", kA, T::kAny},
    RdlPropertyInfo{"regs_parameters", kA, T::kAny},
    RdlPropertyInfo{"regs_enums", kA, T::kAny},
    RdlPropertyInfo{"regs_bar", kA, T::kNumber},
    RdlPropertyInfo{"regs_size", kA | kR, T::kNumber},
    RdlPropertyInfo{"regs_stride", kA, T::kNumber},
    RdlPropertyInfo{"regs_bad_access", kA, T::kText},
    RdlPropertyInfo{"regs_bad_access_capture", kA, T::kText},
    RdlPropertyInfo{"regs_pipelined", kA, T::kBool},
    RdlPropertyInfo{"regs_interrupts", kA, T::kAny},
    RdlPropertyInfo{"regs_decoded_by", kA | kM, T::kText},
    RdlPropertyInfo{"regs_counters", kM, T::kBool},
    RdlPropertyInfo{"regs_interrupt", kR, T::kText},
    RdlPropertyInfo{"regs_buffered", kR, T::kBool},
    RdlPropertyInfo{"regs_descriptor", kR, T::kText},
    RdlPropertyInfo{"regs_head", kR, T::kText},
    RdlPropertyInfo{"regs_union", kR, T::kNumber},
    RdlPropertyInfo{"regs_by", kR, T::kText},
    RdlPropertyInfo{"regs_variant", kR, T::kText},
    RdlPropertyInfo{"regs_when", kR, T::kText},
    RdlPropertyInfo{"regs_access", kF, T::kText},
    RdlPropertyInfo{"regs_hw", kF, T::kText},
    RdlPropertyInfo{"regs_counter", kF, T::kText},
    RdlPropertyInfo{"regs_map_hash", kF, T::kBool},
    RdlPropertyInfo{"regs_locked_by", kF, T::kText},
    RdlPropertyInfo{"regs_enabled_by", kF, T::kText},
    RdlPropertyInfo{"regs_unit", kF, T::kText},
    RdlPropertyInfo{"regs_bytes", kF, T::kBool},
    RdlPropertyInfo{"regs_sv_name", kF, T::kText},
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

bool is_regs_property(std::string_view name) { return name.starts_with("regs_"); }

std::string rdl_property_definitions() {
  std::string all;
  for (const auto& p : kTable) {
    if (!is_regs_property(p.name)) continue;
    std::string components;
    for (const auto k : {RdlKind::kAddrmap, RdlKind::kMem, RdlKind::kReg, RdlKind::kField}) {
      if (!rdl_has_property(p, k)) continue;
      components += components.empty() ? "" : " | ";
      components += rdl_kind_name(k);
    }
    const auto type = p.type == T::kText     ? "string"
                      : p.type == T::kNumber ? "longint unsigned"
                      : p.type == T::kBool   ? "boolean"
                                             : "string[]";
    all += fmt::format("property {} {{ component = {}; type = {}; }};\n", p.name, components, type);
  }
  return all;
}

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
