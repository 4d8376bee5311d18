// SPDX-License-Identifier: Apache-2.0
//
// The registers of a block as a tree again, for outputs whose formats have register files.
//
//   for (const auto& n : register_tree(block)) n.file ? visit(n.inside) : write(*n.reg, n.offset);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

struct RegNode {
  const Register* reg = nullptr;  // or a file
  const RegFile* file = nullptr;
  std::uint64_t offset = 0;  // of element 0, from element 0 of the file around it
  std::uint64_t body = 0;    // of one element, to the end of what is in it
  std::uint64_t size = 0;    // of one element; of a repeated file its stride, if not crowded
  std::optional<Dim> dim;    // its own
  std::vector<RegNode> inside;
  // A file: something else lies in what is free behind its elements, or its last element has no
  // room for a whole stride. It has the size of its body then.
  bool crowded = false;

  [[nodiscard]] const std::string& name() const {
    return reg != nullptr ? reg->local_name : file->local_name;
  }
  // Behind its last element.
  [[nodiscard]] std::uint64_t end() const {
    return offset + body + (dim ? (dim->count - 1) * dim->stride : 0);
  }
};

// In the order of the map.
[[nodiscard]] std::vector<RegNode> register_tree(const Block& block);

}  // namespace rnic::regs
