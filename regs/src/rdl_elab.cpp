// SPDX-License-Identifier: Apache-2.0
//
// Statements to instances: names, types, parameters, default and dynamic properties.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rdl_field.hpp"
#include "rdl_node.hpp"
#include "rdl_property.hpp"
#include "rdl_value.hpp"
#include "suggest.hpp"

namespace rnic::regs {
namespace {

constexpr int kMostDeep = 24;                    // components in each other
constexpr std::size_t kMostInstances = 300'000;  // of the run, arrays counted once
constexpr std::uint64_t kMostElements = 65536;   // of an array

struct Scope;

// A component type, with the scope that it was defined in.
struct Type {
  const RdlDef* def = nullptr;
  Scope* scope = nullptr;
  std::size_t n_defaults = 0;  // those that stood there before it
};

struct Default {
  const RdlAssign* assign = nullptr;
  RdlValue value;
};

struct Scope {
  Scope* parent = nullptr;
  std::size_t parent_defaults = 0;
  RdlNode* node = nullptr;  // the component whose body it is
  std::map<std::string_view, RdlValue> params;
  std::map<std::string_view, Type> types;
  std::map<std::string_view, const RdlEnum*> enums;
  std::vector<Default> defaults;
};

std::string hint(std::string_view got, const std::vector<std::string>& names) {
  return names.empty() ? std::string() : suggest(got, names);
}

bool may_hold(RdlKind outer, RdlKind inner) {
  switch (inner) {
    case RdlKind::kField:
      return outer == RdlKind::kReg;
    case RdlKind::kReg:
      return outer == RdlKind::kRegfile || outer == RdlKind::kAddrmap || outer == RdlKind::kMem;
    case RdlKind::kRegfile:
    case RdlKind::kMem:
      return outer == RdlKind::kRegfile || outer == RdlKind::kAddrmap;
    case RdlKind::kAddrmap:
      return outer == RdlKind::kAddrmap;
    case RdlKind::kSignal:
      return outer != RdlKind::kSignal;
  }
  return false;
}

class Elaborator {
 public:
  Elaborator(const ParameterValues& values, Diagnostics& diags, Warnings& warnings)
      : values_(values), diags_(diags), warnings_(warnings) {}

  RdlDesign run(const std::vector<RdlStatement>& statements, const std::string& top) {
    auto& root = scopes_.emplace_back();
    for (const auto& s : statements) statement(s, root, nullptr);
    loose(root);
    make_top(root, top);
    return std::move(design_);
  }

 private:
  // Once for a place, however often the component is instantiated.
  void error(SourcePos pos, const char* rule, std::string text) {
    if (told_at_.first(pos, rule)) diags_.error(pos, rule, std::move(text));
  }

  // The addrmaps of the root, last one last.
  struct Candidate {
    std::string_view name;
    SourcePos pos;
    const RdlStatement* statement = nullptr;  // of an instance
    Type type;
  };

  void make_top(Scope& root, const std::string& wanted) {
    const Candidate* pick = nullptr;
    for (const auto& c : candidates_) {
      if (wanted.empty() || c.name == wanted) pick = &c;
    }
    if (pick == nullptr) {
      error({}, "top",
            wanted.empty()
                ? std::string("no addrmap in this file: write `addrmap name { ... };`")
                : fmt::format("no addrmap '{}'{}", wanted, hint(wanted, names_of(candidates_))));
      return;
    }
    is_top_ = true;
    const std::vector<RdlParamValue> none;
    design_.top = build(pick->type, std::string(pick->name), pick->pos, nullptr,
                        pick->statement != nullptr ? pick->statement->params : none, root);
  }

  // Registers and memories that are only defined: descriptors and counters of the export.
  void loose(Scope& root) {
    static const std::vector<RdlParamValue> kNone;
    for (const auto& t : root_types_) {
      const bool takes = t.def->kind == RdlKind::kReg || t.def->kind == RdlKind::kMem;
      const bool marked =
          std::any_of(t.def->body.begin(), t.def->body.end(), [](const RdlStatement& s) {
            return s.kind == RdlStatement::Kind::kAssign && s.assign.target.empty() &&
                   (s.assign.prop == "regs_descriptor" || s.assign.prop == "regs_counters");
          });
      if (!takes || !marked) continue;
      auto node = build(t, std::string(t.def->name), t.def->pos, nullptr, kNone, root);
      if (node) design_.loose.push_back(std::move(node));
    }
  }

