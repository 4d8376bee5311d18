// SPDX-License-Identifier: Apache-2.0
//
// What may stand in an input file and in a description: UTF-8 without control characters.
//
//   if (const auto at = first_non_text(s)) ...   // offset of the first byte that is no text
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace rnic::regs {

// Tabs and line ends are text; U+FFFE, U+FFFF and surrogates, which XML cannot hold, are not.
[[nodiscard]] std::optional<std::size_t> first_non_text(std::string_view s);

}  // namespace rnic::regs
