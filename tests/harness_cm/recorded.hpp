// SPDX-License-Identifier: Apache-2.0
// The connection manager's datagrams of tests/captures/rping_v4.pcap, in order.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "harness/cm/messages.hpp"
#include "harness/pcap/pcap.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::test {

inline std::vector<cm::Mad> recorded_connection() {
  pcap::PcapReader file(std::string(RNIC_SOURCE_DIR) + "/tests/captures/rping_v4.pcap");
  std::vector<cm::Mad> mads;
  pcap::PcapPacket packet;
  while (file.next(packet)) {
    roce::FrameView frame;
    if (roce::parse_frame(packet.bytes, frame) != roce::ParseStatus::kOk) continue;
    if (frame.dest_qp != cm::kQpn || frame.payload_len != cm::kMadBytes) continue;
    cm::Mad mad;
    std::ranges::copy(frame.payload(), mad.begin());
    mads.push_back(mad);
  }
  return mads;
}

}  // namespace rnic::test
