// SPDX-License-Identifier: Apache-2.0
// DMA buffers: memory that the CPU (or GPU) sees as contiguous, the device sees at one bus address,
// and that lies in physical memory as one piece or as scattered 4 KB pages.
//
//   mem::DmaAllocator dma(memory, iommu, {.layout = mem::Layout::kScattered, .seed = 7});
//   mem::DmaBuffer sq = dma.alloc(64 * 1024, mem::kReadWrite);
//   sq.store<uint64_t>(8, 42);             // CPU side
//   nic.write_register(sq.bus_addr());     // device side
//
// CPU accesses do not depend on the IOMMU: after unmap() the device faults and the CPU still reads.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "harness/mem/iommu.hpp"
#include "harness/mem/memory.hpp"
#include "harness/mem/random.hpp"

namespace rnic::mem {

enum class Layout : uint8_t {
  kIdentity,    // IOVA = physical address, contiguous
  kContiguous,  // IOVA differs, physically contiguous
  kScattered,   // every 4 KB page somewhere else, in random order
};

class DmaBuffer {
 public:
  DmaBuffer() = default;
  // bus_addr may have any alignment; pages[i] is the physical address of the i-th 4 KB page
  // touched.
  DmaBuffer(SparseMemory* memory, uint64_t bus_addr, uint64_t size, std::vector<uint64_t> pages)
      : memory_(memory), bus_addr_(bus_addr), size_(size), pages_(std::move(pages)) {}

  uint64_t bus_addr() const { return bus_addr_; }
  uint64_t bus_addr(uint64_t offset) const { return bus_addr_ + offset; }
  uint64_t size() const { return size_; }
  bool valid() const { return memory_ != nullptr; }
  bool contains(uint64_t bus, uint64_t len) const {
    return bus >= bus_addr_ && len <= size_ && bus - bus_addr_ <= size_ - len;
  }
  SparseMemory& memory() const { return *memory_; }
  // Physical address of a byte of the buffer.
  uint64_t phys(uint64_t offset) const {
    const uint64_t at = (bus_addr_ & kPageMask) + offset;
    return pages_[at / kPageBytes] + (at & kPageMask);
  }

  void write(uint64_t offset, const void* src, uint64_t len);
  void read(uint64_t offset, void* dst, uint64_t len) const;
  void fill(uint64_t offset, uint8_t value, uint64_t len);
  bool equal(uint64_t offset, const void* expected, uint64_t len) const;
  template <typename T>
  T load(uint64_t offset) const {
    T v;
    read(offset, &v, sizeof v);
    return v;
  }
  template <typename T>
  void store(uint64_t offset, const T& v) {
    write(offset, &v, sizeof v);
  }

  // Calls f(phys, offset, len) for each physically contiguous piece of [offset, offset+len).
  template <typename F>
  void for_each_piece(uint64_t offset, uint64_t len, F&& f) const {
    check(offset, len);
    while (len > 0) {
      const uint64_t at = (bus_addr_ & kPageMask) + offset;
      uint64_t n = kPageBytes - (at & kPageMask);
      size_t page = at / kPageBytes;
      while (n < len && page + 1 < pages_.size() && pages_[page + 1] == pages_[page] + kPageBytes) {
        n += kPageBytes;
        ++page;
      }
      if (n > len) n = len;
      f(phys(offset), offset, n);
      offset += n;
      len -= n;
    }
  }

 private:
  void check(uint64_t offset, uint64_t len) const {
    if (len > size_ || offset > size_ - len)
      throw std::out_of_range("DmaBuffer: access outside the buffer");
  }
  SparseMemory* memory_ = nullptr;
  uint64_t bus_addr_ = 0;
  uint64_t size_ = 0;
  std::vector<uint64_t> pages_;
};

struct DmaAllocatorConfig {
  Layout layout = Layout::kScattered;
  uint64_t phys_base = 0x1'0000'0000;   // where physical pages are taken from
  uint64_t iova_base = 0x40'0000'0000;  // where bus addresses start (not used by kIdentity)
  uint64_t guard_bytes = kPageBytes;    // unmapped IOVA space left behind every buffer
  uint64_t seed = 1;
};

class DmaAllocator {
 public:
  DmaAllocator(SparseMemory& memory, Iommu& iommu, const DmaAllocatorConfig& config = {});

  // A buffer of `size` bytes whose bus address is `misalign` bytes behind an `align` boundary
  // (align: power of two, at least 4 KB is used). Mapped with `permissions` in the IOMMU.
  DmaBuffer alloc(uint64_t size, uint8_t permissions = kReadWrite, uint64_t align = kPageBytes,
                  uint64_t misalign = 0);
  // Takes the pages out of the IOMMU again and reuses them.
  void free(const DmaBuffer& buffer);

  Layout layout() const { return config_.layout; }

 private:
  uint64_t take_page();
  uint64_t take_contiguous(uint64_t bytes, uint64_t align);

  SparseMemory& memory_;
  Iommu& iommu_;
  DmaAllocatorConfig config_;
  Random rng_;
  uint64_t next_phys_;
  uint64_t next_iova_;
  std::vector<uint64_t> free_pages_;  // shuffled
};

}  // namespace rnic::mem
