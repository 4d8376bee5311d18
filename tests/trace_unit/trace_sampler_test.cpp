// SPDX-License-Identifier: Apache-2.0
#include <Vtrace_sampler.h>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

struct SamplerBench : Bench<Vtrace_sampler> {
  Vtrace_sampler& t = top();
  Rng random = rng("wqes");
  SamplerBench() {
    t.enable_i = 1;
    t.qp_filter_i = 0;
    t.qpn_i = 7;
    t.one_in_log2_i = 0;
    t.smp_valid_i = 0;
    reset();
  }
  bool ask(uint32_t qpn) {
    t.smp_valid_i = 1;
    t.smp_qpn_i = qpn;
    settle();
    const bool hit = t.smp_hit_o != 0;
    tick();
    t.smp_valid_i = 0;
    if (random.chance(0.3)) {  // idle cycles do not count
      settle();
      CHECK(t.smp_hit_o == 0);
      tick();
    }
    return hit;
  }
};

}  // namespace

TEST_CASE("trace_sampler takes the first WQE and then one in 2^n") {
  const unsigned n = GENERATE(0U, 1U, 3U, 15U);
  SamplerBench bench;
  bench.t.one_in_log2_i = static_cast<CData>(n);
  const unsigned total = n == 15 ? 70000 : 200;
  for (unsigned i = 0; i < total; ++i) {
    const bool want = i % (1U << n) == 0;
    if (bench.ask(static_cast<uint32_t>(bench.random.bits(24))) != want) {
      CAPTURE(n, i);
      FAIL("wrong decision");
    }
  }
}

TEST_CASE("trace_sampler counts and takes only the filtered QP") {
  SamplerBench bench;
  bench.t.qp_filter_i = 1;
  bench.t.qpn_i = 0x123456;
  bench.t.one_in_log2_i = 2;
  unsigned matches = 0;
  for (int i = 0; i < 400; ++i) {
    const bool match = bench.random.chance(0.4);
    const bool hit = bench.ask(match ? 0x123456 : 0x923456);
    CHECK(hit == (match && matches % 4 == 0));
    if (match) ++matches;
  }
}

TEST_CASE("trace_sampler takes nothing while disabled and begins anew") {
  SamplerBench bench;
  bench.t.one_in_log2_i = 1;
  CHECK(bench.ask(1));
  bench.t.enable_i = 0;
  CHECK(!bench.ask(1));
  CHECK(!bench.ask(1));
  bench.t.enable_i = 1;
  CHECK(bench.ask(1));
  CHECK(!bench.ask(1));
}
