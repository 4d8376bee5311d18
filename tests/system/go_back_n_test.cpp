// SPDX-License-Identifier: Apache-2.0
// The bound of go-back-N against a sender, a cable and a receiver that are played frame by frame.
#include "sim/run/go_back_n.hpp"

#include <cmath>

#include "harness/mem/random.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;

namespace {

// The share of the cable's time in which frames leave that arrive in order.
double play(const sim::GoBackN& g, uint64_t frames, uint64_t seed) {
  mem::Random random(seed);
  double now = 0;
  uint64_t sent = 0, good = 0;
  const auto lost = [&] {
    ++sent;
    if (g.every != 0) return sent % g.every == 0;
    return random.chance(g.probability);
  };
  while (good < frames) {
    now += g.frame_ns;
    if (!lost()) {
      ++good;
      continue;
    }
    // What leaves until the sender hears of it is for nothing; beyond its window it waits.
    const double heard = now + g.round_trip_ns;
    for (double in_flight = 1; now + g.frame_ns <= heard && in_flight < g.window; ++in_flight) {
      now += g.frame_ns;
      (void)lost();
    }
    now = heard;
  }
  return static_cast<double>(good) * g.frame_ns / now;
}

}  // namespace

TEST_CASE("the bound of go-back-N is what a sender reaches that is played frame by frame") {
  for (const double frames_per_trip : {0.0, 6.0, 120.0}) {
    for (const double p : {0.0001, 0.001, 0.01}) {
      sim::GoBackN g;
      g.frame_ns = 80;
      g.round_trip_ns = frames_per_trip * g.frame_ns;
      g.window = 768;
      g.probability = p;
      INFO("trip of " << frames_per_trip << " frames, loss " << p);
      CHECK(std::abs(g.efficiency() - play(g, 2'000'000, 7)) < 0.01);
      g.every = static_cast<uint64_t>(1 / p);
      if (g.frames_per_loss() < static_cast<double>(g.every))
        CHECK(std::abs(g.efficiency() - play(g, 2'000'000, 7)) < 0.001);
    }
  }
}

TEST_CASE("the bound of go-back-N without loss is the whole cable, and a small window waits") {
  sim::GoBackN g;
  g.frame_ns = 100;
  g.round_trip_ns = 900;
  g.window = 100;
  CHECK(g.efficiency() == 1.0);
  g.window = 5;
  CHECK(g.efficiency() == 0.5);
}
