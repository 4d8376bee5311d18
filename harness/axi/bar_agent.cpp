// SPDX-License-Identifier: Apache-2.0
#include "harness/axi/bar_agent.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace rnic::axi {
namespace {

Strobe lane_mask(uint32_t from, uint32_t to) {
  Strobe s{};
  for (uint32_t lane = from; lane < to; ++lane) s[lane / 64] |= 1ull << (lane % 64);
  return s;
}

}  // namespace

BarAgent::BarAgent(pcie::Fabric& fabric, const BarAgentConfig& config)
    : fabric_(fabric),
      config_(config),
      beat_bytes_(config.data_w / 8),
      rng_(mem::substream(config.seed, "axi.bar_agent")) {
  if (config.data_w != 128 && config.data_w != 256 && config.data_w != 512 &&
      config.data_w != 1024) {
    throw std::invalid_argument("data_w: expected 128, 256, 512 or 1024");
  }
}

const char* BarAgent::name(Port port) {
  static constexpr const char* kNames[] = {"bar0", "bar1", "bar2", "gdr"};
  return kNames[static_cast<size_t>(port)];
}

void BarAgent::fail(Port port, const char* signal, const std::string& what) const {
  throw ProtocolError(cycle_, std::string(name(port)) + "_" + signal, what);
}

BarAgent::Port BarAgent::port_of(pcie::Bar bar, uint32_t offset) const {
  switch (bar) {
    case pcie::Bar::kDoorbell:
      return Port::kBar0;
    case pcie::Bar::kBlueFlame:
      return Port::kBar1;
    case pcie::Bar::kRegisters:
      break;
  }
  return offset >= config_.gdr_offset && offset - config_.gdr_offset < config_.gdr_size
             ? Port::kGdr
             : Port::kBar2;
}

void BarAgent::sample(const BarIn& in, uint64_t now_ps) {
  ++cycle_;
  if (!writing_ && !reading_ && responses_due_all_ == 0) {
    // Idle: nothing may be answered.
    if (in.bar0.b_valid || in.bar0.r_valid || in.bar2.b_valid || in.bar2.r_valid ||
        in.bar1.b_valid || in.gdr.b_valid || in.gdr.r_valid) {
      if (in.bar0.b_valid) fail(Port::kBar0, "bvalid", "nothing was asked");
      if (in.bar0.r_valid) fail(Port::kBar0, "rvalid", "nothing was asked");
      if (in.bar2.b_valid) fail(Port::kBar2, "bvalid", "nothing was asked");
      if (in.bar2.r_valid) fail(Port::kBar2, "rvalid", "nothing was asked");
      if (in.bar1.b_valid) fail(Port::kBar1, "bvalid", "nothing was asked");
      if (in.gdr.b_valid) fail(Port::kGdr, "bvalid", "nothing was asked");
      fail(Port::kGdr, "rvalid", "nothing was asked");
    }
    return;
  }
  sample_lite(Port::kBar0, in.bar0, now_ps);
  sample_lite(Port::kBar2, in.bar2, now_ps);
  sample_burst(Port::kBar1, in.bar1, now_ps);
  sample_burst(Port::kGdr, in.gdr, now_ps);
}

void BarAgent::check_valid_holds(Port port, bool& held, bool valid, const char* signal) {
  if (held && !valid) fail(port, signal, "taken back before ready");
  held = false;
}

void BarAgent::response(Port port, uint8_t resp) {
  uint32_t& due = responses_due_[static_cast<size_t>(port)];
  if (due == 0) fail(port, "bvalid", "a response without a write");
  --due;
  --responses_due_all_;
  if (resp != kOkay) ++write_errors_;
}

