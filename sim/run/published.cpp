// SPDX-License-Identifier: Apache-2.0
#include "sim/run/published.hpp"

#include <fmt/format.h>

namespace rnic::sim {

namespace {
constexpr uint32_t kPublishedSize = 4096;  // bytes of the published latencies

class Lines {
 public:
  void add(const std::string& what, double value, const char* unit, const char* published) {
    out_.push_back(fmt::format("  {:<58}{:>9.1f} {:<5}{}", what, value, unit, published));
  }
  std::vector<std::string> take() { return std::move(out_); }

 private:
  std::vector<std::string> out_;
};

// The first repetition of a step.
const Timeline* first_of(const std::vector<Timeline>& timelines, const std::string& step) {
  for (const Timeline& t : timelines) {
    if (t.message.label == step && t.message.alone) return &t;
  }
  return nullptr;
}

// From the program's first step (a bounce copy, the doorbell) to the remote CQE.
std::optional<double> whole_ns(const Timeline& t) {
  if (!t.remote_cqe) return std::nullopt;
  return static_cast<double>(*t.remote_cqe - t.message.start_ps) / 1000.0;
}

void latencies(const Settings& s, const std::vector<Timeline>& timelines, Lines& lines) {
  std::optional<double> host, gpu, bounce;
  for (const Step& step : s.steps) {
    if (!step.latency || !step.latency->reference || step.latency->size != kPublishedSize) continue;
    const Timeline* t = first_of(timelines, step.name);
    if (t == nullptr || !whole_ns(*t)) continue;
    switch (step.latency->source) {
      case Memory::kHost:
        if (host) break;
        host = whole_ns(*t);
        if (const auto mac = t->doorbell_to_mac())
          lines.add("4 KB WRITE, doorbell to first MAC byte", static_cast<double>(*mac) / 1000.0,
                    "ns", "250");
        lines.add("4 KB WRITE with immediate, doorbell to remote CQE", *host, "ns",
                  "510 drawn; 680 is the sum of its stages");
        break;
      case Memory::kGpu:
        if (!gpu) gpu = whole_ns(*t);
        break;
      case Memory::kBounce:
        if (!bounce) bounce = whole_ns(*t);
        break;
      case Memory::kDevice:
        break;
    }
  }
  if (gpu) lines.add("the same from GPU memory, peer to peer", *gpu, "ns", "");
  if (bounce) lines.add("the same from GPU memory, bounced through the host", *bounce, "ns", "");
  if (bounce && host) lines.add("the bounce costs", *bounce - *host, "ns", "about 400");
  if (bounce && gpu) lines.add("of which peer to peer saves", *bounce - *gpu, "ns", "200 to 300");
}

void rates(const Settings& s, const Figures& figures, Lines& lines) {
  for (const Step& step : s.steps) {
    if (!step.traffic || step.traffic->flows.front().sizes.size() != 1 ||
        step.traffic->flows.front().verb != FlowVerb::kWrite)
      continue;
    const uint32_t size = step.traffic->flows.front().sizes.front();
    const uint32_t qps = step.traffic->flows.front().qps;
    const Figure* goodput = figures.find(step.name + ".goodput");
    const Figure* rate = figures.find(step.name + ".message_rate");
    const size_t flows = step.traffic->flows.size();
    if (size == 1u << 20 && goodput != nullptr)
      lines.add(
          fmt::format("goodput of 1 MB messages, {}", flows == 1 ? "one way" : "both ways, sum"),
          goodput->value, "Gb/s", flows == 1 ? "380 (of 4 MB messages)" : "");
    if (size == 8 && flows == 1 && rate != nullptr)
      lines.add(fmt::format("messages of 8 B, {} QP{}", qps, qps == 1 ? "" : "s"), rate->value,
                "M/s", qps == 1 ? "40" : "");
  }
}
}  // namespace

std::vector<std::string> beside_published(const Settings& settings,
                                          const std::vector<Timeline>& timelines,
                                          const Figures& figures) {
  Lines lines;
  latencies(settings, timelines, lines);
  rates(settings, figures, lines);
  return lines.take();
}

}  // namespace rnic::sim
