// SPDX-License-Identifier: Apache-2.0
// Named results of a run, and their comparison with a file of expectations.
//
//   Figures f;  f.add("first_light.goodput", 386.1, "Gb/s");
//   Expectations e = Expectations::load("sim/bench/expected.yaml");
//   std::vector<std::string> bad = e.check(f);       // one line per figure that is off
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace rnic::sim {

struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
};

class Figures {
 public:
  void add(const std::string& name, double value, const std::string& unit) {
    all_.push_back({name, value, unit});
  }
  void add(const Figures& other, const std::string& prefix);
  const std::vector<Figure>& all() const { return all_; }
  const Figure* find(const std::string& name) const;

 private:
  std::vector<Figure> all_;
};

// What a figure must be: exactly a value (simulated time does not vary), at least, at most.
struct Expectation {
  std::string name, unit, why;
  std::optional<double> exactly, at_least, at_most;
};

class Expectations {
 public:
  static Expectations load(const std::string& path);
  const std::vector<Expectation>& all() const { return all_; }
  const Expectation* find(const std::string& name) const;
  // Empty when the figure is as expected or not mentioned; otherwise what is wrong.
  std::string check(const Figure& figure) const;
  // The file again with exact values taken from these figures.
  std::string rewritten(const Figures& figures) const;

 private:
  std::vector<Expectation> all_;
};

}  // namespace rnic::sim
