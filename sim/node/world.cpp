// SPDX-License-Identifier: Apache-2.0
#include "sim/node/world.hpp"

#include <algorithm>

namespace rnic::sim {

namespace {
// The simulated MAC takes two beats ahead of the wire, as one that is paced by its ready does.
uint32_t mac_fifo_bytes(Node& n) { return 2 * n.nic().info().data_w / 8; }
}  // namespace

Node& World::add_node(const NodeConfig& config) {
  nodes_.push_back(std::make_unique<Node>(config));
  plugs_.emplace_back();
  return *nodes_.back();
}

wire::Link& World::connect(Node& a, Node& b, const wire::LinkConfig& config) {
  wire::LinkConfig c = config;
  c.fcs_in_stream = a.nic().info().gen_fcs;
  // One beat ahead: enough to send frames back to back. A MAC that takes more would ask faster than
  // core_clk can give.
  c.tx_fifo_bytes = a.nic().info().data_w / 8;
  const auto end_of = [](Node& n) {
    return wire::EndConfig{n.nic().info().data_w / 8, n.nic().info().mac_ps};
  };
  links_.push_back(std::make_unique<wire::Link>(c, end_of(a), end_of(b)));
  wire::Link& link = *links_.back();
  plug_of(a).link = plug_of(b).link = &link;
  plug_of(b).end = 1;
  a.plug(link, 0);
  b.plug(link, 1);
  return link;
}

World::Plug& World::plug_of(const Node& node) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].get() == &node) return plugs_[i];
  }
  throw std::logic_error("a node of another world");
}

switching::Switch& World::add_switch(const switching::SwitchConfig& config) {
  switches_.push_back(std::make_unique<switching::Switch>(config));
  return *switches_.back();
}

wire::Link& World::connect(Node& node, switching::Switch& sw, unsigned port,
                           const wire::LinkConfig& config) {
  wire::LinkConfig c = config;
  const NicInfo& nic = node.nic().info();
  c.fcs_in_stream = nic.gen_fcs;
  c.tx_fifo_bytes = nic.data_w / 8;
  links_.push_back(std::make_unique<wire::Link>(c, wire::EndConfig{nic.data_w / 8, nic.mac_ps},
                                                wire::EndConfig{}));
  wire::Link& link = *links_.back();
  plug_of(node).link = &link;
  node.plug(link, 0);
  sw.attach(port, link, 1);
  return link;
}

wire::Link& World::connect(switching::Switch& a, unsigned port_a, switching::Switch& b,
                           unsigned port_b, const wire::LinkConfig& config) {
  wire::LinkConfig c = config;
  c.fcs_in_stream = false;
  links_.push_back(std::make_unique<wire::Link>(c, wire::EndConfig{}, wire::EndConfig{}));
  a.attach(port_a, *links_.back(), 0);
  b.attach(port_b, *links_.back(), 1);
  return *links_.back();
}

wire::Link& World::loop(Node& node, const wire::LinkConfig& config) {
  wire::LinkConfig c = config;
  c.fcs_in_stream = node.nic().info().gen_fcs;
  c.tx_fifo_bytes = mac_fifo_bytes(node);
  const wire::EndConfig end{node.nic().info().data_w / 8, node.nic().info().mac_ps};
  links_.push_back(std::make_unique<wire::Link>(c, end, end));
  plug_of(node).link = links_.back().get();
  plug_of(node).loop = true;
  node.plug_loop(*links_.back());
  return *links_.back();
}

wire::Link& World::open_end(Node& node, const wire::LinkConfig& config,
                            std::function<void(TimePs now)> on_edge, TimePs grain_ps) {
  wire::LinkConfig c = config;
  c.fcs_in_stream = node.nic().info().gen_fcs;
  c.tx_fifo_bytes = mac_fifo_bytes(node);
  links_.push_back(std::make_unique<wire::Link>(
      c, wire::EndConfig{node.nic().info().data_w / 8, node.nic().info().mac_ps},
      wire::EndConfig{}));
  Plug& plug = plug_of(node);
  plug.link = links_.back().get();
  plug.software = std::move(on_edge);
  plug.grain = grain_ps;
  node.plug(*links_.back(), 0);
  return *links_.back();
}

