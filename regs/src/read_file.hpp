// SPDX-License-Identifier: Apache-2.0
//
// An input file as a whole.
//
//   const auto in = read_input(path);
//   if (!in.text) diags.error(pos, "file", in.why);
#pragma once

#include <optional>
#include <string>

namespace rnic::regs {

struct InputFile {
  std::optional<std::string> text;
  std::string why;  // without text: "cannot read ...", "... is a folder", ...
};

// At most 64 MB, so that a device file does not fill the memory.
[[nodiscard]] InputFile read_input(const std::string& path);

}  // namespace rnic::regs
