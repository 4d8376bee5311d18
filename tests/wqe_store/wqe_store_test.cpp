// SPDX-License-Identifier: Apache-2.0
#include <Vwqe_store.h>

#include <deque>
#include <map>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

// sq_scheduler, wqe_fetch_engine and sq_engine as one model: it never has more than 32 entries in
// the store, walks the list of one QP at a time and pops what it has taken.
class World {
 public:
  explicit World(Stall stall = {})
      : top(bench.top()),
        fetched(bench, "wqe", top.wqe_valid, top.wqe_ready, top.wqe, stall),
        flushes(bench, "flush", top.flush_valid, top.flush_ready, top.flush_qpn),
        take_stall_(stall) {
    take_stall_.seed(rng("take"));
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    bench.reset();
    bench.wait("clearing", [this] { return top.init_done_o != 0; });
  }
  Bits entry(uint64_t qpn) {
    Bits bits = kEntry.pack({{"qpn", qpn}, {"index", ++serial_ & 0xFFFF}, {"blocks", 1}});
    kEntry.set_bits(bits, "wqe", Bits::random(random_, 1024));
    return bits;
  }
  void fetch(uint64_t qpn) {
    ++promised;
    fetched.push(entry(qpn));
  }
  void push(uint64_t qpn) {
    ++promised;
    bf_.push_back(entry(qpn));
  }
  void walk(uint64_t qpn, size_t most, size_t pops) {
    want_walk_ = true;
    walk_qpn_ = qpn;
    most_ = most;
    pops_ = pops;
  }
  bool walking() const { return want_walk_ || walking_ || due_pops_ > 0; }

  Bench<Vwqe_store> bench;
  Vwqe_store& top;
  StreamSource<Bits> fetched;
  StreamSource<uint64_t> flushes;
  std::map<uint64_t, std::deque<Bits>> lists;
  size_t promised = 0, walked = 0, empties = 0;
  std::vector<uint64_t> beat_cycles, lk_cycles;
  double bf_rate = 0.5;

 private:
  void sample() {
    if (bench.in_reset()) return;
    if (top.wqe_valid && top.wqe_ready)
      lists[top_qpn()].push_back(read_pin(top.wqe).slice(0, kEntry.width()));
    if (top.bfw_valid) {
      const Bits e = read_pin(top.bfw).slice(0, kEntry.width());
      lists[kEntry.get(e, "qpn")].push_back(e);
    }
    if (top.flush_valid && top.flush_ready) {
      auto& list = lists[top.flush_qpn];
      promised -= list.size();
      list.clear();
    }
    if (top.hd_lk_valid && top.hd_lk_ready) {
      lk_cycles.push_back(bench.cycle());
      walking_ = true;
      want_walk_ = false;
      taken_ = 0;
      snapshot_ = lists[walk_qpn_].size();
      // What was pushed in this very cycle need not be seen.
      pushed_now_ = (top.wqe_valid && top.wqe_ready && top_qpn() == walk_qpn_) ||
                    (top.bfw_valid && kEntry.get(read_pin(top.bfw), "qpn") == walk_qpn_);
    }
    stop_ = false;
    if (top.hd_valid && top.hd_ready) {
      REQUIRE(walking_);
      beat_cycles.push_back(bench.cycle());
      auto& list = lists[walk_qpn_];
      if (top.hd_empty) {
        REQUIRE(taken_ == 0);
        CHECK(snapshot_ - pushed_now_ == 0);
        CHECK(top.hd_last);
        ++empties;
        walking_ = false;
      } else {
        REQUIRE(taken_ < list.size());
        REQUIRE(read_pin(top.hd).slice(0, kEntry.width()) == list[taken_]);
        ++taken_;
        ++walked;
        const bool last = top.hd_last;
        const size_t seen = snapshot_ - pushed_now_;
        CHECK((last == (taken_ == snapshot_) || (pushed_now_ && last == (taken_ == seen))));
        if (last)
          walking_ = false;
        else if (taken_ == most_)
          stop_ = true;
        if (!walking_ || stop_) due_pops_ = std::min(pops_, taken_);
      }
    }
  }
  uint64_t top_qpn() { return kEntry.get(read_pin(top.wqe), "qpn"); }
  void drive() {
    top.hd_stop_i = stop_;
    if (stop_) walking_ = false;
    top.hd_ready = walking_ && !take_stall_();
    top.hd_lk_valid = want_walk_ && !walking_ && due_pops_ == 0;
    top.hd_lk_qpn = static_cast<uint32_t>(walk_qpn_);
    top.pop_valid = due_pops_ > 0;
    if (due_pops_ > 0) {
      --due_pops_;
      top.pop_qpn = static_cast<uint32_t>(walk_qpn_);
      lists[walk_qpn_].pop_front();
      --promised;
    }
    top.bfw_valid =
        !bf_.empty() && random_.chance(bf_rate) && !top.bfw_valid && lists_total() + 4 < 32;
    if (top.bfw_valid) {
      write_pin(top.bfw, bf_.front());
      bf_.pop_front();
    }
  }
  size_t lists_total() const {
    size_t sum = 0;
    for (const auto& [q, list] : lists) sum += list.size();
    return sum;
  }

