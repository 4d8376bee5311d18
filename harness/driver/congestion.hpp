// SPDX-License-Identifier: Apache-2.0
//
// The registers of congestion control, from parameters in bit/s, ns and fractions:
//
//   driver::CcSettings s = driver::CcSettings::preset(CcMode::kHpccWindow, CcPreset::kPaper,
//   100e9); for (const driver::CcRegister& r : driver::cc_registers(s)) device.write(r.offset,
//   r.value);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/cc/dcqcn_model.hpp"
#include "harness/cc/hpcc_model.hpp"
#include "harness/driver/device.hpp"

namespace rnic::driver {

// As CC_GLOBAL_CTRL.mode.
enum class CcMode { kDcqcn = 0, kHpccFormula = 1, kHpccWindow = 2 };

// kPaper: SIGCOMM 2015 and 2019. kProduction: defaults of adapters (DCQCN), the published
// simulator's run script (HPCC).
enum class CcPreset { kPaper, kProduction };
CcPreset cc_preset(const std::string& name);  // "paper", "production"; throws Error

// Between which packets the least time between CNPs counts; as DCQCN_NP.scope.
enum class CnpScope { kQp = 0, kAddress = 1, kPort = 2 };

// Who answers marked packets by CNPs, and how they travel.
struct CnpSettings {
  uint64_t interval_ns = 4'000;  // least time between two of a flow; 0: for every marked packet
  CnpScope scope = CnpScope::kQp;
  unsigned dscp = 48, pcp = 6;  // pcp: where the path has a VLAN tag
};

struct CcSettings {
  CcMode mode = CcMode::kDcqcn;
  bool enable = true;
  CnpSettings cnp;
  cc::DcqcnParams dcqcn;  // line and least rate of both algorithms are those of dcqcn
  cc::HpccParams hpcc;

  // base_rtt_ns: T of HPCC; flows: how many are expected to share a link (W_AI of the paper).
  static CcSettings preset(CcMode mode, CcPreset preset, double line_bps,
                           uint64_t base_rtt_ns = 13'000, unsigned flows = 64);
};

struct CcRegister {
  uint32_t offset = 0, value = 0;
};

// CC_GLOBAL_CTRL comes last. A parameter that its register cannot hold throws Error naming it.
std::vector<CcRegister> cc_registers(const CcSettings& settings);
// Writes them, and waits until the unit has taken them (CC_STATE.ready): before, CNPs and telemetry
// are not heard. Throws Error when it does not.
void set_congestion(Device& device, const CcSettings& settings);

// One line: the algorithm and its parameters.
std::string describe(const CcSettings& settings);

// What the algorithm in charge knows of a QP.
struct CcState {
  double rate_bps = 0;
  double target_bps = 0;                    // DCQCN
  uint32_t window = 0;                      // HPCC, bytes
  double alpha = 0;                         // DCQCN; HPCC: U
  uint8_t stage = 0;                        // DCQCN: RNIC_CC_STAGE_*
  uint8_t state = 0;                        // DCQCN: RNIC_CC_STATE_*, the published name
  uint16_t time_steps = 0, byte_steps = 0;  // HPCC: additive steps, 0
  const char* stage_name() const;           // "none", "fast recovery", "additive", "hyper"
  const char* state_name() const;  // "ACTIVE", "FAST_RECOVERY", "RECOVERY", "HYPER_INCREASE"
};
// Asks the unit; throws Error when it does not answer.
CcState query_congestion(Device& device, uint32_t qpn);

}  // namespace rnic::driver
