// SPDX-License-Identifier: Apache-2.0
//
// In-memory layouts.
#include <fmt/format.h>

#include <algorithm>

#include "yaml_keys.hpp"

namespace rnic::regs {
namespace {

void in_order(std::vector<DescField>& fields) {
  std::stable_sort(fields.begin(), fields.end(),
                   [](const DescField& a, const DescField& b) { return a.bit < b.bit; });
}

}  // namespace

void YamlReader::read_descriptor(const YamlNode& n) {
  Descriptor d;
  Keys k(*this, n, Element::kDescriptor, "a descriptor", &d);
  if (!k.ok()) return;
  d.name = k.text("name");
  d.desc = k.text("desc");
  d.size = k.number("size").value_or(0);
  if (d.size < 1 || d.size > 4096) {
    diags_.error(k.at("size"), "range",
                 fmt::format("the size of descriptor {} is 1..4096 bytes", d.name));
    d.size = 4096;
  }
  d.head = k.text("head");
  if (!d.head.empty()) {
    const auto it = std::find_if(map_.descriptors.begin(), map_.descriptors.end(),
                                 [&](const Descriptor& o) { return o.name == d.head; });
    if (it == map_.descriptors.end()) {
      diags_.error(k.at("head"), "unknown-head",
                   fmt::format("no descriptor '{}' before this one{}", d.head,
                               suggest(d.head, names_of(map_.descriptors))));
    } else {
      d.fields = it->fields;
    }
  }
  if (const auto* list = k.get("fields"); list != nullptr && is_list(*list, "fields")) {
    for (const auto* x : list->items) read_desc_field(d, d.fields, *x);
  }
  in_order(d.fields);
  if (const auto* list = k.get("unions"); list != nullptr && is_list(*list, "unions")) {
    for (const auto* x : list->items) read_union(d, *x);
  }
  map_.descriptors.push_back(std::move(d));
}

void YamlReader::read_union(Descriptor& d, const YamlNode& n) {
  Union u;
  Keys k(*this, n, Element::kUnion, fmt::format("a union of {}", d.name), &u);
  if (!k.ok()) return;
  u.by = k.text("by");
  const auto* list = k.get("variants");
  if (list == nullptr || !is_list(*list, "variants")) return;
  for (const auto* x : list->items) {
    Variant v;
    Keys vk(*this, *x, Element::kVariant, fmt::format("a variant of {}", d.name), &v);
    if (!vk.ok()) continue;
    v.name = vk.text("name");
    v.desc = vk.text("desc");
    if (const auto* when = vk.get("when")) {
      if (when->is_list()) {
        for (const auto* w : when->items) v.when_names.push_back(w->text);
      } else {
        v.when_names.push_back(when->text);
      }
    }
    if (const auto* fields = vk.get("fields"); fields != nullptr && is_list(*fields, "fields")) {
      for (const auto* f : fields->items) read_desc_field(d, v.fields, *f);
    }
    in_order(v.fields);
    u.variants.push_back(std::move(v));
  }
  d.unions.push_back(std::move(u));
}

void YamlReader::read_desc_field(const Descriptor& d, std::vector<DescField>& to,
                                 const YamlNode& n) {
  DescField f;
  Keys k(*this, n, Element::kDescField, fmt::format("a field of {}", d.name), &f);
  if (!k.ok()) return;
  f.name = k.text("name");
  f.sv_name = k.text("sv_name");
  if (f.sv_name.empty()) f.sv_name = f.name;
  f.desc = k.text("desc");
  f.unit = k.text("unit");
  f.enum_name = k.text("enum");
  f.bytes = k.flag("bytes");
  const auto at = k.number("at");
  const auto width = k.number("width");
  if (!at || !width) return;
  const auto bit = k.number("bit").value_or(0);
  if (bit > 7) {
    diags_.error(k.at("bit"), "range", "'bit' counts in the byte 'at': 0..7");
    return;
  }
  if (*width < 1 || *width > 4096 || *at > 4096 || *at * 8 + bit + *width > d.size * 8) {
    diags_.error(k.at("width"), "range",
                 fmt::format("field {} of {} bits at byte {} leaves {} of {} bytes", f.name, *width,
                             *at, d.name, d.size));
    return;
  }
  f.bit = static_cast<unsigned>(*at * 8 + bit);
  f.width = static_cast<unsigned>(*width);
  to.push_back(std::move(f));
}

}  // namespace rnic::regs
