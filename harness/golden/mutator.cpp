// SPDX-License-Identifier: Apache-2.0
#include "harness/golden/mutator.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "harness/roce/bytes.hpp"

namespace rnic::golden {

using roce::MsgKind;

RequestStream::RequestStream(const StreamConfig& config, uint64_t seed)
    : c_(config), random_(mem::substream(seed, "stream")), psn_(config.base.psn) {}

void RequestStream::sync(const Responder::Progress& p) {
  psn_ = p.expected_psn;
  if (p.open == Responder::Open::kNone) {
    kind_ = MsgKind::kNone;
    return;
  }
  first_ = false;
  const bool write = p.open == Responder::Open::kWrite;
  const bool was_write = is_write(kind_);
  if (kind_ == MsgKind::kNone || write != was_write)
    kind_ = write ? MsgKind::kWrite : MsgKind::kSend;
  if (write) {
    left_ = p.write_left;
  } else if (left_ == 0) {
    left_ = 1 + static_cast<uint32_t>(random_.below(c_.pmtu));
  }
}

void RequestStream::begin() {
  static constexpr std::array<MsgKind, 7> kKinds = {
      MsgKind::kSend,        MsgKind::kSendImm,     MsgKind::kWrite,   MsgKind::kWriteImm,
      MsgKind::kReadRequest, MsgKind::kCompareSwap, MsgKind::kFetchAdd};
  const uint32_t total = std::accumulate(c_.weights.begin(), c_.weights.end(), 0u);
  auto at = static_cast<uint32_t>(random_.below(total));
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (at < c_.weights[i]) {
      kind_ = kKinds[i];
      break;
    }
    at -= c_.weights[i];
  }
  first_ = true;
  spec_ = c_.base;
  // READ, ATOMIC and WRITE have parts of the region of their own: without a fence a later WRITE may
  // overtake the data of an earlier READ.
  const bool atomic = is_atomic(kind_);
  const auto quarter = static_cast<uint32_t>(c_.region.length / 4);
  const uint32_t part = atomic ? quarter + 64 : kind_ == MsgKind::kReadRequest ? 0 : 2 * quarter;
  const uint32_t room = atomic                           ? quarter - 128
                        : kind_ == MsgKind::kReadRequest ? quarter
                                                         : 2 * quarter;
  switch (random_.below(4)) {
    case 0:
      left_ = static_cast<uint32_t>(random_.below(16));
      break;
    case 1:
      left_ = c_.pmtu * (1 + static_cast<uint32_t>(random_.below(3))) +
              static_cast<uint32_t>(random_.below(3)) - 1;
      break;
    default:
      left_ = static_cast<uint32_t>(random_.below(c_.max_bytes + 1));
  }
  left_ = std::min({left_, c_.max_bytes, room});
  if (atomic) left_ = 8;
  uint64_t offset = random_.below(room - left_ + 1);
  if (random_.chance(0.1)) offset = room - left_;  // up to the end
  spec_.va = c_.region.va + part + offset;
  if (atomic) spec_.va &= ~uint64_t{7};
  spec_.rkey = c_.region.key;
  spec_.dma_len = left_;
  spec_.imm = static_cast<uint32_t>(random_.next());
  spec_.swap_add = random_.next();
  spec_.compare = random_.chance(0.5) ? 0 : random_.next();
}

