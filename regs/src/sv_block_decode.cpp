// SPDX-License-Identifier: Apache-2.0
#include "sv_block.hpp"

namespace rnic::regs {
namespace {

constexpr std::size_t kGroupWords = 64;  // of one read multiplexer of a pipelined file

std::string all_or(const std::string& stem, unsigned n, const char* tail) {
  std::string s;
  for (unsigned g = 0; g < n; ++g) {
    s += fmt::format("{}{}{}{}", g == 0 ? "" : " | ", stem, g, tail);
  }
  return s;
}

}  // namespace

void SvBlock::decode_declarations() {
  n_groups_ = b_.pipelined
                  ? static_cast<unsigned>((words_.size() + kGroupWords - 1) / kGroupWords) +
                        (param_arrays_.empty() ? 0 : 1)
                  : 0;
  if (b_.pipelined && n_groups_ == 0) n_groups_ = 1;
  for (unsigned g = 0; g < n_groups_; ++g) {
    line("  logic [31:0] rd_word_g{}, rd_word_g{}_q;", g, g);
    line("  logic hit_g{}, hit_g{}_q, hit_wr_g{}, hit_wr_g{}_q;", g, g, g, g);
  }
  for (const auto& r : b_.registers) each_select(r, "  logic " + vector_of(r, 1), ";");
}

std::string SvBlock::read_piece(const Register& r, const Field& f, const std::string& i,
                                std::uint64_t elem, unsigned lo, unsigned hi) const {
  const unsigned n = hi - lo + 1;
  if (is_capture(b_, r)) {
    if (f.name == "addr") return fmt::format("{}'({{cap_word_q, 2'b00}})", n);
    if (f.name == "write") return n == 1 ? "cap_write_q" : fmt::format("{}'(cap_write_q)", n);
    return n == 1 ? "cap_valid_q" : fmt::format("{}'(cap_valid_q)", n);
  }
  if (f.is_const && !f.reset_param.empty()) {
    return fmt::format("{}'({}{})", n, f.reset_param, lo == 0 ? "" : fmt::format(" >> {}", lo));
  }
  if (f.is_const) return fmt::format("{}'h{:x}", n, (f.reset >> lo) & ones(n));
  if (f.access == Access::kPulse || !f.readable()) return fmt::format("{}'h0", n);
  if (r.irq_role == IrqRole::kState && f.hw.in) return irq_event(r, f);
  const bool live = f.hw.in || f.hw.inout;
  return slice(r, f.width, live ? stem(r, f) + "_i" : "reg_" + stem(r, f) + "_q", i, elem, lo, hi);
}

// What a read of 32-bit word `w` shows.
std::string SvBlock::read_word(const Register& r, const std::string& i, std::uint64_t elem,
                               unsigned w) const {
  const unsigned w_lo = w * 32;
  const unsigned w_hi = w_lo + 31;
  std::vector<const Field*> sorted;
  for (const auto& f : r.fields) sorted.push_back(&f);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->lsb < b->lsb; });
  std::vector<std::string> parts;  // from the lowest
  unsigned next = w_lo;
  for (const auto* f : sorted) {
    if (f->msb() < w_lo || f->lsb > w_hi) continue;
    const unsigned lo = std::max(f->lsb, w_lo);
    const unsigned hi = std::min(f->msb(), w_hi);
    if (lo > next) parts.push_back(fmt::format("{}'h0", lo - next));
    parts.push_back(read_piece(r, *f, i, elem, lo - f->lsb, hi - f->lsb));
    next = hi + 1;
  }
  if (next <= w_hi) parts.push_back(fmt::format("{}'h0", w_hi + 1 - next));
  if (parts.size() == 1) return parts[0];
  std::string s = "{";
  for (auto it = parts.rbegin(); it != parts.rend(); ++it) {
    s += (it == parts.rbegin() ? "" : ", ") + *it;
  }
  return s + "}";
}

