// SPDX-License-Identifier: Apache-2.0
#include "harness/cc/hpcc_model.hpp"

#include <algorithm>
#include <cmath>

namespace rnic::cc {
namespace {

constexpr uint32_t kTsMask = 0xFFFFFF, kTxMask = 0xFFFFF;
constexpr double kTxUnit = 128, kQueueUnit = 80;  // bytes
constexpr double kMostLoad = 4096;                // of a hop

double hop_bps(unsigned b) { return 25e9 * static_cast<double>(1u << b); }

}  // namespace

const char* name(HpccKind kind) {
  static const char* const kNames[] = {"first", "update", "fast", "ignored", "new_path"};
  return kNames[static_cast<int>(kind)];
}

HpccParams HpccParams::paper(double line_bps, uint64_t base_rtt_ns, unsigned flows) {
  HpccParams p;
  p.line_bps = line_bps;
  p.min_bps = 10e6;
  p.base_rtt_ns = base_rtt_ns;
  p.ai_bps = line_bps * (1 - p.eta) / std::max(flows, 1u);
  p.int_multi = std::max(1u, static_cast<unsigned>(line_bps / 25e9));
  p.tx_limit = 4;
  p.kmax_bytes = 400e3 * line_bps / 100e9;
  return p;
}

HpccParams HpccParams::production_defaults(double line_bps, uint64_t base_rtt_ns) {
  HpccParams p = paper(line_bps, base_rtt_ns, 1);
  p.min_bps = 100e6;
  p.ai_bps = 10e6 * line_bps / 25e9;
  p.max_stage = 0;
  return p;
}

HpccModel::HpccModel(const HpccParams& params, unsigned seq_bits)
    : p_(params),
      seq_mask_(seq_bits >= 32 ? UINT32_MAX : (1u << seq_bits) - 1),
      rc_(params.line_bps),
      rate_(params.line_bps) {
  for (PerHop& h : per_hop_) h.rc = p_.line_bps;
}

bool HpccModel::ahead(uint32_t a, uint32_t b) const {
  const uint32_t distance = (a - b) & seq_mask_;
  return distance != 0 && distance <= seq_mask_ / 2;
}

double HpccModel::window_bytes(double rate_bps) const {
  return std::max(1.0, std::floor(rate_bps * static_cast<double>(p_.base_rtt_ns) / 8e9));
}

double HpccModel::load(const HpccHop& now, const HpccHop& old, uint64_t tau) const {
  const double multi = p_.int_multi;
  const double bytes = static_cast<double>((now.tx - old.tx) & kTxMask) * kTxUnit * multi;
  const double queue = static_cast<double>(std::min(now.q, old.q)) * kQueueUnit * multi;
  const double bps = hop_bps(now.b);
  double sent = bytes * 8e9 / static_cast<double>(tau) / bps;
  if (p_.tx_limit != 0) sent = std::min<double>(sent, p_.tx_limit);
  const double load = sent + queue * 8e9 / (bps * static_cast<double>(p_.base_rtt_ns));
  return std::min(load, kMostLoad);
}

double HpccModel::filter(double u, double load, uint64_t tau) const {
  const double t = static_cast<double>(p_.base_rtt_ns), step = static_cast<double>(tau);
  return (u * (t - step) + load * step) / t;
}

HpccModel::Step HpccModel::step(double rc, double u, unsigned stage) {
  margin_ = std::min(margin_, std::abs(u / p_.eta - 1));
  Step next{rc, stage + 1};
  if (u >= p_.eta || stage >= p_.max_stage) {
    next = {u > 0 ? rc * p_.eta / u : p_.line_bps, 0};
  }
  next.rate = std::min(std::max(next.rate + p_.ai_bps, p_.min_bps), p_.line_bps);
  return next;
}

bool HpccModel::skipped(const HpccHop& hop, bool full) const {
  return p_.sample && !full && hop.q == 0;
}

HpccResult HpccModel::ack(const HpccAck& ack) {
  HpccResult result;
  margin_ = 1;
  const bool full = !primed_ || ahead(ack.ack_seq, last_);
  if (!full && !p_.fast_react) return result;
  result.kind = full ? HpccKind::kUpdate : HpccKind::kFast;
  const bool usable =
      ack.nhop > 0 && ack.nhop <= kHops &&
      std::all_of(ack.hops.begin(), ack.hops.end(), [](const HpccHop& h) { return h.b <= 4; });
  const bool moved = p_.path_check && (ack.nhop != nhop_ || ack.path != path_);
  if (!primed_ || (usable && moved)) {
    result.kind = primed_ ? HpccKind::kNewPath : HpccKind::kFirst;
    if (!primed_) last_ = ack.snd_nxt & seq_mask_;
    if (usable) {
      std::copy(ack.hops.begin(), ack.hops.end(), hops_.begin());
      nhop_ = ack.nhop;
      path_ = ack.path;
      if (primed_ && p_.multi_rate) per_hop_.fill({1, rate_, 0});  // other hops: from this rate on
      primed_ = true;
    }
  } else if (usable && p_.mode == HpccMode::kWindow) {
    if (p_.multi_rate) {
      separate(ack, full);
    } else {
      shared(ack, full, result);
    }
  }
  if (usable && p_.mode != HpccMode::kWindow) formula(ack);
  if (full && ahead(ack.snd_nxt, last_)) last_ = ack.snd_nxt & seq_mask_;
  return result;
}

void HpccModel::formula(const HpccAck& ack) {
  uint32_t most = 0;
  for (const HpccHop& h : ack.hops) most = std::max(most, h.q);
  const double queue = most * kQueueUnit * p_.int_multi;
  if (p_.mode == HpccMode::kFormula) {
    rate_ = hpcc_formula(p_.line_bps, p_.min_bps, p_.alpha, queue, p_.kmax_bytes);
  } else {
    const double cut = std::min(1.0, p_.alpha * queue / p_.kmax_bytes);
    rate_ = std::min(std::max(rate_ * (1 - cut) + p_.ai_bps, p_.min_bps), p_.line_bps);
  }
}

void HpccModel::shared(const HpccAck& ack, bool full, HpccResult& result) {
  double most = 0;
  uint64_t tau = 0;
  bool any = false;
  for (size_t i = 0; i < ack.hops.size(); ++i) {
    const HpccHop& hop = ack.hops[i];
    if (skipped(hop, full)) continue;
    any = true;
    const uint64_t dt = (hop.ts - hops_[i].ts) & kTsMask;
    if (dt == 0) continue;
    const double u = load(hop, hops_[i], dt);
    if (u > most) {
      most = u;
      tau = dt;
    }
    hops_[i] = hop;
  }
  if (!any) return;
  result = {result.kind, true, most, std::min(tau, p_.base_rtt_ns)};
  u_ = filter(u_, most, result.tau_ns);
  const Step next = step(rc_, u_, stage_);
  rate_ = next.rate;
  if (full) {
    rc_ = next.rate;
    stage_ = next.stage;
  }
}

void HpccModel::separate(const HpccAck& ack, bool full) {
  double least = p_.line_bps;
  bool any = false;
  for (size_t i = 0; i < ack.hops.size(); ++i) {
    const HpccHop& hop = ack.hops[i];
    PerHop& state = per_hop_[i];
    if (skipped(hop, full)) {
      least = std::min(least, state.rc);
      continue;
    }
    any = true;
    const uint64_t dt = (hop.ts - hops_[i].ts) & kTsMask;
    if (dt != 0) {
      state.u = filter(state.u, load(hop, hops_[i], dt), std::min<uint64_t>(dt, p_.base_rtt_ns));
      hops_[i] = hop;
    }
    const Step next = step(state.rc, state.u, state.stage);
    least = std::min(least, next.rate);
    if (full) {
      state.rc = next.rate;
      state.stage = next.stage;
    }
  }
  if (!any) return;
  rate_ = least;
  if (full) rc_ = least;
}

double hpcc_formula(double line_bps, double min_bps, double alpha, double queue_bytes,
                    double kmax_bytes) {
  const double rate = line_bps * (1 - alpha * queue_bytes / kmax_bytes);
  return std::min(std::max(rate, min_bps), line_bps);
}

}  // namespace rnic::cc