std::vector<uint8_t> RequestStream::next() {
  if (kind_ == MsgKind::kNone) begin();
  const bool write = is_write(kind_), send = is_send(kind_);
  const bool imm = kind_ == MsgKind::kWriteImm || kind_ == MsgKind::kSendImm;
  roce::FrameSpec s = spec_;
  s.psn = psn_;
  s.dest_qp = c_.base.dest_qp;
  s.ip_src = c_.base.ip_src;
  s.ip_dst = c_.base.ip_dst;
  s.ack_req = random_.chance(0.7);
  uint32_t payload = 0, psns = 1;
  bool last = true;
  if (write || send) {
    last = left_ <= c_.pmtu;
    payload = std::min(left_, c_.pmtu);
    const uint8_t base = write ? roce::kRcWriteFirst : roce::kRcSendFirst;
    // FIRST, MIDDLE, LAST, LAST with immediate, ONLY, ONLY with immediate
    const uint8_t step = last ? (first_ ? (imm ? 5 : 4) : (imm ? 3 : 2)) : (first_ ? 0 : 1);
    s.opcode = base + step;
    s.solicited = last && (send || imm) && random_.chance(0.3);
  } else if (kind_ == MsgKind::kReadRequest) {
    s.opcode = roce::kRcReadRequest;
    psns = roce::message_psns(left_, c_.pmtu);
  } else {
    s.opcode = kind_ == MsgKind::kFetchAdd ? roce::kRcFetchAdd : roce::kRcCompareSwap;
  }
  std::vector<uint8_t> data(payload), frame(payload + 256);
  for (uint8_t& b : data) b = static_cast<uint8_t>(random_.next());
  frame.resize(roce::build_frame(s, data, frame));
  psn_ = roce::psn_add(psn_, psns);
  left_ -= payload;
  first_ = false;
  if (last) kind_ = MsgKind::kNone;
  history_.push_back(frame);
  if (history_.size() > 64) history_.erase(history_.begin());
  return frame;
}

std::vector<uint8_t> RequestStream::earlier() {
  return history_.empty() ? std::vector<uint8_t>{} : history_[random_.below(history_.size())];
}

