// SPDX-License-Identifier: Apache-2.0
//
// The language of the YAML maps, in one table: the elements, their keys, what a key may hold, and
// what it means. The readers (read_*.cpp) know no key that is not here; json_schema() prints the
// same table for editors.
//
//   element(Element::kField).keys            name, bits, access, ...
//   find_key(Element::kField, "access")->words   "rw", "ro", ...
//
// A new key is one line of map_keys.cpp and the line of the reader that takes it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rnic::regs {

enum class Element : std::uint8_t {
  kMap,
  kIncluded,  // an included file
  kVersion,
  kParameter,
  kConstant,
  kEnum,
  kEnumValue,
  kBlock,
  kRegister,
  kRegisterFile,
  kField,
  kFieldCounter,
  kWindow,
  kInterrupt,
  kSource,
  kCounter,
  kDescriptor,
  kDescField,
  kUnion,
  kVariant,
};
inline constexpr std::size_t kNumElements = 20;

// Numbers are integers or expressions over constants.
enum class KeyType : std::uint8_t {
  kLowerName,     // a new name: lower case, digits, single inner '_'
  kUpperName,     // the same in upper case
  kText,          // text; a reference to a name is one too
  kTexts,         // a text or a list of them
  kNumber,        //
  kFlag,          // true or false
  kNumberOrFlag,  //
  kBits,          // "7:0" or "3"; both may be expressions
  kWord,          // one of `words`
  kWords,         // one of `words` or a list of them
  kMapping,       // one `of`
  kList,          // a list of `of`; of registers: of register files too
  kNamedNumbers,  // a mapping: NAME: number or `of`
  kNamed,         // a mapping: name: `of`
  kRefused,       // known, but not here; the reader says why
};

struct KeySpec {
  std::string_view name;
  KeyType type;
  bool required;
  std::string_view desc;
  std::span<const std::string_view> words;  // in the order of the enumeration that the reader fills
  Element of;                               // of what mappings and lists consist
};

struct ElementSpec {
  Element element;
  std::string_view name;  // of its definition in the schema
  std::string_view what;  // "a register", in messages
  std::string_view desc;
  std::span<const KeySpec> keys;
};

[[nodiscard]] const ElementSpec& element(Element e);
[[nodiscard]] std::span<const ElementSpec> all_elements();
// Nothing when the element has no such key.
[[nodiscard]] const KeySpec* find_key(Element e, std::string_view name);

// The table as a JSON Schema (draft 7, which every editor knows).
[[nodiscard]] std::string json_schema();

}  // namespace rnic::regs
