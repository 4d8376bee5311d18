// SPDX-License-Identifier: Apache-2.0
//
// The AXI4-Lite register file of one block. One access at a time: an address and its data are taken
// into holding registers, decoded in the next cycle, answered in the one after. Everything that
// depends on an access is inside an `if`, so that an idle register file costs a simulator next to
// nothing.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "outputs.hpp"
#include "wrap.hpp"

namespace rnic::regs {
namespace {

std::string range_of(std::uint64_t width) {
  return width == 1 ? std::string() : fmt::format("[{}:0] ", width - 1);
}

class BlockEmitter {
 public:
  BlockEmitter(const Map& map, const Block& block)
      : map_(map), b_(block), addr_w_(block.addr_bits()), word_w_(addr_w_ - 2) {
    for (const auto& w : b_.windows) {
      if (w.decoded_by.empty()) wins_.push_back(&w);
    }
    for (const auto& w : wins_) any_ro_window_ |= !w->writable;
    for (const auto& r : b_.registers) any_writable_ |= r.writable();
  }

  std::string run() {
    header();
    ports();
    declarations();
    handshake();
    decode();
    access();
    outputs();
    assertions();
    line("endmodule");
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> f, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), f, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void line(const char* s) {
    text_ += s;
    text_ += '\n';
  }

  [[nodiscard]] bool is_capture(const Register& r) const {
    return b_.capture && &r == &b_.registers[*b_.capture];
  }

  static std::string flat(const Register& r) { return to_lower(r.name); }
  static std::string flat(const Register& r, const Field& f) {
    return to_lower(r.name) + "_" + f.name;
  }
  static std::string flat(const Window& w) { return to_lower(w.name); }

  static bool stored(const Field& f) { return f.access == Access::kRw && f.hw.out; }
  static bool has_wt(const Register& r) {
    for (const auto& f : r.fields) {
      if (f.access == Access::kWt) return true;
    }
    return false;
  }

  // Bits lo..hi of field `f` of element `i`, of the vector `sig` that holds all elements.
  static std::string slice(const Register& r, const Field& f, const std::string& sig,
                           std::uint64_t i, unsigned lo, unsigned hi) {
    const std::uint64_t base = i * f.width;
    if (r.count * f.width == 1) return sig;
    if (r.count == 1 && lo == 0 && hi + 1 == f.width) return sig;
    if (lo == hi) return fmt::format("{}[{}]", sig, base + lo);
    return fmt::format("{}[{}:{}]", sig, base + hi, base + lo);
  }
  static std::string element(const Register& r, const Field& f, const std::string& sig,
                             std::uint64_t i) {
    return slice(r, f, sig, i, 0, f.width - 1);
  }

  void header() {
    line("// SPDX-License-Identifier: Apache-2.0");
    line("// {}", generated_note(map_));
    line("//");
    line("// AXI4-Lite register file of block {}: {}", b_.name, b_.desc);
    // One line each: wrap_sv() fills paragraphs.
    line(
        "// Throughput: one access per 2 cycles; reads answer 2 cycles after the address, a write "
        "2 "
        "cycles after the later of address and data; a window access waits for its acknowledge. "
        "One "
        "access at a time, in order per channel, reads and writes take turns. Bad accesses (holes, "
        "writes to read-only places, windows that do not answer in WINDOW_TIMEOUT cycles) {}; each "
        "raises bad_access_pulse_o.",
        b_.bad_access == BadAccess::kAllOnes ? "read all ones and write nothing" : "answer SLVERR");
    line(
        "// A window's req stays until ack; ack without req is ignored, and a req that falls "
        "without "
        "ack was given up.");
    line("module {}_{} #(", map_.name, b_.name);
    line("  parameter int unsigned WINDOW_TIMEOUT = 1024");
    line(") (");
  }

