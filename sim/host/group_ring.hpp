// SPDX-License-Identifier: Apache-2.0
// A ring of hosts whose NICs make an AllReduce: QPs around the ring, a group of arp_fsm at each
// rank, and operations on it.
//
//   GroupRing ring({&a, &b, &c}, {.number = 0, .piece = 4096});     // rank i is the i-th host
//   ring.start(0, bytes, src_a, dst_a); ...                         // every rank its own
//   while (!ring.ended(0)) world.run_until(...);                    // its event
//   if (ring.event(0)->type == RNIC_EQE_TYPE_ARP_DONE) ...
#pragma once

#include <optional>
#include <vector>

#include "sim/host/group_rank.hpp"

namespace rnic::sim {

class GroupRing {
 public:
  // Throws driver::Error where a NIC has no such group.
  GroupRing(std::vector<Host*> hosts, GroupOptions options);

  uint32_t ranks() const { return static_cast<uint32_t>(ranks_.size()); }
  Host& host(uint32_t rank) { return *ranks_[rank].host; }
  Qp& tx(uint32_t rank) { return *ranks_[rank].tx; }  // to the next rank
  Qp& rx(uint32_t rank) { return *ranks_[rank].rx; }  // from the previous one
  const GroupOptions& options() const { return options_; }
  driver::GroupCut cut(uint64_t bytes);

  // One rank; the next operation may begin when its event was seen. begin() returns at once, and
  // finish() waits for the NIC's answer, so that ranks begin together.
  void begin(uint32_t rank, uint64_t bytes, const Region& src, const Region& dst);
  void finish(uint32_t rank);
  void start(uint32_t rank, uint64_t bytes, const Region& src, const Region& dst) {
    begin(rank, bytes, src, dst);
    finish(rank);
  }
  // Looks at the rank's event queue; true once the event of its operation was there.
  bool ended(uint32_t rank) { return ranks_[rank].events.ended(); }
  const std::optional<driver::Event>& event(uint32_t rank) const {
    return ranks_[rank].events.event();
  }
  // Other events that ended() found on its way.
  const std::vector<driver::Event>& others(uint32_t rank) const {
    return ranks_[rank].events.others();
  }

  void abort(uint32_t rank) { driver::abort_group(host(rank).nic(), options_.number); }
  void destroy(uint32_t rank) { driver::destroy_group(host(rank).nic(), options_.number); }

 private:
  struct Rank {
    Host* host = nullptr;
    Qp* tx = nullptr;
    Qp* rx = nullptr;
    GroupEvents events;
  };
  void make_qps(uint32_t rank);
  void connect(uint32_t rank);
  void create(uint32_t rank);

  GroupOptions options_;
  std::vector<Rank> ranks_;
  std::vector<Region*> staging_, rings_;
};

}  // namespace rnic::sim
