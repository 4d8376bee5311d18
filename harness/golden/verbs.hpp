// SPDX-License-Identifier: Apache-2.0
// Verbs as programs see them: requests, completions, and the interface of whoever executes them
// (the golden endpoint, or a NIC behind its driver).
//
//   ep.post_send(qp, {.wr_id = 1, .verb = Verb::kWrite, .sges = {{key, 4096, va}},
//                     .remote_va = there, .rkey = rkey});
//   while (auto c = ep.poll(qp)) use(*c);
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/roce/opcode.hpp"

namespace rnic::golden {

enum class Verb : uint8_t {
  kNop,
  kSend,
  kSendImm,
  kSendInv,
  kWrite,
  kWriteImm,
  kRead,
  kCompareSwap,
  kFetchAdd,
  kLocalInv,
};
const char* to_string(Verb v);
constexpr bool is_send(Verb v) {
  return v == Verb::kSend || v == Verb::kSendImm || v == Verb::kSendInv;
}
constexpr bool is_write(Verb v) { return v == Verb::kWrite || v == Verb::kWriteImm; }
constexpr bool is_atomic(Verb v) { return v == Verb::kCompareSwap || v == Verb::kFetchAdd; }
// Answered by data: counts against max_rd_atomic, and a fence waits for it.
constexpr bool is_read_or_atomic(Verb v) { return v == Verb::kRead || is_atomic(v); }
// Executed without a packet.
constexpr bool is_local(Verb v) { return v == Verb::kNop || v == Verb::kLocalInv; }
// Takes a receive of the peer.
constexpr bool takes_receive(Verb v) { return is_send(v) || v == Verb::kWriteImm; }

// What its packets are on the wire; kNone for local ones.
constexpr roce::MsgKind kind_of(Verb v) {
  switch (v) {
    case Verb::kSend:
      return roce::MsgKind::kSend;
    case Verb::kSendImm:
      return roce::MsgKind::kSendImm;
    case Verb::kSendInv:
      return roce::MsgKind::kSendInv;
    case Verb::kWrite:
      return roce::MsgKind::kWrite;
    case Verb::kWriteImm:
      return roce::MsgKind::kWriteImm;
    case Verb::kRead:
      return roce::MsgKind::kReadRequest;
    case Verb::kCompareSwap:
      return roce::MsgKind::kCompareSwap;
    case Verb::kFetchAdd:
      return roce::MsgKind::kFetchAdd;
    case Verb::kNop:
    case Verb::kLocalInv:
      break;
  }
  return roce::MsgKind::kNone;
}

struct Sge {
  uint32_t lkey = 0;
  uint32_t length = 0;
  uint64_t va = 0;
};

// Addressing of one UD message.
struct UdTarget {
  std::array<uint8_t, 6> mac{};
  std::array<uint8_t, 16> ip{};
  uint32_t qpn = 0, qkey = 0;
};

struct SendRequest {
  uint64_t wr_id = 0;
  Verb verb = Verb::kWrite;
  std::vector<Sge> sges{};
  std::vector<uint8_t> inline_data{};  // instead of sges when not empty
  uint64_t remote_va = 0;
  uint32_t rkey = 0;
  uint32_t imm = 0;      // first wire byte highest
  uint32_t inv_key = 0;  // SEND with invalidate: the peer's key; local invalidate: one of ours
  uint64_t swap_add = 0, compare = 0;
  bool signaled = true, solicited = false, fence = false;
  UdTarget ud{};

  uint64_t length() const {
    uint64_t n = inline_data.size();
    for (const Sge& s : sges) n += s.length;
    return n;
  }
};

struct RecvRequest {
  uint64_t wr_id = 0;
  std::vector<Sge> sges{};

  uint64_t room() const {
    uint64_t n = 0;
    for (const Sge& s : sges) n += s.length;
    return n;
  }
};

// The order of the completion statuses that applications know.
enum class Status : uint8_t {
  kSuccess,
  kLocalLength,
  kLocalOperation,
  kLocalProtection,
  kFlushed,
  kBadResponse,
  kRemoteInvalid,
  kRemoteAccess,
  kRemoteOperation,
  kRetryExceeded,
  kRnrExceeded,
};
const char* to_string(Status s);

struct Completion {
  uint64_t wr_id = 0;
  bool receive = false;
  Status status = Status::kSuccess;
  Verb verb = Verb::kNop;  // of a receive: what the peer did (kSend, kSendImm, kSendInv, kWriteImm)
  uint32_t bytes = 0;      // of a receive; of a send side when the executor reports it
  uint32_t imm = 0, inv_key = 0;
  bool solicited = false;
  uint32_t src_qp = 0;  // UD
};

enum Access : uint32_t {
  kLocalWrite = 1,
  kRemoteWrite = 2,
  kRemoteRead = 4,
  kRemoteAtomic = 8,
  kAccessAll = 15,
};

struct Region {
  uint32_t key = 0;
  uint64_t va = 0;
  uint64_t length = 0;
};

// One end of one or several connected QPs, numbered from 0 by the executor.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  virtual std::string name() const = 0;

  // Registered memory. `invalidatable`: a SEND with invalidate or a local invalidate may take the
  // key away.
  virtual Region add_region(uint64_t length, uint32_t access, bool invalidatable) = 0;
  virtual void write_memory(const Region& r, uint64_t offset, std::span<const uint8_t> bytes) = 0;
  virtual void read_memory(const Region& r, uint64_t offset, std::span<uint8_t> bytes) = 0;

  // False when the queue has no room; nothing was posted then.
  virtual bool post_send(uint32_t qp, const SendRequest& request) = 0;
  virtual bool post_recv(uint32_t qp, const RecvRequest& request) = 0;
  virtual std::optional<Completion> poll(uint32_t qp) = 0;
  // How a peer addresses this QP, if it is UD.
  virtual UdTarget ud_target(uint32_t qp) {
    (void)qp;
    return {};
  }
  // After a run that went wrong: what the QP knows, one line.
  virtual std::string state_of(uint32_t qp) = 0;
};

}  // namespace rnic::golden
