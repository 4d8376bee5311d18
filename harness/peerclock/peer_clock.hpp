// SPDX-License-Identifier: Apache-2.0
// The simulator's side of an emulator's held clock (README.md).
//
//   PeerClock clock("clock");  // throws ClockError; before the link is opened
//   clock.received();                    // a frame has come: the clock stands already
//   clock.given(link->stats().sent);     // frames that have gone to the emulator so far
//   clock.release();                     // all that came is dealt with: it goes on
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "harness/peerclock/page.hpp"

namespace rnic::peerclock {

class ClockError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class PeerClock {
 public:
  explicit PeerClock(const std::string& path);
  ~PeerClock();
  PeerClock(const PeerClock&) = delete;
  PeerClock& operator=(const PeerClock&) = delete;

  void received() { ++received_; }
  void given(uint64_t frames) { page_->given = first_given_ + static_cast<uint32_t>(frames); }
  void release();
  // The emulator's clock.
  double seconds() const { return static_cast<double>(page_->now_ns.load()) * 1e-9; }
  // How often it stood.
  uint64_t stops() const { return stops_; }
  // Frames came of which the emulator did not tell: its link is not one that holds the clock.
  bool untold() const;

 private:
  void close();
  std::string path_;
  int fd_ = -1;  // locked: an emulator sees by it that we live
  Page* page_ = nullptr;
  uint32_t first_sent_ = 0, first_given_ = 0;
  uint32_t received_ = 0, released_ = 0;
  uint64_t stops_ = 0;
};

}  // namespace rnic::peerclock
