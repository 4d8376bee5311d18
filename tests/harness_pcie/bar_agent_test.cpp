// SPDX-License-Identifier: Apache-2.0
#include "harness/axi/bar_agent.hpp"

#include "tests/harness_pcie/fake_nic.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using pcie::Bar;
using test::AxiOptions;
using test::AxiWorld;

namespace {

constexpr uint64_t kNs = 1000;
constexpr uint32_t kGdr = 0x20'0000;

void store(AxiWorld& w, Bar bar, uint32_t offset, uint32_t value) {
  w.fabric.mmio_write(pcie::kHost, bar, offset, &value, 4, w.now);
}

}  // namespace

TEST_CASE("a doorbell is on the pins 20 ns after the CPU's store, then one per cycle") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  w.ticks(5);
  const uint64_t issued = w.now;
  for (uint32_t i = 0; i < 10; ++i) store(w, Bar::kDoorbell, 0x100 * i + 0x10, i + 1);
  w.run([&] { return w.bars.log.size() == 10; });
  for (uint32_t i = 0; i < 10; ++i) {
    CHECK(w.bars.log[i].port == "bar0");
    CHECK(w.bars.log[i].addr == 0x100 * i + 0x10);
    CHECK(w.bars.log[i].data[0] == i + 1);
    CHECK(w.bars.log[i].edge_ps == issued + 20 * kNs + 2 * kNs * i);
  }
}

TEST_CASE("with zero delays a store is on the pins at the next edge") {
  AxiWorld w(pcie::Config::zero_delays(), {});
  w.ticks(3);
  // now is the coming edge; the pins for it are set, so the store is seen one edge later.
  const uint64_t issued = w.now;
  store(w, Bar::kDoorbell, 0x10, 1);
  w.run([&] { return !w.bars.log.empty(); });
  CHECK(w.bars.log[0].edge_ps == issued + 2 * kNs);
}

TEST_CASE(
    "writes to all BARs are taken in the order the CPU issued them, under stalls, at every width") {
  for (const uint32_t width : {128u, 256u, 512u, 1024u}) {
    AxiOptions o;
    o.data_w = width;
    o.stall = 0.4;
    o.bar_stall = 100;
    AxiWorld w(pcie::Config::reference_delays(), o);
    auto rng = test::rng("ops");
    struct Want {
      std::string port;
      uint32_t addr;
      std::vector<uint8_t> data;
    };
    std::vector<Want> want;
    for (int i = 0; i < 300; ++i) {
      const auto data = rng.bytes(64);
      switch (rng.below(4)) {
        case 0: {
          const auto at = static_cast<uint32_t>(rng.below(0x10000) * 4);
          w.fabric.mmio_write(pcie::kHost, Bar::kDoorbell, at, data.data(), 4, w.now);
          want.push_back({"bar0", at, {data.begin(), data.begin() + 4}});
          break;
        }
        case 1: {
          const auto at = static_cast<uint32_t>(rng.below(0x1000) * 4);
          w.fabric.mmio_write(pcie::kHost, Bar::kRegisters, at, data.data(), 4, w.now);
          want.push_back({"bar2", at, {data.begin(), data.begin() + 4}});
          break;
        }
        case 2: {
          const auto at = static_cast<uint32_t>(rng.below(0x1000) * 64);
          w.fabric.mmio_write(pcie::kHost, Bar::kBlueFlame, at, data.data(), 64, w.now);
          want.push_back({"bar1", at, data});
          break;
        }
        default: {
          const auto at = static_cast<uint32_t>(rng.below(0x1000));
          const uint32_t n = static_cast<uint32_t>(rng.between(1, 64 - at % 64));
          w.fabric.mmio_write(pcie::kHost, Bar::kRegisters, kGdr + at, data.data(), n, w.now);
          want.push_back({"gdr", at, {data.begin(), data.begin() + n}});
        }
      }
      if (rng.chance(0.3)) w.ticks(5);
    }
    w.run([&] { return w.bars.log.size() >= want.size(); });
    REQUIRE(w.bars.log.size() == want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      REQUIRE(w.bars.log[i].port == want[i].port);
      REQUIRE(w.bars.log[i].addr == want[i].addr);
      REQUIRE(w.bars.log[i].data == want[i].data);
      if (i > 0) REQUIRE(w.bars.log[i].edge_ps >= w.bars.log[i - 1].edge_ps);
    }
    w.run([&] { return w.port.idle(); });
    CHECK(w.fabric.mmio_in_flight() == 0);
  }
}

