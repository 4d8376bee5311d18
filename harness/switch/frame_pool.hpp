// SPDX-License-Identifier: Apache-2.0
// Frames inside a switch: a pool that grows to what was ever in use at once, and lists through the
// frames, so that a frame on its way allocates nothing.
//
//   FramePool pool(9000);
//   Frame* f = pool.get(bytes);              // a copy with room for telemetry
//   list.push(f);  ...  pool.put(list.pop());
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/wire/wire.hpp"

namespace rnic::switching {

struct Frame {
  Frame* next = nullptr;
  std::unique_ptr<uint8_t[]> data;
  uint32_t room = 0;         // of `data`
  uint32_t length = 0;       // without FCS
  wire::TimePs time_ps = 0;  // of arrival; in a queue: may leave from then on
  wire::FrameFlags flags;
  uint8_t ingress = 0, cls = 0, size_class = 0;
  std::span<uint8_t> bytes() { return {data.get(), length}; }
  uint64_t stored() const { return length + wire::kFcsBytes; }  // what it counts in a buffer
};

class FrameList {
 public:
  Frame* front() const { return head_; }
  void push(Frame* f) {
    f->next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = f;
    tail_ = f;
  }
  Frame* pop() {
    Frame* f = head_;
    head_ = f->next;
    return f;
  }

 private:
  Frame* head_ = nullptr;
  Frame* tail_ = nullptr;
};

class FramePool {
 public:
  explicit FramePool(uint32_t max_frame);
  Frame* get(std::span<const uint8_t> bytes);
  void put(Frame* f) { free_[f->size_class].push_back(f); }
  size_t allocated() const { return owned_.size(); }

 private:
  std::array<uint32_t, 3> rooms_;  // small, usual, longest
  std::array<std::vector<Frame*>, 3> free_;
  std::vector<std::unique_ptr<Frame>> owned_;
};

}  // namespace rnic::switching
