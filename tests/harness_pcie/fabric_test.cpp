// SPDX-License-Identifier: Apache-2.0
//
// The fabric itself: delays, rates, ordering, credits, errors. Expected times are computed here
// from the numbers of the architecture (doorbell 20 ns, ring read 40 ns, data read 85 ns, 504 Gb/s,
// write 85 ns, GPU 100 ns each way).
#include "harness/pcie/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "tests/harness_pcie/requester.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic;
using test::Requester;
using test::World;

namespace {

constexpr uint64_t kNs = 1000;

std::vector<uint8_t> bytes(size_t n, uint8_t first = 1) {
  std::vector<uint8_t> v(n);
  for (size_t i = 0; i < n; ++i) v[i] = static_cast<uint8_t>(first + i * 7);
  return v;
}

bool near(double got, double want, double tolerance) {
  return std::abs(got - want) <= tolerance * want;
}

uint64_t at_504(uint64_t n) { return static_cast<uint64_t>(std::floor(n * 8e3 / 504.0)); }  // ps

}  // namespace

TEST_CASE(
    "with reference delays a 4 KB read gives its first byte after 85 ns and its last after 150 "
    "ns") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  const auto data = bytes(4096);
  b.write(0, data.data(), 4096);
  const size_t r = nic.read(b.bus_addr(), 4096, 1000 * kNs);
  w.fabric.advance(2000 * kNs);
  CHECK(nic.result(r).first_ps() == 1085 * kNs);
  CHECK(nic.result(r).last_ps() == 1085 * kNs + at_504(4096));
  CHECK(at_504(4096) / kNs == 65);
  CHECK(nic.result(r).data == data);
  REQUIRE(nic.result(r).chunks.size() == 16);  // completions of 256 B
  CHECK(nic.result(r).chunks[0].end == 256);
  CHECK(nic.result(r).chunks[0].last_ps == 1085 * kNs + at_504(256));
}

TEST_CASE(
    "with reference delays a ring read is answered after 40 ns and a doorbell arrives after 20 "
    "ns") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  const mem::DmaBuffer ring = w.dma.alloc(65536);
  w.fabric.add_region(pcie::kHost, ring.bus_addr(), ring.size(), pcie::LatencyClass::kRing);
  for (const uint32_t len : {64u, 128u, 256u}) {
    const uint64_t now = w.fabric.now_ps() + 500 * kNs;
    const size_t r = nic.read(ring.bus_addr(256), len, now);
    w.fabric.advance(now + 300 * kNs);
    CHECK(nic.result(r).last_ps() <= now + 40 * kNs);
    CHECK(nic.result(r).last_ps() + 1 >= now + 40 * kNs);
  }
  const uint32_t value = 5;
  const uint64_t now = w.fabric.now_ps();
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0x110, &value, 4, now);
  w.fabric.advance(now + 100 * kNs);
  CHECK(w.fabric.mmio_write_front(now + 20 * kNs - 1) == nullptr);
  const pcie::MmioOp* op = w.fabric.mmio_write_front(now + 20 * kNs);
  REQUIRE(op != nullptr);
  CHECK(op->offset == 0x110);
  CHECK(op->data[0] == 5);
}

TEST_CASE(
    "with reference delays a streamed write is visible 85 ns behind its last beat and 150 ns "
    "behind its first") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(8192);
  const auto data = bytes(4096);
  nic.write(b.bus_addr(), data, 100 * kNs, 162 * kNs);  // 32 beats of 2 ns
  w.fabric.advance(249 * kNs);
  CHECK(w.seen.visible.empty());
  CHECK(b.load<uint8_t>(0) == 0);
  w.fabric.advance(1000 * kNs);
  REQUIRE(w.seen.visible.size() == 1);
  CHECK(w.seen.visible[0].time_ps == 100 * kNs + at_504(4096) + 85 * kNs);
  CHECK(w.seen.visible[0].time_ps / kNs == 250);
  CHECK(w.seen.visible[0].addr == b.bus_addr());
  CHECK(w.seen.visible[0].len == 4096);
  CHECK(b.equal(0, data.data(), 4096));

  // A slow writer: 85 ns behind the last beat.
  w.seen.visible.clear();
  nic.write(b.bus_addr(), data, 2000 * kNs, 2500 * kNs);
  w.fabric.advance(4000 * kNs);
  CHECK(w.seen.visible[0].time_ps == 2585 * kNs);
}

