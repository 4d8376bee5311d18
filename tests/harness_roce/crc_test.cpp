// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/crc.hpp"

#include <random>
#include <span>
#include <vector>

#include "harness/roce/bytes.hpp"
#include "harness/roce/frame.hpp"
#include "tests/harness_roce/vectors.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::roce;
using rnic::test::from_hex;
using rnic::test::kVectors;

namespace {

// One bit at a time, as the definition says.
uint32_t crc_bitwise(uint32_t reg, std::span<const uint8_t> bytes) {
  for (uint8_t b : bytes) {
    for (int i = 0; i < 8; ++i) {
      const bool feedback = ((reg ^ (b >> i)) & 1) != 0;
      reg >>= 1;
      if (feedback) reg ^= 0xEDB88320u;
    }
  }
  return reg;
}

size_t ip_length(std::span<const uint8_t> ip) {
  return (ip[0] >> 4) == 6 ? 40u + load_be16(&ip[4]) : load_be16(&ip[2]);
}

}  // namespace

TEST_CASE("CRC-32 of the check string is the published value") {
  const std::string text = "123456789";
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  CHECK(crc32(bytes) == 0xCBF43926u);
}

TEST_CASE("the sliced CRC equals the bit-serial one at every length and start") {
  std::mt19937 rng(7);
  std::vector<uint8_t> data(600);
  for (auto& b : data) b = static_cast<uint8_t>(rng());
  for (size_t start = 0; start < 17; ++start) {
    for (size_t n = 0; n < 200; ++n) {
      const auto part = std::span<const uint8_t>(data).subspan(start, n);
      REQUIRE(crc32_update(0x12345678u, part) == crc_bitwise(0x12345678u, part));
    }
  }
}

TEST_CASE("data followed by its CRC leaves the residue") {
  std::vector<uint8_t> data = from_hex("00112233445566778899aabbccddeeff0102");
  const uint32_t crc = crc32(data);
  data.resize(data.size() + 4);
  store_le32(&data[data.size() - 4], crc);
  CHECK(crc32_update(kCrcInit, data) == kCrcResidue);
}

TEST_CASE("eight bytes of ones bring the register to the iCRC seed") {
  const std::vector<uint8_t> ones(8, 0xFF);
  CHECK(crc32_update(kCrcInit, ones) == kIcrcSeed);
}

TEST_CASE("the worked example passes every intermediate register value") {
  const auto ip = from_hex("45ff003400004000ff11ffffc0a80001c0a80002");
  const auto udp = from_hex("c12312b70020ffff");
  const auto bth = from_hex("0440ffffff00001180000010");
  const auto payload = from_hex("deadbeef01020304");
  uint32_t reg = kIcrcSeed;
  reg = crc32_update(reg, ip);
  CHECK(reg == 0x658c108au);
  reg = crc32_update(reg, udp);
  CHECK(reg == 0xbf4e6e61u);
  reg = crc32_update(reg, bth);
  CHECK(reg == 0x50984242u);
  reg = crc32_update(reg, payload);
  CHECK(reg == 0x59dd2a7fu);
  CHECK((reg ^ 0xFFFFFFFFu) == 0xa622d580u);
  const auto raw = from_hex(
      "45020034000040004011b963c0a80001c0a80002c12312b7002000000440ffff0000001180000010deadbeef0102"
      "0304");
  CHECK(icrc_of(raw) == 0xa622d580u);
}

TEST_CASE("the iCRC of all fourteen vectors is the one on the wire") {
  for (const auto& v : kVectors) {
    INFO(v.number << ": " << v.title);
    const auto f = from_hex(v.hex);
    const auto ip = std::span<const uint8_t>(f).subspan(14);
    REQUIRE(ip_length(ip) == ip.size());
    CHECK(icrc_of(ip.first(ip.size() - 4)) == load_le32(&ip[ip.size() - 4]));
  }
}

TEST_CASE("a bit flip changes the iCRC exactly outside the masked fields") {
  for (const auto& v : kVectors) {
    const auto f = from_hex(v.hex);
    const auto ip = std::span<const uint8_t>(f).subspan(14, f.size() - 14 - 4);
    const bool v6 = (ip[0] >> 4) == 6;
    const size_t l3 = v6 ? 40 : 20;
    const uint32_t good = icrc_of(ip);
    for (size_t byte = 0; byte < ip.size(); ++byte) {
      // The version nibble selects the masks themselves: not a field under test.
      for (int bit = 0; bit < (byte == 0 ? 4 : 8); ++bit) {
        std::vector<uint8_t> copy(ip.begin(), ip.end());
        copy[byte] = static_cast<uint8_t>(copy[byte] ^ (1 << bit));
        bool masked = byte == l3 + 6 || byte == l3 + 7 || byte == l3 + 8 + 4;
        if (v6) {
          masked = masked || byte == 0 || byte == 1 || byte == 2 || byte == 3 || byte == 7;
        } else {
          masked = masked || byte == 1 || byte == 8 || byte == 10 || byte == 11;
        }
        INFO("vector " << v.number << " byte " << byte << " bit " << bit);
        REQUIRE((icrc_of(copy) == good) == masked);
      }
    }
  }
}

TEST_CASE("the IPv6 vector with traffic class, flow label and UC opcode matches") {
  // Fact sheet section 2: traffic class 0xE2, flow label 0x1FACE.
  auto f = from_hex(kVectors[13].hex);
  const uint32_t before = load_le32(&f[f.size() - 4]);
  f[14] = 0x6E;
  f[15] = 0x21;
  f[16] = 0xFA;
  f[17] = 0xCE;
  const auto ip = std::span<const uint8_t>(f).subspan(14, f.size() - 14 - 4);
  CHECK(icrc_of(ip) == before);
}
