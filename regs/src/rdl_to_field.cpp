// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL fields to fields of the map.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "rdl_to_map.hpp"
#include "suggest.hpp"

namespace rnic::regs {
namespace {

using K = RdlValue::Kind;

RdlIntr intr_of(const RdlNode& n) {
  const auto* p = n.prop("intr");
  if (p == nullptr || !n.flag("intr")) return RdlIntr::kNone;
  if (p->modifier == "posedge") return RdlIntr::kPosedge;
  if (p->modifier == "negedge") return RdlIntr::kNegedge;
  if (p->modifier == "bothedge") return RdlIntr::kBothedge;
  if (p->modifier == "nonsticky") return RdlIntr::kNonsticky;
  return RdlIntr::kLevel;
}

// `true` stands for `all`.
std::optional<std::uint64_t> limit(const RdlNode& n, std::string_view property, std::uint64_t all) {
  const auto* p = n.prop(property);
  if (p == nullptr) return std::nullopt;
  if (p->value.kind != K::kBool) return p->value.number;
  if (p->value.number == 0) return std::nullopt;
  return all;
}

class FieldMaker {
 public:
  FieldMaker(const RdlNode& n, bool external, RdlContext& context)
      : n_(n), external_(external), c_(context) {}

  Field run() {
    f_.pos = n_.pos;
    f_.keys = {{"name", n_.pos}, {"bits", n_.range_pos}};
    f_.name = c_.name(n_.name, n_.pos, RdlCase::kLower);
    f_.desc = rdl_description(n_);
    f_.unit = n_.text("regs_unit");
    f_.lsb = n_.lsb;
    f_.width = n_.width;
    const auto p = rdl_field_of(n_);
    f_.access = rdl_access_of(n_, p, c_);
    f_.keys.emplace_back("access", n_.at_prop("sw"));
    encoding();
    if (external_) {
      external();
    } else {
      hardware(p);
      counter(p);
      collision(p);
      lock();
    }
    reset();
    return std::move(f_);
  }

 private:
  void refuse(const RdlRefusal& no) {
    const bool given = n_.prop(no.property) != nullptr;
    c_.error(
        n_.at_prop(no.property), "property",
        fmt::format("{} of {}{}: {}", no.property, n_.path(),
                    given || no.property != "hw" ? "" : " (rw where nothing is said)", no.why));
  }

  void encoding() {
    const auto* p = n_.prop("encode");
    if (p == nullptr) return;
    if (p->value.kind != K::kEnum) {
      c_.error(p->pos, "type", fmt::format("encode of {} is the name of an enum", n_.path()));
      return;
    }
    f_.keys.emplace_back("enum", p->pos);
    f_.enum_name =
        c_.enum_name(*p->value.enumeration, n_.parent != nullptr ? n_.parent->name : n_.name);
  }

  void external() {
    for (const char* prop : {"counter", "we", "hwset", "hwclr", "swmod", "swacc", "swwe", "swwel",
                             "intr", "sticky", "stickybit"}) {
      if (n_.flag(prop)) {
        c_.warning(n_.at_prop(prop), "external",
                   fmt::format("{} of {}: what answers the external register decides about it",
                               prop, n_.path()));
      }
    }
  }

  void hardware(const RdlField& p) {
    if (n_.prop("regs_hw") != nullptr) {
      words(n_.text("regs_hw"));
      return;
    }
    if (p.intr != RdlIntr::kNone) {
      c_.error(
          n_.at_prop("intr"), "interrupt",
          fmt::format("{} is in no interrupt group: make registers NAME_STATE, NAME_ENABLE and "
                      "NAME_TEST at consecutive words, or write stickybit; and make the line "
                      "outside",
                      n_.path()));
      f_.hw = {.out = true, .set = true};
      return;
    }
    std::optional<RdlRefusal> no;
    const auto h = rdl_hardware(p, f_.access, f_.width, no);
    if (no) {
      refuse(*no);
      f_.hw = {.out = true, .write = true};  // nothing more to say about it
      return;
    }
    f_.hw = h.ports;
    f_.is_const = h.is_const;
    if (f_.is_const && p.hw == "r") {
      c_.warning(n_.at_prop("hw"), "constant",
                 fmt::format("{} is a constant: hardware has no port for it", n_.path()));
    }
    if (!f_.is_const) f_.keys.emplace_back("hw", n_.at_prop("hw"));
  }

