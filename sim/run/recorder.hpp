// SPDX-License-Identifier: Apache-2.0
// What happened in one node, in time order: events of the NIC's trace bus, of its pins, and memory
// that became visible.
//
//   Recorder r;  node.nic().set_trace(&r);  node.fabric().add_observer(&r);
//   r.start(); ... run ...; r.stop();
//   r.first(kTrcTxStart, qpn, after_ps);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/pcie/types.hpp"
#include "sim/node/nic.hpp"

namespace rnic::sim {

// The hardware's events (rnic_pkg TRC_*).
enum HwEvent : uint8_t {
  kTrcDoorbell = 1,
  kTrcBlueflame = 2,
  kTrcWqeReq = 3,
  kTrcWqeReady = 4,
  kTrcTurn = 5,
  kTrcPayRead = 6,
  kTrcPayFirst = 7,
  kTrcTxStart = 8,
  kTrcPktOut = 9,
  kTrcTxCdc = 10,
  kTrcRxFirst = 16,
  kTrcRxVerdict = 17,
  kTrcRxMeta = 18,
  kTrcRxExec = 19,
  kTrcDmaWrFirst = 20,
  kTrcDmaWrLast = 21,
  kTrcCqeReq = 22,
  kTrcCqeWr = 23,
  kTrcAckReq = 24,
  kTrcAckTx = 25,
  kTrcAckRx = 26,
  kTrcComplete = 27,
};
const char* event_name(uint8_t event);
const char* event_block(uint8_t event);  // which block drives it

struct Visible {
  TimePs time_ps = 0;
  uint64_t addr = 0;
  uint32_t len = 0;
};

class Recorder : public TraceSink, public pcie::Observer {
 public:
  explicit Recorder(size_t limit = 400'000) : limit_(limit) {}

  // Records at most `budget` events from here.
  void start(size_t budget = ~size_t{0}) {
    on_ = true;
    budget_ = budget;
  }
  void stop() { on_ = false; }
  bool on() const { return on_; }
  void clear();
  // Keeps what is recorded so far for the trace file and forgets it for queries.
  void keep();

  void on_trace(const TraceEvent& event) override {
    if (!on_) return;
    if (budget_ == 0 || events_.size() + kept_.size() >= limit_) {
      ++lost_;
      return;
    }
    --budget_;
    events_.push_back(event);
  }
  void on_visible(const pcie::VisibleEvent& v) override {
    if (on_ && budget_ != 0 && visible_.size() < limit_)
      visible_.push_back({v.time_ps, v.addr, v.len});
  }

  const std::vector<TraceEvent>& events() const { return events_; }
  const std::vector<TraceEvent>& kept() const { return kept_; }
  uint64_t lost() const { return lost_; }
  // The first event of this kind at or after `from`; any QP if none is given.
  std::optional<TimePs> first(uint8_t event, TimePs from, std::optional<uint32_t> qpn = {},
                              std::optional<uint32_t> info = {}) const;
  std::optional<TimePs> last(uint8_t event, TimePs from, std::optional<uint32_t> qpn = {},
                             std::optional<uint32_t> info = {}) const;
  // When the last byte of [addr, addr+len) became visible.
  std::optional<TimePs> visible(uint64_t addr, uint64_t len, TimePs from) const;
  std::optional<TimePs> first_visible(uint64_t addr, uint64_t len, TimePs from) const;

 private:
  bool on_ = false;
  size_t limit_, budget_ = 0;
  uint64_t lost_ = 0;
  std::vector<TraceEvent> events_, kept_;
  std::vector<Visible> visible_;
};

}  // namespace rnic::sim
