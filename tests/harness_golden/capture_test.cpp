// SPDX-License-Identifier: Apache-2.0
// The golden endpoint against what a real software RoCEv2 stack did: its responder answers every
// recorded run's requests, its requester is driven by every recorded run's answers.
#include "harness/roce/capture_run.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>

#include "harness/golden/nic.hpp"
#include "harness/pcap/pcap.hpp"
#include "harness/roce/answer_compare.hpp"
#include "harness/roce/bytes.hpp"
#include "tests/support/catch.hpp"

using namespace rnic;
using namespace rnic::golden;
using roce::CapturedFrame;
using roce::CaptureFile;
using roce::CaptureRun;
using roce::FrameView;
using roce::ParseStatus;
using roce::Side;
using roce::SideParams;
using roce::Transport;

namespace {

constexpr uint32_t kReceiveKey = 0xEEEEEE01;
constexpr uint32_t kLocalKey = 0xEEEEEE02;
constexpr uint64_t kReceiveVa = 0x40;
constexpr uint64_t kFarAway = uint64_t{1} << 60;  // where bytes of a recorded region are kept

const std::vector<CaptureFile>& all_files() {
  static const std::vector<CaptureFile> kFiles = [] {
    std::vector<CaptureFile> files;
    for (const auto& path : roce::list_captures(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
      files.push_back(CaptureFile::load(path));
    }
    return files;
  }();
  return kFiles;
}

std::string text(const FrameView& v) {
  char b[128];
  std::snprintf(b, sizeof b, "opcode %02x PSN %06x syndrome %02x MSN %u length %u", v.opcode, v.psn,
                v.syndrome, v.msn, v.payload_len);
  return b;
}

int ibv_status(Status s) {
  switch (s) {
    case Status::kSuccess:
      return 0;
    case Status::kLocalLength:
      return 1;
    case Status::kLocalOperation:
      return 2;
    case Status::kLocalProtection:
      return 4;
    case Status::kFlushed:
      return 5;
    case Status::kBadResponse:
      return 7;
    case Status::kRemoteInvalid:
      return 9;
    case Status::kRemoteAccess:
      return 10;
    case Status::kRemoteOperation:
      return 11;
    case Status::kRetryExceeded:
      return 12;
    case Status::kRnrExceeded:
      return 13;
  }
  return -1;
}

// The side of a run as a golden endpoint.
struct Replica {
  // habits: as the recorded stack where the rules leave a choice.
  Replica(const CaptureRun& run, Side side, bool habits = true)
      : p(run.side(side)), nic(config(run, side)) {
    const SideParams& peer = run.side(roce::other(side));
    QpConfig c;
    c.qpn = p.qpn;
    c.transport = run.transport;
    c.pmtu = run.transport == Transport::kUd ? 4096 : p.pmtu;  // UD has the port's MTU
    c.dest_qpn = peer.qpn;
    c.dest_mac = peer.mac;
    c.dest_ip = peer.ip;
    c.udp_port = p.udp_port;
    c.mig_req = false;
    c.sq_psn = p.psn;
    c.rq_psn = peer.psn;
    c.timeout = 0;  // the recording brings its own retransmissions
    c.retry_cnt = p.retry;
    c.rnr_retry = p.rnr_retry;
    c.min_rnr_timer = p.min_rnr_timer;
    c.max_rd_atomic = c.max_dest_rd_atomic = 128;
    c.sq_depth = c.rq_depth = 1 << 20;
    c.requester = {.window = 1 << 22, .ack_every = 0};
    c.responder.ack_every_duplicate = true;
    c.responder.resume_read_in_middle = habits;
    c.responder.nak_gap_after_rnr = habits;
    c.responder.ack_failed_invalidate = habits;
    for (const CapturedFrame* f : run.delivered(side)) {  // the peer names the key of UD
      FrameView v;
      if (roce::parse_frame(f->bytes, v) == ParseStatus::kOk &&
          (v.info().ext & roce::kExtDeth) != 0 && v.dest_qp == p.qpn)
        c.qkey = v.qkey;
    }
    qp = nic.create_qp(c);
    initial = run.initial_memory(side);
    if (p.has_region) {
      nic.memory().add({.key = p.rkey, .pd = 1, .va = p.va, .length = p.length, .at = kFarAway});
      nic.memory().bytes().write(kFarAway, initial.data(), initial.size());
    }
    nic.memory().add(
        {.key = kReceiveKey, .pd = 1, .va = kReceiveVa, .length = 1 << 20, .at = kReceiveVa});
    nic.memory().bytes().fill(kReceiveVa, roce::kVtReceiveFill, p.receive_bytes);
  }
  static NicConfig config(const CaptureRun& run, Side side) {
    NicConfig c;
    c.ip = run.side(side).ip;
    c.mac = run.side(side).mac;
    c.tos = 0;
    c.pad_to_min = false;
    return c;
  }
  void post_receives() {
    for (uint32_t i = 0; i < p.receives; ++i)
      nic.post_recv(qp, {.wr_id = 1000 + i, .sges = {{kReceiveKey, p.receive_bytes, kReceiveVa}}});
  }
  uint64_t memory_fnv() {
    std::vector<uint8_t> m(p.length);
    nic.memory().bytes().read(kFarAway, m.data(), m.size());
    return roce::capture_fnv64(m);
  }
  uint64_t receive_fnv() {
    std::vector<uint8_t> m(p.receive_bytes);
    nic.memory().bytes().read(kReceiveVa, m.data(), m.size());
    return roce::capture_fnv64(m);
  }

  SideParams p;
  Nic nic;
  uint32_t qp = 0;
  std::vector<uint8_t> initial;
};

struct Replayed {
  std::vector<std::vector<uint8_t>> frames;
  std::vector<Completion> receives;
};

// Every answer at once, as the recorded stack.
Replayed replay(const CaptureRun& run, Side side, Replica& r) {
  Replayed out;
  bool posted = false;
  std::vector<uint8_t> frame;
  const std::vector<roce::HostWrite> writes = run.host_writes(side);
  auto write = writes.begin();
  for (const CapturedFrame* f : run.delivered(side)) {
    for (; write != writes.end() && write->before == f->index; ++write)
      r.nic.memory().bytes().write(kFarAway + write->offset, write->bytes.data(),
                                   write->bytes.size());
    if (!posted && f->index >= r.p.receives_posted_before) {
      r.post_receives();
      posted = true;
    }
    r.nic.receive(f->time_ns * 1000, f->bytes);
    while (r.nic.transmit(f->time_ns * 1000, frame)) out.frames.push_back(frame);
    while (auto c = r.nic.poll(r.qp)) {
      if (c->receive) out.receives.push_back(*c);
    }
  }
  return out;
}

// A frame with IP identification and checksums out of the way.
std::vector<uint8_t> neutral(std::vector<uint8_t> frame) {
  FrameView v;
  REQUIRE(roce::parse_frame(frame, v) == ParseStatus::kOk);
  if (!v.ipv6) {
    frame[v.l3_offset + 4] = frame[v.l3_offset + 5] = 0;
    roce::fix_ipv4_checksum(frame);
  } else {
    frame[v.l3_offset + 1] &= 0xF0;  // flow label: not part of a connection
    frame[v.l3_offset + 2] = frame[v.l3_offset + 3] = 0;
  }
  frame[v.udp_offset + 6] = frame[v.udp_offset + 7] = 0;
  roce::fix_icrc(frame);
  return frame;
}

bool same_header(const FrameView& a, const FrameView& b, bool memory_known) {
  if (a.opcode != b.opcode || a.psn != b.psn || a.payload_len != b.payload_len) return false;
  const uint16_t ext = a.info().ext;
  if ((ext & roce::kExtAeth) != 0 && (a.syndrome != b.syndrome || a.msn != b.msn)) return false;
  return !memory_known || (ext & roce::kExtAtomicAck) == 0 || a.atomic_orig == b.atomic_orig;
}

}  // namespace

TEST_CASE("compare_answers finds the recorded answers in a responder of our own choices") {
  // The golden responder without the recorded stack's habits: every allowed difference shows up.
  std::map<std::string, size_t> allowed;
  size_t answers = 0, equal = 0, runs = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kRc || !run.client.known || run.lossy_before_capture)
        continue;
      for (const Side side : {Side::kServer, Side::kClient}) {
        if (!run.requester(roce::other(side))) continue;
        INFO(run.name() << " (" << run.client_command << ")");
        Replica r(run, side, false);
        const Replayed got = replay(run, side, r);
        const roce::AnswerComparison c = roce::compare_answers(run, side, got.frames);
        for (const std::string& d : c.differences) FAIL_CHECK(d);
        for (const auto& [name, n] : c.allowed) allowed[name] += n;
        answers += c.answers;
        equal += c.equal_frames;
        ++runs;
      }
    }
  }
  CHECK(runs > 80);
  CHECK(answers > 500);
  CHECK(equal > 250);
  CHECK(allowed["nak_after_rnr"] > 0);
  CHECK(allowed["resumed_read"] > 0);
  CHECK(allowed["coalesced"] == 0);  // this one acknowledges whenever it is asked
}

