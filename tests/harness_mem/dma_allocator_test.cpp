// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/dma_allocator.hpp"

#include <set>
#include <stdexcept>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::mem;

TEST_CASE("a DMA buffer is one range to the device and one range to the CPU, whatever the layout") {
  for (const Layout layout : {Layout::kIdentity, Layout::kContiguous, Layout::kScattered}) {
    CAPTURE(static_cast<int>(layout));
    SparseMemory memory;
    Iommu mmu;
    DmaAllocator dma(memory, mmu, {.layout = layout, .seed = 3});
    DmaBuffer b = dma.alloc(20000, kReadWrite, 0x1'0000, 0x123);
    CHECK((b.bus_addr() & 0xFFFF) == 0x123);
    const auto data = rnic::test::rng("data").bytes(20000);
    b.write(0, data.data(), data.size());
    for (uint64_t i = 0; i < b.size(); i += 97) {  // the device's way
      const Translation t = mmu.translate(b.bus_addr(i), 1, kRead, 0);
      REQUIRE(t.ok);
      REQUIRE(memory.load<uint8_t>(t.phys) == data[i]);
      REQUIRE(t.phys == b.phys(i));
    }
    CHECK(b.equal(0, data.data(), data.size()));
    if (layout == Layout::kIdentity) CHECK(b.phys(19999) == b.bus_addr(19999));
  }
}

TEST_CASE("scattered pages are in no order and the same for the same seed") {
  auto pages_of = [](uint64_t seed) {
    SparseMemory memory;
    Iommu mmu;
    DmaAllocator dma(memory, mmu, {.layout = Layout::kScattered, .seed = seed});
    const DmaBuffer b = dma.alloc(64 * kPageBytes);
    std::vector<uint64_t> pages;
    for (int p = 0; p < 64; ++p) pages.push_back(b.phys(p * kPageBytes));
    return pages;
  };
  const auto a = pages_of(1);
  CHECK(a == pages_of(1));
  CHECK(a != pages_of(2));
  CHECK(std::set<uint64_t>(a.begin(), a.end()).size() == 64);
  CHECK_FALSE(std::is_sorted(a.begin(), a.end()));
}

TEST_CASE("behind every buffer lies a page that faults") {
  for (const Layout layout : {Layout::kIdentity, Layout::kContiguous, Layout::kScattered}) {
    SparseMemory memory;
    Iommu mmu;
    DmaAllocator dma(memory, mmu, {.layout = layout});
    const DmaBuffer a = dma.alloc(4096);
    const DmaBuffer b = dma.alloc(4096);
    CHECK(mmu.peek(a.bus_addr(4095), 1, kRead).ok);
    CHECK_FALSE(mmu.peek(a.bus_addr(4096), 1, kRead).ok);
    CHECK(b.bus_addr() >= a.bus_addr() + 8192);
  }
}

TEST_CASE("accesses outside a buffer throw") {
  SparseMemory memory;
  Iommu mmu;
  DmaAllocator dma(memory, mmu, {});
  DmaBuffer b = dma.alloc(100);
  CHECK_THROWS_AS(b.load<uint32_t>(97), std::out_of_range);
  CHECK_NOTHROW(b.load<uint32_t>(96));
  CHECK_THROWS_AS(b.fill(0, 0, 101), std::out_of_range);
}

TEST_CASE("a freed buffer faults for the device and its pages are used again") {
  SparseMemory memory;
  Iommu mmu;
  DmaAllocator dma(memory, mmu, {});
  const DmaBuffer a = dma.alloc(4096, kReadWrite, 4096, 16);  // two pages
  const uint64_t bus = a.bus_addr();
  std::set<uint64_t> old{a.phys(0) & ~kPageMask, a.phys(4095) & ~kPageMask};
  dma.free(a);
  CHECK_FALSE(mmu.peek(bus, 1, kRead).ok);
  const DmaBuffer b = dma.alloc(8192);
  CHECK(old == std::set<uint64_t>{b.phys(0), b.phys(4096)});
}