  void ports() {
    line("  input  logic        clk_i,");
    line("  input  logic        rst_i,");
    line("  // AXI4-Lite");
    line("  input  logic [{}:0] s_awaddr,", addr_w_ - 1);
    line("  input  logic        s_awvalid,");
    line("  output logic        s_awready,");
    line("  input  logic [31:0] s_wdata,");
    line("  input  logic [3:0]  s_wstrb,");
    line("  input  logic        s_wvalid,");
    line("  output logic        s_wready,");
    line("  output logic [1:0]  s_bresp,");
    line("  output logic        s_bvalid,");
    line("  input  logic        s_bready,");
    line("  input  logic [{}:0] s_araddr,", addr_w_ - 1);
    line("  input  logic        s_arvalid,");
    line("  output logic        s_arready,");
    line("  output logic [31:0] s_rdata,");
    line("  output logic [1:0]  s_rresp,");
    line("  output logic        s_rvalid,");
    line("  input  logic        s_rready,");
    if (!b_.registers.empty()) line("  // Registers");
    for (const auto& r : b_.registers) {
      if (is_capture(r)) continue;
      for (const auto& f : r.fields) {
        const auto rng = range_of(f.width * r.count);
        const auto n = flat(r, f);
        if (f.access == Access::kRw || f.access == Access::kWt || f.access == Access::kPulse ||
            f.access == Access::kW1c) {
          line("  output logic {}{}_o,", rng, n);
        }
        if (f.hw.inout) line("  output logic {}{}_we_o,", range_of(r.count), n);
        if (f.hw.in || f.hw.set || f.hw.inout) {
          line("  input  logic {}{}_i,", rng, n);
        }
      }
      if (has_wt(r)) line("  output logic {}{}_we_o,", range_of(r.count), flat(r));
    }
    if (!wins_.empty()) line("  // Windows");
    for (const auto* w : wins_) {
      const auto n = flat(*w);
      line("  output logic {}_req_o,", n);
      if (w->writable) line("  output logic {}_we_o,", n);
      line("  output logic [{}:0] {}_addr_o,", win_addr_bits(*w) - 1, n);
      if (w->writable) {
        line("  output logic [31:0] {}_wdata_o,", n);
        line("  output logic [3:0] {}_wstrb_o,", n);
      }
      line("  input  logic {}_ack_i,", n);
      line("  input  logic [31:0] {}_rdata_i,", n);
    }
    line("  // One pulse per bad access");
    line("  output logic        bad_access_pulse_o");
    line(");");
  }

  static unsigned win_addr_bits(const Window& w) {
    unsigned bits = 0;
    while ((1ULL << bits) < w.size) ++bits;
    return bits;
  }

  void declarations() {
    line("");
    line("  logic aw_valid_q, w_valid_q, ar_valid_q, prefer_wr_q;");
    line("  logic [{}:0] aw_word_q, ar_word_q;", word_w_ - 1);
    line("  /* verilator lint_off UNUSEDSIGNAL */  // a small map may not use all bits");
    line("  logic [31:0] w_data_q, w_mask;");
    line("  /* verilator lint_on UNUSEDSIGNAL */");
    line("  logic [3:0] w_strb_q;");
    line("  logic b_valid_q, r_valid_q, b_err_q, r_err_q;");
    line("  logic [31:0] r_data_q;");
    line("  logic do_wr, do_rd, wr_now;");
    line("  logic [{}:0] word;", word_w_ - 1);
    line("  logic [31:0] rd_word;");
    line("  logic hit, hit_wr;");
    if (!wins_.empty()) {
      line("  logic [{}:0] win_hit, win_sel_q, win_ack;", wins_.size() - 1);
      if (any_ro_window_) line("  logic [{}:0] win_ro;", wins_.size() - 1);
      line("  logic win_start, win_done, win_late;");
      line("  logic win_we_q;");
      line("  logic [{}:0] win_word_q;", word_w_ - 1);
      line("  logic [31:0] win_rdata;");
      line("  logic [$clog2(WINDOW_TIMEOUT + 1)-1:0] win_left_q;");
    }
    line("  logic win_busy;");
    line("  logic bad, bad_wr, bad_access_q;");
    line("  logic [{}:0] bad_word;", word_w_ - 1);
    for (const auto& r : b_.registers) {
      if (is_capture(r)) {
        line("  logic [{}:0] cap_word_q;", word_w_ - 1);
        line("  logic cap_write_q, cap_valid_q;");
        continue;
      }
      for (const auto& f : r.fields) {
        if (f.writable()) line("  logic {}reg_{}_q;", range_of(f.width * r.count), flat(r, f));
        if (f.hw.inout) line("  logic {}reg_{}_we_q;", range_of(r.count), flat(r, f));
      }
      if (has_wt(r)) line("  logic {}reg_{}_we_q;", range_of(r.count), flat(r));
      if (r.width == 64) {
        line("  logic [{}:0] snap_{}_q;", r.count * 32 - 1, flat(r));
        line("  logic {}snapv_{}_q;", range_of(r.count), flat(r));
      }
      if (r.width == 64 && r.writable()) {
        line("  /* verilator lint_off UNUSEDSIGNAL */  // bits of no field are staged too");
        line("  logic [{}:0] stage_{}_data_q;", r.count * 32 - 1, flat(r));
        line("  logic [{}:0] stage_{}_strb_q;", r.count * 4 - 1, flat(r));
        line("  /* verilator lint_on UNUSEDSIGNAL */");
      }
    }
    if (any_wide_writable()) {
      line("  /* verilator lint_off UNUSEDSIGNAL */  // a small map may not use all bits");
      line("  logic [63:0] wide_data, wide_mask;");
      line("  /* verilator lint_on UNUSEDSIGNAL */");
      line("  logic [31:0] stage_data;");
      line("  logic [3:0] stage_strb;");
    }
  }

