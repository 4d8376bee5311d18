// SPDX-License-Identifier: Apache-2.0
#include "sim/run/crowd.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "harness/mem/random.hpp"
#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

namespace {
constexpr uint32_t kLogSq = 4, kLogRq = 2, kLogCq = 10;
}  // namespace

// When the entries of the completion queue became visible, in their order.
class Crowd::Watch final : public pcie::Observer {
 public:
  Watch(pcie::Fabric& fabric, uint64_t ring) : fabric_(fabric), ring_(ring) {
    fabric_.add_observer(this);
  }
  ~Watch() override { fabric_.remove_observer(this); }
  void on_visible(const pcie::VisibleEvent& v) override {
    if (v.addr < ring_ || v.addr >= ring_ + (uint64_t{RNIC_CQE_BYTES} << kLogCq)) return;
    for (uint32_t at = 0; at < v.len; at += RNIC_CQE_BYTES) times_.push_back(v.time_ps);
  }
  TimePs next() {
    const TimePs t = times_.at(0);
    times_.pop_front();
    return t;
  }

 private:
  pcie::Fabric& fabric_;
  uint64_t ring_;
  std::deque<TimePs> times_;
};

Crowd::Crowd(Session& session) : session_(session), host_(*session.kit(0).host) {
  rng_.reseed(session.seed("crowd"));
  const uint32_t cqn = host_.nic().capabilities().n_cq - 1;
  cq_ = host_.nic().create_cq(cqn, kLogCq);
  watch_ = std::make_unique<Watch>(session.kit(0).node->fabric(), cq_->ring_addr());
  source_ = &host_.region(Place::kHost, uint64_t{kSlots} * kSlotBytes);
  target_ = &host_.region(Place::kHost, uint64_t{kSlots} * kSlotBytes);
}

Crowd::~Crowd() = default;

std::unique_ptr<driver::QueuePair> Crowd::create(uint32_t qp) {
  driver::QpRequest r;
  r.qpn = (qp + 2) % host_.nic().capabilities().n_qp;  // the special ones come last
  r.pd = 1;
  r.send_cqn = r.recv_cqn = static_cast<uint16_t>(cq_->number());
  r.log_sq = kLogSq;
  r.log_rq = kLogRq;
  return host_.nic().create_qp(std::move(r));
}

void Crowd::connect(uint32_t qp) {
  driver::ConnectRequest r;
  r.dest_qpn = number(peer(qp));
  r.mtu = mtu_code(session_.settings().mtu);
  r.sq_psn = sq_psn_.at(qp);
  r.rq_psn = sq_psn_.at(peer(qp));
  host_.nic().connect(*qps_.at(qp), r);
}

void Crowd::grow(uint32_t qps) {
  const uint32_t most = host_.nic().capabilities().n_qp;
  if (qps > most) throw std::runtime_error(fmt::format("{} QPs: this NIC has {}", qps, most));
  while (size() < qps) {
    const uint32_t first = size();
    for (uint32_t qp = first; qp < first + 2; ++qp) {
      qps_.push_back(create(qp));
      sq_psn_.push_back(static_cast<uint32_t>(rng_.next()) & 0xFFFFFF);
    }
    connect(first);
    connect(first + 1);
    session_.progress(fmt::format("{} of {} QPs", size(), qps));
  }
}

uint16_t Crowd::write(uint32_t qp, uint32_t slot, uint32_t bytes) {
  const uint64_t at = uint64_t{slot} * kSlotBytes;
  scratch_.resize((bytes + 7) / 8 * 8);
  for (size_t i = 0; i < scratch_.size(); i += 8) {
    const uint64_t v = rng_.next();
    std::memcpy(&scratch_[i], &v, 8);
  }
  source_->buffer.write(at, scratch_.data(), bytes);
  driver::WriteRequest w;
  w.local = {{source_->key, bytes, source_->va + at}};
  w.remote_va = target_->va + at;
  w.rkey = target_->key;
  w.signaled = true;
  const uint16_t index = qps_.at(qp)->post_write(w);
  qps_.at(qp)->ring();
  return index;
}

std::optional<Crowd::Done> Crowd::poll() {
  const auto c = cq_->poll();
  if (!c) return std::nullopt;
  if ((cq_->consumed() & (cq_->entries() / 4 - 1)) == 0) cq_->update();
  const uint32_t n_qp = host_.nic().capabilities().n_qp;
  const uint32_t qp = (c->qpn + n_qp - 2) % n_qp;
  if (!c->ok())
    throw std::runtime_error(fmt::format("QP {}: message at block {} ended with {}", c->qpn,
                                         c->wqe_index, driver::status_name(c->status)));
  qps_.at(qp)->completed(c->wqe_index);
  return Done{qp, c->wqe_index, watch_->next()};
}

std::string Crowd::difference(uint32_t slot, uint32_t bytes) const {
  const uint64_t at = uint64_t{slot} * kSlotBytes;
  const auto d = mem::MemoryChecker::compare(target_->buffer, at, source_->buffer, at, bytes);
  return d ? d->to_string() : "";
}

}  // namespace rnic::sim
