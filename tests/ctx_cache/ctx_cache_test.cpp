// SPDX-License-Identifier: Apache-2.0
//
// ctx_cache: whatever stays on chip or goes to host memory and back, every reader sees what the
// owners wrote; nobody waits for ever; a context that cannot be read costs its QP alone.
#include <Vctx_cache.h>
#include <Vctx_cache_wide.h>

#include "tests/ctx_cache/cache_world.hpp"

using namespace rnic::test;

namespace {

using Small = CacheWorld<Vctx_cache, 128, 8, 40>;
using Wide = CacheWorld<Vctx_cache_wide, 1024, 32, 100>;

template <class World>
void check_counts(const World& w) {
  CHECK(w.misses == w.reads);
  CHECK(w.traced == w.reads);
  CHECK(w.fails == w.lost);
}

// Nobody works but the test; a read takes `cycles`.
CacheConfig quiet(unsigned cycles) {
  return {.read_low = cycles,
          .read_high = cycles,
          .lookups = 0,
          .hold = 1,
          .hints = 0,
          .turns = 0,
          .commands = 0};
}

}  // namespace

TEST_CASE("every reader sees what the owners wrote, on chip or not: one set, 128 bit") {
  Small w("world");
  w.run(60'000);
  CHECK(w.reads > 500);
  CHECK(w.writes > 300);
  CHECK(w.turns_out > 300);
  CHECK(w.lost == 0);
  check_counts(w);
}

TEST_CASE("every reader sees what the owners wrote, on chip or not: four sets, 1024 bit") {
  Wide w("world");
  w.run(60'000);
  CHECK(w.reads > 500);
  CHECK(w.writes > 300);
  CHECK(w.turns_out > 300);
  check_counts(w);
}

TEST_CASE("the same under stalls on every side, with a slow host") {
  Wide w("world",
         {.read_low = 100, .read_high = 600, .placed_high = 200, .stall = Stall::random(0.5)});
  w.run(60'000);
  CHECK(w.turns_out > 100);
  CHECK(w.most_placing >= 3);  // up to 4 write backs side by side
  check_counts(w);
}

// All seven pins in one set of eight ways, held for long: one way is left for all others.
TEST_CASE("owners that keep seven contexts of one set for long hold up nobody for ever") {
  Small w("world", {.lookups = 0.9, .hold = 2000, .turns = 0.3, .commands = 0.05});
  const uint64_t before = w.answers();
  w.run(100'000);
  CHECK(w.answers() - before > 5000);
  check_counts(w);
}

TEST_CASE("QPs of one set alone, with commands that create and destroy them all the time") {
  Small w("world", {.hold = 20, .commands = 0.2, .qps = 12});
  w.run(60'000);
  check_counts(w);
}

TEST_CASE("a context whose read fails is lost with its QP and no other") {
  Small w("world", {.read_errors = 0.05});
  w.run(60'000);
  CHECK(w.lost > 20);
  check_counts(w);
}

TEST_CASE("a context that comes back old, foreign or broken is lost, not used") {
  Wide w("world", {.lost_writes = 0.05, .spoiled = 0.05});
  w.run(60'000);
  CHECK(w.lost > 20);
  check_counts(w);
}

TEST_CASE("without a base no context leaves the chip, and QPs beyond it are refused") {
  Small w("world", {.base = 0});
  w.run(30'000);
  CHECK(w.reads == 0);
  CHECK(w.writes == 0);
  CHECK(w.misses == 0);
  for (uint32_t qpn = 0; qpn < 40; ++qpn) {
    w.top.room_qpn_i = qpn;
    w.bench.settle();
    CHECK((w.top.room_o != 0) == (qpn < 8));
    if (qpn >= 8) CHECK(!w.exists(qpn));
  }
}

TEST_CASE("the base stands while a context is in host memory, and changes when none is") {
  Small w("world", {.lookups = 0, .hints = 0, .turns = 0, .commands = 0});
  for (uint32_t qpn = 0; qpn < 12; ++qpn) w.create(qpn);
  w.top.cfg_base_i = 0x9000'0000;  // reads and writes go on at the old one: the world checks
  w.bench.tick(4);
  for (uint32_t qpn = 0; qpn < 12; ++qpn) w.look(qpn);
  CHECK(w.reads > 0);
  for (uint32_t qpn = 0; qpn < 12; ++qpn) w.destroy(qpn);
  w.bench.tick(4);
  w.config.base = 0x9000'0000;
  const uint64_t before = w.writes;
  for (uint32_t qpn = 0; qpn < 12; ++qpn) w.create(qpn);
  CHECK(w.writes > before);
}

TEST_CASE("a hit takes 1 cycle; a lone miss asks after 4 and answers 4 after its data") {
  CacheConfig config = quiet(40);
  config.placed_high = 1;
  Wide w("world", config);
  for (uint32_t qpn = 0; qpn < 44; ++qpn) w.create(qpn);
  w.look(43);
  // look() counts the cycle of the request, that of the answer and one in which it is seen.
  CHECK(w.look(43) == 3);
  uint64_t checked = 0;
  for (uint32_t qpn = 0; qpn < 44; ++qpn) {
    const uint64_t reads = w.reads, start = w.bench.cycle() + 1;
    const uint64_t cycles = w.look(qpn);
    if (w.reads == reads) continue;
    const uint64_t answer = start + cycles - 2;
    // The wait for a write back before it is not counted.
    CHECK(w.last_rdreq_cycle - start <= 4);
    CHECK(answer - w.last_data_cycle == 4);
    ++checked;
  }
  CHECK(checked > 10);
}

TEST_CASE("a hit passes a miss: other readers do not wait for it") {
  Wide w("world", quiet(3000));
  for (uint32_t qpn = 0; qpn < 44; ++qpn) w.create(qpn);
  // resp_engine misses, then rx_responder looks at what is on chip.
  uint32_t away = 0;
  for (uint32_t qpn = 0; qpn < 44; ++qpn) {
    const uint64_t reads = w.reads;
    w.ask_re(qpn);
    w.bench.tick(60);
    away = qpn;
    if (w.reads != reads) break;
  }
  CHECK(w.reads == 1);
  // The last ones created, as far as none of them had to make room.
  unsigned passed = 0;
  for (uint32_t qpn = 43; qpn > 36; --qpn) {
    const uint64_t reads = w.reads, cycles = w.look(qpn);
    if (w.reads != reads || qpn == away) break;
    CHECK(cycles == 3);
    CHECK(!w.re_answered());
    ++passed;
  }
  CHECK(passed > 2);
}

TEST_CASE("turns that have their context pass one that waits") {
  Wide w("world", quiet(500));
  for (uint32_t qpn = 0; qpn < 100; ++qpn) w.create(qpn);
  // 32 of them are on chip, of the last ones most.
  std::vector<uint32_t> order = w.turns_of({0, 1, 2, 3, 96, 97, 98, 99});
  CHECK(order.size() == 8);
  CHECK(w.read_qps.size() > 0);
  for (size_t i = 0; i + w.read_qps.size() < 8; ++i) CHECK(w.read_qps.count(order[i]) == 0);
  CHECK(w.read_qps.size() < 8);
}

TEST_CASE("of the packets that wait, only those that come next have their contexts fetched") {
  Wide w("world", quiet(20));
  for (uint32_t qpn = 0; qpn < 100; ++qpn) w.create(qpn);
  w.bench.tick(200);
  w.read_qps.clear();
  // Away: the first ones created, but for a few that found a place.
  const auto read_up_to = [&](uint32_t last) {
    CHECK(*w.read_qps.rbegin() == last);
    CHECK(w.read_qps.size() + 2 > last);
  };
  for (uint32_t qpn = 0; qpn < 24; ++qpn) w.store_packet(qpn);
  w.bench.tick(500);
  read_up_to(7);
  for (uint32_t next = 8; next < 24; ++next) {
    w.take_packet();
    w.bench.tick(200);
    read_up_to(next);
  }
  // Here, and so answered like any other that is here.
  CHECK(w.look(23) == 3);
  // Packets that go on as they are stored, and more than can be named: nothing is left behind.
  for (int i = 0; i < 8; ++i) w.take_packet();
  CHECK(w.waiting == 0);
  w.read_qps.clear();
  w.store_packet(40);
  w.bench.tick(200);
  CHECK(w.read_qps == std::set<uint32_t>{40});
  // Answers that wait, likewise.
  w.read_qps.clear();
  for (uint32_t qpn = 50; qpn < 62; ++qpn) w.list_answer(qpn);
  w.bench.tick(500);
  CHECK(w.read_qps == std::set<uint32_t>{50, 51, 52, 53, 54, 55, 56, 57});
}

TEST_CASE("a reset in the middle of everything starts anew") {
  Small w("world");
  for (int i = 0; i < 3; ++i) {
    w.run(3'000);
    w.restart();
    w.run(5'000);
  }
  check_counts(w);
}

TEST_CASE("contexts for long", "[.soak]") {
  Small a(
      "small",
      {.read_errors = 0.002, .lost_writes = 0.002, .spoiled = 0.002, .stall = Stall::random(0.2)});
  a.run(2'000'000);
  check_counts(a);
  Wide b("wide", {.read_errors = 0.002, .stall = Stall::random(0.1)});
  b.run(2'000'000);
  check_counts(b);
}
