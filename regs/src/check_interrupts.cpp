// SPDX-License-Identifier: Apache-2.0
//
// An interrupt group becomes three registers: NAME_STATE (events w1c, levels ro), NAME_ENABLE (rw),
// NAME_TEST (events pulse, levels rw: a written 1 makes the source appear).
#include <fmt/format.h>

#include "check.hpp"

namespace rnic::regs {
namespace {

Register make(const Interrupt& i, const char* tail, IrqRole role, std::size_t index,
              std::uint64_t at) {
  Register r;
  r.pos = i.pos;
  r.keys = i.keys;
  r.name = i.name + tail;
  r.local_name = r.name;
  r.offset = at;
  r.irq_role = role;
  r.irq = index;
  return r;
}

}  // namespace

void expand_interrupts(Block& b, Diagnostics& diags) {
  for (std::size_t k = 0; k < b.interrupts.size(); ++k) {
    auto& i = b.interrupts[k];
    if (i.sources.empty() || i.sources.size() > 32) {
      diags.error(i.at("sources"), "interrupt",
                  fmt::format("{} has {} sources: a group has 1 to 32, make another group", i.name,
                              i.sources.size()));
      if (i.sources.size() > 32) i.sources.resize(32);
    }
    auto state = make(i, "_STATE", IrqRole::kState, k, i.offset);
    auto enable = make(i, "_ENABLE", IrqRole::kEnable, k, i.offset + 4);
    auto test = make(i, "_TEST", IrqRole::kTest, k, i.offset + 8);
    state.desc = i.desc + (i.desc.empty() ? "" : " ") + "What has happened.";
    enable.desc = "Which of it raises the interrupt.";
    test.desc = "A written 1 makes the source appear.";
    unsigned bit = 0;
    for (const auto& s : i.sources) {
      const bool level = s.kind == IrqKind::kLevel;
      Field f;
      f.pos = s.pos;
      f.keys = s.keys;
      f.name = s.name;
      f.desc = s.desc;
      f.lsb = bit++;
      f.access = level ? Access::kRo : Access::kW1c;
      f.hw = level ? HwPorts{.in = true} : HwPorts{.out = true, .set = true};
      state.fields.push_back(f);
      f.access = Access::kRw;
      f.hw = {};
      enable.fields.push_back(f);
      f.access = level ? Access::kRw : Access::kPulse;
      test.fields.push_back(f);
    }
    i.state = b.registers.size();
    i.enable = i.state + 1;
    i.test = i.state + 2;
    for (auto* r : {&state, &enable, &test}) b.registers.push_back(std::move(*r));
  }
}

}  // namespace rnic::regs
