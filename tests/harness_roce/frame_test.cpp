// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/frame.hpp"

#include <random>
#include <vector>

#include "harness/roce/aeth.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "harness/roce/psn.hpp"
#include "harness/roce/segmenter_model.hpp"
#include "tests/harness_roce/vectors.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::roce;
using rnic::test::from_hex;
using rnic::test::kVectors;

namespace {

FrameSpec a_to_b() {
  FrameSpec s;
  s.eth_dst = {2, 0, 0, 0, 0, 2};
  s.eth_src = {2, 0, 0, 0, 0, 1};
  s.ip_src = ipv4_address(192, 168, 0, 1);
  s.ip_dst = ipv4_address(192, 168, 0, 2);
  s.udp_src = 0xC123;
  s.dest_qp = 0x11;
  return s;
}

FrameSpec b_to_a() {
  FrameSpec s = a_to_b();
  std::swap(s.eth_dst, s.eth_src);
  std::swap(s.ip_src, s.ip_dst);
  s.dest_qp = 0x12;
  return s;
}

struct Built {
  FrameSpec spec;
  std::vector<uint8_t> payload;
};

// The vectors again, as the structs that make them.
Built spec_of(int number) {
  Built b{a_to_b(), {}};
  FrameSpec& s = b.spec;
  switch (number) {
    case 1:
      s.opcode = kRcSendOnly;
      s.psn = 0x10;
      s.ack_req = true;
      b.payload = from_hex("deadbeef01020304");
      break;
    case 2:
      s.opcode = kRcWriteOnly;
      s.psn = 0x11;
      s.ack_req = true;
      s.va = 0x0000123456789000;
      s.rkey = 0x1234;
      s.dma_len = 5;
      b.payload = from_hex("a1a2a3a4a5");
      break;
    case 3:
    case 4:
    case 5:
      s = b_to_a();
      s.opcode = kRcAcknowledge;
      s.psn = number == 3 ? 0x11 : 0x13;
      s.syndrome = number == 3 ? 0x1F : number == 4 ? 0x60 : 0x2C;
      s.msn = number == 3 ? 2 : 3;
      break;
    case 6:
      s.opcode = kRcReadRequest;
      s.psn = 0x12;
      s.ack_req = true;
      s.va = 0x0000123456789000;
      s.rkey = 0x1234;
      s.dma_len = 5000;
      break;
    case 7:
      s = b_to_a();
      s.opcode = kRcReadRespOnly;
      s.psn = 0x12;
      s.msn = 3;
      b.payload = from_hex("55aa");
      break;
    case 8:
      s.opcode = kRcFetchAdd;
      s.psn = 0xFFFFFF;
      s.ack_req = true;
      s.va = 0x0000123456789008;
      s.rkey = 0x1234;
      s.swap_add = 1;
      break;
    case 9:
      s = b_to_a();
      s.opcode = kRcAtomicAck;
      s.psn = 0xFFFFFF;
      s.msn = 4;
      s.atomic_orig = 0x1122334455667788;
      break;
    case 10:
      s.opcode = kRcWriteOnlyImm;
      s.psn = 0x14;
      s.ack_req = true;
      s.solicited = true;
      s.imm = 0xcafe0001;
      break;
    case 11:
      s.opcode = kRcSendOnly;
      s.psn = 0x20;
      s.ack_req = true;
      break;
    case 12:
    case 13:
      s = b_to_a();
      s.opcode = kCnp;
      s.tos = 0xC2;
      s.becn = true;
      s.mig_req = false;
      if (number == 13) {
        s.eth_dst = {0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2};
        s.eth_src = {0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32};
        s.ip_src = ipv4_address(10, 0, 17, 1);
        s.ip_dst = ipv4_address(10, 0, 18, 1);
        s.ip_id = 0x718c;
        s.udp_src = 0;
        s.dest_qp = 0x118;
      }
      break;
    case 14:
      s.opcode = kRcSendOnly;
      s.psn = 0x10;
      s.ack_req = true;
      s.ip_src = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
      s.ip_dst = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
      b.payload = from_hex("deadbeef01020304");
      break;
    default:
      break;
  }
  return b;
}

}  // namespace

TEST_CASE("the builder reproduces all fourteen vectors byte for byte") {
  for (const auto& v : kVectors) {
    INFO(v.number << ": " << v.title);
    const Built b = spec_of(v.number);
    std::vector<uint8_t> out(200);
    const size_t n =
        build_frame(b.spec, b.payload, out, {.pad_to_min = false, .append_fcs = false});
    out.resize(n);
    CHECK(out == from_hex(v.hex));
  }
}

