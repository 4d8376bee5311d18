// SPDX-License-Identifier: Apache-2.0
// Memory of a golden endpoint: bytes by virtual address, and the regions that permit to touch them.
//
//   Memory m;
//   m.add({.key = 0x705, .pd = 1, .va = 0x10000, .length = 4096, .access = kAccessAll});
//   if (m.allowed(key, pd, kRemoteWrite, va, n)) m.write(key, va, bytes);
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "harness/golden/verbs.hpp"
#include "harness/mem/memory.hpp"

namespace rnic::golden {

struct MemoryRegion {
  uint32_t key = 0;
  uint32_t pd = 0;
  uint64_t va = 0;  // what requests name; zero-based regions have 0
  uint64_t length = 0;
  uint64_t at = 0;  // where the bytes are
  uint32_t access = kAccessAll;
  bool invalidatable = false;
  bool valid = true;
};

class Memory {
 public:
  // Throws std::invalid_argument for a key that exists.
  void add(const MemoryRegion& region);
  // Key known and valid, of this PD, with all these permissions, and [va, va+length) inside.
  bool allowed(uint32_t key, uint32_t pd, uint32_t access, uint64_t va, uint64_t length) const;
  // False when there is no such key of this PD, or it cannot be taken away.
  bool invalidate(uint32_t key, uint32_t pd);
  const MemoryRegion* find(uint32_t key) const;

  // Through a key; the caller has asked allowed().
  void write(uint32_t key, uint64_t va, std::span<const uint8_t> bytes);
  void read(uint32_t key, uint64_t va, std::span<uint8_t> bytes) const;

  // Local lists. gather() and scatter() move bytes [offset, offset + bytes.size()) of the list;
  // false when the list is too short or a key does not permit it; then nothing more is moved.
  bool gather(const std::vector<Sge>& list, uint32_t pd, uint64_t offset,
              std::span<uint8_t> bytes) const;
  bool scatter(const std::vector<Sge>& list, uint32_t pd, uint64_t offset,
               std::span<const uint8_t> bytes);
  bool list_allowed(const std::vector<Sge>& list, uint32_t pd, uint32_t access) const;

  mem::SparseMemory& bytes() { return bytes_; }

 private:
  template <typename F>
  bool walk(const std::vector<Sge>& list, uint32_t pd, uint32_t access, uint64_t offset,
            uint64_t count, F&& piece) const;

  mem::SparseMemory bytes_;
  std::map<uint32_t, MemoryRegion> regions_;
};

}  // namespace rnic::golden
