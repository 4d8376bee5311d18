// SPDX-License-Identifier: Apache-2.0
#include <Vpath_table.h>

#include <array>
#include <deque>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"
#include "tests/tx_packetizer/tx_types.hpp"

using namespace rnic::test;

namespace {

constexpr size_t kPaths = 16;  // a power of two: the index behind the last has that of the first

Bits random_path(Rng& random) {
  Bits path = Bits::random(random, kPath.width());
  kPath.set(path, "valid", 1);
  return path;
}

// Drives all ports at random and checks every answer, one cycle later, against an array.
struct TableBench : Bench<Vpath_table> {
  std::array<Bits, kPaths> model;
  Rng random = rng("table");

  void clear_model() { model.fill(Bits(kPath.width())); }
  Bits expected(uint64_t index) const {
    return index < kPaths ? model[index] : Bits(kPath.width());
  }

  void step(double write, double read, uint64_t top_index) {
    auto& t = top();
    const std::array<uint64_t, 4> index = {random.below(top_index), random.below(top_index),
                                           random.below(top_index), random.below(top_index)};
    const std::array<bool, 4> ask = {random.chance(read), random.chance(read), random.chance(read),
                                     random.chance(read)};
    t.tx_lk_valid = ask[0];
    t.rx_lk_valid = ask[1];
    t.cr_valid = ask[2];
    t.cp_lk_valid = ask[3];
    t.cp_lk_index = static_cast<SData>(index[3]);
    t.tx_lk_index = static_cast<SData>(index[0]);
    t.rx_lk_index = static_cast<SData>(index[1]);
    t.cr_index = static_cast<SData>(index[2]);
    t.cw_valid = random.chance(write);
    const uint64_t at = random.below(top_index);
    const Bits path = random.chance(0.1) ? Bits(kPath.width()) : random_path(random);
    t.cw_index = static_cast<SData>(at);
    write_pin(t.cw, path);
    tick();
    CHECK(t.tx_lk_ready == 1);
    CHECK(t.rx_lk_ready == 1);
    CHECK(t.cr_ready == 1);
    CHECK(t.cp_lk_ready == 1);
    CHECK((t.cp_valid != 0) == ask[3]);
    if (ask[3]) CHECK(read_pin(t.cp) == expected(index[3]));
    CHECK((t.tx_valid != 0) == ask[0]);
    CHECK((t.rx_valid != 0) == ask[1]);
    CHECK((t.crs_valid != 0) == ask[2]);
    if (ask[0]) CHECK(read_pin(t.tx) == expected(index[0]));
    if (ask[1]) CHECK(read_pin(t.rx) == expected(index[1]));
    if (ask[2]) CHECK(read_pin(t.crs) == expected(index[2]));
    if (t.cw_valid != 0 && at < kPaths) model[at] = path;
  }
};

}  // namespace

TEST_CASE("path_table reads zero before the first write") {
  TableBench bench;
  bench.clear_model();
  bench.reset();
  for (int i = 0; i < 200; ++i) bench.step(0, 0.8, kPaths);
}

TEST_CASE("path_table answers its readers a cycle later while paths are written") {
  TableBench bench;
  bench.clear_model();
  bench.reset();
  for (int i = 0; i < 2000; ++i) bench.step(0.3, 0.7, kPaths);
}

TEST_CASE("path_table ignores and reads as zero what lies beyond its size") {
  TableBench bench;
  bench.clear_model();
  bench.reset();
  for (int i = 0; i < 1000; ++i) bench.step(0.5, 0.7, 70);
  for (int i = 0; i < 200; ++i) bench.step(0.5, 0.7, 65536);
}

TEST_CASE("path_table is empty after a reset") {
  TableBench bench;
  bench.clear_model();
  bench.reset();
  for (int i = 0; i < 200; ++i) bench.step(0.5, 0.5, kPaths);
  bench.reset();
  bench.clear_model();
  for (int i = 0; i < 200; ++i) bench.step(0, 0.8, kPaths);
}
