// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the transmit side share: the packed structs of rnic_pkg by field name,
// work-queue elements written byte by byte (regs/rnic.yaml, descriptor wqe), and the packets a
// message must become (facts: roce.md section 1).
//
//   Wqe wqe = Wqe::write(0x1000, 0x77, {{0x11, 4096, 0x2000}});
//   auto blocks = wqe.blocks(index);                          // 64-byte blocks as in the ring
//   auto packets = segment(wqe, mtu, first_psn, ack_every);   // what must leave
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/bits.hpp"

namespace rnic::test {

// A packed struct of rnic_pkg or another package, its fields placed as the package itself lists
// them (others may add fields). A field that is a struct of that package is one value.
class PkgStruct {
 public:
  explicit PkgStruct(const std::string& name, const std::string& package = "rnic_pkg") {
    std::ifstream file(RNIC_SOURCE_DIR "/rtl/pkg/" + package + ".sv");
    std::string line;
    std::vector<std::pair<std::string, size_t>> fields;
    std::map<std::string, size_t> widths;  // of the structs so far
    const std::regex field(R"(^\s*logic\s*(?:\[(\d+):0\])?\s*(\w+)\s*;.*)");
    const std::regex member(R"(^\s*(\w+_t)\s+(\w+)\s*;.*)"), end(R"(^\s*\}\s*(\w+)\s*;.*)");
    while (std::getline(file, line)) {
      std::smatch m;
      if (line.find("typedef struct packed") != std::string::npos) fields.clear();
      if (std::regex_match(line, m, field)) {
        fields.emplace_back(m[2], m[1].matched ? std::stoul(m[1]) + 1 : 1);
      } else if (std::regex_match(line, m, member) && widths.count(m[1]) != 0) {
        fields.emplace_back(m[2], widths.at(m[1]));
      }
      if (!std::regex_match(line, m, end)) continue;
      for (const auto& f : fields) widths[m[1]] += f.second;
      if (m[1] != name) continue;
      for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
        places_[f->first] = {width_, f->second};
        width_ += f->second;
      }
      return;
    }
    throw std::runtime_error(package + " has no struct " + name);
  }

  size_t width() const { return width_; }
  uint64_t get(const Bits& bits, const std::string& field) const {
    const auto [lsb, width] = places_.at(field);
    return bits.get(lsb, width);
  }
  Bits get_bits(const Bits& bits, const std::string& field) const {
    const auto [lsb, width] = places_.at(field);
    return bits.slice(lsb, width);
  }
  void set(Bits& bits, const std::string& field, uint64_t value) const {
    const auto [lsb, width] = places_.at(field);
    bits.set(lsb, width, value);
  }
  void set_bits(Bits& bits, const std::string& field, const Bits& value) const {
    bits.insert(places_.at(field).first, value);
  }
  Bits pack(std::initializer_list<std::pair<std::string, uint64_t>> values) const {
    Bits bits(width_);
    for (const auto& [field, value] : values) set(bits, field, value);
    return bits;
  }

 private:
  std::map<std::string, std::pair<size_t, size_t>> places_;  // lsb, width
  size_t width_ = 0;
};

inline const PkgStruct kConn("qp_conn_t"), kSend("qp_send_t"), kOrder("qp_init_t"), kPace("pace_t"),
    kFail("qp_fail_t"), kEntry("wqe_entry_t"), kMsg("msg_t"), kTxPkt("tx_pkt_t"),
    kRdReq("dma_rd_req_t"), kRdRsp("dma_rd_rsp_t"), kMrReq("mr_req_t"), kMrRsp("mr_rsp_t"),
    kAck("qp_ack_t"), kRewind("rewind_t"), kTimer("timer_set_t"), kLop("mr_lop_t");

enum QpState : uint64_t { kReset = 0, kInit = 1, kRtr = 2, kRts = 3, kSqd = 4, kSqe = 5, kErr = 6 };
enum Order : uint64_t {
  kClear = 0,
  kOrderRtr = 1,
  kOrderRts = 2,
  kOrderErr = 3,
  kOrderKick = 4,
  kOrderResume = 5
};
enum MsgKind : uint64_t {
  kMsgWrite = 0,
  kMsgSend = 1,
  kMsgRead = 2,
  kMsgAtomic = 3,
  kMsgLocal = 4,
  kMsgFailed = 5
};
enum Status : uint64_t {
  kLocLen = 1,
  kLocQpOp = 2,
  kLocProt = 4,
  kFlush = 5,
  kMwBind = 6,
  kFatal = 0x23
};
enum Service : uint64_t { kRc = 0, kUc = 1, kUd = 2 };
// Opcodes of work-queue elements.
enum WqeOp : uint8_t {
  kNop = 0x00,
  kSendInv = 0x01,
  kWrite = 0x08,
  kWriteImm = 0x09,
  kSendOp = 0x0A,
  kSendImm = 0x0B,
  kRead = 0x10,
  kCompareSwap = 0x11,
  kFetchAdd = 0x12,
  kFastReg = 0x19,
  kLocalInv = 0x1B
};

