// SPDX-License-Identifier: Apache-2.0
#include "yaml_fast.hpp"

#include <string_view>

#include "yaml_cursor.hpp"

namespace rnic::regs {
namespace {

struct GiveUp {};

// One level of nesting; the library says what is too deep.
class Deeper {
 public:
  explicit Deeper(int& depth) : depth_(depth) {
    if (++depth_ > 100) throw GiveUp();
  }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

class FastYaml : private YamlCursor {
 public:
  FastYaml(const std::string& text, int file, YamlTree& tree)
      : YamlCursor(text), file_(file), tree_(tree) {}

  const YamlNode* run() {
    if (text_.compare(0, 3, "\xEF\xBB\xBF") == 0) throw GiveUp();  // a byte order mark
    next_line();
    if (at_end()) return nullptr;
    const auto* root = node(-1);
    if (!at_end()) throw GiveUp();
    return root;
  }

 private:
  using Kind = YamlNode::Kind;

  [[nodiscard]] SourcePos place() const { return {line_, col() + 1, file_}; }

  void spaces() {
    while (peek() == ' ' && !at_end()) ++pos_;
    if (peek() == '\t') throw GiveUp();
  }

  // The rest of the line holds nothing but perhaps a comment.
  bool rest_is_empty() {
    const bool apart = pos_ == line_start_ || text_[pos_ - 1] == ' ' || peek() == ' ';
    spaces();
    if (peek() == '\r') ++pos_;
    return peek() == '\n' || (peek() == '#' && apart);
  }

  void skip_line() {
    while (!at_end() && text_[pos_] != '\n') ++pos_;
    newline();
  }

  // To the first character of the next line that holds something.
  void next_line() {
    while (!at_end()) {
      spaces();
      if (at_end()) return;
      if (peek() == '\r' || peek() == '\n' || peek() == '#') {
        skip_line();
        continue;
      }
      if (at_document_mark()) throw GiveUp();
      return;
    }
  }

  void end_of_line() {
    if (!rest_is_empty()) throw GiveUp();
    skip_line();
    next_line();
  }

  // A node that starts here, inside something at column `outer`.
  const YamlNode* node(int outer) {
    const Deeper deeper(depth_);
    if (at_dash()) return list();
    const auto start = place();
    const auto from = pos_;
    if (peek() == '{' || peek() == '[') {
      const auto* n = flow();
      end_of_line();
      no_more_inside(outer);
      return n;
    }
    const auto* first = scalar(false);
    if (at_colon()) {
      pos_ = from;
      return mapping(start);
    }
    end_of_line();
    no_more_inside(outer);
    return first;
  }

  // A scalar does not go on in the next line.
  void no_more_inside(int outer) const {
    if (!at_end() && col() > outer) throw GiveUp();
  }

  const YamlNode* list() {
    auto* n = tree_.add(Kind::kList, place());
    const int mine = col();
    while (!at_end() && col() == mine && at_dash()) {
      ++pos_;
      if (rest_is_empty()) {
        skip_line();
        next_line();
        if (at_end() || col() <= mine) throw GiveUp();  // an empty item
      }
      n->items.push_back(node(mine));
    }
    if (!at_end() && col() > mine) throw GiveUp();
    return n;
  }

  const YamlNode* mapping(SourcePos start) {
    auto* n = tree_.add(Kind::kMap, start);
    const int mine = col();
    while (!at_end() && col() == mine && !at_dash()) {
      n->items.push_back(scalar(false));
      if (!at_colon()) throw GiveUp();
      ++pos_;
      if (rest_is_empty()) {
        skip_line();
        next_line();
        if (at_end() || col() < mine || (col() == mine && !at_dash())) throw GiveUp();  // no value
        n->items.push_back(col() == mine ? list() : node(mine));
      } else {
        n->items.push_back(value());
        end_of_line();
      }
    }
    if (!at_end() && col() > mine) throw GiveUp();
    return n;
  }

  // Behind "key: ".
  const YamlNode* value() {
    if (peek() == '{' || peek() == '[') return flow();
    if (at_dash()) throw GiveUp();
    const auto* n = scalar(false);
    if (peek() == ':') throw GiveUp();
    return n;
  }

  const YamlNode* scalar(bool in_flow) {
    const auto start = place();
    const char c = peek();
    if (c == '"' || c == '\'') return quoted(c, start);
    for (const char bad :
         {'&', '*', '!', '|', '>', '%', '@', '`', '{', '}', '[', ']', ',', '#', '\n'}) {
      if (c == bad) throw GiveUp();
    }
    if ((c == '?' || c == '-' || c == ':') && ends_word(peek(1))) throw GiveUp();
    const auto from = pos_;
    const auto last = plain_end(in_flow);
    if (peek() == '\t' || peek() == '{' || peek() == '[') throw GiveUp();
    if (last == from) throw GiveUp();
    const std::string_view word(text_.data() + from, last - from);
    const bool null = word == "~" || word == "null" || word == "Null" || word == "NULL";
    auto* n = tree_.add(null ? Kind::kNull : Kind::kScalar, start);
    if (!null) n->text = word;
    pos_ = last;
    if (in_flow || peek() == ':') {
      while (peek() == ' ') ++pos_;
    }
    if (peek() == ':' && last != pos_) throw GiveUp();  // "key : value"
    return n;
  }

  const YamlNode* quoted(char quote, SourcePos start) {
    auto* n = tree_.add(Kind::kScalar, start);
    ++pos_;
    for (;; ++pos_) {
      const char c = peek();
      if (c == '\n') throw GiveUp();
      if (c == quote && quote == '\'' && peek(1) == quote) {
        n->text += quote;
        ++pos_;
      } else if (c == quote) {
        break;
      } else if (c == '\\' && quote == '"') {
        ++pos_;
        if (peek() != '"' && peek() != '\\') throw GiveUp();
        n->text += peek();
      } else {
        n->text += c;
      }
    }
    ++pos_;
    return n;
  }

  // Over white space, comments and line ends between the parts of a flow collection.
  void flow_space() {
    for (;;) {
      if (at_end()) throw GiveUp();
      if (!rest_is_empty()) return;
      skip_line();
    }
  }

  const YamlNode* flow() {
    const Deeper deeper(depth_);
    const bool map = peek() == '{';
    const char close = map ? '}' : ']';
    auto* n = tree_.add(map ? Kind::kMap : Kind::kList, place());
    ++pos_;
    flow_space();
    while (peek() != close) {
      n->items.push_back(flow_item());
      if (!map) flow_space();
      if (map) {  // the colon stands on the line of the key
        if (!at_colon()) throw GiveUp();
        ++pos_;
        flow_space();
        n->items.push_back(flow_item());
        flow_space();
      }
      if (peek() == ',') {
        ++pos_;
        flow_space();
      } else if (peek() != close) {
        throw GiveUp();
      }
    }
    ++pos_;
    return n;
  }

  const YamlNode* flow_item() { return peek() == '{' || peek() == '[' ? flow() : scalar(true); }

  int file_;
  YamlTree& tree_;
  int depth_ = 0;
};

}  // namespace

const YamlNode* parse_yaml_fast(const std::string& text, int file, YamlTree& tree) {
  try {
    return FastYaml(text, file, tree).run();
  } catch (const GiveUp&) {
    return nullptr;
  }
}

}  // namespace rnic::regs
