// SPDX-License-Identifier: Apache-2.0
#include "sim/run/datagram_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>

#include "harness/mem/memory_checker.hpp"
#include "regs/gen/rnic_regs.h"
#include "sim/host/host.hpp"
#include "sim/run/recorded_side.hpp"

namespace rnic::sim {

namespace {
using roce::CapturedFrame;
using roce::FrameView;
using roce::Side;

constexpr uint32_t kGrhBytes = 40, kIpv4Bytes = 20;
constexpr uint32_t kBufferBytes = 65536;
constexpr TimePs kGapPs = 3'000'000, kSettlePs = 20'000'000;

std::vector<const CapturedFrame*> datagrams_to(const roce::CaptureRun& run, Side side) {
  std::vector<const CapturedFrame*> out;
  FrameView v;
  for (const CapturedFrame* f : run.arrived(side)) {
    if (roce::parse_frame(f->bytes, v) == roce::ParseStatus::kOk &&
        v.info().transport == roce::Transport::kUd)
      out.push_back(f);
  }
  return out;
}

// What a receive holds: the IPv6 header, or 20 zero bytes and the IPv4 header; the payload.
std::vector<uint8_t> received_bytes(const FrameView& v) {
  std::vector<uint8_t> out(v.ipv6 ? 0 : kGrhBytes - kIpv4Bytes, 0);
  const auto ip = v.bytes.subspan(v.l3_offset, v.ipv6 ? kGrhBytes : kIpv4Bytes);
  out.insert(out.end(), ip.begin(), ip.end());
  out.insert(out.end(), v.payload().begin(), v.payload().end());
  return out;
}

// A QP that gets datagrams; all of them into one buffer, as vt does.
struct Receiver {
  Qp* qp = nullptr;
  uint32_t qkey = 0;
  uint32_t messages = 0;
  mem::DmaBuffer buffer;
  std::vector<uint8_t> want;
};

Receiver make_receiver(Host& host, uint32_t qpn, Receiver r) {
  driver::Device& nic = host.nic();
  if (qpn >= nic.capabilities().n_qp)
    throw std::runtime_error(
        fmt::format("QPN {:#x} is beyond this NIC's {}", qpn, nic.capabilities().n_qp));
  r.buffer = host.node().dma().alloc(kBufferBytes, mem::kReadWrite);
  r.want.assign(kBufferBytes, roce::kVtReceiveFill);
  r.buffer.write(0, r.want.data(), r.want.size());
  driver::MrRequest mr;
  mr.index = 1 + qpn;
  mr.pd = 1;
  mr.va = mr.iova = r.buffer.bus_addr();
  mr.length = kBufferBytes;
  mr.remote_write = mr.remote_read = mr.remote_atomic = false;
  nic.create_mr(mr);
  QpOptions o;
  o.service = RNIC_QP_TYPE_UD;
  o.log_rq = static_cast<uint32_t>(std::bit_width(r.messages | 1));
  o.number = qpn;
  r.qp = &host.create_qp(std::move(o));
  driver::ConnectRequest c;
  c.service = RNIC_QP_TYPE_UD;
  c.qkey = r.qkey;
  nic.connect(*r.qp->qp, c);
  for (uint32_t i = 0; i < r.messages; ++i)
    r.qp->qp->post_receive({{mr.index << 8, kBufferBytes, r.buffer.bus_addr()}});
  r.qp->qp->ring_receives();
  return r;
}

std::string text(const driver::Completion& c) {
  return fmt::format("{} {}, {} bytes from QP {:#x}, immediate {:#x}, {}{}",
                     driver::opcode_name(c.opcode), driver::status_name(c.status), c.byte_count,
                     c.src_qpn, c.imm.value_or(0), c.ipv6 ? "IPv6" : "IPv4",
                     c.grh ? " with header" : "");
}

driver::Completion expected(const FrameView& v) {
  driver::Completion c;
  const bool imm = (v.info().ext & roce::kExtImm) != 0;
  c.opcode = imm ? RNIC_CQE_OPCODE_RECV_IMM : RNIC_CQE_OPCODE_RECV;
  c.byte_count = kGrhBytes + v.payload_len;
  c.src_qpn = v.src_qp;
  if (imm) c.imm = v.imm;
  c.ipv6 = v.ipv6;
  c.grh = true;
  return c;
}

bool same(const driver::Completion& a, const driver::Completion& b) {
  return a.opcode == b.opcode && a.status == b.status && a.byte_count == b.byte_count &&
         a.src_qpn == b.src_qpn && a.imm == b.imm && a.ipv6 == b.ipv6 && a.grh == b.grh;
}
}  // namespace

bool gets_datagrams(const roce::CaptureRun& run, Side side) {
  return !datagrams_to(run, side).empty();
}

DatagramReplay replay_datagrams(const roce::CaptureRun& run, const ReplayOptions& options) {
  const Side side = options.side.value_or(Side::kServer);
  const std::vector<const CapturedFrame*> frames = datagrams_to(run, side);
  if (frames.empty()) throw std::invalid_argument(run.name() + ": this side gets no datagrams");
  DatagramReplay result;
  result.datagrams = frames.size();
  const auto differ = [&](const std::string& text) { result.differences.push_back(text); };

  World world;
  Node& node = world.add_node(replay_node("receiver", options));
  const CapturedFrame* due = nullptr;
  wire::Link* link = nullptr;
  const auto far_end = [&](TimePs now) {
    wire::FrameInfo info;
    while (link->rx(1).take(now, info)) differ("the NIC answered a datagram");
    if (due == nullptr) return;
    std::vector<uint8_t> bytes = due->bytes;
    if (bytes.size() < wire::kMinFrameBytes) bytes.resize(wire::kMinFrameBytes);
    link->tx(1).send(now, bytes);
    due = nullptr;
  };
  link = &world.open_end(node, replay_cable(options.data_w), far_end, kReplayGrainPs);
  ReplayCapture capture(options.pcap_file, *link);
  world.power_on();
  Host host(world, node, {.id = 1});
  host.start_device(run.side(side).mac);

  std::map<uint32_t, Receiver> receivers;
  FrameView v;
  for (const CapturedFrame* f : frames) {
    roce::parse_frame(f->bytes, v);
    Receiver& r = receivers[v.dest_qp];
    if (r.messages++ != 0 && r.qkey != v.qkey)
      differ(fmt::format("recorded: two Q_Keys for QP {:#x}", v.dest_qp));
    r.qkey = v.qkey;
  }
  for (auto& [qpn, r] : receivers) r = make_receiver(host, qpn, std::move(r));
  result.qps = receivers.size();
  world.run_until(world.now_ps() + kGapPs);
  mem::MemoryChecker checker(node.memory(), "host memory");
  checker.snapshot();
  for (auto& [qpn, r] : receivers) checker.ignore(r.buffer, 0, r.buffer.size());
  host.ignore_rings(checker);

  auto recorded = run.receives.begin();
  for (const CapturedFrame* f : frames) {
    roce::parse_frame(f->bytes, v);
    Receiver& r = receivers.at(v.dest_qp);
    const auto where = fmt::format("packet {} to QP {:#x}", f->index + 1, v.dest_qp);
    due = f;
    world.run_until(world.now_ps() + kGapPs);
    const std::vector<uint8_t> bytes = received_bytes(v);
    std::ranges::copy(bytes, r.want.begin());
    std::vector<uint8_t> got(r.want.size());
    r.buffer.read(0, got.data(), got.size());
    if (const auto m = std::ranges::mismatch(got, r.want); m.in1 != got.end())
      differ(fmt::format("{}: byte {} is {:#04x}, expected {:#04x}", where, m.in1 - got.begin(),
                         *m.in1, *m.in2));
    const auto c = r.qp->cq->poll();
    const driver::Completion want = expected(v);
    if (!c || !same(*c, want))
      differ(fmt::format("{}: {}; expected {}", where, c ? text(*c) : "no completion", text(want)));
    if (c && side == Side::kServer && recorded != run.receives.end()) {
      if (recorded->status != 0 || recorded->byte_len != c->byte_count || recorded->imm != c->imm)
        differ(fmt::format("{}: {}; the recorded stack had status {}, {} bytes, immediate {:#x}",
                           where, text(*c), recorded->status, recorded->byte_len,
                           recorded->imm.value_or(0)));
      ++result.completions;
      ++recorded;
    }
  }
  world.run_until(world.now_ps() + kSettlePs);
  for (auto& [qpn, r] : receivers) {
    if (const auto c = r.qp->cq->poll())
      differ(fmt::format("QP {:#x}: one completion more, {}", qpn, text(*c)));
  }
  if (auto d = checker.compare()) differ("something else changed: " + d->to_string());
  if (side == Side::kServer && run.server_receive_fnv && receivers.size() == 1) {
    result.digest = true;
    std::vector<uint8_t> got(kBufferBytes);
    receivers.begin()->second.buffer.read(0, got.data(), got.size());
    if (roce::capture_fnv64(got) != *run.server_receive_fnv)
      differ("digest of the receive buffer is not the recording's");
  }
  capture.close();
  return result;
}

}  // namespace rnic::sim
