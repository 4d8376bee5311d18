// SPDX-License-Identifier: Apache-2.0
// AllReduce in the NIC: whole NICs around a ring, sums compared bit by bit with the order of the
// ring (harness/numerics), memory and frames as a whole.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/numerics/sample.hpp"
#include "harness/roce/arp_packet.hpp"
#include "harness/wire/faults.hpp"
#include "sim/host/group_ring.hpp"
#include "sim/run/session.hpp"
#include "tests/system/bed.hpp"
#include "tests/system/refused.hpp"

using namespace rnic;
using namespace rnic::test;
using numerics::Buffer;
using numerics::Element;

namespace {

struct RingBedOptions {
  uint32_t ranks = 2;
  size_t bytes = 1 << 16;  // of a buffer, at most
  bool gpu = false;
  sim::GroupOptions group{};
};

// NICs with arp_fsm behind a switch, a source and a destination at each.
struct RingBed {
  explicit RingBed(RingBedOptions o) : options(std::move(o)), random(rng("ring")) {
    wire::TapConfig tap;
    tap.rules.allow_arp = true;
    tap.rules.pmtu = options.group.mtu;
    switching::SwitchConfig net;
    net.ports = options.ranks;
    sw = &world.add_switch(net);
    for (uint32_t i = 0; i < options.ranks; ++i) add_node(i, tap);
    world.power_on();
    std::vector<sim::Host*> ring_hosts;
    for (uint32_t i = 0; i < options.ranks; ++i) {
      start_host(i);
      ring_hosts.push_back(hosts[i].get());
    }
    options.group.path = [](uint32_t, uint32_t to) { return static_cast<uint16_t>(to); };
    ring = std::make_unique<sim::GroupRing>(ring_hosts, options.group);
    const sim::Place place = options.gpu ? sim::Place::kGpu : sim::Place::kHost;
    for (auto& h : hosts) {
      src.push_back(&h->region(place, options.bytes));
      dst.push_back(&h->region(place, options.bytes));
    }
  }
  // What goes wrong on the cable of each node from here on.
  void spoil(const std::vector<wire::FaultRule>& rules) {
    for (uint32_t i = 0; i < options.ranks; ++i) {
      faults.push_back(std::make_unique<wire::CableFaults>(
          rules, mem::substream(context_seed(), "wire." + nodes[i]->name()), links[i]->config()));
      faults[i]->install(*links[i]);
    }
  }
  uint64_t spoilt(wire::FaultAction a) const {
    uint64_t n = 0;
    for (const auto& f : faults) n += f->done(a);
    return n;
  }
  ~RingBed() {
    for (auto& t : taps) {
      for (const std::string& m : t->messages()) FAIL_CHECK(m);
    }
  }

  void add_node(uint32_t i, const wire::TapConfig& tap) {
    sim::NodeConfig c;
    c.name = std::string(1, static_cast<char>('a' + i));
    c.nic.data_w = 512;
    c.nic.arp = true;
    c.nic.seed = context_seed();
    c.pcie.seed = mem::substream(context_seed(), "pcie." + c.name);
    if (options.gpu) {
      pcie::GpuConfig g = pcie::gpu_reference_delays();
      g.base = 0x80'0000'0000;
      g.limit = g.base + (1 << 26);
      c.gpus.push_back(g);
    }
    nodes.push_back(&world.add_node(c));
    links.push_back(
        &world.connect(*nodes[i], *sw, i, {.rate_bps = 100'000'000'000, .delay_ps = 100'000}));
    taps.push_back(std::make_unique<wire::Tap>(tap));
    links[i]->add_observer(taps[i].get());
  }
  void start_host(uint32_t i) {
    sim::HostConfig h;
    h.id = static_cast<uint8_t>(i + 1);
    hosts.push_back(std::make_unique<sim::Host>(world, *nodes[i], h));
    hosts[i]->start_device(hosts[i]->mac(h.id));
    for (uint8_t p = 0; p < options.ranks; ++p) hosts[i]->create_path(p + 1, p);
    sw->add_address(hosts[i]->mac(h.id), i);
  }

