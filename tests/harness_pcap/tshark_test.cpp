// SPDX-License-Identifier: Apache-2.0
// Our parser, checker and names against tshark's, on every recorded capture and on frames of our
// own.
#include "harness/pcap/tshark.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/pcap/pcap.hpp"
#include "harness/roce/check.hpp"
#include "harness/roce/frame.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::pcap;
using namespace rnic::roce;

namespace {

uint32_t swap32(uint32_t v) {
  return (v >> 24) | ((v >> 8) & 0xFF00u) | ((v << 8) & 0xFF0000u) | (v << 24);
}

size_t compare_with_tshark(const std::string& path) {
  const std::vector<TsharkFrame> theirs = Tshark::decode(path);
  PcapReader in(path);
  PcapPacket p;
  size_t roce = 0;
  for (const TsharkFrame& t : theirs) {
    REQUIRE(in.next(p));
    INFO(path << " frame " << t.number << " " << t.protocols);
    FrameView v;
    const ParseStatus status = parse_frame(p.bytes, v);
    REQUIRE((status == ParseStatus::kOk) == t.opcode.has_value());
    if (status != ParseStatus::kOk) continue;
    ++roce;
    CHECK(v.opcode == *t.opcode);
    if (!t.psn) continue;
    CHECK(v.psn == *t.psn);
    CHECK(v.dest_qp == t.dest_qp);
    CHECK(v.pad == t.pad);
    CHECK(v.ack_req == (t.ack_req == 1u));
    CHECK(v.udp_length == t.udp_length);
    if (t.ip_length) CHECK(v.ip_length == *t.ip_length);
    const uint16_t ext = v.info().ext;
    if ((ext & kExtAeth) && t.syndrome) CHECK(v.syndrome == *t.syndrome);
    if ((ext & kExtAeth) && t.msn) CHECK(v.msn == *t.msn);
    if (ext & kExtReth) {
      CHECK(v.va == t.va);
      CHECK(v.rkey == t.rkey);
      CHECK(v.dma_len == t.dma_length);
    }
    if ((ext & kExtImm) && t.imm) CHECK(v.imm == *t.imm);
    if (t.icrc) CHECK(swap32(v.icrc) == *t.icrc);
  }
  CHECK_FALSE(in.next(p));
  return roce;
}

std::vector<std::string> captures() {
  std::vector<std::string> out;
  for (const auto& e :
       std::filesystem::directory_iterator(std::string(RNIC_SOURCE_DIR) + "/tests/captures")) {
    if (e.path().extension() == ".pcap") out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("every recorded frame passes our checker") {
  size_t frames = 0;
  for (const std::string& path : captures()) {
    PcapReader in(path);
    PcapPacket p;
    while (in.next(p)) {
      CheckOptions o;
      o.padded_to_min = false;
      const ViolationList bad = check_frame(p.bytes, o);
      INFO(path << " packet " << p.number << ": " << describe(bad));
      REQUIRE(bad.empty());
      if (bad.is_roce) ++frames;
    }
  }
  CHECK(frames > 3000);  // of all recorded frames
}

TEST_CASE("tshark decodes the recorded captures as our parser does") {
  if (!Tshark::available()) {
    WARN("tshark is not installed: comparison skipped");
    return;
  }
  size_t roce = 0;
  for (const char* name : {"vt_imm_v4", "vt_atomics_v4", "vt_psn_wrap_v4", "vt_nak_access_v4",
                           "vt_ud_v4", "vt_uc_v4", "vt_send_inv_v4", "wrs_bw_v6global_mtu4096"}) {
    roce += compare_with_tshark(std::string(RNIC_SOURCE_DIR) + "/tests/captures/" + name + ".pcap");
  }
  CHECK(roce == 233);
}

TEST_CASE("opcode names are spelled as tshark spells them") {
  if (!Tshark::available()) {
    WARN("tshark is not installed: comparison skipped");
    return;
  }
  const auto names = Tshark::opcode_names();
  REQUIRE(names.size() > 40);
  size_t compared = 0;
  for (uint32_t op = 0; op < 0x80; ++op) {
    if (!opcode_info(static_cast<uint8_t>(op)).known) continue;
    INFO("opcode " << op);
    REQUIRE(names.count(op) == 1);
    CHECK(names.at(op) == opcode_name(static_cast<uint8_t>(op)));
    ++compared;
  }
  CHECK(compared == 23 + 12 + 2);
}

TEST_CASE("tshark decodes every RC frame that our builder makes, tagged and untagged") {
  if (!Tshark::available()) {
    WARN("tshark is not installed: comparison skipped");
    return;
  }
  const auto path =
      (std::filesystem::temp_directory_path() / ("rnic_tshark" + std::to_string(::getpid())))
          .string();
  std::vector<uint8_t> payload(1024, 0xA5), buffer(1200);
  size_t built = 0;
  {
    PcapWriter out(path);
    for (int op = 0; op < 0x18; ++op) {
      if (!opcode_info(static_cast<uint8_t>(op)).known) continue;
      for (uint8_t tags = 0; tags < 2; ++tags) {
        FrameSpec s;
        s.eth_dst = {2, 0, 0, 0, 0, 2};
        s.eth_src = {2, 0, 0, 0, 0, 1};
        s.ip_src = ipv4_address(10, 0, 0, 1);
        s.ip_dst = ipv4_address(10, 0, 0, 2);
        s.vlan_count = tags;
        s.vlan_tci = {0x6064, 0};
        s.opcode = static_cast<uint8_t>(op);
        s.psn = 0xFFFF00u + static_cast<uint32_t>(op);
        s.dest_qp = 0x10 + static_cast<uint32_t>(op);
        s.va = 0x7F0011223344;
        s.rkey = 0x1234;
        s.dma_len = 99;
        s.imm = 0x00000010;
        s.msn = 77;
        const bool empty = opcode_info(s.opcode).payload == PayloadRule::kNone;
        const size_t n = build_frame(s, {payload.data(), empty ? 0u : 1021u + (op & 3u)}, buffer);
        out.write(built++ * 1000, {buffer.data(), n});
      }
    }
    out.close();
  }
  CHECK(compare_with_tshark(path) == built);
  for (const TsharkFrame& t : Tshark::decode(path)) {
    INFO("frame " << t.number);
    CHECK_FALSE(t.malformed);
  }
  std::filesystem::remove(path);
}
