// SPDX-License-Identifier: Apache-2.0
// In-band telemetry (INT): a trailer of 48 bytes directly behind the iCRC, outside the IP packet.
// Switches write what a packet met on its way, the receiver returns it behind its ACK. README.md
// has the format and its reasons.
//
//   size_t n = append_int(frame, length);                    // an empty trailer, new length
//   IntTrailer t;
//   if (size_t at = find_int(frame)) read_int(frame.subspan(at), t);
//   push_hop(frame.subspan(at), {.rate = 2, .ts = ..}, 7);   // what a switch does
//
// Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rnic::roce {

inline constexpr size_t kIntBytes = 48;
inline constexpr unsigned kIntHops = 5;        // with room in the trailer
inline constexpr unsigned kIntMostHops = 15;   // the count stays there
inline constexpr uint16_t kIntMagic = 0x4E49;  // bytes 49 4E
inline constexpr uint8_t kIntVersion = 1;
inline constexpr uint32_t kIntTsMask = 0xFFFFFF;   // 1 ns
inline constexpr uint32_t kIntTxMask = 0xFFFFF;    // 128 << unit bytes
inline constexpr uint32_t kIntQueueMax = 0x1FFFF;  // 80 << unit bytes, saturates
inline constexpr uint32_t kIntTxBytes = 128, kIntQueueBytes = 80;
inline constexpr uint8_t kIntMostUnit = 5;  // log2: 32 * 25 Gb/s
inline constexpr uint16_t kIntPathMask = 0xFFF;

// One hop: the egress port as it was when the packet left.
struct IntHop {
  uint8_t rate = 0;    // int_rate_code()
  uint32_t ts = 0;     // ns, 24 bits
  uint32_t tx = 0;     // bytes sent before this packet, in units, 20 bits
  uint32_t queue = 0;  // bytes left behind this packet, in units, 17 bits
  bool operator==(const IntHop&) const = default;
};

struct IntTrailer {
  bool echo = false;  // returned by a receiver; switches leave it alone
  uint8_t unit = 0;   // log2 of the multiple of both byte units
  uint8_t hops = 0;   // met, up to 15; only the first five are in `hop`
  uint16_t path = 0;  // exclusive or of the switches' numbers, 12 bits
  std::array<IntHop, kIntHops> hop{};
  bool operator==(const IntTrailer&) const = default;
};

// 0 .. 4 for 25, 50, 100, 200, 400 Gb/s; nothing for other rates.
std::optional<uint8_t> int_rate_code(uint64_t bps);
// 0 for codes 5 to 7, which nobody believes.
uint64_t int_rate_bps(uint8_t code);

// The telemetry word: rate bits 2..0, ts 26..3, tx 46..27, queue 63..47; least significant byte
// first on the wire.
uint64_t pack_hop(const IntHop& hop);
IntHop unpack_hop(uint64_t word);
// A hop from time and bytes, wrapped or saturated.
IntHop make_hop(uint8_t rate, uint64_t ps, uint64_t tx_bytes, uint64_t queue_bytes, uint8_t unit);

// Where the IP packet of a frame (without FCS) ends; 0: not IP, or cut.
size_t ip_end(std::span<const uint8_t> frame);
// Where its trailer is: directly behind the IP packet and at the end of the frame, with magic and
// a version that we know; 0: none.
size_t find_int(std::span<const uint8_t> frame);
// Behind an IP packet that has none; padding goes. `frame` has room, `length` is the frame's.
// Returns the new length; `length` when it is not IP or there is no room.
size_t append_int(std::span<uint8_t> frame, size_t length, const IntTrailer& trailer = {});

// All of these take the trailer's 48 bytes.
bool is_int(std::span<const uint8_t> trailer);
// False when it is not one, or when its fields cannot be: then `out` has them all the same.
bool read_int(std::span<const uint8_t> trailer, IntTrailer& out);
void write_int(std::span<uint8_t> trailer, const IntTrailer& t);
// What a switch does to a trailer that is no echo: count, path, and the hop while there is room.
// False when there was none, or when the units differ: the hop then is written with rate 7, which
// no receiver believes.
bool push_hop(std::span<uint8_t> trailer, const IntHop& hop, uint8_t unit, uint16_t switch_id);

}  // namespace rnic::roce
