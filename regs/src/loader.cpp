// SPDX-License-Identifier: Apache-2.0
//
// YAML to Map, with every check that keeps the emitters simple. An error never stops the reading of
// the rest.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "expr.hpp"
#include "keywords.hpp"
#include "model.hpp"

namespace rnic::regs {
namespace {

SourcePos pos_of(const YAML::Node& n) {
  const auto m = n.Mark();
  return m.is_null() ? SourcePos{} : SourcePos{m.line + 1, m.column + 1};
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diag = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diag + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diag = up;
    }
  }
  return row[b.size()];
}

std::string join(const std::vector<std::string>& v) {
  std::string s;
  for (const auto& x : v) s += (s.empty() ? "" : ", ") + x;
  return s;
}

// " Did you mean 'x'?" or " Known: a, b."
std::string suggest(const std::string& got, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_d = 3;
  for (const auto& k : known) {
    const std::size_t d = edit_distance(got, k);
    if (d < best_d) {
      best_d = d;
      best = k;
    }
  }
  if (!best.empty()) return fmt::format("; did you mean '{}'?", best);
  return fmt::format("; known: {}", join(known));
}

class Loader {
 public:
  explicit Loader(Diagnostics& diags) : diags_(diags) {}

  std::optional<Map> load(const YAML::Node& root) {
    if (!root.IsMap()) {
      diags_.error(pos_of(root), "syntax", "the map must be a YAML mapping");
      return std::nullopt;
    }
    Keys k(*this, root, "the map",
           {"name", "version", "description", "constants", "enums", "blocks", "counters",
            "descriptors"});
    map_.name = name(k, Case::kLower);
    map_.desc = k.text("description", false);
    if (const auto v = k.get("version", true)) load_version(v);
    if (const auto n = k.get("constants", false)) load_constants(n);
    if (const auto n = k.get("enums", false)) load_enums(n);
    if (const auto n = k.get("blocks", false)) load_blocks(n);
    if (const auto n = k.get("counters", false)) load_counters(n);
    if (const auto n = k.get("descriptors", false)) load_descriptors(n);
    finish_enums();
    check_across();
    if (diags_.has_errors()) return std::nullopt;
    map_.hash = map_hash(map_);
    for (auto& b : map_.blocks) {
      for (auto& r : b.registers) {
        for (auto& f : r.fields) {
          if (f.is_map_hash) f.reset = map_.hash;
        }
      }
    }
    return std::move(map_);
  }

 private:
  enum class Case { kLower, kUpper };

  // The keys of one YAML mapping: unknown and double ones are errors.
  class Keys {
   public:
    Keys(Loader& loader, const YAML::Node& node, std::string what, std::vector<std::string> known)
        : loader_(loader), node_(node), what_(std::move(what)), pos_(pos_of(node)) {
      if (!node.IsMap()) {
        loader_.diags_.error(pos_, "syntax", what_ + " must be a mapping of keys to values");
        ok_ = false;
        return;
      }
      std::set<std::string> seen;
      for (const auto& kv : node) {
        const auto key = kv.first.IsScalar() ? kv.first.Scalar() : std::string("?");
        if (std::find(known.begin(), known.end(), key) == known.end()) {
          loader_.diags_.error(
              pos_of(kv.first), "unknown-key",
              fmt::format("unknown key '{}' in {}{}", key, what_, suggest(key, known)));
        }
        if (!seen.insert(key).second) {
          loader_.diags_.error(pos_of(kv.first), "duplicate-key",
                               fmt::format("key '{}' is given twice in {}", key, what_));
        }
      }
    }

    YAML::Node get(const std::string& key, bool required) {
      if (!ok_) return YAML::Node(YAML::NodeType::Undefined);
      const YAML::Node n = node_[key];
      if (n && !n.IsNull()) return n;
      if (required) {
        loader_.diags_.error(pos_, "missing-key",
                             fmt::format("key '{}' is missing in {}", key, what_));
      }
      return YAML::Node(YAML::NodeType::Undefined);
    }

    std::string text(const std::string& key, bool required) {
      const auto n = get(key, required);
      if (!n) return {};
      if (!n.IsScalar()) {
        loader_.diags_.error(pos_of(n), "type", fmt::format("'{}' must be a text", key));
        return {};
      }
      return n.Scalar();
    }

