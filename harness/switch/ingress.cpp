// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/ingress.hpp"

#include <algorithm>

namespace rnic::switching {

bool Ingress::fits(unsigned cls, uint64_t bytes) const {
  return bytes_[slot(cls)] + bytes <= config_.pause.xoff + headroom_;
}

void Ingress::add(unsigned cls, uint64_t bytes) {
  const unsigned s = slot(cls);
  bytes_[s] += bytes;
  most_[s] = std::max(most_[s], bytes_[s]);
  if (bytes_[s] >= config_.pause.xoff) pause(s);
}

void Ingress::refused(unsigned cls) {
  // At the low mark or below nothing would ever take the pause back.
  if (bytes_[slot(cls)] > config_.pause.xon) pause(slot(cls));
}

void Ingress::pause(unsigned s) {
  if ((paused_ >> s & 1) != 0) return;
  paused_ |= static_cast<uint8_t>(1 << s);
  changed_ |= static_cast<uint8_t>(1 << s);
}

void Ingress::release(unsigned cls, uint64_t bytes) {
  const unsigned s = slot(cls);
  bytes_[s] -= bytes;
  if (bytes_[s] > config_.pause.xon || (paused_ >> s & 1) == 0) return;
  paused_ &= static_cast<uint8_t>(~(1 << s));
  changed_ |= static_cast<uint8_t>(1 << s);
  refresh_ps_[s] = wire::kNever;
}

TimePs Ingress::next_refresh() const {
  return paused_ == 0 ? wire::kNever : *std::min_element(refresh_ps_.begin(), refresh_ps_.end());
}

void Ingress::refresh(TimePs now) {
  for (unsigned s = 0; s < kClasses; ++s) {
    if (refresh_ps_[s] > now) continue;
    refresh_ps_[s] = wire::kNever;  // until it is sent
    changed_ |= static_cast<uint8_t>(1 << s);
  }
}

PauseFrame Ingress::frame(TimePs now) {
  PauseFrame p;
  p.legacy = config_.pause.mode == FlowControl::kPause;
  p.mask = changed_;
  for (unsigned s = 0; s < kClasses; ++s) {
    if ((changed_ >> s & 1) == 0 || (paused_ >> s & 1) == 0) continue;
    p.quanta[s] = config_.pause.quanta;
    refresh_ps_[s] = now + half_ps_;
  }
  changed_ = 0;
  return p;
}

}  // namespace rnic::switching