  // --- statements ---------------------------------------------------------------------------

  void statement(const RdlStatement& s, Scope& scope, RdlNode* node) {
    switch (s.kind) {
      case RdlStatement::Kind::kProperty:
        user_properties_.insert(std::string(s.property.name));
        if (!is_regs_property(s.property.name) && find_rdl_property(s.property.name) != nullptr) {
          error(s.property.pos, "duplicate-name",
                fmt::format("'{}' is a property of the standard: take another name",
                            s.property.name));
        }
        break;
      case RdlStatement::Kind::kEnum:
        enumeration(*s.enumeration, scope, node == nullptr);
        break;
      case RdlStatement::Kind::kAssign:
        assign(s.assign, scope, node);
        break;
      case RdlStatement::Kind::kComponent:
        component(s, scope, node);
        break;
    }
  }

  void enumeration(const RdlEnumDef& d, Scope& scope, bool at_root) {
    RdlEnum e;
    e.def = &d;
    bool same = true;
    std::uint64_t next = 0;
    for (const auto& entry : d.entries) {
      EnumValue v;
      v.pos = entry.pos;
      v.name = std::string(entry.name);
      v.value = next;
      unsigned width = 0;
      if (entry.value) {
        const auto x = value(*entry.value, scope);
        v.value = x.number;
        width = x.width;
        if (x.kind != RdlValue::Kind::kNumber && x.kind != RdlValue::Kind::kNone) {
          error(entry.value->pos, "type", fmt::format("the value of {} is a number", v.name));
        }
      }
      same &= width != 0 && (e.values.empty() || width == e.width);
      e.width = width;
      next = v.value + 1;
      std::string title;
      for (const auto& a : entry.props) {
        const auto x = a.value ? value(*a.value, scope) : RdlValue{};
        if (a.prop == "desc") {
          v.desc = x.text;
        } else if (a.prop == "name") {
          title = x.text;
        } else {
          error(a.pos, "unknown-property",
                fmt::format("a value has no property '{}'; known: name, desc", a.prop));
        }
      }
      if (v.desc.empty()) v.desc = title;
      e.values.push_back(std::move(v));
    }
    if (!same) e.width = 0;
    if (d.entries.empty()) error(d.pos, "empty", fmt::format("enum {} has no values", d.name));
    if (scope.enums.count(d.name) != 0) {
      error(d.pos, "duplicate-name", fmt::format("enum '{}' is already defined here", d.name));
      return;
    }
    const auto* kept = &design_.enums.emplace_back(std::move(e));
    scope.enums.insert({d.name, kept});
    if (at_root) design_.root_enums.push_back(kept);
  }

  void component(const RdlStatement& s, Scope& scope, RdlNode* node) {
    Type type;
    if (s.def) {
      type = {s.def.get(), &scope, scope.defaults.size()};
      if (!s.def->name.empty()) define(type, scope, node == nullptr);
    } else {
      const auto* found = find_type(s.type, scope);
      if (found == nullptr) {
        error(s.pos, "unknown-type",
              fmt::format("no component '{}'{}", s.type, hint(s.type, types_of(scope))));
        return;
      }
      type = *found;
    }
    for (const auto& i : s.instances) instance(s, i, type, scope, node);
  }

  void define(const Type& type, Scope& scope, bool at_root) {
    const auto [it, fresh] = scope.types.insert({type.def->name, type});
    if (!fresh) {
      error(type.def->pos, "duplicate-name",
            fmt::format("component '{}' is already defined in {}", type.def->name,
                        diags_.line_of(it->second.def->pos, type.def->pos)));
      return;
    }
    if (!at_root) return;
    root_types_.push_back(type);
    if (type.def->kind == RdlKind::kAddrmap) {
      candidates_.push_back({type.def->name, type.def->pos, nullptr, type});
    }
  }

  static const Type* find_type(std::string_view name, const Scope& scope) {
    for (const auto* s = &scope; s != nullptr; s = s->parent) {
      const auto it = s->types.find(name);
      if (it != s->types.end()) return &it->second;
    }
    return nullptr;
  }

