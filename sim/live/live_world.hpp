// SPDX-License-Identifier: Apache-2.0
// One Verilated NIC whose cable ends in an Ethernet link, its time rule, and the small host beside
// it: simulated time advances only while the NIC has work (README.md, "Time").
//
//   LiveWorld w(settings, std::move(link), std::move(clock));
//   w.start();                                            // the NIC is up and answers ARP
//   w.run_while([&] { return !done; }, deadline);         // false: time is up, or interrupted
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/ethlink/ethlink.hpp"
#include "harness/hostnet/hostnet.hpp"
#include "harness/peerclock/peer_clock.hpp"
#include "harness/tools/task.hpp"
#include "harness/wire/faults.hpp"
#include "sim/live/adapter.hpp"
#include "sim/live/cm_port.hpp"
#include "sim/live/data_check.hpp"
#include "sim/live/settings.hpp"
#include "sim/live/wire_record.hpp"

namespace rnic::sim {

using WallClock = std::chrono::steady_clock;

class LiveWorld final : public RawPort, public pcie::Observer {
 public:
  // `clock` may be null; `pcap` empty: no capture.
  LiveWorld(const LiveSettings& settings, std::unique_ptr<ethlink::EthLink> link,
            std::unique_ptr<peerclock::PeerClock> clock, const std::string& pcap);

  void start();
  // Lets programs, sockets and the NIC go on while `busy`; false when the deadline passes or
  // `interrupt` is set.
  bool run_while(const std::function<bool()>& busy, WallClock::time_point deadline);
  // Until the NIC rests.
  void settle();
  // The NIC stands and the peer goes on, until it is so.
  void pause(const std::function<bool()>& over);
  // File descriptors that wake it, besides the link.
  std::function<void(std::vector<int>&)> more_fds;
  // Called between stretches of simulated time.
  std::function<void()> on_turn;
  const std::atomic<bool>* interrupt = nullptr;

  Adapter& nic() { return *adapter_; }
  CmPort& cm() { return *cm_; }
  // Resets the NIC, whose connections are forgotten.
  void reset();
  DataCheck& check() { return check_; }
  tools::Scheduler& scheduler() { return scheduler_; }
  hostnet::HostNet& net() { return net_; }
  WireRecord& record() { return *record_; }
  const peerclock::PeerClock* clock() const { return clock_.get(); }
  TimePs now_ps() const { return world_.now_ps(); }
  hostnet::Time wall() const;
  uint64_t frames_out() const { return frames_out_; }
  // Nothing more can come or go (`EthLink::lost`).
  bool link_lost() const { return link_->lost(); }

  void on_raw_frame(TimePs now, std::span<const uint8_t> frame) override;
  std::span<const uint8_t> next_raw_frame(TimePs now) override;
  void on_tlp(const pcie::TlpRecord&) override { touch(); }

 private:
  void on_edge(TimePs now);
  void take_in(TimePs now);
  bool at_work() const;
  bool must_listen() const;
  void touch() { last_activity_ps_ = std::max(last_activity_ps_, world_.now_ps()); }
  void take_net();
  void rest(WallClock::time_point deadline);
  void wait_sockets(int limit_ms);
  double peer_seconds() const;
  cm::Time cm_time() const;
  void seen() { seen_s_ = peer_seconds(); }
  void note_sent();

  LiveSettings settings_;
  std::unique_ptr<ethlink::EthLink> link_;
  std::unique_ptr<peerclock::PeerClock> clock_;
  DataCheck check_{0};
  std::unique_ptr<WireRecord> record_;
  World world_;
  Node* node_ = nullptr;
  wire::Link* cable_ = nullptr;
  std::unique_ptr<wire::CableFaults> faults_;
  hostnet::HostNet net_;
  std::unique_ptr<Adapter> adapter_;
  std::unique_ptr<CmPort> cm_;
  tools::Scheduler scheduler_;

  TimePs settle_ps_ = 0, last_activity_ps_ = 0;
  TimePs heard_ps_ = 0, listen_ps_ = 0;  // of the peer
  bool unheard_ = false;                 // frames have left since
  WallClock::time_point start_ = WallClock::now();
  double seen_s_ = 0;  // peer's time when a frame last came or went
  std::deque<std::vector<uint8_t>> raw_out_;
  std::vector<uint8_t> raw_now_, frame_;
  uint64_t frames_out_ = 0;
};

}  // namespace rnic::sim