inline Bits order(uint64_t op, uint64_t qpn, uint64_t psn = 0) {
  return kOrder.pack({{"op", op}, {"qpn", qpn}, {"psn", psn}});
}

struct Segment {
  uint32_t lkey = 0;
  uint32_t len = 0;
  uint64_t va = 0;
};

// A send work-queue element by byte offset.
struct Wqe {
  uint64_t next = 0;
  uint8_t opcode = 8;
  bool signaled = false, solicited = false, inlined = false, long_form = false, sampled = false;
  bool fence = false;
  uint16_t inline_len = 0;
  uint8_t seg_cnt = 0;
  uint64_t remote_va = 0;
  uint32_t rkey = 0, imm = 0;
  std::vector<Segment> segments;
  std::vector<uint8_t> data;  // inline
  uint64_t swap_add = 0, compare = 0;

  static Wqe write(uint64_t va, uint32_t rkey, std::vector<Segment> segments) {
    Wqe w;
    w.remote_va = va;
    w.rkey = rkey;
    w.seg_cnt = static_cast<uint8_t>(segments.size());
    w.long_form = segments.size() > 2;
    w.segments = std::move(segments);
    return w;
  }
  static Wqe write_inline(uint64_t va, uint32_t rkey, std::vector<uint8_t> data) {
    Wqe w;
    w.remote_va = va;
    w.rkey = rkey;
    w.inlined = true;
    w.inline_len = static_cast<uint16_t>(data.size());
    w.long_form = data.size() > 32;
    w.data = std::move(data);
    return w;
  }

  static Wqe atomic(uint8_t op, uint64_t va, uint32_t rkey, Segment result, uint64_t swap_add,
                    uint64_t compare) {
    Wqe w = write(va, rkey, {result});
    w.opcode = op;
    w.swap_add = swap_add;
    w.compare = compare;
    return w;
  }
  bool is_write() const { return opcode == kWrite || opcode == kWriteImm; }
  bool is_send() const { return opcode == kSendOp || opcode == kSendImm || opcode == kSendInv; }
  bool is_atomic() const { return opcode == kCompareSwap || opcode == kFetchAdd; }
  bool is_rd() const { return opcode == kRead || is_atomic(); }
  bool is_local() const { return opcode == kNop || opcode == kLocalInv || opcode == kFastReg; }
  bool has_imm() const { return opcode == kWriteImm || opcode == kSendImm; }
  MsgKind kind() const {
    return is_write()        ? kMsgWrite
           : is_send()       ? kMsgSend
           : is_atomic()     ? kMsgAtomic
           : opcode == kRead ? kMsgRead
                             : kMsgLocal;
  }

  unsigned block_count() const {
    const unsigned form = long_form ? 2 : 1;
    return inlined ? std::max(form, (32u + inline_len + 63) / 64) : form;
  }
  uint64_t bytes() const {
    if (inlined) return inline_len;
    uint64_t sum = 0;
    for (const auto& s : segments) sum += s.len;
    return sum;
  }
  // The blocks as they stand in the ring at this index.
  std::vector<uint8_t> image(uint16_t index) const {
    std::vector<uint8_t> out(block_count() * 64, 0);
    auto put = [&](size_t at, uint64_t value, size_t count) {
      for (size_t i = 0; i < count; ++i) out.at(at + i) = static_cast<uint8_t>(value >> (8 * i));
    };
    put(0, next, 8);
    out[8] = opcode;
    out[9] = static_cast<uint8_t>(signaled | solicited << 1 | fence << 2 | inlined << 3 |
                                  long_form << 4 | sampled << 5);
    out[10] = static_cast<uint8_t>(inline_len);
    out[11] = static_cast<uint8_t>((inline_len >> 8 & 0xF) | seg_cnt << 4);
    put(12, index, 2);
    put(16, remote_va, 8);
    put(24, rkey, 4);
    put(28, imm, 4);
    if (inlined) {
      std::copy(data.begin(), data.end(), out.begin() + 32);
    } else {
      for (size_t i = 0; i < segments.size(); ++i) {
        put(32 + 16 * i, segments[i].lkey, 4);
        put(36 + 16 * i, segments[i].len, 4);
        put(40 + 16 * i, segments[i].va, 8);
      }
      if (is_atomic()) {
        put(48, swap_add, 8);
        put(56, compare, 8);
      }
    }
    return out;
  }
  // The entry that wqe_fetch_engine makes of it.
  Bits entry(uint64_t qpn, uint16_t index) const {
    Bits bits = kEntry.pack({{"qpn", qpn},
                             {"index", index},
                             {"blocks", block_count()},
                             {"next_index", static_cast<uint16_t>(index + block_count())},
                             {"sampled", sampled},
                             {"has2", block_count() > 1}});
    auto bytes = image(index);
    bytes.resize(128, 0);
    kEntry.set_bits(bits, "wqe", Bits::from_bytes(bytes));
    return bits;
  }
};

