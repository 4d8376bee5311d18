// SPDX-License-Identifier: Apache-2.0
//
// settle over a made-up receive path: FIFO, stage, FIFO, stage, stage, with items that carry the
// cycle in which they entered. When it says done, no item of before the question is inside.
#include <Vsettle.h>

#include <array>
#include <deque>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kStages = 3, kFifos = 2, kFifoDepth = 4;  // as in CMakeLists.txt
constexpr unsigned kStageDepth = 300;
constexpr uint64_t kMinCycles = 4 * 6;  // ROUNDS * MIN_CYCLES

class World {
 public:
  explicit World(const std::string& name) : random_(rng(name)) {
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
  }

  // Asks, waits for the answer, and says whether an item of before was left.
  bool ask(uint64_t limit = 100'000) {
    top.ask_i = 1;
    asked_ = bench.cycle();
    answered_ = false;
    bench.wait(
        "settled", [this] { return answered_; }, limit);
    return clean_;
  }

  Bench<Vsettle> bench;
  Vsettle& top = *bench.operator->();
  double feed = 0.5;                            // chance of a new item in a cycle
  std::array<double, kStages + kFifos> flow{};  // chance that the head of a queue moves on
  uint64_t cycles = 0;                          // the last question took
  uint64_t items = 0;

 private:
  using Queue = std::deque<uint64_t>;  // cycle of entry into the path
  // The path: queue 0 and 2 are FIFOs, 1, 3 and 4 counted stages.
  static constexpr std::array<int, 5> kFifoOf{0, -1, 1, -1, -1}, kStageOf{-1, 0, -1, 1, 2};

  void sample() {
    if (top.done_o) {
      answered_ = true;
      cycles = bench.cycle() - asked_;
      clean_ = true;
      for (const Queue& q : queues_)
        for (uint64_t entry : q) clean_ &= entry >= asked_;
      top.ask_i = 0;
    }
  }

  void drive() {
    if (bench.in_reset()) return;
    unsigned enters = 0, leaves = 0, valid = 0, ready = 0;
    std::array<bool, 5> moves{};
    for (size_t i = 0; i < queues_.size(); ++i) {
      const bool room = i + 1 == queues_.size() ||
                        queues_[i + 1].size() < (kFifoOf[i + 1] < 0 ? kStageDepth : kFifoDepth);
      moves[i] = !queues_[i].empty() && room && random_.chance(flow[i]);
      if (kFifoOf[i] >= 0) {
        valid |= unsigned{!queues_[i].empty()} << kFifoOf[i];
        ready |= unsigned{moves[i]} << kFifoOf[i];
      } else {
        leaves |= unsigned{moves[i]} << kStageOf[i];
      }
    }
    for (size_t i = queues_.size(); i-- > 0;) {
      if (!moves[i]) continue;
      if (i + 1 < queues_.size()) {
        queues_[i + 1].push_back(queues_[i].front());
        if (kStageOf[i + 1] >= 0) enters |= 1u << kStageOf[i + 1];
      }
      queues_[i].pop_front();
    }
    if (queues_[0].size() < kFifoDepth && random_.chance(feed)) {
      queues_[0].push_back(bench.cycle());
      ++items;
    }
    top.enters_i = static_cast<uint8_t>(enters);
    top.leaves_i = static_cast<uint8_t>(leaves);
    top.fifo_valid_i = static_cast<uint8_t>(valid);
    top.fifo_ready_i = static_cast<uint8_t>(ready);
  }

  Rng random_;
  std::array<Queue, 5> queues_;
  uint64_t asked_ = 0;
  bool answered_ = false, clean_ = false;
};

}  // namespace

TEST_CASE("nothing of before the question is left when settle answers, under any load") {
  World w("load");
  auto random = rng("settings");
  for (int n = 0; n < 400; ++n) {
    w.feed = random.chance(0.3) ? 1.0 : random.below(100) / 100.0;
    for (double& f : w.flow) f = random.chance(0.3) ? 1.0 : (5.0 + random.below(60)) / 100.0;
    w.bench.tick(random.below(200));
    INFO("question " << n);
    REQUIRE(w.ask());
  }
  CHECK(w.items > 1000);
}

TEST_CASE("new work does not hold the answer up") {
  World w("flood");
  w.feed = 0.7;
  w.flow.fill(0.9);
  w.bench.tick(2000);
  for (int n = 0; n < 20; ++n) {
    REQUIRE(w.ask());
    CHECK(w.cycles < 4 * 200);
  }
}

TEST_CASE("an idle path settles in ROUNDS * MIN_CYCLES cycles") {
  World w("idle");
  w.feed = 0;
  for (int n = 0; n < 3; ++n) {
    REQUIRE(w.ask());
    CHECK(w.cycles >= kMinCycles);
    CHECK(w.cycles <= kMinCycles + 6);
    w.bench.tick(5);
  }
}

TEST_CASE("what stands still is waited for") {
  World w("stuck");
  w.feed = 1.0;
  w.flow.fill(1.0);
  w.flow[3] = 0;  // the second stage lets nothing out
  w.bench.tick(20);
  CHECK_THROWS_AS(w.ask(5000), Timeout);
  w.flow[3] = 1.0;
  w.bench.wait(
      "settled", [&] { return w.top.ask_i == 0; }, 5000);
}

TEST_CASE("reset in the middle of a question leaves an idle unit") {
  World w("reset");
  w.feed = 0;
  w.top.ask_i = 1;
  w.bench.tick(7);
  w.top.ask_i = 0;
  w.bench.reset();
  w.bench.tick(200);
  CHECK(w.top.ask_i == 0);
  REQUIRE(w.ask());
  CHECK(w.cycles >= kMinCycles);
}
