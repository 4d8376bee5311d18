// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/memory_checker.hpp"

#include <stdexcept>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using namespace rnic::mem;

TEST_CASE("the checker accepts exactly what was expected") {
  SparseMemory memory;
  memory.fill(0x1000, 0x11, 0x4000);
  MemoryChecker check(memory, "node0");
  CHECK_THROWS_AS(check.compare(), std::logic_error);
  check.snapshot();
  CHECK_FALSE(check.compare());

  const std::vector<uint8_t> data = rnic::test::rng("data").bytes(5000);
  check.expect_write(0x1FF0, data.data(), data.size());
  auto missing = check.compare();
  REQUIRE(missing);
  CHECK(missing->addr >= 0x1FF0);
  CHECK(missing->got == 0x11);
  memory.write(0x1FF0, data.data(), data.size());
  CHECK_FALSE(check.compare());
}

TEST_CASE("one changed byte anywhere is found, with its address and values") {
  SparseMemory memory;
  memory.fill(0x10'0000, 0x22, 0x10000);
  MemoryChecker check(memory, "node0");
  check.snapshot();
  for (const uint64_t addr : {0x10'0000ull, 0x10'FFFFull, 0x10'8123ull, 0x7777'0000ull, 0x0ull}) {
    const auto was = memory.load<uint8_t>(addr);
    memory.store<uint8_t>(addr, was + 1);
    auto d = check.compare();
    REQUIRE(d);
    CHECK(d->addr == addr);
    CHECK(d->expected == was);
    CHECK(d->got == was + 1);
    CHECK(d->run == 1);
    CHECK(d->to_string().find("node0") != std::string::npos);
    memory.store<uint8_t>(addr, was);
    CHECK_FALSE(check.compare());
  }
}

TEST_CASE("the lowest difference is reported") {
  SparseMemory memory;
  MemoryChecker check(memory);
  check.snapshot();
  for (const uint64_t addr : {0x90'0000ull, 0x30'0001ull, 0x30'0000ull, 0x50'0000ull})
    memory.store<uint8_t>(addr, 1);
  CHECK(check.compare()->addr == 0x30'0000);
  CHECK(check.compare()->run == 2);
}

TEST_CASE("ignored ranges may change and their neighbours may not") {
  SparseMemory memory;
  memory.fill(0x1000, 0, 0x3000);
  MemoryChecker check(memory);
  check.snapshot();
  check.ignore(0x1100, 0x10);
  check.ignore(0x1110, 0x10);
  check.ignore(0x2FFF, 2);
  memory.fill(0x1100, 9, 0x20);
  memory.fill(0x2FFF, 9, 2);
  CHECK_FALSE(check.compare());
  for (const uint64_t addr : {0x10FFull, 0x1120ull, 0x2FFEull, 0x3001ull}) {
    memory.store<uint8_t>(addr, 9);
    REQUIRE(check.compare());
    CHECK(check.compare()->addr == addr);
    memory.store<uint8_t>(addr, 0);
  }
}

TEST_CASE("a new snapshot forgets expectations that never came true") {
  SparseMemory memory;
  MemoryChecker check(memory);
  check.snapshot();
  const uint8_t x = 7;
  check.expect_write(0x5000, &x, 1);
  REQUIRE(check.compare());
  check.snapshot();
  CHECK_FALSE(check.compare());
  memory.store<uint8_t>(0x6000, 1);
  check.snapshot();
  CHECK_FALSE(check.compare());
  memory.store<uint8_t>(0x6000, 2);
  CHECK(check.compare()->expected == 1);
  check.accept(0x6000, 1);
  CHECK_FALSE(check.compare());
}

TEST_CASE("buffers are compared with bytes and with each other by bus address") {
  SparseMemory memory;
  Iommu mmu;
  DmaAllocator dma(memory, mmu, {});
  DmaBuffer a = dma.alloc(40000), b = dma.alloc(40000, kReadWrite, 4096, 333);
  const auto data = rnic::test::rng("data").bytes(30000);
  a.write(100, data.data(), data.size());
  b.write(5, data.data(), data.size());
  CHECK_FALSE(MemoryChecker::compare(a, 100, data.data(), data.size()));
  CHECK_FALSE(MemoryChecker::compare(b, 5, a, 100, data.size()));
  b.store<uint8_t>(25000, data[24995] ^ 0xFF);
  auto d = MemoryChecker::compare(b, 5, a, 100, data.size());
  REQUIRE(d);
  CHECK(d->addr == b.bus_addr(25000));
  CHECK(d->expected == data[24995]);

  MemoryChecker check(memory);
  check.snapshot();
  check.expect_write(b, 10, data.data(), 9000);
  b.write(10, data.data(), 9000);
  CHECK_FALSE(check.compare());
}
