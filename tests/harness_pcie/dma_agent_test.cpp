// SPDX-License-Identifier: Apache-2.0
//
// The DMA agent against a NIC in C++: every byte compared with memory, timing in cycles, protocol
// violations.
#include "harness/axi/dma_agent.hpp"

#include <cmath>
#include <set>

#include "harness/mem/memory_checker.hpp"
#include "tests/harness_pcie/fake_nic.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using test::AxiOptions;
using test::AxiWorld;
using test::WriteOrder;

namespace {

constexpr uint64_t kNs = 1000;

// Odd addresses and lengths around every boundary of beats, completions and pages.
std::vector<std::pair<uint32_t, uint32_t>> interesting(uint32_t beat, uint32_t max) {
  std::vector<std::pair<uint32_t, uint32_t>> list;
  const uint32_t offsets[] = {0, 1, 3, beat - 1, beat, beat + 1, 63, 64, 65, 255, 256, 4093};
  for (const uint32_t at : offsets) {
    std::set<uint32_t> lengths{1,  2,   3,   4,   5,   7,   8,   31,   32,   33,
                               64, 127, 128, 129, 255, 256, 257, 1024, 4095, 4096};
    for (const uint32_t edge : {beat, 2 * beat, 256u, 512u, 4096u}) {
      for (int d = -1; d <= 1; ++d) {
        const int64_t n = int64_t{edge} - at % edge + d;
        if (n > 0) lengths.insert(static_cast<uint32_t>(n));
      }
    }
    for (const uint32_t n : lengths) {
      if (n <= max && at + n <= 4096) list.emplace_back(at, n);
    }
  }
  return list;
}

void sweep(uint32_t data_w, const pcie::Config& config, const AxiOptions& options) {
  AxiOptions o = options;
  o.data_w = data_w;
  AxiWorld w(config, o);
  const auto shapes = interesting(data_w / 8, std::min(config.mps, config.mrrs));
  mem::DmaBuffer source = w.dma.alloc(shapes.size() * 4096),
                 target = w.dma.alloc(shapes.size() * 4096);
  const auto data = test::rng("data").bytes(source.size());
  source.write(0, data.data(), data.size());
  target.fill(0, 0x99, target.size());
  mem::MemoryChecker check(w.memory, "host");
  check.snapshot();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto [at, n] = shapes[i];
    const uint64_t offset = i * 4096 + at;
    w.dma_nic.read(source.bus_addr(offset), n);
    std::vector<uint8_t> payload(data.begin() + static_cast<long>(offset) - at,
                                 data.begin() + static_cast<long>(offset) - at + n);
    check.expect_write(target, offset, payload.data(), n);
    w.dma_nic.write(target.bus_addr(offset), payload);
  }
  w.run_idle(2'000'000);
  w.fabric.advance(w.now + 10'000 * kNs);
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto [at, n] = shapes[i];
    CAPTURE(data_w, at, n);
    const auto& r = w.dma_nic.reads[i];
    REQUIRE_FALSE(r.error);
    REQUIRE(
        std::equal(r.data.begin(), r.data.end(), data.begin() + static_cast<long>(i * 4096 + at)));
    REQUIRE(w.dma_nic.writes[i].resp == 0);
  }
  const auto difference = check.compare();
  if (difference) FAIL(difference->to_string());
  CHECK(w.port.idle());
}

}  // namespace

TEST_CASE("reads and writes of every odd address and length arrive exactly, at every width") {
  for (const uint32_t width : {128u, 256u, 512u, 1024u})
    sweep(width, pcie::Config::reference_delays(), {});
}

TEST_CASE("the same holds with zero delays, and with a realistic link") {
  for (const uint32_t width : {128u, 1024u}) {
    sweep(width, pcie::Config::zero_delays(), {});
    sweep(width, pcie::Config::gen5_x16(), {});
  }
}

TEST_CASE(
    "the same holds with stalls on every channel and write data before or behind their address") {
  for (const uint32_t width : {128u, 1024u}) {
    for (const auto order :
         {WriteOrder::kAddressFirst, WriteOrder::kDataFirst, WriteOrder::kRandom}) {
      AxiOptions o;
      o.stall = 0.4;
      o.agent_stalls = {100, 100, 100, 100, 100};
      o.order = order;
      pcie::Config c = pcie::Config::reference_delays();
      c.host.read_jitter_ps = 300 * kNs;
      sweep(width, c, o);
    }
  }
}

