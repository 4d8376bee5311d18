// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/answer_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "harness/roce/aeth.hpp"
#include "harness/roce/psn.hpp"

namespace rnic::roce {

namespace {

bool is_read_response(uint8_t opcode) {
  return opcode >= kRcReadRespFirst && opcode <= kRcReadRespOnly;
}
bool is_first(uint8_t opcode) { return opcode == kRcReadRespFirst || opcode == kRcReadRespOnly; }
// FIRST and MIDDLE are followed by more of the same READ.
bool goes_on(uint8_t opcode) { return opcode == kRcReadRespFirst || opcode == kRcReadRespMiddle; }
bool has_aeth(const FrameView& v) { return (v.info().ext & kExtAeth) != 0; }
bool says(const FrameView& v, AethKind kind) {
  return v.opcode == kRcAcknowledge && aeth_kind(v.syndrome) == kind;
}
bool is_ack(const FrameView& v) { return says(v, AethKind::kAck); }
bool is_nak(const FrameView& v) { return says(v, AethKind::kNak); }
bool is_rnr(const FrameView& v) { return says(v, AethKind::kRnrNak); }

std::string text(const FrameView& v) {
  return fmt::format("{} PSN {:#x} syndrome {:#04x} MSN {} length {}", opcode_short_name(v.opcode),
                     v.psn, v.syndrome, v.msn, v.payload_len);
}

// IP identification and source port out of the way, no Ethernet padding.
std::vector<uint8_t> neutral(const FrameView& v) {
  std::vector<uint8_t> f(v.bytes.begin(), v.bytes.begin() + v.icrc_offset + kIcrcBytes);
  if (!v.ipv6) {
    f[v.l3_offset + 4u] = f[v.l3_offset + 5u] = 0;
    fix_ipv4_checksum(f);
  }
  f[v.udp_offset] = f[v.udp_offset + 1u] = 0;
  fix_icrc(f);
  return f;
}

struct Comparison {
  const CaptureRun& run;
  std::vector<FrameView> want{}, have{};
  std::set<uint32_t> asked{};           // PSNs of requests that want an ACK
  std::set<uint32_t> recorded{};        // PSNs of recorded answers
  std::map<uint32_t, uint32_t> told{};  // our MSN with the READ and ATOMIC answers so far, by PSN
  AnswerComparison out{};
  size_t at = 0;  // in have

  void differ(const std::string& s) { out.differences.push_back(s); }

  // Does one of these answers from `from` on acknowledge this PSN?
  static bool covered(uint32_t psn, const std::vector<FrameView>& answers, size_t from) {
    for (size_t i = from; i < answers.size(); ++i) {
      const FrameView& h = answers[i];
      if (is_ack(h) && psn_diff(h.psn, psn) >= 0) return true;
      if ((is_nak(h) || is_rnr(h)) && psn_diff(h.psn, psn) > 0) return true;
      if ((is_read_response(h.opcode) || h.opcode == kRcAtomicAck) && psn_diff(h.psn, psn) > 0)
        return true;
    }
    return false;
  }

  bool tells_again(const FrameView& h) const {
    const auto first = told.find(h.psn);
    return first != told.end() && first->second == h.msn;
  }

