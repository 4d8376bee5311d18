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
    crowd(top_, b_.size, b_.windows);
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
    n.body = r.width / 8;
    n.size = n.body;
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
      n.body = std::max(n.body, x.end());
    }
  }

  // Gives the files of `list`, which has `room` bytes, their sizes.
  static void crowd(std::vector<RegNode>& list, std::uint64_t room,
                    const std::vector<Window>& windows) {
    struct Extent {
      std::uint64_t from, to;
      RegNode* file;
    };
    std::vector<Extent> extents;
    for (auto& n : list) extents.push_back({n.offset, n.end(), n.file != nullptr ? &n : nullptr});
    for (const auto& w : windows) extents.push_back({w.offset, w.offset + w.size, nullptr});
    std::sort(extents.begin(), extents.end(),
              [](const Extent& x, const Extent& y) { return x.from < y.from; });
    std::uint64_t taken = 0;  // behind all extents before k
    for (std::size_t k = 0; k < extents.size(); ++k) {
      if (auto* n = extents[k].file) {
        n->size = n->dim ? n->dim->stride : roomy(n->inside, n->body);
        const auto end = n->offset + n->size * (n->dim ? n->dim->count : 1);
        const auto next = k + 1 < extents.size() ? extents[k + 1].from : room;
        n->crowded = taken > n->offset || end > std::min(next, room);
        if (n->crowded) n->size = n->body;
        crowd(n->inside, n->size, {});
      }
      taken = std::max(taken, extents[k].to);
    }
  }

  // What a file takes that gives each element of those in it a whole stride.
  static std::uint64_t roomy(const std::vector<RegNode>& list, std::uint64_t least) {
    for (const auto& n : list) {
      if (n.file == nullptr) continue;
      const auto one = n.dim ? n.dim->stride : roomy(n.inside, n.body);
      least = std::max(least, n.offset + one * (n.dim ? n.dim->count : 1));
    }
    return least;
  }

  const Block& b_;
  std::vector<RegNode> top_;
};

}  // namespace

std::vector<RegNode> register_tree(const Block& block) { return Tree(block).run(); }

}  // namespace rnic::regs
