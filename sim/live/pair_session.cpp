// SPDX-License-Identifier: Apache-2.0
#include "sim/live/pair_session.hpp"

#include <fmt/format.h>

#include <array>

#include "harness/hostnet/packets.hpp"
#include "sim/live/cm_connect.hpp"
#include "sim/live/wire_record.hpp"

namespace rnic::sim {
namespace {

constexpr TimePs kStretchPs = 20'000;     // between looks at the programs
constexpr TimePs kSettlePs = 10'000'000;  // last ACKs and CQEs
constexpr uint8_t kPacketLifetime = 0;    // 4.096 us one way

driver::Mac mac_of(size_t side) { return {2, 0, 0, 0, 0, static_cast<uint8_t>(side + 1)}; }

std::vector<roce::IpAddr> gids_of(size_t side, bool ipv6) {
  std::vector<roce::IpAddr> list = {hostnet::link_local(mac_of(side)),
                                    roce::ipv4_address(10, 77, 0, static_cast<uint8_t>(side + 1))};
  roce::IpAddr global{0xFD, 0x77};
  global[15] = static_cast<uint8_t>(side + 1);
  if (ipv6) list.push_back(global);
  return list;
}

struct Side {
  Node* node = nullptr;
  std::unique_ptr<Adapter> nic;
  std::unique_ptr<DataCheck> check;
  std::unique_ptr<Program> tool;
  std::unique_ptr<CmPort> cm;
};

NodeConfig node_config(const Settings& s, const std::string& name) {
  NodeConfig c;
  c.name = name;
  c.nic.data_w = s.data_w;
  c.nic.contexts = s.contexts;
  c.nic.seed = mem::substream(s.seed, "nic." + name);
  c.pcie = s.pcie;
  c.pcie.seed = mem::substream(s.seed, "pcie." + name);
  c.iommu = s.iommu;
  c.dma.layout = s.layout;
  c.dma.seed = mem::substream(s.seed, "memory." + name);
  return c;
}

// Its clock is the simulation's, and its time-outs are as short.
std::unique_ptr<CmPort> make_cm(const Side& side, size_t i, const PairOptions& options,
                                wire::Link& link, const World& world) {
  CmPort::Config c;
  c.nic = side.nic.get();
  c.end = static_cast<int>(i);
  c.resolve = [](const roce::IpAddr&) {};
  c.lookup = [i](const roce::IpAddr&) { return std::optional<driver::Mac>(mac_of(1 - i)); };
  c.clock = [&world] { return cm::Time{static_cast<int64_t>(world.now_ps() / 1'000)}; };
  c.response_timeout = options.cm_response;
  c.packet_lifetime = kPacketLifetime;
  c.ack_timeout = options.timeout;
  c.seed = mem::substream(options.world.seed, i == 0 ? "cm.a" : "cm.b");
  auto port = std::make_unique<CmPort>(c);
  link.add_observer(&port->observer());
  port->open();
  return port;
}

}  // namespace

PairResult run_pair(const tools::Options& client, const PairOptions& options,
                    const std::function<void(const std::string&)>& print) {
  const Settings& s = options.world;
  PairResult result;
  std::array<Side, 2> sides;  // a is the client, b the server
  std::array<std::unique_ptr<DataCheck>, 2> checks = {std::make_unique<DataCheck>(0),
                                                      std::make_unique<DataCheck>(1)};
  WireRecord record(options.pcap_file);
  World world;
  for (size_t i = 0; i < 2; ++i)
    sides[i].node = &world.add_node(node_config(s, i == 0 ? "a" : "b"));
  wire::Link& link = world.connect(*sides[0].node, *sides[1].node, s.wire);
  std::unique_ptr<wire::CableFaults> faults;
  if (!s.faults.rules.empty()) {
    faults = std::make_unique<wire::CableFaults>(s.faults.rules, mem::substream(s.seed, "wire"),
                                                 link.config(), s.faults.hold_limit_ps);
    record.install(link, *faults, s.faults.hold_limit_ps);
  }
  record.observe(link);
  for (const auto& c : checks) link.add_observer(c.get());
  world.power_on();

  tools::Scheduler scheduler;
  auto channels = tools::memory_channels();
  tools::Options server = options.server.value_or(client);
  server.host.clear();
  record.begin_run(client.mtu == 0 ? s.mtu : client.mtu);
  for (size_t i = 0; i < 2; ++i) {
    Side& side = sides[i];
    Adapter::Options o;
    o.mac = mac_of(i);
    o.gids = gids_of(i, options.ipv6);
    o.timeout = options.timeout;
    side.nic = std::make_unique<Adapter>(world, *side.node, s.host, o);
    side.nic->start();
    side.cm = make_cm(side, i, options, link, world);
    Party p;
    p.nic = side.nic.get();
    p.check = checks[i].get();
    p.cm = side.cm.get();
    p.scheduler = &scheduler;
    p.resolve = [](const roce::IpAddr&) {};
    p.lookup = [i](const roce::IpAddr&) { return std::optional<driver::Mac>(mac_of(1 - i)); };
    p.now = [&world] { return world.now_ps(); };
    p.mtu = s.mtu;
    p.seed = mem::substream(s.seed, i == 0 ? "tool.a" : "tool.b");
    p.address = [&options, i](const std::string& host, int gid) {
      const auto known = gids_of(1 - i, options.ipv6);
      if (const auto ip = parse_address(host)) return *ip;
      return known.at(static_cast<size_t>(gid));
    };
    side.tool = make_program(
        p, i == 0 ? client : server, std::move(i == 0 ? channels.first : channels.second),
        i == 0 ? print : [](const std::string&) {});
  }
  const TimePs began = world.now_ps();
  std::array<tools::Scheduler::Handle, 2> handles = {scheduler.spawn(sides[1].tool->run()),
                                                     scheduler.spawn(sides[0].tool->run())};
  uint64_t frames = 0;
  TimePs moved = world.now_ps();
  while (!handles[0].done() || !handles[1].done()) {
    for (const Side& side : sides) side.cm->turn();
    const bool ran = scheduler.run_ready();
    if (ran || record.frames() != frames) {
      frames = record.frames();
      moved = world.now_ps();
    }
    if (world.now_ps() - moved > options.idle_limit_ps) {
      result.problems.push_back("stuck; waits for " + scheduler.waiting_for());
      break;
    }
    world.run_until(world.now_ps() + kStretchPs);
  }
  result.simulated_us = static_cast<double>(world.now_ps() - began) * 1e-6;
  world.run_until(world.now_ps() + kSettlePs);
  for (size_t i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "client" : "server";
    checks[i]->finish();
    const ToolResult& t = sides[i].tool->result();
    (i == 0 ? result.client : result.server) = t;
    if (t.status != "SUCCESS") result.problems.push_back(fmt::format("{}: {}", name, t.status));
    if (!t.problem.empty()) result.problems.push_back(fmt::format("{}: {}", name, t.problem));
    for (const std::string& text : checks[i]->problems())
      result.problems.push_back(fmt::format("{}: {}", name, text));
    result.bytes_checked += checks[i]->bytes_checked();
  }
  scheduler.cancel();
  result.client_cm = sides[0].cm->counters();
  result.server_cm = sides[1].cm->counters();
  for (size_t i = 0; i < 2; ++i) {
    result.established_by_data += sides[i].cm->comm_est();
    for (const std::string& text : sides[i].cm->check().problems())
      result.problems.push_back(fmt::format("{}: QP 1: {}", i == 0 ? "client" : "server", text));
    sides[i].nic->release();
  }
  record.close();
  for (const std::string& m : record.tap().messages()) result.problems.push_back("wire: " + m);
  result.resent = record.resent(0) + record.resent(1);
  result.frames = record.frames();
  result.roce_frames = record.tap().roce_frames();
  return result;
}

}  // namespace rnic::sim
