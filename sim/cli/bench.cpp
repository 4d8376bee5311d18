// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/run/plot.hpp"
#include "sim/run/session.hpp"

namespace rnic::sim {

namespace fs = std::filesystem;

namespace {

// Of one scenario, as it is or in one variant.
struct Result {
  std::string variant;
  Figures figures;
  std::vector<Curve> curves;
};

std::vector<std::string> benchmarks(const BenchOptions& options) {
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(options.folder)) {
    const std::string stem = e.path().stem();
    if (e.path().extension() != ".yaml" || stem == "expected") continue;
    if (options.only.empty() ||
        std::find(options.only.begin(), options.only.end(), stem) != options.only.end())
      names.push_back(stem);
  }
  std::sort(names.begin(), names.end());
  return names;
}

double speed_of(const Figures& f) {
  double v = 0;
  for (const Figure& x : f.all()) {
    if (x.unit == "k core cycles/s") v = std::max(v, x.value);
  }
  return v;
}

// The best of the runs that report speed, else the only one. `good` falls when something was wrong.
Result measure(const std::string& name, const Settings& settings, const Variant& variant,
               unsigned best_of, bool& good) {
  const bool speed = std::any_of(settings.steps.begin(), settings.steps.end(),
                                 [](const Step& s) { return s.traffic && s.traffic->speed; });
  Result best{variant.name, {}, {}};
  for (unsigned i = 0; i < (speed ? best_of : 1u); ++i) {
    fmt::print("{}{}{}: {}\n", name, variant.name.empty() ? "" : ", " + variant.name,
               i > 0 ? fmt::format(" (run {})", i + 1) : "", settings.title);
    if (settings.congestion) fmt::print("  {}\n", driver::describe(*settings.congestion));
    std::fflush(stdout);
    std::vector<std::string> lines;
    Session session(settings, {}, [&](const std::string& line) { lines.push_back(line); });
    if (!session.run()) {
      good = false;
      for (const std::string& line : lines) fmt::print("{}\n", line);
    }
    if (best.figures.all().empty() || speed_of(session.figures()) > speed_of(best.figures)) {
      best.figures = session.figures();
      best.curves = session.curves();
    }
  }
  return best;
}

// A row per figure, a column per variant.
void print_comparison(const Comparison& c, const std::vector<Result>& results) {
  std::string head = fmt::format("\n{:<34}", "");
  for (const Result& r : results) head += fmt::format("{:>16}", r.variant);
  fmt::print("{}\n", head);
  for (const std::string& name : c.figures) {
    std::string row, unit;
    for (const Result& r : results) {
      const Figure* f = r.figures.find(name);
      row += f == nullptr ? fmt::format("{:>16}", "-") : fmt::format("{:>16.3f}", f->value);
      if (f != nullptr) unit = f->unit;
    }
    fmt::print("{:<34}{}\n", name + (unit.empty() ? "" : ", " + unit), row);
  }
}

// A panel per curve, with all variants in it.
void write_plot(const std::string& file, const std::string& title, const Comparison& c,
                const std::vector<Result>& results) {
  std::vector<Panel> panels;
  for (const std::string& name : c.plot) {
    Panel panel{name, "", {}};
    for (const Result& r : results) {
      for (const Curve& curve : r.curves) {
        if (curve.name != name) continue;
        panel.unit = curve.unit;
        panel.curves.push_back({r.variant, curve.unit, curve.points});
      }
    }
    panels.push_back(std::move(panel));
  }
  if (const fs::path folder = fs::path(file).parent_path(); !folder.empty())
    fs::create_directories(folder);
  std::ofstream out(file);
  out << plot_svg(title, panels);
  if (!out) throw std::runtime_error("cannot write " + file);
  fmt::print("wrote {}\n", file);
}

}  // namespace

int run_bench(const BenchOptions& options) {
  const std::string expected_file = options.folder + "/expected.yaml";
  const Expectations expected = Expectations::load(expected_file);
  const std::vector<std::string> names = benchmarks(options);
  for (const std::string& n : options.only) {
    if (std::find(names.begin(), names.end(), n) == names.end()) {
      fmt::print("rnic-sim: FAIL: no benchmark '{}' in {}\n", n, options.folder);
      return 2;
    }
  }

  Figures all;
  bool good = true;
  for (const std::string& n : names) {
    const std::string file = options.folder + "/" + n + ".yaml";
    const Comparison c = load_comparison(file);
    if (options.longer && c.longer.empty()) continue;
    const std::string name = n + (options.longer ? ".long" : "");
    std::vector<Result> results;
    std::string title;
    for (const Variant& v : c.variants.empty() ? std::vector<Variant>(1) : c.variants) {
      std::vector<std::string> set = v.set;
      if (options.longer) set.insert(set.end(), c.longer.begin(), c.longer.end());
      const Settings settings = load_settings(file, set, nic_kinds());
      title = settings.title;
      results.push_back(measure(name, settings, v, options.best_of, good));
      all.add(results.back().figures, name + "." + (v.name.empty() ? "" : v.name + "."));
    }
    if (!c.figures.empty()) print_comparison(c, results);
    if (!options.plot.empty() && !c.plot.empty())
      write_plot(options.plot + "/" + name + ".svg", title, c, results);
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
  if (options.only.empty() && !options.longer) {
    for (const Expectation& e : expected.all()) {
      if (all.find(e.name) == nullptr && e.name.find(".long.") == std::string::npos) {
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
