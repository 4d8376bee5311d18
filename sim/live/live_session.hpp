// SPDX-License-Identifier: Apache-2.0
// One `rnic-sim live`: the runs of a scenario one after the other, their verdicts, the result.
//
//   LiveSession session(settings, {.pcap_file = "wire.pcap"}, print, interrupt, resume);   //
//   throws bool good = session.run(); write(session.result().dump());
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/live/live_world.hpp"
#include "sim/live/program.hpp"

namespace rnic::sim {

struct LiveOptions {
  std::string pcap_file;  // empty: none
  std::string wire_json;  // empty: none
  double for_s = 0;       // without runs: how long to serve; 0: until interrupted
};

class LiveSession {
 public:
  // Opens clock and link; throws LinkError, ClockError. `print` gets whole lines.
  // `interrupt` ends it, `resume` ends a pause.
  LiveSession(const LiveSettings& settings, const LiveOptions& options,
              std::function<void(const std::string&)> print, const std::atomic<bool>& interrupt,
              std::atomic<bool>& resume);
  ~LiveSession();

  // Throws tools::SocketError when a port cannot be opened.
  bool run();
  const std::vector<std::string>& problems() const { return problems_; }
  nlohmann::json result() const;
  size_t runs() const { return results_.size(); }

 private:
  struct Job;
  struct RunResult {
    tools::Options options;
    ToolResult tool;
    bool passed = false, alone = true;
    bool waited = false;  // somebody was not ready to receive
    std::string problem;
    uint64_t bytes_checked = 0, resent_nic = 0, resent_peer = 0;
    uint64_t first_frame = 0, last_frame = 0;
    double wall_s = 0, simulated_us = 0;
  };

  void serve();
  void run_one(const LiveRun& run);
  void pause(WallClock::time_point end);
  void make_jobs(const LiveRun& run, std::vector<std::unique_ptr<Job>>& jobs);
  tools::Task<void> work(Job& job);
  void judge(const LiveRun& run, std::vector<std::unique_ptr<Job>>& jobs, const std::string& why,
             RunResult common);
  void end_connections();
  void check_counters();
  nlohmann::json cm_json() const;
  void problem(const std::string& text);
  void write_wire_json() const;

  LiveSettings settings_;
  LiveOptions options_;
  std::function<void(const std::string&)> print_;
  const std::atomic<bool>& interrupt_;
  std::atomic<bool>& resume_;
  std::unique_ptr<LiveWorld> world_;
  std::vector<RunResult> results_;
  std::vector<std::string> problems_;
  nlohmann::json counters_ = nlohmann::json::object();
  bool errors_expected_ = false;
};

}  // namespace rnic::sim
