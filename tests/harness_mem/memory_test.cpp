// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/memory.hpp"

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/rng.hpp"

using rnic::mem::SparseMemory;

TEST_CASE("memory that was never written reads as zero and costs nothing") {
  SparseMemory m;
  std::vector<uint8_t> got(300000, 0xAA);
  m.read(0xFFFF'FFFF'0000'0000ull, got.data(), got.size());
  CHECK(got == std::vector<uint8_t>(300000, 0));
  CHECK(m.bytes_allocated() == 0);
  CHECK(m.peek(0x1000) == nullptr);
}

TEST_CASE("writes anywhere in 64 bits of address are read back, across chunk borders") {
  SparseMemory m;
  auto rng = rnic::test::rng("data");
  for (const uint64_t addr :
       {0ull, 0xFFFFull, 0x1'0000ull - 7, 0xFFFF'FFFF'FFFE'FFF0ull, 0x4000'0000'0000ull - 1}) {
    const std::vector<uint8_t> data = rng.bytes(200000 < ~addr ? 200000 : 16);
    m.write(addr, data.data(), data.size());
    std::vector<uint8_t> got(data.size());
    m.read(addr, got.data(), got.size());
    CHECK(got == data);
    CHECK(m.equal(addr, data.data(), data.size()));
    got[got.size() / 2] ^= 1;
    CHECK_FALSE(m.equal(addr, got.data(), got.size()));
  }
}

TEST_CASE("a write changes its own bytes only") {
  SparseMemory m;
  m.fill(0x1'0000 - 64, 0x55, 128);
  const uint8_t one = 0xAB;
  m.write(0x1'0000, &one, 1);
  CHECK(m.load<uint8_t>(0xFFFF) == 0x55);
  CHECK(m.load<uint8_t>(0x1'0000) == 0xAB);
  CHECK(m.load<uint8_t>(0x1'0001) == 0x55);
  m.store<uint32_t>(0x1'0000 - 2, 0x04030201);
  CHECK(m.load<uint16_t>(0x1'0000) == 0x0403);
}

TEST_CASE("pages are stamped with the epoch of their last write") {
  SparseMemory m;
  m.store<uint8_t>(0x0FFF, 1);
  const uint32_t epoch = m.new_epoch();
  m.fill(0x2FFF, 1, 2);  // two pages
  *m.writable(0x7000, 1) = 9;
  std::vector<uint64_t> pages;
  m.for_each_page_since(epoch, [&](uint64_t page, const uint8_t*) { pages.push_back(page); });
  CHECK(pages == std::vector<uint64_t>{0x2000, 0x3000, 0x7000});
}
