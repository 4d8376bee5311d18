// SPDX-License-Identifier: Apache-2.0
#include "yaml_syntax.hpp"

#include <fmt/format.h>

#include <utility>

#include "yaml_cursor.hpp"

namespace rnic::regs {
namespace {

using Kind = SyntaxNode::Kind;

class Parser : private YamlCursor {
 public:
  explicit Parser(const std::string& text) : YamlCursor(text) {}

  SyntaxFile run() {
    SyntaxFile file;
    gather();
    if (!at_end()) {
      file.root = block_node(-1);
      if (!at_end()) fail("this stands outside of the mapping before it");
    }
    auto& last = file.root.last;
    for (auto& p : std::exchange(pending_, {})) last.push_back(std::move(p.text));
    return file;
  }

 private:
  struct Pending {
    int col;
    std::string text;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw SyntaxError(line_, col() + 1, what);
  }

  void spaces() {
    while (peek() == ' ') ++pos_;
    if (peek() == '\t') fail("a tab; write spaces");
  }

  std::string rest_of_line() {
    const auto end = text_.find('\n', pos_);
    std::string s = text_.substr(pos_, end == std::string::npos ? end : end - pos_);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\r' || s.back() == '\t')) s.pop_back();
    pos_ = end == std::string::npos ? text_.size() : end;
    return s;
  }

  // Comments and empty lines up to the next line that holds something, into pending_.
  void gather() {
    while (!at_end()) {
      spaces();
      if (at_end()) return;
      if (peek() == '\r' || peek() == '\n') {
        pending_.push_back({col(), ""});
        (void)rest_of_line();
        newline();
      } else if (peek() == '#') {
        const int c = col();
        pending_.push_back({c, rest_of_line()});
        newline();
      } else {
        if (at_document_mark()) {
          fail("a directive or document mark; a map is one document without them");
        }
        return;
      }
    }
  }

  CommentLines take_pending() {
    CommentLines list;
    for (auto& p : std::exchange(pending_, {})) list.push_back(std::move(p.text));
    return list;
  }

  // Comments that stand at least as deep as a collection that ends here belong to its end.
  void take_last(SyntaxNode& n, int mine) {
    std::size_t k = 0;
    for (std::size_t i = 0; i < pending_.size(); ++i) {
      if (pending_[i].text.empty()) continue;
      if (pending_[i].col < mine) break;
      k = i + 1;
    }
    for (std::size_t i = 0; i < k; ++i) n.last.push_back(std::move(pending_[i].text));
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(k));
  }

  // The comment at the end of the line, which holds nothing else; then to the next content.
  std::string end_of_line() {
    std::string comment;
    const bool apart = peek() == ' ' || (pos_ > line_start_ && text_[pos_ - 1] == ' ');
    spaces();
    if (peek() == '#' && apart) {
      comment = rest_of_line();
    } else if (peek() == '\r') {
      ++pos_;
    }
    if (peek() != '\n') fail("this belongs on a line of its own, or in quotes");
    newline();
    gather();
    return comment;
  }

  [[nodiscard]] bool rest_is_empty() {
    const auto from = pos_;
    const bool apart = peek() == ' ';
    spaces();
    const bool empty = peek() == '\n' || peek() == '\r' || (peek() == '#' && apart);
    pos_ = from;
    return empty;
  }

  std::string anchor() {
    if (peek() != '&') return {};
    const auto from = pos_;
    while (!ends_word(peek())) ++pos_;
    return text_.substr(from, pos_ - from) + " ";
  }

  // A block collection, or one line with a scalar or a flow collection: its comment goes to
  // `tail_`.
  SyntaxNode block_node(int outer) {
    if (at_dash()) return block_list();
    if (looks_like_key()) return block_map();
    return inline_node(outer);
  }

  // A plain or quoted scalar with ": " behind it.
  bool looks_like_key() {
    const auto from = pos_;
    if (peek() == '{' || peek() == '[' || peek() == '&' || peek() == '*') return false;
    (void)scalar(false);
    const bool key = at_colon();
    pos_ = from;
    return key;
  }

  SyntaxNode inline_node(int outer) {
    SyntaxNode n;
    const auto a = anchor();
    if (!a.empty()) spaces();
    if (peek() == '{' || peek() == '[') {
      n = flow();
    } else {
      n.text = scalar(false);
      if (at_colon()) fail("a mapping inside of a line; use braces");
    }
    n.anchor = a;
    tail_ = end_of_line();
    if (!at_end() && col() > outer) fail("a text over several lines; write it in one");
    return n;
  }

  SyntaxNode block_list() {
    SyntaxNode n;
    n.kind = Kind::kBlockList;
    const int mine = col();
    while (!at_end() && col() == mine && at_dash()) {
      SyntaxItem item;
      item.before = take_pending();
      ++pos_;
      item_value(item, mine);
      n.items.push_back(std::move(item));
    }
    if (!at_end() && col() > mine) fail("this stands too deep");
    take_last(n, mine);
    return n;
  }

  // Behind "-": in the same line or the next.
  void item_value(SyntaxItem& item, int mine) {
    if (rest_is_empty()) {
      item.key_comment = end_of_line();
      if (at_end() || col() <= mine) return;
      item.value = block_node(mine);
    } else {
      spaces();
      item.value = block_node(mine);
    }
    item.comment = std::exchange(tail_, {});
  }