TEST_CASE("compare_answers: a repeat may tell the MSN of the first time, no other one") {
  const auto file = roce::CaptureFile::load(std::string(RNIC_SOURCE_DIR) +
                                            "/tests/live/captures/read_bw_drop_in.json");
  const roce::CaptureRun& run = file.runs().at(0);
  CHECK(run.repeats(Side::kClient));
  CHECK_FALSE(run.repeats(Side::kServer));
  CHECK_FALSE(run.wire_times);
  std::vector<std::vector<uint8_t>> ours;  // as recorded, but for the MSN
  std::map<uint32_t, uint32_t> first;      // MSN by PSN
  size_t changed = 0;
  uint8_t* last = nullptr;  // of the last one that was changed
  for (const roce::CapturedFrame* f : run.sent_by(Side::kServer)) {
    FrameView v;
    REQUIRE(roce::parse_frame(f->bytes, v) == roce::ParseStatus::kOk);
    ours.push_back(f->bytes);
    if ((v.info().ext & roce::kExtAeth) == 0) continue;
    const auto [told, is_new] = first.emplace(v.psn, v.msn);
    if (is_new || told->second == v.msn) continue;
    ++changed;
    last = &ours.back()[v.ext_offset + 1u];
    last[0] = static_cast<uint8_t>(told->second >> 16);
    last[1] = static_cast<uint8_t>(told->second >> 8);
    last[2] = static_cast<uint8_t>(told->second);
  }
  REQUIRE(changed > 0);
  const auto c = roce::compare_answers(run, Side::kServer, ours);
  for (const std::string& d : c.differences) FAIL_CHECK(d);
  CHECK(c.allowed.at("repeat_msn") == changed);
  last[1] ^= 1;
  CHECK_FALSE(roce::compare_answers(run, Side::kServer, ours).ok());
}

