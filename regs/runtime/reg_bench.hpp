// SPDX-License-Identifier: Apache-2.0
//
// Random bench of a generated register file: the Verilated model of the RTL beside the reference of
// reg_model.hpp, every pin compared after every edge. Masters, hardware and remotes are random,
// with back pressure, all strobes, all orders of address and data, resets and silent remotes.
//
//   Vall_plain top(&context);
//   regmodel::Bench<Vall_plain, regmodel::all_plain_pins<Vall_plain>> bench(top, 1024);
//   const std::string wrong = bench.run({.seed = 1, .cycles = 100000});   // empty: all agreed
#pragma once

#include <random>
#include <sstream>
#include <type_traits>

#include "reg_model.hpp"

namespace regmodel {

// `width` bits from bit `at` on of a pin of any Verilated type.
template <class T>
std::uint64_t get_bits(const T& pin, unsigned at, unsigned width) {
  std::uint64_t v = 0;
  if constexpr (std::is_integral_v<T>) {
    v = static_cast<std::uint64_t>(pin) >> at;
  } else {
    for (unsigned b = 0; b < width; ++b) {
      v |= static_cast<std::uint64_t>(pin[(at + b) / 32] >> ((at + b) % 32) & 1U) << b;
    }
  }
  return v & ones(width);
}

template <class T>
void set_bits(T& pin, unsigned at, unsigned width, std::uint64_t v) {
  if constexpr (std::is_integral_v<T>) {
    const std::uint64_t m = ones(width) << at;
    pin = static_cast<T>((static_cast<std::uint64_t>(pin) & ~m) | ((v << at) & m));
  } else {
    for (unsigned b = 0; b < width; ++b) {
      const std::uint32_t m = 1U << ((at + b) % 32);
      auto& word = pin[(at + b) / 32];
      word = (word & ~m) | ((v >> b & 1) != 0 ? m : 0U);
    }
  }
}

// Element i of an array.
template <class T>
std::uint64_t get_element(const T& pin, unsigned i, unsigned width) {
  return get_bits(pin, i * width, width);
}
template <class T>
void set_element(T& pin, unsigned i, unsigned width, std::uint64_t v) {
  set_bits(pin, i * width, width, v);
}

struct BenchOptions {
  std::uint64_t seed = 1;
  std::uint64_t cycles = 50000;
  double address = 0.6, data = 0.6, read = 0.5;  // a master offers something new
  double bready = 0.7, rready = 0.7;
  double event = 0.3;  // hardware acts on a field
  double ack = 0.3;
  bool resets = true;
};

template <class Top, class Pins>
class Bench {
 public:
  Bench(Top& top, unsigned window_timeout)
      : top_(top),
        timeout_(window_timeout),
        model_(Pins::block(), window_timeout),
        in_(model_.block()) {
    for (const auto& r : model_.block().regs) {
      for (const auto at : r.offsets) {
        for (unsigned w = 0; w < r.width / 32; ++w) words_.push_back(at + 4 * w);
      }
    }
    for (const auto& r : model_.block().remotes) {
      for (std::uint64_t at = r.offset; at < r.offset + r.span && at < r.offset + 64; at += 4) {
        words_.push_back(at);
      }
    }
    if (words_.empty()) words_.push_back(0);
  }

  [[nodiscard]] const RegModel& model() const { return model_; }

  // The first difference, or nothing.
  std::string run(const BenchOptions& o) {
    o_ = o;
    rng_.seed(o.seed);
    wrong_.clear();
    in_.reset = true;
    for (int i = 0; i < 3; ++i) cycle();
    in_.reset = false;
    std::uint64_t reset_left = 0;
    for (std::uint64_t n = 0; n < o.cycles && wrong_.empty(); ++n) {
      if (reset_left > 0)
        --reset_left;
      else if (o.resets && chance(0.002))
        reset_left = 1 + below(3);
      in_.reset = reset_left > 0;
      choose();
      cycle();
    }
    return wrong_;
  }

