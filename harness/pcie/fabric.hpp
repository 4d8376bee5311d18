// SPDX-License-Identifier: Apache-2.0
// The PCIe world of one node: the NIC's link, a switch, the root complex with IOMMU and host
// memory, and GPUs.
//
//   pcie::Fabric fabric(pcie::Config::reference_delays(), host_memory, iommu);
//   int g = fabric.add_gpu(gpu_config, gpu_memory);        // bus window [base, limit)
//   fabric.mmio_write(pcie::kHost, pcie::Bar::kDoorbell, 0x10, &index, 4, now_ps);
//   ...each core_clk edge, after the agents sampled the pins at `now`:
//   fabric.advance(now_ps + period_ps);                    // everything up to the next edge has
//   happened
//
// The NIC side is used by the AXI agents (harness/axi), the CPU side by the driver, the GPU side by
// harness/gpu. Times are exact picoseconds, not rounded to clocks. Nothing is allocated per TLP
// once the pools have grown; a call to advance() without due events is one comparison.
//
// Ordering. Up: a posted write never passes an earlier posted one (with relaxed ordering it may
// become visible early); reads and completions do not pass posted writes that were complete when
// they were issued, and a read is served only after those are visible at its target; posted writes
// pass blocked reads and completions. Completions of one read come in order; of different reads in
// any order. Down: the same for MMIO writes, MMIO reads and completions, up to the NIC's port (see
// harness/axi for the order at its AXI ports).
#pragma once

#include <cstdint>
#include <memory>

#include "harness/mem/iommu.hpp"
#include "harness/mem/memory.hpp"
#include "harness/pcie/config.hpp"
#include "harness/pcie/types.hpp"

namespace rnic::pcie {

// What the requester on the NIC's side (the DMA agent) hears.
class RequesterSink {
 public:
  virtual ~RequesterSink() = default;
  // A completion's arrival time is known (it may lie ahead of now): op->chunks[op->chunk_count-1]
  // is new.
  virtual void on_completion(ReadOp* op) = 0;
  // No completion will ever come; the op is released by the fabric after this call.
  virtual void on_read_lost(ReadOp* op) = 0;
  // The write may be answered from time_ps on; op->failed says how. The op is the sink's until
  // release_write().
  virtual void on_write_response(WriteOp* op, uint64_t time_ps) = 0;
};

struct Stats {
  uint64_t up_writes = 0, up_write_bytes = 0;
  uint64_t up_reads = 0, up_read_bytes = 0;
  uint64_t down_completions = 0, down_completion_bytes = 0;
  uint64_t down_mmio_writes = 0, down_mmio_reads = 0;
  uint64_t msix = 0;
  uint64_t iommu_faults = 0;          // requests refused by the IOMMU
  uint64_t unclaimed = 0;             // requests to an address nobody owns
  uint64_t injected = 0;              // hits of fault rules
  uint64_t posted_credit_stalls = 0;  // posted TLPs that had to wait for credits
  uint64_t nonposted_credit_stalls = 0;
  uint64_t up_busy_ps = 0, down_busy_ps = 0;  // link time used
};

class Fabric {
 public:
  Fabric(const Config& config, mem::SparseMemory& host_memory, mem::Iommu& iommu);
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  // Adds a GPU behind the switch; its memory is addressed from 0, its bus window is config.base..
  // Returns its index.
  int add_gpu(const GpuConfig& config, mem::SparseMemory& memory);

  // --- time ---
  // Processes everything that happens up to and including until_ps.
  void advance(uint64_t until_ps) {
    if (next_event_ps_ <= until_ps) run(until_ps);
    if (until_ps > now_ps_) now_ps_ = until_ps;
  }
  uint64_t now_ps() const { return now_ps_; }
  uint64_t next_event_ps() const { return next_event_ps_; }  // ~0: idle
  // Calls back at time_ps (not before now).
  void at(uint64_t time_ps, TimeCallback callback);

