// SPDX-License-Identifier: Apache-2.0
//
// Ranks around a ring, each with its own arp_fsm, against the sum of harness/numerics in the order
// of the ring, bit by bit.
#include <Varp_fsm_1024.h>
#include <Varp_fsm_128.h>

#include "tests/arp_fsm/rank.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/soak.hpp"

using namespace rnic::test;
using namespace rnic::numerics;

namespace {

struct S128 {
  using Top = Varp_fsm_128;
  static constexpr uint32_t kW = 128, kGroups = 4, kSlots = 8, kStage = 8, kRing = 16;
};
struct S1024 {
  using Top = Varp_fsm_1024;
  static constexpr uint32_t kW = 1024, kGroups = 2, kSlots = 4, kStage = 4, kRing = 4;
};

// Finite numbers near one another, and now and then anything.
Buffer numbers(Rng& random, Element type, size_t bytes) {
  Buffer out = random.bytes(bytes);
  if (type == Element::kInt32) return out;
  const uint32_t fraction = type == Element::kFp16 ? 10 : type == Element::kBf16 ? 7 : 23;
  const uint32_t middle = type == Element::kFp16 ? 12 : 124;
  const uint32_t sign = 1u << (8 * element_bytes(type) - 1);
  for (size_t i = 0; i < bytes / element_bytes(type); ++i) {
    if (random.chance(0.01)) continue;
    const uint32_t x = load(type, out, i);
    const auto exponent = static_cast<uint32_t>(middle + random.below(8));
    store(type, out, i, (x & (sign | ((1u << fraction) - 1))) | exponent << fraction);
  }
  return out;
}

template <class C>
struct Ring {
  static constexpr size_t kBytes = 1 << 19;
  std::vector<std::unique_ptr<Rank<C>>> ranks;
  Rng random = rng("ring");