  // Fields that the run has not exercised: never written, read for effect, acted on by hardware, or
  // by both in one cycle.
  [[nodiscard]] std::string uncovered() const {
    std::ostringstream s;
    const auto& b = model_.block();
    for (std::size_t k = 0; k < b.regs.size(); ++k) {
      const auto& r = b.regs[k];
      if (r.remote >= 0 || r.role == Role::kCapture) continue;
      for (std::size_t n = 0; n < r.fields.size(); ++n) {
        const auto& f = r.fields[n];
        const auto& c = model_.coverage()[k][n];
        const auto miss = [&](bool wanted, std::uint64_t count, const char* what) {
          if (wanted && count == 0) s << r.name << "." << f.name << " " << what << "\n";
        };
        const bool writes = stored(f) && writable(f);
        const bool reads = read_acts(f);
        const bool hard = hardware(f);
        miss(writes, c.writes, "was never written");
        miss(writes && f.lock.reg >= 0, c.locked, "was never locked against a write");
        miss(writes && f.width > 8, c.partial, "was never written in part");
        miss(reads, c.reads, "was never read for effect");
        miss(hard, c.hardware, "was never changed by hardware");
        miss(hard && (writes || reads), c.collisions, "never met software and hardware in a cycle");
      }
    }
    return s.str();
  }

 private:
  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(rng_) < p; }
  std::uint64_t below(std::uint64_t n) { return rng_() % n; }
  std::uint64_t bits(unsigned w) { return rng_() & ones(w); }

  std::uint64_t pick_address() {
    const auto last = 1ULL << model_.block().addr_width;
    const auto r = below(100);
    if (r < 88) return words_[below(words_.size())];
    if (r < 94) {  // what a decode that ignores an address bit would take for a register
      return words_[below(words_.size())] ^ (1ULL << (2 + below(model_.block().addr_width - 2)));
    }
    return below(last);
  }

  std::uint32_t pick_data() {
    switch (below(5)) {
      case 0:
        return 0;
      case 1:
        return 0xFFFFFFFFU;
      case 2:
        return 1U << below(32);
      default:
        return static_cast<std::uint32_t>(rng_());
    }
  }

