// SPDX-License-Identifier: Apache-2.0
#include "map_keys.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "access.hpp"

namespace rnic::regs {
namespace {

using Words = std::span<const std::string_view>;

constexpr KeySpec key(std::string_view name, KeyType type, std::string_view desc,
                      Element of = Element::kMap) {
  return {name, type, false, desc, {}, of};
}
constexpr KeySpec required(KeySpec k) {
  k.required = true;
  return k;
}
constexpr KeySpec one_of(std::string_view name, Words words, std::string_view desc) {
  return {name, KeyType::kWord, false, desc, words, Element::kMap};
}
constexpr KeySpec some_of(std::string_view name, Words words, std::string_view desc) {
  return {name, KeyType::kWords, false, desc, words, Element::kMap};
}

constexpr std::string_view kBadAccessWords[] = {"all_ones", "slverr"};
constexpr std::string_view kWindowAccessWords[] = {"rw", "ro"};
constexpr std::string_view kHoldsWords[] = {"counters"};
constexpr std::string_view kIrqKindWords[] = {"pulse", "rising", "falling", "both", "level"};
constexpr std::string_view kCollisionWords[] = {"hardware", "software"};
constexpr std::string_view kHwWords[] = {"out",   "in",       "we",       "set", "clear",
                                         "inout", "wr_pulse", "rd_pulse", "none"};
constexpr auto kAccessWords = [] {
  std::array<std::string_view, kNumAccess> words;
  for (std::size_t i = 0; i < kNumAccess; ++i) words[i] = kAccessTable[i].name;
  return words;
}();

constexpr KeySpec kDesc = key("desc", KeyType::kText, "One or two sentences for documents.");
constexpr KeySpec kUnit = key("unit", KeyType::kText, "Unit of the value, for documents.");
constexpr KeySpec kEnumRef = key("enum", KeyType::kText, "Name of the enumeration of its values.");
constexpr KeySpec kLocked =
    key("locked_by", KeyType::kText,
        "REGISTER.field: writes are ignored while that bit is 1 (one bit for all elements, or one "
        "each).");
constexpr KeySpec kEnabled =
    key("enabled_by", KeyType::kText,
        "REGISTER.field: writes are ignored while that bit is 0 (one bit for all elements, or one "
        "each).");
constexpr KeySpec kCount = key("count", KeyType::kNumber, "Makes an array of so many elements.");

// What a map and an included file have in common, behind the two keys of their own.
constexpr KeySpec kCommonKeys[] = {
    key("description", KeyType::kText, "What the map describes, for documents."),
    key("include", KeyType::kTexts,
        "File, or list of files, beside this one, that bring further "
        "constants, enums, blocks, counters, descriptors."),
    key("parameters", KeyType::kNamedNumbers,
        "Constants that -D NAME=VALUE changes. Where a reset value, a constant field or the count "
        "of a register is nothing but the name, it stays a parameter of the module.",
        Element::kParameter),
    key("constants", KeyType::kNamedNumbers, "Numbers with names.", Element::kConstant),
    key("enums", KeyType::kNamed, "Enumerations.", Element::kEnum),
    key("blocks", KeyType::kList, "Address blocks.", Element::kBlock),
    key("counters", KeyType::kList,
        "64-bit counters of the window that holds: counters; the order gives the index.",
        Element::kCounter),
    key("descriptors", KeyType::kList, "Layouts in memory.", Element::kDescriptor),
};
constexpr auto with_common(const KeySpec& name, const KeySpec& version) {
  std::array<KeySpec, 2 + std::size(kCommonKeys)> keys = {name, version};
  std::copy(std::begin(kCommonKeys), std::end(kCommonKeys), keys.begin() + 2);
  return keys;
}
constexpr auto kMapKeys = with_common(
    required(key("name", KeyType::kLowerName,
                 "Prefix of files, packages, C names (RNIC_, rnic_) and the C++ namespace.")),
    required(key("version", KeyType::kMapping, "Version of the map.", Element::kVersion)));
constexpr auto kIncludedKeys =
    with_common(key("name", KeyType::kRefused, "It is the map's that includes this file."),
                key("version", KeyType::kRefused, "It is the map's that includes this file."));
constexpr KeySpec kVersionKeys[] = {
    required(key("major", KeyType::kNumber, "Changes where software must; at most 255.")),
    required(key("minor", KeyType::kNumber, "Changes where something is added; at most 255.")),
    required(key("patch", KeyType::kNumber, "Changes otherwise; at most 255.")),
};
constexpr KeySpec kParameterKeys[] = {
    required(key("value", KeyType::kNumber, "Its value where none is given from outside.")),
    key("min", KeyType::kNumber, "The least value allowed."),
    key("max", KeyType::kNumber, "The greatest value allowed."),
    kDesc,
};
constexpr KeySpec kConstantKeys[] = {
    required(key("value", KeyType::kNumber, "Its value.")),
    kDesc,
};
constexpr KeySpec kEnumKeys[] = {
    kDesc,
    key("width", KeyType::kNumber,
        "Bits of the constants; without it that of the fields that use it, if they agree."),
    required(key("values", KeyType::kNamedNumbers, "NAME: number.", Element::kEnumValue)),
};
constexpr KeySpec kEnumValueKeys[] = {
    required(key("value", KeyType::kNumber, "The number.")),
    kDesc,
};
constexpr KeySpec kBlockKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the block.")),
    key("bar", KeyType::kNumber, "PCIe BAR it is in, 0 (the default) to 5."),
    required(key("size", KeyType::kNumber, "Bytes, a power of two.")),
    key("stride", KeyType::kNumber, "Bytes from one to the next where the block is repeated."),
    key("decoded_by", KeyType::kText,
        "Absent or 'generated': a register file is generated. Otherwise the module that decodes "
        "it; only offsets and masks are generated."),
    one_of("bad_access", kBadAccessWords,
           "What reads of holes show: all ones (the default), or an SLVERR answer."),
    key("bad_access_capture", KeyType::kText,
        "Register with the fields addr, write, valid that the register file fills itself."),
    key("pipelined", KeyType::kFlag, "One more cycle for every access, for large maps."),
    kDesc,
    key("registers", KeyType::kList, "Registers and register files.", Element::kRegister),
    key("windows", KeyType::kList, "Address ranges answered through a port.", Element::kWindow),
    key("interrupts", KeyType::kList, "Groups of state, enable and test.", Element::kInterrupt),
};
constexpr KeySpec kRegisterKeys[] = {
    required(key("name", KeyType::kUpperName, "Name of the register.")),
    required(key("offset", KeyType::kNumber, "Bytes from the start of its block or file.")),
    key("width", KeyType::kNumber, "Bits: 32 (the default) or 64."),
    kCount,
    key("stride", KeyType::kNumber, "Bytes from element to element; the default is its size."),
    kDesc,
    key("buffered", KeyType::kFlag,
        "Of 64 bits: true (the default) is snapshot and commit, false two words on their own."),
    key("external", KeyType::kFlag, "A request port answers it, as a window."),
    kLocked,
    kEnabled,
    required(key("fields", KeyType::kList, "Its fields.", Element::kField)),
};
constexpr KeySpec kRegisterFileKeys[] = {
    required(key("name", KeyType::kUpperName, "Prefix of its registers' names.")),
    required(key("offset", KeyType::kNumber, "Bytes from the start of its block or file.")),
    kCount,
    key("stride", KeyType::kNumber, "Bytes from element to element; an array needs it."),
    kDesc,
    required(key("registers", KeyType::kList,
                 "Registers and register files in it, with offsets from its start.",
                 Element::kRegister)),
};
constexpr KeySpec kFieldKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the field.")),
    required(key("bits", KeyType::kBits, "\"7:0\", \"3\", \"W - 1:0\".")),
    required(one_of("access", kAccessWords, "What reads and writes of software do.")),
    some_of("hw", kHwWords,
            "Ports of the register file, a word or a list; out is the default of what is stored."),
    one_of("collision", kCollisionWords,
           "Who wins a bit in the same cycle; hardware (the default): no event is lost."),
    key("reset", KeyType::kNumber, "Value after reset; 0 without it."),
    key("const", KeyType::kNumber, "It always reads this; map_hash is the hash of the map."),
    key("counter", KeyType::kMapping, "The field counts.", Element::kFieldCounter),
    kLocked,
    kEnabled,
    kEnumRef,
    kUnit,
    kDesc,
};
constexpr KeySpec kFieldCounterKeys[] = {
    key("incr", KeyType::kNumber, "Bits of the amount to add in a cycle, 0 (no port) to 32; 1."),
    key("decr", KeyType::kNumber, "Bits of the amount to take in a cycle, 0 (no port) to 32; 0."),
    key("saturate", KeyType::kNumberOrFlag,
        "false (the default): it wraps; true: it stops at all ones; a number: it stops there."),
    key("threshold", KeyType::kNumber, "The port _reached_o is 1 from this value on."),
};
constexpr KeySpec kWindowKeys[] = {
    required(key("name", KeyType::kUpperName, "Name of the window.")),
    required(key("offset", KeyType::kNumber, "Bytes from the start of the block.")),
    required(key("size", KeyType::kNumber, "Bytes, a power of two; the window is aligned to it.")),
    required(one_of("access", kWindowAccessWords, "Whether software may write.")),
    key("decoded_by", KeyType::kText,
        "The module that decodes it; without it, a port of the register file."),
    one_of("holds", kHoldsWords, "It shows the counters of the map."),
    kDesc,
};
constexpr KeySpec kInterruptKeys[] = {
    required(key("name", KeyType::kUpperName,
                 "Makes NAME_STATE, NAME_ENABLE, NAME_TEST and the output <name>_irq_o.")),
    required(key("offset", KeyType::kNumber,
                 "Bytes from the start of the block to the state; enable and test follow.")),
    kDesc,
    required(key("sources", KeyType::kList, "One bit each, from bit 0.", Element::kSource)),
};
constexpr KeySpec kSourceKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the source.")),
    one_of("kind", kIrqKindWords, "What sets its state; pulse is the default."),
    kDesc,
};
constexpr KeySpec kCounterKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the counter.")),
    kDesc,
};
constexpr KeySpec kDescriptorKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the descriptor.")),
    required(key("size", KeyType::kNumber, "Bytes, 1 to 4096.")),
    kDesc,
    key("head", KeyType::kText, "Descriptor, earlier in the map, whose fields come first."),
    required(key("fields", KeyType::kList, "Its fields.", Element::kDescField)),
    key("unions", KeyType::kList, "Fields that depend on a tag.", Element::kUnion),
};
constexpr KeySpec kDescFieldKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the field.")),
    key("sv_name", KeyType::kLowerName, "Name in SystemVerilog, where `name` is a keyword there."),
    required(key("at", KeyType::kNumber, "Byte that holds its lowest bit.")),
    key("bit", KeyType::kNumber, "Its lowest bit in that byte, 0 (the default) to 7."),
    required(key("width", KeyType::kNumber, "Bits.")),
    key("bytes", KeyType::kFlag, "A byte string in wire order."),
    kEnumRef,
    kUnit,
    kDesc,
};
constexpr KeySpec kUnionKeys[] = {
    required(key("by", KeyType::kText, "The tag: a field of the descriptor.")),
    required(key("variants", KeyType::kList, "What may be there.", Element::kVariant)),
};
constexpr KeySpec kVariantKeys[] = {
    required(key("name", KeyType::kLowerName, "Name of the variant.")),
    required(key("when", KeyType::kTexts,
                 "Values of the tag: numbers, or names of its enumeration, one or a list.")),
    kDesc,
    required(key("fields", KeyType::kList, "Fields that are there then.", Element::kDescField)),
};

