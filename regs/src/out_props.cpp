// SPDX-License-Identifier: Apache-2.0
//
// Formal properties of a register file, included into it under RNIC_REGS_PROPERTIES: what each
// stored bit does when software, hardware, both or neither act on it. They are written from the
// rules, as what sets and what clears a bit, and do not look at how the file computes its values.
//
// Per field and element x: s1, s0, st bits that software sets, clears, toggles in this cycle; h1,
// h0 bits that hardware sets, clears.
#include <algorithm>

#include "outputs.hpp"
#include "ports.hpp"
#include "text.hpp"
#include "wrap.hpp"

namespace rnic::regs {
namespace {

constexpr std::uint64_t kMostElements = 4;  // of an array: more would prove the same again

class Properties : private Lines {
 public:
  Properties(const Map& map, const Block& b) : map_(map), b_(b) { word_w_ = b.addr_bits() - 2; }

  std::string run() {
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    line("//");
    line("// Properties of {}_{}; included into it when RNIC_REGS_PROPERTIES is defined.",
         map_.name, b_.name);
    line("  logic f_past_q, f_ran_q;  // the last cycle was no reset; there was a last cycle");
    line("  initial f_past_q = 1'b0;");
    line("  initial f_ran_q = 1'b0;");
    line("  always_ff @(posedge clk_i) f_past_q <= !rst_i;");
    line("  always_ff @(posedge clk_i) f_ran_q <= 1'b1;");
    for (const auto& r : b_.registers) {
      if (r.external || is_capture(b_, r)) continue;
      for (std::uint64_t i = 0; i < r.count; ++i) {
        if (i >= kMostElements && i + 1 != r.count) continue;
        if (staged(r)) stage(r, i);
        for (const auto& f : r.fields) field(r, f, i);
      }
    }
    bus();
    return wrap_sv(take());
  }

 private:
  [[nodiscard]] std::string address(const Register& r, std::uint64_t i, unsigned word) const {
    return fmt::format("word == {}'h{:x}", word_w_, r.element_offset(i) / 4 + word);
  }
  // Element i of a vector of all elements.
  static std::string of(const Register& r, unsigned width, const std::string& sig,
                        std::uint64_t i) {
    if (alone(r)) return sig;
    if (width == 1) return fmt::format("{}[{}]", sig, i);
    return fmt::format("{}[{} +: {}]", sig, i * width, width);
  }

  // Low writes add up; the high word uses them up; nothing else touches them.
  void stage(const Register& r, std::uint64_t i) {
    const auto n = stem(r);
    const auto strb = of(r, 4, "stage_" + n + "_strb_q", i);
    const auto data = of(r, 32, "stage_" + n + "_data_q", i);
    line("");
    line("  // {}{}: the staged low word", r.name, r.element_suffix(i));
    line("  always_ff @(posedge clk_i) begin : f_stage_{}_{}", n, i);
    line("    if (f_past_q) begin");
    line("      if ($past(wr_now && {})) begin", address(r, i, 0));
    line("        assert ({} == ($past({}) | $past(w_strb_q)));", strb, strb);
    line("        assert ((({} ^ $past(w_data_q)) & $past(w_mask)) == '0);", data);
    line("        assert ((({} ^ $past({})) & ~$past(w_mask)) == '0);", data, data);
    line("      end else if ($past(wr_now && {})) begin", address(r, i, 1));
    line("        assert ({} == '0);", strb);
    line("      end else begin");
    line("        assert ({} == $past({}));", strb, strb);
    line("        assert ({} == $past({}));", data, data);
    line("      end");
    line("    end");
    line("  end");
  }