TEST_CASE("with reference delays GPU memory is 100 ns further away in each direction") {
  World w(pcie::Config::reference_delays());
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays()));
  Requester nic(w.fabric);
  mem::DmaBuffer b = g.alloc(8192);
  const auto data = bytes(4096);
  b.write(0, data.data(), 4096);
  const size_t r = nic.read(b.bus_addr(), 4096, 1000 * kNs, g.endpoint());
  w.fabric.advance(2000 * kNs);
  CHECK(nic.result(r).first_ps() == 1285 * kNs);
  CHECK(nic.result(r).last_ps() == 1285 * kNs + at_504(4096));
  CHECK(nic.result(r).data == data);

  const size_t x = nic.write(b.bus_addr(4096), data, 3000 * kNs, 3062 * kNs, g.endpoint());
  w.fabric.advance(4000 * kNs);
  REQUIRE(w.seen.visible.size() == 1);
  CHECK(w.seen.visible[0].time_ps == 3000 * kNs + at_504(4096) + 185 * kNs);
  CHECK(w.seen.visible[0].target == g.endpoint());
  CHECK(b.equal(4096, data.data(), 4096));
  // Answered only when visible, plus the way back.
  CHECK(nic.response(x).time_ps == w.seen.visible[0].time_ps + 120 * kNs);

  uint64_t host_done = 0;
  mem::DmaBuffer h = w.dma.alloc(4096);
  g.copy_to_host(b.bus_addr(), h.bus_addr(), 4096, 5000 * kNs, [&](uint64_t t) { host_done = t; });
  w.fabric.advance(5399 * kNs);
  CHECK(host_done == 0);
  w.fabric.advance(6000 * kNs);
  CHECK(host_done == 5400 * kNs);
  CHECK(h.equal(0, data.data(), 4096));
}

TEST_CASE("with zero delays everything happens at the time it was asked for") {
  World w(pcie::Config::zero_delays());
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_zero_delays()));
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  const auto data = bytes(4096);
  nic.write(b.bus_addr(), data, 10 * kNs);
  const size_t r = nic.read(b.bus_addr(), 4096, 10 * kNs);
  const uint32_t v = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0, &v, 4, 10 * kNs);
  w.fabric.advance(10 * kNs);
  CHECK(w.seen.visible.at(0).time_ps == 10 * kNs);
  CHECK(nic.result(r).last_ps() == 10 * kNs);
  CHECK(nic.result(r).data == data);
  CHECK(w.fabric.mmio_write_front(10 * kNs) != nullptr);
}

TEST_CASE("a CQE becomes visible behind the data written before it, without relaxed ordering") {
  pcie::Config c = pcie::Config::reference_delays();
  c.host.write_jitter_ps = 300 * kNs;
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer data_buffer = w.dma.alloc(1 << 20), cq = w.dma.alloc(4096);
  uint64_t now = 0;
  for (int i = 0; i < 100; ++i) {
    nic.write(data_buffer.bus_addr(4096 * i), bytes(4096), now, now + 62 * kNs, pcie::kHost, true);
    nic.write(cq.bus_addr(32 * i), bytes(32), now + 64 * kNs);
    now += 66 * kNs;
  }
  w.fabric.advance(now + 10000 * kNs);
  REQUIRE(w.seen.visible.size() == 200);
  std::set<uint64_t> seen;
  bool overtaken = false;  // relaxed data did pass each other or a CQE
  uint64_t last_data = 0;
  for (const auto& e : w.seen.visible) {
    if (cq.contains(e.addr, e.len)) {
      const uint64_t n = (e.addr - cq.bus_addr()) / 32;
      for (uint64_t k = 0; k <= n; ++k) REQUIRE(seen.count(data_buffer.bus_addr(4096 * k)) == 1);
    } else {
      if (e.addr < last_data) overtaken = true;
      last_data = e.addr;
    }
    seen.insert(e.addr);
  }
  CHECK(overtaken);
}

TEST_CASE("a posted write never passes an earlier posted write") {
  pcie::Config c = pcie::Config::gen5_x16();
  c.host.write_jitter_ps = 500 * kNs;
  World w(c, {.hit_ps = 0, .miss_ps = 400 * kNs, .cache_entries = 4});
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(1 << 20);
  auto rng = test::rng("sizes");
  uint64_t now = 0;
  std::vector<uint64_t> order;
  for (int i = 0; i < 500; ++i) {
    const uint64_t addr = b.bus_addr(rng.below(255) * 4096 + 1);
    nic.write(addr, bytes(rng.between(1, 512)), now);
    order.push_back(addr);
    now += rng.below(20 * kNs);
  }
  w.fabric.advance(now + 100000 * kNs);
  REQUIRE(w.seen.visible.size() == order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    REQUIRE(w.seen.visible[i].addr == order[i]);
    if (i > 0) REQUIRE(w.seen.visible[i].time_ps >= w.seen.visible[i - 1].time_ps);
  }
}

TEST_CASE(
    "a read returns what posted writes before it wrote, and a zero-length read returns after they "
    "are visible") {
  for (const char* preset : {"zero", "reference", "gen5x16"}) {
    CAPTURE(preset);
    pcie::Config c = pcie::Config::preset(preset);
    c.host.write_jitter_ps = 200 * kNs;
    World w(c);
    Requester nic(w.fabric);
    mem::DmaBuffer b = w.dma.alloc(4096);
    uint64_t now = 0;
    for (int i = 0; i < 50; ++i) {
      const auto data = bytes(256, static_cast<uint8_t>(i * 3));
      w.seen.visible.clear();
      nic.write(b.bus_addr(100), data, now);
      const size_t r = nic.read(b.bus_addr(100), 256, now);
      const size_t flush = nic.read(b.bus_addr(0), 1, now, pcie::kHost, true);
      w.fabric.advance(now + 5000 * kNs);
      REQUIRE(nic.result(r).data == data);
      REQUIRE(w.seen.visible.size() == 1);
      REQUIRE(nic.result(flush).first_ps() >= w.seen.visible[0].time_ps);
      now += 5000 * kNs;
    }
  }
}

