// SPDX-License-Identifier: Apache-2.0
// The reference models against what a real software RoCEv2 stack did: every recorded RC run is
// replayed.
#include "harness/roce/capture_run.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "harness/roce/capture_replay.hpp"
#include "harness/roce/check.hpp"
#include "harness/roce/responder_model.hpp"
#include "harness/roce/segmenter_model.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::roce;
using rnic::test::contains_text;

namespace {

const std::string kFolder = std::string(RNIC_SOURCE_DIR) + "/tests/captures";

const std::vector<CaptureFile>& all_files() {
  static const std::vector<CaptureFile> kFiles = [] {
    std::vector<CaptureFile> files;
    for (const auto& path : list_captures(kFolder)) files.push_back(CaptureFile::load(path));
    return files;
  }();
  return kFiles;
}

// One run by "file run".
const CaptureRun& run_of(const char* file, uint32_t number) {
  const std::string name = std::string(file) + ".pcap";
  for (const auto& f : all_files()) {
    for (const auto& r : f.runs()) {
      if (r.file == name && r.number == number) return r;
    }
  }
  throw std::runtime_error(name + ": no such run");
}

int ibv_status(WcStatus s) {
  switch (s) {
    case WcStatus::kSuccess:
      return 0;
    case WcStatus::kLocalLength:
      return 1;
    case WcStatus::kLocalProtection:
      return 4;
    case WcStatus::kFlushed:
      return 5;
    case WcStatus::kRemoteInvalidRequest:
      return 9;
  }
  return -1;
}

std::string text(uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t msn) {
  char b[96];
  std::snprintf(b, sizeof b, "%s psn 0x%06x syndrome 0x%02x msn %u", opcode_short_name(opcode), psn,
                syndrome, msn);
  return b;
}

bool same(const ResponsePacket& r, const FrameView& v, bool memory_known) {
  if (r.opcode != v.opcode || r.psn != v.psn || r.payload_len != v.payload_len) return false;
  const uint16_t ext = v.info().ext;
  if ((ext & kExtAeth) && (r.syndrome != v.syndrome || r.msn != v.msn)) return false;
  return !memory_known || !(ext & kExtAtomicAck) || r.atomic_orig == v.atomic_orig;
}

// The capture's own responses against the model's: equal, or (frames lost before the capture) in
// order within them.
void compare_responses(const CaptureRun& run, Side side, const ReferenceReplay& got) {
  size_t at = 0, compared = 0;
  for (const CapturedFrame* f : run.sent_by(side)) {
    FrameView v;
    REQUIRE(parse_frame(f->bytes, v) == ParseStatus::kOk);
    if (v.info().is_request || v.dest_qp <= 1) continue;
    INFO(run.name() << " packet " << f->index + 1 << ": "
                    << text(v.opcode, v.psn, v.syndrome, v.msn));
    if (run.lossy_before_capture) {
      while (at < got.responses.size() && !same(got.responses[at], v, run.from_vt)) ++at;
    }
    REQUIRE(at < got.responses.size());
    const ResponsePacket& r = got.responses[at];
    INFO("model: " << text(r.opcode, r.psn, r.syndrome, r.msn));
    REQUIRE(same(r, v, run.from_vt));
    if (run.from_vt) {
      REQUIRE(std::equal(v.payload().begin(), v.payload().end(), got.payloads[at].begin(),
                         got.payloads[at].end()));
    }
    ++at;
    ++compared;
  }
  INFO(run.name() << ": " << compared << " of " << got.responses.size() << " responses");
  if (!run.lossy_before_capture) REQUIRE(at == got.responses.size());
}

void compare_completions(const CaptureRun& run, const ReferenceReplay& got) {
  if (!run.from_vt) return;
  REQUIRE(got.completions.size() == run.receives.size());
  for (size_t i = 0; i < run.receives.size(); ++i) {
    INFO(run.name() << " completion " << i);
    const RecordedReceive& want = run.receives[i];
    const RecvCompletion& c = got.completions[i];
    CHECK(c.wr_id == want.wr_id);
    CHECK(ibv_status(c.status) == want.status);
    if (want.status != 0) continue;
    CHECK(c.byte_len == want.byte_len);
    CHECK((c.kind == MsgKind::kWriteImm ? 129 : 128) == want.opcode);
    const bool has_imm = c.kind == MsgKind::kWriteImm || c.kind == MsgKind::kSendImm;
    CHECK(has_imm == want.imm.has_value());
    if (want.imm) CHECK(c.imm == *want.imm);
  }
}

}  // namespace

