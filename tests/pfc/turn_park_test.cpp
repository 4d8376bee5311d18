// SPDX-License-Identifier: Apache-2.0
// Turns of paused classes wait, all others pass, none is lost or comes twice; the class of a QP.
#include <Vpark_bench.h>
#include <Vtx_class.h>

#include <map>
#include <set>

#include "tests/sq_engine/requester_types.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/stream.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kQps = 12;
const PkgStruct kPath("path_t");

struct ParkBench {
  ParkBench()
      : in(bench, "in", bench.top().in_valid, bench.top().in_ready,
           [this](uint32_t qpn) { bench.top().in_qpn = qpn; }),
        out(bench, "out", bench.top().out_valid, bench.top().out_ready,
            [this] { return bench.top().out_qpn; }) {
    out.on_item([this](uint32_t qpn) { seen.emplace_back(qpn, bench.cycle()); });
    bench.reset();
    bench.wait(
        "the memory to be cleared", [&] { return bench.top().init_done_o != 0; }, 100);
  }
  void learn(unsigned qpn, unsigned cls) {
    auto& t = bench.top();
    t.learn_i = 1;
    t.learn_qpn_i = qpn;
    t.learn_class_i = static_cast<CData>(cls);
    bench.tick(2);
    t.learn_i = 0;
    bench.tick();
  }
  void order(uint64_t op, unsigned qpn, uint64_t cycles) {
    write_pin(bench.top().order, kOrder.pack({{"op", op}, {"qpn", qpn}}));
    bench.top().order_i = 1;
    bench.tick(cycles);
    bench.top().order_i = 0;
  }
  std::vector<unsigned> order_of_turns() const {
    std::vector<unsigned> list;
    for (const auto& [qpn, cycle] : seen) list.push_back(qpn);
    return list;
  }

  Bench<Vpark_bench> bench;
  StreamSource<uint32_t> in;
  StreamSink<uint32_t> out;
  std::vector<std::pair<unsigned, uint64_t>> seen;
};

using List = std::vector<unsigned>;

}  // namespace

TEST_CASE("turns of a paused class wait for its end, in their order; others pass at once") {
  ParkBench b;
  for (unsigned q = 0; q < 6; ++q) b.learn(q, q % 2 == 0 ? 3 : 5);
  b.bench.top().paused_i = 1 << 3;
  b.bench.tick(2);
  for (const unsigned q : {0u, 1u, 2u, 3u, 4u, 5u, 9u}) b.in.push(q);
  b.bench.tick(30);
  CHECK(b.order_of_turns() == List{1, 3, 5, 9});  // 9 has sent nothing: its class is not known
  b.bench.top().paused_i = 0;
  b.bench.tick(10);
  REQUIRE(b.seen.size() == 7);
  std::set<unsigned> rest;
  for (size_t i = 4; i < 7; ++i) rest.insert(b.seen[i].first);
  CHECK(rest == std::set<unsigned>{0, 2, 4});
}

TEST_CASE("a turn whose class is free passes in the same cycle") {
  ParkBench b;
  b.learn(1, 2);
  b.bench.top().paused_i = 0xFB;
  for (int i = 0; i < 20; ++i) b.in.push(1);
  b.bench.tick(21);
  CHECK(b.seen.size() == 20);
}

TEST_CASE("an order that ends the work of a QP lets its parked turn out, and no other") {
  for (const uint64_t op : {kClear, kOrderErr}) {
    ParkBench b;
    for (unsigned q = 0; q < 4; ++q) b.learn(q, 1);
    b.bench.top().paused_i = 1 << 1;
    b.bench.tick(2);
    for (unsigned q = 0; q < 4; ++q) b.in.push(q);
    b.bench.tick(20);
    CHECK(b.seen.empty());
    b.order(op, 2, 12);
    CHECK(b.order_of_turns() == List{2});
    // CLEAR forgets the class.
    b.in.push(2);
    b.bench.tick(20);
    CHECK(b.seen.size() == (op == kClear ? 2 : 1));
  }
}

