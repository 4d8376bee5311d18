// SPDX-License-Identifier: Apache-2.0
// `rnic-sim perftest`: a tool on one NIC and its peer on another one, joined by a cable. Server and
// client are the same programs as those of a live peer; they exchange their keys in memory.
//
//   PairResult r = run_pair(tools::parse_command("ib_write_bw -n 5 peer"), {}, print);
//   r.problems.empty();  r.client.status == "SUCCESS";
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/live/program.hpp"
#include "sim/live/settings.hpp"

namespace rnic::sim {

struct PairOptions {
  Settings world = default_world();
  std::string pcap_file;                  // empty: none
  bool ipv6 = true;                       // GID 2 too
  uint8_t timeout = 6;                    // of the QPs, 4.096 us * 2^n
  uint8_t cm_response = 5;                // of the connection managers
  std::optional<tools::Options> server;   // else as the client, without the host
  TimePs idle_limit_ps = 20'000'000'000;  // nothing on the cable for so long: it is stuck
};

struct PairResult {
  ToolResult client, server;
  std::vector<std::string> problems;
  uint64_t bytes_checked = 0;  // by both sides
  uint64_t resent = 0, frames = 0, roce_frames = 0;
  cm::Counters client_cm, server_cm;
  uint64_t established_by_data = 0;  // the RTU came later or never
  double simulated_us = 0;
};

// `client`: a command with a host; the server has the same options without it. `print` gets the
// client's report.
PairResult run_pair(const tools::Options& client, const PairOptions& options,
                    const std::function<void(const std::string&)>& print);

}  // namespace rnic::sim
