// SPDX-License-Identifier: Apache-2.0
// How long a queue was how deep: a histogram weighted by time, for percentiles over a run.
//
//   DepthTime d;
//   d.set(now, bytes);                      // at each change
//   d.percentile(99.9, now);                // bytes; at most 1/32 too low
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "harness/wire/wire.hpp"

namespace rnic::switching {

class DepthTime {
 public:
  DepthTime() : time_(kBins) {}
  void set(wire::TimePs now, uint64_t bytes) {
    time_[bin(depth_)] += now - since_;
    since_ = now;
    depth_ = bytes;
    most_ = std::max(most_, bytes);
  }
  // Forgets what was before `now`.
  void restart(wire::TimePs now) {
    std::fill(time_.begin(), time_.end(), 0);
    since_ = now;
    most_ = depth_;
  }
  // The depth that was not exceeded for p percent of the time since the (re)start.
  uint64_t percentile(double p, wire::TimePs now) const {
    std::vector<uint64_t> t = time_;
    t[bin(depth_)] += now - since_;
    uint64_t all = 0, sum = 0;
    for (uint64_t v : t) all += v;
    for (size_t b = 0; b < t.size(); ++b) {
      sum += t[b];
      if (sum != 0 && static_cast<double>(sum) >= static_cast<double>(all) * p / 100) return low(b);
    }
    return 0;
  }
  uint64_t most() const { return most_; }

  // 32 bins per octave: depths below 64 exactly, others to 1/32.
  static size_t bin(uint64_t v) {
    if (v < 64) return v;
    const unsigned shift = static_cast<unsigned>(std::bit_width(v)) - 6;
    return shift * 32 + (v >> shift);
  }
  static uint64_t low(size_t bin) {
    if (bin < 64) return bin;
    const size_t shift = bin / 32 - 1;
    return uint64_t{bin - shift * 32} << shift;
  }

 private:
  static constexpr size_t kBins = 32 * 60;
  std::vector<uint64_t> time_;
  wire::TimePs since_ = 0;
  uint64_t depth_ = 0, most_ = 0;
};

}  // namespace rnic::switching
