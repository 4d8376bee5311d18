// SPDX-License-Identifier: Apache-2.0
#include "harness/wire/tap.hpp"

#include <cstdio>

namespace rnic::wire {

Tap::~Tap() {
  try {
    close();
  } catch (const pcap::PcapError&) {
    // A destructor cannot report; close() does.
  }
}

void Tap::on_tx(const FrameInfo& frame) {
  if (config_.point == TapConfig::Point::kSent) take(frame);
}

void Tap::on_rx(const FrameInfo& frame) {
  if (config_.point == TapConfig::Point::kDelivered) take(frame);
}

void Tap::take(const FrameInfo& frame) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++frames_;
  roce::ViolationList bad;
  if (frame.flags.err) {
    ++bad_frames_;
  } else if (config_.check) {
    roce::CheckOptions rules = config_.rules;
    rules.has_fcs = frame.has_fcs;
    bad = roce::check_frame(frame.bytes, rules);
    if (bad.is_roce) ++roce_frames_;
    if (!bad.empty()) {
      ++violations_;
      if (messages_.size() < config_.max_messages) {
        char b[96];
        std::snprintf(b, sizeof b, "frame %llu of direction %d at %llu ps: ",
                      static_cast<unsigned long long>(frame.number), frame.direction,
                      static_cast<unsigned long long>(frame.first_ps));
        messages_.push_back(b + roce::describe(bad));
      }
    }
  }
  if (on_frame) on_frame(frame, bad);
  if (config_.pcap == nullptr) return;
  const auto dir = static_cast<size_t>(frame.direction);
  Record r{frame.first_ps, {}};
  if (!spare_.empty()) {
    r.bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  // Capture files hold frames without FCS.
  const size_t fcs = frame.has_fcs && frame.bytes.size() > kFcsBytes ? kFcsBytes : 0;
  r.bytes.assign(frame.bytes.begin(), frame.bytes.end() - static_cast<std::ptrdiff_t>(fcs));
  held_[dir].push_back(std::move(r));
  seen_ps_[dir] = frame.first_ps;
  merge(false);
}

void Tap::merge(bool all) {
  // Within a direction times only grow, so what both directions have passed is final.
  const TimePs limit = seen_ps_[0] < seen_ps_[1] ? seen_ps_[0] : seen_ps_[1];
  while (!held_[0].empty() || !held_[1].empty()) {
    const bool second = held_[0].empty() ||
                        (!held_[1].empty() && held_[1].front().time_ps < held_[0].front().time_ps);
    auto& from = held_[second ? 1 : 0];
    if (!all && from.front().time_ps >= limit) return;
    config_.pcap->write(from.front().time_ps, from.front().bytes);
    spare_.push_back(std::move(from.front().bytes));
    from.pop_front();
  }
}

void Tap::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (config_.pcap == nullptr) return;
  merge(true);
  config_.pcap->flush();
}

}  // namespace rnic::wire
