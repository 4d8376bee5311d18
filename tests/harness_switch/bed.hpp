// SPDX-License-Identifier: Apache-2.0
// A switch with software hosts on cables: they send at given times, obey pauses if told to, and
// keep what comes.
//
//   Bed bed({.ports = 3});
//   bed.host(0).at(1'000'000, packet(0, 2, 1024));
//   bed.run(10'000'000);
//   bed.host(2).got[0].first_ps
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "harness/roce/frame.hpp"
#include "harness/switch/pause_frame.hpp"
#include "harness/switch/switch.hpp"
#include "tests/support/catch.hpp"

namespace rnic::test {

using switching::Switch;
using switching::SwitchConfig;
using wire::TimePs;
using Bytes = std::vector<uint8_t>;

inline roce::MacAddr mac_of(unsigned host) {
  return {0x02, 0, 0, 0, 0, static_cast<uint8_t>(host + 1)};
}

struct PacketOptions {
  uint8_t dscp = 0, ecn = 2;
  int pcp = -1;  // tagged when not negative
  bool ipv6 = false;
  uint8_t opcode = roce::kRcSendOnly;
  uint32_t psn = 0;
};

// A RoCEv2 packet from host to host with so many bytes of payload.
inline Bytes packet(unsigned from, unsigned to, size_t payload, const PacketOptions& o = {}) {
  roce::FrameSpec s;
  s.eth_src = mac_of(from);
  s.eth_dst = mac_of(to);
  s.ip_src = roce::ipv4_address(10, 0, 0, static_cast<uint8_t>(from + 1));
  s.ip_dst = roce::ipv4_address(10, 0, 0, static_cast<uint8_t>(to + 1));
  if (o.ipv6) {
    s.ip_src = s.ip_dst = {};
    s.ip_src[0] = s.ip_dst[0] = 0xFD;
    s.ip_src[15] = static_cast<uint8_t>(from + 1);
    s.ip_dst[15] = static_cast<uint8_t>(to + 1);
  }
  if (o.pcp >= 0) {
    s.vlan_count = 1;
    s.vlan_tci[0] = static_cast<uint16_t>(o.pcp << 13 | 5);
  }
  s.tos = static_cast<uint8_t>(o.dscp << 2 | o.ecn);
  s.opcode = o.opcode;
  s.dest_qp = 0x11;
  s.psn = o.psn;
  s.dma_len = static_cast<uint32_t>(payload);
  const Bytes data(payload, 0x5A);
  Bytes f(payload + 128);
  f.resize(roce::build_frame(s, data, f));
  return f;
}

// A frame of exactly so many bytes that is not IP.
inline Bytes plain(unsigned from, unsigned to, size_t length, uint8_t fill = 0x11) {
  Bytes f(length, fill);
  const auto d = mac_of(to), s = mac_of(from);
  std::copy(d.begin(), d.end(), f.begin());
  std::copy(s.begin(), s.end(), f.begin() + 6);
  f[12] = 0x88;
  f[13] = 0xB5;  // local experiments
  return f;
}

struct Got {
  TimePs first_ps, last_ps;
  Bytes bytes;
  bool err;
};

class BedHost {
 public:
  explicit BedHost(wire::Link& link) : link_(link) {}

  // Sends at that time, or when the cable is free and the class is not paused.
  void at(TimePs when, Bytes frame, unsigned cls = 0, bool err = false) {
    planned_.push_back({when, std::move(frame), cls, err});
  }
  void run_until(TimePs limit) {
    for (;;) {
      const TimePs arrival = link_.rx(0).next_time();
      const TimePs start = next_start();
      if (arrival <= limit && arrival <= start) {
        take(arrival);
      } else if (start <= limit) {
        send(start);
      } else {
        break;
      }
    }
    link_.tx(0).advance(limit);
  }

  std::vector<Got> got;      // without MAC control
  std::vector<Got> control;  // MAC control frames
  std::vector<TimePs> started;
  bool obey = true;
  uint64_t frames = 0;
  TimePs reaction_ps = 0;
  size_t left() const { return planned_.size(); }

