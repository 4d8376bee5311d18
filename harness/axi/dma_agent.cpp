// SPDX-License-Identifier: Apache-2.0
#include "harness/axi/dma_agent.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace rnic::axi {
namespace {

constexpr uint32_t kPage = 4096;

uint64_t low_bits(uint32_t n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

// Bits [from, to) of 128.
Strobe lane_mask(uint32_t from, uint32_t to) {
  Strobe s;
  s[0] = low_bits(std::min(to, 64u)) & ~low_bits(std::min(from, 64u));
  s[1] = to <= 64 ? 0 : low_bits(to - 64) & ~(from <= 64 ? 0 : low_bits(from - 64));
  return s;
}

std::string hex(uint64_t v) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

}  // namespace

DmaAgent::DmaAgent(pcie::Fabric& fabric, const DmaAgentConfig& config)
    : fabric_(fabric),
      config_(config),
      beat_bytes_(config.data_w / 8),
      rng_(mem::substream(config.seed, "axi.dma_agent")),
      write_ids_(256),
      read_ids_(256, nullptr),
      held_data_(config.data_w / 32) {
  if (config.data_w != 128 && config.data_w != 256 && config.data_w != 512 &&
      config.data_w != 1024) {
    throw std::invalid_argument("data_w: expected 128, 256, 512 or 1024");
  }
  std::memset(junk_, 0xEE, sizeof junk_);
  fabric_.set_sink(this);
}

DmaAgent::~DmaAgent() { fabric_.set_sink(nullptr); }

void DmaAgent::fail(const char* signal, const std::string& what) const {
  throw ProtocolError(cycle_, std::string("m_axi_") + signal, what);
}

pcie::Endpoint DmaAgent::endpoint_of(const UserBits& user) {
  return user.target == 0 ? pcie::kHost : pcie::gpu_endpoint(user.gpu);
}

void DmaAgent::check_hold(const DmaIn& in) {
  if (aw_held_) {
    if (!in.aw_valid) fail("awvalid", "taken back before awready");
    if (held_aw_ != Address{in.aw_addr, in.aw_user, in.aw_id, in.aw_len}) {
      fail("awaddr", "address, ID, len or user changed before awready");
    }
  }
  if (w_held_) {
    if (!in.w_valid) fail("wvalid", "taken back before wready");
    if (held_strb_ != in.w_strb || held_last_ != in.w_last ||
        std::memcmp(held_data_.data(), in.w_data, beat_bytes_) != 0) {
      fail("wdata", "data, strobes or last changed before wready");
    }
  }
  if (ar_held_) {
    if (!in.ar_valid) fail("arvalid", "taken back before arready");
    if (held_ar_ != Address{in.ar_addr, in.ar_user, in.ar_id, in.ar_len}) {
      fail("araddr", "address, ID, len or user changed before arready");
    }
  }
}

void DmaAgent::check_address(const char* channel, const Address& a, uint32_t max_bytes) const {
  const std::string c = channel;
  const UserBits user = UserBits::decode(a.user);
  if (a.user >> 21) fail((c + "user").c_str(), "reserved bits are set: " + hex(a.user));
  if (user.target > 1)
    fail((c + "user").c_str(), "target " + std::to_string(user.target) + ", expected 0 or 1");
  if (user.no_data) {
    if (a.len != 0)
      fail((c + "len").c_str(),
           "a zero-length request has one beat, got len " + std::to_string(a.len));
    return;
  }
  if (user.bytes < 1 || user.bytes > kPage) {
    fail((c + "user").c_str(), "byte count " + std::to_string(user.bytes) + ", expected 1 to 4096");
  }
  if (user.bytes > max_bytes) {
    fail((c + "user").c_str(),
         std::to_string(user.bytes) + " bytes, the maximum is " + std::to_string(max_bytes));
  }
  if ((a.addr & (kPage - 1)) + user.bytes > kPage) {
    fail((c + "addr").c_str(),
         hex(a.addr) + " with " + std::to_string(user.bytes) + " bytes crosses a 4 KB boundary");
  }
  const uint32_t beats =
      (static_cast<uint32_t>(a.addr & (beat_bytes_ - 1)) + user.bytes + beat_bytes_ - 1) /
      beat_bytes_;
  if (a.len + 1u != beats) {
    fail((c + "len").c_str(), "len " + std::to_string(a.len) + ", but " +
                                  std::to_string(user.bytes) + " bytes at " + hex(a.addr) +
                                  " need " + std::to_string(beats) + " beats");
  }
}

void DmaAgent::sample(const DmaIn& in, uint64_t now_ps) {
  ++cycle_;
  if (aw_held_ || w_held_ || ar_held_) check_hold(in);

  if (out_.r_valid && in.r_ready) read_beat_taken();
  if (out_.b_valid && in.b_ready) take_response();

  aw_held_ = false;
  if (in.aw_valid) {
    const Address a{in.aw_addr, in.aw_user, in.aw_id, in.aw_len};
    if (out_.aw_ready) {
      check_address("aw", a, fabric_.config().mps);
      if (!ahead_.empty()) {
        attach(*ahead_.pop(), a, now_ps);
      } else {
        aw_.push(a);
      }
    } else {
      aw_held_ = true;
      held_aw_ = a;
    }
  }
  w_held_ = false;
  if (in.w_valid) {
    if (out_.w_ready) {
      take_beat(in, now_ps);
    } else {
      w_held_ = true;
      held_strb_ = in.w_strb;
      held_last_ = in.w_last;
      std::memcpy(held_data_.data(), in.w_data, beat_bytes_);
    }
  }
  ar_held_ = false;
  if (in.ar_valid) {
    const Address a{in.ar_addr, in.ar_user, in.ar_id, in.ar_len};
    if (out_.ar_ready) {
      take_read(a, now_ps);
    } else {
      ar_held_ = true;
      held_ar_ = a;
    }
  }
}

void DmaAgent::drive(uint64_t horizon_ps) {
  const DmaStalls& stalls = config_.stalls;
  out_.aw_ready = aw_.size() < config_.aw_queue && !pause(stalls.aw);
  out_.w_ready = fabric_.posted_backlog() < fabric_.config().posted_queue_bytes &&
                 (open_ != nullptr || !aw_.empty() || ahead_.size() < config_.w_ahead) &&
                 !pause(stalls.w);
  out_.ar_ready = fabric_.reads_in_flight() < fabric_.config().tags && !pause(stalls.ar);
  if (!out_.b_valid && !answered_.empty() && !pause(stalls.b)) next_response(horizon_ps);
  if (!out_.r_valid && !arrivals_.empty() && !pause(stalls.r)) next_beat(horizon_ps);
}

// --- writes ---

void DmaAgent::take_beat(const DmaIn& in, uint64_t now_ps) {
  ++write_beats_;
  if (open_ == nullptr) {
    if (bursts_free_.empty()) {
      bursts_.push_back(std::make_unique<Burst>());
      bursts_free_.push_back(bursts_.back().get());
    }
    open_ = bursts_free_.back();
    bursts_free_.pop_back();
    open_->op = fabric_.alloc_write();
    open_->attached = open_->last = false;
    open_->strobes.clear();
    if (aw_.empty()) ahead_.push(open_);
  }
  Burst& burst = *open_;
  pcie::WriteOp& op = *burst.op;
  const uint32_t beat = op.beats;
  if ((beat + 1) * beat_bytes_ > kPage) fail("wlast", "missing: the burst is longer than 4 KB");
  std::memcpy(op.data + beat * beat_bytes_, in.w_data, beat_bytes_);
  ++op.beats;
  burst.last = in.w_last;
  if (in.w_last) open_ = nullptr;
  if (burst.attached) {
    check_strobe(op, beat, in.w_strb);
    if (in.w_last) finish(burst, now_ps);
  } else {
    burst.strobes.push_back(in.w_strb);
    if (!aw_.empty()) attach(burst, aw_.pop(), now_ps);
  }
}

// The address of a burst that has at least one beat.
void DmaAgent::attach(Burst& burst, const Address& a, uint64_t now_ps) {
  const UserBits user = UserBits::decode(a.user);
  pcie::WriteOp* op = burst.op;
  op->addr = a.addr;
  op->len = user.no_data ? 1 : user.bytes;
  op->tag = a.id;
  op->no_data = user.no_data;
  op->relaxed = user.relaxed;
  op->target = endpoint_of(user);
  op->data_offset = static_cast<uint32_t>(a.addr & (beat_bytes_ - 1));
  burst.attached = true;
  IdList& list = write_ids_[a.id];
  if (list.tail != nullptr) {
    list.tail->next_same_id = op;
  } else {
    list.head = op;
  }
  list.tail = op;
  ++writes_open_;
  for (uint32_t beat = 0; beat < burst.strobes.size(); ++beat)
    check_strobe(*op, beat, burst.strobes[beat]);
  fabric_.begin_write(op, now_ps);
  if (burst.last) finish(burst, now_ps);
}

void DmaAgent::check_strobe(const pcie::WriteOp& op, uint32_t beat, const Strobe& got) const {
  const uint32_t at = op.data_offset;
  const uint32_t begin = beat * beat_bytes_;
  const uint32_t end = at + op.len;
  if (begin >= end) fail("wlast", "missing: more beats than awlen says");
  Strobe want{};
  if (!op.no_data) want = lane_mask(beat == 0 ? at : 0, std::min(beat_bytes_, end - begin));
  if (got != want) {
    fail("wstrb", "beat " + std::to_string(beat) + " of " + std::to_string(op.len) + " bytes at " +
                      hex(op.addr) + ": expected " + hex(want[1]) + ":" + hex(want[0]) + ", got " +
                      hex(got[1]) + ":" + hex(got[0]));
  }
}

void DmaAgent::finish(Burst& burst, uint64_t now_ps) {
  pcie::WriteOp* op = burst.op;
  const uint32_t beats =
      op->no_data ? 1 : (op->data_offset + op->len + beat_bytes_ - 1) / beat_bytes_;
  if (op->beats != beats) {
    fail("wlast",
         "after " + std::to_string(op->beats) + " beats, awlen says " + std::to_string(beats));
  }
  bursts_free_.push_back(&burst);
  fabric_.finish_write(op, now_ps);
}

void DmaAgent::on_write_response(pcie::WriteOp* op, uint64_t time_ps) {
  op->done = true;
  op->response_ps = time_ps;
  if (write_ids_[op->tag].head == op) answered_.push(op);  // responses of one ID stay in order
}

void DmaAgent::next_response(uint64_t horizon_ps) {
  for (size_t i = 0; i < answered_.size(); ++i) {
    if (answered_[i]->response_ps > horizon_ps) continue;
    response_ = answered_.take(i);
    out_.b_valid = true;
    out_.b_id = response_->tag;
    out_.b_resp = response_->failed ? kSlvErr : kOkay;
    return;
  }
}

void DmaAgent::take_response() {
  out_.b_valid = false;
  IdList& list = write_ids_[response_->tag];
  list.head = response_->next_same_id;
  if (list.head == nullptr) {
    list.tail = nullptr;
  } else if (list.head->done) {
    answered_.push(list.head);
  }
  --writes_open_;
  fabric_.release_write(response_);
  response_ = nullptr;
}

// --- reads ---

void DmaAgent::take_read(const Address& a, uint64_t now_ps) {
  check_address("ar", a, fabric_.config().mrrs);
  if (read_ids_[a.id] != nullptr)
    fail("arid", "read ID " + std::to_string(a.id) + " is still outstanding");
  const UserBits user = UserBits::decode(a.user);
  pcie::ReadOp* op = fabric_.alloc_read();
  op->addr = a.addr;
  op->len = user.no_data ? 1 : user.bytes;
  op->tag = a.id;
  op->no_data = user.no_data;
  op->relaxed = user.relaxed;
  op->target = endpoint_of(user);
  op->beats = a.len + 1u;
  read_ids_[a.id] = op;
  ++reads_open_;
  fabric_.issue_read(op, now_ps);
}

void DmaAgent::on_completion(pcie::ReadOp* op) {
  // There is room for the data of every read in flight: credits go back when a completion is in.
  const uint32_t c = op->chunk_count - 1;
  const pcie::CompletionChunk& chunk = op->chunks[c];
  const uint32_t from = c == 0 ? 0 : op->chunks[c - 1].end;
  fabric_.completion_taken(chunk.error || op->no_data ? 0 : chunk.end - from, chunk.last_ps);
  if (config_.interleave_r || op->chunk_count == 1) arrivals_.push({op, op->chunk_count - 1});
}

void DmaAgent::on_read_lost(pcie::ReadOp* op) {
  read_ids_[op->tag] = nullptr;
  --reads_open_;
}

void DmaAgent::next_beat(uint64_t horizon_ps) {
  while (!arrivals_.empty()) {
    const Arrival& arrival = arrivals_.front();
    pcie::ReadOp& op = *arrival.op;
    const auto at = static_cast<uint32_t>(op.addr & (beat_bytes_ - 1));
    const uint32_t end = std::min((op.beats_done + 1) * beat_bytes_ - at, op.len);
    if (config_.interleave_r && end > op.chunks[arrival.chunk].end) {
      arrivals_.pop();  // what came gives no further whole beat
      continue;
    }
    // The completions that this beat is made of; op.chunk_now is the first.
    bool error = false, poisoned = false;
    uint32_t c = op.chunk_now;
    for (;; ++c) {
      if (c >= op.chunk_count) return;
      error |= op.chunks[c].error;
      poisoned |= op.chunks[c].poisoned;
      if (op.chunks[c].end >= end) break;
    }
    const pcie::CompletionChunk& chunk = op.chunks[c];
    const uint32_t from = c == 0 ? 0 : op.chunks[c - 1].end;
    const uint64_t when = chunk.end == end ? chunk.last_ps
                                           : chunk.first_ps + (chunk.last_ps - chunk.first_ps) *
                                                                  (end - from) / (chunk.end - from);
    if (when > horizon_ps) return;
    out_.r_valid = true;
    out_.r_id = op.tag;
    out_.r_last = op.beats_done + 1 == op.beats;
    out_.r_resp = error ? kSlvErr : kOkay;
    out_.r_user = poisoned;
    const uint32_t base = static_cast<uint32_t>(op.addr & (pcie::kMaxBeatBytes - 1)) - at;
    const uint8_t* data =
        error || op.no_data ? junk_ : op.data + base + op.beats_done * beat_bytes_;
    out_.r_data = reinterpret_cast<const uint32_t*>(data);
    reading_ = &op;
    beat_end_ = end;
    return;
  }
}

void DmaAgent::read_beat_taken() {
  out_.r_valid = false;
  ++read_beats_;
  pcie::ReadOp& op = *reading_;
  reading_ = nullptr;
  while (op.chunk_now < op.chunk_count && op.chunks[op.chunk_now].end <= beat_end_) ++op.chunk_now;
  if (++op.beats_done < op.beats) return;
  read_ids_[op.tag] = nullptr;
  --reads_open_;
  arrivals_.pop();  // its last one is in front
  fabric_.release_read(&op);
}

// --- reset ---

void DmaAgent::reset() {
  for (pcie::ReadOp*& op : read_ids_) {
    if (op != nullptr) fabric_.abandon_read(op);
    op = nullptr;
  }
  reads_open_ = 0;
  arrivals_.clear();
  reading_ = nullptr;

  // Data without address were never begun.
  auto drop = [&](Burst* burst) {
    if (!burst->attached) {
      burst->op->visible = true;
      fabric_.release_write(burst->op);
    }
    bursts_free_.push_back(burst);
  };
  const bool open_is_ahead = open_ != nullptr && !ahead_.empty() && ahead_.back() == open_;
  while (!ahead_.empty()) drop(ahead_.pop());
  if (open_ != nullptr && !open_is_ahead) drop(open_);
  open_ = nullptr;
  for (IdList& list : write_ids_) {
    for (pcie::WriteOp* op = list.head; op != nullptr;) {
      pcie::WriteOp* next = op->next_same_id;
      fabric_.abandon_write(op);
      op = next;
    }
    list = {};
  }
  aw_.clear();
  answered_.clear();
  response_ = nullptr;
  writes_open_ = 0;
  aw_held_ = w_held_ = ar_held_ = false;
  out_ = {};
}

bool DmaAgent::idle() const {
  return reads_open_ == 0 && writes_open_ == 0 && aw_.empty() && ahead_.empty() && open_ == nullptr;
}

}  // namespace rnic::axi
