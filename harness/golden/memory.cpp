// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/memory.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace rnic::golden {

const char* to_string(Verb v) {
  switch (v) {
    case Verb::kNop:
      return "NOP";
    case Verb::kSend:
      return "SEND";
    case Verb::kSendImm:
      return "SEND_IMM";
    case Verb::kSendInv:
      return "SEND_INV";
    case Verb::kWrite:
      return "WRITE";
    case Verb::kWriteImm:
      return "WRITE_IMM";
    case Verb::kRead:
      return "READ";
    case Verb::kCompareSwap:
      return "COMPARE_SWAP";
    case Verb::kFetchAdd:
      return "FETCH_ADD";
    case Verb::kLocalInv:
      return "LOCAL_INV";
  }
  return "?";
}

const char* to_string(Status s) {
  switch (s) {
    case Status::kSuccess:
      return "success";
    case Status::kLocalLength:
      return "local length error";
    case Status::kLocalOperation:
      return "local operation error";
    case Status::kLocalProtection:
      return "local protection error";
    case Status::kFlushed:
      return "flushed";
    case Status::kBadResponse:
      return "bad response";
    case Status::kRemoteInvalid:
      return "remote invalid request";
    case Status::kRemoteAccess:
      return "remote access error";
    case Status::kRemoteOperation:
      return "remote operation error";
    case Status::kRetryExceeded:
      return "retries exceeded";
    case Status::kRnrExceeded:
      return "receiver-not-ready retries exceeded";
  }
  return "?";
}

void Memory::add(const MemoryRegion& region) {
  if (!regions_.emplace(region.key, region).second)
    throw std::invalid_argument("golden: key " + std::to_string(region.key) + " exists");
}

const MemoryRegion* Memory::find(uint32_t key) const {
  const auto it = regions_.find(key);
  return it == regions_.end() || !it->second.valid ? nullptr : &it->second;
}

bool Memory::allowed(uint32_t key, uint32_t pd, uint32_t access, uint64_t va,
                     uint64_t length) const {
  const MemoryRegion* r = find(key);
  if (r == nullptr || r->pd != pd || (r->access & access) != access) return false;
  if (va < r->va || length > r->length) return false;
  return va - r->va <= r->length - length;
}

bool Memory::invalidate(uint32_t key, uint32_t pd) {
  const auto it = regions_.find(key);
  if (it == regions_.end() || !it->second.valid || it->second.pd != pd) return false;
  if (!it->second.invalidatable) return false;
  it->second.valid = false;
  return true;
}

void Memory::write(uint32_t key, uint64_t va, std::span<const uint8_t> bytes) {
  const MemoryRegion* r = find(key);
  if (r == nullptr) throw std::logic_error("golden: write through a key that is not valid");
  if (!bytes.empty()) bytes_.write(r->at + (va - r->va), bytes.data(), bytes.size());
}

void Memory::read(uint32_t key, uint64_t va, std::span<uint8_t> bytes) const {
  const MemoryRegion* r = find(key);
  if (r == nullptr) throw std::logic_error("golden: read through a key that is not valid");
  if (!bytes.empty()) bytes_.read(r->at + (va - r->va), bytes.data(), bytes.size());
}

template <typename F>
bool Memory::walk(const std::vector<Sge>& list, uint32_t pd, uint32_t access, uint64_t offset,
                  uint64_t count, F&& piece) const {
  uint64_t done = 0;
  for (const Sge& s : list) {
    if (done == count) break;
    if (offset >= s.length) {
      offset -= s.length;
      continue;
    }
    const uint64_t n = std::min(s.length - offset, count - done);
    if (!allowed(s.lkey, pd, access, s.va + offset, n)) return false;
    piece(s.lkey, s.va + offset, done, n);
    done += n;
    offset = 0;
  }
  return done == count;
}

bool Memory::gather(const std::vector<Sge>& list, uint32_t pd, uint64_t offset,
                    std::span<uint8_t> bytes) const {
  return walk(list, pd, 0, offset, bytes.size(),
              [&](uint32_t key, uint64_t va, uint64_t at, uint64_t n) {
                read(key, va, bytes.subspan(at, n));
              });
}

bool Memory::scatter(const std::vector<Sge>& list, uint32_t pd, uint64_t offset,
                     std::span<const uint8_t> bytes) {
  return walk(list, pd, kLocalWrite, offset, bytes.size(),
              [&](uint32_t key, uint64_t va, uint64_t at, uint64_t n) {
                write(key, va, bytes.subspan(at, n));
              });
}

bool Memory::list_allowed(const std::vector<Sge>& list, uint32_t pd, uint32_t access) const {
  return std::all_of(list.begin(), list.end(), [&](const Sge& s) {
    return s.length == 0 || allowed(s.lkey, pd, access, s.va, s.length);
  });
}

}  // namespace rnic::golden
