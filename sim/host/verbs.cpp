// SPDX-License-Identifier: Apache-2.0
#include "sim/host/verbs.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

#include "harness/mem/random.hpp"
#include "regs/gen/rnic_regs.h"

namespace rnic::sim {

using golden::Status;
using golden::Verb;

namespace {

uint8_t opcode_of(Verb v) {
  switch (v) {
    case Verb::kNop:
      return RNIC_WQE_OPCODE_NOP;
    case Verb::kSend:
      return RNIC_WQE_OPCODE_SEND;
    case Verb::kSendImm:
      return RNIC_WQE_OPCODE_SEND_IMM;
    case Verb::kSendInv:
      return RNIC_WQE_OPCODE_SEND_INV;
    case Verb::kWrite:
      return RNIC_WQE_OPCODE_WRITE;
    case Verb::kWriteImm:
      return RNIC_WQE_OPCODE_WRITE_IMM;
    case Verb::kRead:
      return RNIC_WQE_OPCODE_READ;
    case Verb::kCompareSwap:
      return RNIC_WQE_OPCODE_COMPARE_SWAP;
    case Verb::kFetchAdd:
      return RNIC_WQE_OPCODE_FETCH_ADD;
    case Verb::kLocalInv:
      return RNIC_WQE_OPCODE_LOCAL_INV;
  }
  return RNIC_WQE_OPCODE_NOP;
}

std::vector<driver::Segment> segments(const std::vector<golden::Sge>& list) {
  std::vector<driver::Segment> out;
  for (const golden::Sge& s : list) out.push_back({s.lkey, s.length, s.va});
  return out;
}

Status verbs_status(uint8_t cqe_status) {
  switch (cqe_status) {
    case RNIC_CQE_STATUS_SUCCESS:
      return Status::kSuccess;
    case RNIC_CQE_STATUS_LOC_LEN_ERR:
      return Status::kLocalLength;
    case RNIC_CQE_STATUS_LOC_QP_OP_ERR:
      return Status::kLocalOperation;
    case RNIC_CQE_STATUS_LOC_PROT_ERR:
    case RNIC_CQE_STATUS_LOC_ACCESS_ERR:
      return Status::kLocalProtection;
    case RNIC_CQE_STATUS_WR_FLUSH_ERR:
      return Status::kFlushed;
    case RNIC_CQE_STATUS_BAD_RESP_ERR:
      return Status::kBadResponse;
    case RNIC_CQE_STATUS_REM_INV_REQ_ERR:
      return Status::kRemoteInvalid;
    case RNIC_CQE_STATUS_REM_ACCESS_ERR:
      return Status::kRemoteAccess;
    case RNIC_CQE_STATUS_REM_OP_ERR:
      return Status::kRemoteOperation;
    case RNIC_CQE_STATUS_RETRY_EXC_ERR:
      return Status::kRetryExceeded;
    case RNIC_CQE_STATUS_RNR_RETRY_EXC_ERR:
      return Status::kRnrExceeded;
    default:
      throw std::runtime_error("CQE status " + std::to_string(cqe_status) + " has no verbs status");
  }
}

}  // namespace

uint32_t HostEndpoint::attach(Qp& qp) {
  Queue q;
  q.qp = &qp;
  q.sends.resize(size_t{1} << qp.qp->log_sq());
  q.receives.resize(size_t{1} << qp.qp->log_rq());
  queues_.push_back(std::move(q));
  return static_cast<uint32_t>(queues_.size() - 1);
}

uint32_t HostEndpoint::attach_ud(Qp& qp, uint32_t qkey, uint32_t path) {
  const uint32_t n = attach(qp);
  queues_[n].ud = true;
  queues_[n].qkey = qkey;
  queues_[n].path = path;
  return n;
}

golden::UdTarget HostEndpoint::ud_target(uint32_t qp) {
  const Queue& q = queues_.at(qp);
  const uint8_t id = host_.config().id;
  golden::UdTarget t{host_.mac(id), host_.ip(id), q.qp->number(), q.qkey};
  if (!host_.config().ipv6) t.ip[10] = t.ip[11] = 0xFF;
  return t;
}

golden::Region HostEndpoint::add_region(uint64_t length, uint32_t access, bool invalidatable) {
  (void)invalidatable;  // every key of this NIC may be taken away
  driver::MrRequest m;
  m.local_write = (access & golden::kLocalWrite) != 0;
  m.remote_write = (access & golden::kRemoteWrite) != 0;
  m.remote_read = (access & golden::kRemoteRead) != 0;
  m.remote_atomic = (access & golden::kRemoteAtomic) != 0;
  Region& r = registration_ == Registration::kFlat
                  ? host_.region(Place::kHost, length, misalign_, m)
                  : paged_region(length, m);
  regions_.push_back(&r);
  return {r.key, r.va, length};
}

Region& HostEndpoint::paged_region(uint64_t length, driver::MrRequest access) {
  const uint64_t first = misalign_ & mem::kPageMask;
  std::vector<uint32_t> order((first + length + mem::kPageMask) / mem::kPageBytes);
  std::iota(order.begin(), order.end(), 0u);
  mem::Random random(mem::substream(length, "pages"));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const bool fast = registration_ == Registration::kFast;
  access.invalid = fast;
  Region& r = host_.paged_region(length, first, std::move(order), access);
  if (fast) host_.fast_register(*queues_.at(0).qp, r, length, access);
  return r;
}

Region& HostEndpoint::region_of(const golden::Region& r) {
  for (Region* known : regions_) {
    if (known->key == r.key) return *known;
  }
  throw std::invalid_argument("no region of this endpoint");
}

void HostEndpoint::write_memory(const golden::Region& r, uint64_t offset,
                                std::span<const uint8_t> bytes) {
  Region& region = region_of(r);
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = region.run(offset + at, bytes.size() - at);
    region.buffer.write(region.in_buffer(offset + at), bytes.data() + at, n);
    at += n;
  }
}

