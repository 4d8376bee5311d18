// SPDX-License-Identifier: Apache-2.0
// Several NICs behind a switch: without congestion control, so that queues lose or hold everything,
// and with it. Each scenario compares every byte, checks every frame on every cable and the
// counters on both ends of each.
#include <fmt/format.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "harness/scenario/scenario.hpp"
#include "sim/run/plot.hpp"
#include "sim/run/session.hpp"
#include "tests/system/bed.hpp"
#include "tests/system/refused.hpp"

using namespace rnic;
using namespace rnic::test;

namespace {

struct Outcome {
  std::vector<std::string> problems;
  std::map<std::string, double> figures;
  std::vector<switching::PortCounters> ports;
  std::vector<std::map<std::string, uint64_t>> nics;  // counters of each node
  std::string report;
};

Outcome run(const std::string& yaml, const sim::RunOptions& options = {}) {
  const sim::Settings s = sim::parse_settings(
      yaml, "test",
      {"nic.data_w=" + std::to_string(test_width()), "seed=" + std::to_string(context_seed())});
  sim::RunOptions o = options;
  o.wave_file = test_wave_file();
  Outcome out;
  sim::Session session(s, o, [&](const std::string& line) { out.report += line + "\n"; });
  const bool good = session.run();
  out.problems = session.problems();
  INFO(out.report);
  for (const std::string& p : out.problems) FAIL_CHECK(p);
  CHECK(good);
  for (const auto& f : session.figures().all()) out.figures[f.name] = f.value;
  for (unsigned i = 0; i < s.nodes; ++i) {
    out.ports.push_back(session.net()->counters(i));
    out.nics.push_back(session.kit(i).host->nic().counters());
  }
  return out;
}

// b, c, d and e write to a at once.
std::string incast(const std::string& net, uint32_t messages) {
  std::string flows;
  for (const char from : {'b', 'c', 'd', 'e'})
    flows += fmt::format("      - {{from: {}, to: a, sizes: [16384], count: {}, depth: 8}}\n", from,
                         messages);
  return "topology: switch\nnic: {timeout: 4}\nwire: {rate: 50 Gb/s}\nswitch:\n  nodes: 5\n" + net +
         "steps:\n  - name: incast\n    do: traffic\n    flows:\n" + flows;
}

uint64_t dropped(const Outcome& o) {
  uint64_t n = 0;
  for (const auto& p : o.ports)
    for (const auto& c : p.classes) n += c.drops + c.headroom_drops;
  return n;
}

uint64_t marked(const Outcome& o) {
  uint64_t n = 0;
  for (const auto& p : o.ports)
    for (const auto& c : p.classes) n += c.marks;
  return n;
}

std::string capture(const std::string& name) {
  return (std::filesystem::temp_directory_path() / fmt::format("rnic_{}_{}.pcap", ::getpid(), name))
      .string();
}

std::vector<char> content(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

}  // namespace

TEST_CASE("a scenario of four senders and one small queue: frames are lost, every byte arrives",
          "[short]") {
  const Outcome o = run(incast("  queue: 48 KiB\n", 6));
  CHECK(dropped(o) > 0);
  CHECK(o.ports[0].classes[0].queue_max <= 48 * 1024);
  CHECK(o.ports[0].classes[0].queue_max > 40 * 1024);
}

TEST_CASE("four senders into one large queue: nothing is lost and the link is never idle") {
  const Outcome o = run(incast("  queue: 4 MiB\n", 16));
  CHECK(dropped(o) == 0);
  // The windows of all senders but what is on its way.
  CHECK(o.ports[0].classes[0].queue_max > 4 * 4 * 16384);
  CHECK(o.ports[0].classes[0].queue_max <= 4 * 8 * (16384 + 4 * 70));
  CHECK(o.figures.at("incast.busy_a") > 99);
  CHECK(o.figures.at("incast.busy_a") <= 100);
}

TEST_CASE("four senders that obey the switch's pauses: nothing is lost in a small queue") {
  for (const char* mode : {"{mode: pfc, classes: [0]", "{mode: pause"}) {
    INFO(mode);
    std::string yaml = incast(fmt::format("  pause: {}, xoff: 24 KiB, xon: 12 KiB}}\n", mode), 10);
    yaml.insert(yaml.find("timeout: 4") + 10, fmt::format(", pause: {}}}", mode));
    const Outcome o = run(yaml);
    CHECK(dropped(o) == 0);
    CHECK(o.figures.at("incast.busy_a") > 95);
    for (unsigned i = 1; i < 5; ++i) {
      INFO("node " << i);
      const auto& c = o.ports[i].classes[0];
      CHECK(c.ingress_max >= 24 * 1024);
      CHECK(o.nics[i].at("rx_pause") == o.ports[i].pause_frames_tx);
      CHECK(o.nics[i].at("rx_pause") >= 4);
      CHECK(o.nics[i].at("rx_mac_ctrl_bad") == 0);
    }
    CHECK(o.nics[0].at("rx_buffer_drops") == 0);
  }
}

TEST_CASE("a receiver whose host is slow has its peer paused, and loses nothing") {
  for (const char* mode : {"{mode: pfc, classes: [0]", "{mode: pause"}) {
    INFO(mode);
    const Outcome o = run(fmt::format(R"(
topology: switch
nic: {{pause: {0}, xoff: 32 KiB, xon: 16 KiB, quanta: 2000}}}}
wire: {{rate: 50 Gb/s}}
pcie: {{up_rate: 20 Gb/s}}
switch: {{nodes: 2, queue: 4 MiB, pause: {0}, xoff: 32 KiB, xon: 16 KiB}}}}
steps:
  - name: slow
    do: traffic
    flows:
      - {{from: b, to: a, sizes: [32768], count: 12, depth: 12}}
)",
                                      mode));
    CHECK(dropped(o) == 0);
    CHECK(o.nics[0].at("tx_pause") >= 4);
    CHECK(o.nics[0].at("tx_pause") == o.ports[0].pause_frames_rx);
    CHECK(o.nics[0].at("rx_buffer_drops") == 0);
    CHECK(o.ports[0].classes[0].paused_ps + o.ports[0].paused_ps > 10'000'000);
    // The switch passes the pressure on, and its own queue stays within its marks.
    CHECK(o.nics[1].at("rx_pause") >= 2);
    CHECK(o.ports[0].classes[0].queue_max < 64 * 1024);
    CHECK(o.figures.at("slow.goodput") < 20.1);  // what the host takes
  }
}

