// SPDX-License-Identifier: Apache-2.0
#include "ports.hpp"

namespace rnic::regs {
namespace {

unsigned bits_for(std::uint64_t bytes) {
  unsigned bits = 2;
  while (bits < 64 && (1ULL << bits) < bytes) ++bits;
  return bits;
}

class PortList {
 public:
  explicit PortList(const Block& b) : b_(b) {}

  std::vector<Port> run() {
    for (const auto& r : b_.registers) {
      if (is_capture(b_, r)) continue;
      if (!r.external && r.irq_role == IrqRole::kNone) add_register(r);
    }
    for (const auto& i : b_.interrupts) add_interrupt(i);
    for (const auto& r : remotes_of(b_)) add_remote(r);
    return std::move(ports_);
  }

 private:
  void add(PortKind kind, std::string name, bool output, unsigned width, const Register& r,
           const Field* f) {
    ports_.push_back(
        {kind, std::move(name), output, width, r.count, f != nullptr ? f->pos : r.pos, &r, f});
  }

  void add_register(const Register& r) {
    bool triggers = false;
    for (const auto& f : r.fields) {
      if (f.is_const) continue;
      const auto n = stem(r, f);
      const auto& hw = f.hw;
      if (hw.out) add(PortKind::kValue, n + "_o", true, f.width, r, &f);
      if (hw.inout) {
        add(PortKind::kGiven, n + "_o", true, f.width, r, &f);
        add(PortKind::kGivenWe, n + "_we_o", true, 1, r, &f);
        add(PortKind::kHeld, n + "_i", false, f.width, r, &f);
      }
      if (hw.in) add(PortKind::kLive, n + "_i", false, f.width, r, &f);
      if (hw.write) {
        add(PortKind::kLoad, n + "_i", false, f.width, r, &f);
        add(PortKind::kLoadWe, n + "_we_i", false, 1, r, &f);
      }
      if (hw.set) add(PortKind::kSet, n + std::string(set_ending(f)), false, f.width, r, &f);
      if (hw.clear) add(PortKind::kClear, n + "_clr_i", false, f.width, r, &f);
      if (f.counter) {
        const auto& c = *f.counter;
        if (c.incr_width != 0) add(PortKind::kIncr, n + "_incr_i", false, c.incr_width, r, &f);
        if (c.decr_width != 0) add(PortKind::kDecr, n + "_decr_i", false, c.decr_width, r, &f);
        if (c.threshold) add(PortKind::kReached, n + "_reached_o", true, 1, r, &f);
      }
      if (hw.wr_pulse) add(PortKind::kWrPulse, n + "_wr_o", true, 1, r, &f);
      if (hw.rd_pulse) add(PortKind::kRdPulse, n + "_rd_o", true, 1, r, &f);
      triggers |= f.access == Access::kWt;
    }
    if (triggers) add(PortKind::kTrigger, stem(r) + "_we_o", true, 1, r, nullptr);
  }

  void add_interrupt(const Interrupt& i) {
    const auto n = to_lower(i.name);
    for (const auto& s : i.sources) {
      ports_.push_back({PortKind::kIrqInput, n + "_" + s.name + "_i", false, 1, 1, s.pos, nullptr,
                        nullptr, nullptr, &i});
    }
    ports_.push_back(
        {PortKind::kIrq, n + "_irq_o", true, 1, 1, i.pos, nullptr, nullptr, nullptr, &i});
  }

  void add_remote(const Remote& r) {
    const auto pos = r.window != nullptr ? r.window->pos : r.reg->pos;
    const auto put = [&](PortKind kind, const char* tail, bool output, unsigned width) {
      ports_.push_back({kind, r.name + tail, output, width, 1, pos, r.reg, nullptr, r.window});
    };
    put(PortKind::kReq, "_req_o", true, 1);
    if (r.writable) put(PortKind::kWe, "_we_o", true, 1);
    put(PortKind::kAddr, "_addr_o", true, r.addr_width);
    if (r.writable) {
      put(PortKind::kWdata, "_wdata_o", true, 32);
      put(PortKind::kWstrb, "_wstrb_o", true, 4);
    }
    put(PortKind::kAck, "_ack_i", false, 1);
    if (r.readable) put(PortKind::kRdata, "_rdata_i", false, 32);
  }

  const Block& b_;
  std::vector<Port> ports_;
};

}  // namespace

std::string stem(const Register& r) { return to_lower(r.name); }
std::string stem(const Register& r, const Field& f) { return to_lower(r.name) + "_" + f.name; }

bool alone(const Register& r) { return r.count == 1 && r.count_param.empty(); }
bool halves(const Register& r) { return r.width == 64 && !r.buffered; }
bool buffered(const Register& r) { return r.width == 64 && r.buffered && !r.external; }
bool staged(const Register& r) { return buffered(r) && r.writable(); }
bool is_capture(const Block& b, const Register& r) {
  return b.capture && &r == &b.registers[*b.capture];
}

std::string_view set_ending(const Field& f) { return f.hw.write || f.hw.clear ? "_set_i" : "_i"; }

std::vector<Remote> remotes_of(const Block& b) {
  std::vector<Remote> list;
  for (const auto& w : b.windows) {
    if (!w.decoded_by.empty()) continue;
    list.push_back(
        {to_lower(w.name), true, w.writable, w.offset, w.size, bits_for(w.size), &w, nullptr});
  }
  for (const auto& r : b.registers) {
    if (!r.external) continue;
    const auto span = r.element_offset(r.count - 1) + r.width / 8 - r.offset;
    list.push_back({to_lower(r.name), r.readable(), r.writable(), r.offset, span, bits_for(span),
                    nullptr, &r});
  }
  return list;
}

std::vector<Port> ports_of(const Block& block) { return PortList(block).run(); }

}  // namespace rnic::regs