  static std::vector<std::string> types_of(const Scope& scope) {
    std::vector<std::string> names(kRdlKindNames.begin(), kRdlKindNames.end());
    for (const auto* s = &scope; s != nullptr; s = s->parent) {
      for (const auto& [name, type] : s->types) names.emplace_back(name);
    }
    return names;
  }

  void instance(const RdlStatement& s, const RdlInstance& i, const Type& type, Scope& scope,
                RdlNode* node) {
    const auto kind = type.def->kind;
    if (node == nullptr) {
      if (kind == RdlKind::kAddrmap && i.dims.empty()) {
        candidates_.push_back({i.name, i.pos, &s, type});
      } else if (kind == RdlKind::kSignal) {
        no_signal(i);
      } else {
        error(i.pos, "nesting",
              fmt::format("{} {} stands in no addrmap: write it in one", rdl_kind_name(kind),
                          i.name));
      }
      return;
    }
    if (!may_hold(node->kind, kind)) {
      error(i.pos, "nesting",
            fmt::format("{} {} holds no {}", rdl_kind_name(node->kind), node->name,
                        rdl_kind_name(kind)));
      return;
    }
    for (const auto& c : node->children) {
      if (c->name != i.name) continue;
      error(i.pos, "duplicate-name",
            fmt::format("'{}' is already defined in {}", i.name, diags_.line_of(c->pos, i.pos)));
      return;
    }
    auto child = build(type, std::string(i.name), i.pos, node, s.params, scope);
    if (!child) return;
    if (kind == RdlKind::kSignal) no_signal(i);
    child->external = node->external || s.placing == RdlPlacing::kExternal;
    if (child->external) spread_external(*child);
    if (kind == RdlKind::kField) {
      field_place(*child, i, scope);
    } else {
      address(*child, i, scope);
    }
    node->children.push_back(std::move(child));
  }

  void no_signal(const RdlInstance& i) {
    warnings_.add(i.pos, "signal",
                  fmt::format("signal {} has no place: a register file has clk_i and one "
                              "synchronous reset, rst_i; connect it outside",
                              i.name));
  }

  static void spread_external(RdlNode& node) {
    node.external = true;
    for (auto& c : node.children) spread_external(*c);
  }

  // --- building -----------------------------------------------------------------------------

  std::unique_ptr<RdlNode> build(const Type& type, std::string name, SourcePos pos, RdlNode* parent,
                                 const std::vector<RdlParamValue>& given, Scope& giver) {
    if (depth_ >= kMostDeep || ++n_instances_ > kMostInstances) {
      if (!told_limit_) {
        error(pos, "limit",
              depth_ >= kMostDeep
                  ? fmt::format("{} is nested deeper than {}, or in itself", name, kMostDeep)
                  : fmt::format("more than {} instances", kMostInstances));
      }
      told_limit_ = true;
      return nullptr;
    }
    auto node = std::make_unique<RdlNode>();
    node->kind = type.def->kind;
    node->name = std::move(name);
    node->pos = pos;
    node->parent = parent;
    auto& scope = scopes_.emplace_back();
    scope.parent = type.scope;
    scope.parent_defaults = type.n_defaults;
    scope.node = node.get();
    ++depth_;
    parameters(*type.def, given, pos, scope, giver);
    apply_defaults(*node, scope);
    for (const auto& s : type.def->body) statement(s, scope, node.get());
    --depth_;
    return node;
  }

  void parameters(const RdlDef& def, const std::vector<RdlParamValue>& given, SourcePos pos,
                  Scope& scope, Scope& giver) {
    const bool top = is_top_;
    is_top_ = false;
    for (const auto& g : given) {
      const bool known = std::any_of(def.params.begin(), def.params.end(),
                                     [&](const RdlParamDef& p) { return p.name == g.name; });
      if (!known) {
        error(g.pos, "parameter",
              fmt::format("no parameter '{}'{}", g.name, hint(g.name, names_of(def.params))));
      }
    }
    for (const auto& p : def.params) {
      const auto it = std::find_if(given.begin(), given.end(),
                                   [&](const RdlParamValue& g) { return g.name == p.name; });
      RdlValue v;
      if (it != given.end()) {
        v = value(it->value, giver);
        keep(v);  // an alias: what becomes of it is counted where it is used
      } else if (p.value) {
        v = value(*p.value, scope);
        keep(v);
      } else if (!top) {
        error(pos, "parameter",
              fmt::format("parameter {} has no value: write #(.{}(...))", p.name, p.name));
      }
      if (top) top_parameter(p, v);
      if (p.type == "boolean" && v.kind == RdlValue::Kind::kNumber) v.kind = RdlValue::Kind::kBool;
      scope.params.insert_or_assign(p.name, std::move(v));
    }
  }