TEST_CASE("a paused class does not stop another one between the same NICs") {
  // Class 3 of b is paused over and over because three others fill its queue towards a; its class 0
  // goes to f, and gets there what the wire has to give.
  std::string yaml = incast("  pause: {mode: pfc, classes: [3], xoff: 24 KiB, xon: 12 KiB}\n", 16);
  yaml.replace(yaml.find("nodes: 5"), 8, "nodes: 6");
  yaml.insert(yaml.find("timeout: 4") + 10, ", pause: {mode: pfc, classes: [3]}");
  for (size_t at = 0; (at = yaml.find("depth: 8}", at)) != std::string::npos; at += 20)
    yaml.replace(at, 9, "depth: 8, dscp: 24}");
  const Outcome alone = run(yaml);
  yaml += "      - {from: b, to: f, sizes: [16384], count: 40, depth: 8}\n";
  const Outcome o = run(yaml);
  for (const Outcome* each : {&alone, &o}) {
    CHECK(dropped(*each) == 0);
    CHECK(each->figures.at("incast.busy_a") > 95);
    CHECK(each->nics[1].at("rx_prio3_pause") >= 4);
    CHECK(each->nics[1].at("rx_prio0_pause") == 0);
  }
  // b's share of the way to a is a quarter of the wire, so three quarters are left.
  CHECK(o.ports[1].classes[3].ingress_max >= 24 * 1024);
  CHECK(o.figures.at("incast.busy_f") > 60);
}

TEST_CASE("a NIC takes packets with telemetry behind them as if it were not there") {
  const Outcome plain = run(incast("  queue: 4 MiB\n", 4));
  const Outcome with = run(incast("  queue: 4 MiB\n  int: {mode: insert}\n", 4));
  CHECK(with.ports[0].int_inserted == 4 * 4 * 16384 / 4096);
  CHECK(with.ports[0].int_hops == with.ports[0].int_inserted);
  CHECK(plain.ports[0].int_inserted == 0);
  CHECK(with.ports[0].classes[0].tx_bytes ==
        plain.ports[0].classes[0].tx_bytes + 48 * with.ports[0].int_inserted);
}

