// SPDX-License-Identifier: Apache-2.0
#include <Vreset_unit.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

struct World {
  World() : top(bench.top()) {
    top.dma_idle_i = 1;
    top.tx_quiet_i = 1;
    bench.reset();
    bench.wait(
        "running", [this] { return top.running_o != 0; }, 50);
  }
  void request() {
    top.request_i = 1;
    bench.tick();
    top.request_i = 0;
  }
  Bench<Vreset_unit> bench;
  Vreset_unit& top;
};

}  // namespace

TEST_CASE("after power-on both domains are held in reset for HOLD cycles") {
  Bench<Vreset_unit> bench;
  Vreset_unit& top = bench.top();
  bench.reset();
  unsigned held = 0;
  while (top.core_rst_o != 0 && held < 100) {
    CHECK(top.mac_rst_o == 1);
    CHECK(top.running_o == 0);
    ++held;
    bench.tick();
  }
  CHECK(held >= 8);
  CHECK(held <= 10);
  bench.tick(2);
  CHECK(top.running_o == 1);
  CHECK(top.drain_o == 0);
}

TEST_CASE("a request drains the bus, waits for a pause of the transmitter, and only then resets") {
  World w;
  auto random = rng("when");
  for (int i = 0; i < 20; ++i) {
    w.top.dma_idle_i = 0;
    w.top.tx_quiet_i = 0;
    w.request();
    const uint64_t busy = random.between(1, 80);
    for (uint64_t c = 0; c < busy; ++c) {
      w.bench.tick();
      CHECK(w.top.core_rst_o == 0);
      CHECK(w.top.drain_o == 1);
    }
    w.top.dma_idle_i = 1;
    w.bench.tick(8);
    CHECK(w.top.core_rst_o == 0);
    // A frame still passes: short pauses do not count.
    for (int k = 0; k < 5; ++k) {
      w.top.tx_quiet_i = 1;
      w.bench.tick(4);
      CHECK(w.top.core_rst_o == 0);
      w.top.tx_quiet_i = 0;
      w.bench.tick(2);
    }
    w.top.tx_quiet_i = 1;
    w.bench.wait(
        "reset", [&] { return w.top.core_rst_o != 0; }, 10);
    unsigned held = 0;
    while (w.top.core_rst_o != 0 && held < 50) {
      CHECK(w.top.mac_rst_o == 1);
      ++held;
      w.bench.tick();
    }
    CHECK(held >= 8);
    w.bench.tick(2);
    CHECK(w.top.running_o == 1);
    CHECK(w.top.drain_o == 0);
  }
}

TEST_CASE("a bus that never becomes idle and a transmitter that never pauses are given up") {
  World w;
  w.top.dma_idle_i = 0;
  w.top.tx_quiet_i = 0;
  w.request();
  w.bench.tick(290);
  CHECK(w.top.core_rst_o == 0);
  w.bench.wait(
      "reset", [&] { return w.top.core_rst_o != 0; }, 300 - 290 + 100 + 10);
  w.top.dma_idle_i = 1;
  w.bench.wait(
      "running", [&] { return w.top.running_o != 0; }, 20);
}

TEST_CASE("every later request gets its full reset, requests while one runs are merged into it") {
  World w;
  for (int i = 0; i < 5; ++i) {
    w.request();
    w.bench.tick(3);
    w.request();
    unsigned held = 0;
    for (int c = 0; c < 100; ++c) {
      held += w.top.core_rst_o;
      w.bench.tick();
    }
    CHECK(held >= 8);
    CHECK(held <= 10);
    CHECK(w.top.running_o == 1);
  }
}
