// SPDX-License-Identifier: Apache-2.0
// What contexts in host memory cost: WRITEs on QPs chosen at random, and one WRITE alone.
#include <fmt/format.h>

#include <algorithm>

#include "regs/gen/rnic_regs.h"
#include "sim/run/crowd.hpp"

namespace rnic::sim {

namespace {
constexpr TimePs kSettlePs = 1'500'000;  // an ACK may overtake data on their way into memory
constexpr TimePs kAloneLimitPs = 50'000'000;
constexpr uint32_t kWays = 8;  // of a set of contexts on chip

double at(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

// The messages of one step.
class RandomRun {
 public:
  RandomRun(Session& s, const std::string& name, const RandomStep& step)
      : s_(s), crowd_(s.crowd()), name_(name), step_(step), flying_(step.qps) {
    rng_.reseed(s.seed("random." + name));
    for (uint32_t i = 0; i < Crowd::kSlots; ++i) free_.push_back(i);
  }

  void run() {
    const TimePs end = s_.world().now_ps() + step_.limit_ps;
    while (done_.size() < step_.count || !settling_.empty()) {
      collect();
      post();
      if (s_.world().now_ps() > end)
        throw TimeOut(fmt::format("{} of {} messages completed within {} ns", done_.size(),
                                  step_.count, step_.limit_ps / 1000));
      s_.world().run_until(s_.world().now_ps() + step_.grain_ps);
      s_.progress(fmt::format("{}: {} of {} messages", name_, done_.size(), step_.count));
    }
  }

  // Without the first tenth.
  double goodput() const {
    const size_t warm = done_.size() / 10;
    const auto ns = static_cast<double>(done_.back().visible_ps - done_[warm].visible_ps) / 1000.0;
    return static_cast<double>(done_.size() - 1 - warm) * step_.size * 8.0 / ns;
  }
  std::vector<double> latencies() const {  // ns, sorted
    std::vector<double> v;
    for (size_t i = done_.size() / 10; i < done_.size(); ++i)
      v.push_back(static_cast<double>(done_[i].visible_ps - done_[i].posted_ps) / 1000.0);
    std::sort(v.begin(), v.end());
    return v;
  }

 private:
  struct Message {
    uint32_t slot = 0;
    uint16_t index = 0;
    TimePs posted_ps = 0, visible_ps = 0;
  };

  void post() {
    while (posted_ < step_.count && posted_ - done_.size() < step_.in_flight && !free_.empty()) {
      const auto qp = static_cast<uint32_t>(rng_.below(step_.qps));
      if (!crowd_.has_room(qp)) continue;
      Message m;
      m.slot = free_.front();
      free_.pop_front();
      m.posted_ps = s_.world().now_ps();
      m.index = crowd_.write(qp, m.slot, step_.size);
      flying_[qp].push_back(m);
      ++posted_;
    }
  }

  void collect() {
    while (const auto d = crowd_.poll()) {
      auto& queue = flying_.at(d->qp);
      if (queue.empty() || queue.front().index != d->index)
        throw std::runtime_error(fmt::format("QP {}: completion for block {}, which is not next",
                                             crowd_.number(d->qp), d->index));
      Message m = queue.front();
      queue.pop_front();
      m.visible_ps = d->visible_ps;
      done_.push_back(m);
      settling_.push_back(m);
    }
    const TimePs settle = s_.settle_ps(kSettlePs);
    while (!settling_.empty() && settling_.front().visible_ps + settle <= s_.world().now_ps()) {
      const Message m = settling_.front();
      settling_.pop_front();
      if (const std::string d = crowd_.difference(m.slot, step_.size); !d.empty())
        s_.problem(fmt::format("{}: message in slot {}: {}", name_, m.slot, d));
      free_.push_back(m.slot);
    }
  }

  Session& s_;
  Crowd& crowd_;
  std::string name_;
  const RandomStep& step_;
  std::vector<std::deque<Message>> flying_;  // per QP
  std::deque<Message> settling_;
  std::vector<Message> done_;  // in the order of their completions
  std::deque<uint32_t> free_;
  size_t posted_ = 0;
  mem::Random rng_;
};

// WRITEs alone, with the contexts of both QPs where they are wanted.
class MissRun {
 public:
  MissRun(Session& s, const std::string& name, const MissStep& step)
      : s_(s), crowd_(s.crowd()), name_(name), step_(step) {
    const driver::Capabilities& cap = crowd_.host().nic().capabilities();
    if (cap.n_ctx == cap.n_qp)
      throw std::runtime_error("context_miss: all contexts of this NIC are on chip");
    sets_ = cap.n_ctx / kWays;
    // Twice as many of a set as it can hold, beside the one that goes.
    crowd_.grow((2 * kWays + 2) * std::max(sets_, 2u));
  }

  // Mean of `repeat` pairs: from the doorbell to the visible completion.
  double time_ns(bool sender_away, bool receiver_away) {
    double sum = 0;
    for (uint32_t i = 0; i < step_.repeat; ++i) {
      const uint32_t qp = 2 * (i % (sets_ > 1 ? sets_ / 2 : 1));
      (void)alone(qp);  // both are here
      if (sender_away) push_out(qp);
      if (receiver_away) push_out(Crowd::peer(qp));
      s_.world().run_until(s_.world().now_ps() + 2'000'000);
      const uint64_t before = misses();
      s_.world().run_until(s_.world().now_ps() + 1'000'000);
      sum += alone(qp);
      const uint64_t missed = misses() - before;
      const uint64_t meant = (sender_away ? 1 : 0) + (receiver_away ? 1 : 0);
      if (missed != meant)
        s_.problem(fmt::format("{}: {} contexts were read, {} are away", name_, missed, meant));
    }
    return sum / step_.repeat;
  }

 private:
  uint64_t misses() { return crowd_.host().nic().counter(RNIC_CNT_CTX_MISSES); }

  double alone(uint32_t qp) {
    const TimePs start = s_.world().now_ps();
    crowd_.write(qp, 0, step_.size);
    std::optional<Crowd::Done> d;
    s_.world().run_while([&] { return !(d = crowd_.poll()); }, kAloneLimitPs, "the WRITE alone");
    s_.world().run_until(s_.world().now_ps() + s_.settle_ps(kSettlePs));
    if (const std::string x = crowd_.difference(0, step_.size); !x.empty())
      s_.problem(fmt::format("{}: {}", name_, x));
    return static_cast<double>(d->visible_ps - start) / 1000.0;
  }

  // Others of its set are asked for until it must be gone.
  void push_out(uint32_t qp) {
    const uint32_t set = crowd_.number(qp) % sets_;
    for (uint32_t other = 0; other < crowd_.size(); ++other) {
      const uint32_t number = crowd_.number(other);
      if (other / 2 != qp / 2 && number % sets_ == set) crowd_.host().nic().query_qp(number);
    }
  }

  Session& s_;
  Crowd& crowd_;
  std::string name_;
  const MissStep& step_;
  uint32_t sets_ = 1;
};
}  // namespace

void run_random_qps(Session& s, const std::string& name, const RandomStep& step) {
  Crowd& crowd = s.crowd();
  crowd.grow(step.qps);
  s.world().run_until(s.world().now_ps() + 2'000'000);
  driver::Device& nic = crowd.host().nic();
  const uint64_t before = nic.counter(RNIC_CNT_CTX_MISSES);
  RandomRun run(s, name, step);
  run.run();
  const auto misses = static_cast<double>(nic.counter(RNIC_CNT_CTX_MISSES) - before);
  const std::vector<double> ns = run.latencies();
  const double per_message = misses / step.count;
  s.print(fmt::format(
      "  {} WRITEs of {} B on {} QPs at random, {} at a time, {} contexts on chip: {:.1f} Gb/s, "
      "{:.3f} contexts read per message; doorbell to completion {:.0f} ns (P50), {:.0f} ns (P99)",
      step.count, step.size, step.qps, step.in_flight, nic.capabilities().n_ctx, run.goodput(),
      per_message, at(ns, 0.5), at(ns, 0.99)));
  s.figure(name + ".goodput", run.goodput(), "Gb/s");
  s.figure(name + ".misses_per_message", per_message, "contexts");
  s.figure(name + ".latency_p50", at(ns, 0.5), "ns");
  s.figure(name + ".latency_p99", at(ns, 0.99), "ns");
}

void run_context_miss(Session& s, const std::string& name, const MissStep& step) {
  MissRun run(s, name, step);
  const double here = run.time_ns(false, false);
  const double sender = run.time_ns(true, false) - here;
  const double receiver = run.time_ns(false, true) - here;
  const double both = run.time_ns(true, true) - here;
  s.print(fmt::format(
      "  one WRITE of {} B, doorbell to completion: {:.1f} ns; sender's context away +{:.1f}, "
      "receiver's +{:.1f}, both +{:.1f} (published for a miss: about 50)",
      step.size, here, sender, receiver, both));
  s.figure(name + ".here", here, "ns");
  s.figure(name + ".sender", sender, "ns");
  s.figure(name + ".receiver", receiver, "ns");
  s.figure(name + ".both", both, "ns");
}

}  // namespace rnic::sim
