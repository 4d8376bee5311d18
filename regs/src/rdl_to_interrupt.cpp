// SPDX-License-Identifier: Apache-2.0
//
// Three SystemRDL registers NAME_STATE, NAME_ENABLE, NAME_TEST of one-bit fields as an interrupt
// group of the map.
#include <fmt/format.h>

#include <array>

#include "rdl_to_map.hpp"

namespace rnic::regs {
namespace {

constexpr std::array<const char*, 3> kTails = {"_STATE", "_ENABLE", "_TEST"};

std::vector<const RdlNode*> fields_of(const RdlNode& reg) {
  std::vector<const RdlNode*> list;
  for (const auto& f : reg.children) {
    if (f->kind == RdlKind::kField && rdl_present(*f)) list.push_back(f.get());
  }
  return list;
}

class GroupMaker {
 public:
  GroupMaker(std::string name, std::array<const RdlNode*, 3> regs, RdlContext& context)
      : name_(std::move(name)), regs_(regs), c_(context) {}

  Interrupt run() {
    Interrupt i;
    const auto& state = *regs_[0];
    i.pos = state.pos;
    i.keys = {{"name", state.pos}, {"offset", state.at_pos}, {"sources", state.pos}};
    i.name = name_;
    i.offset = *state.at;
    i.desc = rdl_description(state);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto& r = *regs_[k];
      if (!r.dims.empty() || r.external || r.number("regwidth").value_or(32) != 32) {
        refuse(r.pos, fmt::format("{} is one internal register of 32 bits", r.path()));
      }
      if (*r.at != i.offset + 4 * k) {
        refuse(r.at_pos, fmt::format("{} is at {:#x}: write @ {:#x}, {} behind {}", r.path(), *r.at,
                                     i.offset + 4 * k, 4 * k, state.name));
      }
    }
    const auto sources = fields_of(state);
    for (std::size_t bit = 0; bit < sources.size(); ++bit) {
      i.sources.push_back(source(*sources[bit], bit));
    }
    for (std::size_t k = 1; k < 3; ++k) {
      if (fields_of(*regs_[k]).size() != sources.size()) {
        refuse(regs_[k]->pos, fmt::format("{} has a bit for each of the {} of {}, and no other",
                                          regs_[k]->path(), sources.size(), state.path()));
      }
    }
    return i;
  }

 private:
  void refuse(SourcePos pos, const std::string& why) {
    c_.error(pos, "interrupt", fmt::format("interrupt group {}: {}", name_, why));
  }

  IrqSource source(const RdlNode& f, std::size_t bit) {
    IrqSource s;
    s.pos = f.pos;
    s.keys = {{"name", f.pos}};
    s.name = c_.name(f.name, f.pos, RdlCase::kLowerSv);
    s.desc = rdl_description(f);
    s.kind = kind(f);
    if (f.lsb != bit || f.width != 1) {
      refuse(f.range_pos, fmt::format("{} is one bit, number {}", f.path(), bit));
    }
    zero(f);
    const auto* enable = peer(*regs_[1], f);
    if (enable != nullptr) {
      const auto p = rdl_field_of(*enable);
      if (rdl_access_of(*enable, p, c_) != Access::kRw) {
        refuse(enable->pos, fmt::format("{} is sw = rw; hw = r", enable->path()));
      }
      zero(*enable);
      const auto* gate = f.prop("enable");
      if (gate == nullptr || gate->value.node != enable) {
        refuse(gate == nullptr ? f.pos : gate->pos,
               fmt::format("its enable is {}: write {}.{}->enable = {}.{};", enable->path(),
                           regs_[0]->name, f.name, regs_[1]->name, enable->name));
      }
    }
    if (const auto* test = peer(*regs_[2], f)) {
      const auto want = s.kind == IrqKind::kLevel ? Access::kRw : Access::kPulse;
      if (rdl_access_of(*test, rdl_field_of(*test), c_) != want) {
        refuse(test->pos,
               fmt::format("{} is {}", test->path(),
                           want == Access::kRw ? "sw = rw; hw = r, as its source is a level"
                                               : "sw = rw; singlepulse"));
      }
      zero(*test);
    }
    return s;
  }

