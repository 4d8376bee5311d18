// SPDX-License-Identifier: Apache-2.0
//
// The ports of a generated register file, apart from clock, reset, bus and bad_access_pulse_o: one
// list for the RTL, the bench and the documents.
//
//   for (const auto& p : ports_of(block)) ...   p.name "ctrl_mode_o", p.width 4, p.count 1
//
// A port of an array is flat: element i of W bits is [i*W +: W].
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

enum class PortKind {
  kValue,     // _o
  kLive,      // _i, hw in
  kLoad,      // _i, hw we
  kLoadWe,    // _we_i
  kSet,       // _i or _set_i
  kClear,     // _clr_i
  kGiven,     // _o, hw inout
  kGivenWe,   // _we_o, hw inout
  kHeld,      // _i, hw inout
  kTrigger,   // <register>_we_o of wt fields
  kWrPulse,   // _wr_o
  kRdPulse,   // _rd_o
  kIncr,      // _incr_i
  kDecr,      // _decr_i
  kReached,   // _reached_o
  kIrqInput,  // <group>_<source>_i
  kIrq,       // <group>_irq_o
  kReq,       // windows and external registers from here on
  kWe,
  kAddr,
  kWdata,
  kWstrb,
  kAck,
  kRdata,
};

struct Port {
  PortKind kind;
  std::string name;
  bool output;
  unsigned width;       // of one element
  std::uint64_t count;  // of elements
  SourcePos pos;
  const Register* reg = nullptr;  // register, or the one of an external request
  const Field* field = nullptr;
  const Window* window = nullptr;
  const Interrupt* interrupt = nullptr;
};

// In the order of the module header.
[[nodiscard]] std::vector<Port> ports_of(const Block& block);

// "ctrl", "ctrl_mode": the stem of every port of a register and of a field.
[[nodiscard]] std::string stem(const Register& r);
[[nodiscard]] std::string stem(const Register& r, const Field& f);
// One element, whatever the parameters of the module are.
[[nodiscard]] bool alone(const Register& r);
// Of 64 bits in flip-flops: two words on their own; or one value, read through a snapshot, whose
// writes are staged until the high word.
[[nodiscard]] bool halves(const Register& r);
[[nodiscard]] bool buffered(const Register& r);
[[nodiscard]] bool staged(const Register& r);
// It captures bad accesses.
[[nodiscard]] bool is_capture(const Block& b, const Register& r);

// The input that sets bits: "_i" or "_set_i".
[[nodiscard]] std::string_view set_ending(const Field& f);

// What is answered through a request port: a window, or an external register (with its elements).
struct Remote {
  std::string name;  // lower case
  bool readable, writable;
  std::uint64_t offset, span;  // of the bytes it covers; offset 0 of the port is `offset`
  unsigned addr_width;
  const Window* window;  // or
  const Register* reg;
};
[[nodiscard]] std::vector<Remote> remotes_of(const Block& block);

}  // namespace rnic::regs
