// SPDX-License-Identifier: Apache-2.0
//
// Lines of at most 100 columns for generated SystemVerilog: comments are reflowed, a comment behind
// code moves above it, statements break behind a comma or in front of an operator, continued with
// four more spaces.
#pragma once

#include <string>

namespace rnic::regs {

std::string wrap_sv(const std::string& text);

}  // namespace rnic::regs
