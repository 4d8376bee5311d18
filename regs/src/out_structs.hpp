// SPDX-License-Identifier: Apache-2.0
//
// The register file with its hardware side in packed structs: <map>_<block>_ports_pkg.sv, the
// module <map>_<block>_st around the flat one, and its pins for the bench.
#pragma once

#include "outputs.hpp"

namespace rnic::regs {

void out_structs(const Map& map, OutFiles& files);

}  // namespace rnic::regs
