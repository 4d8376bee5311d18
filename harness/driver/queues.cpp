// SPDX-License-Identifier: Apache-2.0
#include "harness/driver/queues.hpp"

#include <cstring>

#include "regs/gen/rnic_regs.h"

namespace rnic::driver {

namespace {
constexpr uint32_t kBlock = RNIC_WQE_BLOCK;

uint32_t swap32(uint32_t v) { return __builtin_bswap32(v); }

constexpr size_t kData = 32;  // where segments or inline data begin in a WQE

void put_segment(uint8_t* at, const Segment& s) {
  rnic_data_seg_set_lkey(at, s.lkey);
  rnic_data_seg_set_len(at, s.len);
  rnic_data_seg_set_va(at, s.va);
}
}  // namespace

uint32_t wqe_blocks(const WorkRequest& r) {
  if (r.use_inline)
    return static_cast<uint32_t>((kData + r.inline_data.size() + kBlock - 1) / kBlock);
  return r.long_form || r.local.size() > 2 ? 2 : 1;
}

const char* opcode_name(uint8_t cqe_opcode) {
  switch (cqe_opcode) {
    case RNIC_CQE_OPCODE_REQ:
      return "REQ";
    case RNIC_CQE_OPCODE_RECV_WRITE_IMM:
      return "RECV_WRITE_IMM";
    case RNIC_CQE_OPCODE_RECV:
      return "RECV";
    case RNIC_CQE_OPCODE_RECV_IMM:
      return "RECV_IMM";
    case RNIC_CQE_OPCODE_RECV_INV:
      return "RECV_INV";
    case RNIC_CQE_OPCODE_REQ_ERR:
      return "REQ_ERR";
    case RNIC_CQE_OPCODE_RECV_ERR:
      return "RECV_ERR";
    default:
      return "?";
  }
}

const char* status_name(uint8_t cqe_status) {
  switch (cqe_status) {
    case RNIC_CQE_STATUS_SUCCESS:
      return "SUCCESS";
    case RNIC_CQE_STATUS_LOC_LEN_ERR:
      return "LOC_LEN_ERR";
    case RNIC_CQE_STATUS_LOC_QP_OP_ERR:
      return "LOC_QP_OP_ERR";
    case RNIC_CQE_STATUS_LOC_PROT_ERR:
      return "LOC_PROT_ERR";
    case RNIC_CQE_STATUS_WR_FLUSH_ERR:
      return "WR_FLUSH_ERR";
    case RNIC_CQE_STATUS_BAD_RESP_ERR:
      return "BAD_RESP_ERR";
    case RNIC_CQE_STATUS_LOC_ACCESS_ERR:
      return "LOC_ACCESS_ERR";
    case RNIC_CQE_STATUS_REM_INV_REQ_ERR:
      return "REM_INV_REQ_ERR";
    case RNIC_CQE_STATUS_REM_ACCESS_ERR:
      return "REM_ACCESS_ERR";
    case RNIC_CQE_STATUS_REM_OP_ERR:
      return "REM_OP_ERR";
    case RNIC_CQE_STATUS_RETRY_EXC_ERR:
      return "RETRY_EXC_ERR";
    case RNIC_CQE_STATUS_RNR_RETRY_EXC_ERR:
      return "RNR_RETRY_EXC_ERR";
    case RNIC_CQE_STATUS_FATAL_ERR:
      return "FATAL_ERR";
    default:
      return "?";
  }
}

// ------------------------------------------------------------------------------------------
// completion queue
CompletionQueue::CompletionQueue(Bus& bus, uint32_t cqn, uint32_t log_size,
                                 std::unique_ptr<DmaMemory> ring)
    : bus_(bus), cqn_(cqn), log_size_(log_size), ring_(std::move(ring)) {
  const std::vector<uint8_t> zeros(ring_->size());
  ring_->write(0, zeros.data(), zeros.size());
}

uint64_t CompletionQueue::next_entry_addr() const {
  return ring_->bus_addr() + uint64_t{cons_ & (entries() - 1)} * RNIC_CQE_BYTES;
}

std::optional<Completion> CompletionQueue::poll() {
  uint8_t e[RNIC_CQE_BYTES];
  ring_->read(uint64_t{cons_ & (entries() - 1)} * RNIC_CQE_BYTES, e, sizeof e);
  // The owner bit is 1 on the first pass over the ring and flips on each.
  const uint32_t phase = (cons_ >> log_size_ & 1) ^ 1;
  if (rnic_cqe_get_owner(e) != phase) return std::nullopt;
  Completion c;
  c.opcode = static_cast<uint8_t>(rnic_cqe_get_opcode(e));
  c.status = static_cast<uint8_t>(rnic_cqe_get_status(e));
  c.syndrome = static_cast<uint8_t>(rnic_cqe_get_syndrome(e));
  c.wqe_index = static_cast<uint16_t>(rnic_cqe_get_wqe_index(e));
  c.qpn = rnic_cqe_get_qpn(e);
  c.byte_count = rnic_cqe_get_byte_count(e);
  if (rnic_cqe_get_imm_valid(e)) c.imm = swap32(rnic_cqe_get_imm(e));
  if (c.opcode == RNIC_CQE_OPCODE_RECV_INV) c.inv_key = rnic_cqe_get_imm(e);
  c.src_qpn = rnic_cqe_get_src_qpn(e);
  c.grh = rnic_cqe_get_grh(e) != 0;
  c.ipv6 = rnic_cqe_get_ipv6(e) != 0;
  c.timestamp = rnic_cqe_get_timestamp(e);
  ++cons_;
  return c;
}

void CompletionQueue::update(bool arm, bool arm_solicited) {
  const uint32_t v = cons_ | (arm ? RNIC_PAGE_RX_CQE_CONS_ARM_MASK : 0) |
                     (arm_solicited ? RNIC_PAGE_RX_CQE_CONS_ARM_SOLICITED_MASK : 0);
  bus_.write32(Bar::kRegisters, RNIC_CSR_CQ_CONS + 8 * cqn_, v);
}

// ------------------------------------------------------------------------------------------------
// queue pair
QueuePair::QueuePair(Bus& bus, uint32_t qpn, uint32_t log_sq, uint32_t log_rq,
                     std::unique_ptr<DmaMemory> sq, std::unique_ptr<DmaMemory> rq)
    : bus_(bus),
      qpn_(qpn),
      log_sq_(log_sq),
      log_rq_(log_rq),
      sq_(std::move(sq)),
      rq_(std::move(rq)),
      blocks_(size_t{1} << log_sq) {}

uint32_t QueuePair::free_blocks() const {
  return (1u << log_sq_) - static_cast<uint16_t>(prod_ - cons_);
}

void QueuePair::reset_indices() { prod_ = cons_ = rq_prod_ = 0; }

void QueuePair::store_block(uint16_t index, const uint8_t* block) {
  sq_->write(uint64_t{index & ((1u << log_sq_) - 1)} * kBlock, block, kBlock);
}

uint16_t QueuePair::post_write(const WriteRequest& w) {
  WorkRequest r;
  r.opcode = w.imm ? RNIC_WQE_OPCODE_WRITE_IMM : RNIC_WQE_OPCODE_WRITE;
  r.local = w.local;
  r.inline_data = w.inline_data;
  r.use_inline = w.use_inline;
  r.remote_va = w.remote_va;
  r.rkey = w.rkey;
  r.imm = w.imm.value_or(0);
  r.signaled = w.signaled;
  r.solicited = w.solicited;
  r.sampled = w.sampled;
  r.long_form = w.long_form;
  return post(r);
}

uint16_t QueuePair::post(const WorkRequest& r) {
  if (!r.use_inline && r.local.size() > 6) throw Error("post: more than 6 segments");
  if (r.use_inline && r.inline_data.size() > RNIC_MAX_INLINE)
    throw Error("post: more inline data than MAX_INLINE");
  const bool atomic =
      r.opcode == RNIC_WQE_OPCODE_COMPARE_SWAP || r.opcode == RNIC_WQE_OPCODE_FETCH_ADD;
  if (atomic && (r.use_inline || r.local.size() != 1))
    throw Error("post: an ATOMIC has one segment, for its result");
  std::vector<uint8_t> w(size_t{wqe_blocks(r)} * kBlock);
  uint8_t* p = w.data();
  rnic_wqe_set_opcode(p, r.opcode);
  rnic_wqe_set_signaled(p, r.signaled);
  rnic_wqe_set_solicited(p, r.solicited);
  rnic_wqe_set_fence(p, r.fence);
  rnic_wqe_set_sampled(p, r.sampled);
  rnic_wqe_set_remote_va(p, r.remote_va);
  rnic_wqe_set_rkey(p, r.rkey);
  const bool takes_key =
      r.opcode == RNIC_WQE_OPCODE_SEND_INV || r.opcode == RNIC_WQE_OPCODE_LOCAL_INV;
  rnic_wqe_set_imm(p, takes_key ? r.inv_key : swap32(r.imm));
  if (r.use_inline) {
    rnic_wqe_set_inlined(p, 1);
    rnic_wqe_set_inline_len(p, static_cast<uint32_t>(r.inline_data.size()));
    if (!r.inline_data.empty()) std::memcpy(p + kData, r.inline_data.data(), r.inline_data.size());
  } else {
    rnic_wqe_set_long_form(p, w.size() > kBlock);
    rnic_wqe_set_seg_cnt(p, static_cast<uint32_t>(r.local.size()));
    for (size_t i = 0; i < r.local.size(); ++i)
      put_segment(p + kData + i * RNIC_DATA_SEG_BYTES, r.local[i]);
  }
  if (atomic) {
    rnic_wqe_atomic_set_swap_add(p, r.swap_add);
    rnic_wqe_atomic_set_compare(p, r.compare);
  }
  return post_raw(std::move(w));
}

uint16_t QueuePair::post_raw(std::vector<uint8_t> wqe) {
  const auto blocks = static_cast<uint32_t>(wqe.size() / kBlock);
  if (wqe.size() % kBlock != 0 || blocks == 0)
    throw Error("post_raw: a WQE is whole 64-byte blocks");
  if (blocks > free_blocks())
    throw Error("QP " + std::to_string(qpn_) + ": the send queue is full");
  const uint16_t index = prod_;
  rnic_wqe_set_index(wqe.data(), index);
  for (uint32_t i = 0; i < blocks; ++i)
    store_block(static_cast<uint16_t>(index + i), wqe.data() + size_t{i} * kBlock);
  blocks_[index & ((1u << log_sq_) - 1)] = static_cast<uint8_t>(blocks);
  prod_ = static_cast<uint16_t>(prod_ + blocks);
  return index;
}

void QueuePair::ring() {
  bus_.write_barrier();
  bus_.write32(Bar::kDoorbell, page_addr() + RNIC_PAGE_TX_WQE_PROD, prod_);
}

void QueuePair::push_blueflame(uint16_t index) {
  const uint32_t blocks = blocks_at(index);
  std::vector<uint8_t> w(size_t{blocks} * kBlock);
  for (uint32_t i = 0; i < blocks; ++i)
    sq_->read(uint64_t{(index + i) & ((1u << log_sq_) - 1)} * kBlock, w.data() + size_t{i} * kBlock,
              kBlock);
  if (w.size() > slice_) return ring();
  bus_.write_barrier();
  bus_.write_block(Bar::kBlueFlame, qpn_ * slice_, w.data(), static_cast<uint32_t>(w.size()));
}

void QueuePair::completed(uint16_t index) {
  cons_ = static_cast<uint16_t>(index + blocks_at(index));
}

void QueuePair::post_receives(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) post_receive({});
  ring_receives();
}

uint16_t QueuePair::post_receive(const std::vector<Segment>& segments) {
  constexpr size_t kSegments = 16;  // where they begin in a receive WQE
  if (segments.size() > (RNIC_RQ_WQE_BYTES - kSegments) / RNIC_DATA_SEG_BYTES)
    throw Error("post_receive: more than 3 segments");
  uint8_t w[RNIC_RQ_WQE_BYTES] = {};
  rnic_rq_wqe_set_index(w, rq_prod_);
  rnic_rq_wqe_set_seg_cnt(w, static_cast<uint32_t>(segments.size()));
  for (size_t i = 0; i < segments.size(); ++i)
    put_segment(w + kSegments + i * RNIC_DATA_SEG_BYTES, segments[i]);
  rq_->write(uint64_t{rq_prod_ & ((1u << log_rq_) - 1)} * kBlock, w, sizeof w);
  return rq_prod_++;
}

void QueuePair::ring_receives() {
  bus_.write_barrier();
  bus_.write32(Bar::kDoorbell, page_addr() + RNIC_PAGE_RX_WQE_PROD, rq_prod_);
}

}  // namespace rnic::driver
