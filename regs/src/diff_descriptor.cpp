// SPDX-License-Identifier: Apache-2.0
//
// In-memory layouts.
#include <algorithm>

#include "diff_state.hpp"

namespace rnic::regs {
namespace {

std::string place(const DescField& f) {
  return fmt::format("byte {} bit {}, {} bits", f.bit / 8, f.bit % 8, f.width);
}

void diff_field(DiffState& d, const std::string& where, const DescField& o, const DescField& n) {
  const auto what = where + "." + n.name;
  if (o.bit != n.bit || o.width != n.width) {
    d.here("desc-field-place", n.gave("at") ? n.at("at") : n.pos, "{}: {} became {}", what,
           place(o), place(n));
  }
  if (o.bytes != n.bytes) {
    d.here("desc-field-bytes", n.at("bytes"), "{} is {} now", what,
           n.bytes ? "a byte string" : "a number");
  }
  if (o.name == n.name && o.sv_name != n.sv_name) {
    d.here("desc-field-sv-name", n.at("sv_name"), "{}: {} became {} in SystemVerilog", what,
           o.sv_name, n.sv_name);
  }
  diff_meaning(d, what, o.unit, n.unit, o.enum_name, n.enum_name, n);
  d.text(o.desc, n.desc, n.pos, what);
}

void diff_fields(DiffState& d, const std::string& where, const std::vector<DescField>& olds,
                 const std::vector<DescField>& news) {
  std::vector<const DescField*> added, removed;
  match(
      olds, news, [&](const DescField& o, const DescField& n) { diff_field(d, where, o, n); },
      [&](const DescField& n) { added.push_back(&n); },
      [&](const DescField& o) { removed.push_back(&o); });
  match_renamed(
      removed, added,
      [](const DescField& o, const DescField& n) { return o.bit == n.bit && o.width == n.width; },
      [&](const DescField& o, const DescField& n) {
        d.here("desc-field-renamed", n.pos, "{}.{} became {}", where, o.name, n.name);
        diff_field(d, where, o, n);
      });
  for (const auto* n : added) {
    d.here("desc-field-added", n->pos, "{}.{} ({}) is new", where, n->name, place(*n));
  }
  for (const auto* o : removed) {
    d.gone("desc-field-removed", o->pos, "{}.{} ({}) is gone", where, o->name, place(*o));
  }
}

void diff_variant(DiffState& d, const std::string& where, const Variant& o, const Variant& n) {
  const auto what = where + "." + n.name;
  const auto within = [](const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
    return std::all_of(a.begin(), a.end(), [&](std::uint64_t v) {
      return std::find(b.begin(), b.end(), v) != b.end();
    });
  };
  if (!within(o.when, n.when)) {
    d.here("variant-narrower", n.at("when"), "{} is no longer there for some values of the tag",
           what);
  } else if (!within(n.when, o.when)) {
    d.here("variant-wider", n.at("when"), "{} is there for more values of the tag", what);
  }
  diff_fields(d, what, o.fields, n.fields);
  d.text(o.desc, n.desc, n.pos, what);
}

const Union* union_by(const Descriptor& d, const std::string& by) {
  for (const auto& u : d.unions) {
    if (u.by == by) return &u;
  }
  return nullptr;
}

void diff_unions(DiffState& d, const Descriptor& o, const Descriptor& n) {
  for (const auto& u : n.unions) {
    const auto* before = union_by(o, u.by);
    if (before == nullptr) {
      d.here("union-added", u.pos, "{}: the union by {} is new", n.name, u.by);
      continue;
    }
    match(
        before->variants, u.variants,
        [&](const Variant& a, const Variant& b) { diff_variant(d, n.name, a, b); },
        [&](const Variant& b) { d.here("variant-added", b.pos, "{}.{} is new", n.name, b.name); },
        [&](const Variant& a) {
          d.gone("variant-removed", a.pos, "{}.{} is gone", n.name, a.name);
        });
  }
  for (const auto& u : o.unions) {
    if (union_by(n, u.by) == nullptr) {
      d.gone("union-removed", u.pos, "{}: the union by {} is gone", n.name, u.by);
    }
  }
}

void diff_descriptor(DiffState& d, const Descriptor& o, const Descriptor& n) {
  if (o.size != n.size) {
    d.here("descriptor-size", n.at("size"), "descriptor {}: {} bytes became {}", n.name, o.size,
           n.size);
  }
  d.text(o.desc, n.desc, n.pos, "descriptor " + n.name);
  diff_fields(d, n.name, o.fields, n.fields);
  diff_unions(d, o, n);
}

}  // namespace

void diff_descriptors(DiffState& d) {
  match(
      d.before.descriptors, d.after.descriptors,
      [&](const Descriptor& o, const Descriptor& n) { diff_descriptor(d, o, n); },
      [&](const Descriptor& n) {
        d.here("descriptor-added", n.pos, "descriptor {} is new", n.name);
      },
      [&](const Descriptor& o) {
        d.gone("descriptor-removed", o.pos, "descriptor {} is gone", o.name);
      });
}

}  // namespace rnic::regs
