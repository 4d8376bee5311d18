// SPDX-License-Identifier: Apache-2.0
// A scenario of `rnic-sim live` as plain structures; README.md lists the keys.
//
//   LiveSettings s = load_live_settings("peer.yaml", {"live.timeout=8"}, nic_kinds());
//   // throws ScenarioError
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/roce/frame.hpp"
#include "sim/run/settings.hpp"

namespace rnic::sim {

// One --run: commands that go at the same time, with '&' between them.
struct LiveRun {
  std::vector<std::string> commands;
  std::string expect = "SUCCESS";
  uint64_t reset_after = 0;  // frames; 0: no reset
  uint64_t pause_after = 0;  // frames; 0: no pause
};

struct LiveSettings {
  Settings world;
  std::string link, clock;
  roce::MacAddr mac{2, 0, 0, 0, 0, 1};
  roce::IpAddr ip = roce::ipv4_address(10, 77, 0, 9);
  std::optional<roce::IpAddr> ip6;
  uint8_t timeout = 6;
  uint32_t first_qpn = 2;
  uint8_t cm_response = 20;  // of the connection manager, 4.096 us * 2^n of wall time
  TimePs settle_ps = 1'000'000;
  double patience_s = 1, limit_s = 120;
  std::vector<LiveRun> runs;
};

LiveSettings load_live_settings(const std::string& path, const std::vector<std::string>& overrides,
                                const std::vector<NicKind>& kinds);
// The world of two NICs without a scenario file.
Settings default_world();
// "A & B". Throws tools::ToolError.
LiveRun parse_run(const std::string& text);

}  // namespace rnic::sim
