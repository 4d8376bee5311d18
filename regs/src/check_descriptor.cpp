// SPDX-License-Identifier: Apache-2.0
//
// Descriptors: overlaps, byte strings, unions and their tags.
#include <fmt/format.h>

#include <cctype>
#include <map>

#include "check.hpp"
#include "expr.hpp"
#include "suggest.hpp"

namespace rnic::regs {
namespace {

class DescriptorCheck {
 public:
  DescriptorCheck(const Map& map, Descriptor& d, Diagnostics& diags)
      : map_(map), d_(d), diags_(diags) {}

  void run() {
    for (std::size_t i = 0; i < d_.fields.size(); ++i) {
      form(d_.fields[i]);
      overlaps(d_.fields[i], d_.fields, i);
    }
    for (auto& u : d_.unions) check_union(u);
    accessors();
  }

 private:
  void form(const DescField& f) {
    if (f.bytes && (f.bit % 8 != 0 || f.width % 8 != 0)) {
      diags_.error(f.pos, "bytes",
                   fmt::format("byte string {} must be whole bytes at bit 0", f.name));
    }
    if (!f.bytes && (f.width > 64 || f.bit % 8 + f.width > 64)) {
      diags_.error(
          f.at("width"), "width",
          fmt::format("field {} spans more than 8 bytes; say bytes: true for a byte string",
                      f.name));
    }
  }

  // Fields stand in the order of position; of two that overlap the later line is to blame.
  void overlaps(const DescField& f, const std::vector<DescField>& list, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto& o = list[j];
      if (f.bit >= o.end() || o.bit >= f.end()) continue;
      const bool mine =
          f.pos.line > o.pos.line || (f.pos.line == o.pos.line && f.pos.col >= o.pos.col);
      const auto& bad = mine ? f : o;
      const auto& other = mine ? o : f;
      diags_.error(bad.pos, "overlap",
                   fmt::format("field {} (bits {}..{}) overlaps {} (bits {}..{}, {})", bad.name,
                               bad.bit, bad.end() - 1, other.name, other.bit, other.end() - 1,
                               diags_.line_of(other.pos, bad.pos)));
    }
  }

  void check_union(Union& u) {
    const auto tag = std::find_if(d_.fields.begin(), d_.fields.end(),
                                  [&](const DescField& f) { return f.name == u.by; });
    if (tag == d_.fields.end() || tag->bytes) {
      diags_.error(
          u.at("by"), "union",
          fmt::format("no field '{}' to choose by{}", u.by, suggest(u.by, names_of(d_.fields))));
      return;
    }
    u.tag = static_cast<std::size_t>(tag - d_.fields.begin());
    std::map<std::uint64_t, std::string> taken;
    for (auto& v : u.variants) {
      for (const auto& name : v.when_names) {
        const auto value = tag_value(*tag, name, v);
        if (!value) continue;
        v.when.push_back(*value);
        const auto [it, fresh] = taken.insert({*value, v.name});
        if (!fresh) {
          diags_.error(v.at("when"), "union",
                       fmt::format("{} {} is in {} and in {}", u.by, name, it->second, v.name));
        }
      }
      for (std::size_t i = 0; i < v.fields.size(); ++i) {
        form(v.fields[i]);
        overlaps(v.fields[i], v.fields, i);
        overlaps(v.fields[i], d_.fields, d_.fields.size());
      }
    }
  }

  std::optional<std::uint64_t> tag_value(const DescField& tag, const std::string& name,
                                         const Variant& v) {
    if (tag.enum_index) {
      const auto& e = map_.enums[*tag.enum_index];
      for (const auto& x : e.values) {
        if (x.name == name) return x.value;
      }
      if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) == 0) {
        diags_.error(
            v.at("when"), "union",
            fmt::format("{} has no value '{}'{}", e.name, name, suggest(name, names_of(e.values))));
        return std::nullopt;
      }
    }
    try {
      const auto value = eval_expr(name, [&](const std::string& word) {
        for (const auto& c : map_.constants) {
          if (c.name == word) return std::optional<std::uint64_t>(c.value);
        }
        return std::optional<std::uint64_t>();
      });
      if (value <= ones(tag.width)) return value;
      diags_.error(v.at("when"), "union",
                   fmt::format("{} does not fit in {} of {} bits", name, tag.name, tag.width));
    } catch (const ExprError& e) {
      diags_.error(v.at("when"), "union", e.what());
    }
    return std::nullopt;
  }

  // "a_b" as descriptor and "a" with field "b_..." both make accessors; only equal names clash.
  void accessors() {
    std::map<std::string, SourcePos> seen;
    for (const auto& d : map_.descriptors) {
      const auto add = [&](const std::string& flat, SourcePos pos) {
        const auto [it, fresh] = seen.insert({flat, pos});
        if (fresh || it->second.line == pos.line || &d != &d_) return;
        diags_.error(pos, "flat-name",
                     fmt::format("'{}' is also generated for {}; rename one", flat,
                                 diags_.line_of(it->second, pos)));
      };
      for (const auto& f : d.fields) add(d.name + "_get_" + f.name, f.pos);
      for (const auto& u : d.unions) {
        for (const auto& v : u.variants) {
          for (const auto& f : v.fields) add(d.name + "_get_" + v.name + "_" + f.name, f.pos);
        }
      }
      if (&d == &d_) break;
    }
  }

  const Map& map_;
  Descriptor& d_;
  Diagnostics& diags_;
};

}  // namespace

void check_descriptor(const Map& map, Descriptor& d, Diagnostics& diags) {
  DescriptorCheck(map, d, diags).run();
}

}  // namespace rnic::regs
