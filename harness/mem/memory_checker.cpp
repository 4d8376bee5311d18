// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/memory_checker.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace rnic::mem {

std::string Difference::to_string() const {
  char text[160];
  std::snprintf(text, sizeof text,
                "%s: address 0x%016llx: expected %02x, got %02x (%llu bytes differ there)",
                where.c_str(), static_cast<unsigned long long>(addr), expected, got,
                static_cast<unsigned long long>(run));
  return text;
}

MemoryChecker::MemoryChecker(SparseMemory& memory, std::string name)
    : memory_(memory), name_(std::move(name)) {}

void MemoryChecker::snapshot() {
  // Pages that expectations changed in the golden copy but nobody wrote go back to what memory
  // holds.
  if (epoch_ != 0) {
    std::vector<uint64_t> changed;
    golden_.for_each_page_since(golden_epoch_,
                                [&](uint64_t page, const uint8_t*) { changed.push_back(page); });
    std::array<uint8_t, kPageBytes> bytes;
    for (uint64_t page : changed) {
      memory_.read(page, bytes.data(), bytes.size());
      golden_.write(page, bytes.data(), bytes.size());
    }
  }
  memory_.for_each_page_since(epoch_ == 0 ? 1 : epoch_, [&](uint64_t page, const uint8_t* bytes) {
    golden_.write(page, bytes, kPageBytes);
  });
  epoch_ = memory_.new_epoch();
  golden_epoch_ = golden_.new_epoch();
  ignored_.clear();
}

void MemoryChecker::expect_write(uint64_t phys, const void* src, uint64_t len) {
  golden_.write(phys, src, len);
}

void MemoryChecker::expect_write(const DmaBuffer& buffer, uint64_t offset, const void* src,
                                 uint64_t len) {
  const auto* from = static_cast<const uint8_t*>(src);
  buffer.for_each_piece(offset, len, [&](uint64_t phys, uint64_t at, uint64_t n) {
    golden_.write(phys, from + (at - offset), n);
  });
}

void MemoryChecker::accept(uint64_t phys, uint64_t len) {
  std::array<uint8_t, kPageBytes> bytes;
  while (len > 0) {
    const uint64_t n = std::min<uint64_t>(len, bytes.size());
    memory_.read(phys, bytes.data(), n);
    golden_.write(phys, bytes.data(), n);
    phys += n;
    len -= n;
  }
}

void MemoryChecker::accept(const DmaBuffer& buffer, uint64_t offset, uint64_t len) {
  buffer.for_each_piece(offset, len, [&](uint64_t phys, uint64_t, uint64_t n) { accept(phys, n); });
}

void MemoryChecker::ignore(uint64_t phys, uint64_t len) {
  if (len == 0) return;
  uint64_t first = phys, last = phys + len - 1;
  // Merge with what overlaps or touches.
  auto it = ignored_.begin();
  while (it != ignored_.end()) {
    const bool apart = it->first > last && it->first - last > 1;
    const bool before = it->second < first && first - it->second > 1;
    if (apart || before) {
      ++it;
      continue;
    }
    first = std::min(first, it->first);
    last = std::max(last, it->second);
    it = ignored_.erase(it);
  }
  ignored_.insert(std::lower_bound(ignored_.begin(), ignored_.end(), std::pair{first, last}),
                  {first, last});
}

void MemoryChecker::ignore(const DmaBuffer& buffer, uint64_t offset, uint64_t len) {
  buffer.for_each_piece(offset, len, [&](uint64_t phys, uint64_t, uint64_t n) { ignore(phys, n); });
}

bool MemoryChecker::ignored(uint64_t phys) const {
  auto it = std::upper_bound(ignored_.begin(), ignored_.end(), std::pair{phys, ~uint64_t{0}});
  return it != ignored_.begin() && std::prev(it)->second >= phys;
}

bool MemoryChecker::page_has_ignored(uint64_t page) const {
  auto it =
      std::upper_bound(ignored_.begin(), ignored_.end(), std::pair{page + kPageMask, ~uint64_t{0}});
  return it != ignored_.begin() && std::prev(it)->second >= page;
}

std::optional<Difference> MemoryChecker::compare() const {
  if (epoch_ == 0) throw std::logic_error("MemoryChecker: compare() before snapshot()");
  std::optional<Difference> first;
  static constexpr std::array<uint8_t, SparseMemory::kChunkBytes> kZero{};
  auto check = [&](uint64_t page) {
    if (first && page >= first->addr) return;
    const uint8_t* got = memory_.peek(page);
    const uint8_t* want = golden_.peek(page);
    if (got == nullptr) got = kZero.data();
    if (want == nullptr) want = kZero.data();
    if (std::memcmp(got, want, kPageBytes) == 0) return;
    const bool holes = page_has_ignored(page);
    std::optional<Difference> here;
    for (uint64_t i = 0; i < kPageBytes; ++i) {
      if (got[i] == want[i] || (holes && ignored(page + i))) continue;
      if (!here) here = Difference{page + i, want[i], got[i], 0, name_};
      ++here->run;
    }
    if (here) first = here;
  };
  memory_.for_each_page_since(epoch_, [&](uint64_t page, const uint8_t*) { check(page); });
  golden_.for_each_page_since(golden_epoch_, [&](uint64_t page, const uint8_t*) { check(page); });
  return first;
}

std::optional<Difference> MemoryChecker::compare(const DmaBuffer& buffer, uint64_t offset,
                                                 const void* expected, uint64_t len) {
  if (buffer.equal(offset, expected, len)) return std::nullopt;
  const auto* want = static_cast<const uint8_t*>(expected);
  Difference d;
  d.where = "buffer";
  for (uint64_t i = 0; i < len; ++i) {
    const auto got = buffer.load<uint8_t>(offset + i);
    if (got == want[i]) continue;
    if (d.run == 0) {
      d.addr = buffer.bus_addr(offset + i);
      d.expected = want[i];
      d.got = got;
    }
    ++d.run;
  }
  return d;
}

std::optional<Difference> MemoryChecker::compare(const DmaBuffer& got, uint64_t got_offset,
                                                 const DmaBuffer& expected,
                                                 uint64_t expected_offset, uint64_t len) {
  std::array<uint8_t, 16384> bytes;
  for (uint64_t done = 0; done < len;) {
    const uint64_t n = std::min<uint64_t>(len - done, bytes.size());
    expected.read(expected_offset + done, bytes.data(), n);
    if (auto d = compare(got, got_offset + done, bytes.data(), n)) return d;
    done += n;
  }
  return std::nullopt;
}

}  // namespace rnic::mem
