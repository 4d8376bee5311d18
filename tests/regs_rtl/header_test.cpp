// SPDX-License-Identifier: Apache-2.0
//
// The generated C and C++ headers against the Verilated register file: every field that software
// can write is written and read back through them, and the headers compile alone everywhere.
#include <Vall_plain.h>

#include "all_regs.h"
#include "all_regs.hpp"
#include "tests/csr/axi_lite.hpp"
#include "tests/regs/compile.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::test;
namespace hw = all::hw;

namespace {

struct Dut {
  Bench<Vall_plain> bench;
  AxiLite<Vall_plain> axi{bench};
  Dut() { bench.reset(); }
  std::uint32_t read32(std::uint64_t at) { return axi.read(static_cast<std::uint32_t>(at)).data; }
  void write32(std::uint64_t at, std::uint32_t v) { axi.write(static_cast<std::uint32_t>(at), v); }
  std::uint64_t read64(std::uint64_t at) {
    const std::uint64_t lo = read32(at);
    return lo | static_cast<std::uint64_t>(read32(at + 4)) << 32;
  }
  void write64(std::uint64_t at, std::uint64_t v) {
    write32(at, static_cast<std::uint32_t>(v));
    write32(at + 4, static_cast<std::uint32_t>(v >> 32));
  }
};

// A field of a register of 32 or 64 bits that stores what is written.
struct Stored {
  std::uint64_t at;
  unsigned width;
  std::uint64_t mask;
};

}  // namespace

TEST_CASE("the C header of every feature compiles as C99, C11, C++17 and C++20") {
  CHECK(compile(RNIC_TEST_CC, "-std=c99", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CC, "-std=c11", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++17", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++20 -Wconversion", RNIC_GEN_DIR, "all_regs.h") == "");
  CHECK(compile(RNIC_TEST_CXX, "-std=c++20 -Wshadow -Wconversion", RNIC_GEN_DIR, "all_regs.hpp") ==
        "");
}

TEST_CASE("a program writes and reads every stored field through the C header") {
  Dut d;
  const Stored list[] = {
      {ALL_PLAIN_RW, 32, ALL_PLAIN_RW_MODE_MASK},
      {ALL_PLAIN_RW, 32, ALL_PLAIN_RW_START_MASK},
      {ALL_PLAIN_RW, 32, ALL_PLAIN_RW_LOADED_MASK},
      {ALL_PLAIN_RW, 32, ALL_PLAIN_RW_SOFT_MASK},
      {ALL_PLAIN_TRIGGER, 32, ALL_PLAIN_TRIGGER_INDEX_MASK},
      {ALL_PLAIN_LOCKED, 32, ALL_PLAIN_LOCKED_A_MASK},
      {ALL_PLAIN_LOCKED, 32, ALL_PLAIN_LOCKED_C_MASK},
      {ALL_PLAIN_COUNT, 32, ALL_PLAIN_COUNT_DOWN_MASK},
      {ALL_PLAIN_WIDE, 64, ALL_PLAIN_WIDE_V_MASK},
      {ALL_PLAIN_WIDE_MIX, 64, ALL_PLAIN_WIDE_MIX_LO_MASK},
      {ALL_PLAIN_WIDE_MIX, 64, ALL_PLAIN_WIDE_MIX_MID_MASK},
      {ALL_PLAIN_HALVES, 64, ALL_PLAIN_HALVES_V_MASK},
      {ALL_PLAIN_ARR(0), 32, ALL_PLAIN_ARR_V_MASK},
      {ALL_PLAIN_ARR(3), 32, ALL_PLAIN_ARR_V_MASK},
      {ALL_PLAIN_PAR(2), 32, ALL_PLAIN_PAR_V_MASK},
      {ALL_PLAIN_CHAN_CTRL(1), 32, ALL_PLAIN_CHAN_CTRL_ON_MASK},
      {ALL_PLAIN_CHAN_SET(0), 32, ALL_PLAIN_CHAN_SET_V_MASK},
      {ALL_PLAIN_CHAN_RING_HEAD(1, 0), 32, ALL_PLAIN_CHAN_RING_HEAD_V_MASK},
      {ALL_PLAIN_CHAN_RING_BASE_ADDR(1, 1), 64, ALL_PLAIN_CHAN_RING_BASE_ADDR_V_MASK},
      {ALL_PLAIN_EVENTS_ENABLE, 32, ALL_PLAIN_EVENTS_ENABLE_DONE_MASK},
  };
  auto random = rng("values");
  for (const auto& f : list) {
    for (int n = 0; n < 4; ++n) {
      const std::uint64_t v = random.bits(64) & ALL_FIELD_GET(f.mask, ~0ULL);
      CAPTURE(f.at, f.mask, v);
      if (f.width == 32) {
        d.write32(f.at, static_cast<std::uint32_t>(ALL_FIELD_PREP(f.mask, v)));
        CHECK(ALL_FIELD_GET(f.mask, static_cast<std::uint64_t>(d.read32(f.at))) == v);
      } else {
        d.write64(f.at, ALL_FIELD_PREP(f.mask, v));
        CHECK(ALL_FIELD_GET(f.mask, d.read64(f.at)) == v);
      }
    }
  }
}

