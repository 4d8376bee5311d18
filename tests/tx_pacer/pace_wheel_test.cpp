// SPDX-License-Identifier: Apache-2.0
//
// pace_wheel: random times and removals beside a plain list.
#include <Vpace_wheel.h>

#include <map>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

TEST_CASE("QPs come back once, not before their time and not long after it, or when taken out") {
  Bench<Vpace_wheel> bench;
  Rng random = rnic::test::rng("pace_wheel");
  uint32_t now = 0xFFFFFE00;
  bench->now_i = now;
  bench.reset();
  std::map<unsigned, uint64_t> waits;  // when it is due, in cycles of bench
  std::map<unsigned, uint64_t> out;    // taken out then
  uint64_t returned = 0, latest = 0;
  const auto tick = [&] {
    bench->due_ready = random.chance(0.9);
    bench.settle();
    const bool due = bench->due_valid && bench->due_ready;
    const unsigned q = bench->due_qpn;
    bench.tick();
    bench->now_i = ++now;
    if (!due) return;
    ++returned;
    REQUIRE(waits.count(q) == 1);
    const uint64_t late = bench.cycle() - waits[q];
    if (out.count(q) == 0) {
      CHECK(bench.cycle() >= waits[q]);
      latest = std::max(latest, late);
    } else {
      CHECK(bench.cycle() - out[q] < 60);
      out.erase(q);
    }
    waits.erase(q);
  };
  bench->cmd_i = 0;
  while (!bench->init_done_o) tick();
  uint64_t put = 0;
  for (unsigned i = 0; i < 200'000; ++i) {
    const auto q = static_cast<unsigned>(random.between(0, 63));
    bench.settle();
    if (waits.count(q) == 0 && bench->room_in_o && random.chance(0.15)) {
      // Some are in the past already.
      const auto ahead = static_cast<int64_t>(random.between(0, 450)) - 20;
      const uint32_t slot = (now + static_cast<uint32_t>(ahead) + 15) >> 4;
      bench->cmd_i = 1;
      bench->cmd_insert_i = 1;
      bench->cmd_qpn_i = q;
      bench->cmd_slot_i = slot;
      const auto wait = static_cast<int32_t>((slot << 4) - now);
      waits[q] = bench.cycle() + static_cast<uint64_t>(std::max(wait, 0));
      ++put;
    } else if (bench->room_out_o && random.chance(0.05)) {
      // Also one that is not there.
      bench->cmd_i = 1;
      bench->cmd_insert_i = 0;
      bench->cmd_qpn_i = q;
      if (waits.count(q) != 0 && out.count(q) == 0) out[q] = bench.cycle();
    }
    tick();
    bench->cmd_i = 0;
  }
  for (unsigned i = 0; i < 2000; ++i) tick();
  CHECK(waits.empty());
  CHECK(returned == put);
  CHECK(put > 10'000);
  INFO("latest " << latest);
  CHECK(latest < 200);  // who takes what is due waits a tenth of the time
}
