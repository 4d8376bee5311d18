// SPDX-License-Identifier: Apache-2.0
//
// Runs a unit (RTL behind a port driver, or a model) over a trace and tells how far it deviates:
//
//   cc::Comparison c = cc::compare(*trace.dcqcn, unit);
//   c.good(); c.worst.at("rate").value; c.worst.at("rate").line;
//
// Limits: rates and target 1e-3 relative, alpha and U 1e-3 absolute, the rest exact.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/cc/trace.hpp"

namespace rnic::cc {

// What a unit reports after one event.
enum class DcqcnSeen { kQuery, kCnp, kByte, kDec, kInc };
struct DcqcnReport {
  DcqcnSeen op = DcqcnSeen::kQuery;
  uint64_t time_ns = 0;
  DcqcnState state;
};

class DcqcnUnit {
 public:
  virtual ~DcqcnUnit() = default;
  virtual void configure(const DcqcnParams& params) = 0;  // and starts over with one QP
  // Times never run backwards. Each call returns when its event is done.
  virtual void cnp(uint64_t time_ns) = 0;
  virtual void sent(uint64_t time_ns, uint64_t bytes) = 0;
  // Runs what is due before time_ns (inclusive: and at it) and reports the state.
  virtual void query(uint64_t time_ns, bool inclusive) = 0;
  // Reports since the last call, oldest first.
  virtual std::vector<DcqcnReport> take() = 0;
};

struct HpccReport {
  HpccResult result;
  double u = 1, rc_bps = 0, rate_bps = 0;
  unsigned stage = 0;
  uint32_t last_update_seq = 0;
  uint64_t window = 0, rc_window = 0;
  std::vector<double> hop_u, hop_rc;  // with multi_rate
  std::vector<unsigned> hop_stage;
};

class HpccUnit {
 public:
  virtual ~HpccUnit() = default;
  virtual void configure(const HpccParams& params) = 0;
  virtual HpccReport ack(const HpccAck& ack) = 0;
};

struct Deviation {
  double value = 0, limit = 0;
  bool relative = false;
  size_t line = 0;  // of the trace
  double got = 0, want = 0;
};

struct Comparison {
  size_t rows = 0, compared = 0;
  std::map<std::string, Deviation> worst;  // by quantity
  std::vector<std::string> differences;    // of what must be exact, and of rows that are missing
  std::string note;                        // why not everything was compared

  bool good() const;
  std::string summary() const;  // the largest deviation and where
};

Comparison compare(const DcqcnTrace& trace, DcqcnUnit& unit);
Comparison compare(const HpccTrace& trace, HpccUnit& unit);

// The models as units.
class DcqcnModelUnit : public DcqcnUnit {
 public:
  void configure(const DcqcnParams& params) override;
  void cnp(uint64_t time_ns) override;
  void sent(uint64_t time_ns, uint64_t bytes) override;
  void query(uint64_t time_ns, bool inclusive) override;
  std::vector<DcqcnReport> take() override;

 private:
  DcqcnModel::Observer observer();
  DcqcnModel model_{DcqcnParams()};
  std::vector<DcqcnReport> reports_;
};

class HpccModelUnit : public HpccUnit {
 public:
  void configure(const HpccParams& params) override;
  HpccReport ack(const HpccAck& ack) override;

 private:
  HpccParams params_;
  HpccModel model_{HpccParams()};
};

}  // namespace rnic::cc
