// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL properties of a field, and what they mean here. The export writes the nearest
// properties of the standard and asks for their meaning; where that is not the field, it adds
// properties of its own (regs_*), so that both directions agree by construction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model.hpp"

namespace rnic::regs {

enum class RdlIntr : std::uint8_t { kNone, kLevel, kPosedge, kNegedge, kBothedge, kNonsticky };

struct RdlField {
  std::string_view sw = "rw";  // na, r, w, rw, w1, rw1
  std::string_view hw = "rw";  // na, r, w, rw
  std::string_view onread;     // rclr, rset, or empty
  std::string_view onwrite;    // woset, woclr, wot, wzs, wzc, wzt, wset, wclr, or empty
  RdlIntr intr = RdlIntr::kNone;
  bool we = false, hwset = false, hwclr = false, sticky = false, stickybit = false;
  bool singlepulse = false, swmod = false, swacc = false;
  bool hw_precedence = false;
  bool counter = false;
  std::optional<std::uint64_t> incrvalue, decrvalue, incrwidth, decrwidth;
  std::optional<std::uint64_t> incrsaturate, decrsaturate, incrthreshold;
};

// The nearest properties.
[[nodiscard]] RdlField rdl_properties(const Register& r, const Field& f);

// A property that cannot be kept, and what to write instead.
struct RdlRefusal {
  std::string_view property;
  std::string why;
};

// The meanings; each may refuse.
[[nodiscard]] Access rdl_access(const RdlField& p, std::optional<RdlRefusal>& no);
struct RdlHardware {
  HwPorts ports;
  bool is_const = false;
};
[[nodiscard]] RdlHardware rdl_hardware(const RdlField& p, Access access, unsigned width,
                                       std::optional<RdlRefusal>& no);
[[nodiscard]] std::optional<CounterSpec> rdl_counter(const RdlField& p, unsigned width,
                                                     std::optional<RdlRefusal>& no);

// "incr=3 decr=0 saturate=0xff threshold=200".
[[nodiscard]] std::string counter_text(const CounterSpec& c);
[[nodiscard]] bool same_counter(const CounterSpec& a, const CounterSpec& b);

// Words that must be written \like_this as names.
[[nodiscard]] bool is_rdl_keyword(std::string_view word);

}  // namespace rnic::regs
