// SPDX-License-Identifier: Apache-2.0
//
// Dumps with names: register values and raw descriptors printed with fields and enumerations.
//
//   decode_registers(map, *find_block(map, "csr"), "0x280: 0x121\n")
//     -> "0x00000280 DMA_CFG = 0x00000121  mps=1 mrrs=2 relaxed=1\n"
//   decode_descriptor(map, *find_descriptor(map, "cqe"), bytes)
//
// Throws DecodeError, naming the line, on input that cannot be read.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

class DecodeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Lines "offset: value" (also "offset value"), numbers as in C, '#' begins a comment. The two words
// of a 64-bit register may come in any order; one alone is shown as it is.
std::string decode_registers(const Map& map, const Block& block, const std::string& dump);

// As many descriptors as there are whole ones in `bytes`; a rest is an error.
std::string decode_descriptor(const Map& map, const Descriptor& desc,
                              std::span<const std::uint8_t> bytes);

// "00 11 2233" to bytes; white space anywhere between bytes, '#' begins a comment.
std::vector<std::uint8_t> parse_hex_bytes(const std::string& text);

}  // namespace rnic::regs