  [[nodiscard]] bool any_wide_writable() const {
    for (const auto& r : b_.registers) {
      if (r.width == 64 && r.writable()) return true;
    }
    return false;
  }

  // The write value of a 64-bit register: its staged low word under the high word of now.
  void staging() {
    if (!any_wide_writable()) return;
    line("");
    line("  always_comb begin : staged");
    line("    stage_data = 32'h0;");
    line("    stage_strb = 4'h0;");
    line("    if (wr_now) begin");
    line("      case (word)");
    for (const auto& r : b_.registers) {
      if (r.width != 64 || !r.writable()) continue;
      for (std::uint64_t i = 0; i < r.count; ++i) {
        line("        {}: begin", word_literal(r.element_offset(i) + 4));
        line("          stage_data = stage_{}_data_q[{}:{}];", flat(r), i * 32 + 31, i * 32);
        line("          stage_strb = stage_{}_strb_q[{}:{}];", flat(r), i * 4 + 3, i * 4);
        line("        end");
      }
    }
    line("        default: ;");
    line("      endcase");
    line("    end");
    line("  end");
    line("  assign wide_data = {w_data_q, stage_data};");
    line("  assign wide_mask = {w_mask, {8{stage_strb[3]}}, {8{stage_strb[2]}},");
    line("                      {8{stage_strb[1]}}, {8{stage_strb[0]}}};");
  }

  void handshake() {
    line("");
    line("  logic unused_addr;");
    line("  assign unused_addr = &{1'b0, s_awaddr[1:0], s_araddr[1:0]};");
    line("");
    line("  assign s_awready = !aw_valid_q;");
    line("  assign s_wready = !w_valid_q{};", wins_.empty() ? "" : " && !(win_busy && win_we_q)");
    line("  assign s_arready = !ar_valid_q;");
    line("  assign s_bvalid = b_valid_q;");
    line("  assign s_rvalid = r_valid_q;");
    line("  assign s_rdata = r_data_q;");
    line("  assign s_bresp = {b_err_q, 1'b0};");
    line("  assign s_rresp = {r_err_q, 1'b0};");
    line("");
    line("  logic can_wr, can_rd;");
    line("  assign can_wr = aw_valid_q && w_valid_q && (!b_valid_q || s_bready) && !win_busy;");
    line("  assign can_rd = ar_valid_q && (!r_valid_q || s_rready) && !win_busy;");
    line("  assign do_wr = can_wr && (!can_rd || prefer_wr_q);");
    line("  assign do_rd = can_rd && !do_wr;");
    line("  assign wr_now = do_wr && w_strb_q != 4'h0;  // without a strobe a write does nothing");
    line("  assign word = do_wr ? aw_word_q : ar_word_q;");
    line(
        "  assign w_mask = {{8{w_strb_q[3]}}, {8{w_strb_q[2]}}, {8{w_strb_q[1]}}, "
        "{8{w_strb_q[0]}}};");
  }

