// SPDX-License-Identifier: Apache-2.0
//
// rnic-sim cc-trace: every trace, deviations with their place, bad files with file and line.

#include <algorithm>
#include <filesystem>

#include "sim/cc/cc_trace.hpp"
#include "sim/cli/cc_trace.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/trace_copy.hpp"

using namespace rnic;
namespace fs = std::filesystem;

namespace {

using test::kTraces;
using test::read_file;
using test::TraceCopy;

std::string all_of_report(const std::string& file) {
  std::string text;
  for (const std::string& line : sim::report(sim::run_cc_trace(file))) text += line + "\n";
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string complaint(const std::string& file) {
  try {
    sim::run_cc_trace(file);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every trace is followed, defects and foreign variants are not judged") {
  unsigned followed = 0, other = 0;
  std::vector<std::string> files;
  for (const auto& e : fs::directory_iterator(kTraces)) {
    if (e.path().extension() == ".csv") files.push_back(e.path().string());
  }
  for (const std::string& file : files) {
    const sim::CcTraceResult r = sim::run_cc_trace(file);
    INFO(sim::report(r).front());
    CHECK(r.good());
    if (r.judged) {
      ++followed;
      CHECK(r.comparison.compared == r.comparison.rows);
    } else {
      ++other;
    }
  }
  CHECK(followed == 10 + 18 + 18);
  CHECK(other == 4 + 1);
  CHECK(sim::cc_trace_command(files) == 0);
}

TEST_CASE("a deviation is told with quantity, size and line, and the command fails") {
  TraceCopy t("hpcc_queue_buildup");
  CHECK(has(all_of_report(t.path()), "t: rate_hpcc, 243 of 243 rows: follows"));
  // The rate of the second row, line 3.
  const std::string text = read_file(t.path());
  const size_t line = text.find('\n', text.find('\n') + 1) + 1;
  const std::string row = text.substr(line, text.find('\n', line) - line);
  SECTION("a rate") {
    std::vector<std::string> cells;
    std::istringstream in(row);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    std::istringstream names(text.substr(0, text.find('\n')));
    size_t at = 0;
    for (std::string name; std::getline(names, name, ',') && name != "rate_bps";) ++at;
    const double rate = std::stod(cells.at(at));
    cells[at] = std::to_string(static_cast<uint64_t>(rate * 1.01));
    std::string changed;
    for (const std::string& cell : cells) changed += (changed.empty() ? "" : ",") + cell;
    t.change(".csv", row, changed);
    const sim::CcTraceResult r = sim::run_cc_trace(t.path());
    CHECK(!r.good());
    CHECK(r.comparison.worst.at("rate").line == 3);
    CHECK(has(all_of_report(t.path()), "line 3: got "));
    CHECK(has(all_of_report(t.path()), "TOO LARGE"));
  }
  SECTION("what must be exact") {
    const size_t kind =
        row.find(",update,") != std::string::npos ? row.find(",update,") : row.find(",fast,");
    std::string changed = row;
    changed.insert(kind + 1, "x");
    t.change(".csv", row, changed);
    CHECK(has(all_of_report(t.path()), "line 3: kind is"));
  }
  CHECK(sim::cc_trace_command({kTraces + "hpcc_same_ts.json", t.path()}) == 1);
}

TEST_CASE("a trace that cannot be run is told with its file") {
  TraceCopy t("hpcc_zero_load");
  SECTION("a bad cell, with its line") {
    t.change(".csv", "\n", "\nten,");
    CHECK(has(complaint(t.path()), "t.csv:2: "));
  }
  SECTION("what the unit's registers cannot hold") {
    t.change(".json", "\"base_rtt_ns\": 9600", "\"base_rtt_ns\": 100");
    CHECK(has(complaint(t.path()), "t.csv: "));
    CHECK(has(complaint(t.path()), "512 ns"));
  }
  SECTION("no such file") { fs::remove(t.path(".json")); }
  CHECK(complaint(t.path()) != "");
  CHECK(sim::cc_trace_command({t.path()}) == 1);
  CHECK(complaint(kTraces + "README.md") != "");
}

TEST_CASE("a DCQCN interval that is no whole number of microseconds is refused") {
  TraceCopy t("dcqcn_paper_mlx_burst");
  t.change(".json", "\"inc_us\": 300", "\"inc_us\": 300.5");
  CHECK(has(complaint(t.path()), "300500 ns is no whole number of microseconds"));
}
