// SPDX-License-Identifier: Apache-2.0
//
// The top level of a map: includes, version, constants, parameters, enumerations, counters.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "expr.hpp"
#include "read_file.hpp"
#include "yaml_keys.hpp"

namespace rnic::regs {

bool YamlReader::read_text(const std::string& text, int file, const std::string& dir,
                           bool included) {
  const auto* root = trees_.emplace_back().parse(text, file, diags_);
  if (root == nullptr) return false;
  if (!root->is_map()) {
    diags_.error(root->pos, "syntax", "the map must be a YAML mapping");
    return false;
  }
  Keys k(*this, *root, included ? Element::kIncluded : Element::kMap,
         included ? "an included file" : "the map", included ? nullptr : &map_);
  if (!included) {
    map_.name = k.text("name");
    map_.desc = k.text("description");
    if (const auto* v = k.get("version")) read_version(*v);
  } else {
    for (const char* own : {"name", "version"}) {
      if (k.has(own)) {
        diags_.error(
            k.at(own), "include",
            fmt::format("an included file has no '{}': it is the map's that includes it", own));
      }
    }
  }
  if (const auto* n = k.get("include")) read_include(*n, dir);
  if (const auto* n = k.get("parameters")) read_constants(*n, true);
  if (const auto* n = k.get("constants")) read_constants(*n, false);
  if (const auto* n = k.get("enums")) read_enums(*n);
  if (const auto* n = k.get("blocks"); n != nullptr && is_list(*n, "blocks")) {
    for (const auto* x : n->items) read_block(*x);
  }
  if (const auto* n = k.get("counters")) read_counters(*n);
  if (const auto* n = k.get("descriptors"); n != nullptr && is_list(*n, "descriptors")) {
    for (const auto* x : n->items) read_descriptor(*x);
  }
  return true;
}

bool YamlReader::is_list(const YamlNode& n, std::string_view what) {
  if (n.is_list()) return true;
  diags_.error(n.pos, "syntax", fmt::format("'{}' must be a list", what));
  return false;
}

std::optional<std::uint64_t> YamlReader::number(const YamlNode& n, std::string_view what) {
  if (!n.is_scalar()) {
    diags_.error(n.pos, "type", fmt::format("'{}' must be a number", what));
    return std::nullopt;
  }
  try {
    return eval_expr(n.text, [this](const std::string& word) { return constant(word); });
  } catch (const ExprError& e) {
    diags_.error(n.pos, "expression", fmt::format("'{}': {}", what, e.what()));
    return std::nullopt;
  }
}

std::optional<std::uint64_t> YamlReader::constant(const std::string& word) const {
  if (word == "version_major") return map_.major;
  if (word == "version_minor") return map_.minor;
  if (word == "version_patch") return map_.patch;
  for (const auto& c : map_.constants) {
    if (c.name == word) return c.value;
  }
  return std::nullopt;
}

std::string YamlReader::parameter_of(const YamlNode& n) const {
  for (const auto& c : map_.constants) {
    if (c.is_parameter && c.name == n.text) return c.name;
  }
  return {};
}

void YamlReader::read_include(const YamlNode& n, const std::string& dir) {
  std::vector<const YamlNode*> list = {&n};
  if (n.is_list()) list = n.items;
  for (const auto* x : list) {
    if (!x->is_scalar()) {
      diags_.error(x->pos, "type", "'include' must be a file name or a list of them");
      continue;
    }
    const auto path = (std::filesystem::path(dir) / x->text).lexically_normal().string();
    if (std::find(open_files_.begin(), open_files_.end(), path) != open_files_.end()) {
      diags_.error(x->pos, "include", fmt::format("'{}' includes itself", x->text));
      continue;
    }
    const auto in = read_input(path);
    if (!in.text) {
      diags_.error(x->pos, "include",
                   fmt::format("'{}' (looked for beside this file): {}", path, in.why));
      continue;
    }
    open_files_.push_back(path);
    read_text(*in.text, diags_.add_file(path), std::filesystem::path(path).parent_path().string(),
              true);
    open_files_.pop_back();
  }
}

void YamlReader::read_version(const YamlNode& n) {
  Keys k(*this, n, Element::kVersion, "version");
  const auto part = [&](const char* key) {
    const auto v = k.number(key).value_or(0);
    if (v > 255) diags_.error(k.at(key), "range", fmt::format("version {} is at most 255", key));
    return static_cast<unsigned>(v & 255);
  };
  map_.major = part("major");
  map_.minor = part("minor");
  map_.patch = part("patch");
}

void YamlReader::read_constants(const YamlNode& n, bool parameters) {
  if (!n.is_map()) {
    diags_.error(
        n.pos, "syntax",
        fmt::format("'{}' must be a mapping of names", parameters ? "parameters" : "constants"));
    return;
  }
  for (std::size_t i = 0; i + 1 < n.items.size(); i += 2) {
    const auto& value = *n.items[i + 1];
    Constant c;
    c.name = n.items[i]->text;
    c.is_parameter = parameters;
    if (value.is_map()) {
      Keys k(*this, value, parameters ? Element::kParameter : Element::kConstant,
             fmt::format("{} {}", parameters ? "parameter" : "constant", c.name), &c);
      c.value = k.number("value").value_or(0);
      c.desc = k.text("desc");
      if (parameters) {
        c.min = k.number("min");
        c.max = k.number("max");
      }
    } else {
      c.value = number(value, c.name).value_or(0);
      c.keys.emplace_back("value", value.pos);
    }
    c.pos = n.items[i]->pos;
    for (const auto& [name, given] : values_) {
      if (parameters && name == c.name) c.value = given;
    }
    map_.constants.push_back(std::move(c));
  }
}

void YamlReader::check_values() {
  for (const auto& [name, given] : values_) {
    std::vector<std::string> known;
    for (const auto& c : map_.constants) {
      if (c.is_parameter) known.push_back(c.name);
    }
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      diags_.error({}, "parameter", fmt::format("no parameter '{}'{}", name, suggest(name, known)));
    }
  }
}

