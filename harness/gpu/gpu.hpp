// SPDX-License-Identifier: Apache-2.0
// A GPU behind the node's PCIe switch: its memory (the NIC reaches it through a bus window), its
// stores to the NIC's BARs and to host memory, and a copy engine for NICs without peer-to-peer.
//
//   gpu::Gpu g(fabric, config);                         // config.base/limit: the bus window
//   mem::DmaBuffer src = g.alloc(4096);                 // src.bus_addr() is what the NIC uses
//   g.post_wqe_and_ring(sq.bus_addr(64 * slot), wqe, 64, pcie::Bar::kDoorbell, page + 0x10, prod,
//   now_ps); g.copy_to_host(src.bus_addr(), host.bus_addr(), 4096, now_ps, [&](uint64_t t) { ...
//   });
#pragma once

#include <cstdint>

#include "harness/mem/dma_allocator.hpp"
#include "harness/mem/memory.hpp"
#include "harness/pcie/fabric.hpp"

namespace rnic::gpu {

class Gpu {
 public:
  // Registers itself with the fabric. The window must not overlap another GPU's.
  Gpu(pcie::Fabric& fabric, const pcie::GpuConfig& config);

  int index() const { return index_; }
  pcie::Endpoint endpoint() const { return pcie::gpu_endpoint(index_); }
  mem::SparseMemory& memory() { return memory_; }
  uint64_t base() const { return config_.base; }
  uint64_t limit() const { return config_.limit; }

  // GPU memory seen by the NIC at bus_addr(). Throws std::runtime_error when the window is used up.
  mem::DmaBuffer alloc(uint64_t size, uint64_t align = mem::kPageBytes, uint64_t misalign = 0);

  // Stores by a GPU kernel to the NIC's BARs (peer-to-peer, posted).
  void ring(pcie::Bar bar, uint32_t offset, uint32_t value, uint64_t now_ps);
  void mmio_write(pcie::Bar bar, uint32_t offset, const void* data, uint32_t len, uint64_t now_ps);
  void mmio_read(pcie::Bar bar, uint32_t offset, uint32_t len, uint64_t now_ps,
                 pcie::MmioReadCallback callback);

  // A WQE by a GPU kernel: stored at `wqe_addr` (in its own memory if inside its window, else host
  // IOVA), a system-wide fence, then the doorbell. The fence waits until the WQE is visible.
  void post_wqe_and_ring(uint64_t wqe_addr, const void* wqe, uint32_t wqe_len, pcie::Bar bar,
                         uint32_t offset, uint32_t value, uint64_t now_ps);

  // The bounce: bounce_copy_ps (and bounce_kbps) after now the bytes are in the other memory, then
  // `done`.
  void copy_to_host(uint64_t gpu_addr, uint64_t host_iova, uint32_t len, uint64_t now_ps,
                    pcie::TimeCallback done);
  void copy_from_host(uint64_t host_iova, uint64_t gpu_addr, uint32_t len, uint64_t now_ps,
                      pcie::TimeCallback done);

 private:
  uint64_t copy_end(uint32_t len, uint64_t now_ps);
  pcie::Fabric& fabric_;
  pcie::GpuConfig config_;
  mem::SparseMemory memory_;
  int index_ = 0;
  uint64_t next_ = 0;
  uint64_t copy_free_ps_ = 0;
};

}  // namespace rnic::gpu
