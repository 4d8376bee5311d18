// SPDX-License-Identifier: Apache-2.0
//
// A world with one fabric, and a requester that uses the fabric as the AXI agent does, but at any
// picosecond.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "harness/gpu/gpu.hpp"
#include "harness/mem/dma_allocator.hpp"
#include "harness/pcie/fabric.hpp"

namespace rnic::test {

struct ReadResult {
  pcie::ReadOp* op = nullptr;
  bool lost = false;
  std::vector<pcie::CompletionChunk> chunks;
  std::vector<uint8_t> data;
  uint64_t first_ps() const { return chunks.front().first_ps; }
  uint64_t last_ps() const { return chunks.back().last_ps; }
};

struct WriteResult {
  bool answered = false, failed = false;
  uint64_t time_ps = 0;
};

class Requester : public pcie::RequesterSink {
 public:
  explicit Requester(pcie::Fabric& fabric) : fabric_(fabric) { fabric.set_sink(this); }

  // A read; returns its number.
  size_t read(uint64_t addr, uint32_t len, uint64_t now, pcie::Endpoint target = pcie::kHost,
              bool no_data = false) {
    fabric_.advance(now);
    pcie::ReadOp* op = fabric_.alloc_read();
    op->addr = addr;
    op->len = len;
    op->target = target;
    op->no_data = no_data;
    op->tag = static_cast<uint8_t>(reads_.size());
    numbers_[op] = reads_.size();
    reads_.emplace_back();
    reads_.back().op = op;
    fabric_.issue_read(op, now);
    return reads_.size() - 1;
  }
  // A write whose beats come at rate `beat_ps` per `beat_bytes`, the first at now.
  size_t write(uint64_t addr, const std::vector<uint8_t>& data, uint64_t now, uint64_t last_ps,
               pcie::Endpoint target = pcie::kHost, bool relaxed = false) {
    fabric_.advance(now);
    pcie::WriteOp* op = fabric_.alloc_write();
    op->addr = addr;
    op->len = static_cast<uint32_t>(data.size());
    op->target = target;
    op->relaxed = relaxed;
    numbers_[op] = writes_.size();
    writes_.push_back({});
    std::memcpy(op->data, data.data(), data.size());
    fabric_.begin_write(op, now);
    fabric_.advance(last_ps);
    fabric_.finish_write(op, last_ps);
    return writes_.size() - 1;
  }
  size_t write(uint64_t addr, const std::vector<uint8_t>& data, uint64_t now) {
    return write(addr, data, now, now);
  }

  ReadResult& result(size_t n) { return reads_.at(n); }
  WriteResult& response(size_t n) { return writes_.at(n); }
  size_t reads() const { return reads_.size(); }
  std::vector<size_t> completion_order;  // numbers of reads, at their last completion
  std::vector<size_t> chunk_order;       // at every completion
  bool hold_completions = false;         // do not give completion credits back

  void on_completion(pcie::ReadOp* op) override {
    ReadResult& r = reads_[numbers_[op]];
    const uint32_t from = r.chunks.empty() ? 0 : r.chunks.back().end;
    r.chunks.push_back(op->chunks[op->chunk_count - 1]);
    chunk_order.push_back(numbers_[op]);
    if (!hold_completions) fabric_.completion_taken(r.chunks.back().end - from, fabric_.now_ps());
    if (r.chunks.back().end < op->len) return;
    const uint8_t* data = op->data + op->addr % pcie::kMaxBeatBytes;
    r.data.assign(data, data + op->len);
    completion_order.push_back(numbers_[op]);
    numbers_.erase(op);
    fabric_.release_read(op);
  }
  void on_read_lost(pcie::ReadOp* op) override {
    reads_[numbers_[op]].lost = true;
    numbers_.erase(op);
  }
  void on_write_response(pcie::WriteOp* op, uint64_t time_ps) override {
    writes_[numbers_[op]] = {true, op->failed, time_ps};
    numbers_.erase(op);
    fabric_.release_write(op);
  }

 private:
  pcie::Fabric& fabric_;
  std::vector<ReadResult> reads_;
  std::vector<WriteResult> writes_;
  std::map<const void*, size_t> numbers_;
};

// Records what becomes visible and every TLP.
struct Recorder : pcie::Observer {
  std::vector<pcie::VisibleEvent> visible;
  std::vector<pcie::TlpRecord> tlps;
  void on_tlp(const pcie::TlpRecord& r) override { tlps.push_back(r); }
  void on_visible(const pcie::VisibleEvent& e) override { visible.push_back(e); }
};

inline constexpr uint64_t kGpuBase = 0x80'0000'0000ull;

struct World {
  mem::HostMemory memory;
  mem::Iommu iommu;
  mem::DmaAllocator dma;
  pcie::Fabric fabric;
  Recorder seen;

  explicit World(const pcie::Config& config, const mem::IommuConfig& mmu = {})
      : iommu(mmu), dma(memory, iommu, {}), fabric(config, memory, iommu) {
    fabric.add_observer(&seen);
  }
};

inline pcie::GpuConfig gpu_window(pcie::GpuConfig config, uint64_t base = kGpuBase,
                                  uint64_t size = 0x1000'0000) {
  config.base = base;
  config.limit = base + size;
  return config;
}

}  // namespace rnic::test