  explicit Ring(uint32_t n) {
    for (uint32_t r = 0; r < n; ++r) ranks.push_back(std::make_unique<Rank<C>>(r, kBytes));
    for (uint32_t r = 0; r < n; ++r) {
      Rank<C>* next = ranks[(r + 1) % n].get();
      ranks[r]->send = [next](ArpPacket p) { next->arrive(std::move(p)); };
      ranks[r]->qpn_of = [](const ArpPacket& p) {
        return rx_qpn(static_cast<uint32_t>(kAsk.get(p.ask, "group")),
                      kAsk.get(p.ask, "contributor"));
      };
      ranks[r]->memory = random.bytes(kBytes);
    }
  }
  void step() {
    for (auto& r : ranks) r->bench.tick();
  }
  void create(uint32_t group, const GroupPlan& p) {
    for (auto& r : ranks) {
      REQUIRE(r->command(kCreate, group, group_fields(*r, group, p)) == kOk);
      const uint32_t prev = (r->number + p.ranks - 1) % p.ranks;
      REQUIRE(r->command(kPeer, group, Bits(kGroup.width()), prev, rx_qpn(group, prev)) == kOk);
    }
  }
  // Fills the source of every rank; what every destination must become.
  Buffer fill(const GroupPlan& p) {
    std::vector<Buffer> inputs;
    const size_t bytes = size_t{p.round_bytes()} * p.rounds;
    REQUIRE(p.src + bytes <= kBytes);
    REQUIRE(p.dst + bytes <= kBytes);
    for (auto& r : ranks) {
      inputs.push_back(numbers(random, p.elem, bytes));
      std::copy(inputs.back().begin(), inputs.back().end(),
                r->memory.begin() + static_cast<std::ptrdiff_t>(p.src));
    }
    return ring_allreduce(p.elem, inputs, p.chunk_bytes);
  }
  void start(uint32_t group, const GroupPlan& p, uint64_t apart = 0) {
    for (auto& r : ranks) {
      REQUIRE(r->command(kStart, group, group_fields(*r, group, p)) == kOk);
      for (uint64_t i = 0; i < random.below(apart + 1); ++i) step();
    }
  }
  void wait_events(size_t each, uint64_t limit = 400000) {
    for (uint64_t i = 0;; ++i) {
      bool all = true;
      for (auto& r : ranks) all = all && r->events.size() >= each;
      if (all) return;
      if (i == limit) {
        std::string who;
        for (auto& r : ranks) who += " " + std::to_string(r->events.size());
        throw Timeout("events of all ranks; they have" + who);
      }
      step();
    }
  }
  // Memory of a rank as it was, but for the sums.
  void check(const std::vector<std::vector<uint8_t>>& before, const GroupPlan& p,
             const Buffer& sums) {
    for (auto& r : ranks) {
      auto want = before[r->number];
      std::copy(sums.begin(), sums.end(), want.begin() + static_cast<std::ptrdiff_t>(p.dst));
      if (r->memory == want) continue;
      size_t at = 0;
      while (r->memory[at] == want[at]) ++at;
      FAIL_CHECK("rank " << r->number << ": memory differs at " << at << " (sums at " << p.dst
                         << ", " << sums.size() << " bytes)");
    }
  }
  std::vector<std::vector<uint8_t>> snapshot() const {
    std::vector<std::vector<uint8_t>> all;
    for (const auto& r : ranks) all.push_back(r->memory);
    return all;
  }
  // An operation from command to event; its result is checked.
  void run(uint32_t group, const GroupPlan& p, uint64_t apart = 0) {
    const Buffer sums = fill(p);
    const auto before = snapshot();
    const size_t each = ranks[0]->events.size() + 1;
    start(group, p, apart);
    wait_events(each);
    for (auto& r : ranks) {
      CHECK(r->events.back().code == kDone);
      CHECK(r->events.back().number == group);
      CHECK(r->state(group) == kIdle);
    }
    check(before, p, sums);
  }
};

template <class C>
GroupPlan small_plan(Rng& random) {
  const uint32_t row = C::kW / 8;
  GroupPlan p;
  p.elem = static_cast<Element>(random.below(4));
  p.wide = random.chance(0.4);
  const uint32_t least = C::kW == 1024 ? 7 : 4;
  p.slot_log = static_cast<uint32_t>(random.between(least, 10));
  const auto pieces = random.between(1, C::kStage - 1);
  // The last piece may be short.
  p.chunk_bytes = static_cast<uint32_t>((pieces - 1) << p.slot_log) +
                  static_cast<uint32_t>(random.between(1, (1u << p.slot_log) / row)) * row;
  p.rounds = static_cast<uint32_t>(random.between(1, 3));
  p.dst = 1 << 18;
  return p;
}

template <class C>
void random_rings(uint64_t seed, int count) {
  Rng random = rng("plans" + std::to_string(seed));
  for (int i = 0; i < count; ++i) {
    GroupPlan p = small_plan<C>(random);
    p.ranks = static_cast<uint32_t>(random.between(2, 4));
    Ring<C> ring(p.ranks);
    for (auto& r : ring.ranks) {
      const double stalls[] = {0, 0.2, 0.6};
      r->set_weather({stalls[random.below(3)], random.between(2, 80), random.between(1, 100),
                      random.between(1, 100), random.between(5, 60), random.chance(0.5) ? 0.3 : 0,
                      false});
    }
    INFO("seed " << seed << " ring " << i << ": " << p.ranks << " ranks, " << element_name(p.elem)
                 << (p.wide ? " in FP32" : "") << ", slots of " << (1 << p.slot_log)
                 << ", chunks of " << p.chunk_bytes << ", " << p.rounds << " rounds");
    ring.create(1, p);
    ring.run(1, p, random.below(300));
    ring.run(1, p, random.below(300));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("ranks around a ring come to the sum of the ring's order, bit by bit", "", S128,
                   S1024) {
  random_rings<TestType>(0, TestType::kW == 128 ? 14 : 6);
}

TEMPLATE_TEST_CASE("ranks around a ring, many times", "[.soak]", S128, S1024) {
  for (const uint64_t seed : soak_seeds(40)) random_rings<TestType>(seed + 1, 20);
}

TEST_CASE("groups work side by side, each in its own time") {
  Ring<S128> ring(3);
  std::vector<GroupPlan> plans(3);
  std::vector<Buffer> sums;
  for (uint32_t g = 0; g < 3; ++g) {
    plans[g] = small_plan<S128>(ring.random);
    plans[g].ranks = 3;
    plans[g].src = g * 0x10000;
    plans[g].dst = 0x40000 + g * 0x10000;
    plans[g].rounds = 1;
    ring.create(g, plans[g]);
  }
  for (auto& r : ring.ranks) r->set_weather({0.2, 30, 20, 20, 20, 0.1, false});
  for (int again = 0; again < 2; ++again) {
    sums.clear();
    for (const auto& p : plans) sums.push_back(ring.fill(p));
    auto before = ring.snapshot();
    for (uint32_t g = 0; g < 3; ++g) ring.start(g, plans[g], 100);
    ring.wait_events(3 * static_cast<size_t>(again + 1));
    for (auto& b : before) {
      for (uint32_t g = 0; g < 2; ++g)
        std::copy(sums[g].begin(), sums[g].end(),
                  b.begin() + static_cast<std::ptrdiff_t>(plans[g].dst));
    }
    ring.check(before, plans[2], sums[2]);
  }
}

TEST_CASE("every packet once, every duplicate seen, and no memory but the sums is written") {
  Ring<S128> ring(4);
  GroupPlan p;
  p.ranks = 4;
  p.chunk_bytes = 3 * 512;
  p.rounds = 2;
  p.dst = 1 << 18;
  for (auto& r : ring.ranks) r->set_weather({0.1, 30, 20, 20, 20, 1.0, false});
  ring.create(0, p);
  ring.run(0, p);
  for (auto& r : ring.ranks) {
    // 2 (N - 1) steps of 3 pieces in 2 rounds, each comes twice and the second time again.
    CHECK(r->counters["accepted"] == 36);
    CHECK(r->counters["duplicate"] == 36);
    CHECK(r->counters["refused"] == 0);
    CHECK(r->counters["done"] == 1);
  }
}

TEST_CASE("staging buffers and WQEs stay until they are acknowledged, and then go on") {
  Ring<S128> ring(3);
  GroupPlan p;
  p.ranks = 3;
  p.slot_log = 8;
  p.chunk_bytes = 7 * 256;
  p.rounds = 3;
  p.dst = 1 << 18;
  for (auto& r : ring.ranks) r->set_weather({0, 20, 20, 20, 20, 0, true});
  ring.create(2, p);
  const Buffer sums = ring.fill(p);
  const auto before = ring.snapshot();
  ring.start(2, p);
  for (int i = 0; i < 5000; ++i) ring.step();
  for (auto& r : ring.ranks) {
    // A ring of 16 WQEs is full, no staging buffer is left, nothing was lost or changed.
    CHECK(r->events.empty());
    CHECK(r->bf.size() <= S128::kRing);
    CHECK(r->bf.size() > 7);
    CHECK(r->counters["not_ready"] > 0);
  }
  for (auto& r : ring.ranks) r->set_weather({0, 20, 20, 20, 20, 0, false});
  ring.wait_events(1);
  ring.check(before, p, sums);
}

TEST_CASE(
    "done is what this rank has and nobody reads any more: the last packets may be under way") {
  Ring<S128> ring(2);
  GroupPlan p;
  p.slot_log = 8;
  p.chunk_bytes = 3 * 256;
  p.dst = Ring<S128>::kBytes / 2;
  ring.create(0, p);
  auto& rank = *ring.ranks[0];
  // Three pieces of the own chunk, then three sums that rank 1 waits for.
  rank.weather.hold_acks_behind = 2;
  const Buffer sums = ring.fill(p);
  const auto before = ring.snapshot();
  ring.start(0, p);
  for (int i = 0; i < 2000; ++i) ring.step();
  CHECK(rank.events.empty());
  CHECK(rank.state(0) == kRun);
  CHECK(rank.query(0, "sent") == 6);
  CHECK(rank.query(0, "acked") == 2);
  CHECK(rank.query(0, "held") == 3);
  CHECK(rank.query(0, "done") == 6);
  rank.weather.hold_acks_behind = 3;
  ring.wait_events(1);
  CHECK(rank.events[0].code == kDone);
  CHECK(rank.state(0) == kIdle);
  CHECK(rank.query(0, "acked") == 3);
  CHECK(rank.query(0, "held") == 3);
  ring.check(before, p, sums);
  SECTION("the next operation goes on from there") {
    rank.weather.hold_acks_behind = UINT64_MAX;
    ring.run(0, p);
    CHECK(rank.query(0, "sent") == 12);
  }
  SECTION("a send QP that fails then ends the group, and it is said") {
    rank.fail_qp(tx_qpn(0));
    ring.wait_events(1);
    for (int i = 0; i < 100; ++i) ring.step();
    REQUIRE(rank.events.size() == 2);
    CHECK(rank.events[1].code == kQpFailed);
    CHECK(rank.state(0) == kAbortedState);
    CHECK(rank.query(0, "cause") == kQpFailed);
    CHECK(rank.command(kStart, 0, group_fields(rank, 0, p)) == kBadState);
  }
  SECTION("a send QP that fails with nothing on its way ends nothing") {
    rank.weather.hold_acks_behind = UINT64_MAX;
    for (int i = 0; i < 200; ++i) ring.step();
    CHECK(rank.query(0, "acked") == 6);
    rank.fail_qp(tx_qpn(0));
    for (int i = 0; i < 100; ++i) ring.step();
    CHECK(rank.events.size() == 1);
    CHECK(rank.state(0) == kIdle);
  }
}

TEST_CASE("the ring keeps its pace: a beat per cycle, and a cycle or two per piece") {
  Ring<S128> ring(2);
  GroupPlan p;
  p.ranks = 2;
  p.slot_log = 12;
  p.chunk_bytes = 7 * 4096;
  p.rounds = 4;
  p.dst = 1 << 18;
  for (auto& r : ring.ranks) r->set_weather({0, 40, 1, 1, 10, 0, false});
  ring.create(0, p);
  uint64_t first = 0, last = 0, beats = 0;
  auto& rank = *ring.ranks[0];
  rank.bench.on_sample([&] {
    if (!rank.t.pay_valid || !rank.t.pay_ready) return;
    if (first == 0) first = rank.bench.cycle();
    last = rank.bench.cycle();
    ++beats;
  });
  ring.run(0, p);
  CHECK(beats == 2 * 4 * 7 * 256);
  CHECK(last - first + 1 < beats * 103 / 100);
}
