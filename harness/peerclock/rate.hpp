// SPDX-License-Identifier: Apache-2.0
// How a held clock goes: at the pace of the real one, slowly while frames are exchanged, not at all
// while a frame is being dealt with.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/peerclock/page.hpp"

namespace rnic::peerclock {

inline constexpr int64_t kSecond = 1'000'000'000, kMs = 1'000'000;
// Frames are being exchanged: one has gone or come within this time, longer than the usual time-out
// of a QP (67 ms).
inline constexpr int64_t kBusyNs = 80 * kMs;
// Then the clock goes so many times slower than the real one,
inline constexpr int64_t kSlow = 8;
// and stretches of real time in which nobody looked at it count as no longer than this: the
// emulator looks every kNapNs when it has a processor.
inline constexpr int64_t kStretchNs = 10 * kMs;
inline constexpr int64_t kNapNs = 5 * kMs;
inline constexpr int64_t kHeldNapNs = kMs;
// Time in which a thread of the emulator waited for a processor does not count. It is heard of when
// the wait is over, and may have counted then: so much of it is made good. Two threads may wait at
// once and all the time: an eighth of each stretch counts nevertheless, so the clock always goes
// on.
inline constexpr int64_t kMaxDebtNs = 50 * kMs;

class Rate {
 public:
  // The clock at this real time. Not earlier than at the last call. `waited`: how long the
  // emulator has waited for a processor since the last call, as far as it is known by now.
  int64_t advance(Page& p, int64_t real, int64_t waited = 0) {
    if (last_ == 0) now_ = last_ = real;
    const bool stands = held(p);
    int64_t passed = std::max<int64_t>(0, real - std::max(last_, p.released_ns.load()));
    last_ = std::max(last_, real);
    if (stands) {
      passed = debt_ = 0;
    } else if (busy(p)) {
      debt_ = std::min(debt_ + waited, kMaxDebtNs);
      const int64_t paid = std::min(debt_, passed - passed / kSlow);
      debt_ -= paid;
      rest_ += std::min(passed - paid, kStretchNs);
      passed = rest_ / kSlow;
      rest_ %= kSlow;
    } else {
      debt_ = 0;
    }
    now_ += passed;
    p.now_ns = now_;
    return now_;
  }
  void frame_at(int64_t now) { frame_ = now; }
  bool busy(const Page& p) const {
    return p.attached.load() != 0 && (owed(p) || now_ < frame_ + kBusyNs);
  }

 private:
  int64_t last_ = 0, now_ = 0, frame_ = -kBusyNs, rest_ = 0, debt_ = 0;
};

// How long to sleep in real time for what shall be `ns` of the clock.
inline int64_t sleep_of(int64_t ns, bool held, bool busy) {
  if (held) return kHeldNapNs;
  if (busy && ns < kNapNs) ns *= kSlow;
  return std::min(ns, kNapNs);
}

}  // namespace rnic::peerclock
