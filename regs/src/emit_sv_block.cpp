// SPDX-License-Identifier: Apache-2.0
#include "emit.hpp"
namespace rnic::regs {
std::string emit_sv_block(const Map&, const Block&) { return {}; }
}  // namespace rnic::regs
