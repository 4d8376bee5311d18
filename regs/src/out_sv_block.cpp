// SPDX-License-Identifier: Apache-2.0
#include "sv_block.hpp"
#include "sv_header.hpp"
#include "wrap.hpp"

namespace rnic::regs {

SvBlock::SvBlock(const Map& map, const Block& block)
    : map_(map),
      b_(block),
      addr_w_(block.addr_bits()),
      word_w_(addr_w_ - 2),
      ports_(ports_of(block)),
      remotes_(remotes_of(block)) {
  for (const auto& r : b_.registers) {
    int remote = -1;
    for (std::size_t k = 0; k < remotes_.size(); ++k) {
      if (remotes_[k].reg == &r) remote = static_cast<int>(k);
    }
    for (const auto& f : r.fields) any_stored_ |= stores(r, f);
    any_staged_ |= staged(r);
    any_buffered_ |= buffered(r);
    if (!r.count_param.empty() && remote < 0) {
      param_arrays_.push_back(&r);
      continue;
    }
    for (std::uint64_t i = 0; i < r.count; ++i) {
      for (unsigned w = 0; w < r.width / 32; ++w) {
        auto& word = words_[r.element_offset(i) / 4 + w];
        if (r.readable()) word.read = {&r, i, w};
        if (r.writable()) word.write = {&r, i, w};
        if (remote >= 0) word.remote = remote;
      }
    }
  }
}

std::string SvBlock::run() {
  header();
  parameters();
  ports();
  parameter_checks();
  bus_declarations();
  decode_declarations();
  storage_declarations();
  irq_declarations();
  handshake();
  staging();
  decode();
  bad_access();
  channels();
  writes();
  if (b_.capture) capture();
  next_values();
  snapshots();
  interrupts();
  outputs();
  assertions();
  line("`ifdef RNIC_REGS_PROPERTIES");
  line("`include \"{}_{}_props.svh\"", map_.name, b_.name);
  line("`endif");
  line("endmodule");
  return take();
}

void SvBlock::header() {
  const unsigned latency = b_.pipelined ? 3 : 2;
  line("// SPDX-License-Identifier: Apache-2.0");
  line("// {}", generated_note(map_));
  line("//");
  line("// AXI4-Lite register file of block {}: {}", b_.name, b_.desc);
  // One line each: wrap_sv() fills paragraphs.
  line(
      "// Throughput: one access per 2 cycles; reads answer {} cycles after the address, a write "
      "{} cycles after the later of address and data; a window access waits for its acknowledge. "
      "One access at a time, in order per channel, reads and writes take turns. Bad accesses "
      "(holes, writes to read-only places{}) {}; each raises bad_access_pulse_o.",
      latency, latency,
      remotes_.empty() ? "" : ", windows that do not answer in WINDOW_TIMEOUT cycles",
      b_.bad_access == BadAccess::kAllOnes ? "read all ones and write nothing" : "answer SLVERR");
  if (!remotes_.empty()) {
    line(
        "// A window's req stays until ack; ack without req is ignored, and a req that falls "
        "without ack was given up.");
  }
}

void SvBlock::parameters() {
  raw(sv_module_head(fmt::format("{}_{}", map_.name, b_.name), sv_parameters(map_, b_)));
}

void SvBlock::ports() {
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
  const auto heading = [&](bool (*in)(PortKind), const char* text) {
    bool said = false;
    for (const auto& p : ports_) {
      if (!in(p.kind)) continue;
      if (!said) line("  // {}", text);
      said = true;
      port(p);
    }
  };
  heading([](PortKind k) { return k < PortKind::kIrqInput; }, "Registers");
  heading([](PortKind k) { return k == PortKind::kIrqInput || k == PortKind::kIrq; }, "Interrupts");
  heading([](PortKind k) { return k > PortKind::kIrq; }, "Windows");
  line("  // One pulse per bad access");
  line("  output logic        bad_access_pulse_o");
  line(");");
}

void SvBlock::port(const Port& p) {
  const auto range = p.reg != nullptr && p.field != nullptr ? vector_of(*p.reg, p.width)
                     : p.kind == PortKind::kTrigger         ? vector_of(*p.reg, 1)
                                                            : sv_range(p.width);
  line("  {} logic {}{},", p.output ? "output" : "input ", range, p.name);
}

// What a parameter of the module may be.
void SvBlock::parameter_checks() {
  for (const auto* r : param_arrays_) {
    line("");
    line("  if ({} < 1 || {} > {}) begin : gen_{}_check", r->count_param, r->count_param,
         r->count_max, stem(*r));
    line("    $error(\"{}_{}: {} must be 1 to {}\");", map_.name, b_.name, r->count_param,
         r->count_max);
    line("  end");
  }
}

void SvBlock::outputs() {
  line("");
  for (const auto& p : ports_) {
    switch (p.kind) {
      case PortKind::kValue:
      case PortKind::kGiven:
        line("  assign {} = reg_{}_q;", p.name, stem(*p.reg, *p.field));
        break;
      case PortKind::kGivenWe:
        line("  assign {} = reg_{}_we_q;", p.name, stem(*p.reg, *p.field));
        break;
      case PortKind::kTrigger:
        line("  assign {} = reg_{}_we_q;", p.name, stem(*p.reg));
        break;
      case PortKind::kWrPulse:
        line("  assign {} = wrp_{}_q;", p.name, stem(*p.reg, *p.field));
        break;
      case PortKind::kRdPulse:
        line("  assign {} = rdp_{}_q;", p.name, stem(*p.reg, *p.field));
        break;
      case PortKind::kReached: {
        const auto& f = *p.field;
        const auto q = fmt::format("reg_{}_q", stem(*p.reg, f));
        const auto limit = fmt::format("{}'h{:x}", f.width, *f.counter->threshold);
        if (!p.reg->is_array) {
          line("  assign {} = {} >= {};", p.name, q, limit);
        } else {
          line("  always_comb begin : {}", p.name.substr(0, p.name.size() - 2));
          line("    for (int unsigned i = 0; i < {}; i++) begin", count_text(*p.reg));
          line("      {}[i] = {}[i*{} +: {}] >= {};", p.name, q, f.width, f.width, limit);
          line("    end");
          line("  end");
        }
        break;
      }
      default:
        break;
    }
  }
  for (std::size_t k = 0; k < remotes_.size(); ++k) {
    const auto& r = remotes_[k];
    line("");
    line("  assign {}_req_o = win_sel_q[{}];", r.name, k);
    if (r.addr_width > 2) {
      const auto bits = r.addr_width - 3;
      const auto base = (r.offset / 4) & ones(r.addr_width - 2);
      if (base == 0) {
        line("  assign {}_addr_o = {{win_word_q[{}:0], 2'b00}};", r.name, bits);
      } else {
        line("  assign {}_addr_o = {{win_word_q[{}:0] - {}'h{:x}, 2'b00}};", r.name, bits, bits + 1,
             base);
      }
    } else {
      line("  assign {}_addr_o = 2'b00;", r.name);
    }
    if (r.writable) {
      line("  assign {}_we_o = win_we_q;", r.name);
      line("  assign {}_wdata_o = w_data_q;", r.name);
      line("  assign {}_wstrb_o = w_strb_q;", r.name);
    }
  }
}

void SvBlock::assertions() {
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
  if (remotes_.size() > 1) line("      assert ((win_sel_q & (win_sel_q - 1'b1)) == '0);");
  line("    end");
  line("  end");
  line("`endif");
}

bool SvBlock::is_event(const Field& f) {
  return f.access == Access::kW1c && f.hw.set && !f.hw.write && !f.hw.clear && !f.counter &&
         f.collision == Collision::kHardware && !f.lock;
}

bool SvBlock::apart(const Field& f) {
  if (!f.stored() || f.hw.inout || is_event(f)) return false;
  return f.hw_changes() || access_info(f.access).on_read != OnRead::kNone ||
         f.access == Access::kRwOnce;
}

bool SvBlock::stores(const Register& r, const Field& f) const {
  return !skip(r) && f.stored() && (f.writable() || apart(f));
}

bool SvBlock::needs_wsel(const Register& r, int half) const {
  if (skip(r)) return false;
  return std::any_of(r.fields.begin(), r.fields.end(), [&](const Field& f) {
    return in_half(r, f, half) && apart(f) && f.writable();
  });
}

bool SvBlock::needs_rsel(const Register& r, int half) const {
  if (skip(r)) return false;
  return std::any_of(r.fields.begin(), r.fields.end(), [&](const Field& f) {
    return in_half(r, f, half) && (f.hw.rd_pulse || access_info(f.access).on_read != OnRead::kNone);
  });
}

void SvBlock::each_select(const Register& r, const std::string& before, const std::string& after) {
  for (int half = 0; half < (halves(r) ? 2 : 1); ++half) {
    const auto* tail = !halves(r) ? "" : half == 0 ? "_lo" : "_hi";
    if (needs_wsel(r, half)) line("{}wsel_{}{}{}", before, stem(r), tail, after);
    if (needs_rsel(r, half)) line("{}rsel_{}{}{}", before, stem(r), tail, after);
  }
}

bool SvBlock::has_wt(const Register& r) {
  return std::any_of(r.fields.begin(), r.fields.end(),
                     [](const Field& f) { return f.access == Access::kWt; });
}

std::string SvBlock::count_text(const Register& r) {
  return r.count_param.empty() ? fmt::format("{}", r.count) : r.count_param;
}

std::string SvBlock::vector_of(const Register& r, std::uint64_t width) {
  if (r.count_param.empty()) return sv_range(width * r.count);
  return width == 1 ? fmt::format("[{}-1:0] ", r.count_param)
                    : fmt::format("[{}*{}-1:0] ", r.count_param, width);
}

// i is "i" inside a loop over the elements, empty where `elem` is known.
std::string SvBlock::slice(const Register& r, std::uint64_t width, const std::string& sig,
                           const std::string& i, std::uint64_t elem, unsigned lo, unsigned hi) {
  if (!i.empty()) {
    if (width == 1) return fmt::format("{}[{}]", sig, i);
    const auto at =
        lo == 0 ? fmt::format("{}*{}", i, width) : fmt::format("{}*{}+{}", i, width, lo);
    if (lo == hi) return fmt::format("{}[{}]", sig, at);
    return fmt::format("{}[{} +: {}]", sig, at, hi - lo + 1);
  }
  const std::uint64_t base = elem * width;
  if (alone(r) && width == 1) return sig;
  if (alone(r) && lo == 0 && hi + 1 == width) return sig;
  if (lo == hi) return fmt::format("{}[{}]", sig, base + lo);
  return fmt::format("{}[{}:{}]", sig, base + hi, base + lo);
}

std::string SvBlock::element(const Register& r, std::uint64_t width, const std::string& sig,
                             const std::string& i, std::uint64_t elem) {
  return slice(r, width, sig, i, elem, 0, static_cast<unsigned>(width - 1));
}

std::string SvBlock::bit(const Register& r, const std::string& sig, const std::string& i) {
  return alone(r) ? sig : fmt::format("{}[{}]", sig, i);
}

std::string SvBlock::reset_literal(const Field& f) const {
  return f.reset_param.empty() ? fmt::format("{}'h{:x}", f.width, f.reset)
                               : fmt::format("{}'({})", f.width, f.reset_param);
}

std::string SvBlock::word_literal(std::uint64_t byte_offset) const {
  return fmt::format("{}'h{:x}", word_w_, byte_offset / 4);
}

std::string SvBlock::unlocked(const Field& f, const std::string& i) const {
  if (!f.lock) return {};
  const auto& by = b_.registers[f.lock->reg];
  const auto& key = by.fields[f.lock->field];
  auto q = fmt::format("reg_{}_q", stem(by, key));
  if (f.lock->same_element) q += fmt::format("[{}]", i);
  return (f.lock->when ? "!" : "") + q;
}

std::string SvBlock::after_write(OnWrite op, const std::string& q, const std::string& d,
                                 const std::string& m) {
  switch (op) {
    case OnWrite::kNone:
      return q;
    case OnWrite::kStore:
      return fmt::format("({} & ~{}) | ({} & {})", q, m, d, m);
    case OnWrite::kOneClear:
      return fmt::format("{} & ~({} & {})", q, d, m);
    case OnWrite::kOneSet:
      return fmt::format("{} | ({} & {})", q, d, m);
    case OnWrite::kOneToggle:
      return fmt::format("{} ^ ({} & {})", q, d, m);
    case OnWrite::kZeroClear:
      return fmt::format("{} & ~(~{} & {})", q, d, m);
    case OnWrite::kZeroSet:
      return fmt::format("{} | (~{} & {})", q, d, m);
    case OnWrite::kZeroToggle:
      return fmt::format("{} ^ (~{} & {})", q, d, m);
    case OnWrite::kClear:
      return fmt::format("{} & ~{}", q, m);
    case OnWrite::kSet:
      return fmt::format("{} | {}", q, m);
    case OnWrite::kPulse:
      return fmt::format("{} & {}", d, m);
  }
  return q;
}

std::string emit_sv_block(const Map& map, const Block& block) {
  return wrap_sv(SvBlock(map, block).run());
}

}  // namespace rnic::regs
