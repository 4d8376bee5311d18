// SPDX-License-Identifier: Apache-2.0
// A driver's bus over a simulated node: register accesses and waits let the whole world run.
#pragma once

#include "harness/driver/bus.hpp"
#include "sim/node/world.hpp"

namespace rnic::sim {

// DmaMemory over a buffer of the host or of a GPU.
class BufferMemory final : public driver::DmaMemory {
 public:
  explicit BufferMemory(mem::DmaBuffer buffer) : buffer_(std::move(buffer)) {}
  uint64_t bus_addr() const override { return buffer_.bus_addr(); }
  uint64_t size() const override { return buffer_.size(); }
  void write(uint64_t offset, const void* src, uint64_t len) override {
    buffer_.write(offset, src, len);
  }
  void read(uint64_t offset, void* dst, uint64_t len) const override {
    buffer_.read(offset, dst, len);
  }
  mem::DmaBuffer& buffer() { return buffer_; }

 private:
  mem::DmaBuffer buffer_;
};

class NodeBus final : public driver::Bus {
 public:
  NodeBus(World& world, Node& node) : world_(world), node_(node) {}
  uint32_t read32(driver::Bar bar, uint32_t offset) override;
  void write32(driver::Bar bar, uint32_t offset, uint32_t value) override;
  void write_block(driver::Bar bar, uint32_t offset, const void* data, uint32_t len) override;
  std::unique_ptr<driver::DmaMemory> alloc_ring(uint64_t size) override;
  void write_barrier() override {}  // the model's CPU stores are visible at once
  void wait_ns(uint64_t ns) override;
  uint64_t now_ns() override { return world_.now_ps() / 1000; }
  // When the latest write32 or write_block was issued.
  TimePs last_write_ps() const { return last_write_; }

 private:
  World& world_;
  Node& node_;
  TimePs last_write_ = 0;
};

}  // namespace rnic::sim
