// SPDX-License-Identifier: Apache-2.0
#include "sim/run/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "harness/cm/recorded.hpp"
#include "harness/mem/memory_checker.hpp"
#include "harness/roce/answer_compare.hpp"
#include "harness/roce/check.hpp"
#include "regs/gen/rnic_regs.h"
#include "sim/host/host.hpp"
#include "sim/run/recorded_side.hpp"

namespace rnic::sim {

namespace {
constexpr TimePs kMinGapPs = 2'000'000;
constexpr TimePs kMaxGapPs = 3'000'000;  // longer pauses of the recording are cut to this
constexpr TimePs kSettlePs = 20'000'000;

// Key of the receive buffer, beside the recorded one.
uint32_t receive_key(const roce::SideParams& self) {
  uint32_t key = 0x0001EE;
  const auto taken = [&](uint32_t other) { return other >> 8 == key >> 8; };
  while ((self.has_region && taken(self.rkey)) || std::ranges::any_of(self.other_rkeys, taken))
    key += 0x100;
  return key;
}

// Opcode of the CQE for a received message.
uint8_t receive_opcode(roce::MsgKind kind) {
  switch (kind) {
    case roce::MsgKind::kSendImm:
      return RNIC_CQE_OPCODE_RECV_IMM;
    case roce::MsgKind::kSendInv:
      return RNIC_CQE_OPCODE_RECV_INV;
    case roce::MsgKind::kWriteImm:
      return RNIC_CQE_OPCODE_RECV_WRITE_IMM;
    default:
      return RNIC_CQE_OPCODE_RECV;
  }
}
}  // namespace

std::vector<roce::CaptureRun> recorded_runs(const roce::CaptureFile& file) {
  std::vector<roce::CaptureRun> out;
  for (const roce::CaptureRun& run : file.runs()) {
    out.push_back(run);
    for (roce::CaptureRun& c : cm::recorded_connections(run)) out.push_back(std::move(c));
  }
  return out;
}

bool replayable(const roce::CaptureRun& run, roce::Side responder) {
  return (run.transport == roce::Transport::kRc || run.transport == roce::Transport::kUc) &&
         run.client.known && run.server.known && run.requester(roce::other(responder));
}

ReplayResult replay_run(const roce::CaptureRun& run, const ReplayOptions& options) {
  using roce::Side;
  ReplayResult result;
  const Side side =
      options.side.value_or(run.requester(Side::kClient) ? Side::kServer : Side::kClient);
  if (!replayable(run, side))
    throw std::invalid_argument(run.name() +
                                ": not an RC or UC run, or nothing is asked of this side");
  const roce::SideParams& self = run.side(side);
  const roce::SideParams& peer = run.side(roce::other(side));
  const auto differ = [&](const std::string& text) { result.differences.push_back(text); };

  World world;
  Node& node = world.add_node(replay_node("responder", options));

  // The far end of the cable: sends what is due, takes what comes.
  struct Due {
    TimePs time;
    std::vector<uint8_t> bytes;
  };
  std::vector<Due> due;
  size_t next = 0;
  // What the application there wrote, in time for the requests that read it.
  const std::vector<roce::HostWrite> writes = run.host_writes(side);
  std::vector<TimePs> write_times;
  size_t written = 0;
  mem::DmaBuffer memory;
  roce::AckEffect effect;
  std::vector<std::vector<uint8_t>> answers;
  wire::Link* link = nullptr;
  const auto far_end = [&](TimePs now) {
    wire::FrameInfo info;
    while (link->rx(1).take(now, info)) {
      ++result.frames_out;
      const roce::ViolationList bad = roce::check_frame(info.bytes);
      if (!bad.empty()) differ("frame from the NIC: " + roce::describe(bad));
      roce::FrameView v;
      if (roce::parse_frame(info.bytes, v) != roce::ParseStatus::kOk) {
        differ("a frame that is not RoCEv2 came from the NIC");
        continue;
      }
      if (v.dest_qp != peer.qpn)
        differ(fmt::format("a response to QP {:#x}, expected {:#x}", v.dest_qp, peer.qpn));
      effect.add(v);
      answers.emplace_back(info.bytes.begin(), info.bytes.end());
    }
    for (; written < write_times.size() && write_times[written] <= now; ++written) {
      const roce::HostWrite& w = writes[written];
      memory.write(w.offset, w.bytes.data(), w.bytes.size());
    }
    while (next < due.size() && due[next].time <= now) {
      link->tx(1).send(now, due[next].bytes);
      ++next;
    }
  };
  link = &world.open_end(node, replay_cable(options.data_w), far_end, kReplayGrainPs);
  ReplayCapture capture(options.pcap_file, *link);
  world.power_on();

  // The responder as it was.
  Host host(world, node, {.id = 1});
  host.start(2);
  driver::Device& nic = host.nic();
  if (self.qpn >= nic.capabilities().n_qp)
    throw std::runtime_error(fmt::format("{}: QPN {:#x} is beyond this NIC's {}", run.name(),
                                         self.qpn, nic.capabilities().n_qp));
  mark_as_recorded(nic);
  nic.create_path(recorded_path(self, peer));
  std::vector<uint8_t> initial = run.initial_memory(side);
  if (self.has_region) {
    initial.resize(self.length);
    memory =
        node.dma().alloc(self.length, mem::kReadWrite, mem::kPageBytes, self.va & mem::kPageMask);
    memory.write(0, initial.data(), initial.size());
    std::vector<uint32_t> keys = self.other_rkeys;
    keys.push_back(self.rkey);
    for (const uint32_t key : keys) {
      driver::MrRequest mr;
      mr.index = key >> 8;
      mr.tag = static_cast<uint8_t>(key);
      mr.pd = 1;
      mr.va = self.va;
      mr.length = self.length;
      mr.iova = memory.bus_addr();
      nic.create_mr(mr);
    }
  }
  // One buffer for all receives, as in the recording.
  mem::DmaBuffer received;
  if (self.receives > 0) {
    received = node.dma().alloc(std::max<uint64_t>(self.receive_bytes, 1), mem::kReadWrite);
    const std::vector<uint8_t> fill(received.size(), roce::kVtReceiveFill);
    received.write(0, fill.data(), fill.size());
    driver::MrRequest mr;
    mr.index = receive_key(self) >> 8;
    mr.tag = static_cast<uint8_t>(receive_key(self));
    mr.pd = 1;
    mr.va = received.bus_addr();
    mr.length = received.size();
    mr.iova = received.bus_addr();
    mr.remote_write = mr.remote_read = mr.remote_atomic = false;
    nic.create_mr(mr);
  }
  auto cq = nic.create_cq(0, 11);
  driver::QpRequest q;
  q.qpn = self.qpn;
  q.service = recorded_service(run);
  q.pd = 1;
  q.log_rq = static_cast<uint32_t>(std::bit_width(std::max(self.receives, 2u) - 1));
  auto qp = nic.create_qp(std::move(q));
  driver::ConnectRequest c;
  c.service = recorded_service(run);
  c.dest_qpn = peer.qpn;
  c.path = 1;
  c.mtu = mtu_code(self.pmtu);
  c.rq_psn = peer.psn;
  c.sq_psn = self.psn;
  c.min_rnr_timer = self.min_rnr_timer;
  nic.connect(*qp, c);
  world.run_until(world.now_ps() + 1'000'000);
  mem::MemoryChecker checker(node.memory(), "host memory");
  checker.snapshot();
  if (self.has_region) checker.ignore(memory, 0, memory.size());
  if (self.receives > 0) checker.ignore(received, 0, received.size());
  node.ignore(checker, cq->ring_addr(), uint64_t{RNIC_CQE_BYTES} * cq->entries());
  node.ignore(checker, qp->rq_addr(), uint64_t{RNIC_WQE_BLOCK} << qp->log_rq());
  host.ignore_written_rings(checker);

  // The recording, with its pauses cut; but its requester had waited for the answers in between.
  const std::vector<const roce::CapturedFrame*> recorded = run.sent_by(side);
  const TimePs byte_ps = 8'000'000'000'000 / replay_cable(options.data_w).rate_bps;
  size_t answered = 0;
  const auto answers_before = [&](uint64_t index) {
    uint64_t bytes = 0;
    for (; answered < recorded.size() && recorded[answered]->index < index; ++answered)
      bytes += recorded[answered]->bytes.size() + wire::kFcsBytes + wire::kOverheadBytes;
    return bytes;
  };
  bool posted = false;
  uint64_t before_ns = 0;
  TimePs at = world.now_ps();
  for (const roce::CapturedFrame* f : run.delivered(side)) {
    if (!posted && f->index >= self.receives_posted_before) {
      world.run_until(std::max(world.now_ps(), at) + kMaxGapPs);
      for (uint32_t i = 0; i < self.receives; ++i)
        qp->post_receive({{receive_key(self), self.receive_bytes, received.bus_addr()}});
      if (self.receives > 0) qp->ring_receives();
      world.run_until(world.now_ps() + kMaxGapPs);
      at = world.now_ps();
      posted = true;
    }
    // A recorded software stack had answered a frame before it looked at the next one, a repeat
    // included.
    const TimePs pause = std::clamp<TimePs>((f->time_ns - std::min(before_ns, f->time_ns)) * 1000,
                                            run.wire_times ? 0 : kMinGapPs, kMaxGapPs);
    const TimePs answers_ps = answers_before(f->index) * byte_ps;
    const TimePs gap = result.frames_in == 0 ? 0 : std::max(pause, answers_ps);
    before_ns = f->time_ns;
    while (write_times.size() < writes.size() && writes[write_times.size()].before == f->index)
      write_times.push_back(at + gap / 2);
    at += gap;
    Due d{at, f->bytes};
    // The recording was taken before padding.
    if (d.bytes.size() < wire::kMinFrameBytes) d.bytes.resize(wire::kMinFrameBytes);
    due.push_back(std::move(d));
    ++result.frames_in;
  }
  world.run_until(std::max(world.now_ps(), at) + kSettlePs);
  // Until nothing more comes.
  for (uint64_t seen = ~uint64_t{0}; seen != result.frames_out;) {
    seen = result.frames_out;
    world.run_until(world.now_ps() + kSettlePs);
  }
  if (next != due.size() || written != writes.size())
    throw std::logic_error("replay: frames were left over");

  // Memory.
  const roce::ReferenceReplay want = roce::reference_replay(run, side);
  if (self.has_region) {
    std::vector<uint8_t> got(memory.size());
    memory.read(0, got.data(), got.size());
    result.bytes_compared = got.size();
    const auto m = std::mismatch(got.begin(), got.end(), want.memory.begin(), want.memory.end());
    if (m.first != got.end())
      differ(fmt::format("memory at {:#x} (offset {}) is {:#04x}, expected {:#04x}",
                         self.va + (m.first - got.begin()), m.first - got.begin(), *m.first,
                         *m.second));
    if (side == Side::kServer && run.server_buffer_fnv) {
      const uint64_t fnv = roce::capture_fnv64(got);
      if (fnv != *run.server_buffer_fnv)
        differ(fmt::format("digest of the memory is {:016x}, the recording's is {:016x}", fnv,
                           *run.server_buffer_fnv));
    }
  }
  if (self.receives > 0 && side == Side::kServer && run.server_receive_fnv) {
    std::vector<uint8_t> got(received.size());
    received.read(0, got.data(), got.size());
    if (roce::capture_fnv64(got) != *run.server_receive_fnv)
      differ("digest of the receive buffer is not the recording's");
  }
  if (auto d = checker.compare()) differ("something else changed: " + d->to_string());

  // Answers that were lost before the point of capture are not in the recording, and which repeats
  // a NIC answers depends on its host's times: then only what was acknowledged in the end is
  // compared, with the reference model.
  roce::AnswerComparison compared;
  if (!run.lossy_before_capture) compared = roce::compare_answers(run, side, answers);
  const bool times = !compared.ok() && run.wire_times && run.repeats(roce::other(side));
  if (run.lossy_before_capture || times) {
    if (const std::string d = effect.difference(want.effect); !d.empty())
      differ("acknowledgements: " + d);
    if (times) result.allowed["times"] = 1;
  } else {
    for (const std::string& d : compared.differences) differ(d);
    result.allowed = compared.allowed;
    result.equal_frames = compared.equal_frames;
  }
  result.acks = fmt::format("through PSN {:#x}, MSN {}, {} NAKs", effect.acked_through.value_or(0),
                            effect.msn, effect.naks.size());

  // Completions of the receives.
  std::vector<driver::Completion> completions;
  while (auto e = cq->poll()) {
    if (e->ok()) completions.push_back(*e);
  }
  size_t n = 0;
  for (const roce::RecvCompletion& w : want.completions) {
    if (w.status != roce::WcStatus::kSuccess) continue;
    if (n >= completions.size()) break;
    const driver::Completion& e = completions[n++];
    if (e.byte_count != w.byte_len || e.imm.value_or(0) != w.imm ||
        e.opcode != receive_opcode(w.kind))
      differ(fmt::format(
          "receive completion {}: {}, {} bytes, immediate {:#x}; expected opcode {}, {} bytes, "
          "immediate {:#x}",
          n - 1, driver::opcode_name(e.opcode), e.byte_count, e.imm.value_or(0),
          receive_opcode(w.kind), w.byte_len, w.imm));
  }
  const auto want_good = static_cast<size_t>(std::count_if(
      want.completions.begin(), want.completions.end(),
      [](const roce::RecvCompletion& w) { return w.status == roce::WcStatus::kSuccess; }));
  // The recorded stack refused to invalidate; here the SEND is good, and so is its completion.
  const bool invalidates = result.allowed.contains("after_invalidate");
  if (completions.size() != want_good && !invalidates)
    differ(fmt::format("{} receives completed, expected {}", completions.size(), want_good));
  result.receive_completions = completions.size();
  capture.close();
  return result;
}

}  // namespace rnic::sim
