// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/crc.hpp"

#include <array>
#include <cstring>

#include "harness/roce/bytes.hpp"

namespace rnic::roce {
namespace {

constexpr uint32_t kPolyReflected = 0xEDB88320u;
constexpr size_t kSlices = 16;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t r = b;
    for (int i = 0; i < 8; ++i) r = (r >> 1) ^ ((r & 1u) ? kPolyReflected : 0u);
    t[0][b] = r;
  }
  for (size_t s = 1; s < kSlices; ++s) {
    for (uint32_t b = 0; b < 256; ++b) {
      t[s][b] = (t[s - 1][b] >> 8) ^ t[0][t[s - 1][b] & 0xFFu];
    }
  }
  return t;
}

constexpr Tables kT = make_tables();

}  // namespace

uint32_t crc32_update(uint32_t reg, std::span<const uint8_t> bytes) {
  const uint8_t* p = bytes.data();
  size_t n = bytes.size();
  while (n >= kSlices) {
    const uint32_t a = reg ^ load_le32(p);
    const uint32_t b = load_le32(p + 4);
    const uint32_t c = load_le32(p + 8);
    const uint32_t d = load_le32(p + 12);
    reg = kT[15][a & 0xFF] ^ kT[14][(a >> 8) & 0xFF] ^ kT[13][(a >> 16) & 0xFF] ^ kT[12][a >> 24] ^
          kT[11][b & 0xFF] ^ kT[10][(b >> 8) & 0xFF] ^ kT[9][(b >> 16) & 0xFF] ^ kT[8][b >> 24] ^
          kT[7][c & 0xFF] ^ kT[6][(c >> 8) & 0xFF] ^ kT[5][(c >> 16) & 0xFF] ^ kT[4][c >> 24] ^
          kT[3][d & 0xFF] ^ kT[2][(d >> 8) & 0xFF] ^ kT[1][(d >> 16) & 0xFF] ^ kT[0][d >> 24];
    p += kSlices;
    n -= kSlices;
  }
  for (; n != 0; --n) reg = (reg >> 8) ^ kT[0][(reg ^ *p++) & 0xFF];
  return reg;
}

uint32_t crc32(std::span<const uint8_t> bytes) { return ~crc32_update(kCrcInit, bytes); }

uint32_t icrc_of(std::span<const uint8_t> ip) {
  constexpr size_t kUdp = 8;
  constexpr size_t kBth = 12;
  uint8_t head[40 + kUdp + kBth];
  if (ip.empty()) return ~kIcrcSeed;
  const bool v6 = (ip[0] >> 4) == 6;
  const size_t l3 = v6 ? 40 : 20;
  const size_t want = l3 + kUdp + kBth;
  const size_t n = ip.size() < want ? ip.size() : want;
  std::memset(head, 0, sizeof head);
  std::memcpy(head, ip.data(), n);
  if (v6) {
    head[0] |= 0x0F;  // traffic class, high nibble
    head[1] = 0xFF;   // traffic class, low nibble; flow label 19:16
    head[2] = 0xFF;   // flow label 15:0
    head[3] = 0xFF;
    head[7] = 0xFF;  // hop limit
  } else {
    head[1] = 0xFF;   // TOS
    head[8] = 0xFF;   // TTL
    head[10] = 0xFF;  // header checksum
    head[11] = 0xFF;
  }
  head[l3 + 6] = 0xFF;  // UDP checksum
  head[l3 + 7] = 0xFF;
  head[l3 + kUdp + 4] = 0xFF;  // FECN, BECN, 6 reserved bits
  const uint32_t reg = crc32_update(kIcrcSeed, std::span<const uint8_t>(head, n));
  return ~crc32_update(reg, ip.subspan(n));
}

}  // namespace rnic::roce