    std::optional<std::uint64_t> number(const std::string& key, bool required) {
      const auto n = get(key, required);
      return n ? loader_.number(n, key) : std::nullopt;
    }

    bool flag(const std::string& key) {
      const auto n = get(key, false);
      if (!n) return false;
      const auto s = n.IsScalar() ? n.Scalar() : std::string();
      if (s != "true" && s != "false") {
        loader_.diags_.error(pos_of(n), "type", fmt::format("'{}' must be true or false", key));
      }
      return s == "true";
    }

    bool has(const std::string& key) { return static_cast<bool>(get(key, false)); }
    SourcePos at(const std::string& key) {
      const auto n = get(key, false);
      return n ? pos_of(n) : pos_;
    }
    [[nodiscard]] SourcePos pos() const { return pos_; }
    [[nodiscard]] bool ok() const { return ok_; }

   private:
    Loader& loader_;
    YAML::Node node_;
    std::string what_;
    SourcePos pos_;
    bool ok_ = true;
  };

  // -- values
  // ---------------------------------------------------------------------------------------------

  std::optional<std::uint64_t> number(const YAML::Node& n, const std::string& what) {
    if (!n.IsScalar()) {
      diags_.error(pos_of(n), "type", fmt::format("'{}' must be a number", what));
      return std::nullopt;
    }
    try {
      return eval_expr(n.Scalar(), [this](const std::string& word) { return constant(word); });
    } catch (const ExprError& e) {
      diags_.error(pos_of(n), "expression", fmt::format("'{}': {}", what, e.what()));
      return std::nullopt;
    }
  }

  std::optional<std::uint64_t> constant(const std::string& word) const {
    if (word == "version_major") return map_.major;
    if (word == "version_minor") return map_.minor;
    if (word == "version_patch") return map_.patch;
    for (const auto& c : map_.constants) {
      if (c.name == word) return c.value;
    }
    return std::nullopt;
  }

  void check_name(const std::string& s, SourcePos pos, Case kind, bool raw_in_sv = true) {
    const auto good = [&](char c) {
      const auto u = static_cast<unsigned char>(c);
      return std::isdigit(u) || c == '_' ||
             (kind == Case::kLower ? std::islower(u) : std::isupper(u));
    };
    const bool form = !s.empty() && std::all_of(s.begin(), s.end(), good) &&
                      !std::isdigit(static_cast<unsigned char>(s[0])) && s[0] != '_' &&
                      s.back() != '_' && s.find("__") == std::string::npos;
    if (!form) {
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
      diags_.error(
          pos, "keyword",
          fmt::format("'{}' is a keyword of SystemVerilog; take '{}_val' or another name, or "
                      "give a descriptor field an sv_name",
                      s, s));
    }
  }

  std::string name(Keys& k, Case kind, bool raw_in_sv = true) {
    auto s = k.text("name", true);
    if (!s.empty()) check_name(s, k.at("name"), kind, raw_in_sv);
    return s;
  }

  template <typename T>
  void check_unique(const std::vector<T>& list, const std::string& name, SourcePos pos,
                    const char* what) {
    for (const auto& x : list) {
      if (x.name == name) {
        diags_.error(pos, "duplicate-name",
                     fmt::format("{} '{}' is already defined in line {}", what, name, x.pos.line));
        return;
      }
    }
  }

  std::optional<std::size_t> enum_ref(Keys& k, unsigned width) {
    const auto s = k.text("enum", false);
    if (s.empty()) return std::nullopt;
    for (std::size_t i = 0; i < map_.enums.size(); ++i) {
      if (map_.enums[i].name != s) continue;
      for (const auto& v : map_.enums[i].values) {
        if (v.value > ones(width)) {
          diags_.error(k.at("enum"), "enum-width",
                       fmt::format("{}.{} = {} does not fit in a field of {} bits", s, v.name,
                                   v.value, width));
          break;
        }
      }
      enum_widths_[i].insert(width);
      return i;
    }
    std::vector<std::string> known;
    for (const auto& e : map_.enums) known.push_back(e.name);
    diags_.error(k.at("enum"), "unknown-enum",
                 fmt::format("unknown enum '{}'{}", s, suggest(s, known)));
    return std::nullopt;
  }

  bool is_list(const YAML::Node& n, const char* what) {
    if (n.IsSequence()) return true;
    diags_.error(pos_of(n), "syntax", fmt::format("'{}' must be a list", what));
    return false;
  }