void SvBlock::decode() {
  line("");
  if (!b_.pipelined) {
    line("  always_comb begin : decode");
    line("    rd_word = 32'h0;");
    line("    hit = 1'b0;");
    line("    hit_wr = 1'b0;");
    decode_windows("    ");
    decode_group(words_.begin(), words_.end(), "");
    line("  end");
    return;
  }
  unsigned g = 0;
  auto from = words_.cbegin();
  while (g < n_groups_) {
    auto to = from;
    for (std::size_t n = 0; n < kGroupWords && to != words_.cend(); ++n) ++to;
    const auto tail = fmt::format("_g{}", g);
    line("  always_comb begin : decode{}", tail);
    line("    rd_word{} = 32'h0;", tail);
    line("    hit{} = 1'b0;", tail);
    line("    hit_wr{} = 1'b0;", tail);
    decode_group(from, to, tail);
    line("  end");
    from = to;
    ++g;
  }
  if (!remotes_.empty() ||
      std::any_of(b_.registers.begin(), b_.registers.end(),
                  [&](const auto& r) { return needs_wsel(r) || needs_rsel(r); })) {
    line("  always_comb begin : decode");
    decode_windows("    ");
    line("    if (do_wr || do_rd) begin");
    line("      case (word)");
    for (const auto& [address, w] : words_) decode_word(address, w);
    line("        default: ;");
    line("      endcase");
    decode_param_arrays("", false, true);
    line("    end");
    line("  end");
  }
  line("  always_ff @(posedge clk_i) begin : decoded");
  line("    if (do_wr || do_rd) begin");
  for (g = 0; g < n_groups_; ++g) {
    line("      rd_word_g{}_q <= rd_word_g{};", g, g);
    line("      hit_g{}_q <= hit_g{};", g, g);
    line("      hit_wr_g{}_q <= hit_wr_g{};", g, g);
  }
  line("    end");
  line("  end");
  line("  assign rd_word = {};", all_or("rd_word_g", n_groups_, "_q"));
  line("  assign hit = {};", all_or("hit_g", n_groups_, "_q"));
  line("  assign hit_wr = {};", all_or("hit_wr_g", n_groups_, "_q"));
}

// Defaults of what is selected, and the windows.
void SvBlock::decode_windows(const char* indent) {
  for (const auto& r : b_.registers) each_select(r, indent, " = '0;");
  if (remotes_.empty()) return;
  line("{}win_hit = '0;", indent);
  line("{}if (do_wr || do_rd) begin", indent);
  for (std::size_t k = 0; k < remotes_.size(); ++k) {
    const auto& w = remotes_[k];
    if (w.window == nullptr) continue;
    const unsigned lo = w.addr_width - 2;
    if (lo >= word_w_) {
      line("{}  win_hit[{}] = 1'b1;", indent, k);
    } else {
      line("{}  win_hit[{}] = word[{}:{}] == {}'h{:x};", indent, k, word_w_ - 1, lo, word_w_ - lo,
           w.offset >> (lo + 2));
    }
  }
  line("{}end", indent);
}

// `tail` names the signals of the group of a pipelined file.
void SvBlock::decode_group(Words::const_iterator from, Words::const_iterator to,
                           const std::string& tail) {
  line("    if (do_wr || do_rd) begin");
  if (from != to) {
    line("      case (word)");
    for (auto it = from; it != to; ++it) {
      const auto& w = it->second;
      const auto& shown = w.read.reg != nullptr ? w.read : w.write;
      if (w.remote >= 0) {
        if (tail.empty()) decode_word(it->first, w);
        continue;
      }
      const auto* r = shown.reg;
      line("        {}: begin  // {}{}{}{}", word_literal(it->first * 4), r->name,
           r->element_suffix(shown.elem),
           r->width == 64 ? (shown.word == 0 ? ", low word" : ", high word") : "",
           w.read.reg != nullptr && w.write.reg != nullptr && w.read.reg != w.write.reg
               ? " and " + w.write.reg->name
               : "");
      if (w.read.reg != nullptr) {
        auto value = read_word(*w.read.reg, "", w.read.elem, w.read.word);
        if (w.read.word == 1 && buffered(*w.read.reg)) {
          value = fmt::format("{} ? {} : {}",
                              element(*r, 1, "snapv_" + stem(*r) + "_q", "", shown.elem),
                              element(*r, 32, "snap_" + stem(*r) + "_q", "", shown.elem), value);
        }
        line("          rd_word{} = {};", tail, value);
        line("          hit{} = 1'b1;", tail);
      }
      if (w.write.reg != nullptr) line("          hit_wr{} = 1'b1;", tail);
      if (tail.empty()) decode_word(it->first, w);
      line("        end");
    }
    line("        default: ;");
    line("      endcase");
  }
  if (to == words_.cend() && (tail.empty() || tail == fmt::format("_g{}", n_groups_ - 1))) {
    decode_param_arrays(tail, true, !b_.pipelined);
  }
  line("    end");
}

