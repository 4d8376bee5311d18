// SPDX-License-Identifier: Apache-2.0
// Requester-side reference: what packets a work request must become (fact sheet section 3).
//
//   SegmenterModel qp({.pmtu = 1024, .dest_qp = 0x11, .first_psn = 0x10});
//   qp.expand({.kind = MsgKind::kWrite, .length = 5000, .remote_va = va, .rkey = key}, packets);
//   std::string bad = mismatch(packets[0], view);     // empty: the frame is that packet
//
// Does no I/O and keeps no payload: a packet names its bytes by offset and length in the message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/roce/frame.hpp"

namespace rnic::roce {

// One work request. `kind`: SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ_REQUEST, COMPARE_SWAP,
// FETCH_ADD.
struct WorkRequest {
  MsgKind kind = MsgKind::kWrite;
  uint32_t length = 0;  // message bytes; ignored for atomics
  uint64_t remote_va = 0;
  uint32_t rkey = 0;
  uint32_t imm = 0;
  uint32_t inv_rkey = 0;
  uint64_t swap_add = 0, compare = 0;
  bool solicited = false;
  bool ack_required = true;  // the last packet must carry AckReq (a completion waits for it)
};

struct ExpectedPacket {
  uint8_t opcode = 0;
  uint32_t psn = 0;
  bool ack_req = false;  // must be set; elsewhere it may be set (periodic requests)
  bool solicited = false;
  uint8_t pad = 0;
  uint32_t dest_qp = 0;
  uint16_t pkey = 0xFFFF;
  uint64_t va = 0;
  uint32_t rkey = 0, dma_len = 0;
  uint32_t imm = 0, inv_rkey = 0;
  uint64_t swap_add = 0, compare = 0;
  uint32_t message_offset = 0;  // of its payload
  uint32_t payload_len = 0;
  uint64_t remote_va = 0;  // where the payload lands (WRITE)
};

struct SegmenterConfig {
  uint32_t pmtu = 1024;
  uint32_t dest_qp = 0;
  uint32_t first_psn = 0;
  uint16_t pkey = 0xFFFF;
  Transport transport = Transport::kRc;
};

class SegmenterModel {
 public:
  explicit SegmenterModel(const SegmenterConfig& config);
  // Appends the packets of `wr` to `out` and advances the PSN. Throws std::invalid_argument for a
  // request the transport cannot carry or a message above 2^31 bytes.
  void expand(const WorkRequest& wr, std::vector<ExpectedPacket>& out);
  uint32_t next_psn() const { return psn_; }
  uint32_t messages() const { return messages_; }

  // A READ cut short: the request that fetches what is left after `received` responses.
  static WorkRequest read_tail(const WorkRequest& read, uint32_t pmtu, uint32_t received);

 private:
  SegmenterConfig config_;
  uint32_t psn_;
  uint32_t messages_ = 0;
};

// Difference between a packet and a received frame in every field the packet fixes; empty when
// there is none.
std::string mismatch(const ExpectedPacket& want, const FrameView& got);
// The frame that carries the packet; addresses and MACs come from `base`.
FrameSpec to_frame_spec(const ExpectedPacket& packet, const FrameSpec& base);

}  // namespace rnic::roce
