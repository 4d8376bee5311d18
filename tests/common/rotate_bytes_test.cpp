// SPDX-License-Identifier: Apache-2.0
#include <Vrotate_down.h>
#include <Vrotate_up.h>

#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

TEST_CASE("rotate_bytes upwards moves byte i to lane i plus shift") {
  Bench<Vrotate_up> bench;
  auto random = rng("data");
  for (unsigned shift = 0; shift < 8; ++shift) {
    const Bits data = Bits::random(random, 64);
    write_pin(bench->data_i, data);
    bench->shift_i = static_cast<CData>(shift);
    bench.settle();
    const Bits out = read_pin(bench->data_o);
    for (unsigned i = 0; i < 8; ++i) REQUIRE(out.byte((i + shift) % 8) == data.byte(i));
  }
}

TEST_CASE("rotate_bytes downwards moves byte i plus shift to lane i, registered when enabled") {
  Bench<Vrotate_down> bench;
  auto random = rng("data");
  Bits expected(256);
  for (unsigned step = 0; step < 200; ++step) {
    const unsigned shift = step < 32 ? step : static_cast<unsigned>(random.below(32));
    const Bits data = Bits::random(random, 256);
    const bool enable = step < 32 || random.chance(0.5);
    write_pin(bench->data_i, data);
    bench->shift_i = static_cast<CData>(shift);
    bench->en_i = enable;
    bench.tick();
    if (enable) {
      for (unsigned i = 0; i < 32; ++i) expected.set_byte(i, data.byte((i + shift) % 32));
    }
    REQUIRE(read_pin(bench->data_o) == expected);
  }
}
