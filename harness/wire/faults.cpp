// SPDX-License-Identifier: Apache-2.0
#include "harness/wire/faults.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/roce/aeth.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::wire {

namespace {

bool in_class(PacketClass c, bool is_roce, const roce::FrameView& v) {
  using roce::MsgKind;
  if (c == PacketClass::kAny) return true;
  if (c == PacketClass::kRaw) return !is_roce;
  if (!is_roce) return false;
  const roce::OpcodeInfo& info = v.info();
  const auto ack = [&](roce::AethKind k) {
    return info.kind == MsgKind::kAck && roce::aeth_kind(v.syndrome) == k;
  };
  switch (c) {
    case PacketClass::kRoce:
      return true;
    case PacketClass::kRequest:
      return info.is_request;
    case PacketClass::kSend:
      return roce::is_send(info.kind);
    case PacketClass::kWrite:
      return roce::is_write(info.kind);
    case PacketClass::kReadRequest:
      return info.kind == MsgKind::kReadRequest;
    case PacketClass::kAtomic:
      return roce::is_atomic(info.kind);
    case PacketClass::kResponse:
      return info.kind == MsgKind::kAck || info.kind == MsgKind::kReadResponse ||
             info.kind == MsgKind::kAtomicAck;
    case PacketClass::kAck:
      return ack(roce::AethKind::kAck);
    case PacketClass::kNak:
      return ack(roce::AethKind::kNak);
    case PacketClass::kRnrNak:
      return ack(roce::AethKind::kRnrNak);
    case PacketClass::kReadResponse:
      return info.kind == MsgKind::kReadResponse;
    case PacketClass::kAtomicResponse:
      return info.kind == MsgKind::kAtomicAck;
    case PacketClass::kCnp:
      return info.kind == MsgKind::kCnp;
    default:
      return false;
  }
}

bool is_roce_frame(roce::ParseStatus s) {
  return s == roce::ParseStatus::kOk || s == roce::ParseStatus::kUnknownOpcode;
}

}  // namespace

const char* to_string(FaultAction a) {
  switch (a) {
    case FaultAction::kDrop:
      return "drop";
    case FaultAction::kDuplicate:
      return "duplicate";
    case FaultAction::kReorder:
      return "reorder";
    case FaultAction::kDelay:
      return "delay";
    case FaultAction::kCorrupt:
      return "corrupt";
    case FaultAction::kTruncate:
      return "truncate";
  }
  return "?";
}

bool matches(PacketClass c, std::span<const uint8_t> frame) {
  roce::FrameView v;
  return in_class(c, is_roce_frame(roce::parse_frame(frame, v)), v);
}

Faults::Faults(const std::vector<FaultRule>& rules, int from, uint64_t seed, bool fcs_in_stream)
    : rules_(rules), counts_(rules.size()), from_(from), fcs_in_stream_(fcs_in_stream) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const FaultRule& r = rules[i];
    if (!(r.probability >= 0 && r.probability <= 1) || r.nth == 0 || r.every == 0 ||
        r.copies == 0 || r.bits == 0 || (r.from && *r.from != 0 && *r.from != 1)) {
      throw std::invalid_argument("wire: fault rule " + std::to_string(i) + " makes no sense");
    }
    random_.emplace_back(mem::substream(
        seed, "wire.fault." + std::to_string(i) + (from == 0 ? ".forward" : ".back")));
  }
}

bool Faults::empty() const {
  return std::none_of(rules_.begin(), rules_.end(),
                      [&](const FaultRule& r) { return !r.from || *r.from == from_; });
}

uint64_t Faults::done(FaultAction a) const {
  uint64_t n = 0;
  for (size_t i = 0; i < rules_.size(); ++i) n += rules_[i].action == a ? counts_[i].done : 0;
  return n;
}

