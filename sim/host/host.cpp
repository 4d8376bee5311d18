// SPDX-License-Identifier: Apache-2.0
#include "sim/host/host.hpp"

#include <bit>
#include <stdexcept>

#include "harness/roce/bytes.hpp"
#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

uint8_t mtu_code(uint32_t bytes) {
  switch (bytes) {
    case 256:
      return RNIC_PATH_MTU_MTU_256;
    case 512:
      return RNIC_PATH_MTU_MTU_512;
    case 1024:
      return RNIC_PATH_MTU_MTU_1024;
    case 2048:
      return RNIC_PATH_MTU_MTU_2048;
    case 4096:
      return RNIC_PATH_MTU_MTU_4096;
    default:
      throw std::invalid_argument("mtu " + std::to_string(bytes) +
                                  ": 256, 512, 1024, 2048 or 4096");
  }
}

Host::Host(World& world, Node& node, const HostConfig& config)
    : world_(world), node_(node), config_(config), bus_(world, node) {
  nic_ = std::make_unique<driver::Device>(bus_);
}

driver::Ip Host::ip(uint8_t id) const {
  if (!config_.ipv6) return driver::ipv4(192, 168, 0, id);
  driver::Ip a{};
  a[0] = 0xFD;
  a[7] = 0x17;
  a[15] = id;
  return a;
}

void Host::start_device(const driver::Mac& own) {
  nic_->probe();
  if (config_.contexts) nic_->use_contexts();
  const pcie::Config& pcie = node_.config().pcie;
  const auto code = [](uint32_t bytes) {
    return static_cast<uint32_t>(std::countr_zero(bytes / 128));
  };
  nic_->write(RNIC_CSR_DMA_CFG, RNIC_FIELD_PREP(RNIC_CSR_DMA_CFG_MPS_MASK, code(pcie.mps)) |
                                    RNIC_FIELD_PREP(RNIC_CSR_DMA_CFG_MRRS_MASK, code(pcie.mrrs)) |
                                    (config_.relaxed ? RNIC_CSR_DMA_CFG_RELAXED_MASK : 0));
  nic_->write(RNIC_CSR_DMA_TIMEOUT, config_.dma_timeout_us);
  nic_->write(RNIC_CSR_DMA_PACING_CTRL, config_.pacing);
  nic_->write(RNIC_CSR_TX_START_THRESHOLD, config_.tx_start_threshold);
  nic_->write(RNIC_CSR_ACK_COALESCE,
              RNIC_FIELD_PREP(RNIC_CSR_ACK_COALESCE_COUNT_MASK, config_.ack_count) |
                  RNIC_FIELD_PREP(RNIC_CSR_ACK_COALESCE_CYCLES_MASK, config_.ack_cycles));
  nic_->write(RNIC_CSR_MAC_CFG,
              RNIC_CSR_MAC_CFG_PROMISC_RAW_MASK | RNIC_CSR_MAC_CFG_MIG_REQ_MASK |
                  RNIC_FIELD_PREP(RNIC_CSR_MAC_CFG_ACK_REQ_EVERY_MASK, config_.ack_req_every));
  uint64_t mac_value = 0;
  for (uint8_t b : own) mac_value = mac_value << 8 | b;
  nic_->write64(RNIC_CSR_PORT_MAC, mac_value);
  for (uint32_t i = 0; i < node_.gpu_count(); ++i)
    nic_->set_gpu_window(i, node_.gpu(i).base(), node_.gpu(i).limit() - 1);
  nic_->write(RNIC_CSR_GDR_BAR_EN, config_.peer_to_peer ? 1 : 0);
  if (config_.pause) driver::set_pauses(*nic_, *config_.pause);
  nic_->create_pd(1);
  eq_ = nic_->create_eq(0, 6, 0);
  rings_.emplace_back(eq_->ring_addr(), uint64_t{RNIC_EQE_BYTES} << 6);
}

void Host::start(uint8_t peer_id) {
  start_device(mac(config_.id));
  create_path(peer_id);
}

void Host::create_path(uint8_t peer_id, uint16_t index, std::optional<uint8_t> dscp) {
  driver::PathRequest path;
  path.index = index;
  path.dmac = mac(peer_id);
  path.smac = mac(config_.id);
  path.ipv6 = config_.ipv6;
  path.sip = ip(config_.id);
  path.dip = ip(peer_id);
  path.vlan = config_.vlan;
  path.vlan_id = config_.vlan_id;
  path.pcp = config_.pcp;
  path.dscp = dscp.value_or(config_.dscp);
  nic_->create_path(path);
}

void Host::restart_device(const driver::Mac& own) {
  nic_->reset();
  qps_.clear();
  regions_.clear();
  device_next_ = 0;
  next_mr_ = 1;
  start_device(own);
}

void Host::restart(uint8_t peer_id) {
  restart_device(mac(config_.id));
  create_path(peer_id);
}

