// SPDX-License-Identifier: Apache-2.0
//
// One arp_fsm whose peers are the test: packets that may and may not be added, one-shot sums,
// faults, commands.
#include <Varp_fsm_128.h>

#include <algorithm>

#include "tests/arp_fsm/rank.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;
using namespace rnic::numerics;

namespace {

struct S128 {
  using Top = Varp_fsm_128;
  static constexpr uint32_t kW = 128, kGroups = 4, kSlots = 8, kStage = 8, kRing = 16;
};

struct World {
  Rank<S128> rank;
  Rng random = rng("world");
  uint32_t group = 1;
  GroupPlan plan;
  std::vector<Buffer> inputs;

  World(uint32_t number, GroupPlan p) : rank(number, 1 << 18), plan(p) {
    plan.dst = 1 << 17;
    rank.qpn_of = [](const ArpPacket& x) {
      return rx_qpn(static_cast<uint32_t>(kAsk.get(x.ask, "group")),
                    kAsk.get(x.ask, "contributor"));
    };
    create();
    for (uint32_t r = 0; r < plan.ranks; ++r) {
      inputs.push_back(random.bytes(plan.round_bytes() * size_t{plan.rounds}));
      // Halves with small exponents, so that nothing is NaN.
      for (size_t i = 1; i < inputs.back().size(); i += 2) inputs.back()[i] &= 0xBF;
    }
    std::copy(inputs[number].begin(), inputs[number].end(), rank.memory.begin());
  }
  void create() {
    REQUIRE(rank.command(kCreate, group, fields()) == kOk);
    for (uint32_t r = 0; r < plan.ranks; ++r)
      REQUIRE(rank.command(kPeer, group, Bits(kGroup.width()), r, rx_qpn(group, r)) == kOk);
  }
  Bits fields() { return group_fields(rank, group, plan); }
  void start() { REQUIRE(rank.command(kStart, group, fields()) == kOk); }
  uint32_t own() const { return rank.number * plan.chunk_bytes; }
  // Piece n of the own chunk, as a one-shot contributor sends it.
  ArpPacket piece(uint64_t contributor, uint32_t n) const {
    const uint32_t slot_bytes = 1u << plan.slot_log;
    const uint32_t in_round = n % plan.pieces(), round = n / plan.pieces();
    const uint32_t at = in_round * slot_bytes;
    const uint32_t length = std::min(slot_bytes, plan.chunk_bytes - at);
    const uint32_t offset = round * plan.round_bytes() + own() + at;
    const auto& from = inputs[contributor % inputs.size()];
    ArpPacket p;
    p.ask = kAsk.pack({{"elem", static_cast<uint64_t>(plan.elem)},
                       {"contributor", contributor},
                       {"group", group},
                       {"slot", n},
                       {"offset", offset},
                       {"len", length}});
    p.payload = {from.begin() + offset, from.begin() + offset + length};
    return p;
  }
  // Sends one packet, once, and gives its answer.
  uint64_t answer(ArpPacket p) {
    const size_t before = rank.ans.size();
    rank.weather.rnr = 1000000;
    rank.arrive(std::move(p));
    rank.bench.wait("an answer", [&] { return rank.ans.size() > before; });
    rank.forget_packets();
    return rank.ans[before];
  }
  ArpPacket changed(ArpPacket p, const std::string& field, uint64_t value) const {
    kAsk.set(p.ask, field, value);
    return p;
  }
  Buffer own_sum(const std::vector<uint64_t>& order, uint32_t round = 0) const {
    std::vector<std::span<const uint8_t>> spans;
    for (const uint64_t r : order)
      spans.push_back(
          std::span(inputs[r]).subspan(round * plan.round_bytes() + own(), plan.chunk_bytes));
    return sum_in_order(plan.elem, plan.wide ? Sum::kFp32 : Sum::kNative, spans);
  }
  Buffer result(uint32_t round = 0) const {
    const auto at = rank.memory.begin() +
                    static_cast<std::ptrdiff_t>(plan.dst + round * plan.round_bytes() + own());
    return {at, at + plan.chunk_bytes};
  }
  void loaded() { rank.bench.tick(300); }
};

GroupPlan one_shot(uint32_t ranks) {
  GroupPlan p;
  p.ring = false;
  p.ranks = ranks;
  p.elem = Element::kFp16;
  p.slot_log = 8;
  p.chunk_bytes = 3 * 256 + 64;
  return p;
}

}  // namespace

