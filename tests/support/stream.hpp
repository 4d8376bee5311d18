// SPDX-License-Identifier: Apache-2.0
//
// Agents for valid/ready streams. The payload is any type with ==: an integer, Bits, or a struct
// of your own with functions that read and write the pins.
//
//   StreamSource<uint64_t> in(bench, RNIC_STREAM(top, in), Stall::random(0.3));
//   StreamSink<Bits> out(bench, RNIC_STREAM(top, out), Stall::bursts(0.1, 20));
//   in.push(1); in.push(2);
//   out.wait(2);                                    // throws Timeout, names itself
//   CHECK(out.items() == std::vector<Bits>{...});
//   CHECK(out.cycles()[1] - out.cycles()[0] == 1);  // throughput
//
//   struct Beat { uint64_t data; bool last; bool operator==(const Beat&) const = default; };
//   StreamSource<Beat> in(bench, "in", top.in_valid, top.in_ready,
//                         [&](const Beat& b) { top.in_data = b.data; top.in_last = b.last; });
//   StreamSink<Beat> out(bench, "out", top.out_valid, top.out_ready,
//                        [&] { return Beat{top.out_data, top.out_last != 0}; });
//
// Sinks and monitors throw ProtocolError when the design takes back valid or changes a payload
// before it was taken.
#pragma once

#include <concepts>
#include <deque>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/rng.hpp"

// "in", top.in_valid, top.in_ready, top.in_data
#define RNIC_STREAM(top, name) #name, (top).name##_valid, (top).name##_ready, (top).name##_data

namespace rnic::test {

// When an agent holds back, decided anew every cycle.
class Stall {
 public:
  Stall() = default;  // never
  static Stall none() { return {}; }
  static Stall always() { return Stall(Kind::kAlways, 1, 0); }
  static Stall random(double probability) { return Stall(Kind::kRandom, probability, 0); }
  // A pause begins with this probability and lasts 1..2*mean-1 cycles.
  static Stall bursts(double probability, unsigned mean_cycles) {
    return Stall(Kind::kBursts, probability, mean_cycles);
  }

  void seed(Rng rng) { rng_ = rng; }
  bool operator()() {
    switch (kind_) {
      case Kind::kNone:
        return false;
      case Kind::kAlways:
        return true;
      case Kind::kRandom:
        return rng_.chance(probability_);
      case Kind::kBursts:
        if (left_ > 0) {
          --left_;
          return true;
        }
        if (!rng_.chance(probability_)) return false;
        left_ = rng_.between(1, 2 * mean_ - 1) - 1;
        return true;
    }
    return false;
  }

 private:
  enum class Kind { kNone, kAlways, kRandom, kBursts };
  Stall(Kind kind, double probability, unsigned mean)
      : kind_(kind), probability_(probability), mean_(mean > 0 ? mean : 1) {}