  // Fills the sources; what every destination must become.
  Buffer fill(size_t bytes) {
    const auto type = static_cast<Element>(options.group.elem);
    std::vector<Buffer> inputs;
    for (sim::Region* r : src) {
      inputs.push_back(numerics::near_numbers(type, random.bytes(bytes)));
      r->buffer.write(0, inputs.back().data(), bytes);
    }
    return numerics::ring_allreduce(type, inputs, ring->cut(bytes).chunk);
  }
  void snapshot() {
    checkers.clear();
    for (uint32_t i = 0; i < options.ranks; ++i) {
      checkers.push_back(std::make_unique<mem::MemoryChecker>(
          options.gpu ? nodes[i]->gpu(0).memory() : nodes[i]->memory(),
          "memory of " + nodes[i]->name()));
      checkers[i]->snapshot();
      if (!options.gpu) hosts[i]->ignore_rings(*checkers[i]);
    }
  }
  // Memory of every rank as it was, but for the sums.
  void check(const Buffer& sums) {
    for (uint32_t i = 0; i < options.ranks; ++i) check_one(i, sums);
  }
  void wait(const std::vector<uint32_t>& who, sim::TimePs limit_ps = 2'000'000'000) {
    world.run_while(
        [&] {
          return !std::all_of(who.begin(), who.end(), [&](uint32_t r) { return ring->ended(r); });
        },
        limit_ps, "the events of the ranks");
  }
  void check_one(uint32_t rank, const Buffer& sums) {
    checkers[rank]->expect_write(dst[rank]->buffer, 0, sums.data(), sums.size());
    if (auto d = checkers[rank]->compare()) FAIL_CHECK(d->to_string());
  }
  std::vector<uint32_t> all() const {
    std::vector<uint32_t> v;
    for (uint32_t i = 0; i < options.ranks; ++i) v.push_back(i);
    return v;
  }
  // An operation from command to event, its sums checked.
  void run(size_t bytes) {
    const Buffer sums = fill(bytes);
    snapshot();
    for (uint32_t r : all()) ring->begin(r, bytes, *src[r], *dst[r]);
    for (uint32_t r : all()) ring->finish(r);
    wait(all());
    for (uint32_t r : all()) {
      CHECK(ring->event(r)->type == RNIC_EQE_TYPE_ARP_DONE);
      CHECK(ring->event(r)->code == RNIC_ARP_CAUSE_DONE);
    }
    check(sums);
  }
  uint64_t counter(uint32_t rank, uint32_t index) { return hosts[rank]->nic().counter(index); }
  uint64_t counter_sum(uint32_t index) {
    uint64_t n = 0;
    for (uint32_t r : all()) n += counter(r, index);
    return n;
  }
  void begin(const std::vector<uint32_t>& who, size_t bytes) {
    for (uint32_t r : who) ring->begin(r, bytes, *src[r], *dst[r]);
    for (uint32_t r : who) ring->finish(r);
  }

  RingBedOptions options;
  Rng random;
  sim::World world;
  switching::Switch* sw = nullptr;
  std::vector<sim::Node*> nodes;
  std::vector<wire::Link*> links;
  std::vector<std::unique_ptr<wire::CableFaults>> faults;
  std::vector<std::unique_ptr<wire::Tap>> taps;
  std::vector<std::unique_ptr<sim::Host>> hosts;
  std::vector<std::unique_ptr<mem::MemoryChecker>> checkers;
  std::vector<sim::Region*> src, dst;
  std::unique_ptr<sim::GroupRing> ring;
};

}  // namespace

