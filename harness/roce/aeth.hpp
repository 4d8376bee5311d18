// SPDX-License-Identifier: Apache-2.0
// AETH syndrome: kinds, NAK codes, credit and receiver-not-ready tables (fact sheet section 1).
//
//   aeth_kind(0x60) == AethKind::kNak;  aeth_code(0x60) == kNakSequence;
//   rnr_delay_us(12);      // 640: code 0 is the longest, 655.36 ms
//   credits_of(0x1F);      // kCreditsUnlimited: no credit information
//   make_syndrome(AethKind::kRnrNak, 12);   // 0x2C
#pragma once

#include <array>
#include <cstdint>

namespace rnic::roce {

enum class AethKind : uint8_t { kAck = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

enum NakCode : uint8_t {
  kNakSequence = 0,
  kNakInvalidRequest = 1,
  kNakRemoteAccess = 2,
  kNakRemoteOperational = 3,
  kNakInvalidRdRequest = 4,
};

inline constexpr uint8_t kSyndromeAckNoCredit = 0x1F;
inline constexpr uint32_t kCreditsUnlimited = 0xFFFFFFFFu;

constexpr AethKind aeth_kind(uint8_t syndrome) {
  return static_cast<AethKind>((syndrome >> 5) & 3);
}
constexpr uint8_t aeth_code(uint8_t syndrome) { return syndrome & 0x1F; }
constexpr uint8_t make_syndrome(AethKind kind, uint8_t code) {
  return static_cast<uint8_t>((static_cast<uint8_t>(kind) << 5) | (code & 0x1F));
}

inline constexpr std::array<uint32_t, 32> kCreditTable = {
    0,    1,    2,    3,     4,     6,     8,     12,
    16,   24,   32,   48,    64,    96,    128,   192,
    256,  384,  512,  768,   1024,  1536,  2048,  3072,
    4096, 6144, 8192, 12288, 16384, 24576, 32768, kCreditsUnlimited};
constexpr uint32_t credits_of(uint8_t code) { return kCreditTable[code & 31]; }
// The largest code whose credits do not exceed `credits`.
constexpr uint8_t credit_code(uint32_t credits) {
  uint8_t code = 0;
  for (uint8_t i = 0; i < 31; ++i) {
    if (kCreditTable[i] <= credits) code = i;
  }
  return code;
}

// Receiver-not-ready delay in microseconds; every entry is a whole number of them.
inline constexpr std::array<uint32_t, 32> kRnrTableUs = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
constexpr uint32_t rnr_delay_us(uint8_t code) { return kRnrTableUs[code & 31]; }

}  // namespace rnic::roce
