// SPDX-License-Identifier: Apache-2.0
// Requester half of a golden QP (fact sheet section 3): work requests to packets, answers to
// completions; window, retries, timers.
//
// Time comes from outside: tick() at least at wake(), transmit() whenever the wire has room.
// Retransmission reads the payload again from memory, as the responder executes a packet only once.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "harness/golden/memory.hpp"
#include "harness/golden/qp_config.hpp"

namespace rnic::golden {

struct RequesterStats {
  uint64_t packets = 0, retransmitted = 0;
  uint64_t timeouts = 0, sequence_naks = 0, rnr_naks = 0, implied_naks = 0;
  uint64_t ghosts = 0, out_of_order_responses = 0;
};

class Requester {
 public:
  Requester(const QpConfig& config, Memory& memory);

  bool post(const SendRequest& request);
  // A response packet of this QP: ACK, NAK, READ response, ATOMIC response.
  void response(TimePs now, const roce::FrameView& v);
  // Timers.
  void tick(TimePs now);
  // The next packet, if one may be sent now.
  bool transmit(TimePs now, Packet& out);
  // When tick() has something to do, or transmit() may succeed without further input.
  TimePs wake() const;

  // Starts nothing new (SQD), or goes on.
  void set_draining(bool on) { draining_ = on; }
  bool drained() const { return started_ == 0; }
  // Everything posted is flushed, in order; later posts as well.
  void flush();
  void reset();

  std::deque<Completion>& completions() { return completions_; }
  Fatal fatal() const { return fatal_; }
  void clear_sqe();  // SQE -> RTS
  const RequesterStats& stats() const { return stats_; }
  size_t posted() const { return queue_.size(); }
  std::string text() const;

 private:
  struct Wqe {
    SendRequest req;
    uint64_t length = 0;
    uint32_t psns = 0;  // 0: nothing goes on the wire
    uint32_t first = 0, last = 0;
    Status local = Status::kSuccess;  // why it cannot be executed
    bool reads() const { return is_read_or_atomic(req.verb) && psns != 0; }
  };

  Status check(const Wqe& w) const;
  bool start_next();
  void build(Wqe& w, uint32_t psn, Packet& out);
  Wqe* at_psn(uint32_t psn);
  uint32_t reads_in_flight() const;
  bool ack_before(uint32_t end);
  void progress_made(TimePs now);
  void implied_nak();
  Wqe* answered(TimePs now, uint32_t psn);
  void read_response(TimePs now, const roce::FrameView& v);
  void atomic_response(TimePs now, const roce::FrameView& v);
  void complete_front();
  void fail(Status status);
  void arm(TimePs now);
  bool rc() const { return config_.transport == roce::Transport::kRc; }
  TimePs timeout_ps() const;

  QpConfig config_;
  Memory& memory_;
  std::deque<Wqe> queue_;
  size_t started_ = 0;    // of the queue, from its front: have PSNs, or are local
  bool blocked_ = false;  // a request that cannot be executed waits for those before it
  bool draining_ = false;
  uint32_t una_ = 0;       // oldest PSN that is not acknowledged (READ: whose response is missing)
  uint32_t cursor_ = 0;    // next PSN to send
  uint32_t next_psn_ = 0;  // next PSN to give to a request
  uint32_t sent_ = 0;      // one behind the newest PSN ever sent
  uint32_t since_ack_req_ = 0;
  std::optional<uint32_t> implied_at_;  // restarted there already
  uint32_t retries_left_ = 0, rnr_left_ = 0;
  TimePs deadline_ = kNever;  // local ACK timer
  TimePs rnr_until_ = 0;      // nothing is sent before
  std::optional<uint32_t> rnr_psn_;
  Fatal fatal_ = Fatal::kNone;
  bool flushed_ = false;
  std::deque<Completion> completions_;
  RequesterStats stats_;
};

}  // namespace rnic::golden
