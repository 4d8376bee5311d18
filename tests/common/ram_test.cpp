// SPDX-License-Identifier: Apache-2.0
#include <Vram_1w_nr.h>
#include <Vram_new.h>
#include <Vram_old.h>
#include <Vram_sdp_be.h>

#include <array>
#include <map>

#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;

namespace {

constexpr uint32_t kDepth = 12;

// Random writes and reads, often of one address, against a plain array. `forward`: a read sees a
// write of the same edge.
template <class Top>
void try_memory(Top& top, BenchBase& bench, bool forward, bool byte_enables) {
  auto random = rng("memory");
  std::array<uint32_t, kDepth> memory{};
  auto set_enables = [&](uint32_t enables) {
    if constexpr (requires { top.wr_be_i; }) {
      top.wr_be_i = static_cast<CData>(enables);
    } else {
      static_cast<void>(enables);
    }
  };
  for (uint32_t i = 0; i < kDepth; ++i) {  // contents are not reset
    memory[i] = random.u32();
    top.wr_en_i = 1;
    top.wr_addr_i = static_cast<CData>(i);
    top.wr_data_i = memory[i];
    top.rd_en_i = 0;
    set_enables(0xF);
    bench.tick();
  }
  bool known = false;
  uint32_t expected = 0;
  for (int step = 0; step < 5000; ++step) {
    const bool write = random.chance(0.6);
    const bool read = random.chance(0.6);
    const auto write_at = static_cast<uint32_t>(random.below(kDepth));
    const auto read_at =
        random.chance(0.5) ? write_at : static_cast<uint32_t>(random.below(kDepth));
    const uint32_t data = random.u32();
    const uint32_t enables =
        !byte_enables || random.chance(0.3) ? 0xF : static_cast<uint32_t>(random.bits(4));
    uint32_t mask = 0;
    for (int lane = 0; lane < 4; ++lane) {
      if (enables >> lane & 1) mask |= 0xFFu << (8 * lane);
    }
    top.wr_en_i = write;
    top.wr_addr_i = static_cast<CData>(write_at);
    top.wr_data_i = data;
    set_enables(enables);
    top.rd_en_i = read;
    top.rd_addr_i = static_cast<CData>(read_at);
    const uint32_t old = memory[read_at];
    if (write) memory[write_at] = (memory[write_at] & ~mask) | (data & mask);
    if (read) {
      expected = forward ? memory[read_at] : old;
      known = true;
    }
    bench.tick();
    if (known) REQUIRE(top.rd_data_o == expected);
  }
}

}  // namespace

TEST_CASE("ram_sdp returns the old word on a collision and holds its output") {
  Bench<Vram_old> bench;
  try_memory(bench.top(), bench, false, false);
}

TEST_CASE("ram_sdp with FORWARD returns the new word on a collision") {
  Bench<Vram_new> bench;
  try_memory(bench.top(), bench, true, false);
}

TEST_CASE("ram_sdp_be writes the enabled bytes only") {
  Bench<Vram_sdp_be> bench;
  try_memory(bench.top(), bench, false, true);
}

TEST_CASE("ram_1w_nr reads independently through each port") {
  Bench<Vram_1w_nr> bench;
  auto random = rng("memory");
  std::array<uint32_t, 16> memory{};
  std::array<uint32_t, 2> expected{};
  std::array<bool, 2> known{};
  for (uint32_t i = 0; i < 16; ++i) {
    bench->wr_en_i = 1;
    bench->wr_addr_i = static_cast<CData>(i);
    bench->wr_data_i = memory[i] = random.u32();
    bench.tick();
  }
  for (int step = 0; step < 3000; ++step) {
    bench->wr_en_i = random.chance(0.5);
    bench->wr_addr_i = static_cast<CData>(random.below(16));
    bench->wr_data_i = random.u32();
    if (bench->wr_en_i) memory[bench->wr_addr_i] = bench->wr_data_i;
    bench->rd_en_i = 0;
    bench->rd_addr_i = 0;
    for (size_t port = 0; port < 2; ++port) {
      const auto at =
          static_cast<uint32_t>(random.chance(0.5) ? bench->wr_addr_i : random.below(16));
      const bool read = random.chance(0.7);
      bench->rd_en_i |= static_cast<CData>(read << port);
      bench->rd_addr_i |= static_cast<CData>(at << (4 * port));
      if (read) {
        expected[port] = memory[at];
        known[port] = true;
      }
    }
    bench.tick();
    for (size_t port = 0; port < 2; ++port) {
      if (known[port]) {
        REQUIRE(static_cast<uint32_t>(bench->rd_data_o >> (32 * port)) == expected[port]);
      }
    }
  }
}