 private:
  struct Planned {
    TimePs when;
    Bytes frame;
    unsigned cls;
    bool err;
  };
  struct Heard {
    TimePs from;
    switching::PauseFrame pause;
  };
  TimePs start_now() const {
    const Planned& p = planned_.front();
    return std::max({p.when, link_.tx(0).free_at(), until_[p.cls], until_[8]});
  }
  TimePs next_start() {
    if (planned_.empty()) return wire::kNever;
    while (!heard_.empty() && heard_.front().from <= start_now()) apply();
    return start_now();
  }
  void apply() {
    const Heard h = heard_.front();
    heard_.pop_front();
    const auto end = [&](uint16_t quanta) {
      return h.from + switching::quanta_time(quanta, link_.config().rate_bps);
    };
    if (h.pause.legacy) until_[8] = end(h.pause.quanta[0]);
    for (unsigned c = 0; c < 8; ++c)
      if ((h.pause.mask >> c & 1) != 0) until_[c] = end(h.pause.quanta[c]);
  }
  void take(TimePs now) {
    wire::FrameInfo f;
    if (!link_.rx(0).take(now, f)) return;
    ++frames;
    switching::PauseFrame pause;
    const bool is_pause = switching::parse_pause(f.bytes, pause);
    if (is_pause && obey) heard_.push_back({f.last_ps + reaction_ps, pause});
    auto& list = is_pause ? control : got;
    list.push_back({f.first_ps, f.last_ps, {f.bytes.begin(), f.bytes.end()}, f.flags.err});
  }
  void send(TimePs now) {
    const Planned& p = planned_.front();
    wire::TxPort& tx = link_.tx(0);
    started.push_back(now);
    tx.send(now == tx.free_at() ? tx.free_from() : now, p.frame, p.err);
    planned_.pop_front();
  }

  wire::Link& link_;
  std::deque<Planned> planned_;
  std::deque<Heard> heard_;
  std::array<TimePs, 9> until_{};
};

struct BedOptions {
  std::vector<uint64_t> rates{};  // of the ports; the last one for the rest
  TimePs delay_ps = 200'000;
  bool addresses = true;  // told to the switch
};

class Bed {
 public:
  explicit Bed(const SwitchConfig& config, const BedOptions& options = {}) : sw(config) {
    for (unsigned i = 0; i < config.ports; ++i) {
      wire::LinkConfig c;
      c.rate_bps = options.rates.empty()
                       ? 100'000'000'000
                       : options.rates[std::min<size_t>(i, options.rates.size() - 1)];
      c.delay_ps = options.delay_ps;
      c.max_frame = std::max(9728u, config.max_frame + 64);
      links_.push_back(std::make_unique<wire::Link>(c, wire::EndConfig{}, wire::EndConfig{}));
      sw.attach(i, *links_.back(), 1);
      hosts_.push_back(std::make_unique<BedHost>(*links_.back()));
      if (options.addresses) sw.add_address(mac_of(i), i);
    }
  }
  void run(TimePs until) {
    while (sw.now_ps() < until) {
      for (size_t i = 0; i < hosts_.size(); ++i)
        hosts_[i]->run_until(std::min(until, links_[i]->safe_until(0)));
      sw.run_until(std::min(until, sw.safe_until()));
    }
    // What the switch has sent up to then.
    for (size_t i = 0; i < hosts_.size(); ++i) hosts_[i]->run_until(until);
  }
  BedHost& host(size_t i) { return *hosts_.at(i); }
  wire::Link& link(size_t i) { return *links_.at(i); }

 private:
  std::vector<std::unique_ptr<wire::Link>> links_;

 public:
  Switch sw;

 private:
  std::vector<std::unique_ptr<BedHost>> hosts_;
};

// Picoseconds of so many bytes, rounded up.
inline TimePs wire_time(uint64_t bytes, uint64_t rate_bps) {
  const auto ps = static_cast<unsigned __int128>(bytes) * 8'000'000'000'000ull;
  return static_cast<TimePs>((ps + rate_bps - 1) / rate_bps);
}

}  // namespace rnic::test
