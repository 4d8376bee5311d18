// SPDX-License-Identifier: Apache-2.0
// 24-bit packet sequence numbers and the arithmetic of messages cut into packets.
//
//   psn_diff(0x000000, 0xFFFFFF);      // +1: the numbers wrap
//   message_psns(5000, 1024);          // 5 packets (a zero-length message has 1)
//   auto s = message_segment(MsgKind::kWrite, 5000, 1024, 4);  // WRITE_LAST, offset 4096, 904 B
#pragma once

#include <cstdint>

#include "harness/roce/opcode.hpp"

namespace rnic::roce {

inline constexpr uint32_t kPsnMask = 0xFFFFFFu;
inline constexpr uint64_t kMaxMessage = uint64_t{1} << 31;

constexpr uint32_t psn_add(uint32_t psn, uint32_t n) { return (psn + n) & kPsnMask; }
constexpr uint32_t psn_sub(uint32_t psn, uint32_t n) { return (psn - n) & kPsnMask; }
// a - b as a signed 24-bit number: > 0 when a is ahead of b. 0x800000 against 0 counts as behind.
constexpr int32_t psn_diff(uint32_t a, uint32_t b) {
  return static_cast<int32_t>((a - b) << 8) >> 8;
}
constexpr bool psn_before(uint32_t a, uint32_t b) { return psn_diff(a, b) < 0; }

// Packets, and so PSNs, of a message: max(1, ceil(length / pmtu)).
constexpr uint32_t message_psns(uint64_t length, uint32_t pmtu) {
  return length == 0 ? 1u : static_cast<uint32_t>((length + pmtu - 1) / pmtu);
}
constexpr bool valid_pmtu(uint32_t pmtu) {
  return pmtu == 256 || pmtu == 512 || pmtu == 1024 || pmtu == 2048 || pmtu == 4096;
}
// Zero bytes that bring a payload to a multiple of four.
constexpr uint8_t pad_of(uint32_t payload) { return static_cast<uint8_t>((0u - payload) & 3u); }

// One packet of a message.
struct Segment {
  uint8_t opcode = 0;   // wire opcode, transport included
  bool first = false;   // FIRST or ONLY
  bool last = false;    // LAST or ONLY
  uint8_t pad = 0;      // pad count
  uint32_t offset = 0;  // first payload byte within the message
  uint32_t length = 0;  // payload bytes of this packet (0 for a READ request, an ACK, an ATOMIC)
};

// Packet `index` (0 .. count - 1) of a message of `length` bytes. A READ request, an ACK and an
// ATOMIC have one packet on the wire whatever their length; kReadResponse cuts like a WRITE.
Segment message_segment(MsgKind kind, uint64_t length, uint32_t pmtu, uint32_t index,
                        Transport transport = Transport::kRc);
// Packets on the wire of a message of that kind (1 for a READ request).
uint32_t message_packets(MsgKind kind, uint64_t length, uint32_t pmtu);

}  // namespace rnic::roce
