// SPDX-License-Identifier: Apache-2.0
// A recorded run in the other direction: a NIC asks what the recorded requester asked and gets the
// answers that were recorded. Its requests must be the recorded ones, frame by frame, and so must
// what it brings and how it ends.
//
//   if (requester_replayable(run, Side::kClient)) {
//     RequesterReplay r = replay_requester(run, {.side = Side::kClient});
//     for (const std::string& d : r.differences) print(d);
//   }
//
// Left out of the comparison, because it is the sender's choice: IP identification, IPv6 flow
// label, checksums, and AckReq inside a message. An answer is delivered when all requests that were
// recorded before it have left; or, when the NIC holds one of those back (it has fewer READs
// outstanding, or has failed), when what it answers has been asked.
#pragma once

#include <string>
#include <vector>

#include "harness/roce/capture_run.hpp"
#include "sim/run/replay.hpp"

namespace rnic::sim {

struct RequesterReplay {
  size_t messages = 0;
  size_t equal_frames = 0;
  size_t completions = 0;  // whose recorded status was compared
  size_t results = 0;      // READ digests and ATOMIC results that were compared
  std::vector<std::string> differences;
  bool ok() const { return differences.empty(); }
};

// Whether the requests of this side can be made identical: RC or UC, parameters known, nothing lost
// before the point of capture, nothing that was sent again (that hangs on the recorded stack's
// timers), and none of what the recorded stack refuses.
bool requester_replayable(const roce::CaptureRun& run, roce::Side requester);

// Throws std::invalid_argument when it is not. options.side: the requester.
RequesterReplay replay_requester(const roce::CaptureRun& run, const ReplayOptions& options);

}  // namespace rnic::sim
