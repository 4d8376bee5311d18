// SPDX-License-Identifier: Apache-2.0
// Random programs of verbs: RTL against the golden endpoint, RTL against RTL.
#include "harness/golden/program.hpp"
#include "tests/system/verbs_bed.hpp"

using namespace rnic;
using namespace rnic::test;
using golden::make_program;
using golden::Program;
using golden::ProgramConfig;

namespace {

// NOP, SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, COMPARE_SWAP, FETCH_ADD, LOCAL_INV
constexpr std::array<uint32_t, 10> kWrites = {0, 0, 0, 0, 5, 2, 0, 0, 0, 0};

ProgramConfig writes(uint64_t seed, uint32_t mtu) {
  return {.seed = seed,
          .requests = 60,
          .pmtu = mtu,
          .beat_bytes = test_width() / 8,
          .max_bytes = 20000,
          .max_inline = 96,
          .fence = 0,
          .weights = kWrites};
}

}  // namespace

TEST_CASE("WRITE programs between the RTL and the golden endpoint, both ways, clean wire") {
  for (const uint32_t mtu : {256u, 1024u, 4096u}) {
    INFO("path MTU " << mtu);
    GoldenBed bed;
    bed.connect({.mtu = mtu});
    bed.connect({.mtu = mtu, .psn_a = 5, .psn_b = 0xFFFFFF});
    const Program p = make_program(writes(context_seed() * 10 + mtu, mtu)),
                  q = make_program(writes(context_seed() * 10 + mtu + 1, mtu));
    REQUIRE(bed.run({&p, &q}));
    for (uint32_t n = 0; n < 2; ++n) {
      CHECK(bed.gold.responder(n).stats().gaps == 0);
      CHECK(bed.gold.responder(n).stats().duplicates == 0);
      CHECK(bed.gold.requester(n).stats().retransmitted == 0);
      CHECK(bed.gold.requester(n).stats().ghosts == 0);
    }
  }
}

TEST_CASE("WRITE programs between two RTL NICs, both ways, clean wire") {
  Bed bed;
  sim::HostEndpoint a(*bed.a.host), b(*bed.b.host);
  for (int i = 0; i < 2; ++i) {
    auto [qa, qb] = bed.connect({.mtu = 1024});
    a.attach(*qa);
    b.attach(*qb);
  }
  const Program p = make_program(writes(context_seed() * 10, 1024)),
                q = make_program(writes(context_seed() * 10 + 1, 1024));
  ProgramRun run(bed.world, a, b);
  run.add(p, 0);
  run.add(q, 1);
  REQUIRE(run.run(100'000'000'000));
}
