// SPDX-License-Identifier: Apache-2.0
#include "sim/run/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
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
// What a packet of an AllReduce that comes too early brings about: an RNR NAK, and behind it
// packets that were on their way.
bool expected_of_early_packets(std::string_view counter) {
  return counter == "rx_nak" || counter == "tx_rnr_nak" || counter == "rx_out_of_order";
}
// Pauses have counters of their own.
uint64_t frames_sent(const std::map<std::string, uint64_t>& counters) {
  return counters.at("tx_frames") + counters.at("tx_pause");
}
uint64_t frames_received(const std::map<std::string, uint64_t>& counters) {
  return counters.at("rx_frames") + counters.at("rx_pause") + counters.at("rx_mac_ctrl_bad");
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

void Session::add_node(size_t index) {
  NodeConfig c;
  c.name = node_name(index);
  c.nic.data_w = settings_.data_w;
  c.nic.contexts = settings_.contexts;
  c.nic.arp = settings_.arp;
  c.nic.seed = seed("nic." + c.name);
  if (!options_.wave_file.empty())
    c.nic.wave_file =
        settings_.nodes == 1 ? options_.wave_file : node_file(options_.wave_file, c.name);
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
    if (f.node == 2 || f.node == static_cast<int>(index))
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

void Session::add_cable(wire::Link& link, const std::string& name) {
  CableKit k;
  k.name = name;
  if (!settings_.faults.rules.empty()) {
    k.faults = std::make_unique<wire::CableFaults>(settings_.faults.rules,
                                                   seed(name.empty() ? "wire" : "wire." + name),
                                                   link.config(), settings_.faults.hold_limit_ps);
    k.faults->install(link);
  }
  wire::TapConfig tap;
  if (!options_.pcap_file.empty()) {
    k.pcap = std::make_unique<pcap::PcapWriter>(name.empty() ? options_.pcap_file
                                                             : node_file(options_.pcap_file, name));
    tap.pcap = k.pcap.get();
  }
  tap.rules.pmtu = settings_.mtu;
  tap.rules.allow_arp = settings_.arp;
  tap.rules.allow_trailer =
      (net() != nullptr && net()->config().telemetry != switching::IntMode::kOff) ||
      (settings_.congestion && settings_.congestion->mode != driver::CcMode::kDcqcn);
  k.tap = std::make_unique<wire::Tap>(tap);
  link.add_observer(k.tap.get());
  cables_.push_back(std::move(k));
}

void Session::add_switch() {
  switching::SwitchConfig c = settings_.net;
  c.seed = seed("switch");
  net_ = &world_.add_switch(c);
  for (unsigned i = 0; i < settings_.nodes; ++i)
    add_cable(world_.connect(*kits_[i].node, *net_, i, settings_.wire), node_name(i));
}

void Session::set_pause_marks(driver::PauseSettings& p) const {
  p.line_bps = settings_.wire.rate_bps;
  if (settings_.pause_marks) return;
  driver::PauseLink link;
  link.rate_bps = static_cast<double>(settings_.wire.rate_bps);
  link.delay_ps = settings_.wire.delay_ps;
  link.reaction_ps = settings_.pause_reaction_ps;
  link.data_w = settings_.data_w;
  p.set_marks(driver::pause_marks(
      link, p.tx_link ? 1u : static_cast<unsigned>(std::popcount(p.tx_classes))));
}

void Session::start_host(size_t index) {
  HostConfig h = settings_.host;
  if (h.pause) set_pause_marks(*h.pause);
  h.id = static_cast<uint8_t>(index + 1);
  NodeKit& k = kits_[index];
  k.host = std::make_unique<Host>(world_, *k.node, h);
  if (net() == nullptr) {
    k.host->start(static_cast<uint8_t>(peer_of(index) + 1));
  } else {
    k.host->start_device(k.host->mac(h.id));
    for (uint8_t i = 0; i < settings_.nodes; ++i) k.host->create_path(i + 1, i);
    net()->add_address(k.host->mac(h.id), static_cast<unsigned>(index));
  }
  if (settings_.congestion) driver::set_congestion(k.host->nic(), *settings_.congestion);
}

void Session::build() {
  for (size_t i = 0; i < settings_.nodes; ++i) add_node(i);
  switch (settings_.topology) {
    case Topology::kLoop:
      add_cable(world_.loop(*kits_[0].node, settings_.wire), "");
      break;
    case Topology::kPair:
      add_cable(world_.connect(*kits_[0].node, *kits_[1].node, settings_.wire), "");
      break;
    case Topology::kSwitch:
      add_switch();
      break;
  }
  world_.set_threads(options_.threads);
  world_.power_on();
  for (size_t i = 0; i < kits_.size(); ++i) start_host(i);
}

uint16_t Session::path(size_t node, size_t peer, uint8_t dscp) {
  const auto [it, fresh] = paths_.try_emplace({node, peer, dscp}, 0);
  if (!fresh) return it->second;
  size_t of_node = net() == nullptr ? 1 : settings_.nodes;  // those with the DSCP of the NICs
  for (const auto& [key, index] : paths_) of_node += key[0] == node && index != 0 ? 1 : 0;
  it->second = static_cast<uint16_t>(of_node);
  kits_[node].host->create_path(static_cast<uint8_t>(peer + 1), it->second, dscp);
  return it->second;
}

Session::Pair Session::pair(size_t n, size_t from, size_t to, std::optional<uint8_t> dscp) {
  const auto [low, high] = std::pair(std::min(from, to), std::max(from, to));
  auto& list = pairs_[{low, high, dscp ? *dscp : size_t{64}}];
  const std::string between = net() == nullptr ? "" : node_name(low) + node_name(high) + ".";
  while (list.size() <= n) {
    const std::string name =
        between + (dscp ? "dscp" + std::to_string(*dscp) + "." : "") + std::to_string(list.size());
    ConnectOptions o;
    o.mtu = settings_.mtu;
    o.attributes.timeout = static_cast<uint8_t>(settings_.timeout);
    o.log_sq = settings_.log_sq;
    o.log_rq = 10;
    o.log_cq = settings_.log_sq + 1 > 15 ? 15 : settings_.log_sq + 1;
    o.psn_a = static_cast<uint32_t>(seed("psn.a" + name)) & 0xFFFFFF;
    o.psn_b = static_cast<uint32_t>(seed("psn.b" + name)) & 0xFFFFFF;
    // Behind a switch path i leads to node i.
    o.path_a = static_cast<uint16_t>(net() == nullptr ? 0 : high);
    o.path_b = static_cast<uint16_t>(net() == nullptr ? 0 : low);
    if (dscp) {
      o.path_a = path(low, high, *dscp);
      o.path_b = path(high, low, *dscp);
    }
    list.push_back(connect(*kits_[low].host, *kits_[high].host, o));
  }
  return from == low ? Pair{list[n].first, list[n].second} : Pair{list[n].second, list[n].first};
}

TimePs Session::settle_ps(TimePs usual) const {
  constexpr TimePs kUsualWritePs = 1'000'000;
  constexpr uint64_t kInNic = 16'384;  // bytes between the decision to acknowledge and the link
  const pcie::Config& p = settings_.pcie;
  TimePs write = p.link.up_latency_ps + p.host.write_commit_ps + p.host.write_jitter_ps;
  if (settings_.has_gpu)
    write += settings_.gpu.extra_latency_ps + settings_.gpu.write_commit_ps +
             settings_.gpu.write_jitter_ps;
  if (p.link.up_kbps != 0)
    write += (kInNic + p.posted_queue_bytes) * 8 * 1'000'000'000 / p.link.up_kbps;
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
      if (step.allreduce) run_allreduce(*this, step.name, *step.allreduce);
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
  close_files();

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
  Counters counters;
  for (NodeKit& k : kits_) counters.push_back(k.host->nic().counters());
  const bool lost = lossy();
  const bool by_nics =
      std::any_of(settings_.steps.begin(), settings_.steps.end(),
                  [](const Step& step) { return step.allreduce && step.allreduce->nic; });
  if (by_nics && !lost) check_early_packets(counters);
  for (size_t i = 0; i < kits_.size(); ++i) {
    for (const char* name : kMustBeZero) {
      if (lost && expected_of_faults(name)) continue;
      if (by_nics && expected_of_early_packets(name)) continue;
      if (counters[i].at(name) != 0)
        problem(fmt::format("counter {} of node {} is {}", name, kits_[i].node->name(),
                            counters[i].at(name)));
    }
    if (auto e = kits_[i].host->events().poll())
      problem(fmt::format("node {} reports event {} (code {:#x}, number {})", kits_[i].node->name(),
                          e->type, e->code, e->number));
  }
  check_frames(counters);
  for (size_t i = 0; i < kits_.size(); ++i) {
    if (counters[i].at("msgs_posted") != counters[i].at("msgs_completed"))
      problem(fmt::format("node {} posted {} messages, {} completed", kits_[i].node->name(),
                          counters[i].at("msgs_posted"), counters[i].at("msgs_completed")));
  }

  print_faults();
  print_switch();
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
  uint64_t frames = 0, roce = 0, violations = 0;
  for (const CableKit& c : cables_) {
    frames += c.tap->frames();
    roce += c.tap->roce_frames();
    violations += c.tap->violations();
  }
  print_("");
  print_(fmt::format("  {} frames checked on the wire ({} RoCEv2), {} violations", frames, roce,
                     violations));
}

void Session::close_files() {
  for (CableKit& c : cables_) {
    c.tap->close();
    if (c.pcap) c.pcap->close();
    const std::string wire = c.name.empty() ? "wire" : "wire of " + c.name;
    for (const std::string& m : c.tap->messages()) problem(wire + ": " + m);
    if (c.tap->bad_frames() != 0)
      problem(fmt::format("{}: {} frames were spoiled by their sender", wire, c.tap->bad_frames()));
  }
  for (NodeKit& k : kits_) {
    if (k.tlp) k.tlp->flush();
  }
}

// What one side sent the other has received, and the tap has seen.
// Each RNR NAK was for a packet that arp_fsm put off, and each came.
void Session::check_early_packets(const Counters& counters) {
  uint64_t told = 0, heard = 0;
  for (size_t i = 0; i < kits_.size(); ++i) {
    const uint64_t naks = counters[i].at("tx_rnr_nak"), early = counters[i].at("arp_not_ready");
    if (naks != early)
      problem(fmt::format("node {} sent {} RNR NAKs for {} packets that came too early",
                          kits_[i].node->name(), naks, early));
    told += naks;
    heard += counters[i].at("rx_nak");
  }
  if (told != heard) problem(fmt::format("{} RNR NAKs were sent, {} NAKs came", told, heard));
}

void Session::check_frames(const Counters& counters) {
  if (net() != nullptr) return check_switch(counters);
  uint64_t sent = 0;
  for (size_t i = 0; i < kits_.size(); ++i) {
    const uint64_t tx = frames_sent(counters[i]), rx = frames_received(counters[peer_of(i)]);
    sent += tx;
    if (!lossy() && tx != rx)
      problem(fmt::format("node {} sent {} frames, {} arrived", kits_[i].node->name(), tx, rx));
  }
  if (sent != cables_[0].tap->frames())
    problem(fmt::format("counters say {} frames, the wire saw {}", sent, cables_[0].tap->frames()));
}

// The same on each cable between a node and the switch.
void Session::check_switch(const Counters& counters) {
  for (size_t i = 0; i < kits_.size(); ++i) {
    const auto port = net()->counters(static_cast<unsigned>(i));
    uint64_t in = port.bad_frames + port.oversize + port.reserved + port.pause_frames_rx;
    uint64_t out = port.pause_frames_tx;
    for (const auto& c : port.classes) {
      in += c.rx_frames;
      out += c.tx_frames;
    }
    const std::string& name = kits_[i].node->name();
    const uint64_t tx = frames_sent(counters[i]), rx = frames_received(counters[i]);
    if (settings_.faults.rules.empty() && (tx != in || rx != out))
      problem(fmt::format("node {} sent {} frames, the switch got {}; it sent {}, {} arrived", name,
                          tx, in, out, rx));
    if (tx + out != cables_[i].tap->frames())
      problem(fmt::format("counters say {} frames to and from node {}, the wire saw {}", tx + out,
                          name, cables_[i].tap->frames()));
  }
}

// Whether frames were lost or changed on purpose, or for want of room.
bool Session::lossy() const {
  if (!settings_.faults.rules.empty()) return true;
  for (unsigned i = 0; net() != nullptr && i < settings_.nodes; ++i) {
    const auto port = net()->counters(i);
    for (const auto& c : port.classes) {
      if (c.drops + c.headroom_drops != 0) return true;
    }
  }
  return false;
}

void Session::print_switch() {
  if (net() == nullptr) return;
  print_("");
  print_("== Switch: the classes of each port that had traffic; bytes with FCS");
  print_(fmt::format("  {:<8}{:>10}{:>11}{:>9}{:>9}{:>11}{:>12}{:>9}{:>8}{:>9}{:>11}", "port",
                     "frames in", "frames out", "dropped", "marked", "queue max", "ingress max",
                     "xoff out", "xon out", "xoff in", "paused us"));
  for (unsigned i = 0; i < settings_.nodes; ++i) {
    const auto port = net()->counters(i);
    for (unsigned k = 0; k < switching::kClasses; ++k) {
      const auto& c = port.classes[k];
      const uint64_t dropped = c.drops + c.headroom_drops;
      if (c.rx_frames + c.tx_frames + dropped + c.xoff_tx + c.xoff_rx == 0) continue;
      print_(fmt::format("  {:<8}{:>10}{:>11}{:>9}{:>9}{:>11}{:>12}{:>9}{:>8}{:>9}{:>11.1f}",
                         fmt::format("{} {}", node_name(i), k), c.rx_frames, c.tx_frames, dropped,
                         c.marks, c.queue_max, c.ingress_max, c.xoff_tx, c.xon_tx, c.xoff_rx,
                         static_cast<double>(c.paused_ps) * 1e-6));
    }
  }
}

void Session::print_faults() {
  for (const CableKit& c : cables_) {
    if (!c.faults) continue;
    print_("");
    print_("== Faults of the cable" + (c.name.empty() ? "" : " of node " + c.name));
    std::istringstream lines(c.faults->text());
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
