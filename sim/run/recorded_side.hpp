// SPDX-License-Identifier: Apache-2.0
// A NIC in the place of one side of a recorded run, alike for both directions of a replay: its
// node, its cable to a far end that the replay plays, the capture of that cable, its path.
//
//   Node& node = world.add_node(replay_node("responder", options));
//   wire::Link& link = world.open_end(node, replay_cable(options.data_w), far_end, kReplayGrainPs);
//   ReplayCapture capture(options.pcap_file, link);
//   ...                                              // a host with its driver
//   mark_as_recorded(nic);
//   nic.create_path(recorded_path(self, peer));      // path 1
//   ...
//   capture.close();
#pragma once

#include <memory>
#include <string>

#include "harness/driver/device.hpp"
#include "harness/roce/capture_run.hpp"
#include "harness/wire/tap.hpp"
#include "sim/node/node.hpp"
#include "sim/run/replay.hpp"

namespace rnic::sim {

inline constexpr TimePs kReplayGrainPs = 100'000;  // how often the far end looks

NodeConfig replay_node(const char* name, const ReplayOptions& options);
wire::LinkConfig replay_cable(uint32_t data_w);

// `file` empty: none.
class ReplayCapture {
 public:
  ReplayCapture(const std::string& file, wire::Link& link);
  void close();

 private:
  std::unique_ptr<pcap::PcapWriter> pcap_;
  std::unique_ptr<wire::Tap> tap_;
};

// The recorded stack does not set MigReq in its packets.
void mark_as_recorded(driver::Device& nic);
// RNIC_QP_TYPE_* of an RC or UC run.
uint8_t recorded_service(const roce::CaptureRun& run);
driver::PathRequest recorded_path(const roce::SideParams& self, const roce::SideParams& peer);

}  // namespace rnic::sim