  // Mask and data of a write that reaches field f, and the bits that a read touches.
  void software(const Register& r, const Field& f, std::uint64_t i, const std::string& x) {
    const auto& info = access_info(f.access);
    std::string m = fmt::format("{}'h0", f.width);
    std::string d = m;
    if (f.writable()) {
      std::vector<std::string> ms, ds;  // by word, the high one first
      if (staged(r)) {
        ms = {fmt::format("wide_mask[{}:{}] & {{{}{{wr_now && {}}}}}", f.msb(), f.lsb, f.width,
                          address(r, i, 1))};
        ds = {fmt::format("wide_data[{}:{}]", f.msb(), f.lsb)};
      } else {
        for (unsigned w = r.width / 32; w-- > 0;) {
          const unsigned lo = std::max(f.lsb, w * 32);
          const unsigned hi = std::min(f.msb(), w * 32 + 31);
          if (lo > hi) continue;
          ms.push_back(fmt::format("w_mask[{}:{}] & {{{}{{wr_now && {}}}}}", hi % 32, lo % 32,
                                   hi - lo + 1, address(r, i, w)));
          ds.push_back(fmt::format("w_data_q[{}:{}]", hi % 32, lo % 32));
        }
      }
      const auto all = [](const std::vector<std::string>& v) {
        return v.size() == 1 ? v[0] : fmt::format("{{{}, {}}}", v[0], v[1]);
      };
      m = all(ms);
      d = all(ds);
      if (f.lock) {
        const auto& by = b_.registers[f.lock->reg];
        const auto bit = fmt::format("reg_{}_q", stem(by, by.fields[f.lock->field]));
        m = fmt::format("({}) & {{{}{{{}{}}}}}", m, f.width, f.lock->when ? "!" : "",
                        f.lock->same_element ? fmt::format("{}[{}]", bit, i) : bit);
      }
      if (f.access == Access::kRwOnce) {
        m = fmt::format("({}) & ~{{{}{{{}}}}}", m, f.width,
                        of(r, 1, "once_" + stem(r, f) + "_q", i));
      }
    }
    std::string rd = "1'b0";
    if (info.on_read != OnRead::kNone) {
      rd = fmt::format("do_rd && {}", address(r, i, halves(r) ? f.lsb / 32 : 0));
    }
    line("  logic [{}:0] f_m_{}, f_d_{}, f_rd_{};", f.width - 1, x, x, x);
    line("  assign f_m_{} = {};", x, m);
    line("  assign f_d_{} = {};", x, d);
    line("  assign f_rd_{} = {{{}{{{}}}}};", x, f.width, rd);
    const auto both = [&](const char* expr) {
      std::string s = expr;
      for (std::size_t p; (p = s.find('@')) != std::string::npos;) s.replace(p, 1, x);
      return s;
    };
    std::string s1 = "'0", s0 = "'0", st = "'0";
    switch (info.on_write) {
      case OnWrite::kStore:
      case OnWrite::kPulse:
        s1 = both("f_m_@ & f_d_@");
        s0 = both("f_m_@ & ~f_d_@");
        break;
      case OnWrite::kOneClear:
        s0 = both("f_m_@ & f_d_@");
        break;
      case OnWrite::kOneSet:
        s1 = both("f_m_@ & f_d_@");
        break;
      case OnWrite::kOneToggle:
        st = both("f_m_@ & f_d_@");
        break;
      case OnWrite::kZeroClear:
        s0 = both("f_m_@ & ~f_d_@");
        break;
      case OnWrite::kZeroSet:
        s1 = both("f_m_@ & ~f_d_@");
        break;
      case OnWrite::kZeroToggle:
        st = both("f_m_@ & ~f_d_@");
        break;
      case OnWrite::kClear:
        s0 = both("f_m_@");
        break;
      case OnWrite::kSet:
        s1 = both("f_m_@");
        break;
      case OnWrite::kNone:
        break;
    }
    const auto also = [&](std::string& s, OnRead when) {
      if (info.on_read != when) return;
      s = s == "'0" ? both("f_rd_@") : fmt::format("({}) | {}", s, both("f_rd_@"));
    };
    also(s1, OnRead::kSet);
    also(s0, OnRead::kClear);
    line("  logic [{}:0] f_s1_{}, f_s0_{}, f_st_{};", f.width - 1, x, x, x);
    line("  assign f_s1_{} = {};", x, s1);
    line("  assign f_s0_{} = {};", x, s0);
    line("  assign f_st_{} = {};", x, st);
  }

