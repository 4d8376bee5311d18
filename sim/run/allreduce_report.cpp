// SPDX-License-Identifier: Apache-2.0
#include "sim/run/allreduce_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/collective/ring.hpp"

namespace rnic::sim {
namespace {

double us(TimePs t) { return static_cast<double>(t) * 1e-6; }

// What the NIC of each node moved over its PCIe link: payload of both directions, rings included.
std::vector<uint64_t> pcie_bytes(Session& s) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < s.node_count(); ++i) {
    const pcie::Stats& p = s.kit(i).node->fabric().stats();
    out.push_back(p.up_write_bytes + p.down_completion_bytes);
  }
  return out;
}

const char* way_name(Algorithm a) {
  switch (a) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kOneShot:
      return "one-shot (order of arrival)";
    default:
      return "one-shot (fixed order)";
  }
}

void describe(Session& s, const AllReduceStep& step) {
  const auto place = [](Memory m) { return m == Memory::kGpu ? "GPU" : "host"; };
  const std::string what =
      fmt::format("  {} AllReduce of {} B of {}{} on {} ranks in {} memory",
                  way_name(step.algorithm), step.bytes, numerics::element_name(step.type),
                  step.wide ? " summed in fp32" : "", s.node_count(), place(step.memory));
  if (step.nic)
    return s.print(fmt::format("{} by the NICs, packets of {} B, programs look every {:.2f} us",
                               what, step.piece, us(step.grain_ps)));
  s.print(fmt::format(
      "{}, {} adds at {:.0f} Gb/s, {:.2f} us launch, pieces of {} B, programs look every {:.2f} us",
      what, place(step.reduce), static_cast<double>(step.add_bps) * 1e-9, us(step.launch_ps),
      step.piece, us(step.grain_ps)));
  if (step.memory != step.reduce) {
    const pcie::GpuConfig& gpu = s.settings().gpu;
    s.print(fmt::format(
        "  copies to the host and back: {:.2f} us each piece, {}", us(gpu.bounce_copy_ps),
        gpu.bounce_kbps == 0
            ? std::string("no limit of the rate")
            : fmt::format("{:.0f} Gb/s each way", static_cast<double>(gpu.bounce_kbps) * 1e-6)));
  }
}

// How much shorter than earlier steps.
void compare_with(Session& s, const std::string& name, const AllReduceStep& step, TimePs median) {
  for (const std::string& other : step.against) {
    const auto& all = s.figures().all();
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Figure& f) { return f.name == other + ".time"; });
    if (found == all.end()) {
      s.problem(fmt::format("{}: there is no earlier step '{}'", name, other));
      continue;
    }
    const double less = 100 * (1 - us(median) / found->value);
    s.print(fmt::format("  {:.1f} % less time than {}", less, other));
    s.figure(name + ".less_than_" + other, less, "%");
  }
}

void report(Session& s, const std::string& name, const AllReduceStep& step,
            std::vector<TimePs> times, uint64_t pcie_per_rank) {
  const auto ranks = static_cast<uint32_t>(s.node_count());
  std::sort(times.begin(), times.end());
  const TimePs median = times[(times.size() - 1) / 2];
  const wire::LinkConfig& wire = s.settings().wire;
  const TimePs latency = wire.delay_ps * (s.net() != nullptr ? 2 : 1) +
                         (s.net() != nullptr ? s.net()->config().latency_ps : 0);
  const auto way =
      step.algorithm == Algorithm::kRing ? collective::Way::kRing : collective::Way::kOneShot;
  const TimePs bound =
      collective::shortest_ps(way, ranks, step.bytes, step.piece, wire.rate_bps, latency);
  describe(s, step);
  const double bus = collective::bus_bandwidth(ranks, step.bytes, median);
  const double bus_bound = collective::bus_bandwidth(ranks, step.bytes, bound);
  s.print(fmt::format(
      "  {:.2f} us (of {}: {:.2f} to {:.2f}); algorithm {:.2f} GB/s, bus {:.2f} GB/s; the wire "
      "alone: {:.2f} us, bus {:.2f} GB/s; PCIe {} B per rank",
      us(median), times.size(), us(times.front()), us(times.back()),
      collective::algorithm_bandwidth(step.bytes, median), bus, us(bound), bus_bound,
      pcie_per_rank));
  s.figure(name + ".time", us(median), "us");
  s.figure(name + ".bus_bandwidth", bus, "GB/s");
  s.figure(name + ".of_bound", 100 * us(bound) / us(median), "%");
  s.figure(name + ".pcie_per_rank", static_cast<double>(pcie_per_rank), "B");
  compare_with(s, name, step, median);
}

}  // namespace

void measure_allreduce(Session& s, const std::string& name, const AllReduceStep& step,
                       uint64_t copies, const std::function<TimePs(uint32_t round)>& run) {
  const auto before = pcie_bytes(s);
  std::vector<TimePs> times;
  for (uint32_t i = 0; i < step.repeat; ++i) times.push_back(run(i));
  const auto after = pcie_bytes(s);
  uint64_t sum = 0;
  for (size_t i = 0; i < after.size(); ++i) sum += after[i] - before[i];
  report(s, name, step, times, sum / after.size() / step.repeat + copies);
}

}  // namespace rnic::sim
