// SPDX-License-Identifier: Apache-2.0
//
// The generated bench on the generated RTL and the generated reference: every access type, hardware
// side and policy at random, and proof that the run has met each of them.
#include <Vall_piped.h>
#include <Vall_plain.h>
#include <Vall_plain_st.h>

#include "all_piped_pins.hpp"
#include "all_plain_pins.hpp"
#include "all_plain_st_pins.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

constexpr unsigned kTimeout = 40;  // WINDOW_TIMEOUT of the models

template <class Top, class Pins>
void run(regmodel::BenchOptions o, bool all_met) {
  VerilatedContext context;
  Top top(&context);
  regmodel::Bench<Top, Pins> bench(top, kTimeout);
  o.seed = rng("bench").u32();
  REQUIRE(bench.run(o) == "");
  if (all_met) CHECK(bench.uncovered() == "");
  CHECK(bench.model().bad_accesses() > 100);
  CHECK(bench.model().timeouts() > 0);
}

using PlainPins = regmodel::all_plain_pins<Vall_plain>;
using PipedPins = regmodel::all_piped_pins<Vall_piped>;

}  // namespace

TEST_CASE("a generated register file agrees with its reference, and every collision was met") {
  run<Vall_plain, PlainPins>({.cycles = 120000}, true);
}

TEST_CASE("a pipelined one that answers SLVERR agrees with its reference") {
  run<Vall_piped, PipedPins>({.cycles = 120000}, true);
}

TEST_CASE("one with its hardware side in structs agrees with the same reference") {
  run<Vall_plain_st, regmodel::all_plain_st_pins<Vall_plain_st>>({.cycles = 120000}, true);
}

TEST_CASE("they agree when both channels are saturated and hardware acts in most cycles") {
  const regmodel::BenchOptions o{.cycles = 40000,
                                 .address = 1,
                                 .data = 1,
                                 .read = 1,
                                 .bready = 1,
                                 .rready = 1,
                                 .event = 0.8,
                                 .ack = 0.9,
                                 .resets = false};
  run<Vall_plain, PlainPins>(o, false);
  run<Vall_piped, PipedPins>(o, false);
}

TEST_CASE("they agree when answers are rarely taken") {
  const regmodel::BenchOptions o{
      .cycles = 40000, .data = 0.2, .bready = 0.15, .rready = 0.15, .event = 0.05, .ack = 0.2};
  run<Vall_plain, PlainPins>(o, false);
  run<Vall_piped, PipedPins>(o, false);
}

TEST_CASE("they agree over a long run", "[.soak]") {
  run<Vall_plain, PlainPins>({.cycles = 1000000}, true);
  run<Vall_piped, PipedPins>({.cycles = 1000000}, true);
}
