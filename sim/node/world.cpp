// SPDX-License-Identifier: Apache-2.0
#include "sim/node/world.hpp"

#include <algorithm>

namespace rnic::sim {

Node& World::add_node(const NodeConfig& config) {
  nodes_.push_back(std::make_unique<Node>(config));
  plugs_.emplace_back();
  return *nodes_.back();
}

wire::Link& World::connect(Node& a, Node& b, const wire::LinkConfig& config) {
  wire::LinkConfig c = config;
  c.fcs_in_stream = a.nic().info().gen_fcs;
  const auto end_of = [](Node& n) {
    return wire::EndConfig{n.nic().info().data_w / 8, n.nic().info().mac_ps};
  };
  links_.push_back(std::make_unique<wire::Link>(c, end_of(a), end_of(b)));
  wire::Link& link = *links_.back();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].get() == &a) plugs_[i] = {&link, 0};
    if (nodes_[i].get() == &b) plugs_[i] = {&link, 1};
  }
  a.plug(link, 0);
  b.plug(link, 1);
  return link;
}

void World::power_on() {
  constexpr TimePs kResetPs = 64'000;
  for (auto& n : nodes_) n->nic().set_reset(true, true);
  run_until(now_ + kResetPs);
  for (auto& n : nodes_) n->nic().set_reset(false, false);
}

TimePs World::limit_of(size_t node, TimePs until) const {
  const Plug& p = plugs_[node];
  return p.link == nullptr ? until : std::min(until, p.link->safe_until(p.end));
}

void World::run_until(TimePs until) {
  // Each node goes as far as its cable lets it; the one that is behind can always move.
  for (bool done = false; !done;) {
    done = true;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Node& n = *nodes_[i];
      const TimePs limit = limit_of(i, until);
      if (limit > n.now_ps() || n.next_edge_ps() <= limit) n.run_until(limit);
      if (n.now_ps() < until) done = false;
    }
  }
  now_ = until;
}

void World::run_while(const std::function<bool()>& busy, TimePs limit_ps, const std::string& what, TimePs grain_ps) {
  const TimePs end = now_ + limit_ps;
  while (busy()) {
    if (now_ >= end)
      throw TimeOut("waited " + std::to_string(limit_ps / 1000) + " ns for " + what + ", until " +
                    std::to_string(now_ / 1000) + " ns");
    run_until(std::min(now_ + grain_ps, end));
  }
}

}  // namespace rnic::sim
