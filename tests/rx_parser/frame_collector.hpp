// SPDX-License-Identifier: Apache-2.0
//
// Puts beats together into frames: from pins that never wait, or behind a StreamSink.
//
//   FrameCollector<VlWide<16>> frames(bench, {t.out_valid, t.out_data, t.out_cnt, t.out_last,
//   &t.out_err}); frames.frames()[0].bytes;
#pragma once

#include <vector>

#include "tests/rx_parser/rx_driver.hpp"

namespace rnic::rx {

// One beat of a stream, for StreamSink.
struct Beat {
  Bytes data;  // valid lanes only
  bool last = false;
  bool operator==(const Beat&) const = default;
};

template <class Data>
Beat read_beat(const Data& data, uint8_t cnt, bool last) {
  Bytes lanes = test::read_pin(data).bytes();
  if (cnt == 0 || cnt > lanes.size())
    throw test::ProtocolError("beat with a count of " + std::to_string(cnt));
  if (!last && cnt != lanes.size()) throw test::ProtocolError("beat in mid-frame is not full");
  lanes.resize(cnt);
  return {lanes, last};
}

inline std::vector<Bytes> join_beats(const std::vector<Beat>& beats) {
  std::vector<Bytes> out;
  Bytes open;
  for (const Beat& b : beats) {
    open.insert(open.end(), b.data.begin(), b.data.end());
    if (b.last) out.push_back(std::exchange(open, {}));
  }
  return out;
}

template <class Data>
class FrameCollector : public test::Agent {
 public:
  FrameCollector(test::BenchBase& bench, test::Clock& clock, BeatPins<Data> pins)
      : clock_(clock), pins_(pins) {
    bench.attach(clock, *this);
  }
  FrameCollector(test::BenchBase& bench, BeatPins<Data> pins)
      : FrameCollector(bench, bench.clock(), pins) {}

  const std::vector<WireFrame>& frames() const { return frames_; }
  const std::vector<uint64_t>& last_cycles() const { return last_cycles_; }
  void clear() {
    open_ = {};
    frames_.clear();
    last_cycles_.clear();
  }

  void sample() override {
    if (pins_.valid == 0) return;
    const Beat beat = read_beat(pins_.data, pins_.cnt, pins_.last != 0);
    open_.bytes.insert(open_.bytes.end(), beat.data.begin(), beat.data.end());
    if (!beat.last) return;
    open_.err = pins_.err != nullptr && *pins_.err != 0;
    open_.ovf = pins_.ovf != nullptr && *pins_.ovf != 0;
    frames_.push_back(std::exchange(open_, {}));
    last_cycles_.push_back(clock_.cycle());
  }
  void on_reset() override { open_ = {}; }

 private:
  test::Clock& clock_;
  BeatPins<Data> pins_;
  WireFrame open_;
  std::vector<WireFrame> frames_;
  std::vector<uint64_t> last_cycles_;
};

}  // namespace rnic::rx