  void words(const std::string& text) {
    static constexpr std::array<std::pair<std::string_view, bool HwPorts::*>, 8> kWords = {{
        {"out", &HwPorts::out},
        {"in", &HwPorts::in},
        {"we", &HwPorts::write},
        {"set", &HwPorts::set},
        {"clear", &HwPorts::clear},
        {"inout", &HwPorts::inout},
        {"wr_pulse", &HwPorts::wr_pulse},
        {"rd_pulse", &HwPorts::rd_pulse},
    }};
    f_.keys.emplace_back("hw", n_.at_prop("regs_hw"));
    for (const auto& w : rdl_split(text, ' ')) {
      if (w.empty() || w == "none") continue;
      const auto it =
          std::find_if(kWords.begin(), kWords.end(), [&](const auto& x) { return x.first == w; });
      if (it == kWords.end()) {
        c_.error(n_.at_prop("regs_hw"), "hw", fmt::format("unknown hw '{}' of {}", w, n_.path()));
      } else {
        f_.hw.*(it->second) = true;
      }
    }
  }

  void counter(const RdlField& p) {
    if (n_.prop("regs_counter") != nullptr) {
      counter_words(n_.text("regs_counter"));
    } else {
      std::optional<RdlRefusal> no;
      f_.counter = rdl_counter(p, f_.width, no);
      if (no) refuse(*no);
    }
    if (f_.counter) f_.keys.emplace_back("counter", n_.at_prop("counter"));
    for (const char* key : {"incrsaturate", "decrsaturate"}) {
      if (f_.counter && n_.prop(key) != nullptr) f_.keys.emplace_back("saturate", n_.at_prop(key));
    }
    if (f_.counter && n_.prop("incrthreshold") != nullptr) {
      f_.keys.emplace_back("threshold", n_.at_prop("incrthreshold"));
    }
    if (f_.counter && (f_.counter->incr_width > 32 || f_.counter->decr_width > 32)) {
      c_.error(n_.at_prop(f_.counter->incr_width > 32 ? "incrwidth" : "decrwidth"), "counter",
               fmt::format("the step of {} has at most 32 bits", n_.path()));
    }
    for (const char* key : {"incrwidth", "decrwidth", "incrsaturate", "decrsaturate",
                            "incrthreshold", "incrvalue", "decrvalue"}) {
      if (f_.counter || n_.prop(key) == nullptr) continue;
      c_.error(n_.at_prop(key), "property",
               fmt::format("{} of {}, which is no counter: write counter;", key, n_.path()));
    }
  }

  // "incr=3 decr=0 saturate=0xff threshold=200"
  void counter_words(const std::string& text) {
    CounterSpec c;
    c.max = ones(f_.width);
    for (const auto& w : rdl_split(text, ' ')) {
      const auto eq = w.find('=');
      const auto key = w.substr(0, eq);
      const auto v = rdl_parse_number(eq == std::string::npos ? "" : w.substr(eq + 1));
      if (v && key == "incr" && *v <= 32) {
        c.incr_width = static_cast<unsigned>(*v);
      } else if (v && key == "decr" && *v <= 32) {
        c.decr_width = static_cast<unsigned>(*v);
      } else if (v && key == "saturate") {
        c.saturate = true;
        c.max = *v;
      } else if (v && key == "threshold") {
        c.threshold = v;
      } else {
        c_.error(n_.at_prop("regs_counter"), "counter",
                 fmt::format("'{}' of {}: write incr=1 decr=0 saturate=0xff threshold=200", w,
                             n_.path()));
      }
    }
    f_.counter = c;
  }

  void collision(const RdlField& p) {
    if (!f_.hw_changes() || p.hw_precedence) return;
    f_.collision = Collision::kSoftware;
    f_.keys.emplace_back("collision", n_.at_prop("precedence"));
  }

  void lock() {
    for (const auto& [property, key, when] : {std::tuple{"regs_locked_by", "locked_by", true},
                                              {"regs_enabled_by", "enabled_by", false},
                                              {"swwel", "locked_by", true},
                                              {"swwe", "enabled_by", false}}) {
      const auto* p = n_.prop(property);
      if (p == nullptr || !n_.flag(property)) continue;
      Lock lock;
      lock.when = when;
      lock.by = p->value.text;
      if (p->value.kind == K::kNode) lock.by = bit_name(*p);
      if (lock.by.empty()) continue;
      f_.lock = lock;
      f_.keys.emplace_back(key, p->pos);
    }
  }