TEST_CASE("turns of all QPs at random: none lost, none twice, none of a paused class begins") {
  ParkBench b;
  auto random = rng("turns");
  std::map<unsigned, unsigned> cls;
  for (unsigned q = 0; q < kQps; ++q) {
    cls[q] = static_cast<unsigned>(random.below(4));
    b.learn(q, cls[q]);
  }
  if (random.chance(0.7)) b.out.set_stall(Stall::random(0.4));
  std::set<unsigned> away;  // QPs whose turn is inside
  uint8_t paused = 0;
  std::array<uint64_t, 8> since{};  // paused since then
  uint64_t turns = 0, given = 0;
  for (int i = 0; i < 30000; ++i) {
    if (random.chance(0.01)) {
      paused = static_cast<uint8_t>(random.u32() & 0xF);
      for (unsigned c = 0; c < 8; ++c) {
        if ((paused >> c & 1) == 0)
          since[c] = UINT64_MAX;
        else if (since[c] == UINT64_MAX || since[c] == 0)
          since[c] = b.bench.cycle();
      }
      b.bench.top().paused_i = paused;
    }
    const auto q = static_cast<unsigned>(random.below(kQps));
    if (random.chance(0.6) && away.insert(q).second) {
      b.in.push(q);
      ++given;
    }
    b.bench.tick();
    for (; turns < b.seen.size(); ++turns) {
      const auto [qpn, cycle] = b.seen[turns];
      REQUIRE(away.erase(qpn) == 1);
      // What is offered stays; a stall may be long, so 60 cycles are given.
      const uint64_t from = since[cls[qpn]];
      REQUIRE((from == UINT64_MAX || from == 0 || cycle <= from + 60));
    }
  }
  b.bench.top().paused_i = 0;
  b.bench.tick(200);
  CHECK(b.seen.size() == given);
  CHECK(given > 3000);
}

TEST_CASE("the class of a QP is that of its last packet, request or response, until CLEAR") {
  ParkBench b;
  auto& t = b.bench.top();
  const auto known = [&](unsigned qpn) {
    t.ask_qpn_i = qpn;
    t.eval();
    return static_cast<unsigned>(t.ask_class_o);
  };
  const auto respond = [&](unsigned qpn, unsigned cls) {
    t.rsp_i = 1;
    t.rsp_qpn_i = qpn;
    t.rsp_class_i = static_cast<CData>(cls);
  };
  for (unsigned q = 0; q < kQps; ++q) CHECK(known(q) == 0);
  b.learn(3, 5);
  CHECK(known(3) == 13);
  b.learn(3, 6);
  CHECK(known(3) == 14);
  // A response waits while requests are noted.
  t.learn_i = 1;
  t.learn_qpn_i = 1;
  t.learn_class_i = 2;
  respond(4, 7);
  b.bench.tick(2);
  t.rsp_i = 0;
  b.bench.tick(10);
  CHECK(known(4) == 0);
  t.learn_i = 0;
  b.bench.tick(3);
  CHECK(known(4) == 15);
  CHECK(known(1) == 10);
  // CLEAR forgets, also a response that waits.
  t.learn_i = 1;
  respond(4, 6);
  b.bench.tick(2);
  t.rsp_i = 0;
  b.order(kClear, 4, 3);
  t.learn_i = 0;
  b.bench.tick(5);
  CHECK(known(4) == 0);
  b.order(kOrderErr, 3, 3);
  b.bench.tick(2);
  CHECK(known(3) == 14);
}

TEST_CASE("packets of a path have the class of its DSCP or tag, also when the map changes") {
  Bench<Vtx_class> bench;
  auto& t = bench.top();
  auto random = rng("paths");
  struct Marks {
    unsigned dscp, vlan, pcp;
  };
  std::vector<Marks> paths(20);
  for (unsigned i = 0; i < 20; ++i) {
    Marks& m = paths[i];
    m = {static_cast<unsigned>(random.below(64)), static_cast<unsigned>(random.below(2)),
         static_cast<unsigned>(random.below(8))};
    write_pin(t.cw, kPath.pack({{"dscp", m.dscp}, {"vlan", m.vlan}, {"pcp", m.pcp}}));
    t.cw_index = static_cast<SData>(i);
    t.cw_valid = 1;
    bench.tick(2);
  }
  t.cw_index = 20;  // there is no such path: nothing is written
  bench.tick(2);
  t.cw_valid = 0;
  t.cfg_default_i = 6;
  for (unsigned shift = 0; shift < 8; ++shift) {
    for (unsigned w = 0; w < 8; ++w) t.cfg_map_i[w] = ((w + shift) % 8) * 0x11111111u;
    for (const bool by_tag : {false, true}) {
      t.cfg_pcp_i = by_tag;
      for (unsigned i = 0; i < 20; ++i) {
        t.path_i = static_cast<SData>(i);
        t.eval();
        const Marks& m = paths[i];
        const unsigned want = by_tag ? (m.vlan != 0 ? m.pcp : 6) : (m.dscp / 8 + shift) % 8;
        REQUIRE(t.class_o == want);
      }
    }
  }
}
