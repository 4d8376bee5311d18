// SPDX-License-Identifier: Apache-2.0
//
// Questions to elaborated components, and their places: positions of fields, sizes, addresses.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "rdl_node.hpp"

namespace rnic::regs {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 48;

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t v = 0;
  return __builtin_mul_overflow(a, b, &v) ? kMostBytes : std::min(v, kMostBytes);
}

std::uint64_t round_up(std::uint64_t v, std::uint64_t to) { return (v + to - 1) / to * to; }

class Placer {
 public:
  explicit Placer(Diagnostics& diags) : diags_(diags) {}

  void place(RdlNode& n, std::string_view mode) {
    if (n.kind == RdlKind::kAddrmap) {
      mode = "regalign";
      const auto given = n.text("addressing");
      for (const char* known : {"compact", "regalign", "fullalign"}) {
        if (given == known) mode = known;
      }
      if (!given.empty() && mode != given) {
        diags_.error(n.at_prop("addressing"), "property",
                     fmt::format("addressing = {}: write compact, regalign or fullalign", given));
      }
    }
    for (auto& c : n.children) {
      if (c->kind != RdlKind::kField && c->kind != RdlKind::kSignal) place(*c, mode);
    }
    switch (n.kind) {
      case RdlKind::kReg:
        fields(n);
        n.size = reg_bits(n) / 8;
        break;
      case RdlKind::kMem: {
        const auto bits = std::clamp<std::uint64_t>(n.number("memwidth").value_or(32), 1, 1U << 20);
        n.size = product(n.number("mementries").value_or(1), std::bit_ceil((bits + 7) / 8));
        addresses(n, mode);
        break;
      }
      default:
        addresses(n, mode);
        break;
    }
    if (!n.stride) n.stride = std::max<std::uint64_t>(n.size, 1);
  }

 private:
  // Of any width, so that places can be told; what is wrong with it is told elsewhere.
  static std::uint64_t reg_bits(const RdlNode& n) {
    return std::clamp<std::uint64_t>(n.number("regwidth").value_or(32), 8, 1U << 20);
  }

  static void fields(RdlNode& reg) {
    unsigned next = 0;
    for (auto& f : reg.children) {
      if (f->kind != RdlKind::kField) continue;
      if (!f->placed) f->lsb = next;
      next = f->lsb + f->width;
    }
  }

  static std::uint64_t total(const RdlNode& n) {
    return n.size + product(n.count() - 1, n.stride.value_or(n.size));
  }

  // Each behind the one before it in the text, aligned as the mode says.
  void addresses(RdlNode& outer, std::string_view mode) {
    auto own = outer.number("alignment").value_or(1);
    if (own == 0 || (own & (own - 1)) != 0 || own > kMostBytes) {
      diags_.error(outer.at_prop("alignment"), "property",
                   fmt::format("alignment = {}: write a power of two", own));
      own = 1;
    }
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    for (auto& c : outer.children) {
      if (c->kind == RdlKind::kField || c->kind == RdlKind::kSignal) continue;
      if (!c->at) {
        std::uint64_t align = 1;
        if (mode == "fullalign") {
          align = total(*c);
        } else if (mode == "regalign") {
          align = c->size;
        } else if (c->kind == RdlKind::kReg) {
          align = c->number("accesswidth").value_or(reg_bits(*c)) / 8;
        }
        align = std::bit_ceil(std::clamp<std::uint64_t>(align, 1, kMostBytes));
        c->at = round_up(next, std::max({align, own, c->align}));
      }
      next = std::min(*c->at + total(*c), kMostBytes);
      end = std::max(end, next);
    }
    if (outer.kind != RdlKind::kMem) outer.size = end;
  }

  Diagnostics& diags_;
};

}  // namespace

const RdlProp* RdlNode::prop(std::string_view which) const {
  const auto it = props.find(which);
  return it == props.end() ? nullptr : &it->second;
}

bool RdlNode::flag(std::string_view which) const {
  const auto* p = prop(which);
  if (p == nullptr) return false;
  const bool number =
      p->value.kind == RdlValue::Kind::kBool || p->value.kind == RdlValue::Kind::kNumber;
  return !number || p->value.number != 0;
}

std::string RdlNode::text(std::string_view which) const {
  const auto* p = prop(which);
  return p == nullptr ? std::string() : p->value.text;
}

std::optional<std::uint64_t> RdlNode::number(std::string_view which) const {
  const auto* p = prop(which);
  if (p == nullptr) return std::nullopt;
  return p->value.number;
}

SourcePos RdlNode::at_prop(std::string_view which) const {
  const auto* p = prop(which);
  return p == nullptr ? pos : p->pos;
}

std::uint64_t RdlNode::count() const {
  std::uint64_t n = 1;
  for (const auto d : dims) n *= d;
  return n;
}

std::string RdlNode::path() const {
  if (parent == nullptr || parent->parent == nullptr) return name;
  return parent->path() + "." + name;
}

void place_rdl(RdlNode& node, Diagnostics& diags) { Placer(diags).place(node, "regalign"); }

}  // namespace rnic::regs
