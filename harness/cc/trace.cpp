// SPDX-License-Identifier: Apache-2.0
#include "harness/cc/trace.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rnic::cc {
namespace {

using Json = nlohmann::json;

// The parameters, with the file in every complaint.
class Settings {
 public:
  explicit Settings(const std::string& file) : file_(file) {
    std::ifstream in(file);
    if (!in) fail("cannot be read; a trace is NAME.csv and NAME.json");
    try {
      json_ = Json::parse(in);
    } catch (const Json::exception& e) {
      fail(e.what());
    }
    if (!json_.is_object() || !json_.contains("params") || !json_["params"].is_object())
      fail("has no object 'params'");
  }
  [[noreturn]] void fail(const std::string& text) const {
    throw std::runtime_error(file_ + ": " + text);
  }
  std::string text(const char* key) const {
    if (!json_.contains(key) || !json_[key].is_string())
      fail(fmt::format("key '{}' is missing or not a string", key));
    return json_[key].get<std::string>();
  }
  bool has(const char* key) const { return json_["params"].contains(key); }
  double number(const char* key, double low, double high) const {
    const Json& params = json_["params"];
    if (!params.contains(key) || !params[key].is_number())
      fail(fmt::format("params.{} is missing or not a number", key));
    const double v = params[key].get<double>();
    if (!(v >= low && v <= high))
      fail(fmt::format("params.{} is {}, must be {} to {}", key, v, low, high));
    return v;
  }
  bool flag(const char* key) const { return number(key, 0, 1) != 0; }
  const Json& json() const { return json_; }

 private:
  std::string file_;
  Json json_;
};

// Rows by column name; every complaint names file, line and column.
class Table {
 public:
  explicit Table(const std::string& file) : file_(file), in_(file) {
    if (!in_) throw std::runtime_error(file + ": cannot be read");
    if (!next()) fail("", "is empty, a header line was expected");
    for (size_t i = 0; i < cells_.size(); ++i) column_[cells_[i]] = i;
  }
  bool next() {
    std::string text;
    if (!std::getline(in_, text)) return false;
    ++line_;
    if (!text.empty() && text.back() == '\r') text.pop_back();
    cells_.clear();
    size_t from = 0;
    for (size_t comma; (comma = text.find(',', from)) != std::string::npos; from = comma + 1)
      cells_.push_back(text.substr(from, comma - from));
    cells_.push_back(text.substr(from));
    if (!column_.empty() && cells_.size() != column_.size())
      fail("", fmt::format("has {} cells, the header {}", cells_.size(), column_.size()));
    return true;
  }
  size_t line() const { return line_; }
  [[noreturn]] void fail(const std::string& column, const std::string& text) const {
    throw std::runtime_error(
        fmt::format("{}:{}: {}{}", file_, line_, column.empty() ? "" : column + ": ", text));
  }
  bool has(const std::string& column) const { return column_.count(column) != 0; }
  const std::string& text(const std::string& column) const {
    const auto it = column_.find(column);
    if (it == column_.end()) fail(column, "no such column");
    return cells_[it->second];
  }
  bool filled(const std::string& column) const { return has(column) && !text(column).empty(); }
  double real(const std::string& column) const {
    const std::string& t = text(column);
    double v = 0;
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
    if (error != std::errc() || end != t.data() + t.size())
      fail(column, "'" + t + "' is not a number");
    return v;
  }
  uint64_t whole(const std::string& column, uint64_t most = UINT64_MAX) const {
    return whole_of(column, text(column), most);
  }
  uint64_t whole_of(const std::string& column, const std::string& t, uint64_t most) const {
    uint64_t v = 0;
    const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
    if (error != std::errc() || end != t.data() + t.size())
      fail(column, "'" + t + "' is not a whole number");
    if (v > most) fail(column, fmt::format("{} is more than {}", v, most));
    return v;
  }