  std::string word_literal(std::uint64_t byte_offset) const {
    return fmt::format("{}'h{:x}", word_w_, byte_offset / 4);
  }

  // What a read of 32-bit word `w` of element `i` shows.
  std::string read_word(const Register& r, std::uint64_t i, unsigned w) const {
    const unsigned w_lo = w * 32;
    const unsigned w_hi = w_lo + 31;
    std::vector<std::string> parts;  // from the lowest
    unsigned next = w_lo;
    std::vector<const Field*> sorted;
    for (const auto& f : r.fields) sorted.push_back(&f);
    std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->lsb < b->lsb; });
    for (const auto* f : sorted) {
      if (f->msb() < w_lo || f->lsb > w_hi) continue;
      const unsigned lo = std::max(f->lsb, w_lo);
      const unsigned hi = std::min(f->msb(), w_hi);
      if (lo > next) parts.push_back(fmt::format("{}'h0", lo - next));
      parts.push_back(read_piece(r, *f, i, lo - f->lsb, hi - f->lsb));
      next = hi + 1;
    }
    if (next <= w_hi) parts.push_back(fmt::format("{}'h0", w_hi + 1 - next));
    if (parts.size() == 1) return parts[0];
    std::string s = "{";
    for (auto it = parts.rbegin(); it != parts.rend(); ++it)
      s += (it == parts.rbegin() ? "" : ", ") + *it;
    return s + "}";
  }

  std::string read_piece(const Register& r, const Field& f, std::uint64_t i, unsigned lo,
                         unsigned hi) const {
    const unsigned n = hi - lo + 1;
    if (is_capture(r)) {
      if (f.name == "addr") return fmt::format("{}'({{cap_word_q, 2'b00}})", n);
      if (f.name == "write") return n == 1 ? "cap_write_q" : fmt::format("{}'(cap_write_q)", n);
      return n == 1 ? "cap_valid_q" : fmt::format("{}'(cap_valid_q)", n);
    }
    if (f.is_const) return fmt::format("{}'h{:x}", n, (f.reset >> lo) & ones(n));
    if (f.access == Access::kPulse) return fmt::format("{}'h0", n);
    const bool live = f.hw.in || f.hw.inout;
    return slice(r, f, live ? flat(r, f) + "_i" : "reg_" + flat(r, f) + "_q", i, lo, hi);
  }

