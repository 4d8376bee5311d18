// SPDX-License-Identifier: Apache-2.0
// Sparse memory with 64-bit addresses: chunks appear when first written, unwritten bytes read as
// zero.
//
//   mem::HostMemory m;
//   m.write(0x1234'5678'9000, data, 64);
//   m.store<uint32_t>(0x1000, 7);
//   uint32_t v = m.load<uint32_t>(0x1000);
//
// Every write stamps the 4 KB pages it touches, so that a checker looks only at what may have
// changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <unordered_map>

namespace rnic::mem {

inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kPageMask = kPageBytes - 1;

class SparseMemory {
 public:
  static constexpr unsigned kChunkBits = 16;
  static constexpr uint64_t kChunkBytes = 1ull << kChunkBits;
  static constexpr unsigned kPagesPerChunk = kChunkBytes / kPageBytes;

  SparseMemory();
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  void write(uint64_t addr, const void* src, size_t len);
  void read(uint64_t addr, void* dst, size_t len) const;
  void fill(uint64_t addr, uint8_t value, size_t len);
  // True if [addr, addr+len) holds exactly these bytes.
  bool equal(uint64_t addr, const void* expected, size_t len) const;

  // CPU-sized accesses (little-endian), T up to 8 bytes or any trivially copyable struct.
  template <typename T>
  T load(uint64_t addr) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T v;
    read(addr, &v, sizeof v);
    return v;
  }
  template <typename T>
  void store(uint64_t addr, const T& v) {
    static_assert(std::is_trivially_copyable_v<T>);
    write(addr, &v, sizeof v);
  }

  // The bytes at addr up to the end of its chunk, or null if they were never written (all zero).
  const uint8_t* peek(uint64_t addr) const;
  // A pointer that may be written through until the end of the chunk. Stamps [addr, addr+len) once,
  // now.
  uint8_t* writable(uint64_t addr, size_t len);

  // Write stamps. new_epoch() returns E; afterwards page_stamp() >= E means "written since then".
  uint32_t new_epoch() { return ++epoch_; }
  uint64_t bytes_allocated() const { return chunks_.size() * kChunkBytes; }

  // Calls f(page_address, const uint8_t* page) for each 4 KB page written in epoch >= since.
  template <typename F>
  void for_each_page_since(uint32_t since, F&& f) const {
    for (const auto& [number, chunk] : chunks_) {
      for (unsigned p = 0; p < kPagesPerChunk; ++p) {
        if (chunk->stamp[p] >= since && chunk->stamp[p] != 0) {
          f((number << kChunkBits) + p * kPageBytes, chunk->data + p * kPageBytes);
        }
      }
    }
  }

 private:
  struct Chunk {
    std::array<uint32_t, kPagesPerChunk> stamp{};
    uint8_t* data = nullptr;  // zeroed by the system when first touched
    Chunk();
    ~Chunk();
  };
  struct CacheLine {
    uint64_t number = ~0ull;
    Chunk* chunk = nullptr;
  };
  static constexpr size_t kCacheLines = 256;

  Chunk* find(uint64_t number) const {
    CacheLine& line = cache_[number % kCacheLines];
    if (line.number == number) return line.chunk;
    return find_slow(number);
  }
  Chunk* find_slow(uint64_t number) const;
  Chunk* obtain(uint64_t number);
  void stamp(Chunk* chunk, uint64_t offset, size_t len);

  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_;
  mutable std::array<CacheLine, kCacheLines> cache_;
  uint32_t epoch_ = 1;
};

using HostMemory = SparseMemory;

}  // namespace rnic::mem