  // -- top level
  // ------------------------------------------------------------------------------------------

  void load_version(const YAML::Node& n) {
    Keys k(*this, n, "version", {"major", "minor", "patch"});
    const auto part = [&](const char* key) {
      const auto v = k.number(key, true).value_or(0);
      if (v > 255) diags_.error(k.at(key), "range", fmt::format("version {} is at most 255", key));
      return static_cast<unsigned>(v);
    };
    map_.major = part("major");
    map_.minor = part("minor");
    map_.patch = part("patch");
  }

  void load_constants(const YAML::Node& n) {
    if (!n.IsMap()) {
      diags_.error(pos_of(n), "syntax", "'constants' must be a mapping of names");
      return;
    }
    for (const auto& kv : n) {
      Constant c;
      c.name = kv.first.Scalar();
      c.pos = pos_of(kv.first);
      check_name(c.name, c.pos, Case::kUpper);
      check_unique(map_.constants, c.name, c.pos, "constant");
      if (kv.second.IsScalar()) {
        c.value = number(kv.second, c.name).value_or(0);
      } else {
        Keys k(*this, kv.second, fmt::format("constant {}", c.name), {"value", "desc"});
        c.value = k.number("value", true).value_or(0);
        c.desc = k.text("desc", false);
      }
      map_.constants.push_back(std::move(c));
    }
  }

  void load_enums(const YAML::Node& n) {
    if (!n.IsMap()) {
      diags_.error(pos_of(n), "syntax", "'enums' must be a mapping of names");
      return;
    }
    for (const auto& kv : n) {
      Enum e;
      e.name = kv.first.Scalar();
      e.pos = pos_of(kv.first);
      check_name(e.name, e.pos, Case::kLower);
      check_unique(map_.enums, e.name, e.pos, "enum");
      Keys k(*this, kv.second, fmt::format("enum {}", e.name), {"desc", "width", "values"});
      e.desc = k.text("desc", false);
      if (const auto w = k.number("width", false)) {
        if (*w < 1 || *w > 32)
          diags_.error(k.at("width"), "range", "the width of an enum is 1..32");
        e.width = static_cast<unsigned>(std::clamp<std::uint64_t>(*w, 1, 32));
        e.width_given = true;
      }
      if (const auto vals = k.get("values", true)) load_enum_values(e, vals);
      map_.enums.push_back(std::move(e));
    }
    enum_widths_.resize(map_.enums.size());
  }

  void load_enum_values(Enum& e, const YAML::Node& vals) {
    if (!vals.IsMap() || vals.size() == 0) {
      diags_.error(pos_of(vals), "syntax", "'values' must be a mapping of names to numbers");
      return;
    }
    for (const auto& vv : vals) {
      EnumValue v;
      v.name = vv.first.Scalar();
      v.pos = pos_of(vv.first);
      check_name(v.name, v.pos, Case::kUpper);
      check_unique(e.values, v.name, v.pos, "enum value");
      v.value = number(vv.second, v.name).value_or(0);
      for (const auto& o : e.values) {
        if (o.value == v.value) {
          diags_.error(v.pos, "enum-value",
                       fmt::format("{} and {} have the same value {}", o.name, v.name, v.value));
        }
      }
      if (v.value > ones(e.width_given ? e.width : 32)) {
        diags_.error(v.pos, "enum-width", fmt::format("{} = {} is too wide", v.name, v.value));
      }
      e.values.push_back(std::move(v));
    }
  }

  void finish_enums() {
    for (std::size_t i = 0; i < map_.enums.size(); ++i) {
      auto& e = map_.enums[i];
      if (e.width_given) continue;
      unsigned least = 1;
      for (const auto& v : e.values) {
        while (v.value > ones(least)) ++least;
      }
      const auto& used = enum_widths_[i];
      e.width = used.size() == 1 ? *used.begin() : least;
    }
  }

  void load_counters(const YAML::Node& n) {
    if (!is_list(n, "counters")) return;
    for (const auto& x : n) {
      Keys k(*this, x, "a counter", {"name", "desc"});
      Counter c;
      c.pos = k.pos();
      c.name = name(k, Case::kLower);
      c.desc = k.text("desc", false);
      check_unique(map_.counters, c.name, c.pos, "counter");
      map_.counters.push_back(std::move(c));
    }
  }

