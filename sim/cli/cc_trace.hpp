// SPDX-License-Identifier: Apache-2.0
// rnic-sim cc-trace FILE...
#pragma once

#include <string>
#include <vector>

namespace rnic::sim {

// Prints what sim/cc finds in each trace and a verdict; returns the exit status: 0 only if every
// trace could be read and every judged one is followed.
int cc_trace_command(const std::vector<std::string>& files);

}  // namespace rnic::sim
