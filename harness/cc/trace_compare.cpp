// SPDX-License-Identifier: Apache-2.0
#include "harness/cc/trace_compare.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace rnic::cc {
namespace {

constexpr double kRateLimit = 1e-3, kFractionLimit = 1e-3;

// Collects deviations of one comparison.
class Judge {
 public:
  explicit Judge(Comparison& c) : c_(c) {}
  void at(size_t line) { line_ = line; }
  void rate(const char* what, double got, double want) {
    note(what, std::abs(got - want) / std::max(std::abs(want), 1.0), kRateLimit, true, got, want);
  }
  void fraction(const char* what, double got, double want) {
    note(what, std::abs(got - want), kFractionLimit, false, got, want);
  }
  template <class T>
  void exact(const char* what, const T& got, const T& want) {
    if (got != want) differ(fmt::format("{} is {}, the trace has {}", what, got, want));
  }
  void differ(const std::string& text) {
    c_.differences.push_back(fmt::format("line {}: {}", line_, text));
  }

 private:
  void note(const char* what, double value, double limit, bool relative, double got, double want) {
    Deviation& d = c_.worst[what];
    if (d.line != 0 && !(value > d.value)) return;
    d = {value, limit, relative, line_, got, want};
  }
  Comparison& c_;
  size_t line_ = 0;
};

bool is_timer(DcqcnEvent e) {
  return e == DcqcnEvent::kAlpha || e == DcqcnEvent::kDec || e == DcqcnEvent::kInc;
}

// Feeds the stimuli of a trace in time order, asking for the state at every row.
class DcqcnStimulus {
 public:
  DcqcnStimulus(const DcqcnTrace& trace, DcqcnUnit& unit) : rows_(trace.rows), unit_(unit) {}
  void run() {
    for (next_ = 0; next_ < rows_.size(); ++next_) {
      const DcqcnRow& row = rows_[next_];
      switch (row.event) {
        case DcqcnEvent::kCnp:
          unit_.cnp(row.time_ns);
          break;
        case DcqcnEvent::kSend:
          burst(row);
          break;
        case DcqcnEvent::kInit:
          unit_.query(row.time_ns, false);
          break;
        case DcqcnEvent::kByte:
          break;  // comes from the packets
        default:
          ask(row.time_ns);
      }
    }
  }

 private:
  void ask(uint64_t time_ns) {
    if (time_ns == asked_) return;
    asked_ = time_ns;
    unit_.query(time_ns, true);
  }
  // Rows of timers that fall into the burst are asked for between its packets.
  void burst(const DcqcnRow& row) {
    unit_.query(row.time_ns, false);
    size_t ahead = next_ + 1;
    for (uint64_t k = 0; k < row.count; ++k) {
      const uint64_t now = row.time_ns + k * row.gap_ns;
      for (; ahead < rows_.size() && rows_[ahead].time_ns < now; ++ahead) {
        if (is_timer(rows_[ahead].event)) ask(rows_[ahead].time_ns);
      }
      unit_.sent(now, row.size);
    }
    next_ = ahead - 1;
  }
  const std::vector<DcqcnRow>& rows_;
  DcqcnUnit& unit_;
  size_t next_ = 0;
  uint64_t asked_ = UINT64_MAX;
};

DcqcnSeen wanted_op(DcqcnEvent e) {
  switch (e) {
    case DcqcnEvent::kCnp:
      return DcqcnSeen::kCnp;
    case DcqcnEvent::kDec:
      return DcqcnSeen::kDec;
    case DcqcnEvent::kInc:
      return DcqcnSeen::kInc;
    case DcqcnEvent::kByte:
      return DcqcnSeen::kByte;
    default:
      return DcqcnSeen::kQuery;
  }
}

// Matches rows and reports, both in time order.
class DcqcnMatcher {
 public:
  DcqcnMatcher(std::vector<DcqcnReport> reports, Comparison& c)
      : reports_(std::move(reports)), judge_(c) {}
  bool match(const DcqcnRow& row) {
    judge_.at(row.line);
    if (row.event == DcqcnEvent::kAlpha) return alpha_row(row);
    while (at_ < reports_.size() &&
           !(reports_[at_].op == wanted_op(row.event) && reports_[at_].time_ns == row.time_ns)) {
      if (reports_[at_].op != DcqcnSeen::kQuery) {
        judge_.differ(fmt::format("the unit had an event of its own at {} ns before this row",
                                  reports_[at_].time_ns));
        return false;
      }
      last_ = reports_[at_++].state;
    }
    if (at_ == reports_.size()) {
      judge_.differ(fmt::format("the unit had no such event at {} ns", row.time_ns));
      return false;
    }
    last_ = reports_[at_].state;
    if (row.event != DcqcnEvent::kSend && row.event != DcqcnEvent::kEnd) ++at_;
    rates(row, last_);
    judge_.fraction("alpha", last_.alpha, row.state.alpha);
    if (row.has_flags) judge_.exact("cnp_alpha_flag", last_.alpha_flag, row.state.alpha_flag);
    return true;
  }

