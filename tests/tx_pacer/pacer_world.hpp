// SPDX-License-Identifier: Apache-2.0
//
// A sender around tx_pacer: QPs with work, one engine that gives turns and makes packets, a wire.
//
//   PacerWorld<Vtx_pacer> w;
//   w.limit(3, 10'000);                       // Mb/s
//   w.busy(3, {.len = 4096});                 // always has packets of 4 KB
//   w.run(100'000);
//   CHECK(rate_of(w.sent(3)) ...);            // from departure times and the wire's own count
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <vector>

#include "harness/roce/frame.hpp"
#include "harness/roce/int_trailer.hpp"
#include "harness/roce/opcode.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/bits.hpp"

namespace rnic::test {

struct Work {
  unsigned len = 4096;
  unsigned path = 0;
  uint8_t opcode = roce::kRcWriteMiddle;
  uint64_t left = ~uint64_t{0};  // packets to send
};

struct Departure {
  uint64_t cycle = 0;
  unsigned bytes = 0;  // frame with FCS, preamble and gap
};

// What a frame is on the wire, from a frame that was built; `trailers`: telemetry travels.
inline unsigned wire_bytes(const Work& work, bool ipv6, bool vlan, bool trailers) {
  roce::FrameSpec s;
  s.opcode = work.opcode;
  s.vlan_count = vlan ? 1 : 0;
  if (!ipv6) {
    s.ip_src = roce::ipv4_address(10, 0, 0, 1);
    s.ip_dst = roce::ipv4_address(10, 0, 0, 2);
  } else {
    s.ip_src = s.ip_dst = roce::IpAddr{0x20, 0x01};
  }
  const std::vector<uint8_t> payload(work.len);
  std::array<uint8_t, 4400> buffer{};
  size_t bytes = roce::build_frame(s, payload, buffer);
  const roce::OpcodeInfo& info = roce::opcode_info(work.opcode);
  if (trailers && info.transport == roce::Transport::kRc &&
      (roce::is_send(info.kind) || roce::is_write(info.kind)))
    bytes = roce::append_int(buffer, bytes, {});
  return static_cast<unsigned>(bytes + 4 + 20);
}

// b/s between the first and the last departure.
inline double rate_of(const std::vector<Departure>& d, double period_s, size_t from = 0) {
  double bits = 0;
  for (size_t i = from; i + 1 < d.size(); ++i) bits += 8.0 * d[i].bytes;
  return bits / (static_cast<double>(d.back().cycle - d[from].cycle) * period_s);
}

template <class Top>
class PacerWorld {
 public:
  explicit PacerWorld(unsigned qps, uint32_t start = 0, double period_s = 2e-9)
      : qps_(qps), period_s_(period_s), now_(start), qp_(qps) {
    bench->cfg_line_i = 400'000'000;
    bench->cfg_late_log2_i = 10;
    bench->cfg_cc_i = 1;
    bench->now_i = now_;
    bench.reset();
    while (!bench->init_done_o) tick();
    for (unsigned p = 0; p < 8; ++p) path(p, (p & 1) != 0, (p & 2) != 0);
  }

