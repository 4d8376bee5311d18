// SPDX-License-Identifier: Apache-2.0
#include "sim/host/group_rank.hpp"

#include <fmt/format.h>

namespace rnic::sim {

void need_group(Host& host, uint32_t number) {
  const uint32_t has = host.nic().capabilities().arp_groups;
  if (number >= has)
    throw driver::Error(
        fmt::format("{}: group {} of a NIC that has {}", host.node().name(), number, has));
}

bool GroupEvents::ended() {
  while (const auto e = host_.events().poll()) {
    host_.events().update();
    const bool group = e->type == RNIC_EQE_TYPE_ARP_DONE || e->type == RNIC_EQE_TYPE_ARP_ABORTED;
    if (group && e->number == number_)
      event_ = *e;
    else
      others_.push_back(*e);
  }
  return event_.has_value();
}

}  // namespace rnic::sim
