// SPDX-License-Identifier: Apache-2.0
#include <Vsq_scheduler.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kQps = 6, kPool = 40, kCap = 16;

struct Doorbell {
  uint64_t qpn = 0, index = 0;
  bool operator==(const Doorbell&) const = default;
};
struct Fetch {
  uint64_t qpn = 0;
  uint16_t index = 0;
  unsigned blocks = 0;
  uint16_t avail = 0;
  bool operator==(const Fetch&) const = default;
};
struct Fetched {
  uint64_t qpn = 0;
  bool last = false;
  uint16_t next = 0;
  unsigned pushed = 0;
  bool operator==(const Fetched&) const = default;
};
struct Turned {
  uint64_t qpn = 0;
  bool more = false;
  unsigned blocked = 0, popped = 0;
  bool operator==(const Turned&) const = default;
};

// A QP as the model knows it.
struct Model {
  uint16_t prod = 0, fetch = 0;
  unsigned stored = 0;  // entries in wqe_store
  unsigned job = 0;     // blocks of the fetch in flight
  bool in_turn = false;
  uint64_t popped = 0;
};

class World {
 public:
  explicit World(Stall stall = {})
      : top(bench.top()),
        doorbells(bench, "db", top.db_valid, top.db_ready,
                  [this](const Doorbell& d) {
                    top.db_qpn = static_cast<uint32_t>(d.qpn);
                    top.db_index = static_cast<uint16_t>(d.index);
                  }),
        pushes(bench, "bf", top.bf_valid, top.bf_ready, top.bf),
        orders(bench, "qpi", top.qpi_valid, top.qpi_ready, top.qpi),
        kicks(bench, "kick", top.kick_valid, top.kick_ready, top.kick_qpn),
        fetched(bench, "fetch_done", top.fetch_done_valid, top.fetch_done_ready,
                [this](const Fetched& f) {
                  top.fetch_done_qpn = static_cast<uint32_t>(f.qpn);
                  top.fetch_done_last = f.last;
                  top.fetch_done_next = f.next;
                  top.fetch_done_pushed = static_cast<uint8_t>(f.pushed);
                }),
        turned(bench, "turn_done", top.turn_done_valid, top.turn_done_ready,
               [this](const Turned& t) {
                 top.turn_done_qpn = static_cast<uint32_t>(t.qpn);
                 top.turn_done_more = t.more;
                 top.turn_done_blocked = static_cast<uint8_t>(t.blocked);
                 top.turn_done_popped = static_cast<uint8_t>(t.popped);
               }),
        fetches(
            bench, "wqe_req", top.wqe_req_valid, top.wqe_req_ready,
            [this] {
              return Fetch{top.wqe_req_qpn, top.wqe_req_index, top.wqe_req_blocks,
                           top.wqe_req_avail};
            },
            stall),
        halts(bench, "rwq", top.rwq_valid, top.rwq_ready, top.rwq_qpn),
        resumes(bench, "rwd", top.rwd_valid, top.rwd_ready,
                [this](const Doorbell& d) {
                  top.rwd_qpn = static_cast<uint32_t>(d.qpn);
                  top.rwd_index = static_cast<uint16_t>(d.index);
                }),
        stopped(bench, "rwg", top.rwg_valid, top.rwg_ready,
                [this] { return uint64_t{top.rwg_qpn}; }),
        turns(
            bench, "turn", top.turn_valid, top.turn_ready,
            [this] { return uint64_t{top.turn_qpn}; }, stall) {
    top.msg_room_i = 1;
    bench.on_sample([this] { sample(); });
    bench.on_drive([this] { drive(); });
    fetches.on_item([this](const Fetch& f) { on_fetch(f); });
    turns.on_item([this](uint64_t q) {
      REQUIRE(q < kQps);
      CHECK(!qps[q].in_turn);
      qps[q].in_turn = true;
      if (auto_turn) turn_due.push_back({bench.cycle() + random.between(1, slow), q});
    });
    bench.reset();
    for (uint64_t q = 0; q < kQps; ++q) qp(q);
    bench.wait("clearing", [this] { return top.init_done_o != 0; });
  }
  void qp(uint64_t q, QpState state = kRts, unsigned log_sq = 6) {
    conn[q] = kConn.pack({{"exists", 1}, {"state", state}, {"log_sq", log_sq}});
  }
  void ring(uint64_t q, uint16_t index) {
    doorbells.push({q, index});
    qps[q].prod = index;
  }
  Bits push_of(uint64_t q, uint16_t index, const Wqe& wqe = Wqe::write_inline(0, 1, {1, 2})) {
    return wqe.entry(q, index);
  }
  unsigned used() const {
    unsigned sum = 0;
    for (const auto& m : qps) sum += m.stored + m.job;
    return sum;
  }
  bool idle() const {
    for (const auto& m : qps) {
      if (m.stored || m.job || m.in_turn || m.fetch != m.prod) return false;
    }
    return true;
  }
  void finish_turn(uint64_t q, unsigned pop, unsigned blocked = 0) {
    Model& m = qps[q];
    pop = std::min(pop, m.stored);
    m.stored -= pop;
    m.popped += pop;
    m.in_turn = false;
    turned.push({q, m.stored > 0, blocked, pop});
  }
  void finish_fetch(uint64_t q, std::optional<unsigned> progress = {}) {
    Model& m = qps[q];
    const unsigned n = std::min(progress.value_or(m.job), m.job);
    m.stored += n;
    m.fetch = static_cast<uint16_t>(m.fetch + n);
    m.job = 0;
    fetched.push({q, true, m.fetch, n});
  }

