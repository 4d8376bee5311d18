// SPDX-License-Identifier: Apache-2.0
#include <Vborder_stats.h>

#include <array>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kBorders = 5;

struct World {
  World() : top(bench.top()) {
    bench.on_sample([this] {
      for (unsigned i = 0; i < kBorders; ++i) {
        const bool valid = top.valid_i >> i & 1, ready = top.ready_i >> i & 1;
        busy[i] += valid && ready;
        stalled[i] += valid && !ready;
      }
    });
    bench.on_drive([this] {
      if (!moving) return;
      top.valid_i = static_cast<uint8_t>(random.bits(kBorders));
      top.ready_i = static_cast<uint8_t>(random.bits(kBorders));
    });
    bench.reset();
  }
  uint32_t read(unsigned addr) {
    top.win_req_i = 1;
    top.win_addr_i = static_cast<uint16_t>(addr);
    bench.wait(
        "window", [this] { return top.win_ack_o != 0; }, 5);
    top.win_req_i = 0;
    const uint32_t got = top.win_rdata_o;
    bench.tick();
    return got;
  }
  void stop() {
    moving = false;
    top.valid_i = 0;
    bench.tick(2);
  }
  Bench<Vborder_stats> bench;
  Vborder_stats& top;
  Rng random = rng("traffic");
  bool moving = true;
  std::array<uint64_t, kBorders> busy{}, stalled{};
};

}  // namespace

TEST_CASE("each border counts its busy and its stalled cycles, the rest is starved") {
  World w;
  w.bench.tick(3000);
  w.stop();
  for (unsigned i = 0; i < kBorders; ++i) {
    INFO("border " << i);
    CHECK(w.read(16 * i) == w.busy[i]);
    CHECK(w.read(16 * i + 4) == 0);
    CHECK(w.read(16 * i + 8) == w.stalled[i]);
    CHECK(w.read(16 * i + 12) == 0);
    CHECK(w.busy[i] + w.stalled[i] < 3100);
  }
  CHECK(w.read(16 * kBorders) == 0xFFFFFFFF);
  CHECK(w.read(16 * 127 + 12) == 0xFFFFFFFF);
}

TEST_CASE("reading while they count gives values of the moment; reset starts anew") {
  World w;
  w.bench.tick(100);
  const uint64_t low = w.busy[2];
  const uint32_t got = w.read(32);
  CHECK(got >= low);
  CHECK(got <= w.busy[2]);
  w.stop();
  w.bench.reset();
  for (unsigned i = 0; i < kBorders; ++i) {
    CHECK(w.read(16 * i) == 0);
    CHECK(w.read(16 * i + 8) == 0);
  }
}

TEST_CASE("an access is acknowledged in the next cycle, and nothing without one") {
  World w;
  w.stop();
  unsigned acks = 0;
  w.bench.on_sample([&] { acks += w.top.win_ack_o; });
  w.bench.tick(20);
  CHECK(acks == 0);
  w.top.win_req_i = 1;
  w.top.win_addr_i = 16;
  w.bench.tick(2);
  CHECK(acks == 1);
  w.top.win_req_i = 0;
  w.bench.tick(20);
  CHECK(acks == 1);
}
