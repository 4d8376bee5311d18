// SPDX-License-Identifier: Apache-2.0
// The RC connections that a connection manager made in a recorded run: REQ and REP name the QPs,
// their first PSNs and the path MTU, which the recording itself need not.
//
//   for (const roce::CaptureRun& c : cm::recorded_connections(run)) replay(c);
#pragma once

#include <vector>

#include "harness/roce/capture_run.hpp"

namespace rnic::cm {

// In the order of their REQs; those that were refused, or that the run's own parameters name, are
// left out.
std::vector<roce::CaptureRun> recorded_connections(const roce::CaptureRun& run);

}  // namespace rnic::cm
