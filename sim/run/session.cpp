// SPDX-License-Identifier: Apache-2.0
#include "sim/run/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "regs/gen/rnic_regs.h"
#include "sim/run/crowd.hpp"

namespace rnic::sim {

namespace {
uint64_t wall_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// What a cable with faults brings about without anybody being wrong.
bool expected_of_faults(std::string_view counter) {
  static constexpr std::array<std::string_view, 13> kNames = {
      "rx_crc_errors",  "rx_runts",       "rx_icrc_errors", "rx_header_errors", "rx_unknown_qp",
      "rx_pkey_errors", "rx_addr_errors", "rx_duplicates",  "rx_out_of_order",  "rx_nak",
      "rx_ghost_acks",  "tx_nak_seq",     "tx_rnr_nak"};
  return std::find(kNames.begin(), kNames.end(), counter) != kNames.end();
}
}  // namespace

std::string node_file(const std::string& path, const std::string& name) {
  const size_t dot = path.find_last_of('.');
  const size_t slash = path.find_last_of('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash))
    return path + "." + name;
  return path.substr(0, dot) + "." + name + path.substr(dot);
}

Session::Session(const Settings& settings, const RunOptions& options, Print print)
    : settings_(settings), options_(options), print_(std::move(print)), start_ns_(wall_ns()) {
  threshold_ = settings_.host.tx_start_threshold;
  build();
}

Session::~Session() = default;

double Session::wall_seconds() const { return static_cast<double>(wall_ns() - start_ns_) * 1e-9; }

void Session::build() {
  const size_t nodes = loop() ? 1 : 2;
  for (size_t i = 0; i < nodes; ++i) {
    NodeConfig c;
    c.name = i == 0 ? "a" : "b";
    c.nic.data_w = settings_.data_w;
    c.nic.contexts = settings_.contexts;
    c.nic.seed = seed("nic." + c.name);
    if (!options_.wave_file.empty())
      c.nic.wave_file = nodes == 1 ? options_.wave_file : node_file(options_.wave_file, c.name);
    c.pcie = settings_.pcie;
    c.pcie.seed = seed("pcie." + c.name);
    c.iommu = settings_.iommu;
    c.dma.layout = settings_.layout;
    c.dma.seed = seed("memory." + c.name);
    c.dma_pins.stalls = settings_.stalls;
    c.dma_pins.seed = seed("axi." + c.name);
    c.bar_pins.stall = settings_.bar_stall;
    c.bar_pins.seed = seed("bars." + c.name);
    if (settings_.has_gpu) c.gpus.push_back(settings_.gpu);
    NodeKit k;
    k.node = &world_.add_node(c);
    k.recorder = std::make_unique<Recorder>();
    k.node->nic().set_trace(k.recorder.get());
    k.node->nic().count_borders(true);
    k.node->fabric().add_observer(k.recorder.get());
    for (const PcieFault& f : settings_.pcie_faults) {
      if (f.node == 2 || f.node == static_cast<int>(i))
        k.faults.emplace_back(f.name, k.node->fabric().add_fault(f.rule));
    }
    if (!options_.tlp_file.empty()) {
      k.tlp = std::make_unique<trace_tlp::TlpLog>(node_file(options_.tlp_file, c.name));
      k.node->fabric().add_observer(k.tlp.get());
    }
    k.host_check =
        std::make_unique<mem::MemoryChecker>(k.node->memory(), "host memory of node " + c.name);
    if (settings_.has_gpu)
      k.gpu_check = std::make_unique<mem::MemoryChecker>(k.node->gpu(0).memory(),
                                                         "GPU memory of node " + c.name);
    kits_.push_back(std::move(k));
  }
  wire::Link& link = loop() ? world_.loop(*kits_[0].node, settings_.wire)
                            : world_.connect(*kits_[0].node, *kits_[1].node, settings_.wire);
  if (!settings_.faults.rules.empty()) {
    faults_ = std::make_unique<wire::CableFaults>(settings_.faults.rules, seed("wire"),
                                                  link.config(), settings_.faults.hold_limit_ps);
    faults_->install(link);
  }
  wire::TapConfig tap;
  if (!options_.pcap_file.empty()) {
    pcap_ = std::make_unique<pcap::PcapWriter>(options_.pcap_file);
    tap.pcap = pcap_.get();
  }
  tap.rules.pmtu = settings_.mtu;
  tap_ = std::make_unique<wire::Tap>(tap);
  link.add_observer(tap_.get());
  world_.set_threads(options_.threads);
  world_.power_on();
  for (size_t i = 0; i < nodes; ++i) {
    HostConfig h = settings_.host;
    h.id = static_cast<uint8_t>(i + 1);
    kits_[i].host = std::make_unique<Host>(world_, *kits_[i].node, h);
    kits_[i].host->start(static_cast<uint8_t>(peer_of(i) + 1));
  }
}

Session::Pair Session::pair(size_t n, size_t from) {
  while (pairs_.size() <= n) {
    ConnectOptions o;
    o.mtu = settings_.mtu;
    o.log_sq = settings_.log_sq;
    o.log_rq = 10;
    o.log_cq = settings_.log_sq + 1 > 15 ? 15 : settings_.log_sq + 1;
    o.psn_a = static_cast<uint32_t>(seed("psn.a" + std::to_string(pairs_.size()))) & 0xFFFFFF;
    o.psn_b = static_cast<uint32_t>(seed("psn.b" + std::to_string(pairs_.size()))) & 0xFFFFFF;
    pairs_.push_back(connect(*kits_[0].host, *kits_[peer_of(0)].host, o));
  }
  return from == 0 ? Pair{pairs_[n].first, pairs_[n].second}
                   : Pair{pairs_[n].second, pairs_[n].first};
}

TimePs Session::settle_ps(TimePs usual) const {
  constexpr TimePs kUsualWritePs = 1'000'000;
  const pcie::Config& p = settings_.pcie;
  TimePs write = p.link.up_latency_ps + p.host.write_commit_ps + p.host.write_jitter_ps;
  if (settings_.has_gpu)
    write += settings_.gpu.extra_latency_ps + settings_.gpu.write_commit_ps +
             settings_.gpu.write_jitter_ps;
  for (const PcieFault& f : settings_.pcie_faults) {
    if (f.rule.writes && f.rule.kind == pcie::FaultKind::kDelay) write += f.rule.delay_ps;
  }
  return usual + std::max(write, kUsualWritePs) - kUsualWritePs;
}

Crowd& Session::crowd() {
  if (!crowd_) crowd_ = std::make_unique<Crowd>(*this);
  return *crowd_;
}

void Session::problem(const std::string& text) {
  if (problems_.size() < 50) {
    problems_.push_back(text);
    print_("  WRONG: " + text);
  }
}

void Session::snapshot_memory() {
  for (NodeKit& k : kits_) {
    k.host_check->snapshot();
    k.host->ignore_rings(*k.host_check);
    if (k.gpu_check) k.gpu_check->snapshot();
  }
}

void Session::ignore_memory(size_t node, const Region& region) {
  NodeKit& k = kits_.at(node);
  if (region.place == Place::kHost) k.host_check->ignore(region.buffer, 0, region.size);
  if (region.place == Place::kGpu) k.gpu_check->ignore(region.buffer, 0, region.size);
}

void Session::check_memory(const std::string& step) {
  for (NodeKit& k : kits_) {
    if (auto d = k.host_check->compare())
      problem(step + ": something else changed: " + d->to_string());
    if (k.gpu_check) {
      if (auto d = k.gpu_check->compare())
        problem(step + ": something else changed: " + d->to_string());
    }
  }
}

void Session::progress(const std::string& what) {
  if (!options_.progress) return;
  const double now = wall_seconds();
  if (now - last_progress_ < 2.0) return;
  last_progress_ = now;
  print_(fmt::format("  ... {:.0f} s: {}, simulated {:.1f} us", now, what,
                     static_cast<double>(world_.now_ps()) * 1e-6));
}

bool Session::run() {
  for (const Step& step : settings_.steps) {
    print_("");
    print_("== " + step.name);
    try {
      if (step.tx_start_threshold) {
        threshold_ = *step.tx_start_threshold;
        for (NodeKit& k : kits_) k.host->nic().write(RNIC_CSR_TX_START_THRESHOLD, threshold_);
      }
      if (step.latency) run_latency(*this, step.name, *step.latency);
      if (step.traffic) run_traffic(*this, step.name, *step.traffic);
      if (step.raw) run_raw(*this, step.name, *step.raw);
      if (step.random) run_random_qps(*this, step.name, *step.random);
      if (step.miss) run_context_miss(*this, step.name, *step.miss);
    } catch (const std::exception& e) {
      problem(step.name + ": " + e.what());
      break;
    }
  }
  try {
    final_checks();
  } catch (const std::exception& e) {
    problem(std::string("final checks: ") + e.what());
  }
  write_trace();
  return problems_.empty();
}

void Session::final_checks() {
  // Let the last ACKs and CQEs arrive.
  world_.run_until(world_.now_ps() + 5'000'000);
  tap_->close();
  if (pcap_) pcap_->close();
  for (NodeKit& k : kits_) {
    if (k.tlp) k.tlp->flush();
  }
  for (const std::string& m : tap_->messages()) problem("wire: " + m);
  if (tap_->bad_frames() != 0)
    problem(fmt::format("wire: {} frames were spoiled by their sender", tap_->bad_frames()));

  // Counters that must stay zero when nothing goes wrong.
  static const char* const kMustBeZero[] = {
      "rx_crc_errors",      "rx_runts",         "rx_buffer_drops",
      "rx_icrc_errors",     "rx_header_errors", "rx_unknown_qp",
      "rx_pkey_errors",     "rx_addr_errors",   "rx_duplicates",
      "rx_out_of_order",    "rx_nak",           "rx_ghost_acks",
      "tx_underruns",       "tx_nak_seq",       "tx_nak_inv",
      "tx_nak_access",      "tx_nak_op",        "tx_rnr_nak",
      "doorbell_refused",   "wqe_errors",       "msgs_flushed",
      "cq_overrun",         "eq_overrun",       "dma_read_errors",
      "dma_page_fault",     "dma_timeouts",     "gdr_refused",
      "mr_errors",          "cmd_errors",       "tx_no_path",
      "bad_register_access"};
  std::vector<std::map<std::string, uint64_t>> counters;
  for (NodeKit& k : kits_) counters.push_back(k.host->nic().counters());
  for (size_t i = 0; i < kits_.size(); ++i) {
    for (const char* name : kMustBeZero) {
      if (faults_ && expected_of_faults(name)) continue;
      if (counters[i].at(name) != 0)
        problem(fmt::format("counter {} of node {} is {}", name, kits_[i].node->name(),
                            counters[i].at(name)));
    }
    if (auto e = kits_[i].host->events().poll())
      problem(fmt::format("node {} reports event {} (code {:#x}, number {})", kits_[i].node->name(),
                          e->type, e->code, e->number));
  }
  // What one side sent the other has received, and the tap has seen.
  uint64_t sent = 0;
  for (size_t i = 0; i < kits_.size(); ++i) {
    const size_t p = peer_of(i);
    sent += counters[i].at("tx_frames");
    if (!faults_ && counters[i].at("tx_frames") != counters[p].at("rx_frames"))
      problem(fmt::format("node {} sent {} frames, {} arrived", kits_[i].node->name(),
                          counters[i].at("tx_frames"), counters[p].at("rx_frames")));
    if (counters[i].at("msgs_posted") != counters[i].at("msgs_completed"))
      problem(fmt::format("node {} posted {} messages, {} completed", kits_[i].node->name(),
                          counters[i].at("msgs_posted"), counters[i].at("msgs_completed")));
  }
  if (sent != tap_->frames())
    problem(fmt::format("counters say {} frames, the wire saw {}", sent, tap_->frames()));

  print_faults();
  print_("");
  print_("== Counters that are not zero");
  std::string line;
  for (const auto& [name, value] : counters[0]) {
    bool any = false;
    std::string row = fmt::format("  {:<22}", name);
    for (auto& c : counters) {
      row += fmt::format("{:>16}", c.at(name));
      any = any || c.at(name) != 0;
    }
    if (any) print_(row);
  }
  print_("");
  print_(fmt::format("  {} frames checked on the wire ({} RoCEv2), {} violations", tap_->frames(),
                     tap_->roce_frames(), tap_->violations()));
}

void Session::print_faults() {
  if (faults_) {
    print_("");
    print_("== Faults of the cable");
    std::istringstream lines(faults_->text());
    for (std::string text; std::getline(lines, text);) print_("  " + text);
  }
  if (settings_.pcie_faults.empty()) return;
  print_("");
  print_("== Faults of the PCIe links");
  for (const NodeKit& k : kits_) {
    for (const auto& [name, handle] : k.faults)
      print_(fmt::format("  node {}: {}: {} requests", k.node->name(), name,
                         k.node->fabric().fault_hits(handle)));
  }
}

void Session::write_trace() {
  if (options_.trace_file.empty()) return;
  std::vector<std::pair<std::string, const Recorder*>> nodes;
  for (NodeKit& k : kits_) nodes.emplace_back(k.node->name(), k.recorder.get());
  write_chrome_trace(options_.trace_file, timelines_, nodes);
}

}  // namespace rnic::sim
