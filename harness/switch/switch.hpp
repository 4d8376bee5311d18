// SPDX-License-Identifier: Apache-2.0
// An ideal switch: N ports, store and forward, exact times, queues per class, ECN, INT, PFC.
//
//   Switch sw(config);
//   sw.attach(0, link_a, 1);                    // the switch is end 1 of that cable
//   sw.attach(1, link_b, 1);
//   sw.add_address(mac_a, 0);
//   sw.run_until(sw.safe_until());              // as far as the other ends have come
//   sw.counters(0).classes[3].marks
//
// A frame that ends at t may start out at t + latency, or when its class is next. What happens at
// one instant happens in this order: frames arrive, ports in turn; pauses are renewed; frames
// leave. The same frames at the same times and the same seed give the same frames out. After
// warm-up nothing is allocated.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/mem/random.hpp"
#include "harness/switch/config.hpp"
#include "harness/switch/depth.hpp"
#include "harness/switch/egress.hpp"
#include "harness/switch/frame_pool.hpp"
#include "harness/switch/ingress.hpp"
#include "harness/switch/mac_table.hpp"
#include "harness/wire/wire.hpp"

namespace rnic::switching {

// Of one class of one port. Bytes count the FCS.
struct ClassCounters {
  uint64_t rx_frames = 0, rx_bytes = 0;  // good frames that came in here
  uint64_t tx_frames = 0, tx_bytes = 0;
  // Not let into the queue of this egress port: queue or buffer full.
  uint64_t drops = 0, drop_bytes = 0;
  uint64_t marks = 0;                // CE set here
  uint64_t not_ect = 0;              // would have been marked
  uint64_t xoff_tx = 0, xon_tx = 0;  // told the peer
  uint64_t xoff_rx = 0, xon_rx = 0;  // heard
  uint64_t queue_max = 0;            // bytes in this egress queue
  TimePs paused_ps = 0;              // this egress class could not send
  // Came in here while the headroom was full. With 802.3x these four stand in class 0.
  uint64_t headroom_drops = 0;
  uint64_t ingress_max = 0;  // bytes in the switch that came in here
};

struct PortCounters {
  std::array<ClassCounters, kClasses> classes{};
  uint64_t bad_frames = 0;  // FCS, cut, runts: dropped
  uint64_t oversize = 0;    // longer than max_frame: dropped
  uint64_t unknown = 0;     // destination not known: flooded or dropped, as set
  uint64_t filtered = 0;    // destination is behind the port they came from, or no other port
  uint64_t reserved = 0;    // to 01-80-C2-00-00-0x, and MAC control that nobody knows: dropped
  uint64_t learned = 0, moved = 0, table_full = 0;
  uint64_t pause_frames_tx = 0, pause_frames_rx = 0;
  uint64_t pauses_ignored = 0;  // not of this switch's kind of flow control, or of another class
  TimePs paused_ps = 0;         // by 802.3x
  uint64_t int_hops = 0;        // written into trailers that leave here
  uint64_t int_full = 0;        // trailers without room, or of another unit
  uint64_t int_inserted = 0;
  uint64_t wire_bytes = 0;  // sent, with FCS, preamble and gap: the tx of INT before its wrap
};

class Switch {
 public:
  explicit Switch(const SwitchConfig& config);  // throws std::invalid_argument
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  // A cable's end; before the first step. Throws std::invalid_argument when its rate has no code
  // in INT although INT is on.
  void attach(unsigned port, wire::Link& link, int end);
  void add_address(const roce::MacAddr& mac, unsigned port);

  // The time up to which every other end has come, and its cable's delay: as far as this may run.
  TimePs safe_until() const;
  // Everything up to and including `until`.
  void run_until(TimePs until);
  TimePs now_ps() const { return now_; }

  const SwitchConfig& config() const { return config_; }
  PortCounters counters(unsigned port) const;
  // Of the port's wire_bytes, those whose time has passed: a frame on the wire counts in part.
  uint64_t passed_bytes(unsigned port) const;
  // Of all classes of the port's egress.
  const DepthTime& depth(unsigned port) const { return port_at(port).depth; }
  void restart_depths();
  uint64_t headroom(unsigned port) const { return port_at(port).in.headroom(); }
  uint64_t queued(unsigned port) const { return port_at(port).out.bytes(); }
  size_t frames_allocated() const { return pool_.allocated(); }

 private:
  struct Port {
    Port(const SwitchConfig& config, unsigned number, wire::Link& link, int end);
    unsigned number;
    wire::Link& link;
    int end;
    wire::TxPort& tx;
    wire::RxPort& rx;
    uint64_t rate_bps;
    uint8_t rate_code = 0;
    roce::MacAddr mac{};
    mem::Random rng;
    FrameList arrivals;
    Egress out;
    Ingress in;
    DepthTime depth;
    PortCounters count;
    TimePs next_tx = wire::kNever;  // next departure, as things stand
    TimePs arrival() const {
      return arrivals.front() == nullptr ? wire::kNever : arrivals.front()->time_ps;
    }
  };

  const Port& port_at(unsigned port) const;
  void fetch(Port& p, TimePs until);
  TimePs next_event() const;
  void arrive(Port& p);
  bool sound(Port& p, const Frame& f);
  void control(Port& p, Frame& f);
  void heed(Port& p, const struct PauseFrame& pause);
  void forward(Port& p, Frame* f);
  void admit(Port& from, Port& to, Frame* f);
  bool fits(Port& from, Port& to, const Frame& f);
  uint8_t class_of(Frame& f) const;
  void plan(Port& p);
  void depart(Port& p);
  void send_pause(Port& p);
  void mark(Port& p, Frame& f);
  void stamp(Port& p, Frame& f);
  void send(Port& p, std::span<const uint8_t> bytes);

  SwitchConfig config_;
  std::vector<std::unique_ptr<Port>> ports_;  // null: nothing plugged in
  MacTable table_;
  FramePool pool_;
  uint64_t lossy_bytes_ = 0;  // in all queues
  unsigned turn_ = 0;         // port that goes first when several have frames at once
  TimePs now_ = 0;
};

}  // namespace rnic::switching
