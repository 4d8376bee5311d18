// SPDX-License-Identifier: Apache-2.0
//
// Names, enumerations, blocks, registers and windows of a SystemRDL design as a map.
#include "rdl_to_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "keywords.hpp"
#include "rdl_import.hpp"
#include "rdl_parser.hpp"

namespace rnic::regs {
namespace {

constexpr const char* kBlockName = "csr";  // of an addrmap that is the only block

// Where registers are made: in the block or in a register file of it.
struct Place {
  std::string prefix;
  std::uint64_t base = 0;
  std::vector<Dim> dims;
  std::optional<std::size_t> file;
  int depth = 0;
};

class MapMaker {
 public:
  MapMaker(RdlDesign& design, Map& map, Diagnostics& diags, Warnings& warnings)
      : design_(design), top_(*design.top), map_(map), c_(map, diags, warnings) {}

  void run() {
    map_.pos = top_.pos;
    map_.name = c_.name(top_.name, top_.pos, RdlCase::kLowerSv);
    map_.desc = rdl_description(top_);
    version();
    enums();
    blocks();
    rdl_make_loose(design_, c_);
    constants();
  }

 private:
  void version() {
    const auto text = top_.text("regs_version");
    if (text.empty()) return;
    unsigned* const parts[] = {&map_.major, &map_.minor, &map_.patch};
    const char* at = text.data();
    const char* end = at + text.size();
    for (std::size_t i = 0; i < 3; ++i) {
      const auto [next, ec] = std::from_chars(at, end, *parts[i]);
      const bool last = i == 2;
      if (ec != std::errc() || *parts[i] > 255 ||
          (last ? next != end : next == end || *next != '.')) {
        c_.error(top_.at_prop("regs_version"), "version",
                 "the version is three numbers up to 255: write \"1.2.3\"");
        return;
      }
      at = next + 1;
    }
  }

  void enums() {
    for (const auto* e : design_.root_enums) c_.enum_name(*e, "");
    for (const auto& entry : rdl_list(top_, "regs_enums")) {
      for (auto& e : map_.enums) {
        if (e.name == entry.head) e.desc = entry.text;
      }
    }
  }

  // --- blocks -------------------------------------------------------------------------------

  // The addrmaps in a bridge, or in the top of an export, are blocks; else the top is one.
  void blocks() {
    std::vector<RdlNode*> inside;
    bool only = true;
    bool marked = top_.flag("bridge");
    for (auto& n : top_.children) {
      if (n->kind == RdlKind::kSignal || !rdl_present(*n)) continue;
      only &= n->kind == RdlKind::kAddrmap;
      marked |= n->kind == RdlKind::kAddrmap && n->prop("regs_bar") != nullptr;
      inside.push_back(n.get());
    }
    if (!marked || inside.empty()) {
      top_.is_block = true;
      block(top_, kBlockName, 0);
      return;
    }
    if (!only) {
      c_.error(top_.at_prop("bridge"), "bridge",
               "a bridge holds addrmaps only: put its registers into one");
    }
    for (std::size_t i = 0; i < inside.size(); ++i) {
      auto& n = *inside[i];
      if (n.kind != RdlKind::kAddrmap) continue;
      if (!n.dims.empty() || (n.at_given && *n.at != 0)) {
        c_.error(n.pos, "bridge",
                 fmt::format("{} is a block of its own, at the start of its BAR: write @ 0x0, "
                             "and regs_stride where it repeats",
                             n.name));
      }
      n.is_block = true;
      block(n, n.name, i);
    }
  }

  void block(const RdlNode& n, const std::string& name, std::size_t index) {
    Block b;
    b.pos = n.pos;
    b.name = c_.name(name, n.pos, RdlCase::kLowerSv);
    if (&n != &top_) b.desc = rdl_description(n);
    b.bar =
        static_cast<unsigned>(std::min<std::uint64_t>(n.number("regs_bar").value_or(index), 1000));
    b.keys.emplace_back("bar", n.at_prop("regs_bar"));
    b.stride = n.number("regs_stride").value_or(0);
    b.keys.emplace_back("stride", n.at_prop("regs_stride"));
    b.decoded_by = n.text("regs_decoded_by");
    b.generated = b.decoded_by.empty() || b.decoded_by == "generated";
    bad_access(n, b);
    b.pipelined = n.flag("regs_pipelined");
    std::set<const RdlNode*> used;
    b.interrupts = rdl_make_interrupts(n, used, c_);
    std::uint64_t end = 8;
    for (const auto& i : b.interrupts) end = std::max(end, i.offset + 12);
    registers(b, n, {}, used, end);
    b.size = n.number("regs_size").value_or(std::bit_ceil(std::min(end, std::uint64_t{1} << 48)));
    b.keys.emplace_back("size", n.at_prop("regs_size"));
    map_.blocks.push_back(std::move(b));
  }