void World::power_on() {
  constexpr TimePs kResetPs = 64'000;
  for (auto& n : nodes_) n->nic().set_reset(true, true);
  run_until(now_ + kResetPs);
  for (auto& n : nodes_) n->nic().set_reset(false, false);
}

TimePs World::limit_of(size_t node, TimePs until) const {
  const Plug& p = plugs_[node];
  return p.link == nullptr || p.loop ? until : std::min(until, p.link->safe_until(p.end));
}

void World::run_until(TimePs until) {
  // Short stretches are not worth a wake-up.
  constexpr TimePs kShortPs = 100'000;
  if (threaded_ && until > now_ + kShortPs) {
    run_threads(until);
  } else {
    run_serial(until);
  }
  now_ = until;
}

void World::run_serial(TimePs until) {
  // Each goes as far as its cables let it; the one that is behind can always move.
  for (bool done = false; !done;) {
    done = true;
    for (size_t i = 0; i < nodes_.size() + switches_.size(); ++i) done = step(i, until) && done;
  }
}

// A node, or behind them a switch: as far as it may go now. True when it is at `until`.
bool World::step(size_t who, TimePs until) {
  if (who >= nodes_.size()) {
    switching::Switch& sw = *switches_[who - nodes_.size()];
    const TimePs limit = std::min(until, sw.safe_until());
    if (limit > sw.now_ps()) sw.run_until(limit);
    return sw.now_ps() >= until;
  }
  Node& n = *nodes_[who];
  if (plugs_[who].software) {
    run_software(who, until);
    return true;
  }
  const TimePs limit = limit_of(who, until);
  if (limit > n.now_ps() || n.next_edge_ps() <= limit) n.run_until(limit);
  return n.now_ps() >= until;
}

void World::run_software(size_t node, TimePs until) {
  Node& n = *nodes_[node];
  Plug& p = plugs_[node];
  while (n.now_ps() < until) {
    const TimePs next = std::min(until, n.now_ps() + p.grain);
    p.software(n.now_ps());
    p.link->tx(1).advance(next);  // nothing more is sent before that
    n.run_until(next);
  }
}

// -------------------------------------------------------------------------------------------------
// threads
World::~World() { stop_threads(); }

void World::set_threads(unsigned threads) {
  stop_threads();
  const size_t all = nodes_.size() + switches_.size();
  threaded_ = threads > 1 && all > 1;
  if (!threaded_) return;
  stop_ = false;
  for (size_t i = 1; i < all; ++i) threads_.emplace_back([this, i] { worker(i); });
}

void World::stop_threads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  threaded_ = false;
}

void World::run_one(size_t who, TimePs until) {
  const auto now = [&] {
    return who < nodes_.size() ? nodes_[who]->now_ps() : switches_[who - nodes_.size()]->now_ps();
  };
  try {
    for (TimePs before = now(); !step(who, until); before = now()) {
      if (now() > before) continue;
      if (failed_.load(std::memory_order_acquire)) return;  // the others will not come
      std::this_thread::yield();
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }
}

void World::worker(size_t who) {
  uint64_t done = 0;
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != done; });
      if (stop_) return;
      done = round_;
    }
    run_one(who, round_until_);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

void World::run_threads(TimePs until) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    round_until_ = until;
    running_ = threads_.size();
    ++round_;
  }
  wake_.notify_all();
  run_one(0, until);
  while (running_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  if (failed_) {
    std::exception_ptr error = error_;
    error_ = nullptr;
    failed_ = false;
    std::rethrow_exception(error);
  }
}

void World::run_while(const std::function<bool()>& busy, TimePs limit_ps, const std::string& what,
                      TimePs grain_ps) {
  const TimePs end = now_ + limit_ps;
  while (busy()) {
    if (now_ >= end)
      throw TimeOut("waited " + std::to_string(limit_ps / 1000) + " ns for " + what + ", until " +
                    std::to_string(now_ / 1000) + " ns");
    run_until(std::min(now_ + grain_ps, end));
  }
}

}  // namespace rnic::sim