  void top_parameter(const RdlParamDef& p, RdlValue& v) {
    RdlTopParameter t;
    t.name = std::string(p.name);
    t.pos = p.pos;
    for (const auto& [name, given] : values_) {
      if (name == p.name) v = rdl_number(given, p.pos);
    }
    if (v.kind == RdlValue::Kind::kNone && !p.value) {
      error(p.pos, "parameter",
            fmt::format("parameter {} has no value: give it a default, or -D {}=VALUE", p.name,
                        p.name));
    }
    t.value = v.number;
    t.is_number = (p.type == "longint" || p.type == "bit") && v.kind == RdlValue::Kind::kNumber;
    if (t.is_number) v.parameter = t.name;
    design_.parameters.push_back(std::move(t));
  }

  RdlTopParameter* parameter_of(const RdlValue& v) {
    if (v.parameter.empty()) return nullptr;
    for (auto& p : design_.parameters) {
      if (p.name == v.parameter) return &p;
    }
    return nullptr;
  }
  void keep(const RdlValue& v) {
    if (auto* p = parameter_of(v)) ++p->kept;
  }

  // From the outside in.
  void apply_defaults(RdlNode& node, Scope& scope) {
    std::vector<std::pair<const Scope*, std::size_t>> chain;
    std::size_t n = scope.parent_defaults;
    for (const auto* s = scope.parent; s != nullptr; s = s->parent) {
      chain.emplace_back(s, n);
      n = s->parent_defaults;
    }
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      for (std::size_t i = 0; i < it->second; ++i) {
        const auto& d = it->first->defaults[i];
        const auto* info = find_rdl_property(d.assign->prop);
        if (info == nullptr || !rdl_has_property(*info, node.kind)) continue;
        set(node, *d.assign, d.value, RdlProp::Level::kDefault);
      }
    }
  }

  std::optional<std::uint64_t> number(const std::optional<RdlExpr>& e, Scope& scope) {
    if (!e) return std::nullopt;
    return number_of(*e, value(*e, scope));
  }
  std::optional<std::uint64_t> number_of(const RdlExpr& e, const RdlValue& v) {
    if (v.kind == RdlValue::Kind::kNone) return std::nullopt;  // told
    if (v.kind == RdlValue::Kind::kNumber || v.kind == RdlValue::Kind::kBool) return v.number;
    error(e.pos, "type", "a number is expected here");
    return std::nullopt;
  }

  void field_place(RdlNode& f, const RdlInstance& i, Scope& scope) {
    f.range_pos = i.range_pos;
    for (const auto* e : {&i.at, &i.stride, &i.align}) {
      if (*e)
        error((*e)->pos, "address", fmt::format("field {} has no address: write its bits", f.name));
    }
    constexpr std::uint64_t kMostBits = 65536;
    if (i.high) {
      const auto high = number(i.high, scope);
      const auto low = number(i.low, scope);
      if (high && low && (*low > *high || *high >= kMostBits)) {
        error(i.range_pos, "bits",
              fmt::format("bits [{}:{}] of {}: write the higher one first, at most {}", *high, *low,
                          f.name, kMostBits - 1));
      } else if (high && low) {
        f.lsb = static_cast<unsigned>(*low);
        f.width = static_cast<unsigned>(*high - *low + 1);
        f.placed = true;
      }
    } else if (i.dims.size() > 1) {
      error(i.range_pos, "bits",
            fmt::format("field {} is no array of arrays: write a field for each", f.name));
    } else if (i.dims.size() == 1) {
      const auto n = number_of(i.dims[0], value(i.dims[0], scope)).value_or(1);
      if (n < 1 || n > kMostBits) {
        error(i.range_pos, "bits", fmt::format("field {} has {} bits: write 1 to 64", f.name, n));
      } else {
        f.width = static_cast<unsigned>(n);
      }
    } else if (const auto w = f.number("fieldwidth")) {
      f.width = static_cast<unsigned>(std::clamp<std::uint64_t>(*w, 1, kMostBits));
    }
    if (i.reset) {
      RdlAssign a;
      a.prop = "reset";
      a.pos = i.reset->pos;
      set(f, a, value(*i.reset, scope), RdlProp::Level::kDynamic);
    }
  }