  SyntaxNode block_map() {
    SyntaxNode n;
    n.kind = Kind::kBlockMap;
    const int mine = col();
    while (!at_end() && col() == mine && !at_dash()) {
      SyntaxItem item;
      item.before = take_pending();
      item.key = scalar(false);
      if (!at_colon()) fail("a key without ': '");
      ++pos_;
      map_value(item, mine);
      n.items.push_back(std::move(item));
    }
    if (!at_end() && col() > mine) fail("this stands too deep");
    take_last(n, mine);
    return n;
  }

  void map_value(SyntaxItem& item, int mine) {
    const auto from = pos_;
    spaces();
    const auto a = anchor();
    if (a.empty()) pos_ = from;
    if (rest_is_empty()) {
      item.key_comment = end_of_line();
      const bool inside = !at_end() && (col() > mine || (col() == mine && at_dash()));
      if (inside) {
        item.value = at_dash() ? block_list() : block_node(mine);
      } else if (!a.empty()) {
        fail("an anchor on nothing");
      }
      item.value.anchor = a;
    } else {
      pos_ = from;
      spaces();
      if (at_dash()) fail("a list begins on a line of its own");
      item.value = inline_node(mine);
    }
    item.comment = std::exchange(tail_, {});
  }

  // As written.
  std::string scalar(bool in_flow) {
    const char c = peek();
    const auto from = pos_;
    if (c == '"' || c == '\'') {
      quoted(c);
      return text_.substr(from, pos_ - from);
    }
    if (c == '|' || c == '>') fail("a block scalar; write the text in one line, in quotes");
    if (c == '!') fail("a tag; a map needs none");
    for (const char bad : {'&', '%', '@', '`', '{', '}', '[', ']', ',', '#', '\n'}) {
      if (c == bad) fail(fmt::format("'{}' here; write the text in quotes", c));
    }
    if ((c == '?' || c == ':') && ends_word(peek(1))) fail("a key that is no plain text");
    const auto last = plain_end(in_flow);
    if (peek() == '\t') fail("a tab; write spaces");
    if (peek() == '{' || peek() == '[') fail("a bracket in a text; write it in quotes");
    pos_ = last;
    if (last == from) fail("nothing where a value should be");
    auto s = text_.substr(from, last - from);
    spaces();
    if (peek() != ':') pos_ = last;
    return s;
  }

  void quoted(char quote) {
    for (++pos_;; ++pos_) {
      const char c = peek();
      if (at_end() || c == '\n') fail("a text over several lines; write it in one");
      if (c == '\\' && quote == '"') {
        ++pos_;
      } else if (c == quote && quote == '\'' && peek(1) == quote) {
        ++pos_;
      } else if (c == quote) {
        break;
      }
    }
    ++pos_;
    const auto from = pos_;
    spaces();
    if (peek() != ':') pos_ = from;
  }

  // Over white space in a flow collection; comments of their own lines go to `before`, one at the
  // end of a line to the item that stands there.
  void flow_space(CommentLines& before, std::string* comment) {
    for (;;) {
      const bool apart = pos_ == line_start_ || text_[pos_ - 1] == ' ' || peek() == ' ';
      spaces();
      if (at_end()) fail("a bracket is not closed");
      if (peek() == '#' && apart) {
        auto text = rest_of_line();
        if (comment != nullptr && comment->empty() && before.empty()) {
          *comment = std::move(text);
        } else {
          before.push_back(std::move(text));
        }
      } else if (peek() == '\r') {
        ++pos_;
      } else if (peek() == '\n') {
        newline();
        comment = nullptr;
      } else {
        return;
      }
    }
  }

  SyntaxNode flow() {
    const bool map = peek() == '{';
    const char close = map ? '}' : ']';
    SyntaxNode n;
    n.kind = map ? Kind::kFlowMap : Kind::kFlowList;
    ++pos_;
    CommentLines before;
    flow_space(before, nullptr);
    while (peek() != close) {
      SyntaxItem item;
      item.before = std::exchange(before, {});
      if (map) flow_key(item);
      item.value = flow_value();
      flow_space(before, &item.comment);
      n.items.push_back(std::move(item));
      if (peek() == ',') {
        ++pos_;
        flow_space(before, &n.items.back().comment);
      } else if (peek() != close) {
        fail("',' or a closing bracket is missing before this");
      }
    }
    n.last = std::move(before);
    ++pos_;
    return n;
  }

  void flow_key(SyntaxItem& item) {
    item.key = scalar(true);
    if (!at_colon()) fail("a key without ': '");
    ++pos_;
    CommentLines none;
    flow_space(none, nullptr);
    if (!none.empty()) fail("a comment between a key and its value");
  }

  SyntaxNode flow_value() {
    SyntaxNode n;
    const auto a = anchor();
    if (!a.empty()) spaces();
    if (peek() == '{' || peek() == '[') {
      n = flow();
    } else {
      n.text = scalar(true);
    }
    n.anchor = a;
    return n;
  }

  std::vector<Pending> pending_;
  std::string tail_;
};

}  // namespace

SyntaxFile parse_syntax(const std::string& text) { return Parser(text).run(); }

}  // namespace rnic::regs
