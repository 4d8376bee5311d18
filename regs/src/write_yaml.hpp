// SPDX-License-Identifier: Apache-2.0
//
// A checked map as canonical YAML: one spelling for every map, without includes, expressions and
// anchors. Read again it is the same map, with the same hash.
//
//   std::cout << write_yaml(map);
#pragma once

#include <string>

#include "model.hpp"

namespace rnic::regs {

[[nodiscard]] std::string write_yaml(const Map& map);

}  // namespace rnic::regs
