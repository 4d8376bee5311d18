// SPDX-License-Identifier: Apache-2.0
// Ring AllReduce by the NICs: programs start it and see its event.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "sim/host/group_ring.hpp"
#include "sim/run/allreduce_data.hpp"
#include "sim/run/allreduce_groups.hpp"
#include "sim/run/allreduce_report.hpp"

namespace rnic::sim {
namespace {

class NicAllReduce {
 public:
  NicAllReduce(Session& session, const std::string& name, const AllReduceStep& step);
  // Fills the buffers, runs, compares. Returns how long it took.
  TimePs run(uint32_t round);
  // The next step makes its own groups.
  void close();

 private:
  bool all_ended();
  void check();

  Session& session_;
  std::string name_;
  const AllReduceStep& step_;
  std::unique_ptr<GroupRing> ring_;
  std::vector<Region*> work_;
  std::optional<AllReduceData> data_;
};

NicAllReduce::NicAllReduce(Session& session, const std::string& name, const AllReduceStep& step)
    : session_(session), name_(name), step_(step) {
  const std::vector<Host*> hosts = all_hosts(session);
  ring_ = std::make_unique<GroupRing>(hosts, group_options(session, name, step));
  work_ = rank_buffers(hosts, step);
  data_.emplace(session, name, step, work_);
}

bool NicAllReduce::all_ended() {
  bool all = true;
  for (uint32_t r = 0; r < ring_->ranks(); ++r) all = ring_->ended(r) && all;
  return all;
}

TimePs NicAllReduce::run(uint32_t round) {
  World& world = session_.world();
  data_->fill(round);
  const TimePs start = world.now_ps(), end = start + step_.limit_ps;
  for (uint32_t r = 0; r < ring_->ranks(); ++r) ring_->begin(r, step_.bytes, *work_[r], *work_[r]);
  while (!all_ended()) {
    if (world.now_ps() > end)
      throw TimeOut(fmt::format("not done within {} ns", step_.limit_ps / 1000));
    world.run_until(world.now_ps() + step_.grain_ps);
    session_.progress(name_);
  }
  const TimePs time = world.now_ps() - start;
  for (uint32_t r = 0; r < ring_->ranks(); ++r) ring_->finish(r);
  check();
  return time;
}

// Two contributors per slot: sums in FP32 round as native ones do.
void NicAllReduce::check() {
  for (uint32_t r = 0; r < ring_->ranks(); ++r) {
    const auto& e = ring_->event(r);
    if (e->type != RNIC_EQE_TYPE_ARP_DONE)
      session_.problem(fmt::format("{}: rank {} gave up, code {}", name_, r, e->code));
  }
  const uint64_t chunk = ring_->cut(step_.bytes).chunk;
  data_->compare(numerics::ring_allreduce(step_.type, data_->inputs(), chunk));
}

void NicAllReduce::close() {
  for (uint32_t r = 0; r < ring_->ranks(); ++r) ring_->destroy(r);
}

}  // namespace

void run_nic_allreduce(Session& s, const std::string& name, const AllReduceStep& step) {
  NicAllReduce all(s, name, step);
  measure_allreduce(s, name, step, 0, [&](uint32_t i) { return all.run(i); });
  all.close();
}

}  // namespace rnic::sim