TEST_CASE("the parser reads back every field of the vectors") {
  for (const auto& v : kVectors) {
    INFO(v.number << ": " << v.title);
    const auto f = from_hex(v.hex);
    const Built b = spec_of(v.number);
    FrameView p;
    REQUIRE(parse_frame(f, p) == ParseStatus::kOk);
    CHECK(icrc_good(p));
    CHECK(p.eth_dst == b.spec.eth_dst);
    CHECK(p.eth_src == b.spec.eth_src);
    CHECK(p.ip_src == b.spec.ip_src);
    CHECK(p.ip_dst == b.spec.ip_dst);
    CHECK(p.tos == b.spec.tos);
    CHECK(p.ttl == b.spec.ttl);
    CHECK(p.ip_id == b.spec.ip_id);
    CHECK(p.udp_src == b.spec.udp_src);
    CHECK(p.opcode == b.spec.opcode);
    CHECK(p.psn == b.spec.psn);
    CHECK(p.dest_qp == b.spec.dest_qp);
    CHECK(p.ack_req == b.spec.ack_req);
    CHECK(p.solicited == b.spec.solicited);
    CHECK(p.mig_req == b.spec.mig_req);
    CHECK(p.becn == b.spec.becn);
    CHECK(std::vector<uint8_t>(p.payload().begin(), p.payload().end()) == b.payload);
    const uint16_t ext = p.info().ext;
    if (ext & (kExtReth | kExtAtomic)) CHECK(p.va == b.spec.va);
    if (ext & (kExtReth | kExtAtomic)) CHECK(p.rkey == b.spec.rkey);
    if (ext & kExtReth) CHECK(p.dma_len == b.spec.dma_len);
    if (ext & kExtAeth) CHECK(p.syndrome == b.spec.syndrome);
    if (ext & kExtAeth) CHECK(p.msn == b.spec.msn);
    if (ext & kExtImm) CHECK(p.imm == b.spec.imm);
    if (ext & kExtAtomic) CHECK(p.swap_add == b.spec.swap_add);
    if (ext & kExtAtomicAck) CHECK(p.atomic_orig == b.spec.atomic_orig);
  }
}

