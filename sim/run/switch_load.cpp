// SPDX-License-Identifier: Apache-2.0
#include "sim/run/switch_load.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rnic::sim {

SwitchLoad::SwitchLoad(Session& session) : session_(session) {
  if (session_.net() == nullptr) return;
  session_.net()->restart_depths();
  lost_ = lost();
  sample();
}

void SwitchLoad::sample() {
  if (session_.net() == nullptr) return;
  Sample s{session_.world().now_ps(), {}, {}};
  for (unsigned i = 0; i < session_.settings().nodes; ++i) {
    s.bytes.push_back(session_.net()->passed_bytes(i));
    s.queued.push_back(session_.net()->queued(i));
  }
  samples_.push_back(std::move(s));
}

void SwitchLoad::open() {
  if (session_.net() == nullptr) return;
  sample();
  first_ = samples_.size() - 1;
  for (unsigned i = 0; i < session_.settings().nodes; ++i)
    most_.push_back(session_.net()->depth(i).most());
  session_.net()->restart_depths();
}

void SwitchLoad::close() {
  if (session_.net() == nullptr) return;
  sample();
  last_ = samples_.size() - 1;
  for (unsigned i = 0; i < session_.settings().nodes; ++i) kept_.push_back(depths(i));
}

SwitchLoad::Depths SwitchLoad::depths(unsigned port) const {
  if (port < kept_.size()) return kept_[port];
  const TimePs now = session_.world().now_ps();
  const switching::DepthTime& d = session_.net()->depth(port);
  Depths v{d.percentile(50, now), d.percentile(99, now), d.percentile(99.9, now), d.most()};
  if (port < most_.size()) v.most = std::max(v.most, most_[port]);
  return v;
}

double SwitchLoad::share(const Sample& from, const Sample& to, unsigned port) const {
  const auto bits = 8.0 * static_cast<double>(to.bytes[port] - from.bytes[port]);
  const auto seconds = 1e-12 * static_cast<double>(to.time - from.time);
  return bits / seconds / static_cast<double>(session_.settings().wire.rate_bps);
}

double SwitchLoad::busy(unsigned port) const {
  size_t first = first_, last = last_;
  if (last == 0) {
    last = samples_.size() - 1;
    while (first < last && samples_[first + 1].bytes[port] == samples_[first].bytes[port]) ++first;
    while (last > first && samples_[last - 1].bytes[port] == samples_[last].bytes[port]) --last;
    const TimePs middle = (samples_[first].time + samples_[last].time) / 2;
    while (first < last && samples_[first].time < middle) ++first;
  }
  return first == last ? 0 : share(samples_[first], samples_[last], port);
}

// What a plot shows: the queue at every look, and how busy the port was in some 200 parts.
void SwitchLoad::curves(const std::string& name, unsigned port) const {
  const TimePs start = samples_.front().time;
  const auto us = [&](size_t i) { return static_cast<double>(samples_[i].time - start) * 1e-6; };
  const size_t end = last_ == 0 ? samples_.size() - 1 : last_;
  const size_t part = std::max<size_t>(1, end / 200);
  Curve queue{name + ".queue_" + node_name(port), "KB", {}};
  Curve busy{name + ".busy_" + node_name(port), "%", {}};
  for (size_t i = 0; i + part <= end; i += part) {
    uint64_t most = 0;
    for (size_t k = i; k < i + part; ++k) most = std::max(most, samples_[k].queued[port]);
    queue.points.emplace_back(us(i + part / 2), static_cast<double>(most) * 1e-3);
    if (samples_[i + part].time > samples_[i].time)
      busy.points.emplace_back(us(i + part / 2),
                               100 * share(samples_[i], samples_[i + part], port));
  }
  session_.curve(std::move(queue));
  session_.curve(std::move(busy));
}

uint64_t SwitchLoad::lost() const {
  uint64_t n = 0;
  for (unsigned i = 0; i < session_.settings().nodes; ++i) {
    for (const auto& c : session_.net()->counters(i).classes) n += c.drops + c.headroom_drops;
  }
  return n;
}

void SwitchLoad::report(const std::string& name) {
  if (session_.net() == nullptr) return;
  sample();
  session_.print(fmt::format("  {:<24}{:>22}{:>12}{:>12}{:>12}{:>12}", "port of the switch",
                             "busy, second half", "queue P50", "P99", "P99.9", "most bytes"));
  for (unsigned i = 0; i < session_.settings().nodes; ++i) {
    if (samples_.back().bytes[i] == samples_.front().bytes[i]) continue;
    const Depths d = depths(i);
    const std::string node = node_name(i);
    session_.print(fmt::format("  to node {:<16}{:>20.2f} %{:>12}{:>12}{:>12}{:>12}", node,
                               100 * busy(i), d.p50, d.p99, d.p999, d.most));
    session_.figure(name + ".busy_" + node, 100 * busy(i), "%");
    session_.figure(name + ".queue_p50_" + node, static_cast<double>(d.p50), "B");
    session_.figure(name + ".queue_p99_" + node, static_cast<double>(d.p99), "B");
    session_.figure(name + ".queue_p999_" + node, static_cast<double>(d.p999), "B");
    session_.figure(name + ".queue_most_" + node, static_cast<double>(d.most), "B");
    curves(name, i);
  }
  session_.figure(name + ".lost", static_cast<double>(lost() - lost_), "frames");
}

}  // namespace rnic::sim
