// SPDX-License-Identifier: Apache-2.0
#include "tests/support/bench.hpp"

#include <algorithm>

namespace rnic::test {
namespace {

class FunctionAgent : public Agent {
 public:
  FunctionAgent(std::function<void()> sample, std::function<void()> drive)
      : sample_(std::move(sample)), drive_(std::move(drive)) {}
  void sample() override {
    if (sample_) sample_();
  }
  void drive() override {
    if (drive_) drive_();
  }

 private:
  std::function<void()> sample_;
  std::function<void()> drive_;
};

}  // namespace

BenchBase::~BenchBase() = default;

Clock& BenchBase::add_clock(std::string name, CData& pin, uint64_t period_ps, uint64_t phase_ps) {
  if (period_ps < 2) throw std::invalid_argument("clock " + name + ": period below 2 ps");
  auto clock = std::make_unique<Clock>();
  clock->name_ = std::move(name);
  clock->pin_ = &pin;
  clock->period_ps_ = period_ps;
  clock->next_edge_ = time_ps_ + phase_ps + period_ps / 2;
  pin = 0;
  clocks_.push_back(std::move(clock));
  return *clocks_.back();
}

Clock& BenchBase::clock(size_t index) {
  if (index >= clocks_.size()) throw std::logic_error("bench: no clock was added");
  return *clocks_[index];
}

void BenchBase::on_sample(Clock& clock, std::function<void()> function) {
  owned_.push_back(std::make_unique<FunctionAgent>(std::move(function), nullptr));
  attach(clock, *owned_.back());
}

void BenchBase::on_drive(Clock& clock, std::function<void()> function) {
  owned_.push_back(std::make_unique<FunctionAgent>(nullptr, std::move(function)));
  attach(clock, *owned_.back());
}

void BenchBase::eval() {
  eval_model();
  dirty_ = false;
}

void BenchBase::settle() { eval(); }

void BenchBase::step() {
  uint64_t next = ~uint64_t{0};
  for (const auto& clock : clocks_) next = std::min(next, clock->next_edge_);
  const bool rising = std::any_of(clocks_.begin(), clocks_.end(), [&](const auto& clock) {
    return clock->next_edge_ == next && !clock->high_;
  });
  if (rising && dirty_) eval();
  time_ps_ = next;
  if (rising) {
    Context::get().note_progress(clock().cycle_, time_ps_);
    if (!in_reset_) {
      for (const auto& clock : clocks_) {
        if (clock->next_edge_ != next || clock->high_) continue;
        for (Agent* agent : clock->agents_) agent->sample();
      }
    }
  }
  std::vector<Clock*> risen;
  for (const auto& clock : clocks_) {
    if (clock->next_edge_ != next) continue;
    clock->high_ = !clock->high_;
    *clock->pin_ = clock->high_ ? 1 : 0;
    // An odd period has its longer half low.
    const uint64_t high = clock->period_ps_ / 2;
    clock->next_edge_ += clock->high_ ? high : clock->period_ps_ - high;
    if (clock->high_) {
      ++clock->cycle_;
      risen.push_back(clock.get());
    }
  }
  eval();
  for (Clock* clock : risen) {
    for (Agent* agent : clock->agents_) {
      if (in_reset_) {
        agent->on_reset();
      } else {
        agent->drive();
      }
    }
    dirty_ = true;
  }
#if VM_TRACE
  if (dirty_) eval();
  dump_model();
#endif
}

void BenchBase::tick(Clock& clock, uint64_t cycles) {
  const uint64_t until = clock.cycle_ + cycles;
  dirty_ = true;  // the caller may have written pins
  while (clock.cycle_ < until) step();
  if (dirty_) eval();
}

void BenchBase::wait(const std::string& what, const std::function<bool()>& condition,
                     uint64_t limit_cycles) {
  const uint64_t start = cycle();
  while (!condition()) {
    if (cycle() - start >= limit_cycles) {
      throw Timeout("waited " + std::to_string(limit_cycles) + " cycles (since cycle " +
                    std::to_string(start) + ") for " + what);
    }
    tick();
  }
}

void BenchBase::reset(const std::vector<CData*>& pins, uint64_t cycles) {
  for (CData* pin : pins) *pin = 1;
  in_reset_ = true;
  std::vector<uint64_t> start;
  for (const auto& clock : clocks_) start.push_back(clock->cycle_);
  auto enough = [&] {
    for (size_t i = 0; i < clocks_.size(); ++i) {
      if (clocks_[i]->cycle_ - start[i] < cycles) return false;
    }
    return true;
  };
  dirty_ = true;
  while (!enough()) step();
  in_reset_ = false;
  for (CData* pin : pins) *pin = 0;
  eval();
}

}  // namespace rnic::test