void YamlReader::read_enums(const YamlNode& n) {
  if (!n.is_map()) {
    diags_.error(n.pos, "syntax", "'enums' must be a mapping of names");
    return;
  }
  for (std::size_t i = 0; i + 1 < n.items.size(); i += 2) {
    Enum e;
    e.name = n.items[i]->text;
    Keys k(*this, *n.items[i + 1], Element::kEnum, fmt::format("enum {}", e.name), &e);
    e.pos = n.items[i]->pos;
    e.desc = k.text("desc");
    if (const auto w = k.number("width")) {
      e.width = static_cast<unsigned>(std::min<std::uint64_t>(*w, 1000));
      e.width_given = true;
    }
    if (const auto* values = k.get("values")) read_enum_values(e, *values);
    map_.enums.push_back(std::move(e));
  }
}

void YamlReader::read_enum_values(Enum& e, const YamlNode& n) {
  if (!n.is_map() || n.items.empty()) {
    diags_.error(n.pos, "syntax", "'values' must be a mapping of names to numbers");
    return;
  }
  for (std::size_t i = 0; i + 1 < n.items.size(); i += 2) {
    const auto& value = *n.items[i + 1];
    EnumValue v;
    v.name = n.items[i]->text;
    if (value.is_map()) {
      Keys k(*this, value, Element::kEnumValue, fmt::format("value {}", v.name), &v);
      v.value = k.number("value").value_or(0);
      v.desc = k.text("desc");
    } else {
      v.value = number(value, v.name).value_or(0);
    }
    v.pos = n.items[i]->pos;
    e.values.push_back(std::move(v));
  }
}

void YamlReader::read_counters(const YamlNode& n) {
  if (!is_list(n, "counters")) return;
  for (const auto* x : n.items) {
    Counter c;
    Keys k(*this, *x, Element::kCounter, "a counter", &c);
    c.name = k.text("name");
    c.desc = k.text("desc");
    map_.counters.push_back(std::move(c));
  }
}

namespace {

std::optional<Map> finish(YamlReader& reader, Diagnostics& diags, bool good) {
  if (!good) return std::nullopt;
  reader.check_values();
  if (!check_map(reader.map(), diags)) return std::nullopt;
  return std::move(reader.map());
}

}  // namespace

std::optional<Map> load_map_text(const std::string& text, Diagnostics& diags,
                                 const ParameterValues& values) {
  YamlReader reader(diags, values);
  const bool good = reader.read_text(text, 0, "", false);
  reader.map().source = reader.map().name + ".yaml";
  return finish(reader, diags, good);
}

std::optional<Map> load_map_file(const std::string& path, Diagnostics& diags,
                                 const ParameterValues& values) {
  const auto in = read_input(path);
  if (!in.text) {
    diags.error({}, "file", in.why);
    return std::nullopt;
  }
  YamlReader reader(diags, values);
  const std::filesystem::path p(path);
  const bool good = reader.read_text(*in.text, 0, p.parent_path().string(), false);
  reader.map().source = p.filename().string();
  return finish(reader, diags, good);
}

}  // namespace rnic::regs
