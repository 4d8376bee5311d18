// SPDX-License-Identifier: Apache-2.0
#include "harness/roce/segmenter_model.hpp"

#include <cstdio>
#include <stdexcept>

namespace rnic::roce {

SegmenterModel::SegmenterModel(const SegmenterConfig& config)
    : config_(config), psn_(config.first_psn & kPsnMask) {
  if (!valid_pmtu(config.pmtu)) throw std::invalid_argument("segmenter: path MTU is not 256..4096");
}

void SegmenterModel::expand(const WorkRequest& wr, std::vector<ExpectedPacket>& out) {
  const bool send = is_send(wr.kind);
  const bool write = is_write(wr.kind);
  const bool read = wr.kind == MsgKind::kReadRequest;
  const bool atomic = is_atomic(wr.kind);
  if (!send && !write && !read && !atomic) throw std::invalid_argument("segmenter: not a request");
  if (config_.transport != Transport::kRc && (read || atomic || wr.kind == MsgKind::kSendInv)) {
    throw std::invalid_argument("segmenter: only RC carries READ, ATOMIC and SEND with invalidate");
  }
  if (wr.length > kMaxMessage) throw std::invalid_argument("segmenter: message above 2^31 bytes");
  const uint32_t count = message_packets(wr.kind, wr.length, config_.pmtu);
  for (uint32_t i = 0; i < count; ++i) {
    const Segment s = message_segment(wr.kind, wr.length, config_.pmtu, i, config_.transport);
    const OpcodeInfo& info = opcode_info(s.opcode);
    ExpectedPacket p;
    p.opcode = s.opcode;
    p.psn = psn_add(psn_, i);
    p.dest_qp = config_.dest_qp;
    p.pkey = config_.pkey;
    p.pad = s.pad;
    p.message_offset = s.offset;
    p.payload_len = s.length;
    // READ and ATOMIC are answered whether or not they ask for it; the facts ask the requester to
    // set it.
    p.ack_req =
        config_.transport == Transport::kRc && s.last && (wr.ack_required || read || atomic);
    p.solicited = wr.solicited && s.last && (send || wr.kind == MsgKind::kWriteImm);
    if (info.ext & kExtReth) {
      p.va = wr.remote_va;
      p.rkey = wr.rkey;
      p.dma_len = wr.length;
    }
    if (info.ext & kExtAtomic) {
      p.va = wr.remote_va;
      p.rkey = wr.rkey;
      p.swap_add = wr.swap_add;
      p.compare = wr.kind == MsgKind::kCompareSwap ? wr.compare : 0;
    }
    if (info.ext & kExtImm) p.imm = wr.imm;
    if (info.ext & kExtIeth) p.inv_rkey = wr.inv_rkey;
    if (write) p.remote_va = wr.remote_va + s.offset;
    out.push_back(p);
  }
  psn_ = psn_add(psn_, read ? message_psns(wr.length, config_.pmtu) : count);
  ++messages_;
}

WorkRequest SegmenterModel::read_tail(const WorkRequest& read, uint32_t pmtu, uint32_t received) {
  if (received >= message_psns(read.length, pmtu)) {
    throw std::invalid_argument("segmenter: the READ is complete");
  }
  WorkRequest tail = read;
  tail.remote_va += uint64_t{received} * pmtu;
  tail.length -= received * pmtu;
  return tail;
}

std::string mismatch(const ExpectedPacket& want, const FrameView& got) {
  std::string s;
  const auto differ = [&](const char* field, uint64_t w, uint64_t g) {
    if (w == g) return;
    char b[96];
    std::snprintf(b, sizeof b, "%s%s: got 0x%llx, expected 0x%llx", s.empty() ? "" : "; ", field,
                  static_cast<unsigned long long>(g), static_cast<unsigned long long>(w));
    s += b;
  };
  const OpcodeInfo& info = opcode_info(want.opcode);
  differ("opcode", want.opcode, got.opcode);
  differ("PSN", want.psn, got.psn);
  differ("destination QP", want.dest_qp, got.dest_qp);
  differ("P_Key", want.pkey, got.pkey);
  differ("pad", want.pad, got.pad);
  differ("payload length", want.payload_len, got.payload_len);
  differ("solicited", want.solicited, got.solicited);
  if (want.ack_req) differ("AckReq", 1, got.ack_req);
  if (want.opcode == got.opcode) {
    if (info.ext & (kExtReth | kExtAtomic)) {
      differ("VA", want.va, got.va);
      differ("R_Key", want.rkey, got.rkey);
    }
    if (info.ext & kExtReth) differ("DMA length", want.dma_len, got.dma_len);
    if (info.ext & kExtAtomic) {
      differ("swap/add", want.swap_add, got.swap_add);
      differ("compare", want.compare, got.compare);
    }
    if (info.ext & kExtImm) differ("immediate", want.imm, got.imm);
    if (info.ext & kExtIeth) differ("invalidated R_Key", want.inv_rkey, got.inv_rkey);
  }
  return s;
}

FrameSpec to_frame_spec(const ExpectedPacket& p, const FrameSpec& base) {
  FrameSpec s = base;
  s.opcode = p.opcode;
  s.psn = p.psn;
  s.dest_qp = p.dest_qp;
  s.pkey = p.pkey;
  s.ack_req = p.ack_req;
  s.solicited = p.solicited;
  s.va = p.va;
  s.rkey = p.rkey;
  s.dma_len = p.dma_len;
  s.imm = p.imm;
  s.inv_rkey = p.inv_rkey;
  s.swap_add = p.swap_add;
  s.compare = p.compare;
  return s;
}

}  // namespace rnic::roce