  void decode() {
    staging();
    line("");
    line("  always_comb begin : decode");
    line("    rd_word = 32'h0;");
    line("    hit = 1'b0;");
    line("    hit_wr = 1'b0;");
    if (!wins_.empty()) line("    win_hit = '0;");
    line("    if (do_wr || do_rd) begin");
    for (std::size_t k = 0; k < wins_.size(); ++k) {
      const auto& w = *wins_[k];
      const unsigned lo = win_addr_bits(w) - 2;
      if (lo >= word_w_) {
        line("      win_hit[{}] = 1'b1;", k);
      } else {
        line("      win_hit[{}] = word[{}:{}] == {}'h{:x};", k, word_w_ - 1, lo, word_w_ - lo,
             w.offset >> (lo + 2));
      }
    }
    line("      case (word)");
    for (const auto& r : b_.registers) {
      for (std::uint64_t i = 0; i < r.count; ++i) {
        for (unsigned w = 0; w < r.width / 32; ++w) {
          auto value = read_word(r, i, w);
          if (w == 1) {
            value = fmt::format("snapv_{}_q{} ? snap_{}_q[{}:{}] : {}", flat(r), index(r, i),
                                flat(r), i * 32 + 31, i * 32, value);
          }
          line("        {}: begin  // {}{}{}", word_literal(r.element_offset(i) + 4 * w), r.name,
               r.is_array ? fmt::format("[{}]", i) : "",
               r.width == 64 ? (w == 0 ? ", low word" : ", high word") : "");
          line("          rd_word = {};", value);
          line("          hit = 1'b1;");
          if (r.writable()) line("          hit_wr = 1'b1;");
          line("        end");
        }
      }
    }
    line("        default: ;");
    line("      endcase");
    line("    end");
    line("  end");

    line("");
    if (!wins_.empty()) {
      if (any_ro_window_) {
        std::string ro;
        for (std::size_t k = wins_.size(); k-- > 0;) ro += wins_[k]->writable ? '0' : '1';
        line("  assign win_ro = {}'b{};", wins_.size(), ro);
      }
      std::string acks;
      for (std::size_t k = wins_.size(); k-- > 0;) {
        acks += fmt::format("{}{}_ack_i", acks.empty() ? "" : ", ", flat(*wins_[k]));
      }
      line("  assign win_busy = |win_sel_q;");
      line("  assign win_ack = {{{}}};", acks);
      line("  assign win_start = {};",
           any_ro_window_ ? "(do_rd && |win_hit) || (wr_now && |(win_hit & ~win_ro))"
                          : "(do_rd || wr_now) && |win_hit");
      line("  assign win_done = |(win_sel_q & win_ack);");
      line("  assign win_late = win_busy && !win_done && win_left_q == '0;");
      line("  always_comb begin : select_window");
      line("    win_rdata = 32'h0;");
      line("    if (win_busy) begin");
      for (std::size_t k = 0; k < wins_.size(); ++k) {
        line("      if (win_sel_q[{}]) win_rdata = {}_rdata_i;", k, flat(*wins_[k]));
      }
      line("    end");
      line("  end");
      line(
          "  assign bad = (do_rd && !hit && !win_start) || (wr_now && !hit_wr && !win_start) || "
          "win_late;");
      line("  assign bad_wr = win_late ? win_we_q : do_wr;");
      line("  assign bad_word = win_late ? win_word_q : word;");
    } else {
      line("  assign win_busy = 1'b0;");
      line("  assign bad = (do_rd && !hit) || (wr_now && !hit_wr);");
      line("  assign bad_wr = do_wr;");
      line("  assign bad_word = word;");
    }
    if (!b_.capture) {
      line("  logic unused_bad;");
      line("  assign unused_bad = &{1'b0, bad_wr, bad_word};");
    }
  }

  static std::string index(const Register& r, std::uint64_t i) {
    return r.count == 1 ? std::string() : fmt::format("[{}]", i);
  }

