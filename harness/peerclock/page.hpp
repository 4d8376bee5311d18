// SPDX-License-Identifier: Apache-2.0
// The page of memory that an emulator with a held clock and a simulator share (a file that both
// map). All words begin at zero. Counts wrap around.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rnic::peerclock {

struct Page {
  // Of the emulator
  std::atomic<uint32_t> loaded;   // its clock is held by this page
  std::atomic<uint32_t> sending;  // threads that are about to send a frame
  std::atomic<uint32_t> sent;     // frames that have left
  std::atomic<uint32_t> taken;    // frames that it has read
  std::atomic<int64_t> now_ns;    // its clock
  // Of the simulator
  std::atomic<uint32_t> attached;  // it is there; without it the clock runs freely
  std::atomic<uint32_t> done;      // frames of the emulator that the NIC has dealt with
  std::atomic<uint32_t> given;     // frames that were sent to the emulator
  std::atomic<uint32_t> reserved;
  std::atomic<int64_t> released_ns;  // CLOCK_MONOTONIC when `done` was last written
};
// Of the file, whose flock() a simulator holds as long as it lives.
inline constexpr size_t kPageBytes = 4096;
static_assert(sizeof(Page) == 48 && std::atomic<int64_t>::is_always_lock_free);

// Words that scripts write: to let a peer go whose simulator has died.
inline constexpr unsigned kAttachedOffset = 24;

// The clock stands: a frame has left, or is about to, and is not dealt with.
inline bool held(const Page& p) {
  if (p.attached.load() == 0) return false;
  return p.sending.load() != 0 || static_cast<int32_t>(p.sent.load() - p.done.load()) > 0;
}

// Frames are on their way to the emulator.
inline bool owed(const Page& p) {
  return static_cast<int32_t>(p.given.load() - p.taken.load()) > 0;
}

}  // namespace rnic::peerclock
