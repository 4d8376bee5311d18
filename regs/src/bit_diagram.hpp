// SPDX-License-Identifier: Apache-2.0
//
// Bits as an inline SVG picture, 32 a row, the highest on the left (not part of the public
// interface).
//
//   append_bit_diagram(page, {{"mode", 0, 4, "rw"}, {"busy", 31, 1, "ro"}}, 32, Rows::kHighFirst);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rnic::regs {

struct BitBox {
  std::string_view name;
  unsigned lsb, width;
  std::string_view css;  // class
};

enum class BitRows : std::uint8_t {
  kHighFirst,  // a register: 63..32 above 31..0
  kByteOrder,  // memory: byte 0 first, with byte numbers; rows of one field are drawn as one
};

// `boxes` in order of position, without overlap.
void append_bit_diagram(std::string& out, const std::vector<BitBox>& boxes, unsigned bits,
                        BitRows rows);

}  // namespace rnic::regs
