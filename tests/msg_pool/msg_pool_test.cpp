// SPDX-License-Identifier: Apache-2.0
#include <Vmsg_pool.h>
#include <Vmsg_pool_one.h>

#include <deque>
#include <map>
#include <optional>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

struct Push {
  uint64_t qpn = 0;
  Bits msg;
  bool operator==(const Push&) const = default;
};

// Lists of messages per QP, changed at the cycle in which the pool takes the change.
template <class Model>
class World {
 public:
  World(unsigned qps, Stall nudge_stall = {})
      : top(bench.top()),
        pushes(bench, "msg_push", top.msg_push_valid, top.msg_push_ready,
               [this](const Push& p) {
                 top.msg_push_qpn = static_cast<uint32_t>(p.qpn);
                 write_pin(top.msg_push, p.msg);
                 write_pin(top.msg_push_list, list_of(p.msg));
               }),
        passes(bench, "passed", top.passed_valid, top.passed_ready, top.passed_qpn),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        nudges(
            bench, "nudge", top.nudge_valid, top.nudge_ready,
            [this] { return uint64_t{top.nudge_qpn}; }, nudge_stall),
        qps_(qps) {
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
    bench.wait("clearing", [this] { return top.init_done_o != 0; });
  }
  Bits message(uint64_t kind = kMsgWrite) {
    const uint64_t n = ++serial_;
    return kMsg.pack({{"kind", kind},
                      {"signaled", n & 1},
                      {"wqe_index", n & 0xFFFF},
                      {"first_psn", n * 7 & 0xFFFFFF},
                      {"last_psn", n * 11 & 0xFFFFFF},
                      {"bytes", n},
                      {"status", n & 0xFF}});
  }

  // Data segments that nobody else has.
  static Bits list_of(const Bits& msg) {
    Bits list(768);
    for (size_t at = 0; at < 768; at += 32) {
      list.set(at, 32, kMsg.get(msg, "bytes") * 0x10001 + at * kMsg.get(msg, "kind"));
    }
    return list;
  }

  Bench<Model> bench;
  Model& top;
  StreamSource<Push> pushes;
  StreamSource<uint64_t> passes;
  StreamSource<Bits> orders;
  StreamSink<uint64_t> nudges;
  std::map<uint64_t, std::deque<Bits>> lists;  // as accepted by the pool's port
  double look = 0.7, pop = 0.6;                // how busy the completer is
  uint64_t popped = 0, looked = 0, empties = 0, lists_seen = 0;
  std::optional<uint64_t> only;  // look at this QP only
  std::vector<uint64_t> pop_cycles;

 private:
  void sample() {
    if (bench.in_reset()) return;
    if (top.msg_push_valid && top.msg_push_ready) {
      lists[top.msg_push_qpn].push_back(read_pin(top.msg_push).slice(0, kMsg.width()));
      last_push_ = bench.cycle();
    }
    CHECK(top.msg_room_o == top.msg_push_ready);
    if (top.hd_lk_valid) {
      REQUIRE(top.hd_lk_ready);
      asked_.push_back(top.hd_lk_qpn);
      CHECK(asked_.size() <= 3);
    }
    may_pop_ = false;
    if (top.hd_valid) {
      REQUIRE(!asked_.empty());
      at_ = asked_.front();
      asked_.pop_front();
      ++looked;
      auto& list = lists[at_];
      if (top.hd_empty) {
        ++empties;
        // What was accepted is readable a few cycles later.
        const bool fresh = bench.cycle() - last_push_ < 12;
        CHECK((list.empty() || fresh || clearing_));
      } else if (!clearing_) {
        REQUIRE(!list.empty());
        REQUIRE(read_pin(top.hd).slice(0, kMsg.width()) == list.front());
        const uint64_t kind = kMsg.get(list.front(), "kind");
        if (kind == kMsgRead || kind == kMsgAtomic) {
          REQUIRE(read_pin(top.hd_list) == list_of(list.front()));
          ++lists_seen;
        }
        may_pop_ = true;
      }
    }
    if (top.qpi_valid && top.qpi_ready) {
      const Bits order = read_pin(top.qpi);
      if (kOrder.get(order, "op") == kClear) lists[kOrder.get(order, "qpn")].clear();
    }
  }
  void drive() {
    clearing_ = top.qpi_valid && top.qpi_ready == 0;
    top.pop_valid = may_pop_ && random_.chance(pop);
    top.pop_qpn = static_cast<uint32_t>(at_);
    if (top.pop_valid) {
      lists[at_].pop_front();
      ++popped;
      pop_cycles.push_back(bench.cycle());
    }
    // The next lookup waits for the answer of the one before it, and for the pop it may lead to.
    top.hd_lk_valid =
        top.init_done_o && asked_.empty() && !top.pop_valid && !clearing_ && random_.chance(look);
    if (top.hd_lk_valid) top.hd_lk_qpn = static_cast<uint32_t>(only ? *only : random_.below(qps_));
  }
  unsigned qps_;
  Rng random_ = rng("world");
  uint64_t serial_ = 0, last_push_ = 0, at_ = 0;
  std::deque<uint64_t> asked_;
  bool may_pop_ = false, clearing_ = false;
};

}  // namespace

