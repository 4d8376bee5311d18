// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/iommu.hpp"

#include <stdexcept>

#include "harness/mem/memory.hpp"

namespace rnic::mem {
namespace {

void check_pages(const char* what, uint64_t a, uint64_t len) {
  if ((a | len) & kPageMask) {
    throw std::invalid_argument(std::string("Iommu: ") + what +
                                " and length must be multiples of 4096");
  }
}

}  // namespace

const char* to_string(FaultReason reason) {
  switch (reason) {
    case FaultReason::kUnmapped:
      return "unmapped";
    case FaultReason::kNoPermission:
      return "no permission";
    case FaultReason::kCrossesPage:
      return "crosses a page";
  }
  return "?";
}

Iommu::Iommu(const IommuConfig& config) : config_(config), fast_(kFastLines) {
  const uint32_t n = config.cache_entries;
  if (n & (n - 1)) throw std::invalid_argument("Iommu: cache_entries must be a power of two");
  cache_.assign(n, ~0ull);
}

void Iommu::map(uint64_t iova, uint64_t phys, uint64_t len, uint8_t permissions) {
  check_pages("IOVA", iova, len);
  check_pages("physical address", phys, len);
  for (uint64_t p = 0; p < len / kPageBytes; ++p) {
    if (table_.contains(iova / kPageBytes + p)) {
      throw std::invalid_argument("Iommu: page is mapped already");
    }
  }
  for (uint64_t p = 0; p < len / kPageBytes; ++p) {
    table_[iova / kPageBytes + p] = {phys + p * kPageBytes, permissions};
  }
}

void Iommu::unmap(uint64_t iova, uint64_t len) {
  check_pages("IOVA", iova, len);
  for (uint64_t p = iova / kPageBytes; p < (iova + len) / kPageBytes; ++p) {
    table_.erase(p);
    fast_[p % kFastLines].page = ~0ull;
    if (!cache_.empty() && cache_[p % cache_.size()] == p) cache_[p % cache_.size()] = ~0ull;
  }
}

void Iommu::set_permissions(uint64_t iova, uint64_t len, uint8_t permissions) {
  check_pages("IOVA", iova, len);
  for (uint64_t p = iova / kPageBytes; p < (iova + len) / kPageBytes; ++p) {
    const auto it = table_.find(p);
    if (it == table_.end()) throw std::invalid_argument("Iommu: page is not mapped");
    it->second.permissions = permissions;
    fast_[p % kFastLines].page = ~0ull;
  }
}

const Iommu::Entry* Iommu::find(uint64_t page) const {
  FastLine& line = fast_[page % kFastLines];
  if (line.page == page) return &line.entry;
  const auto it = table_.find(page);
  if (it == table_.end()) return nullptr;
  line = {page, it->second};
  return &line.entry;
}

Translation Iommu::peek(uint64_t iova, uint32_t len, uint8_t access) const {
  Translation t;
  if (!config_.enabled) {
    t.ok = true;
    t.phys = iova;
    return t;
  }
  if (len > 0 && ((iova ^ (iova + len - 1)) & ~kPageMask) != 0) {
    t.reason = FaultReason::kCrossesPage;
    return t;
  }
  const Entry* entry = find(iova / kPageBytes);
  if (entry == nullptr) {
    t.reason = FaultReason::kUnmapped;
  } else if ((entry->permissions & access) != access) {
    t.reason = FaultReason::kNoPermission;
  } else {
    t.ok = true;
    t.phys = entry->phys_page + (iova & kPageMask);
  }
  return t;
}

Translation Iommu::translate(uint64_t iova, uint32_t len, uint8_t access, uint64_t now_ps) {
  Translation t = peek(iova, len, access);
  if (!config_.enabled) return t;
  if (!t.ok) {
    ++fault_count_;
    if (faults_.size() < config_.log_limit)
      faults_.push_back({now_ps, iova, len, access, t.reason});
    return t;
  }
  if (cache_.empty()) {
    ++hits_;
    t.delay_ps = config_.hit_ps;
    return t;
  }
  const uint64_t page = iova / kPageBytes;
  uint64_t& line = cache_[page & (cache_.size() - 1)];
  if (line == page) {
    ++hits_;
    t.delay_ps = config_.hit_ps;
  } else {
    ++misses_;
    t.delay_ps = config_.miss_ps;
    line = page;
  }
  return t;
}

void Iommu::clear_faults() {
  faults_.clear();
  fault_count_ = 0;
}

}  // namespace rnic::mem
