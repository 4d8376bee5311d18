// SPDX-License-Identifier: Apache-2.0
// The rings of a queue pair and of a completion queue, as the driver keeps them.
//
//   WriteRequest w{.local = {{lkey, 4096, src}}, .remote_va = dst, .rkey = rkey, .signaled = true};
//   qp.post_write(w);
//   qp.ring();                                   // doorbell for everything posted
//   while (auto c = cq.poll()) { ... }
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "harness/driver/bus.hpp"

namespace rnic::driver {

struct Segment {
  uint32_t lkey = 0;
  uint32_t len = 0;
  uint64_t va = 0;
};

struct WriteRequest {
  std::vector<Segment> local;        // up to 6; none with inline_data
  std::vector<uint8_t> inline_data;  // up to 4,064 bytes
  bool use_inline = false;
  uint64_t remote_va = 0;
  uint32_t rkey = 0;
  std::optional<uint32_t> imm;  // WRITE with immediate; first wire byte highest
  bool signaled = true;
  bool solicited = false;
  bool sampled = false;    // trace it
  bool long_form = false;  // 128 B even if 64 B would do
};

// Any operation of the send queue; the fields that the opcode uses.
struct WorkRequest {
  uint8_t opcode = 0;                // RNIC_WQE_OPCODE_*
  std::vector<Segment> local;        // up to 6; READ and ATOMIC: where the answer goes
  std::vector<uint8_t> inline_data;  // up to 4,064 bytes
  bool use_inline = false;
  uint64_t remote_va = 0;  // UD: Q_Key in the low half, QPN in the high one
  uint32_t rkey = 0;       // UD: path
  uint32_t imm = 0;        // first wire byte highest
  uint32_t inv_key = 0;    // SEND with invalidate, LOCAL_INV
  uint64_t swap_add = 0, compare = 0;
  bool signaled = true, solicited = false, fence = false, sampled = false;
  bool long_form = false;  // 128 B even if 64 B would do
};

// 64-byte blocks of its WQE.
uint32_t wqe_blocks(const WorkRequest& r);

struct Completion {
  uint8_t opcode = 0, status = 0, syndrome = 0;
  uint16_t wqe_index = 0;
  uint32_t qpn = 0, byte_count = 0;
  std::optional<uint32_t> imm;  // first wire byte highest
  uint32_t inv_key = 0;         // of RECV_INV
  uint32_t src_qpn = 0;         // UD
  bool ipv6 = false, grh = false;
  uint64_t timestamp = 0;  // core cycles
  bool ok() const { return status == 0; }
};
const char* opcode_name(uint8_t cqe_opcode);
const char* status_name(uint8_t cqe_status);

class CompletionQueue {
 public:
  CompletionQueue(Bus& bus, uint32_t cqn, uint32_t log_size, std::unique_ptr<DmaMemory> ring);
  std::optional<Completion> poll();  // the next CQE, if the NIC has written it
  void update(bool arm = false, bool arm_solicited = false);  // tells the NIC the consumer index
  uint32_t number() const { return cqn_; }
  uint64_t ring_addr() const { return ring_->bus_addr(); }
  uint64_t next_entry_addr() const;
  uint32_t entries() const { return 1u << log_size_; }
  uint16_t consumed() const { return cons_; }

 private:
  Bus& bus_;
  uint32_t cqn_, log_size_;
  std::unique_ptr<DmaMemory> ring_;
  uint16_t cons_ = 0;
};

class QueuePair {
 public:
  QueuePair(Bus& bus, uint32_t qpn, uint32_t log_sq, uint32_t log_rq, std::unique_ptr<DmaMemory> sq,
            std::unique_ptr<DmaMemory> rq);

  // Puts a WQE into the ring and returns its block index. Throws Error when the ring is full or the
  // request impossible.
  uint16_t post_write(const WriteRequest& request);
  uint16_t post(const WorkRequest& request);
  // Any WQE, in whole blocks; its index field is set here.
  uint16_t post_raw(std::vector<uint8_t> wqe);
  void ring();  // doorbell
  // Pushes the WQE at `index` (the last posted) through BlueFlame instead of a doorbell.
  void push_blueflame(uint16_t index);
  // Frees the ring up to and including the WQE at `index`, whose CQE (or a later one's) was seen.
  void completed(uint16_t index);
  // Receive queue: entries for WRITE with immediate, announced at once.
  void post_receives(uint32_t count);
  // One receive of up to 3 segments; ring_receives() announces what was posted. The caller counts
  // those that are free. Returns the block index.
  uint16_t post_receive(const std::vector<Segment>& segments);
  void ring_receives();

  uint32_t number() const { return qpn_; }
  uint64_t sq_addr() const { return sq_->bus_addr(); }
  uint64_t rq_addr() const { return rq_->bus_addr(); }
  uint32_t log_sq() const { return log_sq_; }
  uint32_t log_rq() const { return log_rq_; }
  uint16_t producer() const { return prod_; }
  uint32_t free_blocks() const;
  DmaMemory& sq() { return *sq_; }
  void reset_indices();
  // The pages of a QP: bytes between two of BAR0, bytes of a BlueFlame slice in BAR1.
  void set_windows(uint32_t page_stride, uint32_t slice) {
    page_stride_ = page_stride;
    slice_ = slice;
  }
  uint32_t page_addr() const { return qpn_ * page_stride_; }  // in BAR0

 private:
  uint32_t blocks_at(uint16_t index) const { return blocks_[index & ((1u << log_sq_) - 1)]; }
  void store_block(uint16_t index, const uint8_t* block);

  Bus& bus_;
  uint32_t qpn_, log_sq_, log_rq_;
  std::unique_ptr<DmaMemory> sq_, rq_;
  uint16_t prod_ = 0, cons_ = 0, rq_prod_ = 0;
  uint32_t page_stride_ = 0, slice_ = 0;
  std::vector<uint8_t> blocks_;  // blocks of the WQE that begins at a ring position
};

}  // namespace rnic::driver