  void address(RdlNode& n, const RdlInstance& i, Scope& scope) {
    if (i.high) {
      error(
          i.range_pos, "bits",
          fmt::format("{} {} has no bits: write [n] for an array", rdl_kind_name(n.kind), n.name));
    }
    if (i.reset) {
      error(
          i.reset->pos, "type",
          fmt::format("{} {} has no reset value: its fields have", rdl_kind_name(n.kind), n.name));
    }
    n.dims_pos = i.range_pos;
    std::uint64_t all = 1;
    for (const auto& d : i.dims) {
      const auto v = value(d, scope);
      const auto count = number_of(d, v).value_or(1);
      if (count < 1 || count > kMostElements || all * count > kMostElements) {
        error(d.pos, "range", fmt::format("count of {} is 1..{}", n.name, kMostElements));
        continue;
      }
      all *= count;
      n.dims.push_back(count);
      if (i.dims.size() == 1 && !v.parameter.empty()) {
        n.count_param = v.parameter;
        keep(v);
      }
    }
    const auto place = [&](const std::optional<RdlExpr>& e, SourcePos& pos) {
      constexpr std::uint64_t kMost = 1ULL << 40;
      pos = e ? e->pos : n.pos;
      auto v = number(e, scope);
      if (v && *v > kMost) {
        error(pos, "address", fmt::format("{:#x} is no address here: at most {:#x}", *v, kMost));
        v = 0;
      }
      return v;
    };
    SourcePos align_pos;
    n.at = place(i.at, n.at_pos);
    n.at_given = n.at.has_value();
    n.stride = place(i.stride, n.stride_pos);
    n.align = place(i.align, align_pos).value_or(1);
    if (i.stride && i.dims.empty()) {
      error(n.stride_pos, "address", fmt::format("{} has a stride (+=) but is no array", n.name));
    }
    if (i.at && i.align) {
      error(align_pos, "address",
            fmt::format("{} has an address (@), so no alignment (%=)", n.name));
    }
    if (n.align == 0 || (n.align & (n.align - 1)) != 0) {
      error(align_pos, "address",
            fmt::format("alignment {} of {} is no power of two", n.align, n.name));
      n.align = 1;
    }
  }

  // --- properties ---------------------------------------------------------------------------

  void assign(const RdlAssign& a, Scope& scope, RdlNode* node) {
    RdlValue v;
    if (a.value) {
      v = value(*a.value, scope);
      if (v.kind == RdlValue::Kind::kNone) return;  // told
    }
    if (a.is_default) {
      if (known_property(a)) scope.defaults.push_back({&a, std::move(v)});
      return;
    }
    if (node == nullptr) {
      error(a.pos, "nesting",
            fmt::format("property {} stands in no component: write default in front, or move it",
                        a.prop));
      return;
    }
    if (a.target.empty()) {
      set(*node, a, v, RdlProp::Level::kBody);
      return;
    }
    bool indexed = false;
    auto* target = find_node(a.target, *node, false, indexed);
    if (target == nullptr) return;
    if (indexed) {
      error(a.target.front().pos, "element",
            "one element of an array cannot differ from the others: write it as a component of its "
            "own");
      return;
    }
    set(*target, a, v, RdlProp::Level::kDynamic);
  }

