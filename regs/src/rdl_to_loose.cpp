// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL definitions that are nowhere in the address space: descriptors, and counters without a
// window.
#include <fmt/format.h>

#include <algorithm>

#include "rdl_to_map.hpp"

namespace rnic::regs {
namespace {

class LooseMaker {
 public:
  explicit LooseMaker(RdlContext& context) : c_(context) {}

  void descriptor(const RdlNode& n) {
    const auto name = n.text("regs_descriptor");
    if (n.prop("regs_variant") != nullptr) {
      variant(n, name);
      return;
    }
    Descriptor d;
    d.pos = n.pos;
    d.name = name;
    d.desc = rdl_description(n);
    d.size = n.number("regs_size").value_or(n.size);
    if (d.size < 1 || d.size > 4096) {
      c_.error(n.at_prop("regs_size"), "range",
               fmt::format("the size of descriptor {} is 1..4096 bytes", name));
      d.size = 4096;
    }
    d.head = n.text("regs_head");
    d.fields = fields(n, d.size);
    if (!d.head.empty()) check_head(n, d);
    c_.map().descriptors.push_back(std::move(d));
  }

 private:
  // Its fields come first, and are the same.
  void check_head(const RdlNode& n, const Descriptor& d) {
    const auto* head = find_descriptor(c_.map(), d.head);
    if (head == nullptr) {
      c_.error(n.at_prop("regs_head"), "unknown-head",
               fmt::format("no descriptor '{}' before this one", d.head));
      return;
    }
    for (const auto& f : head->fields) {
      const bool same = std::any_of(d.fields.begin(), d.fields.end(), [&](const DescField& x) {
        return x.name == f.name && x.bit == f.bit && x.width == f.width;
      });
      if (!same) {
        c_.error(n.pos, "head",
                 fmt::format("{} has no field {} [{}:{}], which its head {} has", d.name, f.name,
                             f.end() - 1, f.bit, d.head));
      }
    }
  }

  void variant(const RdlNode& n, const std::string& name) {
    auto& all = c_.map().descriptors;
    const auto d =
        std::find_if(all.begin(), all.end(), [&](const Descriptor& x) { return x.name == name; });
    const auto index = n.number("regs_union").value_or(0);
    if (d == all.end() || index > d->unions.size()) {
      c_.error(n.at_prop("regs_descriptor"), "union",
               d == all.end() ? fmt::format("no descriptor '{}' before this variant of it", name)
                              : fmt::format("regs_union {} of {}: the next is {}", index, name,
                                            d->unions.size()));
      return;
    }
    if (index == d->unions.size()) {
      Union u;
      u.pos = n.pos;
      u.keys = {{"by", n.at_prop("regs_by")}};
      u.by = n.text("regs_by");
      d->unions.push_back(std::move(u));
    }
    Variant v;
    v.pos = n.pos;
    v.keys = {{"when", n.at_prop("regs_when")}};
    v.name = n.text("regs_variant");
    v.desc = rdl_description(n);
    for (auto& word : rdl_split(n.text("regs_when"), ',')) {
      std::erase(word, ' ');
      if (!word.empty()) v.when_names.push_back(std::move(word));
    }
    v.fields = fields(n, d->size);
    d->unions[index].variants.push_back(std::move(v));
  }

  std::vector<DescField> fields(const RdlNode& n, std::uint64_t bytes) {
    std::vector<DescField> list;
    for (const auto& x : n.children) {
      if (x->kind != RdlKind::kField || !rdl_present(*x)) continue;
      DescField f;
      f.pos = x->pos;
      f.keys = {{"name", x->pos}, {"width", x->range_pos}};
      f.name = c_.name(x->name, x->pos, RdlCase::kLower);
      f.sv_name = x->text("regs_sv_name");
      if (f.sv_name.empty()) {
        f.sv_name = f.name;
      } else {
        f.keys.emplace_back("sv_name", x->at_prop("regs_sv_name"));
      }
      f.desc = rdl_description(*x);
      f.unit = x->text("regs_unit");
      f.bit = x->lsb;
      f.width = x->width;
      f.bytes = x->flag("regs_bytes");
      if (const auto* e = x->prop("encode"); e != nullptr && e->value.enumeration != nullptr) {
        f.enum_name = c_.enum_name(*e->value.enumeration, n.text("regs_descriptor"));
        f.keys.emplace_back("enum", e->pos);
      }
      if (std::uint64_t{f.bit} + f.width > bytes * 8) {
        c_.error(
            x->range_pos, "range",
            fmt::format("field {} ends at bit {}, behind {} bytes", f.name, f.end() - 1, bytes));
        continue;
      }
      list.push_back(std::move(f));
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const DescField& a, const DescField& b) { return a.bit < b.bit; });
    return list;
  }

  RdlContext& c_;
};

}  // namespace

void rdl_make_counters(const RdlNode& mem, RdlContext& context) {
  for (const auto& r : mem.children) {
    if (r->kind != RdlKind::kReg) continue;
    Counter c;
    c.pos = r->pos;
    c.name = context.name(r->name, r->pos, RdlCase::kLowerSv);
    c.desc = rdl_description(*r);
    if (r->at.value_or(0) != 8 * context.map().counters.size() || !r->dims.empty() ||
        r->number("regwidth").value_or(32) != 64) {
      context.error(r->pos, "counter",
                    fmt::format("counter {} is one register of 64 bits at {:#x}", r->name,
                                8 * context.map().counters.size()));
    }
    context.map().counters.push_back(std::move(c));
  }
}

void rdl_make_loose(const RdlDesign& design, RdlContext& context) {
  LooseMaker maker(context);
  for (const auto& n : design.loose) {
    if (n->kind == RdlKind::kMem) {
      rdl_make_counters(*n, context);
    } else if (n->prop("regs_descriptor") != nullptr) {
      maker.descriptor(*n);
    }
  }
}

}  // namespace rnic::regs
