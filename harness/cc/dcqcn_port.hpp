// SPDX-License-Identifier: Apache-2.0
//
// Drives the pins of a Verilated rate_dcqcn whose now_i counts nanoseconds (TICKS_PER_US 1000):
//
//   DcqcnPort<Vrate_dcqcn> unit(bench.top(), [&] { bench.tick(); });
//   cc::compare(*trace.dcqcn, unit);
//
// Events wait for each other here; for many at a time use start_cnp() and friends and wait().
#pragma once

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/cc/port_pins.hpp"
#include "harness/cc/trace_compare.hpp"

namespace rnic::cc {

struct DcqcnPortReport {
  unsigned op = 0, qpn = 0;  // op as rtl/rate_dcqcn/dcqcn_pkg.sv
  DcqcnReport report;
  DcqcnView view = DcqcnView::kActive;
  uint64_t cycle = 0;  // ticks of this port
};

template <class Top>
class DcqcnPort : public DcqcnUnit, public PortPins<Top, DcqcnPortReport> {
  using Pins = PortPins<Top, DcqcnPortReport>;
  using Pins::all_;
  using Pins::give;
  using Pins::top_;
  using Pins::wait;

 public:
  using Pins::cycle;
  using Pins::step;
  using Pins::take_all;

  DcqcnPort(Top& top, std::function<void()> tick) : Pins("DcqcnPort", top, std::move(tick)) {}

  void configure(const DcqcnParams& p) override {
    set_parameters(p);
    wait("the tables of powers", [&] { return top_.init_done_o != 0; });
    base_ += last_ + 1;
    last_ = 0;
    start_reset(0);
    wait_idle();
    all_.clear();
  }
  void cnp(uint64_t time_ns) override {
    at(time_ns);
    start_cnp(0);
    wait_idle();
  }
  void sent(uint64_t time_ns, uint64_t bytes) override {
    at(time_ns);
    start_sent(0, bytes);
    wait_idle();
  }
  void query(uint64_t time_ns, bool inclusive) override {
    at(time_ns);
    start_query(0, inclusive);
    wait_idle();
  }
  std::vector<DcqcnReport> take() override {
    std::vector<DcqcnReport> found;
    for (const DcqcnPortReport& r : take_all()) {
      if (r.qpn == 0 && is_event(r.op)) found.push_back(r.report);
    }
    return found;
  }

  // For many QPs: time, events that only begin, everything reported.
  void at(uint64_t time_ns) {
    if (time_ns < last_) throw std::logic_error("DcqcnPort: time runs backwards");
    while (time_ns - last_ > kLeap) {  // half of now_i's range must not be passed at once
      last_ += kLeap;
      top_.now_i = static_cast<uint32_t>(base_ + last_);
      start_query(0, false);
      wait_idle();
    }
    last_ = time_ns;
    top_.now_i = static_cast<uint32_t>(base_ + time_ns);
  }
  void start_reset(unsigned qpn) {
    top_.qp_reset_qpn = qpn;
    give(top_.qp_reset_valid, top_.qp_reset_ready);
  }
  void start_cnp(unsigned qpn) {
    top_.cnp_qpn = qpn;
    give(top_.cnp_valid, top_.cnp_ready);
  }
  void start_sent(unsigned qpn, uint64_t bytes) {
    top_.tx_qpn = qpn;
    top_.tx_bytes = static_cast<uint16_t>(bytes);
    give(top_.tx_valid, top_.tx_ready);
  }
  void start_query(unsigned qpn, bool inclusive) {
    top_.qry_qpn = qpn;
    top_.qry_inclusive = inclusive;
    give(top_.qry_valid, top_.qry_ready);
  }
  void wait_idle() {
    step();
    wait("the unit to be idle", [&] { return top_.idle_o != 0; });
  }
  // Ops that are events of the algorithm: not RESET, TIMER, ALPHA.
  static bool is_event(unsigned op) { return op <= 2 || op == 5 || op == 6; }

  void set_parameters(const DcqcnParams& p) {
    const auto kbps = [](double bps) { return static_cast<uint32_t>(std::llround(bps / 1e3)); };
    const auto part = [](double v) { return static_cast<uint32_t>(std::llround(v * 65536)); };
    const auto us = [](uint64_t ns) {
      if (ns % 1000 != 0) {
        throw std::runtime_error("DcqcnPort: " + std::to_string(ns) +
                                 " ns is no whole number of microseconds");
      }
      return static_cast<uint32_t>(ns / 1000);
    };
    top_.cfg_production_i = p.production;
    top_.cfg_clamp_i = p.clamp;
    top_.cfg_clamp_after_time_i = p.clamp_after_time;
    top_.cfg_line_i = kbps(p.line_bps);
    top_.cfg_floor_i = kbps(p.min_bps);
    top_.cfg_ai_i = kbps(p.ai_bps);
    top_.cfg_hai_i = kbps(p.hai_bps);
    top_.cfg_first_rate_i = 0;
    top_.cfg_first_frac_i = part(p.first_cnp_frac);
    top_.cfg_g_i = part(p.g);
    top_.cfg_alpha_init_i = part(p.alpha_init);
    top_.cfg_max_cut_i = part(p.max_cut);
    top_.cfg_gd_i = 1;
    top_.cfg_f_i = static_cast<uint8_t>(p.f);
    top_.cfg_byte_reset_i = static_cast<uint32_t>(p.byte_reset);
    top_.cfg_alpha_us_i = us(p.alpha_ns);
    top_.cfg_dec_us_i = us(p.dec_ns);
    top_.cfg_inc_us_i = us(p.inc_ns);
    step();
    step();
  }

 private:
  DcqcnPortReport read() override {
    static constexpr DcqcnSeen kSeen[8] = {DcqcnSeen::kQuery, DcqcnSeen::kCnp,   DcqcnSeen::kByte,
                                           DcqcnSeen::kQuery, DcqcnSeen::kQuery, DcqcnSeen::kDec,
                                           DcqcnSeen::kInc,   DcqcnSeen::kQuery};
    DcqcnPortReport r;
    r.op = top_.obs_op;
    r.qpn = top_.obs_qpn;
    r.cycle = cycle();
    r.view = static_cast<DcqcnView>(top_.obs_view);
    r.report.op = kSeen[r.op];
    const auto behind = static_cast<int32_t>(top_.obs_at - static_cast<uint32_t>(base_ + last_));
    r.report.time_ns = last_ + static_cast<uint64_t>(int64_t{behind});
    DcqcnState& s = r.report.state;
    s.rate_bps = top_.obs_rate * 1e3;
    s.target_bps = top_.obs_target * 1e3;
    s.alpha = top_.obs_alpha / 16777216.0;
    s.t_stage = top_.obs_t_stage;
    s.b_stage = top_.obs_b_stage;
    s.phase = static_cast<DcqcnPhase>(top_.obs_phase);
    s.alpha_flag = top_.obs_alpha_flag;
    s.dec_flag = top_.obs_dec_flag;
    return r;
  }

  static constexpr uint64_t kLeap = 1'000'000'000;
  uint64_t base_ = 0, last_ = 0;
};

}  // namespace rnic::cc