  void access() {
    const bool slverr = b_.bad_access == BadAccess::kSlverr;
    const char* bad_data = slverr ? "32'h0" : "32'hffffffff";
    line("");
    line("  always_ff @(posedge clk_i) begin : channels");
    line("    if (s_awvalid && s_awready) begin");
    line("      aw_valid_q <= 1'b1;");
    line("      aw_word_q <= s_awaddr[{}:2];", addr_w_ - 1);
    line("    end");
    line("    if (s_wvalid && s_wready) begin");
    line("      w_valid_q <= 1'b1;");
    line("      w_data_q <= s_wdata;");
    line("      w_strb_q <= s_wstrb;");
    line("    end");
    line("    if (s_arvalid && s_arready) begin");
    line("      ar_valid_q <= 1'b1;");
    line("      ar_word_q <= s_araddr[{}:2];", addr_w_ - 1);
    line("    end");
    line("    if (s_bready) b_valid_q <= 1'b0;");
    line("    if (s_rready) r_valid_q <= 1'b0;");
    line("    if (do_wr || do_rd) prefer_wr_q <= do_rd;");
    line("    if (do_wr) begin");
    line("      aw_valid_q <= 1'b0;");
    line("      w_valid_q <= 1'b0;");
    line("      b_err_q <= {};", slverr ? "bad" : "1'b0");
    line("      b_valid_q <= {};", wins_.empty() ? "1'b1" : "!win_start");
    line("    end");
    line("    if (do_rd) begin");
    line("      ar_valid_q <= 1'b0;");
    line("      r_err_q <= {};", slverr ? "bad" : "1'b0");
    line("      r_valid_q <= {};", wins_.empty() ? "1'b1" : "!win_start");
    line("      r_data_q <= hit ? rd_word : {};", bad_data);
    line("    end");
    if (!wins_.empty()) {
      line("    if (win_start) begin");
      line("      win_sel_q <= win_hit;");
      line("      win_we_q <= do_wr;");
      line("      win_word_q <= word;");
      line("      win_left_q <= ($clog2(WINDOW_TIMEOUT + 1))'(WINDOW_TIMEOUT - 1);");
      line("    end");
      line("    if (win_busy) begin");
      line("      win_left_q <= win_left_q - 1'b1;");
      line("      if (win_done || win_late) begin");
      line("        win_sel_q <= '0;");
      line("        if (win_we_q) begin");
      line("          b_valid_q <= 1'b1;");
      if (slverr) line("          b_err_q <= win_late;");
      line("        end else begin");
      line("          r_valid_q <= 1'b1;");
      if (slverr) line("          r_err_q <= win_late;");
      line("          r_data_q <= win_done ? win_rdata : {};", bad_data);
      line("        end");
      line("      end");
      line("    end");
    }
    line("    bad_access_q <= bad;");
    line("    if (rst_i) begin");
    line("      aw_valid_q <= 1'b0;");
    line("      w_valid_q <= 1'b0;");
    line("      ar_valid_q <= 1'b0;");
    line("      b_valid_q <= 1'b0;");
    line("      r_valid_q <= 1'b0;");
    line("      b_err_q <= 1'b0;");
    line("      r_err_q <= 1'b0;");
    line("      prefer_wr_q <= 1'b0;");
    if (!wins_.empty()) line("      win_sel_q <= '0;");
    line("      bad_access_q <= 1'b0;");
    line("    end");
    line("  end");
    line("  assign bad_access_pulse_o = bad_access_q;");
    if (any_writable_) writes();
    if (has_wide()) snapshots();
  }

  [[nodiscard]] bool has_wide() const {
    for (const auto& r : b_.registers) {
      if (r.width == 64) return true;
    }
    return false;
  }

  // Assignments of a write to element i; wd and wm are vectors of r.width bits.
  void write_element(const Register& r, std::uint64_t i, const std::string& wd,
                     const std::string& wm) {
    bool wt_any = false;
    for (const auto& f : r.fields) {
      if (!f.writable()) continue;
      const auto rng =
          f.width == 1 ? fmt::format("[{}]", f.lsb) : fmt::format("[{}:{}]", f.msb(), f.lsb);
      const auto n = flat(r, f);
      const auto q = element(r, f, "reg_" + n + "_q", i);
      const auto d = wd + rng;
      const auto m = wm + rng;
      switch (f.access) {
        case Access::kRw:
          if (f.hw.inout) {
            line("          {} <= ({} & ~{}) | ({} & {});", q, element(r, f, n + "_i", i), m, d, m);
            line("          reg_{}_we_q{} <= {};", n, index(r, i), reduce(f, m));
            break;
          }
          [[fallthrough]];
        case Access::kWt:
          line("          {} <= ({} & ~{}) | ({} & {});", q, q, m, d, m);
          wt_any |= f.access == Access::kWt;
          break;
        case Access::kPulse:
          line("          {} <= {} & {};", q, d, m);
          break;
        case Access::kW1c:
          line("          {} <= ({} & ~({} & {})) | {};", q, q, d, m, element(r, f, n + "_i", i));
          break;
        default:
          break;
      }
    }
    if (wt_any) {
      std::string any;
      for (const auto& f : r.fields) {
        if (f.access != Access::kWt) continue;
        const auto rng =
            f.width == 1 ? fmt::format("[{}]", f.lsb) : fmt::format("[{}:{}]", f.msb(), f.lsb);
        any += (any.empty() ? "" : " || ") + reduce(f, wm + rng);
      }
      line("          reg_{}_we_q{} <= {};", flat(r), index(r, i), any);
    }
  }

