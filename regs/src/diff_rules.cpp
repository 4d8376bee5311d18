// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <stdexcept>

#include "diff.hpp"

namespace rnic::regs {
namespace {

constexpr auto kSame = Verdict::kIdentical;
constexpr auto kFits = Verdict::kCompatible;
constexpr auto kBreaks = Verdict::kBreaking;

// id, software, RTL, text
constexpr std::array kRules = {
    DiffRule{"map-name", kBreaks, kBreaks, "the map has another name"},
    DiffRule{"version-up", kFits, kFits, "the version is higher, the major number is the same"},
    DiffRule{"version-major", kBreaks, kBreaks, "the major version is higher"},
    DiffRule{"version-down", kBreaks, kBreaks, "the version is lower"},
    DiffRule{"text", kFits, kSame, "a description is different"},
    DiffRule{"constant-added", kFits, kFits, "a new constant or parameter"},
    DiffRule{"constant-removed", kBreaks, kBreaks, "a constant or parameter is gone"},
    DiffRule{"constant-value", kBreaks, kBreaks, "a constant has another value"},
    DiffRule{"parameter-kind", kFits, kBreaks, "a constant became a parameter, or the reverse"},
    DiffRule{"parameter-wider", kFits, kFits, "a parameter may have more values"},
    DiffRule{"parameter-narrower", kBreaks, kBreaks, "a parameter may have fewer values"},
    DiffRule{"enum-added", kFits, kFits, "a new enumeration"},
    DiffRule{"enum-removed", kBreaks, kBreaks, "an enumeration is gone"},
    DiffRule{"enum-value-added", kFits, kFits, "a new value of an enumeration"},
    DiffRule{"enum-value-removed", kBreaks, kBreaks, "a value of an enumeration is gone"},
    DiffRule{"enum-value", kBreaks, kBreaks, "a value of an enumeration is another number"},
    DiffRule{"enum-width", kFits, kBreaks, "constants of an enumeration have other widths"},
    DiffRule{"block-added", kFits, kFits, "a new block"},
    DiffRule{"block-removed", kBreaks, kBreaks, "a block is gone"},
    DiffRule{"block-bar", kBreaks, kFits, "a block is in another BAR"},
    DiffRule{"block-grown", kFits, kBreaks, "a block is larger"},
    DiffRule{"block-shrunk", kBreaks, kBreaks, "a block is smaller"},
    DiffRule{"block-stride", kBreaks, kFits, "repeated blocks have another distance"},
    DiffRule{"block-decoder", kFits, kBreaks, "somebody else decodes a block"},
    DiffRule{"block-bad-access", kBreaks, kFits, "bad accesses are answered differently"},
    DiffRule{"block-capture", kFits, kBreaks, "bad accesses are captured differently"},
    DiffRule{"block-pipelined", kFits, kFits, "accesses take one cycle more or less"},
    DiffRule{"ports-added", kSame, kFits, "new outputs of a register file"},
    DiffRule{"ports-needed", kSame, kBreaks, "new inputs of a register file, to be connected"},
    DiffRule{"ports-removed", kSame, kBreaks, "ports of a register file are gone"},
    DiffRule{"ports-changed", kSame, kBreaks, "ports have another direction or width"},
    DiffRule{"register-added", kFits, kFits, "a new register"},
    DiffRule{"register-removed", kBreaks, kBreaks, "a register is gone"},
    DiffRule{"register-renamed", kBreaks, kBreaks, "a register at the same place has another name"},
    DiffRule{"register-moved", kBreaks, kFits, "a register is at another offset"},
    DiffRule{"register-width", kBreaks, kBreaks, "a register has another width"},
    DiffRule{"register-longer", kFits, kFits, "an array has more elements"},
    DiffRule{"register-shorter", kBreaks, kBreaks, "an array has fewer elements, or is none"},
    DiffRule{"register-stride", kBreaks, kFits, "elements have another distance or nesting"},
    DiffRule{"register-buffered", kBreaks, kFits, "64 bits are one value, or two words"},
    DiffRule{"register-external", kFits, kBreaks, "a request port answers, or no longer"},
    DiffRule{"field-added", kFits, kFits, "a new field in bits that were reserved; 0 is harmless"},
    DiffRule{"field-added-acts", kBreaks, kFits,
             "a new field; the 0 that old software writes acts"},
    DiffRule{"field-removed", kBreaks, kBreaks, "a field is gone"},
    DiffRule{"field-renamed", kBreaks, kBreaks, "a field at the same bits has another name"},
    DiffRule{"field-bits", kBreaks, kBreaks, "a field has other bits"},
    DiffRule{"field-access", kBreaks, kBreaks, "a field has another access type"},
    DiffRule{"field-reset", kBreaks, kBreaks, "a field has another reset or constant value"},
    DiffRule{"field-version", kFits, kFits, "a field shows the new version of the map"},
    DiffRule{"field-constant", kBreaks, kBreaks, "a field became constant, or is no longer"},
    DiffRule{"field-hw", kFits, kBreaks, "hardware sees or drives a field differently"},
    DiffRule{"field-collision", kBreaks, kBreaks, "the other side wins a collision"},
    DiffRule{"field-counter", kBreaks, kBreaks, "a field counts, or no longer, or to another end"},
    DiffRule{"field-counter-ports", kFits, kBreaks, "steps or threshold of a counter"},
    DiffRule{"field-lock", kBreaks, kFits, "other bits decide whether a field can be written"},
    DiffRule{"field-enum-added", kFits, kFits, "a field has an enumeration now"},
    DiffRule{"field-enum", kBreaks, kFits, "a field has another enumeration, or none"},
    DiffRule{"field-unit", kBreaks, kBreaks, "a value has another unit"},
    DiffRule{"window-added", kFits, kFits, "a new window"},
    DiffRule{"window-removed", kBreaks, kBreaks, "a window is gone"},
    DiffRule{"window-moved", kBreaks, kFits, "a window is at another offset"},
    DiffRule{"window-grown", kFits, kBreaks, "a window is larger"},
    DiffRule{"window-shrunk", kBreaks, kBreaks, "a window is smaller"},
    DiffRule{"window-writable", kFits, kBreaks, "a window may be written now"},
    DiffRule{"window-read-only", kBreaks, kBreaks, "a window may no longer be written"},
    DiffRule{"window-decoder", kFits, kBreaks, "somebody else decodes a window"},
    DiffRule{"window-holds", kBreaks, kFits, "a window shows something else"},
    DiffRule{"irq-kind", kFits, kBreaks, "an interrupt source has another edge or level"},
    DiffRule{"counter-added", kFits, kFits, "a new counter behind the others"},
    DiffRule{"counter-removed", kBreaks, kBreaks, "a counter is gone"},
    DiffRule{"counter-index", kBreaks, kBreaks, "a counter has another index"},
    DiffRule{"descriptor-added", kFits, kFits, "a new descriptor"},
    DiffRule{"descriptor-removed", kBreaks, kBreaks, "a descriptor is gone"},
    DiffRule{"descriptor-size", kBreaks, kBreaks, "a descriptor has another size"},
    DiffRule{"desc-field-added", kFits, kFits, "a new field of a descriptor"},
    DiffRule{"desc-field-removed", kBreaks, kBreaks, "a field of a descriptor is gone"},
    DiffRule{"desc-field-renamed", kBreaks, kBreaks, "a field of a descriptor has another name"},
    DiffRule{"desc-field-place", kBreaks, kBreaks, "a field of a descriptor has other bits"},
    DiffRule{"desc-field-bytes", kBreaks, kBreaks, "a number became a byte string, or the reverse"},
    DiffRule{"desc-field-sv-name", kSame, kBreaks, "a field has another name in SystemVerilog"},
    DiffRule{"union-added", kFits, kFits, "a new union of a descriptor"},
    DiffRule{"union-removed", kBreaks, kBreaks, "a union of a descriptor is gone"},
    DiffRule{"variant-added", kFits, kFits, "a new variant of a union"},
    DiffRule{"variant-removed", kBreaks, kBreaks, "a variant of a union is gone"},
    DiffRule{"variant-wider", kFits, kFits, "a variant has more values of the tag"},
    DiffRule{"variant-narrower", kBreaks, kBreaks, "a variant has lost a value of the tag"},
};

}  // namespace

std::span<const DiffRule> diff_rules() { return kRules; }

const DiffRule& diff_rule(std::string_view id) {
  for (const auto& r : kRules) {
    if (r.id == id) return r;
  }
  throw std::logic_error("no rule " + std::string(id));
}

Verdict verdict_of(const DiffRule& rule, Reader reader) {
  switch (reader) {
    case Reader::kSoftware:
      return rule.software;
    case Reader::kRtl:
      return rule.rtl;
    case Reader::kBoth:
      break;
  }
  return std::max(rule.software, rule.rtl);
}

Verdict worst(const std::vector<Change>& changes, Reader reader) {
  Verdict v = Verdict::kIdentical;
  for (const auto& c : changes) v = std::max(v, verdict_of(*c.rule, reader));
  return v;
}

std::string_view verdict_name(Verdict v) {
  switch (v) {
    case Verdict::kIdentical:
      return "identical";
    case Verdict::kCompatible:
      return "compatible";
    case Verdict::kBreaking:
      break;
  }
  return "breaking";
}

}  // namespace rnic::regs