TEST_CASE("compare_answers: an ACK may stand alone where the recording has coalesced it") {
  // The recorded run as a responder that coalesces would have answered it: of each connection only
  // the last ACK is left (the others get another UDP port in the file).
  const std::string from = std::string(RNIC_SOURCE_DIR) + "/tests/captures/send_bw_v4_mtu1024";
  const auto folder =
      std::filesystem::temp_directory_path() / ("rnic_coalesced_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(from + ".json", folder / "send_bw_v4_mtu1024.json");
  std::vector<std::vector<uint8_t>> frames;
  pcap::PcapReader in(from + ".pcap");
  pcap::PcapPacket packet;
  while (in.next(packet)) frames.emplace_back(packet.bytes.begin(), packet.bytes.end());
  std::map<uint32_t, size_t> last;
  size_t taken = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    FrameView v;
    if (roce::parse_frame(frames[i], v) != ParseStatus::kOk || v.opcode != roce::kRcAcknowledge)
      continue;
    if (const auto before = last.find(v.dest_qp); before != last.end()) {
      frames[before->second][v.udp_offset + 2u] ^= 0xFF;
      ++taken;
    }
    last[v.dest_qp] = i;
  }
  pcap::PcapWriter out((folder / "send_bw_v4_mtu1024.pcap").string());
  for (size_t i = 0; i < frames.size(); ++i) out.write(i * 1'000'000, frames[i]);
  out.close();
  const CaptureFile whole = CaptureFile::load(from + ".json");
  const CaptureFile coalesced = CaptureFile::load((folder / "send_bw_v4_mtu1024.json").string());
  size_t separate = 0;
  for (size_t n = 0; n < whole.runs().size(); ++n) {
    std::vector<std::vector<uint8_t>> ours;
    for (const CapturedFrame* f : whole.runs()[n].sent_by(Side::kServer)) ours.push_back(f->bytes);
    auto c = roce::compare_answers(coalesced.runs()[n], Side::kServer, ours);
    for (const std::string& d : c.differences) FAIL_CHECK(d);
    separate += c.allowed["separate"];
    // One that no request asked for is none of these.
    roce::store_be24(ours[0].data() + ours[0].size() - 11, whole.runs()[n].client.psn - 1);
    roce::fix_icrc(ours[0]);
    CHECK_FALSE(roce::compare_answers(coalesced.runs()[n], Side::kServer, ours).ok());
  }
  CHECK(separate == taken);
  CHECK(taken > 30);
  std::filesystem::remove_all(folder);
}

