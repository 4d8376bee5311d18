// SPDX-License-Identifier: Apache-2.0
//
// YAML as a light tree of nodes that know their places.
//
//   YamlTree tree;
//   const YamlNode* root = tree.parse(text, 0, diags);   // nullptr after a syntax error
//
// Anchors and aliases work; an alias is the same node again.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "diag.hpp"

namespace rnic::regs {

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  SourcePos pos;
  std::string text;                    // of a scalar
  std::vector<const YamlNode*> items;  // of a list; of a map key, value, key, value

  [[nodiscard]] bool is_scalar() const { return kind == Kind::kScalar; }
  [[nodiscard]] bool is_list() const { return kind == Kind::kList; }
  [[nodiscard]] bool is_map() const { return kind == Kind::kMap; }
};

class YamlTree {
 public:
  const YamlNode* parse(const std::string& text, int file, Diagnostics& diags);
  // The same by the library alone.
  const YamlNode* parse_slow(const std::string& text, int file, Diagnostics& diags);

  YamlNode* add(YamlNode::Kind kind, SourcePos pos) {
    auto& n = nodes_.emplace_back();
    n.kind = kind;
    n.pos = pos;
    return &n;
  }

 private:
  std::deque<YamlNode> nodes_;
};

}  // namespace rnic::regs
