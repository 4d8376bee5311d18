// SPDX-License-Identifier: Apache-2.0
#include "harness/mem/memory.hpp"

#include <cstdlib>
#include <new>

namespace rnic::mem {
namespace {

bool all_zero(const uint8_t* p, size_t len) {
  return len == 0 || (p[0] == 0 && std::memcmp(p, p + 1, len - 1) == 0);
}

}  // namespace

SparseMemory::Chunk::Chunk() : data(static_cast<uint8_t*>(std::calloc(1, kChunkBytes))) {
  if (data == nullptr) throw std::bad_alloc();
}

SparseMemory::Chunk::~Chunk() { std::free(data); }

SparseMemory::SparseMemory() = default;

SparseMemory::Chunk* SparseMemory::find_slow(uint64_t number) const {
  const auto it = chunks_.find(number);
  if (it == chunks_.end()) return nullptr;  // not cached: it may appear
  cache_[number % kCacheLines] = {number, it->second.get()};
  return it->second.get();
}

SparseMemory::Chunk* SparseMemory::obtain(uint64_t number) {
  if (Chunk* chunk = find(number)) return chunk;
  auto& slot = chunks_[number];
  slot = std::make_unique<Chunk>();
  cache_[number % kCacheLines] = {number, slot.get()};
  return slot.get();
}

void SparseMemory::stamp(Chunk* chunk, uint64_t offset, size_t len) {
  const size_t last = (offset + len - 1) / kPageBytes;
  for (size_t p = offset / kPageBytes; p <= last; ++p) chunk->stamp[p] = epoch_;
}

void SparseMemory::write(uint64_t addr, const void* src, size_t len) {
  const auto* from = static_cast<const uint8_t*>(src);
  while (len > 0) {
    const uint64_t offset = addr & (kChunkBytes - 1);
    const size_t n = len < kChunkBytes - offset ? len : kChunkBytes - offset;
    Chunk* chunk = obtain(addr >> kChunkBits);
    std::memcpy(chunk->data + offset, from, n);
    stamp(chunk, offset, n);
    addr += n;
    from += n;
    len -= n;
  }
}

void SparseMemory::read(uint64_t addr, void* dst, size_t len) const {
  auto* to = static_cast<uint8_t*>(dst);
  while (len > 0) {
    const uint64_t offset = addr & (kChunkBytes - 1);
    const size_t n = len < kChunkBytes - offset ? len : kChunkBytes - offset;
    if (const Chunk* chunk = find(addr >> kChunkBits)) {
      std::memcpy(to, chunk->data + offset, n);
    } else {
      std::memset(to, 0, n);
    }
    addr += n;
    to += n;
    len -= n;
  }
}

void SparseMemory::fill(uint64_t addr, uint8_t value, size_t len) {
  while (len > 0) {
    const uint64_t offset = addr & (kChunkBytes - 1);
    const size_t n = len < kChunkBytes - offset ? len : kChunkBytes - offset;
    Chunk* chunk = obtain(addr >> kChunkBits);
    std::memset(chunk->data + offset, value, n);
    stamp(chunk, offset, n);
    addr += n;
    len -= n;
  }
}

bool SparseMemory::equal(uint64_t addr, const void* expected, size_t len) const {
  const auto* want = static_cast<const uint8_t*>(expected);
  while (len > 0) {
    const uint64_t offset = addr & (kChunkBytes - 1);
    const size_t n = len < kChunkBytes - offset ? len : kChunkBytes - offset;
    const Chunk* chunk = find(addr >> kChunkBits);
    if (chunk != nullptr ? std::memcmp(chunk->data + offset, want, n) != 0 : !all_zero(want, n)) {
      return false;
    }
    addr += n;
    want += n;
    len -= n;
  }
  return true;
}

const uint8_t* SparseMemory::peek(uint64_t addr) const {
  const Chunk* chunk = find(addr >> kChunkBits);
  return chunk == nullptr ? nullptr : chunk->data + (addr & (kChunkBytes - 1));
}

uint8_t* SparseMemory::writable(uint64_t addr, size_t len) {
  Chunk* chunk = obtain(addr >> kChunkBits);
  const uint64_t offset = addr & (kChunkBytes - 1);
  if (len > kChunkBytes - offset) len = kChunkBytes - offset;
  if (len > 0) stamp(chunk, offset, len);
  return chunk->data + offset;
}

}  // namespace rnic::mem
