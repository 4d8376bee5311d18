// SPDX-License-Identifier: Apache-2.0
//
// Values of SystemRDL expressions once names are known: unsigned, 64 bits, overflow is an error.
#pragma once

#include <stdexcept>
#include <string_view>
#include <vector>

#include "rdl_node.hpp"

namespace rnic::regs {

struct RdlValueError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[nodiscard]] RdlValue rdl_number(std::uint64_t v, SourcePos pos, unsigned width = 0);
[[nodiscard]] RdlValue rdl_bool(bool v, SourcePos pos);

// These throw RdlValueError.
[[nodiscard]] std::uint64_t rdl_as_number(const RdlValue& v);
[[nodiscard]] RdlValue rdl_unary(std::string_view op, const RdlValue& a);
[[nodiscard]] RdlValue rdl_binary(std::string_view op, const RdlValue& a, const RdlValue& b);
// {a, b}: strings, or numbers whose widths are known.
[[nodiscard]] RdlValue rdl_concat(const std::vector<RdlValue>& list, std::uint64_t times);
[[nodiscard]] RdlValue rdl_cast(std::string_view type, std::uint64_t width, const RdlValue& a);

}  // namespace rnic::regs