  void zero(const RdlNode& f) {
    if (f.number("reset").value_or(0) != 0) {
      refuse(f.at_prop("reset"), fmt::format("{} resets to 0", f.path()));
    }
  }

  IrqKind kind(const RdlNode& f) {
    const auto p = rdl_field_of(f);
    const auto access = rdl_access_of(f, p, c_);
    const bool level = p.intr == RdlIntr::kNonsticky;
    if (access != (level ? Access::kRo : Access::kW1c)) {
      refuse(f.pos, fmt::format("{} is sw = rw; onwrite = woclr, or sw = r; nonsticky intr for a "
                                "level that hardware holds",
                                f.path()));
    }
    switch (p.intr) {
      case RdlIntr::kPosedge:
        return IrqKind::kRising;
      case RdlIntr::kNegedge:
        return IrqKind::kFalling;
      case RdlIntr::kBothedge:
        return IrqKind::kBoth;
      case RdlIntr::kNonsticky:
        return IrqKind::kLevel;
      case RdlIntr::kNone:
        refuse(f.pos, fmt::format("{} is no interrupt: write intr", f.path()));
        return IrqKind::kPulse;
      case RdlIntr::kLevel:
        break;
    }
    return IrqKind::kPulse;
  }

  // The field of the same name and bit.
  const RdlNode* peer(const RdlNode& reg, const RdlNode& f) {
    for (const auto* x : fields_of(reg)) {
      if (x->name == f.name && x->lsb == f.lsb && x->width == f.width) return x;
    }
    refuse(reg.pos, fmt::format("{} has no bit {} named {}", reg.path(), f.lsb, f.name));
    return nullptr;
  }

  std::string name_;
  std::array<const RdlNode*, 3> regs_;
  RdlContext& c_;
};

const RdlNode* find(const RdlNode& block, const std::string& name) {
  for (const auto& n : block.children) {
    if (n->kind == RdlKind::kReg && rdl_present(*n) &&
        rdl_map_name(n->name, RdlCase::kUpper) == name) {
      return n.get();
    }
  }
  return nullptr;
}

// The name of the group whose state the register is, or nothing.
std::string group_of(const RdlNode& n) {
  const auto marked = n.text("regs_interrupt");
  const auto name = rdl_map_name(n.name, RdlCase::kUpper);
  if (!marked.empty()) return name == marked + kTails[0] ? marked : std::string();
  const std::string_view tail = kTails[0];
  if (name.size() <= tail.size() || !name.ends_with(tail)) return {};
  for (const auto* f : fields_of(n)) {
    if (f->flag("intr")) return name.substr(0, name.size() - tail.size());
  }
  return {};
}

}  // namespace

std::vector<Interrupt> rdl_make_interrupts(const RdlNode& block, std::set<const RdlNode*>& used,
                                           RdlContext& context) {
  std::vector<Interrupt> list;
  for (const auto& n : block.children) {
    if (n->kind != RdlKind::kReg || !rdl_present(*n)) continue;
    const auto name = group_of(*n);
    if (name.empty()) continue;
    std::array<const RdlNode*, 3> regs = {n.get(), find(block, name + kTails[1]),
                                          find(block, name + kTails[2])};
    bool whole = true;
    for (std::size_t k = 1; k < 3; ++k) {
      if (regs[k] != nullptr) continue;
      whole = false;
      context.error(n->pos, "interrupt",
                    fmt::format("interrupt group {}: register {}{} is missing: write it at {:#x}",
                                name, name, kTails[k], *n->at + 4 * k));
    }
    used.insert(regs.begin(), regs.end());
    if (!whole) continue;
    auto group = GroupMaker(name, regs, context).run();
    for (const auto& e : rdl_list(block, "regs_interrupts")) {
      if (e.head == name) group.desc = e.text;
    }
    list.push_back(std::move(group));
  }
  return list;
}

}  // namespace rnic::regs
