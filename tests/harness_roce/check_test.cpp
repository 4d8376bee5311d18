// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/check.hpp"

#include <random>
#include <vector>

#include "harness/roce/bytes.hpp"
#include "harness/roce/crc.hpp"
#include "tests/harness_roce/vectors.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::roce;
using rnic::test::from_hex;
using rnic::test::kVectors;

namespace {

std::vector<uint8_t> padded(const char* hex) {
  auto f = from_hex(hex);
  if (f.size() < 60) f.resize(60, 0);
  return f;
}

std::vector<uint8_t> write_frame(uint8_t opcode, uint32_t length, uint32_t dma_len) {
  FrameSpec s;
  s.ip_src = ipv4_address(10, 0, 0, 1);
  s.ip_dst = ipv4_address(10, 0, 0, 2);
  s.opcode = opcode;
  s.dma_len = dma_len;
  std::vector<uint8_t> payload(length, 1), out(6000);
  out.resize(build_frame(s, payload, out));
  return out;
}

// Exactly this rule is broken.
void expect_only(std::vector<uint8_t> f, Rule rule, CheckOptions o = {}) {
  const ViolationList bad = check_frame(f, o);
  INFO(describe(bad));
  REQUIRE(bad.size() == 1);
  CHECK(bad[0].rule == rule);
}

}  // namespace

TEST_CASE("all fourteen vectors pass the frame checker") {
  for (const auto& v : kVectors) {
    const auto bad = check_frame(padded(v.hex));
    INFO(v.number << ": " << v.title << ": " << describe(bad));
    CHECK(bad.empty());
    CHECK(bad.is_roce);
  }
}

TEST_CASE("the checker wants the minimum frame unless told that it was captured before padding") {
  const auto f = from_hex(kVectors[10].hex);
  REQUIRE(f.size() == 58);
  expect_only(f, Rule::kFrameTooShort);
  CheckOptions o;
  o.padded_to_min = false;
  CHECK(check_frame(f, o).empty());
}

TEST_CASE("raw frames are only checked as Ethernet") {
  auto arp = from_hex(
      "ffffffffffff02000000000108060001080006040001020000000001c0a80001000000000000c0a80002");
  arp.resize(60, 0);
  const auto bad = check_frame(arp);
  CHECK(bad.empty());
  CHECK_FALSE(bad.is_roce);
}

TEST_CASE("the checker names the broken field") {
  auto f = padded(kVectors[1].hex);  // WRITE_ONLY of 5 bytes
  SECTION("payload bit: iCRC") {
    f[70] ^= 1;
    expect_only(f, Rule::kIcrc);
  }
  SECTION("IP header checksum") {
    f[24] ^= 1;
    expect_only(f, Rule::kIpChecksum);
  }
  SECTION("UDP length shorter than the IP packet") {
    store_be16(&f[38], static_cast<uint16_t>(load_be16(&f[38]) - 4));
    expect_only(f, Rule::kUdpLength);
  }
  SECTION("pad count that does not fit the payload") {
    f[43] = static_cast<uint8_t>((f[43] & ~0x30) | 0x20);  // pad 2: payload 6
    fix_icrc(f);
    const auto bad = check_frame(f);
    CHECK(bad.has(Rule::kDmaLength));
    CHECK(bad.size() == 1);  // 6 bytes need pad 2
  }
  SECTION("pad that is missing") {
    f[43] = static_cast<uint8_t>(f[43] & ~0x30);
    f[69] = 8;  // DMA length: all eight bytes
    fix_icrc(f);
    CHECK(check_frame(f).empty());
    f[43] = static_cast<uint8_t>(f[43] | 0x10);  // pad 1 with 7 bytes is right, DMA length is not
    fix_icrc(f);
    expect_only(f, Rule::kDmaLength);
  }
  SECTION("pad bytes that are not zero") {
    f[76] = 0x33;
    fix_icrc(f);
    expect_only(f, Rule::kPadNotZero);
  }
  SECTION("transport version") {
    f[43] |= 1;
    fix_icrc(f);
    expect_only(f, Rule::kTver);
  }
  SECTION("reserved bits beside AckReq") {
    f[50] |= 4;
    fix_icrc(f);
    expect_only(f, Rule::kReservedBits);
  }
  SECTION("reserved bits beside BECN, which no iCRC covers") {
    f[46] |= 1;
    expect_only(f, Rule::kReservedBits);
  }
  SECTION("solicited event on a plain WRITE") {
    f[43] |= 0x80;
    fix_icrc(f);
    expect_only(f, Rule::kSolicited);
  }
  SECTION("reserved opcode") {
    f[42] = 0x15;
    fix_icrc(f);
    expect_only(f, Rule::kOpcode);
  }
  SECTION("bytes behind the iCRC") {
    f.push_back(0);
    expect_only(f, Rule::kTrailingBytes);
    CheckOptions o;
    o.allow_trailer = true;
    CHECK(check_frame(f, o).empty());
  }
  SECTION("cut frame") {
    f.resize(f.size() - 1);
    expect_only(f, Rule::kFrameTruncated);
  }
  SECTION("IP options") {
    f[14] = 0x46;
    fix_ipv4_checksum(f);
    expect_only(f, Rule::kIpHeader);
  }
  SECTION("TTL zero") {
    f[22] = 0;
    fix_ipv4_checksum(f);
    expect_only(f, Rule::kIpTtlZero);
  }
  SECTION("wrong UDP checksum; a right one is accepted") {
    f[40] = 0x12;
    f[41] = 0x34;
    const auto bad = check_frame(f);
    REQUIRE(bad.size() == 1);
    CHECK(bad[0].rule == Rule::kUdpChecksumBad);
    store_be16(&f[40], static_cast<uint16_t>(bad[0].expected));
    CHECK(check_frame(f).empty());
  }
}

