// SPDX-License-Identifier: Apache-2.0
#include "sim/host/group_mesh.hpp"

#include <algorithm>

namespace rnic::sim {

GroupMesh::GroupMesh(std::vector<Host*> hosts, GroupOptions options, bool fixed, uint32_t log_sq)
    : options_(std::move(options)) {
  for (Host* h : hosts) {
    need_group(*h, options_.number);
    ranks_.push_back({.host = h, .events = {*h, options_.number}});
  }
  connect_all(log_sq);
  for (uint32_t r = 0; r < ranks(); ++r) create(r, fixed);
}

void GroupMesh::connect_all(uint32_t log_sq) {
  for (Rank& r : ranks_) r.qps.resize(ranks());
  ConnectOptions o;
  o.mtu = options_.mtu;
  o.log_sq = log_sq;
  o.attributes = options_.attributes;
  for (uint32_t a = 0; a < ranks(); ++a) {
    for (uint32_t b = a + 1; b < ranks(); ++b) {
      o.psn_a = (options_.psn + 0x10000 * a + 0x1000 * b) & 0xFFFFFF;
      o.psn_b = (o.psn_a + 0x800) & 0xFFFFFF;
      o.path_a = options_.path(a, b);
      o.path_b = options_.path(b, a);
      std::tie(ranks_[a].qps[b], ranks_[b].qps[a]) = sim::connect(host(a), host(b), o);
    }
  }
}

void GroupMesh::create(uint32_t r, bool fixed) {
  driver::GroupRequest g;
  g.number = options_.number;
  g.ring = false;
  g.fixed = fixed;
  g.wide = options_.wide;
  g.elem = options_.elem;
  g.ranks = ranks();
  g.rank = r;
  g.piece = options_.piece;
  g.timeout_us = options_.timeout_us;
  driver::create_group(host(r).nic(), g);
  for (uint32_t peer = 0; peer < ranks(); ++peer) {
    if (peer != r)
      driver::set_group_peer(host(r).nic(), options_.number, peer, qp(r, peer).number());
  }
}

void GroupMesh::begin(uint32_t r, uint64_t chunk, const Region& work) {
  ranks_[r].events.reset();
  const uint64_t at = r * chunk;
  // The chunk is all that this NIC knows of the buffer.
  driver::begin_start_group(host(r).nic(), options_.number, 1, 0,
                            {static_cast<uint32_t>(chunk), pieces(chunk), 1},
                            {work.iova + at, work.va + at, work.key, work.iova + at});
}

driver::WorkRequest GroupMesh::part(uint32_t rank, uint32_t owner, uint32_t n, uint64_t chunk,
                                    const Region& work) const {
  const uint64_t offset = uint64_t{n} * options_.piece;
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(options_.piece, chunk - offset));
  return driver::packet_request({.number = options_.number,
                                 .elem = options_.elem,
                                 .contributor = rank,
                                 .slot = first_ + n,
                                 .offset = static_cast<uint32_t>(offset)},
                                {work.key, bytes, work.va + owner * chunk + offset});
}

}  // namespace rnic::sim
