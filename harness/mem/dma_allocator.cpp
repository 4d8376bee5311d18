// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/dma_allocator.hpp"

#include <algorithm>

namespace rnic::mem {

void DmaBuffer::write(uint64_t offset, const void* src, uint64_t len) {
  const auto* from = static_cast<const uint8_t*>(src);
  const uint64_t start = offset;
  for_each_piece(offset, len, [&](uint64_t phys, uint64_t at, uint64_t n) {
    memory_->write(phys, from + (at - start), n);
  });
}

void DmaBuffer::read(uint64_t offset, void* dst, uint64_t len) const {
  auto* to = static_cast<uint8_t*>(dst);
  const uint64_t start = offset;
  for_each_piece(offset, len, [&](uint64_t phys, uint64_t at, uint64_t n) {
    memory_->read(phys, to + (at - start), n);
  });
}

void DmaBuffer::fill(uint64_t offset, uint8_t value, uint64_t len) {
  for_each_piece(offset, len,
                 [&](uint64_t phys, uint64_t, uint64_t n) { memory_->fill(phys, value, n); });
}

bool DmaBuffer::equal(uint64_t offset, const void* expected, uint64_t len) const {
  const auto* want = static_cast<const uint8_t*>(expected);
  const uint64_t start = offset;
  bool same = true;
  for_each_piece(offset, len, [&](uint64_t phys, uint64_t at, uint64_t n) {
    same = same && memory_->equal(phys, want + (at - start), n);
  });
  return same;
}

DmaAllocator::DmaAllocator(SparseMemory& memory, Iommu& iommu, const DmaAllocatorConfig& config)
    : memory_(memory),
      iommu_(iommu),
      config_(config),
      rng_(substream(config.seed, "mem.dma_allocator")),
      next_phys_(config.phys_base),
      next_iova_(config.layout == Layout::kIdentity ? config.phys_base : config.iova_base) {
  if ((config.phys_base | config.iova_base | config.guard_bytes) & kPageMask) {
    throw std::invalid_argument("DmaAllocator: bases and guard must be multiples of 4096");
  }
  if (!iommu.enabled() && config.layout != Layout::kIdentity) {
    throw std::invalid_argument("DmaAllocator: without an IOMMU only the identity layout works");
  }
}

uint64_t DmaAllocator::take_page() {
  if (free_pages_.empty()) {
    constexpr uint64_t kPool = 1024;
    next_phys_ = (next_phys_ + SparseMemory::kChunkBytes - 1) & ~(SparseMemory::kChunkBytes - 1);
    for (uint64_t p = 0; p < kPool; ++p) free_pages_.push_back(next_phys_ + p * kPageBytes);
    next_phys_ += kPool * kPageBytes;
    for (uint64_t p = kPool - 1; p > 0; --p)
      std::swap(free_pages_[p], free_pages_[rng_.below(p + 1)]);
  }
  const uint64_t page = free_pages_.back();
  free_pages_.pop_back();
  return page;
}

uint64_t DmaAllocator::take_contiguous(uint64_t bytes, uint64_t align) {
  next_phys_ = (next_phys_ + align - 1) & ~(align - 1);
  const uint64_t at = next_phys_;
  next_phys_ += bytes;
  return at;
}

DmaBuffer DmaAllocator::alloc(uint64_t size, uint8_t permissions, uint64_t align,
                              uint64_t misalign) {
  if (size == 0) throw std::invalid_argument("DmaAllocator: size 0");
  if (align < kPageBytes) align = kPageBytes;
  if (align & (align - 1))
    throw std::invalid_argument("DmaAllocator: align must be a power of two");
  const uint64_t bytes =
      ((misalign & kPageMask) + size + kPageMask) & ~kPageMask;  // of the pages touched
  const uint64_t skip = misalign & ~kPageMask;
  std::vector<uint64_t> pages(bytes / kPageBytes);

  uint64_t iova = 0;
  if (config_.layout == Layout::kIdentity) {
    iova = take_contiguous(skip + bytes + config_.guard_bytes, align) + skip;
    for (size_t p = 0; p < pages.size(); ++p) pages[p] = iova + p * kPageBytes;
  } else {
    iova = ((next_iova_ + align - 1) & ~(align - 1)) + skip;
    next_iova_ = iova + bytes + config_.guard_bytes;
    if (config_.layout == Layout::kContiguous) {
      const uint64_t phys = take_contiguous(bytes, kPageBytes);
      for (size_t p = 0; p < pages.size(); ++p) pages[p] = phys + p * kPageBytes;
    } else {
      for (auto& page : pages) page = take_page();
    }
  }
  if (iommu_.enabled()) {
    for (size_t p = 0; p < pages.size(); ++p) {
      iommu_.map(iova + p * kPageBytes, pages[p], kPageBytes, permissions);
    }
  }
  return DmaBuffer(&memory_, iova + (misalign & kPageMask), size, std::move(pages));
}

void DmaAllocator::free(const DmaBuffer& buffer) {
  if (!buffer.valid()) return;
  const uint64_t first = buffer.bus_addr() & ~kPageMask;
  const uint64_t bytes = ((buffer.bus_addr() & kPageMask) + buffer.size() + kPageMask) & ~kPageMask;
  if (iommu_.enabled()) iommu_.unmap(first, bytes);
  if (config_.layout == Layout::kScattered) {
    for (uint64_t p = 0; p < bytes; p += kPageBytes) {
      const uint64_t offset = p == 0 ? 0 : p - (buffer.bus_addr() & kPageMask);
      free_pages_.push_back(buffer.phys(offset) & ~kPageMask);
    }
  }
}

}  // namespace rnic::mem