  Stall take_stall_;
  Rng random_ = rng("store");
  uint64_t serial_ = 0;
  std::deque<Bits> bf_;
  bool want_walk_ = false, walking_ = false, stop_ = false;
  uint64_t walk_qpn_ = 0;
  size_t most_ = 0, pops_ = 0, taken_ = 0, snapshot_ = 0, due_pops_ = 0;
  size_t pushed_now_ = 0;
};

void random_run(Stall stall, int rounds) {
  World w(stall);
  auto r = rng("rounds");
  for (int i = 0; i < rounds; ++i) {
    const size_t room = 32 - w.promised;
    for (size_t n = r.below(std::min<size_t>(room, 6) + 1); n > 0; --n) {
      if (r.chance(0.5))
        w.fetch(r.below(5));
      else
        w.push(r.below(5));
    }
    w.walk(r.below(5), r.between(1, 8), r.below(9));
    w.bench.wait(
        "the walk", [&] { return !w.walking(); }, 500);
    if (r.chance(0.3)) w.bench.tick(r.below(10));
  }
  for (uint64_t i = 0; i < 15; ++i) {
    w.bench.tick(40);
    w.walk(i % 5, 100, 100);
    w.bench.wait(
        "the walk", [&] { return !w.walking(); }, 500);
  }
  w.bench.tick(40);
  CHECK(w.promised == 0);
  CHECK(w.walked > 500);
  CHECK(w.empties > 10);
}

}  // namespace

TEST_CASE(
    "wqe_store keeps a list per QP in order, under pushes from both sides, walks, stops and pops") {
  SECTION("no stalls") { random_run(Stall::none(), 1200); }
  SECTION("random stalls") { random_run(Stall::random(0.4), 800); }
}

TEST_CASE("wqe_store empties the list of one QP and keeps the others") {
  World w;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 30; ++i) w.fetch(static_cast<uint64_t>(i % 5));
    w.fetched.wait_idle();
    w.flushes.push(static_cast<uint64_t>(round % 5));
    w.flushes.wait_idle(200);
    CHECK(w.promised == 24);
    for (uint64_t q = 0; q < 5; ++q) {
      w.walk(q, 100, 100);
      w.bench.wait(
          "the walk", [&] { return !w.walking(); }, 500);
      w.bench.tick(12);
    }
    CHECK(w.promised == 0);
  }
}

TEST_CASE("wqe_store gives the first entry two cycles after the lookup, then one per cycle") {
  World w;
  for (int i = 0; i < 20; ++i) w.fetch(3);
  w.fetched.wait_idle();
  w.bench.tick(3);
  CHECK(w.fetched.cycles()[19] - w.fetched.cycles()[0] == 19);
  w.walk(3, 100, 0);
  w.bench.wait(
      "the walk", [&] { return !w.walking(); }, 100);
  CHECK(w.beat_cycles[0] - w.lk_cycles[0] == 2);
  CHECK(w.beat_cycles[19] - w.beat_cycles[0] == 19);
}
