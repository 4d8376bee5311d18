// SPDX-License-Identifier: Apache-2.0
// BTH opcodes: numbers, extended headers, payload rules and names (fact sheet section 1).
//
//   const OpcodeInfo& i = opcode_info(0x0A);     // RC WRITE_ONLY
//   i.ext == kExtReth && i.is_first && i.is_last;
//   opcode_name(0x0A);        // "Reliable Connection (RC) - RDMA WRITE Only", as tshark says
#pragma once

#include <cstddef>
#include <cstdint>

namespace rnic::roce {

enum Opcode : uint8_t {
  kRcSendFirst = 0x00,
  kRcSendMiddle = 0x01,
  kRcSendLast = 0x02,
  kRcSendLastImm = 0x03,
  kRcSendOnly = 0x04,
  kRcSendOnlyImm = 0x05,
  kRcWriteFirst = 0x06,
  kRcWriteMiddle = 0x07,
  kRcWriteLast = 0x08,
  kRcWriteLastImm = 0x09,
  kRcWriteOnly = 0x0A,
  kRcWriteOnlyImm = 0x0B,
  kRcReadRequest = 0x0C,
  kRcReadRespFirst = 0x0D,
  kRcReadRespMiddle = 0x0E,
  kRcReadRespLast = 0x0F,
  kRcReadRespOnly = 0x10,
  kRcAcknowledge = 0x11,
  kRcAtomicAck = 0x12,
  kRcCompareSwap = 0x13,
  kRcFetchAdd = 0x14,
  kRcSendLastInv = 0x16,
  kRcSendOnlyInv = 0x17,
  kUcBase = 0x20,  // UC = RC + 0x20 for 0x00 .. 0x0B
  kUdSendOnly = 0x64,
  kUdSendOnlyImm = 0x65,
  kCnp = 0x81,
};

enum class Transport : uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnpClass = 4, kOther = 7 };

// What a packet belongs to.
enum class MsgKind : uint8_t {
  kNone,
  kSend,
  kSendImm,
  kSendInv,
  kWrite,
  kWriteImm,
  kReadRequest,
  kReadResponse,
  kAck,
  kAtomicAck,
  kCompareSwap,
  kFetchAdd,
  kCnp,
};
constexpr bool is_send(MsgKind k) {
  return k == MsgKind::kSend || k == MsgKind::kSendImm || k == MsgKind::kSendInv;
}
constexpr bool is_write(MsgKind k) { return k == MsgKind::kWrite || k == MsgKind::kWriteImm; }
constexpr bool is_atomic(MsgKind k) {
  return k == MsgKind::kCompareSwap || k == MsgKind::kFetchAdd;
}

// Extended headers, in wire order.
enum ExtFlags : uint16_t {
  kExtNone = 0,
  kExtDeth = 1 << 0,
  kExtReth = 1 << 1,
  kExtAeth = 1 << 2,
  kExtAtomic = 1 << 3,
  kExtAtomicAck = 1 << 4,
  kExtImm = 1 << 5,
  kExtIeth = 1 << 6,
  kExtCnp = 1 << 7,  // 16 reserved zero bytes
};

enum class PayloadRule : uint8_t {
  kNone,  // no payload
  kPmtu,  // exactly the path MTU
  kOneToPmtu,
  kZeroToPmtu,
};

struct OpcodeInfo {
  bool known = false;
  bool is_first = false;  // FIRST or ONLY
  bool is_last = false;   // LAST or ONLY
  bool is_request = false;
  Transport transport = Transport::kOther;
  MsgKind kind = MsgKind::kNone;  // FIRST and MIDDLE report the plain kind (kSend, kWrite)
  PayloadRule payload = PayloadRule::kNone;
  uint16_t ext = 0;       // ExtFlags
  uint8_t ext_bytes = 0;  // total length of the extended headers
};

const OpcodeInfo& opcode_info(uint8_t opcode);
// The string tshark 4 prints for infiniband.bth.opcode; "Unknown" when it has none.
const char* opcode_name(uint8_t opcode);
// Short name of the fact sheet with its transport, e.g. "RC_WRITE_ONLY"; "RESERVED" when unknown.
const char* opcode_short_name(uint8_t opcode);

}  // namespace rnic::roce
