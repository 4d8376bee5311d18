// SPDX-License-Identifier: Apache-2.0
//
// Text of the files in regs/runtime, which outputs write beside or into what they generate.
#pragma once

#include <string_view>

namespace rnic::regs {

extern const std::string_view kRegModelText;
extern const std::string_view kRegBenchText;
extern const std::string_view kRegPyText;
extern const std::string_view kPageStyle;
extern const std::string_view kPageScript;

}  // namespace rnic::regs