  void bad_access(const RdlNode& n, Block& b) {
    const auto word = n.text("regs_bad_access");
    if (word == "slverr") b.bad_access = BadAccess::kSlverr;
    if (!word.empty() && word != "slverr" && word != "all_ones") {
      c_.error(n.at_prop("regs_bad_access"), "bad-access",
               fmt::format("regs_bad_access '{}'; known: all_ones, slverr", word));
    }
    b.capture_name = n.text("regs_bad_access_capture");
    b.keys.emplace_back("bad_access_capture", n.at_prop("regs_bad_access_capture"));
  }

  void registers(Block& b, const RdlNode& outer, const Place& place,
                 const std::set<const RdlNode*>& used, std::uint64_t& end) {
    for (const auto& n : outer.children) {
      if (!rdl_present(*n) || used.count(n.get()) != 0) continue;
      switch (n->kind) {
        case RdlKind::kReg:
          add_register(b, *n, place, end);
          break;
        case RdlKind::kRegfile:
        case RdlKind::kAddrmap:
          add_file(b, *n, place, used, end);
          break;
        case RdlKind::kMem:
          add_window(b, *n, place, end);
          break;
        default:
          break;
      }
    }
  }

  void add_file(Block& b, const RdlNode& n, const Place& place,
                const std::set<const RdlNode*>& used, std::uint64_t& end) {
    constexpr int kMostDeep = 8;
    if (place.depth == kMostDeep) {
      c_.error(n.pos, "nesting",
               fmt::format("register files are nested deeper than {}: make it flatter", kMostDeep));
      return;
    }
    RegFile f;
    f.pos = n.pos;
    f.keys = {{"name", n.pos}, {"count", n.dims_pos}, {"stride", n.stride_pos}};
    f.local_name = c_.name(n.name, n.pos, RdlCase::kUpper);
    f.name = place.prefix + f.local_name;
    f.desc = rdl_description(n);
    f.offset = place.base + *n.at;
    Place inner = place;
    if (const auto d = dim_of(n)) {
      f.is_array = true;
      f.count = d->count;
      f.stride = d->stride;
      inner.dims.push_back(*d);
      drop_parameter(n);
    }
    f.parent = place.file;
    inner.prefix = f.name + "_";
    inner.base = f.offset;
    inner.file = b.files.size();
    ++inner.depth;
    b.files.push_back(std::move(f));
    registers(b, n, inner, used, end);
  }

  // Arrays of arrays are one: they lie row by row behind each other.
  std::optional<Dim> dim_of(const RdlNode& n) {
    if (n.dims.empty()) return std::nullopt;
    if (n.dims.size() > 1) {
      c_.warning(n.dims_pos, "array",
                 fmt::format("{} has {} dimensions: it becomes one array of {}", n.path(),
                             n.dims.size(), n.count()));
    }
    return Dim{n.count(), *n.stride};
  }

  // The count cannot stay a parameter.
  void drop_parameter(const RdlNode& n) {
    for (auto& p : design_.parameters) {
      if (p.name == n.count_param) --p.kept;
    }
  }

