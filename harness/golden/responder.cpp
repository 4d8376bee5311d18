// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/responder.hpp"

#include <algorithm>

#include "harness/roce/aeth.hpp"
#include "harness/roce/bytes.hpp"

namespace rnic::golden {

using roce::AethKind;
using roce::FrameView;
using roce::MsgKind;
using roce::OpcodeInfo;
using roce::psn_add;
using roce::psn_diff;
using roce::psn_sub;

namespace {

constexpr uint32_t kGrhBytes = 40;

Verb verb_of(MsgKind k) {
  switch (k) {
    case MsgKind::kSendImm:
      return Verb::kSendImm;
    case MsgKind::kSendInv:
      return Verb::kSendInv;
    case MsgKind::kWriteImm:
      return Verb::kWriteImm;
    default:
      return Verb::kSend;
  }
}

}  // namespace

Responder::Responder(const QpConfig& config, Memory& memory) : config_(config), memory_(memory) {
  reset();
}

void Responder::reset() {
  epsn_ = config_.rq_psn & roce::kPsnMask;
  msn_ = 0;
  nak_sent_ = rnr_sent_ = skip_message_ = flushed_ = established_ = false;
  open_ = Open::kNone;
  receives_.clear();
  saved_.clear();
  answers_.clear();
  fatal_ = Fatal::kNone;
}

bool Responder::post(const RecvRequest& request) {
  if (flushed_) {
    completions_.push_back({.wr_id = request.wr_id, .receive = true, .status = Status::kFlushed});
    return true;
  }
  if (receives_.size() >= config_.rq_depth) return false;
  receives_.push_back(request);
  return true;
}

void Responder::flush(bool keep_answers) {
  for (const RecvRequest& r : receives_)
    completions_.push_back({.wr_id = r.wr_id, .receive = true, .status = Status::kFlushed});
  receives_.clear();
  if (!keep_answers) answers_.clear();
  flushed_ = true;
}

void Responder::request(TimePs now, const FrameView& v, roce::ParseStatus status) {
  if (flushed_) {
    ++stats_.dropped;
    return;
  }
  const bool known = status == roce::ParseStatus::kOk && v.info().known && v.info().is_request;
  if (config_.transport == roce::Transport::kRc) {
    rc_request(now, v, known);
  } else if (!known) {
    ++stats_.dropped;
  } else if (config_.transport == roce::Transport::kUc) {
    uc_request(v);
  } else {
    ud_request(v);
  }
}

// -------------------------------------------------------------------------------------------------
// RC
void Responder::rc_request(TimePs now, const FrameView& v, bool known) {
  established_ = true;
  const int32_t ahead = psn_diff(v.psn, epsn_);
  if (ahead < 0) return duplicate(now, v, known);
  if (ahead > 0) {
    ++stats_.gaps;
    if (nak_sent_ && !(rnr_sent_ && config_.responder.nak_gap_after_rnr)) return;
    nak_sent_ = true;
    rnr_sent_ = false;
    ++stats_.sequence_naks;
    answers_.push_back({.kind = Kind::kNak,
                        .psn = epsn_,
                        .syndrome = roce::make_syndrome(AethKind::kNak, roce::kNakSequence),
                        .msn = msn_});
    return;
  }
  nak_sent_ = rnr_sent_ = false;

  if (!known) return nak(v, roce::kNakInvalidRequest);
  const OpcodeInfo& info = v.info();
  if (!opcode_fits(info)) return nak(v, roce::kNakInvalidRequest);
  if (!access_enabled(info)) return nak(v, roce::kNakInvalidRequest);
  // Resources
  if (not_ready(info)) {
    ++stats_.rnr_naks;
    nak_sent_ = rnr_sent_ = true;
    answers_.push_back({.kind = Kind::kNak,
                        .psn = v.psn,
                        .syndrome = roce::make_syndrome(AethKind::kRnrNak, config_.min_rnr_timer),
                        .msn = msn_});
    return;
  }
  const bool reads = info.kind == MsgKind::kReadRequest || is_atomic(info.kind);
  if (reads) {
    uint32_t waiting = 0;
    for (const Answer& a : answers_) waiting += a.first_time;
    if (waiting >= config_.max_dest_rd_atomic) return nak(v, roce::kNakInvalidRequest);
  }
  if (!length_good(v)) return nak(v, roce::kNakInvalidRequest);

  if (info.kind == MsgKind::kReadRequest) return execute_read(v);
  if (is_atomic(info.kind)) return execute_atomic(v);
  switch (is_send(info.kind) ? place_send(v) : place_write(v)) {
    case Bad::kNone:
      break;
    case Bad::kInvalid:
      return nak(v, roce::kNakInvalidRequest);
    case Bad::kAccess:
      return nak(v, roce::kNakRemoteAccess);
    case Bad::kOperational:
      return nak(v, roce::kNakRemoteOperational);
  }
  ++stats_.executed;
  const uint32_t psn = v.psn;
  epsn_ = psn_add(epsn_, 1);
  if (info.is_last) {
    if (info.kind == MsgKind::kSendInv && !memory_.invalidate(v.inv_rkey, config_.pd)) {
      receive_done(v, Status::kRemoteInvalid, 0);
      if (config_.responder.ack_failed_invalidate) {
        acknowledge(now, psn);
        fatal_ = Fatal::kErr;
        return;
      }
      epsn_ = psn;
      return nak(v, roce::kNakRemoteOperational);
    }
    end_of_message(v);
  }
  if (v.ack_req) acknowledge(now, psn);
}

void Responder::end_of_message(const FrameView& v) {
  const MsgKind kind = v.info().kind;
  msn_ = (msn_ + 1) & roce::kPsnMask;
  if (is_send(kind)) receive_done(v, Status::kSuccess, send_bytes_);
  if (kind == MsgKind::kWriteImm) receive_done(v, Status::kSuccess, write_length_);
}

void Responder::receive_done(const FrameView& v, Status status, uint32_t bytes) {
  if (receives_.empty()) return;
  const MsgKind kind = v.info().kind;
  completions_.push_back({.wr_id = receives_.front().wr_id,
                          .receive = true,
                          .status = status,
                          .verb = verb_of(kind),
                          .bytes = bytes,
                          .imm = (v.info().ext & roce::kExtImm) != 0 ? v.imm : 0,
                          .inv_key = kind == MsgKind::kSendInv ? v.inv_rkey : 0,
                          .solicited = v.solicited,
                          .src_qp = v.src_qp});
  receives_.pop_front();
}

bool Responder::opcode_fits(const OpcodeInfo& info) const {
  switch (open_) {
    case Open::kNone:
      return info.is_first;
    case Open::kSend:
      return is_send(info.kind) && !info.is_first;
    case Open::kWrite:
      return is_write(info.kind) && !info.is_first;
  }
  return false;
}

// The message that begins, or the WRITE with immediate that ends, takes a receive, and there is
// none.
bool Responder::not_ready(const OpcodeInfo& info) const {
  const bool takes =
      (is_send(info.kind) && info.is_first) || (info.kind == MsgKind::kWriteImm && info.is_last);
  return takes && receives_.empty();
}

bool Responder::access_enabled(const OpcodeInfo& info) const {
  if (is_write(info.kind)) return (config_.access & kRemoteWrite) != 0;
  if (info.kind == MsgKind::kReadRequest) return (config_.access & kRemoteRead) != 0;
  if (is_atomic(info.kind)) return (config_.access & kRemoteAtomic) != 0;
  return true;
}

bool Responder::length_good(const FrameView& v) const {
  const OpcodeInfo& info = v.info();
  const uint32_t n = v.payload_len;
  if (v.pad != roce::pad_of(n)) return false;
  // FIRST and MIDDLE are full; LAST is not empty; READ and ATOMIC requests carry nothing.
  if (info.kind == MsgKind::kReadRequest || is_atomic(info.kind)) {
    if (n != 0) return false;
  } else if (!info.is_last) {
    if (n != config_.pmtu) return false;
  } else {
    if (n > config_.pmtu || (n == 0 && !info.is_first)) return false;
  }
  if ((info.ext & roce::kExtReth) != 0 && v.dma_len > roce::kMaxMessage) return false;
  if (is_write(info.kind)) {
    const uint32_t left = info.is_first ? v.dma_len : write_left_;
    if (n > left || (info.is_last && n < left)) return false;
  }
  return !is_atomic(info.kind) || (v.va & 7) == 0;
}

Responder::Bad Responder::place_send(const FrameView& v) {
  const OpcodeInfo& info = v.info();
  const RecvRequest& r = receives_.front();
  if (info.is_first) send_bytes_ = 0;
  if (uint64_t{send_bytes_} + v.payload_len > r.room()) {
    receive_done(v, Status::kLocalLength, 0);
    return Bad::kInvalid;
  }
  if (!memory_.scatter(r.sges, config_.pd, send_bytes_, v.payload())) {
    receive_done(v, Status::kLocalProtection, 0);
    return Bad::kOperational;
  }
  send_bytes_ += v.payload_len;
  open_ = info.is_last ? Open::kNone : Open::kSend;
  return Bad::kNone;
}

Responder::Bad Responder::place_write(const FrameView& v) {
  const OpcodeInfo& info = v.info();
  if (info.is_first) {
    write_va_ = v.va;
    write_key_ = v.rkey;
    write_length_ = write_left_ = v.dma_len;
  }
  // The whole rest of the message must be allowed, at its first packet and at each later one. A
  // message without bytes is not checked.
  if (write_length_ != 0 &&
      !memory_.allowed(write_key_, config_.pd, kRemoteWrite, write_va_, write_left_)) {
    return Bad::kAccess;
  }
  if (v.payload_len != 0) memory_.write(write_key_, write_va_, v.payload());
  write_va_ += v.payload_len;
  write_left_ -= v.payload_len;
  open_ = info.is_last ? Open::kNone : Open::kWrite;
  return Bad::kNone;
}

void Responder::execute_read(const FrameView& v) {
  if (v.dma_len != 0 && !memory_.allowed(v.rkey, config_.pd, kRemoteRead, v.va, v.dma_len))
    return nak(v, roce::kNakRemoteAccess);
  ++stats_.executed;
  const uint32_t count = roce::message_psns(v.dma_len, config_.pmtu);
  msn_ = (msn_ + 1) & roce::kPsnMask;
  epsn_ = psn_add(epsn_, count);
  save({.kind = MsgKind::kReadRequest,
        .first = v.psn,
        .last = psn_add(v.psn, count - 1),
        .va = v.va,
        .key = v.rkey,
        .length = v.dma_len});
  answers_.push_back({.kind = Kind::kRead,
                      .psn = v.psn,
                      .syndrome = config_.responder.ack_syndrome,
                      .msn = msn_,
                      .va = v.va,
                      .key = v.rkey,
                      .left = v.dma_len,
                      .count = count,
                      .first_time = true});
}

void Responder::execute_atomic(const FrameView& v) {
  if (!memory_.allowed(v.rkey, config_.pd, kRemoteAtomic, v.va, 8))
    return nak(v, roce::kNakRemoteAccess);
  ++stats_.executed;
  uint8_t word[8];
  memory_.read(v.rkey, v.va, word);
  const uint64_t original = roce::load_le64(word);
  const bool add = v.info().kind == MsgKind::kFetchAdd;
  if (add || original == v.compare) {
    roce::store_le64(word, add ? original + v.swap_add : v.swap_add);
    memory_.write(v.rkey, v.va, word);
  }
  msn_ = (msn_ + 1) & roce::kPsnMask;
  epsn_ = psn_add(epsn_, 1);
  save({.kind = v.info().kind,
        .first = v.psn,
        .last = v.psn,
        .va = v.va,
        .key = v.rkey,
        .length = 8,
        .original = original});
  answers_.push_back({.kind = Kind::kAtomic,
                      .psn = v.psn,
                      .syndrome = config_.responder.ack_syndrome,
                      .msn = msn_,
                      .original = original,
                      .first_time = true});
}

void Responder::save(const Saved& s) {
  saved_.push_back(s);
  while (saved_.size() > std::max<uint32_t>(1, config_.max_dest_rd_atomic)) saved_.pop_front();
}

// A request that has been executed before. Nothing in it can be refused any more.
void Responder::duplicate(TimePs now, const FrameView& v, bool known) {
  if (!known) {
    ++stats_.dropped;
    return;
  }
  const OpcodeInfo& info = v.info();
  ++stats_.duplicates;
  if (is_send(info.kind) || is_write(info.kind)) {
    if (v.ack_req || config_.responder.ack_every_duplicate) acknowledge(now, psn_sub(epsn_, 1));
    return;
  }
  for (auto s = saved_.rbegin(); s != saved_.rend(); ++s) {
    if (psn_diff(v.psn, s->first) < 0 || psn_diff(v.psn, s->last) > 0) continue;
    if (s->kind != info.kind || v.rkey != s->key) break;
    if (is_atomic(info.kind)) {
      if (v.va != s->va) break;
      answers_.push_back({.kind = Kind::kAtomic,
                          .psn = v.psn,
                          .syndrome = config_.responder.ack_syndrome,
                          .msn = msn_,
                          .original = s->original});
      return;
    }
    // Some tail of the READ, cut at a packet; its key must still be good.
    const auto skipped = static_cast<uint32_t>(psn_diff(v.psn, s->first));
    const uint64_t bytes = uint64_t{skipped} * config_.pmtu;
    if (v.va != s->va + bytes || uint64_t{v.dma_len} + bytes != s->length) break;
    if (v.dma_len != 0 && !memory_.allowed(v.rkey, config_.pd, kRemoteRead, v.va, v.dma_len)) break;
    const uint32_t rest = roce::message_psns(v.dma_len, config_.pmtu);
    const bool resume = config_.responder.resume_read_in_middle;
    answers_.push_back({.kind = Kind::kRead,
                        .psn = v.psn,
                        .syndrome = config_.responder.ack_syndrome,
                        .msn = msn_,
                        .va = v.va,
                        .key = v.rkey,
                        .left = v.dma_len,
                        .at = resume ? skipped : 0,
                        .count = resume ? skipped + rest : rest});
    return;
  }
  ++stats_.dropped;
}

void Responder::nak(const FrameView& v, uint8_t code) {
  ++stats_.fatal_naks;
  answers_.push_back({.kind = Kind::kNak,
                      .psn = v.psn,
                      .syndrome = roce::make_syndrome(AethKind::kNak, code),
                      .msn = msn_});
  fatal_ = Fatal::kErr;
}

void Responder::acknowledge(TimePs now, uint32_t psn) {
  if (!answers_.empty() && answers_.back().kind == Kind::kAck) {
    Answer& a = answers_.back();  // it has not left yet: one says both
    if (psn_diff(psn, a.psn) > 0) a.psn = psn;
    a.msn = msn_;
    ++a.merged;
    return;
  }
  answers_.push_back({.kind = Kind::kAck,
                      .psn = psn,
                      .syndrome = config_.responder.ack_syndrome,
                      .msn = msn_,
                      .due = now + config_.responder.ack_delay_ps});
}

TimePs Responder::wake() const {
  if (answers_.empty()) return kNever;
  const Answer& a = answers_.front();
  if (a.kind != Kind::kAck || answers_.size() > 1 || a.merged >= config_.responder.ack_count)
    return 0;
  return a.due;
}

bool Responder::transmit(TimePs now, Packet& out) {
  if (wake() > now) return false;
  Answer& a = answers_.front();
  out.spec = {};
  out.payload.clear();
  out.spec.psn = a.psn;
  out.spec.pkey = config_.pkey;
  out.spec.dest_qp = config_.dest_qpn;
  out.spec.mig_req = config_.mig_req;
  out.spec.syndrome = a.syndrome;
  out.spec.msn = a.msn;
  out.spec.opcode = roce::kRcAcknowledge;
  if (a.kind == Kind::kAtomic) {
    out.spec.opcode = roce::kRcAtomicAck;
    out.spec.atomic_orig = a.original;
  }
  if (a.kind == Kind::kRead) {
    const uint32_t n = std::min(a.left, config_.pmtu);
    if (a.left != 0 && !memory_.allowed(a.key, config_.pd, kRemoteRead, a.va, a.left)) {
      // The region has gone in the middle of the answer: it ends here, and so does the QP.
      out.spec.syndrome = roce::make_syndrome(AethKind::kNak, roce::kNakRemoteAccess);
      ++stats_.fatal_naks;
      fatal_ = Fatal::kErr;
      answers_.clear();
      return true;
    }
    const bool first = a.at == 0, last = a.at + 1 == a.count;
    out.spec.opcode = first  ? (last ? roce::kRcReadRespOnly : roce::kRcReadRespFirst)
                      : last ? roce::kRcReadRespLast
                             : roce::kRcReadRespMiddle;
    out.payload.resize(n);
    if (n != 0) memory_.read(a.key, a.va, out.payload);
    a.va += n;
    a.left -= n;
    a.psn = psn_add(a.psn, 1);
    ++a.at;
    if (!last) return true;
  }
  if (a.kind == Kind::kAck) ++stats_.acks;
  answers_.pop_front();
  return true;
}

// -------------------------------------------------------------------------------------------------
// UC: nothing is answered. A message with a hole, or one that is refused, is forgotten; the next
// one that begins is taken.
void Responder::uc_request(const FrameView& v) {
  established_ = true;
  const OpcodeInfo& info = v.info();
  const auto forget = [&] {
    ++stats_.dropped;
    open_ = Open::kNone;
    skip_message_ = !info.is_last;
  };
  const bool gap = v.psn != epsn_;
  epsn_ = psn_add(v.psn, 1);
  if (gap) {
    ++stats_.gaps;
    open_ = Open::kNone;  // its receive, if it had one, serves the next message
    skip_message_ = !info.is_first;
  }
  if (info.is_first) {
    open_ = Open::kNone;
    skip_message_ = false;
  }
  if (skip_message_) return forget();
  if (!opcode_fits(info) || !access_enabled(info)) return forget();
  if (not_ready(info)) return forget();
  if (!length_good(v)) return forget();
  if (is_send(info.kind)) {
    const uint64_t before = info.is_first ? 0 : send_bytes_;
    if (before + v.payload_len > receives_.front().room()) return forget();
    if (place_send(v) != Bad::kNone) return forget();
  } else if (place_write(v) != Bad::kNone) {
    return forget();
  }
  ++stats_.executed;
  if (info.is_last) end_of_message(v);
}

// UD: one packet is one message. 40 bytes for the IP header come before its payload in the receive
// buffer: an IPv6 header whole, an IPv4 header behind 20 zero bytes.
void Responder::ud_request(const FrameView& v) {
  established_ = true;
  if (v.qkey != config_.qkey || receives_.empty() || v.payload_len > config_.pmtu ||
      v.pad != roce::pad_of(v.payload_len)) {
    ++stats_.dropped;
    return;
  }
  const RecvRequest& r = receives_.front();
  if (uint64_t{kGrhBytes} + v.payload_len > r.room()) {
    ++stats_.dropped;
    return;
  }
  std::array<uint8_t, kGrhBytes> grh{};
  const uint32_t header = v.ipv6 ? 40 : 20;
  std::copy_n(v.bytes.begin() + v.l3_offset, header, grh.begin() + (kGrhBytes - header));
  if (!memory_.scatter(r.sges, config_.pd, 0, grh) ||
      !memory_.scatter(r.sges, config_.pd, kGrhBytes, v.payload())) {
    receive_done(v, Status::kLocalProtection, 0);
    fatal_ = Fatal::kErr;
    return;
  }
  ++stats_.executed;
  receive_done(v, Status::kSuccess, kGrhBytes + v.payload_len);
}

std::string Responder::text() const {
  const auto n = [](uint64_t v) { return std::to_string(v); };
  return n(receives_.size()) + " receives, PSN expected " + n(epsn_) + " MSN " + n(msn_) + ", " +
         n(answers_.size()) + " answers wait, " + n(stats_.executed) + " executed, " +
         n(stats_.duplicates) + " duplicates, " + n(stats_.gaps) + " ahead, " + n(stats_.acks) +
         " ACKs, " + n(stats_.sequence_naks) + " sequence NAKs, " + n(stats_.rnr_naks) +
         " not ready, " + n(stats_.fatal_naks) + " fatal";
}

}  // namespace rnic::golden
