// SPDX-License-Identifier: Apache-2.0
//
// What the ports of the rate units share: the clock of a Verilated unit, events by valid and ready,
// reports kept as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rnic::cc {

// Throws std::runtime_error, with the port's name, when the unit does not answer.
template <class Top, class Report>
class PortPins {
 public:
  virtual ~PortPins() = default;
  void step() {
    tick_();
    ++cycle_;
    if (top_.obs_valid) all_.push_back(read());
  }
  std::vector<Report> take_all() { return std::exchange(all_, {}); }
  uint64_t cycle() const { return cycle_; }

 protected:
  PortPins(std::string name, Top& top, std::function<void()> tick)
      : top_(top), name_(std::move(name)), tick_(std::move(tick)) {}

  // The report that the pins show.
  virtual Report read() = 0;
  template <class Pin>
  void give(Pin& valid, const Pin& ready) {
    valid = 1;
    top_.eval();
    for (unsigned n = 0; !ready; ++n) {
      if (n > 10'000) throw std::runtime_error(name_ + ": an event is not taken");
      step();
    }
    step();
    valid = 0;
  }
  template <class Condition>
  void wait(const char* what, Condition done) {
    for (unsigned n = 0; !done(); ++n) {
      if (n > 1'000'000) throw std::runtime_error(name_ + ": waited for " + what);
      step();
    }
  }

  Top& top_;
  std::vector<Report> all_;

 private:
  std::string name_;
  std::function<void()> tick_;
  uint64_t cycle_ = 0;
};

}  // namespace rnic::cc
