// SPDX-License-Identifier: Apache-2.0
// Packets of an AllReduce in the NIC: opcode 0xC0 of the manufacturer range on an RC connection, 16
// bytes behind the BTH, then elements (format: rtl/arp_fsm/README.md). Unknown to opcode_info():
// other ends must not know them.
//
//   FrameView v;
//   parse_frame(frame, v);                          // ParseStatus::kUnknownOpcode
//   if (auto p = read_arp(v)) use(p->contributor, p->slot);
#pragma once

#include <cstdint>
#include <optional>

#include "harness/roce/frame.hpp"

namespace rnic::roce {

inline constexpr uint8_t kOpcodeArp = 0xC0;
inline constexpr uint32_t kArpHeaderBytes = 16;

struct ArpPacket {
  bool result = false;  // a finished sum; else something to add
  uint8_t elem = 0;     // 0 FP16, 1 BF16, 2 FP32, 3 INT32
  uint8_t reserved = 0;
  uint8_t contributor = 0;
  uint16_t group = 0;
  uint32_t slot = 0, offset = 0, length = 0;
  uint32_t payload_offset = 0, payload_len = 0;  // in the frame
};

// nullopt: another opcode, or too short.
std::optional<ArpPacket> read_arp(const FrameView& v);

}  // namespace rnic::roce
