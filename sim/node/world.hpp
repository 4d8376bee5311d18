// SPDX-License-Identifier: Apache-2.0
// Nodes joined by cables, in one time. Only cables join nodes, so a node may run ahead of its peer by the cable's delay.
//
//   World world;
//   Node& a = world.add_node(config_a);
//   Node& b = world.add_node(config_b);
//   world.connect(a, b, {.rate_bps = 400'000'000'000, .delay_ps = 200'000});
//   world.power_on();
//   world.run_until(world.now_ps() + 1'000'000);
//   world.run_while([&] { return !done; }, 50'000'000, "the completion");   // throws TimeOut
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/wire/wire.hpp"
#include "sim/node/node.hpp"

namespace rnic::sim {

class TimeOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class World {
 public:
  Node& add_node(const NodeConfig& config);
  // One cable per node.
  wire::Link& connect(Node& a, Node& b, const wire::LinkConfig& config);
  void power_on();

  TimePs now_ps() const { return now_; }
  void run_until(TimePs until);
  // Runs in steps of `grain_ps` while `busy` is true; throws TimeOut naming `what` after `limit_ps`.
  void run_while(const std::function<bool()>& busy, TimePs limit_ps, const std::string& what, TimePs grain_ps = 20'000);

  std::vector<std::unique_ptr<Node>>& nodes() { return nodes_; }
  std::vector<std::unique_ptr<wire::Link>>& links() { return links_; }

 private:
  struct Plug {
    wire::Link* link = nullptr;
    int end = 0;
  };
  TimePs limit_of(size_t node, TimePs until) const;

  std::vector<std::unique_ptr<wire::Link>> links_;  // outlive the nodes
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Plug> plugs_;
  TimePs now_ = 0;
};

}  // namespace rnic::sim