TEST_CASE("compare_answers: a changed answer is a difference, a coalesced one is not") {
  size_t changed = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kRc || !run.from_vt || run.lossy_before_capture) continue;
      if (!run.requester(Side::kClient) || run.client_command.find("sendinv") != std::string::npos)
        continue;
      Replica r(run, Side::kServer, true);
      const Replayed got = replay(run, Side::kServer, r);
      INFO(run.name() << " (" << run.client_command << ")");
      for (size_t i = 0; i < got.frames.size() && i < 8; ++i) {
        FrameView v;
        REQUIRE(roce::parse_frame(got.frames[i], v) == ParseStatus::kOk);
        // Last byte of MSN, payload or original value; last byte of an ACK's PSN.
        for (const size_t back : {5u, v.opcode == roce::kRcAcknowledge ? 9u : 5u}) {
          auto frames = got.frames;
          frames[i][frames[i].size() - back] ^= 1;
          roce::fix_icrc(frames[i]);
          CHECK_FALSE(roce::compare_answers(run, Side::kServer, frames).ok());
          ++changed;
        }
      }
      if (got.frames.empty()) continue;
      // The last answer is missing.
      auto frames = got.frames;
      frames.pop_back();
      CHECK_FALSE(roce::compare_answers(run, Side::kServer, frames).ok());
      // Only the last ACK is left of a row of them; what is asked for again is answered again.
      if (run.file == "wire_retry_exceeded.pcap") continue;
      FrameView last;
      REQUIRE(roce::parse_frame(got.frames.back(), last) == ParseStatus::kOk);
      if (last.opcode == roce::kRcAcknowledge && last.syndrome < 0x20) {
        std::vector<std::vector<uint8_t>> few;
        for (const auto& f : got.frames) {
          FrameView v;
          REQUIRE(roce::parse_frame(f, v) == ParseStatus::kOk);
          if (v.opcode != roce::kRcAcknowledge || v.syndrome >= 0x20) few.push_back(f);
        }
        few.push_back(got.frames.back());
        CHECK(roce::compare_answers(run, Side::kServer, few).ok());
      }
    }
  }
  CHECK(changed > 100);
}

TEST_CASE("the golden responder answers every recorded RC run as the recorded stack did") {
  size_t replayed = 0, equal_frames = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kRc || !run.client.known) continue;
      for (const Side side : {Side::kServer, Side::kClient}) {
        if (!run.requester(roce::other(side))) continue;
        INFO(run.name() << " (" << run.client_command << "), responder is the "
                        << (side == Side::kServer ? "server" : "client"));
        Replica r(run, side);
        const Replayed got = replay(run, side, r);
        size_t at = 0;
        for (const CapturedFrame* f : run.sent_by(side)) {
          FrameView want, have;
          REQUIRE(roce::parse_frame(f->bytes, want) == ParseStatus::kOk);
          if (want.info().is_request || want.dest_qp <= 1) continue;
          INFO("packet " << f->index + 1 << ": " << text(want));
          for (;; ++at) {
            REQUIRE(at < got.frames.size());
            REQUIRE(roce::parse_frame(got.frames[at], have) == ParseStatus::kOk);
            if (!run.lossy_before_capture || same_header(want, have, run.from_vt)) break;
          }
          INFO("golden: " << text(have));
          REQUIRE(same_header(want, have, run.from_vt));
          // Whole frames, where the memory is known.
          if (run.from_vt) {
            REQUIRE(neutral(f->bytes) == neutral(got.frames[at]));
            ++equal_frames;
          }
          ++at;
        }
        if (!run.lossy_before_capture) CHECK(at == got.frames.size());
        if (side == Side::kServer && run.from_vt) {
          REQUIRE(got.receives.size() == run.receives.size());
          for (size_t i = 0; i < got.receives.size(); ++i) {
            INFO("receive completion " << i);
            CHECK(got.receives[i].wr_id == run.receives[i].wr_id);
            CHECK(ibv_status(got.receives[i].status) == run.receives[i].status);
            if (run.receives[i].status != 0) continue;
            CHECK(got.receives[i].bytes == run.receives[i].byte_len);
            CHECK((got.receives[i].verb == Verb::kWriteImm ? 129 : 128) == run.receives[i].opcode);
            CHECK(got.receives[i].imm == run.receives[i].imm.value_or(0));
          }
        }
        if (side == Side::kServer) {
          if (run.server_buffer_fnv) CHECK(r.memory_fnv() == *run.server_buffer_fnv);
          if (run.server_receive_fnv) CHECK(r.receive_fnv() == *run.server_receive_fnv);
        }
        ++replayed;
      }
    }
  }
  CHECK(replayed > 100);
  CHECK(equal_frames > 300);
}