  Kind kind_ = Kind::kNone;
  double probability_ = 0;
  uint64_t mean_ = 1;
  uint64_t left_ = 0;
  Rng rng_{0};
};

namespace detail {

template <class T, class Pin>
T read_as(const Pin& pin) {
  if constexpr (std::same_as<T, Bits>) {
    return read_pin(pin);
  } else {
    static_assert(std::is_integral_v<Pin>, "a wide pin needs Bits, or a function that reads it");
    return static_cast<T>(pin);
  }
}

template <class T>
std::string show(const T& value) {
  if constexpr (requires(std::ostream & out) { out << value; }) {
    std::ostringstream out;
    if constexpr (std::is_integral_v<T>) {
      out << "0x" << std::hex << +value;
    } else {
      out << value;
    }
    return out.str();
  } else {
    return "(payload)";
  }
}

template <class F, class T>
concept Reader = std::invocable<F> && std::convertible_to<std::invoke_result_t<F>, T>;

}  // namespace detail

// Offers queued payloads in order; valid stays until taken.
template <class T>
class StreamSource : public Agent {
 public:
  template <class Put>
  requires std::invocable<Put, const T&> StreamSource(BenchBase& bench, Clock& clock,
                                                      std::string name, CData& valid,
                                                      const CData& ready, Put put, Stall stall = {})
      : bench_(bench),
        clock_(clock),
        name_(std::move(name)),
        valid_(valid),
        ready_(ready),
        put_(std::move(put)) {
    set_stall(stall);
    valid_ = 0;
    bench.attach(clock, *this);
  }
  template <class Pin>
  requires(!std::invocable<Pin, const T&>)
      StreamSource(BenchBase& bench, Clock& clock, std::string name, CData& valid,
                   const CData& ready, Pin& pin, Stall stall = {})
      : StreamSource(
            bench, clock, std::move(name), valid, ready,
            [&pin](const T& value) { write_pin(pin, value); }, stall) {}
  // On the main clock.
  template <class PinOrPut>
  StreamSource(BenchBase& bench, std::string name, CData& valid, const CData& ready,
               PinOrPut&& pin_or_put, Stall stall = {})
      : StreamSource(bench, bench.clock(), std::move(name), valid, ready,
                     std::forward<PinOrPut>(pin_or_put), stall) {}

  void push(T value) { queue_.push_back(std::move(value)); }
  void set_stall(Stall stall) {
    stall_ = stall;
    stall_.seed(rng(name_ + ".stall"));
  }
  // What to put on the payload pins while valid is 0, so that nobody relies on old values.
  void set_junk(std::function<T()> junk) { junk_ = std::move(junk); }

  const std::string& name() const { return name_; }
  size_t pending() const { return queue_.size(); }
  uint64_t taken() const { return cycles_.size(); }
  const std::vector<uint64_t>& cycles() const { return cycles_; }  // of each transfer
  void clear() {  // not while a beat is offered, except around a reset
    queue_.clear();
    cycles_.clear();
  }
  void wait_idle(uint64_t limit_cycles = 10000) {
    bench_.wait(
        "source '" + name_ + "' to be taken (" + std::to_string(pending()) + " left at start)",
        [this] { return queue_.empty(); }, limit_cycles);
  }

  void sample() override {
    if (offered_ && ready_ != 0) {
      queue_.pop_front();
      cycles_.push_back(clock_.cycle());
      offered_ = false;
    }
  }
  void drive() override {
    if (offered_) return;
    if (!stall_() && !queue_.empty()) {
      offered_ = true;
      valid_ = 1;
      put_(queue_.front());
    } else {
      valid_ = 0;
      if (junk_) put_(junk_());
    }
  }
  void on_reset() override {
    offered_ = false;
    valid_ = 0;
    queue_.clear();
  }

 private:
  BenchBase& bench_;
  Clock& clock_;
  std::string name_;
  CData& valid_;
  const CData& ready_;
  std::function<void(const T&)> put_;
  std::function<T()> junk_;
  Stall stall_;
  std::deque<T> queue_;
  std::vector<uint64_t> cycles_;
  bool offered_ = false;
};

// Watches a stream without touching it: collects transfers, checks that valid holds with its
// payload.
template <class T>
class StreamMonitor : public Agent {
 public:
  template <class Get>
  requires detail::Reader<Get, T> StreamMonitor(BenchBase& bench, Clock& clock, std::string name,
                                                const CData& valid, const CData& ready, Get get)
      : bench_(bench),
        clock_(clock),
        name_(std::move(name)),
        valid_(valid),
        ready_(ready),
        get_(std::move(get)) {
    bench.attach(clock, *this);
  }
  template <class Pin>
  requires(!detail::Reader<Pin, T>)
      StreamMonitor(BenchBase& bench, Clock& clock, std::string name, const CData& valid,
                    const CData& ready, const Pin& pin)
      : StreamMonitor(bench, clock, std::move(name), valid, ready,
                      [&pin] { return detail::read_as<T>(pin); }) {}
  template <class PinOrGet>
  StreamMonitor(BenchBase& bench, std::string name, const CData& valid, const CData& ready,
                PinOrGet&& pin_or_get)
      : StreamMonitor(bench, bench.clock(), std::move(name), valid, ready,
                      std::forward<PinOrGet>(pin_or_get)) {}

