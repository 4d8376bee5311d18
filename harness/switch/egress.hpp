// SPDX-License-Identifier: Apache-2.0
// The queues of one egress port and who is next: strict classes first, the others by deficit round
// robin over bytes on the wire; a paused class is passed over.
//
//   Egress e(config);
//   e.push(frame);                                   // class and earliest time are in it
//   if (e.next(free_at) <= now) Frame* f = e.pop(now);
#pragma once

#include <array>
#include <cstdint>

#include "harness/switch/config.hpp"
#include "harness/switch/frame_pool.hpp"

namespace rnic::switching {

class Egress {
 public:
  explicit Egress(const SwitchConfig& config) : config_(config) {}

  void push(Frame* f);
  // Earliest time, not before `from`, at which some frame may start; kNever without one.
  TimePs next(TimePs from) const;
  // The frame to start at `now`; there is one when next(now) == now.
  Frame* pop(TimePs now);
  // The class may start nothing before `until`; kClasses: the whole port.
  void pause(unsigned cls, TimePs now, TimePs until);
  // In the buffer, from arrival on; and of these what waits for the port, which frames that the
  // switch is still at work on do not.
  uint64_t bytes(unsigned cls) const { return queues_[cls].bytes; }
  uint64_t bytes() const { return total_; }
  uint64_t waiting(unsigned cls, TimePs now);
  uint64_t waiting(TimePs now);
  uint64_t most_bytes(unsigned cls) const { return queues_[cls].most; }
  TimePs paused_ps(unsigned cls, TimePs now) const;

 private:
  struct Queue {
    FrameList frames;
    uint64_t bytes = 0, most = 0;
    Frame* coming = nullptr;  // the first that is not counted in `waiting`
    uint64_t waiting = 0;
    uint64_t deficit = 0;
  };
  struct Pause {
    TimePs since = 0, until = 0, total = 0;
  };
  TimePs ready(unsigned cls) const;
  bool may(unsigned cls, TimePs now) const { return ready(cls) <= now; }
  Frame* take(unsigned cls, TimePs now);
  Frame* round_robin(TimePs now);
  static uint64_t cost(const Frame& f) { return f.stored() + wire::kOverheadBytes; }

  const SwitchConfig& config_;
  std::array<Queue, kClasses> queues_{};
  std::array<Pause, kClasses + 1> pauses_{};
  uint64_t total_ = 0;
  unsigned turn_ = 0;  // class whose turn it is
  bool fresh_ = true;  // it has not got its share of this round yet
};

}  // namespace rnic::switching
