// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/frame_pool.hpp"

#include <algorithm>
#include <cstring>

#include "harness/roce/int_trailer.hpp"

namespace rnic::switching {

FramePool::FramePool(uint32_t max_frame)
    : rooms_{256, 1280, max_frame + static_cast<uint32_t>(roce::kIntBytes)} {}

Frame* FramePool::get(std::span<const uint8_t> bytes) {
  const auto need = static_cast<uint32_t>(bytes.size() + roce::kIntBytes);
  size_t k = 0;
  while (k + 1 < rooms_.size() && rooms_[k] < need) ++k;
  Frame* f = nullptr;
  if (free_[k].empty()) {
    owned_.push_back(std::make_unique<Frame>());
    f = owned_.back().get();
    f->size_class = static_cast<uint8_t>(k);
    f->room = rooms_[k];
    f->data.reset(new uint8_t[f->room]);
    // put() must find room without allocating.
    if (free_[k].capacity() < owned_.size()) free_[k].reserve(2 * owned_.size());
  } else {
    f = free_[k].back();
    free_[k].pop_back();
  }
  // A frame longer than the switch takes is dropped by its length; its bytes do not matter.
  std::memcpy(f->data.get(), bytes.data(), std::min<size_t>(bytes.size(), f->room));
  f->length = static_cast<uint32_t>(bytes.size());
  f->flags = {};
  return f;
}

}  // namespace rnic::switching
