// SPDX-License-Identifier: Apache-2.0
#include <Vfree_list.h>
#include <Vrr1.h>
#include <Vrr5.h>
#include <Vrr64.h>

#include <algorithm>
#include <deque>
#include <set>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "tests/support/stream.hpp"
#include "tests/support/verilated_hooks.hpp"

using namespace rnic::test;

namespace {

// The definition: the first request at or behind the pointer, cyclically.
template <class Top>
void try_rr(unsigned n) {
  Bench<Top> bench;
  bench->req_i = 0;
  bench.reset();
  auto random = rng("requests");
  unsigned pointer = 0;
  for (int step = 0; step < 4000; ++step) {
    uint64_t requests = random.bits(n);
    if (random.chance(0.4)) requests &= random.bits(n);
    if (random.chance(0.4)) requests &= random.bits(n) & random.bits(n);
    const bool advance = random.chance(0.7);
    bench->req_i = static_cast<std::remove_reference_t<decltype(bench->req_i)>>(requests);
    bench->advance_i = advance;
    bench.settle();
    REQUIRE((bench->any_o != 0) == (requests != 0));
    if (requests == 0) {
      REQUIRE(bench->gnt_o == 0);
      REQUIRE(bench->idx_o == 0);
    } else {
      unsigned want = pointer;
      while ((requests >> want & 1) == 0) want = (want + 1) % n;
      REQUIRE(bench->gnt_o == uint64_t{1} << want);
      REQUIRE(bench->idx_o == want);
      if (advance) pointer = (want + 1) % n;
    }
    bench.tick();
  }
}

}  // namespace

TEST_CASE("rr_select picks the next request behind the pointer") {
  SECTION("one request line") { try_rr<Vrr1>(1); }
  SECTION("five") { try_rr<Vrr5>(5); }
  SECTION("sixty-four") { try_rr<Vrr64>(64); }
}

TEST_CASE("free_list hands out every id once, in order after reset") {
  Bench<Vfree_list> bench;
  StreamSink<uint64_t> ids(bench, "alloc", bench->alloc_valid, bench->alloc_ready, bench->alloc_id);
  bench.reset();
  CHECK(bench->count_o == 6);
  bench.tick(10);
  CHECK(ids.items() == std::vector<uint64_t>{0, 1, 2, 3, 4, 5});
  CHECK(ids.cycles().back() - ids.cycles().front() == 5);
  CHECK(bench->count_o == 0);
  CHECK(bench->alloc_valid == 0);
}

TEST_CASE("free_list never gives an id twice and gives freed ids in order of return") {
  Bench<Vfree_list> bench;
  StreamSink<uint64_t> ids(bench, "alloc", bench->alloc_valid, bench->alloc_ready, bench->alloc_id,
                           Stall::random(0.4));
  auto random = rng("free");
  std::vector<uint64_t> out;
  std::deque<uint64_t> free{0, 1, 2, 3, 4, 5};
  std::optional<uint64_t> giving;
  ids.on_item([&](const uint64_t& id) {
    REQUIRE(!free.empty());
    REQUIRE(id == free.front());
    free.pop_front();
    out.push_back(id);
  });
  bench.on_sample([&] {
    if (giving) free.push_back(*giving);
  });
  bench.on_drive([&] {
    giving.reset();
    if (!out.empty() && random.chance(0.4)) {
      const size_t at = random.below(out.size());
      giving = out[at];
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(at));
    }
    bench->free_valid_i = giving ? 1 : 0;
    bench->free_id_i = static_cast<CData>(giving.value_or(0));
  });
  bench.reset();
  ids.wait(2000, 20000);
  CHECK(bench->count_o + out.size() + (giving ? 1 : 0) == 6);
}

TEST_CASE("free_list objects to an id that was not out") {
  Bench<Vfree_list> bench;
  bench->alloc_ready = 1;
  bench.reset();
  bench.tick(1);
  bench->alloc_ready = 0;
  bench->free_valid_i = 1;
  bench->free_id_i = 3;  // only 0 is out
  REQUIRE_THROWS_AS(bench.tick(), rnic::rtl::RtlError);
}