TEST_CASE("marks and threads: the same cycles with one thread and with one per node") {
  const std::string yaml = R"(
topology: switch
wire: {rate: 50 Gb/s}
switch: {nodes: 3, queue: 1 MiB, ecn: {kmin: 10000, kmax: 60000, pmax: 0.5}, latency: 111 ns}
steps:
  - name: mixed
    do: traffic
    flows:
      - {from: a, to: b, sizes: [5000], count: 12}
      - {from: c, to: b, sizes: [9000], count: 12}
      - {from: b, to: c, verb: read, sizes: [3000], count: 6}
      - {from: c, to: a, verb: send, sizes: [70], count: 10}
)";
  std::vector<std::vector<char>> first;
  for (const unsigned threads : {1u, 4u}) {
    sim::RunOptions o;
    o.pcap_file = capture("net");
    o.threads = threads;
    const Outcome out = run(yaml, o);
    CHECK(marked(out) > 0);
    CHECK(dropped(out) == 0);
    std::vector<std::vector<char>> files;
    for (const char* node : {"a", "b", "c"}) {
      const std::string file = sim::node_file(o.pcap_file, node);
      files.push_back(content(file));
      std::filesystem::remove(file);
      CHECK(files.back().size() > 1000);
    }
    if (first.empty()) first = files;
    CHECK(files == first);
  }
}

namespace {

// Two senders into one port for some time, under a scheme.
Outcome contend(const std::string& scheme, const std::string& net) {
  return run(
      "topology: switch\nnic: {mtu: 1024, ack_count: 1, ack_req_every: 1}\n"
      "wire: {rate: 50 Gb/s}\nswitch: {nodes: 3, queue: 4 MiB" +
      net + "}\n" + scheme +
      "steps:\n  - name: step\n    do: traffic\n    duration: 300 us\n    flows:\n"
      "      - {from: b, to: a, sizes: [16384], depth: 8}\n"
      "      - {from: c, to: a, sizes: [16384], depth: 8}\n");
}

}  // namespace

