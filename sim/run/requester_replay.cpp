// SPDX-License-Identifier: Apache-2.0
#include "sim/run/requester_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/roce/bytes.hpp"
#include "harness/roce/psn.hpp"
#include "sim/host/verbs.hpp"
#include "sim/run/recorded_side.hpp"

namespace rnic::sim {

namespace {
using golden::Verb;
using roce::CapturedFrame;
using roce::FrameView;
using roce::Side;

constexpr TimePs kAnswerGapPs = 500'000;
constexpr TimePs kHeldBackPs = 20'000'000;  // so long nothing left: it will not by itself
constexpr TimePs kLimitPs = 100'000'000'000;
constexpr uint32_t kLogSq = 10;

FrameView view_of(const CapturedFrame& f) {
  FrameView v;
  if (roce::parse_frame(f.bytes, v) != roce::ParseStatus::kOk)
    throw std::runtime_error(fmt::format("packet {} is not RoCEv2", f.index + 1));
  return v;
}

// The requests of a side as they were recorded, first to last, repeats included.
std::vector<const CapturedFrame*> requests_of(const roce::CaptureRun& run, Side side) {
  std::vector<const CapturedFrame*> out;
  for (const CapturedFrame* f : run.sent_by(side)) {
    const FrameView v = view_of(*f);
    if (v.info().is_request && v.dest_qp > 1) out.push_back(f);
  }
  return out;
}

uint32_t psns_of(const FrameView& v, uint32_t pmtu) {
  return v.opcode == roce::kRcReadRequest ? roce::message_psns(v.dma_len, pmtu) : 1;
}

Verb verb_of(const FrameView& last) {
  using roce::MsgKind;
  switch (last.info().kind) {
    case MsgKind::kReadRequest:
      return Verb::kRead;
    case MsgKind::kCompareSwap:
      return Verb::kCompareSwap;
    case MsgKind::kFetchAdd:
      return Verb::kFetchAdd;
    case MsgKind::kSend:
      return Verb::kSend;
    case MsgKind::kSendImm:
      return Verb::kSendImm;
    case MsgKind::kWriteImm:
      return Verb::kWriteImm;
    default:
      return Verb::kWrite;
  }
}

// One message, as its packets tell it. Local bytes stand one message behind the other.
struct Asked {
  golden::SendRequest request;
  std::vector<uint8_t> payload;
  uint64_t local = 0;  // offset
};

uint64_t bytes_of(const Asked& a) {
  return a.request.verb == Verb::kRead || golden::is_atomic(a.request.verb)
             ? a.request.sges[0].length
             : a.payload.size();
}

std::vector<Asked> messages_of(const std::vector<const CapturedFrame*>& frames) {
  std::vector<Asked> out;
  uint64_t local = 0;
  Asked now;
  bool first = true;
  for (const CapturedFrame* f : frames) {
    const FrameView v = view_of(*f);
    if (first) {
      now.request.remote_va = v.va;
      now.request.rkey = v.rkey;
    }
    now.payload.insert(now.payload.end(), v.payload().begin(), v.payload().end());
    first = v.info().is_last;
    if (!first) continue;
    golden::SendRequest& r = now.request;
    r.wr_id = out.size();
    r.verb = verb_of(v);
    r.imm = v.imm;
    r.swap_add = v.swap_add;
    r.compare = v.compare;
    r.solicited = v.solicited;
    r.sges.resize(1);
    r.sges[0].length = r.verb == Verb::kRead       ? v.dma_len
                       : golden::is_atomic(r.verb) ? 8
                                                   : static_cast<uint32_t>(now.payload.size());
    now.local = local;
    local += (bytes_of(now) + 15) & ~uint64_t{7};
    out.push_back(std::move(now));
    now = {};
  }
  return out;
}

// What is no one's choice of a frame.
std::vector<uint8_t> neutral(std::vector<uint8_t> frame) {
  FrameView v;
  if (roce::parse_frame(frame, v) != roce::ParseStatus::kOk) return frame;
  frame.resize(v.icrc_offset + 4u);  // without Ethernet padding
  if (!v.ipv6) {
    frame[v.l3_offset + 4u] = frame[v.l3_offset + 5u] = 0;
    roce::fix_ipv4_checksum(frame);
  } else {
    frame[v.l3_offset + 1u] &= 0xF0;
    frame[v.l3_offset + 2u] = frame[v.l3_offset + 3u] = 0;
  }
  frame[v.udp_offset + 6u] = frame[v.udp_offset + 7u] = 0;
  if (!v.info().is_last) frame[v.bth_offset + 8u] &= 0x7F;  // AckReq
  roce::fix_icrc(frame);
  return frame;
}

int ibv_status(golden::Status s) {
  constexpr int kStatus[] = {0, 1, 2, 4, 5, 7, 9, 10, 11, 12, 13};
  return kStatus[static_cast<size_t>(s)];
}

// The far end: holds the NIC's requests beside the recorded ones, and sends the recorded answers.
class Peer {
 public:
  Peer(const roce::CaptureRun& run, Side side, RequesterReplay& result)
      : result_(result), wire_(requests_of(run, side)), pmtu_(run.side(side).pmtu) {
    through_ = roce::psn_sub(run.side(side).psn, 1);
    for (const CapturedFrame* f : run.delivered(side)) {
      if (!view_of(*f).info().is_request) answers_.push_back(f);
    }
  }
  void attach(wire::Link& link) { link_ = &link; }
  void step(TimePs now) {
    wire::FrameInfo info;
    while (link_->rx(1).take(now, info)) take(now, info);
    if (next_ == answers_.size() || now < last_ + kAnswerGapPs) return;
    const CapturedFrame& answer = *answers_[next_];
    if (!due(now, answer)) return;
    std::vector<uint8_t> bytes = answer.bytes;
    if (bytes.size() < wire::kMinFrameBytes) bytes.resize(wire::kMinFrameBytes);
    link_->tx(1).send(now, bytes);
    last_ = now;
    ++next_;
  }
  bool all_said() const { return next_ == answers_.size(); }
  const std::vector<const CapturedFrame*>& wire() const { return wire_; }
  size_t seen() const { return seen_; }

