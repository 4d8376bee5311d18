// SPDX-License-Identifier: Apache-2.0
// One simulated machine: a NIC, its host with memory and IOMMU, the PCIe fabric, and GPUs. It owns
// its clocks.
//
//   Node node({.name = "a", .nic = {.data_w = 512}, .pcie = pcie::Config::reference_delays()});
//   node.plug(link, 0);
//   node.run_until(1'000'000);                 // picoseconds; every edge up to and including that
//   time node.mmio_write32(pcie::Bar::kRegisters, RNIC_CSR_RESET, 1);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/axi/nic_port.hpp"
#include "harness/gpu/gpu.hpp"
#include "harness/mem/dma_allocator.hpp"
#include "harness/mem/iommu.hpp"
#include "harness/mem/memory.hpp"
#include "harness/mem/memory_checker.hpp"
#include "harness/pcie/fabric.hpp"
#include "harness/wire/wire.hpp"
#include "sim/node/nic.hpp"

namespace rnic::sim {

struct NodeConfig {
  std::string name = "node";
  NicOptions nic;
  pcie::Config pcie = pcie::Config::reference_delays();
  mem::IommuConfig iommu;
  mem::DmaAllocatorConfig dma;
  std::vector<pcie::GpuConfig> gpus;
  axi::DmaAgentConfig dma_pins;  // stalls and interleaving; data_w is the NIC's
  axi::BarAgentConfig bar_pins;
  TimePs core_phase_ps = 0;  // first rising edge of core_clk is one period after this
  TimePs mac_phase_ps = 0;
};

class Node {
 public:
  explicit Node(const NodeConfig& config);

  // The cable's end; before the first step.
  void plug(wire::Link& link, int end);
  // What it sends comes back to it.
  void plug_loop(wire::Link& link);

  // Puts [bus_addr, bus_addr + size) aside, for a checker of this node's memory.
  void ignore(mem::MemoryChecker& checker, uint64_t bus_addr, uint64_t size) const;

  // Every edge up to and including `until`.
  void run_until(TimePs until);
  TimePs next_edge_ps() const { return next_core_ < next_mac_ ? next_core_ : next_mac_; }
  // All edges up to this time are done.
  TimePs now_ps() const { return now_; }

  const std::string& name() const { return config_.name; }
  const NodeConfig& config() const { return config_; }
  Nic& nic() { return *nic_; }
  pcie::Fabric& fabric() { return *fabric_; }
  mem::SparseMemory& memory() { return memory_; }
  mem::Iommu& iommu() { return iommu_; }
  mem::DmaAllocator& dma() { return *dma_; }
  gpu::Gpu& gpu(size_t n) { return *gpus_.at(n); }
  size_t gpu_count() const { return gpus_.size(); }
  axi::NicPort& port() { return *port_; }

 private:
  NodeConfig config_;
  mem::SparseMemory memory_;
  mem::Iommu iommu_;
  std::unique_ptr<mem::DmaAllocator> dma_;
  std::unique_ptr<pcie::Fabric> fabric_;
  std::vector<std::unique_ptr<gpu::Gpu>> gpus_;
  std::unique_ptr<axi::NicPort> port_;
  std::unique_ptr<Nic> nic_;
  wire::TxPort* tx_ = nullptr;
  wire::RxPort* rx_ = nullptr;
  TimePs next_core_, next_mac_;
  TimePs now_ = 0;
};

}  // namespace rnic::sim