TEST_CASE(
    "posted writes pass reads that have no credits, reads do not pass posted writes that have "
    "none") {
  pcie::Config c = pcie::Config::reference_delays();
  c.link.credit_return_ps = 1000 * kNs;
  c.link.up_credits.nonposted_headers = 1;
  c.link.up_credits.posted_headers = 2;
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  nic.read(b.bus_addr(), 64, 0);
  nic.read(b.bus_addr(), 64, 0);          // waits for the credit: 15 + 1000 ns
  nic.write(b.bus_addr(), bytes(64), 0);  // passes it
  nic.write(b.bus_addr(), bytes(64), 0);
  nic.write(b.bus_addr(), bytes(64), 0);  // the third waits
  nic.read(b.bus_addr(), 64, 0);          // and this one must wait behind it
  w.fabric.advance(100'000 * kNs);
  std::vector<const pcie::TlpRecord*> up;
  for (const auto& r : w.seen.tlps) {
    if (r.direction == pcie::Direction::kUp) up.push_back(&r);
  }
  REQUIRE(up.size() == 6);
  CHECK(up[0]->type == pcie::TlpType::kMemRead);
  CHECK(up[1]->type == pcie::TlpType::kMemWrite);
  CHECK(up[2]->type == pcie::TlpType::kMemWrite);
  CHECK(up[2]->start_ps <= 3 * kNs);
  CHECK(up[3]->type == pcie::TlpType::kMemRead);
  CHECK(up[3]->start_ps == 1015 * kNs);
  CHECK(up[4]->type == pcie::TlpType::kMemWrite);
  CHECK(up[4]->start_ps > 1015 * kNs);
  CHECK(up[5]->type == pcie::TlpType::kMemRead);
  CHECK(up[5]->start_ps >= up[4]->start_ps);
  CHECK(w.fabric.stats().posted_credit_stalls == 1);
  CHECK(w.fabric.stats().nonposted_credit_stalls >= 1);
}

TEST_CASE("data credits bound the write rate to credits per round trip") {
  pcie::Config c = pcie::Config::reference_delays();
  c.mps = 256;
  c.link.credit_return_ps = 985 * kNs;  // 15 up + 985 = 1 us round trip
  c.link.up_credits.posted_data = 64;   // 1,024 B
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(65536);
  for (int i = 0; i < 100; ++i) nic.write(b.bus_addr(256 * i), bytes(256), 0);
  w.fabric.advance(1'000'000 * kNs);
  REQUIRE(w.seen.visible.size() == 100);
  // 4 writes per round trip of 1 us plus the time of 256 B on the wire.
  const double total =
      static_cast<double>(w.seen.visible.back().time_ps - w.seen.visible.front().time_ps);
  CHECK(near(total, 24 * (1000.0 * kNs + at_504(256)), 0.01));
}

TEST_CASE(
    "a completion does not pass an MMIO write that waits for credits, and later MMIO writes pass "
    "completions") {
  pcie::Config c = pcie::Config::reference_delays();
  c.link.down_credits.posted_headers = 1;
  c.link.credit_return_ps = 10 * kNs;
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  const uint32_t v = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0, &v, 4, 0);
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0x100, &v, 4,
                      0);  // waits until the first is taken
  const size_t r = nic.read(b.bus_addr(), 64, 0);
  w.fabric.advance(500 * kNs);
  CHECK(nic.result(r).chunks.empty());
  REQUIRE(w.fabric.mmio_write_front(500 * kNs) != nullptr);
  w.fabric.mmio_write_pop(500 * kNs);
  w.fabric.advance(1000 * kNs);
  REQUIRE(nic.result(r).chunks.size() == 1);
  const pcie::MmioOp* op = w.fabric.mmio_write_front(1000 * kNs);
  REQUIRE(op != nullptr);
  CHECK(op->offset == 0x100);
  CHECK(nic.result(r).first_ps() >= op->arrive_ps);
}

TEST_CASE("completion credits hold completions back until the NIC takes data") {
  pcie::Config c = pcie::Config::reference_delays();
  c.link.down_credits.completion_data = 32;  // 512 B
  World w(c);
  Requester nic(w.fabric);
  nic.hold_completions = true;
  mem::DmaBuffer b = w.dma.alloc(4096);
  const size_t r = nic.read(b.bus_addr(), 4096, 0);
  w.fabric.advance(1000 * kNs);
  CHECK(nic.result(r).chunks.size() == 2);
  w.fabric.completion_taken(256, 1000 * kNs);
  w.fabric.advance(2000 * kNs);
  CHECK(nic.result(r).chunks.size() == 3);
  CHECK(nic.result(r).chunks[2].first_ps == 1020 * kNs);
}