TEST_CASE("one-shot: sums of all ranks, added in the order in which their packets come") {
  for (const bool wide : {false, true}) {
    GroupPlan p = one_shot(5);
    p.wide = wide;
    World w(2, p);
    w.rank.set_weather({0.2, 20, 5, 5, 20, 0.2, false});
    w.start();
    std::vector<uint64_t> order = {4, 0, 3, 1};
    for (uint32_t n = 0; n < p.pieces(); ++n) {
      for (const uint64_t r : order) w.rank.arrive(w.piece(r, n));
    }
    w.rank.bench.wait(
        "event", [&] { return !w.rank.events.empty(); }, 50000);
    CHECK(w.rank.events[0].code == kDone);
    CHECK(w.result() == w.own_sum({2, 4, 0, 3, 1}));
    // Another order is another sum, where every addition rounds.
    if (!wide) CHECK(w.result() != w.own_sum({2, 3, 4, 0, 1}));
    CHECK(w.rank.bf.size() == 0);
  }
}

TEST_CASE("one-shot in fixed order: the same bits, whoever comes first") {
  for (int turn = 0; turn < 6; ++turn) {
    GroupPlan p = one_shot(4);
    p.fixed = true;
    p.rounds = 2;
    World w(1, p);
    w.rank.set_weather({0.1, 20, 5, 5, 20, 0, false});
    w.start();
    // Each contributor has its own QP: a packet that is not ready holds up only its own.
    std::vector<std::deque<ArpPacket>> from(4);
    for (uint32_t n = 0; n < 2 * p.pieces(); ++n) {
      for (const uint64_t r : {0, 2, 3}) from[r].push_back(w.piece(r, n));
    }
    uint64_t left = 6 * p.pieces();
    for (uint64_t i = 0; left > 0 && i < 5000; ++i) {
      auto& q = from[w.random.below(4)];
      if (q.empty()) continue;
      const uint64_t a = w.answer(q.front());
      if (a == kNotReady) continue;
      REQUIRE((a == kAccept || a == kDuplicate));
      q.pop_front();
      --left;
    }
    CHECK(left == 0);
    w.rank.bench.wait(
        "event", [&] { return !w.rank.events.empty(); }, 50000);
    CHECK(w.result(0) == w.own_sum({1, 2, 3, 0}, 0));
    CHECK(w.result(1) == w.own_sum({1, 2, 3, 0}, 1));
    CHECK(w.rank.counters["not_ready"] > 0);
  }
}

TEST_CASE("a packet is refused, put off, or known: each rule alone") {
  GroupPlan p = one_shot(4);
  World w(1, p);
  CHECK(w.answer(w.piece(2, 0)) == kNotReady);  // not started
  w.start();
  w.loaded();
  CHECK(w.answer(w.changed(w.piece(2, 0), "group", 2)) == kRefuse);      // no such group
  CHECK(w.answer(w.changed(w.piece(2, 0), "group", 0x101)) == kRefuse);  // nor this one
  CHECK(w.answer(w.changed(w.piece(2, 0), "elem", 1)) == kRefuse);
  CHECK(w.answer(w.changed(w.piece(2, 0), "contributor", 1)) == kRefuse);  // itself
  CHECK(w.answer(w.changed(w.piece(2, 0), "contributor", 4)) == kRefuse);
  CHECK(w.answer(w.changed(w.piece(2, 0), "contributor", 0x82)) == kRefuse);
  CHECK(w.answer(w.changed(w.piece(2, 0), "offset", 0)) == kRefuse);
  CHECK(w.answer(w.changed(w.piece(2, 0), "len", 128)) == kRefuse);
  CHECK(w.answer(w.changed(w.piece(2, 0), "result", 1)) == kRefuse);
  w.rank.qpn_of = [](const ArpPacket&) { return rx_qpn(1, 3); };  // another's QP
  CHECK(w.answer(w.piece(2, 0)) == kRefuse);
  w.rank.qpn_of = [](const ArpPacket& x) { return rx_qpn(1, kAsk.get(x.ask, "contributor")); };
  CHECK(w.answer(w.changed(w.piece(2, 0), "slot", 8)) == kNotReady);            // beyond the window
  CHECK(w.answer(w.changed(w.piece(2, 0), "slot", 0xFFFFFFFF)) == kDuplicate);  // long done
  CHECK(w.answer(w.piece(2, 0)) == kAccept);
  CHECK(w.answer(w.piece(2, 0)) == kDuplicate);
  CHECK(w.answer(w.piece(3, 0)) == kAccept);
  CHECK(w.answer(w.piece(2, 0)) == kDuplicate);
  CHECK(w.answer(w.piece(0, 0)) == kAccept);
  CHECK(w.answer(w.piece(0, 0)) == kDuplicate);  // complete
  w.loaded();
  CHECK(w.answer(w.piece(3, 0)) == kDuplicate);  // and out of the window
  // The rest, and its sum shows that nothing was added twice.
  for (uint32_t n = 1; n < p.pieces(); ++n) {
    for (const uint64_t r : {2, 3, 0}) CHECK(w.answer(w.piece(r, n)) == kAccept);
  }
  w.rank.bench.wait("event", [&] { return !w.rank.events.empty(); });
  CHECK(w.result() == w.own_sum({1, 2, 3, 0}));
  CHECK(w.rank.counters["accepted"] == 3 * p.pieces());
  CHECK(w.rank.counters["refused"] == 10);
  // The next operation goes on with the numbers.
  CHECK(w.answer(w.changed(w.piece(2, 0), "slot", p.pieces())) == kNotReady);
  w.start();
  w.loaded();
  CHECK(w.answer(w.piece(2, 0)) == kDuplicate);
  CHECK(w.answer(w.changed(w.piece(2, 0), "slot", p.pieces())) == kAccept);
}