// What a message must become on the wire (facts: roce.md sections 1 and 3).
struct Packet {
  uint8_t opcode = 0;
  uint32_t psn = 0;
  uint32_t psns = 1;    // a READ takes one for each response
  uint32_t len = 0;     // payload
  uint32_t dmalen = 0;  // where RETH is due
  uint64_t offset = 0;  // in the message
  bool ack_req = false, first = false, last = false;
  bool operator==(const Packet&) const = default;
};

inline uint32_t psns_of(const Wqe& wqe, uint32_t mtu) {
  if (wqe.is_local()) return 0;
  if (wqe.is_atomic()) return 1;
  return static_cast<uint32_t>(std::max<uint64_t>(1, (wqe.bytes() + mtu - 1) / mtu));
}

// The packet that carries (or for a READ: asks from) PSN psn + k; ack_req: what must be set at
// least.
inline Packet packet_at(const Wqe& wqe, uint32_t mtu, uint32_t psn, uint32_t k,
                        Service service = kRc) {
  const uint32_t count = psns_of(wqe, mtu);
  Packet p;
  p.psn = (psn + k) & 0xFFFFFF;
  p.offset = uint64_t{k} * mtu;
  if (wqe.is_rd()) {
    p.first = p.last = p.ack_req = true;
    p.psns = count - k;
    p.dmalen = wqe.is_atomic() ? 8 : static_cast<uint32_t>(wqe.bytes() - p.offset);
    p.opcode = wqe.opcode == kRead ? 0x0C : wqe.opcode == kCompareSwap ? 0x13 : 0x14;
    return p;
  }
  p.first = k == 0;
  p.last = k + 1 == count;
  p.len = static_cast<uint32_t>(std::min<uint64_t>(mtu, wqe.bytes() - p.offset));
  p.dmalen = static_cast<uint32_t>(wqe.bytes());
  p.ack_req = p.last && service == kRc;
  const bool imm = wqe.has_imm(), inv = wqe.opcode == kSendInv;
  if (wqe.is_write()) {
    p.opcode = p.first && p.last ? (imm ? 0x0B : 0x0A)
               : p.first         ? 0x06
               : p.last          ? (imm ? 0x09 : 0x08)
                                 : 0x07;
  } else {
    p.opcode = p.first && p.last ? (inv   ? 0x17
                                    : imm ? 0x05
                                          : 0x04)
               : p.first         ? 0x00
               : p.last          ? (inv   ? 0x16
                                    : imm ? 0x03
                                          : 0x02)
                                 : 0x01;
  }
  if (service == kUc) p.opcode += 0x20;
  if (service == kUd) p.opcode += 0x60;
  return p;
}

inline std::vector<Packet> segment(const Wqe& wqe, uint32_t mtu, uint32_t psn, unsigned ack_every,
                                   Service service = kRc) {
  std::vector<Packet> out;
  const uint32_t count = wqe.is_rd() ? 1 : psns_of(wqe, mtu);
  unsigned since = 0;
  for (uint32_t k = 0; k < count; ++k) {
    Packet p = packet_at(wqe, mtu, psn, k, service);
    ++since;
    if (service == kRc && ack_every != 0 && since >= ack_every) p.ack_req = true;
    if (p.ack_req) since = 0;
    out.push_back(p);
  }
  return out;
}

// The n-th stretch of a byte string that lies in several pieces of memory.
struct Piece {
  uint64_t addr = 0;
  uint32_t len = 0;
  bool operator==(const Piece&) const = default;
};
inline std::vector<Piece> pieces(const std::vector<Piece>& memory, uint64_t offset,
                                 uint64_t length) {
  std::vector<Piece> out;
  for (const auto& m : memory) {
    if (offset >= m.len) {
      offset -= m.len;
      continue;
    }
    const uint64_t n = std::min<uint64_t>(m.len - offset, length);
    if (n > 0) out.push_back({m.addr + offset, static_cast<uint32_t>(n)});
    length -= n;
    offset = 0;
    if (length == 0) break;
  }
  return out;
}

}  // namespace rnic::test
