// SPDX-License-Identifier: Apache-2.0
#include "sim/run/figures.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/scenario/scenario.hpp"

namespace rnic::sim {

void Figures::add(const Figures& other, const std::string& prefix) {
  for (const Figure& f : other.all_) all_.push_back({prefix + f.name, f.value, f.unit});
}

const Figure* Figures::find(const std::string& name) const {
  for (const Figure& f : all_) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

Expectations Expectations::load(const std::string& path) {
  scenario::Document doc = scenario::Document::load(path);
  Expectations out;
  {
    scenario::Reader r(doc);
    r.each("figures", [&](scenario::Reader& f, size_t) {
      Expectation e;
      f.req("name", e.name, scenario::text());
      f.opt("unit", e.unit, scenario::text());
      f.opt("why", e.why, scenario::text());
      f.opt("exactly", e.exactly, scenario::real());
      f.opt("at_least", e.at_least, scenario::real());
      f.opt("at_most", e.at_most, scenario::real());
      out.all_.push_back(e);
    });
  }
  doc.check();
  return out;
}

const Expectation* Expectations::find(const std::string& name) const {
  for (const Expectation& e : all_) {
    if (e.name == name) return &e;
  }
  return nullptr;
}

std::string Expectations::check(const Figure& figure) const {
  const Expectation* e = find(figure.name);
  if (e == nullptr) return "";
  // Figures are printed, and stored, with three decimals.
  if (e->exactly && std::abs(figure.value - *e->exactly) > 0.0006)
    return fmt::format("was {:.3f}, now {:.3f}", *e->exactly, figure.value);
  if (e->at_least && figure.value < *e->at_least) return fmt::format("below {}", *e->at_least);
  if (e->at_most && figure.value > *e->at_most) return fmt::format("above {}", *e->at_most);
  return "";
}

std::string Expectations::rewritten(const Figures& figures) const {
  std::string out =
      "# SPDX-License-Identifier: Apache-2.0\n"
      "# What `rnic-sim bench` must find. `exactly`: simulated time, the same on every machine; "
      "`rnic-sim bench --update`\n"
      "# writes it anew after a change that is meant. `at_least`, `at_most`: the goals.\n"
      "figures:\n";
  const auto number = [](double v) { return fmt::format("{:.3f}", v); };
  for (const Expectation& e : all_) {
    const Figure* f = figures.find(e.name);
    out += "  - {name: " + e.name + ", unit: \"" +
           (e.unit.empty() && f != nullptr ? f->unit : e.unit) + "\"";
    if (e.exactly) out += ", exactly: " + number(f != nullptr ? f->value : *e.exactly);
    if (e.at_least) out += fmt::format(", at_least: {}", *e.at_least);
    if (e.at_most) out += fmt::format(", at_most: {}", *e.at_most);
    if (!e.why.empty()) out += ", why: \"" + e.why + "\"";
    out += "}\n";
  }
  return out;
}

}  // namespace rnic::sim