TEST_CASE("every recorded capture loads with its runs and parameters") {
  size_t runs = 0, all_write = 0, rc = 0;
  std::set<std::string> writes;
  for (const auto& f : all_files()) {
    for (const auto& r : f.runs()) {
      ++runs;
      if (r.transport == Transport::kRc) ++rc;
      if (r.all_write()) {
        ++all_write;
        writes.insert(r.file);
        CHECK(r.client.known);
        CHECK(r.server.has_region);
        CHECK(r.server.length > 0);
        CHECK(r.requester(Side::kClient));
        CHECK_FALSE(r.requester(Side::kServer));
      }
    }
  }
  CHECK(all_files().size() == 44);
  CHECK(runs == 144);
  CHECK(rc == 134);
  CHECK(all_write == 34);
  CHECK(writes == std::set<std::string>{"netem_loss4_v4.pcap", "vt_nak_access_v4.pcap",
                                        "vt_rnr_v4.pcap", "wire_drop_write_first.pcap",
                                        "wire_drop_write_last.pcap", "wire_drop_write_middle.pcap",
                                        "wire_retry_exceeded.pcap", "write_bw_v4_mtu1024.pcap",
                                        "wrs_bw_v4_mtu2048.pcap", "wrs_bw_v4_mtu256.pcap",
                                        "wrs_bw_v4_mtu4096.pcap", "wrs_bw_v6global_mtu4096.pcap"});
}

TEST_CASE("parameters come from the JSON and addresses from the frames") {
  const CaptureRun& r = run_of("vt_imm_v4", 0);
  CHECK(r.client.qpn == 0x34);
  CHECK(r.server.qpn == 0x3f);
  CHECK(r.client.psn == 0xc3077c);
  CHECK(r.server.rkey == 0x35f2);
  CHECK(r.server.va == 0x7ff3a2853000);
  CHECK(r.server.length == 131072);
  CHECK(r.server.receives == 30);
  CHECK(r.server.ip == ipv4_address(10, 77, 0, 2));
  CHECK(to_string(r.client.mac) == "52:54:00:77:00:01");
  CHECK(r.client.udp_port >= 0xC000);
  CHECK(r.receives.size() == 16);
  CHECK(r.receives[3].imm == 0xabcd0090u);
  CHECK(r.sends.size() == 16);
  CHECK(r.transport == Transport::kRc);
  CHECK_FALSE(r.all_write());
  CHECK(run_of("wrs_bw_v6global_mtu4096", 0).server.ip ==
        IpAddr{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2});
  CHECK(run_of("vt_uc_v4", 0).transport == Transport::kUc);
  CHECK(run_of("vt_rnr_v4", 2).server.min_rnr_timer == 21);
}

TEST_CASE("a run may leave out the frames of other QPs") {
  const CaptureRun& run = run_of("read_bw_cm_v4", 0);
  size_t requests = 0;
  for (Side side : {Side::kClient, Side::kServer}) {
    for (const CapturedFrame* f : run.sent_by(side)) {
      FrameView v;
      REQUIRE(parse_frame(f->bytes, v) == ParseStatus::kOk);
      CHECK(v.dest_qp == run.side(other(side)).qpn);
      requests += v.info().is_request;
    }
    CHECK(run.sent_by(side).size() == 5);
    CHECK(run.delivered(other(side)).size() == 5);
  }
  CHECK(requests == 5);  // READs, of 42 requests in the file
  CHECK(run_of("rping_v4", 0).sent_by(Side::kClient).size() > 5);
}

TEST_CASE("the wire's faults are applied to what is delivered") {
  const auto psns = [](const std::vector<const CapturedFrame*>& frames) {
    std::vector<uint32_t> out;
    for (const auto* f : frames) {
      FrameView v;
      parse_frame(f->bytes, v);
      out.push_back(v.psn);
    }
    return out;
  };
  const CaptureRun& drop = run_of("wire_drop_write_middle", 0);
  CHECK(drop.sent_by(Side::kClient).size() == drop.delivered(Side::kServer).size() + 1);
  const CaptureRun& dup = run_of("wire_dup_requests", 0);
  CHECK(dup.sent_by(Side::kClient).size() + 6 == dup.delivered(Side::kServer).size());
  const CaptureRun& hold = run_of("wire_reorder_requests", 0);
  const auto order = psns(hold.delivered(Side::kServer));
  REQUIRE(order.size() > 3);
  CHECK(order[0] == 6181572);
  CHECK(order[1] == 6181574);
  CHECK(order[2] == 6181573);
  const CaptureRun& bad = run_of("wire_corrupt_icrc", 0);
  size_t corrupted = 0;
  for (const auto* f : bad.delivered(Side::kServer)) {
    FrameView v;
    REQUIRE(parse_frame(f->bytes, v) == ParseStatus::kOk);
    CHECK(icrc_good(v) == !f->corrupted);
    corrupted += f->corrupted;
  }
  CHECK(corrupted == 1);
}

