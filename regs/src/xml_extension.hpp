// SPDX-License-Identifier: Apache-2.0
//
// What IP-XACT and CMSIS-SVD have no place for, as elements of one namespace, the same in both. The
// table in regs/README.md ("Exports") is the contract.
#pragma once

#include "model.hpp"
#include "xml.hpp"

namespace rnic::regs {

inline constexpr std::string_view kExtensionUri = "urn:rnic-regs:1";

// Each is empty when there is nothing to say.
[[nodiscard]] Attributes block_extension(const Block& b);
[[nodiscard]] Attributes window_extension(const Window& w);
[[nodiscard]] Attributes register_extension(const Register& r);
[[nodiscard]] Attributes field_extension(const Register& r, const Field& f);

void write_interrupt_extension(Xml& x, const Interrupt& i);
// Hash, version, constants, enumerations, counters and descriptors.
void write_map_extension(Xml& x, const Map& map);

// What hardware may change behind the back of software.
[[nodiscard]] bool is_volatile(const Register& r, const Field& f);

// Words of both standards; empty where there is none to say.
[[nodiscard]] std::string_view access_word(Access access);
[[nodiscard]] std::string_view write_word(Access access);
[[nodiscard]] std::string_view read_word(Access access);

}  // namespace rnic::regs
