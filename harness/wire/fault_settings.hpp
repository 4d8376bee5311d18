// SPDX-License-Identifier: Apache-2.0
// Fault rules from a scenario file: the list `faults` of a mapping. README.md lists the keys.
//
//   FaultSettings f;
//   r.child("wire", [&](scenario::Reader& w) { read_faults(w, f); });
#pragma once

#include <vector>

#include "harness/scenario/scenario.hpp"
#include "harness/wire/faults.hpp"

namespace rnic::wire {

struct FaultSettings {
  std::vector<FaultRule> rules;
  TimePs hold_limit_ps = 10'000'000;  // of a frame that waits for the next one
};

// Asks for `faults` and `fault_hold_limit`.
void read_faults(scenario::Reader& r, FaultSettings& out);

}  // namespace rnic::wire