 private:
  // A tick of alpha is no event of the unit: it counts ticks when it needs alpha. What it reports
  // next, at this time, has this tick in it; all else is as it was.
  bool alpha_row(const DcqcnRow& row) {
    while (at_ < reports_.size() && reports_[at_].time_ns < row.time_ns &&
           reports_[at_].op == DcqcnSeen::kQuery) {
      last_ = reports_[at_++].state;
    }
    if (at_ == reports_.size() || reports_[at_].time_ns != row.time_ns) {
      judge_.differ(fmt::format("the unit has no state at {} ns", row.time_ns));
      return false;
    }
    rates(row, last_);
    judge_.fraction("alpha", reports_[at_].state.alpha, row.state.alpha);
    if (row.has_flags)
      judge_.exact("cnp_alpha_flag", reports_[at_].state.alpha_flag, row.state.alpha_flag);
    return true;
  }
  void rates(const DcqcnRow& row, const DcqcnState& got) {
    judge_.rate("rate", got.rate_bps, row.state.rate_bps);
    judge_.rate("target", got.target_bps, row.state.target_bps);
    judge_.exact("t_stage", got.t_stage, row.state.t_stage);
    if (row.has_stages) {
      judge_.exact("b_stage", got.b_stage, row.state.b_stage);
      judge_.exact("phase", std::string(name(got.phase)), std::string(name(row.state.phase)));
    }
    if (row.has_flags) judge_.exact("cnp_dec_flag", got.dec_flag, row.state.dec_flag);
  }
  std::vector<DcqcnReport> reports_;
  Judge judge_;
  size_t at_ = 0;
  DcqcnState last_;
};

void compare_row(const HpccRow& row, const HpccReport& got, Judge& judge) {
  judge.exact("kind", std::string(name(got.result.kind)), row.kind);
  judge.rate("rate", got.rate_bps, row.rate_bps);
  judge.rate("rc", got.rc_bps, row.rc_bps);
  judge.rate("window", static_cast<double>(got.window), static_cast<double>(row.window));
  judge.rate("rc window", static_cast<double>(got.rc_window), static_cast<double>(row.rc_window));
  if (row.u) judge.fraction("U", got.u, *row.u);
  if (row.u_max) judge.fraction("u_max", got.result.u_max, *row.u_max);
  if (row.tau_ns) judge.exact("tau_ns", got.result.tau_ns, *row.tau_ns);
  if (row.stage) judge.exact("inc_stage", uint64_t{got.stage}, *row.stage);
  judge.exact("last_update_seq", got.last_update_seq, row.last_update_seq);
  for (size_t i = 0; i < row.hop_u.size(); ++i) {
    judge.fraction("hop U", got.hop_u.at(i), row.hop_u[i]);
    judge.rate("hop rc", got.hop_rc.at(i), row.hop_rc[i]);
    judge.exact("hop stage", got.hop_stage.at(i), row.hop_stage[i]);
  }
}

}  // namespace

