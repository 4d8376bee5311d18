// SPDX-License-Identifier: Apache-2.0
#include "sim/live/live_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "regs/gen/rnic_regs.h"
#include "sim/live/cm_connect.hpp"
#include "sim/live/json_file.hpp"

namespace rnic::sim {

using nlohmann::json;

namespace {

constexpr size_t kMaxProblems = 50;
const std::string kSuccess = "SUCCESS", kReset = "RESET";
const std::string kLost = "the link's other side, or its device, has gone";

// Counters that stay zero whatever the peer does and the cable loses.
constexpr const char* kNever[] = {
    "rx_buffer_drops", "tx_underruns",    "doorbell_refused",   "wqe_errors",   "cq_overrun",
    "eq_overrun",      "dma_read_errors", "dma_page_fault",     "dma_timeouts", "gdr_refused",
    "cmd_errors",      "tx_no_path",      "bad_register_access"};
// These too, when no fault and no error is asked for.
constexpr const char* kNeverWhenClean[] = {
    "rx_crc_errors",  "rx_runts",   "rx_icrc_errors", "rx_header_errors", "rx_pkey_errors",
    "rx_addr_errors", "tx_nak_inv", "tx_nak_access",  "tx_nak_op",        "mr_errors"};

std::string gid_text(const roce::IpAddr& gid) {
  return (roce::is_ipv4(gid) ? "::ffff:" : "") + roce::to_string(gid);
}

json keys_json(const std::vector<tools::Keys>& list) {
  json out = json::array();
  for (const tools::Keys& k : list)
    out.push_back({{"qpn", k.qpn},
                   {"psn", k.psn},
                   {"rkey", k.rkey},
                   {"vaddr", k.vaddr},
                   {"gid", gid_text(k.gid)}});
  return out;
}

}  // namespace

// One command of a run.
struct LiveSession::Job {
  tools::Options options;
  std::unique_ptr<tools::Listener> listener;
  std::unique_ptr<tools::Channel> channel;
  std::unique_ptr<Program> tool;
  tools::Scheduler::Handle handle;
};

LiveSession::LiveSession(const LiveSettings& settings, const LiveOptions& options,
                         std::function<void(const std::string&)> print,
                         const std::atomic<bool>& interrupt, std::atomic<bool>& resume)
    : settings_(settings),
      options_(options),
      print_(std::move(print)),
      interrupt_(interrupt),
      resume_(resume) {
  // First the clock: it counts from before the first frame.
  auto clock =
      settings_.clock.empty() ? nullptr : std::make_unique<peerclock::PeerClock>(settings_.clock);
  auto link = ethlink::open_link(settings_.link);
  world_ =
      std::make_unique<LiveWorld>(settings_, std::move(link), std::move(clock), options_.pcap_file);
  world_->interrupt = &interrupt_;
  for (const LiveRun& r : settings_.runs)
    errors_expected_ = errors_expected_ || r.expect != kSuccess || r.reset_after != 0;
}

LiveSession::~LiveSession() { world_->scheduler().cancel(); }

void LiveSession::problem(const std::string& text) {
  if (problems_.size() < kMaxProblems) problems_.push_back(text);
}

bool LiveSession::run() {
  world_->start();
  print_("rnic-sim: ready");
  if (settings_.runs.empty()) {
    serve();
  } else {
    for (const LiveRun& r : settings_.runs) {
      if (interrupt_) {
        problem("interrupted");
        break;
      }
      run_one(r);
    }
  }
  world_->settle();
  if (world_->clock() != nullptr && world_->clock()->untold())
    problem(settings_.clock + ": the peer's clock does not see its frames");
  check_counters();
  for (const std::string& text : world_->cm().check().problems()) problem("QP 1: " + text);
  world_->record().close();
  for (const std::string& m : world_->record().tap().messages()) problem("wire: " + m);
  if (!options_.wire_json.empty()) write_wire_json();
  return problems_.empty();
}

void LiveSession::serve() {
  const auto end = options_.for_s > 0
                       ? WallClock::now() + std::chrono::duration_cast<WallClock::duration>(
                                                std::chrono::duration<double>(options_.for_s))
                       : WallClock::time_point::max();
  world_->run_while([] { return true; }, end);
  if (world_->link_lost()) problem(kLost);
}

// ------------------------------------------------------------------------------------------------
// one run
tools::Task<void> LiveSession::work(Job& job) {
  if (job.listener) {
    co_await world_->scheduler().until(
        [&job] {
          job.channel = job.listener->accept();
          return job.channel != nullptr;
        },
        fmt::format("a client on port {}", job.options.port));
    job.listener.reset();
  }
  Party p;
  p.nic = &world_->nic();
  p.check = &world_->check();
  p.cm = &world_->cm();
  p.scheduler = &world_->scheduler();
  p.resolve = [this](const roce::IpAddr& ip) { world_->net().resolve(world_->wall(), ip); };
  p.lookup = [this](const roce::IpAddr& ip) { return world_->net().lookup(ip); };
  p.address = [&job](const std::string& host, int) {
    const auto ip = parse_address(host);
    if (!ip) throw tools::ToolError(job.options.command + ": '" + host + "' is no IP address");
    return *ip;
  };
  p.now = [this] { return world_->now_ps(); };
  p.mtu = settings_.world.mtu;
  p.seed = mem::substream(settings_.world.seed,
                          fmt::format("tool.{}.{}", results_.size(), job.options.command));
  job.tool = make_program(p, job.options, std::move(job.channel), print_);
  co_await job.tool->run();
}

void LiveSession::make_jobs(const LiveRun& run, std::vector<std::unique_ptr<Job>>& jobs) {
  for (const std::string& command : run.commands) {
    auto job = std::make_unique<Job>();
    job->options = tools::parse_command(command);
    if (job->options.cm) {
      if (job->options.server())
        print_(
            fmt::format("rnic-sim: listening on rdma_cm port {}: {}", job->options.port, command));
    } else if (job->options.server()) {
      job->listener = std::make_unique<tools::Listener>(job->options.port);
      print_(fmt::format("rnic-sim: listening on 127.0.0.1:{}: {}", job->options.port, command));
    } else {
      job->channel = tools::connect_channel(job->options.host, job->options.port);
    }
    jobs.push_back(std::move(job));
  }
}

void LiveSession::run_one(const LiveRun& run) {
  const auto began = WallClock::now();
  const TimePs began_ps = world_->now_ps();
  RunResult common;
  common.first_frame = world_->record().frames();
  const uint64_t checked = world_->check().bytes_checked();
  const size_t data_problems = world_->check().problems().size();
  std::vector<std::unique_ptr<Job>> jobs;
  make_jobs(run, jobs);
  const uint32_t mtu = jobs.front()->options.mtu;
  world_->record().begin_run(mtu == 0 ? settings_.world.mtu : mtu);
  world_->more_fds = [&jobs](std::vector<int>& fds) {
    for (const auto& j : jobs) {
      if (j->listener) fds.push_back(j->listener->fd());
      if (j->tool && j->tool->fd() >= 0) fds.push_back(j->tool->fd());
    }
  };
  const uint64_t out_before = world_->frames_out();
  const auto end = began + std::chrono::duration_cast<WallClock::duration>(
                               std::chrono::duration<double>(settings_.limit_s));
  bool was_reset = false, was_paused = false;
  world_->on_turn = [&] {
    const uint64_t left = world_->frames_out() - out_before;
    if (!was_paused && run.pause_after != 0 && left >= run.pause_after) {
      was_paused = true;
      pause(end);
    }
    if (was_reset || run.reset_after == 0 || left < run.reset_after) return;
    was_reset = true;
    world_->scheduler().cancel();
    world_->check().forget();
    world_->reset();
  };
  for (const auto& j : jobs) j->handle = world_->scheduler().spawn(work(*j));
  const auto busy = [&] {
    return std::any_of(jobs.begin(), jobs.end(), [](const auto& j) { return !j->handle.done(); });
  };
  const bool ended = world_->run_while(busy, end);
  std::string why;
  if (!ended)
    why = fmt::format("{}; waits for {}",
                      interrupt_ ? "interrupted"
                      : world_->link_lost()
                          ? kLost
                          : fmt::format("no end within {:.0f} s", settings_.limit_s),
                      world_->scheduler().waiting_for());
  world_->settle();
  world_->on_turn = nullptr;
  world_->more_fds = nullptr;
  world_->check().finish();
  const auto& data = world_->check().problems();
  if (why.empty() && data.size() > data_problems) why = data[data_problems];
  if (run.reset_after != 0 && !was_reset && why.empty())
    why = fmt::format("it ended before {} frames had left", run.reset_after);
  if (run.pause_after != 0 && !was_paused && why.empty())
    why = fmt::format("it ended before {} frames had left", run.pause_after);
  common.tool.status = was_reset ? kReset : kSuccess;
  common.bytes_checked = world_->check().bytes_checked() - checked;
  common.last_frame = world_->record().frames();
  common.resent_nic = world_->record().resent(0);
  common.resent_peer = world_->record().resent(1);
  common.waited = world_->record().rnr_naks() != 0;
  common.simulated_us = static_cast<double>(world_->now_ps() - began_ps) * 1e-6;
  common.wall_s = std::chrono::duration<double>(WallClock::now() - began).count();
  judge(run, jobs, why, common);
  world_->scheduler().cancel();
  end_connections();
  if (!was_reset) world_->nic().release();
}

void LiveSession::pause(WallClock::time_point end) {
  resume_ = false;
  print_("rnic-sim: pause");
  world_->pause([&] { return resume_ || interrupt_ || WallClock::now() >= end; });
}

// What a run has left open: the peer hears of it.
void LiveSession::end_connections() {
  world_->cm().abandon();
  if (world_->cm().turn()) world_->settle();
}

void LiveSession::judge(const LiveRun& run, std::vector<std::unique_ptr<Job>>& jobs,
                        const std::string& why, RunResult common) {
  bool seen = run.expect == kSuccess;
  const bool was_reset = common.tool.status == kReset;
  size_t first = results_.size();
  for (const auto& j : jobs) {
    RunResult r = common;
    r.alone = jobs.size() == 1;
    r.options = j->options;
    if (j->tool) {
      r.tool = j->tool->result();
      if (was_reset) r.tool.status = kReset;
    }
    r.problem = why;
    const std::string& status = r.tool.status;
    seen = seen || status == run.expect;
    if (r.problem.empty() && status != kSuccess && status != run.expect)
      r.problem = fmt::format("status {}, expected {}", status, run.expect);
    if (r.problem.empty() && status == kSuccess && !r.tool.problem.empty())
      r.problem = r.tool.problem;
    if (r.problem.empty() && status != kSuccess && !was_reset) {
      // A failed queue stands in ERR, those beside it go on.
      for (const Queue* q : j->tool->queues()) {
        if (q->failure.empty() || q->service != tools::Service::kRc) continue;
        if (const auto state = world_->nic().nic().query_qp(q->number()).state;
            state != RNIC_QP_STATE_ERR)
          r.problem = fmt::format("QP {} failed and is in state {}", q->number(), state);
      }
    }
    results_.push_back(std::move(r));
  }
  if (!seen && results_[first].problem.empty())
    results_[first].problem =
        fmt::format("status {}, expected {}", results_[first].tool.status, run.expect);
  for (; first < results_.size(); ++first) {
    RunResult& r = results_[first];
    r.passed = r.problem.empty();
    if (!r.passed) problem(r.options.command + ": " + r.problem);
    print_(fmt::format("rnic-sim: ended: {}: {}", r.passed ? "pass" : "fail", r.options.command));
  }
}

// ------------------------------------------------------------------------------------------------
// the end
void LiveSession::check_counters() {
  std::set<std::string> zero(std::begin(kNever), std::end(kNever));
  if (!errors_expected_ && settings_.world.faults.rules.empty())
    zero.insert(std::begin(kNeverWhenClean), std::end(kNeverWhenClean));
  for (const auto& [name, value] : world_->nic().nic().counters()) {
    if (value == 0) continue;
    counters_[name] = value;
    if (zero.contains(name)) problem(fmt::format("counter {} is {}", name, value));
  }
}

json LiveSession::cm_json() const {
  const cm::Counters& c = world_->cm().counters();
  return {{"sent", c.sent},           {"received", c.received},
          {"repeated", c.repeated},   {"duplicates", c.duplicates},
          {"malformed", c.malformed}, {"unexpected", c.unexpected},
          {"waits", c.waits},         {"established_by_data", world_->cm().comm_est()}};
}

json LiveSession::result() const {
  json runs = json::array();
  for (const RunResult& r : results_) {
    const tools::Options& o = r.options;
    runs.push_back(
        {{"command", o.command},
         {"tool", o.tool},
         {"role", o.client() ? "client" : "server"},
         {"verdict", r.passed ? "pass" : "fail"},
         {"problem", r.problem},
         {"status", r.tool.status},
         {"size", o.size},
         {"count", o.count != 0 ? o.count : r.tool.count},
         {"qps", o.qps},
         {"mtu", r.tool.mtu},
         {"bytes_checked", r.bytes_checked},
         {"resent", {{"nic", r.resent_nic}, {"peer", r.resent_peer}}},
         {"frames", {r.first_frame, r.last_frame}},
         {"wall_s", r.wall_s},
         {"simulated_us", r.simulated_us},
         {"params", {{"nic", keys_json(r.tool.mine)}, {"peer", keys_json(r.tool.theirs)}}}});
  }
  const wire::Tap& tap = world_->record().tap();
  return {{"verdict", problems_.empty() ? "pass" : "fail"},
          {"problems", problems_},
          {"scenario", settings_.world.file},
          {"link", settings_.link},
          {"seed", settings_.world.seed},
          {"data_w", settings_.world.data_w},
          {"runs", runs},
          {"wire",
           {{"frames", tap.frames()},
            {"roce", tap.roce_frames()},
            {"violations", tap.violations()},
            {"cut", world_->record().cut()},
            {"faults", world_->record().fault_counts()}}},
          {"clock", {{"stops", world_->clock() == nullptr ? 0 : world_->clock()->stops()}}},
          {"cm", cm_json()},
          {"counters", counters_}};
}

// The format of tests/captures: A is the client, B the server of all its runs.
void LiveSession::write_wire_json() const {
  std::vector<const RunResult*> list;
  for (const RunResult& r : results_) {
    // What can be replayed: one role in a file, whole, keys that both sides know, receives that
    // were always there.
    const std::string& status = r.tool.status;
    const bool cut = status == kReset || status == "CM_DISCONNECTED";
    const bool known = status == kSuccess || (r.options.server() && !cut);
    const bool paired = !r.tool.theirs.empty() && r.tool.theirs.size() == r.tool.mine.size();
    const bool whole = r.alone && known && paired && !r.waited && r.last_frame > r.first_frame;
    if (whole && (list.empty() || list[0]->options.client() == r.options.client()))
      list.push_back(&r);
  }
  if (list.empty()) return;
  json events = json::array();
  const bool nic_is_client = list[0]->options.client();
  for (const FaultEvent& e : world_->record().fault_events()) {
    if (e.action == "other") return;  // the format does not know it
    events.push_back({{"pcap_index", e.frame},
                      {"from", (e.from == 0) == nic_is_client ? "a" : "b"},
                      {"action", e.action}});
  }
  const auto peer_mac = world_->net().lookup(list[0]->tool.theirs[0].gid);
  if (!peer_mac) return;
  const std::string nic = roce::to_string(settings_.mac), peer = roce::to_string(*peer_mac);
  json runs = json::array();
  for (const RunResult* r : list) {
    const auto side = [&](const tools::Keys& k) {
      json one = {{"qpn", fmt::format("{:#06x}", k.qpn)},
                  {"psn", fmt::format("{:#08x}", k.psn)},
                  {"gid", gid_text(k.gid)},
                  {"mtu", std::to_string(r->tool.mtu)},
                  {"receive_bytes", std::to_string(r->options.largest())}};
      if (k.rkey != 0) {
        one["rkey"] = fmt::format("{:#010x}", k.rkey);
        one["vaddr"] = fmt::format("{:#x}", k.vaddr);
      }
      return json::array({one});
    };
    // Each QP is a run of its own, which leaves the others' frames out; those of a connection
    // manager are found by what it said.
    const size_t qps = r->options.cm ? 1 : r->tool.mine.size();
    for (size_t n = 0; n < qps; ++n) {
      const json mine = side(r->tool.mine[n]), theirs = side(r->tool.theirs[n]);
      runs.push_back({{"client_A", r->options.client() ? r->options.command : r->options.tool},
                      {"server_B", r->options.client() ? r->options.tool : r->options.command},
                      {"frames", {r->first_frame, r->last_frame - 1}},
                      {"params",
                       {{"A_client", nic_is_client ? mine : theirs},
                        {"B_server", nic_is_client ? theirs : mine}}}});
      // Before and beside it: connection managers, other QPs, what a peer still sends to old ones.
      if (r->options.cm || qps > 1 || results_.size() > 1) runs.back()["only_qps"] = true;
    }
  }
  json all = {{"file", "wire.pcap"},
              {"title", "rnic-sim live " + settings_.world.title},
              {"A", {{"role", "client"}, {"mac", nic_is_client ? nic : peer}}},
              {"B", {{"role", "server"}, {"mac", nic_is_client ? peer : nic}}},
              {"frames", world_->record().frames()},
              {"wire_events", events},
              {"runs", runs}};
  // What our responder answers to repeats depends on when they come. rping asks both ways.
  if (!nic_is_client || list[0]->options.kind == tools::Kind::kRping) all["times"] = "wire";
  write_json(options_.wire_json, all);
}

}  // namespace rnic::sim
