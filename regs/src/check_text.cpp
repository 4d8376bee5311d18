// SPDX-License-Identifier: Apache-2.0
//
// Descriptions and units: one paragraph of plain text, since outputs put them into comments.
#include <fmt/format.h>

#include <sstream>

#include "check.hpp"
#include "utf8.hpp"

namespace rnic::regs {
namespace {

// Line ends and tabs become spaces.
std::string paragraph(const std::string& text) {
  if (text.find_first_of("\n\r\t") == std::string::npos) return text;
  std::istringstream in(text);
  std::string out, word;
  while (in >> word) out += (out.empty() ? "" : " ") + word;
  return out;
}

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}

class Texts {
 public:
  explicit Texts(Diagnostics& diags) : diags_(diags) {}

  void check(const Located& x, std::string_view key, std::string& text) {
    if (first_non_text(text)) {
      diags_.error(
          x.at(key), "text",
          fmt::format("'{}' holds a control character or no UTF-8: write plain text", key));
      text.clear();
    }
    text = paragraph(text);
    if (ends_with(text, "\\") || ends_with(text, "??/")) {
      diags_.error(x.at(key), "text",
                   fmt::format("'{}' ends in a backslash, which goes on in the next line of a "
                               "comment in C: end it with a full stop",
                               key));
    }
  }

  template <typename List>
  void check_all(List& list) {
    for (auto& x : list) check(x, "desc", x.desc);
  }

  template <typename List>
  void check_units(List& list) {
    check_all(list);
    for (auto& x : list) check(x, "unit", x.unit);
  }

 private:
  Diagnostics& diags_;
};

}  // namespace

void check_texts(Map& map, Diagnostics& diags) {
  Texts t(diags);
  t.check(map, "description", map.desc);
  t.check_all(map.constants);
  t.check_all(map.enums);
  for (auto& e : map.enums) t.check_all(e.values);
  t.check_all(map.blocks);
  for (auto& b : map.blocks) {
    t.check_all(b.files);
    t.check_all(b.registers);
    for (auto& r : b.registers) t.check_units(r.fields);
    t.check_all(b.windows);
    t.check_all(b.interrupts);
    for (auto& i : b.interrupts) t.check_all(i.sources);
  }
  t.check_all(map.counters);
  t.check_all(map.descriptors);
  for (auto& d : map.descriptors) {
    t.check_units(d.fields);
    for (auto& u : d.unions) {
      t.check_all(u.variants);
      for (auto& v : u.variants) t.check_units(v.fields);
    }
  }
}

}  // namespace rnic::regs
