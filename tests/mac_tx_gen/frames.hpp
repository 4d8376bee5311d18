// SPDX-License-Identifier: Apache-2.0
// Beats of the transmit streams behind tx_packetizer, for sources and sinks.
#pragma once

#include <string>
#include <vector>

#include "tests/support/bits.hpp"
#include "tests/support/stream.hpp"
#include "tests/tx_packetizer/tx_types.hpp"

namespace rnic::test {

struct Beat {
  Bits data;
  unsigned cnt = 0;
  bool last = false;
  bool bad = false;  // abort, err
  Bits eth;
  bool operator==(const Beat&) const = default;
};

struct Frame {
  std::vector<uint8_t> bytes;
  bool bad = false;
  Bits eth;
  size_t beats = 0;
  uint64_t first = 0, last = 0;
};

// Cuts bytes into beats; lanes behind the last byte are zero.
inline std::vector<Beat> cut(const std::vector<uint8_t>& bytes, size_t lanes, const Bits& eth,
                             bool bad = false) {
  std::vector<Beat> out;
  for (size_t at = 0; at < bytes.size(); at += lanes) {
    const size_t n = std::min(lanes, bytes.size() - at);
    const bool last = at + n == bytes.size();
    out.push_back({Bits::from_bytes({bytes.data() + at, n}, lanes * 8), static_cast<unsigned>(n),
                   last, last && bad, eth});
  }
  return out;
}

// Puts beats together again.
class Collector {
 public:
  explicit Collector(size_t lanes) : lanes_(lanes) {}
  void take(const Beat& b, uint64_t cycle) {
    if (current_.beats == 0) {
      current_.first = cycle;
      current_.eth = b.eth;
    }
    if (!b.last && b.cnt != lanes_) throw ProtocolError("short beat before the last");
    if (b.cnt == 0 || b.cnt > lanes_) throw ProtocolError("cnt " + std::to_string(b.cnt));
    for (size_t i = 0; i < b.cnt; ++i) current_.bytes.push_back(b.data.byte(i));
    ++current_.beats;
    if (b.last) {
      current_.bad = b.bad;
      current_.last = cycle;
      frames.push_back(current_);
      current_ = {};
    }
  }
  bool inside() const { return current_.beats > 0; }
  void clear() {
    frames.clear();
    current_ = {};
  }

  std::vector<Frame> frames;

 private:
  size_t lanes_;
  Frame current_;
};

inline Bits raw_eth() { return kTxEth.pack({{"raw", 1}}); }

inline std::vector<uint8_t> padded(std::vector<uint8_t> bytes) {
  if (bytes.size() < 60) bytes.resize(60);
  return bytes;
}

}  // namespace rnic::test