TEST_CASE("the same holds with interleaved completions of random size at RCB boundaries") {
  for (const uint32_t width : {128u, 1024u}) {
    for (const uint32_t rcb : {64u, 128u}) {
      pcie::Config c = pcie::Config::reference_delays();
      c.rcb = rcb;
      c.random_split = c.interleave_completions = true;
      c.host.read_jitter_ps = 200 * kNs;
      AxiOptions o;
      o.interleave_r = true;
      o.stall = 0.2;
      sweep(width, c, o);
      o.interleave_r = false;
      sweep(width, c, o);
    }
  }
}

TEST_CASE("bursts of different IDs mix only when asked to") {
  for (const bool interleave : {false, true}) {
    pcie::Config c = pcie::Config::reference_delays();
    c.interleave_completions = true;
    AxiOptions o;
    o.data_w = 128;
    o.interleave_r = interleave;
    AxiWorld w(c, o);
    mem::DmaBuffer b = w.dma.alloc(65536);
    for (uint64_t i = 0; i < 16; ++i) w.dma_nic.read(b.bus_addr(4096 * i), 4096);
    w.run_idle();
    std::set<size_t> finished;
    size_t current = w.dma_nic.burst_order[0];
    bool mixed = false;
    for (const size_t n : w.dma_nic.burst_order) {
      if (n != current) {
        finished.insert(current);
        current = n;
      }
      if (finished.count(n) != 0) mixed = true;
    }
    CHECK(mixed == interleave);
  }
}

TEST_CASE(
    "in the reference world a 4 KB read's beats come from cycle 43 to cycle 76 behind its "
    "address") {
  AxiOptions o;
  o.data_w = 1024;
  AxiWorld w(pcie::Config::reference_delays(), o);
  mem::DmaBuffer b = w.dma.alloc(4096);
  w.fabric.add_region(pcie::kHost, b.bus_addr(), 64, pcie::LatencyClass::kRing);
  w.ticks(10);
  const size_t ring = w.dma_nic.read(b.bus_addr(), 64);
  w.run_idle();
  CHECK(w.dma_nic.reads[ring].first_ps - w.dma_nic.reads[ring].asked_ps == 40 * kNs);  // 20 cycles
  const size_t r = w.dma_nic.read(b.bus_addr(1024), 3072);
  const size_t big = w.dma_nic.read(b.bus_addr(64), 4032);
  (void)big;
  w.run_idle();
  const auto& read = w.dma_nic.reads[r];
  // The first beat's last byte arrives at 85 + 2.03 ns: the edge at 88. 3,072 B take 48.76 ns:
  // 133.76, edge at 134.
  CHECK(read.first_ps - read.asked_ps == 88 * kNs);
  CHECK(read.last_ps - read.asked_ps == 134 * kNs);
}

TEST_CASE("with zero delays a read is answered in the next cycle and beats follow each other") {
  for (const uint32_t width : {128u, 512u, 1024u}) {
    AxiOptions o;
    o.data_w = width;
    AxiWorld w(pcie::Config::zero_delays(), o);
    mem::DmaBuffer b = w.dma.alloc(1 << 18);
    w.ticks(5);
    for (uint64_t i = 0; i < 64; ++i) w.dma_nic.read(b.bus_addr(4096 * i), 4096);
    w.run_idle();
    CHECK(w.dma_nic.reads[0].first_ps - w.dma_nic.reads[0].asked_ps == 2 * kNs);
    const uint64_t beats = 64 * 4096 / (width / 8);
    CHECK(w.dma_nic.reads[63].last_ps - w.dma_nic.reads[0].first_ps == (beats - 1) * 2 * kNs);

    const size_t first = w.dma_nic.writes.size();
    for (uint64_t i = 0; i < 64; ++i)
      w.dma_nic.write(b.bus_addr(4096 * i), std::vector<uint8_t>(4096, 7));
    w.run_idle();
    const auto& writes = w.dma_nic.writes;
    CHECK(writes[first + 63].last_ps - writes[first].last_ps ==
          63 * (4096 / (width / 8)) * 2 * kNs);
    CHECK(writes[first].b_ps - writes[first].last_ps == 2 * kNs);
  }
}