namespace {

// Puts another number of payload bytes into the frame, all lengths right.
void resize_payload(std::vector<uint8_t>& f, const roce::FrameView& v, uint32_t bytes, bool pad) {
  const uint32_t tail = pad ? roce::pad_of(bytes) : 0;
  std::vector<uint8_t> g(f.begin(), f.begin() + v.payload_offset);
  for (uint32_t i = 0; i < bytes; ++i)
    g.push_back(i < v.payload_len ? f[v.payload_offset + i] : static_cast<uint8_t>(i * 3));
  g.resize(g.size() + tail + roce::kIcrcBytes);
  const auto udp = static_cast<uint16_t>(g.size() - v.udp_offset);
  roce::store_be16(g.data() + v.udp_offset + 4, udp);
  if (v.ipv6) {
    roce::store_be16(g.data() + v.l3_offset + 4, udp);
  } else {
    roce::store_be16(g.data() + v.l3_offset + 2, static_cast<uint16_t>(g.size() - v.l3_offset));
  }
  if (pad) {
    uint8_t& b = g[v.bth_offset + 1];
    b = static_cast<uint8_t>((b & 0xCF) | (tail << 4));
  }
  if (g.size() < roce::kMinFrame) g.resize(roce::kMinFrame);
  f = std::move(g);
}

std::string text(const char* format, uint64_t a, uint64_t b = 0) {
  char t[96];
  std::snprintf(t, sizeof t, format, static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return t;
}

}  // namespace

std::string Mutator::change(std::vector<uint8_t>& f, const roce::FrameView& v, bool& repair) {
  uint8_t* bth = f.data() + v.bth_offset;
  uint8_t* ext = f.data() + v.ext_offset;
  const auto any = [&](uint64_t n) { return random_.below(n); };
  const uint16_t has = v.info().ext;
  switch (any(24)) {
    case 0: {
      const auto opcode = static_cast<uint8_t>(any(3) == 0 ? any(256) : any(0x20));
      const std::string t = text("opcode %02llx -> %02llx", bth[0], opcode);
      bth[0] = opcode;
      return t;
    }
    case 1: {
      const auto delta = static_cast<uint32_t>(any(8)) - 4;
      roce::store_be24(bth + 9, roce::psn_add(v.psn, delta));
      return text("PSN + %lld", static_cast<uint64_t>(static_cast<int64_t>(int32_t(delta))));
    }
    case 2:
      roce::store_be24(bth + 9, static_cast<uint32_t>(any(1 << 24)));
      return "any PSN";
    case 3:
      roce::store_be24(bth + 5, static_cast<uint32_t>(any(1 << 24)) | 0x800000);
      return "unknown QP";
    case 4:
      bth[1] ^= static_cast<uint8_t>(0x10u << any(2));
      return "pad count";
    case 5:
      bth[1] ^= static_cast<uint8_t>(1u << any(4));
      return "version";
    case 6:
      roce::store_be16(bth + 2, static_cast<uint16_t>(any(65536)));
      return "P_Key";
    case 7:
      bth[4] = static_cast<uint8_t>(any(256));
      return "FECN, BECN, reserved";
    case 8:
      bth[8] ^= static_cast<uint8_t>(1u << any(8));
      return "AckReq or reserved";
    case 9:
      if ((has & (roce::kExtReth | roce::kExtAtomic)) == 0) return "";
      roce::store_be64(ext, v.va + (any(2) == 0 ? any(64) - 32 : random_.next()));
      return "address";
    case 10:
      if ((has & (roce::kExtReth | roce::kExtAtomic)) == 0) return "";
      ext[8 + any(4)] ^= static_cast<uint8_t>(1u << any(8));
      return "key";
    case 11: {
      if ((has & roce::kExtReth) == 0) return "";
      const uint32_t values[] = {
          0,           v.dma_len + 1, v.dma_len - 1, v.dma_len + 4,
          0x80000000u, 0x80000001u,   0xFFFFFFFFu,   static_cast<uint32_t>(any(10000))};
      const uint32_t n = values[any(8)];
      roce::store_be32(ext + 12, n);
      return text("DMA length %llu -> %llu", v.dma_len, n);
    }
    case 12: {
      const auto n = static_cast<uint32_t>(any(4) == 0 ? any(9000) : any(v.payload_len + 8));
      resize_payload(f, v, n, true);
      return text("payload %llu -> %llu", v.payload_len, n);
    }
    case 13:
      resize_payload(f, v, v.payload_len + 1 + static_cast<uint32_t>(any(3)), false);
      return "unpadded payload";
    case 14: {
      // Lengths that disagree.
      const size_t at = any(2) == 0 ? v.udp_offset + 4u : v.l3_offset + (v.ipv6 ? 4u : 2u);
      roce::store_be16(f.data() + at,
                       static_cast<uint16_t>(roce::load_be16(f.data() + at) + any(64) - 32));
      return "IP or UDP length";
    }
    case 15:
      f.resize(f.size() - 1 - any(std::min<uint64_t>(f.size() - 15, 60)));
      repair = false;
      return "cut";
    case 16:
      f.resize(f.size() + 1 + any(40), static_cast<uint8_t>(any(256)));
      return "trailing bytes";
    case 17: {
      // Another source or destination.
      const size_t at = v.l3_offset + (v.ipv6 ? 8 : 12) + any(v.ipv6 ? 32 : 8);
      f[at] ^= static_cast<uint8_t>(1u << any(8));
      return "IP address";
    }
    case 18:
      f[v.l3_offset] ^= static_cast<uint8_t>(1u << any(8));
      return "IP version or header length";
    case 19:
      if (v.ipv6) return "";
      f[v.l3_offset + 6] ^= static_cast<uint8_t>(1u << any(6));
      return "fragment";
    case 20:
      f[f.size() > v.icrc_offset ? v.icrc_offset + any(4) : f.size() - 1] ^=
          static_cast<uint8_t>(1u << any(8));
      repair = false;
      return "iCRC";
    case 21: {
      const size_t from = v.bth_offset;
      const size_t at = from + any(v.payload_offset - from);
      f[at] ^= static_cast<uint8_t>(1u << any(8));
      return text("header byte %llu", at - from);
    }
    case 22:
      if (v.payload_len == 0) return "";
      f[v.payload_offset + any(v.payload_len)] ^= static_cast<uint8_t>(1u << any(8));
      return "payload bit";
    default:
      f[v.udp_offset + any(4)] ^= static_cast<uint8_t>(1u << any(8));
      return "UDP port";
  }
}

std::string Mutator::mutate(std::vector<uint8_t>& frame) {
  std::string what;
  bool repair = true;
  const uint64_t count = random_.chance(0.75) ? 1 : 2 + random_.below(2);
  for (uint64_t i = 0; i < count && repair; ++i) {
    roce::FrameView v;
    if (roce::parse_frame(frame, v) != roce::ParseStatus::kOk) break;
    std::string one;
    while (one.empty()) one = change(frame, v, repair);
    what += (what.empty() ? "" : "; ") + one;
  }
  if (repair) {
    roce::fix_ipv4_checksum(frame);
    roce::fix_icrc(frame);
  }
  return what;
}

}  // namespace rnic::golden
