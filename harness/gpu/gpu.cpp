// SPDX-License-Identifier: Apache-2.0
#include "harness/gpu/gpu.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rnic::gpu {

Gpu::Gpu(pcie::Fabric& fabric, const pcie::GpuConfig& config) : fabric_(fabric), config_(config) {
  if ((config.base | config.limit) & mem::kPageMask) {
    throw std::invalid_argument("gpu: base and limit must be multiples of 4096");
  }
  index_ = fabric.add_gpu(config, memory_);
}

mem::DmaBuffer Gpu::alloc(uint64_t size, uint64_t align, uint64_t misalign) {
  if (size == 0) throw std::invalid_argument("gpu: size 0");
  if (align < mem::kPageBytes) align = mem::kPageBytes;
  if (align & (align - 1)) throw std::invalid_argument("gpu: align must be a power of two");
  const uint64_t at =
      (((config_.base + next_) + align - 1) & ~(align - 1)) - config_.base + misalign;
  if (at > limit() - base() || size > limit() - base() - at)
    throw std::runtime_error("gpu: window is used up");
  next_ = at + size;
  std::vector<uint64_t> pages;
  for (uint64_t p = at & ~mem::kPageMask; p < at + size; p += mem::kPageBytes) pages.push_back(p);
  return mem::DmaBuffer(&memory_, config_.base + at, size, std::move(pages));
}

void Gpu::ring(pcie::Bar bar, uint32_t offset, uint32_t value, uint64_t now_ps) {
  fabric_.mmio_write(endpoint(), bar, offset, &value, sizeof value, now_ps);
}

void Gpu::mmio_write(pcie::Bar bar, uint32_t offset, const void* data, uint32_t len,
                     uint64_t now_ps) {
  fabric_.mmio_write(endpoint(), bar, offset, data, len, now_ps);
}

void Gpu::mmio_read(pcie::Bar bar, uint32_t offset, uint32_t len, uint64_t now_ps,
                    pcie::MmioReadCallback callback) {
  fabric_.mmio_read(endpoint(), bar, offset, len, now_ps, std::move(callback));
}

void Gpu::post_wqe_and_ring(uint64_t wqe_addr, const void* wqe, uint32_t wqe_len, pcie::Bar bar,
                            uint32_t offset, uint32_t value, uint64_t now_ps) {
  if (wqe_addr >= base() && wqe_addr < limit()) {
    if (wqe_len > limit() - wqe_addr) throw std::out_of_range("gpu: WQE outside the window");
    memory_.write(wqe_addr - base(), wqe, wqe_len);
    ring(bar, offset, value, now_ps);
    return;
  }
  fabric_.peer_write(endpoint(), pcie::kHost, wqe_addr, wqe, wqe_len, now_ps,
                     [this, bar, offset, value](uint64_t t) { ring(bar, offset, value, t); });
}

uint64_t Gpu::copy_end(uint32_t len, uint64_t now_ps) {
  // One copy engine: with a rate, copies follow each other on it; the fixed cost overlaps.
  const uint64_t start = std::max({now_ps, fabric_.now_ps(), copy_free_ps_});
  const uint64_t busy =
      config_.bounce_kbps == 0 ? 0 : uint64_t{len} * 8'000'000'000ull / config_.bounce_kbps;
  copy_free_ps_ = start + busy;
  return copy_free_ps_ + config_.bounce_copy_ps;
}

void Gpu::copy_to_host(uint64_t gpu_addr, uint64_t host_iova, uint32_t len, uint64_t now_ps,
                       pcie::TimeCallback done) {
  fabric_.at(copy_end(len, now_ps),
             [this, gpu_addr, host_iova, len, done = std::move(done)](uint64_t t) {
               std::vector<uint8_t> bytes(len);
               if (!fabric_.backdoor_read(endpoint(), gpu_addr, bytes.data(), len) ||
                   !fabric_.backdoor_write(pcie::kHost, host_iova, bytes.data(), len)) {
                 throw std::out_of_range("gpu: bounce copy outside GPU or host memory");
               }
               if (done) done(t);
             });
}

void Gpu::copy_from_host(uint64_t host_iova, uint64_t gpu_addr, uint32_t len, uint64_t now_ps,
                         pcie::TimeCallback done) {
  fabric_.at(copy_end(len, now_ps),
             [this, gpu_addr, host_iova, len, done = std::move(done)](uint64_t t) {
               std::vector<uint8_t> bytes(len);
               if (!fabric_.backdoor_read(pcie::kHost, host_iova, bytes.data(), len) ||
                   !fabric_.backdoor_write(endpoint(), gpu_addr, bytes.data(), len)) {
                 throw std::out_of_range("gpu: bounce copy outside GPU or host memory");
               }
               if (done) done(t);
             });
}

}  // namespace rnic::gpu
