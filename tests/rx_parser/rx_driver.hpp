// SPDX-License-Identifier: Apache-2.0
//
// Puts frames on pins that cannot wait, beat by beat, with junk in the lanes and cycles that carry
// nothing:
//
//   FrameDriver<Vrx_parser_512> driver(bench, "in", {t.in_valid, t.in_data, t.in_cnt, t.in_last,
//   &t.in_err, &t.in_ovf}); driver.push({frame});                // frames go back to back
//   bench.wait("frames", [&] { return driver.idle(); });
//   driver.last_cycles();                // cycle in which each frame's last beat was on the pins
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/rx_parser/rx_model.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/stream.hpp"

namespace rnic::rx {

struct WireFrame {
  Bytes bytes;
  bool err = false;
  bool ovf = false;
};

template <class Data>
struct BeatPins {
  CData& valid;
  Data& data;
  CData& cnt;
  CData& last;
  CData* err = nullptr;
  CData* ovf = nullptr;
};

template <class Data>
class FrameDriver : public test::Agent {
 public:
  static constexpr size_t kBeat = sizeof(Data);

  FrameDriver(test::BenchBase& bench, test::Clock& clock, const std::string& name,
              BeatPins<Data> pins)
      : clock_(clock), pins_(pins), junk_(test::rng(name + ".junk")), name_(name) {
    pins_.valid = 0;
    bench.attach(clock, *this);
  }
  FrameDriver(test::BenchBase& bench, const std::string& name, BeatPins<Data> pins)
      : FrameDriver(bench, bench.clock(), name, pins) {}

  void push(WireFrame frame) { queue_.push_back(std::move(frame)); }
  void push_all(const std::vector<Bytes>& frames) {
    for (const Bytes& f : frames) push(WireFrame{f});
  }
  // Gaps between beats, in frames and between them.
  void set_gaps(test::Stall gaps) {
    gaps_ = gaps;
    gaps_.seed(test::rng(name_ + ".gaps"));
  }
  void set_pause(bool pause) { pause_ = pause; }  // between frames
  bool idle() const { return queue_.empty() && pins_.valid == 0; }
  const std::vector<uint64_t>& last_cycles() const { return last_cycles_; }
  const std::vector<uint64_t>& first_cycles() const { return first_cycles_; }

  // A beat is on the pins in the cycle that ends with edge clock.cycle() at sample time.
  void sample() override {
    if (pins_.valid == 0) return;
    if (began_) first_cycles_.push_back(clock_.cycle());
    if (pins_.last != 0) last_cycles_.push_back(clock_.cycle());
  }
  void drive() override {
    began_ = false;
    if (queue_.empty() || gaps_() || (pause_ && at_ == 0)) {
      pins_.valid = 0;
      return;
    }
    const WireFrame& f = queue_.front();
    const size_t n = std::min(kBeat, f.bytes.size() - at_);
    uint8_t lanes[kBeat];
    for (size_t i = 0; i < kBeat; ++i) lanes[i] = static_cast<uint8_t>(i < n ? 0 : junk_.bits(8));
    std::copy_n(f.bytes.begin() + static_cast<std::ptrdiff_t>(at_), n, lanes);
    test::write_pin(pins_.data, test::Bits::from_bytes(lanes));
    began_ = at_ == 0;
    at_ += n;
    const bool last = at_ == f.bytes.size();
    pins_.valid = 1;
    pins_.cnt = static_cast<uint8_t>(n);
    pins_.last = last;
    // Errors are told with the last beat; in front of it the pins mean nothing.
    if (pins_.err != nullptr) *pins_.err = last ? f.err : junk_.chance(0.5);
    if (pins_.ovf != nullptr) *pins_.ovf = last ? f.ovf : junk_.chance(0.5);
    if (last) {
      queue_.pop_front();
      at_ = 0;
    }
  }
  void on_reset() override {
    queue_.clear();
    at_ = 0;
    pins_.valid = 0;
  }

 private:
  test::Clock& clock_;
  BeatPins<Data> pins_;
  test::Rng junk_;
  std::string name_;
  test::Stall gaps_;
  std::deque<WireFrame> queue_;
  size_t at_ = 0;
  bool began_ = false;
  bool pause_ = false;
  std::vector<uint64_t> first_cycles_, last_cycles_;
};

}  // namespace rnic::rx
