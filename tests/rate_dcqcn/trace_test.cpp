// SPDX-License-Identifier: Apache-2.0
//
// rate_dcqcn over the recorded traces of the production form and of the paper's rules.
#include <Vrate_dcqcn_16.h>

#include <algorithm>
#include <filesystem>

#include "harness/cc/dcqcn_port.hpp"
#include "tests/support/bench.hpp"
#include "tests/support/catch.hpp"

using namespace rnic::test;
using namespace rnic::cc;

namespace {

std::vector<std::string> traces(const std::string& start) {
  std::vector<std::string> found;
  for (const auto& e : std::filesystem::directory_iterator(RNIC_SOURCE_DIR "/tests/cc_traces")) {
    const std::string name = e.path().stem().string();
    if (e.path().extension() == ".csv" && name.rfind(start, 0) == 0)
      found.push_back(e.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void follow(const std::vector<std::string>& files) {
  Bench<Vrate_dcqcn_16> bench;
  bench.reset();
  DcqcnPort<Vrate_dcqcn_16> unit(bench.top(), [&] { bench.tick(); });
  for (const std::string& file : files) {
    const Trace t = Trace::load(file);
    const Comparison c = compare(*t.dcqcn, unit);
    INFO(t.name << ": " << c.summary()
                << (c.differences.empty() ? "" : "\n" + c.differences.front()));
    CHECK(c.good());
    CHECK(c.compared == c.rows);
  }
}

}  // namespace

TEST_CASE("rate_dcqcn follows every trace of the production form at every row") {
  const auto files = traces("dcqcn_mlx_");
  REQUIRE(files.size() == 10);
  follow(files);
}

TEST_CASE("rate_dcqcn follows the paper's rules over every stimulus at every row") {
  const auto files = traces("dcqcn_paper_");
  REQUIRE(files.size() == 18);
  follow(files);
}