void HostEndpoint::read_memory(const golden::Region& r, uint64_t offset, std::span<uint8_t> bytes) {
  const Region& region = region_of(r);
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = region.run(offset + at, bytes.size() - at);
    region.buffer.read(region.in_buffer(offset + at), bytes.data() + at, n);
    at += n;
  }
}

bool HostEndpoint::post_send(uint32_t qp, const golden::SendRequest& request) {
  Queue& q = queues_.at(qp);
  driver::QueuePair& ring = *q.qp->qp;
  driver::WorkRequest w;
  w.opcode = opcode_of(request.verb);
  w.local = segments(request.sges);
  w.inline_data = request.inline_data;
  w.use_inline = !request.inline_data.empty();
  w.remote_va = request.remote_va;
  w.rkey = request.rkey;
  if (q.ud) {
    w.remote_va = request.ud.qkey | uint64_t{request.ud.qpn} << 32;
    w.rkey = q.path;
  }
  w.imm = request.imm;
  w.inv_key = request.inv_key;
  w.swap_add = request.swap_add;
  w.compare = request.compare;
  w.signaled = request.signaled;
  w.solicited = request.solicited;
  w.fence = request.fence;
  if (ring.free_blocks() < driver::wqe_blocks(w)) return false;
  const uint16_t index = ring.post(w);
  q.sends[index & (q.sends.size() - 1)] = {request.wr_id, request.verb};
  ring.ring();
  return true;
}

bool HostEndpoint::post_recv(uint32_t qp, const golden::RecvRequest& request) {
  Queue& q = queues_.at(qp);
  if (q.receives_out == q.receives.size()) return false;
  const uint16_t index = q.qp->qp->post_receive(segments(request.sges));
  q.receives[index & (q.receives.size() - 1)] = request.wr_id;
  ++q.receives_out;
  q.qp->qp->ring_receives();
  return true;
}

std::optional<golden::Completion> HostEndpoint::poll(uint32_t qp) {
  Queue& q = queues_.at(qp);
  driver::CompletionQueue& cq = *q.qp->cq;
  const auto c = cq.poll();
  if (!c) return std::nullopt;
  if ((cq.consumed() & (cq.entries() / 4 - 1)) == 0) cq.update();
  golden::Completion out;
  out.status = verbs_status(c->status);
  out.bytes = c->byte_count;
  if (c->opcode == RNIC_CQE_OPCODE_REQ || c->opcode == RNIC_CQE_OPCODE_REQ_ERR) {
    const Sent& kept = q.sends[c->wqe_index & (q.sends.size() - 1)];
    out.wr_id = kept.wr_id;
    out.verb = kept.verb;
    q.qp->qp->completed(c->wqe_index);
    return out;
  }
  out.receive = true;
  out.wr_id = q.receives[c->wqe_index & (q.receives.size() - 1)];
  --q.receives_out;
  out.imm = c->imm.value_or(0);
  out.inv_key = c->inv_key;
  out.src_qp = c->src_qpn;
  switch (c->opcode) {
    case RNIC_CQE_OPCODE_RECV_WRITE_IMM:
      out.verb = Verb::kWriteImm;
      break;
    case RNIC_CQE_OPCODE_RECV_IMM:
      out.verb = Verb::kSendImm;
      break;
    case RNIC_CQE_OPCODE_RECV_INV:
      out.verb = Verb::kSendInv;
      break;
    default:
      out.verb = Verb::kSend;
  }
  return out;
}

std::string HostEndpoint::state_of(uint32_t qp) {
  const Qp& q = *queues_.at(qp).qp;
  const driver::QpInfo i = host_.nic().query_qp(q.number());
  const auto n = [](uint64_t v) { return std::to_string(v); };
  std::string s = name() + " QP " + n(q.number()) + " state " + n(i.state) + " cause " +
                  n(i.err_cause) + ": SQ producer " + n(i.sq_prod) + " fetched " + n(i.sq_fetch) +
                  ", RQ producer " + n(i.rq_prod) + " consumer " + n(i.rq_cons) + ", PSN oldest " +
                  n(i.una_psn) + " next " + n(i.next_psn) + " expected " + n(i.epsn) + " MSN " +
                  n(i.msn) + "; counters";
  for (const auto& [key, value] : host_.nic().counters()) {
    if (value != 0) s += " " + key + "=" + n(value);
  }
  return s;
}

}  // namespace rnic::sim