void BarAgent::sample_lite(Port port, const LiteIn& in, uint64_t now_ps) {
  LiteOut& pins = lite(port);
  const auto index = static_cast<size_t>(port);
  check_valid_holds(port, b_held_[index], in.b_valid, "bvalid");
  check_valid_holds(port, r_held_[index], in.r_valid, "rvalid");
  if (in.b_valid) {
    if (pins.b_ready) {
      response(port, in.b_resp);
    } else {
      b_held_[index] = true;
    }
  }
  if (pins.aw_valid && in.aw_ready) {
    pins.aw_valid = false;
    aw_open_ = false;
  }
  if (pins.w_valid && in.w_ready) {
    pins.w_valid = false;
    w_open_ = false;
  }
  if (writing_ && write_port_ == port && piece_ != 0 && !aw_open_ && !w_open_) {
    ++responses_due_[index];
    ++responses_due_all_;
    write_piece_done(now_ps);
  }
  if (pins.ar_valid && in.ar_ready) {
    pins.ar_valid = false;
    ar_open_ = false;
    r_due_ = true;
  }
  if (in.r_valid) {
    if (!reading_ || read_port_ != port || !r_due_) fail(port, "rvalid", "nothing was asked");
    if (pins.r_ready) {
      r_due_ = false;
      uint8_t word[4];
      std::memcpy(word, &in.r_data, 4);
      read_piece(port, word + ((read_.offset + read_done_) & 3), read_piece_, in.r_resp, now_ps);
    } else {
      r_held_[index] = true;
    }
  }
}

void BarAgent::sample_burst(Port port, const BurstIn& in, uint64_t now_ps) {
  BurstOut& pins = burst(port);
  const auto index = static_cast<size_t>(port);
  check_valid_holds(port, b_held_[index], in.b_valid, "bvalid");
  check_valid_holds(port, r_held_[index], in.r_valid, "rvalid");
  if (in.b_valid) {
    if (pins.b_ready) {
      response(port, in.b_resp);
    } else {
      b_held_[index] = true;
    }
  }
  if (pins.aw_valid && in.aw_ready) {
    pins.aw_valid = false;
    aw_open_ = false;
  }
  if (pins.w_valid && in.w_ready) {
    pins.w_valid = false;
    if (++beat_ == beats_) w_open_ = false;
  }
  if (writing_ && write_port_ == port && piece_ != 0 && !aw_open_ && !w_open_) {
    ++responses_due_[index];
    ++responses_due_all_;
    write_piece_done(now_ps);
  }
  if (port != Port::kGdr) return;
  if (pins.ar_valid && in.ar_ready) {
    pins.ar_valid = false;
    ar_open_ = false;
    r_due_ = true;
  }
  if (in.r_valid) {
    if (!reading_ || read_port_ != port || !r_due_) fail(port, "rvalid", "nothing was asked");
    if (pins.r_ready) {
      const bool last = read_beat_ + 1 == read_beats_;
      if (in.r_last != last)
        fail(port, "rlast", last ? "missing on the last beat" : "before the last beat");
      const uint32_t at = (read_.offset + read_done_) & (beat_bytes_ - 1);
      const uint32_t n = std::min(beat_bytes_ - at, read_.len - read_done_);
      ++read_beat_;
      if (last) r_due_ = false;
      read_piece(port, reinterpret_cast<const uint8_t*>(in.r_data) + at, n, in.r_resp, now_ps);
    } else {
      r_held_[index] = true;
    }
  }
}

void BarAgent::write_piece_done(uint64_t now_ps) {
  write_done_ += piece_;
  piece_ = 0;
  if (write_done_ < write_.len) return;
  writing_ = false;
  fabric_.mmio_write_pop(now_ps);
}

void BarAgent::read_piece(Port port, const uint8_t* data, uint32_t len, uint8_t resp,
                          uint64_t now_ps) {
  (void)port;
  std::memcpy(read_.data + read_done_, data, len);
  if (resp != kOkay) read_ok_ = false;
  read_done_ += len;
  if (read_done_ < read_.len) return;
  reading_ = false;
  fabric_.mmio_answer(read_.id, read_.data, read_.len, read_ok_, now_ps);
}

void BarAgent::drive(uint64_t horizon_ps) {
  const bool ready = config_.stall == 0 || !pause();
  out_.bar0.b_ready = out_.bar0.r_ready = out_.bar2.b_ready = out_.bar2.r_ready = ready;
  out_.bar1.b_ready = out_.gdr.b_ready = out_.gdr.r_ready = ready;

  const pcie::MmioOp* read = reading_ ? nullptr : fabric_.mmio_read_front(horizon_ps);
  if (!writing_) {
    // A read in front of the queue lets no new write start until it is on its way.
    const pcie::MmioOp* op = read != nullptr ? nullptr : fabric_.mmio_write_front(horizon_ps);
    if (op != nullptr && !pause()) {
      writing_ = true;
      write_ = *op;
      write_port_ = port_of(op->bar, op->offset);
      write_done_ = 0;
      piece_ = 0;
    }
  }
  if (writing_) give_write();

  if (read != nullptr && !writing_ && responses_due_all_ == 0 && !pause()) {
    reading_ = true;
    read_ = *read;
    read_port_ = port_of(read->bar, read->offset);
    read_done_ = 0;
    read_ok_ = true;
    ar_open_ = r_due_ = false;
    read_beat_ = read_beats_ = 0;
    fabric_.mmio_read_pop(horizon_ps);
    if (read_port_ == Port::kBar1) {
      reading_ = false;
      fabric_.mmio_answer(read_.id, nullptr, 0, false, horizon_ps);
    }
  }
  if (reading_) give_read();
}

