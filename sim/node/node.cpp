// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node.hpp"

#include <algorithm>

namespace rnic::sim {

std::string to_string(const std::vector<NicKind>& kinds) {
  std::string text;
  for (const NicKind& k : kinds) {
    if (!text.empty()) text += ", ";
    text += std::to_string(k.data_w) + " bit";
    if (k.contexts != 0) text += " with " + std::to_string(k.contexts) + " contexts";
    if (k.arp) text += " with arp_fsm";
  }
  return text;
}

Node::Node(const NodeConfig& config) : config_(config), iommu_(config.iommu) {
  dma_ = std::make_unique<mem::DmaAllocator>(memory_, iommu_, config_.dma);
  fabric_ = std::make_unique<pcie::Fabric>(config_.pcie, memory_, iommu_);
  for (const auto& gpu : config_.gpus) gpus_.push_back(std::make_unique<gpu::Gpu>(*fabric_, gpu));
  nic_ = make_nic(config_.nic);
  axi::DmaAgentConfig dma_pins = config_.dma_pins;
  axi::BarAgentConfig bar_pins = config_.bar_pins;
  dma_pins.data_w = bar_pins.data_w = nic_->info().data_w;
  port_ = std::make_unique<axi::NicPort>(*fabric_, dma_pins, bar_pins);
  nic_->attach(*port_, *fabric_, nullptr, nullptr);
  next_core_ = config_.core_phase_ps + nic_->info().core_ps;
  next_mac_ = config_.mac_phase_ps + nic_->info().mac_ps;
}

void Node::ignore(mem::MemoryChecker& checker, uint64_t bus_addr, uint64_t size) const {
  for (uint64_t at = 0; at < size; at += mem::kPageBytes) {
    const auto t = iommu_.peek(bus_addr + at, 1, mem::kRead);
    if (t.ok) checker.ignore(t.phys, std::min(mem::kPageBytes, size - at));
  }
}

void Node::plug(wire::Link& link, int end) {
  tx_ = &link.tx(end);
  rx_ = &link.rx(end);
  nic_->attach(*port_, *fabric_, tx_, rx_);
}

void Node::plug_loop(wire::Link& link) {
  tx_ = &link.tx(0);
  rx_ = &link.rx(1);
  nic_->attach(*port_, *fabric_, tx_, rx_);
}

void Node::run_until(TimePs until) {
  for (;;) {
    const TimePs next = next_edge_ps();
    if (next > until) break;
    unsigned edges = 0;
    if (next_core_ == next) {
      edges |= kCoreEdge;
      next_core_ += nic_->info().core_ps;
    }
    if (next_mac_ == next) {
      edges |= kMacEdge;
      next_mac_ += nic_->info().mac_ps;
    }
    nic_->step(next, edges);
  }
  if (until > now_) now_ = until;
}

}  // namespace rnic::sim