TEST_CASE("the responder model answers every recorded RC run as the recorded responder did") {
  size_t replayed = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kRc || !run.client.known) continue;
      for (Side side : {Side::kServer, Side::kClient}) {
        if (!run.requester(other(side))) continue;
        // The stack's other half of a lossy run is compared as far as it was captured.
        INFO(run.name() << " (" << run.client_command << "), responder is the "
                        << (side == Side::kServer ? "server" : "client"));
        const ReferenceReplay got = reference_replay(run, side);
        compare_responses(run, side, got);
        if (!run.lossy_before_capture)
          CHECK(got.effect.difference(recorded_effect(run, side)) == "");
        if (side == Side::kServer) {
          compare_completions(run, got);
          if (run.server_buffer_fnv) CHECK(capture_fnv64(got.memory) == *run.server_buffer_fnv);
          if (run.server_receive_fnv)
            CHECK(capture_fnv64(got.receive_buffer) == *run.server_receive_fnv);
        }
        ++replayed;
      }
    }
  }
  CHECK(replayed > 100);
}

TEST_CASE("a repeated ACK stream and its coalesced form have the same effect") {
  const CaptureRun& run = run_of("wire_drop_write_first", 0);
  AckEffect all, some;
  for (const auto* f : run.sent_by(Side::kServer)) {
    FrameView v;
    REQUIRE(parse_frame(f->bytes, v) == ParseStatus::kOk);
    all.add(v);
  }
  REQUIRE(all.naks.size() == 1);
  CHECK(all.naks[0].syndrome == 0x60);
  CHECK(all.naks[0].psn == 10407328);
  CHECK(all.acked_through == 10407333u);
  CHECK(all.msn == 2);
  some.add(kRcAcknowledge, 10407328, 0x60, 0);
  some.add(kRcAcknowledge, 10407333, 0x00, 2);  // coalesced, other credits
  CHECK(some.difference(all) == "");
  some.add(kRcAcknowledge, 10407334, 0x62, 2);
  CHECK(some.difference(all) == "NAK 1: syndrome 0x62 at PSN 0x9ecda6, expected none");
}

TEST_CASE("the segmenter cuts every message of the fault-free runs as the recorded requester did") {
  size_t packets = 0;
  for (const auto& file : all_files()) {
    for (const auto& run : file.runs()) {
      if (run.transport != Transport::kRc || !run.client.known || run.lossy_before_capture)
        continue;
      if (run.file.rfind("wire_", 0) == 0 || run.file.rfind("vt_rnr", 0) == 0 ||
          run.file.rfind("vt_send_inv", 0) == 0) {
        continue;  // retransmissions
      }
      for (Side side : {Side::kClient, Side::kServer}) {
        if (!run.requester(side)) continue;
        SegmenterModel model({.pmtu = run.side(side).pmtu,
                              .dest_qp = run.side(other(side)).qpn,
                              .first_psn = run.side(side).psn});
        // Gather each message: its kind shows at its last packet, its length as the sum.
        std::vector<FrameView> message;
        for (const CapturedFrame* f : run.sent_by(side)) {
          FrameView v;
          REQUIRE(parse_frame(f->bytes, v) == ParseStatus::kOk);
          if (!v.info().is_request) continue;
          message.push_back(v);
          if (!v.info().is_last) continue;
          WorkRequest wr;
          wr.kind = v.info().kind;
          for (const auto& m : message) wr.length += m.payload_len;
          if (wr.kind == MsgKind::kReadRequest) wr.length = v.dma_len;
          wr.remote_va = message[0].va;
          wr.rkey = message[0].rkey;
          wr.imm = v.imm;
          wr.swap_add = v.swap_add;
          wr.compare = v.compare;
          std::vector<ExpectedPacket> want;
          model.expand(wr, want);
          INFO(run.name() << " message that ends at packet " << f->index + 1);
          REQUIRE(want.size() == message.size());
          for (size_t i = 0; i < want.size(); ++i) {
            REQUIRE(mismatch(want[i], message[i]) == "");
            ++packets;
          }
          message.clear();
        }
        CHECK(message.empty());
      }
    }
  }
  CHECK(packets > 1000);
}

TEST_CASE("a key that was recorded and never used names no region") {
  namespace fs = std::filesystem;
  const fs::path folder =
      fs::temp_directory_path() / ("rnic_unused_key_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string name = "send_bw_v4_mtu1024";
  fs::copy_file(kFolder + "/" + name + ".pcap", folder / (name + ".pcap"),
                fs::copy_options::overwrite_existing);
  std::ifstream in(kFolder + "/" + name + ".json");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  // As perftest 25 names it for SENDs.
  std::ofstream(folder / (name + ".json")) << std::regex_replace(
      text, std::regex(R"("psn":)"), R"("rkey": "0x00001814", "vaddr": "0x56165e720000", "psn":)");
  const CaptureFile file = CaptureFile::load((folder / (name + ".json")).string());
  REQUIRE_FALSE(file.runs().empty());
  for (const CaptureRun& run : file.runs()) {
    REQUIRE(run.server.key_recorded);
    CHECK_FALSE(run.server.has_region);
    CHECK(run.initial_memory(Side::kServer).empty());
  }
  fs::remove_all(folder);
}

TEST_CASE("a capture that does not fit its JSON is refused with the file") {
  CHECK_THROWS_WITH(CaptureFile::load("/nonexistent/a.json"),
                    contains_text("/nonexistent/a.json: cannot open"));
}