  Bench<Vsq_scheduler> bench;
  Vsq_scheduler& top;
  StreamSource<Doorbell> doorbells;
  StreamSource<Bits> pushes;
  StreamSource<Bits> orders;
  StreamSource<uint64_t> kicks;
  StreamSource<Fetched> fetched;
  StreamSource<Turned> turned;
  StreamSink<Fetch> fetches;
  StreamSource<uint64_t> halts;
  StreamSource<Doorbell> resumes;
  StreamSink<uint64_t> stopped;
  StreamSink<uint64_t> turns;

  std::map<uint64_t, Bits> conn;
  Model qps[kQps];
  bool auto_fetch = true, auto_turn = true;
  unsigned slow = 20, late = 1;  // models answer within this time; contexts too
  unsigned burst = 8;
  std::deque<std::pair<uint64_t, uint64_t>> turn_due, fetch_due;
  uint64_t doorbell_count = 0, refused = 0, bf_count = 0, bf_fallback = 0;
  std::vector<Bits> stored;  // BlueFlame
  std::vector<uint64_t> flushes;
  Rng random = rng("world");

 private:
  void on_fetch(const Fetch& f) {
    REQUIRE(f.qpn < kQps);
    Model& m = qps[f.qpn];
    INFO("QP " << f.qpn << " cycle " << bench.cycle());
    CHECK(m.job == 0);
    CHECK(f.index == m.fetch);
    CHECK(f.blocks >= 1);
    CHECK(f.blocks <= 16);
    CHECK(f.blocks <= static_cast<uint16_t>(m.prod - m.fetch));
    CHECK(f.avail >= f.blocks);
    m.job = f.blocks;
    CHECK(m.stored + m.job <= kCap);
    CHECK(used() <= kPool);
    if (auto_fetch) fetch_due.push_back({bench.cycle() + random.between(1, slow), f.qpn});
  }
  void sample() {
    if (bench.in_reset()) return;
    if (top.sch_lk_valid && top.sch_lk_ready)
      lk_.push_back({bench.cycle() + random.below(late), top.sch_lk_qpn});
    doorbell_count += top.cnt_doorbells_o;
    refused += top.cnt_doorbell_refused_o;
    bf_count += top.cnt_bf_pushes_o;
    bf_fallback += top.cnt_bf_fallbacks_o;
    CHECK(top.bfw_valid == top.cnt_bf_pushes_o);
    if (top.bfw_valid) {
      const Bits e = read_pin(top.bfw).slice(0, kEntry.width());
      stored.push_back(e);
      Model& m = qps[kEntry.get(e, "qpn")];
      ++m.stored;
      m.fetch = static_cast<uint16_t>(kEntry.get(e, "next_index"));
      CHECK(used() <= kPool);
      CHECK(m.stored <= kCap);
    }
    if (top.flush_valid && top.flush_ready) {
      flushes.push_back(top.flush_qpn);
      Model& m = qps[top.flush_qpn];
      CHECK(m.job == 0);
      CHECK(!m.in_turn);
      if (top.qpi_valid)
        m = Model{};  // CLEAR
      else
        m.stored = 0;  // a replay
    }
  }
  void drive() {
    const uint64_t now = bench.cycle();
    top.sch_lk_ready = 1;
    top.sch_ctx_valid = !lk_.empty() && lk_.front().first <= now;
    if (top.sch_ctx_valid) {
      const uint64_t q = lk_.front().second;
      write_pin(top.sch_ctx, conn.count(q) ? conn[q] : Bits(kConn.width()));
      lk_.pop_front();
    }
    top.flush_ready = top.flush_valid && !top.flush_ready && random.chance(0.3);
    while (!fetch_due.empty() && fetch_due.front().first <= now) {
      const uint64_t q = fetch_due.front().second;
      fetch_due.pop_front();
      if (qps[q].job > 1 && random.chance(0.5)) fetched.push({q, false, 0, 1});
      finish_fetch(q);
    }
    while (!turn_due.empty() && turn_due.front().first <= now) {
      const uint64_t q = turn_due.front().second;
      turn_due.pop_front();
      finish_turn(q, static_cast<unsigned>(random.between(0, burst)));
    }
  }
  std::deque<std::pair<uint64_t, uint64_t>> lk_;
};

}  // namespace