  static std::string reduce(const Field& f, const std::string& mask) {
    return f.width == 1 ? mask : "|" + mask;
  }

  void writes() {
    line("");
    line("  always_ff @(posedge clk_i) begin : registers");
    for (const auto& r : b_.registers) {
      if (is_capture(r)) continue;
      for (const auto& f : r.fields) {
        const auto n = flat(r, f);
        if (f.access == Access::kPulse) line("    reg_{}_q <= '0;", n);
        if (f.access == Access::kW1c) line("    reg_{}_q <= reg_{}_q | {}_i;", n, n, n);
        if (f.hw.inout) line("    reg_{}_we_q <= '0;", n);
      }
      if (has_wt(r)) line("    reg_{}_we_q <= '0;", flat(r));
    }
    line("    if (wr_now) begin");
    line("      case (word)");
    for (const auto& r : b_.registers) {
      if (!r.writable() || is_capture(r)) continue;
      for (std::uint64_t i = 0; i < r.count; ++i) write_case(r, i);
    }
    line("        default: ;");
    line("      endcase");
    line("    end");
    line("    if (rst_i) begin");
    for (const auto& r : b_.registers) {
      if (!r.writable() || is_capture(r)) continue;
      for (const auto& f : r.fields) {
        if (!f.writable()) continue;
        const auto lit = fmt::format("{}'h{:x}", f.width, f.reset);
        line("      reg_{}_q <= {};", flat(r, f),
             r.count == 1 ? lit : fmt::format("{{{}{{{}}}}}", r.count, lit));
        if (f.hw.inout) line("      reg_{}_we_q <= '0;", flat(r, f));
      }
      if (has_wt(r)) line("      reg_{}_we_q <= '0;", flat(r));
      if (r.width == 64) line("      stage_{}_strb_q <= '0;", flat(r));
    }
    line("    end");
    line("  end");
    if (b_.capture) capture();
  }

  void write_case(const Register& r, std::uint64_t i) {
    const auto n = flat(r);
    line("        {}: begin  // {}{}", word_literal(r.element_offset(i)), r.name,
         r.is_array ? fmt::format("[{}]", i) : "");
    if (r.width == 32) {
      write_element(r, i, "w_data_q", "w_mask");
      line("        end");
      return;
    }
    const auto lo = fmt::format("stage_{}_data_q[{}:{}]", n, i * 32 + 31, i * 32);
    const auto strb = fmt::format("stage_{}_strb_q[{}:{}]", n, i * 4 + 3, i * 4);
    line("          {} <= ({} & ~w_mask) | (w_data_q & w_mask);", lo, lo);
    line("          {} <= {} | w_strb_q;", strb, strb);
    line("        end");
    line("        {}: begin", word_literal(r.element_offset(i) + 4));
    write_element(r, i, "wide_data", "wide_mask");
    line("          {} <= 4'h0;", strb);
    line("        end");
  }

  void capture() {
    const auto& r = b_.registers[*b_.capture];
    const Field* valid = nullptr;
    for (const auto& f : r.fields) {
      if (f.name == "valid") valid = &f;
    }
    line("");
    line(
        "  // {}: the first bad access is kept until software arms again; a new one wins over the "
        "arming.",
        r.name);
    line("  logic cap_arm;");
    line("  assign cap_arm = wr_now && word == {} && w_data_q[{}] && w_mask[{}];",
         word_literal(r.offset), valid->lsb, valid->lsb);
    line("  always_ff @(posedge clk_i) begin : capture");
    line("    if (cap_arm) cap_valid_q <= 1'b0;");
    line("    if (bad && (!cap_valid_q || cap_arm)) begin");
    line("      cap_valid_q <= 1'b1;");
    line("      cap_write_q <= bad_wr;");
    line("      cap_word_q <= bad_word;");
    line("    end");
    line("    if (rst_i) begin");
    line("      cap_valid_q <= 1'b0;");
    line("      cap_write_q <= 1'b0;");
    line("      cap_word_q <= '0;");
    line("    end");
    line("  end");
  }

