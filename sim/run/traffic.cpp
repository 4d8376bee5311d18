// SPDX-License-Identifier: Apache-2.0
// Many messages at once: programs post, the NICs work, every message is compared when it is done.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>

#include "rnic_top_lists.hpp"
#include "sim/run/flow_run.hpp"
#include "sim/run/go_back_n.hpp"
#include "sim/run/session.hpp"
#include "sim/run/switch_load.hpp"

namespace rnic::sim {

namespace {
constexpr size_t kTracedEvents = 15'000;  // per node, of the trace file

// What the stream borders join; a border without an entry is shown by its signal.
std::string border_name(const std::string& signal) {
  static const std::map<std::string, const char*> kNames = {
      {"db", "doorbell -> scheduler"},      {"wqe_req", "scheduler -> wqe_fetch"},
      {"wqe", "wqe_fetch -> wqe_store"},    {"turn", "scheduler -> sq_engine"},
      {"txp", "sq_engine -> tx_buffer"},    {"rd0", "wqe_fetch -> dma (reads)"},
      {"rd1", "sq_engine -> dma (reads)"},  {"txb", "tx_buffer -> packetizer"},
      {"rsp", "resp_engine -> packetizer"}, {"pkt", "packetizer -> merge"},
      {"mrg", "merge -> crossing"},         {"rxm", "depacketizer -> dispatch"},
      {"rxd", "depacketizer -> placer"},    {"req", "dispatch -> responder"},
      {"resp", "dispatch -> completer"},    {"place", "responder -> placer"},
      {"ackq", "responder -> resp_engine"}, {"wr0_req", "placer -> dma (requests)"},
      {"wr0_dat", "placer -> dma (data)"},  {"cq0", "placer -> cqe_gen"},
      {"cq1", "completer -> cqe_gen"},      {"wr1_req", "cqe_gen -> dma"},
      {"wr2_req", "event_queue -> dma"},    {"m_axi_ar", "AXI read requests"},
      {"m_axi_r", "AXI read data"},         {"m_axi_aw", "AXI write requests"},
      {"m_axi_w", "AXI write data"},
  };
  const auto it = kNames.find(signal);
  return it != kNames.end() ? it->second : signal;
}
// What a step changes of the NICs' own counts.
struct NicCounts {
  std::vector<std::vector<BorderCount>> borders;
  std::vector<uint64_t> cycles;
  std::vector<StepProfile> profile;

