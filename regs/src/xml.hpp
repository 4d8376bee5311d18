// SPDX-License-Identifier: Apache-2.0
//
// XML text, indented, for outputs.
//
//   Xml x("ipxact:");
//   x.open("register");  x.leaf("name", r.name);  x.leaf("addressOffset", sv_hex(r.offset));
//   x.empty("regs:field", Attributes().add("unit", "us"));  x.close();
//
// Tags are string literals; those without a prefix get that of the constructor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rnic::regs {

// For element text and for attribute values.
void append_xml(std::string& to, std::string_view text);

class Attributes {
 public:
  Attributes& add(std::string_view name, std::string_view value);
  Attributes& hex(std::string_view name, std::uint64_t value);
  Attributes& number(std::string_view name, std::uint64_t value);
  [[nodiscard]] bool none() const { return text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Xml {
 public:
  explicit Xml(std::string_view prefix) : prefix_(prefix) {}

  void head(std::string_view note);
  void open(std::string_view tag, const Attributes& attributes = {});
  void close();
  void leaf(std::string_view tag, std::string_view text);
  void leaf(std::string_view tag, std::uint64_t decimal);
  // Nothing where the text is empty.
  void leaf_if(std::string_view tag, std::string_view text) {
    if (!text.empty()) leaf(tag, text);
  }
  void empty(std::string_view tag, const Attributes& attributes);
  std::string take() { return std::move(text_); }

 private:
  void indent() { text_.append(2 * open_.size(), ' '); }
  void put(std::string_view tag);

  std::string_view prefix_;
  std::string text_;
  std::vector<std::string_view> open_;
};

}  // namespace rnic::regs
