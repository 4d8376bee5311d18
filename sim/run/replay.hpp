// SPDX-License-Identifier: Apache-2.0
// A recorded run, fed as the wire delivered it into a NIC that is set up as the recorded responder
// was.
//
//   ReplayResult r = replay_run(run, {.data_w = 512});
//   for (const std::string& d : r.differences) print(d);
#pragma once

#include <string>
#include <vector>

#include "harness/roce/capture_replay.hpp"
#include "sim/node/nic.hpp"

namespace rnic::sim {

struct ReplayOptions {
  uint32_t data_w = 512;
  uint64_t seed = 1;
  std::string pcap_file, wave_file;
};

struct ReplayResult {
  uint64_t frames_in = 0, frames_out = 0;
  uint64_t bytes_compared = 0;
  uint64_t receive_completions = 0;
  std::string acks;  // what the NIC acknowledged, in words
  std::vector<std::string> differences;
  bool ok() const { return differences.empty(); }
};

// The run must be all_write().
ReplayResult replay_run(const roce::CaptureRun& run, const ReplayOptions& options);

}  // namespace rnic::sim
