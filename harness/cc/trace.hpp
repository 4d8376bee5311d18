// SPDX-License-Identifier: Apache-2.0
//
// State traces of a congestion control sender: NAME.csv with one row per event, NAME.json with the
// parameters. README.md has the columns.
//
//   cc::Trace trace = cc::Trace::load("dcqcn_mlx_burst.csv");   // or the .json
//   if (trace.dcqcn) replay(*trace.dcqcn, unit);
//
// A bad file throws std::runtime_error with file, line or key, and what was expected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/cc/dcqcn_model.hpp"
#include "harness/cc/hpcc_model.hpp"

namespace rnic::cc {

enum class DcqcnEvent { kInit, kCnp, kSend, kEnd, kAlpha, kDec, kInc, kByte };

struct DcqcnRow {
  size_t line = 0;  // in the file
  uint64_t time_ns = 0;
  DcqcnEvent event = DcqcnEvent::kInit;
  uint64_t count = 0, size = 0, gap_ns = 0;  // of kSend
  DcqcnState state;
  // Columns that a variant may leave empty.
  bool has_stages = false, has_flags = false;
};

struct DcqcnTrace {
  std::string variant;  // mlx, paper, byte_counter
  DcqcnParams params;
  std::vector<DcqcnRow> rows;
};

struct HpccRow {
  size_t line = 0;
  HpccAck ack;
  std::string kind;
  std::optional<double> u_max, u;
  std::optional<uint64_t> tau_ns, stage;
  double rc_bps = 0, rate_bps = 0;
  uint32_t last_update_seq = 0;
  uint64_t window = 0, rc_window = 0;
  std::vector<double> hop_u, hop_rc;  // with multi_rate
  std::vector<unsigned> hop_stage;
};

struct HpccTrace {
  HpccParams params;
  bool do_not_match = false;  // documents a defect of the simulator
  std::vector<HpccRow> rows;
};

struct Trace {
  std::string file, name;
  std::optional<DcqcnTrace> dcqcn;
  std::optional<HpccTrace> hpcc;

  static Trace load(const std::string& path);
};

}  // namespace rnic::cc
