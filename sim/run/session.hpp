// SPDX-License-Identifier: Apache-2.0
// One run of a scenario: the world is built, the drivers load, the steps are taken one after the
// other, everything is checked, figures and files come out.
//
//   Session session(load_settings("sim/scenarios/first_light.yaml", {}), {.out_dir = "out"},
//   report); bool good = session.run(); for (const Figure& f : session.figures().all()) ...
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/mem/memory_checker.hpp"
#include "harness/pcap/pcap.hpp"
#include "harness/trace_tlp/tlp_log.hpp"
#include "harness/wire/tap.hpp"
#include "sim/host/host.hpp"
#include "sim/run/figures.hpp"
#include "sim/run/plot.hpp"
#include "sim/run/recorder.hpp"
#include "sim/run/settings.hpp"
#include "sim/run/stages.hpp"

namespace rnic::sim {

struct RunOptions {
  std::string pcap_file, wave_file, trace_file;  // empty: none
  std::string tlp_file;                          // node name is put before its extension
  unsigned threads = 1;
  bool progress = false;
};

// A file of one node: "tlp.log" of node a is "tlp.a.log".
std::string node_file(const std::string& path, const std::string& name);

// Lines of the report. A library does not print; the program passes a function that does.
using Print = std::function<void(const std::string& line)>;

struct NodeKit {
  Node* node = nullptr;
  std::unique_ptr<Host> host;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<trace_tlp::TlpLog> tlp;
  std::unique_ptr<mem::MemoryChecker> host_check, gpu_check;
  std::vector<std::pair<std::string, size_t>> faults;  // name, handle of the fabric
};

class Crowd;

// A cable under observation.
struct CableKit {
  std::string name;  // of its node, when there are several cables
  std::unique_ptr<pcap::PcapWriter> pcap;
  std::unique_ptr<wire::CableFaults> faults;
  std::unique_ptr<wire::Tap> tap;
};

class Session {
 public:
  Session(const Settings& settings, const RunOptions& options, Print print);
  ~Session();

  // All steps and the final checks. False when something was wrong; `problems()` says what.
  bool run();
  const std::vector<std::string>& problems() const { return problems_; }
  const Figures& figures() const { return figures_; }

  const Settings& settings() const { return settings_; }
  World& world() { return world_; }
  NodeKit& kit(size_t node) { return kits_.at(node); }
  size_t node_count() const { return kits_.size(); }
  bool loop() const { return settings_.topology == Topology::kLoop; }
  // Node at the far end of the cable, where there is just one.
  size_t peer_of(size_t node) const { return loop() ? node : 1 - node; }
  // The switch, or null.
  switching::Switch* net() const { return net_; }

  // For the steps.
  struct Pair {
    Qp* self;  // of `from`
    Qp* peer;
  };
  // The n-th connected pair of QPs of two nodes, as seen from `from`; of packets with this DSCP.
  Pair pair(size_t n, size_t from, size_t to, std::optional<uint8_t> dscp = {});
  // The many QPs of the one NIC.
  Crowd& crowd();
  void problem(const std::string& text);
  void print(const std::string& line) { print_(line); }
  void figure(const std::string& name, double value, const std::string& unit) {
    figures_.add(name, value, unit);
  }
  // For a plot.
  void curve(Curve curve) { curves_.push_back(std::move(curve)); }
  const std::vector<Curve>& curves() const { return curves_; }
  // Golden := memory now; what `expect` and `ignore` do not name must stay as it is.
  void snapshot_memory();
  void ignore_memory(size_t node, const Region& region);
  void check_memory(const std::string& step);
  uint64_t seed(const std::string& name) const { return mem::substream(settings_.seed, name); }
  bool tracing() const { return !options_.trace_file.empty(); }
  uint32_t tx_start_threshold() const { return threshold_; }
  std::vector<Timeline>& timelines() { return timelines_; }
  // After an acknowledgement the data may still be on their way into memory: this long at most,
  // `usual` unless the scenario makes writes slow.
  TimePs settle_ps(TimePs usual) const;
  double wall_seconds() const;             // since the session began
  void progress(const std::string& what);  // at most one line in two seconds

 private:
  using Counters = std::vector<std::map<std::string, uint64_t>>;  // of each node
  void build();
  void add_node(size_t index);
  void add_cable(wire::Link& link, const std::string& name);
  void add_switch();
  void set_pause_marks(driver::PauseSettings& p) const;
  void start_host(size_t index);
  void final_checks();
  void close_files();
  void check_early_packets(const Counters& counters);
  void check_frames(const Counters& counters);
  void check_switch(const Counters& counters);
  bool lossy() const;
  void print_switch();
  void print_faults();
  void write_trace();

  Settings settings_;
  RunOptions options_;
  Print print_;
  World world_;
  std::vector<NodeKit> kits_;
  switching::Switch* net_ = nullptr;
  // The path from a node to another with a DSCP of its own.
  uint16_t path(size_t node, size_t peer, uint8_t dscp);
  // Nodes and DSCP (64: that of the NICs); paths by node, peer and DSCP.
  std::map<std::array<size_t, 3>, std::vector<std::pair<Qp*, Qp*>>> pairs_;
  std::map<std::array<size_t, 3>, uint16_t> paths_;
  std::vector<CableKit> cables_;
  std::unique_ptr<Crowd> crowd_;
  Figures figures_;
  std::vector<Curve> curves_;
  std::vector<std::string> problems_;
  std::vector<Timeline> timelines_;
  uint64_t start_ns_ = 0;
  double last_progress_ = 0;
  uint32_t threshold_ = 0;
};

void run_latency(Session& session, const std::string& name, const LatencyStep& step);
void run_traffic(Session& session, const std::string& name, const TrafficStep& step);
void run_raw(Session& session, const std::string& name, const RawStep& step);
void run_random_qps(Session& session, const std::string& name, const RandomStep& step);
void run_context_miss(Session& session, const std::string& name, const MissStep& step);
void run_allreduce(Session& session, const std::string& name, const AllReduceStep& step);
std::string threshold_text(Session& session);

}  // namespace rnic::sim
