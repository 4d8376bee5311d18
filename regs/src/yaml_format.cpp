// SPDX-License-Identifier: Apache-2.0
#include "yaml_format.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yaml_syntax.hpp"
#include "yaml_tree.hpp"

namespace rnic::regs {
namespace {

constexpr std::size_t kColumns = 120;

using Kind = SyntaxNode::Kind;

// Characters, not bytes.
std::size_t width(std::string_view s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

class Printer {
 public:
  std::string run(const SyntaxFile& file) {
    if (file.root.is_block()) {
      block(file.root, 0, false);
    } else if (!file.root.items.empty() || !file.root.text.empty()) {
      flow(file.root, 0);
      newline();
    }
    if (!file.root.is_block()) comments(file.root.last, 0);
    while (out_.size() >= 2 && out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  void put(std::string_view s) {
    out_ += s;
    col_ += width(s);
  }
  void newline() {
    while (!out_.empty() && out_.back() == ' ') out_.pop_back();
    out_ += '\n';
    col_ = 0;
  }
  void indent(std::size_t n) { put(std::string(n, ' ')); }

  // Lines of their own. No empty line at the start of the file or of a collection, no two in a row.
  void comments(const CommentLines& lines, std::size_t at, bool first = false) {
    bool empty_before = first || out_.empty() || out_.ends_with("\n\n");
    for (const auto& l : lines) {
      if (l.empty()) {
        if (!empty_before) newline();
        empty_before = true;
        continue;
      }
      indent(at);
      put(l);
      newline();
      empty_before = false;
    }
  }

  void tail(const std::string& comment) {
    if (!comment.empty()) put("  " + comment);
    newline();
  }

  // `inside`: its first line goes on behind "- ".
  void block(const SyntaxNode& n, std::size_t at, bool inside) {
    bool first = true;
    for (const auto& item : n.items) {
      if (!first || !inside) {
        comments(item.before, at, first && at != 0);
        indent(at);
      }
      first = false;
      if (n.is_map()) {
        put(item.key + ":");
        map_value(item, at);
      } else {
        put("-");
        list_value(item, at);
      }
    }
    comments(n.last, at);
  }

  void map_value(const SyntaxItem& item, std::size_t at) {
    const auto& v = item.value;
    if (v.is_block()) {
      if (!v.anchor.empty()) put(" " + v.anchor);
      tail(item.key_comment);
      block(v, at + 2, false);
    } else {
      one_line(item);
    }
  }

  void list_value(const SyntaxItem& item, std::size_t at) {
    const auto& v = item.value;
    if (!v.is_block()) {
      one_line(item);
    } else if (item.key_comment.empty() && v.items[0].before.empty() && v.anchor.empty()) {
      put(" ");
      block(v, at + 2, true);
    } else {
      if (!v.anchor.empty()) put(" " + v.anchor);
      tail(item.key_comment);
      block(v, at + 2, false);
    }
  }

  // A scalar or a flow collection behind what stands there. A comment of the key comes before.
  void one_line(const SyntaxItem& item) {
    const auto& v = item.value;
    const bool nothing = v.kind == Kind::kScalar && v.text.empty() && v.anchor.empty();
    if (!nothing) {
      put(" ");
      flow(v, 0);
    }
    const bool two = !item.key_comment.empty() && !item.comment.empty();
    tail(item.key_comment + (two ? " " : "") + item.comment);
  }

  static bool has_comment(const SyntaxNode& n) {
    return !n.last.empty() || std::any_of(n.items.begin(), n.items.end(), [](const auto& i) {
      return !i.before.empty() || !i.comment.empty() || has_comment(i.value);
    });
  }

  static std::string flat(const SyntaxNode& n) {
    if (n.kind == Kind::kScalar) return n.anchor + n.text;
    std::string s = n.anchor + (n.is_map() ? "{" : "[");
    for (const auto& item : n.items) {
      if (&item != n.items.data()) s += ", ";
      if (n.is_map()) s += item.key + ": ";
      s += flat(item.value);
    }
    return s + (n.is_map() ? "}" : "]");
  }

  // `behind`: columns of the closing brackets that follow on the line.
  void flow(const SyntaxNode& n, std::size_t behind) {
    if (n.kind == Kind::kScalar || n.items.empty()) {
      if (n.kind == Kind::kScalar || !has_comment(n)) {
        put(flat(n));
        return;
      }
    }
    if (!has_comment(n)) {
      const auto s = flat(n);
      if (col_ + width(s) + behind <= kColumns) {
        put(s);
        return;
      }
    }
    broken(n, behind);
  }

  static bool one_a_line(const SyntaxNode& n) {
    if (has_comment(n)) return true;
    return !n.is_map() && std::any_of(n.items.begin(), n.items.end(),
                                      [](const auto& i) { return i.value.kind != Kind::kScalar; });
  }

  void broken(const SyntaxNode& n, std::size_t behind) {
    put(n.anchor + (n.is_map() ? "{" : "["));
    const auto inner = col_;
    const bool each = one_a_line(n);
    bool comment_open = false;  // the line ends with a comment
    for (std::size_t i = 0; i < n.items.size(); ++i) {
      const auto& item = n.items[i];
      const bool last = i + 1 == n.items.size();
      if (i != 0) next(n, item, inner, each || comment_open, last ? behind + 1 : 1);
      for (const auto& c : item.before) {
        put(c);
        newline();
        indent(inner);
      }
      if (n.is_map()) put(item.key + ": ");
      flow(item.value, last ? behind + 1 : 1);
      if (!last) put(",");
      comment_open = !item.comment.empty();
      if (comment_open) put("  " + item.comment);
    }
    for (const auto& c : n.last) {
      if (!n.items.empty() || &c != n.last.data()) {
        newline();
        indent(inner);
      }
      put(c);
      comment_open = true;
    }
    if (comment_open) {
      newline();
      indent(inner - 1);
    }
    put(n.is_map() ? "}" : "]");
  }

  // Before an item that is not the first: on this line where it fits, else on the next.
  void next(const SyntaxNode& n, const SyntaxItem& item, std::size_t inner, bool must,
            std::size_t behind) {
    bool fits = !must && !has_comment(item.value) && item.before.empty();
    if (fits) {
      const auto size = (n.is_map() ? width(item.key) + 2 : 0) + width(flat(item.value));
      fits = col_ + 1 + size + behind <= kColumns;
    }
    if (fits) {
      put(" ");
    } else {
      newline();
      indent(inner);
    }
  }

  std::string out_;
  std::size_t col_ = 0;
};

bool same(const YamlNode* a, const YamlNode* b) {
  if (a->kind != b->kind || a->text != b->text || a->items.size() != b->items.size()) return false;
  for (std::size_t i = 0; i < a->items.size(); ++i) {
    if (!same(a->items[i], b->items[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<std::string> format_yaml(const std::string& text, Diagnostics& diags) {
  YamlTree before;
  const auto* old_root = before.parse(text, 0, diags);
  if (old_root == nullptr) return std::nullopt;
  std::string result;
  try {
    result = Printer().run(parse_syntax(text));
  } catch (const SyntaxError& e) {
    diags.error({e.line, e.col, 0}, "format", e.what());
    return std::nullopt;
  }
  YamlTree after;
  Diagnostics again("the formatted text");
  const auto* new_root = after.parse(result, 0, again);
  if (new_root == nullptr || !same(old_root, new_root)) {
    diags.error({}, "format", "formatted, it would be another map; nothing is changed");
    return std::nullopt;
  }
  return result;
}

}  // namespace rnic::regs