  // -- blocks
  // ---------------------------------------------------------------------------------------------

  void load_blocks(const YAML::Node& n) {
    if (!is_list(n, "blocks")) return;
    for (const auto& x : n) load_block(x);
  }

  void load_block(const YAML::Node& n) {
    Keys k(*this, n, "a block",
           {"name", "bar", "size", "stride", "decoded_by", "bad_access", "bad_access_capture",
            "desc", "registers", "windows"});
    if (!k.ok()) return;
    Block b;
    b.pos = k.pos();
    b.name = name(k, Case::kLower);
    check_unique(map_.blocks, b.name, b.pos, "block");
    b.desc = k.text("desc", false);
    b.bar = static_cast<unsigned>(k.number("bar", false).value_or(0));
    if (b.bar > 5) diags_.error(k.at("bar"), "range", "a BAR is 0..5");
    b.size = k.number("size", true).value_or(0);
    if (b.size < 8 || b.size > (1ULL << 32) || (b.size & (b.size - 1)) != 0) {
      diags_.error(k.at("size"), "range", "the size of a block is a power of two, 8 bytes to 4 GB");
      b.size = 1ULL << 32;
    }
    b.stride = k.number("stride", false).value_or(0);
    if (b.stride != 0 && b.stride < b.size) {
      diags_.error(k.at("stride"), "stride",
                   fmt::format("stride {:#x} is smaller than the block ({:#x})", b.stride, b.size));
    }
    b.decoded_by = k.text("decoded_by", false);
    b.generated = b.decoded_by.empty() || b.decoded_by == "generated";
    const auto bad = k.text("bad_access", false);
    if (bad == "slverr") {
      b.bad_access = BadAccess::kSlverr;
    } else if (!bad.empty() && bad != "all_ones") {
      diags_.error(k.at("bad_access"), "value",
                   fmt::format("bad_access '{}'; known: all_ones, slverr", bad));
    }
    const auto regs = k.get("registers", false);
    if (regs && is_list(regs, "registers")) {
      for (const auto& x : regs) load_register(b, x);
    }
    const auto wins = k.get("windows", false);
    if (wins && is_list(wins, "windows")) {
      for (const auto& x : wins) load_window(b, x);
    }
    const auto capture = k.text("bad_access_capture", false);
    if (!capture.empty()) link_capture(b, capture, k.at("bad_access_capture"));
    check_layout(b);
    map_.blocks.push_back(std::move(b));
  }

  void link_capture(Block& b, const std::string& reg_name, SourcePos pos) {
    for (std::size_t i = 0; i < b.registers.size(); ++i) {
      auto& r = b.registers[i];
      if (r.name != reg_name) continue;
      const auto has = [&](const char* f, Access a, Hw hw, unsigned width) {
        return std::any_of(r.fields.begin(), r.fields.end(), [&](const Field& x) {
          return x.name == f && x.access == a && x.hw == hw && x.width >= width;
        });
      };
      if (r.width != 32 || r.is_array || r.fields.size() != 3 ||
          !has("addr", Access::kRo, Hw::kIn, b.addr_bits()) ||
          !has("write", Access::kRo, Hw::kIn, 1) || !has("valid", Access::kW1c, Hw::kSet, 1)) {
        diags_.error(
            pos, "capture",
            fmt::format("{} must be a single 32-bit register of the fields addr (ro, hw in, "
                        "at least {} bits), write (ro, hw in) and valid (w1c, hw set)",
                        reg_name, b.addr_bits()));
        return;
      }
      b.capture = i;
      return;
    }
    std::vector<std::string> known;
    for (const auto& r : b.registers) known.push_back(r.name);
    diags_.error(pos, "capture",
                 fmt::format("no register '{}'{}", reg_name, suggest(reg_name, known)));
  }