TEST_CASE("an MMIO read's answer arrives behind all DMA writes issued before it") {
  pcie::Config c = pcie::Config::reference_delays();
  c.host.write_jitter_ps = 400 * kNs;
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  for (int i = 0; i < 30; ++i) {
    const uint64_t now = w.fabric.now_ps() + 100 * kNs;
    uint64_t answered = 0;
    w.fabric.mmio_read(pcie::kHost, pcie::Bar::kRegisters, 0x100, 4, now,
                       [&](const pcie::MmioResult& m) {
                         answered = m.time_ps;
                         CHECK(m.ok);
                         CHECK(m.data.size() == 4);
                         CHECK(m.data[1] == 0xCD);
                       });
    w.fabric.advance(now + 20 * kNs);
    const pcie::MmioOp* op = w.fabric.mmio_read_front(now + 20 * kNs);
    REQUIRE(op != nullptr);
    const uint32_t id = op->id;
    w.fabric.mmio_read_pop(now + 20 * kNs);
    w.seen.visible.clear();
    nic.write(b.bus_addr(), bytes(512), now + 20 * kNs);
    const uint8_t answer[4] = {0xAB, 0xCD, 0, 0};
    w.fabric.mmio_answer(id, answer, 4, true, now + 20 * kNs);
    w.fabric.advance(now + 2000 * kNs);
    REQUIRE(answered != 0);
    REQUIRE(w.seen.visible.size() == 1);
    CHECK(answered >= w.seen.visible[0].time_ps);
  }
}

TEST_CASE("an MMIO read waits for earlier MMIO writes, and later MMIO writes pass it") {
  World w(pcie::Config::reference_delays());
  const uint32_t v = 1;
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kRegisters, 0x10, &v, 4, 0);
  w.fabric.mmio_read(pcie::kHost, pcie::Bar::kRegisters, 0x10, 4, 0, {});
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kRegisters, 0x20, &v, 4, 0);
  w.fabric.advance(100 * kNs);
  CHECK(w.fabric.mmio_read_front(100 * kNs) == nullptr);
  w.fabric.mmio_write_pop(100 * kNs);
  CHECK(w.fabric.mmio_read_front(100 * kNs) != nullptr);
  REQUIRE(w.fabric.mmio_write_front(100 * kNs) != nullptr);
  CHECK(w.fabric.mmio_write_front(100 * kNs)->offset == 0x20);
}

TEST_CASE("long MMIO writes are cut into 64 B bursts at 64 B boundaries") {
  World w(pcie::Config::reference_delays());
  const auto data = bytes(200);
  w.fabric.mmio_write(pcie::kHost, pcie::Bar::kBlueFlame, 0x20, data.data(), 200, 0);
  w.fabric.advance(100 * kNs);
  std::vector<std::pair<uint32_t, uint32_t>> got;
  std::vector<uint8_t> all;
  while (const pcie::MmioOp* op = w.fabric.mmio_write_front(100 * kNs)) {
    got.emplace_back(op->offset, op->len);
    all.insert(all.end(), op->data, op->data + op->len);
    w.fabric.mmio_write_pop(100 * kNs);
  }
  CHECK(got ==
        std::vector<std::pair<uint32_t, uint32_t>>{{0x20, 32}, {0x40, 64}, {0x80, 64}, {0xC0, 40}});
  CHECK(all == data);
}

TEST_CASE("the reference link gives 504 Gb/s of payload in each direction, exact to the byte") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(1 << 20);
  constexpr uint64_t kCount = 256;
  for (uint64_t i = 0; i < kCount; ++i) {
    nic.read(b.bus_addr(4096 * i), 4096, 0);
    nic.write(b.bus_addr(4096 * i), bytes(4096), 0);
  }
  w.fabric.advance(1'000'000 * kNs);
  uint64_t up_start = ~0ull, up_end = 0, down_start = ~0ull, down_end = 0;
  for (const auto& t : w.seen.tlps) {
    if (t.type == pcie::TlpType::kMemWrite) {
      up_start = std::min(up_start, t.start_ps);
      up_end = std::max(up_end, t.end_ps);
    } else if (t.type == pcie::TlpType::kCompletionData) {
      down_start = std::min(down_start, t.start_ps);
      down_end = std::max(down_end, t.end_ps);
    }
  }
  CHECK(up_end - up_start == at_504(kCount * 4096));
  // Reads stand behind writes; between their batches the link may idle, so it is at least that.
  CHECK(down_end - down_start >= at_504(kCount * 4096));

  World w2(pcie::Config::reference_delays());
  Requester nic2(w2.fabric);
  mem::DmaBuffer b2 = w2.dma.alloc(1 << 20);
  for (uint64_t i = 0; i < kCount; ++i) nic2.read(b2.bus_addr(4096 * i), 4096, 0);
  w2.fabric.advance(1'000'000 * kNs);
  CHECK(nic2.result(kCount - 1).last_ps() == 85 * kNs + at_504(kCount * 4096));
}

