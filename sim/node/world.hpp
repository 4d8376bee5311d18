// SPDX-License-Identifier: Apache-2.0
// Nodes joined by cables and switches, in one time. Only cables join them, so each may run ahead of
// its peers by the cable's delay.
//
//   World world;
//   Node& a = world.add_node(config_a);
//   Node& b = world.add_node(config_b);
//   world.connect(a, b, {.rate_bps = 400'000'000'000, .delay_ps = 200'000});
//   switching::Switch& sw = world.add_switch(config);       // or, for more than two nodes:
//   world.connect(a, sw, 0, {.rate_bps = 100'000'000'000});
//   world.power_on();
//   world.run_until(world.now_ps() + 1'000'000);
//   world.run_while([&] { return !done; }, 50'000'000, "the completion");   // throws TimeOut
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/switch/switch.hpp"
#include "harness/wire/wire.hpp"
#include "sim/node/node.hpp"

namespace rnic::sim {

class TimeOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class World {
 public:
  World() = default;
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // 1: everything on the caller's thread. 2 or more: one thread per node and switch. The cycles are
  // the same.
  void set_threads(unsigned threads);

  Node& add_node(const NodeConfig& config);
  // One cable per node.
  wire::Link& connect(Node& a, Node& b, const wire::LinkConfig& config);
  switching::Switch& add_switch(const switching::SwitchConfig& config);
  // The node is end 0 of the cable, the switch end 1.
  wire::Link& connect(Node& node, switching::Switch& sw, unsigned port,
                      const wire::LinkConfig& config);
  // Two switches; `fcs_in_stream` of the configuration does not matter.
  wire::Link& connect(switching::Switch& a, unsigned port_a, switching::Switch& b, unsigned port_b,
                      const wire::LinkConfig& config);
  // A cable whose far end comes back: the node is its own peer.
  wire::Link& loop(Node& node, const wire::LinkConfig& config);
  // A cable whose other end, end 1, is driven by software: on_edge(now) is called before the node
  // runs each stretch of `grain_ps` with the time at which the stretch begins; it must not send for
  // earlier times.
  wire::Link& open_end(Node& node, const wire::LinkConfig& config,
                       std::function<void(TimePs now)> on_edge, TimePs grain_ps);
  void power_on();

  TimePs now_ps() const { return now_; }
  void run_until(TimePs until);
  // Runs in steps of `grain_ps` while `busy` is true; throws TimeOut naming `what` after
  // `limit_ps`.
  void run_while(const std::function<bool()>& busy, TimePs limit_ps, const std::string& what,
                 TimePs grain_ps = 20'000);

  std::vector<std::unique_ptr<Node>>& nodes() { return nodes_; }
  std::vector<std::unique_ptr<switching::Switch>>& switches() { return switches_; }
  std::vector<std::unique_ptr<wire::Link>>& links() { return links_; }

 private:
  struct Plug {
    wire::Link* link = nullptr;
    int end = 0;
    bool loop = false;
    std::function<void(TimePs)> software;  // of the other end
    TimePs grain = 0;
  };
  Plug& plug_of(const Node& node);
  TimePs limit_of(size_t node, TimePs until) const;
  bool step(size_t who, TimePs until);
  void run_serial(TimePs until);
  void run_threads(TimePs until);
  void run_software(size_t node, TimePs until);
  void run_one(size_t who, TimePs until);
  void worker(size_t who);
  void stop_threads();

  std::vector<std::unique_ptr<wire::Link>> links_;  // outlive the nodes
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<switching::Switch>> switches_;
  std::vector<Plug> plugs_;
  TimePs now_ = 0;

  // Workers for nodes 1.. and behind them the switches; the caller's thread runs node 0.
  std::vector<std::thread> threads_;
  bool threaded_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> round_{0};
  std::atomic<size_t> running_{0};
  std::atomic<bool> stop_{false}, failed_{false};
  TimePs round_until_ = 0;
  std::exception_ptr error_;
};

}  // namespace rnic::sim