  void load_register(Block& b, const YAML::Node& n) {
    Keys k(*this, n, "a register",
           {"name", "offset", "width", "count", "stride", "desc", "fields"});
    if (!k.ok()) return;
    Register r;
    r.pos = k.pos();
    r.name = name(k, Case::kUpper);
    check_unique(b.registers, r.name, r.pos, "register");
    r.desc = k.text("desc", false);
    r.offset = k.number("offset", true).value_or(0);
    r.width = static_cast<unsigned>(k.number("width", false).value_or(32));
    if (r.width != 32 && r.width != 64) {
      diags_.error(k.at("width"), "width",
                   fmt::format("width {} of {}: a register has 32 or 64 bits", r.width, r.name));
      r.width = 64;
    }
    if (r.offset % (r.width / 8) != 0) {
      diags_.error(
          k.at("offset"), "alignment",
          fmt::format("offset {:#x} of {} is not a multiple of {}", r.offset, r.name, r.width / 8));
    }
    r.is_array = k.has("count");
    r.count = k.number("count", false).value_or(1);
    r.stride = k.number("stride", false).value_or(r.width / 8);
    if (r.count < 1 || r.count > 65536) {
      diags_.error(k.at("count"), "range", fmt::format("count of {} is 1..65536", r.name));
      r.count = 1;
    }
    if (k.has("stride") && !r.is_array) {
      diags_.error(k.at("stride"), "stride", fmt::format("{} has a stride but no count", r.name));
    }
    if (r.stride < r.width / 8 || r.stride % (r.width / 8) != 0) {
      diags_.error(k.at("stride"), "stride",
                   fmt::format("stride {:#x} of {} must be a multiple of {}, its size", r.stride,
                               r.name, r.width / 8));
      r.stride = r.width / 8;
    }
    const auto fields = k.get("fields", true);
    if (fields && is_list(fields, "fields")) {
      for (const auto& x : fields) load_field(r, x);
      if (fields.size() == 0) {
        diags_.error(pos_of(fields), "empty", fmt::format("{} has no fields", r.name));
      }
    }
    b.registers.push_back(std::move(r));
  }