  explicit NicCounts(Session& s) {
    for (size_t n = 0; n < s.node_count(); ++n) {
      const Nic& nic = s.kit(n).node->nic();
      borders.push_back(nic.borders());
      cycles.push_back(nic.core_cycles());
      profile.push_back(nic.profile());
    }
  }
};

void start_recorders(Session& s) {
  if (!s.tracing()) return;
  for (size_t n = 0; n < s.node_count(); ++n) {
    s.kit(n).recorder->clear();
    s.kit(n).recorder->start(kTracedEvents);
  }
}

void keep_timelines(Session& s, const std::vector<MessageInfo>& traced) {
  if (!s.tracing()) return;
  for (size_t n = 0; n < s.node_count(); ++n) s.kit(n).recorder->stop();
  for (const MessageInfo& m : traced) {
    Timeline t = timeline_of(*s.kit(m.from).recorder, *s.kit(m.to).recorder, m);
    if (t.data_visible) s.timelines().push_back(std::move(t));
  }
  for (size_t n = 0; n < s.node_count(); ++n) s.kit(n).recorder->keep();
}

void work(Session& s, const std::string& name, const TrafficStep& step, std::deque<FlowRun>& runs,
          SwitchLoad& load, std::vector<MessageInfo>& traced) {
  const TimePs start = s.world().now_ps(), end = start + step.limit_ps;
  uint64_t all = 0;
  for (const Flow& f : step.flows) all += f.count;
  // Instants of a step of some duration: what counts begins, posting ends.
  std::deque<TimePs> marks;
  if (step.duration_ps != 0) marks = {start + step.duration_ps / 2, start + step.duration_ps};
  for (;;) {
    if (!marks.empty() && s.world().now_ps() >= marks.front()) {
      const bool middle = marks.size() == 2;
      for (FlowRun& r : runs) middle ? r.measure() : r.stop();
      middle ? load.open() : load.close();
      marks.pop_front();
    }
    uint64_t done = 0;
    bool busy = false;
    for (FlowRun& r : runs) {
      r.collect();
      r.post(traced);
      done += r.completed();
      busy = busy || r.busy();
    }
    if (!busy) return;
    load.sample();
    if (s.world().now_ps() > end)
      throw TimeOut(
          fmt::format("{} of {} messages completed within {} ns", done, all, step.limit_ps / 1000));
    TimePs next = std::min(s.world().now_ps() + step.grain_ps, end + 1);
    if (!marks.empty()) next = std::min(next, marks.front());
    s.world().run_until(next);
    if (step.duration_ps == 0) {
      s.progress(fmt::format("{}: {} of {} messages", name, done, all));
    } else {
      s.progress(fmt::format("{}: {} messages, {:.0f} us", name, done,
                             static_cast<double>(s.world().now_ps() - start) * 1e-6));
    }
  }
}

// The rule of the cable that loses packets of WRITEs or SENDs, if it is the only one.
const wire::FaultRule* loss_of(const Settings& settings, const Flow& f) {
  const auto& rules = settings.faults.rules;
  if (settings.topology == Topology::kSwitch) return nullptr;
  if (rules.size() != 1 || rules[0].action != wire::FaultAction::kDrop || rules[0].count != 0)
    return nullptr;
  if (f.verb != FlowVerb::kWrite && f.verb != FlowVerb::kSend) return nullptr;
  if (rules[0].from && *rules[0].from != static_cast<int>(f.from)) return nullptr;
  return &rules[0];
}

// Bytes of cable that a packet takes beside its payload; an ACK has an AETH too.
uint32_t bytes_around(const Settings& settings) {
  constexpr uint32_t kEthernet = 14, kUdp = 8, kBth = 12, kIcrc = 4;
  return wire::kOverheadBytes + kEthernet + (settings.host.vlan ? 4 : 0) +
         (settings.host.ipv6 ? 40 : 20) + kUdp + kBth + kIcrc + wire::kFcsBytes;
}

// Goodput beside what go-back-N could reach over this cable, which stores frames whole.
void report_go_back_n(Session& s, const std::string& name, const FlowRun& run) {
  const Settings& settings = s.settings();
  const wire::FaultRule* loss = loss_of(settings, run.flow());
  if (loss == nullptr) return;
  constexpr uint32_t kAeth = 4;
  const double ns_per_byte = 8e9 / static_cast<double>(settings.wire.rate_bps);
  const uint32_t around = bytes_around(settings);
  const uint32_t size = run.flow().sizes[0];
  const double packets = std::max(1.0, std::ceil(static_cast<double>(size) / settings.mtu));
  GoBackN g;
  g.frame_ns = (std::min(size, settings.mtu) + around) * ns_per_byte;
  const double ack_ns = (kAeth + around) * ns_per_byte;
  // The next frame shows the gap; it and the frame that is lost are stored before they go on.
  const double stored_ns = g.frame_ns + (loss->from ? 0 : ack_ns);
  g.round_trip_ns =
      2e-3 * static_cast<double>(settings.wire.delay_ps) + g.frame_ns + ack_ns + stored_ns;
  g.window = run.flow().depth * packets;
  g.probability = loss->probability;
  if (loss->probability == 1) g.every = loss->every;
  const double line = std::min(size, settings.mtu) * 8.0 / g.frame_ns;
  const double bound = line * g.efficiency();
  s.print(
      fmt::format("  go-back-N over this cable: at most {:.1f} Gb/s ({:.1f} frames per loss, "
                  "{:.1f} Gb/s without loss); reached {:.1f} %",
                  bound, g.frames_per_loss(), line, 100 * run.goodput() / bound));
  s.figure(name + ".bound", bound, "Gb/s");
  s.figure(name + ".of_bound", 100 * run.goodput() / bound, "%");
}

// How evenly the flows shared: Jain's index of their goodput, 1 when all had the same.
double jain(const std::deque<FlowRun>& runs) {
  double sum = 0, squares = 0;
  for (const FlowRun& r : runs) {
    sum += r.goodput();
    squares += r.goodput() * r.goodput();
  }
  return squares > 0 ? sum * sum / squares / static_cast<double>(runs.size()) : 0;
}

void report_flows(Session& s, const std::string& name, std::deque<FlowRun>& runs) {
  double gbps = 0, rate = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].check_bytes();
    gbps += runs[i].goodput();
    rate += runs[i].rate();
    s.print(runs[i].text());
    if (runs.size() > 1) s.figure(fmt::format("{}.goodput_{}", name, i), runs[i].goodput(), "Gb/s");
  }
  s.figure(name + ".goodput", gbps, "Gb/s");
  if (runs.size() > 1) s.figure(name + ".jain", jain(runs), "");
  s.figure(name + ".message_rate", rate, "M/s");
  const double cycles_per_us = 1e6 / static_cast<double>(s.kit(0).node->nic().info().core_ps);
  if (rate > 0) s.figure(name + ".cycles_per_message", cycles_per_us / rate, "core cycles");
  if (runs.size() == 1) report_go_back_n(s, name, runs[0]);
  s.print(threshold_text(s));
}

