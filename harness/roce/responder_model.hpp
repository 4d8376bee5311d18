// SPDX-License-Identifier: Apache-2.0
// Reference responder: what one RC (or UC) QP must do with each request packet (fact sheet section
// 4).
//
//   RegionTable mem;  mem.add({.rkey = 7, .va = 0x1000, .bytes = buffer});
//   ResponderModel qp({.qpn = 0x11, .first_psn = 0x10, .pmtu = 1024}, mem);
//   qp.post_recv({.wr_id = 1, .segments = {recv}});   qp.receive(frame);
//   use(qp.responses());  use(qp.completions());  qp.clear_outputs();
//
// Sends and writes memory at once: it has no time. Every rule a responder may choose is a switch in
// ResponderPolicy. It answers every packet that asks; `AckEffect` compares with a responder that
// coalesces.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/roce/aeth.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::roce {

enum Access : uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kRemoteAll = kRemoteWrite | kRemoteRead | kRemoteAtomic,
};

struct MemoryRegion {
  uint32_t rkey = 0;
  uint64_t va = 0;
  std::span<uint8_t> bytes{};
  uint32_t access = kRemoteAll;
  uint32_t pd = 0;
  bool can_invalidate = false;
  bool valid = true;
};

// Regions of one device, shared by its QPs.
class RegionTable {
 public:
  void add(const MemoryRegion& region) { regions_.push_back(region); }
  // The region when key, PD, permission and bounds are right, otherwise nullptr.
  const MemoryRegion* check(uint32_t rkey, uint32_t pd, uint32_t access, uint64_t va,
                            uint64_t length) const;
  // False when the key is unknown or its region cannot be invalidated.
  bool invalidate(uint32_t rkey, uint32_t pd);

 private:
  std::vector<MemoryRegion> regions_;
};

struct RecvRequest {
  uint64_t wr_id = 0;
  std::vector<std::span<uint8_t>> segments{};
  // Malformed, or its own memory is not allowed: remote operational error.
  bool local_fault = false;
};

enum class WcStatus : uint8_t {
  kSuccess,
  kLocalLength,
  kLocalProtection,
  kFlushed,
  kRemoteInvalidRequest,
};

struct RecvCompletion {
  uint64_t wr_id = 0;
  WcStatus status = WcStatus::kSuccess;
  MsgKind kind = MsgKind::kSend;  // kSend, kSendImm, kSendInv, kWriteImm
  uint32_t byte_len = 0;
  uint32_t imm = 0;
  uint32_t inv_rkey = 0;
  bool solicited = false;
};

struct ResponsePacket {
  uint8_t opcode = kRcAcknowledge;
  uint32_t psn = 0;
  uint8_t syndrome = kSyndromeAckNoCredit;  // when the opcode has an AETH
  uint32_t msn = 0;
  uint64_t atomic_orig = 0;
  uint32_t payload_at = 0;  // in ResponderModel::payload_bytes()
  uint32_t payload_len = 0;
};

// What the rules leave open.
struct ResponderPolicy {
  uint8_t ack_syndrome = kSyndromeAckNoCredit;
  // Acknowledge every duplicate SEND or WRITE packet, or only one that asks.
  bool ack_every_duplicate = true;
  // A repeated READ tail is answered with the opcodes of the original position.
  bool resume_read_in_middle = false;
  // Packets behind one that got an RNR NAK get a sequence NAK, instead of silence.
  bool nak_gap_after_rnr = false;
  // A SEND whose key cannot be invalidated gets an ACK before ERR, instead of NAK 0x63.
  bool ack_failed_invalidate = false;
};
// What Linux Soft-RoCE does.
ResponderPolicy soft_roce_policy();

enum class QpState : uint8_t { kReset, kInit, kRtr, kRts, kSqd, kErr };

struct ResponderConfig {
  Transport transport = Transport::kRc;  // or kUc, of a wire that loses nothing: no answers
  uint32_t qpn = 0;
  uint32_t first_psn = 0;
  uint32_t pmtu = 1024;
  uint16_t pkey = 0xFFFF;
  uint32_t pd = 0;
  uint32_t access = kRemoteAll;
  uint8_t min_rnr_timer = 12;
  uint32_t max_dest_rd_atomic = 16;
  std::optional<IpAddr> local_ip{};  // checked when given
  std::optional<IpAddr> peer_ip{};
  ResponderPolicy policy{};
};

