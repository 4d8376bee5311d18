// SPDX-License-Identifier: Apache-2.0
// Ring AllReduce by the NICs: programs start it and see its event.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/mem/random.hpp"
#include "harness/numerics/reduce.hpp"
#include "sim/host/group_ring.hpp"
#include "sim/run/allreduce_report.hpp"

namespace rnic::sim {
namespace {

using numerics::Buffer;

class NicAllReduce {
 public:
  NicAllReduce(Session& session, const std::string& name, const AllReduceStep& step);
  // Fills the buffers, runs, compares. Returns how long it took.
  TimePs run(uint32_t round);
  // The next step makes its own groups.
  void close();

 private:
  void fill(uint32_t round);
  void compare();
  bool all_ended();

  Session& session_;
  std::string name_;
  const AllReduceStep& step_;
  std::unique_ptr<GroupRing> ring_;
  std::vector<Region*> work_;
  std::vector<Buffer> inputs_;
};

NicAllReduce::NicAllReduce(Session& session, const std::string& name, const AllReduceStep& step)
    : session_(session), name_(name), step_(step) {
  const Settings& s = session.settings();
  GroupRingOptions o;
  o.piece = static_cast<uint32_t>(step.piece);
  o.mtu = s.mtu;
  o.psn = static_cast<uint32_t>(session.seed("psn.arp." + name)) & 0xFFFFFF;
  o.attributes.timeout = static_cast<uint8_t>(s.timeout);
  o.path = [](uint32_t, uint32_t to) { return static_cast<uint16_t>(to); };
  std::vector<Host*> hosts;
  for (size_t i = 0; i < session.node_count(); ++i) hosts.push_back(session.kit(i).host.get());
  ring_ = std::make_unique<GroupRing>(hosts, o);
  for (Host* h : hosts)
    work_.push_back(
        &h->region(step.memory == Memory::kGpu ? Place::kGpu : Place::kHost, step.bytes));
}

void NicAllReduce::fill(uint32_t round) {
  inputs_.assign(ring_->ranks(), Buffer(step_.bytes));
  for (uint32_t r = 0; r < ring_->ranks(); ++r) {
    mem::Random rng(session_.seed(fmt::format("allreduce.{}.{}.{}", name_, round, r)));
    for (uint64_t at = 0; at < step_.bytes; at += sizeof(float)) {
      const auto v = static_cast<float>(static_cast<double>(rng.next() >> 40) * 0x1p-23 - 1);
      std::copy_n(reinterpret_cast<const uint8_t*>(&v), sizeof v, &inputs_[r][at]);
    }
    work_[r]->buffer.write(0, inputs_[r].data(), step_.bytes);
  }
}

bool NicAllReduce::all_ended() {
  bool all = true;
  for (uint32_t r = 0; r < ring_->ranks(); ++r) all = ring_->ended(r) && all;
  return all;
}

TimePs NicAllReduce::run(uint32_t round) {
  World& world = session_.world();
  fill(round);
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
  compare();
  return time;
}

void NicAllReduce::compare() {
  const Buffer want =
      numerics::ring_allreduce(numerics::Element::kFp32, inputs_, ring_->cut(step_.bytes).chunk);
  Buffer got(want.size());
  for (uint32_t r = 0; r < ring_->ranks(); ++r) {
    const auto& e = ring_->event(r);
    if (e->type != RNIC_EQE_TYPE_ARP_DONE)
      session_.problem(fmt::format("{}: rank {} gave up, code {}", name_, r, e->code));
    work_[r]->buffer.read(0, got.data(), got.size());
    const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
    if (static_cast<size_t>(at) == got.size()) continue;
    session_.problem(fmt::format("{}: rank {} has {:#x} at byte {}, expected {:#x}", name_, r,
                                 got[static_cast<size_t>(at)], at, want[static_cast<size_t>(at)]));
  }
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
