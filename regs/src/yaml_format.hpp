// SPDX-License-Identifier: Apache-2.0
//
// The canonical layout of a YAML map, with its comments.
//
//   Diagnostics diags("m.yaml");
//   const auto text = format_yaml(old_text, diags);   // nothing when it cannot be done, see diags
//
// Two spaces for each level; "- " of a list stands two spaces inside its key; one space behind ':'
// and ','; at most one empty line in a row and none at the start of a collection; no space at line
// ends. What is written with braces and brackets stays so: on one line where it fits into 120
// columns, else filled line by line, lists of mappings one a line. Scalars, the order of keys and
// comments are kept. The result is read again and compared: it is the same tree.
//
// Block scalars, tags, texts over several lines and documents in one file are refused with their
// place.
#pragma once

#include <optional>
#include <string>

#include "diag.hpp"

namespace rnic::regs {

[[nodiscard]] std::optional<std::string> format_yaml(const std::string& text, Diagnostics& diags);

}  // namespace rnic::regs
