// SPDX-License-Identifier: Apache-2.0
//
// A unit bench: owns one Verilated model, its clocks and its agents.
//
//   Bench<Vskid_buffer> bench;                       // clk_i at 500 MHz, model reset with
//   bench.reset() StreamSource<uint64_t> in(bench, RNIC_STREAM(bench.top(), in));
//   StreamSink<uint64_t> out(bench, RNIC_STREAM(bench.top(), out));
//   bench.reset();
//   in.push(42);
//   out.wait(1);
//
// Two phases, as nonblocking assignment: at a rising edge every agent of that clock first samples
// the pins as they were before the edge, then the edge happens, then every agent drives. Time is
// in picoseconds.
#pragma once

#include <verilated.h>
#if VM_TRACE
#include <verilated_fst_c.h>
#endif

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/context.hpp"
#include "tests/support/wave_view.hpp"

namespace rnic::test {

// Something did not happen within its limit.
class Timeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A protocol rule was broken by the design: who, what, when.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Agent {
 public:
  virtual ~Agent() = default;
  virtual void sample() {}    // before the edge: read pins, decide
  virtual void drive() {}     // after the edge: write pins
  virtual void on_reset() {}  // instead of both at every edge in reset
};

class Clock {
 public:
  const std::string& name() const { return name_; }
  uint64_t cycle() const { return cycle_; }  // rising edges so far
  uint64_t period_ps() const { return period_ps_; }

 private:
  friend class BenchBase;
  std::string name_;
  CData* pin_ = nullptr;
  uint64_t period_ps_ = 0;
  uint64_t next_edge_ = 0;
  uint64_t cycle_ = 0;
  bool high_ = false;
  std::vector<Agent*> agents_;
};

class BenchBase {
 public:
  BenchBase() = default;
  BenchBase(const BenchBase&) = delete;
  BenchBase& operator=(const BenchBase&) = delete;
  virtual ~BenchBase();

  // The first clock is the main one: tick(), wait() and reset() count it.
  Clock& add_clock(std::string name, CData& pin, uint64_t period_ps, uint64_t phase_ps = 0);
  Clock& clock() { return clock(0); }
  Clock& clock(size_t index);
  uint64_t cycle() { return clock().cycle(); }
  uint64_t time_ps() const { return time_ps_; }

  // Agents are borrowed and must outlive the last tick; they act in the order they were attached.
  void attach(Agent& agent) { attach(clock(), agent); }
  void attach(Clock& clock, Agent& agent) { clock.agents_.push_back(&agent); }
  // The same for functions.
  void on_sample(std::function<void()> function) { on_sample(clock(), std::move(function)); }
  void on_sample(Clock& clock, std::function<void()> function);
  void on_drive(std::function<void()> function) { on_drive(clock(), std::move(function)); }
  void on_drive(Clock& clock, std::function<void()> function);

  void tick(uint64_t cycles = 1) { tick(clock(), cycles); }
  void tick(Clock& clock, uint64_t cycles);
  // Ticks until the condition holds; throws Timeout naming what was waited for.
  void wait(const std::string& what, const std::function<bool()>& condition,
            uint64_t limit_cycles = 10000);
  // Settles combinational logic after pins were written by hand.
  void settle();

  // Holds these pins at 1 for some main cycles (and, with more than one clock, at least as many of
  // every clock).
  void reset(const std::vector<CData*>& pins, uint64_t cycles = 4);
  bool in_reset() const { return in_reset_; }

 protected:
  virtual void eval_model() = 0;
  virtual void dump_model() {}

  uint64_t time_ps_ = 0;

 private:
  void step();  // to the next edge of any clock
  void eval();

  std::vector<std::unique_ptr<Clock>> clocks_;
  std::vector<std::unique_ptr<Agent>> owned_;
  bool dirty_ = true;
  bool in_reset_ = false;
};

template <class Top>
class Bench : public BenchBase {
 public:
  static constexpr uint64_t kCorePeriodPs = 2000;

  // Adds the main clock when the model has a port clk_i; otherwise add clocks yourself.
  explicit Bench(uint64_t period_ps = kCorePeriodPs)
      : context_(std::make_unique<VerilatedContext>()) {
    context_->timeunit(-12);
    context_->timeprecision(-12);
#if VM_TRACE
    context_->traceEverOn(true);
#endif
    top_ = std::make_unique<Top>(context_.get(), "TOP");
#if VM_TRACE
    if (Context::get().options().wave) {
      wave_path_ = next_wave_path();
      trace_ = std::make_unique<VerilatedFstC>();
      top_->trace(trace_.get(), 99);
      trace_->open(wave_path_.c_str());
    }
#endif
    if constexpr (requires(Top & t) { t.clk_i; }) {
      add_clock("clk", top_->clk_i, period_ps);
    } else {
      static_cast<void>(period_ps);
    }
  }

  ~Bench() override {
    // The runtime releases a model in the context of its thread, which may be another bench's.
    Verilated::threadContextp(context_.get());
#if VM_TRACE
    if (trace_) {
      trace_->close();
      write_wave_view(wave_path_);
    }
#endif
    try {
      if (!context_->gotError()) top_->final();
    } catch (...) {  // a final block that fails has already printed why
    }
  }

  Top& top() { return *top_; }
  Top* operator->() { return top_.get(); }

  using BenchBase::reset;
  void reset(uint64_t cycles = 4) requires requires(Top& t) { t.rst_i; }
  { reset({&top_->rst_i}, cycles); }

 protected:
  void eval_model() override {
    context_->time(time_ps_);
    top_->eval();
    if (context_->gotFinish()) throw std::runtime_error("the model called $finish");
  }
  void dump_model() override {
#if VM_TRACE
    if (trace_) trace_->dump(time_ps_);
#endif
  }

 private:
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Top> top_;
#if VM_TRACE
  std::unique_ptr<VerilatedFstC> trace_;
  std::string wave_path_;
#endif
};

}  // namespace rnic::test
