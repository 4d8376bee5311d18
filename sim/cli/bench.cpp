// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/run/session.hpp"

namespace rnic::sim {

namespace fs = std::filesystem;

int run_bench(const BenchOptions& options) {
  const std::string expected_file = options.folder + "/expected.yaml";
  const Expectations expected = Expectations::load(expected_file);
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(options.folder)) {
    const std::string stem = e.path().stem();
    if (e.path().extension() != ".yaml" || stem == "expected") continue;
    if (options.only.empty() ||
        std::find(options.only.begin(), options.only.end(), stem) != options.only.end())
      names.push_back(stem);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& n : options.only) {
    if (std::find(names.begin(), names.end(), n) == names.end()) {
      fmt::print("rnic-sim: FAIL: no benchmark '{}' in {}\n", n, options.folder);
      return 2;
    }
  }

  Figures all;
  bool good = true;
  for (const std::string& n : names) {
    const Settings settings = load_settings(options.folder + "/" + n + ".yaml", {}, nic_kinds());
    const bool speed = std::any_of(settings.steps.begin(), settings.steps.end(),
                                   [](const Step& s) { return s.traffic && s.traffic->speed; });
    Figures best;
    for (unsigned i = 0; i < (speed ? options.best_of : 1u); ++i) {
      fmt::print("{}{}: {}\n", n, i > 0 ? fmt::format(" (run {})", i + 1) : "", settings.title);
      std::fflush(stdout);
      std::vector<std::string> lines;
      Session session(settings, {}, [&](const std::string& line) { lines.push_back(line); });
      if (!session.run()) {
        good = false;
        for (const std::string& line : lines) fmt::print("{}\n", line);
      }
      const auto kcps = [](const Figures& f) {
        double v = 0;
        for (const Figure& x : f.all()) {
          if (x.unit == "k core cycles/s") v = std::max(v, x.value);
        }
        return v;
      };
      if (best.all().empty() || kcps(session.figures()) > kcps(best)) best = session.figures();
    }
    all.add(best, n + ".");
  }

  fmt::print("\n{:<56}{:>14}  {:<18}{:>12}  {}\n", "figure", "value", "unit", "goal", "");
  unsigned off = 0, held = 0;
  for (const Figure& f : all.all()) {
    const Expectation* e = expected.find(f.name);
    if (e == nullptr) continue;
    std::string goal;
    if (e->at_least) goal = fmt::format(">= {}", *e->at_least);
    if (e->at_most) goal = fmt::format("<= {}", *e->at_most);
    const std::string bad = expected.check(f);
    ++held;
    if (!bad.empty()) ++off;
    fmt::print("{:<56}{:>14.3f}  {:<18}{:>12}  {}\n", f.name, f.value, f.unit, goal,
               bad.empty() ? "ok" : "OFF: " + bad);
  }
  if (options.only.empty()) {
    for (const Expectation& e : expected.all()) {
      if (all.find(e.name) == nullptr) {
        fmt::print("{:<56}{:>14}\n", e.name, "not measured");
        ++off;
      }
    }
  }
  if (options.update) {
    std::ofstream(expected_file) << expected.rewritten(all);
    fmt::print("wrote {}\n", expected_file);
  }
  good = good && off == 0;
  fmt::print("rnic-sim: {}: {} figures, {} off\n", good ? "PASS" : "FAIL", held, off);
  return good ? 0 : 1;
}

}  // namespace rnic::sim
