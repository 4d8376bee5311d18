// SPDX-License-Identifier: Apache-2.0
// A node with its driver loaded: the few verbs with which programs and tests tell what happens.
//
//   Host a(world, node_a, {.id = 1}), b(world, node_b, {.id = 2});
//   a.start(); b.start();
//   Region& src = a.region(Place::kHost, 4096);
//   Region& dst = b.region(Place::kHost, 4096);
//   auto [qa, qb] = connect(a, b, {.mtu = 4096});
//   a.write(*qa, src, 0, dst, 0, 4096);              // posts and rings
//   Completion c = a.wait_completion(*qa);           // bounded; names what it waited for
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/driver/device.hpp"
#include "harness/driver/pause.hpp"
#include "harness/roce/psn.hpp"
#include "sim/node/node_bus.hpp"

namespace rnic::sim {

struct HostConfig {
  uint8_t id = 1;  // addresses are made of it
  bool ipv6 = false;
  bool vlan = false;
  uint16_t vlan_id = 0;
  uint8_t pcp = 0, dscp = 0;
  uint32_t tx_start_threshold = 0;  // bytes; 0: whole frames
  uint32_t ack_count = 16, ack_cycles = 64;
  uint32_t ack_req_every = 16;
  uint32_t pacing = 64;  // outstanding read TLPs
  uint32_t dma_timeout_us = 10'000;
  bool peer_to_peer = true;  // GDR_BAR_EN
  bool relaxed = true;
  bool contexts = true;  // memory for contexts that do not fit on chip
  std::optional<driver::PauseSettings> pause{};
};

enum class Place : uint8_t { kHost, kGpu, kDevice };

// Registered memory.
struct Region {
  Place place = Place::kHost;
  mem::DmaBuffer buffer;  // not of kDevice
  uint64_t iova = 0;
  uint64_t va = 0;
  uint64_t size = 0;
  uint32_t key = 0;
  uint32_t index = 0;
  // Of a region of pages: page i is page order[i] of the buffer, the first byte `first` behind the
  // start of page 0.
  std::vector<uint32_t> order{};
  uint64_t first = 0;
  mem::DmaBuffer list{};
  // Where byte `offset` of the region is in the buffer.
  uint64_t in_buffer(uint64_t offset) const {
    if (order.empty()) return offset;
    const uint64_t at = first + offset;
    return order[at / mem::kPageBytes] * mem::kPageBytes + (at & mem::kPageMask);
  }
  // Bytes from there that stand together, at most `want`.
  uint64_t run(uint64_t offset, uint64_t want) const {
    if (order.empty()) return want;
    return std::min(want, mem::kPageBytes - ((first + offset) & mem::kPageMask));
  }
};

struct Qp {
  std::unique_ptr<driver::CompletionQueue> cq;  // of both directions
  std::unique_ptr<driver::QueuePair> qp;
  uint32_t cqn = 0;
  uint32_t sq_psn = 0, rq_psn = 0;
  uint32_t mtu = 4096;                      // bytes
  uint32_t next_psn = 0;                    // of the next message, as the programs reckon
  std::deque<driver::Completion> received;  // of the receive side, in order
  uint32_t number() const { return qp->number(); }
  // The last PSN of a message of so many bytes that begins at `first`.
  uint32_t last_psn(uint32_t first, uint32_t bytes) const {
    return roce::psn_add(first, roce::message_psns(bytes, mtu) - 1);
  }
  // Takes the PSNs of a message of so many bytes; returns the first.
  uint32_t take_psns(uint32_t bytes) {
    const uint32_t first = next_psn;
    next_psn = roce::psn_add(last_psn(first, bytes), 1);
    return first;
  }
};

struct QpOptions {
  uint8_t service = RNIC_QP_TYPE_RC;
  uint32_t log_sq = 8, log_rq = 6, log_cq = 10;
  std::optional<uint32_t> number{};  // else the next free one
  bool sq_sig_all = false;
  std::unique_ptr<driver::DmaMemory> sq;
};

struct ConnectOptions {
  uint32_t mtu = 4096;  // bytes
  uint32_t psn_a = 0x000100, psn_b = 0x200000;
  uint32_t log_sq = 8, log_rq = 6, log_cq = 10;
  uint16_t path_a = 0, path_b = 0;
  driver::ConnectRequest attributes{};  // pkey, access, timers; the rest is set by connect()
};

class Host {
 public:
  Host(World& world, Node& node, const HostConfig& config);

