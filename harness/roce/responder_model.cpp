// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/responder_model.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "harness/roce/bytes.hpp"
#include "harness/roce/psn.hpp"

namespace rnic::roce {
const char* to_string(RxVerdict v) {
  switch (v) {
    case RxVerdict::kExecuted:
      return "executed";
    case RxVerdict::kDuplicate:
      return "duplicate";
    case RxVerdict::kNakSequence:
      return "NAK sequence error";
    case RxVerdict::kGapDiscarded:
      return "discarded after NAK";
    case RxVerdict::kRnr:
      return "receiver not ready";
    case RxVerdict::kNakFatal:
      return "fatal NAK";
    case RxVerdict::kNotRequest:
      return "not a request";
    case RxVerdict::kDropNotRoce:
      return "dropped: not RoCEv2";
    case RxVerdict::kDropMalformed:
      return "dropped: malformed";
    case RxVerdict::kDropIcrc:
      return "dropped: iCRC";
    case RxVerdict::kDropVersion:
      return "dropped: BTH version";
    case RxVerdict::kDropQp:
      return "dropped: unknown QP";
    case RxVerdict::kDropTransport:
      return "dropped: another transport";
    case RxVerdict::kDropState:
      return "dropped: QP state";
    case RxVerdict::kDropAddress:
      return "dropped: address";
    case RxVerdict::kDropPkey:
      return "dropped: P_Key";
    case RxVerdict::kDropDuplicate:
      return "dropped: duplicate";
  }
  return "?";
}

ResponderPolicy soft_roce_policy() {
  ResponderPolicy p;
  p.resume_read_in_middle = true;
  p.nak_gap_after_rnr = true;
  p.ack_failed_invalidate = true;
  return p;
}

const MemoryRegion* RegionTable::check(uint32_t rkey, uint32_t pd, uint32_t access, uint64_t va,
                                       uint64_t length) const {
  for (const MemoryRegion& r : regions_) {
    if (r.rkey != rkey) continue;
    if (!r.valid || r.pd != pd || (r.access & access) != access) return nullptr;
    const uint64_t size = r.bytes.size();
    if (va < r.va || length > size || va - r.va > size - length) return nullptr;
    return &r;
  }
  return nullptr;
}

bool RegionTable::invalidate(uint32_t rkey, uint32_t pd) {
  for (MemoryRegion& r : regions_) {
    if (r.rkey != rkey || r.pd != pd || !r.valid || !r.can_invalidate) continue;
    r.valid = false;
    return true;
  }
  return false;
}

ResponderModel::ResponderModel(const ResponderConfig& config, RegionTable& regions)
    : config_(config), regions_(regions), epsn_(config.first_psn & kPsnMask) {
  if (!valid_pmtu(config.pmtu)) throw std::invalid_argument("responder: path MTU is not 256..4096");
}

void ResponderModel::post_recv(RecvRequest request) {
  if (state_ == QpState::kReset) throw std::logic_error("responder: receive posted in RESET");
  recv_queue_.push_back(std::move(request));
  if (state_ == QpState::kErr) flush();
}

void ResponderModel::clear_outputs() {
  responses_.clear();
  completions_.clear();
  payload_.clear();
}

void ResponderModel::set_state(QpState state) {
  state_ = state;
  if (state == QpState::kErr) flush();
  if (state == QpState::kReset) {
    recv_queue_.clear();
    saved_.clear();
    nak_sent_ = false;
    open_ = Open::kNone;
    msn_ = 0;
    epsn_ = config_.first_psn & kPsnMask;
  }
}

void ResponderModel::flush() {
  while (!recv_queue_.empty()) {
    RecvCompletion c;
    c.wr_id = recv_queue_.front().wr_id;
    c.status = WcStatus::kFlushed;
    completions_.push_back(c);
    recv_queue_.pop_front();
  }
}

RxVerdict ResponderModel::receive(std::span<const uint8_t> frame) {
  FrameView v;
  RxVerdict result;
  const ParseStatus status = parse_frame(frame, v);
  if (status == ParseStatus::kNotRoce) {
    result = RxVerdict::kDropNotRoce;
  } else if (status != ParseStatus::kOk && status != ParseStatus::kUnknownOpcode) {
    // A packet whose headers do not fit its length has no iCRC to speak of, except a short extended
    // header.
    result = RxVerdict::kDropMalformed;
  } else {
    result = classify(v);
  }
  if (config_.transport == Transport::kUc) responses_.clear();
  ++counts_[static_cast<size_t>(result)];
  return result;
}

RxVerdict ResponderModel::classify(const FrameView& v) {
  if (!icrc_good(v)) return RxVerdict::kDropIcrc;
  if (v.tver != 0) return RxVerdict::kDropVersion;
  if (v.dest_qp != config_.qpn) return RxVerdict::kDropQp;
  const OpcodeInfo& info = v.info();
  if (info.kind == MsgKind::kCnp) return RxVerdict::kNotRequest;
  if ((v.opcode >> 5) != (config_.transport == Transport::kUc ? 1 : 0))
    return RxVerdict::kDropTransport;
  if (state_ == QpState::kReset || state_ == QpState::kInit || state_ == QpState::kErr)
    return RxVerdict::kDropState;
  if (config_.local_ip && v.ip_dst != *config_.local_ip) return RxVerdict::kDropAddress;
  if (config_.peer_ip && v.ip_src != *config_.peer_ip) return RxVerdict::kDropAddress;
  if (!pkeys_match(v.pkey, config_.pkey)) return RxVerdict::kDropPkey;
  if (info.known && !info.is_request) return RxVerdict::kNotRequest;
  const int32_t ahead = psn_diff(v.psn, epsn_);
  if (ahead > 0) {
    if (nak_sent_) return RxVerdict::kGapDiscarded;
    nak_sent_ = true;
    responses_.push_back(
        {.psn = epsn_, .syndrome = make_syndrome(AethKind::kNak, kNakSequence), .msn = msn_});
    return RxVerdict::kNakSequence;
  }
  if (ahead < 0) return duplicate(v);
  nak_sent_ = false;
  return execute(v);
}

RxVerdict ResponderModel::execute(const FrameView& v) {
  const OpcodeInfo& info = v.info();
  if (!info.known) return fatal(kNakInvalidRequest);
  // Opcode sequence
  if (info.is_first) {
    if (open_ != Open::kNone) return fatal(kNakInvalidRequest);
  } else {
    const Open family = is_send(info.kind) ? Open::kSend : Open::kWrite;
    if (open_ != family) return fatal(kNakInvalidRequest);
  }
  // Access enabled on this QP
  if (is_write(info.kind) && !(config_.access & kRemoteWrite)) return fatal(kNakInvalidRequest);
  if (info.kind == MsgKind::kReadRequest && !(config_.access & kRemoteRead))
    return fatal(kNakInvalidRequest);
  if (is_atomic(info.kind) && !(config_.access & kRemoteAtomic)) return fatal(kNakInvalidRequest);
  // Resources
  const bool takes_receive =
      (is_send(info.kind) && info.is_first) || info.kind == MsgKind::kWriteImm;
  if (takes_receive && recv_queue_.empty()) return rnr();
  if ((info.kind == MsgKind::kReadRequest || is_atomic(info.kind)) &&
      config_.max_dest_rd_atomic == 0) {
    return fatal(kNakInvalidRequest);
  }
  // Length
  if (!length_good(v)) return fatal(kNakInvalidRequest);

  if (is_send(info.kind)) return execute_send(v);
  if (is_write(info.kind)) return execute_write(v);
  if (info.kind == MsgKind::kReadRequest) return execute_read(v);
  return execute_atomic(v);
}

bool ResponderModel::length_good(const FrameView& v) const {
  const OpcodeInfo& info = v.info();
  const uint32_t n = v.payload_len;
  if (v.pad != pad_of(n)) return false;
  switch (info.payload) {
    case PayloadRule::kNone:
      if (n != 0) return false;
      break;
    case PayloadRule::kPmtu:
      if (n != config_.pmtu) return false;
      break;
    case PayloadRule::kOneToPmtu:
      if (n == 0 || n > config_.pmtu) return false;
      break;
    case PayloadRule::kZeroToPmtu:
      if (n > config_.pmtu) return false;
      break;
  }
  if ((info.ext & kExtReth) && v.dma_len > kMaxMessage) return false;
  if (is_write(info.kind)) {
    const uint32_t left = info.is_first ? v.dma_len : write_left_;
    if (n > left) return false;                   // excess, at any packet
    if (info.is_last && n != left) return false;  // shortage, at the last
  }
  if (is_atomic(info.kind) && (v.va & 7) != 0) return false;
  return true;
}

RxVerdict ResponderModel::execute_send(const FrameView& v) {
  const OpcodeInfo& info = v.info();
  RecvRequest& wr = recv_queue_.front();
  if (info.is_first) send_received_ = 0;
  if (wr.local_fault) {
    complete(WcStatus::kLocalProtection, info.kind, 0, v);
    return fatal(kNakRemoteOperational);
  }
  uint64_t room = 0;
  for (const auto& s : wr.segments) room += s.size();
  if (send_received_ + uint64_t{v.payload_len} > room) {
    complete(WcStatus::kLocalLength, info.kind, 0, v);
    return fatal(kNakInvalidRequest);
  }
  // Scatter
  uint64_t skip = send_received_;
  auto from = v.payload();
  for (const auto& s : wr.segments) {
    if (skip >= s.size()) {
      skip -= s.size();
      continue;
    }
    const size_t n = std::min<size_t>(s.size() - skip, from.size());
    if (n == 0) break;
    std::memcpy(s.data() + skip, from.data(), n);
    from = from.subspan(n);
    skip = 0;
  }
  send_received_ += v.payload_len;
  open_ = info.is_last ? Open::kNone : Open::kSend;
  if (!info.is_last) {
    epsn_ = psn_add(epsn_, 1);
    if (v.ack_req) acknowledge(v.psn);
    return RxVerdict::kExecuted;
  }
  if (info.kind == MsgKind::kSendInv && !regions_.invalidate(v.inv_rkey, config_.pd)) {
    complete(WcStatus::kRemoteInvalidRequest, info.kind, 0, v);
    if (!config_.policy.ack_failed_invalidate) return fatal(kNakRemoteOperational);
    acknowledge(v.psn);
    set_state(QpState::kErr);
    return RxVerdict::kNakFatal;
  }
  complete(WcStatus::kSuccess, info.kind, send_received_, v);
  finish_message(v);
  return RxVerdict::kExecuted;
}

RxVerdict ResponderModel::execute_write(const FrameView& v) {
  const OpcodeInfo& info = v.info();
  if (info.is_first) {
    write_va_ = v.va;
    write_rkey_ = v.rkey;
    write_length_ = v.dma_len;
    write_left_ = v.dma_len;
  }
  // The first packet is checked for the whole length, later ones for what is left: the region may
  // have gone.
  const MemoryRegion* region = nullptr;
  if (write_length_ != 0) {
    region = regions_.check(write_rkey_, config_.pd, kRemoteWrite, write_va_, write_left_);
    if (region == nullptr) return fatal(kNakRemoteAccess);
  }
  if (v.payload_len != 0) {
    std::memcpy(region->bytes.data() + (write_va_ - region->va), v.payload().data(), v.payload_len);
  }
  write_va_ += v.payload_len;
  write_left_ -= v.payload_len;
  open_ = info.is_last ? Open::kNone : Open::kWrite;
  if (!info.is_last) {
    epsn_ = psn_add(epsn_, 1);
    if (v.ack_req) acknowledge(v.psn);
    return RxVerdict::kExecuted;
  }
  if (info.kind == MsgKind::kWriteImm) complete(WcStatus::kSuccess, info.kind, write_length_, v);
  finish_message(v);
  return RxVerdict::kExecuted;
}

void ResponderModel::finish_message(const FrameView& v) {
  epsn_ = psn_add(epsn_, 1);
  msn_ = (msn_ + 1) & kPsnMask;
  if (v.ack_req) acknowledge(v.psn);
}

RxVerdict ResponderModel::execute_read(const FrameView& v) {
  const MemoryRegion* region = nullptr;
  if (v.dma_len != 0) {
    region = regions_.check(v.rkey, config_.pd, kRemoteRead, v.va, v.dma_len);
    if (region == nullptr) return fatal(kNakRemoteAccess);
  }
  const uint32_t packets = message_psns(v.dma_len, config_.pmtu);
  msn_ = (msn_ + 1) & kPsnMask;
  Saved s;
  s.kind = MsgKind::kReadRequest;
  s.first_psn = v.psn;
  s.last_psn = psn_add(v.psn, packets - 1);
  s.va = v.va;
  s.rkey = v.rkey;
  s.length = v.dma_len;
  save(s);
  epsn_ = psn_add(epsn_, packets);
  respond_read(region, v.va, v.dma_len, v.psn, packets, 0);
  return RxVerdict::kExecuted;
}

void ResponderModel::respond_read(const MemoryRegion* region, uint64_t va, uint32_t length,
                                  uint32_t psn, uint32_t total, uint32_t skip) {
  // `skip` of `total` packets belong to an earlier answer: it only chooses the opcodes.
  const uint32_t count = message_psns(length, config_.pmtu);
  for (uint32_t i = 0; i < count; ++i) {
    ResponsePacket r;
    const uint32_t at = skip + i;
    const bool first = at == 0, last = at + 1 == total;
    r.opcode = first && last ? kRcReadRespOnly
               : first       ? kRcReadRespFirst
               : last        ? kRcReadRespLast
                             : kRcReadRespMiddle;
    r.psn = psn_add(psn, i);
    r.syndrome = config_.policy.ack_syndrome;
    r.msn = msn_;
    const uint32_t offset = i * config_.pmtu;
    r.payload_len = std::min(config_.pmtu, length - offset);
    r.payload_at = static_cast<uint32_t>(payload_.size());
    if (r.payload_len != 0) {
      const uint8_t* from = region->bytes.data() + (va - region->va) + offset;
      payload_.insert(payload_.end(), from, from + r.payload_len);
    }
    responses_.push_back(r);
  }
}

RxVerdict ResponderModel::execute_atomic(const FrameView& v) {
  const MemoryRegion* region = regions_.check(v.rkey, config_.pd, kRemoteAtomic, v.va, 8);
  if (region == nullptr) return fatal(kNakRemoteAccess);
  uint8_t* p = region->bytes.data() + (v.va - region->va);
  const uint64_t original = load_le64(p);  // host order in memory, big-endian on the wire
  if (v.opcode == kRcFetchAdd) {
    store_le64(p, original + v.swap_add);
  } else if (original == v.compare) {
    store_le64(p, v.swap_add);
  }
  msn_ = (msn_ + 1) & kPsnMask;
  Saved s;
  s.kind = v.info().kind;
  s.first_psn = s.last_psn = v.psn;
  s.va = v.va;
  s.rkey = v.rkey;
  s.original = original;
  save(s);
  epsn_ = psn_add(epsn_, 1);
  responses_.push_back({.opcode = kRcAtomicAck,
                        .psn = v.psn,
                        .syndrome = config_.policy.ack_syndrome,
                        .msn = msn_,
                        .atomic_orig = original});
  return RxVerdict::kExecuted;
}

RxVerdict ResponderModel::duplicate(const FrameView& v) {
  const OpcodeInfo& info = v.info();
  if (!info.known) return RxVerdict::kDropDuplicate;
  if (is_send(info.kind) || is_write(info.kind)) {
    if (config_.policy.ack_every_duplicate || v.ack_req) acknowledge(psn_sub(epsn_, 1));
    return RxVerdict::kDuplicate;
  }
  for (auto s = saved_.rbegin(); s != saved_.rend(); ++s) {
    const int32_t into = psn_diff(v.psn, s->first_psn);
    if (s->kind != info.kind || into < 0 || psn_diff(v.psn, s->last_psn) > 0) continue;
    if (is_atomic(info.kind)) {
      if (v.va != s->va || v.rkey != s->rkey) return RxVerdict::kDropDuplicate;
      responses_.push_back({.opcode = kRcAtomicAck,
                            .psn = v.psn,
                            .syndrome = config_.policy.ack_syndrome,
                            .msn = msn_,
                            .atomic_orig = s->original});
      return RxVerdict::kDuplicate;
    }
    // A READ must be the original or a tail of it that starts at a packet.
    const uint64_t done = uint64_t{static_cast<uint32_t>(into)} * config_.pmtu;
    if (v.va != s->va + done || v.dma_len + done != s->length || v.rkey != s->rkey)
      return RxVerdict::kDropDuplicate;
    const MemoryRegion* region = nullptr;
    if (v.dma_len != 0) {
      region = regions_.check(v.rkey, config_.pd, kRemoteRead, v.va, v.dma_len);
      if (region == nullptr) return RxVerdict::kDropDuplicate;
    }
    const uint32_t left = message_psns(v.dma_len, config_.pmtu);
    const auto skip = config_.policy.resume_read_in_middle ? static_cast<uint32_t>(into) : 0u;
    respond_read(region, v.va, v.dma_len, v.psn, skip + left, skip);
    return RxVerdict::kDuplicate;
  }
  return RxVerdict::kDropDuplicate;
}

RxVerdict ResponderModel::fatal(NakCode code) {
  responses_.push_back(
      {.psn = epsn_, .syndrome = make_syndrome(AethKind::kNak, code), .msn = msn_});
  set_state(QpState::kErr);
  return RxVerdict::kNakFatal;
}

RxVerdict ResponderModel::rnr() {
  nak_sent_ = !config_.policy.nak_gap_after_rnr;
  responses_.push_back({.psn = epsn_,
                        .syndrome = make_syndrome(AethKind::kRnrNak, config_.min_rnr_timer),
                        .msn = msn_});
  return RxVerdict::kRnr;
}

void ResponderModel::acknowledge(uint32_t psn) {
  responses_.push_back({.psn = psn, .syndrome = config_.policy.ack_syndrome, .msn = msn_});
}

void ResponderModel::complete(WcStatus status, MsgKind kind, uint32_t byte_len,
                              const FrameView& v) {
  RecvCompletion c;
  c.wr_id = recv_queue_.front().wr_id;
  c.status = status;
  c.kind = kind;
  c.byte_len = byte_len;
  if (status == WcStatus::kSuccess) {
    if (v.info().ext & kExtImm) c.imm = v.imm;
    if (v.info().ext & kExtIeth) c.inv_rkey = v.inv_rkey;
    c.solicited = v.solicited;
  }
  completions_.push_back(c);
  recv_queue_.pop_front();
}

void ResponderModel::save(const Saved& s) {
  if (saved_.size() >= config_.max_dest_rd_atomic) saved_.pop_front();
  saved_.push_back(s);
}

FrameSpec to_frame_spec(const ResponsePacket& r, const FrameSpec& base) {
  FrameSpec s = base;
  s.opcode = r.opcode;
  s.psn = r.psn;
  s.syndrome = r.syndrome;
  s.msn = r.msn;
  s.atomic_orig = r.atomic_orig;
  s.ack_req = false;
  s.solicited = false;
  return s;
}

void AckEffect::add(uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t new_msn) {
  const OpcodeInfo& info = opcode_info(opcode);
  if ((info.ext & kExtAeth) == 0) return;
  const AethKind kind = aeth_kind(syndrome);
  if (kind == AethKind::kReserved) return;
  uint32_t through = psn;
  if (kind != AethKind::kAck) {
    through = psn_sub(psn, 1);
    const Nak nak{psn, syndrome};
    if (naks.empty() || !(naks.back() == nak)) naks.push_back(nak);
  }
  if (!acked_through || psn_diff(through, *acked_through) > 0) acked_through = through;
  if (psn_diff(new_msn, msn) > 0) msn = new_msn;
}

std::string AckEffect::difference(const AckEffect& other) const {
  char b[160];
  const auto text = [](const std::optional<uint32_t>& p) {
    char t[16];
    if (!p) return std::string("nothing");
    std::snprintf(t, sizeof t, "0x%06x", *p);
    return std::string(t);
  };
  if (acked_through != other.acked_through) {
    std::snprintf(b, sizeof b, "acknowledged through %s, expected %s", text(acked_through).c_str(),
                  text(other.acked_through).c_str());
    return b;
  }
  if (msn != other.msn) {
    std::snprintf(b, sizeof b, "MSN %u, expected %u", msn, other.msn);
    return b;
  }
  for (size_t i = 0; i < std::max(naks.size(), other.naks.size()); ++i) {
    const auto show = [&](const std::vector<Nak>& n) {
      char t[48];
      if (i >= n.size()) return std::string("none");
      std::snprintf(t, sizeof t, "syndrome 0x%02x at PSN 0x%06x", n[i].syndrome, n[i].psn);
      return std::string(t);
    };
    if (i < naks.size() && i < other.naks.size() && naks[i] == other.naks[i]) continue;
    std::snprintf(b, sizeof b, "NAK %zu: %s, expected %s", i, show(naks).c_str(),
                  show(other.naks).c_str());
    return b;
  }
  return "";
}

}  // namespace rnic::roce