TEST_CASE("two NICs sum one piece each, bit for bit", "[short]") {
  RingBed bed({});
  bed.run(2 * 4096);
  for (uint32_t r : bed.all()) {
    CHECK(bed.counter(r, RNIC_CNT_ARP_ACCEPTED) == 2);
    CHECK(bed.counter(r, RNIC_CNT_ARP_DONE) == 1);
    CHECK(bed.counter(r, RNIC_CNT_ARP_REFUSED) == 0);
    CHECK(bed.counter(r, RNIC_CNT_CQE_WRITTEN) == 0);
  }
}

TEST_CASE("ranks around a ring: all element types, rounds, host and GPU memory") {
  for (const bool gpu : {false, true}) {
    for (const uint8_t elem :
         {RNIC_ARP_ELEM_FP16, RNIC_ARP_ELEM_BF16, RNIC_ARP_ELEM_FP32, RNIC_ARP_ELEM_INT32}) {
      if (gpu && elem != RNIC_ARP_ELEM_BF16) continue;
      RingBedOptions o;
      o.ranks = gpu ? 3 : 4;
      o.gpu = gpu;
      o.bytes = 1 << 20;
      o.group.elem = elem;
      o.group.wide = elem == RNIC_ARP_ELEM_BF16;
      o.group.piece = o.group.wide ? 2048 : 4096;
      INFO("element type " << int{elem} << (gpu ? ", GPU" : ", host"));
      RingBed bed(o);
      const size_t row = 64;
      bed.run(o.ranks * row);                        // one row each
      bed.run(o.ranks * (o.group.piece + 5 * row));  // a last piece that is shorter
      bed.run(o.ranks * o.group.piece * 18);         // more than a round takes
      for (uint32_t r : bed.all()) {
        CHECK(bed.counter(r, RNIC_CNT_ARP_DONE) == 3);
        CHECK(bed.counter(r, RNIC_CNT_ARP_REFUSED) == 0);
        CHECK(bed.counter(r, RNIC_CNT_ARP_DUPLICATES) == 0);
      }
    }
  }
}

TEST_CASE("the sum is in its buffer: source and destination are the same") {
  RingBedOptions o;
  o.ranks = 3;
  RingBed bed(o);
  const size_t bytes = 3 * 3 * 4096;
  const Buffer sums = bed.fill(bytes);
  for (uint32_t r : bed.all()) bed.ring->begin(r, bytes, *bed.src[r], *bed.src[r]);
  for (uint32_t r : bed.all()) bed.ring->finish(r);
  bed.wait(bed.all());
  for (uint32_t r : bed.all()) {
    Buffer got(bytes);
    bed.src[r]->buffer.read(0, got.data(), bytes);
    CHECK(got == sums);
  }
}

TEST_CASE("AllReduce through loss, repeats and reordering: nothing is added twice") {
  RingBedOptions o;
  o.ranks = 3;
  o.bytes = 1 << 20;
  o.group.attributes.timeout = 4;  // 65 us
  RingBed bed(o);
  using wire::FaultAction;
  bed.spoil({{.action = FaultAction::kDrop, .opcode = roce::kOpcodeArp, .probability = 0.02},
             {.action = FaultAction::kDrop, .packet = wire::PacketClass::kAck, .probability = 0.02},
             {.action = FaultAction::kDuplicate, .opcode = roce::kOpcodeArp, .probability = 0.02},
             {.action = FaultAction::kReorder, .opcode = roce::kOpcodeArp, .probability = 0.01},
             {.action = FaultAction::kCorrupt, .opcode = roce::kOpcodeArp, .probability = 0.005}});
  for (int i = 0; i < 2; ++i) bed.run(3 * 40 * 4096);
  CHECK(bed.spoilt(FaultAction::kDrop) > 5);
  CHECK(bed.spoilt(FaultAction::kDuplicate) > 5);
  CHECK(bed.spoilt(FaultAction::kReorder) > 2);
  CHECK(bed.counter_sum(RNIC_CNT_TX_RESENT) > 0);
  CHECK(bed.counter_sum(RNIC_CNT_RX_DUPLICATES) > 0);
  CHECK(bed.counter_sum(RNIC_CNT_ARP_ABORTED) == 0);
  // Each rank takes 2 (N - 1) packets of each piece, once.
  CHECK(bed.counter_sum(RNIC_CNT_ARP_ACCEPTED) == uint64_t{2} * 3 * 4 * 40);
}

