// SPDX-License-Identifier: Apache-2.0
// The subcommands `live` and `perftest`.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rnic::sim {

struct LiveArgs {
  std::string scenario, link, clock, json, pcap, out = "out";
  std::vector<std::string> runs, set;
  std::optional<uint64_t> seed;
  double for_s = 0;
  bool files = true;
};

void add_live_options(CLI::App& command, LiveArgs& args);
// `path`: the scenario file. Exit status of sim/live/README.md.
int run_live(const LiveArgs& args, const std::string& path);
// The words behind `rnic-sim perftest`.
int run_perftest(const std::vector<std::string>& words);

}  // namespace rnic::sim