TEST_CASE("each opcode's length rule is checked against the path MTU") {
  CheckOptions o;
  o.pmtu = 1024;
  CHECK(check_frame(write_frame(kRcWriteFirst, 1024, 3000), o).empty());
  expect_only(write_frame(kRcWriteFirst, 1020, 3000), Rule::kPayloadLength, o);
  expect_only(write_frame(kRcWriteFirst, 1024, 1024), Rule::kDmaLength, o);
  expect_only(write_frame(kRcWriteMiddle, 1000, 0), Rule::kPayloadLength, o);
  expect_only(write_frame(kRcWriteLast, 0, 0), Rule::kPayloadLength, o);
  expect_only(write_frame(kRcWriteLast, 1028, 0), Rule::kPayloadLength, o);
  CHECK(check_frame(write_frame(kRcWriteOnly, 0, 0), o).empty());
  expect_only(write_frame(kRcWriteOnly, 1025, 1025), Rule::kPayloadLength, o);
  expect_only(write_frame(kRcWriteOnly, 10, 11), Rule::kDmaLength, o);
  expect_only(write_frame(kRcReadRequest, 0, 0x80000001), Rule::kDmaLength, o);
  // Without a known MTU any legal one is accepted.
  CHECK(check_frame(write_frame(kRcWriteMiddle, 2048, 0)).empty());
  expect_only(write_frame(kRcWriteMiddle, 1000, 0), Rule::kPayloadLength);
}

TEST_CASE("acknowledgements and CNPs have rules of their own") {
  auto ack = padded(kVectors[2].hex);
  ack[54] = 0x40;
  fix_icrc(ack);
  expect_only(ack, Rule::kSyndrome);
  auto nak = padded(kVectors[3].hex);
  nak[54] = 0x64;
  fix_icrc(nak);
  expect_only(nak, Rule::kSyndrome);
  auto asks = padded(kVectors[2].hex);
  asks[50] = 0x80;
  fix_icrc(asks);
  expect_only(asks, Rule::kAckReqOnResponse);
  auto cnp = padded(kVectors[11].hex);
  cnp[60] = 1;
  fix_icrc(cnp);
  expect_only(cnp, Rule::kCnpFields);
}