TEST_CASE("single-beat reads and writes pass at one per cycle") {
  AxiOptions o;
  o.data_w = 512;
  AxiWorld w(pcie::Config::zero_delays(), o);
  mem::DmaBuffer b = w.dma.alloc(65536);
  w.ticks(3);
  for (uint64_t i = 0; i < 500; ++i) {
    w.dma_nic.read(b.bus_addr(64 * i), 64);
    w.dma_nic.write(b.bus_addr(64 * i), std::vector<uint8_t>(64, 1));
  }
  w.run_idle();
  CHECK(w.dma_nic.reads[499].last_ps - w.dma_nic.reads[0].last_ps == 499 * 2 * kNs);
  CHECK(w.dma_nic.writes[499].last_ps - w.dma_nic.writes[0].last_ps == 499 * 2 * kNs);
}

TEST_CASE("512 Gb/s of read beats are offered at the link's 504 Gb/s") {
  AxiOptions o;
  o.data_w = 1024;
  AxiWorld w(pcie::Config::reference_delays(), o);
  mem::DmaBuffer b = w.dma.alloc(1 << 20);
  for (uint64_t i = 0; i < 256; ++i) w.dma_nic.read(b.bus_addr(4096 * i), 4096);
  w.run_idle();
  const double ps =
      static_cast<double>(w.dma_nic.reads[255].last_ps - w.dma_nic.reads[0].asked_ps) - 85.0 * kNs;
  CHECK(std::abs(256 * 4096 * 8e3 / ps - 504.0) < 0.5);
}

TEST_CASE(
    "the host answers a write when it is accepted or when it is visible, a GPU only when it is "
    "visible") {
  for (const bool early : {true, false}) {
    pcie::Config c = pcie::Config::reference_delays();
    c.host.write_response = early ? pcie::WriteResponse::kAccepted : pcie::WriteResponse::kVisible;
    AxiOptions o;
    o.data_w = 1024;
    AxiWorld w(c, o);
    gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays()));
    mem::DmaBuffer h = w.dma.alloc(4096), d = g.alloc(4096);
    w.ticks(4);
    const size_t host = w.dma_nic.write(h.bus_addr(), std::vector<uint8_t>(64, 1), {}, 1);
    w.run_idle();
    const size_t gpu =
        w.dma_nic.write(d.bus_addr(), std::vector<uint8_t>(64, 2), {.target = 1, .gpu = 0}, 2);
    w.run_idle();
    const auto& hw = w.dma_nic.writes[host];
    const auto& gw = w.dma_nic.writes[gpu];
    // 64 B take 1.02 ns on the wire; visible 85 (185) ns later; 20 (120) ns back.
    CHECK(hw.b_ps - hw.last_ps == (early ? 2 * kNs : 108 * kNs));
    CHECK(gw.b_ps - gw.last_ps == 308 * kNs);
    CHECK(d.load<uint8_t>(63) == 2);
  }
}

TEST_CASE("responses of one ID stay in order, of different IDs they do not wait for each other") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays()));
  mem::DmaBuffer h = w.dma.alloc(4096), d = g.alloc(4096);
  const std::vector<uint8_t> x(64, 1);
  w.dma_nic.write(d.bus_addr(), x, {.target = 1}, 5);
  w.dma_nic.write(h.bus_addr(), x, {}, 5);
  w.dma_nic.write(h.bus_addr(), x, {}, 6);
  w.run_idle();
  const auto& writes = w.dma_nic.writes;
  CHECK(writes[1].b_ps > writes[0].b_ps);
  CHECK(writes[2].b_ps < writes[0].b_ps);
}