TEST_CASE(
    "sq_scheduler has everything posted fetched once and in order, and gives turns until all is "
    "sent") {
  for (unsigned late : {1u, 12u}) {
    World w(Stall::random(late == 1 ? 0.0 : 0.3));
    w.late = late;
    auto r = rng("doorbells");
    uint64_t posted = 0;
    for (int i = 0; i < 600; ++i) {
      const uint64_t q = r.below(kQps);
      Model& m = w.qps[q];
      const unsigned out = static_cast<uint16_t>(m.prod - m.fetch) + m.stored;
      const uint64_t n = r.between(0, 64 - std::min(64u, out));
      posted += n;
      w.ring(q, static_cast<uint16_t>(m.prod + n));
      if (r.chance(0.5)) w.bench.tick(r.between(1, 40));
    }
    w.bench.wait(
        "all to be sent", [&] { return w.idle() && w.doorbells.pending() == 0; }, 100000);
    uint64_t popped = 0;
    for (auto& m : w.qps) popped += m.popped;
    CHECK(popped == posted);
    CHECK(w.refused == 0);
    CHECK(w.doorbell_count == 600);
  }
}

// sq_engine ends a turn when it finds no WQE; one that comes before it has said so is not
// forgotten.
TEST_CASE("sq_scheduler gives another turn for what comes while a turn ends") {
  for (const bool part : {false, true}) {  // of the fetch: the rest comes later
    World w;
    w.auto_turn = w.auto_fetch = false;
    Model& m = w.qps[1];
    w.ring(1, 5);
    w.fetches.wait(1, 100);
    w.finish_fetch(1, 2);
    w.turns.wait(1, 100);
    w.fetches.wait(2, 100);
    m.stored -= 2;
    m.popped += 2;  // sq_engine has sent both and finds nothing more
    if (part) {
      w.fetched.push({1, false, 0, 1});
    } else {
      w.finish_fetch(1);
    }
    w.fetched.wait_idle();
    w.bench.tick(5);
    m.in_turn = false;
    w.turned.push({1, false, 0, 2});
    w.turns.wait(2, 100);
    if (part) w.finish_fetch(1);
    w.finish_turn(1, 3);
    w.bench.tick(50);
    CHECK(w.idle());
  }
}

TEST_CASE("sq_scheduler goes around: every QP with work gets a turn in each round") {
  World w;
  w.auto_turn = false;
  w.slow = 3;
  for (uint64_t q = 0; q < kQps; ++q) w.ring(q, 64);
  w.bench.tick(100);  // all wait for their turn with entries in the store, as many as the pool has
  std::set<uint64_t> busy;
  for (uint64_t q = 0; q < kQps; ++q) {
    if (w.qps[q].stored >= 8) busy.insert(q);
  }
  REQUIRE(busy.size() >= 2);
  w.auto_fetch = false;
  // The turns come back to the same QPs in the same order.
  size_t at = 0;
  std::vector<uint64_t> order;
  for (int i = 0; i < 40; ++i) {
    w.turns.wait(at + 1, 100);
    const uint64_t q = w.turns[at++];
    order.push_back(q);
    w.bench.tick(3);
    w.finish_turn(q, i % 8 == 0 ? 1 : 0);
  }
  std::map<uint64_t, std::vector<int>> when;
  for (int i = 0; i < 40; ++i) when[order[static_cast<size_t>(i)]].push_back(i);
  for (auto& [q, list] : when) {
    for (size_t i = 1; i < list.size(); ++i) CHECK(list[i] - list[i - 1] <= static_cast<int>(kQps));
  }
  CHECK(when.size() >= 2);
}

