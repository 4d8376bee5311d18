// SPDX-License-Identifier: Apache-2.0
//
// Form of names, keywords of the languages of the outputs, and double names.
#include <fmt/format.h>

#include <cctype>
#include <unordered_map>

#include "check.hpp"
#include "keywords.hpp"

namespace rnic::regs {
namespace {

enum class Case { kLower, kUpper };

class NameCheck {
 public:
  explicit NameCheck(Diagnostics& diags) : diags_(diags) {}

  // `raw_in_sv`: the name stands alone in SystemVerilog.
  void form(const std::string& s, SourcePos pos, Case kind, bool raw_in_sv = true) {
    if (s.empty()) return;  // the reader has said that it is missing
    const auto good = [&](char c) {
      const auto u = static_cast<unsigned char>(c);
      return std::isdigit(u) || c == '_' ||
             (kind == Case::kLower ? std::islower(u) : std::isupper(u));
    };
    const bool well = std::all_of(s.begin(), s.end(), good) &&
                      !std::isdigit(static_cast<unsigned char>(s[0])) && s[0] != '_' &&
                      s.back() != '_' && s.find("__") == std::string::npos;
    if (!well) {
      diags_.error(pos, "name",
                   fmt::format("'{}' is not a good name: {} letters, digits and single inner '_'",
                               s, kind == Case::kLower ? "lower-case" : "upper-case"));
      return;
    }
    if (kind == Case::kUpper) return;
    if (is_cpp_keyword(s)) {
      diags_.error(
          pos, "keyword",
          fmt::format("'{}' is a keyword of C or C++; take '{}_val' or another name", s, s));
    } else if (raw_in_sv && is_sv_keyword(s)) {
      diags_.error(pos, "keyword",
                   fmt::format("'{}' is a keyword of SystemVerilog; take '{}_val' or another name, "
                               "or give a descriptor field an sv_name",
                               s, s));
    }
  }

  template <typename List>
  void unique(const List& list, const char* what) {
    std::unordered_map<std::string_view, SourcePos> seen;
    seen.reserve(list.size());
    for (const auto& x : list) {
      if (x.name.empty()) continue;
      const auto [it, fresh] = seen.insert({x.name, x.pos});
      if (!fresh) {
        diags_.error(x.pos, "duplicate-name",
                     fmt::format("{} '{}' is already defined in {}", what, x.name,
                                 diags_.line_of(it->second, x.pos)));
      }
    }
  }

  template <typename List>
  void all(const List& list, const char* what, Case kind) {
    unique(list, what);
    for (const auto& x : list) form(x.name, x.at("name"), kind);
  }

 private:
  Diagnostics& diags_;
};

void check_block_names(const Block& b, NameCheck& names, Diagnostics& diags) {
  names.unique(b.registers, "register");
  names.unique(b.files, "register file");
  names.all(b.windows, "window", Case::kUpper);
  names.all(b.interrupts, "interrupt group", Case::kUpper);
  for (const auto& f : b.files) names.form(f.local_name, f.at("name"), Case::kUpper);
  for (const auto& r : b.registers) {
    if (r.irq_role != IrqRole::kNone) {
      if (r.irq_role == IrqRole::kState) names.all(r.fields, "source", Case::kLower);
      continue;
    }
    names.form(r.local_name, r.at("name"), Case::kUpper);
    names.unique(r.fields, "field");
    for (const auto& f : r.fields) names.form(f.name, f.at("name"), Case::kLower, false);
  }
  for (const auto& w : b.windows) {
    for (const auto& r : b.registers) {
      if (r.name != w.name) continue;
      diags.error(w.pos, "duplicate-name",
                  fmt::format("register '{}' is already defined in {}", w.name,
                              diags.line_of(r.pos, w.pos)));
    }
  }
}

}  // namespace

void check_names(const Map& map, Diagnostics& diags) {
  NameCheck names(diags);
  names.form(map.name, map.at("name"), Case::kLower);
  names.all(map.constants, "constant", Case::kUpper);
  names.all(map.enums, "enum", Case::kLower);
  for (const auto& e : map.enums) names.all(e.values, "enum value", Case::kUpper);
  names.all(map.blocks, "block", Case::kLower);
  for (const auto& b : map.blocks) check_block_names(b, names, diags);
  names.all(map.counters, "counter", Case::kLower);
  names.all(map.descriptors, "descriptor", Case::kLower);
  for (const auto& d : map.descriptors) {
    const auto one = [&](const DescField& f) {
      names.form(f.name, f.at("name"), Case::kLower, !f.gave("sv_name"));
      if (f.gave("sv_name")) names.form(f.sv_name, f.at("sv_name"), Case::kLower);
    };
    names.unique(d.fields, "field");
    for (std::size_t i = 0; i < d.fields.size(); ++i) one(d.fields[i]);
    for (const auto& u : d.unions) {
      names.all(u.variants, "variant", Case::kLower);
      for (const auto& v : u.variants) {
        names.unique(v.fields, "field");
        for (const auto& f : v.fields) one(f);
      }
    }
  }
}

void check_constants(const Map& map, Diagnostics& diags) {
  for (const auto& c : map.constants) {
    if ((c.min && c.value < *c.min) || (c.max && c.value > *c.max)) {
      diags.error(c.at("value"), "range",
                  fmt::format("parameter {} is {}: it must be {} to {}", c.name, c.value,
                              c.min.value_or(0), c.max ? fmt::format("{}", *c.max) : "any"));
    }
  }
}

}  // namespace rnic::regs
