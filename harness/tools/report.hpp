// SPDX-License-Identifier: Apache-2.0
// The text that a client prints, as the users of these tools know it.
//
//   for (const std::string& l : heading(options, mine, theirs, mtu)) print(l);
//   print(bandwidth_line(size, count, peak, average, rate, gbits));
#pragma once

#include <string>
#include <vector>

#include "harness/tools/exchange.hpp"
#include "harness/tools/options.hpp"

namespace rnic::tools {

std::vector<std::string> heading(const Options& o, const std::vector<Keys>& mine,
                                 const std::vector<Keys>& theirs, uint32_t mtu);
std::string bandwidth_titles(bool gbits);
std::string latency_titles();
std::string closing_line();

// `total_us` for `count` messages of `size` bytes.
BandwidthReport bandwidth_of(uint32_t size, uint64_t count, double total_us, double peak_us);
std::string bandwidth_line(const BandwidthReport& r, bool gbits);

struct LatencyReport {
  uint32_t size = 0;
  uint64_t count = 0;
  double min = 0, max = 0, typical = 0, average = 0, stdev = 0, p99 = 0, p999 = 0;  // us
};
// `samples_us`: one per message; empty is all zeros.
LatencyReport latency_of(uint32_t size, std::vector<double> samples_us);
std::string latency_line(const LatencyReport& r);

// "8192000 bytes in 0.01 seconds = 6553.60 Mbit/sec" and the line behind it.
std::vector<std::string> pingpong_lines(uint64_t bytes, uint64_t iterations, double total_us);
std::string pingpong_address(const char* side, const Keys& k);

}  // namespace rnic::tools
