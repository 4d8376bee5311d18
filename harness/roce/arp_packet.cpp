// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/arp_packet.hpp"

#include "harness/roce/bytes.hpp"

namespace rnic::roce {

std::optional<ArpPacket> read_arp(const FrameView& v) {
  if (v.opcode != kOpcodeArp || v.ext_offset == 0) return std::nullopt;
  const uint32_t at = v.ext_offset, end = v.icrc_offset;
  if (at + kArpHeaderBytes + v.pad > end) return std::nullopt;
  const uint8_t* b = &v.bytes[at];
  ArpPacket p;
  p.result = (b[0] & 1) != 0;
  p.elem = (b[0] >> 1) & 3;
  p.reserved = b[0] >> 3;
  p.contributor = b[1];
  p.group = load_be16(b + 2);
  p.slot = load_be32(b + 4);
  p.offset = load_be32(b + 8);
  p.length = load_be32(b + 12);
  p.payload_offset = at + kArpHeaderBytes;
  p.payload_len = end - p.payload_offset - v.pad;
  return p;
}

}  // namespace rnic::roce
