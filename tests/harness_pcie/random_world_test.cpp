// SPDX-License-Identifier: Apache-2.0
//
// Worlds drawn at random (rates, credits, splits, jitter, stalls, widths, faults of the IOMMU, a
// GPU), random reads, writes and MMIO at once; at the end every byte of both memories is as it
// should be and nothing is in flight.
#include "harness/mem/memory_checker.hpp"
#include "tests/harness_pcie/fake_nic.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;

namespace {

constexpr uint64_t kSlot = 8192;

void random_world(test::Rng& rng) {
  const char* presets[] = {"reference", "zero", "gen5x16"};
  const char* preset = presets[rng.below(3)];
  pcie::Config c = pcie::Config::preset(preset);
  c.seed = rng.u64();
  c.mps = 128u << rng.below(6);
  c.mrrs = 128u << rng.below(6);
  c.rcb = rng.chance(0.5) ? 64 : 128;
  c.completion_bytes = std::max(c.rcb, std::min(c.mps, 64u << rng.below(7)));
  c.tags = static_cast<uint32_t>(rng.between(1, 256));
  c.random_split = rng.chance(0.5);
  c.interleave_completions = rng.chance(0.5);
  c.in_order_completions = rng.chance(0.2);
  c.host.read_jitter_ps = rng.chance(0.5) ? rng.below(500'000) : 0;
  c.host.write_jitter_ps = rng.chance(0.5) ? rng.below(500'000) : 0;
  c.host.write_response =
      rng.chance(0.5) ? pcie::WriteResponse::kAccepted : pcie::WriteResponse::kVisible;
  if (rng.chance(0.5)) {
    c.link.credit_return_ps = rng.below(300'000);
    c.link.up_credits = {static_cast<uint32_t>(rng.between(1, 64)),
                         c.mps / 16 * static_cast<uint32_t>(rng.between(1, 8)),
                         static_cast<uint32_t>(rng.between(1, 32)), 1, 4};
    c.link.down_credits = {static_cast<uint32_t>(rng.between(1, 8)),
                           static_cast<uint32_t>(rng.between(4, 32)), 1,
                           static_cast<uint32_t>(rng.between(1, 16)),
                           c.completion_bytes / 16 * static_cast<uint32_t>(rng.between(1, 8))};
  }
  if (rng.chance(0.3)) {
    c.link.up_kbps = rng.between(20'000'000, 600'000'000);
    c.link.down_kbps = rng.between(20'000'000, 600'000'000);
  }
  test::AxiOptions o;
  o.data_w = 128u << rng.below(4);
  o.stall = rng.chance(0.5) ? 0 : 0.5;
  if (rng.chance(0.5)) o.agent_stalls = {80, 80, 80, 80, 80};
  o.bar_stall = rng.chance(0.5) ? 80 : 0;
  const test::WriteOrder orders[] = {test::WriteOrder::kTogether, test::WriteOrder::kAddressFirst,
                                     test::WriteOrder::kDataFirst, test::WriteOrder::kRandom};
  o.order = orders[rng.below(4)];
  o.interleave_r = rng.chance(0.5);
  if (rng.chance(0.3)) o.iommu = {.hit_ps = 5'000, .miss_ps = 200'000, .cache_entries = 16};
  CAPTURE(preset, c.mps, c.mrrs, c.rcb, c.completion_bytes, c.tags, o.data_w);

  test::AxiWorld w(c, o);
  pcie::GpuConfig gpu = test::gpu_window(pcie::gpu_preset(preset));
  if (rng.chance(0.3)) gpu.read_kbps = gpu.write_kbps = rng.between(20'000'000, 500'000'000);
  gpu::Gpu g(w.fabric, gpu);

  constexpr int kOps = 120;
  mem::DmaBuffer host_in = w.dma.alloc(kOps * kSlot, mem::kRead),
                 host_out = w.dma.alloc(kOps * kSlot);
  mem::DmaBuffer gpu_in = g.alloc(kOps * kSlot), gpu_out = g.alloc(kOps * kSlot);
  const auto data = rng.bytes(kOps * kSlot);
  host_in.write(0, data.data(), data.size());
  gpu_in.write(0, data.data(), data.size());
  mem::MemoryChecker host_check(w.memory, "host"), gpu_check(g.memory(), "gpu");
  host_check.snapshot();
  gpu_check.snapshot();

  struct Want {
    size_t read;
    uint64_t offset;
    uint32_t len;
    bool error;
  };
  std::vector<Want> want;
  std::vector<std::pair<size_t, bool>> writes;
  int mmio_reads = 0, mmio_answers = 0;
  size_t mmio_writes = 0;
  for (uint64_t i = 0; i < kOps; ++i) {
    const bool to_gpu = rng.chance(0.3), bad = !to_gpu && rng.chance(0.05);
    axi::UserBits user{.target = static_cast<uint8_t>(to_gpu), .relaxed = rng.chance(0.3)};
    const uint64_t at = rng.below(4096);
    {
      const auto len = static_cast<uint32_t>(rng.between(1, std::min<uint64_t>(c.mrrs, 4096 - at)));
      const mem::DmaBuffer& from = to_gpu ? gpu_in : host_in;
      const uint64_t offset = i * kSlot + at;
      const uint64_t bus = bad ? 0x6666'0000 + at : from.bus_addr(offset);
      want.push_back({w.dma_nic.read(bus, len, user), offset, len, bad});
    }
    {
      const auto len = static_cast<uint32_t>(rng.between(1, std::min<uint64_t>(c.mps, 4096 - at)));
      const uint64_t offset = i * kSlot + at;
      const auto payload = rng.bytes(len);
      if (bad) {  // read-only memory
        writes.emplace_back(w.dma_nic.write(host_in.bus_addr(offset), payload, user, 1), true);
      } else {
        const mem::DmaBuffer& to = to_gpu ? gpu_out : host_out;
        writes.emplace_back(w.dma_nic.write(to.bus_addr(offset), payload, user, to_gpu ? 2 : 1),
                            false);
        (to_gpu ? gpu_check : host_check).expect_write(to, offset, payload.data(), len);
      }
    }
    if (rng.chance(0.3)) {
      const uint32_t v = rng.u32();
      const auto offset = static_cast<uint32_t>(0x1000 + 8 * i);
      w.fabric.mmio_write(pcie::kHost, pcie::Bar::kRegisters, offset, &v, 4, w.now);
      ++mmio_writes;
      ++mmio_reads;
      w.fabric.mmio_read(pcie::kHost, pcie::Bar::kRegisters, offset, 4, w.now,
                         [&mmio_answers, v](const pcie::MmioResult& m) {
                           ++mmio_answers;
                           REQUIRE(std::memcmp(m.data.data(), &v, 4) == 0);
                         });
    }
    w.ticks(static_cast<int>(rng.below(20)));
  }
  w.run([&] { return w.dma_nic.idle() && mmio_answers == mmio_reads; }, 2'000'000);
  w.ticks(2'000);

  for (const Want& x : want) {
    const auto& r = w.dma_nic.reads[x.read];
    REQUIRE(r.error == x.error);
    REQUIRE_FALSE(r.poisoned);
    if (!x.error)
      REQUIRE(std::equal(r.data.begin(), r.data.end(), data.begin() + static_cast<long>(x.offset)));
  }
  for (const auto& [n, bad] : writes) REQUIRE((w.dma_nic.writes[n].resp != 0) == bad);
  if (auto d = host_check.compare()) FAIL(d->to_string());
  if (auto d = gpu_check.compare()) FAIL(d->to_string());
  CHECK(w.bars.log.size() == mmio_writes);
  CHECK(w.port.idle());
  CHECK(w.fabric.mmio_in_flight() == 0);
  CHECK(w.fabric.reads_in_flight() == 0);
  CHECK(w.fabric.posted_backlog() == 0);
  CHECK(w.fabric.next_event_ps() == ~0ull);
}

}  // namespace

TEST_CASE("random worlds move every byte where it belongs") {
  auto rng = test::rng("worlds");
  for (int i = 0; i < 10; ++i) random_world(rng);
}

TEST_CASE("many random worlds move every byte where it belongs", "[.soak]") {
  auto rng = test::rng("worlds");
  for (int i = 0; i < 1000; ++i) random_world(rng);
}