TEST_CASE("the golden UC and UD responders leave the memory and completions that were recorded") {
  size_t replayed = 0, digests = 0, completions = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kUc && run.transport != Transport::kUd) continue;
      if (!run.client.known || !run.server.known) continue;
      INFO(run.name() << " (" << run.client_command << ")");
      Replica r(run, Side::kServer);
      const Replayed got = replay(run, Side::kServer, r);
      CHECK(got.frames.empty());
      uint64_t requests = 0;
      for (const CapturedFrame* f : run.delivered(Side::kServer)) {
        FrameView v;
        REQUIRE(roce::parse_frame(f->bytes, v) == ParseStatus::kOk);
        requests += v.dest_qp == r.p.qpn;
      }
      CHECK(r.nic.responder(r.qp).stats().executed == requests);
      if (run.from_vt) {
        REQUIRE(got.receives.size() == run.receives.size());
        for (size_t i = 0; i < got.receives.size(); ++i) {
          CHECK(got.receives[i].wr_id == run.receives[i].wr_id);
          CHECK(got.receives[i].bytes == run.receives[i].byte_len);
          CHECK(got.receives[i].imm == run.receives[i].imm.value_or(0));
          if (run.transport == Transport::kUd) CHECK(got.receives[i].src_qp == run.client.qpn);
          ++completions;
        }
      }
      if (run.server_buffer_fnv) {
        CHECK(r.memory_fnv() == *run.server_buffer_fnv);
        ++digests;
      }
      if (run.server_receive_fnv) CHECK(r.receive_fnv() == *run.server_receive_fnv);
      ++replayed;
    }
  }
  CHECK(replayed >= 4);
  CHECK(digests >= 2);
  CHECK(completions >= 12);
}