TEST_CASE("sq_scheduler serves a QP that posts one WQE beside a busy one at once") {
  World w;
  w.slow = 3;
  w.burst = 1;
  w.ring(1, 64);
  w.bench.tick(200);
  const size_t before = w.turns.size();
  w.ring(4, 1);
  w.bench.wait(
      "the turn of QP 4", [&] { return w.qps[4].popped == 1; }, 200);
  CHECK(w.turns.size() - before < 40);
}

TEST_CASE("sq_scheduler refuses doorbells to QPs that cannot send and steps larger than the ring") {
  World w;
  for (auto state : {kReset, kInit, kRtr}) {
    w.qp(1, state);
    w.doorbells.push({1, 1});
  }
  w.doorbells.wait_idle();
  w.bench.tick(5);
  w.qp(1);
  w.doorbells.push({kQps, 1});
  w.doorbells.push({0xFFFFFF, 1});
  w.qp(2, kRts, 4);
  w.doorbells.push({2, 17});
  w.doorbells.push({2, 0xFFFF});
  w.doorbells.wait_idle();
  w.bench.tick(20);
  CHECK(w.refused == 7);
  CHECK(w.doorbell_count == 0);
  CHECK(w.fetches.size() == 0);
  w.ring(2, 16);
  w.qp(3, kRts, 15);
  w.ring(3, 32768);
  w.qp(4, kErr);
  w.ring(4, 3);
  w.bench.wait(
      "all to be sent", [&] { return w.doorbell_count == 3 && w.idle(); }, 600000);
  CHECK(w.refused == 7);
  CHECK(w.qps[3].popped == 32768);
}

TEST_CASE(
    "sq_scheduler takes a BlueFlame WQE when it is the next one, else leaves it to the ring") {
  World w;
  w.auto_turn = false;
  const Wqe one = Wqe::write_inline(0, 1, {1, 2}),
            two = Wqe::write_inline(0, 1, std::vector<uint8_t>(60));
  auto push = [&](const Bits& e) {
    w.pushes.push(e);
    w.pushes.wait_idle();
    w.bench.tick(8);
  };
  push(w.push_of(1, 0, two));  // 2 blocks
  w.qps[1].prod = 2;
  CHECK(w.bf_count == 1);
  REQUIRE(w.stored.size() == 1);
  CHECK(kEntry.get(w.stored[0], "next_index") == 2);
  CHECK(kEntry.get(w.stored[0], "has2") == 1);
  CHECK(w.stored[0].slice(0, 1024) == two.entry(1, 0).slice(0, 1024));
  CHECK(w.turns.size() == 1);
  w.finish_turn(1, 1);
  w.bench.tick(5);

  w.auto_fetch = false;
  w.qps[1].prod = 4;
  push(w.push_of(1, 3, one));  // one is missing before it: both come from the ring
  CHECK(w.bf_fallback == 1);
  REQUIRE(w.fetches.size() == 1);
  CHECK((w.fetches[0] == Fetch{1, 2, 2, 2}));
  w.qps[1].prod = 5;
  push(w.push_of(1, 4, one));  // in order, but earlier ones are being fetched
  CHECK(w.bf_fallback == 2);
  push(w.push_of(1, 2, one));  // long covered
  CHECK(w.bf_fallback == 3);
  w.finish_fetch(1);
  w.bench.tick(10);
  CHECK((w.fetches[1] == Fetch{1, 4, 1, 1}));
  w.finish_fetch(1);
  w.bench.tick(10);
  w.finish_turn(1, 8);
  w.bench.tick(10);
  CHECK(w.bf_count == 1);

  Bits bad = w.push_of(1, 5, one);
  kEntry.set(bad, "blocks", 2);  // more than the WQE says
  w.qps[1].prod = 7;
  push(bad);
  CHECK(w.bf_fallback == 4);
  w.finish_fetch(1);
  w.bench.tick(5);
  w.finish_turn(1, 8);
  Bits wrong = w.push_of(2, 0, one);
  wrong.set(96, 16, 9);  // its index field
  w.qps[2].prod = 1;
  push(wrong);
  CHECK(w.bf_fallback == 5);
  w.finish_fetch(2);
  Wqe link = one;
  link.next = 0x1001;
  w.qps[3].prod = 1;
  push(w.push_of(3, 0, link));
  CHECK(w.bf_fallback == 6);
  w.finish_fetch(3);
  w.qp(4, kErr);
  w.qps[4].prod = 1;
  push(w.push_of(4, 0, one));
  CHECK(w.bf_fallback == 7);
  CHECK(w.refused == 0);
  w.qp(5, kRtr);
  push(w.push_of(5, 0, one));
  CHECK(w.refused == 1);
  CHECK(w.bf_count == 1);
}