// What became of one received frame.
enum class RxVerdict : uint8_t {
  kExecuted,
  kDuplicate,     // answered again
  kNakSequence,   // a gap, reported
  kGapDiscarded,  // a gap that was reported before
  kRnr,
  kNakFatal,    // NAK, QP to ERR
  kNotRequest,  // response or CNP: not the responder's
  kDropNotRoce,
  kDropMalformed,
  kDropIcrc,
  kDropVersion,
  kDropQp,
  kDropTransport,
  kDropState,
  kDropAddress,
  kDropPkey,
  kDropDuplicate,  // a duplicate that cannot be answered
};
const char* to_string(RxVerdict v);

class ResponderModel {
 public:
  ResponderModel(const ResponderConfig& config, RegionTable& regions);

  void post_recv(RecvRequest request);
  // One frame without FCS.
  RxVerdict receive(std::span<const uint8_t> frame);
  // As by modify QP. To ERR: receives are flushed. To RESET: everything is forgotten.
  void set_state(QpState state);

  const std::vector<ResponsePacket>& responses() const { return responses_; }
  const std::vector<RecvCompletion>& completions() const { return completions_; }
  std::span<const uint8_t> payload(const ResponsePacket& r) const {
    return std::span<const uint8_t>(payload_).subspan(r.payload_at, r.payload_len);
  }
  void clear_outputs();

  QpState state() const { return state_; }
  uint32_t expected_psn() const { return epsn_; }
  uint32_t msn() const { return msn_; }
  size_t receives_posted() const { return recv_queue_.size(); }
  uint64_t count(RxVerdict v) const { return counts_[static_cast<size_t>(v)]; }

 private:
  enum class Open : uint8_t { kNone, kSend, kWrite };
  struct Saved {
    MsgKind kind = MsgKind::kNone;
    uint32_t first_psn = 0, last_psn = 0;
    uint64_t va = 0;
    uint32_t rkey = 0, length = 0;
    uint64_t original = 0;
  };

  RxVerdict classify(const FrameView& v);
  RxVerdict execute(const FrameView& v);
  RxVerdict execute_send(const FrameView& v);
  RxVerdict execute_write(const FrameView& v);
  RxVerdict execute_read(const FrameView& v);
  RxVerdict execute_atomic(const FrameView& v);
  RxVerdict duplicate(const FrameView& v);
  bool length_good(const FrameView& v) const;
  RxVerdict fatal(NakCode code);
  RxVerdict rnr();
  void acknowledge(uint32_t psn);
  void finish_message(const FrameView& v);
  void complete(WcStatus status, MsgKind kind, uint32_t byte_len, const FrameView& v);
  void flush();
  void respond_read(const MemoryRegion* region, uint64_t va, uint32_t length, uint32_t psn,
                    uint32_t total, uint32_t skip);
  void save(const Saved& s);

  ResponderConfig config_;
  RegionTable& regions_;
  QpState state_ = QpState::kRtr;
  uint32_t epsn_ = 0;
  uint32_t msn_ = 0;
  bool nak_sent_ = false;
  Open open_ = Open::kNone;
  // The message being received.
  uint64_t write_va_ = 0;
  uint32_t write_rkey_ = 0, write_length_ = 0, write_left_ = 0;
  uint32_t send_received_ = 0;
  std::deque<RecvRequest> recv_queue_;
  std::deque<Saved> saved_;
  std::vector<ResponsePacket> responses_;
  std::vector<RecvCompletion> completions_;
  std::vector<uint8_t> payload_;
  std::array<uint64_t, 32> counts_{};
};

// The frame of a response; addresses, QP and ports come from `base`.
FrameSpec to_frame_spec(const ResponsePacket& r, const FrameSpec& base);

// What a stream of ACKs and NAKs tells the requester, however they were coalesced.
class AckEffect {
 public:
  // Feeds one response of the responder.
  void add(uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t msn);
  void add(const FrameView& v) { add(v.opcode, v.psn, v.syndrome, v.msn); }

  struct Nak {
    uint32_t psn = 0;
    uint8_t syndrome = 0;
    bool operator==(const Nak&) const = default;
  };
  // The newest acknowledged PSN (implied by NAKs too), with its MSN.
  std::optional<uint32_t> acked_through;
  uint32_t msn = 0;
  std::vector<Nak> naks;  // in order; equal ones in a row count once

  // Empty when both say the same; otherwise the difference.
  std::string difference(const AckEffect& other) const;
};

}  // namespace rnic::roce