constexpr std::array<ElementSpec, kNumElements> kElements = {{
    {Element::kMap, "map", "the map", "A map of registers and in-memory descriptors.", kMapKeys},
    {Element::kIncluded, "included_file", "an included file", "What a map includes.",
     kIncludedKeys},
    {Element::kVersion, "version", "version", "Version of the map.", kVersionKeys},
    {Element::kParameter, "parameter", "a parameter", "A constant with a value from outside.",
     kParameterKeys},
    {Element::kConstant, "constant", "a constant", "A number with a name.", kConstantKeys},
    {Element::kEnum, "enum", "an enum", "An enumeration.", kEnumKeys},
    {Element::kEnumValue, "enum_value", "a value", "A value of an enumeration.", kEnumValueKeys},
    {Element::kBlock, "block", "a block", "An address block.", kBlockKeys},
    {Element::kRegister, "register", "a register", "A register, or an array of them.",
     kRegisterKeys},
    {Element::kRegisterFile, "register_file", "a register file",
     "A group of registers, perhaps repeated; CTRL in CHAN[4] becomes CHAN_CTRL with four "
     "elements.",
     kRegisterFileKeys},
    {Element::kField, "field", "a field", "A field of a register.", kFieldKeys},
    {Element::kFieldCounter, "field_counter", "a counter", "How a field counts.",
     kFieldCounterKeys},
    {Element::kWindow, "window", "a window", "An address range answered through a port.",
     kWindowKeys},
    {Element::kInterrupt, "interrupt", "an interrupt group", "State, enable and test registers.",
     kInterruptKeys},
    {Element::kSource, "source", "a source", "A source of an interrupt group.", kSourceKeys},
    {Element::kCounter, "counter", "a counter", "A 64-bit counter in a window.", kCounterKeys},
    {Element::kDescriptor, "descriptor", "a descriptor",
     "A layout in memory, little-endian; a field spans at most 8 bytes unless it is a byte string.",
     kDescriptorKeys},
    {Element::kDescField, "descriptor_field", "a field", "A field of a descriptor.",
     kDescFieldKeys},
    {Element::kUnion, "union", "a union", "Fields that depend on a tag.", kUnionKeys},
    {Element::kVariant, "variant", "a variant", "Fields for some values of the tag.", kVariantKeys},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kElements.size(); ++i) {
    if (static_cast<std::size_t>(kElements[i].element) != i) return false;
  }
  return true;
}
static_assert(in_order(), "kElements is indexed by Element");

}  // namespace

const ElementSpec& element(Element e) { return kElements[static_cast<std::size_t>(e)]; }

std::span<const ElementSpec> all_elements() { return kElements; }

const KeySpec* find_key(Element e, std::string_view name) {
  for (const auto& k : element(e).keys) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

}  // namespace rnic::regs
