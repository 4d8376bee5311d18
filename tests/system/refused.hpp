// SPDX-License-Identifier: Apache-2.0
// Scenarios that must be refused.
//
//   const Refused refused{good_yaml};
//   refused("nodes: 5", "nodes: 17", "net.yaml:5");   // from, to, what the error says
#pragma once

#include <string>

#include "sim/run/settings.hpp"
#include "tests/support/catch.hpp"

namespace rnic::test {

// The scenario, called net.yaml, is refused when `from` in it becomes `to`; the error says `what`.
struct Refused {
  std::string good;
  void operator()(const std::string& from, const std::string& to, const std::string& what) const {
    std::string yaml = good;
    const size_t at = yaml.find(from);
    REQUIRE(at != std::string::npos);
    yaml.replace(at, from.size(), to);
    INFO(yaml);
    CHECK_THROWS_WITH(sim::parse_settings(yaml, "net.yaml"), contains_text(what));
  }
};

}  // namespace rnic::test