  void hardware(const Register& r, const Field& f, std::uint64_t i, const std::string& x) {
    const auto n = stem(r, f);
    std::string set = "'0", clear = "'0", we = "1'b0", in = "'0";
    if (f.hw.set) {
      set = r.irq_role == IrqRole::kState ? irq_set(r, f)
                                          : of(r, f.width, n + std::string(set_ending(f)), i);
    }
    if (f.hw.clear) clear = of(r, f.width, n + "_clr_i", i);
    if (f.hw.write) {
      we = of(r, 1, n + "_we_i", i);
      in = of(r, f.width, n + "_i", i);
    }
    line("  logic [{}:0] f_h1_{}, f_h0_{};", f.width - 1, x, x);
    line("  assign f_h1_{} = {} | ({{{}{{{}}}}} & {} & ~{});", x, set, f.width, we, in, clear);
    line("  assign f_h0_{} = ~f_h1_{} & ({} | {{{}{{{}}}}});", x, x, clear, f.width, we);
  }

  std::string irq_set(const Register& r, const Field& f) const {
    const auto& g = b_.interrupts[r.irq];
    const auto in = to_lower(g.name) + "_" + f.name;
    const auto test = fmt::format("reg_{}_q", stem(b_.registers[g.test], f));
    switch (g.sources[f.lsb].kind) {
      case IrqKind::kRising:
        return fmt::format("(({}_i && !last_{}_q) || {})", in, in, test);
      case IrqKind::kFalling:
        return fmt::format("((!{}_i && last_{}_q) || {})", in, in, test);
      case IrqKind::kBoth:
        return fmt::format("(({}_i != last_{}_q) || {})", in, in, test);
      default:
        return fmt::format("({}_i || {})", in, test);
    }
  }

  void field(const Register& r, const Field& f, std::uint64_t i) {
    if (!f.stored() || f.hw.inout || (!f.writable() && !f.hw_changes())) return;
    const auto n = stem(r, f);
    const auto x = fmt::format("{}_{}", n, i);
    const auto q = of(r, f.width, "reg_" + n + "_q", i);
    line("");
    line("  // {}{}.{}: {}{}", r.name, r.element_suffix(i), f.name, access_name(f.access),
         f.collision == Collision::kSoftware ? ", software on top" : "");
    software(r, f, i, x);
    if (f.counter) {
      count(r, f, i, x, q);
      return;
    }
    hardware(r, f, i, x);
    line("  always_ff @(posedge clk_i) begin : f_{}", x);
    line("    if (f_past_q) begin");
    const auto past = [&](const char* what) { return fmt::format("$past(f_{}_{})", what, x); };
    const auto rule = [&](const std::string& bits, const std::string& value) {
      line("      assert (({} & ({} ^ ({}))) == '0);", bits, q, value);
    };
    const auto ones_of = fmt::format("{{{}{{1'b1}}}}", f.width);
    const auto zero_of = fmt::format("{}'h0", f.width);
    const auto h1 = past("h1"), h0 = past("h0"), s1 = past("s1"), s0 = past("s0"), st = past("st");
    const auto old = f.access == Access::kPulse ? zero_of : fmt::format("$past({})", q);
    if (f.collision == Collision::kHardware) {
      const auto soft = fmt::format("~{} & ~{}", h1, h0);
      rule(h1, ones_of);
      rule(h0, zero_of);
      rule(fmt::format("{} & {}", soft, s1), ones_of);
      rule(fmt::format("{} & {}", soft, s0), zero_of);
      rule(fmt::format("{} & {}", soft, st), "~" + old);
      rule(fmt::format("{} & ~{} & ~{} & ~{}", soft, s1, s0, st), old);
    } else {
      const auto hard = fmt::format("~{} & ~{}", s1, s0);
      const auto mid = fmt::format("({} | ({} & ~{}))", h1, old, h0);
      rule(s1, ones_of);
      rule(s0, zero_of);
      rule(fmt::format("{} & {}", hard, st), "~" + mid);
      rule(fmt::format("{} & ~{} & {}", hard, st, h1), ones_of);
      rule(fmt::format("{} & ~{} & {}", hard, st, h0), zero_of);
      rule(fmt::format("{} & ~{} & ~{} & ~{}", hard, st, h1, h0), old);
    }
    if (f.hw.wr_pulse) {
      line("      assert ({} == ($past(f_m_{}) != '0));", of(r, 1, "wrp_" + n + "_q", i), x);
    }
    line("    end else if (f_ran_q) begin");
    line("      assert ({} == {});", q,
         f.reset_param.empty() ? fmt::format("{}'h{:x}", f.width, f.reset)
                               : fmt::format("{}'({})", f.width, f.reset_param));
    line("    end");
    if (f.hw_changes() && (f.writable() || access_info(f.access).on_read != OnRead::kNone)) {
      line("    cover (((f_h1_{} | f_h0_{}) & (f_s1_{} | f_s0_{} | f_st_{})) != '0);", x, x, x, x,
           x);
    }
    line("  end");
  }

