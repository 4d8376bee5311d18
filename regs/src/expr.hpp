// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic in the map: integers (decimal, 0x, 0b, with _), names, + - * / % << >> & | and
// parentheses, in 64 bits.
//
//   eval_expr("4 * WQE_BLOCK", lookup) -> 256
//
// Throws ExprError, with a sentence, on bad syntax, unknown names, overflow and division by zero.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rnic::regs {

class ExprError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using ExprLookup = std::function<std::optional<std::uint64_t>(const std::string&)>;

std::uint64_t eval_expr(std::string_view text, const ExprLookup& lookup);

}  // namespace rnic::regs
