// SPDX-License-Identifier: Apache-2.0
// rnic-sim: runs scenarios, replays recorded traffic, holds figures against their expectations.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>

#include "harness/scenario/scenario.hpp"
#include "harness/tools/numbers.hpp"
#include "sim/cli/bench.hpp"
#include "sim/cli/cc_trace.hpp"
#include "sim/cli/live.hpp"
#include "sim/run/datagram_replay.hpp"
#include "sim/run/published.hpp"
#include "sim/run/replay.hpp"
#include "sim/run/requester_replay.hpp"
#include "sim/run/session.hpp"

namespace {
namespace fs = std::filesystem;
using namespace rnic;

const std::string kRoot = RNIC_SOURCE_DIR;

int verdict(bool good, const std::string& text) {
  fmt::print("rnic-sim: {}: {}\n", good ? "PASS" : "FAIL", text);
  return good ? 0 : 1;
}

// A file, or the name of one that comes with the project.
std::string find_scenario(const std::string& name) {
  if (fs::exists(name)) return name;
  for (const char* folder : {"/sim/scenarios/", "/sim/bench/"}) {
    for (const char* end : {"", ".yaml"}) {
      const std::string path = kRoot + folder + name + end;
      if (fs::exists(path)) return path;
    }
  }
  return name;
}

struct RunArgs {
  std::string scenario, wave, pcap, tlp, trace, out = "out";
  std::vector<std::string> set;
  std::optional<uint64_t> seed;
  unsigned threads = 1;
  bool files = true;
};

int run(const RunArgs& args) {
  const std::string path = find_scenario(args.scenario);
  std::vector<std::string> overrides = args.set;
  if (args.seed) overrides.push_back("seed=" + std::to_string(*args.seed));
  const sim::Settings settings = sim::load_settings(path, overrides, sim::nic_kinds());
  const std::string stem = fs::path(path).stem();
  sim::RunOptions o;
  o.threads = args.threads;
  o.progress = true;
  o.wave_file = args.wave;
  const std::string folder = args.out + "/" + stem;
  const auto file = [&](const std::string& given, const char* name) {
    if (!given.empty()) return given;
    return args.files ? folder + "/" + name : std::string();
  };
  o.pcap_file = file(args.pcap, "wire.pcap");
  o.tlp_file = file(args.tlp, "tlp.log");
  o.trace_file = file(args.trace, "trace.json");
  if (args.files) fs::create_directories(folder);
  fmt::print("{}\n  scenario {}, seed {}, {} bit, {:.0f} Gb/s, {} thread{}\n", settings.title, path,
             settings.seed, settings.data_w, static_cast<double>(settings.wire.rate_bps) * 1e-9,
             args.threads, args.threads == 1 ? "" : "s");
  sim::Session session(settings, o, [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  });
  const bool good = session.run();
  fmt::print("\n== Figures\n");
  for (const sim::Figure& f : session.figures().all())
    fmt::print("  {:<48}{:>14.3f} {}\n", f.name, f.value, f.unit);
  const auto published = sim::beside_published(settings, session.timelines(), session.figures());
  if (!published.empty()) fmt::print("\n== Beside the published figures{:>44}\n", "published");
  for (const std::string& line : published) fmt::print("{}\n", line);
  fmt::print("\n");
  const auto each_node = [&](const std::string& path) {
    return path.empty() || session.node_count() == 1 ? path : sim::node_file(path, "*");
  };
  const std::string tlp_files = o.tlp_file.empty() ? "" : sim::node_file(o.tlp_file, "*");
  const std::string captures = session.net() == nullptr || o.pcap_file.empty()
                                   ? o.pcap_file
                                   : sim::node_file(o.pcap_file, "*");
  for (const auto& [what, path_of] : {std::pair<const char*, std::string>{"capture", captures},
                                      {"TLP logs", tlp_files},
                                      {"trace (Perfetto, chrome://tracing)", o.trace_file},
                                      {"waves", each_node(o.wave_file)}}) {
    if (!path_of.empty()) fmt::print("  {}: {}\n", what, path_of);
  }
  return verdict(good, good ? fmt::format("{} in {:.1f} s", stem, session.wall_seconds())
                            : fmt::format("{}: {} problems, the first: {}", stem,
                                          session.problems().size(), session.problems().front()));
}

struct ReplayArgs {
  bool requester = false;
  std::vector<std::string> captures;
  uint32_t data_w = 512;
  std::string pcap, wave;
};

std::vector<roce::CaptureFile> captures_of(const ReplayArgs& args) {
  std::vector<std::string> files = args.captures;
  if (files.empty()) files = roce::list_captures(kRoot + "/tests/captures");
  std::vector<roce::CaptureFile> out;
  for (std::string f : files) {
    if (fs::path(f).extension() == ".pcap") f = fs::path(f).replace_extension(".json");
    if (!fs::exists(f) && fs::exists(kRoot + "/tests/captures/" + f + ".json"))
      f = kRoot + "/tests/captures/" + f + ".json";
    out.push_back(roce::CaptureFile::load(f));
  }
  return out;
}

int replay_requesters(const ReplayArgs& args) {
  size_t runs = 0, bad = 0;
  for (const roce::CaptureFile& capture : captures_of(args)) {
    for (const roce::CaptureRun& r : sim::recorded_runs(capture)) {
      for (const roce::Side side : {roce::Side::kClient, roce::Side::kServer}) {
        if (!sim::requester_replayable(r, side)) continue;
        sim::ReplayOptions o;
        o.data_w = args.data_w;
        o.pcap_file = args.pcap;
        o.wave_file = args.wave;
        o.side = side;
        const sim::RequesterReplay result = sim::replay_requester(r, o);
        fmt::print("{:<34} as {}: {:>4} messages, {:>4} frames equal, {:>3} completions, {}: {}\n",
                   r.name(), side == roce::Side::kServer ? "server" : "client", result.messages,
                   result.equal_frames, result.completions,
                   fmt::format("{} READ and ATOMIC results", result.results),
                   result.ok() ? "same" : "DIFFERENT");
        for (const std::string& d : result.differences) fmt::print("    {}\n", d);
        std::fflush(stdout);
        ++runs;
        if (!result.ok()) ++bad;
      }
    }
  }
  if (runs == 0) return verdict(false, "no run whose requests can be made identical");
  return verdict(bad == 0, fmt::format("{} recorded runs, {} different", runs, bad));
}

sim::ReplayOptions replay_options(const ReplayArgs& args, roce::Side side) {
  sim::ReplayOptions o;
  o.data_w = args.data_w;
  o.pcap_file = args.pcap;
  o.wave_file = args.wave;
  o.side = side;
  return o;
}

const char* side_name(roce::Side side) { return side == roce::Side::kServer ? "server" : "client"; }

bool replay_requests(const roce::CaptureRun& r, roce::Side side, const ReplayArgs& args) {
  const sim::ReplayResult result = sim::replay_run(r, replay_options(args, side));
  fmt::print(
      "{:<34} as {}: {:>4} frames in, {:>4} out, {:>4} equal; {:>6} bytes compared, {} "
      "receives; acknowledged {}: {}\n",
      r.name(), side_name(side), result.frames_in, result.frames_out, result.equal_frames,
      result.bytes_compared, result.receive_completions, result.acks,
      result.ok() ? "same" : "DIFFERENT");
  for (const auto& [name, count] : result.allowed)
    fmt::print("    {} differences allowed: {}\n", count, name);
  for (const std::string& d : result.differences) fmt::print("    {}\n", d);
  std::fflush(stdout);
  return result.ok();
}

bool replay_datagrams(const roce::CaptureRun& r, roce::Side side, const ReplayArgs& args) {
  const sim::DatagramReplay result = sim::replay_datagrams(r, replay_options(args, side));
  fmt::print("{:<34} as {}: {:>4} datagrams to {} QPs: {}\n", r.name(), side_name(side),
             result.datagrams, result.qps, result.ok() ? "same" : "DIFFERENT");
  for (const std::string& d : result.differences) fmt::print("    {}\n", d);
  std::fflush(stdout);
  return result.ok();
}

int replay(const ReplayArgs& args) {
  if (args.requester) return replay_requesters(args);
  size_t replays = 0, bad = 0;
  for (const roce::CaptureFile& capture : captures_of(args)) {
    for (const roce::CaptureRun& r : sim::recorded_runs(capture)) {
      const size_t before = replays;
      for (const roce::Side side : {roce::Side::kServer, roce::Side::kClient}) {
        if (sim::replayable(r, side)) {
          ++replays;
          if (!replay_requests(r, side, args)) ++bad;
        }
        if (r.part.empty() && sim::gets_datagrams(r, side)) {
          ++replays;
          if (!replay_datagrams(r, side, args)) ++bad;
        }
      }
      if (replays == before && !args.captures.empty())
        fmt::print("{:<34} skipped: no requests or datagrams, or its parameters are not recorded\n",
                   r.name());
    }
  }
  if (replays == 0) return verdict(false, "no run that can be replayed");
  return verdict(bad == 0, fmt::format("{} replays of recorded runs, {} different", replays, bad));
}

int list() {
  for (const char* folder : {"sim/scenarios", "sim/bench"}) {
    fmt::print("{}\n", folder);
    std::vector<fs::path> files;
    for (const auto& e : fs::directory_iterator(kRoot + "/" + folder)) {
      if (e.path().extension() == ".yaml" && e.path().stem() != "expected")
        files.push_back(e.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& f : files)
      fmt::print("  {:<20} {}\n", f.stem().string(), sim::scenario_title(f));
  }
  fmt::print("NICs in this program: {}\n", sim::to_string(sim::nic_kinds()));
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulated RoCEv2 NICs: Verilated RTL in a simulated world.", "rnic-sim");
  app.require_subcommand(1);

  RunArgs run_args;
  auto* run_cmd = app.add_subcommand("run", "Run a scenario");
  run_cmd
      ->add_option("scenario", run_args.scenario, "YAML file, or the name of one in sim/scenarios")
      ->required();
  run_cmd
      ->add_option("--set", run_args.set,
                   "key=value, replaces a value of the file (wire.delay=5ns); may be repeated")
      ->allow_extra_args(false);
  run_cmd->add_option("--seed", run_args.seed, "root of everything random")
      ->check(tools::seed_number());
  run_cmd->add_option("--threads", run_args.threads, "2: one thread per node; same cycles")
      ->check(CLI::Range(1, 64));
  run_cmd->add_option("--out", run_args.out, "folder for the files (default: out)");
  run_cmd->add_flag("!--no-files", run_args.files, "write no capture, TLP log, trace unless named");
  run_cmd->add_option("--pcap", run_args.pcap, "capture of the wire");
  run_cmd->add_option("--tlp-log", run_args.tlp, "text log of every TLP, one file per node");
  run_cmd->add_option("--trace-json", run_args.trace,
                      "stages and events for Perfetto or chrome://tracing");
  run_cmd->add_option("--wave", run_args.wave,
                      "FST waves (program rnic-sim-wave), one file per node");

  ReplayArgs replay_args;
  auto* replay_cmd = app.add_subcommand(
      "replay", "Feed the requests of recorded runs of a software stack into a NIC");
  replay_cmd->add_option("capture", replay_args.captures,
                         "capture (.json or .pcap); none: all of tests/captures");
  replay_cmd->add_flag("--requester", replay_args.requester,
                       "the other direction: the NIC asks what was recorded and gets its answers");
  replay_cmd->add_option("--data-w", replay_args.data_w, "width of the NIC");
  replay_cmd->add_option("--pcap", replay_args.pcap,
                         "capture of what went over the simulated wire");
  replay_cmd->add_option("--wave", replay_args.wave, "FST waves (program rnic-sim-wave)");

  sim::BenchOptions bench_args;
  bench_args.folder = kRoot + "/sim/bench";
  auto* bench_cmd =
      app.add_subcommand("bench", "Measure, and compare with sim/bench/expected.yaml");
  bench_cmd->add_option("only", bench_args.only, "benchmarks by name; none: all");
  bench_cmd->add_flag("--update", bench_args.update, "write the exact values anew");
  bench_cmd->add_flag("--long", bench_args.longer, "the long run of those that have one (minutes)");
  bench_cmd->add_option("--plot", bench_args.plot,
                        "folder for an SVG picture of each comparison, made of this run");
  bench_cmd->add_option("--best-of", bench_args.best_of, "runs of what reports simulation speed")
      ->check(CLI::Range(1, 20));

  sim::LiveArgs live_args;
  auto* live_cmd =
      app.add_subcommand("live", "One NIC on an Ethernet link to the outside (sim/live/README.md)");
  sim::add_live_options(*live_cmd, live_args);

  // The words behind it are the tool's own, so they are not read here.
  auto* perftest_cmd = app.add_subcommand(
      "perftest", "TOOL OPTIONS...: a tool of perftest, rping or ibv_*_pingpong between two NICs");
  perftest_cmd->prefix_command();
  perftest_cmd->set_help_flag("");

  std::vector<std::string> traces;
  auto* cc_cmd = app.add_subcommand(
      "cc-trace", "Run a rate unit over recorded state traces, show the largest deviations");
  cc_cmd->add_option("trace", traces, "NAME.csv or NAME.json, both must be there")->required();

  auto* list_cmd = app.add_subcommand("list", "Scenarios and widths");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }

  try {
    if (*run_cmd) return run(run_args);
    if (*replay_cmd) return replay(replay_args);
    if (*bench_cmd) return sim::run_bench(bench_args);
    if (*cc_cmd) return sim::cc_trace_command(traces);
    if (*list_cmd) return list();
    if (*live_cmd) return sim::run_live(live_args, find_scenario(live_args.scenario));
    if (*perftest_cmd) return sim::run_perftest(std::vector<std::string>(argv + 2, argv + argc));
  } catch (const scenario::ScenarioError& e) {
    fmt::print(stderr, "{}\n", e.what());
    return verdict(false, "the scenario is not valid");
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return verdict(false, "stopped");
  }
  return 2;
}
