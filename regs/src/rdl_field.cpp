// SPDX-License-Identifier: Apache-2.0
#include "rdl_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rnic::regs {
namespace {

struct WriteName {
  OnWrite effect;
  std::string_view name;
  Access access;
};
constexpr std::array kWrites = {
    WriteName{OnWrite::kOneClear, "woclr", Access::kW1c},
    WriteName{OnWrite::kOneSet, "woset", Access::kW1s},
    WriteName{OnWrite::kOneToggle, "wot", Access::kW1t},
    WriteName{OnWrite::kZeroClear, "wzc", Access::kW0c},
    WriteName{OnWrite::kZeroSet, "wzs", Access::kW0s},
    WriteName{OnWrite::kZeroToggle, "wzt", Access::kW0t},
    WriteName{OnWrite::kClear, "wclr", Access::kWc},
    WriteName{OnWrite::kSet, "wset", Access::kWs},
};

std::string_view hw_word(bool reads, bool writes) {
  if (reads) return writes ? "rw" : "r";
  return writes ? "w" : "na";
}

std::string_view sw_word(const Field& f) {
  if (f.access == Access::kRwOnce) return "rw1";
  if (!f.readable()) return "w";
  return f.writable() ? "rw" : "r";
}

void put_counter(const CounterSpec& c, RdlField& p) {
  p.counter = true;
  if (c.incr_width != 0) p.incrwidth = c.incr_width;
  if (c.decr_width != 0) p.decrwidth = c.decr_width;
  if (c.saturate && c.incr_width != 0) p.incrsaturate = c.max;
  if (c.saturate && c.decr_width != 0) p.decrsaturate = 0;
  if (c.incr_width != 0) p.incrthreshold = c.threshold;
}

}  // namespace

RdlField rdl_properties(const Register& r, const Field& f) {
  RdlField p;
  p.sw = sw_word(f);
  const auto& info = access_info(f.access);
  for (const auto& w : kWrites) {
    if (w.effect == info.on_write) p.onwrite = w.name;
  }
  if (info.on_read != OnRead::kNone) p.onread = info.on_read == OnRead::kClear ? "rclr" : "rset";
  p.singlepulse = f.access == Access::kPulse && f.width == 1;
  if (r.external) {
    p.hw = "na";
    return p;
  }
  const auto& hw = f.hw;
  p.hw = hw_word(hw.out || hw.inout, hw.in || hw.inout || hw.write || hw.set);
  p.we = hw.write;
  p.stickybit = hw.set && !hw.write;
  p.hwset = hw.set && hw.write && f.width == 1;
  p.hwclr = hw.clear && f.width == 1;
  p.swmod = hw.wr_pulse || f.access == Access::kWt;
  p.swacc = hw.rd_pulse && !f.writable();
  p.hw_precedence = f.collision == Collision::kHardware;
  if (f.counter) put_counter(*f.counter, p);
  return p;
}

Access rdl_access(const RdlField& p, std::optional<RdlRefusal>& no) {
  const auto refuse = [&](std::string_view property, std::string why) {
    if (!no) no = RdlRefusal{property, std::move(why)};
    return Access::kRw;
  };
  if (p.sw == "na") return refuse("sw", "software never sees it: take the field away");
  if (p.sw == "w1") return refuse("sw", "w1 cannot be read: write sw = rw1");
  if (p.singlepulse) {
    if (p.sw == "r") return refuse("singlepulse", "software must write it: write sw = rw or w");
    return Access::kPulse;
  }
  if (!p.onwrite.empty()) {
    if (p.sw != "rw") {
      return refuse("onwrite", fmt::format("{} goes with sw = rw, and this field has sw = {}",
                                           p.onwrite, p.sw));
    }
    if (!p.onread.empty()) {
      return refuse("onread", fmt::format("{} beside onwrite = {}: keep one", p.onread, p.onwrite));
    }
    for (const auto& w : kWrites) {
      if (w.name == p.onwrite) return w.access;
    }
    return refuse("onwrite", fmt::format("{} is not known: take an effect of the standard, or an "
                                         "external register",
                                         p.onwrite));
  }
  if (!p.onread.empty()) {
    const bool clear = p.onread == "rclr";
    if (!clear && p.onread != "rset") {
      return refuse("onread", fmt::format("{} is not known: write rclr or rset, or take an "
                                          "external register",
                                          p.onread));
    }
    if (p.sw == "r") return clear ? Access::kRc : Access::kRs;
    if (p.sw == "rw") return clear ? Access::kWrc : Access::kWrs;
    return refuse("onread", fmt::format("{} goes with sw = r or rw", p.onread));
  }
  if (p.sw == "r") return Access::kRo;
  if (p.sw == "w") return Access::kWo;
  return p.sw == "rw1" ? Access::kRwOnce : Access::kRw;
}

