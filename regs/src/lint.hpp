// SPDX-License-Identifier: Apache-2.0
//
// Warnings about maps that are right but hard on drivers, PCIe ones above all. For checked maps.
//
//   LintOptions options{.write_combining = {"bell"}, .user = {"bell", "csr.ARM"}};
//   lint_map(map, options, diags, warnings);   // page-privilege, read-side-effect, ...
#pragma once

#include <string>
#include <vector>

#include "model.hpp"
#include "warnings.hpp"

namespace rnic::regs {

// How the host maps the blocks, and what processes may reach: the driver's choice, not the map's.
struct LintOptions {
  std::vector<std::string> prefetchable = {};     // blocks
  std::vector<std::string> write_combining = {};  // blocks
  std::vector<std::string> user = {};  // "block" or "block.REGISTER" (or window, or register file)
};

// A name in the options that the map does not have is an error.
void lint_map(const Map& map, const LintOptions& options, Diagnostics& diags, Warnings& warnings);

}  // namespace rnic::regs