TEST_CASE("sq_scheduler never lets pushes fill more than the store and the QP's share") {
  World w;
  w.auto_turn = w.auto_fetch = false;
  uint16_t index[kQps] = {};
  for (int i = 0; i < 100; ++i) {
    const uint64_t q = static_cast<uint64_t>(i) % 3;
    w.qps[q].prod = static_cast<uint16_t>(index[q] + 1);
    w.pushes.push(w.push_of(q, index[q]++));
  }
  w.pushes.wait_idle();
  w.bench.tick(10);
  CHECK(w.bf_count > 30);
  CHECK(w.used() <= kPool);
  w.auto_turn = w.auto_fetch = true;
  for (const auto& q : w.turns.items()) w.finish_turn(q, 8);
  for (const auto& f : w.fetches.items()) {
    if (w.qps[f.qpn].job) w.finish_fetch(f.qpn);
  }
  w.bench.wait(
      "all to be sent", [&] { return w.idle(); }, 10000);
  for (int q = 0; q < 3; ++q) CHECK(w.qps[q].popped == index[q]);
}

TEST_CASE("sq_scheduler does not fetch again what is not posted in full, until the next doorbell") {
  World w;
  w.auto_fetch = false;
  w.ring(1, 1);
  w.fetches.wait(1, 50);
  w.finish_fetch(1, 0);  // a WQE of two blocks, one of them posted
  w.bench.tick(100);
  CHECK(w.fetches.size() == 1);
  w.ring(1, 2);
  w.fetches.wait(2, 50);
  CHECK((w.fetches[1] == Fetch{1, 0, 2, 2}));
  // A doorbell that came during the fetch counts.
  w.ring(1, 4);
  w.doorbells.wait_idle();
  w.bench.tick(5);
  w.finish_fetch(1, 0);
  w.fetches.wait(3, 50);
  CHECK((w.fetches[2] == Fetch{1, 0, 4, 4}));
  w.finish_fetch(1);
  w.bench.wait(
      "all to be sent", [&] { return w.idle(); }, 1000);
}

TEST_CASE("sq_scheduler leaves a blocked QP alone until it is kicked") {
  World w;
  w.auto_turn = false;
  w.ring(1, 5);
  w.turns.wait(1, 100);
  w.bench.tick(50);
  w.finish_turn(1, 1, 2);
  w.ring(1, 9);
  w.bench.tick(200);
  CHECK(w.turns.size() == 1);
  w.kicks.push(2);  // another QP, no effect
  w.kicks.push(1);
  w.turns.wait(2, 20);
  w.kicks.push(1);  // during the turn: not lost
  w.kicks.wait_idle();
  w.finish_turn(1, 1, 2);
  w.turns.wait(3, 20);
  for (auto op : {kOrderErr, kOrderKick}) {
    const size_t n = w.turns.size();
    w.finish_turn(1, 1, 2);
    w.bench.tick(50);
    CHECK(w.turns.size() == n);
    w.orders.push(order(op, 1));
    w.turns.wait(n + 1, 20);
  }
  w.orders.wait_idle();
  w.finish_turn(1, 9);
  w.bench.tick(50);
  CHECK(w.idle());
}

TEST_CASE("sq_scheduler lets QPs that wait for msg_pool go on when it has room, a few at a time") {
  World w;
  w.auto_turn = false;
  for (uint64_t q = 0; q < kQps; ++q) w.ring(q, 2);
  w.turns.wait(kQps, 500);
  w.bench.tick(100);
  w.top.msg_room_i = 0;
  for (uint64_t q = 0; q < kQps; ++q) w.finish_turn(q, 0, 1);
  w.bench.tick(100);
  CHECK(w.turns.size() == kQps);
  w.top.msg_room_i = 1;
  w.bench.tick(50);
  CHECK(w.turns.size() == kQps + 2);
  std::set<uint64_t> seen;
  for (size_t i = 0; i < kQps; ++i) {
    w.turns.wait(kQps + i + 1, 50);
    const uint64_t q = w.turns[kQps + i];
    seen.insert(q);
    w.finish_turn(q, 2);
  }
  CHECK(seen.size() == kQps);
  w.bench.tick(50);
  CHECK(w.idle());
}