TEST_CASE(
    "every opcode survives build and parse with tags, both IP versions and any payload length") {
  std::mt19937 rng(3);
  std::vector<uint8_t> payload(4096), out(5000);
  for (auto& b : payload) b = static_cast<uint8_t>(rng());
  for (int op = 0; op < 256; ++op) {
    const OpcodeInfo& info = opcode_info(static_cast<uint8_t>(op));
    if (!info.known) continue;
    for (int vlan = 0; vlan <= 2; ++vlan) {
      for (bool v6 : {false, true}) {
        for (uint32_t len : {0u, 1u, 2u, 3u, 4u, 255u, 1024u, 4096u}) {
          if (info.payload == PayloadRule::kNone && len != 0) continue;
          FrameSpec s = a_to_b();
          if (v6) s.ip_src = {0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
          s.vlan_count = static_cast<uint8_t>(vlan);
          s.vlan_tci = {0x6005, 0x2123};
          s.opcode = static_cast<uint8_t>(op);
          s.psn = 0xABCDEF;
          s.va = 0x1122334455667788;
          s.rkey = 0xCAFEBABE;
          s.dma_len = len;
          s.imm = 0x01020304;
          s.inv_rkey = 0x99887766;
          s.qkey = 0x11111111;
          s.src_qp = 0x42;
          s.flow_label = 0xABCDE;
          const size_t n =
              build_frame(s, {payload.data(), len}, out, {.pad_to_min = true, .append_fcs = true});
          REQUIRE(n >= 64);
          REQUIRE(load_le32(&out[n - 4]) == crc32({out.data(), n - 4}));
          FrameView p;
          REQUIRE(parse_frame({out.data(), n - 4}, p) == ParseStatus::kOk);
          REQUIRE(p.opcode == op);
          REQUIRE(p.payload_len == len);
          REQUIRE(p.pad == pad_of(len));
          REQUIRE(p.vlan_count == vlan);
          REQUIRE(p.ipv6 == v6);
          REQUIRE(icrc_good(p));
          REQUIRE(std::equal(p.payload().begin(), p.payload().end(), payload.begin()));
          if (v6) REQUIRE(p.flow_label == 0xABCDE);
          if (info.ext & kExtReth) REQUIRE(p.va == s.va);
          if (info.ext & kExtImm) REQUIRE(p.imm == s.imm);
          if (info.ext & kExtIeth) REQUIRE(p.inv_rkey == s.inv_rkey);
          if (info.ext & kExtDeth) REQUIRE((p.qkey == s.qkey && p.src_qp == s.src_qp));
        }
      }
    }
  }
}

TEST_CASE("frames that are not RoCEv2 are told from broken ones") {
  FrameView p;
  CHECK(parse_frame(from_hex("ffffffffffff02000000000108060001080006040001"), p) ==
        ParseStatus::kNotRoce);
  CHECK(parse_frame(from_hex("ffffffffffff0200"), p) == ParseStatus::kTruncated);
  auto f = from_hex(kVectors[0].hex);
  SECTION("another UDP port") {
    f[36] = 0;
    CHECK(parse_frame(f, p) == ParseStatus::kNotRoce);
  }
  SECTION("TCP") {
    f[23] = 6;
    CHECK(parse_frame(f, p) == ParseStatus::kNotRoce);
  }
  SECTION("IP options") {
    f[14] = 0x46;
    CHECK(parse_frame(f, p) == ParseStatus::kBadIpHeader);
  }
  SECTION("a fragment") {
    f[21] = 1;
    CHECK(parse_frame(f, p) == ParseStatus::kBadIpHeader);
  }
  SECTION("an IP length beyond the frame") {
    f[17] = static_cast<uint8_t>(f[17] + 4);
    CHECK(parse_frame(f, p) == ParseStatus::kTruncated);
  }
  SECTION("UDP and IP lengths that disagree") {
    f[39] = static_cast<uint8_t>(f[39] - 4);
    CHECK(parse_frame(f, p) == ParseStatus::kBadLength);
  }
  SECTION("a packet too short for its extended header") {
    f[42] = kRcFetchAdd;
    CHECK(parse_frame(f, p) == ParseStatus::kBadLength);
  }
  SECTION("a reserved opcode") {
    f[42] = 0x15;
    CHECK(parse_frame(f, p) == ParseStatus::kUnknownOpcode);
  }
  SECTION("cut anywhere, nothing is read beyond the end") {
    for (size_t n = 0; n < f.size(); ++n) {
      std::vector<uint8_t> cut(f.begin(), f.begin() + static_cast<long>(n));
      CHECK(parse_frame(cut, p) != ParseStatus::kOk);
    }
  }
}

TEST_CASE("a congestion mark keeps the iCRC and repairs the IPv4 checksum") {
  auto f = from_hex(kVectors[0].hex);
  REQUIRE(mark_congestion(f));
  FrameView p;
  REQUIRE(parse_frame(f, p) == ParseStatus::kOk);
  CHECK(p.ecn() == 3);
  CHECK(icrc_good(p));
  CHECK(p.ip_checksum == ipv4_checksum({&f[14], 20}));
  auto not_ect = from_hex(kVectors[0].hex);
  not_ect[15] = 0;
  CHECK_FALSE(mark_congestion(not_ect));
  auto v6 = from_hex(kVectors[13].hex);
  REQUIRE(mark_congestion(v6));
  REQUIRE(parse_frame(v6, p) == ParseStatus::kOk);
  CHECK(p.ecn() == 3);
  CHECK(icrc_good(p));
}

TEST_CASE("the UDP source port follows the flow label convention") {
  CHECK(udp_source_port(0, 0x11, 0x12) == 0xC132);
  CHECK(udp_source_port(0xABCDE, 0x11, 0x12) == 0xFCF4);
}

TEST_CASE("sequence numbers wrap at 24 bits") {
  CHECK(psn_diff(0x000000, 0xFFFFFF) == 1);
  CHECK(psn_diff(0xFFFFFF, 0x000000) == -1);
  CHECK(psn_diff(0x800000, 0) == -(1 << 23));
  CHECK(psn_diff(0x7FFFFF, 0) == (1 << 23) - 1);
  CHECK(psn_add(0xFFFFFF, 2) == 1);
  CHECK(psn_sub(0, 1) == 0xFFFFFF);
  CHECK(psn_before(0xFFFFFE, 1));
}

TEST_CASE("a message takes one packet per MTU and at least one") {
  CHECK(message_psns(0, 1024) == 1);
  CHECK(message_psns(1024, 1024) == 1);
  CHECK(message_psns(1025, 1024) == 2);
  CHECK(message_psns(5000, 1024) == 5);
  CHECK(message_psns(kMaxMessage, 256) == 1u << 23);
}

TEST_CASE("the segments of a message cover it exactly, for every kind, MTU and boundary length") {
  for (MsgKind kind : {MsgKind::kSend, MsgKind::kSendImm, MsgKind::kSendInv, MsgKind::kWrite,
                       MsgKind::kWriteImm, MsgKind::kReadResponse}) {
    for (uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
      for (uint32_t base : {0u, mtu, 2 * mtu, 5 * mtu}) {
        for (int d = -3; d <= 3; ++d) {
          const int64_t len = int64_t{base} + d;
          if (len < 0) continue;
          const auto length = static_cast<uint64_t>(len);
          const uint32_t n = message_packets(kind, length, mtu);
          uint64_t next = 0;
          for (uint32_t i = 0; i < n; ++i) {
            const Segment s = message_segment(kind, length, mtu, i);
            const OpcodeInfo& info = opcode_info(s.opcode);
            REQUIRE(s.offset == next);
            REQUIRE(info.is_first == (i == 0));
            REQUIRE(info.is_last == (i == n - 1));
            if (info.payload == PayloadRule::kPmtu) REQUIRE(s.length == mtu);
            if (info.payload == PayloadRule::kOneToPmtu)
              REQUIRE((s.length >= 1 && s.length <= mtu));
            REQUIRE((s.length + s.pad) % 4 == 0);
            next += s.length;
          }
          REQUIRE(next == length);
        }
      }
    }
  }
}

TEST_CASE("the segmenter gives a READ the PSNs of its responses") {
  SegmenterModel qp({.pmtu = 1024, .dest_qp = 0x11, .first_psn = 0x12});
  std::vector<ExpectedPacket> out;
  qp.expand(
      {.kind = MsgKind::kReadRequest, .length = 5000, .remote_va = 0x123456789000, .rkey = 0x1234},
      out);
  REQUIRE(out.size() == 1);
  CHECK(qp.next_psn() == 0x17);
  FrameView v;
  const auto f = from_hex(kVectors[5].hex);
  REQUIRE(parse_frame(f, v) == ParseStatus::kOk);
  CHECK(mismatch(out[0], v) == "");
  out[0].dma_len = 4999;
  CHECK(mismatch(out[0], v) == "DMA length: got 0x1388, expected 0x1387");
  const auto tail = SegmenterModel::read_tail(
      {.kind = MsgKind::kReadRequest, .length = 5000, .remote_va = 0x1000, .rkey = 1}, 1024, 2);
  CHECK(tail.remote_va == 0x1000 + 2048);
  CHECK(tail.length == 5000 - 2048);
}

TEST_CASE("the segmenter's packets become frames that match it") {
  SegmenterModel qp({.pmtu = 256, .dest_qp = 0x11, .first_psn = 0xFFFFFE});
  std::vector<ExpectedPacket> out;
  qp.expand({.kind = MsgKind::kWriteImm,
             .length = 1001,
             .remote_va = 0x7000,
             .rkey = 5,
             .imm = 9,
             .solicited = true},
            out);
  qp.expand({.kind = MsgKind::kSendInv, .length = 0, .inv_rkey = 0x77}, out);
  qp.expand(
      {.kind = MsgKind::kCompareSwap, .remote_va = 0x7008, .rkey = 5, .swap_add = 1, .compare = 2},
      out);
  REQUIRE(out.size() == 6);
  CHECK(qp.next_psn() == 4);
  CHECK(out[2].psn == 0);
  CHECK(out[3].remote_va == 0x7000 + 768);
  std::vector<uint8_t> payload(256, 0x5A), buffer(400);
  for (const auto& p : out) {
    const size_t n =
        build_frame(to_frame_spec(p, a_to_b()), {payload.data(), p.payload_len}, buffer);
    FrameView v;
    REQUIRE(parse_frame({buffer.data(), n}, v) == ParseStatus::kOk);
    CHECK(mismatch(p, v) == "");
  }
}

TEST_CASE("syndromes, credits and receiver-not-ready delays follow the tables") {
  CHECK(aeth_kind(0x1F) == AethKind::kAck);
  CHECK(aeth_kind(0x2C) == AethKind::kRnrNak);
  CHECK(aeth_kind(0x60) == AethKind::kNak);
  CHECK(make_syndrome(AethKind::kNak, kNakRemoteAccess) == 0x62);
  CHECK(credits_of(0x0A) == 32);
  CHECK(credits_of(0x1E) == 32768);
  CHECK(credits_of(0x1F) == kCreditsUnlimited);
  CHECK(credit_code(100) == 0x0D);
  CHECK(rnr_delay_us(0) == 655360);
  CHECK(rnr_delay_us(12) == 640);
  CHECK(rnr_delay_us(25) == 61440);
  CHECK(rnr_delay_us(31) == 491520);
  // After code 0, the delays grow, and each is twice the one two before it from code 4 on.
  for (uint8_t c = 2; c < 32; ++c)
    CHECK(rnr_delay_us(c) > rnr_delay_us(static_cast<uint8_t>(c - 1)));
  for (uint8_t c = 6; c < 32; ++c)
    CHECK(rnr_delay_us(c) == 2 * rnr_delay_us(static_cast<uint8_t>(c - 2)));
}
