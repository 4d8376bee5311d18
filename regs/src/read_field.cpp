// SPDX-License-Identifier: Apache-2.0
//
// Fields of registers.
#include <fmt/format.h>

#include <algorithm>

#include "expr.hpp"
#include "yaml_keys.hpp"

namespace rnic::regs {

void YamlReader::read_field(Register& r, const YamlNode& n) {
  Field f;
  Keys k(*this, n, Element::kField, fmt::format("a field of {}", r.name), &f);
  if (!k.ok()) return;
  f.name = k.text("name");
  f.desc = k.text("desc");
  f.unit = k.text("unit");
  f.enum_name = k.text("enum");
  f.lock = read_lock(k);
  if (!read_bits(k, f)) return;
  if (k.word("collision") == 1) f.collision = Collision::kSoftware;
  if (const auto* c = k.get("counter")) read_counter(*c, f);
  read_access(k, f);
  r.fields.push_back(std::move(f));
}

bool YamlReader::read_bits(Keys& k, Field& f) {
  const auto s = k.text("bits");
  if (s.empty()) return false;
  const auto colon = s.find(':');
  const auto names = [this](const std::string& word) { return constant(word); };
  try {
    const auto hi = eval_expr(s.substr(0, colon), names);
    const auto lo = colon == std::string::npos ? hi : eval_expr(s.substr(colon + 1), names);
    if (hi < lo || hi > 63) throw ExprError("");
    f.lsb = static_cast<unsigned>(lo);
    f.width = static_cast<unsigned>(hi - lo + 1);
    return true;
  } catch (const ExprError&) {
    diags_.error(k.at("bits"), "bits",
                 fmt::format("bits '{}' of {}: write \"7:0\" or \"3\", at most 63", s, f.name));
    return false;
  }
}

void YamlReader::read_access(Keys& k, Field& f) {
  const auto word = k.text("access");
  if (word.empty()) return;
  const auto access = parse_access(word);
  if (!access) {
    diags_.error(k.at("access"), "access",
                 fmt::format("unknown access '{}'{}", word, suggest(word, k.words("access"))));
    return;
  }
  f.access = *access;
  f.is_const = k.has("const");
  read_hw(k, f);
  read_reset(k, f);
}

// One word or a list of words. What is stored has an output unless it says none.
void YamlReader::read_hw(Keys& k, Field& f) {
  const auto known = find_key(Element::kField, "hw")->words;
  std::vector<const YamlNode*> words;
  if (const auto* n = k.get("hw")) {
    words = n->is_list() ? n->items : std::vector<const YamlNode*>{n};
  }
  bool none = false;
  bool* const flags[] =  // as the words of the table
      {&f.hw.out,   &f.hw.in,       &f.hw.write,    &f.hw.set, &f.hw.clear,
       &f.hw.inout, &f.hw.wr_pulse, &f.hw.rd_pulse, &none};
  for (const auto* w : words) {
    const auto it = std::find(known.begin(), known.end(), w->text);
    if (!w->is_scalar() || it == known.end()) {
      diags_.error(w->pos, "hw",
                   fmt::format("unknown hw '{}'{}", w->text, suggest(w->text, k.words("hw"))));
      continue;
    }
    *flags[it - known.begin()] = true;
  }
  if (none && words.size() > 1) {
    diags_.error(k.at("hw"), "hw",
                 fmt::format("field {}: none stands alone: take it or the others away", f.name));
  }
  if (!none && !f.is_const && !f.hw.in && !f.hw.inout) f.hw.out = true;
}

void YamlReader::read_reset(Keys& k, Field& f) {
  if (f.is_const && k.text("const") == "map_hash") {
    f.is_map_hash = true;
    return;
  }
  const char* key = f.is_const ? "const" : "reset";
  f.reset = k.number(key).value_or(0);
  if (const auto* n = k.get(key)) f.reset_param = parameter_of(*n);
  if (f.is_const && k.has("reset")) {
    diags_.error(k.at("reset"), "reset", fmt::format("constant {} has no reset value", f.name));
  }
}

void YamlReader::read_counter(const YamlNode& n, Field& f) {
  CounterSpec c;
  Keys k(*this, n, Element::kFieldCounter, fmt::format("the counter of {}", f.name));
  if (!k.ok()) return;
  const auto bits = [&](const char* key, unsigned otherwise) {
    const auto v = k.number(key).value_or(otherwise);
    if (v > 32) {
      diags_.error(k.at(key), "counter",
                   fmt::format("'{}' is the width of the port in bits, 0 (no port) to 32", key));
      return otherwise;
    }
    return static_cast<unsigned>(v);
  };
  c.incr_width = bits("incr", 1);
  c.decr_width = bits("decr", 0);
  c.max = ones(f.width);
  if (const auto* s = k.get("saturate")) {
    if (s->text == "true" || s->text == "false") {
      c.saturate = s->text == "true";
    } else {
      c.saturate = true;
      c.max = number(*s, "saturate").value_or(c.max);
    }
    f.keys.emplace_back("saturate", s->pos);
  }
  c.threshold = k.number("threshold");
  if (k.has("threshold")) f.keys.emplace_back("threshold", k.at("threshold"));
  f.counter = c;
}

}  // namespace rnic::regs
