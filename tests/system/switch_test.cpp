// SPDX-License-Identifier: Apache-2.0
// Several NICs behind a switch, no congestion control: queues lose, or hold everything. Every byte
// is compared, every frame on every cable is checked, and what one end of a cable sent the other
// must have counted.
#include "harness/switch/switch.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>

#include "tests/system/bed.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

constexpr uint64_t kRate = 50'000'000'000;
constexpr uint32_t kMessage = 16384, kPackets = kMessage / 4096;

// Node i has the address and the path number i.
class Net {
 public:
  Net(unsigned nodes, switching::SwitchConfig config, unsigned threads = 1) {
    config.ports = nodes;
    config.seed = context_seed();
    for (unsigned i = 0; i < nodes; ++i) {
      sim::NodeConfig c;
      c.name = std::string(1, static_cast<char>('a' + i));
      c.nic.data_w = test_width();
      c.nic.seed = context_seed() + i;
      c.nic.wave_file = test_wave_file();
      world.add_node(c);
    }
    net = &world.add_switch(config);
    for (unsigned i = 0; i < nodes; ++i) {
      wire::Link& link = world.connect(*world.nodes()[i], *net, i, {.rate_bps = kRate});
      wire::TapConfig tap;
      tap.rules.pmtu = 4096;
      tap.rules.allow_trailer = config.telemetry != switching::IntMode::kOff;
      taps.push_back(std::make_unique<wire::Tap>(tap));
      link.add_observer(taps.back().get());
    }
    world.set_threads(threads);
    world.power_on();
    for (uint8_t i = 0; i < nodes; ++i) {
      hosts.push_back(std::make_unique<sim::Host>(world, *world.nodes()[i],
                                                  sim::HostConfig{.id = uint8_t(i + 1)}));
      hosts[i]->start_device(hosts[i]->mac(uint8_t(i + 1)));
      for (uint8_t to = 0; to < nodes; ++to) hosts[i]->create_path(uint8_t(to + 1), to);
      net->add_address(hosts[i]->mac(uint8_t(i + 1)), i);
    }
  }

  // So many WRITEs from one node to another, all posted at once when run() begins.
  void flow(unsigned from, unsigned to, uint32_t messages) {
    Flow f;
    f.from = from;
    f.messages = messages;
    sim::ConnectOptions o;
    o.path_a = static_cast<uint16_t>(to);
    o.path_b = static_cast<uint16_t>(from);
    o.psn_a = 0xFFFFF0 + from;  // sequence numbers wrap on the way
    o.attributes.timeout = 4;   // 65 us
    f.qp = sim::connect(*hosts[from], *hosts[to], o).first;
    f.source = &hosts[from]->region(sim::Place::kHost, uint64_t{messages} * kMessage);
    f.target = &hosts[to]->region(sim::Place::kHost, uint64_t{messages} * kMessage);
    Rng random = rng("flow." + std::to_string(flows.size()));
    const auto bytes = random.bytes(f.source->size);
    f.source->buffer.write(0, bytes.data(), bytes.size());
    flows.push_back(f);
  }

  // Until every message is acknowledged; then compares. Returns the time until then.
  sim::TimePs run() {
    const sim::TimePs start = world.now_ps();
    for (Flow& f : flows) {
      for (uint32_t m = 0; m < f.messages; ++m)
        hosts[f.from]->post_write(*f.qp, *f.source, m * kMessage, *f.target, m * kMessage,
                                  kMessage);
      f.qp->qp->ring();
    }
    world.run_while([&] { return !done(); }, 20'000'000'000, "all messages", 500'000);
    const sim::TimePs time = world.now_ps() - start;
    world.run_until(world.now_ps() + 5'000'000);
    for (const Flow& f : flows) {
      std::vector<uint8_t> want(f.source->size), got(want.size());
      f.source->buffer.read(0, want.data(), want.size());
      f.target->buffer.read(0, got.data(), got.size());
      const bool same = want == got;
      CHECK(same);
    }
    check_cables();
    return time;
  }

  uint64_t dropped() const {
    uint64_t n = 0;
    for (unsigned i = 0; i < hosts.size(); ++i) {
      const auto port = net->counters(i);
      for (const auto& c : port.classes) n += c.drops + c.headroom_drops;
    }
    return n;
  }
  // As they were at the end of run(): to read them all takes simulated time.
  uint64_t counter(unsigned node, const std::string& name) const { return counters[node].at(name); }

  sim::World world;
  switching::Switch* net = nullptr;
  std::vector<std::unique_ptr<wire::Tap>> taps;
  std::vector<std::unique_ptr<sim::Host>> hosts;

 private:
  struct Flow {
    unsigned from = 0;
    uint32_t messages = 0, completed = 0;
    sim::Qp* qp = nullptr;
    sim::Region* source = nullptr;
    sim::Region* target = nullptr;
  };

  bool done() {
    bool all = true;
    for (Flow& f : flows) {
      while (const auto c = hosts[f.from]->poll(*f.qp)) {
        INFO("node " << f.from << ": " << driver::status_name(c->status));
        REQUIRE(c->ok());
        ++f.completed;
      }
      all = all && f.completed == f.messages;
    }
    return all;
  }

