// SPDX-License-Identifier: Apache-2.0
#include "hierarchy.hpp"

#include <algorithm>

namespace rnic::regs {
namespace {

class Tree {
 public:
  explicit Tree(const Block& b) : b_(b) {}

  std::vector<RegNode> run() {
    for (const auto& r : b_.registers) add(r);
    for (auto& n : top_) measure(n);
    return std::move(top_);
  }

 private:
  void add(const Register& r) {
    std::vector<const RegFile*> path;  // from the inside out
    std::size_t file_dims = 0;
    for (auto at = r.file; at; at = b_.files[*at].parent) {
      path.push_back(&b_.files[*at]);
      file_dims += path.back()->is_array ? 1 : 0;
    }
    auto* list = &top_;
    std::uint64_t base = 0;
    for (auto f = path.rbegin(); f != path.rend(); ++f) {
      list = &file_node(*list, **f, base).inside;
      base = (*f)->offset;
    }
    RegNode n;
    n.reg = &r;
    n.offset = r.offset - base;
    n.size = r.width / 8;
    if (r.dims.size() > file_dims) n.dim = r.dims.back();
    list->push_back(std::move(n));
  }

  static RegNode& file_node(std::vector<RegNode>& list, const RegFile& f, std::uint64_t base) {
    const auto it =
        std::find_if(list.rbegin(), list.rend(), [&](const RegNode& n) { return n.file == &f; });
    if (it != list.rend()) return *it;
    RegNode n;
    n.file = &f;
    n.offset = f.offset - base;
    if (f.is_array) n.dim = Dim{f.count, f.stride};
    list.push_back(std::move(n));
    return list.back();
  }

  static void measure(RegNode& n) {
    if (n.file == nullptr) return;
    for (auto& x : n.inside) {
      measure(x);
      n.size = std::max(n.size, x.end());
    }
    if (n.dim) n.size = n.dim->stride;
  }

  const Block& b_;
  std::vector<RegNode> top_;
};

}  // namespace

std::vector<RegNode> register_tree(const Block& block) { return Tree(block).run(); }

}  // namespace rnic::regs