  // REGISTER.field as seen from the register of this field.
  std::string bit_name(const RdlProp& p) {
    const auto& bit = *p.value.node;
    if (bit.kind != RdlKind::kField || bit.width != 1 || bit.parent == nullptr) {
      c_.error(p.pos, "lock",
               fmt::format("{} is no field of one bit: write REG.field", bit.path()));
      return {};
    }
    if (p.value.indexed) {
      c_.error(p.pos, "lock",
               fmt::format("{}: one element of an array cannot lock others: write one bit for all, "
                           "or one each",
                           bit.path()));
      return {};
    }
    const auto& reg = *bit.parent;
    std::string name = rdl_map_name(reg.name, RdlCase::kUpper);
    // In the same file the local name will do; elsewhere it is the whole one.
    if (n_.parent == nullptr || reg.parent != n_.parent->parent) {
      for (const auto* at = reg.parent; at != nullptr && !at->is_block; at = at->parent) {
        name = rdl_map_name(at->name, RdlCase::kUpper) + "_" + name;
      }
    }
    return name + "." + rdl_map_name(bit.name, RdlCase::kLower);
  }

  void reset() {
    if (n_.flag("regs_map_hash")) {
      f_.is_map_hash = true;
      f_.is_const = true;
      f_.hw = {};
      f_.keys.emplace_back("const", n_.at_prop("regs_map_hash"));
      return;
    }
    const auto* p = n_.prop("reset");
    if (p == nullptr) {
      if (f_.is_const) f_.keys.emplace_back("const", n_.pos);
      return;
    }
    if (f_.hw.in && !external_) {
      c_.warning(p->pos, "reset",
                 fmt::format("{} shows a hardware input: its reset value is what hardware drives",
                             n_.path()));
      return;
    }
    f_.reset = p->value.number;
    f_.reset_param = p->value.parameter;
    f_.keys.emplace_back(f_.is_const ? "const" : "reset", p->pos);
  }

  const RdlNode& n_;
  bool external_;
  RdlContext& c_;
  Field f_;
};

}  // namespace

RdlField rdl_field_of(const RdlNode& n) {
  RdlField p;
  const auto word = [&](const char* property, std::string_view otherwise) {
    const auto* x = n.prop(property);
    return x == nullptr ? otherwise : std::string_view(x->value.text);
  };
  p.sw = word("sw", "rw");
  if (p.sw == "wr") p.sw = "rw";
  p.hw = word("hw", "rw");
  if (p.hw == "wr") p.hw = "rw";
  p.onread = word("onread", "");
  p.onwrite = word("onwrite", "");
  p.intr = intr_of(n);
  p.we = n.flag("we");
  p.hwset = n.flag("hwset");
  p.hwclr = n.flag("hwclr");
  p.sticky = n.flag("sticky");
  p.stickybit = n.flag("stickybit");
  p.singlepulse = n.flag("singlepulse");
  p.swmod = n.flag("swmod");
  p.swacc = n.flag("swacc");
  p.hw_precedence = word("precedence", "sw") == "hw";
  p.counter = n.flag("counter");
  p.incrvalue = n.number("incrvalue");
  p.decrvalue = n.number("decrvalue");
  p.incrwidth = n.number("incrwidth");
  p.decrwidth = n.number("decrwidth");
  p.incrsaturate = limit(n, "incrsaturate", ones(n.width));
  p.decrsaturate = limit(n, "decrsaturate", 0);
  p.incrthreshold = limit(n, "incrthreshold", ones(n.width));
  return p;
}

Access rdl_access_of(const RdlNode& n, const RdlField& p, RdlContext& context) {
  if (n.prop("regs_access") != nullptr) {
    const auto word = n.text("regs_access");
    const auto access = parse_access(word);
    if (access) return *access;
    context.error(
        n.at_prop("regs_access"), "access",
        fmt::format("unknown access '{}'{}", word, suggest(word, names_of(all_access()))));
    return Access::kRw;
  }
  std::optional<RdlRefusal> no;
  const auto precedence = n.text("precedence");
  for (const auto& [property, word, words] :
       {std::tuple{"sw", p.sw, "na r w rw w1 rw1"},
        {"hw", p.hw, "na r w rw"},
        {"precedence", std::string_view(precedence), "hw sw"}}) {
    const auto list = fmt::format(" {} ", words);
    if (!word.empty() && list.find(fmt::format(" {} ", word)) == std::string::npos) {
      context.error(n.at_prop(property), "property",
                    fmt::format("{} of {} is {}; known: {}", property, n.path(), word, words));
    }
  }
  const auto access = rdl_access(p, no);
  if (no) {
    context.error(n.at_prop(no->property), "property",
                  fmt::format("{} of {}: {}", no->property, n.path(), no->why));
  }
  return access;
}

Field rdl_make_field(const RdlNode& n, bool external, RdlContext& context) {
  return FieldMaker(n, external, context).run();
}

}  // namespace rnic::regs