TEST_CASE("two senders into one port: HPCC and DCQCN keep its queue short, and it is busy") {
  const Outcome none = contend("", "");
  const double full = none.figures.at("step.queue_p50_a");
  CHECK(full > 150'000);
  CHECK(none.figures.at("step.busy_a") > 99);
  struct Scheme {
    const char* name;
    std::string keys, net;
    double busy, queue;
  };
  const std::string telemetry = ", int: {mode: stamp, multiple: 2}";
  for (const Scheme& s : {
           Scheme{"formula", "congestion: {mode: hpcc_formula, hpcc: {kmax: 100000}}\n", telemetry,
                  95, 1.2e5},
           // eta. A packet is back in 1.6 us on the cables, and the NIC's own way is 0.4 us
           // (rtl/cc_unit/README.md, "T and the round trip").
           Scheme{"window", "congestion: {mode: hpcc_window, base_rtt: 3 us, flows: 2}\n",
                  telemetry, 95, 1e4},
           Scheme{"dcqcn",
                  "congestion: {mode: dcqcn, cnp_interval: 10 us, dcqcn: {g: 0.0625, f: 3, "
                  "ai: 400 Mb/s, alpha_time: 12 us, increase_time: 10 us}}\n",
                  ", ecn: {kmin: 20000, kmax: 80000, pmax: 0.2}", 50, 1.2e5},
       }) {
    INFO(s.name);
    const Outcome o = contend(s.keys, s.net);
    CHECK(dropped(o) == 0);
    CHECK(o.figures.at("step.lost") == 0);
    CHECK(o.figures.at("step.busy_a") > s.busy);
    CHECK(o.figures.at("step.jain") > 0.95);
    CHECK(o.figures.at("step.queue_p50_a") < s.queue);
    CHECK((marked(o) > 0) == (std::string(s.name) == "dcqcn"));
    CHECK((o.ports[0].int_hops > 0) == (std::string(s.name) != "dcqcn"));
    CHECK(o.ports[0].int_full == 0);
  }
}

TEST_CASE("a plot has a panel per title, a curve per name and round axes", "[short]") {
  for (const auto& [most, step] : {std::pair{1.0, 0.2}, {9.9, 1.0}, {400.0, 50.0}, {0.0, 1.0}})
    CHECK(std::abs(sim::plot_step(most) / step - 1) < 1e-9);
  const std::string svg = sim::plot_svg(
      "All <of> it", {{"queue", "KB", {{"none", "KB", {{0, 0}, {10, 80}}}, {"b", "KB", {}}}},
                      {"busy", "%", {{"none", "%", {{0, 0}, {10, 100}}}}}});
  const auto count = [&](const std::string& what) {
    size_t n = 0;
    for (size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
    return n;
  };
  CHECK(count("<polyline") == 3);
  CHECK(count(">none<") == 2);
  CHECK(count("queue, KB") == 1);
  CHECK(count("All &lt;of> it") == 1);
  // From the left below to the right above: 900 wide, 260 high.
  CHECK(count("points=\"70.0,320.0 970.0,60.0 \"") == 1);
  // A curve that lies on another one, and its name, have gaps.
  CHECK(count("stroke-dasharray=\"none\"") == 2 * 2);
  CHECK(count("stroke-dasharray=\"9 3\"") == 2);
  CHECK(count("time, us") == 2);
  CHECK(count("</svg>") == 1);
}

TEST_CASE("keys of congestion control that are wrong are refused with their place", "[short]") {
  const std::string good = incast("  int: {mode: stamp, multiple: 2}\n", 1) +
                           "congestion: {mode: hpcc_window, preset: paper, base_rtt: 8 us}\n";
  const sim::Settings s = sim::parse_settings(good, "net.yaml");
  REQUIRE(s.congestion);
  CHECK(s.congestion->mode == driver::CcMode::kHpccWindow);
  CHECK(s.congestion->hpcc.base_rtt_ns == 8000);
  CHECK(s.congestion->hpcc.line_bps == 50e9);
  const Refused refused{good};
  refused("hpcc_window", "hpcc", "one of none, dcqcn");
  refused("preset: paper", "preset: best", "one of paper, production");
  refused("base_rtt: 8 us", "base_rtt: 8", "unit");
  refused("base_rtt: 8 us", "base_rtt: 100 ns", "congestion.base_rtt");
  refused("base_rtt: 8 us", "base_rtt: 8 us, dcqcn: {alpha_time: 1500 ns}", "microseconds");
  refused("base_rtt: 8 us", "base_rtt: 8 us, cnp_interval: 100 ns", "microseconds");
  refused("base_rtt: 8 us", "base_rtt: 8 us, hpcc: {etta: 0.9}", "did you mean 'eta'?");
  refused("multiple: 2", "multiple: 4", "needs switch.int.multiple 2");
  refused("do: traffic", "do: traffic\n    duration: 1 s", "shorter than limit");
}

TEST_CASE("keys of switched scenarios that are wrong are refused with their place", "[short]") {
  const std::string good = incast("", 1);
  CHECK_NOTHROW(sim::parse_settings(good, "net.yaml"));
  const Refused refused{good};
  refused("nodes: 5", "nodes: 4", "expected a node, a to d");
  refused("nodes: 5", "nodes: 17", "net.yaml:5");
  refused("nodes: 5", "node: 5", "did you mean 'nodes'?");
  refused("to: a", "to: b", "is the node that posts");
  refused("to: a, ", "", "steps[0].flows[0].to");
  refused("do: traffic", "do: latency", "only traffic and allreduce");
  refused("topology: switch", "topology: pair", "key 'switch': unknown key");
  refused("nodes: 5\n", "nodes: 5\n  max_frame: 4200\n", "too short");
  refused("wire: {rate: 50 Gb/s}\nswitch:\n",
          "wire: {rate: 60 Gb/s}\nswitch:\n  int: {mode: stamp}\n", "25, 50, 100");
  CHECK_THROWS_WITH(sim::parse_settings("topology: switch\nsteps: []\n", "net.yaml"),
                    contains_text("switch"));
}

TEST_CASE("ring AllReduce over the verbs: the sum on every rank, bit for bit") {
  const std::string yaml = R"(
topology: switch
wire: {rate: 50 Gb/s}
gpu: {size: 1 MiB}
switch: {nodes: 3, queue: 1 MiB}
steps:
  - {name: host, do: allreduce, size: 12292, piece: 1 KiB, repeat: 2, add_rate: 100 Gb/s}
  - {name: gpu, do: allreduce, size: 9 KiB, piece: 1 KiB, memory: gpu, launch: 2 us}
  - {name: copied, do: allreduce, size: 9 KiB, piece: 1 KiB, memory: gpu, reduce: host}
)";
  const Outcome o = run(yaml);
  CHECK(dropped(o) == 0);
  for (const char* step : {"host", "gpu", "copied"}) {
    INFO(step);
    CHECK(o.figures.at(fmt::format("{}.of_bound", step)) < 100);
    CHECK(o.figures.at(fmt::format("{}.of_bound", step)) > 1);
  }
  // Two sums of each piece, one after the other, take two launches at least.
  CHECK(o.figures.at("gpu.time") > 2 * 3 * 2);
  // Each rank reads and writes its share, 2 S (N - 1) / N, and the rings.
  CHECK(o.figures.at("host.pcie_per_rank") > 2 * 2 * 12292 * 2 / 3);
  CHECK(o.figures.at("host.pcie_per_rank") < 2 * 2 * 12292 * 2 / 3 + 20000);
}