namespace {

// A scenario of AllReduce; its figures. Problems fail the test.
std::map<std::string, double> run_scenario(const std::string& yaml, std::string* text = nullptr) {
  const sim::Settings s = sim::parse_settings(yaml, "test", {});
  std::string report;
  sim::Session session(s, {}, [&](const std::string& line) { report += line + "\n"; });
  const bool good = session.run();
  INFO(report);
  for (const std::string& p : session.problems()) FAIL_CHECK(p);
  CHECK(good);
  if (text != nullptr) *text = report;
  std::map<std::string, double> figures;
  for (const auto& f : session.figures().all()) figures[f.name] = f.value;
  return figures;
}

const std::string kScenarioWorld = R"(
topology: switch
nic: {data_w: 512, mtu: 4096, arp: true}
wire: {rate: 100 Gb/s, delay: 500 ns}
gpu: {bounce_rate: 200 Gb/s}
switch: {nodes: 4, queue: 4 MiB}
steps:
)";

}  // namespace

TEST_CASE("do: allreduce by the NICs, beside the verbs on the same NICs") {
  const std::string yaml = kScenarioWorld + R"(
  - {name: gpu, do: allreduce, size: 8 KiB, piece: 2 KiB, memory: gpu, add_rate: 4000 Gb/s, launch: 3 us}
  - {name: nic, do: allreduce, engine: nic, size: 8 KiB, piece: 1 KiB, memory: gpu, repeat: 2, against: [gpu]}
  - {name: host, do: allreduce, engine: nic, size: 64 KiB, piece: 4 KiB}
)";
  const auto figures = run_scenario(yaml);
  CHECK(figures.at("nic.less_than_gpu") > 30);
  for (const char* step : {"nic", "host"}) {
    CHECK(figures.at(fmt::format("{}.of_bound", step)) < 100);
    CHECK(figures.at(fmt::format("{}.of_bound", step)) > 20);
  }
  // A rank reads its part of each sum and its own chunk once, and writes every sum once.
  CHECK(figures.at("nic.pcie_per_rank") >= 2 * 8192);
  CHECK(figures.at("nic.pcie_per_rank") < 2 * 8192 + 1000);
}

TEST_CASE("do: allreduce takes every element type, with sums in FP32, by the verbs and the NICs") {
  std::string yaml = kScenarioWorld;
  for (const char* type : {"fp16", "bf16", "fp32", "int32"}) {
    yaml += fmt::format(
        "  - {{name: verbs_{0}, do: allreduce, type: {0}, size: 8200, piece: 1000}}\n", type);
    yaml += fmt::format(
        "  - {{name: nic_{0}, do: allreduce, engine: nic, type: {0}, size: 9 KiB, piece: 2 KiB}}\n",
        type);
  }
  yaml +=
      "  - {name: wide, do: allreduce, engine: nic, type: bf16, wide: true, size: 9 KiB, piece: 1 "
      "KiB}\n";
  std::string report;
  CHECK(run_scenario(yaml, &report).size() == 9 * 4);
  CHECK_THAT(report, contains_text("9216 B of bf16 summed in fp32 on 4 ranks"));
}