bool Comparison::good() const {
  return differences.empty() && compared > 0 &&
         std::all_of(worst.begin(), worst.end(),
                     [](const auto& w) { return w.second.value <= w.second.limit; });
}

std::string Comparison::summary() const {
  std::string text = fmt::format("{} of {} rows", compared, rows);
  for (const auto& [what, d] : worst) {
    text += fmt::format("; {} {:.2g}{}{}", what, d.value, d.relative ? " relative" : "",
                        d.value > 0 ? fmt::format(" (line {})", d.line) : "");
  }
  text += fmt::format("; {} exact differences", differences.size());
  return note.empty() ? text : text + "; " + note;
}

Comparison compare(const DcqcnTrace& trace, DcqcnUnit& unit) {
  Comparison c;
  c.rows = trace.rows.size();
  unit.configure(trace.params);
  DcqcnStimulus(trace, unit).run();
  DcqcnMatcher matcher(unit.take(), c);
  for (const DcqcnRow& row : trace.rows) {
    if (!matcher.match(row)) break;
    ++c.compared;
  }
  if (trace.variant == "byte_counter")
    c.note = "variant byte_counter is no mode of the unit: it ran by the paper's rules";
  return c;
}

Comparison compare(const HpccTrace& trace, HpccUnit& unit) {
  Comparison c;
  c.rows = trace.rows.size();
  Judge judge(c);
  unit.configure(trace.params);
  for (const HpccRow& row : trace.rows) {
    judge.at(row.line);
    compare_row(row, unit.ack(row.ack), judge);
    ++c.compared;
  }
  if (trace.do_not_match) c.note = "the trace documents a defect of the simulator";
  return c;
}

DcqcnModel::Observer DcqcnModelUnit::observer() {
  return [this](const DcqcnModel& m, DcqcnOp op, uint64_t t) {
    if (op != DcqcnOp::kAlpha)
      reports_.push_back({op == DcqcnOp::kDec ? DcqcnSeen::kDec : DcqcnSeen::kInc, t, m.state()});
  };
}
void DcqcnModelUnit::configure(const DcqcnParams& params) {
  model_ = DcqcnModel(params);
  reports_.clear();
}
void DcqcnModelUnit::cnp(uint64_t t) {
  model_.cnp(t, observer());
  reports_.push_back({DcqcnSeen::kCnp, t, model_.state()});
}
void DcqcnModelUnit::sent(uint64_t t, uint64_t bytes) {
  if (model_.sent(t, bytes, observer())) reports_.push_back({DcqcnSeen::kByte, t, model_.state()});
}
void DcqcnModelUnit::query(uint64_t t, bool inclusive) {
  model_.advance(t, inclusive, observer());
  reports_.push_back({DcqcnSeen::kQuery, t, model_.state()});
}
std::vector<DcqcnReport> DcqcnModelUnit::take() { return std::exchange(reports_, {}); }

void HpccModelUnit::configure(const HpccParams& params) {
  params_ = params;
  model_ = HpccModel(params);
}
HpccReport HpccModelUnit::ack(const HpccAck& ack) {
  HpccReport r;
  r.result = model_.ack(ack);
  r.u = model_.u();
  r.rc_bps = model_.rc_bps();
  r.rate_bps = model_.rate_bps();
  r.stage = model_.stage();
  r.last_update_seq = model_.last_update_seq();
  r.window = static_cast<uint64_t>(model_.window_bytes(r.rate_bps));
  r.rc_window = static_cast<uint64_t>(model_.window_bytes(r.rc_bps));
  for (unsigned i = 0; params_.multi_rate && i < HpccModel::kHops; ++i) {
    r.hop_u.push_back(model_.hop_u(i));
    r.hop_rc.push_back(model_.hop_rc(i));
    r.hop_stage.push_back(model_.hop_stage(i));
  }
  return r;
}

}  // namespace rnic::cc
