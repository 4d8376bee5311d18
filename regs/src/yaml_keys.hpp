// SPDX-License-Identifier: Apache-2.0
//
// The keys of one YAML mapping (not part of the public interface): unknown and double keys are
// errors, missing ones too where they are required. The places go to the element that is read.
#pragma once

#include "suggest.hpp"
#include "yaml_reader.hpp"

namespace rnic::regs {

class YamlReader::Keys {
 public:
  // `known` holds string literals.
  Keys(YamlReader& reader, const YamlNode& node, std::string what,
       std::initializer_list<std::string_view> known, Located* to = nullptr);

  const YamlNode* get(std::string_view key, bool required);
  std::string text(std::string_view key, bool required);
  std::optional<std::uint64_t> number(std::string_view key, bool required);
  bool flag(std::string_view key, bool otherwise = false);
  // One of the words; an unknown one is an error "what 'word'; known: ...".
  std::optional<std::size_t> word(std::string_view key, std::initializer_list<std::string_view> all,
                                  bool required);
  bool has(std::string_view key) { return get(key, false) != nullptr; }
  SourcePos at(std::string_view key);
  [[nodiscard]] SourcePos pos() const { return pos_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  YamlReader& reader_;
  const YamlNode& node_;
  std::string what_;
  SourcePos pos_;
  bool ok_ = true;
};

}  // namespace rnic::regs