TEST_CASE("do: allreduce in one shot: in order of arrival and in the order of the ranks") {
  std::string yaml = kScenarioWorld;
  for (const char* type : {"fp16", "bf16", "fp32", "int32"}) {
    yaml += fmt::format(
        "  - {{name: come_{0}, do: allreduce, engine: nic, algorithm: one_shot, type: {0}, size: "
        "16 KiB, piece: 1 KiB, repeat: 2}}\n",
        type);
    yaml += fmt::format(
        "  - {{name: fixed_{0}, do: allreduce, engine: nic, algorithm: one_shot_fixed, type: {0}, "
        "size: 9 KiB, piece: 2 KiB}}\n",
        type);
  }
  yaml += R"(
  - {name: wide, do: allreduce, engine: nic, algorithm: one_shot, type: fp16, wide: true, size: 8 KiB, piece: 1 KiB, memory: gpu}
  - {name: fixed_wide, do: allreduce, engine: nic, algorithm: one_shot_fixed, type: bf16, wide: true, size: 8 KiB, piece: 2 KiB}
)";
  std::string report;
  const auto figures = run_scenario(yaml, &report);
  // Sixteen pieces of all owners: with three contributors that come as they like, another order
  // than that of the ranks is among them, and its sum is another.
  CHECK_THAT(report, !contains_text("  0 of 16 pieces are not the sum in the order of the ranks, "
                                    "but of another\n  one-shot (order of arrival) AllReduce of "
                                    "16384 B of fp32"));
  CHECK(figures.at("come_fp32.of_bound") < 100);
  CHECK(figures.at("come_fp32.of_bound") > 20);
  // The ranks' own parts are read once, and sums are written by owners, read once per peer, and
  // written there: S + S/N + 3 S/N + 3 S/N, and the rings.
  CHECK(figures.at("come_fp32.pcie_per_rank") > 16384 * 11 / 4);
}

TEST_CASE("do: allreduce refuses what does not go together, with place and key") {
  const std::string good =
      kScenarioWorld + "  - {name: nic, do: allreduce, engine: nic, size: 64 KiB, piece: 4 KiB}\n";
  CHECK_NOTHROW(sim::parse_settings(good, "net.yaml"));
  const Refused refused{good};
  refused(", arp: true", "", "nic.arp");
  refused("size: 64 KiB", "size: 65000", "multiple of 256");
  refused("piece: 4 KiB", "piece: 8 KiB", "power of two");
  refused("piece: 4 KiB", "piece: 4 KiB, add_rate: 1 Gb/s", "add_rate");
  refused("piece: 4 KiB", "piece: 4 KiB, type: fp8", "one of fp16, bf16, fp32, int32");
  refused("piece: 4 KiB", "piece: 1 KiB, wide: true", "steps[0].wide': is for fp16 and bf16");
  refused("piece: 4 KiB", "piece: 4 KiB, type: bf16, wide: true", "at most 2048 with 'wide'");
  refused("piece: 4 KiB", "piece: 1 KiB, algorithm: tree", "one of ring, one_shot, one_shot_fixed");
  refused("size: 64 KiB, piece: 4 KiB", "size: 1 GiB, piece: 64, algorithm: one_shot",
          "65535 pieces");
  refused("engine: nic", "algorithm: one_shot", "net.yaml:8");
  refused("engine: nic", "algorithm: one_shot", "steps[0].algorithm': only ring");
  refused("engine: nic", "type: fp16, wide: true", "is for 'engine: nic'");
  refused("engine: nic, size: 64 KiB", "type: fp16, size: 65", "multiple of 2");
  // Whole numbers come to the same in any order, however many there are.
  std::string seven = good;
  seven.replace(seven.find("nodes: 4"), 8, "nodes: 7");
  const Refused of_seven{seven};
  of_seven("size: 64 KiB", "size: 63 KiB, algorithm: one_shot", "at most 6 nodes");
  seven.replace(seven.find("size: 64 KiB"), 12, "size: 63 KiB, type: int32, algorithm: one_shot");
  CHECK_NOTHROW(sim::parse_settings(seven, "net.yaml"));
}

