// SPDX-License-Identifier: Apache-2.0
#include "sim/cc/cc_trace.hpp"

#include <Vcc_dcqcn.h>
#include <Vcc_hpcc.h>
#include <fmt/format.h>
#include <verilated.h>

#include <memory>
#include <stdexcept>

#include "harness/cc/dcqcn_port.hpp"
#include "harness/cc/hpcc_port.hpp"

namespace rnic::sim {
namespace {

// One Verilated unit, in reset when made.
template <class Top>
class Unit {
 public:
  Unit() : context_(std::make_unique<VerilatedContext>()) {
    top_ = std::make_unique<Top>(context_.get());
    top_->rst_i = 1;
    for (int n = 0; n < 4; ++n) tick();
    top_->rst_i = 0;
    tick();
  }
  ~Unit() { top_->final(); }
  Top& top() { return *top_; }
  void tick() {
    top_->clk_i = 1;
    top_->eval();
    top_->clk_i = 0;
    top_->eval();
  }

 private:
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Top> top_;
};

template <class Port, class Top, class Trace>
cc::Comparison follow(const Trace& trace) {
  Unit<Top> unit;
  Port port(unit.top(), [&] { unit.tick(); });
  return cc::compare(trace, port);
}

std::string deviation(const std::string& what, const cc::Deviation& d) {
  const std::string value = fmt::format("{:.3g}{}", d.value, d.relative ? " relative" : "");
  const std::string limit =
      fmt::format("limit {:.0e}{}", d.limit, d.value > d.limit ? "  TOO LARGE" : "");
  if (d.value == 0) return fmt::format("    {:<10} {:<20} {}", what, value, limit);
  return fmt::format("    {:<10} {:<20} line {}: got {:.10g}, trace {:.10g}  ({})", what, value,
                     d.line, d.got, d.want, limit);
}

}  // namespace

CcTraceResult run_cc_trace(const std::string& file) {
  const cc::Trace trace = cc::Trace::load(file);
  CcTraceResult r;
  r.name = trace.name;
  try {
    if (trace.dcqcn) {
      r.unit = "rate_dcqcn";
      r.comparison = follow<cc::DcqcnPort<Vcc_dcqcn>, Vcc_dcqcn>(*trace.dcqcn);
    } else {
      r.unit = "rate_hpcc";
      r.comparison = follow<cc::HpccPort<Vcc_hpcc>, Vcc_hpcc>(*trace.hpcc);
    }
  } catch (const std::exception& e) {
    throw std::runtime_error(trace.file + ": " + e.what());
  }
  r.judged = r.comparison.note.empty();
  return r;
}

std::vector<std::string> report(const CcTraceResult& r, size_t max_differences) {
  const cc::Comparison& c = r.comparison;
  std::vector<std::string> lines = {fmt::format("{}: {}, {} of {} rows: {}", r.name, r.unit,
                                                c.compared, c.rows,
                                                !r.judged  ? "not judged: " + c.note
                                                : c.good() ? "follows"
                                                           : "DEVIATES")};
  for (const auto& [what, d] : c.worst) lines.push_back(deviation(what, d));
  for (size_t i = 0; i < c.differences.size() && i < max_differences; ++i)
    lines.push_back("    " + c.differences[i]);
  if (c.differences.size() > max_differences)
    lines.push_back(fmt::format("    and {} more", c.differences.size() - max_differences));
  return lines;
}

}  // namespace rnic::sim
