// SPDX-License-Identifier: Apache-2.0
// MAC control frames that pause a link: PFC (802.1Qbb) and the older pause of the whole link
// (802.3x).
//
//   PauseFrame p{.mask = 1 << 3};  p.quanta[3] = 0xFFFF;
//   std::array<uint8_t, 60> bytes = build_pause(p, source_mac);
//   if (is_mac_control(frame) && parse_pause(frame, p)) stop(p.mask);
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "harness/roce/frame.hpp"
#include "harness/wire/wire.hpp"

namespace rnic::switching {

inline constexpr size_t kPauseBytes = 60;
inline constexpr uint64_t kQuantumBits = 512;

struct PauseFrame {
  bool legacy = false;               // 802.3x: quanta[0] for everything
  uint8_t mask = 0;                  // PFC: classes that the frame speaks of
  std::array<uint16_t, 8> quanta{};  // 0: resume
};

std::array<uint8_t, kPauseBytes> build_pause(const PauseFrame& pause, const roce::MacAddr& source);
// EtherType 0x8808: never forwarded, whatever it says.
bool is_mac_control(std::span<const uint8_t> frame);
// False for other opcodes, other destinations, and frames that are too short.
bool parse_pause(std::span<const uint8_t> frame, PauseFrame& out);
// How long so many quanta last at a rate, rounded up to a whole picosecond: never shorter.
wire::TimePs quanta_time(uint16_t quanta, uint64_t rate_bps);

}  // namespace rnic::switching