TEST_CASE("ranks that start at different times wait for each other") {
  RingBedOptions o;
  o.ranks = 3;
  o.bytes = 1 << 18;
  RingBed bed(o);
  const size_t bytes = 3 * 8 * 4096;
  const Buffer sums = bed.fill(bytes);
  bed.snapshot();
  for (uint32_t r : bed.all()) {
    bed.ring->start(r, bytes, *bed.src[r], *bed.dst[r]);
    bed.world.run_until(bed.world.now_ps() + 30'000'000);
  }
  bed.wait(bed.all());
  for (uint32_t r : bed.all()) CHECK(bed.ring->event(r)->type == RNIC_EQE_TYPE_ARP_DONE);
  CHECK(bed.counter_sum(RNIC_CNT_ARP_NOT_READY) > 0);
  bed.check(sums);
}

TEST_CASE("a rank that does not come: the others give up, and their slots are free again") {
  RingBedOptions o;
  o.ranks = 3;
  o.group.timeout_us = 40;
  RingBed bed(o);
  const size_t bytes = 3 * 4 * 4096;
  bed.fill(bytes);
  bed.snapshot();
  bed.begin({0, 1}, bytes);
  bed.wait({0, 1});
  for (uint32_t r : {0u, 1u}) {
    CHECK(bed.ring->event(r)->type == RNIC_EQE_TYPE_ARP_ABORTED);
    CHECK(bed.ring->event(r)->code == RNIC_ARP_CAUSE_TIMEOUT);
    CHECK(bed.counter(r, RNIC_CNT_ARP_ABORTED) == 1);
  }
  // A destination may have sums, but not of this operation: it came to none.
  bed.check({});
  for (uint32_t r : bed.all()) bed.ring->destroy(r);
  // All of it once more, on new connections.
  bed.ring.reset();
  bed.ring = std::make_unique<sim::GroupRing>(
      std::vector<sim::Host*>{bed.hosts[0].get(), bed.hosts[1].get(), bed.hosts[2].get()},
      bed.options.group);
  bed.run(bytes);
}

TEST_CASE("an operation ends by command, or with its connection") {
  RingBedOptions o;
  o.ranks = 2;
  RingBed bed(o);
  const size_t bytes = 2 * 4096;
  bed.fill(bytes);
  bed.snapshot();
  bed.begin({0}, bytes);
  bed.world.run_until(bed.world.now_ps() + 5'000'000);
  CHECK(!bed.ring->ended(0));
  bed.ring->abort(0);
  bed.wait({0});
  CHECK(bed.ring->event(0)->type == RNIC_EQE_TYPE_ARP_ABORTED);
  CHECK(bed.ring->event(0)->code == RNIC_ARP_CAUSE_COMMAND);
  // The other one's packets are refused now: its connection fails, and that ends its operation.
  bed.begin({1}, bytes);
  bed.wait({1});
  CHECK(bed.ring->event(1)->type == RNIC_EQE_TYPE_ARP_ABORTED);
  CHECK(bed.ring->event(1)->code == RNIC_ARP_CAUSE_QP);
  bed.check({});
}

namespace {

driver::GroupState state_of(RingBed& bed, uint32_t rank) {
  return driver::query_group(bed.hosts[rank]->nic(), 0);
}

}  // namespace

