// SPDX-License-Identifier: Apache-2.0
#include "sim/run/allreduce_groups.hpp"

namespace rnic::sim {

std::vector<Host*> all_hosts(Session& session) {
  std::vector<Host*> hosts;
  for (size_t i = 0; i < session.node_count(); ++i) hosts.push_back(session.kit(i).host.get());
  return hosts;
}

std::vector<Region*> rank_buffers(const std::vector<Host*>& hosts, const AllReduceStep& step) {
  const Place place = step.memory == Memory::kGpu ? Place::kGpu : Place::kHost;
  std::vector<Region*> buffers;
  for (Host* h : hosts) buffers.push_back(&h->region(place, step.bytes));
  return buffers;
}

GroupOptions group_options(Session& session, const std::string& name, const AllReduceStep& step) {
  const Settings& s = session.settings();
  GroupOptions o;
  o.elem = static_cast<uint8_t>(step.type);
  o.wide = step.wide;
  o.piece = static_cast<uint32_t>(step.piece);
  o.mtu = s.mtu;
  o.psn = static_cast<uint32_t>(session.seed("psn.arp." + name)) & 0xFFFFFF;
  o.attributes.timeout = static_cast<uint8_t>(s.timeout);
  o.path = [](uint32_t, uint32_t to) { return static_cast<uint16_t>(to); };
  return o;
}

}  // namespace rnic::sim
