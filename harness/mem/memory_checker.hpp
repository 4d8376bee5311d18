// SPDX-License-Identifier: Apache-2.0
// Compares a whole memory with what it should hold: a golden shadow takes the expected writes, and
// everything nobody expected to change must be as it was.
//
//   mem::MemoryChecker check(memory);
//   check.snapshot();                                // golden := memory
//   check.expect_write(buffer, offset, data, len);   // what should change
//   check.ignore(cq_buffer, 0, cq_buffer.size());    // what may change
//   if (auto d = check.compare()) FAIL(d->to_string());
//
// Only pages written since the snapshot, or expected to be, are compared (by page, memcmp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/mem/dma_allocator.hpp"
#include "harness/mem/memory.hpp"

namespace rnic::mem {

struct Difference {
  uint64_t addr =
      0;  // physical address (of a buffer comparison: bus address) of the first difference
  uint8_t expected = 0;
  uint8_t got = 0;
  uint64_t run = 0;   // bytes that differ in the page (or range) of the first difference
  std::string where;  // "memory" or what the caller named
  std::string to_string() const;
};

class MemoryChecker {
 public:
  explicit MemoryChecker(SparseMemory& memory, std::string name = "memory");

  // Golden := memory as it is now. Forgets the ignored ranges.
  void snapshot();
  void expect_write(uint64_t phys, const void* src, uint64_t len);
  void expect_write(const DmaBuffer& buffer, uint64_t offset, const void* src, uint64_t len);
  // Golden := memory now in this range (the CPU wrote it itself).
  void accept(uint64_t phys, uint64_t len);
  void accept(const DmaBuffer& buffer, uint64_t offset, uint64_t len);
  // This range is not compared.
  void ignore(uint64_t phys, uint64_t len);
  void ignore(const DmaBuffer& buffer, uint64_t offset, uint64_t len);

  // The lowest difference of the whole memory, if there is one.
  std::optional<Difference> compare() const;

  // One range against given bytes. Difference::addr is the bus address.
  static std::optional<Difference> compare(const DmaBuffer& buffer, uint64_t offset,
                                           const void* expected, uint64_t len);
  // One range of a buffer against a range of another (for example the source of a WRITE with its
  // target).
  static std::optional<Difference> compare(const DmaBuffer& got, uint64_t got_offset,
                                           const DmaBuffer& expected, uint64_t expected_offset,
                                           uint64_t len);

 private:
  bool ignored(uint64_t phys) const;
  bool page_has_ignored(uint64_t page) const;

  SparseMemory& memory_;
  std::string name_;
  SparseMemory golden_;
  uint32_t golden_epoch_ = 0;  // golden pages stamped since then differ from the snapshot
  uint32_t epoch_ = 0;         // 0: never taken
  std::vector<std::pair<uint64_t, uint64_t>> ignored_;  // [first, last], sorted, disjoint
};

}  // namespace rnic::mem
