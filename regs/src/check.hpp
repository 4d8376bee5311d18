// SPDX-License-Identifier: Apache-2.0
//
// The rules of check_map(), one file each (not part of the public interface). They run in this
// order and repair what they complain of, so that later ones do not stumble over it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace rnic::regs {

void expand_interrupts(Block& b, Diagnostics& diags);
void check_texts(Map& map, Diagnostics& diags);
void check_names(const Map& map, Diagnostics& diags);
void check_constants(const Map& map, Diagnostics& diags);
void resolve_enums(Map& map, Diagnostics& diags);
void check_register(const Map& map, Register& r, Diagnostics& diags);
void check_field(const Register& r, Field& f, Diagnostics& diags);
void resolve_locks(Block& b, Diagnostics& diags);
void check_block(const Map& map, Block& b, Diagnostics& diags);
void check_layout(const Block& b, Diagnostics& diags);
void check_flat_names(const Block& b, Diagnostics& diags);
void check_descriptor(const Map& map, Descriptor& d, Diagnostics& diags);

}  // namespace rnic::regs