TEST_CASE("VLAN tags are checked against what the run expects") {
  FrameSpec s;
  s.ip_src = ipv4_address(10, 0, 0, 1);
  s.ip_dst = ipv4_address(10, 0, 0, 2);
  s.opcode = kRcSendOnly;
  s.vlan_count = 1;
  s.vlan_tci = {0x6005, 0};
  std::vector<uint8_t> f(200);
  f.resize(build_frame(s, {}, f));
  CHECK(check_frame(f).empty());
  CheckOptions none;
  none.allow_vlan = false;
  expect_only(f, Rule::kVlanUnexpected, none);
  CheckOptions right;
  right.vlan_tci = 0x6005;
  CHECK(check_frame(f, right).empty());
  CheckOptions wrong;
  wrong.vlan_tci = 0x6006;
  expect_only(f, Rule::kVlanUnexpected, wrong);
}

TEST_CASE("the FCS is checked and taken off when the frame has one") {
  auto f = padded(kVectors[0].hex);
  const uint32_t fcs = crc32(f);
  f.resize(f.size() + 4);
  store_le32(&f[f.size() - 4], fcs);
  CheckOptions o;
  o.has_fcs = true;
  CHECK(check_frame(f, o).empty());
  f[f.size() - 1] ^= 1;
  expect_only(f, Rule::kFcs, o);
}

TEST_CASE("no single-bit error in what the iCRC covers passes the checker") {
  for (const auto& v : kVectors) {
    const auto good = padded(v.hex);
    for (size_t byte = 14; byte < good.size(); ++byte) {
      for (int bit = 0; bit < 8; ++bit) {
        auto f = good;
        f[byte] = static_cast<uint8_t>(f[byte] ^ (1 << bit));
        const auto bad = check_frame(f);
        const bool v6 = good[12] == 0x86;
        const size_t l3 = 14, udp = l3 + (v6 ? 40 : 20), bth = udp + 8;
        // Changes no receiver can see: the traffic class, flow label, TTL of IPv6, and FECN/BECN
        // outside a CNP.
        const bool free_v6 =
            v6 && (byte == 14 || byte == 15 || byte == 16 || byte == 17 || byte == 21);
        const bool free_ecn = byte == bth + 4 && (bit == 7 || bit == 6);
        INFO("vector " << v.number << " byte " << byte << " bit " << bit);
        if (free_v6 || free_ecn) continue;
        REQUIRE((!bad.empty() || !bad.is_roce));
      }
    }
  }
}

TEST_CASE("no damaged frame makes the parser or the checker read beyond it") {
  std::mt19937 rng(11);
  for (int round = 0; round < 20000; ++round) {
    auto f = from_hex(kVectors[rng() % 14].hex);
    if (rng() % 4 == 0) f.resize(rng() % (f.size() + 1));
    const size_t hits = 1 + rng() % 6;
    for (size_t i = 0; i < hits && !f.empty(); ++i) {
      f[rng() % f.size()] = static_cast<uint8_t>(rng());
    }
    // A copy of exactly its size, so that a sanitizer sees any byte beyond.
    const std::vector<uint8_t> exact(f.begin(), f.end());
    const ViolationList bad = check_frame(exact);
    FrameView v;
    const ParseStatus status = parse_frame(exact, v);
    REQUIRE(bad.status == status);
    if (status == ParseStatus::kOk) {
      REQUIRE(size_t{v.payload_offset} + v.payload_len + v.pad + 4 <= exact.size());
    }
  }
}

TEST_CASE("the checksum of a frame with IP options, as IGMP has them, covers the options") {
  // A report of RFC 3376 with the router alert of RFC 2113. 46c0 + 0028 + 4000 + 0102 + 0a4d + 000a
  // + e000 + 0016 + 9404 + 0000 is 2065b, folded 065d, inverted f9a2.
  auto f = from_hex(
      "01005e000016525400770010080046c0002800004000"
      "0102f9a20a4d000ae000001694040000"
      "2200fa010000000104000000e00000fb00000000");
  f.resize(60);
  CheckOptions o;
  CHECK(check_frame(f, o).empty());
  f[37] ^= 1;  // within the options
  CHECK(check_frame(f, o).has(Rule::kIpChecksum));
}
