// SPDX-License-Identifier: Apache-2.0
// What go-back-N can reach over a cable that loses frames, when nobody but the cable takes time.
//
//   GoBackN g{.frame_ns = 83.6, .round_trip_ns = 490, .window = 768, .every = 1000};
//   double share = g.efficiency();                   // of what the cable carries without loss
//
// A lost frame costs itself and all that leaves before its sender hears of it: N frames in all.
// With a loss at random, each frame is sent until it is neither lost nor behind a lost one:
// (1 - p) / (1 - p + p N). Where every n-th frame is lost, N of n are for nothing: 1 - N / n. A
// window that is smaller than what fits into the round trip also stands still for its rest.
#pragma once

#include <cstdint>

namespace rnic::sim {

struct GoBackN {
  double frame_ns = 0;       // one frame on the cable, gaps and preamble included
  double round_trip_ns = 0;  // from the end of a lost frame until its sender hears of the loss
  double window = 0;         // frames that may be in flight
  double probability = 0;    // of a loss, at random
  uint64_t every = 0;        // not 0: every so many-th is lost instead

  double frames_per_loss() const;
  double efficiency() const;
};

}  // namespace rnic::sim
