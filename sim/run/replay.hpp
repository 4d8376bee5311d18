// SPDX-License-Identifier: Apache-2.0
// A recorded run, fed as the wire delivered it into a NIC that is set up as the recorded responder
// was.
//
//   ReplayResult r = replay_run(run, {.data_w = 512});
//   for (const std::string& d : r.differences) print(d);
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/roce/capture_replay.hpp"
#include "sim/node/nic.hpp"

namespace rnic::sim {

struct ReplayOptions {
  uint32_t data_w = 512;
  uint64_t seed = 1;
  std::string pcap_file, wave_file;
  std::optional<roce::Side> side;  // the responder; else the server, or who is asked
};

struct ReplayResult {
  uint64_t frames_in = 0, frames_out = 0;
  uint64_t bytes_compared = 0;
  uint64_t receive_completions = 0;
  std::string acks;                       // what the NIC acknowledged, in words
  std::map<std::string, size_t> allowed;  // differences that a responder is free to make, by name
  size_t equal_frames = 0;
  std::vector<std::string> differences;
  bool ok() const { return differences.empty(); }
};

// The runs of a file, each followed by the connections that a connection manager made in it.
std::vector<roce::CaptureRun> recorded_runs(const roce::CaptureFile& file);

// Whether this side of the run can be a NIC: RC or UC, its parameters are known, and it is asked
// something.
bool replayable(const roce::CaptureRun& run, roce::Side responder);

// Throws std::invalid_argument when the run is not replayable.
ReplayResult replay_run(const roce::CaptureRun& run, const ReplayOptions& options);

}  // namespace rnic::sim
