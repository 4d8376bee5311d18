// SPDX-License-Identifier: Apache-2.0
// The connection manager's datagrams of tests/captures, in order.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "harness/cm/messages.hpp"
#include "harness/pcap/pcap.hpp"
#include "harness/roce/frame.hpp"

namespace rnic::test {

inline std::vector<cm::Mad> recorded_mads(const std::string& name) {
  pcap::PcapReader file(std::string(RNIC_SOURCE_DIR) + "/tests/captures/" + name + ".pcap");
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

// rping: REQ, REP, RTU, DREQ, DREP.
inline std::vector<cm::Mad> recorded_connection() { return recorded_mads("rping_v4"); }

// ib_send_lat -R -c UD: SIDR_REQ, SIDR_REP.
inline std::vector<cm::Mad> recorded_lookup() {
  std::vector<cm::Mad> mads = recorded_mads("send_lat_ud_cm_v4");
  std::erase_if(mads, [](const cm::Mad& mad) {
    const auto body = cm::decode(mad).message.body;
    return !std::holds_alternative<cm::SidrReq>(body) && !std::holds_alternative<cm::SidrRep>(body);
  });
  return mads;
}

}  // namespace rnic::test
