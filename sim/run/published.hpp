// SPDX-License-Identifier: Apache-2.0
// What a run measured, beside the figures that are published for such a NIC (architecture: 4 KB
// WRITE, peer to peer, goodput, messages per second).
//
//   for (const std::string& line : beside_published(settings, timelines, figures)) print(line);
#pragma once

#include <string>
#include <vector>

#include "sim/run/figures.hpp"
#include "sim/run/settings.hpp"
#include "sim/run/stages.hpp"

namespace rnic::sim {

// Lines of text; none when no step has a published counterpart.
std::vector<std::string> beside_published(const Settings& settings,
                                          const std::vector<Timeline>& timelines,
                                          const Figures& figures);

}  // namespace rnic::sim
