// SPDX-License-Identifier: Apache-2.0
#include <Vcq_window.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

using Index = std::array<uint64_t, 4>;  // cqn, index, arm, arm_sol

struct World {
  explicit World(Stall stall = {})
      : top(bench.top()),
        in(
            bench, "in", top.in_valid, top.in_ready,
            [this](const Index& d) {
              top.in_cqn = static_cast<uint16_t>(d[0]);
              top.in_index = static_cast<uint16_t>(d[1]);
              top.in_arm = d[2] != 0;
              top.in_arm_sol = d[3] != 0;
            },
            stall),
        out(
            bench, "cqdb", top.cqdb_valid, top.cqdb_ready,
            [this] {
              return Index{top.cqdb_cqn, top.cqdb_index, top.cqdb_arm, top.cqdb_arm_sol};
            },
            stall) {
    bench.reset();
  }
  uint32_t access(bool write, uint32_t addr, uint32_t value = 0, unsigned strobe = 15) {
    top.win_req_i = 1;
    top.win_we_i = write;
    top.win_addr_i = static_cast<uint16_t>(addr);
    top.win_wdata_i = value;
    top.win_wstrb_i = static_cast<uint8_t>(strobe);
    bench.tick();
    bench.wait(
        "window", [this] { return top.win_ack_o != 0; }, 1000);
    top.win_req_i = 0;
    const uint32_t got = top.win_rdata_o;
    bench.tick();
    return got;
  }
  Bench<Vcq_window> bench;
  Vcq_window& top;
  StreamSource<Index> in;
  StreamSink<Index> out;
};

}  // namespace

TEST_CASE("cq_window passes page doorbells and window writes, each once, under stalls") {
  for (double p : {0.0, 0.5}) {
    World w(Stall::random(p));
    auto random = rng("writes");
    std::vector<Index> pages, windows;
    for (int i = 0; i < 300; ++i) {
      const Index d{random.below(6), random.bits(16), random.bits(1), random.bits(1)};
      if (random.chance(0.5)) {
        pages.push_back(d);
        w.in.push(d);
      } else {
        windows.push_back(d);
        w.access(true, static_cast<uint32_t>(8 * d[0]),
                 static_cast<uint32_t>(d[1] | d[2] << 31 | d[3] << 30));
        CHECK(w.access(false, static_cast<uint32_t>(8 * d[0])) == d[1]);
      }
    }
    w.bench.wait("pages", [&] { return w.in.pending() == 0; });
    w.bench.tick(20);
    // Both in order, merged in any way.
    size_t page = 0, window = 0;
    for (const Index& d : w.out.items()) {
      if (page < pages.size() && d == pages[page])
        ++page;
      else if (window < windows.size() && d == windows[window])
        ++window;
      else
        FAIL("an index that nobody wrote");
    }
    CHECK(page == pages.size());
    CHECK(window == windows.size());
  }
}

TEST_CASE("cq_window answers holes with ones, ignores writes to them and half indices") {
  World w;
  CHECK(w.access(false, 0) == 0);
  CHECK(w.access(false, 8 * 6) == 0xFFFFFFFF);
  CHECK(w.access(false, 4) == 0xFFFFFFFF);
  w.access(true, 8 * 6, 7);
  w.access(true, 4, 7);
  w.access(true, 0, 7, 1);
  w.bench.tick(5);
  CHECK(w.out.size() == 0);
  w.access(true, 0, 0xC0000007, 3);  // without the upper bytes it does not arm
  CHECK(w.out.items() == std::vector<Index>{{0, 7, 0, 0}});
}
