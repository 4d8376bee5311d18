// SPDX-License-Identifier: Apache-2.0
//
// A descriptor as a C struct whose size and offsets the compiler checks.
#pragma once

#include <string>

#include "model.hpp"

namespace rnic::regs {

// Members are as aligned as they are wide, so that no packing is asked for and no access is split
// into bytes. What shares a byte is one member of bytes; a variant of a union is a struct.
[[nodiscard]] std::string c_struct(const Map& map, const Descriptor& d);

}  // namespace rnic::regs
