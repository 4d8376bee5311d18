// SPDX-License-Identifier: Apache-2.0
// The IOMMU of one host: 4 KB pages from IOVA to physical address, with permissions, a fault log,
// and a modelled translation cache that makes the first use of a page slower.
//
//   mem::Iommu iommu(config);
//   iommu.map(0x10'0000'0000, phys, 4096, mem::kRead | mem::kWrite);
//   auto t = iommu.translate(iova, len, mem::kWrite, now_ps);   // t.ok, t.phys, t.delay_ps
//
// A request must not cross a 4 KB boundary (no TLP does).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rnic::mem {

enum Permission : uint8_t { kNone = 0, kRead = 1, kWrite = 2, kReadWrite = 3 };
enum class FaultReason : uint8_t { kUnmapped, kNoPermission, kCrossesPage };
const char* to_string(FaultReason reason);

struct Fault {
  uint64_t time_ps = 0;
  uint64_t iova = 0;
  uint32_t len = 0;
  uint8_t access = 0;  // Permission asked for
  FaultReason reason = FaultReason::kUnmapped;
};

struct IommuConfig {
  bool enabled = true;   // false: every IOVA is its own physical address, nothing faults
  uint64_t hit_ps = 0;   // added to a translation that hits the cache
  uint64_t miss_ps = 0;  // added to one that misses (page walk)
  uint32_t cache_entries =
      0;  // pages, direct mapped, power of two; 0: no cache is modelled (always hit_ps)
  uint32_t log_limit = 1024;  // faults kept; the count goes on
};

struct Translation {
  bool ok = false;
  uint64_t phys = 0;
  uint64_t delay_ps = 0;
  FaultReason reason = FaultReason::kUnmapped;
};

class Iommu {
 public:
  explicit Iommu(const IommuConfig& config = {});

  // Addresses and len are multiples of 4 KB. Mapping a mapped page again throws
  // std::invalid_argument.
  void map(uint64_t iova, uint64_t phys, uint64_t len, uint8_t permissions);
  void unmap(uint64_t iova, uint64_t len);
  void set_permissions(uint64_t iova, uint64_t len, uint8_t permissions);

  // Translates and, on failure, logs a fault.
  Translation translate(uint64_t iova, uint32_t len, uint8_t access, uint64_t now_ps);
  // The same without cache effect and without a log entry.
  Translation peek(uint64_t iova, uint32_t len, uint8_t access) const;

  const std::deque<Fault>& faults() const { return faults_; }
  uint64_t fault_count() const { return fault_count_; }
  void clear_faults();
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }
  bool enabled() const { return config_.enabled; }

 private:
  struct Entry {
    uint64_t phys_page = 0;
    uint8_t permissions = 0;
  };
  struct FastLine {
    uint64_t page = ~0ull;
    Entry entry;
  };
  static constexpr size_t kFastLines = 1024;
  const Entry* find(uint64_t page) const;

  IommuConfig config_;
  std::unordered_map<uint64_t, Entry> table_;
  mutable std::vector<FastLine> fast_;  // only speeds the model up; no effect on modelled time
  std::vector<uint64_t> cache_;         // modelled translation cache: page numbers
  std::deque<Fault> faults_;
  uint64_t fault_count_ = 0;
  uint64_t hits_ = 0;
  uint64_t misses_ = 0;
};

}  // namespace rnic::mem