 private:
  std::string file_;
  std::ifstream in_;
  size_t line_ = 0;
  std::vector<std::string> cells_;
  std::map<std::string, size_t> column_;
};

// The simulators cut intervals to whole microseconds, the paper's rules need not.
uint64_t interval_ns(const Settings& s, const char* key, bool whole_us) {
  const double us = s.number(key, 1e-3, 1e6);
  return whole_us ? static_cast<uint64_t>(us) * 1000
                  : static_cast<uint64_t>(std::llround(us * 1000));
}

DcqcnParams dcqcn_params(const Settings& s, const std::string& variant) {
  DcqcnParams p;
  p.production = variant == "mlx";
  p.line_bps = s.number("line_bps", 1e6, 1e12);
  p.min_bps = s.number("min_bps", 0, p.line_bps);
  p.ai_bps = s.number("ai_bps", 0, 1e12);
  p.hai_bps = s.number("hai_bps", 0, 1e12);
  p.g = s.number("g", 0, 0.999);
  p.alpha_init = s.json().contains("initial") ? s.json()["initial"].value("alpha", 1.0) : 1.0;
  if (variant == "byte_counter") p.alpha_init = 1;
  p.alpha_ns = interval_ns(s, "alpha_us", p.production);
  p.inc_ns = interval_ns(s, "inc_us", p.production);
  p.f = static_cast<unsigned>(s.number("F", 1, 255));
  if (p.production) {
    p.dec_ns = interval_ns(s, "dec_us", true);
    p.clamp = s.flag("clamp");
    p.first_cnp_frac = s.number("first_cnp_frac", 0, 1);
    p.byte_reset = 0;
  } else {
    // Without a counter in the file: one that never expires.
    p.byte_reset =
        s.has("bc_bytes") ? static_cast<uint64_t>(s.number("bc_bytes", 1, UINT32_MAX)) : UINT32_MAX;
  }
  return p;
}

DcqcnEvent dcqcn_event(const Table& t) {
  static const std::map<std::string, DcqcnEvent> kEvents = {
      {"INIT", DcqcnEvent::kInit}, {"CNP", DcqcnEvent::kCnp},     {"TXB", DcqcnEvent::kSend},
      {"END", DcqcnEvent::kEnd},   {"ALPHA", DcqcnEvent::kAlpha}, {"DEC", DcqcnEvent::kDec},
      {"INC", DcqcnEvent::kInc},   {"BYTE", DcqcnEvent::kByte}};
  const auto it = kEvents.find(t.text("event"));
  if (it == kEvents.end()) t.fail("event", "'" + t.text("event") + "' is no event");
  return it->second;
}

DcqcnPhase dcqcn_phase(const Table& t) {
  for (const DcqcnPhase p :
       {DcqcnPhase::kNone, DcqcnPhase::kFastRecovery, DcqcnPhase::kAdditive, DcqcnPhase::kHyper}) {
    if (t.text("phase") == name(p)) return p;
  }
  t.fail("phase", "'" + t.text("phase") + "' is none of none, fr, ai, hi");
}

// count:size:gap_ns
void burst(const Table& t, DcqcnRow& row) {
  const std::string& arg = t.text("arg");
  const size_t first = arg.find(':'), second = arg.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos)
    t.fail("arg", "'" + arg + "' is not count:size:gap_ns");
  row.count = t.whole_of("arg", arg.substr(0, first), 1'000'000);
  row.size = t.whole_of("arg", arg.substr(first + 1, second - first - 1), 65'535);
  row.gap_ns = t.whole_of("arg", arg.substr(second + 1), 1'000'000'000);
}

DcqcnTrace dcqcn_trace(const Settings& s, Table& t) {
  DcqcnTrace trace;
  trace.variant = s.text("variant");
  if (trace.variant != "mlx" && trace.variant != "paper" && trace.variant != "byte_counter")
    s.fail("variant '" + trace.variant + "' is none of mlx, paper, byte_counter");
  trace.params = dcqcn_params(s, trace.variant);
  while (t.next()) {
    DcqcnRow row;
    row.line = t.line();
    row.time_ns = t.whole("time_ns", 1'000'000'000'000);
    if (!trace.rows.empty() && row.time_ns < trace.rows.back().time_ns)
      t.fail("time_ns", "runs backwards");
    row.event = dcqcn_event(t);
    if (row.event == DcqcnEvent::kSend) burst(t, row);
    row.state.rate_bps = t.real("rate_bps");
    row.state.target_bps = t.real("target_bps");
    row.state.alpha = t.real("alpha");
    row.state.t_stage = static_cast<unsigned>(t.whole("t_stage", 1'000'000));
    row.has_stages = t.filled("b_stage");
    if (row.has_stages) {
      row.state.b_stage = static_cast<unsigned>(t.whole("b_stage", 1'000'000));
      row.state.phase = dcqcn_phase(t);
    }
    row.has_flags = t.filled("cnp_alpha_flag");
    if (row.has_flags) {
      row.state.alpha_flag = t.whole("cnp_alpha_flag", 1) != 0;
      row.state.dec_flag = t.whole("cnp_dec_flag", 1) != 0;
    }
    trace.rows.push_back(row);
  }
  return trace;
}

HpccRow hpcc_row(const Table& t, bool multi_rate) {
  HpccRow row;
  row.line = t.line();
  row.ack.ack_seq = static_cast<uint32_t>(t.whole("ack_seq"));
  row.ack.snd_nxt = static_cast<uint32_t>(t.whole("snd_nxt"));
  row.ack.nhop = static_cast<unsigned>(t.whole("nhop", 65'535));
  for (unsigned i = 0; i < std::min(row.ack.nhop, HpccModel::kHops); ++i) {
    const std::string hop = fmt::format("h{}_", i);
    row.ack.hops.push_back({static_cast<uint32_t>(t.whole(hop + "ts", 0xFFFFFF)),
                            static_cast<uint32_t>(t.whole(hop + "tx", 0xFFFFF)),
                            static_cast<uint32_t>(t.whole(hop + "q", 0x1FFFF)),
                            static_cast<uint32_t>(t.whole(hop + "b", 4))});
  }
  row.kind = t.text("kind");
  if (t.filled("u_max") && t.text("u_max") != "nan") row.u_max = t.real("u_max");
  if (t.filled("tau_ns") && row.u_max) row.tau_ns = t.whole("tau_ns");
  if (t.filled("U")) row.u = t.real("U");
  if (t.filled("inc_stage")) row.stage = t.whole("inc_stage");
  row.rc_bps = t.real("rc_bps");
  row.rate_bps = t.real("rate_bps");
  row.last_update_seq = static_cast<uint32_t>(t.whole("last_update_seq"));
  row.window = t.whole("win_bytes");
  row.rc_window = t.whole("wc_bytes");
  for (unsigned i = 0; multi_rate && i < HpccModel::kHops; ++i) {
    row.hop_u.push_back(t.real(fmt::format("U{}", i)));
    row.hop_rc.push_back(t.real(fmt::format("rc{}_bps", i)));
    row.hop_stage.push_back(static_cast<unsigned>(t.whole(fmt::format("stage{}", i))));
  }
  return row;
}

HpccTrace hpcc_trace(const Settings& s, Table& t) {
  HpccTrace trace;
  HpccParams& p = trace.params;
  p.line_bps = s.number("line_bps", 1e6, 1e12);
  p.min_bps = s.number("min_bps", 0, p.line_bps);
  p.ai_bps = s.number("ai_bps", 0, 1e12);
  p.eta = s.number("eta", 1e-3, 1);
  p.base_rtt_ns = static_cast<uint64_t>(s.number("base_rtt_ns", 1, 1e6));
  p.max_stage = static_cast<unsigned>(s.number("max_stage", 0, 255));
  p.int_multi = static_cast<unsigned>(s.number("int_multi", 1, 255));
  p.fast_react = s.flag("fast_react");
  p.multi_rate = s.flag("multi_rate");
  p.sample = s.flag("sample");
  p.path_check = false;  // traces have no path, and hop counts that change
  trace.do_not_match = s.json().contains("do_not_match");
  while (t.next()) trace.rows.push_back(hpcc_row(t, p.multi_rate));
  return trace;
}

}  // namespace

Trace Trace::load(const std::string& path) {
  std::filesystem::path csv = path, json = path;
  if (csv.extension() != ".csv" && csv.extension() != ".json")
    throw std::runtime_error(path + ": a trace is NAME.csv with NAME.json");
  csv.replace_extension(".csv");
  json.replace_extension(".json");
  const Settings settings(json.string());
  Table table(csv.string());
  Trace trace;
  trace.file = csv.string();
  trace.name = csv.stem().string();
  const std::string algorithm = settings.text("algorithm");
  if (algorithm == "dcqcn") {
    trace.dcqcn = dcqcn_trace(settings, table);
  } else if (algorithm == "hpcc") {
    trace.hpcc = hpcc_trace(settings, table);
  } else {
    settings.fail("algorithm '" + algorithm + "' is none of dcqcn, hpcc");
  }
  if ((trace.dcqcn && trace.dcqcn->rows.empty()) || (trace.hpcc && trace.hpcc->rows.empty()))
    throw std::runtime_error(trace.file + ": has no rows");
  return trace;
}

}  // namespace rnic::cc
