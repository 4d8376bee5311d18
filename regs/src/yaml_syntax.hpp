// SPDX-License-Identifier: Apache-2.0
//
// YAML as it is written, with comments, empty lines and the spelling of scalars (not part of the
// public interface): for the formatter.
//
//   const SyntaxFile file = parse_syntax(text);   // throws SyntaxError with line and column
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rnic::regs {

struct SyntaxError : std::runtime_error {
  SyntaxError(int line, int col, const std::string& what)
      : std::runtime_error(what), line(line), col(col) {}
  int line, col;
};

// A line of its own with a comment, or an empty line (text empty).
using CommentLines = std::vector<std::string>;

struct SyntaxItem;

struct SyntaxNode {
  enum class Kind : std::uint8_t { kScalar, kFlowMap, kFlowList, kBlockMap, kBlockList };
  Kind kind = Kind::kScalar;
  std::string anchor;  // "&name " or nothing
  std::string text;    // of a scalar, as written; empty: nothing was written
  std::vector<SyntaxItem> items;
  CommentLines last;  // behind the last item

  [[nodiscard]] bool is_block() const {
    return kind == Kind::kBlockMap || kind == Kind::kBlockList;
  }
  [[nodiscard]] bool is_map() const { return kind == Kind::kBlockMap || kind == Kind::kFlowMap; }
};

struct SyntaxItem {
  CommentLines before;
  std::string key;          // of a mapping, as written
  std::string key_comment;  // behind "key:", where the value begins in the next line
  SyntaxNode value;
  std::string comment;  // behind the value, on its last line
};

struct SyntaxFile {
  SyntaxNode root;
};

[[nodiscard]] SyntaxFile parse_syntax(const std::string& text);

}  // namespace rnic::regs