void Faults::on_frame(FrameEdit& frame) {
  const size_t fcs = fcs_in_stream_ && frame.bytes.size() > kFcsBytes ? kFcsBytes : 0;
  roce::FrameView v;
  const bool is_roce =
      is_roce_frame(roce::parse_frame(frame.bytes.first(frame.bytes.size() - fcs), v));
  // What a rule names is read before any of them acts.
  for (size_t i = 0; i < rules_.size(); ++i) {
    const FaultRule& r = rules_[i];
    if (r.from && *r.from != from_) continue;
    if (!in_class(r.packet, is_roce, v)) continue;
    if ((r.opcode || r.qpn || r.psn) && !is_roce) continue;
    if (r.opcode && *r.opcode != v.opcode) continue;
    if (r.qpn && *r.qpn != v.dest_qp) continue;
    if (r.psn && *r.psn != v.psn) continue;
    RuleCount& n = counts_[i];
    ++n.matched;
    if (n.matched < r.nth || (n.matched - r.nth) % r.every != 0) continue;
    if (r.count != 0 && n.done >= r.count) continue;
    if (r.probability < 1 && !random_[i].chance(r.probability)) continue;
    ++n.done;
    apply(i, frame);
  }
}

void Faults::apply(size_t rule, FrameEdit& frame) {
  const FaultRule& r = rules_[rule];
  mem::Random& random = random_[rule];
  // Behind the Ethernet addresses and type: a switch that breaks those sends the frame elsewhere.
  constexpr size_t kFirst = 14;
  const size_t fcs = fcs_in_stream_ ? kFcsBytes : 0;
  const auto new_fcs = [&](size_t length) {
    if (fcs_in_stream_ && length > kFcsBytes) {
      roce::store_le32(frame.bytes.data() + length - kFcsBytes,
                       roce::crc32(frame.bytes.first(length - kFcsBytes)));
    }
  };
  switch (r.action) {
    case FaultAction::kDrop:
      frame.drop = true;
      break;
    case FaultAction::kDuplicate:
      frame.copies = std::max(frame.copies, r.copies);
      break;
    case FaultAction::kReorder:
      frame.behind_next = true;
      break;
    case FaultAction::kDelay:
      frame.extra_delay_ps += r.delay_ps;
      break;
    case FaultAction::kCorrupt: {
      const size_t end = frame.bytes.size() - std::min(frame.bytes.size(), fcs);
      if (end > kFirst) {
        for (uint32_t b = 0; b < r.bits; ++b) {
          const uint64_t bit = random.below((end - kFirst) * 8);
          frame.bytes[kFirst + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
        }
      }
      frame.edited = true;
      if (r.bad_fcs) {
        frame.bad_fcs = true;
      } else {
        new_fcs(frame.bytes.size());
      }
      break;
    }
    case FaultAction::kTruncate: {
      const auto whole = static_cast<uint32_t>(frame.bytes.size());
      // A switch never sends less than the minimum frame.
      const uint32_t least = r.bad_fcs ? 1 : kMinFrameBytes + static_cast<uint32_t>(fcs);
      if (whole <= least) break;
      uint32_t keep =
          r.keep_bytes ? *r.keep_bytes : least + static_cast<uint32_t>(random.below(whole - least));
      keep = std::clamp(keep, least, whole);
      frame.length = std::min(frame.length, keep);
      frame.edited = true;
      if (r.bad_fcs) {
        frame.bad_fcs = true;
      } else {
        new_fcs(frame.length);
      }
      break;
    }
  }
}

CableFaults::CableFaults(const std::vector<FaultRule>& rules, uint64_t seed, const LinkConfig& link,
                         TimePs hold_limit_ps)
    : rules_(rules), hold_limit_ps_(hold_limit_ps) {
  for (int i = 0; i < 2; ++i)
    directions_[static_cast<size_t>(i)] =
        std::make_unique<Faults>(rules, i, seed, link.fcs_in_stream);
}

void CableFaults::install(Link& link) {
  for (int i = 0; i < 2; ++i) {
    if (!direction(i).empty()) link.set_faults(i, &direction(i), hold_limit_ps_);
  }
}

uint64_t CableFaults::done(FaultAction a) const {
  return directions_[0]->done(a) + directions_[1]->done(a);
}

std::string CableFaults::text() const {
  std::string s;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (!s.empty()) s += '\n';
    const FaultRule& r = rules_[i];
    s += r.name.empty() ? std::string(to_string(r.action)) + " (rule " + std::to_string(i + 1) + ")"
                        : r.name;
    for (int d = 0; d < 2; ++d) {
      if (r.from && *r.from != d) continue;
      const RuleCount& n = directions_[static_cast<size_t>(d)]->counts()[i];
      s += std::string(", from ") + (d == 0 ? "a: " : "b: ") + std::to_string(n.done) + " of " +
           std::to_string(n.matched);
    }
  }
  return s;
}

}  // namespace rnic::wire