void Host::ignore_written_rings(mem::MemoryChecker& checker) const {
  for (const auto& [addr, size] : rings_) node_.ignore(checker, addr, size);
  if (const driver::DmaMemory* c = nic_->contexts())
    node_.ignore(checker, c->bus_addr(), c->size());
}

void Host::ignore_rings(mem::MemoryChecker& checker) const {
  ignore_written_rings(checker);
  for (const auto& q : qps_) {
    const driver::QueuePair& qp = *q->qp;
    node_.ignore(checker, qp.sq_addr(), uint64_t{RNIC_WQE_BLOCK} << qp.log_sq());
    node_.ignore(checker, qp.rq_addr(), uint64_t{RNIC_WQE_BLOCK} << qp.log_rq());
  }
}

Region& Host::region(Place place, uint64_t size, uint64_t misalign, const driver::MrRequest& access,
                     size_t gpu) {
  auto r = std::make_unique<Region>();
  r->place = place;
  r->size = size;
  switch (place) {
    case Place::kHost:
      r->buffer = node_.dma().alloc(size, mem::kReadWrite, mem::kPageBytes, misalign);
      r->iova = r->buffer.bus_addr();
      break;
    case Place::kGpu:
      r->buffer = node_.gpu(gpu).alloc(size, mem::kPageBytes, misalign);
      r->iova = r->buffer.bus_addr();
      break;
    case Place::kDevice: {
      const uint64_t base = nic_->read64(RNIC_CSR_DEVMEM_BASE);
      if (device_next_ + misalign + size > nic_->capabilities().devmem_bytes)
        throw std::runtime_error("device_memory is used up");
      r->iova = base + device_next_ + misalign;
      device_next_ += (misalign + size + mem::kPageMask) & ~mem::kPageMask;
      break;
    }
  }
  driver::MrRequest m = access;
  m.va = r->iova & mem::kPageMask;
  m.length = size;
  m.iova = r->iova;
  return add_region(std::move(r), m);
}

// Numbers it, and puts the number into the upper half of its addresses.
Region& Host::add_region(std::unique_ptr<Region> region, driver::MrRequest request) {
  Region& r = *region;
  r.index = next_mr_++;
  r.va = request.va | uint64_t{r.index} << 32;
  request.index = r.index;
  request.tag = static_cast<uint8_t>(0xA0 + r.index);
  request.va = r.va;
  if (request.pd == 0) request.pd = 1;
  r.key = nic_->create_mr(request);
  regions_.push_back(std::move(region));
  return r;
}

Region& Host::paged_region(uint64_t length, uint64_t first, std::vector<uint32_t> order,
                           const driver::MrRequest& access) {
  auto r = std::make_unique<Region>();
  r->size = order.size() * mem::kPageBytes;
  r->buffer = node_.dma().alloc(r->size, mem::kReadWrite, mem::kPageBytes, 0);
  r->list =
      node_.dma().alloc(order.size() * sizeof(uint64_t), mem::kReadWrite, sizeof(uint64_t), 0);
  r->iova = r->buffer.bus_addr();
  for (size_t i = 0; i < order.size(); ++i) {
    uint8_t entry[sizeof(uint64_t)];
    roce::store_le64(entry, r->iova + order[i] * mem::kPageBytes);
    r->list.write(i * sizeof entry, entry, sizeof entry);
  }
  r->order = std::move(order);
  r->first = first;
  driver::MrRequest m = access;
  m.va = first;
  m.length = length;
  m.iova = r->list.bus_addr();
  m.page = RNIC_MR_PAGE_PAGE_4K;
  m.first = static_cast<uint32_t>(first);
  return add_region(std::move(r), m);
}

void Host::fast_register(Qp& qp, Region& region, uint64_t length, const driver::MrRequest& access) {
  region.key = (region.key & ~0xFFu) | ((region.key + 1) & 0xFF);
  std::vector<uint8_t> w(RNIC_WQE_FAST_REG_BYTES);
  rnic_wqe_set_opcode(w.data(), RNIC_WQE_OPCODE_FAST_REG);
  rnic_wqe_set_signaled(w.data(), 1);
  rnic_wqe_fast_reg_set_va(w.data(), region.va);
  rnic_wqe_fast_reg_set_key(w.data(), region.key);
  rnic_wqe_fast_reg_set_local_write(w.data(), access.local_write);
  rnic_wqe_fast_reg_set_remote_write(w.data(), access.remote_write);
  rnic_wqe_fast_reg_set_remote_read(w.data(), access.remote_read);
  rnic_wqe_fast_reg_set_remote_atomic(w.data(), access.remote_atomic);
  rnic_wqe_fast_reg_set_page(w.data(), RNIC_MR_PAGE_PAGE_4K);
  rnic_wqe_fast_reg_set_length(w.data(), length);
  rnic_wqe_fast_reg_set_iova(w.data(), region.list.bus_addr());
  rnic_wqe_fast_reg_set_first(w.data(), static_cast<uint32_t>(region.first));
  qp.qp->post_raw(w);
  qp.qp->ring();
  const driver::Completion c = wait_completion(qp);
  if (!c.ok())
    throw std::runtime_error(node_.name() + ": FAST_REG ended with " +
                             driver::status_name(c.status));
}

