// SPDX-License-Identifier: Apache-2.0
#include "sim/live/data_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/roce/aeth.hpp"
#include "harness/roce/bytes.hpp"
#include "harness/roce/psn.hpp"

namespace rnic::sim {
namespace {

constexpr size_t kMaxProblems = 20;
constexpr uint16_t kPkey = 0xFFFF;  // of every NIC here
constexpr size_t kMaxAsked = 64;    // that may still be repeated

using roce::psn_add;
using roce::psn_diff;

std::string first_difference(std::span<const uint8_t> got, std::span<const uint8_t> want) {
  if (got.size() != want.size())
    return fmt::format("{} bytes, expected {}", got.size(), want.size());
  const auto m = std::mismatch(got.begin(), got.end(), want.begin());
  if (m.first == got.end()) return "";
  return fmt::format("byte {} is {:#04x}, expected {:#04x}", m.first - got.begin(), *m.first,
                     *m.second);
}

std::span<const uint8_t> without_fcs(const wire::FrameInfo& f) {
  return f.has_fcs ? f.bytes.first(f.bytes.size() - wire::kFcsBytes) : f.bytes;
}

}  // namespace

void DataCheck::problem(const std::string& text) {
  if (problems_.size() < kMaxProblems) problems_.push_back(text);
}

void DataCheck::add_memory(const Buffer& m) {
  Region r;
  r.memory = &m;
  r.image.resize(m.size);
  m.buffer.read(0, r.image.data(), r.image.size());
  regions_.push_back(std::move(r));
}

void DataCheck::set_memory(const Buffer& m) {
  for (Region& r : regions_) {
    if (r.memory == &m) m.buffer.read(0, r.image.data(), r.image.size());
  }
}

void DataCheck::add_queue(const Queue& q, uint32_t room) {
  Stream s;
  s.service = q.service;
  s.peer_qpn = q.theirs.qpn;
  s.mtu = q.mtu;
  s.qkey = q.qkey;
  s.room = room;
  s.out_psn = q.psn;
  s.in_psn = q.theirs.psn;
  streams_[q.number()] = std::move(s);
}

void DataCheck::set_peer(const Queue& q) { streams_.at(q.number()).peer_qpn = q.theirs.qpn; }

void DataCheck::expect(uint32_t qpn, std::shared_ptr<const Bytes> bytes) {
  streams_.at(qpn).expected.push_back(std::move(bytes));
}

std::optional<DataCheck::Bytes> DataCheck::next_received(uint32_t qpn) {
  auto& list = streams_.at(qpn).received;
  if (list.empty()) return std::nullopt;
  Bytes b = std::move(list.front().bytes);
  list.pop_front();
  return b;
}

std::optional<DataCheck::Bytes> DataCheck::next_read(uint32_t qpn) {
  auto& list = streams_.at(qpn).ours;
  if (list.empty() || list.front().atomic || !list.front().done) return std::nullopt;
  Bytes b = std::move(list.front().bytes);
  list.pop_front();
  return b;
}

std::optional<uint64_t> DataCheck::next_atomic(uint32_t qpn) {
  auto& list = streams_.at(qpn).ours;
  if (list.empty() || !list.front().atomic || !list.front().done) return std::nullopt;
  const uint64_t v = list.front().value;
  list.pop_front();
  return v;
}

std::string DataCheck::refusal(uint32_t qpn) const {
  const auto s = streams_.find(qpn);
  return s == streams_.end() ? "" : s->second.refusal;
}

void DataCheck::finish() {
  for (const Region& r : regions_) {
    Bytes now(r.image.size());
    r.memory->buffer.read(0, now.data(), now.size());
    if (const std::string d = first_difference(now, r.image); !d.empty())
      problem(fmt::format("memory at {:#x}: {}", r.memory->va, d));
  }
  forget();
}

void DataCheck::forget() {
  regions_.clear();
  streams_.clear();
}

DataCheck::Stream* DataCheck::by_peer(uint32_t peer_qpn) {
  for (auto& [qpn, s] : streams_) {
    if (s.peer_qpn == peer_qpn) return &s;
  }
  return nullptr;
}

DataCheck::Region* DataCheck::region_at(uint64_t va, uint64_t length) {
  for (Region& r : regions_) {
    if (va >= r.memory->va && length <= r.memory->size &&
        va - r.memory->va <= r.memory->size - length)
      return &r;
  }
  return nullptr;
}

// ------------------------------------------------------------------------------------------------
// frames
void DataCheck::on_tx(const wire::FrameInfo& frame) {
  if (frame.direction != end_ || frame.flags.err) return;
  roce::FrameView v;
  if (roce::parse_frame(without_fcs(frame), v) != roce::ParseStatus::kOk) return;
  Stream* s = by_peer(v.dest_qp);
  if (s == nullptr) return;
  if (v.info().is_request) {
    out_request(*s, v);
  } else {
    out_response(*s, v);
  }
}

void DataCheck::on_rx(const wire::FrameInfo& frame) {
  if (frame.direction == end_ || frame.flags.err) return;
  roce::FrameView v;
  if (roce::parse_frame(without_fcs(frame), v) != roce::ParseStatus::kOk || !roce::icrc_good(v))
    return;
  const auto s = streams_.find(v.dest_qp);
  if (s == streams_.end()) return;
  if (v.info().is_request) {
    in_request(s->second, v);
  } else {
    in_response(s->second, v);
  }
}

// What the NIC asks.
void DataCheck::out_request(Stream& s, const roce::FrameView& v) {
  const roce::OpcodeInfo& info = v.info();
  const int ahead = psn_diff(v.psn, s.out_psn);
  if (ahead < 0 && s.service == tools::Service::kRc) return;  // sent again
  if (ahead > 0)
    problem(fmt::format("QP {} sends PSN {:#x}, expected {:#x}", s.peer_qpn, v.psn, s.out_psn));
  if (info.kind == roce::MsgKind::kReadRequest || is_atomic(info.kind)) {
    Asked a;
    a.psn = v.psn;
    a.atomic = is_atomic(info.kind);
    a.packets = a.atomic ? 1 : roce::message_psns(v.dma_len, s.mtu);
    s.out_psn = psn_add(v.psn, a.packets);
    s.ours.push_back(std::move(a));
    return;
  }
  s.out_psn = psn_add(v.psn, 1);
  if (info.is_first) s.out.clear();
  s.out.insert(s.out.end(), v.payload().begin(), v.payload().end());
  if (!info.is_last) return;
  if (s.expected.empty())
    return problem(fmt::format("a message to QP {} that nobody posted", s.peer_qpn));
  if (const std::string d = first_difference(s.out, *s.expected.front()); !d.empty())
    problem(fmt::format("message of the NIC to QP {}, PSN {:#x}: {}", s.peer_qpn, v.psn, d));
  bytes_checked_ += s.out.size();
  s.expected.pop_front();
}

// What the NIC answers.
void DataCheck::out_response(Stream& s, const roce::FrameView& v) {
  if (v.info().kind == roce::MsgKind::kAck) {
    if (roce::aeth_kind(v.syndrome) == roce::AethKind::kRnrNak) {
      // Not accepted: it comes again.
      s.in_psn = v.psn;
      s.in_open = false;
      while (!s.received.empty() && psn_diff(s.received.back().psn, v.psn) >= 0)
        s.received.pop_back();
    } else if (roce::aeth_kind(v.syndrome) == roce::AethKind::kNak && s.refusal.empty()) {
      switch (roce::aeth_code(v.syndrome)) {
        case roce::kNakInvalidRequest:
          s.refusal = "REM_INV_REQ_ERR";
          break;
        case roce::kNakRemoteAccess:
          s.refusal = "REM_ACCESS_ERR";
          break;
        case roce::kNakRemoteOperational:
          s.refusal = "REM_OP_ERR";
          break;
        default:
          break;
      }
    }
    return;
  }
  for (const Asked& a : s.theirs) {
    const int at = psn_diff(v.psn, a.psn);
    if (at < 0 || at >= static_cast<int>(a.packets)) continue;
    if (a.atomic) {
      if (v.atomic_orig != a.value)
        problem(fmt::format("ATOMIC of PSN {:#x} answered with {:#x}, expected {:#x}", v.psn,
                            v.atomic_orig, a.value));
      bytes_checked_ += 8;
      return;
    }
    const uint64_t va = a.va + uint64_t{static_cast<uint32_t>(at)} * s.mtu;
    const Region* r = region_at(va, v.payload_len);
    if (r == nullptr) return problem(fmt::format("READ of {:#x} answered: not memory", va));
    const uint64_t offset = va - r->memory->va;
    if (const std::string d = first_difference(
            v.payload(), std::span<const uint8_t>(r->image).subspan(offset, v.payload_len));
        !d.empty())
      problem(fmt::format("answer to the READ of {:#x}, PSN {:#x}: {}", a.va, v.psn, d));
    bytes_checked_ += v.payload_len;
    return;
  }
  problem(fmt::format("an answer of PSN {:#x} to nothing that was asked", v.psn));
}

// What the peer asks.
void DataCheck::in_request(Stream& s, const roce::FrameView& v) {
  const roce::OpcodeInfo& info = v.info();
  if (s.service == tools::Service::kUd) {
    const bool kept = is_send(info.kind) && v.qkey == s.qkey && roce::pkeys_match(v.pkey, kPkey) &&
                      (s.room == 0 || v.payload_len <= s.room);
    if (!kept) return;  // the NIC drops it
    s.received.push_back({v.psn, Bytes(v.payload().begin(), v.payload().end())});
    return;
  }
  if (!s.refusal.empty()) return;
  if (v.psn != s.in_psn) {
    if (s.service == tools::Service::kRc) return;  // a repeat, or something before it is lost
    s.in_open = false;
    if (!info.is_first) return;
  }
  if (info.kind == roce::MsgKind::kReadRequest || is_atomic(info.kind)) {
    Asked a;
    a.psn = v.psn;
    a.atomic = is_atomic(info.kind);
    a.va = v.va;
    a.packets = a.atomic ? 1 : roce::message_psns(v.dma_len, s.mtu);
    if (a.atomic) a.value = apply_atomic(v);
    s.in_psn = psn_add(v.psn, a.packets);
    s.theirs.push_back(std::move(a));
    if (s.theirs.size() > kMaxAsked) s.theirs.pop_front();
    return;
  }
  s.in_psn = psn_add(v.psn, 1);
  if (info.is_first) {
    s.in.clear();
    s.in_open = true;
    s.in_first = v.psn;
    if (info.ext & roce::kExtReth) {
      const Region* r = region_at(v.va, v.dma_len);
      s.write_va = v.va;
      s.write_good = r != nullptr && r->memory->key == v.rkey;
    }
  }
  if (!s.in_open) return;
  if (is_write(info.kind)) {
    if (!s.write_good) return;  // the NIC must refuse it
    store(s.write_va, v.payload());
    s.write_va += v.payload_len;
    bytes_checked_ += v.payload_len;
    return;
  }
  s.in.insert(s.in.end(), v.payload().begin(), v.payload().end());
  if (info.is_last) s.received.push_back({s.in_first, s.in});
}

// What the peer answers.
void DataCheck::in_response(Stream& s, const roce::FrameView& v) {
  if (v.info().kind == roce::MsgKind::kAck) return;
  for (Asked& a : s.ours) {
    const int at = psn_diff(v.psn, a.psn);
    if (at < 0 || at >= static_cast<int>(a.packets)) continue;
    if (a.done) return;
    if (a.atomic) {
      a.value = v.atomic_orig;
      a.done = true;
      return;
    }
    if (uint64_t{static_cast<uint32_t>(at)} * s.mtu != a.bytes.size()) return;  // a gap
    a.bytes.insert(a.bytes.end(), v.payload().begin(), v.payload().end());
    a.done = at + 1 == static_cast<int>(a.packets);
    return;
  }
}

void DataCheck::store(uint64_t va, std::span<const uint8_t> bytes) {
  Region* r = region_at(va, bytes.size());
  if (r == nullptr) return;
  std::copy(bytes.begin(), bytes.end(),
            r->image.begin() + static_cast<std::ptrdiff_t>(va - r->memory->va));
}

uint64_t DataCheck::apply_atomic(const roce::FrameView& v) {
  Region* r = region_at(v.va, 8);
  if (r == nullptr || r->memory->key != v.rkey) return 0;  // the NIC must refuse it
  uint8_t* p = r->image.data() + (v.va - r->memory->va);
  const uint64_t old = roce::load_le64(p);
  if (v.info().kind == roce::MsgKind::kFetchAdd) {
    roce::store_le64(p, old + v.swap_add);
  } else if (old == v.compare) {
    roce::store_le64(p, v.swap_add);
  }
  return old;
}

}  // namespace rnic::sim
