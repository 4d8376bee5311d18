// SPDX-License-Identifier: Apache-2.0
// The datagrams of a recorded run, fed into a NIC with UD QPs of the recorded numbers and keys (QP
// 1 of connection managers too): each must fill its receive as the wire carried it, IP header in
// front, and complete it with sender and immediate; nothing may be answered.
//
//   if (gets_datagrams(run, Side::kServer)) {
//     DatagramReplay r = replay_datagrams(run, {.side = Side::kServer});
//     for (const std::string& d : r.differences) print(d);
//   }
#pragma once

#include <string>
#include <vector>

#include "harness/roce/capture_run.hpp"
#include "sim/run/replay.hpp"

namespace rnic::sim {

struct DatagramReplay {
  size_t datagrams = 0, qps = 0;
  size_t completions = 0;  // compared with those of the recorded stack
  bool digest = false;     // so was the memory at the end
  std::vector<std::string> differences;
  bool ok() const { return differences.empty(); }
};

bool gets_datagrams(const roce::CaptureRun& run, roce::Side side);

// Throws std::invalid_argument when there are none. options.side: who gets them; else the server.
DatagramReplay replay_datagrams(const roce::CaptureRun& run, const ReplayOptions& options);

}  // namespace rnic::sim