TEST_CASE("a group without progress is given up after its time, its slots are free again") {
  GroupPlan p = one_shot(3);
  p.timeout_us = 50;
  World w(0, p);
  w.start();
  w.loaded();
  CHECK(w.answer(w.piece(1, 0)) == kAccept);
  CHECK(w.answer(w.piece(2, 0)) == kAccept);
  const uint64_t last = w.rank.bench.cycle();
  w.rank.bench.wait(
      "event", [&] { return !w.rank.events.empty(); }, 2000);
  CHECK(w.rank.events[0].code == kTimeout);
  CHECK(w.rank.events[0].number == 1);
  // A microsecond is ten cycles here.
  CHECK(w.rank.events[0].cycle - last > 480);
  CHECK(w.rank.events[0].cycle - last < 560);
  CHECK(w.rank.state(1) == kAbortedState);
  CHECK(w.answer(w.piece(1, 1)) == kAborted);
  CHECK(w.rank.counters["aborted"] == 1);
  CHECK(w.rank.command(kStart, 1, w.fields()) == kBadState);
  CHECK(w.rank.command(kDestroy, 1) == kOk);
  CHECK(w.answer(w.piece(1, 1)) == kRefuse);
  w.create();
  w.start();
  w.loaded();
  for (uint32_t n = 0; n < p.pieces(); ++n) {
    for (const uint64_t r : {1, 2}) CHECK(w.answer(w.piece(r, n)) == kAccept);
  }
  w.rank.bench.wait("event", [&] { return w.rank.events.size() == 2; });
  CHECK(w.rank.events[1].code == kDone);
  CHECK(w.result() == w.own_sum({0, 1, 2}));
}

TEST_CASE("progress keeps a slow group alive") {
  GroupPlan p = one_shot(2);
  p.timeout_us = 50;
  World w(0, p);
  w.start();
  w.loaded();
  for (uint32_t n = 0; n < p.pieces(); ++n) {
    w.rank.bench.tick(n == 0 ? 100 : 400);  // of 500
    CHECK(w.answer(w.piece(1, n)) == kAccept);
  }
  w.rank.bench.wait("event", [&] { return !w.rank.events.empty(); });
  CHECK(w.rank.events[0].code == kDone);
}

