// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/requester.hpp"

#include <algorithm>

#include "harness/roce/aeth.hpp"
#include "harness/roce/bytes.hpp"

namespace rnic::golden {

using roce::psn_add;
using roce::psn_diff;

const char* to_string(State s) {
  switch (s) {
    case State::kReset:
      return "RESET";
    case State::kInit:
      return "INIT";
    case State::kRtr:
      return "RTR";
    case State::kRts:
      return "RTS";
    case State::kSqd:
      return "SQD";
    case State::kSqe:
      return "SQE";
    case State::kErr:
      return "ERR";
  }
  return "?";
}

Requester::Requester(const QpConfig& config, Memory& memory) : config_(config), memory_(memory) {
  reset();
}

void Requester::reset() {
  queue_.clear();
  started_ = 0;
  blocked_ = draining_ = flushed_ = false;
  una_ = cursor_ = next_psn_ = sent_ = config_.sq_psn & roce::kPsnMask;
  since_ack_req_ = 0;
  implied_at_.reset();
  retries_left_ = config_.retry_cnt;
  rnr_left_ = config_.rnr_retry;
  deadline_ = kNever;
  rnr_until_ = 0;
  rnr_psn_.reset();
  fatal_ = Fatal::kNone;
}

bool Requester::post(const SendRequest& request) {
  if (queue_.size() >= config_.sq_depth) return false;
  Wqe w;
  w.req = request;
  w.length = is_atomic(request.verb) ? 8 : request.length();
  queue_.push_back(std::move(w));
  if (flushed_) flush();
  return true;
}

Status Requester::check(const Wqe& w) const {
  using roce::Transport;
  const Verb v = w.req.verb;
  if (v == Verb::kNop) return Status::kSuccess;
  if (v == Verb::kLocalInv) {
    const MemoryRegion* r = memory_.find(w.req.inv_key);
    return r != nullptr && r->pd == config_.pd && r->invalidatable ? Status::kSuccess
                                                                   : Status::kLocalOperation;
  }
  const bool plain = v == Verb::kSend || v == Verb::kSendImm;
  if (config_.transport == Transport::kUd) {
    if (!plain) return Status::kLocalOperation;
    if (w.length > config_.pmtu) return Status::kLocalLength;
  } else if (config_.transport == Transport::kUc) {
    if (!plain && !is_write(v)) return Status::kLocalOperation;
  }
  if (w.length > roce::kMaxMessage) return Status::kLocalLength;
  if (is_read_or_atomic(v)) {
    if (config_.max_rd_atomic == 0 || !w.req.inline_data.empty()) return Status::kLocalOperation;
    if (is_atomic(v) && w.req.length() != 8) return Status::kLocalLength;
  }
  if (!memory_.list_allowed(w.req.sges, config_.pd,
                            is_read_or_atomic(v) ? uint32_t{kLocalWrite} : 0u))
    return Status::kLocalProtection;
  return Status::kSuccess;
}

uint32_t Requester::reads_in_flight() const {
  uint32_t n = 0;
  for (size_t i = 0; i < started_; ++i) n += queue_[i].reads();
  return n;
}

Requester::Wqe* Requester::at_psn(uint32_t psn) {
  for (size_t i = 0; i < started_; ++i) {
    Wqe& w = queue_[i];
    if (w.psns != 0 && psn_diff(psn, w.first) >= 0 && psn_diff(psn, w.last) <= 0) return &w;
  }
  return nullptr;
}

// Gives PSNs to the next request of the queue, if it may start.
bool Requester::start_next() {
  for (;;) {
    if (started_ == queue_.size() || draining_ || blocked_) return false;
    Wqe& w = queue_[started_];
    const uint32_t reads = reads_in_flight();
    if (w.req.fence && reads != 0) return false;
    // A key is not taken away under requests that may still need it for a retransmission.
    if (w.req.verb == Verb::kLocalInv && started_ != 0) return false;
    w.local = check(w);
    if (w.local != Status::kSuccess) {
      ++started_;
      blocked_ = true;
      complete_front();
      return false;
    }
    if (is_local(w.req.verb)) {
      if (w.req.verb == Verb::kLocalInv) memory_.invalidate(w.req.inv_key, config_.pd);
      ++started_;
      complete_front();
      continue;
    }
    if (is_read_or_atomic(w.req.verb) && reads >= config_.max_rd_atomic) return false;
    w.psns = is_atomic(w.req.verb) ? 1 : roce::message_psns(w.length, config_.pmtu);
    w.first = next_psn_;
    w.last = psn_add(next_psn_, w.psns - 1);
    next_psn_ = psn_add(next_psn_, w.psns);
    ++started_;
    return true;
  }
}

void Requester::build(Wqe& w, uint32_t psn, Packet& out) {
  const auto index = static_cast<uint32_t>(psn_diff(psn, w.first));
  const bool last = psn == w.last || is_read_or_atomic(w.req.verb);
  const uint64_t offset = uint64_t{index} * config_.pmtu;
  out.spec = {};
  out.payload.clear();
  roce::FrameSpec& s = out.spec;
  s.opcode =
      roce::message_segment(kind_of(w.req.verb), w.length, config_.pmtu, index, config_.transport)
          .opcode;
  s.psn = psn;
  s.pkey = config_.pkey;
  s.dest_qp = config_.dest_qpn;
  s.mig_req = config_.mig_req;
  s.imm = w.req.imm;
  s.inv_rkey = w.req.inv_key;
  s.rkey = w.req.rkey;
  s.va = w.req.remote_va;
  s.dma_len = static_cast<uint32_t>(w.length);
  s.swap_add = w.req.swap_add;
  s.compare = w.req.verb == Verb::kCompareSwap ? w.req.compare : 0;
  s.solicited = w.req.solicited && last && takes_receive(w.req.verb);
  if (config_.transport == roce::Transport::kUd) {
    out.target = w.req.ud;
    s.dest_qp = w.req.ud.qpn;
    // The top bit stands for the QP's own key.
    s.qkey = (w.req.ud.qkey & 0x80000000u) != 0 ? config_.qkey : w.req.ud.qkey;
    s.src_qp = config_.qpn;
  }
  if (w.req.verb == Verb::kRead) {
    // From the first missing response on.
    s.va += offset;
    s.dma_len = static_cast<uint32_t>(w.length - offset);
  } else if (!is_atomic(w.req.verb)) {
    const uint64_t n = std::min<uint64_t>(config_.pmtu, w.length - offset);
    out.payload.resize(n);
    if (!w.req.inline_data.empty()) {
      std::copy_n(w.req.inline_data.begin() + static_cast<std::ptrdiff_t>(offset), n,
                  out.payload.begin());
    } else if (!memory_.gather(w.req.sges, config_.pd, offset, out.payload)) {
      out.payload.clear();
      w.local = Status::kLocalProtection;  // the key has gone since the first packet
      return;
    }
  }
  if (!rc()) return;
  ++since_ack_req_;
  const bool again = psn_diff(psn, sent_) < 0;
  const bool window_ends = psn_diff(psn_add(psn, 1), una_) >= int32_t(config_.requester.window);
  const bool more = started_ < queue_.size() && !queue_[started_].req.fence &&
                    !is_local(queue_[started_].req.verb);
  s.ack_req = (last && (config_.requester.ack_unsignaled || w.req.signaled || config_.sq_sig_all ||
                        again || !more)) ||
              is_read_or_atomic(w.req.verb) || window_ends ||
              (config_.requester.ack_every != 0 && since_ack_req_ >= config_.requester.ack_every);
  if (s.ack_req) since_ack_req_ = 0;
}

bool Requester::transmit(TimePs now, Packet& out) {
  if (flushed_ || fatal_ != Fatal::kNone || now < rnr_until_) return false;
  for (;;) {
    if (cursor_ == next_psn_ && !start_next()) return false;
    if (rc() && psn_diff(cursor_, una_) >= int32_t(config_.requester.window)) return false;
    Wqe* w = at_psn(cursor_);
    if (w == nullptr) return false;  // all of it has been acknowledged meanwhile
    build(*w, cursor_, out);
    if (w->local != Status::kSuccess) {
      // Only what came before it may still complete; its own error is reported at once otherwise.
      if (w == &queue_.front()) {
        fail(w->local);
      } else {
        blocked_ = true;
      }
      return false;
    }
    ++stats_.packets;
    if (psn_diff(cursor_, sent_) < 0) ++stats_.retransmitted;
    cursor_ = w->req.verb == Verb::kRead ? psn_add(w->last, 1) : psn_add(cursor_, 1);
    if (psn_diff(cursor_, sent_) > 0) sent_ = cursor_;
    if (rc()) {
      if (deadline_ == kNever) arm(now);
    } else {
      una_ = cursor_;  // nobody answers
      complete_front();
    }
    return true;
  }
}

TimePs Requester::timeout_ps() const {
  return (TimePs{4'096'000} << config_.timeout) / config_.time_scale;
}

void Requester::arm(TimePs now) {
  deadline_ = config_.timeout == 0 || una_ == sent_ ? kNever : now + timeout_ps();
}

TimePs Requester::wake() const {
  if (flushed_ || fatal_ != Fatal::kNone) return kNever;
  return rnr_psn_ ? rnr_until_ : deadline_;
}

void Requester::tick(TimePs now) {
  if (flushed_ || fatal_ != Fatal::kNone) return;
  if (rnr_psn_) {
    if (now < rnr_until_) return;  // the ACK timer stands still
    rnr_psn_.reset();
    arm(now);
    return;
  }
  if (now < deadline_) return;
  ++stats_.timeouts;
  if (retries_left_ == 0) return fail(Status::kRetryExceeded);
  --retries_left_;
  implied_at_.reset();
  cursor_ = una_;
  arm(now);
}

// A READ or ATOMIC whose answer was lost: asked for again, once, until something moves.
void Requester::implied_nak() {
  if (implied_at_ == una_) return;
  ++stats_.implied_naks;
  implied_at_ = una_;
  if (psn_diff(cursor_, una_) > 0) cursor_ = una_;
}

// Acknowledges SEND and WRITE packets before `end`. Stops at a READ or ATOMIC without answer; false
// when `end` lies behind all of it.
bool Requester::ack_before(uint32_t end) {
  while (psn_diff(end, una_) > 0) {
    Wqe* w = at_psn(una_);
    if (w == nullptr) break;
    if (w->reads()) return psn_diff(end, w->last) <= 0;
    una_ = psn_diff(end, w->last) > 0 ? psn_add(w->last, 1) : end;
    complete_front();
  }
  return true;
}

void Requester::progress_made(TimePs now) {
  retries_left_ = config_.retry_cnt;
  rnr_left_ = config_.rnr_retry;
  implied_at_.reset();
  if (psn_diff(una_, cursor_) > 0) cursor_ = una_;
  if (rnr_psn_ && psn_diff(una_, *rnr_psn_) > 0) {  // it was accepted after all
    rnr_psn_.reset();
    rnr_until_ = 0;
  }
  arm(now);
}

void Requester::response(TimePs now, const roce::FrameView& v) {
  if (flushed_ || fatal_ != Fatal::kNone || !rc()) return;
  // Only what has been sent and is not yet acknowledged can be answered.
  if (psn_diff(v.psn, una_) < 0 || psn_diff(v.psn, sent_) >= 0) {
    ++stats_.ghosts;
    return;
  }
  const uint32_t before = una_;
  switch (v.opcode) {
    case roce::kRcReadRespFirst:
    case roce::kRcReadRespMiddle:
    case roce::kRcReadRespLast:
    case roce::kRcReadRespOnly:
      read_response(now, v);
      break;
    case roce::kRcAtomicAck:
      atomic_response(now, v);
      break;
    case roce::kRcAcknowledge: {
      const auto kind = roce::aeth_kind(v.syndrome);
      const uint8_t code = roce::aeth_code(v.syndrome);
      if (kind == roce::AethKind::kAck) {
        if (!ack_before(psn_add(v.psn, 1))) {
          if (una_ != before) progress_made(now);
          implied_nak();
          return;
        }
        break;
      }
      if (kind == roce::AethKind::kReserved) break;
      if (kind == roce::AethKind::kNak && code > roce::kNakRemoteOperational) break;
      // Every NAK acknowledges what came before it.
      const bool all = ack_before(v.psn);
      if (una_ != before) progress_made(now);
      if (!all) return implied_nak();
      if (kind == roce::AethKind::kRnrNak) {
        if (rnr_psn_ == v.psn) break;
        ++stats_.rnr_naks;
        if (config_.rnr_retry != 7) {
          if (rnr_left_ == 0) return fail(Status::kRnrExceeded);
          --rnr_left_;
        }
        rnr_psn_ = v.psn;
        rnr_until_ = now + TimePs{roce::rnr_delay_us(code)} * 1'000'000 / config_.time_scale;
        cursor_ = v.psn;
        return;
      }
      if (code == roce::kNakSequence) {
        ++stats_.sequence_naks;
        if (psn_diff(v.psn, cursor_) >= 0) break;  // it will be sent anyway
        if (rnr_psn_) break;                       // and not before the wait is over
        if (retries_left_ == 0) return fail(Status::kRetryExceeded);
        --retries_left_;
        cursor_ = v.psn;
        arm(now);
        return;
      }
      if (at_psn(v.psn) == nullptr) break;
      fail(code == roce::kNakInvalidRequest ? Status::kRemoteInvalid
           : code == roce::kNakRemoteAccess ? Status::kRemoteAccess
                                            : Status::kRemoteOperation);
      return;
    }
    default:
      break;
  }
  if (una_ != before && fatal_ == Fatal::kNone) progress_made(now);
}

// The request that an answer belongs to, everything earlier acknowledged by it; none when an
// earlier answer is missing.
Requester::Wqe* Requester::answered(TimePs now, uint32_t psn) {
  Wqe* w = at_psn(psn);
  if (w == nullptr) return nullptr;
  const uint32_t before = una_;
  const bool all = ack_before(w->first);
  if (una_ != before) progress_made(now);
  if (all) return w;
  ++stats_.out_of_order_responses;
  implied_nak();
  return nullptr;
}

void Requester::read_response(TimePs now, const roce::FrameView& v) {
  Wqe* w = answered(now, v.psn);
  if (w == nullptr) return;
  if (w->req.verb != Verb::kRead) return fail(Status::kBadResponse);
  if (v.psn != una_) {
    if (psn_diff(v.psn, una_) > 0) {
      ++stats_.out_of_order_responses;
      implied_nak();
    }
    return;
  }
  const auto index = static_cast<uint32_t>(psn_diff(v.psn, w->first));
  const uint64_t offset = uint64_t{index} * config_.pmtu;
  const bool last = v.psn == w->last;
  const bool opcode_last = v.opcode == roce::kRcReadRespLast || v.opcode == roce::kRcReadRespOnly;
  if (last != opcode_last) return fail(Status::kBadResponse);
  const uint64_t expected = std::min<uint64_t>(config_.pmtu, w->length - offset);
  if (v.payload_len != expected) return fail(Status::kLocalLength);
  if (!memory_.scatter(w->req.sges, config_.pd, offset, v.payload()))
    return fail(Status::kLocalProtection);
  una_ = psn_add(una_, 1);
  if (last) complete_front();
}

void Requester::atomic_response(TimePs now, const roce::FrameView& v) {
  Wqe* w = answered(now, v.psn);
  if (w == nullptr) return;
  if (!is_atomic(w->req.verb)) return fail(Status::kBadResponse);
  uint8_t original[8];
  roce::store_le64(original, v.atomic_orig);  // host order in memory
  if (!memory_.scatter(w->req.sges, config_.pd, 0, original)) return fail(Status::kLocalProtection);
  una_ = psn_add(una_, 1);
  complete_front();
}

// Reports what is done at the front of the queue, in posting order.
void Requester::complete_front() {
  while (started_ != 0) {
    const Wqe& w = queue_.front();
    if (w.local != Status::kSuccess) return fail(w.local);
    if (w.psns != 0 && psn_diff(una_, w.last) <= 0) return;
    if (w.req.signaled || config_.sq_sig_all) {
      completions_.push_back(
          {.wr_id = w.req.wr_id, .verb = w.req.verb, .bytes = static_cast<uint32_t>(w.length)});
    }
    queue_.pop_front();
    --started_;
  }
}

void Requester::fail(Status status) {
  completions_.push_back(
      {.wr_id = queue_.front().req.wr_id, .status = status, .verb = queue_.front().req.verb});
  queue_.pop_front();
  fatal_ = rc() ? Fatal::kErr : Fatal::kSqe;
  flush();
}

void Requester::flush() {
  for (const Wqe& w : queue_) {
    completions_.push_back({.wr_id = w.req.wr_id, .status = Status::kFlushed, .verb = w.req.verb});
  }
  queue_.clear();
  started_ = 0;
  flushed_ = true;
  deadline_ = kNever;
  rnr_psn_.reset();
  rnr_until_ = 0;
}

void Requester::clear_sqe() {
  if (fatal_ != Fatal::kSqe) return;
  fatal_ = Fatal::kNone;
  flushed_ = blocked_ = false;
  una_ = cursor_ = next_psn_ = sent_ = next_psn_;
}

std::string Requester::text() const {
  const auto n = [](uint64_t v) { return std::to_string(v); };
  return n(queue_.size()) + " posted, " + n(started_) + " started, PSN oldest " + n(una_) +
         " cursor " + n(cursor_) + " next " + n(next_psn_) + ", " + n(stats_.packets) +
         " packets, " + n(stats_.retransmitted) + " again, " + n(stats_.timeouts) + " time-outs, " +
         n(stats_.sequence_naks) + " sequence NAKs, " + n(stats_.rnr_naks) + " not ready, " +
         n(stats_.implied_naks) + " implied NAKs";
}

}  // namespace rnic::golden