Qp& Host::create_qp(QpOptions options) {
  auto q = std::make_unique<Qp>();
  const auto number = static_cast<uint32_t>(qps_.size());
  q->cqn = number;
  q->cq = nic_->create_cq(number, options.log_cq);
  rings_.emplace_back(q->cq->ring_addr(), uint64_t{RNIC_CQE_BYTES} << options.log_cq);
  driver::QpRequest r;
  // Number 0 comes last, as a real driver keeps the special ones for itself.
  r.qpn = options.number.value_or((number + 2) % nic_->capabilities().n_qp);
  r.pd = 1;
  r.send_cqn = r.recv_cqn = static_cast<uint16_t>(number);
  r.service = options.service;
  r.log_sq = options.log_sq;
  r.log_rq = options.log_rq;
  r.sq_sig_all = options.sq_sig_all;
  r.sq = std::move(options.sq);
  q->qp = nic_->create_qp(std::move(r));
  qps_.push_back(std::move(q));
  return *qps_.back();
}

uint16_t Host::post_write(Qp& qp, const Region& src, uint64_t src_off, const Region& dst,
                          uint64_t dst_off, uint32_t len, bool signaled) {
  driver::WriteRequest w;
  w.local = {{src.key, len, src.va + src_off}};
  w.remote_va = dst.va + dst_off;
  w.rkey = dst.key;
  w.signaled = signaled;
  return qp.qp->post_write(w);
}

uint16_t Host::write(Qp& qp, const Region& src, uint64_t src_off, const Region& dst,
                     uint64_t dst_off, uint32_t len) {
  const uint16_t index = post_write(qp, src, src_off, dst, dst_off, len);
  qp.qp->ring();
  return index;
}

std::optional<driver::Completion> Host::poll(Qp& qp) {
  while (auto c = qp.cq->poll()) {
    const bool send = c->opcode == RNIC_CQE_OPCODE_REQ || c->opcode == RNIC_CQE_OPCODE_REQ_ERR;
    // The NIC may reuse the entry before half the ring is waiting.
    if ((qp.cq->consumed() & (qp.cq->entries() / 4 - 1)) == 0) qp.cq->update();
    if (!send) {
      qp.received.push_back(*c);
      continue;
    }
    qp.qp->completed(c->wqe_index);
    return c;
  }
  return std::nullopt;
}

driver::Completion Host::wait_completion(Qp& qp, TimePs limit_ps) {
  std::optional<driver::Completion> c;
  world_.run_while([&] { return !(c = poll(qp)); }, limit_ps,
                   node_.name() + ": a completion of QP " + std::to_string(qp.number()));
  return *c;
}

driver::Completion Host::wait_received(Qp& qp, TimePs limit_ps) {
  world_.run_while(
      [&] {
        (void)poll(qp);
        return qp.received.empty();
      },
      limit_ps, node_.name() + ": a receive completion of QP " + std::to_string(qp.number()));
  driver::Completion c = qp.received.front();
  qp.received.pop_front();
  return c;
}

std::optional<driver::Event> Host::wait_event(TimePs limit_ps) {
  std::optional<driver::Event> e;
  world_.run_while([&] { return !(e = eq_->poll()); }, limit_ps, node_.name() + ": an event");
  eq_->update();
  return e;
}

void connect_pair(Host& a, Qp& qa, Host& b, Qp& qb, const ConnectOptions& options) {
  const auto one = [&](Host& h, Qp& self, const Qp& peer, uint32_t sq_psn, uint32_t rq_psn,
                       uint16_t path) {
    driver::ConnectRequest r = options.attributes;
    r.dest_qpn = peer.number();
    r.path = path;
    r.mtu = mtu_code(options.mtu);
    r.sq_psn = sq_psn;
    r.rq_psn = rq_psn;
    h.nic().connect(*self.qp, r);
    self.sq_psn = self.next_psn = sq_psn;
    self.rq_psn = rq_psn;
    self.mtu = options.mtu;
  };
  one(a, qa, qb, options.psn_a, options.psn_b, options.path_a);
  one(b, qb, qa, options.psn_b, options.psn_a, options.path_b);
}

std::pair<Qp*, Qp*> connect(Host& a, Host& b, const ConnectOptions& options) {
  const auto make = [&](Host& h) -> Qp& {
    QpOptions o;
    o.log_sq = options.log_sq;
    o.log_rq = options.log_rq;
    o.log_cq = options.log_cq;
    return h.create_qp(std::move(o));
  };
  Qp& qa = make(a);
  Qp& qb = make(b);
  connect_pair(a, qa, b, qb, options);
  return {&qa, &qb};
}

}  // namespace rnic::sim
