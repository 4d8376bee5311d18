// SPDX-License-Identifier: Apache-2.0
#include "sv_block.hpp"

namespace rnic::regs {

// What sets the state bit of a source (an event), or what the bit shows (a level); of other fields
// the input that sets.
std::string SvBlock::irq_event(const Register& r, const Field& f) const {
  if (r.irq_role != IrqRole::kState) return stem(r, f) + std::string(set_ending(f));
  const auto& group = b_.interrupts[r.irq];
  const auto in = to_lower(group.name) + "_" + f.name;
  const auto test = fmt::format("reg_{}_q", stem(b_.registers[group.test], f));
  switch (group.sources[f.lsb].kind) {
    case IrqKind::kPulse:
    case IrqKind::kLevel:
      return fmt::format("({}_i | {})", in, test);
    case IrqKind::kRising:
      return fmt::format("(({}_i & ~last_{}_q) | {})", in, in, test);
    case IrqKind::kFalling:
      return fmt::format("((~{}_i & last_{}_q) | {})", in, in, test);
    case IrqKind::kBoth:
      return fmt::format("(({}_i ^ last_{}_q) | {})", in, in, test);
  }
  return in;
}

void SvBlock::irq_declarations() {
  for (const auto& g : b_.interrupts) {
    for (const auto& s : g.sources) {
      if (s.kind == IrqKind::kPulse || s.kind == IrqKind::kLevel) continue;
      const auto in = to_lower(g.name) + "_" + s.name;
      line("  logic last_{}_q;", in);
      line("  always_ff @(posedge clk_i) last_{}_q <= {}_i;", in, in);
    }
  }
}

// The line is a flip-flop: no glitches, one cycle behind the state.
void SvBlock::interrupts() {
  for (const auto& g : b_.interrupts) {
    const auto n = to_lower(g.name);
    const auto& state = b_.registers[g.state];
    const auto& enable = b_.registers[g.enable];
    line("");
    line("  // {}: {}", g.name, g.desc);
    line("  logic {}_irq_q;", n);
    line("  always_ff @(posedge clk_i) begin : {}_line", n);
    std::string any;
    for (const auto& f : state.fields) {
      const auto shown = f.hw.in ? irq_event(state, f) : fmt::format("reg_{}_q", stem(state, f));
      any += fmt::format("{}({} & reg_{}_q)", any.empty() ? "" : " | ", shown, stem(enable, f));
    }
    line("    {}_irq_q <= {};", n, any);
    line("    if (rst_i) {}_irq_q <= 1'b0;", n);
    line("  end");
    line("  assign {}_irq_o = {}_irq_q;", n, n);
  }
}

}  // namespace rnic::regs