  void path(unsigned index, bool ipv6, bool vlan) {
    ipv6_[index] = ipv6;
    vlan_[index] = vlan;
    bench->path_i = 1;
    bench->path_index_i = static_cast<uint16_t>(index);
    bench->path_ipv6_i = ipv6;
    bench->path_vlan_i = vlan;
    tick();
    bench->path_i = 0;
  }
  // SEND and WRITE packets of RC get an INT trailer, from the next busy() on.
  void trailers(bool on) {
    trailers_ = on;
    bench->cfg_int_i = on;
  }
  void limit(unsigned qpn, unsigned mbps) {
    bench->limit_i = 1;
    bench->limit_qpn_i = qpn;
    bench->limit_mbps_i = mbps;
    tick();
    bench->limit_i = 0;
    tick(8);
  }
  void rate(unsigned qpn, double bps, uint32_t window = 0) {
    bench->rate_i = 1;
    bench->rate_qpn_i = qpn;
    bench->rate_kbps_i = static_cast<uint32_t>(std::lround(bps / 1e3));
    bench->rate_window_i = window;
    tick();
    bench->rate_i = 0;
  }
  void clear(unsigned qpn) {
    bench->clear_valid = 1;
    bench->clear_qpn = qpn;
    bench.settle();
    while (!bench->clear_ready) tick();
    tick();
    bench->clear_valid = 0;
  }
  void hurry(unsigned qpn) {
    bench->hurry_valid = 1;
    bench->hurry_qpn = qpn;
    bench.settle();
    while (!bench->hurry_ready) tick();
    tick();
    bench->hurry_valid = 0;
  }
  // From now on the QP has these packets to send.
  void busy(unsigned qpn, Work work) {
    Qp& q = qp_[qpn];
    q.work = work;
    q.cost = wire_bytes(work, ipv6_[work.path], vlan_[work.path], trailers_);
    if (!q.active && work.left > 0) ask(qpn, true, false);
  }
  // From now on the QP has these responses to send.
  void answers(unsigned qpn, Work work) {
    Qp& q = qp_[qpn];
    q.answer = work;
    q.answer_cost = wire_bytes(work, ipv6_[work.path], vlan_[work.path], trailers_);
  }
  const std::vector<Departure>& answered(unsigned qpn) const { return qp_[qpn].answered; }
  void idle(unsigned qpn) { qp_[qpn].work.left = 0; }
  // Bytes in flight are not acknowledged any more, or again.
  void acks(unsigned qpn, bool come) {
    qp_[qpn].acks = come;
    if (come) qp_[qpn].in_flight = 0;
  }
  const std::vector<Departure>& sent(unsigned qpn) const { return qp_[qpn].sent; }
  void forget() {
    for (Qp& q : qp_) {
      q.sent.clear();
      q.answered.clear();
    }
  }
  uint64_t in_flight(unsigned qpn) const { return qp_[qpn].in_flight; }
  unsigned turns(unsigned qpn) const { return qp_[qpn].turns; }
  uint64_t cycle() { return bench.cycle(); }
  double period_s() const { return period_s_; }
  uint64_t waits() const { return waits_; }

  void run(uint64_t cycles) { tick(cycles); }
  void tick(uint64_t n = 1) {
    for (; n > 0; --n) step();
  }
  // Until the QP has sent so many packets (since forget).
  void run_until(unsigned qpn, size_t packets, uint64_t limit) {
    for (uint64_t i = 0; sent(qpn).size() < packets; ++i) {
      if (i == limit) throw Timeout("packets of a QP");
      tick();
    }
  }

  Bench<Top> bench;
  // Cycles that the engine needs for a turn beside its packets, and those a packet takes.
  unsigned turn_cycles = 4;
  unsigned packet_cycles = 2;
  // The wire, and how far the engine may run ahead of it.
  double cycles_per_byte = 0.01;
  double ahead = 200;

 private:
  struct Qp {
    Work work{.left = 0};
    unsigned cost = 0;
    Work answer{.left = 0};
    unsigned answer_cost = 0;
    std::vector<Departure> answered;
    bool active = false;
    bool acks = true;
    uint64_t in_flight = 0;
    unsigned turns = 0;
    std::vector<Departure> sent;
  };
  struct Ask {
    unsigned qpn;
    bool idle, window;
  };

