// SPDX-License-Identifier: Apache-2.0
#include "sv_block.hpp"

namespace rnic::regs {

void SvBlock::storage_declarations() {
  for (const auto& r : b_.registers) {
    if (is_capture(b_, r)) {
      line("  logic [{}:0] cap_word_q;", word_w_ - 1);
      line("  logic cap_write_q, cap_valid_q;");
      continue;
    }
    if (r.external) continue;
    const auto n = stem(r);
    for (const auto& f : r.fields) {
      const auto fn = stem(r, f);
      if (stores(r, f)) line("  logic {}reg_{}_q;", vector_of(r, f.width), fn);
      if (apart(f)) line("  logic {}nxt_{};", vector_of(r, f.width), fn);
      if (f.counter) line("  logic [{}:0] cnt_{};", f.width, fn);
      if (f.access == Access::kRwOnce) line("  logic {}once_{}_q;", vector_of(r, 1), fn);
      if (f.hw.inout) line("  logic {}reg_{}_we_q;", vector_of(r, 1), fn);
      if (f.hw.wr_pulse) line("  logic {}wrp_{}_q;", vector_of(r, 1), fn);
      if (f.hw.rd_pulse) line("  logic {}rdp_{}_q;", vector_of(r, 1), fn);
    }
    if (has_wt(r)) line("  logic {}reg_{}_we_q;", vector_of(r, 1), n);
    if (buffered(r) && r.readable()) {
      line("  logic {}snap_{}_q;", vector_of(r, 32), n);
      line("  logic {}snapv_{}_q;", vector_of(r, 1), n);
    }
    if (staged(r)) {
      line("  /* verilator lint_off UNUSEDSIGNAL */  // bits of no field are staged too");
      line("  logic {}stage_{}_data_q;", vector_of(r, 32), n);
      line("  logic {}stage_{}_strb_q;", vector_of(r, 4), n);
      line("  /* verilator lint_on UNUSEDSIGNAL */");
    }
  }
  if (any_staged_) {
    line("  /* verilator lint_off UNUSEDSIGNAL */  // a small map may not use all bits");
    line("  logic [63:0] wide_data, wide_mask;");
    line("  /* verilator lint_on UNUSEDSIGNAL */");
    line("  logic [31:0] stage_data;");
    line("  logic [3:0] stage_strb;");
  }
}

// The write value of a 64-bit register: its staged low word under the high word of now.
void SvBlock::staging() {
  if (!any_staged_) return;
  line("");
  line("  always_comb begin : staged");
  line("    stage_data = 32'h0;");
  line("    stage_strb = 4'h0;");
  line("    if (wr_now) begin");
  line("      case (word)");
  for (const auto& [address, w] : words_) {
    const auto& p = w.write;
    if (p.reg == nullptr || p.word != 1 || !staged(*p.reg)) continue;
    const auto n = stem(*p.reg);
    line("        {}: begin", word_literal(address * 4));
    line("          stage_data = {};", element(*p.reg, 32, "stage_" + n + "_data_q", "", p.elem));
    line("          stage_strb = {};", element(*p.reg, 4, "stage_" + n + "_strb_q", "", p.elem));
    line("        end");
  }
  line("        default: ;");
  line("      endcase");
  for (const auto* r : param_arrays_) {
    if (!staged(*r)) continue;
    line("      for (int unsigned i = 0; i < {}; i++) begin", r->count_param);
    line("        if (word == {} + {}'(i * {})) begin", word_literal(r->offset + 4), word_w_,
         r->stride / 4);
    line("          stage_data = stage_{}_data_q[i*32 +: 32];", stem(*r));
    line("          stage_strb = stage_{}_strb_q[i*4 +: 4];", stem(*r));
    line("        end");
    line("      end");
  }
  line("    end");
  line("  end");
  line("  assign wide_data = {w_data_q, stage_data};");
  line("  assign wide_mask = {w_mask, {8{stage_strb[3]}}, {8{stage_strb[2]}},");
  line("                      {8{stage_strb[1]}}, {8{stage_strb[0]}}};");
}

void SvBlock::writes() {
  const bool any = any_stored_ || any_staged_ ||
                   std::any_of(b_.registers.begin(), b_.registers.end(), [&](const Register& r) {
                     return !skip(r) && std::any_of(r.fields.begin(), r.fields.end(),
                                                    [](const Field& f) { return f.hw.rd_pulse; });
                   });
  if (!any) return;
  line("");
  line("  always_ff @(posedge clk_i) begin : registers");
  for (const auto& r : b_.registers) {
    if (skip(r)) continue;
    for (const auto& f : r.fields) {
      const auto n = stem(r, f);
      if (f.access == Access::kPulse) line("    reg_{}_q <= '0;", n);
      if (is_event(f)) line("    reg_{}_q <= reg_{}_q | {};", n, n, irq_event(r, f));
      if (f.hw.inout) line("    reg_{}_we_q <= '0;", n);
      if (f.hw.wr_pulse) line("    wrp_{}_q <= '0;", n);
      if (f.hw.rd_pulse) {
        line("    rdp_{}_q <= rsel_{}{};", n, stem(r),
             !halves(r)   ? ""
             : f.lsb < 32 ? "_lo"
                          : "_hi");
      }
    }
    if (has_wt(r)) line("    reg_{}_we_q <= '0;", stem(r));
  }
  line("    if (wr_now) begin");
  line("      case (word)");
  for (const auto& [address, w] : words_) {
    if (w.write.reg != nullptr && !skip(*w.write.reg)) write_case(address, w.write);
  }
  line("        default: ;");
  line("      endcase");
  for (const auto* r : param_arrays_) {
    if (!r->writable()) continue;
    line("      for (int unsigned i = 0; i < {}; i++) begin", r->count_param);
    for (unsigned w = 0; w < r->width / 32; ++w) {
      line("        if (word == {} + {}'(i * {})) begin", word_literal(r->offset + 4 * w), word_w_,
           r->stride / 4);
      write_part(*r, "i", 0, w, "          ");
      line("        end");
    }
    line("      end");
  }
  line("    end");
  write_reset();
  line("  end");
}

void SvBlock::write_reset() {
  line("    if (rst_i) begin");
  for (const auto& r : b_.registers) {
    if (skip(r)) continue;
    for (const auto& f : r.fields) {
      const auto n = stem(r, f);
      if (stores(r, f) && !apart(f)) {
        line("      reg_{}_q <= {};", n,
             alone(r) ? reset_literal(f)
                      : fmt::format("{{{}{{{}}}}}", count_text(r), reset_literal(f)));
      }
      if (f.hw.inout) line("      reg_{}_we_q <= '0;", n);
      if (f.hw.wr_pulse) line("      wrp_{}_q <= '0;", n);
      if (f.hw.rd_pulse) line("      rdp_{}_q <= '0;", n);
    }
    if (has_wt(r)) line("      reg_{}_we_q <= '0;", stem(r));
    if (staged(r)) line("      stage_{}_strb_q <= '0;", stem(r));
  }
  line("    end");
}

void SvBlock::write_case(std::uint64_t address, const Part& p) {
  const auto& r = *p.reg;
  line("        {}: begin{}", word_literal(address * 4),
       p.word == 0 ? "  // " + r.name + r.element_suffix(p.elem) : "");
  write_part(r, "", p.elem, p.word, "          ");
  line("        end");
}

void SvBlock::write_part(const Register& r, const std::string& i, std::uint64_t elem, unsigned word,
                         const std::string& pad) {
  const auto n = stem(r);
  const auto strb = element(r, 4, "stage_" + n + "_strb_q", i, elem);
  if (staged(r) && word == 0) {
    const auto lo = element(r, 32, "stage_" + n + "_data_q", i, elem);
    line("{}{} <= ({} & ~w_mask) | (w_data_q & w_mask);", pad, lo, lo);
    line("{}{} <= {} | w_strb_q;", pad, strb, strb);
    return;
  }
  const auto here = [&](const Field& f) {
    return !halves(r) || (word == 0 ? f.lsb < 32 : f.msb() >= 32);
  };
  for (const auto& f : r.fields) {
    if (f.writable() && here(f)) write_field(r, f, i, elem, word, pad);
  }
  if (has_wt(r)) {
    std::string any;
    for (const auto& f : r.fields) {
      if (f.access != Access::kWt || !here(f)) continue;
      const unsigned base = halves(r) ? word * 32 : 0;
      const auto* wm = staged(r) ? "wide_mask" : "w_mask";
      const auto lock = unlocked(f, i.empty() ? fmt::format("{}", elem) : i);
      auto hits = f.width == 1 ? fmt::format("{}[{}]", wm, f.lsb - base)
                               : fmt::format("|{}[{}:{}]", wm, f.msb() - base, f.lsb - base);
      if (!lock.empty()) hits = fmt::format("({} && {})", hits, lock);
      any += (any.empty() ? "" : " || ") + hits;
    }
    if (!any.empty()) line("{}{} <= {};", pad, element(r, 1, "reg_" + n + "_we_q", i, elem), any);
  }
  if (staged(r)) line("{}{} <= 4'h0;", pad, strb);
}

void SvBlock::write_field(const Register& r, const Field& f, const std::string& i,
                          std::uint64_t elem, unsigned word, const std::string& pad) {
  const auto n = stem(r, f);
  // The part of the field that this write reaches.
  const unsigned base = halves(r) ? word * 32 : 0;
  const unsigned lo = halves(r) ? std::max(f.lsb, base) : f.lsb;
  const unsigned hi = halves(r) ? std::min(f.msb(), base + 31) : f.msb();
  const auto range =
      lo == hi ? fmt::format("[{}]", lo - base) : fmt::format("[{}:{}]", hi - base, lo - base);
  const auto d = (staged(r) ? "wide_data" : "w_data_q") + range;
  const auto m = (staged(r) ? "wide_mask" : "w_mask") + range;
  const auto part = [&](const std::string& sig) {
    return slice(r, f.width, sig, i, elem, lo - f.lsb, hi - f.lsb);
  };
  const auto any = lo == hi ? m : "|" + m;
  const auto lock = unlocked(f, i.empty() ? fmt::format("{}", elem) : i);
  std::vector<std::string> acts;
  const auto q = part("reg_" + n + "_q");
  const auto op = access_info(f.access).on_write;
  if (f.hw.inout) {
    acts.push_back(fmt::format("{} <= ({} & ~{}) | ({} & {});", q, part(n + "_i"), m, d, m));
    acts.push_back(fmt::format("{} <= {};", element(r, 1, "reg_" + n + "_we_q", i, elem), any));
  } else if (is_event(f)) {
    const auto set =
        r.irq_role == IrqRole::kState ? irq_event(r, f) : part(n + std::string(set_ending(f)));
    acts.push_back(fmt::format("{} <= ({}) | {};", q, after_write(op, q, d, m), set));
  } else if (!apart(f)) {
    acts.push_back(fmt::format("{} <= {};", q, after_write(op, q, d, m)));
  }
  if (f.hw.wr_pulse) {
    auto when = any;
    if (f.access == Access::kRwOnce) {
      when = fmt::format("{} && !{}", any, element(r, 1, "once_" + n + "_q", i, elem));
    }
    acts.push_back(fmt::format("{} <= {};", element(r, 1, "wrp_" + n + "_q", i, elem), when));
  }
  if (acts.empty()) return;
  if (lock.empty()) {
    for (const auto& a : acts) line("{}{}", pad, a);
    return;
  }
  line("{}if ({}) begin", pad, lock);
  for (const auto& a : acts) line("{}  {}", pad, a);
  line("{}end", pad);
}

void SvBlock::snapshots() {
  if (!any_buffered_) return;
  line("");
  line(
      "  // The low word of a 64-bit register takes a snapshot of the high one, which the next "
      "read "
      "of it takes.");
  line("  always_ff @(posedge clk_i) begin : snapshots");
  line("    if (do_rd) begin");
  line("      case (word)");
  for (const auto& [address, w] : words_) {
    const auto* r = w.read.reg;
    if (r == nullptr || !buffered(*r)) continue;
    const auto n = stem(*r);
    const auto valid = element(*r, 1, "snapv_" + n + "_q", "", w.read.elem);
    if (w.read.word == 0) {
      line("        {}: begin", word_literal(address * 4));
      line("          {} <= {};", element(*r, 32, "snap_" + n + "_q", "", w.read.elem),
           read_word(*r, "", w.read.elem, 1));
      line("          {} <= 1'b1;", valid);
      line("        end");
    } else {
      line("        {}: {} <= 1'b0;", word_literal(address * 4), valid);
    }
  }
  line("        default: ;");
  line("      endcase");
  for (const auto* r : param_arrays_) {
    if (!buffered(*r) || !r->readable()) continue;
    const auto n = stem(*r);
    line("      for (int unsigned i = 0; i < {}; i++) begin", r->count_param);
    line("        if (word == {} + {}'(i * {})) begin", word_literal(r->offset), word_w_,
         r->stride / 4);
    line("          snap_{}_q[i*32 +: 32] <= {};", n, read_word(*r, "i", 0, 1));
    line("          snapv_{}_q[i] <= 1'b1;", n);
    line("        end");
    line("        if (word == {} + {}'(i * {})) snapv_{}_q[i] <= 1'b0;",
         word_literal(r->offset + 4), word_w_, r->stride / 4, n);
    line("      end");
  }
  line("    end");
  line("    if (rst_i) begin");
  for (const auto& r : b_.registers) {
    if (buffered(r) && r.readable()) line("      snapv_{}_q <= '0;", stem(r));
  }
  line("    end");
  line("  end");
}

}  // namespace rnic::regs