TEST_CASE("an 8-byte or unaligned store becomes several lite writes with the right strobes") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  const uint64_t v = 0x8877665544332211;
  w.fabric.mmio_write(pcie::kHost, Bar::kRegisters, 0x102, &v, 8, 0);
  w.run([&] { return w.bars.log.size() == 3; });
  CHECK(w.bars.log[0].addr == 0x102);
  CHECK(w.bars.log[0].data == std::vector<uint8_t>{0x11, 0x22});
  CHECK(w.bars.log[1].data == std::vector<uint8_t>{0x33, 0x44, 0x55, 0x66});
  CHECK(w.bars.log[2].data == std::vector<uint8_t>{0x77, 0x88});
}

TEST_CASE(
    "MMIO reads return what earlier writes wrote, from registers and from the GDR window, at every "
    "width") {
  for (const uint32_t width : {128u, 256u, 512u, 1024u}) {
    for (const double stall : {0.0, 0.5}) {
      AxiOptions o;
      o.data_w = width;
      o.stall = stall;
      o.bar_stall = stall > 0 ? 100 : 0;
      AxiWorld w(pcie::Config::reference_delays(), o);
      auto rng = test::rng("ops");
      int answers = 0;
      for (int i = 0; i < 100; ++i) {
        const auto data = rng.bytes(64);
        const bool gdr = rng.chance(0.5);
        // Each in a block of its own: later writes may pass a read.
        const uint32_t at = static_cast<uint32_t>(i * 64 + rng.below(64)) + (gdr ? kGdr : 0);
        const auto n = static_cast<uint32_t>(rng.between(1, 64 - at % 64));
        w.fabric.mmio_write(pcie::kHost, Bar::kRegisters, at, data.data(), n, w.now);
        w.fabric.mmio_read(pcie::kHost, Bar::kRegisters, at, n, w.now,
                           [&answers, data, n](const pcie::MmioResult& m) {
                             ++answers;
                             REQUIRE(m.ok);
                             REQUIRE(m.data.size() == n);
                             REQUIRE(std::equal(m.data.begin(), m.data.end(), data.begin()));
                           });
      }
      w.run([&] { return answers == 100; });
      CHECK(w.fabric.mmio_in_flight() == 0);
    }
  }
}

TEST_CASE("a read is not given before all earlier writes have their responses") {
  AxiOptions o;
  o.stall = 0.7;
  AxiWorld w(pcie::Config::reference_delays(), o);
  int answers = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    store(w, Bar::kDoorbell, 0x10, i);
    store(w, Bar::kRegisters, 0x20, i);
    const auto check = [&answers, i](const pcie::MmioResult& m) {
      ++answers;
      CHECK(m.data[0] == i);
    };
    w.fabric.mmio_read(pcie::kHost, Bar::kRegisters, 0x20, 4, w.now, check);
    w.run([&] { return answers > static_cast<int>(i); });
  }
  CHECK(w.bars.reads_too_early == 0);
}

TEST_CASE("an uncontended register read takes the round trip and the NIC's cycles") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  w.ticks(3);
  uint64_t when = 0;
  w.fabric.mmio_read(pcie::kHost, Bar::kRegisters, 0x100, 4, w.now,
                     [&](const pcie::MmioResult& m) { when = m.time_ps; });
  const uint64_t issued = w.now;
  w.run([&] { return when != 0; });
  CHECK(when == issued + 20 * kNs + 2 * kNs + 15 * kNs);  // AR edge, R edge one cycle later, back
}