  bool parse_bits(Keys& k, Field& f) {
    const auto s = k.text("bits", true);
    if (s.empty()) return false;
    const auto colon = s.find(':');
    try {
      const auto none = [](const std::string&) { return std::nullopt; };
      const auto hi = eval_expr(s.substr(0, colon), none);
      const auto lo = colon == std::string::npos ? hi : eval_expr(s.substr(colon + 1), none);
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

  void load_field(Register& r, const YAML::Node& n) {
    Keys k(*this, n, fmt::format("a field of {}", r.name),
           {"name", "bits", "access", "hw", "reset", "const", "enum", "unit", "desc"});
    if (!k.ok()) return;
    Field f;
    f.pos = k.pos();
    f.name = name(k, Case::kLower, false);
    check_unique(r.fields, f.name, f.pos, "field");
    f.desc = k.text("desc", false);
    f.unit = k.text("unit", false);
    if (!parse_bits(k, f)) return;
    if (f.msb() >= r.width) {
      diags_.error(k.at("bits"), "bits",
                   fmt::format("field {} ends at bit {} of {}, which has {} bits", f.name, f.msb(),
                               r.name, r.width));
      return;
    }
    for (const auto& o : r.fields) {
      if (f.lsb <= o.msb() && o.lsb <= f.msb()) {
        diags_.error(k.at("bits"), "overlap",
                     fmt::format("field {} [{}:{}] overlaps {} [{}:{}] (line {})", f.name, f.msb(),
                                 f.lsb, o.name, o.msb(), o.lsb, o.pos.line));
      }
    }
    load_access(k, f);
    f.enum_index = enum_ref(k, f.width);
    r.fields.push_back(std::move(f));
  }

  void load_access(Keys& k, Field& f) {
    static const std::vector<std::string> kAccess = {"rw", "ro", "wt", "pulse", "w1c"};
    static const std::vector<std::string> kHw = {"in", "out", "set", "inout"};
    const auto access = k.text("access", true);
    if (access.empty()) return;
    const auto ai = std::find(kAccess.begin(), kAccess.end(), access);
    if (ai == kAccess.end()) {
      diags_.error(k.at("access"), "access",
                   fmt::format("unknown access '{}'{}", access, suggest(access, kAccess)));
      return;
    }
    f.access = static_cast<Access>(ai - kAccess.begin());
    const auto hw = k.text("hw", false);
    if (!hw.empty() && std::find(kHw.begin(), kHw.end(), hw) == kHw.end()) {
      diags_.error(k.at("hw"), "hw", fmt::format("unknown hw '{}'{}", hw, suggest(hw, kHw)));
      return;
    }
    const auto refuse = [&](const char* why) {
      diags_.error(k.has("hw") ? k.at("hw") : f.pos, "hw",
                   fmt::format("field {}: {}", f.name, why));
    };
    const bool has_const = k.has("const");
    switch (f.access) {
      case Access::kRw:
        f.hw = hw == "inout" ? Hw::kInOut : Hw::kOut;
        if (hw == "in" || hw == "set") refuse("a rw field has hw: out (default) or inout");
        break;
      case Access::kRo:
        f.hw = has_const ? Hw::kConst : Hw::kIn;
        if (has_const ? !hw.empty() : hw != "in") refuse("a ro field has either const or hw: in");
        break;
      case Access::kW1c:
        f.hw = Hw::kSet;
        if (hw != "set") refuse("a w1c field has hw: set");
        break;
      case Access::kWt:
      case Access::kPulse:
        f.hw = Hw::kOut;
        if (!hw.empty() && hw != "out") refuse("a wt or pulse field has hw: out");
        break;
    }
    if (has_const && f.access != Access::kRo) refuse("only a ro field has a const");
    load_value(k, f, has_const);
  }

  void load_value(Keys& k, Field& f, bool has_const) {
    const char* key = has_const ? "const" : "reset";
    if (has_const && k.text("const", false) == "map_hash") {
      f.is_map_hash = true;
      if (f.width != 32) diags_.error(k.at(key), "reset", "map_hash needs a field of 32 bits");
      return;
    }
    f.reset = k.number(key, false).value_or(0);
    if (f.reset > ones(f.width)) {
      diags_.error(k.at(key), "reset",
                   fmt::format("{} {:#x} does not fit in field {} of {} bits", key, f.reset, f.name,
                               f.width));
      f.reset = 0;
    }
    if (f.hw == Hw::kIn && k.has("reset")) {
      diags_.error(k.at("reset"), "reset",
                   fmt::format("field {} shows a hardware input: it has no reset value", f.name));
    }
    if (f.hw == Hw::kInOut && f.reset != 0) {
      diags_.error(
          k.at("reset"), "reset",
          fmt::format("field {} is held by hardware (inout): its reset value is 0 here", f.name));
    }
    if (f.access == Access::kPulse && f.reset != 0) {
      diags_.error(k.at("reset"), "reset", fmt::format("pulse field {} resets to 0", f.name));
    }
  }

  void load_window(Block& b, const YAML::Node& n) {
    Keys k(*this, n, "a window",
           {"name", "offset", "size", "access", "decoded_by", "holds", "desc"});
    if (!k.ok()) return;
    Window w;
    w.pos = k.pos();
    w.name = name(k, Case::kUpper);
    check_unique(b.windows, w.name, w.pos, "window");
    check_unique(b.registers, w.name, w.pos, "register");
    w.desc = k.text("desc", false);
    w.offset = k.number("offset", true).value_or(0);
    w.size = k.number("size", true).value_or(0);
    if (w.size < 4 || (w.size & (w.size - 1)) != 0) {
      diags_.error(k.at("size"), "range",
                   fmt::format("the size of window {} is a power of two, at least 4", w.name));
      w.size = 4;
    }
    if (w.offset % w.size != 0) {
      diags_.error(k.at("offset"), "alignment",
                   fmt::format("window {} at {:#x} is not aligned to its size {:#x}", w.name,
                               w.offset, w.size));
    }
    const auto access = k.text("access", true);
    if (access != "rw" && access != "ro") {
      diags_.error(k.at("access"), "access",
                   fmt::format("access '{}' of window {}; known: rw, ro", access, w.name));
    }
    w.writable = access == "rw";
    w.decoded_by = k.text("decoded_by", false);
    const auto holds = k.text("holds", false);
    w.holds_counters = holds == "counters";
    if (!holds.empty() && !w.holds_counters) {
      diags_.error(k.at("holds"), "value", fmt::format("holds '{}'; known: counters", holds));
    }
    b.windows.push_back(std::move(w));
  }

  void check_layout(const Block& b) {
    struct Span {
      std::uint64_t from, to;
      const std::string* name;
      SourcePos pos;
    };
    std::vector<Span> spans;
    for (const auto& r : b.registers) {
      for (std::uint64_t i = 0; i < r.count; ++i) {
        const auto at = r.element_offset(i);
        spans.push_back({at, at + r.width / 8, &r.name, r.pos});
      }
    }
    for (const auto& w : b.windows) spans.push_back({w.offset, w.offset + w.size, &w.name, w.pos});
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& x, const Span& y) { return x.from < y.from; });
    std::set<std::pair<std::string, std::string>> told;
    for (std::size_t i = 1; i < spans.size(); ++i) {
      const auto& p = spans[i - 1];
      const auto& q = spans[i];
      if (q.from >= p.to || !told.insert({*p.name, *q.name}).second) continue;
      const bool later_is_q = q.pos.line >= p.pos.line;
      const auto& bad = later_is_q ? q : p;
      const auto& other = later_is_q ? p : q;
      diags_.error(bad.pos, "overlap",
                   fmt::format("{} at {:#x} overlaps {} at {:#x} (line {})", *bad.name, bad.from,
                               *other.name, other.from, other.pos.line));
    }
    for (const auto& s : spans) {
      if (s.to > b.size && told.insert({*s.name, ""}).second) {
        diags_.error(s.pos, "range",
                     fmt::format("{} ends at {:#x}, behind block {} of {:#x} bytes", *s.name, s.to,
                                 b.name, b.size));
      }
    }
    check_flat_names(b);
  }