RdlHardware rdl_hardware(const RdlField& p, Access access, unsigned width,
                         std::optional<RdlRefusal>& no) {
  RdlHardware h;
  const auto refuse = [&](std::string_view property, const char* why) {
    if (!no) no = RdlRefusal{property, why};
    return h;
  };
  const bool reads = p.hw == "r" || p.hw == "rw";
  const bool writes = p.hw == "w" || p.hw == "rw";
  auto& hw = h.ports;
  hw.set = p.stickybit || p.sticky || p.hwset || p.intr == RdlIntr::kLevel;
  hw.clear = p.hwclr;
  hw.write = p.we;
  hw.wr_pulse = p.swmod && access != Access::kWt;  // there it is the trigger
  if (p.intr != RdlIntr::kNone && p.intr != RdlIntr::kLevel) {
    return refuse("intr",
                  "edges and nonsticky interrupts are made in interrupt groups only: write `level "
                  "intr` and find the edge outside, or sw = r; hw = w for a level");
  }
  if (width > 1 && (p.hwset || p.hwclr)) {
    return refuse(p.hwset ? "hwset" : "hwclr",
                  "it acts on all bits of the field at once: write we, or make fields of one bit");
  }
  if (width > 1 && p.sticky) {
    return refuse("sticky", "it holds the whole field: write stickybit, where each bit is held");
  }
  if ((p.we || p.stickybit || p.sticky) && !writes) {
    return refuse(p.we       ? "we"
                  : p.sticky ? "sticky"
                             : "stickybit",
                  "hardware does not write the field: write hw = w or rw");
  }
  if (p.swacc) {
    if (access_info(access).on_write != OnWrite::kNone) {
      return refuse("swacc",
                    "it tells reads and writes alike: only a field of sw = r has it here, "
                    "take swmod for writes");
    }
    hw.rd_pulse = true;
  }
  const bool changes = hw.set || hw.clear || hw.write || p.counter;
  if (writes && !changes) {
    if (access == Access::kRo && !reads) {
      hw.in = true;
      return h;
    }
    return refuse("hw", access == Access::kRo
                            ? "hardware writes and reads it in every cycle: write hw = w for a "
                              "value that software only sees, or add we"
                            : "hardware writes it in every cycle: write hw = r, or add we");
  }
  if (writes && p.counter && !hw.write) {
    return refuse("hw", "hardware writes the counter in every cycle: write hw = r, or add we");
  }
  h.is_const = access == Access::kRo && !changes;
  hw.out = reads && !h.is_const;
  return h;
}

std::optional<CounterSpec> rdl_counter(const RdlField& p, unsigned width,
                                       std::optional<RdlRefusal>& no) {
  if (!p.counter) return std::nullopt;
  const auto refuse = [&](std::string_view property, const char* why) {
    if (!no) no = RdlRefusal{property, why};
  };
  const bool any_down = p.decrvalue || p.decrwidth || p.decrsaturate;
  const bool up = p.incrvalue || p.incrwidth || p.incrsaturate || p.incrthreshold || !any_down;
  CounterSpec c;
  c.incr_width =
      up ? static_cast<unsigned>(std::min<std::uint64_t>(p.incrwidth.value_or(1), 64)) : 0;
  c.decr_width =
      any_down ? static_cast<unsigned>(std::min<std::uint64_t>(p.decrwidth.value_or(1), 64)) : 0;
  if (p.incrvalue.value_or(1) != 1) refuse("incrvalue", "a step is a port here: write incrwidth");
  if (p.decrvalue.value_or(1) != 1) refuse("decrvalue", "a step is a port here: write decrwidth");
  c.max = ones(width);
  c.saturate = p.incrsaturate || p.decrsaturate;
  if (up && any_down && p.incrsaturate.has_value() != p.decrsaturate.has_value()) {
    refuse(p.incrsaturate ? "incrsaturate" : "decrsaturate",
           "the counter saturates in both directions or in none: write both");
  }
  if (p.decrsaturate.value_or(0) != 0) {
    refuse("decrsaturate", "a counter stops at 0 on its way down: write decrsaturate");
  }
  if (p.incrsaturate) c.max = *p.incrsaturate;
  c.threshold = p.incrthreshold;
  return c;
}

std::string counter_text(const CounterSpec& c) {
  auto s = fmt::format("incr={} decr={}", c.incr_width, c.decr_width);
  if (c.saturate) s += fmt::format(" saturate={:#x}", c.max);
  if (c.threshold) s += fmt::format(" threshold={:#x}", *c.threshold);
  return s;
}

bool same_counter(const CounterSpec& a, const CounterSpec& b) {
  return a.incr_width == b.incr_width && a.decr_width == b.decr_width && a.saturate == b.saturate &&
         a.max == b.max && a.threshold == b.threshold;
}

bool is_rdl_keyword(std::string_view word) {
  static constexpr std::array<std::string_view, 64> kWords = {
      "abstract",   "accesstype",  "addressingtype",
      "addrmap",    "alias",       "all",
      "bit",        "boolean",     "bothedge",
      "compact",    "component",   "componentwidth",
      "constraint", "default",     "encode",
      "enum",       "external",    "false",
      "field",      "fullalign",   "hw",
      "inside",     "internal",    "level",
      "longint",    "mem",         "na",
      "negedge",    "nonsticky",   "number",
      "onreadtype", "onwritetype", "posedge",
      "property",   "r",           "rclr",
      "ref",        "reg",         "regalign",
      "regfile",    "rset",        "ruser",
      "rw",         "rw1",         "signal",
      "string",     "struct",      "sw",
      "this",       "true",        "type",
      "unsigned",   "w",           "w1",
      "wclr",       "woclr",       "woset",
      "wot",        "wr",          "wset",
      "wuser",      "wzc",         "wzs",
      "wzt"};
  return std::binary_search(kWords.begin(), kWords.end(), word);
}

}  // namespace rnic::regs
