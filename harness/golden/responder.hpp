// SPDX-License-Identifier: Apache-2.0
// Responder half of a golden QP (fact sheet section 4): request packets to memory, completions and
// answers. RC, UC and UD.
//
// The NIC has already dropped what fails iCRC, version, QP number, transport, addresses or P_Key.
// Answers wait in one queue in PSN order; READ data are read, and their key looked up, when the
// packet leaves.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "harness/golden/memory.hpp"
#include "harness/golden/qp_config.hpp"

namespace rnic::golden {

struct ResponderStats {
  uint64_t executed = 0, duplicates = 0, gaps = 0, dropped = 0;
  uint64_t acks = 0, sequence_naks = 0, rnr_naks = 0, fatal_naks = 0;
};

class Responder {
 public:
  enum class Open : uint8_t { kNone, kSend, kWrite };
  // Where it is in the stream of requests.
  struct Progress {
    uint32_t expected_psn = 0;
    Open open = Open::kNone;  // the message whose next packet is due
    uint32_t write_left = 0;
  };

  Responder(const QpConfig& config, Memory& memory);

  bool post(const RecvRequest& request);
  // One request packet. `status` is kOk or kUnknownOpcode.
  void request(TimePs now, const roce::FrameView& v, roce::ParseStatus status);
  // The next answer, if one may leave now.
  bool transmit(TimePs now, Packet& out);
  TimePs wake() const;

  // Receives are flushed; answers that wait leave only when `keep_answers` (ERR by an own NAK).
  void flush(bool keep_answers);
  void reset();

  std::deque<Completion>& completions() { return completions_; }
  Fatal fatal() const { return fatal_; }
  bool established() const { return established_; }  // something has arrived
  const ResponderStats& stats() const { return stats_; }
  uint32_t expected_psn() const { return epsn_; }
  Progress progress() const { return {epsn_, open_, write_left_}; }
  size_t posted() const { return receives_.size(); }
  std::string text() const;

 private:
  enum class Kind : uint8_t { kAck, kNak, kRead, kAtomic };
  struct Answer {
    Kind kind = Kind::kAck;
    uint32_t psn = 0;
    uint8_t syndrome = 0;
    uint32_t msn = 0;
    uint64_t original = 0;  // ATOMIC
    // READ: what is left of it
    uint64_t va = 0;
    uint32_t key = 0, left = 0;
    uint32_t at = 0, count = 0;  // packet of the answer as its opcodes count
    bool first_time = false;     // not a repetition: holds a slot of max_dest_rd_atomic
    // ACK
    TimePs due = 0;
    uint32_t merged = 1;
  };
  struct Saved {
    roce::MsgKind kind = roce::MsgKind::kNone;
    uint32_t first = 0, last = 0;
    uint64_t va = 0;
    uint32_t key = 0, length = 0;
    uint64_t original = 0;
  };

  void rc_request(TimePs now, const roce::FrameView& v, bool known);
  void uc_request(const roce::FrameView& v);
  void ud_request(const roce::FrameView& v);
  void duplicate(TimePs now, const roce::FrameView& v, bool known);
  bool opcode_fits(const roce::OpcodeInfo& info) const;
  bool not_ready(const roce::OpcodeInfo& info) const;
  bool access_enabled(const roce::OpcodeInfo& info) const;
  bool length_good(const roce::FrameView& v) const;
  // Executes the payload of a SEND or WRITE; kNone when all went well.
  enum class Bad : uint8_t { kNone, kInvalid, kAccess, kOperational };
  Bad place_send(const roce::FrameView& v);
  Bad place_write(const roce::FrameView& v);
  void execute_read(const roce::FrameView& v);
  void execute_atomic(const roce::FrameView& v);
  void end_of_message(const roce::FrameView& v);
  void nak(const roce::FrameView& v, uint8_t code);
  void acknowledge(TimePs now, uint32_t psn);
  void receive_done(const roce::FrameView& v, Status status, uint32_t bytes);
  void save(const Saved& s);
  bool rc() const { return config_.transport == roce::Transport::kRc; }

  QpConfig config_;
  Memory& memory_;
  uint32_t epsn_ = 0;
  uint32_t msn_ = 0;
  bool nak_sent_ = false;  // a gap or not-ready is reported: silence until the expected PSN comes
  bool rnr_sent_ = false;
  Open open_ = Open::kNone;
  bool skip_message_ = false;  // UC: its beginning was lost or refused
  uint64_t write_va_ = 0;
  uint32_t write_key_ = 0, write_length_ = 0, write_left_ = 0;
  uint32_t send_bytes_ = 0;
  std::deque<RecvRequest> receives_;
  std::deque<Saved> saved_;
  std::deque<Answer> answers_;
  std::deque<Completion> completions_;
  Fatal fatal_ = Fatal::kNone;
  bool flushed_ = false, established_ = false;
  ResponderStats stats_;
};

}  // namespace rnic::golden
