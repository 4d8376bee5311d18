// SPDX-License-Identifier: Apache-2.0
#include "harness/cc/dcqcn_model.hpp"

#include <algorithm>

namespace rnic::cc {

DcqcnParams DcqcnParams::paper(double line_bps) {
  DcqcnParams p;
  p.line_bps = line_bps;
  p.min_bps = 10e6;
  return p;
}

DcqcnParams DcqcnParams::production_defaults(double line_bps) {
  DcqcnParams p;
  p.production = true;
  p.line_bps = line_bps;
  p.min_bps = 1e6;
  p.ai_bps = 5e6;
  p.hai_bps = 50e6;
  p.g = 5.0 / 1024;
  p.alpha_init = 1023.0 / 1024;
  p.alpha_ns = 1'000;
  p.dec_ns = 4'000;
  p.inc_ns = 300'000;
  p.byte_reset = 0;
  p.f = 1;
  p.max_cut = 0.5;
  return p;
}

const char* name(DcqcnPhase phase) {
  static const char* const kNames[] = {"none", "fr", "ai", "hi"};
  return kNames[static_cast<int>(phase)];
}

DcqcnView view(const DcqcnState& s) {
  if (s.phase == DcqcnPhase::kNone) return DcqcnView::kActive;
  if (s.phase == DcqcnPhase::kFastRecovery)
    return s.again ? DcqcnView::kRecovery : DcqcnView::kFastRecovery;
  return s.rate_bps >= s.target_bps ? DcqcnView::kActive : DcqcnView::kHyperIncrease;
}

DcqcnModel::DcqcnModel(const DcqcnParams& params) : p_(params) {
  s_.rate_bps = s_.target_bps = p_.line_bps;
  s_.alpha = p_.alpha_init;
}

void DcqcnModel::advance(uint64_t time_ns, bool inclusive, const Observer& seen) {
  for (;;) {
    Timer* next = &alpha_;
    for (Timer* t : {&dec_, &inc_}) {
      if (t->deadline < next->deadline ||
          (t->deadline == next->deadline && t->order < next->order)) {
        next = t;
      }
    }
    if (next->deadline > time_ns || (next->deadline == time_ns && !inclusive)) return;
    const uint64_t at = next->deadline;
    const bool checked_nothing = next == &dec_ && !s_.dec_flag;
    run(*next, at);
    if (seen && !checked_nothing) {
      seen(*this,
           next == &alpha_ ? DcqcnOp::kAlpha
           : next == &dec_ ? DcqcnOp::kDec
                           : DcqcnOp::kInc,
           at);
    }
  }
}

void DcqcnModel::run(Timer& timer, uint64_t now) {
  if (&timer == &alpha_) {
    s_.alpha = (1 - p_.g) * s_.alpha + (s_.alpha_flag ? p_.g : 0);
    s_.alpha_flag = false;
    arm(alpha_, now, p_.alpha_ns);
  } else if (&timer == &dec_) {
    arm(dec_, now, p_.dec_ns);
    if (!s_.dec_flag) return;
    s_.dec_flag = false;
    cut(p_.clamp || s_.b_stage != 0 || (p_.clamp_after_time && s_.t_stage != 0));
    restart_stages(now);
  } else {
    arm(inc_, now, p_.inc_ns);
    increase(&s_.t_stage);
  }
}

void DcqcnModel::cnp(uint64_t time_ns, const Observer& seen) {
  advance(time_ns, false, seen);
  if (p_.production) {
    if (!active_) {
      first_cnp(time_ns);
    } else {
      s_.alpha_flag = s_.dec_flag = true;
    }
  } else {
    active_ = true;
    cut(true);
    s_.alpha = (1 - p_.g) * s_.alpha + p_.g;
    arm(alpha_, time_ns, p_.alpha_ns);
    restart_stages(time_ns);
  }
}

void DcqcnModel::first_cnp(uint64_t now) {
  active_ = true;
  s_.dec_flag = true;
  arm(alpha_, now, p_.alpha_ns);
  arm(dec_, now, p_.dec_ns + 1);
  s_.rate_bps *= p_.first_cnp_frac;
  s_.target_bps = s_.rate_bps;
}

void DcqcnModel::cut(bool lower_target) {
  const bool open = view(s_) != DcqcnView::kActive;
  if (lower_target) s_.target_bps = s_.rate_bps;
  s_.rate_bps = std::max(p_.min_bps, s_.rate_bps * (1 - std::min(s_.alpha / 2, p_.max_cut)));
  s_.again = open;
  s_.phase = DcqcnPhase::kFastRecovery;
}

void DcqcnModel::restart_stages(uint64_t now) {
  s_.t_stage = s_.b_stage = 0;
  s_.bytes_left = static_cast<int64_t>(p_.byte_reset);
  arm(inc_, now, p_.inc_ns);
}

bool DcqcnModel::sent(uint64_t time_ns, uint64_t bytes, const Observer& seen) {
  advance(time_ns, false, seen);
  if (p_.byte_reset == 0 || s_.phase == DcqcnPhase::kNone) return false;
  s_.bytes_left -= static_cast<int64_t>(bytes);
  if (s_.bytes_left > 0) return false;
  s_.bytes_left += static_cast<int64_t>(p_.byte_reset);
  increase(&s_.b_stage);
  return true;
}

// The paper looks at the counters with this expiry counted, production before.
void DcqcnModel::increase(unsigned* counter) {
  const auto low = [&] { return p_.byte_reset ? std::min(s_.t_stage, s_.b_stage) : s_.t_stage; };
  if (!p_.production) ++*counter;
  const unsigned most = std::max(s_.t_stage, s_.b_stage), least = low();
  if (p_.production) ++*counter;
  double step = 0;
  if (most < p_.f) {
    s_.phase = DcqcnPhase::kFastRecovery;
  } else if (least > p_.f) {
    s_.phase = DcqcnPhase::kHyper;
    step = p_.hai_bps * (p_.production ? 1 : least - p_.f);
  } else {
    s_.phase = DcqcnPhase::kAdditive;
    step = p_.ai_bps;
  }
  s_.target_bps = std::min(s_.target_bps + step, p_.line_bps);
  s_.rate_bps = (s_.rate_bps + s_.target_bps) / 2;
}

}  // namespace rnic::cc