  // A_B.c and A.b_c would make the same identifier in every view.
  void check_flat_names(const Block& b) {
    std::map<std::string, SourcePos> seen;
    const auto add = [&](const std::string& flat, SourcePos pos) {
      const auto [it, fresh] = seen.insert({flat, pos});
      if (!fresh && it->second.line != pos.line) {
        diags_.error(pos, "flat-name",
                     fmt::format("'{}' is the generated name of this and of line {}; rename one",
                                 flat, it->second.line));
      }
    };
    for (const auto& r : b.registers) {
      add(to_lower(r.name), r.pos);
      bool triggers = false;
      for (const auto& f : r.fields) {
        const auto flat = to_lower(r.name) + "_" + f.name;
        add(flat, f.pos);
        if (f.hw == Hw::kInOut) add(flat + "_we", f.pos);
        triggers |= f.access == Access::kWt;
      }
      if (triggers) add(to_lower(r.name) + "_we", r.pos);
    }
    for (const auto& w : b.windows) {
      add(to_lower(w.name), w.pos);
      for (const char* port : {"req", "we", "addr", "wdata", "wstrb", "ack", "rdata"}) {
        add(fmt::format("{}_{}", to_lower(w.name), port), w.pos);
      }
    }
  }

  void check_across() {
    for (const auto& b : map_.blocks) {
      for (const auto& w : b.windows) {
        if (w.holds_counters && map_.counters.size() * 8 > w.size) {
          diags_.error(w.pos, "range",
                       fmt::format("{} counters of 8 bytes do not fit in window {} of {:#x} bytes",
                                   map_.counters.size(), w.name, w.size));
        }
      }
    }
    // "a_b" as descriptor and "a" with field "b_..." both make accessors; only equal names clash.
    std::map<std::string, SourcePos> seen;
    for (const auto& d : map_.descriptors) {
      for (const auto& f : d.fields) {
        const auto flat = d.name + "_get_" + f.name;
        const auto [it, fresh] = seen.insert({flat, f.pos});
        if (!fresh && it->second.line != f.pos.line) {
          diags_.error(
              f.pos, "flat-name",
              fmt::format("'{}' is also generated for line {}; rename one", flat, it->second.line));
        }
      }
    }
  }

  // -- descriptors
  // ----------------------------------------------------------------------------------------

  void load_descriptors(const YAML::Node& n) {
    if (!is_list(n, "descriptors")) return;
    for (const auto& x : n) load_descriptor(x);
  }

