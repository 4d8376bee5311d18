// SPDX-License-Identifier: Apache-2.0
#include "sim/host/group_ring.hpp"

#include <bit>

namespace rnic::sim {

GroupRing::GroupRing(std::vector<Host*> hosts, GroupOptions options)
    : options_(std::move(options)) {
  for (Host* h : hosts) {
    need_group(*h, options_.number);
    ranks_.push_back({.host = h, .events = {*h, options_.number}});
  }
  for (uint32_t r = 0; r < ranks(); ++r) make_qps(r);
  for (uint32_t r = 0; r < ranks(); ++r) connect(r);
  for (uint32_t r = 0; r < ranks(); ++r) create(r);
}

void GroupRing::make_qps(uint32_t r) {
  Rank& rank = ranks_[r];
  const driver::Capabilities& cap = rank.host->nic().capabilities();
  staging_.push_back(&rank.host->region(Place::kDevice, driver::stage_bytes(cap, options_.piece)));
  rings_.push_back(&rank.host->region(Place::kDevice, driver::ring_bytes(cap)));
  QpOptions o;
  o.log_sq = static_cast<uint32_t>(std::countr_zero(cap.arp_ring));
  o.sq = std::make_unique<driver::DeviceRing>(rings_[r]->iova, driver::ring_bytes(cap));
  rank.tx = &rank.host->create_qp(std::move(o));
  rank.rx = &rank.host->create_qp();
}

void GroupRing::connect(uint32_t r) {
  const uint32_t next = (r + 1) % ranks();
  ConnectOptions o;
  o.mtu = options_.mtu;
  o.psn_a = (options_.psn + 0x1000 * r) & 0xFFFFFF;
  o.psn_b = (options_.psn + 0x1000 * r + 0x800) & 0xFFFFFF;
  o.path_a = options_.path(r, next);
  o.path_b = options_.path(next, r);
  o.attributes = options_.attributes;
  connect_pair(host(r), tx(r), host(next), rx(next), o);
}

void GroupRing::create(uint32_t r) {
  driver::Device& nic = host(r).nic();
  const uint64_t base = nic.read64(RNIC_CSR_DEVMEM_BASE);
  driver::GroupRequest g;
  g.number = options_.number;
  g.elem = options_.elem;
  g.wide = options_.wide;
  g.ranks = ranks();
  g.rank = r;
  g.piece = options_.piece;
  g.tx_qpn = tx(r).number();
  g.timeout_us = options_.timeout_us;
  g.stage_key = staging_[r]->key;
  g.stage_va = staging_[r]->va;
  g.stage_at = static_cast<uint32_t>(staging_[r]->iova - base);
  g.ring_at = static_cast<uint32_t>(rings_[r]->iova - base);
  driver::create_group(nic, g);
  driver::set_group_peer(nic, options_.number, (r + ranks() - 1) % ranks(), rx(r).number());
}

driver::GroupCut GroupRing::cut(uint64_t bytes) {
  return driver::cut_buffer(host(0).nic().capabilities(), bytes, ranks(), options_.piece);
}

void GroupRing::begin(uint32_t r, uint64_t bytes, const Region& src, const Region& dst) {
  ranks_[r].events.reset();
  driver::begin_start_group(host(r).nic(), options_.number, ranks(), r, cut(bytes),
                            {src.iova, src.va, src.key, dst.iova});
}

void GroupRing::finish(uint32_t r) { driver::finish_start_group(host(r).nic(), options_.number); }

}  // namespace rnic::sim
