// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/iommu.hpp"

#include <stdexcept>

#include "tests/support/catch.hpp"

using namespace rnic::mem;

TEST_CASE("the IOMMU translates mapped pages and faults on everything else") {
  Iommu mmu;
  mmu.map(0x10'0000, 0x7000, 0x2000, kReadWrite);
  mmu.map(0x20'0000, 0x9000, 0x1000, kRead);

  auto t = mmu.translate(0x10'0FFF, 1, kWrite, 5);
  CHECK(t.ok);
  CHECK(t.phys == 0x7FFF);
  CHECK(mmu.translate(0x10'1000, 4096, kRead, 6).phys == 0x8000);
  CHECK(mmu.fault_count() == 0);

  CHECK_FALSE(mmu.translate(0x10'2000, 1, kRead, 7).ok);
  CHECK_FALSE(mmu.translate(0x20'0010, 8, kWrite, 8).ok);
  CHECK_FALSE(mmu.translate(0x10'0FFF, 2, kRead, 9).ok);
  REQUIRE(mmu.faults().size() == 3);
  CHECK(mmu.faults()[0].reason == FaultReason::kUnmapped);
  CHECK(mmu.faults()[0].iova == 0x10'2000);
  CHECK(mmu.faults()[0].time_ps == 7);
  CHECK(mmu.faults()[1].reason == FaultReason::kNoPermission);
  CHECK(mmu.faults()[1].access == kWrite);
  CHECK(mmu.faults()[2].reason == FaultReason::kCrossesPage);
}

TEST_CASE("unmapping, permissions and double mapping take effect at once") {
  Iommu mmu;
  mmu.map(0x1000, 0x5000, 0x1000, kReadWrite);
  CHECK(mmu.translate(0x1000, 4, kWrite, 0).ok);
  CHECK_THROWS_AS(mmu.map(0x0, 0x0, 0x2000, kRead), std::invalid_argument);
  CHECK_FALSE(mmu.peek(0x0, 1, kRead).ok);  // the refused map changed nothing
  mmu.set_permissions(0x1000, 0x1000, kRead);
  CHECK_FALSE(mmu.translate(0x1000, 4, kWrite, 0).ok);
  CHECK(mmu.translate(0x1000, 4, kRead, 0).ok);
  mmu.unmap(0x1000, 0x1000);
  CHECK_FALSE(mmu.translate(0x1000, 4, kRead, 0).ok);
  mmu.map(0x1000, 0xB000, 0x1000, kRead);
  CHECK(mmu.translate(0x1004, 4, kRead, 0).phys == 0xB004);
}

TEST_CASE("the modelled translation cache makes the first use of a page slower") {
  Iommu mmu({.hit_ps = 10, .miss_ps = 300, .cache_entries = 4});
  mmu.map(0x0, 0x0, 0x8000, kReadWrite);
  CHECK(mmu.translate(0x0000, 4, kRead, 0).delay_ps == 300);
  CHECK(mmu.translate(0x0010, 4, kRead, 0).delay_ps == 10);
  CHECK(mmu.translate(0x4000, 4, kRead, 0).delay_ps == 300);  // same line
  CHECK(mmu.translate(0x0000, 4, kRead, 0).delay_ps == 300);
  CHECK(mmu.hits() == 1);
  CHECK(mmu.misses() == 3);
  CHECK(mmu.peek(0x5000, 4, kRead).delay_ps == 0);
}

TEST_CASE("a disabled IOMMU passes addresses through") {
  Iommu mmu({.enabled = false});
  CHECK(mmu.translate(0x1234'5678'9ABC, 8, kReadWrite, 0).phys == 0x1234'5678'9ABC);
}

TEST_CASE("the fault log is bounded and the count is not") {
  Iommu mmu({.log_limit = 2});
  for (int i = 0; i < 5; ++i) mmu.translate(0x1000, 1, kRead, 0);
  CHECK(mmu.faults().size() == 2);
  CHECK(mmu.fault_count() == 5);
}