TEST_CASE("failed reads and reads of BAR1 answer all ones, not ok") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  int answers = 0;
  auto check = [&](const pcie::MmioResult& m) {
    ++answers;
    CHECK_FALSE(m.ok);
    CHECK(m.data[0] == 0xFF);
    CHECK(m.data[3] == 0xFF);
  };
  w.bars.fail_next_read = true;
  w.fabric.mmio_read(pcie::kHost, Bar::kDoorbell, 0x10, 4, 0, check);
  w.fabric.mmio_read(pcie::kHost, Bar::kBlueFlame, 0x40, 4, 0, check);
  w.run([&] { return answers == 2; });
}

TEST_CASE("writes pass a read whose data do not come") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  bool answered = false;
  w.bars.hold_answers = true;
  w.fabric.mmio_read(pcie::kHost, Bar::kRegisters, 0x100, 4, w.now,
                     [&](const pcie::MmioResult&) { answered = true; });
  w.ticks(30);
  store(w, Bar::kDoorbell, 0x10, 1);
  store(w, Bar::kRegisters, 0x20, 1);
  w.run([&] { return w.bars.log.size() == 2; }, 100);
  CHECK_FALSE(answered);
  w.bars.hold_answers = false;
  w.run([&] { return answered; }, 100);
}

TEST_CASE(
    "a BAR that takes no data holds all MMIO behind it and, with credits, the completions too") {
  pcie::Config c = pcie::Config::reference_delays();
  c.link.down_credits.posted_headers = 2;
  AxiWorld w(c, {});
  mem::DmaBuffer b = w.dma.alloc(4096);
  w.bars.hold_writes = true;
  for (uint32_t i = 0; i < 5; ++i) store(w, Bar::kDoorbell, 0x10, i);
  w.ticks(20);
  w.dma_nic.read(b.bus_addr(), 64);
  w.ticks(200);
  CHECK(w.bars.log.empty());
  CHECK_FALSE(w.dma_nic.reads[0].done);
  w.bars.hold_writes = false;
  w.run([&] { return w.bars.log.size() == 5 && w.dma_nic.reads[0].done; }, 200);
}

TEST_CASE("an answer that nobody asked for is a protocol error") {
  test::World w(pcie::Config::zero_delays());
  axi::BarAgent agent(w.fabric, {});
  axi::BarIn pins;
  pins.bar2.r_valid = true;
  try {
    agent.sample(pins, 0);
    FAIL("nothing was thrown");
  } catch (const axi::ProtocolError& e) {
    CHECK(e.signal() == "bar2_rvalid");
  }
}

TEST_CASE("a reset in the middle of an MMIO access ends it and the next one works") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  int answers = 0;
  bool ok = true;
  w.bars.hold_writes = w.bars.hold_answers = true;
  store(w, Bar::kDoorbell, 0x10, 1);
  w.ticks(20);
  w.port.reset();
  w.bars = test::FakeBars(512, 0);
  w.bars.hold_answers = true;
  w.fabric.mmio_read(pcie::kHost, Bar::kRegisters, 0x100, 4, w.now, [&](const pcie::MmioResult& m) {
    ++answers;
    ok = m.ok;
  });
  w.ticks(20);
  w.port.reset();
  w.bars = test::FakeBars(512, 0);
  w.ticks(20);
  CHECK(answers == 1);
  CHECK_FALSE(ok);
  store(w, Bar::kDoorbell, 0x20, 7);
  w.run([&] { return w.bars.log.size() == 1; });
  CHECK(w.bars.log[0].addr == 0x20);
  w.run([&] { return w.port.idle(); });
}

TEST_CASE("the GPU's doorbells and the CPU's share the ports, each source in order") {
  AxiOptions o;
  o.stall = 0.3;
  AxiWorld w(pcie::Config::reference_delays(), o);
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays()));
  for (uint32_t i = 0; i < 50; ++i) {
    store(w, Bar::kDoorbell, 0x10, i);
    g.ring(Bar::kDoorbell, 0x110, i, w.now);
    w.ticks(2);
  }
  w.run([&] { return w.bars.log.size() == 100; });
  uint8_t cpu = 0, gpu = 0;
  for (const auto& x : w.bars.log) CHECK(x.data[0] == (x.addr == 0x10 ? cpu++ : gpu++));
}
