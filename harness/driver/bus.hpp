// SPDX-License-Identifier: Apache-2.0
// What the driver needs of the machine that it runs on: the BARs, memory that the NIC can reach,
// and time. The simulation implements it over a node's PCIe fabric; a board does it over mapped
// BARs and pinned pages.
//
//   class MyBus : public driver::Bus { ... };
//   driver::Device nic(bus);
//   nic.probe();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace rnic::driver {

enum class Bar : uint8_t { kDoorbell = 0, kBlueFlame = 1, kRegisters = 2 };

// Memory that CPU (or GPU) and NIC share. bus_addr() is what the NIC uses.
class DmaMemory {
 public:
  virtual ~DmaMemory() = default;
  virtual uint64_t bus_addr() const = 0;
  virtual uint64_t size() const = 0;
  virtual void write(uint64_t offset, const void* src, uint64_t len) = 0;
  virtual void read(uint64_t offset, void* dst, uint64_t len) const = 0;
};

class Bus {
 public:
  virtual ~Bus() = default;
  virtual uint32_t read32(Bar bar, uint32_t offset) = 0;               // waits for the answer
  virtual void write32(Bar bar, uint32_t offset, uint32_t value) = 0;  // posted, in order
  // One write-combined burst of whole 64-byte blocks.
  virtual void write_block(Bar bar, uint32_t offset, const void* data, uint32_t len) = 0;
  // Memory for rings, seen by the NIC with the latency class of rings where the platform knows
  // such.
  virtual std::unique_ptr<DmaMemory> alloc_ring(uint64_t size) = 0;
  // What was written to DmaMemory before is visible to the NIC before what is written to a BAR
  // after.
  virtual void write_barrier() = 0;
  virtual void wait_ns(uint64_t ns) = 0;
  virtual uint64_t now_ns() = 0;
};

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace rnic::driver
