// SPDX-License-Identifier: Apache-2.0
#include "sim/node/node_bus.hpp"

#include <algorithm>
#include <cstring>

namespace rnic::sim {

namespace {
constexpr TimePs kReadLimitPs = 100'000'000;
pcie::Bar bar_of(driver::Bar bar) { return static_cast<pcie::Bar>(bar); }
}  // namespace

uint32_t NodeBus::read32(driver::Bar bar, uint32_t offset) {
  bool done = false;
  uint32_t value = 0;
  node_.fabric().mmio_read(pcie::kHost, bar_of(bar), offset, 4, node_.now_ps(),
                           [&](const pcie::MmioResult& r) {
                             std::memcpy(&value, r.data.data(), 4);
                             done = true;
                           });
  world_.run_while([&] { return !done; }, kReadLimitPs,
                   node_.name() + ": read of BAR offset " + std::to_string(offset),
                   2 * node_.nic().info().core_ps);
  return value;
}

void NodeBus::write32(driver::Bar bar, uint32_t offset, uint32_t value) {
  // The fabric is at the next edge already; a store counts from there.
  last_write_ = std::max(node_.now_ps(), node_.fabric().now_ps());
  node_.fabric().mmio_write(pcie::kHost, bar_of(bar), offset, &value, 4, last_write_);
}

void NodeBus::write_block(driver::Bar bar, uint32_t offset, const void* data, uint32_t len) {
  // The fabric is at the next edge already; a store counts from there.
  last_write_ = std::max(node_.now_ps(), node_.fabric().now_ps());
  node_.fabric().mmio_write(pcie::kHost, bar_of(bar), offset, data, len, last_write_);
}

std::unique_ptr<driver::DmaMemory> NodeBus::alloc_ring(uint64_t size) {
  auto m = std::make_unique<BufferMemory>(node_.dma().alloc(size));
  node_.fabric().add_region(pcie::kHost, m->bus_addr(), size, pcie::LatencyClass::kRing);
  return m;
}

void NodeBus::wait_ns(uint64_t ns) { world_.run_until(world_.now_ps() + ns * 1000); }

}  // namespace rnic::sim
