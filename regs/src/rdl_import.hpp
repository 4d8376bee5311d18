// SPDX-License-Identifier: Apache-2.0
//
// SystemRDL 2.0 to a map. What a map cannot express is an error with its place and what to write
// instead; see regs/README.md for the subset.
//
//   auto map = load_rdl_file("top.rdl", {.top = "top"}, diags, warnings);
//   if (map) std::cout << write_yaml(*map);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model.hpp"
#include "warnings.hpp"

namespace rnic::regs {

struct RdlOptions {
  std::string top = {};  // addrmap; empty: the last of the file
  std::vector<std::string> include_dirs = {};
  ParameterValues values = {};  // of parameters of the top
};

// Nothing when there was an error. The map is checked.
std::optional<Map> load_rdl_file(const std::string& path, const RdlOptions& options,
                                 Diagnostics& diags, Warnings& warnings);
std::optional<Map> load_rdl_text(const std::string& text, const RdlOptions& options,
                                 Diagnostics& diags, Warnings& warnings);

}  // namespace rnic::regs