  // A counter takes its step from what software leaves (or software acts on the counted value).
  void count(const Register& r, const Field& f, std::uint64_t i, const std::string& x,
             const std::string& q) {
    const auto n = stem(r, f);
    const auto& c = *f.counter;
    const unsigned w = f.width + 2;
    const auto wide = [&](const std::string& s, unsigned width) {
      return fmt::format("{{{}'h0, {}}}", w - width, s);
    };
    const auto in = [&](unsigned width, const char* tail) {
      return width == 0 ? fmt::format("{}'h0", w) : wide(of(r, width, n + tail, i), width);
    };
    line("  logic [{}:0] f_up_{}, f_down_{}, f_sum_{};", w - 1, x, x, x);
    line("  logic [{}:0] f_from_{}, f_to_{}, f_want_{};", f.width - 1, x, x, x);
    line("  assign f_up_{} = {};", x, in(c.incr_width, "_incr_i"));
    line("  assign f_down_{} = {};", x, in(c.decr_width, "_decr_i"));
    const auto soft = [&](const std::string& v) {
      return fmt::format("(({} & ~f_s0_{}) | f_s1_{}) ^ f_st_{}", v, x, x, x);
    };
    std::string loaded = q;
    if (f.collision == Collision::kHardware) loaded = soft(q);
    if (f.hw.write) {
      loaded = fmt::format("{} ? {} : {}", of(r, 1, n + "_we_i", i), of(r, f.width, n + "_i", i),
                           loaded);
    }
    if (f.hw.clear) loaded = fmt::format("({}) & ~{}", loaded, of(r, f.width, n + "_clr_i", i));
    line("  assign f_from_{} = {};", x, loaded);
    line("  assign f_sum_{} = {} + f_up_{} - f_down_{};", x, wide("f_from_" + x, f.width), x, x);
    if (c.saturate) {
      line(
          "  assign f_to_{} = f_sum_{}[{}] ? '0 : f_sum_{} > {}'h{:x} ? {}'h{:x} : f_sum_{}[{}:0];",
          x, x, w - 1, x, w, c.max, f.width, c.max, x, f.width - 1);
    } else {
      line("  assign f_to_{} = f_sum_{}[{}:0];", x, x, f.width - 1);
    }
    line("  assign f_want_{} = {};", x,
         f.collision == Collision::kSoftware ? soft("f_to_" + x) : "f_to_" + x);
    line("  always_ff @(posedge clk_i) begin : f_{}", x);
    line("    if (f_past_q) assert ({} == $past(f_want_{}));", q, x);
    line("    cover (f_up_{} != f_down_{} && (f_s1_{} | f_s0_{}) != '0);", x, x, x, x);
    line("  end");
  }

  // What the bus promises.
  void bus() {
    line("");
    line("  // The bus: answers stay until taken, and one access is answered once.");
    line("  always_ff @(posedge clk_i) begin : f_bus");
    line("    if (f_past_q) begin");
    line("      if ($past(s_bvalid && !s_bready)) assert (s_bvalid && s_bresp == $past(s_bresp));");
    line("      if ($past(s_rvalid && !s_rready)) begin");
    line("        assert (s_rvalid && s_rdata == $past(s_rdata) && s_rresp == $past(s_rresp));");
    line("      end");
    line("      assert (bad_access_pulse_o == $past(bad));");
    line("    end");
    line("    cover (s_bvalid);");
    line("    cover (s_rvalid);");
    line("  end");
  }

  const Map& map_;
  const Block& b_;
  unsigned word_w_ = 0;
};

}  // namespace

void out_props(const Map& map, OutFiles& files) {
  for (const auto& b : map.blocks) {
    if (!b.generated) continue;
    files.push_back(
        {OutDir::kRtl, fmt::format("{}_{}_props.svh", map.name, b.name), Properties(map, b).run()});
  }
}

}  // namespace rnic::regs