void BarAgent::give_write() {
  const uint32_t offset = write_.offset + write_done_;
  if (is_lite(write_port_)) {
    if (piece_ != 0) return;  // on the pins
    LiteOut& pins = lite(write_port_);
    const uint32_t at = offset & 3;
    piece_ = std::min(4 - at, write_.len - write_done_);
    uint8_t word[4] = {};
    std::memcpy(word + at, write_.data + write_done_, piece_);
    pins.aw_addr = offset & ~3u;
    std::memcpy(&pins.w_data, word, 4);
    pins.w_strb = static_cast<uint8_t>(((1u << piece_) - 1) << at);
    pins.aw_valid = pins.w_valid = true;
    aw_open_ = w_open_ = true;
    return;
  }
  BurstOut& pins = burst(write_port_);
  if (piece_ == 0) {
    const uint32_t at = offset & (beat_bytes_ - 1);
    piece_ = write_.len;
    beats_ = (at + piece_ + beat_bytes_ - 1) / beat_bytes_;
    beat_ = 0;
    std::memset(lanes_, 0, sizeof lanes_);
    std::memcpy(lanes_ + at, write_.data, piece_);
    pins.aw_addr = write_port_ == Port::kGdr ? offset - config_.gdr_offset : offset;
    pins.aw_len = static_cast<uint8_t>(beats_ - 1);
    pins.aw_valid = true;
    aw_open_ = w_open_ = true;
  }
  if (w_open_ && !pins.w_valid) put_beat(pins);
}

void BarAgent::put_beat(BurstOut& pins) {
  const uint32_t at = write_.offset & (beat_bytes_ - 1);
  const uint32_t begin = beat_ * beat_bytes_;
  pins.w_data = reinterpret_cast<const uint32_t*>(lanes_ + begin);
  pins.w_strb = lane_mask(beat_ == 0 ? at : 0, std::min(beat_bytes_, at + write_.len - begin));
  pins.w_last = beat_ + 1 == beats_;
  pins.w_valid = true;
}

void BarAgent::give_read() {
  if (ar_open_ || r_due_) return;
  const uint32_t offset = read_.offset + read_done_;
  if (is_lite(read_port_)) {
    LiteOut& pins = lite(read_port_);
    read_piece_ = std::min(4 - (offset & 3), read_.len - read_done_);
    pins.ar_addr = offset & ~3u;
    pins.ar_valid = true;
  } else {
    const uint32_t at = offset & (beat_bytes_ - 1);
    read_beats_ = (at + read_.len + beat_bytes_ - 1) / beat_bytes_;
    read_beat_ = 0;
    out_.gdr.ar_addr = offset - config_.gdr_offset;
    out_.gdr.ar_len = static_cast<uint8_t>(read_beats_ - 1);
    out_.gdr.ar_valid = true;
  }
  ar_open_ = true;
}

void BarAgent::reset() {
  // A request that was being given is lost with the reset; a read is answered with an error.
  if (writing_) fabric_.mmio_write_pop(fabric_.now_ps());
  if (reading_) fabric_.mmio_answer(read_.id, nullptr, 0, false, fabric_.now_ps());
  writing_ = reading_ = false;
  aw_open_ = w_open_ = ar_open_ = r_due_ = false;
  piece_ = 0;
  std::fill(std::begin(responses_due_), std::end(responses_due_), 0);
  responses_due_all_ = 0;
  std::fill(std::begin(b_held_), std::end(b_held_), false);
  std::fill(std::begin(r_held_), std::end(r_held_), false);
  out_ = {};
}

bool BarAgent::idle() const { return !writing_ && !reading_ && responses_due_all_ == 0; }

}  // namespace rnic::axi
