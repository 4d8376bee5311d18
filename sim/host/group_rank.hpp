// SPDX-License-Identifier: Apache-2.0
// What groups of arp_fsm have in common, whatever the way of their packets: options, and a rank's
// event queue.
//
//   GroupEvents events(host, group_number);
//   while (!events.ended()) world.run_until(...);
//   if (events.event()->type == RNIC_EQE_TYPE_ARP_DONE) ...
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/driver/groups.hpp"
#include "sim/host/host.hpp"

namespace rnic::sim {

struct GroupOptions {
  uint32_t number = 0;
  uint8_t elem = RNIC_ARP_ELEM_FP32;
  bool wide = false;
  uint32_t piece = 4096;  // bytes, at most the MTU
  uint32_t timeout_us = 0;
  uint32_t mtu = 4096;
  uint32_t psn = 0x000100;  // of the first rank's QPs; others are near it
  // What comes too early waits as little as there is.
  driver::ConnectRequest attributes{.min_rnr_timer = 1};
  // Path of rank `from` to rank `to`.
  std::function<uint16_t(uint32_t from, uint32_t to)> path = [](uint32_t, uint32_t) {
    return uint16_t{0};
  };
};

// Throws driver::Error where a NIC has no group of this number.
void need_group(Host& host, uint32_t number);

class GroupEvents {
 public:
  GroupEvents(Host& host, uint32_t number) : host_(host), number_(number) {}

  void reset() { event_.reset(); }
  // Looks at the event queue; true once the event of the operation was there.
  bool ended();
  const std::optional<driver::Event>& event() const { return event_; }
  // Other events that ended() found on its way.
  const std::vector<driver::Event>& others() const { return others_; }

 private:
  Host& host_;
  uint32_t number_;
  std::optional<driver::Event> event_;
  std::vector<driver::Event> others_;
};

}  // namespace rnic::sim
