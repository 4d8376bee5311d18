// SPDX-License-Identifier: Apache-2.0
//
// What goes together in a field: access, hardware side, reset value, counter, collision policy.
#include <fmt/format.h>

#include "check.hpp"

namespace rnic::regs {
namespace {

class FieldCheck {
 public:
  FieldCheck(const Register& r, Field& f, Diagnostics& diags) : r_(r), f_(f), diags_(diags) {}

  void run() {
    if (r_.external) {
      external();
      return;
    }
    hardware();
    counter();
    reset();
    split();
    if (f_.collision == Collision::kSoftware && !f_.hw_changes()) {
      diags_.error(f_.at("collision"), "collision",
                   fmt::format("hardware never changes field {}: nothing collides, leave "
                               "'collision' out",
                               f_.name));
    }
    if (f_.lock && !f_.writable()) {
      diags_.error(
          f_.at(f_.lock->when ? "locked_by" : "enabled_by"), "lock",
          fmt::format("software cannot write field {}: there is nothing to lock", f_.name));
    }
  }

 private:
  void refuse(const std::string& why) {
    diags_.error(f_.at("hw"), "hw", fmt::format("field {}: {}", f_.name, why));
  }

  void external() {
    for (const char* key : {"hw", "collision", "counter", "locked_by", "enabled_by", "const"}) {
      if (f_.gave(key)) {
        diags_.error(f_.at(key), "external",
                     fmt::format("{} is external: what answers it decides about '{}', leave it out",
                                 r_.name, key));
      }
    }
    f_.hw = {};
  }

  void hardware() {
    const auto& hw = f_.hw;
    const bool moves = f_.hw_changes();
    if (f_.is_const) {
      if (f_.access != Access::kRo) refuse("only a ro field has a const");
      if (f_.gave("hw")) refuse("a constant has no hw");
      return;
    }
    if (hw.in && (f_.access != Access::kRo || moves || hw.out || hw.inout)) {
      refuse("hw: in is the whole value of a ro field: take 'we' to load a stored one");
    }
    if (hw.inout && (f_.access != Access::kRw || moves)) {
      refuse("hw: inout is for rw fields, alone");
    }
    switch (f_.access) {
      case Access::kRo:
        if (!hw.in && !moves) {
          refuse("a ro field has const, or hw: in, we, set or clear, or a counter");
        }
        break;
      case Access::kPulse:
        if (moves) refuse("a pulse has no other source: hw is out");
        if (!hw.out && r_.irq_role == IrqRole::kNone) refuse("nobody would see this pulse");
        break;
      case Access::kWo:
        if (!hw.out && !hw.wr_pulse) refuse("nobody would see what is written");
        break;
      case Access::kW1c:
      case Access::kW0c:
      case Access::kWc:
      case Access::kRc:
        if (!hw.set && !hw.write && !f_.counter && f_.reset == 0 && f_.reset_param.empty()) {
          refuse(
              fmt::format("nothing ever sets this {} field: hw is set or we, or give a reset "
                          "value",
                          access_name(f_.access)));
        }
        break;
      default:
        break;
    }
    if (hw.rd_pulse && !f_.readable()) refuse("software never reads it: no rd_pulse");
    if (hw.wr_pulse && !f_.writable()) refuse("software never writes it: no wr_pulse");
  }

  void counter() {
    if (!f_.counter) return;
    auto& c = *f_.counter;
    const auto bad = [&](const char* key, const std::string& why) {
      diags_.error(f_.at(key), "counter", fmt::format("counter {}: {}", f_.name, why));
    };
    if (f_.is_const || f_.hw.in || f_.hw.inout || f_.access == Access::kPulse) {
      bad("counter", "it needs flip-flops of its own: no const, pulse, in or inout");
    }
    if (f_.hw.set) bad("hw", "it counts, so hardware cannot set its bits: take 'we'");
    if (c.incr_width == 0 && c.decr_width == 0) bad("counter", "it counts neither up nor down");
    if (c.incr_width > f_.width || c.decr_width > f_.width) {
      bad("counter", "incr and decr are at most as wide as it is");
    }
    if (!c.saturate) c.max = ones(f_.width);
    if (c.max > ones(f_.width)) {
      bad("saturate", fmt::format("{:#x} does not fit in {} bits", c.max, f_.width));
      c.max = ones(f_.width);
    }
    if (c.saturate && f_.reset > c.max) bad("reset", "its reset value is beyond 'saturate'");
    if (c.threshold && (*c.threshold > c.max || *c.threshold == 0)) {
      bad("threshold", fmt::format("the threshold is 1 to {:#x}", c.max));
    }
  }

  void reset() {
    const char* key = f_.is_const ? "const" : "reset";
    if (f_.is_map_hash) {
      if (f_.width != 32) diags_.error(f_.at(key), "reset", "map_hash needs a field of 32 bits");
      return;
    }
    if (f_.reset > ones(f_.width)) {
      diags_.error(f_.at(key), "reset",
                   fmt::format("{} {:#x} does not fit in field {} of {} bits", key, f_.reset,
                               f_.name, f_.width));
      f_.reset = 0;
    }
    if (f_.hw.in && f_.gave("reset")) {
      diags_.error(f_.at("reset"), "reset",
                   fmt::format("field {} shows a hardware input: it has no reset value", f_.name));
    }
    if (f_.hw.inout && f_.reset != 0) {
      diags_.error(
          f_.at("reset"), "reset",
          fmt::format("field {} is held by hardware (inout): its reset value is 0 here", f_.name));
    }
    if (f_.access == Access::kPulse && f_.reset != 0) {
      diags_.error(f_.at("reset"), "reset", fmt::format("pulse field {} resets to 0", f_.name));
    }
  }

  // A field in both words of a register that has no buffer must not care which comes first.
  void split() {
    if (r_.width != 64 || r_.buffered || f_.lsb > 31 || f_.msb() < 32) return;
    const bool plain =
        f_.is_const || ((f_.access == Access::kRw || f_.access == Access::kWo) &&
                        !f_.hw_changes() && !f_.hw.inout && !f_.hw.wr_pulse && !f_.hw.rd_pulse);
    if (!plain) {
      diags_.error(f_.at("bits"), "straddle",
                   fmt::format("field {} [{}:{}] lies in both words of {}, which is not buffered, "
                               "and an access has side effects or hardware changes it: keep it "
                               "in one word, or leave out 'buffered: false'",
                               f_.name, f_.msb(), f_.lsb, r_.name));
    }
  }

  const Register& r_;
  Field& f_;
  Diagnostics& diags_;
};

}  // namespace

void check_field(const Register& r, Field& f, Diagnostics& diags) { FieldCheck(r, f, diags).run(); }

}  // namespace rnic::regs
