// SPDX-License-Identifier: Apache-2.0
#include "sim/run/switch_load.hpp"

#include <fmt/format.h>

namespace rnic::sim {

SwitchLoad::SwitchLoad(Session& session) : session_(session) {
  if (session_.net() == nullptr) return;
  session_.net()->restart_depths();
  sample();
}

void SwitchLoad::sample() {
  if (session_.net() == nullptr) return;
  Sample s{session_.world().now_ps(), {}};
  for (unsigned i = 0; i < session_.settings().nodes; ++i)
    s.bytes.push_back(session_.net()->passed_bytes(i));
  samples_.push_back(std::move(s));
}

double SwitchLoad::busy(unsigned port) const {
  size_t first = 0, last = samples_.size() - 1;
  while (first < last && samples_[first + 1].bytes[port] == samples_[first].bytes[port]) ++first;
  while (last > first && samples_[last - 1].bytes[port] == samples_[last].bytes[port]) --last;
  const TimePs middle = (samples_[first].time + samples_[last].time) / 2;
  while (first < last && samples_[first].time < middle) ++first;
  if (first == last) return 0;
  const auto bits =
      8.0 * static_cast<double>(samples_[last].bytes[port] - samples_[first].bytes[port]);
  const auto seconds = 1e-12 * static_cast<double>(samples_[last].time - samples_[first].time);
  return bits / seconds / static_cast<double>(session_.settings().wire.rate_bps);
}

void SwitchLoad::report(const std::string& name) {
  if (session_.net() == nullptr) return;
  sample();
  const TimePs now = session_.world().now_ps();
  session_.print(fmt::format("  {:<24}{:>22}{:>12}{:>12}{:>12}{:>12}", "port of the switch",
                             "busy, second half", "queue P50", "P99", "P99.9", "most bytes"));
  for (unsigned i = 0; i < session_.settings().nodes; ++i) {
    if (samples_.back().bytes[i] == samples_.front().bytes[i]) continue;
    const switching::DepthTime& d = session_.net()->depth(i);
    const std::string node = node_name(i);
    session_.print(fmt::format("  to node {:<16}{:>20.2f} %{:>12}{:>12}{:>12}{:>12}", node,
                               100 * busy(i), d.percentile(50, now), d.percentile(99, now),
                               d.percentile(99.9, now), d.most()));
    session_.figure(name + ".busy_" + node, 100 * busy(i), "%");
    session_.figure(name + ".queue_p50_" + node, static_cast<double>(d.percentile(50, now)), "B");
    session_.figure(name + ".queue_p99_" + node, static_cast<double>(d.percentile(99, now)), "B");
    session_.figure(name + ".queue_p999_" + node, static_cast<double>(d.percentile(99.9, now)),
                    "B");
  }
}

}  // namespace rnic::sim