  // The same answer, apart from what a responder may choose.
  bool same(const FrameView& w, const FrameView& h) {
    if (w.psn != h.psn || w.payload_len != h.payload_len) return false;
    const bool reads = is_read_response(w.opcode) && is_read_response(h.opcode);
    const bool resumed = reads && w.opcode != h.opcode && goes_on(w.opcode) == goes_on(h.opcode) &&
                         !is_first(w.opcode) && is_first(h.opcode);
    if (w.opcode != h.opcode && !resumed) return false;
    bool repeat = false;
    if (has_aeth(w) && has_aeth(h)) {
      const AethKind kind = aeth_kind(w.syndrome);
      if (kind != aeth_kind(h.syndrome)) return false;
      repeat = w.msn != h.msn;
      if (repeat && !tells_again(h)) return false;
      // NAK codes and RNR timers count; credits do not.
      if (kind != AethKind::kAck && w.syndrome != h.syndrome) {
        if (w.syndrome != make_syndrome(AethKind::kNak, kNakRemoteOperational) ||
            h.syndrome != make_syndrome(AethKind::kNak, kNakInvalidRequest))
          return false;
        ++out.allowed["buffer_nak"];
        return true;
      }
    }
    if (run.contents_known() && !std::ranges::equal(w.payload(), h.payload())) return false;
    if ((w.info().ext & kExtAtomicAck) != 0 && run.contents_known() &&
        w.atomic_orig != h.atomic_orig)
      return false;
    if (repeat) ++out.allowed["repeat_msn"];
    if (resumed) ++out.allowed["resumed_read"];
    if (repeat || resumed) return true;
    if (w.syndrome != h.syndrome) {
      ++out.allowed["credits"];
      return true;
    }
    // A recorded NIC of this kind (MigReq) has settings of its own: ECN, TTL.
    if (!run.contents_known() || w.mig_req) return true;
    if (neutral(w) != neutral(h)) {
      differ(fmt::format("frames differ: recorded {}, ours {}", describe(w), describe(h)));
    } else {
      ++out.equal_frames;
    }
    return true;
  }

  // ACKs of ours that a request asked for, before the recorded answer `index`, which covers them.
  void skip_separate(size_t index) {
    while (at < have.size() && is_ack(have[at]) && psn_diff(have[at].psn, want[index].psn) < 0 &&
           asked.contains(have[at].psn) && !recorded.contains(have[at].psn) &&
           covered(have[at].psn, want, index)) {
      ++out.allowed["separate"];
      ++at;
    }
  }

  // `invalidate`: PSN of the first SEND with invalidate, if there was one.
  void walk(std::optional<uint32_t> invalidate) {
    const auto behind = [&](const FrameView& v) {
      return invalidate && psn_diff(v.psn, *invalidate) >= 0;
    };
    bool after_rnr = false;  // nothing was accepted since an RNR NAK
    for (const FrameView& w : want) {
      ++out.answers;
      if (behind(w)) {
        ++out.allowed["after_invalidate"];
        continue;
      }
      skip_separate(out.answers - 1);
      if (at < have.size() && same(w, have[at])) {
        const FrameView& h = have[at++];
        if (has_aeth(h) && h.opcode != kRcAcknowledge) told.emplace(h.psn, h.msn);
      } else if (is_ack(w) && covered(w.psn, have, at)) {
        ++out.allowed["coalesced"];
      } else if (is_nak(w) && aeth_code(w.syndrome) == kNakSequence && after_rnr) {
        ++out.allowed["nak_after_rnr"];
      } else {
        differ(fmt::format("recorded {}, ours {}", text(w),
                           at < have.size() ? text(have[at]) : "nothing"));
        return;
      }
      if (is_rnr(w)) after_rnr = true;
      if (is_ack(w) || is_read_response(w.opcode) || w.opcode == kRcAtomicAck) after_rnr = false;
    }
    for (; at < have.size(); ++at) {
      if (!behind(have[at])) differ("one answer more than recorded: " + text(have[at]));
    }
  }
};

}  // namespace

AnswerComparison compare_answers(const CaptureRun& run, Side responder,
                                 const std::vector<std::vector<uint8_t>>& ours) {
  Comparison c{.run = run};
  FrameView v;
  for (const CapturedFrame* f : run.sent_by(responder)) {
    if (parse_frame(f->bytes, v) != ParseStatus::kOk || v.info().is_request || v.dest_qp <= 1)
      continue;
    c.want.push_back(v);
    c.recorded.insert(v.psn);
  }
  for (const auto& f : ours) {
    if (parse_frame(f, v) != ParseStatus::kOk || v.info().is_request) {
      c.differ("a frame that is not an answer of RC left the responder");
      continue;
    }
    c.have.push_back(v);
  }
  std::optional<uint32_t> invalidate;
  for (const CapturedFrame* f : run.delivered(responder)) {
    if (parse_frame(f->bytes, v) != ParseStatus::kOk || !v.info().is_request) continue;
    if (v.ack_req) c.asked.insert(v.psn);
    if ((v.info().ext & kExtIeth) != 0 && !invalidate) invalidate = v.psn;
  }
  c.walk(invalidate);
  return c.out;
}

}  // namespace rnic::roce
