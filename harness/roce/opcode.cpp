// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/opcode.hpp"

#include <array>

#include "harness/roce/psn.hpp"

namespace rnic::roce {
namespace {

constexpr uint8_t ext_length(uint16_t ext) {
  uint8_t n = 0;
  if (ext & kExtDeth) n = static_cast<uint8_t>(n + 8);
  if (ext & kExtReth) n = static_cast<uint8_t>(n + 16);
  if (ext & kExtAeth) n = static_cast<uint8_t>(n + 4);
  if (ext & kExtAtomic) n = static_cast<uint8_t>(n + 28);
  if (ext & kExtAtomicAck) n = static_cast<uint8_t>(n + 8);
  if (ext & kExtImm) n = static_cast<uint8_t>(n + 4);
  if (ext & kExtIeth) n = static_cast<uint8_t>(n + 4);
  if (ext & kExtCnp) n = static_cast<uint8_t>(n + 16);
  return n;
}

struct Entry {
  OpcodeInfo info;
  const char* name = "Unknown";
  const char* short_name = "RESERVED";
};

enum Pos { kFirst, kMiddle, kLast, kOnly };

constexpr Entry entry(Transport t, MsgKind kind, Pos pos, PayloadRule rule, unsigned ext,
                      bool request, const char* name, const char* short_name) {
  Entry e;
  e.info.known = true;
  e.info.is_first = pos == kFirst || pos == kOnly;
  e.info.is_last = pos == kLast || pos == kOnly;
  e.info.is_request = request;
  e.info.transport = t;
  e.info.kind = kind;
  e.info.payload = rule;
  e.info.ext = static_cast<uint16_t>(ext);
  e.info.ext_bytes = ext_length(e.info.ext);
  e.name = name;
  e.short_name = short_name;
  return e;
}

constexpr std::array<Entry, 256> make_table() {
  using enum PayloadRule;
  using K = MsgKind;
  std::array<Entry, 256> t{};
  constexpr auto rc = Transport::kRc;
  constexpr auto uc = Transport::kUc;
  constexpr auto ud = Transport::kUd;
#define RC(op, kind, pos, rule, ext, req, text, brief) \
  t[op] = entry(rc, kind, pos, rule, ext, req, "Reliable Connection (RC) - " text, "RC_" brief)
#define RC_UC(op, kind, pos, rule, ext, text, brief) \
  RC(op, kind, pos, rule, ext, true, text, brief);   \
  t[0x20 + op] =                                     \
      entry(uc, kind, pos, rule, ext, true, "Unreliable Connection (UC) - " text, "UC_" brief)
  RC_UC(0x00, K::kSend, kFirst, kPmtu, kExtNone, "SEND First", "SEND_FIRST");
  RC_UC(0x01, K::kSend, kMiddle, kPmtu, kExtNone, "SEND Middle", "SEND_MIDDLE");
  RC_UC(0x02, K::kSend, kLast, kOneToPmtu, kExtNone, "SEND Last", "SEND_LAST");
  RC_UC(0x03, K::kSendImm, kLast, kOneToPmtu, kExtImm, "SEND Last with Immediate", "SEND_LAST_IMM");
  RC_UC(0x04, K::kSend, kOnly, kZeroToPmtu, kExtNone, "SEND Only", "SEND_ONLY");
  RC_UC(0x05, K::kSendImm, kOnly, kZeroToPmtu, kExtImm, "SEND Only with Immediate",
        "SEND_ONLY_IMM");
  RC_UC(0x06, K::kWrite, kFirst, kPmtu, kExtReth, "RDMA WRITE First", "WRITE_FIRST");
  RC_UC(0x07, K::kWrite, kMiddle, kPmtu, kExtNone, "RDMA WRITE Middle", "WRITE_MIDDLE");
  RC_UC(0x08, K::kWrite, kLast, kOneToPmtu, kExtNone, "RDMA WRITE Last", "WRITE_LAST");
  RC_UC(0x09, K::kWriteImm, kLast, kOneToPmtu, kExtImm, "RDMA WRITE Last with Immediate",
        "WRITE_LAST_IMM");
  RC_UC(0x0A, K::kWrite, kOnly, kZeroToPmtu, kExtReth, "RDMA WRITE Only", "WRITE_ONLY");
  RC_UC(0x0B, K::kWriteImm, kOnly, kZeroToPmtu, kExtReth | kExtImm,
        "RDMA WRITE Only with Immediate", "WRITE_ONLY_IMM");
  RC(0x0C, K::kReadRequest, kOnly, kNone, kExtReth, true, "RDMA READ Request", "READ_REQUEST");
  RC(0x0D, K::kReadResponse, kFirst, kPmtu, kExtAeth, false, "RDMA READ response First",
     "READ_RESP_FIRST");
  RC(0x0E, K::kReadResponse, kMiddle, kPmtu, kExtNone, false, "RDMA READ response Middle",
     "READ_RESP_MIDDLE");
  RC(0x0F, K::kReadResponse, kLast, kOneToPmtu, kExtAeth, false, "RDMA READ response Last",
     "READ_RESP_LAST");
  RC(0x10, K::kReadResponse, kOnly, kZeroToPmtu, kExtAeth, false, "RDMA READ response Only",
     "READ_RESP_ONLY");
  RC(0x11, K::kAck, kOnly, kNone, kExtAeth, false, "Acknowledge", "ACKNOWLEDGE");
  RC(0x12, K::kAtomicAck, kOnly, kNone, kExtAeth | kExtAtomicAck, false, "ATOMIC Acknowledge",
     "ATOMIC_ACK");
  RC(0x13, K::kCompareSwap, kOnly, kNone, kExtAtomic, true, "CmpSwap", "COMPARE_SWAP");
  RC(0x14, K::kFetchAdd, kOnly, kNone, kExtAtomic, true, "FetchAdd", "FETCH_ADD");
  t[0x15].name = "Reliable Connection (RC) - Reserved";
  RC(0x16, K::kSendInv, kLast, kOneToPmtu, kExtIeth, true, "SEND Last with Invalidate",
     "SEND_LAST_INV");
  RC(0x17, K::kSendInv, kOnly, kZeroToPmtu, kExtIeth, true, "SEND Only with Invalidate",
     "SEND_ONLY_INV");
#undef RC_UC
#undef RC
  t[0x64] = entry(ud, K::kSend, kOnly, kZeroToPmtu, kExtDeth, true,
                  "Unreliable Datagram (UD) - SEND only", "UD_SEND_ONLY");
  t[0x65] = entry(ud, K::kSendImm, kOnly, kZeroToPmtu, kExtDeth | kExtImm, true,
                  "Unreliable Datagram (UD) - SEND only with Immediate", "UD_SEND_ONLY_IMM");
  t[0x81] = entry(Transport::kCnpClass, K::kCnp, kOnly, kNone, kExtCnp, false, "CNP", "CNP");
  return t;
}

constexpr std::array<Entry, 256> kTable = make_table();

}  // namespace

const OpcodeInfo& opcode_info(uint8_t opcode) { return kTable[opcode].info; }
const char* opcode_name(uint8_t opcode) { return kTable[opcode].name; }
const char* opcode_short_name(uint8_t opcode) { return kTable[opcode].short_name; }

uint32_t message_packets(MsgKind kind, uint64_t length, uint32_t pmtu) {
  switch (kind) {
    case MsgKind::kSend:
    case MsgKind::kSendImm:
    case MsgKind::kSendInv:
    case MsgKind::kWrite:
    case MsgKind::kWriteImm:
    case MsgKind::kReadResponse:
      return message_psns(length, pmtu);
    default:
      return 1;
  }
}

Segment message_segment(MsgKind kind, uint64_t length, uint32_t pmtu, uint32_t index,
                        Transport transport) {
  Segment s;
  const uint32_t count = message_packets(kind, length, pmtu);
  s.first = index == 0;
  s.last = index + 1 == count;
  const auto pick = [&](uint8_t first, uint8_t middle, uint8_t last, uint8_t only) {
    if (s.first && s.last) return only;
    if (s.first) return first;
    return s.last ? last : middle;
  };
  bool carries = true;
  switch (kind) {
    case MsgKind::kSend:
      s.opcode = pick(0x00, 0x01, 0x02, 0x04);
      break;
    case MsgKind::kSendImm:
      s.opcode = pick(0x00, 0x01, 0x03, 0x05);
      break;
    case MsgKind::kSendInv:
      s.opcode = pick(0x00, 0x01, 0x16, 0x17);
      break;
    case MsgKind::kWrite:
      s.opcode = pick(0x06, 0x07, 0x08, 0x0A);
      break;
    case MsgKind::kWriteImm:
      s.opcode = pick(0x06, 0x07, 0x09, 0x0B);
      break;
    case MsgKind::kReadResponse:
      s.opcode = pick(0x0D, 0x0E, 0x0F, 0x10);
      break;
    case MsgKind::kReadRequest:
      s.opcode = 0x0C;
      carries = false;
      break;
    case MsgKind::kAck:
      s.opcode = 0x11;
      carries = false;
      break;
    case MsgKind::kAtomicAck:
      s.opcode = 0x12;
      carries = false;
      break;
    case MsgKind::kCompareSwap:
      s.opcode = 0x13;
      carries = false;
      break;
    case MsgKind::kFetchAdd:
      s.opcode = 0x14;
      carries = false;
      break;
    case MsgKind::kCnp:
      s.opcode = 0x81;
      carries = false;
      break;
    case MsgKind::kNone:
      carries = false;
      break;
  }
  if (transport == Transport::kUc) s.opcode = static_cast<uint8_t>(s.opcode + 0x20);
  if (transport == Transport::kUd) s.opcode = static_cast<uint8_t>(s.opcode + 0x60);
  if (carries) {
    s.offset = index * pmtu;
    const uint64_t left = length - s.offset;
    s.length = static_cast<uint32_t>(left < pmtu ? left : pmtu);
    s.pad = pad_of(s.length);
  }
  return s;
}

}  // namespace rnic::roce