  void choose() {
    if (took_aw_) in_.awvalid = false;
    if (took_w_) in_.wvalid = false;
    if (took_ar_) in_.arvalid = false;
    if (in_.reset) in_.awvalid = in_.wvalid = in_.arvalid = false;
    if (!in_.reset && !in_.awvalid && chance(o_.address)) {
      in_.awvalid = true;
      in_.awaddr = pick_address();
    }
    if (!in_.reset && !in_.wvalid && chance(o_.data)) {
      in_.wvalid = true;
      in_.wdata = pick_data();
      in_.wstrb = chance(0.4) ? 15 : static_cast<std::uint32_t>(below(16));
    }
    if (!in_.reset && !in_.arvalid && chance(o_.read)) {
      in_.arvalid = true;
      in_.araddr = pick_address();
    }
    in_.bready = chance(o_.bready);
    in_.rready = chance(o_.rready);
    const auto& ports = model_.block().ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      if (ports[p].output) continue;
      for (unsigned i = 0; i < ports[p].count; ++i) in_.hw[p][i] = pick_pin(ports[p], in_.hw[p][i]);
    }
    if (silent_ > 0)
      --silent_;
    else if (chance(0.002))
      silent_ = 3 * timeout_;
    for (std::size_t k = 0; k < in_.ack.size(); ++k) {
      in_.ack[k] = silent_ == 0 && chance(o_.ack);
      in_.rdata[k] = static_cast<std::uint32_t>(rng_());
    }
  }

  std::uint64_t pick_pin(const PortInfo& p, std::uint64_t now) {
    switch (p.kind) {
      case PortKind::kLive:
      case PortKind::kHeld:
      case PortKind::kLoad:
      case PortKind::kIrqInput:
        return chance(o_.event) ? bits(p.width) : now;
      case PortKind::kLoadWe:
        return chance(o_.event) ? 1 : 0;
      default:
        if (!chance(o_.event)) return 0;
        return chance(0.3) ? ones(p.width) : bits(p.width);
    }
  }

  void cycle() {
    const auto& ports = model_.block().ports;
    top_.rst_i = in_.reset;
    top_.s_awvalid = in_.awvalid;
    top_.s_wvalid = in_.wvalid;
    top_.s_arvalid = in_.arvalid;
    top_.s_bready = in_.bready;
    top_.s_rready = in_.rready;
    top_.s_awaddr = static_cast<std::remove_reference_t<decltype(top_.s_awaddr)>>(in_.awaddr);
    top_.s_araddr = static_cast<std::remove_reference_t<decltype(top_.s_araddr)>>(in_.araddr);
    top_.s_wdata = in_.wdata;
    top_.s_wstrb = static_cast<std::remove_reference_t<decltype(top_.s_wstrb)>>(in_.wstrb);
    for (std::size_t p = 0; p < ports.size(); ++p) {
      if (ports[p].output) continue;
      for (unsigned i = 0; i < ports[p].count; ++i) Pins::set(top_, p, i, in_.hw[p][i]);
      if (ports[p].kind == PortKind::kAck) Pins::set(top_, p, 0, in_.ack[index(ports[p])] ? 1 : 0);
      if (ports[p].kind == PortKind::kRdata) Pins::set(top_, p, 0, in_.rdata[index(ports[p])]);
    }
    top_.clk_i = 0;
    top_.eval();
    took_aw_ = in_.awvalid && top_.s_awready != 0;
    took_w_ = in_.wvalid && top_.s_wready != 0;
    took_ar_ = in_.arvalid && top_.s_arready != 0;
    model_.step(in_);
    top_.clk_i = 1;
    top_.eval();
    ++cycle_;
    compare();
  }
  static std::size_t index(const PortInfo& p) { return static_cast<std::size_t>(p.index); }

  void expect(std::string_view what, std::uint64_t got, std::uint64_t want, unsigned i = 0) {
    if (got == want || !wrong_.empty()) return;
    std::ostringstream s;
    s << "seed " << o_.seed << ", cycle " << cycle_ << ": " << what << "[" << i << "] is 0x"
      << std::hex << got << ", the reference says 0x" << want;
    wrong_ = s.str();
  }

  void compare() {
    expect("s_awready", top_.s_awready, model_.awready());
    expect("s_wready", top_.s_wready, model_.wready());
    expect("s_arready", top_.s_arready, model_.arready());
    expect("s_bvalid", top_.s_bvalid, model_.bvalid());
    expect("s_rvalid", top_.s_rvalid, model_.rvalid());
    if (model_.bvalid()) expect("s_bresp", top_.s_bresp, model_.bresp());
    if (model_.rvalid()) {
      expect("s_rdata", top_.s_rdata, model_.rdata());
      expect("s_rresp", top_.s_rresp, model_.rresp());
    }
    expect("bad_access_pulse_o", top_.bad_access_pulse_o, model_.bad_pulse());
    const auto& ports = model_.block().ports;
    for (std::size_t p = 0; p < ports.size(); ++p) {
      if (!ports[p].output || !model_.meaningful(p)) continue;
      for (unsigned i = 0; i < ports[p].count; ++i) {
        expect(ports[p].name, Pins::get(top_, p, i), model_.out(p, i), i);
      }
    }
  }

  Top& top_;
  unsigned timeout_;
  RegModel model_;
  Inputs in_;
  BenchOptions o_;
  std::mt19937_64 rng_;
  std::vector<std::uint64_t> words_;
  bool took_aw_ = false, took_w_ = false, took_ar_ = false;
  unsigned silent_ = 0;
  std::uint64_t cycle_ = 0;
  std::string wrong_;
};

}  // namespace regmodel