 private:
  void take(TimePs now, const wire::FrameInfo& info) {
    FrameView v;
    last_ = now;
    if (roce::parse_frame(info.bytes, v) != roce::ParseStatus::kOk) {
      result_.differences.push_back("a frame that is not RoCEv2 came from the NIC");
      return;
    }
    if (seen_ == wire_.size()) {
      result_.differences.push_back("a request too many: " + roce::describe(v));
      return;
    }
    const CapturedFrame& want = *wire_[seen_++];
    through_ = roce::psn_add(v.psn, psns_of(v, pmtu_) - 1);
    if (neutral({info.bytes.begin(), info.bytes.end()}) == neutral(want.bytes)) {
      ++result_.equal_frames;
    } else {
      result_.differences.push_back(fmt::format("packet {}: {}, recorded {}", want.index + 1,
                                                roce::describe(v), roce::describe(view_of(want))));
    }
  }
  bool due(TimePs now, const CapturedFrame& answer) const {
    if (seen_ == wire_.size() || wire_[seen_]->index > answer.index) return true;
    const bool asked = !roce::psn_before(through_, view_of(answer).psn);
    return asked && now >= last_ + kHeldBackPs;
  }

  RequesterReplay& result_;
  wire::Link* link_ = nullptr;
  std::vector<const CapturedFrame*> wire_, answers_;
  uint32_t pmtu_, through_;  // the newest PSN that was asked
  size_t seen_ = 0, next_ = 0;
  TimePs last_ = 0;
};

void compare_end(const roce::CaptureRun& run, const std::vector<Asked>& asked,
                 const std::vector<golden::Completion>& done, HostEndpoint& nic,
                 const golden::Region& local, RequesterReplay& result) {
  const auto differ = [&](const std::string& text) { result.differences.push_back(text); };
  if (done.size() < run.sends.size())
    differ(fmt::format("{} completions, {} were recorded", done.size(), run.sends.size()));
  for (size_t i = 0; i < std::min(run.sends.size(), done.size()); ++i) {
    const roce::RecordedSend& want = run.sends[i];
    ++result.completions;
    if (ibv_status(done[i].status) != want.status)
      differ(fmt::format("completion {} ({}): status {}, recorded {}", i, want.op,
                         to_string(done[i].status), want.status));
    if (want.status != 0 || (!want.read_fnv && !want.atomic_orig)) continue;
    // With a scatter list (-S) the client digested nothing.
    if (want.read_fnv && run.client_command.find(" -S ") != std::string::npos) continue;
    std::vector<uint8_t> got(bytes_of(asked[i]));
    nic.read_memory(local, asked[i].local, got);
    ++result.results;
    if (want.read_fnv && roce::capture_fnv64(got) != *want.read_fnv)
      differ(fmt::format("READ {}: its bytes are not the recorded ones", i));
    if (want.atomic_orig && roce::load_le64(got.data()) != *want.atomic_orig)
      differ(fmt::format("ATOMIC {}: original value {:#x}, recorded {:#x}", i,
                         roce::load_le64(got.data()), *want.atomic_orig));
  }
}

Qp& make_qp(Host& host, const roce::CaptureRun& run, Side side) {
  const roce::SideParams &self = run.side(side), &peer = run.side(roce::other(side));
  driver::Device& nic = host.nic();
  mark_as_recorded(nic);
  driver::PathRequest path = recorded_path(self, peer);
  path.sport = self.udp_port;
  nic.create_path(path);
  QpOptions options;
  options.service = recorded_service(run);
  options.log_sq = kLogSq;
  options.log_cq = kLogSq + 1;
  options.number = self.qpn;
  Qp& qp = host.create_qp(std::move(options));
  driver::ConnectRequest c;
  c.service = recorded_service(run);
  c.dest_qpn = peer.qpn;
  c.path = 1;
  c.mtu = mtu_code(self.pmtu);
  c.rq_psn = peer.psn;
  c.sq_psn = self.psn;
  c.timeout = 0;  // the recording has its own
  c.retry_cnt = self.retry;
  c.rnr_retry = self.rnr_retry;
  nic.connect(*qp.qp, c);
  return qp;
}
}  // namespace

bool requester_replayable(const roce::CaptureRun& run, Side requester) {
  if ((run.transport != roce::Transport::kRc && run.transport != roce::Transport::kUc) ||
      !run.client.known || !run.server.known || run.lossy_before_capture ||
      !run.requester(requester))
    return false;
  const std::vector<const CapturedFrame*> frames = requests_of(run, requester);
  uint32_t psn = run.side(requester).psn;
  for (const CapturedFrame* f : frames) {
    const FrameView v = view_of(*f);
    if (v.psn != psn || v.info().kind == roce::MsgKind::kSendInv) return false;
    psn = roce::psn_add(psn, psns_of(v, run.side(requester).pmtu));
  }
  return !frames.empty() && view_of(*frames.back()).info().is_last;
}

RequesterReplay replay_requester(const roce::CaptureRun& run, const ReplayOptions& options) {
  const Side side = options.side.value_or(Side::kClient);
  if (!requester_replayable(run, side))
    throw std::invalid_argument(run.name() + ": its requests cannot be made identical");
  RequesterReplay result;
  World world;
  Node& node = world.add_node(replay_node("requester", options));
  Peer peer(run, side, result);
  wire::Link& link = world.open_end(
      node, replay_cable(options.data_w), [&](TimePs now) { peer.step(now); }, kReplayGrainPs);
  peer.attach(link);
  ReplayCapture capture(options.pcap_file, link);
  world.power_on();
  Host host(world, node, {.id = 1});
  host.start(2);
  Qp& qp = make_qp(host, run, side);
  HostEndpoint nic(host);
  nic.attach(qp);

  std::vector<Asked> asked = messages_of(peer.wire());
  result.messages = asked.size();
  const golden::Region local =
      nic.add_region(std::max<uint64_t>(asked.back().local + bytes_of(asked.back()), 8),
                     golden::kAccessAll, false);
  for (Asked& a : asked) {
    a.request.sges[0] = {local.key, a.request.sges[0].length, local.va + a.local};
    nic.write_memory(local, a.local, a.payload);
  }
  std::vector<golden::Completion> done;
  size_t posted = 0;
  const TimePs end = world.now_ps() + kLimitPs;
  while ((done.size() < asked.size() || !peer.all_said()) && world.now_ps() < end) {
    while (posted < asked.size() && posted - done.size() < (1u << kLogSq) / 2 &&
           nic.post_send(0, asked[posted].request))
      ++posted;
    world.run_until(world.now_ps() + 1'000'000);
    while (const auto c = nic.poll(0)) done.push_back(*c);
  }
  world.run_until(world.now_ps() + kHeldBackPs);
  const bool failed = std::any_of(done.begin(), done.end(), [](const golden::Completion& c) {
    return c.status != golden::Status::kSuccess;
  });
  if (done.size() != asked.size())
    result.differences.push_back(
        fmt::format("{} of {} messages completed", done.size(), asked.size()));
  // What a failure flushes need not have left.
  if (peer.seen() != peer.wire().size() && !failed)
    result.differences.push_back(
        fmt::format("{} of {} requests left", peer.seen(), peer.wire().size()));
  if (side == Side::kClient && run.from_vt) compare_end(run, asked, done, nic, local, result);
  capture.close();
  return result;
}

}  // namespace rnic::sim
