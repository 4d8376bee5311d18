// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the transmit side share: the packed structs of rnic_pkg by field name,
// work-queue elements written byte by byte (regs/rnic.yaml, descriptor wqe), and the packets a
// message must become (facts: roce.md section 1).
//
//   Wqe wqe = Wqe::write(0x1000, 0x77, {{0x11, 4096, 0x2000}});
//   auto blocks = wqe.blocks(index);                          // 64-byte blocks as in the ring
//   auto packets = segment(length, mtu, first_psn, imm);      // what must leave
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

// A packed struct of rnic_pkg, its fields placed as the package itself lists them (others may add
// fields).
class PkgStruct {
 public:
  explicit PkgStruct(const std::string& name) {
    std::ifstream file(RNIC_SOURCE_DIR "/rtl/pkg/rnic_pkg.sv");
    std::string line;
    std::vector<std::pair<std::string, size_t>> fields;
    const std::regex field(R"(^\s*logic\s*(?:\[(\d+):0\])?\s*(\w+)\s*;.*)");
    while (std::getline(file, line)) {
      std::smatch m;
      if (line.find("typedef struct packed") != std::string::npos) fields.clear();
      if (std::regex_match(line, m, field)) {
        fields.emplace_back(m[2], m[1].matched ? std::stoul(m[1]) + 1 : 1);
      }
      if (line.find("} " + name + ";") == std::string::npos) continue;
      for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
        places_[f->first] = {width_, f->second};
        width_ += f->second;
      }
      return;
    }
    throw std::runtime_error("rnic_pkg has no struct " + name);
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

inline const PkgStruct kConn("qp_conn_t"), kSend("qp_send_t"), kOrder("qp_init_t"),
    kFail("qp_fail_t"), kEntry("wqe_entry_t"), kMsg("msg_t"), kTxPkt("tx_pkt_t"),
    kRdReq("dma_rd_req_t"), kRdRsp("dma_rd_rsp_t"), kMrReq("mr_req_t"), kMrRsp("mr_rsp_t");

enum QpState : uint64_t { kReset = 0, kInit = 1, kRtr = 2, kRts = 3, kSqd = 4, kSqe = 5, kErr = 6 };
enum Order : uint64_t { kClear = 0, kOrderRtr = 1, kOrderRts = 2, kOrderErr = 3, kOrderKick = 4 };
enum MsgKind : uint64_t { kMsgWrite = 0, kMsgLocal = 4, kMsgFailed = 5 };
enum Status : uint64_t { kLocLen = 1, kLocQpOp = 2, kLocProt = 4, kFlush = 5, kFatal = 0x23 };

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
  uint16_t inline_len = 0;
  uint8_t seg_cnt = 0;
  uint64_t remote_va = 0;
  uint32_t rkey = 0, imm = 0;
  std::vector<Segment> segments;
  std::vector<uint8_t> data;  // inline

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
    out[9] = static_cast<uint8_t>(signaled | solicited << 1 | inlined << 3 | long_form << 4 |
                                  sampled << 5);
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

// What a WRITE must become on the wire.
struct Packet {
  uint8_t opcode = 0;
  uint32_t psn = 0;
  uint32_t len = 0;
  uint64_t offset = 0;  // in the message
  bool ack_req = false, first = false, last = false;
  bool operator==(const Packet&) const = default;
};

inline std::vector<Packet> segment(uint64_t length, uint32_t mtu, uint32_t psn, bool imm,
                                   unsigned ack_every) {
  std::vector<Packet> out;
  const uint64_t count = length == 0 ? 1 : (length + mtu - 1) / mtu;
  unsigned since = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Packet p;
    p.first = i == 0;
    p.last = i + 1 == count;
    p.offset = i * mtu;
    p.len = static_cast<uint32_t>(std::min<uint64_t>(mtu, length - p.offset));
    p.psn = (psn + static_cast<uint32_t>(i)) & 0xFFFFFF;
    if (p.first && p.last)
      p.opcode = imm ? 0x0B : 0x0A;
    else if (p.first)
      p.opcode = 0x06;
    else if (p.last)
      p.opcode = imm ? 0x09 : 0x08;
    else
      p.opcode = 0x07;
    ++since;
    p.ack_req = p.last || (ack_every != 0 && since >= ack_every);
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