TEST_CASE("a rank that stops: the others give up, and say so") {
  std::vector<std::unique_ptr<Rank<S128>>> ranks;
  GroupPlan p;
  p.ranks = 3;
  p.chunk_bytes = 5 * 512;
  p.timeout_us = 100;
  p.dst = 1 << 17;
  for (uint32_t r = 0; r < 3; ++r) ranks.push_back(std::make_unique<Rank<S128>>(r, 1 << 18));
  for (uint32_t r = 0; r < 3; ++r) {
    auto* next = ranks[(r + 1) % 3].get();
    ranks[r]->send = [next](ArpPacket x) { next->arrive(std::move(x)); };
    ranks[r]->qpn_of = [](const ArpPacket& x) { return rx_qpn(1, kAsk.get(x.ask, "contributor")); };
    CHECK(ranks[r]->command(kCreate, 1, group_fields(*ranks[r], 1, p)) == kOk);
    const uint32_t prev = (r + 2) % 3;
    CHECK(ranks[r]->command(kPeer, 1, Bits(kGroup.width()), prev, rx_qpn(1, prev)) == kOk);
    CHECK(ranks[r]->command(kStart, 1, group_fields(*ranks[r], 1, p)) == kOk);
  }
  for (int i = 0; i < 6000; ++i) {
    if (i == 100) ranks[1]->deaf = true;
    for (auto& r : ranks) r->bench.tick();
  }
  for (auto& r : ranks) {
    INFO("rank " << r->number);
    REQUIRE(r->events.size() == 1);
    CHECK(r->events[0].code != kDone);
    CHECK(r->state(1) == kAbortedState);
    CHECK(r->command(kDestroy, 1) == kOk);
  }
}

TEST_CASE("local data that cannot be read, a QP that fails, a command: each ends the group") {
  for (const uint64_t cause : {kReadFailed, kQpFailed, kByCommand}) {
    GroupPlan p;
    p.ranks = 2;
    p.chunk_bytes = 3 * 512;
    World w(0, p);
    if (cause == kReadFailed) w.rank.read_errors_wanted = 1;
    w.start();
    w.rank.bench.tick(60);
    if (cause == kQpFailed) w.rank.fail_qp(tx_qpn(1));
    if (cause == kByCommand) CHECK(w.rank.command(kAbort, 1) == kOk);
    w.rank.bench.wait("event", [&] { return !w.rank.events.empty(); });
    CHECK(w.rank.events[0].code == cause);
    CHECK(w.rank.quiet());
    CHECK(w.rank.state(1) == kAbortedState);
    CHECK(w.rank.command(kAbort, 1) == kBadState);
    // What was sent is forgotten with the QP; the group can be made anew.
    CHECK(w.rank.command(kDestroy, 1) == kOk);
    w.rank.forget_sends(tx_qpn(1));
    w.create();
    CHECK(w.rank.state(1) == kIdle);
  }
}

TEST_CASE("the event waits for accepted payload, also of a group that is given up") {
  GroupPlan p = one_shot(2);
  World w(0, p);
  w.start();
  w.loaded();
  w.rank.pay.set_stall(Stall::always());
  CHECK(w.answer(w.piece(1, 0)) == kAccept);
  CHECK(w.rank.command(kAbort, 1) == kOk);
  w.rank.bench.tick(500);
  CHECK(w.rank.events.empty());
  CHECK(w.rank.state(1) == kAborting);
  CHECK(w.answer(w.piece(1, 1)) == kAborted);
  w.rank.pay.set_stall(Stall::none());
  w.rank.bench.wait("event", [&] { return !w.rank.events.empty(); });
  CHECK(w.rank.events[0].code == kByCommand);
}

TEST_CASE("a query tells where a group is, and what it has seen") {
  GroupPlan p = one_shot(3);
  p.timeout_us = 100;
  World w(0, p);
  auto& r = w.rank;
  const auto is = [&](uint64_t state, uint64_t done, uint64_t opened) {
    CHECK(r.query(1, "state") == state);
    CHECK(r.query(1, "done") == done);
    CHECK(r.query(1, "opened") == opened);
  };
  CHECK(r.command(kQuery, 4) == kBadIndex);
  CHECK(r.query(2, "state") == kFree);
  is(kIdle, 0, 0);
  CHECK(w.answer(w.piece(1, 0)) == kNotReady);  // not started
  w.start();
  w.loaded();
  is(kRun, 0, p.pieces());
  CHECK(w.answer(w.piece(1, 0)) == kAccept);
  CHECK(w.answer(w.piece(1, 0)) == kDuplicate);
  CHECK(w.answer(w.piece(2, 0)) == kAccept);
  r.bench.tick(20);
  is(kRun, 1, p.pieces());
  CHECK(w.answer(w.piece(2, 0)) == kDuplicate);
  CHECK(r.query(1, "duplicates") == 2);
  CHECK(r.query(1, "not_ready") == 1);
  CHECK(r.query(1, "cause") == kDone);
  // A tick each ten cycles.
  const uint64_t idle = r.query(1, "idle_us");
  r.bench.tick(100);
  CHECK(r.query(1, "idle_us") >= idle + 10);
  CHECK(r.query(1, "idle_us") <= idle + 11);
  r.bench.wait("event", [&] { return !r.events.empty(); });
  is(kAbortedState, 1, p.pieces());
  CHECK(r.query(1, "cause") == kTimeout);
  // Another group has its own; a new one begins at nothing.
  CHECK(r.query(2, "duplicates") == 0);
  CHECK(r.command(kDestroy, 1) == kOk);
  CHECK(r.query(1, "state") == kFree);
  w.create();
  is(kIdle, 0, 0);
  for (const char* field : {"duplicates", "not_ready", "sent", "acked", "held", "cause", "idle_us"})
    CHECK(r.query(1, field) == 0);
}