  void add_register(Block& b, const RdlNode& n, const Place& place, std::uint64_t& end) {
    Register r;
    r.pos = n.pos;
    r.keys = {{"name", n.pos}, {"offset", n.at_pos}};
    r.local_name = c_.name(n.name, n.pos, RdlCase::kUpper);
    r.name = place.prefix + r.local_name;
    r.desc = rdl_description(n);
    r.offset = place.base + *n.at;
    r.dims = place.dims;
    r.file = place.file;
    r.external = n.external;
    if (const auto d = dim_of(n)) {
      r.dims.push_back(*d);
      r.keys.emplace_back("count", n.dims_pos);
      r.keys.emplace_back("stride", n.stride_pos);
      if (place.dims.empty() && has_max(n.count_param)) {
        r.count_param = n.count_param;
      } else {
        drop_parameter(n);
      }
    }
    if (!width(n, r)) return;
    if (n.prop("regs_buffered") != nullptr) {
      r.buffered = n.flag("regs_buffered");
      r.keys.emplace_back("buffered", n.at_prop("regs_buffered"));
    }
    for (const auto& f : n.children) {
      if (f->kind != RdlKind::kField || !rdl_present(*f)) continue;
      if (f->width > 64) {
        c_.error(f->range_pos, "bits",
                 fmt::format("{} has {} bits: a field has 64 at most", f->path(), f->width));
        continue;
      }
      r.fields.push_back(rdl_make_field(*f, n.external, c_));
    }
    if (r.fields.empty()) {
      c_.error(n.pos, "empty", fmt::format("{} has no fields", n.path()));
      return;
    }
    std::uint64_t last = r.offset + r.width / 8;
    for (const auto& d : r.dims) last += (d.count - 1) * std::min(d.stride, std::uint64_t{1} << 30);
    end = std::max(end, last);
    b.registers.push_back(std::move(r));
  }

  // Narrow registers that have a word for themselves are registers of that word.
  bool width(const RdlNode& n, Register& r) {
    const auto bits = n.number("regwidth").value_or(32);
    const auto access = n.number("accesswidth").value_or(bits);
    r.keys.emplace_back("width", n.at_prop("regwidth"));
    r.width = static_cast<unsigned>(std::min<std::uint64_t>(bits, 4096));
    if (access > bits || access < 8 || (access & (access - 1)) != 0) {
      c_.error(n.at_prop("accesswidth"), "width",
               fmt::format("accesswidth {} of {}: write a power of two, 8 to {}", access, n.path(),
                           bits));
    }
    if (bits != 8 && bits != 16) return true;
    const bool alone = r.offset % 4 == 0 && std::all_of(r.dims.begin(), r.dims.end(), [](auto& d) {
                         return d.count == 1 || d.stride % 4 == 0;
                       });
    r.width = 32;
    if (alone) {
      c_.warning(n.pos, "width",
                 fmt::format("{} of {} bits becomes one of 32: the bus has words of 32 bits",
                             n.path(), bits));
    } else {
      c_.error(n.pos, "width",
               fmt::format("{} of {} bits shares a word with others: make one register of 32 bits "
                           "of them",
                           n.path(), bits));
    }
    return alone;
  }

  void add_window(Block& b, const RdlNode& n, const Place& place, std::uint64_t& end) {
    Window w;
    w.pos = n.pos;
    w.keys = {{"name", n.pos}, {"offset", n.at_pos}, {"size", n.at_prop("mementries")}};
    w.name = c_.name(place.prefix + n.name, n.pos, RdlCase::kUpper);
    w.desc = rdl_description(n);
    w.offset = place.base + *n.at;
    w.size = n.size;
    w.decoded_by = n.text("regs_decoded_by");
    w.holds_counters = n.flag("regs_counters");
    const auto sw = n.text("sw");
    w.writable = sw != "r";
    if (!sw.empty() && sw != "r" && sw != "rw" && sw != "wr") {
      c_.error(n.at_prop("sw"), "window",
               fmt::format("sw of {} is {}: a window is r or rw", n.path(), sw));
    }
    if (!n.dims.empty() || !place.dims.empty()) {
      c_.error(
          n.pos, "window",
          fmt::format("{} repeats: write one mem with entries for all, or a mem each", n.path()));
    }
    if (w.holds_counters) {
      rdl_make_counters(n, c_);
    } else {
      for (const auto& r : n.children) {
        c_.error(r->pos, "window",
                 fmt::format("{} in memory {} has no place: what lies in memory is a descriptor",
                             r->name, n.name));
      }
    }
    end = std::max(end, w.offset + w.size);
    b.windows.push_back(std::move(w));
  }

  // --- constants and parameters -------------------------------------------------------------

  struct Limits {
    std::optional<std::uint64_t> min, max;
    std::string desc;
  };

  // "NAME 1..8; description"
  Limits limits(const std::string& name) {
    Limits l;
    for (const auto& e : rdl_list(top_, "regs_parameters")) {
      const auto space = e.head.find(' ');
      if (e.head.substr(0, space) != name || space == std::string::npos) continue;
      const auto range = e.head.substr(space + 1);
      const auto dots = range.find("..");
      if (dots == std::string::npos) continue;
      l.min = rdl_parse_number(range.substr(0, dots));
      l.max = rdl_parse_number(range.substr(dots + 2));
      l.desc = e.text;
    }
    return l;
  }