  // The component of a path, from `from` or (`outwards`) what is around it. Tells why there is
  // none.
  RdlNode* find_node(const RdlPath& path, RdlNode& from, bool outwards, bool& indexed) {
    RdlNode* at = &from;
    RdlNode* found = nullptr;
    for (; at != nullptr && found == nullptr; at = outwards ? at->parent : nullptr) {
      found = child(*at, path.front().name);
    }
    for (std::size_t i = 0; i < path.size(); ++i) {
      auto* n = i == 0 ? found : child(*found, path[i].name);
      if (n == nullptr) {
        std::vector<std::string> names;
        for (const auto& c : (i == 0 ? from : *found).children) names.push_back(c->name);
        error(path[i].pos, "unknown-instance",
              fmt::format("no instance '{}' {}{}", path[i].name,
                          i == 0 ? std::string("here") : "in " + found->name,
                          hint(path[i].name, names)));
        return nullptr;
      }
      indexed |= !path[i].index.empty();
      found = n;
    }
    return found;
  }

  static RdlNode* child(RdlNode& n, std::string_view name) {
    for (auto& c : n.children) {
      if (c->name == name) return c.get();
    }
    return nullptr;
  }

  // Tells about those that are nobody's, and once about those that are ignored.
  bool known_property(const RdlAssign& a) {
    const auto* info = find_rdl_property(a.prop);
    const bool user = user_properties_.count(std::string(a.prop)) != 0;
    if (info != nullptr && (!is_regs_property(a.prop) || user)) return true;
    if (user) {
      if (told_.insert(std::string(a.prop)).second) {
        warnings_.add(a.pos, "user-property",
                      fmt::format("property {} is defined by the file: nothing is known about it, "
                                  "it is left out",
                                  a.prop));
      }
      return false;
    }
    std::vector<std::string> names;
    for (std::size_t k = 0; k < kRdlKindNames.size(); ++k) {
      for (auto& n : rdl_property_names(static_cast<RdlKind>(k))) names.push_back(std::move(n));
    }
    if (is_regs_property(a.prop) && info != nullptr) {
      error(a.pos, "unknown-property",
            fmt::format("property {} is not defined in the file: write property {} {{ ... }};",
                        a.prop, a.prop));
    } else {
      error(a.pos, "unknown-property",
            fmt::format("no property '{}'{}", a.prop, did_you_mean(a.prop, names)));
    }
    return false;
  }

  // Without the list of all.
  static std::string did_you_mean(std::string_view got, const std::vector<std::string>& names) {
    auto s = suggest(got, names);
    return s.find("known:") == std::string::npos ? s : std::string();
  }

  void set(RdlNode& node, const RdlAssign& a, RdlValue v, RdlProp::Level level) {
    if (!known_property(a)) return;
    const auto& info = *find_rdl_property(a.prop);
    if (!rdl_has_property(info, node.kind)) {
      error(a.pos, "property",
            fmt::format("{} {} has no property {}{}", rdl_kind_name(node.kind), node.path(), a.prop,
                        did_you_mean(a.prop, rdl_property_names(node.kind))));
      return;
    }
    if (!a.modifier.empty() && a.prop != "intr") {
      error(a.pos, "property", fmt::format("{} goes with intr, not with {}", a.modifier, a.prop));
      return;
    }
    if (v.kind == RdlValue::Kind::kNone) v = rdl_bool(true, a.pos);
    if (!fits(node, a, info, v)) return;
    if (info.use == RdlUse::kNeutral) return;
    if (info.use == RdlUse::kDocument) {
      if (told_.insert(std::string(a.prop)).second) {
        warnings_.add(a.pos, "property",
                      fmt::format("property {} has no place in a map: it is left out", a.prop));
      }
      return;
    }
    const bool off =
        (v.kind == RdlValue::Kind::kBool || v.kind == RdlValue::Kind::kNumber) && v.number == 0;
    if (info.use == RdlUse::kRefused) {
      if (!off) {
        error(a.pos, "property", fmt::format("{} of {}: {}", a.prop, node.path(), info.advice));
      }
      return;
    }
    auto name = std::string(a.prop);
    one_name(name, v);
    if (level == RdlProp::Level::kBody) {
      const auto* old = node.prop(name);
      if (old != nullptr && old->level == level) {
        error(a.pos, "duplicate-property",
              fmt::format("{} of {} is already given in {}", a.prop, node.path(),
                          diags_.line_of(old->pos, a.pos)));
        return;
      }
    }
    if (!off && !displace_rival(node, name, a, level)) return;
    if (v.kind == RdlValue::Kind::kNone) return;
    node.props.insert_or_assign(name, RdlProp{std::move(v), a.pos, a.modifier, level});
  }