  const std::string& name() const { return name_; }
  const std::vector<T>& items() const { return items_; }
  const std::vector<uint64_t>& cycles() const { return cycles_; }  // of each transfer
  size_t size() const { return items_.size(); }
  const T& operator[](size_t index) const { return items_.at(index); }
  void clear() {
    items_.clear();
    cycles_.clear();
  }
  // A function called at each transfer, for responders and scoreboards.
  void on_item(std::function<void(const T&)> function) { on_item_ = std::move(function); }

  // Until this many transfers have been seen in all.
  void wait(size_t count, uint64_t limit_cycles = 10000) {
    const uint64_t start = bench_.cycle();
    while (items_.size() < count) {
      if (bench_.cycle() - start >= limit_cycles) {
        throw Timeout("stream '" + name_ + "' waited " + std::to_string(limit_cycles) +
                      " cycles (since cycle " + std::to_string(start) + ") for transfer " +
                      std::to_string(count) + ", got " + std::to_string(items_.size()));
      }
      bench_.tick();
    }
  }

  void sample() override {
    const bool valid = valid_ != 0;
    if (stalled_) {
      if (!valid) broke("valid was taken back before the transfer");
      T now = get_();
      if (!(now == *stalled_)) {
        broke("payload changed while waiting, from " + detail::show(*stalled_) + " to " +
              detail::show(now));
      }
    }
    if (!valid) return;
    if (ready_ == 0) {
      if (!stalled_) stalled_ = get_();
      return;
    }
    stalled_.reset();
    items_.push_back(get_());
    cycles_.push_back(clock_.cycle());
    if (on_item_) on_item_(items_.back());
  }
  void on_reset() override { stalled_.reset(); }

 protected:
  BenchBase& bench_;
  Clock& clock_;

 private:
  [[noreturn]] void broke(const std::string& what) {
    throw ProtocolError("stream '" + name_ + "', cycle " + std::to_string(clock_.cycle()) + ": " +
                        what);
  }

  std::string name_;
  const CData& valid_;
  const CData& ready_;
  std::function<T()> get_;
  std::function<void(const T&)> on_item_;
  std::vector<T> items_;
  std::vector<uint64_t> cycles_;
  std::optional<T> stalled_;
};

// A monitor that also gives ready.
template <class T>
class StreamSink : public StreamMonitor<T> {
 public:
  template <class PinOrGet>
  StreamSink(BenchBase& bench, Clock& clock, std::string name, const CData& valid, CData& ready,
             PinOrGet&& pin_or_get, Stall stall = {})
      : StreamMonitor<T>(bench, clock, std::move(name), valid, ready,
                         std::forward<PinOrGet>(pin_or_get)),
        ready_out_(ready) {
    set_stall(stall);
    ready_out_ = 0;
  }
  template <class PinOrGet>
  StreamSink(BenchBase& bench, std::string name, const CData& valid, CData& ready,
             PinOrGet&& pin_or_get, Stall stall = {})
      : StreamSink(bench, bench.clock(), std::move(name), valid, ready,
                   std::forward<PinOrGet>(pin_or_get), stall) {}

  void set_stall(Stall stall) {
    stall_ = stall;
    stall_.seed(rng(this->name() + ".stall"));
  }
  void drive() override { ready_out_ = stall_() ? 0 : 1; }
  void on_reset() override {
    StreamMonitor<T>::on_reset();
    ready_out_ = 0;
  }

 private:
  CData& ready_out_;
  Stall stall_;
};

}  // namespace rnic::test
