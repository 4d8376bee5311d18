// SPDX-License-Identifier: Apache-2.0
#include "sim/live/adapter.hpp"

#include <algorithm>
#include <stdexcept>

#include "regs/gen/rnic_regs.h"

namespace rnic::sim {
namespace {

uint8_t service_of(tools::Service s) {
  switch (s) {
    case tools::Service::kRc:
      return RNIC_QP_TYPE_RC;
    case tools::Service::kUc:
      return RNIC_QP_TYPE_UC;
    case tools::Service::kUd:
      return RNIC_QP_TYPE_UD;
  }
  return RNIC_QP_TYPE_RC;
}

// The driver wants IPv4 in the last four bytes, the rest zero.
driver::Ip driver_ip(const roce::IpAddr& ip) {
  driver::Ip out = ip;
  if (roce::is_ipv4(ip)) std::fill(out.begin(), out.begin() + 12, uint8_t{0});
  return out;
}

constexpr uint32_t kLogMaxCq = 15;
constexpr uint64_t kFirstVa = uint64_t{0x10} << 32;
constexpr uint32_t kFirstMr = 16;  // those below stay free for a replay's own

}  // namespace

// ------------------------------------------------------------------------------------------------
// queue
bool Queue::room(const driver::WorkRequest& r) const {
  return qp->free_blocks() >= driver::wqe_blocks(r);
}

void Queue::post(const driver::WorkRequest& r) {
  const uint16_t index = qp->post(r);
  ++posted;
  if (r.signaled) in_flight_.emplace_back(index, posted);
}

uint32_t Queue::receive_room() const {
  return (1u << qp->log_rq()) - static_cast<uint32_t>(receives_posted_ - receives_done_);
}

void Queue::post_receive(const Buffer& m, uint64_t offset, uint32_t bytes) {
  qp->post_receive({{m.key, bytes, m.va + offset}});
  ++receives_posted_;
}

bool Queue::poll() {
  bool any = false;
  while (const auto c = cq->poll()) {
    any = true;
    if ((cq->consumed() & (cq->entries() / 4 - 1)) == 0) cq->update();
    const bool send = c->opcode == RNIC_CQE_OPCODE_REQ || c->opcode == RNIC_CQE_OPCODE_REQ_ERR;
    if (!c->ok() && failure.empty()) failure = driver::status_name(c->status);
    if (send) {
      qp->completed(c->wqe_index);
      if (!c->ok()) continue;
      while (!in_flight_.empty()) {
        const auto [index, messages] = in_flight_.front();
        in_flight_.pop_front();
        completed = messages;
        if (index == c->wqe_index) break;
      }
    } else {
      const auto slot = static_cast<uint32_t>(receives_done_++);
      if (c->ok()) received.push_back({c->byte_count, slot});
    }
  }
  return any;
}

// ------------------------------------------------------------------------------------------------
// adapter
Adapter::Adapter(World& world, Node& node, const HostConfig& config, Options options)
    : node_(node), options_(std::move(options)), host_(world, node, config) {}

void Adapter::start() {
  next_mr_ = kFirstMr;
  next_qpn_ = options_.first_qpn;
  host_.start_device(options_.mac);
  const driver::Capabilities& cap = nic().capabilities();
  qpn_used_.assign(cap.n_qp, false);
  cqn_used_.assign(cap.n_cq, false);
  mr_used_.assign(cap.n_mr, false);
  path_used_.assign(cap.n_path, false);
  qpn_held_.assign(cap.n_qp, false);
}

void Adapter::forget() {
  for (const auto& m : memories_) node_.dma().free(m->buffer);
  memories_.clear();
  queues_.clear();
  paths_.clear();
  for (std::vector<bool>* used : {&qpn_used_, &cqn_used_, &mr_used_, &path_used_, &qpn_held_})
    std::fill(used->begin(), used->end(), false);
}

void Adapter::reset() {
  host_.restart_device(options_.mac);
  forget();
}

uint32_t Adapter::take(uint32_t& next, uint32_t first, uint32_t count,
                       const std::vector<bool>& used) {
  for (uint32_t i = first; i < count; ++i) {
    const uint32_t n = next;
    next = next + 1 < count ? next + 1 : first;
    if (!used[n]) return n;
  }
  throw std::runtime_error("a table of the NIC is full");
}

// Neither in use nor held.
uint32_t Adapter::take_qpn() {
  std::vector<bool> busy = qpn_used_;
  for (size_t i = 0; i < busy.size(); ++i) busy[i] = busy[i] || qpn_held_[i];
  return take(next_qpn_, 2, static_cast<uint32_t>(busy.size()), busy);
}

Buffer& Adapter::add_memory(uint64_t size, Access access, Life life) {
  auto m = std::make_unique<Buffer>();
  m->size = size;
  m->life = life;
  m->buffer = node_.dma().alloc(size);
  m->index = take(next_mr_, kFirstMr, static_cast<uint32_t>(mr_used_.size()), mr_used_);
  // Those of one run lie close together, a page that is nobody's between them.
  const uint64_t end = memories_.empty() ? kFirstVa : memories_.back()->va + memories_.back()->size;
  m->va = ((end + 2 * mem::kPageBytes - 1) & ~uint64_t{mem::kPageMask}) +
          (m->buffer.bus_addr() & mem::kPageMask);
  m->remote = access == kRemote;
  driver::MrRequest r;
  r.index = m->index;
  r.tag = ++tag_;
  r.pd = 1;
  r.va = m->va;
  r.length = size;
  r.iova = m->buffer.bus_addr();
  r.remote_write = r.remote_read = r.remote_atomic = m->remote;
  m->key = nic().create_mr(r);
  mr_used_[m->index] = true;
  memories_.push_back(std::move(m));
  return *memories_.back();
}

Queue& Adapter::add_queue(const QueueOptions& o) {
  auto q = std::make_unique<Queue>();
  q->service = o.service;
  q->psn = o.psn;
  q->qkey = o.qkey;
  q->life = o.life;
  q->cqn = take(next_cqn_, 0, static_cast<uint32_t>(cqn_used_.size()), cqn_used_);
  // Room for everything that both queues can hold, and as much again until the NIC hears of it.
  q->cq = nic().create_cq(q->cqn, std::min(std::max(o.log_sq, o.log_rq) + 2, kLogMaxCq));
  cqn_used_[q->cqn] = true;
  driver::QpRequest r;
  r.qpn = o.qpn != 0 ? o.qpn : take_qpn();
  r.pd = 1;
  r.send_cqn = r.recv_cqn = static_cast<uint16_t>(q->cqn);
  r.service = service_of(o.service);
  r.log_sq = o.log_sq;
  r.log_rq = o.log_rq;
  const uint32_t qpn = r.qpn;
  q->qp = nic().create_qp(std::move(r));
  qpn_used_[qpn] = true;
  queues_.push_back(std::move(q));
  return *queues_.back();
}

uint32_t Adapter::add_path(int gid, const roce::IpAddr& peer, const driver::Mac& mac,
                           uint16_t source_port, Life life) {
  driver::PathRequest p;
  p.index = take(next_path_, 0, static_cast<uint32_t>(path_used_.size()), path_used_);
  p.dmac = mac;
  p.smac = options_.mac;
  p.ipv6 = !roce::is_ipv4(peer);
  p.sip = driver_ip(options_.gids.at(static_cast<size_t>(gid)));
  p.dip = driver_ip(peer);
  p.sport = source_port;
  nic().create_path(p);
  path_used_[p.index] = true;
  paths_.emplace_back(p.index, life);
  return p.index;
}

void Adapter::connect(Queue& q, const tools::Keys& theirs, const driver::Mac& peer,
                      const Connection& c) {
  prepare(q, theirs, peer, c);
  start_sending(q);
}

void Adapter::prepare(Queue& q, const tools::Keys& theirs, const driver::Mac& peer,
                      const Connection& c) {
  q.theirs = theirs;
  q.mtu = c.mtu;
  q.path = add_path(c.gid, theirs.gid, peer, roce::udp_source_port(0, q.number(), theirs.qpn));
  driver::ConnectRequest& r = q.attributes_;
  r.service = service_of(q.service);
  r.qkey = q.qkey;
  r.dest_qpn = theirs.qpn;
  r.path = static_cast<uint16_t>(q.path);
  r.mtu = mtu_code(c.mtu);
  r.rq_psn = theirs.psn;
  r.sq_psn = q.psn;
  r.timeout = c.timeout.value_or(options_.timeout);
  r.rnr_retry = c.rnr_retry;
  r.max_rd_atomic = std::max<uint8_t>(1, c.max_rd_atomic);
  r.max_dest_rd_atomic = std::max<uint8_t>(1, c.max_dest_rd_atomic);
  r.remote_write = r.remote_read = r.remote_atomic = c.remote_access;
  nic().to_rtr(*q.qp, r);
}

void Adapter::start_sending(Queue& q) { nic().to_rts(*q.qp, q.attributes_); }

void Adapter::open_datagrams(Queue& q) {
  driver::ConnectRequest& r = q.attributes_;
  r.service = service_of(q.service);
  r.qkey = q.qkey;
  r.sq_psn = q.psn;
  nic().connect(*q.qp, r);
}

void Adapter::destroy(const Queue& q) {
  nic().modify_state(*q.qp, RNIC_QP_STATE_RESET);
  nic().destroy(RNIC_CMD_OPCODE_DESTROY_QP, q.number(), "DESTROY_QP");
  nic().destroy(RNIC_CMD_OPCODE_DESTROY_CQ, q.cqn, "DESTROY_CQ");
  qpn_used_[q.number()] = cqn_used_[q.cqn] = false;
}

void Adapter::release() {
  std::erase_if(queues_, [this](const auto& q) {
    if (q->life != Life::kRun) return false;
    destroy(*q);
    return true;
  });
  std::erase_if(memories_, [this](const auto& m) {
    if (m->life != Life::kRun) return false;
    nic().destroy(RNIC_CMD_OPCODE_DESTROY_MR, m->index, "DESTROY_MR");
    node_.dma().free(m->buffer);
    mr_used_[m->index] = false;
    return true;
  });
  std::erase_if(paths_, [this](const auto& p) {
    if (p.second != Life::kRun) return false;
    destroy_path(p.first);
    return true;
  });
}

void Adapter::remove_path(uint32_t number) {
  destroy_path(number);
  std::erase_if(paths_, [number](const auto& p) { return p.first == number; });
}

void Adapter::destroy_path(uint32_t number) {
  nic().destroy(RNIC_CMD_OPCODE_DESTROY_PATH, number, "DESTROY_PATH");
  path_used_[number] = false;
}

bool Adapter::owes() const {
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const auto& q) { return q->failure.empty() && q->posted != q->completed; });
}

}  // namespace rnic::sim
