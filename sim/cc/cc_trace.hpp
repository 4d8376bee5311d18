// SPDX-License-Identifier: Apache-2.0
//
// Runs the rate units (Verilated rate_dcqcn, rate_hpcc) over recorded state traces:
//
//   sim::CcTraceResult r = sim::run_cc_trace("tests/cc_traces/hpcc_random.csv");
//   r.comparison.worst.at("rate").line;
#pragma once

#include <string>
#include <vector>

#include "harness/cc/trace_compare.hpp"

namespace rnic::sim {

struct CcTraceResult {
  std::string name, unit;  // unit: rate_dcqcn, rate_hpcc
  cc::Comparison comparison;
  // False: the trace is not what the unit does (note says why), so it can be neither right nor
  // wrong.
  bool judged = true;
  bool good() const { return !judged || comparison.good(); }
};

// NAME.csv or NAME.json. A bad trace throws std::runtime_error with file and line or key.
CcTraceResult run_cc_trace(const std::string& file);

// One line for the trace, one per quantity with its largest deviation, up to max_differences of
// what must be exact.
std::vector<std::string> report(const CcTraceResult& result, size_t max_differences = 5);

}  // namespace rnic::sim