// What is selected at a word, beside the value: in a case item of its own for remotes and pipelined
// files, else inside that of the value.
void SvBlock::decode_word(std::uint64_t address, const Word& w) {
  if (w.remote >= 0) {
    line("        {}: win_hit[{}] = 1'b1;", word_literal(address * 4), w.remote);
    return;
  }
  std::vector<std::string> acts;
  const auto select = [&](const Part& p, const char* kind, const char* when, unsigned at_word) {
    const auto& r = *p.reg;
    if (!halves(r) && r.width == 64 && p.word != at_word) return;
    const auto name = fmt::format("{}_{}{}", kind, stem(r),
                                  !halves(r)    ? ""
                                  : p.word == 0 ? "_lo"
                                                : "_hi");
    acts.push_back(fmt::format("{} = {};", element(r, 1, name, "", p.elem), when));
  };
  // A buffered register commits with its high word, and is read by its low one.
  if (w.write.reg != nullptr && needs_wsel(*w.write.reg, static_cast<int>(w.write.word)))
    select(w.write, "wsel", "wr_now", 1);
  if (w.read.reg != nullptr && needs_rsel(*w.read.reg, static_cast<int>(w.read.word)))
    select(w.read, "rsel", "do_rd", 0);
  if (acts.empty()) return;
  if (b_.pipelined) line("        {}: begin", word_literal(address * 4));
  for (const auto& a : acts) line("          {}", a);
  if (b_.pipelined) line("        end");
}

// Arrays whose count is a parameter of the module: loops, since the addresses are not known here.
void SvBlock::decode_param_arrays(const std::string& tail, bool values, bool selects) {
  for (const auto* r : param_arrays_) {
    if (!values && !needs_wsel(*r) && !needs_rsel(*r)) continue;
    const auto n = stem(*r);
    line("      for (int unsigned i = 0; i < {}; i++) begin  // {}", r->count_param, r->name);
    for (unsigned w = 0; w < r->width / 32; ++w) {
      line("        if (word == {} + {}'(i * {})) begin", word_literal(r->offset + 4 * w), word_w_,
           r->stride / 4);
      if (values && r->readable()) {
        auto value = read_word(*r, "i", 0, w);
        if (w == 1 && buffered(*r)) {
          value = fmt::format("snapv_{}_q[i] ? snap_{}_q[i*32 +: 32] : {}", n, n, value);
        }
        line("          rd_word{} = {};", tail, value);
        line("          hit{} = 1'b1;", tail);
      }
      if (values && r->writable()) line("          hit_wr{} = 1'b1;", tail);
      const auto half = !halves(*r) ? "" : w == 0 ? "_lo" : "_hi";
      const int which = static_cast<int>(w);
      if (selects && needs_wsel(*r, which) && (halves(*r) || r->width == 32 || w == 1)) {
        line("          wsel_{}{}[i] = wr_now;", n, half);
      }
      if (selects && needs_rsel(*r, which) && (halves(*r) || w == 0))
        line("          rsel_{}{}[i] = do_rd;", n, half);
      line("        end");
    }
    line("      end");
  }
}

void SvBlock::select_remote() {
  line("  always_comb begin : select_window");
  line("    win_rdata = 32'h0;");
  line("    if (win_busy) begin");
  for (std::size_t k = 0; k < remotes_.size(); ++k) {
    if (!remotes_[k].readable) continue;
    line("      if (win_sel_q[{}]) win_rdata = {}_rdata_i;", k, remotes_[k].name);
  }
  line("    end");
  line("  end");
}

}  // namespace rnic::regs