  bool has_max(const std::string& parameter) {
    return !parameter.empty() && limits(parameter).max.has_value();
  }

  void constants() {
    std::set<std::string> done;
    for (const auto& e : rdl_list(top_, "regs_constants")) {
      const auto eq = e.head.find(" = ");
      const auto name = e.head.substr(0, eq);
      if (eq == std::string::npos) {
        for (const auto& p : design_.parameters) {
          if (p.name == name && done.insert(name).second) parameter(p);
        }
        continue;
      }
      const auto value = rdl_parse_number(e.head.substr(eq + 3));
      if (!value) {
        c_.error(top_.at_prop("regs_constants"), "constant",
                 fmt::format("'{}': write \"NAME = number; description\"", e.head));
        continue;
      }
      Constant c;
      c.pos = top_.at_prop("regs_constants");
      c.name = name;
      c.value = *value;
      c.desc = e.text;
      map_.constants.push_back(std::move(c));
    }
    for (const auto& p : design_.parameters) {
      if (done.insert(p.name).second) parameter(p);
    }
  }

  void parameter(const RdlTopParameter& p) {
    const auto l = limits(p.name);
    const auto name = rdl_map_name(p.name, RdlCase::kUpper);
    const bool stays = p.is_number && p.used == p.kept;
    if (!stays) {
      c_.warning(
          p.pos, "parameter",
          fmt::format("parameter {} is fixed: only a number that is alone as reset value, or "
                      "as count of a register with a maximum, stays one",
                      p.name));
    }
    for (auto& b : map_.blocks) {
      for (auto& r : b.registers) {
        if (r.count_param == p.name) r.count_param = stays ? name : std::string();
        for (auto& f : r.fields) {
          if (f.reset_param == p.name) f.reset_param = stays ? name : std::string();
        }
      }
    }
    if (!p.is_number) return;
    Constant c;
    c.pos = p.pos;
    c.name = name;
    c.value = p.value;
    c.desc = l.desc;
    c.is_parameter = stays;
    if (stays) {
      c.min = l.min;
      c.max = l.max;
    }
    map_.constants.push_back(std::move(c));
  }