TEST_CASE("reset values, hash and addresses of the C++ header are those of the RTL") {
  Dut d;
  CHECK(d.read32(hw::plain::Hash::kOffset) == hw::kMapHash);
  CHECK(ALL_MAP_HASH == hw::kMapHash);
  for (const auto& r : hw::kRegisters) {
    if (r.block != "plain" || r.name.starts_with("EXT") || r.name == "WO" || r.name == "COMMAND") {
      continue;
    }
    CHECK(d.axi.read(static_cast<std::uint32_t>(r.offset)).data != 0xFFFFFFFF);
  }
  d.bench.reset();  // some reads have cleared
  CHECK(d.read32(hw::plain::Locked::kOffset) == hw::plain::Locked::kResetValue);
  CHECK(d.read32(hw::plain::Rw::kOffset) == hw::plain::Rw::kResetValue);
  CHECK(d.read64(hw::plain::WideMix::kOffset) == hw::plain::WideMix::kResetValue);
  CHECK(d.read64(hw::plain::Count64::kOffset) == hw::plain::Count64::kResetValue);
  CHECK(hw::plain::ChanRingHead::offset(1, 0) == ALL_PLAIN_CHAN_RING_HEAD(1, 0));
  CHECK(hw::plain::ChanRingHead::offset(2) == ALL_PLAIN_CHAN_RING_HEAD(1, 0));
}

TEST_CASE("read-modify-write is for registers that it cannot hurt") {
  static_assert(hw::plain::Wide::kRmwSafe);
  static_assert(hw::plain::ChanRingBaseAddr::kRmwSafe);
  static_assert(!hw::plain::One::kRmwSafe);      // W1C
  static_assert(!hw::plain::Rw::kRmwSafe);       // hardware loads it
  static_assert(!hw::plain::Trigger::kRmwSafe);  // every write acts
  static_assert(!hw::plain::OnRead::kRmwSafe);   // a read clears
  static_assert(!hw::plain::Wo::kRmwSafe);       // cannot be read
  static_assert(!hw::plain::Once::kRmwSafe);
  Dut d;
  hw::modify<hw::plain::Wide>(d, [](auto& r) { r.set_v(r.v() + 1); });
  CHECK(d.read64(hw::plain::Wide::kOffset) == 0x0123456789ABCDF0);
  // In C the mask says what may be written back: not the bits that act when they are 1.
  CHECK((ALL_PLAIN_LOCKED_RMW_MASK & ALL_PLAIN_LOCKED_GO_MASK) == 0);
  CHECK(ALL_PLAIN_ONE_RMW_MASK == 0);
}

TEST_CASE("variants of a descriptor have accessors, and structs whose layout is checked") {
  std::uint8_t job[32] = {};
  all_job_set_opcode(job, ALL_JOB_OP_COPY);
  all_job_set_copy_dst(job, 0x1122334455667788);
  all_job_set_copy_len(job, 0xCAFE);
  CHECK(job[16] == 0x88);
  CHECK(hw::JobView(job).copy_dst() == 0x1122334455667788);
  all_job_copy_mem mem{};
  std::memcpy(&mem, job, sizeof(mem));
  CHECK(mem.dst == 0x1122334455667788);
  CHECK(mem.len == 0xCAFE);
  CHECK(sizeof(all_job_fill_mem) == ALL_JOB_BYTES);
}
