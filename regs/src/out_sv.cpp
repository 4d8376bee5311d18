// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "outputs.hpp"

namespace rnic::regs {

void out_sv(const Map& map, OutFiles& files) {
  if (!map.descriptors.empty() || !map.enums.empty()) {
    files.push_back({OutDir::kRtl, map.name + "_desc_pkg.sv", emit_sv_desc_pkg(map)});
  }
  files.push_back({OutDir::kRtl, map.name + "_regs_pkg.sv", emit_sv_regs_pkg(map)});
  for (const auto& b : map.blocks) {
    if (b.generated) {
      files.push_back(
          {OutDir::kRtl, fmt::format("{}_{}.sv", map.name, b.name), emit_sv_block(map, b)});
    }
  }
}

}  // namespace rnic::regs