  // Probe, settings, PD 1, event queue 0.
  void start_device(const driver::Mac& mac);
  // The same, and path 0 to `peer`.
  void start(uint8_t peer_id);
  // A further path, for more than one peer or another DSCP than the configured one.
  void create_path(uint8_t peer_id, uint16_t index = 0, std::optional<uint8_t> dscp = {});
  // Whole-device reset and start again; QPs and regions are gone.
  void restart_device(const driver::Mac& mac);
  void restart(uint8_t peer_id);

  // Registers memory; `misalign` bytes behind a page.
  Region& region(Place place, uint64_t size, uint64_t misalign = 0,
                 const driver::MrRequest& access = {}, size_t gpu = 0);
  // Host memory in pages of 4 KiB whose order in the buffer is given; `size` of it is the buffer's.
  Region& paged_region(uint64_t length, uint64_t first, std::vector<uint32_t> order,
                       const driver::MrRequest& access = {});
  // Makes a region that was created invalid valid, under the next tag; waits for it.
  void fast_register(Qp& qp, Region& region, uint64_t length, const driver::MrRequest& access = {});
  Qp& create_qp(QpOptions options = {});
  // Posts one WRITE without ringing; returns the block index.
  uint16_t post_write(Qp& qp, const Region& src, uint64_t src_off, const Region& dst,
                      uint64_t dst_off, uint32_t len, bool signaled = true);
  // Posts and rings.
  uint16_t write(Qp& qp, const Region& src, uint64_t src_off, const Region& dst, uint64_t dst_off,
                 uint32_t len);
  // The next CQE of the send side; those of the receive side go to qp.received.
  std::optional<driver::Completion> poll(Qp& qp);
  driver::Completion wait_completion(Qp& qp, TimePs limit_ps = 200'000'000);
  driver::Completion wait_received(Qp& qp, TimePs limit_ps = 200'000'000);
  std::optional<driver::Event> wait_event(TimePs limit_ps = 200'000'000);

  World& world() { return world_; }
  Node& node() { return node_; }
  NodeBus& bus() { return bus_; }
  driver::Device& nic() { return *nic_; }
  driver::EventQueue& events() { return *eq_; }
  const HostConfig& config() const { return config_; }
  driver::Mac mac(uint8_t id) const { return {0x02, 0, 0, 0, 0, id}; }
  driver::Ip ip(uint8_t id) const;
  std::vector<std::unique_ptr<Qp>>& qps() { return qps_; }
  // Puts aside, for a memory checker, the rings that the NIC may write; ignore_rings() also those
  // that programs write.
  void ignore_written_rings(mem::MemoryChecker& checker) const;
  void ignore_rings(mem::MemoryChecker& checker) const;

 private:
  World& world_;
  Node& node_;
  HostConfig config_;
  NodeBus bus_;
  std::unique_ptr<driver::Device> nic_;
  std::unique_ptr<driver::EventQueue> eq_;
  std::vector<std::unique_ptr<Qp>> qps_;
  std::vector<std::unique_ptr<Region>> regions_;
  Region& add_region(std::unique_ptr<Region> region, driver::MrRequest request);
  std::vector<std::pair<uint64_t, uint64_t>> rings_;  // that the NIC writes: bus address, size
  uint64_t device_next_ = 0;
  uint32_t next_mr_ = 1;
};

// One QP on each side, connected to each other and in RTS.
std::pair<Qp*, Qp*> connect(Host& a, Host& b, const ConnectOptions& options = {});
void connect_pair(Host& a, Qp& qa, Host& b, Qp& qb, const ConnectOptions& options);
uint8_t mtu_code(uint32_t bytes);

}  // namespace rnic::sim