  void snapshots() {
    line("");
    line(
        "  // The low word of a 64-bit register takes a snapshot of the high one, which the next "
        "read of it takes.");
    line("  always_ff @(posedge clk_i) begin : snapshots");
    line("    if (do_rd) begin");
    line("      case (word)");
    for (const auto& r : b_.registers) {
      if (r.width != 64) continue;
      for (std::uint64_t i = 0; i < r.count; ++i) {
        line("        {}: begin", word_literal(r.element_offset(i)));
        line("          snap_{}_q[{}:{}] <= {};", flat(r), i * 32 + 31, i * 32, read_word(r, i, 1));
        line("          snapv_{}_q{} <= 1'b1;", flat(r), index(r, i));
        line("        end");
        line("        {}: snapv_{}_q{} <= 1'b0;", word_literal(r.element_offset(i) + 4), flat(r),
             index(r, i));
      }
    }
    line("        default: ;");
    line("      endcase");
    line("    end");
    line("    if (rst_i) begin");
    for (const auto& r : b_.registers) {
      if (r.width == 64) line("      snapv_{}_q <= '0;", flat(r));
    }
    line("    end");
    line("  end");
  }

  void outputs() {
    line("");
    for (const auto& r : b_.registers) {
      if (is_capture(r)) continue;
      for (const auto& f : r.fields) {
        const auto n = flat(r, f);
        if (f.writable()) line("  assign {}_o = reg_{}_q;", n, n);
        if (f.hw.inout) line("  assign {}_we_o = reg_{}_we_q;", n, n);
      }
      if (has_wt(r)) line("  assign {}_we_o = reg_{}_we_q;", flat(r), flat(r));
    }
    for (std::size_t k = 0; k < wins_.size(); ++k) {
      const auto& w = *wins_[k];
      const auto n = flat(w);
      const unsigned bits = win_addr_bits(w);
      line("");
      line("  assign {}_req_o = win_sel_q[{}];", n, k);
      if (bits > 2) {
        line("  assign {}_addr_o = {{win_word_q[{}:0], 2'b00}};", n, bits - 3);
      } else {
        line("  assign {}_addr_o = 2'b00;", n);
      }
      if (w.writable) {
        line("  assign {}_we_o = win_we_q;", n);
        line("  assign {}_wdata_o = w_data_q;", n);
        line("  assign {}_wstrb_o = w_strb_q;", n);
      }
    }
  }

  void assertions() {
    line("");
    line("`ifndef SYNTHESIS");
    line("  // Answers are held until taken; one access at a time.");
    line("  logic b_stall_q, r_stall_q;");
    line("  logic [31:0] r_last_q;");
    line("  always_ff @(posedge clk_i) begin : track");
    line("    b_stall_q <= s_bvalid && !s_bready && !rst_i;");
    line("    r_stall_q <= s_rvalid && !s_rready && !rst_i;");
    line("    if (s_rvalid) r_last_q <= s_rdata;");
    line("  end");
    line("  always_ff @(posedge clk_i) begin : asrt");
    line("    if (!rst_i) begin");
    line("      assert (!b_stall_q || s_bvalid);");
    line("      assert (!r_stall_q || (s_rvalid && s_rdata == r_last_q));");
    line("      assert (!(do_wr && do_rd));");
    if (wins_.size() > 1) {
      line("      assert ((win_sel_q & (win_sel_q - 1'b1)) == '0);");
    }
    line("    end");
    line("  end");
    line("`endif");
  }

  const Map& map_;
  const Block& b_;
  unsigned addr_w_;
  unsigned word_w_;
  std::vector<const Window*> wins_;
  bool any_ro_window_ = false;
  bool any_writable_ = false;
  std::string text_;
};

}  // namespace

std::string emit_sv_block(const Map& map, const Block& block) {
  return wrap_sv(BlockEmitter(map, block).run());
}

}  // namespace rnic::regs
