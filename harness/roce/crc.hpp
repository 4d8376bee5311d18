// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3, the RoCEv2 invariant CRC and the Ethernet FCS, by byte tables (16 bytes a
// step). Facts: polynomial 0x04C11DB7 reflected, initial value and final XOR all ones, least
// significant byte first on the wire for both (fact sheet section 2).
//
//   uint32_t fcs = crc32(frame);                      // store_le32() puts it on the wire
//   uint32_t icrc = icrc_of(ip_packet);               // from the IP header, before the iCRC field
//   crc32_update(kIcrcSeed, masked_headers);          // register after the 8 dummy bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rnic::roce {

// Register after the eight 0xFF bytes that stand for InfiniBand's local route header.
inline constexpr uint32_t kIcrcSeed = 0xDEBB20E3u;
// Register (before the final XOR) after data followed by its own CRC.
inline constexpr uint32_t kCrcResidue = 0xDEBB20E3u;
inline constexpr uint32_t kCrcInit = 0xFFFFFFFFu;

// Feeds bytes into the CRC register `reg` (no initial or final XOR).
uint32_t crc32_update(uint32_t reg, std::span<const uint8_t> bytes);

// Whole CRC-32 (Ethernet FCS) of `bytes`.
uint32_t crc32(std::span<const uint8_t> bytes);

// iCRC of a RoCEv2 packet. `ip` starts at the IP header (version 4 without options, or 6) and ends
// with the last pad byte, so it does not include the iCRC itself. The variant fields are replaced
// by ones here. Needs at least IP + UDP + BTH (40 or 60 bytes); shorter input gives the CRC over
// what is there.
uint32_t icrc_of(std::span<const uint8_t> ip);

}  // namespace rnic::roce
