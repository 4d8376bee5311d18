// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/cc_trace.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "sim/cc/cc_trace.hpp"

namespace rnic::sim {

int cc_trace_command(const std::vector<std::string>& files) {
  size_t followed = 0, not_judged = 0, deviate = 0, bad = 0;
  for (const std::string& file : files) {
    try {
      const CcTraceResult r = run_cc_trace(file);
      for (const std::string& line : report(r)) fmt::print("{}\n", line);
      ++(!r.judged ? not_judged : r.good() ? followed : deviate);
    } catch (const std::exception& e) {
      std::fflush(stdout);
      fmt::print(stderr, "{}\n", e.what());
      ++bad;
    }
  }
  std::string text = fmt::format("{} traces followed", followed);
  if (deviate) text += fmt::format(", {} deviate", deviate);
  if (not_judged) text += fmt::format(", {} not judged", not_judged);
  if (bad) text += fmt::format(", {} cannot be run", bad);
  const bool good = deviate == 0 && bad == 0;
  fmt::print("rnic-sim: {}: {}\n", good ? "PASS" : "FAIL", text);
  return good ? 0 : 1;
}

}  // namespace rnic::sim