TEST_CASE(
    "the golden requester sends what was recorded and completes it with the recorded answers") {
  size_t packets = 0, completions = 0, reads = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kRc || !run.client.known || run.lossy_before_capture)
        continue;
      // Retransmissions hang on the recorded stack's own timers.
      if (run.file.rfind("wire_", 0) == 0 || run.file.rfind("vt_rnr", 0) == 0 ||
          run.file.rfind("vt_send_inv", 0) == 0) {
        continue;
      }
      for (const Side side : {Side::kClient, Side::kServer}) {
        if (!run.requester(side)) continue;
        INFO(run.name() << " (" << run.client_command << "), requester is the "
                        << (side == Side::kServer ? "server" : "client"));
        Replica r(run, side);
        // What was asked for: each message's kind shows at its last packet.
        uint64_t landing = 0x10000000;
        r.nic.memory().add(
            {.key = kLocalKey, .pd = 1, .va = landing, .length = 1 << 28, .at = landing});
        std::vector<FrameView> message;
        std::vector<SendRequest> asked;
        std::vector<const CapturedFrame*> wire;
        for (const CapturedFrame* f : run.sent_by(side)) {
          FrameView v;
          REQUIRE(roce::parse_frame(f->bytes, v) == ParseStatus::kOk);
          if (!v.info().is_request || v.dest_qp <= 1) continue;
          wire.push_back(f);
          message.push_back(v);
          if (!v.info().is_last) continue;
          SendRequest w;
          w.wr_id = asked.size();
          switch (v.opcode) {
            case roce::kRcReadRequest:
              w.verb = Verb::kRead;
              break;
            case roce::kRcCompareSwap:
              w.verb = Verb::kCompareSwap;
              break;
            case roce::kRcFetchAdd:
              w.verb = Verb::kFetchAdd;
              break;
            case roce::kRcSendLast:
            case roce::kRcSendOnly:
              w.verb = Verb::kSend;
              break;
            case roce::kRcSendLastImm:
            case roce::kRcSendOnlyImm:
              w.verb = Verb::kSendImm;
              break;
            case roce::kRcWriteLastImm:
            case roce::kRcWriteOnlyImm:
              w.verb = Verb::kWriteImm;
              break;
            default:
              w.verb = Verb::kWrite;
          }
          w.remote_va = message[0].va;
          w.rkey = message[0].rkey;
          w.imm = v.imm;
          w.swap_add = v.swap_add;
          w.compare = v.compare;
          w.solicited = v.solicited;
          if (is_read_or_atomic(w.verb)) {
            const uint32_t n = w.verb == Verb::kRead ? v.dma_len : 8;
            w.sges = {{kLocalKey, n, landing}};
            landing += (n + 15) & ~7u;
          } else {
            for (const auto& m : message)
              w.inline_data.insert(w.inline_data.end(), m.payload().begin(), m.payload().end());
          }
          asked.push_back(w);
          message.clear();
        }
        for (const SendRequest& w : asked) REQUIRE(r.nic.post_send(r.qp, w));
        // Frames in the order of the recording.
        const auto answers = run.delivered(side);
        size_t next_answer = 0;
        std::vector<Completion> done;
        const auto feed = [&](uint32_t before) {
          while (next_answer < answers.size() && answers[next_answer]->index < before) {
            FrameView v;
            const CapturedFrame* f = answers[next_answer++];
            REQUIRE(roce::parse_frame(f->bytes, v) == ParseStatus::kOk);
            if (v.info().is_request) continue;
            r.nic.receive(f->time_ns * 1000, f->bytes);
            while (auto c = r.nic.poll(r.qp)) done.push_back(*c);
          }
        };
        std::vector<uint8_t> frame;
        for (const CapturedFrame* f : wire) {
          feed(f->index);
          INFO("packet " << f->index + 1);
          REQUIRE(r.nic.transmit(f->time_ns * 1000, frame));
          // AckReq inside a message is the sender's choice.
          FrameView want, have;
          REQUIRE(roce::parse_frame(f->bytes, want) == ParseStatus::kOk);
          REQUIRE(roce::parse_frame(frame, have) == ParseStatus::kOk);
          if (!want.info().is_last) frame[have.bth_offset + 8] = f->bytes[want.bth_offset + 8];
          REQUIRE(neutral(f->bytes) == neutral(frame));
          ++packets;
        }
        feed(~0u);
        if (side != Side::kClient || !run.from_vt) continue;
        REQUIRE(done.size() >= run.sends.size());
        for (size_t i = 0; i < run.sends.size(); ++i) {
          INFO("completion " << i << " of " << run.sends[i].op);
          CHECK(ibv_status(done[i].status) == run.sends[i].status);
          ++completions;
          if (run.sends[i].status != 0) continue;
          const SendRequest& w = asked[i];
          if (run.sends[i].atomic_orig || run.sends[i].read_fnv) {
            std::vector<uint8_t> got(w.length());
            r.nic.memory().read(kLocalKey, w.sges[0].va, got);
            if (run.sends[i].read_fnv) {
              // With a scatter list (-S) the client digested nothing.
              if (run.client_command.find(" -S ") != std::string::npos) continue;
              CHECK(roce::capture_fnv64(got) == *run.sends[i].read_fnv);
              ++reads;
            } else {
              CHECK(roce::load_le64(got.data()) == *run.sends[i].atomic_orig);
              ++reads;
            }
          }
        }
      }
    }
  }
  CHECK(packets > 1500);
  CHECK(completions > 50);
  CHECK(reads > 10);
}