TEST_CASE("msg_pool keeps a list per QP in order while it is filled and emptied") {
  World<Vmsg_pool> w(5, Stall::random(0.3));
  auto r = rng("pushes");
  size_t nudges = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool local = r.chance(0.1);
    nudges += local;
    w.pushes.push({r.below(5), w.message(local ? kMsgFailed - r.below(2) : r.below(4))});
  }
  w.look = 0.9;
  w.pop = 0.9;
  w.bench.wait(
      "all to be popped", [&] { return w.popped == 3000; }, 60000);
  w.bench.tick(50);
  CHECK(w.nudges.size() == nudges);
  CHECK(w.empties > 0);
  CHECK(w.lists_seen > 500);
}

TEST_CASE("msg_pool nudges for what a replay has passed, also when it is full") {
  World<Vmsg_pool> w(5, Stall::random(0.5));
  w.pop = 0;
  for (int i = 0; i < 24; ++i) w.pushes.push({static_cast<uint64_t>(i % 5), w.message(kMsgRead)});
  w.pushes.wait_idle();
  w.bench.tick(5);
  CHECK(w.top.msg_room_o == 0);
  std::vector<uint64_t> want;
  for (uint64_t i = 0; i < 40; ++i) {
    want.push_back(i * 3 % 5);
    w.passes.push(want.back());
  }
  w.passes.wait_idle();
  w.bench.tick(50);
  CHECK(w.nudges.items() == want);
  w.pop = 1;
  w.bench.wait(
      "all to be popped", [&] { return w.popped == 24; }, 5000);
}

TEST_CASE("msg_pool says when it is full and takes again when there is room") {
  World<Vmsg_pool> w(5);
  w.pop = 0;
  for (int i = 0; i < 60; ++i) w.pushes.push({static_cast<uint64_t>(i % 5), w.message()});
  w.bench.tick(300);
  CHECK(w.pushes.taken() == 24);
  CHECK(w.top.msg_room_o == 0);
  w.pop = 1;
  w.bench.wait(
      "all to be popped", [&] { return w.popped == 60; }, 5000);
  CHECK(w.top.msg_room_o == 1);
}

TEST_CASE("msg_pool with one QP and few records") {
  World<Vmsg_pool_one> w(1);
  for (int i = 0; i < 200; ++i) w.pushes.push({0, w.message()});
  w.bench.wait(
      "all to be popped", [&] { return w.popped == 200; }, 5000);
}

TEST_CASE(
    "msg_pool stops taking messages that nudge while nobody takes the nudges, and loses none") {
  World<Vmsg_pool> w(5, Stall::always());
  for (int i = 0; i < 16; ++i) w.pushes.push({static_cast<uint64_t>(i % 5), w.message(kMsgFailed)});
  w.bench.tick(200);
  CHECK(w.pushes.taken() == 8);
  w.nudges.set_stall(Stall::none());
  w.bench.wait(
      "all to be popped", [&] { return w.popped == 16; }, 5000);
  w.bench.tick(20);
  CHECK(w.nudges.size() == 16);
}

TEST_CASE("msg_pool forgets the messages of a QP on CLEAR only, and gets its records back") {
  World<Vmsg_pool> w(5);
  auto r = rng("clear");
  auto push_others = [&](uint64_t q, uint64_t n) {
    for (; n > 0; --n) w.pushes.push({(q + r.between(1, 4)) % 5, w.message()});
  };
  for (int round = 0; round < 100; ++round) {
    const uint64_t q = r.below(5);
    w.pop = 0.2;
    w.pushes.push({q, w.message()});
    push_others(q, r.below(8));
    w.bench.tick(r.below(30));
    w.orders.push(order(1 + r.below(4), q));  // changes nothing
    w.orders.wait_idle();
    w.bench.wait(
        "the pushes of the QP", [&] { return w.pushes.pending() == 0; }, 2000);
    w.bench.tick(8);
    w.orders.push(order(kClear, q));
    push_others(q, r.below(4));  // sq_engine sends nothing for a QP that is cleared
    w.orders.wait_idle(500);
    CHECK(w.lists[q].empty());
    w.pop = 0.9;
    w.bench.tick(60);
  }
  w.pop = 1;
  w.look = 1;
  w.bench.wait(
      "the rest to be popped",
      [&] {
        for (auto& [q, list] : w.lists) {
          if (!list.empty()) return false;
        }
        return w.pushes.pending() == 0;
      },
      5000);
  w.pop = 0;
  for (int i = 0; i < 24; ++i) w.pushes.push({2, w.message()});
  w.pushes.wait_idle(500);
  w.bench.tick(5);
  CHECK(w.top.msg_room_o == 0);
}

TEST_CASE("msg_pool pops a message every third cycle when the completer does nothing but walk") {
  World<Vmsg_pool> w(5);
  w.pop = 0;
  for (int i = 0; i < 24; ++i) w.pushes.push({3, w.message()});
  w.pushes.wait_idle();
  w.bench.tick(5);
  w.only = 3;
  w.look = 1;
  w.pop = 1;
  w.bench.wait(
      "all to be popped", [&] { return w.popped == 24; }, 500);
  const double per = static_cast<double>(w.pop_cycles[23] - w.pop_cycles[3]) / 20;
  WARN("lookup, answer, pop: "
       << per << " cycles a message (this model of the completer needs one more than the RTL)");
  CHECK(per <= 4.0);
}
