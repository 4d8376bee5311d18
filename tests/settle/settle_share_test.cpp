// SPDX-License-Identifier: Apache-2.0
//
// settle_share: whoever asked is answered by a run that began after the question, in order, and
// nobody is left without an answer.
#include <Vsettle_share.h>

#include <deque>
#include <optional>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

class World {
 public:
  explicit World(const std::string& name) : random_(rng(name)) {
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
  }
  void reset() {
    top.inv_valid = top.cmd_ask_i = top.done_i = 0;
    bench.reset();
    waiting_.clear();
    asked_.reset();
    run_.reset();
  }
  bool idle() const { return waiting_.empty() && !asked_ && !run_; }

  Bench<Vsettle_share> bench;
  Vsettle_share& top = *bench.operator->();
  double inv = 0, cmd = 0, take = 0.5;  // chances in a cycle
  unsigned low = 5, high = 40;          // length of a run
  unsigned runs = 0, answers = 0, released = 0;

 private:
  struct Inv {
    uint32_t qpn;
    uint64_t since;
  };

  void sample() {
    const uint64_t now = bench.cycle();
    if (bench.in_reset()) return;
    if (top.done_i) REQUIRE(run_);
    if (top.cmd_done_o) {
      REQUIRE(top.done_i);
      REQUIRE(asked_);
      CHECK(*asked_ <= *run_);
      asked_.reset();
      ++answers;
    } else if (top.done_i && asked_) {
      CHECK(*asked_ > *run_);
    }
    if (top.settled_valid && top.settled_ready) {
      REQUIRE(!waiting_.empty());
      CHECK(top.settled_qpn == waiting_.front().qpn);
      CHECK(waiting_.front().since < ended_);  // by a run that has ended
      CHECK(waiting_.front().since < last_begin_);
      waiting_.pop_front();
      ++released;
    }
    if (top.done_i) {
      last_begin_ = *run_;
      ended_ = now;
      run_.reset();
    } else if (top.ask_o && !run_) {
      run_ = now;
      due_ = now + random_.between(low, high);
      ++runs;
    }
    if (top.inv_valid && top.inv_ready) waiting_.push_back({top.inv_qpn, now});
  }

  void drive() {
    const uint64_t now = bench.cycle();
    top.inv_valid = top.cmd_ask_i = top.done_i = 0;
    if (bench.in_reset()) return;
    // As sq_engine: offered only when it can be taken.
    top.inv_valid = top.inv_ready && random_.chance(inv);
    top.inv_qpn = static_cast<uint32_t>(random_.bits(24));
    if (!asked_ && random_.chance(cmd)) asked_ = now;
    top.cmd_ask_i = asked_.has_value();
    top.settled_ready = random_.chance(take);
    top.done_i = run_ && now >= due_;
  }

  Rng random_;
  std::deque<Inv> waiting_;
  std::optional<uint64_t> asked_, run_;  // cycle in which it began
  uint64_t due_ = 0, ended_ = 0, last_begin_ = 0;
};

}  // namespace

TEST_CASE("LOCAL_INVs and commands are answered by a run that began after they asked") {
  World w("share");
  for (const double take : {1.0, 0.5, 0.05}) {
    w.take = take;
    w.inv = 0.05;
    w.cmd = 0.02;
    w.bench.tick(20000);
  }
  w.inv = w.cmd = 0;
  w.take = 1;
  w.bench.wait(
      "an idle block", [&] { return w.idle(); }, 1000);
  w.bench.tick(100);
  CHECK(w.idle());
  CHECK(w.answers > 200);
  CHECK(w.released > 500);
  CHECK(w.runs > 500);
}

TEST_CASE("one LOCAL_INV alone asks at once, and a command alone as without it") {
  World w("alone");
  w.low = w.high = 10;
  w.take = 1;
  w.inv = 1;
  w.bench.tick(1);
  w.inv = 0;
  w.bench.wait(
      "the notice", [&] { return w.released == 1; }, 20);
  w.bench.wait(
      "an idle block", [&] { return w.idle(); }, 20);
  w.cmd = 1;
  w.bench.tick(1);
  w.cmd = 0;
  w.bench.wait(
      "the answer", [&] { return w.answers == 1; }, 12);
}

TEST_CASE("no room: what cannot be told waits outside, nothing is lost") {
  World w("room");
  w.take = 0;
  w.inv = 1;
  w.bench.tick(100);
  CHECK(w.top.inv_ready == 0);
  w.inv = 0;
  w.take = 1;
  w.bench.wait(
      "all of them", [&] { return w.idle(); }, 300);
  CHECK(w.released == 8);
}

TEST_CASE("a reset forgets who asked") {
  World w("reset");
  w.inv = 1;
  w.take = 0;
  w.bench.tick(7);
  CHECK(w.top.ask_o == 1);
  w.inv = 0;
  w.reset();
  w.bench.tick(1);
  CHECK(w.top.ask_o == 0);
  CHECK(w.top.settled_valid == 0);
}
