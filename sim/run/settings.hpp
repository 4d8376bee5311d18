// SPDX-License-Identifier: Apache-2.0
// A scenario file as plain structures: the world, its nodes, and the steps to take. sim/README.md
// lists every key.
//
//   Settings s = load_settings("sim/scenarios/first_light.yaml", {"seed=7"});   // throws
//   ScenarioError
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/driver/congestion.hpp"
#include "harness/numerics/element.hpp"
#include "harness/pcie/config.hpp"
#include "harness/switch/config.hpp"
#include "harness/wire/fault_settings.hpp"
#include "harness/wire/wire.hpp"
#include "sim/host/host.hpp"

namespace rnic::sim {

enum class Topology : uint8_t {
  kPair,    // two nodes, one cable
  kLoop,    // one node, its cable comes back
  kSwitch,  // several nodes, each on a cable to one switch
};

enum class Memory : uint8_t { kHost, kGpu, kDevice, kBounce };
enum class Post : uint8_t { kDoorbell, kBlueFlame, kGpu };

// One WRITE alone, `repeat` times, with its stage table.
struct LatencyStep {
  uint32_t size = 4096;
  bool imm = false;
  bool inlined = false;
  bool long_form = false;
  Post post = Post::kDoorbell;
  Memory source = Memory::kHost, target = Memory::kHost;
  uint32_t repeat = 1;
  bool reference = false;  // print the published figures beside it
  bool detail = false;     // print every event
};

// READ and FETCH_ADD: the bytes come from the responder.
enum class FlowVerb : uint8_t { kWrite, kSend, kRead, kFetchAdd };

// Messages of one kind, posted on one node and answered by another.
struct Flow {
  uint32_t from = 0;  // node that posts
  uint32_t to = 1;    // node that answers
  FlowVerb verb = FlowVerb::kWrite;
  uint32_t qps = 1;
  std::vector<uint32_t> sizes = {4096};
  uint32_t count = 64;  // messages in all
  uint32_t depth = 16;  // outstanding per QP
  bool imm = false;
  bool inlined = false;
  Memory source = Memory::kHost, target = Memory::kHost;  // where the bytes come from and go
  uint32_t doorbell_every = 1;
  uint32_t signal_every = 1;
  uint32_t source_misalign = 0, target_misalign = 0;  // bytes
  bool random_offsets = false;                        // each message somewhere else in its slot
  std::optional<uint8_t> dscp{};                      // none: that of the NICs (net.dscp)