TEST_CASE("with TLP overhead a Gen5 x16 link gives the payload rates of the fact sheet") {
  // Section 10: 504.1 Gb/s raw; MWr 24 B, CplD 20 B of overhead: 460.9 @256, 481.6 @512 for writes.
  CHECK(pcie::Config::link_kbps(5, 16) / 1000 == 504123);
  CHECK(pcie::Config::link_kbps(4, 16) / 1000 == 252061);
  CHECK(pcie::Config::link_kbps(3, 8) / 1000 == 63015);
  CHECK(pcie::Config::link_kbps(2, 4) == 16'000'000);
  for (const auto& [mps, gbps] : {std::pair{256u, 460.9}, std::pair{512u, 481.6}}) {
    pcie::Config c = pcie::Config::zero_delays();
    c.mps = mps;
    c.completion_bytes = 256;
    c.link.tlp_overhead = true;
    c.link.up_kbps = c.link.down_kbps = pcie::Config::link_kbps(5, 16);
    World w(c);
    Requester nic(w.fabric);
    mem::DmaBuffer b = w.dma.alloc(1 << 20);
    for (uint32_t i = 0; i < 1000; ++i) nic.write(b.bus_addr(uint64_t{mps} * i), bytes(mps), 0);
    w.fabric.advance(100'000 * kNs);
    const double ps = static_cast<double>(w.seen.visible.back().time_ps);
    CHECK(near(1000.0 * mps * 8e3 / ps, gbps, 0.0005));
  }
  pcie::Config c = pcie::Config::zero_delays();
  c.mps = 256;
  c.completion_bytes = 256;
  c.link.tlp_overhead = true;
  c.link.up_kbps = c.link.down_kbps = pcie::Config::link_kbps(5, 16);
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(1 << 20);
  for (uint32_t i = 0; i < 200; ++i) nic.read(b.bus_addr(4096ull * i), 4096, 0);
  w.fabric.advance(100'000 * kNs);
  const double span =
      static_cast<double>(nic.result(199).last_ps() - nic.result(0).chunks[0].last_ps);
  CHECK(near((200 * 16 - 1) * 256 * 8e3 / span, 504.123 * 256 / 276, 0.0005));  // 92.8 %
}

TEST_CASE(
    "completions end at RCB boundaries, cover the read once and come in order within one tag") {
  for (const uint32_t rcb : {64u, 128u}) {
    for (const bool random : {false, true}) {
      for (const bool interleave : {false, true}) {
        pcie::Config c = pcie::Config::reference_delays();
        c.rcb = rcb;
        c.random_split = random;
        c.interleave_completions = interleave;
        World w(c);
        Requester nic(w.fabric);
        mem::DmaBuffer b = w.dma.alloc(65536);
        const auto data = test::rng("data").bytes(65536);
        b.write(0, data.data(), data.size());
        auto rng = test::rng("reads");
        std::vector<std::pair<uint64_t, uint32_t>> asked;
        for (int i = 0; i < 100; ++i) {
          const uint64_t page = rng.below(16) * 4096, at = rng.below(4096);
          const auto len = static_cast<uint32_t>(rng.between(1, 4096 - at));
          asked.emplace_back(page + at, len);
          nic.read(b.bus_addr(page + at), len, 0);
        }
        w.fabric.advance(100'000 * kNs);
        bool mixed = false;
        for (size_t i = 0; i < asked.size(); ++i) {
          const auto& r = nic.result(i);
          REQUIRE_FALSE(r.chunks.empty());
          uint32_t from = 0;
          uint64_t last = 0;
          for (const auto& chunk : r.chunks) {
            REQUIRE(chunk.end > from);
            REQUIRE(chunk.end - from <= 256);
            if (chunk.end < asked[i].second) REQUIRE((asked[i].first + chunk.end) % rcb == 0);
            REQUIRE(chunk.first_ps >= last);
            last = chunk.last_ps;
            from = chunk.end;
          }
          REQUIRE(from == asked[i].second);
          REQUIRE(std::equal(r.data.begin(), r.data.end(),
                             data.begin() + static_cast<long>(asked[i].first)));
        }
        for (size_t i = 2; i < nic.chunk_order.size(); ++i) {
          if (nic.chunk_order[i] == nic.chunk_order[i - 2] &&
              nic.chunk_order[i] != nic.chunk_order[i - 1])
            mixed = true;
        }
        CHECK(mixed == interleave);
      }
    }
  }
}

TEST_CASE("completions of different tags come back in random order, the same for the same seed") {
  auto order_of = [](uint64_t seed, bool in_order) {
    pcie::Config c = pcie::Config::reference_delays();
    c.host.read_jitter_ps = 500 * kNs;
    c.in_order_completions = in_order;
    c.seed = seed;
    World w(c);
    Requester nic(w.fabric);
    mem::DmaBuffer b = w.dma.alloc(65536);
    for (int i = 0; i < 64; ++i) nic.read(b.bus_addr(64 * i), 64, 2 * kNs * i);
    w.fabric.advance(10'000 * kNs);
    return nic.completion_order;
  };
  const auto a = order_of(1, false);
  CHECK(a.size() == 64);
  CHECK(a == order_of(1, false));
  CHECK(a != order_of(2, false));
  CHECK_FALSE(std::is_sorted(a.begin(), a.end()));
  const auto sorted = order_of(1, true);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
}

TEST_CASE("an unmapped or forbidden IOVA fails the request, is logged, and changes nothing") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  mem::DmaBuffer read_only = w.dma.alloc(4096, mem::kRead);
  const size_t r = nic.read(0x1234'5000, 64, 0);
  const size_t x = nic.write(read_only.bus_addr(8), bytes(64), 0);
  const size_t y = nic.write(read_only.bus_addr(4096 - 32) + 4096, bytes(32), 0);
  w.fabric.advance(1000 * kNs);
  REQUIRE(nic.result(r).chunks.size() == 1);
  CHECK(nic.result(r).chunks[0].error);
  CHECK(nic.response(x).failed);
  CHECK(nic.response(y).failed);
  CHECK(read_only.load<uint64_t>(8) == 0);
  CHECK(w.iommu.fault_count() == 3);
  CHECK(w.fabric.stats().iommu_faults == 3);
  CHECK(w.seen.visible.empty());
  // The same with the response at visibility.
  pcie::Config c = pcie::Config::reference_delays();
  c.host.write_response = pcie::WriteResponse::kVisible;
  World v(c);
  Requester nic2(v.fabric);
  const size_t z = nic2.write(0x9999'0000, bytes(64), 0);
  v.fabric.advance(1000 * kNs);
  CHECK(nic2.response(z).failed);
  CHECK(nic2.response(z).time_ps >= 85 * kNs);
  CHECK(v.iommu.fault_count() == 1);
}

TEST_CASE("addresses that no endpoint claims are refused") {
  World w(pcie::Config::reference_delays());
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays(), test::kGpuBase, 0x10000));
  Requester nic(w.fabric);
  const size_t a = nic.read(test::kGpuBase + 0x10000, 64, 0, g.endpoint());  // behind the window
  const size_t b = nic.read(test::kGpuBase + 0xFFF0, 64, 0, g.endpoint());   // over its end
  const size_t c = nic.read(test::kGpuBase, 64, 0, pcie::kHost);  // says host, is the GPU's
  const size_t d = nic.read(test::kGpuBase, 64, 0, pcie::gpu_endpoint(3));  // no such GPU
  const size_t e = nic.write(test::kGpuBase - 64, bytes(64), 0, 0, g.endpoint());
  const size_t f = nic.write(test::kGpuBase, bytes(64), 0, 0, pcie::gpu_endpoint(7));
  w.fabric.advance(2000 * kNs);
  for (const size_t r : {a, b, c, d}) {
    REQUIRE(nic.result(r).chunks.size() == 1);
    CHECK(nic.result(r).chunks[0].error);
  }
  CHECK(nic.response(e).failed);
  CHECK(nic.response(f).failed);
  CHECK(w.fabric.stats().unclaimed == 6);
  CHECK(g.memory().bytes_allocated() == 0);
  CHECK_THROWS_AS(gpu::Gpu(w.fabric, test::gpu_window({}, test::kGpuBase + 0x8000, 0x10000)),
                  std::invalid_argument);
}

TEST_CASE("injected errors hit the requests that a rule names, and only those") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(65536);
  const auto data = test::rng("data").bytes(65536);
  b.write(0, data.data(), data.size());
  auto rule = [&](pcie::FaultKind kind, uint64_t offset) {
    pcie::FaultRule r;
    r.kind = kind;
    r.first_addr = b.bus_addr(offset);
    r.last_addr = r.first_addr + 4095;
    r.delay_ps = 7000 * kNs;
    return w.fabric.add_fault(r);
  };
  const size_t unsupported = rule(pcie::FaultKind::kUnsupported, 0);
  rule(pcie::FaultKind::kCompleterAbort, 4096);
  rule(pcie::FaultKind::kPoison, 8192);
  rule(pcie::FaultKind::kNeverComes, 12288);
  rule(pcie::FaultKind::kDelay, 16384);
  std::vector<size_t> r;
  for (uint64_t i = 0; i < 6; ++i) r.push_back(nic.read(b.bus_addr(4096 * i), 4096, 0));
  CHECK(w.fabric.reads_in_flight() == 6);
  w.fabric.advance(3000 * kNs);
  CHECK(w.fabric.reads_in_flight() == 1);  // the late one

  REQUIRE(nic.result(r[0]).chunks.size() == 1);
  CHECK(nic.result(r[0]).chunks[0].error);

  const auto& abort = nic.result(r[1]).chunks;
  CHECK(abort.back().error);
  CHECK(abort.back().end == 4096);
  for (size_t i = 0; i + 1 < abort.size(); ++i) CHECK_FALSE(abort[i].error);

  const auto& poisoned = nic.result(r[2]).chunks;
  CHECK(std::count_if(poisoned.begin(), poisoned.end(), [](const auto& c) { return c.poisoned; }) ==
        1);
  CHECK(poisoned.size() == 16);

  CHECK(nic.result(r[3]).lost);
  CHECK(nic.result(r[3]).chunks.empty());
  CHECK(nic.result(r[4]).chunks.empty());
  CHECK(std::equal(data.begin() + 20480, data.begin() + 24576, nic.result(r[5]).data.begin()));
  w.fabric.advance(10'000 * kNs);
  CHECK(nic.result(r[4]).first_ps() > 7000 * kNs);
  CHECK(std::equal(data.begin() + 16384, data.begin() + 20480, nic.result(r[4]).data.begin()));

  CHECK(w.fabric.fault_hits(unsupported) == 1);
  w.fabric.remove_fault(unsupported);
  const size_t again = nic.read(b.bus_addr(), 4096, 20'000 * kNs);
  w.fabric.advance(30'000 * kNs);
  CHECK_FALSE(nic.result(again).chunks[0].error);
}

TEST_CASE("fault rules count, skip and draw from the seed") {
  auto hits = [](uint64_t seed) {
    pcie::Config c = pcie::Config::zero_delays();
    c.seed = seed;
    c.faults.push_back(
        {.kind = pcie::FaultKind::kUnsupported, .probability = 0.25, .skip = 10, .count = 20});
    World w(c);
    Requester nic(w.fabric);
    mem::DmaBuffer b = w.dma.alloc(4096);
    std::vector<int> bad;
    for (int i = 0; i < 200; ++i) {
      const size_t r = nic.read(b.bus_addr(), 16, 0);
      w.fabric.advance(0);
      if (nic.result(r).chunks[0].error) bad.push_back(i);
    }
    return bad;
  };
  const auto a = hits(5);
  CHECK(a.size() == 20);
  CHECK(a.front() >= 10);
  CHECK(a == hits(5));
  CHECK(a != hits(6));
}

TEST_CASE("injected write errors are answered with an error or lost, and memory stays as it was") {
  World w(pcie::Config::reference_delays());
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(16384);
  const pcie::FaultKind kinds[] = {pcie::FaultKind::kUnsupported, pcie::FaultKind::kPoison,
                                   pcie::FaultKind::kNeverComes};
  for (uint64_t i = 0; i < 3; ++i) {
    pcie::FaultRule r{.kind = kinds[i], .reads = false, .writes = true};
    r.first_addr = r.last_addr = b.bus_addr(4096 * i + 100);
    w.fabric.add_fault(r);
  }
  std::vector<size_t> x;
  for (uint64_t i = 0; i < 4; ++i) x.push_back(nic.write(b.bus_addr(4096 * i), bytes(200), 0));
  w.fabric.advance(1000 * kNs);
  CHECK(nic.response(x[0]).failed);
  CHECK_FALSE(nic.response(x[1]).failed);
  CHECK_FALSE(nic.response(x[2]).failed);
  for (uint64_t i = 0; i < 3; ++i) CHECK(b.load<uint64_t>(4096 * i) == 0);
  CHECK(b.equal(12288, bytes(200).data(), 200));
}

TEST_CASE("MSI-X writes reach the callback behind the data before them, and not memory") {
  pcie::Config c = pcie::Config::reference_delays();
  c.host.write_jitter_ps = 300 * kNs;
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer cq = w.dma.alloc(4096);
  uint64_t when = 0;
  w.fabric.set_msix_callback([&](uint64_t t, uint64_t addr, uint32_t data) {
    when = t;
    CHECK(addr == 0xFEE0'1000);
    CHECK(data == 0x4021);
    CHECK(cq.load<uint8_t>(0) == 1);  // the CQE is there
  });
  nic.write(cq.bus_addr(), bytes(32), 0);
  nic.write(0xFEE0'1000, {0x21, 0x40, 0, 0}, 0);
  w.fabric.advance(1000 * kNs);
  CHECK(when >= w.seen.visible[0].time_ps);
  CHECK(when != 0);
  CHECK(w.iommu.fault_count() == 0);
  CHECK(w.fabric.stats().msix == 1);
}

TEST_CASE("a GPU rings doorbells and posts WQEs that are there when the doorbell is") {
  World w(pcie::Config::reference_delays());
  gpu::Gpu g(w.fabric, test::gpu_window(pcie::gpu_reference_delays()));
  mem::DmaBuffer host_sq = w.dma.alloc(4096);
  mem::DmaBuffer gpu_sq = g.alloc(4096);
  const auto wqe = bytes(64);
  g.ring(pcie::Bar::kDoorbell, 0x10, 9, 0);
  w.fabric.advance(1000 * kNs);
  const pcie::MmioOp* op = w.fabric.mmio_write_front(120 * kNs);  // 100 + 20
  REQUIRE(op != nullptr);
  CHECK(w.fabric.mmio_write_front(120 * kNs - 1) == nullptr);
  CHECK(op->source == g.endpoint());
  w.fabric.mmio_write_pop(1000 * kNs);

  g.post_wqe_and_ring(gpu_sq.bus_addr(64), wqe.data(), 64, pcie::Bar::kDoorbell, 0x10, 10,
                      2000 * kNs);
  w.fabric.advance(2120 * kNs);
  REQUIRE(w.fabric.mmio_write_front(2120 * kNs) != nullptr);
  CHECK(gpu_sq.equal(64, wqe.data(), 64));
  w.fabric.mmio_write_pop(2120 * kNs);

  g.post_wqe_and_ring(host_sq.bus_addr(64), wqe.data(), 64, pcie::Bar::kDoorbell, 0x10, 11,
                      3000 * kNs);
  // 100 + 70 until visible, then 100 + 20 for the doorbell.
  w.fabric.advance(3290 * kNs - 1);
  CHECK(w.fabric.mmio_write_front(3290 * kNs - 1) == nullptr);
  CHECK(host_sq.equal(64, wqe.data(), 64));
  w.fabric.advance(3290 * kNs);
  CHECK(w.fabric.mmio_write_front(3290 * kNs) != nullptr);
}

TEST_CASE("a slow GPU limits only its own reads") {
  pcie::Config c = pcie::Config::reference_delays();
  World w(c);
  pcie::GpuConfig slow = test::gpu_window(pcie::gpu_reference_delays());
  slow.read_kbps = 50'000'000;
  slow.write_kbps = 50'000'000;
  gpu::Gpu g(w.fabric, slow);
  Requester nic(w.fabric);
  mem::DmaBuffer h = w.dma.alloc(1 << 20), d = g.alloc(1 << 20);
  for (uint64_t i = 0; i < 32; ++i) nic.read(d.bus_addr(4096 * i), 4096, 0, g.endpoint());
  for (uint64_t i = 0; i < 128; ++i) nic.read(h.bus_addr(4096 * i), 4096, 0);
  w.fabric.advance(1'000'000 * kNs);
  const double gpu_ps = static_cast<double>(nic.result(31).last_ps() - 285 * kNs);
  CHECK(near(32 * 4096 * 8e3 / gpu_ps, 50.0, 0.01));
  const double host_ps = static_cast<double>(nic.result(159).last_ps() - 85 * kNs);
  CHECK(128 * 4096 * 8e3 / host_ps > 450);
  w.seen.visible.clear();
  const uint64_t now = w.fabric.now_ps();
  for (uint64_t i = 0; i < 32; ++i)
    nic.write(d.bus_addr(4096 * i), bytes(4096), now, now, g.endpoint());
  w.fabric.advance(now + 1'000'000 * kNs);
  const double w_ps =
      static_cast<double>(w.seen.visible.back().time_ps - w.seen.visible.front().time_ps);
  CHECK(near(31 * 4096 * 8e3 / w_ps, 50.0, 0.01));
}

TEST_CASE("the translation cache's misses delay reads and writes") {
  World w(pcie::Config::reference_delays(),
          {.hit_ps = 1 * kNs, .miss_ps = 300 * kNs, .cache_entries = 64});
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  const size_t miss = nic.read(b.bus_addr(), 64, 0);
  w.fabric.advance(1000 * kNs);
  const size_t hit = nic.read(b.bus_addr(), 64, 1000 * kNs);
  w.fabric.advance(2000 * kNs);
  CHECK(nic.result(miss).first_ps() == 385 * kNs);
  CHECK(nic.result(hit).first_ps() == 1086 * kNs);
}

TEST_CASE("without cut-through data are handed over only when the whole TLP has come") {
  pcie::Config c = pcie::Config::reference_delays();
  c.link.cut_through = false;
  World w(c);
  Requester nic(w.fabric);
  mem::DmaBuffer b = w.dma.alloc(4096);
  const size_t r = nic.read(b.bus_addr(), 512, 0);
  w.fabric.advance(1000 * kNs);
  CHECK(nic.result(r).chunks[0].first_ps == 85 * kNs + at_504(256));
  CHECK(nic.result(r).chunks[0].last_ps == 85 * kNs + at_504(256));
}

TEST_CASE("a wrong configuration is refused with its key") {
  auto refused = [](auto change, const char* key) {
    pcie::Config c = pcie::Config::gen5_x16();
    change(c);
    CHECK_THROWS_WITH(c.validate(), test::contains_text(key));
  };
  CHECK_NOTHROW(pcie::Config::gen5_x16().validate());
  CHECK_NOTHROW(pcie::Config::reference_delays().validate());
  CHECK_NOTHROW(pcie::Config::zero_delays().validate());
  refused([](auto& c) { c.mps = 300; }, "mps");
  refused([](auto& c) { c.mrrs = 8192; }, "mrrs");
  refused([](auto& c) { c.rcb = 32; }, "rcb");
  refused([](auto& c) { c.completion_bytes = 1024; }, "completion_bytes");
  refused([](auto& c) { c.tags = 300; }, "tags");
  refused([](auto& c) { c.link.up_credits.posted_data = 8; }, "posted_data");
  refused([](auto& c) { c.faults.push_back({.probability = 2}); }, "probability");
  CHECK_THROWS_WITH(pcie::Config::preset("fast"), test::contains_text("fast"));
  CHECK_THROWS_WITH(pcie::Config::link_kbps(6, 16), test::contains_text("generation"));
}