TEST_CASE("commands are checked, and a bad one changes nothing") {
  GroupPlan p;
  p.ranks = 4;
  World w(1, p);
  const auto with = [&](const std::string& field, uint64_t value) {
    Bits b = w.fields();
    kGroup.set(b, field, value);
    return b;
  };
  CHECK(w.rank.command(kCreate, 1, w.fields()) == kInUse);
  CHECK(w.rank.command(kCreate, 4, w.fields()) == kBadIndex);
  CHECK(w.rank.command(7, 1, w.fields()) == kBadOpcode);
  CHECK(w.rank.command(kStart, 2, w.fields()) == kBadState);
  CHECK(w.rank.command(kPeer, 2, w.fields()) == kNotFound);
  CHECK(w.rank.command(kAbort, 1) == kBadState);
  CHECK(w.rank.command(kDestroy, 2) == kBadState);
  CHECK(w.rank.command(kCreate, 2, with("ranks", 1)) == kBadParam);
  CHECK(w.rank.command(kCreate, 2, with("ranks", 17)) == kBadParam);
  CHECK(w.rank.command(kCreate, 2, with("rank", 4)) == kBadParam);
  CHECK(w.rank.command(kCreate, 2, with("slot_log", 3)) == kBadParam);
  CHECK(w.rank.command(kCreate, 2, with("slot_log", 13)) == kBadParam);
  Bits wide = with("wide", 1);
  kGroup.set(wide, "elem", 0);
  kGroup.set(wide, "slot_log", 12);
  CHECK(w.rank.command(kCreate, 2, wide) == kBadParam);  // FP32 sums need two rows
  for (const std::string field : {"src", "dst", "chunk_bytes", "round_bytes", "own_off"}) {
    CHECK(w.rank.command(kStart, 1, with(field, 8)) == kBadParam);
  }
  CHECK(w.rank.command(kStart, 1, with("chunk_bytes", 0)) == kBadParam);
  CHECK(w.rank.command(kStart, 1, with("rounds", 0)) == kBadParam);
  CHECK(w.rank.command(kStart, 1, with("pieces", 1)) == kBadParam);
  CHECK(w.rank.command(kStart, 1, with("pieces", 3)) == kBadParam);
  CHECK(w.rank.command(kStart, 1, with("own_off", 4096)) == kBadParam);
  Bits many = with("chunk_bytes", 8 * 512);
  kGroup.set(many, "round_bytes", 32 * 512);
  kGroup.set(many, "pieces", 8);
  CHECK(w.rank.command(kStart, 1, many) == kBadParam);  // needs a staging buffer more
  for (uint32_t g = 0; g < 4; ++g) CHECK(w.rank.state(g) == (g == 1 ? kIdle : kFree));
  CHECK(w.rank.command(kDestroy, 1) == kOk);
  CHECK(w.rank.state(1) == kFree);
}

TEST_CASE("a reset in the middle of work leaves nothing behind") {
  GroupPlan p = one_shot(3);
  World w(0, p);
  for (const uint64_t when : {20, 45, 90, 200}) {
    w.start();
    w.rank.arrive(w.piece(1, 0));
    w.rank.bench.tick(when);
    w.rank.restart();
    CHECK(w.rank.state(1) == kFree);
    w.create();
  }
  w.start();
  w.loaded();
  for (uint32_t n = 0; n < p.pieces(); ++n) {
    for (const uint64_t r : {1, 2}) CHECK(w.answer(w.piece(r, n)) == kAccept);
  }
  w.rank.bench.wait("event", [&] { return !w.rank.events.empty(); });
  CHECK(w.result() == w.own_sum({0, 1, 2}));
}