  // --- CPU and GPU side: MMIO to the NIC ---
  // Posted; stays in order with other MMIO of the same source. Any length; cut into at most 64 B
  // pieces at 64 B boundaries (a 64 B piece is one write-combined burst, as BlueFlame needs).
  // Issued at now_ps.
  void mmio_write(Endpoint source, Bar bar, uint32_t offset, const void* data, uint32_t len,
                  uint64_t now_ps);
  // 1..64 bytes inside one 64 B block. The result comes behind all DMA writes the NIC issued before
  // answering.
  void mmio_read(Endpoint source, Bar bar, uint32_t offset, uint32_t len, uint64_t now_ps,
                 MmioReadCallback callback);
  uint64_t mmio_in_flight()
      const;  // requests not yet taken by the NIC's ports, and reads not yet answered

  // A GPU writes to host memory (IOVA) or to another GPU through the switch, posted; in order per
  // source and target.
  void peer_write(Endpoint source, Endpoint target, uint64_t addr, const void* data, uint32_t len,
                  uint64_t now_ps, TimeCallback visible = {});

  // --- settings at run time ---
  // Reads by the NIC inside [addr, addr+len) of this endpoint take the latency of this class.
  void add_region(Endpoint where, uint64_t addr, uint64_t len, LatencyClass latency_class);
  void remove_region(Endpoint where, uint64_t addr);
  size_t add_fault(const FaultRule& rule);  // returns a handle
  void remove_fault(size_t handle);
  uint64_t fault_hits(size_t handle) const;
  void set_msix_callback(MsixCallback callback);
  void add_observer(Observer* observer);  // borrowed, outlives this or is removed
  void remove_observer(Observer* observer);

  const Config& config() const;
  const Stats& stats() const;
  const GpuConfig& gpu_config(int gpu) const;
  mem::SparseMemory& memory(Endpoint where) const;
  int gpu_count() const;
  // The GPU whose window holds addr, or -1.
  int gpu_of(uint64_t addr) const;
  // Functional access by bus address, no time, no log: true if every page is mapped. For checkers
  // and models.
  bool backdoor_read(Endpoint where, uint64_t addr, void* dst, uint64_t len) const;
  bool backdoor_write(Endpoint where, uint64_t addr, const void* src, uint64_t len);

  // --- NIC side: requester (DMA). Times must not lie before now_ps() ---
  void set_sink(RequesterSink* sink);
  WriteOp* alloc_write();
  // The first beat is there: the TLP may start on the link. addr, len, target... are set.
  void begin_write(WriteOp* op, uint64_t now_ps);
  // The last beat is there, data are complete.
  void finish_write(WriteOp* op, uint64_t now_ps);
  void release_write(WriteOp* op);
  // Bytes of writes begun but not yet on the link: the port stops taking data above
  // config().posted_queue_bytes.
  uint32_t posted_backlog() const { return posted_backlog_; }
  ReadOp* alloc_read();
  void issue_read(ReadOp* op, uint64_t now_ps);
  void release_read(ReadOp* op);
  // The NIC has taken the data of one completion (`bytes` of payload): its flow-control credits go
  // back.
  void completion_taken(uint32_t bytes, uint64_t now_ps);
  uint32_t reads_in_flight() const { return reads_in_flight_; }  // not yet released
  // The NIC was reset: forget an operation in any state. Completions of the read are dropped; a
  // write goes on to memory if it was complete and vanishes otherwise. Do not use the op
  // afterwards.
  void abandon_read(ReadOp* op);
  void abandon_write(WriteOp* op);

  // --- NIC side: completer (BARs) ---
  // The oldest MMIO write that has arrived by horizon_ps, or null.
  const MmioOp* mmio_write_front(uint64_t horizon_ps) const;
  void mmio_write_pop(uint64_t now_ps);  // taken by the NIC's port: its credits go back
  // The oldest MMIO read that has arrived, if all writes that arrived before it were popped. Writes
  // may pass reads.
  const MmioOp* mmio_read_front(uint64_t horizon_ps) const;
  void mmio_read_pop(uint64_t now_ps);
  void mmio_answer(uint32_t id, const uint8_t* data, uint32_t len, bool ok, uint64_t now_ps);

 private:
  struct Impl;
  void run(uint64_t until_ps);

  uint64_t now_ps_ = 0;
  uint64_t next_event_ps_ = ~0ull;
  uint32_t posted_backlog_ = 0;
  uint32_t reads_in_flight_ = 0;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rnic::pcie