  void check_cables() {
    for (unsigned i = 0; i < hosts.size(); ++i) {
      INFO("node " << i);
      taps[i]->close();
      counters.push_back(hosts[i]->nic().counters());
      for (const std::string& m : taps[i]->messages()) FAIL_CHECK(m);
      CHECK(taps[i]->bad_frames() == 0);
      const auto port = net->counters(i);
      uint64_t in = 0, out = 0;
      for (const auto& c : port.classes) {
        in += c.rx_frames;
        out += c.tx_frames;
      }
      CHECK(counter(i, "tx_frames") == in);
      CHECK(counter(i, "rx_frames") == out);
      CHECK(taps[i]->frames() == in + out);
      for (const char* name : {"rx_crc_errors", "rx_runts", "rx_icrc_errors", "rx_header_errors",
                               "rx_unknown_qp", "rx_addr_errors", "rx_buffer_drops"}) {
        INFO(name);
        CHECK(counter(i, name) == 0);
      }
    }
  }

  std::vector<Flow> flows;
  std::vector<std::map<std::string, uint64_t>> counters;
};

switching::SwitchConfig queues_of(uint64_t bytes) {
  switching::SwitchConfig c;
  for (auto& k : c.classes) k.queue_bytes = bytes;
  return c;
}

}  // namespace

TEST_CASE("four senders into one small queue: frames are lost, go-back-N brings every byte",
          "[short]") {
  Net net(5, queues_of(48 * 1024));
  for (unsigned from = 1; from < 5; ++from) net.flow(from, 0, 5);
  net.run();
  const auto port = net.net->counters(0);
  CHECK(net.dropped() > 0);
  CHECK(port.classes[0].drops == net.dropped());
  CHECK(port.classes[0].queue_max <= 48 * 1024);
  CHECK(port.classes[0].queue_max > 44 * 1024);
  CHECK(port.classes[0].tx_frames > 4 * 5 * kPackets);  // some came twice
}

TEST_CASE("four senders into one large queue, telemetry on: nothing is lost, the link never idle") {
  switching::SwitchConfig c = queues_of(4 << 20);
  c.telemetry = switching::IntMode::kInsert;
  Net net(5, c);
  for (unsigned from = 1; from < 5; ++from) net.flow(from, 0, 8);
  const auto wall = std::chrono::steady_clock::now();
  const uint64_t cycles = net.world.nodes()[0]->nic().core_cycles();
  const sim::TimePs time = net.run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  const auto port = net.net->counters(0);
  CHECK(net.dropped() == 0);
  for (unsigned i = 0; i < 5; ++i) {
    CHECK(net.counter(i, "rx_out_of_order") == 0);
    CHECK(net.counter(i, "rx_nak") == 0);
  }
  const uint64_t packets = 4 * 8 * kPackets;
  CHECK(port.classes[0].tx_frames == packets);
  CHECK(port.int_inserted == packets);
  CHECK(port.int_hops == packets);
  // Three of four windows wait, but for what has left while they came.
  CHECK(port.classes[0].queue_max > 5 * 8 * kMessage / 2);
  // All of it at the rate of the wire, and what the first and the last take on their way.
  const double busy = static_cast<double>(port.wire_bytes) * 8e12 / kRate;
  const double around = static_cast<double>(time) - busy;
  INFO("busy " << busy * 1e-6 << " us of " << static_cast<double>(time) * 1e-6);
  CHECK(around > 0);
  CHECK(around < 6e6);
  const auto run_cycles = static_cast<double>(net.world.nodes()[0]->nic().core_cycles() - cycles);
  WARN(
      fmt::format("port busy {:.2f} % of {:.1f} us from the first doorbell to the last CQE; 5 NICs "
                  "of {} bit: {:.2f} k core cycles/s",
                  100 * busy / static_cast<double>(time), static_cast<double>(time) * 1e-6,
                  test_width(), run_cycles / seconds / 1000));
}

TEST_CASE("marks, and the same frames with one thread and with one per node and switch") {
  std::vector<std::vector<uint64_t>> seen;
  for (const unsigned threads : {1u, 4u}) {
    switching::SwitchConfig c = queues_of(4 << 20);
    for (auto& k : c.classes) k.ecn = {true, 10'000, 80'000, 0.5};
    Net net(3, c, threads);
    net.flow(0, 1, 3);
    net.flow(2, 1, 3);
    net.flow(1, 2, 2);
    std::vector<uint64_t> all = {net.run()};
    uint64_t marks = 0;
    for (unsigned i = 0; i < 3; ++i) {
      const auto port = net.net->counters(i);
      for (const auto& k : port.classes) {
        marks += k.marks;
        all.insert(all.end(), {k.rx_frames, k.tx_bytes, k.marks, k.queue_max});
      }
      all.push_back(port.wire_bytes);
      for (const double p : {50.0, 90.0, 99.0})
        all.push_back(net.net->depth(i).percentile(p, net.net->now_ps()));
    }
    CHECK(marks > 0);
    CHECK(net.dropped() == 0);
    seen.push_back(all);
  }
  CHECK(seen[0] == seen[1]);
}