  RdlDesign& design_;
  RdlNode& top_;
  Map& map_;
  RdlContext c_;
};

std::optional<Map> import(const RdlTokens& tokens, const RdlOptions& options,
                          const std::string& source, Diagnostics& diags, Warnings& warnings) {
  const auto statements = parse_rdl(tokens, diags);
  // A tree with holes would give errors that are none.
  if (diags.has_errors()) return std::nullopt;
  auto design = elaborate_rdl(statements, options.top, options.values, diags, warnings);
  for (const auto& [name, value] : options.values) {
    const bool known =
        std::any_of(design.parameters.begin(), design.parameters.end(),
                    [&, n = &name](const RdlTopParameter& p) { return p.name == *n; });
    if (!known) diags.error({}, "parameter", fmt::format("no parameter '{}' in the top", name));
  }
  if (!design.top) return std::nullopt;
  place_rdl(*design.top, diags);
  for (auto& n : design.loose) place_rdl(*n, diags);
  Map map;
  map.source = source;
  MapMaker(design, map, diags, warnings).run();
  if (!check_map(map, diags)) return std::nullopt;
  const auto said = design.top->number("regs_hash");
  if (said && *said != map.hash) {
    warnings.add(design.top->at_prop("regs_hash"), "hash",
                 fmt::format("the file says that the hash of its map is {:#010x}; the imported map "
                             "has {:#010x}",
                             *said, map.hash));
  }
  return map;
}

}  // namespace

std::string rdl_map_name(std::string_view s, RdlCase kind) {
  std::string t;
  for (const char c : s) {
    if (c == '_' && (t.empty() || t.back() == '_')) continue;
    t += c;
  }
  while (!t.empty() && t.back() == '_') t.pop_back();
  t = kind == RdlCase::kUpper ? to_upper(t) : to_lower(t);
  const bool keyword = kind != RdlCase::kUpper &&
                       (is_cpp_keyword(t) || (kind == RdlCase::kLowerSv && is_sv_keyword(t)));
  return keyword ? t + "_val" : t;
}

std::string RdlContext::name(std::string_view s, SourcePos pos, RdlCase kind) {
  auto t = rdl_map_name(s, kind);
  if (to_upper(t) != to_upper(s)) {
    warning(pos, "name", fmt::format("'{}' becomes '{}': it is no name for every output", s, t));
  }
  return t;
}

std::string RdlContext::enum_name(const RdlEnum& e, const std::string& owner) {
  for (const auto& [known, name] : enums_) {
    if (known == &e) return name;
    const bool same =
        known->def == e.def && known->values.size() == e.values.size() &&
        std::equal(e.values.begin(), e.values.end(), known->values.begin(),
                   [](const EnumValue& a, const EnumValue& b) { return a.value == b.value; });
    if (same) return name;
  }
  auto base = name(e.def->name, e.def->pos, RdlCase::kLowerSv);
  const auto taken = [&](const std::string& s) {
    return std::any_of(map_.enums.begin(), map_.enums.end(),
                       [&](const Enum& x) { return x.name == s; });
  };
  auto unique = base;
  if (taken(unique) && !owner.empty()) {
    unique = base = rdl_map_name(owner, RdlCase::kLower) + "_" + base;
  }
  for (int i = 2; taken(unique); ++i) unique = fmt::format("{}_{}", base, i);
  Enum x;
  x.pos = e.def->pos;
  x.name = unique;
  x.width = e.width;
  x.width_given = e.width != 0;
  x.values = e.values;
  for (auto& v : x.values) v.name = name(v.name, v.pos, RdlCase::kUpper);
  map_.enums.push_back(std::move(x));
  enums_.emplace_back(&e, unique);
  return unique;
}

void RdlContext::error(SourcePos pos, const char* rule, std::string text) {
  if (told_.first(pos, rule)) diags_.error(pos, rule, std::move(text));
}
void RdlContext::warning(SourcePos pos, const char* rule, std::string text) {
  if (told_.first(pos, rule)) warnings_.add(pos, rule, std::move(text));
}

std::string rdl_description(const RdlNode& n) {
  const auto line = [&](const char* property) {
    std::string s;
    for (const char c : n.text(property)) {
      const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
      if (space && (s.empty() || s.back() == ' ')) continue;
      s += space ? ' ' : c;
    }
    while (!s.empty() && s.back() == ' ') s.pop_back();
    return s;
  };
  const auto name = line("name");
  const auto desc = line("desc");
  if (name.empty() || name == desc) return desc;
  return desc.empty() ? name : name + ": " + desc;
}

bool rdl_present(const RdlNode& n) { return n.prop("ispresent") == nullptr || n.flag("ispresent"); }

std::vector<RdlListEntry> rdl_list(const RdlNode& n, std::string_view property) {
  std::vector<RdlListEntry> list;
  const auto* p = n.prop(property);
  if (p == nullptr) return list;
  for (const auto& item : p->value.items) {
    const auto& s = item.text;
    const auto semicolon = s.find("; ");
    if (semicolon != std::string::npos) {
      list.push_back({s.substr(0, semicolon), s.substr(semicolon + 2)});
    } else {
      list.push_back({s.substr(0, s.find_last_not_of("; ") + 1), ""});
    }
  }
  return list;
}

std::vector<std::string> rdl_split(std::string_view s, char mark) {
  std::vector<std::string> parts(1);
  for (const char c : s) {
    if (c == mark) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::optional<std::uint64_t> rdl_parse_number(std::string_view s) {
  const bool hex = s.starts_with("0x");
  if (hex) s.remove_prefix(2);
  std::uint64_t v = 0;
  const auto [at, ec] = std::from_chars(s.data(), s.data() + s.size(), v, hex ? 16 : 10);
  if (ec != std::errc() || at != s.data() + s.size()) return std::nullopt;
  return v;
}

std::optional<Map> load_rdl_file(const std::string& path, const RdlOptions& options,
                                 Diagnostics& diags, Warnings& warnings) {
  const auto tokens = read_rdl_tokens(path, options.include_dirs, diags);
  return import(tokens, options, std::filesystem::path(path).filename().string(), diags, warnings);
}

std::optional<Map> load_rdl_text(const std::string& text, const RdlOptions& options,
                                 Diagnostics& diags, Warnings& warnings) {
  const auto tokens = read_rdl_tokens_of_text(text, "", options.include_dirs, diags);
  return import(tokens, options, "text.rdl", diags, warnings);
}

}  // namespace rnic::regs
