// SPDX-License-Identifier: Apache-2.0
//
// The keys of one YAML mapping (not part of the public interface), judged by the table of
// map_keys.hpp: unknown, double and missing keys are errors. The places go to the element that is
// read.
//
//   Keys k(*this, node, Element::kWindow, "a window", &w);
//   w.size = k.number("size").value_or(0);
#pragma once

#include "map_keys.hpp"
#include "suggest.hpp"
#include "yaml_reader.hpp"

namespace rnic::regs {

class YamlReader::Keys {
 public:
  Keys(YamlReader& reader, const YamlNode& node, Element element, std::string what,
       Located* to = nullptr);

  const YamlNode* get(std::string_view key);
  std::string text(std::string_view key);
  std::optional<std::uint64_t> number(std::string_view key);
  bool flag(std::string_view key, bool otherwise = false);
  // Which of the words of the table; an unknown one is an error.
  std::optional<std::size_t> word(std::string_view key);
  // For a key that is only sometimes required.
  void require(std::string_view key);
  // The words of the table.
  [[nodiscard]] std::vector<std::string> words(std::string_view key) const;
  bool has(std::string_view key) { return get(key) != nullptr; }
  SourcePos at(std::string_view key);
  [[nodiscard]] SourcePos pos() const { return pos_; }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  void check_known(Located* to);
  void check_required();
  [[nodiscard]] const KeySpec& spec(std::string_view key) const;

  YamlReader& reader_;
  const YamlNode& node_;
  Element element_;
  std::string what_;
  SourcePos pos_;
  bool ok_ = true;
};

}  // namespace rnic::regs
