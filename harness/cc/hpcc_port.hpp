// SPDX-License-Identifier: Apache-2.0
//
// Drives the pins of a Verilated rate_hpcc with SEQ_W 32:
//
//   HpccPort<Vrate_hpcc> unit(bench.top(), [&] { bench.tick(); });
//   cc::compare(*trace.hpcc, unit);
//
// ack() waits for its report; for many at a time use start_ack() and wait_idle().
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/cc/port_pins.hpp"
#include "harness/cc/trace_compare.hpp"

namespace rnic::cc {

struct HpccPortReport {
  unsigned kind = 0, qpn = 0;  // kind as HpccKind, 5: a reset
  unsigned bad = 0;            // rtl/pkg/hpcc_pkg.sv BAD_*
  HpccReport report;
  uint64_t cycle = 0;  // ticks of this port
};

// Ratio of the formula as the unit takes it: in 1/1024, 2^-16 per unit of queue.
inline uint32_t hpcc_alpha_register(const HpccParams& p) {
  return static_cast<uint32_t>(
      std::llround(p.alpha / p.kmax_bytes * 80 * p.int_multi * 1024 * 65536));
}

template <class Top>
class HpccPort : public HpccUnit, public PortPins<Top, HpccPortReport> {
  using Pins = PortPins<Top, HpccPortReport>;
  using Pins::all_;
  using Pins::give;
  using Pins::top_;
  using Pins::wait;

 public:
  using Pins::cycle;
  using Pins::step;
  using Pins::take_all;

  HpccPort(Top& top, std::function<void()> tick) : Pins("HpccPort", top, std::move(tick)) {}

  void configure(const HpccParams& p) override {
    set_parameters(p);
    start_reset(0);
    wait_idle();
    all_.clear();
  }
  HpccReport ack(const HpccAck& ack) override {
    all_.clear();
    start_ack(0, ack);
    wait_idle();
    if (all_.size() != 1) throw std::runtime_error("HpccPort: an ACK has no report");
    return all_.front().report;
  }

  void start_reset(unsigned qpn) {
    top_.qp_reset_qpn = qpn;
    give(top_.qp_reset_valid, top_.qp_reset_ready);
  }
  void start_ack(unsigned qpn, const HpccAck& ack) {
    top_.ack_qpn = qpn;
    top_.ack_seq = ack.ack_seq;
    top_.ack_snd_nxt = ack.snd_nxt;
    for (unsigned word = 0; word < 11; ++word) top_.ack_int[word] = 0;
    for (size_t i = 0; i < ack.hops.size() && i < HpccModel::kHops; ++i) {
      const HpccHop& h = ack.hops[i];
      const uint64_t word = uint64_t{h.b & 7} | uint64_t{h.ts & 0xFFFFFF} << 3 |
                            uint64_t{h.tx & 0xFFFFF} << 27 | uint64_t{h.q & 0x1FFFF} << 47;
      top_.ack_int[2 * i] = static_cast<uint32_t>(word);
      top_.ack_int[2 * i + 1] = static_cast<uint32_t>(word >> 32);
    }
    top_.ack_int[10] = std::min(ack.nhop, 255u) | (ack.path & 0xFFF) << 8;
    give(top_.ack_valid, top_.ack_ready);
  }
  void wait_idle() {
    step();
    wait("the unit to be idle", [&] { return top_.idle_o != 0; });
  }

  void set_parameters(const HpccParams& p) {
    const auto kbps = [](double bps) { return static_cast<uint32_t>(std::llround(bps / 1e3)); };
    if (p.base_rtt_ns < 512) throw std::runtime_error("HpccPort: base RTT below 512 ns");
    params_ = p;
    top_.cfg_formula_i = p.mode != HpccMode::kWindow;
    top_.cfg_cut_old_i = p.mode == HpccMode::kCutOld;
    top_.cfg_fast_react_i = p.fast_react;
    top_.cfg_multi_rate_i = p.multi_rate;
    top_.cfg_sample_i = p.sample;
    top_.cfg_path_check_i = p.path_check;
    top_.cfg_line_i = kbps(p.line_bps);
    top_.cfg_floor_i = kbps(p.min_bps);
    top_.cfg_ai_i = kbps(p.ai_bps);
    top_.cfg_eta_i = static_cast<uint32_t>(std::llround(p.eta * 16777216));
    top_.cfg_max_stage_i = static_cast<uint8_t>(p.max_stage);
    top_.cfg_base_rtt_i = static_cast<uint32_t>(p.base_rtt_ns);
    top_.cfg_int_multi_i = static_cast<uint8_t>(p.int_multi);
    top_.cfg_tx_limit_i = static_cast<uint8_t>(p.tx_limit);
    top_.cfg_alpha_i = hpcc_alpha_register(p);
    step();
    wait("the constants", [&] { return top_.init_done_o != 0; });
  }

 private:
  // Bits of a port, wide or not.
  template <class Wide>
  static uint64_t bits(const Wide& w, unsigned from, unsigned count) {
    if constexpr (std::is_integral_v<Wide>)
      return w >> from & ((uint64_t{1} << count) - 1);
    else
      return wide_bits(w, from, count);
  }
  template <class Wide>
  static uint64_t wide_bits(const Wide& w, unsigned from, unsigned count) {
    uint64_t v = 0;
    for (unsigned i = 0; i < count; ++i) {
      const unsigned at = from + i;
      v |= static_cast<uint64_t>((w[at / 32] >> (at % 32)) & 1) << i;
    }
    return v;
  }
  HpccPortReport read() override {
    constexpr double kOne = 16777216;
    HpccPortReport r;
    r.kind = top_.obs_kind;
    r.qpn = top_.obs_qpn;
    r.bad = top_.obs_bad;
    r.cycle = cycle();
    HpccReport& h = r.report;
    if (r.kind <= 4) h.result.kind = static_cast<HpccKind>(r.kind);
    h.result.loaded = top_.obs_loaded;
    h.result.u_max = static_cast<double>(top_.obs_u_max) / kOne;
    h.result.tau_ns = top_.obs_tau;
    h.rate_bps = top_.obs_rate * 1e3;
    h.window = top_.obs_window;
    h.last_update_seq = top_.obs_last;
    for (unsigned i = 0; i < HpccModel::kHops; ++i) {
      h.hop_u.push_back(static_cast<double>(bits(top_.obs_u, 36 * i, 36)) / kOne);
      h.hop_rc.push_back(static_cast<double>(bits(top_.obs_rc, 30 * i, 30)) * 1e3);
      h.hop_stage.push_back(static_cast<unsigned>(bits(top_.obs_stage, 8 * i, 8)));
    }
    h.u = h.hop_u[0];
    h.stage = h.hop_stage[0];
    h.rc_bps = h.hop_rc[0];
    // With multi_rate the unit keeps a reference per hop; the common one is the rate of the last
    // full update.
    if (params_.multi_rate) {
      if (r.kind == static_cast<unsigned>(HpccKind::kUpdate)) common_rc_[r.qpn] = h.rate_bps;
      if (r.kind == 5 || !common_rc_.count(r.qpn)) common_rc_[r.qpn] = params_.line_bps;
      h.rc_bps = common_rc_[r.qpn];
    }
    h.rc_window = std::max<uint64_t>(
        1, static_cast<uint64_t>(h.rc_bps * static_cast<double>(params_.base_rtt_ns) / 8e9));
    return r;
  }

  HpccParams params_;
  std::map<unsigned, double> common_rc_;
};

}  // namespace rnic::cc
