// SPDX-License-Identifier: Apache-2.0
// Hosts whose NICs sum in one shot: a QP between each two of them, and a group of arp_fsm at each
// rank for the chunk that it owns, to which the programs of all others post their parts.
//
//   GroupMesh mesh({&a, &b, &c}, {.number = 0, .piece = 2048}, /*fixed=*/false);
//   mesh.begin(0, chunk_bytes, buffer_a, offset); ...        // every rank its own chunk, in place
//   mesh.qp(1, 0).qp->post(mesh.part(1, 0, n, buffer_b));    // piece n of rank 1's part of chunk 0
//   while (!mesh.ended(0)) world.run_until(...);             // the chunk of rank 0 is whole
#pragma once

#include <optional>
#include <vector>

#include "sim/host/group_rank.hpp"

namespace rnic::sim {

class GroupMesh {
 public:
  // `fixed`: parts are added in the order of the ranks behind the owner's, else as they come.
  // `log_sq`: of each QP. Throws driver::Error where a NIC has no such group.
  GroupMesh(std::vector<Host*> hosts, GroupOptions options, bool fixed, uint32_t log_sq = 8);

  uint32_t ranks() const { return static_cast<uint32_t>(ranks_.size()); }
  Host& host(uint32_t rank) { return *ranks_[rank].host; }
  // Of `rank`, to and from `peer`.
  Qp& qp(uint32_t rank, uint32_t peer) { return *ranks_[rank].qps[peer]; }
  uint32_t pieces(uint64_t chunk) const {
    return static_cast<uint32_t>((chunk + options_.piece - 1) / options_.piece);
  }

  // Sums chunk `rank` of the ranks' buffers, `chunk` bytes long, into its place in `work`. Returns
  // at once; finish() waits for the NIC's answer.
  void begin(uint32_t rank, uint64_t chunk, const Region& work);
  void finish(uint32_t rank) { driver::finish_start_group(host(rank).nic(), options_.number); }
  // Piece n of what `rank` adds to the chunk of `owner`, out of its buffer. The same chunk for all.
  driver::WorkRequest part(uint32_t rank, uint32_t owner, uint32_t n, uint64_t chunk,
                           const Region& work) const;
  // Behind the events of all ranks: the next operation's pieces have the next numbers.
  void next(uint64_t chunk) { first_ += pieces(chunk); }

  bool ended(uint32_t rank) { return ranks_[rank].events.ended(); }
  const std::optional<driver::Event>& event(uint32_t rank) const {
    return ranks_[rank].events.event();
  }
  void destroy(uint32_t rank) { driver::destroy_group(host(rank).nic(), options_.number); }

 private:
  struct Rank {
    Host* host = nullptr;
    GroupEvents events;
    std::vector<Qp*> qps{};  // by peer
  };
  void connect_all(uint32_t log_sq);
  void create(uint32_t rank, bool fixed);

  GroupOptions options_;
  std::vector<Rank> ranks_;
  uint32_t first_ = 0;  // number of the operation's first piece
};

}  // namespace rnic::sim