  void load_descriptor(const YAML::Node& n) {
    Keys k(*this, n, "a descriptor", {"name", "size", "desc", "head", "fields"});
    if (!k.ok()) return;
    Descriptor d;
    d.pos = k.pos();
    d.name = name(k, Case::kLower);
    check_unique(map_.descriptors, d.name, d.pos, "descriptor");
    d.desc = k.text("desc", false);
    d.size = k.number("size", true).value_or(0);
    if (d.size < 1 || d.size > 4096) {
      diags_.error(k.at("size"), "range",
                   fmt::format("the size of descriptor {} is 1..4096 bytes", d.name));
      d.size = 4096;
    }
    d.head = k.text("head", false);
    if (!d.head.empty()) {
      const auto it = std::find_if(map_.descriptors.begin(), map_.descriptors.end(),
                                   [&](const Descriptor& o) { return o.name == d.head; });
      if (it == map_.descriptors.end()) {
        std::vector<std::string> known;
        for (const auto& o : map_.descriptors) known.push_back(o.name);
        diags_.error(
            k.at("head"), "unknown-head",
            fmt::format("no descriptor '{}' before this one{}", d.head, suggest(d.head, known)));
      } else {
        d.fields = it->fields;
        d.n_head_fields = d.fields.size();
      }
    }
    const auto fields = k.get("fields", true);
    if (fields && is_list(fields, "fields")) {
      for (const auto& x : fields) load_desc_field(d, x);
    }
    std::stable_sort(d.fields.begin(), d.fields.end(),
                     [](const DescField& a, const DescField& b) { return a.bit < b.bit; });
    map_.descriptors.push_back(std::move(d));
  }

  void load_desc_field(Descriptor& d, const YAML::Node& n) {
    Keys k(*this, n, fmt::format("a field of {}", d.name),
           {"name", "sv_name", "at", "bit", "width", "bytes", "enum", "unit", "desc"});
    if (!k.ok()) return;
    DescField f;
    f.pos = k.pos();
    f.name = name(k, Case::kLower, !k.has("sv_name"));
    f.sv_name = k.text("sv_name", false);
    if (f.sv_name.empty()) {
      f.sv_name = f.name;
    } else {
      check_name(f.sv_name, k.at("sv_name"), Case::kLower);
    }
    check_unique(d.fields, f.name, f.pos, "field");
    f.desc = k.text("desc", false);
    f.unit = k.text("unit", false);
    f.bytes = k.flag("bytes");
    const auto at = k.number("at", true);
    const auto width = k.number("width", true);
    if (!at || !width) return;
    const auto bit = k.number("bit", false).value_or(0);
    if (bit > 7) {
      diags_.error(k.at("bit"), "range", "'bit' counts in the byte 'at': 0..7");
      return;
    }
    if (*width < 1 || *width > 4096 || *at > 4096 || *at * 8 + bit + *width > d.size * 8) {
      diags_.error(k.at("width"), "range",
                   fmt::format("field {} of {} bits at byte {} leaves {} of {} bytes", f.name,
                               *width, *at, d.name, d.size));
      return;
    }
    f.bit = static_cast<unsigned>(*at * 8 + bit);
    f.width = static_cast<unsigned>(*width);
    if (f.bytes && (bit != 0 || f.width % 8 != 0)) {
      diags_.error(f.pos, "bytes",
                   fmt::format("byte string {} must be whole bytes at bit 0", f.name));
    }
    if (!f.bytes && (f.width > 64 || bit + f.width > 64)) {
      diags_.error(
          k.at("width"), "width",
          fmt::format("field {} spans more than 8 bytes; say bytes: true for a byte string",
                      f.name));
    }
    for (const auto& o : d.fields) {
      if (f.bit < o.end() && o.bit < f.end()) {
        diags_.error(
            f.pos, "overlap",
            fmt::format("field {} (bits {}..{}) overlaps {} (bits {}..{}, line {})", f.name, f.bit,
                        f.end() - 1, o.name, o.bit, o.end() - 1, o.pos.line));
      }
    }
    if (!f.bytes) f.enum_index = enum_ref(k, f.width);
    d.fields.push_back(std::move(f));
  }

  Diagnostics& diags_;
  Map map_;
  std::vector<std::set<unsigned>> enum_widths_;
};

}  // namespace

std::optional<Map> load_map_text(const std::string& text, Diagnostics& diags) {
  try {
    return Loader(diags).load(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    diags.error({e.mark.line + 1, e.mark.column + 1}, "syntax", e.msg);
    return std::nullopt;
  }
}

std::optional<Map> load_map_file(const std::string& path, Diagnostics& diags) {
  std::ifstream in(path);
  if (!in) {
    diags.error({}, "file", "cannot read the file");
    return std::nullopt;
  }
  std::stringstream text;
  text << in.rdbuf();
  return load_map_text(text.str(), diags);
}

}  // namespace rnic::regs
