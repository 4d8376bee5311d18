// SPDX-License-Identifier: Apache-2.0
//
// Words that a name of the map may not be, because a generated view could not use it.
#pragma once

#include <string_view>

namespace rnic::regs {

[[nodiscard]] bool is_sv_keyword(std::string_view s);   // IEEE 1800-2017, annex B
[[nodiscard]] bool is_cpp_keyword(std::string_view s);  // C11 and C++20, alternative operators too

}  // namespace rnic::regs