// Busy: a transfer; stalled: offered and not taken; starved: nothing offered.
void report_borders(Session& s, const NicCounts& before) {
  std::string head = fmt::format("  {:<28}", "share of core cycles, %");
  for (size_t n = 0; n < s.node_count(); ++n)
    head += s.node_count() == 1 ? "         busy stalled starved"
                                : fmt::format("      {}: busy stalled starved", node_name(n));
  s.print(head);
  for (size_t b = 0; b < std::size(kBorderSignals); ++b) {
    std::string row = fmt::format("  {:<28}", border_name(kBorderSignals[b]));
    bool any = false;
    for (size_t n = 0; n < s.node_count(); ++n) {
      const Nic& nic = s.kit(n).node->nic();
      const BorderCount& was = before.borders[n][b];
      const auto cycles = static_cast<double>(nic.core_cycles() - before.cycles[n]);
      const double busy = 100.0 * static_cast<double>(nic.borders()[b].busy - was.busy) / cycles;
      const double stalled =
          100.0 * static_cast<double>(nic.borders()[b].stalled - was.stalled) / cycles;
      any = any || busy + stalled > 0.05;
      row += fmt::format("     {:>8.1f}{:>8.1f}{:>8.1f}", busy, stalled, 100.0 - busy - stalled);
    }
    if (any) s.print(row);
  }
}

void report_speed(Session& s, const std::string& name, bool figures, const NicCounts& before,
                  double wall, TimePs simulated) {
  const uint64_t cycles = s.kit(0).node->nic().core_cycles() - before.cycles[0];
  double model = 0, harness = 0;
  for (size_t n = 0; n < s.node_count(); ++n) {
    const StepProfile& p = s.kit(n).node->nic().profile();
    model += static_cast<double>(p.model_ns - before.profile[n].model_ns);
    harness += static_cast<double>(p.harness_ns - before.profile[n].harness_ns);
  }
  // A step's share is measured on samples; the programs' share is what the samples leave.
  const double kcps = static_cast<double>(cycles) / wall / 1000.0;
  const double steps_share = model + harness;
  const double sampled = 61.0;
  const double stepping = std::min(wall, steps_share * sampled * 1e-9);
  const double harness_share =
      steps_share > 0 ? 100.0 * (1.0 - model / steps_share * stepping / wall) : 0;
  s.print(fmt::format(
      "  simulated {:.1f} us, {} core cycles in {:.2f} s: {:.1f} k core cycles/s with {} NIC{} of "
      "{} bit; harness {:.0f} % of the time",
      static_cast<double>(simulated) * 1e-6, cycles, wall, kcps, s.node_count(),
      s.node_count() == 1 ? "" : "s", s.settings().data_w, harness_share));
  s.figure(name + ".cycles", static_cast<double>(cycles), "core cycles");
  if (figures) {
    s.figure(name + ".speed", kcps, "k core cycles/s");
    s.figure(name + ".harness_share", harness_share, "%");
  }
}
}  // namespace

void run_traffic(Session& s, const std::string& name, const TrafficStep& step) {
  std::deque<FlowRun> runs;
  NextPair next_pair;
  for (size_t i = 0; i < step.flows.size(); ++i)
    runs.emplace_back(s, name, step.flows[i], i, next_pair);
  s.world().run_until(s.world().now_ps() + 2'000'000);
  s.snapshot_memory();
  for (FlowRun& r : runs) r.ignore_memory();
  const NicCounts before(s);
  start_recorders(s);
  std::vector<MessageInfo> traced;
  const auto wall_start = std::chrono::steady_clock::now();
  const TimePs start = s.world().now_ps();
  SwitchLoad load(s);
  work(s, name, step, runs, load, traced);
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count();
  s.check_memory(name);
  keep_timelines(s, traced);
  report_flows(s, name, runs);
  load.report(name);
  report_borders(s, before);
  report_speed(s, name, step.speed, before, wall, s.world().now_ps() - start);
}

}  // namespace rnic::sim
