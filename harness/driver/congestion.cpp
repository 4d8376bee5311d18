// SPDX-License-Identifier: Apache-2.0
#include "harness/driver/congestion.hpp"

#include <cmath>

#include <fmt/format.h>

#include "harness/driver/bus.hpp"
#include "regs/gen/rnic_regs.h"

namespace rnic::driver {
namespace {

// value in units of one, as it fits into so many bits.
uint32_t fixed(const char* what, double value, double one, unsigned bits) {
  const double scaled = std::round(value / one);
  if (!(scaled >= 0 && scaled < std::ldexp(1.0, static_cast<int>(bits))))
    throw Error(
        fmt::format("congestion control: {} {} does not fit into its register", what, value));
  return static_cast<uint32_t>(scaled);
}
uint32_t kbps(const char* what, double bps) { return fixed(what, bps, 1e3, 30); }
uint32_t part(const char* what, double value) { return fixed(what, value, 1.0 / 65536, 17); }
uint32_t us(const char* what, uint64_t ns) {
  if (ns == 0 || ns % 1000 != 0)
    throw Error(
        fmt::format("congestion control: {} {} ns is no whole number of microseconds", what, ns));
  return fixed(what, static_cast<double>(ns), 1e3, 20);
}

}  // namespace

CcPreset cc_preset(const std::string& name) {
  if (name == "paper") return CcPreset::kPaper;
  if (name == "production") return CcPreset::kProduction;
  throw Error("congestion control: no preset '" + name + "' (paper, production)");
}

CcSettings CcSettings::preset(CcMode mode, CcPreset preset, double line_bps, uint64_t base_rtt_ns,
                              unsigned flows) {
  CcSettings s;
  s.mode = mode;
  if (preset == CcPreset::kPaper) {
    s.cnp.interval_ns = 50'000;
    s.dcqcn = cc::DcqcnParams::paper(line_bps);
    s.hpcc = cc::HpccParams::paper(line_bps, base_rtt_ns, flows);
  } else {
    s.dcqcn = cc::DcqcnParams::production_defaults(line_bps);
    s.hpcc = cc::HpccParams::production_defaults(line_bps, base_rtt_ns);
  }
  return s;
}

std::vector<CcRegister> cc_registers(const CcSettings& s) {
  const cc::DcqcnParams& d = s.dcqcn;
  const cc::HpccParams& h = s.hpcc;
  if (h.base_rtt_ns < 512)
    throw Error(fmt::format("congestion control: base RTT {} ns is below 512 ns", h.base_rtt_ns));
  const uint32_t dcqcn_ctrl = uint32_t{d.production} | uint32_t{d.clamp} << 1 |
                              uint32_t{d.clamp_after_time} << 2 | 1u << 4 |
                              fixed("F", d.f, 1, 8) << 8;
  const uint32_t hpcc_ctrl =
      uint32_t{h.mode == cc::HpccMode::kCutOld} | uint32_t{h.fast_react} << 1 |
      uint32_t{h.multi_rate} << 2 | uint32_t{h.sample} << 3 | uint32_t{h.path_check} << 4 |
      fixed("maxStage", h.max_stage, 1, 8) << 8 | fixed("INT units", h.int_multi, 1, 8) << 16 |
      fixed("limit of bytes", h.tx_limit, 1, 8) << 24;
  if (s.cnp.interval_ns % 1000 != 0)
    throw Error(
        fmt::format("congestion control: time between CNPs {} ns is no whole number of "
                    "microseconds",
                    s.cnp.interval_ns));
  const uint32_t np = fixed("time between CNPs", static_cast<double>(s.cnp.interval_ns), 1e3, 16) |
                      static_cast<uint32_t>(s.cnp.scope) << 16;
  const double alpha = h.alpha / h.kmax_bytes * 80 * h.int_multi * 1024;
  return {
      {RNIC_CSR_CC_LINE_RATE, kbps("line rate", d.line_bps)},
      {RNIC_CSR_CC_MIN_RATE, kbps("least rate", d.min_bps)},
      {RNIC_CSR_DCQCN_CTRL, dcqcn_ctrl},
      {RNIC_CSR_DCQCN_G, part("g", d.g)},
      {RNIC_CSR_DCQCN_ALPHA_INIT, part("first alpha", d.alpha_init)},
      {RNIC_CSR_DCQCN_FIRST_FRAC, part("part at the first CNP", d.first_cnp_frac)},
      {RNIC_CSR_DCQCN_MAX_CUT, part("largest cut", d.max_cut)},
      {RNIC_CSR_DCQCN_FIRST_RATE, 0},
      {RNIC_CSR_DCQCN_AI_RATE, kbps("additive step", d.ai_bps)},
      {RNIC_CSR_DCQCN_HAI_RATE, kbps("hyper step", d.hai_bps)},
      {RNIC_CSR_DCQCN_BYTE_RESET, fixed("byte counter", static_cast<double>(d.byte_reset), 1, 32)},
      {RNIC_CSR_DCQCN_ALPHA_TIME, us("period of alpha", d.alpha_ns)},
      {RNIC_CSR_DCQCN_DEC_TIME, us("period of cuts", d.dec_ns)},
      {RNIC_CSR_DCQCN_INC_TIME, us("increase timer", d.inc_ns)},
      {RNIC_CSR_DCQCN_NP, np},
      {RNIC_CSR_CNP_CLASS,
       fixed("DSCP of CNPs", s.cnp.dscp, 1, 6) | fixed("priority of CNPs", s.cnp.pcp, 1, 3) << 8},
      {RNIC_CSR_HPCC_CTRL, hpcc_ctrl},
      {RNIC_CSR_HPCC_ETA, fixed("eta", h.eta, 1.0 / 16777216, 25)},
      {RNIC_CSR_HPCC_BASE_RTT, fixed("base RTT", static_cast<double>(h.base_rtt_ns), 1, 20)},
      {RNIC_CSR_HPCC_AI_RATE, kbps("additive step of HPCC", h.ai_bps)},
      {RNIC_CSR_HPCC_ALPHA, fixed("alpha / Kmax", alpha, 1.0 / 65536, 24)},
      {RNIC_CSR_CC_GLOBAL_CTRL, static_cast<uint32_t>(s.mode) | uint32_t{s.enable} << 2},
  };
}

void set_congestion(Device& device, const CcSettings& settings) {
  for (const CcRegister& r : cc_registers(settings)) device.write(r.offset, r.value);
  // The unit fills its tables and gives every QP its first rate; until then it hears nothing.
  for (int i = 0; (device.read(RNIC_CSR_CC_STATE) & RNIC_CSR_CC_STATE_READY_MASK) == 0; ++i) {
    if (i == 1000) throw Error("congestion control does not become ready");
  }
}

std::string describe(const CcSettings& s) {
  if (!s.enable) return "no congestion control";
  const cc::DcqcnParams& d = s.dcqcn;
  const cc::HpccParams& h = s.hpcc;
  switch (s.mode) {
    case CcMode::kHpccFormula:
      return fmt::format("HPCC, formula: alpha {:g}, Kmax {:.0f} KB", h.alpha, h.kmax_bytes * 1e-3);
    case CcMode::kHpccWindow:
      return fmt::format(
          "HPCC, window: T {:.1f} us, eta {:g}, W_AI {:.0f} B ({:.0f} Mb/s), maxStage {}",
          static_cast<double>(h.base_rtt_ns) * 1e-3, h.eta,
          h.ai_bps * static_cast<double>(h.base_rtt_ns) * 1e-9 / 8, h.ai_bps * 1e-6, h.max_stage);
    case CcMode::kDcqcn:
      break;
  }
  return fmt::format(
      "DCQCN, {}: g {:.4f}, alpha every {} us, {} increase every {} us or {:.0f} KB, F {}, "
      "additive "
      "{:.0f} Mb/s, hyper {:.0f} Mb/s, CNPs {} us apart",
      d.production ? "production" : "paper", d.g, d.alpha_ns / 1000,
      d.production ? fmt::format("cuts every {} us,", d.dec_ns / 1000) : "cuts at CNPs,",
      d.inc_ns / 1000, static_cast<double>(d.byte_reset) * 1e-3, d.f, d.ai_bps * 1e-6,
      d.hai_bps * 1e-6, s.cnp.interval_ns / 1000);
}

const char* CcState::stage_name() const {
  static const char* const kNames[] = {"none", "fast recovery", "additive", "hyper"};
  return kNames[stage & 3];
}

const char* CcState::state_name() const {
  static const char* const kNames[] = {"ACTIVE", "FAST_RECOVERY", "RECOVERY", "HYPER_INCREASE"};
  return kNames[state & 3];
}

CcState query_congestion(Device& device, uint32_t qpn) {
  device.write(RNIC_CSR_CC_QUERY, qpn | RNIC_CSR_CC_QUERY_GO_MASK);
  uint32_t state = 0;
  // A unit that fills its tables answers after some microseconds, a read takes part of one.
  for (int i = 0; (state & RNIC_CSR_CC_STATE_DONE_MASK) == 0; ++i) {
    if (i == 1000) throw Error(fmt::format("CC_QUERY of QP {} is not answered", qpn));
    state = device.read(RNIC_CSR_CC_STATE);
  }
  CcState s;
  s.stage = static_cast<uint8_t>(RNIC_FIELD_GET(RNIC_CSR_CC_STATE_STAGE_MASK, state));
  s.state = static_cast<uint8_t>(RNIC_FIELD_GET(RNIC_CSR_CC_STATE_NAME_MASK, state));
  s.rate_bps = device.read(RNIC_CSR_CC_RATE) * 1e3;
  s.target_bps = device.read(RNIC_CSR_CC_TARGET) * 1e3;
  s.window = device.read(RNIC_CSR_CC_WINDOW);
  s.alpha = device.read(RNIC_CSR_CC_ALPHA) / 16777216.0;
  const uint32_t steps = device.read(RNIC_CSR_CC_STEPS);
  s.time_steps = static_cast<uint16_t>(RNIC_FIELD_GET(RNIC_CSR_CC_STEPS_TIME_MASK, steps));
  s.byte_steps = static_cast<uint16_t>(RNIC_FIELD_GET(RNIC_CSR_CC_STEPS_BYTES_MASK, steps));
  return s;
}

}  // namespace rnic::driver
