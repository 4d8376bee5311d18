// SPDX-License-Identifier: Apache-2.0
//
// The DCQCN reaction point of one QP in double precision, written from the facts (roce.md section
// 6) and the documented order of operations of the public simulators; every timer is an event of
// its own, in time order.
//
//   DcqcnModel rp(DcqcnParams::paper(40e9));
//   rp.cnp(10'000);                       // at 10 us
//   rp.advance(120'000, true, [](const DcqcnModel& m, DcqcnOp op, uint64_t t) { ... });
//   rp.state().rate_bps;
#pragma once

#include <cstdint>
#include <functional>

namespace rnic::cc {

struct DcqcnParams {
  bool production = false;  // false: cut at the CNP (SIGCOMM 2015); true: flags and periodic check
  double line_bps = 100e9, min_bps = 0, ai_bps = 40e6, hai_bps = 200e6;
  double g = 1.0 / 256, alpha_init = 1;
  uint64_t alpha_ns = 55'000, dec_ns = 50'000, inc_ns = 55'000;
  uint64_t byte_reset = 10'000'000;  // 0: no byte counter
  unsigned f = 5;
  bool clamp = false, clamp_after_time = true;  // production: which cuts lower the target
  double first_cnp_frac = 1;                    // production
  double max_cut = 1;                           // largest part that one cut takes

  // SIGCOMM 2015, and what production adapters and their simulator use.
  static DcqcnParams paper(double line_bps);
  static DcqcnParams production_defaults(double line_bps);
};

enum class DcqcnPhase { kNone, kFastRecovery, kAdditive, kHyper };
const char* name(DcqcnPhase phase);  // as in traces: none, fr, ai, hi

// The names of the published state table.
enum class DcqcnView { kActive, kFastRecovery, kRecovery, kHyperIncrease };

struct DcqcnState {
  double rate_bps = 0, target_bps = 0, alpha = 1;
  unsigned t_stage = 0, b_stage = 0;
  DcqcnPhase phase = DcqcnPhase::kNone;
  bool alpha_flag = false, dec_flag = false;  // a CNP came since the last tick, check
  bool again = false;                         // the last cut met an open one
  int64_t bytes_left = 0;
};
DcqcnView view(const DcqcnState& state);

enum class DcqcnOp { kAlpha, kDec, kInc };

class DcqcnModel {
 public:
  using Observer = std::function<void(const DcqcnModel&, DcqcnOp, uint64_t time_ns)>;
  explicit DcqcnModel(const DcqcnParams& params);

  // Runs the timers that are due before time_ns, with inclusive those at time_ns too.
  void advance(uint64_t time_ns, bool inclusive, const Observer& seen = nullptr);
  // Stimuli; timers due before run first.
  void cnp(uint64_t time_ns, const Observer& seen = nullptr);
  // Returns whether the byte counter expired.
  bool sent(uint64_t time_ns, uint64_t bytes, const Observer& seen = nullptr);

  const DcqcnState& state() const { return s_; }

 private:
  struct Timer {
    uint64_t deadline = UINT64_MAX, order = 0;
  };
  void arm(Timer& timer, uint64_t from, uint64_t delay) { timer = {from + delay, ++armed_}; }
  void run(Timer& timer, uint64_t now);
  void first_cnp(uint64_t now);
  void cut(bool lower_target);
  void restart_stages(uint64_t now);
  void increase(unsigned* counter);

  DcqcnParams p_;
  DcqcnState s_;
  bool active_ = false;  // a CNP has come
  uint64_t armed_ = 0;
  Timer alpha_, dec_, inc_;
};

}  // namespace rnic::cc