TEST_CASE(
    "sq_scheduler clears a QP when its fetch and its turn are over, and it starts again at 0") {
  World w;
  w.auto_turn = w.auto_fetch = false;
  for (int round = 0; round < 8; ++round) {
    w.ring(1, 40);
    w.ring(2, 1);
    w.fetches.wait(w.fetches.size() + 2, 100);
    if (round & 1) {
      w.fetched.push({1, false, 0, 1});
      w.turns.wait(w.turns.size() + 1, 50);
    }
    if (round & 4) {  // with entries in the store, and waiting for a kick
      w.finish_fetch(1);
      w.bench.tick(10);
      if (round & 1) w.finish_turn(1, 3, 2);
      w.bench.tick(10);
    }
    w.orders.push(order(kClear, 1));
    w.doorbells.push({1, 41});  // refused while it is closing
    w.bench.tick(60);
    const size_t flushes = w.flushes.size();
    if (w.qps[1].job) {
      w.finish_fetch(1);
      w.bench.tick(30);
    }
    if (w.qps[1].in_turn) {
      w.bench.tick(10);
      CHECK(w.flushes.size() == flushes);
      w.finish_turn(1, 2);
    }
    w.orders.wait_idle(200);
    CHECK(w.flushes.back() == 1);
    // The neighbour is untouched.
    if (w.qps[2].job) w.finish_fetch(2);
    w.bench.wait(
        "its turn", [&] { return w.qps[2].in_turn; }, 50);
    w.finish_turn(2, 1);
    w.bench.tick(30);
    w.orders.push(order(kClear, 2));
    w.orders.wait_idle(200);
    w.bench.tick(20);
    CHECK(w.idle());
  }
  // Nothing of the pool was lost.
  w.auto_turn = w.auto_fetch = true;
  for (uint64_t q = 0; q < kQps; ++q) w.ring(q, 60);
  w.bench.wait(
      "all to be sent", [&] { return w.idle(); }, 10000);
}

