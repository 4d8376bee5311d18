// SPDX-License-Identifier: Apache-2.0
#include "sv_block.hpp"

namespace rnic::regs {
namespace {

const char* index_of(const Register& r) { return alone(r) ? "" : "i"; }

}  // namespace

// Fields that hardware or reads change get their next value here, software and hardware in the
// order that the collision policy says.
void SvBlock::next_values() {
  for (const auto& r : b_.registers) {
    if (skip(r)) continue;
    for (const auto& f : r.fields) {
      if (apart(f)) next_value(r, f);
    }
  }
}

void SvBlock::next_value(const Register& r, const Field& f) {
  const auto n = stem(r, f);
  const bool many = *index_of(r) != '\0';
  const std::string pad = many ? "      " : "    ";
  line("");
  line("  // {}.{}: {}{}", r.name, f.name, access_name(f.access),
       !f.hw_changes()                       ? ""
       : f.collision == Collision::kHardware ? ", hardware acts on top of software"
                                             : ", software acts on top of hardware");
  line("  always_comb begin : next_{}", n);
  line("    nxt_{} = reg_{}_q;", n, n);
  if (f.counter) line("    cnt_{} = '0;", n);
  if (many) line("    for (int unsigned i = 0; i < {}; i++) begin", count_text(r));
  if (f.collision == Collision::kSoftware) hardware_part(r, f, pad);
  software_part(r, f, pad);
  if (f.collision == Collision::kHardware) hardware_part(r, f, pad);
  if (many) line("    end");
  line("  end");
  line("  always_ff @(posedge clk_i) begin : store_{}", n);
  line("    reg_{}_q <= nxt_{};", n, n);
  const bool once = f.access == Access::kRwOnce;
  const auto i = std::string(index_of(r));
  const auto sel = halves(r) ? (f.lsb < 32 ? "_lo" : "_hi") : "";
  if (once) {
    const unsigned base = halves(r) ? f.lsb / 32 * 32 : 0;
    const auto* wm = staged(r) ? "wide_mask" : "w_mask";
    const auto mask = f.width == 1 ? fmt::format("{}[{}]", wm, f.lsb - base)
                                   : fmt::format("|{}[{}:{}]", wm, f.msb() - base, f.lsb - base);
    const auto lock = unlocked(f, i);
    if (many) line("    for (int unsigned i = 0; i < {}; i++) begin", count_text(r));
    line("{}if ({}{} && {}) {} <= 1'b1;", pad, bit(r, "wsel_" + stem(r) + sel, i),
         lock.empty() ? "" : " && " + lock, mask, bit(r, "once_" + n + "_q", i));
    if (many) line("    end");
  }
  line("    if (rst_i) begin");
  line("      reg_{}_q <= {};", n,
       many ? fmt::format("{{{}{{{}}}}}", count_text(r), reset_literal(f)) : reset_literal(f));
  if (once) line("      once_{}_q <= '0;", n);
  line("    end");
  line("  end");
}

void SvBlock::software_part(const Register& r, const Field& f, const std::string& pad) {
  const std::string i = index_of(r);
  const auto n = stem(r, f);
  const auto nxt = element(r, f.width, "nxt_" + n, i, 0);
  const auto half = halves(r) ? (f.lsb < 32 ? "_lo" : "_hi") : "";
  const auto& info = access_info(f.access);
  if (info.on_write != OnWrite::kNone) {
    const unsigned base = halves(r) ? f.lsb / 32 * 32 : 0;
    const auto range = f.width == 1 ? fmt::format("[{}]", f.lsb - base)
                                    : fmt::format("[{}:{}]", f.msb() - base, f.lsb - base);
    auto when = bit(r, "wsel_" + stem(r) + half, i);
    if (const auto lock = unlocked(f, i); !lock.empty()) when += " && " + lock;
    if (f.access == Access::kRwOnce) when += " && !" + bit(r, "once_" + n + "_q", i);
    line("{}if ({}) begin", pad, when);
    line("{}  {} = {};", pad, nxt,
         after_write(info.on_write, nxt, (staged(r) ? "wide_data" : "w_data_q") + range,
                     (staged(r) ? "wide_mask" : "w_mask") + range));
    line("{}end", pad);
  }
  if (info.on_read != OnRead::kNone) {
    line("{}if ({}) {} = {};", pad, bit(r, "rsel_" + stem(r) + half, i), nxt,
         info.on_read == OnRead::kClear ? "'0" : "'1");
  }
}

void SvBlock::hardware_part(const Register& r, const Field& f, const std::string& pad) {
  const std::string i = index_of(r);
  const auto n = stem(r, f);
  const auto nxt = element(r, f.width, "nxt_" + n, i, 0);
  if (f.hw.write) {
    line("{}if ({}) {} = {};", pad, bit(r, n + "_we_i", i), nxt,
         element(r, f.width, n + "_i", i, 0));
  }
  if (f.hw.clear) {
    line("{}{} = {} & ~{};", pad, nxt, nxt, element(r, f.width, n + "_clr_i", i, 0));
  }
  if (f.counter) count_part(r, f, pad);
  if (f.hw.set) {
    line("{}{} = {} | {};", pad, nxt, nxt,
         r.irq_role == IrqRole::kState ? irq_event(r, f)
                                       : element(r, f.width, n + std::string(set_ending(f)), i, 0));
  }
}

// One bit more than the counter has, so that a step over the end is seen.
void SvBlock::count_part(const Register& r, const Field& f, const std::string& pad) {
  const std::string i = index_of(r);
  const auto n = stem(r, f);
  const auto& c = *f.counter;
  const auto nxt = element(r, f.width, "nxt_" + n, i, 0);
  const auto cnt = "cnt_" + n;
  const auto wide = [&](const std::string& x, unsigned w) {
    return fmt::format("{{{}'h0, {}}}", f.width + 1 - w, x);
  };
  line("{}{} = {{1'b0, {}}};", pad, cnt, nxt);
  if (c.incr_width != 0) {
    line("{}{} = {} + {};", pad, cnt, cnt,
         wide(element(r, c.incr_width, n + "_incr_i", i, 0), c.incr_width));
  }
  if (c.decr_width != 0) {
    const auto d = wide(element(r, c.decr_width, n + "_decr_i", i, 0), c.decr_width);
    if (c.saturate) {
      line("{}{} = {} < {} ? '0 : {} - {};", pad, cnt, cnt, d, cnt, d);
    } else {
      line("{}{} = {} - {};", pad, cnt, cnt, d);
    }
  }
  if (c.saturate) {
    line("{}if ({} > {}'h{:x}) {} = {}'h{:x};", pad, cnt, f.width + 1, c.max, cnt, f.width + 1,
         c.max);
  } else {
    line("{}{}[{}] = 1'b0;", pad, cnt, f.width);
  }
  line("{}{} = {}[{}:0];", pad, nxt, cnt, f.width - 1);
}

}  // namespace rnic::regs
