// SPDX-License-Identifier: Apache-2.0
//
// Where a parser of YAML stands in its text, and the lexical rules that the reader of maps
// (yaml_fast.cpp) and that of the formatter (yaml_syntax.cpp) have in common (not part of the
// public interface).
//
//   class Parser : private YamlCursor { ... if (at_colon()) ...; };
#pragma once

#include <cstddef>
#include <string>

namespace rnic::regs {

class YamlCursor {
 protected:
  explicit YamlCursor(const std::string& text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return pos_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t n = 0) const {
    return pos_ + n < text_.size() ? text_[pos_ + n] : '\n';
  }
  [[nodiscard]] int col() const { return static_cast<int>(pos_ - line_start_); }
  static bool ends_word(char c) { return c == ' ' || c == '\n' || c == '\r'; }
  // The mark of a list item, or the one behind a key.
  [[nodiscard]] bool at_dash() const { return peek() == '-' && ends_word(peek(1)); }
  [[nodiscard]] bool at_colon() const { return peek() == ':' && ends_word(peek(1)); }
  // "%", "---" or "..." at the start of a line.
  [[nodiscard]] bool at_document_mark() const {
    return col() == 0 && (peek() == '%' || text_.compare(pos_, 3, "---") == 0 ||
                          text_.compare(pos_, 3, "...") == 0);
  }

  // Over the line end that stands here.
  void newline() {
    if (at_end()) return;
    ++pos_;
    ++line_;
    line_start_ = pos_;
  }

  // Over a plain scalar: to what ends it, or to what may not be in it (a tab, an opening bracket
  // inside of a flow collection). Returns where its last word ends.
  std::size_t plain_end(bool in_flow) {
    auto last = pos_;
    for (;; ++pos_) {
      const char x = peek();
      if (x == '\n' || x == '\r' || x == '\t' || (x == '#' && text_[pos_ - 1] == ' ')) break;
      const char next = peek(1);
      if (x == ':' &&
          (ends_word(next) || (in_flow && (next == ',' || next == '}' || next == ']')))) {
        break;
      }
      if (in_flow && (x == ',' || x == '}' || x == ']' || x == '{' || x == '[')) break;
      if (x != ' ') last = pos_ + 1;
    }
    return last;
  }

  const std::string& text_;
  std::size_t pos_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace rnic::regs