  void ask(unsigned qpn, bool idle, bool window) {
    qp_[qpn].active = true;
    asks_.push_back({qpn, idle, window});
  }
  void step() {
    Top& t = bench.top();
    t.want_i = 0;
    t.pkt_i = 0;
    t.chk_i = 0;
    t.pace_lk_i = 0;
    t.rsp_i = 0;
    engine();
    scheduler();
    responder();
    t.go_ready = 1;
    bench.settle();
    if (t.go_valid) turns_.push_back(t.go_qpn);
    if (t.ask_valid && t.ask_ready) asking_ = false;
    if (t.told_o) {
      told_ = true;
      told_ok_ = t.told_ok_o != 0;
    }
    waits_ += t.cnt_paced_o;
    bench.tick();
    bench->now_i = ++now_;
  }
  // Asks whether the QP is limited, a cycle later it waits here or has its turn.
  void scheduler() {
    Top& t = bench.top();
    if (checking_) {
      if (t.chk_limited_o) {
        t.want_i = 1;
        t.want_qpn_i = asks_.front().qpn;
        t.want_idle_i = asks_.front().idle;
        t.want_window_i = asks_.front().window;
      } else {
        turns_.push_back(asks_.front().qpn);
      }
      asks_.pop_front();
      checking_ = false;
    } else if (!asks_.empty()) {
      t.chk_i = 1;
      t.chk_qpn_i = asks_.front().qpn;
      checking_ = true;
    }
  }
  // Goes around the QPs that have to answer; each is asked for again and again.
  void responder() {
    Top& t = bench.top();
    if (told_) {
      told_ = false;
      outstanding_ = false;
      Qp& q = qp_[rsp_];
      if (told_ok_) {
        t.rsp_i = 1;
        t.rsp_qpn_i = rsp_;
        t.rsp_path_i = static_cast<uint16_t>(q.answer.path);
        t.rsp_opcode_i = q.answer.opcode;
        t.rsp_len_i = static_cast<uint16_t>(q.answer.len);
        q.answered.push_back({bench.cycle(), q.answer_cost});
        if (q.answer.left != ~uint64_t{0}) --q.answer.left;
      }
    } else if (!outstanding_) {
      for (unsigned n = 0; n < qps_ && !outstanding_; ++n) {
        rsp_ = (rsp_ + 1) % qps_;
        outstanding_ = asking_ = qp_[rsp_].answer.left > 0;
      }
    }
    t.ask_valid = asking_;
    t.ask_qpn = rsp_;
  }
  void engine() {
    Top& t = bench.top();
    const auto now = static_cast<double>(bench.cycle());
    if (state_ == kIdle) {
      if (turns_.empty() || now + ahead < wire_free_) return;
      turn_ = turns_.front();
      turns_.pop_front();
      ++qp_[turn_].turns;
      t.pace_lk_i = 1;
      t.pace_lk_qpn_i = turn_;
      state_ = kLook;
      return;
    }
    Qp& q = qp_[turn_];
    if (state_ == kLook) {
      const Bits pace = read_pin(t.pace_o);
      limited_ = pace.get(62, 1) != 0;
      budget_ = pace.get(46, 16);
      window_ = pace.get(14, 32);
      bytes_ = pace.get(0, 14);
      turn_bytes_ = 0;
      window_full_ = false;
      due_ = bench.cycle() + turn_cycles;
      state_ = kPackets;
    }
    if (bench.cycle() < due_ || now + ahead < wire_free_) return;
    const uint64_t about = q.cost == 0 ? 0 : q.in_flight / q.cost * bytes_;
    window_full_ = limited_ && window_ != 0 && q.in_flight != 0 && about >= window_;
    const bool more = q.work.left > 0 && !window_full_ && turn_bytes_ < 4224 &&
                      (turn_bytes_ == 0 || !limited_ || turn_bytes_ < budget_);
    if (more) {
      t.pkt_i = 1;
      t.pkt_qpn_i = turn_;
      t.pkt_path_i = static_cast<uint16_t>(q.work.path);
      t.pkt_opcode_i = q.work.opcode;
      t.pkt_len_i = static_cast<uint16_t>(q.work.len);
      wire_free_ = std::max(now, wire_free_);
      q.sent.push_back({static_cast<uint64_t>(wire_free_), q.cost});
      turn_bytes_ += q.cost;
      if (!q.acks) q.in_flight += q.cost;
      if (q.work.left != ~uint64_t{0}) --q.work.left;
      due_ = bench.cycle() + packet_cycles;
      wire_free_ += q.cost * cycles_per_byte;
      return;
    }
    state_ = kIdle;
    q.active = false;
    if (q.work.left > 0) ask(turn_, false, window_full_);
  }

  unsigned qps_;
  double period_s_;
  uint32_t now_;
  std::vector<Qp> qp_;
  std::array<bool, 8> ipv6_{}, vlan_{};
  bool trailers_ = false;
  std::deque<Ask> asks_;
  std::deque<unsigned> turns_;
  bool checking_ = false, asking_ = false, outstanding_ = false, told_ = false, told_ok_ = false;
  unsigned rsp_ = 0;
  enum { kIdle, kLook, kPackets } state_ = kIdle;
  unsigned turn_ = 0;
  bool limited_ = false, window_full_ = false;
  uint64_t budget_ = 0, window_ = 0, bytes_ = 0, turn_bytes_ = 0, due_ = 0, waits_ = 0;
  double wire_free_ = 0;
};

}  // namespace rnic::test
