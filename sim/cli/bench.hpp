// SPDX-License-Identifier: Apache-2.0
// `rnic-sim bench`: runs the scenarios of sim/bench and holds their figures against
// sim/bench/expected.yaml.
#pragma once

#include <string>
#include <vector>

namespace rnic::sim {

struct BenchOptions {
  std::string folder;             // sim/bench
  std::vector<std::string> only;  // scenarios by name; empty: all
  bool update = false;            // write expected.yaml anew
  bool longer = false;            // the long run of those that have one, and nothing else
  std::string plot;               // folder for pictures of those that compare; empty: none
  unsigned best_of = 1;           // runs of the scenarios that report speed
};

// Returns the program's exit status.
int run_bench(const BenchOptions& options);

}  // namespace rnic::sim
