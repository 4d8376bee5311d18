// SPDX-License-Identifier: Apache-2.0
//
// Registers of pauses as the map has them, headroom against sums by hand.
#include <cmath>
#include <map>

#include "harness/driver/pause.hpp"
#include "regs/gen/rnic_regs.h"
#include "tests/support/catch.hpp"

using namespace rnic;

namespace {

// Keeps what is written, in order.
struct Written : driver::Bus {
  std::map<uint32_t, uint32_t> values;
  uint32_t last = 0;

  uint32_t read32(driver::Bar, uint32_t offset) override { return values[offset]; }
  void write32(driver::Bar bar, uint32_t offset, uint32_t value) override {
    CHECK(bar == driver::Bar::kRegisters);
    values[offset] = value;
    last = offset;
  }
  void write_block(driver::Bar, uint32_t, const void*, uint32_t) override { FAIL("no block"); }
  std::unique_ptr<driver::DmaMemory> alloc_ring(uint64_t /*size*/) override { return nullptr; }
  void write_barrier() override {}
  void wait_ns(uint64_t) override {}
  uint64_t now_ns() override { return 0; }
};

}  // namespace

TEST_CASE("settings of pauses are in their registers, PFC_CTRL last") {
  Written bus;
  driver::Device nic(bus);
  driver::PauseSettings s;
  s.rx_classes = 0x18;
  s.tx_classes = 0x81;
  s.by_pcp = true;
  s.default_class = 5;
  s.class_of_dscp[46] = 2;
  s.marks[7] = {70'000, 50'000};
  s.quanta = 0x1234;
  s.storm_limit_us = 400'000;
  s.storm_restore_us = 77;
  s.storm_action = driver::StormAction::kDrop;
  s.line_bps = 100'000'000'000;
  driver::set_pauses(nic, s);
  CHECK(bus.values[0x1200] == (0x18u | 0x81u << 8 | 1u << 18 | 5u << 20));
  CHECK(bus.last == 0x1200);
  CHECK(bus.values[0x1204] == 0x1234);
  CHECK(bus.values[0x1208] == (400'000u | 2u << 24));
  CHECK(bus.values[0x120C] == 77);
  CHECK(bus.values[0x1220] == 0);
  CHECK(bus.values[0x1220 + 4 * 5] == 0x52555555);  // DSCP 40 to 47
  CHECK(bus.values[0x1220 + 4 * 7] == 0x77777777);
  CHECK(bus.values[0x1240 + 4 * 7] == 70'000);
  CHECK(bus.values[0x1260 + 4 * 7] == 50'000);
  CHECK(bus.values[0x1240] == 131'072);
  CHECK(bus.values[RNIC_CSR_CC_LINE_RATE] == 100'000'000);
  s.rx_link = s.tx_link = true;
  driver::set_pauses(nic, s);
  CHECK((bus.values[0x1200] >> 16 & 3) == 3);
  s.storm_limit_us = 1 << 20;
  CHECK_THROWS_WITH(driver::set_pauses(nic, s), test::contains_text("storm_limit_us"));
}

TEST_CASE("headroom holds what comes in until the peer stops, as long frames and as short ones") {
  driver::PauseLink link;
  link.rate_bps = 100e9;
  link.delay_ps = 1'000'000;
  link.reaction_ps = 400'000;
  link.max_frame = 4178;
  link.data_w = 512;
  link.buffer_bytes = 1 << 20;
  link.buffer_frames = 1 << 14;  // a share is a row
  // 2.4 us are 30,000 bytes; the pause waits for a frame and its gap, and is 84 bytes; rows may be
  // half empty; 32 beats are on their way, two frames at the edges.
  const double late = 30'000 + 4178 + 20 + 84;
  CHECK(driver::pause_headroom(link) == static_cast<uint32_t>(late * 2 + 32 * 64 + 2 * 66 * 64));
  // Entries of 256 bytes: frames of 64 bytes, 84 on the wire, count three times what they have.
  link.buffer_frames = 1 << 12;
  const double entries = late / 84 + 8;
  CHECK(driver::pause_headroom(link) == static_cast<uint32_t>(std::ceil(entries * 256 + 8448)));
  const auto marks = driver::pause_marks(link, 2);
  CHECK(marks.xoff == (1 << 19) - driver::pause_headroom(link));
  CHECK(marks.xon < marks.xoff);
  CHECK(marks.xon > marks.xoff / 2);
  link.delay_ps = 100'000'000;  // 20 km
  CHECK_THROWS_WITH(driver::pause_marks(link, 1), test::contains_text("the receive buffer has"));
}
