// SPDX-License-Identifier: Apache-2.0
#include "harness/switch/egress.hpp"

#include <algorithm>

namespace rnic::switching {
namespace {
constexpr uint64_t kShareBytes = 2048;  // of a round, times the weight
}

void Egress::push(Frame* f) {
  Queue& q = queues_[f->cls];
  q.frames.push(f);
  q.bytes += f->stored();
  q.most = std::max(q.most, q.bytes);
  if (q.coming == nullptr) q.coming = f;
  total_ += f->stored();
}

TimePs Egress::ready(unsigned cls) const {
  const Frame* f = queues_[cls].frames.front();
  if (f == nullptr) return wire::kNever;
  return std::max({f->time_ps, pauses_[cls].until, pauses_[kClasses].until});
}

TimePs Egress::next(TimePs from) const {
  TimePs t = wire::kNever;
  for (unsigned c = 0; c < kClasses; ++c) t = std::min(t, ready(c));
  return t == wire::kNever ? t : std::max(t, from);
}

uint64_t Egress::waiting(unsigned cls, TimePs now) {
  Queue& q = queues_[cls];
  for (; q.coming != nullptr && q.coming->time_ps <= now; q.coming = q.coming->next)
    q.waiting += q.coming->stored();
  return q.waiting;
}

uint64_t Egress::waiting(TimePs now) {
  uint64_t sum = 0;
  for (unsigned c = 0; c < kClasses; ++c) sum += waiting(c, now);
  return sum;
}

Frame* Egress::take(unsigned cls, TimePs now) {
  waiting(cls, now);  // the frame is counted
  Queue& q = queues_[cls];
  Frame* f = q.frames.pop();
  q.waiting -= f->stored();
  q.bytes -= f->stored();
  total_ -= f->stored();
  return f;
}

Frame* Egress::pop(TimePs now) {
  for (unsigned c = kClasses; c-- > 0;) {
    if (config_.classes[c].weight == 0 && may(c, now)) return take(c, now);
  }
  return round_robin(now);
}

Frame* Egress::round_robin(TimePs now) {
  bool any = false;
  for (unsigned c = 0; c < kClasses; ++c)
    any = any || (config_.classes[c].weight != 0 && may(c, now));
  if (!any) return nullptr;
  for (;;) {
    Queue& q = queues_[turn_];
    const uint32_t weight = config_.classes[turn_].weight;
    if (weight != 0 && may(turn_, now)) {
      if (fresh_) q.deficit += kShareBytes * weight;
      fresh_ = false;
      const uint64_t need = cost(*q.frames.front());
      if (q.deficit >= need) {
        q.deficit -= need;
        return take(turn_, now);
      }
    }
    if (q.frames.front() == nullptr) q.deficit = 0;  // what was not used is not saved
    turn_ = (turn_ + 1) % kClasses;
    fresh_ = true;
  }
}

void Egress::pause(unsigned cls, TimePs now, TimePs until) {
  Pause& p = pauses_[cls];
  if (p.until > p.since) p.total += std::min(p.until, now) - p.since;
  p.since = now;
  p.until = until;
}

TimePs Egress::paused_ps(unsigned cls, TimePs now) const {
  const Pause& p = pauses_[cls];
  return p.total + (p.until > p.since ? std::min(p.until, now) - p.since : 0);
}

}  // namespace rnic::switching