  bool displace_rival(RdlNode& node, const std::string& name, const RdlAssign& a,
                      RdlProp::Level level) {
    const auto rival = rdl_rival(name);
    if (rival.empty() || !node.flag(rival)) return true;
    const auto& other = *node.prop(rival);
    if (other.level < level) {
      node.props.erase(node.props.find(rival));
      return true;
    }
    error(a.pos, "property",
          fmt::format("{} of {} beside {} ({}): keep one", name, node.path(), rival,
                      diags_.line_of(other.pos, a.pos)));
    return false;
  }

  // rclr is onread = rclr; rclr = false only takes that back.
  static void one_name(std::string& name, RdlValue& v) {
    const auto effect = [&](const char* property) {
      const bool on = v.number != 0;
      v.kind = on ? RdlValue::Kind::kWord : RdlValue::Kind::kNone;
      v.text = name;
      name = property;
    };
    if (name == "rclr" || name == "rset") effect("onread");
    if (name == "woclr" || name == "woset") effect("onwrite");
    if (name == "saturate") name = "incrsaturate";
    if (name == "threshold") name = "incrthreshold";
  }

  bool fits(const RdlNode& node, const RdlAssign& a, const RdlPropertyInfo& info,
            const RdlValue& v) {
    using K = RdlValue::Kind;
    const auto wants = [&](const char* what) {
      error(v.pos, "type", fmt::format("{} of {} is {}", a.prop, node.path(), what));
      return false;
    };
    const bool number = v.kind == K::kNumber || v.kind == K::kBool;
    switch (info.type) {
      case RdlType::kBool:
        if (v.kind == K::kNode && info.use == RdlUse::kUsed) {
          error(
              v.pos, "property",
              fmt::format("{} of {}: it is a port here, not a reference: write {}; and connect it "
                          "outside",
                          a.prop, node.path(), a.prop));
          return false;
        }
        if (info.use == RdlUse::kRefused && !number) return true;
        return number || wants("true or false");
      case RdlType::kNumber:
        if (v.kind == K::kNode && info.use == RdlUse::kUsed) {
          error(v.pos, "property",
                fmt::format("{} of {}: a reference cannot be kept: write a number", a.prop,
                            node.path()));
          return false;
        }
        if (info.name == "reset" && number) {
          keep(v);
          return true;
        }
        return v.kind == K::kNumber || wants("a number");
      case RdlType::kText:
        return v.kind == K::kString || wants("a string");
      case RdlType::kWord:
        return v.kind == K::kWord || wants("a word, such as rw");
      case RdlType::kReference:
        if (v.kind == K::kNode || v.kind == K::kEnum) return true;
        if (info.use == RdlUse::kRefused) return true;
        if (number && v.number == 0) return true;
        return wants(info.name == "encode" ? "the name of an enum"
                                           : "a reference to a field of one bit: write REG.field");
      case RdlType::kAny:
        return true;
    }
    return true;
  }

  // --- expressions --------------------------------------------------------------------------

  // kNone when there was an error, which is told.
  RdlValue value(const RdlExpr& e, Scope& scope) {
    try {
      auto v = eval(e, scope);
      v.pos = e.pos;
      return v;
    } catch (const RdlValueError& x) {
      error(e.pos, "expression", x.what());
      return {};
    }
  }

  RdlValue eval(const RdlExpr& e, Scope& scope) {
    using K = RdlExpr::Kind;
    switch (e.kind) {
      case K::kNumber:
        return rdl_number(e.value, e.pos, e.width);
      case K::kString: {
        RdlValue v;
        v.kind = RdlValue::Kind::kString;
        v.text = std::string(e.text);
        return v;
      }
      case K::kWord:
        return word(e, scope);
      case K::kPath:
        return path(e, scope);
      case K::kMember:
        return member(e, scope);
      case K::kUnary:
        return rdl_unary(e.text, eval(e.args[0], scope));
      case K::kBinary:
        return rdl_binary(e.text, eval(e.args[0], scope), eval(e.args[1], scope));
      case K::kTernary:
        return eval(e.args[rdl_as_number(eval(e.args[0], scope)) != 0 ? 1 : 2], scope);
      case K::kConcat:
        return rdl_concat(all(e.args, 0, scope), 1);
      case K::kRepeat:
        return rdl_concat(all(e.args, 1, scope), rdl_as_number(eval(e.args[0], scope)));
      case K::kArray: {
        RdlValue v;
        v.kind = RdlValue::Kind::kArray;
        v.items = all(e.args, 0, scope);
        return v;
      }
      case K::kCast: {
        const bool named = e.text == "boolean" || e.text == "bit" || e.text == "longint";
        return rdl_cast(named ? e.text : std::string_view(),
                        named ? 0 : rdl_as_number(eval(e.args[1], scope)), eval(e.args[0], scope));
      }
    }
    return {};
  }

