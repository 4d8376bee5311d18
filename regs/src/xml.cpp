// SPDX-License-Identifier: Apache-2.0
#include "xml.hpp"

#include <fmt/format.h>

#include <iterator>

namespace rnic::regs {

void append_xml(std::string& to, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        to += "&amp;";
        break;
      case '<':
        to += "&lt;";
        break;
      case '>':
        to += "&gt;";
        break;
      case '"':
        to += "&quot;";
        break;
      default:
        to += c;
    }
  }
}

Attributes& Attributes::add(std::string_view name, std::string_view value) {
  text_ += ' ';
  text_ += name;
  text_ += "=\"";
  append_xml(text_, value);
  text_ += '"';
  return *this;
}

Attributes& Attributes::hex(std::string_view name, std::uint64_t value) {
  fmt::format_to(std::back_inserter(text_), " {}=\"{:#x}\"", name, value);
  return *this;
}

Attributes& Attributes::number(std::string_view name, std::uint64_t value) {
  fmt::format_to(std::back_inserter(text_), " {}=\"{}\"", name, value);
  return *this;
}

// A comment must not hold two hyphens in a row.
void Xml::head(std::string_view note) {
  text_ +=
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- SPDX-License-Identifier: Apache-2.0 -->";
  text_ += "\n<!-- ";
  for (const char c : note) {
    if (c == '-' && text_.back() == '-') text_ += ' ';
    text_ += c;
  }
  text_ += " -->\n";
}

void Xml::put(std::string_view tag) {
  if (tag.find(':') == std::string_view::npos) text_ += prefix_;
  text_ += tag;
}

void Xml::open(std::string_view tag, const Attributes& attributes) {
  indent();
  text_ += '<';
  put(tag);
  text_ += attributes.text();
  text_ += ">\n";
  open_.push_back(tag);
}

void Xml::close() {
  const auto tag = open_.back();
  open_.pop_back();
  indent();
  text_ += "</";
  put(tag);
  text_ += ">\n";
}

void Xml::leaf(std::string_view tag, std::string_view text) {
  indent();
  text_ += '<';
  put(tag);
  text_ += '>';
  append_xml(text_, text);
  text_ += "</";
  put(tag);
  text_ += ">\n";
}

void Xml::leaf(std::string_view tag, std::uint64_t decimal) {
  const fmt::format_int digits(decimal);
  leaf(tag, std::string_view(digits.data(), digits.size()));
}

void Xml::empty(std::string_view tag, const Attributes& attributes) {
  indent();
  text_ += '<';
  put(tag);
  text_ += attributes.text();
  text_ += "/>\n";
}

}  // namespace rnic::regs
