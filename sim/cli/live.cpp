// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/live.hpp"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "harness/scenario/scenario.hpp"
#include "harness/tools/numbers.hpp"
#include "sim/live/json_file.hpp"
#include "sim/live/live_session.hpp"
#include "sim/live/pair_session.hpp"

namespace rnic::sim {
namespace {

namespace fs = std::filesystem;

enum Exit { kPass = 0, kFail = 1, kInvalid = 2, kNoLink = 3 };

std::atomic<bool> interrupted{false}, resumed{false};

void on_signal(int) { interrupted = true; }
void on_resume(int) { resumed = true; }

void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

int fail(Exit status, const std::string& text) {
  fmt::print(stderr, "{}\n", text);
  print_line(fmt::format("rnic-sim: FAIL: {}", text.substr(0, text.find('\n'))));
  return status;
}

}  // namespace

void add_live_options(CLI::App& command, LiveArgs& args) {
  command.add_option("scenario", args.scenario, "YAML file, or the name of one in sim/scenarios")
      ->required();
  command.add_option("--link", args.link,
                     "dgram:LOCAL:REMOTE, stream:PATH, stream-connect:PATH, tcp:PORT, "
                     "tcp-connect:HOST:PORT, tap:NAME or packet:NAME");
  command.add_option("--clock", args.clock,
                     "an emulator's held clock: it stands while the NIC works");
  command.add_option("--run", args.runs, "a tool's command line; 'A & B' at the same time")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--for", args.for_s, "seconds, without runs; default: until interrupted")
      ->check(tools::seconds(1e9));
  command.add_option("--json", args.json, "result");
  command.add_option("--pcap", args.pcap, "capture of the wire");
  command.add_option("--out", args.out, "folder for the files (default: out)");
  command.add_flag("!--no-files", args.files, "write no capture unless named");
  command.add_option("--set", args.set, "key=value, replaces a value of the file");
  command.add_option("--seed", args.seed, "root of everything random")->check(tools::seed_number());
}

int run_live(const LiveArgs& args, const std::string& path) {
  LiveSettings settings;
  LiveOptions options;
  options.for_s = args.for_s;
  const fs::path folder = fs::path(args.out) / fs::path(path).stem();
  try {
    std::vector<std::string> overrides = args.set;
    if (args.seed) overrides.push_back("seed=" + std::to_string(*args.seed));
    settings = load_live_settings(path, overrides, nic_kinds());
    if (!args.link.empty()) settings.link = args.link;
    if (!args.clock.empty()) settings.clock = args.clock;
    if (settings.link.empty())
      return fail(kInvalid, path + ": no link: give --link or the key live.link");
    ethlink::check_link(settings.link);
    if (!args.runs.empty()) {
      settings.runs.clear();
      for (const std::string& r : args.runs) settings.runs.push_back(parse_run(r));
    }
    if (args.files) {
      fs::create_directories(folder);
      options.pcap_file = (folder / "wire.pcap").string();
      options.wire_json = (folder / "wire.json").string();
      fs::remove(options.wire_json);
    }
    if (!args.json.empty()) check_writable(args.json);
    if (!args.pcap.empty()) {
      options.pcap_file = args.pcap;
      options.wire_json.clear();  // it names the capture beside it
    }
  } catch (const std::exception& e) {
    return fail(kInvalid, e.what());
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGUSR1, on_resume);
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<LiveSession> session;
  bool good = false;
  try {
    session = std::make_unique<LiveSession>(settings, options, print_line, interrupted, resumed);
    good = session->run();
  } catch (const ethlink::LinkError& e) {
    return fail(kNoLink, e.what());
  } catch (const peerclock::ClockError& e) {
    return fail(kNoLink, e.what());
  } catch (const tools::SocketError& e) {
    return fail(kNoLink, e.what());
  } catch (const std::exception& e) {
    return fail(kFail, e.what());
  }
  const nlohmann::json result = session->result();
  try {
    if (!args.json.empty()) write_json(args.json, result);
  } catch (const std::exception& e) {
    return fail(kFail, e.what());
  }
  for (const std::string& p : session->problems()) fmt::print("  WRONG: {}\n", p);
  const auto& wire = result["wire"];
  print_line(
      fmt::format("rnic-sim: {}: {}", good ? "PASS" : "FAIL",
                  good ? fmt::format("{} runs, {} frames checked ({} RoCEv2)", session->runs(),
                                     wire["frames"].get<uint64_t>(), wire["roce"].get<uint64_t>())
                       : fmt::format("{} problems, the first: {}", session->problems().size(),
                                     session->problems().front())));
  return good ? kPass : kFail;
}

int run_perftest(const std::vector<std::string>& words) {
  tools::Options client;
  try {
    std::string line;
    for (const std::string& w : words) line += (line.empty() ? "" : " ") + w;
    client = tools::parse_command(line);
    if (client.server()) client = tools::parse_command(line + " peer");
  } catch (const tools::ToolError& e) {
    return fail(kInvalid, e.what());
  }
  PairResult r;
  try {
    r = run_pair(client, {}, print_line);
  } catch (const std::exception& e) {
    return fail(kFail, e.what());
  }
  for (const std::string& p : r.problems) fmt::print("  WRONG: {}\n", p);
  const bool good = r.problems.empty();
  print_line(fmt::format("rnic-sim: {}: {}", good ? "PASS" : "FAIL",
                         good ? fmt::format("{} frames, {} bytes checked, {:.1f} us simulated",
                                            r.frames, r.bytes_checked, r.simulated_us)
                              : r.problems.front()));
  return good ? kPass : kFail;
}

}  // namespace rnic::sim
