// SPDX-License-Identifier: Apache-2.0
// Fault rules of a bad cable, for programs that must come through it.
//
//   GoldenBed bed({.rules = bad_weather(0.01)});
#pragma once

#include <vector>

#include "harness/wire/faults.hpp"

namespace rnic::test {

// Loss, duplication, reordering and corruption, each of every packet with probability `p`.
inline std::vector<wire::FaultRule> bad_weather(double p) {
  using wire::FaultAction;
  return {{.action = FaultAction::kDrop, .probability = p},
          {.action = FaultAction::kDuplicate, .probability = p},
          {.action = FaultAction::kReorder, .probability = p},
          {.action = FaultAction::kCorrupt, .probability = p / 2, .bits = 2},
          {.action = FaultAction::kCorrupt, .probability = p / 2, .bits = 2, .bad_fcs = false}};
}

}  // namespace rnic::test
