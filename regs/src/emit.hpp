// SPDX-License-Identifier: Apache-2.0
//
// The views of a map. Each returns the whole text of one file; the same map gives the same text.
//
//   for (const auto& f : emit_all(map)) write(f.dir == OutDir::kRtl ? rtl_dir : sw_dir, f.name,
//   f.text);
#pragma once

#include <string>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

enum class OutDir { kRtl, kSoftware };

struct OutFile {
  OutDir dir;
  std::string name;
  std::string text;
};

std::string emit_sv_desc_pkg(const Map& map);
std::string emit_sv_regs_pkg(const Map& map);
std::string emit_sv_block(const Map& map, const Block& block);  // AXI4-Lite register file
std::string emit_c_header(const Map& map);
std::string emit_cpp_header(const Map& map);
std::string emit_markdown(const Map& map);

std::vector<OutFile> emit_all(const Map& map);

// First line of every generated file, without the comment mark.
[[nodiscard]] std::string generated_note(const Map& map);

}  // namespace rnic::regs
