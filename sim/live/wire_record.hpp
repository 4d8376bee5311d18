// SPDX-License-Identifier: Apache-2.0
// What went over the cable: every frame checked and captured, retransmissions counted, and what the
// faults did to which frame, in the order of the capture.
//
//   WireRecord record("wire.pcap");
//   record.observe(link);
//   record.begin_run(1024);  ...  record.resent(0)     // request packets of end 0 sent again
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/pcap/pcap.hpp"
#include "harness/wire/faults.hpp"
#include "harness/wire/tap.hpp"

namespace rnic::sim {

struct FaultEvent {
  uint64_t frame = 0;  // position in the capture, from 0
  int from = 0;
  std::string action;  // drop, dup, hold, replace; "other": no capture format has it
};

class WireRecord {
 public:
  // `pcap` empty: no capture.
  explicit WireRecord(const std::string& pcap);

  void observe(wire::Link& link);
  // The faults, seen on their way.
  void install(wire::Link& link, wire::CableFaults& faults, wire::TimePs hold_limit);
  void close();

  void begin_run(uint32_t mtu);
  uint64_t resent(int end) const { return resent_[static_cast<size_t>(end)]; }
  uint64_t rnr_naks() const { return rnr_naks_; }  // of this run, by either end
  uint64_t frames() const { return tap_.frames(); }
  // Positions in the capture of frames that ended in an error on the cable: the other MAC throws
  // them away.
  const std::vector<uint64_t>& cut() const { return cut_; }
  const wire::Tap& tap() const { return tap_; }
  const std::vector<FaultEvent>& fault_events() const { return events_; }
  std::map<std::string, uint64_t> fault_counts() const;

 private:
  // Between the cable and the fault rules.
  struct Hook final : wire::FaultHook {
    WireRecord* owner = nullptr;
    wire::FaultHook* inner = nullptr;
    void on_frame(wire::FrameEdit& edit) override;
  };
  void on_frame(const wire::FrameInfo& frame);

  std::unique_ptr<pcap::PcapWriter> pcap_;
  wire::Tap tap_;
  uint64_t last_ps_ = 0, written_ = 0, rnr_naks_ = 0;
  std::vector<uint64_t> cut_;
  std::array<std::vector<uint64_t>, 2> position_;  // in the capture, by frame number
  std::array<Hook, 2> hooks_;
  std::vector<FaultEvent> events_;
  std::map<std::string, uint64_t> counts_;
  std::map<std::pair<int, uint32_t>, uint32_t> next_psn_;  // by end and destination QP
  std::array<uint64_t, 2> resent_{};
  uint32_t mtu_ = 4096;
};

}  // namespace rnic::sim
