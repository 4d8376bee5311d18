// SPDX-License-Identifier: Apache-2.0
// What came in by one port and is still in the switch, per class (or all together with 802.3x), and
// the pauses that follow from it.
//
//   Ingress in(config, rate, headroom);
//   if (!in.fits(cls, bytes)) drop();
//   in.add(cls, bytes);  ...  in.release(cls, bytes);
//   if (in.due(now)) send(in.frame(now));           // tells the classes that have changed
#pragma once

#include <array>
#include <cstdint>

#include "harness/switch/config.hpp"
#include "harness/switch/pause_frame.hpp"

namespace rnic::switching {

class Ingress {
 public:
  Ingress(const SwitchConfig& config, uint64_t rate_bps, uint64_t headroom)
      : config_(config), headroom_(headroom) {
    half_ps_ = quanta_time(config.pause.quanta, rate_bps) / 2;
    refresh_ps_.fill(wire::kNever);
  }

  bool fits(unsigned cls, uint64_t bytes) const;
  void add(unsigned cls, uint64_t bytes);
  void release(unsigned cls, uint64_t bytes);
  // A frame that did not fit: a reason to pause, too.
  void refused(unsigned cls);
  // A pause frame waits to be sent.
  bool waiting() const { return changed_ != 0; }
  // Pauses that run out while still needed are sent again from then on; kNever: none.
  TimePs next_refresh() const;
  void refresh(TimePs now);
  // The frame that starts at `now`.
  PauseFrame frame(TimePs now);
  bool paused(unsigned cls) const { return (paused_ >> slot(cls) & 1) != 0; }
  uint64_t bytes(unsigned cls) const { return bytes_[slot(cls)]; }
  uint64_t most_bytes(unsigned cls) const { return most_[slot(cls)]; }
  uint64_t headroom() const { return headroom_; }

 private:
  void pause(unsigned slot);
  unsigned slot(unsigned cls) const { return config_.pause.mode == FlowControl::kPause ? 0 : cls; }

  const SwitchConfig& config_;
  uint64_t headroom_;
  TimePs half_ps_;
  std::array<uint64_t, kClasses> bytes_{}, most_{};
  std::array<TimePs, kClasses> refresh_ps_{};
  uint8_t paused_ = 0;   // what the peer should do
  uint8_t changed_ = 0;  // what it has not been told
};

}  // namespace rnic::switching