  // Each message has a slot of its own, at both ends: those in flight and those that settle.
  uint32_t biggest() const;
  uint64_t slot_bytes() const;
  uint32_t slots() const;  // per QP
  uint64_t buffer_bytes() const { return slot_bytes() * slots() * qps; }
};

struct TrafficStep {
  std::vector<Flow> flows;
  TimePs grain_ps = 200'000;  // how often the programs look
  TimePs limit_ps = 100'000'000'000;
  TimePs duration_ps = 0;  // the programs post for so long; 0: until all messages are posted
  bool speed = false;      // report simulation speed as a figure
};

// Raw frames both ways beside whatever runs: an ARP request out of each node, seen by the other.
struct RawStep {
  uint32_t count = 1;
};

// WRITEs on QPs chosen at random out of `qps`, which one NIC has, joined in pairs by its own cable.
struct RandomStep {
  uint32_t qps = 16;
  uint32_t size = 4096;
  uint32_t count = 1000;
  uint32_t in_flight = 64;   // messages, of all QPs together
  TimePs grain_ps = 50'000;  // how often the program looks
  TimePs limit_ps = 100'000'000'000;
};

// What a context that is not on chip costs one WRITE alone.
struct MissStep {
  uint32_t size = 64;
  uint32_t repeat = 16;  // pairs of QPs that are tried
};

// Around a ring in rank order; or every rank sends its part of a chunk to the rank that owns it,
// which adds as they come or in the order of the ranks, and sends the sum to all.
enum class Algorithm : uint8_t { kRing, kOneShot, kOneShotFixed };

// AllReduce over all nodes: with WRITEs around a ring, the sums made by each rank's processor or
// GPU, or by the NICs.
struct AllReduceStep {
  bool nic = false;  // the NICs do it; `piece` is that of a packet
  Algorithm algorithm = Algorithm::kRing;
  numerics::Element type = numerics::Element::kFp32;
  bool wide = false;                   // 16-bit elements are summed in FP32
  uint64_t bytes = 1 << 20;            // of each rank's buffer
  uint64_t piece = 64 << 10;           // of a message, at most
  Memory memory = Memory::kHost;       // where the buffers are
  Memory reduce = Memory::kHost;       // who adds
  std::vector<std::string> against;    // earlier steps that it is compared with
  uint64_t add_bps = 800'000'000'000;  // bits of sum per second
  TimePs launch_ps = 0;                // of each sum: a GPU starts a kernel
  uint32_t repeat = 1;
  TimePs grain_ps = 100'000;  // how often the programs look
  TimePs limit_ps = 100'000'000'000;
};

struct Step {
  std::string name;
  std::optional<uint32_t> tx_start_threshold;  // from this step on, both nodes
  std::optional<LatencyStep> latency;
  std::optional<TrafficStep> traffic;
  std::optional<RawStep> raw;
  std::optional<RandomStep> random;
  std::optional<MissStep> miss;
  std::optional<AllReduceStep> allreduce;
};

// What goes wrong on the PCIe link of a node: a rule of its fabric.
struct PcieFault {
  int node = 2;  // 0, 1; 2: both
  std::string name;
  pcie::FaultRule rule;
};

struct Settings {
  std::string title, file;
  uint64_t seed = 1;
  Topology topology = Topology::kPair;
  uint32_t nodes = 2;
  switching::SwitchConfig net;  // of kSwitch
  uint32_t data_w = 512;
  uint32_t contexts = 0;  // as in NicOptions
  bool arp = false;       // likewise
  uint32_t mtu = 4096;
  wire::LinkConfig wire;
  wire::FaultSettings faults;
  pcie::Config pcie;
  std::vector<PcieFault> pcie_faults;
  bool has_gpu = false;
  pcie::GpuConfig gpu;
  mem::IommuConfig iommu;
  mem::Layout layout = mem::Layout::kContiguous;
  axi::DmaStalls stalls;
  uint16_t bar_stall = 0;
  HostConfig host;
  std::optional<driver::CcSettings> congestion;  // of every NIC; none: as after a reset
  bool pause_marks = false;  // those of host.pause are given; else they follow from the wire
  uint64_t pause_reaction_ps = 500'000;
  uint32_t log_sq = 10;
  uint32_t timeout = 14;  // of acknowledgements: 4.096 us * 2^timeout; 0: none
  std::vector<Step> steps;
};

// Nodes are called by letters.
inline constexpr uint32_t kMostNodes = 16;
inline std::string node_name(size_t node) { return std::string(1, static_cast<char>('a' + node)); }

// `kinds`: the NICs that the program has; none: any.
Settings load_settings(const std::string& path, const std::vector<std::string>& overrides,
                       const std::vector<NicKind>& kinds = {});
Settings parse_settings(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides = {});
// Whose scenario it is: `rnic-sim run`'s, or that of tools, which bring their own queues, addresses
// and PCIe link without faults.
enum class Programs : uint8_t { kFlows, kTools };
// The keys of the world without `topology` and `steps`; those that such programs do not use are
// unknown keys.
void read_world(scenario::Reader& r, Settings& s, const std::vector<NicKind>& kinds,
                Programs programs);
// What a benchmark compares: the scenario again with other values, as from the command line. Keys
// `variants`, `compare`, `plot` and `long` of its file.
struct Variant {
  std::string name;
  std::vector<std::string> set;  // "path=value"
};
struct Comparison {
  std::vector<Variant> variants;     // none: the scenario itself only
  std::vector<std::string> figures;  // shown side by side
  std::vector<std::string> plot;     // curves, a panel each
  std::vector<std::string> longer;   // "path=value": what makes it the long run
};
Comparison load_comparison(const std::string& path);  // throws ScenarioError
// The title of a scenario file, without checking the rest.
std::string scenario_title(const std::string& path);

}  // namespace rnic::sim
