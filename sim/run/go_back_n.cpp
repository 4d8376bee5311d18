// SPDX-License-Identifier: Apache-2.0
#include "sim/run/go_back_n.hpp"

#include <algorithm>

namespace rnic::sim {

double GoBackN::frames_per_loss() const {
  return std::min(1 + round_trip_ns / frame_ns, std::max(window, 1.0));
}

double GoBackN::efficiency() const {
  const double n = frames_per_loss();
  const double busy = std::min(1.0, window / (1 + round_trip_ns / frame_ns));
  if (every != 0) return busy * std::max(0.0, 1 - n / static_cast<double>(every));
  return busy * (1 - probability) / (1 - probability + probability * n);
}

}  // namespace rnic::sim
