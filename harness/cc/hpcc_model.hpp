// SPDX-License-Identifier: Apache-2.0
//
// The HPCC sender of one QP in double precision, written from the facts (roce.md section 7): the
// window of SIGCOMM 2019 as a rate with per-hop telemetry, and the rate formula. It is a sound
// unit: sequence numbers are modular, a hop whose clock stood still is ignored, U = 0 means the
// largest rate, and a changed path only stores telemetry (path_check).
//
//   HpccModel sender(params);
//   HpccResult r = sender.ack({.ack_seq = 4000, .snd_nxt = 124000, .hops = {{ts, tx, q, b}}, .nhop
//   = 1}); r.kind == HpccKind::kFirst; sender.rate_bps();
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rnic::cc {

// kFormula: R = C (1 - alpha Q / Kmax). kCutOld: every ACK cuts the rate by alpha Q / Kmax of
// itself and adds ai_bps, so that it rests at ai_bps / (alpha Q / Kmax) and rises when the queue is
// gone.
enum class HpccMode { kWindow, kFormula, kCutOld };

struct HpccParams {
  HpccMode mode = HpccMode::kWindow;
  double line_bps = 100e9, min_bps = 1e9, ai_bps = 40e6, eta = 0.95;
  uint64_t base_rtt_ns = 9600;
  unsigned max_stage = 5, int_multi = 1;
  bool fast_react = true, multi_rate = false, sample = false;
  bool path_check = true;  // another number of hops, another path: telemetry is only stored
  unsigned tx_limit = 0;   // most bytes of a hop, of what its link can; 0: no limit
  double alpha = 0.5, kmax_bytes = 400e3;  // formula

  // SIGCOMM 2019 (W_AI shared by so many flows), and the published simulator's run script; both
  // with telemetry in units of that script and a limit of four times a link.
  static HpccParams paper(double line_bps, uint64_t base_rtt_ns, unsigned flows);
  static HpccParams production_defaults(double line_bps, uint64_t base_rtt_ns);
};

// One hop as its header carries it: ts 24 bits of 1 ns, tx 20 bits of 128 * int_multi bytes, q 17
// bits of 80 * int_multi bytes, b the index into 25, 50, 100, 200, 400 Gb/s.
struct HpccHop {
  uint32_t ts = 0, tx = 0, q = 0, b = 0;
  bool operator==(const HpccHop&) const = default;
};

struct HpccAck {
  uint32_t ack_seq = 0, snd_nxt = 0;
  std::vector<HpccHop> hops;
  unsigned nhop = 0;  // as the header says, may be more than there are hops
  unsigned path = 0;  // identifier of the path
};

enum class HpccKind { kFirst, kUpdate, kFast, kIgnored, kNewPath };
const char* name(HpccKind kind);

struct HpccResult {
  HpccKind kind = HpccKind::kIgnored;
  bool loaded = false;  // u_max and tau_ns are there
  double u_max = 0;
  uint64_t tau_ns = 0;
};

class HpccModel {
 public:
  static constexpr unsigned kHops = 5;
  // seq_bits: width of the sequence numbers.
  explicit HpccModel(const HpccParams& params, unsigned seq_bits = 32);
  HpccResult ack(const HpccAck& ack);

  double rate_bps() const { return rate_; }
  double rc_bps() const { return rc_; }
  double u() const { return u_; }
  unsigned stage() const { return stage_; }
  uint32_t last_update_seq() const { return last_; }
  double hop_u(unsigned hop) const { return per_hop_[hop].u; }
  double hop_rc(unsigned hop) const { return per_hop_[hop].rc; }
  unsigned hop_stage(unsigned hop) const { return per_hop_[hop].stage; }
  // Bytes that may be in flight at a rate: its share of line rate times base RTT, at least 1.
  double window_bytes(double rate_bps) const;
  // How near the last decision came to its threshold: |U / eta - 1|, the least over its hops.
  double margin() const { return margin_; }

 private:
  struct PerHop {
    double u = 1, rc = 0;
    unsigned stage = 0;
  };
  struct Step {
    double rate;
    unsigned stage;
  };
  bool ahead(uint32_t a, uint32_t b) const;  // a is later than b
  double load(const HpccHop& now, const HpccHop& old, uint64_t tau) const;
  double filter(double u, double load, uint64_t tau) const;
  Step step(double rc, double u, unsigned stage);
  void shared(const HpccAck& ack, bool full, HpccResult& result);
  void separate(const HpccAck& ack, bool full);
  bool skipped(const HpccHop& hop, bool full) const;
  void formula(const HpccAck& ack);

  HpccParams p_;
  uint32_t seq_mask_;
  bool primed_ = false;
  uint32_t last_ = 0;
  unsigned nhop_ = 0, path_ = 0;
  std::array<HpccHop, kHops> hops_{};
  std::array<PerHop, kHops> per_hop_{};
  double u_ = 1, rc_, rate_, margin_ = 1;
  unsigned stage_ = 0;
};

// The rate formula of the simplified mode: R = C (1 - alpha Q / Kmax) between the bounds.
double hpcc_formula(double line_bps, double min_bps, double alpha, double queue_bytes,
                    double kmax_bytes);

}  // namespace rnic::cc
