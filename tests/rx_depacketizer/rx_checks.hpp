// SPDX-License-Identifier: Apache-2.0
//
// Compares what leaves the receive path with the model's judgement of what went in.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/rx_parser/frame_collector.hpp"
#include "tests/rx_parser/rx_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

namespace rnic::rx {

// Bits of rx_chain's cnt_o.
enum Counter : size_t {
  kFrames,
  kCrcErrors,
  kRunts,
  kIcrcErrors,
  kHeaderErrors,
  kRocePackets,
  kFiltered,
  kRawDrops,
  kRawFrames,
  kBufferDrops,
  kCounters
};

template <class Top>
struct Outputs {
  Outputs(test::BenchBase& bench, Top& top)
      : rxm(bench, "rxm", top.rxm_valid, top.rxm_ready, [&top] { return test::read_pin(top.rxm); }),
        rxd(bench, "rxd", top.rxd_valid, top.rxd_ready,
            [&top] { return read_beat(top.rxd_data, top.rxd_cnt, top.rxd_last != 0); }),
        raw(bench, "raw_rx", top.raw_rx_valid, top.raw_rx_ready,
            [&top] { return read_beat(top.raw_rx_data, top.raw_rx_cnt, top.raw_rx_last != 0); }) {
    bench.on_sample([this, &top] {
      for (size_t i = 0; i < kCounters; ++i) count[i] += (top.cnt_o >> i) & 1;
    });
    silent_ = [&top] {
      return !top.rxm_valid && !top.rxd_valid && !top.raw_rx_valid && top.level_rows_o == 0;
    };
  }
  void drain(test::BenchBase& bench) {
    uint64_t quiet = 0;
    bench.wait(
        "outputs to fall silent", [&] { return (quiet = silent_() ? quiet + 1 : 0) > 40; },
        1000000);
  }
  // Whole packets and frames of `sent` in order. With exact, all of them; otherwise those missing
  // are counted. `lost_before` frames never reached the parser.
  void check(const std::vector<WireFrame>& sent, bool exact, uint64_t lost_before = 0) {
    const auto payloads = join_beats(rxd.items());
    const auto raws = join_beats(raw.items());
    std::array<uint64_t, kCounters> want{};
    size_t m = 0, p = 0, r = 0;
    for (size_t i = 0; i < sent.size(); ++i) {
      const Judgement j = judge(sent[i].bytes, sent[i].err);
      INFO("frame " << i << " of " << sent.size());
      ++want[kFrames];
      if (j.counter == "crc_errors") ++want[kCrcErrors];
      if (j.counter == "runts") ++want[kRunts];
      if (j.counter == "icrc_errors") ++want[kIcrcErrors];
      if (j.counter == "header_errors") ++want[kHeaderErrors];
      if (j.kind == Kind::kRoce) {
        ++want[kRocePackets];
        const bool here = m < rxm.size() && rxm[m] == j.meta;
        if (exact && !here) {
          REQUIRE(m < rxm.size());
          FAIL("meta\n got " << kMeta.show(rxm[m]) << "\nwant " << kMeta.show(j.meta));
        }
        if (here) {
          ++m;
          if (!j.payload.empty()) {
            REQUIRE(p < payloads.size());
            REQUIRE(payloads[p] == j.payload);
            ++p;
          }
        }
      }
      if (j.kind == Kind::kRaw) {
        const bool here = r < raws.size() && raws[r] == sent[i].bytes;
        if (exact) REQUIRE(here);
        r += here;
      }
    }
    REQUIRE(m == rxm.size());
    REQUIRE(p == payloads.size());
    REQUIRE(r == raws.size());
    const uint64_t wanted = want[kRocePackets] + sent.size() - want[kRocePackets] -
                            want[kCrcErrors] - want[kRunts] - want[kIcrcErrors] -
                            want[kHeaderErrors];
    if (exact) {
      for (size_t i = 0; i <= kRocePackets; ++i) {
        INFO("counter " << i);
        REQUIRE(count[i] == want[i]);
      }
      REQUIRE(count[kBufferDrops] == 0);
      REQUIRE(count[kRawDrops] == 0);
    } else if (lost_before == 0) {
      for (size_t i = 0; i <= kRocePackets; ++i) REQUIRE(count[i] == want[i]);
      REQUIRE(m + r + count[kBufferDrops] + count[kRawDrops] == wanted);
    } else {
      REQUIRE(count[kFrames] + lost_before == sent.size());
      REQUIRE(m + r + count[kBufferDrops] + count[kRawDrops] + count[kCrcErrors] + count[kRunts] +
                  count[kIcrcErrors] + count[kHeaderErrors] ==
              count[kFrames]);
    }
    REQUIRE(count[kRawFrames] == r);
  }

  test::StreamSink<test::Bits> rxm;
  test::StreamSink<Beat> rxd, raw;
  std::array<uint64_t, kCounters> count{};

 private:
  std::function<bool()> silent_;
};

}  // namespace rnic::rx