TEST_CASE("errors come back on the AXI pins: SLVERR, poison, nothing") {
  AxiOptions o;
  o.data_w = 128;
  AxiWorld w(pcie::Config::reference_delays(), o);
  mem::DmaBuffer b = w.dma.alloc(65536);
  const auto data = test::rng("data").bytes(65536);
  b.write(0, data.data(), data.size());
  auto rule = [&](pcie::FaultKind kind, uint64_t offset) {
    pcie::FaultRule r{.kind = kind};
    r.first_addr = b.bus_addr(offset);
    r.last_addr = r.first_addr + 4095;
    w.fabric.add_fault(r);
  };
  rule(pcie::FaultKind::kUnsupported, 0);
  rule(pcie::FaultKind::kCompleterAbort, 4096);
  rule(pcie::FaultKind::kPoison, 8192);
  rule(pcie::FaultKind::kNeverComes, 12288);
  for (uint64_t i = 0; i < 5; ++i) w.dma_nic.read(b.bus_addr(4096 * i + 5), 3000);
  const size_t unmapped = w.dma_nic.read(0x7777'0000, 100);
  const size_t bad_write = w.dma_nic.write(0x7777'0000, std::vector<uint8_t>(300, 3));
  w.dma_nic.reads_lost = 1;
  w.run_idle();
  const auto& r = w.dma_nic.reads;
  CHECK(r[0].error);
  CHECK(r[1].error);
  CHECK_FALSE(r[2].error);
  CHECK(r[2].poisoned);
  CHECK_FALSE(r[3].done);
  CHECK(r[3].beats == 0);
  CHECK_FALSE(r[4].error);
  CHECK_FALSE(r[4].poisoned);
  CHECK(std::equal(r[4].data.begin(), r[4].data.end(), data.begin() + 16384 + 5));
  CHECK(r[unmapped].error);
  CHECK(w.dma_nic.writes[bad_write].resp == axi::kSlvErr);
  w.ticks(100);
  CHECK(w.port.idle());
}

TEST_CASE("a zero-length read answers with one beat, behind the writes before it") {
  AxiWorld w(pcie::Config::reference_delays(), {});
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays()));
  mem::DmaBuffer d = g.alloc(4096);
  w.dma_nic.write(d.bus_addr(), std::vector<uint8_t>(512, 1), {.target = 1});
  w.run([&] { return w.dma_nic.writes[0].last_ps != 0; });
  const size_t r = w.dma_nic.read(d.bus_addr(8), 1, {.target = 1, .no_data = true});
  w.run_idle();
  CHECK(w.dma_nic.reads[r].beats == 1);
  REQUIRE(w.seen.visible.size() == 1);
  CHECK(w.dma_nic.reads[r].first_ps >= w.seen.visible[0].time_ps + 120 * kNs);
}

TEST_CASE("no more reads are taken than there are tags") {
  pcie::Config c = pcie::Config::reference_delays();
  c.tags = 4;
  AxiWorld w(c, {});
  mem::DmaBuffer b = w.dma.alloc(4096);
  for (int i = 0; i < 20; ++i) w.dma_nic.read(b.bus_addr(), 64);
  uint32_t most = 0;
  w.run([&] {
    most = std::max(most, w.fabric.reads_in_flight());
    return w.dma_nic.idle();
  });
  CHECK(most == 4);
}

