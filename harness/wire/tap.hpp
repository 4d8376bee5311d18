// SPDX-License-Identifier: Apache-2.0
// A tap on a cable: checks every frame by the independent rules and writes the capture.
//
//   PcapWriter pcap("run.pcap");  Tap tap({.pcap = &pcap});  link.add_observer(&tap);
//   ... run ...
//   tap.close();                        // writes what is left, in time order
//   if (tap.violations() != 0) report(tap.messages());
//
// Works with the two ends on two threads. Frames of both directions are merged by the time of their
// first byte at the tapped end; they are kept in memory until both directions have passed it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "harness/pcap/pcap.hpp"
#include "harness/roce/check.hpp"
#include "harness/wire/wire.hpp"

namespace rnic::wire {

struct TapConfig {
  // Where it sits: what the senders put on the cable, or what it delivered (after faults).
  enum class Point { kSent, kDelivered };
  Point point = Point::kSent;
  pcap::PcapWriter* pcap = nullptr;  // borrowed; none: only checks
  bool check = true;
  roce::CheckOptions rules{};
  size_t max_messages = 20;  // texts kept; all violations are counted
};

class Tap : public FrameObserver {
 public:
  explicit Tap(const TapConfig& config) : config_(config) {}
  ~Tap() override;

  void on_tx(const FrameInfo& frame) override;
  void on_rx(const FrameInfo& frame) override;

  // Called for every frame at the tapped point, with the direction's thread and the lock held.
  std::function<void(const FrameInfo&, const roce::ViolationList&)> on_frame;

  // Writes what is held back. A capture that fails to write throws pcap::PcapError.
  void close();

  uint64_t frames() const { return frames_; }
  uint64_t roce_frames() const { return roce_frames_; }
  // Frames that the MAC already calls bad (underrun, runt, err) are captured but not checked.
  uint64_t bad_frames() const { return bad_frames_; }
  // Frames that break a rule.
  uint64_t violations() const { return violations_; }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  struct Record {
    TimePs time_ps;
    std::vector<uint8_t> bytes;
  };
  void take(const FrameInfo& frame);
  void merge(bool all);

  TapConfig config_;
  std::mutex mutex_;
  std::array<std::deque<Record>, 2> held_;
  std::vector<std::vector<uint8_t>> spare_;
  std::array<TimePs, 2> seen_ps_{};
  uint64_t frames_ = 0, roce_frames_ = 0, bad_frames_ = 0, violations_ = 0;
  std::vector<std::string> messages_;
};

}  // namespace rnic::wire