TEST_CASE("a group tells its state: free, idle, running, done, given up") {
  RingBedOptions o;
  o.ranks = 2;
  RingBed bed(o);
  const size_t bytes = 2 * 3 * 4096;
  CHECK(driver::query_group(bed.hosts[0]->nic(), 1).state == RNIC_ARP_STATE_FREE);
  CHECK_THROWS_WITH(driver::query_group(bed.hosts[0]->nic(), 2), contains_text("BAD_INDEX"));
  CHECK(state_of(bed, 0).state == RNIC_ARP_STATE_IDLE);
  const Buffer sums = bed.fill(bytes);
  bed.snapshot();
  // Alone it has sent its own pieces, which rank 1 puts off, and waits with six open slots.
  bed.begin({0}, bytes);
  bed.world.run_until(bed.world.now_ps() + 20'000'000);
  driver::GroupState s = state_of(bed, 0);
  CHECK(s.state == RNIC_ARP_STATE_RUN);
  CHECK(s.done == 0);
  CHECK(s.opened == 6);
  CHECK(s.sent == 3);
  CHECK(s.acked == 0);
  CHECK(s.held == 0);
  CHECK(s.idle_us >= 15);
  CHECK(s.idle_us <= 25);
  CHECK(state_of(bed, 1).not_ready > 0);
  bed.begin({1}, bytes);
  bed.wait(bed.all());
  bed.check(sums);
  bed.world.run_until(bed.world.now_ps() + 5'000'000);
  for (uint32_t r : bed.all()) {
    s = state_of(bed, r);
    CHECK(s.state == RNIC_ARP_STATE_IDLE);
    CHECK(s.cause == RNIC_ARP_CAUSE_DONE);
    CHECK(s.done == 6);
    CHECK(s.sent == 6);
    CHECK(s.acked == 6);
    CHECK(s.held == 0);
    CHECK(s.idle_us == 0);
    CHECK(s.duplicates == 0);
    CHECK(s.not_ready == bed.counter(r, RNIC_CNT_ARP_NOT_READY));
    // One acknowledgement is for the own chunk, one for the end; each answered once.
    CHECK(bed.counter(r, RNIC_CNT_TX_ACKS) < 6 + s.not_ready);
  }
  bed.begin({0}, bytes);
  bed.ring->abort(0);
  bed.wait({0});
  s = state_of(bed, 0);
  CHECK(s.state == RNIC_ARP_STATE_ABORTED);
  CHECK(s.cause == RNIC_ARP_CAUSE_COMMAND);
  CHECK(s.done == 6);
  bed.ring->destroy(0);
  CHECK(state_of(bed, 0).state == RNIC_ARP_STATE_FREE);
}

namespace {

// A packet of group 1 by hand.
driver::WorkRequest part(const sim::Region& from, uint32_t bytes, uint32_t contributor) {
  return driver::packet_request({.number = 1, .contributor = contributor},
                                {from.key, bytes, from.va});
}

}  // namespace

TEST_CASE("one-shot: what comes twice is in the sum once") {
  // Rank 0 owns the chunk; ranks 1 and 2 are two connections of the other node.
  RingBedOptions o;
  o.ranks = 2;
  RingBed bed(o);
  sim::Host& owner = *bed.hosts[0];
  sim::Host& peer = *bed.hosts[1];
  driver::GroupRequest g;
  g.number = 1;
  g.ring = false;
  g.ranks = 3;
  driver::create_group(owner.nic(), g);
  std::vector<sim::Qp*> from;
  sim::ConnectOptions connect;
  connect.path_a = 1;
  connect.path_b = 0;
  for (uint32_t rank : {1u, 2u}) {
    const auto [here, there] = sim::connect(owner, peer, connect);
    driver::set_group_peer(owner.nic(), 1, rank, here->number());
    from.push_back(there);
  }
  const uint32_t bytes = 4096;
  std::vector<Buffer> parts;
  for (int i = 0; i < 3; ++i)
    parts.push_back(numerics::near_numbers(Element::kFp32, bed.random.bytes(bytes)));
  bed.src[0]->buffer.write(0, parts[0].data(), bytes);
  sim::Region* regions[] = {bed.src[1], bed.dst[1]};
  for (size_t i = 0; i < 2; ++i) regions[i]->buffer.write(0, parts[i + 1].data(), bytes);
  bed.snapshot();
  driver::start_group(owner.nic(), 1, 1, 0, {bytes, 1, 1},
                      {bed.src[0]->iova, bed.src[0]->va, bed.src[0]->key, bed.dst[0]->iova});
  const auto send = [&](size_t i) {
    from[i]->qp->post(part(*regions[i], bytes, static_cast<uint32_t>(i + 1)));
    from[i]->qp->ring();
    CHECK(peer.wait_completion(*from[i]).ok());
  };
  send(0);
  send(0);  // before the slot is complete
  send(1);
  const auto e = wait_cause(owner);
  REQUIRE(e);
  CHECK(e->type == RNIC_EQE_TYPE_ARP_DONE);
  CHECK(e->number == 1);
  send(1);  // behind it
  bed.world.run_until(bed.world.now_ps() + 2'000'000);
  const Buffer want = numerics::sum_in_order(Element::kFp32, numerics::Sum::kNative,
                                             {parts[0], parts[1], parts[2]});
  bed.check_one(0, want);
  CHECK(bed.counter(0, RNIC_CNT_ARP_ACCEPTED) == 2);
  CHECK(bed.counter(0, RNIC_CNT_ARP_DUPLICATES) == 2);
}