TEST_CASE(
    "sq_scheduler stops a QP when nothing of it is at work, and it goes on where it is told") {
  World w;
  w.auto_turn = w.auto_fetch = false;
  uint16_t at = 0, prod = 0;
  for (int round = 0; round < 32; ++round) {
    INFO("round " << round);
    prod = static_cast<uint16_t>(prod + 20);
    w.ring(1, prod);
    w.fetches.wait(w.fetches.size() + 1, 100);
    if (round & 1) {  // with entries in the store and a turn
      w.finish_fetch(1);
      w.turns.wait(w.turns.size() + 1, 50);
      if (round & 2) {  // and a fetch under way
        w.finish_turn(1, 8);
        w.turns.wait(w.turns.size() + 1, 50);
        CHECK(w.qps[1].job > 0);
      }
    }
    const bool own = (round & 5) == 5;
    const size_t stops = w.stopped.size(), flushes = w.flushes.size(), turns = w.turns.size();
    if (own) {
      w.top.turn_done_index = prod;
      w.finish_turn(1, 3, 3);
    } else {
      w.halts.push(1);
    }
    w.halts.push(kQps + 3);  // does not exist
    w.bench.tick(30);
    std::vector<std::function<void()>> ends;
    if (w.qps[1].job) ends.push_back([&] { w.finish_fetch(1); });
    if (w.qps[1].in_turn) ends.push_back([&] { w.finish_turn(1, 2, round & 8 ? 2 : 0); });
    if (round & 4) std::reverse(ends.begin(), ends.end());
    CHECK(ends.empty() == (own && (round & 2) == 0));
    for (const auto& end : ends) {
      CHECK(w.flushes.size() == flushes);
      w.kicks.push(1);
      end();
      w.bench.tick(40);
    }
    CHECK(w.turns.size() == turns);
    CHECK(w.flushes.size() == flushes + 1);
    CHECK(w.flushes.back() == 1);
    if (!own) {
      REQUIRE(w.stopped.size() == stops + 1);
      CHECK(w.stopped[stops] == 1);
      // A push is left to the ring now, and nothing is fetched.
      const uint64_t fallbacks = w.bf_fallback;
      w.pushes.push(w.push_of(1, prod));
      prod = static_cast<uint16_t>(prod + 1);
      w.qps[1].prod = prod;
      const size_t fetches = w.fetches.size();
      w.bench.tick(20);
      CHECK(w.bf_fallback == fallbacks + 1);
      CHECK(w.fetches.size() == fetches);
      at = static_cast<uint16_t>(prod - (round % 3 == 0 ? 1 : 7));
      w.qps[1].fetch = at;
      w.resumes.push({1, at});
      if (round & 16) {  // and once more at once
        w.halts.push(1);
        w.fetches.wait(fetches + 1, 50);
        w.finish_fetch(1);
        w.stopped.wait(stops + 2);
        w.resumes.push({1, at});
        w.qps[1].fetch = at;
        w.qps[1].stored = 0;
        w.fetches.wait(fetches + 2, 50);
      } else {
        w.fetches.wait(fetches + 1, 50);
      }
      w.finish_fetch(1);
      w.bench.tick(20);
    } else {
      CHECK(w.stopped.size() == stops);
      w.qps[1].fetch = prod;
    }
    w.bench.tick(20);
    while (w.qps[1].in_turn) {
      w.finish_turn(1, 32);
      w.bench.tick(20);
    }
    CHECK(w.idle());
  }
  // What comes after CLEAR changes nothing.
  w.halts.push(1);
  w.stopped.wait(w.stopped.size() + 1);
  w.orders.push(order(kClear, 1));
  w.orders.wait_idle(200);
  w.resumes.push({1, 77});
  w.bench.tick(20);
  w.qps[1] = Model{};
  w.ring(1, 5);
  w.fetches.wait(w.fetches.size() + 1, 50);
  w.finish_fetch(1);
  w.turns.wait(w.turns.size() + 1, 50);
  w.finish_turn(1, 5);
  w.bench.tick(20);
  // Nothing of the pool was lost.
  w.auto_turn = w.auto_fetch = true;
  for (uint64_t q = 0; q < kQps; ++q) w.ring(q, static_cast<uint16_t>(w.qps[q].prod + 60));
  w.bench.wait(
      "all to be sent", [&] { return w.idle(); }, 10000);
}

TEST_CASE("sq_scheduler tells the indices of a QP") {
  World w;
  w.auto_fetch = false;
  w.ring(3, 20);
  w.fetches.wait(1, 50);
  w.finish_fetch(3, 16);
  w.bench.tick(30);
  for (uint64_t q : {uint64_t{3}, uint64_t{4}, uint64_t{kQps + 2}}) {
    w.top.qry_lk_valid = 1;
    w.top.qry_lk_qpn = static_cast<uint32_t>(q);
    w.bench.wait("the query", [&] { return w.top.qry_lk_ready != 0; });
    w.bench.tick();
    w.top.qry_lk_valid = 0;
    w.bench.settle();
    REQUIRE(w.top.qry_valid == 1);
    CHECK(w.top.qry_prod == (q == 3 ? 20 : 0));
    CHECK(w.top.qry_fetch == (q == 3 ? 16 : 0));
    w.bench.tick();
  }
}

TEST_CASE("sq_scheduler keeps its latency and throughput") {
  World w;
  w.auto_turn = w.auto_fetch = false;
  w.ring(1, 16);
  w.fetches.wait(1, 50);
  CHECK(w.fetches.cycles()[0] - w.doorbells.cycles()[0] == 1);
  w.finish_fetch(1);
  w.turns.wait(1, 50);
  CHECK(w.turns.cycles()[0] - w.fetched.cycles()[0] == 1);
  w.finish_turn(1, 8);
  w.turns.wait(2, 50);
  CHECK(w.turns.cycles()[1] - w.turned.cycles()[0] == 1);
  w.finish_turn(1, 8);
  w.bench.tick(10);
  w.pushes.push(w.push_of(2, 0));
  w.turns.wait(3, 50);
  CHECK(w.turns.cycles()[2] - w.pushes.cycles()[0] == 2);
  w.finish_turn(2, 1);
  w.bench.tick(10);
  w.qps[5].prod = 1;
  for (int i = 0; i < 32; ++i) w.doorbells.push({5, 1});
  w.doorbells.wait_idle();
  CHECK(w.doorbells.cycles()[32] - w.doorbells.cycles()[1] == 62);
}