TEST_CASE("a slow link stops the NIC's write data and loses nothing") {
  pcie::Config c = pcie::Config::reference_delays();
  c.link.up_kbps = 50'000'000;
  AxiOptions o;
  o.data_w = 1024;
  AxiWorld w(c, o);
  mem::DmaBuffer b = w.dma.alloc(1 << 18);
  for (uint64_t i = 0; i < 64; ++i)
    w.dma_nic.write(b.bus_addr(4096 * i), std::vector<uint8_t>(4096, static_cast<uint8_t>(i + 1)));
  uint32_t most = 0;
  w.run([&] {
    most = std::max(most, w.fabric.posted_backlog());
    return w.dma_nic.idle();
  });
  CHECK(most <= c.posted_queue_bytes + 4096);
  const double ps = static_cast<double>(w.dma_nic.writes[63].last_ps - w.dma_nic.writes[8].last_ps);
  CHECK(std::abs(55 * 4096 * 8e3 / ps - 50.0) < 2.0);
  w.fabric.advance(w.now + 10'000 * kNs);
  for (uint64_t i = 0; i < 64; ++i) CHECK(b.load<uint8_t>(4096 * i + 4095) == i + 1);
}

TEST_CASE("resetting the NIC in the middle of everything leaves nothing behind") {
  for (const char* preset : {"reference", "zero", "gen5x16"}) {
    for (const int after : {1, 2, 3, 5, 8, 20, 45, 60, 200, 400}) {
      CAPTURE(preset, after);
      AxiOptions o;
      o.data_w = 128;
      o.order = after % 2 == 0 ? WriteOrder::kDataFirst : WriteOrder::kTogether;
      pcie::Config c = pcie::Config::preset(preset);
      c.mps = 512;
      c.completion_bytes = 256;
      AxiWorld w(c, o);
      mem::DmaBuffer b = w.dma.alloc(1 << 16);
      for (uint64_t i = 0; i < 16; ++i) {
        w.dma_nic.read(b.bus_addr(4096 * i), 512);
        w.dma_nic.write(b.bus_addr(4096 * i), std::vector<uint8_t>(512, 9));
      }
      w.ticks(after);
      w.port.reset();
      w.dma_nic = test::FakeDma(128, 0, WriteOrder::kTogether);
      w.ticks(3000);  // late completions find nobody
      CHECK(w.fabric.reads_in_flight() == 0);
      CHECK(w.fabric.posted_backlog() == 0);
      CHECK(w.port.idle());
      b.fill(0, 0x33, b.size());
      const size_t r = w.dma_nic.read(b.bus_addr(100), 400);
      const size_t x = w.dma_nic.write(b.bus_addr(8192), std::vector<uint8_t>(512, 5));
      w.run_idle();
      CHECK(w.dma_nic.reads[r].data == std::vector<uint8_t>(400, 0x33));
      CHECK(w.dma_nic.writes[x].resp == 0);
    }
  }
}

TEST_CASE("violations of the protocol are thrown with cycle and signal") {
  struct Case {
    const char* signal;
    std::function<void(axi::DmaIn&, int)> drive;  // cycle 0, 1, 2...
  };
  static uint32_t words[4] = {1, 2, 3, 4};
  auto aw = [](axi::DmaIn& p, uint64_t addr, uint32_t bytes, uint8_t len) {
    p.aw_valid = true;
    p.aw_addr = addr;
    p.aw_len = len;
    p.aw_user = bytes;
  };
  auto ar = [](axi::DmaIn& p, uint64_t addr, uint32_t bytes, uint8_t len, uint8_t id = 0) {
    p.ar_valid = true;
    p.ar_addr = addr;
    p.ar_len = len;
    p.ar_user = bytes;
    p.ar_id = id;
  };
  auto beat = [](axi::DmaIn& p, uint64_t strobe, bool last) {
    p.w_valid = true;
    p.w_data = words;
    p.w_strb = {strobe, 0};
    p.w_last = last;
  };
  const Case cases[] = {
      {"m_axi_araddr", [&](axi::DmaIn& p, int) { ar(p, 0xFF0, 32, 1); }},        // 4 KB crossing
      {"m_axi_aruser", [&](axi::DmaIn& p, int) { ar(p, 0, 1024, 63); }},         // more than MRRS
      {"m_axi_awuser", [&](axi::DmaIn& p, int) { aw(p, 0, 1024, 63); }},         // more than MPS
      {"m_axi_arlen", [&](axi::DmaIn& p, int) { ar(p, 8, 16, 0); }},             // needs two beats
      {"m_axi_aruser", [&](axi::DmaIn& p, int) { ar(p, 8, 0, 0); }},             // no bytes
      {"m_axi_aruser", [&](axi::DmaIn& p, int) { ar(p, 8, 8 | 1u << 14, 0); }},  // target 2
      {"m_axi_aruser", [&](axi::DmaIn& p, int) { ar(p, 8, 8 | 1u << 25, 0); }},  // reserved
      {"m_axi_arid", [&](axi::DmaIn& p, int c) { ar(p, 64u * c, 8, 0, 7); }},  // twice the same ID
      {"m_axi_wstrb", [&](axi::DmaIn& p, int) { aw(p, 4, 8, 0), beat(p, 0xFFFF, true); }},
      {"m_axi_wstrb", [&](axi::DmaIn& p, int) { aw(p, 4, 8, 0), beat(p, 0x07F0, true); }},
      {"m_axi_wlast", [&](axi::DmaIn& p, int) { aw(p, 0, 32, 1), beat(p, 0xFFFF, true); }},
      {"m_axi_wlast", [&](axi::DmaIn& p, int c) { aw(p, 16u * c, 16, 0), beat(p, 0xFFFF, false); }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.signal, &c - cases);
    pcie::Config config = pcie::Config::gen5_x16();
    test::World w(config);
    axi::DmaAgent agent(w.fabric, {.data_w = 128});
    bool thrown = false;
    try {
      for (int cycle = 0; cycle < 6; ++cycle) {
        w.fabric.advance(static_cast<uint64_t>(cycle) * 2000);
        agent.drive(static_cast<uint64_t>(cycle) * 2000);
        axi::DmaIn pins;
        c.drive(pins, cycle);
        agent.sample(pins, static_cast<uint64_t>(cycle) * 2000);
      }
    } catch (const axi::ProtocolError& e) {
      thrown = true;
      CHECK(e.signal() == c.signal);
      CHECK(std::string(e.what()).find("cycle ") == 0);
    }
    CHECK(thrown);
  }

  // What is offered must hold until it is taken.
  const Case holds[] = {
      {"m_axi_awvalid",
       [&](axi::DmaIn& p, int c) {
         if (c == 0) aw(p, 0, 16, 0);
       }},
      {"m_axi_awaddr", [&](axi::DmaIn& p, int c) { aw(p, 16u * c, 16, 0); }},
      {"m_axi_arvalid",
       [&](axi::DmaIn& p, int c) {
         if (c == 0) ar(p, 0, 16, 0);
       }},
      {"m_axi_araddr", [&](axi::DmaIn& p, int c) { ar(p, 0, 16, 0, static_cast<uint8_t>(c)); }},
      {"m_axi_wvalid",
       [&](axi::DmaIn& p, int c) {
         if (c == 0) beat(p, 0xFFFF, false);
       }},
      {"m_axi_wdata",
       [&](axi::DmaIn& p, int c) {
         words[2] = static_cast<uint32_t>(c);
         beat(p, 0xFFFF, false);
       }},
      {"m_axi_wdata", [&](axi::DmaIn& p, int c) { beat(p, 0xFFFF, c == 1); }},
  };
  for (const Case& c : holds) {
    CAPTURE(c.signal, &c - holds);
    test::World w(pcie::Config::gen5_x16());
    axi::DmaAgent agent(w.fabric, {.data_w = 128});  // never driven: all readies are low
    axi::DmaIn first, second;
    c.drive(first, 0);
    agent.sample(first, 0);
    c.drive(second, 1);
    try {
      agent.sample(second, 2000);
      FAIL("nothing was thrown");
    } catch (const axi::ProtocolError& e) {
      CHECK(e.signal() == c.signal);
      CHECK(e.cycle() == 2);
    }
  }
}

TEST_CASE("the same seed gives the same cycles") {
  auto trace = [](uint64_t seed) {
    pcie::Config c = pcie::Config::gen5_x16();
    c.seed = seed;
    AxiOptions o;
    o.agent_stalls = {64, 64, 64, 64, 64};
    AxiWorld w(c, o);
    mem::DmaBuffer b = w.dma.alloc(65536);
    for (uint64_t i = 0; i < 100; ++i) {
      w.dma_nic.read(b.bus_addr(512 * i), 512);
      w.dma_nic.write(b.bus_addr(512 * i), std::vector<uint8_t>(512, 1));
    }
    w.run_idle();
    std::vector<uint64_t> times;
    for (const auto& r : w.dma_nic.reads) times.push_back(r.last_ps);
    for (const auto& x : w.dma_nic.writes) times.push_back(x.b_ps);
    return times;
  };
  CHECK(trace(1) == trace(1));
  CHECK(trace(1) != trace(2));
}