TEST_CASE("a connection without a group answers as to any unknown opcode") {
  RingBed bed({});
  sim::ConnectOptions connect;
  connect.path_a = 1;
  connect.path_b = 0;
  const auto [here, there] = sim::connect(*bed.hosts[0], *bed.hosts[1], connect);
  bed.snapshot();
  there->qp->post(part(*bed.src[1], 4096, 1));
  there->qp->ring();
  CHECK(bed.hosts[1]->wait_completion(*there).status == RNIC_CQE_STATUS_REM_INV_REQ_ERR);
  const auto e = wait_cause(*bed.hosts[0]);
  REQUIRE(e);
  CHECK(e->type == RNIC_EQE_TYPE_QP_FATAL);
  CHECK(e->number == here->number());
  CHECK(bed.hosts[0]->nic().query_qp(here->number()).state == RNIC_QP_STATE_ERR);
  CHECK(bed.counter(0, RNIC_CNT_TX_NAK_INV) == 1);
  bed.check({});
}

TEST_CASE("commands of groups are checked") {
  RingBed bed({});
  driver::Device& nic = bed.hosts[0]->nic();
  const driver::Capabilities& cap = nic.capabilities();
  driver::GroupRequest g;
  g.number = 1;
  const auto refused = [&](auto call, const char* why) {
    CHECK_THROWS_WITH(call(), contains_text(why));
  };
  g.stage_at = cap.devmem_bytes - driver::stage_bytes(cap, g.piece) + 64;
  refused([&] { driver::create_group(nic, g); }, "BAD_PARAM");
  g.stage_at = 32;
  refused([&] { driver::create_group(nic, g); }, "BAD_PARAM");
  g.stage_at = 0;
  g.ring_at = cap.devmem_bytes - driver::ring_bytes(cap) + 64;
  refused([&] { driver::create_group(nic, g); }, "BAD_PARAM");
  g.ring_at = 0;
  g.ranks = 1;
  refused([&] { driver::create_group(nic, g); }, "BAD_PARAM");
  g.ranks = 2;
  g.number = cap.arp_groups;
  refused([&] { driver::create_group(nic, g); }, "BAD_INDEX");
  g.number = 256;
  refused([&] { driver::create_group(nic, g); }, "BAD_INDEX");
  g.number = 0;
  refused([&] { driver::create_group(nic, g); }, "IN_USE");
  refused([&] { driver::set_group_peer(nic, 1, 0, 2); }, "NOT_FOUND");
  refused([&] { driver::abort_group(nic, 0); }, "BAD_STATE");
  refused([&] { driver::start_group(nic, 1, 2, 0, {64, 1, 1}, {}); }, "BAD_STATE");
  refused([&] { driver::start_group(nic, 0, 2, 0, {64, 1, 1}, {.src = 1}); }, "BAD_PARAM");
  bed.run(2 * 4096);
}