  std::vector<RdlValue> all(const std::vector<RdlExpr>& list, std::size_t from, Scope& scope) {
    std::vector<RdlValue> values;
    for (std::size_t i = from; i < list.size(); ++i) values.push_back(eval(list[i], scope));
    return values;
  }

  RdlValue word(const RdlExpr& e, Scope& scope) {
    if (!e.escaped && (e.text == "true" || e.text == "false")) {
      return rdl_bool(e.text == "true", e.pos);
    }
    if (!e.escaped && is_rdl_keyword(e.text)) {
      RdlValue v;
      v.kind = RdlValue::Kind::kWord;
      v.text = std::string(e.text);
      return v;
    }
    for (auto* s = &scope; s != nullptr; s = s->parent) {
      const auto p = s->params.find(e.text);
      if (p != s->params.end()) {
        if (p->second.kind == RdlValue::Kind::kNone)
          throw RdlValueError("it depends on another error");
        if (auto* t = parameter_of(p->second)) ++t->used;
        return p->second;
      }
      const auto en = s->enums.find(e.text);
      if (en != s->enums.end()) {
        RdlValue v;
        v.kind = RdlValue::Kind::kEnum;
        v.enumeration = en->second;
        return v;
      }
    }
    for (auto* n = scope.node; n != nullptr; n = n->parent) {
      if (auto* c = child(*n, e.text)) {
        RdlValue v;
        v.kind = RdlValue::Kind::kNode;
        v.node = c;
        return v;
      }
    }
    throw RdlValueError(fmt::format("nothing is named '{}' here", e.text));
  }

  RdlValue path(const RdlExpr& e, Scope& scope) {
    if (!e.text.empty()) {
      throw RdlValueError(
          fmt::format("a reference to a property (->{}) cannot be kept: make it outside", e.text));
    }
    if (scope.node == nullptr) throw RdlValueError("nothing to refer to here");
    RdlValue v;
    v.kind = RdlValue::Kind::kNode;
    v.node = find_node(e.path, *scope.node, true, v.indexed);
    if (v.node == nullptr) v.kind = RdlValue::Kind::kNone;
    return v;
  }

  RdlValue member(const RdlExpr& e, Scope& scope) {
    for (auto* s = &scope; s != nullptr; s = s->parent) {
      const auto it = s->enums.find(e.text);
      if (it == s->enums.end()) continue;
      for (const auto& x : it->second->values) {
        if (x.name == e.args[0].text) return rdl_number(x.value, e.pos, it->second->width);
      }
      throw RdlValueError(fmt::format("enum {} has no value '{}'{}", e.text, e.args[0].text,
                                      hint(e.args[0].text, names_of(it->second->values))));
    }
    throw RdlValueError(fmt::format("no enum '{}'", e.text));
  }

  const ParameterValues& values_;
  Diagnostics& diags_;
  Warnings& warnings_;
  RdlDesign design_;
  std::deque<Scope> scopes_;
  std::vector<Type> root_types_;
  std::vector<Candidate> candidates_;
  std::set<std::string> user_properties_;
  std::set<std::string> told_;
  RdlTold told_at_;
  std::size_t n_instances_ = 0;
  int depth_ = 0;
  bool told_limit_ = false;
  bool is_top_ = false;
};

}  // namespace

RdlDesign elaborate_rdl(const std::vector<RdlStatement>& statements, const std::string& top,
                        const ParameterValues& values, Diagnostics& diags, Warnings& warnings) {
  return Elaborator(values, diags, warnings).run(statements, top);
}

}  // namespace rnic::regs
